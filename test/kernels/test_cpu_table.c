/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tables of runs, every set of kernels against a byte loop: every form of the two columns, equal
 * runs of every length and unlike ones, any part of a table, both directions.
 */
#include "config.h"

#include <stdio.h>

#include "base/base.h"
#include "datatype/program.h"
#include "kernels/moves.h"
#include "support/fixture.h"

#define ENTRIES 21

/* The most entries that are moved; neither number is even, see scaled_disp_of. */
#define MOST 531

/* Tables of so many entries and more, far apart, are prefetched. Those behind the first ones are not moved. */
#define FAR_ENTRIES 8192

/* A table's form. */
struct form {
	bool wide, wide_prefix;
	uint8_t shift, prefix_shift;
	bool far;      /* prefetched */
	size_t length; /* of every entry; 0: unlike ones */
	size_t entries; /* 0: ENTRIES */
};

/* One call: part of a table, one way. */
struct call {
	struct dtc_table *table;
	uint64_t first, count;
	enum dtc_direction direction;
	bool absolute; /* displacements are addresses */
	bool stream;   /* as if the target were larger than the caches */
};

static struct moves moves;

/* ---- tables -------------------------------------------------------------------------------- */

/* A table and its columns, as a program has them. */
static union {
	struct dtc_table header;
	uint64_t words[sizeof(struct dtc_table) / 8 + 2 * FAR_ENTRIES + 1];
} storage;

static size_t entries_of(const struct form *form)
{
	return form->entries ? form->entries : ENTRIES;
}

static size_t count_of(const struct form *form)
{
	return form->far ? FAR_ENTRIES : entries_of(form);
}

static size_t length_of(const struct form *form, size_t entry)
{
	static const size_t lengths[] = { 3,   1, 8, 16, 17,  5,  64, 33,
					  100, 2, 4, 32, 300, 65, 12 };

	if (form->length)
		return form->length;
	return lengths[entry % DTC_ARRAY_LENGTH(lengths)] << form->prefix_shift;
}

/* Entries lie in an order of their own, on both sides of displacement 0, with gaps. */
static int64_t scaled_disp_of(const struct form *form, size_t entry)
{
	size_t longest = form->length ? form->length : (size_t)300 << form->prefix_shift;
	int64_t pitch = (int64_t)(longest >> form->shift) + 1;

	return ((int64_t)(entry * 8 % entries_of(form)) - 7) * pitch;
}

static void write_displacements(const struct form *form)
{
	int32_t *narrow = (int32_t *)(&storage.header + 1);
	int64_t *wide = (int64_t *)(&storage.header + 1);

	for (size_t i = 0; i < entries_of(form); i++)
		if (form->wide)
			wide[i] = scaled_disp_of(form, i);
		else
			narrow[i] = (int32_t)scaled_disp_of(form, i);
}

static void write_prefixes(const struct form *form)
{
	uint64_t *wide = &storage.words[sizeof(struct dtc_table) / 8 + count_of(form)];
	uint32_t *narrow = (uint32_t *)wide;
	uint64_t prefix = 0;

	for (size_t i = 0; i <= count_of(form); i++) {
		if (form->wide_prefix)
			wide[i] = prefix;
		else
			narrow[i] = (uint32_t)prefix;
		prefix += length_of(form, i) >> form->prefix_shift;
	}
}

static struct dtc_table *make_table(const struct form *form)
{
	storage.header = (struct dtc_table){
		.count = count_of(form),
		.uniform = form->length,
		.prefix_offset = sizeof(struct dtc_table) + 8 * count_of(form),
		.table_bytes = sizeof(storage),
		.span = form->far ? UINT64_C(1) << 40 : 1000,
		.disp_wide = form->wide,
		.disp_shift = form->shift,
		.prefix_wide = form->wide_prefix,
		.prefix_shift = form->prefix_shift,
	};
	write_displacements(form);
	write_prefixes(form);
	return &storage.header;
}

/* ---- calls --------------------------------------------------------------------------------- */

/* Displacements over a NULL base; the second call of it takes them back. */
static void displace(struct dtc_table *table, uintptr_t by)
{
	int64_t *wide = (int64_t *)(table + 1);

	for (size_t i = 0; i < ENTRIES; i++)
		wide[i] = (int64_t)((uint64_t)wide[i] + by);
}

static void run_table(const struct dtc_cpu_kernels *cpu, const struct moves *of, char *to,
		      const char *from)
{
	const struct call *call = of->arg;
	bool pack = call->direction == DTC_PACK;
	uintptr_t user = pack ? (uintptr_t)from : (uintptr_t)to;
	const struct dtc_entries entries = {
		.table = call->table,
		.first = call->first,
		.count = call->count,
		.packed = pack ? to : (char *)(uintptr_t)from,
		.user = call->absolute ? NULL : (char *)user,
		.direction = call->direction,
		.stream = !call->stream ? DTC_STREAM_NONE
			  : pack        ? DTC_STREAM_PACKED
					: DTC_STREAM_USER,
	};

	if (call->absolute)
		displace(call->table, user);
	cpu->table(&entries);
	if (call->absolute)
		displace(call->table, 0 - user);
}

static void set_call(const struct form *form, const struct call *call)
{
	ptrdiff_t packed = 0;

	moves_clear(&moves);
	moves.arg = call;
	for (uint64_t i = call->first; i < call->first + call->count; i++) {
		size_t length = length_of(form, (size_t)i);
		ptrdiff_t user = (ptrdiff_t)(scaled_disp_of(form, (size_t)i) *
					     ((int64_t)1 << form->shift));

		if (call->direction == DTC_PACK)
			moves_add(&moves, packed, user, length);
		else
			moves_add(&moves, user, packed, length);
		packed += (ptrdiff_t)length;
	}
	snprintf(moves.text, sizeof(moves.text),
		 "%s%s entries %d to %d of %zu bytes, %s << %d%s, prefixes %s << %d",
		 call->stream ? "stream: " : "", call->direction == DTC_PACK ? "pack" : "unpack", (int)call->first,
		 (int)(call->first + call->count), form->length,
		 form->wide ? "wide" : "narrow", form->shift,
		 form->far ? ", prefetched" : "", form->wide_prefix ? "wide" : "narrow",
		 form->prefix_shift);
}

static void check_range(const struct form *form, uint64_t first, uint64_t count)
{
	for (int i = 0; i < 4; i++) {
		const struct call call = { .table = make_table(form),
					   .first = first,
					   .count = count,
					   .direction = i & 1 ? DTC_UNPACK : DTC_PACK,
					   .stream = i & 2 };

		set_call(form, &call);
		moves_check(&moves);
	}
}

/* Whole tables, and parts of any number of entries at either end and inside. */
static void check_form(const struct form *form)
{
	for (uint64_t count = 0; count <= ENTRIES; count++) {
		check_range(form, 0, count);
		check_range(form, ENTRIES - count, count);
	}
	check_range(form, 5, 1);
	check_range(form, 3, 9);
}

/* ---- the tests ----------------------------------------------------------------------------- */

/* A form by its number: every combination of what does not depend on lengths. */
#define FORMS 32

static struct form form_of(int number)
{
	return (struct form){ .wide = number & 1,
			      .wide_prefix = number & 2,
			      .far = number & 4,
			      .shift = number & 8 ? 3 : 0,
			      .prefix_shift = number & 16 ? 2 : 0 };
}

START_TEST(unlike_runs_go_to_their_places)
{
	for (int number = 0; number < FORMS; number++) {
		struct form form = form_of(number);

		check_form(&form);
	}
}
END_TEST

START_TEST(equal_runs_of_every_length_go_to_their_places)
{
	static const size_t longer[] = { 128, 129, 255,  256,  300,
					 512, 513, 1024, 1025, 1500 };

	for (int number = 0; number < FORMS; number++) {
		struct form form = form_of(number);

		for (form.length = 1; form.length <= 100; form.length++) {
			check_range(&form, 0, ENTRIES);
			check_range(&form, 2, 11);
		}
		for (size_t i = 0; i < DTC_ARRAY_LENGTH(longer); i++) {
			form.length = longer[i];
			check_range(&form, 1, 7);
		}
	}
}
END_TEST

START_TEST(any_part_of_equal_runs_goes_to_its_places)
{
	static const size_t lengths[] = { 1, 4, 8, 12, 16, 24, 32, 40, 64 };

	for (size_t i = 0; i < DTC_ARRAY_LENGTH(lengths); i++)
		for (int number = 0; number < FORMS; number++) {
			struct form form = form_of(number);

			form.length = lengths[i];
			check_form(&form);
		}
}
END_TEST

/* Words in the displacements' own unit, few and many: some processors gather and scatter them. */
START_TEST(words_go_to_their_places)
{
	for (uint8_t shift = 2; shift <= 3; shift++) {
		struct form form = { .shift = shift, .length = (size_t)1 << shift };

		check_form(&form);
		form.entries = MOST;
		for (uint64_t count = MOST - 25; count <= MOST; count++)
			check_range(&form, MOST - count, count);
		check_range(&form, 100, 3);
		form.far = true;
		for (uint64_t count = 0; count <= MOST; count += count < 90 ? 1 : 37)
			check_range(&form, MOST - count, count);
	}
}
END_TEST

/* Runs of 32 bytes to 9600, on average long enough for streams. */
START_TEST(long_runs_are_streamed)
{
	const struct form form = { .prefix_shift = 5, .wide = _i };

	check_range(&form, 0, ENTRIES);
	check_range(&form, 3, ENTRIES - 4);
}
END_TEST

START_TEST(displacements_may_be_addresses)
{
	for (size_t length = 0; length <= 72; length += 4) {
		const struct form form = { .wide = true, .length = length };
		const struct call calls[] = {
			{ make_table(&form), 0, ENTRIES, DTC_PACK, true, false },
			{ make_table(&form), 0, ENTRIES, DTC_UNPACK, true, false },
		};

		for (size_t i = 0; i < 2; i++) {
			set_call(&form, &calls[i]);
			moves_check(&moves);
		}
	}
}
END_TEST

START_TEST(every_alignment_of_both_sides_is_the_same)
{
	for (size_t length = 0; length <= 72; length++) {
		const struct form form = { .length = length };
		const struct call calls[] = {
			{ make_table(&form), 0, 5, DTC_PACK, false, false },
			{ make_table(&form), 0, 5, DTC_UNPACK, false, false },
		};

		for (size_t i = 0; i < 2; i++) {
			set_call(&form, &calls[i]);
			moves_check_alignments(&moves, length % 8 ? 29 : 3);
		}
	}
}
END_TEST

/* Where they may be written past the caches, in lines of the packed side. */
START_TEST(words_from_memory_are_packed_at_every_alignment)
{
	const struct form form = { .shift = 3, .length = 8, .far = true };

	for (uint64_t count = 0; count <= ENTRIES; count++) {
		const struct call call = { make_table(&form), ENTRIES - count, count,
					   DTC_PACK,          false,           true };

		set_call(&form, &call);
		moves_check_alignments(&moves, 4);
	}
}
END_TEST

static void setup(void)
{
	moves_setup();
	moves.run = run_table;
}

static void teardown(void)
{
	moves_destroy(&moves);
	moves_teardown();
}

int main(void)
{
	Suite *suite = suite_create("cpu tables");
	TCase *tables = fixture_case(suite, "tables", 60);

	tcase_add_checked_fixture(tables, setup, teardown);
	tcase_add_test(tables, unlike_runs_go_to_their_places);
	tcase_add_test(tables, equal_runs_of_every_length_go_to_their_places);
	tcase_add_test(tables, any_part_of_equal_runs_goes_to_its_places);
	tcase_add_test(tables, words_go_to_their_places);
	tcase_add_loop_test(tables, long_runs_are_streamed, 0, 2);
	tcase_add_test(tables, displacements_may_be_addresses);
	tcase_add_test(tables, every_alignment_of_both_sides_is_the_same);
	tcase_add_test(tables, words_from_memory_are_packed_at_every_alignment);
	return fixture_run(suite);
}
