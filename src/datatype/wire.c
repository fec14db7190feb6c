/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The numbers of the serialised form. Streams outlive programs, so entries are only added to
 * these tables and never changed (test/golden/serialised.txt).
 */
#include "config.h"

#include "wire.h"

#include "base/base.h"

static const uint8_t predefined_numbers[DTCONV_PREDEFINED_COUNT] = {
	[DTCONV_BYTE] = 1,
	[DTCONV_PACKED] = 2,
	[DTCONV_CHAR] = 3,
	[DTCONV_SIGNED_CHAR] = 4,
	[DTCONV_UNSIGNED_CHAR] = 5,
	[DTCONV_SHORT] = 6,
	[DTCONV_UNSIGNED_SHORT] = 7,
	[DTCONV_INT] = 8,
	[DTCONV_UNSIGNED] = 9,
	[DTCONV_LONG] = 10,
	[DTCONV_UNSIGNED_LONG] = 11,
	[DTCONV_LONG_LONG] = 12,
	[DTCONV_UNSIGNED_LONG_LONG] = 13,
	[DTCONV_FLOAT] = 14,
	[DTCONV_DOUBLE] = 15,
	[DTCONV_LONG_DOUBLE] = 16,
	[DTCONV_WCHAR] = 17,
	[DTCONV_C_BOOL] = 18,
	[DTCONV_INT8] = 19,
	[DTCONV_INT16] = 20,
	[DTCONV_INT32] = 21,
	[DTCONV_INT64] = 22,
	[DTCONV_UINT8] = 23,
	[DTCONV_UINT16] = 24,
	[DTCONV_UINT32] = 25,
	[DTCONV_UINT64] = 26,
	[DTCONV_C_FLOAT_COMPLEX] = 27,
	[DTCONV_C_DOUBLE_COMPLEX] = 28,
	[DTCONV_C_LONG_DOUBLE_COMPLEX] = 29,
	[DTCONV_AINT] = 30,
	[DTCONV_OFFSET] = 31,
	[DTCONV_COUNT] = 32,
	[DTCONV_FLOAT16] = 33,
	[DTCONV_BFLOAT16] = 34,
	[DTCONV_CXX_BOOL] = 35,
	[DTCONV_CXX_FLOAT_COMPLEX] = 36,
	[DTCONV_CXX_DOUBLE_COMPLEX] = 37,
	[DTCONV_CXX_LONG_DOUBLE_COMPLEX] = 38,
	[DTCONV_CHARACTER] = 39,
	[DTCONV_LOGICAL] = 40,
	[DTCONV_INTEGER] = 41,
	[DTCONV_REAL] = 42,
	[DTCONV_DOUBLE_PRECISION] = 43,
	[DTCONV_COMPLEX] = 44,
	[DTCONV_DOUBLE_COMPLEX] = 45,
	[DTCONV_INTEGER1] = 46,
	[DTCONV_INTEGER2] = 47,
	[DTCONV_INTEGER4] = 48,
	[DTCONV_INTEGER8] = 49,
	[DTCONV_INTEGER16] = 50,
	[DTCONV_REAL2] = 51,
	[DTCONV_REAL4] = 52,
	[DTCONV_REAL8] = 53,
	[DTCONV_REAL16] = 54,
	[DTCONV_COMPLEX4] = 55,
	[DTCONV_COMPLEX8] = 56,
	[DTCONV_COMPLEX16] = 57,
	[DTCONV_COMPLEX32] = 58,
	[DTCONV_FLOAT_INT] = 59,
	[DTCONV_DOUBLE_INT] = 60,
	[DTCONV_LONG_INT] = 61,
	[DTCONV_2INT] = 62,
	[DTCONV_SHORT_INT] = 63,
	[DTCONV_LONG_DOUBLE_INT] = 64,
	[DTCONV_2REAL] = 65,
	[DTCONV_2DOUBLE_PRECISION] = 66,
	[DTCONV_2INTEGER] = 67,
};

static const uint8_t combiner_numbers[] = {
	[DTCONV_COMBINER_DUP] = 1,           [DTCONV_COMBINER_CONTIGUOUS] = 2,
	[DTCONV_COMBINER_VECTOR] = 3,        [DTCONV_COMBINER_HVECTOR] = 4,
	[DTCONV_COMBINER_INDEXED] = 5,       [DTCONV_COMBINER_HINDEXED] = 6,
	[DTCONV_COMBINER_INDEXED_BLOCK] = 7, [DTCONV_COMBINER_HINDEXED_BLOCK] = 8,
	[DTCONV_COMBINER_STRUCT] = 9,        [DTCONV_COMBINER_SUBARRAY] = 10,
	[DTCONV_COMBINER_DARRAY] = 11,       [DTCONV_COMBINER_RESIZED] = 12,
	[DTCONV_COMBINER_F90_REAL] = 13,     [DTCONV_COMBINER_F90_COMPLEX] = 14,
	[DTCONV_COMBINER_F90_INTEGER] = 15,  [DTCONV_COMBINER_VALUE_INDEX] = 16,
};

unsigned dtc_wire_predefined(enum dtconv_predefined which)
{
	return predefined_numbers[which];
}

unsigned dtc_wire_combiner(enum dtconv_combiner combiner)
{
	return combiner_numbers[combiner];
}

enum dtconv_predefined dtc_wire_predefined_find(unsigned number)
{
	for (unsigned which = 0; which < DTCONV_PREDEFINED_COUNT; which++)
		if (predefined_numbers[which] == number)
			return (enum dtconv_predefined)which;
	return DTCONV_PREDEFINED_COUNT;
}

enum dtconv_combiner dtc_wire_combiner_find(unsigned number)
{
	for (unsigned i = 0; i < DTC_ARRAY_LENGTH(combiner_numbers); i++)
		if (combiner_numbers[i] == number)
			return (enum dtconv_combiner)i;
	return DTCONV_COMBINER_NAMED;
}

static enum dtc_wire_array array_of(enum dtc_text_kind kind)
{
	if (dtc_text_is_type(kind))
		return DTC_WIRE_TYPES;
	return dtc_text_is_displacement(kind) ? DTC_WIRE_DISPLACEMENTS : DTC_WIRE_COUNTS;
}

struct dtc_wire_shape dtc_wire_shape_of(const struct dtc_text_form *form)
{
	struct dtc_wire_shape shape = { .slot = SIZE_MAX };

	for (size_t i = 0; i < form->argument_count; i++) {
		enum dtc_text_kind kind = form->arguments[i].kind;

		if (kind == DTC_TEXT_LENGTH)
			shape.slot = shape.fixed[DTC_WIRE_COUNTS];
		else if (dtc_text_is_array(kind))
			shape.each[array_of(kind)]++;
		else
			shape.fixed[array_of(kind)]++;
	}
	return shape;
}

uint64_t dtc_wire_get(const unsigned char *at, unsigned bytes)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < bytes; i++)
		value |= (uint64_t)at[i] << 8 * i;
	return value;
}

int64_t dtc_wire_get_signed(const unsigned char *at, unsigned bytes)
{
	unsigned unused = 64 - 8 * bytes;

	assert(bytes >= 1 && bytes <= 8);
	return (int64_t)(dtc_wire_get(at, bytes) << unused) >> unused;
}

void dtc_wire_put(unsigned char *at, unsigned bytes, uint64_t value)
{
	for (unsigned i = 0; i < bytes; i++)
		at[i] = (unsigned char)(value >> 8 * i);
}
