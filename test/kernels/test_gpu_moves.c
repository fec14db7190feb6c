/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * GPU kernels against the oracle, on the host: any type, any cut, any alignment of either side, and
 * no byte beside.
 */
#include "config.h"

#include "kernels/gpu_moves.h"
#include "support/layouts.h"
#include "support/type_choices.h"

#define RANDOM_TYPES      1000
#define MANY_RANDOM_TYPES 20000

/* Each test goes over all ways of using maps: every so manieth of its cases uses the same. */
static int case_of(int loop)
{
	gpu_maps = (enum gpu_maps)(loop % GPU_MAPS);
	return loop / GPU_MAPS;
}

START_TEST(every_layout_moves_at_every_alignment)
{
	struct choices choices = fixture_choices((uint64_t)_i);
	struct gpu_type gpu;
	struct stage stage;

	fixture_open(&stage, layouts[case_of(_i)].text, 3);
	gpu_type_open(&gpu, stage.type);
	for (size_t shift = 0; shift < 16; shift++)
		gpu_move_whole(&stage, &gpu, shift);
	for (int round = 0; round < 6; round++)
		gpu_move_cut(&stage, &gpu, &choices);
	gpu_type_close(&gpu);
	fixture_close(&stage);
}
END_TEST

START_TEST(every_cut_of_a_layout_is_the_same_stream)
{
	struct gpu_type gpu;
	struct stage stage;

	fixture_open(&stage, layouts[case_of(_i)].text, 1);
	gpu_type_open(&gpu, stage.type);
	size_t step = 1 + stage.bytes / 16;
	for (size_t begin = 0; begin <= stage.bytes; begin += step)
		for (size_t end = begin; end <= stage.bytes; end += step) {
			stage_blank(&stage);
			gpu_move_stretch(&stage, &gpu, begin, end, begin % 16);
			fixture_arrived(&stage);
		}
	gpu_type_close(&gpu);
	fixture_close(&stage);
}
END_TEST

START_TEST(random_types_move_in_random_fragments)
{
	struct choices choices = fixture_choices((uint64_t)_i + 1000);
	struct dtconv_type *type =
		type_choose(fixture_context, &choices, &type_bounds_small);
	struct gpu_type gpu;
	struct stage stage;

	case_of(_i);
	if (stage_open(&stage, type, 1 + choose(&choices, 5), choose(&choices, 16),
		       choose(&choices, 16), (uint64_t)_i)) {
		dtconv_type_unref(type);
		return;
	}
	gpu_type_open(&gpu, type);
	gpu_move_whole(&stage, &gpu, choose(&choices, 16));
	for (int round = 0; round < 3; round++)
		gpu_move_cut(&stage, &gpu, &choices);
	gpu_type_close(&gpu);
	fixture_close(&stage);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("gpu moves");
	TCase *named = fixture_case(suite, "layouts", 60);
	TCase *random = fixture_case(suite, "random", 60);

	gpu_plan_first = gpu_plan_by_map;
	tcase_add_loop_test(named, every_layout_moves_at_every_alignment, 0,
			    layout_count * GPU_MAPS);
	tcase_add_loop_test(named, every_cut_of_a_layout_is_the_same_stream, 0,
			    layout_count * GPU_MAPS);
	tcase_add_loop_test(random, random_types_move_in_random_fragments, 0,
			    fixture_everything() ? MANY_RANDOM_TYPES : RANDOM_TYPES);
	return fixture_run(suite);
}
