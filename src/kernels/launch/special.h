/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A kernel for one shape: the source of its class with the shape's numbers as constants. It
 * takes the parameters that the class's kernel takes, so that either may be launched, and does
 * the same with every launch of that shape. The CUDA backend decides when to compile one.
 */
#ifndef DTC_KERNELS_GPU_SPECIAL_H
#define DTC_KERNELS_GPU_SPECIAL_H

#include "base/text.h"
#include "kernels/launch/launch.h"

/* What launches have in common that one such kernel may take: all but addresses and stretches. */
struct dtc_gpu_special {
	enum dtc_gpu_kernel kernel;
	enum dtc_gpu_class class;
	uint32_t bytes; /* of the parameters, those that are set */
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
 * What goes before dtc_gpu_source() to make a text of the kernel for that shape alone, under the name of
 * its class's kernel.
 */
void dtc_gpu_special_write(const struct dtc_gpu_special *special, struct dtc_text *text);

#endif
