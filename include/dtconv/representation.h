/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data representations: how basic types are written in a packed stream that another machine
 * reads or has written.
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
 * A packed stream is *native* unless a convertor is told otherwise: its elements are the bytes
 * of memory. In another representation each basic element is converted on its way: byte
 * order, size of the integers whose size differs between machines, format of long double.
 * There is never padding between elements. Positions, sizes and fragments count bytes of the
 * stream as it is represented.
 *
 * Elements of byte, packed and of the character types are never converted. Floating-point
 * formats are converted exactly or rounded to nearest even; numbers too large become infinite,
 * the sign and the upper payload bits of a NaN are kept. (The pair of doubles that is a long
 * double on some POWER systems is not known.) An integer that does not fit its
 * narrower form ends the move with DTCONV_ERR_OVERFLOW at that element.
 * @{
 */

/** Order of the bytes of a number. */
enum dtconv_byte_order {
	DTCONV_ORDER_NATIVE, /**< as on this machine */
	DTCONV_ORDER_LITTLE, /**< the lowest byte first */
	DTCONV_ORDER_BIG     /**< the highest byte first */
};

/** What a long double is. */
enum dtconv_long_double {
	DTCONV_LONG_DOUBLE_NATIVE,   /**< as on this machine */
	DTCONV_LONG_DOUBLE_BINARY64, /**< the same as double, 8 bytes */
	DTCONV_LONG_DOUBLE_X87_12,   /**< x87 extended precision in 12 bytes (i386) */
	DTCONV_LONG_DOUBLE_X87_16,   /**< x87 extended precision in 16 bytes (x86-64) */
	DTCONV_LONG_DOUBLE_BINARY128 /**< IEEE binary128, 16 bytes */
};

/** How basic types are written. Zero means "as on this machine" throughout. */
struct dtconv_representation {
	size_t struct_size;                  /**< sizeof(struct dtconv_representation) */
	enum dtconv_byte_order byte_order;   /**< of all numbers */
	enum dtconv_long_double long_double; /**< also of its complex and pair types */
	size_t long_size;    /**< bytes of long and unsigned long: 0, 4 or 8 */
	size_t address_size; /**< bytes of the address type aint: 0, 4 or 8 */
	size_t wchar_size;   /**< bytes of wchar_t: 0, 2 or 4 */
};

/**
 * Look a representation up by its name.
 *
 * @param name           "native"; "external32" (MPI 4.1 section 14.5.2: big-endian, long of 4
 *                       bytes, wchar_t of 2, long double as binary128); or a machine: "x86_64",
 *                       "i386", "aarch64", "win64", "s390x", "sparc64".
 * @param representation [out] filled in.
 * @return 0; DTCONV_ERR_INVAL for an unknown name.
 *
 * Never blocks; callable from any thread.
 */
DTCONV_API int dtconv_representation_find(const char *name,
					  struct dtconv_representation *representation);

/**
 * List the names that dtconv_representation_find knows.
 *
 * @param index from 0 on.
 * @return a constant string, or NULL past the last one.
 *
 * Never blocks; callable from any thread.
 */
DTCONV_API const char *dtconv_representation_name(size_t index);

/**
 * Length of a packed stream (MPI_PACK_EXTERNAL_SIZE for external32).
 *
 * @param type           a type, committed or not.
 * @param count          instances of it.
 * @param representation of the stream; NULL for the native one.
 * @param bytes          [out] the length.
 * @return 0; DTCONV_ERR_OVERFLOW; DTCONV_ERR_INVAL for a representation that is none;
 *         DTCONV_ERR_NOMEM.
 *
 * Never blocks; callable from any thread. Costs the nodes of the type's signature.
 */
DTCONV_API int dtconv_packed_size(const struct dtconv_type *type, size_t count,
				  const struct dtconv_representation *representation,
				  size_t *bytes);

/** @} */

#ifdef __cplusplus
}
#endif
#endif
