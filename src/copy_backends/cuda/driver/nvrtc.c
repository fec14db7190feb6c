/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finding NVRTC and compiling with it. A missing library or a compile error is a reason and not an error.
 */
#include "config.h"

#include "nvrtc.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "base/context.h"
#include "base/log.h"

/* Versions whose interface is known. */
#define NEWEST 13
#define OLDEST 12

/* ---- finding ----------------------------------------------------------------------------------- */

/* Stores through memcpy: an object pointer becomes a function pointer. */
static bool find_function(const struct dtc_nvrtc *nvrtc, const char *name, void *function)
{
	void *found = dlsym(nvrtc->library, name);

	memcpy(function, &found, sizeof(found));
	return found;
}

#define FOUND(name, arguments) &&find_function(nvrtc, "nvrtc" #name, &nvrtc->name)

static bool find_functions(struct dtc_nvrtc *nvrtc)
{
	return true DTC_NVRTC_ENTRIES(FOUND);
}

/* It stays in the process: each time that it is unloaded it loses memory (72 KB, twice). */
static void *open_library(int driver_version)
{
	int newest = driver_version ? DTC_MIN(driver_version / 1000, NEWEST) : NEWEST;
	void *library = NULL;
	char name[32];

	for (int major = newest; major >= OLDEST && !library; major--) {
		snprintf(name, sizeof(name), "libnvrtc.so.%d", major);
		library = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	}
	return library;
}

/* The lock is held. */
static const char *look(struct dtc_nvrtc *nvrtc, int driver_version)
{
	nvrtc->library = open_library(driver_version);
	if (!nvrtc->library)
		return "libnvrtc.so was not found";
	if (!find_functions(nvrtc))
		return "libnvrtc.so lacks a required function";
	return nvrtc->Version(&nvrtc->major, &nvrtc->minor)
		       ? "nvrtcVersion of libnvrtc.so failed"
		       : NULL;
}

void dtc_nvrtc_init(struct dtc_nvrtc *nvrtc)
{
	*nvrtc = (struct dtc_nvrtc){ .major = 0 };
	pthread_mutex_init(&nvrtc->lock, NULL);
}

void dtc_nvrtc_close(struct dtc_nvrtc *nvrtc)
{
	if (nvrtc->library)
		dlclose(nvrtc->library);
	pthread_mutex_destroy(&nvrtc->lock);
}

const char *dtc_nvrtc_find(struct dtc_nvrtc *nvrtc, struct dtconv_context *context,
			   int driver_version)
{
	if (DTC_LIKELY(atomic_load_explicit(&nvrtc->looked, memory_order_acquire)))
		return nvrtc->reason;
	pthread_mutex_lock(&nvrtc->lock);
	if (!atomic_load_explicit(&nvrtc->looked, memory_order_relaxed)) {
		nvrtc->reason = look(nvrtc, driver_version);
		if (nvrtc->reason)
			DTC_LOG(context, DTCONV_LOG_INFO,
				"kernel specialisation is disabled: %s", nvrtc->reason);
		atomic_store_explicit(&nvrtc->looked, true, memory_order_release);
	}
	pthread_mutex_unlock(&nvrtc->lock);
	return nvrtc->reason;
}

/* ---- compiling --------------------------------------------------------------------------------- */

void dtc_nvrtc_set_options(struct dtc_nvrtc_options *options, uint32_t arch)
{
	snprintf(options->arch, sizeof(options->arch), "--gpu-architecture=sm_%u", arch);
	options->list[0] = options->arch;
	options->list[1] = "--std=c++11";
	/* Kernels of other shapes are in the source and not used. */
	options->list[2] = "--disable-warnings";
}

static void tell_log(const struct dtc_nvrtc *nvrtc, struct dtconv_context *context,
		     void *program)
{
	size_t bytes = 0;
	char *text = NULL;

	if (!nvrtc->GetProgramLogSize(program, &bytes) && bytes > 1)
		text = dtc_alloc_zeroed(context, bytes + 1);
	if (text && nvrtc->GetProgramLog(program, text))
		*text = '\0';
	DTC_LOG(context, DTCONV_LOG_INFO,
		"NVRTC %d.%d cannot compile a specialised kernel: %.200s", nvrtc->major,
		nvrtc->minor, text && *text ? text : "no log available");
	dtc_free(context, text);
}

static void *take_image(const struct dtc_nvrtc *nvrtc, struct dtconv_context *context,
			void *program, size_t *bytes)
{
	void *image;

	*bytes = 0;
	if (nvrtc->GetCUBINSize(program, bytes) || !*bytes)
		return NULL;
	image = dtc_alloc(context, *bytes);
	if (image && nvrtc->GetCUBIN(program, image)) {
		dtc_free(context, image);
		return NULL;
	}
	return image;
}

void *dtc_nvrtc_compile(const struct dtc_nvrtc *nvrtc, struct dtconv_context *context,
			const char *source, const struct dtc_nvrtc_options *options,
			size_t *bytes)
{
	void *program = NULL, *image = NULL;

	if (nvrtc->CreateProgram(&program, source, "dtconv.cu", 0, NULL, NULL)) {
		DTC_LOG(context, DTCONV_LOG_INFO,
			"NVRTC %d.%d: nvrtcCreateProgram failed", nvrtc->major,
			nvrtc->minor);
		return NULL;
	}
	if (!nvrtc->CompileProgram(program, DTC_NVRTC_OPTIONS, options->list))
		image = take_image(nvrtc, context, program, bytes);
	if (!image)
		tell_log(nvrtc, context, program);
	nvrtc->DestroyProgram(&program);
	return image;
}
