/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The CUDA program of the images: every entry of list.h as a kernel; or those that convert, combine and sum up
 * (DTC_GPU_TYPED), or those that move (DTC_GPU_MOVING).
 */

/* Some functions of these files are of no use here. */
#pragma nv_diag_suppress 177

#include "kernels/gpu/device.h"

#include "kernels/gpu/classes.cu.h"

#include "kernels/gpu/entry.cu.h"

#ifdef DTC_GPU_TYPED
#include "kernels/gpu/typed_list.h"
#else
#include "kernels/gpu/list.h"
#endif
