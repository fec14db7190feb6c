/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compares layouts and returns their hashes. Equal programs are equal layouts and different
 * hashes are different ones; only otherwise are runs compared.
 */
#include "config.h"

#include <string.h>

#include <dtconv/type.h>

#include "base/base.h"
#include "base/log.h"
#include "layout_hash.h"
#include "runs.h"
#include "type.h"

static int check(const struct dtconv_type *type, size_t count, const char *caller,
		 const char *argument)
{
	if (!dtc_type_layout(type))
		return DTC_FAIL(type->context, DTCONV_ERR_STATE,
				"%s: %s is not committed", caller, argument);
	if (dtc_bounds_are_too_many(&type->bounds, count))
		return DTC_FAIL(
			type->context, DTCONV_ERR_OVERFLOW,
			"%s: count x size or extent of %s = %zu x (%zu or %td) overflows",
			caller, argument, count, type->bounds.size,
			dtc_bounds_extent(&type->bounds));
	return 0;
}

int dtconv_type_hash_layout(const struct dtconv_type *type, size_t count, uint64_t *hash)
{
	if (!type || !hash)
		return DTCONV_ERR_INVAL;
	int status = check(type, count, __func__, "type (argument 1)");

	if (!status)
		*hash = dtc_layout_hash(dtc_type_layout(type), count);
	return status;
}

/* Some instances of a layout. */
struct instances {
	const struct dtc_layout *layout;
	uint64_t count;
};

/* Tables are not compared: runs are hardly more. */
static bool same_programs(const struct instances *a, const struct instances *b)
{
	const struct dtc_program *p = a->layout->program, *q = b->layout->program;

	if (a->count != b->count ||
	    (a->count > 1 && a->layout->extent != b->layout->extent))
		return false;
	return p == q ||
	       (p->op_count == q->op_count && !p->table_bytes && !q->table_bytes &&
		!memcmp(p->ops, q->ops, p->op_count * sizeof(p->ops[0])));
}

/*
 * How many bytes decide. The distances of neighbouring bytes repeat with each instance. Two
 * sequences with periods p and q that agree in their first p + q elements are equal (Fine and
 * Wilf).
 */
static uint64_t deciding_bytes(const struct instances *a, const struct instances *b)
{
	uint64_t all = a->layout->size * a->count, two;

	if (__builtin_add_overflow(a->layout->size, b->layout->size, &two))
		return all;
	return DTC_MIN(all, two);
}

static bool same_runs(const struct instances *a, const struct instances *b)
{
	struct dtc_cursor cursor_a, cursor_b;
	struct dtc_runs runs_a, runs_b;
	struct dtc_run run_a = { 0, 0 }, run_b = { 0, 0 };
	uint64_t left = deciding_bytes(a, b), bytes;

	dtc_cursor_init(&cursor_a, a->layout, a->count);
	dtc_cursor_init(&cursor_b, b->layout, b->count);
	dtc_runs_init(&runs_a, &cursor_a, left);
	dtc_runs_init(&runs_b, &cursor_b, left);
	for (; left; left -= bytes) {
		if (!run_a.bytes)
			(void)dtc_runs_next(&runs_a, &run_a);
		if (!run_b.bytes)
			(void)dtc_runs_next(&runs_b, &run_b);
		if (run_a.disp != run_b.disp)
			return false;
		bytes = DTC_MIN(run_a.bytes, run_b.bytes);
		run_a = (struct dtc_run){ run_a.disp + (int64_t)bytes,
					  run_a.bytes - bytes };
		run_b = (struct dtc_run){ run_b.disp + (int64_t)bytes,
					  run_b.bytes - bytes };
	}
	return true;
}

static bool same_layouts(const struct instances *a, const struct instances *b)
{
	if (a->layout->size * a->count != b->layout->size * b->count)
		return false;
	if (a->layout->size * a->count == 0 || same_programs(a, b))
		return true;
	return dtc_layout_hash(a->layout, a->count) ==
		       dtc_layout_hash(b->layout, b->count) &&
	       same_runs(a, b);
}

int dtconv_type_compare_layout(const struct dtconv_type *type_a, size_t count_a,
			       const struct dtconv_type *type_b, size_t count_b,
			       int *equal)
{
	if (!type_a || !type_b || !equal)
		return DTCONV_ERR_INVAL;
	int status = check(type_a, count_a, __func__, "type_a (argument 1)");

	if (!status)
		status = check(type_b, count_b, __func__, "type_b (argument 3)");
	if (status)
		return status;
	const struct instances a = { dtc_type_layout(type_a), count_a };
	const struct instances b = { dtc_type_layout(type_b), count_b };

	*equal = same_layouts(&a, &b);
	return 0;
}
