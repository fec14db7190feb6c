/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The GPU kernels that were compiled with the library, and their source for compiling them at
 * run time.
 */
#ifndef DTC_KERNELS_GPU_IMAGES_H
#define DTC_KERNELS_GPU_IMAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * All kernels for one architecture, 10 * major + minor of the compute capability. The data can
 * be passed to the driver as it is: a fat binary or, if the build had no fatbinary, a binary or
 * PTX.
 */
struct dtc_gpu_image {
	uint32_t arch;
	bool is_ptx; /* runs on @arch and all later ones, compiled by the driver */
	const void *data;
	size_t bytes;
};

/* The architectures of --with-gpu-archs; none without NVRTC. */
extern const struct dtc_gpu_image dtc_gpu_images[];
extern const size_t dtc_gpu_image_count;

/* The same for the resident kernel. */
extern const struct dtc_gpu_image dtc_gpu_residents[];
extern const size_t dtc_gpu_resident_count;

/*
 * The image for a device of @arch. A binary needs the same major version and no higher minor
 * one; the highest is chosen. Otherwise PTX of an architecture that is not higher, otherwise
 * NULL.
 */
const struct dtc_gpu_image *dtc_gpu_image_for(uint32_t arch);
const struct dtc_gpu_image *dtc_gpu_resident_for(uint32_t arch);

/* The kernels' source as a single text without includes; NUL-terminated. */
const char *dtc_gpu_source(void);

#endif
