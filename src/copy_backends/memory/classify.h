/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Classifies the memory of a user's buffer. Mostly it is one allocation, and one query is enough.
 * Absolute displacements may lead to any memory, run by run.
 */
#ifndef DTC_CLASSIFY_H
#define DTC_CLASSIFY_H

#include "copy_backends/memory/memory.h"
#include "datatype/bounds.h"
#include "datatype/cursor.h"

/* A user's buffer: the bytes of the stream from the cursor on. */
struct dtc_user_buffer {
	const struct dtc_cursor *cursor; /* at the first byte */
	const struct dtc_bounds *bounds; /* of one instance */
	char *user;
};

/*
 * How many of the next @bytes > 0 bytes are in memory of one kind and one device, which @memory
 * describes. The range of @memory holds all of them, or is empty.
 */
uint64_t dtc_classify_stream(struct dtconv_context *context,
			     const struct dtc_user_buffer *buffer, uint64_t bytes,
			     struct dtc_memory *memory);

/* The same for @bytes > 0 contiguous bytes. */
uint64_t dtc_classify_contiguous(struct dtconv_context *context, const char *start,
				 uint64_t bytes, struct dtc_memory *memory);

#endif
