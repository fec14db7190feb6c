/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Columns, triangles and block-cyclic parts of row-major matrices. Columns are traversed in
 * tiles of one cache line by as many rows, inside blocks that use few pages at a time.
 */
#include "config.h"

#include "bench/hand/hand.h"

#include <string.h>

#define BLOCK 64 /* elements, both ways */
#define LINE  64 /* bytes */

/* The element's size must be a constant where the loops are compiled. */
#define INLINE static inline __attribute__((always_inline))

static inline size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* One tile, read row by row and written column by column, or the other way round. */
INLINE void gather_tile(size_t bytes, const struct hand_columns *s, size_t height,
			size_t width, const char *restrict in, char *restrict out)
{
	for (size_t c = 0; c < width; c++)
		for (size_t r = 0; r < height; r++)
			memcpy(out + (c * s->rows + r) * bytes,
			       in + (r * s->pitch + c) * bytes, bytes);
}

INLINE void scatter_tile(size_t bytes, const struct hand_columns *s, size_t height,
			 size_t width, char *restrict out, const char *restrict in)
{
	for (size_t r = 0; r < height; r++)
		for (size_t c = 0; c < width; c++)
			memcpy(out + (r * s->pitch + c) * bytes,
			       in + (c * s->rows + r) * bytes, bytes);
}

/* Prefetch the lines that the next tile writes, one in each of its rows. */
INLINE void fetch_tile(const char *to, size_t pitch, size_t rows)
{
	for (size_t i = rows; i < 2 * rows; i++)
		__builtin_prefetch(to + i * pitch, 1);
}

/* The tile at (r, c) of a block that ends at (r1, c1); a whole one has constant bounds. */
INLINE void move_tile(size_t bytes, int unpack, const struct hand_columns *s, size_t r,
		      size_t r1, size_t c, size_t c1, char *arena, char *packed)
{
	size_t whole = LINE / bytes;
	size_t height = least(whole, r1 - r);
	size_t width = least(whole, c1 - c);
	char *user = arena + (r * s->pitch + c) * bytes;
	char *stream = packed + (c * s->rows + r) * bytes;

	if (height < whole || width < whole) {
		if (unpack)
			scatter_tile(bytes, s, height, width, user, stream);
		else
			gather_tile(bytes, s, height, width, user, stream);
	} else if (unpack) {
		scatter_tile(bytes, s, whole, whole, user, stream);
		fetch_tile(user, s->pitch * bytes, whole);
	} else {
		gather_tile(bytes, s, whole, whole, user, stream);
		fetch_tile(stream, s->rows * bytes, whole);
	}
}

/* A block: tiles down its rows when packing, along them when unpacking, so that what is
 * written is written in order. */
INLINE void move_block(size_t bytes, int unpack, const struct hand_columns *s, size_t r0,
		       size_t c0, char *arena, char *packed)
{
	size_t r1 = least(r0 + BLOCK, s->rows);
	size_t c1 = least(c0 + BLOCK, s->columns);
	size_t tile = LINE / bytes;

	if (unpack) {
		for (size_t r = r0; r < r1; r += tile)
			for (size_t c = c0; c < c1; c += tile)
				move_tile(bytes, 1, s, r, r1, c, c1, arena, packed);
	} else {
		for (size_t c = c0; c < c1; c += tile)
			for (size_t r = r0; r < r1; r += tile)
				move_tile(bytes, 0, s, r, r1, c, c1, arena, packed);
	}
}

/* Each column is a strided loop. */
INLINE void move_one_by_one(size_t bytes, int unpack, const struct hand_columns *s,
			    char *arena, char *packed)
{
	const size_t rows = s->rows;
	const size_t columns = s->columns;
	const size_t pitch = s->pitch * bytes;

	for (size_t c = 0; c < columns; c++) {
		char *at = arena + c * bytes;

		for (size_t r = 0; r < rows; r++, at += pitch, packed += bytes) {
			if (unpack)
				memcpy(at, packed, bytes);
			else
				memcpy(packed, at, bytes);
		}
	}
}

/*
 * Fewer columns than fit in a line have no tiles. Small matrices of long elements are packed
 * faster without tiles.
 */
INLINE void move_columns(size_t bytes, int unpack, const struct hand_columns *s,
			 char *arena, char *packed)
{
	if (s->columns < LINE / bytes ||
	    (!unpack && bytes > sizeof(double) &&
	     s->rows * s->columns * bytes <= HAND_FIRST_CACHE_BYTES)) {
		move_one_by_one(bytes, unpack, s, arena, packed);
		return;
	}
	for (size_t c = 0; c < s->columns; c += BLOCK)
		for (size_t r = 0; r < s->rows; r += BLOCK)
			move_block(bytes, unpack, s, r, c, arena, packed);
}

void hand_pack_columns8(const void *shape, const void *restrict arena,
			void *restrict packed)
{
	const struct hand_columns *s = shape;
	const struct hand_blocks column = { .count = s->rows, .pitch = s->pitch * 8 };

	if (s->columns == 1 && column.pitch >= HAND_PAGED)
		hand_gather_by_calls(&column, 8, arena, packed);
	else
		move_columns(8, 0, s, (char *)arena, packed);
}

void hand_unpack_columns8(const void *shape, void *restrict arena,
			  const void *restrict packed)
{
	move_columns(8, 1, shape, arena, (char *)packed);
}

void hand_pack_columns16(const void *shape, const void *restrict arena,
			 void *restrict packed)
{
	move_columns(16, 0, shape, (char *)arena, packed);
}

void hand_unpack_columns16(const void *shape, void *restrict arena,
			   const void *restrict packed)
{
	move_columns(16, 1, shape, arena, (char *)packed);
}

void hand_pack_lower_tri(const void *shape, const void *restrict arena,
			 void *restrict packed)
{
	const struct hand_triangle *s = shape;
	const double *in = arena;
	double *out = packed;

	for (size_t i = 0; i < s->n; i++) {
		memcpy(out, in + i * s->n, (i + 1) * sizeof(double));
		out += i + 1;
	}
}

void hand_unpack_lower_tri(const void *shape, void *restrict arena,
			   const void *restrict packed)
{
	const struct hand_triangle *s = shape;
	const double *in = packed;
	double *out = arena;

	for (size_t i = 0; i < s->n; i++) {
		memcpy(out + i * s->n, in, (i + 1) * sizeof(double));
		in += i + 1;
	}
}

#define DEAL  8
#define AHEAD (32 * DEAL) /* doubles: 16 blocks */

void hand_pack_cyclic8(const void *shape, const void *restrict arena,
		       void *restrict packed)
{
	const struct hand_triangle *s = shape;
	double *out = packed;

	for (size_t i = 0; i < s->n; i += 2 * DEAL) {
		for (size_t r = i; r < i + DEAL; r++) {
			const double *row = (const double *)arena + r * s->n;

			for (size_t j = 0; j < s->n; j += 2 * DEAL, out += DEAL)
				memcpy(out, row + j, DEAL * sizeof(double));
		}
	}
}

void hand_unpack_cyclic8(const void *shape, void *restrict arena,
			 const void *restrict packed)
{
	const struct hand_triangle *s = shape;
	const double *in = packed;
	bool far = s->n * s->n * sizeof(double) / 4 > HAND_CACHED_BYTES;

	for (size_t i = 0; i < s->n; i += 2 * DEAL) {
		for (size_t r = i; r < i + DEAL; r++) {
			double *row = (double *)arena + r * s->n;

			for (size_t j = 0; j < s->n; j += 2 * DEAL, in += DEAL) {
				if (far)
					__builtin_prefetch(row + j + AHEAD, 1);
				memcpy(row + j, in, DEAL * sizeof(double));
			}
		}
	}
}
