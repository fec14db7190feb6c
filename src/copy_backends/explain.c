/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dtconv_explain: what the planner would choose for a type and two kinds of memory, and why.
 */
#include "config.h"

#include <dtconv/convertor.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "backend_set.h"
#include "base/base.h"
#include "base/context.h"
#include "base/log.h"
#include "base/text.h"
#include "datatype/type.h"
#include "plan.h"

/* For people: size matters more than speed. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("Os")
#endif

/* ---- in advance ------------------------------------------------------------------------ */

static void explain_layout(struct dtc_text *text, const struct dtc_question *question)
{
	const struct dtc_layout *layout = question->layout;
	enum dtc_shape shape = dtc_layout_shape(layout, question->count);

	dtc_text_printf(text, "%s to %s: %" PRIu64 " x %" PRIu64 " bytes, %s\n",
			dtc_memory_kind_name(question->user_kind),
			dtc_memory_kind_name(question->packed_kind), question->count,
			layout->size, dtc_shape_name(shape));
}

/* The most parts that are listed; a struct may have thousands. */
#define PARTS_SHOWN 8

static void explain_parts(struct dtc_text *text, const struct dtc_layout *layout)
{
	size_t parts = 0;

	for (uint32_t i = 0; i < layout->program->op_count;
	     i += layout->program->ops[i].body + 1, parts++) {
		struct dtc_part part = dtc_layout_part(layout, i);

		if (parts < PARTS_SHOWN)
			dtc_text_printf(text,
					"  part %zu: %s, %" PRIu64
					" bytes at displacement %" PRId64 "\n",
					parts, dtc_shape_name(part.shape), part.bytes,
					part.disp);
	}
	if (parts > PARTS_SHOWN)
		dtc_text_printf(text, "  and %zu more parts\n", parts - PARTS_SHOWN);
}

static struct dtc_question turned(const struct dtc_question *question)
{
	struct dtc_question other = *question;

	other.direction = DTC_UNPACK;
	return other;
}

static void describe_method(const struct dtc_question *question,
			    const struct dtc_backend_ops *backend, char *method)
{
	struct dtc_text text;

	dtc_text_init(&text, method, DTCONV_EXPLANATION_TEXT);
	if (backend->detail)
		backend->detail(question, &text);
}

/* The index of the backends that are chosen, or -1. */
struct chosen {
	int to_pack, to_unpack;
};

static struct chosen choose(const struct dtc_question *question)
{
	const struct dtc_question unpack = turned(question);

	return (struct chosen){ dtc_plan_choose_index(question),
				dtc_plan_choose_index(&unpack) };
}

/* Rows that are whole words on one side need not be on the other, so estimate both directions. */
static void rate(const struct dtc_question *question, int index, struct chosen chosen,
		 struct dtconv_explanation *explanation)
{
	const struct dtc_backend_ops *backend = dtc_backends[index];
	const struct dtc_question unpack = turned(question);

	*explanation = (struct dtconv_explanation){
		.shape = dtc_shape_name(
			dtc_layout_shape(question->layout, question->count)),
		.what = backend->what,
		.chosen_to_pack = index == chosen.to_pack,
		.chosen_to_unpack = index == chosen.to_unpack,
		.forbidden = dtc_is_forbidden(question->forbidden, (size_t)index),
	};
	if (explanation->forbidden)
		explanation->refused = "disabled by DTCONV_BACKENDS";
	else if (backend->can(question, &explanation->refused))
		explanation->refused = NULL;
	if (explanation->refused)
		return;
	explanation->pack_ns = backend->estimate(question);
	explanation->unpack_ns = backend->estimate(&unpack);
	explanation->missing = dtc_plan_why_missing(question, backend);
	describe_method(question, backend, explanation->pack_method);
	describe_method(&unpack, backend, explanation->unpack_method);
}

/* ---- in words -------------------------------------------------------------------------- */

/* If devices are missing, say what a machine with them would choose. */
static void explain_choice(struct dtc_text *text, const struct dtconv_explanation *e)
{
	const char *verb = e->missing ? "would be chosen" : "chosen";

	if (e->chosen_to_pack && e->chosen_to_unpack)
		dtc_text_printf(text, "; the cheapest: %s", verb);
	else if (e->chosen_to_pack || e->chosen_to_unpack)
		dtc_text_printf(text, "; the cheapest to %s: %s there",
				e->chosen_to_pack ? "pack" : "unpack", verb);
	if (e->missing)
		dtc_text_printf(text, "; cannot run here: %s", e->missing);
}

static void explain_method(struct dtc_text *text, const struct dtconv_explanation *e)
{
	if (strcmp(e->pack_method, e->unpack_method) != 0)
		dtc_text_printf(text, "; %s to pack, %s to unpack", e->pack_method,
				e->unpack_method);
	else if (e->pack_method[0])
		dtc_text_printf(text, "; %s", e->pack_method);
}

static void explain_costs(struct dtc_text *text, const struct dtconv_explanation *e)
{
	if ((uint64_t)e->pack_ns == (uint64_t)e->unpack_ns)
		dtc_text_printf(text, "about %.0f ns", e->pack_ns);
	else
		dtc_text_printf(text, "about %.0f ns to pack, %.0f ns to unpack",
				e->pack_ns, e->unpack_ns);
}

static void explain_candidate(struct dtc_text *text, const struct dtc_question *question,
			      int index, struct chosen chosen)
{
	struct dtconv_explanation explanation;

	rate(question, index, chosen, &explanation);
	dtc_text_printf(text, "  candidate %s (%s): ", dtc_backends[index]->name,
			explanation.what);
	if (explanation.refused) {
		dtc_text_puts(text, explanation.refused);
	} else {
		explain_costs(text, &explanation);
		explain_method(text, &explanation);
		explain_choice(text, &explanation);
	}
	dtc_text_puts(text, "\n");
}

/* Jobs between ordinary memory need no device, so one line names all backends that do. */
static void explain_candidates(struct dtc_text *text, const struct dtc_question *question)
{
	const struct chosen chosen = choose(question);
	const char *left_out = NULL;

	for (int i = 0; dtc_backends[i]; i++) {
		const char *missing =
			dtc_question_is_ordinary(question)
				? dtc_plan_why_missing(question, dtc_backends[i])
				: NULL;

		if (missing)
			left_out = missing;
		else
			explain_candidate(text, question, i, chosen);
	}
	if (left_out)
		dtc_text_printf(text,
				"  candidates that need a device are left out: %s\n",
				left_out);
	if (chosen.to_pack < 0)
		dtc_text_printf(text, "  no %s can move it\n",
				question->forbidden ? "enabled backend"
						    : "backend of this build");
}

/* ---- the public calls ------------------------------------------------------------------ */

/* A question about kinds has no address to query: take an unknown kind for host memory. */
static enum dtconv_memory_kind known(enum dtconv_memory_kind kind)
{
	return kind == DTCONV_MEMORY_UNKNOWN ? DTCONV_MEMORY_HOST : kind;
}

/* Fails unless the type is committed. Looks for drivers first, so that candidates find their devices. */
static int ask(const struct dtconv_type *type, size_t count,
	       enum dtconv_memory_kind user_kind, enum dtconv_memory_kind packed_kind,
	       const char *caller, struct dtc_question *question)
{
	const struct dtc_layout *layout = dtc_type_layout(type);

	if (!layout)
		return DTC_FAIL(type->context, DTCONV_ERR_STATE,
				"%s: the type (argument 1) is not committed", caller);
	*question =
		(struct dtc_question){ .layout = layout,
				       .count = count,
				       .bytes = layout->size * count,
				       .user_kind = known(user_kind),
				       .packed_kind = known(packed_kind),
				       .context = type->context,
				       .forbidden = type->context->forbidden,
				       .on_stream =
					       type->context->devices.default_stream };
	if (!type->context->devices.none)
		(void)dtc_memory_has_driver(type->context);
	return 0;
}

int dtconv_explain(const struct dtconv_type *type, size_t count,
		   enum dtconv_memory_kind user_kind, enum dtconv_memory_kind packed_kind,
		   char *buffer, size_t capacity, size_t *length)
{
	struct dtc_question question;
	struct dtc_text text;

	if (!type || !length)
		return DTCONV_ERR_INVAL;
	int status = ask(type, count, user_kind, packed_kind, __func__, &question);
	if (status)
		return status;
	dtc_text_init(&text, buffer, capacity);
	explain_layout(&text, &question);
	explain_parts(&text, question.layout);
	explain_candidates(&text, &question);
	return dtc_text_finish(&text, length);
}

int dtconv_explain_backend(const struct dtconv_type *type, size_t count,
			   enum dtconv_memory_kind user_kind,
			   enum dtconv_memory_kind packed_kind, const char *backend,
			   struct dtconv_explanation *explanation)
{
	struct dtconv_explanation now;
	struct dtc_question question;

	if (!type || !backend || !explanation)
		return DTCONV_ERR_INVAL;
	if (explanation->struct_size == 0)
		return DTC_FAIL_STRUCT_SIZE(type->context, __func__, "explanation", "dtconv_explanation");
	if (!dtconv_memory_kind_name(user_kind) || !dtconv_memory_kind_name(packed_kind))
		return DTC_FAIL(
			type->context, DTCONV_ERR_INVAL,
			"%s: user_kind (argument 3) is %d and packed_kind (argument 4) "
			"is %d, but memory kinds end at %d",
			__func__, (int)user_kind, (int)packed_kind, DTCONV_MEMORY_DEVICE);
	int index = dtc_backend_index(backend);
	if (index < 0)
		return DTC_FAIL(
			type->context, DTCONV_ERR_UNSUPPORTED,
			"%s: backend (argument 5) is '%.40s', not a backend of this "
			"build; 'dtconv info' lists them",
			__func__, backend);
	int status = ask(type, count, user_kind, packed_kind, __func__, &question);
	if (status)
		return status;
	rate(&question, index, choose(&question), &now);
	now.struct_size = explanation->struct_size;
	memcpy(explanation, &now, DTC_MIN(explanation->struct_size, sizeof(now)));
	return 0;
}
