/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Names of operations, and the check whether an operation is defined on the elements of a type.
 */
#include "config.h"

#include "operation.h"

#include "base/base.h"
#include "base/log.h"
#include "datatype/predefined.h"
#include "datatype/signature.h"
#include "datatype/type.h"
#include "kernels/numbers/reduce.h"

static const char *const names[] = {
	"replace", "no_op", "sum", "prod", "min",    "max",    "land", "lor",
	"lxor",    "band",  "bor", "bxor", "minloc", "maxloc", "user",
};

_Static_assert(DTC_ARRAY_LENGTH(names) == DTCONV_OP_COUNT, "a name for each operation");

const char *dtconv_op_name(enum dtconv_op op)
{
	return (unsigned)op < DTCONV_OP_COUNT ? names[op] : NULL;
}

static int undefined(const struct dtconv_type *type, const char *caller,
		     enum dtconv_op op, const char *what)
{
	return DTC_FAIL(type->context, DTCONV_ERR_INVAL,
			"%s: %s is not defined on %s (MPI 4.1 section 6.9.2)", caller,
			names[op], what);
}

static int no_arithmetic(const struct dtconv_type *type, const char *caller,
			 enum dtconv_op op, enum dtconv_predefined basic)
{
	return DTC_FAIL(
		type->context, DTCONV_ERR_UNSUPPORTED,
		"%s: %s of %s is not supported: the compiler that built the library has "
		"no arithmetic for it",
		caller, names[op], dtc_predefined_name(basic));
}

/* An index is an integer, or a real in Fortran's pairs of reals. */
static bool is_index(enum dtconv_predefined index, enum dtconv_predefined value)
{
	bool real = index == DTCONV_REAL || index == DTCONV_DOUBLE_PRECISION;

	return dtc_predefined_is_integer(index) || (real && index == value);
}

static int check_couples(enum dtconv_op op, const struct dtconv_type *type,
			 const char *caller)
{
	enum dtconv_predefined value, index;

	if (type->signature->element_count == 0)
		return 0;
	if (!dtc_signature_couples(type->signature, &value, &index))
		return undefined(type, caller, op,
				 "a type that does not consist of one kind of pair");
	if (!dtc_reduce_is_defined(op, value))
		return undefined(type, caller, op, dtc_predefined_name(value));
	if (!is_index(index, value))
		return undefined(type, caller, op, "pairs whose index is not an integer");
	if (!dtc_reduce_couples_kernel(op, value))
		return no_arithmetic(type, caller, op, value);
	if (!dtc_reduce_couples_kernel(op, index))
		return no_arithmetic(type, caller, op, index);
	return 0;
}

static int check_elements(enum dtconv_op op, const struct dtconv_type *type,
			  const char *caller)
{
	const struct dtc_signature *signature = type->signature;

	for (size_t i = 0; i < signature->node_count; i++) {
		enum dtconv_predefined basic =
			(enum dtconv_predefined)signature->nodes[i].basic;

		if (signature->nodes[i].is_loop)
			continue;
		if (!dtc_reduce_is_defined(op, basic))
			return undefined(type, caller, op, dtc_predefined_name(basic));
		if (!dtc_reduce_kernel(op, basic))
			return no_arithmetic(type, caller, op, basic);
	}
	return 0;
}

static bool is_pair(const struct dtconv_type *type)
{
	return type->predefined != DTCONV_PREDEFINED_COUNT &&
	       dtc_predefined_row(type->predefined)->is_pair;
}

int dtc_op_check(enum dtconv_op op, const struct dtconv_type *type, const char *caller)
{
	if ((unsigned)op >= DTCONV_OP_COUNT)
		return DTC_FAIL(type->context, DTCONV_ERR_INVAL,
				"%s: op is %d, not a value of enum dtconv_op", caller,
				(int)op);
	if (op == DTCONV_OP_REPLACE || op == DTCONV_OP_NO_OP || op == DTCONV_OP_USER)
		return 0;
	if (dtc_op_takes_couples(op))
		return check_couples(op, type, caller);
	if (is_pair(type))
		return undefined(type, caller, op, dtc_predefined_name(type->predefined));
	return check_elements(op, type, caller);
}

int dtconv_op_check(enum dtconv_op op, const struct dtconv_type *type)
{
	return type ? dtc_op_check(op, type, __func__) : DTCONV_ERR_INVAL;
}
