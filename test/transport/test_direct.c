/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Direct messages between two processes: random types at both ends in device memory of one device and of two, tags in
 * any order, both ways at once, beside messages that are staged. Which messages are copied directly is counted, and
 * compared with what can be. Processes that are killed, channels that are closed, drivers that refuse calls.
 */
#include "config.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exchange.h"
#include "process.h"
#include "support/fixture.h"
#include "support/gpu.h"
#include "transport_glue/offer.h"

/* The tag of the last message, which no random one has. */
#define LAST 1

/* One process's part. */
struct part {
	unsigned flags; /* of its channel */
	enum arena_kind from, to;
	int device;
	long death; /* it kills itself after so many steps; 0: never */
	long end;   /* it closes the channel after so many steps; 0: never */
	const char *
		entry; /* of the driver, that is refused once the channel is open; NULL: none */
	unsigned nth;
};

struct plan {
	uint64_t seed;
	size_t messages;
	size_t least; /* so many of them are direct */
	size_t fragment_bytes;
	bool sleeps;
	struct part parts[2];
};

static struct {
	const struct plan *plan;
	const struct part *part;
	unsigned side;
	struct exchange exchange;
	struct arena arenas[EXCHANGE_MAX];
	struct party party;
} it;

/* ---- buffers --------------------------------------------------------------------------------- */

static struct stage *stage_of(size_t i)
{
	struct exchange_item *item = &it.exchange.items[i];

	return item->is_sent ? &item->source : &item->target;
}

static unsigned char *memory_of(size_t i)
{
	return it.exchange.items[i].is_sent ? stage_of(i)->source_memory
					    : stage_of(i)->target_memory;
}

static void open_buffers(void)
{
	for (size_t i = 0; i < it.exchange.count; i++) {
		struct exchange_item *item = &it.exchange.items[i];
		const struct stage *stage = stage_of(i);
		struct arena *arena = &it.arenas[i];

		if (!item->is_sent)
			stage_blank(&item->target);
		arena_open(arena, item->is_sent ? it.part->from : it.part->to,
			   stage->memory_bytes);
		arena_write(arena, 0, memory_of(i), stage->memory_bytes);
		item->from = arena->memory + (stage->source - stage->source_memory);
		item->to = arena->memory + (stage->target - stage->target_memory);
	}
}

static void read_buffers(void)
{
	for (size_t i = 0; i < it.exchange.count; i++)
		if (!it.exchange.items[i].is_sent)
			arena_read(&it.arenas[i], 0, memory_of(i),
				   stage_of(i)->memory_bytes);
}

static void close_buffers(void)
{
	for (size_t i = 0; i < it.exchange.count; i++)
		arena_close(&it.arenas[i]);
}

/* ---- what is expected ---------------------------------------------------------------------------- */

static bool is_copied_at_once(const struct exchange_item *item)
{
	struct dtconv_copy_explanation e = { .struct_size = sizeof(e) };

	exchange_must(!dtconv_explain_copy_way(item->type, item->count,
					       DTCONV_MEMORY_DEVICE, item->target_type,
					       item->target_count, DTCONV_MEMORY_DEVICE,
					       &e),
		      "an explanation");
	return e.way != DTCONV_COPY_SCRATCH && e.way != DTCONV_COPY_BUFFER;
}

/* The receiver writes to it itself, so it may be any device memory. */
static bool is_device(enum arena_kind kind)
{
	return kind == ARENA_DEVICE || kind == ARENA_ASYNC || kind == ARENA_VMM;
}

static bool is_direct(const struct exchange_item *item)
{
	const unsigned sender = item->is_sent ? it.side : !it.side;
	const struct part *parts = it.plan->parts;
	size_t length;

	exchange_must(dtconv_type_serialise(item->type, NULL, 0, &length) ==
			      DTCONV_ERR_TRUNCATE,
		      "a type as bytes");
	return parts[0].flags & parts[1].flags & DTCONV_CHANNEL_DIRECT &&
	       parts[sender].from == ARENA_DEVICE && is_device(parts[!sender].to) &&
	       item->source.bytes &&
	       length + 16 + DTCONV_IPC_HANDLE_BYTES <= DTC_WIRE_OFFER_BYTES &&
	       is_copied_at_once(item);
}

static void check_counts(void)
{
	const struct dtconv_channel_attr attr = party_query(&it.party);
	uint64_t sent = 0, received = 0;

	for (size_t i = 0; i < it.exchange.count; i++) {
		const struct exchange_item *item = &it.exchange.items[i];

		*(item->is_sent ? &sent : &received) += is_direct(item);
	}
	exchange_must(attr.sent_direct + attr.received_direct >= it.plan->least,
		      "many are sent directly");
	/* One launch may not copy what begins at an odd address. */
	exchange_must(attr.sent_direct <= sent && attr.received_direct <= received,
		      "no others are sent directly");
}

/* ---- a process ------------------------------------------------------------------------------------ */

static void use_device(int device)
{
	CUcontext context;

	if (!device)
		return;
	MUST(DevicePrimaryCtxRetain(&context, device));
	MUST(CtxSetCurrent(context));
}

static bool goes_on(void)
{
	return !exchange_is_done(&it.exchange);
}

static void drive(void)
{
	for (long step = 1; goes_on(); step++) {
		if (step == it.part->death)
			kill(getpid(), SIGKILL);
		if (step == it.part->end)
			exchange_must(!dtconv_channel_close(it.party.channel), "close");
		if (it.plan->sleeps)
			party_sleep(&it.party);
		else if (!party_progress(&it.party))
			sched_yield();
	}
	if (it.part->death)
		kill(getpid(), SIGKILL);
}

static void see(void *arg, int status, size_t moved)
{
	(void)status, (void)moved;
	++*(int *)arg;
}

static bool ends_well(const struct plan *plan)
{
	for (int side = 0; side < 2; side++)
		if (plan->parts[side].death || plan->parts[side].end ||
		    plan->parts[side].entry)
			return false;
	return true;
}

/* Until both processes have given back what they have mapped. If the channel has ended there is nothing to wait for. */
static void meet(void)
{
	uint64_t in = 0, out = party_query(&it.party).sent_direct;
	struct dtconv_type *byte = dtconv_type_predefined(it.party.context, DTCONV_BYTE);
	int sent = 0, received = 0;

	exchange_must(!dtconv_ipc_trim(it.party.context, 0), "trim");
	if (dtconv_channel_recv(it.party.channel, LAST, byte, 8, &in, see, &received) ||
	    dtconv_channel_send(it.party.channel, LAST, byte, 8, &out, see, &sent))
		return;
	while (!sent || !received)
		party_sleep(&it.party);
	exchange_must(!ends_well(it.plan) || in == party_query(&it.party).received_direct,
		      "both processes count the same messages");
}

static bool is_status_of_fault(int status)
{
	const struct part *parts = it.plan->parts;
	const bool refuses = parts[0].entry || parts[1].entry;

	return status == DTCONV_ERR_PEER || status == DTCONV_ERR_CANCELED ||
	       (refuses &&
		(status == DTCONV_ERR_BACKEND || status == DTCONV_ERR_NOMEM ||
		 status == DTCONV_ERR_UNSUPPORTED || status == DTCONV_ERR_STATE));
}

static void check(void)
{
	read_buffers();
	if (ends_well(it.plan)) {
		exchange_check(&it.exchange, 0);
		check_counts();
		return;
	}
	for (size_t i = 0; i < it.exchange.count; i++) {
		const struct exchange_item *item = &it.exchange.items[i];

		exchange_must(item->calls == 1, "one call");
		exchange_must(!item->status || is_status_of_fault(item->status),
			      "a status of the fault");
	}
	exchange_check_right(&it.exchange);
}

static bool open_all(int socket, const struct plan *plan, unsigned side)
{
	const struct party_memory memory = { 4, plan->fragment_bytes };

	it.plan = plan;
	it.part = &plan->parts[side];
	it.side = side;
	exchange_flags = it.part->flags;
	gpu_open();
	use_device(it.part->device);
	/* Until the kernels are loaded, messages are staged. */
	exchange_must(!dtconv_prepare(fixture_context, -1, NULL, 0, NULL), "prepare");
	exchange_open(&it.exchange, fixture_context, side, plan->seed, plan->messages);
	open_buffers();
	party_open(&it.party, fixture_context, socket, memory);
	return true;
}

static void run(int socket, const struct plan *plan, unsigned side)
{
	open_all(socket, plan, side);
	if (it.part->entry)
		gpu_refuse(it.part->entry, it.part->nth);
	exchange_start(&it.exchange, &it.party);
	drive();
	const bool was_refused = it.part->entry && gpu_was_refused();
	if (!it.part->end)
		meet();
	check();
	party_close(&it.party);
	struct dtconv_ipc_attr attr = { .struct_size = sizeof(attr) };
	exchange_must(!dtconv_ipc_query(fixture_context, &attr), "query");
	exchange_must(!attr.open, "nothing is open");
	exchange_must(process_mappings() == 0, "no mapping");
	close_buffers();
	exchange_close(&it.exchange);
	if (side) {
		/* As the fixture does in the first process. */
		dtconv_context_destroy(fixture_context);
		if (it.part->device)
			MUST(DevicePrimaryCtxRelease(it.part->device));
		gpu_must_be_clean("direct messages");
		_exit(was_refused ? 2 : 0);
	}
}

/* The exit status of the second process. */
static int run_both(const struct plan *plan)
{
	int sockets[2], status;

	party_sockets(sockets);
	pid_t child = fork();
	ck_assert_int_ge(child, 0);
	if (!child) {
		close(sockets[0]);
		run(sockets[1], plan, 1);
	}
	close(sockets[1]);
	run(sockets[0], plan, 0);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	return status;
}

/* ---- whole --------------------------------------------------------------------------------------- */

static const struct random_limits large = { .max_entries = 4000,
					    .max_count = 12,
					    .max_span = 32768,
					    .distinct = true,
					    .instances = 8 };

static struct plan plan_of(int salt, size_t messages)
{
	struct choices choices = fixture_choices((uint64_t)salt);
	const struct part part = { .flags = DTCONV_CHANNEL_DIRECT,
				   .from = ARENA_DEVICE,
				   .to = ARENA_DEVICE };

	exchange_limits = large;
	exchange_least = 5000;
	return (struct plan){ .seed = choices.state,
			      .messages = messages,
			      .fragment_bytes = 1024,
			      .sleeps = salt & 1,
			      .parts = { part, part } };
}

/* The second device's ordinal, or 0. Asked in a process of its own: one that is forked from one with a driver has none. */
static int second_device(void)
{
	int status, devices = 0;
	pid_t child = fork();

	if (!child) {
		gpu_open();
		MUST(DeviceGetCount(&devices));
		_exit(devices > 1);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	return WEXITSTATUS(status);
}

/* A real device's contexts take a second each. */
static int cases(int all)
{
	return gpu_is_real() && all > 8 ? 8 : all;
}

/* On one device and on two, if there are; both processes sleep, or both poll. */
START_TEST(random_messages_are_copied_directly)
{
	struct plan plan = plan_of(_i, 40);

	plan.least = 4;
	plan.parts[1].device = _i / 2 % 2 ? second_device() : 0;
	ck_assert_int_eq(run_both(&plan), 0);
}
END_TEST

/*
 * Layouts that users have, to other layouts of the same elements: columns and blocks of them, a transpose, structures,
 * lists, a receive with room for more, no instance at all, and types whose first byte is before or far behind the buffer.
 */
static const struct exchange_pair pairs[] = {
	{ "vector(2000, 1, 3, double)", 1, "contiguous(2000, double)", 1 },
	{ "contiguous(2000, double)", 1, "vector(500, 4, 9, double)", 1 },
	{ "resized(vector(64, 1, 64, double), 0, 8)", 64, "contiguous(4096, double)", 1 },
	{ "resized(vector(64, 1, 64, double), 0, 8)", 64, "vector(64, 64, 70, double)",
	  1 },
	{ "subarray([40, 40, 40], [20, 20, 20], [3, 5, 7], c, int)", 1,
	  "vector(400, 20, 33, int)", 1 },
	{ "struct([1, 3], [0, 8], [double, int])", 700,
	  "resized(struct([1, 3], [16, 32], [double, int]), 0, 64)", 900 },
	{ "indexed([3, 1, 7, 2, 11], [40, 0, 9, 30, 70], int)", 90,
	  "contiguous(2160, int)", 1 },
	{ "hindexed([300, 900], [-4000, 17], byte)", 8, "contiguous(1200, byte)", 9 },
	{ "contiguous(5001, byte)", 1, "hvector(5001, 1, 3, byte)", 2 },
	{ "double", 0, "double", 40 },
	{ "vector(100, 1, 2, double)", 1, "contiguous(100, double)", 1 },
	{ NULL, 0, NULL, 0 }
};

START_TEST(layouts_that_users_have_are_copied_directly)
{
	struct plan plan = plan_of(100 + _i, 60);

	exchange_pairs = pairs;
	plan.least = 30;
	plan.parts[1].device = _i / 2 ? second_device() : 0;
	ck_assert_int_eq(run_both(&plan), 0);
}
END_TEST

/* More than a direction may have under way, of all lengths: eager, staged and direct ones. */
START_TEST(hundreds_of_messages_are_under_way)
{
	struct plan plan = plan_of(200 + _i, EXCHANGE_MAX);

	plan.least = 40;
	ck_assert_int_eq(run_both(&plan), 0);
}
END_TEST

/* Whatever cannot be copied directly is staged: memory that has no handle, buffers of the host, a type that is too long. */
START_TEST(other_memory_is_staged)
{
	static const enum arena_kind kinds[] = { ARENA_HOST,    ARENA_PINNED,
						 ARENA_MANAGED, ARENA_DEVICE,
						 ARENA_ASYNC,   ARENA_VMM };
	struct plan plan = plan_of(300 + _i, 12);

	plan.parts[0].from = plan.parts[1].from = kinds[_i % 6];
	plan.parts[0].to = plan.parts[1].to = kinds[_i / 6];
	ck_assert_int_eq(run_both(&plan), 0);
}
END_TEST

START_TEST(both_processes_have_to_agree)
{
	struct plan plan = plan_of(400 + _i, 12);

	plan.parts[0].flags = _i & 1 ? DTCONV_CHANNEL_DIRECT : 0;
	plan.parts[1].flags = _i & 2 ? DTCONV_CHANNEL_DIRECT : 0;
	ck_assert_int_eq(run_both(&plan), 0);
}
END_TEST

/* 6000 blocks at places of which none follows from another: longer than an offer may be. */
START_TEST(a_type_that_is_too_long_is_staged)
{
	enum { BLOCKS = 6000 };
	static char words[BLOCKS * 14 + 100];
	const struct exchange_pair longest[] = {
		{ words, 1, "contiguous(6000, double)", 1 }, { NULL, 0, NULL, 0 }
	};
	struct plan plan = plan_of(500, 4);
	size_t at = (size_t)sprintf(words, "indexed_block(1, [");

	for (size_t i = 0; i < BLOCKS; i++)
		at += (size_t)sprintf(words + at, "%s%zu", i ? ", " : "",
				      i * 40 + i * i % 37);
	(void)sprintf(words + at, "], double)");
	exchange_pairs = longest;
	ck_assert_int_eq(run_both(&plan), 0);
}
END_TEST

/* ---- ends ------------------------------------------------------------------------------------------ */

/* What has arrived is right, the rest ends with a status, and nothing is left behind. */
START_TEST(a_process_is_killed_at_any_step)
{
	struct plan plan = plan_of(600 + _i, 30);

	/* Each step takes what there is, so that few steps go by. */
	plan.sleeps = false;
	plan.parts[1].death = 1 + _i;
	const int status = run_both(&plan);
	ck_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}
END_TEST

START_TEST(a_channel_is_closed_at_any_step)
{
	struct plan plan = plan_of(700 + _i, 30);

	plan.sleeps = false;
	plan.parts[_i & 1].end = 1 + _i / 2;
	ck_assert_int_eq(run_both(&plan), 0);
}
END_TEST

/* ---- drivers that refuse calls -------------------------------------------------------------------------- */

/* What is refused before anything is in flight leads to staging memory; what fails later ends the message at both ends. */
START_TEST(refused_calls_leave_nothing_behind)
{
	for (unsigned nth = 1; nth < 5; nth++) {
		struct plan plan = plan_of(800 + _i, 3);
		int status;

		exchange_pairs = pairs;
		plan.parts[1].entry = gpu_entries[_i];
		plan.parts[1].nth = nth;
		pid_t child = fork();
		ck_assert_int_ge(child, 0);
		if (!child) {
			const int end = run_both(&plan);

			_exit(WIFEXITED(end) ? WEXITSTATUS(end) : 3);
		}
		ck_assert_int_eq(waitpid(child, &status, 0), child);
		ck_assert(WIFEXITED(status));
		if (!WEXITSTATUS(status))
			break;
		ck_assert_int_eq(WEXITSTATUS(status), 2);
	}
}
END_TEST

int main(void)
{
	setenv("CK_FORK", "yes", 1);
	Suite *suite = suite_create("direct messages");
	TCase *whole = fixture_case(suite, "whole", 120);
	TCase *ends = fixture_case(suite, "ends", 120);
	TCase *faults = fixture_case(suite, "faults", 120);

	gpu_find();
	tcase_add_loop_test(whole, random_messages_are_copied_directly, 0, 8);
	tcase_add_loop_test(whole, layouts_that_users_have_are_copied_directly, 0, 4);
	tcase_add_loop_test(whole, hundreds_of_messages_are_under_way, 0, 2);
	tcase_add_loop_test(whole, other_memory_is_staged, 0, cases(36));
	tcase_add_loop_test(whole, both_processes_have_to_agree, 0, 4);
	tcase_add_test(whole, a_type_that_is_too_long_is_staged);
	tcase_add_loop_test(ends, a_process_is_killed_at_any_step, 0, cases(40));
	tcase_add_loop_test(ends, a_channel_is_closed_at_any_step, 0, cases(40));
	tcase_add_loop_test(faults, refused_calls_leave_nothing_behind, 0,
			    gpu_refusals());
	return fixture_run(suite);
}
