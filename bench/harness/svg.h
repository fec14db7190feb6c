/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Text in a picture.
 */
#ifndef BENCH_SVG_H
#define BENCH_SVG_H

#include <stdio.h>

/* Write a text as it stands between two tags. */
static inline void svg_text(FILE *file, const char *text)
{
	for (const char *c = text; *c; c++)
		if (*c == '<' || *c == '&')
			fputs(*c == '<' ? "&lt;" : "&amp;", file);
		else
			putc(*c, file);
}

#endif
