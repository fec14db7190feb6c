/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data representations with all defaults filled in, and the number format of each basic type in
 * them. kernels/numbers does the conversion.
 */
#ifndef DTC_REPRESENTATION_H
#define DTC_REPRESENTATION_H

#include <stdbool.h>
#include <stdint.h>

#include <dtconv/representation.h>
#include <dtconv/type.h>

/* A representation without defaults. */
struct dtc_representation {
	bool big_endian;
	enum dtconv_long_double long_double; /* never NATIVE */
	uint8_t long_size;
	uint8_t address_size;
	uint8_t wchar_size;
};

enum dtc_number_kind {
	DTC_NUMBER_BITS, /* the same on every machine except for the byte order */
	DTC_NUMBER_SIGNED,
	DTC_NUMBER_UNSIGNED,
	DTC_NUMBER_IEEE, /* binary floating point whose size may differ: 8 or 16 bytes */
	DTC_NUMBER_X87
};

/* The format of one number. */
struct dtc_format {
	uint8_t kind;
	uint8_t bytes;
	bool big_endian;
};

/* A basic type is one number or, if complex, two of one format. */
struct dtc_element_format {
	struct dtc_format number;
	uint8_t numbers;
};

/* The largest element in any representation. */
#define DTC_ELEMENT_BYTES 32

/*
 * Check the caller's representation (NULL: native) and fill in the defaults. Fails with INVAL;
 * @context may be NULL.
 */
int dtc_representation_resolve(struct dtconv_context *context, const char *caller,
			       const struct dtconv_representation *given,
			       struct dtc_representation *representation);

struct dtc_element_format dtc_representation_format(
	const struct dtc_representation *representation, enum dtconv_predefined basic);

static inline size_t dtc_element_bytes(const struct dtc_element_format *format)
{
	return (size_t)format->number.bytes * format->numbers;
}

bool dtc_representation_is_native(const struct dtc_representation *representation);

#endif
