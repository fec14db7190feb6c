/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All ways to call each constructor with small numbers. grammar_text below is the grammar;
 * the functions only spell it out.
 */
#include "config.h"

#include "grammar.h"

const char grammar_text[] =
	"leaf    := int8 | int16 at byte 1 | double | double_int\n"
	"count   := 0..3      length := 0..2      element := -3 | -1 | 0 | 1 | 4\n"
	"bytes   := element x extent | -5 | -1 | 1 | 3 | 13\n"
	"tree(T) := contiguous(count, T)\n"
	"         | vector(count, length, element, T) | hvector(count, length, bytes, T)\n"
	"         | indexed([length^n], [element^n], T) | hindexed([length^n], [bytes^n], T)\n"
	"         | indexed_block(length, [element^n], T) | hindexed_block(length, [bytes^n], T)\n"
	"         | struct([length^m], [bytes^m], [leaf^m])\n"
	"         | struct([length^3], [(-3 | 0 | 1 | 8 | 17)^3], [leaf^3])\n"
	"         | subarray([1..3 ^d], every box in it, c | fortran, T)\n"
	"         | darray(every rank, [1..3 ^d], [(block | cyclic | none)^d], [block size^d],\n"
	"                  [1..3 processes ^d], c | fortran, T)\n"
	"         | resized(T, -2 | 0 | 1, -4 | 0 | 1 | 5) | dup(T)\n"
	"           with n = 0..3, m = 0..2, d = 1..3\n"
	"depth 1 := tree(leaf), all of them (three-dimensional darrays with at most 2 processes\n"
	"           and default block sizes)\n"
	"depth 2 := tree(tree(leaf)), up to 300 choices of each constructor on each side, and\n"
	"           struct of two members: (T, T), (T, double), (int8, T)\n"
	"depth 3 := tree(tree(tree(leaf))), up to 7 choices of each constructor on each level\n";

static const ptrdiff_t elements[] = { -3, -1, 0, 1, 4 };
static const ptrdiff_t odd_bytes[] = { -5, -1, 1, 3, 13 };
static const ptrdiff_t struct_bytes[] = { -3, 0, 1, 8, 17 };

enum { ELEMENTS = 5, ODD_BYTES = 5, STRUCT_BYTES = 5, LENGTHS = 3, COUNTS = 4 };

enum dtconv_combiner grammar_constructor(size_t k)
{
	static const enum dtconv_combiner all[GRAMMAR_CONSTRUCTORS] = {
		DTCONV_COMBINER_DUP,           DTCONV_COMBINER_CONTIGUOUS,
		DTCONV_COMBINER_VECTOR,        DTCONV_COMBINER_HVECTOR,
		DTCONV_COMBINER_INDEXED,       DTCONV_COMBINER_HINDEXED,
		DTCONV_COMBINER_INDEXED_BLOCK, DTCONV_COMBINER_HINDEXED_BLOCK,
		DTCONV_COMBINER_STRUCT,        DTCONV_COMBINER_SUBARRAY,
		DTCONV_COMBINER_DARRAY,        DTCONV_COMBINER_RESIZED
	};

	return all[k];
}

/* Who receives the choices. */
struct sink {
	grammar_visit_fn visit;
	void *arg;
};

static void give(const struct sink *sink, const struct grammar_choice *choice)
{
	sink->visit(choice, sink->arg);
}

static struct grammar_choice blank(enum dtconv_combiner combiner)
{
	return (struct grammar_choice){ .combiner = combiner, .type_count = 1 };
}

/* The o-th displacement of the grammar; byte displacements have twice as many. */
static void set_displacement(struct grammar_choice *choice, size_t i, size_t o,
			     bool bytes)
{
	choice->scaled[i] = bytes && o < ELEMENTS;
	choice->displacements[i] = o < ELEMENTS ? elements[o] : odd_bytes[o - ELEMENTS];
}

static void visit_contiguous(const struct sink *sink)
{
	struct grammar_choice choice = blank(DTCONV_COMBINER_CONTIGUOUS);

	choice.count_count = 1;
	for (choice.counts[0] = 0; choice.counts[0] < COUNTS; choice.counts[0]++)
		give(sink, &choice);
}

static void visit_vector(const struct sink *sink, bool bytes)
{
	struct grammar_choice choice =
		blank(bytes ? DTCONV_COMBINER_HVECTOR : DTCONV_COMBINER_VECTOR);
	size_t strides = bytes ? ELEMENTS + ODD_BYTES : ELEMENTS;

	choice.count_count = 2;
	choice.displacement_count = 1;
	for (size_t i = 0; i < COUNTS * LENGTHS * strides; i++) {
		choice.counts[0] = i / strides / LENGTHS;
		choice.counts[1] = i / strides % LENGTHS;
		set_displacement(&choice, 0, i % strides, bytes);
		give(sink, &choice);
	}
}

/* indexed and hindexed, or the members of a struct but for their types. */
static void visit_lists(const struct sink *sink, struct grammar_choice choice,
			size_t blocks, bool bytes)
{
	size_t places = bytes ? ELEMENTS + ODD_BYTES : ELEMENTS, all = 1;

	for (size_t i = 0; i < blocks; i++)
		all *= LENGTHS * places;
	choice.count_count = (unsigned char)(1 + blocks);
	choice.displacement_count = (unsigned char)blocks;
	choice.counts[0] = blocks;
	for (size_t i = 0; i < all; i++) {
		size_t rest = i;

		for (size_t b = 0; b < blocks; b++) {
			choice.counts[1 + b] = rest % LENGTHS;
			set_displacement(&choice, b, rest / LENGTHS % places, bytes);
			rest /= LENGTHS * places;
		}
		give(sink, &choice);
	}
}

static void visit_block_lists(const struct sink *sink, size_t blocks, bool bytes)
{
	struct grammar_choice choice = blank(bytes ? DTCONV_COMBINER_HINDEXED_BLOCK
						   : DTCONV_COMBINER_INDEXED_BLOCK);
	size_t places = bytes ? ELEMENTS + ODD_BYTES : ELEMENTS, all = LENGTHS;

	for (size_t i = 0; i < blocks; i++)
		all *= places;
	choice.count_count = 2;
	choice.displacement_count = (unsigned char)blocks;
	choice.counts[0] = blocks;
	for (size_t i = 0; i < all; i++) {
		size_t rest = i / LENGTHS;

		choice.counts[1] = i % LENGTHS;
		for (size_t b = 0; b < blocks; b++) {
			set_displacement(&choice, b, rest % places, bytes);
			rest /= places;
		}
		give(sink, &choice);
	}
}

/* Up to two members, everywhere, of all leaves. */
static void visit_small_structs(const struct sink *sink)
{
	struct grammar_choice choice = blank(DTCONV_COMBINER_STRUCT);

	choice.type_count = 0;
	visit_lists(sink, choice, 0, true);
	for (size_t i = 0; i < GRAMMAR_LEAVES; i++) {
		choice.type_count = 1;
		choice.members[0] = (unsigned char)(1 + i);
		visit_lists(sink, choice, 1, true);
	}
	for (size_t i = 0; i < GRAMMAR_LEAVES * GRAMMAR_LEAVES; i++) {
		choice.type_count = 2;
		choice.members[0] = (unsigned char)(1 + i / GRAMMAR_LEAVES);
		choice.members[1] = (unsigned char)(1 + i % GRAMMAR_LEAVES);
		visit_lists(sink, choice, 2, true);
	}
}

/* Three members, at five places. */
static void visit_large_structs(const struct sink *sink)
{
	struct grammar_choice choice = blank(DTCONV_COMBINER_STRUCT);
	size_t each = LENGTHS * STRUCT_BYTES * GRAMMAR_LEAVES;

	choice.count_count = 4;
	choice.displacement_count = 3;
	choice.type_count = 3;
	choice.counts[0] = 3;
	for (size_t i = 0; i < each * each * each; i++) {
		size_t rest = i;

		for (size_t b = 0; b < 3; b++) {
			choice.members[b] = (unsigned char)(1 + rest % GRAMMAR_LEAVES);
			rest /= GRAMMAR_LEAVES;
			choice.counts[1 + b] = rest % LENGTHS;
			rest /= LENGTHS;
			choice.displacements[b] = struct_bytes[rest % STRUCT_BYTES];
			rest /= STRUCT_BYTES;
		}
		give(sink, &choice);
	}
}

/* ---- arrays -------------------------------------------------------------------------- */

/* One dimension of an array: its numbers in the order of the contents. */
struct dimension {
	size_t numbers[4]; /* subarray: size, subsize, start; darray: gsize ... psize */
	size_t coordinate; /* darray: which of the processes of this dimension */
};

/* The ways to make one dimension: 10 boxes, 3 x (1 + 2 kinds x 2 sizes x (1 + 2 + 3)). */
struct dimensions {
	struct dimension all[96];
	size_t count;
};

static void list_boxes(struct dimensions *d)
{
	d->count = 0;
	for (size_t size = 1; size <= 3; size++)
		for (size_t subsize = 1; subsize <= size; subsize++)
			for (size_t start = 0; start + subsize <= size; start++)
				d->all[d->count++] = (struct dimension){
					.numbers = { size, subsize, start }
				};
}

static void list_shares(struct dimensions *d, size_t gsize, size_t distribution,
			size_t darg, size_t psize)
{
	for (size_t coordinate = 0; coordinate < psize; coordinate++)
		d->all[d->count++] = (struct dimension){ .numbers = { gsize, distribution,
								      darg, psize },
							 .coordinate = coordinate };
}

static void list_dealt(struct dimensions *d, size_t max_processes, bool default_only)
{
	d->count = 0;
	for (size_t gsize = 1; gsize <= 3; gsize++) {
		list_shares(d, gsize, DTCONV_DISTRIBUTE_NONE, DTCONV_DISTRIBUTE_DFLT_DARG,
			    1);
		for (size_t psize = 1; psize <= max_processes; psize++) {
			list_shares(d, gsize, DTCONV_DISTRIBUTE_BLOCK,
				    DTCONV_DISTRIBUTE_DFLT_DARG, psize);
			list_shares(d, gsize, DTCONV_DISTRIBUTE_CYCLIC,
				    DTCONV_DISTRIBUTE_DFLT_DARG, psize);
			if (default_only)
				continue;
			list_shares(d, gsize, DTCONV_DISTRIBUTE_BLOCK, 3, psize);
			list_shares(d, gsize, DTCONV_DISTRIBUTE_CYCLIC, 2, psize);
		}
	}
}

static void give_subarray(const struct sink *sink, const struct dimension *const picked[],
			  size_t ndims, size_t order)
{
	struct grammar_choice choice = blank(DTCONV_COMBINER_SUBARRAY);

	choice.count_count = (unsigned char)(2 + 3 * ndims);
	choice.counts[0] = ndims;
	for (size_t i = 0; i < ndims; i++)
		for (size_t k = 0; k < 3; k++)
			choice.counts[1 + k * ndims + i] = picked[i]->numbers[k];
	choice.counts[1 + 3 * ndims] = order;
	give(sink, &choice);
}

static void give_darray(const struct sink *sink, const struct dimension *const picked[],
			size_t ndims, size_t order)
{
	struct grammar_choice choice = blank(DTCONV_COMBINER_DARRAY);

	choice.count_count = (unsigned char)(4 + 4 * ndims);
	choice.counts[0] = 1;
	choice.counts[2] = ndims;
	for (size_t i = 0; i < ndims; i++) {
		for (size_t k = 0; k < 4; k++)
			choice.counts[3 + k * ndims + i] = picked[i]->numbers[k];
		choice.counts[0] *= picked[i]->numbers[3];
		choice.counts[1] =
			choice.counts[1] * picked[i]->numbers[3] + picked[i]->coordinate;
	}
	choice.counts[3 + 4 * ndims] = order;
	give(sink, &choice);
}

static void visit_arrays(const struct sink *sink, const struct dimensions *d,
			 size_t ndims, bool dealt)
{
	size_t all = 2;

	for (size_t i = 0; i < ndims; i++)
		all *= d->count;
	for (size_t i = 0; i < all; i++) {
		const struct dimension *picked[3];
		size_t rest = i / 2;

		for (size_t k = 0; k < ndims; k++) {
			picked[k] = &d->all[rest % d->count];
			rest /= d->count;
		}
		if (dealt)
			give_darray(sink, picked, ndims, i % 2);
		else
			give_subarray(sink, picked, ndims, i % 2);
	}
}

static void visit_subarrays(const struct sink *sink)
{
	struct dimensions d;

	list_boxes(&d);
	for (size_t ndims = 1; ndims <= 3; ndims++)
		visit_arrays(sink, &d, ndims, false);
}

static void visit_darrays(const struct sink *sink)
{
	struct dimensions d;

	list_dealt(&d, 3, false);
	visit_arrays(sink, &d, 1, true);
	visit_arrays(sink, &d, 2, true);
	list_dealt(&d, 2, true);
	visit_arrays(sink, &d, 3, true);
}

static void visit_resized(const struct sink *sink)
{
	static const ptrdiff_t lbs[] = { -2, 0, 1 }, extents[] = { -4, 0, 1, 5 };
	struct grammar_choice choice = blank(DTCONV_COMBINER_RESIZED);

	choice.displacement_count = 2;
	for (size_t i = 0; i < 12; i++) {
		choice.displacements[0] = lbs[i / 4];
		choice.displacements[1] = extents[i % 4];
		give(sink, &choice);
	}
}

void grammar_visit(enum dtconv_combiner combiner, grammar_visit_fn visit, void *arg)
{
	struct sink sink = { visit, arg };
	struct grammar_choice choice = blank(combiner);
	bool bytes = combiner == DTCONV_COMBINER_HVECTOR ||
		     combiner == DTCONV_COMBINER_HINDEXED ||
		     combiner == DTCONV_COMBINER_HINDEXED_BLOCK;

	switch (combiner) {
	case DTCONV_COMBINER_DUP:
		give(&sink, &choice);
		break;
	case DTCONV_COMBINER_CONTIGUOUS:
		visit_contiguous(&sink);
		break;
	case DTCONV_COMBINER_VECTOR:
	case DTCONV_COMBINER_HVECTOR:
		visit_vector(&sink, bytes);
		break;
	case DTCONV_COMBINER_INDEXED:
	case DTCONV_COMBINER_HINDEXED:
		for (size_t blocks = 0; blocks <= GRAMMAR_MAX_BLOCKS; blocks++)
			visit_lists(&sink, choice, blocks, bytes);
		break;
	case DTCONV_COMBINER_INDEXED_BLOCK:
	case DTCONV_COMBINER_HINDEXED_BLOCK:
		for (size_t blocks = 0; blocks <= GRAMMAR_MAX_BLOCKS; blocks++)
			visit_block_lists(&sink, blocks, bytes);
		break;
	case DTCONV_COMBINER_STRUCT:
		visit_small_structs(&sink);
		visit_large_structs(&sink);
		break;
	case DTCONV_COMBINER_SUBARRAY:
		visit_subarrays(&sink);
		break;
	case DTCONV_COMBINER_DARRAY:
		visit_darrays(&sink);
		break;
	default:
		visit_resized(&sink);
	}
}

/* ---- samples ------------------------------------------------------------------------- */

/* Takes `wanted` of the `total` choices that pass, evenly; counts them if choices is NULL. */
struct sampler {
	size_t copies;
	size_t wanted;
	size_t total;
	size_t seen;
	size_t taken;
	struct grammar_choice *choices;
};

static size_t box_copies(const struct grammar_choice *choice)
{
	size_t copies = 1, ndims = choice->counts[0];

	for (size_t i = 0; i < ndims; i++)
		copies *= choice->counts[1 + ndims + i];
	return copies;
}

/* The largest share, not this process's own: enough to keep the sample small. */
static size_t share_copies(const struct grammar_choice *choice)
{
	size_t copies = 1, ndims = choice->counts[2];
	const size_t *gsizes = &choice->counts[3], *psizes = gsizes + 3 * ndims;

	for (size_t i = 0; i < ndims; i++)
		copies *= (gsizes[i] + psizes[i] - 1) / psizes[i];
	return copies;
}

static size_t copies_of(const struct grammar_choice *choice)
{
	size_t copies = 0;

	switch (choice->combiner) {
	case DTCONV_COMBINER_CONTIGUOUS:
		return choice->counts[0];
	case DTCONV_COMBINER_VECTOR:
	case DTCONV_COMBINER_HVECTOR:
	case DTCONV_COMBINER_INDEXED_BLOCK:
	case DTCONV_COMBINER_HINDEXED_BLOCK:
		return choice->counts[0] * choice->counts[1];
	case DTCONV_COMBINER_INDEXED:
	case DTCONV_COMBINER_HINDEXED:
	case DTCONV_COMBINER_STRUCT:
		for (size_t i = 0; i < choice->counts[0]; i++)
			copies += choice->counts[1 + i];
		return copies;
	case DTCONV_COMBINER_SUBARRAY:
		return box_copies(choice);
	case DTCONV_COMBINER_DARRAY:
		return share_copies(choice);
	default:
		return 1;
	}
}

static void sample(const struct grammar_choice *choice, void *arg)
{
	struct sampler *s = arg;

	if (copies_of(choice) > s->copies)
		return;
	if (s->choices && s->taken < s->wanted &&
	    s->seen == s->taken * s->total / s->wanted)
		s->choices[s->taken++] = *choice;
	s->seen++;
}

/* Structs over an inner tree: (T), (T, T), (T, double), (int8, T). */
static void visit_inner_structs(const struct sink *sink)
{
	static const unsigned char members[][2] = { { 0, 0 }, { 0, 3 }, { 1, 0 } };
	struct grammar_choice choice = blank(DTCONV_COMBINER_STRUCT);

	visit_lists(sink, choice, 1, true);
	choice.type_count = 2;
	for (size_t i = 0; i < 3; i++) {
		choice.members[0] = members[i][0];
		choice.members[1] = members[i][1];
		visit_lists(sink, choice, 2, true);
	}
}

static void visit_inner(enum dtconv_combiner combiner, struct sampler *sampler)
{
	struct sink sink = { sample, sampler };

	sampler->seen = 0;
	if (combiner == DTCONV_COMBINER_STRUCT)
		visit_inner_structs(&sink);
	else
		grammar_visit(combiner, sample, sampler);
}

size_t grammar_sample(enum dtconv_combiner combiner, size_t copies, size_t most,
		      struct grammar_choice choices[])
{
	struct sampler sampler = { .copies = copies };

	visit_inner(combiner, &sampler);
	sampler.total = sampler.seen;
	sampler.wanted = most < sampler.total ? most : sampler.total;
	sampler.choices = choices;
	visit_inner(combiner, &sampler);
	return sampler.taken;
}
