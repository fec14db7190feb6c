/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The list of a batch's entries: its memory, and what happens when an entry is replaced.
 */
#ifndef DTC_BATCH_CREATE_H
#define DTC_BATCH_CREATE_H

#include "convertor/batch.h"

/* Make room for @capacity entries; bound entries stay. Fails with NOMEM. */
int dtc_batch_grow(struct dtconv_batch *batch, size_t capacity, const char *caller);

/* The entries are about to change. */
void dtc_batch_drop_plan(struct dtconv_batch *batch);

/* Release what an entry refers to. */
void dtc_batch_unbind(struct dtconv_batch *batch, struct dtc_batch_item *item);

/* Free a copy, with its references to types. */
void dtc_batch_copy_destroy(struct dtconv_context *context, struct dtc_copy *copy);

#endif
