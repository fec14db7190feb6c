/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The elements of pictures in characters: colours, and lines in which short texts are placed if
 * there is room.
 */
#ifndef DTCONV_TOOLS_SHOW_INK_H
#define DTCONV_TOOLS_SHOW_INK_H

#include "palette.h"
#include "tools.h"

/* Write in a colour, or black or white on it, until ink_end. */
void ink_begin(FILE *out, enum tool_colour depth, struct colour colour);
void ink_begin_on(FILE *out, enum tool_colour depth, struct colour background);
void ink_end(FILE *out, enum tool_colour depth);

void ink_repeat(FILE *out, const char *glyph, size_t times);

/* Print words in lines of at most so many columns, indented. */
void ink_wrapped(FILE *out, size_t indent, size_t columns, const char *text);

/* A line of blanks, or NULL; the caller frees it. */
char *line_create(size_t cells);

/* Put a text into a line; one that does not fit or would touch another is left out. */
void line_place(char *line, size_t cells, size_t at, const char *text);

/* Print a line without its trailing blanks. */
void line_print(FILE *out, size_t indent, char *line, size_t cells);

#endif
