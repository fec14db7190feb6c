/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Class typed: numbers are converted and combined while they are moved.
 *
 * - Numbers of one kind in a nest are moved by words if both sides are aligned to them.
 * - Other kinds, lengths and alignments are moved by cells, in a nest or in identical periods.
 * - The rest is moved number by number: each is searched in the stream's nodes and by a walk
 *   through the program.
 *
 * No two threads store to the same number.
 */
#ifndef DTC_KERNELS_GPU_TYPED_CU_H
#define DTC_KERNELS_GPU_TYPED_CU_H

#include "kernels/gpu/number_words.cu.h"
#include "kernels/gpu/number_value.cu.h"
#include "kernels/gpu/cells.cu.h"
#include "kernels/gpu/units.cu.h"
#include "kernels/gpu/couples.cu.h"
#include "kernels/gpu/word_couples.cu.h"

#endif
