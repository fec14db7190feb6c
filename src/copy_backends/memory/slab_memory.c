/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Passes slabs to the vendor whose driver is in the process.
 */
#include "config.h"

#include "slab_memory.h"

#include <dtconv/status.h>

#include "base/context.h"
#include "memory.h"
#include "vendor.h"

/* The first vendor whose driver is usable. */
static const struct dtc_vendor_ops *vendor_of(struct dtconv_context *context)
{
	if (context->devices.none || !dtc_memory_has_driver(context))
		return NULL;
	for (size_t i = 0; dtc_vendors[i]; i++)
		if (dtc_vendors[i]->find_driver(context) > 0)
			return dtc_vendors[i];
	return NULL;
}

int dtc_slab_memory_pin(struct dtconv_context *context, struct dtc_slab_memory *memory)
{
	const struct dtc_vendor_ops *vendor = vendor_of(context);
	int status = vendor ? vendor->pin_slab(context, memory) : DTCONV_ERR_UNSUPPORTED;

	memory->vendor = status ? NULL : vendor;
	return status;
}

bool dtc_slab_memory_unpin(struct dtc_slab_memory *memory)
{
	const struct dtc_vendor_ops *vendor = memory->vendor;

	memory->vendor = NULL;
	return !vendor || vendor->unpin_slab(memory);
}

int dtc_slab_memory_allocate(struct dtconv_context *context,
			     struct dtc_slab_memory *memory)
{
	const struct dtc_vendor_ops *vendor = vendor_of(context);
	int status = vendor ? vendor->allocate_slab(context, memory)
			    : DTCONV_ERR_UNSUPPORTED;

	memory->vendor = status ? NULL : vendor;
	return status;
}

bool dtc_slab_memory_free(struct dtc_slab_memory *memory)
{
	const struct dtc_vendor_ops *vendor = memory->vendor;

	memory->vendor = NULL;
	return !vendor || vendor->free_slab(memory);
}

bool dtc_slab_memory_is_lost(const struct dtc_slab_memory *memory)
{
	return memory->vendor && memory->vendor->is_slab_lost(memory);
}
