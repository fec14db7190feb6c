/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A small hash table of incomplete elements: two for each fragment boundary whose other side
 * has not arrived.
 */
#include "config.h"

#include "partial_elements.h"

#include <string.h>

#include "context.h"

#define FIRST_CAPACITY 8

static size_t home(const struct dtc_held *held, uint64_t place)
{
	return (size_t)(place * UINT64_C(0x9e3779b97f4a7c15) >> 32) &
	       (held->capacity - 1);
}

/* The slot of @place, or the free one where it belongs. */
static struct dtc_held_element *find(const struct dtc_held *held, uint64_t place)
{
	size_t at = home(held, place);

	while (held->slots[at].place && held->slots[at].place != place)
		at = (at + 1) & (held->capacity - 1);
	return &held->slots[at];
}

static int grow(struct dtc_held *held, struct dtconv_context *context)
{
	struct dtc_held bigger = { .capacity = held->capacity ? 2 * held->capacity
							      : FIRST_CAPACITY,
				   .count = held->count };

	bigger.slots =
		dtc_alloc_zeroed(context, bigger.capacity * sizeof(bigger.slots[0]));
	if (!bigger.slots)
		return DTCONV_ERR_NOMEM;
	for (size_t i = 0; i < held->capacity; i++)
		if (held->slots[i].place)
			*find(&bigger, held->slots[i].place) = held->slots[i];
	dtc_held_drop(held, context);
	*held = bigger;
	return 0;
}

/* Free a slot and move up those behind it that would no longer be found. */
static void remove_slot(struct dtc_held *held, size_t hole)
{
	size_t mask = held->capacity - 1;

	for (size_t at = (hole + 1) & mask; held->slots[at].place; at = (at + 1) & mask) {
		size_t distance = (at - home(held, held->slots[at].place)) & mask;

		if (distance < ((at - hole) & mask))
			continue;
		held->slots[hole] = held->slots[at];
		hole = at;
	}
	held->slots[hole].place = 0;
	held->count--;
}

static uint32_t mask_of(size_t offset, size_t bytes)
{
	uint32_t ones = bytes >= 32 ? UINT32_MAX : (UINT32_C(1) << bytes) - 1;

	return ones << offset;
}

int dtc_held_add(struct dtc_held *held, struct dtconv_context *context, uint64_t position,
		 size_t size, size_t offset, const unsigned char *data, size_t bytes,
		 unsigned char whole[], bool *complete)
{
	struct dtc_held_element *slot;

	if (2 * (held->count + 1) > held->capacity && grow(held, context))
		return DTCONV_ERR_NOMEM;
	slot = find(held, position + 1);
	if (!slot->place) {
		slot->place = position + 1;
		slot->have = 0;
		held->count++;
	}
	memcpy(slot->bytes + offset, data, bytes);
	slot->have |= mask_of(offset, bytes);
	*complete = slot->have == mask_of(0, size);
	if (*complete) {
		memcpy(whole, slot->bytes, size);
		remove_slot(held, (size_t)(slot - held->slots));
	}
	return 0;
}

size_t dtc_held_bytes(const struct dtc_held *held)
{
	size_t bytes = 0;

	for (size_t i = 0; i < held->capacity; i++)
		if (held->slots[i].place)
			bytes += (size_t)__builtin_popcount(held->slots[i].have);
	return bytes;
}

int dtc_held_copy(struct dtc_held *copy, const struct dtc_held *held,
		  struct dtconv_context *context)
{
	size_t bytes = held->capacity * sizeof(held->slots[0]);

	*copy = (struct dtc_held){ .slots = NULL };
	if (!held->count)
		return 0;
	copy->slots = dtc_alloc(context, bytes);
	if (!copy->slots)
		return DTCONV_ERR_NOMEM;
	memcpy(copy->slots, held->slots, bytes);
	copy->capacity = held->capacity;
	copy->count = held->count;
	return 0;
}

void dtc_held_drop(struct dtc_held *held, struct dtconv_context *context)
{
	dtc_free(context, held->slots);
	*held = (struct dtc_held){ .slots = NULL };
}
