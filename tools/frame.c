/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chooses the cell, the largest one that all runs and strides are multiples of, and where
 * row 0 of plane 0 begins, and cuts runs at the ends of rows and planes.
 */
#include "config.h"

#include "frame.h"

#include <stdint.h>
#include <stdio.h>

/* A position in bytes from the frame's origin. */
struct position {
	size_t plane;
	size_t row;
	size_t in_plane; /* bytes from the plane's beginning */
	size_t in_row;
};

static struct position position_of(const struct frame *frame, size_t offset)
{
	struct position position = { .plane = offset / frame->plane_bytes };

	position.in_plane = offset % frame->plane_bytes;
	position.row = position.in_plane / frame->row_bytes;
	position.in_row = position.in_plane % frame->row_bytes;
	return position;
}

size_t frame_distance(const struct frame *frame, const struct frame_piece *piece,
		      const size_t cell[FRAME_AXES])
{
	size_t planes = cell[FRAME_PLANES] - piece->first[FRAME_PLANES];
	size_t rows = cell[FRAME_ROWS] - piece->first[FRAME_ROWS];
	size_t columns = cell[FRAME_COLUMNS] - piece->first[FRAME_COLUMNS];

	return (planes ? planes * frame->plane_bytes : 0) + rows * frame->row_bytes +
	       columns * frame->cell_bytes;
}

bool frame_has_cell(const struct frame *frame, size_t row, size_t column)
{
	return row * frame->row_bytes + column * frame->cell_bytes < frame->plane_bytes;
}

/* ---- for people ----------------------------------------------------------------------- */

static const char *plural(size_t count)
{
	return count == 1 ? "" : "s";
}

void frame_describe(const struct frame *frame, char *text, size_t capacity)
{
	const struct rows *rows = &frame->rows;
	size_t columns = frame->count[FRAME_COLUMNS];
	int length = snprintf(text, capacity, "a cell is %zu byte%s, a row %zu cell%s",
			      frame->cell_bytes, plural(frame->cell_bytes), columns,
			      plural(columns));

	if (rows->levels > 1)
		length += snprintf(text + length, capacity - (size_t)length,
				   ", a plane %zu rows", frame->count[FRAME_ROWS]);
	if (rows->levels > 0 && rows->origin != 0)
		snprintf(text + length, capacity - (size_t)length,
			 "; row 0 begins at byte %td", rows->origin);
}

/* The numbers along one axis that a layout lies within. */
static int describe_range(const struct frame *frame, const struct frame_layout *layout,
			  enum frame_axis axis, char *text, size_t capacity)
{
	ptrdiff_t number = frame->number[axis];
	ptrdiff_t first = number + (ptrdiff_t)layout->first[axis];
	ptrdiff_t last = number + (ptrdiff_t)layout->end[axis] - 1;

	if (first == last)
		return snprintf(text, capacity, "[%td]", first);
	return snprintf(text, capacity, "[%td..%td]", first, last);
}

void frame_describe_layout(const struct frame *frame, const struct frame_layout *layout,
			   char *text, size_t capacity)
{
	size_t axes = frame->rows.levels < 2 ? frame->rows.levels + 1 : FRAME_AXES;
	int length = 0;

	*text = '\0';
	while (axes-- > 0 && layout->placed)
		length += describe_range(frame, layout, (enum frame_axis)axes,
					 text + length, capacity - (size_t)length);
}

/* ---- cutting runs into pieces ------------------------------------------------------- */

static size_t lesser(size_t a, size_t b)
{
	return a < b ? a : b;
}

struct walk {
	const struct frame *frame;
	size_t layout;
	size_t offset; /* of the instance's origin from the frame's, modulo 2^64 */
	size_t packed; /* bytes of the instances before */
	frame_visit_fn visit;
	void *arg;
};

/* Set the cells of one axis that a piece covers. */
static void cover(struct frame_piece *piece, enum frame_axis axis, size_t first,
		  size_t count)
{
	piece->first[axis] = first;
	piece->end[axis] = first + count;
}

/* The longest piece that begins at an offset; returns its bytes. */
static size_t cut_piece(const struct frame *frame, size_t offset, size_t bytes,
			struct frame_piece *piece)
{
	struct position at = position_of(frame, offset);
	size_t room =
		lesser(frame->row_bytes - at.in_row, frame->plane_bytes - at.in_plane);
	size_t planes = at.in_plane == 0 ? bytes / frame->plane_bytes : 0;
	size_t rows = lesser(bytes, frame->plane_bytes - at.in_plane) / frame->row_bytes;
	bool whole_rows = at.in_row == 0 && rows > 0;

	cover(piece, FRAME_PLANES, at.plane, planes ? planes : 1);
	cover(piece, FRAME_ROWS, at.row, whole_rows ? rows : 1);
	if (planes)
		cover(piece, FRAME_ROWS, 0, frame->count[FRAME_ROWS]);
	if (planes || whole_rows) {
		cover(piece, FRAME_COLUMNS, 0, frame->count[FRAME_COLUMNS]);
		return planes ? planes * frame->plane_bytes : rows * frame->row_bytes;
	}
	bytes = lesser(bytes, room);
	cover(piece, FRAME_COLUMNS, at.in_row / frame->cell_bytes,
	      bytes / frame->cell_bytes);
	return bytes;
}

static bool visit_run(void *arg, const struct run *run)
{
	const struct walk *walk = arg;
	size_t offset = walk->offset + (size_t)run->disp;
	size_t packed = walk->packed + run->packed;
	size_t left = run->bytes;

	while (left > 0) {
		struct frame_piece piece = { .layout = walk->layout, .packed = packed };
		size_t bytes = cut_piece(walk->frame, offset, left, &piece);

		walk->visit(walk->arg, &piece);
		offset += bytes;
		packed += bytes;
		left -= bytes;
	}
	return true;
}

int frame_visit(const struct frame *frame, frame_visit_fn visit, void *arg)
{
	int status = 0;

	for (size_t i = 0; i < frame->layout_count; i++) {
		const struct frame_layout *layout = &frame->layouts[i];
		const struct picture *picture = layout->picture;
		size_t start = (size_t)layout->at - (size_t)frame->origin;

		for (size_t row = 0; row < picture->rows && status == 0; row++) {
			struct walk walk = {
				.frame = frame,
				.layout = i,
				.offset = start + row * (size_t)picture->attr.extent,
				.packed = row * picture->attr.size,
				.visit = visit,
				.arg = arg,
			};

			status = picture_visit(picture, visit_run, &walk);
		}
	}
	return status;
}

/* ---- the whole of memory ------------------------------------------------------------ */

/* All that the bounds and the data of some layouts reach. */
struct reach {
	ptrdiff_t left;
	ptrdiff_t right;
	bool begun;
};

static bool reach_instance(struct reach *reach, const struct frame_layout *layout,
			   size_t instance)
{
	const struct picture *picture = layout->picture;
	ptrdiff_t left, right, offset;

	if (__builtin_mul_overflow((ptrdiff_t)instance, picture->attr.extent, &offset) ||
	    __builtin_add_overflow(offset, layout->at, &offset) ||
	    __builtin_add_overflow(offset, picture->left, &left) ||
	    __builtin_add_overflow(left, picture->span, &right))
		return false;
	reach->left = reach->begun && reach->left < left ? reach->left : left;
	reach->right = reach->begun && reach->right > right ? reach->right : right;
	reach->begun = true;
	return true;
}

static int find_reach(const struct frame *frame, struct reach *reach)
{
	for (size_t i = 0; i < frame->layout_count; i++) {
		const struct frame_layout *layout = &frame->layouts[i];

		if (!reach_instance(reach, layout, 0) ||
		    !reach_instance(reach, layout, layout->picture->rows - 1))
			return DTCONV_ERR_LIMIT;
	}
	return 0;
}

/* ---- the cell ------------------------------------------------------------------------ */

size_t frame_common_divisor(size_t a, size_t b)
{
	while (b > 0) {
		size_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

static size_t magnitude(ptrdiff_t value)
{
	return value < 0 ? 0 - (size_t)value : (size_t)value;
}

struct sizing {
	size_t offset; /* of displacement 0 from the frame's origin */
	size_t cell_bytes;
	size_t runs;
	size_t most;
};

static bool size_run(void *arg, const struct run *run)
{
	struct sizing *sizing = arg;
	size_t cell_bytes = sizing->cell_bytes;

	cell_bytes = frame_common_divisor(sizing->offset + (size_t)run->disp, cell_bytes);
	sizing->cell_bytes = frame_common_divisor(run->bytes, cell_bytes);
	return sizing->runs++ < sizing->most;
}

/* Look at all runs: a cell must divide them, and there must not be too many. */
static int size_cells(struct frame *frame)
{
	size_t left = FRAME_MAX_RUNS;

	for (size_t i = 0; i < frame->layout_count; i++) {
		const struct frame_layout *layout = &frame->layouts[i];
		const struct picture *picture = layout->picture;
		struct sizing sizing = {
			.offset = (size_t)layout->at - (size_t)frame->origin,
			.cell_bytes = frame->cell_bytes,
			.most = left / picture->rows,
		};
		int status = picture_visit(picture, size_run, &sizing);

		if (status)
			return status;
		if (sizing.runs > sizing.most)
			return DTCONV_ERR_LIMIT;
		left -= sizing.runs * picture->rows;
		frame->cell_bytes = sizing.cell_bytes;
		if (picture->rows > 1 && sizing.runs > 0)
			frame->cell_bytes = frame_common_divisor(
				magnitude(picture->attr.extent), frame->cell_bytes);
	}
	return 0;
}

/* ---- cutting memory ------------------------------------------------------------------ */

/* Move the origin back by whole rows or planes until nothing lies before it. */
static int choose_origin(struct frame *frame, const struct reach *reach)
{
	const struct rows *rows = &frame->rows;
	enum frame_axis axis = rows->levels > 1 ? FRAME_PLANES : FRAME_ROWS;
	size_t unit = rows->levels ? rows->strides[rows->levels > 1] : 1;
	size_t before = (size_t)rows->origin - (size_t)reach->left;
	size_t steps = before / unit + (before % unit > 0);
	ptrdiff_t back;

	frame->origin = rows->levels ? rows->origin : reach->left;
	if (rows->levels == 0 || reach->left >= rows->origin)
		return 0;
	if (__builtin_mul_overflow(steps, unit, &back) ||
	    __builtin_sub_overflow(rows->origin, back, &frame->origin))
		return DTCONV_ERR_LIMIT;
	frame->number[axis] = -(ptrdiff_t)steps;
	return 0;
}

static size_t divide_up(size_t a, size_t b)
{
	return a / b + (a % b > 0);
}

static void count_cells(struct frame *frame, const struct reach *reach)
{
	const struct rows *rows = &frame->rows;
	size_t span = (size_t)reach->right - (size_t)frame->origin;
	size_t cells = divide_up(span, frame->cell_bytes);
	size_t whole_row = (cells ? cells : 1) * frame->cell_bytes;

	frame->row_bytes = rows->levels ? rows->strides[0] : whole_row;
	frame->plane_bytes = rows->levels > 1 ? rows->strides[1] : SIZE_MAX;
	frame->count[FRAME_COLUMNS] = frame->row_bytes / frame->cell_bytes;
	frame->count[FRAME_ROWS] =
		divide_up(rows->levels > 1 ? frame->plane_bytes : span, frame->row_bytes);
	frame->count[FRAME_PLANES] =
		rows->levels > 1 ? divide_up(span, frame->plane_bytes) : 1;
}

/* ---- edges --------------------------------------------------------------------------- */

/* Along an axis a piece looks like its layout and what it covers of the other two. */
static void add_edges(struct frame *frame, const struct frame_piece *piece,
		      enum frame_axis axis)
{
	enum frame_axis one = (axis + 1) % FRAME_AXES;
	enum frame_axis other = (axis + 2) % FRAME_AXES;
	size_t looks[] = { piece->layout, piece->first[one], piece->end[one],
			   piece->first[other], piece->end[other] };

	edges_add(&frame->edges[axis], piece->first[axis], piece->end[axis],
		  edges_signature(looks, sizeof(looks) / sizeof(looks[0])));
}

static void note_piece(void *arg, const struct frame_piece *piece)
{
	struct frame *frame = arg;
	struct frame_layout *layout = &frame->layouts[piece->layout];

	for (enum frame_axis axis = 0; axis < FRAME_AXES; axis++) {
		size_t first = piece->first[axis];
		size_t end = piece->end[axis];

		add_edges(frame, piece, axis);
		if (!layout->placed || first < layout->first[axis])
			layout->first[axis] = first;
		if (!layout->placed || end > layout->end[axis])
			layout->end[axis] = end;
	}
	layout->placed = true;
}

int frame_prepare(struct frame *frame, const struct rows *rows)
{
	struct reach reach = { .begun = false };
	int status;

	frame->rows = *rows;
	frame->cell_bytes = rows->element_bytes;
	for (size_t i = 0; i < rows->levels; i++)
		frame->cell_bytes =
			frame_common_divisor(rows->strides[i], frame->cell_bytes);
	frame->cell_bytes = frame->cell_bytes ? frame->cell_bytes : 1;
	status = find_reach(frame, &reach);
	if (status == 0)
		status = choose_origin(frame, &reach);
	if (status == 0)
		status = size_cells(frame);
	if (status)
		return status;
	count_cells(frame, &reach);
	status = frame_visit(frame, note_piece, frame);
	for (enum frame_axis axis = 0; axis < FRAME_AXES; axis++)
		edges_finish(&frame->edges[axis]);
	return status;
}

void frame_release(struct frame *frame)
{
	for (enum frame_axis axis = 0; axis < FRAME_AXES; axis++)
		edges_release(&frame->edges[axis]);
}
