/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Joins operations of several programs into one.
 */
#include "config.h"

#include "assemble.h"

#include <string.h>

#include "base/base.h"
#include "base/checked.h"
#include "base/context.h"

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
	*assembly = (struct dtc_assembly){ .context = context };
}

void dtc_assembly_drop(struct dtc_assembly *assembly)
{
	dtc_free(assembly->context, assembly->ops);
	dtc_free(assembly->context, assembly->tables);
	dtc_free(assembly->context, assembly->runs);
	*assembly = (struct dtc_assembly){ .context = assembly->context };
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
	assembly->runs[assembly->run_count++] = (struct dtc_run){ disp, bytes };
	return true;
}

/*
 * A run is a strip of one. If @next continues @last at the same stride, extend @last. This
 * joins the pieces of a strip that was cut.
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

/*
 * Arrays whose elements one list picks have equal tables. They share one, because every table takes
 * cache lines: a message of 7 KB out of four arrays is packed in 0.9 of the time.
 */
static bool is_last_table(const struct dtc_assembly *assembly,
			  const struct dtc_table *table)
{
	const size_t bytes = (size_t)table->table_bytes;

	return assembly->table_bytes == assembly->last_table + bytes &&
	       memcmp(assembly->tables + assembly->last_table, table, bytes) == 0;
}

/* Set the assembly's last table to a copy of @table. */
static bool add_table(struct dtc_assembly *assembly, const struct dtc_table *table)
{
	const size_t bytes = (size_t)table->table_bytes;

	if (is_last_table(assembly, table))
		return true;
	if (!grow(assembly->context, (void **)&assembly->tables,
		  &assembly->table_capacity, assembly->table_bytes + bytes, 1))
		return false;
	memcpy(assembly->tables + assembly->table_bytes, table, bytes);
	assembly->last_table = assembly->table_bytes;
	assembly->table_bytes += bytes;
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
		if (!add_table(assembly, dtc_program_table(program, copy)))
			return false;
		copy->table = assembly->last_table;
	}
	assembly->depth = DTC_MAX(assembly->depth, program->depth);
	return true;
}

struct dtc_program *dtc_assembly_finish(struct dtc_assembly *assembly)
{
	struct dtc_program *program = dtc_program_allocate(
		assembly->context, (uint32_t)assembly->op_count, assembly->table_bytes);

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
