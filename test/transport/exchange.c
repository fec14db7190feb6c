/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ends of channels, and random messages between them.
 */
#include "config.h"

#include "exchange.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "support/choices.h"

void exchange_must(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "exchange: this does not hold: %s\n", what);
	abort();
}

#define MUST(holds) exchange_must(holds, #holds)

/* ---- an end of a channel ----------------------------------------------------------------- */

const struct dtconv_transport *exchange_transport;
unsigned exchange_flags;
const struct exchange_pair *exchange_pairs;
size_t exchange_least;
struct random_limits exchange_limits = {
	.max_entries = 500, .max_span = 16384, .distinct = true, .instances = 8
};

void party_sockets(int sockets[2])
{
	MUST(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets));
}

void party_open(struct party *party, struct dtconv_context *context, int socket,
		struct party_memory memory)
{
	struct dtconv_channel_params params = { .struct_size = sizeof(params),
						.flags = exchange_flags,
						.kind = DTCONV_MEMORY_HOST,
						.fragments = memory.fragments,
						.fragment_bytes = memory.fragment_bytes };

	party->context = context;
	party->bed = bed_open(context);
	params.transport = exchange_transport ? exchange_transport
					      : bed_transport(party->bed);
	MUST(!dtconv_engine_create(context, NULL, &party->engine));
	MUST(!dtconv_channel_open(party->engine, socket, &params, &party->channel));
}

size_t party_progress(struct party *party)
{
	size_t worked;

	MUST(!dtconv_engine_progress(party->engine, 0, &worked));
	if (!worked)
		bed_pause();
	return worked;
}

/* The end of a process or a ring of the bell makes the descriptor readable. */
void party_sleep(struct party *party)
{
	struct pollfd file = { .fd = dtconv_engine_fd(party->engine), .events = POLLIN };

	size_t worked;

	MUST(!dtconv_engine_progress(party->engine, 0, &worked));
	if (worked || dtconv_engine_arm(party->engine))
		return;
	(void)poll(&file, 1, -1);
}

struct dtconv_channel_attr party_query(struct party *party)
{
	struct dtconv_channel_attr attr = { .struct_size = sizeof(attr) };

	MUST(!dtconv_channel_query(party->channel, &attr));
	return attr;
}

void party_close(struct party *party)
{
	MUST(!dtconv_channel_close(party->channel));
	while (party_query(party).operations)
		(void)party_progress(party);
	const struct dtconv_channel_attr attr = party_query(party);
	MUST(attr.state == DTCONV_CHANNEL_ENDED && attr.status);
	MUST(attr.free == attr.fragments && !attr.waiting);
	MUST(!dtconv_channel_destroy(party->channel));
	MUST(!dtconv_engine_destroy(party->engine));
	bed_close(party->bed);
	party->bed = NULL;
}

/* ---- messages ----------------------------------------------------------------------------- */

/* Instances in a row, one instance, instances with room between them, or room for more of them. */
static void make_target(struct exchange_item *item, struct choices *choices)
{
	struct dtconv_type_attr attr = { .struct_size = sizeof(attr) };

	MUST(!dtconv_type_query(item->type, &attr));
	item->target_count = 1;
	switch (choose(choices, 4)) {
	case 0:
		item->target_type = dtconv_type_ref(item->type);
		item->target_count = item->count;
		return;
	case 1:
		MUST(!dtconv_type_create_contiguous(item->count, item->type,
						    &item->target_type));
		break;
	case 2:
		MUST(!dtconv_type_create_hvector(item->count, 1, 2 * attr.extent,
						 item->type, &item->target_type));
		break;
	default:
		item->target_type = dtconv_type_ref(item->type);
		item->target_count = item->count + choose(choices, 3);
		return;
	}
	MUST(!dtconv_type_commit(item->target_type));
}

static struct dtconv_type *parse(struct dtconv_context *context, const char *words)
{
	struct dtconv_type *type;

	MUST(!dtconv_type_parse(context, words, strlen(words), &type));
	MUST(!dtconv_type_commit(type));
	return type;
}

static void make_pair(struct exchange_item *item, struct dtconv_context *context,
		      struct choices *choices)
{
	size_t count = 0;

	while (exchange_pairs[count].from)
		count++;
	const struct exchange_pair *pair = &exchange_pairs[choose(choices, count)];
	item->type = parse(context, pair->from);
	item->count = pair->count;
	item->target_type = parse(context, pair->to);
	item->target_count = pair->target_count;
}

/* Many of them, one behind the other, so that none overlaps another. */
static void lengthen(struct exchange_item *item, struct choices *choices)
{
	struct dtconv_type_attr attr = { .struct_size = sizeof(attr) };
	struct dtconv_type *type = item->type;

	MUST(!dtconv_type_query(type, &attr));
	if (!attr.size)
		return;
	const size_t gap = choose(choices, 3) * choose(choices, 9);
	MUST(!dtconv_type_create_hvector(exchange_least / attr.size + 1, 1,
					 attr.true_extent + (ptrdiff_t)gap, type,
					 &item->type));
	MUST(!dtconv_type_commit(item->type));
	dtconv_type_unref(type);
	item->count = 1;
}

static bool make_random(struct exchange_item *item, struct dtconv_context *context,
			struct choices *choices, uint64_t seed)
{
	if (random_type(context, seed, &exchange_limits, &item->type))
		return false;
	item->count = choose(choices, 4);
	if (exchange_least && !chance(choices, 4))
		lengthen(item, choices);
	make_target(item, choices);
	return true;
}

static bool make_item(struct exchange_item *item, struct dtconv_context *context,
		      struct choices *choices)
{
	const uint64_t seed = choices->state + choose(choices, 1000);

	memset(item, 0, sizeof(*item));
	if (exchange_pairs)
		make_pair(item, context, choices);
	else if (!make_random(item, context, choices, seed))
		return false;
	item->tag = (uint64_t)choose(choices, EXCHANGE_TAGS) << 62 | 7;
	bool is_open = !stage_open(&item->source, item->type, item->count,
				   choose(choices, 64), 0, seed);
	if (is_open && stage_open(&item->target, item->target_type, item->target_count, 0,
				  choose(choices, 64), seed + 1)) {
		stage_close(&item->source);
		is_open = false;
	}
	if (!is_open) {
		dtconv_type_unref(item->type);
		dtconv_type_unref(item->target_type);
		return false;
	}
	item->from = item->source.source;
	item->to = item->target.target;
	/* The target is to hold what the source has. */
	if (item->source.bytes)
		memcpy(item->target.stream, item->source.stream, item->source.bytes);
	return true;
}

void exchange_open(struct exchange *exchange, struct dtconv_context *context,
		   unsigned side, uint64_t seed, size_t count)
{
	struct choices choices;

	choices_from_seed(&choices, seed);
	exchange->side = side;
	exchange->seed = seed;
	exchange->count = count;
	for (size_t i = 0; i < count;) {
		struct exchange_item *item = &exchange->items[i];

		if (!make_item(item, context, &choices))
			continue;
		item->is_sent = choose(&choices, 2) == side;
		i++;
	}
}

void exchange_close(struct exchange *exchange)
{
	for (size_t i = 0; i < exchange->count; i++) {
		struct exchange_item *item = &exchange->items[i];

		stage_close(&item->source);
		stage_close(&item->target);
		dtconv_type_unref(item->type);
		dtconv_type_unref(item->target_type);
	}
}

static void see(void *arg, int status, size_t moved)
{
	struct exchange_item *item = arg;

	item->calls++;
	item->status = status;
	item->moved = moved;
}

static void start(struct exchange_item *item, struct party *party)
{
	int status = item->is_sent
			     ? dtconv_channel_send(party->channel, item->tag, item->type,
						   item->count, item->from, see, item)
			     : dtconv_channel_recv(party->channel, item->tag,
						   item->target_type, item->target_count,
						   item->to, see, item);

	if (status)
		see(item, status, 0);
}

void exchange_start(struct exchange *exchange, struct party *party)
{
	struct choices choices;

	choices_from_seed(&choices, exchange->seed + exchange->side);
	const size_t first = choose(&choices, EXCHANGE_TAGS);
	const bool begins_with_sends = choose(&choices, 2);
	for (int pass = 0; pass < 2; pass++)
		for (size_t tag = 0; tag < EXCHANGE_TAGS; tag++)
			for (size_t i = 0; i < exchange->count; i++) {
				struct exchange_item *item = &exchange->items[i];
				const bool is_now = item->is_sent ==
						    ((pass == 0) == begins_with_sends);

				if (is_now &&
				    item->tag >> 62 == (first + tag) % EXCHANGE_TAGS)
					start(item, party);
			}
}

bool exchange_is_done(const struct exchange *exchange)
{
	for (size_t i = 0; i < exchange->count; i++)
		if (!exchange->items[i].calls)
			return false;
	return true;
}

void exchange_check_right(const struct exchange *exchange)
{
	for (size_t i = 0; i < exchange->count; i++) {
		const struct exchange_item *item = &exchange->items[i];

		if (item->status)
			continue;
		MUST(item->moved == item->source.bytes);
		if (item->is_sent)
			continue;
		stage_deliver((struct stage *)(uintptr_t)&item->target, 0, item->moved);
		MUST(stage_first_wrong(&item->target) == STAGE_RIGHT);
	}
}

void exchange_check(const struct exchange *exchange, int failure)
{
	for (size_t i = 0; i < exchange->count; i++) {
		const struct exchange_item *item = &exchange->items[i];

		MUST(item->calls == 1);
		MUST(!item->status || item->status == failure);
	}
	exchange_check_right(exchange);
}
