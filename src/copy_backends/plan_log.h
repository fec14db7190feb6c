/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Log lines about the choice of a backend.
 */
#ifndef DTC_PLAN_LOG_H
#define DTC_PLAN_LOG_H

#include "copy_backends/backend.h"

/* Log which backend was chosen and why, if the log level asks for it. */
void dtc_plan_log_choice(const struct dtc_job *job, const struct dtc_question *question,
			 int index);

/*
 * Warn once for each type that it moves far slower than contiguous bytes. @what and @reason are the
 * halves of the sentence "@what, because @reason".
 */
void dtc_plan_warn_slow(const struct dtc_job *job, const char *what, const char *reason);

#endif
