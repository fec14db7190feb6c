/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Class typed: numbers are converted and combined on their way. Numbers of one kind in a nest are
 * moved by words where both sides are aligned to them. Other kinds, lengths and alignments are moved by
 * cells, in a nest or in periods that are all alike. What is left goes number by number, each looked
 * for in the stream's nodes and by a walk through the program. No two threads store to one number.
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
