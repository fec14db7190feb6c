/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Channels over MPI, in a job of one, two or four processes. All of them run the same cases in the same order. Whatever
 * is wrong aborts the process with a sentence, and MPI ends the job.
 *
 * Without an argument it starts jobs of itself. With one it is a process of a job:
 * usage: test_ranks-MPI [LEVEL [CASE...]]    LEVEL: single, funneled, serialized or multiple
 */
#include "config.h"

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dtconv/dtconv.h>
#include <dtconv/mpi.h>

#include "faults.h"
#include "launch.h"
#include "support/allocators.h"
#include "support/choices.h"
#include "transport/exchange.h"
#include "transport/process.h"

#define MUST(holds) exchange_must(holds, #holds)

/* More than any of these cases needs. */
#define PATIENCE 10000000

#define INTS 40000

/* ---- this process ------------------------------------------------------------------------ */

static struct {
	int rank, size, level;
	struct block_count blocks;
	/* The allocation with that number fails, from 1; 0: none. */
	size_t fail_at, allocations;
	struct dtconv_allocator counted;
	struct dtconv_context *context;
	struct dtconv_engine *engine;
	struct dtconv_mpi *mpi;
} job;

static void *allocate(void *arg, size_t bytes)
{
	(void)arg;
	if (++job.allocations == job.fail_at)
		return NULL;
	return job.counted.alloc(job.counted.arg, bytes);
}

static void release(void *arg, void *memory)
{
	(void)arg;
	job.counted.free(job.counted.arg, memory);
}

static const char *error_text(void)
{
	static char text[512];

	text[0] = 0;
	dtconv_context_error(job.context, text, sizeof(text));
	return text;
}

static void must_be(int status, int expected, const char *what)
{
	if (status == expected)
		return;
	fprintf(stderr, "rank %d: %s: %s, not %s (%s)\n", job.rank, what,
		dtconv_strerror(status), dtconv_strerror(expected), error_text());
	abort();
}

#define OK(call)          must_be(call, 0, #call)
#define FAILS(call, with) must_be(call, with, #call)

static void open_context(void)
{
	job.counted = allocator_of_blocks(&job.blocks);
	const struct dtconv_context_params params = { .struct_size = sizeof(params),
						      .allocator = { .alloc = allocate,
								     .free = release } };

	OK(dtconv_context_create(&params, &job.context));
}

static void close_context(void)
{
	dtconv_context_destroy(job.context);
	MUST(!job.blocks.live);
}

static void open_job(const struct dtconv_engine_params *params)
{
	OK(dtconv_engine_create(job.context, params, &job.engine));
	OK(dtconv_mpi_create(job.engine, MPI_COMM_WORLD, &job.mpi));
}

static void close_job(void)
{
	OK(dtconv_mpi_destroy(job.mpi));
	OK(dtconv_engine_destroy(job.engine));
	job.mpi = NULL;
	MUST(!faults.requests);
}

static size_t progress(void)
{
	size_t worked;

	OK(dtconv_engine_progress(job.engine, 0, &worked));
	if (!worked)
		(void)sched_yield();
	return worked;
}

/* Progress until it holds. */
#define UNTIL(holds)                                                         \
	do {                                                                 \
		for (long patience = 0; !(holds); patience++) {              \
			exchange_must(patience < PATIENCE, "until " #holds); \
			(void)progress();                                    \
		}                                                            \
	} while (0)

/* All processes are here. Their channels make progress meanwhile. */
static void meet(void)
{
	MPI_Request request;
	int is_here = 0;

	MUST(!MPI_Ibarrier(MPI_COMM_WORLD, &request));
	while (!is_here) {
		MUST(!PMPI_Test(&request, &is_here, MPI_STATUS_IGNORE));
		(void)progress();
	}
}

/* ---- channels ---------------------------------------------------------------------------- */

static struct dtconv_channel *connect_with(int rank, size_t fragments, size_t bytes)
{
	const struct dtconv_channel_params params = { .struct_size = sizeof(params),
						      .kind = DTCONV_MEMORY_HOST,
						      .fragments = fragments,
						      .fragment_bytes = bytes };
	struct dtconv_channel *channel;

	OK(dtconv_mpi_connect(job.mpi, rank, &params, &channel));
	return channel;
}

static struct dtconv_channel_attr attr_of(struct dtconv_channel *channel)
{
	struct dtconv_channel_attr attr = { .struct_size = sizeof(attr) };

	OK(dtconv_channel_query(channel, &attr));
	return attr;
}

static struct dtconv_mpi_attr attr_of_mpi(void)
{
	struct dtconv_mpi_attr attr = { .struct_size = sizeof(attr) };

	OK(dtconv_mpi_query(job.mpi, &attr));
	return attr;
}

/* Nothing is left of it. */
static void close_channel(struct dtconv_channel *channel)
{
	OK(dtconv_channel_close(channel));
	UNTIL(!attr_of(channel).operations);
	const struct dtconv_channel_attr attr = attr_of(channel);
	MUST(attr.state == DTCONV_CHANNEL_ENDED && attr.status);
	MUST(attr.free == attr.fragments && !attr.waiting);
	OK(dtconv_channel_destroy(channel));
}

struct seen {
	int calls, status;
	size_t moved;
	char error[384];
};

static void see(void *arg, int status, size_t moved)
{
	struct seen *seen = arg;

	seen->calls++;
	seen->status = status;
	seen->moved = moved;
	if (status)
		snprintf(seen->error, sizeof(seen->error), "%s", error_text());
}

static int ints[INTS], places[INTS];

static void fill(void)
{
	for (int i = 0; i < INTS; i++) {
		ints[i] = i + 1;
		places[i] = 0;
	}
}

static struct dtconv_type *int_type(void)
{
	return dtconv_type_predefined(job.context, DTCONV_INT);
}

static int send_ints(struct dtconv_channel *channel, uint64_t tag, size_t count,
		     struct seen *seen)
{
	memset(seen, 0, sizeof(*seen));
	return dtconv_channel_send(channel, tag, int_type(), count, ints, see, seen);
}

static int recv_ints(struct dtconv_channel *channel, uint64_t tag, size_t count,
		     struct seen *seen)
{
	memset(seen, 0, sizeof(*seen));
	return dtconv_channel_recv(channel, tag, int_type(), count, places, see, seen);
}

/* Both ends between ranks 0 and 1: one message, from 0. The others have none. */
static struct dtconv_channel *connect_pair(size_t fragments, size_t bytes)
{
	return job.rank < 2 ? connect_with(1 - job.rank, fragments, bytes) : NULL;
}

static void pass_ints(struct dtconv_channel *channel, uint64_t tag, size_t count)
{
	struct seen seen;

	fill();
	OK(job.rank ? recv_ints(channel, tag, count, &seen)
		    : send_ints(channel, tag, count, &seen));
	UNTIL(seen.calls);
	must_be(seen.status, 0, "a message");
	MUST(seen.moved == count * sizeof(int));
	if (job.rank)
		MUST(!memcmp(ints, places, count * sizeof(int)));
}

/* ---- messages ---------------------------------------------------------------------------- */

/* Pools of other sizes at the two ends. */
static void exchange_all(int round, unsigned late)
{
	static const size_t fragments[] = { 1, 2, 16 }, sizes[] = { 64, 1000, 65536 };
	static struct exchange exchanges[4];
	struct party parties[4];
	int peer;

	open_job(NULL);
	faults.late = late;
	for (peer = 0; peer < job.size; peer++) {
		const int low = peer < job.rank ? peer : job.rank;
		const uint64_t seed =
			(uint64_t)round * 1000 + (uint64_t)(100 * low + peer + job.rank);

		if (peer == job.rank)
			continue;
		parties[peer] = (struct party){
			.context = job.context,
			.engine = job.engine,
			.channel = connect_with(peer, fragments[(round + job.rank) % 3],
						sizes[(round / 3 + peer) % 3])
		};
		exchange_open(&exchanges[peer], job.context, job.rank > peer, seed, 24);
		exchange_start(&exchanges[peer], &parties[peer]);
	}
	for (peer = 0; peer < job.size; peer++)
		if (peer != job.rank)
			UNTIL(exchange_is_done(&exchanges[peer]));
	for (peer = 0; peer < job.size; peer++) {
		if (peer == job.rank)
			continue;
		exchange_check(&exchanges[peer], 0);
		exchange_close(&exchanges[peer]);
		close_channel(parties[peer].channel);
	}
	faults_clear();
	close_job();
}

static void any_type_goes_to_any_type(void)
{
	for (int round = 0; round < 9; round++)
		exchange_all(round, 0);
}

/* What has arrived is seen late, fragments after the headers behind them. */
static void late_answers_change_nothing(void)
{
	for (int round = 0; round < 4; round++)
		exchange_all(round + 20, 70);
}

static void a_process_may_talk_to_itself(void)
{
	struct seen sent[3], received[3];

	open_job(NULL);
	for (size_t i = 0; i < 3; i++) {
		static const size_t counts[] = { 1, 100, INTS };
		struct dtconv_channel *channel = connect_with(job.rank, i + 1, 1024);

		fill();
		OK(send_ints(channel, i, counts[i], &sent[i]));
		UNTIL(attr_of(channel).waiting);
		OK(recv_ints(channel, i, counts[i], &received[i]));
		UNTIL(sent[i].calls && received[i].calls);
		must_be(sent[i].status, 0, "to itself");
		must_be(received[i].status, 0, "from itself");
		MUST(!memcmp(ints, places, counts[i] * sizeof(int)));
		close_channel(channel);
	}
	close_job();
}

/* Each end of a rank pair is the one made by the same call. */
static void the_nth_channels_of_two_processes_are_connected(void)
{
	struct dtconv_channel *channels[3];

	open_job(NULL);
	for (int i = 0; i < 3; i++)
		channels[i] = connect_pair(2, 256);
	if (job.rank < 2) {
		MUST(attr_of_mpi().channels == 3);
		for (int i = 2; i >= 0; i--)
			pass_ints(channels[i], (uint64_t)i, (size_t)i * 1000 + 1);
		for (int i = 0; i < 3; i++)
			close_channel(channels[i]);
	}
	close_job();
}

/* ---- refusals ---------------------------------------------------------------------------- */

static void refuse(struct dtconv_channel *channel, struct dtconv_type *type, size_t count,
		   size_t sent_count, int status)
{
	struct seen seen = { 0 };

	fill();
	if (job.rank)
		OK(dtconv_channel_recv(channel, 1, type, count, places, see, &seen));
	else
		OK(send_ints(channel, 1, sent_count, &seen));
	UNTIL(seen.calls);
	must_be(seen.status, status, "a message that does not fit");
	MUST(!seen.moved && strstr(seen.error, "tag 1"));
	for (int i = 0; i < INTS; i++)
		MUST(!places[i]);
	pass_ints(channel, 1, 700);
}

static void a_message_that_does_not_fit_is_refused_at_both_ends(void)
{
	static const size_t counts[] = { 2, 3, 30, 5000 };
	static const char mixed[] = "struct([2, 1], [0, 8], [int, float])";
	struct dtconv_type *other;

	open_job(NULL);
	OK(dtconv_type_parse(job.context, mixed, strlen(mixed), &other));
	OK(dtconv_type_commit(other));
	struct dtconv_channel *channel = connect_pair(2, 128);
	for (size_t i = 0; i < 4 && channel; i++) {
		refuse(channel, int_type(), counts[i] - 1, counts[i],
		       DTCONV_ERR_TRUNCATE);
		if (counts[i] > 2)
			refuse(channel, other, counts[i], counts[i],
			       DTCONV_ERR_SIGNATURE);
	}
	if (channel)
		close_channel(channel);
	dtconv_type_unref(other);
	close_job();
}

/* ---- ends -------------------------------------------------------------------------------- */

/* After so many steps one end closes; messages are under way, waiting here, and waiting there. */
static void close_after(int steps, bool both)
{
	struct seen seen[5];

	open_job(NULL);
	struct dtconv_channel *channel = connect_pair(2, 256);
	if (channel) {
		const int status = job.rank && !both ? DTCONV_ERR_PEER
						     : DTCONV_ERR_CANCELED;

		fill();
		OK(send_ints(channel, 1, 4000, &seen[0]));
		OK(recv_ints(channel, 1, 4000, &seen[1]));
		OK(send_ints(channel, 2, 4, &seen[2]));
		OK(send_ints(channel, 3, 4000, &seen[3]));
		OK(recv_ints(channel, 9, 1, &seen[4]));
		for (int i = 0; i < steps; i++)
			(void)progress();
		if (!job.rank || both)
			OK(dtconv_channel_close(channel));
		for (int i = 0; i < 5; i++) {
			UNTIL(seen[i].calls);
			MUST(seen[i].calls == 1);
			if (seen[i].status && seen[i].status != DTCONV_ERR_PEER)
				must_be(seen[i].status, status, "closed");
		}
		MUST(seen[4].status && seen[2].status);
		if (job.rank && !both)
			MUST(strstr(seen[4].error, "it closed the channel"));
		close_channel(channel);
	}
	close_job();
}

static void closing_ends_everything_once(void)
{
	for (int steps = 0; steps < 40; steps += 2)
		close_after(steps, steps % 4 == 2);
}

/* The peer makes no progress while a message is under way. */
static void a_timeout_ends_a_message_at_both_ends(void)
{
	const struct dtconv_engine_params params = { .struct_size = sizeof(params),
						     .timeout_ms = 1 };
	struct seen seen = { 0 };

	open_job(job.rank == 1 ? &params : NULL);
	struct dtconv_channel *channel = connect_pair(2, 256);
	fill();
	if (job.rank == 0) {
		OK(send_ints(channel, 1, INTS, &seen));
		/* Until some of it has been unpacked. */
		UNTIL(attr_of(channel).free < 2);
		int go;
		MUST(!MPI_Recv(&go, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
	} else if (job.rank == 1) {
		OK(recv_ints(channel, 1, INTS, &seen));
		UNTIL(seen.calls);
		must_be(seen.status, DTCONV_ERR_TIMEOUT, "a receive");
		MUST(!MPI_Send(&job.rank, 1, MPI_INT, 0, 0, MPI_COMM_WORLD));
	}
	if (channel) {
		UNTIL(seen.calls);
		must_be(seen.status, DTCONV_ERR_TIMEOUT, "a message");
		/* The channel goes on. */
		meet();
		close_channel(channel);
	} else {
		meet();
	}
	close_job();
}

/* The other process makes fewer channels. */
static void a_channel_that_only_one_end_has_made_ends(void)
{
	struct dtconv_channel *channels[3];
	struct seen seen[3];

	open_job(NULL);
	const int count = job.rank == 0 ? 3 : job.rank == 1 ? 1 : 0;
	for (int i = 0; i < count; i++) {
		channels[i] = connect_with(1 - job.rank, 2, 256);
		OK(recv_ints(channels[i], 9, 1, &seen[i]));
	}
	for (int i = 0; i < 20; i++)
		(void)progress();
	for (int i = 0; i < count; i++) {
		OK(dtconv_channel_close(channels[i]));
		UNTIL(seen[i].calls);
		MUST(seen[i].status == DTCONV_ERR_CANCELED ||
		     (!i && seen[i].status == DTCONV_ERR_PEER));
		close_channel(channels[i]);
	}
	faults.received = 0;
	close_job();
	/* The first and the last packet of two channels. */
	MUST(faults.received == (job.rank == 1 ? 4 : 0));
}

/* The peer makes no progress meanwhile. */
static void a_link_stays_until_the_peer_has_ended_too(void)
{
	int token = 0;

	open_job(NULL);
	struct dtconv_channel *channel = connect_pair(2, 256);
	if (channel)
		pass_ints(channel, 1, 10);
	if (job.rank == 0) {
		OK(dtconv_channel_destroy(channel));
		for (int i = 0; i < 1000; i++)
			(void)progress();
		MUST(attr_of_mpi().leaving == 1 && !attr_of_mpi().channels);
		MUST(!MPI_Send(&token, 1, MPI_INT, 1, 0, MPI_COMM_WORLD));
		UNTIL(!attr_of_mpi().leaving);
	} else if (job.rank == 1) {
		MUST(!MPI_Recv(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD,
			       MPI_STATUS_IGNORE));
		UNTIL(attr_of(channel).state == DTCONV_CHANNEL_ENDED);
		OK(dtconv_channel_destroy(channel));
	}
	close_job();
}

/* ---- MPI fails --------------------------------------------------------------------------- */

/* Both directions; they end well or not, and nothing is left. What the ends say. */
static void exchange_between(struct dtconv_channel *channel, int statuses[2])
{
	struct seen sent, received;

	fill();
	statuses[0] = send_ints(channel, 1, 3000, &sent);
	statuses[1] = recv_ints(channel, 1, 3000, &received);
	if (!statuses[0]) {
		UNTIL(sent.calls);
		statuses[0] = sent.status;
	}
	if (!statuses[1]) {
		UNTIL(received.calls);
		statuses[1] = received.status;
	}
	if (!statuses[1])
		MUST(!memcmp(ints, places, 3000 * sizeof(int)));
}

static void fail_at(enum fault_call call, int number, bool *happened)
{
	int statuses[2] = { 0, 0 };

	open_job(NULL);
	if (job.rank == 0)
		faults.fail_at[call] = number;
	struct dtconv_channel *channel = connect_pair(2, 512);
	if (channel) {
		exchange_between(channel, statuses);
		for (int i = 0; i < 2; i++)
			MUST(!statuses[i] || statuses[i] == DTCONV_ERR_PEER);
		*happened = attr_of(channel).status != 0;
		if (*happened && job.rank == 0)
			MUST(attr_of(channel).status == DTCONV_ERR_PEER);
		close_channel(channel);
	}
	faults_clear();
	close_job();
}

static void a_call_of_mpi_that_fails_ends_the_channel(void)
{
	for (int call = 0; call < FAULT_CALLS; call++) {
		int failures = 0;

		for (int number = 1; number < 60; number += number / 8 + 1) {
			bool happened = false;

			fail_at((enum fault_call)call, number, &happened);
			failures += happened;
		}
		MUST(job.rank || failures > 5);
	}
}

/* Then there is nothing to wait for. */
static void the_last_word_may_be_lost(void)
{
	int token = 0;

	open_job(NULL);
	struct dtconv_channel *channel = connect_pair(2, 256);
	if (channel)
		pass_ints(channel, 1, 10);
	meet();
	if (job.rank == 1) {
		MUST(!MPI_Recv(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD,
			       MPI_STATUS_IGNORE));
	} else if (job.rank == 0) {
		/* The next that ends is the receive of it. */
		faults.fail_at[FAULT_TEST] = 1;
		MUST(!MPI_Send(&token, 1, MPI_INT, 1, 0, MPI_COMM_WORLD));
		UNTIL(attr_of(channel).state == DTCONV_CHANNEL_ENDED);
		must_be(attr_of(channel).status, DTCONV_ERR_PEER, "a lost packet");
		MUST(!faults.fail_at[FAULT_TEST]);
	}
	if (channel)
		close_channel(channel);
	close_job();
}

/* ---- lies -------------------------------------------------------------------------------- */

static void a_peer_that_breaks_the_protocol_ends_the_channel(void)
{
	for (int lie = 1; lie < LIES; lie++) {
		const int expected = lie == LIE_VERSION ? DTCONV_ERR_UNSUPPORTED
							: DTCONV_ERR_FORMAT;
		int statuses[2];

		open_job(NULL);
		if (job.rank == 0)
			faults.lie = (enum fault_lie)lie;
		struct dtconv_channel *channel = connect_pair(4, 512);
		if (channel) {
			exchange_between(channel, statuses);
			UNTIL(attr_of(channel).state == DTCONV_CHANNEL_ENDED);
			must_be(attr_of(channel).status, expected, "a lie");
			/* Else the message is too short at its end only. */
			MUST(lie != LIE_LENGTH || job.rank == 0 ||
			     strstr(error_text(), "length that its header says"));
			MUST(job.rank || faults.has_lied);
			close_channel(channel);
		}
		faults_clear();
		close_job();
	}
}

/* ---- no memory --------------------------------------------------------------------------- */

/* Every allocation of making a channel and of its first message, in one process. */
static void without_memory_a_channel_ends_and_nothing_is_lost(void)
{
	bool has_failed = true;
	int failures = 0;

	for (size_t number = 1; has_failed; number++) {
		int statuses[2] = { 0, 0 };

		open_job(NULL);
		const size_t live = job.blocks.live;
		const struct dtconv_channel_params params = { .struct_size =
								      sizeof(params),
							      .kind = DTCONV_MEMORY_HOST,
							      .fragments = 2,
							      .fragment_bytes = 512 };
		struct dtconv_channel *channel = NULL;
		job.allocations = 0;
		job.fail_at = job.rank == 0 ? number : 0;
		int status = job.rank < 2 ? dtconv_mpi_connect(job.mpi, 1 - job.rank,
							       &params, &channel)
					  : 0;
		if (status) {
			must_be(status, DTCONV_ERR_NOMEM, "connect");
			MUST(job.blocks.live == live);
			OK(dtconv_mpi_connect(job.mpi, 1 - job.rank, &params, &channel));
		}
		if (channel) {
			exchange_between(channel, statuses);
			for (int i = 0; i < 2; i++)
				MUST(!statuses[i] || statuses[i] == DTCONV_ERR_NOMEM ||
				     statuses[i] == DTCONV_ERR_PEER ||
				     statuses[i] == DTCONV_ERR_CANCELED);
			close_channel(channel);
		}
		has_failed = job.fail_at && job.allocations >= job.fail_at;
		failures += has_failed;
		job.fail_at = 0;
		MUST(!MPI_Bcast(&has_failed, sizeof(has_failed), MPI_BYTE, 0,
				MPI_COMM_WORLD));
		close_job();
	}
	MUST(job.rank || failures > 8);
}

static void if_one_process_has_no_memory_none_gets_an_object(void)
{
	for (size_t number = 1; number <= 2; number++) {
		struct dtconv_mpi *mpi = NULL;

		OK(dtconv_engine_create(job.context, NULL, &job.engine));
		job.allocations = 0;
		job.fail_at = job.rank == 0 ? number : 0;
		FAILS(dtconv_mpi_create(job.engine, MPI_COMM_WORLD, &mpi),
		      job.rank == 0 ? DTCONV_ERR_NOMEM : DTCONV_ERR_PEER);
		MUST(!mpi);
		job.fail_at = 0;
		OK(dtconv_engine_destroy(job.engine));
	}
}

/* ---- arguments --------------------------------------------------------------------------- */

static size_t destroy_in_callback(void *arg, size_t budget)
{
	int *status = arg;

	(void)budget;
	if (*status != DTCONV_INPROGRESS)
		return 0;
	*status = dtconv_mpi_destroy(job.mpi);
	return 1;
}

static void wrong_arguments_are_refused(void)
{
	struct dtconv_channel_params params = { .struct_size = sizeof(params) };
	struct dtconv_mpi_attr attr = { 0 };
	struct dtconv_channel *channel = NULL;
	struct dtconv_mpi *mpi = NULL;
	int status = DTCONV_INPROGRESS;
	unsigned number;
	MPI_Comm half, inter;

	open_job(NULL);
	FAILS(dtconv_mpi_create(NULL, MPI_COMM_WORLD, &mpi), DTCONV_ERR_INVAL);
	FAILS(dtconv_mpi_create(job.engine, MPI_COMM_WORLD, NULL), DTCONV_ERR_INVAL);
	FAILS(dtconv_mpi_create(job.engine, MPI_COMM_NULL, &mpi), DTCONV_ERR_INVAL);
	MUST(strstr(error_text(), "comm (argument 2) is MPI_COMM_NULL"));
	if (job.size > 1) {
		MUST(!MPI_Comm_split(MPI_COMM_WORLD, job.rank % 2, job.rank, &half));
		MUST(!MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - job.rank % 2, 7,
					   &inter));
		FAILS(dtconv_mpi_create(job.engine, inter, &mpi), DTCONV_ERR_INVAL);
		MPI_Comm_free(&inter);
		MPI_Comm_free(&half);
	}
	FAILS(dtconv_mpi_connect(NULL, 0, NULL, &channel), DTCONV_ERR_INVAL);
	FAILS(dtconv_mpi_connect(job.mpi, 0, NULL, NULL), DTCONV_ERR_INVAL);
	FAILS(dtconv_mpi_connect(job.mpi, -1, NULL, &channel), DTCONV_ERR_INVAL);
	FAILS(dtconv_mpi_connect(job.mpi, job.size, NULL, &channel), DTCONV_ERR_INVAL);
	MUST(strstr(error_text(), "rank (argument 2)"));
	params.flags = 1u << 31;
	FAILS(dtconv_mpi_connect(job.mpi, 0, &params, &channel), DTCONV_ERR_INVAL);
	params.flags = 0;
	params.fragment_bytes = (size_t)INT_MAX + 1;
	FAILS(dtconv_mpi_connect(job.mpi, 0, &params, &channel), DTCONV_ERR_LIMIT);
	params.struct_size = 0;
	FAILS(dtconv_mpi_connect(job.mpi, 0, &params, &channel), DTCONV_ERR_INVAL);
	FAILS(dtconv_mpi_query(NULL, &attr), DTCONV_ERR_INVAL);
	FAILS(dtconv_mpi_query(job.mpi, NULL), DTCONV_ERR_INVAL);
	FAILS(dtconv_mpi_query(job.mpi, &attr), DTCONV_ERR_INVAL);
	OK(dtconv_mpi_destroy(NULL));
	MUST(!channel && !mpi);
	attr = attr_of_mpi();
	MUST(attr.rank == job.rank && attr.size == job.size &&
	     attr.thread_level == job.level && !attr.channels && !attr.leaving);
	channel = connect_with(job.rank, 1, 64);
	MUST(attr_of_mpi().channels == 1);
	FAILS(dtconv_mpi_destroy(job.mpi), DTCONV_ERR_STATE);
	MUST(strstr(error_text(), "1 channels are not destroyed"));
	OK(dtconv_channel_destroy(channel));
	MUST(!attr_of_mpi().channels && attr_of_mpi().leaving == 1);
	UNTIL(!attr_of_mpi().leaving);
	const struct dtconv_source source = { -1, destroy_in_callback, NULL, &status };
	OK(dtconv_engine_attach(job.engine, &source, &number));
	UNTIL(status != DTCONV_INPROGRESS);
	must_be(status, DTCONV_ERR_STATE, "destroy in a callback");
	OK(dtconv_engine_detach(job.engine, number));
	close_job();
}

/* Sources of an engine, and tags of MPI. */
static void channels_are_limited(void)
{
	struct dtconv_channel *channels[DTCONV_ENGINE_SOURCES_MAX], *extra;
	int i;

	open_job(NULL);
	for (i = 0; i < DTCONV_ENGINE_SOURCES_MAX - 1; i++)
		channels[i] = connect_with(job.rank, 1, 64);
	FAILS(dtconv_mpi_connect(job.mpi, job.rank, NULL, &extra), DTCONV_ERR_LIMIT);
	while (i--)
		OK(dtconv_channel_destroy(channels[i]));
	close_job();
	faults.tag_bound = 32767;
	open_job(NULL);
	for (i = 0; i < 31; i++)
		OK(dtconv_channel_destroy(connect_with(job.rank, 1, 64)));
	FAILS(dtconv_mpi_connect(job.mpi, job.rank, NULL, &extra), DTCONV_ERR_LIMIT);
	MUST(strstr(error_text(), "31 channels"));
	faults_clear();
	close_job();
}

/* ---- threads ----------------------------------------------------------------------------- */

static void *progress_elsewhere(void *arg)
{
	struct dtconv_channel *channel = arg, *extra;

	if (job.level < MPI_THREAD_MULTIPLE) {
		FAILS(dtconv_mpi_connect(job.mpi, 0, NULL, &extra), DTCONV_ERR_STATE);
		FAILS(dtconv_mpi_destroy(job.mpi), DTCONV_ERR_STATE);
	}
	if (job.level < MPI_THREAD_SERIALIZED)
		FAILS(dtconv_mpi_create(job.engine, MPI_COMM_SELF, &job.mpi),
		      DTCONV_ERR_STATE);
	for (int i = 0; i < 5; i++)
		(void)progress();
	if (job.level < MPI_THREAD_MULTIPLE) {
		must_be(attr_of(channel).status, DTCONV_ERR_STATE, "another thread");
		/* Without MPI. */
		OK(dtconv_channel_destroy(channel));
	}
	return NULL;
}

static void other_threads_may_make_progress_with_thread_multiple_only(void)
{
	pthread_t thread;

	open_job(NULL);
	struct dtconv_channel *channel = connect_pair(2, 256);
	if (channel) {
		UNTIL(attr_of(channel).state != DTCONV_CHANNEL_CONNECTING);
		if (job.rank == 0) {
			const long calls = faults.requests;

			MUST(!pthread_create(&thread, NULL, progress_elsewhere, channel));
			MUST(!pthread_join(thread, NULL));
			MUST(job.level == MPI_THREAD_MULTIPLE ||
			     faults.requests == calls);
		}
		if (job.level == MPI_THREAD_MULTIPLE) {
			pass_ints(channel, 1, 5000);
			close_channel(channel);
		} else if (job.rank == 1) {
			UNTIL(attr_of(channel).state == DTCONV_CHANNEL_ENDED);
			must_be(attr_of(channel).status, DTCONV_ERR_PEER, "the peer");
			close_channel(channel);
		}
	}
	close_job();
}

static void an_engine_may_have_a_thread_with_thread_multiple_only(void)
{
	const struct dtconv_engine_params params = { .struct_size = sizeof(params),
						     .flags = DTCONV_ENGINE_THREAD };
	struct seen seen;

	open_job(&params);
	struct dtconv_channel *channel = connect_pair(2, 256);
	if (channel && job.level < MPI_THREAD_MULTIPLE) {
		while (attr_of(channel).state != DTCONV_CHANNEL_ENDED)
			(void)sched_yield();
		must_be(attr_of(channel).status, DTCONV_ERR_STATE, "the engine's thread");
	} else if (channel) {
		fill();
		memset(&seen, 0, sizeof(seen));
		OK(job.rank ? recv_ints(channel, 1, 5000, &seen)
			    : send_ints(channel, 1, 5000, &seen));
		while (attr_of(channel).operations)
			(void)sched_yield();
		must_be(seen.status, 0, "a message");
		MUST(!job.rank || !memcmp(ints, places, 5000 * sizeof(int)));
	}
	if (channel)
		OK(dtconv_channel_destroy(channel));
	close_job();
}

/* ---- running ----------------------------------------------------------------------------- */

#define CASE(function, processes)              \
	{                                      \
#function, function, processes \
	}

static const struct {
	const char *name;
	void (*run)(void);
	int processes; /* at least */
} cases[] = {
	CASE(wrong_arguments_are_refused, 1),
	CASE(a_process_may_talk_to_itself, 1),
	CASE(channels_are_limited, 1),
	CASE(any_type_goes_to_any_type, 2),
	CASE(late_answers_change_nothing, 2),
	CASE(the_nth_channels_of_two_processes_are_connected, 2),
	CASE(a_message_that_does_not_fit_is_refused_at_both_ends, 2),
	CASE(closing_ends_everything_once, 2),
	CASE(a_timeout_ends_a_message_at_both_ends, 2),
	CASE(a_channel_that_only_one_end_has_made_ends, 2),
	CASE(a_link_stays_until_the_peer_has_ended_too, 2),
	CASE(a_call_of_mpi_that_fails_ends_the_channel, 2),
	CASE(the_last_word_may_be_lost, 2),
	CASE(a_peer_that_breaks_the_protocol_ends_the_channel, 2),
	CASE(without_memory_a_channel_ends_and_nothing_is_lost, 2),
	CASE(if_one_process_has_no_memory_none_gets_an_object, 2),
	CASE(other_threads_may_make_progress_with_thread_multiple_only, 2),
	CASE(an_engine_may_have_a_thread_with_thread_multiple_only, 2),
};

static bool is_wanted(const char *name, char **names, int count)
{
	bool is_named = count == 0;

	for (int i = 0; i < count; i++)
		is_named |= !strcmp(name, names[i]);
	return is_named;
}

static int run_cases(char **names, int count)
{
	int run = 0;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (job.size < cases[i].processes ||
		    !is_wanted(cases[i].name, names, count))
			continue;
		faults_clear();
		open_context();
		cases[i].run();
		close_context();
		MUST(!process_mappings());
		if (!job.rank)
			printf("PASS: %s\n", cases[i].name);
		run++;
	}
	return run;
}

static int level_of(const char *name)
{
	return !strcmp(name, "multiple")     ? MPI_THREAD_MULTIPLE
	       : !strcmp(name, "serialized") ? MPI_THREAD_SERIALIZED
	       : !strcmp(name, "funneled")   ? MPI_THREAD_FUNNELED
					     : MPI_THREAD_SINGLE;
}

static void create_without_mpi(void)
{
	struct dtconv_mpi *mpi = NULL;

	open_context();
	OK(dtconv_engine_create(job.context, NULL, &job.engine));
	FAILS(dtconv_mpi_create(job.engine, MPI_COMM_WORLD, &mpi), DTCONV_ERR_STATE);
	OK(dtconv_engine_destroy(job.engine));
	close_context();
}

/* Two processes in each thread level, and one and four. */
static int run_jobs(const char *program)
{
	static const char *const levels[] = { "single", "funneled", "serialized",
					      "multiple" };

	for (size_t i = 0; i < 4; i++)
		if (launch(program, "2", levels[i]))
			return EXIT_FAILURE;
	return launch(program, "1", levels[0]) || launch(program, "4", levels[0])
		       ? EXIT_FAILURE
		       : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	if (!launch_is_job() && argc == 1)
		return run_jobs(argv[0]);
	create_without_mpi();
	MUST(!MPI_Init_thread(&argc, &argv, level_of(argc > 1 ? argv[1] : "single"),
			      &job.level));
	MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &job.size);
	MUST(job.size <= 4);
	const int run = run_cases(argv + 2, argc > 2 ? argc - 2 : 0);
	MPI_Finalize();
	create_without_mpi();
	if (!job.rank)
		printf("%d cases passed with %d processes\n", run, job.size);
	if (!run)
		return EXIT_FAILURE;
	launch_passed();
	return EXIT_SUCCESS;
}
