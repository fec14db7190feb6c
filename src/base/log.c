/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Log lines and error texts: where they go, and how a thread finds its own last error. All
 * state is in the context.
 */
#include "config.h"

#include "log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base.h"
#include "context.h"

static const char *const level_names[] = {"none", "error", "warn", "info", "debug", "trace"};

bool dtc_log_parse_level(const char *name, enum dtconv_log_level *level)
{
	for (size_t i = 0; i < DTC_ARRAY_LENGTH(level_names); i++) {
		if (strcmp(name, level_names[i]) == 0) {
			*level = (enum dtconv_log_level)i;
			return true;
		}
	}
	return false;
}

bool dtc_log_enabled(const struct dtconv_context *context, enum dtconv_log_level level)
{
	return level <= context->log_level;
}

/* Paths depend on the build directory; the part below the source directory does not. */
static const char *source_path(const char *file)
{
	const char *found = file;

	for (const char *s = file; (s = strstr(s, "src/")) != NULL; s++)
		found = s;
	return found;
}

static void emit(const struct dtconv_context *context, const char *file, int line,
		 enum dtconv_log_level level, const char *text)
{
	if (context->log)
		context->log(context->log_arg, level, source_path(file), line, text);
	else
		fprintf(stderr, "dtconv %s: %s (%s:%d)\n", level_names[level], text,
			source_path(file), line);
}

static struct dtc_error_slot *find_slot(struct dtconv_context *context, pthread_t thread)
{
	for (size_t i = 0; i < DTC_ERROR_SLOTS; i++) {
		struct dtc_error_slot *slot = &context->errors[i];

		if (slot->serial && pthread_equal(slot->thread, thread))
			return slot;
	}
	return NULL;
}

static struct dtc_error_slot *oldest_slot(struct dtconv_context *context)
{
	struct dtc_error_slot *oldest = &context->errors[0];

	for (size_t i = 1; i < DTC_ERROR_SLOTS; i++)
		if (context->errors[i].serial < oldest->serial)
			oldest = &context->errors[i];
	return oldest;
}

static void remember(struct dtconv_context *context, const char *text)
{
	pthread_t self = pthread_self();

	pthread_mutex_lock(&context->error_lock);
	struct dtc_error_slot *slot = find_slot(context, self);
	if (!slot)
		slot = oldest_slot(context);
	slot->thread = self;
	slot->serial = ++context->error_serial;
	snprintf(slot->text, sizeof(slot->text), "%s", text);
	pthread_mutex_unlock(&context->error_lock);
}

static void record(struct dtconv_context *context, const char *file, int line,
		   enum dtconv_log_level level, const char *format, va_list args)
{
	char text[DTC_ERROR_TEXT_MAX];

	vsnprintf(text, sizeof(text), format, args);
	remember(context, text);
	if (dtc_log_enabled(context, level))
		emit(context, file, line, level, text);
}

int dtc_log_fail(struct dtconv_context *context, const char *file, int line, int status,
		 const char *format, ...)
{
	va_list args;

	va_start(args, format);
	record(context, file, line, DTCONV_LOG_ERROR, format, args);
	va_end(args);
	dtc_context_count(context, DTC_COUNT_ERRORS, 1);
	return status;
}

int dtc_log_retry(struct dtconv_context *context, const char *file, int line,
		  const char *format, ...)
{
	va_list args;

	va_start(args, format);
	record(context, file, line, DTCONV_LOG_DEBUG, format, args);
	va_end(args);
	return DTCONV_ERR_AGAIN;
}

void dtc_log_write(const struct dtconv_context *context, const char *file, int line,
		   enum dtconv_log_level level, const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	emit(context, file, line, level, text);
}

size_t dtconv_context_error(struct dtconv_context *context, char *text, size_t capacity)
{
	size_t length = 0;

	if (!context)
		return 0;
	pthread_mutex_lock(&context->error_lock);
	struct dtc_error_slot *slot = find_slot(context, pthread_self());
	const char *found = slot ? slot->text : "";
	length = strlen(found);
	if (capacity)
		snprintf(text, capacity, "%s", found);
	pthread_mutex_unlock(&context->error_lock);
	return length;
}
