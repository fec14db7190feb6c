/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rows of one or several layouts as SVG: planes side by side, one layout in the colours of
 * its packed order, several in a colour and a letter each. Presentation only; the contents come
 * from the grid.
 */
#include "config.h"

#include "grid_page.h"
#include "palette.h"
#include "svg.h"

#include <stdlib.h>
#include <string.h>

/* Letters and numbers stand on cells of this size, lines between cells of that. */
#define LETTER_CELL 11.0
#define LINES_CELL  7.0

#define LEGEND_DISTANCE 34.0

#define TITLE_TEXT 42 /* characters */

/* A run that holds more of the stream than this shows the change of colour inside. */
#define GRADIENT_SHARE (1.0 / 64)

/* Cells that are drawn as one, in one plane. */
struct area {
	size_t plane;
	size_t row;
	size_t column;
	size_t rows;
	size_t columns;
};

/* ---- what is in a plane ---------------------------------------------------------------- */

static void open_rect(const struct page *page, const struct area *area)
{
	fprintf(page->out, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" ",
		page_cell_left(page, area->plane, area->column),
		page_cell_top(page, area->plane, area->row),
		(double)area->columns * page->cell, (double)area->rows * page->cell);
}

static void put_rect(const struct page *page, const struct area *area, const char *class)
{
	open_rect(page, area);
	fprintf(page->out, "class=\"%s\"/>\n", class);
}

/* Memory: in each row the cells that there are and that are not left out. */
static void put_memory(const struct page *page, size_t plane)
{
	for (size_t row = 0; row < page->rows; row++) {
		struct area area = { plane, row, 0, 1, 0 };

		for (size_t column = 0; column < page->columns; column++) {
			bool missing = grid_at(&page->grid, plane, row, column)->missing;

			area.column = area.columns ? area.column : column;
			area.columns += !missing;
			if (area.columns && (missing || column + 1 == page->columns)) {
				put_rect(page, &area, "gap");
				area.columns = 0;
			}
		}
	}
}

static bool same_look(const struct grid_cell *a, const struct grid_cell *b)
{
	return a->layout == b->layout && a->other == b->other && a->twice == b->twice;
}

/* Whether all cells of a row's part look like the first cell of an area. */
static bool continues(const struct page *page, const struct area *area, size_t row)
{
	const struct grid_cell *first =
		grid_at(&page->grid, area->plane, area->row, area->column);

	for (size_t i = 0; i < area->columns; i++) {
		if (!same_look(first,
			       grid_at(&page->grid, area->plane, row, area->column + i)))
			return false;
	}
	return true;
}

/* Whether a cell is part of an area that has been drawn. */
static bool is_drawn(const struct page *page, const bool *drawn, size_t row,
		     size_t column)
{
	return drawn[row * page->columns + column];
}

/* The largest area of one look that begins at a cell: along the row, then downwards. */
static struct area grow_area(const struct page *page, bool *drawn, size_t plane,
			     size_t row, size_t column)
{
	struct area area = { plane, row, column, 1, 1 };
	const struct grid_cell *first = grid_at(&page->grid, plane, row, column);

	while (column + area.columns < page->columns &&
	       !is_drawn(page, drawn, row, column + area.columns) &&
	       same_look(first, grid_at(&page->grid, plane, row, column + area.columns)))
		area.columns++;
	while (row + area.rows < page->rows && continues(page, &area, row + area.rows))
		area.rows++;
	for (size_t i = 0; i < area.rows * area.columns; i++)
		drawn[(row + i / area.columns) * page->columns + column +
		      i % area.columns] = true;
	return area;
}

static void put_area_title(const struct page *page, const struct grid_cell *cell)
{
	const struct subject *subject = &page->scene->subjects[cell->layout];

	fprintf(page->out, "<title>%c: ", subject_letter(cell->layout));
	svg_text(page->out, subject->label ? subject->label : subject->text, TITLE_TEXT);
	if (cell->other != GRID_NONE)
		fprintf(page->out, ", and %c", subject_letter(cell->other));
	fputs("</title>", page->out);
}

/* A letter or number in one cell, or in a range of equal ones. */
static void put_on_cell(const struct page *page, size_t plane, size_t row, size_t column,
			size_t columns, struct colour on, const char *text)
{
	bool fits = svg_text_width(text) <= page->cell;
	double left = page_cell_left(page, plane, column);

	if (svg_text_width(text) + 3 > (double)columns * page->cell ||
	    page->cell < LETTER_CELL || page_is_elided(page, FRAME_ROWS, row))
		return;
	svg_label(page->out, palette_is_dark(on) ? "onrun dark" : "onrun",
		  fits ? "middle" : "start", fits ? left + page->cell / 2 : left + 3,
		  page_cell_top(page, plane, row) + page->cell / 2 + 4, text);
}

/* One of several layouts, in its colour. */
static void put_area(const struct page *page, const struct area *area)
{
	const struct grid_cell *cell =
		grid_at(&page->grid, area->plane, area->row, area->column);

	open_rect(page, area);
	fputs("fill=\"", page->out);
	svg_colour(page->out, palette_layout(cell->layout));
	fputs("\">", page->out);
	put_area_title(page, cell);
	fputs("</rect>\n", page->out);
	if (grid_overlaps(cell))
		put_rect(page, area, "hatch");
}

/* The slot nearest to the middle of some that stands for itself, if there is one. */
static size_t middle_slot(const struct page *page, enum frame_axis axis, size_t first,
			  size_t count)
{
	size_t middle = first + (count - 1) / 2;

	for (size_t i = 0; i <= count; i++) {
		/* the middle, the one before it, the one behind it, ... */
		size_t slot = i % 2 ? middle - (i + 1) / 2 : middle + i / 2;

		if (slot >= first && slot < first + count &&
		    !page_is_elided(page, axis, slot))
			return slot;
	}
	return middle;
}

/* The layout's letter in the middle of its area. */
static void put_letter(const struct page *page, const struct area *area)
{
	const struct grid_cell *cell =
		grid_at(&page->grid, area->plane, area->row, area->column);
	char letter[] = { subject_letter(cell->layout), '\0' };

	if (!grid_overlaps(cell))
		put_on_cell(page, area->plane,
			    middle_slot(page, FRAME_ROWS, area->row, area->rows),
			    middle_slot(page, FRAME_COLUMNS, area->column, area->columns),
			    1, palette_layout(cell->layout), letter);
}

typedef void (*area_fn)(const struct page *page, const struct area *area);

static int for_areas(const struct page *page, size_t plane, area_fn draw)
{
	bool *drawn = calloc(page->rows * page->columns, sizeof(drawn[0]));

	if (!drawn)
		return DTCONV_ERR_NOMEM;
	for (size_t row = 0; row < page->rows; row++) {
		for (size_t column = 0; column < page->columns; column++) {
			struct area area;

			if (grid_at(&page->grid, plane, row, column)->layout ==
				    GRID_NONE ||
			    is_drawn(page, drawn, row, column))
				continue;
			area = grow_area(page, drawn, plane, row, column);
			draw(page, &area);
		}
	}
	free(drawn);
	return 0;
}

/* ---- packed order -------------------------------------------------------------------- */

/* Bytes from one column to another of the same row. */
static size_t bytes_between(const struct page *page, size_t column, size_t other)
{
	const struct slot *slot = page->grid.axis[FRAME_COLUMNS].slot;

	return (slot[other].first - slot[column].first) * page->scene->frame.cell_bytes;
}

/* The cells of one run that begin at a column. */
static struct area find_run(const struct page *page, size_t plane, size_t row,
			    size_t column)
{
	struct area area = { plane, row, column, 1, 1 };
	const struct grid_cell *first = grid_at(&page->grid, plane, row, column);

	for (size_t next = column + 1; next < page->columns; next++, area.columns++) {
		const struct grid_cell *cell = grid_at(&page->grid, plane, row, next);

		if (!same_look(first, cell) ||
		    cell->packed != first->packed + bytes_between(page, column, next))
			break;
	}
	return area;
}

/* The bytes of a row that a run's cells stand for, also those left out. */
static size_t run_bytes(const struct page *page, const struct area *run)
{
	size_t last = run->column + run->columns - 1;

	return bytes_between(page, run->column, last) +
	       page->grid.axis[FRAME_COLUMNS].slot[last].count *
		       page->scene->frame.cell_bytes;
}

static void put_run(const struct page *page, const struct area *run)
{
	const struct picture *picture = &page->scene->subjects[0].picture;
	const struct grid_cell *cell =
		grid_at(&page->grid, run->plane, run->row, run->column);
	double stream = (double)picture->rows * (double)picture->attr.size;
	size_t bytes = run_bytes(page, run);
	double begin = (double)cell->packed / stream;
	double end = (double)(cell->packed + bytes) / stream;
	bool gradient = end - begin > GRADIENT_SHARE;
	char id[80];

	snprintf(id, sizeof(id), "run%zu-%zu-%zu", run->plane, run->row, run->column);
	if (gradient)
		svg_gradient(page->out, id, begin, end);
	open_rect(page, run);
	fputs("fill=\"", page->out);
	if (gradient)
		fprintf(page->out, "url(#%s)", id);
	else
		svg_colour(page->out, palette_at((begin + end) / 2));
	fprintf(page->out, "\"><title>packed %zu to %zu</title></rect>\n", cell->packed,
		cell->packed + bytes - 1);
	if (grid_overlaps(cell))
		put_rect(page, run, "hatch");
}

/* The offset in the packed stream at which a run begins. */
static void put_run_number(const struct page *page, const struct area *run)
{
	const struct picture *picture = &page->scene->subjects[0].picture;
	const struct grid_cell *cell =
		grid_at(&page->grid, run->plane, run->row, run->column);
	double stream = (double)picture->rows * (double)picture->attr.size;
	char text[32];

	snprintf(text, sizeof(text), "%zu", cell->packed);
	put_on_cell(page, run->plane, run->row, run->column, run->columns,
		    palette_at((double)cell->packed / stream), text);
}

static void for_runs(const struct page *page, size_t plane, area_fn draw)
{
	for (size_t row = 0; row < page->rows; row++) {
		for (size_t column = 0; column < page->columns;) {
			struct area run = { .columns = 1 };

			if (grid_at(&page->grid, plane, row, column)->layout !=
			    GRID_NONE) {
				run = find_run(page, plane, row, column);
				draw(page, &run);
			}
			column += run.columns;
		}
	}
}

/* ---- around a plane -------------------------------------------------------------------- */

/* White lines between the cells, and a veil over those that stand for several. */
static void put_lines(const struct page *page, size_t plane)
{
	double left = page_plane_left(page, plane);
	double top = page_plane_top(page, plane);

	if (page->cell >= LINES_CELL) {
		fputs("<path class=\"grid\" d=\"", page->out);
		for (size_t column = 1; column < page->columns; column++)
			fprintf(page->out, "M%.2f %.2fv%.2f",
				page_cell_left(page, plane, column), top,
				page->plane_height);
		for (size_t row = 1; row < page->rows; row++)
			fprintf(page->out, "M%.2f %.2fh%.2f", left,
				page_cell_top(page, plane, row),
				(double)page->columns * page->cell);
		fputs("\"/>\n", page->out);
	}
	for (size_t column = 0; column < page->columns; column++) {
		struct area area = { plane, 0, column, page->rows, 1 };

		if (page_is_elided(page, FRAME_COLUMNS, column))
			put_rect(page, &area, "veil");
	}
	for (size_t row = 0; row < page->rows; row++) {
		struct area area = { plane, row, 0, 1, page->columns };

		if (page_is_elided(page, FRAME_ROWS, row))
			put_rect(page, &area, "veil");
	}
}

/* Where the next number may begin, so that none touches the one before. */
struct ruler {
	double free;
};

static void put_number(const struct page *page, struct ruler *ruler, double middle,
		       double y, const char *text)
{
	double half = svg_text_width(text) * 0.42;

	if (middle - half < ruler->free)
		return;
	svg_label(page->out, "number", "middle", middle, y, text);
	ruler->free = middle + half + 4;
}

static void put_column_numbers(const struct page *page, size_t plane)
{
	struct ruler above = { .free = 0 };
	struct ruler below = { .free = 0 };
	double top = page_plane_top(page, plane);

	for (size_t column = 0; column < page->columns; column++) {
		double middle = page_cell_left(page, plane, column) + page->cell / 2;
		bool elided = page_is_elided(page, FRAME_COLUMNS, column);
		char text[64];

		page_describe_slot(page, FRAME_COLUMNS, column, text, sizeof(text));
		put_number(page, elided ? &below : &above, middle,
			   elided ? top + page->plane_height + 12 : top - 5, text);
	}
}

static void put_row_numbers(const struct page *page, size_t plane)
{
	double free = 0;

	for (size_t row = 0; row < page->rows; row++) {
		double middle = page_cell_top(page, plane, row) + page->cell / 2;
		char text[64];

		page_describe_slot(page, FRAME_ROWS, row, text, sizeof(text));
		if (middle - 4 < free)
			continue;
		svg_label(page->out, "number", "end", page->left - PAGE_NUMBER_GAP,
			  middle + 3.5, text);
		free = middle + 6;
	}
}

static void put_plane_title(const struct page *page, size_t plane)
{
	char title[320];

	grid_plane_title(&page->grid, plane, title, sizeof(title));
	svg_label(page->out, "bound", "start", page_plane_left(page, plane),
		  page_plane_top(page, plane) - PAGE_NUMBERS_HEIGHT - 5, title);
}

static int put_plane(const struct page *page, size_t plane)
{
	int status = 0;

	if (page_has_titles(page))
		put_plane_title(page, plane);
	put_memory(page, plane);
	if (page->lettered)
		status = for_areas(page, plane, put_area);
	else
		for_runs(page, plane, put_run);
	put_lines(page, plane);
	if (page->lettered && status == 0)
		status = for_areas(page, plane, put_letter);
	else if (!page->lettered)
		for_runs(page, plane, put_run_number);
	put_column_numbers(page, plane);
	if (plane % page->planes_abreast == 0)
		put_row_numbers(page, plane);
	return status;
}

/* ---- the page --------------------------------------------------------------------------- */

/* Stripes, which can be told from every colour. */
static void define_hatch(FILE *out)
{
	fputs("<pattern id=\"hatch\" width=\"6\" height=\"6\" "
	      "patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">"
	      "<path stroke=\"#1f1b2e\" stroke-width=\"3\" d=\"M0 0V6\"/></pattern>\n",
	      out);
}

int show_grid_svg(const struct scene *scene, FILE *out)
{
	struct page page;
	int status = page_prepare(&page, scene, out);
	double legend_top = page.bottom + LEGEND_DISTANCE;

	if (status == 0) {
		svg_begin(out, legend_top + page_legend_height(&page));
		if (page.grid.overlapped)
			define_hatch(out);
		page_put_header(&page);
		for (size_t plane = 0; plane < page.planes && status == 0; plane++)
			status = put_plane(&page, plane);
		page_put_legend(&page, legend_top);
		svg_end(out);
	}
	grid_release(&page.grid);
	return status;
}
