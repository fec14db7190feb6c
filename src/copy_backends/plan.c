/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chooses a backend: the candidates estimate their costs, the cheapest wins. explain.c and plan_log.c
 * say why.
 */
#include "config.h"

#include "plan.h"

#include "backend_set.h"
#include "base/base.h"
#include "base/log.h"
#include "counters.h"
#include "memory/vendor.h"
#include "plan_log.h"

int dtc_plan_choose_index(const struct dtc_question *question)
{
	const char *reason;
	double best_ns = 0;
	int best = -1;

	for (int i = 0; dtc_backends[i]; i++) {
		if (dtc_is_forbidden(question->forbidden, (size_t)i) ||
		    !dtc_backends[i]->can(question, &reason))
			continue;
		double ns = dtc_backends[i]->estimate(question);
		if (best < 0 || ns < best_ns) {
			best = i;
			best_ns = ns;
		}
	}
	return best;
}

const struct dtc_backend_ops *dtc_plan_choose(const struct dtc_question *question)
{
	int index = dtc_plan_choose_index(question);

	return index < 0 ? NULL : dtc_backends[index];
}

const struct dtc_backend_ops *dtc_plan_choose_together(
	const struct dtc_question *question)
{
	const struct dtc_backend_ops *best = dtc_plan_choose(question);
	const char *reason;

	if (!best || best == &dtc_host_backend || best->submit_batch)
		return best;
	/* A backend that is cheapest alone costs one submission for each entry. */
	for (size_t i = 0; dtc_backends[i]; i++)
		if (dtc_backends[i]->submit_batch &&
		    !dtc_is_forbidden(question->forbidden, i) &&
		    dtc_backends[i]->can(question, &reason))
			return dtc_backends[i];
	return best;
}

const char *dtc_plan_why_missing(const struct dtc_question *question,
				 const struct dtc_backend_ops *backend)
{
	const char *why = NULL;

	if (!backend->vendor)
		return NULL;
	if (question->context->devices.none)
		return "DTCONV_CONTEXT_HOST_MEMORY is set";
	backend->vendor->count_devices(question->context, &why);
	return why;
}

int dtc_plan_refuse(struct dtconv_context *context, const struct dtc_question *question,
		    const char *caller)
{
	const char *user = dtc_memory_kind_name(question->user_kind);
	const char *packed = dtc_memory_kind_name(question->packed_kind);
	char allowed[160];

	if (!question->forbidden)
		return DTC_FAIL(
			context, DTCONV_ERR_UNSUPPORTED,
			"%s: no backend of this build moves data between %s and %s memory",
			caller, user, packed);
	dtc_backend_set_format(question->forbidden, allowed, sizeof(allowed));
	return DTC_FAIL(
		context, DTCONV_ERR_UNSUPPORTED,
		"%s: params.backends and DTCONV_BACKENDS allow only %s, which cannot "
		"move data between %s and %s memory%s",
		caller, allowed, user, packed,
		question->on_stream && !dtc_question_is_ordinary(question)
			? " in stream order"
			: "");
}

int dtc_plan_refuse_host(struct dtconv_context *context, uint32_t forbidden, const char *caller)
{
	const struct dtc_question question = { .user_kind = DTCONV_MEMORY_HOST,
					       .packed_kind = DTCONV_MEMORY_HOST,
					       .forbidden = context->forbidden | forbidden };

	return dtc_plan_refuse(context, &question, caller);
}

struct dtc_question dtc_question_of(const struct dtc_job *job)
{
	return (struct dtc_question){
		.layout = job->cursor->layout,
		.count = job->cursor->count,
		.bytes = job->bytes,
		.user_kind = job->user_memory.kind,
		.packed_kind = job->packed_memory.kind,
		.direction = job->direction,
		.context = job->context,
		.forbidden = job->context->forbidden | job->forbidden,
		.on_stream = dtc_job_is_ordered(job),
		.started = job->started,
		.is_mapped = job->user_memory.mapped,
		.is_between =
			dtc_memory_is_between(&job->user_memory, &job->packed_memory),
		.device = dtc_memory_device_of(&job->user_memory, &job->packed_memory)
	};
}

int dtc_plan_submit(const struct dtc_job *job, struct dtc_event *event)
{
	const struct dtc_question question = dtc_question_of(job);
	int index = dtc_plan_choose_index(&question);

	if (index < 0)
		return dtc_plan_refuse(job->context, &question, job->caller);
	dtc_plan_log_choice(job, &question, index);
	int status = dtc_backends[index]->submit(job, event);
	if (!status)
		dtc_count_job(job->context, (size_t)index, job->bytes);
	return status;
}
