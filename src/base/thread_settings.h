/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How calls of a context are split among threads; threads.h acts on it.
 */
#ifndef DTC_THREAD_SETTINGS_H
#define DTC_THREAD_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

#include <dtconv/context.h>

struct dtc_thread_pool;

/* Tasks of one call, and threads of a context. */
#define DTC_THREADS_MAX 64

struct dtc_threads {
	size_t most;        /* in one call, the caller included; 1: off */
	bool refused;       /* the caller has said 1 */
	size_t share_bytes; /* a thread gets at least as many; SIZE_MAX: off */
	size_t cut_bytes;   /* the packed side is cut at multiples of them */
	dtconv_parallel_fn hook;
	void *hook_arg;
	struct dtc_thread_pool *pool;
};

#endif
