/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Creates, binds, clones and destroys convertors.
 */
#include "config.h"

#include "convertor.h"

#include <string.h>

#include "base/base.h"
#include "base/context.h"
#include "base/log.h"
#include "copy_backends/backend_set.h"
#include "device_move.h"
#include "packed_stream.h"

int dtc_convertor_check_idle(const struct dtconv_convertor *convertor, const char *caller)
{
	if (DTC_LIKELY(dtc_convertor_is_idle(convertor)))
		return 0;
	return DTC_FAIL(convertor->type->context, DTCONV_ERR_STATE,
			"%s: an operation is in flight; test or wait for it first", caller);
}

const struct dtc_mover *dtc_convertor_stream_mover(
	const struct dtconv_convertor *convertor)
{
	if (convertor->count != 1 || convertor->typed || convertor->checksum.on ||
	    (convertor->placement.forbidden & DTC_HOST_BIT))
		return NULL;
	return convertor->cursor.layout->mover;
}

const struct dtc_mover *dtc_convertor_mover(const struct dtconv_convertor *convertor)
{
	return dtc_convertor_is_idle(convertor) ? dtc_convertor_stream_mover(convertor)
						: NULL;
}

int dtc_convertor_init(struct dtconv_convertor *place, struct dtconv_type *type,
		       size_t count, char *buffer, enum dtc_direction direction,
		       const char *caller, const char *argument)
{
	int status =
		dtc_packed_stream_begin(&place->cursor, type, count, caller, argument);

	if (status)
		return status;
	place->type = dtconv_type_ref(type);
	place->count = count;
	place->user = buffer;
	place->direction = direction;
	place->in_place = false;
	place->request = (struct dtc_request){ .in_flight = false };
	place->flights = 0;
	place->must_stage = NULL;
	place->in_flight = NULL;
	atomic_init(&place->holds, 1);
	place->typed = NULL;
	place->checksum = (struct dtc_checksum){ .on = false };
	place->placement = (struct dtc_placement){ .user = DTCONV_MEMORY_UNKNOWN };
	place->row = (struct dtc_row){ .bytes = 0 };
	place->mover = dtc_convertor_mover(place);
	return 0;
}

int dtc_convertor_create(struct dtconv_type *type, size_t count, char *buffer,
			 enum dtc_direction direction, const char *caller,
			 struct dtconv_convertor **convertor)
{
	struct dtconv_convertor *created = dtc_alloc(type->context, sizeof(*created));

	if (!created)
		return DTC_FAIL(type->context, DTCONV_ERR_NOMEM,
				"%s: cannot allocate %zu bytes", caller,
				sizeof(*created));
	int status = dtc_convertor_init(created, type, count, buffer, direction, caller,
					"type (argument 1)");
	if (status)
		dtc_free(type->context, created);
	else
		*convertor = created;
	return status;
}

int dtconv_convertor_create_pack(struct dtconv_type *type, size_t count, const void *buffer,
				 struct dtconv_convertor **convertor)
{
	if (!type || !convertor)
		return DTCONV_ERR_INVAL;
	/* A packing convertor only reads through the pointer. */
	return dtc_convertor_create(type, count, (char *)(uintptr_t)buffer, DTC_PACK,
				    __func__, convertor);
}

int dtconv_convertor_create_unpack(struct dtconv_type *type, size_t count, void *buffer,
				   struct dtconv_convertor **convertor)
{
	if (!type || !convertor)
		return DTCONV_ERR_INVAL;
	return dtc_convertor_create(type, count, buffer, DTC_UNPACK, __func__, convertor);
}

/* Not inlined into calls that bind the same type again. */
static DTC_NOINLINE int rebind(struct dtconv_convertor *convertor, struct dtconv_type *type,
			       size_t count, char *buffer, enum dtc_direction direction,
			       const char *caller)
{
	int status = dtc_convertor_check_idle(convertor, caller);

	if (status)
		return status;
	if (type->context != convertor->type->context)
		return DTC_FAIL(convertor->type->context, DTCONV_ERR_INVAL,
				"%s: the type (argument 2) was made in another context",
				caller);
	status = dtc_packed_stream_check(type, count, caller, "type (argument 2)");
	if (!status && convertor->typed)
		status = dtc_typed_rebind(convertor->typed, type, count, caller);
	if (status)
		return status;
	dtc_cursor_init(&convertor->cursor, dtc_type_layout(type), count);
	if (convertor->checksum.on)
		dtc_checksum_reset(&convertor->checksum);
	if (type != convertor->type) {
		dtconv_type_ref(type);
		dtconv_type_unref(convertor->type);
		convertor->type = type;
	}
	convertor->count = count;
	convertor->user = buffer;
	convertor->direction = direction;
	convertor->must_stage = NULL;
	convertor->mover = dtc_convertor_mover(convertor);
	return 0;
}

/* The fast path: same type and count, another buffer. False if the call is anything else. */
static inline bool rebind_buffer(struct dtconv_convertor *convertor,
				 const struct dtconv_type *type, size_t count, char *buffer,
				 enum dtc_direction direction)
{
	if (!convertor->mover || type != convertor->type || count != 1)
		return false;
	convertor->cursor.position = 0;
	convertor->cursor.begun = false;
	convertor->user = buffer;
	convertor->direction = direction;
	convertor->must_stage = NULL;
	return true;
}

int dtconv_convertor_rebind_pack(struct dtconv_convertor *convertor, struct dtconv_type *type,
				 size_t count, const void *buffer)
{
	if (!convertor || !type)
		return DTCONV_ERR_INVAL;
	char *user = (char *)(uintptr_t)buffer;

	if (rebind_buffer(convertor, type, count, user, DTC_PACK))
		return 0;
	return rebind(convertor, type, count, user, DTC_PACK, __func__);
}

int dtconv_convertor_rebind_unpack(struct dtconv_convertor *convertor,
				   struct dtconv_type *type, size_t count, void *buffer)
{
	if (!convertor || !type)
		return DTCONV_ERR_INVAL;
	if (rebind_buffer(convertor, type, count, buffer, DTC_UNPACK))
		return 0;
	return rebind(convertor, type, count, buffer, DTC_UNPACK, __func__);
}

/* ---- clone --------------------------------------------------------------------------- */

int dtconv_convertor_clone(const struct dtconv_convertor *convertor,
			   struct dtconv_convertor **clone)
{
	if (!convertor || !clone)
		return DTCONV_ERR_INVAL;
	struct dtconv_context *context = convertor->type->context;
	struct dtconv_convertor *copy;

	int status = dtc_convertor_check_idle(convertor, __func__);
	if (status)
		return status;
	copy = dtc_alloc(context, sizeof(*copy));
	if (copy) {
		copy->request = (struct dtc_request){ .in_flight = false };
		copy->flights = 0;
		copy->must_stage = convertor->must_stage;
		copy->in_flight = NULL;
		atomic_init(&copy->holds, 1);
		copy->in_place = false;
		copy->typed = NULL;
		copy->type = dtconv_type_ref(convertor->type);
	}
	if (!copy ||
	    (convertor->typed && dtc_typed_clone(convertor->typed, &copy->typed))) {
		dtconv_convertor_destroy(copy);
		return DTC_FAIL(context, DTCONV_ERR_NOMEM,
				"%s: cannot allocate a convertor for the clone",
				__func__);
	}
	copy->count = convertor->count;
	copy->user = convertor->user;
	copy->direction = convertor->direction;
	copy->checksum = convertor->checksum;
	copy->placement = convertor->placement;
	copy->row = (struct dtc_row){ .bytes = 0 };
	copy->mover = convertor->mover;
	dtc_cursor_copy(&copy->cursor, &convertor->cursor);
	*clone = copy;
	return 0;
}

/* Wait for what devices still move. Those flights keep their status, which is all that is asked of them later. */
static void end_flights(struct dtconv_convertor *convertor)
{
	for (struct dtc_flight *flight = convertor->in_flight; flight;
	     flight = flight->next) {
		int moved = dtc_device_wait(&flight->event);
		int summed = dtc_device_wait(&flight->checksum.event);

		flight->status = moved ? moved : summed;
		if (flight->status)
			flight->moved = 0;
	}
}

static void free_convertor(struct dtconv_convertor *convertor)
{
	struct dtconv_type *type = convertor->type;

	end_flights(convertor);
	dtc_typed_destroy(convertor->typed);
	if (!convertor->in_place)
		dtc_free(type->context, convertor);
	dtconv_type_unref(type);
}

void dtc_convertor_release(struct dtconv_convertor *convertor)
{
	convertor->mover = dtc_convertor_stream_mover(convertor);
	if (atomic_fetch_sub(&convertor->holds, 1) == 1)
		free_convertor(convertor);
}

void dtconv_convertor_destroy(struct dtconv_convertor *convertor)
{
	if (!convertor)
		return;
	if (convertor->in_place && atomic_load(&convertor->holds) > 1)
		DTC_LOG(convertor->type->context, DTCONV_LOG_ERROR,
			"%s: an operation that is not done uses the convertor; its storage must stay "
			"until it is",
			__func__);
	if (atomic_fetch_sub(&convertor->holds, 1) == 1)
		free_convertor(convertor);
}
