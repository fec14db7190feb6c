/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Paths of host buffers: rows, runs and stages, as the iovec of the same convertor says; refusals.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "support/fixture.h"
#include "support/layouts.h"

static struct dtconv_path_attr ask(struct dtconv_convertor *convertor, unsigned flags,
				   size_t max_iov, size_t least_run)
{
	const struct dtconv_reach reach = { sizeof(reach), flags, max_iov, least_run };
	struct dtconv_path_attr attr = { .struct_size = sizeof(attr) };

	fixture_ok(dtconv_path(convertor, &reach, &attr));
	ck_assert_int_eq(!attr.why, attr.path != DTCONV_PATH_STAGE);
	return attr;
}

/* Against the list of all blocks. */
START_TEST(paths_are_what_the_iovec_is)
{
	static struct iovec iov[20000];
	struct stage stage;
	size_t count, moved;

	fixture_open(&stage, layouts[_i].text, 3);
	struct dtconv_convertor *convertor = fixture_pack(&stage);
	fixture_ok(dtconv_convertor_iov(convertor, iov, 20000, SIZE_MAX, &count, &moved));
	ck_assert_uint_eq(moved, stage.bytes);
	size_t middle = stage.bytes / 2;
	fixture_seek(convertor, middle);
	for (size_t most = 0; most < 12; most++) {
		const struct dtconv_path_attr attr =
			ask(convertor, DTCONV_REACH_HOST, most, 0);

		ck_assert_int_eq(attr.kind, DTCONV_MEMORY_HOST);
		ck_assert_uint_eq(attr.bytes, stage.bytes);
		if (count <= 1) {
			ck_assert_int_eq(attr.path, DTCONV_PATH_ROW);
			ck_assert(!count || attr.address == iov[0].iov_base);
		} else if (count <= most) {
			ck_assert_int_eq(attr.path, DTCONV_PATH_IOV);
			ck_assert_uint_eq(attr.runs, count);
			ck_assert_int_eq(ask(convertor, DTCONV_REACH_HOST, most,
					     stage.bytes / count)
						 .path,
					 DTCONV_PATH_IOV);
			ck_assert_int_eq(ask(convertor, DTCONV_REACH_HOST, most,
					     stage.bytes / count + 1)
						 .path,
					 DTCONV_PATH_STAGE);
		} else {
			ck_assert_int_eq(attr.path, DTCONV_PATH_STAGE);
			ck_assert_ptr_null(attr.address);
		}
	}
	ck_assert_uint_eq(fixture_position(convertor), middle);
	ck_assert_int_eq(
		ask(convertor, DTCONV_REACH_DEVICE | DTCONV_REACH_PEER, 99, 0).path,
		DTCONV_PATH_STAGE);
	dtconv_convertor_destroy(convertor);
	fixture_close(&stage);
}
END_TEST

START_TEST(streams_that_are_converted_or_summed_are_staged)
{
	struct dtconv_convertor_params params = { .struct_size = sizeof(params) };
	struct dtconv_representation external32;
	struct stage stage;

	fixture_open(&stage, "contiguous(10, int)", 1);
	struct dtconv_convertor *convertor = fixture_unpack(&stage);
	ck_assert_int_eq(ask(convertor, DTCONV_REACH_HOST, 1, 0).path, DTCONV_PATH_ROW);
	if (_i == 0) {
		params.flags = DTCONV_CONVERTOR_CRC32C;
	} else if (_i == 1) {
		fixture_ok(dtconv_representation_find("external32", &external32));
		params.representation = &external32;
	} else {
		params.op = DTCONV_OP_SUM;
	}
	fixture_ok(dtconv_convertor_configure(convertor, &params));
	const struct dtconv_path_attr attr = ask(convertor, DTCONV_REACH_HOST, 1, 0);
	ck_assert_int_eq(attr.path, DTCONV_PATH_STAGE);
	ck_assert_ptr_nonnull(
		strstr(attr.why, _i ? "representation or an operation" : "checksum"));
	dtconv_convertor_destroy(convertor);
	fixture_close(&stage);
}
END_TEST

static int list_addresses(struct dtconv_convertor *convertor)
{
	struct iovec iov[20];
	size_t count, moved;

	fixture_seek(convertor, 0);
	return dtconv_convertor_iov(convertor, iov, 20, SIZE_MAX, &count, &moved);
}

/* Until another answer, other options or another buffer; it holds for clones too. */
START_TEST(who_ignores_that_a_buffer_must_be_staged_gets_no_addresses)
{
	const struct dtconv_convertor_params params = { .struct_size = sizeof(params) };
	struct dtconv_convertor *clone;
	struct stage stage;

	fixture_open(&stage, "vector(4, 1, 2, int)", 1);
	struct dtconv_convertor *convertor = fixture_pack(&stage);
	fixture_ok(list_addresses(convertor));
	for (int way = 0; way < 4; way++) {
		ck_assert_int_eq(ask(convertor, DTCONV_REACH_HOST, 2, 0).path,
				 DTCONV_PATH_STAGE);
		fixture_status(list_addresses(convertor), DTCONV_ERR_UNSUPPORTED);
		ck_assert_ptr_nonnull(strstr(fixture_error(), "more runs than"));
		fixture_ok(dtconv_convertor_clone(convertor, &clone));
		fixture_status(list_addresses(clone), DTCONV_ERR_UNSUPPORTED);
		dtconv_convertor_destroy(clone);
		if (way == 0)
			(void)ask(convertor, DTCONV_REACH_HOST, 9, 0);
		else if (way == 1)
			fixture_ok(dtconv_convertor_configure(convertor, &params));
		else
			fixture_ok(dtconv_convertor_rebind_pack(
				convertor, stage.type, (size_t)way - 1, stage.source));
		fixture_ok(list_addresses(convertor));
	}
	dtconv_convertor_destroy(convertor);
	fixture_close(&stage);
}
END_TEST

START_TEST(bad_arguments_are_refused)
{
	struct dtconv_reach reach = { .struct_size = sizeof(reach) };
	struct dtconv_path_attr attr = { .struct_size = sizeof(attr) };
	struct stage stage;

	fixture_open(&stage, "int", 1);
	struct dtconv_convertor *convertor = fixture_unpack(&stage);
	ck_assert_int_eq(dtconv_path(NULL, &reach, &attr), DTCONV_ERR_INVAL);
	ck_assert_int_eq(dtconv_path(convertor, NULL, &attr), DTCONV_ERR_INVAL);
	ck_assert_int_eq(dtconv_path(convertor, &reach, NULL), DTCONV_ERR_INVAL);
	reach.flags = 8;
	fixture_status(dtconv_path(convertor, &reach, &attr), DTCONV_ERR_INVAL);
	reach.struct_size = 0;
	fixture_status(dtconv_path(convertor, &reach, &attr), DTCONV_ERR_INVAL);
	attr.struct_size = 0;
	fixture_status(dtconv_path(convertor, &reach, &attr), DTCONV_ERR_INVAL);
	ck_assert_str_eq(dtconv_path_name(DTCONV_PATH_STAGE), "stage");
	ck_assert_str_eq(dtconv_path_name(DTCONV_PATH_PEER), "peer");
	ck_assert_ptr_null(dtconv_path_name((enum dtconv_path)4));
	reach = (struct dtconv_reach){ .struct_size = sizeof(reach) };
	attr.struct_size = sizeof(attr);
	fixture_ok(dtconv_convertor_start(convertor, stage.stream, 1, NULL, NULL));
	fixture_status(dtconv_path(convertor, &reach, &attr), DTCONV_ERR_STATE);
	fixture_ok(dtconv_convertor_wait(convertor, NULL));
	dtconv_convertor_destroy(convertor);
	fixture_close(&stage);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("path");
	TCase *tcase = fixture_case(suite, "paths", 20);

	tcase_add_loop_test(tcase, paths_are_what_the_iovec_is, 0, layout_count);
	tcase_add_loop_test(tcase, streams_that_are_converted_or_summed_are_staged, 0, 3);
	tcase_add_test(tcase, who_ignores_that_a_buffer_must_be_staged_gets_no_addresses);
	tcase_add_test(tcase, bad_arguments_are_refused);
	return fixture_run(suite);
}
