/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Choosing a backend: the candidates estimate themselves, the cheapest wins. dtconv_explain
 * prints the same decision.
 */
#include "config.h"

#include "plan.h"

#include <inttypes.h>

#include "base.h"
#include "datatype/type.h"
#include "log.h"
#include "text.h"

const struct dtc_backend_ops *dtc_plan_choose(const struct dtc_question *question)
{
	const struct dtc_backend_ops *best = NULL;
	const char *reason;
	double best_ns = 0;

	for (size_t i = 0; dtc_backends[i]; i++) {
		const struct dtc_backend_ops *backend = dtc_backends[i];

		if (!backend->can(question, &reason))
			continue;
		double ns = backend->estimate(question);
		if (!best || ns < best_ns) {
			best = backend;
			best_ns = ns;
		}
	}
	return best;
}

const struct dtc_backend_ops *dtc_plan_choose_together(
	const struct dtc_question *question)
{
	const struct dtc_backend_ops *best = dtc_plan_choose(question);
	const char *reason;

	if (!best || best == &dtc_host_backend || best->submit_many)
		return best;
	/* What is cheapest alone costs a submission of its own. */
	for (size_t i = 0; dtc_backends[i]; i++)
		if (dtc_backends[i]->submit_many &&
		    dtc_backends[i]->can(question, &reason))
			return dtc_backends[i];
	return best;
}

int dtc_plan_submit(const struct dtc_job *job, struct dtc_event *event)
{
	const struct dtc_question question = { .layout = job->cursor->layout,
					       .count = job->cursor->count,
					       .bytes = job->bytes,
					       .user_kind = job->user_memory.kind,
					       .packed_kind = job->packed_memory.kind,
					       .direction = job->direction };
	const struct dtc_backend_ops *backend = dtc_plan_choose(&question);

	if (!backend)
		return DTC_FAIL(job->context, DTCONV_ERR_UNSUPPORTED,
				"%s: no backend of this build moves between %s and %s memory",
				job->caller, dtc_memory_kind_name(question.user_kind),
				dtc_memory_kind_name(question.packed_kind));
	DTC_LOG(job->context, DTCONV_LOG_DEBUG, "%s: %" PRIu64 " bytes, %s to %s: %s", job->caller,
		job->bytes, dtc_memory_kind_name(question.user_kind),
		dtc_memory_kind_name(question.packed_kind), backend->name);
	return backend->submit(job, event);
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
			      const struct dtc_backend_ops *backend, bool chosen)
{
	const char *reason;

	dtc_text_printf(text, "  candidate %s (%s): ", backend->name, backend->what);
	if (!backend->can(question, &reason))
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
					 .packed_kind = known(packed_kind) };
	struct dtc_text text;

	if (!question.layout)
		return DTC_FAIL(type->context, DTCONV_ERR_STATE,
				"dtconv_explain: the type (argument 1) is not committed");
	question.bytes = question.layout->size * count;
	dtc_text_init(&text, buffer, capacity);
	explain_layout(&text, &question);
	explain_parts(&text, question.layout);
	const struct dtc_backend_ops *chosen = dtc_plan_choose(&question);
	for (size_t i = 0; dtc_backends[i]; i++)
		explain_candidate(&text, &question, dtc_backends[i],
				  dtc_backends[i] == chosen);
	if (!chosen)
		dtc_text_printf(&text, "  no backend of this build can move it\n");
	return dtc_text_finish(&text, length);
}
