/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Unpack never stores to a gap byte, not even its old value. A store of an old value shows
 * only to somebody who changes the byte in between, so these tests do that: a thread that
 * races, and, on x86-64, the processor's single-step trap, which changes every gap byte
 * between any two instructions and so leaves nothing to luck.
 */
#include "config.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "support/fixture.h"
#include "support/layouts.h"

/* ThreadSanitizer holds signals back, so there the race alone must do. */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define THREAD_SANITIZER 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define THREAD_SANITIZER 1
#endif
#if defined(__x86_64__) && !defined(THREAD_SANITIZER)
#define SINGLE_STEPS 1
#else
#define SINGLE_STEPS 0
#endif

/* Larger layouts, long enough for every kernel: one or two a class and width. */
static const char *const wide[] = {
	"hvector(500, 1, 2, byte)",
	"hvector(300, 3, 4, byte)",
	"vector(400, 1, 2, short)",
	"vector(300, 1, 2, int)",
	"vector(300, 1, 3, double)",
	"hvector(200, 7, 8, byte)",
	"hvector(200, 9, 16, byte)",
	"vector(200, 3, 4, int)",
	"hvector(200, 13, 16, byte)",
	"vector(150, 2, 3, double)",
	"hvector(100, 31, 32, byte)",
	"vector(100, 4, 5, double)",
	"hvector(60, 63, 64, byte)",
	"vector(60, 8, 9, double)",
	"hvector(30, 200, 201, byte)",
	"hvector(10, 1000, 1001, byte)",
	"contiguous(150, struct([1, 1], [0, 8], [char, double]))",
	"contiguous(150, struct([1, 1], [0, 4], [int, char]))",
	"contiguous(100, double_int)",
	"contiguous(100, short_int)",
	"indexed_block(1, [9, 3, 0, 5, 14, 30, 22, 26, 18, 40, 44, 36, 50, 61, 55, 58], int)",
	"indexed_block(1, [9, 3, 0, 5, 14, 30, 22, 26, 18, 40, 44, 36, 50, 61, 55, 58], double)",
	"hindexed([5, 3, 8, 1, 17, 40, 2], [10, 0, 20, 40, 60, 90, 140], byte)",
	"vector(20, 1, 2, vector(10, 1, 2, short))",
	"subarray([12, 12, 12], [6, 5, 7], [2, 3, 4], c, int)",
	"subarray([16, 16, 16], [16, 1, 16], [0, 5, 0], c, double)",
	"contiguous(12, resized(vector(12, 1, 16, float), 0, 4))",
	"vector(50, 1, -2, int)",
	/* Where the host goes in tiles, in passes, and where it prefetches. */
	"contiguous(20, resized(vector(80, 1, 24, float), 0, 4))",
	"contiguous(3400, struct([1, 1], [0, 4], [int, char]))",
	"contiguous(100, indexed([3, 1, 2], [0, 9, 4], struct([1, 1], [0, 4], [int, short])))",
};

#define WIDES ((int)(sizeof(wide) / sizeof(wide[0])))

/* Every byte of the target's memory that is no data; they count up. */
struct gaps {
	unsigned char *memory;
	size_t *offsets;
	size_t count;
	unsigned char *added; /* how much each was incremented, one a byte of memory */
};

static void find_gaps(const struct stage *stage, struct gaps *gaps)
{
	unsigned char *data = calloc(1, stage->memory_bytes);

	gaps->memory = stage->target_memory;
	gaps->count = 0;
	gaps->offsets = calloc(stage->memory_bytes, sizeof(gaps->offsets[0]));
	gaps->added = calloc(1, stage->memory_bytes);
	ck_assert(data && gaps->offsets && gaps->added);
	for (size_t i = 0; i < stage->bytes; i++)
		data[stage->target + stage->map[i] - stage->target_memory] = 1;
	for (size_t i = 0; i < stage->memory_bytes; i++)
		if (!data[i])
			gaps->offsets[gaps->count++] = i;
	free(data);
}

/* Takes the increments back and looks whether every one arrived and all data did. */
static void check_gaps(const struct stage *stage, struct gaps *gaps, const char *text)
{
	for (size_t i = 0; i < gaps->count; i++) {
		size_t at = gaps->offsets[i];
		unsigned char right =
			(unsigned char)(stage_guard_byte(at) + gaps->added[at]);

		ck_assert_msg(
			gaps->memory[at] == right,
			"%s: gap byte at displacement %td lost increments: it is %#x, not %#x",
			text, stage_displacement(stage, at), gaps->memory[at], right);
		gaps->memory[at] = stage_guard_byte(at);
	}
	fixture_arrived(stage);
	free(gaps->offsets);
	free(gaps->added);
}

/* The whole stream, once in one call, once in fragments that cut anywhere. */
static void unpack_both_ways(struct stage *stage, struct dtconv_convertor *unpacks,
			     size_t fragment)
{
	size_t moved;

	fixture_ok(dtconv_unpack(stage->type, stage->count, stage->target, stage->stream,
				 stage->bytes, NULL));
	dtconv_convertor_seek(unpacks, 0);
	for (size_t at = 0; at < stage->bytes; at += moved) {
		size_t rest = stage->bytes - at;

		dtconv_convertor_unpack(unpacks, stage->stream + at,
					fragment < rest ? fragment : rest, &moved);
	}
}

/* ---- a thread that races ------------------------------------------------------------- */

struct racer {
	struct gaps *gaps;
	atomic_bool stop;
};

static void *race(void *arg)
{
	struct racer *racer = arg;

	while (!atomic_load(&racer->stop))
		for (size_t i = 0; i < racer->gaps->count; i++) {
			size_t at = racer->gaps->offsets[i];

			__atomic_fetch_add(&racer->gaps->memory[at], 1, __ATOMIC_RELAXED);
			racer->gaps->added[at]++;
		}
	return NULL;
}

/* All of the stream has been unpacked: check it and the gaps. */
static void finish(struct stage *stage, struct gaps *gaps,
		   struct dtconv_convertor *unpacks, const char *text)
{
	stage_deliver(stage, 0, stage->bytes);
	check_gaps(stage, gaps, text);
	dtconv_convertor_destroy(unpacks);
	fixture_close(stage);
}

static void unpack_in_a_race(const char *text)
{
	struct gaps gaps;
	struct racer racer = { .gaps = &gaps };
	struct stage stage;
	pthread_t thread;

	fixture_open(&stage, text, 2);
	find_gaps(&stage, &gaps);
	struct dtconv_convertor *unpacks = fixture_unpack(&stage);
	atomic_init(&racer.stop, false);
	ck_assert_int_eq(pthread_create(&thread, NULL, race, &racer), 0);
	for (size_t i = 0; i < (fixture_everything() ? 4000 : 200); i++)
		unpack_both_ways(&stage, unpacks, 1 + i % 90);
	atomic_store(&racer.stop, true);
	pthread_join(thread, NULL);
	finish(&stage, &gaps, unpacks, text);
}

START_TEST(increments_of_a_racing_thread_survive_on_small_layouts)
{
	unpack_in_a_race(layouts[_i].text);
}
END_TEST

START_TEST(increments_of_a_racing_thread_survive_on_wide_layouts)
{
	unpack_in_a_race(wide[_i]);
}
END_TEST

/* ---- the single-step trap ------------------------------------------------------------ */

#if SINGLE_STEPS

#define TRAP_FLAG 0x100

/* What the signal handler works on; one test steps at a time. */
static struct gaps *stepped;

/* Runs after each instruction: every gap byte goes up by one. */
static void step(int signal_number, siginfo_t *info, void *context)
{
	struct gaps *gaps = stepped;

	(void)signal_number;
	(void)info;
	(void)context;
	for (size_t i = 0; i < gaps->count; i++) {
		size_t at = gaps->offsets[i];

		gaps->memory[at]++;
		gaps->added[at]++;
	}
}

/* Turns the trap flag of this thread on or off. */
static inline void set_trap(bool on)
{
	if (on)
		__writeeflags(__readeflags() | TRAP_FLAG);
	else
		__writeeflags(__readeflags() & ~(unsigned long long)TRAP_FLAG);
}

static void unpack_in_steps(const char *text)
{
	struct dtconv_memory_attr attr = { .struct_size = sizeof(attr) };
	struct sigaction action = { .sa_sigaction = step, .sa_flags = SA_SIGINFO };
	struct gaps gaps;
	struct stage stage;

	fixture_open(&stage, text, 1);
	find_gaps(&stage, &gaps);
	struct dtconv_convertor *unpacks = fixture_unpack(&stage);
	/* A call is hundreds of instructions, and a step some microseconds. */
	size_t fragment = fixture_everything() ? 37 : 37 + stage.bytes / 8;
	/* The look for drivers goes through the dynamic linker, where steps take long. */
	dtconv_memory_query(fixture_context, stage.target, &attr);
	stepped = &gaps;
	ck_assert_int_eq(sigaction(SIGTRAP, &action, NULL), 0);
	set_trap(true);
	unpack_both_ways(&stage, unpacks, fragment);
	set_trap(false);
	finish(&stage, &gaps, unpacks, text);
}

START_TEST(no_instruction_stores_to_a_gap_of_small_layouts)
{
	unpack_in_steps(layouts[_i].text);
}
END_TEST

START_TEST(no_instruction_stores_to_a_gap_of_wide_layouts)
{
	unpack_in_steps(wide[_i]);
}
END_TEST

/* The trap must be able to catch what it is there for: a load, and a store of what it read. */
START_TEST(the_trap_catches_a_store_of_the_old_value)
{
	struct sigaction action = { .sa_sigaction = step, .sa_flags = SA_SIGINFO };
	unsigned char memory[8] = { 0 }, added[8] = { 0 };
	size_t offset = 3;
	struct gaps gaps = { memory, &offset, 1, added };
	volatile unsigned char *gap = memory + 3;

	stepped = &gaps;
	ck_assert_int_eq(sigaction(SIGTRAP, &action, NULL), 0);
	set_trap(true);
	unsigned char old = *gap;
	*gap = old;
	set_trap(false);
	ck_assert_uint_gt(added[3], 0);
	ck_assert_uint_ne(memory[3], added[3]);
}
END_TEST

#endif

int main(void)
{
	Suite *suite = suite_create("gaps");
	TCase *race_case = fixture_case(suite, "race", 120);

	tcase_add_loop_test(race_case,
			    increments_of_a_racing_thread_survive_on_small_layouts, 0,
			    layout_count);
	tcase_add_loop_test(race_case,
			    increments_of_a_racing_thread_survive_on_wide_layouts, 0,
			    WIDES);
#if SINGLE_STEPS
	TCase *step_case = fixture_case(suite, "single steps", 120);

	tcase_add_test(step_case, the_trap_catches_a_store_of_the_old_value);
	tcase_add_loop_test(step_case, no_instruction_stores_to_a_gap_of_small_layouts, 0,
			    layout_count);
	tcase_add_loop_test(step_case, no_instruction_stores_to_a_gap_of_wide_layouts, 0,
			    WIDES);
#endif
	return fixture_run(suite);
}
