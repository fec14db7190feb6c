/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Maps of layouts against the oracle: the place of every unit, what a map's form says, and the order of
 * the sorted one.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "datatype/type.h"
#include "kernels/launch/map.h"
#include "support/fixture.h"
#include "support/layouts.h"
#include "support/ref_typemap.h"
#include "support/type_choices.h"

#define RANDOM_TYPES      2000
#define MANY_RANDOM_TYPES 100000

/* ---- one map ------------------------------------------------------------------------------- */

/* A type, where each byte of an instance lies, and its map. */
struct mapped {
	struct dtconv_type *type;
	const struct dtc_layout *layout;
	ptrdiff_t *places;
	struct dtc_gpu_map_form form;
	int32_t *disps;
};

static bool open_mapped(struct mapped *mapped, struct dtconv_type *type)
{
	struct ref_typemap map = { 0 };

	*mapped = (struct mapped){ .type = type };
	if (dtconv_type_commit(type))
		return false;
	mapped->layout = dtc_type_layout(type);
	size_t size = (size_t)mapped->layout->size;
	if (!size || ref_typemap_build(type, DTCONV_PADDING_STRUCT, 0, &map))
		return false;
	mapped->places = calloc(size, sizeof(*mapped->places));
	mapped->disps = calloc(size, sizeof(*mapped->disps));
	ck_assert(mapped->places && mapped->disps);
	ref_typemap_displacements(&map, 1, mapped->places);
	ref_typemap_free(&map);
	ck_assert(dtc_gpu_map_of_layout(mapped->layout, &mapped->form));
	return true;
}

static void close_mapped(struct mapped *mapped)
{
	free(mapped->places);
	free(mapped->disps);
	dtconv_type_unref(mapped->type);
}

/* ---- what it says ---------------------------------------------------------------------------- */

/* Every unit of every period is where its bytes are. */
static void check_units(struct mapped *mapped, uint32_t unit)
{
	const struct dtc_gpu_map_form *form = &mapped->form;
	uint64_t units = dtc_gpu_map_units(form, unit);

	ck_assert_uint_eq(units * unit * form->periods, mapped->layout->size);
	dtc_gpu_map_write(mapped->layout, unit, mapped->disps);
	for (uint64_t period = 0; period < form->periods; period++)
		for (uint64_t i = 0; i < units * unit; i++)
			ck_assert_int_eq(mapped->places[period * units * unit + i],
					 (int64_t)period * form->stride +
						 (int64_t)mapped->disps[i / unit] *
							 (int64_t)unit +
						 (int64_t)(i % unit));
}

static void check_form(struct mapped *mapped)
{
	const struct dtc_gpu_map_form *form = &mapped->form;
	int64_t unit = (int64_t)form->unit, lowest = INT64_MAX, highest = INT64_MIN;
	bool ascends = true;

	dtc_gpu_map_write(mapped->layout, form->unit, mapped->disps);
	for (uint64_t i = 0; i < form->count; i++) {
		ascends &= i == 0 || mapped->disps[i] > mapped->disps[i - 1];
		lowest = DTC_MIN(lowest, mapped->disps[i] * unit);
		highest = DTC_MAX(highest, mapped->disps[i] * unit);
	}
	ck_assert_int_eq(form->ascends, ascends);
	ck_assert_int_eq(form->lowest, lowest);
	ck_assert_int_eq(form->highest, highest);
	ck_assert_int_eq(form->apart,
			 llabs((long long)form->stride) >= highest - lowest + unit);
	ck_assert_int_eq(form->stride % unit, 0);
	ck_assert_int_eq(mapped->layout->extent % unit, 0);
}

/* ---- sorting ----------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
	const struct dtc_gpu_sorted_unit *one = a, *other = b;

	if (one->disp != other->disp)
		return one->disp < other->disp ? -1 : 1;
	return one->index < other->index ? -1 : 1;
}

static void check_sorted(const int32_t disps[], uint32_t count)
{
	struct dtc_gpu_sorted_unit *sorted = calloc(3 * (size_t)count, sizeof(*sorted));
	struct dtc_gpu_sorted_unit *expected = sorted + 2 * (size_t)count;
	bool distinct = true;

	ck_assert_ptr_nonnull(sorted);
	for (uint32_t i = 0; i < count; i++)
		expected[i] = (struct dtc_gpu_sorted_unit){ disps[i], i };
	qsort(expected, count, sizeof(*expected), compare);
	for (uint32_t i = 1; i < count; i++)
		distinct &= expected[i].disp != expected[i - 1].disp;
	ck_assert_int_eq(dtc_gpu_map_sort(disps, count, sorted, sorted + count),
			 distinct);
	ck_assert(!memcmp(sorted, expected, count * sizeof(*sorted)));
	free(sorted);
}

/* All that there is to check; false if the type has no bytes. */
static bool check(struct dtconv_type *type)
{
	struct mapped mapped;
	bool opened = open_mapped(&mapped, type);

	if (opened) {
		check_form(&mapped);
		check_sorted(mapped.disps, (uint32_t)mapped.form.count);
		for (uint32_t unit = mapped.form.unit;
		     unit && dtc_gpu_map_fits(&mapped.form, unit); unit /= 2)
			check_units(&mapped, unit);
	}
	close_mapped(&mapped);
	return opened;
}

START_TEST(every_layout_is_mapped)
{
	check(fixture_type(layouts[_i].text));
}
END_TEST

START_TEST(random_types_are_mapped)
{
	struct choices choices = fixture_choices((uint64_t)_i + 5000);

	check(type_choose(fixture_context, &choices, &type_bounds_small));
}
END_TEST

/* Equal blocks: in order, touching here and there, in any order, or as far apart as a map allows and farther. */
enum { EQUAL_MOST = 400 };

static ptrdiff_t choose_place(struct choices *choices, int kind, ptrdiff_t bytes,
			      ptrdiff_t before)
{
	if (kind == 0)
		return before + bytes * choose_between(choices, 1, 3);
	if (kind == 1)
		return bytes * choose_between(choices, -1000, 1000);
	/* A unit has at most 16 bytes. */
	return chance(choices, 20)
		       ? DTC_MIN(bytes, (ptrdiff_t)16) * choose_between(choices, -3, 3) *
				 ((ptrdiff_t)1 << 29)
		       : before + bytes;
}

START_TEST(equal_blocks_are_mapped)
{
	struct dtconv_type *byte = dtconv_type_predefined(fixture_context, DTCONV_BYTE);
	struct choices choices = fixture_choices((uint64_t)_i + 9000);
	ptrdiff_t places[EQUAL_MOST];

	for (int round = 0; round < 60; round++) {
		const size_t count = 9 + choose(&choices, EQUAL_MOST - 9);
		const size_t bytes = (size_t)1 << choose(&choices, 7);
		const size_t length = bytes * (1 + choose(&choices, 2));
		struct dtconv_type *type;

		for (size_t i = 0; i < count; i++)
			places[i] = choose_place(&choices, _i, (ptrdiff_t)bytes,
						 i ? places[i - 1] : 0);
		fixture_ok(dtconv_type_create_hindexed_block(count, length, places, byte,
							     &type));
		check(type);
	}
	dtconv_type_unref(byte);
}
END_TEST

/* ---- single forms ------------------------------------------------------------------------------ */

static const struct {
	const char *text;
	uint32_t unit;
	uint64_t count, periods;
	bool ascends, apart;
} forms[] = {
	{ "double", 8, 1, 1, true, true },
	{ "contiguous(6, double)", 16, 3, 1, true, true },
	{ "indexed_block(1, [5, 2, 9], double)", 8, 3, 1, false, true },
	{ "indexed_block(1, [5, 2, 5], double)", 8, 3, 1, false, true },
	{ "indexed([2, 1], [0, 5], int)", 4, 3, 1, true, true },
	{ "resized(indexed([2, 1], [0, 5], int), 0, 4)", 4, 3, 1, true, false },
	{ "resized(indexed([2, 1], [0, 5], int), 0, 22)", 2, 6, 1, true, false },
	{ "resized(indexed([2, 1], [0, 5], int), 0, 26)", 2, 6, 1, true, true },
	/* The iteration of an outermost loop that instances continue is a period. */
	{ "contiguous(9, resized(indexed([2, 1], [0, 5], int), 0, 28))", 4, 3, 9, true,
	  true },
	{ "contiguous(9, resized(struct([1, 1], [8, 0], [int, int]), 0, 16))", 4, 2, 9,
	  false, true },
	{ "resized(contiguous(9, resized(indexed([2, 1], [0, 5], int), 0, 28)), 0, 1000)",
	  4, 27, 1, true, true },
	{ "struct([1, 1], [0, 800], [vector(9, 1, 2, double), vector(7, 1, 3, int)])", 4,
	  25, 1, true, true },
	/* The step back is longer than a signed number of 32 bits. */
	{ "hindexed_block(1, [0, 3, 7, 1610612736, 1610612739, -1610612736, -1610612733, "
	  "-1610612729, -1610612720], byte)",
	  1, 9, 1, false, true },
};

START_TEST(forms_say_what_a_map_is_like)
{
	struct dtconv_type *type = fixture_type(forms[_i].text);
	struct dtc_gpu_map_form form;

	ck_assert(dtc_gpu_map_of_layout(dtc_type_layout(type), &form));
	ck_assert_uint_eq(form.unit, forms[_i].unit);
	ck_assert_uint_eq(form.count, forms[_i].count);
	ck_assert_uint_eq(form.periods, forms[_i].periods);
	ck_assert_int_eq(form.ascends, forms[_i].ascends);
	ck_assert_int_eq(form.apart, forms[_i].apart);
	dtconv_type_unref(type);
}
END_TEST

/* Too many units; displacements that do not fit 32 bits; shorter units of which there are too many. */
START_TEST(large_layouts_have_no_map)
{
	static const struct {
		const char *text;
		bool mapped, halved;
	} large[] = {
		{ "indexed([2097151, 1], [0, 2097160], double)", true, false },
		{ "indexed([2097152, 1], [0, 2097160], double)", false, false },
		{ "hindexed([1, 1], [0, 17179869176], double)", true, false },
		{ "hindexed([1, 1], [0, 17179869184], double)", false, false },
		{ "hindexed([1, 1], [0, 8589934584], double)", true, true },
		{ "hindexed([1, 1], [0, 8589934592], double)", true, false },
		{ "hindexed([1, 1], [-17179869184, 8], double)", true, false },
		{ "hindexed([1, 1], [-17179869192, 8], double)", false, false },
	};
	struct dtconv_type *type = fixture_type(large[_i].text);
	struct dtc_gpu_map_form form;

	ck_assert_int_eq(dtc_gpu_map_of_layout(dtc_type_layout(type), &form),
			 large[_i].mapped);
	ck_assert_uint_eq(form.unit, 8);
	ck_assert_uint_eq(form.count, dtc_type_layout(type)->size / 8);
	if (large[_i].mapped)
		ck_assert_int_eq(dtc_gpu_map_fits(&form, 4), large[_i].halved);
	dtconv_type_unref(type);
}
END_TEST

#define LARGE 8

/* Every digit of a displacement decides, the sign too, and a radix sort's buffers change places. */
START_TEST(units_are_sorted_by_all_their_bits)
{
	struct choices choices = fixture_choices((uint64_t)_i);
	static int32_t disps[3000];
	uint32_t count = 1 + (uint32_t)choose(&choices, 3000);
	unsigned shift = (unsigned)choose(&choices, 25);

	for (uint32_t i = 0; i < count; i++) {
		uint32_t low = (uint32_t)choose(&choices, 4096);

		disps[i] = (int32_t)((low << shift) ^ (low << 28));
	}
	check_sorted(disps, count);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("gpu maps");
	TCase *forms_case = fixture_case(suite, "forms", 30);
	TCase *units = fixture_case(suite, "units", 120);

	tcase_add_loop_test(forms_case, forms_say_what_a_map_is_like, 0,
			    (int)DTC_ARRAY_LENGTH(forms));
	tcase_add_loop_test(forms_case, large_layouts_have_no_map, 0, LARGE);
	tcase_add_loop_test(forms_case, units_are_sorted_by_all_their_bits, 0, 50);
	tcase_add_loop_test(units, every_layout_is_mapped, 0, layout_count);
	tcase_add_loop_test(units, equal_blocks_are_mapped, 0, 3);
	tcase_add_loop_test(units, random_types_are_mapped, 0,
			    fixture_everything() ? MANY_RANDOM_TYPES : RANDOM_TYPES);
	return fixture_run(suite);
}
