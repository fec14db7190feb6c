/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bytes of serialised types (doc/types.md has them as a table): where fields stand, which
 * numbers stand for constructors and predefined types, how many values a constructor has, and
 * integers of any width at any address. It handles neither types nor errors.
 */
#ifndef DTC_WIRE_H
#define DTC_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include <dtconv/type.h>

#include "datatype/text_forms.h"

#define DTC_WIRE_VERSION 1

/* "\xd7dtc", as a little-endian number: it begins like no text form. */
#define DTC_WIRE_MAGIC UINT32_C(0x637464d7)

/* The header, then predefined entries, then records. */
enum {
	DTC_WIRE_MAGIC_AT = 0,            /* 4 bytes */
	DTC_WIRE_VERSION_AT = 4,          /* 2 */
	DTC_WIRE_PREDEFINED_COUNT_AT = 6, /* 2 */
	DTC_WIRE_LENGTH_AT = 8,           /* 8: of the whole stream */
	DTC_WIRE_RECORD_COUNT_AT = 16,    /* 8 */
	DTC_WIRE_HEADER_BYTES = 24
};

/* A predefined type that occurs, with what it is where the stream was made; 2 bytes each. */
enum {
	DTC_WIRE_NUMBER_AT = 0,
	DTC_WIRE_SIZE_AT = 2,
	DTC_WIRE_TYPE_EXTENT_AT = 4,
	DTC_WIRE_ALIGNMENT_AT = 6,
	DTC_WIRE_PREDEFINED_BYTES = 8
};

/* The three arrays of a constructor's arguments, in this order. */
enum dtc_wire_array {
	DTC_WIRE_COUNTS,
	DTC_WIRE_DISPLACEMENTS,
	DTC_WIRE_TYPES,
	DTC_WIRE_ARRAYS
};

/* A constructor: the head of its record; its arrays follow. */
enum {
	DTC_WIRE_COMBINER_AT = 0, /* 1 byte */
	DTC_WIRE_WIDTHS_AT = 1,   /* 1 for each array: bytes of a value */
	DTC_WIRE_EXTENT_AT = 4,   /* 8 */
	DTC_WIRE_ENTRIES_AT = 12, /* 8: blocks, members or dimensions */
	DTC_WIRE_RECORD_HEAD_BYTES = 20
};

/* All numbers of predefined types are smaller. */
#define DTC_WIRE_PREDEFINED_END 256

/* Numbers that never change; 0 is none of them. */
unsigned dtc_wire_predefined(enum dtconv_predefined which);
unsigned dtc_wire_combiner(enum dtconv_combiner combiner);

/* What a number stands for; DTCONV_PREDEFINED_COUNT and NAMED if it stands for nothing. */
enum dtconv_predefined dtc_wire_predefined_find(unsigned number);
enum dtconv_combiner dtc_wire_combiner_find(unsigned number);

/* How many values each array of a constructor has: fixed + each x entries. */
struct dtc_wire_shape {
	size_t fixed[DTC_WIRE_ARRAYS];
	size_t each[DTC_WIRE_ARRAYS];
	/*
	 * Where the number of entries stands among the contents' counts. It is not repeated
	 * among the stream's. SIZE_MAX if the constructor has no entries.
	 */
	size_t slot;
};

struct dtc_wire_shape dtc_wire_shape_of(const struct dtc_text_form *form);

/* Little-endian integers of 1 to 8 bytes. Signed ones are two's complement. */
uint64_t dtc_wire_get(const unsigned char *at, unsigned bytes);
int64_t dtc_wire_get_signed(const unsigned char *at, unsigned bytes);
void dtc_wire_put(unsigned char *at, unsigned bytes, uint64_t value);

#endif
