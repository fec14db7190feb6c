/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Colours as escape sequences, and lines of text. It is independent of the contents.
 */
#include "config.h"

#include "show_ink.h"

#include <stdlib.h>
#include <string.h>

/* The nearest colour of the 6 x 6 x 6 cube that terminals with 256 colours have. */
static unsigned cube_index(struct colour colour)
{
	unsigned red = (colour.red * 5u + 127) / 255;
	unsigned green = (colour.green * 5u + 127) / 255;
	unsigned blue = (colour.blue * 5u + 127) / 255;

	return 16 + 36 * red + 6 * green + blue;
}

/* Select the foreground (38) or background (48) colour. */
static void select_colour(FILE *out, enum tool_colour depth, unsigned what,
			  struct colour colour)
{
	if (depth == TOOL_TRUE_COLOUR)
		fprintf(out, "\033[%u;2;%u;%u;%um", what, colour.red, colour.green,
			colour.blue);
	else if (depth == TOOL_256_COLOURS)
		fprintf(out, "\033[%u;5;%um", what, cube_index(colour));
}

void ink_begin(FILE *out, enum tool_colour depth, struct colour colour)
{
	select_colour(out, depth, 38, colour);
}

void ink_begin_on(FILE *out, enum tool_colour depth, struct colour background)
{
	unsigned char level = palette_is_dark(background) ? 255 : 0;

	select_colour(out, depth, 48, background);
	select_colour(out, depth, 38, (struct colour){ level, level, level });
}

void ink_end(FILE *out, enum tool_colour depth)
{
	if (depth != TOOL_NO_COLOUR)
		fputs("\033[0m", out);
}

void ink_repeat(FILE *out, const char *glyph, size_t times)
{
	while (times-- > 0)
		fputs(glyph, out);
}

char *line_create(size_t cells)
{
	char *line = malloc(cells + 1);

	if (line) {
		memset(line, ' ', cells);
		line[cells] = '\0';
	}
	return line;
}

void line_place(char *line, size_t cells, size_t at, const char *text)
{
	size_t length = strlen(text);

	if (at + length > cells || (at > 0 && line[at - 1] != ' '))
		return;
	for (size_t i = 0; i < length + 1 && at + i < cells; i++) {
		if (line[at + i] != ' ')
			return;
	}
	memcpy(line + at, text, length);
}

void line_print(FILE *out, size_t indent, char *line, size_t cells)
{
	while (cells > 0 && line[cells - 1] == ' ')
		cells--;
	line[cells] = '\0';
	fprintf(out, "%*s%s\n", cells > 0 ? (int)indent : 0, "", line);
}

void ink_wrapped(FILE *out, size_t indent, size_t columns, const char *text)
{
	size_t at = 0;

	while (*text) {
		size_t length = strcspn(text, " ");

		if (at > 0 && at + 1 + length > columns) {
			fputc('\n', out);
			at = 0;
		}
		fprintf(out, "%*s%.*s", at ? 1 : (int)indent, "", (int)length, text);
		at += (at ? 1 : indent) + length;
		text += length + (text[length] == ' ');
	}
	fputc('\n', out);
}
