/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Walks typemaps. Each node of the flattened type is a list of blocks; a block is a number of
 * elements of another node, one extent apart. The walk is a loop over a stack of positions.
 */
#include "config.h"

#include "bench/harness/oracle.h"
#include "bench/peers/tree.h"

#include <stdlib.h>
#include <string.h>

#include <dtconv/dtconv.h>

/*
 * Block i holds length(i) elements of child(i) from displacement(i) on; element j is at
 * displacement + j * step. Lengths, displacements and children are tables or, if those are
 * NULL, equal or evenly spaced.
 */
struct node {
	bool dense; /* a run of `size` bytes from 0 on, without blocks */
	size_t size;
	ptrdiff_t extent;
	size_t blocks;
	const uint64_t *lengths;
	size_t length;
	const int64_t *displacements;
	ptrdiff_t scale;          /* bytes a table's displacement counts in */
	ptrdiff_t pitch;          /* from one block to the next, without a table */
	const uint64_t *children; /* numbers of tree nodes */
	size_t child;             /* index into nodes */
	ptrdiff_t element_step;   /* 0: the child's extent */
	uint64_t *own;            /* tables made here */
};

struct position {
	const struct node *node;
	size_t block;
	size_t element;
	ptrdiff_t base;
};

struct oracle {
	struct tree tree;
	struct node *nodes;
	size_t node_count;
	size_t node_room;
	size_t *of_tree; /* the node for each tree node */
	size_t count;
	struct position *stack;
	size_t depth;
	size_t most_depth;
	size_t instance;
};

struct run {
	ptrdiff_t at;
	size_t bytes;
};

/* ---- nodes from the flattened type --------------------------------------------------- */

static struct node *add(struct oracle *o)
{
	if (o->node_count == o->node_room) {
		size_t room = o->node_room ? 2 * o->node_room : 16;
		struct node *larger = realloc(o->nodes, room * sizeof(*larger));

		if (!larger)
			return NULL;
		o->nodes = larger;
		o->node_room = room;
	}
	o->nodes[o->node_count] = (struct node){ .blocks = 1, .length = 1, .scale = 1 };
	return &o->nodes[o->node_count++];
}

/* A block at 0 of elements without gaps is a run of bytes. */
static void note_dense(const struct oracle *o, struct node *n)
{
	const struct node *child = &o->nodes[n->child];
	bool one_block = n->blocks == 1 && !n->children && !n->lengths &&
			 !n->displacements;

	n->dense = one_block && child->dense && child->extent == (ptrdiff_t)child->size;
}

/* Offset of the second member of a predefined pair, 0 if the type is no pair. */
static size_t pair_offset(enum dtconv_predefined which)
{
	switch (which) {
	case DTCONV_FLOAT_INT:
	case DTCONV_2INT:
	case DTCONV_SHORT_INT:
	case DTCONV_2REAL:
	case DTCONV_2INTEGER:
		return 4;
	case DTCONV_DOUBLE_INT:
	case DTCONV_LONG_INT:
	case DTCONV_2DOUBLE_PRECISION:
		return 8;
	case DTCONV_LONG_DOUBLE_INT:
		return 16;
	default:
		return 0;
	}
}

/* Two blocks of bytes: the value, and the index behind its padding. */
static int pair_node(struct node *n, size_t value_bytes, size_t index_bytes,
		     size_t offset)
{
	n->own = calloc(4, sizeof(*n->own));
	if (!n->own)
		return DTCONV_ERR_NOMEM;
	n->own[0] = value_bytes;
	n->own[1] = index_bytes;
	n->own[3] = offset;
	n->blocks = 2;
	n->lengths = n->own;
	n->displacements = (const int64_t *)(n->own + 2);
	n->child = 0;
	return 0;
}

static int named_node(struct node *n, const struct tree_node *t)
{
	size_t offset = pair_offset(t->predefined);

	if (!offset || (ptrdiff_t)t->size == t->extent) {
		n->dense = true;
		return 0;
	}
	/* the padding is inside or behind: the index is the 4 bytes at `offset` */
	return pair_node(n, t->size - 4, 4, offset);
}

static int value_index_node(struct oracle *o, struct node *n, const struct tree_node *t)
{
	const struct node *value = &o->nodes[o->of_tree[t->types[0]]];
	const struct node *index = &o->nodes[o->of_tree[t->types[1]]];
	size_t alignment = index->size < 16 ? index->size : 16;
	size_t offset = (value->size + alignment - 1) / alignment * alignment;

	return pair_node(n, value->size, index->size, offset);
}

/* The indices of one dimension that belong to a process: equally spaced blocks. */
struct dimension {
	size_t size;   /* of the whole array */
	size_t first;  /* index of the first block */
	size_t step;   /* from one block to the next */
	size_t blocks; /* how many */
	size_t length; /* length of each block except the last */
	size_t last;   /* of the last */
};

/* Add one dimension around the node `inner`, whose elements are `pitch` bytes apart. */
static int dimension_node(struct oracle *o, const struct dimension *d, ptrdiff_t pitch,
			  size_t inner)
{
	struct node *n = add(o);

	if (!n)
		return DTCONV_ERR_NOMEM;
	n->child = inner;
	n->element_step = pitch;
	n->blocks = d->blocks;
	n->own = calloc(2 * d->blocks + 1, sizeof(*n->own));
	if (!n->own)
		return DTCONV_ERR_NOMEM;
	n->lengths = n->own;
	n->displacements = (const int64_t *)(n->own + d->blocks);
	n->scale = pitch;
	for (size_t i = 0; i < d->blocks; i++) {
		n->own[i] = i + 1 < d->blocks ? d->length : d->last;
		n->own[d->blocks + i] = d->first + i * d->step;
	}
	return 0;
}

static struct dimension subarray_dimension(const uint64_t *counts, size_t ndims, size_t i)
{
	size_t sub = (size_t)counts[1 + ndims + i];

	return (struct dimension){ .size = (size_t)counts[1 + i],
				   .first = (size_t)counts[1 + 2 * ndims + i],
				   .blocks = 1,
				   .length = sub,
				   .last = sub };
}

/* The coordinate of this process in dimension i of the process grid, which is in C order. */
static size_t darray_coordinate(const uint64_t *counts, size_t ndims, size_t i)
{
	const uint64_t *grid = counts + 3 + 3 * ndims;
	size_t rank = (size_t)counts[1];

	for (size_t d = ndims - 1; d > i; d--)
		rank /= (size_t)grid[d];
	return rank % (size_t)grid[i];
}

static struct dimension darray_dimension(const uint64_t *counts, size_t ndims, size_t i)
{
	size_t size = (size_t)counts[3 + i];
	size_t block = (size_t)counts[3 + 2 * ndims + i];
	size_t processes = (size_t)counts[3 + 3 * ndims + i];
	size_t coordinate = darray_coordinate(counts, ndims, i);
	size_t distribution = (size_t)counts[3 + ndims + i];
	struct dimension d = { .size = size };

	if (distribution == DTCONV_DISTRIBUTE_NONE)
		block = size;
	else if (block == DTCONV_DISTRIBUTE_DFLT_DARG)
		block = distribution == DTCONV_DISTRIBUTE_BLOCK
				? (size + processes - 1) / processes
				: 1;
	d.first = coordinate * block;
	d.step = processes * block;
	if (d.first >= size)
		return d;
	d.blocks = distribution == DTCONV_DISTRIBUTE_CYCLIC
			   ? (size - d.first + d.step - 1) / d.step
			   : 1;
	d.length = block;
	d.last = size - (d.first + (d.blocks - 1) * d.step);
	if (d.last > block)
		d.last = block;
	return d;
}

/* The dimensions from the fastest to the slowest, each around the previous one. */
static int array_node(struct oracle *o, const struct tree_node *t)
{
	bool darray = t->combiner == DTCONV_COMBINER_DARRAY;
	size_t ndims = (size_t)t->counts[darray ? 2 : 0];
	bool c_order = t->counts[t->count_count - 1] == DTCONV_ORDER_C;
	size_t inner = o->of_tree[t->types[0]];
	ptrdiff_t pitch = o->nodes[inner].extent;

	for (size_t k = 0; k < ndims; k++) {
		size_t i = c_order ? ndims - 1 - k : k;
		struct dimension d = darray ? darray_dimension(t->counts, ndims, i)
					    : subarray_dimension(t->counts, ndims, i);

		if (dimension_node(o, &d, pitch, inner))
			return DTCONV_ERR_NOMEM;
		inner = o->node_count - 1;
		pitch *= (ptrdiff_t)d.size;
	}
	return 0;
}

/* Combiners whose contents already are blocks. */
static void block_node(const struct oracle *o, struct node *n, const struct tree_node *t)
{
	ptrdiff_t child_extent = o->nodes[n->child].extent;

	switch (t->combiner) {
	case DTCONV_COMBINER_CONTIGUOUS:
		n->length = (size_t)t->counts[0];
		break;
	case DTCONV_COMBINER_VECTOR:
	case DTCONV_COMBINER_HVECTOR:
		n->blocks = (size_t)t->counts[0];
		n->length = (size_t)t->counts[1];
		n->pitch = (ptrdiff_t)t->displacements[0];
		if (t->combiner == DTCONV_COMBINER_VECTOR)
			n->pitch *= child_extent;
		break;
	case DTCONV_COMBINER_INDEXED:
	case DTCONV_COMBINER_HINDEXED:
	case DTCONV_COMBINER_STRUCT:
		n->blocks = (size_t)t->counts[0];
		n->lengths = t->counts + 1;
		n->displacements = t->displacements;
		if (t->combiner == DTCONV_COMBINER_INDEXED)
			n->scale = child_extent;
		if (t->combiner == DTCONV_COMBINER_STRUCT)
			n->children = t->types;
		break;
	case DTCONV_COMBINER_INDEXED_BLOCK:
	case DTCONV_COMBINER_HINDEXED_BLOCK:
		n->blocks = (size_t)t->counts[0];
		n->length = (size_t)t->counts[1];
		n->displacements = t->displacements;
		if (t->combiner == DTCONV_COMBINER_INDEXED_BLOCK)
			n->scale = child_extent;
		break;
	default: /* dup and resized: one block of one element */
		break;
	}
}

static int simple_node(struct oracle *o, const struct tree_node *t)
{
	struct node *n = add(o);

	if (!n)
		return DTCONV_ERR_NOMEM;
	switch (t->combiner) {
	case DTCONV_COMBINER_NAMED:
		return named_node(n, t);
	case DTCONV_COMBINER_F90_REAL:
	case DTCONV_COMBINER_F90_COMPLEX:
	case DTCONV_COMBINER_F90_INTEGER:
		n->dense = true;
		return 0;
	case DTCONV_COMBINER_VALUE_INDEX:
		return value_index_node(o, n, t);
	default:
		if (t->type_count)
			n->child = o->of_tree[t->types[0]];
		block_node(o, n, t);
		note_dense(o, n);
		return 0;
	}
}

static int translate(struct oracle *o, const struct tree_node *t, size_t number)
{
	bool array = t->combiner == DTCONV_COMBINER_SUBARRAY ||
		     t->combiner == DTCONV_COMBINER_DARRAY;
	int status = array ? array_node(o, t) : simple_node(o, t);
	struct node *n;

	if (status)
		return status;
	n = &o->nodes[o->node_count - 1];
	n->size = t->size;
	n->extent = (ptrdiff_t)t->extent;
	o->of_tree[number] = o->node_count - 1;
	return 0;
}

static int translate_all(struct oracle *o)
{
	struct node *byte = add(o);
	size_t at = 0;
	int status = byte ? 0 : DTCONV_ERR_NOMEM;

	if (byte)
		*byte = (struct node){ .dense = true, .size = 1, .extent = 1 };
	for (size_t i = 0; !status && i < o->tree.node_count; i++) {
		struct tree_node t;

		at = tree_read(o->tree.words, o->tree.word_count, at, &t);
		status = translate(o, &t, i);
	}
	return status;
}

int oracle_create(const struct dtconv_type *type, size_t count, struct oracle **oracle)
{
	struct oracle *o = calloc(1, sizeof(*o));
	int status = o ? tree_make(type, &o->tree) : DTCONV_ERR_NOMEM;

	if (!status) {
		o->count = count;
		o->of_tree = calloc(o->tree.node_count, sizeof(*o->of_tree));
		status = o->of_tree ? translate_all(o) : DTCONV_ERR_NOMEM;
	}
	if (!status) {
		/* a longer chain of nodes would have a cycle */
		o->most_depth = o->node_count;
		o->stack = calloc(o->most_depth, sizeof(*o->stack));
		status = o->stack ? 0 : DTCONV_ERR_NOMEM;
	}
	if (status)
		oracle_destroy(o);
	else
		*oracle = o;
	return status;
}

void oracle_destroy(struct oracle *o)
{
	if (!o)
		return;
	for (size_t i = 0; i < o->node_count; i++)
		free(o->nodes[i].own);
	free(o->nodes);
	free(o->of_tree);
	free(o->stack);
	tree_free(&o->tree);
	free(o);
}

/* ---- the walk ------------------------------------------------------------------------ */

static const struct node *root_of(const struct oracle *o)
{
	return &o->nodes[o->of_tree[o->tree.node_count - 1]];
}

static void enter(struct oracle *o, const struct node *n, ptrdiff_t base)
{
	o->stack[o->depth++] = (struct position){ .node = n, .base = base };
}

void oracle_rewind(struct oracle *o)
{
	o->depth = 0;
	o->instance = 0;
}

static const struct node *child_of(const struct oracle *o, const struct node *n,
				   size_t block)
{
	return &o->nodes[n->children ? o->of_tree[n->children[block]] : n->child];
}

/* Continue in the block of the top position; true if that gave a run. */
static bool advance(struct oracle *o, struct run *run)
{
	struct position *p = &o->stack[o->depth - 1];
	const struct node *n = p->node;
	const struct node *child = child_of(o, n, p->block);
	size_t length = n->lengths ? (size_t)n->lengths[p->block] : n->length;
	ptrdiff_t step = n->element_step ? n->element_step : child->extent;
	ptrdiff_t disp = n->displacements
				 ? (ptrdiff_t)n->displacements[p->block] * n->scale
				 : (ptrdiff_t)p->block * n->pitch;
	ptrdiff_t at = p->base + disp;

	if (p->element == length) {
		p->element = 0;
		p->block++;
		return false;
	}
	at += (ptrdiff_t)p->element * step;
	if (!child->dense) {
		p->element++;
		enter(o, child, at);
		return false;
	}
	/* elements without gaps between them are one run */
	*run = (struct run){ at, child->size };
	p->element++;
	if (step == (ptrdiff_t)child->size) {
		run->bytes *= length - p->element + 1;
		p->element = length;
	}
	return run->bytes != 0;
}

/* The next run of bytes in typemap order; false at the end. */
static bool next_run(struct oracle *o, struct run *run)
{
	const struct node *root = root_of(o);

	for (;;) {
		if (!o->depth) {
			ptrdiff_t base = (ptrdiff_t)o->instance * root->extent;

			if (o->instance == o->count)
				return false;
			o->instance++;
			if (root->dense) {
				*run = (struct run){ base, root->size };
				if (run->bytes)
					return true;
				continue;
			}
			enter(o, root, base);
		}
		if (o->stack[o->depth - 1].block == o->stack[o->depth - 1].node->blocks)
			o->depth--;
		else if (advance(o, run))
			return true;
	}
}

bool oracle_next(struct oracle *o, ptrdiff_t *disp, size_t *bytes)
{
	struct run run;

	if (!next_run(o, &run))
		return false;
	*disp = run.at;
	*bytes = run.bytes;
	return true;
}

void oracle_pack(struct oracle *o, const void *base, void *packed)
{
	unsigned char *out = packed;
	struct run run;

	oracle_rewind(o);
	while (next_run(o, &run)) {
		memcpy(out, (const unsigned char *)base + run.at, run.bytes);
		out += run.bytes;
	}
}

void oracle_unpack(struct oracle *o, void *base, const void *packed)
{
	const unsigned char *in = packed;
	struct run run;

	oracle_rewind(o);
	while (next_run(o, &run)) {
		memcpy((unsigned char *)base + run.at, in, run.bytes);
		in += run.bytes;
	}
}

ptrdiff_t oracle_compare(struct oracle *o, const void *base, const void *packed)
{
	const unsigned char *stream = packed;
	size_t at = 0;
	struct run run;

	oracle_rewind(o);
	while (next_run(o, &run)) {
		const unsigned char *user = (const unsigned char *)base + run.at;

		if (memcmp(user, stream + at, run.bytes) != 0) {
			while (*user++ == stream[at])
				at++;
			return (ptrdiff_t)at;
		}
		at += run.bytes;
	}
	return -1;
}
