/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Elides runs of similar slots first, then the middle if there are still too many; paints the
 * remaining cells.
 */
#include "config.h"

#include "grid.h"

#include <stdio.h>
#include <stdlib.h>

/* Neighbours of an edge that are kept on either side, at most. */
#define MAX_MARGIN 3

/* ---- slots --------------------------------------------------------------------------- */

/* Collects slots; of too many of them it keeps the first and the last ones. */
struct builder {
	struct slots *slots;
	size_t total; /* slots that will be put */
	size_t head;  /* kept of them */
	size_t tail;
	size_t seen;
};

static void put_slot(struct builder *builder, struct slot slot)
{
	struct slots *slots = builder->slots;
	size_t index = builder->seen++;

	if (index < builder->head || index >= builder->total - builder->tail) {
		slots->slot[slots->count++] = slot;
	} else if (index == builder->head) {
		slot.kind = SLOT_CUT;
		slots->slot[slots->count++] = slot;
	} else {
		slots->slot[slots->count - 1].count += slot.count;
	}
}

static void put_single(struct builder *builder, size_t first, size_t count)
{
	for (size_t i = 0; i < count; i++)
		put_slot(builder, (struct slot){ first + i, 1, SLOT_ONE });
}

/* Slots of a uniform stretch: its two ends, and one for everything between. */
static size_t stretch_slots(size_t length, size_t margin)
{
	return length > 2 * margin + 1 ? 2 * margin + 1 : length;
}

static void put_stretch(struct builder *builder, size_t first, size_t length,
			size_t margin)
{
	if (length == stretch_slots(length, margin)) {
		put_single(builder, first, length);
		return;
	}
	put_single(builder, first, margin);
	put_slot(builder,
		 (struct slot){ first + margin, length - 2 * margin, SLOT_ALIKE });
	put_single(builder, first + length - margin, margin);
}

/* One axis of a frame: its stretches end at the edges and at the end. */
struct stretches {
	const struct edges *edges;
	size_t count; /* of columns, rows or planes */
	size_t next;  /* edge to look at */
	size_t first; /* of the stretch */
	size_t length;
};

static bool next_stretch(struct stretches *stretches)
{
	const struct edges *edges = stretches->edges;
	size_t end = stretches->count;

	stretches->first += stretches->length;
	while (stretches->next < edges->count &&
	       edges->places[stretches->next] <= stretches->first)
		stretches->next++;
	if (stretches->next < edges->count && edges->places[stretches->next] < end)
		end = edges->places[stretches->next];
	stretches->length = end - stretches->first;
	return stretches->length > 0;
}

static size_t count_slots(const struct frame *frame, enum frame_axis axis, size_t margin)
{
	struct stretches stretches = { .edges = &frame->edges[axis],
				       .count = frame->count[axis] };
	size_t slots = 0;

	while (next_stretch(&stretches))
		slots += stretch_slots(stretches.length, margin);
	return slots;
}

/* Nothing is known about the axis: its two ends. */
static void put_ends(struct builder *builder, size_t count, size_t room)
{
	size_t head = room / 2;
	size_t tail = room - 1 - head;

	builder->head = builder->total = room;
	put_single(builder, 0, head);
	put_slot(builder, (struct slot){ head, count - head - tail, SLOT_CUT });
	put_single(builder, count - tail, tail);
}

/* Of planes that look alike one is drawn; of columns and rows also their neighbours. */
static size_t choose_margin(const struct frame *frame, enum frame_axis axis, size_t room,
			    size_t *total)
{
	size_t margin = axis == FRAME_PLANES ? 0 : MAX_MARGIN;

	*total = count_slots(frame, axis, margin);
	while (*total > room && margin > 1)
		*total = count_slots(frame, axis, --margin);
	return margin;
}

static int make_slots(struct grid *grid, enum frame_axis axis, size_t room)
{
	const struct frame *frame = grid->frame;
	size_t count = frame->count[axis];
	struct stretches stretches = { .edges = &frame->edges[axis], .count = count };
	struct builder builder = { .slots = &grid->axis[axis] };
	size_t margin;

	builder.slots->slot = calloc(room, sizeof(builder.slots->slot[0]));
	if (!builder.slots->slot)
		return DTCONV_ERR_NOMEM;
	if (count <= room) {
		builder.head = builder.total = count;
		put_single(&builder, 0, count);
		return 0;
	}
	if (frame->edges[axis].lost) {
		put_ends(&builder, count, room);
		return 0;
	}
	margin = choose_margin(frame, axis, room, &builder.total);
	builder.head = builder.total > room ? room / 2 : builder.total;
	builder.tail = builder.total > room ? room - 1 - builder.head : 0;
	while (next_stretch(&stretches))
		put_stretch(&builder, stretches.first, stretches.length, margin);
	return 0;
}

/* ---- cells --------------------------------------------------------------------------- */

static size_t cell_index(const struct grid *grid, size_t plane, size_t row, size_t column)
{
	size_t rows = grid->axis[FRAME_ROWS].count;
	size_t columns = grid->axis[FRAME_COLUMNS].count;

	return (plane * rows + row) * columns + column;
}

const struct grid_cell *grid_at(const struct grid *grid, size_t plane, size_t row,
				size_t column)
{
	return &grid->cells[cell_index(grid, plane, row, column)];
}

bool grid_overlaps(const struct grid_cell *cell)
{
	return cell->twice || cell->other != GRID_NONE;
}

ptrdiff_t grid_number(const struct grid *grid, enum frame_axis axis, size_t slot)
{
	return grid->frame->number[axis] + (ptrdiff_t)grid->axis[axis].slot[slot].first;
}

size_t grid_elided(const struct grid *grid, enum frame_axis axis, enum slot_kind kind)
{
	const struct slots *slots = &grid->axis[axis];
	size_t elided = 0;

	for (size_t i = 0; i < slots->count; i++)
		elided += slots->slot[i].kind == kind ? slots->slot[i].count : 0;
	return elided;
}

/* A plane's number; in four dimensions and more, one for each. */
static int plane_name(const struct frame *frame, size_t plane, char *text,
		      size_t capacity)
{
	const struct rows *rows = &frame->rows;
	int length = 0;

	if (rows->levels < 3 || frame->number[FRAME_PLANES] < 0)
		return snprintf(text, capacity, "%td",
				frame->number[FRAME_PLANES] + (ptrdiff_t)plane);
	for (size_t level = rows->levels; level-- > 1;) {
		size_t unit = rows->strides[level] / rows->strides[1];

		length += snprintf(text + length, capacity - (size_t)length, "[%zu]",
				   plane / unit);
		plane %= unit;
	}
	return length;
}

void grid_plane_title(const struct grid *grid, size_t slot, char *text, size_t capacity)
{
	const struct slot *plane = &grid->axis[FRAME_PLANES].slot[slot];
	int length;

	if (plane->kind == SLOT_CUT) {
		snprintf(text, capacity, "%zu planes left out", plane->count);
		return;
	}
	length = snprintf(text, capacity, plane->count > 1 ? "planes " : "plane ");
	length += plane_name(grid->frame, plane->first, text + length,
			     capacity - (size_t)length);
	if (plane->count > 1) {
		length += snprintf(text + length, capacity - (size_t)length, " to ");
		plane_name(grid->frame, plane->first + plane->count - 1, text + length,
			   capacity - (size_t)length);
	}
}

/* The first slot that does not stand for something before an index. */
static size_t first_slot(const struct slots *slots, size_t index)
{
	size_t low = 0, high = slots->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (slots->slot[middle].first < index)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void paint_cell(struct grid *grid, const struct frame_piece *piece,
		       const size_t slot[FRAME_AXES])
{
	struct grid_cell *cell = &grid->cells[cell_index(
		grid, slot[FRAME_PLANES], slot[FRAME_ROWS], slot[FRAME_COLUMNS])];
	size_t at[FRAME_AXES];

	for (enum frame_axis axis = 0; axis < FRAME_AXES; axis++)
		at[axis] = grid->axis[axis].slot[slot[axis]].first;
	if (cell->missing)
		return;
	if (cell->layout == GRID_NONE) {
		cell->layout = piece->layout;
		cell->packed = piece->packed + frame_distance(grid->frame, piece, at);
	} else if (cell->layout != piece->layout) {
		cell->other = piece->layout;
	} else {
		cell->twice = true;
	}
	grid->overlapped = grid->overlapped || grid_overlaps(cell);
}

static void paint_piece(void *arg, const struct frame_piece *piece)
{
	struct grid *grid = arg;
	size_t first[FRAME_AXES], end[FRAME_AXES], at[FRAME_AXES];

	for (enum frame_axis axis = 0; axis < FRAME_AXES; axis++) {
		first[axis] = first_slot(&grid->axis[axis], piece->first[axis]);
		end[axis] = first_slot(&grid->axis[axis], piece->end[axis]);
	}
	for (at[FRAME_PLANES] = first[FRAME_PLANES]; at[FRAME_PLANES] < end[FRAME_PLANES];
	     at[FRAME_PLANES]++) {
		for (at[FRAME_ROWS] = first[FRAME_ROWS]; at[FRAME_ROWS] < end[FRAME_ROWS];
		     at[FRAME_ROWS]++) {
			for (at[FRAME_COLUMNS] = first[FRAME_COLUMNS];
			     at[FRAME_COLUMNS] < end[FRAME_COLUMNS]; at[FRAME_COLUMNS]++)
				paint_cell(grid, piece, at);
		}
	}
}

static bool is_missing(const struct grid *grid, size_t plane, size_t row, size_t column)
{
	const struct slot *of_plane = &grid->axis[FRAME_PLANES].slot[plane];
	const struct slot *of_row = &grid->axis[FRAME_ROWS].slot[row];
	const struct slot *of_column = &grid->axis[FRAME_COLUMNS].slot[column];

	return of_plane->kind == SLOT_CUT || of_row->kind == SLOT_CUT ||
	       of_column->kind == SLOT_CUT ||
	       !frame_has_cell(grid->frame, of_row->first, of_column->first);
}

static int make_cells(struct grid *grid)
{
	size_t planes = grid->axis[FRAME_PLANES].count;
	size_t rows = grid->axis[FRAME_ROWS].count;
	size_t columns = grid->axis[FRAME_COLUMNS].count;

	grid->cells = calloc(planes * rows * columns, sizeof(grid->cells[0]));
	if (!grid->cells)
		return DTCONV_ERR_NOMEM;
	for (size_t plane = 0; plane < planes; plane++) {
		for (size_t row = 0; row < rows; row++) {
			for (size_t column = 0; column < columns; column++)
				grid->cells[cell_index(grid, plane, row, column)] =
					(struct grid_cell){
						.layout = GRID_NONE,
						.other = GRID_NONE,
						.missing = is_missing(grid, plane, row,
								      column),
					};
		}
	}
	return 0;
}

static bool has_gaps(const struct grid *grid)
{
	size_t cells = grid->axis[FRAME_PLANES].count * grid->axis[FRAME_ROWS].count *
		       grid->axis[FRAME_COLUMNS].count;

	for (size_t i = 0; i < cells; i++) {
		if (grid->cells[i].layout == GRID_NONE && !grid->cells[i].missing)
			return true;
	}
	return false;
}

int grid_prepare(struct grid *grid, const struct frame *frame,
		 const struct grid_room *room)
{
	int status = 0;

	*grid = (struct grid){ .frame = frame };
	for (enum frame_axis axis = 0; axis < FRAME_AXES && status == 0; axis++)
		status = make_slots(grid, axis, room->slots[axis]);
	if (status == 0)
		status = make_cells(grid);
	if (status == 0)
		status = frame_visit(frame, paint_piece, grid);
	if (status == 0)
		grid->gaps = has_gaps(grid);
	return status;
}

void grid_release(struct grid *grid)
{
	for (enum frame_axis axis = 0; axis < FRAME_AXES; axis++)
		free(grid->axis[axis].slot);
	free(grid->cells);
}
