/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exports the blocks of a buffer as an iovec, without copying them: from a convertor's position on,
 * or by the number of the entry.
 */
#include "config.h"

#include "convertor.h"

#include "base/base.h"
#include "base/log.h"
#include "datatype/iov_index.h"
#include "datatype/runs.h"
#include "packed_stream.h"

/* Where blocks are collected. */
struct collection {
	struct iovec *iov;
	size_t count, max_count;
	size_t bytes;
	char *user;
};

/* Add a run. False if the array has no room for another block. */
static bool collect(struct collection *collection, int64_t disp, uint64_t bytes)
{
	/* Integer arithmetic: the buffer may be NULL, and any two blocks may be adjacent. */
	uintptr_t address = (uintptr_t)collection->user + (uintptr_t)disp;
	struct iovec *last = collection->count ? &collection->iov[collection->count - 1] : NULL;

	if (last && (uintptr_t)last->iov_base + last->iov_len == address)
		last->iov_len += (size_t)bytes;
	else if (collection->count < collection->max_count)
		collection->iov[collection->count++] =
			(struct iovec){ (void *)address, (size_t)bytes };
	else
		return false;
	collection->bytes += (size_t)bytes;
	return true;
}

int dtconv_convertor_iov(struct dtconv_convertor *convertor, struct iovec iov[],
			 size_t max_iov, size_t max_bytes, size_t *iov_count, size_t *moved)
{
	if (!convertor || !iov_count || !moved)
		return DTCONV_ERR_INVAL;
	struct dtc_cursor *cursor = &convertor->cursor;
	struct collection collection = {.iov = iov,
					.max_count = max_iov,
					.user = convertor->user};
	uint64_t start = cursor->position;
	struct dtc_runs runs;
	struct dtc_run run;

	int status = dtc_convertor_check_idle(convertor, __func__);
	if (status)
		return status;
	if (convertor->typed || convertor->checksum.on)
		return DTC_FAIL(
			convertor->type->context, DTCONV_ERR_UNSUPPORTED,
			"%s: this convertor has a representation, an operation or a "
			"checksum, which an iov (plain addresses and lengths) cannot "
			"express",
			__func__);
	if (convertor->must_stage)
		return DTC_FAIL(
			convertor->type->context, DTCONV_ERR_UNSUPPORTED,
			"%s: dtconv_path answered that the buffer must be staged, because %s; "
			"pack it, or ask for a network that reaches it",
			__func__, convertor->must_stage);
	dtc_runs_init(&runs, cursor, max_iov ? max_bytes : 0);
	while (dtc_runs_next(&runs, &run) && collect(&collection, run.disp, run.bytes))
		;
	/* The cursor is ahead of the blocks if the last run had no room. */
	if (cursor->position != start + collection.bytes)
		dtc_cursor_seek(cursor, start + collection.bytes);
	*iov_count = collection.count;
	*moved = collection.bytes;
	return 0;
}

/* ---- by number --------------------------------------------------------------------------------- */

static int no_memory(const struct dtconv_type *type, const char *caller)
{
	return DTC_FAIL(type->context, DTCONV_ERR_NOMEM,
			"%s: cannot allocate an index of the type's iovec entries",
			caller);
}

int dtconv_iov_count(const struct dtconv_type *type, size_t count, size_t *iov_count)
{
	if (!type || !iov_count)
		return DTCONV_ERR_INVAL;
	struct dtc_iov_index_room room;

	int status = dtc_packed_stream_check(type, count, __func__, "type (argument 1)");
	if (status)
		return status;
	struct dtc_layout *layout = dtc_type_layout(type);
	if (!layout->size || !count) {
		*iov_count = 0;
		return 0;
	}
	const struct dtc_iov_index *index = dtc_iov_index_of(layout, &room);
	if (!index)
		return no_memory(type, __func__);
	*iov_count = (size_t)dtc_iov_index_entries(index, layout, count);
	return 0;
}

/* Move a cursor at the start of a non-empty stream to an entry, or to the end if there are fewer. */
static int seek_entry(struct dtc_cursor *cursor, const struct dtconv_type *type,
		      size_t first, const char *caller)
{
	struct dtc_layout *layout = dtc_type_layout(type);
	struct dtc_iov_index_room room;
	const struct dtc_iov_index *index = dtc_iov_index_of(layout, &room);

	if (!index)
		return no_memory(type, caller);
	if (first >= dtc_iov_index_entries(index, layout, cursor->count))
		dtc_cursor_finish(cursor);
	else
		dtc_cursor_seek(cursor, dtc_iov_index_find(index, layout, first));
	return 0;
}

int dtconv_iov(const struct dtconv_type *type, size_t count, const void *buffer,
	       size_t first, struct iovec iov[], size_t max_iov, size_t *iov_count)
{
	if (!type || !iov_count)
		return DTCONV_ERR_INVAL;
	struct collection collection = { .iov = iov,
					 .max_count = max_iov,
					 .user = (char *)(uintptr_t)buffer };
	struct dtc_cursor cursor;
	struct dtc_runs runs;
	struct dtc_run run;

	int status = dtc_packed_stream_begin(&cursor, type, count, __func__,
					     "type (argument 1)");
	if (!status && first && cursor.size)
		status = seek_entry(&cursor, type, first, __func__);
	if (status)
		return status;
	dtc_runs_init(&runs, &cursor, max_iov ? SIZE_MAX : 0);
	while (dtc_runs_next(&runs, &run) && collect(&collection, run.disp, run.bytes))
		;
	*iov_count = collection.count;
	return 0;
}
