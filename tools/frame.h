/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory cut into planes, rows and cells, and the layouts that lie in it as boxes of cells.
 * Clipping for display is done elsewhere.
 */
#ifndef DTCONV_TOOLS_FRAME_H
#define DTCONV_TOOLS_FRAME_H

#include <stdbool.h>
#include <stddef.h>

#include "edges.h"
#include "picture.h"
#include "rows.h"

/* Runs of all layouts and instances together beyond which there is no frame. */
#define FRAME_MAX_RUNS ((size_t)1 << 22)

enum frame_axis { FRAME_COLUMNS, FRAME_ROWS, FRAME_PLANES, FRAME_AXES };

/* One layout in the frame. */
struct frame_layout {
	const struct picture *picture;
	ptrdiff_t at; /* displacement of its first instance */
	bool placed;  /* the box below holds all of its data; false: it has none */
	size_t first[FRAME_AXES];
	size_t end[FRAME_AXES];
};

struct frame {
	struct frame_layout *layouts;
	size_t layout_count;
	struct rows rows; /* as found or as given */

	ptrdiff_t origin; /* displacement of cell 0 of row 0 of plane 0 */
	size_t cell_bytes;
	size_t row_bytes;
	size_t plane_bytes;           /* SIZE_MAX if there is only one plane */
	size_t count[FRAME_AXES];     /* cells in a row, rows in a plane, planes */
	ptrdiff_t number[FRAME_AXES]; /* of the first one, for people */

	/* where something begins, ends or changes along each axis */
	struct edges edges[FRAME_AXES];
};

/* Cells that hold consecutive bytes of one run: a part of a row, or whole rows. */
struct frame_piece {
	size_t layout;
	size_t first[FRAME_AXES];
	size_t end[FRAME_AXES];
	size_t packed; /* offset of the first cell in the stream of all instances */
};

typedef void (*frame_visit_fn)(void *arg, const struct frame_piece *piece);

/*
 * Cut memory as `rows` says; without levels, all of it is one row. frame->layouts and
 * layout_count are set before. Returns 0, DTCONV_ERR_LIMIT if there are too many runs or
 * too distant ones for it, or another negative enum dtconv_status; frame_release frees
 * what is there either way, but not the layouts.
 */
int frame_prepare(struct frame *frame, const struct rows *rows);
void frame_release(struct frame *frame);

/* Visit the pieces of all layouts and instances, in packed order. */
int frame_visit(const struct frame *frame, frame_visit_fn visit, void *arg);

/* Distance in bytes between the first cell of a piece and another cell of it. */
size_t frame_distance(const struct frame *frame, const struct frame_piece *piece,
		      const size_t cell[FRAME_AXES]);

/* Whether there is such a cell: the last row of a padded plane is short. */
bool frame_has_cell(const struct frame *frame, size_t row, size_t column);

/* How memory is cut, in a sentence; 200 characters are enough. */
void frame_describe(const struct frame *frame, char *text, size_t capacity);

/*
 * The planes, rows and cells that a layout lies within, as indices of an array:
 * `[0][1..4][5]`; 160 characters are enough.
 */
void frame_describe_layout(const struct frame *frame, const struct frame_layout *layout,
			   char *text, size_t capacity);

size_t frame_common_divisor(size_t a, size_t b);

#endif
