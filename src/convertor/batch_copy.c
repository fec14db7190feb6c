/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies between layouts as entries of a batch: their options are checked, and they are appended or put in the place of
 * another entry.
 */
#include "config.h"

#include <dtconv/batch.h>

#include <string.h>

#include "base/base.h"
#include "base/context.h"
#include "base/log.h"
#include "batch_create.h"
#include "batch_move.h"
#include "batch_query.h"
#include "copy.h"

/* ---- checking -------------------------------------------------------------------------- */

/* The caller's struct; members that an older caller does not have get their defaults. */
static int read_copy(struct dtconv_context *context,
		     const struct dtconv_batch_copy *given, const char *caller,
		     struct dtconv_batch_copy *copy)
{
	*copy = (struct dtconv_batch_copy){ .struct_size = sizeof(*copy) };
	if (given->struct_size == 0)
		return DTC_FAIL_STRUCT_SIZE(context, caller, "copy", "dtconv_batch_copy");
	memcpy(copy, given, DTC_MIN(given->struct_size, sizeof(*copy)));
	if (!copy->source_type || !copy->target_type)
		return DTC_FAIL(context, DTCONV_ERR_INVAL, "%s: copy.%s_type is NULL",
				caller, copy->source_type ? "target" : "source");
	if (copy->source_type->context != context)
		return DTC_FAIL(context, DTCONV_ERR_INVAL,
				"%s: copy.source_type was made in another context",
				caller);
	return 0;
}

static int configure(const struct dtconv_batch *batch,
		     const struct dtconv_batch_copy *given, struct dtc_copy *copy)
{
	const struct dtconv_copier_params params = { .struct_size = sizeof(params),
						     .op = given->op,
						     .op_fn = given->op_fn,
						     .op_arg = given->op_arg };
	int status = dtc_copy_configure(copy, given->source_count, given->target_count,
					&params);

	copy->placement.on_stream = batch->on_stream;
	copy->placement.stream = batch->stream;
	return status;
}

static int create_copy(const struct dtconv_batch *batch,
		       const struct dtconv_batch_copy *given, const char *caller,
		       struct dtc_copy **copy)
{
	struct dtc_copy *made = dtc_alloc(batch->context, sizeof(*made));

	if (!made)
		return DTC_FAIL(batch->context, DTCONV_ERR_NOMEM,
				"%s: cannot allocate a copy", caller);
	*made = (struct dtc_copy){ .source = { .type = given->source_type,
					       .type_name = "copy.source_type",
					       .data = (char *)(uintptr_t)given->source },
				   .target = { .type = given->target_type,
					       .type_name = "copy.target_type",
					       .data = given->target },
				   .started = true,
				   .caller = caller };
	dtconv_type_ref(given->source_type);
	dtconv_type_ref(given->target_type);
	int status = configure(batch, given, made);
	if (status)
		dtc_batch_copy_destroy(batch->context, made);
	else
		*copy = made;
	return status;
}

/* ---- binding --------------------------------------------------------------------------- */

/* The contiguous side is the packed stream of the other one, as in copy.c. */
static struct dtconv_batch_entry entry_to_row(const struct dtc_copy_end *end,
					      const struct dtc_copy_end *row,
					      enum dtconv_batch_direction direction)
{
	return (struct dtconv_batch_entry){ .type = (struct dtconv_type *)end->type,
					    .count = (size_t)end->cursor.count,
					    .buffer = end->data,
					    .packed = dtc_copy_row(row),
					    .bytes = (size_t)row->cursor.size,
					    .direction = direction };
}

static struct dtconv_batch_entry entry_of(const struct dtc_copy *copy)
{
	if (!copy->typed && copy->end && dtc_copy_is_row(&copy->source))
		return entry_to_row(&copy->target, &copy->source, DTCONV_BATCH_UNPACK);
	if (!copy->typed && copy->end && dtc_copy_is_row(&copy->target))
		return entry_to_row(&copy->source, &copy->target, DTCONV_BATCH_PACK);
	return (struct dtconv_batch_entry){ .bytes = (size_t)copy->end };
}

static void bind(struct dtc_batch_item *item, struct dtc_copy *copy)
{
	*item = (struct dtc_batch_item){ .entry = entry_of(copy), .copy = copy };
	item->size = item->entry.type ? item->entry.type->bounds.size * item->entry.count
				      : item->entry.bytes;
}

/* More than one at a time, so that appending costs the same for each. */
static int make_room(struct dtconv_batch *batch, const char *caller)
{
	const size_t count = batch->count;

	return count < batch->capacity
		       ? 0
		       : dtc_batch_grow(batch, count < 4 ? 8 : 2 * count, caller);
}

int dtconv_batch_add_copy(struct dtconv_batch *batch,
			  const struct dtconv_batch_copy *given, size_t *index)
{
	struct dtconv_batch_copy copy;
	struct dtc_copy *made;

	if (!batch || !given)
		return DTCONV_ERR_INVAL;
	int status = dtc_batch_check_idle(batch, __func__);
	if (!status)
		status = read_copy(batch->context, given, __func__, &copy);
	if (!status)
		status = make_room(batch, __func__);
	if (!status)
		status = create_copy(batch, &copy, __func__, &made);
	if (status)
		return status;
	dtc_batch_drop_plan(batch);
	bind(&batch->items[batch->count], made);
	if (index)
		*index = batch->count;
	batch->failed += batch->failed == batch->count;
	batch->count++;
	return 0;
}

int dtconv_batch_rebind_copy(struct dtconv_batch *batch, size_t index,
			     const struct dtconv_batch_copy *given)
{
	struct dtconv_batch_copy copy;
	struct dtc_copy *made;

	if (!batch || !given)
		return DTCONV_ERR_INVAL;
	int status = dtc_batch_check_idle(batch, __func__);
	if (!status)
		status = dtc_batch_check_index(batch, index, __func__);
	if (!status)
		status = read_copy(batch->context, given, __func__, &copy);
	if (!status)
		status = create_copy(batch, &copy, __func__, &made);
	if (status)
		return status;
	struct dtc_batch_item old = batch->items[index];
	dtc_batch_drop_plan(batch);
	bind(&batch->items[index], made);
	dtc_batch_unbind(batch, &old);
	return 0;
}
