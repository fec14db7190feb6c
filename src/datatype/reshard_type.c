/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The type of a message at one of its ends. Elements of a piece come in the order of the source's strides at both
 * ends. Consecutive pieces that look alike in the buffer become one list of blocks.
 */
#include "config.h"

#include "reshard.h"

#include "base/base.h"
#include "base/checked.h"
#include "base/log.h"
#include "type.h"

/* How a piece lies in a buffer: runs of consecutive elements, repeated, the innermost repetition first. */
struct nest {
	size_t run; /* elements */
	size_t depth;
	size_t counts[DTCONV_RESHARD_NDIMS_MAX];
	ptrdiff_t strides[DTCONV_RESHARD_NDIMS_MAX];
};

struct building {
	const struct dtconv_reshard *reshard;
	const char *caller;
	bool of_source;
	struct nest nest; /* of the blocks that follow */
	struct dtc_vec lengths, displacements;
	/* Members of the struct, complete. */
	struct dtc_vec types, ones, zeros;
};

static int no_memory(const struct building *building)
{
	return DTC_FAIL(building->reshard->context, DTCONV_ERR_NOMEM,
			"%s: cannot allocate the type of a message", building->caller);
}

/* ---- one piece ------------------------------------------------------------------------- */

static size_t extent_of(const struct dtc_piece *piece, size_t d)
{
	return piece->corners[piece->ndims + d] - piece->corners[d];
}

/* Sort the dimensions of more than one element by the source's strides, the shortest first. Returns their number. */
static size_t sort_dimensions(const struct dtc_piece *piece, size_t *dimensions)
{
	size_t count = 0;

	for (size_t d = piece->ndims; d-- > 0;) {
		const uint64_t stride = dtc_magnitude(piece->source->strides[d]);
		size_t i = count;

		if (extent_of(piece, d) == 1)
			continue;
		for (; i > 0 &&
		       dtc_magnitude(piece->source->strides[dimensions[i - 1]]) > stride;
		     i--)
			dimensions[i] = dimensions[i - 1];
		dimensions[i] = d;
		count++;
	}
	return count;
}

static void fill_nest(const struct building *building, const struct dtc_piece *piece,
		      const struct dtc_shard *shard, struct nest *nest)
{
	const ptrdiff_t extent = dtc_bounds_extent(&building->reshard->element->bounds);
	size_t dimensions[DTCONV_RESHARD_NDIMS_MAX];
	const size_t count = sort_dimensions(piece, dimensions);

	*nest = (struct nest){ .run = 1 };
	for (size_t i = 0; i < count; i++) {
		const ptrdiff_t stride = shard->strides[dimensions[i]];
		const size_t n = extent_of(piece, dimensions[i]);

		if (nest->depth == 0 && dtc_is_product(stride, nest->run, extent)) {
			nest->run *= n;
			continue;
		}
		nest->counts[nest->depth] = n;
		nest->strides[nest->depth++] = stride;
	}
}

/* Of the piece's first element. It lies between those of the box, which have been checked. */
static ptrdiff_t displacement_of(const struct dtc_piece *piece,
				 const struct dtc_shard *shard)
{
	ptrdiff_t disp = shard->offset;

	for (size_t d = 0; d < piece->ndims; d++)
		disp += (ptrdiff_t)(piece->corners[d] - shard->corners[d]) *
			shard->strides[d];
	return disp;
}

/* Whether pieces can be blocks of one list. Lists of single runs may have runs of any length. */
static bool are_alike(const struct nest *a, const struct nest *b)
{
	if (a->depth == 0 || b->depth == 0)
		return a->depth == b->depth;
	if (a->run != b->run || a->depth != b->depth)
		return false;
	for (size_t i = 0; i < a->depth; i++)
		if (a->counts[i] != b->counts[i] || a->strides[i] != b->strides[i])
			return false;
	return true;
}

/* ---- lists of blocks ------------------------------------------------------------------- */

/* A block's type: repetitions around repetitions of a run. */
static int create_nest(const struct building *building, struct dtconv_type **newtype)
{
	const struct nest *nest = &building->nest;
	struct dtconv_type *type = dtconv_type_ref(building->reshard->element);
	size_t run = nest->run;
	int status = 0;

	for (size_t i = 0; i < nest->depth && !status; i++) {
		struct dtconv_type *inner = type;

		type = NULL;
		status = dtconv_type_create_hvector(nest->counts[i], run,
						    nest->strides[i], inner, &type);
		dtconv_type_unref(inner);
		run = 1;
	}
	*newtype = type;
	return status;
}

static int create_list(const struct building *building, struct dtconv_type **newtype)
{
	const ptrdiff_t *displacements = building->displacements.items;
	const size_t count = building->displacements.count;
	struct dtconv_type *block;

	if (building->nest.depth == 0)
		return dtconv_type_create_hindexed(count, building->lengths.items,
						   displacements,
						   building->reshard->element, newtype);
	int status = create_nest(building, &block);
	if (!status)
		status = dtconv_type_create_hindexed_block(count, 1, displacements, block,
							   newtype);
	dtconv_type_unref(block);
	return status;
}

static bool push_member(struct building *building, struct dtconv_type *const *type)
{
	struct dtconv_context *context = building->reshard->context;
	const size_t one = 1;
	const ptrdiff_t zero = 0;

	return dtc_vec_push(context, &building->ones, &one) &&
	       dtc_vec_push(context, &building->zeros, &zero) &&
	       dtc_vec_push(context, &building->types, type);
}

/* Make the blocks that have been listed a member. */
static int finish_list(struct building *building)
{
	struct dtconv_type *list;

	if (building->displacements.count == 0)
		return 0;
	int status = create_list(building, &list);
	if (status)
		return status;
	building->lengths.count = building->displacements.count = 0;
	if (push_member(building, &list))
		return 0;
	dtconv_type_unref(list);
	return no_memory(building);
}

static int add_piece(struct building *building, const struct dtc_piece *piece)
{
	struct dtconv_context *context = building->reshard->context;
	const struct dtc_shard *shard = building->of_source ? piece->source
							    : piece->target;
	const ptrdiff_t displacement = displacement_of(piece, shard);
	struct nest nest;
	int status = 0;

	fill_nest(building, piece, shard, &nest);
	if (!are_alike(&nest, &building->nest))
		status = finish_list(building);
	if (status)
		return status;
	building->nest = nest;
	return dtc_vec_push(context, &building->lengths, &nest.run) &&
			       dtc_vec_push(context, &building->displacements,
					    &displacement)
		       ? 0
		       : no_memory(building);
}

/* ---- the message ----------------------------------------------------------------------- */

static int finish_message(struct building *building, struct dtconv_type **newtype)
{
	struct dtconv_type **types;
	int status = finish_list(building);

	if (status)
		return status;
	types = building->types.items;
	if (building->types.count == 1)
		*newtype = dtconv_type_ref(types[0]);
	else
		status = dtconv_type_create_struct(building->reshard->context,
						   building->types.count,
						   building->ones.items,
						   building->zeros.items, types, newtype);
	if (status)
		return status;
	status = dtconv_type_commit(*newtype);
	if (status)
		dtconv_type_unref(*newtype);
	return status;
}

static void end(struct building *building)
{
	struct dtconv_context *context = building->reshard->context;
	struct dtconv_type **types = building->types.items;

	for (size_t i = 0; i < building->types.count; i++)
		dtconv_type_unref(types[i]);
	dtc_free(context, building->lengths.items);
	dtc_free(context, building->displacements.items);
	dtc_free(context, building->types.items);
	dtc_free(context, building->ones.items);
	dtc_free(context, building->zeros.items);
}

int dtc_reshard_type(const struct dtconv_reshard *reshard, const char *caller,
		     const struct dtc_vec *pieces, size_t first, size_t count,
		     bool of_source, struct dtconv_type **type)
{
	struct building building = { .reshard = reshard,
				     .caller = caller,
				     .of_source = of_source,
				     .lengths.width = sizeof(size_t),
				     .displacements.width = sizeof(ptrdiff_t),
				     .types.width = sizeof(struct dtconv_type *),
				     .ones.width = sizeof(size_t),
				     .zeros.width = sizeof(ptrdiff_t) };
	int status = 0;

	for (size_t i = first; i < first + count && !status; i++)
		status = add_piece(&building, dtc_piece_at(pieces, i));
	if (!status)
		status = finish_message(&building, type);
	end(&building);
	return status;
}
