/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flights in host memory: fragments at any positions in any order, with representations, operations and checksums;
 * what a convertor refuses meanwhile; where streams may be cut. Host flights have ended when they are started.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "support/fixture.h"
#include "support/layouts.h"
#include "support/machine.h"

/* A stream of @bytes in pieces, in any order. */
struct pieces {
	size_t count;
	size_t *ends;  /* of each in the stream; the first begins at 0 */
	size_t *order; /* in which they fly */
};

static void shuffle(size_t *numbers, size_t count, struct choices *choices)
{
	for (size_t i = count; i > 1; i--) {
		size_t other = choose(choices, i), number = numbers[i - 1];

		numbers[i - 1] = numbers[other];
		numbers[other] = number;
	}
}

/* Cuts at multiples of @unit. */
static struct pieces cut(size_t bytes, size_t most, size_t unit, struct choices *choices)
{
	struct pieces pieces = { .ends = calloc(bytes + 1, sizeof(size_t)),
				 .order = calloc(bytes + 1, sizeof(size_t)) };

	ck_assert(pieces.ends && pieces.order);
	for (size_t at = 0; at < bytes; pieces.count++) {
		size_t step = unit * (1 + choose(choices, most));

		at = bytes - at < step ? bytes : at + step;
		pieces.ends[pieces.count] = at;
		pieces.order[pieces.count] = pieces.count;
	}
	shuffle(pieces.order, pieces.count, choices);
	return pieces;
}

static void drop(struct pieces *pieces)
{
	free(pieces->ends);
	free(pieces->order);
}

/* The nth piece that flies, at that position of @packed. */
static size_t fly(struct dtconv_convertor *convertor, const struct pieces *pieces,
		  size_t nth, unsigned char *packed, size_t *bytes)
{
	size_t piece = pieces->order[nth], moved = SIZE_MAX;
	size_t from = piece ? pieces->ends[piece - 1] : 0;
	struct dtconv_flight flight;

	*bytes = pieces->ends[piece] - from;
	fixture_ok(dtconv_flight_start(convertor, &flight, from, packed + from, *bytes));
	ck_assert_uint_eq(fixture_position(convertor), from + *bytes);
	ck_assert_int_eq(nth % 2 ? dtconv_flight_test(&flight, &moved)
				 : dtconv_flight_wait(&flight, &moved),
			 0);
	ck_assert_uint_eq(moved, *bytes);
	return from;
}

/* ---- streams ------------------------------------------------------------------------------ */

START_TEST(fragments_fly_in_any_order)
{
	struct choices choices = fixture_choices(31);
	struct dtconv_convertor *packs, *unpacks;
	struct stage stage;
	size_t bytes;

	fixture_open(&stage, layouts[_i].text, 3);
	unsigned char *packed = malloc(stage.bytes + 1);
	packs = fixture_pack(&stage);
	struct pieces pieces = cut(stage.bytes, 40, 1, &choices);
	for (size_t i = 0; i < pieces.count; i++)
		fly(packs, &pieces, i, packed, &bytes);
	ck_assert(!memcmp(packed, stage.stream, stage.bytes));
	unpacks = fixture_unpack(&stage);
	shuffle(pieces.order, pieces.count, &choices);
	for (size_t i = 0; i < pieces.count; i++) {
		size_t from = fly(unpacks, &pieces, i, packed, &bytes);

		stage_deliver(&stage, from, bytes);
		fixture_arrived(&stage);
	}
	drop(&pieces);
	dtconv_convertor_destroy(packs);
	dtconv_convertor_destroy(unpacks);
	free(packed);
	fixture_close(&stage);
}
END_TEST

/* One instance in one flight, which needs no cursor; before and after it fragments, which need it. */
START_TEST(whole_streams_fly_between_fragments)
{
	struct choices choices = fixture_choices(32);
	struct dtconv_convertor *packs, *unpacks;
	struct stage stage;
	size_t bytes;

	fixture_open(&stage, layouts[_i].text, 1);
	unsigned char *packed = malloc(stage.bytes + 1);
	struct pieces parts = cut(stage.bytes, 40, 1, &choices);
	struct pieces whole = cut(stage.bytes, 1, stage.bytes + 1, &choices);
	packs = fixture_pack(&stage);
	unpacks = fixture_unpack(&stage);
	for (int round = 0; round < 4 && stage.bytes; round++) {
		const struct pieces *pieces = round % 2 ? &parts : &whole;

		memset(packed, 0x55, stage.bytes + 1);
		for (size_t i = 0; i < pieces->count; i++)
			fly(packs, pieces, i, packed, &bytes);
		ck_assert(!memcmp(packed, stage.stream, stage.bytes));
		ck_assert_uint_eq(packed[stage.bytes], 0x55);
		stage_blank(&stage);
		for (size_t i = 0; i < pieces->count; i++) {
			size_t from = fly(unpacks, pieces, i, packed, &bytes);

			stage_deliver(&stage, from, bytes);
			fixture_arrived(&stage);
		}
	}
	drop(&parts);
	drop(&whole);
	dtconv_convertor_destroy(packs);
	dtconv_convertor_destroy(unpacks);
	free(packed);
	fixture_close(&stage);
}
END_TEST

/* Types with one size of elements, with several, and of couples. */
static const struct {
	const char *text;
	bool external;
	enum dtconv_op op;
	size_t granularity;
} typed[] = {
	{ "vector(5, 3, 4, double)", true, DTCONV_OP_REPLACE, 8 },
	{ "contiguous(7, long_double)", true, DTCONV_OP_REPLACE, 16 },
	{ "vector(5, 3, 4, int)", false, DTCONV_OP_SUM, 4 },
	{ "struct([1, 1], [0, 8], [int, double])", true, DTCONV_OP_REPLACE, 0 },
	{ "contiguous(9, double_int)", false, DTCONV_OP_MAXLOC, 12 },
	{ "contiguous(9, int)", false, DTCONV_OP_NO_OP, 4 },
	{ "contiguous(9, int)", false, DTCONV_OP_REPLACE, 1 },
};

#define TYPED (int)(sizeof(typed) / sizeof(typed[0]))

static bool open_typed(struct typed_case *tc, int row, struct choices *choices)
{
	static struct dtconv_representation external;
	struct dtconv_type *type = fixture_type(typed[row].text);

	fixture_ok(dtconv_representation_find("external32", &external));
	bool fit = typed_case_open(tc, type, 4, typed[row].external ? &external : NULL,
				   typed[row].op, choices);
	dtconv_type_unref(type);
	return fit;
}

static struct dtconv_convertor *summing(const struct typed_case *tc, bool packs)
{
	struct dtconv_convertor_params params = typed_case_params(tc);
	struct dtconv_convertor *convertor = fixture_typed(tc, packs);

	params.flags = DTCONV_CONVERTOR_CRC32C;
	fixture_ok(dtconv_convertor_configure(convertor, &params));
	return convertor;
}

static void must_sum_to(const struct dtconv_convertor *convertor,
			const unsigned char *packed, size_t bytes)
{
	uint32_t crc;

	fixture_ok(dtconv_convertor_crc32c(convertor, &crc));
	ck_assert_uint_eq(crc, dtconv_crc32c(0, packed, bytes));
}

START_TEST(elements_are_converted_and_combined_in_any_order)
{
	struct choices choices = fixture_choices(32);
	struct typed_case tc;
	ptrdiff_t wrong;
	size_t bytes;

	ck_assert(open_typed(&tc, _i, &choices));
	unsigned char *packed = malloc(tc.bytes);
	struct dtconv_convertor *packs = summing(&tc, true);
	struct dtconv_convertor *unpacks = summing(&tc, false);
	struct pieces pieces = cut(tc.bytes, 30, 1, &choices);
	for (size_t i = 0; i < pieces.count; i++)
		fly(packs, &pieces, i, packed, &bytes);
	ck_assert(!memcmp(packed, tc.wire, tc.bytes));
	must_sum_to(packs, packed, tc.bytes);
	shuffle(pieces.order, pieces.count, &choices);
	for (size_t i = 0; i < pieces.count; i++) {
		size_t from = fly(unpacks, &pieces, i, packed, &bytes);

		typed_case_arrived(&tc, from, bytes);
	}
	ck_assert_msg(typed_case_is_right(&tc, &wrong), "%s: displacement %td is wrong",
		      typed[_i].text, wrong);
	must_sum_to(unpacks, packed, tc.bytes);
	drop(&pieces);
	dtconv_convertor_destroy(packs);
	dtconv_convertor_destroy(unpacks);
	free(packed);
	typed_case_close(&tc);
}
END_TEST

/* ---- granularity -------------------------------------------------------------------------- */

static size_t held_by(const struct dtconv_convertor *convertor)
{
	struct dtconv_convertor_attr attr = { .struct_size = sizeof(attr) };

	fixture_ok(dtconv_convertor_query(convertor, &attr));
	return attr.held;
}

START_TEST(cuts_at_the_granularity_divide_no_element)
{
	struct choices choices = fixture_choices(33);
	struct typed_case tc;
	size_t unit, bytes;

	ck_assert(open_typed(&tc, _i, &choices));
	struct dtconv_convertor *unpacks = fixture_typed(&tc, false);
	fixture_ok(dtconv_flight_granularity(unpacks, &unit));
	ck_assert_uint_eq(unit, typed[_i].granularity ? typed[_i].granularity
						      : tc.bytes / tc.count);
	struct pieces pieces = cut(tc.bytes, 3, unit, &choices);
	for (size_t i = 0; i < pieces.count; i++) {
		fly(unpacks, &pieces, i, tc.wire, &bytes);
		ck_assert_uint_eq(held_by(unpacks), 0);
	}
	drop(&pieces);
	dtconv_convertor_destroy(unpacks);
	typed_case_close(&tc);
}
END_TEST

START_TEST(streams_of_bytes_are_cut_anywhere)
{
	struct choices choices = fixture_choices(34);
	struct dtconv_type *empty = fixture_type("contiguous(0, double)");
	struct dtconv_convertor *convertor;
	struct typed_case tc;
	size_t unit;

	/* Packing converts nothing and combines nothing here. */
	ck_assert(open_typed(&tc, 2, &choices));
	convertor = fixture_typed(&tc, true);
	fixture_ok(dtconv_flight_granularity(convertor, &unit));
	ck_assert_uint_eq(unit, 1);
	dtconv_convertor_destroy(convertor);
	typed_case_close(&tc);
	const struct dtconv_convertor_params params = { .struct_size = sizeof(params),
							.op = DTCONV_OP_SUM };
	convertor = fixture_unpacker(empty, 3, &unit, &params);
	fixture_ok(dtconv_flight_granularity(convertor, &unit));
	ck_assert_uint_eq(unit, 1);
	dtconv_convertor_destroy(convertor);
	dtconv_type_unref(empty);
}
END_TEST

/* ---- errors ------------------------------------------------------------------------------- */

START_TEST(fragments_end_within_the_stream)
{
	struct dtconv_flight flight;
	unsigned char packed[64];
	struct stage stage;

	fixture_open(&stage, "vector(4, 1, 2, int)", 1);
	struct dtconv_convertor *packs = fixture_pack(&stage);
	fixture_seek(packs, 3);
	fixture_status(dtconv_flight_start(packs, &flight, 17, packed, 0),
		       DTCONV_ERR_INVAL);
	fixture_status(dtconv_flight_start(packs, &flight, 8, packed, 9),
		       DTCONV_ERR_INVAL);
	ck_assert_str_eq(
		fixture_error(),
		"dtconv_flight_start: 9 bytes (argument 5) at position 8 (argument "
		"3) do not end within the stream of 16 bytes");
	fixture_status(dtconv_flight_start(packs, &flight, 1, packed, SIZE_MAX),
		       DTCONV_ERR_INVAL);
	ck_assert_uint_eq(fixture_position(packs), 3);
	fixture_ok(dtconv_flight_start(packs, &flight, 16, packed, 0));
	fixture_ok(dtconv_flight_wait(&flight, NULL));
	dtconv_convertor_destroy(packs);
	fixture_close(&stage);
}
END_TEST

START_TEST(flights_wait_for_a_started_operation)
{
	struct dtconv_flight flight;
	unsigned char packed[64];
	struct stage stage;

	fixture_open(&stage, "vector(4, 1, 2, int)", 1);
	struct dtconv_convertor *packs = fixture_pack(&stage);
	fixture_ok(dtconv_convertor_start(packs, packed, 8, NULL, NULL));
	fixture_status(dtconv_flight_start(packs, &flight, 8, packed + 8, 8),
		       DTCONV_ERR_STATE);
	fixture_ok(dtconv_convertor_wait(packs, NULL));
	fixture_ok(dtconv_flight_start(packs, &flight, 8, packed + 8, 8));
	fixture_ok(dtconv_convertor_start(packs, packed, 8, NULL, NULL));
	fixture_ok(dtconv_convertor_wait(packs, NULL));
	ck_assert(!memcmp(packed, stage.stream, stage.bytes));
	dtconv_convertor_destroy(packs);
	fixture_close(&stage);
}
END_TEST

/* The integer does not fit: what is before it counts, and the error is told as often as asked. */
START_TEST(a_flight_that_fails_at_once_says_so_again)
{
	struct dtconv_representation external;
	const struct dtconv_convertor_params params = { .struct_size = sizeof(params),
							.flags = DTCONV_CONVERTOR_CRC32C,
							.representation = &external };
	long numbers[4] = { 1, 2, (long)(INT64_C(1) << 40), 4 };
	struct dtconv_type *type = dtconv_type_predefined(fixture_context, DTCONV_LONG);
	unsigned char packed[16];
	struct dtconv_flight flight, after;
	size_t moved = 99;
	uint32_t crc;

	fixture_ok(dtconv_representation_find("external32", &external));
	struct dtconv_convertor *packs = fixture_packer(type, 4, numbers, &params);
	fixture_status(dtconv_flight_start(packs, &flight, 4, packed, 12),
		       DTCONV_ERR_OVERFLOW);
	ck_assert_int_eq(dtconv_flight_test(&flight, &moved), DTCONV_ERR_OVERFLOW);
	ck_assert_uint_eq(moved, 4);
	ck_assert_int_eq(dtconv_flight_wait(&flight, NULL), DTCONV_ERR_OVERFLOW);
	fixture_ok(dtconv_flight_start(packs, &after, 0, packed + 4, 4));
	ck_assert(packed[3] == 2 && packed[7] == 1);
	fixture_ok(dtconv_convertor_crc32c(packs, &crc));
	ck_assert_uint_eq(crc, dtconv_crc32c(dtconv_crc32c(0, packed + 4, 4), packed, 4));
	dtconv_convertor_destroy(packs);
}
END_TEST

START_TEST(many_flights_are_asked_at_once)
{
	struct dtconv_flight flights[3],
		*all[3] = { &flights[0], &flights[1], &flights[2] };
	struct stage stage;
	int status[3] = { 7, 7, 7 };
	unsigned char packed[16];
	size_t ended = 99;

	fixture_open(&stage, "vector(4, 1, 2, int)", 1);
	struct dtconv_convertor *packs = fixture_pack(&stage);
	for (size_t i = 0; i < 3; i++)
		fixture_ok(dtconv_flight_start(packs, &flights[i], i, packed, 1));
	fixture_ok(dtconv_flight_test_many(all, 2, status, &ended));
	ck_assert_uint_eq(ended, 2);
	ck_assert(status[0] == 0 && status[1] == 0 && status[2] == 7);
	fixture_ok(dtconv_flight_test_many(all, 3, status, NULL));
	ck_assert_int_eq(status[2], 0);
	fixture_ok(dtconv_flight_test_many(NULL, 0, NULL, &ended));
	ck_assert_uint_eq(ended, 0);
	dtconv_convertor_destroy(packs);
	fixture_close(&stage);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("flights");
	TCase *streams = fixture_case(suite, "streams", 60);

	tcase_add_loop_test(streams, whole_streams_fly_between_fragments, 0,
			    layout_count);
	tcase_add_loop_test(streams, fragments_fly_in_any_order, 0, layout_count);
	tcase_add_loop_test(streams, elements_are_converted_and_combined_in_any_order, 0,
			    TYPED);
	tcase_add_loop_test(streams, cuts_at_the_granularity_divide_no_element, 0, TYPED);
	tcase_add_test(streams, streams_of_bytes_are_cut_anywhere);
	TCase *errors = fixture_case(suite, "errors", 20);
	tcase_add_test(errors, fragments_end_within_the_stream);
	tcase_add_test(errors, flights_wait_for_a_started_operation);
	machine_add_wide(errors, a_flight_that_fails_at_once_says_so_again);
	tcase_add_test(errors, many_flights_are_asked_at_once);
	return fixture_run(suite);
}
