/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compares each line of the log with the listener's words.
 */
#include "config.h"

#include "support/listener.h"

#include <stdio.h>
#include <string.h>

#include "support/fixture.h"

static void listen(void *arg, enum dtconv_log_level level, const char *file, int line,
		   const char *text)
{
	struct listener *listener = arg;

	(void)level, (void)file, (void)line;
	if (!strstr(text, listener->words))
		return;
	listener->lines++;
	snprintf(listener->text, sizeof(listener->text), "%s", text);
}

void listener_open(struct listener *listener, enum dtconv_log_level level,
		   const char *words)
{
	const struct dtconv_context_params params = { .struct_size = sizeof(params),
						      .log = listen,
						      .log_arg = listener,
						      .log_level = level };

	*listener = (struct listener){ .words = words };
	fixture_ok(dtconv_context_create(&params, &listener->context));
}
