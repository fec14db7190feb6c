/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Representations, operations and checksums where a device's memory is involved: every operation on
 * every basic type, all pairs of memory kinds, cuts inside elements, against the oracle and, bit for
 * bit, against the host.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/fixture.h"
#include "support/gpu.h"
#include "support/layouts.h"
#include "support/ref_predefined.h"
#include "support/type_choices.h"

#define GUARD 64 /* bytes of a case's memory beyond what it uses, three times */

/* ---- a typed case in arenas --------------------------------------------------------------- */

struct scene {
	struct typed_case *tc;
	struct choices *choices;
	struct arena user, packed;
	size_t shift; /* of packed memory */
	size_t memory_bytes;
	bool sums;       /* the convertors keep a checksum */
	bool may_refuse; /* the device has no arithmetic or no conversion for an element */
};

/* Numbers that only the processor knows, where they are computed with or converted. */
static bool is_hard(enum dtconv_predefined basic)
{
	return basic == DTCONV_LONG_DOUBLE || basic == DTCONV_C_LONG_DOUBLE_COMPLEX ||
	       basic == DTCONV_CXX_LONG_DOUBLE_COMPLEX || basic == DTCONV_REAL16 ||
	       basic == DTCONV_COMPLEX32;
}

static bool has_hard_elements(const struct typed_case *tc)
{
	for (size_t i = 0; i < tc->map.count; i++)
		if (is_hard((enum dtconv_predefined)tc->map.entries[i].basic))
			return true;
	/* So many changes of kind may be more than a kernel is told. */
	return tc->map.count > 50;
}

static void scene_open(struct scene *scene, struct typed_case *tc, enum arena_kind user,
		       enum arena_kind packed, struct choices *choices)
{
	*scene = (struct scene){ .tc = tc,
				 .choices = choices,
				 .shift = choose(choices, 2) ? choose(choices, 130) : 0,
				 .memory_bytes = tc->span + 3 * GUARD,
				 .sums = chance(choices, 2),
				 .may_refuse = has_hard_elements(tc) };
	arena_open(&scene->user, user, scene->memory_bytes);
	arena_open(&scene->packed, packed, tc->bytes + scene->shift + 2 * GUARD);
}

static void scene_close(struct scene *scene)
{
	arena_close(&scene->user);
	arena_close(&scene->packed);
}

/* Displacement 0 in the arena that stands for the case's @memory. */
static unsigned char *origin(const struct scene *scene, const unsigned char *memory,
			     const unsigned char *at)
{
	return scene->user.memory + (at - memory);
}

static struct dtconv_convertor *make_convertor(const struct scene *scene, bool packs)
{
	const struct typed_case *tc = scene->tc;
	struct dtconv_convertor_params params = typed_case_params(tc);
	struct dtconv_convertor *convertor;
	int status =
		packs ? dtconv_convertor_create_pack(
				tc->type, tc->count,
				origin(scene, tc->source_memory, tc->source), &convertor)
		      : dtconv_convertor_create_unpack(
				tc->type, tc->count,
				origin(scene, tc->target_memory, tc->target), &convertor);

	ck_assert_int_eq(status, 0);
	params.flags = scene->sums ? DTCONV_CONVERTOR_CRC32C : 0;
	fixture_ok(dtconv_convertor_configure(convertor, &params));
	return convertor;
}

/* What has moved is all of the stream. */
static void check_sum(const struct scene *scene, const struct dtconv_convertor *convertor)
{
	uint32_t crc;

	if (!scene->sums)
		return;
	fixture_ok(dtconv_convertor_crc32c(convertor, &crc));
	ck_assert_uint_eq(crc, dtconv_crc32c(0, scene->tc->wire, scene->tc->bytes));
}

/* The next fragment, at once or started; false if it was refused, and might be. */
static bool move(const struct scene *scene, struct dtconv_convertor *convertor,
		 bool packs, size_t at, size_t bytes)
{
	unsigned char *packed = scene->packed.memory + GUARD + scene->shift + at;
	size_t moved = 0;
	int status;

	if (chance(scene->choices, 3)) {
		status = dtconv_convertor_start(convertor, packed, bytes, NULL, NULL);
		if (!status)
			status = dtconv_convertor_wait(convertor, &moved);
	} else {
		status =
			packs ? dtconv_convertor_pack(convertor, packed, bytes, &moved)
			      : dtconv_convertor_unpack(convertor, packed, bytes, &moved);
	}
	if (status == DTCONV_ERR_UNSUPPORTED && scene->may_refuse)
		return false;
	ck_assert_msg(!status, "%s of %s: %s", dtconv_op_name(scene->tc->op),
		      packs ? "pack" : "unpack", fixture_error());
	ck_assert_uint_eq(moved, bytes);
	return true;
}

/* The whole stream in fragments, which now and then are cut anywhere. */
static bool move_all(const struct scene *scene, struct dtconv_convertor *convertor,
		     bool packs)
{
	size_t total = scene->tc->bytes, longest = total;

	if (chance(scene->choices, 2))
		longest = 1 + total / 3 + choose(scene->choices, total + 1);
	for (size_t at = 0, bytes; at < total; at += bytes) {
		bytes = longest == total ? total : 1 + choose(scene->choices, longest);
		bytes = bytes < total - at ? bytes : total - at;
		if (!move(scene, convertor, packs, at, bytes))
			return false;
	}
	return true;
}

static bool check_pack(struct scene *scene)
{
	const struct typed_case *tc = scene->tc;
	size_t bytes = tc->bytes + scene->shift + 2 * GUARD;
	size_t first = GUARD + scene->shift;
	unsigned char *got = malloc(bytes);
	struct dtconv_convertor *convertor = make_convertor(scene, true);

	stage_guard(got, bytes);
	arena_write(&scene->packed, 0, got, bytes);
	arena_write(&scene->user, 0, tc->source_memory, scene->memory_bytes);
	bool moved = move_all(scene, convertor, true);
	if (moved)
		check_sum(scene, convertor);
	dtconv_convertor_destroy(convertor);
	arena_read(&scene->packed, 0, got, bytes);
	ck_assert_msg(!moved || !memcmp(got + first, tc->wire, tc->bytes),
		      "the stream is wrong");
	for (size_t i = 0; moved && i < tc->bytes; i++)
		got[first + i] = stage_guard_byte(first + i);
	ck_assert(!moved || stage_guard_first_wrong(got, bytes) == STAGE_RIGHT);
	free(got);
	return moved;
}

static void check_unpack(struct scene *scene)
{
	struct typed_case *tc = scene->tc;
	struct dtconv_convertor *convertor = make_convertor(scene, false);
	ptrdiff_t wrong = 0;

	arena_write(&scene->user, 0, tc->target_memory, scene->memory_bytes);
	arena_write(&scene->packed, GUARD + scene->shift, tc->wire, tc->bytes);
	bool moved = move_all(scene, convertor, false);
	if (moved)
		check_sum(scene, convertor);
	dtconv_convertor_destroy(convertor);
	if (!moved)
		return;
	arena_read(&scene->user, 0, tc->target_memory, scene->memory_bytes);
	typed_case_arrived(tc, 0, tc->bytes);
	ck_assert_msg(typed_case_is_right(tc, &wrong),
		      "%s left a wrong byte at displacement %td", dtconv_op_name(tc->op),
		      wrong);
}

static void check_type(struct dtconv_type *type, size_t count,
		       const struct dtconv_representation *representation,
		       enum dtconv_op op, enum arena_kind user, enum arena_kind packed,
		       struct choices *choices)
{
	struct typed_case tc;
	struct scene scene;

	if (!typed_case_open(&tc, type, count, representation, op, choices))
		return;
	scene_open(&scene, &tc, user, packed, choices);
	check_pack(&scene);
	check_unpack(&scene);
	scene_close(&scene);
	typed_case_close(&tc);
}

/* A slice of what there is, another one each time, unless everything is asked for. */
static bool is_left_out(struct choices *choices)
{
	return !fixture_everything() && !chance(choices, 10);
}

static struct dtconv_representation representation_of(size_t index)
{
	struct dtconv_representation r;

	fixture_ok(dtconv_representation_find(dtconv_representation_name(index), &r));
	return r;
}

static struct dtconv_representation choose_representation(struct choices *choices)
{
	size_t count = 0;

	while (dtconv_representation_name(count))
		count++;
	return representation_of(choose(choices, count));
}

/* One that the type allows, mostly none that is replace. */
static enum dtconv_op choose_op(struct choices *choices, const struct dtconv_type *type)
{
	for (int round = 0; round < 4; round++) {
		enum dtconv_op op = (enum dtconv_op)choose(choices, DTCONV_OP_USER);

		if (!dtconv_op_check(op, type))
			return op;
	}
	return DTCONV_OP_REPLACE;
}

/* ---- kinds of elements -------------------------------------------------------------------- */

static const char *const shapes[] = {
	"contiguous(300, %s)",
	"hvector(9, 3, 272, %s)",
	"hvector(7, 3, 131, %s)",
	"contiguous(30, hindexed([1,3,2], [0,67,164], %s))",
	"vector(40, 1, 2, vector(3, 1, 4, %s))",
};

#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))

START_TEST(every_operation_on_every_basic_type)
{
	struct choices choices = fixture_choices(21 + (uint64_t)_i);
	enum dtconv_op op = (enum dtconv_op)_i;

	for (int which = 0; which < DTCONV_PREDEFINED_COUNT; which++)
		for (size_t shape = 0; shape < SHAPES; shape++) {
			struct dtconv_representation r = choose_representation(&choices);
			char text[100];

			if (is_left_out(&choices))
				continue;
			snprintf(text, sizeof(text), shapes[shape],
				 ref_predefined[which].name);
			struct dtconv_type *type = fixture_type(text);
			struct dtconv_type *basic = dtconv_type_predefined(
				fixture_context, (enum dtconv_predefined)which);
			if (!dtconv_op_check(op, basic) && !dtconv_op_check(op, type))
				check_type(
					type, 1 + choose(&choices, 3),
					chance(&choices, 2) ? &r : NULL, op, ARENA_DEVICE,
					chance(&choices, 4) ? ARENA_HOST : ARENA_DEVICE,
					&choices);
			dtconv_type_unref(type);
		}
}
END_TEST

START_TEST(every_representation_of_every_basic_type)
{
	struct choices choices = fixture_choices(22);
	const char *name = dtconv_representation_name((size_t)_i);

	if (!name)
		return;
	struct dtconv_representation r = representation_of((size_t)_i);
	for (int which = 0; which < DTCONV_PREDEFINED_COUNT; which++)
		for (size_t shape = 0; shape < SHAPES; shape++) {
			char text[100];

			if (is_left_out(&choices))
				continue;
			snprintf(text, sizeof(text), shapes[shape],
				 ref_predefined[which].name);
			struct dtconv_type *type = fixture_type(text);
			check_type(type, 2, &r, DTCONV_OP_REPLACE, ARENA_DEVICE,
				   ARENA_DEVICE, &choices);
			dtconv_type_unref(type);
		}
}
END_TEST

/* Numbers of several kinds, or of one at several places, in words of all lengths and in none. */
static const char *const records[] = {
	"contiguous(70, struct([1,1,2], [0,8,16], [int,double,float]))",
	"contiguous(700, resized(struct([1,1,2], [0,8,16], [int,double,float]), 0, 32))",
	"contiguous(300, resized(struct([2,3,2], [4,16,48], [int16,double,uint8]), 0, 56))",
	"contiguous(150, resized(struct([5,9,2], [0,40,80], [double,float,int64]), 0, 104))",
	"hvector(5, 9, 250, struct([1,1,2], [0,8,16], [int,double,float]))",
	"contiguous(90, resized(struct([3,2], [0,20], [float,float]), 0, 48))",
	"contiguous(40, resized(struct([1,1,2,1], [0,4,8,24], "
	"[int,float,int64,c_double_complex]), 0, 48))",
	"contiguous(33, resized(struct([1,2,4,1], [0,8,24,40], "
	"[int64,double,float,uint64]), 0, 48))",
	"contiguous(20, resized(struct([2,8,4], [0,32,48], [double,float16,int]), 0, 80))",
	"contiguous(30, resized(hindexed([1,2], [0,32], integer16), 0, 96))",
	"contiguous(50, struct([2,1,3], [0,4,8], [short,int,int8]))",
	"contiguous(30, resized(struct([1,1,2], [0,5,14], [int,double,float]), 0, 23))",
	"contiguous(30, struct([5,5,5,5,5], [0,40,60,100,120], "
	"[double,float,double,int,double]))",
	"contiguous(50, struct([1,1,1], [0,8,16], [long,int,bfloat16]))",
};

#define RECORDS ((int)(sizeof(records) / sizeof(records[0])))

START_TEST(every_representation_of_records)
{
	static const enum dtconv_op ops[] = { DTCONV_OP_REPLACE, DTCONV_OP_SUM,
					      DTCONV_OP_MAX };
	struct choices choices = fixture_choices(28 + (uint64_t)_i);

	for (size_t i = 0; dtconv_representation_name(i); i++)
		for (size_t k = 0; k < sizeof(ops) / sizeof(ops[0]); k++)
			for (int shift = 0; shift < 8; shift += 1 + shift) {
				struct dtconv_representation r = representation_of(i);
				char text[200];

				snprintf(text, sizeof(text), "hindexed([1], [%d], %s)",
					 shift, records[_i]);
				struct dtconv_type *type = fixture_type(text);
				if (!dtconv_op_check(ops[k], type))
					check_type(type, 1 + choose(&choices, 2), &r,
						   ops[k], ARENA_DEVICE, ARENA_DEVICE,
						   &choices);
				dtconv_type_unref(type);
			}
}
END_TEST

/* ---- shapes and memory -------------------------------------------------------------------- */

#define PAIRS (ARENA_KINDS * ARENA_KINDS)

START_TEST(every_layout_between_every_pair_of_kinds)
{
	struct choices choices = fixture_choices(23 + (uint64_t)_i);

	for (int i = 0; i < layout_count; i++) {
		if (is_left_out(&choices))
			continue;
		struct dtconv_type *type = fixture_type(layouts[i].text);
		struct dtconv_representation r = choose_representation(&choices);

		check_type(type, 3, chance(&choices, 4) ? NULL : &r,
			   choose_op(&choices, type), (enum arena_kind)(_i / ARENA_KINDS),
			   (enum arena_kind)(_i % ARENA_KINDS), &choices);
		dtconv_type_unref(type);
	}
}
END_TEST

#define RANDOM_TYPES      400
#define MANY_RANDOM_TYPES 20000

START_TEST(random_types)
{
	struct choices choices = fixture_choices(24);
	int rounds = fixture_everything() ? MANY_RANDOM_TYPES : RANDOM_TYPES;

	for (int round = 0; round < rounds; round++) {
		struct dtconv_type *type =
			type_choose(fixture_context, &choices, &type_bounds_small);
		struct dtconv_representation r = choose_representation(&choices);
		enum arena_kind packed = chance(&choices, 3)   ? ARENA_PINNED
					 : chance(&choices, 3) ? ARENA_HOST
							       : ARENA_DEVICE;

		fixture_ok(dtconv_type_commit(type));
		check_type(type, choose(&choices, 6), chance(&choices, 3) ? NULL : &r,
			   choose_op(&choices, type), ARENA_DEVICE, packed, &choices);
		dtconv_type_unref(type);
	}
}
END_TEST

/* ---- two devices -------------------------------------------------------------------------- */

static struct arena open_on(CUcontext context, size_t bytes)
{
	struct arena arena;
	CUcontext first;

	MUST(CtxGetCurrent(&first));
	MUST(CtxSetCurrent(context));
	arena_open(&arena, ARENA_DEVICE, bytes);
	MUST(CtxSetCurrent(first));
	return arena;
}

/* Case: which side is the second device's, and whether the two are peers. */
START_TEST(numbers_go_from_one_device_to_another)
{
	struct dtconv_representation external = representation_of(1);
	const struct dtconv_convertor_params params = { .struct_size = sizeof(params),
							.representation = &external,
							.op = DTCONV_OP_SUM,
							.flags =
								DTCONV_CONVERTOR_CRC32C };
	struct choices choices = fixture_choices(27);
	struct dtconv_convertor *convertor;
	struct typed_case tc;
	CUcontext contexts[2];
	ptrdiff_t wrong;
	int devices = 0;
	size_t moved;
	uint32_t crc;

	if (gpu.standin)
		gpu.standin->set(STANDIN_PEERS, _i / 2);
	MUST(DeviceGetCount(&devices));
	if (devices < 2)
		return;
	struct dtconv_type *type = fixture_type("vector(500, 1, 2, double)");
	MUST(CtxGetCurrent(&contexts[0]));
	MUST(DevicePrimaryCtxRetain(&contexts[1], 1));
	ck_assert(typed_case_open(&tc, type, 1, &external, DTCONV_OP_SUM, &choices));
	size_t bytes = tc.span + 3 * GUARD;
	struct arena user = open_on(contexts[_i % 2], bytes);
	struct arena packed = open_on(contexts[1 - _i % 2], tc.bytes);
	arena_write(&user, 0, tc.target_memory, bytes);
	arena_write(&packed, 0, tc.wire, tc.bytes);
	dtconv_convertor_create_unpack(
		type, 1, user.memory + (tc.target - tc.target_memory), &convertor);
	fixture_ok(dtconv_convertor_configure(convertor, &params));
	fixture_ok(dtconv_convertor_unpack(convertor, packed.memory, tc.bytes, &moved));
	fixture_ok(dtconv_convertor_crc32c(convertor, &crc));
	ck_assert_uint_eq(crc, dtconv_crc32c(0, tc.wire, tc.bytes));
	arena_read(&user, 0, tc.target_memory, bytes);
	typed_case_arrived(&tc, 0, tc.bytes);
	ck_assert_msg(typed_case_is_right(&tc, &wrong), "wrong byte at %td", wrong);
	dtconv_convertor_destroy(convertor);
	arena_close(&user);
	arena_close(&packed);
	typed_case_close(&tc);
	MUST(DevicePrimaryCtxRelease(1));
	dtconv_type_unref(type);
}
END_TEST

/* ---- bits --------------------------------------------------------------------------------- */

#define NUMBERS 2048

/* Numbers of @bytes at the edges of formats, and any bits. */
static void choose_bits(unsigned char *memory, size_t bytes, struct choices *choices)
{
	static const uint64_t edges[] = {
		0,
		1,
		0x3ff,
		0x400,
		0x7bff,
		0x7c00,
		0x7f7f,
		0x7f80,
		0x3c00,
		0x3f80,
		0x8000,
		0x00800000,
		0x007fffff,
		0x7f7fffff,
		0x7f800000,
		0x3f800000,
		0x80000000,
		UINT64_C(0x0010000000000000),
		UINT64_C(0x000fffffffffffff),
		UINT64_C(0x7fefffffffffffff),
		UINT64_C(0x7ff0000000000000),
		UINT64_C(0x3ff0000000000001),
		UINT64_C(0x8000000000000000),
		UINT64_MAX,
	};

	for (size_t i = 0; i < bytes; i++)
		memory[i] = (unsigned char)choose(choices, 256);
	for (size_t i = 0; i + 8 <= bytes; i += 8)
		if (chance(choices, 3)) {
			uint64_t edge =
				edges[choose(choices, sizeof(edges) / sizeof(edges[0]))];

			edge ^= chance(choices, 2) ? 0 : edge << 16 ^ edge << 32;
			memcpy(memory + i, &edge, sizeof(edge));
		}
}

/* The exponent's bits all ones and a fraction behind; what that is, operations need not keep. */
static bool is_nan(const unsigned char *number, size_t bytes, unsigned exponent_bits)
{
	uint64_t bits = 0;

	memcpy(&bits, number, bytes);
	bits = bits << (64 - 8 * bytes) << 1;
	return bits >> (64 - exponent_bits) == (UINT64_C(1) << exponent_bits) - 1 &&
	       bits << exponent_bits;
}

struct format {
	const char *type;
	size_t bytes;           /* of a number */
	unsigned exponent_bits; /* 0: integers */
};

static const struct format formats[] = {
	{ "int8", 1, 0 },
	{ "uint8", 1, 0 },
	{ "int16", 2, 0 },
	{ "uint16", 2, 0 },
	{ "int32", 4, 0 },
	{ "uint32", 4, 0 },
	{ "int64", 8, 0 },
	{ "uint64", 8, 0 },
	{ "integer16", 8, 0 },
	{ "float16", 2, 5 },
	{ "bfloat16", 2, 8 },
	{ "float", 4, 8 },
	{ "double", 8, 11 },
	{ "complex4", 2, 5 },
	{ "c_float_complex", 4, 8 },
	{ "c_double_complex", 8, 11 },
};

#define FORMATS ((int)(sizeof(formats) / sizeof(formats[0])))

static void unpack(struct dtconv_type *type, enum dtconv_op op, void *user,
		   const void *packed, size_t bytes)
{
	const struct dtconv_convertor_params params = { .struct_size = sizeof(params),
							.op = op };
	size_t moved;

	const struct dtconv_type_attr attr = fixture_attr(type);
	fixture_ok(dtconv_unpack_with(type, bytes / attr.size, user, packed, bytes,
				      &params, &moved));
	ck_assert_uint_eq(moved, bytes);
}

static void check_bits(const struct format *format, struct dtconv_type *type,
		       enum dtconv_op op, struct choices *choices)
{
	const size_t bytes = NUMBERS * 16;
	unsigned char *incoming = malloc(bytes), *host = malloc(bytes),
		      *got = malloc(bytes);
	struct arena user, packed;

	arena_open(&user, ARENA_DEVICE, bytes);
	arena_open(&packed, ARENA_DEVICE, bytes);
	choose_bits(incoming, bytes, choices);
	choose_bits(host, bytes, choices);
	arena_write(&user, 0, host, bytes);
	arena_write(&packed, 0, incoming, bytes);
	unpack(type, op, host, incoming, bytes);
	unpack(type, op, user.memory, packed.memory, bytes);
	arena_read(&user, 0, got, bytes);
	for (size_t i = 0; i < bytes; i += format->bytes)
		ck_assert_msg(
			!memcmp(host + i, got + i, format->bytes) ||
				(format->exponent_bits &&
				 is_nan(host + i, format->bytes, format->exponent_bits) &&
				 is_nan(got + i, format->bytes, format->exponent_bits)),
			"%s of %s differs at byte %zu", dtconv_op_name(op), format->type,
			i);
	arena_close(&user);
	arena_close(&packed);
	free(incoming);
	free(host);
	free(got);
}

START_TEST(any_bits_combine_as_on_the_host)
{
	struct choices choices = fixture_choices(25);
	const struct format *format = &formats[_i];
	struct dtconv_type *type = fixture_type(format->type);

	for (int op = DTCONV_OP_SUM; op <= DTCONV_OP_BXOR; op++)
		if (!dtconv_op_check((enum dtconv_op)op, type))
			check_bits(format, type, (enum dtconv_op)op, &choices);
	dtconv_type_unref(type);
}
END_TEST

#define COUPLES 700

/* Values whose order is easily wrong: both zeros, NaNs, infinities, extremes. */
static const struct {
	const char *type;
	uint64_t values[8];
} couples[] = {
	{ "2int", { 0, 1, UINT32_MAX, INT32_MAX, UINT64_C(0x80000000), 7, 7, 7 } },
	{ "float_int",
	  { 0, UINT64_C(0x80000000), UINT64_C(0x7f800000), UINT64_C(0xff800000),
	    UINT64_C(0x7fc00000), UINT64_C(0xffc00001), UINT64_C(0x3f800000),
	    UINT64_C(0xbf800000) } },
	{ "double_int",
	  { 0, UINT64_C(1) << 63, UINT64_C(0x7ff) << 52, UINT64_C(0xfff) << 52,
	    UINT64_C(0x7ff8) << 48, UINT64_C(0xfff8000000000001), UINT64_C(0x3ff) << 52,
	    UINT64_C(0xbff) << 52 } },
	{ "long_int",
	  { 0, 1, UINT64_MAX, INT64_MAX, UINT64_C(1) << 63, UINT64_C(1) << 32, 7, 7 } },
};

static void choose_couples(unsigned char *memory, size_t step, size_t value_bytes,
			   const uint64_t values[], struct choices *choices)
{
	for (size_t i = 0; i < COUPLES; i++, memory += step) {
		const int32_t index = (int32_t)choose(choices, 5) - 2;

		memcpy(memory, &values[choose(choices, 8)], value_bytes);
		memcpy(memory + value_bytes, &index, sizeof(index));
	}
}

START_TEST(couples_of_any_values_compare_as_on_the_host)
{
	static unsigned char host[COUPLES * 16], got[COUPLES * 16], incoming[COUPLES * 16];
	struct choices choices = fixture_choices(26);
	struct dtconv_type *type = fixture_type(couples[_i].type);
	const struct dtconv_type_attr attr = fixture_attr(type);
	const size_t value_bytes = attr.size - sizeof(int32_t);
	struct arena user, packed;

	arena_open(&user, ARENA_DEVICE, sizeof(host));
	arena_open(&packed, ARENA_DEVICE, sizeof(incoming));
	for (int op = DTCONV_OP_MINLOC; op <= DTCONV_OP_MAXLOC; op++) {
		choose_couples(host, (size_t)attr.extent, value_bytes,
			       couples[_i].values, &choices);
		choose_couples(incoming, attr.size, value_bytes, couples[_i].values,
			       &choices);
		arena_write(&user, 0, host, sizeof(host));
		arena_write(&packed, 0, incoming, sizeof(incoming));
		unpack(type, (enum dtconv_op)op, host, incoming, COUPLES * attr.size);
		unpack(type, (enum dtconv_op)op, user.memory, packed.memory,
		       COUPLES * attr.size);
		arena_read(&user, 0, got, sizeof(got));
		ck_assert(!memcmp(host, got, sizeof(host)));
	}
	arena_close(&user);
	arena_close(&packed);
	dtconv_type_unref(type);
}
END_TEST

/* ---- failures ----------------------------------------------------------------------------- */

START_TEST(a_number_too_large_is_told)
{
	struct dtconv_representation external = representation_of(1);
	const struct dtconv_convertor_params params = { .struct_size = sizeof(params),
							.representation = &external };
	struct dtconv_type *type = fixture_type("contiguous(500, long)");
	struct dtconv_convertor_attr attr = { .struct_size = sizeof(attr) };
	struct dtconv_convertor *convertor;
	struct arena user, packed;
	long numbers[500] = { 0 };
	size_t moved = 9;

	numbers[250] = 1L << 40;
	arena_open(&user, ARENA_DEVICE, sizeof(numbers));
	arena_open(&packed, (enum arena_kind)_i, sizeof(numbers));
	arena_write(&user, 0, numbers, sizeof(numbers));
	dtconv_convertor_create_pack(type, 1, user.memory, &convertor);
	fixture_ok(dtconv_convertor_configure(convertor, &params));
	fixture_status(dtconv_convertor_pack(convertor, packed.memory, 2000, &moved),
		       DTCONV_ERR_OVERFLOW);
	ck_assert_str_eq(fixture_error(),
			 "dtconv_convertor_pack: a value in device memory does not fit "
			 "into the narrower type of the representation");
	gpu_must_be_idle(fixture_context, "a number too large");
	dtconv_convertor_query(convertor, &attr);
	ck_assert(moved == 0 && attr.position == 0);
	/* What does not hold it is packed all the same, later too. */
	fixture_ok(dtconv_convertor_pack(convertor, packed.memory, 1000, &moved));
	ck_assert_uint_eq(moved, 1000);
	dtconv_convertor_destroy(convertor);
	arena_close(&user);
	arena_close(&packed);
	dtconv_type_unref(type);
}
END_TEST

/* The parts of a job follow each other, and the first one's failure is seen before the next begins. */
START_TEST(a_number_too_large_is_told_of_any_part)
{
	struct dtconv_representation external = representation_of(1);
	const struct dtconv_convertor_params params = { .struct_size = sizeof(params),
							.representation = &external };
	struct dtconv_convertor_attr attr = { .struct_size = sizeof(attr) };
	const size_t lengths[] = { 100, 100 };
	struct dtconv_convertor *convertor;
	struct dtconv_type *type;
	struct arena users[2], packed;
	long numbers[100] = { 0 };
	size_t moved = 9;

	arena_open(&users[0], ARENA_DEVICE, sizeof(numbers));
	arena_open(&users[1], ARENA_MANAGED, sizeof(numbers));
	arena_open(&packed, ARENA_DEVICE, 800);
	arena_write(&users[1 - _i], 0, numbers, sizeof(numbers));
	numbers[50] = 1L << 40;
	arena_write(&users[_i], 0, numbers, sizeof(numbers));
	const ptrdiff_t disps[] = { (ptrdiff_t)users[0].memory,
				    (ptrdiff_t)users[1].memory };
	fixture_ok(dtconv_type_create_hindexed(
		2, lengths, disps, dtconv_type_predefined(fixture_context, DTCONV_LONG),
		&type));
	fixture_ok(dtconv_type_commit(type));
	dtconv_convertor_create_pack(type, 1, NULL, &convertor);
	fixture_ok(dtconv_convertor_configure(convertor, &params));
	fixture_status(dtconv_convertor_pack(convertor, packed.memory, 800, &moved),
		       DTCONV_ERR_OVERFLOW);
	dtconv_convertor_query(convertor, &attr);
	ck_assert(moved == 0 && attr.position == 0);
	fixture_ok(dtconv_convertor_start(convertor, packed.memory, 800, NULL, NULL));
	moved = 9;
	fixture_status(dtconv_convertor_wait(convertor, &moved), DTCONV_ERR_OVERFLOW);
	dtconv_convertor_query(convertor, &attr);
	ck_assert(moved == 0 && attr.position == 0);
	dtconv_convertor_destroy(convertor);
	arena_close(&users[0]);
	arena_close(&users[1]);
	arena_close(&packed);
	dtconv_type_unref(type);
}
END_TEST

#define RESTLESS_BLOCKS 60
#define REFUSED_BYTES   16384

/* More changes of kind than a kernel is told: runs of ints and floats, each longer than the last. */
static struct dtconv_type *make_restless(void)
{
	struct dtconv_type *kinds[2] = {
		dtconv_type_predefined(fixture_context, DTCONV_INT),
		dtconv_type_predefined(fixture_context, DTCONV_FLOAT)
	};
	struct dtconv_type *types[RESTLESS_BLOCKS], *type;
	ptrdiff_t disps[RESTLESS_BLOCKS], end = 0;
	size_t lengths[RESTLESS_BLOCKS];

	for (int i = 0; i < RESTLESS_BLOCKS; i++) {
		types[i] = kinds[i % 2];
		lengths[i] = (size_t)i + 1;
		disps[i] = end;
		end += 4 * (i + 2);
	}
	fixture_ok(dtconv_type_create_struct(fixture_context, RESTLESS_BLOCKS, lengths,
					     disps, types, &type));
	fixture_ok(dtconv_type_commit(type));
	return type;
}

#define NO_ARITHMETIC "devices have no arithmetic for long double and 16-byte reals"
#define NO_FORMAT     "the device kernels do not convert formats of long double"

static const struct {
	const char *type; /* NULL: a restless one */
	const char *representation;
	enum dtconv_op op;
	const char *sentence; /* unpacking */
} refused[] = {
	{ "long_double", "native", DTCONV_OP_SUM,
	  "sum into device memory is not supported: " NO_ARITHMETIC },
	{ "c_long_double_complex", "native", DTCONV_OP_PROD,
	  "prod into device memory is not supported: " NO_ARITHMETIC },
	{ "real16", "native", DTCONV_OP_MAX,
	  "max into device memory is not supported: " NO_ARITHMETIC },
	{ "complex32", "native", DTCONV_OP_SUM,
	  "sum into device memory is not supported: " NO_ARITHMETIC },
	{ "long_double_int", "native", DTCONV_OP_MINLOC,
	  "minloc into device memory is not supported: " NO_ARITHMETIC },
	{ "struct([1,1], [0,16], [int,long_double])", "native", DTCONV_OP_SUM,
	  "sum into device memory is not supported: " NO_ARITHMETIC },
	{ "long_double", "external32", DTCONV_OP_REPLACE,
	  "replace into device memory is not supported: " NO_FORMAT },
	{ NULL, "external32", DTCONV_OP_SUM,
	  "sum into device memory is not supported: the type's signature has more nodes "
	  "than a kernel supports" },
};

#define REFUSED ((int)(sizeof(refused) / sizeof(refused[0])))

/* Case: what is refused, and the kind of packed memory. Nothing has moved. */
START_TEST(what_no_device_computes_is_refused)
{
	const int which = _i % REFUSED;
	unsigned char *before = malloc(REFUSED_BYTES), *after = malloc(REFUSED_BYTES);
	struct dtconv_representation r;
	const struct dtconv_convertor_params params = { .struct_size = sizeof(params),
							.representation = &r,
							.op = refused[which].op };
	struct dtconv_type *type = refused[which].type ? fixture_type(refused[which].type)
						       : make_restless();
	struct arena user, packed;
	char sentence[200];
	size_t moved = 9;

	fixture_ok(dtconv_representation_find(refused[which].representation, &r));
	snprintf(sentence, sizeof(sentence), "dtconv_unpack_with: %s",
		 refused[which].sentence);
	memset(before, 0x3b, REFUSED_BYTES);
	arena_open(&user, ARENA_DEVICE, REFUSED_BYTES);
	arena_open(&packed, (enum arena_kind)(_i / REFUSED), REFUSED_BYTES);
	arena_write(&user, 0, before, REFUSED_BYTES);
	arena_write(&packed, 0, before + 1, REFUSED_BYTES - 1);
	fixture_status(dtconv_unpack_with(type, 1, user.memory, packed.memory, 16,
					  &params, &moved),
		       DTCONV_ERR_UNSUPPORTED);
	ck_assert_str_eq(fixture_error(), sentence);
	ck_assert_uint_eq(moved, 0);
	arena_read(&user, 0, after, REFUSED_BYTES);
	ck_assert_mem_eq(before, after, REFUSED_BYTES);
	arena_close(&user);
	arena_close(&packed);
	dtconv_type_unref(type);
	free(before);
	free(after);
}
END_TEST

START_TEST(what_no_device_converts_is_not_packed)
{
	struct dtconv_representation external = representation_of(1);
	const struct dtconv_convertor_params params = { .struct_size = sizeof(params),
							.representation = &external };
	struct dtconv_type *type = fixture_type("contiguous(4, long_double)");
	struct arena user, packed;
	size_t moved = 9;

	arena_open(&user, ARENA_DEVICE, 1000);
	arena_open(&packed, ARENA_DEVICE, 1000);
	fixture_status(dtconv_pack_with(type, 1, user.memory, packed.memory, 64, &params, &moved), DTCONV_ERR_UNSUPPORTED);
	ck_assert_str_eq(fixture_error(), "dtconv_pack_with: replace from device memory "
					  "is not supported: " NO_FORMAT);
	ck_assert_uint_eq(moved, 0);
	arena_close(&user);
	arena_close(&packed);
	dtconv_type_unref(type);
}
END_TEST

static void add(void *arg, const void *incoming, void *inout, size_t count,
		enum dtconv_predefined basic)
{
	const int *in = incoming;
	int *sum = inout;

	(void)arg;
	ck_assert_int_eq(basic, DTCONV_INT);
	for (size_t i = 0; i < count; i++)
		sum[i] += in[i];
}

/* Packed memory alone may be a device's for anything that the host computes. */
START_TEST(the_callers_function_runs_where_it_can)
{
	const struct dtconv_convertor_params params = { .struct_size = sizeof(params),
							.op = DTCONV_OP_USER,
							.op_fn = add };
	struct dtconv_type *type = fixture_type("contiguous(4, int)");
	int target[4] = { 1, 2, 3, 4 };
	const int incoming[4] = { 10, 20, 30, 40 };
	struct arena packed;
	size_t moved;

	arena_open(&packed, ARENA_DEVICE, sizeof(incoming));
	arena_write(&packed, 0, incoming, sizeof(incoming));
	fixture_ok(dtconv_unpack_with(type, 1, target, packed.memory, sizeof(incoming),
				      &params, &moved));
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(target[i], 11 * (i + 1));
	fixture_status(dtconv_unpack_with(type, 1, packed.memory, target,
					  sizeof(incoming), &params, &moved),
		       DTCONV_ERR_UNSUPPORTED);
	ck_assert_str_eq(fixture_error(),
			 "dtconv_unpack_with: user into device memory is not supported: "
			 "user-defined operations run on the host only");
	arena_close(&packed);
	dtconv_type_unref(type);
}
END_TEST

/* ---- checksums --------------------------------------------------------------------------- */

#define SUMMED 300000

/* Case: which memory is packed. */
START_TEST(fragments_in_any_order_have_one_checksum)
{
	const struct dtconv_convertor_params params = {
		.struct_size = sizeof(params), .flags = DTCONV_CONVERTOR_CRC32C
	};
	struct choices choices = fixture_choices(26);
	struct dtconv_type *type = fixture_type("vector(100000, 3, 5, byte)");
	unsigned char *bytes = malloc(SUMMED);
	struct dtconv_convertor *convertor;
	struct arena user, packed;
	size_t moved, step = 70001;
	uint32_t crc;

	for (size_t i = 0; i < SUMMED; i++)
		bytes[i] = (unsigned char)choose(&choices, 256);
	arena_open(&user, ARENA_DEVICE, 500000);
	arena_open(&packed, (enum arena_kind)_i, SUMMED);
	arena_write(&packed, 0, bytes, SUMMED);
	dtconv_convertor_create_unpack(type, 1, user.memory, &convertor);
	fixture_ok(dtconv_convertor_configure(convertor, &params));
	for (size_t at = SUMMED / step * step;; at -= step) {
		size_t some = at + step < SUMMED ? step : SUMMED - at;

		dtconv_convertor_seek(convertor, at);
		fixture_ok(dtconv_convertor_unpack(convertor, packed.memory + at, some,
						   &moved));
		ck_assert_uint_eq(moved, some);
		if (!at)
			break;
	}
	fixture_ok(dtconv_convertor_crc32c(convertor, &crc));
	ck_assert_uint_eq(crc, dtconv_crc32c(0, bytes, SUMMED));
	dtconv_convertor_destroy(convertor);
	arena_close(&user);
	arena_close(&packed);
	dtconv_type_unref(type);
	free(bytes);
}
END_TEST

/* The stream's own work comes before and behind: the bytes are summed up in between. */
START_TEST(a_checksum_is_taken_in_the_streams_order)
{
	struct dtconv_convertor_params params = { .struct_size = sizeof(params),
						  .flags = DTCONV_CONVERTOR_STREAM |
							   DTCONV_CONVERTOR_CRC32C };
	struct dtconv_type *type = fixture_type("vector(1000, 1, 2, double)");
	unsigned char *bytes = malloc(8000), *others = calloc(8000, 1);
	struct dtconv_convertor *convertor;
	struct arena user, packed, from;
	struct spin spin;
	size_t moved;
	uint32_t crc;

	memset(bytes, 0x5a, 8000);
	CUstream stream = gpu_stream();
	params.stream = stream;
	arena_open(&user, ARENA_DEVICE, 16000);
	arena_open(&packed, (enum arena_kind)_i, 8000);
	arena_open(&from, ARENA_DEVICE, 16000);
	arena_write(&from, 0, bytes, 8000);
	arena_write(&from, 8000, others, 8000);
	arena_write(&packed, 0, others, 8000);
	dtconv_convertor_create_unpack(type, 1, user.memory, &convertor);
	fixture_ok(dtconv_convertor_configure(convertor, &params));
	/* The first job finds the kernels loaded; loading is not what is tested. */
	fixture_ok(dtconv_convertor_unpack(convertor, packed.memory, 8000, &moved));
	fixture_ok(dtconv_convertor_configure(convertor, &params));
	spin_begin(&spin, stream);
	MUST(MemcpyAsync((CUdeviceptr)(uintptr_t)packed.memory,
			 (CUdeviceptr)(uintptr_t)from.memory, 8000, stream));
	fixture_ok(dtconv_convertor_start(convertor, packed.memory, 8000, NULL, NULL));
	MUST(MemcpyAsync((CUdeviceptr)(uintptr_t)packed.memory,
			 (CUdeviceptr)(uintptr_t)from.memory + 8000, 8000, stream));
	fixture_status(dtconv_convertor_test(convertor, &moved), DTCONV_INPROGRESS);
	fixture_status(dtconv_convertor_crc32c(convertor, &crc), DTCONV_ERR_STATE);
	spin_end(&spin);
	fixture_ok(dtconv_convertor_wait(convertor, &moved));
	fixture_ok(dtconv_convertor_crc32c(convertor, &crc));
	ck_assert_uint_eq(crc, dtconv_crc32c(0, bytes, 8000));
	dtconv_convertor_destroy(convertor);
	arena_close(&user);
	arena_close(&packed);
	arena_close(&from);
	MUST(StreamDestroy(stream));
	dtconv_type_unref(type);
	free(bytes);
	free(others);
}
END_TEST

START_TEST(a_graph_keeps_no_checksum)
{
	struct dtconv_convertor_params params = { .struct_size = sizeof(params),
						  .flags = DTCONV_CONVERTOR_STREAM |
							   DTCONV_CONVERTOR_CRC32C };
	struct dtconv_type *type = fixture_type("vector(100, 1, 2, double)");
	struct dtconv_convertor *convertor;
	struct arena user, packed;
	CUgraph graph = NULL;
	size_t moved;

	CUstream stream = gpu_stream();
	params.stream = stream;
	arena_open(&user, ARENA_DEVICE, 1600);
	arena_open(&packed, ARENA_DEVICE, 800);
	dtconv_convertor_create_pack(type, 1, user.memory, &convertor);
	fixture_ok(dtconv_convertor_configure(convertor, &params));
	fixture_ok(dtconv_convertor_pack(convertor, packed.memory, 800, &moved));
	dtconv_convertor_seek(convertor, 0);
	MUST(StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	fixture_status(dtconv_convertor_pack(convertor, packed.memory, 800, &moved),
		       DTCONV_ERR_UNSUPPORTED);
	ck_assert_uint_eq(moved, 0);
	ck_assert_str_eq(
		fixture_error(),
		"dtconv_convertor_pack: the stream is being captured, but a graph launch "
		"cannot return a checksum");
	MUST(StreamEndCapture(stream, &graph));
	MUST(GraphDestroy(graph));
	dtconv_convertor_destroy(convertor);
	arena_close(&user);
	arena_close(&packed);
	MUST(StreamDestroy(stream));
	dtconv_type_unref(type);
}
END_TEST

/* Part of an element goes through a buffer of the host's, which the graph would find gone. */
START_TEST(a_graph_cuts_no_element)
{
	struct dtconv_representation external = representation_of(1);
	struct dtconv_convertor_params params = { .struct_size = sizeof(params),
						  .flags = DTCONV_CONVERTOR_STREAM };
	struct dtconv_type *type = fixture_type("contiguous(10, double)");
	struct dtconv_convertor *convertor;
	struct arena user, packed;
	CUgraph graph = NULL;
	size_t moved = 9;
	bool packs = _i % 2;

	MUST(StreamCreate((CUstream *)&params.stream, CU_STREAM_NON_BLOCKING));
	params.representation = packs ? &external : NULL;
	params.op = packs ? DTCONV_OP_REPLACE : DTCONV_OP_SUM;
	arena_open(&user, _i / 2 % 2 ? ARENA_DEVICE : ARENA_MANAGED, 80);
	arena_open(&packed, _i / 4 ? ARENA_DEVICE : ARENA_MANAGED, 80);
	if (packs)
		dtconv_convertor_create_pack(type, 1, user.memory, &convertor);
	else
		dtconv_convertor_create_unpack(type, 1, user.memory, &convertor);
	fixture_ok(dtconv_convertor_configure(convertor, &params));
	fixture_ok(dtconv_convertor_seek(convertor, 3));
	MUST(StreamBeginCapture(params.stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	int status =
		packs ? dtconv_convertor_pack(convertor, packed.memory, 30, &moved)
		      : dtconv_convertor_unpack(convertor, packed.memory, 30, &moved);
	ck_assert_int_eq(status, DTCONV_ERR_UNSUPPORTED);
	ck_assert_uint_eq(moved, 0);
	MUST(StreamEndCapture(params.stream, &graph));
	MUST(GraphDestroy(graph));
	dtconv_convertor_destroy(convertor);
	arena_close(&user);
	arena_close(&packed);
	MUST(StreamDestroy(params.stream));
	dtconv_type_unref(type);
}
END_TEST

/* ---- order -------------------------------------------------------------------------------- */

START_TEST(an_operation_waits_for_its_stream)
{
	struct dtconv_type *type = fixture_type("vector(1000, 1, 2, double)");
	struct dtconv_convertor_params params = { .struct_size = sizeof(params),
						  .op = DTCONV_OP_SUM,
						  .flags = DTCONV_CONVERTOR_STREAM };
	struct dtconv_convertor *convertor;
	struct arena user, packed;
	double one = 1, got = 0;
	struct spin spin;
	size_t moved;

	CUstream stream = gpu_stream();
	params.stream = stream;
	arena_open(&user, ARENA_DEVICE, 16000);
	arena_open(&packed, ARENA_DEVICE, 8000);
	gpu_clear(user.memory, 16000);
	gpu_clear(packed.memory, 8000);
	arena_write(&packed, 7992, &one, sizeof(one));
	dtconv_convertor_create_unpack(type, 1, user.memory, &convertor);
	fixture_ok(dtconv_convertor_configure(convertor, &params));
	/* The first job finds the kernels loaded; loading is not what is tested. */
	fixture_ok(dtconv_convertor_unpack(convertor, packed.memory, 8000, &moved));
	dtconv_convertor_seek(convertor, 0);
	spin_begin(&spin, stream);
	fixture_ok(dtconv_convertor_start(convertor, packed.memory, 8000, NULL, NULL));
	for (int i = 0; i < 10; i++)
		fixture_status(dtconv_convertor_test(convertor, &moved),
			       DTCONV_INPROGRESS);
	spin_end(&spin);
	fixture_ok(dtconv_convertor_wait(convertor, &moved));
	ck_assert_uint_eq(moved, 8000);
	arena_read(&user, 999 * 16, &got, sizeof(got));
	ck_assert(got == 2);
	dtconv_convertor_destroy(convertor);
	arena_close(&user);
	arena_close(&packed);
	MUST(StreamDestroy(stream));
	dtconv_type_unref(type);
}
END_TEST

/* ---- backends ------------------------------------------------------------------------------ */

static uint64_t jobs_of(const char *name)
{
	struct dtconv_backend_counters now = { .struct_size = sizeof(now) };

	fixture_ok(dtconv_context_query_backend(fixture_context, name, &now));
	return now.jobs;
}

/* Adds 100 doubles, whole, into memory of a kind from memory of a kind. */
static int sum_with(const char *backends, enum arena_kind user_kind,
		    enum arena_kind packed_kind)
{
	const struct dtconv_convertor_params params = { .struct_size = sizeof(params),
							.op = DTCONV_OP_SUM,
							.backends = backends };
	struct dtconv_type *type = fixture_type("vector(100, 1, 2, double)");
	double numbers[200] = { 0 }, ones[100];
	struct arena user, packed;

	for (size_t i = 0; i < 100; i++)
		ones[i] = 1;
	arena_open(&user, user_kind, sizeof(numbers));
	arena_open(&packed, packed_kind, sizeof(ones));
	arena_write(&user, 0, numbers, sizeof(numbers));
	arena_write(&packed, 0, ones, sizeof(ones));
	int status = dtconv_unpack_with(type, 1, user.memory, packed.memory, sizeof(ones),
					&params, NULL);
	arena_read(&user, 0, numbers, sizeof(numbers));
	for (size_t i = 0; i < 200; i++)
		ck_assert(numbers[i] == (status || i % 2 ? 0 : 1));
	arena_close(&user);
	arena_close(&packed);
	dtconv_type_unref(type);
	return status;
}

static const struct {
	enum arena_kind user, packed;
	const char *backend; /* that does it */
} counted[] = {
	{ ARENA_DEVICE, ARENA_DEVICE, "cuda_kernel" },
	{ ARENA_DEVICE, ARENA_PINNED, "cuda_kernel" },
	{ ARENA_DEVICE, ARENA_HOST, "cuda_staged" },
	{ ARENA_PINNED, ARENA_PINNED, "host" },
	{ ARENA_HOST, ARENA_HOST, "host" },
	{ ARENA_HOST, ARENA_DEVICE, "host" }, /* after a copy, and moves of its windows */
};

#define COUNTED ((int)(sizeof(counted) / sizeof(counted[0])))

START_TEST(a_job_is_counted_by_who_does_it)
{
	const char *name = counted[_i].backend;

	/* The first job finds the kernels loaded; who steps in for them is not what is tested. */
	ck_assert_int_eq(sum_with(NULL, ARENA_DEVICE, ARENA_DEVICE), 0);
	uint64_t before = jobs_of(name);
	ck_assert_int_eq(sum_with(NULL, counted[_i].user, counted[_i].packed), 0);
	if (counted[_i].user == ARENA_HOST)
		ck_assert_uint_gt(jobs_of(name), before);
	else
		ck_assert_uint_eq(jobs_of(name), before + 1);
}
END_TEST

/* Only who may; whoever else could have done it stays out of it. */
START_TEST(who_is_forbidden_does_no_typed_job)
{
	const char *name = counted[_i].backend;
	char without[40];

	snprintf(without, sizeof(without), "^%s", name);
	ck_assert_int_eq(sum_with(NULL, ARENA_DEVICE, ARENA_DEVICE), 0);
	uint64_t before = jobs_of(name);
	int status = sum_with(without, counted[_i].user, counted[_i].packed);
	ck_assert_uint_eq(jobs_of(name), before);
	/* Pinned memory is a device's as well. */
	if (counted[_i].user == ARENA_PINNED)
		ck_assert_int_eq(status, 0);
	else
		ck_assert_int_eq(status, DTCONV_ERR_UNSUPPORTED);
}
END_TEST

START_TEST(the_sentence_says_who_is_needed)
{
	ck_assert_int_eq(sum_with("cuda_copy,host", ARENA_DEVICE, ARENA_DEVICE),
			 DTCONV_ERR_UNSUPPORTED);
	ck_assert_str_eq(
		fixture_error(),
		"dtconv_unpack_with: operations and representations between device and "
		"device memory need backend cuda_kernel, but params.backends and "
		"DTCONV_BACKENDS allow only host, cuda_copy");
	ck_assert_int_eq(sum_with("cuda_kernel", ARENA_DEVICE, ARENA_DEVICE), 0);
	ck_assert_int_eq(sum_with("cuda_kernel", ARENA_PINNED, ARENA_PINNED), 0);
	ck_assert_int_eq(sum_with("cuda_staged", ARENA_DEVICE, ARENA_HOST), 0);
}
END_TEST

/* The processor converts, and may not bring it there. */
START_TEST(what_does_not_get_to_its_place_has_not_moved)
{
	struct dtconv_representation external32;
	const struct dtconv_convertor_params params = { .struct_size = sizeof(params),
							.representation = &external32,
							.backends = "host" };
	struct dtconv_type *type = fixture_type("contiguous(100, int32)");
	struct dtconv_convertor_attr attr = { .struct_size = sizeof(attr) };
	int32_t numbers[100] = { 1 };
	struct arena packed;
	size_t moved;

	fixture_ok(dtconv_representation_find("external32", &external32));
	arena_open(&packed, ARENA_DEVICE, sizeof(numbers));
	struct dtconv_convertor *convertor = fixture_packer(type, 1, numbers, &params);
	fixture_status(dtconv_convertor_pack(convertor, packed.memory, sizeof(numbers),
					     &moved),
		       DTCONV_ERR_UNSUPPORTED);
	ck_assert_uint_eq(moved, 0);
	fixture_ok(dtconv_convertor_query(convertor, &attr));
	ck_assert_uint_eq(attr.position, 0);
	dtconv_convertor_destroy(convertor);
	arena_close(&packed);
	dtconv_type_unref(type);
}
END_TEST

/* No device has long doubles. */
START_TEST(the_processors_own_work_may_be_forbidden)
{
	struct dtconv_convertor_params params = { .struct_size = sizeof(params),
						  .op = DTCONV_OP_SUM };
	struct dtconv_type *type = fixture_type("contiguous(10, long_double)");
	long double numbers[10] = { 1 };
	struct arena user, packed;
	size_t moved;

	arena_open(&user, ARENA_PINNED, sizeof(numbers));
	arena_open(&packed, _i ? ARENA_DEVICE : ARENA_PINNED, sizeof(numbers));
	memcpy(user.memory, numbers, sizeof(numbers));
	arena_write(&packed, 0, numbers, sizeof(numbers));
	params.backends = "^host";
	fixture_status(dtconv_unpack_with(type, 1, user.memory, packed.memory,
					  sizeof(numbers), &params, &moved),
		       DTCONV_ERR_UNSUPPORTED);
	ck_assert_uint_eq(moved, 0);
	ck_assert_str_eq(
		fixture_error(),
		_i ? "dtconv_unpack_with: operations and representations between pinned "
		     "and device memory need backend host, but params.backends and "
		     "DTCONV_BACKENDS allow only cuda_copy, cuda_kernel, cuda_staged, "
		     "cuda_relay, cuda_bar"
		   : "dtconv_unpack_with: operations and representations between pinned "
		     "and pinned memory need backend host, but params.backends and "
		     "DTCONV_BACKENDS allow only cuda_copy, cuda_kernel, cuda_staged, "
		     "cuda_relay, cuda_bar");
	ck_assert_mem_eq(user.memory, numbers, sizeof(numbers));
	params.backends = NULL;
	fixture_ok(dtconv_unpack_with(type, 1, user.memory, packed.memory,
				      sizeof(numbers), &params, &moved));
	ck_assert(((long double *)(void *)user.memory)[0] == 2);
	arena_close(&user);
	arena_close(&packed);
	dtconv_type_unref(type);
}
END_TEST

int main(void)
{
	gpu_open_in_program();
	Suite *suite = suite_create("typed");
	TCase *kinds = fixture_case(suite, "kinds", 60);
	TCase *memory = fixture_case(suite, "memory", 60);
	TCase *failures = fixture_case(suite, "failures", 60);

	tcase_add_loop_test(kinds, every_operation_on_every_basic_type, 0,
			    DTCONV_OP_USER);
	tcase_add_loop_test(kinds, every_representation_of_every_basic_type, 0, 8);
	tcase_add_loop_test(kinds, every_representation_of_records, 0, RECORDS);
	tcase_add_loop_test(kinds, any_bits_combine_as_on_the_host, 0, FORMATS);
	tcase_add_loop_test(kinds, couples_of_any_values_compare_as_on_the_host, 0,
			    (int)(sizeof(couples) / sizeof(couples[0])));
	tcase_add_loop_test(memory, every_layout_between_every_pair_of_kinds, 0, PAIRS);
	tcase_add_test(memory, random_types);
	tcase_add_loop_test(memory, numbers_go_from_one_device_to_another, 0, 4);
	tcase_add_test(memory, an_operation_waits_for_its_stream);
	tcase_add_loop_test(memory, fragments_in_any_order_have_one_checksum, ARENA_HOST,
			    ARENA_KINDS);
	tcase_add_loop_test(memory, a_checksum_is_taken_in_the_streams_order,
			    ARENA_PINNED, ARENA_VMM);
	tcase_add_test(memory, a_graph_keeps_no_checksum);
	tcase_add_loop_test(memory, a_graph_cuts_no_element, 0, 8);
	tcase_add_loop_test(failures, a_number_too_large_is_told, ARENA_HOST,
			    ARENA_KINDS);
	tcase_add_loop_test(failures, a_number_too_large_is_told_of_any_part, 0, 2);
	tcase_add_loop_test(failures, what_no_device_computes_is_refused, 0,
			    REFUSED * ARENA_KINDS);
	tcase_add_test(failures, what_no_device_converts_is_not_packed);
	tcase_add_test(failures, the_callers_function_runs_where_it_can);
	TCase *backends = fixture_case(suite, "backends", 60);
	tcase_add_loop_test(backends, a_job_is_counted_by_who_does_it, 0, COUNTED);
	tcase_add_loop_test(backends, who_is_forbidden_does_no_typed_job, 0, COUNTED);
	tcase_add_test(backends, the_sentence_says_who_is_needed);
	tcase_add_loop_test(backends, the_processors_own_work_may_be_forbidden, 0, 2);
	tcase_add_test(backends, what_does_not_get_to_its_place_has_not_moved);
	return fixture_run(suite);
}
