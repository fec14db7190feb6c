/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Layouts at a packed size: strided blocks from 4 bytes to 16 KiB, even and uneven steps, boxes, faces,
 * records, transposes, triangles, irregular blocks, gathers. None has elements that overlap.
 */
#include "config.h"

#include "bench/gpu/layouts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DOUBLE_BYTES sizeof(double)

/* ---- strided blocks -------------------------------------------------------------------- */

/* Block and pitch in one number. */
#define STRIDED(block, pitch) ((size_t)(pitch) << 32 | (block))

static int make_strided(struct bench_build *b, const struct bench_layout *layout,
			int variant, size_t target, struct bench_case *c)
{
	size_t block = layout->parameter & 0xffffffff;
	size_t pitch = layout->parameter >> 32;
	size_t count = target / block;

	(void)variant;
	c->block = block;
	c->pitch = pitch;
	return build_once(b, c,
			  build_hvector(b, count, block, (ptrdiff_t)pitch,
					build_named(b, DTCONV_BYTE)),
			  1, count * pitch);
}

static int make_contiguous(struct bench_build *b, const struct bench_layout *layout,
			   int variant, size_t target, struct bench_case *c)
{
	(void)layout, (void)variant;
	return build_once(b, c, build_contiguous(b, target, build_named(b, DTCONV_BYTE)),
			  1, target);
}

/* ---- boxes and matrices ---------------------------------------------------------------- */

/* The largest n, in steps, of which n to the power fits into `elements`. */
static size_t side_of(size_t elements, int power, size_t step)
{
	size_t n = step;

	for (;; n += step) {
		size_t m = n + step, all = m * m * (power == 3 ? m : 1);

		if (all > elements)
			return n;
	}
}

/* The inside of a box with a rim of 4 doubles, which leaves rows at 40 bytes of a line. */
static int make_box(struct bench_build *b, const struct bench_layout *layout, int variant,
		    size_t target, struct bench_case *c)
{
	size_t n = side_of(target / DOUBLE_BYTES, 3, 4), whole = n + 8;
	size_t sizes[] = { whole, whole, whole }, box[] = { n, n, n };
	size_t starts[] = { 4, 4, 5 };

	(void)layout, (void)variant;
	return build_once(b, c,
			  build_subarray(b, 3, sizes, box, starts,
					 build_named(b, DTCONV_DOUBLE)),
			  1, whole * whole * whole * DOUBLE_BYTES);
}

/* Two layers of a cube, cut across its rows (axis 2) or along them (axis 1). */
static int make_face(struct bench_build *b, const struct bench_layout *layout,
		     int variant, size_t target, struct bench_case *c)
{
	size_t axis = layout->parameter;
	size_t n = side_of(target / (2 * DOUBLE_BYTES), 2, 8);
	size_t sizes[] = { n, n, n }, box[] = { n, n, n };
	size_t starts[] = { 0, 0, 0 };

	(void)variant;
	box[axis] = 2;
	starts[axis] = 2;
	return build_once(b, c,
			  build_subarray(b, 3, sizes, box, starts,
					 build_named(b, DTCONV_DOUBLE)),
			  1, n * n * n * DOUBLE_BYTES);
}

static int make_transpose(struct bench_build *b, const struct bench_layout *layout,
			  int variant, size_t target, struct bench_case *c)
{
	size_t n = side_of(target / DOUBLE_BYTES, 2, 8);
	struct dtconv_type *column =
		build_vector(b, n, 1, (ptrdiff_t)n, build_named(b, DTCONV_DOUBLE));

	(void)layout, (void)variant;
	return build_once(
		b, c, build_contiguous(b, n, build_resized(b, column, 0, DOUBLE_BYTES)),
		1, n * n * DOUBLE_BYTES);
}

/* ---- lists ----------------------------------------------------------------------------- */

/* Lengths and displacements in doubles, in one allocation. */
struct list {
	size_t *lengths;
	ptrdiff_t *displacements;
};

static struct list new_list(struct bench_build *b, size_t count)
{
	struct list list = { build_alloc(b, count, 2 * sizeof(size_t)), NULL };

	if (list.lengths)
		list.displacements = (ptrdiff_t *)(list.lengths + count);
	return list;
}

static struct dtconv_type *list_type(struct bench_build *b, size_t count,
				     const struct list *list)
{
	return build_indexed(b, count, list->lengths, list->displacements,
			     build_named(b, DTCONV_DOUBLE));
}

static int make_lower_tri(struct bench_build *b, const struct bench_layout *layout,
			  int variant, size_t target, struct bench_case *c)
{
	size_t n = side_of(2 * target / DOUBLE_BYTES, 2, 8);
	struct list list = new_list(b, n);

	(void)layout, (void)variant;
	for (size_t i = 0; list.lengths && i < n; i++) {
		list.lengths[i] = i + 1;
		list.displacements[i] = (ptrdiff_t)(i * n);
	}
	build_once(b, c, list_type(b, n, &list), 1, n * n * DOUBLE_BYTES);
	free(list.lengths);
	return b->status;
}

/* Blocks of 1 to so many doubles, with gaps of none to as many. */
static int make_irregular(struct bench_build *b, const struct bench_layout *layout,
			  int variant, size_t target, struct bench_case *c)
{
	size_t most = layout->parameter;
	size_t count = target / ((most + 1) * DOUBLE_BYTES / 2), at = 0;
	struct list list = new_list(b, count);
	uint64_t state = b->seed;

	(void)variant;
	for (size_t i = 0; list.lengths && i < count; i++) {
		list.lengths[i] = 1 + bench_random_below(&state, most);
		list.displacements[i] = (ptrdiff_t)at;
		at += list.lengths[i] + bench_random_below(&state, most + 1);
	}
	build_once(b, c, list_type(b, count, &list), 1, at * DOUBLE_BYTES);
	free(list.lengths);
	return b->status;
}

static struct dtconv_type *single_doubles(struct bench_build *b, size_t count,
					  const ptrdiff_t *displacements)
{
	struct dtconv_type *element = build_named(b, DTCONV_DOUBLE), *type = NULL;

	if (!b->status)
		b->status = dtconv_type_create_indexed_block(count, 1, displacements,
							     element, &type);
	dtconv_type_unref(element);
	return type;
}

/* Single doubles, ascending, 16 bytes from each other on average. */
static int make_gather_sorted(struct bench_build *b, const struct bench_layout *layout,
			      int variant, size_t target, struct bench_case *c)
{
	size_t count = target / DOUBLE_BYTES, at = 0;
	ptrdiff_t *displacements = build_alloc(b, count, sizeof(*displacements));
	uint64_t state = b->seed;

	(void)layout, (void)variant;
	for (size_t i = 0; displacements && i < count; i++) {
		displacements[i] = (ptrdiff_t)at;
		at += 1 + bench_random_below(&state, 3);
	}
	build_once(b, c, single_doubles(b, count, displacements), 1, at * DOUBLE_BYTES);
	free(displacements);
	return b->status;
}

/* Half of the doubles of an array in random order. */
static int make_gather_random(struct bench_build *b, const struct bench_layout *layout,
			      int variant, size_t target, struct bench_case *c)
{
	size_t count = target / DOUBLE_BYTES;
	uint32_t *list = bench_random_list(b, count, 2 * count, false);
	ptrdiff_t *displacements = build_alloc(b, count, sizeof(*displacements));

	(void)layout, (void)variant;
	for (size_t i = 0; displacements && i < count; i++)
		displacements[i] = list[i];
	build_once(b, c, single_doubles(b, count, displacements), 1,
		   2 * count * DOUBLE_BYTES);
	free(displacements);
	free(list);
	return b->status;
}

/* ---- records --------------------------------------------------------------------------- */

static int make_record(struct bench_build *b, struct dtconv_type *record, size_t packed,
		       size_t bytes, size_t target, struct bench_case *c)
{
	size_t count = target / packed;

	return build_once(b, c,
			  build_contiguous(b, count, build_resized(b, record, 0, bytes)),
			  1, count * bytes);
}

static int make_20of48(struct bench_build *b, const struct bench_layout *layout,
		       int variant, size_t target, struct bench_case *c)
{
	static const ptrdiff_t displacements[] = { 0, 20 };
	struct dtconv_type *members[] = {
		build_contiguous(b, 3, build_named(b, DTCONV_FLOAT)),
		build_contiguous(b, 2, build_named(b, DTCONV_FLOAT)),
	};

	(void)layout, (void)variant;
	return make_record(b, build_struct(b, 2, displacements, members), 20, 48, target,
			   c);
}

static int make_19of24(struct bench_build *b, const struct bench_layout *layout,
		       int variant, size_t target, struct bench_case *c)
{
	static const ptrdiff_t displacements[] = { 0, 8, 16 };
	struct dtconv_type *members[] = {
		build_named(b, DTCONV_INT), build_named(b, DTCONV_DOUBLE),
		build_contiguous(b, 7, build_named(b, DTCONV_CHAR))
	};

	(void)layout, (void)variant;
	return make_record(b, build_struct(b, 3, displacements, members), 19, 24, target,
			   c);
}

/* ---- the tables ------------------------------------------------------------------------ */

#define ALL  BENCH_SIZES_GPU
#define TO_1 ((unsigned)BENCH_SIZE_64K | BENCH_SIZE_1M)

const struct bench_layout bench_layouts_gpu[] = {
	{ "contig", make_contiguous, ALL, 0, 0, 0 },
	{ "vec4", make_strided, ALL, 0, 0, STRIDED(4, 8) },
	{ "vec8", make_strided, ALL, 0, 0, STRIDED(8, 16) },
	{ "vec64", make_strided, ALL, 0, 0, STRIDED(64, 128) },
	{ "vec256", make_strided, ALL, 0, 0, STRIDED(256, 512) },
	{ "vec4k", make_strided, ALL, 0, 0, STRIDED(4096, 8192) },
	{ "transpose", make_transpose, ALL, 0, 0, 0 },
	{ "box", make_box, ALL, 0, 0, 0 },
	{ "20of48", make_20of48, ALL, 0, 0, 0 },
	{ "irregular64", make_irregular, ALL, 0, 0, 64 },
	{ "12of24", make_strided, ALL, 0, 0, STRIDED(12, 24) },
	{ "40of80", make_strided, ALL, 0, 0, STRIDED(40, 80) },
	{ "128of257", make_strided, ALL, 0, 0, STRIDED(128, 257) },
	{ "128of260", make_strided, ALL, 0, 0, STRIDED(128, 260) },
	{ "512of1032", make_strided, ALL, 0, 0, STRIDED(512, 1032) },
	{ "264of528", make_strided, ALL, 0, 0, STRIDED(264, 528) },
	{ "vec16", make_strided, ALL, 0, 0, STRIDED(16, 32) },
	{ "vec32", make_strided, ALL, 0, 0, STRIDED(32, 64) },
	{ "vec128", make_strided, ALL, 0, 0, STRIDED(128, 256) },
	{ "vec512", make_strided, ALL, 0, 0, STRIDED(512, 1024) },
	{ "vec1k", make_strided, ALL, 0, 0, STRIDED(1024, 2048) },
	{ "vec16k", make_strided, ALL, 0, 0, STRIDED(16384, 32768) },
	{ "19of24", make_19of24, ALL, 0, 0, 0 },
	{ "lower_tri", make_lower_tri, ALL, 0, 0, 0 },
	{ "xface2", make_face, TO_1, 0, 0, 2 },
	{ "yface2", make_face, TO_1, 0, 0, 1 },
	{ "gather8_random", make_gather_random, ALL, 0, 0, 0 },
	{ "gather8_sorted", make_gather_sorted, ALL, 0, 0, 0 },
	{ 0 },
};

static const struct gpu_target targets[] = {
	{ "contig", "G1", 1.0, 1.0 },       { "vec4", "G3", 0.69, 0.42 },
	{ "vec8", "G3", 0.69, 0.42 },       { "12of24", "G3", 0.69, 0.35 },
	{ "vec16", "G3", 0.69, 0.42 },      { "40of80", "G3", 0.69, 0.34 },
	{ "vec64", "G2", 0.94, 0.75 },      { "vec128", "G2", 0.94, 0.90 },
	{ "vec256", "G2", 0.94, 0.90 },     { "vec512", "G2", 0.94, 0.90 },
	{ "vec1k", "G2", 0.95, 0.94 },      { "vec4k", "G2", 0.95, 0.94 },
	{ "vec16k", "G2", 0.95, 0.94 },     { "264of528", "G6", 0.80, 0.49 },
	{ "128of260", "G6", 0.68, 0.42 },   { "128of257", "G6", 0.68, 0.42 },
	{ "512of1032", "G6", 0.80, 0.49 },  { "box", "G2", 0.95, 0.94 },
	{ "20of48", "G3", 0.61, 0 },        { "irregular64", "G4", 0.82, 0 },
	{ "gather8_sorted", "G4", 0.5, 0 }, { "transpose", "G5", 0.93, 0.93 },
};

#define LEAST_BYTES ((size_t)8 << 20)

const struct gpu_target *gpu_target_of(const char *layout, size_t bytes)
{
	if (bytes < LEAST_BYTES)
		return NULL;
	for (size_t i = 0; i < sizeof(targets) / sizeof(*targets); i++)
		if (!strcmp(targets[i].layout, layout))
			return &targets[i];
	return NULL;
}
