/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The planner: chooses the backend of a job.
 */
#ifndef DTC_PLAN_H
#define DTC_PLAN_H

#include "copy_backends/backend.h"

/* The registry index of the cheapest allowed backend that supports the job, or -1. */
int dtc_plan_choose_index(const struct dtc_question *question);

/* The cheapest allowed backend that supports the job, or NULL. */
const struct dtc_backend_ops *dtc_plan_choose(const struct dtc_question *question);

/* The same for an entry of a batch: prefers backends that move several entries in one submission. */
const struct dtc_backend_ops *dtc_plan_choose_together(
	const struct dtc_question *question);

/* Why a backend that supports the job cannot run in this process; NULL if it can. Costs are those of a machine that can. */
const char *dtc_plan_why_missing(const struct dtc_question *question,
				 const struct dtc_backend_ops *backend);

/* Fail with UNSUPPORTED and say why no allowed backend supports the job. */
int dtc_plan_refuse(struct dtconv_context *context, const struct dtc_question *question,
		    const char *caller);

/* The same for a job between host memories. */
int dtc_plan_refuse_host(struct dtconv_context *context, uint32_t forbidden, const char *caller);

/* Choose a backend and start the job there. Fails with UNSUPPORTED if no allowed backend supports it. */
int dtc_plan_submit(const struct dtc_job *job, struct dtc_event *event);

#endif
