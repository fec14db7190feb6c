/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All classes, in the order in which they build on each other; the includer defines the device
 * primitives first.
 */
#ifndef DTC_KERNELS_GPU_CLASSES_CU_H
#define DTC_KERNELS_GPU_CLASSES_CU_H

#include "kernels/gpu/params.h"

#include "kernels/gpu/special_classes.cu.h"

#include "kernels/gpu/mapped.cu.h"
#include "kernels/gpu/layout_copy.cu.h"
#include "kernels/gpu/many_copies.cu.h"
#include "kernels/gpu/staged.cu.h"
#include "kernels/gpu/pages.cu.h"
#include "kernels/gpu/general.cu.h"
#include "kernels/gpu/many.cu.h"

#include "kernels/gpu/numbers.cu.h"
#include "kernels/gpu/typed.cu.h"
#include "kernels/gpu/records.cu.h"
#include "kernels/gpu/checksum.cu.h"

#endif
