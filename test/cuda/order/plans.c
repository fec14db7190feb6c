/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plans: what a job is to move, between which places, in which stream and how, as it is chosen, written down and
 * told to a convertor. Starts nothing.
 */
#include "config.h"

#include "cuda/order/script.h"

static const char *choose_backends(struct script *s)
{
	static const char *const lists[] = {
		"cuda_kernel",  "cuda_copy",  "cuda_staged",  "cuda_relay", "cuda_bar",
		"^cuda_kernel", "^cuda_copy", "^cuda_staged", "host",
	};

	return lists[choose(&s->choices, sizeof(lists) / sizeof(lists[0]))];
}

static unsigned choose_how(struct script *s, const struct plan *plan)
{
	unsigned how = 0;

	if (plan->subject->unit && chance(&s->choices, 5))
		how |= EXTERNAL32;
	if (plan->subject->adds && plan->unpacks && chance(&s->choices, 3))
		how |= SUM;
	if (plan->shape != CLONES && !s->capturing && chance(&s->choices, 6))
		how |= CHECKSUM;
	return how;
}

static size_t choose_packed_at(struct script *s)
{
	return chance(&s->choices, 2) ? choose(&s->choices, 2 * GUARD + 1)
				      : choose(&s->choices, 3) * GUARD;
}

bool choose_plan(struct script *s, struct plan *plan)
{
	struct subject *subject = choose_subject(s);

	*plan = (struct plan){ .subject = subject,
			       .user = choose_place_of(s, subject->users),
			       .packed = choose_place_of(s, subject->packed),
			       .at = choose_packed_at(s),
			       .unpacks = chance(&s->choices, 2),
			       .hints = chance(&s->choices, 8),
			       .line = choose_line(s) };
	if (!plan->user || !plan->packed)
		return false;
	if (chance(&s->choices, 2))
		plan->shape = (enum shape)choose(&s->choices, SHAPES);
	if (s->capturing && plan->shape == FRAGMENTS)
		plan->shape = WHOLE;
	if (plan->shape != FRAGMENTS && chance(&s->choices, 4))
		plan->backends = choose_backends(s);
	if (!s->capturing && chance(&s->choices, 8))
		plan->line = NOBODY;
	plan->how = choose_how(s, plan);
	return true;
}

void plan_note(const struct plan *plan)
{
	static const char *const shapes[SHAPES] = { "as a whole", "and waits",
						    "in fragments", "by clones" };

	note("stream %d %s %s (%s) %s %s (%s) + %zu %s%s%s%s%s%s%s\n", plan->line,
	     plan->unpacks ? "unpacks" : "packs", plan->user->name,
	     arena_kind_names[plan->user->arena.kind], plan->unpacks ? "from" : "to",
	     plan->packed->name, arena_kind_names[plan->packed->arena.kind], plan->at,
	     shapes[plan->shape], plan->how & EXTERNAL32 ? ", external32" : "",
	     plan->how & SUM ? ", sum" : "", plan->how & CHECKSUM ? ", checksum" : "",
	     plan->hints ? ", told the kinds" : "", plan->backends ? ", by " : "",
	     plan->backends ? plan->backends : "");
}

enum dtconv_memory_kind plan_kind_said(const struct plan *plan, const struct place *place)
{
	static const enum dtconv_memory_kind kinds[ARENA_KINDS] = {
		[ARENA_HOST] = DTCONV_MEMORY_HOST,
		[ARENA_REGISTERED] = DTCONV_MEMORY_PINNED,
		[ARENA_PINNED] = DTCONV_MEMORY_PINNED,
		[ARENA_MANAGED] = DTCONV_MEMORY_MANAGED,
		[ARENA_DEVICE] = DTCONV_MEMORY_DEVICE,
		[ARENA_ASYNC] = DTCONV_MEMORY_DEVICE,
	};

	return plan->hints ? kinds[place->arena.kind] : DTCONV_MEMORY_UNKNOWN;
}

static struct dtconv_convertor_params params_of(const struct script *s,
						const struct plan *plan)
{
	return (struct dtconv_convertor_params){
		.struct_size = sizeof(struct dtconv_convertor_params),
		.representation = plan->how & EXTERNAL32 ? &s->external32 : NULL,
		.op = plan->how & SUM ? DTCONV_OP_SUM : DTCONV_OP_REPLACE,
		.flags = (plan->how & CHECKSUM ? DTCONV_CONVERTOR_CRC32C : 0u) |
			 (plan->line != NOBODY ? DTCONV_CONVERTOR_STREAM : 0u),
		.user_memory = plan_kind_said(plan, plan->user),
		.packed_memory = plan_kind_said(plan, plan->packed),
		.stream = plan->line != NOBODY ? s->lines[plan->line] : NULL,
		.backends = plan->backends,
	};
}

struct dtconv_convertor *plan_bind(const struct script *s, const struct plan *plan)
{
	const struct stage *stage = &plan->subject->stage;
	const struct dtconv_convertor_params params = params_of(s, plan);
	unsigned char *user = plan->user->arena.memory + plan->subject->origin;
	struct dtconv_convertor *convertor;

	must(s, plan->unpacks ? dtconv_convertor_create_unpack(stage->type, stage->count,
							       user, &convertor)
			      : dtconv_convertor_create_pack(stage->type, stage->count,
							     user, &convertor));
	must(s, dtconv_convertor_configure(convertor, &params));
	return convertor;
}

void plan_order(struct script *s, struct plan *plan)
{
	if (place_is_host(plan->user) && place_is_host(plan->packed))
		plan->line = NOBODY;
	if (plan->line == NOBODY) {
		come_to_rest(s, plan->user);
		come_to_rest(s, plan->packed);
		end_jobs_of(s, plan->user);
		end_jobs_of(s, plan->packed);
		return;
	}
	hand_over(s, plan->user, plan->line);
	hand_over(s, plan->packed, plan->line);
}

struct place *plan_result(const struct plan *plan)
{
	return plan->unpacks ? plan->user : plan->packed;
}

void plan_has_moved(struct script *s, const struct plan *plan, size_t position,
		    size_t bytes)
{
	const struct effect effect = {
		.kind = MOVE,
		.to = plan->unpacks ? plan->user : plan->packed,
		.from = plan->unpacks ? plan->packed : plan->user,
		.to_at = plan->unpacks ? 0 : plan->at,
		.from_at = plan->unpacks ? plan->at : 0,
		.bytes = bytes,
		.subject = plan->subject,
		.unpacks = plan->unpacks,
		.how = plan->how,
		.position = position,
	};

	take_effect(s, &effect);
}
