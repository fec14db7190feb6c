/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random messages between pairs of processes over the program's bed, with faults: a process is killed, leaves its channel,
 * stops taking anything, runs out of memory, is too late, has a driver that refuses to register memory or a device that
 * fails. Every operation ends once at the process that is left, what has arrived is right, and nothing is left over.
 *
 * usage: channel_soak [--seed N] [--messages N] [--faults N] [--session N]
 * A session is what one pair does; --session runs that one alone.
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
#include "support/allocators.h"
#include "support/choices.h"
#ifdef SOAK_DEVICE
#include "support/gpu.h"
#endif

#define MESSAGES 40 /* of a session */
#define BATCH    16 /* sessions of one process */

/* Nothing has happened in so many calls of progress: nothing will. */
#define QUIET 20000

/* A process that hangs is ended by the system, and the soak fails. */
#define LIMIT_S 300

enum fault {
	FAULT_NONE,
	FAULT_KILL,    /* the child is killed */
	FAULT_LEAVE,   /* one end closes its channel */
	FAULT_STOP,    /* the child takes nothing any more: its credits are lost */
	FAULT_MEMORY,  /* an allocation of one end is refused */
	FAULT_TIMEOUT, /* operations of one end get a millisecond */
	FAULT_REFUSE,  /* registrations of one end are refused */
	FAULT_DEVICE,  /* the device of one end fails */
	FAULTS
};

struct session {
	uint64_t seed;
	bool on_device; /* staging memory is registered with one */
	enum fault fault;
	unsigned side; /* at which end; 1 is the child */
	size_t step;   /* so many things happen before */
	struct party_memory memory;
};

struct end {
	const struct session *session;
	unsigned side;
	struct ration ration;
	struct party party;
	struct exchange exchange;
};

static struct end end;

static void must(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr,
		"channel_soak: seed %llu, fault %d of end %u, end %u: this does not hold: %s\n",
		(unsigned long long)end.session->seed, (int)end.session->fault,
		end.session->side, end.side, what);
	abort();
}

/* ---- plans ------------------------------------------------------------------------------------ */

static struct session plan(uint64_t seed, bool on_device, bool has_fault)
{
	struct session session = { .seed = seed, .on_device = on_device };
	struct choices choices;

	choices_from_seed(&choices, seed);
	session.memory.fragments = 1 + choose(&choices, 6);
	session.memory.fragment_bytes = (size_t)64 << choose(&choices, 9);
	session.side = (unsigned)choose(&choices, 2);
	session.step = choose(&choices, 150);
	if (has_fault)
		session.fault = (enum fault)(1 + choose(&choices, FAULTS - 1));
	/* What needs a device is something else without one. */
	if (session.fault >= FAULT_REFUSE && !on_device)
		session.fault = FAULT_KILL;
	if (session.fault == FAULT_KILL || session.fault == FAULT_STOP)
		session.side = 1;
	return session;
}

static bool is_here(enum fault fault)
{
	return end.session->fault == fault && end.session->side == end.side;
}

/* ---- one end ------------------------------------------------------------------------------------ */

#ifdef SOAK_DEVICE
static void open_device(void)
{
	if (!end.session->on_device)
		return;
	gpu_open();
	/* Of opening the context there are some more. */
	if (is_here(FAULT_REFUSE))
		for (unsigned nth = 1; nth <= 4; nth++)
			if (end.session->seed >> nth & 1)
				gpu.standin->inject("cuMemHostRegister", nth,
						    CUDA_ERROR_OUT_OF_MEMORY);
}

static void fail_device(void)
{
	CUcontext context;

	MUST(CtxGetCurrent(&context));
	gpu.standin->poison(context, CUDA_ERROR_LAUNCH_FAILED);
}
#else
static void open_device(void)
{
}

static void fail_device(void)
{
}
#endif

static void open_end(int socket)
{
	const struct dtconv_context_params params = { .struct_size = sizeof(params),
						      .allocator = allocator_of_rations(
							      &end.ration) };
	const struct dtconv_engine_params engine = { .struct_size = sizeof(engine),
						     .timeout_ms = is_here(FAULT_TIMEOUT)
									   ? 1
									   : 0 };
	struct dtconv_channel_params channel = {
		.struct_size = sizeof(channel),
		.kind = end.session->on_device ? DTCONV_MEMORY_PINNED
					       : DTCONV_MEMORY_HOST,
		.fragments = end.session->memory.fragments,
		.fragment_bytes = end.session->memory.fragment_bytes
	};

	end.ration.left = -1;
	end.ration.refused = 0;
	open_device();
	must(!dtconv_context_create(&params, &end.party.context), "context");
	must(!dtconv_engine_create(end.party.context, &engine, &end.party.engine),
	     "engine");
	if (end.side)
		bed_swap();
	end.party.bed = bed_open(end.party.context);
	channel.transport = bed_transport(end.party.bed);
	must(!dtconv_channel_open(end.party.engine, socket, &channel, &end.party.channel),
	     "channel");
	exchange_open(&end.exchange, end.party.context, end.side, end.session->seed,
		      MESSAGES);
	exchange_start(&end.exchange, &end.party);
}

static void cause_fault(void)
{
	if (is_here(FAULT_KILL))
		kill(getpid(), SIGKILL);
	if (is_here(FAULT_STOP))
		for (;;)
			pause();
	if (is_here(FAULT_LEAVE))
		must(!dtconv_channel_close(end.party.channel), "close");
	if (is_here(FAULT_MEMORY))
		atomic_store(&end.ration.left, (long)(end.session->seed % 7));
	if (is_here(FAULT_DEVICE))
		fail_device();
}

/* The end of a peer that has stopped is not seen by its socket: whoever waits has to give up. */
static void drive(void)
{
	const bool peer_stops = end.session->fault == FAULT_STOP && !end.side;
	size_t happened = 0, quiet = 0;
	bool is_caused = end.session->fault == FAULT_NONE;

	while (!exchange_is_done(&end.exchange)) {
		if (!is_caused && happened >= end.session->step) {
			cause_fault();
			is_caused = true;
		}
		if (is_caused && !peer_stops) {
			party_sleep(&end.party);
			continue;
		}
		const size_t worked = party_progress(&end.party);
		happened += worked + !is_caused;
		quiet = worked ? 0 : quiet + 1;
		if (!worked)
			sched_yield();
		if (quiet == QUIET)
			must(!dtconv_channel_close(end.party.channel), "close");
	}
	if (is_here(FAULT_KILL) || is_here(FAULT_STOP))
		cause_fault();
}

static bool is_expected(int status)
{
	switch (end.session->fault) {
	case FAULT_NONE:
	case FAULT_REFUSE:
		return false;
	case FAULT_KILL:
		return status == DTCONV_ERR_PEER;
	case FAULT_LEAVE:
	case FAULT_STOP:
		return status == DTCONV_ERR_PEER || status == DTCONV_ERR_CANCELED;
	case FAULT_MEMORY:
		return status == DTCONV_ERR_NOMEM || status == DTCONV_ERR_PEER;
	case FAULT_TIMEOUT:
		return status == DTCONV_ERR_TIMEOUT || status == DTCONV_ERR_PEER;
	default:
		return status == DTCONV_ERR_BACKEND || status == DTCONV_ERR_PEER;
	}
}

/* What has failed may; what has not is right. */
static size_t check_end(void)
{
	struct exchange *exchange = &end.exchange;
	size_t failed = 0;

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

	must(!dtconv_channel_close(end.party.channel), "close");
	while (party_query(&end.party).operations)
		(void)party_progress(&end.party);
	const struct dtconv_channel_attr attr = party_query(&end.party);
	must(!attr.waiting, "no message waits");
	must(attr.free == attr.fragments || is_here(FAULT_DEVICE), "all fragments");
	must(!dtconv_channel_destroy(end.party.channel), "destroy");
	must(!dtconv_engine_destroy(end.party.engine), "engine's end");
	bed_close(end.party.bed);
	exchange_close(&end.exchange);
	dtconv_context_destroy(end.party.context);
	must(!atomic_load(&end.ration.live), "no memory");
	return failed;
}

/* ---- a pair --------------------------------------------------------------------------------------- */

static size_t run_session(const struct session *session)
{
	const size_t files = process_files();
	int sockets[2], status;

	party_sockets(sockets);
	fflush(NULL);
	const pid_t child = fork();
	end.session = session;
	end.side = !child;
	must(child >= 0, "fork");
	close(sockets[!end.side]);
	alarm(LIMIT_S);
	open_end(sockets[end.side]);
	drive();
	if (!child) {
		(void)close_end();
		_exit(0);
	}
	const size_t failed = close_end();
	if (session->fault == FAULT_STOP)
		kill(child, SIGKILL);
	must(waitpid(child, &status, 0) == child, "the child");
	const bool is_killed = session->fault == FAULT_KILL ||
			       session->fault == FAULT_STOP;
	must(is_killed ? WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL : !status,
	     "the child's end");
	if (session->on_device)
		return failed;
	must(process_files() == files, "no file descriptor");
	must(!process_mappings(), "no mapping");
	return failed;
}

/* ---- the soak --------------------------------------------------------------------------------------- */

/* Of all sessions, shared by the processes that run them. */
struct totals {
	size_t sessions, faults, failed;
};

static bool run_batch(const struct session *sessions, size_t count, struct totals *totals)
{
	int pipes[2], status;
	struct totals some = { 0 };

	if (pipe(pipes))
		return false;
	const pid_t process = fork();
	if (!process) {
		close(pipes[0]);
		for (size_t i = 0; i < count; i++) {
			some.sessions++;
			some.faults += sessions[i].fault != FAULT_NONE;
			some.failed += run_session(&sessions[i]);
		}
		_exit(write(pipes[1], &some, sizeof(some)) != sizeof(some));
	}
	close(pipes[1]);
	const bool is_told = read(pipes[0], &some, sizeof(some)) == sizeof(some);
	close(pipes[0]);
	if (process < 0 || waitpid(process, &status, 0) != process || status || !is_told)
		return false;
	totals->sessions += some.sessions;
	totals->faults += some.faults;
	totals->failed += some.failed;
	return true;
}

static uint64_t number_of(int argc, char **argv, const char *name, uint64_t normal)
{
	for (int i = 1; i + 1 < argc; i++)
		if (!strcmp(argv[i], name))
			return strtoull(argv[i + 1], NULL, 0);
	return normal;
}

/* The last one of a batch may have a device: a process that has one cannot be forked. */
static struct session session_of(uint64_t seed, uint64_t number, uint64_t sessions,
				 uint64_t faults)
{
	const bool has_fault = (number + 1) * faults / sessions >
			       number * faults / sessions;
	bool on_device = false;

#ifdef SOAK_DEVICE
	on_device = number % BATCH == BATCH - 1 && !gpu_is_real();
#endif
	return plan(seed * 1000003 + number, on_device, has_fault);
}

int main(int argc, char **argv)
{
	const uint64_t seed = number_of(argc, argv, "--seed", 1);
	const uint64_t messages = number_of(argc, argv, "--messages", 2560);
	const uint64_t sessions = (messages + MESSAGES - 1) / MESSAGES;
	const uint64_t faults = number_of(argc, argv, "--faults", sessions / 2);
	const uint64_t only = number_of(argc, argv, "--session", UINT64_MAX);
	struct session batch[BATCH];
	struct totals totals = { 0 };
	size_t count = 0;

	for (uint64_t number = 0; number < sessions; number++) {
		if (only != UINT64_MAX && number != only)
			continue;
		batch[count++] = session_of(seed, number, sessions, faults);
		if (count < BATCH && number + 1 < sessions && number != only &&
		    !batch[count - 1].on_device)
			continue;
		if (!run_batch(batch, count, &totals)) {
			fprintf(stderr,
				"channel_soak: --seed %llu --messages %llu --faults %llu "
				"fails in a session from %llu to %llu\n",
				(unsigned long long)seed, (unsigned long long)messages,
				(unsigned long long)faults,
				(unsigned long long)(number + 1 - count),
				(unsigned long long)number);
			return 1;
		}
		count = 0;
	}
	printf("channel_soak: %zu sessions of %d messages, %zu faults, %zu messages failed\n",
	       totals.sessions, MESSAGES, totals.faults, totals.failed);
	return 0;
}
