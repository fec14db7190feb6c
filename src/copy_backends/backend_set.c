/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads and writes lists of backends.
 */
#include "config.h"

#include "backend_set.h"

#include <stdlib.h>
#include <string.h>

#include "backend.h"
#include "base/base.h"
#include "base/log.h"
#include "base/text.h"

/* The bit of the backend whose name is the first @length characters of @name; 0 if there is none. */
static dtc_backend_set bit_of(const char *name, size_t length)
{
	for (size_t i = 0; dtc_backends[i]; i++)
		if (strlen(dtc_backends[i]->name) == length &&
		    !memcmp(dtc_backends[i]->name, name, length))
			return (dtc_backend_set)1 << i;
	return 0;
}

/* Names separated by commas; an empty name is an error. */
static bool parse_names(const char *names, dtc_backend_set *named, const char **wrong)
{
	*named = 0;
	for (;;) {
		size_t length = strcspn(names, ",");
		dtc_backend_set bit = bit_of(names, length);

		if (!bit) {
			*wrong = names;
			return false;
		}
		*named |= bit;
		if (!names[length])
			return true;
		names += length + 1;
	}
}

bool dtc_backend_set_parse(const char *text, dtc_backend_set *forbidden,
			   const char **wrong)
{
	bool without = *text == '^';
	dtc_backend_set named;

	if (!parse_names(text + (without || *text == '='), &named, wrong))
		return false;
	*forbidden = without ? named : ~named;
	return true;
}

void dtc_backend_set_read_environment(struct dtconv_context *context)
{
	const char *text = getenv("DTCONV_BACKENDS");
	const char *wrong;

	context->forbidden = 0;
	if (!text || !*text || dtc_backend_set_parse(text, &context->forbidden, &wrong))
		return;
	DTC_LOG(context, DTCONV_LOG_WARN,
		"environment variable DTCONV_BACKENDS is ignored: unknown backend at "
		"'%.40s'; 'dtconv info' lists those of this build",
		wrong);
}

void dtc_backend_set_format(dtc_backend_set forbidden, char *buffer, size_t capacity)
{
	struct dtc_text text;

	dtc_text_init(&text, buffer, capacity);
	for (size_t i = 0; dtc_backends[i]; i++)
		if (!dtc_is_forbidden(forbidden, i))
			dtc_text_printf(&text, "%s%s", text.length ? ", " : "",
					dtc_backends[i]->name);
	if (!text.length)
		dtc_text_puts(&text, "none");
}
