/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bands of tiles that are transposed in registers. A tile is a cache line of elements wide. A
 * band is any number of whole tiles, one below the other.
 *
 * The transposition exchanges, for each bit of the indices, elements between vectors whose
 * indices differ in that bit.
 */
#ifndef DTC_KERNELS_CPU_TILE_H
#define DTC_KERNELS_CPU_TILE_H

#include "block.h"
#include "kernels.h"

/*
 * @later: the distance from a tile of the target to one that is written soon and is prefetched
 * now, or 0. The hardware prefetcher does not follow strided stores.
 */
typedef void (*dtc_tile_fn)(const struct dtc_grid *band, ptrdiff_t later);

/* The first lines of a tile of the target, one in each row. */
DTC_INLINE void fetch_tile(const char *to, ptrdiff_t pitch, int rows)
{
#pragma GCC unroll 8
	for (int i = 0; i < rows; i++)
		__builtin_prefetch(to + i * pitch, 1);
}

#if defined(__AVX512F__)
#include <immintrin.h>

/* The first and the second of two vectors after the exchange, in 8-byte words. */
struct exchange {
	long long first[8], second[8];
};

static const struct exchange exchange_halves = {
	{ 0, 1, 2, 3, 8, 9, 10, 11 }, { 4, 5, 6, 7, 12, 13, 14, 15 }
};
static const struct exchange exchange_quarters = {
	{ 0, 1, 8, 9, 4, 5, 12, 13 }, { 2, 3, 10, 11, 6, 7, 14, 15 }
};
static const struct exchange exchange_words = {
	{ 0, 8, 2, 10, 4, 12, 6, 14 }, { 1, 9, 3, 11, 5, 13, 7, 15 }
};

DTC_INLINE void exchange(const struct exchange *words, int distance, int count, __m512i v[])
{
	__m512i first = _mm512_loadu_si512(words->first);
	__m512i second = _mm512_loadu_si512(words->second);

#pragma GCC unroll 8
	for (int i = 0; i < count; i++) {
		if (i & distance)
			continue;
		__m512i a = v[i], b = v[i + distance];

		v[i] = _mm512_permutex2var_epi64(a, first, b);
		v[i + distance] = _mm512_permutex2var_epi64(a, second, b);
	}
}

/* @count is a constant, so the lines stay in registers. */
DTC_INLINE void load_lines(__m512i v[], int count, const char *from, ptrdiff_t pitch)
{
#pragma GCC unroll 8
	for (int i = 0; i < count; i++)
		v[i] = _mm512_loadu_si512(from + i * pitch);
}

DTC_INLINE void store_lines(const __m512i v[], int count, char *to, ptrdiff_t pitch, bool stream)
{
#pragma GCC unroll 8
	for (int i = 0; i < count; i++) {
		if (stream)
			_mm512_stream_si512((void *)(to + i * pitch), v[i]);
		else
			_mm512_storeu_si512(to + i * pitch, v[i]);
	}
}

/* Whether a band writes whole lines, which can use non-temporal stores. */
DTC_INLINE bool writes_lines(const struct dtc_grid *band)
{
	return dtc_passes_caches(band->stream) &&
	       ((uintptr_t)band->to | (uintptr_t)band->to_strides.inner) %
			       DTC_CACHE_LINE ==
		       0;
}

DTC_INLINE void lines_of_8_bytes(const struct dtc_grid *band, ptrdiff_t later,
				 bool stream)
{
	for (size_t row = 0; row < band->outer; row += 8) {
		const char *from = band->from + (ptrdiff_t)row * band->from_strides.outer;
		__m512i v[8];

		load_lines(v, 8, from, band->from_strides.outer);
		exchange(&exchange_halves, 4, 8, v);
		exchange(&exchange_quarters, 2, 8, v);
		exchange(&exchange_words, 1, 8, v);
		store_lines(v, 8, band->to + row * 8, band->to_strides.inner, stream);
		if (later)
			fetch_tile(band->to + row * 8 + later, band->to_strides.inner, 8);
	}
}

static void band_of_16_bytes(const struct dtc_grid *band, ptrdiff_t later)
{
	bool stream = writes_lines(band);

	for (size_t row = 0; row < band->outer; row += 4) {
		const char *from = band->from + (ptrdiff_t)row * band->from_strides.outer;
		__m512i v[4];

		load_lines(v, 4, from, band->from_strides.outer);
		exchange(&exchange_halves, 2, 4, v);
		exchange(&exchange_quarters, 1, 4, v);
		store_lines(v, 4, band->to + row * 16, band->to_strides.inner, stream);
		if (later)
			fetch_tile(band->to + row * 16 + later, band->to_strides.inner,
				   4);
	}
}

/* Two elements, one below the other. */
DTC_INLINE __m256i column_of_2(const char *from, ptrdiff_t pitch)
{
	const __m128i first = _mm_loadu_si128((const void *)from);
	const __m128i second = _mm_loadu_si128((const void *)(from + pitch));

	return _mm256_inserti128_si256(_mm256_castsi128_si256(first), second, 1);
}

/* Combine half lines as they are loaded, so that no permutation waits for whole lines. */
static void near_band_of_16_bytes(const struct dtc_grid *band, ptrdiff_t later)
{
	const ptrdiff_t down = band->from_strides.outer, across = band->to_strides.inner;

	for (size_t row = 0; row < band->outer; row += 4) {
		const char *from = band->from + (ptrdiff_t)row * down;
		char *to = band->to + row * 16;

#pragma GCC unroll 4
		for (int i = 0; i < 4; i++) {
			char *line = to + i * across;

			_mm256_storeu_si256((void *)line, column_of_2(from + 16 * i, down));
			_mm256_storeu_si256((void *)(line + 32),
					    column_of_2(from + 2 * down + 16 * i, down));
		}
		fetch_tile(to + later, across, 4);
	}
}

#endif

#if defined(__AVX2__)
#include <immintrin.h>

/* Half a tile each way. */
DTC_INLINE void transpose_4_by_4(char *to, ptrdiff_t to_pitch, const char *from,
				 ptrdiff_t from_pitch)
{
	__m256i a = _mm256_loadu_si256((const void *)from);
	__m256i b = _mm256_loadu_si256((const void *)(from + from_pitch));
	__m256i c = _mm256_loadu_si256((const void *)(from + 2 * from_pitch));
	__m256i d = _mm256_loadu_si256((const void *)(from + 3 * from_pitch));
	__m256i even_low = _mm256_unpacklo_epi64(a, b), odd_low = _mm256_unpackhi_epi64(a, b);
	__m256i even_high = _mm256_unpacklo_epi64(c, d), odd_high = _mm256_unpackhi_epi64(c, d);

	_mm256_storeu_si256((void *)to, _mm256_permute2x128_si256(even_low, even_high, 0x20));
	_mm256_storeu_si256((void *)(to + to_pitch),
			    _mm256_permute2x128_si256(odd_low, odd_high, 0x20));
	_mm256_storeu_si256((void *)(to + 2 * to_pitch),
			    _mm256_permute2x128_si256(even_low, even_high, 0x31));
	_mm256_storeu_si256((void *)(to + 3 * to_pitch),
			    _mm256_permute2x128_si256(odd_low, odd_high, 0x31));
}

/*
 * Use registers of a whole line for non-temporal stores and, on CPUs other than AMD's, for
 * lines beyond the first-level cache. Otherwise half lines are faster (Zen 4: 1.2 times).
 */
static void band_of_8_bytes(const struct dtc_grid *band, ptrdiff_t later)
{
	ptrdiff_t down = band->from_strides.outer, across = band->to_strides.inner;

#if defined(__AVX512F__)
	if (writes_lines(band)) {
		lines_of_8_bytes(band, 0, true);
		return;
	}
	if (later && !__builtin_cpu_is("amd")) {
		lines_of_8_bytes(band, later, false);
		return;
	}
#endif
	for (size_t row = 0; row < band->outer; row += 8) {
		const char *from = band->from + (ptrdiff_t)row * down;
		char *to = band->to + row * 8;

		transpose_4_by_4(to, across, from, down);
		transpose_4_by_4(to + 32, across, from + 4 * down, down);
		transpose_4_by_4(to + 4 * across, across, from + 32, down);
		transpose_4_by_4(to + 4 * across + 32, across, from + 4 * down + 32, down);
		if (later)
			fetch_tile(to + later, across, 8);
	}
}

#if !defined(__AVX512F__)
DTC_INLINE void transpose_2_by_2(char *to, ptrdiff_t to_pitch, const char *from,
				 ptrdiff_t from_pitch)
{
	__m256i a = _mm256_loadu_si256((const void *)from);
	__m256i b = _mm256_loadu_si256((const void *)(from + from_pitch));

	_mm256_storeu_si256((void *)to, _mm256_permute2x128_si256(a, b, 0x20));
	_mm256_storeu_si256((void *)(to + to_pitch), _mm256_permute2x128_si256(a, b, 0x31));
}

static void band_of_16_bytes(const struct dtc_grid *band, ptrdiff_t later)
{
	ptrdiff_t down = band->from_strides.outer, across = band->to_strides.inner;

	for (size_t row = 0; row < band->outer; row += 4) {
		const char *from = band->from + (ptrdiff_t)row * down;
		char *to = band->to + row * 16;

		transpose_2_by_2(to, across, from, down);
		transpose_2_by_2(to + 32, across, from + 2 * down, down);
		transpose_2_by_2(to + 2 * across, across, from + 32, down);
		transpose_2_by_2(to + 2 * across + 32, across, from + 2 * down + 32, down);
		if (later)
			fetch_tile(to + later, across, 4);
	}
}
#endif

#elif defined(DTC_NEON_TILES)
#include <arm_neon.h>

DTC_INLINE uint64x2_t load_words(const char *from)
{
	return vreinterpretq_u64_u8(vld1q_u8((const uint8_t *)from));
}

DTC_INLINE void store_words(char *to, uint64x2_t words)
{
	vst1q_u8((uint8_t *)to, vreinterpretq_u8_u64(words));
}

DTC_INLINE void transpose_2_by_2(char *to, ptrdiff_t to_pitch, const char *from,
				 ptrdiff_t from_pitch)
{
	uint64x2_t a = load_words(from), b = load_words(from + from_pitch);

	store_words(to, vtrn1q_u64(a, b));
	store_words(to + to_pitch, vtrn2q_u64(a, b));
}

static void band_of_8_bytes(const struct dtc_grid *band, ptrdiff_t later)
{
	ptrdiff_t down = band->from_strides.outer, across = band->to_strides.inner;

	for (size_t row = 0; row < band->outer; row += 2) {
		const char *from = band->from + (ptrdiff_t)row * down;
		char *to = band->to + row * 8;

#pragma GCC unroll 4
		for (int pair = 0; pair < 4; pair++)
			transpose_2_by_2(to + 2 * pair * across, across, from + 16 * pair,
					 down);
		if (later && row % 8 == 0)
			fetch_tile(to + later, across, 8);
	}
}

/* Columns 0 and 2 of two rows, each with the words of both rows; then columns 1 and 3. */
DTC_INLINE uint64x2_t even_columns(uint64x2_t a, uint64x2_t b)
{
	return vreinterpretq_u64_u32(
		vtrn1q_u32(vreinterpretq_u32_u64(a), vreinterpretq_u32_u64(b)));
}

DTC_INLINE uint64x2_t odd_columns(uint64x2_t a, uint64x2_t b)
{
	return vreinterpretq_u64_u32(
		vtrn2q_u32(vreinterpretq_u32_u64(a), vreinterpretq_u32_u64(b)));
}

DTC_INLINE void transpose_4_by_4(char *to, ptrdiff_t to_pitch, const char *from,
				 ptrdiff_t from_pitch)
{
	uint64x2_t a = load_words(from), b = load_words(from + from_pitch);
	uint64x2_t c = load_words(from + 2 * from_pitch);
	uint64x2_t d = load_words(from + 3 * from_pitch);
	uint64x2_t even_low = even_columns(a, b), odd_low = odd_columns(a, b);
	uint64x2_t even_high = even_columns(c, d), odd_high = odd_columns(c, d);

	store_words(to, vtrn1q_u64(even_low, even_high));
	store_words(to + to_pitch, vtrn1q_u64(odd_low, odd_high));
	store_words(to + 2 * to_pitch, vtrn2q_u64(even_low, even_high));
	store_words(to + 3 * to_pitch, vtrn2q_u64(odd_low, odd_high));
}

static void band_of_4_bytes(const struct dtc_grid *band, ptrdiff_t later)
{
	ptrdiff_t down = band->from_strides.outer, across = band->to_strides.inner;

	for (size_t row = 0; row < band->outer; row += 4) {
		const char *from = band->from + (ptrdiff_t)row * down;
		char *to = band->to + row * 4;

#pragma GCC unroll 4
		for (int four = 0; four < 4; four++)
			transpose_4_by_4(to + 4 * four * across, across, from + 16 * four,
					 down);
		if (later && row % 16 == 0)
			fetch_tile(to + later, across, 16);
	}
}

#endif

/* The function for elements of @block bytes, or NULL. */
DTC_INLINE dtc_tile_fn dtc_tile_of(size_t block)
{
#if defined(__AVX2__)
	if (block == 8)
		return band_of_8_bytes;
	if (block == 16)
		return band_of_16_bytes;
#elif defined(DTC_NEON_TILES)
	if (block == 4)
		return band_of_4_bytes;
	if (block == 8)
		return band_of_8_bytes;
#endif
	(void)block;
	return NULL;
}

/*
 * The same for sides that are in a core's caches beyond the first level; NULL if there is no
 * faster one.
 */
DTC_INLINE dtc_tile_fn dtc_near_tile_of(size_t block)
{
#if defined(__AVX512F__)
	if (block == 16)
		return near_band_of_16_bytes;
#endif
	return dtc_tile_of(block);
}

#endif
