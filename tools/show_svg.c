/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The picture of a layout as SVG: a row of coloured runs for each instance, dimension lines for
 * the bounds, an axis, and the packed stream as the legend of the colours. Presentation only;
 * the contents come from the picture.
 */
#include "config.h"

#include "axis.h"
#include "palette.h"
#include "show.h"
#include "svg.h"

#include <stdlib.h>
#include <string.h>

/* All lengths are in pixels. */
#define PLOT_LEFT           72.0
#define PLOT_WIDTH          856.0
#define HEADER_HEIGHT       64.0
#define DIMENSIONS_HEIGHT   52.0
#define AXIS_HEIGHT         48.0
#define LEGEND_HEIGHT       92.0
#define LEGEND_LEFT         (PLOT_LEFT + 300)
#define TICK_DISTANCE       76.0 /* at least */
#define DENSITY_COLUMN      2.0
#define TITLE_CHARACTERS    98
#define SUBTITLE_CHARACTERS 120

/* A run thinner, or a bar lower than this could not be seen. */
#define MIN_RUN_WIDTH  0.5
#define MIN_BAR_HEIGHT 1.5

/* More runs than this in a row run into each other. */
#define MAX_DISTINCT_RUNS ((size_t)(PLOT_WIDTH / 2))

/* A run that holds more of the stream than this shows the change of colour inside. */
#define GRADIENT_SHARE (1.0 / 64)

struct page {
	FILE *out;
	const struct subject *subject;
	const struct picture *picture;
	bool crowded; /* densities are drawn, not runs */
	double row_height;
	double row_step;
	double rows_top;
	double rows_bottom;
};

/* ---- places ------------------------------------------------------------------------ */

/* Where a displacement lies from left to right. */
static double place(const struct picture *picture, ptrdiff_t disp)
{
	double offset = (double)((size_t)disp - (size_t)picture->left);

	return PLOT_LEFT + PLOT_WIDTH * offset / (double)picture->span;
}

/* Where a byte of an instance's part is in the packed stream of all rows, 0 to 1. */
static double order(const struct picture *picture, size_t row, double packed)
{
	double size = (double)picture->attr.size;

	return ((double)row * size + packed) / ((double)picture->rows * size);
}

static double row_top(const struct page *page, size_t row)
{
	return page->rows_top + (double)row * page->row_step;
}

static struct page make_page(const struct subject *subject, FILE *out)
{
	const struct picture *picture = &subject->picture;
	struct page page = {
		.out = out,
		.subject = subject,
		.picture = picture,
		.crowded = picture_is_crowded(picture, MAX_DISTINCT_RUNS),
		.row_height = picture->rows > 6 ? 20 : 34,
		.rows_top = HEADER_HEIGHT + DIMENSIONS_HEIGHT,
	};

	page.row_step = page.row_height + (picture->rows > 6 ? 6 : 10);
	page.rows_bottom = row_top(&page, picture->rows - 1) + page.row_height;
	return page;
}

void show_svg_header(const struct subject *subject, FILE *out)
{
	const struct picture *picture = &subject->picture;

	fputs("<text class=\"title\" x=\"24\" y=\"32\">", out);
	svg_text(out, subject->text, TITLE_CHARACTERS);
	fputs("</text>\n<text x=\"24\" y=\"52\">", out);
	fprintf(out, "%zu bytes of data in %s%zu run%s, extent %td, signature ",
		picture->attr.size, picture->runs_are_counted ? "" : "more than ",
		picture->run_count, picture->run_count == 1 ? "" : "s",
		picture->attr.extent);
	svg_text(out, subject->signature, SUBTITLE_CHARACTERS / 2);
	fputs("</text>\n", out);
}

/* ---- bounds ------------------------------------------------------------------------ */

/* A dimension line between two displacements, with an arrow's bar at both ends. */
struct dimension {
	const char *line_class;
	const char *text_class;
	double y;
	ptrdiff_t from; /* the lower bound */
	ptrdiff_t to;   /* the upper bound; may lie left of it */
	char from_text[40];
	char length_text[48];
	char to_text[40];
};

/* All three texts in one, where the line is too short for them: beside it. */
static void put_short_labels(FILE *out, const struct dimension *dimension, double left,
			     double right)
{
	char text[140];
	bool fits;

	snprintf(text, sizeof(text), "%s, %s, %s", dimension->from_text,
		 dimension->to_text, dimension->length_text);
	fits = right + 8 + svg_text_width(text) < SVG_PAGE_WIDTH;
	svg_label(out, dimension->text_class, fits ? "start" : "end",
		  fits ? right + 8 : left - 8, dimension->y + 4, text);
}

static void put_long_labels(FILE *out, const struct dimension *dimension, double from,
			    double to)
{
	const char *class = dimension->text_class;
	double y = dimension->y - 5;
	bool reversed = to < from;
	double inset = reversed ? -4 : 4;

	svg_label(out, class, reversed ? "end" : "start", from + inset, y,
		  dimension->from_text);
	svg_label(out, class, "middle", (from + to) / 2, y, dimension->length_text);
	svg_label(out, class, reversed ? "start" : "end", to - inset, y,
		  dimension->to_text);
}

static void put_dimension_lines(const struct page *page,
				const struct dimension *dimension)
{
	double from = place(page->picture, dimension->from);
	double to = place(page->picture, dimension->to);

	fprintf(page->out, "<path class=\"%s\" d=\"M%.2f %.2fV%.2fM%.2f %.2fV%.2f\"/>\n",
		dimension->line_class, from, dimension->y - 4, page->rows_bottom + 4, to,
		dimension->y - 4, page->rows_bottom + 4);
	fprintf(page->out, "<path class=\"%s solid\" d=\"M%.2f %.2fH%.2f\"/>\n",
		dimension->line_class, from, dimension->y, to);
}

static void put_dimension_labels(const struct page *page,
				 const struct dimension *dimension)
{
	double from = place(page->picture, dimension->from);
	double to = place(page->picture, dimension->to);
	double left = from < to ? from : to;
	double right = from < to ? to : from;
	double needed = svg_text_width(dimension->from_text) +
			svg_text_width(dimension->length_text) +
			svg_text_width(dimension->to_text) + 24;

	if (right - left < needed)
		put_short_labels(page->out, dimension, left, right);
	else
		put_long_labels(page->out, dimension, from, to);
}

static void put_bounds(const struct page *page)
{
	const struct dtconv_type_attr *attr = &page->picture->attr;
	struct dimension extent = { .line_class = "line",
				    .text_class = "bound",
				    .y = HEADER_HEIGHT + 18,
				    .from = attr->lb,
				    .to = picture_ub(page->picture) };
	struct dimension data = { .line_class = "trueline",
				  .text_class = "true",
				  .y = HEADER_HEIGHT + 42,
				  .from = attr->true_lb,
				  .to = picture_true_ub(page->picture) };

	snprintf(extent.from_text, sizeof(extent.from_text), "lb %td", extent.from);
	snprintf(extent.length_text, sizeof(extent.length_text), "extent %td",
		 attr->extent);
	snprintf(extent.to_text, sizeof(extent.to_text), "ub %td", extent.to);
	snprintf(data.from_text, sizeof(data.from_text), "true lb %td", data.from);
	snprintf(data.length_text, sizeof(data.length_text), "true extent %td",
		 attr->true_extent);
	snprintf(data.to_text, sizeof(data.to_text), "true ub %td", data.to);
	put_dimension_lines(page, &extent);
	if (attr->size > 0)
		put_dimension_lines(page, &data);
	/* the labels last: lines must not cross them */
	put_dimension_labels(page, &extent);
	if (attr->size > 0)
		put_dimension_labels(page, &data);
}

/* ---- rows -------------------------------------------------------------------------- */

/* Where the row is: the whole axis, and in it what lies between the bounds. */
static void put_tracks(const struct page *page)
{
	const struct picture *picture = page->picture;
	double lb = place(picture, picture->attr.lb);
	double ub = place(picture, picture_ub(picture));
	double left = lb < ub ? lb : ub;
	double right = lb < ub ? ub : lb;

	for (size_t row = 0; row < picture->rows; row++) {
		double y = row_top(page, row);
		char label[40];

		fprintf(page->out,
			"<rect class=\"track\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" "
			"height=\"%.2f\"/>\n",
			PLOT_LEFT, y, PLOT_WIDTH, page->row_height);
		fprintf(page->out,
			"<rect class=\"gap\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" "
			"height=\"%.2f\"/>\n",
			left, y, right - left, page->row_height);
		snprintf(label, sizeof(label), "%zu", row);
		svg_label(page->out, "bound", "end", PLOT_LEFT - 12,
			  y + page->row_height / 2 + 4, label);
	}
}

/* Write a run's offset in the packed stream on it, if there is room. */
static void put_run_label(const struct page *page, size_t row, const struct run *run)
{
	const struct picture *picture = page->picture;
	double width = PLOT_WIDTH * (double)run->bytes / (double)picture->span;
	char text[32];
	double middle = order(picture, row, (double)run->packed + (double)run->bytes / 2);
	bool dark = palette_is_dark(palette_at(middle));

	snprintf(text, sizeof(text), "%zu", row * picture->attr.size + run->packed);
	if (svg_text_width(text) + 4 > width || page->row_height < 16)
		return;
	svg_label(page->out, dark ? "onrun dark" : "onrun", "middle",
		  place(picture, run->disp) + width / 2,
		  row_top(page, row) + page->row_height / 2 + 4, text);
}

static void put_run(const struct page *page, size_t row, size_t index)
{
	const struct picture *picture = page->picture;
	const struct run *run = &picture->runs[index];
	double x = place(picture, run->disp);
	double width = PLOT_WIDTH * (double)run->bytes / (double)picture->span;
	double begin = order(picture, row, (double)run->packed);
	double end = order(picture, row, (double)(run->packed + run->bytes));
	size_t packed = row * picture->attr.size + run->packed;
	char id[48];

	snprintf(id, sizeof(id), "run%zu-%zu", row, index);
	if (end - begin > GRADIENT_SHARE)
		svg_gradient(page->out, id, begin, end);
	fprintf(page->out,
		"<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"", x,
		row_top(page, row), width > MIN_RUN_WIDTH ? width : MIN_RUN_WIDTH,
		page->row_height);
	if (end - begin > GRADIENT_SHARE)
		fprintf(page->out, "url(#%s)", id);
	else
		svg_colour(page->out, palette_at((begin + end) / 2));
	fprintf(page->out,
		"\"><title>bytes %td to %td, packed %zu to %zu</title></rect>\n",
		run->disp, run->disp + (ptrdiff_t)run->bytes - 1, packed,
		packed + run->bytes - 1);
}

/* Underline the bytes that are packed more than once. */
static void put_overlaps(const struct page *page, size_t row)
{
	const struct picture *picture = page->picture;

	for (size_t i = 0; i < picture->overlap_count; i++) {
		const struct run *overlap = &picture->overlaps[i];
		double width =
			PLOT_WIDTH * (double)overlap->bytes / (double)picture->span;

		fprintf(page->out,
			"<rect class=\"overlap\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" "
			"height=\"3\"/>\n",
			place(picture, overlap->disp),
			row_top(page, row) + page->row_height - 3,
			width > MIN_RUN_WIDTH ? width : MIN_RUN_WIDTH);
	}
}

static void put_runs(const struct page *page)
{
	for (size_t row = 0; row < page->picture->rows; row++) {
		for (size_t i = 0; i < page->picture->run_count; i++)
			put_run(page, row, i);
		put_overlaps(page, row);
		for (size_t i = 0; i < page->picture->run_count; i++)
			put_run_label(page, row, &page->picture->runs[i]);
	}
}

/* ---- rows of very many runs -------------------------------------------------------- */

static void put_column(const struct page *page, size_t row, size_t column, double share,
		       double packed)
{
	double height = page->row_height * (share > 1 ? 1 : share);

	if (height < MIN_BAR_HEIGHT)
		height = MIN_BAR_HEIGHT;
	fprintf(page->out,
		"<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"",
		PLOT_LEFT + DENSITY_COLUMN * (double)column,
		row_top(page, row) + page->row_height - height, DENSITY_COLUMN, height);
	svg_colour(page->out, palette_at(order(page->picture, row, packed)));
	fputs("\"/>\n", page->out);
}

/*
 * Bars as high as the share of each column's bytes that are data, in their mean colour.
 */
static int put_densities(const struct page *page)
{
	size_t columns = (size_t)(PLOT_WIDTH / DENSITY_COLUMN);
	double column_bytes = (double)page->picture->span / (double)columns;
	struct density *densities = malloc(columns * sizeof(densities[0]));
	int status;

	if (!densities)
		return DTCONV_ERR_NOMEM;
	status = picture_density(page->picture, column_bytes, columns, densities);
	for (size_t row = 0; row < page->picture->rows && status == 0; row++) {
		for (size_t column = 0; column < columns; column++) {
			const struct density *density = &densities[column];

			if (density->bytes > 0)
				put_column(page, row, column,
					   density->bytes / column_bytes,
					   density->packed / density->bytes);
		}
	}
	free(densities);
	return status;
}

/* ---- axis -------------------------------------------------------------------------- */

static void put_axis(const struct page *page)
{
	const struct picture *picture = page->picture;
	size_t step = axis_step((double)picture->span * TICK_DISTANCE / PLOT_WIDTH);
	ptrdiff_t tick = axis_first_tick(picture->left, step);
	double y = page->rows_bottom + 8;

	fprintf(page->out, "<path class=\"tick\" d=\"M%.2f %.2fH%.2f\"/>\n", PLOT_LEFT, y,
		PLOT_LEFT + PLOT_WIDTH);
	while ((size_t)tick - (size_t)picture->left <= picture->span) {
		double x = place(picture, tick);

		fprintf(page->out, "<path class=\"tick\" d=\"M%.2f %.2fv5\"/>\n", x, y);
		svg_label(page->out, "axis", "middle", x, y + 18,
			  axis_label(tick, step).text);
		if (__builtin_add_overflow(tick, (ptrdiff_t)step, &tick))
			break;
	}
	svg_label(page->out, "axis", "middle", PLOT_LEFT + PLOT_WIDTH / 2, y + 34,
		  "displacement in bytes from the instance's origin");
}

/* ---- legend ------------------------------------------------------------------------ */

/* Whether anything is drawn that lies outside lb and ub. */
static bool reaches_outside(const struct picture *picture)
{
	ptrdiff_t extent = picture->attr.extent;

	return picture->span > (extent < 0 ? 0 - (size_t)extent : (size_t)extent) &&
	       picture->attr.size > 0;
}

static void put_density_entry(const struct page *page, double y)
{
	char text[120];

	snprintf(text, sizeof(text),
		 "%s%zu runs; bar height: share of the bytes that are data%s",
		 page->picture->runs_are_counted ? "" : "more than ",
		 page->picture->run_count,
		 page->picture->runs_are_counted ? "" : " (sampled)");
	svg_entry(page->out, LEGEND_LEFT, y,
		  "<path fill=\"#b04293\" d=\"M0 12V8H6V3H12V6H18V1H22V12Z\"/>", text);
}

static void put_entries(const struct page *page, double y)
{
	const struct picture *picture = page->picture;
	double x = LEGEND_LEFT;

	x = svg_entry(page->out, x, y, "<rect class=\"gap\" width=\"22\" height=\"12\"/>",
		      "gap");
	if (reaches_outside(picture))
		x = svg_entry(page->out, x, y,
			      "<rect class=\"track\" width=\"22\" height=\"12\"/>",
			      "outside the bounds");
	x = svg_entry(page->out, x, y, "<path class=\"line\" d=\"M11 -1V13\"/>",
		      "lb and ub");
	svg_entry(page->out, x, y, "<path class=\"trueline\" d=\"M11 -1V13\"/>",
		  "true bounds");
	if (page->crowded)
		put_density_entry(page, y + 20);
	else if (picture->overlap_count > 0)
		svg_entry(page->out, LEGEND_LEFT, y + 20,
			  "<rect class=\"overlap\" y=\"5\" width=\"22\" height=\"3\"/>",
			  "bytes that are packed more than once");
}

static void put_stream(const struct page *page, double y)
{
	const struct picture *picture = page->picture;

	svg_stream(page->out, PLOT_LEFT, y, picture->rows * picture->attr.size,
		   page->crowded ? "packed stream"
				 : "packed stream; numbers in runs: offset in it");
}

static void put_rows_note(const struct page *page, double y)
{
	const struct picture *picture = page->picture;
	char text[160];

	if (picture->count == 1)
		return;
	snprintf(text, sizeof(text),
		 "%s%zu instance%s of %zu, one row each; each begins %td bytes after the "
		 "one above",
		 picture->rows < picture->count ? "the first " : "", picture->rows,
		 picture->rows == 1 ? "" : "s", picture->count, picture->attr.extent);
	svg_label(page->out, "axis", "start", PLOT_LEFT, y, text);
}

/* ---- the page ---------------------------------------------------------------------- */

int show_svg(const struct subject *subject, FILE *out)
{
	struct page page = make_page(subject, out);
	double legend_top = page.rows_bottom + AXIS_HEIGHT + 30;
	double height = page.rows_bottom + AXIS_HEIGHT + LEGEND_HEIGHT;
	int status = 0;

	svg_begin(out, height);
	show_svg_header(subject, out);
	put_tracks(&page);
	if (page.crowded)
		status = put_densities(&page);
	else
		put_runs(&page);
	put_bounds(&page);
	put_axis(&page);
	if (subject->picture.attr.size > 0)
		put_stream(&page, legend_top);
	put_entries(&page, legend_top);
	put_rows_note(&page, legend_top + 46);
	svg_end(out);
	return status;
}
