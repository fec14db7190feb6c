/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The predefined types: their names, sizes, alignments and, for pairs, their members. Derived
 * types are not handled here.
 */
#ifndef DTC_PREDEFINED_H
#define DTC_PREDEFINED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dtconv/type.h>

/* The classes of types on which operations are defined (MPI 4.1 section 6.9.2). */
enum dtc_group {
	DTC_GROUP_TEXT, /* characters: no operation is defined */
	DTC_GROUP_BYTE,
	DTC_GROUP_C_INTEGER,
	DTC_GROUP_FORTRAN_INTEGER,
	DTC_GROUP_LANGUAGE, /* addresses, offsets and counts */
	DTC_GROUP_FLOATING,
	DTC_GROUP_COMPLEX,
	DTC_GROUP_LOGICAL,
	DTC_GROUP_PAIR
};

struct dtc_predefined {
	const char *name; /* in the text form */
	enum dtc_group group;
	bool is_unsigned; /* integers */
	size_t size;      /* bytes of data; a pair's gap is not data */
	size_t alignment;
	size_t extent;
	/* Pairs only: value at displacement 0, index at index_disp. */
	bool is_pair;
	enum dtconv_predefined value;
	enum dtconv_predefined index;
	size_t index_disp;
};

/* The row of a predefined type. @which has to be a valid one. */
const struct dtc_predefined *dtc_predefined_row(enum dtconv_predefined which);

/* Its name in the text form. */
const char *dtc_predefined_name(enum dtconv_predefined which);

/* The predefined pair of two types, or DTCONV_PREDEFINED_COUNT. */
enum dtconv_predefined dtc_predefined_pair(enum dtconv_predefined value,
					   enum dtconv_predefined index);

/* Whether it is an integer type of C or Fortran, and so may be an index. */
bool dtc_predefined_is_integer(enum dtconv_predefined which);

#endif
