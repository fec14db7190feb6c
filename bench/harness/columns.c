/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fitting tables to a terminal. It uses widths and ranks only, not the contents.
 */
#include "config.h"

#include "bench/harness/columns.h"

#include <stdlib.h>
#include <string.h>

bool columns_show(const struct columns *c, unsigned group)
{
	return c->shown >> group & 1;
}

static size_t width_of(const struct columns *c)
{
	size_t width = (size_t)c->name_width;

	for (unsigned i = 0; i < c->count; i++)
		if (columns_show(c, i))
			width += (size_t)c->groups[i].width;
	return width;
}

static unsigned groups_of(const struct columns *c, int rank)
{
	unsigned bits = 0;

	for (unsigned i = 0; i < c->count; i++)
		if (c->groups[i].rank == rank)
			bits |= 1u << i;
	return bits;
}

/*
 * The groups to leave out next: those of the largest rank, first of all those without figures.
 */
static unsigned next_to_go(const struct columns *c, unsigned empty)
{
	unsigned next = 0, next_empty = 0;
	int most = 0, most_empty = 0;

	for (unsigned i = 0; i < c->count; i++) {
		int rank = c->groups[i].rank;
		unsigned bits = groups_of(c, rank);

		if (!columns_show(c, i) || !rank)
			continue;
		if (rank > most) {
			most = rank;
			next = bits;
		}
		if (rank > most_empty && !(bits & ~empty)) {
			most_empty = rank;
			next_empty = bits;
		}
	}
	return next_empty ? next_empty : next;
}

static int longest_name(const struct results *rs)
{
	size_t longest = COLUMNS_NAME;

	for (size_t i = 0; i < rs->count; i++) {
		size_t length = strlen(rs->list[i].layout);

		if (length > longest)
			longest = length;
	}
	return (int)longest;
}

struct columns columns_choose(const struct column_group *groups, size_t count,
			      size_t limit, unsigned empty, unsigned absent,
			      const struct results *names)
{
	struct columns c = { .groups = groups,
			     .count = count,
			     .limit = limit,
			     .name_width = longest_name(names),
			     .shown = ((1u << count) - 1) & ~absent };
	unsigned next;

	while (limit && width_of(&c) > limit && (next = next_to_go(&c, empty))) {
		c.shown &= ~next;
		c.dropped |= next & ~empty;
	}
	while (limit && width_of(&c) > limit && c.name_width > COLUMNS_NAME)
		c.name_width--;
	return c;
}

/* ---- printing ------------------------------------------------------------------------ */

#define LINE_ROOM 512

static void place(char *line, size_t at, const char *text)
{
	size_t length = strlen(text);

	if (at + length < LINE_ROOM)
		memcpy(line + at, text, length);
}

void columns_print_head(FILE *file, const struct columns *c, const char *over,
			const char *title)
{
	const char *const first[2] = { over, title };

	for (size_t k = 0; k < 2; k++) {
		size_t at = (size_t)c->name_width, length = LINE_ROOM;
		char line[LINE_ROOM];

		memset(line, ' ', sizeof(line));
		place(line, 0, first[k]);
		for (unsigned i = 0; i < c->count; i++) {
			if (!columns_show(c, i))
				continue;
			place(line, at, c->groups[i].head[k]);
			at += (size_t)c->groups[i].width;
		}
		while (length && line[length - 1] == ' ')
			length--;
		fprintf(file, "%.*s\n", (int)length, line);
	}
}

void columns_print_name(FILE *file, const struct columns *c, const char *name,
			const char *mark)
{
	int room = c->name_width - (int)strlen(mark);
	int length;

	if (c->limit && (int)strlen(name) > room)
		length = fprintf(file, "%.*s..%s", room - 2, name, mark);
	else
		length = fprintf(file, "%s%s", name, mark);
	fprintf(file, "%*s", length < c->name_width ? c->name_width - length : 0, "");
}

void columns_print_dropped(FILE *file, const struct columns *c)
{
	const char *separator = " ";
	size_t length;
	char *text;
	FILE *out = c->dropped ? open_memstream(&text, &length) : NULL;

	if (!out)
		return;
	fprintf(out, "(omitted at %zu columns:", c->limit);
	for (unsigned i = 0; i < c->count; i++) {
		if (!(c->dropped >> i & 1) || !c->groups[i].name)
			continue;
		fprintf(out, "%s%s", separator, c->groups[i].name);
		separator = ", ";
	}
	fputc(')', out);
	if (!fclose(out))
		columns_print_text(file, text, c->limit);
	free(text);
}

void columns_print_text(FILE *file, const char *text, size_t limit)
{
	while (limit && strlen(text) > limit) {
		size_t length = limit;

		while (length && text[length] != ' ')
			length--;
		if (!length) /* a word longer than any line */
			length = strcspn(text, " ");
		if (!text[length])
			break;
		fprintf(file, "%.*s\n", (int)length, text);
		text += length + 1;
	}
	fprintf(file, "%s\n", text);
}
