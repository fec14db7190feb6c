/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lives of types: who holds whom, who goes first, and what the counters and the context say
 * of it. Run under ASan these cases find every use after release.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/t.h"

static struct dtconv_counters counters(void)
{
	struct dtconv_counters result = { .struct_size = sizeof(result) };

	t_ok(dtconv_context_query_counters(t_context, &result));
	return result;
}

START_TEST(old_types_may_go_at_once)
{
	struct dtconv_type *inner = t_parse("vector(3, 1, 2, int)"), *middle = NULL;
	struct dtconv_type *outer = NULL;
	static const size_t lengths[] = { 1, 2 };
	static const ptrdiff_t disps[] = { 0, 100 };

	t_ok(dtconv_type_create_contiguous(2, inner, &middle));
	struct dtconv_type *members[] = { inner, middle };
	t_ok(dtconv_type_create_struct(t_context, 2, lengths, disps, members, &outer));
	dtconv_type_unref(inner);
	dtconv_type_unref(middle);
	ck_assert_uint_eq(counters().types_live, 3);
	t_ok(dtconv_type_commit(outer));
	t_verify(outer);
	dtconv_type_unref(outer);
	ck_assert_uint_eq(counters().types_live, 0);
}
END_TEST

START_TEST(references_are_counted)
{
	struct dtconv_type *type = t_parse("contiguous(2, int)");

	for (int i = 0; i < 100; i++)
		ck_assert_ptr_eq(dtconv_type_ref(type), type);
	for (int i = 0; i < 100; i++) {
		dtconv_type_unref(type);
		ck_assert_uint_eq(t_attr(type).size, 8);
	}
	ck_assert_uint_eq(counters().types_live, 1);
	dtconv_type_unref(type);
	ck_assert_uint_eq(counters().types_live, 0);
}
END_TEST

START_TEST(null_is_released_in_silence)
{
	dtconv_type_unref(NULL);
	dtconv_context_destroy(NULL);
}
END_TEST

START_TEST(convertors_hold_their_type)
{
	struct dtconv_type *type = t_parse("vector(3, 1, 2, int)");
	struct dtconv_convertor *convertor = NULL, *clone = NULL;
	int source[6] = { 1, 2, 3, 4, 5, 6 }, packed[3] = { 0 };
	size_t moved = 0;

	t_ok(dtconv_convertor_create_pack(type, 1, source, &convertor));
	dtconv_type_unref(type);
	t_ok(dtconv_convertor_clone(convertor, &clone));
	dtconv_convertor_destroy(convertor);
	t_ok(dtconv_convertor_pack(clone, packed, sizeof(packed), &moved));
	ck_assert_uint_eq(moved, 12);
	ck_assert_mem_eq(packed, ((int[]){ 1, 3, 5 }), 12);
	dtconv_convertor_destroy(clone);
	ck_assert_uint_eq(counters().types_live, 0);
}
END_TEST

START_TEST(contents_live_as_long_as_the_type)
{
	struct dtconv_type *inner = t_parse("contiguous(3, short)"), *outer = NULL;
	struct dtconv_type *borrowed = NULL;
	size_t count = 0;

	t_ok(dtconv_type_create_contiguous(2, inner, &outer));
	dtconv_type_unref(inner);
	t_ok(dtconv_type_query_contents(outer, 1, &count, 0, NULL, 1, &borrowed));
	ck_assert_uint_eq(t_attr(borrowed).size, 6);
	/* A reference taken on a borrowed type keeps it when the outer one goes. */
	dtconv_type_ref(borrowed);
	dtconv_type_unref(outer);
	ck_assert_uint_eq(t_attr(borrowed).size, 6);
	dtconv_type_unref(borrowed);
}
END_TEST

START_TEST(a_duplicate_outlives_its_original)
{
	struct dtconv_type *type = t_parse("vector(2, 1, 3, double)"), *dup = NULL;

	t_ok(dtconv_type_create_dup(type, &dup));
	dtconv_type_unref(type);
	t_verify(dup);
	dtconv_type_unref(dup);
}
END_TEST

/* What a cache keyed by the handle gets wrong: the same address, another layout. */
START_TEST(a_handle_used_again_is_another_type)
{
	static const char *const texts[] = { "vector(4, 1, 2, int)",
					     "vector(2, 2, 3, int)", "contiguous(4, int)",
					     "indexed([2,1,1], [5,0,2], int)" };

	for (int i = 0; i < 400; i++)
		t_verify_text(texts[i % 4]);
}
END_TEST

START_TEST(a_failed_constructor_holds_nothing)
{
	struct dtconv_type *type = t_parse("contiguous(2, int)"), *other = NULL;
	static const size_t lengths[] = { 1, SIZE_MAX };
	static const ptrdiff_t disps[] = { 0, 0 };
	struct dtconv_type *members[] = { type, type };

	t_status(dtconv_type_create_struct(t_context, 2, lengths, disps, members, &other),
		 DTCONV_ERR_OVERFLOW);
	t_status(dtconv_type_create_contiguous(SIZE_MAX, type, &other),
		 DTCONV_ERR_OVERFLOW);
	dtconv_type_unref(type);
	ck_assert_uint_eq(counters().types_live, 0);
}
END_TEST

START_TEST(counters_count)
{
	struct dtconv_type *a = t_parse("contiguous(2, int)"), *b = NULL;
	int data[4] = { 0 };
	size_t moved = 0;

	t_ok(dtconv_type_create_dup(a, &b));
	ck_assert_uint_eq(counters().types_created, 2);
	ck_assert_uint_eq(counters().types_live, 2);
	ck_assert_uint_ge(counters().types_committed, 1);
	t_ok(dtconv_pack(a, 1, data, data + 2, 8, &moved));
	t_ok(dtconv_unpack(a, 1, data, data + 2, 8, &moved));
	ck_assert_uint_eq(counters().pack_calls, 1);
	ck_assert_uint_eq(counters().pack_bytes, 8);
	ck_assert_uint_eq(counters().unpack_calls, 1);
	ck_assert_uint_eq(counters().unpack_bytes, 8);
	ck_assert_uint_eq(counters().errors, 0);
	t_status(dtconv_type_create_contiguous(SIZE_MAX, a, &b), DTCONV_ERR_OVERFLOW);
	ck_assert_uint_eq(counters().errors, 1);
	dtconv_type_unref(a);
	dtconv_type_unref(b);
	ck_assert_uint_eq(counters().types_created, 2);
	ck_assert_uint_eq(counters().types_live, 0);
}
END_TEST

START_TEST(counters_rest_unless_asked)
{
	struct dtconv_counters read = { .struct_size = sizeof(read) };
	struct dtconv_context *quiet = NULL;
	struct dtconv_type *type = NULL;

	t_ok(dtconv_context_create(NULL, &quiet));
	t_ok(dtconv_type_parse(quiet, "dup(int)", 8, &type));
	t_ok(dtconv_context_query_counters(quiet, &read));
	ck_assert_uint_eq(read.types_created, 0);
	ck_assert_uint_eq(read.types_live, 0);
	dtconv_type_unref(type);
	dtconv_context_destroy(quiet);
}
END_TEST

/* ---- a context destroyed too early --------------------------------------------------- */

struct lines {
	size_t errors;
	char last[256];
};

static void note(void *arg, enum dtconv_log_level level, const char *file, int line,
		 const char *text)
{
	struct lines *lines = arg;

	ck_assert_ptr_nonnull(file);
	ck_assert_int_gt(line, 0);
	if (level == DTCONV_LOG_ERROR)
		lines->errors++;
	snprintf(lines->last, sizeof(lines->last), "%s", text);
}

START_TEST(a_context_with_live_types_is_reported_and_kept)
{
	struct lines lines = { 0 };
	struct dtconv_context_params params = { .struct_size = sizeof(params),
						.log = note,
						.log_arg = &lines,
						.log_level = DTCONV_LOG_ERROR };
	struct dtconv_context *context = NULL;
	struct dtconv_type *type = NULL;

	t_ok(dtconv_context_create(&params, &context));
	t_ok(dtconv_type_parse(context, "contiguous(2, int)", 18, &type));
	dtconv_context_destroy(context);
	ck_assert_uint_eq(lines.errors, 1);
	ck_assert_msg(strstr(lines.last, "1") != NULL, "%s", lines.last);
	/* Nothing dangles: the type still works and may still be released. */
	ck_assert_uint_eq(t_attr(type).size, 8);
	dtconv_type_unref(type);
	dtconv_context_destroy(context);
	ck_assert_uint_eq(lines.errors, 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("refcount");
	TCase *types = t_case(suite, "types");
	TCase *context = t_case(suite, "context");

	tcase_add_test(types, old_types_may_go_at_once);
	tcase_add_test(types, references_are_counted);
	tcase_add_test(types, null_is_released_in_silence);
	tcase_add_test(types, convertors_hold_their_type);
	tcase_add_test(types, contents_live_as_long_as_the_type);
	tcase_add_test(types, a_duplicate_outlives_its_original);
	tcase_add_test(types, a_handle_used_again_is_another_type);
	tcase_add_test(types, a_failed_constructor_holds_nothing);
	tcase_add_test(context, counters_count);
	tcase_add_test(context, counters_rest_unless_asked);
	tcase_add_test(context, a_context_with_live_types_is_reported_and_kept);
	return t_run(suite);
}
