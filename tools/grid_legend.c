/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The text above and below the planes of a page: titles, sizes, the meaning of colours, and the
 * list of several layouts.
 */
#include "config.h"

#include "grid_page.h"
#include "palette.h"
#include "svg.h"

#define ENTRY_HEIGHT  22.0
#define ENTRY_COLUMNS 3
#define ENTRY_TEXT    42 /* characters */

void page_put_header(const struct page *page)
{
	const struct scene *scene = page->scene;
	char text[200];

	if (page->lettered) {
		size_t bytes = 0;

		for (size_t i = 0; i < scene->count; i++)
			bytes += scene->subjects[i].picture.rows *
				 scene->subjects[i].picture.attr.size;
		fprintf(page->out,
			"<text class=\"title\" x=\"%.0f\" y=\"32\">%zu layouts</text>\n"
			"<text x=\"%.0f\" y=\"52\">%zu bytes of data</text>\n",
			PAGE_LEFT, scene->count, PAGE_LEFT, bytes);
	} else {
		show_svg_header(&scene->subjects[0], page->out);
	}
	frame_describe(&scene->frame, text, sizeof(text));
	svg_label(page->out, "axis", "start", PAGE_LEFT, 69, text);
}

/* Whether columns or rows are left out because they look alike. */
static bool has_alike(const struct page *page)
{
	return grid_elided(&page->grid, FRAME_COLUMNS, SLOT_ALIKE) > 0 ||
	       grid_elided(&page->grid, FRAME_ROWS, SLOT_ALIKE) > 0;
}

/* What the drawing means: gaps, what stands for several, overlaps. */
static void put_entries(const struct page *page, double x, double y)
{
	if (page->grid.gaps)
		x = svg_entry(page->out, x, y,
			      "<rect class=\"gap\" width=\"22\" height=\"12\"/>", "gap");
	if (has_alike(page))
		x = svg_entry(page->out, x, y,
			      "<rect class=\"gap\" width=\"22\" height=\"12\"/>"
			      "<rect class=\"veil\" width=\"22\" height=\"12\"/>",
			      "many that look alike");
	if (page->grid.overlapped)
		svg_entry(page->out, x, y,
			  "<rect class=\"gap\" width=\"22\" height=\"12\"/>"
			  "<rect class=\"hatch\" width=\"22\" height=\"12\"/>",
			  page->lettered ? "in several layouts, or packed more than once"
					 : "packed more than once");
}

/* One layout of several: its letter in its colour, its name, where it lies. */
static void put_layout_entry(const struct page *page, size_t index, double x, double y)
{
	const struct subject *subject = &page->scene->subjects[index];
	struct colour colour = palette_layout(index);
	char place[160], text[400];

	frame_describe_layout(&page->scene->frame, &page->scene->layouts[index], place,
			      sizeof(place));
	snprintf(text, sizeof(text), "%s%s%s, %zu bytes",
		 subject->label ? subject->label : "", subject->label ? " " : "", place,
		 subject->picture.rows * subject->picture.attr.size);
	fprintf(page->out,
		"<rect x=\"%.2f\" y=\"%.2f\" width=\"22\" height=\"16\" fill=\"", x, y);
	svg_colour(page->out, colour);
	fprintf(page->out,
		"\"/>\n<text class=\"%s\" text-anchor=\"middle\" x=\"%.2f\" y=\"%.2f\">"
		"%c</text>\n<text x=\"%.2f\" y=\"%.2f\">",
		palette_is_dark(colour) ? "onrun dark" : "onrun", x + 11, y + 12,
		subject_letter(index), x + 30, y + 12);
	svg_text(page->out, text, ENTRY_TEXT);
	fputs("</text>\n", page->out);
}

/* The list has so many rows, in columns from top to bottom. */
static size_t count_entry_rows(const struct page *page)
{
	return (page->scene->count + ENTRY_COLUMNS - 1) / ENTRY_COLUMNS;
}

static double put_layouts(const struct page *page, double y)
{
	size_t rows = count_entry_rows(page);
	double width = (SVG_PAGE_WIDTH - 2 * PAGE_LEFT) / ENTRY_COLUMNS;

	for (size_t i = 0; i < page->scene->count; i++) {
		size_t column = i / rows;
		size_t row = i % rows;

		put_layout_entry(page, i, PAGE_LEFT + (double)column * width,
				 y + (double)row * ENTRY_HEIGHT);
	}
	return y + (double)rows * ENTRY_HEIGHT + 10;
}

static void put_bounds(const struct page *page, double x, double y)
{
	const struct picture *picture = &page->scene->subjects[0].picture;
	char text[160], instances[80] = "";

	if (picture->rows < picture->count)
		snprintf(instances, sizeof(instances), "; the first %zu of %zu instances",
			 picture->rows, picture->count);
	else if (picture->count > 1)
		snprintf(instances, sizeof(instances), "; %zu instances", picture->count);
	snprintf(text, sizeof(text), "lb %td, ub %td, true lb %td, true ub %td",
		 picture->attr.lb, picture_ub(picture), picture->attr.true_lb,
		 picture_true_ub(picture));
	fprintf(page->out, "<text x=\"%.2f\" y=\"%.2f\">%s%s</text>\n", x, y, text,
		instances);
}

void page_put_legend(const struct page *page, double y)
{
	const struct picture *picture = &page->scene->subjects[0].picture;

	if (page->lettered) {
		put_entries(page, PAGE_LEFT, put_layouts(page, y));
		return;
	}
	svg_stream(page->out, PAGE_LEFT, y + 14, picture->rows * picture->attr.size,
		   "packed stream; numbers: offset in it");
	put_entries(page, PAGE_LEFT + 320, y + 14);
	put_bounds(page, PAGE_LEFT + 320, y + 42);
}

double page_legend_height(const struct page *page)
{
	bool entries = page->grid.gaps || page->grid.overlapped || has_alike(page);

	if (!page->lettered)
		return 62;
	return (double)count_entry_rows(page) * ENTRY_HEIGHT + (entries ? 40 : 14);
}
