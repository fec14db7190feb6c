/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A kernel for one shape: the source of its class with the shape's numbers as constants. It
 * takes the parameters of the class's kernel, and with every launch of that shape does the
 * same, so either may be launched. The CUDA backend decides when to compile one.
 */
#ifndef DTC_KERNELS_GPU_SPECIAL_H
#define DTC_KERNELS_GPU_SPECIAL_H

#include "base/text.h"
#include "kernels/launch/launch.h"

/*
 * The common part of the launches for which one such kernel is valid: everything but addresses
 * and stretches.
 */
struct dtc_gpu_special {
	enum dtc_gpu_kernel kernel;
	enum dtc_gpu_class class;
	uint32_t bytes; /* number of bytes of the parameters that are set */
	union dtc_gpu_params params;
};

/* Whether there are such kernels of a class. */
bool dtc_gpu_is_special_class(enum dtc_gpu_class class);

/* The shape of a launch; false if there are no such kernels of its class. */
bool dtc_gpu_special_of(const struct dtc_gpu_launch *launch,
			struct dtc_gpu_special *special);

bool dtc_gpu_special_is(const struct dtc_gpu_special *special,
			const struct dtc_gpu_special *other);

/*
 * Write the text that, in front of dtc_gpu_source(), makes the source of the kernel for that
 * shape alone, under the name of its class's kernel.
 */
void dtc_gpu_special_write(const struct dtc_gpu_special *special, struct dtc_text *text);

#endif
