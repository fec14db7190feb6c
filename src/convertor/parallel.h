/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One move in several threads: what is large enough, and where it is cut.
 */
#ifndef DTC_PARALLEL_H
#define DTC_PARALLEL_H

#include "base/context.h"
#include "copy_backends/backend.h"

/* Whether a move of so many bytes may be worth a second thread. */
static inline bool dtc_parallel_is_worth(const struct dtconv_context *context,
					 size_t bytes)
{
	return bytes / 2 >= context->threads.share_bytes;
}

/*
 * Do the job, between host memories, in the context's threads; its cursor stands behind it after.
 * False, and nothing was moved, if one thread is the better choice.
 */
bool dtc_parallel_move(struct dtconv_context *context, const struct dtc_job *job);

#endif
