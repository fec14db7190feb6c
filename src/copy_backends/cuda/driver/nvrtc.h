/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * NVRTC, the run-time compiler for device code, opened with dlopen on first use. Compiling makes no driver call and
 * holds no lock of ours.
 */
#ifndef DTC_CUDA_NVRTC_H
#define DTC_CUDA_NVRTC_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dtconv_context;
struct dtc_text;

/* What is used of it: the name without its prefix, the arguments. Programs are pointers. */
#define DTC_NVRTC_ENTRIES(X)                                                      \
	X(Version, (int *major, int *minor))                                      \
	X(CreateProgram,                                                          \
	  (void **program, const char *source, const char *name, int headers,     \
	   const char *const *texts, const char *const *names))                   \
	X(DestroyProgram, (void **program))                                       \
	X(CompileProgram, (void *program, int count, const char *const *options)) \
	X(GetProgramLogSize, (void *program, size_t *bytes))                      \
	X(GetProgramLog, (void *program, char *text))                             \
	X(GetCUBINSize, (void *program, size_t *bytes))                           \
	X(GetCUBIN, (void *program, char *image))

#define DTC_NVRTC_MEMBER(name, arguments) int(*name) arguments;

struct dtc_nvrtc {
	DTC_NVRTC_ENTRIES(DTC_NVRTC_MEMBER)
	pthread_mutex_t lock; /* of the search */
	_Atomic bool looked;
	const char *reason; /* why there is none, or NULL */
	void *library;
	int major, minor;
};

void dtc_nvrtc_init(struct dtc_nvrtc *nvrtc);
void dtc_nvrtc_close(struct dtc_nvrtc *nvrtc);

/*
 * Find it, of the driver's major version or an older one: the driver loads no newer one's kernels.
 * @driver_version as the driver tells it, 0: any. Answers NULL, or why there is none.
 */
const char *dtc_nvrtc_find(struct dtc_nvrtc *nvrtc, struct dtconv_context *context,
			   int driver_version);

/* The options for devices of @arch: 10 * major + minor of the compute capability. */
#define DTC_NVRTC_OPTIONS 3
struct dtc_nvrtc_options {
	char arch[32];
	const char *list[DTC_NVRTC_OPTIONS];
};
void dtc_nvrtc_set_options(struct dtc_nvrtc_options *options, uint32_t arch);

/*
 * Compile a text. The image is from dtc_alloc, or NULL: the log then says why, at level info. It is
 * found before.
 */
void *dtc_nvrtc_compile(const struct dtc_nvrtc *nvrtc, struct dtconv_context *context,
			const char *source, const struct dtc_nvrtc_options *options,
			size_t *bytes);

#endif
