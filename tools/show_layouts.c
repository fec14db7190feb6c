/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The list above a picture of several layouts: letter, displacement, size and label of each.
 */
#include "config.h"

#include "show.h"
#include "show_ink.h"

#include <string.h>

#define MAX_COLUMN 40

/* Less than this is not shown of a text form. */
#define MIN_EXPRESSION 12

char subject_letter(size_t index)
{
	return (char)(index < 26 ? 'A' + index : 'a' + (index - 26));
}

static void describe_place(const struct scene *scene, size_t index, char *text,
			   size_t capacity)
{
	frame_describe_layout(&scene->frame, &scene->layouts[index], text, capacity);
}

static int describe_size(const struct scene *scene, size_t index, char *text,
			 size_t capacity)
{
	const struct picture *picture = &scene->subjects[index].picture;

	return snprintf(text, capacity, "%zu bytes in %s%zu run%s",
			picture->rows * picture->attr.size,
			picture->runs_are_counted ? "" : "more than ",
			picture->rows * picture->run_count,
			picture->rows * picture->run_count == 1 ? "" : "s");
}

/* Columns of the list; texts longer than MAX_COLUMN do not widen them. */
struct widths {
	size_t name;
	size_t place;
	size_t size;
};

static size_t wider(size_t width, size_t length)
{
	return length > width && length <= MAX_COLUMN ? length : width;
}

static struct widths choose_widths(const struct scene *scene)
{
	struct widths widths = { .name = 0 };

	for (size_t i = 0; i < scene->count; i++) {
		const char *label = scene->subjects[i].label;
		char text[160];

		widths.name = wider(widths.name, label ? strlen(label) : 0);
		describe_place(scene, i, text, sizeof(text));
		widths.place = wider(widths.place, strlen(text));
		describe_size(scene, i, text, sizeof(text));
		widths.size = wider(widths.size, strlen(text));
	}
	return widths;
}

/* Print as much of a text as there is room for, without trailing blanks. */
static void put_shortened(FILE *out, const char *text, size_t room)
{
	size_t length = strlen(text);

	if (length > room)
		fprintf(out, "%.*s...\n", (int)room - 3, text);
	else
		fprintf(out, "%s\n", text);
}

static void put_layout(const struct scene *scene, size_t index,
		       const struct tool_terminal *terminal, FILE *out,
		       const struct widths *widths)
{
	const struct subject *subject = &scene->subjects[index];
	char place[160], size[96], text[640];
	size_t room = terminal->columns - 6;
	size_t used = 0;

	describe_place(scene, index, place, sizeof(place));
	describe_size(scene, index, size, sizeof(size));
	if (widths->name > 0)
		used = (size_t)snprintf(text, sizeof(text), "%-*s  ", (int)widths->name,
					subject->label ? subject->label : "");
	used += (size_t)snprintf(text + used, sizeof(text) - used, "%-*s  %s",
				 (int)widths->place, place, size);
	if (used + 2 + MIN_EXPRESSION <= room)
		snprintf(text + used, sizeof(text) - used, "%*s  %s",
			 (int)(widths->size - strlen(size)), "", subject->text);
	fputs("  ", out);
	ink_begin_on(out, terminal->colour, palette_layout(index));
	fprintf(out, " %c ", subject_letter(index));
	ink_end(out, terminal->colour);
	fputc(' ', out);
	put_shortened(out, text, room);
}

void show_layouts(const struct scene *scene, const struct tool_terminal *terminal,
		  FILE *out)
{
	struct widths widths = choose_widths(scene);

	fprintf(out, "%zu layouts\n\n", scene->count);
	for (size_t i = 0; i < scene->count; i++)
		put_layout(scene, i, terminal, out, &widths);
}
