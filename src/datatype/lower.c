/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lowering: converts a tree of types to one program, children first. The tree may be deep and
 * have shared branches, so the walk has its own stack and memoises programs.
 */
#include "config.h"

#include "lower.h"

#include "base/base.h"
#include "build.h"
#include "dimension.h"
#include "layout.h"
#include "predefined_types.h"

/* ---- memoised programs ----------------------------------------------------------------- */

struct entry {
	const struct dtconv_type *type;
	struct dtc_program *program;
};

/* A hash table with open addressing. Its capacity is a power of two, and it is never full. */
struct memo {
	struct entry *entries;
	size_t capacity, used;
};

static size_t slot_of(const struct memo *memo, const struct dtconv_type *type)
{
	size_t mask = memo->capacity - 1;
	uint64_t hash = ((uintptr_t)type >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 20;
	size_t slot = (size_t)hash & mask;

	while (memo->entries[slot].type && memo->entries[slot].type != type)
		slot = (slot + 1) & mask;
	return slot;
}

static bool memo_grow(struct memo *memo, struct dtconv_context *context)
{
	struct memo larger = {.capacity = memo->capacity ? 2 * memo->capacity : 16};

	larger.entries = dtc_alloc_zeroed(context, larger.capacity * sizeof(struct entry));
	if (!larger.entries)
		return false;
	for (size_t i = 0; i < memo->capacity; i++)
		if (memo->entries[i].type)
			larger.entries[slot_of(&larger, memo->entries[i].type)] =
				memo->entries[i];
	larger.used = memo->used;
	dtc_free(context, memo->entries);
	*memo = larger;
	return true;
}

static void memo_drop(struct memo *memo, struct dtconv_context *context)
{
	for (size_t i = 0; i < memo->capacity; i++)
		dtc_program_unref(memo->entries[i].program);
	dtc_free(context, memo->entries);
}

/* The memoised program of a type, borrowed; NULL if there is none. */
static struct dtc_program *known(const struct memo *memo, const struct dtconv_type *type)
{
	assert(type);
	const struct dtc_layout *layout = dtc_type_layout(type);

	if (layout)
		return layout->program;
	if (type->program)
		return type->program;
	return memo->capacity ? memo->entries[slot_of(memo, type)].program : NULL;
}

static bool remember(struct memo *memo, const struct dtconv_type *type,
		     struct dtc_program *program)
{
	if (2 * memo->used >= memo->capacity && !memo_grow(memo, type->context))
		return false;
	memo->entries[slot_of(memo, type)] = (struct entry){type, program};
	memo->used++;
	return true;
}

/* ---- one type whose children are lowered ------------------------------------------------ */

static size_t count_at(const struct dtconv_type *type, size_t i)
{
	return (size_t)dtc_ints_get(&type->counts, i);
}

static ptrdiff_t extent_of(const struct dtconv_type *type)
{
	return dtc_bounds_extent(&type->bounds);
}

static struct dtc_program *shift(struct dtc_program *program, int64_t disp)
{
	const struct dtc_program_part part = {program, disp};

	if (disp == 0 || program->op_count == 0)
		return dtc_program_ref(program);
	return dtc_program_create_sequence(program->context, 1, &part);
}

/* A Fortran kind; predefined types have their layouts from the start. */
static struct dtc_program *lower_kind(const struct dtconv_type *type)
{
	const struct dtconv_type *same =
		dtc_predefined_type(type->context, type->predefined);

	return dtc_program_ref(dtc_type_layout(same)->program);
}

static struct dtc_program *lower_value_index(const struct dtconv_type *type,
					     const struct memo *memo)
{
	int64_t disp = dtc_value_index_disp(type->types[0], type->types[1]);

	return dtc_program_create_sequence(
		type->context, 2,
		(const struct dtc_program_part[]){{known(memo, type->types[0]), 0},
						  {known(memo, type->types[1]), disp}});
}

static struct dtc_program *lower_strided(const struct dtconv_type *type,
					 struct dtc_program *old)
{
	ptrdiff_t extent = extent_of(type->types[0]);
	ptrdiff_t stride = (ptrdiff_t)dtc_ints_get(&type->displacements, 0);
	struct dtc_program *block, *strided = NULL;

	if (type->combiner == DTCONV_COMBINER_VECTOR)
		stride *= extent;
	block = dtc_program_create_repeat(old, count_at(type, 1), extent);
	if (block)
		strided = dtc_program_create_repeat(block, count_at(type, 0), stride);
	dtc_program_unref(block);
	return strided;
}

static void fetch_blocks(const void *source, uint64_t first, uint64_t n, int64_t disps[],
			 uint64_t lengths[])
{
	const struct dtconv_type *type = source;

	dtc_ints_fetch(&type->displacements, first, n, disps);
	if (type->combiner == DTCONV_COMBINER_INDEXED_BLOCK ||
	    type->combiner == DTCONV_COMBINER_HINDEXED_BLOCK) {
		for (uint64_t i = 0; i < n; i++)
			lengths[i] = count_at(type, 0);
		return;
	}
	dtc_ints_fetch(&type->counts, first, n, (int64_t *)lengths);
}

static struct dtc_program *lower_blocks(const struct dtconv_type *type,
					struct dtc_program *old)
{
	bool in_elements = type->combiner == DTCONV_COMBINER_INDEXED ||
			   type->combiner == DTCONV_COMBINER_INDEXED_BLOCK;
	ptrdiff_t extent = extent_of(type->types[0]);
	const struct dtc_block_list list = {.count = type->displacements.count,
					    .unit = in_elements ? extent : 1,
					    .extent = extent,
					    .fetch = fetch_blocks,
					    .source = type};

	return dtc_program_create_blocks(old, &list);
}

/* ---- structs ---------------------------------------------------------------------------- */

/* The members of a struct from @first on, as blocks of one type. */
struct member_list {
	const struct dtconv_type *type;
	size_t first;
};

static void fetch_members(const void *source, uint64_t first, uint64_t n, int64_t disps[],
			  uint64_t lengths[])
{
	const struct member_list *members = source;

	dtc_ints_fetch(&members->type->displacements, members->first + first, n, disps);
	dtc_ints_fetch(&members->type->counts, members->first + first, n,
		       (int64_t *)lengths);
}

static size_t members_alike(const struct dtconv_type *type, size_t first)
{
	size_t end = first + 1;

	while (end < type->type_count && type->types[end] == type->types[first])
		end++;
	return end - first;
}

static struct dtc_program *lower_members(const struct dtconv_type *type, size_t first,
					 size_t n, const struct memo *memo)
{
	const struct member_list members = {type, first};
	const struct dtc_block_list list = {.count = n,
					    .unit = 1,
					    .extent = extent_of(type->types[first]),
					    .fetch = fetch_members,
					    .source = &members};

	return dtc_program_create_blocks(known(memo, type->types[first]), &list);
}

static struct dtc_program *lower_struct(const struct dtconv_type *type,
					const struct memo *memo)
{
	struct dtc_program_part *parts;
	struct dtc_program *whole = NULL;
	size_t part_count = 0;

	if (type->type_count == 0)
		return dtc_program_create_empty(type->context);
	parts = dtc_alloc_zeroed(type->context, type->type_count * sizeof(*parts));
	if (!parts)
		return NULL;
	for (size_t i = 0, n; i < type->type_count; i += n) {
		n = members_alike(type, i);
		parts[part_count].program = lower_members(type, i, n, memo);
		if (!parts[part_count++].program)
			goto drop_parts;
	}
	whole = dtc_program_create_sequence(type->context, part_count, parts);
drop_parts:
	for (size_t i = 0; i < part_count; i++)
		dtc_program_unref(parts[i].program);
	dtc_free(type->context, parts);
	return whole;
}

/* ---- arrays ----------------------------------------------------------------------------- */

/* Repeat @inner over one dimension whose elements are @pitch bytes apart. */
static struct dtc_program *spread(struct dtc_program *inner,
				  const struct dtc_dimension *dimension, int64_t pitch)
{
	struct dtc_program *block, *blocks = NULL, *last, *whole = NULL;

	block = dtc_program_create_repeat(inner, dimension->block, pitch);
	if (block)
		blocks = dtc_program_create_repeat(block, dimension->count,
						   (int64_t)dimension->stride * pitch);
	last = dtc_program_create_repeat(inner, dimension->last_length, pitch);
	if (blocks && last)
		whole = dtc_program_create_sequence(
			inner->context, 2,
			(const struct dtc_program_part[]){
				{blocks, (int64_t)dimension->start * pitch},
				{last, (int64_t)dimension->last_start * pitch}});
	dtc_program_unref(block);
	dtc_program_unref(blocks);
	dtc_program_unref(last);
	return whole;
}

static struct dtc_program *lower_array(const struct dtconv_type *type,
				       struct dtc_program *old)
{
	struct dtc_program *program = dtc_program_ref(old);
	int64_t pitch = extent_of(type->types[0]);
	size_t ndims = dtc_dimension_count(type);

	if (type->bounds.size == 0) {
		dtc_program_unref(program);
		return dtc_program_create_empty(type->context);
	}
	for (size_t nth = 0; nth < ndims && program; nth++) {
		struct dtc_dimension dimension = dtc_dimension_of(type, nth);
		struct dtc_program *outer = spread(program, &dimension, pitch);

		dtc_program_unref(program);
		program = outer;
		pitch *= (int64_t)dimension.array_size;
	}
	return program;
}

/* ---- the walk --------------------------------------------------------------------------- */

static struct dtc_program *lower_one(const struct dtconv_type *type, const struct memo *memo)
{
	struct dtc_program *old = type->type_count ? known(memo, type->types[0]) : NULL;

	switch (type->combiner) {
	case DTCONV_COMBINER_NAMED:
	case DTCONV_COMBINER_F90_REAL:
	case DTCONV_COMBINER_F90_COMPLEX:
	case DTCONV_COMBINER_F90_INTEGER:
		return lower_kind(type);
	case DTCONV_COMBINER_VALUE_INDEX:
		return lower_value_index(type, memo);
	case DTCONV_COMBINER_CONTIGUOUS:
		return dtc_program_create_repeat(old, count_at(type, 0),
						 extent_of(type->types[0]));
	case DTCONV_COMBINER_VECTOR:
	case DTCONV_COMBINER_HVECTOR:
		return lower_strided(type, old);
	case DTCONV_COMBINER_INDEXED:
	case DTCONV_COMBINER_HINDEXED:
	case DTCONV_COMBINER_INDEXED_BLOCK:
	case DTCONV_COMBINER_HINDEXED_BLOCK:
		return lower_blocks(type, old);
	case DTCONV_COMBINER_STRUCT:
		return lower_struct(type, memo);
	case DTCONV_COMBINER_SUBARRAY:
	case DTCONV_COMBINER_DARRAY:
		return lower_array(type, old);
	case DTCONV_COMBINER_RESIZED:
	case DTCONV_COMBINER_DUP:
		return shift(old, 0);
	}
	return NULL;
}

/* A type whose children are being lowered, and the next child to visit. */
struct visit {
	const struct dtconv_type *type;
	size_t next_child;
};

struct stack {
	struct visit *visits;
	size_t depth, capacity;
};

static bool push(struct stack *stack, const struct dtconv_type *type)
{
	struct visit *visits;

	if (stack->depth == stack->capacity) {
		size_t capacity = stack->capacity ? 2 * stack->capacity : 16;

		visits = dtc_alloc(type->context, capacity * sizeof(*visits));
		if (!visits)
			return false;
		for (size_t i = 0; i < stack->depth; i++)
			visits[i] = stack->visits[i];
		dtc_free(type->context, stack->visits);
		stack->visits = visits;
		stack->capacity = capacity;
	}
	stack->visits[stack->depth++] = (struct visit){.type = type};
	return true;
}

static const struct dtconv_type *next_unknown_child(struct visit *visit,
						    const struct memo *memo)
{
	while (visit->next_child < visit->type->type_count) {
		const struct dtconv_type *child = visit->type->types[visit->next_child++];

		if (!known(memo, child))
			return child;
	}
	return NULL;
}

/* Lower the type on top of the stack, whose children all have programs. */
static bool lower_top(struct stack *stack, struct memo *memo)
{
	const struct dtconv_type *type = stack->visits[stack->depth - 1].type;
	struct dtc_program *program = lower_one(type, memo);

	if (!program)
		return false;
	if (!remember(memo, type, program)) {
		dtc_program_unref(program);
		return false;
	}
	stack->depth--;
	return true;
}

static bool lower_stack(struct stack *stack, struct memo *memo)
{
	while (stack->depth) {
		const struct dtconv_type *child =
			next_unknown_child(&stack->visits[stack->depth - 1], memo);

		if (child ? !push(stack, child) : !lower_top(stack, memo))
			return false;
	}
	return true;
}

static bool children_known(const struct dtconv_type *type)
{
	for (size_t i = 0; i < type->type_count; i++)
		if (!dtc_type_layout(type->types[i]))
			return false;
	return true;
}

struct dtc_program *dtc_lower(struct dtconv_type *type)
{
	struct dtc_program *program = NULL;
	struct memo memo = {0};
	struct stack stack = {0};

	if (type->program)
		return dtc_program_ref(type->program);
	if (children_known(type))
		return lower_one(type, &memo);
	if (push(&stack, type) && lower_stack(&stack, &memo))
		program = dtc_program_ref(known(&memo, type));
	dtc_free(type->context, stack.visits);
	memo_drop(&memo, type->context);
	return program;
}
