/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Opens NVRTC and compiles a text with it. The library stays loaded, because unloading NVRTC is
 * unsafe.
 */
#include "config.h"

#include "bench/gpu/compile.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ENTRIES(X)                                                                       \
	X(CreateProgram, (void **, const char *, const char *, int, const char *const *, \
			  const char *const *))                                          \
	X(DestroyProgram, (void **))                                                     \
	X(CompileProgram, (void *, int, const char *const *))                            \
	X(GetProgramLogSize, (void *, size_t *))                                         \
	X(GetProgramLog, (void *, char *))                                               \
	X(GetCUBINSize, (void *, size_t *))                                              \
	X(GetCUBIN, (void *, char *))

#define MEMBER(name, arguments) int(*name) arguments;

struct nvrtc {
	ENTRIES(MEMBER)
};

/* ---- finding it ------------------------------------------------------------------------ */

static void *open_library(void)
{
	static const char *const names[] = { "libnvrtc.so.13", "libnvrtc.so.12",
					     "libnvrtc.so" };
	void *library = NULL;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names) && !library; i++)
		library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	return library;
}

/* Stores through memcpy: an object pointer becomes a function pointer. */
static bool find_entry(void *library, const char *name, void *entry)
{
	void *found = dlsym(library, name);

	memcpy(entry, &found, sizeof(found));
	return found;
}

#define FIND(name, arguments) &&find_entry(library, "nvrtc" #name, &nvrtc->name)

static bool open_nvrtc(struct nvrtc *nvrtc)
{
	void *library = open_library();

	return library ENTRIES(FIND);
}

bool compile_can(char *why, size_t room)
{
	struct nvrtc nvrtc;

	if (open_nvrtc(&nvrtc))
		return true;
	snprintf(why, room, "NVRTC (libnvrtc.so) was not found");
	return false;
}

/* ---- compiling ------------------------------------------------------------------------- */

/* The first line of the compiler's log. */
static void tell_log(const struct nvrtc *nvrtc, void *program, char *why, size_t room)
{
	size_t bytes = 0;
	char *log;

	snprintf(why, room, "NVRTC cannot compile the kernels");
	if (nvrtc->GetProgramLogSize(program, &bytes) || bytes < 2)
		return;
	log = malloc(bytes);
	if (log && !nvrtc->GetProgramLog(program, log))
		snprintf(why, room, "NVRTC: %.*s", (int)strcspn(log, "\n"), log);
	free(log);
}

static void *take_image(const struct nvrtc *nvrtc, void *program, size_t *bytes,
			char *why, size_t room)
{
	void *image = NULL;

	if (!nvrtc->GetCUBINSize(program, bytes) && *bytes)
		image = malloc(*bytes);
	if (image && !nvrtc->GetCUBIN(program, image))
		return image;
	free(image);
	snprintf(why, room, "NVRTC returned no image");
	return NULL;
}

void *compile_kernels(const char *source, const char *const *options, int count,
		      size_t *bytes, char *why, size_t room)
{
	struct nvrtc nvrtc;
	void *program = NULL, *image = NULL;

	if (!open_nvrtc(&nvrtc)) {
		snprintf(why, room, "NVRTC (libnvrtc.so) was not found");
		return NULL;
	}
	if (nvrtc.CreateProgram(&program, source, "kernels.cu", 0, NULL, NULL)) {
		snprintf(why, room, "nvrtcCreateProgram failed");
		return NULL;
	}
	if (nvrtc.CompileProgram(program, count, options))
		tell_log(&nvrtc, program, why, room);
	else
		image = take_image(&nvrtc, program, bytes, why, room);
	nvrtc.DestroyProgram(&program);
	return image;
}
