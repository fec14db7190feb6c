/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduction kernels: target[i] = incoming[i] op target[i] over arrays of one basic type in
 * native representation, at any alignment.
 */
#ifndef DTC_KERNELS_REDUCE_H
#define DTC_KERNELS_REDUCE_H

#include <stdbool.h>
#include <stddef.h>

#include <dtconv/operation.h>

typedef void (*dtc_reduce_fn)(unsigned char *restrict target,
			      const unsigned char *restrict incoming, size_t count);

/* A packed couple: a value, immediately followed by its index. */
typedef void (*dtc_reduce_couples_fn)(unsigned char *restrict target,
				      const unsigned char *restrict incoming,
				      size_t count, size_t value_bytes,
				      enum dtconv_predefined index);

/* Whether MPI defines the operation on the basic type, which must not be a pair. */
bool dtc_reduce_is_defined(enum dtconv_op op, enum dtconv_predefined basic);

/* The kernel of a defined operation; NULL if this build has none. */
dtc_reduce_fn dtc_reduce_kernel(enum dtconv_op op, enum dtconv_predefined basic);

/* The same for minloc and maxloc of couples with such a value. */
dtc_reduce_couples_fn dtc_reduce_couples_kernel(enum dtconv_op op,
						enum dtconv_predefined value);

#endif
