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
#include "generation.h"
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
 * One register. @index gives for each byte of the written side the byte of the read side. It is filled 64 entries at a
 * time, from an offset below 64: what is behind it is laid out later.
 */
struct step {
	struct step_ends ends;
	uint8_t index[WINDOW_BYTES];
};

/* The words that are joined. */
#define WORD_BYTES   4
#define WINDOW_WORDS (WINDOW_BYTES / WORD_BYTES)

/* The most stores of a joined round. */
#define JOINED_MOST 5

/* The user bytes that one of these stores is permuted from: two registers. */
#define JOINED_BYTES (2 * WINDOW_BYTES)

/* One store: words of the two registers that begin at @user. It may alias the steps, whose place it takes. */
struct joined_store {
	ptrdiff_t user;
	uint8_t words[WINDOW_WORDS];
} __attribute__((may_alias));

/*
 * A round of as many periods as fill whole lines of the packed side, or one store as well as they can. One permutation of
 * words reads two registers where a permutation of bytes reads one, so a store holds up to twice as many runs as a step.
 */
struct joined {
	uint16_t periods;
	uint8_t count;  /* of stores */
	uint8_t filled; /* words of the last store */
	struct joined_store store[JOINED_MOST];
} __attribute__((may_alias));

/*
 * The steps of a round. A stored copy has only @count steps, and behind them a joined round that replaces them for
 * packing, if there is one.
 */
struct steps {
	uint16_t count;
	bool joins_two;   /* rounds are packed two at a time, */
	bool joins_lines; /* or as whole lines */
	bool lines; /* each step is a line of the user's side, and a round is some of them */
	size_t periods;      /* in a round */
	size_t packed_bytes; /* of a round */
	ptrdiff_t user_step; /* of a round */
	ptrdiff_t user_end;  /* where the last run of the last step ends */
	struct step step[STEPS_MAX];
	struct joined room; /* behind the most steps */
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

/* Where the line of a displacement begins. */
static ptrdiff_t line_of(ptrdiff_t user)
{
	return user & ~(ptrdiff_t)(DTC_CACHE_LINE - 1);
}

static void begin_step(struct steps *steps, ptrdiff_t user)
{
	size_t packed = 0;

	if (steps->count) {
		const struct step_ends *last = &steps->step[steps->count - 1].ends;

		packed = last->packed + last->bytes;
	}
	if (steps->lines)
		user = line_of(user);
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

/* The number of periods that are one, two or three lines of the user's side, or 0. */
static size_t periods_of_user_lines(const struct dtc_pattern *pattern)
{
	for (size_t lines = 1; lines <= ROUND_WINDOWS && pattern->user_step > 0;
	     lines++) {
		const size_t bytes = lines * DTC_CACHE_LINE;
		const size_t periods = bytes / (size_t)pattern->user_step;

		if (bytes % (size_t)pattern->user_step == 0 &&
		    periods <= pattern->periods)
			return periods;
	}
	return 0;
}

/* The smallest page size of any system. */
#define PAGE_BYTES 4096

/* Whether every page that a load of @bytes bytes touches, from a run on, holds a run of this period or the next one. */
static bool may_load(ptrdiff_t user_step, ptrdiff_t bytes)
{
	return user_step > 0 && user_step <= PAGE_BYTES - bytes;
}

/* Whether the next word, at @user, needs another store. */
static bool needs_store(const struct joined *joined, ptrdiff_t user)
{
	if (!joined->count || joined->filled == WINDOW_WORDS)
		return true;
	const ptrdiff_t offset = user - joined->store[joined->count - 1].user;

	return offset < 0 || offset > JOINED_BYTES - WORD_BYTES;
}

/* Add a word of a run. False if it needs a store too many, or one whose predecessor is not full. */
static bool join_word(struct joined *joined, ptrdiff_t user)
{
	if (needs_store(joined, user)) {
		if (joined->count == JOINED_MOST || joined->filled % WINDOW_WORDS)
			return false;
		joined->store[joined->count++] = (struct joined_store){ .user = user };
		joined->filled = 0;
	}
	struct joined_store *store = &joined->store[joined->count - 1];
	store->words[joined->filled++] = (uint8_t)((user - store->user) / WORD_BYTES);
	return true;
}

/* Join the words of so many periods. False if they are not all words, or do not fill all stores but the last one. */
static bool join_periods(struct joined *joined, const struct dtc_pattern *pattern,
			 size_t periods)
{
	*joined = (struct joined){ .periods = (uint16_t)periods };
	for (size_t i = 0; i < periods; i++)
		for (size_t j = 0; j < pattern->run_count; j++) {
			const struct dtc_short_run *run = &pattern->runs[j];
			const ptrdiff_t user =
				(ptrdiff_t)i * pattern->user_step + run->disp;

			if ((user - pattern->runs[0].disp) % WORD_BYTES ||
			    run->bytes % WORD_BYTES)
				return false;
			for (size_t k = 0; k < run->bytes; k += WORD_BYTES)
				if (!join_word(joined, user + (ptrdiff_t)k))
					return false;
		}
	return true;
}

/* The least number of periods that are whole lines of the packed side, or a line's words if none of them are. */
static size_t periods_of_packed_lines(const struct dtc_pattern *pattern)
{
	size_t periods = 1;

	while (periods < WINDOW_WORDS && periods * pattern->packed_step % DTC_CACHE_LINE)
		periods *= 2;
	return periods;
}

static bool are_whole_lines(const struct joined *joined)
{
	return joined->count && joined->filled == WINDOW_WORDS;
}

static size_t joined_bytes(const struct joined *joined)
{
	return offsetof(struct joined, store) + joined->count * sizeof(joined->store[0]);
}

static size_t step_bytes(const struct steps *steps)
{
	return offsetof(struct steps, step) + steps->count * sizeof(steps->step[0]);
}

static const struct joined *joined_of(const struct steps *steps)
{
	return (const void *)((const char *)steps + step_bytes(steps));
}

/*
 * Whether a pattern is long enough to be laid out in lines, which takes 100 to 200 ns more. Kept steps are laid out for any
 * number of periods.
 */
#define LONG_BYTES (32 << 10)

static bool is_long(const struct dtc_pattern *pattern)
{
	return pattern->periods > LONG_BYTES / pattern->packed_step;
}

/* Join two rounds of one step and at most half a window. False if its bytes are no words. */
static bool join_two(struct joined *joined, const struct steps *steps)
{
	const struct step *step = &steps->step[0];
	const size_t count = step->ends.bytes / WORD_BYTES;

	if (steps->count != 1 || step->ends.bytes > WINDOW_BYTES / 2 ||
	    step->ends.bytes % WORD_BYTES || steps->user_step % WORD_BYTES ||
	    steps->user_step > WINDOW_BYTES || steps->user_step < WINDOW_BYTES / 2)
		return false;
	*joined = (struct joined){ .periods = (uint16_t)(2 * steps->periods),
				   .count = 1,
				   .filled = (uint8_t)(2 * count) };
	joined->store[0].user = step->ends.user;
	for (size_t i = 0; i < count; i++) {
		const uint32_t first = step->index[WORD_BYTES * i];
		uint32_t bytes;

		memcpy(&bytes, step->index + WORD_BYTES * i, sizeof(bytes));
		if (first % WORD_BYTES || bytes != first * 0x01010101u + 0x03020100u)
			return false;
		joined->store[0].words[i] = (uint8_t)(first / WORD_BYTES);
		joined->store[0].words[count + i] =
			(uint8_t)((first + (uint32_t)steps->user_step) / WORD_BYTES);
	}
	return true;
}

/* Join a round of whole lines, if it takes fewer stores than steps. */
static bool join_lines(struct joined *joined, const struct steps *steps,
		       const struct dtc_pattern *pattern)
{
	return join_periods(joined, pattern, periods_of_packed_lines(pattern)) &&
	       are_whole_lines(joined) &&
	       joined->count * steps->packed_bytes <
		       joined->periods * pattern->packed_step * steps->count;
}

/* Pack by fewer stores than the steps of a round take, if there are such. */
static void join_rounds(struct steps *steps, const struct dtc_pattern *pattern)
{
	struct joined *joined = (void *)((char *)steps + step_bytes(steps));
	const bool two_are_a_line = steps->count == 1 &&
				    2 * steps->packed_bytes == DTC_CACHE_LINE;

	steps->joins_lines = is_long(pattern) && !two_are_a_line &&
			     join_lines(joined, steps, pattern);
	steps->joins_two = !steps->joins_lines && join_two(joined, steps);
}

/* Whether rounds are joined for packing. */
static bool joins(const struct steps *steps)
{
	return steps->joins_two || steps->joins_lines;
}

/* Whether lines are packed that can use non-temporal stores. Not measured on CPUs that split lines. */
static bool streams_lines(const struct steps *steps, const struct dtc_pattern *pattern)
{
	return joins(steps) && are_whole_lines(joined_of(steps)) &&
	       pattern->stream == DTC_STREAM_PACKED && !dtc_splits_lines();
}

/* Whether each round is one line of user memory. */
static bool has_lines(const struct steps *steps)
{
	return steps->count == 1 && steps->lines;
}

/* Whether these are outside the caches, and are prefetched. Not measured on CPUs that split lines. */
static bool fetches_lines(const struct steps *steps, const struct dtc_pattern *pattern)
{
	return has_lines(steps) && pattern->stream == DTC_STREAM_USER &&
	       !dtc_splits_lines();
}

/* Lay out the steps of a round of so many periods. False if there are too many. */
static bool lay_out_round(struct steps *steps, const struct dtc_pattern *pattern,
			  size_t periods)
{
	steps->count = 0;
	steps->periods = periods;
	steps->user_step = (ptrdiff_t)periods * pattern->user_step;
	steps->packed_bytes = periods * pattern->packed_step;
	for (size_t i = 0; i < periods; i++) {
		ptrdiff_t disp = (ptrdiff_t)i * pattern->user_step;

		for (size_t j = 0; j < pattern->run_count; j++)
			if (!add_run(steps, disp + pattern->runs[j].disp,
				     pattern->runs[j].bytes,
				     pattern->direction == DTC_UNPACK))
				return false;
	}
	return true;
}

/* Whether steps are better than copying the runs one by one. */
static bool are_worth_it(const struct steps *steps, const struct dtc_pattern *pattern)
{
	return steps->count * RUNS_OF_A_STEP < steps->periods * pattern->run_count;
}

/* Unpack by one step a line. False if a round is not a few lines, or a run of it is in a line behind them. */
static bool lay_out_lines(struct steps *steps, const struct dtc_pattern *pattern)
{
	const size_t periods = pattern->direction == DTC_UNPACK && is_long(pattern)
				       ? periods_of_user_lines(pattern)
				       : 0;

	steps->lines = periods != 0;
	return periods && lay_out_round(steps, pattern, periods) &&
	       (ptrdiff_t)steps->count * DTC_CACHE_LINE <= steps->user_step &&
	       (are_worth_it(steps, pattern) || fetches_lines(steps, pattern));
}

/* Lay out the steps of a round. False if single copies are as good. */
static bool plan_steps(struct steps *steps, const struct dtc_pattern *pattern)
{
	if (!lay_out_lines(steps, pattern)) {
		steps->lines = false;
		if (!lay_out_round(steps, pattern, periods_of_a_round(pattern)))
			return false;
	}
	steps->joins_two = steps->joins_lines = false;
	if (pattern->direction == DTC_PACK && may_load(pattern->user_step, JOINED_BYTES))
		join_rounds(steps, pattern);
	return are_worth_it(steps, pattern) || streams_lines(steps, pattern) ||
	       fetches_lines(steps, pattern);
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
 * One step of packing; @halves if every step packs at most half a word. It loads the gaps between runs as well and ignores
 * them, because masks halve the speed of some CPUs, and stores whole words: the next step overwrites the excess.
 */
DTC_INLINE void pack_step(char *to, const char *user, const struct step_ends *ends,
			  __m512i index, bool halves)
{
	const __m512i bytes =
		_mm512_permutexvar_epi8(index, _mm512_loadu_si512(user + ends->user));

	if (halves || ends->bytes <= WINDOW_BYTES / 2)
		_mm256_storeu_si256((void *)to, _mm512_castsi512_si256(bytes));
	else
		_mm512_storeu_si512(to, bytes);
}

/* The same for unpacking, where the loads from the packed side are wider than necessary. */
DTC_INLINE void unpack_step(char *user, const char *from, const struct step_ends *ends,
			    __m512i index, bool halves)
{
	__m512i bytes;

	if (halves || ends->bytes <= WINDOW_BYTES / 2)
		bytes = _mm512_castsi256_si512(_mm256_loadu_si256((const void *)from));
	else
		bytes = _mm512_loadu_si512(from);
	_mm512_mask_storeu_epi8(user + ends->user, ends->mask,
				_mm512_permutexvar_epi8(index, bytes));
}

DTC_INLINE void move_round(char *user, char *packed, const struct step_ends ends[],
			   const __m512i index[], size_t count, bool unpack, bool halves)
{
#pragma GCC unroll 8
	for (size_t j = 0; j < count; j++)
		if (unpack)
			unpack_step(user, packed + ends[j].packed, &ends[j], index[j],
				    halves);
		else
			pack_step(packed + ends[j].packed, user, &ends[j], index[j],
				  halves);
}

/* Rounds of few steps are unrolled. */
#define UNROLLED_STEPS 3

/*
 * Move rounds [first, end). The steps are copied first, so that they can stay in registers: @count is a constant.
 * The loops end at an address: where registers are short, compilers keep a counter in memory, which costs a third of
 * the speed.
 */
DTC_INLINE void move_each(const struct steps *steps, const struct dtc_pattern *pattern,
			  size_t first, size_t end, size_t count, bool unpack,
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
			move_round(user, packed, ends, index, count, unpack, halves);
		return;
	}
	for (; packed != behind; packed += packed_step, user += user_step)
		move_round(user, packed, ends, index, count, unpack, halves);
}

DTC_INLINE void move_rounds(const struct steps *steps, const struct dtc_pattern *pattern,
			    size_t first, size_t end, size_t count, bool unpack)
{
	if (are_halves(steps, count))
		move_each(steps, pattern, first, end, count, unpack, true);
	else
		move_each(steps, pattern, first, end, count, unpack, false);
}

/* How lines are written. */
enum line_store { STORE, STORE_FETCHED, STORE_PAST_CACHES };

/* The prefetch distance of packed lines. */
#define FETCH_PACKED_AHEAD 512

/*
 * Joined stores write whole words, and the next one overwrites the excess. Past the caches these are whole lines. @count
 * and @store are constants.
 */
DTC_INLINE void join_round(char *packed, const char *user, const ptrdiff_t from[],
			   const __m512i words[], size_t count, enum line_store store)
{
#pragma GCC unroll 8
	for (size_t i = 0; i < count; i++) {
		char *to = packed + i * WINDOW_BYTES;
		const __m512i both = _mm512_permutex2var_epi32(
			_mm512_loadu_si512(user + from[i]), words[i],
			_mm512_loadu_si512(user + from[i] + WINDOW_BYTES));

		if (store == STORE_FETCHED)
			__builtin_prefetch(to + FETCH_PACKED_AHEAD, 1);
		if (store == STORE_PAST_CACHES)
			_mm512_stream_si512((void *)to, both);
		else
			_mm512_storeu_si512(to, both);
	}
}

DTC_INLINE void join(const struct joined *joined, const struct dtc_pattern *pattern,
		     size_t rounds, size_t count, enum line_store store)
{
	const ptrdiff_t user_step = joined->periods * pattern->user_step;
	const size_t packed_step = joined->periods * pattern->packed_step;
	const char *user = pattern->user;
	char *packed = pattern->packed;
	const char *const end = packed + rounds * packed_step;
	__m512i words[JOINED_MOST];
	ptrdiff_t from[JOINED_MOST];

#pragma GCC unroll 8
	for (size_t i = 0; i < count; i++) {
		words[i] = _mm512_cvtepu8_epi32(
			_mm_loadu_si128((const void *)joined->store[i].words));
		from[i] = joined->store[i].user;
	}
	if (count == 1) {
#pragma GCC unroll 4
		for (; packed != end; packed += packed_step, user += user_step)
			join_round(packed, user, from, words, count, store);
		return;
	}
	for (; packed != end; packed += packed_step, user += user_step)
		join_round(packed, user, from, words, count, store);
}

DTC_INLINE void join_any(const struct joined *joined, const struct dtc_pattern *pattern,
			 size_t rounds, enum line_store store)
{
	switch (joined->count) {
	case 1:
		join(joined, pattern, rounds, 1, store);
		break;
	case 2:
		join(joined, pattern, rounds, 2, store);
		break;
	case 3:
		join(joined, pattern, rounds, 3, store);
		break;
	case 4:
		join(joined, pattern, rounds, 4, store);
		break;
	default:
		join(joined, pattern, rounds, JOINED_MOST, store);
	}
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

static bool is_at_line(const char *packed)
{
	return (uintptr_t)packed % DTC_CACHE_LINE == 0;
}

static void pack_joined(const struct steps *steps, const struct dtc_pattern *pattern,
			size_t rounds)
{
	const struct joined *joined = joined_of(steps);

	if (streams_lines(steps, pattern) && is_at_line(pattern->packed))
		join_any(joined, pattern, rounds, STORE_PAST_CACHES);
	else if (is_in_second_cache(pattern))
		join_any(joined, pattern, rounds, STORE_FETCHED);
	else
		join_any(joined, pattern, rounds, STORE);
}

/* Pack rounds of whole lines, behind which there are enough periods for all that they load. Returns the periods. */
static size_t pack_lines(const struct steps *steps, const struct dtc_pattern *pattern)
{
	const size_t periods = joined_of(steps)->periods;
	const size_t behind = 1 + JOINED_BYTES / (size_t)pattern->user_step;
	const size_t rounds =
		pattern->periods > behind ? (pattern->periods - behind) / periods : 0;

	pack_joined(steps, pattern, rounds);
	return rounds * periods;
}

/* The prefetch distance of lines that are written in parts. */
#define FETCH_AHEAD 1024

/* Unpack rounds that need not be exact. @count is a constant. */
DTC_INLINE void unpack_fetched(const struct steps *steps,
			       const struct dtc_pattern *pattern, size_t rounds,
			       size_t count)
{
	const ptrdiff_t user_step = steps->user_step;
	const size_t packed_step = steps->packed_bytes;
	const char *packed = pattern->packed;
	const char *const end = packed + rounds * packed_step;
	char *user = pattern->user;
	__m512i index[ROUND_WINDOWS];
	struct step_ends ends[ROUND_WINDOWS];

	hold_steps(steps, count, index, ends);
	for (; packed != end; user += user_step, packed += packed_step)
#pragma GCC unroll 8
		for (size_t j = 0; j < count; j++) {
			__builtin_prefetch(user + ends[j].user + FETCH_AHEAD, 1);
			unpack_step(user, packed + ends[j].packed, &ends[j], index[j],
				    false);
		}
}

/* The same for one or three lines. Returns the number of rounds. */
static size_t unpack_fetched_lines(const struct steps *steps,
				   const struct dtc_pattern *pattern, size_t rounds)
{
	const bool near = steps->lines && is_in_second_cache(pattern);

	if (has_lines(steps) && (near || fetches_lines(steps, pattern)))
		unpack_fetched(steps, pattern, rounds, 1);
	else if (near && steps->count == ROUND_WINDOWS)
		unpack_fetched(steps, pattern, rounds, ROUND_WINDOWS);
	else
		return 0;
	return rounds;
}

/* A function for each small number of steps, and one for any number. */
#define ROUNDS(NAME, COUNT)                                                        \
	static void pack_##NAME(const struct steps *steps,                         \
				const struct dtc_pattern *pattern, size_t first,   \
				size_t end)                                        \
	{                                                                          \
		move_rounds(steps, pattern, first, end, COUNT, false);             \
	}                                                                          \
	static void unpack_##NAME(const struct steps *steps,                       \
				  const struct dtc_pattern *pattern, size_t first, \
				  size_t end)                                      \
	{                                                                          \
		move_rounds(steps, pattern, first, end, COUNT, true);              \
	}

ROUNDS(steps_1, 1)
ROUNDS(steps_2, 2)
ROUNDS(steps_3, 3)
ROUNDS(steps_4, 4)
ROUNDS(steps_5, 5)
ROUNDS(steps_6, 6)
ROUNDS(steps_7, 7)
ROUNDS(steps_8, 8)
ROUNDS(steps_any, steps->count)

static void (*const rounds_of_steps[][2])(const struct steps *steps,
					  const struct dtc_pattern *pattern, size_t first,
					  size_t end) = {
	{ pack_steps_any, unpack_steps_any }, { pack_steps_1, unpack_steps_1 },
	{ pack_steps_2, unpack_steps_2 },     { pack_steps_3, unpack_steps_3 },
	{ pack_steps_4, unpack_steps_4 },     { pack_steps_5, unpack_steps_5 },
	{ pack_steps_6, unpack_steps_6 },     { pack_steps_7, unpack_steps_7 },
	{ pack_steps_8, unpack_steps_8 },
};

/* The row of rounds_of_steps for these. */
static size_t known_steps(const struct steps *steps)
{
	return steps->count < DTC_ARRAY_LENGTH(rounds_of_steps) ? steps->count : 0;
}

/* The user's bytes that are prefetched at a time, as many ahead. */
#define FETCH_ROUND_BYTES 1024

/*
 * Zen 5 does not prefetch what stores with a mask write. Unpack rounds from @first on, and prefetch those that follow. Returns
 * the round where this ends.
 */
static size_t unpack_fetched_rounds(const struct steps *steps,
				    const struct dtc_pattern *pattern, size_t first,
				    size_t end)
{
	const ptrdiff_t step = steps->user_step;

	if (!dtc_is_zen_5() || pattern->stream != DTC_STREAM_USER || step <= 0)
		return first;
	const size_t some = DTC_MAX((size_t)(FETCH_ROUND_BYTES / step), (size_t)1);

	for (; first < end && end - first >= some; first += some) {
		const char *next = pattern->user + (ptrdiff_t)(first + some) * step;

		for (ptrdiff_t at = 0; at < (ptrdiff_t)some * step; at += DTC_CACHE_LINE)
			__builtin_prefetch(next + at, 1);
		rounds_of_steps[known_steps(steps)][true](steps, pattern, first,
							  first + some);
	}
	return first;
}

/* One step, exactly its own bytes. */
static void move_exactly(const struct step_ends *ends, __m512i index, char *user,
			 char *packed, bool unpack)
{
	const __mmask64 bytes = first_bytes(ends->bytes);

	user += ends->user;
	packed += ends->packed;
	if (unpack)
		_mm512_mask_storeu_epi8(
			user, ends->mask,
			_mm512_permutexvar_epi8(index,
						_mm512_maskz_loadu_epi8(bytes, packed)));
	else
		_mm512_mask_storeu_epi8(
			packed, bytes,
			_mm512_permutexvar_epi8(index, _mm512_maskz_loadu_epi8(ends->mask,
									       user)));
}

/* Move so many periods, at most a round: the first bytes of its steps. */
static void move_part(const struct steps *steps, char *user, char *packed, size_t bytes,
		      bool unpack)
{
	for (const struct step *step = steps->step; bytes; step++) {
		struct step_ends ends = step->ends;

		if (ends.bytes > bytes) {
			ends.mask = _pdep_u64(first_bytes(bytes), ends.mask);
			ends.bytes = bytes;
		}
		bytes -= ends.bytes;
		move_exactly(&ends, _mm512_loadu_si512(step->index), user, packed,
			     unpack);
	}
}

/* Move periods [first, end) exactly. */
static void move_periods(const struct steps *steps, const struct dtc_pattern *pattern,
			 size_t first, size_t end)
{
	while (first < end) {
		const size_t periods = DTC_MIN(end - first, steps->periods);

		move_part(steps, pattern->user + (ptrdiff_t)first * pattern->user_step,
			  pattern->packed + first * pattern->packed_step,
			  periods * pattern->packed_step,
			  pattern->direction == DTC_UNPACK);
		first += periods;
	}
}

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
	if (!may_load(steps->user_step, WINDOW_BYTES))
		return SIZE_MAX;
	return DTC_MAX(packed, 1 + WINDOW_BYTES / (size_t)steps->user_step);
}

static void move_steps(const struct steps *steps, const struct dtc_pattern *pattern)
{
	size_t rounds = pattern->periods / steps->periods;
	bool unpack = pattern->direction == DTC_UNPACK;
	size_t exact = exact_rounds(steps, unpack);
	size_t inexact = rounds > exact ? rounds - exact : 0;
	size_t done = 0;

	if (unpack) {
		done = unpack_fetched_lines(steps, pattern, inexact);
		done = unpack_fetched_rounds(steps, pattern, done, inexact);
	} else if (steps->joins_two) {
		done = inexact / 2 * 2;
		pack_joined(steps, pattern, inexact / 2);
	}
	rounds_of_steps[known_steps(steps)][unpack](steps, pattern, done, inexact);
	move_periods(steps, pattern, inexact * steps->periods, pattern->periods);
}

static void skip_periods(struct dtc_pattern *pattern, size_t periods)
{
	pattern->user += (ptrdiff_t)periods * pattern->user_step;
	pattern->packed += periods * pattern->packed_step;
	pattern->periods -= periods;
}

/* The periods in front of the first one, of so many, that begins a line of a side; 0 if none does. */
static size_t periods_before_line(const char *side, ptrdiff_t step, size_t most)
{
	for (size_t periods = 0; periods < most; periods++)
		if (is_at_line(side + (ptrdiff_t)periods * step))
			return periods;
	return 0;
}

/* The periods to be moved before so that the lines of rounds are lines of memory. */
static size_t periods_in_front(const struct steps *steps,
			       const struct dtc_pattern *pattern)
{
	if (streams_lines(steps, pattern))
		return periods_before_line(
			pattern->packed, (ptrdiff_t)pattern->packed_step,
			DTC_MIN(joined_of(steps)->periods, pattern->periods));
	return steps->lines ? periods_before_line(pattern->user, pattern->user_step,
						  steps->periods)
			    : 0;
}

/* A long pattern, or one that passes the caches. */
static void move_in_lines(const struct steps *steps, const struct dtc_pattern *pattern)
{
	const size_t before = periods_in_front(steps, pattern);
	struct dtc_pattern rest = *pattern;

	move_periods(steps, pattern, 0, before);
	skip_periods(&rest, before);
	if (steps->joins_lines)
		skip_periods(&rest, pack_lines(steps, &rest));
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
	if (!pattern->steps && dtc_passes_caches(pattern->stream) &&
	    pattern->run_count == 1 && !fetches_lines(steps, pattern) &&
	    !streams_lines(steps, pattern))
		return false;
	if (is_long(pattern) || streams_lines(steps, pattern))
		move_in_lines(steps, pattern);
	else
		move_steps(steps, pattern);
	return true;
}

/* Laid out in its own memory, because an attempt that is given up may take more steps. */
static size_t dtc_lay_out_pattern(const struct dtc_pattern *pattern, void *steps)
{
	struct steps planned;

	if (!plan_steps(&planned, pattern))
		return 0;
	size_t bytes = step_bytes(&planned);
	if (joins(&planned))
		bytes += joined_bytes(joined_of(&planned));
	memcpy(steps, &planned, bytes);
	return bytes;
}

#endif
