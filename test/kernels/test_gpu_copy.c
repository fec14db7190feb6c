/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * GPU kernels that copy from one layout to another, against the oracle, on the host: any pair of types,
 * of which the kernels see bytes only, any counts and any alignments of both sides.
 */
#include "config.h"

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

static struct dtc_gpu_copy_end end_of(const struct gpu_type *gpu, const struct stage *stage,
				      const unsigned char *user)
{
	return (struct dtc_gpu_copy_end){ .layout = gpu->layout,
					  .count = stage->count,
					  .user = (uintptr_t)user,
					  .image = dtc_gpu_copy_takes_image(gpu->layout)
							   ? (uintptr_t)gpu->image
							   : 0 };
}

static struct dtc_gpu_copy_job job_of(const struct pair *pair)
{
	return (struct dtc_gpu_copy_job){
		.source = end_of(&pair->source, &pair->from, pair->from.source),
		.target = end_of(&pair->target, &pair->to, pair->to.target),
		.bytes = pair->from.bytes < pair->to.bytes ? pair->from.bytes
							   : pair->to.bytes,
	};
}

/* Plan, run and judge. False if no kernel copies so. */
static bool copy(struct pair *pair, struct dtc_gpu_launch *launch)
{
	const struct dtc_gpu_copy_job job = job_of(pair);
	const char *reason = NULL;

	stage_blank(&pair->to);
	if (!job.bytes)
		return false;
	int status = dtc_gpu_plan_copy(&job, launch, &reason);
	if (status) {
		ck_assert_int_eq(status, DTCONV_ERR_UNSUPPORTED);
		ck_assert_ptr_nonnull(reason);
		return false;
	}
	gpu_launch(launch);
	memcpy(pair->to.stream, pair->from.stream, job.bytes);
	stage_deliver(&pair->to, 0, job.bytes);
	fixture_arrived(&pair->to);
	return true;
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

START_TEST(every_layout_is_copied_to_every_other)
{
	struct dtc_gpu_launch launch;
	struct pair pair;

	for (int i = 0; i < layout_count; i++) {
		if (layouts[i].overlaps)
			continue;
		open_pair(&pair, layouts[_i].text, 3, layouts[i].text, 2);
		copy(&pair, &launch);
		close_pair(&pair);
	}
}
END_TEST

/* What each kernel is for: the kernel, and a pair of types. */
static const struct {
	const char *kernel, *source, *target;
} chosen[] = {
	{ "dtc_gpu_copy_rows_16", "vector(1000, 4, 8, double)", "vector(500, 8, 12, double)" },
	{ "dtc_gpu_copy_rows_8", "vector(1000, 3, 5, double)",
	  "subarray([40,40,40], [10,15,20], [3,2,1], c, double)" },
	{ "dtc_gpu_copy_rows_4", "vector(1000, 1, 2, float)", "vector(100, 10, 11, float)" },
	{ "dtc_gpu_copy_rows_2", "hvector(300, 6, 14, byte)", "hvector(900, 2, 4, byte)" },
	{ "dtc_gpu_copy_rows_1", "hvector(300, 5, 7, byte)", "hvector(500, 3, 7, byte)" },
	{ "dtc_gpu_copy_units_8",
	  "subarray([5,6,7,8,4], [3,3,3,3,2], [1,1,1,1,1], c, double)",
	  "vector(200, 1, 3, double)" },
	{ "dtc_gpu_copy_units_4",
	  "indexed_block(3, [0,9,17,30,37,44,60,71,80,90,100], float)",
	  "vector(40, 1, 2, float)" },
	{ "dtc_gpu_copy_units_16", "vector(40, 2, 4, double)",
	  "indexed_block(2, [0,4,10,30,34,60,72,80,90,100], double)" },
	{ "dtc_gpu_copy_units_1", "hvector(100, 3, 5, byte)",
	  "hindexed_block(3, [0,11,17,30,37,44,61,71,80,90,100], byte)" },
	{ "dtc_gpu_copy_units_2", "hvector(100, 6, 10, byte)",
	  "hindexed_block(6, [0,12,28,36,44,60,72,80,90,100], byte)" },
};

#define CHOSEN (int)(sizeof(chosen) / sizeof(chosen[0]))

START_TEST(each_kernel_has_its_pairs)
{
	struct dtc_gpu_launch launch;
	struct pair pair;

	open_pair(&pair, chosen[_i].source, 1, chosen[_i].target, 1);
	ck_assert(copy(&pair, &launch));
	ck_assert_str_eq(dtc_gpu_kernel_name(launch.kernel), chosen[_i].kernel);
	ck_assert_int_eq(launch.class, DTC_GPU_CLASS_COPY);
	close_pair(&pair);
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
	{ "hvector(5, 1025, 1027, byte)", "hvector(5, 1025, 1031, byte)", "odd addresses" },
	{ "indexed([1,2,3,1,2,4,5,1,2], [0,2,5,9,11,14,19,30,40], double)",
	  "vector(21, 1, 2, double)", "neither" },
};

#define REFUSED (int)(sizeof(refused) / sizeof(refused[0]))

START_TEST(what_two_kernels_do_better_is_refused)
{
	struct dtc_gpu_launch launch;
	const char *reason = NULL;
	struct pair pair;

	open_pair(&pair, refused[_i].source, 1, refused[_i].target, 1);
	const struct dtc_gpu_copy_job job = job_of(&pair);
	ck_assert_int_eq(dtc_gpu_plan_copy(&job, &launch, &reason),
			 DTCONV_ERR_UNSUPPORTED);
	ck_assert_msg(strstr(reason, refused[_i].reason) != NULL, "%s", reason);
	close_pair(&pair);
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

	if (!stage_open(&pair.from, from, 1 + choose(&choices, 5), choose(&choices, 64), 0,
			(uint64_t)_i)) {
		if (!stage_open(&pair.to, to, 1 + choose(&choices, 5), 0,
				choose(&choices, 64), 2)) {
			open_programs(&pair);
			copy(&pair, &launch);
			close_programs(&pair);
			stage_close(&pair.to);
		}
		stage_close(&pair.from);
	}
	dtconv_type_unref(from);
	dtconv_type_unref(to);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("gpu copies");
	TCase *named = fixture_case(suite, "layouts", 60);
	TCase *random = fixture_case(suite, "random", 60);

	tcase_add_loop_test(named, every_layout_is_copied_to_every_other, 0, layout_count);
	tcase_add_loop_test(named, each_kernel_has_its_pairs, 0, CHOSEN);
	tcase_add_loop_test(named, what_two_kernels_do_better_is_refused, 0, REFUSED);
	tcase_add_loop_test(random, random_types_are_copied_at_random_alignments, 0,
			    fixture_everything() ? MANY_RANDOM_PAIRS : RANDOM_PAIRS);
	return fixture_run(suite);
}
