/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Jobs and bytes that each backend has moved in a context. Counted without a lock, and only if the
 * context counts; read by name, and logged when the context is destroyed.
 */
#ifndef DTC_BACKEND_COUNTERS_H
#define DTC_BACKEND_COUNTERS_H

#include "base/context.h"

struct dtc_backend_ops;
struct dtc_batch_job;

/* The host backend's index in the registry, for callers that bypass the planner. */
#define DTC_HOST_INDEX 0

/* Count a job of the backend at @index of the registry. */
static inline void dtc_count_job(struct dtconv_context *context, size_t index,
				 uint64_t bytes)
{
	struct dtc_backend_counters *counters = &context->backend_counters[index];

	if (!context->counting)
		return;
	atomic_fetch_add_explicit(&counters->jobs, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&counters->bytes, bytes, memory_order_relaxed);
}

/* The index in the registry of a backend of this build. */
size_t dtc_backend_index_of(const struct dtc_backend_ops *backend);

/* Count each stretch of a batch job as a job. */
void dtc_count_batch(const struct dtc_backend_ops *backend,
		     const struct dtc_batch_job *job);

/* Log the counters that are not 0, if DTCONV_STATS asks for them. */
void dtc_counters_log(struct dtconv_context *context);

#endif
