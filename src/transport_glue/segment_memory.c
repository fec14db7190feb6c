/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memory of a segment: mappings one behind another, and which devices have access to them. A step that fails undoes
 * those before it.
 */
#include "config.h"

#include "base/base.h"
#include "base/log.h"
#include "segment_state.h"

struct dtc_segment_mapping *dtc_segment_mapping_at(const struct dtconv_segment *segment,
						   size_t index)
{
	return (struct dtc_segment_mapping *)segment->mappings.items + index;
}

int dtc_segment_fail(struct dtconv_segment *segment, int status, const char *what)
{
	const struct dtc_range *range = &segment->range;

	return DTC_FAIL(segment->context, status, "%s: cannot %s on device %d: %s",
			range->caller, what, range->device,
			range->why ? range->why : dtconv_strerror(status));
}

/* ---- access ---------------------------------------------------------------------------- */

static int set_access(struct dtconv_segment *segment, size_t index, int device,
		      enum dtc_range_access access)
{
	struct dtc_range *range = &segment->range;

	return range->ops->set_access(
		range, &dtc_segment_mapping_at(segment, index)->memory, device, access);
}

static struct dtc_segment_grant *find_grant(struct dtconv_segment *segment, int device)
{
	for (size_t i = 0; i < segment->grant_count; i++)
		if (segment->grants[i].device == device)
			return &segment->grants[i];
	return NULL;
}

static struct dtc_segment_grant *make_grant(struct dtconv_segment *segment, int device)
{
	struct dtc_segment_grant *grant = find_grant(segment, device);

	if (grant || segment->grant_count == DTC_SEGMENT_DEVICES_MAX)
		return grant;
	grant = &segment->grants[segment->grant_count++];
	*grant = (struct dtc_segment_grant){ .device = device };
	return grant;
}

/* Nothing can be done if the driver refuses that too: the device keeps more access than it should. */
static void restore_access(struct dtconv_segment *segment, size_t count,
			   const struct dtc_segment_grant *grant)
{
	while (count--)
		(void)set_access(segment, count, grant->device, grant->access);
}

int dtc_segment_grant(struct dtconv_segment *segment, int device,
		      enum dtc_range_access access)
{
	struct dtc_segment_grant *grant = make_grant(segment, device);

	if (!grant)
		return DTC_FAIL(segment->context, DTCONV_ERR_LIMIT,
				"%s: %d devices have access already, which is the limit",
				segment->range.caller, DTC_SEGMENT_DEVICES_MAX);
	for (size_t i = 0; i < segment->mappings.count; i++) {
		const int status = set_access(segment, i, device, access);

		if (!status)
			continue;
		restore_access(segment, i, grant);
		return DTC_FAIL(
			segment->context, status,
			"%s: cannot set the access of device %d to memory of device %d: %s",
			segment->range.caller, device, segment->range.device,
			segment->range.why);
	}
	grant->access = access;
	return 0;
}

/* The last mapping, which nobody has access to yet. */
static int grant_all(struct dtconv_segment *segment)
{
	for (size_t i = 0; i < segment->grant_count; i++) {
		const struct dtc_segment_grant *grant = &segment->grants[i];
		const int status = grant->access == DTC_RANGE_NONE
					   ? 0
					   : set_access(segment,
							segment->mappings.count - 1,
							grant->device, grant->access);

		if (status)
			return dtc_segment_fail(segment, status,
						"set the access to new memory");
	}
	return 0;
}

/* ---- mappings -------------------------------------------------------------------------- */

/* The last mapping, which nothing uses. */
static int drop_last(struct dtconv_segment *segment)
{
	struct dtc_range *range = &segment->range;
	const struct dtc_mapping *last =
		&dtc_segment_mapping_at(segment, segment->mappings.count - 1)->memory;
	const int status = range->ops->unmap(range, last);

	if (status)
		return dtc_segment_fail(segment, status, "unmap memory");
	range->ops->release(range, last);
	segment->bytes -= last->bytes;
	segment->mappings.count--;
	return 0;
}

static int map(struct dtconv_segment *segment, const struct dtc_segment_mapping *mapping)
{
	struct dtc_range *range = &segment->range;
	int status;

	if (!dtc_vec_push(segment->context, &segment->mappings, mapping))
		return DTC_FAIL(segment->context, DTCONV_ERR_NOMEM,
				"%s: cannot allocate the list of mappings",
				range->caller);
	status = range->ops->map(range, &mapping->memory);
	if (!status)
		return 0;
	segment->mappings.count--;
	return dtc_segment_fail(segment, status, "map memory");
}

/* Takes over the handle, which is released if this fails. */
static int add(struct dtconv_segment *segment, const struct dtc_segment_mapping *mapping)
{
	int status = map(segment, mapping);

	if (status) {
		segment->range.ops->release(&segment->range, &mapping->memory);
		return status;
	}
	segment->bytes += mapping->memory.bytes;
	status = grant_all(segment);
	if (status)
		(void)drop_last(segment);
	return status;
}

/* Room for one more mapping of @bytes bytes. */
static int check_room(const struct dtconv_segment *segment, size_t bytes)
{
	const struct dtc_range *range = &segment->range;

	if (segment->mappings.count == DTCONV_SEGMENT_MAPPINGS_MAX)
		return DTC_FAIL(segment->context, DTCONV_ERR_LIMIT,
				"%s: the segment has %d mappings, which is the limit",
				range->caller, DTCONV_SEGMENT_MAPPINGS_MAX);
	if (bytes > range->bytes - segment->bytes)
		return DTC_FAIL(
			segment->context, DTCONV_ERR_LIMIT,
			"%s: the segment has %zu of the %zu bytes that are reserved; %zu "
			"bytes more exceed them",
			range->caller, segment->bytes, range->bytes, bytes);
	return 0;
}

int dtc_segment_create_memory(struct dtconv_segment *segment, size_t bytes)
{
	struct dtc_range *range = &segment->range;
	struct dtc_segment_mapping mapping = { .memory = { .offset = segment->bytes,
							   .bytes = bytes },
					       .number = segment->next_number };
	int status = check_room(segment, bytes);

	if (status)
		return status;
	status = range->ops->create(range, &mapping.memory);
	if (status)
		return DTC_FAIL(segment->context, status,
				"%s: cannot create %zu bytes of memory on device %d: %s",
				range->caller, bytes, range->device, range->why);
	status = add(segment, &mapping);
	segment->next_number += !status;
	return status;
}

int dtc_segment_import_memory(struct dtconv_segment *segment, int fd, size_t bytes,
			      uint64_t number)
{
	struct dtc_range *range = &segment->range;
	struct dtc_segment_mapping mapping = {
		.memory = { .offset = segment->bytes, .bytes = bytes }, .number = number
	};
	int status = check_room(segment, bytes);

	if (status)
		return status;
	if (bytes % range->granularity)
		return DTC_FAIL(segment->context, DTCONV_ERR_FORMAT,
				"%s: a mapping of %zu bytes is no multiple of %zu, the "
				"granularity of device %d",
				range->caller, bytes, range->granularity, range->device);
	status = range->ops->import(range, &mapping.memory, fd);
	return status ? dtc_segment_fail(segment, status, "import memory")
		      : add(segment, &mapping);
}

int dtc_segment_cut(struct dtconv_segment *segment, size_t count)
{
	struct dtc_range *range = &segment->range;
	int status = 0;

	if (count == segment->mappings.count)
		return 0;
	if (!range->ops->await(range))
		return DTC_FAIL(segment->context, DTCONV_ERR_STATE,
				"%s: the context of device %d is lost, and the device "
				"may still access the segment: nothing is unmapped",
				range->caller, range->device);
	while (!status && segment->mappings.count > count)
		status = drop_last(segment);
	return status;
}
