/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moves a batch as planned: submits groups, starts single entries, and moves the host's entries while
 * devices work.
 */
#include "config.h"

#include "batch_move.h"

#include "base/base.h"
#include "base/context.h"
#include "base/log.h"
#include "batch_plan.h"
#include "copy_backends/backend_set.h"
#include "copy_backends/counters.h"
#include "copy_backends/mover.h"
#include "device_move.h"
#include "host_move.h"

/*
 * The most single entries in flight, because a device context has a limited number of completion words.
 */
#define MOST_SINGLES 64

int dtc_batch_check_idle(const struct dtconv_batch *batch, const char *caller)
{
	if (!batch->in_flight)
		return 0;
	return DTC_FAIL(batch->context, DTCONV_ERR_STATE,
			"%s: the batch is in flight; test or wait for it first", caller);
}

/* ---- starting -------------------------------------------------------------------------- */

static void start_groups(struct dtconv_batch *batch, bool started, const char *caller)
{
	for (struct dtc_batch_group *group = batch->groups; group; group = group->next) {
		if (!group->used)
			continue;
		group->event.backend = NULL;
		group->job.caller = caller;
		group->job.started = started;
		group->status = group->backend->submit_batch(&group->job, &group->event);
		group->job.changed = group->status != 0;
		group->alone = group->status == DTCONV_ERR_LIMIT;
		if (!group->status)
			dtc_count_batch(group->backend, &group->job);
	}
}

static void end_single(struct dtconv_batch *batch, struct dtc_batch_item *item,
		       int status)
{
	item->event.backend = NULL;
	batch->singles--;
	item->status = status;
	if (status)
		item->moved = 0;
}

static void wait_for_singles(struct dtconv_batch *batch)
{
	for (size_t i = 0; batch->singles && i < batch->count; i++)
		if (batch->items[i].event.backend)
			end_single(batch, &batch->items[i],
				   dtc_device_wait(&batch->items[i].event));
}

static int start_move(const struct dtconv_batch *batch, struct dtc_batch_item *item,
		      const char *caller)
{
	struct dtc_cursor cursor;
	const struct dtc_move move = dtc_batch_item_move(batch, item, &cursor, caller);

	return dtc_device_start(&move, &item->event, &item->moved);
}

static int start_copy(struct dtc_batch_item *item, const char *caller)
{
	item->copy->caller = caller;
	return dtc_copy_start(item->copy, &item->event, &item->moved);
}

static void start_single(struct dtconv_batch *batch, struct dtc_batch_item *item,
			 const char *caller)
{
	if (batch->singles == MOST_SINGLES)
		wait_for_singles(batch);
	item->status = dtc_batch_is_between(item) ? start_copy(item, caller)
						  : start_move(batch, item, caller);
	if (item->event.backend)
		batch->singles++;
}

static void move_on_host(const struct dtconv_batch *batch, struct dtc_batch_item *item,
			 const char *caller)
{
	const struct dtconv_batch_entry *entry = &item->entry;
	const struct dtc_mover *mover = dtc_type_layout(entry->type)->mover;
	struct dtc_cursor cursor;

	if (mover && entry->count == 1 && entry->bytes >= item->size &&
	    !dtc_is_host_forbidden(batch->context, 0)) {
		dtc_mover_move(mover, entry->buffer, entry->packed,
			       dtc_batch_direction(item));
		item->moved = item->size;
		dtc_count_job(batch->context, DTC_HOST_INDEX, item->moved);
		return;
	}
	const struct dtc_move move = dtc_batch_item_move(batch, item, &cursor, caller);
	item->status = dtc_host_move(&move, &item->moved);
}

/* The path of this start: a group that was not submitted is no path. */
static enum dtc_batch_path path_now(const struct dtc_batch_item *item)
{
	return item->path == DTC_BATCH_IN_GROUP && item->group->alone ? DTC_BATCH_SINGLE
								      : item->path;
}

static void start_items(struct dtconv_batch *batch, enum dtc_batch_path path,
			const char *caller)
{
	for (size_t i = 0; i < batch->count; i++) {
		struct dtc_batch_item *item = &batch->items[i];

		if (path_now(item) != path)
			continue;
		item->status = 0;
		item->moved = 0;
		item->event.backend = NULL;
		if (path == DTC_BATCH_SINGLE)
			start_single(batch, item, caller);
		else if (dtc_batch_is_between(item))
			item->status = start_copy(item, caller);
		else
			move_on_host(batch, item, caller);
	}
}

/* @started: the caller does not wait immediately. */
static int start(struct dtconv_batch *batch, bool started, dtconv_done_fn done, void *arg,
		 const char *caller)
{
	int status = dtc_batch_check_idle(batch, caller);

	if (status)
		return status;
	if (!batch->planned)
		dtc_batch_make_plan(batch);
	batch->in_flight = true;
	batch->done = done;
	batch->arg = arg;
	start_groups(batch, started, caller);
	start_items(batch, DTC_BATCH_SINGLE, caller);
	start_items(batch, DTC_BATCH_ON_HOST, caller);
	return 0;
}

int dtconv_batch_start(struct dtconv_batch *batch, dtconv_done_fn done, void *arg)
{
	return batch ? start(batch, true, done, arg, __func__) : DTCONV_ERR_INVAL;
}

/* ---- ending ---------------------------------------------------------------------------- */

static void end_group(struct dtc_batch_group *group, int status)
{
	group->event.backend = NULL;
	group->status = status;
}

/* Whether anything is still in flight. */
static bool poll(struct dtconv_batch *batch)
{
	bool busy = false;

	for (struct dtc_batch_group *group = batch->groups; group; group = group->next) {
		if (!group->event.backend)
			continue;
		int status = group->event.backend->test(&group->event);
		if (status == DTCONV_INPROGRESS)
			busy = true;
		else
			end_group(group, status);
	}
	for (size_t i = 0; batch->singles && i < batch->count; i++) {
		struct dtc_batch_item *item = &batch->items[i];

		if (!item->event.backend)
			continue;
		int status = item->event.backend->test(&item->event);
		if (status == DTCONV_INPROGRESS)
			busy = true;
		else
			end_single(batch, item, status);
	}
	return busy;
}

void dtc_batch_wait_all(struct dtconv_batch *batch)
{
	for (struct dtc_batch_group *group = batch->groups; group; group = group->next)
		if (group->event.backend)
			end_group(group, dtc_device_wait(&group->event));
	wait_for_singles(batch);
}

static bool is_surplus(const struct dtc_batch_item *item)
{
	if (item->copy)
		return item->copy->truncated;
	return item->entry.direction == DTCONV_BATCH_PACK
		       ? item->entry.bytes < item->size
		       : item->entry.bytes > item->size;
}

/* Set the status of an entry that is no longer in flight. */
static void settle(const struct dtconv_batch *batch, struct dtc_batch_item *item)
{
	if (path_now(item) == DTC_BATCH_IN_GROUP) {
		item->status = item->group->status;
		item->moved = item->status ? 0 : dtc_batch_bytes(item);
	}
	if (item->copy || item->entry.direction == DTCONV_BATCH_PACK)
		dtc_count_call(batch->context, DTC_PACK, item->moved);
	if (item->copy || item->entry.direction == DTCONV_BATCH_UNPACK)
		dtc_count_call(batch->context, DTC_UNPACK, item->moved);
	if (!item->status && is_surplus(item))
		item->status = DTCONV_ERR_TRUNCATE;
}

/* A failed entry has written its error text already; a truncated one has not. */
static int report_first(const struct dtconv_batch *batch, const char *caller)
{
	if (batch->failed == batch->count)
		return 0;
	const struct dtc_batch_item *item = &batch->items[batch->failed];

	if (item->status != DTCONV_ERR_TRUNCATE)
		return item->status;
	if (item->copy)
		return DTC_FAIL(batch->context, DTCONV_ERR_TRUNCATE,
				"%s: entry %zu: the source packs to %zu bytes, but the "
				"target has room for %zu",
				caller, batch->failed,
				(size_t)item->copy->source.cursor.size,
				(size_t)item->copy->target.cursor.size);
	return DTC_FAIL(batch->context, DTCONV_ERR_TRUNCATE,
			"%s: entry %zu: bytes is %zu, but the packed stream has %zu",
			caller, batch->failed, item->entry.bytes, item->size);
}

static int complete(struct dtconv_batch *batch, size_t *moved, const char *caller)
{
	size_t all = 0;

	batch->in_flight = false;
	batch->failed = batch->count;
	for (size_t i = batch->count; i-- > 0;) {
		settle(batch, &batch->items[i]);
		all += batch->items[i].moved;
		if (batch->items[i].status)
			batch->failed = i;
	}
	int status = report_first(batch, caller);
	if (batch->done)
		batch->done(batch->arg, status, all);
	if (moved)
		*moved = all;
	return status;
}

static int check_started(const struct dtconv_batch *batch, const char *caller)
{
	if (batch->in_flight)
		return 0;
	return DTC_FAIL(batch->context, DTCONV_ERR_STATE, "%s: the batch was not started",
			caller);
}

int dtconv_batch_test(struct dtconv_batch *batch, size_t *moved)
{
	if (!batch)
		return DTCONV_ERR_INVAL;
	int status = check_started(batch, __func__);

	if (status)
		return status;
	return poll(batch) ? DTCONV_INPROGRESS : complete(batch, moved, __func__);
}

static int finish(struct dtconv_batch *batch, size_t *moved, const char *caller)
{
	dtc_batch_wait_all(batch);
	return complete(batch, moved, caller);
}

int dtconv_batch_wait(struct dtconv_batch *batch, size_t *moved)
{
	if (!batch)
		return DTCONV_ERR_INVAL;
	int status = check_started(batch, __func__);

	return status ? status : finish(batch, moved, __func__);
}

int dtconv_batch_run(struct dtconv_batch *batch, size_t *moved)
{
	if (moved)
		*moved = 0;
	if (!batch)
		return DTCONV_ERR_INVAL;
	int status = start(batch, false, NULL, NULL, __func__);

	return status ? status : finish(batch, moved, __func__);
}
