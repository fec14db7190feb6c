/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The part of a frame that fits into a drawing: slots along its three axes, and what lies
 * in each cell. Every drawing, in characters or as SVG, is made from one.
 */
#ifndef DTCONV_TOOLS_GRID_H
#define DTCONV_TOOLS_GRID_H

#include "frame.h"

enum slot_kind {
	SLOT_ONE,   /* one column, row or plane */
	SLOT_ALIKE, /* several that look like the first of them */
	SLOT_CUT    /* several that are left out, whatever they look like */
};

struct slot {
	size_t first;
	size_t count;
	enum slot_kind kind;
};

struct slots {
	struct slot *slot;
	size_t count;
};

/* No layout. */
#define GRID_NONE SIZE_MAX

struct grid_cell {
	size_t layout; /* the first that has data here, or GRID_NONE */
	size_t other;  /* another one, or GRID_NONE */
	bool twice;    /* one layout has it more than once */
	bool missing;  /* no memory, or left out */
	size_t packed; /* offset in the layout's packed stream */
};

struct grid {
	const struct frame *frame;
	struct slots axis[FRAME_AXES];
	struct grid_cell *cells; /* ask grid_at */
	bool gaps;               /* some cell has no data */
	bool overlapped;         /* some cell is in several layouts, or twice in one */
};

/* Most slots along each axis; at least 3 each. */
struct grid_room {
	size_t slots[FRAME_AXES];
};

/*
 * Choose what is drawn and look it up. Returns 0 or a negative enum dtconv_status; call
 * grid_release in either case.
 */
int grid_prepare(struct grid *grid, const struct frame *frame,
		 const struct grid_room *room);
void grid_release(struct grid *grid);

/* The cell in three slots. */
const struct grid_cell *grid_at(const struct grid *grid, size_t plane, size_t row,
				size_t column);

/* Whether bytes of a cell are packed more than once. */
bool grid_overlaps(const struct grid_cell *cell);

/* The number of a slot's first column, row or plane, as people read it. */
ptrdiff_t grid_number(const struct grid *grid, enum frame_axis axis, size_t slot);

/* How many columns, rows or planes the slots of one kind stand for. */
size_t grid_elided(const struct grid *grid, enum frame_axis axis, enum slot_kind kind);

/* Above a plane: `plane 0`, `planes 3 to 62`, `plane [1][3]`; 300 characters are enough. */
void grid_plane_title(const struct grid *grid, size_t slot, char *text, size_t capacity);

#endif
