/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kernels for one shape, compiled for the host by the compiler that built this tree. An object has
 * the function and the number below; the images of the stand-in for NVRTC are such objects.
 */
#ifndef TEST_SUPPORT_SPECIAL_OBJECT_H
#define TEST_SUPPORT_SPECIAL_OBJECT_H

#include <stddef.h>
#include <stdint.h>

/* "shim_special_run": runs the kernel, 0 if it did. */
typedef int (*special_run_fn)(const void *params, uint32_t grid, uint32_t block,
			      size_t shared_bytes);

/* "shim_special_params_bytes": a size_t. */

/* What the image of such an object begins with; its bytes follow to the image's end. */
#define SPECIAL_IMAGE_WORD "dtconv object for the host"
struct special_image {
	char word[sizeof(SPECIAL_IMAGE_WORD)];
	uint64_t bytes; /* that follow */
};

/*
 * Compile what dtc_gpu_special_write has written, @length characters of it. Answers 0, or what the
 * compiler answered.
 */
int special_object_compile(const char *text, size_t length, const char *object);

#endif
