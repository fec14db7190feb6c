/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A hash table of incomplete elements: at most two for each fragment boundary whose other side has not
 * arrived.
 */
#include "config.h"

#include "partial_elements.h"

#include <string.h>

#include "base/context.h"

#define FIRST_CAPACITY 8

static size_t home(const struct dtc_partial_elements *elements, uint64_t key)
{
	return (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32) &
	       (elements->capacity - 1);
}

/* The slot of @key, or the free slot to insert it in. */
static struct dtc_partial_element *find(const struct dtc_partial_elements *elements,
					uint64_t key)
{
	size_t at = home(elements, key);

	while (elements->slots[at].key && elements->slots[at].key != key)
		at = (at + 1) & (elements->capacity - 1);
	return &elements->slots[at];
}

static int grow(struct dtc_partial_elements *elements, struct dtconv_context *context)
{
	struct dtc_partial_elements bigger = {
		.capacity = elements->capacity ? 2 * elements->capacity : FIRST_CAPACITY,
		.count = elements->count
	};

	bigger.slots =
		dtc_alloc_zeroed(context, bigger.capacity * sizeof(bigger.slots[0]));
	if (!bigger.slots)
		return DTCONV_ERR_NOMEM;
	for (size_t i = 0; i < elements->capacity; i++)
		if (elements->slots[i].key)
			*find(&bigger, elements->slots[i].key) = elements->slots[i];
	dtc_partial_elements_drop(elements, context);
	*elements = bigger;
	return 0;
}

/* Free a slot and move up later slots that linear probing would no longer find. */
static void remove_slot(struct dtc_partial_elements *elements, size_t hole)
{
	size_t mask = elements->capacity - 1;

	for (size_t at = (hole + 1) & mask; elements->slots[at].key;
	     at = (at + 1) & mask) {
		size_t distance = (at - home(elements, elements->slots[at].key)) & mask;

		if (distance < ((at - hole) & mask))
			continue;
		elements->slots[hole] = elements->slots[at];
		hole = at;
	}
	elements->slots[hole].key = 0;
	elements->count--;
}

static uint32_t mask_of(size_t offset, size_t bytes)
{
	uint32_t ones = bytes >= 32 ? UINT32_MAX : (UINT32_C(1) << bytes) - 1;

	return ones << offset;
}

int dtc_partial_elements_add(struct dtc_partial_elements *elements,
			     struct dtconv_context *context, uint64_t position,
			     size_t size, size_t offset, const unsigned char *data,
			     size_t bytes, unsigned char whole[], bool *complete)
{
	struct dtc_partial_element *slot;

	if (2 * (elements->count + 1) > elements->capacity && grow(elements, context))
		return DTCONV_ERR_NOMEM;
	slot = find(elements, position + 1);
	if (!slot->key) {
		slot->key = position + 1;
		slot->have = 0;
		elements->count++;
	}
	memcpy(slot->bytes + offset, data, bytes);
	slot->have |= mask_of(offset, bytes);
	*complete = slot->have == mask_of(0, size);
	if (*complete) {
		memcpy(whole, slot->bytes, size);
		remove_slot(elements, (size_t)(slot - elements->slots));
	}
	return 0;
}

size_t dtc_partial_elements_bytes(const struct dtc_partial_elements *elements)
{
	size_t bytes = 0;

	for (size_t i = 0; i < elements->capacity; i++)
		if (elements->slots[i].key)
			bytes += (size_t)__builtin_popcount(elements->slots[i].have);
	return bytes;
}

int dtc_partial_elements_copy(struct dtc_partial_elements *copy,
			      const struct dtc_partial_elements *elements,
			      struct dtconv_context *context)
{
	size_t bytes = elements->capacity * sizeof(elements->slots[0]);

	*copy = (struct dtc_partial_elements){ .slots = NULL };
	if (!elements->count)
		return 0;
	copy->slots = dtc_alloc(context, bytes);
	if (!copy->slots)
		return DTCONV_ERR_NOMEM;
	memcpy(copy->slots, elements->slots, bytes);
	copy->capacity = elements->capacity;
	copy->count = elements->count;
	return 0;
}

void dtc_partial_elements_drop(struct dtc_partial_elements *elements,
			       struct dtconv_context *context)
{
	dtc_free(context, elements->slots);
	*elements = (struct dtc_partial_elements){ .slots = NULL };
}
