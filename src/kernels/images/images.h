/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The GPU kernels as they were compiled with the library, and the source of those that are compiled for a shape.
 */
#ifndef DTC_KERNELS_GPU_IMAGES_H
#define DTC_KERNELS_GPU_IMAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Kernels for one architecture: 10 * major + minor of the compute capability. The driver takes the data
 * as it is: a fat binary, which it unpacks, or, where the build had no fatbinary, a binary or PTX.
 */
struct dtc_gpu_image {
	uint32_t arch;
	bool is_ptx; /* runs on @arch and all later ones, after the driver has compiled it */
	const void *data;
	size_t bytes;
};

/* Kernels that move bytes, for those of --with-gpu-archs; none without NVRTC. */
extern const struct dtc_gpu_image dtc_gpu_images[];
extern const size_t dtc_gpu_image_count;

/* Kernels that convert, combine and sum up, in the same way. */
extern const struct dtc_gpu_image dtc_gpu_typeds[];
extern const size_t dtc_gpu_typed_count;

/* The resident kernel, in the same way. */
extern const struct dtc_gpu_image dtc_gpu_residents[];
extern const size_t dtc_gpu_resident_count;

/*
 * The image for a device of @arch: of the same major version the highest minor one that is not above
 * it, else PTX of an architecture that is not above it, else NULL.
 */
const struct dtc_gpu_image *dtc_gpu_image_for(uint32_t arch);
const struct dtc_gpu_image *dtc_gpu_typed_for(uint32_t arch);
const struct dtc_gpu_image *dtc_gpu_resident_for(uint32_t arch);

/*
 * The source of the classes that have specialised kernels, in one text that includes nothing; ends with a zero. What
 * dtc_gpu_special_write writes comes before it.
 */
const char *dtc_gpu_source(void);

#endif
