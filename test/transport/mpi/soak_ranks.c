/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random messages between two processes of a job over MPI, with faults: an end leaves, runs out of memory, is too late,
 * has an MPI that fails or lies, or messages do not fit their receives. Every operation ends once at both ends, what
 * has arrived is right, and nothing is left over, neither here nor in MPI.
 *
 * Without a plan it starts a job of two of itself.
 * usage: soak_ranks-MPI [SEED,MESSAGES,FAULTS[,SESSION]]
 * A session is what one channel does; with SESSION that one runs alone.
 */
#include "config.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <dtconv/dtconv.h>
#include <dtconv/mpi.h>

#include "faults.h"
#include "launch.h"
#include "support/allocators.h"
#include "support/choices.h"
#include "transport/exchange.h"
#include "transport/process.h"

#define MESSAGES 40 /* of a session */
#define MISFITS  4  /* of these, in a session that has such a fault */

/* A session that hangs is ended by the system, and the soak fails. */
#define LIMIT_S 120

/* The most of a message that does not fit. */
#define INTS 5000

enum fault {
	FAULT_NONE,
	FAULT_LEAVE,   /* an end closes its channel */
	FAULT_MEMORY,  /* an allocation of an end is refused */
	FAULT_TIMEOUT, /* operations of an end get a millisecond */
	FAULT_CALL,    /* a call of MPI fails at an end */
	FAULT_LIE,     /* rank 0 breaks the protocol */
	FAULT_MISFIT,  /* messages are longer than their receives, or of other types */
	FAULTS
};

struct session {
	uint64_t number, seed;
	enum fault fault;
	int side;    /* at which end */
	size_t step; /* so many things happen before */
	size_t fragments, fragment_bytes;
	unsigned late;
};

struct misfit {
	int calls, status, expected;
	uint64_t tag;
	size_t count;
	bool is_sent;
};

static struct {
	int rank;
	const struct session *session;
	struct ration ration;
	struct party party;
	struct dtconv_mpi *mpi;
	struct exchange exchange;
	size_t misfit_count;
	struct misfit misfits[MISFITS];
} end;

static void must(bool holds, const char *what)
{
	if (holds)
		return;
	char text[384] = "";
	(void)dtconv_context_error(end.party.context, text, sizeof(text));
	fprintf(stderr,
		"soak_ranks: session %" PRIu64
		", fault %d of rank %d, rank %d: this does "
		"not hold: %s (%s)\n",
		end.session->number, (int)end.session->fault, end.session->side, end.rank,
		what, text);
	abort();
}

/* ---- plans ------------------------------------------------------------------------------------ */

static struct session plan(uint64_t seed, uint64_t number, bool has_fault)
{
	struct session session = { .number = number, .seed = seed * 1000003 + number };
	struct choices choices;

	choices_from_seed(&choices, session.seed);
	session.fragments = 1 + choose(&choices, 6);
	session.fragment_bytes = (size_t)64 << choose(&choices, 9);
	session.side = (int)choose(&choices, 2);
	session.step = choose(&choices, 150);
	session.late = 35 * (unsigned)choose(&choices, 3);
	if (has_fault)
		session.fault = (enum fault)(1 + choose(&choices, FAULTS - 1));
	if (session.fault == FAULT_LIE)
		session.side = 0;
	return session;
}

static bool is_here(enum fault fault)
{
	return end.session->fault == fault && end.session->side == end.rank;
}

/* ---- messages that do not fit -------------------------------------------------------------------- */

static void see_misfit(void *arg, int status, size_t moved)
{
	struct misfit *misfit = arg;

	(void)moved;
	misfit->calls++;
	misfit->status = status;
}

/* Both ends know from the seed which it is. */
static void start_misfit(struct misfit *misfit)
{
	static int ints[INTS], places[INTS];
	static float others[INTS];
	struct dtconv_context *context = end.party.context;
	struct dtconv_channel *channel = end.party.channel;
	struct dtconv_type *number = dtconv_type_predefined(context, DTCONV_INT);
	const bool is_truncated = misfit->expected == DTCONV_ERR_TRUNCATE;
	int status;

	if (misfit->is_sent)
		status = dtconv_channel_send(channel, misfit->tag, number, misfit->count,
					     ints, see_misfit, misfit);
	else if (is_truncated)
		status = dtconv_channel_recv(channel, misfit->tag, number,
					     misfit->count - 1, places, see_misfit,
					     misfit);
	else
		status =
			dtconv_channel_recv(channel, misfit->tag,
					    dtconv_type_predefined(context, DTCONV_FLOAT),
					    misfit->count, others, see_misfit, misfit);
	if (status)
		see_misfit(misfit, status, 0);
}

static void start_misfits(void)
{
	struct choices choices;

	end.misfit_count = end.session->fault == FAULT_MISFIT ? MISFITS : 0;
	choices_from_seed(&choices, end.session->seed + 7);
	for (size_t i = 0; i < end.misfit_count; i++) {
		end.misfits[i] = (struct misfit){
			.expected = chance(&choices, 2) ? DTCONV_ERR_TRUNCATE
							: DTCONV_ERR_SIGNATURE,
			.tag = 100 + i,
			.count = 1 + choose(&choices, INTS),
			.is_sent = (int)choose(&choices, 2) == end.rank
		};
		start_misfit(&end.misfits[i]);
	}
}

static bool are_misfits_done(void)
{
	for (size_t i = 0; i < end.misfit_count; i++)
		if (!end.misfits[i].calls)
			return false;
	return true;
}

static size_t check_misfits(void)
{
	for (size_t i = 0; i < end.misfit_count; i++) {
		must(end.misfits[i].calls == 1, "one callback of a misfit");
		must(end.misfits[i].status == end.misfits[i].expected,
		     dtconv_strerror(end.misfits[i].status));
	}
	return end.misfit_count;
}

/* ---- an end ------------------------------------------------------------------------------------ */

static void open_end(void)
{
	const struct session *session = end.session;
	const struct dtconv_context_params params = { .struct_size = sizeof(params),
						      .allocator = allocator_of_rations(
							      &end.ration) };
	const struct dtconv_engine_params engine = { .struct_size = sizeof(engine),
						     .timeout_ms = is_here(FAULT_TIMEOUT)
									   ? 1
									   : 0 };
	const struct dtconv_channel_params channel = { .struct_size = sizeof(channel),
						       .kind = DTCONV_MEMORY_HOST,
						       .fragments = session->fragments,
						       .fragment_bytes =
							       session->fragment_bytes };

	atomic_store(&end.ration.left, -1);
	must(!dtconv_context_create(&params, &end.party.context), "context");
	must(!dtconv_engine_create(end.party.context, &engine, &end.party.engine),
	     "engine");
	must(!dtconv_mpi_create(end.party.engine, MPI_COMM_WORLD, &end.mpi), "MPI");
	must(!dtconv_mpi_connect(end.mpi, 1 - end.rank, &channel, &end.party.channel),
	     "channel");
	faults.late = session->late;
	if (is_here(FAULT_LIE))
		faults.lie = (enum fault_lie)(1 + session->seed % (LIES - 1));
	exchange_open(&end.exchange, end.party.context, (unsigned)end.rank, session->seed,
		      MESSAGES);
	exchange_start(&end.exchange, &end.party);
	start_misfits();
}

static void cause_fault(void)
{
	const enum fault_call call = (enum fault_call)(end.session->seed % FAULT_CALLS);

	if (is_here(FAULT_LEAVE))
		must(!dtconv_channel_close(end.party.channel), "close");
	if (is_here(FAULT_MEMORY))
		atomic_store(&end.ration.left, (long)(end.session->seed % 7));
	if (is_here(FAULT_CALL))
		faults.fail_at[call] =
			faults.calls[call] + 1 + (int)(end.session->seed / 3 % 20);
}

static size_t progress(void)
{
	size_t worked;

	must(!dtconv_engine_progress(end.party.engine, 0, &worked), "progress");
	if (!worked)
		(void)sched_yield();
	return worked;
}

static void drive(void)
{
	bool is_caused = false;

	for (size_t happened = 0;
	     !exchange_is_done(&end.exchange) || !are_misfits_done();) {
		if (!is_caused && happened >= end.session->step) {
			cause_fault();
			is_caused = true;
		}
		happened += progress() + 1;
	}
}

static bool is_expected(int status)
{
	switch (end.session->fault) {
	case FAULT_LEAVE:
		return status == DTCONV_ERR_PEER || status == DTCONV_ERR_CANCELED;
	case FAULT_MEMORY:
		return status == DTCONV_ERR_NOMEM || status == DTCONV_ERR_PEER;
	case FAULT_TIMEOUT:
		return status == DTCONV_ERR_TIMEOUT || status == DTCONV_ERR_PEER;
	case FAULT_CALL:
		return status == DTCONV_ERR_PEER;
	case FAULT_LIE:
		return status == DTCONV_ERR_FORMAT || status == DTCONV_ERR_UNSUPPORTED ||
		       status == DTCONV_ERR_PEER;
	default:
		return false;
	}
}

/* What has failed may; what has not is right. */
static size_t check_end(void)
{
	struct exchange *exchange = &end.exchange;
	size_t failed = check_misfits();

	for (size_t i = 0; i < exchange->count; i++) {
		struct exchange_item *item = &exchange->items[i];

		must(item->calls == 1, "one callback");
		must(!item->status || is_expected(item->status),
		     dtconv_strerror(item->status));
		failed += item->status != 0;
	}
	exchange_check_right(exchange);
	return failed;
}

static size_t close_end(void)
{
	const size_t failed = check_end();

	/* The end of MPI's object is the end of all of its memory. */
	atomic_store(&end.ration.left, -1);
	must(!dtconv_channel_close(end.party.channel), "close");
	while (party_query(&end.party).operations)
		(void)progress();
	const struct dtconv_channel_attr attr = party_query(&end.party);
	must(!attr.waiting, "no message waits");
	must(attr.free == attr.fragments, "all fragments");
	must(!dtconv_channel_destroy(end.party.channel), "destroy");
	faults.fail_at[0] = faults.fail_at[1] = faults.fail_at[2] = 0;
	must(!dtconv_mpi_destroy(end.mpi), "MPI's end");
	must(!dtconv_engine_destroy(end.party.engine), "engine's end");
	exchange_close(&end.exchange);
	dtconv_context_destroy(end.party.context);
	must(!atomic_load(&end.ration.live), "no memory");
	must(!faults.requests, "no request of MPI");
	must(!process_mappings(), "no mapping");
	faults_clear();
	return failed;
}

static size_t run_session(const struct session *session)
{
	end.session = session;
	alarm(LIMIT_S);
	open_end();
	drive();
	return close_end();
}

/* ---- the soak ---------------------------------------------------------------------------------- */

static void soak(uint64_t seed, uint64_t messages, uint64_t faulty, uint64_t only)
{
	const uint64_t sessions = (messages + MESSAGES - 1) / MESSAGES;
	size_t run = 0, with_fault = 0, failed = 0;

	for (uint64_t number = 0; number < sessions; number++) {
		const bool has_fault = (number + 1) * faulty / sessions >
				       number * faulty / sessions;
		const struct session session = plan(seed, number, has_fault);

		if (only != UINT64_MAX && number != only)
			continue;
		failed += run_session(&session);
		with_fault += has_fault;
		run++;
	}
	if (!end.rank)
		printf("soak_ranks: %zu sessions of %d messages, %zu with faults, %zu "
		       "messages failed\n",
		       run, MESSAGES, with_fault, failed);
}

int main(int argc, char **argv)
{
	uint64_t seed = 1, messages = 2560, faulty = 32, only = UINT64_MAX;

	if (argc > 1 && sscanf(argv[1], "%" SCNu64 ",%" SCNu64 ",%" SCNu64 ",%" SCNu64,
			       &seed, &messages, &faulty, &only) < 3) {
		fprintf(stderr,
			"usage: soak_ranks-MPI [SEED,MESSAGES,FAULTS[,SESSION]]\n");
		return 2;
	}
	if (!launch_is_job())
		return launch(argv[0], "2", argc > 1 ? argv[1] : NULL) ? EXIT_FAILURE
								       : EXIT_SUCCESS;
	if (MPI_Init(&argc, &argv))
		return EXIT_FAILURE;
	MPI_Comm_rank(MPI_COMM_WORLD, &end.rank);
	soak(seed, messages, faulty, only);
	MPI_Finalize();
	launch_passed();
	return EXIT_SUCCESS;
}
