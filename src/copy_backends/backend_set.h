/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which backends the planner may choose among: lists of names, from callers and from the environment,
 * and the sets that they become. Why a backend is forbidden is not asked.
 */
#ifndef DTC_BACKEND_SET_H
#define DTC_BACKEND_SET_H

#include <stdbool.h>

#include "context.h"
#include "copy_backends/counters.h"

/* A set of backends: a bit for each index of the registry. */
typedef uint32_t dtc_backend_set;

#define DTC_HOST_BIT ((dtc_backend_set)1 << DTC_HOST_INDEX)

static inline bool dtc_is_forbidden(dtc_backend_set forbidden, size_t index)
{
	return forbidden >> index & 1;
}

/* Whether the processor may not move what a caller who forbids that much asks for. */
static inline bool dtc_is_host_forbidden(const struct dtconv_context *context,
					 dtc_backend_set forbidden)
{
	return (context->forbidden | forbidden) & DTC_HOST_BIT;
}

/*
 * Read "host,cuda_kernel" (these alone, with or without a '=' before) or "^cuda_copy" (all but
 * these). False if a name is none of this build's: @wrong is the text from it on.
 */
bool dtc_backend_set_parse(const char *text, dtc_backend_set *forbidden,
			   const char **wrong);

/* Take what DTCONV_BACKENDS says; what makes no sense is logged, and all are allowed. */
void dtc_backend_set_read_environment(struct dtconv_context *context);

/* Write the names of the backends that are left, with commas between them, or "none". */
void dtc_backend_set_format(dtc_backend_set forbidden, char *text, size_t capacity);

#endif
