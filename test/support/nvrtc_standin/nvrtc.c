/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A stand-in libnvrtc.so.13: what it compiles is for the host, and the stand-in libcuda runs it. It takes
 * sources of kernels for one shape only.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/nvrtc_standin/nvrtc.h"
#include "support/special_object.h"

/* What nvrtc answers to a source that does not compile. */
#define COMPILATION_FAILED 6

struct program {
	char *source;
	struct special_image *image;
	size_t image_bytes;
};

/* ---- Steering ---- */

static _Atomic int refusals[NVRTC_CALLS], minor_version, spoilt;
static _Atomic size_t counts[NVRTC_CALLS], alive;

static int begin(enum nvrtc_call call)
{
	counts[call]++;
	return refusals[call];
}

static void refuse(enum nvrtc_call call, int result)
{
	refusals[call] = result;
}

static void set_minor(int minor)
{
	minor_version = minor;
}

static void spoil(int are_spoilt)
{
	spoilt = are_spoilt;
}

static size_t calls(enum nvrtc_call call)
{
	return counts[call];
}

static size_t programs_alive(void)
{
	return alive;
}

#pragma GCC visibility push(default)

const struct nvrtc_standin *nvrtc_standin_control(void)
{
	static const struct nvrtc_standin control = { refuse, set_minor, spoil, calls,
						      programs_alive };
	return &control;
}

/* ---- The library: as much of it as is used ---- */

int nvrtcVersion(int *major, int *minor);
int nvrtcCreateProgram(void **made, const char *source, const char *name, int headers,
		       const char *const *texts, const char *const *names);
int nvrtcDestroyProgram(void **program);
int nvrtcCompileProgram(void *which, int count, const char *const *options);
int nvrtcGetProgramLogSize(void *which, size_t *bytes);
int nvrtcGetProgramLog(void *which, char *text);
int nvrtcGetCUBINSize(void *which, size_t *bytes);
int nvrtcGetCUBIN(void *which, char *image);

#pragma GCC visibility pop

int nvrtcVersion(int *major, int *minor)
{
	*major = 13;
	*minor = minor_version;
	return 0;
}

int nvrtcCreateProgram(void **made, const char *source, const char *name, int headers,
		       const char *const *texts, const char *const *names)
{
	(void)name, (void)headers, (void)texts, (void)names;
	int result = begin(NVRTC_CREATE);
	if (result)
		return result;
	struct program *program = calloc(1, sizeof(*program));
	program->source = strdup(source);
	*made = program;
	alive++;
	return 0;
}

int nvrtcDestroyProgram(void **made)
{
	struct program *program = *made;
	free(program->source);
	free(program->image);
	free(program);
	*made = NULL;
	alive--;
	return 0;
}

/* The object in memory, behind the words that say what it is. */
static int take_object(struct program *program, const char *path)
{
	FILE *file = fopen(path, "rb");
	if (!file)
		return COMPILATION_FAILED;
	fseek(file, 0, SEEK_END);
	size_t bytes = (size_t)ftell(file);
	rewind(file);
	program->image_bytes = sizeof(*program->image) + bytes;
	program->image = calloc(1, program->image_bytes);
	memcpy(program->image->word, SPECIAL_IMAGE_WORD, sizeof(SPECIAL_IMAGE_WORD));
	program->image->bytes = bytes;
	size_t got = fread(program->image + 1, 1, bytes, file);
	fclose(file);
	if (spoilt)
		memcpy(program->image->word, "no binary", 9);
	return got == bytes ? 0 : COMPILATION_FAILED;
}

/* What goes before the kernels' source, which begins with its licence. */
static size_t length_of_shape(const char *source)
{
	const char *rest = strstr(source, "/* SPDX");
	return rest ? (size_t)(rest - source) : 0;
}

int nvrtcCompileProgram(void *which, int count, const char *const *options)
{
	struct program *program = which;
	char path[80];
	int result = begin(NVRTC_COMPILE);
	if (result)
		return result;
	if (count < 1 || strncmp(options[0], "--gpu-architecture=sm_", 22))
		return COMPILATION_FAILED;
	snprintf(path, sizeof(path), "/tmp/nvrtc-standin-%ld-%zu.so", (long)getpid(),
		 (size_t)counts[NVRTC_COMPILE]);
	if (special_object_compile(program->source, length_of_shape(program->source),
				   path))
		return COMPILATION_FAILED;
	result = take_object(program, path);
	unlink(path);
	return result;
}

int nvrtcGetProgramLogSize(void *which, size_t *bytes)
{
	(void)which;
	*bytes = sizeof("refused");
	return 0;
}

int nvrtcGetProgramLog(void *which, char *text)
{
	(void)which;
	strcpy(text, "refused");
	return 0;
}

int nvrtcGetCUBINSize(void *which, size_t *bytes)
{
	int result = begin(NVRTC_GET_SIZE);
	*bytes = ((struct program *)which)->image_bytes;
	return result;
}

int nvrtcGetCUBIN(void *which, char *image)
{
	const struct program *program = which;
	int result = begin(NVRTC_GET_IMAGE);
	if (!result)
		memcpy(image, program->image, program->image_bytes);
	return result;
}
