/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Jobs and batches as they are given to streams: whole, in parts, by clones, waited for or left in flight, and the
 * effects that they have. How bytes are moved is the library's.
 */
#include "config.h"

#include <sched.h>

#include "cuda/order/script.h"

/* What was refused, because no backend is left that could, has moved nothing. */
static bool is_refused(struct script *s, const struct plan *plan, int status,
		       size_t moved)
{
	if (status != DTCONV_ERR_UNSUPPORTED || !plan->backends)
		return false;
	note("  refused: %s\n", context_error(s));
	ck_assert_uint_eq(moved, 0);
	return true;
}

/* A job that has the staging buffers ends by itself. */
static int start(struct dtconv_convertor *convertor, unsigned char *packed, size_t bytes)
{
	int status;

	while ((status = dtconv_convertor_start(convertor, packed, bytes, NULL, NULL)) ==
	       DTCONV_ERR_AGAIN)
		sched_yield();
	return status;
}

/* A part of the job in flight, unless it has ended at once or was refused. */
static void start_part(struct script *s, const struct plan *plan, struct job *job,
		       struct dtconv_convertor *part, size_t position, size_t bytes)
{
	size_t moved = SIZE_MAX;
	int status = DTCONV_INPROGRESS;

	must(s, start(part, plan->packed->arena.memory + plan->at + position, bytes));
	/* A capture's job has ended; whether there is a backend is known at once. */
	if (s->capturing)
		status = dtconv_convertor_wait(part, &moved);
	else if (plan->backends)
		status = dtconv_convertor_test(part, &moved);
	if (is_refused(s, plan, status, moved)) {
		dtconv_convertor_destroy(part);
		return;
	}
	plan_has_moved(s, plan, position, bytes);
	if (status == DTCONV_INPROGRESS) {
		job->expected[job->count] = bytes;
		job->parts[job->count++] = part;
		return;
	}
	must(s, status);
	ck_assert_uint_eq(moved, bytes);
	dtconv_convertor_destroy(part);
}

/* Ends of parts, in order; elements that are not bytes' stay whole where clones have them. */
static int choose_cuts(struct script *s, const struct plan *plan, size_t cuts[PARTS])
{
	const size_t bytes = plan->subject->stage.bytes;
	const bool typed = (plan->how & (EXTERNAL32 | SUM)) && plan->shape == CLONES;
	const size_t unit = typed ? plan->subject->unit : 1;
	const int parts = 2 + (int)choose(&s->choices, PARTS - 1);
	size_t at = 0;

	for (int i = 0; i < parts; i++) {
		at += choose(&s->choices, (bytes - at) / unit + 1) * unit;
		cuts[i] = i == parts - 1 ? bytes : at;
	}
	return parts;
}

static void shuffle(struct script *s, int order[], int count)
{
	for (int i = 0; i < count; i++)
		order[i] = i;
	for (int i = count - 1; i > 0 && chance(&s->choices, 2); i--) {
		int other = (int)choose(&s->choices, (size_t)i + 1), kept = order[i];

		order[i] = order[other];
		order[other] = kept;
	}
}

/* All in flight at once, each by a convertor of its own. */
static void start_clones(struct script *s, const struct plan *plan, struct job *job,
			 struct dtconv_convertor *first)
{
	size_t cuts[PARTS];
	int order[PARTS], parts = choose_cuts(s, plan, cuts);

	shuffle(s, order, parts);
	for (int i = 0; i < parts; i++) {
		const size_t from = order[i] ? cuts[order[i] - 1] : 0;
		struct dtconv_convertor *clone;

		note("  bytes %zu to %zu\n", from, cuts[order[i]]);
		must(s, dtconv_convertor_clone(first, &clone));
		must(s, dtconv_convertor_seek(clone, from));
		start_part(s, plan, job, clone, from, cuts[order[i]] - from);
	}
	dtconv_convertor_destroy(first);
}

/* One after the other, by one convertor, anywhere; the job has then ended. */
static void move_fragments(struct script *s, const struct plan *plan,
			   struct dtconv_convertor *convertor)
{
	size_t cuts[PARTS], moved;
	int order[PARTS], parts = choose_cuts(s, plan, cuts);

	shuffle(s, order, parts);
	for (int i = 0; i < parts; i++) {
		const size_t from = order[i] ? cuts[order[i] - 1] : 0,
			     bytes = cuts[order[i]] - from;

		note("  bytes %zu to %zu\n", from, from + bytes);
		must(s, dtconv_convertor_seek(convertor, from));
		must(s, start(convertor, plan->packed->arena.memory + plan->at + from,
			      bytes));
		must(s, end_of_part(convertor, chance(&s->choices, 2), &moved));
		ck_assert_uint_eq(moved, bytes);
	}
	plan_has_moved(s, plan, 0, plan->subject->stage.bytes);
}

static void move_blocking(struct script *s, const struct plan *plan,
			  struct dtconv_convertor *convertor)
{
	unsigned char *packed = plan->packed->arena.memory + plan->at;
	const size_t bytes = plan->subject->stage.bytes;
	size_t moved = SIZE_MAX;
	int status = plan->unpacks
			     ? dtconv_convertor_unpack(convertor, packed, bytes, &moved)
			     : dtconv_convertor_pack(convertor, packed, bytes, &moved);

	if (is_refused(s, plan, status, moved))
		return;
	must(s, status);
	ck_assert_uint_eq(moved, bytes);
	plan_has_moved(s, plan, 0, bytes);
}

static uint32_t checksum_of(const struct plan *plan)
{
	return dtconv_crc32c(0, plan->packed->model + plan->at,
			     plan->subject->stage.bytes);
}

/* Of a job that has ended. */
static void check_sum(struct script *s, const struct plan *plan,
		      const struct dtconv_convertor *convertor)
{
	uint32_t crc;

	if (!(plan->how & CHECKSUM))
		return;
	must(s, dtconv_convertor_crc32c(convertor, &crc));
	ck_assert_msg(crc == checksum_of(plan), "the checksum is wrong");
}

/* Of one that was started. */
static void expect_sum(const struct plan *plan, struct job *job)
{
	job->summed = job->count && plan->how & CHECKSUM;
	if (job->summed)
		job->crc = checksum_of(plan);
}

static void move(struct script *s, struct plan *plan, struct job *job)
{
	const size_t bytes = plan->subject->stage.bytes;
	struct dtconv_convertor *convertor = plan_bind(s, plan);

	if (plan->shape == WHOLE) {
		start_part(s, plan, job, convertor, 0, bytes);
		expect_sum(plan, job);
		return;
	}
	if (plan->shape == CLONES) {
		start_clones(s, plan, job, convertor);
		return;
	}
	if (plan->shape == BLOCKING)
		move_blocking(s, plan, convertor);
	else
		move_fragments(s, plan, convertor);
	if (!plan->backends)
		check_sum(s, plan, convertor);
	dtconv_convertor_destroy(convertor);
}

void step_job(struct script *s)
{
	struct plan plan;

	if (!choose_plan(s, &plan))
		return;
	if (plan.line != NOBODY && chance(&s->choices, 4))
		hold_line(s, plan.line);
	plan_order(s, &plan);
	plan_note(&plan);
	struct job *job = job_new(s, plan.line);
	job_touch(job, plan.user);
	job_touch(job, plan.packed);
	move(s, &plan, job);
	job_enlist(s, job);
	if (job->number)
		plan_result(&plan)->writer = job->number;
}

void jobs_settle(struct script *s)
{
	struct plan plan = { .subject = &s->subjects[0],
			     .user = &s->subjects[0].users[0],
			     .packed = &s->subjects[0].packed[0],
			     .shape = BLOCKING,
			     .line = NOBODY };
	struct dtconv_convertor *convertor = plan_bind(s, &plan);

	s->begun = true;
	note("settled: ");
	plan_note(&plan);
	move_blocking(s, &plan, convertor);
	dtconv_convertor_destroy(convertor);
	must(s, dtconv_pack(s->subjects[0].stage.type, 1,
			    s->trays[0].arena.memory + plan.subject->origin,
			    s->trays[1].arena.memory, s->largest, NULL));
	arena_read(&s->trays[1].arena, 0, s->trays[1].model, s->trays[1].bytes);
}

/* ---- batches --------------------------------------------------------------------------------- */

static bool has_place(const struct plan plans[], int count, const struct place *place)
{
	for (int i = 0; i < count; i++)
		if (plans[i].user == place || plans[i].packed == place)
			return true;
	return false;
}

/* Moves that have nothing in common. */
static int choose_plans(struct script *s, struct plan plans[ENTRIES])
{
	const int line = choose_line(s), most = 1 + (int)choose(&s->choices, ENTRIES);
	int count = 0;

	for (int i = 0; i < most; i++) {
		struct plan *plan = &plans[count];

		if (!choose_plan(s, plan) || has_place(plans, count, plan->user) ||
		    has_place(plans, count, plan->packed))
			continue;
		plan->how = 0;
		plan->backends = NULL;
		plan->shape = WHOLE;
		plan->line = line;
		count++;
	}
	return count;
}

static struct dtconv_batch_entry entry_of(const struct plan *plan)
{
	const struct stage *stage = &plan->subject->stage;

	return (struct dtconv_batch_entry){
		.type = stage->type,
		.count = stage->count,
		.buffer = plan->user->arena.memory + plan->subject->origin,
		.packed = plan->packed->arena.memory + plan->at,
		.bytes = stage->bytes,
		.direction = plan->unpacks ? DTCONV_BATCH_UNPACK : DTCONV_BATCH_PACK,
		.user_memory = plan_kind_said(plan, plan->user),
		.packed_memory = plan_kind_said(plan, plan->packed),
	};
}

static void make_batch(struct script *s, struct job *job, struct plan plans[], int count)
{
	const struct dtconv_batch_params params = { .struct_size = sizeof(params),
						    .flags = DTCONV_BATCH_STREAM,
						    .stream = s->lines[plans[0].line] };
	struct dtconv_batch_entry entries[ENTRIES];

	for (int i = 0; i < count; i++) {
		entries[i] = entry_of(&plans[i]);
		job->batch_bytes += entries[i].bytes;
		job_touch(job, plans[i].user);
		job_touch(job, plans[i].packed);
	}
	must(s, dtconv_batch_create(s->context, entries, (size_t)count, &params,
				    &job->batch));
}

/* An entry between ordinary memory is the processor's, at once: its memory is at rest before. */
static void order_batch(struct script *s, struct plan plans[], int count)
{
	for (int i = 0; i < count; i++) {
		const int line = plans[i].line;

		plan_note(&plans[i]);
		plan_order(s, &plans[i]);
		if (plans[i].line == NOBODY) {
			hand_over(s, plans[i].user, line);
			hand_over(s, plans[i].packed, line);
		}
		plans[i].line = line;
	}
}

void step_batch(struct script *s)
{
	struct plan plans[ENTRIES];
	int count = choose_plans(s, plans);

	if (!count)
		return;
	const int line = plans[0].line;
	note("stream %d: a batch of %d\n", line, count);
	order_batch(s, plans, count);
	if (chance(&s->choices, 4))
		hold_line(s, line);
	struct job *job = job_new(s, line);
	make_batch(s, job, plans, count);
	must(s, dtconv_batch_start(job->batch, NULL, NULL));
	for (int i = 0; i < count; i++)
		plan_has_moved(s, &plans[i], 0, plans[i].subject->stage.bytes);
	if (s->capturing) {
		end_batch(s, job, false);
		s->kept[s->kept_count++] = job->batch;
		*job = (struct job){ .number = 0 };
		return;
	}
	job_enlist(s, job);
	for (int i = 0; i < count; i++)
		plan_result(&plans[i])->writer = job->number;
}
