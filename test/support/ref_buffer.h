/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory for tests, filled with a pattern that depends on the place: a user's buffer for so
 * many instances of a typemap, and packed memory, both between guard bytes or unmapped pages.
 * Every byte knows what it must hold, so that a stray store anywhere near is found.
 */
#ifndef TEST_SUPPORT_REF_BUFFER_H
#define TEST_SUPPORT_REF_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/ref_typemap.h"

/** Guard bytes at either end of an unfenced buffer. */
#define REF_GUARD_BYTES 128

/** What lies beyond a buffer's ends. */
enum ref_fence {
	REF_FENCE_NONE, /**< guard bytes at both ends */
	REF_FENCE_BELOW, /**< an unmapped page just before the first byte, guard bytes above */
	REF_FENCE_ABOVE /**< an unmapped page just after the last byte, guard bytes below */
};

/** Memory whose byte at displacement d holds ref_pattern(seed, d) until somebody stores. */
struct ref_buffer {
	unsigned char *origin; /**< displacement 0; may lie outside the memory */
	ptrdiff_t low;         /**< lowest displacement of use, guards not counted */
	ptrdiff_t high;        /**< one past the highest */
	ptrdiff_t guard_low;   /**< lowest displacement that may be read at all */
	ptrdiff_t guard_high;  /**< one past the highest */
	uint64_t seed;         /**< of the pattern */
	void *mapping;         /**< what is given back */
	size_t mapping_bytes;  /**< its length */
};

/** The byte that belongs at a displacement. */
static inline unsigned char ref_pattern(uint64_t seed, ptrdiff_t disp)
{
	return (unsigned char)(((seed ^ (uint64_t)disp) * 0x9e3779b97f4a7c15u) >> 56);
}

/**
 * Make a buffer for displacements low to high (exclusive), filled with the pattern.
 * @param misalign the address of displacement 0 modulo 64 (without a fence only).
 * @return 0, or -1 if memory is short.
 */
int ref_buffer_create(ptrdiff_t low, ptrdiff_t high, size_t misalign,
		      enum ref_fence fence, uint64_t seed, struct ref_buffer *buffer);

/** The same for `count` instances of a typemap. */
int ref_buffer_create_for(const struct ref_typemap *map, size_t count, size_t misalign,
			  enum ref_fence fence, uint64_t seed, struct ref_buffer *buffer);

/** Fill everything, guards too, with the pattern of another seed. */
void ref_buffer_fill(struct ref_buffer *buffer, uint64_t seed);

/** Give the memory back. */
void ref_buffer_destroy(struct ref_buffer *buffer);

/**
 * Are all bytes but those in [from, to) as the pattern says?
 * @param wrong [out] the first displacement that is not; may be NULL.
 */
bool ref_buffer_untouched_but(const struct ref_buffer *buffer, ptrdiff_t from,
			      ptrdiff_t to, ptrdiff_t *wrong);

/**
 * After unpacking bytes [from, to) of the packed stream: does every byte of the user's buffer
 * hold what the oracle says, those of the stream from `packed` (the whole stream, its
 * elements not overlapping), all others the pattern?
 * @param wrong [out] the first displacement that is not so; may be NULL.
 */
bool ref_buffer_holds(const struct ref_buffer *buffer, const struct ref_typemap *map,
		      size_t count, const unsigned char *packed, size_t from, size_t to,
		      ptrdiff_t *wrong);

#endif
