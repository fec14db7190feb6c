/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A device's copy of a type's program.
 */
#ifndef DTC_CUDA_IMAGE_H
#define DTC_CUDA_IMAGE_H

#include "datatype/layout.h"
#include "device_context.h"
#include "kernels/launch/launch.h"
#include "upload.h"

/*
 * Where the device has the layout's program; made if it is not there yet. The reader's work comes behind its upload.
 */
int dtc_cuda_image_find(const struct dtc_layout *layout, struct dtc_cuda_context *context,
			const struct dtc_cuda_reader *reader, const char *caller,
			CUdeviceptr *memory);

/* ---- for others that keep something with a layout ---------------------------------------- */

/*
 * Put bytes into new memory of the device, which is in @memory also after a failure, and begin their upload as
 * dtc_cuda_upload does; order readers behind it by dtc_cuda_upload_order.
 */
CUresult dtc_cuda_image_begin(struct dtc_cuda_context *context, const void *bytes,
			      size_t length, const struct dtc_cuda_reader *reader,
			      CUdeviceptr *memory, uint64_t *upload);

/* The same, and wait on the host until the bytes are there: any work may read them. */
CUresult dtc_cuda_image_place(struct dtc_cuda_context *context, const void *bytes,
			      size_t length, CUdeviceptr *memory);

/* Copy bytes into memory of the device and wait for it, whatever other streams do. */
CUresult dtc_cuda_image_upload(struct dtc_cuda_context *context, CUdeviceptr memory,
			       const void *bytes, size_t length);

/* Give back memory of the arena's; 0 is allowed. Jobs in flight may still read it. */
void dtc_cuda_image_drop(struct dtc_cuda_context *context, CUdeviceptr memory);

/* From now on the layout releases the image. */
void dtc_cuda_image_hang_in(const struct dtc_layout *layout,
			    struct dtc_layout_image *image);

#endif
