/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * GPU kernels that copy from one layout to another, against the oracle, on the host: any pair of types,
 * of which the kernels see bytes only, any counts and any alignments of both sides.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/gpu_moves.h"
#include "kernels/launch/layout_copy.h"
#include "support/layouts.h"
#include "support/type_choices.h"

#define RANDOM_PAIRS      600
#define MANY_RANDOM_PAIRS 20000

/* Two stages and their programs on the device. */
struct pair {
	struct stage from, to;
	struct gpu_type source, target;
};

static struct dtc_gpu_copy_end end_of(const struct gpu_type *gpu,
				      const struct stage *stage,
				      const unsigned char *user)
{
	return (struct dtc_gpu_copy_end){ .layout = gpu->layout,
					  .count = stage->count,
					  .user = (uintptr_t)user };
}

static struct dtc_gpu_copy_job job_of(const struct pair *pair)
{
	return (struct dtc_gpu_copy_job){
		.source = end_of(&pair->source, &pair->from, pair->from.source),
		.target = end_of(&pair->target, &pair->to, pair->to.target),
		.end = pair->from.bytes < pair->to.bytes ? pair->from.bytes
							 : pair->to.bytes,
	};
}

static void make_map(struct dtc_gpu_copy_end *end, uint32_t word)
{
	struct dtc_gpu_map *map = &end->map;

	end->has_map = true;
	if (!dtc_gpu_map_of_layout(end->layout, &map->form) ||
	    !dtc_gpu_map_fits(&map->form, word))
		return;
	ck_assert_uint_eq(map->form.unit % word, 0);
	int32_t *disps = malloc(dtc_gpu_map_units(&map->form, word) * sizeof(disps[0]));
	ck_assert_ptr_nonnull(disps);
	dtc_gpu_map_write(end->layout, word, disps);
	map->unit = word;
	map->memory = (uintptr_t)disps;
}

static void find_need(struct dtc_gpu_copy_end *end, const struct gpu_type *gpu,
		      enum dtc_gpu_copy_need need, uint32_t word)
{
	if (need == DTC_GPU_COPY_NEEDS_IMAGE)
		end->image = (uintptr_t)gpu->image;
	else if (need == DTC_GPU_COPY_NEEDS_MAP)
		make_map(end, word);
}

static int plan(const struct pair *pair, struct dtc_gpu_copy_job *job,
		struct dtc_gpu_launch *launch, const char **reason)
{
	struct dtc_gpu_copy_needs needs;
	int status = dtc_gpu_plan_copy(job, launch, &needs, reason);

	if (status != DTCONV_ERR_AGAIN)
		return status;
	find_need(&job->source, &pair->source, needs.source, launch->word);
	find_need(&job->target, &pair->target, needs.target, launch->word);
	return dtc_gpu_plan_copy(job, launch, &needs, reason);
}

static void drop_maps(struct dtc_gpu_copy_job *job)
{
	free((void *)(uintptr_t)job->source.map.memory);
	free((void *)(uintptr_t)job->target.map.memory);
}

/* What is foretold without a map or a program is what is planned with them. */
static void must_foresee(const struct dtc_gpu_copy_job *job, int status,
			 const struct dtc_gpu_launch *launch, const char *reason)
{
	static struct dtc_gpu_launch foreseen;
	const char *why = NULL;

	ck_assert_int_eq(dtc_gpu_foresee_copy(job, &foreseen, &why), status);
	if (status)
		ck_assert_str_eq(why, reason);
	else
		ck_assert_str_eq(dtc_gpu_kernel_name(foreseen.kernel),
				 dtc_gpu_kernel_name(launch->kernel));
}

/* Plan, run and judge a stretch. False if no kernel copies so. */
static bool copy_stretch(struct pair *pair, uint64_t begin, uint64_t end,
			 struct dtc_gpu_launch *launch)
{
	struct dtc_gpu_copy_job job = job_of(pair);
	const char *reason = NULL;

	stage_blank(&pair->to);
	job.begin = begin;
	job.end = end;
	if (begin >= end)
		return false;
	const struct dtc_gpu_copy_job asked = job;
	int status = plan(pair, &job, launch, &reason);
	must_foresee(&asked, status, launch, reason);
	if (status) {
		ck_assert_int_eq(status, DTCONV_ERR_UNSUPPORTED);
		ck_assert_ptr_nonnull(reason);
	} else {
		gpu_launch(launch);
		memcpy(pair->to.stream, pair->from.stream, end);
		stage_deliver(&pair->to, begin, end - begin);
		fixture_arrived(&pair->to);
	}
	drop_maps(&job);
	return !status;
}

/* The same for the whole stream. */
static bool copy(struct pair *pair, struct dtc_gpu_launch *launch)
{
	return copy_stretch(pair, 0, job_of(pair).end, launch);
}

/* Stretches that begin and end at multiples of 1 to 16 bytes. How many of them a kernel copies. */
static int copy_stretches(struct pair *pair, struct choices *choices, int rounds)
{
	const uint64_t bytes = job_of(pair).end;
	int launched = 0;

	for (int round = 0; round < rounds; round++) {
		const uint64_t word = UINT64_C(1) << choose(choices, 5);
		uint64_t begin = choose(choices, bytes / word + 1) * word;
		uint64_t end = choose(choices, bytes / word + 1) * word;
		static struct dtc_gpu_launch launch;

		if (end < begin) {
			uint64_t kept = begin;

			begin = end;
			end = kept;
		}
		launched += copy_stretch(pair, begin, end, &launch);
	}
	return launched;
}

static void open_programs(struct pair *pair)
{
	gpu_type_open(&pair->source, pair->from.type);
	gpu_type_open(&pair->target, pair->to.type);
}

static void close_programs(struct pair *pair)
{
	gpu_type_close(&pair->source);
	gpu_type_close(&pair->target);
}

static void open_pair(struct pair *pair, const char *source, size_t source_count,
		      const char *target, size_t target_count)
{
	fixture_open(&pair->from, source, source_count);
	fixture_open(&pair->to, target, target_count);
	open_programs(pair);
}

static void close_pair(struct pair *pair)
{
	close_programs(pair);
	fixture_close(&pair->from);
	fixture_close(&pair->to);
}

/* Same type and count on both sides, the most common copy. */
START_TEST(random_types_are_copied_to_themselves)
{
	struct choices choices = fixture_choices(0x73616d65 + (uint64_t)_i);
	struct dtconv_type *type =
		type_choose(fixture_context, &choices, &type_bounds_small);
	size_t count = 1 + choose(&choices, 5);
	struct dtc_gpu_launch launch;
	struct pair pair;

	if (!stage_open(&pair.from, type, count, choose(&choices, 64), 0, (uint64_t)_i)) {
		ck_assert(!stage_open(&pair.to, type, count, 0, choose(&choices, 64), 2));
		open_programs(&pair);
		copy(&pair, &launch);
		copy_stretches(&pair, &choices, 8);
		close_programs(&pair);
		stage_close(&pair.to);
		stage_close(&pair.from);
	}
	dtconv_type_unref(type);
}
END_TEST

START_TEST(every_layout_is_copied_to_every_other)
{
	struct choices choices = fixture_choices(0x73747265 + (uint64_t)_i);
	struct dtc_gpu_launch launch;
	struct pair pair;

	for (int i = 0; i < layout_count; i++) {
		if (layouts[i].overlaps)
			continue;
		open_pair(&pair, layouts[_i].text, 3, layouts[i].text, 2);
		copy(&pair, &launch);
		copy_stretches(&pair, &choices, 8);
		close_pair(&pair);
	}
}
END_TEST

/* What each kernel is for: the kernel, and a pair of types. */
static const struct {
	const char *kernel, *source, *target;
} chosen[] = {
	{ "dtc_gpu_copy_rows_16", "vector(1000, 4, 8, double)",
	  "vector(500, 8, 12, double)" },
	{ "dtc_gpu_copy_rows_8", "vector(1000, 3, 5, double)",
	  "subarray([40,40,40], [10,15,20], [3,2,1], c, double)" },
	{ "dtc_gpu_copy_rows_4", "vector(1000, 1, 2, float)",
	  "vector(100, 10, 11, float)" },
	{ "dtc_gpu_copy_rows_2", "hvector(300, 6, 14, byte)",
	  "hvector(900, 2, 4, byte)" },
	{ "dtc_gpu_copy_rows_1", "hvector(300, 5, 7, byte)", "hvector(500, 3, 7, byte)" },
	{ "dtc_gpu_copy_units_8",
	  "subarray([5,6,7,8,4], [3,3,3,3,2], [1,1,1,1,1], c, double)",
	  "vector(200, 1, 3, double)" },
	{ "dtc_gpu_copy_units_4",
	  "subarray([5,6,7,8,4], [3,3,3,3,2], [1,1,1,1,1], c, float)",
	  "vector(200, 1, 3, float)" },
	{ "dtc_gpu_copy_units_16", "vector(300, 2, 4, double)",
	  "subarray([5,6,7,8,4], [3,3,3,3,2], [1,1,1,1,1], c, contiguous(2, double))" },
	/* Both are transposed alike: the copy goes along the memory, by longer words if it can. */
	{ "dtc_gpu_copy_rows_8",
	  "contiguous(59, resized(vector(50, 1, 60, double), 0, 8))",
	  "contiguous(59, resized(vector(50, 1, 61, double), 0, 8))" },
	{ "dtc_gpu_copy_rows_16",
	  "contiguous(60, resized(vector(50, 1, 60, double), 0, 8))",
	  "contiguous(60, resized(vector(50, 1, 64, double), 0, 8))" },
	{ "dtc_gpu_copy_rows_4",
	  "contiguous(40, resized(vector(30, 1, 50, float), 0, 4))",
	  "contiguous(40, resized(vector(30, 1, -47, float), 0, 4))" },
	/* One side by a map, both, and a map in shorter words than its own. */
	{ "dtc_gpu_copy_rows_4",
	  "indexed_block(3, [0,9,17,30,37,44,60,71,80,90,100], float)",
	  "vector(40, 1, 2, float)" },
	{ "dtc_gpu_copy_rows_16", "vector(40, 2, 4, double)",
	  "indexed_block(2, [0,4,10,30,34,60,72,80,90,100], double)" },
	{ "dtc_gpu_copy_rows_8",
	  "indexed([1,2,3,1,2,4,5,1,2], [0,2,5,9,11,14,19,30,40], double)",
	  "indexed([3,2,1,2,1,5,4,1,2], [0,4,8,10,14,18,29,40,50], double)" },
	{ "dtc_gpu_copy_rows_4",
	  "indexed([1,2,3,1,2,4,5,1,2], [0,2,5,9,11,14,19,30,40], double)",
	  "vector(42, 1, 2, float)" },
	{ "dtc_gpu_copy_units_8",
	  "subarray([5,6,7,8,4], [3,3,3,3,2], [1,1,1,1,1], c, double)",
	  "contiguous(9, resized(indexed([1,2,3,1,2,4,5,1,2], [0,2,5,9,11,14,19,30,40], "
	  "double), 0, 400))" },
	{ "dtc_gpu_copy_units_1", "hvector(100, 3, 5, byte)",
	  "hindexed_block(3, [0,11,17,30,37,44,61,71,80,90,100], byte)" },
	{ "dtc_gpu_copy_units_2", "hvector(100, 6, 10, byte)",
	  "hindexed_block(6, [0,12,28,36,44,60,72,80,90,100], byte)" },
};

#define CHOSEN (int)(sizeof(chosen) / sizeof(chosen[0]))

START_TEST(each_kernel_has_its_pairs)
{
	struct choices choices = fixture_choices(0x63686f73 + (uint64_t)_i);
	struct dtc_gpu_launch launch;
	struct pair pair;

	open_pair(&pair, chosen[_i].source, 1, chosen[_i].target, 1);
	ck_assert_int_gt(copy_stretches(&pair, &choices, 40), 0);
	ck_assert(copy(&pair, &launch));
	ck_assert_str_eq(dtc_gpu_kernel_name(launch.kernel), chosen[_i].kernel);
	ck_assert_int_eq(launch.class, DTC_GPU_CLASS_COPY);
	close_pair(&pair);
}
END_TEST

/* Equal blocks at odd addresses, in loops of their own: their bytes, the kernel, and the types. */
static const struct {
	uint64_t block;
	const char *kernel, *source, *target;
} shifted[] = {
	{ 32, "dtc_gpu_copy_shifted_4", "hvector(70, 32, 33, byte)",
	  "hvector(70, 32, 35, byte)" },
	{ 33, "dtc_gpu_copy_shifted_4", "hvector(70, 33, 35, byte)",
	  "contiguous(7, resized(hvector(10, 33, -34, byte), -306, 400))" },
	{ 255, "dtc_gpu_copy_shifted_4", "hvector(60, 255, 256, byte)",
	  "contiguous(5, resized(hvector(12, 255, 257, byte), 0, 4001))" },
	{ 256, "dtc_gpu_copy_shifted_16",
	  "contiguous(12, resized(hvector(5, 256, 301, byte), 0, 1999))",
	  "hvector(60, 256, 257, byte)" },
	{ 512, "dtc_gpu_copy_shifted_16", "hvector(30, 512, 514, byte)",
	  "hvector(30, 512, 518, byte)" },
	{ 1025, "dtc_gpu_copy_shifted_16", "hvector(40, 1025, -1031, byte)",
	  "hvector(40, 1025, 1027, byte)" },
};

#define SHIFTED (int)(sizeof(shifted) / sizeof(shifted[0]))

START_TEST(equal_blocks_are_copied_by_shifted_words)
{
	struct choices choices = fixture_choices(0x73686966 + (uint64_t)_i);
	const uint64_t block = shifted[_i].block;
	struct dtc_gpu_launch launch;
	struct pair pair;

	open_pair(&pair, shifted[_i].source, 1, shifted[_i].target, 1);
	const uint64_t blocks = job_of(&pair).end / block;
	for (int round = 0; round < 30; round++) {
		/* One block alone may be aligned alike on both sides. */
		const uint64_t begin = choose(&choices, blocks - 1);
		const uint64_t end = begin + 2 + choose(&choices, blocks - begin - 1);

		ck_assert(copy_stretch(&pair, begin * block, end * block, &launch));
		ck_assert_str_eq(dtc_gpu_kernel_name(launch.kernel), shifted[_i].kernel);
	}
	copy_stretches(&pair, &choices, 40);
	close_pair(&pair);
}
END_TEST

static void must_be_planned(int number, bool is_part, bool is_between, const char *kernel)
{
	struct dtc_gpu_launch launch;
	const char *reason = NULL;
	struct pair pair;

	open_pair(&pair, shifted[number].source, 1, shifted[number].target, 1);
	struct dtc_gpu_copy_job job = job_of(&pair);
	job.is_part = is_part;
	job.is_between = is_between;
	ck_assert_int_eq(plan(&pair, &job, &launch, &reason), 0);
	ck_assert_str_eq(dtc_gpu_kernel_name(launch.kernel), kernel);
	close_pair(&pair);
}

/* Together with others they are copied by words that divide both sides, however long they are. */
START_TEST(a_part_of_a_launch_shifts_no_words)
{
	must_be_planned(_i, true, false,
			shifted[_i].block % 512 ? "dtc_gpu_copy_rows_1"
						: "dtc_gpu_copy_rows_2");
}
END_TEST

/* To another device, blocks are copied by shifted words from 256 bytes on. */
START_TEST(short_blocks_are_not_shifted_between_devices)
{
	must_be_planned(_i, false, true,
			shifted[_i].block < 256 ? "dtc_gpu_copy_rows_1"
						: shifted[_i].kernel);
}
END_TEST

/* Pairs that are packed and unpacked, and a part of the reason. */
static const struct {
	const char *source, *target, *reason;
} refused[] = {
	{ "contiguous(60, resized(vector(50, 1, 60, double), 0, 8))",
	  "vector(3000, 1, 2, double)", "transposed" },
	{ "vector(3000, 1, 2, double)",
	  "contiguous(60, resized(vector(50, 1, 60, double), 0, 8))", "transposed" },
	{ "hvector(6, 1025, 1027, byte)", "hvector(5, 1230, 1231, byte)",
	  "odd addresses" },
	{ "indexed([1,2,3,1,2,4,5,1,2], [0,2,5,9,11,14,19,30,40], short)",
	  "vector(21, 1, 2, short)", "too irregular" },
	{ "indexed([1,2,3,1,2,4,5,1,2], [0,2,5,9,11,14,19,30,40], double)",
	  "hvector(28, 6, 14, byte)", "not aligned to 4 bytes" },
};

#define REFUSED (int)(sizeof(refused) / sizeof(refused[0]))

START_TEST(what_two_kernels_do_better_is_refused)
{
	struct dtc_gpu_launch launch;
	const char *reason = NULL;
	struct pair pair;

	open_pair(&pair, refused[_i].source, 1, refused[_i].target, 1);
	struct dtc_gpu_copy_job job = job_of(&pair);
	ck_assert_int_eq(plan(&pair, &job, &launch, &reason), DTCONV_ERR_UNSUPPORTED);
	ck_assert_msg(strstr(reason, refused[_i].reason) != NULL, "%s", reason);
	close_pair(&pair);
}
END_TEST

#define BLOCKS 5000

/* More units than are mapped: blocks of 60 floats, at odd steps. */
static struct dtconv_type *large_table(void)
{
	static ptrdiff_t places[BLOCKS];
	struct dtconv_type *type;

	for (int i = 0; i < BLOCKS; i++)
		places[i] = 70 * (ptrdiff_t)(i ^ 1) + i % 7;
	fixture_ok(dtconv_type_create_indexed_block(
		BLOCKS, 60, places, dtconv_type_predefined(fixture_context, DTCONV_FLOAT),
		&type));
	fixture_ok(dtconv_type_commit(type));
	return type;
}

START_TEST(large_tables_of_equal_blocks_are_listed)
{
	struct choices choices = fixture_choices(0x6c697374);
	struct dtconv_type *table = large_table();
	struct dtconv_type *rows = fixture_type("vector(300000, 1, 2, float)");
	struct dtc_gpu_launch launch;
	struct pair pair;

	for (int listed = 0; listed < 2; listed++) {
		ck_assert(!stage_open(&pair.from, listed ? rows : table, 1, 4, 0, 1));
		ck_assert(!stage_open(&pair.to, listed ? table : rows, 1, 0, 12, 2));
		open_programs(&pair);
		ck_assert(copy(&pair, &launch));
		ck_assert_str_eq(dtc_gpu_kernel_name(launch.kernel),
				 "dtc_gpu_copy_units_4");
		ck_assert_int_gt(copy_stretches(&pair, &choices, 8), 0);
		close_programs(&pair);
		stage_close(&pair.from);
		stage_close(&pair.to);
	}
	dtconv_type_unref(table);
	dtconv_type_unref(rows);
}
END_TEST

/* A map of no period that is whole is not asked for: the layout is copied block by block, or not at all. */
START_TEST(a_map_that_is_too_large_is_refused)
{
	struct dtc_gpu_launch launch;
	struct dtc_gpu_copy_needs needs;
	const char *reason = NULL;
	struct pair pair;

	open_pair(&pair, "vector(40, 2, 4, double)", 1,
		  "indexed_block(2, [0,4,10,30,34,60,72,80,90,100], double)", 1);
	struct dtc_gpu_copy_job job = job_of(&pair);
	ck_assert_int_eq(dtc_gpu_plan_copy(&job, &launch, &needs, &reason),
			 DTCONV_ERR_AGAIN);
	ck_assert_int_eq(needs.source, DTC_GPU_COPY_NEEDS_NOTHING);
	ck_assert_int_eq(needs.target, DTC_GPU_COPY_NEEDS_MAP);
	ck_assert_uint_eq(launch.word, 16);
	job.target.has_map = true; /* and it has no unit */
	ck_assert_int_eq(dtc_gpu_plan_copy(&job, &launch, &needs, &reason),
			 DTCONV_ERR_UNSUPPORTED);
	ck_assert_str_eq(reason, "too large for a map");
	close_pair(&pair);
}
END_TEST

/* Plan a copy of one instance between types of more bytes than there is memory for. Nothing is run. */
static int plan_huge(const char *source_text, const char *target_text,
		     struct dtc_gpu_launch *launch)
{
	struct dtconv_type *source = fixture_type(source_text);
	struct dtconv_type *target = fixture_type(target_text);
	struct dtc_gpu_copy_needs needs;
	struct gpu_type from, to;
	const char *reason;

	gpu_type_open(&from, source);
	gpu_type_open(&to, target);
	const struct dtc_gpu_copy_job job = {
		.source = { .layout = from.layout, .count = 1, .user = 4096 },
		.target = { .layout = to.layout, .count = 1, .user = 8192 },
		.end = from.layout->size,
	};
	const int status = dtc_gpu_plan_copy(&job, launch, &needs, &reason);
	gpu_type_close(&from);
	gpu_type_close(&to);
	dtconv_type_unref(source);
	dtconv_type_unref(target);
	return status;
}

/* Kernels that shift words count the bytes of a block, and all words, by 32 bits. */
START_TEST(blocks_too_long_are_not_shifted)
{
	static const struct {
		const char *source, *target;
		int status;
		const char *kernel;
	} cases[] = {
		{ "hvector(2, 2147483647, 2147483649, byte)",
		  "hvector(2, 2147483647, 2147483651, byte)", 0,
		  "dtc_gpu_copy_shifted_16" },
		{ "hvector(2, 2147483649, 2147483651, byte)",
		  "hvector(2, 2147483649, 2147483653, byte)", DTCONV_ERR_UNSUPPORTED,
		  NULL },
		{ "hvector(2, 4294967329, 4294967331, byte)",
		  "hvector(2, 4294967329, 4294967333, byte)", DTCONV_ERR_UNSUPPORTED,
		  NULL },
		{ "hvector(2000000000, 33, 35, byte)",
		  "hvector(2000000000, 33, 37, byte)", 0, "dtc_gpu_copy_units_1" },
	};
	struct dtc_gpu_launch launch;

	ck_assert_int_eq(plan_huge(cases[_i].source, cases[_i].target, &launch),
			 cases[_i].status);
	if (cases[_i].kernel)
		ck_assert_str_eq(dtc_gpu_kernel_name(launch.kernel), cases[_i].kernel);
}
END_TEST

/* More words than 32-bit numbers count. */
START_TEST(huge_copies_are_planned)
{
	struct dtc_gpu_launch launch;

	ck_assert_int_eq(plan_huge("hvector(8, 17179869184, 34359738368, byte)",
				   "hvector(16, 8589934592, 17179869184, byte)", &launch),
			 0);
	ck_assert_str_eq(dtc_gpu_kernel_name(launch.kernel), "dtc_gpu_copy_units_16");
	ck_assert_uint_eq(launch.params.copy.units, UINT64_C(1) << 33);
	ck_assert_uint_eq(launch.params.copy.words, 4);
	ck_assert_uint_eq(launch.grid, UINT32_C(1) << 23);
}
END_TEST

/* In streams beyond the caches, of the runs of either side that are shorter. */
START_TEST(threads_copy_one_word_in_long_streams_of_short_runs)
{
	static const struct {
		const char *source, *target;
		uint32_t words;
	} cases[] = {
		{ "hvector(262144, 240, 256, byte)", "contiguous(62914560, byte)", 1 },
		{ "contiguous(62914560, byte)", "hvector(262144, 240, 256, byte)", 1 },
		{ "hvector(262144, 256, 512, byte)", "hvector(65536, 1024, 2048, byte)",
		  4 },
		{ "hvector(2097152, 16, 32, byte)", "hvector(2097152, 16, 48, byte)", 4 },
		{ "hvector(2097153, 16, 32, byte)", "hvector(2097153, 16, 48, byte)", 1 },
	};
	struct dtc_gpu_launch launch;

	ck_assert_int_eq(plan_huge(cases[_i].source, cases[_i].target, &launch), 0);
	ck_assert_uint_eq(launch.params.copy.words, cases[_i].words);
}
END_TEST

START_TEST(random_types_are_copied_at_random_alignments)
{
	struct choices choices = fixture_choices(0x636f7079 + (uint64_t)_i);
	struct dtconv_type *from =
		type_choose(fixture_context, &choices, &type_bounds_small);
	struct dtconv_type *to =
		type_choose(fixture_context, &choices, &type_bounds_small);
	struct dtc_gpu_launch launch;
	struct pair pair;

	if (!stage_open(&pair.from, from, 1 + choose(&choices, 5), choose(&choices, 64),
			0, (uint64_t)_i)) {
		if (!stage_open(&pair.to, to, 1 + choose(&choices, 5), 0,
				choose(&choices, 64), 2)) {
			open_programs(&pair);
			copy(&pair, &launch);
			copy_stretches(&pair, &choices, 8);
			close_programs(&pair);
			stage_close(&pair.to);
		}
		stage_close(&pair.from);
	}
	dtconv_type_unref(from);
	dtconv_type_unref(to);
}
END_TEST

/* ---- many in one launch ------------------------------------------------------------------ */

#define TOGETHER 40

/* A pair that is planned as a part of a launch. */
struct member {
	struct pair pair;
	struct dtc_gpu_copy_job job;
};

/* Open a pair of random types, and plan it. False, and nothing is open, if no kernel copies so. */
static bool open_member(struct member *member, struct choices *choices,
			struct dtc_gpu_copy_part *part)
{
	struct dtconv_type *from =
		type_choose(fixture_context, choices, &type_bounds_small);
	struct dtconv_type *to =
		chance(choices, 2)
			? dtconv_type_ref(from)
			: type_choose(fixture_context, choices, &type_bounds_small);
	struct pair *pair = &member->pair;
	struct dtc_gpu_launch launch;
	const char *reason;

	if (stage_open(&pair->from, from, 1 + choose(choices, 60), choose(choices, 64), 0,
		       1))
		goto no_source;
	if (stage_open(&pair->to, to, 1 + choose(choices, 60), 0, choose(choices, 64), 2))
		goto no_target;
	open_programs(pair);
	stage_blank(&pair->to);
	member->job = job_of(pair);
	member->job.is_part = true;
	if (member->job.end && !plan(pair, &member->job, &launch, &reason)) {
		*part = dtc_gpu_copy_part_of(&launch);
		return true;
	}
	drop_maps(&member->job);
	close_programs(pair);
	stage_close(&pair->to);
no_target:
	stage_close(&pair->from);
no_source:
	dtconv_type_unref(from);
	dtconv_type_unref(to);
	return false;
}

static void close_member(struct member *member)
{
	struct dtconv_type *from = member->pair.from.type, *to = member->pair.to.type;

	drop_maps(&member->job);
	close_programs(&member->pair);
	stage_close(&member->pair.to);
	stage_close(&member->pair.from);
	dtconv_type_unref(from);
	dtconv_type_unref(to);
}

static void must_have_arrived(struct member *member)
{
	struct stage *from = &member->pair.from, *to = &member->pair.to;

	memcpy(to->stream, from->stream, member->job.end);
	stage_deliver(to, 0, member->job.end);
	fixture_arrived(to);
}

/* As many as travel with a launch, and more. */
START_TEST(many_copies_are_one_launch)
{
	struct choices choices = fixture_choices(0x6d616e79 + (uint64_t)_i);
	static struct member members[TOGETHER];
	static struct dtc_gpu_copy_part parts[TOGETHER];
	static struct dtc_gpu_launch launch;
	size_t most = 1 + choose(&choices, _i % 2 ? TOGETHER : DTC_GPU_INLINE_COPIES);
	size_t count = 0, bytes = 0;

	for (size_t tries = 0; count < most && tries < 10 * most; tries++)
		count += open_member(&members[count], &choices, &parts[count]);
	if (!count)
		return;
	for (size_t i = 0; i < count; i++)
		bytes += members[i].job.end;
	ck_assert_int_eq(dtc_gpu_plan_copies(parts, count, (uintptr_t)parts, &launch), 0);
	ck_assert_str_eq(dtc_gpu_kernel_name(launch.kernel), "dtc_gpu_many_copies");
	ck_assert_int_eq(launch.class, DTC_GPU_CLASS_COPY);
	ck_assert_uint_eq(launch.bytes, bytes);
	ck_assert_uint_eq(launch.params.copies.parts != 0, count > DTC_GPU_INLINE_COPIES);
	gpu_launch(&launch);
	for (size_t i = 0; i < count; i++) {
		must_have_arrived(&members[i]);
		close_member(&members[i]);
	}
}
END_TEST

/* Nothing is run: the last part begins behind the largest grid. */
START_TEST(too_many_tiles_are_refused)
{
	const uint64_t tile = (uint64_t)DTC_GPU_COPY_WORDS * DTC_GPU_BLOCK;
	struct dtc_gpu_copy_part parts[2] = {
		{ .word = 4, .units = (DTC_GPU_GRID_MOST - UINT64_C(1)) * tile },
		{ .word = 4, .units = 1 },
	};
	static struct dtc_gpu_launch launch;

	ck_assert_int_eq(dtc_gpu_plan_copies(parts, 2, 0, &launch), 0);
	ck_assert_uint_eq(launch.grid, DTC_GPU_GRID_MOST);
	ck_assert_uint_eq(parts[1].first_tile, DTC_GPU_GRID_MOST - 1);
	parts[0].units++;
	ck_assert_int_eq(dtc_gpu_plan_copies(parts, 2, 0, &launch),
			 DTCONV_ERR_UNSUPPORTED);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("gpu copies");
	TCase *named = fixture_case(suite, "layouts", 60);
	TCase *random = fixture_case(suite, "random", 60);

	tcase_add_loop_test(named, every_layout_is_copied_to_every_other, 0,
			    layout_count);
	tcase_add_loop_test(named, each_kernel_has_its_pairs, 0, CHOSEN);
	tcase_add_loop_test(named, equal_blocks_are_copied_by_shifted_words, 0, SHIFTED);
	tcase_add_loop_test(named, short_blocks_are_not_shifted_between_devices, 0,
			    SHIFTED);
	tcase_add_loop_test(named, a_part_of_a_launch_shifts_no_words, 0, SHIFTED);
	tcase_add_loop_test(named, blocks_too_long_are_not_shifted, 0, 4);
	tcase_add_loop_test(named, what_two_kernels_do_better_is_refused, 0, REFUSED);
	tcase_add_test(named, large_tables_of_equal_blocks_are_listed);
	tcase_add_test(named, a_map_that_is_too_large_is_refused);
	tcase_add_test(named, huge_copies_are_planned);
	tcase_add_loop_test(named, threads_copy_one_word_in_long_streams_of_short_runs, 0,
			    5);
	tcase_add_test(named, too_many_tiles_are_refused);
	tcase_add_loop_test(random, random_types_are_copied_to_themselves, 0,
			    fixture_everything() ? MANY_RANDOM_PAIRS : RANDOM_PAIRS);
	tcase_add_loop_test(random, many_copies_are_one_launch, 0,
			    fixture_everything() ? 2000 : 100);
	tcase_add_loop_test(random, random_types_are_copied_at_random_alignments, 0,
			    fixture_everything() ? MANY_RANDOM_PAIRS : RANDOM_PAIRS);
	return fixture_run(suite);
}
