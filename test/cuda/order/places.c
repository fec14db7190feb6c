/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Places: memory of every kind, each with plain bytes beside it that tell what it holds when all that has been
 * given is done. Steps have their effects on those here. Knows nothing of streams and jobs.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "cuda/order/script.h"
#include "support/ref_element.h"

CUdeviceptr place_address(const struct place *place, size_t at)
{
	return (CUdeviceptr)(uintptr_t)place->arena.memory + at;
}

void fill_random(struct choices *choices, unsigned char *bytes, size_t count)
{
	uint64_t value = choose(choices, SIZE_MAX);

	for (size_t i = 0; i < count; i++) {
		if (i % 8 == 0)
			value = choices_mix(value + 1);
		bytes[i] = (unsigned char)(value >> i % 8 * 8);
	}
}

void place_open(struct script *s, struct place *place, enum arena_kind kind, size_t bytes)
{
	*place = (struct place){ .bytes = bytes, .model = malloc(bytes) };
	ck_assert_ptr_nonnull(place->model);
	arena_open(&place->arena, kind, bytes);
	fill_random(&s->choices, place->model, bytes);
	arena_write(&place->arena, 0, place->model, bytes);
	if (s->largest < bytes)
		s->largest = bytes;
}

void place_close(struct place *place)
{
	arena_close(&place->arena);
	free(place->model);
}

bool place_is_host(const struct place *place)
{
	return place->arena.kind == ARENA_HOST;
}

bool place_is_plain(const struct place *place)
{
	return place->arena.kind <= ARENA_MANAGED;
}

struct subject *choose_subject(struct script *s)
{
	return &s->subjects[choose(&s->choices, (size_t)s->subject_count)];
}

struct place *choose_place_of(struct script *s, struct place places[])
{
	const size_t first = choose(&s->choices, PLACES);

	for (size_t i = 0; i < PLACES; i++)
		if (!s->capturing || !place_is_host(&places[(first + i) % PLACES]))
			return &places[(first + i) % PLACES];
	return NULL;
}

static size_t first_wrong(const struct place *place, const unsigned char *seen)
{
	size_t at = 0;

	while (at < place->bytes && seen[at] == place->model[at])
		at++;
	return at;
}

void place_compare(const struct place *place, const unsigned char *seen, const char *when)
{
	const size_t at = first_wrong(place, seen);

	if (at < place->bytes)
		ck_abort_msg("byte %zu of %zu of %s (%s) is %#x and should be %#x %s", at,
			     place->bytes, place->name,
			     arena_kind_names[place->arena.kind], seen[at],
			     place->model[at], when);
}

void place_check(const struct script *s, const struct place *place, const char *when)
{
	arena_read(&place->arena, 0, s->seen, place->bytes);
	place_compare(place, s->seen, when);
}

static void move_typed(const struct script *s, const struct effect *effect)
{
	const struct subject *subject = effect->subject;
	const struct dtconv_representation *external32 =
		effect->how & EXTERNAL32 ? &s->external32 : NULL;
	const size_t bytes = subject->stage.bytes, count = subject->stage.count;
	unsigned char *scratch = calloc(bytes, 1);

	ck_assert_ptr_nonnull(scratch);
	if (effect->unpacks) {
		memset(scratch + effect->position, 1, effect->bytes);
		ref_stream_apply(&subject->map, count, external32,
				 effect->how & SUM ? DTCONV_OP_SUM : DTCONV_OP_REPLACE,
				 effect->from->model + effect->from_at, scratch,
				 effect->to->model + subject->origin);
	} else {
		ref_stream_encode(&subject->map, count, external32,
				  effect->from->model + subject->origin, scratch);
		memcpy(effect->to->model + effect->to_at + effect->position,
		       scratch + effect->position, effect->bytes);
	}
	free(scratch);
}

static void move_native(const struct effect *effect)
{
	const struct subject *subject = effect->subject;

	for (size_t i = effect->position; i < effect->position + effect->bytes; i++) {
		const size_t user =
			(size_t)((ptrdiff_t)subject->origin + subject->stage.map[i]);

		if (effect->unpacks)
			effect->to->model[user] =
				effect->from->model[effect->from_at + i];
		else
			effect->to->model[effect->to_at + i] = effect->from->model[user];
	}
}

void effect_apply(const struct script *s, const struct effect *effect)
{
	effect->to->writer = 0;
	if (effect->kind == SET)
		memset(effect->to->model + effect->to_at, effect->value, effect->bytes);
	else if (effect->kind == COPY)
		memcpy(effect->to->model + effect->to_at,
		       effect->from ? effect->from->model + effect->from_at
				    : s->spring_bytes + effect->from_at,
		       effect->bytes);
	else if (effect->how & (EXTERNAL32 | SUM))
		move_typed(s, effect);
	else
		move_native(effect);
}

void take_effect(struct script *s, const struct effect *effect)
{
	if (!s->capturing) {
		effect_apply(s, effect);
		return;
	}
	ck_assert_int_lt(s->effect_count, EFFECTS);
	s->effects[s->effect_count++] = *effect;
}
