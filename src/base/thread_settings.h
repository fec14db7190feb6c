/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How the context splits calls among threads; see threads.h.
 */
#ifndef DTC_THREAD_SETTINGS_H
#define DTC_THREAD_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

#include <dtconv/context.h>

struct dtc_thread_pool;

/* The most tasks of a call, and the most threads of a context. */
#define DTC_THREADS_MAX 64

struct dtc_threads {
	size_t most;  /* the most threads of a call, the calling one included; 1: off */
	bool refused; /* the caller has set params.threads to 1 */
	size_t share_bytes; /* the least bytes for each thread; SIZE_MAX: off */
	size_t cut_bytes;   /* the packed side is cut at multiples of this */
	dtconv_parallel_fn hook;
	void *hook_arg;
	struct dtc_thread_pool *pool;
};

#endif
