/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A context whose log is listened to: the last line with some words in it, and how many there were.
 */
#ifndef TEST_SUPPORT_LISTENER_H
#define TEST_SUPPORT_LISTENER_H

#include <stddef.h>

#include <dtconv/context.h>

struct listener {
	struct dtconv_context *context;
	const char *words;
	size_t lines;
	char text[1024];
};

/* Create the context. The listener stays in place until the context is destroyed. */
void listener_open(struct listener *listener, enum dtconv_log_level level,
		   const char *words);

#endif
