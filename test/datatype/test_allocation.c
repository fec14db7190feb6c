/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The context's allocator: everything comes from it, everything goes back, and whichever
 * allocation fails, the call answers DTCONV_ERR_NOMEM, leaves its output alone and leaks
 * nothing.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/allocators.h"
#include "support/random_type.h"
#include "support/t.h"

/* Lets so many allocations succeed, then fails all others. */
struct purse {
	size_t left;
	size_t live;
	size_t asked;
	bool refused;
};

static void *purse_alloc(void *arg, size_t bytes)
{
	struct purse *purse = arg;

	purse->asked++;
	if (purse->left == 0) {
		purse->refused = true;
		return NULL;
	}
	purse->left--;
	unsigned char *memory = malloc(bytes + 1);
	ck_assert_ptr_nonnull(memory);
	/* New memory is not zero, and its length is remembered by the tools, not by us. */
	memset(memory, 0xdb, bytes);
	purse->live++;
	return memory;
}

static void purse_free(void *arg, void *memory)
{
	struct purse *purse = arg;

	ck_assert_ptr_nonnull(memory);
	purse->live--;
	free(memory);
}

static int open_context(struct purse *purse, struct dtconv_context **context)
{
	struct dtconv_context_params params = {
		.struct_size = sizeof(params),
		.allocator = { .alloc = purse_alloc, .free = purse_free, .arg = purse },
		.flags = DTCONV_CONTEXT_COUNTERS
	};

	return dtconv_context_create(&params, context);
}

/* What may run out of memory: a status, and the type made, if any. */
typedef int (*attempt_fn)(struct dtconv_context *context, const void *arg,
			  struct dtconv_type **type);

/* Try with 0, 1, 2 ... allocations allowed until it works. Answers how many it took. */
static size_t expect_clean_failures(attempt_fn attempt, const void *arg, const char *name)
{
	for (size_t allowed = 0;; allowed++) {
		struct purse purse = { .left = SIZE_MAX };
		struct dtconv_context *context = NULL;
		struct dtconv_type *type = NULL;

		ck_assert_int_eq(open_context(&purse, &context), 0);
		size_t before = purse.live;
		purse.left = allowed;
		int status = attempt(context, arg, &type);
		if (purse.refused)
			ck_assert_msg(status == DTCONV_ERR_NOMEM && type == NULL,
				      "%s, allocation %zu fails: %s", name, allowed + 1,
				      dtconv_strerror(status));
		else
			ck_assert_msg(status == 0, "%s: %s", name,
				      dtconv_strerror(status));
		purse.left = SIZE_MAX;
		dtconv_type_unref(type);
		ck_assert_msg(purse.live == before,
			      "%s, allocation %zu fails: %zu leaked", name, allowed + 1,
			      purse.live - before);
		dtconv_context_destroy(context);
		ck_assert_uint_eq(purse.live, 0);
		if (!purse.refused)
			return allowed;
	}
}

START_TEST(context_create)
{
	for (size_t allowed = 0;; allowed++) {
		struct purse purse = { .left = allowed };
		struct dtconv_context *context = NULL;
		int status = open_context(&purse, &context);

		if (status == 0) {
			dtconv_context_destroy(context);
			ck_assert_uint_eq(purse.live, 0);
			ck_assert_uint_gt(allowed, 0);
			return;
		}
		ck_assert_int_eq(status, DTCONV_ERR_NOMEM);
		ck_assert_ptr_null(context);
		ck_assert_uint_eq(purse.live, 0);
	}
}
END_TEST

/* ---- constructors, commit and text --------------------------------------------------- */

static int parse(struct dtconv_context *context, const void *arg,
		 struct dtconv_type **type)
{
	const char *text = arg;

	return dtconv_type_parse(context, text, strlen(text), type);
}

/* Only a commit that works hands the type out, so that failures must clean up. */
static int parse_and_commit(struct dtconv_context *context, const void *arg,
			    struct dtconv_type **type)
{
	struct dtconv_type *made = NULL;
	int status = parse(context, arg, &made);

	if (!status)
		status = dtconv_type_commit(made);
	if (status)
		dtconv_type_unref(made);
	else
		*type = made;
	return status;
}

static const char *const texts[] = {
	"contiguous(3, double)",
	"vector(3, 2, 5, double_int)",
	"hvector(3, 2, -41, int)",
	"indexed([1,2,0,3], [0,3,9,20], int)",
	"hindexed([1,2,0,3], [0,13,90,50], int)",
	"indexed([1,2,3,1,2,3,1,2,3,4], [0,3,7,20,33,40,51,60,70,80], int)",
	"indexed_block(2, [0,3,7,20,33,40,51,60,70,80], int)",
	"hindexed_block(2, [0,13,90,50], short)",
	"struct([1,1], [0,8], [double,char])",
	"struct([1,1,1], [0,64,9], [vector(2, 1, 3, double),double_int,contiguous(2, char)])",
	"struct([1,2,1,2,1,2,1,2,1,2], [0,9,20,40,55,70,81,90,99,111],"
	"[int,char,double,short,int,char,int,char,int,char])",
	"subarray([4,5,6], [2,3,4], [1,1,1], c, double)",
	"subarray([4,5,6], [2,3,4], [1,1,1], fortran, double)",
	"darray(6, 4, [10,11], [block,cyclic], [default,2], [2,3], c, int)",
	"darray(5, 4, [4], [block], [default], [5], c, double)",
	"resized(vector(2, 1, 3, int), -4, 99)",
	"dup(vector(2, 1, 3, int))",
	"f90_real(15, undefined)",
	"f90_complex(15, 300)",
	"f90_integer(9)",
	"value_index(int64, int16)",
	"contiguous(5, resized(indexed([1,1], [0,2], double), 0, 24))",
	"contiguous(3, indexed([1,2,3,1,2,3,1,2,3,4], [0,3,7,20,33,40,51,60,70,80], int))",
	"vector(9, 2, 3, indexed([1,2,3,1,2,3,1,2,3,4], [0,3,7,20,33,40,51,60,70,80], int))",
	"indexed([1,2,1,2,1,2,1,2,1], [0,30,90,200,310,400,500,600,700],"
	" indexed([2,1,1], [0,5,9], char))",
	"contiguous(0, double)",
	"int",
};

START_TEST(parse_fails_cleanly)
{
	expect_clean_failures(parse, texts[_i], texts[_i]);
}
END_TEST

START_TEST(commit_fails_cleanly)
{
	expect_clean_failures(parse_and_commit, texts[_i], texts[_i]);
}
END_TEST

/* After a commit that failed the type is as it was, and the next one works. */
START_TEST(commit_may_be_tried_again)
{
	for (size_t allowed = 0;; allowed++) {
		struct purse purse = { .left = SIZE_MAX };
		struct dtconv_type *type = NULL;

		ck_assert_int_eq(open_context(&purse, &t_context), 0);
		t_ok(parse(t_context, texts[_i], &type));
		purse.left = allowed;
		int status = dtconv_type_commit(type);
		purse.left = SIZE_MAX;
		ck_assert_int_eq(t_attr(type).committed, status == 0);
		ck_assert_int_eq(status == DTCONV_ERR_NOMEM, purse.refused);
		t_ok(dtconv_type_commit(type));
		t_verify(type);
		dtconv_type_unref(type);
		dtconv_context_destroy(t_context);
		t_context = NULL;
		ck_assert_uint_eq(purse.live, 0);
		if (!purse.refused)
			return;
	}
}
END_TEST

/* Random trees through the constructors themselves, not through the parser. */
static int build_random(struct dtconv_context *context, const void *arg,
			struct dtconv_type **type)
{
	static const struct random_limits limits = { .depth = 3, .max_entries = 100 };

	return random_type(context, *(const uint64_t *)arg, &limits, type);
}

START_TEST(constructors_fail_cleanly)
{
	uint64_t seed = random_seed(880000);

	for (uint64_t i = 0; i < 300; i++) {
		uint64_t this_seed = seed + i;
		char name[64];

		snprintf(name, sizeof(name), "DTCONV_TEST_SEED=%ju",
			 (uintmax_t)this_seed);
		expect_clean_failures(build_random, &this_seed, name);
	}
}
END_TEST

/* A tree built by hand, so that each constructor's own failure is seen. */
static int build_by_hand(struct dtconv_context *context, const void *arg,
			 struct dtconv_type **type)
{
	struct random_tree *tree = random_tree_create(*(const uint64_t *)arg, NULL);
	int status = random_tree_build(tree, context, type);

	random_tree_destroy(tree);
	return status;
}

START_TEST(uncommitted_trees_fail_cleanly)
{
	uint64_t seed = random_seed(890000);

	for (uint64_t i = 0; i < 300; i++) {
		uint64_t this_seed = seed + i;

		expect_clean_failures(build_by_hand, &this_seed, "tree");
	}
}
END_TEST

/* ---- serialised types ---------------------------------------------------------------- */

/* The stream of a text form, made where memory is plenty. */
struct bytes {
	unsigned char *bytes;
	size_t length;
};

static struct bytes serialised(const char *text)
{
	struct dtconv_context *context = NULL;
	struct dtconv_type *type = NULL;
	struct bytes stream = { 0 };
	size_t again = 0;

	t_ok(dtconv_context_create(NULL, &context));
	ck_assert_int_eq(parse(context, text, &type), 0);
	t_status(dtconv_type_serialise(type, NULL, 0, &stream.length),
		 DTCONV_ERR_TRUNCATE);
	stream.bytes = malloc(stream.length);
	ck_assert_ptr_nonnull(stream.bytes);
	t_ok(dtconv_type_serialise(type, stream.bytes, stream.length, &again));
	dtconv_type_unref(type);
	dtconv_context_destroy(context);
	return stream;
}

static int deserialise(struct dtconv_context *context, const void *arg,
		       struct dtconv_type **type)
{
	const struct bytes *stream = arg;

	return dtconv_type_deserialise(context, stream->bytes, stream->length, type);
}

START_TEST(deserialise_fails_cleanly)
{
	struct bytes stream = serialised(texts[_i]);
	size_t allocations = expect_clean_failures(deserialise, &stream, texts[_i]);

	ck_assert_uint_gt(allocations, 0);
	free(stream.bytes);
}
END_TEST

/* Only a type that could be serialised is handed out, so that failures must clean up. */
static int parse_and_serialise(struct dtconv_context *context, const void *arg,
			       struct dtconv_type **type)
{
	struct dtconv_type *made = NULL;
	size_t length = SIZE_MAX;
	int status = parse(context, arg, &made);

	if (status)
		return status;
	status = dtconv_type_serialise(made, NULL, 0, &length);
	if (status == DTCONV_ERR_TRUNCATE) {
		*type = made;
		return 0;
	}
	ck_assert_uint_eq(length, SIZE_MAX);
	dtconv_type_unref(made);
	return status;
}

START_TEST(serialise_fails_cleanly)
{
	expect_clean_failures(parse_and_serialise, texts[_i], texts[_i]);
}
END_TEST

/* ---- queries ------------------------------------------------------------------------- */

/* Questions cost no memory, but for the text form, which answers that it got none. */
START_TEST(queries_without_memory)
{
	struct purse purse = { .left = SIZE_MAX };
	struct dtconv_type_attr attr = { .struct_size = sizeof(attr) };
	struct dtconv_envelope envelope;
	enum dtconv_signature_relation relation;
	struct dtconv_type *type = NULL;
	size_t length = 0, elements = 0;
	char text[256];

	ck_assert_int_eq(open_context(&purse, &t_context), 0);
	type = t_parse(texts[_i]);
	purse.left = 0;
	t_ok(dtconv_type_query(type, &attr));
	t_ok(dtconv_type_query_envelope(type, &envelope));
	t_ok(dtconv_type_query_elements(type, 12, &elements));
	t_ok(dtconv_type_compare_signature(type, 3, type, 2, &relation));
	t_ok(dtconv_type_format_signature(type, text, sizeof(text), &length));
	t_ok(dtconv_type_format_program(type, text, sizeof(text), &length));
	t_ok(dtconv_type_commit(type));
	ck_assert(!purse.refused);
	/* The text form lists contents and needs room for them. */
	size_t before = purse.live;
	int status = dtconv_type_format(type, text, sizeof(text), &length);
	ck_assert_int_eq(status, purse.refused ? DTCONV_ERR_NOMEM : 0);
	ck_assert_uint_eq(purse.live, before);
	dtconv_type_unref(type);
	dtconv_context_destroy(t_context);
	t_context = NULL;
	ck_assert_uint_eq(purse.live, 0);
}
END_TEST

START_TEST(half_an_allocator_is_refused)
{
	struct purse purse = { 0 };
	struct dtconv_context_params params = { .struct_size = sizeof(params) };
	struct dtconv_context *context = NULL;

	params.allocator =
		(struct dtconv_allocator){ .alloc = purse_alloc, .arg = &purse };
	t_status(dtconv_context_create(&params, &context), DTCONV_ERR_INVAL);
	params.allocator = (struct dtconv_allocator){ .free = purse_free, .arg = &purse };
	t_status(dtconv_context_create(&params, &context), DTCONV_ERR_INVAL);
	ck_assert_ptr_null(context);
	ck_assert_uint_eq(purse.asked, 0);
}
END_TEST

/* A committed indexed type with a million irregular blocks: at most 16 bytes a block. */
START_TEST(memory_of_a_large_table)
{
	enum { BLOCKS = 1000000 };
	struct byte_count memory = { 0 };
	struct dtconv_context_params params = {
		.struct_size = sizeof(params), .allocator = allocator_of_bytes(&memory)
	};
	struct random_stream stream = { 5 };
	size_t *lengths = calloc(BLOCKS, sizeof(*lengths));
	ptrdiff_t *disps = calloc(BLOCKS, sizeof(*disps));
	struct dtconv_type *type = NULL;

	ck_assert(lengths && disps);
	for (size_t i = 0; i < BLOCKS; i++) {
		lengths[i] = 1 + random_below(&stream, 3);
		disps[i] = (ptrdiff_t)(8 * i + random_below(&stream, 3));
	}
	t_ok(dtconv_context_create(&params, &t_context));
	size_t before = memory.live;
	t_ok(dtconv_type_create_indexed(BLOCKS, lengths, disps, t_predefined(DTCONV_INT),
					&type));
	t_ok(dtconv_type_commit(type));
	ck_assert_uint_eq(t_attr(type).element_count, t_attr(type).size / 4);
	ck_assert_msg(memory.live - before <= (size_t)16 * BLOCKS + 4096,
		      "%zu bytes for %d blocks", memory.live - before, (int)BLOCKS);
	dtconv_type_unref(type);
	dtconv_context_destroy(t_context);
	t_context = NULL;
	ck_assert_uint_eq(memory.live, 0);
	free(lengths);
	free(disps);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("allocation");
	TCase *failures = tcase_create("failures");
	TCase *memory = tcase_create("memory");

	suite_add_tcase(suite, failures);
	suite_add_tcase(suite, memory);
	tcase_set_timeout(failures, 60);
	tcase_add_test(failures, context_create);
	tcase_add_test(failures, half_an_allocator_is_refused);
	tcase_add_loop_test(failures, parse_fails_cleanly, 0, (int)COUNT_OF(texts));
	tcase_add_loop_test(failures, commit_fails_cleanly, 0, (int)COUNT_OF(texts));
	tcase_add_loop_test(failures, commit_may_be_tried_again, 0, (int)COUNT_OF(texts));
	tcase_add_loop_test(failures, queries_without_memory, 0, (int)COUNT_OF(texts));
	tcase_add_loop_test(failures, serialise_fails_cleanly, 0, (int)COUNT_OF(texts));
	tcase_add_loop_test(failures, deserialise_fails_cleanly, 0, (int)COUNT_OF(texts));
	tcase_add_test(failures, constructors_fail_cleanly);
	tcase_add_test(failures, uncommitted_trees_fail_cleanly);
	tcase_add_test(memory, memory_of_a_large_table);
	return t_run(suite);
}
