/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Names and pointers that users attach to types: what is inherited (nothing), how long a name lives,
 * several threads, and no memory.
 */
#include "config.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/t.h"

START_TEST(types_have_no_name_and_no_pointer_at_first)
{
	struct dtconv_type *type = t_parse("vector(3, 1, 2, int)");

	ck_assert_str_eq(dtconv_type_name(type), "");
	ck_assert_ptr_null(dtconv_type_user(type));
	ck_assert_str_eq(dtconv_type_name(t_predefined(DTCONV_DOUBLE_INT)), "double_int");
	ck_assert_ptr_null(dtconv_type_user(t_predefined(DTCONV_INT)));
	ck_assert_ptr_null(dtconv_type_name(NULL));
	ck_assert_ptr_null(dtconv_type_user(NULL));
	dtconv_type_unref(type);
}
END_TEST

START_TEST(names_and_pointers_stay_with_their_type)
{
	struct dtconv_type *type = t_parse("vector(3, 1, 2, int)"), *copy, *outer;
	char name[] = "halo, north";
	int mine, other;

	t_ok(dtconv_type_set_name(type, name));
	name[0] = 'H';
	t_ok(dtconv_type_set_user(type, &mine));
	t_ok(dtconv_type_create_dup(type, &copy));
	t_ok(dtconv_type_create_contiguous(2, type, &outer));
	const char *first = dtconv_type_name(type);
	ck_assert_str_eq(first, "halo, north");
	ck_assert_ptr_eq(dtconv_type_user(type), &mine);
	ck_assert_str_eq(dtconv_type_name(copy), "");
	ck_assert_ptr_null(dtconv_type_user(copy));
	ck_assert_str_eq(dtconv_type_name(outer), "");
	ck_assert_ptr_null(dtconv_type_user(outer));
	t_ok(dtconv_type_set_name(type, ""));
	t_ok(dtconv_type_set_user(type, &other));
	ck_assert_str_eq(first, "halo, north");
	ck_assert_str_eq(dtconv_type_name(type), "");
	ck_assert_ptr_eq(dtconv_type_user(type), &other);
	t_ok(dtconv_type_set_user(type, NULL));
	ck_assert_ptr_null(dtconv_type_user(type));
	dtconv_type_unref(outer);
	dtconv_type_unref(copy);
	dtconv_type_unref(type);
}
END_TEST

/* The memory of a predefined type's names goes with the context; sanitizers look. */
START_TEST(predefined_types_may_be_named)
{
	struct dtconv_type *type = t_predefined(DTCONV_DOUBLE);
	char *text;

	t_ok(dtconv_type_set_name(type, "temperature"));
	t_ok(dtconv_type_set_name(type, "pressure"));
	ck_assert_str_eq(dtconv_type_name(type), "pressure");
	text = t_text(type);
	ck_assert_str_eq(text, "double");
	free(text);
}
END_TEST

#define THREADS 4
#define NAMES   200

static void *name_often(void *arg)
{
	struct dtconv_type *type = arg;
	char text[40];

	for (int i = 0; i < NAMES; i++) {
		snprintf(text, sizeof(text), "name %d", i);
		if (dtconv_type_set_name(type, text) ||
		    dtconv_type_set_user(type, text) ||
		    strncmp(dtconv_type_name(type), "name ", 5) ||
		    !dtconv_type_user(type))
			return arg;
	}
	return NULL;
}

START_TEST(threads_may_name_one_type_at_once)
{
	struct dtconv_type *type = t_parse("vector(3, 1, 2, int)");
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, name_often, type), 0);
	for (int i = 0; i < THREADS; i++) {
		void *failed;

		ck_assert_int_eq(pthread_join(threads[i], &failed), 0);
		ck_assert_ptr_null(failed);
	}
	ck_assert_str_eq(dtconv_type_name(type), "name 199");
	dtconv_type_unref(type);
}
END_TEST

static bool poor;
static long live;

static void *poor_alloc(void *arg, size_t bytes)
{
	(void)arg;
	live += !poor;
	return poor ? NULL : malloc(bytes);
}

static void poor_free(void *arg, void *memory)
{
	(void)arg;
	live--;
	free(memory);
}

/* And whatever was named, nothing of it outlives the context. */
START_TEST(without_memory_the_old_name_stays)
{
	const struct dtconv_context_params params = { .struct_size = sizeof(params),
						      .allocator = { poor_alloc,
								     poor_free, NULL } };
	struct dtconv_context *context;

	poor = false;
	t_ok(dtconv_context_create(&params, &context));
	struct dtconv_type *type = dtconv_type_predefined(context, DTCONV_INT);
	t_ok(dtconv_type_set_name(type, "old"));
	poor = true;
	ck_assert_int_eq(dtconv_type_set_name(type, "new"), DTCONV_ERR_NOMEM);
	ck_assert_str_eq(dtconv_type_name(type), "old");
	dtconv_context_destroy(context);
	ck_assert_int_eq(live, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("names");
	TCase *names = t_case(suite, "names");

	tcase_add_test(names, types_have_no_name_and_no_pointer_at_first);
	tcase_add_test(names, names_and_pointers_stay_with_their_type);
	tcase_add_test(names, predefined_types_may_be_named);
	tcase_add_test(names, threads_may_name_one_type_at_once);
	tcase_add_test(names, without_memory_the_old_name_stays);
	return t_run(suite);
}
