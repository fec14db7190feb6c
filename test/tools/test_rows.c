/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rows that descriptions imply, the cells that layouts lie in, and what is elided from
 * a drawing: cells are compared with what unpacking touches, elisions with the whole grid.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "support/fixture.h"
#include "support/marks.h"
#include "tools/grid.h"

/* ---- rows from descriptions ------------------------------------------------------------ */

static const struct {
	const char *text;
	size_t levels;
	size_t strides[4];
	ptrdiff_t origin;
	size_t element_bytes;
} implied[] = {
	{ "double", 0, { 0 }, 0, 8 },
	{ "contiguous(9, double)", 0, { 0 }, 0, 8 },
	{ "contiguous(3, contiguous(4, int))", 0, { 0 }, 0, 4 },
	{ "vector(4, 2, 5, double)", 1, { 40 }, 0, 8 },
	{ "vector(4, 5, 5, double)", 0, { 0 }, 0, 8 },
	{ "vector(1, 2, 5, double)", 0, { 0 }, 0, 8 },
	{ "vector(4, 6, 5, double)", 0, { 0 }, 0, 8 },
	{ "vector(4, 1, -3, int)", 1, { 12 }, 0, 4 },
	{ "hvector(4, 2, 44, double)", 1, { 44 }, 0, 8 },
	{ "hvector(3, 1, 1000, vector(4, 1, 5, double))", 2, { 40, 1000 }, 0, 8 },
	{ "contiguous(3, resized(vector(4, 1, 5, double), 0, 160))",
	  2,
	  { 40, 160 },
	  0,
	  8 },
	{ "hvector(2, 1, 960, hvector(3, 1, 160, vector(4, 1, 5, double)))",
	  3,
	  { 40, 160, 960 },
	  0,
	  8 },
	{ "hvector(2, 1, 1000, hvector(3, 1, 160, vector(4, 1, 5, double)))",
	  2,
	  { 40, 160 },
	  0,
	  8 },
	{ "resized(vector(4, 1, 4, int), 0, 4)", 1, { 16 }, 0, 4 },
	{ "contiguous(4, resized(vector(4, 1, 4, int), 0, 4))", 1, { 16 }, 0, 4 },
	{ "vector(4, 2, 5, resized(int, 0, 16))", 1, { 80 }, 0, 4 },
	{ "contiguous(4, resized(int, 0, 16))", 1, { 16 }, 0, 4 },
	{ "contiguous(3, struct([1,1], [0,8], [int,double]))", 1, { 16 }, 0, 0 },
	{ "subarray([6,8], [2,3], [1,1], c, double)", 1, { 64 }, 0, 8 },
	{ "subarray([6,8], [2,3], [1,1], fortran, double)", 1, { 48 }, 0, 8 },
	{ "subarray([4,6,8], [1,1,1], [0,0,0], c, int)", 2, { 32, 192 }, 0, 4 },
	{ "subarray([4,1,8], [1,1,1], [0,0,0], c, int)", 1, { 32 }, 0, 4 },
	{ "subarray([2,3,4,5], [1,1,1,1], [0,0,0,0], c, int)", 3, { 20, 80, 240 }, 0, 4 },
	{ "subarray([4], [2], [1], c, subarray([6], [2], [1], c, subarray([8], [2], [1], c, int)))",
	  2,
	  { 32, 192 },
	  0,
	  4 },
	{ "darray(4, 1, [8,8], [block,cyclic], [default,2], [2,2], c, int)",
	  1,
	  { 32 },
	  0,
	  4 },
	{ "indexed([3,3,3], [2,8,14], double)", 1, { 48 }, 16, 8 },
	{ "indexed([1,2,3], [0,6,12], double)", 0, { 0 }, 0, 8 },
	{ "indexed([1,1,1], [0,6,13], double)", 0, { 0 }, 0, 8 },
	{ "hindexed([1,1], [0,600], double)", 0, { 0 }, 0, 8 },
	{ "indexed_block(2, [0,6,12], int)", 1, { 24 }, 0, 4 },
	{ "struct([1], [24], [vector(4, 2, 5, double)])", 1, { 40 }, 24, 8 },
	{ "struct([1,1], [96,0], [vector(4, 1, 3, int),int])", 1, { 12 }, 96, 4 },
	{ "struct([1,1], [0,240], [vector(8, 2, 4, double),vector(4, 1, 3, float)])",
	  0,
	  { 0 },
	  0,
	  0 },
	{ "struct([1,1], [0,0], [subarray([4,4],[1,4],[0,0],c,int),subarray([4,4],[4,1],[0,0],c,int)])",
	  1,
	  { 16 },
	  0,
	  4 },
	{ "struct([], [], [])", 0, { 0 }, 0, 0 },
	{ "contiguous(0, int)", 0, { 0 }, 0, 4 },
};

START_TEST(descriptions_imply_rows)
{
	struct dtconv_type *type = fixture_type(implied[_i].text);
	struct rows rows;

	ck_assert_int_eq(rows_find(type, &rows), 0);
	ck_assert_msg(rows.levels == implied[_i].levels, "%s: %zu levels",
		      implied[_i].text, rows.levels);
	for (size_t i = 0; i < rows.levels; i++)
		ck_assert_msg(rows.strides[i] == implied[_i].strides[i],
			      "%s: level %zu is %zu bytes", implied[_i].text, i,
			      rows.strides[i]);
	ck_assert_msg(rows.levels == 0 || rows.origin == implied[_i].origin,
		      "%s: origin %td", implied[_i].text, rows.origin);
	ck_assert_msg(rows.element_bytes == implied[_i].element_bytes,
		      "%s: elements of %zu bytes", implied[_i].text, rows.element_bytes);
	dtconv_type_unref(type);
}
END_TEST

/* ---- cells --------------------------------------------------------------------------------- */

/* A layout in a frame, and the bytes of a buffer that is unpacked as it says. */
struct drawn {
	struct dtconv_type *type;
	struct picture picture;
	struct frame_layout layout;
	struct frame frame;
	unsigned char *touched; /* from the frame's origin on */
	size_t bytes;
};

static const char *const drawings[] = {
	"vector(4, 2, 5, double)",
	"vector(4, 1, -3, int)",
	"hvector(3, 1, 1001, vector(3, 1, 12, double))",
	"subarray([4,6,8], [2,3,4], [1,2,2], c, double)",
	"subarray([40,30,50], [38,28,2], [1,1,48], c, float)",
	"subarray([9,30,20], [9,28,20], [0,1,0], fortran, short)",
	"subarray([30,40], [30,40], [0,0], c, int)",
	"subarray([3,4,4,4], [1,2,2,2], [1,1,1,1], c, int)",
	"struct([1,1], [0,8192], [subarray([32,32],[32,1],[0,0],c,double),subarray([32,32],[1,32],[7,0],c,double)])",
	"indexed([1,2,3,4,5,6,7,8,9,10], [0,10,20,30,40,50,60,70,80,90], char)",
	"darray(4, 1, [24,24], [block,cyclic], [default,2], [2,2], c, int)",
	"resized(vector(30, 1, 17, int), -40, 4)",
};

static void open_drawing(struct drawn *drawn, const char *text)
{
	struct rows rows;
	size_t moved;
	unsigned char *packed;

	memset(drawn, 0, sizeof(*drawn));
	drawn->type = fixture_type(text);
	ck_assert_int_eq(picture_prepare(&drawn->picture, drawn->type, 1), 0);
	ck_assert_int_eq(rows_find(drawn->type, &rows), 0);
	drawn->layout.picture = &drawn->picture;
	drawn->frame.layouts = &drawn->layout;
	drawn->frame.layout_count = 1;
	ck_assert_int_eq(frame_prepare(&drawn->frame, &rows), 0);
	drawn->bytes =
		(size_t)(drawn->picture.left - drawn->frame.origin) + drawn->picture.span;
	drawn->touched = calloc(1, drawn->bytes);
	packed = malloc(drawn->picture.attr.size);
	for (size_t i = 0; i < drawn->picture.attr.size; i++)
		packed[i] = (unsigned char)(1 + i % 255);
	fixture_ok(dtconv_unpack(drawn->type, 1, drawn->touched - drawn->frame.origin,
				 packed, drawn->picture.attr.size, &moved));
	free(packed);
}

static void close_drawing(struct drawn *drawn)
{
	free(drawn->touched);
	frame_release(&drawn->frame);
	picture_release(&drawn->picture);
	dtconv_type_unref(drawn->type);
}

static void prepare_grid(const struct drawn *drawn, struct grid *grid, size_t columns,
			 size_t rows, size_t planes)
{
	struct grid_room room = { .slots = { columns, rows, planes } };

	ck_assert_int_eq(grid_prepare(grid, &drawn->frame, &room), 0);
}

static void prepare_whole_grid(const struct drawn *drawn, struct grid *grid)
{
	const size_t *count = drawn->frame.count;

	prepare_grid(drawn, grid, count[FRAME_COLUMNS], count[FRAME_ROWS],
		     count[FRAME_PLANES]);
}

/* Where a cell's bytes begin in the buffer; not in it if there is no such cell. */
static size_t cell_offset(const struct drawn *drawn, size_t plane, size_t row,
			  size_t column)
{
	const struct frame *frame = &drawn->frame;

	if (!frame_has_cell(frame, row, column))
		return drawn->bytes;
	return (plane ? plane * frame->plane_bytes : 0) + row * frame->row_bytes +
	       column * frame->cell_bytes;
}

static void compare_cell(const struct drawn *drawn, const struct grid_cell *cell,
			 size_t offset, const char *text)
{
	for (size_t i = 0; i < drawn->frame.cell_bytes; i++) {
		unsigned char expected =
			cell->layout == GRID_NONE
				? 0
				: (unsigned char)(1 + (cell->packed + i) % 255);
		unsigned char found =
			offset + i < drawn->bytes ? drawn->touched[offset + i] : 0;

		ck_assert_msg(found == expected, "%s: byte %zu is %d, the cell says %d",
			      text, offset + i, found, expected);
	}
}

START_TEST(cells_are_what_unpacking_touches)
{
	struct drawn drawn;
	struct grid grid;

	open_drawing(&drawn, drawings[_i]);
	prepare_whole_grid(&drawn, &grid);
	for (size_t plane = 0; plane < grid.axis[FRAME_PLANES].count; plane++) {
		for (size_t row = 0; row < grid.axis[FRAME_ROWS].count; row++) {
			for (size_t column = 0; column < grid.axis[FRAME_COLUMNS].count;
			     column++)
				compare_cell(&drawn, grid_at(&grid, plane, row, column),
					     cell_offset(&drawn, plane, row, column),
					     drawings[_i]);
		}
	}
	grid_release(&grid);
	close_drawing(&drawn);
}
END_TEST

/* ---- elision ---------------------------------------------------------------------------- */

/* The slots of an axis stand for each index once. */
static void check_slots(const struct grid *grid, enum frame_axis axis, size_t room)
{
	const struct slots *slots = &grid->axis[axis];
	size_t next = 0;

	ck_assert_uint_le(slots->count, room);
	for (size_t i = 0; i < slots->count; i++) {
		ck_assert_uint_eq(slots->slot[i].first, next);
		ck_assert_uint_gt(slots->slot[i].count, 0);
		ck_assert(slots->slot[i].kind != SLOT_ONE || slots->slot[i].count == 1);
		next += slots->slot[i].count;
	}
	ck_assert_uint_eq(next, grid->frame->count[axis]);
}

/* Everything that a cell of an elided grid stands for looks like it in the whole one. */
static void check_cell(const struct grid *grid, const struct grid *whole,
		       const size_t at[FRAME_AXES], const char *text)
{
	const struct slot *plane = &grid->axis[FRAME_PLANES].slot[at[FRAME_PLANES]];
	const struct slot *row = &grid->axis[FRAME_ROWS].slot[at[FRAME_ROWS]];
	const struct slot *column = &grid->axis[FRAME_COLUMNS].slot[at[FRAME_COLUMNS]];
	const struct grid_cell *cell =
		grid_at(grid, at[FRAME_PLANES], at[FRAME_ROWS], at[FRAME_COLUMNS]);

	if (plane->kind == SLOT_CUT || row->kind == SLOT_CUT ||
	    column->kind == SLOT_CUT) {
		ck_assert(cell->missing && cell->layout == GRID_NONE);
		return;
	}
	for (size_t p = 0; p < plane->count; p++) {
		for (size_t r = 0; r < row->count; r++) {
			for (size_t c = 0; c < column->count; c++) {
				const struct grid_cell *like =
					grid_at(whole, plane->first + p, row->first + r,
						column->first + c);

				ck_assert_msg(cell->layout == like->layout ||
						      like->missing,
					      "%s: [%zu][%zu][%zu] looks unlike the cell "
					      "that stands for it",
					      text, plane->first + p, row->first + r,
					      column->first + c);
			}
		}
	}
}

static void check_elision(const struct drawn *drawn, const struct grid *whole,
			  const size_t room[FRAME_AXES], const char *text)
{
	struct grid grid;
	size_t at[FRAME_AXES];

	prepare_grid(drawn, &grid, room[0], room[1], room[2]);
	for (enum frame_axis axis = 0; axis < FRAME_AXES; axis++)
		check_slots(&grid, axis, room[axis]);
	for (at[2] = 0; at[2] < grid.axis[2].count; at[2]++)
		for (at[1] = 0; at[1] < grid.axis[1].count; at[1]++)
			for (at[0] = 0; at[0] < grid.axis[0].count; at[0]++)
				check_cell(&grid, whole, at, text);
	grid_release(&grid);
}

START_TEST(what_is_elided_looks_alike)
{
	static const size_t rooms[][FRAME_AXES] = {
		{ 40, 40, 3 }, { 20, 20, 8 }, { 9, 9, 3 }, { 3, 4, 5 }
	};
	struct drawn drawn;
	struct grid whole;

	open_drawing(&drawn, drawings[_i]);
	prepare_whole_grid(&drawn, &whole);
	for (size_t i = 0; i < sizeof(rooms) / sizeof(rooms[0]); i++)
		check_elision(&drawn, &whole, rooms[i], drawings[_i]);
	grid_release(&whole);
	close_drawing(&drawn);
}
END_TEST

/* A face of a large box needs few slots: its edges and what is beside them. */
START_TEST(a_face_keeps_its_edges)
{
	struct drawn drawn;
	struct grid grid;

	open_drawing(&drawn, "subarray([40,30,50], [38,28,2], [1,1,48], c, float)");
	prepare_grid(&drawn, &grid, 20, 16, 8);
	ck_assert_uint_eq(grid.axis[FRAME_PLANES].count, 3);
	ck_assert_uint_eq(grid_elided(&grid, FRAME_PLANES, SLOT_ALIKE), 38);
	ck_assert_uint_eq(grid_elided(&grid, FRAME_ROWS, SLOT_ALIKE), 22);
	ck_assert_uint_eq(grid_elided(&grid, FRAME_COLUMNS, SLOT_ALIKE), 42);
	ck_assert_uint_eq(grid_elided(&grid, FRAME_ROWS, SLOT_CUT), 0);
	ck_assert(grid_at(&grid, 1, 1, 7)->layout == 0);
	ck_assert(grid_at(&grid, 1, 1, 6)->layout == GRID_NONE);
	grid_release(&grid);
	close_drawing(&drawn);
}
END_TEST

START_TEST(too_many_runs_get_no_frame)
{
	struct rows rows = { .strides = { 2 }, .levels = 1, .element_bytes = 1 };
	struct picture picture;
	struct frame_layout layout = { .picture = &picture };
	struct frame frame = { .layouts = &layout, .layout_count = 1 };
	struct dtconv_type *type = fixture_type("vector(100000000, 1, 2, char)");

	ck_assert_int_eq(picture_prepare(&picture, type, 1), 0);
	ck_assert_int_eq(frame_prepare(&frame, &rows), DTCONV_ERR_LIMIT);
	frame_release(&frame);
	picture_release(&picture);
	dtconv_type_unref(type);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("rows");
	TCase *rows = fixture_case(suite, "rows", 10);
	TCase *cells = fixture_case(suite, "cells", 60);
	TCase *elision = fixture_case(suite, "elision", 60);
	int drawing_count = sizeof(drawings) / sizeof(drawings[0]);

	tcase_add_loop_test(rows, descriptions_imply_rows, 0,
			    sizeof(implied) / sizeof(implied[0]));
	tcase_add_loop_test(cells, cells_are_what_unpacking_touches, 0, drawing_count);
	tcase_add_loop_test(elision, what_is_elided_looks_alike, 0, drawing_count);
	tcase_add_test(elision, a_face_keeps_its_edges);
	tcase_add_test(elision, too_many_runs_get_no_frame);
	return fixture_run(suite);
}
