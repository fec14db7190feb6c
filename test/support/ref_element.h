/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The oracle of representations and operations: one basic element at a time, by the compiler's
 * own arithmetic and conversions.
 */
#ifndef TEST_SUPPORT_REF_ELEMENT_H
#define TEST_SUPPORT_REF_ELEMENT_H

#include <stdbool.h>
#include <stddef.h>

#include <dtconv/dtconv.h>

struct choices;
struct ref_typemap;

/** The largest element in memory or on the wire. */
#define REF_ELEMENT_BYTES 32

/** Bytes of a basic type that is no pair in a representation (NULL: native). */
size_t ref_element_size(const struct dtconv_representation *r,
			enum dtconv_predefined basic);

/** From memory to the wire; false if an integer does not fit. */
bool ref_element_encode(const struct dtconv_representation *r,
			enum dtconv_predefined basic, const void *native, void *wire);

/** From the wire to memory; false if an integer does not fit. */
bool ref_element_decode(const struct dtconv_representation *r,
			enum dtconv_predefined basic, const void *wire, void *native);

/** target = incoming op target, for an operation that is defined and takes no couples. */
void ref_element_combine(enum dtconv_op op, enum dtconv_predefined basic,
			 const void *incoming, void *target);

/** The same for minloc and maxloc of a value and its index. */
void ref_couple_combine(enum dtconv_op op, enum dtconv_predefined value,
			enum dtconv_predefined index, const void *incoming_value,
			const void *incoming_index, void *target_value,
			void *target_index);

/**
 * Any value that every representation holds. With `exact`, one that sums and products of two
 * represent exactly, so that no rounding decides.
 */
void ref_element_choose(struct choices *choices, enum dtconv_predefined basic, bool exact,
			void *native);

/** Are two elements the same value? The padding inside an x87 number does not count. */
bool ref_element_same(enum dtconv_predefined basic, const void *a, const void *b);

/** The wire stream of `count` instances at `origin`, whose values fit. */
void ref_stream_encode(const struct ref_typemap *map, size_t count,
		       const struct dtconv_representation *r, const void *origin,
		       void *wire);
size_t ref_stream_size(const struct ref_typemap *map, size_t count,
		       const struct dtconv_representation *r);

/** Fill every element of `count` instances at `origin` by ref_element_choose. */
void ref_stream_choose(const struct ref_typemap *map, size_t count,
		       struct choices *choices, bool exact, void *origin);

/**
 * What unpacking does: each element (for minloc and maxloc, each couple) of whose wire bytes
 * none is missing in `arrived` is combined with the one at `origin`.
 */
void ref_stream_apply(const struct ref_typemap *map, size_t count,
		      const struct dtconv_representation *r, enum dtconv_op op,
		      const void *wire, const unsigned char *arrived, void *origin);

#endif
