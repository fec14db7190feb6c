/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A stage for one (type, count): memory to pack from and to unpack into, both between guard
 * bytes, and the oracle's packed stream. It checks the bytes, however they were moved.
 */
#ifndef TEST_SUPPORT_STAGE_H
#define TEST_SUPPORT_STAGE_H

#include <stddef.h>
#include <stdint.h>

#include <dtconv/context.h>

struct dtconv_type;

/* Bytes of guard before and after everything; a fragment's packed memory has as many. */
#define STAGE_GUARD 64

/* What stage_first_wrong answers when nothing is. */
#define STAGE_RIGHT SIZE_MAX

/* Larger streams and spans than these are not staged (stage_open answers false). */
#define STAGE_MAX_STREAM ((size_t)1 << 22)
#define STAGE_MAX_SPAN   ((size_t)1 << 24)

struct stage {
	struct dtconv_type *type; /* committed, borrowed */
	size_t count;
	size_t bytes;             /* length of the packed stream */
	ptrdiff_t *map;           /* displacement of each of its bytes */
	unsigned char *stream;    /* the packed stream of source */
	unsigned char *source;    /* displacement 0 of the memory to pack from */
	unsigned char *target;    /* displacement 0 of the memory to unpack into */
	ptrdiff_t low;            /* lowest displacement with data, 0 if there is none */
	size_t span;              /* bytes from there to the end of the highest */
	unsigned char *delivered; /* 1 for each byte of the stream that was unpacked */
	unsigned char *source_memory;
	unsigned char *target_memory;
	unsigned char *verdicts; /* scratch of stage_first_wrong, one a byte of memory */
	size_t memory_bytes;
};

/*
 * Sets a stage, commits the type and fills the source from the seed; source and target begin
 * the given number of bytes (0..63) past a 64-byte boundary. Returns 0, or -1 with everything
 * released if the type is too large to stage or memory is short.
 */
int stage_open(struct stage *stage, struct dtconv_type *type, size_t count,
	       size_t source_shift, size_t target_shift, uint64_t seed);

/* The same for a type of a context with another padding rule. */
int stage_open_padded(struct stage *stage, struct dtconv_type *type, size_t count,
		      enum dtconv_padding padding, size_t source_shift,
		      size_t target_shift, uint64_t seed);
void stage_close(struct stage *stage);

/* Puts guard bytes all over the target; nothing has been delivered. */
void stage_blank(struct stage *stage);

/* The bytes from..from+bytes of the stream have been unpacked into the target. */
void stage_deliver(struct stage *stage, size_t from, size_t bytes);

/*
 * Looks at every byte of the target, guards included: a byte of the typemap that was delivered
 * must have a value that was delivered to it, any other its guard byte. Answers the offset
 * from the start of the memory of the first that is wrong, or STAGE_RIGHT.
 */
size_t stage_first_wrong(const struct stage *stage);

/* The displacement of an offset that stage_first_wrong answered. */
ptrdiff_t stage_displacement(const struct stage *stage, size_t offset);

/* Guard bytes all over a memory, and the first that is no longer there, or STAGE_RIGHT. */
unsigned char stage_guard_byte(size_t offset);
void stage_guard(unsigned char *memory, size_t bytes);
size_t stage_guard_first_wrong(const unsigned char *memory, size_t bytes);

#endif
