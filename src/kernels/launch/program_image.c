/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The device's copy of a program.
 */
#include "config.h"

#include "launch.h"

#include <string.h>

#include "base/base.h"
#include "magic.h"

/* The device reads both through its own definitions. */
#define SAME(type, member, device_type, device_member)                                \
	_Static_assert(offsetof(struct type, member) ==                               \
			       offsetof(struct device_type, device_member),           \
		       #type "." #member " is elsewhere on the device")
SAME(dtc_op, kind, dtc_gpu_op, kind_flat);
SAME(dtc_op, body, dtc_gpu_op, body);
SAME(dtc_op, disp, dtc_gpu_op, disp);
SAME(dtc_op, bytes_before, dtc_gpu_op, bytes_before);
SAME(dtc_op, bytes, dtc_gpu_op, bytes);
SAME(dtc_op, count, dtc_gpu_op, count);
SAME(dtc_op, unit_bytes, dtc_gpu_op, unit_bytes);
SAME(dtc_op, stride, dtc_gpu_op, stride);
SAME(dtc_op, table, dtc_gpu_op, table);
_Static_assert(sizeof(struct dtc_op) == sizeof(struct dtc_gpu_op), "struct dtc_op");
SAME(dtc_table, count, dtc_gpu_table, count);
SAME(dtc_table, uniform, dtc_gpu_table, uniform);
SAME(dtc_table, prefix_offset, dtc_gpu_table, prefix_offset);
SAME(dtc_table, disp_wide, dtc_gpu_table, forms);
_Static_assert(sizeof(struct dtc_table) == sizeof(struct dtc_gpu_table), "struct dtc_table");
_Static_assert(DTC_OP_RUN == DTC_GPU_OP_RUN && DTC_OP_STRIP == DTC_GPU_OP_STRIP &&
		       DTC_OP_TABLE == DTC_GPU_OP_TABLE && DTC_OP_LOOP == DTC_GPU_OP_LOOP &&
		       DTC_OP_TABLE_LOOP == DTC_GPU_OP_TABLE_LOOP,
	       "enum dtc_op_kind");

const void *dtc_gpu_program_bytes(const struct dtc_program *program, size_t *bytes)
{
	*bytes = program->op_count * sizeof(program->ops[0]) + program->table_bytes;
	return program->ops;
}

/* The divisor with which the device divides positions in an operation. */
static struct dtc_gpu_divisor divisor_of(const struct dtc_program *program,
					 const struct dtc_op *op)
{
	if (op->kind == DTC_OP_TABLE)
		return dtc_gpu_divisor(dtc_program_table(program, op)->uniform);
	return dtc_gpu_divisor(op->unit_bytes);
}

static uint64_t start_count(const struct dtc_program *program)
{
	const struct dtc_op *op = dtc_gpu_listed_table(program);

	return op ? (op->bytes - 1) / DTC_GPU_START_BYTES + 1 : 0;
}

static struct dtc_gpu_image_head head_of(const struct dtc_program *program)
{
	struct dtc_gpu_image_head head = { .op_count = program->op_count };
	size_t bytes;

	dtc_gpu_program_bytes(program, &bytes);
	head.ops = sizeof(head);
	head.tables = head.ops + program->op_count * sizeof(program->ops[0]);
	head.divisors = head.ops + bytes;
	head.starts = head.divisors + program->op_count * sizeof(struct dtc_gpu_divisor);
	head.bytes = head.starts + start_count(program) * sizeof(uint32_t);
	return head;
}

size_t dtc_gpu_image_bytes(const struct dtc_program *program)
{
	return (size_t)head_of(program).bytes;
}

uint64_t dtc_gpu_image_tables(const struct dtc_program *program)
{
	return head_of(program).tables;
}

uint64_t dtc_gpu_image_starts(const struct dtc_program *program)
{
	return head_of(program).starts;
}

static void write_starts(const struct dtc_program *program, uint32_t starts[])
{
	const struct dtc_table *table =
		dtc_program_table(program, dtc_gpu_listed_table(program));
	uint64_t count = start_count(program);
	uint64_t entry = 0;

	for (uint64_t i = 0; i < count; i++) {
		entry = dtc_table_find(table, i * DTC_GPU_START_BYTES, entry);
		starts[i] = (uint32_t)entry;
	}
}

void dtc_gpu_image_write(const struct dtc_program *program, void *image)
{
	const struct dtc_gpu_image_head head = head_of(program);
	char *to = image;
	size_t bytes;
	const void *from = dtc_gpu_program_bytes(program, &bytes);

	memcpy(to, &head, sizeof(head));
	memset(to + head.divisors, 0, (size_t)(head.bytes - head.divisors));
	memcpy(to + head.ops, from, bytes);
	for (uint32_t i = 0; i < program->op_count; i++) {
		const struct dtc_gpu_divisor divisor = divisor_of(program, &program->ops[i]);

		memcpy(to + head.divisors + i * sizeof(divisor), &divisor, sizeof(divisor));
	}
	if (start_count(program))
		write_starts(program, (uint32_t *)(void *)(to + head.starts));
}
