/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exporting blocks instead of copying them.
 */
#include "config.h"

#include "convertor.h"

#include "base.h"
#include "log.h"

/* Where blocks are collected, and the limits that end it. */
struct collection {
	struct iovec *iov;
	size_t count, max_count;
	size_t bytes, max_bytes;
	char *user;
};

/* Add a run; answers how many of its bytes fit. */
static uint64_t collect(struct collection *collection, int64_t disp, uint64_t bytes)
{
	/* As a number: the buffer may be NULL, and blocks may meet anywhere. */
	uintptr_t address = (uintptr_t)collection->user + (uintptr_t)disp;
	struct iovec *last = collection->count ? &collection->iov[collection->count - 1] : NULL;

	size_t fitting =
		(size_t)DTC_MIN(bytes, collection->max_bytes - collection->bytes);
	if (last && (uintptr_t)last->iov_base + last->iov_len == address) {
		last->iov_len += fitting;
	} else if (collection->count < collection->max_count) {
		collection->iov[collection->count++] =
			(struct iovec){ (void *)address, fitting };
	} else {
		return 0;
	}
	collection->bytes += fitting;
	return fitting;
}

/* The run of a piece that holds packed byte @offset of the operation: what is left of it. */
struct rest_of_run {
	int64_t disp;
	uint64_t bytes;
};

/* In a table the search goes on from @entry, the one of the run before. */
static struct rest_of_run run_at(const struct dtc_program *program, const struct dtc_op *op,
				 uint64_t offset, uint64_t *entry)
{
	if (op->kind == DTC_OP_RUN)
		return (struct rest_of_run){(int64_t)offset, op->bytes - offset};
	if (op->kind == DTC_OP_STRIP) {
		uint64_t run = offset / op->unit_bytes;
		uint64_t inside = offset % op->unit_bytes;

		return (struct rest_of_run){(int64_t)run * op->stride + (int64_t)inside,
					    op->unit_bytes - inside};
	}
	const struct dtc_table *table = dtc_program_table(program, op);
	*entry = dtc_table_find(table, offset, *entry);
	uint64_t inside = offset - dtc_table_prefix(table, *entry);

	return (struct rest_of_run){dtc_table_disp(table, *entry) + (int64_t)inside,
				    dtc_table_prefix(table, *entry + 1) - offset};
}

/* Collect the runs of one piece; false if a limit ended it. */
static bool collect_piece(struct collection *collection, const struct dtc_program *program,
			  const struct dtc_piece *piece)
{
	uint64_t offset = piece->offset;
	uint64_t end = piece->offset + piece->bytes;
	uint64_t entry = piece->entry;

	while (offset < end) {
		struct rest_of_run run = run_at(program, piece->op, offset, &entry);
		uint64_t bytes = DTC_MIN(run.bytes, end - offset);
		uint64_t taken =
			collect(collection, piece->base + piece->op->disp + run.disp, bytes);

		offset += taken;
		if (taken < bytes)
			return false;
	}
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
					.max_bytes = max_bytes,
					.user = convertor->user};
	uint64_t start = cursor->position;
	struct dtc_piece piece;
	bool more = max_iov && max_bytes;

	int status = dtc_convertor_check_idle(convertor, __func__);
	if (status)
		return status;
	if (convertor->typed || convertor->checksum.on)
		return DTC_FAIL(
			convertor->type->context, DTCONV_ERR_UNSUPPORTED,
			"%s: blocks of memory are exported as they are, without the "
			"representation, operation or checksum of this convertor",
			__func__);
	while (more && collection.bytes < max_bytes &&
	       dtc_cursor_next(cursor, max_bytes - collection.bytes, false, &piece))
		more = collect_piece(&collection, cursor->program, &piece);
	/* The last piece may have been left half way. */
	if (cursor->position != start + collection.bytes)
		dtc_cursor_seek(cursor, start + collection.bytes);
	*iov_count = collection.count;
	*moved = collection.bytes;
	return 0;
}
