/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All classes, in the order in which they build on each other; the includer defines the device
 * primitives first.
 */
#ifndef DTC_KERNELS_GPU_CLASSES_CU_H
#define DTC_KERNELS_GPU_CLASSES_CU_H

#include "kernels/gpu/params.h"

#include "kernels/gpu/bytes.cu.h"
#include "kernels/gpu/nest.cu.h"
#include "kernels/gpu/words.cu.h"
#include "kernels/gpu/walk.cu.h"
#include "kernels/gpu/entries.cu.h"
#include "kernels/gpu/pieces.cu.h"

#include "kernels/gpu/strided.cu.h"
#include "kernels/gpu/rows.cu.h"
#include "kernels/gpu/mapped.cu.h"
#include "kernels/gpu/layout_copy.cu.h"
#include "kernels/gpu/many_copies.cu.h"
#include "kernels/gpu/periodic.cu.h"
#include "kernels/gpu/staged.cu.h"
#include "kernels/gpu/table.cu.h"
#include "kernels/gpu/runs.cu.h"
#include "kernels/gpu/indexed.cu.h"
#include "kernels/gpu/transposing.cu.h"
#include "kernels/gpu/general.cu.h"
#include "kernels/gpu/many.cu.h"

#include "kernels/gpu/numbers.cu.h"
#include "kernels/gpu/typed.cu.h"
#include "kernels/gpu/records.cu.h"
#include "kernels/gpu/checksum.cu.h"

#endif
