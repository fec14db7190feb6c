/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Creates the predefined types of a context. A runtime may create many contexts, so this takes
 * one block of memory and no constructor; only movers are allocated, one for each layout.
 */
#include "config.h"

#include "predefined_types.h"

#include "predefined.h"

static struct dtc_bounds bounds_of(const struct dtc_predefined *row)
{
	struct dtc_bounds bounds = dtc_bounds_basic(row->extent, row->alignment);

	if (!row->is_pair)
		return bounds;
	bounds.size = row->size;
	bounds.true_ub =
		(ptrdiff_t)(row->index_disp + dtc_predefined_row(row->index)->size);
	bounds.single_run = (size_t)bounds.true_ub == row->size;
	return bounds;
}

/* The members of a pair come before it in the table. */
static struct dtc_signature *init_signature(struct dtconv_context *context,
					    enum dtconv_predefined which)
{
	struct dtc_predefined_types *all = context->predefined;
	const struct dtc_predefined *row = dtc_predefined_row(which);
	struct dtc_signature *signature = (void *)all->signatures[which].room;

	if (row->is_pair)
		dtc_signature_init_pair(signature, all->types[row->value].signature,
					all->types[row->index].signature);
	else
		dtc_signature_init_basic(signature, context, which);
	return signature;
}

/* ---- layouts ------------------------------------------------------------------------- */

/* The first run of a predefined type; all of it, unless a pair has a gap inside. */
static uint64_t first_run(const struct dtc_predefined *row)
{
	size_t first = row->is_pair ? dtc_predefined_row(row->value)->size : row->size;

	return row->is_pair && row->index_disp == first ? row->size : first;
}

static struct dtc_program *init_program(struct dtc_program *program,
					struct dtconv_context *context,
					const struct dtc_predefined *row)
{
	uint64_t first = first_run(row);

	dtc_program_init(program, context, row->size > first ? 2 : 1, 0);
	program->bytes = row->size;
	program->ops[0] = dtc_op_of_run(0, first);
	if (row->size > first) {
		program->ops[1] =
			dtc_op_of_run((int64_t)row->index_disp, row->size - first);
		program->ops[1].bytes_before = first;
	}
	return program;
}

static bool has_layout(const struct dtc_layout *layout, const struct dtc_predefined *row)
{
	return layout->size == row->size && layout->extent == (int64_t)row->extent &&
	       layout->program->ops[0].bytes == first_run(row);
}

/* The layout of a predefined type, which may be there already. NULL if memory ran out. */
static struct dtc_layout *find_layout(struct dtconv_context *context,
				      const struct dtc_predefined *row)
{
	struct dtc_predefined_types *all = context->predefined;

	for (size_t i = 0; i < all->layout_count; i++)
		if (has_layout(&all->layouts[i].layout, row))
			return &all->layouts[i].layout;
	struct dtc_predefined_layout *made = &all->layouts[all->layout_count];
	struct dtc_program *program =
		init_program((struct dtc_program *)made->program, context, row);

	if (dtc_layout_open(&made->layout, program, (int64_t)row->extent))
		return NULL;
	all->layout_count++;
	return &made->layout;
}

/* ---- types --------------------------------------------------------------------------- */

static int init_type(struct dtconv_context *context, enum dtconv_predefined which)
{
	const struct dtc_predefined *row = dtc_predefined_row(which);
	struct dtc_layout *layout = find_layout(context, row);

	if (!layout)
		return DTCONV_ERR_NOMEM;
	*dtc_predefined_type(context, which) =
		(struct dtconv_type){ .references = 1,
				      .context = context,
				      .combiner = DTCONV_COMBINER_NAMED,
				      .predefined = which,
				      .immortal = true,
				      .bounds = bounds_of(row),
				      .signature = init_signature(context, which),
				      .layout = layout };
	context->predefined->type_count++;
	return 0;
}

int dtc_predefined_create(struct dtconv_context *context)
{
	context->predefined = dtc_alloc(context, sizeof(*context->predefined));
	if (!context->predefined)
		return DTCONV_ERR_NOMEM;
	context->predefined->layout_count = 0;
	context->predefined->type_count = 0;
	for (int which = 0; which < DTCONV_PREDEFINED_COUNT; which++) {
		int status = init_type(context, (enum dtconv_predefined)which);
		if (status)
			return status;
	}
	return 0;
}

void dtc_predefined_destroy(struct dtconv_context *context)
{
	struct dtc_predefined_types *all = context->predefined;

	if (!all)
		return;
	for (size_t i = 0; i < all->layout_count; i++)
		dtc_layout_close(&all->layouts[i].layout);
	for (int which = 0; which < all->type_count; which++)
		dtc_type_drop_names(&all->types[which]);
	dtc_free(context, all);
	context->predefined = NULL;
}

struct dtconv_type *dtconv_type_predefined(struct dtconv_context *context,
					   enum dtconv_predefined which)
{
	if (!context || (unsigned)which >= DTCONV_PREDEFINED_COUNT)
		return NULL;
	return dtc_predefined_type(context, which);
}
