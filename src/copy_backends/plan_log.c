/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Logs the planner's choice for each job (level debug), and once for each type that it moves far slower
 * than contiguous bytes (level warn).
 */
#include "config.h"

#include "plan_log.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "backend_set.h"
#include "base/base.h"
#include "base/context.h"
#include "base/log.h"
#include "base/text.h"
#include "datatype/type.h"

/* ---- job by job ------------------------------------------------------------------------ */

/* List each candidate with its cost, and how the chosen one moves. */
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

/* Warn of a type that costs this many times as much as the same bytes in one run. */
#define SLOW 8

/* The most characters of a type's text form in a log line. */
#define TYPE_TEXT 80

/* True once for each layout. */
static bool is_first_warning(const struct dtc_job *job)
{
	/* A layout is immutable except for this atomic flag. */
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

void dtc_plan_warn_slow(const struct dtc_job *job, const char *what, const char *reason)
{
	char text[TYPE_TEXT];

	if (!is_first_warning(job))
		return;
	dtc_log_write(job->context, __FILE__, __LINE__, DTCONV_LOG_WARN,
		      "%s: slow path for %s between %s and %s memory: %s, because %s",
		      job->caller, type_text(job, text),
		      dtc_memory_kind_name(job->user_memory.kind),
		      dtc_memory_kind_name(job->packed_memory.kind), what, reason);
}

static void warn_of_choice(const struct dtc_job *job, const struct dtc_question *question,
			   const struct dtc_backend_ops *backend)
{
	struct dtc_question run = *question;
	char buffer[200] = "no faster backend supports it";
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
		 "%s needs about %.0f us, against %.0f us for contiguous data",
		 backend->name, expected / 1e3, best / 1e3);
	dtc_plan_warn_slow(job, what, buffer);
}

void dtc_plan_log_choice(const struct dtc_job *job, const struct dtc_question *question,
			 int index)
{
	if (dtc_log_enabled(job->context, DTCONV_LOG_DEBUG))
		log_choice(job, question, index);
	if (dtc_log_enabled(job->context, DTCONV_LOG_WARN) &&
	    !atomic_load_explicit(&job->cursor->layout->warned, memory_order_relaxed))
		warn_of_choice(job, question, dtc_backends[index]);
}
