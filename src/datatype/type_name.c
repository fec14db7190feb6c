/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What users attach to types: a name and a pointer. A name is never changed or freed while its type
 * exists, so any thread may read it without a lock.
 */
#include "config.h"

#include <string.h>

#include "base/context.h"
#include "base/log.h"
#include "predefined.h"
#include "type.h"

struct dtc_type_name {
	struct dtc_type_name *older;
	char text[];
};

int dtconv_type_set_name(struct dtconv_type *type, const char *name)
{
	if (!type || !name)
		return DTCONV_ERR_INVAL;
	size_t bytes = strlen(name) + 1;
	struct dtc_type_name *made = dtc_alloc(type->context, sizeof(*made) + bytes);

	if (!made)
		return DTC_FAIL(type->context, DTCONV_ERR_NOMEM,
				"%s: cannot allocate %zu bytes for the name", __func__,
				sizeof(*made) + bytes);
	memcpy(made->text, name, bytes);
	made->older = atomic_load_explicit(&type->name, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(&type->name, &made->older, made,
						      memory_order_acq_rel,
						      memory_order_acquire))
		;
	return 0;
}

const char *dtconv_type_name(const struct dtconv_type *type)
{
	if (!type)
		return NULL;
	struct dtconv_type *shared = (struct dtconv_type *)type;
	const struct dtc_type_name *name =
		atomic_load_explicit(&shared->name, memory_order_acquire);

	if (name)
		return name->text;
	return type->combiner == DTCONV_COMBINER_NAMED
		       ? dtc_predefined_name(type->predefined)
		       : "";
}

void dtc_type_drop_names(struct dtconv_type *type)
{
	struct dtc_type_name *name =
		atomic_load_explicit(&type->name, memory_order_acquire);

	while (name) {
		struct dtc_type_name *older = name->older;

		dtc_free(type->context, name);
		name = older;
	}
}

int dtconv_type_set_user(struct dtconv_type *type, void *user)
{
	if (!type)
		return DTCONV_ERR_INVAL;
	atomic_store_explicit(&type->user, user, memory_order_release);
	return 0;
}

void *dtconv_type_user(const struct dtconv_type *type)
{
	if (!type)
		return NULL;
	return atomic_load_explicit(&((struct dtconv_type *)type)->user,
				    memory_order_acquire);
}
