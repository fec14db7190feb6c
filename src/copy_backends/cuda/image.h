/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A device's copy of a type's program.
 */
#ifndef DTC_CUDA_IMAGE_H
#define DTC_CUDA_IMAGE_H

#include "state.h"

/* Where the device has the layout's program; made if it is not there yet. */
int dtc_cuda_image_find(const struct dtc_layout *layout, struct dtc_cuda_context *context,
			const char *caller, CUdeviceptr *memory);

#endif
