/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Numbers in big-endian order, long of 4 bytes, wchar_t of 2, long double as binary128.
 */
#include "config.h"

#include "mpi_diff/external32.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/choices.h"

/* What an element is, as far as external32 cares. */
enum form {
	FORM_BITS,       /* the same bits, the highest byte first */
	FORM_TRUTH,      /* the same, but only 0 and 1 are values */
	FORM_INTEGER,    /* of another size perhaps */
	FORM_LONG_DOUBLE /* binary128 */
};

struct element {
	enum form form;
	size_t numbers;        /* 2: complex */
	size_t native_bytes;   /* of one number */
	size_t external_bytes; /* the same */
};

/* ---- the table ----------------------------------------------------------------------- */

static bool is_complex(enum dtconv_predefined basic)
{
	switch (basic) {
	case DTCONV_C_FLOAT_COMPLEX:
	case DTCONV_C_DOUBLE_COMPLEX:
	case DTCONV_C_LONG_DOUBLE_COMPLEX:
	case DTCONV_CXX_FLOAT_COMPLEX:
	case DTCONV_CXX_DOUBLE_COMPLEX:
	case DTCONV_CXX_LONG_DOUBLE_COMPLEX:
	case DTCONV_COMPLEX:
	case DTCONV_DOUBLE_COMPLEX:
	case DTCONV_COMPLEX4:
	case DTCONV_COMPLEX8:
	case DTCONV_COMPLEX16:
	case DTCONV_COMPLEX32:
		return true;
	default:
		return false;
	}
}

static struct element element_of(const struct ref_entry *entry)
{
	enum dtconv_predefined basic = (enum dtconv_predefined)entry->basic;
	size_t numbers = is_complex(basic) ? 2 : 1, bytes = entry->size / numbers;

	switch (basic) {
	case DTCONV_LONG:
	case DTCONV_UNSIGNED_LONG:
		return (struct element){ FORM_INTEGER, 1, bytes, 4 };
	case DTCONV_WCHAR:
		return (struct element){ FORM_INTEGER, 1, bytes, 2 };
	case DTCONV_AINT:
	case DTCONV_OFFSET:
	case DTCONV_COUNT:
		return (struct element){ FORM_INTEGER, 1, bytes, 8 };
	case DTCONV_C_BOOL:
	case DTCONV_CXX_BOOL:
	case DTCONV_LOGICAL:
		return (struct element){ FORM_TRUTH, 1, bytes, bytes };
	case DTCONV_LONG_DOUBLE:
	case DTCONV_C_LONG_DOUBLE_COMPLEX:
	case DTCONV_CXX_LONG_DOUBLE_COMPLEX:
		return (struct element){ FORM_LONG_DOUBLE, numbers, bytes, 16 };
	default:
		return (struct element){ FORM_BITS, numbers, bytes, bytes };
	}
}

/* ---- values that fit ----------------------------------------------------------------- */

static void store_integer(unsigned char *place, size_t bytes, uint64_t value)
{
	for (size_t i = 0; i < bytes; i++) {
		bool little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;

		place[little ? i : bytes - 1 - i] = (unsigned char)(value >> 8 * i);
	}
}

/* A finite number with digits to the last place, its padding bytes included. */
static void store_long_double(unsigned char *place, uint64_t bits)
{
	long double value = ldexpl((long double)(bits | 1), (int)(bits % 1000) - 500);

	value = bits & 2 ? -value : value;
	memset(place, 0, sizeof(value));
	memcpy(place, &value, LDBL_MANT_DIG == 64 ? 10 : sizeof(value));
}

static void store_number(const struct element *e, unsigned char *place, uint64_t bits)
{
	switch (e->form) {
	case FORM_TRUTH:
		store_integer(place, e->native_bytes, bits & 1);
		break;
	case FORM_INTEGER:
		store_integer(place, e->native_bytes,
			      bits >> (65 - 8 * e->external_bytes));
		break;
	case FORM_LONG_DOUBLE:
		store_long_double(place, bits);
		break;
	default:
		break; /* any bits are good, and random ones are there */
	}
}

/* No NaN: what becomes of its bits is nobody's promise. Bit 6 of the top byte is cleared. */
static void settle_float(const struct ref_entry *entry, const struct element *e,
			 unsigned char *place)
{
	bool little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
	unsigned char *top = little ? place + e->native_bytes - 1 : place;

	switch (entry->basic) {
	case DTCONV_FLOAT:
	case DTCONV_DOUBLE:
	case DTCONV_REAL:
	case DTCONV_DOUBLE_PRECISION:
	case DTCONV_REAL4:
	case DTCONV_REAL8:
	case DTCONV_REAL16:
		*top &= 0xbf;
		break;
	default:
		if (e->numbers == 2 && e->form == FORM_BITS)
			*top &= 0xbf;
	}
}

static void settle_element(const struct ref_entry *entry, unsigned char *place,
			   uint64_t seed)
{
	struct element e = element_of(entry);

	for (size_t i = 0; i < e.numbers; i++) {
		store_number(&e, place + i * e.native_bytes, choices_mix(seed + i));
		settle_float(entry, &e, place + i * e.native_bytes);
	}
}

static void settle_values(struct specimen *s)
{
	ptrdiff_t extent = ref_typemap_extent(&s->map);

	for (size_t i = 0; i < s->count; i++)
		for (size_t j = 0; j < s->map.count; j++) {
			const struct ref_entry *entry = &s->map.entries[j];
			ptrdiff_t disp = (ptrdiff_t)i * extent + entry->disp;

			settle_element(entry, s->stage.source + disp,
				       s->seed + 2 * (i * s->map.count + j));
		}
	for (size_t i = 0; i < s->stage.bytes; i++)
		s->stage.stream[i] = s->stage.source[s->stage.map[i]];
}

/* ---- conversion ---------------------------------------------------------------------- */

/* The low bytes of a number, the highest of them first. */
static void put_bits(const struct element *e, const unsigned char *native,
		     unsigned char *external)
{
	bool little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;

	for (size_t i = 0; i < e->external_bytes; i++) {
		size_t from_low = e->external_bytes - 1 - i;

		external[i] = native[little ? from_low : e->native_bytes - 1 - from_low];
	}
}

/* Sign, 15 bits of exponent, 112 bits of fraction: by frexp, 16 bits at a time. */
static void put_binary128(const unsigned char *native, unsigned char *external)
{
	long double value, fraction;
	int exponent;
	unsigned head;

	memcpy(&value, native, sizeof(value));
	fraction = 2 * frexpl(fabsl(value), &exponent);
	head = (signbit(value) ? 0x8000u : 0u) | (unsigned)(exponent - 1 + 16383);
	external[0] = (unsigned char)(head >> 8);
	external[1] = (unsigned char)head;
	fraction -= 1;
	for (size_t i = 2; i < 16; i++) {
		fraction *= 256;
		external[i] = (unsigned char)fraction;
		fraction -= external[i];
	}
}

static void convert(const struct specimen *s, unsigned char *external)
{
	const unsigned char *native = s->stage.stream;

	for (size_t i = 0; i < s->count * s->map.count; i++) {
		struct element e = element_of(&s->map.entries[i % s->map.count]);

		for (size_t k = 0; k < e.numbers; k++) {
			if (e.form == FORM_LONG_DOUBLE)
				put_binary128(native, external);
			else
				put_bits(&e, native, external);
			native += e.native_bytes;
			external += e.external_bytes;
		}
	}
}

unsigned char *external32_stream(struct specimen *s, size_t *bytes)
{
	unsigned char *external;

	*bytes = 0;
	for (size_t i = 0; i < s->map.count; i++) {
		struct element e = element_of(&s->map.entries[i]);

		*bytes += s->count * e.numbers * e.external_bytes;
	}
	settle_values(s);
	external = calloc(*bytes + 1, 1);
	if (external)
		convert(s, external);
	return external;
}
