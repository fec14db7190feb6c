/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ways through a typed stream.
 */
#include "config.h"

#include "convertor/typed_moves.h"

#include <stdlib.h>
#include <string.h>

#define GUARD_BYTE 0xa7

static const char *text_of(const struct typed_case *tc)
{
	static char text[512];
	size_t length;

	text[0] = 0;
	dtconv_type_format(tc->type, text, sizeof(text), &length);
	return text;
}

struct dtconv_convertor *typed_moves_convertor(const struct typed_case *tc, bool packs)
{
	struct dtconv_convertor_params params = typed_case_params(tc);
	struct dtconv_convertor *convertor = NULL;
	int status = packs ? dtconv_convertor_create_pack(tc->type, tc->count, tc->source,
							  &convertor)
			   : dtconv_convertor_create_unpack(tc->type, tc->count,
							    tc->target, &convertor);

	ck_assert_msg(!status, "%s", fixture_error());
	ck_assert_msg(!dtconv_convertor_configure(convertor, &params), "%s: %s",
		      text_of(tc), fixture_error());
	return convertor;
}

/* ---- packing ------------------------------------------------------------------------- */

static void pack_fragment(const struct typed_case *tc, struct dtconv_convertor *convertor,
			  size_t from, size_t bytes)
{
	unsigned char *packed = malloc(bytes + 2);
	size_t moved = 99;

	memset(packed, GUARD_BYTE, bytes + 2);
	ck_assert_int_eq(dtconv_convertor_seek(convertor, from), 0);
	ck_assert_msg(!dtconv_convertor_pack(convertor, packed + 1, bytes, &moved),
		      "%s: %s", text_of(tc), fixture_error());
	ck_assert_uint_eq(moved, bytes < tc->bytes - from ? bytes : tc->bytes - from);
	ck_assert_uint_eq(fixture_position(convertor), from + moved);
	ck_assert_msg(memcmp(packed + 1, tc->wire + from, moved) == 0,
		      "%zu x %s: packing %zu bytes at %zu gave wrong ones", tc->count,
		      text_of(tc), bytes, from);
	ck_assert(packed[0] == GUARD_BYTE && packed[1 + moved] == GUARD_BYTE);
	free(packed);
}

static void pack_in_fragments(const struct typed_case *tc, struct choices *choices)
{
	struct dtconv_convertor *convertor = typed_moves_convertor(tc, true);
	size_t longest = 1 + choose(choices, 100);

	for (size_t from = 0; from < tc->bytes;) {
		size_t bytes = 1 + choose(choices, longest);

		pack_fragment(tc, convertor, from, bytes);
		from += bytes;
	}
	for (size_t i = 0; i < 10; i++)
		pack_fragment(tc, convertor, choose(choices, tc->bytes + 1),
			      choose(choices, tc->bytes + 2));
	dtconv_convertor_destroy(convertor);
}

static void pack_whole(const struct typed_case *tc)
{
	struct dtconv_convertor_params params = typed_case_params(tc);
	unsigned char *packed = malloc(tc->bytes + 1);
	size_t moved = 99, size = 99;

	ck_assert_int_eq(
		dtconv_packed_size(tc->type, tc->count, tc->representation, &size), 0);
	ck_assert_uint_eq(size, tc->bytes);
	packed[tc->bytes] = GUARD_BYTE;
	ck_assert_msg(!dtconv_pack_with(tc->type, tc->count, tc->source, packed,
					tc->bytes, &params, &moved),
		      "%s: %s", text_of(tc), fixture_error());
	ck_assert_uint_eq(moved, tc->bytes);
	ck_assert_uint_eq(packed[tc->bytes], GUARD_BYTE);
	ck_assert_msg(memcmp(packed, tc->wire, tc->bytes) == 0, "%zu x %s: wrong bytes",
		      tc->count, text_of(tc));
	free(packed);
}

/* ---- unpacking ----------------------------------------------------------------------- */

static void expect_target(struct typed_case *tc, const char *how)
{
	ptrdiff_t wrong = 0;

	ck_assert_msg(typed_case_is_right(tc, &wrong),
		      "%zu x %s, %s, %s: wrong byte at displacement %td", tc->count,
		      text_of(tc), dtconv_op_name(tc->op), how, wrong);
}

static void unpack_fragment(struct typed_case *tc, struct dtconv_convertor *convertor,
			    size_t from, size_t bytes)
{
	size_t moved = 99;

	ck_assert_int_eq(dtconv_convertor_seek(convertor, from), 0);
	ck_assert_msg(!dtconv_convertor_unpack(convertor, tc->wire + from, bytes, &moved),
		      "%s: %s", text_of(tc), fixture_error());
	ck_assert_uint_eq(moved, bytes);
	typed_case_arrived(tc, from, bytes);
}

static size_t held(const struct dtconv_convertor *convertor)
{
	struct dtconv_convertor_attr attr = { .struct_size = sizeof(attr) };

	ck_assert_int_eq(dtconv_convertor_query(convertor, &attr), 0);
	return attr.held;
}

/* Cuts at random places, delivered last first, first first, or shuffled. */
static void unpack_in_fragments(struct typed_case *tc, struct choices *choices)
{
	struct dtconv_convertor *convertor = typed_moves_convertor(tc, false);
	size_t *cuts = malloc((tc->bytes + 2) * sizeof(cuts[0]));
	size_t count = 0, longest = 1 + choose(choices, 60), order = choose(choices, 3);

	for (size_t at = 0; at < tc->bytes; at += 1 + choose(choices, longest))
		cuts[count++] = at;
	cuts[count] = tc->bytes;
	for (size_t left = count; left > 0; left--) {
		size_t k = order == 0   ? count - left
			   : order == 1 ? left - 1
					: choose(choices, count);

		/* Shuffled: the first one from there on that has not been delivered. */
		while (tc->arrived[cuts[k]])
			k = (k + 1) % count;
		unpack_fragment(tc, convertor, cuts[k], cuts[k + 1] - cuts[k]);
	}
	ck_assert_uint_eq(held(convertor), 0);
	expect_target(tc, "in fragments");
	free(cuts);
	dtconv_convertor_destroy(convertor);
}

/* A part only, so that elements at its ends stay out. */
static void unpack_part(struct typed_case *tc, struct choices *choices)
{
	struct dtconv_convertor *convertor = typed_moves_convertor(tc, false);
	size_t from = choose(choices, tc->bytes + 1);

	unpack_fragment(tc, convertor, from, choose(choices, tc->bytes - from + 1));
	expect_target(tc, "in part");
	dtconv_convertor_destroy(convertor);
}

static void unpack_whole(struct typed_case *tc)
{
	struct dtconv_convertor_params params = typed_case_params(tc);
	size_t moved = 99;

	ck_assert_msg(!dtconv_unpack_with(tc->type, tc->count, tc->target, tc->wire,
					  tc->bytes, &params, &moved),
		      "%s: %s", text_of(tc), fixture_error());
	ck_assert_uint_eq(moved, tc->bytes);
	typed_case_arrived(tc, 0, tc->bytes);
	expect_target(tc, "whole");
}

/* ---- all ----------------------------------------------------------------------------- */

void typed_moves_all(struct typed_case *tc, struct choices *choices)
{
	pack_whole(tc);
	pack_in_fragments(tc, choices);
	unpack_whole(tc);
	typed_case_restart(tc, choices);
	unpack_in_fragments(tc, choices);
	typed_case_restart(tc, choices);
	unpack_part(tc, choices);
}

void typed_moves_type(struct dtconv_type *type, size_t count,
		      const struct dtconv_representation *representation,
		      enum dtconv_op op, struct choices *choices)
{
	struct typed_case tc;

	if (!typed_case_open(&tc, type, count, representation, op, choices))
		return;
	typed_moves_all(&tc, choices);
	typed_case_close(&tc);
}

void typed_moves_text(const char *text, size_t count,
		      const struct dtconv_representation *representation,
		      enum dtconv_op op, struct choices *choices)
{
	struct dtconv_type *type = fixture_type(text);

	typed_moves_type(type, count, representation, op, choices);
	dtconv_type_unref(type);
}
