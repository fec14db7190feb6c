/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The contestants: each turn moves one message, or the part of it that its name says.
 */
#include "config.h"

#include "bench/pipeline/contest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- how much of the stream a turn moves ------------------------------------------------- */

static size_t nothing(const struct contest *contest)
{
	(void)contest;
	return 0;
}

static size_t all(const struct contest *contest)
{
	return contest->ends.bytes;
}

static size_t first_fragment(const struct contest *contest)
{
	return contest->ends.bytes < contest->fragment ? contest->ends.bytes
						       : contest->fragment;
}

/* ---- messages ---------------------------------------------------------------------------- */

static int flow_once(struct contest *contest)
{
	return exchange_run(&contest->exchange);
}

/* One fragment after the other, out of the convertor and into the other one. */
static int copies_once(struct contest *contest)
{
	const size_t bytes = contest->ends.bytes;
	int status = dtconv_convertor_seek(contest->packs_too, 0);
	size_t piece = 0;

	if (!status)
		status = dtconv_convertor_seek(contest->unpacks_too, 0);
	for (size_t at = 0; at < bytes && !status; at += contest->fragment) {
		unsigned char *packed =
			contest->ring + piece++ % CONTEST_RING * contest->fragment;
		size_t left = bytes - at, moved = 0;
		size_t length = left < contest->fragment ? left : contest->fragment;

		status =
			dtconv_convertor_pack(contest->packs_too, packed, length, &moved);
		if (!status)
			status = dtconv_convertor_unpack(contest->unpacks_too, packed,
							 length, &moved);
	}
	return status;
}

/* Call through a volatile pointer, so that the compiler cannot remove a call. */
static void *(*volatile copy)(void *restrict, const void *restrict, size_t) = memcpy;

/* As many contiguous bytes, into the fragment and out of it. */
static int memcpy_once(struct contest *contest)
{
	const size_t bytes = contest->ends.bytes;
	size_t piece = 0;

	for (size_t at = 0; at < bytes; at += contest->fragment) {
		unsigned char *packed =
			contest->ring + piece++ % CONTEST_RING * contest->fragment;
		size_t left = bytes - at;
		size_t length = left < contest->fragment ? left : contest->fragment;

		copy(packed, contest->ends.from + at, length);
		copy(contest->ends.to + at, packed, length);
	}
	return 0;
}

/* ---- stages of messages on a device ------------------------------------------------------ */

enum { PACKS = 1, UNPACKS = 2 };

/* Copies of the first bytes of the stream, started together and awaited. */
static int move(struct contest *contest, unsigned which, size_t bytes)
{
	struct dtconv_flight flights[2];
	bool started[2] = { false, false };
	int status = 0;

	if (which & PACKS) {
		status = dtconv_flight_start(contest->packs_too, &flights[0], 0,
					     contest->ends.packed, bytes);
		started[0] = !status;
	}
	if (which & UNPACKS && !status) {
		status = dtconv_flight_start(contest->unpacks_too, &flights[1], 0,
					     contest->ends.other_packed, bytes);
		started[1] = !status;
	}
	for (int i = 0; i < 2; i++) {
		int ended = started[i] ? dtconv_flight_wait(&flights[i], NULL) : 0;

		status = status ? status : ended;
	}
	return status;
}

static int pack_once(struct contest *contest)
{
	return move(contest, PACKS, all(contest));
}

static int unpack_once(struct contest *contest)
{
	return move(contest, UNPACKS, all(contest));
}

/* Both directions of the bus are busy: this takes as long as the slower of them. */
static int stages_once(struct contest *contest)
{
	return move(contest, PACKS | UNPACKS, all(contest));
}

static int pack_first_once(struct contest *contest)
{
	return move(contest, PACKS, first_fragment(contest));
}

static int unpack_first_once(struct contest *contest)
{
	return move(contest, UNPACKS, first_fragment(contest));
}

static int stages_first_once(struct contest *contest)
{
	return move(contest, PACKS | UNPACKS, first_fragment(contest));
}

/* ---- a send and a receive ---------------------------------------------------------------- */

static int duplex_once(struct contest *contest)
{
	return exchange_run(&contest->exchange);
}

static int turns_once(struct contest *contest)
{
	exchange_start_send(&contest->exchange);
	int status = exchange_finish(&contest->exchange);
	if (status)
		return status;
	exchange_start_recv(&contest->exchange);
	return exchange_finish(&contest->exchange);
}

/* ---- the fields -------------------------------------------------------------------------- */

static const struct contestant on_host[] = {
	{ "flow", flow_once, all, nothing, false },
	{ "copies", copies_once, all, nothing, false },
	{ "memcpy", memcpy_once, all, nothing, true },
	{ NULL, NULL, NULL, NULL, false },
};

static const struct contestant on_device[] = {
	{ "flow", flow_once, all, nothing, false },
	{ "stages", stages_once, all, all, false },
	{ "pack", pack_once, nothing, all, false },
	{ "unpack", unpack_once, all, nothing, false },
	{ "stages-first", stages_first_once, first_fragment, first_fragment, false },
	{ "pack-first", pack_first_once, nothing, first_fragment, false },
	{ "unpack-first", unpack_first_once, first_fragment, nothing, false },
	{ NULL, NULL, NULL, NULL, false },
};

static const struct contestant both_ways[] = {
	{ "turns", turns_once, all, nothing, false },
	{ "duplex", duplex_once, all, nothing, false },
	{ NULL, NULL, NULL, NULL, false },
};

const struct contestant *contest_field(const struct contest *contest)
{
	if (contest->kind == CONTEST_DUPLEX)
		return both_ways;
	return contest->on_device ? on_device : on_host;
}

/* ---- a row ------------------------------------------------------------------------------- */

/* The kinds are declared: no time goes into asking for them. */
static int configure(const struct contest *contest, struct dtconv_convertor *convertor)
{
	const struct dtconv_convertor_params params = {
		.struct_size = sizeof(params),
		.user_memory = contest->on_device ? DTCONV_MEMORY_DEVICE
						  : DTCONV_MEMORY_HOST,
		.packed_memory = contest->on_device ? DTCONV_MEMORY_PINNED
						    : DTCONV_MEMORY_HOST
	};

	return dtconv_convertor_configure(convertor, &params);
}

static int create_pack(const struct contest *contest, struct dtconv_convertor **convertor)
{
	const struct ends *ends = &contest->ends;
	int status = dtconv_convertor_create_pack(contest->c->type, contest->c->count,
						  ends->from + ends->user_at, convertor);

	return status ? status : configure(contest, *convertor);
}

static int create_unpack(const struct contest *contest,
			 struct dtconv_convertor **convertor)
{
	const struct ends *ends = &contest->ends;
	int status = dtconv_convertor_create_unpack(contest->c->type, contest->c->count,
						    ends->to + ends->user_at, convertor);

	return status ? status : configure(contest, *convertor);
}

static int create_convertors(struct contest *contest)
{
	int status = create_pack(contest, &contest->packs);

	if (!status)
		status = create_unpack(contest, &contest->unpacks);
	if (!status)
		status = create_pack(contest, &contest->packs_too);
	return status ? status : create_unpack(contest, &contest->unpacks_too);
}

static int open_exchange(struct contest *contest, size_t fragment)
{
	const struct exchange_params params = {
		.context = contest->context,
		.packs = contest->packs,
		.unpacks = contest->unpacks,
		.bytes = contest->ends.bytes,
		.fragment = fragment,
		.pool_kind = contest->on_device ? DTCONV_MEMORY_PINNED
						: DTCONV_MEMORY_HOST,
		.arrived = contest->kind == CONTEST_DUPLEX ? contest->ends.other_packed
							   : NULL
	};

	return exchange_open(&contest->exchange, &params);
}

int contest_open(struct contest *contest, struct dtconv_context *context,
		 const struct bench_case *c, enum contest_kind kind,
		 const struct end_memory *memory, size_t fragment, uint64_t seed)
{
	*contest = (struct contest){ .context = context,
				     .c = c,
				     .kind = kind,
				     .on_device = !strcmp(memory->place, "device"),
				     .fragment = exchange_planned(context, fragment) };
	int status = ends_open(&contest->ends, memory, c, seed);
	if (!status)
		status = create_convertors(contest);
	if (!status)
		status = open_exchange(contest, fragment);
	if (status || contest->on_device)
		return status;
	contest->ring = malloc(CONTEST_RING * contest->fragment);
	if (!contest->ring)
		return DTCONV_ERR_NOMEM;
	/* Every page is there before anything is timed. */
	memset(contest->ring, 1, CONTEST_RING * contest->fragment);
	return 0;
}

int contest_close(struct contest *contest)
{
	int status = exchange_close(&contest->exchange);

	dtconv_convertor_destroy(contest->packs);
	dtconv_convertor_destroy(contest->unpacks);
	dtconv_convertor_destroy(contest->packs_too);
	dtconv_convertor_destroy(contest->unpacks_too);
	free(contest->ring);
	ends_close(&contest->ends);
	return status;
}

/* ---- engines ----------------------------------------------------------------------------- */

static int tell(struct engine *e, const struct contest *contest, int status)
{
	char text[ENGINE_PROBLEM_ROOM];

	if (!status)
		return 0;
	if (!dtconv_context_error(contest->context, text, sizeof(text)))
		snprintf(text, sizeof(text), "%s", dtconv_strerror(status));
	engine_problem(e, "%s", text);
	return -1;
}

static int run(struct engine *e, enum bench_op op, size_t warm, size_t calls, double *ns)
{
	struct contest_turns *turns = e->state;
	struct contest *contest = turns->contest;
	size_t before = 0;
	int status = 0;

	(void)op;
	for (size_t i = 0; i < warm && !status; i++)
		status = turns->contestant->once(contest);
	if (turns->allocations)
		before = *turns->allocations;
	double start = bench_clock();
	for (size_t i = 0; i < calls && !status; i++)
		status = turns->contestant->once(contest);
	*ns = bench_clock() - start;
	if (turns->allocations)
		turns->allocated += *turns->allocations - before;
	return tell(e, contest, status);
}

void contest_engine(struct engine *e, struct contest_turns *turns)
{
	static const struct engine_ops ops = { .run = run };

	memset(e, 0, sizeof(*e));
	snprintf(e->name, sizeof(e->name), "%s", turns->contestant->name);
	e->ops = &ops;
	e->c = turns->contest->c;
	e->state = turns;
	e->raw = turns->contestant->is_raw;
}

int contest_verify(struct engine *e)
{
	const struct contest_turns *turns = e->state;
	struct contest *contest = turns->contest;
	struct exchange *exchange = &contest->exchange;

	if (ends_fill(&contest->ends)) {
		engine_problem(e, "the memory cannot be filled");
		return -1;
	}
	exchange->expected = contest->ends.expected;
	exchange->wrong = 0;
	int status = turns->contestant->once(contest);
	exchange->expected = NULL;
	if (status)
		return tell(e, contest, status);
	if (exchange->wrong) {
		engine_problem(e, "%zu fragments with wrong bytes", exchange->wrong);
		return -1;
	}
	if (e->raw)
		return ends_judge_raw(&contest->ends, e);
	return ends_judge(&contest->ends, e, turns->contestant->unpacked(contest),
			  turns->contestant->packed(contest));
}
