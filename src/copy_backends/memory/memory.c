/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Queries the vendors for the kind of memory, and avoids queries: device memory cannot exist before the
 * driver is loaded, and the dynamic linker counts the objects that it loads.
 */
#include "config.h"

#include "memory.h"

#include <link.h>
#include <string.h>

#include "base/base.h"
#include "base/context.h"
#include "base/log.h"
#include "vendor.h"

const char *dtc_memory_kind_name(enum dtconv_memory_kind kind)
{
	static const char *const names[] = { "unknown", "host", "pinned", "managed", "device" };

	return (size_t)kind < DTC_ARRAY_LENGTH(names) ? names[kind] : "no such";
}

const char *dtconv_memory_kind_name(enum dtconv_memory_kind kind)
{
	return (unsigned)kind <= DTCONV_MEMORY_DEVICE ? dtc_memory_kind_name(kind) : NULL;
}

static int take_loads(struct dl_phdr_info *info, size_t bytes, void *loads)
{
	(void)bytes;
	*(unsigned long long *)loads = info->dlpi_adds;
	return 1;
}

/* The number of objects that the dynamic linker has loaded so far; 0 in static programs. */
static unsigned long long count_loads(void)
{
	unsigned long long loads = 0;

	dl_iterate_phdr(take_loads, &loads);
	return loads;
}

/*
 * The driver may have been loaded since the last look; it is never unloaded. Repeat a look that had no
 * memory.
 */
static bool look_for_drivers(struct dtconv_context *context)
{
	unsigned long long loads = count_loads();
	struct dtc_devices *devices = &context->devices;

	/* Acquire: a thread that sees the count of another thread sees what that one found. */
	if (DTC_LIKELY(loads ==
		       atomic_load_explicit(&devices->loads, memory_order_acquire)))
		return atomic_load_explicit(&devices->found, memory_order_relaxed);
	bool found = false;
	int trouble = 0;
	for (size_t i = 0; dtc_vendors[i]; i++) {
		int answer = dtc_vendors[i]->find_driver(context);

		found |= answer > 0;
		trouble = answer < 0 ? answer : trouble;
	}
	if (found)
		atomic_store_explicit(&devices->found, true, memory_order_release);
	atomic_store_explicit(&devices->trouble, trouble, memory_order_relaxed);
	if (trouble != DTCONV_ERR_NOMEM)
		atomic_store_explicit(&devices->loads, loads, memory_order_release);
	return found;
}

/* This many bytes above the caller's frame are certainly stack. */
#define STACK_BYTES 4096

static inline bool is_on_stack(const void *address)
{
	return (uintptr_t)address - (uintptr_t)__builtin_frame_address(0) < STACK_BYTES;
}

static int trouble_of(struct dtconv_context *context)
{
	return atomic_load_explicit(&context->devices.trouble, memory_order_relaxed);
}

bool dtc_memory_is_ordinary(struct dtconv_context *context, const void *a, const void *b)
{
	if (context->devices.none || (is_on_stack(a) && is_on_stack(b)))
		return true;
	return !dtc_memory_has_driver(context) && !trouble_of(context);
}

bool dtc_memory_has_driver(struct dtconv_context *context)
{
	return atomic_load_explicit(&context->devices.found, memory_order_acquire) ||
	       look_for_drivers(context);
}

const struct dtc_vendor_ops *dtc_vendor_find(struct dtconv_context *context)
{
	if (context->devices.none || !dtc_memory_has_driver(context))
		return NULL;
	for (size_t i = 0; dtc_vendors[i]; i++)
		if (dtc_vendors[i]->find_driver(context) > 0)
			return dtc_vendors[i];
	return NULL;
}

/* Set in place: reading a struct back right after storing its members stalls store forwarding. */
static void set_host(struct dtc_memory *memory)
{
	memset(memory, 0, sizeof(*memory));
	memory->kind = DTCONV_MEMORY_HOST;
	memory->device = -1;
}

void dtc_memory_query(struct dtconv_context *context, const void *address,
		      struct dtc_memory *memory)
{
	set_host(memory);
	if (dtc_memory_is_ordinary(context, address, address))
		return;
	if (!atomic_load_explicit(&context->devices.found, memory_order_acquire) &&
	    trouble_of(context) == DTCONV_ERR_NOMEM)
		memory->kind = DTCONV_MEMORY_UNKNOWN;
	for (size_t i = 0; dtc_vendors[i]; i++)
		if (dtc_vendors[i]->query_memory(context, address, memory))
			return;
}

int dtc_memory_refused(struct dtconv_context *context, const char *caller)
{
	/* Another thread may have found the driver at the same time. */
	if (atomic_load_explicit(&context->devices.found, memory_order_acquire))
		return 0;
	switch (trouble_of(context)) {
	case DTCONV_ERR_NOMEM:
		return DTC_FAIL(context, DTCONV_ERR_NOMEM,
				"%s: cannot allocate the state of the devices", caller);
	case DTCONV_ERR_UNSUPPORTED:
		return DTC_FAIL(
			context, DTCONV_ERR_BACKEND,
			"%s: this is memory of a device whose driver is not supported; "
			"set DTCONV_LOG=warn for the reason",
			caller);
	default:
		return 0;
	}
}

bool dtc_memory_reaches(struct dtconv_context *context, const struct dtc_memory *user,
			const struct dtc_memory *packed)
{
	for (size_t i = 0; dtc_vendors[i]; i++)
		if (dtc_vendors[i]->reaches(context, user, packed))
			return true;
	return false;
}

bool dtc_scratch_acquire(struct dtconv_context *context, const struct dtc_memory *near,
			 enum dtc_scratch_purpose purpose, struct dtc_scratch *scratch)
{
	for (size_t i = 0; dtc_vendors[i]; i++)
		if (dtc_vendors[i]->acquire_scratch(context, near, purpose, scratch))
			return true;
	return false;
}

static void tell(const struct dtc_memory *memory, struct dtconv_memory_attr *attr)
{
	attr->kind = memory->kind;
	attr->device = memory->device;
	attr->base = (void *)memory->base;
	attr->length = memory->end - memory->base;
}

int dtconv_memory_query(struct dtconv_context *context, const void *address,
			struct dtconv_memory_attr *attr)
{
	struct dtc_memory memory;

	if (!context || !attr)
		return DTCONV_ERR_INVAL;
	if (attr->struct_size == 0)
		return DTC_FAIL_STRUCT_SIZE(context, __func__, "attr", "dtconv_memory_attr");
	dtc_memory_query(context, address, &memory);
	int status = memory.kind ? 0 : dtc_memory_refused(context, __func__);
	if (status)
		return status;
	if (!memory.kind)
		return DTC_FAIL(
			context, DTCONV_ERR_BACKEND,
			"%s: cannot determine the memory kind of address (argument 2) %p: it "
			"is not mapped, or the driver does not report it",
			__func__, address);
	if (DTC_UNLIKELY(attr->struct_size < sizeof(*attr))) {
		struct dtconv_memory_attr all = { .struct_size = attr->struct_size };

		tell(&memory, &all);
		memcpy(attr, &all, all.struct_size);
		return 0;
	}
	tell(&memory, attr);
	return 0;
}
