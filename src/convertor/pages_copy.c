/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies from one list of pages to another that has the same stream: reads and checks both and what they share. How bytes
 * are moved is the business of pages_host.c and pages_device.c.
 */
#include "config.h"

#include "paging.h"

#include "base/base.h"
#include "base/log.h"

static const struct dtc_paging_names from_names = { "from", "from.table", "from_pool",
						    "from.fault" };
static const struct dtc_paging_names to_names = { "to", "to.table", "to_pool",
						  "to.fault" };

/* ---- what the lists share -------------------------------------------------------------- */

static int check_same(const struct dtc_paging *from, const struct dtc_paging *to,
		      const char *member, size_t one, size_t other)
{
	if (one == other)
		return 0;
	return DTC_FAIL(from->context, DTCONV_ERR_INVAL,
			"%s: from.%s is %zu, but to.%s is %zu; both lists need the same "
			"stream",
			to->caller, member, one, member, other);
}

static int check_streams(const struct dtc_paging *from, const struct dtc_paging *to)
{
	int status = check_same(from, to, "layer_count", from->pages.layer_count,
				to->pages.layer_count);

	if (!status)
		status = check_same(from, to, "part_count", from->pages.part_count,
				    to->pages.part_count);
	return status ? status
		      : check_same(from, to, "bytes", from->pages.bytes, to->pages.bytes);
}

/* The target's order is the call's. */
static int check_order(const struct dtc_paging *from, const struct dtc_paging *to)
{
	if (!from->pages.flags || (from->pages.flags == to->pages.flags &&
				   from->pages.stream == to->pages.stream))
		return 0;
	return DTC_FAIL(from->context, DTCONV_ERR_INVAL,
			"%s: from.flags is %u and from.stream %p, but to.flags is %u and "
			"to.stream %p, which order the copy; those of from are the same "
			"or 0",
			from->caller, from->pages.flags, from->pages.stream,
			to->pages.flags, to->pages.stream);
}

/* ---- one call -------------------------------------------------------------------------- */

static int set_part(struct dtc_paging *from, struct dtc_paging *to, size_t position,
		    size_t bytes)
{
	if (position > from->total)
		return DTC_FAIL(
			from->context, DTCONV_ERR_INVAL,
			"%s: position (argument 6) is %zu, past the stream's end at %zu",
			from->caller, position, from->total);
	const size_t rest = from->total - position;
	if (bytes != SIZE_MAX && bytes > rest)
		return DTC_FAIL(
			from->context, DTCONV_ERR_TRUNCATE,
			"%s: bytes (argument 7) is %zu, but only %zu bytes of the "
			"stream follow the position",
			from->caller, bytes, rest);
	from->position = to->position = position;
	from->bytes = to->bytes = DTC_MIN(bytes, rest);
	return 0;
}

static int move(struct dtc_paging *from, const struct dtc_paging *to)
{
	if (!dtc_paging_is_plain(from) || !dtc_paging_is_plain(to))
		return dtc_paging_move_anywhere(from);
	int status = dtc_paging_check_table(from);
	if (!status)
		status = dtc_paging_check_table(to);
	return status ? status : dtc_paging_move_on_host(from);
}

static int prepare(struct dtconv_context *context, const char *caller,
		   const struct dtconv_pages *given, const struct dtconv_pages *target,
		   struct dtc_paging *from, struct dtc_paging *to)
{
	int status = dtc_paging_prepare(context, caller, &from_names, given, from);

	if (!status)
		status = dtc_paging_prepare(context, caller, &to_names, target, to);
	if (!status)
		status = check_streams(from, to);
	return status ? status : check_order(from, to);
}

int dtconv_pages_copy(struct dtconv_context *context, const struct dtconv_pages *from,
		      const void *from_pool, const struct dtconv_pages *to, void *to_pool,
		      size_t position, size_t bytes, size_t *moved)
{
	struct dtc_paging source, target;

	if (moved)
		*moved = 0;
	if (!context || !from || !to)
		return DTCONV_ERR_INVAL;
	int status = prepare(context, __func__, from, to, &source, &target);
	if (!status)
		status = set_part(&source, &target, position, bytes);
	if (status)
		return status;
	source.pool = (char *)(uintptr_t)from_pool;
	source.to = &target;
	source.direction = DTC_PACK;
	target.pool = to_pool;
	if (source.bytes)
		status = move(&source, &target);
	if (moved)
		*moved = status ? 0 : source.bytes;
	return status;
}
