/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes cells as large as the page allows, and places planes side by side.
 */
#include "config.h"

#include "grid_page.h"

#include "svg.h"

#include <string.h>

#define MIN_PLANES_LEFT 64.0
#define PLANE_DISTANCE  26.0
#define TITLE_HEIGHT    18.0
#define BAND_DISTANCE   26.0
#define MAX_CELL        28
#define GOOD_CELL       18
#define MIN_CELL        6
#define NUMBER_WIDTH    5.8   /* of a character */
#define MAX_HEIGHT      640.0 /* of all bands, if cells can be small enough */

/* Slots that are drawn: more if there is one plane. */
#define MAX_PLANES    8
#define SLOTS_OF_ONE  48
#define SLOTS_OF_MANY 24

bool page_has_titles(const struct page *page)
{
	return page->scene->frame.count[FRAME_PLANES] > 1;
}

static double above_cells(const struct page *page)
{
	return (page_has_titles(page) ? TITLE_HEIGHT : 0) + PAGE_NUMBERS_HEIGHT;
}

double page_plane_left(const struct page *page, size_t plane)
{
	double width = (double)page->columns * page->cell + PLANE_DISTANCE;

	return page->left + (double)(plane % page->planes_abreast) * width;
}

double page_plane_top(const struct page *page, size_t plane)
{
	double height = above_cells(page) + page->plane_height + BAND_DISTANCE;
	size_t band = plane / page->planes_abreast;

	return PAGE_HEADER_HEIGHT + (double)band * height + above_cells(page);
}

double page_cell_left(const struct page *page, size_t plane, size_t column)
{
	return page_plane_left(page, plane) + (double)column * page->cell;
}

double page_cell_top(const struct page *page, size_t plane, size_t row)
{
	return page_plane_top(page, plane) + (double)row * page->cell;
}

bool page_is_elided(const struct page *page, enum frame_axis axis, size_t slot)
{
	return page->grid.axis[axis].slot[slot].kind != SLOT_ONE;
}

void page_describe_slot(const struct page *page, enum frame_axis axis, size_t slot,
			char *text, size_t capacity)
{
	const struct slot *described = &page->grid.axis[axis].slot[slot];

	if (described->kind == SLOT_ONE)
		snprintf(text, capacity, "%td", grid_number(&page->grid, axis, slot));
	else
		snprintf(text, capacity, "%zu %s", described->count,
			 described->kind == SLOT_CUT ? "left out" : "more");
}

static void choose_left(struct page *page)
{
	page->left = MIN_PLANES_LEFT;
	for (size_t row = 0; row < page->rows; row++) {
		char text[64];
		double needed;

		page_describe_slot(page, FRAME_ROWS, row, text, sizeof(text));
		needed =
			PAGE_LEFT + NUMBER_WIDTH * (double)strlen(text) + PAGE_NUMBER_GAP;
		page->left = needed > page->left ? needed : page->left;
	}
}

/* Place the planes in as many bands as these cells need, all bands about equally long. */
static void place_planes(struct page *page, double cell)
{
	double room = SVG_PAGE_WIDTH - PAGE_LEFT - page->left + PLANE_DISTANCE;
	double plane = (double)page->columns * cell + PLANE_DISTANCE;
	size_t abreast = plane > room ? 1 : (size_t)(room / plane);
	size_t bands = (page->planes + abreast - 1) / abreast;

	page->cell = cell;
	page->planes_abreast = (page->planes + bands - 1) / bands;
	page->plane_height = (double)page->rows * cell;
	page->bottom =
		PAGE_HEADER_HEIGHT +
		(double)bands * (above_cells(page) + page->plane_height + BAND_DISTANCE) -
		BAND_DISTANCE;
}

static bool fits(const struct page *page)
{
	double room = SVG_PAGE_WIDTH - PAGE_LEFT - page->left;

	return (double)page->columns * page->cell <= room &&
	       page->bottom <= PAGE_HEADER_HEIGHT + MAX_HEIGHT;
}

/*
 * The largest cell with which the planes fit onto the page, on one band if cells need not
 * be small for that.
 */
static void choose_cell(struct page *page)
{
	for (int cell = MAX_CELL; cell >= GOOD_CELL; cell--) {
		place_planes(page, cell);
		if (page->planes_abreast == page->planes && fits(page))
			return;
	}
	for (int cell = MAX_CELL; cell >= MIN_CELL; cell--) {
		place_planes(page, cell);
		if (fits(page))
			return;
	}
}

int page_prepare(struct page *page, const struct scene *scene, FILE *out)
{
	bool one = scene->frame.count[FRAME_PLANES] == 1;
	size_t slots = one ? SLOTS_OF_ONE : SLOTS_OF_MANY;
	struct grid_room room = { .slots = { one ? 2 * slots : slots, slots,
					     MAX_PLANES } };
	int status;

	*page = (struct page){ .out = out, .scene = scene, .lettered = scene->count > 1 };
	status = grid_prepare(&page->grid, &scene->frame, &room);
	if (status)
		return status;
	page->planes = page->grid.axis[FRAME_PLANES].count;
	page->rows = page->grid.axis[FRAME_ROWS].count;
	page->columns = page->grid.axis[FRAME_COLUMNS].count;
	choose_left(page);
	choose_cell(page);
	return 0;
}
