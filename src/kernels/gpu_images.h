/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The kernels as they were compiled when the library was built.
 */
#ifndef DTC_KERNELS_GPU_IMAGES_H
#define DTC_KERNELS_GPU_IMAGES_H

#include <stdbool.h>
#include <stddef.h>

struct dtc_gpu_image {
	unsigned arch; /* 90: compute capability 9.0 */
	bool is_ptx;
	const void *data;
	size_t bytes;
};

/* Ends with one without data; empty in a build without NVRTC. */
extern const struct dtc_gpu_image dtc_gpu_images[];

#endif
