/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All classes, in the order in which they build on each other; what the device is, whoever includes
 * this has said before.
 */
#ifndef DTC_KERNELS_GPU_CLASSES_CU_H
#define DTC_KERNELS_GPU_CLASSES_CU_H

#include "kernels/gpu_params.h"

#include "kernels/gpu_bytes.cu.h"
#include "kernels/gpu_nest.cu.h"
#include "kernels/gpu_words.cu.h"
#include "kernels/gpu_walk.cu.h"
#include "kernels/gpu_entries.cu.h"
#include "kernels/gpu_pieces.cu.h"

#include "kernels/gpu_strided.cu.h"
#include "kernels/gpu_rows.cu.h"
#include "kernels/gpu_periodic.cu.h"
#include "kernels/gpu_table.cu.h"
#include "kernels/gpu_runs.cu.h"
#include "kernels/gpu_indexed.cu.h"
#include "kernels/gpu_transposing.cu.h"
#include "kernels/gpu_general.cu.h"
#include "kernels/gpu_many.cu.h"

#include "kernels/gpu_numbers.cu.h"
#include "kernels/gpu_typed.cu.h"
#include "kernels/gpu_records.cu.h"
#include "kernels/gpu_checksum.cu.h"

#endif
