/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The plan of a batch: which backend moves each entry, alone or in a group. Made once after each binding.
 */
#ifndef DTC_BATCH_PLAN_H
#define DTC_BATCH_PLAN_H

#include "convertor/batch.h"
#include "convertor/move.h"

/* A move of the whole entry. Puts @cursor at its beginning. */
struct dtc_move dtc_batch_item_move(const struct dtconv_batch *batch,
				    const struct dtc_batch_item *item,
				    struct dtc_cursor *cursor, const char *caller);

/* Choose the path of each entry. An entry that fits in no group is moved alone. */
void dtc_batch_make_plan(struct dtconv_batch *batch);

/* Empty the groups, but keep what backends keep for them: the next plan reuses it. */
void dtc_batch_reset_groups(struct dtconv_batch *batch);

/* Free the groups and all that backends keep for them. */
void dtc_batch_drop_groups(struct dtconv_batch *batch);

#endif
