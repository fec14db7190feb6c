/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dtconv_copy: from one layout to another of the same signature, to a longer one, to a shorter
 * one, and not at all to another signature.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "support/copy_case.h"
#include "support/fixture.h"
#include "support/layouts.h"

/* Copies and looks at every byte of the target; the streams must be the same bytes. */
static void copy_and_compare(const struct stage *from, struct stage *to, int expected)
{
	size_t bytes = from->bytes < to->bytes ? from->bytes : to->bytes;
	size_t moved = SIZE_MAX;

	memcpy(to->stream, from->stream, bytes);
	stage_blank(to);
	ck_assert_int_eq(dtconv_copy(from->type, from->count, from->source, to->type,
				     to->count, to->target, &moved),
			 expected);
	ck_assert_uint_eq(moved, bytes);
	stage_deliver(to, 0, bytes);
	fixture_arrived(to);
}

/* Any count to any count of the same type, the target as scattered as can be. */
static void copy_counts(const struct stage *from, struct dtconv_type *type)
{
	for (size_t count = 0; count <= 4; count++) {
		struct stage to;

		ck_assert(!stage_open(&to, type, count, 0, 3, count));
		copy_and_compare(from, &to,
				 to.bytes < from->bytes ? DTCONV_ERR_TRUNCATE : 0);
		stage_close(&to);
	}
}

START_TEST(to_any_layout_of_the_same_signature)
{
	struct choices choices = fixture_choices((uint64_t)_i);
	struct stage from;

	fixture_open(&from, layouts[_i].text, 2);
	for (int round = 0; round < 5; round++) {
		struct dtconv_type *type = copy_scattered(from.type, &choices);

		copy_counts(&from, type);
		dtconv_type_unref(type);
	}
	copy_counts(&from, from.type);
	fixture_close(&from);
}
END_TEST

START_TEST(from_a_dense_stream_to_a_layout_and_back)
{
	struct choices choices = fixture_choices(77);
	const char *text =
		"vector(3001, 3, 5, struct([1, 1], [0, 8], [short, double_int]))";
	struct dtconv_type *type = fixture_type(text),
			   *other = copy_scattered(type, &choices);
	struct stage from, to;

	/* Larger than any buffer on the way, and never cut at an element's end. */
	ck_assert(!stage_open(&from, type, 1, 1, 0, 5));
	ck_assert(!stage_open(&to, other, 1, 0, 2, 6));
	copy_and_compare(&from, &to, 0);
	stage_close(&from);
	stage_close(&to);
	dtconv_type_unref(type);
	dtconv_type_unref(other);
}
END_TEST

/* Two types and counts, and what copying the first to the second must answer. */
struct relation {
	const char *from;
	size_t from_count;
	const char *to;
	size_t to_count;
	int status;
	size_t moved;
};

static const struct relation relations[] = {
	/* Equal. */
	{ "contiguous(6, int)", 1, "int", 6, 0, 24 },
	{ "double_int", 3, "struct([1, 1], [0, 12], [double, int])", 3, 0, 36 },
	{ "2int", 2, "vector(4, 1, 2, int)", 1, 0, 16 },
	{ "struct([2, 1], [0, 8], [int, double])", 2,
	  "struct([1, 1, 1], [20, 10, 0], [int, int, double])", 2, 0, 32 },
	/* The source is the beginning. */
	{ "int", 2, "contiguous(5, int)", 1, 0, 8 },
	{ "struct([1, 1], [0, 8], [int, double])", 1,
	  "struct([1, 1, 1], [0, 8, 16], [int, double, float])", 1, 0, 12 },
	{ "double_int", 1, "contiguous(2, struct([1, 1], [0, 8], [double, int]))", 1, 0,
	  12 },
	/* The target is the beginning. */
	{ "int", 7, "contiguous(2, int)", 3, DTCONV_ERR_TRUNCATE, 24 },
	{ "contiguous(2, double_int)", 1,
	  "struct([1, 1, 1], [0, 8, 16], [double, int, double])", 1, DTCONV_ERR_TRUNCATE,
	  20 },
	/* Neither. */
	{ "int", 3, "float", 3, DTCONV_ERR_SIGNATURE, 0 },
	{ "int", 1, "unsigned", 1, DTCONV_ERR_SIGNATURE, 0 },
	{ "int", 1, "contiguous(4, byte)", 1, DTCONV_ERR_SIGNATURE, 0 },
	{ "double_int", 2, "contiguous(2, struct([1, 1], [0, 8], [double, float]))", 1,
	  DTCONV_ERR_SIGNATURE, 0 },
	{ "struct([9, 1], [0, 40], [int, double])", 1, "int", 100, DTCONV_ERR_SIGNATURE,
	  0 },
	{ "contiguous(1000, int)", 1, "struct([999, 1], [0, 4000], [int, float])", 1,
	  DTCONV_ERR_SIGNATURE, 0 },
	/* Longer and different. */
	{ "int", 9, "struct([1, 1], [0, 4], [int, float])", 2, DTCONV_ERR_SIGNATURE, 0 },
	/* Nothing on one side or both. */
	{ "int", 0, "double", 4, 0, 0 },
	{ "contiguous(0, int)", 5, "double", 4, 0, 0 },
	{ "contiguous(0, int)", 5, "vector(2, 0, 3, double)", 4, 0, 0 },
	{ "int", 1, "double", 0, DTCONV_ERR_TRUNCATE, 0 },
	{ "int", 1, "contiguous(0, int)", 8, DTCONV_ERR_TRUNCATE, 0 },
};

START_TEST(the_signatures_decide)
{
	const struct relation *relation = &relations[_i];
	struct dtconv_type *from = fixture_type(relation->from);
	struct dtconv_type *to = fixture_type(relation->to);
	unsigned char *source = malloc(1 << 16), *target = malloc(1 << 16);
	size_t moved = SIZE_MAX, untouched;

	ck_assert(source && target);
	memset(source, 0x33, 1 << 16);
	stage_guard(target, 1 << 16);
	ck_assert_int_eq(dtconv_copy(from, relation->from_count, source, to,
				     relation->to_count, target, &moved),
			 relation->status);
	ck_assert_uint_eq(moved, relation->moved);
	untouched = stage_guard_first_wrong(target, 1 << 16);
	ck_assert_msg(moved || untouched == STAGE_RIGHT, "byte %zu was written",
		      untouched);
	ck_assert(!moved || untouched != STAGE_RIGHT);
	free(source);
	free(target);
	dtconv_type_unref(from);
	dtconv_type_unref(to);
}
END_TEST

START_TEST(uncommitted_types_and_endless_streams_are_refused)
{
	struct dtconv_type *committed = fixture_type("vector(3, 1, 2, int)");
	struct dtconv_type *uncommitted = NULL;
	size_t moved = SIZE_MAX;
	int data[16] = { 0 };

	fixture_ok(dtconv_type_create_contiguous(1, committed, &uncommitted));
	fixture_status(dtconv_copy(uncommitted, 1, data, committed, 1, data + 8, &moved),
		       DTCONV_ERR_STATE);
	ck_assert_uint_eq(moved, 0);
	fixture_status(dtconv_copy(committed, 1, data, uncommitted, 1, data + 8, &moved),
		       DTCONV_ERR_STATE);
	fixture_status(dtconv_copy(committed, SIZE_MAX / 3, data, committed, 1, data,
				   &moved),
		       DTCONV_ERR_OVERFLOW);
	fixture_status(dtconv_copy(committed, 1, data, committed, SIZE_MAX / 3, data,
				   &moved),
		       DTCONV_ERR_OVERFLOW);
	ck_assert_uint_eq(moved, 0);
	dtconv_type_unref(committed);
	dtconv_type_unref(uncommitted);
}
END_TEST

/* At once where a side is one run, else out of one layout and into the other. */
START_TEST(copies_are_the_hosts_jobs)
{
	static const struct {
		const char *to;
		uint64_t bytes;
	} cases[] = { { "contiguous(10, int)", 40 }, { "vector(10, 1, 3, int)", 80 } };
	struct dtconv_backend_counters before = { .struct_size = sizeof(before) };
	struct dtconv_backend_counters after = before;
	struct dtconv_type *from = fixture_type("vector(10, 1, 2, int)");
	struct dtconv_type *to = fixture_type(cases[_i].to);
	int source[20] = { 0 }, target[30];

	dtconv_context_query_backend(fixture_context, "host", &before);
	fixture_ok(dtconv_copy(from, 1, source, to, 1, target, NULL));
	dtconv_context_query_backend(fixture_context, "host", &after);
	ck_assert_uint_gt(after.jobs, before.jobs);
	ck_assert_uint_eq(after.bytes - before.bytes, cases[_i].bytes);
	dtconv_type_unref(from);
	dtconv_type_unref(to);
}
END_TEST

/* ---- in advance ------------------------------------------------------------------------- */

static const struct {
	const char *from, *to;
	enum dtconv_copy_way way;
} ways[] = {
	{ "vector(4, 1, 2, int)", "vector(2, 2, 3, int)", DTCONV_COPY_BUFFER },
	{ "vector(4, 1, 2, int)", "contiguous(4, int)", DTCONV_COPY_PACK },
	{ "contiguous(4, int)", "vector(4, 1, 2, int)", DTCONV_COPY_UNPACK },
	{ "contiguous(4, int)", "contiguous(3, int)", DTCONV_COPY_UNPACK },
};

#define WAYS (int)(sizeof(ways) / sizeof(ways[0]))

START_TEST(a_copy_is_explained_in_advance)
{
	struct dtconv_type *from = fixture_type(ways[_i].from),
			   *to = fixture_type(ways[_i].to);
	struct dtconv_copy_explanation e = { .struct_size = sizeof(e) };
	const enum dtconv_memory_kind host = DTCONV_MEMORY_HOST;
	char text[1000], again[1000];
	size_t length, whole;

	fixture_ok(
		dtconv_explain_copy_way(from, 1, host, to, 1, DTCONV_MEMORY_UNKNOWN, &e));
	ck_assert_int_eq(e.way, ways[_i].way);
	ck_assert_uint_eq(e.bytes, _i < 3 ? 16 : 12);
	ck_assert_uint_eq(e.struct_size, sizeof(e));
	ck_assert(e.ns == e.pack_ns + e.unpack_ns && e.ns > 0);
	ck_assert_int_eq(e.pack_backend != NULL, e.way != DTCONV_COPY_UNPACK);
	ck_assert_int_eq(e.unpack_backend != NULL, e.way != DTCONV_COPY_PACK);
	ck_assert_int_eq(e.reason != NULL, e.way == DTCONV_COPY_BUFFER);
	ck_assert(!e.kernel && !e.missing && !e.shares_launch);
	fixture_ok(dtconv_explain_copy(from, 1, host, to, 1, host, text, sizeof(text),
				       &length));
	ck_assert_uint_eq(strlen(text), length);
	ck_assert_int_eq(dtconv_explain_copy(from, 1, host, to, 1, host, again, 20,
					     &whole),
			 DTCONV_ERR_TRUNCATE);
	ck_assert_uint_eq(whole, length);
	ck_assert(strlen(again) == 19 && !strncmp(text, again, 19));
	fixture_ok(dtconv_explain_copy_way(from, 0, host, to, 1, host, &e));
	ck_assert_int_eq(e.way, DTCONV_COPY_NOTHING);
	ck_assert(e.bytes == 0 && e.ns == 0 && !e.pack_backend && !e.unpack_backend);
	dtconv_type_unref(from);
	dtconv_type_unref(to);
}
END_TEST

/* A copy that fails is not explained. What an older caller's struct does not have is not written. */
START_TEST(wrong_copies_are_not_explained)
{
	const enum dtconv_memory_kind host = DTCONV_MEMORY_HOST;
	struct dtconv_type *type = fixture_type("int"), *other = fixture_type("float");
	struct dtconv_copy_explanation e = { .struct_size = 0 };
	struct dtconv_type *open;
	char text[10];
	size_t length = 77;

	fixture_ok(dtconv_type_create_contiguous(2, type, &open));
	fixture_status(dtconv_explain_copy_way(type, 1, host, type, 1, host, &e),
		       DTCONV_ERR_INVAL);
	e.struct_size = sizeof(e);
#define REFUSED(status, ...)                                              \
	fixture_status(dtconv_explain_copy_way(__VA_ARGS__, &e), status); \
	fixture_status(dtconv_explain_copy(__VA_ARGS__, text, 10, &length), status)
	REFUSED(DTCONV_ERR_SIGNATURE, type, 1, host, other, 1, host);
	REFUSED(DTCONV_ERR_STATE, open, 1, host, type, 1, host);
	REFUSED(DTCONV_ERR_STATE, type, 1, host, open, 1, host);
	REFUSED(DTCONV_ERR_OVERFLOW, type, SIZE_MAX / 2, host, type, 1, host);
	REFUSED(DTCONV_ERR_INVAL, type, 1, (enum dtconv_memory_kind)5, type, 1, host);
	REFUSED(DTCONV_ERR_INVAL, type, 1, host, type, 1, (enum dtconv_memory_kind)5);
	ck_assert_uint_eq(length, 77);
	e.struct_size = offsetof(struct dtconv_copy_explanation, ns);
	e.ns = 123;
	fixture_ok(dtconv_explain_copy_way(type, 1, host, type, 1, host, &e));
	ck_assert_int_eq(e.way, DTCONV_COPY_UNPACK);
	ck_assert(e.ns == 123);
	dtconv_type_unref(open);
	dtconv_type_unref(type);
	dtconv_type_unref(other);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("copy");
	TCase *layout = fixture_case(suite, "layouts", 60);
	TCase *signature = fixture_case(suite, "signatures", 60);

	tcase_add_loop_test(layout, to_any_layout_of_the_same_signature, 0, layout_count);
	tcase_add_test(layout, from_a_dense_stream_to_a_layout_and_back);
	tcase_add_loop_test(layout, copies_are_the_hosts_jobs, 0, 2);
	tcase_add_loop_test(signature, the_signatures_decide, 0,
			    (int)(sizeof(relations) / sizeof(relations[0])));
	tcase_add_loop_test(signature, a_copy_is_explained_in_advance, 0, WAYS);
	tcase_add_test(signature, wrong_copies_are_not_explained);
	tcase_add_test(signature, uncommitted_types_and_endless_streams_are_refused);
	return fixture_run(suite);
}
