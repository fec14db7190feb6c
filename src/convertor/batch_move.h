/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A batch in flight: the check that it is not, and waiting for it.
 */
#ifndef DTC_BATCH_MOVE_H
#define DTC_BATCH_MOVE_H

#include "convertor/batch.h"

/* Fail if the batch is in flight. */
int dtc_batch_check_idle(const struct dtconv_batch *batch, const char *caller);

/* Wait for all that is in flight. */
void dtc_batch_wait_all(struct dtconv_batch *batch);

#endif
