/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The CUDA program of a specialised kernel: one entry, for a shape. What dtc_gpu_special_write writes comes before it.
 * The library holds it as text.
 */

/* Some functions of these files are of no use here. */
#pragma nv_diag_suppress 177

#include "kernels/gpu/device.h"

#include "kernels/gpu/special_classes.cu.h"

#include "kernels/gpu/entry.cu.h"

DTC_GPU_ONLY
