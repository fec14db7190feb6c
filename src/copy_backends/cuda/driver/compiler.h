/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The thread that compiles specialised kernels. It makes no blocking driver call and holds no lock while it
 * compiles. The first order starts it; closing the backend joins it.
 */
#ifndef DTC_CUDA_COMPILER_H
#define DTC_CUDA_COMPILER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/file_cache.h"
#include "nvrtc.h"

struct dtconv_context;

/* What is to be compiled; its owner keeps it until done has been called or the compiler is closed. */
struct dtc_cuda_order {
	struct dtc_cuda_order *next;
	uint32_t arch;
	/* Write what goes before dtc_gpu_source(). */
	void (*write)(const struct dtc_cuda_order *order, struct dtc_text *text);
	/* Called by the thread. The image is from dtc_alloc and the owner's from now on; NULL: there is none. */
	void (*done)(struct dtc_cuda_order *order, void *image);
};

struct dtc_cuda_compiler {
	struct dtconv_context *context;
	struct dtc_nvrtc nvrtc;
	int driver_version;
	pthread_mutex_t lock;
	pthread_cond_t work;
	pthread_t thread;
	bool running;
	bool ending;
	struct dtc_cuda_order *first, **last;
	struct dtc_file_cache cache; /* the thread's */
};

void dtc_cuda_compiler_init(struct dtc_cuda_compiler *compiler,
			    struct dtconv_context *context, int driver_version);

/* Waits for the kernel that is being compiled; the other orders are dropped. */
void dtc_cuda_compiler_close(struct dtc_cuda_compiler *compiler);

/* False if there is no thread for it. */
bool dtc_cuda_compiler_order(struct dtc_cuda_compiler *compiler,
			     struct dtc_cuda_order *order);

#endif
