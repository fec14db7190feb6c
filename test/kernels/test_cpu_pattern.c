/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Patterns of short runs, every set of kernels against a byte loop: one run of every length and
 * stride, arrays of structs, random runs, any number of periods, both directions. A set may
 * refuse a pattern; then the test moves it, and what the set had done all the same would show.
 */
#include "config.h"

#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "cpu_sets.h"
#include "kernels/moves.h"
#include "support/fixture.h"

#define RUNS 64
#define UNWRITTEN 0x5a

static struct moves moves;

static void add_period(const struct dtc_pattern *pattern, size_t period)
{
	ptrdiff_t user = (ptrdiff_t)period * pattern->user_step;
	ptrdiff_t packed = (ptrdiff_t)(period * pattern->packed_step);

	for (size_t i = 0; i < pattern->run_count; i++) {
		const struct dtc_short_run *run = &pattern->runs[i];

		if (pattern->direction == DTC_PACK)
			moves_add(&moves, packed, user + run->disp, run->bytes);
		else
			moves_add(&moves, user + run->disp, packed, run->bytes);
		packed += (ptrdiff_t)run->bytes;
	}
}

static void move_blocks(const struct moves *of, char *to, const char *from)
{
	for (size_t i = 0; i < of->count; i++)
		memcpy(to + of->blocks[i].to, from + of->blocks[i].from,
		       of->blocks[i].bytes);
}

static void run_pattern(const struct dtc_cpu_kernels *cpu, const struct moves *of,
			char *to, const char *from)
{
	struct dtc_pattern pattern = *(const struct dtc_pattern *)of->arg;
	bool pack = pattern.direction == DTC_PACK;

	pattern.packed = pack ? to : (char *)(uintptr_t)from;
	pattern.user = pack ? (char *)(uintptr_t)from : to;
	if (!cpu->pattern || !cpu->pattern(&pattern))
		move_blocks(of, to, from);
}

/* The same with steps that were laid out before, for any number of periods. */
static void run_known_pattern(const struct dtc_cpu_kernels *cpu, const struct moves *of,
			      char *to, const char *from)
{
	struct dtc_pattern pattern = *(const struct dtc_pattern *)of->arg;
	bool pack = pattern.direction == DTC_PACK;
	alignas(max_align_t) char room[DTC_STEPS_MAX];

	pattern.periods = SIZE_MAX;
	memset(room, UNWRITTEN, sizeof(room));
	size_t bytes = cpu->lay_out ? cpu->lay_out(&pattern, room) : 0;
	for (size_t i = bytes; i < sizeof(room); i++)
		ck_assert_int_eq(room[i], UNWRITTEN);
	if (!bytes) {
		move_blocks(of, to, from);
		return;
	}
	/* Exactly as long, so that what is read behind them shows. */
	void *steps = malloc(bytes);
	ck_assert_ptr_nonnull(steps);
	pattern.steps = memcpy(steps, room, bytes);
	pattern.periods = ((const struct dtc_pattern *)of->arg)->periods;
	pattern.packed = pack ? to : (char *)(uintptr_t)from;
	pattern.user = pack ? (char *)(uintptr_t)from : to;
	ck_assert(cpu->pattern(&pattern));
	free(steps);
}

static struct dtc_pattern pattern_of(const struct dtc_short_run runs[], size_t run_count,
				     ptrdiff_t user_step, size_t periods)
{
	struct dtc_pattern pattern = { .runs = runs,
				       .run_count = run_count,
				       .periods = periods,
				       .user_step = user_step };

	for (size_t i = 0; i < run_count; i++)
		pattern.packed_step += runs[i].bytes;
	return pattern;
}

static void set_pattern(struct dtc_pattern *pattern, enum dtc_direction direction)
{
	pattern->direction = direction;
	moves_clear(&moves);
	moves.arg = pattern;
	for (size_t i = 0; i < pattern->periods; i++)
		add_period(pattern, i);
	snprintf(
		moves.text, sizeof(moves.text),
		"%s %zu x %zu runs, the first of %u bytes at %d, %zu bytes in all, step %td",
		direction == DTC_PACK ? "pack" : "unpack", pattern->periods,
		pattern->run_count, (unsigned)pattern->runs[0].bytes,
		(int)pattern->runs[0].disp, pattern->packed_step, pattern->user_step);
}

static void check(const struct dtc_short_run runs[], size_t run_count,
		  ptrdiff_t user_step, size_t periods)
{
	struct dtc_pattern pattern = pattern_of(runs, run_count, user_step, periods);

	for (int direction = DTC_PACK; direction <= DTC_UNPACK; direction++) {
		set_pattern(&pattern, (enum dtc_direction)direction);
		moves.run = run_pattern;
		moves_check(&moves);
		moves.run = run_known_pattern;
		moves_check(&moves);
	}
	moves.run = run_pattern;
}

static const size_t periods[] = { 1, 2, 3, 5, 8, 15, 16, 17, 31, 64, 100, 257 };

static void check_periods(const struct dtc_short_run runs[], size_t run_count,
			  ptrdiff_t user_step)
{
	for (size_t i = 0; i < DTC_ARRAY_LENGTH(periods); i++)
		check(runs, run_count, user_step, periods[i]);
}

START_TEST(one_run_of_every_length_and_stride_is_moved)
{
	for (uint32_t bytes = 1; bytes <= 40; bytes++)
		for (ptrdiff_t gap = 0; gap <= 70; gap += gap < 10 ? 1 : 7) {
			const struct dtc_short_run run = { 0, bytes };

			check_periods(&run, 1, (ptrdiff_t)bytes + gap);
		}
}
END_TEST

START_TEST(periods_may_run_downwards)
{
	static const struct dtc_short_run runs[] = {
		{ 0, 1 }, { 2, 4 }, { 9, 3 }, { 14, 2 }
	};

	for (ptrdiff_t step = 16; step < 150; step += 9)
		check_periods(runs, DTC_ARRAY_LENGTH(runs), -step);
}
END_TEST

START_TEST(runs_may_lie_in_any_order)
{
	static const struct dtc_short_run runs[] = { { 40, 4 }, { 0, 2 },   { 8, 8 },
						     { -6, 3 }, { 70, 16 }, { 17, 1 } };

	for (ptrdiff_t step = 92; step < 200; step += 9)
		check_periods(runs, DTC_ARRAY_LENGTH(runs), step);
}
END_TEST

START_TEST(what_is_read_may_overlap)
{
	static const struct dtc_short_run runs[] = {
		{ 0, 4 }, { 2, 4 }, { 2, 2 }, { 9, 3 }
	};

	for (ptrdiff_t step = -5; step <= 5; step++)
		for (size_t i = 0; i < DTC_ARRAY_LENGTH(periods); i++) {
			struct dtc_pattern pattern = pattern_of(
				runs, DTC_ARRAY_LENGTH(runs), step, periods[i]);

			set_pattern(&pattern, DTC_PACK);
			moves_check(&moves);
		}
}
END_TEST

/* Runs after each other with gaps in between; answers where the last one ends. */
static ptrdiff_t choose_runs(struct choices *choices, struct dtc_short_run runs[],
			     size_t n)
{
	size_t longest = 1 + choose(choices, 40), gap = choose(choices, 20);
	int32_t disp = 0;

	for (size_t i = 0; i < n; i++) {
		runs[i] = (struct dtc_short_run){ disp, (uint32_t)(1 + choose(choices,
									      longest)) };
		disp += (int32_t)(runs[i].bytes + choose(choices, gap + 1));
	}
	return runs[n - 1].disp + (ptrdiff_t)runs[n - 1].bytes;
}

START_TEST(random_runs_are_moved)
{
	struct choices choices = fixture_choices(0);
	struct dtc_short_run runs[RUNS];

	for (size_t i = 0; i < 3000; i++) {
		size_t n = 1 + choose(&choices, chance(&choices, 4) ? RUNS : 6);
		ptrdiff_t end = choose_runs(&choices, runs, n);

		check(runs, n, end + (ptrdiff_t)choose(&choices, 80),
		      1 + choose(&choices, 40));
	}
}
END_TEST

START_TEST(every_alignment_of_both_sides_is_the_same)
{
	static const struct dtc_short_run runs[] = {
		{ 0, 1 }, { 4, 4 }, { 8, 8 }, { 16, 2 }
	};

	for (size_t count = 1; count <= DTC_ARRAY_LENGTH(runs); count++) {
		struct dtc_pattern pattern = pattern_of(runs, count, 24, 21);

		set_pattern(&pattern, DTC_PACK);
		moves_check_alignments(&moves, count == 3 ? 1 : 13);
		set_pattern(&pattern, DTC_UNPACK);
		moves_check_alignments(&moves, count == 3 ? 1 : 13);
	}
}
END_TEST

/* Runs that are half of the user's memory are packed as whole lines, past the caches if they are to. */
START_TEST(lines_past_the_caches_are_the_same_from_any_address)
{
	static const struct dtc_short_run runs[] = {
		{ 0, 8 }, { 16, 8 }, { 32, 8 }, { 48, 8 }
	};

	for (uint32_t bytes = 4; bytes <= 16; bytes *= 2) {
		const struct dtc_short_run run = { 0, bytes };
		struct dtc_pattern pattern = pattern_of(&run, 1, 2 * (ptrdiff_t)bytes, 133);

		pattern.stream = DTC_STREAM_PACKED;
		set_pattern(&pattern, DTC_PACK);
		moves_check_alignments(&moves, bytes == 8 ? 1 : 12);
		pattern.stream = DTC_STREAM_USER;
		set_pattern(&pattern, DTC_UNPACK);
		moves_check_alignments(&moves, bytes == 8 ? 1 : 12);
	}
	struct dtc_pattern pattern = pattern_of(runs, DTC_ARRAY_LENGTH(runs), 64, 37);
	pattern.stream = DTC_STREAM_PACKED;
	set_pattern(&pattern, DTC_PACK);
	moves_check_alignments(&moves, 5);
	moves.run = run_known_pattern;
	moves_check_alignments(&moves, 5);
}
END_TEST

/* Long enough for lines. */
static struct dtc_pattern long_pattern_of(const struct dtc_short_run runs[],
					  size_t run_count, ptrdiff_t user_step)
{
	struct dtc_pattern pattern = pattern_of(runs, run_count, user_step, 0);

	pattern.periods = 2 + (33 << 10) / pattern.packed_step;
	return pattern;
}

/* Both ways; @past: what is written is past the caches. */
static void check_alignments_of(struct dtc_pattern *pattern, bool past)
{
	for (int direction = DTC_PACK; direction <= DTC_UNPACK; direction++) {
		pattern->stream = !past                   ? DTC_STREAM_NONE
				  : direction == DTC_PACK ? DTC_STREAM_PACKED
							  : DTC_STREAM_USER;
		set_pattern(pattern, (enum dtc_direction)direction);
		moves.run = run_pattern;
		moves_check_alignments(&moves, 61);
		moves_check(&moves);
		moves.run = run_known_pattern;
		moves_check_alignments(&moves, 61);
		moves_check(&moves);
	}
}

/* Two to five lines of the packed side are a round, or three of the user's; a run may be in two of them. */
START_TEST(rounds_of_several_lines_are_moved_from_any_address)
{
	static const struct dtc_short_run runs[] = { { 4, 12 }, { 28, 8 } };
	static const struct dtc_short_run odd[] = { { -4, 7 }, { 12, 5 } };
	static const struct dtc_short_run uneven[] = { { 0, 4 }, { 5, 4 }, { 12, 4 } };
	struct dtc_short_run words[RUNS], apart[RUNS / 2];

	for (size_t i = 0; i < RUNS; i++)
		words[i] = (struct dtc_short_run){ 8 * (int32_t)i, 4 };
	/* Eight words, eight, and sixteen, which are too far apart for one store. */
	for (int32_t i = 0; i < RUNS / 2; i++) {
		const int32_t gap = i < 8 ? 0 : i < 16 ? 128 : 192;

		apart[i] = (struct dtc_short_run){ 8 * i + gap, 4 };
	}
	struct dtc_pattern of[] = {
		long_pattern_of(runs, 1, 24),          long_pattern_of(runs, 2, 36),
		long_pattern_of(runs, 2, 48),          long_pattern_of(odd, 2, 24),
		long_pattern_of(words, RUNS / 2, 256), long_pattern_of(words, RUNS, 512),
		long_pattern_of(apart, RUNS / 2, 512), long_pattern_of(uneven, 3, 24),
	};
	for (size_t i = 0; i < 2 * DTC_ARRAY_LENGTH(of); i++)
		check_alignments_of(&of[i / 2], i % 2);
	moves.run = run_pattern;
}
END_TEST

/* As few periods as there may be before the first line, and less than a line of them. */
START_TEST(lines_past_the_caches_may_be_none)
{
	const struct dtc_short_run run = { 0, 8 };

	for (size_t count = 1; count <= 20; count++) {
		struct dtc_pattern pattern = pattern_of(&run, 1, 16, count);

		pattern.stream = DTC_STREAM_PACKED;
		set_pattern(&pattern, DTC_PACK);
		moves_check_alignments(&moves, 8);
	}
}
END_TEST

/* Some processors fetch the lines that are written there. */
START_TEST(patterns_longer_than_the_first_cache_are_moved)
{
	for (uint32_t bytes = 4; bytes <= 16; bytes += 4) {
		const struct dtc_short_run run = { 0, bytes };

		check(&run, 1, bytes == 12 ? 16 : 2 * (ptrdiff_t)bytes,
		      (45 << 10) / (3 * bytes) + 7);
		check(&run, 1, bytes == 4 ? 12 : 24, (45 << 10) / bytes + 5);
	}
}
END_TEST

/* Single words are faster from beyond the caches, unless lines are written past them or fetched. */
static void check_every_second_word(const struct dtc_cpu_kernels *set)
{
	static char user[100 << 10], packed[48 << 10];

	for (uint32_t bytes = 4; bytes <= 16; bytes *= 2) {
		const struct dtc_short_run run = { 0, bytes };
		struct dtc_pattern pattern =
			pattern_of(&run, 1, 2 * (ptrdiff_t)bytes, (40 << 10) / bytes);

		pattern.user = user;
		pattern.packed = packed;
		pattern.stream = DTC_STREAM_PACKED;
		ck_assert_int_eq(set->pattern(&pattern), !splits_lines(set));
		pattern.direction = DTC_UNPACK;
		pattern.stream = DTC_STREAM_USER;
		ck_assert_int_eq(set->pattern(&pattern), !splits_lines(set));
		pattern.user_step++;
		ck_assert(!set->pattern(&pattern));
	}
}

START_TEST(every_second_word_is_a_pattern_past_the_caches_where_lines_are)
{
	for (int i = 0; cpu_set(i); i++)
		if (cpu_set(i)->pattern)
			check_every_second_word(cpu_set(i));
}
END_TEST

/* Or else the cases above compare nothing but their own copies. */
START_TEST(the_set_that_permutes_bytes_takes_every_second_int)
{
	static char user[800], packed[400];
	static const struct dtc_short_run run = { 0, 4 };
	const struct dtc_cpu_kernels *set = dtc_cpu_find("avx512");
	struct dtc_pattern pattern = pattern_of(&run, 1, 8, 100);

	pattern.user = user;
	pattern.packed = packed;
	if (set)
		ck_assert(set->pattern(&pattern));
}
END_TEST

static void setup(void)
{
	moves_setup();
	moves.run = run_pattern;
}

static void teardown(void)
{
	moves_destroy(&moves);
	moves_teardown();
}

int main(void)
{
	Suite *suite = suite_create("cpu patterns");
	TCase *patterns = fixture_case(suite, "patterns", 60);

	tcase_add_checked_fixture(patterns, setup, teardown);
	tcase_add_test(patterns, one_run_of_every_length_and_stride_is_moved);
	tcase_add_test(patterns, periods_may_run_downwards);
	tcase_add_test(patterns, runs_may_lie_in_any_order);
	tcase_add_test(patterns, what_is_read_may_overlap);
	tcase_add_test(patterns, random_runs_are_moved);
	tcase_add_test(patterns, every_alignment_of_both_sides_is_the_same);
	tcase_add_test(patterns, lines_past_the_caches_are_the_same_from_any_address);
	tcase_add_test(patterns, lines_past_the_caches_may_be_none);
	tcase_add_test(patterns, rounds_of_several_lines_are_moved_from_any_address);
	tcase_add_test(patterns, patterns_longer_than_the_first_cache_are_moved);
	tcase_add_test(patterns,
		       every_second_word_is_a_pattern_past_the_caches_where_lines_are);
	tcase_add_test(patterns, the_set_that_permutes_bytes_takes_every_second_int);
	return fixture_run(suite);
}
