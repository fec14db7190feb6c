/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An open-addressed hash table from places on an axis to the sum of the signatures that
 * begin there less those that end there.
 */
#include "config.h"

#include "edges.h"

#include <stdlib.h>

#define FIRST_CAPACITY 256
#define MAX_CAPACITY   ((size_t)1 << 21)

/* No place: everything on an axis ends before it. */
#define EMPTY SIZE_MAX

static uint64_t mix(uint64_t value)
{
	value ^= value >> 31;
	value *= 0x9e3779b97f4a7c15u;
	return value ^ value >> 29;
}

uint64_t edges_signature(const size_t *numbers, size_t count)
{
	uint64_t signature = 0x243f6a8885a308d3u;

	for (size_t i = 0; i < count; i++)
		signature = mix(signature + numbers[i]);
	return signature;
}

/* The slot of a place: its own, or the empty one where it goes. */
static size_t find_slot(const struct edges *edges, size_t place)
{
	size_t slot = (size_t)mix(place) & (edges->capacity - 1);

	while (edges->places[slot] != EMPTY && edges->places[slot] != place)
		slot = (slot + 1) & (edges->capacity - 1);
	return slot;
}

static bool make_table(struct edges *edges, size_t capacity)
{
	*edges = (struct edges){ .capacity = capacity };
	edges->places = malloc(capacity * sizeof(edges->places[0]));
	edges->changes = calloc(capacity, sizeof(edges->changes[0]));
	if (!edges->places || !edges->changes) {
		edges_release(edges);
		return false;
	}
	for (size_t i = 0; i < capacity; i++)
		edges->places[i] = EMPTY;
	return true;
}

/* Entries that do not cancel; the others go when the table is made anew. */
static size_t count_live(const struct edges *edges)
{
	size_t live = 0;

	for (size_t i = 0; i < edges->capacity; i++)
		live += edges->places[i] != EMPTY && edges->changes[i] != 0;
	return live;
}

static void move_entries(struct edges *to, const struct edges *from)
{
	for (size_t i = 0; i < from->capacity; i++) {
		size_t slot;

		if (from->places[i] == EMPTY || from->changes[i] == 0)
			continue;
		slot = find_slot(to, from->places[i]);
		to->places[slot] = from->places[i];
		to->changes[slot] = from->changes[i];
		to->count++;
	}
}

/* Make room in the table; if that is not possible, give all of it up. */
static bool make_room(struct edges *edges)
{
	size_t capacity = edges->capacity ? edges->capacity : FIRST_CAPACITY;
	struct edges fresh;

	if (count_live(edges) > capacity / 4)
		capacity *= 2;
	if (capacity > MAX_CAPACITY || !make_table(&fresh, capacity)) {
		edges_release(edges);
		edges->lost = true;
		return false;
	}
	move_entries(&fresh, edges);
	free(edges->places);
	free(edges->changes);
	edges->places = fresh.places;
	edges->changes = fresh.changes;
	edges->capacity = fresh.capacity;
	edges->count = fresh.count;
	return true;
}

static void change(struct edges *edges, size_t place, uint64_t by)
{
	size_t slot;

	if (edges->lost || (edges->count >= edges->capacity / 2 && !make_room(edges)))
		return;
	slot = find_slot(edges, place);
	edges->count += edges->places[slot] == EMPTY;
	edges->places[slot] = place;
	edges->changes[slot] += by;
}

void edges_add(struct edges *edges, size_t first, size_t end, uint64_t signature)
{
	change(edges, first, signature);
	change(edges, end, 0 - signature);
}

static int compare_places(const void *a, const void *b)
{
	size_t left = *(const size_t *)a;
	size_t right = *(const size_t *)b;

	return (left > right) - (left < right);
}

void edges_finish(struct edges *edges)
{
	edges->count = 0;
	for (size_t i = 0; i < edges->capacity; i++) {
		if (edges->places[i] != EMPTY && edges->changes[i] != 0)
			edges->places[edges->count++] = edges->places[i];
	}
	if (edges->count > 0)
		qsort(edges->places, edges->count, sizeof(edges->places[0]),
		      compare_places);
}

void edges_release(struct edges *edges)
{
	free(edges->places);
	free(edges->changes);
	*edges = (struct edges){ .lost = false };
}
