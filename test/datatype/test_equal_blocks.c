/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lists of equal blocks: the constructors' one-pass way gives the same program, bounds, arguments and errors as the
 * general one, which an additional block of no length selects without changing the typemap.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "datatype/equal_blocks.h"
#include "datatype/layout.h"
#include "datatype/type.h"
#include "support/random_type.h"
#include "support/t.h"

#define MOST 20000

struct list {
	size_t count, length;
	ptrdiff_t displacements[MOST + 1];
	size_t lengths[MOST + 1];
	struct dtconv_type *old;
	uint64_t seed;
};

static struct list list;

/* ---- both ways ------------------------------------------------------------------------- */

/* Of the four constructors. */
enum form { INDEXED, HINDEXED, INDEXED_BLOCK, HINDEXED_BLOCK, FORMS };

static int create(enum form form, size_t count, struct dtconv_type **type)
{
	switch (form) {
	case INDEXED:
		return dtconv_type_create_indexed(count, list.lengths, list.displacements,
						  list.old, type);
	case HINDEXED:
		return dtconv_type_create_hindexed(count, list.lengths,
						   list.displacements, list.old, type);
	case INDEXED_BLOCK:
		return dtconv_type_create_indexed_block(
			count, list.length, list.displacements, list.old, type);
	default:
		return dtconv_type_create_hindexed_block(
			count, list.length, list.displacements, list.old, type);
	}
}

static bool is_in_elements(enum form form)
{
	return form == INDEXED || form == INDEXED_BLOCK;
}

/* The last block has no length, so that the list is not one of equal blocks. */
static int create_generally(enum form form, struct dtconv_type **type)
{
	list.lengths[list.count] = 0;
	list.displacements[list.count] = 0;
	return create(is_in_elements(form) ? INDEXED : HINDEXED, list.count + 1, type);
}

static const struct dtc_program *program_of(const struct dtconv_type *type)
{
	return dtc_type_layout(type)->program;
}

static void check_program(const struct dtconv_type *quick,
			  const struct dtconv_type *general)
{
	const struct dtc_program *a = program_of(quick), *b = program_of(general);
	const size_t bytes = a->op_count * sizeof(a->ops[0]) + a->table_bytes;

	ck_assert_uint_eq(a->bytes, b->bytes);
	ck_assert_uint_eq(a->depth, b->depth);
	ck_assert_uint_eq(a->op_count, b->op_count);
	ck_assert_uint_eq(a->table_bytes, b->table_bytes);
	ck_assert_msg(!memcmp(a->ops, b->ops, bytes), "seed 0x%llx: the programs differ",
		      (unsigned long long)list.seed);
}

static void check_attr(const struct dtconv_type *quick, const struct dtconv_type *general)
{
	const struct dtconv_type_attr a = t_attr(quick), b = t_attr(general);
	enum dtconv_signature_relation relation;

	ck_assert_uint_eq(a.size, b.size);
	ck_assert_int_eq(a.lb, b.lb);
	ck_assert_int_eq(a.extent, b.extent);
	ck_assert_int_eq(a.true_lb, b.true_lb);
	ck_assert_int_eq(a.true_extent, b.true_extent);
	ck_assert_int_eq(quick->bounds.single_run, general->bounds.single_run);
	t_ok(dtconv_type_compare_signature(quick, 1, general, 1, &relation));
	ck_assert_int_eq(relation, DTCONV_SIGNATURE_EQUAL);
}

static void check_contents(const struct dtconv_type *type, enum form form)
{
	static size_t counts[MOST + 1];
	static ptrdiff_t displacements[MOST];
	const bool listed = form == INDEXED || form == HINDEXED;
	const size_t count_count = listed ? list.count + 1 : 2;
	struct dtconv_envelope envelope;
	struct dtconv_type *old;

	t_ok(dtconv_type_query_envelope(type, &envelope));
	ck_assert_uint_eq(envelope.count_count, count_count);
	t_ok(dtconv_type_query_contents(type, count_count, counts, list.count,
					displacements, 1, &old));
	ck_assert_uint_eq(counts[0], list.count);
	for (size_t i = 1; i < count_count; i++)
		ck_assert_uint_eq(counts[i], list.length);
	ck_assert_msg(!memcmp(displacements, list.displacements,
			      list.count * sizeof(displacements[0])),
		      "seed 0x%llx: the displacements differ",
		      (unsigned long long)list.seed);
}

/* Whether the constructor has made the program itself. */
static bool is_quick(const struct dtconv_type *type)
{
	return type->program;
}

/* Both ways agree, in success and in failure; whether the list went the quick one. */
static bool check_form(enum form form)
{
	struct dtconv_type *quick = NULL, *general = NULL;
	char sentence[512];

	int status = create(form, list.count, &quick);
	snprintf(sentence, sizeof(sentence), "%s", status ? t_error() : "");
	ck_assert_int_eq(create_generally(form, &general), status);
	if (status) {
		/* The block forms have other names. */
		if (form == INDEXED || form == HINDEXED)
			ck_assert_str_eq(t_error(), sentence);
		return false;
	}
	t_ok(dtconv_type_commit(quick));
	t_ok(dtconv_type_commit(general));
	bool was_quick = is_quick(quick);
	ck_assert(!is_quick(general));
	check_program(quick, general);
	check_attr(quick, general);
	check_contents(quick, form);
	dtconv_type_unref(quick);
	dtconv_type_unref(general);
	return was_quick;
}

/* ---- random lists ---------------------------------------------------------------------- */

static const char *const olds[] = {
	"byte",
	"double",
	"int",
	"resized(int, 0, 12)",
	"resized(double, 0, -24)",
	"resized(contiguous(3, double), 0, -24)",
	"resized(short, -7, 20)",
	"contiguous(3, double)",
	"resized(contiguous(512, byte), 0, 524288)",
	"hvector(1, 5, 9, short)",
	"indexed([2], [3], int)",
	"contiguous(1048576, byte)",
	"resized(char, 0, 0)",
	"vector(3, 1, 2, int)",
};

#define OLDS (int)(sizeof(olds) / sizeof(olds[0]))

/* How displacements follow each other. */
enum order {
	SHUFFLED,
	ASCENDING,
	TOUCHING_SELDOM,
	TOUCHING_OFTEN,
	TOUCHING_ALWAYS,
	DUPLICATES,
	EQUAL_STEPS,
	NEARLY_EQUAL_STEPS,
	ODD_AT_THE_END,
	WIDE,
	EXTREME,
	ORDERS
};

static ptrdiff_t next_displacement(struct random_stream *random, enum order order,
				   size_t i, ptrdiff_t touching)
{
	const ptrdiff_t before = i ? list.displacements[i - 1] : 0;
	const bool last = i + 1 == list.count;

	switch (order) {
	case SHUFFLED:
		return random_between(random, -100000, 100000) * 16;
	case ASCENDING:
		return before + touching + random_between(random, 1, 9);
	case TOUCHING_SELDOM:
		return before + touching + (random_once_in(random, 5) ? 0 : 4);
	case TOUCHING_OFTEN:
		return before + touching + (random_once_in(random, 5) ? 4 : 0);
	case TOUCHING_ALWAYS:
		return before + touching;
	case DUPLICATES:
		return 8 * random_between(random, 0, 3);
	case EQUAL_STEPS:
		return 24 * (ptrdiff_t)i;
	case NEARLY_EQUAL_STEPS:
		return 24 * (ptrdiff_t)i + last;
	case ODD_AT_THE_END:
		return random_between(random, -1000, 1000) * 4096 + last;
	case WIDE:
		return random_between(random, PTRDIFF_MIN / 4096, PTRDIFF_MAX / 4096);
	default:
		return random_once_in(random, 3)   ? PTRDIFF_MIN
		       : random_once_in(random, 2) ? PTRDIFF_MAX
						   : random_between(random, -5, 5);
	}
}

static size_t random_count(struct random_stream *random)
{
	static const size_t mosts[] = { 12, 40, 300, 5000, MOST };

	return 1 + random_below(random, mosts[random_below(random, 5)]);
}

/* In units of what a displacement counts. */
static void make_list(struct random_stream *random, enum order order, enum form form)
{
	const struct dtconv_type_attr old = t_attr(list.old);
	const ptrdiff_t unit = is_in_elements(form) ? old.extent : 1;

	list.count = random_count(random);
	list.length = random_once_in(random, 2) ? 1 : random_below(random, 70);
	for (size_t i = 0; i < list.count; i++)
		list.lengths[i] = list.length;
	const ptrdiff_t bytes = (ptrdiff_t)(list.length * old.size);
	const ptrdiff_t touching = unit ? bytes / unit : 0;
	for (size_t i = 0; i < list.count; i++)
		list.displacements[i] = next_displacement(random, order, i, touching);
}

START_TEST(both_ways_agree)
{
	size_t quick = 0;

	for (uint64_t round = 0; round < 100; round++) {
		list.seed = random_seed((uint64_t)_i << 32 | round);
		struct random_stream random = { list.seed };
		const enum form form = (enum form)random_below(&random, FORMS);

		list.old = t_parse(olds[random_below(&random, OLDS)]);
		make_list(&random, (enum order)_i, form);
		quick += check_form(form);
		dtconv_type_unref(list.old);
	}
	if (_i == SHUFFLED || _i == ASCENDING || _i == TOUCHING_SELDOM)
		ck_assert_uint_gt(quick, 20);
	if (_i == EQUAL_STEPS || _i == TOUCHING_ALWAYS)
		ck_assert_uint_eq(quick, 0);
}
END_TEST

/* The program of the list by instructions for so many displacements at a time; NULL: the general way. */
static struct dtc_program *program_by(unsigned at_once)
{
	const struct dtc_equal_blocks blocks = { .context = t_context,
						 .count = list.count,
						 .displacements = list.displacements,
						 .unit = 8,
						 .bytes = 8 * list.length,
						 .at_once = at_once };
	struct dtc_equal_list made;
	size_t bytes;

	ck_assert(dtc_equal_blocks_list(&blocks, &made, &bytes));
	return made.program;
}

static bool is_same_program(const struct dtc_program *one,
			    const struct dtc_program *other)
{
	if (!one || !other)
		return one == other;
	return one->table_bytes == other->table_bytes &&
	       !memcmp(one->ops, other->ops, sizeof(one->ops[0]) + one->table_bytes);
}

START_TEST(all_instructions_agree)
{
	for (uint64_t round = 0; round < 300; round++) {
		list.seed = random_seed((uint64_t)_i << 40 | round);
		struct random_stream random = { list.seed };

		list.old = t_parse("double");
		make_list(&random, (enum order)_i, INDEXED_BLOCK);
		struct dtc_program *one = program_by(1);
		struct dtc_program *four = program_by(4);
		struct dtc_program *eight = program_by(8);
		ck_assert_msg(is_same_program(one, four), "by four, seed %#llx",
			      (unsigned long long)list.seed);
		ck_assert_msg(is_same_program(one, eight), "by eight, seed %#llx",
			      (unsigned long long)list.seed);
		dtc_program_unref(one);
		dtc_program_unref(four);
		dtc_program_unref(eight);
		dtconv_type_unref(list.old);
	}
}
END_TEST

/* ---- where the quick way ends ------------------------------------------------------------ */

static void fill(size_t count, size_t length, const char *old)
{
	list.count = count;
	list.length = length;
	list.old = t_parse(old);
	for (size_t i = 0; i < count; i++) {
		list.lengths[i] = length;
		list.displacements[i] = (ptrdiff_t)((i * i % 1009) * 64 * length);
	}
}

static bool check_hindexed_block(void)
{
	bool quick = check_form(HINDEXED_BLOCK);

	dtconv_type_unref(list.old);
	return quick;
}

START_TEST(nine_blocks_are_a_list)
{
	fill(8, 4, "byte");
	ck_assert(!check_hindexed_block());
	fill(9, 4, "byte");
	ck_assert(check_hindexed_block());
}
END_TEST

/* The last displacement decides which power of two divides all. */
START_TEST(the_power_of_two_is_foretold_wrongly)
{
	for (unsigned shift = 0; shift < 20; shift++) {
		fill(10001, 1, "int");
		for (size_t i = 0; i < list.count; i++)
			list.displacements[i] *= 1 << 10;
		list.displacements[10000] = (ptrdiff_t)1 << shift;
		ck_assert(check_hindexed_block());
	}
}
END_TEST

#if PTRDIFF_MAX > INT32_MAX
/* Entries fit into 31 bits or the list goes the general way; blocks lie in both directions. */
START_TEST(the_farthest_entries)
{
	for (int shift = 0; shift < 18; shift++) {
		const ptrdiff_t unit = (ptrdiff_t)1 << shift;
		const ptrdiff_t far = unit << 30;

		for (int sign = -1; sign <= 1; sign += 2)
			for (ptrdiff_t more = -1; more <= 1; more++) {
				fill(777, 1, "byte");
				for (size_t i = 0; i < list.count; i++)
					list.displacements[i] = unit * (ptrdiff_t)(i * i);
				list.displacements[700] = sign * far + more * unit;
				bool fits = shift <= 15 &&
					    (sign < 0 ? more >= 0 : more < 0);
				ck_assert_int_eq(check_hindexed_block(), fits);
			}
	}
}
END_TEST
#endif

/* Products of entries and an odd extent need more bits. */
START_TEST(multiplied_entries)
{
	for (unsigned bits = 4; bits < 31; bits++) {
		fill(100, 1, "resized(int, 0, 12)");
		list.displacements[50] = ((ptrdiff_t)1 << bits) - 1;
		list.displacements[51] = 1;
		check_form(INDEXED_BLOCK);
		dtconv_type_unref(list.old);
	}
}
END_TEST

/* Up to three in four blocks may touch the one before. */
START_TEST(blocks_that_touch)
{
	size_t quick = 0;

	for (size_t touching = 0; touching < 300; touching += 7) {
		fill(300, 200, "byte");
		for (size_t i = 0; i < touching; i++)
			list.displacements[(3 * i + 1) % 300] =
				list.displacements[3 * i % 300] + 200;
		quick += check_hindexed_block();
	}
	ck_assert_uint_gt(quick, 3);
}
END_TEST

/* The length of the blocks in the table of the list's 300 of @bytes; 0: unlike runs. */
static uint64_t table_of_list(size_t bytes)
{
	struct dtconv_type *type;
	uint64_t uniform;

	t_ok(dtconv_type_create_hindexed_block(300, bytes, list.displacements, list.old,
					       &type));
	t_ok(dtconv_type_commit(type));
	const struct dtc_program *program = program_of(type);
	ck_assert_uint_eq(program->op_count, 1);
	uniform = dtc_program_table(program, program->ops)->uniform;
	dtconv_type_unref(type);
	dtconv_type_unref(list.old);
	return uniform;
}

/* The same of a list of pages, of which all but each @apart-th touch the one before. */
static uint64_t table_of_pages(size_t apart)
{
	fill(300, 200, "byte");
	for (size_t i = 1; i < 300; i++)
		list.displacements[i] =
			list.displacements[i - 1] + (i % apart ? 200 : 500);
	return table_of_list(200);
}

/* The same of short blocks: runs of @one and @other blocks in turn. */
static uint64_t table_of_runs(size_t one, size_t other)
{
	fill(300, 16, "byte");
	for (size_t i = 1; i < 300; i++)
		list.displacements[i] = list.displacements[i - 1] +
					(i % (one + other) && i % (one + other) != one
						 ? 16
						 : 48 + 16 * (ptrdiff_t)(i * i % 7));
	return table_of_list(16);
}

/* Pages stay apart unless four would merge. */
START_TEST(pages_that_touch)
{
	ck_assert_uint_eq(table_of_pages(2), 200);
	ck_assert_uint_eq(table_of_pages(4), 200);
	/* All runs have eight pages, but for the last one. */
	ck_assert_uint_eq(table_of_pages(8), 0);
}
END_TEST

/* Short ones, too, but those that make runs of one length. */
START_TEST(short_blocks_that_touch)
{
	ck_assert_uint_eq(table_of_runs(1, 2), 16);
	ck_assert_uint_eq(table_of_runs(2, 3), 16);
	ck_assert_uint_eq(table_of_runs(3, 4), 16);
	ck_assert_uint_eq(table_of_runs(2, 2), 32);
	ck_assert_uint_eq(table_of_runs(3, 3), 48);
	/* One merges into fewer than a quarter. */
	ck_assert_uint_eq(table_of_runs(4, 5), 0);
}
END_TEST

/* A committed struct of indexed blocks of an int or two, one array after the other. */
static struct dtconv_type *arrays(const char *text)
{
	struct dtconv_type *type = t_parse(text);

	t_ok(dtconv_type_commit(type));
	return type;
}

#define PICKED "[0,3,7,20,33,40,51,60,70,80]"
#define OTHERS "[0,3,7,20,33,40,51,60,70,81]"

/* Arrays of which one list picks elements share a table; others do not. */
START_TEST(equal_tables_are_one)
{
	struct dtconv_type *same =
		arrays("struct([1,1,1], [0,400,800], [indexed_block(1, " PICKED
		       ", int),indexed_block(1, " PICKED ", int),indexed_block(1, " PICKED
		       ", int)])");
	struct dtconv_type *unlike =
		arrays("struct([1,1,1], [0,400,800], [indexed_block(1, " PICKED
		       ", int),indexed_block(1, " OTHERS ", int),indexed_block(2, " OTHERS
		       ", int)])");
	const struct dtc_program *one = program_of(same), *many = program_of(unlike);

	ck_assert_uint_eq(one->op_count, 3);
	ck_assert_uint_eq(one->table_bytes,
			  dtc_program_table(one, one->ops)->table_bytes);
	ck_assert_uint_eq(one->ops[2].table, one->ops[0].table);
	ck_assert_uint_eq(many->op_count, 3);
	ck_assert_uint_gt(many->table_bytes, 2 * one->table_bytes);
	ck_assert_uint_ne(many->ops[1].table, many->ops[0].table);
	ck_assert_uint_ne(many->ops[2].table, many->ops[1].table);
	t_verify(same);
	t_verify(unlike);
	dtconv_type_unref(same);
	dtconv_type_unref(unlike);
}
END_TEST

/* A type that was never committed is a child like any other, and so is its duplicate. */
START_TEST(as_a_child)
{
	struct dtconv_type *child = NULL, *quick = NULL, *general = NULL, *other = NULL;

	fill(500, 3, "int");
	t_ok(create(HINDEXED_BLOCK, list.count, &child));
	t_ok(create_generally(HINDEXED_BLOCK, &other));
	t_ok(dtconv_type_create_hvector(7, 2, 1 << 20, child, &quick));
	t_ok(dtconv_type_create_hvector(7, 2, 1 << 20, other, &general));
	dtconv_type_unref(child);
	dtconv_type_unref(other);
	t_ok(dtconv_type_commit(quick));
	t_ok(dtconv_type_commit(general));
	check_program(quick, general);
	dtconv_type_unref(quick);
	dtconv_type_unref(general);
	dtconv_type_unref(list.old);
}
END_TEST

START_TEST(bytes_are_those_of_the_oracle)
{
	for (enum form form = 0; form < FORMS; form++) {
		struct dtconv_type *type = NULL;

		fill(333, 5, "resized(short, 0, 2)");
		list.displacements[7] = -4096;
		list.displacements[8] = -4096 + (is_in_elements(form) ? 5 : 10);
		t_ok(create(form, list.count, &type));
		ck_assert(is_quick(type));
		t_ok(dtconv_type_commit(type));
		t_verify(type);
		dtconv_type_unref(type);
		dtconv_type_unref(list.old);
	}
}
END_TEST

/* ---- errors ---------------------------------------------------------------------------- */

START_TEST(sizes_and_bounds_that_overflow)
{
	struct dtconv_type *type = NULL;

	for (enum form form = 0; form < FORMS; form++) {
		fill(100, SIZE_MAX / 50, "byte");
		for (size_t i = 0; i < list.count; i++)
			list.displacements[i] = (ptrdiff_t)(i * i);
		t_status(create(form, list.count, &type), DTCONV_ERR_OVERFLOW);
		dtconv_type_unref(list.old);
		fill(100, 1, "double");
		list.displacements[99] = PTRDIFF_MAX - 3;
		t_status(create(form, list.count, &type), DTCONV_ERR_OVERFLOW);
		dtconv_type_unref(list.old);
	}
	ck_assert_ptr_null(type);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("equal blocks");
	TCase *tcase = t_case(suite, "equal blocks");

	tcase_set_timeout(tcase, 120);
	tcase_add_loop_test(tcase, both_ways_agree, 0, ORDERS);
	tcase_add_loop_test(tcase, all_instructions_agree, 0, ORDERS);
	tcase_add_test(tcase, nine_blocks_are_a_list);
	tcase_add_test(tcase, the_power_of_two_is_foretold_wrongly);
#if PTRDIFF_MAX > INT32_MAX
	tcase_add_test(tcase, the_farthest_entries);
#endif
	tcase_add_test(tcase, multiplied_entries);
	tcase_add_test(tcase, blocks_that_touch);
	tcase_add_test(tcase, pages_that_touch);
	tcase_add_test(tcase, short_blocks_that_touch);
	tcase_add_test(tcase, equal_tables_are_one);
	tcase_add_test(tcase, as_a_child);
	tcase_add_test(tcase, bytes_are_those_of_the_oracle);
	tcase_add_test(tcase, sizes_and_bounds_that_overflow);
	return t_run(suite);
}
