/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Periods of bytes that go through shared memory, against the oracle: any runs in any order, any
 * cut, any alignment of either side; no byte of a gap is stored, and no page of a gap is touched.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kernels/gpu_moves.h"
#include "kernels/launch/staged.h"

#define RANDOM_PERIODS      300
#define MANY_RANDOM_PERIODS 20000

/* ---- planning by this kernel, whatever the length -------------------------------------------- */

static size_t staged_launches;

static bool plan_staged(const struct dtc_gpu_job *job, struct dtc_gpu_launch *launch)
{
	struct dtc_gpu_shape shape;

	memset(launch, 0, sizeof(*launch));
	if (job->begin == job->end)
		return false;
	dtc_gpu_shape_of_job(job, &shape);
	launch->grid = (uint32_t)dtc_gpu_make_staged(job, &shape, launch);
	staged_launches += launch->grid != 0;
	return launch->grid != 0;
}

static void by_staged(void)
{
	gpu_plan_first = plan_staged;
	staged_launches = 0;
}

/* ---- random periods ---------------------------------------------------------------------------- */

#define RUNS_MOST 128

struct random_period {
	size_t runs;
	size_t lengths[RUNS_MOST];
	size_t disps[RUNS_MOST];
	size_t extent;
};

static size_t random_gap(struct choices *choices, size_t longest)
{
	return chance(choices, 20) ? choose(choices, 200) : choose(choices, longest + 1);
}

/* Runs one behind the other, sometimes far apart, or so that words are shared by many. */
static void choose_period(struct random_period *period, struct choices *choices)
{
	size_t longest = chance(choices, 3) ? 3 : 40;
	size_t gaps = 1 + choose(choices, chance(choices, 3) ? 2 : 20);
	size_t at = choose(choices, 20);

	period->runs = 1 + choose(choices, chance(choices, 2) ? 4 : RUNS_MOST);
	for (size_t i = 0; i < period->runs; i++) {
		period->lengths[i] = 1 + choose(choices, longest);
		period->disps[i] = at;
		at += period->lengths[i] + 1 + random_gap(choices, gaps);
	}
	period->extent = at + random_gap(choices, gaps);
}

/* The packed order is any. */
static void shuffle(struct random_period *period, struct choices *choices)
{
	for (size_t i = period->runs; i > 1; i--) {
		size_t other = choose(choices, i);
		size_t length = period->lengths[other], disp = period->disps[other];

		period->lengths[other] = period->lengths[i - 1];
		period->disps[other] = period->disps[i - 1];
		period->lengths[i - 1] = length;
		period->disps[i - 1] = disp;
	}
}

static size_t put_list(char *text, const size_t numbers[], size_t count)
{
	size_t n = (size_t)sprintf(text, "[");

	for (size_t i = 0; i < count; i++)
		n += (size_t)sprintf(text + n, "%s%zu", i ? "," : "", numbers[i]);
	return n + (size_t)sprintf(text + n, "]");
}

static size_t put_period(char *text, const struct random_period *period)
{
	size_t n = (size_t)sprintf(text, "resized(hindexed(");

	n += put_list(text + n, period->lengths, period->runs);
	n += (size_t)sprintf(text + n, ", ");
	n += put_list(text + n, period->disps, period->runs);
	return n + (size_t)sprintf(text + n, ", byte), 0, %zu)", period->extent);
}

/* Sometimes in loops: rows of periods, planes of rows. */
static size_t put_loops(char *text, const struct random_period *period, size_t each,
			struct choices *choices)
{
	size_t row = each * period->extent + choose(choices, 50);
	size_t n = 0, count = 1;

	if (chance(choices, 2)) {
		n = (size_t)sprintf(text, "contiguous(%zu, ", each);
	} else {
		count = 2 + choose(choices, 3);
		n = (size_t)sprintf(text, "hvector(%zu, 1, %zu, contiguous(%zu, ", count,
				    row, each);
	}
	n += put_period(text + n, period);
	return n + (size_t)sprintf(text + n, count > 1 ? "))" : ")");
}

static void move_random(uint64_t number)
{
	static char text[1 << 14];
	struct choices choices = fixture_choices(number);
	struct random_period period;
	struct gpu_type gpu;
	struct stage stage;

	by_staged();
	choose_period(&period, &choices);
	if (chance(&choices, 2))
		shuffle(&period, &choices);
	put_loops(text, &period, 2 + choose(&choices, 1 + 12000 / period.extent),
		  &choices);
	struct dtconv_type *type = fixture_type(text);
	ck_assert_msg(!stage_open(&stage, type, 1 + choose(&choices, 3),
				  choose(&choices, 16), choose(&choices, 16), number),
		      "%s", text);
	gpu_type_open(&gpu, type);
	gpu_move_whole(&stage, &gpu, choose(&choices, 16));
	for (int round = 0; round < 2; round++)
		gpu_move_cut(&stage, &gpu, &choices);
	gpu_type_close(&gpu);
	fixture_close(&stage);
}

START_TEST(random_periods_move_in_random_fragments)
{
	move_random((uint64_t)_i);
}
END_TEST

/* ---- named periods ----------------------------------------------------------------------------- */

#define RECORD_19OF24 "resized(struct([1, 1, 7], [0, 8, 16], [int, double, char]), 0, 24)"

static const char *const texts[] = {
	"contiguous(3000, " RECORD_19OF24 ")",
	"hvector(20, 1, 7211, contiguous(300, " RECORD_19OF24 "))",
	"hvector(3, 1, 90001, hvector(3, 1, 30007, contiguous(700, " RECORD_19OF24 ")))",
	"hvector(900, 8, 17, byte)",
	"hvector(900, 3, 4, byte)",
	"hvector(9000, 1, 2, byte)",
	"hvector(300, 128, 257, byte)",
	"hvector(100, 1022, 2050, byte)",
	"hvector(30, 1000, 9001, byte)",
	/* All of the memory, in another order. */
	"contiguous(1000, resized(hindexed([3, 5], [5, 0], byte), 0, 8))",
	"contiguous(1000, resized(hindexed([3, 4], [4, 0], byte), 0, 7))",
	/* Every byte of a word in another run. */
	"contiguous(1000, resized(hindexed([1, 1, 1, 1], [6, 0, 2, 4], byte), 0, 9))",
	/* Negative displacements, and a period that begins behind its loop's. */
	"contiguous(1000, resized(hindexed([3, 9], [-7, 1], byte), -7, 21))",
	"contiguous(1000, resized(hindexed([3, 9], [100, 111], byte), 0, 21))",
	/* Aligned to two bytes. */
	"contiguous(2000, resized(hindexed([2, 6], [0, 4], byte), 0, 14))",
};

START_TEST(named_periods_move_at_every_alignment)
{
	struct choices choices = fixture_choices((uint64_t)_i);
	struct gpu_type gpu;
	struct stage stage;

	by_staged();
	fixture_open(&stage, texts[_i], 1);
	gpu_type_open(&gpu, stage.type);
	for (size_t shift = 0; shift < 16; shift++)
		gpu_move_whole(&stage, &gpu, shift);
	ck_assert_uint_eq(staged_launches, 32);
	for (int round = 0; round < 10; round++)
		gpu_move_cut(&stage, &gpu, &choices);
	gpu_type_close(&gpu);
	fixture_close(&stage);
}
END_TEST

/* Bytes that are packed twice; which of them is unpacked is undefined. */
START_TEST(runs_may_overlap)
{
	struct dtconv_type *type = fixture_type(
		"contiguous(500, resized(hindexed([7, 9, 3], [0, 3, 5], byte), 0, 13))");
	struct gpu_type gpu;
	struct stage stage;

	by_staged();
	ck_assert_int_eq(stage_open(&stage, type, 1, 3, 5, 9), 0);
	gpu_type_open(&gpu, type);
	gpu_move_stretch(&stage, &gpu, 0, stage.bytes, 1);
	ck_assert_uint_eq(staged_launches, 2);
	gpu_type_close(&gpu);
	fixture_close(&stage);
}
END_TEST

/* ---- what other kernels keep ------------------------------------------------------------------- */

static const struct {
	const char *text;
	uint64_t user;
} others[] = {
	{ "hvector(9000, 4, 100, byte)", 0 },   /* words */
	{ "hvector(90, 4097, 4200, byte)", 0 }, /* long */
	{ "hvector(900, 1, -3, byte)", 0 },     /* backwards */
	{ "contiguous(900, resized(hindexed([3, 1], [0, 10], byte), 0, 7))",
	  0 }, /* meshed */
	{ "hvector(900, 1, 200, contiguous(9, resized(contiguous(3, byte), 0, 5)))",
	  0 }, /* short rows */
	{ "contiguous(10001, byte)", 0 },
	{ "hvector(9, 5, 9, byte)", 1 },
};

START_TEST(other_periods_are_left_to_other_kernels)
{
	struct dtconv_type *type = fixture_type(others[_i].text);
	struct dtc_gpu_launch launch;
	struct gpu_type gpu;

	by_staged();
	gpu_type_open(&gpu, type);
	struct dtc_gpu_job job = { .layout = gpu.layout,
				   .count = 1,
				   .user = 4096 + others[_i].user,
				   .packed = 8192,
				   .end = gpu.layout->size };
	if (others[_i].user) /* less than a whole period */
		job.begin = 1, job.end = 9;
	ck_assert(!plan_staged(&job, &launch));
	gpu_type_close(&gpu);
	dtconv_type_unref(type);
}
END_TEST

/* ---- gaps -------------------------------------------------------------------------------------- */

/* Blocks at the end of a page, or at its begin, and a page between them that nobody may touch. */
static void move_round_pages(size_t block, bool ends)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), blocks = 8;
	unsigned char *memory = mmap(NULL, (2 * blocks + 1) * page, PROT_NONE,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	/* Kernels load the whole of aligned words of 16 bytes. */
	unsigned char *packed = aligned_alloc(16, (blocks * block + 15) / 16 * 16);
	char text[64];
	struct gpu_type gpu;

	ck_assert(memory != MAP_FAILED && packed);
	for (size_t i = 0; i < blocks; i++)
		ck_assert_int_eq(mprotect(memory + (2 * i + 1) * page, page,
					  PROT_READ | PROT_WRITE),
				 0);
	sprintf(text, "hvector(%zu, %zu, %zu, byte)", blocks, block, 2 * page);
	struct dtconv_type *type = fixture_type(text);
	gpu_type_open(&gpu, type);
	unsigned char *user = memory + page + (ends ? page - block : 0);
	struct dtc_gpu_job job =
		gpu_job(&gpu, 1, user, packed, 0, blocks * block, DTC_UNPACK);
	for (size_t i = 0; i < blocks * block; i++)
		packed[i] = (unsigned char)(i * 7 + 1);
	gpu_move(&job);
	memset(packed, 0, blocks * block);
	job.direction = DTC_PACK;
	gpu_move(&job);
	for (size_t i = 0; i < blocks * block; i++)
		ck_assert_uint_eq(packed[i], (unsigned char)(i * 7 + 1));
	ck_assert_uint_eq(staged_launches, 2);
	gpu_type_close(&gpu);
	dtconv_type_unref(type);
	free(packed);
	munmap(memory, (2 * blocks + 1) * page);
}

START_TEST(pages_in_gaps_are_not_touched)
{
	static const size_t blocks[] = { 33, 127, 501, 991 };

	for (size_t i = 0; i < 4; i++)
		for (int ends = 0; ends < 2; ends++) {
			by_staged();
			move_round_pages(blocks[i], ends);
		}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("gpu staged");
	TCase *named = fixture_case(suite, "named", 60);
	TCase *random = fixture_case(suite, "random", 60);

	tcase_add_loop_test(named, named_periods_move_at_every_alignment, 0,
			    sizeof(texts) / sizeof(texts[0]));
	tcase_add_loop_test(named, other_periods_are_left_to_other_kernels, 0,
			    sizeof(others) / sizeof(others[0]));
	tcase_add_test(named, runs_may_overlap);
	tcase_add_test(named, pages_in_gaps_are_not_touched);
	tcase_add_loop_test(random, random_periods_move_in_random_fragments, 0,
			    fixture_everything() ? MANY_RANDOM_PERIODS : RANDOM_PERIODS);
	return fixture_run(suite);
}
