/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CRC-32C: known values, both implementations against the definition bit by bit, and a
 * stream's checksum whatever the order of its fragments.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/crc32c.h"
#include "support/fixture.h"

/* The definition: division by the polynomial, a bit at a time. */
static uint32_t by_division(uint32_t crc, const unsigned char *data, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++) {
		crc ^= data[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
	}
	return crc;
}

static unsigned char *random_bytes(struct choices *choices, size_t bytes)
{
	unsigned char *data = malloc(bytes);

	for (size_t i = 0; i < bytes; i++)
		data[i] = (unsigned char)choose(choices, 256);
	return data;
}

START_TEST(known_values)
{
	unsigned char zeros[32] = { 0 }, ones[32];

	memset(ones, 0xff, sizeof(ones));
	/* RFC 3720, B.4. */
	ck_assert_uint_eq(dtconv_crc32c(0, zeros, 32), 0x8a9136aa);
	ck_assert_uint_eq(dtconv_crc32c(0, ones, 32), 0x62a8ab43);
	ck_assert_uint_eq(dtconv_crc32c(0, "123456789", 9), 0xe3069283);
	ck_assert_uint_eq(dtconv_crc32c(0, NULL, 0), 0);
	ck_assert_uint_eq(dtconv_crc32c(dtconv_crc32c(0, "1234", 4), "56789", 5),
			  0xe3069283);
}
END_TEST

START_TEST(both_implementations_divide)
{
	struct choices choices = fixture_choices(21);
	unsigned char *data = random_bytes(&choices, 20000);

	for (int i = 0; i < 300; i++) {
		size_t offset = choose(&choices, 64);
		size_t bytes = choose(&choices, chance(&choices, 4) ? 19000 : 200);
		uint32_t crc = (uint32_t)choose(&choices, UINT32_MAX);
		uint32_t right = by_division(crc, data + offset, bytes);

		ck_assert_uint_eq(dtc_crc32c(crc, data + offset, bytes), right);
		ck_assert_uint_eq(dtc_crc32c_portable(crc, data + offset, bytes), right);
	}
	free(data);
}
END_TEST

START_TEST(forward_appends_zeros_and_back_takes_them_away)
{
	static const unsigned char zeros[5000];
	uint32_t crc = 0x12345678;

	for (size_t bytes = 0; bytes < 5000; bytes += 1 + bytes / 7) {
		ck_assert_uint_eq(dtc_crc32c_forward(crc, bytes),
				  by_division(crc, zeros, bytes));
		ck_assert_uint_eq(dtc_crc32c_back(dtc_crc32c_forward(crc, bytes), bytes),
				  crc);
	}
	ck_assert_uint_eq(
		dtc_crc32c_back(dtc_crc32c_forward(crc, UINT64_MAX), UINT64_MAX), crc);
	ck_assert_uint_eq(dtc_crc32c_forward(dtc_crc32c_forward(crc, UINT64_C(1) << 40),
					     UINT64_C(3) << 40),
			  dtc_crc32c_forward(crc, UINT64_C(1) << 42));
}
END_TEST

/* ---- streams ------------------------------------------------------------------------- */

static uint32_t checksum_of(const struct dtconv_convertor *convertor)
{
	uint32_t crc = 0;

	fixture_ok(dtconv_convertor_crc32c(convertor, &crc));
	return crc;
}

static struct dtconv_convertor *with_checksum(const struct typed_case *tc, bool packs)
{
	struct dtconv_convertor_params params = typed_case_params(tc);
	struct dtconv_convertor *convertor = fixture_typed(tc, packs);

	params.flags = DTCONV_CONVERTOR_CRC32C;
	fixture_ok(dtconv_convertor_configure(convertor, &params));
	return convertor;
}

/* In fragments whose order the step decides: 1 is in order, others jump about. */
static void deliver(struct typed_case *tc, size_t fragments, size_t step)
{
	struct dtconv_convertor *convertor = with_checksum(tc, false);
	size_t size = (tc->bytes + fragments - 1) / fragments, moved;

	for (size_t i = 0; i < fragments; i++) {
		size_t from = i * step % fragments * size;
		size_t to = from + size < tc->bytes ? from + size : tc->bytes;

		if (from >= to)
			continue;
		fixture_ok(dtconv_convertor_seek(convertor, from));
		fixture_ok(dtconv_convertor_unpack(convertor, tc->wire + from, to - from,
						   &moved));
	}
	ck_assert_uint_eq(checksum_of(convertor), dtconv_crc32c(0, tc->wire, tc->bytes));
	dtconv_convertor_destroy(convertor);
}

static void check_stream(const char *text, const struct dtconv_representation *r)
{
	struct choices choices = fixture_choices(22);
	struct dtconv_type *type = fixture_type(text);
	struct typed_case tc;
	size_t moved;

	ck_assert(typed_case_open(&tc, type, 3, r, DTCONV_OP_REPLACE, &choices));
	unsigned char *packed = malloc(tc.bytes + 1);
	struct dtconv_convertor *convertor = with_checksum(&tc, true);
	ck_assert_uint_eq(checksum_of(convertor), 0);
	for (size_t at = 0; at < tc.bytes; at += moved) {
		fixture_ok(dtconv_convertor_pack(convertor, packed + at, 999, &moved));
		ck_assert_uint_eq(checksum_of(convertor),
				  dtconv_crc32c(0, packed, at + moved));
	}
	dtconv_convertor_destroy(convertor);
	deliver(&tc, 1, 1);
	deliver(&tc, 13, 1);
	deliver(&tc, 13, 12);
	deliver(&tc, 101, 37);
	free(packed);
	typed_case_close(&tc);
	dtconv_type_unref(type);
}

START_TEST(the_order_of_fragments_does_not_matter)
{
	struct dtconv_representation external32;

	dtconv_representation_find("external32", &external32);
	check_stream("vector(400, 3, 5, double)", NULL);
	check_stream("struct([1,3,2], [0,8,96], [long,long_double,short])", NULL);
	check_stream("vector(400, 3, 5, double)", &external32);
	check_stream("struct([1,3,2], [0,8,96], [long,long_double,short])", &external32);
}
END_TEST

START_TEST(a_large_stream_moves_in_pieces)
{
	struct dtconv_convertor_params params = { .struct_size = sizeof(params),
						  .flags = DTCONV_CONVERTOR_CRC32C };
	struct choices choices = fixture_choices(23);
	struct dtconv_type *type = fixture_type("vector(100000, 1, 2, int)");
	unsigned char *data = random_bytes(&choices, 800000), *packed = malloc(400000);
	struct dtconv_convertor *convertor;
	size_t moved;

	dtconv_convertor_create_pack(type, 1, data, &convertor);
	fixture_ok(dtconv_convertor_configure(convertor, &params));
	fixture_ok(dtconv_convertor_start(convertor, packed, 400000, NULL, NULL));
	fixture_ok(dtconv_convertor_wait(convertor, &moved));
	ck_assert_uint_eq(moved, 400000);
	ck_assert_uint_eq(checksum_of(convertor), dtconv_crc32c(0, packed, 400000));
	dtconv_convertor_destroy(convertor);
	free(data);
	free(packed);
	dtconv_type_unref(type);
}
END_TEST

START_TEST(a_clone_goes_on_with_the_sum_and_a_rebind_forgets_it)
{
	struct dtconv_convertor_params params = { .struct_size = sizeof(params),
						  .flags = DTCONV_CONVERTOR_CRC32C };
	struct dtconv_type *type = fixture_type("contiguous(9, char)");
	struct dtconv_convertor *convertor, *clone;
	char packed[9];
	size_t moved;

	dtconv_convertor_create_pack(type, 1, "123456789", &convertor);
	fixture_ok(dtconv_convertor_configure(convertor, &params));
	dtconv_convertor_pack(convertor, packed, 4, &moved);
	dtconv_convertor_clone(convertor, &clone);
	dtconv_convertor_pack(clone, packed, 9, &moved);
	ck_assert_uint_eq(checksum_of(clone), 0xe3069283);
	dtconv_convertor_rebind_pack(convertor, type, 1, "123456789");
	dtconv_convertor_pack(convertor, packed, 9, &moved);
	ck_assert_uint_eq(checksum_of(convertor), 0xe3069283);
	dtconv_convertor_destroy(convertor);
	dtconv_convertor_destroy(clone);
	dtconv_type_unref(type);
}
END_TEST

START_TEST(no_checksum_without_being_asked)
{
	struct dtconv_type *type = fixture_type("int");
	struct dtconv_convertor *convertor;
	uint32_t crc = 77;
	int data = 1;

	dtconv_convertor_create_pack(type, 1, &data, &convertor);
	fixture_status(dtconv_convertor_crc32c(convertor, &crc), DTCONV_ERR_STATE);
	ck_assert_str_eq(fixture_error(),
			 "dtconv_convertor_crc32c: the convertor was not "
			 "configured to keep a checksum");
	ck_assert_uint_eq(crc, 77);
	fixture_status(dtconv_convertor_crc32c(NULL, &crc), DTCONV_ERR_INVAL);
	fixture_status(dtconv_convertor_crc32c(convertor, NULL), DTCONV_ERR_INVAL);
	dtconv_convertor_destroy(convertor);
	dtconv_type_unref(type);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("checksum");
	TCase *sums = fixture_case(suite, "sums", 20);
	TCase *streams = fixture_case(suite, "streams", 20);

	tcase_add_test(sums, known_values);
	tcase_add_test(sums, both_implementations_divide);
	tcase_add_test(sums, forward_appends_zeros_and_back_takes_them_away);
	tcase_add_test(streams, the_order_of_fragments_does_not_matter);
	tcase_add_test(streams, a_large_stream_moves_in_pieces);
	tcase_add_test(streams, a_clone_goes_on_with_the_sum_and_a_rebind_forgets_it);
	tcase_add_test(streams, no_checksum_without_being_asked);
	return fixture_run(suite);
}
