/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the loops of a program, joins adjacent ones and drops those that a job does not
 * iterate.
 */
#include "config.h"

#include "shape.h"

#include <string.h>

#include "base/base.h"
#include "base/checked.h"

/* ---- unfolding ---------------------------------------------------------------------------------- */

/* Loops are collected from the outermost to the innermost, and reversed at the end. */
static void push_loop(struct dtc_gpu_shape *shape, uint64_t count, int64_t stride)
{
	if (count > 1)
		shape->loops[shape->loop_count++] = (struct dtc_gpu_loop){ count, stride };
}

static void set_leaf(struct dtc_gpu_shape *shape, enum dtc_gpu_leaf leaf,
		     const struct dtc_op ops[], uint32_t op_count)
{
	const struct dtc_op *last = ops;

	shape->leaf = leaf;
	shape->ops = ops;
	shape->op_count = op_count;
	for (uint32_t i = 0; i < op_count; i += ops[i].body + 1)
		last = &ops[i];
	shape->leaf_bytes = last->bytes_before + last->bytes;
}

/* A leaf of one operation: its displacement becomes the shape's. */
static void set_single(struct dtc_gpu_shape *shape, const struct dtc_op *op)
{
	if (op->kind == DTC_OP_TABLE_LOOP) {
		set_leaf(shape, DTC_GPU_LEAF_OPS, op, op->body + 1);
		shape->leaf_bytes = op->bytes;
		return;
	}
	shape->user += (uint64_t)op->disp;
	shape->ops = op;
	shape->op_count = 1;
	shape->leaf_bytes = op->bytes;
	shape->leaf = op->kind == DTC_OP_TABLE ? DTC_GPU_LEAF_TABLE : DTC_GPU_LEAF_BLOCK;
	if (op->kind == DTC_OP_STRIP) {
		push_loop(shape, op->count, op->stride);
		shape->leaf_bytes = op->unit_bytes;
	}
}

/* A leaf that is @op with its body, or several operations. */
static void unfold(struct dtc_gpu_shape *shape, const struct dtc_op *op, uint32_t op_count)
{
	while (op->body + 1 == op_count && op->kind == DTC_OP_LOOP) {
		push_loop(shape, op->count, op->stride);
		shape->user += (uint64_t)op->disp;
		op_count = op->body;
		op++;
	}
	if (op->body + 1 == op_count)
		set_single(shape, op);
	else
		set_leaf(shape, DTC_GPU_LEAF_OPS, op, op_count);
}

static void turn_round(struct dtc_gpu_shape *shape)
{
	for (uint32_t i = 0; i < shape->loop_count / 2; i++) {
		struct dtc_gpu_loop *other = &shape->loops[shape->loop_count - 1 - i];
		struct dtc_gpu_loop kept = shape->loops[i];

		shape->loops[i] = *other;
		*other = kept;
	}
}

/* ---- joining ------------------------------------------------------------------------------------ */

static void drop_loop(struct dtc_gpu_shape *shape, uint32_t index)
{
	shape->loop_count--;
	memmove(&shape->loops[index], &shape->loops[index + 1],
		(shape->loop_count - index) * sizeof(shape->loops[0]));
}

/*
 * A loop whose iterations touch is a longer block. A loop that continues the inner one is part
 * of it.
 */
static void join_loops(struct dtc_gpu_shape *shape)
{
	while (shape->leaf == DTC_GPU_LEAF_BLOCK && shape->loop_count &&
	       shape->loops[0].stride == (int64_t)shape->leaf_bytes) {
		shape->leaf_bytes *= shape->loops[0].count;
		drop_loop(shape, 0);
	}
	for (uint32_t i = 0; i + 1 < shape->loop_count;) {
		struct dtc_gpu_loop *inner = &shape->loops[i];

		if (!dtc_is_product(inner[1].stride, inner->count, inner->stride)) {
			i++;
			continue;
		}
		inner->count *= inner[1].count;
		drop_loop(shape, i + 1);
	}
}

/* ---- cutting down ------------------------------------------------------------------------------- */

/* Packed bytes of an iteration of the outermost loop. */
static uint64_t outermost_unit(const struct dtc_gpu_shape *shape)
{
	uint64_t unit = shape->leaf_bytes;

	for (uint32_t i = 0; i + 1 < shape->loop_count; i++)
		unit *= shape->loops[i].count;
	return unit;
}

static void pass_over(struct dtc_gpu_shape *shape, uint64_t bytes)
{
	shape->packed += bytes;
	shape->begin -= bytes;
	shape->end -= bytes;
}

/* Drop the iterations before and behind the stretch, and loops with one iteration left. */
static void cut_loops(struct dtc_gpu_shape *shape)
{
	while (shape->loop_count) {
		struct dtc_gpu_loop *outermost = &shape->loops[shape->loop_count - 1];
		uint64_t unit = outermost_unit(shape);
		uint64_t first = shape->begin / unit;
		uint64_t last = (shape->end - 1) / unit;

		shape->user += first * (uint64_t)outermost->stride;
		pass_over(shape, first * unit);
		outermost->count = last - first + 1;
		if (outermost->count > 1)
			return;
		shape->loop_count--;
	}
}

static void cut_block(struct dtc_gpu_shape *shape)
{
	if (shape->loop_count || shape->leaf != DTC_GPU_LEAF_BLOCK)
		return;
	shape->user += shape->begin;
	pass_over(shape, shape->begin);
	shape->leaf_bytes = shape->end;
}

static void finish(struct dtc_gpu_shape *shape)
{
	turn_round(shape);
	join_loops(shape);
	cut_loops(shape);
	cut_block(shape);
}

void dtc_gpu_shape_of_job(const struct dtc_gpu_job *job, struct dtc_gpu_shape *shape)
{
	const struct dtc_program *program = job->layout->program;

	shape->loop_count = 0;
	shape->user = job->user;
	shape->packed = job->packed - job->begin;
	shape->begin = job->begin;
	shape->end = job->end;
	shape->expects = job->near && job->direction == DTC_UNPACK;
	shape->one_block = job->one_block;
	push_loop(shape, job->count, job->layout->extent);
	unfold(shape, program->ops, program->op_count);
	finish(shape);
}

bool dtc_gpu_shape_of_op(const struct dtc_gpu_shape *leaf, const struct dtc_op *op,
			 struct dtc_gpu_shape *shape)
{
	uint64_t op_end = op->bytes_before + op->bytes;

	if (leaf->end <= op->bytes_before || leaf->begin >= op_end)
		return false;
	shape->loop_count = 0;
	shape->user = leaf->user;
	shape->packed = leaf->packed + op->bytes_before;
	shape->begin = DTC_MAX(leaf->begin, op->bytes_before) - op->bytes_before;
	shape->end = DTC_MIN(leaf->end, op_end) - op->bytes_before;
	shape->expects = leaf->expects;
	shape->one_block = leaf->one_block;
	unfold(shape, op, op->body + 1);
	finish(shape);
	return true;
}
