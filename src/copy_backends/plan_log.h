/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the planner and the backends log of a job.
 */
#ifndef DTC_PLAN_LOG_H
#define DTC_PLAN_LOG_H

#include "copy_backends/backend.h"

/* Tell the log who was chosen and why, as far as it listens. */
void dtc_plan_log_choice(const struct dtc_job *job, const struct dtc_question *question,
			 int index);

/*
 * Warn, once for each type, that it moves far slower than its bytes would: @what happens, and the
 * @reason, both halves of a sentence.
 */
void dtc_plan_warn_slow(const struct dtc_job *job, const char *what, const char *reason);

#endif
