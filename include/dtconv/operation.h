/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations: how unpacking combines an element that arrives with the one in memory.
 */
#ifndef DTCONV_OPERATION_H
#define DTCONV_OPERATION_H

#include <stddef.h>

#include <dtconv/status.h>
#include <dtconv/type.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @defgroup operation Operations
 * @brief Combine arriving elements with those in memory while unpacking or copying: sum,
 * max, minloc, ...
 *
 * @snippet test_snippets.c operation
 *
 * Unpacking either stores each element or combines it with the one in memory. This is the
 * target side of MPI_ACCUMULATE, or one step of a reduction, in one pass. Copies between
 * layouts take the same operations: dtconv_copy_with(), @ref copier "copiers". The groups of
 * types are those of MPI 4.1 section 6.9.2; no operation but replace and no_op is defined
 * on the character types.
 *
 * | operation | defined on |
 * |---|---|
 * | replace, no_op | every type |
 * | max, min | integers, addresses and counts, floating point |
 * | sum, prod | the same, and complex |
 * | land, lor, lxor | C integers, logical types |
 * | band, bor, bxor | integers, addresses and counts, byte |
 * | minloc, maxloc | pairs of a value and an index |
 *
 * - A type with different basic types is combined element by element, each by its own
 *   rule. The members of a pair then count as elements.
 * - Integers wrap around. float16 and bfloat16 are combined in binary32 and rounded.
 * - If values are equal, minloc and maxloc keep the lower index.
 * @{
 */

/** What unpacking, or a copy, does with an element that arrives. */
enum dtconv_op {
	DTCONV_OP_REPLACE, /**< store it */
	DTCONV_OP_NO_OP,   /**< leave memory as it is */
	DTCONV_OP_SUM,     /**< add it */
	DTCONV_OP_PROD,    /**< multiply by it */
	DTCONV_OP_MIN,     /**< keep the smaller one */
	DTCONV_OP_MAX,     /**< keep the larger one */
	DTCONV_OP_LAND,    /**< logical and: 1 or 0 */
	DTCONV_OP_LOR,     /**< logical or */
	DTCONV_OP_LXOR,    /**< logical exclusive or */
	DTCONV_OP_BAND,    /**< bitwise and */
	DTCONV_OP_BOR,     /**< bitwise or */
	DTCONV_OP_BXOR,    /**< bitwise exclusive or */
	DTCONV_OP_MINLOC,  /**< keep the pair with the smaller value */
	DTCONV_OP_MAXLOC,  /**< keep the pair with the larger value */
	DTCONV_OP_USER,    /**< call op_fn of the parameters */
	DTCONV_OP_COUNT    /**< how many there are; not an operation */
};

/**
 * Callback of DTCONV_OP_USER: target[i] = f(incoming[i], target[i]).
 *
 * @param arg      the pointer given with the function.
 * @param incoming [in] elements that arrived, in native representation, aligned.
 * @param target   [in,out] the elements in memory, aligned; the results are stored from
 *                 here.
 * @param count    number of elements.
 * @param element  their predefined type. A pair is passed as a C struct if the whole type
 *                 consists of one predefined pair, else as its members.
 *
 * Called from the thread that unpacks or copies. Must not call the convertor or copier that
 * it serves.
 */
typedef void (*dtconv_op_fn)(void *arg, const void *incoming, void *target, size_t count,
			     enum dtconv_predefined element);

/**
 * Name an operation.
 *
 * @param op the operation.
 * @return its lower-case name, for example "sum", a constant string; NULL if there is no
 *         such operation.
 *
 * Does not block. Callable from any thread.
 */
DTCONV_API const char *dtconv_op_name(enum dtconv_op op);

/**
 * Check whether an operation is defined on a type.
 *
 * @param op   the operation.
 * @param type a type, committed or not.
 * @return 0; DTCONV_ERR_INVAL if MPI does not define it on an element of the type (the
 *         error text says which); DTCONV_ERR_UNSUPPORTED if this build's compiler has no
 *         arithmetic for an element (16-byte integers and floating point on some
 *         machines).
 *
 * Does not block. Callable from any thread.
 */
DTCONV_API int dtconv_op_check(enum dtconv_op op, const struct dtconv_type *type);

/** @} */

#ifdef __cplusplus
}
#endif
#endif
