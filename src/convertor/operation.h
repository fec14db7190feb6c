/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which operations are defined on which types.
 */
#ifndef DTC_OPERATION_H
#define DTC_OPERATION_H

#include <stdbool.h>

#include <dtconv/operation.h>

/*
 * Whether @op may be applied to a type: 0; INVAL if MPI does not define it, UNSUPPORTED if
 * this build cannot compute it.
 */
int dtc_op_check(enum dtconv_op op, const struct dtconv_type *type, const char *caller);

/* Whether the operation takes a value and its index together. */
static inline bool dtc_op_takes_couples(enum dtconv_op op)
{
	return op == DTCONV_OP_MINLOC || op == DTCONV_OP_MAXLOC;
}

#endif
