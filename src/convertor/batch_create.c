/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Creates, binds and destroys batches, and checks their entries. batch_plan.c decides how entries are
 * moved.
 */
#include "config.h"

#include "batch_create.h"

#include <string.h>

#include "base/base.h"
#include "base/context.h"
#include "base/log.h"
#include "batch_move.h"
#include "batch_plan.h"
#include "batch_query.h"
#include "packed_stream.h"

/* ---- checking -------------------------------------------------------------------------- */

/* What error messages say of an entry. */
struct entry_context {
	struct dtconv_context *context;
	const char *caller;
	size_t index;
};

static int check_enums(const struct entry_context *where,
		       const struct dtconv_batch_entry *entry)
{
	if ((unsigned)entry->direction > DTCONV_BATCH_UNPACK)
		return DTC_FAIL(
			where->context, DTCONV_ERR_INVAL,
			"%s: entry %zu: direction is %d, neither DTCONV_PACK nor DTCONV_UNPACK",
			where->caller, where->index, (int)entry->direction);
	if ((unsigned)entry->user_memory > DTCONV_MEMORY_DEVICE ||
	    (unsigned)entry->packed_memory > DTCONV_MEMORY_DEVICE)
		return DTC_FAIL(
			where->context, DTCONV_ERR_INVAL,
			"%s: entry %zu: user_memory is %d and packed_memory is %d, not "
			"both values of enum dtconv_memory_kind",
			where->caller, where->index, (int)entry->user_memory,
			(int)entry->packed_memory);
	return 0;
}

static int check_type(const struct entry_context *where,
		      const struct dtconv_batch_entry *entry)
{
	const struct dtconv_type *type = entry->type;

	if (!type)
		return DTC_FAIL(where->context, DTCONV_ERR_INVAL,
				"%s: entry %zu: type is NULL", where->caller,
				where->index);
	if (type->context != where->context)
		return DTC_FAIL(where->context, DTCONV_ERR_INVAL,
				"%s: entry %zu: the type was made in another context",
				where->caller, where->index);
	if (!dtc_type_layout(type))
		return DTC_FAIL(where->context, DTCONV_ERR_STATE,
				"%s: entry %zu: the type is not committed", where->caller,
				where->index);
	if (dtc_bounds_are_too_many(&type->bounds, entry->count))
		return DTC_FAIL(
			where->context, DTCONV_ERR_OVERFLOW,
			"%s: entry %zu: count x size or extent = %zu x (%zu or %td) overflows",
			where->caller, where->index, entry->count, type->bounds.size,
			dtc_bounds_extent(&type->bounds));
	return 0;
}

static int check_entries(struct dtconv_context *context,
			 const struct dtconv_batch_entry entries[], size_t first,
			 size_t count, const char *caller)
{
	int status = 0;

	for (size_t i = 0; !status && i < count; i++) {
		const struct entry_context where = { context, caller, first + i };

		status = check_type(&where, &entries[i]);
		if (!status)
			status = check_enums(&where, &entries[i]);
	}
	return status;
}

/* ---- binding --------------------------------------------------------------------------- */

static void bind(struct dtc_batch_item *item, const struct dtconv_batch_entry *entry)
{
	*item = (struct dtc_batch_item){
		.entry = *entry, .size = entry->type->bounds.size * entry->count
	};
	dtconv_type_ref(entry->type);
}

void dtc_batch_drop_plan(struct dtconv_batch *batch)
{
	dtc_batch_reset_groups(batch);
	batch->planned = false;
}

void dtc_batch_copy_destroy(struct dtconv_context *context, struct dtc_copy *copy)
{
	dtc_typed_destroy(copy->typed);
	dtconv_type_unref((struct dtconv_type *)copy->source.type);
	dtconv_type_unref((struct dtconv_type *)copy->target.type);
	dtc_free(context, copy);
}

void dtc_batch_unbind(struct dtconv_batch *batch, struct dtc_batch_item *item)
{
	if (item->copy)
		dtc_batch_copy_destroy(batch->context, item->copy);
	else
		dtconv_type_unref(item->entry.type);
}

static void unbind_all(struct dtconv_batch *batch)
{
	for (size_t i = 0; i < batch->count; i++)
		dtc_batch_unbind(batch, &batch->items[i]);
	batch->count = 0;
}

/* Take references to the new types before dropping the old ones: a type may be in both. */
static void bind_all(struct dtconv_batch *batch,
		     const struct dtconv_batch_entry entries[], size_t count)
{
	for (size_t i = 0; i < count; i++)
		dtconv_type_ref(entries[i].type);
	dtc_batch_drop_plan(batch);
	unbind_all(batch);
	for (size_t i = 0; i < count; i++) {
		bind(&batch->items[i], &entries[i]);
		dtconv_type_unref(entries[i].type);
	}
	batch->count = batch->failed = count;
}

int dtc_batch_grow(struct dtconv_batch *batch, size_t capacity, const char *caller)
{
	struct dtc_batch_item *items = NULL;
	const struct dtc_stretch **stretches = NULL;

	if (capacity <= batch->capacity)
		return 0;
	if (capacity <= SIZE_MAX / sizeof(*items)) {
		items = dtc_alloc(batch->context, capacity * sizeof(*items));
		stretches = dtc_alloc(batch->context, capacity * sizeof(*stretches));
	}
	if (!items || !stretches) {
		dtc_free(batch->context, items);
		dtc_free(batch->context, (void *)stretches);
		return DTC_FAIL(batch->context, DTCONV_ERR_NOMEM,
				"%s: cannot allocate room for %zu entries", caller,
				capacity);
	}
	if (batch->count)
		memcpy(items, batch->items, batch->count * sizeof(*items));
	dtc_batch_drop_plan(batch);
	dtc_free(batch->context, batch->items);
	dtc_free(batch->context, (void *)batch->stretches);
	batch->items = items;
	batch->stretches = stretches;
	batch->capacity = capacity;
	return 0;
}

static int rebind(struct dtconv_batch *batch, const struct dtconv_batch_entry entries[],
		  size_t count, const char *caller)
{
	int status = check_entries(batch->context, entries, 0, count, caller);

	if (!status)
		status = dtc_batch_grow(batch, count, caller);
	if (!status)
		bind_all(batch, entries, count);
	return status;
}

int dtconv_batch_rebind(struct dtconv_batch *batch,
			const struct dtconv_batch_entry entries[], size_t count)
{
	if (!batch || (!entries && count))
		return DTCONV_ERR_INVAL;
	int status = dtc_batch_check_idle(batch, __func__);

	return status ? status : rebind(batch, entries, count, __func__);
}

int dtconv_batch_rebind_entry(struct dtconv_batch *batch, size_t index,
			      const struct dtconv_batch_entry *entry)
{
	if (!batch || !entry)
		return DTCONV_ERR_INVAL;
	int status = dtc_batch_check_idle(batch, __func__);

	if (!status)
		status = dtc_batch_check_index(batch, index, __func__);
	if (!status)
		status = check_entries(batch->context, entry, index, 1, __func__);
	if (status)
		return status;
	struct dtc_batch_item old = batch->items[index];
	dtc_batch_drop_plan(batch);
	bind(&batch->items[index], entry);
	dtc_batch_unbind(batch, &old);
	return 0;
}

/* ---- creating -------------------------------------------------------------------------- */

/* The caller's parameters; members that an older caller does not have get their defaults. */
static int read_params(struct dtconv_context *context,
		       const struct dtconv_batch_params *given, const char *caller,
		       struct dtconv_batch_params *params)
{
	*params = (struct dtconv_batch_params){ .struct_size = sizeof(*params) };
	if (!given)
		return 0;
	if (given->struct_size == 0)
		return DTC_FAIL_STRUCT_SIZE(context, caller, "params", "dtconv_batch_params");
	memcpy(params, given, DTC_MIN(given->struct_size, sizeof(*params)));
	if (params->flags & ~(unsigned)DTCONV_BATCH_STREAM)
		return DTC_FAIL(context, DTCONV_ERR_INVAL,
				"%s: params.flags has unknown bits: 0x%x", caller,
				params->flags);
	if (params->stream && !params->flags)
		return DTC_FAIL(
			context, DTCONV_ERR_INVAL,
			"%s: params.stream is set, but params.flags lacks DTCONV_BATCH_STREAM",
			caller);
	return 0;
}

static int create(struct dtconv_context *context,
		  const struct dtconv_batch_entry entries[], size_t count,
		  const struct dtconv_batch_params *given, const char *caller,
		  struct dtconv_batch **batch)
{
	struct dtconv_batch_params params;
	int status = read_params(context, given, caller, &params);

	if (status)
		return status;
	struct dtconv_batch *made = dtc_alloc_zeroed(context, sizeof(*made));
	if (!made)
		return DTC_FAIL(context, DTCONV_ERR_NOMEM, "%s: cannot allocate a batch",
				caller);
	made->context = context;
	made->on_stream = params.flags & DTCONV_BATCH_STREAM;
	made->stream = params.stream;
	status = dtc_batch_grow(made, params.capacity, caller);
	if (!status)
		status = rebind(made, entries, count, caller);
	if (status) {
		dtconv_batch_destroy(made);
		return status;
	}
	*batch = made;
	return 0;
}

int dtconv_batch_create(struct dtconv_context *context,
			const struct dtconv_batch_entry entries[], size_t count,
			const struct dtconv_batch_params *params,
			struct dtconv_batch **batch)
{
	if (!context || (!entries && count) || !batch)
		return DTCONV_ERR_INVAL;
	return create(context, entries, count, params, __func__, batch);
}

void dtconv_batch_destroy(struct dtconv_batch *batch)
{
	if (!batch)
		return;
	struct dtconv_context *context = batch->context;

	dtc_batch_wait_all(batch);
	dtc_batch_drop_groups(batch);
	unbind_all(batch);
	dtc_free(context, batch->items);
	dtc_free(context, (void *)batch->stretches);
	dtc_free(context, batch);
}

int dtconv_batch_move(struct dtconv_context *context,
		      const struct dtconv_batch_entry entries[], size_t count,
		      const struct dtconv_batch_params *params, size_t *failed,
		      size_t *moved)
{
	struct dtconv_batch *batch;

	if (moved)
		*moved = 0;
	if (!context || (!entries && count))
		return DTCONV_ERR_INVAL;
	int status = create(context, entries, count, params, __func__, &batch);
	if (status)
		return status;
	status = dtconv_batch_run(batch, moved);
	if (failed)
		*failed = batch->failed;
	dtconv_batch_destroy(batch);
	return status;
}
