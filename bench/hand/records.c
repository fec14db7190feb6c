/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Members of arrays of structs. The records are C structs; on the packed side their members are
 * unaligned bytes.
 */
#include "config.h"

#include "bench/hand/hand.h"

#include <stdalign.h>
#include <string.h>

struct mixed {
	int number;
	alignas(8) double value;
	char tag[8]; /* seven are sent */
};

#define MIXED_PACKED 19

void hand_pack_struct_mixed(const void *shape, const void *restrict arena,
			    void *restrict packed)
{
	const struct hand_instances *s = shape;
	const struct mixed *in = arena;
	char *out = packed;

	for (size_t i = 0; i < s->count; i++, out += MIXED_PACKED) {
		memcpy(out, &in[i].number, 4);
		memcpy(out + 4, &in[i].value, 8);
		memcpy(out + 12, in[i].tag, 7);
	}
}

void hand_unpack_struct_mixed(const void *shape, void *restrict arena,
			      const void *restrict packed)
{
	const struct hand_instances *s = shape;
	const char *in = packed;
	struct mixed *out = arena;

	for (size_t i = 0; i < s->count; i++, in += MIXED_PACKED) {
		memcpy(&out[i].number, in, 4);
		memcpy(&out[i].value, in + 4, 8);
		memcpy(out[i].tag, in + 12, 7);
	}
}

struct record32 {
	float before[2];
	float sent;
	float after[5];
};

HAND_SCALAR void hand_pack_aos4of32(const void *shape, const void *restrict arena,
				    void *restrict packed)
{
	const struct hand_instances *s = shape;
	const struct record32 *in = arena;
	float *out = packed;

	for (size_t i = 0; i < s->count; i++)
		memcpy(&out[i], &in[i].sent, sizeof(*out));
}

void hand_unpack_aos4of32(const void *shape, void *restrict arena,
			  const void *restrict packed)
{
	const struct hand_instances *s = shape;
	const float *in = packed;
	struct record32 *out = arena;

	for (size_t i = 0; i < s->count; i++)
		memcpy(&out[i].sent, &in[i], sizeof(*in));
}

struct point {
	float x, y, z;
};

struct record48 {
	float before[4];
	struct point sent;
	float after[5];
};

void hand_pack_aos12of48(const void *shape, const void *restrict arena,
			 void *restrict packed)
{
	const struct hand_instances *s = shape;
	const struct record48 *in = arena;
	struct point *out = packed;

	for (size_t i = 0; i < s->count; i++)
		out[i] = in[i].sent;
}

void hand_unpack_aos12of48(const void *shape, void *restrict arena,
			   const void *restrict packed)
{
	const struct hand_instances *s = shape;
	const struct point *in = packed;
	struct record48 *out = arena;

	for (size_t i = 0; i < s->count; i++)
		memcpy(&out[i].sent, &in[i], sizeof(*in));
}

/* vector(8, 2, 4, double), vector(16, 1, 3, float) at 240, 5 ints at 424; 448 bytes. */
#define NEST_BYTES  448
#define NEST_PACKED 212
#define NEST_FLOATS 240
#define NEST_INTS   424

void hand_pack_struct_of_vec(const void *shape, const void *restrict arena,
			     void *restrict packed)
{
	const struct hand_instances *s = shape;

	for (size_t i = 0; i < s->count; i++) {
		const char *in = (const char *)arena + i * NEST_BYTES;
		char *out = (char *)packed + i * NEST_PACKED;

		for (size_t j = 0; j < 8; j++)
			memcpy(out + 16 * j, in + 32 * j, 16);
		for (size_t j = 0; j < 16; j++)
			memcpy(out + 128 + 4 * j, in + NEST_FLOATS + 12 * j, 4);
		memcpy(out + 192, in + NEST_INTS, 20);
	}
}

void hand_unpack_struct_of_vec(const void *shape, void *restrict arena,
			       const void *restrict packed)
{
	const struct hand_instances *s = shape;

	for (size_t i = 0; i < s->count; i++) {
		char *out = (char *)arena + i * NEST_BYTES;
		const char *in = (const char *)packed + i * NEST_PACKED;

		for (size_t j = 0; j < 8; j++)
			memcpy(out + 32 * j, in + 16 * j, 16);
		for (size_t j = 0; j < 16; j++)
			memcpy(out + NEST_FLOATS + 12 * j, in + 128 + 4 * j, 4);
		memcpy(out + NEST_INTS, in + 192, 20);
	}
}
