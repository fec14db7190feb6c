/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Telling why: what the planner weighs, asked in advance (dtconv_explain), job by job (the log at
 * level debug), and once for each type that moves far slower than its bytes would (level warn).
 */
#include "config.h"

#include "explain.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "allowed.h"
#include "base.h"
#include "context.h"
#include "datatype/type.h"
#include "log.h"
#include "memory/vendor.h"
#include "plan.h"
#include "text.h"

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
					"  part %zu: %s, %" PRIu64
					" bytes at displacement %" PRId64 "\n",
					parts, dtc_shape_name(part.shape), part.bytes,
					part.disp);
	}
	if (parts > PARTS_SHOWN)
		dtc_text_printf(text, "  and %zu parts more\n", parts - PARTS_SHOWN);
}

/* Which directions a candidate is chosen for. */
struct chosen {
	bool pack, unpack;
};

/* Where devices are @missing, what another machine would choose. */
static void explain_choice(struct dtc_text *text, struct chosen chosen,
			   const char *missing)
{
	const char *verb = missing ? "would be chosen" : "chosen";

	if (chosen.pack && chosen.unpack)
		dtc_text_printf(text, "; the cheapest: %s", verb);
	else if (chosen.pack || chosen.unpack)
		dtc_text_printf(text, "; the cheapest to %s: %s there",
				chosen.pack ? "pack" : "unpack", verb);
	if (missing)
		dtc_text_printf(text, "; cannot run here: %s", missing);
}

static struct dtc_question turned(const struct dtc_question *question)
{
	struct dtc_question other = *question;

	other.direction = DTC_UNPACK;
	return other;
}

/* Costs are those of a machine that has the device. */
static const char *why_missing(const struct dtc_question *question,
			       const struct dtc_backend_ops *backend)
{
	if (!backend->vendor)
		return NULL;
	if (question->context->devices.none)
		return "the caller has promised host memory";
	return backend->vendor->missing(question->context);
}

/* Rows that are whole words on one side need not be on the other. */
static void explain_detail(struct dtc_text *text, const struct dtc_question *question,
			   const struct dtc_backend_ops *backend)
{
	const struct dtc_question unpack = turned(question);
	char buffers[2][200];
	struct dtc_text details[2];

	for (int i = 0; i < 2; i++) {
		dtc_text_init(&details[i], buffers[i], sizeof(buffers[i]));
		backend->detail(i ? &unpack : question, &details[i]);
	}
	if (strcmp(buffers[0], buffers[1]) == 0)
		dtc_text_printf(text, "; %s", buffers[0]);
	else
		dtc_text_printf(text, "; %s to pack, %s to unpack", buffers[0],
				buffers[1]);
}

static void explain_costs(struct dtc_text *text, const struct dtc_question *question,
			  const struct dtc_backend_ops *backend, struct chosen chosen)
{
	const struct dtc_question unpack = turned(question);
	double pack_ns = backend->estimate(question),
	       unpack_ns = backend->estimate(&unpack);

	if ((uint64_t)pack_ns == (uint64_t)unpack_ns)
		dtc_text_printf(text, "about %.0f ns", pack_ns);
	else
		dtc_text_printf(text, "about %.0f ns to pack, %.0f ns to unpack", pack_ns,
				unpack_ns);
	if (backend->detail)
		explain_detail(text, question, backend);
	explain_choice(text, chosen, why_missing(question, backend));
	dtc_text_puts(text, "\n");
}

static void explain_candidate(struct dtc_text *text, const struct dtc_question *question,
			      size_t place, struct chosen chosen)
{
	const struct dtc_backend_ops *backend = dtc_backends[place];
	const char *reason;

	dtc_text_printf(text, "  candidate %s (%s): ", backend->name, backend->what);
	if (dtc_is_forbidden(question->forbidden, place))
		dtc_text_printf(text, "forbidden by DTCONV_BACKENDS\n");
	else if (!backend->can(question, &reason))
		dtc_text_printf(text, "%s\n", reason);
	else
		explain_costs(text, question, backend, chosen);
}

static void explain_candidates(struct dtc_text *text, const struct dtc_question *question)
{
	const struct dtc_question unpack = turned(question);
	int to_pack = dtc_plan_place(question), to_unpack = dtc_plan_place(&unpack);

	for (int i = 0; dtc_backends[i]; i++)
		explain_candidate(text, question, (size_t)i,
				  (struct chosen){ i == to_pack, i == to_unpack });
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
					 .context = type->context,
					 .forbidden = type->context->forbidden };
	struct dtc_text text;

	if (!question.layout)
		return DTC_FAIL(type->context, DTCONV_ERR_STATE,
				"dtconv_explain: the type (argument 1) is not committed");
	question.bytes = question.layout->size * count;
	if (!type->context->devices.none)
		(void)dtc_memory_has_driver(type->context);
	dtc_text_init(&text, buffer, capacity);
	explain_layout(&text, &question);
	explain_parts(&text, question.layout);
	explain_candidates(&text, &question);
	if (dtc_plan_place(&question) < 0)
		dtc_text_printf(&text, "  no backend %s can move it\n",
				question.forbidden ? "that is allowed" : "of this build");
	return dtc_text_finish(&text, length);
}

/* ---- job by job ------------------------------------------------------------------------ */

/* Every candidate with its cost, the chosen one with what it does. */
static void list_candidates(struct dtc_text *text, const struct dtc_question *question,
			    int chosen)
{
	const char *reason;

	for (int i = 0; dtc_backends[i]; i++) {
		const struct dtc_backend_ops *backend = dtc_backends[i];

		if (dtc_is_forbidden(question->forbidden, (size_t)i) ||
		    !backend->can(question, &reason))
			continue;
		dtc_text_printf(text, "%s%s %.0f ns%s", text->length ? ", " : "",
				backend->name, backend->estimate(question),
				i == chosen ? " (chosen" : "");
		if (i != chosen)
			continue;
		if (backend->detail) {
			dtc_text_puts(text, "; ");
			backend->detail(question, text);
		}
		dtc_text_puts(text, ")");
	}
}

static void log_choice(const struct dtc_job *job, const struct dtc_question *question,
		       int chosen)
{
	char buffer[512];
	struct dtc_text text;

	dtc_text_init(&text, buffer, sizeof(buffer));
	list_candidates(&text, question, chosen);
	dtc_log_write(job->context, __FILE__, __LINE__, DTCONV_LOG_DEBUG,
		      "%s: %" PRIu64 " bytes, %s to %s: %s", job->caller, job->bytes,
		      dtc_memory_kind_name(question->user_kind),
		      dtc_memory_kind_name(question->packed_kind), buffer);
}

/* ---- what is slow ---------------------------------------------------------------------- */

/* So many times what as many bytes in one run cost is worth a line. */
#define SLOW 8

/* So much of a type's text form is enough to know it again. */
#define TYPE_TEXT 80

/* True for one caller only: it is the layout's one warning. */
static bool is_first_warning(const struct dtc_job *job)
{
	/* Immutable to everyone else; that one word is made for being written. */
	struct dtc_layout *layout = (struct dtc_layout *)(uintptr_t)job->cursor->layout;

	return dtc_log_enabled(job->context, DTCONV_LOG_WARN) &&
	       !atomic_exchange_explicit(&layout->warned, true, memory_order_relaxed);
}

static const char *type_text(const struct dtc_job *job, char text[TYPE_TEXT])
{
	size_t length;

	if (!job->type)
		return "a type";
	int status = dtconv_type_format(job->type, text, TYPE_TEXT, &length);
	if (status == DTCONV_ERR_TRUNCATE)
		memcpy(text + TYPE_TEXT - 4, "...", 4);
	return status && status != DTCONV_ERR_TRUNCATE ? "a type" : text;
}

void dtc_explain_slow(const struct dtc_job *job, const char *what, const char *reason)
{
	char text[TYPE_TEXT];

	if (!is_first_warning(job))
		return;
	dtc_log_write(job->context, __FILE__, __LINE__, DTCONV_LOG_WARN,
		      "%s: %s moves slowly between %s and %s memory: %s, because %s",
		      job->caller, type_text(job, text),
		      dtc_memory_kind_name(job->user_memory.kind),
		      dtc_memory_kind_name(job->packed_memory.kind), what, reason);
}

static void warn_of_choice(const struct dtc_job *job, const struct dtc_question *question,
			   const struct dtc_backend_ops *backend)
{
	struct dtc_question run = *question;
	char buffer[200] = "its way is dear";
	struct dtc_text text;

	run.is_run = true;
	double best = backend->estimate(&run), expected = backend->estimate(question);
	if (expected < SLOW * best)
		return;
	if (backend->detail) {
		dtc_text_init(&text, buffer, sizeof(buffer));
		backend->detail(question, &text);
	}
	char what[120];
	snprintf(what, sizeof(what),
		 "%s is expected to take %.0f us, and %.0f us for one run", backend->name,
		 expected / 1e3, best / 1e3);
	dtc_explain_slow(job, what, buffer);
}

void dtc_explain_choice(const struct dtc_job *job, const struct dtc_question *question,
			int place)
{
	if (dtc_log_enabled(job->context, DTCONV_LOG_DEBUG))
		log_choice(job, question, place);
	if (dtc_log_enabled(job->context, DTCONV_LOG_WARN) &&
	    !atomic_load_explicit(&job->cursor->layout->warned, memory_order_relaxed))
		warn_of_choice(job, question, dtc_backends[place]);
}
