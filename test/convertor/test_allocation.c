/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The data path allocates nothing: pack, unpack, seek, iov, rebind, copy, start and their
 * one-shot forms never call the context's allocator. A failing allocator fails calls, cleanly.
 */
#include "config.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/fixture.h"
#include "support/layouts.h"

static struct dtconv_copier *copier_of(struct stage *stage)
{
	struct dtconv_copier *copier;

	fixture_ok(dtconv_copier_create(stage->type, stage->count, stage->source,
					stage->type, stage->count, stage->target, NULL,
					&copier));
	return copier;
}

static void move_everything(struct stage *stage, struct dtconv_convertor *packs,
			    struct dtconv_convertor *unpacks,
			    struct dtconv_copier *copier, unsigned char *packed)
{
	struct iovec iov[8];
	size_t moved, iov_count;

	fixture_ok(dtconv_pack(stage->type, stage->count, stage->source, packed,
			       stage->bytes, &moved));
	fixture_ok(dtconv_unpack(stage->type, stage->count, stage->target, packed,
				 stage->bytes, &moved));
	fixture_ok(dtconv_copy(stage->type, stage->count, stage->source, stage->type,
			       stage->count, stage->target, &moved));
	fixture_ok(dtconv_copier_start(copier, NULL, NULL));
	fixture_ok(dtconv_copier_wait(copier, &moved));
	fixture_ok(dtconv_copy_at(stage->type, stage->count, stage->source, stage->type,
				  stage->count, stage->target, stage->bytes / 2,
				  stage->bytes / 3, NULL, &moved));
	fixture_ok(dtconv_copier_start_at(copier, stage->bytes / 3, 5, NULL, NULL));
	fixture_ok(dtconv_copier_wait(copier, &moved));
	for (size_t at = 0; at < stage->bytes; at += 5) {
		fixture_ok(dtconv_convertor_seek(packs, stage->bytes - at));
		fixture_ok(dtconv_convertor_seek(unpacks, stage->bytes - at));
		fixture_ok(dtconv_convertor_pack(packs, packed, 3, &moved));
		fixture_ok(dtconv_convertor_unpack(unpacks, packed, moved, &moved));
		fixture_ok(dtconv_convertor_iov(packs, iov, 8, 9, &iov_count, &moved));
		fixture_ok(dtconv_convertor_start(unpacks, packed, 0, NULL, NULL));
		fixture_ok(dtconv_convertor_wait(unpacks, &moved));
		fixture_ok(dtconv_convertor_start(packs, packed, 2, NULL, NULL));
		fixture_ok(dtconv_convertor_wait(packs, &moved));
	}
	fixture_ok(dtconv_convertor_rebind_unpack(packs, stage->type, stage->count,
						  stage->target));
	fixture_ok(dtconv_convertor_rebind_pack(unpacks, stage->type, stage->count,
						stage->source));
}

static void expect_no_allocation(const char *text, size_t count)
{
	struct dtconv_convertor *packs, *unpacks;
	struct stage stage;

	fixture_open(&stage, text, count);
	unsigned char *packed = malloc(stage.bytes + 8);
	ck_assert_ptr_nonnull(packed);
	/* Bound to something else first: rebind must not allocate even for a deeper type. */
	packs = fixture_pack(&stage);
	unpacks = fixture_unpack(&stage);
	struct dtconv_copier *copier = copier_of(&stage);
	size_t before = fixture_allocations();
	move_everything(&stage, packs, unpacks, copier, packed);
	ck_assert_uint_eq(fixture_allocations(), before);
	dtconv_copier_destroy(copier);
	dtconv_convertor_destroy(packs);
	dtconv_convertor_destroy(unpacks);
	free(packed);
	fixture_close(&stage);
}

START_TEST(no_call_on_the_data_path_allocates)
{
	expect_no_allocation(layouts[_i].text, 3);
}
END_TEST

/* A nest that no pass can fold: every level has its own gaps. */
static void write_nest(char *text, size_t room, int levels)
{
	size_t length = 0;

	for (int i = 0; i < levels; i++)
		length += (size_t)snprintf(text + length, room - length,
					   "resized(hindexed([1, 1], [0, %d], ",
					   3 + 5 * i * i);
	length += (size_t)snprintf(text + length, room - length, "byte");
	for (int i = levels; i-- > 0;)
		length += (size_t)snprintf(text + length, room - length, "), 0, %d)",
					   7 + 6 * i * i);
}

START_TEST(deep_nests_do_not_allocate_either)
{
	static char text[4096];

	write_nest(text, sizeof(text), _i);
	expect_no_allocation(text, 2);
}
END_TEST

START_TEST(rebind_to_a_deeper_type_does_not_allocate)
{
	static char text[4096];
	struct stage flat, deep;

	write_nest(text, sizeof(text), 9);
	fixture_open(&flat, "int", 1);
	fixture_open(&deep, text, 1);
	struct dtconv_convertor *convertor = fixture_pack(&flat);
	size_t before = fixture_allocations();
	fixture_ok(dtconv_convertor_rebind_pack(convertor, deep.type, 1, deep.source));
	fixture_pack_next(&deep, convertor, 0, deep.bytes);
	ck_assert_uint_eq(fixture_allocations(), before);
	dtconv_convertor_destroy(convertor);
	fixture_close(&flat);
	fixture_close(&deep);
}
END_TEST

/* ---- an allocator that fails --------------------------------------------------------- */

/* Counts down; the call that reaches 0 fails, and all later ones or @only it. Negative: never. */
static long allowance;
static bool only;
static long unfreed;

static void *limited_alloc(void *arg, size_t bytes)
{
	(void)arg;
	if (allowance == 0) {
		allowance -= only;
		return NULL;
	}
	allowance--;
	unfreed++;
	return malloc(bytes);
}

static void limited_free(void *arg, void *memory)
{
	(void)arg;
	unfreed -= memory != NULL;
	free(memory);
}

static struct dtconv_context *limited_context(void)
{
	struct dtconv_context_params params = {
		.struct_size = sizeof(params),
		.allocator = { .alloc = limited_alloc, .free = limited_free },
	};
	struct dtconv_context *context = NULL;

	allowance = -1;
	only = false;
	fixture_ok(dtconv_context_create(&params, &context));
	return context;
}

START_TEST(create_and_clone_without_memory_are_refused)
{
	struct dtconv_context *context = limited_context();
	struct dtconv_convertor *convertor = NULL, *untouched = NULL;
	const struct dtconv_copier_params sum = { .struct_size = sizeof(sum),
						  .op = DTCONV_OP_SUM };
	struct dtconv_copier *copier = NULL;
	struct dtconv_type *type = NULL;
	int data[6] = { 1, 2, 3, 4, 5, 6 }, other[6];
	unsigned char packed[12];
	size_t moved;

	type = fixture_type_in(context, "vector(3, 1, 2, int)");
	allowance = 0;
	fixture_status(dtconv_convertor_create_pack(type, 1, data, &untouched),
		       DTCONV_ERR_NOMEM);
	ck_assert_ptr_null(untouched);
	fixture_status(dtconv_copier_create(type, 1, data, type, 1, other, NULL, &copier),
		       DTCONV_ERR_NOMEM);
	ck_assert_ptr_null(copier);
	/* With an operation the second allocation is that of its state. */
	allowance = 1;
	fixture_status(dtconv_copier_create(type, 1, data, type, 1, other, &sum, &copier),
		       DTCONV_ERR_NOMEM);
	ck_assert_ptr_null(copier);
	allowance = 0;
	fixture_status(dtconv_copy_with(type, 1, data, type, 1, other, &sum, &moved),
		       DTCONV_ERR_NOMEM);
	ck_assert_uint_eq(moved, 0);
	fixture_ok(dtconv_copy_at(type, 1, data, type, 1, other, 1, 6, NULL, &moved));
	allowance = -1;
	fixture_ok(dtconv_convertor_create_pack(type, 1, data, &convertor));
	allowance = 0;
	fixture_status(dtconv_convertor_clone(convertor, &untouched), DTCONV_ERR_NOMEM);
	ck_assert_ptr_null(untouched);
	fixture_ok(dtconv_convertor_pack(convertor, packed, 12, &moved));
	ck_assert_uint_eq(moved, 12);
	dtconv_convertor_destroy(convertor);
	dtconv_type_unref(type);
	dtconv_context_destroy(context);
}
END_TEST

/* ---- with a representation or an operation --------------------------------------------- */

/*
 * Ranges of 37 bytes cut elements and couples of all; windows of 7680 bytes would cut an element of the last two, whose
 * instances of unlike elements are shorter and longer than a window.
 */
static const struct {
	const char *text;
	size_t count;
	enum dtconv_op op;
} windows[] = {
	{ "vector(300, 1, 2, long)", 1, DTCONV_OP_SUM },
	{ "vector(300, 2, 3, double_int)", 1, DTCONV_OP_MINLOC },
	{ "struct([3,1], [0,8], [short,double])", 700, DTCONV_OP_SUM },
	{ "struct([7,601,900], [0,16,4900], [short,double,int])", 1, DTCONV_OP_SUM },
};

#define WINDOWS (int)(sizeof(windows) / sizeof(windows[0]))

/* Neither ranges nor the windows on the way keep bytes of elements that they cut. */
START_TEST(copies_that_combine_do_not_allocate)
{
	const struct dtconv_copier_params params = { .struct_size = sizeof(params),
						     .op = windows[_i].op };
	struct dtconv_type *type = fixture_type(windows[_i].text);
	static _Alignas(16) unsigned char source[16384], target[16384];
	const size_t count = windows[_i].count, bytes = count * fixture_attr(type).size;
	struct dtconv_copier *copier;
	size_t moved;

	fixture_ok(dtconv_copier_create(type, count, source, type, count, target, &params,
					&copier));
	size_t before = fixture_allocations();
	fixture_ok(dtconv_copier_start(copier, NULL, NULL));
	fixture_ok(dtconv_copier_wait(copier, &moved));
	ck_assert_uint_eq(moved, bytes);
	for (size_t at = 0; at < bytes; at += 37) {
		fixture_ok(dtconv_copier_start_at(copier, at, 37, NULL, NULL));
		fixture_ok(dtconv_copier_wait(copier, &moved));
	}
	ck_assert_uint_eq(fixture_allocations(), before);
	dtconv_copier_destroy(copier);
	dtconv_type_unref(type);
}
END_TEST

/* Packing never needs memory; unpacking only for elements that are cut. */
START_TEST(whole_elements_do_not_allocate)
{
	struct dtconv_representation external32;
	struct dtconv_convertor_params params = { .struct_size = sizeof(params),
						  .representation = &external32,
						  .op = DTCONV_OP_SUM,
						  .flags = DTCONV_CONVERTOR_CRC32C };
	struct dtconv_type *type = fixture_type("vector(300, 1, 2, long)");
	static long data[600];
	static unsigned char packed[1200];
	size_t moved, before;

	dtconv_representation_find("external32", &external32);
	struct dtconv_convertor *convertor = fixture_packer(type, 1, data, &params);
	before = fixture_allocations();
	for (size_t at = 0; at < sizeof(packed); at += moved)
		dtconv_convertor_pack(convertor, packed + at, 77, &moved);
	dtconv_convertor_seek(convertor, 4);
	ck_assert_uint_eq(fixture_allocations(), before);
	fixture_ok(dtconv_convertor_rebind_unpack(convertor, type, 1, data));
	before = fixture_allocations();
	for (size_t at = 0; at < sizeof(packed); at += moved)
		dtconv_convertor_unpack(convertor, packed + at, 40, &moved);
	ck_assert_uint_eq(fixture_allocations(), before);
	dtconv_convertor_destroy(convertor);
	dtconv_type_unref(type);
}
END_TEST

/* All calls that may allocate; answers the first status that is not 0. */
static int use_typed(struct dtconv_type *type, struct dtconv_type *other)
{
	static const unsigned char stream[40];
	struct dtconv_representation external32;
	struct dtconv_convertor_params params = { .struct_size = sizeof(params),
						  .representation = &external32 };
	struct dtconv_convertor *convertor = NULL, *clone = NULL;
	long data[20];
	size_t moved;

	dtconv_representation_find("external32", &external32);
	int status = dtconv_convertor_create_unpack(type, 1, data, &convertor);
	if (!status)
		status = dtconv_convertor_configure(convertor, &params);
	for (size_t at = 0; at < 40 && !status; at += 4) {
		dtconv_convertor_seek(convertor, at);
		status = dtconv_convertor_unpack(convertor, stream, 1, &moved);
	}
	if (!status)
		status = dtconv_convertor_clone(convertor, &clone);
	if (!status)
		status = dtconv_convertor_rebind_unpack(convertor, other, 1, data);
	if (!status)
		status = dtconv_unpack_with(type, 1, data, stream, 40, &params, &moved);
	dtconv_convertor_destroy(convertor);
	dtconv_convertor_destroy(clone);
	return status;
}

START_TEST(every_allocation_of_a_typed_convertor_may_fail)
{
	struct dtconv_context *context = limited_context();
	struct dtconv_type *type = NULL, *other = NULL;
	long before, n = 0;
	int status;

	fixture_ok(dtconv_type_parse(context, "contiguous(10, long)", 20, &type));
	fixture_ok(dtconv_type_parse(context, "contiguous(20, int)", 19, &other));
	dtconv_type_commit(type);
	dtconv_type_commit(other);
	before = unfreed;
	do {
		allowance = n++;
		status = use_typed(type, other);
		ck_assert(status == 0 || status == DTCONV_ERR_NOMEM);
		ck_assert_int_eq(unfreed, before);
	} while (status);
	ck_assert_int_gt(n, 8);
	allowance = -1;
	dtconv_type_unref(type);
	dtconv_type_unref(other);
	dtconv_context_destroy(context);
}
END_TEST

static int use_batch(struct dtconv_context *context, struct dtconv_type *type)
{
	static int data[6];
	unsigned char packed[12];
	const struct dtconv_batch_entry entry = {
		.type = type, .count = 1, .buffer = data, .packed = packed, .bytes = 12
	};
	const struct dtconv_batch_entry entries[3] = { entry, entry, entry };
	struct dtconv_batch *batch;
	int status = dtconv_batch_create(context, entries, 2, NULL, &batch);

	if (status)
		return status;
	status = dtconv_batch_rebind(batch, entries, 3);
	if (!status)
		status = dtconv_batch_run(batch, NULL);
	dtconv_batch_destroy(batch);
	return status;
}

/* One call is refused, or all from it on. */
START_TEST(every_allocation_of_a_batch_may_fail)
{
	struct dtconv_context *context = limited_context();
	struct dtconv_type *type = NULL;
	long before, n = 0;
	int status;

	only = _i;
	type = fixture_type_in(context, "vector(3, 1, 2, int)");
	before = unfreed;
	do {
		allowance = n++;
		status = use_batch(context, type);
		ck_assert(status == 0 || status == DTCONV_ERR_NOMEM);
		ck_assert_int_eq(unfreed, before);
	} while (status);
	ck_assert_int_gt(n, 5);
	allowance = -1;
	dtconv_type_unref(type);
	dtconv_context_destroy(context);
}
END_TEST

/* The index of a type's iovec entries is made once; without memory nothing is listed. */
START_TEST(an_index_of_entries_may_fail_and_is_kept)
{
	struct dtconv_context *context = limited_context();
	struct dtconv_type *type = fixture_type_in(
		context, "hindexed([1, 2, 1, 4, 1, 3, 1, 1, 2, 1, 1, 7, 1, 2, 1, "
			 "1, 5, 1, 1, 1], [0, 3, 9, 10, 20, 21, 30, 33, 37, 41, "
			 "44, 47, 55, 60, 63, 66, 70, 80, 83, 85], byte)");
	size_t iov_count = 0, found = 0;
	struct iovec iov[2];

	allowance = 0;
	only = false;
	ck_assert_int_eq(dtconv_iov_count(type, 3, &iov_count), DTCONV_ERR_NOMEM);
	ck_assert_int_eq(dtconv_iov(type, 3, NULL, 5, iov, 2, &found), DTCONV_ERR_NOMEM);
	ck_assert_uint_eq(iov_count + found, 0);
	ck_assert_int_eq(dtconv_iov(type, 3, NULL, 0, iov, 2, &found), 0);
	ck_assert_uint_eq(found, 2);
	allowance = 1;
	ck_assert_int_eq(dtconv_iov_count(type, 3, &iov_count), 0);
	ck_assert_int_eq(dtconv_iov_count(type, 9, &iov_count), 0);
	ck_assert_int_eq(dtconv_iov(type, 3, NULL, 5, iov, 2, &found), 0);
	ck_assert_int_eq(allowance, 0);
	allowance = -1;
	dtconv_type_unref(type);
	dtconv_context_destroy(context);
	ck_assert_int_eq(unfreed, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("allocation");
	TCase *none = fixture_case(suite, "none", 60);
	TCase *failing = fixture_case(suite, "failing", 60);

	tcase_add_loop_test(none, no_call_on_the_data_path_allocates, 0, layout_count);
	tcase_add_loop_test(none, deep_nests_do_not_allocate_either, 1, 10);
	tcase_add_test(none, rebind_to_a_deeper_type_does_not_allocate);
	tcase_add_test(none, whole_elements_do_not_allocate);
	tcase_add_loop_test(none, copies_that_combine_do_not_allocate, 0, WINDOWS);
	tcase_add_test(failing, every_allocation_of_a_typed_convertor_may_fail);
	tcase_add_test(failing, create_and_clone_without_memory_are_refused);
	tcase_add_loop_test(failing, every_allocation_of_a_batch_may_fail, 0, 2);
	tcase_add_test(failing, an_index_of_entries_may_fail_and_is_kept);
	return fixture_run(suite);
}
