/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The messages of applications: halos of a weather code, lattice QCD, the NAS benchmarks,
 * molecular dynamics, seismic waves, and the transpose of a 2-D Fourier transform. The arrays
 * of one application are consecutive; displacements count from the start of the first.
 */
#include "config.h"

#include "bench/layouts/layout.h"

#include <stdlib.h>

#define FLOAT_BYTES   sizeof(float)
#define DOUBLE_BYTES  sizeof(double)
#define COMPLEX_BYTES (2 * sizeof(double))

/* ---- WRF: weather, float ------------------------------------------------------------- */

/* Bounds of the memory (m) and of the part to send, in i and j; k is always complete. */
struct wrf_set {
	int ims, ime, jms, jme;
	int is, ie, js, je;
};

static const struct wrf_set wrf_y[] = {
	{ -4, 27, 34, 85, 1, 23, 41, 43 }, { 8, 34, 21, 61, 12, 30, 28, 30 },
	{ 4, 27, 14, 47, 8, 23, 21, 23 },  { 10, 31, 10, 39, 14, 27, 17, 19 },
	{ 4, 22, 4, 27, 8, 18, 11, 13 },
};

static const struct wrf_set wrf_x[] = {
	{ -4, 27, 34, 85, 18, 20, 38, 81 },
	{ 4, 27, 14, 47, 18, 20, 18, 43 },
	{ 4, 22, 4, 27, 13, 15, 8, 23 },
};

#define WRF_LEVELS    65
#define WRF_ARRAYS    9
#define WRF_IN_Y      1u
#define WRF_SUBARRAYS 2u

static struct hand_wrf wrf_shape(const struct wrf_set *set)
{
	return (struct hand_wrf){ .d1 = (size_t)(set->ime - set->ims + 1),
				  .d2 = WRF_LEVELS,
				  .d3 = (size_t)(set->jme - set->jms + 1),
				  .s1 = (size_t)(set->ie - set->is + 1),
				  .s3 = (size_t)(set->je - set->js + 1),
				  .i0 = (size_t)(set->is - set->ims),
				  .j0 = (size_t)(set->js - set->jms) };
}

static size_t wrf_dimensions(size_t array)
{
	return array < 4 ? 2 : array < 7 ? 3 : 4;
}

/* Floats in an array, and the float at which its box begins. */
static size_t wrf_array_floats(const struct hand_wrf *s, size_t dimensions)
{
	size_t plane = s->d1 * s->d3;

	return dimensions == 2 ? plane : plane * s->d2 * (dimensions - 2);
}

static size_t wrf_first_float(const struct hand_wrf *s, size_t dimensions)
{
	size_t levels = dimensions == 2 ? 1 : s->d2;
	size_t second_scalar = dimensions == 4 ? s->d1 * s->d2 * s->d3 : 0;

	return second_scalar + s->j0 * levels * s->d1 + s->i0;
}

static struct dtconv_type *wrf_vector(struct bench_build *b, const struct hand_wrf *s,
				      size_t dimensions)
{
	size_t volume = s->d1 * s->d2 * s->d3 * FLOAT_BYTES;
	struct dtconv_type *type = build_named(b, DTCONV_FLOAT);

	if (dimensions == 2)
		return build_vector(b, s->s3, s->s1, (ptrdiff_t)s->d1, type);
	type = build_vector(b, s->d2, s->s1, (ptrdiff_t)s->d1, type);
	type = build_hvector(b, s->s3, 1, (ptrdiff_t)(s->d1 * s->d2 * FLOAT_BYTES), type);
	if (dimensions == 4)
		type = build_hvector(b, 1, 1, (ptrdiff_t)volume, type);
	return type;
}

static struct dtconv_type *wrf_subarray(struct bench_build *b, const struct hand_wrf *s,
					size_t dimensions)
{
	/* slowest index first; an array of fewer dimensions uses the tail */
	size_t sizes[] = { 2, s->d3, s->d2, s->d1 };
	size_t boxes[] = { 1, s->s3, s->d2, s->s1 };
	size_t starts[] = { 1, s->j0, 0, s->i0 };
	size_t skip = 4 - dimensions;

	if (dimensions == 2) {
		skip = 0;
		sizes[0] = s->d3;
		sizes[1] = s->d1;
		boxes[0] = s->s3;
		boxes[1] = s->s1;
		starts[0] = s->j0;
		starts[1] = s->i0;
	}
	return build_subarray(b, dimensions, sizes + skip, boxes + skip, starts + skip,
			      build_named(b, DTCONV_FLOAT));
}

static int make_wrf(struct bench_build *b, const struct bench_layout *layout, int variant,
		    size_t target, struct bench_case *c)
{
	const struct wrf_set *sets = layout->parameter & WRF_IN_Y ? wrf_y : wrf_x;
	struct hand_wrf *s = build_alloc(b, 1, sizeof(*s));
	struct dtconv_type *members[WRF_ARRAYS];
	ptrdiff_t displacements[WRF_ARRAYS];
	size_t floats = 0;
	size_t sent = 0;

	if (!s)
		return b->status;
	*s = wrf_shape(&sets[variant]);
	s->far = target > HAND_CACHED_BYTES;
	c->hand = build_loop(hand_pack_wrf, hand_unpack_wrf, s);
	for (size_t a = 0; a < WRF_ARRAYS; a++) {
		size_t dimensions = wrf_dimensions(a);

		displacements[a] = (ptrdiff_t)(floats * FLOAT_BYTES);
		if (layout->parameter & WRF_SUBARRAYS) {
			members[a] = wrf_subarray(b, s, dimensions);
		} else {
			members[a] = wrf_vector(b, s, dimensions);
			displacements[a] +=
				(ptrdiff_t)(wrf_first_float(s, dimensions) * FLOAT_BYTES);
		}
		floats += wrf_array_floats(s, dimensions);
		sent += s->s1 * s->s3 * (dimensions == 2 ? 1 : s->d2);
	}
	return build_repeat(b, c, build_struct(b, WRF_ARRAYS, displacements, members),
			    floats * FLOAT_BYTES, sent * FLOAT_BYTES, target);
}

/* ---- MILC: lattice QCD, su3 vectors of 6 floats -------------------------------------- */

static const size_t milc_sets[][4] = {
	{ 16, 16, 16, 16 },
	{ 8, 16, 16, 16 },
	{ 8, 8, 8, 16 },
	{ 8, 8, 8, 8 },
};

static int make_milc(struct bench_build *b, const struct bench_layout *layout,
		     int variant, size_t target, struct bench_case *c)
{
	const size_t *dim = milc_sets[variant];
	size_t su3 = 6 * FLOAT_BYTES;
	size_t half_plane = dim[0] * dim[1] / 2;
	size_t half_box = half_plane * dim[2];
	struct hand_nest *s = build_alloc(b, 1, sizeof(*s));
	struct dtconv_type *type = build_contiguous(b, 6, build_named(b, DTCONV_FLOAT));

	(void)layout;
	type = build_vector(b, dim[3], half_plane, (ptrdiff_t)half_box, type);
	type = build_hvector(b, 2, 1, (ptrdiff_t)(half_box * dim[3] * su3), type);
	if (s)
		*s = (struct hand_nest){ .outer_count = 2,
					 .outer_pitch = half_box * dim[3] * su3,
					 .inner_count = dim[3],
					 .inner_pitch = half_box * su3,
					 .run_bytes = half_plane * su3,
					 .far = target > HAND_CACHED_BYTES };
	c->hand = build_loop(hand_pack_runs, hand_unpack_runs, s);
	return build_repeat(b, c, type, 2 * half_box * dim[3] * su3,
			    2 * dim[3] * half_plane * su3, target);
}

/* ---- NAS LU: 5 doubles a grid point -------------------------------------------------- */

static const size_t lu_sets[] = { 12, 33, 64, 102, 162, 408, 1020 };

#define LU_POINT 5

static int make_lu_x(struct bench_build *b, const struct bench_layout *layout,
		     int variant, size_t target, struct bench_case *c)
{
	size_t n = lu_sets[variant];
	size_t bytes = LU_POINT * n * DOUBLE_BYTES;
	struct hand_nest *s = build_alloc(b, 1, sizeof(*s));
	struct dtconv_type *type =
		build_contiguous(b, LU_POINT * n, build_named(b, DTCONV_DOUBLE));

	(void)layout;
	if (s)
		*s = (struct hand_nest){ .outer_count = 1,
					 .inner_count = 1,
					 .run_bytes = bytes };
	c->hand = build_loop(hand_pack_runs, hand_unpack_runs, s);
	return build_repeat(b, c, type, LU_POINT * (n + 2) * (n + 2) * DOUBLE_BYTES,
			    bytes, target);
}

static int make_lu_y(struct bench_build *b, const struct bench_layout *layout,
		     int variant, size_t target, struct bench_case *c)
{
	size_t n = lu_sets[variant];
	size_t point = LU_POINT * DOUBLE_BYTES;
	struct hand_blocks *s = build_alloc(b, 1, sizeof(*s));
	struct dtconv_type *type =
		build_contiguous(b, LU_POINT, build_named(b, DTCONV_DOUBLE));

	(void)layout;
	type = build_vector(b, n, 1, (ptrdiff_t)(n + 2), type);
	if (s)
		*s = (struct hand_blocks){ .count = n,
					   .pitch = (n + 2) * point,
					   .beyond_l1 = target > HAND_FIRST_CACHE_BYTES };
	c->hand = build_loop(hand_pack_blocks40, hand_unpack_blocks40, s);
	return build_repeat(b, c, type, (n + 2) * (n + 2) * point, n * point, target);
}

/* ---- NAS MG: faces of a 3-D grid of doubles ------------------------------------------ */

static const size_t mg_sets[][3] = {
	{ 34, 18, 18 },
	{ 130, 66, 66 },
	{ 258, 130, 130 },
	{ 514, 258, 258 },
};

enum mg_face { MG_X, MG_Y, MG_Z };

static int make_mg_x(struct bench_build *b, const size_t *dim, struct hand_nest *s,
		     size_t target, struct bench_case *c)
{
	size_t row = dim[0] * DOUBLE_BYTES;
	struct dtconv_type *type = build_vector(b, dim[1] - 2, 1, (ptrdiff_t)dim[0],
						build_named(b, DTCONV_DOUBLE));

	type = build_hvector(b, dim[2] - 2, 1, (ptrdiff_t)(row * dim[1]), type);
	*s = (struct hand_nest){ .outer_count = dim[2] - 2,
				 .outer_pitch = row * dim[1],
				 .inner_count = dim[1] - 2,
				 .inner_pitch = row };
	c->hand = build_loop(hand_pack_nest8, hand_unpack_nest8, s);
	return build_repeat(b, c, type, row * dim[1] * dim[2],
			    (dim[1] - 2) * (dim[2] - 2) * DOUBLE_BYTES, target);
}

/* Runs along x: one a plane (y) or one a row of a plane (z). */
static int make_mg_runs(struct bench_build *b, const size_t *dim, size_t count,
			size_t pitch, struct hand_nest *s, size_t target,
			struct bench_case *c)
{
	size_t run = (dim[0] - 2) * DOUBLE_BYTES;
	struct dtconv_type *type = build_vector(b, count, dim[0] - 2, (ptrdiff_t)pitch,
						build_named(b, DTCONV_DOUBLE));

	*s = (struct hand_nest){ .outer_count = 1,
				 .inner_count = count,
				 .inner_pitch = pitch * DOUBLE_BYTES,
				 .run_bytes = run };
	c->hand = build_loop(hand_pack_runs, hand_unpack_runs, s);
	return build_repeat(b, c, type, dim[0] * dim[1] * dim[2] * DOUBLE_BYTES,
			    count * run, target);
}

static int make_mg(struct bench_build *b, const struct bench_layout *layout, int variant,
		   size_t target, struct bench_case *c)
{
	const size_t *dim = mg_sets[variant];
	struct hand_nest *s = build_alloc(b, 1, sizeof(*s));

	if (!s)
		return b->status;
	switch ((enum mg_face)layout->parameter) {
	case MG_X:
		return make_mg_x(b, dim, s, target, c);
	case MG_Y:
		return make_mg_runs(b, dim, dim[2] - 2, dim[0] * dim[1], s, target, c);
	case MG_Z:
		return make_mg_runs(b, dim, dim[1] - 2, dim[0], s, target, c);
	}
	return DTCONV_ERR_INVAL;
}

/* ---- LAMMPS: atoms picked at random -------------------------------------------------- */

struct lammps_set {
	size_t picked, atoms;
};

static const struct lammps_set lammps_full[] = { { 3062, 3534 },
						 { 2243, 2597 },
						 { 1662, 1907 } };
static const struct lammps_set lammps_atomic[] = { { 243, 4084 },
						   { 145, 2157 },
						   { 114, 1217 } };

#define LAMMPS_FULL_SCALARS   5
#define LAMMPS_ATOMIC_SCALARS 3

/* The shape and its list in one allocation, so that one free releases both. */
static uint32_t *copy_list(uint32_t *room, const uint32_t *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		room[i] = list[i];
	return room;
}

static struct dtconv_type *lammps_type(struct bench_build *b, const struct hand_atoms *s)
{
	struct dtconv_type *members[1 + LAMMPS_FULL_SCALARS];
	ptrdiff_t displacements[1 + LAMMPS_FULL_SCALARS];

	members[0] = build_picked(b, s->pick.count, 3, s->pick.list,
				  build_named(b, DTCONV_DOUBLE));
	displacements[0] = 0;
	for (size_t a = 1; a <= s->scalars; a++) {
		members[a] = build_picked(b, s->pick.count, 1, s->pick.list,
					  build_named(b, DTCONV_DOUBLE));
		displacements[a] = (ptrdiff_t)((2 + a) * s->atoms * DOUBLE_BYTES);
	}
	return build_struct(b, 1 + s->scalars, displacements, members);
}

static int make_lammps(struct bench_build *b, const struct bench_layout *layout,
		       int variant, size_t target, struct bench_case *c)
{
	size_t scalars = layout->parameter;
	const struct lammps_set *set =
		&(scalars == LAMMPS_FULL_SCALARS ? lammps_full : lammps_atomic)[variant];
	uint32_t *list = bench_random_list(b, set->picked, set->atoms, false);
	struct hand_atoms *s =
		build_alloc(b, 1, sizeof(*s) + set->picked * sizeof(uint32_t));
	size_t entries = set->atoms + set->picked;

	c->hand = build_loop(hand_pack_atoms, hand_unpack_atoms, s);
	if (b->status) {
		free(list);
		return b->status;
	}
	*s = (struct hand_atoms){ .pick = { .count = set->picked,
					    .list = copy_list((uint32_t *)(s + 1), list,
							      set->picked) },
				  .atoms = entries,
				  .scalars = scalars };
	free(list);
	return build_repeat(b, c, lammps_type(b, s),
			    (3 + scalars) * entries * DOUBLE_BYTES,
			    (3 + scalars) * set->picked * DOUBLE_BYTES, target);
}

/* ---- SPECFEM3D: seismic waves, float ------------------------------------------------- */

static const size_t specfem_oc[][2] = {
	{ 3225, 88881 },
	{ 1897, 38585 },
	{ 877, 12857 },
	{ 493, 3697 },
};

static int make_specfem_oc(struct bench_build *b, const struct bench_layout *layout,
			   int variant, size_t target, struct bench_case *c)
{
	size_t count = specfem_oc[variant][0];
	size_t points = specfem_oc[variant][1];
	uint32_t *list = bench_random_list(b, count, points, false);
	struct hand_gather *s = build_alloc(b, 1, sizeof(*s) + count * sizeof(uint32_t));

	(void)layout;
	c->hand = build_loop(hand_pack_gather4, hand_unpack_gather4, s);
	if (!b->status)
		*s = (struct hand_gather){ .count = count,
					   .list = copy_list((uint32_t *)(s + 1), list,
							     count) };
	free(list);
	if (b->status)
		return b->status;
	return build_repeat(
		b, c, build_picked(b, count, 1, s->list, build_named(b, DTCONV_FLOAT)),
		points * FLOAT_BYTES, count * FLOAT_BYTES, target);
}

struct specfem_cm_set {
	size_t cm_count, ic_count, cm_points, ic_points;
};

static const struct specfem_cm_set specfem_cm[] = {
	{ 11797, 3009, 834917, 51153 },
	{ 7125, 1729, 396849, 22477 },
	{ 3801, 801, 152001, 7209 },
	{ 1957, 245, 39929, 1225 },
};

#define POINT_FLOATS 3
#define POINT_BYTES  (POINT_FLOATS * FLOAT_BYTES)

static struct hand_gather_two *specfem_cm_shape(struct bench_build *b,
						const struct specfem_cm_set *set)
{
	uint32_t *cm = bench_random_list(b, set->cm_count, set->cm_points, false);
	uint32_t *ic = bench_random_list(b, set->ic_count, set->ic_points, false);
	size_t lists = (set->cm_count + set->ic_count) * sizeof(uint32_t);
	struct hand_gather_two *s = build_alloc(b, 1, sizeof(*s) + lists);

	if (!b->status) {
		uint32_t *room = (uint32_t *)(s + 1);

		s->first = (struct hand_gather){ set->cm_count,
						 copy_list(room, cm, set->cm_count) };
		s->other = (struct hand_gather){
			set->ic_count, copy_list(room + set->cm_count, ic, set->ic_count)
		};
		s->second = set->cm_points * POINT_BYTES;
	}
	free(cm);
	free(ic);
	return s;
}

static int make_specfem_cm(struct bench_build *b, const struct bench_layout *layout,
			   int variant, size_t target, struct bench_case *c)
{
	const struct specfem_cm_set *set = &specfem_cm[variant];
	struct hand_gather_two *s = specfem_cm_shape(b, set);
	struct dtconv_type *members[2];
	ptrdiff_t displacements[2] = { 0, (ptrdiff_t)(set->cm_points * POINT_BYTES) };

	(void)layout;
	c->hand = build_loop(hand_pack_points12_two, hand_unpack_points12_two, s);
	if (b->status)
		return b->status;
	members[0] = build_picked(b, set->cm_count, POINT_FLOATS, s->first.list,
				  build_named(b, DTCONV_FLOAT));
	members[1] = build_picked(b, set->ic_count, POINT_FLOATS, s->other.list,
				  build_named(b, DTCONV_FLOAT));
	return build_repeat(b, c, build_struct(b, 2, displacements, members),
			    (set->cm_points + set->ic_points) * POINT_BYTES,
			    (set->cm_count + set->ic_count) * POINT_BYTES, target);
}

static const size_t specfem_mt[] = { 7600, 6400, 5600, 6200 };

static int make_specfem_mt(struct bench_build *b, const struct bench_layout *layout,
			   int variant, size_t target, struct bench_case *c)
{
	size_t count = specfem_mt[variant];
	struct hand_blocks *s = build_alloc(b, 1, sizeof(*s));
	struct dtconv_type *type =
		build_contiguous(b, POINT_FLOATS, build_named(b, DTCONV_FLOAT));

	(void)layout;
	type = build_vector(b, count, 1, 2, type);
	if (s)
		*s = (struct hand_blocks){ .count = count, .pitch = 2 * POINT_BYTES };
	c->hand = build_loop(hand_pack_blocks12, hand_unpack_blocks12, s);
	return build_repeat(b, c, type, 2 * count * POINT_BYTES, count * POINT_BYTES,
			    target);
}

/* ---- FFT: transpose of an N x N matrix of complex numbers between two processes ------ */

static const size_t fft_sets[] = { 256, 512, 768, 1024, 1536 };

/* The smallest scaled row is a matrix of its own: half of 64 x 64. */
#define FFT_SMALL       64
#define FFT_SMALL_BYTES (FFT_SMALL / 2 * FFT_SMALL / 2 * COMPLEX_BYTES)

static size_t fft_n(int variant, size_t target)
{
	return target && target <= FFT_SMALL_BYTES ? FFT_SMALL : fft_sets[variant];
}

static struct dtconv_type *complex_type(struct bench_build *b)
{
	return build_named(b, DTCONV_C_DOUBLE_COMPLEX);
}

static int make_fft_gather(struct bench_build *b, const struct bench_layout *layout,
			   int variant, size_t target, struct bench_case *c)
{
	size_t n = fft_n(variant, target);
	size_t half = n / 2;
	struct hand_nest *s = build_alloc(b, 1, sizeof(*s));
	struct dtconv_type *type =
		build_vector(b, half, half, (ptrdiff_t)n, complex_type(b));

	(void)layout;
	type = build_resized(b, type, 0, half * COMPLEX_BYTES);
	if (s)
		*s = (struct hand_nest){ .outer_count = 1,
					 .inner_count = half,
					 .inner_pitch = n * COMPLEX_BYTES,
					 .run_bytes = half * COMPLEX_BYTES };
	c->hand = build_loop(hand_pack_runs, hand_unpack_runs, s);
	return build_repeat(b, c, type, half * n * COMPLEX_BYTES,
			    half * half * COMPLEX_BYTES, target);
}

static int make_fft_scatter(struct bench_build *b, const struct bench_layout *layout,
			    int variant, size_t target, struct bench_case *c)
{
	size_t n = fft_n(variant, target);
	size_t half = n / 2;
	struct hand_columns *s = build_alloc(b, 1, sizeof(*s));
	struct dtconv_type *type =
		build_vector(b, half, 1, (ptrdiff_t)n, complex_type(b));

	(void)layout;
	type = build_contiguous(b, half, build_resized(b, type, 0, COMPLEX_BYTES));
	if (s)
		*s = (struct hand_columns){ .rows = half, .columns = half, .pitch = n };
	c->hand = build_loop(hand_pack_columns16, hand_unpack_columns16, s);
	return build_repeat(b, c, type, half * n * COMPLEX_BYTES,
			    half * half * COMPLEX_BYTES, target);
}

#define APP BENCH_SIZE_APP
/* one parameter set alone is larger than 16 KiB */
#define FROM_256K (BENCH_SIZES_TO_64M & ~(unsigned)BENCH_SIZE_16K)

/* name, make, sizes, parameter sets, the set that scaled rows repeat, parameter */
const struct bench_layout bench_layouts_applications[] = {
	{ "WRF_x_vec", make_wrf, APP | FROM_256K, 3, 2, 0 },
	{ "WRF_x_sa", make_wrf, APP | FROM_256K, 3, 2, WRF_SUBARRAYS },
	{ "WRF_y_vec", make_wrf, APP | FROM_256K, 5, 4, WRF_IN_Y },
	{ "WRF_y_sa", make_wrf, APP | FROM_256K, 5, 4, WRF_IN_Y | WRF_SUBARRAYS },
	{ "MILC_su3_zd", make_milc, APP | BENCH_SIZES_TO_64M, 4, 3, 0 },
	{ "NAS_LU_x", make_lu_x, APP | BENCH_SIZES_TO_4M, 7, 3, 0 },
	{ "NAS_LU_y", make_lu_y, APP | BENCH_SIZES_TO_4M, 7, 2, 0 },
	{ "NAS_MG_x", make_mg, APP | BENCH_SIZE_256K | BENCH_SIZE_4M, 4, 1, MG_X },
	{ "NAS_MG_y", make_mg, APP | BENCH_SIZE_256K | BENCH_SIZE_4M, 4, 1, MG_Y },
	{ "NAS_MG_z", make_mg, APP | BENCH_SIZE_256K | BENCH_SIZE_4M, 4, 1, MG_Z },
	{ "LAMMPS_full", make_lammps, APP | FROM_256K, 3, 2, LAMMPS_FULL_SCALARS },
	{ "LAMMPS_atomic", make_lammps, APP | BENCH_SIZES_TO_64M, 3, 2,
	  LAMMPS_ATOMIC_SCALARS },
	{ "SPECFEM3D_oc", make_specfem_oc, APP | BENCH_SIZES_TO_64M, 4, 2, 0 },
	{ "SPECFEM3D_cm", make_specfem_cm, APP | FROM_256K, 4, 3, 0 },
	{ "SPECFEM3D_mt", make_specfem_mt, APP | FROM_256K, 4, 0, 0 },
	{ "FFT_gather", make_fft_gather, APP | BENCH_SIZES_TO_64M, 5, 0, 0 },
	{ "FFT_scatter", make_fft_scatter, APP | BENCH_SIZES_TO_64M, 5, 0, 0 },
	{ 0 },
};
