/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Serialised types that go out and come back: every constructor and predefined type, random
 * types, deep, long and shared ones, in contexts that pad otherwise. The numbers and some
 * whole streams stand in test/golden/serialised.txt. What hostile bytes do is in
 * test_decoder.c.
 */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "datatype/wire.h"
#include "support/golden.h"
#include "support/limits_in_words.h"
#include "support/machine.h"
#include "support/random_type.h"
#include "support/serialised.h"
#include "support/t.h"

static void round_trip(struct dtconv_type *type)
{
	char failure[SERIALISED_FAILURE] = "", *text;

	if (!serialised_check(t_context, type, failure))
		return;
	text = random_type_text(type);
	ck_abort_msg("%s: %s", text, failure);
}

/* An uncommitted type. */
static struct dtconv_type *parse(const char *text)
{
	struct dtconv_type *type = NULL;

	t_ok(dtconv_type_parse(t_context, text, strlen(text), &type));
	return type;
}

static struct serialised make(const struct dtconv_type *type)
{
	struct serialised stream = { 0 };
	char failure[SERIALISED_FAILURE] = "";

	ck_assert_msg(!serialised_make(type, &stream, failure), "%s", failure);
	return stream;
}

/* ---- every constructor and predefined type ------------------------------------------- */

static const char *const texts[] = {
	"contiguous(0, double)",
	"contiguous(3, double)",
	"contiguous(" COUNT_MOST_HEX ", contiguous(0, int))",
	"vector(3, 2, 5, double_int)",
	"vector(3, 2, -5, long_double)",
	"hvector(300, 70000, -41, int)",
	"indexed([], [], int)",
	"indexed([1,2,0,3], [0,3,9,20], int)",
	"hindexed([1,2,0,3], [0,13,-90,50], int)",
	"indexed_block(2, [0,3,7,20], int)",
	"indexed_block(2, [], int)",
	"hindexed_block(2, [0,13,-128,127], short)",
	"hindexed_block(2, [0,13,-129,127], short)",
	"hindexed_block(2, [0,13,-128,128], short)",
	"hindexed_block(1, [32767,-32768], char)",
	"hindexed_block(1, [32768,-32768], char)",
	"hindexed_block(1, [1073741000,-1073741000], char)",
#if SIZE_MAX > UINT32_MAX
	"hindexed_block(1, [2147483647,-2147483648], char)",
	"hindexed_block(1, [2147483648,-2147483648], char)",
	"hindexed_block(1, [2305843009213693952,-2305843009213693952], byte)",
#endif
	"struct([], [], [])",
	"struct([1,1], [0,8], [double,char])",
	"struct([1,0,1], [0,64,9], [vector(2, 1, 3, double),double_int,contiguous(2, char)])",
	"subarray([4,5,6], [2,3,4], [1,1,1], c, double)",
	"subarray([4,500,6], [2,3,4], [1,128,1], fortran, double)",
	"darray(6, 4, [10,11], [block,cyclic], [default,2], [2,3], c, int)",
	"darray(3, 1, [10,4], [block,none], [default,default], [3,1], fortran, int)",
	"resized(vector(2, 1, 3, int), -4, 99)",
	"resized(int, 0, -4)",
	"dup(vector(2, 1, 3, int))",
	"dup(int)",
	"f90_real(15, undefined)",
	"f90_real(undefined, 300)",
	"f90_complex(15, 300)",
	"f90_integer(9)",
	"value_index(int64, int16)",
	"dup(value_index(float16, uint8))",
	"contiguous(5, resized(indexed([1,1], [0,2], double), 0, 24))",
};

START_TEST(every_constructor)
{
	struct dtconv_type *type = parse(texts[_i]);

	round_trip(type);
	t_ok(dtconv_type_commit(type));
	round_trip(type);
	dtconv_type_unref(type);
}
END_TEST

START_TEST(every_predefined_type)
{
	struct dtconv_type *named = t_predefined((enum dtconv_predefined)_i);
	struct dtconv_type *copy = NULL, *derived = NULL;
	struct serialised stream = make(named);

	ck_assert_uint_eq(stream.length, 32);
	t_ok(dtconv_type_deserialise(t_context, stream.bytes, stream.length, &copy));
	ck_assert_ptr_eq(copy, named);
	dtconv_type_unref(copy);
	free(stream.memory);
	round_trip(named);
	t_ok(dtconv_type_create_vector(3, 2, 5, named, &derived));
	round_trip(derived);
	dtconv_type_unref(derived);
}
END_TEST

/* What comes back is committed like any other type, and moves the same bytes. */
START_TEST(the_copy_works)
{
	struct dtconv_type *type =
		t_parse("struct([1,2,5], [0,240,424], [vector(8, 2, 4, "
			"double),vector(4, 1, 3, float),int])");
	struct serialised stream = make(type);
	struct dtconv_type *copy = NULL;

	t_ok(dtconv_type_deserialise(t_context, stream.bytes, stream.length, &copy));
	ck_assert_int_eq(t_attr(copy).committed, 0);
	t_ok(dtconv_type_commit(copy));
	char *program = t_program(type), *again = t_program(copy);
	ck_assert_str_eq(program, again);
	t_verify(copy);
	free(program);
	free(again);
	free(stream.memory);
	dtconv_type_unref(type);
	dtconv_type_unref(copy);
}
END_TEST

START_TEST(another_context)
{
	struct dtconv_type *type =
		parse("struct([1,2], [0,8], [double,dup(double_int)])");
	struct serialised stream = make(type);
	struct dtconv_context *other = NULL;
	struct dtconv_type *copy = NULL;
	char failure[SERIALISED_FAILURE] = "";

	t_ok(dtconv_context_create(NULL, &other));
	t_ok(dtconv_type_deserialise(other, stream.bytes, stream.length, &copy));
	dtconv_type_unref(type);
	ck_assert_msg(!serialised_check(other, copy, failure), "%s", failure);
	dtconv_type_unref(copy);
	dtconv_context_destroy(other);
	free(stream.memory);
}
END_TEST

START_TEST(random_types)
{
	static const struct random_limits limits[] = { { .depth = 2 },
						       { .depth = 4 },
						       { .depth = 7, .max_blocks = 12 } };
	uint64_t seed = random_seed(36000000);

	for (uint64_t i = 0; i < 3000; i++) {
		struct random_tree *tree = random_tree_create(seed + i, &limits[i % 3]);
		struct dtconv_type *type = NULL;
		char failure[SERIALISED_FAILURE] = "";

		t_ok(random_tree_build(tree, t_context, &type));
		ck_assert_msg(!serialised_check(t_context, type, failure),
			      "DTCONV_TEST_SEED=%ju: %s", (uintmax_t)(seed + i), failure);
		dtconv_type_unref(type);
		random_tree_destroy(tree);
	}
}
END_TEST

/* Descriptions with an odd number of everything, from every address: corner case C36. */
START_TEST(c36_every_address)
{
	struct dtconv_type *type =
		parse("struct([1,3,1], [0,5,77], [char,hindexed([1,2,1], "
		      "[0,7,300], short),dup(int)])");
	struct serialised stream = make(type);
	unsigned char *memory = malloc(2 * stream.length + 32);

	ck_assert_ptr_nonnull(memory);
	for (size_t shift = 0; shift < 16; shift++) {
		unsigned char *again = memory + stream.length + 16 + (15 - shift);
		struct dtconv_type *copy = NULL;
		size_t length = 0;

		memcpy(memory + shift, stream.bytes, stream.length);
		t_ok(dtconv_type_deserialise(t_context, memory + shift, stream.length,
					     &copy));
		t_ok(dtconv_type_serialise(copy, again, stream.length, &length));
		ck_assert_uint_eq(length, stream.length);
		ck_assert_int_eq(memcmp(again, stream.bytes, length), 0);
		dtconv_type_unref(copy);
	}
	free(memory);
	free(stream.memory);
	dtconv_type_unref(type);
}
END_TEST

/* ---- deep, long and shared ----------------------------------------------------------- */

#define LEVELS 100000

/* One more constructor around a type, whose reference is taken. */
static struct dtconv_type *wrap(struct dtconv_type *inner, size_t level)
{
	const size_t one[] = { 1 };
	const ptrdiff_t zero[] = { 0 };
	struct dtconv_type *outer = NULL;

	switch (level % 6) {
	case 0:
		t_ok(dtconv_type_create_dup(inner, &outer));
		break;
	case 1:
		t_ok(dtconv_type_create_contiguous(1, inner, &outer));
		break;
	case 2:
		t_ok(dtconv_type_create_resized(inner, 0, (ptrdiff_t)level, &outer));
		break;
	case 3:
		t_ok(dtconv_type_create_struct(t_context, 1, one, zero, &inner, &outer));
		break;
	case 4:
		t_ok(dtconv_type_create_hindexed(1, one, zero, inner, &outer));
		break;
	default:
		t_ok(dtconv_type_create_hvector(1, 1, 0, inner, &outer));
	}
	dtconv_type_unref(inner);
	return outer;
}

/* What recursed would not come back from here. */
START_TEST(deep_chains)
{
	struct dtconv_type *type = t_predefined(DTCONV_INT), *copy = NULL;
	struct serialised stream, again;

	for (size_t level = 0; level < LEVELS; level++)
		type = wrap(type, level);
	stream = make(type);
	ck_assert_uint_lt(stream.length, (size_t)32 * LEVELS);
	t_ok(dtconv_type_deserialise(t_context, stream.bytes, stream.length, &copy));
	again = make(copy);
	ck_assert_uint_eq(again.length, stream.length);
	ck_assert_int_eq(memcmp(again.bytes, stream.bytes, stream.length), 0);
	ck_assert_int_eq(t_attr(copy).extent, t_attr(type).extent);
	t_ok(dtconv_type_commit(copy));
	dtconv_type_unref(type);
	dtconv_type_unref(copy);
	free(stream.memory);
	free(again.memory);
}
END_TEST

static double seconds(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

#define BLOCKS 1000000

START_TEST(a_million_blocks)
{
	struct random_stream random = { 5 };
	size_t *lengths = calloc(BLOCKS, sizeof(*lengths));
	ptrdiff_t *disps = calloc(BLOCKS, sizeof(*disps));
	struct dtconv_type *type = NULL, *copy = NULL;
	double start;

	ck_assert(lengths && disps);
	for (size_t i = 0; i < BLOCKS; i++) {
		lengths[i] = 1 + random_below(&random, 3);
		disps[i] = (ptrdiff_t)(8 * i + random_below(&random, 3));
	}
	t_ok(dtconv_type_create_indexed(BLOCKS, lengths, disps, t_predefined(DTCONV_INT),
					&type));
	start = seconds();
	struct serialised stream = make(type);
	/* A length takes one byte, a displacement four. */
	ck_assert_uint_eq(stream.length, 24 + 8 + 20 + 5 * BLOCKS + 1);
	t_ok(dtconv_type_deserialise(t_context, stream.bytes, stream.length, &copy));
	ck_assert_msg(seconds() - start < 20, "%.1f s", seconds() - start);
	round_trip(copy);
	dtconv_type_unref(type);
	dtconv_type_unref(copy);
	free(stream.memory);
	free(lengths);
	free(disps);
}
END_TEST

/* Each level uses the one below twice. */
static struct dtconv_type *doubled(size_t levels)
{
	const size_t ones[] = { 1, 1 };
	struct dtconv_type *type = t_predefined(DTCONV_INT);

	for (size_t level = 0; level < levels; level++) {
		ptrdiff_t disps[] = { 0, 3 * t_attr(type).extent };
		struct dtconv_type *twice[] = { type, type }, *outer = NULL;

		t_ok(dtconv_type_create_struct(t_context, 2, ones, disps, twice, &outer));
		dtconv_type_unref(type);
		type = outer;
	}
	return type;
}

/* Ten levels are a thousand ints; the stream has ten records, and so has what comes back. */
START_TEST(shared_types_are_written_once)
{
	struct dtconv_counters counters = { .struct_size = sizeof(counters) };
	struct dtconv_type *type = doubled(10), *copy = NULL;
	struct serialised stream = make(type);

	ck_assert_uint_le(stream.length, 24 + 8 + 10 * (20 + 2 + 2 * 4 + 2));
	round_trip(type);
	dtconv_type_unref(type);
	t_ok(dtconv_type_deserialise(t_context, stream.bytes, stream.length, &copy));
	t_ok(dtconv_context_query_counters(t_context, &counters));
	ck_assert_uint_eq(counters.types_live, 10);
	dtconv_type_unref(copy);
	free(stream.memory);
}
END_TEST

/* 2^25 ints in 25 records: written at once, refused at once, by whoever would print them. */
START_TEST(sharing_without_end_is_refused)
{
	struct dtconv_type *type = doubled(25), *copy = NULL;
	struct serialised stream = make(type);

	ck_assert_uint_lt(stream.length, 2000);
	t_status(dtconv_type_deserialise(t_context, stream.bytes, stream.length, &copy),
		 DTCONV_ERR_LIMIT);
	ck_assert_ptr_null(copy);
	dtconv_type_unref(type);
	free(stream.memory);
}
END_TEST

/* Equal descriptions are equal bytes, unless they share otherwise. */
START_TEST(bytes_follow_the_description)
{
	struct dtconv_type *a = parse("struct([1,1], [0,8], [dup(int),dup(int)])");
	struct dtconv_type *b = parse("struct([1,1], [0,8], [dup(int),dup(int)])");
	struct serialised x = make(a), y = make(b);

	ck_assert_uint_eq(x.length, y.length);
	ck_assert_int_eq(memcmp(x.bytes, y.bytes, x.length), 0);
	free(x.memory);
	free(y.memory);
	dtconv_type_unref(a);
	dtconv_type_unref(b);
}
END_TEST

/* ---- padding ------------------------------------------------------------------------- */

static struct dtconv_context *padding_context(enum dtconv_padding padding)
{
	struct dtconv_context_params params = { .struct_size = sizeof(params),
						.padding = padding };
	struct dtconv_context *context = NULL;

	t_ok(dtconv_context_create(&params, &context));
	return context;
}

/* From a context with one padding to a context with another: the status. */
static int between(const char *text, enum dtconv_padding from, enum dtconv_padding to)
{
	struct dtconv_context *there = padding_context(from), *here = padding_context(to);
	struct dtconv_type *type = NULL, *copy = NULL;
	char failure[SERIALISED_FAILURE] = "";

	t_ok(dtconv_type_parse(there, text, strlen(text), &type));
	struct serialised stream = make(type);
	int status = dtconv_type_deserialise(here, stream.bytes, stream.length, &copy);
	if (!status)
		ck_assert_msg(!serialised_compare(type, copy, failure), "%s: %s", text,
			      failure);
	dtconv_type_unref(type);
	dtconv_type_unref(copy);
	dtconv_context_destroy(there);
	dtconv_context_destroy(here);
	free(stream.memory);
	return status;
}

#define STRUCT DTCONV_PADDING_STRUCT
#define ALWAYS DTCONV_PADDING_ALWAYS
#define NONE   DTCONV_PADDING_NONE

/* The same type comes out, or none: also where only an inner extent differs. */
START_TEST(paddings)
{
	static const char full[] = "struct([1,1], [0,4], [int,int])";
	static const char odd[] = "struct([1,1], [0,8], [double,char])";
	static const char inner[] =
		"resized(struct([2,1], [0,40], [struct([1,1], [0,8], [double,char]),int]), 0, 64)";
	static const char list[] = "hindexed([1,1], [0,5], int)";

	for (int from = STRUCT; from <= NONE; from++) {
		for (int to = STRUCT; to <= NONE; to++) {
			enum dtconv_padding a = (enum dtconv_padding)from;
			enum dtconv_padding b = (enum dtconv_padding)to;
			bool structs = (a == NONE) == (b == NONE);
			bool lists = (a == ALWAYS) == (b == ALWAYS);

			ck_assert_int_eq(between(full, a, b), 0);
			ck_assert_int_eq(between(odd, a, b),
					 structs ? 0 : DTCONV_ERR_FORMAT);
			ck_assert_int_eq(between(inner, a, b),
					 structs ? 0 : DTCONV_ERR_FORMAT);
			ck_assert_int_eq(between(list, a, b),
					 lists ? 0 : DTCONV_ERR_FORMAT);
		}
	}
}
END_TEST

/* ---- the format does not move --------------------------------------------------------- */

struct page {
	char text[16384];
	size_t length;
};

__attribute__((format(printf, 2, 3))) static void put(struct page *page,
						      const char *format, ...)
{
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(page->text + page->length, sizeof(page->text) - page->length,
			   format, arguments);
	va_end(arguments);
	ck_assert_int_ge(length, 0);
	page->length += (size_t)length;
	ck_assert_uint_lt(page->length, sizeof(page->text));
}

static void put_numbers(struct page *page)
{
	bool taken[DTC_WIRE_PREDEFINED_END] = { true };

	for (int i = 0; i < DTCONV_PREDEFINED_COUNT; i++) {
		enum dtconv_predefined which = (enum dtconv_predefined)i;
		unsigned number = dtc_wire_predefined(which);
		char *name = t_text(t_predefined(which));

		ck_assert_msg(!taken[number], "%s has number %u", name, number);
		ck_assert_int_eq(dtc_wire_predefined_find(number), which);
		taken[number] = true;
		put(page, "predefined %s %u\n", name, number);
		free(name);
	}
	ck_assert_int_eq(dtc_wire_predefined_find(0), DTCONV_PREDEFINED_COUNT);
	for (int i = DTCONV_COMBINER_DUP; i <= DTCONV_COMBINER_VALUE_INDEX; i++) {
		enum dtconv_combiner combiner = (enum dtconv_combiner)i;
		unsigned number = dtc_wire_combiner(combiner);

		ck_assert_int_eq(dtc_wire_combiner_find(number), combiner);
		put(page, "constructor %s %u\n", dtc_text_form_of(combiner)->name,
		    number);
	}
	ck_assert_int_eq(dtc_wire_combiner_find(0), DTCONV_COMBINER_NAMED);
}

static void put_stream(struct page *page, const char *text)
{
	struct dtconv_type *type = parse(text);
	struct serialised stream = make(type);

	put(page, "%s", text);
	for (size_t i = 0; i < stream.length; i++)
		put(page, "%s%02x", i % 16 ? " " : "\n\t", stream.bytes[i]);
	put(page, "\n");
	free(stream.memory);
	dtconv_type_unref(type);
}

/* Of types whose predefined types have one size on all machines. */
START_TEST(the_format_does_not_move)
{
	static struct page page;

	page.length = 0;
	put_numbers(&page);
	put_stream(&page, "int");
	put_stream(&page, "vector(4, 2, 5, double)");
	put_stream(&page, "hvector(4, 2, -300, short)");
	put_stream(&page, "indexed([1,2,3], [0,6,12], float)");
	put_stream(&page, "hindexed_block(2, [0,100,70000], int)");
	put_stream(&page, "struct([1,1,7], [0,8,16], [int,double,char])");
	put_stream(&page, "struct([1,2], [0,64], [dup(int),resized(int, -4, 16)])");
	put_stream(&page, "subarray([6,8], [3,4], [2,1], fortran, double)");
	put_stream(&page,
		   "darray(4, 1, [8,8], [block,cyclic], [default,2], [2,2], c, int)");
	put_stream(&page, "f90_real(15, undefined)");
	put_stream(&page, "value_index(int64, int16)");
	golden_compare("serialised.txt", page.text, page.length);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("serialised");
	TCase *small = t_case(suite, "small");
	TCase *large = t_case(suite, "large");
	TCase *fixed = t_case(suite, "fixed");

	tcase_add_loop_test(small, every_constructor, 0, (int)COUNT_OF(texts));
	tcase_add_loop_test(small, every_predefined_type, 0, DTCONV_PREDEFINED_COUNT);
	tcase_add_test(small, the_copy_works);
	tcase_add_test(small, another_context);
	tcase_add_test(small, random_types);
	tcase_add_test(small, c36_every_address);
	tcase_add_test(small, bytes_follow_the_description);
	tcase_add_test(small, paddings);
	tcase_add_test(large, deep_chains);
	tcase_add_test(large, a_million_blocks);
	tcase_add_test(large, shared_types_are_written_once);
	machine_add_wide(large, sharing_without_end_is_refused);
	machine_add_aligned(fixed, the_format_does_not_move);
	return t_run(suite);
}
