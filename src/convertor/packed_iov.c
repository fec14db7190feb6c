/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One-shot calls whose packed memory is several buffers: one move for each, with one cursor.
 */
#include "config.h"

#include "packed_iov.h"

#include <dtconv/convertor.h>

#include "base/base.h"
#include "base/log.h"
#include "copy_backends/counters.h"
#include "datatype/type.h"
#include "native_move.h"
#include "packed_stream.h"

struct one_shot {
	struct dtconv_type *type;
	char *user;
	enum dtc_direction direction;
	const char *caller;
};

/* Move the bytes of one entry, as many as the stream has left. */
static int move_entry(const struct one_shot *call, struct dtc_cursor *cursor,
		      const struct iovec *entry, size_t *moved)
{
	const size_t left = (size_t)(cursor->size - cursor->position);
	const struct dtc_move move = { .context = call->type->context,
				       .cursor = cursor,
				       .bounds = &call->type->bounds,
				       .type = call->type,
				       .user = call->user,
				       .packed = entry->iov_base,
				       .bytes = DTC_MIN(entry->iov_len, left),
				       .direction = call->direction,
				       .caller = call->caller };

	return dtc_native_move(&move, moved);
}

size_t dtc_iov_bytes(const struct iovec iov[], size_t iov_count)
{
	size_t bytes = 0;

	for (size_t i = 0; i < iov_count; i++)
		if (__builtin_add_overflow(bytes, iov[i].iov_len, &bytes))
			return SIZE_MAX;
	return bytes;
}

static int check_room(const struct one_shot *call, const struct iovec iov[],
		      size_t iov_count, size_t size)
{
	const size_t bytes = dtc_iov_bytes(iov, iov_count);

	if (call->direction == DTC_PACK && bytes < size)
		return DTC_FAIL(
			call->type->context, DTCONV_ERR_TRUNCATE,
			"%s: iov (argument 4) has room for %zu bytes, but the packed "
			"stream has %zu",
			call->caller, bytes, size);
	if (call->direction == DTC_UNPACK && bytes > size)
		return DTC_FAIL(
			call->type->context, DTCONV_ERR_TRUNCATE,
			"%s: iov (argument 4) has %zu bytes, but the type and count "
			"have room for %zu",
			call->caller, bytes, size);
	return 0;
}

static int move_entries(const struct one_shot *call, size_t count,
			const struct iovec iov[], size_t iov_count, size_t *moved)
{
	struct dtc_cursor cursor;
	size_t some, done = 0;

	int status = dtc_packed_stream_begin(&cursor, call->type, count, call->caller,
					     "type (argument 1)");
	for (size_t i = 0; i < iov_count && !status; i++) {
		if (!iov[i].iov_len)
			continue;
		status = move_entry(call, &cursor, &iov[i], &some);
		done += some;
		if (cursor.position == cursor.size)
			break;
	}
	dtc_count_call(call->type->context, call->direction, done);
	if (moved)
		*moved = done;
	return status ? status : check_room(call, iov, iov_count, (size_t)cursor.size);
}

int dtconv_pack_iov(struct dtconv_type *type, size_t count, const void *buffer,
		    const struct iovec iov[], size_t iov_count, size_t *moved)
{
	const struct one_shot call = { type, (char *)(uintptr_t)buffer, DTC_PACK,
				       __func__ };

	if (!type)
		return DTCONV_ERR_INVAL;
	return move_entries(&call, count, iov, iov_count, moved);
}

int dtconv_unpack_iov(struct dtconv_type *type, size_t count, void *buffer,
		      const struct iovec iov[], size_t iov_count, size_t *moved)
{
	const struct one_shot call = { type, buffer, DTC_UNPACK, __func__ };

	if (!type)
		return DTCONV_ERR_INVAL;
	return move_entries(&call, count, iov, iov_count, moved);
}
