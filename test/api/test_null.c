/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * NULL where an object or an output is needed: every public function answers INVAL, none
 * touches memory. Each call has one NULL, the rest is good.
 */
#include "config.h"

#include <stdlib.h>

#include <dtconv/dtconv.h>

#include "support/marks.h"
#include "support/suite.h"

static struct dtconv_context *context;
static struct dtconv_type *type, *made;
static struct dtconv_convertor *convertor, *other;

static const size_t one[] = { 1 };
static const ptrdiff_t zero[] = { 0 };
static const enum dtconv_distribution block[] = { DTCONV_DISTRIBUTE_BLOCK };
static char data[64], packed[64];
static size_t number;

static void setup(void)
{
	ck_assert_int_eq(dtconv_context_create(NULL, &context), 0);
	type = dtconv_type_predefined(context, DTCONV_INT);
	ck_assert_int_eq(dtconv_convertor_create_pack(type, 1, data, &convertor), 0);
}

static void teardown(void)
{
	dtconv_convertor_destroy(convertor);
	dtconv_context_destroy(context);
}

#define REFUSED(call) ck_assert_int_eq(call, DTCONV_ERR_INVAL)

START_TEST(constructors_need_their_types)
{
	struct dtconv_type *const members[] = { NULL };

	REFUSED(dtconv_type_create_contiguous(1, NULL, &made));
	REFUSED(dtconv_type_create_vector(1, 1, 1, NULL, &made));
	REFUSED(dtconv_type_create_hvector(1, 1, 1, NULL, &made));
	REFUSED(dtconv_type_create_indexed(1, one, zero, NULL, &made));
	REFUSED(dtconv_type_create_hindexed(1, one, zero, NULL, &made));
	REFUSED(dtconv_type_create_indexed_block(1, 1, zero, NULL, &made));
	REFUSED(dtconv_type_create_hindexed_block(1, 1, zero, NULL, &made));
	REFUSED(dtconv_type_create_struct(NULL, 0, NULL, NULL, NULL, &made));
	REFUSED(dtconv_type_create_struct(context, 1, one, zero, members, &made));
	REFUSED(dtconv_type_create_subarray(1, one, one, one, DTCONV_ORDER_C, NULL, &made));
	REFUSED(dtconv_type_create_darray(1, 0, 1, one, block, one, one, DTCONV_ORDER_C, NULL,
					  &made));
	REFUSED(dtconv_type_create_resized(NULL, 0, 1, &made));
	REFUSED(dtconv_type_create_dup(NULL, &made));
	REFUSED(dtconv_type_create_f90_real(NULL, 6, 30, &made));
	REFUSED(dtconv_type_create_f90_complex(NULL, 6, 30, &made));
	REFUSED(dtconv_type_create_f90_integer(NULL, 6, &made));
	REFUSED(dtconv_type_create_value_index(NULL, type, &made));
	REFUSED(dtconv_type_create_value_index(type, NULL, &made));
	REFUSED(dtconv_type_parse(NULL, "int", 3, &made));
	REFUSED(dtconv_type_parse(context, NULL, 3, &made));
	REFUSED(dtconv_type_deserialise(NULL, data, 32, &made));
	REFUSED(dtconv_type_deserialise(context, NULL, 32, &made));
	REFUSED(dtconv_type_match_size(NULL, DTCONV_TYPECLASS_REAL, 4, &made));
	ck_assert_ptr_null(dtconv_type_predefined(NULL, DTCONV_INT));
}
END_TEST

START_TEST(constructors_need_somewhere_to_put_the_type)
{
	REFUSED(dtconv_context_create(NULL, NULL));
	REFUSED(dtconv_type_create_contiguous(1, type, NULL));
	REFUSED(dtconv_type_create_vector(1, 1, 1, type, NULL));
	REFUSED(dtconv_type_create_hvector(1, 1, 1, type, NULL));
	REFUSED(dtconv_type_create_indexed(1, one, zero, type, NULL));
	REFUSED(dtconv_type_create_hindexed(1, one, zero, type, NULL));
	REFUSED(dtconv_type_create_indexed_block(1, 1, zero, type, NULL));
	REFUSED(dtconv_type_create_hindexed_block(1, 1, zero, type, NULL));
	REFUSED(dtconv_type_create_struct(context, 0, NULL, NULL, NULL, NULL));
	REFUSED(dtconv_type_create_subarray(1, one, one, one, DTCONV_ORDER_C, type, NULL));
	REFUSED(dtconv_type_create_darray(1, 0, 1, one, block, one, one, DTCONV_ORDER_C, type,
					  NULL));
	REFUSED(dtconv_type_create_resized(type, 0, 1, NULL));
	REFUSED(dtconv_type_create_dup(type, NULL));
	REFUSED(dtconv_type_create_f90_real(context, 6, 30, NULL));
	REFUSED(dtconv_type_create_f90_complex(context, 6, 30, NULL));
	REFUSED(dtconv_type_create_f90_integer(context, 6, NULL));
	REFUSED(dtconv_type_create_value_index(type, type, NULL));
	REFUSED(dtconv_type_parse(context, "int", 3, NULL));
	REFUSED(dtconv_type_deserialise(context, data, 32, NULL));
	REFUSED(dtconv_type_match_size(context, DTCONV_TYPECLASS_REAL, 4, NULL));
}
END_TEST

START_TEST(queries_need_an_object_and_an_output)
{
	struct dtconv_type_attr attr = { .struct_size = sizeof(attr) };
	struct dtconv_counters counters = { .struct_size = sizeof(counters) };
	struct dtconv_context_attr context_attr = { .struct_size = sizeof(context_attr) };
	struct dtconv_device_attr device = { .struct_size = sizeof(device) };
	struct dtconv_explanation explanation = { .struct_size = sizeof(explanation) };
	struct dtconv_threshold threshold = { .struct_size = sizeof(threshold) };
	struct dtconv_envelope envelope;
	enum dtconv_signature_relation relation;

	REFUSED(dtconv_type_commit(NULL));
	REFUSED(dtconv_type_query(NULL, &attr));
	REFUSED(dtconv_type_query(type, NULL));
	REFUSED(dtconv_type_query_envelope(NULL, &envelope));
	REFUSED(dtconv_type_query_envelope(type, NULL));
	REFUSED(dtconv_type_query_contents(NULL, 0, NULL, 0, NULL, 0, NULL));
	REFUSED(dtconv_type_query_elements(NULL, 4, &number));
	REFUSED(dtconv_type_query_elements(type, 4, NULL));
	REFUSED(dtconv_type_compare_signature(NULL, 1, type, 1, &relation));
	REFUSED(dtconv_type_compare_signature(type, 1, NULL, 1, &relation));
	REFUSED(dtconv_type_compare_signature(type, 1, type, 1, NULL));
	REFUSED(dtconv_type_format(NULL, data, 64, &number));
	REFUSED(dtconv_type_format(type, data, 64, NULL));
	REFUSED(dtconv_type_format_signature(NULL, data, 64, &number));
	REFUSED(dtconv_type_format_signature(type, data, 64, NULL));
	REFUSED(dtconv_type_serialise(NULL, data, 64, &number));
	REFUSED(dtconv_type_serialise(type, data, 64, NULL));
	REFUSED(dtconv_type_serialise(type, NULL, 64, &number));
	REFUSED(dtconv_type_format_program(NULL, data, 64, &number));
	REFUSED(dtconv_type_format_program(type, data, 64, NULL));
	REFUSED(dtconv_context_query_counters(NULL, &counters));
	REFUSED(dtconv_context_query_counters(context, NULL));
	REFUSED(dtconv_context_format_info(NULL, data, 64, &number));
	REFUSED(dtconv_context_format_info(context, data, 64, NULL));
	REFUSED(dtconv_explain(NULL, 1, DTCONV_MEMORY_HOST, DTCONV_MEMORY_HOST, data, 64,
			       &number));
	REFUSED(dtconv_explain(type, 1, DTCONV_MEMORY_HOST, DTCONV_MEMORY_HOST, data, 64, NULL));
	REFUSED(dtconv_explain_copy(NULL, 1, DTCONV_MEMORY_HOST, type, 1,
				    DTCONV_MEMORY_HOST, data, 64, &number));
	REFUSED(dtconv_explain_copy(type, 1, DTCONV_MEMORY_HOST, NULL, 1,
				    DTCONV_MEMORY_HOST, data, 64, &number));
	REFUSED(dtconv_explain_copy(type, 1, DTCONV_MEMORY_HOST, type, 1,
				    DTCONV_MEMORY_HOST, data, 64, NULL));
	REFUSED(dtconv_explain_copy_way(NULL, 1, DTCONV_MEMORY_HOST, type, 1,
					DTCONV_MEMORY_HOST,
					&(struct dtconv_copy_explanation){ 0 }));
	REFUSED(dtconv_explain_copy_way(type, 1, DTCONV_MEMORY_HOST, NULL, 1,
					DTCONV_MEMORY_HOST,
					&(struct dtconv_copy_explanation){ 0 }));
	REFUSED(dtconv_explain_copy_way(type, 1, DTCONV_MEMORY_HOST, type, 1,
					DTCONV_MEMORY_HOST, NULL));
	REFUSED(dtconv_explain_backend(NULL, 1, DTCONV_MEMORY_HOST, DTCONV_MEMORY_HOST,
				       "host", &explanation));
	REFUSED(dtconv_explain_backend(type, 1, DTCONV_MEMORY_HOST, DTCONV_MEMORY_HOST,
				       NULL, &explanation));
	REFUSED(dtconv_explain_backend(type, 1, DTCONV_MEMORY_HOST, DTCONV_MEMORY_HOST,
				       "host", NULL));
	REFUSED(dtconv_context_query(NULL, &context_attr));
	REFUSED(dtconv_context_query(context, NULL));
	REFUSED(dtconv_context_query_device(NULL, 0, &device));
	REFUSED(dtconv_context_query_device(context, 0, NULL));
	REFUSED(dtconv_context_query_threshold(NULL, 0, NULL, &threshold));
	REFUSED(dtconv_context_query_threshold(context, 0, NULL, NULL));
	ck_assert_uint_eq(dtconv_context_error(NULL, data, 64), 0);
	ck_assert_ptr_null(dtconv_type_ref(NULL));
}
END_TEST

START_TEST(moves_need_a_type_and_a_convertor)
{
	struct dtconv_convertor_attr attr = { .struct_size = sizeof(attr) };
	struct iovec iov[1];
	ptrdiff_t disp;
	uint64_t hash;
	int flag;

	REFUSED(dtconv_pack(NULL, 1, data, packed, 64, &number));
	REFUSED(dtconv_unpack(NULL, 1, data, packed, 4, &number));
	REFUSED(dtconv_pack_at(NULL, 1, data, 0, packed, 64, &number));
	REFUSED(dtconv_unpack_at(NULL, 1, data, 0, packed, 4, &number));
	REFUSED(dtconv_pack_iov(NULL, 1, data, iov, 0, &number));
	REFUSED(dtconv_unpack_iov(NULL, 1, data, iov, 0, &number));
	REFUSED(dtconv_convertor_pack_iov(NULL, iov, 0, &number));
	REFUSED(dtconv_convertor_pack_iov(convertor, iov, 0, NULL));
	REFUSED(dtconv_convertor_unpack_iov(NULL, iov, 0, &number));
	REFUSED(dtconv_convertor_unpack_iov(convertor, iov, 0, NULL));
	REFUSED(dtconv_pack_on_stream(NULL, 1, data, packed, 64, NULL, &number));
	REFUSED(dtconv_unpack_on_stream(NULL, 1, data, packed, 4, NULL, &number));
	REFUSED(dtconv_prepare(NULL, -1, type, 1, NULL));
	REFUSED(dtconv_copy(NULL, 1, data, type, 1, packed, &number));
	REFUSED(dtconv_copy(type, 1, data, NULL, 1, packed, &number));
	REFUSED(dtconv_copy_with(NULL, 1, data, type, 1, packed, NULL, &number));
	REFUSED(dtconv_copy_with(type, 1, data, NULL, 1, packed, NULL, &number));
	REFUSED(dtconv_copy_at(NULL, 1, data, type, 1, packed, 0, 1, NULL, &number));
	REFUSED(dtconv_copy_at(type, 1, data, NULL, 1, packed, 0, 1, NULL, &number));
	REFUSED(dtconv_convertor_create_pack(NULL, 1, data, &other));
	REFUSED(dtconv_convertor_create_pack(type, 1, data, NULL));
	REFUSED(dtconv_convertor_create_unpack(NULL, 1, data, &other));
	REFUSED(dtconv_convertor_create_unpack(type, 1, data, NULL));
	REFUSED(dtconv_convertor_create_pack_with(NULL, 1, data, NULL, &other));
	REFUSED(dtconv_convertor_create_pack_with(type, 1, data, NULL, NULL));
	REFUSED(dtconv_convertor_create_unpack_with(NULL, 1, data, NULL, &other));
	REFUSED(dtconv_convertor_create_unpack_with(type, 1, data, NULL, NULL));
	REFUSED(dtconv_convertor_init_pack(NULL, 4096, type, 1, data, NULL, &other));
	REFUSED(dtconv_convertor_init_pack(data, 4096, NULL, 1, data, NULL, &other));
	REFUSED(dtconv_convertor_init_pack(data, 4096, type, 1, data, NULL, NULL));
	REFUSED(dtconv_convertor_init_unpack(NULL, 4096, type, 1, data, NULL, &other));
	REFUSED(dtconv_convertor_init_unpack(data, 4096, NULL, 1, data, NULL, &other));
	REFUSED(dtconv_convertor_init_unpack(data, 4096, type, 1, data, NULL, NULL));
	REFUSED(dtconv_convertor_rebind_pack(NULL, type, 1, data));
	REFUSED(dtconv_convertor_rebind_pack(convertor, NULL, 1, data));
	REFUSED(dtconv_convertor_rebind_unpack(NULL, type, 1, data));
	REFUSED(dtconv_convertor_rebind_unpack(convertor, NULL, 1, data));
	REFUSED(dtconv_convertor_clone(NULL, &other));
	REFUSED(dtconv_convertor_clone(convertor, NULL));
	REFUSED(dtconv_convertor_query(NULL, &attr));
	REFUSED(dtconv_convertor_query(convertor, NULL));
	REFUSED(dtconv_convertor_seek(NULL, 0));
	REFUSED(dtconv_convertor_pack(NULL, packed, 4, &number));
	REFUSED(dtconv_convertor_pack(convertor, packed, 4, NULL));
	REFUSED(dtconv_convertor_unpack(NULL, packed, 4, &number));
	REFUSED(dtconv_convertor_unpack(convertor, packed, 4, NULL));
	REFUSED(dtconv_convertor_iov(NULL, iov, 1, 4, &number, &number));
	REFUSED(dtconv_convertor_iov(convertor, iov, 1, 4, NULL, &number));
	REFUSED(dtconv_convertor_iov(convertor, iov, 1, 4, &number, NULL));
	REFUSED(dtconv_iov_count(NULL, 1, &number));
	REFUSED(dtconv_iov_count(type, 1, NULL));
	REFUSED(dtconv_iov(NULL, 1, data, 0, iov, 1, &number));
	REFUSED(dtconv_iov(type, 1, data, 0, iov, 1, NULL));
	REFUSED(dtconv_type_query_run(NULL, 1, &flag, &disp, &number));
	REFUSED(dtconv_type_query_run(type, 1, NULL, &disp, &number));
	REFUSED(dtconv_type_query_run(type, 1, &flag, NULL, &number));
	REFUSED(dtconv_type_query_run(type, 1, &flag, &disp, NULL));
	REFUSED(dtconv_type_set_user(NULL, data));
	REFUSED(dtconv_type_set_name(NULL, "name"));
	REFUSED(dtconv_type_set_name(type, NULL));
	REFUSED(dtconv_type_hash_layout(NULL, 1, &hash));
	REFUSED(dtconv_type_hash_layout(type, 1, NULL));
	REFUSED(dtconv_type_compare_layout(NULL, 1, type, 1, &flag));
	REFUSED(dtconv_type_compare_layout(type, 1, NULL, 1, &flag));
	REFUSED(dtconv_type_compare_layout(type, 1, type, 1, NULL));
	REFUSED(dtconv_convertor_start(NULL, packed, 4, NULL, NULL));
	REFUSED(dtconv_convertor_test(NULL, &number));
	REFUSED(dtconv_convertor_wait(NULL, &number));
	REFUSED(dtconv_convertor_test_any(NULL, 1, &number, NULL));
	REFUSED(dtconv_convertor_test_any(&convertor, 1, NULL, NULL));
	REFUSED(dtconv_convertor_test_some(NULL, 1, &number, NULL, NULL, &number));
	REFUSED(dtconv_convertor_test_some(&convertor, 1, NULL, NULL, NULL, &number));
	REFUSED(dtconv_convertor_test_some(&convertor, 1, &number, NULL, NULL, NULL));
	REFUSED(dtconv_convertor_test_all(NULL, 1, NULL, NULL));
}
END_TEST

START_TEST(copiers_need_types_and_somewhere_to_put_the_copier)
{
	struct dtconv_copier *copier;

	REFUSED(dtconv_copier_create(NULL, 1, data, type, 1, packed, NULL, &copier));
	REFUSED(dtconv_copier_create(type, 1, data, NULL, 1, packed, NULL, &copier));
	REFUSED(dtconv_copier_create(type, 1, data, type, 1, packed, NULL, NULL));
	REFUSED(dtconv_copier_start(NULL, NULL, NULL));
	REFUSED(dtconv_copier_start_at(NULL, 0, 1, NULL, NULL));
	REFUSED(dtconv_copier_test(NULL, &number));
	REFUSED(dtconv_copier_wait(NULL, &number));
}
END_TEST

START_TEST(flights_need_all_objects)
{
	struct dtconv_flight flight, *none[] = { NULL };
	int status[1];

	REFUSED(dtconv_flight_start(NULL, &flight, 0, packed, 4));
	REFUSED(dtconv_flight_start(convertor, NULL, 0, packed, 4));
	REFUSED(dtconv_flight_test(NULL, &number));
	REFUSED(dtconv_flight_wait(NULL, &number));
	REFUSED(dtconv_flight_test_many(none, 1, status, &number));
	REFUSED(dtconv_flight_test_many(NULL, 1, status, &number));
	REFUSED(dtconv_flight_test_many(none, 1, NULL, &number));
	REFUSED(dtconv_flight_granularity(NULL, &number));
	REFUSED(dtconv_flight_granularity(convertor, NULL));
}
END_TEST

START_TEST(batches_need_a_context_and_entries)
{
	const struct dtconv_batch_entry entry = { .type = type };
	struct dtconv_batch_entry_attr entry_attr = { .struct_size = sizeof(entry_attr) };
	struct dtconv_batch_attr attr = { .struct_size = sizeof(attr) };
	struct dtconv_batch *batch, *none;

	ck_assert_int_eq(dtconv_batch_create(context, &entry, 1, NULL, &batch), 0);
	REFUSED(dtconv_batch_create(NULL, &entry, 1, NULL, &none));
	REFUSED(dtconv_batch_create(context, NULL, 1, NULL, &none));
	REFUSED(dtconv_batch_create(context, &entry, 1, NULL, NULL));
	REFUSED(dtconv_batch_add_copy(NULL, &(struct dtconv_batch_copy){ 0 }, NULL));
	REFUSED(dtconv_batch_add_copy(batch, NULL, NULL));
	REFUSED(dtconv_batch_rebind_copy(NULL, 0, &(struct dtconv_batch_copy){ 0 }));
	REFUSED(dtconv_batch_rebind_copy(batch, 0, NULL));
	REFUSED(dtconv_batch_rebind(NULL, &entry, 1));
	REFUSED(dtconv_batch_rebind(batch, NULL, 1));
	REFUSED(dtconv_batch_rebind_entry(NULL, 0, &entry));
	REFUSED(dtconv_batch_rebind_entry(batch, 0, NULL));
	REFUSED(dtconv_batch_start(NULL, NULL, NULL));
	REFUSED(dtconv_batch_test(NULL, &number));
	REFUSED(dtconv_batch_wait(NULL, &number));
	REFUSED(dtconv_batch_run(NULL, &number));
	REFUSED(dtconv_batch_query(NULL, &attr));
	REFUSED(dtconv_batch_query(batch, NULL));
	REFUSED(dtconv_batch_query_entry(NULL, 0, &entry_attr));
	REFUSED(dtconv_batch_query_entry(batch, 0, NULL));
	REFUSED(dtconv_batch_move(NULL, &entry, 1, NULL, NULL, NULL));
	REFUSED(dtconv_batch_move(context, NULL, 1, NULL, NULL, NULL));
	dtconv_batch_destroy(batch);
}
END_TEST

START_TEST(resharding_needs_placements_and_outputs)
{
	const struct dtconv_reshard_params params = { .struct_size = sizeof(params),
						      .rank_count = 1,
						      .element = type };
	struct dtconv_reshard_plan_attr attr = { .struct_size = sizeof(attr) };
	struct dtconv_reshard_message message = { .struct_size = sizeof(message) };
	struct dtconv_reshard *reshard, *none;
	struct dtconv_reshard_plan *plan;

	ck_assert_int_eq(dtconv_reshard_create(&params, &reshard), 0);
	ck_assert_int_eq(dtconv_reshard_plan_create(reshard, 0, &plan), 0);
	REFUSED(dtconv_reshard_create(NULL, &none));
	REFUSED(dtconv_reshard_create(&params, NULL));
	REFUSED(dtconv_reshard_check(NULL));
	REFUSED(dtconv_reshard_plan_create(NULL, 0, &plan));
	REFUSED(dtconv_reshard_plan_create(reshard, 0, NULL));
	REFUSED(dtconv_reshard_plan_query(NULL, &attr));
	REFUSED(dtconv_reshard_plan_query(plan, NULL));
	REFUSED(dtconv_reshard_plan_query_send(NULL, 0, &message));
	REFUSED(dtconv_reshard_plan_query_send(plan, 0, NULL));
	REFUSED(dtconv_reshard_plan_query_recv(NULL, 0, &message));
	REFUSED(dtconv_reshard_plan_query_recv(plan, 0, NULL));
	dtconv_reshard_plan_destroy(plan);
	dtconv_reshard_destroy(reshard);
}
END_TEST

START_TEST(lists_of_pages_need_a_context_and_a_list)
{
	const struct dtconv_pages pages = { .struct_size = sizeof(pages),
					    .page_bytes = 8 };

	REFUSED(dtconv_pages_pack(NULL, &pages, data, 0, packed, 4, &number));
	REFUSED(dtconv_pages_pack(context, NULL, data, 0, packed, 4, &number));
	REFUSED(dtconv_pages_unpack(NULL, &pages, data, 0, packed, 4, &number));
	REFUSED(dtconv_pages_unpack(context, NULL, data, 0, packed, 4, &number));
	REFUSED(dtconv_pages_copy(NULL, &pages, data, &pages, packed, 0, 4, &number));
	REFUSED(dtconv_pages_copy(context, NULL, data, &pages, packed, 0, 4, &number));
	REFUSED(dtconv_pages_copy(context, &pages, data, NULL, packed, 0, 4, &number));
	REFUSED(dtconv_pages_query_bytes(NULL, &pages, &number));
	REFUSED(dtconv_pages_query_bytes(context, NULL, &number));
	REFUSED(dtconv_pages_query_bytes(context, &pages, NULL));
}
END_TEST

START_TEST(memory_of_other_processes_needs_a_context_and_a_handle)
{
	struct dtconv_ipc_attr attr = { .struct_size = sizeof(attr) };
	struct dtconv_ipc_handle handle = { .bytes = "" };
	void *address;

	REFUSED(dtconv_ipc_export(NULL, data, 1, &handle));
	REFUSED(dtconv_ipc_export(context, data, 1, NULL));
	REFUSED(dtconv_ipc_open(NULL, &handle, 0, &address));
	REFUSED(dtconv_ipc_open(context, NULL, 0, &address));
	REFUSED(dtconv_ipc_open(context, &handle, 0, NULL));
	REFUSED(dtconv_ipc_close(NULL, data));
	REFUSED(dtconv_ipc_trim(NULL, 0));
	REFUSED(dtconv_ipc_query(NULL, &attr));
	REFUSED(dtconv_ipc_query(context, NULL));
}
END_TEST

START_TEST(releasing_nothing_does_nothing)
{
	dtconv_reshard_destroy(NULL);
	dtconv_reshard_plan_destroy(NULL);
	dtconv_batch_destroy(NULL);
	dtconv_copier_destroy(NULL);
	dtconv_type_unref(NULL);
	dtconv_convertor_destroy(NULL);
	dtconv_context_destroy(NULL);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("null");
	TCase *tcase = tcase_create("null");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, constructors_need_their_types);
	tcase_add_test(tcase, constructors_need_somewhere_to_put_the_type);
	tcase_add_test(tcase, queries_need_an_object_and_an_output);
	tcase_add_test(tcase, moves_need_a_type_and_a_convertor);
	tcase_add_test(tcase, copiers_need_types_and_somewhere_to_put_the_copier);
	tcase_add_test(tcase, flights_need_all_objects);
	tcase_add_test(tcase, batches_need_a_context_and_entries);
	tcase_add_test(tcase, resharding_needs_placements_and_outputs);
	tcase_add_test(tcase, lists_of_pages_need_a_context_and_a_list);
	tcase_add_test(tcase, memory_of_other_processes_needs_a_context_and_a_handle);
	tcase_add_test(tcase, releasing_nothing_does_nothing);
	suite_add_tcase(suite, tcase);
	return suite_run(suite);
}
