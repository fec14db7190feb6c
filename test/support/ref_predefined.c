/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of predefined types, as this compiler and MPI 4.1 see them.
 */
#include "config.h"

#include "support/ref_predefined.h"

#include <complex.h>
#include <stdbool.h>
#include <stdint.h>
#include <wchar.h>

/* Fortran types that C has no name for, as Fortran compilers lay them out. */
struct fortran_real2 {
	uint16_t half;
};
struct fortran_complex4 {
	uint16_t part[2];
};
struct fortran_integer16 {
	_Alignas(16) uint64_t part[2];
};
struct fortran_complex32 {
	_Alignas(16) uint64_t part[4];
};

/* Alignment as a struct member, which is what padding follows. */
#define MEMBER_ALIGNMENT(type)       \
	offsetof(                    \
		struct {             \
			char before; \
			type member; \
		},                   \
		member)

#define BASIC(which, text, type)                                  \
	[DTCONV_##which] = { .name = (text),                      \
			     .size = sizeof(type),                \
			     .extent = sizeof(type),              \
			     .alignment = MEMBER_ALIGNMENT(type), \
			     .first = DTCONV_##which,             \
			     .second = DTCONV_PREDEFINED_COUNT }

#define PAIR(which, text, value, value_type, index, index_type)               \
	[DTCONV_##which] = { .name = (text),                                  \
			     .size = sizeof(value_type) + sizeof(index_type), \
			     .extent = sizeof(struct {                        \
				     value_type first;                        \
				     index_type second;                       \
			     }),                                              \
			     .alignment = MEMBER_ALIGNMENT(struct {           \
				     value_type first;                        \
				     index_type second;                       \
			     }),                                              \
			     .first = DTCONV_##value,                         \
			     .second = DTCONV_##index,                        \
			     .second_disp = offsetof(                         \
				     struct {                                 \
					     value_type first;                \
					     index_type second;               \
				     },                                       \
				     second) }

const struct ref_predefined ref_predefined[DTCONV_PREDEFINED_COUNT] = {
	BASIC(BYTE, "byte", unsigned char),
	BASIC(PACKED, "packed", unsigned char),
	BASIC(CHAR, "char", char),
	BASIC(SIGNED_CHAR, "signed_char", signed char),
	BASIC(UNSIGNED_CHAR, "unsigned_char", unsigned char),
	BASIC(SHORT, "short", short),
	BASIC(UNSIGNED_SHORT, "unsigned_short", unsigned short),
	BASIC(INT, "int", int),
	BASIC(UNSIGNED, "unsigned", unsigned),
	BASIC(LONG, "long", long),
	BASIC(UNSIGNED_LONG, "unsigned_long", unsigned long),
	BASIC(LONG_LONG, "long_long", long long),
	BASIC(UNSIGNED_LONG_LONG, "unsigned_long_long", unsigned long long),
	BASIC(FLOAT, "float", float),
	BASIC(DOUBLE, "double", double),
	BASIC(LONG_DOUBLE, "long_double", long double),
	BASIC(WCHAR, "wchar", wchar_t),
	BASIC(C_BOOL, "c_bool", _Bool),
	BASIC(INT8, "int8", int8_t),
	BASIC(INT16, "int16", int16_t),
	BASIC(INT32, "int32", int32_t),
	BASIC(INT64, "int64", int64_t),
	BASIC(UINT8, "uint8", uint8_t),
	BASIC(UINT16, "uint16", uint16_t),
	BASIC(UINT32, "uint32", uint32_t),
	BASIC(UINT64, "uint64", uint64_t),
	BASIC(C_FLOAT_COMPLEX, "c_float_complex", float _Complex),
	BASIC(C_DOUBLE_COMPLEX, "c_double_complex", double _Complex),
	BASIC(C_LONG_DOUBLE_COMPLEX, "c_long_double_complex", long double _Complex),
	BASIC(AINT, "aint", ptrdiff_t),
	BASIC(OFFSET, "offset", int64_t),
	BASIC(COUNT, "count", int64_t),
	BASIC(FLOAT16, "float16", uint16_t),
	BASIC(BFLOAT16, "bfloat16", uint16_t),
	BASIC(CXX_BOOL, "cxx_bool", bool),
	BASIC(CXX_FLOAT_COMPLEX, "cxx_float_complex", float _Complex),
	BASIC(CXX_DOUBLE_COMPLEX, "cxx_double_complex", double _Complex),
	BASIC(CXX_LONG_DOUBLE_COMPLEX, "cxx_long_double_complex", long double _Complex),
	BASIC(CHARACTER, "character", char),
	BASIC(LOGICAL, "logical", int32_t),
	BASIC(INTEGER, "integer", int32_t),
	BASIC(REAL, "real", float),
	BASIC(DOUBLE_PRECISION, "double_precision", double),
	BASIC(COMPLEX, "complex", float _Complex),
	BASIC(DOUBLE_COMPLEX, "double_complex", double _Complex),
	BASIC(INTEGER1, "integer1", int8_t),
	BASIC(INTEGER2, "integer2", int16_t),
	BASIC(INTEGER4, "integer4", int32_t),
	BASIC(INTEGER8, "integer8", int64_t),
	BASIC(INTEGER16, "integer16", struct fortran_integer16),
	BASIC(REAL2, "real2", struct fortran_real2),
	BASIC(REAL4, "real4", float),
	BASIC(REAL8, "real8", double),
	BASIC(REAL16, "real16", struct fortran_integer16),
	BASIC(COMPLEX4, "complex4", struct fortran_complex4),
	BASIC(COMPLEX8, "complex8", float _Complex),
	BASIC(COMPLEX16, "complex16", double _Complex),
	BASIC(COMPLEX32, "complex32", struct fortran_complex32),
	PAIR(FLOAT_INT, "float_int", FLOAT, float, INT, int),
	PAIR(DOUBLE_INT, "double_int", DOUBLE, double, INT, int),
	PAIR(LONG_INT, "long_int", LONG, long, INT, int),
	PAIR(2INT, "2int", INT, int, INT, int),
	PAIR(SHORT_INT, "short_int", SHORT, short, INT, int),
	PAIR(LONG_DOUBLE_INT, "long_double_int", LONG_DOUBLE, long double, INT, int),
	PAIR(2REAL, "2real", REAL, float, REAL, float),
	PAIR(2DOUBLE_PRECISION, "2double_precision", DOUBLE_PRECISION, double,
	     DOUBLE_PRECISION, double),
	PAIR(2INTEGER, "2integer", INTEGER, int32_t, INTEGER, int32_t),
};
