/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A host move by several threads: which moves are large enough, and where they are cut.
 */
#ifndef DTC_PARALLEL_H
#define DTC_PARALLEL_H

#include "base/context.h"
#include "copy_backends/backend.h"

/* Whether a move of @bytes may gain from a second thread. */
static inline bool dtc_parallel_is_worth(const struct dtconv_context *context,
					 size_t bytes)
{
	return bytes / 2 >= context->threads.share_bytes;
}

/*
 * Move a job between host memories with the context's threads; its cursor ends behind the job. False,
 * with nothing moved, if one thread is the better choice.
 */
bool dtc_parallel_move(struct dtconv_context *context, const struct dtc_job *job);

#endif
