/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Elements and blocks selected by a list. The lists are those that applications keep: 32-bit
 * indices of points, or lengths and offsets of blocks.
 */
#include "config.h"

#include "bench/hand/hand.h"

#include <stdint.h>
#include <string.h>

#define AHEAD 4 /* blocks */

#define ELEMENTS(bytes, element, KIND)                                              \
	KIND                                                                        \
	void hand_pack_gather##bytes(const void *shape, const void *restrict arena, \
				     void *restrict packed)                         \
	{                                                                           \
		const struct hand_gather *s = shape;                                \
		const element *in = arena;                                          \
		element *out = packed;                                              \
                                                                                    \
		for (size_t i = 0; i < s->count; i++)                               \
			out[i] = in[s->list[i]];                                    \
	}                                                                           \
	KIND                                                                        \
	void hand_unpack_gather##bytes(const void *shape, void *restrict arena,     \
				       const void *restrict packed)                 \
	{                                                                           \
		const struct hand_gather *s = shape;                                \
		const element *in = packed;                                         \
		element *out = arena;                                               \
                                                                                    \
		for (size_t i = 0; i < s->count; i++)                               \
			out[s->list[i]] = in[i];                                    \
	}

/* Copied as integers, because the x87 registers of 32-bit builds change some floating-point numbers. */
ELEMENTS(4, uint32_t, )
ELEMENTS(8, uint64_t, HAND_SCALAR)

struct point_float {
	float x, y, z;
};

struct point_double {
	double x, y, z;
};

static inline void pack_points(const struct hand_gather *pick,
			       const struct point_float *restrict in,
			       struct point_float *restrict out)
{
	for (size_t i = 0; i < pick->count; i++)
		out[i] = in[pick->list[i]];
}

static inline void unpack_points(const struct hand_gather *pick,
				 struct point_float *restrict out,
				 const struct point_float *restrict in)
{
	for (size_t i = 0; i < pick->count; i++)
		out[pick->list[i]] = in[i];
}

void hand_pack_points12_two(const void *shape, const void *restrict arena,
			    void *restrict packed)
{
	const struct hand_gather_two *s = shape;
	const void *second = (const char *)arena + s->second;
	struct point_float *out = packed;

	pack_points(&s->first, arena, out);
	pack_points(&s->other, second, out + s->first.count);
}

void hand_unpack_points12_two(const void *shape, void *restrict arena,
			      const void *restrict packed)
{
	const struct hand_gather_two *s = shape;
	void *second = (char *)arena + s->second;
	const struct point_float *in = packed;

	unpack_points(&s->first, arena, in);
	unpack_points(&s->other, second, in + s->first.count);
}

void hand_pack_atoms(const void *shape, const void *restrict arena, void *restrict packed)
{
	const struct hand_atoms *s = shape;
	const struct point_double *position = arena;
	const double *scalar = (const double *)arena + 3 * s->atoms;
	struct point_double *point = packed;
	double *out = (double *)packed + 3 * s->pick.count;

	for (size_t i = 0; i < s->pick.count; i++)
		point[i] = position[s->pick.list[i]];
	for (size_t a = 0; a < s->scalars; a++) {
		for (size_t i = 0; i < s->pick.count; i++)
			out[i] = scalar[s->pick.list[i]];
		scalar += s->atoms;
		out += s->pick.count;
	}
}

void hand_unpack_atoms(const void *shape, void *restrict arena,
		       const void *restrict packed)
{
	const struct hand_atoms *s = shape;
	struct point_double *position = arena;
	double *scalar = (double *)arena + 3 * s->atoms;
	const struct point_double *point = packed;
	const double *in = (const double *)packed + 3 * s->pick.count;

	for (size_t i = 0; i < s->pick.count; i++)
		position[s->pick.list[i]] = point[i];
	for (size_t a = 0; a < s->scalars; a++) {
		for (size_t i = 0; i < s->pick.count; i++)
			scalar[s->pick.list[i]] = in[i];
		scalar += s->atoms;
		in += s->pick.count;
	}
}

/*
 * Blocks of a few doubles each: a loop over the doubles beats a call of memcpy up to some tens
 * of them, and the lengths are known to be multiples of 8. Targets are prefetched by software,
 * because the hardware cannot predict the next blocks.
 */
void hand_pack_indexed(const void *shape, const void *restrict arena,
		       void *restrict packed)
{
	const struct hand_indexed *s = shape;
	double *restrict out = packed;

	for (size_t i = 0; i < s->count; i++) {
		const double *in =
			(const double *)((const char *)arena + s->displacements[i]);
		size_t length = s->lengths[i] / sizeof(double);

		for (size_t j = 0; j < length; j++)
			out[j] = in[j];
		out += length;
	}
}

void hand_unpack_indexed(const void *shape, void *restrict arena,
			 const void *restrict packed)
{
	const struct hand_indexed *s = shape;
	const double *restrict in = packed;

	for (size_t i = 0; i < s->count; i++) {
		double *out = (double *)((char *)arena + s->displacements[i]);
		size_t length = s->lengths[i] / sizeof(double);

		if (i + AHEAD < s->count) {
			const char *later = (char *)arena + s->displacements[i + AHEAD];

			__builtin_prefetch(later, 1);
			__builtin_prefetch(later + 64, 1);
		}
		for (size_t j = 0; j < length; j++)
			out[j] = in[j];
		in += length;
	}
}
