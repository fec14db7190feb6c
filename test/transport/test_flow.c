/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sends and receives over the loopback: every layout and cut, networks that misbehave, ends of every kind, pools of
 * one and two fragments.
 */
#include "config.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "scene.h"
#include "support/layouts.h"

static const char *const long_text = "vector(3000, 3, 5, int)"; /* 36000 bytes */

static const struct scene_pool pools[] = { { 1, 1 },     { 1, 7 },    { 2, 64 },
					   { 3, 1000 },  { 5, 4096 }, { 40, 300 },
					   { 1, 100000 } };

#define POOLS (sizeof(pools) / sizeof(pools[0]))

/* ---- bytes ----------------------------------------------------------------------------- */

START_TEST(every_layout_arrives_through_every_pool)
{
	const struct loopback_faults faults = { .delay = 3, .split = 3, .duplicate = 4 };
	struct scene scene;

	/* Overlapping bytes of a type are stored in any order. */
	if (layouts[_i].overlaps)
		return;
	for (size_t i = 0; i < POOLS; i++) {
		scene_open(&scene, layouts[_i].text, 3, pools[i], &faults, (uint64_t)_i);
		scene_start(&scene);
		scene_drive(&scene);
		scene_check(&scene, 0, 0);
		scene_close(&scene);
	}
}
END_TEST

START_TEST(ordered_sends_emit_in_order)
{
	const struct loopback_faults faults = { .delay = 5, .refuse = 3, .capacity = 2 };
	struct scene scene;

	scene_open(&scene, long_text, 1, pools[3], &faults, 7);
	scene.send_params.flags = DTCONV_SEND_ORDERED;
	scene_start(&scene);
	scene_drive(&scene);
	scene_check(&scene, 0, 0);
	ck_assert_uint_eq(scene.link.out_of_order, 0);
	ck_assert_uint_gt(scene.link.refused, 0);
	scene_close(&scene);
}
END_TEST

struct harmless {
	const char *name;
	struct loopback_faults faults;
};

static const struct harmless harmless[] = {
	{ "nothing", { 0 } },
	{ "delays", { .delay = 20 } },
	{ "refusals", { .refuse = 2 } },
	{ "one packet at a time", { .capacity = 1, .delay = 2 } },
	{ "duplicates", { .duplicate = 1, .delay = 9 } },
	{ "parts", { .split = 1, .delay = 9 } },
	{ "copies", { .copies = true, .delay = 3 } },
	{ "sent within emit", { .copies = true, .early = true, .delay = 3 } },
	{ "all of it",
	  { .copies = true,
	    .delay = 9,
	    .refuse = 3,
	    .duplicate = 2,
	    .split = 2,
	    .capacity = 4 } },
};

#define HARMLESS (sizeof(harmless) / sizeof(harmless[0]))

START_TEST(a_network_that_delivers_all_is_enough)
{
	const struct loopback_faults *faults = &harmless[(size_t)_i % HARMLESS].faults;
	struct scene scene;

	for (unsigned depth = 1; depth <= 16; depth += depth < 4 ? 1 : 6) {
		scene_open(&scene, long_text, 1, pools[(size_t)_i / HARMLESS], faults,
			   depth);
		scene.send_params.depth = depth;
		scene_start(&scene);
		scene_drive(&scene);
		scene_check(&scene, 0, 0);
		scene_close(&scene);
	}
}
END_TEST

START_TEST(fragments_are_cut_as_asked)
{
	struct scene scene;

	/* 4096 is the pool's; a cut of 1000 bytes is rounded down to 896. */
	scene_open(&scene, long_text, 1, (struct scene_pool){ 4, 4096 }, NULL, 1);
	scene.send_params.fragment_bytes = _i ? 1000 : 0;
	scene_start(&scene);
	scene_drive(&scene);
	scene_check(&scene, 0, 0);
	ck_assert_uint_eq(scene.link.emitted, _i ? 41 : 9);
	scene_close(&scene);
}
END_TEST

/* What one fragment holds is one fragment, also if a cut would be elsewhere. */
START_TEST(a_message_that_fits_is_not_cut)
{
	const char *text = _i ? "contiguous(1001, byte)" : "contiguous(1000, byte)";
	struct scene scene;

	scene_open(&scene, text, 1, (struct scene_pool){ 4, 4096 }, NULL, 1);
	scene.send_params.fragment_bytes = 1000;
	scene_start(&scene);
	scene_drive(&scene);
	scene_check(&scene, 0, 0);
	ck_assert_uint_eq(scene.link.emitted, _i ? 2 : 1);
	scene_close(&scene);
}
END_TEST

/* A represented stream is cut between numbers where fragments are long enough. */
START_TEST(represented_streams_arrive)
{
	const struct loopback_faults faults = { .delay = 5, .split = 3, .duplicate = 3 };
	struct dtconv_convertor_params params = { .struct_size = sizeof(params) };
	struct dtconv_representation external32;
	struct scene scene;

	fixture_ok(dtconv_representation_find("external32", &external32));
	params.representation = &external32;
	for (size_t i = 0; i < POOLS; i++) {
		scene_open(&scene, "struct([2, 1], [0, 16], [double, short])", 40,
			   pools[i], &faults, i);
		fixture_ok(dtconv_convertor_configure(scene.packs, &params));
		fixture_ok(dtconv_convertor_configure(scene.unpacks, &params));
		scene.link.expected = NULL;
		scene_start(&scene);
		scene_drive(&scene);
		scene_check(&scene, 0, 0);
		scene_close(&scene);
	}
}
END_TEST

START_TEST(an_operation_adds_each_byte_once)
{
	const struct loopback_faults faults = { .delay = 5, .duplicate = 1, .split = 1 };
	struct dtconv_convertor_params params = { .struct_size = sizeof(params) };
	struct dtconv_type *type = fixture_type("contiguous(1000, int)");
	struct scene scene;
	static int32_t numbers[1000], sums[1000];

	for (int i = 0; i < 1000; i++) {
		numbers[i] = i;
		sums[i] = 5;
	}
	scene_open(&scene, "contiguous(1000, int)", 1, pools[3], &faults, 4);
	scene.link.expected = NULL;
	fixture_ok(dtconv_convertor_rebind_pack(scene.packs, type, 1, numbers));
	fixture_ok(dtconv_convertor_rebind_unpack(scene.unpacks, type, 1, sums));
	params.op = DTCONV_OP_SUM;
	fixture_ok(dtconv_convertor_configure(scene.unpacks, &params));
	scene_start(&scene);
	scene_drive(&scene);
	ck_assert_int_eq(scene.received.status, 0);
	for (int i = 0; i < 1000; i++)
		ck_assert_int_eq(sums[i], i + 5);
	scene_close(&scene);
	dtconv_type_unref(type);
}
END_TEST

START_TEST(an_empty_message_is_done_at_once)
{
	struct scene scene;

	scene_open(&scene, long_text, 0, pools[2], NULL, 1);
	scene_start(&scene);
	ck_assert_int_eq(scene.sent.calls + scene.received.calls, 0);
	scene_progress(&scene);
	scene_check(&scene, 0, 0);
	ck_assert_uint_eq(scene.link.emitted, 0);
	scene_close(&scene);
}
END_TEST

START_TEST(a_message_may_be_shorter_than_the_receive)
{
	struct scene scene;

	scene_open(&scene, long_text, 1, pools[3], NULL, 1);
	scene.recv_params.flags = DTCONV_RECV_BYTES;
	scene.recv_params.bytes = 5000;
	fixture_ok(dtconv_recv_start(scene.engine, &scene.recv_params, scene.unpacks,
				     &scene.recv));
	fixture_ok(dtconv_recv_deliver(scene.recv, 2000, scene.stage.stream + 2000, 3000,
				       NULL, NULL));
	scene_progress(&scene);
	ck_assert_int_eq(scene.received.calls, 0);
	fixture_ok(
		dtconv_recv_deliver(scene.recv, 0, scene.stage.stream, 2000, NULL, NULL));
	scene_progress(&scene);
	ck_assert_int_eq(scene.received.calls, 1);
	ck_assert_uint_eq(scene.received.moved, 5000);
	stage_deliver(&scene.stage, 0, 5000);
	fixture_arrived(&scene.stage);
	ck_assert_int_eq(dtconv_recv_deliver(scene.recv, 0, scene.stage.stream, 1, NULL,
					     NULL),
			 DTCONV_ERR_STATE);
	ck_assert_int_eq(dtconv_recv_cancel(scene.recv), DTCONV_ERR_STATE);
	scene_close(&scene);
}
END_TEST

/* ---- failures -------------------------------------------------------------------------- */

struct harm {
	const char *name;
	struct loopback_faults faults;
	int sent, received;
};

static const struct harm harms[] = {
	{ "emit fails",
	  { .fail_emit = 9, .delay = 4 },
	  DTCONV_ERR_PEER,
	  DTCONV_ERR_PEER },
	{ "the first emit fails", { .fail_emit = 1 }, DTCONV_ERR_PEER, DTCONV_ERR_PEER },
	{ "sent with an error",
	  { .fail_sent = 9, .delay = 4 },
	  DTCONV_ERR_PEER,
	  DTCONV_ERR_PEER },
	{ "lost", { .lose = 9, .delay = 4 }, 0, DTCONV_ERR_PEER },
	{ "too long", { .lengthen = 9, .delay = 4 }, 0, DTCONV_ERR_TRUNCATE },
};

#define HARMS (sizeof(harms) / sizeof(harms[0]))

START_TEST(a_failure_ends_the_operation_once)
{
	const struct harm *harm = &harms[(size_t)_i % HARMS];
	struct scene scene;

	for (uint64_t seed = 0; seed < 20; seed++) {
		scene_open(&scene, long_text, 1, pools[2 + (size_t)_i / HARMS],
			   &harm->faults, seed);
		scene_start(&scene);
		scene_drive(&scene);
		/* A fault in so few packets may not have happened. */
		const bool happened = scene.sent.status || scene.received.status;
		scene_check(&scene, scene.sent.status ? harm->sent : 0,
			    happened ? (scene.received.status ? harm->received : 0) : 0);
		scene_close(&scene);
	}
}
END_TEST

/* Cancelled after so many calls of progress, the send or the receive. */
START_TEST(cancelling_waits_for_what_is_out)
{
	const struct loopback_faults faults = { .delay = 6, .capacity = 3 };
	struct scene scene;

	for (int tick = 0; tick < 30; tick++) {
		scene_open(&scene, long_text, 1, pools[4], &faults, (uint64_t)tick);
		scene_start(&scene);
		for (int i = 0; i < tick; i++)
			scene_progress(&scene);
		int status = _i ? dtconv_recv_cancel(scene.recv)
				: dtconv_send_cancel(scene.send);
		ck_assert(status == 0 || status == DTCONV_ERR_STATE);
		size_t out = scene.link.emitted - scene.link.sent;
		if (!_i && !status && out) {
			/* Not before the network has given its fragments back. */
			ck_assert_int_eq(scene.sent.calls, 0);
		}
		scene_drive(&scene);
		int expected = status ? 0 : DTCONV_ERR_CANCELED;
		/* All of it may have been on the way already. */
		if (!_i && scene.received.status)
			ck_assert_int_eq(scene.received.status, DTCONV_ERR_PEER);
		scene_check(&scene, _i ? 0 : expected,
			    _i ? expected : scene.received.status);
		scene_close(&scene);
	}
}
END_TEST

/* A network that never reports: the send waits for its fragments, whatever else happens. */
static int keep(void *arg, struct dtconv_fragment *fragment, uint64_t offset,
		size_t bytes, unsigned flags)
{
	struct dtconv_fragment **kept = arg;

	(void)offset;
	(void)bytes;
	(void)flags;
	while (*kept)
		kept++;
	*kept = fragment;
	return 0;
}

static int done_calls, done_status;

static void count_done(void *arg, int status, size_t moved)
{
	(void)arg;
	(void)moved;
	done_calls++;
	done_status = status;
}

/* Cancelled, or one of the reports is a failure. */
START_TEST(no_fragment_is_taken_back_from_the_network)
{
	struct dtconv_fragment *kept[8] = { NULL };
	struct scene scene;

	scene_open(&scene, long_text, 1, (struct scene_pool){ 4, 1000 }, NULL, 1);
	scene.send_params.emit = keep;
	scene.send_params.done = count_done;
	scene.send_params.arg = kept;
	done_calls = 0;
	fixture_ok(dtconv_send_start(scene.engine, &scene.send_params, scene.packs,
				     &scene.send));
	for (int i = 0; i < 10; i++)
		scene_progress(&scene);
	ck_assert_ptr_nonnull(kept[3]);
	ck_assert_ptr_null(kept[4]);
	if (_i)
		dtconv_fragment_sent(kept[0], DTCONV_ERR_LIMIT);
	else
		fixture_ok(dtconv_send_cancel(scene.send));
	for (int i = _i; i < 4; i++) {
		for (int k = 0; k < 10; k++)
			scene_progress(&scene);
		ck_assert_int_eq(done_calls, 0);
		fixture_status(dtconv_send_destroy(scene.send), DTCONV_ERR_STATE);
		fixture_status(dtconv_engine_destroy(scene.engine), DTCONV_ERR_STATE);
		/* The first failure counts. */
		dtconv_fragment_sent(kept[i], _i ? DTCONV_ERR_PEER : 0);
	}
	scene_progress(&scene);
	ck_assert_ptr_null(kept[4]);
	ck_assert_int_eq(done_calls, 1);
	ck_assert_int_eq(done_status, _i ? DTCONV_ERR_LIMIT : DTCONV_ERR_CANCELED);
	scene_close(&scene);
}
END_TEST

static void sleep_on(struct dtconv_engine *engine)
{
	struct pollfd sleeper = { .fd = dtconv_engine_fd(engine), .events = POLLIN };

	if (!dtconv_engine_arm(engine))
		ck_assert_int_eq(poll(&sleeper, 1, 10000), 1);
}

/* Two sends and one fragment: the first keeps it, the second waits for it. The time of both is over. */
START_TEST(a_timeout_ends_those_who_have_nothing_out)
{
	struct dtconv_fragment *kept[2] = { NULL };
	struct dtconv_convertor *other;
	struct dtconv_send *first = NULL;
	struct scene scene;

	scene_open(&scene, long_text, 1, (struct scene_pool){ 1, 1000 }, NULL, 1);
	other = fixture_pack(&scene.stage);
	scene.send_params.timeout_ms = 1;
	scene.send_params.emit = keep;
	scene.send_params.arg = kept;
	scene.send_params.done = count_done;
	done_calls = 0;
	fixture_ok(dtconv_send_start(scene.engine, &scene.send_params, other, &first));
	fixture_ok(dtconv_send_start(scene.engine, &scene.send_params, scene.packs,
				     &scene.send));
	for (int i = 0; !done_calls; i++) {
		ck_assert_int_lt(i, 1000000);
		scene_progress(&scene);
		sleep_on(scene.engine);
	}
	ck_assert_int_eq(done_status, DTCONV_ERR_TIMEOUT);
	ck_assert_int_eq(dtconv_send_cancel(scene.send), DTCONV_ERR_STATE);
	for (int i = 0; i < 10; i++)
		scene_progress(&scene);
	ck_assert_int_eq(done_calls, 1);
	fixture_status(dtconv_send_destroy(first), DTCONV_ERR_STATE);
	dtconv_fragment_sent(kept[0], 0);
	scene_progress(&scene);
	ck_assert_int_eq(done_calls, 2);
	ck_assert_int_eq(done_status, DTCONV_ERR_TIMEOUT);
	ck_assert_ptr_null(kept[1]);
	fixture_ok(dtconv_send_destroy(first));
	dtconv_convertor_destroy(other);
	scene_close(&scene);
}
END_TEST

static int refuse(void *arg, struct dtconv_fragment *fragment, uint64_t offset,
		  size_t bytes, unsigned flags)
{
	(void)arg;
	(void)fragment;
	(void)offset;
	(void)bytes;
	(void)flags;
	return DTCONV_ERR_AGAIN;
}

/* A network that takes nothing: the window fills, and a cancel gives all of it back. */
START_TEST(refused_fragments_fill_the_window_and_come_back)
{
	struct dtconv_pool_attr attr = { .struct_size = sizeof(attr) };
	struct scene scene;

	scene_open(&scene, long_text, 1, (struct scene_pool){ 12, 1000 }, NULL, 1);
	scene.send_params.emit = refuse;
	scene.send_params.depth = 3;
	fixture_ok(dtconv_send_start(scene.engine, &scene.send_params, scene.packs,
				     &scene.send));
	for (int i = 0; i < 20; i++)
		scene_progress(&scene);
	fixture_ok(dtconv_pool_query(scene.pool, &attr));
	ck_assert_uint_eq(attr.out, 3);
	ck_assert_int_eq(scene.sent.calls, 0);
	fixture_ok(dtconv_send_cancel(scene.send));
	for (int i = 0; i < 3; i++)
		scene_progress(&scene);
	ck_assert_int_eq(scene.sent.calls, 1);
	ck_assert_int_eq(scene.sent.status, DTCONV_ERR_CANCELED);
	scene_close(&scene);
}
END_TEST

START_TEST(a_second_report_is_ignored)
{
	struct dtconv_fragment *kept[8] = { NULL };
	struct scene scene;

	scene_open(&scene, "contiguous(100, int)", 1, pools[3], NULL, 1);
	scene.send_params.emit = keep;
	scene.send_params.arg = kept;
	scene.send_params.done = count_done;
	done_calls = 0;
	fixture_ok(dtconv_send_start(scene.engine, &scene.send_params, scene.packs,
				     &scene.send));
	scene_progress(&scene);
	dtconv_fragment_put(kept[0]);
	dtconv_fragment_sent(kept[0], 0);
	dtconv_fragment_sent(kept[0], DTCONV_ERR_PEER);
	dtconv_fragment_sent(NULL, 0);
	scene_progress(&scene);
	dtconv_fragment_sent(kept[0], DTCONV_ERR_PEER);
	ck_assert_int_eq(done_calls, 1);
	ck_assert_int_eq(done_status, 0);
	scene_close(&scene);
}
END_TEST

/* Refuses the first offer, and remembers the fragment. */
struct refusing {
	struct scene *scene;
	struct dtconv_fragment *refused;
};

static int refuse_once(void *arg, struct dtconv_fragment *fragment, uint64_t offset,
		       size_t bytes, unsigned flags)
{
	struct refusing *refusing = arg;

	if (refusing->refused)
		return loopback_emit(&refusing->scene->link, fragment, offset, bytes,
				     flags);
	refusing->refused = fragment;
	return DTCONV_ERR_AGAIN;
}

static void see_refusing(void *arg, int status, size_t moved)
{
	see(&((struct refusing *)arg)->scene->sent, status, moved);
}

/* It stays the send's: giving it back would hand its bytes to another owner. */
START_TEST(a_refused_fragment_is_not_the_networks_to_give_back)
{
	struct dtconv_fragment *mine = NULL;
	struct scene scene;
	struct refusing refusing = { .scene = &scene };

	scene_open(&scene, "contiguous(100, int)", 1, (struct scene_pool){ 1, 1000 },
		   NULL, 1);
	scene.send_params.emit = refuse_once;
	scene.send_params.done = see_refusing;
	scene.send_params.arg = &refusing;
	scene_start(&scene);
	while (!refusing.refused)
		scene_progress(&scene);
	dtconv_fragment_put(refusing.refused);
	ck_assert_int_eq(dtconv_pool_get(scene.pool, &mine), DTCONV_ERR_AGAIN);
	dtconv_fragment_sent(refusing.refused, 0);
	scene_drive(&scene);
	scene_check(&scene, 0, 0);
	scene_close(&scene);
}
END_TEST

/* A network that takes a fragment, reports it, and answers that it has not taken it. */
static int report_and_refuse(void *arg, struct dtconv_fragment *fragment, uint64_t offset,
			     size_t bytes, unsigned flags)
{
	(void)offset;
	(void)bytes;
	(void)flags;
	dtconv_fragment_sent(fragment, 0);
	return *(int *)arg;
}

START_TEST(a_report_outweighs_the_answer_of_emit)
{
	int answer = _i ? DTCONV_ERR_PEER : DTCONV_ERR_AGAIN;
	struct scene scene;

	scene_open(&scene, long_text, 1, pools[3], NULL, 1);
	scene.send_params.emit = report_and_refuse;
	scene.send_params.arg = &answer;
	scene.send_params.done = count_done;
	done_calls = 0;
	fixture_ok(dtconv_send_start(scene.engine, &scene.send_params, scene.packs,
				     &scene.send));
	for (int i = 0; !done_calls && i < 1000; i++)
		scene_progress(&scene);
	ck_assert_int_eq(done_calls, 1);
	ck_assert_int_eq(done_status, _i ? DTCONV_ERR_PEER : 0);
	scene_close(&scene);
}
END_TEST

/* ---- parts ----------------------------------------------------------------------------- */

static int releases, release_status;

static void count_release(void *arg, int status)
{
	(void)arg;
	releases++;
	release_status = status;
}

/* A receive whose releases are counted. */
static void open_receive(struct scene *scene)
{
	scene_open(scene, long_text, 1, pools[3], NULL, 1);
	fixture_ok(dtconv_recv_start(scene->engine, &scene->recv_params, scene->unpacks,
				     &scene->recv));
	releases = 0;
}

/* Bytes of the stream arrive. */
static void deliver(struct scene *scene, uint64_t offset, size_t bytes)
{
	fixture_ok(dtconv_recv_deliver(scene->recv, offset, scene->stage.stream + offset,
				       bytes, count_release, NULL));
}

START_TEST(parts_of_a_receive_are_released_with_its_status)
{
	struct scene scene;

	open_receive(&scene);
	fixture_ok(dtconv_recv_deliver(scene.recv, 0, NULL, 0, count_release, NULL));
	deliver(&scene, 100, 100);
	ck_assert_int_eq(releases, 0);
	scene_progress(&scene);
	ck_assert_int_eq(releases, 2);
	ck_assert_int_eq(release_status, 0);
	fixture_ok(dtconv_recv_deliver(scene.recv, 35999, scene.stage.stream,
				       _i ? 2 : SIZE_MAX, count_release, NULL));
	scene_progress(&scene);
	ck_assert_int_eq(releases, 3);
	ck_assert_int_eq(release_status, DTCONV_ERR_TRUNCATE);
	ck_assert_int_eq(scene.received.status, DTCONV_ERR_TRUNCATE);
	ck_assert_int_eq(scene.received.calls, 1);
	/* What was unpacked before counts and stays. */
	ck_assert_uint_eq(scene.received.moved, 100);
	stage_deliver(&scene.stage, 100, 100);
	fixture_arrived(&scene.stage);
	scene_close(&scene);
}
END_TEST

/* A part round one that has arrived fills two gaps, by two flights. */
START_TEST(a_part_with_two_gaps_is_released_once)
{
	struct scene scene;

	open_receive(&scene);
	deliver(&scene, 1000, 500);
	scene_progress(&scene);
	deliver(&scene, 0, 36000);
	for (int i = 0; i < 5; i++)
		scene_progress(&scene);
	ck_assert_int_eq(releases, 2);
	ck_assert_int_eq(scene.received.calls, 1);
	ck_assert_uint_eq(scene.received.moved, 36000);
	stage_deliver(&scene.stage, 0, 36000);
	fixture_arrived(&scene.stage);
	scene_close(&scene);
}
END_TEST

START_TEST(what_comes_after_a_failure_is_released_unread)
{
	struct scene scene;

	open_receive(&scene);
	fixture_ok(dtconv_recv_fail(scene.recv, DTCONV_ERR_PEER));
	fixture_ok(dtconv_recv_cancel(scene.recv));
	deliver(&scene, 0, 100);
	scene_progress(&scene);
	ck_assert_int_eq(releases, 1);
	ck_assert_int_eq(release_status, DTCONV_ERR_PEER);
	ck_assert_int_eq(scene.received.status, DTCONV_ERR_PEER);
	fixture_arrived(&scene.stage);
	scene_close(&scene);
}
END_TEST

/* ---- budgets, fairness, memory --------------------------------------------------------- */

static int callbacks;

static int count_emit(void *arg, struct dtconv_fragment *fragment, uint64_t offset,
		      size_t bytes, unsigned flags)
{
	(void)arg;
	(void)offset;
	(void)bytes;
	(void)flags;
	callbacks++;
	dtconv_fragment_sent(fragment, 0);
	return 0;
}

static void count_callback(void *arg, int status, size_t moved)
{
	(void)status;
	(void)moved;
	callbacks++;
	++*(int *)arg;
}

#define MANY 12

START_TEST(a_budget_bounds_the_callbacks)
{
	const size_t budget = (size_t)_i;
	struct dtconv_send *sends[MANY] = { NULL };
	struct dtconv_convertor *packs[MANY];
	int done = 0, rounds = 0, before;
	struct scene scene;

	scene_open(&scene, long_text, 1, (struct scene_pool){ 100, 500 }, NULL, 1);
	scene.send_params.emit = count_emit;
	scene.send_params.done = count_callback;
	scene.send_params.arg = &done;
	scene.send_params.depth = 16;
	callbacks = 0;
	for (int i = 0; i < MANY; i++) {
		packs[i] = fixture_pack(&scene.stage);
		fixture_ok(dtconv_send_start(scene.engine, &scene.send_params, packs[i],
					     &sends[i]));
	}
	while (done < MANY) {
		size_t worked;
		ck_assert_int_lt(rounds++, 10000);
		before = callbacks;
		fixture_ok(dtconv_engine_progress(scene.engine, budget, &worked));
		ck_assert_int_le(callbacks - before, _i);
		/* Where nothing has to be waited for, each call makes progress, and arm says so. */
		ck_assert(worked || done == MANY);
		if (done < MANY)
			ck_assert_int_eq(dtconv_engine_arm(scene.engine),
					 DTCONV_ERR_AGAIN);
	}
	/* 384 bytes a fragment. */
	ck_assert_int_eq(callbacks, MANY * (36000 / 384 + 1 + 1));
	for (int i = 0; i < MANY; i++) {
		fixture_ok(dtconv_send_destroy(sends[i]));
		dtconv_convertor_destroy(packs[i]);
	}
	scene_close(&scene);
}
END_TEST

static int order[200], order_count;

struct numbered {
	int number;
	struct dtconv_fragment *kept[3];
	int done;
};

static int note_order(void *arg, struct dtconv_fragment *fragment, uint64_t offset,
		      size_t bytes, unsigned flags)
{
	struct numbered *numbered = arg;

	order[order_count++] = numbered->number;
	return keep(numbered->kept, fragment, offset, bytes, flags);
}

static void note_done(void *arg, int status, size_t moved)
{
	struct numbered *numbered = arg;

	(void)moved;
	numbered->done += status ? 100 : 1;
}

/* Sends of three fragments each share one or two: they take turns. One that is cancelled in the queue leaves it. */
START_TEST(operations_get_fragments_in_turn)
{
	struct dtconv_send *sends[MANY] = { NULL };
	struct dtconv_convertor *packs[MANY];
	struct numbered numbered[MANY];
	struct scene scene;
	int all = 0;

	scene_open(&scene, "contiguous(75, int)", 1,
		   (struct scene_pool){ (size_t)_i, 100 }, NULL, 1);
	scene.send_params.emit = note_order;
	scene.send_params.done = note_done;
	order_count = 0;
	for (int i = 0; i < MANY; i++) {
		numbered[i] = (struct numbered){ .number = i };
		scene.send_params.arg = &numbered[i];
		packs[i] = fixture_pack(&scene.stage);
		fixture_ok(dtconv_send_start(scene.engine, &scene.send_params, packs[i],
					     &sends[i]));
	}
	scene_progress(&scene);
	fixture_ok(dtconv_send_cancel(sends[5]));
	for (int i = 0; all < MANY; i++) {
		ck_assert_int_lt(i, 1000);
		scene_progress(&scene);
		all = 0;
		for (int k = 0; k < MANY; k++) {
			for (int j = 0; j < 3 && numbered[k].kept[j]; j++)
				dtconv_fragment_sent(numbered[k].kept[j], 0);
			memset(numbered[k].kept, 0, sizeof(numbered[k].kept));
			all += !!numbered[k].done;
		}
	}
	ck_assert_int_eq(order_count, 3 * (MANY - 1));
	for (int i = 0; i < MANY; i++)
		ck_assert_int_eq(numbered[i].done, i == 5 ? 100 : 1);
	/* With one fragment: one each in the order of the starts, three times. */
	for (int i = 0; _i == 1 && i < order_count; i++)
		ck_assert_int_eq(order[i], i % (MANY - 1) + (i % (MANY - 1) >= 5));
	for (int i = 0; i < MANY; i++) {
		fixture_ok(dtconv_send_destroy(sends[i]));
		dtconv_convertor_destroy(packs[i]);
	}
	scene_close(&scene);
}
END_TEST

/* The one that was woken for a fragment is cancelled before it takes it: the next one gets it. */
START_TEST(a_wake_up_is_passed_on)
{
	struct numbered numbered[2] = { { .number = 0 }, { .number = 1 } };
	struct dtconv_convertor *packs[2];
	struct dtconv_send *sends[2] = { NULL };
	struct dtconv_fragment *mine;
	struct scene scene;

	scene_open(&scene, "contiguous(20, int)", 1, (struct scene_pool){ 1, 100 }, NULL,
		   1);
	fixture_ok(dtconv_pool_get(scene.pool, &mine));
	scene.send_params.emit = note_order;
	scene.send_params.done = note_done;
	order_count = 0;
	for (int i = 0; i < 2; i++) {
		scene.send_params.arg = &numbered[i];
		packs[i] = fixture_pack(&scene.stage);
		fixture_ok(dtconv_send_start(scene.engine, &scene.send_params, packs[i],
					     &sends[i]));
	}
	scene_progress(&scene);
	dtconv_fragment_put(mine);
	fixture_ok(dtconv_send_cancel(sends[0]));
	for (int i = 0; i < 5; i++)
		scene_progress(&scene);
	ck_assert_int_eq(numbered[0].done, 100);
	ck_assert_int_eq(order_count, 1);
	ck_assert_int_eq(order[0], 1);
	dtconv_fragment_sent(numbered[1].kept[0], 0);
	scene_progress(&scene);
	ck_assert_int_eq(numbered[1].done, 1);
	for (int i = 0; i < 2; i++) {
		fixture_ok(dtconv_send_destroy(sends[i]));
		dtconv_convertor_destroy(packs[i]);
	}
	scene_close(&scene);
}
END_TEST

START_TEST(a_small_message_is_emitted_at_once_and_allocates_nothing)
{
	struct scene scene;
	size_t allocations = 0;

	scene_open(&scene, "vector(20, 1, 2, int)", 1, (struct scene_pool){ 2, 100 },
		   NULL, 1);
	scene.link.expected = NULL;
	for (int i = 0; i < 5; i++) {
		memset(&scene.sent, 0, sizeof(scene.sent));
		memset(&scene.received, 0, sizeof(scene.received));
		scene_start(&scene);
		ck_assert_int_eq(scene.sent.calls + scene.received.calls, 0);
		size_t emitted = scene.link.emitted;
		scene_progress(&scene);
		ck_assert_uint_eq(scene.link.emitted, emitted + 1);
		scene_drive(&scene);
		ck_assert_int_eq(scene.sent.status, 0);
		ck_assert_int_eq(scene.received.status, 0);
		if (i > 0)
			ck_assert_uint_eq(fixture_allocations(), allocations);
		allocations = fixture_allocations();
		fixture_ok(dtconv_convertor_seek(scene.packs, 0));
	}
	stage_deliver(&scene.stage, 0, scene.stage.bytes);
	fixture_arrived(&scene.stage);
	scene_close(&scene);
}
END_TEST

/* ---- refusals -------------------------------------------------------------------------- */

START_TEST(bad_arguments_are_refused)
{
	struct dtconv_context *other_context;
	struct dtconv_engine *other;
	struct scene scene;

	scene_open(&scene, long_text, 1, pools[3], NULL, 1);
	fixture_ok(dtconv_context_create(NULL, &other_context));
	fixture_ok(dtconv_engine_create(other_context, NULL, &other));
	struct dtconv_send_params params = scene.send_params;
	struct dtconv_send *send = NULL;
	struct dtconv_recv *recv = NULL;

#define SEND(expected, word)                                                         \
	do {                                                                         \
		fixture_status(dtconv_send_start(scene.engine, &params, scene.packs, \
						 &send),                             \
			       expected);                                            \
		ck_assert_msg(strstr(fixture_error(), word) != NULL, "%s",           \
			      fixture_error());                                      \
		ck_assert_ptr_null(send);                                            \
		params = scene.send_params;                                          \
	} while (0)
	ck_assert_int_eq(dtconv_send_start(NULL, &params, scene.packs, &send),
			 DTCONV_ERR_INVAL);
	ck_assert_int_eq(dtconv_send_start(scene.engine, NULL, scene.packs, &send),
			 DTCONV_ERR_INVAL);
	ck_assert_int_eq(dtconv_send_start(scene.engine, &params, NULL, &send),
			 DTCONV_ERR_INVAL);
	ck_assert_int_eq(dtconv_send_start(scene.engine, &params, scene.packs, NULL),
			 DTCONV_ERR_INVAL);
	params.struct_size = 0;
	SEND(DTCONV_ERR_INVAL, "struct_size");
	params.pool = NULL;
	SEND(DTCONV_ERR_INVAL, "params.pool");
	params.emit = NULL;
	SEND(DTCONV_ERR_INVAL, "params.emit");
	params.flags = 8;
	SEND(DTCONV_ERR_INVAL, "0x8");
	params.depth = 17;
	SEND(DTCONV_ERR_INVAL, "17");
	fixture_status(dtconv_send_start(scene.engine, &params, scene.unpacks, &send),
		       DTCONV_ERR_STATE);
	ck_assert_int_eq(dtconv_send_start(other, &params, scene.packs, &send),
			 DTCONV_ERR_INVAL);
	struct dtconv_recv_params recv_params = scene.recv_params;
	ck_assert_int_eq(dtconv_recv_start(NULL, NULL, scene.unpacks, &recv),
			 DTCONV_ERR_INVAL);
	ck_assert_int_eq(dtconv_recv_start(scene.engine, NULL, NULL, &recv),
			 DTCONV_ERR_INVAL);
	ck_assert_int_eq(dtconv_recv_start(scene.engine, NULL, scene.unpacks, NULL),
			 DTCONV_ERR_INVAL);
	fixture_status(dtconv_recv_start(scene.engine, NULL, scene.packs, &recv),
		       DTCONV_ERR_STATE);
	ck_assert_int_eq(dtconv_recv_start(other, NULL, scene.unpacks, &recv),
			 DTCONV_ERR_INVAL);
	recv_params.struct_size = 0;
	fixture_status(dtconv_recv_start(scene.engine, &recv_params, scene.unpacks,
					 &recv),
		       DTCONV_ERR_INVAL);
	recv_params = scene.recv_params;
	recv_params.bytes = 10;
	fixture_status(dtconv_recv_start(scene.engine, &recv_params, scene.unpacks,
					 &recv),
		       DTCONV_ERR_INVAL);
	recv_params.flags = DTCONV_RECV_BYTES | 4;
	fixture_status(dtconv_recv_start(scene.engine, &recv_params, scene.unpacks,
					 &recv),
		       DTCONV_ERR_INVAL);
	recv_params.flags = DTCONV_RECV_BYTES;
	recv_params.bytes = 36001;
	fixture_status(dtconv_recv_start(scene.engine, &recv_params, scene.unpacks,
					 &recv),
		       DTCONV_ERR_TRUNCATE);
	ck_assert_ptr_null(recv);
	ck_assert_int_eq(dtconv_send_cancel(NULL), DTCONV_ERR_INVAL);
	ck_assert_int_eq(dtconv_recv_cancel(NULL), DTCONV_ERR_INVAL);
	ck_assert_int_eq(dtconv_recv_deliver(NULL, 0, "", 1, NULL, NULL),
			 DTCONV_ERR_INVAL);
	/* In use. */
	scene_start(&scene);
	send = scene.send;
	fixture_status(dtconv_send_start(scene.engine, &params, scene.packs, &send),
		       DTCONV_ERR_STATE);
	recv = scene.recv;
	fixture_status(dtconv_recv_start(scene.engine, NULL, scene.unpacks, &recv),
		       DTCONV_ERR_STATE);
	ck_assert_int_eq(dtconv_recv_deliver(recv, 0, NULL, 1, NULL, NULL),
			 DTCONV_ERR_INVAL);
	ck_assert_int_eq(dtconv_recv_fail(recv, 0), DTCONV_ERR_INVAL);
	fixture_status(dtconv_recv_destroy(recv), DTCONV_ERR_STATE);
	scene_drive(&scene);
	scene_check(&scene, 0, 0);
	scene_close(&scene);
	fixture_ok(dtconv_engine_destroy(other));
	dtconv_context_destroy(other_context);
}
END_TEST

/* What an older program's structures lack is 0, whatever is behind them. */
START_TEST(structures_of_older_programs_are_read)
{
	struct scene scene;

	scene_open(&scene, long_text, 1, pools[3], NULL, 1);
	scene.send_params.struct_size = offsetof(struct dtconv_send_params, flags);
	scene.send_params.flags = 8;
	scene.send_params.depth = 99;
	scene.recv_params.struct_size = offsetof(struct dtconv_recv_params, flags);
	scene.recv_params.flags = 8;
	scene.recv_params.bytes = 1;
	scene_start(&scene);
	scene_drive(&scene);
	scene_check(&scene, 0, 0);
	scene_close(&scene);
}
END_TEST

/* What a newer program's structures have in addition is not read. */
START_TEST(structures_of_newer_programs_are_read)
{
	struct {
		struct dtconv_send_params send;
		unsigned char more[64];
	} newer;
	struct scene scene;

	scene_open(&scene, long_text, 1, pools[3], NULL, 1);
	memset(&newer, 0xff, sizeof(newer));
	newer.send = scene.send_params;
	newer.send.struct_size = sizeof(newer);
	scene.recv_params.struct_size = sizeof(scene.recv_params) + 64;
	fixture_ok(dtconv_recv_start(scene.engine, &scene.recv_params, scene.unpacks,
				     &scene.recv));
	scene.link.recv = scene.recv;
	fixture_ok(
		dtconv_send_start(scene.engine, &newer.send, scene.packs, &scene.send));
	scene_drive(&scene);
	scene_check(&scene, 0, 0);
	scene_close(&scene);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("flow");
	TCase *tcase = fixture_case(suite, "bytes", 60);

	tcase_add_loop_test(tcase, every_layout_arrives_through_every_pool, 0,
			    layout_count);
	tcase_add_test(tcase, ordered_sends_emit_in_order);
	tcase_add_loop_test(tcase, a_network_that_delivers_all_is_enough, 2 * HARMLESS,
			    (int)(POOLS * HARMLESS));
	tcase_add_loop_test(tcase, fragments_are_cut_as_asked, 0, 2);
	tcase_add_loop_test(tcase, a_message_that_fits_is_not_cut, 0, 2);
	tcase_add_test(tcase, represented_streams_arrive);
	tcase_add_test(tcase, an_operation_adds_each_byte_once);
	tcase_add_test(tcase, an_empty_message_is_done_at_once);
	tcase_add_test(tcase, a_message_may_be_shorter_than_the_receive);
	tcase = fixture_case(suite, "failures", 60);
	tcase_add_loop_test(tcase, a_failure_ends_the_operation_once, 0,
			    (int)(3 * HARMS));
	tcase_add_loop_test(tcase, cancelling_waits_for_what_is_out, 0, 2);
	tcase_add_loop_test(tcase, no_fragment_is_taken_back_from_the_network, 0, 2);
	tcase_add_test(tcase, a_timeout_ends_those_who_have_nothing_out);
	tcase_add_test(tcase, refused_fragments_fill_the_window_and_come_back);
	tcase_add_test(tcase, a_second_report_is_ignored);
	tcase_add_test(tcase, a_refused_fragment_is_not_the_networks_to_give_back);
	tcase_add_loop_test(tcase, a_report_outweighs_the_answer_of_emit, 0, 2);
	tcase_add_loop_test(tcase, parts_of_a_receive_are_released_with_its_status, 0, 2);
	tcase_add_test(tcase, a_part_with_two_gaps_is_released_once);
	tcase_add_test(tcase, what_comes_after_a_failure_is_released_unread);
	tcase = fixture_case(suite, "shares", 60);
	tcase_add_loop_test(tcase, a_budget_bounds_the_callbacks, 1, 9);
	tcase_add_loop_test(tcase, operations_get_fragments_in_turn, 1, 4);
	tcase_add_test(tcase, a_wake_up_is_passed_on);
	tcase_add_test(tcase, a_small_message_is_emitted_at_once_and_allocates_nothing);
	tcase = fixture_case(suite, "refusals", 10);
	tcase_add_test(tcase, bad_arguments_are_refused);
	tcase_add_test(tcase, structures_of_older_programs_are_read);
	tcase_add_test(tcase, structures_of_newer_programs_are_read);
	return fixture_run(suite);
}
