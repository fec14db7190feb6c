/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A device's copy of a type's program.
 */
#ifndef DTC_CUDA_IMAGE_H
#define DTC_CUDA_IMAGE_H

#include "datatype/layout.h"
#include "device_context.h"
#include "kernels/launch/launch.h"

/* Where the device has the layout's program; made if it is not there yet. */
int dtc_cuda_image_find(const struct dtc_layout *layout, struct dtc_cuda_context *context,
			const char *caller, CUdeviceptr *memory);

/* ---- for others that keep something with a layout ---------------------------------------- */

/* Copy bytes into memory of the device and wait for it, whatever other streams do. */
CUresult dtc_cuda_image_upload(struct dtc_cuda_context *context, CUdeviceptr memory,
			       const void *bytes, size_t length);

/* Put bytes into new memory of the device, which is in @memory also after a failure; waits for the copy. */
CUresult dtc_cuda_image_place(struct dtc_cuda_context *context, const void *bytes,
			      size_t length, CUdeviceptr *memory);

/* Give memory of the device back; 0 is allowed. Does not wait, unless the allocator refuses the deferred call. */
void dtc_cuda_image_drop(struct dtc_cuda_context *context, CUdeviceptr memory);

/* From now on the layout releases the image. */
void dtc_cuda_image_hang_in(const struct dtc_layout *layout,
			    struct dtc_layout_image *image);

#endif
