/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rows of one or several layouts in characters, planes side by side. One layout is drawn in
 * the colours of its packed order, several in a colour and a letter each. Presentation only;
 * the contents come from the grid.
 */
#include "config.h"

#include "palette.h"
#include "show.h"
#include "show_ink.h"

#include <stdlib.h>
#include <string.h>

#define MIN_LABEL_WIDTH  7 /* before the rows */
#define PLANE_DISTANCE   3
#define MAX_OFFSET_WIDTH 12
#define MAX_PLANES       8
#define ROWS_OF_ONE      32 /* drawn if there is one plane */
#define ROWS_OF_MANY     16
#define COLUMN_STEP      4 /* between numbers above the columns */

struct glyphs {
	const char *data;
	const char *gap;
	const char *columns; /* that are not drawn one by one */
	const char *rows;
};

static const struct glyphs unicode_glyphs = {
	.data = "█",
	.gap = "·",
	.columns = "…",
	.rows = "⋮",
};

static const struct glyphs ascii_glyphs = {
	.data = "#",
	.gap = ".",
	.columns = "~",
	.rows = ":",
};

static const char overlap_glyph[] = "*";

struct plot {
	FILE *out;
	size_t blanks; /* that a line has to get before anything else */
	const struct scene *scene;
	const struct tool_terminal *terminal;
	const struct glyphs *glyphs;
	struct grid grid;
	bool lettered;       /* several layouts: letters instead of packed order */
	size_t label_width;  /* before the rows */
	size_t cell_width;   /* characters, 1 or 2 */
	size_t offset_width; /* behind each row: where it is in the packed stream; or 0 */
	size_t plane_width;
	size_t planes_abreast;
};

static const struct slots *slots_of(const struct plot *plot, enum frame_axis axis)
{
	return &plot->grid.axis[axis];
}

static bool is_elided(const struct plot *plot, enum frame_axis axis, size_t slot)
{
	return slots_of(plot, axis)->slot[slot].kind != SLOT_ONE;
}

static size_t count_digits(size_t number)
{
	size_t digits = 1;

	for (; number >= 10; number /= 10)
		digits++;
	return digits;
}

/* ---- sizes --------------------------------------------------------------------------- */

static size_t widest_row_label(const struct frame *frame)
{
	size_t digits = count_digits(frame->count[FRAME_ROWS]) + 1;

	return digits + 3 > MIN_LABEL_WIDTH ? digits + 3 : MIN_LABEL_WIDTH;
}

/* The width of the offsets behind rows, with the blank before it. */
static size_t choose_offset_width(const struct scene *scene)
{
	const struct picture *picture = &scene->subjects[0].picture;
	size_t width = 1 + count_digits(picture->rows * picture->attr.size);

	return scene->count > 1 || width > MAX_OFFSET_WIDTH ? 0 : width;
}

/* Widen narrow planes until their titles fit. */
static void make_room_for_titles(struct plot *plot, size_t most)
{
	size_t planes = slots_of(plot, FRAME_PLANES)->count;

	for (size_t plane = 0; plane < planes; plane++) {
		char title[320];

		grid_plane_title(&plot->grid, plane, title, sizeof(title));
		if (strlen(title) > plot->plane_width)
			plot->plane_width = strlen(title) < most ? strlen(title) : most;
	}
}

/* Prepare a grid no wider than the terminal, and choose how wide its cells are. */
static int choose_sizes(struct plot *plot)
{
	const struct frame *frame = &plot->scene->frame;
	size_t width, columns;
	struct grid_room room = { .slots = { 0, ROWS_OF_ONE, MAX_PLANES } };
	int status;

	plot->label_width = widest_row_label(frame);
	plot->offset_width = choose_offset_width(plot->scene);
	width = plot->terminal->columns - plot->label_width - plot->offset_width;
	room.slots[FRAME_COLUMNS] = width;
	if (frame->count[FRAME_PLANES] > 1)
		room.slots[FRAME_ROWS] = ROWS_OF_MANY;
	status = grid_prepare(&plot->grid, frame, &room);
	if (status)
		return status;
	columns = slots_of(plot, FRAME_COLUMNS)->count;
	plot->cell_width = 2 * columns <= width ? 2 : 1;
	plot->plane_width = columns * plot->cell_width + plot->offset_width;
	width += plot->offset_width;
	if (frame->count[FRAME_PLANES] > 1)
		make_room_for_titles(plot, width);
	plot->planes_abreast =
		(width + PLANE_DISTANCE) / (plot->plane_width + PLANE_DISTANCE);
	return 0;
}

/* ---- lines without trailing blanks ------------------------------------------------------ */

static void put_blanks(struct plot *plot, size_t count)
{
	plot->blanks += count;
}

static void flush_blanks(struct plot *plot)
{
	fprintf(plot->out, "%*s", (int)plot->blanks, "");
	plot->blanks = 0;
}

static void end_line(struct plot *plot)
{
	fputc('\n', plot->out);
	plot->blanks = 0;
}

/* ---- cells --------------------------------------------------------------------------- */

static struct colour cell_colour(const struct plot *plot, const struct grid_cell *cell)
{
	const struct picture *picture = &plot->scene->subjects[0].picture;
	double stream = (double)picture->rows * (double)picture->attr.size;

	if (plot->lettered)
		return palette_layout(cell->layout);
	return palette_at((double)cell->packed / stream);
}

/* One that is filled: with a glyph, or with what stands for columns and rows left out. */
static void put_data(struct plot *plot, const struct grid_cell *cell, const char *elision)
{
	char letter[] = { subject_letter(cell->layout), '\0' };
	const char *glyph = plot->lettered ? letter : plot->glyphs->data;
	enum tool_colour depth = plot->terminal->colour;

	if (grid_overlaps(cell))
		glyph = overlap_glyph;
	if (plot->lettered || elision || grid_overlaps(cell))
		ink_begin_on(plot->out, depth, cell_colour(plot, cell));
	else
		ink_begin(plot->out, depth, cell_colour(plot, cell));
	ink_repeat(plot->out, elision ? elision : glyph, plot->cell_width);
	ink_end(plot->out, depth);
}

static void put_cell(struct plot *plot, size_t plane, size_t row, size_t column)
{
	const struct grid_cell *cell = grid_at(&plot->grid, plane, row, column);
	const char *elision = is_elided(plot, FRAME_ROWS, row) ? plot->glyphs->rows
			      : is_elided(plot, FRAME_COLUMNS, column)
				      ? plot->glyphs->columns
				      : NULL;

	if (cell->missing && !elision) {
		put_blanks(plot, plot->cell_width);
		return;
	}
	flush_blanks(plot);
	if (cell->layout != GRID_NONE) {
		put_data(plot, cell, elision);
		return;
	}
	fputs(elision ? elision : plot->glyphs->gap, plot->out);
	put_blanks(plot, plot->cell_width - 1);
}

/* Behind a row: the offset in the packed stream of the first cell that has data. */
static size_t put_offset(struct plot *plot, size_t plane, size_t row)
{
	size_t columns = slots_of(plot, FRAME_COLUMNS)->count;

	if (plot->offset_width == 0 || is_elided(plot, FRAME_ROWS, row))
		return 0;
	for (size_t column = 0; column < columns; column++) {
		const struct grid_cell *cell = grid_at(&plot->grid, plane, row, column);

		if (cell->layout != GRID_NONE) {
			put_blanks(plot, 1);
			flush_blanks(plot);
			return 1 + (size_t)fprintf(plot->out, "%zu", cell->packed);
		}
	}
	return 0;
}

/* ---- planes --------------------------------------------------------------------------- */

static void put_row_label(const struct plot *plot, size_t row)
{
	const struct slot *slot = &slots_of(plot, FRAME_ROWS)->slot[row];
	int width = (int)plot->label_width - 1;
	char number[32];

	snprintf(number, sizeof(number), "%td",
		 grid_number(&plot->grid, FRAME_ROWS, row));
	if (slot->kind == SLOT_ONE)
		fprintf(plot->out, "%*s ", width, number);
	else
		fprintf(plot->out, "%s%*zu ", plot->glyphs->rows, width - 1, slot->count);
}

static void put_row(struct plot *plot, size_t first, size_t end, size_t row)
{
	size_t columns = slots_of(plot, FRAME_COLUMNS)->count;

	put_row_label(plot, row);
	for (size_t plane = first; plane < end; plane++) {
		size_t used = columns * plot->cell_width;

		for (size_t column = 0; column < columns; column++)
			put_cell(plot, plane, row, column);
		used += put_offset(plot, plane, row);
		put_blanks(plot, plot->plane_width - used + PLANE_DISTANCE);
	}
	end_line(plot);
}

/* Where each plane is in a line above the rows. */
static size_t plane_start(const struct plot *plot, size_t first, size_t plane)
{
	return (plane - first) * (plot->plane_width + PLANE_DISTANCE);
}

static int put_titles(const struct plot *plot, size_t first, size_t end)
{
	size_t room = plane_start(plot, first, end) + 1;
	char *line = line_create(room);
	char title[320];

	if (!line)
		return DTCONV_ERR_NOMEM;
	for (size_t plane = first; plane < end; plane++) {
		size_t start = plane_start(plot, first, plane);

		grid_plane_title(&plot->grid, plane, title, sizeof(title));
		if (strlen(title) > plot->plane_width)
			title[plot->plane_width] = '\0';
		line_place(line, room, start, title);
	}
	line_print(plot->out, plot->label_width, line, room);
	free(line);
	return 0;
}

/* Number a column if there is room: first those beside an elision, then every fourth. */
static void place_numbers(const struct plot *plot, char *line, size_t room, size_t start)
{
	size_t columns = slots_of(plot, FRAME_COLUMNS)->count;

	for (int pass = 0; pass < 2; pass++) {
		for (size_t column = 0; column < columns; column++) {
			bool elided = is_elided(plot, FRAME_COLUMNS, column);
			bool after = column == 0 ||
				     is_elided(plot, FRAME_COLUMNS, column - 1);
			ptrdiff_t number =
				grid_number(&plot->grid, FRAME_COLUMNS, column);
			char text[32];

			if (elided || (pass == 0 ? !after : number % COLUMN_STEP != 0))
				continue;
			snprintf(text, sizeof(text), "%td", number);
			line_place(line, room, start + column * plot->cell_width, text);
		}
	}
}

static int put_numbers(const struct plot *plot, size_t first, size_t end)
{
	size_t room = plane_start(plot, first, end) + 1;
	char *line = line_create(room);

	if (!line)
		return DTCONV_ERR_NOMEM;
	for (size_t plane = first; plane < end; plane++)
		place_numbers(plot, line, room, plane_start(plot, first, plane));
	line_print(plot->out, plot->label_width, line, room);
	free(line);
	return 0;
}

/* As many planes as fit side by side. */
static int put_band(struct plot *plot, size_t first, size_t end)
{
	size_t rows = slots_of(plot, FRAME_ROWS)->count;
	int status = 0;

	if (plot->scene->frame.count[FRAME_PLANES] > 1)
		status = put_titles(plot, first, end);
	if (status == 0)
		status = put_numbers(plot, first, end);
	for (size_t row = 0; row < rows && status == 0; row++)
		put_row(plot, first, end, row);
	return status;
}

static int put_planes(struct plot *plot)
{
	size_t planes = slots_of(plot, FRAME_PLANES)->count;
	int status = 0;

	for (size_t first = 0; first < planes && status == 0;
	     first += plot->planes_abreast) {
		size_t end = first + plot->planes_abreast;

		if (first > 0)
			fputc('\n', plot->out);
		status = put_band(plot, first, end < planes ? end : planes);
	}
	return status;
}

/* ---- the legend ------------------------------------------------------------------------ */

static void put_line(const struct plot *plot, const char *text)
{
	ink_wrapped(plot->out, plot->label_width, plot->terminal->columns, text);
}

/* What stands for columns or rows that are not drawn one by one, and for how many. */
static void put_elision(const struct plot *plot, enum frame_axis axis, const char *glyph,
			const char *noun)
{
	size_t alike = grid_elided(&plot->grid, axis, SLOT_ALIKE);
	size_t cut = grid_elided(&plot->grid, axis, SLOT_CUT);
	char text[160];

	if (alike > 0) {
		snprintf(text, sizeof(text), "%s stands for %zu %s like those beside it",
			 glyph, alike, noun);
		put_line(plot, text);
	}
	if (cut > 0) {
		snprintf(text, sizeof(text), "%s: %zu %s are left out", glyph, cut, noun);
		put_line(plot, text);
	}
}

static void put_legend(const struct plot *plot)
{
	const struct picture *picture = &plot->scene->subjects[0].picture;
	char text[160];

	snprintf(text, sizeof(text), "%s is a gap", plot->glyphs->gap);
	if (plot->grid.gaps)
		put_line(plot, text);
	if (plot->offset_width)
		put_line(plot, "numbers behind rows are offsets in the packed stream");
	put_elision(plot, FRAME_COLUMNS, plot->glyphs->columns, "columns");
	put_elision(plot, FRAME_ROWS, plot->glyphs->rows, "rows");
	if (plot->grid.overlapped)
		put_line(plot,
			 plot->lettered
				 ? "* is in several layouts, or packed more than once"
				 : "* is packed more than once");
	if (picture->rows < picture->count) {
		snprintf(text, sizeof(text), "the first %zu of %zu instances",
			 picture->rows, picture->count);
		put_line(plot, text);
	}
}

int show_grid(const struct scene *scene, const struct tool_terminal *terminal, FILE *out)
{
	struct plot plot = {
		.out = out,
		.scene = scene,
		.terminal = terminal,
		.glyphs = terminal->unicode ? &unicode_glyphs : &ascii_glyphs,
		.lettered = scene->count > 1,
	};
	char text[200];
	int status = choose_sizes(&plot);

	if (status == 0) {
		frame_describe(&scene->frame, text, sizeof(text));
		ink_wrapped(out, 2, terminal->columns, text);
		fputc('\n', out);
		status = put_planes(&plot);
	}
	if (status == 0)
		put_legend(&plot);
	grid_release(&plot.grid);
	return status;
}
