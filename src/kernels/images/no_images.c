/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of compiled kernels of a library that was built without NVRTC.
 */
#include "config.h"

#include "images.h"

const struct dtc_gpu_image dtc_gpu_images[] = { { 0, false, NULL, 0 } };
const size_t dtc_gpu_image_count = 0;
const struct dtc_gpu_image dtc_gpu_typeds[] = { { 0, false, NULL, 0 } };
const size_t dtc_gpu_typed_count = 0;
const struct dtc_gpu_image dtc_gpu_residents[] = { { 0, false, NULL, 0 } };
const size_t dtc_gpu_resident_count = 0;
