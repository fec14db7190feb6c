/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A convertor's life: binding, position, clone.
 */
#include "config.h"

#include "convertor.h"

#include <string.h>

#include "base.h"
#include "checked.h"
#include "context.h"
#include "log.h"

/* Whether the stream's length leaves size_t, or a place in the last instance ptrdiff_t. */
static bool is_too_long(const struct dtc_bounds *bounds, size_t count)
{
	ptrdiff_t last, edge;
	size_t size;

	if (dtc_mul_size(count, bounds->size, &size))
		return true;
	return size && (dtc_scale_disp(count - 1, dtc_bounds_extent(bounds), &last) ||
			dtc_add_disp(last, bounds->true_lb, &edge) ||
			dtc_add_disp(last, bounds->true_ub, &edge));
}

int dtc_convertor_aim(struct dtc_cursor *cursor, const struct dtconv_type *type, size_t count,
		      const char *caller, const char *argument)
{
	const struct dtc_layout *layout = dtc_type_layout(type);

	if (DTC_UNLIKELY(!layout))
		return DTC_FAIL(type->context, DTCONV_ERR_STATE, "%s: %s is not committed",
				caller, argument);
	if (DTC_UNLIKELY(is_too_long(&type->bounds, count)))
		return DTC_FAIL(type->context, DTCONV_ERR_OVERFLOW,
				"%s: count x size or extent of %s = %zu x (%zu or %td) overflows",
				caller, argument, count, type->bounds.size,
				dtc_bounds_extent(&type->bounds));
	dtc_cursor_init(cursor, layout, count);
	return 0;
}

int dtc_convertor_check_idle(const struct dtconv_convertor *convertor, const char *caller)
{
	if (DTC_LIKELY(!convertor->operation.in_flight))
		return 0;
	return DTC_FAIL(convertor->type->context, DTCONV_ERR_STATE,
			"%s: an operation is in flight; test or wait for it first", caller);
}

static int create(struct dtconv_type *type, size_t count, char *buffer,
		  enum dtc_direction direction, const char *caller,
		  struct dtconv_convertor **convertor)
{
	struct dtconv_convertor *created = dtc_alloc(type->context, sizeof(*created));

	if (!created)
		return DTC_FAIL(type->context, DTCONV_ERR_NOMEM,
				"%s: the allocator gave no memory for %zu bytes", caller,
				sizeof(*created));
	int status = dtc_convertor_aim(&created->cursor, type, count, caller,
				       "type (argument 1)");
	if (status) {
		dtc_free(type->context, created);
		return status;
	}
	created->type = dtconv_type_ref(type);
	created->user = buffer;
	created->direction = direction;
	created->operation = (struct dtc_operation){.in_flight = false};
	*convertor = created;
	return 0;
}

int dtconv_convertor_create_pack(struct dtconv_type *type, size_t count, const void *buffer,
				 struct dtconv_convertor **convertor)
{
	if (!type || !convertor)
		return DTCONV_ERR_INVAL;
	/* A packing convertor only reads through the pointer. */
	return create(type, count, (char *)(uintptr_t)buffer, DTC_PACK, __func__, convertor);
}

int dtconv_convertor_create_unpack(struct dtconv_type *type, size_t count, void *buffer,
				   struct dtconv_convertor **convertor)
{
	if (!type || !convertor)
		return DTCONV_ERR_INVAL;
	return create(type, count, buffer, DTC_UNPACK, __func__, convertor);
}

static int rebind(struct dtconv_convertor *convertor, struct dtconv_type *type, size_t count,
		  char *buffer, enum dtc_direction direction, const char *caller)
{
	int status = dtc_convertor_check_idle(convertor, caller);

	if (status)
		return status;
	if (type->context != convertor->type->context)
		return DTC_FAIL(convertor->type->context, DTCONV_ERR_INVAL,
				"%s: the type (argument 2) was made in another context",
				caller);
	status = dtc_convertor_aim(&convertor->cursor, type, count, caller,
				   "type (argument 2)");
	if (status)
		return status;
	if (type != convertor->type) {
		dtconv_type_ref(type);
		dtconv_type_unref(convertor->type);
		convertor->type = type;
	}
	convertor->user = buffer;
	convertor->direction = direction;
	return 0;
}

int dtconv_convertor_rebind_pack(struct dtconv_convertor *convertor, struct dtconv_type *type,
				 size_t count, const void *buffer)
{
	if (!convertor || !type)
		return DTCONV_ERR_INVAL;
	return rebind(convertor, type, count, (char *)(uintptr_t)buffer, DTC_PACK, __func__);
}

int dtconv_convertor_rebind_unpack(struct dtconv_convertor *convertor,
				   struct dtconv_type *type, size_t count, void *buffer)
{
	if (!convertor || !type)
		return DTCONV_ERR_INVAL;
	return rebind(convertor, type, count, buffer, DTC_UNPACK, __func__);
}

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
	if (!copy)
		return DTC_FAIL(context, DTCONV_ERR_NOMEM,
				"%s: the allocator gave no memory for %zu bytes", __func__,
				sizeof(*copy));
	copy->type = dtconv_type_ref(convertor->type);
	copy->user = convertor->user;
	copy->direction = convertor->direction;
	copy->operation = (struct dtc_operation){.in_flight = false};
	dtc_cursor_copy(&copy->cursor, &convertor->cursor);
	*clone = copy;
	return 0;
}

void dtconv_convertor_destroy(struct dtconv_convertor *convertor)
{
	if (!convertor)
		return;
	struct dtconv_type *type = convertor->type;

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
		.size = (size_t)convertor->cursor.size,
		.position = (size_t)convertor->cursor.position - ahead,
		.in_flight = operation->in_flight,
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
	if (position > convertor->cursor.size)
		return DTC_FAIL(convertor->type->context, DTCONV_ERR_INVAL,
				"%s: position (argument 2) is %zu, past the stream's end at %zu",
				__func__, position, (size_t)convertor->cursor.size);
	dtc_cursor_seek(&convertor->cursor, position);
	return 0;
}
