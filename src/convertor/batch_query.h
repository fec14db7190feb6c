/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Access to the entries of a batch by index.
 */
#ifndef DTC_BATCH_QUERY_H
#define DTC_BATCH_QUERY_H

#include "convertor/batch.h"

/* Fail if the batch has no entry of that index, argument 2. */
int dtc_batch_check_index(const struct dtconv_batch *batch, size_t index,
			  const char *caller);

#endif
