/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Segments: their parameters, creating, destroying, and what can be asked of one.
 */
#include "config.h"

#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/base.h"
#include "base/checked.h"
#include "base/context.h"
#include "base/log.h"
#include "segment_state.h"

void dtc_segment_lock(struct dtconv_segment *segment, const char *caller)
{
	pthread_mutex_lock(&segment->lock);
	segment->range.caller = caller;
	segment->range.why = NULL;
	segment->range.ops->enter(&segment->range);
}

void dtc_segment_unlock(struct dtconv_segment *segment)
{
	segment->range.ops->leave(&segment->range);
	pthread_mutex_unlock(&segment->lock);
}

/* ---- opening and closing --------------------------------------------------------------- */

static int refuse_range(struct dtconv_context *context, const struct dtc_range *range,
			int status)
{
	if (range->why)
		return DTC_FAIL(context, status,
				"%s: cannot reserve %zu bytes of addresses on device %d: "
				"%s",
				range->caller, range->bytes, range->device, range->why);
	if (status != DTCONV_ERR_UNSUPPORTED)
		return status;
	if (range->device < 0)
		return DTC_FAIL(context, status,
				"%s: no device context is current in this thread",
				range->caller);
	return DTC_FAIL(context, status,
			"%s: there is no device driver, or no CUDA context of device %d",
			range->caller, range->device);
}

static void free_segment(struct dtconv_segment *segment)
{
	pthread_mutex_destroy(&segment->lock);
	dtc_free(segment->context, segment->mappings.items);
	dtc_free(segment->context, segment);
}

int dtc_segment_open(struct dtconv_context *context, int device, size_t bytes,
		     unsigned flags, const char *caller, struct dtconv_segment **opened)
{
	struct dtconv_segment *segment = dtc_alloc_zeroed(context, sizeof(*segment));

	if (!segment)
		return DTC_FAIL(context, DTCONV_ERR_NOMEM,
				"%s: cannot allocate a segment", caller);
	segment->context = context;
	segment->any_user = flags & DTCONV_SEGMENT_ANY_USER;
	segment->mappings.width = sizeof(struct dtc_segment_mapping);
	segment->range =
		(struct dtc_range){ .bytes = bytes,
				    .device = device,
				    .compressible = flags & DTCONV_SEGMENT_COMPRESSIBLE,
				    .caller = caller };
	pthread_mutex_init(&segment->lock, NULL);
	int status = dtc_range_reserve(context, &segment->range);
	if (status) {
		status = refuse_range(context, &segment->range, status);
		free_segment(segment);
		return status;
	}
	segment->grants[0] =
		(struct dtc_segment_grant){ segment->range.device, DTC_RANGE_WRITE };
	segment->grant_count = 1;
	*opened = segment;
	return 0;
}

int dtc_segment_close(struct dtconv_segment *segment, const char *caller)
{
	struct dtc_range *range = &segment->range;

	dtc_segment_lock(segment, caller);
	int status = dtc_segment_cut(segment, 0);
	if (!status) {
		status = range->ops->unreserve(range);
		if (status)
			status = dtc_segment_fail(segment, status, "free addresses");
	}
	dtc_segment_unlock(segment);
	free_segment(segment);
	return status;
}

/* ---- creating -------------------------------------------------------------------------- */

static int read_params(struct dtconv_context *context,
		       const struct dtconv_segment_params *given, const char *caller,
		       struct dtconv_segment_params *params)
{
	const unsigned known = DTCONV_SEGMENT_COMPRESSIBLE | DTCONV_SEGMENT_ANY_USER;

	*params = (struct dtconv_segment_params){ .device = given ? 0 : -1 };
	if (given && given->struct_size == 0)
		return DTC_FAIL_STRUCT_SIZE(context, caller, "params",
					    "dtconv_segment_params");
	if (given)
		memcpy(params, given, DTC_MIN(given->struct_size, sizeof(*params)));
	if (params->flags & ~known)
		return DTC_FAIL(context, DTCONV_ERR_INVAL,
				"%s: params.flags has unknown bits: 0x%x", caller,
				params->flags);
	if (params->reserve_bytes && params->reserve_bytes < params->start_bytes)
		return DTC_FAIL(
			context, DTCONV_ERR_INVAL,
			"%s: params.reserve_bytes is %zu, less than the %zu of start_bytes",
			caller, params->reserve_bytes, params->start_bytes);
	return 0;
}

static int add_bytes(struct dtconv_segment *segment, size_t bytes)
{
	const size_t granularity = segment->range.granularity;
	size_t rounded;

	if (dtc_mul_size((size_t)dtc_divide_up(bytes, granularity), granularity,
			 &rounded))
		return DTC_FAIL(segment->context, DTCONV_ERR_LIMIT,
				"%s: %zu bytes exceed the address space",
				segment->range.caller, bytes);
	return dtc_segment_create_memory(segment, rounded);
}

/* A name that no other segment of any process has. */
static int name_segment(struct dtconv_segment *segment, const char *caller)
{
	if (getrandom(segment->id, sizeof(segment->id), 0) == sizeof(segment->id))
		return 0;
	return DTC_FAIL(segment->context, DTCONV_ERR_AGAIN,
			"%s: the system has no random numbers", caller);
}

int dtconv_segment_create(struct dtconv_context *context,
			  const struct dtconv_segment_params *given,
			  struct dtconv_segment **segment)
{
	struct dtconv_segment_params params;
	struct dtconv_segment *made;

	if (!context || !segment)
		return DTCONV_ERR_INVAL;
	int status = read_params(context, given, __func__, &params);
	if (!status)
		status = dtc_segment_open(context, params.device, params.reserve_bytes,
					  params.flags, __func__, &made);
	if (status)
		return status;
	status = name_segment(made, __func__);
	if (!status) {
		dtc_segment_lock(made, __func__);
		status = add_bytes(made, params.start_bytes ? params.start_bytes : 1);
		dtc_segment_unlock(made);
	}
	if (status) {
		(void)dtc_segment_close(made, __func__);
		return status;
	}
	*segment = made;
	return 0;
}

int dtconv_segment_destroy(struct dtconv_segment *segment)
{
	return segment ? dtc_segment_close(segment, __func__) : 0;
}

/* ---- growing and shrinking ------------------------------------------------------------- */

static int check_own(const struct dtconv_segment *segment)
{
	if (!segment->is_received)
		return 0;
	return DTC_FAIL(segment->context, DTCONV_ERR_STATE,
			"%s: the segment was received or is an alias; only the segment "
			"that it was made of grows and shrinks",
			segment->range.caller);
}

int dtconv_segment_grow(struct dtconv_segment *segment, size_t bytes)
{
	if (!segment)
		return DTCONV_ERR_INVAL;
	dtc_segment_lock(segment, __func__);
	int status = check_own(segment);
	if (!status && !bytes)
		status = DTC_FAIL(segment->context, DTCONV_ERR_INVAL,
				  "%s: bytes (argument 2) is 0", __func__);
	if (!status)
		status = add_bytes(segment, bytes);
	dtc_segment_unlock(segment);
	return status;
}

/* How many mappings stay if at most @bytes bytes are removed. */
static size_t count_kept(const struct dtconv_segment *segment, size_t bytes)
{
	size_t count = segment->mappings.count;

	while (count) {
		const size_t last =
			dtc_segment_mapping_at(segment, count - 1)->memory.bytes;

		if (last > bytes)
			break;
		bytes -= last;
		count--;
	}
	return count;
}

int dtconv_segment_shrink(struct dtconv_segment *segment, size_t bytes)
{
	if (!segment)
		return DTCONV_ERR_INVAL;
	dtc_segment_lock(segment, __func__);
	int status = check_own(segment);
	if (!status)
		status = dtc_segment_cut(segment, count_kept(segment, bytes));
	dtc_segment_unlock(segment);
	return status;
}

/* ---- access ---------------------------------------------------------------------------- */

int dtconv_segment_set_access(struct dtconv_segment *segment, int device,
			      enum dtconv_segment_access access)
{
	if (!segment)
		return DTCONV_ERR_INVAL;
	if ((unsigned)access > DTCONV_SEGMENT_READ_WRITE || device < 0)
		return DTC_FAIL(
			segment->context, DTCONV_ERR_INVAL,
			"%s: device (argument 2) is %d and access (argument 3) is %d; "
			"one of them is undefined",
			__func__, device, (int)access);
	dtc_segment_lock(segment, __func__);
	const int status =
		dtc_segment_grant(segment, device, (enum dtc_range_access)access);
	dtc_segment_unlock(segment);
	return status;
}

/* ---- aliases --------------------------------------------------------------------------- */

/* Through a descriptor, as another process would: the alias has handles of its own. */
static int alias_mapping(struct dtconv_segment *segment, size_t index,
			 struct dtconv_segment *alias)
{
	const struct dtc_segment_mapping *mapping =
		dtc_segment_mapping_at(segment, index);
	int fd = -1;
	int status = segment->range.ops->export(&segment->range, &mapping->memory, &fd);

	if (status)
		return dtc_segment_fail(segment, status, "export memory");
	status = dtc_segment_import_memory(alias, fd, mapping->memory.bytes,
					   mapping->number);
	close(fd);
	return status;
}

static int alias_all(struct dtconv_segment *segment, struct dtconv_segment *alias)
{
	int status = 0;

	alias->range.caller = segment->range.caller;
	for (size_t i = 0; !status && i < segment->mappings.count; i++)
		status = alias_mapping(segment, i, alias);
	return status;
}

int dtconv_segment_alias(struct dtconv_segment *segment, struct dtconv_segment **alias)
{
	struct dtconv_segment *made = NULL;

	if (!segment || !alias)
		return DTCONV_ERR_INVAL;
	dtc_segment_lock(segment, __func__);
	int status = dtc_segment_open(segment->context, segment->grants[0].device,
				      segment->range.bytes, 0, __func__, &made);
	if (!status) {
		made->is_received = true;
		memcpy(made->id, segment->id, sizeof(made->id));
		status = alias_all(segment, made);
	}
	dtc_segment_unlock(segment);
	if (!status)
		*alias = made;
	else if (made)
		(void)dtc_segment_close(made, __func__);
	return status;
}

/* ---- queries --------------------------------------------------------------------------- */

int dtconv_segment_dma_buf(struct dtconv_segment *segment, size_t offset, size_t bytes,
			   int *fd)
{
	if (!segment || !fd)
		return DTCONV_ERR_INVAL;
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	int status;

	dtc_segment_lock(segment, __func__);
	if (!bytes || offset % page || bytes % page || offset > segment->bytes ||
	    bytes > segment->bytes - offset)
		status = DTC_FAIL(segment->context, DTCONV_ERR_INVAL,
				  "%s: offset %zu and bytes %zu are not whole pages of "
				  "the segment, which has %zu bytes",
				  __func__, offset, bytes, segment->bytes);
	else
		status = segment->range.ops->export_dma_buf(&segment->range, offset,
							    bytes, fd);
	if (status && segment->range.why)
		status = dtc_segment_fail(segment, status, "export a DMA-BUF");
	dtc_segment_unlock(segment);
	return status;
}

static void describe(const struct dtconv_segment *segment,
		     struct dtconv_segment_attr *attr)
{
	const size_t count = segment->mappings.count;

	attr->base = segment->range.base;
	attr->bytes = segment->bytes;
	attr->reserve_bytes = segment->range.bytes;
	attr->granularity = segment->range.granularity;
	attr->mappings = count;
	attr->device = count ? dtc_segment_mapping_at(segment, 0)->memory.device : -1;
	attr->user_device = segment->grants[0].device;
	attr->received = segment->is_received;
	attr->shareable = segment->range.is_shareable;
	attr->compressed = count > 0;
	for (size_t i = 0; i < count; i++)
		attr->compressed &=
			dtc_segment_mapping_at(segment, i)->memory.is_compressed;
}

int dtconv_segment_query(struct dtconv_segment *segment, struct dtconv_segment_attr *attr)
{
	struct dtconv_segment_attr now = { .struct_size = 0 };

	if (!segment || !attr)
		return DTCONV_ERR_INVAL;
	if (attr->struct_size == 0)
		return DTC_FAIL_STRUCT_SIZE(segment->context, __func__, "attr",
					    "dtconv_segment_attr");
	pthread_mutex_lock(&segment->lock);
	describe(segment, &now);
	pthread_mutex_unlock(&segment->lock);
	now.struct_size = attr->struct_size;
	memcpy(attr, &now, DTC_MIN(attr->struct_size, sizeof(now)));
	return 0;
}
