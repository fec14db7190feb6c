/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Passes ranges of addresses to the vendor whose driver is in the process, and makes ranges of one mapping.
 */
#include "config.h"

#include "address_range.h"

#include <dtconv/status.h>

#include "vendor.h"

int dtc_range_reserve(struct dtconv_context *context, struct dtc_range *range)
{
	const struct dtc_vendor_ops *vendor = dtc_vendor_find(context);

	range->context = context;
	range->why = NULL;
	range->ops = vendor ? vendor->ranges : NULL;
	return range->ops ? range->ops->reserve(range) : DTCONV_ERR_UNSUPPORTED;
}

/* ---- one mapping ----------------------------------------------------------------------- */

static int reserve_for(struct dtconv_context *context, struct dtc_shared_memory *memory,
		       size_t bytes, int device, const char *caller)
{
	*memory = (struct dtc_shared_memory){
		.range = { .bytes = bytes, .device = device, .caller = caller }
	};
	int status = dtc_range_reserve(context, &memory->range);

	/* Whole granules. */
	memory->mapping.bytes = memory->range.bytes;
	return status;
}

/* Takes over the mapping's handle, which is released if this fails. */
static int open_mapping(struct dtc_shared_memory *memory, enum dtc_range_access access)
{
	struct dtc_range *range = &memory->range;
	int status = range->ops->map(range, &memory->mapping);

	if (!status) {
		status = range->ops->set_access(range, &memory->mapping, range->device,
						access);
		if (status)
			(void)range->ops->unmap(range, &memory->mapping);
	}
	if (status)
		range->ops->release(range, &memory->mapping);
	return status;
}

static int close_mapping(struct dtc_shared_memory *memory)
{
	struct dtc_range *range = &memory->range;
	int status = range->ops->unmap(range, &memory->mapping);

	if (!status)
		range->ops->release(range, &memory->mapping);
	return status;
}

static int create_mapping(struct dtc_shared_memory *memory, int *fd)
{
	struct dtc_range *range = &memory->range;
	int status = range->is_shareable ? range->ops->create(range, &memory->mapping)
					 : DTCONV_ERR_UNSUPPORTED;

	if (!status)
		status = open_mapping(memory, DTC_RANGE_WRITE);
	if (status)
		return status;
	status = range->ops->clear(range, &memory->mapping);
	if (!status)
		status = range->ops->export(range, &memory->mapping, fd);
	if (status)
		(void)close_mapping(memory);
	return status;
}

static int import_mapping(struct dtc_shared_memory *memory, int fd)
{
	struct dtc_range *range = &memory->range;
	int status = range->ops->import(range, &memory->mapping, fd);

	return status ? status : open_mapping(memory, DTC_RANGE_READ);
}

/* The addresses of a mapping that could not be opened. */
static void end_opening(struct dtc_range *range, int status)
{
	const char *why = range->why;

	if (status)
		(void)range->ops->unreserve(range);
	range->why = why;
	range->ops->leave(range);
}

int dtc_shared_memory_create(struct dtconv_context *context,
			     struct dtc_shared_memory *memory, size_t bytes, int device,
			     const char *caller, int *fd)
{
	int status = reserve_for(context, memory, bytes, device, caller);

	if (status)
		return status;
	memory->range.ops->enter(&memory->range);
	status = create_mapping(memory, fd);
	end_opening(&memory->range, status);
	return status;
}

int dtc_shared_memory_import(struct dtconv_context *context,
			     struct dtc_shared_memory *memory, size_t bytes, int device,
			     const char *caller, int fd)
{
	int status = reserve_for(context, memory, bytes, device, caller);

	if (status)
		return status;
	memory->range.ops->enter(&memory->range);
	status = import_mapping(memory, fd);
	end_opening(&memory->range, status);
	return status;
}

bool dtc_shared_memory_undo(struct dtc_shared_memory *memory)
{
	struct dtc_range *range = &memory->range;

	range->ops->enter(range);
	const bool undone = range->ops->await(range) && !close_mapping(memory) &&
			    !range->ops->unreserve(range);
	range->ops->leave(range);
	return undone;
}
