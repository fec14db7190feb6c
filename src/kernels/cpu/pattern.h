/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Patterns of short runs: arrays of structs, words out of records. A window of up to 64 user
 * bytes is loaded into one register, whose bytes are permuted to or from their packed
 * positions. The window's other bytes are neither loaded nor stored.
 */
#ifndef DTC_KERNELS_CPU_PATTERN_H
#define DTC_KERNELS_CPU_PATTERN_H

#include "base/base.h"
#include "block.h"
#include "kernels.h"

#include <immintrin.h>

#define WINDOW_BYTES 64

/* The most steps of a pattern; the first few stay in registers. */
#define STEPS_MAX 12

/* The most windows that the steps of a round cover. */
#define ROUND_WINDOWS 3

/* A step has to hold more runs than this on average, or copying them one by one is faster. */
#define RUNS_OF_A_STEP 2

/* The user bytes of @mask, relative to @user, are the @bytes packed bytes from @packed on. */
struct step_ends {
	__mmask64 mask;
	ptrdiff_t user;
	size_t packed, bytes;
};

/*
 * One register. @index gives for each byte of the written side the byte of the read side. It is
 * filled 64 entries at a time, from an offset below 64, hence its length.
 */
struct step {
	struct step_ends ends;
	uint8_t index[2 * WINDOW_BYTES];
};

/* 4-byte words in a window. */
#define WINDOW_WORDS (WINDOW_BYTES / 4)

/*
 * The steps of a round. A stored copy has only @count steps. If two rounds are joined into one
 * register, the word permutation is behind the byte permutation of the single step, in entries
 * that no byte uses.
 */
struct steps {
	uint32_t count;
	bool joined;         /* two rounds are packed by one store */
	size_t periods;      /* in a round */
	size_t packed_bytes; /* of a round */
	ptrdiff_t user_step; /* of a round */
	ptrdiff_t user_end;  /* where the last run of the last step ends */
	struct step step[STEPS_MAX];
};

_Static_assert(sizeof(struct steps) <= DTC_STEPS_MAX, "steps outgrow their place");

DTC_INLINE __mmask64 first_bytes(size_t bytes)
{
	return _bzhi_u64(~UINT64_C(0), (unsigned)bytes);
}

/* Consecutive numbers from @first on, for each byte behind it. */
DTC_INLINE void count_from(uint8_t index[], size_t first)
{
	const __m512i iota = _mm512_set_epi8(
		63, 62, 61, 60, 59, 58, 57, 56, 55, 54, 53, 52, 51, 50, 49, 48, 47, 46, 45, 44,
		43, 42, 41, 40, 39, 38, 37, 36, 35, 34, 33, 32, 31, 30, 29, 28, 27, 26, 25, 24,
		23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1,
		0);

	_mm512_storeu_si512(index, _mm512_add_epi8(iota, _mm512_set1_epi8((char)first)));
}

/* Add as much of a run to the last step as fits; returns the number of bytes. */
static size_t extend_step(struct steps *steps, ptrdiff_t user, size_t bytes, bool unpack)
{
	struct step *step = &steps->step[steps->count - 1];
	struct step_ends *ends = &step->ends;
	size_t offset = (size_t)(user - ends->user);

	if (user < steps->user_end || offset >= WINDOW_BYTES)
		return 0;
	size_t taken = DTC_MIN(bytes, WINDOW_BYTES - offset);
	if (unpack)
		count_from(step->index + offset, ends->bytes);
	else
		count_from(step->index + ends->bytes, offset);
	ends->mask |= first_bytes(taken) << offset;
	ends->bytes += taken;
	steps->user_end = user + (ptrdiff_t)taken;
	return taken;
}

static void begin_step(struct steps *steps, ptrdiff_t user)
{
	size_t packed = 0;

	if (steps->count) {
		const struct step_ends *last = &steps->step[steps->count - 1].ends;

		packed = last->packed + last->bytes;
	}
	steps->step[steps->count++].ends = (struct step_ends){ .user = user, .packed = packed };
	steps->user_end = user;
}

/* Add a run, with as many new steps as it needs. False if there are too many. */
static bool add_run(struct steps *steps, ptrdiff_t user, size_t bytes, bool unpack)
{
	size_t taken = steps->count ? extend_step(steps, user, bytes, unpack) : 0;

	while (taken < bytes) {
		if (steps->count == STEPS_MAX)
			return false;
		user += (ptrdiff_t)taken;
		bytes -= taken;
		begin_step(steps, user);
		taken = extend_step(steps, user, bytes, unpack);
	}
	return true;
}

/*
 * The number of periods that fill one, two or three windows well. The limit is low, because
 * each call lays out the steps anew and only a few of them stay in registers.
 */
static size_t periods_of_a_round(const struct dtc_pattern *pattern)
{
	size_t windows = 1, fit = 1;

	if (pattern->user_step <= 0)
		return 1;
	for (; windows <= ROUND_WINDOWS; windows++) {
		size_t bytes = windows * WINDOW_BYTES;

		fit = bytes / (size_t)pattern->user_step;
		if (fit && bytes - fit * (size_t)pattern->user_step <= bytes / 8)
			break;
	}
	return DTC_MIN(DTC_MAX(fit, (size_t)1), pattern->periods);
}

/*
 * Packing rounds of one step and at most half a window, in 4-byte words: join two rounds, so
 * that one store writes both. One permutation of words reads two registers where a permutation
 * of bytes reads one.
 */
static void join_rounds(struct steps *steps)
{
	struct step *step = &steps->step[0];
	size_t count = step->ends.bytes / 4;
	uint32_t words[WINDOW_WORDS] = { 0 };

	if (steps->count != 1 || step->ends.bytes > WINDOW_BYTES / 2 ||
	    step->ends.bytes % 4)
		return;
	for (size_t i = 0; i < count; i++) {
		uint32_t first = step->index[4 * i];
		uint32_t bytes;

		memcpy(&bytes, step->index + 4 * i, sizeof(bytes));
		if (first % 4 || bytes != first * 0x01010101u + 0x03020100u)
			return;
		words[i] = first / 4;
		words[count + i] = WINDOW_WORDS + first / 4;
	}
	memcpy(step->index + WINDOW_BYTES, words, sizeof(words));
	steps->joined = true;
}

/*
 * Whether two joined rounds fill a line, which can use non-temporal stores. Measured on Intel
 * CPUs only.
 */
static bool joins_lines(const struct steps *steps, const struct dtc_pattern *pattern)
{
	return steps->joined && 2 * steps->packed_bytes == DTC_CACHE_LINE &&
	       pattern->stream == DTC_STREAM_PACKED && !__builtin_cpu_is("amd");
}

/* Whether each round is one line of user memory. */
static bool has_lines(const struct steps *steps)
{
	return steps->count == 1 && steps->user_step == DTC_CACHE_LINE;
}

/* Whether these are outside the caches, and are prefetched. Measured on Intel CPUs only. */
static bool fetches_lines(const struct steps *steps, const struct dtc_pattern *pattern)
{
	return has_lines(steps) && pattern->stream == DTC_STREAM_USER &&
	       !__builtin_cpu_is("amd");
}

/* Lay out the steps of a round. False if single copies are as good. */
static bool plan_steps(struct steps *steps, const struct dtc_pattern *pattern)
{
	bool unpack = pattern->direction == DTC_UNPACK;

	steps->count = 0;
	steps->periods = periods_of_a_round(pattern);
	steps->user_step = (ptrdiff_t)steps->periods * pattern->user_step;
	steps->packed_bytes = steps->periods * pattern->packed_step;
	for (size_t i = 0; i < steps->periods; i++) {
		ptrdiff_t disp = (ptrdiff_t)i * pattern->user_step;

		for (size_t j = 0; j < pattern->run_count; j++)
			if (!add_run(steps, disp + pattern->runs[j].disp, pattern->runs[j].bytes,
				     unpack))
				return false;
	}
	steps->joined = false;
	if (!unpack)
		join_rounds(steps);
	return steps->count * RUNS_OF_A_STEP < steps->periods * pattern->run_count ||
	       joins_lines(steps, pattern) || fetches_lines(steps, pattern);
}

DTC_INLINE void hold_steps(const struct steps *steps, size_t count, __m512i index[],
			   struct step_ends ends[])
{
#pragma GCC unroll 8
	for (size_t i = 0; i < count; i++) {
		index[i] = _mm512_loadu_si512(steps->step[i].index);
		ends[i] = steps->step[i].ends;
	}
}

/* Whether every step packs at most half a word: then no step needs a branch. */
DTC_INLINE bool are_halves(const struct steps *steps, size_t count)
{
	bool halves = true;

	for (size_t j = 0; j < count; j++)
		halves &= steps->step[j].ends.bytes <= WINDOW_BYTES / 2;
	return halves;
}

/*
 * One step of packing; @halves if every step packs at most half a word. Only exact steps mask
 * their loads, because masks halve the speed of some CPUs. The other steps load the gaps
 * between runs as well and ignore them; they touch no page without a run (exact_rounds).
 */
DTC_INLINE void pack_step(char *to, const char *user, const struct step_ends *ends,
			  __m512i index, bool exact, bool halves)
{
	const char *from = user + ends->user;
	__m512i bytes = _mm512_permutexvar_epi8(
		index, exact ? _mm512_maskz_loadu_epi8(ends->mask, from)
			     : _mm512_loadu_si512(from));

	if (exact)
		_mm512_mask_storeu_epi8(to, first_bytes(ends->bytes), bytes);
	else if (halves || ends->bytes <= WINDOW_BYTES / 2)
		_mm256_storeu_si256((void *)to, _mm512_castsi512_si256(bytes));
	else
		_mm512_storeu_si512(to, bytes);
}

/* The same for unpacking, where the loads from the packed side are wider than necessary. */
DTC_INLINE void unpack_step(char *user, const char *from, const struct step_ends *ends,
			    __m512i index, bool exact, bool halves)
{
	__m512i bytes;

	if (exact)
		bytes = _mm512_maskz_loadu_epi8(first_bytes(ends->bytes), from);
	else if (halves || ends->bytes <= WINDOW_BYTES / 2)
		bytes = _mm512_castsi256_si512(_mm256_loadu_si256((const void *)from));
	else
		bytes = _mm512_loadu_si512(from);
	_mm512_mask_storeu_epi8(user + ends->user, ends->mask,
				_mm512_permutexvar_epi8(index, bytes));
}

/*
 * When packing, only @exact rounds store exactly their own bytes; the others store whole words, and
 * the next step overwrites the excess.
 */
DTC_INLINE void move_round(char *user, char *packed, const struct step_ends ends[],
			   const __m512i index[], size_t count, bool unpack, bool exact,
			   bool halves)
{
#pragma GCC unroll 8
	for (size_t j = 0; j < count; j++)
		if (unpack)
			unpack_step(user, packed + ends[j].packed, &ends[j], index[j],
				    exact, halves);
		else
			pack_step(packed + ends[j].packed, user, &ends[j], index[j],
				  exact, halves);
}

/* Rounds of few steps are unrolled. */
#define UNROLLED_STEPS 3

/*
 * Move rounds [first, end). The steps are copied first, so that they can stay in registers: @count is a constant.
 * The loops end at an address: where registers are short, compilers keep a counter in memory, which costs a third of
 * the speed.
 */
DTC_INLINE void move_each(const struct steps *steps, const struct dtc_pattern *pattern,
			  size_t first, size_t end, size_t count, bool unpack, bool exact,
			  bool halves)
{
	const ptrdiff_t user_step = steps->user_step;
	const size_t packed_step = steps->packed_bytes;
	char *user = pattern->user + (ptrdiff_t)first * user_step;
	char *packed = pattern->packed + first * packed_step;
	const char *const behind = pattern->packed + end * packed_step;
	__m512i index[STEPS_MAX];
	struct step_ends ends[STEPS_MAX];

	if (first >= end)
		return;
	hold_steps(steps, count, index, ends);
	if (count <= UNROLLED_STEPS) {
#pragma GCC unroll 4
		for (; packed != behind; packed += packed_step, user += user_step)
			move_round(user, packed, ends, index, count, unpack, exact,
				   halves);
		return;
	}
	for (; packed != behind; packed += packed_step, user += user_step)
		move_round(user, packed, ends, index, count, unpack, exact, halves);
}

DTC_INLINE void move_rounds(const struct steps *steps, const struct dtc_pattern *pattern,
			    size_t first, size_t end, size_t count, bool unpack,
			    bool exact)
{
	if (!exact && are_halves(steps, count))
		move_each(steps, pattern, first, end, count, unpack, exact, true);
	else
		move_each(steps, pattern, first, end, count, unpack, exact, false);
}

/* How lines are written. */
enum line_store { STORE, STORE_FETCHED, STORE_PAST_CACHES };

/* The prefetch distance of packed lines. */
#define FETCH_PACKED_AHEAD 512

/*
 * Move two rounds at a time; returns the number of rounds, an even number. They are not exact:
 * they store whole words. Past the caches these are whole lines.
 */
DTC_INLINE size_t join(const struct steps *steps, const struct dtc_pattern *pattern,
		       size_t rounds, enum line_store store)
{
	const __m512i words = _mm512_loadu_si512(steps->step[0].index + WINDOW_BYTES);
	const ptrdiff_t user_step = steps->user_step;
	const size_t packed_step = 2 * steps->packed_bytes;
	const char *user = pattern->user + steps->step[0].ends.user;
	char *packed = pattern->packed;
	const char *const end = packed + rounds / 2 * packed_step;

#pragma GCC unroll 4
	while (packed != end) {
		if (store == STORE_FETCHED)
			__builtin_prefetch(packed + FETCH_PACKED_AHEAD, 1);
		__m512i first = _mm512_loadu_si512(user);
		__m512i second = _mm512_loadu_si512(user + user_step);

		__m512i both = _mm512_permutex2var_epi32(first, words, second);

		if (store == STORE_PAST_CACHES)
			_mm512_stream_si512((void *)packed, both);
		else
			_mm512_storeu_si512(packed, both);
		user += 2 * user_step;
		packed += packed_step;
	}
	return rounds / 2 * 2;
}

/*
 * Whether both sides are in a core's second cache and not in its first. Then lines are fetched before they are
 * written. Measured on Intel CPUs: twice as fast around 48 KiB, 4 % beyond, a tenth slower in the first cache.
 */
#define SECOND_CACHE_LEAST (40 << 10)
#define SECOND_CACHE_MOST  (3 << 19)

static bool is_in_second_cache(const struct dtc_pattern *pattern)
{
	const uint64_t period = dtc_magnitude(pattern->user_step) + pattern->packed_step;

	return pattern->periods > SECOND_CACHE_LEAST / period &&
	       pattern->periods <= SECOND_CACHE_MOST / period && !__builtin_cpu_is("amd");
}

static size_t pack_joined(const struct steps *steps, const struct dtc_pattern *pattern,
			  size_t rounds)
{
	if (joins_lines(steps, pattern) && (uintptr_t)pattern->packed % DTC_CACHE_LINE == 0)
		return join(steps, pattern, rounds, STORE_PAST_CACHES);
	if (is_in_second_cache(pattern))
		return join(steps, pattern, rounds, STORE_FETCHED);
	return join(steps, pattern, rounds, STORE);
}

/* The prefetch distance of lines that are written in parts. */
#define FETCH_AHEAD 1024

/* Move the rounds that need not be exact. Returns their number. */
static size_t unpack_fetched(const struct steps *steps, const struct dtc_pattern *pattern,
			     size_t rounds)
{
	const __m512i index = _mm512_loadu_si512(steps->step[0].index);
	const struct step_ends ends = steps->step[0].ends;
	const char *packed = pattern->packed;
	char *user = pattern->user;

	for (size_t i = 0; i < rounds; i++) {
		__builtin_prefetch(user + FETCH_AHEAD, 1);
		unpack_step(user, packed, &ends, index, false, false);
		user += DTC_CACHE_LINE;
		packed += steps->packed_bytes;
	}
	return rounds;
}

/* A function for each small number of steps, and one for any number. */
#define ROUNDS(NAME, COUNT, EXACT)                                                 \
	static void pack_##NAME(const struct steps *steps,                         \
				const struct dtc_pattern *pattern, size_t first,   \
				size_t end)                                        \
	{                                                                          \
		move_rounds(steps, pattern, first, end, COUNT, false, EXACT);      \
	}                                                                          \
	static void unpack_##NAME(const struct steps *steps,                       \
				  const struct dtc_pattern *pattern, size_t first, \
				  size_t end)                                      \
	{                                                                          \
		move_rounds(steps, pattern, first, end, COUNT, true, EXACT);       \
	}

ROUNDS(steps_1, 1, false)
ROUNDS(steps_2, 2, false)
ROUNDS(steps_3, 3, false)
ROUNDS(steps_4, 4, false)
ROUNDS(steps_5, 5, false)
ROUNDS(steps_6, 6, false)
ROUNDS(steps_7, 7, false)
ROUNDS(steps_8, 8, false)
ROUNDS(steps_any, steps->count, false)
ROUNDS(steps_exactly, steps->count, true)

static void (*const rounds_of_steps[][2])(const struct steps *steps,
					  const struct dtc_pattern *pattern, size_t first,
					  size_t end) = {
	{ pack_steps_any, unpack_steps_any }, { pack_steps_1, unpack_steps_1 },
	{ pack_steps_2, unpack_steps_2 },     { pack_steps_3, unpack_steps_3 },
	{ pack_steps_4, unpack_steps_4 },     { pack_steps_5, unpack_steps_5 },
	{ pack_steps_6, unpack_steps_6 },     { pack_steps_7, unpack_steps_7 },
	{ pack_steps_8, unpack_steps_8 },
};

/* Move periods [first, end), which fill no round, one by one. */
static void move_periods(const struct dtc_pattern *pattern, size_t first, size_t end)
{
	char *packed = pattern->packed + first * pattern->packed_step;

	for (size_t i = first; i < end; i++) {
		char *user = pattern->user + (ptrdiff_t)i * pattern->user_step;

		for (size_t j = 0; j < pattern->run_count; j++) {
			const struct dtc_short_run *run = &pattern->runs[j];

			if (pattern->direction == DTC_UNPACK)
				dtc_copy_block(user + run->disp, packed, run->bytes);
			else
				dtc_copy_block(packed, user + run->disp, run->bytes);
			packed += run->bytes;
		}
	}
}

/* The smallest page size of any system. */
#define PAGE_BYTES 4096

/*
 * The number of rounds at the end that have to be exact. The excess bytes that other rounds
 * touch are harmless: on the packed side they belong to later rounds. On the user's side they
 * are gaps in front of a later round's run, and a round is too short to contain a whole page.
 * All rounds are exact if they are longer, or go backwards.
 */
static size_t exact_rounds(const struct steps *steps, bool unpack)
{
	size_t packed = 1 + WINDOW_BYTES / steps->packed_bytes;

	if (unpack)
		return packed;
	if (steps->user_step <= 0 || steps->user_step > PAGE_BYTES - WINDOW_BYTES)
		return SIZE_MAX;
	return DTC_MAX(packed, 1 + WINDOW_BYTES / (size_t)steps->user_step);
}

static void move_steps(const struct steps *steps, const struct dtc_pattern *pattern)
{
	size_t rounds = pattern->periods / steps->periods;
	size_t known = steps->count < DTC_ARRAY_LENGTH(rounds_of_steps) ? steps->count : 0;
	bool unpack = pattern->direction == DTC_UNPACK;
	size_t exact = exact_rounds(steps, unpack);
	size_t inexact = rounds > exact ? rounds - exact : 0;
	size_t done = 0;

	if (steps->joined)
		done = pack_joined(steps, pattern, inexact);
	else if (unpack && (fetches_lines(steps, pattern) ||
			    (has_lines(steps) && is_in_second_cache(pattern))))
		done = unpack_fetched(steps, pattern, inexact);
	rounds_of_steps[known][unpack](steps, pattern, done, inexact);
	(unpack ? unpack_steps_exactly : pack_steps_exactly)(steps, pattern, inexact, rounds);
	move_periods(pattern, rounds * steps->periods, pattern->periods);
}

/* The same, starting at the first line of the packed side if a period begins there. */
static void move_steps_by_lines(const struct steps *steps, const struct dtc_pattern *pattern)
{
	struct dtc_pattern rest = *pattern;
	size_t before = (size_t)(0 - (uintptr_t)pattern->packed % DTC_CACHE_LINE) % DTC_CACHE_LINE;
	size_t periods = before / pattern->packed_step;

	if (before % pattern->packed_step || periods > pattern->periods) {
		move_steps(steps, pattern);
		return;
	}
	move_periods(pattern, 0, periods);
	rest.user += (ptrdiff_t)periods * pattern->user_step;
	rest.packed += before;
	rest.periods -= periods;
	move_steps(steps, &rest);
}

/*
 * If memory is the bottleneck, runs of one length are slightly faster as single words, unless
 * lines are written with non-temporal stores or prefetched.
 */
static bool dtc_move_pattern(const struct dtc_pattern *pattern)
{
	const struct steps *steps = pattern->steps;
	struct steps planned;

	if (!steps) {
		if (!plan_steps(&planned, pattern))
			return false;
		steps = &planned;
	}
	if (joins_lines(steps, pattern))
		move_steps_by_lines(steps, pattern);
	else if (!pattern->steps && dtc_passes_caches(pattern->stream) &&
		 pattern->run_count == 1 && !fetches_lines(steps, pattern))
		return false;
	else
		move_steps(steps, pattern);
	return true;
}

static size_t dtc_lay_out_pattern(const struct dtc_pattern *pattern, void *steps)
{
	struct steps *planned = steps;

	if (!plan_steps(planned, pattern))
		return 0;
	return offsetof(struct steps, step) + planned->count * sizeof(planned->step[0]);
}

#endif
