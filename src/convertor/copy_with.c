/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies between layouts with options: an operation, a stream, a range of the packed stream; what the options must be,
 * and the one-shot calls that take them.
 */
#include "config.h"

#include "copy.h"

#include <string.h>

#include "base/base.h"
#include "base/log.h"
#include "datatype/type.h"
#include "params.h"

/* ---- options ----------------------------------------------------------------------------- */

/* The caller's parameters; members that an older caller does not have get their defaults. */
static int read_params(struct dtconv_context *context,
		       const struct dtconv_copier_params *given, const char *caller,
		       struct dtconv_copier_params *params)
{
	*params = (struct dtconv_copier_params){ .struct_size = sizeof(*params) };
	if (!given)
		return 0;
	if (given->struct_size == 0)
		return DTC_FAIL_STRUCT_SIZE(context, caller, "params", "dtconv_copier_params");
	memcpy(params, given, DTC_MIN(given->struct_size, sizeof(*params)));
	if (params->flags & ~(unsigned)DTCONV_COPIER_STREAM)
		return DTC_FAIL(context, DTCONV_ERR_INVAL,
				"%s: params.flags has unknown bits: 0x%x", caller,
				params->flags);
	if (params->stream && !params->flags)
		return DTC_FAIL(context, DTCONV_ERR_INVAL,
				"%s: params.stream is set, but params.flags lacks "
				"DTCONV_COPIER_STREAM",
				caller);
	return dtc_params_check_op_fn(context, params->op, params->op_fn, caller);
}

/* ---- overlap ----------------------------------------------------------------------------- */

static bool rows_overlap(const struct dtc_copy_end *a, const struct dtc_copy_end *b)
{
	const uintptr_t first = (uintptr_t)dtc_copy_row(a),
			second = (uintptr_t)dtc_copy_row(b);

	return first < second ? second - first < a->cursor.size
			      : first - second < b->cursor.size;
}

/* Whether the sides share bytes for certain. Other layouts would have to be compared block by block. */
static bool overlap(const struct dtc_copy *copy)
{
	const struct dtc_copy_end *source = &copy->source, *target = &copy->target;

	if (!source->cursor.size || !target->cursor.size)
		return false;
	if (source->type == target->type && source->data == target->data)
		return true;
	return dtc_copy_is_row(source) && dtc_copy_is_row(target) &&
	       rows_overlap(source, target);
}

/* ---- the operation ----------------------------------------------------------------------- */

static int set_operation(struct dtc_copy *copy, size_t target_count,
			 const struct dtconv_copier_params *params)
{
	const struct dtconv_convertor_params unpack = { .struct_size = sizeof(unpack),
							.op = params->op,
							.op_fn = params->op_fn,
							.op_arg = params->op_arg };
	struct dtconv_type *type = (struct dtconv_type *)copy->target.type;
	const bool reads = params->op != DTCONV_OP_REPLACE &&
			   params->op != DTCONV_OP_NO_OP;

	if (reads && overlap(copy))
		return DTC_FAIL(type->context, DTCONV_ERR_INVAL,
				"%s: the source overlaps the target", copy->caller);
	return dtc_typed_create(type, target_count, &unpack, copy->caller, &copy->typed);
}

int dtc_copy_configure(struct dtc_copy *copy, size_t source_count, size_t target_count,
		       const struct dtconv_copier_params *given)
{
	struct dtconv_copier_params params;
	int status =
		read_params(copy->source.type->context, given, copy->caller, &params);

	if (!status)
		status = dtc_copy_check(copy, source_count, target_count);
	if (status)
		return status;
	copy->placement.on_stream = params.flags & DTCONV_COPIER_STREAM;
	copy->placement.stream = params.stream;
	return set_operation(copy, target_count, &params);
}

/* ---- one-shot calls ---------------------------------------------------------------------- */

static int copy_range(struct dtconv_type *source_type, size_t source_count,
		      const void *source, struct dtconv_type *target_type,
		      size_t target_count, void *target, size_t position, size_t bytes,
		      const struct dtconv_copier_params *params, size_t *moved,
		      const char *caller)
{
	if (!source_type || !target_type)
		return DTCONV_ERR_INVAL;
	struct dtc_copy copy = { .source = { .type = source_type,
					     .type_name = DTC_COPY_SOURCE_TYPE,
					     .data = (char *)(uintptr_t)source },
				 .target = { .type = target_type,
					     .type_name = DTC_COPY_TARGET_TYPE,
					     .data = target },
				 .caller = caller };
	size_t copied = 0;

	if (moved)
		*moved = 0;
	int status = dtc_copy_configure(&copy, source_count, target_count, params);
	if (!status)
		status = dtc_copy_select(&copy, position, bytes);
	if (!status) {
		status = dtc_copy_run(&copy, &copied);
		status = dtc_copy_end(&copy, status, copied);
	}
	if (moved)
		*moved = copied;
	dtc_typed_destroy(copy.typed);
	return status;
}

int dtconv_copy_with(struct dtconv_type *source_type, size_t source_count,
		     const void *source, struct dtconv_type *target_type,
		     size_t target_count, void *target,
		     const struct dtconv_copier_params *params, size_t *moved)
{
	return copy_range(source_type, source_count, source, target_type, target_count,
			  target, 0, SIZE_MAX, params, moved, __func__);
}

int dtconv_copy_at(struct dtconv_type *source_type, size_t source_count,
		   const void *source, struct dtconv_type *target_type,
		   size_t target_count, void *target, size_t position, size_t bytes,
		   const struct dtconv_copier_params *params, size_t *moved)
{
	return copy_range(source_type, source_count, source, target_type, target_count,
			  target, position, bytes, params, moved, __func__);
}
