/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A page of SVG for a grid: which planes, rows and columns are drawn, where, and how
 * large. All lengths are in pixels.
 */
#ifndef DTCONV_TOOLS_GRID_PAGE_H
#define DTCONV_TOOLS_GRID_PAGE_H

#include "show.h"

#define PAGE_LEFT           24.0
#define PAGE_HEADER_HEIGHT  84.0
#define PAGE_NUMBERS_HEIGHT 16.0 /* above the cells */
#define PAGE_NUMBER_GAP     7.0  /* between row numbers and cells */

struct page {
	FILE *out;
	const struct scene *scene;
	struct grid grid;
	bool lettered; /* several layouts: letters instead of packed order */
	size_t planes;
	size_t rows;
	size_t columns;
	size_t planes_abreast;
	double left; /* of the planes; row numbers stand before it */
	double cell;
	double plane_height; /* of the cells alone */
	double bottom;       /* of the planes */
};

/*
 * Choose what is drawn of a scene's frame. Returns 0 or a negative enum dtconv_status;
 * grid_release frees page->grid either way.
 */
int page_prepare(struct page *page, const struct scene *scene, FILE *out);

/* Left and top of a plane's cells, and of one cell. */
double page_plane_left(const struct page *page, size_t plane);
double page_plane_top(const struct page *page, size_t plane);
double page_cell_left(const struct page *page, size_t plane, size_t column);
double page_cell_top(const struct page *page, size_t plane, size_t row);

/* Whether there is more than one plane, so that each has a title. */
bool page_has_titles(const struct page *page);

/* Whether a slot stands for several columns, rows or planes, or for none. */
bool page_is_elided(const struct page *page, enum frame_axis axis, size_t slot);

/* A slot's number, or how many it stands for; 64 characters are enough. */
void page_describe_slot(const struct page *page, enum frame_axis axis, size_t slot,
			char *text, size_t capacity);

/* Title and numbers above the planes. */
void page_put_header(const struct page *page);

/* What colours and letters mean, below the planes, and how high that is. */
void page_put_legend(const struct page *page, double top);
double page_legend_height(const struct page *page);

#endif
