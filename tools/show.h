/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the parts of `dtconv show` hand each other.
 */
#ifndef DTCONV_TOOLS_SHOW_H
#define DTCONV_TOOLS_SHOW_H

#include "picture.h"
#include "tools.h"

/* Everything there is to show about one layout. */
struct subject {
	struct dtconv_context *context;
	struct dtconv_type *type; /* committed */
	struct picture picture;
	char *text; /* its text form, signature and program */
	char *signature;
	char *program;
	size_t external32_size; /* of one instance */
};

/* How the layout was made, one constructor or predefined type a line. */
int show_tree(const struct subject *subject, FILE *out);

/* The picture in characters, as wide as the terminal. */
int show_blocks(const struct subject *subject, const struct tool_terminal *terminal,
		FILE *out);

/* The picture as SVG. */
int show_svg(const struct subject *subject, FILE *out);

/* Everything as one JSON object. */
void show_json(const struct subject *subject, FILE *out);

#endif
