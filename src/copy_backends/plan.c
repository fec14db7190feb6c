/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Choosing a backend: the candidates estimate themselves, the cheapest wins. dtconv_explain
 * prints the same decision.
 */
#include "config.h"

#include "plan.h"

#include <inttypes.h>

#include "allowed.h"
#include "base.h"
#include "datatype/type.h"
#include "log.h"
#include "tally.h"
#include "text.h"

/* The cheapest candidate's place in the registry, or -1. */
static int choose(const struct dtc_question *question)
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
	int place = choose(question);

	return place < 0 ? NULL : dtc_backends[place];
}

int dtc_plan_refuse(struct dtconv_context *context, const struct dtc_question *question,
		    const char *caller)
{
	const char *user = dtc_memory_kind_name(question->user_kind);
	const char *packed = dtc_memory_kind_name(question->packed_kind);
	char allowed[160];

	if (!question->forbidden)
		return DTC_FAIL(context, DTCONV_ERR_UNSUPPORTED,
				"%s: no backend of this build moves between %s and %s memory", caller,
				user, packed);
	dtc_allowed_format(question->forbidden, allowed, sizeof(allowed));
	return DTC_FAIL(context, DTCONV_ERR_UNSUPPORTED,
			"%s: of the backends, params.backends and DTCONV_BACKENDS allow %s, which cannot "
			"move between %s and %s memory",
			caller, allowed, user, packed);
}

int dtc_plan_refuse_host(struct dtconv_context *context, uint32_t forbidden, const char *caller)
{
	const struct dtc_question question = { .user_kind = DTCONV_MEMORY_HOST,
					       .packed_kind = DTCONV_MEMORY_HOST,
					       .forbidden = context->forbidden | forbidden };

	return dtc_plan_refuse(context, &question, caller);
}

int dtc_plan_submit(const struct dtc_job *job, struct dtc_event *event)
{
	const struct dtc_question question = { .layout = job->cursor->layout,
					       .count = job->cursor->count,
					       .bytes = job->bytes,
					       .user_kind = job->user_memory.kind,
					       .packed_kind = job->packed_memory.kind,
					       .direction = job->direction,
					       .forbidden =
						       job->context->forbidden | job->forbidden };
	int place = choose(&question);

	if (place < 0)
		return dtc_plan_refuse(job->context, &question, job->caller);
	DTC_LOG(job->context, DTCONV_LOG_DEBUG, "%s: %" PRIu64 " bytes, %s to %s: %s", job->caller,
		job->bytes, dtc_memory_kind_name(question.user_kind),
		dtc_memory_kind_name(question.packed_kind), dtc_backends[place]->name);
	int status = dtc_backends[place]->submit(job, event);
	if (!status)
		dtc_tally_job(job->context, (size_t)place, job->bytes);
	return status;
}

/* ---- explaining -------------------------------------------------------------------------- */

static void explain_layout(struct dtc_text *text, const struct dtc_question *question)
{
	const struct dtc_layout *layout = question->layout;
	enum dtc_shape shape = dtc_layout_shape(layout, question->count);

	dtc_text_printf(text, "%s to %s: %" PRIu64 " x %" PRIu64 " bytes, %s\n",
			dtc_memory_kind_name(question->user_kind),
			dtc_memory_kind_name(question->packed_kind), question->count,
			layout->size, dtc_shape_name(shape));
}

/* Enough parts to understand a type; a struct of thousands is told in its first ones. */
#define PARTS_SHOWN 8

static void explain_parts(struct dtc_text *text, const struct dtc_layout *layout)
{
	size_t parts = 0;

	for (uint32_t i = 0; i < layout->program->op_count;
	     i += layout->program->ops[i].body + 1, parts++) {
		struct dtc_part part = dtc_layout_part(layout, i);

		if (parts < PARTS_SHOWN)
			dtc_text_printf(text,
					"  part %zu: %s, %" PRIu64 " bytes at displacement %" PRId64
					"\n",
					parts, dtc_shape_name(part.shape), part.bytes, part.disp);
	}
	if (parts > PARTS_SHOWN)
		dtc_text_printf(text, "  and %zu parts more\n", parts - PARTS_SHOWN);
}

static void explain_candidate(struct dtc_text *text, const struct dtc_question *question,
			      size_t place, bool chosen)
{
	const struct dtc_backend_ops *backend = dtc_backends[place];
	const char *reason;

	dtc_text_printf(text, "  candidate %s (%s): ", backend->name, backend->what);
	if (dtc_is_forbidden(question->forbidden, place))
		dtc_text_printf(text, "forbidden by DTCONV_BACKENDS\n");
	else if (!backend->can(question, &reason))
		dtc_text_printf(text, "%s\n", reason);
	else
		dtc_text_printf(text, "about %.0f ns%s\n", backend->estimate(question),
				chosen ? ", the cheapest: chosen" : "");
}

/* What the library would find out, a question about kinds alone takes to be the host's. */
static enum dtconv_memory_kind known(enum dtconv_memory_kind kind)
{
	return kind == DTCONV_MEMORY_UNKNOWN ? DTCONV_MEMORY_HOST : kind;
}

int dtconv_explain(const struct dtconv_type *type, size_t count,
		   enum dtconv_memory_kind user_kind, enum dtconv_memory_kind packed_kind,
		   char *buffer, size_t capacity, size_t *length)
{
	if (!type || !length)
		return DTCONV_ERR_INVAL;
	struct dtc_question question = { .layout = dtc_type_layout(type),
					 .count = count,
					 .user_kind = known(user_kind),
					 .packed_kind = known(packed_kind),
					 .forbidden = type->context->forbidden };
	struct dtc_text text;

	if (!question.layout)
		return DTC_FAIL(type->context, DTCONV_ERR_STATE,
				"dtconv_explain: the type (argument 1) is not committed");
	question.bytes = question.layout->size * count;
	dtc_text_init(&text, buffer, capacity);
	explain_layout(&text, &question);
	explain_parts(&text, question.layout);
	int chosen = choose(&question);
	for (int i = 0; dtc_backends[i]; i++)
		explain_candidate(&text, &question, (size_t)i, i == chosen);
	if (chosen < 0)
		dtc_text_printf(&text, "  no backend %s can move it\n",
				question.forbidden ? "that is allowed" : "of this build");
	return dtc_text_finish(&text, length);
}
