/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kernels between unmapped pages: each block, or each dense row of a transposition, has a page
 * of its own and begins or ends where the page does, so that a load or a store of one byte that
 * is none of the block's faults, at every block and not at the outermost only.
 */
#include "config.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/base.h"
#include "cpu_sets.h"
#include "datatype/program.h"
#include "kernels/cpu/kernels.h"
#include "support/fixture.h"
#include "support/ref_buffer.h"

#define PAGES 24

/* Mapped pages, an unmapped one before and behind each. */
static unsigned char *apart[2];

/* The same number of bytes without gaps. */
static unsigned char dense[PAGES * 1024], expected[sizeof(dense)];

static ptrdiff_t page;

/* The start of a mapped page. */
static unsigned char *page_of(const unsigned char *pages, size_t number)
{
	return (unsigned char *)(uintptr_t)pages + (2 * (ptrdiff_t)number + 1) * page;
}

static void setup(void)
{
	page = sysconf(_SC_PAGESIZE);
	for (size_t side = 0; side < 2; side++) {
		apart[side] = mmap(NULL, (size_t)(2 * PAGES + 1) * (size_t)page,
				   PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		ck_assert(apart[side] != MAP_FAILED);
		for (size_t i = 0; i < PAGES; i++)
			ck_assert_int_eq(mprotect(page_of(apart[side], i), (size_t)page,
						  PROT_READ | PROT_WRITE),
					 0);
	}
}

static void teardown(void)
{
	for (size_t side = 0; side < 2; side++)
		munmap(apart[side], (size_t)(2 * PAGES + 1) * (size_t)page);
}

/* The first of so many bytes at the beginning or at the end of the first page. */
static char *first_row(unsigned char *pages, size_t bytes, bool ends)
{
	return (char *)page_of(pages, 0) + (ends ? page - (ptrdiff_t)bytes : 0);
}

/* Every page holds what its places say. */
static void fill(unsigned char *pages, size_t rows, size_t bytes, bool ends,
		 uint64_t seed)
{
	char *row = first_row(pages, bytes, ends);

	for (size_t i = 0; i < rows; i++)
		for (size_t k = 0; k < bytes; k++)
			row[2 * page * (ptrdiff_t)i + (ptrdiff_t)k] =
				(char)ref_pattern(seed, (ptrdiff_t)(i * bytes + k));
}

/* The rows as they are, after each other. */
static void collect(unsigned char *pages, size_t rows, size_t bytes, bool ends,
		    unsigned char *to)
{
	const char *row = first_row(pages, bytes, ends);

	for (size_t i = 0; i < rows; i++)
		memcpy(to + i * bytes, row + 2 * page * (ptrdiff_t)i, bytes);
}

/* ---- blocks, by grid and by table ---------------------------------------------------------- */

#define BLOCKS 19

static void move_by_grid(const struct dtc_cpu_kernels *cpu, char *blocks, size_t bytes,
			 enum dtc_direction direction)
{
	struct dtc_grid_side user = { 0, 2 * page }, packed = { 0, (ptrdiff_t)bytes };
	bool pack = direction == DTC_PACK;
	const struct dtc_grid grid = { .to = pack ? (char *)dense : blocks,
				       .from = pack ? blocks : (char *)dense,
				       .to_strides = pack ? packed : user,
				       .from_strides = pack ? user : packed,
				       .outer = 1,
				       .inner = BLOCKS,
				       .block = bytes };

	cpu->grid(&grid);
}

static void move_by_table(const struct dtc_cpu_kernels *cpu, char *blocks, size_t bytes,
			  enum dtc_direction direction)
{
	struct {
		struct dtc_table header;
		int64_t disps[BLOCKS];
	} table = { .header = { .count = BLOCKS, .uniform = bytes, .disp_wide = 1 } };
	const struct dtc_entries entries = { .table = &table.header,
					     .count = BLOCKS,
					     .packed = (char *)dense,
					     .user = blocks,
					     .direction = direction };

	for (size_t i = 0; i < BLOCKS; i++)
		table.disps[i] = 2 * page * (int64_t)i;
	cpu->table(&entries);
}

/* The blocks' first bytes as single ones, the rest as one run. */
static void move_by_pattern(const struct dtc_cpu_kernels *cpu, char *blocks, size_t bytes,
			    enum dtc_direction direction)
{
	struct dtc_short_run runs[8];
	size_t n = 0;

	for (; n < 7 && n + 1 < bytes; n++)
		runs[n] = (struct dtc_short_run){ (int32_t)n, 1 };
	runs[n] = (struct dtc_short_run){ (int32_t)n, (uint32_t)(bytes - n) };
	const struct dtc_pattern pattern = { runs,  n + 1,  BLOCKS,        2 * page,
					     bytes, blocks, (char *)dense, direction,
					     DTC_STREAM_NONE, NULL };

	/* Refused, it would leave nothing to compare. */
	if (!cpu->pattern || !cpu->pattern(&pattern))
		move_by_grid(cpu, blocks, bytes, direction);
}

/* By numbers of 32 or 64 bits, past the caches or not. */
static struct {
	bool wide, streamed;
} list_kind;

static void move_by_list(const struct dtc_cpu_kernels *cpu, char *blocks, size_t bytes,
			 enum dtc_direction direction)
{
	uint64_t wide[BLOCKS];
	uint32_t narrow[BLOCKS];
	struct dtc_page_list list = { .numbers = narrow,
				      .wide = list_kind.wide,
				      .count = BLOCKS,
				      .stride = 2 * (size_t)page,
				      .block = bytes,
				      .packed = (char *)dense,
				      .user = blocks,
				      .direction = direction };

	for (uint32_t i = 0; i < BLOCKS; i++)
		wide[i] = narrow[i] = i;
	if (list.wide)
		list.numbers = wide;
	if (list_kind.streamed)
		list.stream = direction == DTC_PACK ? DTC_STREAM_PACKED : DTC_STREAM_USER;
	cpu->pages(&list);
	dtc_end_stream(list.stream);
}

typedef void (*move_fn)(const struct dtc_cpu_kernels *cpu, char *blocks, size_t bytes,
			enum dtc_direction direction);

static void check_pack(const struct dtc_cpu_kernels *cpu, move_fn move, size_t bytes,
		       bool ends)
{
	fill(apart[0], BLOCKS, bytes, ends, 1);
	collect(apart[0], BLOCKS, bytes, ends, expected);
	memset(dense, 0, BLOCKS * bytes);
	move(cpu, first_row(apart[0], bytes, ends), bytes, DTC_PACK);
	ck_assert_msg(memcmp(dense, expected, BLOCKS * bytes) == 0,
		      "%s kernels pack blocks of %zu bytes wrongly", cpu_set_text(cpu),
		      bytes);
}

static void check_unpack(const struct dtc_cpu_kernels *cpu, move_fn move, size_t bytes,
			 bool ends)
{
	for (size_t i = 0; i < BLOCKS * bytes; i++)
		dense[i] = ref_pattern(2, (ptrdiff_t)i);
	fill(apart[0], BLOCKS, bytes, ends, 3);
	move(cpu, first_row(apart[0], bytes, ends), bytes, DTC_UNPACK);
	collect(apart[0], BLOCKS, bytes, ends, expected);
	ck_assert_msg(memcmp(dense, expected, BLOCKS * bytes) == 0,
		      "%s kernels unpack blocks of %zu bytes wrongly", cpu_set_text(cpu),
		      bytes);
}

static void check_lengths(const struct dtc_cpu_kernels *cpu, move_fn move)
{
	for (size_t bytes = 1; bytes <= 1024; bytes += bytes < 200 ? 1 : 103)
		for (int ends = 0; ends < 2; ends++) {
			check_pack(cpu, move, bytes, ends);
			check_unpack(cpu, move, bytes, ends);
		}
}

START_TEST(grids_touch_no_byte_beside_a_block)
{
	for (int i = 0; cpu_set(i); i++)
		check_lengths(cpu_set(i), move_by_grid);
}
END_TEST

START_TEST(tables_touch_no_byte_beside_a_block)
{
	for (int i = 0; cpu_set(i); i++)
		check_lengths(cpu_set(i), move_by_table);
}
END_TEST

START_TEST(lists_touch_no_byte_beside_a_page)
{
	list_kind.wide = _i % 2;
	list_kind.streamed = _i / 2;
	for (int i = 0; cpu_set(i); i++)
		check_lengths(cpu_set(i), move_by_list);
}
END_TEST

START_TEST(patterns_touch_no_byte_beside_a_run)
{
	for (int i = 0; cpu_set(i); i++)
		check_lengths(cpu_set(i), move_by_pattern);
}
END_TEST

/* ---- many periods in a few pages ------------------------------------------------------------- */

#define FIELD_PAGES 3

/*
 * The first run begins where mapped pages do, or the last one ends where they do. False if the set refuses the
 * pattern.
 */
static bool check_field(const struct dtc_cpu_kernels *cpu, unsigned char *field,
			size_t run_count, size_t step, bool ends)
{
	const size_t run = 2, pitch = 5, field_bytes = FIELD_PAGES * (size_t)page;
	const size_t last = (run_count - 1) * pitch + run;
	const size_t periods = 1 + (field_bytes - last) / step;
	struct dtc_short_run runs[8];
	struct dtc_pattern pattern = { .runs = runs,
				       .run_count = run_count,
				       .periods = periods,
				       .user_step = (ptrdiff_t)step,
				       .packed_step = run_count * run,
				       .user = (char *)field,
				       .packed = (char *)dense };
	size_t n = 0;

	for (size_t i = 0; i < run_count; i++)
		runs[i] = (struct dtc_short_run){ (int32_t)(i * pitch), (uint32_t)run };
	if (ends)
		pattern.user += field_bytes - (periods - 1) * step - last;
	if (!cpu->pattern(&pattern))
		return false;
	for (size_t i = 0; i < periods; i++)
		for (size_t j = 0; j < run_count; j++, n += run)
			memcpy(expected + n, pattern.user + i * step + j * pitch, run);
	ck_assert_msg(memcmp(dense, expected, n) == 0,
		      "%s kernels pack %zu runs every %zu bytes wrongly",
		      cpu_set_text(cpu), run_count, step);
	pattern.direction = DTC_UNPACK;
	memset(field, 0, field_bytes);
	cpu->pattern(&pattern);
	for (n = 0; n < periods * run_count; n++)
		if (memcmp(pattern.user + n / run_count * step + n % run_count * pitch,
			   expected + n * run, run) != 0)
			ck_abort_msg("%s kernels unpack %zu runs every %zu bytes wrongly",
				     cpu_set_text(cpu), run_count, step);
	return true;
}

/* Every distance of the periods, as many runs as the sets take; answers how many patterns were taken. */
static size_t check_fields(const struct dtc_cpu_kernels *cpu, unsigned char *field)
{
	static const size_t steps[] = { 40,   48,   64,   100,  192,  256,
					1000, 2048, 4031, 4032, 4033, 4100 };
	size_t taken = 0;

	for (size_t k = 0; k < DTC_ARRAY_LENGTH(steps); k++)
		for (size_t run_count = 3; run_count <= 8; run_count++)
			for (int ends = 0; ends < 2; ends++) {
				for (ptrdiff_t at = 0; at < FIELD_PAGES * page; at++)
					field[at] = ref_pattern(4, at);
				taken += check_field(cpu, field, run_count, steps[k],
						     ends);
			}
	return taken;
}

START_TEST(patterns_touch_no_page_without_a_run)
{
	const size_t field_bytes = FIELD_PAGES * (size_t)page;
	unsigned char *all = mmap(NULL, field_bytes + 2 * (size_t)page, PROT_NONE,
				  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ck_assert(all != MAP_FAILED);
	ck_assert_int_eq(mprotect(all + page, field_bytes, PROT_READ | PROT_WRITE), 0);
	for (int i = 0; cpu_set(i); i++)
		if (cpu_set(i)->pattern)
			ck_assert_uint_gt(check_fields(cpu_set(i), all + page), 0);
	munmap(all, field_bytes + 2 * (size_t)page);
}
END_TEST

/* ---- transpositions ------------------------------------------------------------------------ */

/* Columns of @from become the rows of @to; each side has its rows on pages of their own. */
static void check_transpose(const struct dtc_cpu_kernels *cpu, size_t rows,
			    size_t columns, size_t element, bool ends)
{
	size_t from_bytes = columns * element, to_bytes = rows * element;
	const struct dtc_grid grid = { .to = first_row(apart[1], to_bytes, ends),
				       .from = first_row(apart[0], from_bytes, ends),
				       .to_strides = { (ptrdiff_t)element, 2 * page },
				       .from_strides = { 2 * page, (ptrdiff_t)element },
				       .outer = rows,
				       .inner = columns,
				       .block = element };

	fill(apart[0], rows, from_bytes, ends, 1);
	fill(apart[1], columns, to_bytes, ends, 2);
	cpu->transpose(&grid);
	collect(apart[1], columns, to_bytes, ends, dense);
	collect(apart[0], rows, from_bytes, ends, expected);
	/* Check writes down every assertion, so there is one only where one fails. */
	for (size_t i = 0; i < rows; i++)
		for (size_t j = 0; j < columns; j++)
			if (memcmp(dense + (j * rows + i) * element,
				   expected + (i * columns + j) * element, element) != 0)
				ck_abort_msg(
					"%s kernels: row %zu, column %zu of %zu x %zu "
					"elements of %zu bytes",
					cpu_set_text(cpu), i, j, rows, columns, element);
}

static void check_sizes(const struct dtc_cpu_kernels *cpu, size_t element)
{
	for (size_t rows = 1; rows <= PAGES; rows++)
		for (size_t columns = 1; columns <= PAGES; columns++) {
			check_transpose(cpu, rows, columns, element, false);
			check_transpose(cpu, rows, columns, element, true);
		}
}

START_TEST(transpositions_touch_no_byte_beside_a_row)
{
	static const size_t elements[] = { 1, 2, 4, 8, 12, 16, 24, 32 };

	for (int i = 0; cpu_set(i); i++)
		for (size_t k = 0; k < DTC_ARRAY_LENGTH(elements); k++)
			check_sizes(cpu_set(i), elements[k]);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("cpu kernels between pages");
	TCase *pages = fixture_case(suite, "pages", 60);

	tcase_add_checked_fixture(pages, setup, teardown);
	tcase_add_test(pages, grids_touch_no_byte_beside_a_block);
	tcase_add_test(pages, tables_touch_no_byte_beside_a_block);
	tcase_add_loop_test(pages, lists_touch_no_byte_beside_a_page, 0, 4);
	tcase_add_test(pages, patterns_touch_no_byte_beside_a_run);
	tcase_add_test(pages, patterns_touch_no_page_without_a_run);
	tcase_add_test(pages, transpositions_touch_no_byte_beside_a_row);
	return fixture_run(suite);
}
