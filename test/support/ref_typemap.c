/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The oracle: expands types, and derives everything else from that. Section numbers are those
 * of MPI 4.1. It is deliberately simple, and independent of src/.
 */
#include "config.h"

#include "support/ref_typemap.h"

#include <stdlib.h>
#include <string.h>

#include "support/ref_predefined.h"

/* ---- building ------------------------------------------------------------------------ */

/* Forget everything but the memory. */
static void start(struct ref_typemap *map)
{
	struct ref_entry *entries = map->entries;
	size_t capacity = map->capacity;

	*map = (struct ref_typemap){ .entries = entries,
				     .capacity = capacity,
				     .alignment = 1 };
}

static int reserve(struct ref_typemap *map, size_t more, size_t limit)
{
	if (more > limit || map->count > limit - more)
		return -1;
	size_t wanted = map->count + more;
	if (wanted <= map->capacity)
		return 0;
	size_t capacity = map->capacity * 2 > wanted ? map->capacity * 2 : wanted + 16;
	struct ref_entry *entries = realloc(map->entries, capacity * sizeof(*entries));
	if (!entries)
		return -1;
	map->entries = entries;
	map->capacity = capacity;
	return 0;
}

static void widen(struct ref_typemap *map, ptrdiff_t lb, ptrdiff_t ub)
{
	if (!map->bounded || lb < map->lb)
		map->lb = lb;
	if (!map->bounded || ub > map->ub)
		map->ub = ub;
	map->bounded = true;
}

/*
 * 5.1.6: markers decide alone if there are any, else the data (and the padding that came
 * with it). The first marker therefore forgets what data said before it.
 */
static void add_bounds(struct ref_typemap *map, const struct ref_typemap *old,
		       ptrdiff_t shift)
{
	if (!old->bounded || (map->marked && !old->marked))
		return;
	if (old->marked && !map->marked) {
		map->marked = true;
		map->bounded = false;
	}
	widen(map, old->lb + shift, old->ub + shift);
}

/* Append a typemap, every displacement moved by `shift` bytes. */
static int append(struct ref_typemap *map, const struct ref_typemap *old, ptrdiff_t shift,
		  size_t limit)
{
	if (reserve(map, old->count, limit))
		return -1;
	for (size_t i = 0; i < old->count; i++) {
		map->entries[map->count] = old->entries[i];
		map->entries[map->count++].disp += shift;
	}
	add_bounds(map, old, shift);
	return 0;
}

/* `blocklength` copies, each one extent after the last, the first moved by `disp` bytes. */
static int append_block(struct ref_typemap *map, const struct ref_typemap *old,
			size_t blocklength, ptrdiff_t disp, size_t limit)
{
	for (size_t i = 0; i < blocklength; i++)
		if (append(map, old, disp + (ptrdiff_t)i * ref_typemap_extent(old),
			   limit))
			return -1;
	return 0;
}

static ptrdiff_t round_up(ptrdiff_t value, ptrdiff_t multiple)
{
	ptrdiff_t over = value % multiple;

	return over == 0 ? value : value + multiple - over;
}

static bool in_order(const struct ref_typemap *map)
{
	for (size_t i = 1; i < map->count; i++) {
		const struct ref_entry *before = &map->entries[i - 1];
		if (map->entries[i].disp != before->disp + before->size)
			return false;
	}
	return true;
}

/* Derive everything from the entries. `pad`: round the extent up, if no marker forbids it. */
static void finish(struct ref_typemap *map, bool pad)
{
	for (size_t i = 0; i < map->count; i++) {
		const struct ref_entry *entry = &map->entries[i];
		ptrdiff_t end = entry->disp + entry->size;

		map->size += entry->size;
		if (ref_predefined[entry->basic].alignment > map->alignment)
			map->alignment = ref_predefined[entry->basic].alignment;
		if (i == 0 || entry->disp < map->true_lb)
			map->true_lb = entry->disp;
		if (i == 0 || end > map->true_ub)
			map->true_ub = end;
	}
	if (pad && !map->marked)
		map->ub = map->lb +
			  round_up(ref_typemap_extent(map), (ptrdiff_t)map->alignment);
	map->contiguous = in_order(map) &&
			  ref_typemap_extent(map) == (ptrdiff_t)map->size;
}

static void add_basic(struct ref_typemap *map, enum dtconv_predefined basic,
		      ptrdiff_t disp, enum dtconv_predefined leaf)
{
	size_t size = ref_predefined[basic].size;

	map->entries[map->count++] = (struct ref_entry){ .disp = disp,
							 .size = (uint8_t)size,
							 .basic = (uint8_t)basic,
							 .leaf = (uint8_t)leaf };
	widen(map, disp, disp + (ptrdiff_t)size);
}

/* A pair is a C struct of its two members (6.9.4), trailing padding included. */
int ref_typemap_predefined(enum dtconv_predefined which, struct ref_typemap *map)
{
	const struct ref_predefined *predefined = &ref_predefined[which];

	start(map);
	if (reserve(map, 2, REF_DEFAULT_LIMIT))
		return -1;
	add_basic(map, predefined->first, 0, which);
	if (predefined->second != DTCONV_PREDEFINED_COUNT)
		add_basic(map, predefined->second, (ptrdiff_t)predefined->second_disp,
			  which);
	widen(map, 0, (ptrdiff_t)predefined->extent);
	finish(map, false);
	return 0;
}

/* 6.9.4, MPI_TYPE_GET_VALUE_INDEX: a C struct of the two, whatever they are. */
static int value_index(const struct ref_constructor *c, size_t limit,
		       struct ref_typemap *map)
{
	const struct ref_typemap *value = c->oldtypes[0], *index = c->oldtypes[1];
	ptrdiff_t disp = round_up((ptrdiff_t)value->size, (ptrdiff_t)index->alignment);

	if (append(map, value, 0, limit) || append(map, index, disp, limit))
		return -1;
	for (size_t i = 0; i < map->count; i++)
		map->entries[i].leaf = DTCONV_PREDEFINED_COUNT;
	finish(map, true);
	return 0;
}

/* ---- constructors, 5.1.2 ------------------------------------------------------------- */

static int vector(const struct ref_constructor *c, size_t limit, struct ref_typemap *map)
{
	const struct ref_typemap *old = c->oldtypes[0];
	ptrdiff_t unit = c->combiner == DTCONV_COMBINER_VECTOR ? ref_typemap_extent(old)
							       : 1;

	for (size_t i = 0; i < c->counts[0]; i++)
		if (append_block(map, old, c->counts[1],
				 (ptrdiff_t)i * c->displacements[0] * unit, limit))
			return -1;
	return 0;
}

/* All the constructors that list their blocks one by one. */
static int blocks(const struct ref_constructor *c, size_t limit, struct ref_typemap *map)
{
	bool many_types = c->combiner == DTCONV_COMBINER_STRUCT;
	bool one_length = c->combiner == DTCONV_COMBINER_INDEXED_BLOCK ||
			  c->combiner == DTCONV_COMBINER_HINDEXED_BLOCK;
	bool elements = c->combiner == DTCONV_COMBINER_INDEXED ||
			c->combiner == DTCONV_COMBINER_INDEXED_BLOCK;

	for (size_t i = 0; i < c->counts[0]; i++) {
		const struct ref_typemap *old = c->oldtypes[many_types ? i : 0];
		ptrdiff_t unit = elements ? ref_typemap_extent(old) : 1;

		if (append_block(map, old, c->counts[one_length ? 1 : 1 + i],
				 c->displacements[i] * unit, limit))
			return -1;
	}
	return 0;
}

/* Erase the markers and put a new pair (5.1.7). */
static void mark(struct ref_typemap *map, ptrdiff_t lb, ptrdiff_t extent)
{
	map->marked = true;
	map->bounded = true;
	map->lb = lb;
	map->ub = lb + extent;
}

static int resized(const struct ref_constructor *c, size_t limit, struct ref_typemap *map)
{
	if (append(map, c->oldtypes[0], 0, limit))
		return -1;
	mark(map, c->displacements[0], c->displacements[1]);
	return 0;
}

/* ---- arrays, 5.1.3 and 5.1.4 --------------------------------------------------------- */

/* One dimension of an array: which of its elements are taken. */
struct dimension {
	size_t size;      /* elements */
	size_t first;     /* subarray: first taken; cyclic: coordinate of the process */
	size_t taken;     /* subarray: how many, 0: cyclic */
	size_t block;     /* cyclic: block size */
	size_t processes; /* cyclic: how many share the dimension */
};

static bool takes(const struct dimension *dimension, size_t index)
{
	if (dimension->taken > 0)
		return index >= dimension->first &&
		       index < dimension->first + dimension->taken;
	return index / dimension->block % dimension->processes == dimension->first;
}

/* Subarray(1, ...) and cyclic(...) of the standard: elements between lb 0 and ub size. */
static int take_elements(const struct dimension *dimension, const struct ref_typemap *old,
			 size_t limit, struct ref_typemap *map)
{
	ptrdiff_t extent = ref_typemap_extent(old);

	start(map);
	for (size_t i = 0; i < dimension->size; i++)
		if (takes(dimension, i) && append(map, old, (ptrdiff_t)i * extent, limit))
			return -1;
	mark(map, 0, (ptrdiff_t)dimension->size * extent);
	return 0;
}

static void swap(struct ref_typemap *a, struct ref_typemap *b)
{
	struct ref_typemap old_a = *a;

	*a = *b;
	*b = old_a;
}

/* The recursion over dimensions, from the one that runs fastest. */
static int take_box(const struct dimension dimensions[], size_t ndims, size_t order,
		    const struct ref_typemap *old, size_t limit, struct ref_typemap *map)
{
	struct ref_typemap inner = { 0 };
	int result = append(&inner, old, 0, limit);

	for (size_t i = 0; i < ndims && result == 0; i++) {
		size_t which = order == DTCONV_ORDER_FORTRAN ? i : ndims - 1 - i;

		result = take_elements(&dimensions[which], &inner, limit, map);
		swap(&inner, map);
	}
	swap(&inner, map);
	ref_typemap_free(&inner);
	return result;
}

static int subarray(const struct ref_constructor *c, size_t limit,
		    struct ref_typemap *map)
{
	size_t ndims = c->counts[0];
	const size_t *sizes = &c->counts[1];
	struct dimension *dimensions = calloc(ndims, sizeof(*dimensions));

	if (!dimensions)
		return -1;
	for (size_t i = 0; i < ndims; i++)
		dimensions[i] = (struct dimension){ .size = sizes[i],
						    .taken = sizes[ndims + i],
						    .first = sizes[2 * ndims + i] };
	int result =
		take_box(dimensions, ndims, sizes[3 * ndims], c->oldtypes[0], limit, map);
	free(dimensions);
	return result;
}

/* 5.1.4: block and none are cyclic with a certain block size. */
static size_t block_size(size_t distribution, size_t darg, size_t gsize, size_t psize)
{
	if (distribution == DTCONV_DISTRIBUTE_NONE)
		return gsize;
	if (darg != DTCONV_DISTRIBUTE_DFLT_DARG)
		return darg;
	return distribution == DTCONV_DISTRIBUTE_BLOCK ? (gsize + psize - 1) / psize : 1;
}

static int darray(const struct ref_constructor *c, size_t limit, struct ref_typemap *map)
{
	size_t left = c->counts[0], rank = c->counts[1], ndims = c->counts[2];
	const size_t *gsizes = &c->counts[3], *distributions = gsizes + ndims;
	const size_t *dargs = distributions + ndims, *psizes = dargs + ndims;
	struct dimension *dimensions = calloc(ndims, sizeof(*dimensions));

	if (!dimensions)
		return -1;
	for (size_t i = 0; i < ndims; i++) {
		left /= psizes[i];
		dimensions[i] = (struct dimension){ .size = gsizes[i],
						    .first = rank / left,
						    .block = block_size(
							    distributions[i], dargs[i],
							    gsizes[i], psizes[i]),
						    .processes = psizes[i] };
		rank %= left;
	}
	int result =
		take_box(dimensions, ndims, psizes[ndims], c->oldtypes[0], limit, map);
	free(dimensions);
	return result;
}

/* ---- Fortran kinds, 19.1.5 ----------------------------------------------------------- */

/* Digits and exponent ranges of the kinds of 4, 8 and 16 bytes (IEEE binary32, 64, 128). */
static size_t real_kind(size_t p, size_t r)
{
	static const size_t digits[] = { 6, 15, 33 }, range[] = { 37, 307, 4931 };

	for (size_t kind = 0; kind < 3; kind++)
		if ((p == DTCONV_UNDEFINED || p <= digits[kind]) &&
		    (r == DTCONV_UNDEFINED || r <= range[kind]))
			return kind;
	return 3;
}

static size_t integer_kind(size_t r)
{
	static const size_t digits[] = { 2, 4, 9, 18, 38 };
	size_t kind = 0;

	while (kind < 5 && r > digits[kind])
		kind++;
	return kind;
}

static int fortran_kind(const struct ref_constructor *c, struct ref_typemap *map)
{
	static const enum dtconv_predefined reals[] = { DTCONV_REAL4, DTCONV_REAL8,
							DTCONV_REAL16,
							DTCONV_PREDEFINED_COUNT };
	static const enum dtconv_predefined complexes[] = { DTCONV_COMPLEX8,
							    DTCONV_COMPLEX16,
							    DTCONV_COMPLEX32,
							    DTCONV_PREDEFINED_COUNT };
	static const enum dtconv_predefined integers[] = {
		DTCONV_INTEGER1, DTCONV_INTEGER2,  DTCONV_INTEGER4,
		DTCONV_INTEGER8, DTCONV_INTEGER16, DTCONV_PREDEFINED_COUNT
	};
	enum dtconv_predefined which;

	if (c->combiner == DTCONV_COMBINER_F90_INTEGER)
		which = integers[integer_kind(c->counts[0])];
	else if (c->combiner == DTCONV_COMBINER_F90_REAL)
		which = reals[real_kind(c->counts[0], c->counts[1])];
	else
		which = complexes[real_kind(c->counts[0], c->counts[1])];
	return which == DTCONV_PREDEFINED_COUNT ? -1 : ref_typemap_predefined(which, map);
}

/* ---- one type from its parts --------------------------------------------------------- */

static int apply_layout(const struct ref_constructor *c, size_t limit,
			struct ref_typemap *map)
{
	switch (c->combiner) {
	case DTCONV_COMBINER_DUP:
		return append(map, c->oldtypes[0], 0, limit);
	case DTCONV_COMBINER_CONTIGUOUS:
		return append_block(map, c->oldtypes[0], c->counts[0], 0, limit);
	case DTCONV_COMBINER_VECTOR:
	case DTCONV_COMBINER_HVECTOR:
		return vector(c, limit, map);
	case DTCONV_COMBINER_INDEXED:
	case DTCONV_COMBINER_HINDEXED:
	case DTCONV_COMBINER_INDEXED_BLOCK:
	case DTCONV_COMBINER_HINDEXED_BLOCK:
	case DTCONV_COMBINER_STRUCT:
		return blocks(c, limit, map);
	case DTCONV_COMBINER_SUBARRAY:
		return subarray(c, limit, map);
	case DTCONV_COMBINER_DARRAY:
		return darray(c, limit, map);
	case DTCONV_COMBINER_RESIZED:
		return resized(c, limit, map);
	default:
		return -1;
	}
}

int ref_typemap_apply(const struct ref_constructor *c, size_t limit,
		      struct ref_typemap *map)
{
	bool pad = c->padding == DTCONV_PADDING_ALWAYS ||
		   (c->padding == DTCONV_PADDING_STRUCT &&
		    c->combiner == DTCONV_COMBINER_STRUCT);

	start(map);
	switch (c->combiner) {
	case DTCONV_COMBINER_F90_REAL:
	case DTCONV_COMBINER_F90_COMPLEX:
	case DTCONV_COMBINER_F90_INTEGER:
		return fortran_kind(c, map);
	case DTCONV_COMBINER_VALUE_INDEX:
		return value_index(c, limit, map);
	default:
		break;
	}
	if (apply_layout(c, limit, map))
		return -1;
	finish(map, pad);
	return 0;
}

/* ---- whole trees --------------------------------------------------------------------- */

/* A type's contents and its old types expanded. */
struct node {
	struct dtconv_envelope envelope;
	size_t *counts;
	ptrdiff_t *displacements;
	struct dtconv_type **types;
	struct ref_typemap *maps;
	const struct ref_typemap **map_pointers;
};

static void release_node(struct node *node)
{
	for (size_t i = 0; node->maps && i < node->envelope.type_count; i++)
		ref_typemap_free(&node->maps[i]);
	free(node->counts);
	free(node->displacements);
	free(node->types);
	free(node->maps);
	free(node->map_pointers);
}

static int read_node(const struct dtconv_type *type, struct node *node)
{
	const struct dtconv_envelope *e = &node->envelope;

	node->counts = calloc(e->count_count + 1, sizeof(*node->counts));
	node->displacements =
		calloc(e->displacement_count + 1, sizeof(*node->displacements));
	node->types = calloc(e->type_count + 1, sizeof(struct dtconv_type *));
	node->maps = calloc(e->type_count + 1, sizeof(*node->maps));
	node->map_pointers =
		calloc(e->type_count + 1, sizeof(const struct ref_typemap *));
	if (!node->counts || !node->displacements || !node->types || !node->maps ||
	    !node->map_pointers)
		return -1;
	return dtconv_type_query_contents(type, e->count_count, node->counts,
					  e->displacement_count, node->displacements,
					  e->type_count, node->types);
}

struct limits {
	enum dtconv_padding padding;
	size_t entries;
};

static int build(const struct dtconv_type *type, const struct limits *limits,
		 unsigned depth, struct ref_typemap *map);

static int build_derived(const struct dtconv_type *type, struct node *node,
			 const struct limits *limits, unsigned depth,
			 struct ref_typemap *map)
{
	if (read_node(type, node))
		return -1;
	for (size_t i = 0; i < node->envelope.type_count; i++) {
		if (build(node->types[i], limits, depth + 1, &node->maps[i]))
			return -1;
		node->map_pointers[i] = &node->maps[i];
	}
	struct ref_constructor constructor = { .combiner = node->envelope.combiner,
					       .counts = node->counts,
					       .displacements = node->displacements,
					       .oldtypes = node->map_pointers,
					       .padding = limits->padding };
	return ref_typemap_apply(&constructor, limits->entries, map);
}

/* Recursive, because that is how the standard defines it; the depth is bounded. */
static int build(const struct dtconv_type *type, const struct limits *limits,
		 unsigned depth, struct ref_typemap *map)
{
	struct node node = { 0 };

	if (depth > REF_MAX_DEPTH || dtconv_type_query_envelope(type, &node.envelope))
		return -1;
	if (node.envelope.combiner == DTCONV_COMBINER_NAMED) {
		struct dtconv_type_attr attr = { .struct_size = sizeof(attr) };

		if (dtconv_type_query(type, &attr))
			return -1;
		return ref_typemap_predefined(attr.predefined, map);
	}
	int result = build_derived(type, &node, limits, depth, map);
	release_node(&node);
	return result;
}

int ref_typemap_build(const struct dtconv_type *type, enum dtconv_padding padding,
		      size_t limit, struct ref_typemap *map)
{
	struct limits limits = { .padding = padding, .entries = limit };

	if (limit == 0)
		limits.entries = REF_DEFAULT_LIMIT;
	*map = (struct ref_typemap){ 0 };
	int result = build(type, &limits, 0, map);
	if (result)
		ref_typemap_free(map);
	return result ? -1 : 0;
}

void ref_typemap_free(struct ref_typemap *map)
{
	free(map->entries);
	*map = (struct ref_typemap){ 0 };
}

/* ---- questions ----------------------------------------------------------------------- */

enum dtconv_predefined ref_typemap_leaf(const struct ref_typemap *map)
{
	if (map->count == 0)
		return DTCONV_PREDEFINED_COUNT;
	for (size_t i = 1; i < map->count; i++)
		if (map->entries[i].leaf != map->entries[0].leaf)
			return DTCONV_PREDEFINED_COUNT;
	return (enum dtconv_predefined)map->entries[0].leaf;
}

bool ref_typemap_same_entries(const struct ref_typemap *a, const struct ref_typemap *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++)
		if (a->entries[i].disp != b->entries[i].disp ||
		    a->entries[i].basic != b->entries[i].basic)
			return false;
	return true;
}

enum dtconv_signature_relation ref_typemap_compare_signature(const struct ref_typemap *a,
							     size_t count_a,
							     const struct ref_typemap *b,
							     size_t count_b)
{
	size_t length_a = a->count * count_a, length_b = b->count * count_b;

	for (size_t i = 0; i < length_a && i < length_b; i++)
		if (a->entries[i % a->count].basic != b->entries[i % b->count].basic)
			return DTCONV_SIGNATURE_DIFFERENT;
	if (length_a == length_b)
		return DTCONV_SIGNATURE_EQUAL;
	return length_a < length_b ? DTCONV_SIGNATURE_PREFIX : DTCONV_SIGNATURE_EXTENDS;
}

size_t ref_typemap_elements(const struct ref_typemap *map, size_t bytes)
{
	size_t elements = 0;

	if (map->size == 0)
		return bytes == 0 ? 0 : DTCONV_UNDEFINED;
	for (size_t i = 0; bytes > 0; i = (i + 1) % map->count) {
		if (bytes < map->entries[i].size)
			return DTCONV_UNDEFINED;
		bytes -= map->entries[i].size;
		elements++;
	}
	return elements;
}

ptrdiff_t ref_typemap_low(const struct ref_typemap *map, size_t count)
{
	if (map->count == 0 || count == 0)
		return 0;
	ptrdiff_t last = ref_typemap_extent(map) * (ptrdiff_t)(count - 1);
	return map->true_lb + (last < 0 ? last : 0);
}

ptrdiff_t ref_typemap_high(const struct ref_typemap *map, size_t count)
{
	if (map->count == 0 || count == 0)
		return 0;
	ptrdiff_t last = ref_typemap_extent(map) * (ptrdiff_t)(count - 1);
	return map->true_ub + (last > 0 ? last : 0);
}

void ref_typemap_displacements(const struct ref_typemap *map, size_t count,
			       ptrdiff_t displacements[])
{
	size_t position = 0;

	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < map->count; j++)
			for (size_t k = 0; k < map->entries[j].size; k++)
				displacements[position++] =
					(ptrdiff_t)i * ref_typemap_extent(map) +
					map->entries[j].disp + (ptrdiff_t)k;
}

void ref_typemap_pack(const struct ref_typemap *map, size_t count, const void *origin,
		      void *packed)
{
	unsigned char *out = packed;

	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < map->count; j++) {
			ptrdiff_t disp = (ptrdiff_t)i * ref_typemap_extent(map) +
					 map->entries[j].disp;

			memcpy(out, (const unsigned char *)origin + disp,
			       map->entries[j].size);
			out += map->entries[j].size;
		}
}

void ref_typemap_unpack(const struct ref_typemap *map, size_t count, void *origin,
			const void *packed, size_t bytes)
{
	const unsigned char *in = packed;

	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < map->count && bytes > 0; j++) {
			ptrdiff_t disp = (ptrdiff_t)i * ref_typemap_extent(map) +
					 map->entries[j].disp;
			size_t n = map->entries[j].size < bytes ? map->entries[j].size
								: bytes;

			memcpy((unsigned char *)origin + disp, in, n);
			in += n;
			bytes -= n;
		}
}

bool ref_typemap_overlaps(const struct ref_typemap *map, size_t count)
{
	ptrdiff_t low = ref_typemap_low(map, count), high = ref_typemap_high(map, count);
	unsigned char *seen = calloc((size_t)(high - low) + 1, 1);
	bool overlaps = false;

	if (!seen)
		abort();
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < map->count; j++)
			for (size_t k = 0; k < map->entries[j].size; k++) {
				ptrdiff_t at = (ptrdiff_t)i * ref_typemap_extent(map) +
					       map->entries[j].disp + (ptrdiff_t)k - low;

				overlaps = overlaps || seen[at];
				seen[at] = 1;
			}
	free(seen);
	return overlaps;
}
