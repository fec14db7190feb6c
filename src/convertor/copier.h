/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the flow asks a copier beyond its public calls: whether its copy was refused at the start, whether it has
 * completed, and an alarm for that. The thread that uses the copier calls these functions.
 */
#ifndef DTC_COPIER_H
#define DTC_COPIER_H

#include <dtconv/copier.h>

#include "copy_backends/alarm.h"

/* From now on, a copy that one launch cannot do does not start: it ends with LIMIT, without an error text. */
void dtc_copier_set_one_step(struct dtconv_copier *copier);

/* The status that starting the copy in flight has ended with: if it is not 0, no device works on the copy. */
int dtc_copier_start_status(const struct dtconv_copier *copier);

/* Whether the copy in flight has completed. dtconv_copier_test() says how. */
bool dtc_copier_has_landed(struct dtconv_copier *copier);

/* Have the alarm rung when it may have; see dtc_event_set_alarm. */
bool dtc_copier_set_alarm(const struct dtconv_copier *copier,
			  const struct dtc_alarm *alarm);

#endif
