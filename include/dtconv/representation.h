/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data representations: how a packed stream encodes basic types, for exchange with
 * another machine.
 */
#ifndef DTCONV_REPRESENTATION_H
#define DTCONV_REPRESENTATION_H

#include <stddef.h>

#include <dtconv/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct dtconv_type;

/**
 * @defgroup representation Data representations
 * @brief Convert elements for another machine while packing and unpacking: external32,
 * byte order, integer sizes.
 *
 * @snippet test_snippets.c representation
 *
 * By default a packed stream is *native*: its elements are the bytes of memory. In
 * another representation each basic element is converted: byte order, the size of
 * integers whose size differs between machines, and the format of long double. Positions,
 * sizes and fragments count bytes of the represented stream.
 *
 * - There is never padding between elements.
 * - Elements of byte, packed and the character types are never converted.
 * - Floating point is converted exactly, or rounded to nearest even. Numbers too large
 *   become infinite. The sign and the upper payload bits of a NaN are kept.
 * - An integer that does not fit its narrower form ends the move with DTCONV_ERR_OVERFLOW
 *   at that element. (On devices: @ref device_numbers "Conversion, operations and
 *   checksums".)
 * - The pair of doubles that is long double on some POWER systems is not supported.
 * @{
 */

/** Byte order of numbers. */
enum dtconv_byte_order {
	DTCONV_ORDER_NATIVE, /**< as on this machine */
	DTCONV_ORDER_LITTLE, /**< least significant byte first */
	DTCONV_ORDER_BIG     /**< most significant byte first */
};

/** Format of long double. */
enum dtconv_long_double {
	DTCONV_LONG_DOUBLE_NATIVE,   /**< as on this machine */
	DTCONV_LONG_DOUBLE_BINARY64, /**< the same as double, 8 bytes */
	DTCONV_LONG_DOUBLE_X87_12,   /**< x87 extended precision in 12 bytes (i386) */
	DTCONV_LONG_DOUBLE_X87_16,   /**< x87 extended precision in 16 bytes (x86-64) */
	DTCONV_LONG_DOUBLE_BINARY128 /**< IEEE binary128, 16 bytes */
};

/** Encoding of basic types in a packed stream. Zero means "as on this machine" for each member. */
struct dtconv_representation {
	size_t struct_size;                  /**< sizeof(struct dtconv_representation) */
	enum dtconv_byte_order byte_order;   /**< byte order of all numbers */
	enum dtconv_long_double long_double; /**< format of long double, its complex and its pair type */
	size_t long_size;    /**< size of long and unsigned long in bytes: 0, 4 or 8 */
	size_t address_size; /**< size of the address type aint in bytes: 0, 4 or 8 */
	size_t wchar_size;   /**< size of wchar_t in bytes: 0, 2 or 4 */
};

/**
 * Look up a representation by name.
 *
 * @param name           "native"; "external32" (MPI 4.1 section 14.5.2: big-endian,
 *                       4-byte long, 2-byte wchar_t, long double as binary128); or a
 *                       machine: "x86_64", "i386", "aarch64", "win64", "s390x",
 *                       "sparc64".
 * @param representation [out] filled in.
 * @return 0; DTCONV_ERR_INVAL for an unknown name.
 *
 * Does not block. Callable from any thread.
 */
DTCONV_API int dtconv_representation_find(const char *name,
					  struct dtconv_representation *representation);

/**
 * List the names that dtconv_representation_find() accepts.
 *
 * @param index 0 for the first one.
 * @return a constant string; NULL past the last one.
 *
 * Does not block. Callable from any thread.
 */
DTCONV_API const char *dtconv_representation_name(size_t index);

/**
 * Compute the length of a packed stream (MPI_PACK_EXTERNAL_SIZE for external32).
 *
 * @param type           a type, committed or not.
 * @param count          number of instances.
 * @param representation [in] representation of the stream; NULL: native.
 * @param bytes          [out] the length in bytes.
 * @return 0; DTCONV_ERR_OVERFLOW if it exceeds size_t; DTCONV_ERR_INVAL for an invalid
 *         representation; DTCONV_ERR_NOMEM.
 *
 * Does not block. Callable from any thread. The cost is linear in the number of nodes of
 * the type's signature.
 */
DTCONV_API int dtconv_packed_size(const struct dtconv_type *type, size_t count,
				  const struct dtconv_representation *representation,
				  size_t *bytes);

/** @} */

#ifdef __cplusplus
}
#endif
#endif
