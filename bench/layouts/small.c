/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Layouts of a few bytes, where the overhead of the call dominates.
 */
#include "config.h"

#include "bench/layouts/layout.h"

#define DOUBLE_BYTES sizeof(double)

/* Variant v has 8 << v packed bytes. */
static size_t doubles_of(int variant)
{
	return (size_t)1 << variant;
}

static int make_small_vector(struct bench_build *b, const struct bench_layout *layout,
			     int variant, size_t target, struct bench_case *c)
{
	size_t n = doubles_of(variant);
	struct hand_blocks *s = build_alloc(b, 1, sizeof(*s));

	(void)layout, (void)target;
	if (s)
		*s = (struct hand_blocks){ .count = n, .pitch = 2 * DOUBLE_BYTES };
	c->hand = build_loop(hand_pack_blocks8, hand_unpack_blocks8, s);
	return build_once(b, c, build_vector(b, n, 1, 2, build_named(b, DTCONV_DOUBLE)),
			  1, 2 * n * DOUBLE_BYTES);
}

/* Blocks of 1, 2, 3, 1 ... doubles with gaps of 1, 2, 3, 4, 1 ... after them. */
static int make_small_indexed(struct bench_build *b, const struct bench_layout *layout,
			      int variant, size_t target, struct bench_case *c)
{
	size_t left = doubles_of(variant);
	struct hand_indexed *s = build_alloc(
		b, 1, sizeof(*s) + left * (sizeof(size_t) + sizeof(uint32_t)));
	size_t lengths[64];
	ptrdiff_t displacements[64];
	size_t at = 0;
	size_t i;

	(void)layout, (void)target;
	c->hand = build_loop(hand_pack_indexed, hand_unpack_indexed, s);
	if (!s)
		return b->status;
	s->displacements = (size_t *)(s + 1);
	s->lengths = (uint32_t *)(s->displacements + left);
	for (i = 0; left; i++) {
		size_t length = 1 + i % 3 < left ? 1 + i % 3 : left;

		lengths[i] = length;
		displacements[i] = (ptrdiff_t)at;
		s->lengths[i] = (uint32_t)(length * DOUBLE_BYTES);
		s->displacements[i] = at * DOUBLE_BYTES;
		at += length + 1 + i % 4;
		left -= length;
	}
	s->count = i;
	return build_once(b, c,
			  build_indexed(b, i, lengths, displacements,
					build_named(b, DTCONV_DOUBLE)),
			  1, at * DOUBLE_BYTES);
}

/* name, make, sizes, parameter sets (8 to 512 bytes), no set to scale, no parameter */
const struct bench_layout bench_layouts_small[] = {
	{ "small_vector", make_small_vector, BENCH_SIZE_APP, 7, 0, 0 },
	{ "small_indexed", make_small_indexed, BENCH_SIZE_APP, 7, 0, 0 },
	{ 0 },
};
