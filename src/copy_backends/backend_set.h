/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sets of backends that the planner may not choose, read from lists of names that callers and the
 * environment give.
 */
#ifndef DTC_BACKEND_SET_H
#define DTC_BACKEND_SET_H

#include <stdbool.h>

#include "base/context.h"
#include "copy_backends/counters.h"

/* A set of backends: one bit for each index in the registry. */
typedef uint32_t dtc_backend_set;

#define DTC_HOST_BIT ((dtc_backend_set)1 << DTC_HOST_INDEX)

static inline bool dtc_is_forbidden(dtc_backend_set forbidden, size_t index)
{
	return forbidden >> index & 1;
}

/* Whether the host backend is forbidden, by the context or by the caller. */
static inline bool dtc_is_host_forbidden(const struct dtconv_context *context,
					 dtc_backend_set forbidden)
{
	return (context->forbidden | forbidden) & DTC_HOST_BIT;
}

/*
 * Read "host,cuda_kernel" (these alone, with or without a '=' before) or "^cuda_copy" (all but
 * these). False if this build has no backend of a name; then @wrong points to that name.
 */
bool dtc_backend_set_parse(const char *text, dtc_backend_set *forbidden,
			   const char **wrong);

/* Read DTCONV_BACKENDS. An invalid value is logged, and all backends are allowed. */
void dtc_backend_set_read_environment(struct dtconv_context *context);

/* Write the names of the allowed backends, separated by commas, or "none". */
void dtc_backend_set_format(dtc_backend_set forbidden, char *text, size_t capacity);

#endif
