/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The halo of a weather code: boxes out of nine arrays. A halo is three points wide in x, so
 * that width is a constant; in y rows have 11 to 23 points, for which a call of memcpy costs more
 * than it copies.
 */
#include "config.h"

#include "bench/hand/hand.h"

#include <string.h>

#define TWO_DIMENSIONAL   4
#define THREE_DIMENSIONAL 3
#define FOUR_DIMENSIONAL  2
#define HALO_WIDTH        3
#define AHEAD             2 /* rows */

/* Two stores, the second ends with the row: it may cover some of the first once more. */
static inline void copy_row(float *restrict out, const float *restrict in, size_t width)
{
	const size_t half = 8;
	const size_t whole = 16;

	if (width < half || width > 2 * whole) {
		memcpy(out, in, width * sizeof(float));
		return;
	}
	if (width < whole)
		memcpy(out, in, half * sizeof(float));
	else
		memcpy(out, in, whole * sizeof(float));
	if (width > whole + half)
		memcpy(out + width - whole, in + width - whole, whole * sizeof(float));
	else
		memcpy(out + width - half, in + width - half, half * sizeof(float));
}

/* One box: `levels` x s3 rows of `width` floats. */
static inline float *pack_box(const struct hand_wrf *s, size_t width, size_t levels,
			      const float *restrict array, float *restrict out)
{
	for (size_t j = 0; j < s->s3; j++) {
		const float *row = array + (s->j0 + j) * levels * s->d1 + s->i0;

		for (size_t k = 0; k < levels; k++) {
			copy_row(out, row, width);
			out += width;
			row += s->d1;
		}
	}
	return out;
}

static inline const float *unpack_box(const struct hand_wrf *s, size_t width,
				      size_t levels, float *restrict array,
				      const float *restrict in)
{
	for (size_t j = 0; j < s->s3; j++) {
		float *row = array + (s->j0 + j) * levels * s->d1 + s->i0;

		for (size_t k = 0; k < levels; k++) {
			if (s->far) {
				__builtin_prefetch(row + AHEAD * s->d1, 1);
				__builtin_prefetch(row + AHEAD * s->d1 + width - 1, 1);
			}
			copy_row(row, in, width);
			in += width;
			row += s->d1;
		}
	}
	return in;
}

static inline void pack_all(const struct hand_wrf *s, size_t width,
			    const float *restrict array, float *restrict out)
{
	size_t plane = s->d1 * s->d3;
	size_t volume = plane * s->d2;

	for (size_t a = 0; a < TWO_DIMENSIONAL; a++, array += plane)
		out = pack_box(s, width, 1, array, out);
	for (size_t a = 0; a < THREE_DIMENSIONAL; a++, array += volume)
		out = pack_box(s, width, s->d2, array, out);
	for (size_t a = 0; a < FOUR_DIMENSIONAL; a++, array += 2 * volume)
		out = pack_box(s, width, s->d2, array + volume, out);
}

static inline void unpack_all(const struct hand_wrf *s, size_t width,
			      float *restrict array, const float *restrict in)
{
	size_t plane = s->d1 * s->d3;
	size_t volume = plane * s->d2;

	for (size_t a = 0; a < TWO_DIMENSIONAL; a++, array += plane)
		in = unpack_box(s, width, 1, array, in);
	for (size_t a = 0; a < THREE_DIMENSIONAL; a++, array += volume)
		in = unpack_box(s, width, s->d2, array, in);
	for (size_t a = 0; a < FOUR_DIMENSIONAL; a++, array += 2 * volume)
		in = unpack_box(s, width, s->d2, array + volume, in);
}

void hand_pack_wrf(const void *shape, const void *restrict arena, void *restrict packed)
{
	const struct hand_wrf *s = shape;

	if (s->s1 == HALO_WIDTH)
		pack_all(s, HALO_WIDTH, arena, packed);
	else
		pack_all(s, s->s1, arena, packed);
}

void hand_unpack_wrf(const void *shape, void *restrict arena, const void *restrict packed)
{
	const struct hand_wrf *s = shape;

	if (s->s1 == HALO_WIDTH)
		unpack_all(s, HALO_WIDTH, arena, packed);
	else
		unpack_all(s, s->s1, arena, packed);
}
