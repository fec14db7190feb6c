/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The oracle: a type expanded element by element, as MPI 4.1 chapter 5 specifies. It uses only
 * the public envelope and contents, does not depend on src/, and prefers a loop over every
 * element to any formula.
 */
#ifndef TEST_SUPPORT_REF_TYPEMAP_H
#define TEST_SUPPORT_REF_TYPEMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dtconv/dtconv.h>

/** One (basic type, displacement) pair. A pair such as double_int is two of these. */
struct ref_entry {
	ptrdiff_t disp; /**< in bytes */
	uint8_t size;   /**< bytes of the basic type */
	uint8_t basic;  /**< enum dtconv_predefined, never a pair */
	uint8_t leaf; /**< the predefined type it came in: the pair, if it came in one */
};

/**
 * A typemap and what follows from it. The markers need no list of their own: of all the
 * lb markers of a typemap only the lowest counts, of all ub markers only the highest.
 */
struct ref_typemap {
	struct ref_entry *entries; /**< in typemap order */
	size_t count;              /**< of them */
	size_t capacity;           /**< room in entries */
	bool marked;               /**< the typemap holds lb and ub markers */
	bool bounded;      /**< lb and ub come from markers or data, not from nothing */
	ptrdiff_t lb;      /**< lower bound, by the markers if there are any */
	ptrdiff_t ub;      /**< upper bound, padding included */
	ptrdiff_t true_lb; /**< lowest byte of data, 0 if there is none */
	ptrdiff_t true_ub; /**< one past the highest, 0 if there is none */
	size_t size;       /**< packed bytes */
	size_t alignment;  /**< strictest of the entries, 1 if there are none */
	bool contiguous;   /**< any number of them are one run, in order */
};

/** A constructor's arguments, in the order of dtconv_type_query_contents. */
struct ref_constructor {
	enum dtconv_combiner combiner;             /**< not NAMED */
	const size_t *counts;                      /**< as the contents give them */
	const ptrdiff_t *displacements;            /**< as the contents give them */
	const struct ref_typemap *const *oldtypes; /**< one typemap an old type */
	enum dtconv_padding padding;               /**< which extents are rounded up */
};

/** The most entries that ref_typemap_build makes unless told otherwise. */
#define REF_DEFAULT_LIMIT ((size_t)1 << 22)

/** The deepest tree that is expanded. */
#define REF_MAX_DEPTH 300

/**
 * Expand a type.
 * @param type    any type.
 * @param padding the padding rule of its context.
 * @param limit   most entries to make; 0 means REF_DEFAULT_LIMIT.
 * @param map     [out] to be freed with ref_typemap_free.
 * @return 0, or -1 if it has more entries than that, is too deep or memory is short.
 */
int ref_typemap_build(const struct dtconv_type *type, enum dtconv_padding padding,
		      size_t limit, struct ref_typemap *map);

/** Expand a predefined type into an empty (zeroed or reused) map; 0 or -1. */
int ref_typemap_predefined(enum dtconv_predefined which, struct ref_typemap *map);

/** Apply one constructor to expanded old types; `map` is empty or reused. 0 or -1. */
int ref_typemap_apply(const struct ref_constructor *constructor, size_t limit,
		      struct ref_typemap *map);

/** Free the entries; the map may be used again. */
void ref_typemap_free(struct ref_typemap *map);

/** The predefined type of which the map is made throughout, else DTCONV_PREDEFINED_COUNT. */
enum dtconv_predefined ref_typemap_leaf(const struct ref_typemap *map);

/** Upper minus lower bound. */
static inline ptrdiff_t ref_typemap_extent(const struct ref_typemap *map)
{
	return map->ub - map->lb;
}

/** Do two maps hold the same basic types at the same places in the same order? */
bool ref_typemap_same_entries(const struct ref_typemap *a, const struct ref_typemap *b);

/** Do `count_a` of one and `count_b` of the other relate so? */
enum dtconv_signature_relation ref_typemap_compare_signature(const struct ref_typemap *a,
							     size_t count_a,
							     const struct ref_typemap *b,
							     size_t count_b);

/** Basic elements in `bytes` of packed stream, as dtconv_type_query_elements answers. */
size_t ref_typemap_elements(const struct ref_typemap *map, size_t bytes);

/** Lowest byte displacement of `count` instances, 0 if there is no data. */
ptrdiff_t ref_typemap_low(const struct ref_typemap *map, size_t count);

/** One past the highest byte displacement of `count` instances, 0 if there is no data. */
ptrdiff_t ref_typemap_high(const struct ref_typemap *map, size_t count);

/** Where each byte of the packed stream lies: count x size displacements. */
void ref_typemap_displacements(const struct ref_typemap *map, size_t count,
			       ptrdiff_t displacements[]);

/** Pack `count` instances at `origin` (displacement 0) into count x size bytes. */
void ref_typemap_pack(const struct ref_typemap *map, size_t count, const void *origin,
		      void *packed);

/** Unpack the first `bytes` of a packed stream; it may end inside an element. */
void ref_typemap_unpack(const struct ref_typemap *map, size_t count, void *origin,
			const void *packed, size_t bytes);

/** Does any byte of `count` instances occur twice in the packed stream? */
bool ref_typemap_overlaps(const struct ref_typemap *map, size_t count);

#endif
