/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The public calls: they check arguments and handles. ipc_cache.c has the mappings.
 */
#include "config.h"

#include <dtconv/ipc.h>

#include <string.h>

#include "base/base.h"
#include "base/log.h"
#include "copy_backends/memory/vendor.h"
#include "ipc_cache.h"
#include "ipc_handle.h"

int dtconv_ipc_export(struct dtconv_context *context, const void *address, size_t bytes,
		      struct dtconv_ipc_handle *handle)
{
	struct dtc_ipc_handle made = { .bytes = bytes };
	struct dtc_ipc_allocation *allocation = &made.allocation;
	struct dtc_ipc_cache *cache;

	if (!context || !handle)
		return DTCONV_ERR_INVAL;
	int status = dtc_ipc_cache_of(context, __func__, &cache);
	if (!status)
		status = dtc_ipc_cache_vendor(cache)->export_allocation(
			context, address, __func__, allocation);
	if (status)
		return status;
	made.owner = *dtc_ipc_cache_process(cache);
	made.offset = (uintptr_t)address - allocation->base;
	if (bytes > allocation->bytes - made.offset)
		return DTC_FAIL(
			context, DTCONV_ERR_INVAL,
			"%s: bytes (argument 3) is %zu, but the allocation of address (argument "
			"2) %p ends after %zu",
			__func__, bytes, address,
			(size_t)(allocation->bytes - made.offset));
	dtc_ipc_handle_write(&made, handle->bytes);
	return 0;
}

int dtconv_ipc_open(struct dtconv_context *context,
		    const struct dtconv_ipc_handle *handle, int device, void **address)
{
	struct dtc_ipc_handle read;
	struct dtc_ipc_cache *cache;

	if (!context || !handle || !address)
		return DTCONV_ERR_INVAL;
	const char *wrong =
		dtc_ipc_handle_read(handle->bytes, sizeof(handle->bytes), &read);
	if (wrong)
		return DTC_FAIL(context, DTCONV_ERR_FORMAT,
				"%s: the handle (argument 2) %s", __func__, wrong);
	int status = dtc_ipc_cache_of(context, __func__, &cache);
	if (status)
		return status;
	if (dtc_process_is_remote(&read.owner, dtc_ipc_cache_process(cache)))
		return DTC_FAIL(
			context, DTCONV_ERR_UNSUPPORTED,
			"%s: the handle (argument 2) is from another machine, or from before a "
			"reboot; CUDA IPC shares memory inside one machine",
			__func__);
	return dtc_ipc_cache_open(cache, &read, device, __func__, address);
}

int dtconv_ipc_close(struct dtconv_context *context, void *address)
{
	if (!context)
		return DTCONV_ERR_INVAL;
	struct dtc_ipc_cache *cache = dtc_ipc_cache_find(context);

	if (cache && dtc_ipc_cache_close(cache, (uintptr_t)address))
		return 0;
	return DTC_FAIL(context, DTCONV_ERR_INVAL,
			"%s: address (argument 2) %p is in no range that is open",
			__func__, address);
}

int dtconv_ipc_trim(struct dtconv_context *context, size_t keep)
{
	if (!context)
		return DTCONV_ERR_INVAL;
	struct dtc_ipc_cache *cache = dtc_ipc_cache_find(context);

	if (cache)
		dtc_ipc_cache_trim(cache, keep);
	return 0;
}

int dtconv_ipc_query(struct dtconv_context *context, struct dtconv_ipc_attr *attr)
{
	if (!context || !attr)
		return DTCONV_ERR_INVAL;
	if (attr->struct_size == 0)
		return DTC_FAIL_STRUCT_SIZE(context, __func__, "attr", "dtconv_ipc_attr");
	struct dtconv_ipc_attr now = { .struct_size = attr->struct_size };
	struct dtc_ipc_cache *cache = dtc_ipc_cache_find(context);

	if (cache)
		dtc_ipc_cache_query(cache, &now);
	memcpy(attr, &now, DTC_MIN(attr->struct_size, sizeof(now)));
	return 0;
}
