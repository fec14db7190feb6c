/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exports the blocks of a buffer as an iovec, without copying them.
 */
#include "config.h"

#include "convertor.h"

#include "base/base.h"
#include "base/log.h"
#include "datatype/runs.h"

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
