/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the application does by itself: it writes to places, by its streams or by the processor, and it reads from
 * them to trays. Asks the library for nothing.
 */
#include "config.h"

#include <string.h>

#include "cuda/order/script.h"

static struct place *choose_place(struct script *s)
{
	struct subject *subject = choose_subject(s);

	return choose_place_of(s,
			       chance(&s->choices, 2) ? subject->users : subject->packed);
}

/* Some bytes of it, mostly all. */
static void choose_range(struct script *s, const struct place *place, size_t *at,
			 size_t *bytes)
{
	*at = chance(&s->choices, 3) ? choose(&s->choices, place->bytes) : 0;
	*bytes = chance(&s->choices, 3) ? 1 + choose(&s->choices, place->bytes - *at)
					: place->bytes - *at;
}

static void write_from_host(struct script *s, struct place *place)
{
	struct effect effect = { .kind = COPY, .to = place };

	choose_range(s, place, &effect.to_at, &effect.bytes);
	note("the processor writes %s\n", place->name);
	come_to_rest(s, place);
	effect_apply(s, &effect);
	if (place_is_plain(place))
		memcpy(place->arena.memory + effect.to_at, s->spring_bytes, effect.bytes);
	else
		arena_write(&place->arena, effect.to_at, s->spring_bytes, effect.bytes);
}

void step_produce(struct script *s)
{
	struct place *place = choose_place(s);
	const int line = choose_line(s);
	struct effect effect = { .kind = chance(&s->choices, 3) ? SET : COPY,
				 .to = place };

	if (!place)
		return;
	if (!s->capturing && chance(&s->choices, 10)) {
		write_from_host(s, place);
		return;
	}
	choose_range(s, place, &effect.to_at, &effect.bytes);
	effect.value = (unsigned char)choose(&s->choices, 256);
	if (place_is_host(place))
		effect.kind = COPY;
	effect.from_at = choose(&s->choices, s->largest);
	if (!s->capturing && chance(&s->choices, 2))
		hold_line(s, line);
	hand_to_driver(s, place, line);
	note("stream %d %s %zu bytes of %s (%s) at %zu\n", line,
	     effect.kind == SET ? "sets" : "writes", effect.bytes, place->name,
	     arena_kind_names[place->arena.kind], effect.to_at);
	if (effect.kind == SET)
		MUST(MemsetD8Async(place_address(place, effect.to_at), effect.value,
				   effect.bytes, s->lines[line]));
	else
		MUST(MemcpyAsync(place_address(place, effect.to_at),
				 (CUdeviceptr)(uintptr_t)s->spring.memory +
					 effect.from_at,
				 effect.bytes, s->lines[line]));
	take_effect(s, &effect);
	driver_has_copied(s, place);
}

/* A tray that is empty now; NULL if there is none and nobody may wait. */
static struct place *choose_tray(struct script *s)
{
	const size_t first = choose(&s->choices, TRAYS);

	for (size_t i = 0; i < TRAYS; i++)
		if (!s->trays[(first + i) % TRAYS].used)
			return &s->trays[(first + i) % TRAYS];
	struct place *tray = &s->trays[first];
	if (s->capturing || tray->in_graph)
		return NULL;
	come_to_rest(s, tray);
	place_check(s, tray, "when another is to come");
	return tray;
}

void step_consume(struct script *s)
{
	struct place *place = choose_place(s), *tray = choose_tray(s);
	const int line = s->capturing ? s->branch : CONSUMER;

	if (!place || !tray)
		return;
	const struct effect effect = {
		.kind = COPY, .to = tray, .from = place, .bytes = place->bytes
	};
	tray->used = true;
	tray->in_graph = s->capturing;
	hand_to_driver(s, place, line);
	hand_over(s, tray, line);
	note("stream %d reads %s (%s) to %s\n", line, place->name,
	     arena_kind_names[place->arena.kind], tray->name);
	MUST(MemcpyAsync(place_address(tray, 0), place_address(place, 0), place->bytes,
			 s->lines[line]));
	take_effect(s, &effect);
	driver_has_copied(s, place);
}
