/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Constructors that repeat one type regularly (contiguous, vector, hvector), and those that
 * only change its bounds (resized, dup).
 */
#include "config.h"

#include "build.h"

#include "base/base.h"
#include "base/checked.h"
#include "layout.h"
#include "signature.h"

int dtc_build_overflow(struct dtconv_context *context, const char *caller, const char *what)
{
	return DTC_FAIL(context, DTCONV_ERR_OVERFLOW,
			"%s: %s overflows (sizes are size_t, bounds and extents ptrdiff_t)",
			caller, what);
}

int dtc_build_null(struct dtconv_context *context, const char *caller, const char *argument,
		   int position)
{
	return DTC_FAIL(context, DTCONV_ERR_INVAL,
			"%s: %s (argument %d) is NULL, but must point to an array",
			caller, argument, position);
}

unsigned dtc_build_width(size_t n, const int64_t values[])
{
	int64_t lowest = 0, highest = 0;

	assert(values || !n);
	for (size_t i = 0; i < n; i++) {
		lowest = DTC_MIN(lowest, values[i]);
		highest = DTC_MAX(highest, values[i]);
	}
	return dtc_ints_width(lowest, highest);
}

int dtc_build_from_one(const struct dtc_type_plan *plan, struct dtconv_type *oldtype,
		       size_t copies, const int64_t counts[], const int64_t displacements[],
		       struct dtconv_type **newtype)
{
	struct dtc_type_plan sized = *plan;
	struct dtconv_type *type;

	sized.count_width = dtc_build_width(plan->count_count, counts);
	sized.displacement_width = dtc_build_width(plan->displacement_count, displacements);
	sized.type_count = 1;
	int status = dtc_type_allocate(&sized, &type);
	if (status)
		return status;
	dtc_ints_store(&type->counts, 0, type->counts.count, counts);
	dtc_ints_store(&type->displacements, 0, type->displacements.count, displacements);
	dtc_type_add_child(type, oldtype);
	if (type->bounds.size)
		type->predefined = oldtype->predefined;
	type->signature = dtc_signature_create_repeat(oldtype->signature, copies);
	return dtc_type_finish(type, plan->caller, newtype);
}

int dtconv_type_create_contiguous(size_t count, struct dtconv_type *oldtype,
				  struct dtconv_type **newtype)
{
	if (!oldtype || !newtype)
		return DTCONV_ERR_INVAL;
	struct dtc_type_plan plan = {.context = oldtype->context,
				     .caller = __func__,
				     .combiner = DTCONV_COMBINER_CONTIGUOUS,
				     .count_count = 1};
	ptrdiff_t extent = dtc_bounds_extent(&oldtype->bounds);

	if (dtc_bounds_repeat(&oldtype->bounds, count, extent, &plan.bounds) ||
	    dtc_type_pad(plan.context, plan.combiner, &plan.bounds))
		return DTC_FAIL(plan.context, DTCONV_ERR_OVERFLOW,
				"%s: count (argument 1) x size or extent = %zu x (%zu or %td) "
				"overflows",
				__func__, count, oldtype->bounds.size, extent);
	return dtc_build_from_one(&plan, oldtype, count, (const int64_t[]){(int64_t)count},
				  NULL, newtype);
}

static int create_strided(const char *caller, enum dtconv_combiner combiner, size_t count,
			  size_t blocklength, ptrdiff_t stride, ptrdiff_t stride_bytes,
			  struct dtconv_type *oldtype, struct dtconv_type **newtype)
{
	struct dtc_type_plan plan = {.context = oldtype->context,
				     .caller = caller,
				     .combiner = combiner,
				     .count_count = 2,
				     .displacement_count = 1};
	ptrdiff_t extent = dtc_bounds_extent(&oldtype->bounds);
	struct dtc_bounds block;
	size_t copies;

	if (dtc_bounds_repeat(&oldtype->bounds, blocklength, extent, &block))
		return DTC_FAIL(plan.context, DTCONV_ERR_OVERFLOW,
				"%s: blocklength (argument 2) x size or extent = %zu x (%zu or "
				"%td) overflows",
				caller, blocklength, oldtype->bounds.size, extent);
	if (dtc_bounds_repeat(&block, count, stride_bytes, &plan.bounds) ||
	    dtc_type_pad(plan.context, combiner, &plan.bounds))
		return DTC_FAIL(plan.context, DTCONV_ERR_OVERFLOW,
				"%s: count (argument 1) x block size or stride = %zu x (%zu or "
				"%td) bytes overflows",
				caller, count, block.size, stride_bytes);
	if (dtc_mul_size(count, blocklength, &copies))
		copies = 0; /* overflows only for an empty type */
	return dtc_build_from_one(&plan, oldtype, copies,
				  (const int64_t[]){(int64_t)count, (int64_t)blocklength},
				  (const int64_t[]){stride}, newtype);
}

int dtconv_type_create_vector(size_t count, size_t blocklength, ptrdiff_t stride,
			      struct dtconv_type *oldtype, struct dtconv_type **newtype)
{
	if (!oldtype || !newtype)
		return DTCONV_ERR_INVAL;
	ptrdiff_t extent = dtc_bounds_extent(&oldtype->bounds);
	ptrdiff_t stride_bytes;

	if (dtc_mul_disp(stride, extent, &stride_bytes))
		return DTC_FAIL(oldtype->context, DTCONV_ERR_OVERFLOW,
				"%s: stride (argument 3) x extent = %td x %td overflows "
				"ptrdiff_t",
				__func__, stride, extent);
	return create_strided(__func__, DTCONV_COMBINER_VECTOR, count, blocklength, stride,
			      stride_bytes, oldtype, newtype);
}

int dtconv_type_create_hvector(size_t count, size_t blocklength, ptrdiff_t stride,
			       struct dtconv_type *oldtype, struct dtconv_type **newtype)
{
	if (!oldtype || !newtype)
		return DTCONV_ERR_INVAL;
	return create_strided(__func__, DTCONV_COMBINER_HVECTOR, count, blocklength, stride,
			      stride, oldtype, newtype);
}

int dtconv_type_create_resized(struct dtconv_type *oldtype, ptrdiff_t lb, ptrdiff_t extent,
			       struct dtconv_type **newtype)
{
	if (!oldtype || !newtype)
		return DTCONV_ERR_INVAL;
	struct dtc_type_plan plan = {.context = oldtype->context,
				     .caller = __func__,
				     .combiner = DTCONV_COMBINER_RESIZED,
				     .bounds = oldtype->bounds,
				     .displacement_count = 2};

	if (dtc_bounds_resize(&plan.bounds, lb, extent))
		return DTC_FAIL(plan.context, DTCONV_ERR_OVERFLOW,
				"%s: lb (argument 2) + extent (argument 3) = %td + %td "
				"overflows ptrdiff_t",
				__func__, lb, extent);
	return dtc_build_from_one(&plan, oldtype, 1, NULL, (const int64_t[]){lb, extent},
				  newtype);
}

int dtconv_type_create_dup(struct dtconv_type *oldtype, struct dtconv_type **newtype)
{
	if (!oldtype || !newtype)
		return DTCONV_ERR_INVAL;
	struct dtc_type_plan plan = {.context = oldtype->context,
				     .caller = __func__,
				     .combiner = DTCONV_COMBINER_DUP,
				     .bounds = oldtype->bounds};
	struct dtconv_type *type;
	int status = dtc_build_from_one(&plan, oldtype, 1, NULL, NULL, &type);

	if (status)
		return status;
	if (dtc_type_layout(oldtype))
		status = dtconv_type_commit(type);
	if (status)
		dtconv_type_unref(type);
	else
		*newtype = type;
	return status;
}
