/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finding libgdrapi. Many machines lack it, so its absence is a reason and not an error. The search opens files
 * and the device node of gdrcopy; it initialises no GPU.
 */
#include "config.h"

#include "gdrcopy.h"

#include <dlfcn.h>
#include <string.h>

#include "base/base.h"
#include "base/context.h"
#include "base/log.h"
#include "base/text.h"

#define LIBRARY "libgdrapi.so.2"

/* Stores through memcpy: an object pointer becomes a function pointer. */
static bool find_function(const struct dtc_gdr *gdr, const char *name, void *function)
{
	void *found = dlsym(gdr->library, name);

	memcpy(function, &found, sizeof(found));
	return found;
}

static bool needed_function(const struct dtc_gdr *gdr, struct dtconv_context *context,
			    const char *name, void *function)
{
	if (find_function(gdr, name, function))
		return true;
	DTC_LOG(context, DTCONV_LOG_WARN, LIBRARY " lacks %s; BAR mappings are disabled",
		name);
	return false;
}

#define NEEDED(name, result, arguments) \
	&&needed_function(gdr, context, "gdr_" #name, &gdr->name)
#define WANTED(name, result, arguments) find_function(gdr, "gdr_" #name, &gdr->name);

static bool find_functions(struct dtc_gdr *gdr, struct dtconv_context *context)
{
	DTC_GDR_WANTED(WANTED)
	return true DTC_GDR_NEEDED(NEEDED);
}

/* The lock is held. */
static const char *look(struct dtc_gdr *gdr, struct dtconv_context *context)
{
	gdr->library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!gdr->library)
		return LIBRARY " was not found";
	if (!find_functions(gdr, context))
		return LIBRARY " lacks a required function";
	gdr->connection = gdr->open();
	return gdr->connection ? NULL
			       : LIBRARY
		       " cannot open its kernel driver (gdr_open); is gdrdrv loaded?";
}

void dtc_gdr_init(struct dtc_gdr *gdr)
{
	pthread_mutex_init(&gdr->lock, NULL);
}

void dtc_gdr_close(struct dtc_gdr *gdr)
{
	if (gdr->connection)
		gdr->close(gdr->connection);
	if (gdr->library)
		dlclose(gdr->library);
	pthread_mutex_destroy(&gdr->lock);
}

const char *dtc_gdr_find(struct dtc_gdr *gdr, struct dtconv_context *context)
{
	if (DTC_LIKELY(atomic_load_explicit(&gdr->looked, memory_order_acquire)))
		return gdr->reason;
	pthread_mutex_lock(&gdr->lock);
	if (!atomic_load_explicit(&gdr->looked, memory_order_relaxed)) {
		gdr->reason = look(gdr, context);
		atomic_store_explicit(&gdr->looked, true, memory_order_release);
	}
	pthread_mutex_unlock(&gdr->lock);
	return gdr->reason;
}

void dtc_gdr_describe(struct dtc_gdr *gdr, struct dtconv_context *context,
		      struct dtc_text *text)
{
	const char *reason = dtc_gdr_find(gdr, context);
	int major = 0, minor = 0;

	if (reason) {
		dtc_text_printf(text, "  BAR mappings: none, %s\n", reason);
		return;
	}
	if (gdr->runtime_get_version)
		gdr->runtime_get_version(&major, &minor);
	dtc_text_printf(text, "  BAR mappings: libgdrapi %d.%d\n", major, minor);
}
