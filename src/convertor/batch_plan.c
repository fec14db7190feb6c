/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plans a batch. A group is made of entries of one direction, or of copies between layouts, whose memory belongs to one
 * device and one context; a group is one submission.
 */
#include "config.h"

#include "batch_plan.h"

#include "base/base.h"
#include "base/context.h"
#include "copy_backends/layout_copy.h"
#include "copy_backends/plan.h"
#include "device_move.h"

struct dtc_move dtc_batch_item_move(const struct dtconv_batch *batch,
				    const struct dtc_batch_item *item,
				    struct dtc_cursor *cursor, const char *caller)
{
	const struct dtconv_batch_entry *entry = &item->entry;

	dtc_cursor_init(cursor, dtc_type_layout(entry->type), entry->count);
	return (struct dtc_move){ .context = batch->context,
				  .cursor = cursor,
				  .bounds = &entry->type->bounds,
				  .user = entry->buffer,
				  .packed = entry->packed,
				  .bytes = dtc_batch_bytes(item),
				  .direction = dtc_batch_direction(item),
				  .placement = { .user = entry->user_memory,
						 .packed = entry->packed_memory,
						 .on_stream = batch->on_stream,
						 .stream = batch->stream },
				  .caller = caller };
}

/* ---- groups ---------------------------------------------------------------------------- */

/* The device that moves an entry; -1 if the backend chooses it at submission. */
static int device_of(const struct dtc_stretch *stretch)
{
	return stretch->user_memory.kind == DTCONV_MEMORY_DEVICE
		       ? stretch->user_memory.device
		       : stretch->packed_memory.device;
}

static void *owner_of(const struct dtc_stretch *stretch)
{
	return stretch->user_memory.owner ? stretch->user_memory.owner
					  : stretch->packed_memory.owner;
}

static bool is_group_of(const struct dtc_batch_group *group,
			const struct dtc_batch_item *item,
			const struct dtc_backend_ops *backend)
{
	return group->used && group->backend == backend &&
	       group->job.direction == dtc_batch_direction(item) &&
	       group->job.between_layouts == dtc_batch_is_between(item) &&
	       group->device == device_of(&item->stretch) &&
	       group->owner == owner_of(&item->stretch);
}

static struct dtc_batch_group *spare_group(struct dtconv_batch *batch,
					   const struct dtc_backend_ops *backend)
{
	struct dtc_batch_group *group = batch->groups;

	while (group && (group->used || group->backend != backend))
		group = group->next;
	if (group)
		return group;
	group = dtc_alloc_zeroed(batch->context, sizeof(*group));
	if (!group)
		return NULL;
	group->backend = backend;
	group->next = batch->groups;
	batch->groups = group;
	return group;
}

/* The group of an entry; NULL if the allocator has no memory for a new one. */
static struct dtc_batch_group *find_group(struct dtconv_batch *batch,
					  const struct dtc_batch_item *item,
					  const struct dtc_backend_ops *backend)
{
	struct dtc_batch_group *group = batch->groups;

	while (group && !is_group_of(group, item, backend))
		group = group->next;
	if (group)
		return group;
	group = spare_group(batch, backend);
	if (!group)
		return NULL;
	group->used = true;
	group->device = device_of(&item->stretch);
	group->owner = owner_of(&item->stretch);
	group->job =
		(struct dtc_batch_job){ .direction = dtc_batch_direction(item),
					.between_layouts = dtc_batch_is_between(item),
					.context = batch->context,
					.on_stream = batch->on_stream,
					.stream = batch->stream,
					.changed = true,
					.kept = group->job.kept };
	return group;
}

void dtc_batch_reset_groups(struct dtconv_batch *batch)
{
	for (struct dtc_batch_group *group = batch->groups; group; group = group->next)
		group->used = false;
}

void dtc_batch_drop_groups(struct dtconv_batch *batch)
{
	while (batch->groups) {
		struct dtc_batch_group *group = batch->groups;

		batch->groups = group->next;
		if (group->job.kept)
			group->backend->forget(group->job.kept);
		dtc_free(batch->context, group);
	}
}

/* ---- arranging ------------------------------------------------------------------------- */

static bool is_usable(const struct dtc_memory *memory)
{
	return memory->kind && !memory->denied;
}

/* Whether the device of the user's memory, or of a copy's source, has no access to the other side. */
static bool is_out_of_reach(const struct dtconv_batch *batch,
			    const struct dtc_stretch *stretch)
{
	return dtc_memory_is_between(&stretch->user_memory, &stretch->packed_memory) &&
	       !dtc_memory_reaches(batch->context, &stretch->user_memory,
				   &stretch->packed_memory);
}

static enum dtc_batch_path path_of_kinds(struct dtconv_batch *batch,
					 struct dtc_batch_item *item)
{
	const struct dtc_stretch *stretch = &item->stretch;
	const struct dtc_question question = {
		.layout = stretch->layout,
		.count = stretch->count,
		.bytes = stretch->bytes,
		.user_kind = stretch->user_memory.kind,
		.packed_kind = stretch->packed_memory.kind,
		.direction = dtc_batch_direction(item),
		.context = batch->context,
		.forbidden = batch->context->forbidden,
		.on_stream = batch->on_stream || batch->context->devices.default_stream,
		.is_mapped = stretch->user_memory.mapped,
		.is_between = dtc_memory_is_between(&stretch->user_memory,
						    &stretch->packed_memory),
		.device = dtc_memory_device_of(&stretch->user_memory,
					       &stretch->packed_memory)
	};
	const struct dtc_backend_ops *backend = dtc_plan_choose_together(&question);

	if (backend == &dtc_host_backend)
		return DTC_BATCH_ON_HOST;
	if (!backend || !backend->submit_batch || is_out_of_reach(batch, stretch))
		return DTC_BATCH_SINGLE;
	item->group = find_group(batch, item, backend);
	return item->group ? DTC_BATCH_IN_GROUP : DTC_BATCH_SINGLE;
}

/* Copies to a device that the source's has no access to, in two steps or with an operation go alone. */
static enum dtc_batch_path path_of_copy(struct dtconv_batch *batch,
					struct dtc_batch_item *item)
{
	struct dtc_stretch *stretch = &item->stretch;

	if (!item->copy->end || dtc_copy_is_ordinary(item->copy))
		return DTC_BATCH_ON_HOST;
	if (!dtc_copy_describe(item->copy, stretch) || is_out_of_reach(batch, stretch))
		return DTC_BATCH_SINGLE;
	const struct dtc_backend_ops *backend =
		dtc_layout_copy_together(batch->context, stretch);
	if (!backend)
		return DTC_BATCH_SINGLE;
	item->group = find_group(batch, item, backend);
	return item->group ? DTC_BATCH_IN_GROUP : DTC_BATCH_SINGLE;
}

static enum dtc_batch_path path_of_move(struct dtconv_batch *batch,
					struct dtc_batch_item *item)
{
	struct dtc_stretch *stretch = &item->stretch;
	struct dtc_cursor cursor;
	const struct dtc_move move = dtc_batch_item_move(batch, item, &cursor, NULL);

	if (!move.bytes ||
	    dtc_move_is_on_host(batch->context, &move.placement, move.user, move.packed))
		return DTC_BATCH_ON_HOST;
	*stretch = (struct dtc_stretch){ .layout = cursor.layout,
					 .count = cursor.count,
					 .bytes = move.bytes,
					 .user = move.user,
					 .packed = move.packed };
	if (dtc_device_find_both(&move, 0, &stretch->user_memory,
				 &stretch->packed_memory) < move.bytes ||
	    !is_usable(&stretch->user_memory) || !is_usable(&stretch->packed_memory))
		return DTC_BATCH_SINGLE;
	return path_of_kinds(batch, item);
}

/* List the stretches of each group, in the order of the entries. */
static void list_stretches(struct dtconv_batch *batch)
{
	const struct dtc_stretch **next = batch->stretches;

	for (struct dtc_batch_group *group = batch->groups; group; group = group->next) {
		if (!group->used)
			continue;
		group->job.stretches = next;
		for (size_t i = 0; i < batch->count; i++)
			if (batch->items[i].path == DTC_BATCH_IN_GROUP &&
			    batch->items[i].group == group)
				*next++ = &batch->items[i].stretch;
		group->job.count = (size_t)(next - group->job.stretches);
	}
}

void dtc_batch_make_plan(struct dtconv_batch *batch)
{
	for (size_t i = 0; i < batch->count; i++)
		batch->items[i].path = dtc_batch_is_between(&batch->items[i])
					       ? path_of_copy(batch, &batch->items[i])
					       : path_of_move(batch, &batch->items[i]);
	list_stretches(batch);
	batch->planned = true;
}
