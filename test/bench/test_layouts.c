/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bench's layouts: packed sizes against the list in doc/performance.md, and for every row
 * that is small enough, type, hand loop and both oracles against each other.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "bench/harness/arena.h"
#include "bench/harness/engine.h"
#include "bench/harness/lines.h"
#include "bench/harness/oracle.h"
#include "bench/harness/verify.h"
#include "bench/layouts/layout.h"
#include "support/t.h"

#define WHY_ROOM 512

static const struct bench_layout *find(const char *name)
{
	static const struct bench_layout *const tables[] = { bench_layouts_applications,
							     bench_layouts_classic };

	for (size_t t = 0; t < 2; t++)
		for (const struct bench_layout *l = tables[t]; l->name; l++)
			if (!strcmp(l->name, name))
				return l;
	ck_abort_msg("there is no layout %s", name);
	return NULL;
}

static void make(struct bench_case *c, const char *name, int variant,
		 enum bench_size size)
{
	char why[WHY_ROOM] = "";

	ck_assert_msg(!bench_case_make(t_context, 1, find(name), variant, size, c, why,
				       sizeof(why)),
		      "%s.%d: %s", name, variant, why);
}

static size_t packed_bytes(const char *name, int variant, enum bench_size size)
{
	struct bench_case c;
	size_t bytes;

	make(&c, name, variant, size);
	bytes = c.bytes;
	bench_case_release(&c);
	return bytes;
}

/* ---- packed sizes -------------------------------------------------------------------- */

static const struct {
	const char *name;
	size_t bytes[7];
} application_sizes[] = {
	{ "WRF_x_vec", { 173712, 102648, 63168 } },
	{ "WRF_x_sa", { 173712, 102648, 63168 } },
	{ "WRF_y_vec", { 90804, 75012, 63168, 55272, 43428 } },
	{ "WRF_y_sa", { 90804, 75012, 63168, 55272, 43428 } },
	{ "MILC_su3_zd", { 98304, 49152, 24576, 12288 } },
	{ "NAS_LU_x", { 480, 1320, 2560, 4080, 6480, 16320, 40800 } },
	{ "NAS_LU_y", { 480, 1320, 2560, 4080, 6480, 16320, 40800 } },
	{ "NAS_MG_x", { 2048, 32768, 131072, 524288 } },
	{ "NAS_MG_y", { 4096, 65536, 262144, 1048576 } },
	{ "NAS_MG_z", { 4096, 65536, 262144, 1048576 } },
	{ "LAMMPS_full", { 64 * 3062, 64 * 2243, 64 * 1662 } },
	{ "LAMMPS_atomic", { 48 * 243, 48 * 145, 48 * 114 } },
	{ "SPECFEM3D_oc", { 4 * 3225, 4 * 1897, 4 * 877, 4 * 493 } },
	{ "SPECFEM3D_cm",
	  { 12 * (11797 + 3009), 12 * (7125 + 1729), 12 * (3801 + 801),
	    12 * (1957 + 245) } },
	{ "SPECFEM3D_mt", { 12 * 7600, 12 * 6400, 12 * 5600, 12 * 6200 } },
	{ "FFT_gather",
	  { 16 * 128 * 128, 16 * 256 * 256, 16 * 384 * 384, 16 * 512 * 512,
	    16 * 768 * 768 } },
	{ "FFT_scatter",
	  { 16 * 128 * 128, 16 * 256 * 256, 16 * 384 * 384, 16 * 512 * 512,
	    16 * 768 * 768 } },
};

#define APPLICATIONS (int)(sizeof(application_sizes) / sizeof(*application_sizes))

START_TEST(applications_have_their_packed_sizes)
{
	const char *name = application_sizes[_i].name;
	const struct bench_layout *layout = find(name);

	for (int v = 0; v < layout->variants; v++) {
		size_t bytes = packed_bytes(name, v, BENCH_SIZE_APP);

		ck_assert_msg(bytes == application_sizes[_i].bytes[v],
			      "%s.%d: %zu, not %zu", name, v, bytes,
			      application_sizes[_i].bytes[v]);
	}
	ck_assert(layout->variants == 7 ||
		  !application_sizes[_i].bytes[layout->variants]);
}
END_TEST

START_TEST(every_application_is_in_the_list)
{
	int count = 0;

	while (bench_layouts_applications[count].name)
		count++;
	ck_assert_int_eq(count, APPLICATIONS);
}
END_TEST

static const struct {
	const char *name;
	size_t bytes[3]; /* at 16 KiB, 256 KiB, 4 MiB */
} classic_sizes[] = {
	{ "vec4", { 16384, 262144, 4194304 } },
	{ "vec8", { 16384, 262144, 4194304 } },
	{ "vec16", { 16384, 262144, 4194304 } },
	{ "vec64", { 16384, 262144, 4194304 } },
	{ "vec256", { 16384, 262144, 4194304 } },
	{ "vec4k", { 16384, 262144, 4194304 } },
	{ "vec8_count", { 16384, 262144, 4194304 } },
	{ "matcol", { 16384, 262144, 4194304 } },
	{ "transpose", { 44 * 44 * 8, 180 * 180 * 8, 724 * 724 * 8 } },
	{ "xface", { 46 * 46 * 8, 182 * 182 * 8, 8 * 256 * 256 * 8 } },
	{ "yface", { 46 * 46 * 8, 182 * 182 * 8, 8 * 256 * 256 * 8 } },
	{ "zface", { 46 * 46 * 8, 182 * 182 * 8, 8 * 256 * 256 * 8 } },
	{ "xhalo2", { 16384, 262144, 4194304 } },
	{ "yhalo2", { 16384, 262144, 4194304 } },
	{ "zhalo2", { 16384, 262144, 4194304 } },
	{ "lower_tri", { 64 * 65 * 4, 256 * 257 * 4, 1024 * 1025 * 4 } },
	{ "gather8_random", { 16384, 262144, 4194304 } },
	{ "gather8_sorted", { 16384, 262144, 4194304 } },
	{ "struct_mixed", { 16384 / 19 * 19, 262144 / 19 * 19, 4194304 / 19 * 19 } },
	{ "aos4of32", { 16384, 262144, 4194304 } },
	{ "aos12of48", { 16384 / 12 * 12, 262144 / 12 * 12, 4194304 / 12 * 12 } },
	{ "hindexed_1_64", { 0, 0, 0 } }, /* random, near the size */
	{ "struct_of_vec",
	  { 16384 / 212 * 212, 262144 / 212 * 212, 4194304 / 212 * 212 } },
	{ "darray_cyclic8", { 40 * 40 * 8, 176 * 176 * 8, 720 * 720 * 8 } },
};

#define CLASSICS (int)(sizeof(classic_sizes) / sizeof(*classic_sizes))

START_TEST(classics_have_their_packed_sizes)
{
	static const enum bench_size sizes[] = { BENCH_SIZE_16K, BENCH_SIZE_256K,
						 BENCH_SIZE_4M };
	const char *name = classic_sizes[_i].name;

	for (size_t k = 0; k < 3; k++) {
		size_t target = bench_size_bytes(sizes[k]);
		size_t bytes = packed_bytes(name, -1, sizes[k]);
		size_t expected = classic_sizes[_i].bytes[k];

		if (expected)
			ck_assert_msg(bytes == expected, "%s: %zu, not %zu", name, bytes,
				      expected);
		else
			ck_assert_msg(bytes > target / 2 && bytes < 2 * target, "%s: %zu",
				      name, bytes);
	}
}
END_TEST

START_TEST(every_classic_is_in_the_list)
{
	int count = 0;

	while (bench_layouts_classic[count].name)
		count++;
	ck_assert_int_eq(count, CLASSICS);
}
END_TEST

/* Scaled rows repeat one set until it is within a factor of the size. */
START_TEST(scaled_applications_are_near_their_size)
{
	const struct bench_layout *layout = &bench_layouts_applications[_i];

	for (unsigned size = BENCH_SIZE_16K; size <= BENCH_SIZE_4M; size <<= 1) {
		size_t target = bench_size_bytes((enum bench_size)size);
		size_t bytes;

		if (!(layout->sizes & size))
			continue;
		bytes = packed_bytes(layout->name, -1, (enum bench_size)size);
		ck_assert_msg(bytes >= target * 2 / 3 && bytes <= target * 3 / 2,
			      "%s: %zu for %zu", layout->name, bytes, target);
	}
}
END_TEST

/* ---- bytes --------------------------------------------------------------------------- */

/* Rows with more memory than this are left to the bench itself. */
#define MOST_ARENA ((size_t)48 << 20)

static void verify_engine_of(struct verify *v, struct engine *e,
			     const struct bench_case *c, struct arena *arena)
{
	ck_assert_msg(!engine_prepare(e, c, arena), "%s, %s: %s", c->name, e->name,
		      e->problem);
	for (int op = BENCH_PACK; op <= BENCH_UNPACK; op++)
		ck_assert_msg(!verify_engine(v, e, (enum bench_op)op), "%s %s, %s: %s",
			      c->name, bench_op_name((enum bench_op)op), e->name,
			      e->problem);
}

/* The plain way, and the one with all of the others' differences. */
static void verify_lines_of(struct verify *v, const struct bench_case *c,
			    struct arena *arena)
{
	for (int way = HAND_LINES_PLAIN; way < HAND_LINES_WAYS;
	     way += HAND_LINES_FETCHED_PAST) {
		struct engine e;

		engine_lines(&e, (enum hand_lines_way)way);
		if (!e.absent) {
			verify_engine_of(v, &e, c, arena);
			engine_release(&e);
		}
		engine_destroy(&e);
	}
}

/* The bench's oracle, dtconv and the hand loop agree on every byte, gaps included. */
static void verify_case(struct bench_case *c)
{
	struct engine dtconv, hand;
	struct arena arena;
	struct verify v;

	if (arena_bytes_for(c) > MOST_ARENA)
		return;
	ck_assert_int_eq(arena_create(&arena, arena_bytes_for(c)), 0);
	arena_place(&arena, c);
	t_ok(verify_create(&v, &arena, c, 7));
	ck_assert(!v.overlapping);
	engine_dtconv(&dtconv, "dtconv");
	engine_hand(&hand);
	verify_engine_of(&v, &dtconv, c, &arena);
	if (!hand.absent)
		verify_engine_of(&v, &hand, c, &arena);
	verify_lines_of(&v, c, &arena);
	verify_destroy(&v);
	arena_destroy(&arena);
}

static void verify_layout(const struct bench_layout *layout)
{
	struct bench_case c;

	for (int v = 0; layout->sizes & BENCH_SIZE_APP && v < layout->variants; v++) {
		make(&c, layout->name, v, BENCH_SIZE_APP);
		verify_case(&c);
		bench_case_release(&c);
	}
	for (unsigned size = BENCH_SIZE_16K; size <= BENCH_SIZE_256K; size <<= 1) {
		if (!(layout->sizes & size))
			continue;
		make(&c, layout->name, -1, (enum bench_size)size);
		verify_case(&c);
		bench_case_release(&c);
	}
}

START_TEST(hand_loops_of_applications_move_the_typemap)
{
	verify_layout(&bench_layouts_applications[_i]);
}
END_TEST

START_TEST(hand_loops_of_classics_move_the_typemap)
{
	verify_layout(&bench_layouts_classic[_i]);
}
END_TEST

START_TEST(hand_loops_of_small_layouts_move_the_typemap)
{
	const struct bench_layout *layout = &bench_layouts_small[_i];
	char why[WHY_ROOM];
	struct bench_case c;

	for (int v = 0; v < layout->variants; v++) {
		ck_assert_int_eq(bench_case_make(t_context, 1, layout, v, BENCH_SIZE_APP,
						 &c, why, sizeof(why)),
				 0);
		ck_assert_uint_eq(c.bytes, (size_t)8 << v);
		verify_case(&c);
		bench_case_release(&c);
	}
}
END_TEST

/* ---- the bench's oracle against the tests' ------------------------------------------- */

static const char *const oracle_texts[] = {
	"double",
	"double_int",
	"long_double_int",
	"contiguous(3, short_int)",
	"contiguous(0, int)",
	"vector(3, 2, -4, int)",
	"hvector(3, 2, 9, short)",
	"indexed([2,0,1], [4,9,-3], double_int)",
	"hindexed([2,0,1], [40,9,-3], int)",
	"indexed_block(2, [4,9,-3], resized(int, -4, 12))",
	"hindexed_block(2, [40,9,-3], vector(2, 1, 3, short))",
	"struct([1,2,0,1], [0,8,3,40], [int, double_int, char, vector(2, 1, 2, short)])",
	"struct([], [], [])",
	"subarray([4,5,6], [2,3,4], [1,1,2], c, int)",
	"subarray([4,5,6], [2,3,4], [1,1,2], fortran, int)",
	"subarray([3,4], [2,2], [1,1], c, resized(short, 0, 3))",
	"darray(6, 4, [7,9], [cyclic,block], [2,default], [3,2], c, int)",
	"darray(6, 1, [7,9], [block,cyclic], [default,default], [2,3], fortran, int)",
	"darray(4, 3, [4,3,6], [none,block,cyclic], [default,2,2], [1,2,2], c, short)",
	"darray(4, 3, [3], [block], [default], [4], c, int)",
	"resized(vector(2, 1, 2, int), -8, 4)",
	"dup(dup(int))",
	"f90_real(10, undefined)",
	"value_index(short, long)",
};

#define ORACLE_TEXTS (int)(sizeof(oracle_texts) / sizeof(*oracle_texts))

START_TEST(oracle_agrees_with_the_tests_oracle)
{
	static unsigned char user[8192], theirs[8192];
	struct dtconv_type *type = t_parse(oracle_texts[_i]);
	unsigned char ours[2048], expected[2048];
	struct ref_typemap map = { 0 };
	struct oracle *oracle;
	const size_t count = 3;

	ck_assert_int_eq(ref_typemap_build(type, DTCONV_PADDING_STRUCT, 0, &map), 0);
	t_ok(oracle_create(type, count, &oracle));
	ck_assert_uint_le(count * map.size, sizeof(ours));
	for (size_t i = 0; i < sizeof(user); i++)
		user[i] = (unsigned char)(i * 37 + i / 251);
	oracle_pack(oracle, user + 4096, ours);
	ref_typemap_pack(&map, count, user + 4096, expected);
	ck_assert_mem_eq(ours, expected, count * map.size);
	ck_assert_int_eq(oracle_compare(oracle, user + 4096, ours), -1);
	memset(user, 0xee, sizeof(user));
	memset(theirs, 0xee, sizeof(theirs));
	oracle_unpack(oracle, user + 4096, ours);
	ref_typemap_unpack(&map, count, theirs + 4096, ours, count * map.size);
	ck_assert_mem_eq(user, theirs, sizeof(user));
	oracle_destroy(oracle);
	ref_typemap_free(&map);
	dtconv_type_unref(type);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("bench layouts");
	TCase *sizes = t_case(suite, "sizes");
	TCase *bytes = t_case(suite, "bytes");
	TCase *oracle = t_case(suite, "oracle");

	tcase_add_loop_test(sizes, applications_have_their_packed_sizes, 0, APPLICATIONS);
	tcase_add_test(sizes, every_application_is_in_the_list);
	tcase_add_loop_test(sizes, classics_have_their_packed_sizes, 0, CLASSICS);
	tcase_add_test(sizes, every_classic_is_in_the_list);
	tcase_add_loop_test(sizes, scaled_applications_are_near_their_size, 0,
			    APPLICATIONS);
	tcase_set_timeout(bytes, 60);
	tcase_add_loop_test(bytes, hand_loops_of_applications_move_the_typemap, 0,
			    APPLICATIONS);
	tcase_add_loop_test(bytes, hand_loops_of_classics_move_the_typemap, 0, CLASSICS);
	tcase_add_loop_test(bytes, hand_loops_of_small_layouts_move_the_typemap, 0, 2);
	tcase_add_loop_test(oracle, oracle_agrees_with_the_tests_oracle, 0, ORACLE_TEXTS);
	return t_run(suite);
}
