/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Patterned and fenced memory for tests, with guards around it. Typemaps are used only through
 * the oracle's displacements.
 */
#include "config.h"

#include "support/ref_buffer.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/* Room for the bytes between two unmapped pages. */
static unsigned char *map_fenced(struct ref_buffer *buffer, size_t bytes)
{
	size_t page = page_bytes();
	size_t inside = (bytes + page - 1) / page * page;
	unsigned char *memory;

	buffer->mapping_bytes = inside + 2 * page;
	memory = mmap(NULL, buffer->mapping_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
		      -1, 0);
	if (memory == MAP_FAILED)
		return NULL;
	buffer->mapping = memory;
	if (mprotect(memory + page, inside, PROT_READ | PROT_WRITE)) {
		ref_buffer_destroy(buffer);
		return NULL;
	}
	return memory + page;
}

static int place_fenced(struct ref_buffer *buffer, enum ref_fence fence)
{
	size_t bytes = (size_t)(buffer->high - buffer->low) + REF_GUARD_BYTES;
	unsigned char *memory = map_fenced(buffer, bytes);

	if (!memory)
		return -1;
	if (fence == REF_FENCE_ABOVE) {
		memory += buffer->mapping_bytes - 2 * page_bytes() - bytes;
		buffer->guard_low -= REF_GUARD_BYTES;
	} else {
		buffer->guard_high += REF_GUARD_BYTES;
	}
	buffer->origin =
		(unsigned char *)((uintptr_t)memory - (uintptr_t)buffer->guard_low);
	return 0;
}

static int place_guarded(struct ref_buffer *buffer, size_t misalign)
{
	size_t bytes = (size_t)(buffer->high - buffer->low) + 2 * REF_GUARD_BYTES + 64;
	unsigned char *memory = malloc(bytes);

	if (!memory)
		return -1;
	buffer->mapping = memory;
	buffer->guard_low -= REF_GUARD_BYTES;
	buffer->guard_high += REF_GUARD_BYTES;
	uintptr_t origin = (uintptr_t)memory - (uintptr_t)buffer->guard_low;
	buffer->origin = (unsigned char *)(origin + (misalign - origin) % 64);
	return 0;
}

int ref_buffer_create(ptrdiff_t low, ptrdiff_t high, size_t misalign,
		      enum ref_fence fence, uint64_t seed, struct ref_buffer *buffer)
{
	*buffer = (struct ref_buffer){
		.low = low, .high = high, .guard_low = low, .guard_high = high
	};
	int result = fence == REF_FENCE_NONE ? place_guarded(buffer, misalign)
					     : place_fenced(buffer, fence);
	if (result == 0)
		ref_buffer_fill(buffer, seed);
	return result;
}

int ref_buffer_create_for(const struct ref_typemap *map, size_t count, size_t misalign,
			  enum ref_fence fence, uint64_t seed, struct ref_buffer *buffer)
{
	return ref_buffer_create(ref_typemap_low(map, count),
				 ref_typemap_high(map, count), misalign, fence, seed,
				 buffer);
}

void ref_buffer_fill(struct ref_buffer *buffer, uint64_t seed)
{
	buffer->seed = seed;
	for (ptrdiff_t d = buffer->guard_low; d < buffer->guard_high; d++)
		buffer->origin[d] = ref_pattern(seed, d);
}

void ref_buffer_destroy(struct ref_buffer *buffer)
{
	if (buffer->mapping_bytes > 0)
		munmap(buffer->mapping, buffer->mapping_bytes);
	else
		free(buffer->mapping);
	*buffer = (struct ref_buffer){ 0 };
}

static bool report(ptrdiff_t *wrong, ptrdiff_t disp)
{
	if (wrong)
		*wrong = disp;
	return false;
}

bool ref_buffer_untouched_but(const struct ref_buffer *buffer, ptrdiff_t from,
			      ptrdiff_t to, ptrdiff_t *wrong)
{
	for (ptrdiff_t d = buffer->guard_low; d < buffer->guard_high; d++)
		if ((d < from || d >= to) &&
		    buffer->origin[d] != ref_pattern(buffer->seed, d))
			return report(wrong, d);
	return true;
}

/* What the buffer must hold: the pattern, and over it the stream's bytes where they belong. */
static void expect(const struct ref_buffer *buffer, const ptrdiff_t *places,
		   const unsigned char *packed, size_t from, size_t to,
		   unsigned char *expected)
{
	for (ptrdiff_t d = buffer->guard_low; d < buffer->guard_high; d++)
		expected[d - buffer->guard_low] = ref_pattern(buffer->seed, d);
	for (size_t i = from; i < to; i++)
		expected[places[i] - buffer->guard_low] = packed[i];
}

bool ref_buffer_holds(const struct ref_buffer *buffer, const struct ref_typemap *map,
		      size_t count, const unsigned char *packed, size_t from, size_t to,
		      ptrdiff_t *wrong)
{
	size_t bytes = (size_t)(buffer->guard_high - buffer->guard_low);
	ptrdiff_t *places = malloc((map->size * count + 1) * sizeof(*places));
	unsigned char *expected = malloc(bytes + 1);
	bool holds = true;

	if (!places || !expected)
		abort();
	ref_typemap_displacements(map, count, places);
	expect(buffer, places, packed, from, to, expected);
	for (size_t i = 0; i < bytes && holds; i++)
		if (expected[i] != buffer->origin[buffer->guard_low + (ptrdiff_t)i])
			holds = report(wrong, buffer->guard_low + (ptrdiff_t)i);
	free(places);
	free(expected);
	return holds;
}
