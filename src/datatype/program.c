/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs as values: references, tables, single operations. normalise.c defines the normal
 * form.
 */
#include "config.h"

#include "program.h"

#include <string.h>

#include "base/base.h"
#include "base/checked.h"
#include "base/context.h"

struct dtc_program *dtc_program_ref(struct dtc_program *program)
{
	atomic_fetch_add_explicit(&program->references, 1, memory_order_relaxed);
	return program;
}

void dtc_program_unref(struct dtc_program *program)
{
	if (program && atomic_fetch_sub_explicit(&program->references, 1,
						 memory_order_acq_rel) == 1)
		dtc_free(program->context, program);
}

uint64_t dtc_table_find(const struct dtc_table *table, uint64_t unit, uint64_t from)
{
	uint64_t low = from, n = 1;

	if (table->uniform)
		return unit / table->uniform;
	if (low >= table->count || dtc_table_prefix(table, low) > unit)
		low = 0;
	/* Gallop: step forward in growing steps while that does not pass the unit, ... */
	while (n < table->count - low && dtc_table_prefix(table, low + n) <= unit) {
		low += n;
		n *= 2;
	}
	n = DTC_MIN(n, table->count - low);
	/* ... then bisect. Invariant: prefix(low) <= unit < prefix(low + n). */
	while (n > 1) {
		uint64_t half = n / 2;

		low += dtc_table_prefix(table, low + half) <= unit ? half : 0;
		n -= half;
	}
	return low;
}

void dtc_program_init(struct dtc_program *program, struct dtconv_context *context,
		      uint32_t op_count, size_t table_bytes)
{
	memset(program, 0, sizeof(*program));
	atomic_init(&program->references, 1);
	program->context = context;
	program->op_count = op_count;
	program->table_bytes = table_bytes;
}

struct dtc_program *dtc_program_allocate(struct dtconv_context *context, uint32_t op_count,
					 size_t table_bytes)
{
	struct dtc_program *program =
		dtc_alloc(context, sizeof(*program) + op_count * sizeof(program->ops[0]) +
					   table_bytes);

	if (program)
		dtc_program_init(program, context, op_count, table_bytes);
	return program;
}

struct dtc_program *dtc_program_create_empty(struct dtconv_context *context)
{
	return dtc_program_allocate(context, 0, 0);
}

struct dtc_program *dtc_program_create_op(struct dtconv_context *context,
					  const struct dtc_op *op)
{
	struct dtc_program *program = dtc_program_allocate(context, 1, 0);

	if (!program)
		return NULL;
	program->ops[0] = *op;
	program->bytes = op->bytes;
	return program;
}

struct dtc_op dtc_op_of_run(int64_t disp, uint64_t bytes)
{
	return (struct dtc_op){ .kind = DTC_OP_RUN,
				.disp = disp,
				.bytes = bytes,
				.count = 1,
				.unit_bytes = bytes };
}

struct dtc_program *dtc_program_create_run(struct dtconv_context *context, int64_t disp,
					   uint64_t bytes)
{
	const struct dtc_op run = dtc_op_of_run(disp, bytes);

	if (bytes == 0)
		return dtc_program_create_empty(context);
	return dtc_program_create_op(context, &run);
}

struct dtc_program *dtc_program_create_loop(const struct dtc_program *body,
					    const struct dtc_op *head, size_t table_bytes)
{
	int64_t shift = body->ops[0].disp;
	struct dtc_program *program =
		dtc_program_allocate(body->context, body->op_count + 1,
				     body->table_bytes + table_bytes);

	if (!program)
		return NULL;
	program->ops[0] = *head;
	program->ops[0].disp = dtc_disp_plus(head->disp, shift);
	program->ops[0].body = body->op_count;
	program->ops[0].flat = body->depth == 0;
	program->ops[0].unit_bytes = body->bytes;
	program->ops[0].bytes = body->bytes * head->count;
	program->ops[0].table = body->table_bytes;
	program->bytes = program->ops[0].bytes;
	program->depth = body->depth + 1;
	memcpy(&program->ops[1], body->ops, body->op_count * sizeof(body->ops[0]));
	for (uint32_t i = 1; i <= body->op_count; i += program->ops[i].body + 1)
		program->ops[i].disp = dtc_disp_minus(program->ops[i].disp, shift);
	memcpy((char *)dtc_program_tables(program), dtc_program_tables(body),
	       body->table_bytes);
	return program;
}
