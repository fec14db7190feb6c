/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What each backend has done in a context: counted without a lock and only where counting was asked
 * for, read by name, and told when the context ends.
 */
#ifndef DTC_TALLY_H
#define DTC_TALLY_H

#include "context.h"

struct dtc_backend_ops;
struct dtc_many;

/* The host's place in the registry, known where the planner is not asked. */
#define DTC_HOST_PLACE 0

/* Count a job of the backend in that place of the registry. */
static inline void dtc_tally_job(struct dtconv_context *context, size_t place, uint64_t bytes)
{
	struct dtc_tally *tally = &context->tallies[place];

	if (!context->counting)
		return;
	atomic_fetch_add_explicit(&tally->jobs, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&tally->bytes, bytes, memory_order_relaxed);
}

/* The place in the registry of a backend of this build. */
size_t dtc_tally_place(const struct dtc_backend_ops *backend);

/* Count what a backend moves together: a job each. */
void dtc_tally_many(const struct dtc_backend_ops *backend, const struct dtc_many *many);

/* Write what is not 0 to the log, if the context was asked to. */
void dtc_tally_tell(struct dtconv_context *context);

#endif
