/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the fuzz targets share: one context for all inputs, and how a failure ends.
 */
#include "config.h"

#include "fuzz/fuzz.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <dtconv/context.h>

/* Errors are expected here by the million; nobody wants to read them. */
static void ignore_log(void *arg, enum dtconv_log_level level, const char *file, int line,
		       const char *text)
{
	(void)arg;
	(void)level;
	(void)file;
	(void)line;
	(void)text;
}

struct dtconv_context *fuzz_context(void)
{
	static struct dtconv_context *context;
	const struct dtconv_context_params params = {
		.struct_size = sizeof(params),
		.log = ignore_log,
		.flags = DTCONV_CONTEXT_COUNTERS,
	};

	if (!context && dtconv_context_create(&params, &context))
		fuzz_fail("no context");
	return context;
}

void fuzz_expect_no_types(void)
{
	struct dtconv_counters counters = { .struct_size = sizeof(counters) };

	dtconv_context_query_counters(fuzz_context(), &counters);
	if (counters.types_live)
		fuzz_fail("%llu types are still alive",
			  (unsigned long long)counters.types_live);
}

void fuzz_fail(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	abort();
}
