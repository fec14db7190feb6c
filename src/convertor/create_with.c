/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Creates convertors with their options in one call, in the library's memory or in the caller's.
 */
#include "config.h"

#include "convertor.h"

#include "base/base.h"
#include "base/log.h"
#include "params.h"

/* Return a new convertor with its options, or destroy it. */
static int configure(struct dtconv_convertor *created,
		     const struct dtconv_convertor_params *params, const char *caller,
		     struct dtconv_convertor **convertor)
{
	int status = params ? dtc_convertor_configure(created, params, caller) : 0;

	if (status)
		dtconv_convertor_destroy(created);
	else
		*convertor = created;
	return status;
}

static int create_with(struct dtconv_type *type, size_t count, char *buffer,
		       enum dtc_direction direction,
		       const struct dtconv_convertor_params *params, const char *caller,
		       struct dtconv_convertor **convertor)
{
	struct dtconv_convertor *created;
	int status =
		dtc_convertor_create(type, count, buffer, direction, caller, &created);

	return status ? status : configure(created, params, caller, convertor);
}

int dtconv_convertor_create_pack_with(struct dtconv_type *type, size_t count,
				      const void *buffer,
				      const struct dtconv_convertor_params *params,
				      struct dtconv_convertor **convertor)
{
	if (!type || !convertor)
		return DTCONV_ERR_INVAL;
	return create_with(type, count, (char *)(uintptr_t)buffer, DTC_PACK, params,
			   __func__, convertor);
}

int dtconv_convertor_create_unpack_with(struct dtconv_type *type, size_t count,
					void *buffer,
					const struct dtconv_convertor_params *params,
					struct dtconv_convertor **convertor)
{
	if (!type || !convertor)
		return DTCONV_ERR_INVAL;
	return create_with(type, count, buffer, DTC_UNPACK, params, __func__, convertor);
}

/* ---- in storage of the caller's ------------------------------------------------------ */

_Static_assert(sizeof(struct dtconv_convertor) <= DTCONV_CONVERTOR_STORAGE,
	       "convertors outgrow what the interface promises");
_Static_assert(_Alignof(struct dtconv_convertor) <= DTCONV_CONVERTOR_ALIGNMENT,
	       "convertors need a stricter alignment than the interface promises");

size_t dtconv_convertor_storage_bytes(void)
{
	return sizeof(struct dtconv_convertor);
}

static int init_in_place(void *storage, size_t storage_bytes, struct dtconv_type *type,
			 size_t count, char *buffer, enum dtc_direction direction,
			 const struct dtconv_convertor_params *params, const char *caller,
			 struct dtconv_convertor **convertor)
{
	struct dtconv_convertor *place = storage;

	if (storage_bytes < sizeof(*place))
		return DTC_FAIL(type->context, DTCONV_ERR_INVAL,
				"%s: storage_bytes (argument 2) is %zu, but a convertor "
				"needs %zu",
				caller, storage_bytes, sizeof(*place));
	if ((uintptr_t)storage % DTCONV_CONVERTOR_ALIGNMENT)
		return DTC_FAIL(type->context, DTCONV_ERR_INVAL,
				"%s: storage (argument 1) is not aligned to %d bytes",
				caller, DTCONV_CONVERTOR_ALIGNMENT);
	int status = dtc_convertor_init(place, type, count, buffer, direction, caller,
					"type (argument 3)");
	if (status)
		return status;
	place->in_place = true;
	return configure(place, params, caller, convertor);
}

int dtconv_convertor_init_pack(void *storage, size_t storage_bytes,
			       struct dtconv_type *type, size_t count, const void *buffer,
			       const struct dtconv_convertor_params *params,
			       struct dtconv_convertor **convertor)
{
	if (!storage || !type || !convertor)
		return DTCONV_ERR_INVAL;
	return init_in_place(storage, storage_bytes, type, count,
			     (char *)(uintptr_t)buffer, DTC_PACK, params, __func__,
			     convertor);
}

int dtconv_convertor_init_unpack(void *storage, size_t storage_bytes,
				 struct dtconv_type *type, size_t count, void *buffer,
				 const struct dtconv_convertor_params *params,
				 struct dtconv_convertor **convertor)
{
	if (!storage || !type || !convertor)
		return DTCONV_ERR_INVAL;
	return init_in_place(storage, storage_bytes, type, count, buffer, DTC_UNPACK,
			     params, __func__, convertor);
}
