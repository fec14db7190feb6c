/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A user of whichever libdtconv it is linked with; USER is its name. Each shared object and the
 * program compile this file for themselves.
 */
#include "user.h"

#include <stdint.h>
#include <string.h>

#include <dtconv/dtconv.h>

#define TEXT_OF_(name) #name
#define TEXT_OF(name)  TEXT_OF_(name)

static struct dtconv_context *context;

static struct {
	size_t lines;
	size_t others; /* lines that do not hold what `expected` says */
	const char *expected;
} seen;

static void take_line(void *arg, enum dtconv_log_level level, const char *file, int line,
		      const char *text)
{
	(void)arg, (void)level, (void)file, (void)line;
	seen.lines++;
	if (!seen.expected || !strstr(text, seen.expected))
		seen.others++;
}

static int open_context(void)
{
	struct dtconv_context_params params = {
		.struct_size = sizeof(params),
		.log = take_line,
		.log_level = DTCONV_LOG_ERROR,
		.flags = DTCONV_CONTEXT_COUNTERS,
	};

	return dtconv_context_create(&params, &context);
}

static int fail(const char *mistake)
{
	struct dtconv_type *type = NULL;

	seen.expected = mistake;
	return dtconv_type_parse(context, mistake, strlen(mistake), &type);
}

static size_t error(char *text, size_t capacity)
{
	return dtconv_context_error(context, text, capacity);
}

static int pack(size_t count, const int *from, int *to)
{
	struct dtconv_type *element = dtconv_type_predefined(context, DTCONV_INT);
	struct dtconv_type *type = NULL;
	int status = dtconv_type_create_vector(count, 1, 2, element, &type);

	if (status == 0)
		status = dtconv_type_commit(type);
	if (status == 0)
		status = dtconv_pack(type, 1, from, to, count * sizeof(*to), NULL);
	dtconv_type_unref(type);
	return status;
}

static size_t lines(const char *mistake, int *strange)
{
	*strange = seen.others != 0 || seen.expected != mistake;
	return seen.lines;
}

static size_t calls(void)
{
	struct dtconv_counters counters = { .struct_size = sizeof(counters) };

	if (dtconv_context_query_counters(context, &counters) != 0)
		return SIZE_MAX;
	return (size_t)counters.pack_calls;
}

static const void *code(void)
{
	return (const void *)(uintptr_t)dtconv_pack;
}

static void close_context(void)
{
	dtconv_context_destroy(context);
}

const struct user USER = {
	.name = TEXT_OF(USER),
	.open = open_context,
	.fail = fail,
	.error = error,
	.pack = pack,
	.lines = lines,
	.calls = calls,
	.version = dtconv_version,
	.code = code,
	.close = close_context,
};
