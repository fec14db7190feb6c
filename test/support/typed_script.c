/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ways through a typed stream. Each way compares what it did with the case's oracle.
 */
#include "config.h"

#include "support/typed_script.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GUARD_BYTE 0xa7

struct ways {
	struct typed_case *tc;
	struct choices *choices;
	char *failure;
};

__attribute__((format(printf, 2, 3))) static int fail(struct ways *ways,
						      const char *format, ...)
{
	char what[SCRIPT_FAILURE - 40];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(what, sizeof(what), format, arguments);
	va_end(arguments);
	snprintf(ways->failure, SCRIPT_FAILURE, "%s: %s", dtconv_op_name(ways->tc->op),
		 what);
	return -1;
}

static int expect(struct ways *ways, const char *call, int status, const size_t *moved,
		  size_t expected)
{
	if (status)
		return fail(ways, "%s answered %d (%s)", call, status,
			    dtconv_strerror(status));
	if (*moved != expected)
		return fail(ways, "%s moved %zu bytes, not %zu", call, *moved, expected);
	return 0;
}

static int make_convertor(struct ways *ways, bool packs,
			  struct dtconv_convertor **convertor)
{
	const struct typed_case *tc = ways->tc;
	struct dtconv_convertor_params params = typed_case_params(tc);
	int status = packs ? dtconv_convertor_create_pack(tc->type, tc->count, tc->source,
							  convertor)
			   : dtconv_convertor_create_unpack(tc->type, tc->count,
							    tc->target, convertor);

	if (status)
		return fail(ways, "create answered %d", status);
	status = dtconv_convertor_configure(*convertor, &params);
	return status ? fail(ways, "configure answered %d", status) : 0;
}

/* ---- packing ------------------------------------------------------------------------- */

static int expect_packed(struct ways *ways, const unsigned char *packed, size_t from,
			 size_t bytes)
{
	if (memcmp(packed + 1, ways->tc->wire + from, bytes) != 0)
		return fail(ways, "packing %zu bytes at %zu gave wrong ones", bytes,
			    from);
	if (packed[0] != GUARD_BYTE || packed[1 + bytes] != GUARD_BYTE)
		return fail(ways, "packing %zu bytes at %zu wrote beyond them", bytes,
			    from);
	return 0;
}

static int pack_fragment(struct ways *ways, struct dtconv_convertor *convertor,
			 size_t from, size_t bytes)
{
	const struct typed_case *tc = ways->tc;
	size_t expected = bytes < tc->bytes - from ? bytes : tc->bytes - from;
	unsigned char *packed = malloc(bytes + 2);
	size_t moved = 99;

	memset(packed, GUARD_BYTE, bytes + 2);
	int failed = dtconv_convertor_seek(convertor, from);
	if (!failed)
		failed = expect(ways, "pack",
				dtconv_convertor_pack(convertor, packed + 1, bytes,
						      &moved),
				&moved, expected);
	if (!failed)
		failed = expect_packed(ways, packed, from, expected);
	free(packed);
	return failed;
}

static int pack_in_fragments(struct ways *ways)
{
	struct dtconv_convertor *convertor = NULL;
	size_t longest = 1 + choose(ways->choices, 100), total = ways->tc->bytes;
	int failed = make_convertor(ways, true, &convertor);

	for (size_t from = 0, bytes; from < total && !failed; from += bytes) {
		bytes = 1 + choose(ways->choices, longest);
		failed = pack_fragment(ways, convertor, from, bytes);
	}
	for (size_t i = 0; i < 10 && !failed; i++)
		failed = pack_fragment(ways, convertor, choose(ways->choices, total + 1),
				       choose(ways->choices, total + 2));
	dtconv_convertor_destroy(convertor);
	return failed;
}

static int pack_whole(struct ways *ways)
{
	const struct typed_case *tc = ways->tc;
	struct dtconv_convertor_params params = typed_case_params(tc);
	unsigned char *packed = malloc(tc->bytes + 2);
	size_t moved = 99, size = 99;

	memset(packed, GUARD_BYTE, tc->bytes + 2);
	int failed =
		expect(ways, "packed_size",
		       dtconv_packed_size(tc->type, tc->count, tc->representation, &size),
		       &size, tc->bytes);
	if (!failed)
		failed = expect(ways, "pack_with",
				dtconv_pack_with(tc->type, tc->count, tc->source,
						 packed + 1, tc->bytes, &params, &moved),
				&moved, tc->bytes);
	if (!failed)
		failed = expect_packed(ways, packed, 0, tc->bytes);
	free(packed);
	return failed;
}

/* ---- unpacking ----------------------------------------------------------------------- */

static int expect_target(struct ways *ways, const char *how)
{
	ptrdiff_t wrong = 0;

	if (typed_case_is_right(ways->tc, &wrong))
		return 0;
	return fail(ways, "unpacking %s left a wrong byte at displacement %td", how,
		    wrong);
}

static int unpack_fragment(struct ways *ways, struct dtconv_convertor *convertor,
			   size_t from, size_t bytes)
{
	size_t moved = 99;
	int failed = dtconv_convertor_seek(convertor, from);

	if (!failed)
		failed = expect(ways, "unpack",
				dtconv_convertor_unpack(convertor, ways->tc->wire + from,
							bytes, &moved),
				&moved, bytes);
	typed_case_arrived(ways->tc, from, bytes);
	return failed;
}

/* Where a stream is cut, and in which order the pieces come. */
struct cuts {
	size_t *at;
	size_t count;
	enum order { FORWARD, BACKWARD, SHUFFLED } order;
};

static struct cuts choose_cuts(struct ways *ways)
{
	struct cuts cuts = { .at = malloc((ways->tc->bytes + 2) * sizeof(size_t)) };
	size_t longest = 1 + choose(ways->choices, 60);

	cuts.order = (enum order)choose(ways->choices, 3);
	for (size_t at = 0; at < ways->tc->bytes;
	     at += 1 + choose(ways->choices, longest))
		cuts.at[cuts.count++] = at;
	cuts.at[cuts.count] = ways->tc->bytes;
	return cuts;
}

/* The fragment that comes next when so many are left. */
static size_t next_fragment(struct ways *ways, const struct cuts *cuts, size_t left)
{
	size_t k;

	if (cuts->order != SHUFFLED)
		return cuts->order == FORWARD ? cuts->count - left : left - 1;
	k = choose(ways->choices, cuts->count);
	while (ways->tc->arrived[cuts->at[k]])
		k = (k + 1) % cuts->count;
	return k;
}

static int expect_nothing_held(struct ways *ways,
			       const struct dtconv_convertor *convertor)
{
	struct dtconv_convertor_attr attr = { .struct_size = sizeof(attr) };

	dtconv_convertor_query(convertor, &attr);
	return attr.held ? fail(ways, "%zu bytes are held at the end", attr.held) : 0;
}

/* Now and then another convertor takes over in the middle, with all that is held. */
static void change_convertor(struct ways *ways, struct dtconv_convertor **convertor)
{
	struct dtconv_convertor *clone;

	if (!chance(ways->choices, 8) || dtconv_convertor_clone(*convertor, &clone))
		return;
	dtconv_convertor_destroy(*convertor);
	*convertor = clone;
}

static int unpack_in_fragments(struct ways *ways)
{
	struct cuts cuts = choose_cuts(ways);
	struct dtconv_convertor *convertor = NULL;
	int failed = make_convertor(ways, false, &convertor);

	for (size_t left = cuts.count; left > 0 && !failed; left--) {
		size_t k = next_fragment(ways, &cuts, left);

		failed = unpack_fragment(ways, convertor, cuts.at[k],
					 cuts.at[k + 1] - cuts.at[k]);
		change_convertor(ways, &convertor);
	}
	if (!failed)
		failed = expect_nothing_held(ways, convertor);
	if (!failed)
		failed = expect_target(ways, "in fragments");
	dtconv_convertor_destroy(convertor);
	free(cuts.at);
	return failed;
}

/* A part only, so that elements at its ends stay out. */
static int unpack_part(struct ways *ways)
{
	struct dtconv_convertor *convertor = NULL;
	size_t from = choose(ways->choices, ways->tc->bytes + 1);
	int failed = make_convertor(ways, false, &convertor);

	if (!failed)
		failed = unpack_fragment(ways, convertor, from,
					 choose(ways->choices,
						ways->tc->bytes - from + 1));
	if (!failed)
		failed = expect_target(ways, "in part");
	dtconv_convertor_destroy(convertor);
	return failed;
}

static int unpack_whole(struct ways *ways)
{
	struct typed_case *tc = ways->tc;
	struct dtconv_convertor_params params = typed_case_params(tc);
	size_t moved = 99;

	int failed = expect(ways, "unpack_with",
			    dtconv_unpack_with(tc->type, tc->count, tc->target, tc->wire,
					       tc->bytes, &params, &moved),
			    &moved, tc->bytes);
	typed_case_arrived(tc, 0, tc->bytes);
	return failed ? failed : expect_target(ways, "whole");
}

/* ---- all ----------------------------------------------------------------------------- */

int typed_script_play(struct typed_case *tc, struct choices *choices,
		      char failure[SCRIPT_FAILURE])
{
	struct ways ways = { tc, choices, failure };
	int failed = pack_whole(&ways);

	if (!failed)
		failed = pack_in_fragments(&ways);
	if (!failed)
		failed = unpack_whole(&ways);
	typed_case_restart(tc, choices);
	if (!failed)
		failed = unpack_in_fragments(&ways);
	typed_case_restart(tc, choices);
	return failed ? failed : unpack_part(&ways);
}

/* An operation that the type allows, but for what needs the caller. */
static enum dtconv_op choose_op(struct choices *choices, const struct dtconv_type *type)
{
	enum dtconv_op op = (enum dtconv_op)choose(choices, DTCONV_OP_USER);

	return dtconv_op_check(op, type) ? DTCONV_OP_REPLACE : op;
}

static struct dtconv_representation choose_representation(struct choices *choices)
{
	struct dtconv_representation r;
	size_t count = 0;

	while (dtconv_representation_name(count))
		count++;
	dtconv_representation_find(dtconv_representation_name(choose(choices, count)),
				   &r);
	return r;
}

int typed_script_play_type(struct dtconv_type *type, size_t count,
			   struct choices *choices, char failure[SCRIPT_FAILURE])
{
	struct dtconv_representation representation = choose_representation(choices);
	enum dtconv_op op = choose_op(choices, type);
	struct typed_case tc;
	int failed;

	if (!typed_case_open(&tc, type, count, &representation, op, choices))
		return 0;
	failed = typed_script_play(&tc, choices, failure);
	typed_case_close(&tc);
	return failed;
}
