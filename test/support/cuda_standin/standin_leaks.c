/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lists the objects that exist and have not been destroyed, one a line.
 */
#include <stdio.h>

#include "support/cuda_standin/standin_internal.h"

struct report {
	char *text;
	size_t size;
	size_t used;
	size_t count;
};

static void report_line(const char *line, void *arg)
{
	struct report *report = arg;
	report->count++;
	if (report->used >= report->size)
		return;
	const int bytes = snprintf(report->text + report->used,
				   report->size - report->used, "%s\n", line);
	report->used += bytes > 0 ? (size_t)bytes : 0;
}

static const char *kind_name(enum standin_kind kind)
{
	static const char *const names[] = {
		"context", "stream", "event", "module",     "function", "library",
		"kernel",  "graph",  "node",  "graph exec", "pool",     "physical memory"
	};
	return names[kind - OBJECT_CONTEXT];
}

static bool is_lost(CUcontext context)
{
	return context && context->error;
}

/* Objects of a lost context cannot be released, so they are not leaks. */
static bool belongs_to_lost(const struct standin_object *object)
{
	if (object->kind == OBJECT_STREAM)
		return is_lost(((const struct CUstream_st *)object)->context);
	if (object->kind == OBJECT_EVENT)
		return is_lost(((const struct CUevent_st *)object)->context);
	if (object->kind == OBJECT_MODULE)
		return is_lost(((const struct CUmod_st *)object)->context);
	return object->kind == OBJECT_CONTEXT && is_lost((CUcontext)object);
}

static void report_objects(struct report *report)
{
	for (struct standin_object *object = standin_objects; object;
	     object = object->next) {
		if (!object->alive || !object->counts || belongs_to_lost(object))
			continue;
		char line[80];
		snprintf(line, sizeof line, "%s %p", kind_name(object->kind),
			 (void *)object);
		report_line(line, report);
	}
}

static void report_regions(struct report *report)
{
	static const char *const names[] = { "device memory",         "pinned memory",
					     "registration",          "managed memory",
					     "stream-ordered memory", "mapping",
					     "imported memory" };
	for (size_t i = 0; i < standin_region_count(); i++) {
		const struct standin_region *region = standin_region_index(i);
		char line[120];
		if (region->freed || is_lost(region->context))
			continue;
		snprintf(line, sizeof line, "%s at 0x%llx, %zu bytes",
			 names[region->kind], (unsigned long long)region->base,
			 region->bytes);
		report_line(line, report);
	}
	for (size_t i = 0; i < standin_reservation_count(); i++)
		report_line("reserved addresses", report);
	standin_descriptor_leaks(report_line, report);
}

size_t standin_leaks(char *text, size_t size)
{
	struct report report = { text, size, 0, 0 };
	if (size)
		text[0] = '\0';
	pthread_mutex_lock(&standin_mutex);
	standin_context_leaks(report_line, &report);
	report_objects(&report);
	report_regions(&report);
	pthread_mutex_unlock(&standin_mutex);
	return report.count;
}
