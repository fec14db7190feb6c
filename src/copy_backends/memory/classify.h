/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which memory a stretch of a stream lies in. Mostly it is one allocation, which one question
 * settles; absolute displacements may lead anywhere, run by run.
 */
#ifndef DTC_CLASSIFY_H
#define DTC_CLASSIFY_H

#include "copy_backends/memory/memory.h"
#include "datatype/bounds.h"
#include "datatype/cursor.h"

/* A user's buffer: where the stream's bytes are. */
struct dtc_user_buffer {
	const struct dtc_cursor *cursor; /* at the first byte */
	const struct dtc_bounds *bounds; /* of one instance */
	char *user;
};

/*
 * How many of the next @bytes > 0 bytes lie in memory of one kind, of one device; @memory says
 * which. Its range is one that holds them all, or empty.
 */
uint64_t dtc_classify_stream(struct dtconv_context *context,
			     const struct dtc_user_buffer *buffer, uint64_t bytes,
			     struct dtc_memory *memory);

/* The same for @bytes > 0 bytes in a row. */
uint64_t dtc_classify_contiguous(struct dtconv_context *context, const char *start,
				 uint64_t bytes, struct dtc_memory *memory);

#endif
