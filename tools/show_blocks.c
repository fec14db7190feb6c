/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The picture of a layout in characters. Without colours, the line below each row tells the
 * packed order. Presentation only; the contents come from the picture.
 */
#include "config.h"

#include "axis.h"
#include "palette.h"
#include "show.h"
#include "show_ink.h"

#include <stdlib.h>
#include <string.h>

#define LABEL_WIDTH        7 /* before the plot */
#define MARGIN             8 /* behind it, for what sticks out */
#define TICK_DISTANCE      10
#define MAX_CELLS_PER_BYTE 4

/* The characters of a picture; data has one for each eighth of a cell that is filled. */
struct glyphs {
	const char *data[8];
	const char *gap;
	const char *outside;
	const char *line;
	const char *left_end;
	const char *right_end;
	const char *axis;
	const char *tick;
};

static const struct glyphs unicode_glyphs = {
	.data = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" },
	.gap = "·",
	.outside = " ",
	.line = "─",
	.left_end = "├",
	.right_end = "┤",
	.axis = "─",
	.tick = "┴",
};

static const struct glyphs ascii_glyphs = {
	.data = { ".", ":", "-", "=", "+", "*", "%", "#" },
	.gap = ".",
	.outside = " ",
	.line = "-",
	.left_end = "|",
	.right_end = "|",
	.axis = "-",
	.tick = "+",
};

struct plot {
	FILE *out;
	const struct picture *picture;
	const struct glyphs *glyphs;
	enum tool_colour colour;
	double cell_bytes; /* bytes that a character stands for; a power of two */
	size_t cells;
	bool crowded; /* runs are not told apart */
	struct density *densities;
};

/* Choose the finest power of two that lets the axis fit. */
static void choose_cells(struct plot *plot, size_t room)
{
	double span = (double)plot->picture->span;

	plot->cell_bytes = 1.0 / MAX_CELLS_PER_BYTE;
	while (span / plot->cell_bytes > (double)room)
		plot->cell_bytes *= 2;
	plot->cells = (size_t)(span / plot->cell_bytes);
	if ((double)plot->cells * plot->cell_bytes < span)
		plot->cells++;
}

/*
 * The character in which a displacement lies; the end of the axis is behind the last one.
 */
static size_t cell_of(const struct plot *plot, ptrdiff_t disp)
{
	double offset = (double)((size_t)disp - (size_t)plot->picture->left);

	return (size_t)(offset / plot->cell_bytes);
}

/* ---- bounds and axis --------------------------------------------------------------- */

/* A ruler over some cells whose text does not fit into it: behind, before or above it. */
static void put_short_ruler(const struct plot *plot, size_t start, size_t width,
			    const char *text)
{
	size_t length = strlen(text);
	bool behind = start + width + 1 + length <= plot->cells + MARGIN;
	bool before = !behind && start > length;

	if (!behind && !before)
		fprintf(plot->out, "%*s%s\n", LABEL_WIDTH, "", text);
	fprintf(plot->out, "%*s", (int)(LABEL_WIDTH + start - (before ? length + 1 : 0)),
		"");
	if (before)
		fprintf(plot->out, "%s ", text);
	fputs(plot->glyphs->left_end, plot->out);
	if (width > 1) {
		ink_repeat(plot->out, plot->glyphs->line, width - 2);
		fputs(plot->glyphs->right_end, plot->out);
	}
	fprintf(plot->out, "%s%s\n", behind ? " " : "", behind ? text : "");
}

/* A ruler from one displacement to another that says what it measures. */
static void put_ruler(const struct plot *plot, ptrdiff_t from, ptrdiff_t to,
		      const char *text)
{
	size_t start = cell_of(plot, from < to ? from : to);
	size_t width = cell_of(plot, from < to ? to : from) - start;
	size_t length = strlen(text);
	size_t lines;

	if (width < length + 6) {
		put_short_ruler(plot, start, width, text);
		return;
	}
	lines = width - length - 4;
	fprintf(plot->out, "%*s%s", (int)(LABEL_WIDTH + start), "",
		plot->glyphs->left_end);
	ink_repeat(plot->out, plot->glyphs->line, lines / 2);
	fprintf(plot->out, " %s ", text);
	ink_repeat(plot->out, plot->glyphs->line, lines - lines / 2);
	fprintf(plot->out, "%s\n", plot->glyphs->right_end);
}

static void put_bounds(const struct plot *plot)
{
	const struct dtconv_type_attr *attr = &plot->picture->attr;
	ptrdiff_t ub = picture_ub(plot->picture);
	ptrdiff_t true_ub = picture_true_ub(plot->picture);
	char text[128];

	snprintf(text, sizeof(text), "lb %td, ub %td, extent %td", attr->lb, ub,
		 attr->extent);
	put_ruler(plot, attr->lb, ub, text);
	snprintf(text, sizeof(text), "true lb %td, true ub %td", attr->true_lb, true_ub);
	if (attr->size > 0)
		put_ruler(plot, attr->true_lb, true_ub, text);
}

static int put_axis(const struct plot *plot)
{
	const struct picture *picture = plot->picture;
	size_t step = axis_step(TICK_DISTANCE * plot->cell_bytes);
	ptrdiff_t tick = axis_first_tick(picture->left, step);
	size_t room = plot->cells + 16; /* the last label may stick out */
	char *labels = line_create(room);
	size_t at = 0;

	if (!labels)
		return DTCONV_ERR_NOMEM;
	fprintf(plot->out, "%*s", LABEL_WIDTH, "");
	while ((size_t)tick - (size_t)picture->left <= picture->span) {
		size_t cell = cell_of(plot, tick);

		ink_repeat(plot->out, plot->glyphs->axis, cell - at);
		fputs(plot->glyphs->tick, plot->out);
		at = cell + 1;
		line_place(labels, room, cell, axis_label(tick, step).text);
		if (__builtin_add_overflow(tick, (ptrdiff_t)step, &tick))
			break;
	}
	ink_repeat(plot->out, plot->glyphs->axis,
		   plot->cells > at ? plot->cells - at : 0);
	fputs(" bytes\n", plot->out);
	line_print(plot->out, LABEL_WIDTH, labels, room);
	free(labels);
	return 0;
}

/* ---- rows -------------------------------------------------------------------------- */

/* A cell without data: a gap between the bounds, or outside them. */
static void put_empty_cell(const struct plot *plot, size_t cell)
{
	ptrdiff_t lb = plot->picture->attr.lb;
	ptrdiff_t ub = picture_ub(plot->picture);
	size_t first = cell_of(plot, lb < ub ? lb : ub);
	size_t end = cell_of(plot, lb < ub ? ub : lb);
	bool inside = cell >= first && cell < end;

	fputs(inside ? plot->glyphs->gap : plot->glyphs->outside, plot->out);
}

/* A cell with data: how full it is, in the colour of its mean place in the stream. */
static void put_data_cell(const struct plot *plot, size_t row,
			  const struct density *density)
{
	const struct picture *picture = plot->picture;
	double share = density->bytes / plot->cell_bytes;
	size_t eighths = share >= 1 ? 8 : (size_t)(share * 8 + 0.5);
	double size = (double)picture->attr.size;
	double packed = (double)row * size + density->packed / density->bytes;

	ink_begin(plot->out, plot->colour,
		  palette_at(packed / (size * (double)picture->rows)));
	fputs(plot->glyphs->data[eighths > 0 ? eighths - 1 : 0], plot->out);
	ink_end(plot->out, plot->colour);
}

/* Below a row: the positions of runs in the packed stream, if there is room. */
static int put_order(const struct plot *plot, size_t row)
{
	const struct picture *picture = plot->picture;
	size_t room = plot->cells + 16;
	char *line = line_create(room);

	if (!line)
		return DTCONV_ERR_NOMEM;
	for (size_t i = 0; i < picture->run_count; i++) {
		const struct run *run = &picture->runs[i];
		char text[32];

		snprintf(text, sizeof(text), "%zu",
			 row * picture->attr.size + run->packed);
		line_place(line, room, cell_of(plot, run->disp), text);
	}
	line_print(plot->out, LABEL_WIDTH, line, room);
	free(line);
	return 0;
}

static int put_row(const struct plot *plot, size_t row)
{
	fprintf(plot->out, "%*zu ", LABEL_WIDTH - 1, row);
	for (size_t cell = 0; cell < plot->cells; cell++) {
		if (plot->densities[cell].bytes > 0)
			put_data_cell(plot, row, &plot->densities[cell]);
		else
			put_empty_cell(plot, cell);
	}
	fputc('\n', plot->out);
	return plot->crowded ? 0 : put_order(plot, row);
}

/* ---- the legend and the whole ------------------------------------------------------ */

static void put_scale(const struct plot *plot)
{
	if (plot->cell_bytes < 1)
		fprintf(plot->out, "%.0f characters are 1 byte", 1 / plot->cell_bytes);
	else
		fprintf(plot->out, "1 character is %.0f byte%s", plot->cell_bytes,
			plot->cell_bytes > 1 ? "s" : "");
}

static void put_legend(const struct plot *plot)
{
	const struct picture *picture = plot->picture;

	fprintf(plot->out, "%*s", LABEL_WIDTH, "");
	put_scale(plot);
	fprintf(plot->out, ", %s is a gap", plot->glyphs->gap);
	if (!plot->crowded)
		fputs(", numbers are offsets in the packed stream", plot->out);
	if (plot->crowded)
		fprintf(plot->out, "; %s%zu runs: a character tells how full it is%s",
			picture->runs_are_counted ? "" : "more than ", picture->run_count,
			picture->runs_are_counted ? "" : ", from a sample");
	fputc('\n', plot->out);
	if (picture->overlap_count > 0 && !plot->crowded)
		fprintf(plot->out, "%*ssome bytes are packed more than once\n",
			LABEL_WIDTH, "");
	if (picture->rows < picture->count)
		fprintf(plot->out, "%*sthe first %zu of %zu instances\n", LABEL_WIDTH, "",
			picture->rows, picture->count);
}

static int put_plot(const struct plot *plot)
{
	int status = 0;

	put_bounds(plot);
	for (size_t row = 0; row < plot->picture->rows && status == 0; row++)
		status = put_row(plot, row);
	if (status == 0)
		status = put_axis(plot);
	if (status == 0)
		put_legend(plot);
	return status;
}

int show_blocks(const struct subject *subject, const struct tool_terminal *terminal,
		FILE *out)
{
	struct plot plot = {
		.out = out,
		.picture = &subject->picture,
		.glyphs = terminal->unicode ? &unicode_glyphs : &ascii_glyphs,
		.colour = terminal->colour,
	};
	int status;

	choose_cells(&plot, terminal->columns - LABEL_WIDTH - MARGIN);
	plot.densities = calloc(plot.cells + 1, sizeof(plot.densities[0]));
	if (!plot.densities)
		return DTCONV_ERR_NOMEM;
	plot.crowded = picture_is_crowded(plot.picture, plot.cells / 2);
	status = picture_density(plot.picture, plot.cell_bytes, plot.cells,
				 plot.densities);
	if (status == 0)
		status = put_plot(&plot);
	free(plot.densities);
	return status;
}
