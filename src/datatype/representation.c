/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Named representations, checks of the caller's own ones, and the number format of each basic
 * type.
 */
#include "config.h"

#include "representation.h"

#include <float.h>
#include <string.h>
#include <wchar.h>

#include "base/base.h"
#include "base/context.h"
#include "base/log.h"
#include "predefined.h"

#if LDBL_MANT_DIG == 113
#define LONG_DOUBLE_HERE DTCONV_LONG_DOUBLE_BINARY128
#elif LDBL_MANT_DIG == 53
#define LONG_DOUBLE_HERE DTCONV_LONG_DOUBLE_BINARY64
#elif LDBL_MANT_DIG == 64 && defined(__i386__)
#define LONG_DOUBLE_HERE DTCONV_LONG_DOUBLE_X87_12
#elif LDBL_MANT_DIG == 64
#define LONG_DOUBLE_HERE DTCONV_LONG_DOUBLE_X87_16
#else
#error "unknown format of long double"
#endif

static const struct dtc_representation here = {
	.big_endian = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__,
	.long_double = LONG_DOUBLE_HERE,
	.long_size = sizeof(long),
	.address_size = sizeof(ptrdiff_t),
	.wchar_size = sizeof(wchar_t),
};

/* ---- by name ------------------------------------------------------------------------- */

#define KNOWN(text, order, format, long_bytes, address_bytes, wchar_bytes)      \
	{                                                                       \
		text,                                                           \
		{                                                               \
			.struct_size = sizeof(struct dtconv_representation),    \
			.byte_order = DTCONV_ORDER_##order,                     \
			.long_double = DTCONV_LONG_DOUBLE_##format,             \
			.long_size = long_bytes, .address_size = address_bytes, \
			.wchar_size = wchar_bytes                               \
		}                                                               \
	}

static const struct known {
	const char *name;
	struct dtconv_representation representation;
} known[] = {
	KNOWN("native", NATIVE, NATIVE, 0, 0, 0),
	KNOWN("external32", BIG, BINARY128, 4, 8, 2),
	KNOWN("x86_64", LITTLE, X87_16, 8, 8, 4),
	KNOWN("i386", LITTLE, X87_12, 4, 4, 4),
	KNOWN("aarch64", LITTLE, BINARY128, 8, 8, 4),
	KNOWN("win64", LITTLE, BINARY64, 4, 8, 2),
	KNOWN("s390x", BIG, BINARY128, 8, 8, 4),
	KNOWN("sparc64", BIG, BINARY128, 8, 8, 4),
};

int dtconv_representation_find(const char *name,
			       struct dtconv_representation *representation)
{
	if (!name || !representation)
		return DTCONV_ERR_INVAL;
	for (size_t i = 0; i < DTC_ARRAY_LENGTH(known); i++) {
		if (strcmp(known[i].name, name) != 0)
			continue;
		*representation = known[i].representation;
		return 0;
	}
	return DTCONV_ERR_INVAL;
}

const char *dtconv_representation_name(size_t index)
{
	return index < DTC_ARRAY_LENGTH(known) ? known[index].name : NULL;
}

/* ---- defined by the caller ----------------------------------------------------------- */

static int bad_field(struct dtconv_context *context, const char *caller,
		     const char *field, size_t value, const char *allowed)
{
	if (!context)
		return DTCONV_ERR_INVAL;
	return DTC_FAIL(context, DTCONV_ERR_INVAL, "%s: representation.%s is %zu, not %s",
			caller, field, value, allowed);
}

static bool is_one_of(size_t value, size_t a, size_t b)
{
	return value == 0 || value == a || value == b;
}

static int check_fields(struct dtconv_context *context, const char *caller,
			const struct dtconv_representation *r)
{
	if (r->struct_size == 0)
		return bad_field(context, caller, "struct_size", 0,
				 "sizeof(struct dtconv_representation)");
	if ((unsigned)r->byte_order > DTCONV_ORDER_BIG)
		return bad_field(context, caller, "byte_order", (size_t)r->byte_order,
				 "an enum dtconv_byte_order");
	if ((unsigned)r->long_double > DTCONV_LONG_DOUBLE_BINARY128)
		return bad_field(context, caller, "long_double", (size_t)r->long_double,
				 "an enum dtconv_long_double");
	if (!is_one_of(r->long_size, 4, 8))
		return bad_field(context, caller, "long_size", r->long_size, "0, 4 or 8");
	if (!is_one_of(r->address_size, 4, 8))
		return bad_field(context, caller, "address_size", r->address_size,
				 "0, 4 or 8");
	if (!is_one_of(r->wchar_size, 2, 4))
		return bad_field(context, caller, "wchar_size", r->wchar_size,
				 "0, 2 or 4");
	return 0;
}

static uint8_t size_or(size_t given, uint8_t otherwise)
{
	return given ? (uint8_t)given : otherwise;
}

int dtc_representation_resolve(struct dtconv_context *context, const char *caller,
			       const struct dtconv_representation *given,
			       struct dtc_representation *representation)
{
	struct dtconv_representation r = { .struct_size = sizeof(r) };

	if (given)
		memcpy(&r, given, DTC_MIN(given->struct_size, sizeof(r)));
	if (given && given->struct_size == 0)
		r.struct_size = 0;
	int status = check_fields(context, caller, &r);
	if (status)
		return status;
	*representation = here;
	if (r.byte_order != DTCONV_ORDER_NATIVE)
		representation->big_endian = r.byte_order == DTCONV_ORDER_BIG;
	if (r.long_double != DTCONV_LONG_DOUBLE_NATIVE)
		representation->long_double = r.long_double;
	representation->long_size = size_or(r.long_size, here.long_size);
	representation->address_size = size_or(r.address_size, here.address_size);
	representation->wchar_size = size_or(r.wchar_size, here.wchar_size);
	return 0;
}

bool dtc_representation_is_native(const struct dtc_representation *r)
{
	return r->big_endian == here.big_endian && r->long_double == here.long_double &&
	       r->long_size == here.long_size && r->address_size == here.address_size &&
	       r->wchar_size == here.wchar_size;
}

/* ---- formats ------------------------------------------------------------------------- */

static struct dtc_format long_double_format(const struct dtc_representation *r)
{
	struct dtc_format format = { DTC_NUMBER_X87, 16, r->big_endian };

	switch (r->long_double) {
	case DTCONV_LONG_DOUBLE_BINARY64:
		format.bytes = 8;
		format.kind = DTC_NUMBER_IEEE;
		break;
	case DTCONV_LONG_DOUBLE_X87_12:
		format.bytes = 12;
		break;
	case DTCONV_LONG_DOUBLE_BINARY128:
		format.kind = DTC_NUMBER_IEEE;
		break;
	default:
		break;
	}
	return format;
}

static struct dtc_format integer_format(const struct dtc_representation *r, size_t bytes,
					bool is_unsigned)
{
	return (struct dtc_format){ is_unsigned ? DTC_NUMBER_UNSIGNED : DTC_NUMBER_SIGNED,
				    (uint8_t)bytes, r->big_endian };
}

struct dtc_element_format dtc_representation_format(const struct dtc_representation *r,
						    enum dtconv_predefined basic)
{
	const struct dtc_predefined *row = dtc_predefined_row(basic);
	uint8_t numbers = row->group == DTC_GROUP_COMPLEX ? 2 : 1;

	switch (basic) {
	case DTCONV_LONG:
		return (struct dtc_element_format){
			integer_format(r, r->long_size, false), 1
		};
	case DTCONV_UNSIGNED_LONG:
		return (struct dtc_element_format){ integer_format(r, r->long_size, true),
						    1 };
	case DTCONV_AINT:
		return (struct dtc_element_format){
			integer_format(r, r->address_size, false), 1
		};
	case DTCONV_WCHAR:
		return (struct dtc_element_format){
			integer_format(r, r->wchar_size, true), 1
		};
	case DTCONV_LONG_DOUBLE:
	case DTCONV_C_LONG_DOUBLE_COMPLEX:
	case DTCONV_CXX_LONG_DOUBLE_COMPLEX:
		return (struct dtc_element_format){ long_double_format(r), numbers };
	default:
		return (struct dtc_element_format){ { DTC_NUMBER_BITS,
						      (uint8_t)(row->size / numbers),
						      r->big_endian },
						    numbers };
	}
}
