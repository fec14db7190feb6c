/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * GPU kernels against the oracle, on the host: any type, any cut, any alignment of either side, and
 * no byte beside.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/gpu_moves.h"
#include "support/layouts.h"
#include "support/type_choices.h"

#define RANDOM_TYPES      400
#define MANY_RANDOM_TYPES 20000

/* ---- one job at a time ---------------------------------------------------------------------------- */

/* Packed memory at any alignment, between guards. */
struct packed {
	unsigned char *memory;
	unsigned char *bytes;
	size_t memory_bytes;
};

static void packed_open(struct packed *packed, size_t bytes, size_t shift)
{
	packed->memory_bytes = bytes + 2 * STAGE_GUARD + 16;
	packed->memory = aligned_alloc(64, (packed->memory_bytes + 63) / 64 * 64);
	ck_assert_ptr_nonnull(packed->memory);
	packed->bytes = packed->memory + STAGE_GUARD + shift;
	stage_guard(packed->memory, packed->memory_bytes);
}

/* Exactly @bytes were stored; they are put back to guards. */
static void packed_check(struct packed *packed, const struct stage *stage, size_t begin,
			 size_t bytes)
{
	size_t offset = (size_t)(packed->bytes - packed->memory);

	ck_assert_msg(!memcmp(packed->bytes, stage->stream + begin, bytes),
		      "bytes %zu to %zu of the stream are packed wrongly", begin, begin + bytes);
	for (size_t i = 0; i < bytes; i++)
		packed->bytes[i] = stage_guard_byte(offset + i);
	ck_assert_uint_eq(stage_guard_first_wrong(packed->memory, packed->memory_bytes),
			  STAGE_RIGHT);
}

/* Bytes [begin, end), each way. */
static void move_stretch(struct stage *stage, const struct gpu_type *gpu, size_t begin,
			 size_t end, size_t shift)
{
	struct packed packed;

	packed_open(&packed, end - begin, shift);
	struct dtc_gpu_job job = gpu_job(gpu, stage->count, stage->source, packed.bytes, begin,
					 end, DTC_PACK);
	gpu_move(&job);
	packed_check(&packed, stage, begin, end - begin);
	memcpy(packed.bytes, stage->stream + begin, end - begin);
	job.direction = DTC_UNPACK;
	job.user = (uintptr_t)stage->target;
	gpu_move(&job);
	stage_deliver(stage, begin, end - begin);
	free(packed.memory);
}

static void move_whole(struct stage *stage, const struct gpu_type *gpu, size_t shift)
{
	stage_blank(stage);
	move_stretch(stage, gpu, 0, stage->bytes, shift);
	fixture_arrived(stage);
}

/* In fragments that follow each other. */
static void move_cut(struct stage *stage, const struct gpu_type *gpu, struct choices *choices)
{
	size_t longest = 1 + choose(choices, stage->bytes + 1);

	stage_blank(stage);
	for (size_t at = 0; at < stage->bytes;) {
		size_t bytes = 1 + choose(choices, longest);

		bytes = bytes < stage->bytes - at ? bytes : stage->bytes - at;
		move_stretch(stage, gpu, at, at + bytes, choose(choices, 16));
		at += bytes;
	}
	fixture_arrived(stage);
}

START_TEST(every_layout_moves_at_every_alignment)
{
	struct choices choices = fixture_choices((uint64_t)_i);
	struct gpu_type gpu;
	struct stage stage;

	fixture_open(&stage, layouts[_i].text, 3);
	gpu_type_open(&gpu, stage.type);
	for (size_t shift = 0; shift < 16; shift++)
		move_whole(&stage, &gpu, shift);
	for (int round = 0; round < 6; round++)
		move_cut(&stage, &gpu, &choices);
	gpu_type_close(&gpu);
	fixture_close(&stage);
}
END_TEST

START_TEST(every_cut_of_a_layout_is_the_same_stream)
{
	struct gpu_type gpu;
	struct stage stage;

	fixture_open(&stage, layouts[_i].text, 1);
	gpu_type_open(&gpu, stage.type);
	size_t step = 1 + stage.bytes / 16;
	for (size_t begin = 0; begin <= stage.bytes; begin += step)
		for (size_t end = begin; end <= stage.bytes; end += step) {
			stage_blank(&stage);
			move_stretch(&stage, &gpu, begin, end, begin % 16);
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

	if (stage_open(&stage, type, 1 + choose(&choices, 5), choose(&choices, 16),
		       choose(&choices, 16), (uint64_t)_i)) {
		dtconv_type_unref(type);
		return;
	}
	gpu_type_open(&gpu, type);
	move_whole(&stage, &gpu, choose(&choices, 16));
	for (int round = 0; round < 3; round++)
		move_cut(&stage, &gpu, &choices);
	gpu_type_close(&gpu);
	fixture_close(&stage);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("gpu moves");
	TCase *named = fixture_case(suite, "layouts", 60);
	TCase *random = fixture_case(suite, "random", 60);

	tcase_add_loop_test(named, every_layout_moves_at_every_alignment, 0, layout_count);
	tcase_add_loop_test(named, every_cut_of_a_layout_is_the_same_stream, 0, layout_count);
	tcase_add_loop_test(random, random_types_move_in_random_fragments, 0,
			    fixture_everything() ? MANY_RANDOM_TYPES : RANDOM_TYPES);
	return fixture_run(suite);
}
