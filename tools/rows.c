/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds rows by following a type's description from the outside to its elements and collecting
 * the strides on the way. The members of a struct have to agree. It reads descriptions only,
 * never the runs.
 */
#include "config.h"

#include "rows.h"

#include "contents.h"

#include <stdbool.h>
#include <string.h>

/* Bounds of the search in deep and wide descriptions. */
#define MAX_STRIDES 32
#define MAX_DEPTH   200
#define MAX_MEMBERS 4096

/* Fewer equally spaced blocks of an indexed type are no rows. */
#define MIN_EQUAL_STEPS 2

/* What one path through a description has met. */
struct chain {
	size_t strides[MAX_STRIDES]; /* ascending */
	size_t count;
	ptrdiff_t origin;
	const struct dtconv_type *type; /* where the path has come to */
	size_t element_bytes;           /* size of the leaf, 0 if not reached */
	size_t element_extent;          /* its extent, as the last resized says */
	bool resized;                   /* nothing but resized since element_extent */
};

static size_t magnitude(ptrdiff_t value)
{
	return value < 0 ? 0 - (size_t)value : (size_t)value;
}

static void query(const struct dtconv_type *type, struct dtconv_type_attr *attr)
{
	*attr = (struct dtconv_type_attr){ .struct_size = sizeof(*attr) };
	dtconv_type_query(type, attr);
}

/* ---- strides ------------------------------------------------------------------------ */

/* Add one in ascending order. */
static void add_stride(struct chain *chain, size_t bytes)
{
	size_t at = chain->count;

	if (bytes == 0 || chain->count == MAX_STRIDES)
		return;
	for (; at > 0 && chain->strides[at - 1] > bytes; at--)
		chain->strides[at] = chain->strides[at - 1];
	chain->strides[at] = bytes;
	chain->count++;
}

/* Blocks of elements at equal distances. */
struct blocks {
	size_t count;
	size_t length;
	size_t stride; /* bytes, 0 if the distances differ */
};

/* Blocks that neither overlap nor touch are rows, and so are touching ones with gaps. */
static void add_blocks(struct chain *chain, const struct dtconv_type *element,
		       const struct blocks *blocks)
{
	struct dtconv_type_attr attr;
	size_t block_bytes;

	query(element, &attr);
	if (blocks->length > 1 && !attr.contiguous)
		add_stride(chain, magnitude(attr.extent));
	if (blocks->count < 2 ||
	    __builtin_mul_overflow(blocks->length, magnitude(attr.extent), &block_bytes))
		return;
	if (blocks->stride > block_bytes ||
	    (blocks->stride == block_bytes && !attr.contiguous))
		add_stride(chain, blocks->stride);
}

/* Elements one behind the other. */
static void add_elements(struct chain *chain, const struct dtconv_type *element,
			 size_t count)
{
	add_blocks(chain, element, &(struct blocks){ .count = 1, .length = count });
}

static void add_vector(struct chain *chain, const struct contents *contents)
{
	bool in_bytes = contents->envelope.combiner == DTCONV_COMBINER_HVECTOR;
	size_t stride = magnitude(contents->displacements[0]);
	struct dtconv_type_attr attr;

	query(contents->types[0], &attr);
	if (!in_bytes && __builtin_mul_overflow(stride, magnitude(attr.extent), &stride))
		return;
	add_blocks(chain, contents->types[0],
		   &(struct blocks){ contents->counts[0], contents->counts[1], stride });
}

/* The distance of all neighbouring displacements, 0 if they are not equally spaced. */
static ptrdiff_t equal_step(const ptrdiff_t *displacements, size_t count)
{
	ptrdiff_t step;

	if (count < MIN_EQUAL_STEPS + 1 ||
	    __builtin_sub_overflow(displacements[1], displacements[0], &step))
		return 0;
	for (size_t i = 2; i < count; i++) {
		ptrdiff_t next;

		if (__builtin_sub_overflow(displacements[i], displacements[i - 1],
					   &next) ||
		    next != step)
			return 0;
	}
	return step;
}

/* Whether all blocks have the length of the first one; there may be one length for all. */
static bool equal_lengths(const struct contents *contents)
{
	for (size_t i = 2; i < contents->envelope.count_count; i++) {
		if (contents->counts[i] != contents->counts[1])
			return false;
	}
	return contents->envelope.count_count > 1;
}

/* Equal blocks at equal distances are a vector. Other indexed types imply no rows. */
static void add_indexed(struct chain *chain, const struct contents *contents)
{
	enum dtconv_combiner combiner = contents->envelope.combiner;
	bool in_bytes = combiner == DTCONV_COMBINER_HINDEXED ||
			combiner == DTCONV_COMBINER_HINDEXED_BLOCK;
	struct blocks blocks = { .count = contents->counts[0] };
	struct dtconv_type_attr attr;
	ptrdiff_t first = blocks.count > 0 ? contents->displacements[0] : 0;

	query(contents->types[0], &attr);
	if (equal_lengths(contents)) {
		blocks.length = contents->counts[1];
		blocks.stride =
			magnitude(equal_step(contents->displacements, blocks.count));
	}
	if (!in_bytes && (__builtin_mul_overflow(blocks.stride, magnitude(attr.extent),
						 &blocks.stride) ||
			  __builtin_mul_overflow(first, attr.extent, &first)))
		return;
	add_blocks(chain, contents->types[0], &blocks);
	chain->origin = (ptrdiff_t)((size_t)chain->origin + (size_t)first);
}

/* Each dimension of a whole array, of which a subarray or a share of it is taken. */
static void add_array(struct chain *chain, const struct dtconv_type *element,
		      const size_t *sizes, size_t dimensions, size_t order)
{
	struct dtconv_type_attr attr;
	size_t stride;

	query(element, &attr);
	stride = magnitude(attr.extent);
	for (size_t i = 0; i < dimensions; i++) {
		bool c = order == DTCONV_ORDER_C;

		add_stride(chain, stride);
		if (__builtin_mul_overflow(stride, sizes[c ? dimensions - 1 - i : i],
					   &stride))
			return;
	}
}

static void add_subarray(struct chain *chain, const struct contents *contents)
{
	size_t dimensions = contents->counts[0];

	add_array(chain, contents->types[0], contents->counts + 1, dimensions,
		  contents->counts[1 + 3 * dimensions]);
}

static void add_darray(struct chain *chain, const struct contents *contents)
{
	size_t dimensions = contents->counts[2];

	add_array(chain, contents->types[0], contents->counts + 3, dimensions,
		  contents->counts[3 + 4 * dimensions]);
}

/* ---- following ---------------------------------------------------------------------- */

/* The members that have data: their number and one of them. */
static size_t count_members(const struct contents *contents, size_t *found)
{
	size_t members = 0;

	for (size_t i = contents->envelope.type_count; i-- > 0;) {
		struct dtconv_type_attr attr;

		query(contents->types[i], &attr);
		if (contents->counts[1 + i] > 0 && attr.size > 0) {
			*found = i;
			members++;
		}
	}
	return members;
}

static void enter_member(struct chain *chain, const struct contents *contents,
			 size_t member)
{
	add_elements(chain, contents->types[member], contents->counts[1 + member]);
	chain->origin = (ptrdiff_t)((size_t)chain->origin +
				    (size_t)contents->displacements[member]);
	chain->type = contents->types[member];
	chain->resized = false;
}

static void end_chain(struct chain *chain)
{
	struct dtconv_type_attr attr;

	query(chain->type, &attr);
	chain->element_bytes = attr.size;
	if (!chain->resized)
		chain->element_extent = magnitude(attr.extent);
}

/* Add the levels of a constructor with a single type. */
static void add_constructor(struct chain *chain, const struct contents *contents)
{
	switch (contents->envelope.combiner) {
	case DTCONV_COMBINER_CONTIGUOUS:
		add_elements(chain, contents->types[0], contents->counts[0]);
		break;
	case DTCONV_COMBINER_VECTOR:
	case DTCONV_COMBINER_HVECTOR:
		add_vector(chain, contents);
		break;
	case DTCONV_COMBINER_INDEXED:
	case DTCONV_COMBINER_HINDEXED:
	case DTCONV_COMBINER_INDEXED_BLOCK:
	case DTCONV_COMBINER_HINDEXED_BLOCK:
		add_indexed(chain, contents);
		break;
	case DTCONV_COMBINER_SUBARRAY:
		add_subarray(chain, contents);
		break;
	case DTCONV_COMBINER_DARRAY:
		add_darray(chain, contents);
		break;
	default:
		break;
	}
}

/* A resized type gives all elements below it another extent. */
static void note_resized(struct chain *chain, enum dtconv_combiner combiner)
{
	struct dtconv_type_attr attr;

	if (combiner == DTCONV_COMBINER_DUP)
		return;
	if (combiner == DTCONV_COMBINER_RESIZED && !chain->resized) {
		query(chain->type, &attr);
		chain->element_extent = magnitude(attr.extent);
	}
	chain->resized = combiner == DTCONV_COMBINER_RESIZED;
}

/* Go one constructor inwards; `more` is false at an element or at several members. */
static int follow_once(struct chain *chain, bool *more)
{
	struct contents contents;
	int status = contents_query(&contents, chain->type);
	enum dtconv_combiner combiner = contents.envelope.combiner;
	size_t member = 0;

	*more = false;
	if (status == 0 && combiner == DTCONV_COMBINER_STRUCT) {
		*more = count_members(&contents, &member) == 1;
		if (*more)
			enter_member(chain, &contents, member);
	} else if (status == 0 && contents.envelope.type_count == 1) {
		note_resized(chain, combiner);
		add_constructor(chain, &contents);
		chain->type = contents.types[0];
		*more = true;
	} else if (status == 0) {
		end_chain(chain);
	}
	contents_release(&contents);
	return status;
}

static int follow(struct chain *chain, const struct dtconv_type *type)
{
	bool more = true;
	int status = 0;

	*chain = (struct chain){ .type = type };
	for (size_t depth = 0; depth < MAX_DEPTH && more && status == 0; depth++)
		status = follow_once(chain, &more);
	return status;
}

/* ---- from strides to rows ------------------------------------------------------------ */

/*
 * Whether a stride forms another level: rows hold several elements, planes several rows. Planes
 * may be padded; the levels above consist of whole planes.
 */
static bool is_level(const struct rows *rows, size_t stride, size_t element_extent)
{
	size_t below = rows->levels ? rows->strides[rows->levels - 1] : element_extent;

	if (rows->levels == 0)
		return stride > below;
	return stride / 2 >= below && (rows->levels == 1 || stride % below == 0);
}

/* Keep the strides of a chain that cut memory into rows and planes. */
static void make_levels(const struct chain *chain, struct rows *rows)
{
	size_t element_extent = chain->element_extent;
	bool spaced = chain->element_bytes < element_extent;

	rows->levels = 0;
	for (size_t i = 0; i < chain->count; i++) {
		if (rows->levels < ROWS_MAX_LEVELS &&
		    is_level(rows, chain->strides[i], element_extent))
			rows->strides[rows->levels++] = chain->strides[i];
	}
	/* single elements with gaps between them: a row for each */
	if (rows->levels == 0 && spaced && chain->count > 0 &&
	    chain->strides[chain->count - 1] == element_extent)
		rows->strides[rows->levels++] = element_extent;
}

static bool same_levels(const struct rows *a, const struct rows *b)
{
	return a->levels == b->levels &&
	       memcmp(a->strides, b->strides, a->levels * sizeof(a->strides[0])) == 0;
}

/* ---- several members ----------------------------------------------------------------- */

/* What the members of a struct have in common. */
struct consensus {
	struct rows rows;
	struct chain chain; /* the first one with rows, or else the first one */
	bool begun;
	bool agree;
};

static int ask_member(struct consensus *consensus, const struct contents *contents,
		      size_t member)
{
	struct chain chain;
	struct rows rows;
	int status = follow(&chain, contents->types[member]);

	if (status)
		return status;
	make_levels(&chain, &rows);
	chain.origin = (ptrdiff_t)((size_t)chain.origin +
				   (size_t)contents->displacements[member]);
	if (!consensus->begun) {
		consensus->rows.element_bytes = chain.element_bytes;
		consensus->chain = chain;
	} else if (consensus->rows.element_bytes != chain.element_bytes) {
		consensus->rows.element_bytes = 0;
	}
	consensus->begun = true;
	if (rows.levels == 0)
		return 0;
	if (consensus->rows.levels == 0) {
		rows.element_bytes = consensus->rows.element_bytes;
		consensus->rows = rows;
		consensus->chain = chain;
	}
	consensus->agree = consensus->agree && same_levels(&rows, &consensus->rows);
	return 0;
}

static int ask_members(const struct dtconv_type *type, struct consensus *consensus)
{
	struct contents contents;
	int status = contents_query(&contents, type);
	bool is_struct = contents.envelope.combiner == DTCONV_COMBINER_STRUCT;
	size_t members = is_struct ? contents.envelope.type_count : 0;

	consensus->agree = members <= MAX_MEMBERS;
	for (size_t i = 0; i < members && consensus->agree && status == 0; i++) {
		if (contents.counts[1 + i] > 0)
			status = ask_member(consensus, &contents, i);
	}
	contents_release(&contents);
	return status;
}

/* Join the strides around a struct with those that all its members have. */
static void join_members(struct chain *outer, const struct consensus *consensus,
			 struct rows *rows)
{
	struct dtconv_type_attr attr;

	rows->element_bytes = consensus->agree ? consensus->rows.element_bytes : 0;
	if (!consensus->agree)
		return;
	for (size_t i = 0; i < consensus->rows.levels; i++)
		add_stride(outer, consensus->rows.strides[i]);
	query(outer->type, &attr);
	outer->element_bytes = consensus->chain.element_bytes;
	/* without rows inside, a whole struct is an element */
	outer->element_extent = consensus->rows.levels ? consensus->chain.element_extent
						       : magnitude(attr.extent);
	make_levels(outer, rows);
	rows->origin =
		(ptrdiff_t)((size_t)outer->origin +
			    (consensus->rows.levels ? (size_t)consensus->chain.origin
						    : 0));
}

int rows_find(const struct dtconv_type *type, struct rows *rows)
{
	struct consensus consensus = { .begun = false };
	struct chain chain;
	int status = follow(&chain, type);

	*rows = (struct rows){ .levels = 0 };
	if (status)
		return status;
	if (chain.element_bytes > 0) {
		rows->element_bytes = chain.element_bytes;
		rows->origin = chain.origin;
		make_levels(&chain, rows);
		return 0;
	}
	status = ask_members(chain.type, &consensus);
	if (status == 0 && consensus.begun)
		join_members(&chain, &consensus, rows);
	return status;
}
