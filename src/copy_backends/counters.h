/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What each backend has done in a context: counted without a lock and only where counting was asked
 * for, read by name, and logged when the context ends.
 */
#ifndef DTC_BACKEND_COUNTERS_H
#define DTC_BACKEND_COUNTERS_H

#include "context.h"

struct dtc_backend_ops;
struct dtc_batch_job;

/* The host's index in the registry, known where the planner is not asked. */
#define DTC_HOST_INDEX 0

/* Count a job of the backend at that index of the registry. */
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

/* Count what a backend moves together: a job each. */
void dtc_count_batch(const struct dtc_backend_ops *backend,
		     const struct dtc_batch_job *job);

/* Write what is not 0 to the log, if the context was asked to. */
void dtc_counters_log(struct dtconv_context *context);

#endif
