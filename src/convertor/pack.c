/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moving bytes: one-shot calls, fragments and started operations. Pack and unpack are one path with a
 * direction.
 */
#include "config.h"

#include "convertor.h"

#include "base/base.h"
#include "base/checked.h"
#include "base/context.h"
#include "base/log.h"
#include "copy_backends/allowed.h"
#include "copy_backends/mover.h"
#include "copy_backends/plan.h"
#include "copy_backends/tally.h"
#include "datatype/type.h"
#include "device.h"
#include "parallel.h"
#include "typed_device.h"

void dtc_convertor_count_call(struct dtconv_context *context,
			      enum dtc_direction direction, size_t bytes)
{
	bool pack = direction == DTC_PACK;

	dtc_context_count(context, pack ? DTC_COUNT_PACK_CALLS : DTC_COUNT_UNPACK_CALLS, 1);
	dtc_context_count(context, pack ? DTC_COUNT_PACK_BYTES : DTC_COUNT_UNPACK_BYTES,
			  bytes);
}

/* A call that the processor answered without asking the planner. */
static inline void count_host_call(struct dtconv_context *context, enum dtc_direction direction,
				   size_t bytes)
{
	if (DTC_LIKELY(!context->counting))
		return;
	dtc_convertor_count_call(context, direction, bytes);
	dtc_tally_job(context, DTC_HOST_PLACE, bytes);
}

int dtc_convertor_move(struct dtc_cursor *cursor, char *user, char *packed, size_t bytes,
		       enum dtc_direction direction, size_t *moved)
{
	uint64_t before = cursor->position;
	const struct dtc_job job = { .cursor = cursor,
				     .user = user,
				     .packed = packed,
				     .bytes = DTC_MIN(bytes, cursor->size - before),
				     .row_bytes = DTC_MIN(bytes, cursor->size - before),
				     .direction = direction };

	struct dtc_event none;
	int status = dtc_host_backend.submit(&job, &none);
	*moved = (size_t)(cursor->position - before);
	return status;
}

int dtc_convertor_move_on_host(const struct dtc_move *move, size_t *moved)
{
	*moved = 0;
	if (DTC_UNLIKELY(
		    dtc_is_host_forbidden(move->context, move->placement.forbidden)) &&
	    move->bytes)
		return dtc_plan_refuse_host(move->context, move->placement.forbidden,
					    move->caller);
	const struct dtc_job job = { .cursor = move->cursor,
				     .user = move->user,
				     .packed = move->packed,
				     .bytes = move->bytes,
				     .row_bytes = dtc_move_row(move),
				     .direction = move->direction };
	struct dtc_event none;
	int status = 0;

	if (DTC_LIKELY(!dtc_parallel_is_worth(move->context, move->bytes)) ||
	    !dtc_parallel_move(move->context, &job))
		status = dtc_host_backend.submit(&job, &none);
	*moved = status ? 0 : move->bytes;
	dtc_tally_job(move->context, DTC_HOST_PLACE, *moved);
	return status;
}

/* Bytes as they are, wherever they lie. */
static inline int move_native(const struct dtc_move *move, size_t *moved)
{
	if (DTC_LIKELY(dtc_device_is_needless(move->context, &move->placement, move->user,
					      move->packed)))
		return dtc_convertor_move_on_host(move, moved);
	return dtc_device_move(move, moved);
}

/* ---- one-shot calls ------------------------------------------------------------------------ */

/* Instances without gaps are one copy, also if the stream ends inside one. */
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

/* Whether a stream of @size bytes is whole and fits. */
static inline bool has_room(enum dtc_direction direction, size_t bytes, size_t size)
{
	return direction == DTC_PACK ? bytes >= size : bytes == size;
}

/* One instance of a layout that has a mover; false if the call is anything else, errors included. */
static inline bool move_instance(const struct dtconv_type *type, size_t count, char *user,
				 char *packed, size_t bytes, enum dtc_direction direction,
				 size_t *moved)
{
	const struct dtc_layout *layout = dtc_type_layout(type);
	const struct dtc_mover *mover = layout ? layout->mover : NULL;

	if (DTC_UNLIKELY(!mover) || count != 1 || !has_room(direction, bytes, mover->bytes) ||
	    !dtc_memory_is_ordinary(type->context, user, packed))
		return false;
	if (moved)
		*moved = mover->bytes;
	dtc_mover_move(mover, user, packed, direction);
	count_host_call(type->context, direction, mover->bytes);
	return true;
}

/*
 * Whole instances that are dense or have a mover need neither cursor nor plan. Answers false if the
 * call is anything else, errors included.
 */
static DTC_NOINLINE bool move_instances(const struct dtconv_type *type, size_t count, char *user, char *packed,
			   size_t bytes, enum dtc_direction direction, size_t *moved)
{
	const struct dtc_layout *layout = dtc_type_layout(type);
	const uint64_t stream_bytes = type->context->tuning.stream_bytes;
	size_t size;

	if (!layout || dtc_mul_size(count, type->bounds.size, &size) ||
	    (direction == DTC_PACK ? bytes < size : bytes > size) ||
	    (count > 1 && dtc_convertor_is_too_long(&type->bounds, count)))
		return false;
	if (dtc_is_host_forbidden(type->context, 0) || size >= stream_bytes ||
	    dtc_parallel_is_worth(type->context, size) ||
	    !dtc_memory_is_ordinary(type->context, user, packed))
		return false;
	if (layout->dense)
		size = move_dense(layout, size, user, packed, bytes, direction);
	else if (bytes < size || !size || !layout->mover ||
		 !dtc_mover_move_many(layout->mover, count, user, packed, direction))
		return false;
	count_host_call(type->context, direction, size);
	if (moved)
		*moved = size;
	return true;
}

/* What a one-shot call says to a stream that is too short or too long. */
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

static DTC_NOINLINE int move_whole(struct dtconv_type *type, size_t count, char *user, char *packed,
		      size_t bytes, enum dtc_direction direction, size_t *moved,
		      const char *caller)
{
	struct dtc_cursor cursor;
	size_t done = 0;

	int status =
		dtc_convertor_aim(&cursor, type, count, caller, "type (argument 1)");
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
					       .caller = caller };

		status = move_native(&move, &done);
		dtc_convertor_count_call(type->context, direction, done);
	}
	if (moved)
		*moved = done;
	if (status)
		return status;
	return check_room(type, direction, bytes, (size_t)cursor.size, caller);
}

int dtconv_pack(struct dtconv_type *type, size_t count, const void *buffer, void *packed,
		size_t capacity, size_t *moved)
{
	if (!type)
		return DTCONV_ERR_INVAL;
	char *user = (char *)(uintptr_t)buffer;

	if (move_instance(type, count, user, packed, capacity, DTC_PACK, moved) ||
	    move_instances(type, count, user, packed, capacity, DTC_PACK, moved))
		return 0;
	return move_whole(type, count, user, packed, capacity, DTC_PACK, moved, __func__);
}

int dtconv_unpack(struct dtconv_type *type, size_t count, void *buffer, const void *packed,
		  size_t bytes, size_t *moved)
{
	if (!type)
		return DTCONV_ERR_INVAL;
	char *stream = (char *)(uintptr_t)packed;

	if (move_instance(type, count, buffer, stream, bytes, DTC_UNPACK, moved) ||
	    move_instances(type, count, buffer, stream, bytes, DTC_UNPACK, moved))
		return 0;
	return move_whole(type, count, buffer, stream, bytes, DTC_UNPACK, moved, __func__);
}

/* ---- with a representation, an operation or a checksum ------------------------------------- */

/* A checksum is taken of what has just moved, while it is in the cache. */
#define CHECKSUM_BYTES 16384

static int move_typed_on_host(struct dtconv_convertor *convertor, char *packed,
			      size_t bytes, size_t *moved, const char *caller)
{
	const struct dtc_typed_move move = { .cursor = &convertor->cursor,
					     .user = convertor->user,
					     .packed = packed,
					     .bytes = bytes,
					     .caller = caller };

	int status = convertor->direction == DTC_PACK
			     ? dtc_typed_pack(convertor->typed, &move, moved)
			     : dtc_typed_unpack(convertor->typed, &move, moved);
	dtc_tally_job(convertor->type->context, DTC_HOST_PLACE, *moved);
	return status;
}

/* Go on with the row of packed memory, or begin one; answers what there was before. */
static inline size_t extend_row(struct dtc_row *row, const char *packed, size_t bytes)
{
	size_t before = (uintptr_t)packed == row->end ? row->bytes : 0;

	row->end = (uintptr_t)packed + bytes;
	row->bytes = before + bytes;
	return before;
}

/* The next bytes of the stream. */
static inline struct dtc_move next_move(struct dtconv_convertor *convertor, char *packed,
					size_t bytes, const char *caller)
{
	struct dtc_cursor *cursor = &convertor->cursor;
	size_t left = dtc_convertor_size(convertor) - dtc_convertor_position(convertor);

	bytes = DTC_MIN(bytes, left);
	return (struct dtc_move){ .context = convertor->type->context,
				  .cursor = cursor,
				  .bounds = &convertor->type->bounds,
				  .type = convertor->type,
				  .user = convertor->user,
				  .packed = packed,
				  .bytes = bytes,
				  .row_before =
					  extend_row(&convertor->row, packed, bytes),
				  .direction = convertor->direction,
				  .placement = convertor->placement,
				  .caller = caller };
}

static inline bool is_on_host(const struct dtconv_convertor *convertor,
			      const char *packed)
{
	return dtc_device_is_needless(convertor->type->context, &convertor->placement,
				      convertor->user, packed);
}

static int move_typed(struct dtconv_convertor *convertor, char *packed, size_t bytes,
		      size_t *moved, const char *caller)
{
	if (DTC_LIKELY(is_on_host(convertor, packed)))
		return move_typed_on_host(convertor, packed, bytes, moved, caller);
	const struct dtc_move move = next_move(convertor, packed, bytes, caller);

	return dtc_typed_device_move(convertor->typed, &move, moved);
}

static int move_some(struct dtconv_convertor *convertor, char *packed, size_t bytes,
		     size_t *moved, const char *caller)
{
	if (DTC_UNLIKELY(convertor->typed))
		return move_typed(convertor, packed, bytes, moved, caller);
	const struct dtc_move move = next_move(convertor, packed, bytes, caller);

	return move_native(&move, moved);
}

static int check_reach(const struct dtconv_convertor *convertor, const char *packed,
		       const char *caller)
{
	struct dtconv_context *context = convertor->type->context;

	if (!convertor->typed && !convertor->checksum.on)
		return 0;
	if (is_on_host(convertor, packed) &&
	    dtc_is_host_forbidden(context, convertor->placement.forbidden))
		return dtc_plan_refuse_host(context, convertor->placement.forbidden, caller);
	return 0;
}

static int move_checked(struct dtconv_convertor *convertor, char *packed, size_t bytes,
			size_t *moved, const char *caller)
{
	size_t some = 1;
	int status = 0;

	*moved = 0;
	while (!status && some && *moved < bytes) {
		size_t position = dtc_convertor_position(convertor);

		status = move_some(convertor, packed + *moved,
				   DTC_MIN(bytes - *moved, (size_t)CHECKSUM_BYTES), &some,
				   caller);
		dtc_checksum_add(&convertor->checksum, position, packed + *moved, some);
		*moved += some;
	}
	return status;
}

static void open_summing(struct dtconv_convertor *convertor)
{
	if (convertor->checksum.on)
		convertor->summing =
			(struct dtc_summing){ .checksum = &convertor->checksum,
					      .before = convertor->checksum };
}

static void seek_back(struct dtconv_convertor *convertor, size_t bytes)
{
	uint64_t start = dtc_convertor_position(convertor) - bytes;

	if (convertor->typed)
		dtc_typed_seek(convertor->typed, start);
	else
		dtc_cursor_seek(&convertor->cursor, start);
}

/* Start what a device does, and the checksum of what it moves; without the one not the other. */
static int start_far(struct dtconv_convertor *convertor, const struct dtc_move *move,
		     struct dtc_event *event, size_t *moved)
{
	uint64_t position = dtc_convertor_position(convertor);
	int status = convertor->typed ? dtc_typed_device_start(convertor->typed, move,
							       event, moved)
				      : dtc_device_start(move, event, moved);

	if (!convertor->checksum.on)
		return status;
	int summed = dtc_summing_start(&convertor->summing, move, move->packed, position,
				       *moved, event);
	if (summed) {
		(void)dtc_device_wait(event);
		dtc_summing_undo(&convertor->summing);
		seek_back(convertor, *moved);
		*moved = 0;
	}
	return summed ? summed : status;
}

/* Nothing is in flight after. */
static int wait_far(struct dtconv_convertor *convertor, struct dtc_event *event)
{
	int status = dtc_device_wait(event);

	if (!status && convertor->checksum.on)
		status = dtc_device_wait(&convertor->summing.event);
	return status;
}

/* What of a checksum was in flight counts, or nothing of the whole call does. */
static void close_summing(struct dtconv_convertor *convertor, int status)
{
	if (!convertor->checksum.on)
		return;
	if (status)
		dtc_summing_undo(&convertor->summing);
	else
		dtc_summing_finish(&convertor->summing);
}

static int move_far_checked(struct dtconv_convertor *convertor, char *packed,
			    size_t bytes, size_t *moved, const char *caller)
{
	const struct dtc_move move = next_move(convertor, packed, bytes, caller);
	struct dtc_event event;

	open_summing(convertor);
	int started = start_far(convertor, &move, &event, moved);
	int status = wait_far(convertor, &event);
	close_summing(convertor, status);
	if (status) {
		seek_back(convertor, *moved);
		*moved = 0;
	}
	return status ? status : started;
}

/* Move the next fragment, whatever the convertor does with it. */
static int move_next(struct dtconv_convertor *convertor, char *packed, size_t bytes,
		     size_t *moved, const char *caller)
{
	int status = check_reach(convertor, packed, caller);

	*moved = 0;
	if (!status && DTC_UNLIKELY(convertor->checksum.on))
		status = is_on_host(convertor, packed)
				 ? move_checked(convertor, packed, bytes, moved, caller)
				 : move_far_checked(convertor, packed, bytes, moved,
						    caller);
	else if (!status)
		status = move_some(convertor, packed, bytes, moved, caller);

	dtc_convertor_count_call(convertor->type->context, convertor->direction, *moved);
	return status;
}

static int move_with(struct dtconv_convertor *convertor, char *packed, size_t bytes,
		     const struct dtconv_convertor_params *params, size_t *moved,
		     const char *caller)
{
	size_t done = 0;
	int status = dtc_convertor_configure(convertor, params, caller);

	if (!status)
		status = move_next(convertor, packed, bytes, &done, caller);
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

/* ---- fragments ----------------------------------------------------------------------------- */

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
	return move_next(convertor, packed, bytes, moved, caller);
}

/*
 * The whole stream of a convertor that does nothing else, by its layout's mover; false if it is
 * anything else, errors included.
 */
static inline bool move_stream(struct dtconv_convertor *convertor, char *packed, size_t bytes,
			       enum dtc_direction direction, size_t *moved)
{
	struct dtc_cursor *cursor = &convertor->cursor;
	const struct dtc_mover *mover = convertor->mover;

	if (!mover || cursor->position || !has_room(direction, bytes, mover->bytes) ||
	    convertor->direction != direction ||
	    !dtc_device_is_needless(convertor->type->context, &convertor->placement,
				    convertor->user, packed))
		return false;
	dtc_cursor_finish(cursor);
	*moved = mover->bytes;
	dtc_mover_move(mover, convertor->user, packed, direction);
	count_host_call(convertor->type->context, direction, mover->bytes);
	return true;
}

/* The same for several instances, which have no mover but their layout's. */
static bool move_streams(struct dtconv_convertor *convertor, char *packed, size_t bytes,
			 enum dtc_direction direction, size_t *moved)
{
	struct dtc_cursor *cursor = &convertor->cursor;
	const struct dtc_layout *layout = cursor->layout;
	struct dtconv_context *context = convertor->type->context;

	if (cursor->position || bytes < cursor->size || !cursor->size || convertor->typed ||
	    dtc_parallel_is_worth(context, (size_t)cursor->size) ||
	    cursor->size >= context->tuning.stream_bytes || convertor->checksum.on ||
	    convertor->operation.in_flight || convertor->direction != direction ||
	    !layout->mover || (convertor->placement.forbidden & DTC_HOST_BIT) ||
	    !dtc_device_is_needless(convertor->type->context, &convertor->placement,
				    convertor->user, packed) ||
	    !dtc_mover_move_many(layout->mover, (size_t)cursor->count, convertor->user, packed,
				 direction))
		return false;
	dtc_cursor_finish(cursor);
	*moved = (size_t)cursor->size;
	count_host_call(context, direction, *moved);
	return true;
}

static int surplus(const struct dtconv_convertor *convertor, size_t bytes, size_t moved,
		   const char *caller)
{
	return DTC_FAIL(convertor->type->context, DTCONV_ERR_TRUNCATE,
			"%s: bytes (argument 3) is %zu, but only %zu bytes of the stream "
			"were left",
			caller, bytes, moved);
}

/* Off the way of whole streams that have a mover. */
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
		status = move_fragment(convertor, packed, bytes, DTC_UNPACK, moved, caller);
	if (!status && *moved < bytes)
		return surplus(convertor, bytes, *moved, caller);
	return status;
}

int dtconv_convertor_pack(struct dtconv_convertor *convertor, void *packed, size_t capacity,
			  size_t *moved)
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

/* ---- started operations -------------------------------------------------------------------- */

/* Start what a device does; what the processor does, it does at once. */
static int start_next(struct dtconv_convertor *convertor, char *packed, size_t bytes,
		      const char *caller)
{
	struct dtc_operation *operation = &convertor->operation;

	open_summing(convertor);
	if (is_on_host(convertor, packed))
		return move_next(convertor, packed, bytes, &operation->moved, caller);
	struct dtc_move move = next_move(convertor, packed, bytes, caller);

	move.started = true;
	int status = start_far(convertor, &move, &operation->event, &operation->moved);

	dtc_convertor_count_call(convertor->type->context, convertor->direction,
				 operation->moved);
	return status;
}

int dtconv_convertor_start(struct dtconv_convertor *convertor, void *packed, size_t bytes,
			   dtconv_done_fn done, void *arg)
{
	if (!convertor)
		return DTCONV_ERR_INVAL;
	struct dtc_operation *operation = &convertor->operation;

	int status = dtc_convertor_check_idle(convertor, __func__);
	if (status)
		return status;
	*operation = (struct dtc_operation){.in_flight = true, .done = done, .arg = arg};
	convertor->mover = NULL;
	operation->status = start_next(convertor, packed, bytes, __func__);
	if (!operation->status && convertor->direction == DTC_UNPACK && operation->moved < bytes)
		operation->status = surplus(convertor, bytes, operation->moved, __func__);
	return 0;
}

/* The bytes of a job that failed do not count, and the position goes back before them. */
static void undo(struct dtconv_convertor *convertor)
{
	seek_back(convertor, convertor->operation.moved);
	convertor->operation.moved = 0;
}

static int complete(struct dtconv_convertor *convertor, int status, size_t *moved)
{
	struct dtc_operation *operation = &convertor->operation;

	operation->event.backend = NULL;
	close_summing(convertor, status);
	if (status) {
		operation->status = status;
		undo(convertor);
	}
	operation->in_flight = false;
	if (operation->done)
		operation->done(operation->arg, operation->status, operation->moved);
	if (moved)
		*moved = operation->moved;
	return operation->status;
}

static int check_started(const struct dtconv_convertor *convertor, const char *caller)
{
	if (convertor->operation.in_flight)
		return 0;
	return DTC_FAIL(convertor->type->context, DTCONV_ERR_STATE, "%s: no operation was started",
			caller);
}

static int test_event(struct dtc_event *event)
{
	int status = event->backend ? event->backend->test(event) : 0;

	if (status != DTCONV_INPROGRESS)
		event->backend = NULL;
	return status;
}

/* Host memory is copied by the time start returns, so the first test finds it done. */
int dtconv_convertor_test(struct dtconv_convertor *convertor, size_t *moved)
{
	if (!convertor)
		return DTCONV_ERR_INVAL;
	int status = check_started(convertor, __func__);

	if (status)
		return status;
	status = test_event(&convertor->operation.event);
	if (!status && convertor->checksum.on)
		status = test_event(&convertor->summing.event);
	return status == DTCONV_INPROGRESS ? status : complete(convertor, status, moved);
}

int dtconv_convertor_wait(struct dtconv_convertor *convertor, size_t *moved)
{
	if (!convertor)
		return DTCONV_ERR_INVAL;
	int status = check_started(convertor, __func__);

	if (status)
		return status;
	return complete(convertor, wait_far(convertor, &convertor->operation.event),
			moved);
}
