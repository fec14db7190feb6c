/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Numbers of types: sizes and bounds, parts first, so that a type is blamed only for what its
 * parts do not explain; then envelope and contents.
 */
#include "config.h"

#include "mpi_diff/checks.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- bounds -------------------------------------------------------------------------- */

#define NUMBERS    5
#define FIRST_TRUE 3 /* the true bounds, which move no data */

static const char *const number_names[NUMBERS] = { "size", "lb", "extent", "true lb",
						   "true extent" };

static int ask_us(const struct dtconv_type *type, ptrdiff_t numbers[NUMBERS])
{
	struct dtconv_type_attr attr = { .struct_size = sizeof(attr) };

	if (dtconv_type_query(type, &attr))
		return -1;
	numbers[0] = (ptrdiff_t)attr.size;
	numbers[1] = attr.lb;
	numbers[2] = attr.extent;
	numbers[3] = attr.true_lb;
	numbers[4] = attr.true_extent;
	return 0;
}

static void ask_oracle(const struct ref_typemap *map, ptrdiff_t numbers[NUMBERS])
{
	numbers[0] = (ptrdiff_t)map->size;
	numbers[1] = map->lb;
	numbers[2] = ref_typemap_extent(map);
	numbers[3] = map->true_lb;
	numbers[4] = map->true_ub - map->true_lb;
}

static int ask_mpi(MPI_Datatype type, ptrdiff_t numbers[NUMBERS])
{
	MPI_Aint lb = 0, extent = 0, true_lb = 0, true_extent = 0;
	int size = 0;
	int error = MPI_Type_size(type, &size);

	if (!error)
		error = MPI_Type_get_extent(type, &lb, &extent);
	if (!error)
		error = MPI_Type_get_true_extent(type, &true_lb, &true_extent);
	numbers[0] = size;
	numbers[1] = lb;
	numbers[2] = extent;
	numbers[3] = true_lb;
	numbers[4] = true_extent;
	return error;
}

/* Numbers first..end-1 of that list. */
static enum verdict compare_numbers(struct specimen *s, size_t first, size_t end,
				    struct finding *finding)
{
	ptrdiff_t ours[NUMBERS], right[NUMBERS], theirs[NUMBERS];
	int error = ask_mpi(s->mpi, theirs);

	ask_oracle(&s->map, right);
	if (error)
		return blame_mpi_error(finding, "asking for its bounds", error);
	if (ask_us(s->type, ours))
		return blame(finding, VERDICT_OURS, "dtconv_type_query fails");
	for (size_t i = first; i < end; i++)
		if (ours[i] != right[i])
			return blame(finding, VERDICT_OURS,
				     "%s: ours %td, theirs %td, oracle %td",
				     number_names[i], ours[i], theirs[i], right[i]);
	for (size_t i = first; i < end; i++)
		if (theirs[i] != right[i])
			return blame(finding, VERDICT_THEIRS, "%s: ours %td, theirs %td",
				     number_names[i], ours[i], theirs[i]);
	return VERDICT_AGREED;
}

/* The type without its parts. A text form that does not fit is left out. */
static enum verdict compare_node(const struct specimen *root, struct dtconv_type *type,
				 struct finding *finding)
{
	struct specimen s;
	enum verdict verdict = VERDICT_UNASKED;
	size_t length;
	bool bounds = finding->check == CHECK_BOUNDS;

	if (specimen_open(&s, root->context, type, 1, root->seed) == MAKING_DONE)
		verdict = compare_numbers(&s, bounds ? 0 : FIRST_TRUE,
					  bounds ? FIRST_TRUE : NUMBERS, finding);
	if (verdict > VERDICT_UNASKED &&
	    dtconv_type_format(type, finding->part, sizeof(finding->part), &length))
		finding->part[0] = '\0';
	specimen_close(&s);
	return verdict;
}

static enum verdict compare_tree(const struct specimen *root, struct dtconv_type *type,
				 struct finding *finding);

static enum verdict compare_parts(const struct specimen *root, struct dtconv_type *type,
				  const struct dtconv_envelope *e,
				  struct finding *finding)
{
	size_t *counts = calloc(e->count_count + 1, sizeof(*counts));
	ptrdiff_t *displacements =
		calloc(e->displacement_count + 1, sizeof(*displacements));
	struct dtconv_type **types =
		calloc(e->type_count + 1, sizeof(struct dtconv_type *));
	enum verdict verdict = VERDICT_AGREED;

	if (counts && displacements && types &&
	    !dtconv_type_query_contents(type, e->count_count, counts,
					e->displacement_count, displacements,
					e->type_count, types))
		for (size_t i = 0; i < e->type_count && verdict <= VERDICT_UNASKED; i++)
			verdict = compare_tree(root, types[i], finding);
	free(counts);
	free(displacements);
	free(types);
	return verdict;
}

/* Recursive: the types of this test are a few constructors deep. */
static enum verdict compare_tree(const struct specimen *root, struct dtconv_type *type,
				 struct finding *finding)
{
	struct dtconv_envelope e;
	enum verdict verdict = VERDICT_UNASKED;

	if (!dtconv_type_query_envelope(type, &e))
		verdict = compare_parts(root, type, &e, finding);
	return verdict > VERDICT_UNASKED ? verdict : compare_node(root, type, finding);
}

enum verdict check_bounds(struct specimen *s, struct finding *finding)
{
	return compare_tree(s, s->type, finding);
}

/* ---- envelope and contents ----------------------------------------------------------- */

/* A constructor's arguments as MPI_Type_get_contents has them. */
struct contents {
	int combiner;
	int integer_count, address_count, type_count;
	int *integers;
	MPI_Aint *addresses;
};

static int combiner_of(enum dtconv_combiner combiner)
{
	static const int combiners[] = {
		[DTCONV_COMBINER_NAMED] = MPI_COMBINER_NAMED,
		[DTCONV_COMBINER_DUP] = MPI_COMBINER_DUP,
		[DTCONV_COMBINER_CONTIGUOUS] = MPI_COMBINER_CONTIGUOUS,
		[DTCONV_COMBINER_VECTOR] = MPI_COMBINER_VECTOR,
		[DTCONV_COMBINER_HVECTOR] = MPI_COMBINER_HVECTOR,
		[DTCONV_COMBINER_INDEXED] = MPI_COMBINER_INDEXED,
		[DTCONV_COMBINER_HINDEXED] = MPI_COMBINER_HINDEXED,
		[DTCONV_COMBINER_INDEXED_BLOCK] = MPI_COMBINER_INDEXED_BLOCK,
		[DTCONV_COMBINER_HINDEXED_BLOCK] = MPI_COMBINER_HINDEXED_BLOCK,
		[DTCONV_COMBINER_STRUCT] = MPI_COMBINER_STRUCT,
		[DTCONV_COMBINER_SUBARRAY] = MPI_COMBINER_SUBARRAY,
		[DTCONV_COMBINER_DARRAY] = MPI_COMBINER_DARRAY,
		[DTCONV_COMBINER_RESIZED] = MPI_COMBINER_RESIZED,
		[DTCONV_COMBINER_F90_REAL] = MPI_COMBINER_F90_REAL,
		[DTCONV_COMBINER_F90_COMPLEX] = MPI_COMBINER_F90_COMPLEX,
		[DTCONV_COMBINER_F90_INTEGER] = MPI_COMBINER_F90_INTEGER,
	};

	return combiners[combiner];
}

/* Displacements that MPI counts among the integers: those in extents. */
static bool counts_in_extents(enum dtconv_combiner combiner)
{
	return combiner == DTCONV_COMBINER_VECTOR ||
	       combiner == DTCONV_COMBINER_INDEXED ||
	       combiner == DTCONV_COMBINER_INDEXED_BLOCK;
}

static int distribution_of(uint64_t value)
{
	if (value == DTCONV_DISTRIBUTE_BLOCK)
		return MPI_DISTRIBUTE_BLOCK;
	return value == DTCONV_DISTRIBUTE_CYCLIC ? MPI_DISTRIBUTE_CYCLIC
						 : MPI_DISTRIBUTE_NONE;
}

/* Where MPI has constants of its own. */
static int integer_of(const struct tree_node *n, size_t i)
{
	uint64_t value = n->counts[i];
	bool array = n->combiner == DTCONV_COMBINER_SUBARRAY ||
		     n->combiner == DTCONV_COMBINER_DARRAY;

	if (array && i + 1 == n->count_count)
		return value == DTCONV_ORDER_C ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
	if (n->combiner == DTCONV_COMBINER_DARRAY) {
		size_t ndims = n->counts[2];

		if (i >= 3 + ndims && i < 3 + 2 * ndims)
			return distribution_of(value);
		if (value == DTCONV_DISTRIBUTE_DFLT_DARG)
			return MPI_DISTRIBUTE_DFLT_DARG;
	}
	return value == DTCONV_UNDEFINED ? MPI_UNDEFINED : (int)value;
}

static int expect_contents(const struct tree_node *n, struct contents *c)
{
	size_t extents = counts_in_extents(n->combiner) ? n->displacement_count : 0;
	size_t addresses = n->displacement_count - extents;

	c->combiner = combiner_of(n->combiner);
	c->integer_count = (int)(n->count_count + extents);
	c->address_count = (int)addresses;
	c->type_count = (int)n->type_count;
	c->integers = calloc(n->count_count + extents + 1, sizeof(*c->integers));
	c->addresses = calloc(addresses + 1, sizeof(*c->addresses));
	if (!c->integers || !c->addresses)
		return -1;
	for (size_t i = 0; i < n->count_count; i++)
		c->integers[i] = integer_of(n, i);
	for (size_t i = 0; i < extents; i++)
		c->integers[n->count_count + i] = (int)n->displacements[i];
	for (size_t i = 0; i < addresses; i++)
		c->addresses[i] = (MPI_Aint)n->displacements[i];
	return 0;
}

static struct tree_node root_of(const struct tree *tree)
{
	struct tree_node n = { .size = 0 };

	for (size_t at = 0; at < tree->word_count;)
		at = tree_read(tree->words, tree->word_count, at, &n);
	return n;
}

static bool is_predefined(MPI_Datatype type)
{
	int integers, addresses, types, combiner = MPI_COMBINER_NAMED;

	MPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
	return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL ||
	       combiner == MPI_COMBINER_F90_COMPLEX ||
	       combiner == MPI_COMBINER_F90_INTEGER;
}

static enum verdict compare_contents(const struct specimen *s, const struct contents *c,
				     int integers[], MPI_Aint addresses[],
				     MPI_Datatype types[], struct finding *finding)
{
	int error = MPI_Type_get_contents(s->mpi, c->integer_count, c->address_count,
					  c->type_count, integers, addresses, types);

	if (error)
		return blame_mpi_error(finding, "MPI_Type_get_contents", error);
	for (int i = 0; i < c->type_count; i++)
		if (!is_predefined(types[i]))
			MPI_Type_free(&types[i]);
	for (int i = 0; i < c->integer_count; i++)
		if (integers[i] != c->integers[i])
			return blame(finding, VERDICT_THEIRS,
				     "integer %d: ours %d, theirs %d", i, c->integers[i],
				     integers[i]);
	for (int i = 0; i < c->address_count; i++)
		if (addresses[i] != c->addresses[i])
			return blame(finding, VERDICT_THEIRS,
				     "address %d: ours %td, theirs %td", i,
				     (ptrdiff_t)c->addresses[i], (ptrdiff_t)addresses[i]);
	return VERDICT_AGREED;
}

static enum verdict compare_envelope(const struct specimen *s, const struct contents *c,
				     struct finding *finding)
{
	int integer_count = 0, address_count = 0, type_count = 0, combiner = 0;
	int *integers = calloc((size_t)c->integer_count + 1, sizeof(*integers));
	MPI_Aint *addresses = calloc((size_t)c->address_count + 1, sizeof(*addresses));
	MPI_Datatype *types = calloc((size_t)c->type_count + 1, sizeof(*types));
	int error = MPI_Type_get_envelope(s->mpi, &integer_count, &address_count,
					  &type_count, &combiner);
	enum verdict verdict = VERDICT_UNASKED;

	if (error)
		verdict = blame_mpi_error(finding, "MPI_Type_get_envelope", error);
	else if (combiner != c->combiner || integer_count != c->integer_count ||
		 address_count != c->address_count || type_count != c->type_count)
		verdict = blame(finding, VERDICT_THEIRS,
				"envelope: ours combiner %d with %d, %d, %d; theirs %d "
				"with %d, %d, %d",
				c->combiner, c->integer_count, c->address_count,
				c->type_count, combiner, integer_count, address_count,
				type_count);
	else if (c->combiner == MPI_COMBINER_NAMED)
		verdict = VERDICT_AGREED;
	else if (integers && addresses && types)
		verdict = compare_contents(s, c, integers, addresses, types, finding);
	free(integers);
	free(addresses);
	free(types);
	return verdict;
}

enum verdict check_envelope(struct specimen *s, struct finding *finding)
{
	struct contents expected = { .combiner = 0 };
	struct tree_node root = root_of(&s->tree);
	enum verdict verdict = VERDICT_UNASKED;

	if (!expect_contents(&root, &expected))
		verdict = compare_envelope(s, &expected, finding);
	free(expected.integers);
	free(expected.addresses);
	return verdict;
}

/* ---- match_size ---------------------------------------------------------------------- */

/* A Fortran kind's class on both sides; false for other types. */
static bool class_of(enum dtconv_combiner combiner, enum dtconv_typeclass *ours,
		     int *theirs)
{
	switch (combiner) {
	case DTCONV_COMBINER_F90_INTEGER:
		*ours = DTCONV_TYPECLASS_INTEGER;
		*theirs = MPI_TYPECLASS_INTEGER;
		return true;
	case DTCONV_COMBINER_F90_REAL:
		*ours = DTCONV_TYPECLASS_REAL;
		*theirs = MPI_TYPECLASS_REAL;
		return true;
	case DTCONV_COMBINER_F90_COMPLEX:
		*ours = DTCONV_TYPECLASS_COMPLEX;
		*theirs = MPI_TYPECLASS_COMPLEX;
		return true;
	default:
		return false;
	}
}

/* The size of the type that each side finds for a size: that size, or 0 for none. */
static size_t match_ours(struct dtconv_context *context, enum dtconv_typeclass typeclass,
			 size_t bytes)
{
	struct dtconv_type_attr attr = { .struct_size = sizeof(attr) };
	struct dtconv_type *type;

	if (dtconv_type_match_size(context, typeclass, bytes, &type) ||
	    dtconv_type_query(type, &attr))
		return 0;
	return attr.size;
}

static size_t match_theirs(int typeclass, size_t bytes)
{
	MPI_Datatype type = MPI_DATATYPE_NULL;
	int size = 0;

	if (MPI_Type_match_size(typeclass, (int)bytes, &type) ||
	    type == MPI_DATATYPE_NULL || MPI_Type_size(type, &size))
		return 0;
	return (size_t)size;
}

/* A kind has a type of its size; one byte more is no type's size. */
enum verdict check_match(struct specimen *s, struct finding *finding)
{
	struct tree_node root = root_of(&s->tree);
	enum dtconv_typeclass our_class;
	int their_class;

	if (!class_of(root.combiner, &our_class, &their_class))
		return VERDICT_UNASKED;
	for (size_t bytes = s->map.size; bytes <= s->map.size + 1; bytes++) {
		size_t right = bytes == s->map.size ? bytes : 0;
		size_t ours = match_ours(s->context, our_class, bytes);
		size_t theirs = match_theirs(their_class, bytes);

		if (bytes == 2) /* one byte and one more: INTEGER*2 */
			right = 2;
		if (ours != right || theirs != right)
			return blame(
				finding, ours != right ? VERDICT_OURS : VERDICT_THEIRS,
				"match_size of %zu bytes: ours finds %zu, theirs %zu",
				bytes, ours, theirs);
	}
	return VERDICT_AGREED;
}
