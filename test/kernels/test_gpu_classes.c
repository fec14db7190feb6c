/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which class of GPU kernels takes a type, with which words, and that it moves many tiles of it as
 * the oracle does.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "kernels/gpu_moves.h"

struct expected {
	const char *text; /* NULL: a table, made up */
	size_t count;
	enum dtc_gpu_class class;
	uint32_t word;
	const char *(*make)(void);
};

/* ---- tables ------------------------------------------------------------------------------------ */

static char table_text[1 << 20];

/* "hindexed([lengths], [displacements], type)"; lengths up to @longest of a type of @unit bytes. */
static const char *table_of(const char *type, size_t unit, size_t entries, size_t longest)
{
	static size_t lengths[4096];
	struct choices choices = fixture_choices(entries);
	size_t at = 0, n;

	n = (size_t)sprintf(table_text, "hindexed([");
	for (size_t i = 0; i < entries; i++) {
		lengths[i] = 1 + choose(&choices, longest);
		n += (size_t)sprintf(table_text + n, "%s%zu", i ? "," : "", lengths[i]);
	}
	n += (size_t)sprintf(table_text + n, "], [");
	for (size_t i = 0; i < entries; i++) {
		at += unit * (1 + choose(&choices, 4));
		n += (size_t)sprintf(table_text + n, "%s%zu", i ? "," : "", at);
		at += unit * lengths[i];
	}
	sprintf(table_text + n, "], %s)", type);
	return table_text;
}

static const char *irregular_doubles(void)
{
	return table_of("double", 8, 2000, 64);
}

static const char *long_ints(void)
{
	return table_of("int", 4, 60, 2000);
}

static const char *long_doubles(void)
{
	return table_of("double", 8, 100, 600);
}

static const char *long_pairs(void)
{
	return table_of("contiguous(2, double)", 16, 50, 400);
}

static const char *irregular_ints(void)
{
	return table_of("int", 4, 3000, 5);
}

static const char *irregular_bytes(void)
{
	return table_of("byte", 1, 3000, 9);
}

static const char *irregular_pairs(void)
{
	return table_of("contiguous(2, double)", 16, 900, 20);
}

static const char *single_doubles(void)
{
	return table_of("double", 8, 4000, 1);
}

static const char *single_shorts(void)
{
	return table_of("short", 2, 4000, 1);
}

static const char *short_table(void)
{
	return table_of("int", 4, 200, 3);
}

static const char *short_odd_table(void)
{
	return table_of("byte", 1, 300, 5);
}

static const char *long_table(void)
{
	return table_of("int", 4, 2500, 3);
}

/* ---- what is expected -------------------------------------------------------------------------- */

static const struct expected all[] = {
	{ "contiguous(100003, byte)", 1, DTC_GPU_CLASS_STRIDED, 16, NULL },
	{ "vector(3000, 4, 8, double)", 1, DTC_GPU_CLASS_STRIDED, 16, NULL },
	{ "vector(9000, 1, 2, double)", 1, DTC_GPU_CLASS_STRIDED, 8, NULL },
	{ "vector(9000, 3, 6, int)", 1, DTC_GPU_CLASS_STRIDED, 4, NULL },
	{ "vector(300, 99, 120, int)", 2, DTC_GPU_CLASS_STRIDED, 4, NULL },
	{ "vector(9000, 1, 3, short)", 1, DTC_GPU_CLASS_STRIDED, 1, NULL },
	{ "hvector(2000, 37, 41, byte)", 2, DTC_GPU_CLASS_STRIDED, 1, NULL },
	{ "hvector(9000, 1, 3, byte)", 1, DTC_GPU_CLASS_STRIDED, 1, NULL },
	{ "vector(9000, 1, -2, double)", 1, DTC_GPU_CLASS_STRIDED, 8, NULL },
	{ "subarray([40, 50, 60], [20, 30, 31], [3, 4, 5], c, double)", 3,
	  DTC_GPU_CLASS_STRIDED, 8, NULL },
	{ "vector(4, 1, 2, vector(5, 1, 3, vector(6, 1, 4, vector(7, 1, 5, vector(8, 2, 3, "
	  "int)))))",
	  1, DTC_GPU_CLASS_STRIDED, 4, NULL },
	{ "contiguous(2000, struct([1, 3, 1], [0, 4, 20], [char, int, double]))", 1,
	  DTC_GPU_CLASS_PERIODIC, 1, NULL },
	{ "resized(struct([3, 2], [0, 20], [int, int]), 0, 48)", 3000,
	  DTC_GPU_CLASS_PERIODIC, 4, NULL },
	{ "resized(struct([2, 1], [0, 24], [double, double]), 0, 40)", 3000,
	  DTC_GPU_CLASS_PERIODIC, 8, NULL },
	{ "resized(struct([2, 4], [0, 32], [double, double]), 0, 96)", 1000,
	  DTC_GPU_CLASS_PERIODIC, 16, NULL },
	{ "vector(9, 5, 7, resized(struct([3, 1], [0, 16], [int, int]), 0, 24))", 20,
	  DTC_GPU_CLASS_PERIODIC, 4, NULL },
	{ "resized(struct([1, 1, 7], [0, 8, 16], [int, double, char]), 0, 24)", 3000,
	  DTC_GPU_CLASS_PERIODIC, 1, NULL },
	{ "resized(struct([3, 21], [1, 7], [char, char]), 0, 36)", 3000,
	  DTC_GPU_CLASS_PERIODIC, 1, NULL },
	{ "vector(9, 5, 7, resized(struct([3, 5], [1, 6], [char, char]), 0, 13))", 20,
	  DTC_GPU_CLASS_PERIODIC, 1, NULL },
	{ NULL, 1, DTC_GPU_CLASS_INDEXED, 8, single_doubles },
	{ NULL, 5, DTC_GPU_CLASS_INDEXED, 8, single_doubles },
	{ NULL, 2, DTC_GPU_CLASS_INDEXED, 1, single_shorts },
	{ NULL, 1, DTC_GPU_CLASS_INDEXED, 8, irregular_doubles },
	{ NULL, 3, DTC_GPU_CLASS_INDEXED, 8, irregular_doubles },
	{ NULL, 2, DTC_GPU_CLASS_INDEXED, 4, long_ints },
	{ NULL, 1, DTC_GPU_CLASS_INDEXED, 16, long_pairs },
	{ NULL, 3, DTC_GPU_CLASS_INDEXED, 8, long_doubles },
	{ NULL, 1, DTC_GPU_CLASS_INDEXED, 4, irregular_ints },
	{ NULL, 3, DTC_GPU_CLASS_INDEXED, 4, irregular_ints },
	{ NULL, 2, DTC_GPU_CLASS_INDEXED, 1, irregular_bytes },
	{ NULL, 1, DTC_GPU_CLASS_INDEXED, 16, irregular_pairs },
	{ NULL, 40, DTC_GPU_CLASS_INDEXED, 4, short_table },
	{ NULL, 40, DTC_GPU_CLASS_INDEXED, 1, short_odd_table },
	{ NULL, 7, DTC_GPU_CLASS_INDEXED, 4, long_table },
	{ "contiguous(150, resized(vector(170, 1, 150, double), 0, 8))", 1,
	  DTC_GPU_CLASS_TRANSPOSING, 8, NULL },
	{ "contiguous(200, resized(vector(90, 1, 200, int), 0, 4))", 1,
	  DTC_GPU_CLASS_TRANSPOSING, 4, NULL },
	{ "contiguous(200, resized(vector(90, 1, 200, short), 0, 2))", 1,
	  DTC_GPU_CLASS_TRANSPOSING, 2, NULL },
	{ "contiguous(200, resized(vector(90, 1, 200, byte), 0, 1))", 1,
	  DTC_GPU_CLASS_TRANSPOSING, 1, NULL },
	{ "contiguous(70, resized(vector(70, 2, 140, double), 0, 16))", 1,
	  DTC_GPU_CLASS_TRANSPOSING, 16, NULL },
	{ "contiguous(70, resized(vector(70, 3, 210, int), 0, 12))", 1,
	  DTC_GPU_CLASS_TRANSPOSING, 4, NULL },
	{ "contiguous(40, resized(vector(30, 1, 100, double), 0, 16))", 5,
	  DTC_GPU_CLASS_TRANSPOSING, 8, NULL },
	{ "struct([1, 1], [0, 900000], [vector(3000, 2, 5, double), vector(2000, 1, 3, int)])",
	  1, DTC_GPU_CLASS_MANY, 1, NULL },
	{ "struct([1, 1, 1], [0, 300000, 900000], [vector(3000, 2, 5, double), "
	  "indexed([1,2,1,3,1,2,1,3,4,1], [0,2,7,9,13,15,19,23,29,40], vector(3, 1, 2, int)), "
	  "contiguous(70001, byte)])",
	  1, DTC_GPU_CLASS_MANY, 1, NULL },
	{ "struct([1, 1], [0, 900000], [vector(3000, 2, 5, double), vector(2000, 1, 3, int)])",
	  2, DTC_GPU_CLASS_GENERAL, 1, NULL },
	{ "indexed([1,2,1,3,1,2,1,3,4,1], [0,2,7,9,13,15,19,23,29,40], vector(30, 1, 2, int))",
	  3, DTC_GPU_CLASS_GENERAL, 1, NULL },
};

START_TEST(types_go_to_their_class)
{
	const struct expected *expected = &all[_i];
	struct choices choices = fixture_choices((uint64_t)_i);
	struct dtc_gpu_launch launch;
	struct dtc_gpu_part *parts;
	struct gpu_type gpu;
	struct stage stage;

	fixture_open(&stage, expected->text ? expected->text : expected->make(),
		     expected->count);
	gpu_type_open(&gpu, stage.type);
	const struct dtc_gpu_job job = { .layout = gpu.layout,
					 .count = stage.count,
					 .end = stage.bytes,
					 .direction = DTC_PACK,
					 .image = (uintptr_t)gpu.image };
	gpu_plan(&job, &launch, &parts);
	free(parts);
	ck_assert_msg(launch.class == expected->class && launch.word == expected->word,
		      "%s, words of %u", dtc_gpu_class_name(launch.class), launch.word);
	ck_assert_uint_eq(launch.bytes, stage.bytes);
	ck_assert(!launch.reason == (launch.class != DTC_GPU_CLASS_GENERAL));
	for (size_t shift = 0; shift < 16; shift += 1 + shift)
		gpu_move_whole(&stage, &gpu, shift);
	for (int round = 0; round < 4; round++)
		gpu_move_cut(&stage, &gpu, &choices);
	gpu_type_close(&gpu);
	fixture_close(&stage);
}
END_TEST

/* What a whole move is launched with; its tables are gone. */
static struct dtc_gpu_launch launch_of(const char *text, uint64_t count,
				       enum dtc_direction direction, bool near)
{
	struct dtconv_type *type = fixture_type(text);
	struct dtc_gpu_launch launch;
	struct dtc_gpu_part *parts;
	struct gpu_type gpu;

	gpu_type_open(&gpu, type);
	const struct dtc_gpu_job job = { .layout = gpu.layout,
					 .count = count,
					 .user = 4096,
					 .packed = 8192,
					 .end = gpu.layout->size * count,
					 .direction = direction,
					 .image = (uintptr_t)gpu.image,
					 .near = near };
	gpu_plan(&job, &launch, &parts);
	free(parts);
	gpu_type_close(&gpu);
	dtconv_type_unref(type);
	return launch;
}

/* Whether a launch asks for the sectors that it stores parts of. */
static bool expects(const char *text, enum dtc_direction direction, bool near)
{
	const struct dtc_gpu_launch launch = launch_of(text, 1, direction, near);

	ck_assert_int_eq(launch.class, DTC_GPU_CLASS_STRIDED);
	return launch.params.strided.nest.expects;
}

START_TEST(parts_of_sectors_are_asked_for_where_memory_is_near)
{
	ck_assert(expects("hvector(100, 40, 80, byte)", DTC_UNPACK, true));
	ck_assert(expects("hvector(100, 128, 257, byte)", DTC_UNPACK, true));
	ck_assert(!expects("hvector(100, 64, 128, byte)", DTC_UNPACK, true));
	ck_assert(!expects("hvector(100, 40, 80, byte)", DTC_PACK, true));
	ck_assert(!expects("hvector(100, 40, 80, byte)", DTC_UNPACK, false));
	ck_assert(!expects("contiguous(1000, byte)", DTC_UNPACK, true));
}
END_TEST

/* Words of the user's side that unpacking is shared out by. */
static uint32_t share_word(const char *text)
{
	const struct dtc_gpu_launch launch = launch_of(text, 100, DTC_UNPACK, false);

	ck_assert_int_eq(launch.class, DTC_GPU_CLASS_PERIODIC);
	return launch.params.periodic.share_word;
}

START_TEST(odd_runs_are_unpacked_in_words_that_periods_share)
{
	ck_assert_uint_eq(share_word("resized(struct([3, 5], [1, 6], [char, char]), 0, 24)"), 8);
	ck_assert_uint_eq(share_word("resized(struct([3, 5], [1, 6], [char, char]), 0, 12)"), 4);
	ck_assert_uint_eq(share_word("resized(struct([3, 5], [1, 6], [char, char]), 0, 14)"), 0);
	ck_assert_uint_eq(share_word("resized(struct([1, 3], [0, 8], [int, int]), 0, 24)"), 0);
}
END_TEST

/* ---- compact kernels --------------------------------------------------------------------------- */

#define SHORT_BLOCKS "65535"  /* of 64 bytes: less than 4 MiB */
#define LONG_BLOCKS  "600000" /* of 64 bytes: more than 32 MiB */

static const struct {
	const char *text;
	enum dtc_direction direction;
	const char *kernel;
	uint32_t words; /* a thread; 0: no compact kernel */
} strided[] = {
	{ "hvector(" SHORT_BLOCKS ", 64, 128, byte)", DTC_PACK, "dtc_gpu_rows_pack_16",
	  1 },
	{ "hvector(" SHORT_BLOCKS ", 64, 128, byte)", DTC_UNPACK,
	  "dtc_gpu_rows_unpack_16", 1 },
	{ "hvector(" SHORT_BLOCKS ", 72, 144, byte)", DTC_PACK, "dtc_gpu_rows_pack_8",
	  4 },
	{ "hvector(65536, 64, 128, byte)", DTC_PACK, "dtc_gpu_rows_pack_16", 4 },
	{ "hvector(65536, 64, 128, byte)", DTC_UNPACK, "dtc_gpu_rows_unpack_16", 4 },
	{ "hvector(" LONG_BLOCKS ", 64, 128, byte)", DTC_UNPACK, "dtc_gpu_rows_unpack_16",
	  1 },
	{ "hvector(" LONG_BLOCKS ", 72, 144, byte)", DTC_PACK, "dtc_gpu_rows_pack_8", 2 },
	{ "hvector(" LONG_BLOCKS ", 76, 152, byte)", DTC_PACK, "dtc_gpu_rows_pack_4", 4 },
	{ "contiguous(4096, byte)", DTC_PACK, "dtc_gpu_rows_pack_16", 1 },
	{ "subarray([9,9,9], [5,4,3], [1,2,3], c, double)", DTC_UNPACK,
	  "dtc_gpu_rows_unpack_8", 2 },
	{ "subarray([9,9,9,9], [5,4,3,2], [1,2,3,4], c, double)", DTC_UNPACK,
	  "dtc_gpu_strided_unpack_8", 0 },
	{ "hvector(1000, 128, 257, byte)", DTC_UNPACK, "dtc_gpu_rows_unpack_1", 8 },
	{ "hvector(1000, 128, 257, byte)", DTC_PACK, "dtc_gpu_strided_pack_1", 0 },
	{ "hvector(" LONG_BLOCKS ", 31, 41, byte)", DTC_UNPACK, "dtc_gpu_rows_unpack_1",
	  8 },
	{ "hvector(" LONG_BLOCKS ", 31, 41, byte)", DTC_PACK, "dtc_gpu_staged_pack", 0 },
	{ "hvector(200000, 31, 41, byte)", DTC_PACK, "dtc_gpu_strided_pack_1", 0 },
	{ "hvector(" LONG_BLOCKS ", 33, 41, byte)", DTC_PACK, "dtc_gpu_strided_pack_1",
	  0 },
	{ "hvector(" LONG_BLOCKS ", 17, 30, byte)", DTC_PACK, "dtc_gpu_strided_pack_1",
	  0 },
	{ "hvector(1000, 512, 1025, byte)", DTC_UNPACK, "dtc_gpu_strided_unpack_1", 0 },
	{ "hvector(1000, 512, 1026, byte)", DTC_UNPACK, "dtc_gpu_rows_unpack_2", 8 },
	{ "hvector(1000, 8192, 16386, byte)", DTC_UNPACK, "dtc_gpu_strided_unpack_1", 0 },
};

START_TEST(plain_strided_jobs_go_to_compact_kernels)
{
	const struct dtc_gpu_launch launch =
		launch_of(strided[_i].text, 1, strided[_i].direction, false);

	ck_assert_int_eq(launch.class, DTC_GPU_CLASS_STRIDED);
	ck_assert_str_eq(dtc_gpu_kernel_name(launch.kernel), strided[_i].kernel);
	if (strided[_i].words)
		ck_assert_uint_eq(launch.params.rows.words, strided[_i].words);
}
END_TEST

/* 19 of 24 bytes. */
static const char record[] =
	"resized(struct([1, 1, 7], [0, 8, 16], [int, double, char]), 0, 24)";

/* The kernel of a period of bytes. */
static const char *period_kernel(const char *text, enum dtc_direction direction)
{
	const struct dtc_gpu_launch launch = launch_of(text, 600000, direction, false);

	ck_assert_int_eq(launch.class, DTC_GPU_CLASS_PERIODIC);
	return dtc_gpu_kernel_name(launch.kernel);
}

START_TEST(long_streams_of_short_runs_are_staged)
{
	const char *odd_record =
		"resized(hindexed([3, 5, 7, 9], [0, 4, 12, 21], byte), 0, 33)";
	const char *long_runs = "resized(hindexed([600, 7], [0, 601], byte), 0, 611)";

	ck_assert_str_eq(period_kernel(record, DTC_PACK), "dtc_gpu_staged_pack");
	ck_assert_str_eq(period_kernel(record, DTC_UNPACK), "dtc_gpu_staged_unpack");
	ck_assert_str_eq(period_kernel(odd_record, DTC_PACK), "dtc_gpu_staged_pack");
	ck_assert_str_eq(period_kernel(odd_record, DTC_UNPACK), "dtc_gpu_staged_unpack");
	ck_assert_str_eq(period_kernel(long_runs, DTC_PACK), "dtc_gpu_periodic_pack_1");
	ck_assert_str_eq(period_kernel(long_runs, DTC_UNPACK),
			 "dtc_gpu_periodic_unpack_1");
}
END_TEST

/* Packed in pieces; unpacked in tiles of a quarter of the length, so that there are enough. */
START_TEST(shorter_streams_are_staged_for_unpacking)
{
	static const struct {
		size_t count;
		enum dtc_direction direction;
		const char *kernel;
		uint32_t periods; /* of a tile, if it is staged */
	} cases[] = {
		{ 27000, DTC_UNPACK, "dtc_gpu_periodic_unpack_1", 0 },
		{ 28000, DTC_UNPACK, "dtc_gpu_staged_unpack", 4096 / 24 },
		{ 441000, DTC_UNPACK, "dtc_gpu_staged_unpack", 4096 / 24 },
		{ 442000, DTC_UNPACK, "dtc_gpu_staged_unpack", 16384 / 24 },
		{ 441000, DTC_PACK, "dtc_gpu_periodic_pack_1", 0 },
		{ 442000, DTC_PACK, "dtc_gpu_staged_pack", 16384 / 24 },
	};
	const struct dtc_gpu_launch launch =
		launch_of(record, cases[_i].count, cases[_i].direction, false);

	ck_assert_str_eq(dtc_gpu_kernel_name(launch.kernel), cases[_i].kernel);
	if (cases[_i].periods)
		ck_assert_uint_eq(launch.params.staged.tile_periods, cases[_i].periods);
}
END_TEST

START_TEST(jobs_that_are_cut_inside_words_do_not)
{
	struct dtc_gpu_launch launch;
	struct dtc_gpu_part *parts;
	struct gpu_type gpu;
	struct dtconv_type *type = fixture_type("hvector(1000, 64, 128, byte)");

	gpu_type_open(&gpu, type);
	struct dtc_gpu_job job = { .layout = gpu.layout,
				   .count = 1,
				   .user = 4096,
				   .packed = 8192,
				   .begin = 64,
				   .end = 128 + 17,
				   .direction = DTC_PACK };
	gpu_plan(&job, &launch, &parts);
	ck_assert_str_eq(dtc_gpu_kernel_name(launch.kernel), "dtc_gpu_strided_pack_16");
	job.end--;
	gpu_plan(&job, &launch, &parts);
	ck_assert_str_eq(dtc_gpu_kernel_name(launch.kernel), "dtc_gpu_rows_pack_16");
	gpu_type_close(&gpu);
	dtconv_type_unref(type);
}
END_TEST

/* ---- maps -------------------------------------------------------------------------------------- */

#define MIB (UINT64_C(1) << 20)

/* A job of a type that may have a map; so much of it, aligned to @aligned bytes. */
static struct dtc_gpu_job mapped_job(const struct gpu_type *gpu, uint64_t bytes,
				     uint64_t aligned, enum dtc_direction direction)
{
	uint64_t size = gpu->layout->size;

	return (struct dtc_gpu_job){ .layout = gpu->layout,
				     .count = (bytes + size - 1) / size,
				     .user = 4096 + aligned,
				     .packed = 8192,
				     .end = bytes ? bytes / 16 * 16 : size,
				     .direction = direction,
				     .image = (uintptr_t)gpu->image,
				     .local = true,
				     .map_state = DTC_GPU_MAP_OPEN };
}

/* What the class is asked for, and in which units; 0: no map is asked for. */
static const struct {
	const char *text; /* NULL: a table, made up */
	const char *(*make)(void);
	uint64_t aligned;
	uint32_t unit;
} asked[] = {
	{ NULL, single_doubles, 0, 8 },
	{ NULL, single_doubles, 4, 4 },
	{ NULL, single_doubles, 2, 0 },
	{ NULL, irregular_doubles, 0, 8 },
	{ NULL, irregular_pairs, 0, 16 },
	{ NULL, irregular_bytes, 0, 0 },
	{ NULL, single_shorts, 0, 0 },
	{ "vector(9000, 1, 2, double)", NULL, 0, 0 },
	{ "contiguous(150, resized(vector(170, 1, 150, double), 0, 8))", NULL, 0, 0 },
	/* Periods: once, of words in one loop, in two, and of bytes. */
	{ "resized(struct([3, 2], [0, 20], [int, int]), 0, 48)", NULL, 0, 0 },
	{ "contiguous(99, resized(struct([3, 2], [0, 20], [int, int]), 0, 48))", NULL, 0,
	  4 },
	{ "contiguous(99, resized(vector(99, 1, 2, resized(struct([3, 2], [0, 20], [int, int]), 0, 48)), 0, 9600))",
	  NULL, 0, 0 },
	{ "contiguous(99, resized(struct([3, 2], [0, 20], [short, int]), 0, 48))", NULL,
	  0, 0 },
	{ "struct([1, 1], [0, 900000], [vector(3000, 2, 5, double), vector(2000, 1, 3, int)])",
	  NULL, 0, 4 },
	{ "indexed([1,2,1,3,1,2,1,3,4,1], [0,2,7,9,13,15,19,23,29,40], vector(30, 1, 2, int))",
	  NULL, 0, 4 },
	/* A struct of nests, one of tables, and long blocks: as long as a map may be that starts sooner, and longer. */
	{ "struct([1, 1], [0, 90000000], [vector(200000, 1, 2, int), vector(62144, 1, 3, int)])",
	  NULL, 0, 4 },
	{ "struct([1, 1], [0, 90000000], [vector(200000, 1, 2, int), vector(62145, 1, 3, int)])",
	  NULL, 0, 0 },
	{ "struct([1, 1], [0, 90000000], [vector(200000, 1, 2, int), "
	  "indexed_block(1, [0,2,4,7,9,11,13,17,19,25,27], vector(99999, 1, 2, int))])",
	  NULL, 0, 4 },
	{ "indexed_block(20000, [0, 30000, 70000, 90000, 120000, 150000, 180000, 200001, 230000, "
	  "270000, 300000, 320000, 350000], double)",
	  NULL, 0, 8 },
	{ "indexed_block(21000, [0, 30000, 70000, 90000, 120000, 150000, 180000, 200001, 230000, "
	  "270000, 300000, 320000, 350000], double)",
	  NULL, 0, 0 },
	/* Loops that no nest of the kernels has room for. */
	{ "vector(3, 1, 2, vector(3, 1, 2, vector(3, 1, 2, vector(3, 1, 2, vector(3, 1, 2, "
	  "vector(3, 1, 2, vector(3, 1, 2, int)))))))",
	  NULL, 0, 4 },
};

START_TEST(irregular_layouts_ask_for_maps)
{
	struct dtconv_type *type =
		fixture_type(asked[_i].text ? asked[_i].text : asked[_i].make());
	struct dtc_gpu_launch launch;
	struct gpu_type gpu;
	uint32_t needed;

	gpu_type_open(&gpu, type);
	const struct dtc_gpu_job job = mapped_job(&gpu, 0, asked[_i].aligned, DTC_PACK);
	int status = dtc_gpu_plan(&job, NULL, &launch, &needed);
	ck_assert_int_eq(status, asked[_i].unit ? DTCONV_ERR_AGAIN : 0);
	if (asked[_i].unit)
		ck_assert_uint_eq(dtc_gpu_job_map_unit(&job), asked[_i].unit);
	gpu_type_close(&gpu);
	dtconv_type_unref(type);
}
END_TEST

/* A job of few periods does not wait for their map. */
START_TEST(periods_that_are_moved_several_times_ask_for_maps)
{
	static const struct {
		uint64_t bytes;
		int status;
	} cases[] = { { 64, 0 }, { 80, DTCONV_ERR_AGAIN } };
	struct dtconv_type *type =
		fixture_type("resized(struct([3, 2], [0, 20], [int, int]), 0, 48)");
	struct dtc_gpu_launch launch;
	struct gpu_type gpu;
	uint32_t needed;

	gpu_type_open(&gpu, type);
	const struct dtc_gpu_job job = mapped_job(&gpu, cases[_i].bytes, 0, DTC_PACK);
	ck_assert_int_eq(dtc_gpu_plan(&job, NULL, &launch, &needed), cases[_i].status);
	gpu_type_close(&gpu);
	dtconv_type_unref(type);
}
END_TEST

/* Nests of more loops than compact kernels take have maps while streams are short, and are not one block's. */
START_TEST(nests_without_a_compact_kernel_ask_for_maps)
{
	struct dtconv_type *type = fixture_type(
		"vector(4, 1, 2, vector(5, 1, 3, vector(6, 1, 4, vector(7, 1, 5, double))))");
	struct dtc_gpu_launch launch;
	struct gpu_type gpu;
	uint32_t needed;

	gpu_type_open(&gpu, type);
	struct dtc_gpu_job job = mapped_job(&gpu, 16384, 0, DTC_PACK);
	ck_assert_int_eq(dtc_gpu_plan(&job, NULL, &launch, &needed), 0);
	ck_assert_int_eq(launch.class, DTC_GPU_CLASS_STRIDED);
	job = mapped_job(&gpu, 65536, 0, DTC_PACK);
	ck_assert_int_eq(dtc_gpu_plan(&job, NULL, &launch, &needed), DTCONV_ERR_AGAIN);
	job.map_state = DTC_GPU_MAP_ANSWERED; /* there is none */
	ck_assert_int_eq(dtc_gpu_plan(&job, NULL, &launch, &needed), 0);
	ck_assert_int_eq(launch.class, DTC_GPU_CLASS_STRIDED);
	ck_assert_uint_gt(launch.grid, 1);
	job = mapped_job(&gpu, 4 * MIB, 0, DTC_PACK);
	ck_assert_int_eq(dtc_gpu_plan(&job, NULL, &launch, &needed), 0);
	ck_assert_int_eq(launch.class, DTC_GPU_CLASS_STRIDED);
	gpu_type_close(&gpu);
	dtconv_type_unref(type);
	/* Nor are cuts inside words a reason. */
	type = fixture_type("hvector(10000, 64, 128, byte)");
	gpu_type_open(&gpu, type);
	job = mapped_job(&gpu, 65536, 0, DTC_PACK);
	job.begin = 8;
	job.packed += 8;
	ck_assert_int_eq(dtc_gpu_plan(&job, NULL, &launch, &needed), 0);
	ck_assert_str_eq(dtc_gpu_kernel_name(launch.kernel), "dtc_gpu_strided_pack_16");
	gpu_type_close(&gpu);
	dtconv_type_unref(type);
}
END_TEST

/* What a map is like, and what is launched for so many bytes. */
static const struct {
	bool ascends, sorted;
	uint32_t filled;
	uint64_t bytes;
	enum dtc_direction direction;
	const char *kernel;
	uint32_t words, expects;
} used[] = {
	{ true, false, 60, 2 * MIB, DTC_PACK, "dtc_gpu_mapped_pack_8", 1, 0 },
	{ true, false, 60, 16 * MIB, DTC_PACK, "dtc_gpu_mapped_pack_8", 8, 0 },
	{ true, false, 30, 16 * MIB, DTC_PACK, "dtc_gpu_mapped_pack_8", 1, 0 },
	{ false, false, 60, 16 * MIB, DTC_PACK, "dtc_gpu_mapped_pack_8", 1, 0 },
	{ false, false, 90, 16 * MIB, DTC_PACK, "dtc_gpu_mapped_pack_8", 8, 0 },
	{ false, false, 0, 16 * MIB, DTC_PACK, "dtc_gpu_mapped_pack_8", 1, 0 },
	{ true, false, 60, 2 * MIB, DTC_UNPACK, "dtc_gpu_mapped_unpack_8", 1, 0 },
	{ true, false, 60, 16 * MIB, DTC_UNPACK, "dtc_gpu_mapped_unpack_8", 2, 1 },
	{ true, false, 30, 16 * MIB, DTC_UNPACK, "dtc_gpu_mapped_unpack_8", 1, 0 },
	{ false, false, 60, 16 * MIB, DTC_UNPACK, "dtc_gpu_mapped_unpack_8", 1, 0 },
	{ false, true, 60, 2 * MIB, DTC_UNPACK, "dtc_gpu_sorted_unpack_8", 1, 0 },
	{ false, true, 60, 16 * MIB, DTC_UNPACK, "dtc_gpu_sorted_unpack_8", 1, 1 },
	{ false, true, 90, 16 * MIB, DTC_UNPACK, "dtc_gpu_sorted_unpack_8", 4, 0 },
	{ false, true, 90, 64 * MIB, DTC_UNPACK, "dtc_gpu_sorted_unpack_8", 4, 1 },
	{ false, true, 30, 64 * MIB, DTC_UNPACK, "dtc_gpu_sorted_unpack_8", 1, 0 },
};

START_TEST(maps_are_used_by_what_they_are_like)
{
	struct dtconv_type *type = fixture_type(single_doubles());
	struct dtc_gpu_launch launch;
	struct gpu_type gpu;
	uint32_t needed;

	gpu_type_open(&gpu, type);
	struct dtc_gpu_job job = mapped_job(&gpu, used[_i].bytes, 0, used[_i].direction);
	job.near = used[_i].bytes > 32 * MIB;
	job.map_state = DTC_GPU_MAP_ANSWERED;
	ck_assert(dtc_gpu_map_of_layout(gpu.layout, &job.map.form));
	job.map.unit = job.map.form.unit;
	job.map.form.ascends = used[_i].ascends;
	job.map.filled = used[_i].filled;
	job.map.sorted = used[_i].sorted;
	job.map.memory = 1 << 20;
	ck_assert_int_eq(dtc_gpu_plan(&job, NULL, &launch, &needed), 0);
	ck_assert_int_eq(launch.class, DTC_GPU_CLASS_MAPPED);
	ck_assert_str_eq(dtc_gpu_kernel_name(launch.kernel), used[_i].kernel);
	ck_assert_uint_eq(launch.params.mapped.words, used[_i].words);
	ck_assert_uint_eq(launch.params.mapped.expects, used[_i].expects);
	/* No sector of another device is read. */
	job.local = job.near = false;
	ck_assert_int_eq(dtc_gpu_plan(&job, NULL, &launch, &needed), 0);
	ck_assert_uint_eq(launch.params.mapped.expects, 0);
	/* A job of 2^31 words, and one of fewer than a tile less. */
	job.count = (UINT64_C(1) << 31) / (gpu.layout->size / 8) + 1;
	job.end = UINT64_C(1) << 34;
	ck_assert_int_eq(dtc_gpu_plan(&job, NULL, &launch, &needed), 0);
	ck_assert_uint_eq(launch.params.mapped.wide, 1);
	job.end -= 80000 * 8;
	ck_assert_int_eq(dtc_gpu_plan(&job, NULL, &launch, &needed), 0);
	ck_assert_uint_eq(launch.params.mapped.wide, 0);
	gpu_type_close(&gpu);
	dtconv_type_unref(type);
}
END_TEST

/* A long stretch that is most of what it touches is unpacked in the order of addresses. */
START_TEST(sorted_maps_are_for_most_of_a_period)
{
	struct dtconv_type *type = fixture_type(
		"indexed_block(1, [5, 2, 9, 0], resized(vector(70000, 1, 2, double), 0, 1120000))");
	struct gpu_type gpu;

	gpu_type_open(&gpu, type);
	uint64_t size = gpu.layout->size;
	struct dtc_gpu_job job = mapped_job(&gpu, 0, 0, DTC_UNPACK);
	job.count = 3;
	ck_assert_int_eq(dtc_gpu_job_map_order(&job), DTC_GPU_MAP_SORTED);
	job.end = size / 2;
	ck_assert_int_eq(dtc_gpu_job_map_order(&job), DTC_GPU_MAP_SORTED);
	job.end -= 8;
	ck_assert_int_eq(dtc_gpu_job_map_order(&job), DTC_GPU_MAP_PACKED);
	job.begin = size - 8;
	job.end = 2 * size;
	ck_assert_int_eq(dtc_gpu_job_map_order(&job), DTC_GPU_MAP_SORTED_PERIODS);
	job.direction = DTC_PACK;
	ck_assert_int_eq(dtc_gpu_job_map_order(&job), DTC_GPU_MAP_PACKED);
	job.direction = DTC_UNPACK;
	job.begin = 2 * size;
	job.end = 2 * size + (512 << 10) - 8;
	ck_assert_int_eq(dtc_gpu_job_map_order(&job), DTC_GPU_MAP_PACKED);
	gpu_type_close(&gpu);
	dtconv_type_unref(type);
}
END_TEST

/* The host's own pack and unpack are the oracle: examples of this size take too long with the plain one. */
static void move_long(const char *text)
{
	struct dtconv_type *type = fixture_type(text);
	struct dtconv_type_attr attr = { .struct_size = sizeof(attr) };
	struct gpu_type gpu;

	gpu_type_open(&gpu, type);
	ck_assert_int_eq(dtconv_type_query(type, &attr), 0);
	size_t extent = (size_t)(attr.true_lb + attr.true_extent), size = attr.size;
	unsigned char *user = aligned_alloc(64, (2 * extent + 63) / 64 * 64);
	unsigned char *packed = aligned_alloc(64, (2 * size + 63) / 64 * 64);
	struct choices choices = fixture_choices(7);

	ck_assert(user && packed);
	for (size_t i = 0; i < extent; i++)
		user[i] = (unsigned char)choose(&choices, 256);
	struct dtc_gpu_job job = gpu_job(&gpu, 1, user, packed, 0, size, DTC_PACK);
	gpu_move(&job);
	ck_assert_int_eq(dtconv_pack(type, 1, user, packed + size, size, NULL), 0);
	ck_assert(!memcmp(packed, packed + size, size));
	memset(user, 0xee, 2 * extent);
	job.direction = DTC_UNPACK;
	gpu_move(&job);
	ck_assert_int_eq(dtconv_unpack(type, 1, user + extent, packed, size, NULL), 0);
	ck_assert(!memcmp(user, user + extent, extent));
	free(packed);
	free(user);
	gpu_type_close(&gpu);
	dtconv_type_unref(type);
}

START_TEST(long_streams_move_by_few_words_a_thread)
{
	move_long("hvector(" LONG_BLOCKS ", 64, 128, byte)");
	move_long("subarray([90, 260, 200], [85, 255, 195], [1, 2, 3], c, double)");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("gpu classes");
	TCase *classes = fixture_case(suite, "classes", 60);

	tcase_add_loop_test(classes, types_go_to_their_class, 0,
			    (int)DTC_ARRAY_LENGTH(all));
	tcase_add_test(classes, parts_of_sectors_are_asked_for_where_memory_is_near);
	tcase_add_test(classes, odd_runs_are_unpacked_in_words_that_periods_share);
	tcase_add_loop_test(classes, plain_strided_jobs_go_to_compact_kernels, 0,
			    (int)DTC_ARRAY_LENGTH(strided));
	tcase_add_test(classes, jobs_that_are_cut_inside_words_do_not);
	tcase_add_test(classes, long_streams_of_short_runs_are_staged);
	tcase_add_loop_test(classes, shorter_streams_are_staged_for_unpacking, 0, 6);
	tcase_add_test(classes, long_streams_move_by_few_words_a_thread);
	tcase_add_loop_test(classes, irregular_layouts_ask_for_maps, 0,
			    (int)DTC_ARRAY_LENGTH(asked));
	tcase_add_loop_test(classes, periods_that_are_moved_several_times_ask_for_maps, 0,
			    2);
	tcase_add_test(classes, nests_without_a_compact_kernel_ask_for_maps);
	tcase_add_loop_test(classes, maps_are_used_by_what_they_are_like, 0,
			    (int)DTC_ARRAY_LENGTH(used));
	tcase_add_test(classes, sorted_maps_are_for_most_of_a_period);
	return fixture_run(suite);
}
