/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The planner: which backend moves a job, and why.
 */
#ifndef DTC_PLAN_H
#define DTC_PLAN_H

#include "copy_backends/backend.h"

/* The index in the registry of the cheapest backend that can and may do what is asked, or -1. */
int dtc_plan_choose_index(const struct dtc_question *question);

/* The cheapest backend that can do what is asked, or NULL. */
const struct dtc_backend_ops *dtc_plan_choose(const struct dtc_question *question);

/* The same for a stretch that may be moved with others: a backend that does so, if it is no host's work. */
const struct dtc_backend_ops *dtc_plan_choose_together(
	const struct dtc_question *question);

/* Fail with UNSUPPORTED, and say why nobody may do what is asked. */
int dtc_plan_refuse(struct dtconv_context *context, const struct dtc_question *question,
		    const char *caller);

/* The same for bytes that would be the processor's business. */
int dtc_plan_refuse_host(struct dtconv_context *context, uint32_t forbidden, const char *caller);

/* Choose a backend and start the job there. Fails with UNSUPPORTED if none can do it. */
int dtc_plan_submit(const struct dtc_job *job, struct dtc_event *event);

#endif
