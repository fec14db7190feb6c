/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How the entries of a batch are moved: found out once after each binding.
 */
#ifndef DTC_BATCH_PLAN_H
#define DTC_BATCH_PLAN_H

#include "convertor/batch.h"
#include "convertor/move.h"

/* The whole of an entry, as a move; @cursor is put at its beginning. */
struct dtc_move dtc_batch_item_move(const struct dtconv_batch *batch,
				    const struct dtc_batch_item *item,
				    struct dtc_cursor *cursor, const char *caller);

/* Find out how each entry is moved. What cannot be arranged is moved alone. */
void dtc_batch_make_plan(struct dtconv_batch *batch);

/* The groups are no longer what is to be moved; what backends keep for them stays for the next. */
void dtc_batch_reset_groups(struct dtconv_batch *batch);

/* Give groups back with all that backends keep for them. */
void dtc_batch_drop_groups(struct dtconv_batch *batch);

#endif
