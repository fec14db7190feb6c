/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Channels over verbs on the stand-in: adapters that refuse calls, fail requests, complete them in any order or lose
 * the link, and ends that do not fit together. Both ends are in this process. Peers that lie are in
 * test_hostile_verbs.c; what holds for every transport is in test_channel.c and test_two_processes.c.
 */
#include "config.h"

#include <errno.h>
#include <infiniband/verbs.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <dtconv/verbs.h>

#include "bed_verbs.h"
#include "exchange.h"
#include "process.h"
#include "support/fixture.h"
#include "transport_glue/transport.h"
#include "transport_glue/verbs/address.h"
#include "transport_glue/verbs/completion.h"

/* More than any of these tests needs. */
#define PATIENCE 200000

static const struct verbs_standin *standin;

/* Both ends are in one thread, so the error text is that of either: what was said is kept. */
static struct dtconv_context *context;
static char said[16384];

static void hear(void *arg, enum dtconv_log_level level, const char *file, int line,
		 const char *text)
{
	(void)arg, (void)level, (void)file, (void)line;
	strncat(said, text, sizeof(said) - strlen(said) - 1);
	strncat(said, "\n", sizeof(said) - strlen(said) - 1);
}

static void reset(void)
{
	const struct dtconv_context_params params = { .struct_size = sizeof(params),
						      .log = hear,
						      .log_level = DTCONV_LOG_ERROR };

	standin = bed_standin();
	ck_assert_ptr_nonnull(standin);
	standin->reset();
	said[0] = 0;
	if (!context)
		fixture_ok(dtconv_context_create(&params, &context));
}

static void expect_said(const char *words)
{
	ck_assert_msg(strstr(said, words) != NULL, "%s is missing in:\n%s", words, said);
}

/* ---- two ends that may fail -------------------------------------------------------------- */

struct end {
	struct party party;
	struct dtconv_verbs *verbs;
	int status; /* of opening */
	char error[384];
};

static struct end ends[2];

static void open_end_in(struct dtconv_context *where, struct end *end, int socket,
			struct party_memory memory)
{
	struct dtconv_channel_params params = { .struct_size = sizeof(params),
						.kind = DTCONV_MEMORY_HOST,
						.fragments = memory.fragments,
						.fragment_bytes = memory.fragment_bytes };

	memset(end, 0, sizeof(*end));
	end->status = dtconv_engine_create(where, NULL, &end->party.engine);
	if (!end->status)
		end->status = dtconv_verbs_open(where, NULL, &end->verbs);
	params.transport = dtconv_verbs_transport(end->verbs);
	if (!end->status)
		end->status = dtconv_channel_open(end->party.engine, socket, &params,
						  &end->party.channel);
	if (!end->status)
		return;
	(void)dtconv_context_error(where, end->error, sizeof(end->error));
	close(socket);
}

static void open_end(struct end *end, int socket, struct party_memory memory)
{
	open_end_in(context, end, socket, memory);
}

static void close_end(struct end *end)
{
	if (end->party.channel) {
		party_close(&end->party);
		end->party.engine = NULL;
	}
	fixture_ok(dtconv_engine_destroy(end->party.engine));
	fixture_ok(dtconv_verbs_close(end->verbs));
}

static bool open_ends_in(struct dtconv_context *where, struct party_memory memory)
{
	int sockets[2];

	party_sockets(sockets);
	for (int i = 0; i < 2; i++)
		open_end_in(where, &ends[i], sockets[i], memory);
	return !ends[0].status && !ends[1].status;
}

static bool open_ends(size_t fragments, size_t fragment_bytes)
{
	const struct party_memory memory = { fragments, fragment_bytes };

	return open_ends_in(context, memory);
}

static void close_ends(void)
{
	for (int i = 0; i < 2; i++)
		close_end(&ends[i]);
	ck_assert_uint_eq(standin->live(), 0);
	ck_assert_uint_eq(standin->faults(), 0);
}

static void progress_both(void)
{
	for (int i = 0; i < 2; i++)
		if (ends[i].party.channel && !party_progress(&ends[i].party))
			(void)dtconv_engine_arm(ends[i].party.engine);
}

static void expect_open(void)
{
	for (int i = 0; party_query(&ends[0].party).state != DTCONV_CHANNEL_OPEN ||
			party_query(&ends[1].party).state != DTCONV_CHANNEL_OPEN;
	     i++) {
		ck_assert_int_lt(i, PATIENCE);
		progress_both();
	}
}

/* ---- one message ------------------------------------------------------------------------- */

struct told {
	int calls, status;
};

static int ints[4096], places[4096];

static void tell(void *arg, int status, size_t moved)
{
	struct told *told = arg;

	(void)moved;
	told->calls++;
	told->status = status;
}

static void send_ints(unsigned side, size_t count, struct told *told)
{
	*told = (struct told){ 0 };
	for (int i = 0; i < 4096; i++)
		ints[i] = i + 1;
	int status = dtconv_channel_send(ends[side].party.channel, 1,
					 dtconv_type_predefined(context, DTCONV_INT),
					 count, ints, tell, told);
	if (status)
		tell(told, status, 0);
}

static void recv_ints(unsigned side, size_t count, struct told *told)
{
	*told = (struct told){ 0 };
	memset(places, 0, sizeof(places));
	int status = dtconv_channel_recv(ends[side].party.channel, 1,
					 dtconv_type_predefined(context, DTCONV_INT),
					 count, places, tell, told);
	if (status)
		tell(told, status, 0);
}

static void wait_for(const struct told *told)
{
	for (int i = 0; !told->calls; i++) {
		ck_assert_int_lt(i, PATIENCE);
		progress_both();
	}
	ck_assert_int_eq(told->calls, 1);
}

/* ---- random messages --------------------------------------------------------------------- */

static struct exchange exchanges[2];

/* An operation that failed before the channel told why fails with PEER. */
static void check_exchange(struct exchange *exchange, int failure)
{
	for (size_t i = 0; i < exchange->count; i++)
		if (exchange->items[i].status == DTCONV_ERR_PEER)
			exchange->items[i].status = failure;
	exchange_check(exchange, failure);
	exchange_close(exchange);
}

/* With ends that are open. What has become of them is in @states. */
static void exchange_messages(uint64_t seed, size_t count,
			      struct dtconv_channel_attr states[2])
{
	for (unsigned side = 0; side < 2; side++) {
		exchange_open(&exchanges[side], context, side, seed, count);
		exchange_start(&exchanges[side], &ends[side].party);
	}
	for (int i = 0;
	     !exchange_is_done(&exchanges[0]) || !exchange_is_done(&exchanges[1]); i++) {
		ck_assert_int_lt(i, PATIENCE);
		progress_both();
	}
	for (unsigned side = 0; side < 2; side++) {
		states[side] = party_query(&ends[side].party);
		check_exchange(&exchanges[side], states[side].status);
	}
}

/* ---- order and the link -------------------------------------------------------------------- */

START_TEST(requests_complete_in_any_order)
{
	static const size_t fragments[] = { 1, 2, 3, 16 }, sizes[] = { 64, 500, 4096 };
	struct choices choices = fixture_choices((uint64_t)_i);
	struct dtconv_channel_attr states[2];

	reset();
	standin->set_adapter(&(struct verbs_adapter){ .max_inline = _i % 2 ? 64 : 0 });
	standin->shuffle(choices.state | 1);
	ck_assert(open_ends(fragments[_i % 4], sizes[_i / 4 % 3]));
	exchange_messages(choices.state, 24, states);
	ck_assert_int_eq(states[0].status, 0);
	ck_assert_int_eq(states[1].status, 0);
	ck_assert_uint_eq(states[0].sent + states[1].sent, 24);
	close_ends();
}
END_TEST

START_TEST(messages_survive_a_link_that_comes_back)
{
	struct told sent, received;

	reset();
	ck_assert(open_ends(2, 256));
	recv_ints(1, 4096, &received);
	send_ints(0, 4096, &sent);
	for (int round = 0; round < 8; round++) {
		for (int i = 0; i < _i + round; i++)
			progress_both();
		standin->set_link(0);
		for (int i = 0; i < 20; i++)
			progress_both();
		if (!round)
			ck_assert_int_eq(sent.calls, 0);
		standin->set_link(1);
	}
	wait_for(&sent);
	wait_for(&received);
	ck_assert_int_eq(sent.status, 0);
	ck_assert_int_eq(received.status, 0);
	ck_assert_mem_eq(places, ints, sizeof(ints));
	close_ends();
}
END_TEST

/* More than there are receives of either kind. */
START_TEST(receives_last_for_ever)
{
	enum { BATCH = 100, BATCHES = 12 };
	static struct told sent[BATCH], received[BATCH];

	reset();
	ck_assert(open_ends(2, 256));
	for (int batch = 0; batch < BATCHES; batch++) {
		for (int i = 0; i < BATCH; i++) {
			recv_ints(1, 8, &received[i]);
			send_ints(0, (size_t)i % 9, &sent[i]);
		}
		for (int i = 0; i < BATCH; i++) {
			wait_for(&sent[i]);
			wait_for(&received[i]);
			ck_assert_int_eq(sent[i].status, 0);
			ck_assert_int_eq(received[i].status, 0);
		}
	}
	close_ends();
}
END_TEST

/* Else it would send while the peer's adapter cannot receive, and wait for a timeout. */
START_TEST(a_channel_opens_when_both_ends_are_connected)
{
	reset();
	ck_assert(open_ends(2, 256));
	for (int i = 0; i < 10; i++)
		(void)party_progress(&ends[0].party);
	ck_assert_int_eq(party_query(&ends[0].party).state, DTCONV_CHANNEL_CONNECTING);
	expect_open();
	close_ends();
}
END_TEST

START_TEST(a_link_that_stays_down_ends_both_channels)
{
	struct told sent, received;

	reset();
	ck_assert(open_ends(2, 256));
	expect_open();
	recv_ints(1, 4096, &received);
	send_ints(0, 4096, &sent);
	for (int i = 0; i < 2; i++)
		progress_both();
	standin->set_link(0);
	standin->lose_patience();
	wait_for(&sent);
	wait_for(&received);
	ck_assert_int_eq(sent.status, DTCONV_ERR_PEER);
	ck_assert_int_eq(received.status, DTCONV_ERR_PEER);
	close_ends();
}
END_TEST

/* The receive completes at one end; its answer is posted, and the link is down. */
static void leave_an_answer_behind(struct told *sent, struct told *received)
{
	ck_assert(open_ends(2, 256));
	expect_open();
	recv_ints(1, 0, received);
	(void)party_progress(&ends[1].party);
	send_ints(0, 0, sent);
	(void)party_progress(&ends[0].party);
	standin->settle();
	standin->set_link(0);
	for (int i = 0; !received->calls; i++) {
		ck_assert_int_lt(i, PATIENCE);
		(void)party_progress(&ends[1].party);
	}
	ck_assert_int_eq(received->status, 0);
	fixture_ok(dtconv_channel_close(ends[1].party.channel));
	for (int i = 0; i < 200; i++)
		progress_both();
	ck_assert_int_eq(sent->calls, 0);
	/* Nobody spins meanwhile. */
	for (int i = 0; dtconv_engine_arm(ends[1].party.engine); i++) {
		ck_assert_int_lt(i, 10);
		(void)party_progress(&ends[1].party);
	}
}

START_TEST(what_is_complete_at_one_end_is_so_at_the_other)
{
	struct told sent, received;

	reset();
	leave_an_answer_behind(&sent, &received);
	standin->set_link(1);
	wait_for(&sent);
	ck_assert_int_eq(sent.status, 0);
	close_ends();
}
END_TEST

/* The adapter gives up, or the other end is gone. */
START_TEST(closing_waits_for_nobody_who_is_gone)
{
	struct told sent, received;

	reset();
	leave_an_answer_behind(&sent, &received);
	if (_i)
		standin->lose_patience();
	else
		close_end(&ends[0]);
	close_end(&ends[1]);
	if (_i)
		close_end(&ends[0]);
	ck_assert_int_eq(sent.calls, 1);
	ck_assert_int_ne(sent.status, 0);
	ck_assert_uint_eq(standin->live(), 0);
}
END_TEST

/* ---- requests that fail ---------------------------------------------------------------------- */

/* Names of rdma-core; a hole is a number that it does not have. */
START_TEST(every_status_is_a_sentence)
{
	for (int status = 1; status <= IBV_WC_TM_RNDV_INCOMPLETE; status++) {
		const struct dtc_verbs_failure failure =
			dtc_verbs_failure((enum ibv_wc_status)status);

		ck_assert_int_lt(failure.status, 0);
		ck_assert_str_ne(failure.name, "unknown");
		ck_assert_uint_gt(strlen(failure.sentence), 10);
		for (int other = 1; other < status; other++)
			ck_assert_str_ne(
				failure.sentence,
				dtc_verbs_failure((enum ibv_wc_status)other).sentence);
	}
	ck_assert_str_eq(dtc_verbs_failure((enum ibv_wc_status)200).name, "unknown");
	ck_assert_str_eq(dtc_verbs_failure(IBV_WC_SUCCESS).name, "unknown");
	ck_assert_int_eq(dtc_verbs_failure(IBV_WC_RETRY_EXC_ERR).status, DTCONV_ERR_PEER);
	ck_assert_int_eq(dtc_verbs_failure(IBV_WC_LOC_PROT_ERR).status,
			 DTCONV_ERR_BACKEND);
	ck_assert_int_eq(dtc_verbs_failure(IBV_WC_LOC_LEN_ERR).status, DTCONV_ERR_FORMAT);
}
END_TEST

/* Any request fails with any status: both ends end, and the one whose adapter told it has the sentence. */
START_TEST(a_request_that_fails_ends_both_channels)
{
	const enum ibv_wc_status status = (enum ibv_wc_status)_i;
	const struct dtc_verbs_failure failure = dtc_verbs_failure(status);
	char name[64];

	snprintf(name, sizeof(name), "(IBV_WC_%s, vendor error 0x51)", failure.name);
	for (size_t spare = 0; spare < 24; spare++) {
		struct told sent, received;

		reset();
		ck_assert(open_ends(2, 256));
		expect_open();
		recv_ints(1, 2048, &received);
		send_ints(0, 2048, &sent);
		if (spare % 2)
			standin->fail_send(spare / 2, (int)status);
		else
			standin->fail_receive(spare / 2, (int)status);
		wait_for(&sent);
		wait_for(&received);
		ck_assert_int_lt(sent.status, 0);
		ck_assert_int_lt(received.status, 0);
		expect_said(name);
		expect_said(failure.sentence);
		const int first = party_query(&ends[0].party).status,
			  second = party_query(&ends[1].party).status;
		ck_assert(first == failure.status || second == failure.status);
		ck_assert(first == failure.status || first == DTCONV_ERR_PEER);
		ck_assert(second == failure.status || second == DTCONV_ERR_PEER ||
			  second == DTCONV_ERR_FORMAT);
		close_ends();
	}
}
END_TEST

/* The adapter of a process that has ended says so much later; its socket says it at once. */
START_TEST(the_peers_own_word_comes_first)
{
	struct told sent, received;

	reset();
	ck_assert(open_ends(2, 256));
	expect_open();
	recv_ints(0, 16, &received);
	/* So that it does not look at the socket first, as one does that has slept. */
	for (int i = 0; i < 3; i++)
		(void)party_progress(&ends[0].party);
	close_end(&ends[1]);
	ends[1].party.channel = NULL;
	send_ints(0, 16, &sent);
	standin->lose_patience();
	for (int i = 0; !sent.calls || !received.calls; i++) {
		ck_assert_int_lt(i, PATIENCE);
		(void)party_progress(&ends[0].party);
	}
	ck_assert_int_eq(received.status, DTCONV_ERR_PEER);
	expect_said("it closed the channel");
	close_end(&ends[0]);
	ck_assert_uint_eq(standin->live(), 0);
}
END_TEST

/* ---- calls that are refused ------------------------------------------------------------------- */

/* Whether any call was refused. */
static bool run_with_refusal(enum verbs_call call, size_t spare, int error)
{
	struct dtconv_channel_attr states[2];

	reset();
	standin->refuse(call, spare, error);
	bool is_refused = !open_ends(2, 256);
	if (!is_refused) {
		exchange_messages(spare, 6, states);
		is_refused = states[0].status || states[1].status;
		for (int i = 0; i < 2; i++)
			ck_assert(!states[i].status ||
				  states[i].status == DTCONV_ERR_PEER ||
				  states[i].status == DTCONV_ERR_BACKEND ||
				  states[i].status == DTCONV_ERR_NOMEM ||
				  states[i].status == DTCONV_ERR_AGAIN);
	}
	const int expected = error == ENOMEM   ? DTCONV_ERR_NOMEM
			     : error == EMFILE ? DTCONV_ERR_AGAIN
					       : DTCONV_ERR_BACKEND;
	for (int i = 0; i < 2; i++)
		if (ends[i].status) {
			ck_assert_int_eq(ends[i].status, expected);
			expect_said(strerror(error));
		}
	close_ends();
	return is_refused;
}

/* The first, the second and so on, until the program needs no more. Only memory of devices is registered as a DMA-BUF. */
START_TEST(a_call_that_is_refused_ends_in_a_status)
{
	static const int errors[] = { ENOMEM, EMFILE, EIO };
	const enum verbs_call call = (enum verbs_call)_i;
	const size_t files = process_files();
	size_t refusals = 0;

	if (call == VERBS_REG_DMABUF)
		return;
	for (size_t spare = 0;; spare++) {
		if (!run_with_refusal(call, spare, errors[spare % 3])) {
			/* A post may be the last one of all. */
			if (standin->calls(call) <= spare)
				break;
			continue;
		}
		refusals++;
		ck_assert_uint_eq(process_files(), files);
		if (refusals > 60 && !fixture_everything())
			break;
	}
	ck_assert_uint_ge(refusals, 1);
}
END_TEST

START_TEST(a_refused_registration_names_the_limit)
{
	reset();
	standin->refuse(VERBS_REG_MR, 0, ENOMEM);
	ck_assert(!open_ends(2, 256));
	ck_assert_int_eq(ends[0].status, DTCONV_ERR_NOMEM);
	expect_said("ulimit -l");
	expect_said("standin0 cannot register");
	ck_assert_ptr_nonnull(strstr(ends[0].error, "verbs"));
	close_ends();
}
END_TEST

/* The context's allocator refuses one call, each in turn. */
static atomic_size_t granted;

static void *grant(void *arg, size_t bytes)
{
	(void)arg;
	return atomic_fetch_sub(&granted, 1) == 0 ? NULL : malloc(bytes);
}

static void take_back(void *arg, void *memory)
{
	(void)arg;
	free(memory);
}

START_TEST(a_refused_allocation_undoes_everything)
{
	const struct dtconv_context_params hungry = {
		.struct_size = sizeof(hungry), .allocator = { grant, take_back, NULL }
	};
	const struct party_memory memory = { 2, 256 };
	const size_t files = process_files();
	struct dtconv_context *starved;
	size_t refusals = 0;

	reset();
	atomic_store(&granted, SIZE_MAX);
	fixture_ok(dtconv_context_create(&hungry, &starved));
	for (size_t spare = 0;; spare++) {
		atomic_store(&granted, spare);
		const bool is_open = open_ends_in(starved, memory);
		atomic_store(&granted, SIZE_MAX);
		for (int i = 0; i < 2; i++)
			ck_assert(!ends[i].status || ends[i].status == DTCONV_ERR_NOMEM);
		close_ends();
		ck_assert_uint_eq(process_files(), files);
		if (is_open)
			break;
		refusals++;
	}
	ck_assert_uint_ge(refusals, 20);
	dtconv_context_destroy(starved);
}
END_TEST

START_TEST(too_few_descriptors_undo_everything)
{
	struct rlimit before, limit;
	size_t refusals = 0;

	reset();
	ck_assert(!getrlimit(RLIMIT_NOFILE, &before));
	const size_t files = process_files();
	/* process_files() counts its own descriptor, "." and "..". */
	for (rlim_t spare = 0;; spare++) {
		limit = before;
		limit.rlim_cur = files - 3 + 2 + spare;
		int sockets[2];
		party_sockets(sockets);
		ck_assert(!setrlimit(RLIMIT_NOFILE, &limit));
		open_end(&ends[0], sockets[0], (struct party_memory){ 2, 256 });
		ck_assert(!setrlimit(RLIMIT_NOFILE, &before));
		const bool is_open = !ends[0].status;
		if (!is_open) {
			ck_assert_int_eq(ends[0].status, DTCONV_ERR_AGAIN);
			refusals++;
		}
		close(sockets[1]);
		close_end(&ends[0]);
		ck_assert_uint_eq(process_files(), files);
		ck_assert_uint_eq(standin->live(), 0);
		if (is_open)
			break;
	}
	ck_assert_uint_ge(refusals, 3);
}
END_TEST

/* ---- adapters and options -------------------------------------------------------------------- */

static int open_with(const struct dtconv_verbs_params *params)
{
	struct dtconv_verbs *verbs = NULL;
	int status = dtconv_verbs_open(fixture_context, params, &verbs);

	if (status)
		ck_assert_ptr_null(verbs);
	fixture_ok(dtconv_verbs_close(verbs));
	ck_assert_uint_eq(standin->live(), 0);
	return status;
}

static void expect(const struct dtconv_verbs_params *params, int status,
		   const char *words)
{
	ck_assert_int_eq(open_with(params), status);
	ck_assert_ptr_nonnull(strstr(fixture_error(), words));
}

START_TEST(bad_options_are_refused)
{
	const size_t size = sizeof(struct dtconv_verbs_params);
	struct dtconv_verbs *verbs;

	reset();
	ck_assert_int_eq(dtconv_verbs_open(NULL, NULL, &verbs), DTCONV_ERR_INVAL);
	ck_assert_int_eq(dtconv_verbs_open(fixture_context, NULL, NULL),
			 DTCONV_ERR_INVAL);
	ck_assert_ptr_null(dtconv_verbs_transport(NULL));
	fixture_ok(open_with(NULL));
#define WITH(...) (&(struct dtconv_verbs_params){ .struct_size = size, __VA_ARGS__ })
	expect(&(struct dtconv_verbs_params){ 0 }, DTCONV_ERR_INVAL, "struct_size");
	expect(WITH(.flags = 2), DTCONV_ERR_INVAL, "0x2");
	expect(WITH(.port = 256), DTCONV_ERR_INVAL, "256");
	expect(WITH(.flags = DTCONV_VERBS_GID, .gid_index = 256), DTCONV_ERR_INVAL,
	       "256");
	expect(WITH(.timeout = 32), DTCONV_ERR_INVAL, "32");
	expect(WITH(.service_level = 16), DTCONV_ERR_INVAL, "16");
	expect(WITH(.traffic_class = 256), DTCONV_ERR_INVAL, "256");
	expect(WITH(.device = "nothing0"), DTCONV_ERR_UNSUPPORTED, "nothing0");
	expect(WITH(.port = 3), DTCONV_ERR_UNSUPPORTED, "active");
	expect(WITH(.flags = DTCONV_VERBS_GID, .gid_index = 3), DTCONV_ERR_UNSUPPORTED,
	       "gid_index 3");
	fixture_ok(open_with(WITH(.device = "standin0", .port = 2, .timeout = 31)));
	standin->set_adapter(&(struct verbs_adapter){ .is_down = 1 });
	expect(NULL, DTCONV_ERR_UNSUPPORTED, "active");
	reset();
	standin->refuse(VERBS_LIST, 0, ENOSYS);
	expect(NULL, DTCONV_ERR_UNSUPPORTED, strerror(ENOSYS));
}
END_TEST

static struct dtconv_verbs_attr attr_of(const struct dtconv_verbs_params *params)
{
	struct dtconv_verbs_attr attr = { .struct_size = sizeof(attr) };
	struct dtconv_verbs *verbs;

	fixture_ok(dtconv_verbs_open(fixture_context, params, &verbs));
	fixture_ok(dtconv_verbs_query(verbs, &attr));
	ck_assert_str_eq(attr.device, "standin0");
	attr.struct_size = 0;
	ck_assert_int_eq(dtconv_verbs_query(verbs, &attr), DTCONV_ERR_INVAL);
	ck_assert_int_eq(dtconv_verbs_query(NULL, &attr), DTCONV_ERR_INVAL);
	fixture_ok(dtconv_verbs_close(verbs));
	return attr;
}

/* The stand-in's third address is the one of RoCE v2 that is routable. */
START_TEST(a_port_and_an_address_are_chosen)
{
	const struct dtconv_verbs_params given = { .struct_size = sizeof(given),
						   .flags = DTCONV_VERBS_GID,
						   .port = 2,
						   .gid_index = 1 };

	reset();
	struct dtconv_verbs_attr attr = attr_of(NULL);
	ck_assert_uint_eq(attr.port, 1);
	ck_assert_uint_eq(attr.gid_index, 2);
	ck_assert_int_eq(attr.is_infiniband, 0);
	ck_assert_uint_eq(attr.mtu, 4096);
	attr = attr_of(&given);
	ck_assert_uint_eq(attr.port, 2);
	ck_assert_uint_eq(attr.gid_index, 1);
	standin->set_adapter(&(struct verbs_adapter){ .is_infiniband = 1 });
	attr = attr_of(NULL);
	ck_assert_int_eq(attr.is_infiniband, 1);
	ck_assert_uint_eq(attr.gid_index, 0);
	/* And messages go. */
	struct dtconv_channel_attr states[2];
	ck_assert(open_ends(2, 256));
	exchange_messages(7, 8, states);
	ck_assert_int_eq(states[0].status, 0);
	attr.struct_size = sizeof(attr);
	fixture_ok(dtconv_verbs_query(ends[0].verbs, &attr));
	ck_assert_uint_eq(attr.channels, 1);
	ck_assert_int_eq(dtconv_verbs_close(ends[0].verbs), DTCONV_ERR_STATE);
	close_ends();
}
END_TEST

START_TEST(an_adapter_with_short_queues_is_refused)
{
	reset();
	standin->set_adapter(&(struct verbs_adapter){ .max_queue = 512 });
	ck_assert(!open_ends(2, 256));
	ck_assert_int_eq(ends[0].status, DTCONV_ERR_BACKEND);
	ck_assert_ptr_nonnull(strstr(ends[0].error, "queue pair of"));
	close_ends();
}
END_TEST

static int open_channel(struct dtconv_engine *engine, struct dtconv_verbs *verbs,
			size_t fragment_bytes)
{
	const struct dtconv_channel_params params = { .struct_size = sizeof(params),
						      .kind = DTCONV_MEMORY_HOST,
						      .fragment_bytes = fragment_bytes,
						      .fragments = 1,
						      .transport = dtconv_verbs_transport(
							      verbs) };
	struct dtconv_channel *channel;
	int sockets[2];

	party_sockets(sockets);
	int status = dtconv_channel_open(engine, sockets[0], &params, &channel);
	ck_assert_int_lt(status, 0);
	close(sockets[0]);
	close(sockets[1]);
	return status;
}

START_TEST(channels_that_verbs_cannot_carry_are_refused)
{
	struct dtconv_context *other;
	struct dtconv_engine *engine;
	struct dtconv_verbs *verbs;

	reset();
	fixture_ok(dtconv_context_create(NULL, &other));
	fixture_ok(dtconv_engine_create(fixture_context, NULL, &engine));
	fixture_ok(dtconv_verbs_open(fixture_context, NULL, &verbs));
	ck_assert_int_eq(open_channel(engine, verbs, ((size_t)1 << 30) + 1),
			 DTCONV_ERR_LIMIT);
	fixture_ok(dtconv_verbs_close(verbs));
	fixture_ok(dtconv_verbs_open(other, NULL, &verbs));
	ck_assert_int_eq(open_channel(engine, verbs, 256), DTCONV_ERR_INVAL);
	fixture_ok(dtconv_verbs_close(verbs));
	fixture_ok(dtconv_engine_destroy(engine));
	dtconv_context_destroy(other);
	ck_assert_uint_eq(standin->live(), 0);
}
END_TEST

/* ---- ends that do not fit together ------------------------------------------------------------ */

static void expect_ended(int first, int second)
{
	for (int i = 0; i < 50; i++)
		progress_both();
	ck_assert_int_eq(party_query(&ends[0].party).status, first);
	ck_assert_int_eq(party_query(&ends[1].party).status, second);
}

START_TEST(both_ends_need_the_same_fragments)
{
	static const struct party_memory others[] = {
		{ 3, 256 }, { 1, 256 }, { 2, 512 }, { 2, 128 }
	};
	int sockets[2];

	reset();
	party_sockets(sockets);
	open_end(&ends[0], sockets[0], (struct party_memory){ 2, 256 });
	open_end(&ends[1], sockets[1], others[_i]);
	expect_ended(DTCONV_ERR_UNSUPPORTED, DTCONV_ERR_UNSUPPORTED);
	close_ends();
}
END_TEST

START_TEST(both_ends_need_the_same_transport)
{
	struct dtconv_channel_params params = { .struct_size = sizeof(params),
						.kind = DTCONV_MEMORY_HOST,
						.fragments = 2,
						.fragment_bytes = 256 };
	int sockets[2];

	reset();
	party_sockets(sockets);
	open_end(&ends[0], sockets[0], (struct party_memory){ 2, 256 });
	memset(&ends[1], 0, sizeof(ends[1]));
	fixture_ok(dtconv_engine_create(context, NULL, &ends[1].party.engine));
	fixture_ok(dtconv_channel_open(ends[1].party.engine, sockets[1], &params,
				       &ends[1].party.channel));
	expect_ended(DTCONV_ERR_UNSUPPORTED, DTCONV_ERR_UNSUPPORTED);
	close_ends();
}
END_TEST

START_TEST(both_ends_need_the_same_kind_of_link)
{
	int sockets[2];

	reset();
	party_sockets(sockets);
	open_end(&ends[0], sockets[0], (struct party_memory){ 2, 256 });
	standin->set_adapter(&(struct verbs_adapter){ .is_infiniband = 1 });
	open_end(&ends[1], sockets[1], (struct party_memory){ 2, 256 });
	expect_ended(DTCONV_ERR_UNSUPPORTED, DTCONV_ERR_UNSUPPORTED);
	close_ends();
}
END_TEST

/* ---- addresses --------------------------------------------------------------------------------- */

static struct dtc_verbs_address an_address(void)
{
	return (struct dtc_verbs_address){
		.is_infiniband = true,
		.mtu = 5,
		.lid = 0xfedc,
		.gid = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 },
		.pairs = { { 2, 0xffffff }, { 0xffffff, 0 } }
	};
}

START_TEST(an_address_is_read_as_it_was_written)
{
	const struct dtc_verbs_address written = an_address();
	unsigned char bytes[DTC_VERBS_ADDRESS_BYTES];
	struct dtc_verbs_address read;

	dtc_verbs_write_address(&written, bytes);
	ck_assert(dtc_verbs_read_address(bytes, sizeof(bytes), &read));
	ck_assert_int_eq(read.is_infiniband, written.is_infiniband);
	ck_assert_uint_eq(read.mtu, written.mtu);
	ck_assert_uint_eq(read.lid, written.lid);
	ck_assert_mem_eq(read.gid, written.gid, sizeof(read.gid));
	ck_assert_mem_eq(read.pairs, written.pairs, sizeof(read.pairs));
	/* Little-endian, whatever the machine. */
	ck_assert_uint_eq(bytes[4], 0xdc);
	ck_assert_uint_eq(bytes[5], 0xfe);
	for (size_t length = 0; length < sizeof(bytes); length++)
		ck_assert(!dtc_verbs_read_address(bytes, length, &read));
}
END_TEST

/* Bytes that may have any value are the LID's, the GID's and the packets'. */
START_TEST(an_address_without_a_meaning_is_refused)
{
	static const struct {
		size_t at;
		unsigned char value;
	} wrong[] = { { 0, 2 },  { 0, 0 },  { 1, 2 },  { 2, 0 },   { 2, 6 },  { 3, 1 },
		      { 6, 1 },  { 7, 1 },  { 24, 1 }, { 24, 0 },  { 27, 1 }, { 31, 1 },
		      { 35, 1 }, { 39, 1 }, { 40, 1 }, { 47, 255 } };
	const struct dtc_verbs_address written = an_address();
	unsigned char bytes[DTC_VERBS_ADDRESS_BYTES];
	struct dtc_verbs_address read;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		dtc_verbs_write_address(&written, bytes);
		bytes[wrong[i].at] = wrong[i].value;
		ck_assert_msg(!dtc_verbs_read_address(bytes, sizeof(bytes), &read),
			      "byte %zu may be %d", wrong[i].at, wrong[i].value);
	}
	/* One queue pair twice. */
	dtc_verbs_write_address(&written, bytes);
	memcpy(bytes + 32, bytes + 24, 8);
	ck_assert(!dtc_verbs_read_address(bytes, sizeof(bytes), &read));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("verbs");
	TCase *order = fixture_case(suite, "order", 120);
	TCase *failures = fixture_case(suite, "failures", 300);
	TCase *refusals = fixture_case(suite, "refusals", 300);
	TCase *options = fixture_case(suite, "options", 60);
	TCase *misfits = fixture_case(suite, "misfits", 60);
	TCase *addresses = fixture_case(suite, "addresses", 60);

	tcase_add_loop_test(order, requests_complete_in_any_order, 0,
			    fixture_everything() ? 400 : 24);
	tcase_add_loop_test(order, messages_survive_a_link_that_comes_back, 0, 6);
	tcase_add_test(order, receives_last_for_ever);
	tcase_add_test(order, a_channel_opens_when_both_ends_are_connected);
	tcase_add_test(order, a_link_that_stays_down_ends_both_channels);
	tcase_add_test(order, what_is_complete_at_one_end_is_so_at_the_other);
	tcase_add_loop_test(order, closing_waits_for_nobody_who_is_gone, 0, 2);
	tcase_add_test(failures, every_status_is_a_sentence);
	tcase_add_loop_test(failures, a_request_that_fails_ends_both_channels, 1,
			    IBV_WC_TM_RNDV_INCOMPLETE + 1);
	tcase_add_test(failures, the_peers_own_word_comes_first);
	tcase_add_loop_test(refusals, a_call_that_is_refused_ends_in_a_status, 0,
			    VERBS_CALLS);
	tcase_add_test(refusals, a_refused_registration_names_the_limit);
	tcase_add_test(refusals, a_refused_allocation_undoes_everything);
	tcase_add_test(refusals, too_few_descriptors_undo_everything);
	tcase_add_test(options, bad_options_are_refused);
	tcase_add_test(options, a_port_and_an_address_are_chosen);
	tcase_add_test(options, an_adapter_with_short_queues_is_refused);
	tcase_add_test(options, channels_that_verbs_cannot_carry_are_refused);
	tcase_add_loop_test(misfits, both_ends_need_the_same_fragments, 0, 4);
	tcase_add_test(misfits, both_ends_need_the_same_transport);
	tcase_add_test(misfits, both_ends_need_the_same_kind_of_link);
	tcase_add_test(addresses, an_address_is_read_as_it_was_written);
	tcase_add_test(addresses, an_address_without_a_meaning_is_refused);
	return fixture_run(suite);
}
