/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Types that are not derived from others: Fortran kinds chosen by precision and range, and pairs
 * of a value and an index.
 */
#include "config.h"

#include "build.h"

#include <stdio.h>

#include "base/base.h"
#include "layout.h"
#include "predefined.h"
#include "predefined_types.h"
#include "signature.h"

static struct dtc_signature *pair_signature(struct dtconv_context *context,
					    const struct dtconv_type *value,
					    const struct dtconv_type *index)
{
	struct dtc_signature_builder builder;

	if (!dtc_signature_builder_init(&builder, context))
		return NULL;
	if (dtc_signature_builder_append(&builder, value->signature, 1) &&
	    dtc_signature_builder_append(&builder, index->signature, 1))
		return dtc_signature_builder_finish(&builder);
	dtc_signature_builder_drop(&builder);
	return NULL;
}

/* ---- Fortran kinds ------------------------------------------------------------------- */

static const enum dtconv_predefined integers[] = {DTCONV_INTEGER1, DTCONV_INTEGER2,
						  DTCONV_INTEGER4, DTCONV_INTEGER8,
						  DTCONV_INTEGER16};
static const enum dtconv_predefined reals[] = {DTCONV_REAL2, DTCONV_REAL4, DTCONV_REAL8,
					       DTCONV_REAL16};
static const enum dtconv_predefined complexes[] = {DTCONV_COMPLEX4, DTCONV_COMPLEX8,
						   DTCONV_COMPLEX16, DTCONV_COMPLEX32};

static enum dtconv_predefined find_size(const enum dtconv_predefined *list, size_t n,
					size_t bytes)
{
	for (size_t i = 0; i < n; i++)
		if (dtc_predefined_row(list[i])->size == bytes)
			return list[i];
	return DTCONV_PREDEFINED_COUNT;
}

int dtconv_type_match_size(struct dtconv_context *context, enum dtconv_typeclass typeclass,
			   size_t bytes, struct dtconv_type **type)
{
	if (!context || !type)
		return DTCONV_ERR_INVAL;
	enum dtconv_predefined found;

	switch (typeclass) {
	case DTCONV_TYPECLASS_INTEGER:
		found = find_size(integers, DTC_ARRAY_LENGTH(integers), bytes);
		break;
	case DTCONV_TYPECLASS_REAL:
		found = find_size(reals, DTC_ARRAY_LENGTH(reals), bytes);
		break;
	case DTCONV_TYPECLASS_COMPLEX:
		found = find_size(complexes, DTC_ARRAY_LENGTH(complexes), bytes);
		break;
	default:
		return DTC_FAIL(context, DTCONV_ERR_INVAL,
				"%s: typeclass (argument 2) is %d, not integer, real or complex",
				__func__, (int)typeclass);
	}
	if (found == DTCONV_PREDEFINED_COUNT)
		return DTC_FAIL(context, DTCONV_ERR_UNSUPPORTED,
				"%s: no type of this class has %zu bytes (argument 3)", __func__,
				bytes);
	*type = dtc_predefined_type(context, found);
	return 0;
}

/* A kind, its decimal precision and its exponent range. */
struct kind {
	enum dtconv_predefined which;
	size_t precision;
	size_t range;
};

static const struct kind real_kinds[] = {
	{DTCONV_REAL4, 6, 37}, {DTCONV_REAL8, 15, 307}, {DTCONV_REAL16, 33, 4931}};
static const struct kind complex_kinds[] = {
	{DTCONV_COMPLEX8, 6, 37}, {DTCONV_COMPLEX16, 15, 307}, {DTCONV_COMPLEX32, 33, 4931}};
static const struct kind integer_kinds[] = {{DTCONV_INTEGER1, 0, 2},
					    {DTCONV_INTEGER2, 0, 4},
					    {DTCONV_INTEGER4, 0, 9},
					    {DTCONV_INTEGER8, 0, 18},
					    {DTCONV_INTEGER16, 0, 38}};

static const struct kind *find_kind(const struct kind *kinds, size_t n, size_t p, size_t r)
{
	for (size_t i = 0; i < n; i++)
		if ((p == DTCONV_UNDEFINED || p <= kinds[i].precision) &&
		    (r == DTCONV_UNDEFINED || r <= kinds[i].range))
			return &kinds[i];
	return NULL;
}

/* A requested number of digits in words; "undefined" if there is none. */
struct wish {
	char text[24];
};

static struct wish wish(int64_t digits)
{
	struct wish wish = {"undefined"};

	if ((size_t)digits != DTCONV_UNDEFINED)
		snprintf(wish.text, sizeof(wish.text), "%zu", (size_t)digits);
	return wish;
}

static int refuse_kind(const char *caller, struct dtconv_context *context, size_t n,
		       const int64_t arguments[])
{
	if (n == 1)
		return DTC_FAIL(context, DTCONV_ERR_UNSUPPORTED,
				"%s: r (argument 2) is %s, the widest integer has 38 digits",
				caller, wish(arguments[0]).text);
	return DTC_FAIL(context, DTCONV_ERR_UNSUPPORTED,
			"%s: p and r (arguments 2, 3) are %s and %s, the widest kind has 33 "
			"digits and exponents to 4931",
			caller, wish(arguments[0]).text, wish(arguments[1]).text);
}

/* Create a committed copy of @kind whose combiner is @combiner. */
static int create_kind(const char *caller, struct dtconv_context *context,
		       enum dtconv_combiner combiner, const struct kind *kind, size_t n,
		       const int64_t arguments[], struct dtconv_type **newtype)
{
	struct dtconv_type *type;

	if (!kind)
		return refuse_kind(caller, context, n, arguments);
	struct dtconv_type *same = dtc_predefined_type(context, kind->which);
	struct dtc_type_plan plan = {.context = context,
				     .caller = caller,
				     .combiner = combiner,
				     .bounds = same->bounds,
				     .count_count = n,
				     .count_width = sizeof(int64_t)};
	int status = dtc_type_allocate(&plan, &type);
	if (status)
		return status;
	dtc_ints_store(&type->counts, 0, n, arguments);
	type->predefined = kind->which;
	type->signature = dtc_signature_ref(same->signature);
	status = dtconv_type_commit(type);
	if (status) {
		dtconv_type_unref(type);
		return status;
	}
	return dtc_type_finish(type, caller, newtype);
}

static int check_precision(struct dtconv_context *context, const char *caller, size_t p,
			   size_t r)
{
	if (p != DTCONV_UNDEFINED || r != DTCONV_UNDEFINED)
		return 0;
	return DTC_FAIL(
		context, DTCONV_ERR_INVAL,
		"%s: p and r (arguments 2, 3) are both undefined, but one is required",
		caller);
}

int dtconv_type_create_f90_real(struct dtconv_context *context, size_t p, size_t r,
				struct dtconv_type **newtype)
{
	if (!context || !newtype)
		return DTCONV_ERR_INVAL;
	const struct kind *kind = find_kind(real_kinds, DTC_ARRAY_LENGTH(real_kinds), p, r);
	int status = check_precision(context, __func__, p, r);

	if (status)
		return status;
	return create_kind(__func__, context, DTCONV_COMBINER_F90_REAL, kind, 2,
			   (const int64_t[]){(int64_t)p, (int64_t)r}, newtype);
}

int dtconv_type_create_f90_complex(struct dtconv_context *context, size_t p, size_t r,
				   struct dtconv_type **newtype)
{
	if (!context || !newtype)
		return DTCONV_ERR_INVAL;
	const struct kind *kind =
		find_kind(complex_kinds, DTC_ARRAY_LENGTH(complex_kinds), p, r);
	int status = check_precision(context, __func__, p, r);

	if (status)
		return status;
	return create_kind(__func__, context, DTCONV_COMBINER_F90_COMPLEX, kind, 2,
			   (const int64_t[]){(int64_t)p, (int64_t)r}, newtype);
}

int dtconv_type_create_f90_integer(struct dtconv_context *context, size_t r,
				   struct dtconv_type **newtype)
{
	if (!context || !newtype)
		return DTCONV_ERR_INVAL;
	const struct kind *kind = NULL;

	/* An integer kind needs a range: the precision cannot stand in for it. */
	if (r != DTCONV_UNDEFINED)
		kind = find_kind(integer_kinds, DTC_ARRAY_LENGTH(integer_kinds),
				 DTCONV_UNDEFINED, r);
	return create_kind(__func__, context, DTCONV_COMBINER_F90_INTEGER, kind, 1,
			   (const int64_t[]){(int64_t)r}, newtype);
}

/* ---- value and index ----------------------------------------------------------------- */

static int check_pair(const struct dtconv_type *value, const struct dtconv_type *index)
{
	static const char caller[] = "dtconv_type_create_value_index";

	if (value->combiner != DTCONV_COMBINER_NAMED ||
	    dtc_predefined_row(value->predefined)->is_pair)
		return DTC_FAIL(value->context, DTCONV_ERR_INVAL,
				"%s: value (argument 1) is not a predefined type, or is a pair",
				caller);
	if (index->combiner != DTCONV_COMBINER_NAMED ||
	    !dtc_predefined_is_integer(index->predefined))
		return DTC_FAIL(value->context, DTCONV_ERR_INVAL,
				"%s: index (argument 2) is not a predefined integer type",
				caller);
	if (index->context != value->context)
		return DTC_FAIL(value->context, DTCONV_ERR_INVAL,
				"%s: index (argument 2) was made in another context", caller);
	return 0;
}

ptrdiff_t dtc_value_index_disp(const struct dtconv_type *value,
			       const struct dtconv_type *index)
{
	size_t alignment = index->bounds.alignment;
	size_t size = value->bounds.size;

	return (ptrdiff_t)((size + alignment - 1) / alignment * alignment);
}

static int create_pair(struct dtconv_type *value, struct dtconv_type *index,
		       struct dtconv_type **newtype)
{
	struct dtc_type_plan plan = {.context = value->context,
				     .caller = "dtconv_type_create_value_index",
				     .combiner = DTCONV_COMBINER_VALUE_INDEX,
				     .bounds = value->bounds,
				     .type_count = 2};
	struct dtconv_type *type;

	if (dtc_bounds_append(&plan.bounds, &index->bounds,
			      dtc_value_index_disp(value, index)) ||
	    dtc_bounds_pad(&plan.bounds))
		return dtc_build_overflow(value->context, plan.caller, "the extent");
	int status = dtc_type_allocate(&plan, &type);
	if (status)
		return status;
	dtc_type_add_child(type, value);
	dtc_type_add_child(type, index);
	type->signature = pair_signature(value->context, value, index);
	status = dtc_type_finish(type, plan.caller, &type);
	if (status)
		return status;
	status = dtconv_type_commit(type);
	if (status)
		dtconv_type_unref(type);
	else
		*newtype = type;
	return status;
}

int dtconv_type_create_value_index(struct dtconv_type *value, struct dtconv_type *index,
				   struct dtconv_type **newtype)
{
	if (!value || !index || !newtype)
		return DTCONV_ERR_INVAL;
	int status = check_pair(value, index);

	if (status)
		return status;
	enum dtconv_predefined pair =
		dtc_predefined_pair(value->predefined, index->predefined);
	if (pair == DTCONV_PREDEFINED_COUNT)
		return create_pair(value, index, newtype);
	*newtype = dtc_predefined_type(value->context, pair);
	return 0;
}
