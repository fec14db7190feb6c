/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations: how an element that arrives is combined with the one in memory.
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
 * What unpacking does with each element: store it, or combine it with the one in memory. This
 * is MPI_ACCUMULATE's second half, and what reductions do, in one pass.
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
 * The groups are those of MPI 4.1 section 6.9.2; the character types are in none. A type of
 * unlike elements is combined element by element, each by its own rule; the members of a pair
 * count as elements there. Integers wrap around; float16 and bfloat16 are combined in binary32
 * and rounded. Of equal values minloc and maxloc keep the lower index.
 * @{
 */

/** What to do with an element that arrives. */
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
	DTCONV_OP_USER,    /**< the caller's function */
	DTCONV_OP_COUNT    /**< how many there are; not an operation */
};

/**
 * The caller's own operation: target[i] = f(incoming[i], target[i]).
 *
 * @param arg      the pointer given with the function.
 * @param incoming [in] elements that arrived, in native representation, aligned.
 * @param target   [in,out] those of memory, aligned; what is left here is stored.
 * @param count    elements.
 * @param element  their predefined type; pairs come as C structs if the whole type is made of
 *                 one predefined pair, else as their members.
 *
 * Called from the thread that unpacks; must not call the convertor it serves.
 */
typedef void (*dtconv_op_fn)(void *arg, const void *incoming, void *target, size_t count,
			     enum dtconv_predefined element);

/**
 * Name an operation.
 * @param op the operation.
 * @return its lower-case name, for example "sum", a constant string; NULL if it is none.
 *
 * Never blocks; callable from any thread.
 */
DTCONV_API const char *dtconv_op_name(enum dtconv_op op);

/**
 * Ask whether an operation is defined on a type.
 *
 * @param op   the operation.
 * @param type a type, committed or not.
 * @return 0; DTCONV_ERR_INVAL if MPI does not define it on an element of the type (the error
 *         text says which); DTCONV_ERR_UNSUPPORTED if this build's compiler has no
 *         arithmetic for it (integers and floating point of 16 bytes on some machines).
 *
 * Never blocks; callable from any thread.
 */
DTCONV_API int dtconv_op_check(enum dtconv_op op, const struct dtconv_type *type);

/** @} */

#ifdef __cplusplus
}
#endif
#endif
