/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dtconv_convertor_pack and dtconv_convertor_unpack: whole streams by the layout's mover, fragments by
 * advance.c. The same with packed memory in several buffers.
 */
#include "config.h"

#include "advance.h"

#include "base/base.h"
#include "base/context.h"
#include "base/log.h"
#include "copy_backends/backend_set.h"
#include "copy_backends/mover.h"
#include "native_move.h"
#include "packed_iov.h"
#include "parallel.h"

static int check_direction(const struct dtconv_convertor *convertor,
			   enum dtc_direction direction, const char *caller)
{
	if (DTC_LIKELY(convertor->direction == direction))
		return 0;
	return DTC_FAIL(convertor->type->context, DTCONV_ERR_STATE,
			"%s: the convertor is bound to %s", caller,
			direction == DTC_PACK ? "unpack" : "pack");
}

static int move_fragment(struct dtconv_convertor *convertor, char *packed, size_t bytes,
			 enum dtc_direction direction, size_t *moved, const char *caller)
{
	int status = dtc_convertor_check_idle(convertor, caller);

	if (!status)
		status = check_direction(convertor, direction, caller);
	if (status) {
		*moved = 0;
		return status;
	}
	return dtc_advance(convertor, packed, bytes, moved, caller);
}

/*
 * The fast path: the whole stream by the layout's mover. False if the call is anything else, errors
 * included.
 */
static inline bool move_stream(struct dtconv_convertor *convertor, char *packed,
			       size_t bytes, enum dtc_direction direction, size_t *moved)
{
	struct dtc_cursor *cursor = &convertor->cursor;
	const struct dtc_mover *mover = convertor->mover;

	if (!mover || cursor->position || !dtc_has_room(direction, bytes, mover->bytes) ||
	    convertor->direction != direction ||
	    !dtc_move_is_on_host(convertor->type->context, &convertor->placement,
				 convertor->user, packed))
		return false;
	dtc_cursor_finish(cursor);
	*moved = mover->bytes;
	dtc_mover_move(mover, convertor->user, packed, direction);
	dtc_count_host_call(convertor->type->context, direction, mover->bytes);
	return true;
}

/* The same for several instances. */
static bool move_streams(struct dtconv_convertor *convertor, char *packed, size_t bytes,
			 enum dtc_direction direction, size_t *moved)
{
	struct dtc_cursor *cursor = &convertor->cursor;
	const struct dtc_layout *layout = cursor->layout;
	struct dtconv_context *context = convertor->type->context;

	if (cursor->position || bytes < cursor->size || !cursor->size ||
	    convertor->typed || dtc_parallel_is_worth(context, (size_t)cursor->size) ||
	    cursor->size >= context->tuning.stream_bytes || convertor->checksum.on ||
	    !dtc_convertor_is_idle(convertor) || convertor->direction != direction ||
	    !layout->mover || (convertor->placement.forbidden & DTC_HOST_BIT) ||
	    !dtc_move_is_on_host(convertor->type->context, &convertor->placement,
				 convertor->user, packed) ||
	    !dtc_mover_move_many(layout->mover, (size_t)cursor->count, convertor->user,
				 packed, direction))
		return false;
	dtc_cursor_finish(cursor);
	*moved = (size_t)cursor->size;
	dtc_count_host_call(context, direction, *moved);
	return true;
}

/* Not inlined into the fast path. */
static DTC_NOINLINE int pack_fragment(struct dtconv_convertor *convertor, char *packed,
				      size_t capacity, size_t *moved)
{
	if (move_streams(convertor, packed, capacity, DTC_PACK, moved))
		return 0;
	return move_fragment(convertor, packed, capacity, DTC_PACK, moved,
			     "dtconv_convertor_pack");
}

static DTC_NOINLINE int unpack_fragment(struct dtconv_convertor *convertor, char *packed,
					size_t bytes, size_t *moved)
{
	static const char caller[] = "dtconv_convertor_unpack";
	int status = 0;

	if (!move_streams(convertor, packed, bytes, DTC_UNPACK, moved))
		status = move_fragment(convertor, packed, bytes, DTC_UNPACK, moved,
				       caller);
	if (!status && *moved < bytes)
		return dtc_advance_surplus(convertor, bytes, *moved, caller);
	return status;
}

int dtconv_convertor_pack(struct dtconv_convertor *convertor, void *packed,
			  size_t capacity, size_t *moved)
{
	if (!convertor || !moved)
		return DTCONV_ERR_INVAL;
	if (move_stream(convertor, packed, capacity, DTC_PACK, moved))
		return 0;
	return pack_fragment(convertor, packed, capacity, moved);
}

int dtconv_convertor_unpack(struct dtconv_convertor *convertor, const void *packed,
			    size_t bytes, size_t *moved)
{
	if (!convertor || !moved)
		return DTCONV_ERR_INVAL;
	char *stream = (char *)(uintptr_t)packed;

	if (move_stream(convertor, stream, bytes, DTC_UNPACK, moved))
		return 0;
	return unpack_fragment(convertor, stream, bytes, moved);
}

/* ---- packed memory in several buffers ---------------------------------------------------------- */

static int move_entries(struct dtconv_convertor *convertor, const struct iovec iov[],
			size_t iov_count, enum dtc_direction direction, size_t *moved,
			const char *caller)
{
	size_t some = 0;
	int status = dtc_convertor_check_idle(convertor, caller);

	*moved = 0;
	if (!status)
		status = check_direction(convertor, direction, caller);
	for (size_t i = 0; i < iov_count && !status; i++) {
		if (!iov[i].iov_len)
			continue;
		status = dtc_advance(convertor, iov[i].iov_base, iov[i].iov_len, &some,
				     caller);
		*moved += some;
		if (some < iov[i].iov_len)
			break;
	}
	return status;
}

int dtconv_convertor_pack_iov(struct dtconv_convertor *convertor,
			      const struct iovec iov[], size_t iov_count, size_t *moved)
{
	if (!convertor || !moved)
		return DTCONV_ERR_INVAL;
	return move_entries(convertor, iov, iov_count, DTC_PACK, moved, __func__);
}

int dtconv_convertor_unpack_iov(struct dtconv_convertor *convertor,
				const struct iovec iov[], size_t iov_count, size_t *moved)
{
	if (!convertor || !moved)
		return DTCONV_ERR_INVAL;
	const size_t bytes = dtc_iov_bytes(iov, iov_count);
	int status = move_entries(convertor, iov, iov_count, DTC_UNPACK, moved, __func__);

	if (status || *moved == bytes)
		return status;
	return DTC_FAIL(convertor->type->context, DTCONV_ERR_TRUNCATE,
			"%s: iov (argument 2) has %zu bytes, but only %zu bytes of the "
			"stream were left",
			__func__, bytes, *moved);
}
