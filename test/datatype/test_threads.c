/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Types under threads: one commit raced by many, one type used by many, references taken and
 * dropped by many, and errors that stay with the thread that made them.
 */
#include "config.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/random_type.h"
#include "support/t.h"

enum { THREADS = 8 };

/* What all threads of a case share; failures are counted, Check is asked afterwards. */
struct shared {
	pthread_barrier_t start;
	struct dtconv_type *type;
	const struct ref_typemap *map;
	const unsigned char *source; /* displacement 0 */
	const unsigned char *stream; /* packed by the oracle, one instance */
	_Atomic size_t failures;
	_Atomic size_t next; /* number of the next thread */
};

typedef void *(*work_fn)(void *shared);

static void run_threads(struct shared *shared, work_fn work)
{
	pthread_t threads[THREADS];

	ck_assert_int_eq(pthread_barrier_init(&shared->start, NULL, THREADS), 0);
	for (size_t i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, work, shared), 0);
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&shared->start);
	ck_assert_msg(shared->failures == 0, "%zu failures", (size_t)shared->failures);
}

/* Run the work on one type between the oracle's source and stream. */
static void run_on(struct dtconv_type *type, work_fn work)
{
	struct shared shared = { .type = type };
	struct ref_typemap map;

	ck_assert_int_eq(ref_typemap_build(type, DTCONV_PADDING_STRUCT, 0, &map), 0);
	ptrdiff_t low = ref_typemap_low(&map, 1), high = ref_typemap_high(&map, 1);
	unsigned char *memory = malloc((size_t)(high - low) + 1);
	unsigned char *stream = malloc(map.size + 1);
	ck_assert(memory && stream);
	for (ptrdiff_t i = 0; i < high - low; i++)
		memory[i] = (unsigned char)(i * 7 + 3);
	shared.source = memory - low;
	shared.map = &map;
	shared.stream = stream;
	ref_typemap_pack(&map, 1, shared.source, stream);
	run_threads(&shared, work);
	free(memory);
	free(stream);
	ref_typemap_free(&map);
}

static bool packs_right(const struct shared *shared)
{
	unsigned char *packed = malloc(shared->map->size + 1);
	size_t moved = 0;
	int status = dtconv_pack(shared->type, 1, shared->source, packed,
				 shared->map->size, &moved);
	bool right = status == 0 && moved == shared->map->size &&
		     memcmp(packed, shared->stream, moved) == 0;

	free(packed);
	return right;
}

/* ---- commit -------------------------------------------------------------------------- */

static void *commit_and_pack(void *arg)
{
	struct shared *shared = arg;

	pthread_barrier_wait(&shared->start);
	if (dtconv_type_commit(shared->type) || !packs_right(shared))
		shared->failures++;
	return NULL;
}

START_TEST(a_commit_raced_by_eight)
{
	static const char *const texts[] = {
		"vector(50, 2, 5, double)", "struct([1,1], [0,8], [double,char])",
		"indexed([1,2,3,1,2,3,1,2,3,4], [0,3,7,20,33,40,51,60,70,80], int)",
		"contiguous(9, resized(indexed([1,1], [0,2], double), 0, 24))"
	};

	for (size_t round = 0; round < 200; round++) {
		const char *text = texts[round % 4];
		struct dtconv_type *type = NULL;

		t_ok(dtconv_type_parse(t_context, text, strlen(text), &type));
		run_on(type, commit_and_pack);
		ck_assert_int_eq(t_attr(type).committed, 1);
		dtconv_type_unref(type);
	}
}
END_TEST

/* ---- one type, many users ------------------------------------------------------------ */

static void *pack_in_fragments(void *arg)
{
	struct shared *shared = arg;
	struct random_stream random = { 0x51e2 + shared->next++ };
	struct dtconv_convertor *convertor = NULL;
	unsigned char *packed = calloc(shared->map->size + 1, 1);
	size_t moved = 0;

	pthread_barrier_wait(&shared->start);
	if (dtconv_convertor_create_pack(shared->type, 1, shared->source, &convertor)) {
		shared->failures++;
		free(packed);
		return NULL;
	}
	for (size_t round = 0; round < 300; round++) {
		size_t at = random_below(&random, shared->map->size + 1);
		size_t room = random_below(&random, shared->map->size - at + 1);

		if (dtconv_convertor_seek(convertor, at) ||
		    dtconv_convertor_pack(convertor, packed, room, &moved) ||
		    moved != room || memcmp(packed, shared->stream + at, room) != 0)
			shared->failures++;
	}
	dtconv_convertor_destroy(convertor);
	free(packed);
	return NULL;
}

START_TEST(one_type_used_by_eight)
{
	uint64_t seed = random_seed(12000);

	for (uint64_t i = 0; i < 20; i++) {
		struct dtconv_type *type = NULL;

		t_ok(random_type(t_context, seed + i, NULL, &type));
		run_on(type, pack_in_fragments);
		dtconv_type_unref(type);
	}
}
END_TEST

static void *ask_everything(void *arg)
{
	struct shared *shared = arg;
	char text[4096];

	pthread_barrier_wait(&shared->start);
	for (size_t round = 0; round < 300; round++) {
		struct dtconv_type_attr attr = { .struct_size = sizeof(attr) };
		enum dtconv_signature_relation relation = DTCONV_SIGNATURE_DIFFERENT;
		size_t length = 0, elements = 0;

		if (dtconv_type_query(shared->type, &attr) ||
		    attr.size != shared->map->size ||
		    dtconv_type_query_elements(shared->type, attr.size, &elements) ||
		    elements != attr.element_count ||
		    dtconv_type_compare_signature(shared->type, 2, shared->type, 2,
						  &relation) ||
		    relation != DTCONV_SIGNATURE_EQUAL ||
		    dtconv_type_format(shared->type, text, sizeof(text), &length) > 0)
			shared->failures++;
	}
	return NULL;
}

START_TEST(one_type_asked_by_eight)
{
	struct dtconv_type *type =
		t_parse("struct([2,1], [0,64], [vector(3, 1, 2, double),double_int])");

	run_on(type, ask_everything);
	dtconv_type_unref(type);
}
END_TEST

static void *build_on_it(void *arg)
{
	struct shared *shared = arg;

	pthread_barrier_wait(&shared->start);
	for (size_t round = 0; round < 500; round++) {
		struct dtconv_type *outer = NULL;

		dtconv_type_ref(shared->type);
		if (dtconv_type_create_contiguous(2, shared->type, &outer) ||
		    dtconv_type_commit(outer))
			shared->failures++;
		dtconv_type_unref(shared->type);
		dtconv_type_unref(outer);
	}
	return NULL;
}

START_TEST(one_type_built_upon_by_eight)
{
	struct dtconv_type *type = t_parse("vector(3, 1, 2, double)");

	run_on(type, build_on_it);
	dtconv_type_unref(type);
}
END_TEST

/* Every thread owns one reference; the last one to let go frees the type, whoever it is. */
static void *let_go(void *arg)
{
	struct shared *shared = arg;

	pthread_barrier_wait(&shared->start);
	dtconv_type_unref(shared->type);
	return NULL;
}

START_TEST(the_last_of_eight_frees_it)
{
	for (size_t round = 0; round < 300; round++) {
		struct shared shared = { .type = t_parse(
						 "contiguous(3, vector(3, 1, 2, int))") };

		for (size_t i = 1; i < THREADS; i++)
			dtconv_type_ref(shared.type);
		run_threads(&shared, let_go);
	}
}
END_TEST

/* ---- errors -------------------------------------------------------------------------- */

/* Each thread fails with a number of its own and must read that one back. */
static void *fail_alone(void *arg)
{
	struct shared *shared = arg;
	size_t mine = 1000000 + shared->next++;
	char text[256], number[32];

	snprintf(number, sizeof(number), "%zu", mine);
	pthread_barrier_wait(&shared->start);
	if (dtconv_context_error(t_context, text, sizeof(text)) != 0)
		shared->failures++;
	for (size_t round = 0; round < 300; round++) {
		const size_t size[] = { 3 }, subsize[] = { mine }, start[] = { 0 };
		struct dtconv_type *type = NULL;
		int status = dtconv_type_create_subarray(
			1, size, subsize, start, DTCONV_ORDER_C, shared->type, &type);
		size_t length = dtconv_context_error(t_context, text, sizeof(text));

		if (status != DTCONV_ERR_INVAL || length != strlen(text) ||
		    !strstr(text, number))
			shared->failures++;
	}
	return NULL;
}

START_TEST(each_thread_has_its_own_error)
{
	struct shared shared = { .type = t_predefined(DTCONV_INT) };

	run_threads(&shared, fail_alone);
}
END_TEST

/* ---- contexts ------------------------------------------------------------------------ */

static void *live_alone(void *arg)
{
	struct shared *shared = arg;

	pthread_barrier_wait(&shared->start);
	for (size_t round = 0; round < 50; round++) {
		struct dtconv_context *context = NULL;
		struct dtconv_type *type = NULL;

		if (dtconv_context_create(NULL, &context) ||
		    dtconv_type_parse(context, "vector(3, 1, 2, int)", 20, &type) ||
		    dtconv_type_commit(type))
			shared->failures++;
		dtconv_type_unref(type);
		dtconv_context_destroy(context);
	}
	return NULL;
}

START_TEST(contexts_come_and_go)
{
	struct shared shared = { 0 };

	run_threads(&shared, live_alone);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("threads");
	TCase *types = t_case(suite, "types");
	TCase *contexts = t_case(suite, "contexts");

	tcase_add_test(types, a_commit_raced_by_eight);
	tcase_add_test(types, one_type_used_by_eight);
	tcase_add_test(types, one_type_asked_by_eight);
	tcase_add_test(types, one_type_built_upon_by_eight);
	tcase_add_test(types, the_last_of_eight_frees_it);
	tcase_add_test(contexts, each_thread_has_its_own_error);
	tcase_add_test(contexts, contexts_come_and_go);
	return t_run(suite);
}
