/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every refusal of the convertor's interface: its status, its sentence word for word, and that
 * nothing else happened.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "support/fixture.h"
#include "support/machine.h"

/* A committed type of 12 bytes, one that is not committed, and a convertor each way. */
static struct dtconv_type *type, *uncommitted;
static struct dtconv_convertor *packs, *unpacks;
static int data[6] = { 1, 2, 3, 4, 5, 6 };
static unsigned char packed[64];

static void setup(void)
{
	type = fixture_type("vector(3, 1, 2, int)");
	fixture_ok(dtconv_type_create_contiguous(2, type, &uncommitted));
	fixture_ok(dtconv_convertor_create_pack(type, 1, data, &packs));
	fixture_ok(dtconv_convertor_create_unpack(type, 1, data, &unpacks));
}

static void teardown(void)
{
	dtconv_convertor_destroy(packs);
	dtconv_convertor_destroy(unpacks);
	dtconv_type_unref(type);
	dtconv_type_unref(uncommitted);
}

static void refused(int status, int expected, const char *sentence)
{
	ck_assert_int_eq(status, expected);
	ck_assert_str_eq(fixture_error(), sentence);
}

/* ---- types and counts ---------------------------------------------------------------- */

START_TEST(types_must_be_committed)
{
	struct dtconv_convertor *none = NULL;
	size_t moved = 99;

	refused(dtconv_pack(uncommitted, 1, data, packed, 64, &moved), DTCONV_ERR_STATE,
		"dtconv_pack: type (argument 1) is not committed");
	ck_assert_uint_eq(moved, 0);
	moved = 99;
	refused(dtconv_unpack(uncommitted, 1, data, packed, 64, &moved), DTCONV_ERR_STATE,
		"dtconv_unpack: type (argument 1) is not committed");
	ck_assert_uint_eq(moved, 0);
	refused(dtconv_copy(uncommitted, 1, data, type, 1, data, &moved),
		DTCONV_ERR_STATE,
		"dtconv_copy: source_type (argument 1) is not committed");
	refused(dtconv_copy(type, 1, data, uncommitted, 1, data, &moved),
		DTCONV_ERR_STATE,
		"dtconv_copy: target_type (argument 4) is not committed");
	refused(dtconv_convertor_create_pack(uncommitted, 1, data, &none),
		DTCONV_ERR_STATE,
		"dtconv_convertor_create_pack: type (argument 1) is not committed");
	refused(dtconv_convertor_create_unpack(uncommitted, 1, data, &none),
		DTCONV_ERR_STATE,
		"dtconv_convertor_create_unpack: type (argument 1) is not committed");
	ck_assert_ptr_null(none);
	refused(dtconv_convertor_rebind_pack(packs, uncommitted, 1, data),
		DTCONV_ERR_STATE,
		"dtconv_convertor_rebind_pack: type (argument 2) is not committed");
	refused(dtconv_convertor_rebind_unpack(packs, uncommitted, 1, data),
		DTCONV_ERR_STATE,
		"dtconv_convertor_rebind_unpack: type (argument 2) is not committed");
	refused(dtconv_explain(uncommitted, 1, DTCONV_MEMORY_HOST, DTCONV_MEMORY_HOST,
			       NULL, 0, &moved),
		DTCONV_ERR_STATE,
		"dtconv_explain: the type (argument 1) is not committed");
}
END_TEST

/* Of a type, between two kinds, by a backend. Nothing but struct_size is touched. */
static int explain_backend(const struct dtconv_type *of, int user, int packed_kind,
			   const char *backend, size_t struct_size)
{
	struct dtconv_explanation explanation = { .struct_size = struct_size,
						  .pack_ns = 99 };
	int status = dtconv_explain_backend(of, 1, (enum dtconv_memory_kind)user,
					    (enum dtconv_memory_kind)packed_kind, backend,
					    &explanation);

	ck_assert_uint_eq(explanation.struct_size, struct_size);
	ck_assert(explanation.pack_ns == 99);
	return status;
}

START_TEST(explanations_are_of_backends_that_exist)
{
	const size_t size = sizeof(struct dtconv_explanation);

	refused(explain_backend(uncommitted, 1, 1, "host", size), DTCONV_ERR_STATE,
		"dtconv_explain_backend: the type (argument 1) is not committed");
	refused(explain_backend(type, 1, 1, "abacus", size), DTCONV_ERR_UNSUPPORTED,
		"dtconv_explain_backend: backend (argument 5) is 'abacus', not a backend "
		"of this build; 'dtconv info' lists them");
	refused(explain_backend(type, 5, 1, "host", size), DTCONV_ERR_INVAL,
		"dtconv_explain_backend: user_kind (argument 3) is 5 and packed_kind "
		"(argument 4) is 1, but memory kinds end at 4");
	refused(explain_backend(type, 1, -1, "host", size), DTCONV_ERR_INVAL,
		"dtconv_explain_backend: user_kind (argument 3) is 1 and packed_kind "
		"(argument 4) is -1, but memory kinds end at 4");
	refused(explain_backend(type, 1, 1, "host", 0), DTCONV_ERR_INVAL,
		"dtconv_explain_backend: explanation.struct_size is 0, not sizeof(struct "
		"dtconv_explanation)");
}
END_TEST

START_TEST(queries_of_a_context_need_an_index_that_exists)
{
	struct dtconv_context_attr attr = { .struct_size = 0 };
	struct dtconv_device_attr device = { .struct_size = 0 };
	struct dtconv_threshold threshold = { .struct_size = 0 };

	refused(dtconv_context_query(fixture_context, &attr), DTCONV_ERR_INVAL,
		"dtconv_context_query: attr.struct_size is 0, not sizeof(struct "
		"dtconv_context_attr)");
	refused(dtconv_context_query_device(fixture_context, 0, &device),
		DTCONV_ERR_INVAL,
		"dtconv_context_query_device: attr.struct_size is 0, not sizeof(struct "
		"dtconv_device_attr)");
	refused(dtconv_context_query_threshold(fixture_context, 0, NULL, &threshold),
		DTCONV_ERR_INVAL,
		"dtconv_context_query_threshold: threshold.struct_size is 0, not "
		"sizeof(struct dtconv_threshold)");
	device.struct_size = sizeof(device);
	refused(dtconv_context_query_device(fixture_context, 1000, &device),
		DTCONV_ERR_INVAL,
		"dtconv_context_query_device: ordinal (argument 2) is 1000, there are 0 "
		"devices");
	threshold.struct_size = sizeof(threshold);
	refused(dtconv_context_query_threshold(fixture_context, 13, NULL, &threshold),
		DTCONV_ERR_INVAL,
		"dtconv_context_query_threshold: index (argument 2) is 13, there are 13 "
		"thresholds");
}
END_TEST

/* Nor is there anything to prepare for the host. */
START_TEST(without_a_device_there_is_nothing_to_prepare)
{
	struct dtconv_type *prepared = fixture_type("vector(3, 1, 2, int)");
	const struct dtconv_convertor_params host = { .struct_size = sizeof(host),
						      .user_memory = DTCONV_MEMORY_HOST,
						      .packed_memory =
							      DTCONV_MEMORY_HOST };

	fixture_status(dtconv_prepare(fixture_context, -1, NULL, 0, NULL),
		       DTCONV_ERR_UNSUPPORTED);
	ck_assert_ptr_nonnull(strstr(fixture_error(),
				     "dtconv_prepare: there is no device to prepare: "));
	fixture_status(dtconv_prepare(fixture_context, 0, prepared, 1, NULL),
		       DTCONV_ERR_UNSUPPORTED);
	fixture_ok(dtconv_prepare(fixture_context, 0, prepared, 1, &host));
	dtconv_type_unref(prepared);
}
END_TEST

START_TEST(streams_must_fit_size_t_and_addresses_ptrdiff_t)
{
	struct dtconv_type *spot = fixture_type("resized(contiguous(3, int), 0, 0)");
	struct dtconv_type *wide = fixture_type("resized(byte, 0, 4611686018427387904)");
	struct dtconv_type *edge = fixture_type("resized(short, 0, 9223372036854775807)");
	struct dtconv_convertor *none = NULL;
	size_t moved = 99;

	refused(dtconv_pack(spot, SIZE_MAX / 11, data, packed, 64, &moved),
		DTCONV_ERR_OVERFLOW,
		"dtconv_pack: count x size or extent of type (argument 1) = 1676976733973595601 x (12 or 0) overflows");
	ck_assert_uint_eq(moved, 0);
	refused(dtconv_convertor_create_unpack(wide, 4, data, &none), DTCONV_ERR_OVERFLOW,
		"dtconv_convertor_create_unpack: count x size or extent of type (argument 1) = 4 x (1 or "
		"4611686018427387904) overflows");
	ck_assert_ptr_null(none);
	fixture_ok(dtconv_convertor_create_unpack(wide, 2, data, &none));
	dtconv_convertor_destroy(none);
	/* The last instance begins at the largest displacement there is, and is two bytes. */
	refused(dtconv_convertor_create_unpack(edge, 2, data, &none), DTCONV_ERR_OVERFLOW,
		"dtconv_convertor_create_unpack: count x size or extent of type (argument 1) = 2 "
		"x (2 or 9223372036854775807) overflows");
	dtconv_type_unref(spot);
	dtconv_type_unref(wide);
	dtconv_type_unref(edge);
}
END_TEST

START_TEST(types_must_be_of_one_context)
{
	struct dtconv_context *other = NULL;
	size_t moved = 99;

	fixture_ok(dtconv_context_create(NULL, &other));
	struct dtconv_type *foreign = dtconv_type_predefined(other, DTCONV_INT);
	refused(dtconv_convertor_rebind_pack(packs, foreign, 1, data), DTCONV_ERR_INVAL,
		"dtconv_convertor_rebind_pack: the type (argument 2) was made in another context");
	refused(dtconv_copy(type, 1, data, foreign, 3, data, &moved), DTCONV_ERR_INVAL,
		"dtconv_copy: target_type (argument 4) was made in another context");
	ck_assert_uint_eq(moved, 0);
	dtconv_context_destroy(other);
}
END_TEST

/* ---- rooms --------------------------------------------------------------------------- */

START_TEST(rooms_that_are_too_short)
{
	size_t moved = 99;

	refused(dtconv_pack(type, 2, data, packed, 5, &moved), DTCONV_ERR_TRUNCATE,
		"dtconv_pack: capacity (argument 5) is 5 bytes, but the packed stream has 24");
	ck_assert_uint_eq(moved, 5);
	refused(dtconv_unpack(type, 1, data, packed, 13, &moved), DTCONV_ERR_TRUNCATE,
		"dtconv_unpack: bytes (argument 5) is 13, but the type and count have room for 12");
	ck_assert_uint_eq(moved, 12);
	fixture_ok(dtconv_convertor_seek(unpacks, 10));
	refused(dtconv_convertor_unpack(unpacks, packed, 3, &moved), DTCONV_ERR_TRUNCATE,
		"dtconv_convertor_unpack: bytes (argument 3) is 3, but only 2 bytes of "
		"the stream were left");
	ck_assert_uint_eq(moved, 2);
	refused(dtconv_convertor_start(unpacks, packed, 1, NULL, NULL) ||
			dtconv_convertor_wait(unpacks, &moved) != DTCONV_ERR_TRUNCATE,
		0,
		"dtconv_convertor_start: bytes (argument 3) is 1, but only 0 bytes of "
		"the stream were left");
	ck_assert_uint_eq(moved, 0);
}
END_TEST

START_TEST(copies_that_do_not_fit)
{
	struct dtconv_type *other = fixture_type("contiguous(3, float)");
	size_t moved = 99;
	int target[12];

	refused(dtconv_copy(type, 1, data, other, 1, target, &moved),
		DTCONV_ERR_SIGNATURE,
		"dtconv_copy: the source's signature differs from the target's");
	ck_assert_uint_eq(moved, 0);
	refused(dtconv_copy(type, 1, data,
			    dtconv_type_predefined(fixture_context, DTCONV_INT), 2,
			    target, &moved),
		DTCONV_ERR_TRUNCATE,
		"dtconv_copy: the source packs to 12 bytes, but the target has room for 8");
	ck_assert_uint_eq(moved, 8);
	dtconv_type_unref(other);
}
END_TEST

START_TEST(texts_that_do_not_fit)
{
	char text[8] = "xxxxxxx";
	size_t length = 0;

	fixture_status(dtconv_explain(type, 1, DTCONV_MEMORY_HOST, DTCONV_MEMORY_HOST,
				      text, 4, &length),
		       DTCONV_ERR_TRUNCATE);
	ck_assert_uint_gt(length, 4);
	ck_assert_uint_eq(strlen(text), 3);
	ck_assert_str_eq(text + 4, "xxx");
}
END_TEST

/* ---- states -------------------------------------------------------------------------- */

START_TEST(a_convertor_moves_one_way)
{
	size_t moved = 99;

	refused(dtconv_convertor_unpack(packs, packed, 1, &moved), DTCONV_ERR_STATE,
		"dtconv_convertor_unpack: the convertor is bound to pack");
	ck_assert_uint_eq(moved, 0);
	moved = 99;
	refused(dtconv_convertor_pack(unpacks, packed, 1, &moved), DTCONV_ERR_STATE,
		"dtconv_convertor_pack: the convertor is bound to unpack");
	ck_assert_uint_eq(moved, 0);
}
END_TEST

START_TEST(seek_stays_in_the_stream)
{
	refused(dtconv_convertor_seek(packs, 13), DTCONV_ERR_INVAL,
		"dtconv_convertor_seek: position (argument 2) is 13, past the stream's end at 12");
	ck_assert_uint_eq(fixture_position(packs), 0);
}
END_TEST

START_TEST(nothing_but_query_test_and_wait_while_in_flight)
{
	struct dtconv_convertor *none = NULL;
	struct iovec iov;
	size_t iov_count = 99, moved = 99;

	fixture_ok(dtconv_convertor_start(packs, packed, 4, NULL, NULL));
	refused(dtconv_convertor_pack(packs, packed, 1, &moved), DTCONV_ERR_STATE,
		"dtconv_convertor_pack: an operation is in flight; test or wait for it first");
	ck_assert_uint_eq(moved, 0);
	refused(dtconv_convertor_unpack(packs, packed, 1, &moved), DTCONV_ERR_STATE,
		"dtconv_convertor_unpack: an operation is in flight; test or wait for it first");
	refused(dtconv_convertor_seek(packs, 0), DTCONV_ERR_STATE,
		"dtconv_convertor_seek: an operation is in flight; test or wait for it first");
	refused(dtconv_convertor_clone(packs, &none), DTCONV_ERR_STATE,
		"dtconv_convertor_clone: an operation is in flight; test or wait for it first");
	refused(dtconv_convertor_iov(packs, &iov, 1, 1, &iov_count, &moved),
		DTCONV_ERR_STATE,
		"dtconv_convertor_iov: an operation is in flight; test or wait for it first");
	refused(dtconv_convertor_start(packs, packed, 1, NULL, NULL), DTCONV_ERR_STATE,
		"dtconv_convertor_start: an operation is in flight; test or wait for it first");
	refused(dtconv_convertor_rebind_pack(packs, type, 1, data), DTCONV_ERR_STATE,
		"dtconv_convertor_rebind_pack: an operation is in flight; test or wait for it "
		"first");
	refused(dtconv_convertor_rebind_unpack(packs, type, 1, data), DTCONV_ERR_STATE,
		"dtconv_convertor_rebind_unpack: an operation is in flight; test or wait for it "
		"first");
	ck_assert_ptr_null(none);
	ck_assert_uint_eq(iov_count, 99);
	fixture_ok(dtconv_convertor_wait(packs, &moved));
	ck_assert_uint_eq(moved, 4);
}
END_TEST

START_TEST(test_and_wait_need_a_start)
{
	size_t moved = 99;

	refused(dtconv_convertor_test(packs, &moved), DTCONV_ERR_STATE,
		"dtconv_convertor_test: no operation was started");
	refused(dtconv_convertor_wait(packs, &moved), DTCONV_ERR_STATE,
		"dtconv_convertor_wait: no operation was started");
}
END_TEST

START_TEST(query_needs_the_size_of_its_struct)
{
	struct dtconv_convertor_attr attr = { .struct_size = 0, .size = 77 };

	refused(dtconv_convertor_query(packs, &attr), DTCONV_ERR_INVAL,
		"dtconv_convertor_query: attr.struct_size is 0, not sizeof(struct "
		"dtconv_convertor_attr)");
	ck_assert_uint_eq(attr.size, 77);
	/* An older program's shorter struct is filled as far as it goes. */
	attr.struct_size = offsetof(struct dtconv_convertor_attr, position);
	attr.position = 55;
	fixture_ok(dtconv_convertor_query(packs, &attr));
	ck_assert_uint_eq(attr.size, 12);
	ck_assert_uint_eq(attr.position, 55);
}
END_TEST

/* ---- what a success leaves ----------------------------------------------------------- */

START_TEST(a_success_leaves_the_sentence_alone)
{
	struct dtconv_counters before = { .struct_size = sizeof(before) };
	struct dtconv_counters after = { .struct_size = sizeof(after) };

	dtconv_context_query_counters(fixture_context, &before);
	refused(dtconv_convertor_seek(packs, 99), DTCONV_ERR_INVAL,
		"dtconv_convertor_seek: position (argument 2) is 99, past the stream's end at 12");
	refused(dtconv_convertor_seek(packs, 3), 0,
		"dtconv_convertor_seek: position (argument 2) is 99, past the stream's end at 12");
	dtconv_context_query_counters(fixture_context, &after);
	ck_assert_uint_eq(after.errors, before.errors + 1);
}
END_TEST

START_TEST(moves_are_counted)
{
	struct dtconv_counters before = { .struct_size = sizeof(before) };
	struct dtconv_counters after = { .struct_size = sizeof(after) };
	size_t moved;

	dtconv_context_query_counters(fixture_context, &before);
	fixture_ok(dtconv_pack(type, 1, data, packed, 64, &moved));
	fixture_ok(dtconv_convertor_pack(packs, packed, 5, &moved));
	fixture_ok(dtconv_convertor_start(packs, packed, 64, NULL, NULL));
	fixture_ok(dtconv_convertor_wait(packs, &moved));
	fixture_ok(dtconv_convertor_unpack(unpacks, packed, 7, &moved));
	dtconv_context_query_counters(fixture_context, &after);
	ck_assert_uint_eq(after.pack_calls, before.pack_calls + 3);
	ck_assert_uint_eq(after.pack_bytes, before.pack_bytes + 24);
	ck_assert_uint_eq(after.unpack_calls, before.unpack_calls + 1);
	ck_assert_uint_eq(after.unpack_bytes, before.unpack_bytes + 7);
}
END_TEST

START_TEST(what_a_call_does_inside_is_not_counted)
{
	const struct dtconv_convertor_params params = { .struct_size = sizeof(params),
							.flags = DTCONV_CONVERTOR_CRC32C,
							.op = DTCONV_OP_SUM };
	struct dtconv_counters before = { .struct_size = sizeof(before) };
	struct dtconv_counters after = { .struct_size = sizeof(after) };
	size_t moved;

	dtconv_context_query_counters(fixture_context, &before);
	fixture_ok(dtconv_unpack_with(type, 1, data, packed, 12, &params, &moved));
	fixture_ok(dtconv_copy(type, 1, data, type, 1, data, &moved));
	dtconv_context_query_counters(fixture_context, &after);
	ck_assert_uint_eq(after.pack_calls, before.pack_calls + 1);
	ck_assert_uint_eq(after.pack_bytes, before.pack_bytes + 12);
	ck_assert_uint_eq(after.unpack_calls, before.unpack_calls + 2);
	ck_assert_uint_eq(after.unpack_bytes, before.unpack_bytes + 24);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("errors");
	TCase *refusals = fixture_case(suite, "refusals", 20);
	TCase *leavings = fixture_case(suite, "leavings", 20);

	tcase_add_checked_fixture(refusals, setup, teardown);
	tcase_add_test(refusals, types_must_be_committed);
	tcase_add_test(refusals, explanations_are_of_backends_that_exist);
	tcase_add_test(refusals, queries_of_a_context_need_an_index_that_exists);
	tcase_add_test(refusals, without_a_device_there_is_nothing_to_prepare);
	machine_add_wide(refusals, streams_must_fit_size_t_and_addresses_ptrdiff_t);
	tcase_add_test(refusals, types_must_be_of_one_context);
	tcase_add_test(refusals, rooms_that_are_too_short);
	tcase_add_test(refusals, copies_that_do_not_fit);
	tcase_add_test(refusals, texts_that_do_not_fit);
	tcase_add_test(refusals, a_convertor_moves_one_way);
	tcase_add_test(refusals, seek_stays_in_the_stream);
	tcase_add_test(refusals, nothing_but_query_test_and_wait_while_in_flight);
	tcase_add_test(refusals, test_and_wait_need_a_start);
	tcase_add_test(refusals, query_needs_the_size_of_its_struct);
	tcase_add_checked_fixture(leavings, setup, teardown);
	tcase_add_test(leavings, a_success_leaves_the_sentence_alone);
	tcase_add_test(leavings, moves_are_counted);
	tcase_add_test(leavings, what_a_call_does_inside_is_not_counted);
	return fixture_run(suite);
}
