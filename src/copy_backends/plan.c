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

const char *dtc_memory_kind_name(enum dtconv_memory_kind kind)
{
	switch (kind) {
	case DTCONV_MEMORY_HOST:
		return "host";
	case DTCONV_MEMORY_PINNED:
		return "pinned";
	default:
		return "device";
	}
}

const struct dtc_backend_ops *dtc_plan_choose(const struct dtc_layout *layout, uint64_t count,
					      enum dtconv_memory_kind user_kind,
					      enum dtconv_memory_kind packed_kind)
{
	const struct dtc_backend_ops *best = NULL;
	double best_ns = 0;

	for (size_t i = 0; dtc_backends[i]; i++) {
		const struct dtc_backend_ops *backend = dtc_backends[i];

		if (!backend->reaches(user_kind) || !backend->reaches(packed_kind))
			continue;
		double ns = backend->estimate(layout, count, layout->size * count);
		if (!best || ns < best_ns) {
			best = backend;
			best_ns = ns;
		}
	}
	return best;
}

/* ---- explaining -------------------------------------------------------------------------- */

struct question {
	const struct dtc_layout *layout;
	size_t count;
	enum dtconv_memory_kind user_kind, packed_kind;
};

static void explain_layout(struct dtc_text *text, const struct question *question)
{
	const struct dtc_layout *layout = question->layout;
	enum dtc_shape shape = dtc_layout_shape(layout, question->count);

	dtc_text_printf(text, "%s to %s: %zu x %" PRIu64 " bytes, %s\n",
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

static void explain_candidate(struct dtc_text *text, const struct question *question,
			      const struct dtc_backend_ops *backend, bool chosen)
{
	enum dtconv_memory_kind unreached = question->user_kind;
	uint64_t bytes = question->layout->size * question->count;

	dtc_text_printf(text, "  candidate %s (%s): ", backend->name, backend->what);
	if (backend->reaches(unreached))
		unreached = question->packed_kind;
	if (!backend->reaches(unreached))
		dtc_text_printf(text, "does not reach %s memory\n",
				dtc_memory_kind_name(unreached));
	else
		dtc_text_printf(text, "about %.0f ns%s\n",
				backend->estimate(question->layout, question->count, bytes),
				chosen ? ", the cheapest: chosen" : "");
}

int dtconv_explain(const struct dtconv_type *type, size_t count,
		   enum dtconv_memory_kind user_kind, enum dtconv_memory_kind packed_kind,
		   char *buffer, size_t capacity, size_t *length)
{
	if (!type || !length)
		return DTCONV_ERR_INVAL;
	const struct question question = {dtc_type_layout(type), count, user_kind, packed_kind};
	struct dtc_text text;

	if (!question.layout)
		return DTC_FAIL(type->context, DTCONV_ERR_STATE,
				"dtconv_explain: the type (argument 1) is not committed");
	dtc_text_init(&text, buffer, capacity);
	explain_layout(&text, &question);
	explain_parts(&text, question.layout);
	const struct dtc_backend_ops *chosen =
		dtc_plan_choose(question.layout, count, user_kind, packed_kind);
	for (size_t i = 0; dtc_backends[i]; i++)
		explain_candidate(&text, &question, dtc_backends[i],
				  dtc_backends[i] == chosen);
	if (!chosen)
		dtc_text_printf(&text, "  no backend of this build can move it\n");
	return dtc_text_finish(&text, length);
}
