/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory around one (type, count), and the check of what was moved there.
 */
#include "config.h"

#include "support/stage.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <dtconv/type.h>

#include "support/choices.h"
#include "support/ref_typemap.h"

/* Alignment of both memories before they are shifted. */
#define STAGE_LINE 64

/* A verdict on one byte of the target: a gap until something was delivered there. */
enum verdict { VERDICT_GAP, VERDICT_WRONG, VERDICT_RIGHT };

unsigned char stage_guard_byte(size_t offset)
{
	return (unsigned char)(0xa5 ^ offset * 29);
}

void stage_guard(unsigned char *memory, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		memory[i] = stage_guard_byte(i);
}

size_t stage_guard_first_wrong(const unsigned char *memory, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if (memory[i] != stage_guard_byte(i))
			return i;
	return STAGE_RIGHT;
}

void stage_blank(struct stage *stage)
{
	stage_guard(stage->target_memory, stage->memory_bytes);
	memset(stage->delivered, 0, stage->bytes);
}

void stage_deliver(struct stage *stage, size_t from, size_t bytes)
{
	memset(stage->delivered + from, 1, bytes);
}

/* Where a byte of the stream lies in the target's memory. */
static size_t target_offset(const struct stage *stage, size_t position)
{
	return (size_t)(stage->target + stage->map[position] - stage->target_memory);
}

size_t stage_first_wrong(const struct stage *stage)
{
	memset(stage->verdicts, VERDICT_GAP, stage->memory_bytes);
	for (size_t i = 0; i < stage->bytes; i++) {
		size_t offset = target_offset(stage, i);

		if (!stage->delivered[i] || stage->verdicts[offset] == VERDICT_RIGHT)
			continue;
		stage->verdicts[offset] = stage->target_memory[offset] == stage->stream[i]
						  ? VERDICT_RIGHT
						  : VERDICT_WRONG;
	}
	for (size_t i = 0; i < stage->memory_bytes; i++) {
		if (stage->verdicts[i] == VERDICT_WRONG)
			return i;
		if (stage->verdicts[i] == VERDICT_GAP &&
		    stage->target_memory[i] != stage_guard_byte(i))
			return i;
	}
	return STAGE_RIGHT;
}

ptrdiff_t stage_displacement(const struct stage *stage, size_t offset)
{
	return stage->target_memory + offset - stage->target;
}

/* Fetch the place of each byte of the stream from the oracle. */
static int map_bytes(struct stage *stage, enum dtconv_padding padding)
{
	struct ref_typemap typemap = { .count = 0 };
	int failed = -1;

	if (ref_typemap_build(stage->type, padding, STAGE_MAX_STREAM, &typemap))
		return -1;
	if (!typemap.size || stage->count <= STAGE_MAX_STREAM / typemap.size) {
		stage->bytes = stage->count * typemap.size;
		stage->map = malloc((stage->bytes + 1) * sizeof(stage->map[0]));
		failed = stage->map ? 0 : -1;
	}
	if (!failed && stage->bytes)
		ref_typemap_displacements(&typemap, stage->count, stage->map);
	ref_typemap_free(&typemap);
	return failed;
}

/* The lowest and the highest byte of the map. */
static void find_span(struct stage *stage)
{
	ptrdiff_t high = 0;

	for (size_t i = 0; i < stage->bytes; i++) {
		if (i == 0 || stage->map[i] < stage->low)
			stage->low = stage->map[i];
		if (i == 0 || stage->map[i] + 1 > high)
			high = stage->map[i] + 1;
	}
	stage->span = (size_t)high - (size_t)stage->low;
}

/* Allocates one memory and finds displacement 0 in it (which may lie outside it). */
static unsigned char *allocate(const struct stage *stage, size_t shift,
			       unsigned char **origin)
{
	unsigned char *memory = aligned_alloc(STAGE_LINE, stage->memory_bytes);

	if (memory)
		*origin = memory + STAGE_GUARD + shift - stage->low;
	return memory;
}

static int allocate_all(struct stage *stage, size_t source_shift, size_t target_shift)
{
	stage->memory_bytes = (stage->span + 3 * STAGE_GUARD + STAGE_LINE - 1) /
			      STAGE_LINE * STAGE_LINE;
	stage->source_memory = allocate(stage, source_shift, &stage->source);
	stage->target_memory = allocate(stage, target_shift, &stage->target);
	stage->verdicts = malloc(stage->memory_bytes);
	stage->delivered = malloc(stage->bytes + 1);
	stage->stream = malloc(stage->bytes + 1);
	if (!stage->source_memory || !stage->target_memory || !stage->verdicts ||
	    !stage->delivered || !stage->stream)
		return -1;
	return 0;
}

/* Random bytes in the whole source; the stream is read off them through the map. */
static void fill(struct stage *stage, uint64_t seed)
{
	for (size_t i = 0; i < stage->memory_bytes; i += sizeof(seed)) {
		seed = choices_mix(seed);
		memcpy(stage->source_memory + i, &seed, sizeof(seed));
	}
	for (size_t i = 0; i < stage->bytes; i++)
		stage->stream[i] = stage->source[stage->map[i]];
}

int stage_open_padded(struct stage *stage, struct dtconv_type *type, size_t count,
		      enum dtconv_padding padding, size_t source_shift,
		      size_t target_shift, uint64_t seed)
{
	*stage = (struct stage){ .type = type, .count = count };
	if (dtconv_type_commit(type) || map_bytes(stage, padding))
		goto fail;
	find_span(stage);
	if (stage->span > STAGE_MAX_SPAN ||
	    allocate_all(stage, source_shift, target_shift))
		goto fail;
	fill(stage, seed);
	stage_blank(stage);
	return 0;
fail:
	stage_close(stage);
	return -1;
}

int stage_open(struct stage *stage, struct dtconv_type *type, size_t count,
	       size_t source_shift, size_t target_shift, uint64_t seed)
{
	return stage_open_padded(stage, type, count, DTCONV_PADDING_STRUCT, source_shift,
				 target_shift, seed);
}

void stage_close(struct stage *stage)
{
	free(stage->source_memory);
	free(stage->target_memory);
	free(stage->verdicts);
	free(stage->delivered);
	free(stage->stream);
	free(stage->map);
	*stage = (struct stage){ .type = NULL };
}
