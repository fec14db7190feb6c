/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writing maps: the runs of a period, cut into units.
 */
#include "config.h"

#include "map.h"

#include <string.h>

#include "base/base.h"
#include "base/checked.h"
#include "datatype/cursor.h"
#include "magic.h"

/* ---- periods ------------------------------------------------------------------------------------ */

/* The loop that all of a program is, if instances continue it, else NULL. */
static const struct dtc_op *outermost_loop(const struct dtc_layout *layout)
{
	const struct dtc_op *op = &layout->program->ops[0];

	if (op->kind == DTC_OP_LOOP && op->body + 1 == layout->program->op_count &&
	    dtc_is_product(layout->extent, op->count, op->stride))
		return op;
	return NULL;
}

static void set_period(const struct dtc_layout *layout, struct dtc_gpu_map_form *form)
{
	const struct dtc_op *loop = outermost_loop(layout);

	form->periods = loop ? loop->count : 1;
	form->stride = loop ? loop->stride : layout->extent;
}

uint64_t dtc_gpu_map_period(const struct dtc_layout *layout)
{
	const struct dtc_op *loop = outermost_loop(layout);

	return loop ? loop->unit_bytes : layout->size;
}

/* ---- units -------------------------------------------------------------------------------------- */

static uint64_t table_bits(const struct dtc_table *table, const struct dtc_op *op)
{
	uint64_t bits = UINT64_C(1) << table->disp_shift;

	if (op->kind == DTC_OP_TABLE)
		bits |= table->uniform ? table->uniform
				       : UINT64_C(1) << table->prefix_shift;
	return bits;
}

/* What a unit has to divide of one operation. Of a run, its length is all that counts. */
static uint64_t op_bits(const struct dtc_program *program, const struct dtc_op *op)
{
	uint64_t bits = (uint64_t)op->disp | op->bytes;

	if (op->kind != DTC_OP_RUN && op->kind != DTC_OP_TABLE)
		bits |= (uint64_t)op->stride | op->unit_bytes;
	if (op->kind == DTC_OP_TABLE || op->kind == DTC_OP_TABLE_LOOP)
		bits |= table_bits(dtc_program_table(program, op), op);
	return bits;
}

/* A period's stride is one of the program's, or the extent. */
uint32_t dtc_gpu_map_unit(const struct dtc_layout *layout)
{
	const struct dtc_program *program = layout->program;
	uint64_t bits = (uint64_t)layout->extent;

	for (uint32_t i = 0; i < program->op_count; i++)
		bits |= op_bits(program, &program->ops[i]);
	return dtc_gpu_alignment(bits);
}

/* ---- runs --------------------------------------------------------------------------------------- */

/* Called for each run of a period, in packed order. A constant, so that the loops below have it inline. */
typedef void (*take_fn)(void *taker, int64_t disp, uint64_t bytes);

#define INLINE static inline __attribute__((always_inline))

/* Equal blocks with narrow displacements, the lists that are new with every message. */
INLINE void take_equal(const struct dtc_table *table, int64_t disp, take_fn take,
		       void *taker)
{
	const int32_t *entries = (const int32_t *)(table + 1);
	const uint64_t count = table->count, bytes = table->uniform;
	const unsigned shift = table->disp_shift;

	for (uint64_t i = 0; i < count; i++)
		take(taker, disp + (int64_t)((uint64_t)(int64_t)entries[i] << shift),
		     bytes);
}

INLINE void take_table(const struct dtc_table *table, int64_t disp, take_fn take,
		       void *taker)
{
	if (table->uniform && !table->disp_wide) {
		take_equal(table, disp, take, taker);
		return;
	}
	for (uint64_t i = 0; i < table->count; i++)
		take(taker, disp + dtc_table_disp(table, i),
		     dtc_table_prefix(table, i + 1) - dtc_table_prefix(table, i));
}

/* The runs of a whole operation. */
INLINE void take_piece(const struct dtc_layout *layout, const struct dtc_piece *piece,
		       take_fn take, void *taker)
{
	const struct dtc_op *op = piece->op;
	int64_t disp = piece->base + op->disp;

	if (op->kind == DTC_OP_TABLE) {
		take_table(dtc_program_table(layout->program, op), disp, take, taker);
		return;
	}
	if (op->kind == DTC_OP_RUN) {
		take(taker, disp, op->bytes);
		return;
	}
	for (uint64_t i = 0; i < op->count; i++)
		take(taker, disp + (int64_t)i * op->stride, op->unit_bytes);
}

INLINE void take_runs(const struct dtc_layout *layout, take_fn take, void *taker)
{
	uint64_t left = dtc_gpu_map_period(layout);
	struct dtc_cursor cursor;
	struct dtc_piece piece;

	dtc_cursor_init(&cursor, layout, 1);
	while (left && dtc_cursor_next(&cursor, left, false, &piece)) {
		take_piece(layout, &piece, take, taker);
		left -= piece.bytes;
	}
}

/* ---- equal blocks ------------------------------------------------------------------------------- */

/*
 * A list of equal blocks with narrow displacements, which may be new with every message: entry i is that of block i, in
 * units of 2^shift bytes from @disp on.
 */
struct equal_list {
	const int32_t *entries;
	uint64_t count, bytes;
	unsigned shift;
	int64_t disp;
};

/* Entries that are looked at together, so that compilers make vectors of them. */
#define STRETCH 64

/* Whether all of a program is such a list. */
static bool is_equal_list(const struct dtc_program *program, struct equal_list *list)
{
	const struct dtc_op *op = &program->ops[0];

	if (program->op_count != 1 || op->kind != DTC_OP_TABLE)
		return false;
	const struct dtc_table *table = dtc_program_table(program, op);
	*list = (struct equal_list){ .entries = (const int32_t *)(table + 1),
				     .count = table->count,
				     .bytes = table->uniform,
				     .shift = table->disp_shift,
				     .disp = op->disp };
	return table->uniform && !table->disp_wide &&
	       op->bytes == list->count * list->bytes;
}

static int64_t disp_of(const struct equal_list *list, int32_t entry)
{
	return list->disp + (int64_t)((uint64_t)(int64_t)entry << list->shift);
}

/* ---- the form ----------------------------------------------------------------------------------- */

struct survey {
	uint32_t unit;
	bool begun, ascends;
	int64_t end; /* of the last run */
	int64_t lowest, highest;
};

INLINE void survey_run(void *taker, int64_t disp, uint64_t bytes)
{
	struct survey *survey = taker;
	int64_t last = disp + (int64_t)(bytes - survey->unit);

	if (!survey->begun) {
		survey->lowest = disp;
		survey->highest = last;
	}
	survey->ascends &= !survey->begun || disp >= survey->end;
	survey->lowest = DTC_MIN(survey->lowest, disp);
	survey->highest = DTC_MAX(survey->highest, last);
	survey->end = disp + (int64_t)bytes;
	survey->begun = true;
}

struct range {
	int32_t lowest, highest;
	uint32_t
		signs; /* of the differences between a step and the least one: set if it is shorter */
};

/* One loop for each thing, which compilers make vectors of. */
INLINE void extend(struct range *range, const int32_t *entries, int count, uint32_t least)
{
	struct range own = *range;

	for (int i = 0; i < count; i++) {
		own.lowest = DTC_MIN(own.lowest, entries[i]);
		own.highest = DTC_MAX(own.highest, entries[i]);
	}
	for (int i = 0; i < count; i++)
		own.signs |= (uint32_t)entries[i] - (uint32_t)entries[i - 1] - least;
	*range = own;
}

static struct range range_of(const struct equal_list *list, uint32_t least)
{
	const int32_t *entries = list->entries;
	struct range range = { entries[0], entries[0], 0 };
	uint64_t i = 1;

	for (; list->count - i >= STRETCH; i += STRETCH)
		extend(&range, entries + i, STRETCH, least);
	for (; i < list->count; i++)
		extend(&range, entries + i, 1, least);
	return range;
}

/* So far apart entries may be, and so long blocks in their units, that the signs are right. */
#define RANGE_MOST (INT64_C(1) << 30)

/* False: it is to be looked at run by run. */
static bool survey_list(const struct equal_list *list, struct dtc_gpu_map_form *form)
{
	const uint64_t least = ((list->bytes - 1) >> list->shift) + 1;

	if (least > RANGE_MOST)
		return false;
	const struct range range = range_of(list, (uint32_t)least);
	if ((int64_t)range.highest - range.lowest > RANGE_MOST)
		return false;
	form->lowest = disp_of(list, range.lowest);
	form->highest =
		disp_of(list, range.highest) + (int64_t)(list->bytes - form->unit);
	form->ascends = !(range.signs >> 31);
	return true;
}

static void survey_runs(const struct dtc_layout *layout, struct dtc_gpu_map_form *form)
{
	struct survey survey = { .unit = form->unit, .ascends = true };
	struct equal_list list;

	if (is_equal_list(layout->program, &list) && survey_list(&list, form))
		return;
	take_runs(layout, survey_run, &survey);
	form->lowest = survey.lowest;
	form->highest = survey.highest;
	form->ascends = survey.ascends;
}

bool dtc_gpu_map_of_layout(const struct dtc_layout *layout, struct dtc_gpu_map_form *form)
{
	*form = (struct dtc_gpu_map_form){ .ascends = true };
	set_period(layout, form);
	form->unit = dtc_gpu_map_unit(layout);
	form->count = dtc_gpu_map_period(layout) / form->unit;
	if (form->count > DTC_GPU_MAP_UNITS_MOST)
		return false;
	survey_runs(layout, form);
	form->apart = dtc_magnitude(form->stride) >=
		      (uint64_t)form->highest - (uint64_t)form->lowest + form->unit;
	return dtc_gpu_map_fits(form, form->unit);
}

bool dtc_gpu_map_fits(const struct dtc_gpu_map_form *form, uint32_t unit)
{
	return dtc_gpu_map_units(form, unit) <= DTC_GPU_MAP_UNITS_MOST &&
	       form->lowest / (int64_t)unit >= INT32_MIN &&
	       form->highest / (int64_t)unit + (int64_t)(form->unit / unit) - 1 <=
		       INT32_MAX;
}

/* ---- writing ------------------------------------------------------------------------------------ */

struct writer {
	int32_t *to;
	unsigned
		shift; /* a unit is 2^shift bytes, and displacements are multiples of it */
};

INLINE void write_run(void *taker, int64_t disp, uint64_t bytes)
{
	struct writer *writer = taker;
	int32_t first = (int32_t)(disp >> writer->shift);
	uint32_t count = (uint32_t)(bytes >> writer->shift);

	for (uint32_t i = 0; i < count; i++)
		*writer->to++ = first + (int32_t)i;
}

INLINE void scale(const int32_t *restrict entries, int count, uint32_t first,
		  unsigned shift, int32_t *restrict disps)
{
	for (int i = 0; i < count; i++)
		disps[i] = (int32_t)(first + ((uint32_t)entries[i] << shift));
}

/* Each block is one unit of 2^@shift bytes. */
static void write_list(const struct equal_list *list, unsigned shift, int32_t disps[])
{
	const uint32_t first = (uint32_t)(list->disp >> shift);
	uint64_t i = 0;

	for (; list->count - i >= STRETCH; i += STRETCH)
		scale(list->entries + i, STRETCH, first, list->shift - shift, disps + i);
	for (; i < list->count; i++)
		scale(list->entries + i, 1, first, list->shift - shift, disps + i);
}

void dtc_gpu_map_write(const struct dtc_layout *layout, uint32_t unit, int32_t disps[])
{
	struct writer writer = { disps, (unsigned)__builtin_ctz(unit) };
	struct equal_list list;

	if (is_equal_list(layout->program, &list) && list.bytes == unit) {
		write_list(&list, writer.shift, disps);
		return;
	}
	take_runs(layout, write_run, &writer);
}

/* ---- sorting ------------------------------------------------------------------------------------ */

/* Displacements have their order if their signs are turned; a pass sorts by so many of their bits. */
#define SIGN       UINT32_C(0x80000000)
#define DIGIT_BITS 8
#define DIGITS     (1u << DIGIT_BITS)
#define PASSES     (32 / DIGIT_BITS)

static uint32_t digit_of(int32_t disp, uint32_t pass)
{
	return (((uint32_t)disp ^ SIGN) >> (pass * DIGIT_BITS)) % DIGITS;
}

/* One pass of a radix sort, which keeps the order of equal digits. */
static void sort_by_digit(const struct dtc_gpu_sorted_unit from[], uint32_t count,
			  uint32_t pass, struct dtc_gpu_sorted_unit to[])
{
	uint32_t places[DIGITS] = { 0 };
	uint32_t before = 0;

	for (uint32_t i = 0; i < count; i++)
		places[digit_of(from[i].disp, pass)]++;
	for (uint32_t digit = 0; digit < DIGITS; digit++) {
		uint32_t of_digit = places[digit];

		places[digit] = before;
		before += of_digit;
	}
	for (uint32_t i = 0; i < count; i++)
		to[places[digit_of(from[i].disp, pass)]++] = from[i];
}

bool dtc_gpu_map_sort(const int32_t disps[], uint32_t count,
		      struct dtc_gpu_sorted_unit sorted[],
		      struct dtc_gpu_sorted_unit scratch[])
{
	for (uint32_t i = 0; i < count; i++)
		sorted[i] = (struct dtc_gpu_sorted_unit){ disps[i], i };
	for (uint32_t pass = 0; pass < PASSES; pass += 2) {
		sort_by_digit(sorted, count, pass, scratch);
		sort_by_digit(scratch, count, pass + 1, sorted);
	}
	for (uint32_t i = 1; i < count; i++)
		if (sorted[i].disp == sorted[i - 1].disp)
			return false;
	return true;
}

/* ---- sectors ------------------------------------------------------------------------------------ */

uint32_t dtc_gpu_map_filled(const int32_t disps[], size_t step, uint32_t count,
			    uint32_t unit)
{
	/* Units lie inside sectors, whose numbers are the upper bits. */
	const unsigned shift = (unsigned)__builtin_ctz(DTC_GPU_SECTOR / unit);
	uint64_t sectors = 1;

	for (uint32_t i = 1; i < count; i++)
		sectors +=
			((uint32_t)disps[i * step] ^ (uint32_t)disps[(i - 1) * step]) >>
				shift !=
			0;
	return (uint32_t)DTC_MIN(
		(uint64_t)count * unit * 100 / (sectors * DTC_GPU_SECTOR), UINT64_C(100));
}
