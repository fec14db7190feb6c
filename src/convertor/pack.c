/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One-shot calls. Pack and unpack share one path; the direction is an argument. Whole instances in host
 * memory need neither a cursor nor a plan.
 */
#include "config.h"

#include "advance.h"

#include "base/base.h"
#include "base/checked.h"
#include "base/context.h"
#include "base/log.h"
#include "copy_backends/backend_set.h"
#include "copy_backends/mover.h"
#include "datatype/type.h"
#include "native_move.h"
#include "packed_stream.h"
#include "parallel.h"
#include "params.h"

/* Dense instances are one copy, even if the stream ends inside one. */
static inline size_t move_dense(const struct dtc_layout *layout, size_t size, char *user, char *packed,
				size_t bytes, enum dtc_direction direction)
{
	size = DTC_MIN(size, bytes);
	user = (char *)((uintptr_t)user + (uintptr_t)layout->program->ops[0].disp);
	if (direction == DTC_PACK)
		dtc_cpu_run(layout->program->context->cpu, packed, user, size);
	else
		dtc_cpu_run(layout->program->context->cpu, user, packed, size);
	return size;
}

/* The fast path: one instance of a layout that has a mover. False for anything else, errors included. */
static inline bool move_instance(const struct dtconv_type *type, size_t count, char *user,
				 char *packed, size_t bytes, enum dtc_direction direction,
				 size_t *moved)
{
	const struct dtc_layout *layout = dtc_type_layout(type);
	const struct dtc_mover *mover = layout ? layout->mover : NULL;

	if (DTC_UNLIKELY(!mover) || count != 1 ||
	    !dtc_has_room(direction, bytes, mover->bytes) ||
	    !dtc_memory_is_ordinary(type->context, user, packed))
		return false;
	if (moved)
		*moved = mover->bytes;
	dtc_mover_move(mover, user, packed, direction);
	dtc_count_host_call(type->context, direction, mover->bytes);
	return true;
}

/*
 * Several whole instances that are dense or have a mover. False if the call is anything else, errors
 * included.
 */
static DTC_NOINLINE bool move_instances(const struct dtconv_type *type, size_t count, char *user, char *packed,
			   size_t bytes, enum dtc_direction direction, size_t *moved)
{
	const struct dtc_layout *layout = dtc_type_layout(type);
	const uint64_t stream_bytes = type->context->tuning.stream_bytes;
	size_t size;

	if (!layout || (!layout->dense && !layout->mover) ||
	    dtc_mul_size(count, type->bounds.size, &size) ||
	    (direction == DTC_PACK ? bytes < size : bytes > size) ||
	    (count > 1 && dtc_bounds_are_too_many(&type->bounds, count)))
		return false;
	if (dtc_is_host_forbidden(type->context, 0) || size >= stream_bytes ||
	    dtc_parallel_is_worth(type->context, size) ||
	    !dtc_memory_is_ordinary(type->context, user, packed))
		return false;
	if (layout->dense)
		size = move_dense(layout, size, user, packed, bytes, direction);
	else if (bytes < size || !size ||
		 !dtc_mover_move_many(layout->mover, count, user, packed, direction))
		return false;
	dtc_count_host_call(type->context, direction, size);
	if (moved)
		*moved = size;
	return true;
}

/* Fail with TRUNCATE if the stream is longer than the packed buffer, or shorter than the bytes given. */
static int check_room(const struct dtconv_type *type, enum dtc_direction direction,
		      size_t bytes, size_t size, const char *caller)
{
	if (direction == DTC_PACK && bytes < size)
		return DTC_FAIL(
			type->context, DTCONV_ERR_TRUNCATE,
			"%s: capacity (argument 5) is %zu bytes, but the packed stream has %zu",
			caller, bytes, size);
	if (direction == DTC_UNPACK && bytes > size)
		return DTC_FAIL(
			type->context, DTCONV_ERR_TRUNCATE,
			"%s: bytes (argument 5) is %zu, but the type and count have room for %zu",
			caller, bytes, size);
	return 0;
}

static DTC_NOINLINE int move_whole(struct dtconv_type *type, size_t count, char *user,
				   char *packed, size_t bytes,
				   enum dtc_direction direction,
				   const struct dtc_placement *placement, size_t *moved,
				   const char *caller)
{
	struct dtc_cursor cursor;
	size_t done = 0;

	int status = dtc_packed_stream_begin(&cursor, type, count, caller,
					     "type (argument 1)");
	if (!status) {
		const struct dtc_move move = { .context = type->context,
					       .cursor = &cursor,
					       .bounds = &type->bounds,
					       .type = type,
					       .user = user,
					       .packed = packed,
					       .bytes = DTC_MIN(bytes,
								(size_t)cursor.size),
					       .direction = direction,
					       .placement = *placement,
					       .caller = caller };

		status = dtc_native_move(&move, &done);
		dtc_count_call(type->context, direction, done);
	}
	if (moved)
		*moved = done;
	if (status)
		return status;
	return check_room(type, direction, bytes, (size_t)cursor.size, caller);
}

/* In memory that is not known to be the host's; what has been said of it is in @placement. */
static inline int move_one_shot(struct dtconv_type *type, size_t count, char *user,
				char *packed, size_t bytes, enum dtc_direction direction,
				const struct dtc_placement *placement, size_t *moved,
				const char *caller)
{
	if (move_instance(type, count, user, packed, bytes, direction, moved) ||
	    move_instances(type, count, user, packed, bytes, direction, moved))
		return 0;
	return move_whole(type, count, user, packed, bytes, direction, placement, moved,
			  caller);
}

static const struct dtc_placement nowhere = { .user = DTCONV_MEMORY_UNKNOWN };

int dtconv_pack(struct dtconv_type *type, size_t count, const void *buffer, void *packed,
		size_t capacity, size_t *moved)
{
	if (!type)
		return DTCONV_ERR_INVAL;
	return move_one_shot(type, count, (char *)(uintptr_t)buffer, packed, capacity,
			     DTC_PACK, &nowhere, moved, __func__);
}

int dtconv_unpack(struct dtconv_type *type, size_t count, void *buffer, const void *packed,
		  size_t bytes, size_t *moved)
{
	if (!type)
		return DTCONV_ERR_INVAL;
	return move_one_shot(type, count, buffer, (char *)(uintptr_t)packed, bytes,
			     DTC_UNPACK, &nowhere, moved, __func__);
}

/* ---- part of a stream ---------------------------------------------------------------------- */

static int refuse_position(const struct dtconv_type *type, size_t position, size_t size,
			   const char *caller)
{
	return DTC_FAIL(type->context, DTCONV_ERR_INVAL,
			"%s: position (argument 4) is %zu, past the stream's end at %zu",
			caller, position, size);
}

static DTC_NOINLINE int move_range(struct dtconv_type *type, size_t count, char *user,
				   size_t position, char *packed, size_t bytes,
				   enum dtc_direction direction, size_t *moved,
				   const char *caller)
{
	struct dtc_cursor cursor;

	int status = dtc_packed_stream_begin(&cursor, type, count, caller,
					     "type (argument 1)");
	if (!status && position > cursor.size)
		status = refuse_position(type, position, (size_t)cursor.size, caller);
	if (status)
		return status;
	dtc_cursor_seek(&cursor, position);
	const size_t left = (size_t)cursor.size - position;
	const struct dtc_move move = { .context = type->context,
				       .cursor = &cursor,
				       .bounds = &type->bounds,
				       .type = type,
				       .user = user,
				       .packed = packed,
				       .bytes = DTC_MIN(bytes, left),
				       .direction = direction,
				       .caller = caller };

	status = dtc_native_move(&move, moved);
	dtc_count_call(type->context, direction, *moved);
	if (status || direction == DTC_PACK || bytes <= left)
		return status;
	return DTC_FAIL(type->context, DTCONV_ERR_TRUNCATE,
			"%s: bytes (argument 6) is %zu, but only %zu bytes of the stream "
			"follow the position",
			caller, bytes, left);
}

static inline int move_at(struct dtconv_type *type, size_t count, char *user,
			  size_t position, char *packed, size_t bytes,
			  enum dtc_direction direction, size_t *moved, const char *caller)
{
	size_t done = 0;
	int status = 0;

	if (position ||
	    !move_instance(type, count, user, packed, bytes, direction, &done))
		status = move_range(type, count, user, position, packed, bytes, direction,
				    &done, caller);
	if (moved)
		*moved = done;
	return status;
}

int dtconv_pack_at(struct dtconv_type *type, size_t count, const void *buffer,
		   size_t position, void *packed, size_t capacity, size_t *moved)
{
	if (!type)
		return DTCONV_ERR_INVAL;
	return move_at(type, count, (char *)(uintptr_t)buffer, position, packed, capacity,
		       DTC_PACK, moved, __func__);
}

int dtconv_unpack_at(struct dtconv_type *type, size_t count, void *buffer,
		     size_t position, const void *packed, size_t bytes, size_t *moved)
{
	if (!type)
		return DTCONV_ERR_INVAL;
	return move_at(type, count, buffer, position, (char *)(uintptr_t)packed, bytes,
		       DTC_UNPACK, moved, __func__);
}

/* ---- in a stream --------------------------------------------------------------------------- */

int dtconv_pack_on_stream(struct dtconv_type *type, size_t count, const void *buffer,
			  void *packed, size_t capacity, void *stream, size_t *moved)
{
	const struct dtc_placement placement = { .on_stream = true, .stream = stream };

	if (!type)
		return DTCONV_ERR_INVAL;
	return move_one_shot(type, count, (char *)(uintptr_t)buffer, packed, capacity,
			     DTC_PACK, &placement, moved, __func__);
}

int dtconv_unpack_on_stream(struct dtconv_type *type, size_t count, void *buffer,
			    const void *packed, size_t bytes, void *stream, size_t *moved)
{
	const struct dtc_placement placement = { .on_stream = true, .stream = stream };

	if (!type)
		return DTCONV_ERR_INVAL;
	return move_one_shot(type, count, buffer, (char *)(uintptr_t)packed, bytes,
			     DTC_UNPACK, &placement, moved, __func__);
}

/* ---- with a representation, an operation or a checksum ------------------------------------- */

static int move_with(struct dtconv_convertor *convertor, char *packed, size_t bytes,
		     const struct dtconv_convertor_params *params, size_t *moved,
		     const char *caller)
{
	size_t done = 0;
	int status = dtc_convertor_configure(convertor, params, caller);

	if (!status)
		status = dtc_advance(convertor, packed, bytes, &done, caller);
	if (moved)
		*moved = done;
	if (status)
		return status;
	return check_room(convertor->type, convertor->direction, bytes,
			  dtc_convertor_size(convertor), caller);
}

int dtconv_pack_with(struct dtconv_type *type, size_t count, const void *buffer,
		     void *packed, size_t capacity,
		     const struct dtconv_convertor_params *params, size_t *moved)
{
	struct dtconv_convertor *convertor;

	if (!type)
		return DTCONV_ERR_INVAL;
	if (moved)
		*moved = 0;
	int status = dtc_convertor_create(type, count, (char *)(uintptr_t)buffer,
					  DTC_PACK, __func__, &convertor);
	if (status)
		return status;
	status = move_with(convertor, packed, capacity, params, moved, __func__);
	dtconv_convertor_destroy(convertor);
	return status;
}

int dtconv_unpack_with(struct dtconv_type *type, size_t count, void *buffer,
		       const void *packed, size_t bytes,
		       const struct dtconv_convertor_params *params, size_t *moved)
{
	struct dtconv_convertor *convertor;

	if (!type)
		return DTCONV_ERR_INVAL;
	if (moved)
		*moved = 0;
	int status = dtc_convertor_create(type, count, buffer, DTC_UNPACK, __func__,
					  &convertor);
	if (status)
		return status;
	status = move_with(convertor, (char *)(uintptr_t)packed, bytes, params, moved,
			   __func__);
	dtconv_convertor_destroy(convertor);
	return status;
}
