/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The classic layouts: strided blocks, matrix columns and transposes, faces of boxes,
 * triangles, gathers, arrays of structs, block-cyclic arrays. Each is created for a packed
 * size.
 */
#include "config.h"

#include "bench/layouts/layout.h"

#include <stdlib.h>

#define FLOAT_BYTES  sizeof(float)
#define DOUBLE_BYTES sizeof(double)

/* A parameter that depends on the packed size wanted. */
struct sized {
	size_t bytes, value;
};

static size_t sized_value(const struct sized *table, size_t target)
{
	while (table->bytes && table->bytes != target)
		table++;
	return table->value;
}

#define K16  ((size_t)16 << 10)
#define K256 ((size_t)256 << 10)
#define M4   ((size_t)4 << 20)
#define M64  ((size_t)64 << 20)
#define G1   ((size_t)1 << 30)

/* ---- strided blocks ------------------------------------------------------------------ */

static struct hand_loop blocks_loop(size_t block, struct hand_blocks *shape)
{
	static const struct {
		size_t block;
		hand_pack_fn pack;
		hand_unpack_fn unpack;
	} loops[] = {
		{ 4, hand_pack_blocks4, hand_unpack_blocks4 },
		{ 8, hand_pack_blocks8, hand_unpack_blocks8 },
		{ 16, hand_pack_blocks16, hand_unpack_blocks16 },
		{ 64, hand_pack_blocks64, hand_unpack_blocks64 },
		{ 256, hand_pack_blocks256, hand_unpack_blocks256 },
		{ 4096, hand_pack_blocks4096, hand_unpack_blocks4096 },
	};
	size_t i = 0;

	while (loops[i].block != block)
		i++;
	return build_loop(loops[i].pack, loops[i].unpack, shape);
}

/* vec4 .. vec4k: the parameter is the block's bytes, the stride twice that. */
static int make_vec(struct bench_build *b, const struct bench_layout *layout, int variant,
		    size_t target, struct bench_case *c)
{
	size_t block = layout->parameter;
	size_t count = target / block;
	struct hand_blocks *s = build_alloc(b, 1, sizeof(*s));
	bool floats = block < DOUBLE_BYTES;
	size_t length = block / (floats ? FLOAT_BYTES : DOUBLE_BYTES);
	struct dtconv_type *element =
		build_named(b, floats ? DTCONV_FLOAT : DTCONV_DOUBLE);

	(void)variant;
	c->hand = blocks_loop(block, s);
	if (s)
		*s = (struct hand_blocks){ .count = count, .pitch = 2 * block };
	return build_once(b, c,
			  build_vector(b, count, length, 2 * (ptrdiff_t)length, element),
			  1, 2 * target);
}

static struct hand_instances *instances(struct bench_build *b, size_t count)
{
	struct hand_instances *s = build_alloc(b, 1, sizeof(*s));

	if (s)
		s->count = count;
	return s;
}

static int make_vec8_count(struct bench_build *b, const struct bench_layout *layout,
			   int variant, size_t target, struct bench_case *c)
{
	size_t count = target / 32;
	struct dtconv_type *type =
		build_vector(b, 4, 1, 2, build_named(b, DTCONV_DOUBLE));

	(void)layout, (void)variant;
	c->hand = build_loop(hand_pack_vec8_count, hand_unpack_vec8_count,
			     instances(b, count));
	return build_once(b, c, build_resized(b, type, 0, 64), count, count * 64);
}

/* ---- matrices ------------------------------------------------------------------------ */

static struct hand_loop columns_loop(struct bench_build *b, size_t rows, size_t columns,
				     size_t pitch)
{
	struct hand_columns *s = build_alloc(b, 1, sizeof(*s));

	if (s)
		*s = (struct hand_columns){ rows, columns, pitch };
	return build_loop(hand_pack_columns8, hand_unpack_columns8, s);
}

#define MATCOL_ROWS 2048

/* Columns of a row-major matrix; its pitch is a power of two on purpose. */
static int make_matcol(struct bench_build *b, const struct bench_layout *layout,
		       int variant, size_t target, struct bench_case *c)
{
	size_t columns = target / (MATCOL_ROWS * DOUBLE_BYTES);
	size_t pitch = columns > 4096 ? columns : 4096;
	struct dtconv_type *type = build_vector(b, MATCOL_ROWS, 1, (ptrdiff_t)pitch,
						build_named(b, DTCONV_DOUBLE));

	(void)layout, (void)variant;
	c->hand = columns_loop(b, MATCOL_ROWS, columns, pitch);
	return build_once(b, c, build_resized(b, type, 0, DOUBLE_BYTES), columns,
			  MATCOL_ROWS * pitch * DOUBLE_BYTES);
}

static int make_transpose(struct bench_build *b, const struct bench_layout *layout,
			  int variant, size_t target, struct bench_case *c)
{
	static const struct sized sides[] = {
		{ K16, 44 }, { K256, 180 }, { M4, 724 }, { 0, 2896 }
	};
	size_t n = sized_value(sides, target);
	struct dtconv_type *type =
		build_vector(b, n, 1, (ptrdiff_t)n, build_named(b, DTCONV_DOUBLE));

	(void)layout, (void)variant;
	c->hand = columns_loop(b, n, n, n);
	return build_once(b, c,
			  build_contiguous(b, n, build_resized(b, type, 0, DOUBLE_BYTES)),
			  1, n * n * DOUBLE_BYTES);
}

static int make_lower_tri(struct bench_build *b, const struct bench_layout *layout,
			  int variant, size_t target, struct bench_case *c)
{
	static const struct sized sides[] = {
		{ K16, 64 }, { K256, 256 }, { M4, 1024 }, { M64, 4096 }, { 0, 16384 }
	};
	size_t n = sized_value(sides, target);
	struct hand_triangle *s = build_alloc(b, 1, sizeof(*s));
	size_t *lengths = build_alloc(b, n, sizeof(*lengths));
	ptrdiff_t *displacements = build_alloc(b, n, sizeof(*displacements));
	struct dtconv_type *type = NULL;

	(void)layout, (void)variant;
	c->hand = build_loop(hand_pack_lower_tri, hand_unpack_lower_tri, s);
	if (!b->status) {
		s->n = n;
		for (size_t i = 0; i < n; i++) {
			lengths[i] = i + 1;
			displacements[i] = (ptrdiff_t)(i * n);
		}
		type = build_indexed(b, n, lengths, displacements,
				     build_named(b, DTCONV_DOUBLE));
	}
	free(lengths);
	free(displacements);
	return build_once(b, c, type, 1, n * n * DOUBLE_BYTES);
}

/* Blocks of 8 x 8 of n x n doubles on 2 x 2 processes, the first one's. */
static int make_darray(struct bench_build *b, const struct bench_layout *layout,
		       int variant, size_t target, struct bench_case *c)
{
	static const struct sized sides[] = {
		{ K16, 80 }, { K256, 352 }, { M4, 1440 }, { 0, 5792 }
	};
	static const enum dtconv_distribution cyclic[] = { DTCONV_DISTRIBUTE_CYCLIC,
							   DTCONV_DISTRIBUTE_CYCLIC };
	size_t n = sized_value(sides, target);
	size_t sizes[] = { n, n };
	size_t blocks[] = { 8, 8 };
	size_t grid[] = { 2, 2 };
	struct hand_triangle *s = build_alloc(b, 1, sizeof(*s));
	struct dtconv_type *type = NULL;

	(void)layout, (void)variant;
	c->hand = build_loop(hand_pack_cyclic8, hand_unpack_cyclic8, s);
	if (s)
		s->n = n;
	if (!b->status)
		b->status = dtconv_type_create_darray(4, 0, 2, sizes, cyclic, blocks,
						      grid, DTCONV_ORDER_C,
						      build_named(b, DTCONV_DOUBLE),
						      &type);
	return build_once(b, c, type, 1, n * n * DOUBLE_BYTES);
}

/* ---- faces of a box of n^3 doubles --------------------------------------------------- */

enum axis { AXIS_Z, AXIS_Y, AXIS_X };
#define FACE(axis, width) ((size_t)(axis) << 4 | (width))

/* The hand loop of one field: rows of `width` doubles (x), runs (y), one run (z). */
static struct hand_loop face_loop(struct bench_build *b, enum axis axis, size_t width,
				  size_t n)
{
	struct hand_nest *s = build_alloc(b, 1, sizeof(*s));
	size_t row = n * DOUBLE_BYTES;

	if (!s)
		return build_loop(NULL, NULL, NULL);
	if (axis == AXIS_X) {
		*s = (struct hand_nest){ .outer_count = 1,
					 .inner_count = n * n,
					 .inner_pitch = row };
		return width == 1 ? build_loop(hand_pack_nest8, hand_unpack_nest8, s)
				  : build_loop(hand_pack_nest16, hand_unpack_nest16, s);
	}
	if (axis == AXIS_Y)
		*s = (struct hand_nest){ .outer_count = 1,
					 .inner_count = n,
					 .inner_pitch = n * row,
					 .run_bytes = width * row };
	else
		*s = (struct hand_nest){ .outer_count = 1,
					 .inner_count = 1,
					 .run_bytes = width * n * row };
	return build_loop(hand_pack_runs, hand_unpack_runs, s);
}

static int make_face(struct bench_build *b, const struct bench_layout *layout,
		     int variant, size_t target, struct bench_case *c)
{
	static const struct sized one_wide[] = { { K16, 46 }, { K256, 182 }, { 0, 256 } };
	static const struct sized two_wide[] = { { K16, 32 }, { K256, 128 }, { 0, 256 } };
	enum axis axis = (enum axis)(layout->parameter >> 4);
	size_t width = layout->parameter & 15;
	size_t n = sized_value(width == 1 ? one_wide : two_wide, target);
	size_t count = build_times(target, n * n * width * DOUBLE_BYTES);
	size_t sizes[] = { n, n, n };
	size_t box[] = { n, n, n };
	size_t starts[] = { 0, 0, 0 };
	struct dtconv_type *type;

	(void)variant;
	box[axis] = width;
	starts[axis] = 1;
	type = build_subarray(b, 3, sizes, box, starts, build_named(b, DTCONV_DOUBLE));
	c->hand = face_loop(b, axis, width, n);
	c->hand.first_byte = DOUBLE_BYTES * (axis == AXIS_X   ? 1
					     : axis == AXIS_Y ? n
							      : n * n);
	build_once(b, c, type, count, count * n * n * n * DOUBLE_BYTES);
	c->hand.instances = count;
	c->hand.instance_bytes = n * n * n * DOUBLE_BYTES;
	c->hand.packed_bytes = n * n * width * DOUBLE_BYTES;
	return b->status;
}

/* ---- gathers and irregular blocks ---------------------------------------------------- */

/* A list that the shape owns, in one allocation with it. */
static struct hand_gather *gather_shape(struct bench_build *b, size_t count, size_t limit,
					bool sorted)
{
	uint32_t *list = bench_random_list(b, count, limit, sorted);
	struct hand_gather *s = build_alloc(b, 1, sizeof(*s) + count * sizeof(uint32_t));
	uint32_t *own = (uint32_t *)(s + 1);

	for (size_t i = 0; s && i < count; i++)
		own[i] = list[i];
	if (s)
		*s = (struct hand_gather){ count, own };
	free(list);
	return s;
}

/* gather8_random and gather8_sorted: the parameter says whether the list ascends. */
static int make_gather(struct bench_build *b, const struct bench_layout *layout,
		       int variant, size_t target, struct bench_case *c)
{
	size_t count = target / DOUBLE_BYTES;
	struct hand_gather *s = gather_shape(b, count, 4 * count, layout->parameter);

	(void)variant;
	c->hand = build_loop(hand_pack_gather8, hand_unpack_gather8, s);
	if (b->status)
		return b->status;
	return build_once(
		b, c, build_picked(b, count, 1, s->list, build_named(b, DTCONV_DOUBLE)),
		1, 4 * count * DOUBLE_BYTES);
}

#define IRREGULAR_MOST 64  /* doubles in a block, and in a gap */
#define IRREGULAR_MEAN 260 /* bytes in a block */

static struct hand_indexed *indexed_shape(struct bench_build *b, size_t count)
{
	struct hand_indexed *s = build_alloc(
		b, 1, sizeof(*s) + count * (sizeof(size_t) + sizeof(uint32_t)));

	if (s) {
		s->count = count;
		s->displacements = (size_t *)(s + 1);
		s->lengths = (uint32_t *)(s->displacements + count);
	}
	return s;
}

/* The type of an indexed shape. */
static struct dtconv_type *indexed_type(struct bench_build *b,
					const struct hand_indexed *s)
{
	size_t *lengths = build_alloc(b, s->count, sizeof(*lengths));
	ptrdiff_t *displacements = build_alloc(b, s->count, sizeof(*displacements));
	struct dtconv_type *type = NULL;

	if (!b->status) {
		for (size_t i = 0; i < s->count; i++) {
			lengths[i] = s->lengths[i] / DOUBLE_BYTES;
			displacements[i] = (ptrdiff_t)s->displacements[i];
		}
		type = build_hindexed(b, s->count, lengths, displacements,
				      build_named(b, DTCONV_DOUBLE));
	}
	free(lengths);
	free(displacements);
	return type;
}

static int make_hindexed(struct bench_build *b, const struct bench_layout *layout,
			 int variant, size_t target, struct bench_case *c)
{
	size_t count = target / IRREGULAR_MEAN;
	struct hand_indexed *s = indexed_shape(b, count);
	uint64_t state = b->seed;
	size_t at = 0;

	(void)layout, (void)variant;
	c->hand = build_loop(hand_pack_indexed, hand_unpack_indexed, s);
	if (b->status)
		return b->status;
	for (size_t i = 0; i < count; i++) {
		size_t length = 1 + bench_random_below(&state, IRREGULAR_MOST);
		size_t gap = 1 + bench_random_below(&state, IRREGULAR_MOST);

		s->lengths[i] = (uint32_t)(length * DOUBLE_BYTES);
		s->displacements[i] = at;
		at += (length + gap) * DOUBLE_BYTES;
	}
	return build_once(b, c, indexed_type(b, s), 1, at);
}

/* ---- arrays of structs --------------------------------------------------------------- */

static int make_struct_mixed(struct bench_build *b, const struct bench_layout *layout,
			     int variant, size_t target, struct bench_case *c)
{
	static const ptrdiff_t displacements[] = { 0, 8, 16 };
	struct dtconv_type *members[] = {
		build_named(b, DTCONV_INT), build_named(b, DTCONV_DOUBLE),
		build_contiguous(b, 7, build_named(b, DTCONV_CHAR))
	};
	size_t count = target / 19;

	(void)layout, (void)variant;
	c->hand = build_loop(hand_pack_struct_mixed, hand_unpack_struct_mixed,
			     instances(b, count));
	return build_once(
		b, c, build_resized(b, build_struct(b, 3, displacements, members), 0, 24),
		count, count * 24);
}

/* One member of `floats` floats at `at` in a record of `bytes`. */
static struct dtconv_type *member_type(struct bench_build *b, size_t floats, ptrdiff_t at,
				       size_t bytes)
{
	struct dtconv_type *member =
		build_contiguous(b, floats, build_named(b, DTCONV_FLOAT));

	return build_resized(b, build_struct(b, 1, &at, &member), 0, bytes);
}

static int make_aos4of32(struct bench_build *b, const struct bench_layout *layout,
			 int variant, size_t target, struct bench_case *c)
{
	size_t count = target / 4;

	(void)layout, (void)variant;
	c->hand =
		build_loop(hand_pack_aos4of32, hand_unpack_aos4of32, instances(b, count));
	return build_once(b, c, member_type(b, 1, 8, 32), count, count * 32);
}

static int make_aos12of48(struct bench_build *b, const struct bench_layout *layout,
			  int variant, size_t target, struct bench_case *c)
{
	size_t count = target / 12;

	(void)layout, (void)variant;
	c->hand = build_loop(hand_pack_aos12of48, hand_unpack_aos12of48,
			     instances(b, count));
	return build_once(b, c, member_type(b, 3, 16, 48), count, count * 48);
}

static int make_struct_of_vec(struct bench_build *b, const struct bench_layout *layout,
			      int variant, size_t target, struct bench_case *c)
{
	static const ptrdiff_t displacements[] = { 0, 240, 424 };
	struct dtconv_type *members[] = {
		build_vector(b, 8, 2, 4, build_named(b, DTCONV_DOUBLE)),
		build_vector(b, 16, 1, 3, build_named(b, DTCONV_FLOAT)),
		build_contiguous(b, 5, build_named(b, DTCONV_INT))
	};
	size_t count = target / 212;

	(void)layout, (void)variant;
	c->hand = build_loop(hand_pack_struct_of_vec, hand_unpack_struct_of_vec,
			     instances(b, count));
	return build_once(b, c,
			  build_resized(b, build_struct(b, 3, displacements, members), 0,
					448),
			  count, count * 448);
}

/* name, make, sizes, no parameter sets, no set to scale, parameter */
const struct bench_layout bench_layouts_classic[] = {
	{ "vec4", make_vec, BENCH_SIZES_TO_1G, 0, 0, 4 },
	{ "vec8", make_vec, BENCH_SIZES_TO_1G, 0, 0, 8 },
	{ "vec16", make_vec, BENCH_SIZES_TO_1G, 0, 0, 16 },
	{ "vec64", make_vec, BENCH_SIZES_TO_1G, 0, 0, 64 },
	{ "vec256", make_vec, BENCH_SIZES_TO_1G, 0, 0, 256 },
	{ "vec4k", make_vec, BENCH_SIZES_TO_1G, 0, 0, 4096 },
	{ "vec8_count", make_vec8_count, BENCH_SIZES_TO_64M, 0, 0, 0 },
	{ "matcol", make_matcol, BENCH_SIZES_TO_1G, 0, 0, 0 },
	{ "transpose", make_transpose, BENCH_SIZES_TO_64M, 0, 0, 0 },
	{ "xface", make_face, BENCH_SIZES_TO_4M, 0, 0, FACE(AXIS_X, 1) },
	{ "yface", make_face, BENCH_SIZES_TO_4M, 0, 0, FACE(AXIS_Y, 1) },
	{ "zface", make_face, BENCH_SIZES_TO_4M, 0, 0, FACE(AXIS_Z, 1) },
	{ "xhalo2", make_face, BENCH_SIZES_TO_4M, 0, 0, FACE(AXIS_X, 2) },
	{ "yhalo2", make_face, BENCH_SIZES_TO_4M, 0, 0, FACE(AXIS_Y, 2) },
	{ "zhalo2", make_face, BENCH_SIZES_TO_4M, 0, 0, FACE(AXIS_Z, 2) },
	{ "lower_tri", make_lower_tri, BENCH_SIZES_TO_1G, 0, 0, 0 },
	{ "gather8_random", make_gather, BENCH_SIZES_TO_64M, 0, 0, false },
	{ "gather8_sorted", make_gather, BENCH_SIZES_TO_64M, 0, 0, true },
	{ "struct_mixed", make_struct_mixed, BENCH_SIZES_TO_1G, 0, 0, 0 },
	{ "aos4of32", make_aos4of32, BENCH_SIZES_TO_1G, 0, 0, 0 },
	{ "aos12of48", make_aos12of48, BENCH_SIZES_TO_1G, 0, 0, 0 },
	{ "hindexed_1_64", make_hindexed, BENCH_SIZES_TO_64M, 0, 0, 0 },
	{ "struct_of_vec", make_struct_of_vec, BENCH_SIZES_TO_64M, 0, 0, 0 },
	{ "darray_cyclic8", make_darray, BENCH_SIZES_TO_64M, 0, 0, 0 },
	{ 0 },
};
