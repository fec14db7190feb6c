/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The layout, its parts and their shapes.
 */
#include "config.h"

#include "layout.h"

#include "base/base.h"
#include "base/checked.h"
#include "base/context.h"
#include "base/text.h"

int dtc_layout_open(struct dtc_layout *layout, struct dtc_program *program,
		    int64_t extent)
{
	*layout = (struct dtc_layout){
		.program = program, .extent = extent, .size = program->bytes};
	layout->dense = program->op_count == 1 && program->ops[0].kind == DTC_OP_RUN &&
			extent == (int64_t)program->bytes;
	if (!program->context->make_mover)
		return 0;
	return program->context->make_mover(layout, &layout->mover);
}

static void release_images(struct dtc_layout_image *image)
{
	while (image) {
		struct dtc_layout_image *next = image->next;

		image->release(image);
		image = next;
	}
}

void dtc_layout_close(struct dtc_layout *layout)
{
	release_images(atomic_load_explicit(&layout->images, memory_order_acquire));
	dtc_free(layout->program->context,
		 atomic_load_explicit(&layout->iov_index, memory_order_acquire));
	dtc_free(layout->program->context, layout->mover);
}

struct dtc_layout *dtc_layout_create(struct dtc_program *program, int64_t extent)
{
	struct dtc_layout *layout = dtc_alloc(program->context, sizeof(*layout));

	if (!layout) {
		dtc_program_unref(program);
		return NULL;
	}
	if (dtc_layout_open(layout, program, extent)) {
		dtc_layout_destroy(layout);
		return NULL;
	}
	return layout;
}

void dtc_layout_destroy(struct dtc_layout *layout)
{
	if (!layout)
		return;
	struct dtconv_context *context = layout->program->context;

	dtc_layout_close(layout);
	dtc_program_unref(layout->program);
	dtc_free(context, layout);
}

static uint64_t runs_of_leaf(const struct dtc_program *program, const struct dtc_op *op)
{
	if (op->kind == DTC_OP_RUN)
		return 1;
	return op->kind == DTC_OP_STRIP ? op->count : dtc_program_table(program, op)->count;
}

static uint64_t one_strip(const struct dtc_program *program, const struct dtc_op *op)
{
	return op->kind == DTC_OP_STRIP ? 1 : runs_of_leaf(program, op);
}

/* The sum of @weigh over the leaves of one instance, times their iterations. */
static uint64_t count_leaves(const struct dtc_layout *layout,
			     uint64_t (*weigh)(const struct dtc_program *program,
					       const struct dtc_op *op))
{
	const struct dtc_program *program = layout->program;
	uint64_t times[DTC_PROGRAM_DEPTH + 1] = { 1 };
	uint32_t ends[DTC_PROGRAM_DEPTH + 1] = { program->op_count };
	uint64_t runs = 0, more;
	uint32_t depth = 0;

	for (uint32_t i = 0; i < program->op_count; i++) {
		const struct dtc_op *op = &program->ops[i];

		while (i == ends[depth])
			depth--;
		uint64_t each = dtc_op_is_loop(op) ? op->count : weigh(program, op);
		if (__builtin_mul_overflow(times[depth], each, &more))
			return UINT64_MAX;
		if (dtc_op_is_loop(op)) {
			times[++depth] = more;
			ends[depth] = i + op->body + 1;
		} else if (__builtin_add_overflow(runs, more, &runs)) {
			return UINT64_MAX;
		}
	}
	return runs;
}

uint64_t dtc_layout_runs(const struct dtc_layout *layout)
{
	return count_leaves(layout, runs_of_leaf);
}

uint64_t dtc_layout_strips(const struct dtc_layout *layout)
{
	return count_leaves(layout, one_strip);
}

/* ---- several instances ----------------------------------------------------------------- */

static struct dtc_op instances_of_run(const struct dtc_op *run, int64_t extent,
				      uint64_t count)
{
	struct dtc_op op = *run;

	op.bytes *= count;
	if (extent == (int64_t)run->bytes) {
		op.unit_bytes = op.bytes;
		return op;
	}
	op.kind = DTC_OP_STRIP;
	op.count = count;
	op.stride = extent;
	return op;
}

struct dtc_op dtc_layout_root(const struct dtc_layout *layout, uint64_t count)
{
	const struct dtc_program *program = layout->program;
	const struct dtc_op *first = &program->ops[0];
	struct dtc_op op = *first;

	if (program->op_count == 1 && first->kind == DTC_OP_RUN)
		return instances_of_run(first, layout->extent, count);
	if (program->op_count == 1 && first->kind == DTC_OP_STRIP &&
	    (count == 1 || dtc_is_product(layout->extent, first->count, first->stride))) {
		op.count *= count;
		op.bytes *= count;
		return op;
	}
	return (struct dtc_op){.kind = DTC_OP_LOOP,
			       .flat = program->depth == 0,
			       .body = program->op_count,
			       .bytes = program->bytes * count,
			       .count = count,
			       .unit_bytes = program->bytes,
			       .stride = layout->extent};
}

/* ---- shapes ------------------------------------------------------------------------------ */

static const char *const shape_names[] = {
	"empty",    "contiguous", "strided", "transposing",
	"periodic", "indexed",    "general",
};

const char *dtc_shape_name(enum dtc_shape shape)
{
	return shape_names[shape];
}

/* A nest of loops that ends in one run or strip: strided, or transposing. */
static enum dtc_shape shape_of_nest(const struct dtc_op *loop)
{
	uint64_t outer = dtc_magnitude(loop->stride);
	bool transposing = false;
	unsigned dims = 1;

	for (;;) {
		const struct dtc_op *body = loop + 1;

		if (loop->body != body->body + 1 || body->kind == DTC_OP_TABLE ||
		    body->kind == DTC_OP_TABLE_LOOP)
			return DTC_SHAPE_GENERAL;
		if (body->kind == DTC_OP_RUN)
			break;
		transposing |= dtc_magnitude(body->stride) > outer;
		outer = dtc_magnitude(body->stride);
		dims++;
		if (body->kind == DTC_OP_STRIP)
			break;
		loop = body;
	}
	if (dims > DTC_STRIDED_DIMS)
		return DTC_SHAPE_GENERAL;
	return transposing ? DTC_SHAPE_TRANSPOSING : DTC_SHAPE_STRIDED;
}

static bool body_is_runs(const struct dtc_op *loop)
{
	for (uint32_t i = 1; i <= loop->body; i++)
		if (loop[i].kind > DTC_OP_STRIP)
			return false;
	return true;
}

static enum dtc_shape shape_of_op(const struct dtc_op *op)
{
	switch (op->kind) {
	case DTC_OP_RUN:
		return DTC_SHAPE_CONTIGUOUS;
	case DTC_OP_STRIP:
		return DTC_SHAPE_STRIDED;
	case DTC_OP_TABLE:
		return DTC_SHAPE_INDEXED;
	case DTC_OP_LOOP:
		if (op->body > 1 && body_is_runs(op))
			return DTC_SHAPE_PERIODIC;
		return shape_of_nest(op);
	default:
		return DTC_SHAPE_GENERAL;
	}
}

struct dtc_part dtc_layout_part(const struct dtc_layout *layout, uint32_t op)
{
	const struct dtc_op *head = &layout->program->ops[op];

	return (struct dtc_part){.shape = shape_of_op(head),
				 .op = op,
				 .disp = head->disp,
				 .packed_offset = head->bytes_before,
				 .bytes = head->bytes};
}

enum dtc_shape dtc_layout_shape(const struct dtc_layout *layout, uint64_t count)
{
	const struct dtc_op *ops = layout->program->ops;

	if (layout->size == 0 || count == 0)
		return DTC_SHAPE_EMPTY;
	struct dtc_op root = dtc_layout_root(layout, count);
	if (root.kind != DTC_OP_LOOP)
		return shape_of_op(&root);
	bool one_op = layout->program->op_count == ops[0].body + 1;
	if (count == 1 && one_op)
		return shape_of_op(ops);
	for (uint32_t i = 0; i < layout->program->op_count; i++)
		if (ops[i].kind > DTC_OP_STRIP)
			return DTC_SHAPE_GENERAL;
	return count > 1 ? DTC_SHAPE_PERIODIC : DTC_SHAPE_GENERAL;
}
