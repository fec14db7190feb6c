/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A convertor's life: binding, position, clone.
 */
#include "config.h"

#include "convertor.h"

#include <string.h>

#include "base/base.h"
#include "base/checked.h"
#include "base/context.h"
#include "base/log.h"
#include "copy_backends/allowed.h"

bool dtc_convertor_is_too_long(const struct dtc_bounds *bounds, size_t count)
{
	ptrdiff_t last, edge;
	size_t size;

	if (dtc_mul_size(count, bounds->size, &size))
		return true;
	return size && (dtc_scale_disp(count - 1, dtc_bounds_extent(bounds), &last) ||
			dtc_add_disp(last, bounds->true_lb, &edge) ||
			dtc_add_disp(last, bounds->true_ub, &edge));
}

/* Whether instances can be moved at all. */
static inline int check_stream(const struct dtconv_type *type, size_t count,
			       const char *caller, const char *argument)
{
	if (DTC_UNLIKELY(!dtc_type_layout(type)))
		return DTC_FAIL(type->context, DTCONV_ERR_STATE, "%s: %s is not committed",
				caller, argument);
	if (DTC_UNLIKELY(dtc_convertor_is_too_long(&type->bounds, count)))
		return DTC_FAIL(type->context, DTCONV_ERR_OVERFLOW,
				"%s: count x size or extent of %s = %zu x (%zu or %td) overflows",
				caller, argument, count, type->bounds.size,
				dtc_bounds_extent(&type->bounds));
	return 0;
}

int dtc_convertor_aim(struct dtc_cursor *cursor, const struct dtconv_type *type,
		      size_t count, const char *caller, const char *argument)
{
	int status = check_stream(type, count, caller, argument);

	if (!status)
		dtc_cursor_init(cursor, dtc_type_layout(type), count);
	return status;
}

int dtc_convertor_check_idle(const struct dtconv_convertor *convertor, const char *caller)
{
	if (DTC_LIKELY(!convertor->operation.in_flight))
		return 0;
	return DTC_FAIL(convertor->type->context, DTCONV_ERR_STATE,
			"%s: an operation is in flight; test or wait for it first", caller);
}

/* The mover of a stream as the convertor is now; see the member. */
static const struct dtc_mover *mover_of(const struct dtconv_convertor *convertor)
{
	if (convertor->count != 1 || convertor->typed || convertor->checksum.on ||
	    convertor->operation.in_flight || (convertor->placement.forbidden & DTC_HOST_BIT))
		return NULL;
	return convertor->cursor.layout->mover;
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
	int status = dtc_convertor_aim(&created->cursor, type, count, caller,
				       "type (argument 1)");
	if (status) {
		dtc_free(type->context, created);
		return status;
	}
	created->type = dtconv_type_ref(type);
	created->count = count;
	created->user = buffer;
	created->direction = direction;
	created->operation = (struct dtc_operation){.in_flight = false};
	created->typed = NULL;
	created->checksum = (struct dtc_checksum){ .on = false };
	created->placement = (struct dtc_placement){ .user = DTCONV_MEMORY_UNKNOWN };
	created->row = (struct dtc_row){ .bytes = 0 };
	created->mover = mover_of(created);
	*convertor = created;
	return 0;
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

/* Off the way of calls that bind the same type again. */
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
	status = check_stream(type, count, caller, "type (argument 2)");
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
	convertor->mover = mover_of(convertor);
	return 0;
}

/* The same stream out of another buffer, which is what most calls are; false if it is anything else. */
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

/* ---- what else it does --------------------------------------------------------------- */

/* What the caller gave, with the defaults of what an older caller does not know. */
static int read_params(struct dtconv_context *context, const struct dtconv_convertor_params *given,
		       const char *caller, struct dtconv_convertor_params *params)
{
	*params = (struct dtconv_convertor_params){ .struct_size = sizeof(*params) };
	if (!given)
		return 0;
	if (given->struct_size == 0)
		return DTC_FAIL(context, DTCONV_ERR_INVAL,
				"%s: params.struct_size is 0, not sizeof(struct "
				"dtconv_convertor_params)",
				caller);
	memcpy(params, given, DTC_MIN(given->struct_size, sizeof(*params)));
	return 0;
}

static int check_operation(struct dtconv_context *context,
			   const struct dtconv_convertor_params *params, const char *caller)
{
	if (params->op == DTCONV_OP_USER && !params->op_fn)
		return DTC_FAIL(context, DTCONV_ERR_INVAL,
				"%s: params.op is user, but params.op_fn is NULL",
				caller);
	if (params->op != DTCONV_OP_USER && params->op_fn)
		return DTC_FAIL(context, DTCONV_ERR_INVAL,
				"%s: params.op_fn is set, but params.op is not user",
				caller);
	return 0;
}

static int check_kind(struct dtconv_context *context, enum dtconv_memory_kind kind,
		      const char *member, const char *caller)
{
	if ((unsigned)kind <= DTCONV_MEMORY_DEVICE)
		return 0;
	return DTC_FAIL(context, DTCONV_ERR_INVAL,
			"%s: params.%s is %d, not a value of enum dtconv_memory_kind",
			caller, member, (int)kind);
}

static int check_backends(struct dtconv_context *context,
			  const struct dtconv_convertor_params *params, const char *caller)
{
	dtc_backend_set forbidden;
	const char *wrong;

	if (!params->backends || dtc_allowed_parse(params->backends, &forbidden, &wrong))
		return 0;
	return DTC_FAIL(context, DTCONV_ERR_INVAL,
			"%s: params.backends is '%.60s', with an unknown backend at "
			"'%.40s'; 'dtconv info' lists those of this build",
			caller, params->backends, wrong);
}

static int check_params(struct dtconv_context *context,
			const struct dtconv_convertor_params *params, const char *caller)
{
	const unsigned known = DTCONV_CONVERTOR_CRC32C | DTCONV_CONVERTOR_STREAM;
	int status = 0;

	if (params->flags & ~known)
		return DTC_FAIL(context, DTCONV_ERR_INVAL,
				"%s: params.flags has unknown bits: 0x%x", caller,
				params->flags);
	if (params->stream && !(params->flags & DTCONV_CONVERTOR_STREAM))
		status = DTC_FAIL(context, DTCONV_ERR_INVAL,
				  "%s: params.stream is set, but params.flags lacks "
				  "DTCONV_CONVERTOR_STREAM",
				  caller);
	if (!status)
		status = check_kind(context, params->user_memory, "user_memory", caller);
	if (!status)
		status = check_kind(context, params->packed_memory, "packed_memory", caller);
	if (!status)
		status = check_backends(context, params, caller);
	return status ? status : check_operation(context, params, caller);
}

/* Of a list that has been checked. */
static dtc_backend_set forbidden_of(const struct dtconv_convertor_params *params)
{
	dtc_backend_set forbidden = 0;
	const char *wrong;

	if (params->backends)
		(void)dtc_allowed_parse(params->backends, &forbidden, &wrong);
	return forbidden;
}

static struct dtc_placement placement_of(const struct dtconv_convertor_params *params)
{
	return (struct dtc_placement){ .user = params->user_memory,
				       .packed = params->packed_memory,
				       .on_stream = params->flags & DTCONV_CONVERTOR_STREAM,
				       .stream = params->stream,
				       .forbidden = forbidden_of(params) };
}

int dtc_convertor_configure(struct dtconv_convertor *convertor,
			    const struct dtconv_convertor_params *params,
			    const char *caller)
{
	struct dtconv_context *context = convertor->type->context;
	struct dtconv_convertor_params all;
	struct dtc_typed *typed;

	int status = read_params(context, params, caller, &all);
	if (!status)
		status = check_params(context, &all, caller);
	if (!status)
		status = dtc_typed_create(convertor->type, convertor->count, &all, caller,
					  &typed);
	if (status)
		return status;
	dtc_typed_destroy(convertor->typed);
	convertor->typed = typed;
	convertor->checksum.on = all.flags & DTCONV_CONVERTOR_CRC32C;
	convertor->placement = placement_of(&all);
	dtc_checksum_reset(&convertor->checksum);
	dtc_cursor_seek(&convertor->cursor, 0);
	convertor->mover = mover_of(convertor);
	return 0;
}

int dtconv_convertor_configure(struct dtconv_convertor *convertor,
			       const struct dtconv_convertor_params *params)
{
	if (!convertor)
		return DTCONV_ERR_INVAL;
	int status = dtc_convertor_check_idle(convertor, __func__);

	return status ? status : dtc_convertor_configure(convertor, params, __func__);
}

int dtconv_convertor_crc32c(const struct dtconv_convertor *convertor, uint32_t *crc)
{
	if (!convertor || !crc)
		return DTCONV_ERR_INVAL;
	int status = dtc_convertor_check_idle(convertor, __func__);

	if (status)
		return status;
	if (!convertor->checksum.on)
		return DTC_FAIL(convertor->type->context, DTCONV_ERR_STATE,
				"%s: the convertor was not configured to keep a checksum",
				__func__);
	*crc = dtc_checksum_value(&convertor->checksum);
	return 0;
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
		copy->operation = (struct dtc_operation){ .in_flight = false };
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

void dtconv_convertor_destroy(struct dtconv_convertor *convertor)
{
	if (!convertor)
		return;
	struct dtconv_type *type = convertor->type;

	if (convertor->operation.in_flight) {
		(void)dtc_device_wait(&convertor->operation.event);
		if (convertor->checksum.on)
			(void)dtc_device_wait(&convertor->summing.event);
	}
	dtc_typed_destroy(convertor->typed);
	dtc_free(type->context, convertor);
	dtconv_type_unref(type);
}

int dtconv_convertor_query(const struct dtconv_convertor *convertor,
			   struct dtconv_convertor_attr *attr)
{
	if (!convertor || !attr)
		return DTCONV_ERR_INVAL;
	const struct dtc_operation *operation = &convertor->operation;
	/* Host memory is copied by start, but the position advances at completion. */
	size_t ahead = operation->in_flight ? operation->moved : 0;
	struct dtconv_convertor_attr all = {
		.struct_size = attr->struct_size,
		.size = dtc_convertor_size(convertor),
		.position = dtc_convertor_position(convertor) - ahead,
		.in_flight = operation->in_flight,
		.held = convertor->typed ? dtc_held_bytes(&convertor->typed->held) : 0,
	};

	if (attr->struct_size == 0)
		return DTC_FAIL(convertor->type->context, DTCONV_ERR_INVAL,
				"%s: attr.struct_size is 0, not sizeof(struct "
				"dtconv_convertor_attr)",
				__func__);
	memcpy(attr, &all, DTC_MIN(attr->struct_size, sizeof(all)));
	return 0;
}

int dtconv_convertor_seek(struct dtconv_convertor *convertor, size_t position)
{
	if (!convertor)
		return DTCONV_ERR_INVAL;
	int status = dtc_convertor_check_idle(convertor, __func__);

	if (status)
		return status;
	if (position > dtc_convertor_size(convertor))
		return DTC_FAIL(
			convertor->type->context, DTCONV_ERR_INVAL,
			"%s: position (argument 2) is %zu, past the stream's end at %zu",
			__func__, position, dtc_convertor_size(convertor));
	if (convertor->typed)
		dtc_typed_seek(convertor->typed, position);
	else
		dtc_cursor_seek(&convertor->cursor, position);
	return 0;
}
