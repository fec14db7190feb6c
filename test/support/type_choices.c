/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Types from choices. A shelf holds the types made so far; each step takes some of them, makes
 * a new one and puts it back, so that there is no recursion and bytes decide locally.
 */
#include "config.h"

#include "support/type_choices.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dtconv/type.h>

#include "support/choices.h"

#define SHELF          4
#define MAX_STEPS      6
#define MAX_BLOCKS     6
#define MAX_DIMENSIONS 3

const struct type_bounds type_bounds_tiny = { .bytes = 512, .span = 2048 };
const struct type_bounds type_bounds_small = { .bytes = 4096, .span = 65536 };
const struct type_bounds type_bounds_wild = { .wild = true };

struct shelf {
	struct dtconv_context *context;
	struct choices *choices;
	const struct type_bounds *bounds;
	struct dtconv_type *types[SHELF];
};

/* ---- arguments ----------------------------------------------------------------------- */

/* A number at the edge of something: near a power of two, or near the largest. */
static size_t extreme(struct shelf *shelf)
{
	size_t power = (size_t)1 << choose(shelf->choices, 64);

	return power + choose(shelf->choices, 5) - 2;
}

static bool go_wild(struct shelf *shelf)
{
	return shelf->bounds->wild && chance(shelf->choices, 16);
}

static size_t choose_count(struct shelf *shelf, size_t most)
{
	return go_wild(shelf) ? extreme(shelf) : choose(shelf->choices, most + 1);
}

static ptrdiff_t choose_disp(struct shelf *shelf, ptrdiff_t least, ptrdiff_t most)
{
	return go_wild(shelf) ? (ptrdiff_t)extreme(shelf)
			      : choose_between(shelf->choices, least, most);
}

static struct dtconv_type *choose_old(struct shelf *shelf)
{
	return shelf->types[choose(shelf->choices, SHELF)];
}

/* The arguments that several constructors share. */
struct blocks {
	size_t count;
	size_t lengths[MAX_BLOCKS];
	ptrdiff_t displacements[MAX_BLOCKS];
	struct dtconv_type *types[MAX_BLOCKS];
};

static void choose_blocks(struct shelf *shelf, ptrdiff_t reach, struct blocks *blocks)
{
	ptrdiff_t at = 0;

	blocks->count = choose(shelf->choices, MAX_BLOCKS + 1);
	for (size_t i = 0; i < blocks->count; i++) {
		blocks->lengths[i] = choose_count(shelf, 3);
		at = choose_disp(shelf, -reach / 2, reach);
		blocks->displacements[i] = at;
		blocks->types[i] = choose_old(shelf);
	}
}

/* Displacements that a normaliser likes to take for a stride: equal steps, or nearly. */
static void even_out(struct shelf *shelf, struct blocks *blocks)
{
	ptrdiff_t step = choose_between(shelf->choices, -8, 24);

	for (size_t i = 1; i < blocks->count; i++) {
		blocks->lengths[i] = blocks->lengths[0];
		blocks->types[i] = blocks->types[0];
		if (__builtin_add_overflow(blocks->displacements[i - 1], step,
					   &blocks->displacements[i]))
			blocks->displacements[i] = 0;
	}
	if (blocks->count && chance(shelf->choices, 3) &&
	    blocks->displacements[blocks->count - 1] < PTRDIFF_MAX)
		blocks->displacements[blocks->count - 1]++;
}

/* ---- constructors -------------------------------------------------------------------- */

/* Each makes one type out of those on the shelf, or answers the refusal. */
typedef int (*make_fn)(struct shelf *shelf, struct dtconv_type **type);

static int make_contiguous(struct shelf *shelf, struct dtconv_type **type)
{
	return dtconv_type_create_contiguous(choose_count(shelf, 6), choose_old(shelf),
					     type);
}

static int make_vector(struct shelf *shelf, struct dtconv_type **type)
{
	size_t count = choose_count(shelf, 6);
	size_t length = choose_count(shelf, 4);
	ptrdiff_t stride = choose_disp(shelf, -5, 9);

	return dtconv_type_create_vector(count, length, stride, choose_old(shelf), type);
}

static int make_hvector(struct shelf *shelf, struct dtconv_type **type)
{
	size_t count = choose_count(shelf, 12);
	size_t length = choose_count(shelf, 9);
	ptrdiff_t stride = choose_disp(shelf, -40, 80);

	return dtconv_type_create_hvector(count, length, stride, choose_old(shelf), type);
}

static int make_indexed(struct shelf *shelf, struct dtconv_type **type)
{
	struct blocks blocks;

	choose_blocks(shelf, 12, &blocks);
	if (chance(shelf->choices, 3))
		even_out(shelf, &blocks);
	return dtconv_type_create_indexed(blocks.count, blocks.lengths,
					  blocks.displacements, choose_old(shelf), type);
}

static int make_hindexed(struct shelf *shelf, struct dtconv_type **type)
{
	struct blocks blocks;

	choose_blocks(shelf, 96, &blocks);
	if (chance(shelf->choices, 3))
		even_out(shelf, &blocks);
	return dtconv_type_create_hindexed(blocks.count, blocks.lengths,
					   blocks.displacements, choose_old(shelf), type);
}

static int make_indexed_block(struct shelf *shelf, struct dtconv_type **type)
{
	struct blocks blocks;

	choose_blocks(shelf, 12, &blocks);
	return dtconv_type_create_indexed_block(blocks.count, choose_count(shelf, 3),
						blocks.displacements, choose_old(shelf),
						type);
}

static int make_hindexed_block(struct shelf *shelf, struct dtconv_type **type)
{
	struct blocks blocks;

	choose_blocks(shelf, 96, &blocks);
	return dtconv_type_create_hindexed_block(blocks.count, choose_count(shelf, 5),
						 blocks.displacements, choose_old(shelf),
						 type);
}

static int make_struct(struct shelf *shelf, struct dtconv_type **type)
{
	struct blocks blocks;

	choose_blocks(shelf, 128, &blocks);
	if (chance(shelf->choices, 4))
		even_out(shelf, &blocks);
	return dtconv_type_create_struct(shelf->context, blocks.count, blocks.lengths,
					 blocks.displacements, blocks.types, type);
}

static int make_subarray(struct shelf *shelf, struct dtconv_type **type)
{
	size_t dimensions = 1 + choose(shelf->choices, MAX_DIMENSIONS);
	size_t sizes[MAX_DIMENSIONS], subsizes[MAX_DIMENSIONS], starts[MAX_DIMENSIONS];

	for (size_t i = 0; i < dimensions; i++) {
		sizes[i] = 1 + choose(shelf->choices, 5);
		subsizes[i] = 1 + choose(shelf->choices, sizes[i]);
		starts[i] = choose(shelf->choices, sizes[i] - subsizes[i] + 1);
		if (go_wild(shelf))
			sizes[i] = extreme(shelf);
	}
	return dtconv_type_create_subarray(dimensions, sizes, subsizes, starts,
					   (enum dtconv_order)choose(shelf->choices, 2),
					   choose_old(shelf), type);
}

static int make_darray(struct shelf *shelf, struct dtconv_type **type)
{
	size_t dimensions = 1 + choose(shelf->choices, MAX_DIMENSIONS);
	size_t sizes[MAX_DIMENSIONS], arguments[MAX_DIMENSIONS],
		processes[MAX_DIMENSIONS];
	enum dtconv_distribution dealt[MAX_DIMENSIONS];
	size_t all = 1;

	for (size_t i = 0; i < dimensions; i++) {
		size_t kind = choose(shelf->choices, 4);
		size_t block = choose(shelf->choices, 5);

		sizes[i] = go_wild(shelf) ? extreme(shelf)
					  : 1 + choose(shelf->choices, 6);
		dealt[i] = (enum dtconv_distribution)(kind % 3);
		processes[i] = dealt[i] == DTCONV_DISTRIBUTE_NONE
				       ? 1
				       : 1 + choose(shelf->choices, 3);
		arguments[i] = block ? block : DTCONV_DISTRIBUTE_DFLT_DARG;
		all *= processes[i];
	}
	return dtconv_type_create_darray(all, choose(shelf->choices, all), dimensions,
					 sizes, dealt, arguments, processes,
					 (enum dtconv_order)choose(shelf->choices, 2),
					 choose_old(shelf), type);
}

static int make_resized(struct shelf *shelf, struct dtconv_type **type)
{
	ptrdiff_t lb = choose_disp(shelf, -24, 24);
	ptrdiff_t extent = choose_disp(shelf, -32, 96);

	return dtconv_type_create_resized(choose_old(shelf), lb, extent, type);
}

static int make_dup(struct shelf *shelf, struct dtconv_type **type)
{
	return dtconv_type_create_dup(choose_old(shelf), type);
}

static int make_predefined(struct shelf *shelf, struct dtconv_type **type)
{
	size_t which = choose(shelf->choices, DTCONV_PREDEFINED_COUNT);

	*type = dtconv_type_predefined(shelf->context, (enum dtconv_predefined)which);
	return 0;
}

static int make_f90(struct shelf *shelf, struct dtconv_type **type)
{
	size_t digits = choose_count(shelf, 40);

	switch (choose(shelf->choices, 3)) {
	case 0:
		return dtconv_type_create_f90_real(shelf->context, digits,
						   DTCONV_UNDEFINED, type);
	case 1:
		return dtconv_type_create_f90_complex(shelf->context, DTCONV_UNDEFINED,
						      digits, type);
	default:
		return dtconv_type_create_f90_integer(shelf->context, digits, type);
	}
}

static int make_value_index(struct shelf *shelf, struct dtconv_type **type)
{
	return dtconv_type_create_value_index(choose_old(shelf), choose_old(shelf), type);
}

/* ---- the shelf ----------------------------------------------------------------------- */

static bool near(const struct type_bounds *bounds, ptrdiff_t value)
{
	return value <= (ptrdiff_t)bounds->span && value >= -(ptrdiff_t)bounds->span;
}

static bool allowed(const struct type_bounds *bounds, const struct dtconv_type *type)
{
	struct dtconv_type_attr attr = { .struct_size = sizeof(attr) };

	dtconv_type_query(type, &attr);
	return bounds->wild ||
	       (attr.size <= bounds->bytes && near(bounds, attr.true_lb) &&
		near(bounds, attr.true_lb + attr.true_extent) && near(bounds, attr.lb) &&
		near(bounds, attr.lb + attr.extent));
}

/* One step: the new type takes a place, unless it was refused or is too large. */
static void make_one(struct shelf *shelf, size_t place)
{
	/* The ones that shape layouts stand first: a fuzzer's zero bytes choose them. */
	static const make_fn makes[] = {
		make_vector,      make_hvector,        make_indexed,
		make_hindexed,    make_struct,         make_resized,
		make_contiguous,  make_subarray,       make_indexed_block,
		make_darray,      make_hindexed_block, make_dup,
		make_predefined,  make_vector,         make_f90,
		make_value_index,
	};
	make_fn make = makes[choose(shelf->choices, sizeof(makes) / sizeof(makes[0]))];
	struct dtconv_type *type = NULL;

	if (make(shelf, &type))
		return;
	if (!allowed(shelf->bounds, type)) {
		dtconv_type_unref(type);
		return;
	}
	dtconv_type_unref(shelf->types[place]);
	shelf->types[place] = type;
}

struct dtconv_type *type_choose(struct dtconv_context *context, struct choices *choices,
				const struct type_bounds *bounds)
{
	static const enum dtconv_predefined basics[SHELF] = { DTCONV_INT, DTCONV_DOUBLE,
							      DTCONV_BYTE,
							      DTCONV_SHORT_INT };
	struct shelf shelf = {
		.context = context,
		.choices = choices,
		.bounds = bounds,
	};
	size_t steps = 1 + choose(choices, MAX_STEPS);

	for (size_t i = 0; i < SHELF; i++)
		shelf.types[i] = dtconv_type_predefined(context, basics[i]);
	/* The last step's type is the answer, so it always goes to the first place. */
	for (size_t i = 1; i < steps; i++)
		make_one(&shelf, choose(choices, SHELF));
	make_one(&shelf, 0);
	for (size_t i = 1; i < SHELF; i++)
		dtconv_type_unref(shelf.types[i]);
	return shelf.types[0];
}
