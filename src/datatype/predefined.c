/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of predefined types. C types have the compiler's sizes and alignments. Fortran
 * default kinds have 4 bytes, as with all common compilers.
 */
#include "config.h"

#include "predefined.h"

#include <complex.h>
#include <wchar.h>

#include "base/base.h"

#define C_TYPE(which, text, type, in_group)        \
	[which] = { .name = text,                  \
		    .group = DTC_GROUP_##in_group, \
		    .size = sizeof(type),          \
		    .alignment = _Alignof(type),   \
		    .extent = sizeof(type) }

#define UNSIGNED_TYPE(which, text, type)          \
	[which] = { .name = text,                 \
		    .group = DTC_GROUP_C_INTEGER, \
		    .is_unsigned = true,          \
		    .size = sizeof(type),         \
		    .alignment = _Alignof(type),  \
		    .extent = sizeof(type) }

#define FORTRAN_TYPE(which, text, bytes, align, in_group) \
	[which] = { .name = text,                         \
		    .group = DTC_GROUP_##in_group,        \
		    .size = bytes,                        \
		    .alignment = align,                   \
		    .extent = bytes }

#define PAIR_TYPE(which, text, value_which, value_type, index_which, index_type) \
	[which] = { .name = text,                                                \
		    .group = DTC_GROUP_PAIR,                                     \
		    .size = sizeof(value_type) + sizeof(index_type),             \
		    .alignment = _Alignof(struct pair_##which),                  \
		    .extent = sizeof(struct pair_##which),                       \
		    .is_pair = true,                                             \
		    .value = value_which,                                        \
		    .index = index_which,                                        \
		    .index_disp = offsetof(struct pair_##which, index) }

#define PAIR_STRUCT(which, value_type, index_type) \
	struct pair_##which {                      \
		value_type value;                  \
		index_type index;                  \
	}

PAIR_STRUCT(DTCONV_FLOAT_INT, float, int);
PAIR_STRUCT(DTCONV_DOUBLE_INT, double, int);
PAIR_STRUCT(DTCONV_LONG_INT, long, int);
PAIR_STRUCT(DTCONV_2INT, int, int);
PAIR_STRUCT(DTCONV_SHORT_INT, short, int);
PAIR_STRUCT(DTCONV_LONG_DOUBLE_INT, long double, int);
PAIR_STRUCT(DTCONV_2REAL, float, float);
PAIR_STRUCT(DTCONV_2DOUBLE_PRECISION, double, double);
PAIR_STRUCT(DTCONV_2INTEGER, int, int);

static const struct dtc_predefined rows[DTCONV_PREDEFINED_COUNT] = {
	C_TYPE(DTCONV_BYTE, "byte", unsigned char, BYTE),
	C_TYPE(DTCONV_PACKED, "packed", unsigned char, TEXT),
	C_TYPE(DTCONV_CHAR, "char", char, TEXT),
	C_TYPE(DTCONV_SIGNED_CHAR, "signed_char", signed char, C_INTEGER),
	UNSIGNED_TYPE(DTCONV_UNSIGNED_CHAR, "unsigned_char", unsigned char),
	C_TYPE(DTCONV_SHORT, "short", short, C_INTEGER),
	UNSIGNED_TYPE(DTCONV_UNSIGNED_SHORT, "unsigned_short", unsigned short),
	C_TYPE(DTCONV_INT, "int", int, C_INTEGER),
	UNSIGNED_TYPE(DTCONV_UNSIGNED, "unsigned", unsigned),
	C_TYPE(DTCONV_LONG, "long", long, C_INTEGER),
	UNSIGNED_TYPE(DTCONV_UNSIGNED_LONG, "unsigned_long", unsigned long),
	C_TYPE(DTCONV_LONG_LONG, "long_long", long long, C_INTEGER),
	UNSIGNED_TYPE(DTCONV_UNSIGNED_LONG_LONG, "unsigned_long_long",
		      unsigned long long),
	C_TYPE(DTCONV_FLOAT, "float", float, FLOATING),
	C_TYPE(DTCONV_DOUBLE, "double", double, FLOATING),
	C_TYPE(DTCONV_LONG_DOUBLE, "long_double", long double, FLOATING),
	C_TYPE(DTCONV_WCHAR, "wchar", wchar_t, TEXT),
	C_TYPE(DTCONV_C_BOOL, "c_bool", _Bool, LOGICAL),
	C_TYPE(DTCONV_INT8, "int8", int8_t, C_INTEGER),
	C_TYPE(DTCONV_INT16, "int16", int16_t, C_INTEGER),
	C_TYPE(DTCONV_INT32, "int32", int32_t, C_INTEGER),
	C_TYPE(DTCONV_INT64, "int64", int64_t, C_INTEGER),
	UNSIGNED_TYPE(DTCONV_UINT8, "uint8", uint8_t),
	UNSIGNED_TYPE(DTCONV_UINT16, "uint16", uint16_t),
	UNSIGNED_TYPE(DTCONV_UINT32, "uint32", uint32_t),
	UNSIGNED_TYPE(DTCONV_UINT64, "uint64", uint64_t),
	C_TYPE(DTCONV_C_FLOAT_COMPLEX, "c_float_complex", float _Complex, COMPLEX),
	C_TYPE(DTCONV_C_DOUBLE_COMPLEX, "c_double_complex", double _Complex, COMPLEX),
	C_TYPE(DTCONV_C_LONG_DOUBLE_COMPLEX, "c_long_double_complex",
	       long double _Complex, COMPLEX),
	C_TYPE(DTCONV_AINT, "aint", ptrdiff_t, LANGUAGE),
	C_TYPE(DTCONV_OFFSET, "offset", int64_t, LANGUAGE),
	C_TYPE(DTCONV_COUNT, "count", int64_t, LANGUAGE),
	C_TYPE(DTCONV_FLOAT16, "float16", uint16_t, FLOATING),
	C_TYPE(DTCONV_BFLOAT16, "bfloat16", uint16_t, FLOATING),
	C_TYPE(DTCONV_CXX_BOOL, "cxx_bool", _Bool, LOGICAL),
	C_TYPE(DTCONV_CXX_FLOAT_COMPLEX, "cxx_float_complex", float _Complex, COMPLEX),
	C_TYPE(DTCONV_CXX_DOUBLE_COMPLEX, "cxx_double_complex", double _Complex, COMPLEX),
	C_TYPE(DTCONV_CXX_LONG_DOUBLE_COMPLEX, "cxx_long_double_complex",
	       long double _Complex, COMPLEX),
	FORTRAN_TYPE(DTCONV_CHARACTER, "character", 1, 1, TEXT),
	FORTRAN_TYPE(DTCONV_LOGICAL, "logical", 4, 4, LOGICAL),
	FORTRAN_TYPE(DTCONV_INTEGER, "integer", 4, 4, FORTRAN_INTEGER),
	FORTRAN_TYPE(DTCONV_REAL, "real", 4, 4, FLOATING),
	FORTRAN_TYPE(DTCONV_DOUBLE_PRECISION, "double_precision", 8, _Alignof(double),
		     FLOATING),
	FORTRAN_TYPE(DTCONV_COMPLEX, "complex", 8, 4, COMPLEX),
	FORTRAN_TYPE(DTCONV_DOUBLE_COMPLEX, "double_complex", 16, _Alignof(double),
		     COMPLEX),
	FORTRAN_TYPE(DTCONV_INTEGER1, "integer1", 1, 1, FORTRAN_INTEGER),
	FORTRAN_TYPE(DTCONV_INTEGER2, "integer2", 2, 2, FORTRAN_INTEGER),
	FORTRAN_TYPE(DTCONV_INTEGER4, "integer4", 4, 4, FORTRAN_INTEGER),
	FORTRAN_TYPE(DTCONV_INTEGER8, "integer8", 8, _Alignof(int64_t), FORTRAN_INTEGER),
	FORTRAN_TYPE(DTCONV_INTEGER16, "integer16", 16, 16, FORTRAN_INTEGER),
	FORTRAN_TYPE(DTCONV_REAL2, "real2", 2, 2, FLOATING),
	FORTRAN_TYPE(DTCONV_REAL4, "real4", 4, 4, FLOATING),
	FORTRAN_TYPE(DTCONV_REAL8, "real8", 8, _Alignof(double), FLOATING),
	FORTRAN_TYPE(DTCONV_REAL16, "real16", 16, 16, FLOATING),
	FORTRAN_TYPE(DTCONV_COMPLEX4, "complex4", 4, 2, COMPLEX),
	FORTRAN_TYPE(DTCONV_COMPLEX8, "complex8", 8, 4, COMPLEX),
	FORTRAN_TYPE(DTCONV_COMPLEX16, "complex16", 16, _Alignof(double), COMPLEX),
	FORTRAN_TYPE(DTCONV_COMPLEX32, "complex32", 32, 16, COMPLEX),
	PAIR_TYPE(DTCONV_FLOAT_INT, "float_int", DTCONV_FLOAT, float, DTCONV_INT, int),
	PAIR_TYPE(DTCONV_DOUBLE_INT, "double_int", DTCONV_DOUBLE, double, DTCONV_INT,
		  int),
	PAIR_TYPE(DTCONV_LONG_INT, "long_int", DTCONV_LONG, long, DTCONV_INT, int),
	PAIR_TYPE(DTCONV_2INT, "2int", DTCONV_INT, int, DTCONV_INT, int),
	PAIR_TYPE(DTCONV_SHORT_INT, "short_int", DTCONV_SHORT, short, DTCONV_INT, int),
	PAIR_TYPE(DTCONV_LONG_DOUBLE_INT, "long_double_int", DTCONV_LONG_DOUBLE,
		  long double, DTCONV_INT, int),
	PAIR_TYPE(DTCONV_2REAL, "2real", DTCONV_REAL, float, DTCONV_REAL, float),
	PAIR_TYPE(DTCONV_2DOUBLE_PRECISION, "2double_precision", DTCONV_DOUBLE_PRECISION,
		  double, DTCONV_DOUBLE_PRECISION, double),
	PAIR_TYPE(DTCONV_2INTEGER, "2integer", DTCONV_INTEGER, int, DTCONV_INTEGER, int),
};

const struct dtc_predefined *dtc_predefined_row(enum dtconv_predefined which)
{
	return &rows[which];
}

const char *dtc_predefined_name(enum dtconv_predefined which)
{
	return rows[which].name;
}

enum dtconv_predefined dtc_predefined_pair(enum dtconv_predefined value,
					   enum dtconv_predefined index)
{
	for (size_t i = 0; i < DTCONV_PREDEFINED_COUNT; i++)
		if (rows[i].is_pair && rows[i].value == value && rows[i].index == index)
			return (enum dtconv_predefined)i;
	return DTCONV_PREDEFINED_COUNT;
}

bool dtc_predefined_is_integer(enum dtconv_predefined which)
{
	enum dtc_group group = rows[which].group;

	return group == DTC_GROUP_C_INTEGER || group == DTC_GROUP_FORTRAN_INTEGER ||
	       group == DTC_GROUP_LANGUAGE;
}
