/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The classes that have specialised kernels, and what all classes build on; the includer defines the device primitives
 * first.
 */
#ifndef DTC_KERNELS_GPU_SPECIAL_CLASSES_CU_H
#define DTC_KERNELS_GPU_SPECIAL_CLASSES_CU_H

#include "kernels/gpu/special_params.h"

#include "kernels/gpu/bytes.cu.h"
#include "kernels/gpu/nest.cu.h"
#include "kernels/gpu/words.cu.h"
#include "kernels/gpu/walk.cu.h"
#include "kernels/gpu/entries.cu.h"
#include "kernels/gpu/pieces.cu.h"

#include "kernels/gpu/strided.cu.h"
#include "kernels/gpu/rows.cu.h"
#include "kernels/gpu/periodic.cu.h"
#include "kernels/gpu/table.cu.h"
#include "kernels/gpu/runs.cu.h"
#include "kernels/gpu/indexed.cu.h"
#include "kernels/gpu/transposing.cu.h"

#endif
