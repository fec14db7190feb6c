/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bytes of serialised types (doc/types.md shows them as a table): the offsets of fields,
 * the numbers of constructors and predefined types, the number of values of a constructor, and
 * integers of any width at any address.
 */
#ifndef DTC_WIRE_H
#define DTC_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include <dtconv/type.h>

#include "datatype/text_forms.h"

#define DTC_WIRE_VERSION 1

/* "\xd7dtc" as a little-endian number; no text form begins with it. */
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

/* A used predefined type and its properties on the encoder's machine; 2 bytes each. */
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

/* The numbers of all predefined types are smaller. */
#define DTC_WIRE_PREDEFINED_END 256

/* Numbers that never change. None of them is 0. */
unsigned dtc_wire_predefined(enum dtconv_predefined which);
unsigned dtc_wire_combiner(enum dtconv_combiner combiner);

/* The meaning of a number; DTCONV_PREDEFINED_COUNT or NAMED if it is unassigned. */
enum dtconv_predefined dtc_wire_predefined_find(unsigned number);
enum dtconv_combiner dtc_wire_combiner_find(unsigned number);

/* The number of values in each array of a constructor: fixed + each * entries. */
struct dtc_wire_shape {
	size_t fixed[DTC_WIRE_ARRAYS];
	size_t each[DTC_WIRE_ARRAYS];
	/*
	 * The index of the number of entries among the counts; the stream does not repeat it
	 * there. SIZE_MAX if the constructor has no entries.
	 */
	size_t slot;
};

struct dtc_wire_shape dtc_wire_shape_of(const struct dtc_text_form *form);

/* Little-endian integers of 1 to 8 bytes. Signed ones are two's complement. */
uint64_t dtc_wire_get(const unsigned char *at, unsigned bytes);
int64_t dtc_wire_get_signed(const unsigned char *at, unsigned bytes);
void dtc_wire_put(unsigned char *at, unsigned bytes, uint64_t value);

#endif
