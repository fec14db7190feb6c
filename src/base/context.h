/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The context object, with its allocator: plain data of layer 0. Members that belong to the
 * layers above are opaque here. context_create.c fills it in.
 */
#ifndef DTC_CONTEXT_H
#define DTC_CONTEXT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <dtconv/context.h>

#include "base.h"
#include "thread_settings.h"
#include "thresholds.h"

/* Number of threads whose last error text is kept, and the maximum length of a text. */
#define DTC_ERROR_SLOTS 64
#define DTC_ERROR_TEXT_MAX 384

struct dtc_layout;
struct dtc_mover;
struct dtc_predefined_types;

/*
 * All counters. Each line becomes a member of struct dtconv_counters and a line of the output
 * of DTCONV_STATS. Columns: name, member, meaning.
 */
#define DTC_COUNTERS_LIST(X)                                                             \
	X(TYPES_CREATED, types_created, "derived types constructed")                     \
	X(TYPES_COMMITTED, types_committed, "derived types committed")                   \
	X(TYPES_LIVE, types_live, "derived types not yet released")                      \
	X(PACK_CALLS, pack_calls, "pack calls")                                          \
	X(PACK_BYTES, pack_bytes, "packed bytes they moved")                             \
	X(UNPACK_CALLS, unpack_calls, "unpack calls")                                    \
	X(UNPACK_BYTES, unpack_bytes, "packed bytes they moved")                         \
	X(ERRORS, errors, "calls that failed")                                           \
	X(PARALLEL_MOVES, parallel_moves, "calls split among threads")                   \
	X(LAUNCHES_STRIDED, launches_strided, "launches of strided kernels")             \
	X(LAUNCHES_PERIODIC, launches_periodic, "launches of periodic kernels")          \
	X(LAUNCHES_INDEXED, launches_indexed, "launches of indexed kernels")             \
	X(LAUNCHES_TRANSPOSING, launches_transposing, "launches of transposing kernels") \
	X(LAUNCHES_GENERAL, launches_general, "launches of the general kernel")          \
	X(LAUNCHES_MANY, launches_many, "launches of the batch kernel")                  \
	X(LAUNCHES_TYPED, launches_typed, "launches of typed kernels")                   \
	X(LAUNCHES_COPY, launches_copy, "launches of copies between layouts")            \
	X(GRAPH_LAUNCHES, graph_launches, "launches through graphs")                     \
	X(RESIDENT_JOBS, resident_jobs, "jobs of the resident kernel")                   \
	X(RESIDENT_LAUNCHES, resident_launches, "launches of the resident kernel")       \
	X(FALLBACKS_LOADING, fallbacks_loading,                                          \
	  "jobs copied because no kernels were loaded")                                  \
	X(FALLBACKS_LIMITS, fallbacks_limits,                                            \
	  "jobs copied because they exceed a launch's limits")                           \
	X(FALLBACKS_BLOCKS, fallbacks_blocks, "jobs copied block by block")              \
	X(LAUNCHES_SPECIAL, launches_special, "launches of specialised kernels")         \
	X(KERNELS_COMPILED, kernels_compiled, "specialised kernels compiled")            \
	X(KERNELS_CACHED, kernels_cached, "specialised kernels loaded from the cache")   \
	X(IMAGES_MADE, images_made, "layout programs and maps copied to a device")       \
	X(IMAGES_FOUND, images_found,                                                    \
	  "programs and maps that a job found on the device")                            \
	X(LAUNCHES_MAPPED, launches_mapped, "launches of mapped kernels")

#define DTC_COUNTER_NAME(name, member, what) DTC_COUNT_##name,

enum dtc_counter { DTC_COUNTERS_LIST(DTC_COUNTER_NAME) DTC_COUNTERS };

/* The most backends that a build can have. */
#define DTC_BACKENDS_MAX 16

/* The counters of one backend. */
struct dtc_backend_counters {
	_Atomic uint64_t jobs;
	_Atomic uint64_t bytes;
};

struct dtc_error_slot {
	pthread_t thread;
	uint64_t serial; /* 0: never used; the lowest is overwritten first */
	char text[DTC_ERROR_TEXT_MAX];
};

/*
 * What this process has found out about devices, and the state that vendors keep in the
 * context.
 */
struct dtc_devices {
	bool none;                        /* the caller has promised it */
	bool resident;                    /* small jobs by a resident kernel */
	bool graphs;                      /* launches in graphs */
	bool opens_peers;                 /* to each other, as the caller allows */
	bool default_stream; /* orders jobs without a stream of the caller's */
	_Atomic bool found;               /* a vendor's driver is in the process */
	/*
	 * Why the loaded driver was unusable at the last look: DTCONV_ERR_NOMEM if the
	 * allocator had no memory, DTCONV_ERR_UNSUPPORTED if the driver lacks a function.
	 * Otherwise 0.
	 */
	_Atomic int trouble;
	_Atomic unsigned long long loads; /* objects loaded at the last look */
	void *_Atomic cuda;
};

/* Whether to compile specialised kernels for single shapes. */
enum dtc_specialise {
	DTC_SPECIALISE_OFF,
	DTC_SPECIALISE_ON,     /* for shapes that gain, after enough launches */
	DTC_SPECIALISE_AT_ONCE /* for all shapes; jobs wait for the compiler */
};

struct dtconv_context {
	struct dtconv_allocator allocator;
	dtconv_log_fn log;
	void *log_arg;
	enum dtconv_log_level log_level;
	enum dtconv_padding padding;
	bool counting;
	bool log_counters; /* when the context is destroyed */
	struct dtc_threads threads;
	_Atomic uint64_t counters[DTC_COUNTERS];
	/* Indexed as the registry. */
	struct dtc_backend_counters backend_counters[DTC_BACKENDS_MAX];
	_Atomic uint64_t live_types; /* always counted: destroy checks it */
	struct dtc_predefined_types *predefined;
	const struct dtc_cpu_kernels *cpu;
	struct dtc_tuning tuning;
	struct dtc_tuning_file tuning_file;
	struct dtc_devices devices;
	enum dtc_specialise specialise;
	void *_Atomic
		ipc; /* memory of other processes; NULL: none was opened or exported */
	/* Backends that the environment forbids, see copy_backends/backend_set.h. */
	uint32_t forbidden;
	/* Create the mover of a layout, from dtc_alloc. NULL if the layout has none. */
	int (*make_mover)(const struct dtc_layout *layout, struct dtc_mover **mover);
	pthread_mutex_t error_lock;
	uint64_t error_serial;
	struct dtc_error_slot errors[DTC_ERROR_SLOTS];
};

/*
 * Memory for the library's own objects: uninitialised, aligned for any type; NULL if there is
 * none.
 */
DTC_PRIVATE_API void *dtc_alloc(struct dtconv_context *context, size_t bytes);
DTC_PRIVATE_API void *dtc_alloc_zeroed(struct dtconv_context *context, size_t bytes);
DTC_PRIVATE_API void dtc_free(struct dtconv_context *context, void *memory);

static inline void dtc_context_count(struct dtconv_context *context, enum dtc_counter counter,
				     uint64_t amount)
{
	if (context->counting)
		atomic_fetch_add_explicit(&context->counters[counter], amount,
					  memory_order_relaxed);
}

#endif
