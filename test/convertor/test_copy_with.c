/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies with an operation and of ranges, in host memory: any types, every operation, any cuts, at once and started,
 * against the oracle; which range combines an element that a cut divides; what is refused.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "support/copy_case.h"
#include "support/fixture.h"
#include "support/layouts.h"
#include "support/type_choices.h"

#define RANDOM_TYPES      100
#define MANY_RANDOM_TYPES 4000

static struct dtconv_copier_params with(enum dtconv_op op)
{
	return (struct dtconv_copier_params){
		.struct_size = sizeof(struct dtconv_copier_params), .op = op
	};
}

/* ---- against the oracle ----------------------------------------------------------------- */

static void copy_whole(struct copy_case *cc)
{
	const struct dtconv_copier_params params = with(cc->tc.op);
	size_t moved = SIZE_MAX;

	fixture_ok(dtconv_copy_with(cc->from.type, cc->from.count, cc->from.source,
				    cc->tc.type, cc->tc.count, cc->tc.target, &params,
				    &moved));
	ck_assert_uint_eq(moved, cc->tc.bytes);
}

static void copy_in_ranges(struct copy_case *cc, struct choices *choices)
{
	const struct dtconv_copier_params params = with(cc->tc.op);
	struct copy_range ranges[COPY_RANGES];
	size_t count = copy_ranges(ranges, cc->tc.bytes, choices), moved;

	for (size_t i = 0; i < count; i++) {
		fixture_ok(dtconv_copy_at(cc->from.type, cc->from.count, cc->from.source,
					  cc->tc.type, cc->tc.count, cc->tc.target,
					  ranges[i].position, ranges[i].bytes, &params,
					  &moved));
		ck_assert_uint_eq(moved, ranges[i].bytes);
	}
}

static void start_ranges(struct copy_case *cc, struct choices *choices)
{
	const struct dtconv_copier_params params = with(cc->tc.op);
	struct copy_range ranges[COPY_RANGES];
	size_t count = copy_ranges(ranges, cc->tc.bytes, choices), moved;
	struct dtconv_copier *copier;

	fixture_ok(dtconv_copier_create(cc->from.type, cc->from.count, cc->from.source,
					cc->tc.type, cc->tc.count, cc->tc.target, &params,
					&copier));
	for (size_t i = 0; i < count; i++) {
		fixture_ok(dtconv_copier_start_at(copier, ranges[i].position,
						  ranges[i].bytes, NULL, NULL));
		fixture_ok(dtconv_copier_wait(copier, &moved));
		ck_assert_uint_eq(moved, ranges[i].bytes);
	}
	/* Once more, whole: what a range did last leaves no trace. */
	copy_case_must_be_right(cc, cc->tc.bytes);
	copy_case_restart(cc, choices);
	fixture_ok(dtconv_copier_start(copier, NULL, NULL));
	fixture_ok(dtconv_copier_wait(copier, &moved));
	ck_assert_uint_eq(moved, cc->tc.bytes);
	dtconv_copier_destroy(copier);
}

static void copy_each_way(struct dtconv_type *type, size_t count, enum dtconv_op op,
			  struct choices *choices)
{
	const enum copy_source source = (enum copy_source)choose(choices, COPY_SOURCES);
	struct copy_case cc;

	if (!copy_case_open(&cc, type, count, op, source, choices))
		return;
	copy_whole(&cc);
	copy_case_must_be_right(&cc, cc.tc.bytes);
	copy_case_restart(&cc, choices);
	copy_in_ranges(&cc, choices);
	copy_case_must_be_right(&cc, cc.tc.bytes);
	copy_case_restart(&cc, choices);
	start_ranges(&cc, choices);
	copy_case_must_be_right(&cc, cc.tc.bytes);
	copy_case_close(&cc);
}

static void copy_with_all(struct dtconv_type *type, size_t count, struct choices *choices)
{
	for (enum dtconv_op op = DTCONV_OP_REPLACE; op < DTCONV_OP_USER; op++)
		if (!dtconv_op_check(op, type))
			copy_each_way(type, count, op, choices);
}

START_TEST(random_types_are_combined)
{
	struct choices choices = fixture_choices(0x636f6d62);
	int types = fixture_everything() ? MANY_RANDOM_TYPES : RANDOM_TYPES;

	for (int i = 0; i < types; i++) {
		struct dtconv_type *type =
			type_choose(fixture_context, &choices, &type_bounds_small);

		fixture_ok(dtconv_type_commit(type));
		copy_with_all(type, 1 + choose(&choices, 4), &choices);
		dtconv_type_unref(type);
	}
}
END_TEST

START_TEST(every_layout_is_combined)
{
	struct choices choices = fixture_choices(0x6c61 + (uint64_t)_i);
	struct dtconv_type *type = fixture_type(layouts[_i].text);

	for (size_t count = 0; count < 4; count++)
		copy_with_all(type, count, &choices);
	dtconv_type_unref(type);
}
END_TEST

/* Longer than the windows on the way; couples; instances that are longer than a window and not of equal elements. */
static const char *const longer[] = {
	"vector(3000, 1, 2, double)",
	"vector(900, 2, 3, double_int)",
	"contiguous(700, long_double_int)",
	"hvector(1001, 3, 13, int32)",
	"contiguous(300, struct([1,2,1], [0,8,20], [double,int,short]))",
	"contiguous(3, struct([301,300,7], [0,2500,4000], [double,int,short]))",
	"vector(1500, 1, 3, 2double_precision)",
};

#define LONGER (int)(sizeof(longer) / sizeof(longer[0]))

START_TEST(long_streams_are_combined)
{
	struct choices choices = fixture_choices(0x6c6f6e67 + (uint64_t)_i);
	struct dtconv_type *type = fixture_type(longer[_i]);

	for (int round = 0; round < 3; round++)
		copy_with_all(type, 1 + (size_t)(round % 2), &choices);
	dtconv_type_unref(type);
}
END_TEST

/* ---- ranges ----------------------------------------------------------------------------- */

/* Bytes as they are, any cut at any byte, without an operation. */
START_TEST(ranges_may_be_cut_at_any_byte)
{
	struct choices choices = fixture_choices((uint64_t)_i);
	struct dtconv_type *type = fixture_type(layouts[_i].text);
	struct copy_range ranges[COPY_RANGES];
	struct stage from, to;
	size_t moved;

	for (int round = 0; round < 6; round++) {
		struct dtconv_type *other = round % 3 == 0 ? copy_dense(type)
					    : round % 3 == 1
						    ? copy_scattered(type, &choices)
						    : dtconv_type_ref(type);

		ck_assert(!stage_open(&from, round < 3 ? type : other, 3, 0, 0, 1));
		ck_assert(!stage_open(&to, round < 3 ? other : type, 3, 0, 7, 2));
		stage_blank(&to);
		memcpy(to.stream, from.stream, to.bytes);
		size_t count = copy_ranges(ranges, to.bytes, &choices);
		for (size_t i = 0; i < count; i++) {
			fixture_ok(dtconv_copy_at(from.type, 3, from.source, to.type, 3,
						  to.target, ranges[i].position,
						  ranges[i].bytes, NULL, &moved));
			ck_assert_uint_eq(moved, ranges[i].bytes);
			stage_deliver(&to, ranges[i].position, ranges[i].bytes);
			fixture_arrived(&to);
		}
		stage_close(&from);
		stage_close(&to);
		dtconv_type_unref(other);
	}
	dtconv_type_unref(type);
}
END_TEST

/* The range with the last byte, whichever comes first. */
START_TEST(a_cut_element_is_combined_by_the_range_that_ends_it)
{
	const struct dtconv_copier_params sum = with(DTCONV_OP_SUM);
	struct dtconv_type *from = fixture_type("vector(4, 1, 2, int)");
	struct dtconv_type *to = fixture_type("vector(4, 1, 3, int)");
	int source[8] = { 1, 0, 2, 0, 3, 0, 4, 0 };
	int target[12] = { 10, 0, 0, 20, 0, 0, 30, 0, 0, 40, 0, 0 };
	size_t moved;

#define COPY(position, bytes)                                                            \
	fixture_ok(dtconv_copy_at(from, 1, source, to, 1, target, position, bytes, &sum, \
				  &moved));                                              \
	ck_assert_uint_eq(moved, bytes)
	COPY(7, 4);
	ck_assert(target[0] == 10 && target[3] == 22 && target[6] == 30);
	COPY(5, 2);
	ck_assert(target[0] == 10 && target[3] == 22 && target[6] == 30);
	COPY(0, 5);
	ck_assert(target[0] == 11 && target[3] == 22);
	COPY(11, 1);
	ck_assert(target[6] == 33 && target[9] == 40);
	COPY(12, 0);
	COPY(12, 4);
	COPY(16, 0);
	ck_assert(target[0] == 11 && target[3] == 22 && target[6] == 33 &&
		  target[9] == 44);
	dtconv_type_unref(from);
	dtconv_type_unref(to);
}
END_TEST

/* A range that ends behind the target's end is filled; one that begins behind it copies nothing. */
START_TEST(a_range_may_end_behind_the_target)
{
	const struct dtconv_copier_params params =
		with(_i ? DTCONV_OP_SUM : DTCONV_OP_REPLACE);
	struct dtconv_type *from = fixture_type("vector(6, 1, 2, int)");
	struct dtconv_type *to = fixture_type("vector(4, 1, 3, int)");
	int source[12] = { 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6 };
	int target[12] = { 0 };
	struct dtconv_copier *copier;
	size_t moved = 77;

	fixture_ok(
		dtconv_copier_create(from, 1, source, to, 1, target, &params, &copier));
	fixture_ok(dtconv_copier_start_at(copier, 8, 8, NULL, NULL));
	fixture_ok(dtconv_copier_wait(copier, &moved));
	ck_assert_uint_eq(moved, 8);
	fixture_ok(dtconv_copier_start_at(copier, 4, 16, NULL, NULL));
	fixture_status(dtconv_copier_wait(copier, &moved), DTCONV_ERR_TRUNCATE);
	ck_assert_uint_eq(moved, 12);
	fixture_ok(dtconv_copier_start_at(copier, 20, SIZE_MAX, NULL, NULL));
	fixture_status(dtconv_copier_wait(copier, &moved), DTCONV_ERR_TRUNCATE);
	ck_assert_uint_eq(moved, 0);
	fixture_status(dtconv_copier_start_at(copier, 25, 0, NULL, NULL),
		       DTCONV_ERR_INVAL);
	ck_assert_str_eq(fixture_error(),
			 "dtconv_copier_start_at: position is 25, past the end of the "
			 "source's stream at 24");
	fixture_status(dtconv_copier_test(copier, &moved), DTCONV_ERR_STATE);
	ck_assert(target[0] == 0 && target[3] == 2 && target[6] == 3 * (1 + _i) &&
		  target[9] == 4 * (1 + _i));
	fixture_status(dtconv_copy_at(from, 1, source, to, 1, target, 25, 0, &params,
				      &moved),
		       DTCONV_ERR_INVAL);
	fixture_status(dtconv_copy_at(from, 1, source, to, 1, target, 0, 24, NULL,
				      &moved),
		       DTCONV_ERR_TRUNCATE);
	ck_assert_uint_eq(moved, 16);
	ck_assert_int_eq(target[0], 1);
	dtconv_copier_destroy(copier);
	dtconv_type_unref(from);
	dtconv_type_unref(to);
}
END_TEST

/* The source ends inside a couple: that one is not combined. */
START_TEST(half_a_couple_is_not_combined)
{
	const struct dtconv_copier_params params = with(DTCONV_OP_MINLOC);
	struct dtconv_type *from =
		fixture_type("struct([1,1,1], [0,8,16], [double,int,double])");
	struct dtconv_type *to =
		fixture_type("contiguous(2, struct([1,1], [0,8], [double,int]))");
	struct {
		double value;
		int index;
	} target[2] = { { 5, 1 }, { 6, 2 } };
	struct {
		double value;
		int index;
		double next;
	} source = { 4, 9, 1 };
	size_t moved;

	fixture_ok(dtconv_copy_with(from, 1, &source, to, 1, target, &params, &moved));
	ck_assert_uint_eq(moved, 20);
	ck_assert(target[0].value == 4 && target[0].index == 9);
	ck_assert(target[1].value == 6 && target[1].index == 2);
	dtconv_type_unref(from);
	dtconv_type_unref(to);
}
END_TEST

/* ---- the caller's function --------------------------------------------------------------- */

struct calls {
	size_t elements;
	enum dtconv_predefined element;
	bool aligned;
};

static void subtract(void *arg, const void *incoming, void *target, size_t count,
		     enum dtconv_predefined element)
{
	struct calls *calls = arg;
	const double *in = incoming;
	double *inout = target;

	calls->elements += count;
	calls->element = element;
	calls->aligned &= (uintptr_t)incoming % 8 == 0 && (uintptr_t)target % 8 == 0;
	for (size_t i = 0; i < count; i++)
		inout[i] = in[i] - inout[i];
}

#define DOUBLES 1000

START_TEST(the_callers_function_combines)
{
	struct calls calls = { .aligned = true };
	struct dtconv_copier_params params = with(DTCONV_OP_USER);
	struct dtconv_type *rows = fixture_type("vector(1000, 1, 2, double)");
	struct dtconv_type *dense = fixture_type("contiguous(1000, double)");
	static double source[2 * DOUBLES], target[2 * DOUBLES];

	params.op_fn = subtract;
	params.op_arg = &calls;
	for (int i = 0; i < 2 * DOUBLES; i++) {
		source[i] = 10 * i;
		target[i] = i;
	}
	fixture_ok(dtconv_copy_with(_i ? rows : dense, 1, source, rows, 1, target,
				    &params, NULL));
	ck_assert_uint_eq(calls.elements, DOUBLES);
	ck_assert_int_eq(calls.element, DTCONV_DOUBLE);
	ck_assert(calls.aligned);
	for (int i = 0; i < DOUBLES; i++) {
		ck_assert(target[2 * i] == source[_i ? 2 * i : i] - 2 * i);
		ck_assert(target[2 * i + 1] == 2 * i + 1);
	}
	dtconv_type_unref(rows);
	dtconv_type_unref(dense);
}
END_TEST

/* ---- refusals ---------------------------------------------------------------------------- */

static void refused(const char *from, const char *to,
		    const struct dtconv_copier_params *params, int status,
		    const char *words)
{
	struct dtconv_type *source_type = fixture_type(from), *type = fixture_type(to);
	double source[64] = { 0 }, target[64];
	struct dtconv_copier *copier = NULL;
	size_t moved = 77;

	stage_guard((unsigned char *)target, sizeof(target));
	fixture_status(dtconv_copier_create(source_type, 1, source, type, 1, target,
					    params, &copier),
		       status);
	ck_assert_ptr_null(copier);
	ck_assert_msg(strstr(fixture_error(), words) != NULL, "%s", fixture_error());
	fixture_status(dtconv_copy_with(source_type, 1, source, type, 1, target, params,
					&moved),
		       status);
	ck_assert_uint_eq(moved, 0);
	ck_assert_msg(strstr(fixture_error(), words) != NULL, "%s", fixture_error());
	ck_assert_uint_eq(stage_guard_first_wrong((unsigned char *)target,
						  sizeof(target)),
			  STAGE_RIGHT);
	dtconv_type_unref(source_type);
	dtconv_type_unref(type);
}

static void unused(void *arg, const void *incoming, void *target, size_t count,
		   enum dtconv_predefined element)
{
	(void)arg, (void)incoming, (void)target, (void)count, (void)element;
}

START_TEST(wrong_operations_are_refused)
{
	struct dtconv_copier_params params = with(DTCONV_OP_SUM);

	refused("int", "float", &params, DTCONV_ERR_SIGNATURE, "signature differs");
	refused("vector(2, 1, 2, char)", "vector(2, 1, 3, char)", &params,
		DTCONV_ERR_INVAL, "sum is not defined on char (MPI 4.1 section 6.9.2)");
	params.op = DTCONV_OP_BAND;
	refused("vector(2, 1, 2, double)", "double", &params, DTCONV_ERR_INVAL,
		"band is not defined on double");
	params.op = DTCONV_OP_MAXLOC;
	refused("vector(2, 1, 2, double)", "double", &params, DTCONV_ERR_INVAL,
		"one kind of pair");
	params.op = DTCONV_OP_COUNT;
	refused("int", "int", &params, DTCONV_ERR_INVAL, "op is 15");
	params.op = DTCONV_OP_USER;
	refused("int", "int", &params, DTCONV_ERR_INVAL, "params.op_fn is NULL");
	params.op = DTCONV_OP_SUM;
	params.op_fn = unused;
	refused("int", "int", &params, DTCONV_ERR_INVAL, "params.op is not user");
	params.op_fn = NULL;
	params.flags = 2;
	refused("int", "int", &params, DTCONV_ERR_INVAL, "unknown bits");
}
END_TEST

/* What an older caller's struct does not have is not read. */
START_TEST(an_older_callers_options_have_no_operation)
{
	struct dtconv_copier_params params = with(DTCONV_OP_SUM);
	struct dtconv_type *type = fixture_type("vector(2, 1, 2, int)");
	int source[3] = { 1, 2, 3 }, target[3] = { 10, 20, 30 };

	params.struct_size = offsetof(struct dtconv_copier_params, op);
	fixture_ok(dtconv_copy_with(type, 1, source, type, 1, target, &params, NULL));
	ck_assert(target[0] == 1 && target[1] == 20 && target[2] == 3);
	dtconv_type_unref(type);
}
END_TEST

START_TEST(overlapping_sides_are_refused)
{
	const struct dtconv_copier_params sum = with(DTCONV_OP_SUM),
					  none = with(DTCONV_OP_NO_OP);
	struct dtconv_type *dense = fixture_type("contiguous(4, int)");
	struct dtconv_type *column = fixture_type("vector(4, 1, 2, int)");
	int data[16] = { 1, 2, 3, 4, 5, 6, 7, 8, 9 };
	int kept[16];

#define MEET(status, type, at, sum)                                                   \
	fixture_status(dtconv_copy_with(type, 1, data + 4, type, 1, data + (at), sum, \
					NULL),                                        \
		       status)
	memcpy(kept, data, sizeof(data));
	MEET(DTCONV_ERR_INVAL, dense, 1, &sum);
	ck_assert_str_eq(fixture_error(),
			 "dtconv_copy_with: the source overlaps the target");
	MEET(DTCONV_ERR_INVAL, dense, 7, &sum);
	MEET(DTCONV_ERR_INVAL, dense, 4, &sum);
	MEET(DTCONV_ERR_INVAL, column, 4, &sum);
	/* What reads no target may. */
	MEET(0, column, 4, &none);
	ck_assert(!memcmp(data, kept, sizeof(data)));
	MEET(0, dense, 0, &sum);
	ck_assert(data[0] == 6 && data[3] == 12 && data[4] == 5);
	MEET(0, dense, 8, &sum);
	ck_assert(data[8] == 14 && data[11] == 8);
	/* Columns of one matrix share no byte. */
	MEET(0, column, 5, &sum);
	ck_assert(data[5] == 11 && data[4] == 5 && data[7] == 15);
	dtconv_type_unref(dense);
	dtconv_type_unref(column);
}
END_TEST

START_TEST(a_type_that_was_released_lives_on)
{
	const struct dtconv_copier_params sum = with(DTCONV_OP_SUM);
	struct dtconv_type *from = fixture_type("vector(3, 1, 2, double)"),
			   *to = fixture_type("vector(1, 3, 3, double)");
	double source[6] = { 1, 2, 3, 4, 5, 6 }, target[6] = { 1, 1, 1 };
	struct dtconv_copier *copier;

	fixture_ok(dtconv_copier_create(from, 1, source, to, 1, target, &sum, &copier));
	dtconv_type_unref(from);
	dtconv_type_unref(to);
	fixture_ok(dtconv_copier_start(copier, NULL, NULL));
	dtconv_copier_destroy(copier);
	ck_assert(target[0] == 2 && target[1] == 4 && target[2] == 6);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("copies with options");
	TCase *oracle = fixture_case(suite, "oracle", 120);
	TCase *ranges = fixture_case(suite, "ranges", 60);
	TCase *options = fixture_case(suite, "options", 60);

	tcase_add_test(oracle, random_types_are_combined);
	tcase_add_loop_test(oracle, every_layout_is_combined, 0, layout_count);
	tcase_add_loop_test(oracle, long_streams_are_combined, 0, LONGER);
	tcase_add_loop_test(ranges, ranges_may_be_cut_at_any_byte, 0, layout_count);
	tcase_add_test(ranges, a_cut_element_is_combined_by_the_range_that_ends_it);
	tcase_add_loop_test(ranges, a_range_may_end_behind_the_target, 0, 2);
	tcase_add_test(ranges, half_a_couple_is_not_combined);
	tcase_add_loop_test(options, the_callers_function_combines, 0, 2);
	tcase_add_test(options, wrong_operations_are_refused);
	tcase_add_test(options, an_older_callers_options_have_no_operation);
	tcase_add_test(options, overlapping_sides_are_refused);
	tcase_add_test(options, a_type_that_was_released_lives_on);
	return fixture_run(suite);
}
