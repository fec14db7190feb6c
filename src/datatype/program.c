/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Programs as values: references, tables, and the assembly of a program from operations of
 * others. What makes a program normal is decided in normalise.c.
 */
#include "config.h"

#include "program.h"

#include <string.h>

#include "assemble.h"
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
	/* Leap in growing steps while that does not pass the unit, ... */
	while (n < table->count - low && dtc_table_prefix(table, low + n) <= unit) {
		low += n;
		n *= 2;
	}
	n = DTC_MIN(n, table->count - low);
	/* ... then halve. Invariant: prefix(low) <= unit < prefix(low + n). */
	while (n > 1) {
		uint64_t half = n / 2;

		low += dtc_table_prefix(table, low + half) <= unit ? half : 0;
		n -= half;
	}
	return low;
}

struct dtc_program *dtc_program_allocate(struct dtconv_context *context, uint32_t op_count,
					 size_t table_bytes)
{
	struct dtc_program *program =
		dtc_alloc(context, sizeof(*program) + op_count * sizeof(program->ops[0]) +
					   table_bytes);

	if (!program)
		return NULL;
	memset(program, 0, sizeof(*program));
	atomic_init(&program->references, 1);
	program->context = context;
	program->op_count = op_count;
	program->table_bytes = table_bytes;
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

struct dtc_program *dtc_program_create_run(struct dtconv_context *context, int64_t disp,
					   uint64_t bytes)
{
	const struct dtc_op run = {.kind = DTC_OP_RUN,
				   .disp = disp,
				   .bytes = bytes,
				   .count = 1,
				   .unit_bytes = bytes};

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

/* ---- assembly ------------------------------------------------------------------------ */

static bool grow(struct dtconv_context *context, void **array, size_t *capacity,
		 size_t needed, size_t element_bytes)
{
	if (needed <= *capacity)
		return true;
	size_t larger = DTC_MAX(needed, 2 * *capacity);
	void *grown = dtc_alloc(context, larger * element_bytes);
	if (!grown)
		return false;
	if (*array)
		memcpy(grown, *array, *capacity * element_bytes);
	dtc_free(context, *array);
	*array = grown;
	*capacity = larger;
	return true;
}

void dtc_assembly_init(struct dtc_assembly *assembly, struct dtconv_context *context)
{
	*assembly = (struct dtc_assembly){.context = context};
}

void dtc_assembly_drop(struct dtc_assembly *assembly)
{
	dtc_free(assembly->context, assembly->ops);
	dtc_free(assembly->context, assembly->tables);
	dtc_free(assembly->context, assembly->runs);
	*assembly = (struct dtc_assembly){.context = assembly->context};
}

bool dtc_assembly_add_run(struct dtc_assembly *assembly, int64_t disp, uint64_t bytes)
{
	if (assembly->run_count) {
		struct dtc_run *last = &assembly->runs[assembly->run_count - 1];

		if (disp == dtc_disp_plus(last->disp, (int64_t)last->bytes)) {
			last->bytes += bytes;
			return true;
		}
	}
	if (!grow(assembly->context, (void **)&assembly->runs, &assembly->run_capacity,
		  assembly->run_count + 1, sizeof(assembly->runs[0])))
		return false;
	assembly->runs[assembly->run_count++] = (struct dtc_run){disp, bytes};
	return true;
}

/*
 * A run is a strip of one. If @next continues @last at one stride, let @last swallow it: this
 * is what makes a strip that was cut into pieces whole again.
 */
static bool join_strips(struct dtc_op *last, const struct dtc_op *next)
{
	int64_t stride = last->kind == DTC_OP_STRIP ? last->stride : next->stride;
	bool both_runs = last->kind == DTC_OP_RUN && next->kind == DTC_OP_RUN;

	if (last->kind > DTC_OP_STRIP || next->kind > DTC_OP_STRIP || both_runs ||
	    last->unit_bytes != next->unit_bytes)
		return false;
	if (next->kind == DTC_OP_STRIP && next->stride != stride)
		return false;
	if (!dtc_is_product(dtc_disp_minus(next->disp, last->disp), last->count, stride))
		return false;
	last->kind = DTC_OP_STRIP;
	last->stride = stride;
	last->count += next->count;
	last->bytes += next->bytes;
	return true;
}

bool dtc_assembly_add_op(struct dtc_assembly *assembly, const struct dtc_program *program,
			 uint32_t index, int64_t disp)
{
	const struct dtc_op *op = &program->ops[index];
	struct dtc_op moved = *op;
	uint32_t n = op->body + 1;

	moved.disp = dtc_disp_plus(moved.disp, disp);
	moved.bytes_before = assembly->bytes;
	assembly->bytes += op->bytes;
	if (assembly->op_count && join_strips(&assembly->ops[assembly->last], &moved))
		return true;
	if (!grow(assembly->context, (void **)&assembly->ops, &assembly->op_capacity,
		  assembly->op_count + n, sizeof(assembly->ops[0])))
		return false;
	assembly->last = assembly->op_count;
	memcpy(&assembly->ops[assembly->last], op, n * sizeof(*op));
	assembly->ops[assembly->last] = moved;
	assembly->op_count += n;
	for (uint32_t i = 0; i < n; i++) {
		struct dtc_op *copy = &assembly->ops[assembly->last + i];

		if (copy->kind != DTC_OP_TABLE && copy->kind != DTC_OP_TABLE_LOOP)
			continue;
		const struct dtc_table *table = dtc_program_table(program, copy);
		size_t bytes = (size_t)table->table_bytes;
		if (!grow(assembly->context, (void **)&assembly->tables,
			  &assembly->table_capacity, assembly->table_bytes + bytes, 1))
			return false;
		memcpy(assembly->tables + assembly->table_bytes, table, bytes);
		copy->table = assembly->table_bytes;
		assembly->table_bytes += bytes;
	}
	assembly->depth = DTC_MAX(assembly->depth, program->depth);
	return true;
}

struct dtc_program *dtc_assembly_finish(struct dtc_assembly *assembly)
{
	struct dtc_program *program =
		dtc_program_allocate(assembly->context, (uint32_t)assembly->op_count,
				     assembly->table_bytes);

	if (program && assembly->op_count) {
		program->bytes = assembly->bytes;
		program->depth = assembly->depth;
		memcpy(program->ops, assembly->ops,
		       assembly->op_count * sizeof(program->ops[0]));
		if (assembly->table_bytes)
			memcpy((char *)dtc_program_tables(program), assembly->tables,
			       assembly->table_bytes);
	}
	dtc_assembly_drop(assembly);
	return program;
}
