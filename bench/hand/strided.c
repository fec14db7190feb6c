/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Equally spaced blocks. If the block length is known when the loop is written it is a
 * constant, as in an application's own loop; otherwise each block is a memcpy.
 */
#include "config.h"

#include "bench/hand/hand.h"

#include <string.h>

#define LINE  64
#define AHEAD 1024 /* bytes */

static inline void gather_blocks(size_t count, size_t pitch, size_t length,
				 const char *restrict in, char *restrict out)
{
	for (size_t i = 0; i < count; i++)
		memcpy(out + i * length, in + i * pitch, length);
}

static inline void scatter_blocks(size_t count, size_t pitch, size_t length,
				  char *restrict out, const char *restrict in)
{
	for (size_t i = 0; i < count; i++)
		memcpy(out + i * pitch, in + i * length, length);
}

/*
 * Whole lines in memory with gaps between: the hardware cannot predict the next block, so its
 * lines are prefetched for writing.
 */
static inline void scatter_far_blocks(size_t count, size_t pitch, size_t length,
				      char *restrict out, const char *restrict in)
{
	size_t ahead = length < AHEAD ? AHEAD / length * pitch : pitch;

	for (size_t i = 0; i < count; i++, out += pitch, in += length) {
		for (size_t line = 0; line < length; line += LINE)
			__builtin_prefetch(out + ahead + line, 1);
		memcpy(out, in, length);
	}
}

static inline void scatter_lines(size_t count, size_t pitch, size_t length,
				 char *restrict out, const char *restrict in)
{
	if (count * length > HAND_CACHED_BYTES)
		scatter_far_blocks(count, pitch, length, out, in);
	else
		scatter_blocks(count, pitch, length, out, in);
}

/* One pair of functions a length; the compiler sees the constant. */
#define BLOCKS(length, scatter)                                                      \
	void hand_pack_blocks##length(const void *shape, const void *restrict arena, \
				      void *restrict packed)                         \
	{                                                                            \
		const struct hand_blocks *s = shape;                                 \
		gather_blocks(s->count, s->pitch, length, arena, packed);            \
	}                                                                            \
	void hand_unpack_blocks##length(const void *shape, void *restrict arena,     \
					const void *restrict packed)                 \
	{                                                                            \
		const struct hand_blocks *s = shape;                                 \
		scatter(s->count, s->pitch, length, arena, packed);                  \
	}

BLOCKS(12, scatter_blocks)
BLOCKS(64, scatter_lines)
BLOCKS(256, scatter_lines)
BLOCKS(4096, scatter_blocks)

/*
 * Points of five doubles. If they are many and half a page or more apart, calls of memcpy are faster than
 * their words in line: 2.2 instead of 3.0 ns a point on an Intel Xeon, but 1.4 instead of 0.86 in the first cache.
 */
void hand_pack_blocks40(const void *shape, const void *restrict arena,
			void *restrict packed)
{
	const struct hand_blocks *s = shape;

	if (s->beyond_l1 && s->pitch >= HAND_PAGED)
		hand_gather_by_calls(s, 40, arena, packed);
	else
		gather_blocks(s->count, s->pitch, 40, arena, packed);
}

void hand_unpack_blocks40(const void *shape, void *restrict arena,
			  const void *restrict packed)
{
	const struct hand_blocks *s = shape;

	scatter_blocks(s->count, s->pitch, 40, arena, packed);
}

/*
 * Blocks of 4, 8 and 16 bytes at twice their length are the commonest strides there are: with
 * that pitch a constant too, the compiler makes shuffles of them.
 */
#define BLOCKS_HALF(length)                                                          \
	void hand_pack_blocks##length(const void *shape, const void *restrict arena, \
				      void *restrict packed)                         \
	{                                                                            \
		const struct hand_blocks *s = shape;                                 \
		if (s->pitch == 2 * length)                                          \
			gather_blocks(s->count, 2 * length, length, arena, packed);  \
		else                                                                 \
			gather_blocks(s->count, s->pitch, length, arena, packed);    \
	}                                                                            \
	void hand_unpack_blocks##length(const void *shape, void *restrict arena,     \
					const void *restrict packed)                 \
	{                                                                            \
		const struct hand_blocks *s = shape;                                 \
		if (s->pitch == 2 * length)                                          \
			scatter_blocks(s->count, 2 * length, length, arena, packed); \
		else                                                                 \
			scatter_blocks(s->count, s->pitch, length, arena, packed);   \
	}

BLOCKS_HALF(4)
BLOCKS_HALF(8)
BLOCKS_HALF(16)

static inline void gather_nest(const struct hand_nest *s, size_t length,
			       const char *restrict in, char *restrict out)
{
	for (size_t i = 0; i < s->outer_count; i++) {
		gather_blocks(s->inner_count, s->inner_pitch, length, in, out);
		in += s->outer_pitch;
		out += s->inner_count * length;
	}
}

static inline void scatter_nest(const struct hand_nest *s, size_t length,
				char *restrict out, const char *restrict in)
{
	for (size_t i = 0; i < s->outer_count; i++) {
		if (s->far)
			scatter_far_blocks(s->inner_count, s->inner_pitch, length, out,
					   in);
		else
			scatter_blocks(s->inner_count, s->inner_pitch, length, out, in);
		out += s->outer_pitch;
		in += s->inner_count * length;
	}
}

void hand_pack_nest8(const void *shape, const void *restrict arena, void *restrict packed)
{
	gather_nest(shape, 8, arena, packed);
}

void hand_unpack_nest8(const void *shape, void *restrict arena,
		       const void *restrict packed)
{
	scatter_nest(shape, 8, arena, packed);
}

void hand_pack_nest16(const void *shape, const void *restrict arena,
		      void *restrict packed)
{
	gather_nest(shape, 16, arena, packed);
}

void hand_unpack_nest16(const void *shape, void *restrict arena,
			const void *restrict packed)
{
	scatter_nest(shape, 16, arena, packed);
}

void hand_pack_runs(const void *shape, const void *restrict arena, void *restrict packed)
{
	const struct hand_nest *s = shape;

	gather_nest(s, s->run_bytes, arena, packed);
}

void hand_unpack_runs(const void *shape, void *restrict arena,
		      const void *restrict packed)
{
	const struct hand_nest *s = shape;

	scatter_nest(s, s->run_bytes, arena, packed);
}

void hand_pack_vec8_count(const void *shape, const void *restrict arena,
			  void *restrict packed)
{
	const struct hand_instances *s = shape;
	const double *in = arena;
	double *out = packed;

	for (size_t i = 0; i < s->count; i++) {
		for (size_t j = 0; j < 4; j++)
			out[4 * i + j] = in[8 * i + 2 * j];
	}
}

/* With gcc's scatter instructions this would be slower. */
HAND_SCALAR void hand_unpack_vec8_count(const void *shape, void *restrict arena,
					const void *restrict packed)
{
	const struct hand_instances *s = shape;
	const double *in = packed;
	double *out = arena;

	for (size_t i = 0; i < s->count; i++) {
		for (size_t j = 0; j < 4; j++)
			out[8 * i + 2 * j] = in[4 * i + j];
	}
}
