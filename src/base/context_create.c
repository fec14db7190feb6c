/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Creates a context: checks its options, reads the environment once, sets the allocator. init.c
 * adds what the layers above keep in a context.
 */
#include "config.h"

#include "context_create.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base.h"
#include "context.h"
#include "log.h"
#include "threads.h"

static void *default_alloc(void *arg, size_t bytes)
{
	(void)arg;
	return malloc(bytes);
}

static void default_free(void *arg, void *memory)
{
	(void)arg;
	free(memory);
}

/* Older callers pass a shorter struct. The missing members stay zero, which is the default. */
static struct dtconv_context_params complete(const struct dtconv_context_params *params)
{
	struct dtconv_context_params known = {.struct_size = sizeof(known)};

	if (params)
		memcpy(&known, params, DTC_MIN(params->struct_size, sizeof(known)));
	return known;
}

/* No context exists yet to keep the error text, so the message only goes to the log. */
__attribute__((format(printf, 2, 3))) static int refuse(
	const struct dtconv_context_params *params, const char *format, ...)
{
	char sentence[160];
	va_list args;

	va_start(args, format);
	vsnprintf(sentence, sizeof(sentence), format, args);
	va_end(args);
	if (params->log)
		params->log(params->log_arg, DTCONV_LOG_ERROR, "src/base/context_create.c", 0, sentence);
	return DTCONV_ERR_INVAL;
}

static int check(const struct dtconv_context_params *params)
{
	if (!params->allocator.alloc != !params->allocator.free)
		return refuse(
			params,
			"dtconv_context_create: params.allocator.%s is NULL; set both alloc "
			"and free, or neither",
			params->allocator.alloc ? "free" : "alloc");
	if ((unsigned)params->log_level > DTCONV_LOG_TRACE)
		return refuse(
			params,
			"dtconv_context_create: params.log_level is %d, not a value of enum "
			"dtconv_log_level",
			(int)params->log_level);
	if ((unsigned)params->padding > DTCONV_PADDING_NONE)
		return refuse(
			params,
			"dtconv_context_create: params.padding is %d, not a value of enum "
			"dtconv_padding",
			(int)params->padding);
	if (params->flags &
	    ~(unsigned)(DTCONV_CONTEXT_COUNTERS | DTCONV_CONTEXT_HOST_MEMORY |
			DTCONV_CONTEXT_RESIDENT | DTCONV_CONTEXT_GRAPHS |
			DTCONV_CONTEXT_PEER_ACCESS | DTCONV_CONTEXT_SPECIALISE |
			DTCONV_CONTEXT_DEFAULT_STREAM))
		return refuse(
			params,
			"dtconv_context_create: params.flags has unknown bits: 0x%x",
			params->flags);
	if ((params->flags & DTCONV_CONTEXT_RESIDENT) &&
	    (params->flags & DTCONV_CONTEXT_DEFAULT_STREAM))
		return refuse(
			params,
			"dtconv_context_create: params.flags has DTCONV_CONTEXT_RESIDENT and "
			"DTCONV_CONTEXT_DEFAULT_STREAM, but no stream orders resident jobs");
	if (params->threads > DTC_THREADS_MAX)
		return refuse(
			params,
			"dtconv_context_create: params.threads is %zu, but must be at most %d",
			params->threads, DTC_THREADS_MAX);
	return 0;
}

static void read_log_level(struct dtconv_context *context)
{
	const char *level = getenv("DTCONV_LOG");

	if (!level || context->log_level != DTCONV_LOG_NONE)
		return;
	if (dtc_log_parse_level(level, &context->log_level))
		return;
	context->log_level = DTCONV_LOG_WARN;
	DTC_LOG(context, DTCONV_LOG_WARN,
		"environment variable DTCONV_LOG is '%.40s', not none, error, warn, info, debug "
		"or trace; using warn",
		level);
}

static void read_stats(struct dtconv_context *context)
{
	const char *stats = getenv("DTCONV_STATS");

	if (!stats || !*stats || !strcmp(stats, "0"))
		return;
	if (!strcmp(stats, "1"))
		context->counting = context->log_counters = true;
	else
		DTC_LOG(context, DTCONV_LOG_WARN,
			"environment variable DTCONV_STATS is '%.40s', not 0 or 1; it is ignored",
			stats);
}

static void read_specialise(struct dtconv_context *context)
{
	static const char *const names[] = { [DTC_SPECIALISE_OFF] = "0",
					     [DTC_SPECIALISE_ON] = "1",
					     [DTC_SPECIALISE_AT_ONCE] = "wait" };
	const char *value = getenv("DTCONV_SPECIALISE");

	if (!value || !*value)
		return;
	for (size_t i = 0; i < DTC_ARRAY_LENGTH(names); i++)
		if (!strcmp(value, names[i])) {
			context->specialise = (enum dtc_specialise)i;
			return;
		}
	DTC_LOG(context, DTCONV_LOG_WARN,
		"environment variable DTCONV_SPECIALISE is '%.40s', not 0, 1 or wait; it is ignored",
		value);
}

static void read_environment(struct dtconv_context *context)
{
	read_log_level(context);
	read_stats(context);
	read_specialise(context);
}

static void fill(struct dtconv_context *context, const struct dtconv_context_params *params)
{
	context->allocator = params->allocator;
	context->log = params->log;
	context->log_arg = params->log_arg;
	context->log_level = params->log_level;
	context->padding = params->padding;
	context->counting = params->flags & DTCONV_CONTEXT_COUNTERS;
	context->specialise = params->flags & DTCONV_CONTEXT_SPECIALISE
				      ? DTC_SPECIALISE_ON
				      : DTC_SPECIALISE_OFF;
	context->devices.none = params->flags & DTCONV_CONTEXT_HOST_MEMORY;
	context->devices.resident = params->flags & DTCONV_CONTEXT_RESIDENT;
	context->devices.graphs = params->flags & DTCONV_CONTEXT_GRAPHS;
	context->devices.opens_peers = params->flags & DTCONV_CONTEXT_PEER_ACCESS;
	context->devices.default_stream = params->flags & DTCONV_CONTEXT_DEFAULT_STREAM;
}

int dtc_context_create(const struct dtconv_context_params *params,
		       struct dtconv_context **context)
{
	struct dtconv_context_params known;
	struct dtconv_context *created;

	if (params && params->struct_size == 0)
		return DTCONV_ERR_INVAL;
	known = complete(params);
	int status = check(&known);
	if (status)
		return status;
	if (!known.allocator.alloc)
		known.allocator = (struct dtconv_allocator){.alloc = default_alloc,
							    .free = default_free};
	created = known.allocator.alloc(known.allocator.arg, sizeof(*created));
	if (!created)
		return DTCONV_ERR_NOMEM;
	memset(created, 0, sizeof(*created));
	fill(created, &known);
	if (pthread_mutex_init(&created->error_lock, NULL)) {
		known.allocator.free(known.allocator.arg, created);
		return DTCONV_ERR_NOMEM;
	}
	read_environment(created);
	status = dtc_threads_create(created, &known);
	if (status) {
		dtc_context_destroy(created);
		return status;
	}
	*context = created;
	return 0;
}

void dtc_context_destroy(struct dtconv_context *context)
{
	struct dtconv_allocator allocator = context->allocator;

	dtc_threads_destroy(context);
	pthread_mutex_destroy(&context->error_lock);
	allocator.free(allocator.arg, context);
}
