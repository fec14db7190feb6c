/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether a buffer may go as it is: what its memory is, how many runs it has, and what the network reaches.
 */
#include "config.h"

#include <dtconv/path.h>

#include <string.h>

#include "base/base.h"
#include "base/log.h"
#include "convertor/convertor.h"
#include "copy_backends/memory/classify.h"
#include "datatype/runs.h"

const char *dtconv_path_name(enum dtconv_path path)
{
	static const char *const names[] = { "stage", "row", "iov", "peer" };

	return (size_t)path < DTC_ARRAY_LENGTH(names) ? names[path] : NULL;
}

/* The runs of the stream, neighbours merged; at most @most + 1. */
static size_t count_runs(const struct dtconv_convertor *convertor,
			 struct dtc_cursor *cursor, size_t most, void **first)
{
	uintptr_t end = 0;
	struct dtc_runs runs;
	struct dtc_run run;
	size_t count = 0;

	dtc_runs_init(&runs, cursor, cursor->size);
	while (count <= most && dtc_runs_next(&runs, &run)) {
		uintptr_t address = (uintptr_t)convertor->user + (uintptr_t)run.disp;

		if (!count)
			*first = (void *)address;
		count += !count || address != end;
		end = address + (uintptr_t)run.bytes;
	}
	return count;
}

/* The kind of all of the buffer, or unknown. */
static struct dtc_memory find_memory(const struct dtconv_convertor *convertor,
				     const struct dtc_cursor *cursor)
{
	const struct dtc_user_buffer buffer = { .cursor = cursor,
						.bounds = &convertor->type->bounds,
						.user = convertor->user };
	struct dtc_memory memory = dtc_memory_host();

	if (convertor->placement.user == DTCONV_MEMORY_HOST || !cursor->size)
		return memory;
	if (dtc_classify_stream(convertor->type->context, &buffer, cursor->size,
				&memory) < cursor->size)
		memory.kind = DTCONV_MEMORY_UNKNOWN;
	return memory;
}

static const char *why_not(const struct dtconv_convertor *convertor,
			   const struct dtc_memory *memory)
{
	if (convertor->typed)
		return "the stream has a representation or an operation";
	if (convertor->checksum.on)
		return "the stream has a checksum";
	if (memory->kind == DTCONV_MEMORY_UNKNOWN)
		return "the buffer is memory of several kinds, or of an unknown one";
	if (memory->kind == DTCONV_MEMORY_MANAGED)
		return "the buffer is managed memory, which migrates";
	if (memory->kind == DTCONV_MEMORY_DEVICE && convertor->placement.on_stream)
		return "the buffer is device memory in the order of a stream";
	return NULL;
}

static bool is_reached(const struct dtconv_reach *reach, const struct dtc_memory *memory)
{
	return reach->flags &
	       (memory->kind == DTCONV_MEMORY_DEVICE ? (unsigned)DTCONV_REACH_DEVICE
						     : (unsigned)DTCONV_REACH_HOST);
}

/* For memory of one kind. */
static void choose(const struct dtconv_convertor *convertor,
		   const struct dtconv_reach *reach, const struct dtc_memory *memory,
		   struct dtc_cursor *cursor, struct dtconv_path_attr *attr)
{
	const size_t most = DTC_MAX(reach->max_iov, (size_t)1);
	const size_t runs = is_reached(reach, memory)
				    ? count_runs(convertor, cursor, most, &attr->address)
				    : SIZE_MAX;

	attr->runs = runs;
	if (runs <= 1) {
		attr->path = DTCONV_PATH_ROW;
		return;
	}
	attr->address = NULL;
	if (runs <= most && attr->bytes / runs >= reach->least_run) {
		attr->path = DTCONV_PATH_IOV;
		return;
	}
	attr->runs = 0;
	if (memory->kind == DTCONV_MEMORY_DEVICE && reach->flags & DTCONV_REACH_PEER) {
		attr->path = DTCONV_PATH_PEER;
		return;
	}
	attr->why = runs == SIZE_MAX ? "the network does not reach the buffer's memory"
		    : runs > most    ? "the buffer has more runs than the network takes"
				     : "the buffer's runs are too short";
}

static int read_reach(const struct dtconv_convertor *convertor,
		      const struct dtconv_reach *given, const char *caller,
		      struct dtconv_reach *reach)
{
	struct dtconv_context *context = convertor->type->context;

	if (given->struct_size == 0)
		return DTC_FAIL_STRUCT_SIZE(context, caller, "reach", "dtconv_reach");
	*reach = (struct dtconv_reach){ .struct_size = sizeof(*reach) };
	memcpy(reach, given, DTC_MIN(given->struct_size, sizeof(*reach)));
	if (reach->flags & ~7u)
		return DTC_FAIL(context, DTCONV_ERR_INVAL,
				"%s: reach.flags has unknown bits: 0x%x", caller,
				reach->flags);
	return dtc_convertor_check_idle(convertor, caller);
}

int dtconv_path(struct dtconv_convertor *convertor, const struct dtconv_reach *given,
		struct dtconv_path_attr *attr)
{
	struct dtconv_reach reach;

	if (!convertor || !given || !attr)
		return DTCONV_ERR_INVAL;
	if (attr->struct_size == 0)
		return DTC_FAIL_STRUCT_SIZE(convertor->type->context, __func__, "attr", "dtconv_path_attr");
	int status = read_reach(convertor, given, __func__, &reach);
	if (status)
		return status;
	struct dtc_cursor cursor = convertor->cursor;
	dtc_cursor_seek(&cursor, 0);
	const struct dtc_memory memory = find_memory(convertor, &cursor);
	struct dtconv_path_attr now = { .struct_size = attr->struct_size,
					.path = DTCONV_PATH_STAGE,
					.kind = memory.kind,
					.device = memory.kind ? memory.device : -1,
					.bytes = dtc_convertor_size(convertor),
					.why = why_not(convertor, &memory) };
	if (!now.why)
		choose(convertor, &reach, &memory, &cursor, &now);
	convertor->must_stage = now.why;
	memcpy(attr, &now, DTC_MIN(attr->struct_size, sizeof(now)));
	return 0;
}
