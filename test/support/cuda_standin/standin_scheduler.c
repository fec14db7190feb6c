/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs the operations of all streams: on a worker thread, and on threads that wait, because waking the worker
 * takes longer than most operations. Each stream runs in order; the order among streams and the delays are drawn
 * from a seed. Operations that are not ready are polled and delay no other stream, unless the hardware would.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "support/cuda_standin/standin_internal.h"

#define NAP_NS 30000
/* A delay costs a nap. Short ones only vary the order among streams, so one operation in ONE_IN has one. */
#define SHORT_US 100
#define ONE_IN   8

CUstream standin_streams;

static pthread_t worker;
static bool worker_runs;
static bool worker_stops;
static bool worker_sleeps;
static bool operation_runs;
static pthread_cond_t work_arrived = PTHREAD_COND_INITIALIZER;
static uint64_t last_sequence;

/* ---- Pieces of work ---- */

struct standin_op *standin_op(const void *payload, size_t bytes,
			      void (*run)(struct standin_op *op))
{
	struct standin_op *op = calloc(1, sizeof *op + bytes);
	if (!op)
		standin_crash("calloc", "the host has no memory");
	op->run = run;
	op->bytes = bytes;
	if (payload)
		memcpy(op->payload, payload, bytes);
	return op;
}

struct standin_op *standin_op_copy(const struct standin_op *op)
{
	struct standin_op *copy = standin_op(op->payload, op->bytes, op->run);
	copy->ready = op->ready;
	copy->is_kernel = op->is_kernel;
	copy->is_wait_value = op->is_wait_value;
	copy->is_host_call = op->is_host_call;
	return copy;
}

void standin_op_free(struct standin_op *op)
{
	if (op->drop)
		op->drop(op);
	free(op);
}

/* ---- What may run ---- */

/* Work of an earlier submission in a stream that the legacy stream waits for, or the reverse. */
static bool waits_for_legacy(const struct standin_op *op)
{
	CUstream own = op->stream;
	if (own->flags & CU_STREAM_NON_BLOCKING)
		return false;
	for (CUstream other = standin_streams; other; other = other->next) {
		if (other == own || other->context != own->context ||
		    other->flags & CU_STREAM_NON_BLOCKING)
			continue;
		if (!own->is_legacy && !other->is_legacy)
			continue;
		if (other->first && other->first->sequence < op->sequence)
			return true;
	}
	return false;
}

static bool is_spinning(const struct standin_op *op)
{
	return op->is_kernel && op->ready && (op->started || op->due_ns);
}

/* Streams of the device at whose head is a wait-value, or a kernel that runs and runs. */
static void count_stuck(int device, const struct standin_op *except, long *waits,
			long *spins)
{
	*waits = 0;
	*spins = 0;
	for (CUstream stream = standin_streams; stream; stream = stream->next) {
		struct standin_op *head = stream->first;
		if (!head || head == except || stream->context->device != device)
			continue;
		*waits += head->is_wait_value && !head->ready(head);
		*spins += is_spinning(head);
	}
}

/* Streams share hardware queues: too many that wait, and no other kernel starts. */
static bool hardware_refuses(const struct standin_op *op)
{
	if (!op->is_kernel)
		return false;
	long waits, spins;
	count_stuck(op->stream->context->device, op, &waits, &spins);
	return waits >= standin_get(STANDIN_WAIT_STREAMS) ||
	       spins >= standin_get(STANDIN_SPIN_KERNELS);
}

static bool is_delayed(long longest_us)
{
	if (standin_get(STANDIN_SYNCHRONOUS) || !longest_us)
		return false;
	return longest_us > SHORT_US || standin_random() % ONE_IN == 0;
}

static void set_due(struct standin_op *op)
{
	const long longest_us = standin_get(STANDIN_DELAY_US);
	if (op->due_ns)
		return;
	op->due_ns = standin_now_ns();
	if (is_delayed(longest_us))
		op->due_ns += standin_random() % (1000 * (uint64_t)longest_us);
}

static bool can_run(struct standin_op *op)
{
	if (op->stream->context->error)
		return false;
	if (op->started)
		return op->finished;
	if (waits_for_legacy(op) || (!op->due_ns && hardware_refuses(op)))
		return false;
	set_due(op);
	return standin_now_ns() >= op->due_ns && (!op->ready || op->ready(op));
}

/* One of the streams that can go on; each is as likely as the others. */
static CUstream choose_stream(bool *waiting)
{
	CUstream chosen = NULL;
	uint64_t candidates = 0;
	*waiting = false;
	for (CUstream stream = standin_streams; stream; stream = stream->next) {
		if (!stream->first)
			continue;
		if (!can_run(stream->first))
			*waiting |= !stream->context->error;
		else if (standin_random() % ++candidates == 0)
			chosen = stream;
	}
	return chosen;
}

/* ---- The thread ---- */

static void complete(CUstream stream)
{
	struct standin_op *op = stream->first;
	stream->first = op->next;
	stream->count--;
	if (!stream->first)
		stream->last = NULL;
	standin_op_free(op);
	if (!stream->first && !stream->object.alive)
		standin_stream_destroy(stream);
	pthread_cond_broadcast(&standin_changed);
}

/* Runs the operation at the head of a stream and wakes all waiters. Operations run one at a time. */
static void run_head(CUstream stream)
{
	struct standin_op *op = stream->first;
	operation_runs = true;
	if (!op->finished)
		op->run(op);
	operation_runs = false;
	if (!op->started || op->finished)
		complete(stream);
	else
		pthread_cond_broadcast(&standin_changed);
}

static void nap(void)
{
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += NAP_NS;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_cond_timedwait(&work_arrived, &standin_mutex, &until);
}

static void sleep_for_work(void)
{
	worker_sleeps = true;
	pthread_cond_wait(&work_arrived, &standin_mutex);
	worker_sleeps = false;
}

static void *work(void *unused)
{
	pthread_mutex_lock(&standin_mutex);
	while (!worker_stops) {
		bool waiting;
		if (operation_runs) {
			pthread_cond_wait(&standin_changed, &standin_mutex);
			continue;
		}
		CUstream stream = choose_stream(&waiting);
		if (stream)
			run_head(stream);
		else if (waiting)
			nap();
		else
			sleep_for_work();
	}
	pthread_mutex_unlock(&standin_mutex);
	return unused;
}

static void start_worker(void)
{
	if (!worker_runs && pthread_create(&worker, NULL, work, NULL))
		standin_crash("pthread_create", "no thread for the work");
	worker_runs = true;
	if (worker_sleeps)
		pthread_cond_signal(&work_arrived);
}

/* ---- Submission and waiting ---- */

/* Only the worker runs host functions, because a driver never runs them on the application's threads. */
void standin_await_change(void)
{
	bool waiting;
	CUstream stream = standin_in_callback || operation_runs ? NULL
								: choose_stream(&waiting);
	if (stream && !stream->first->is_host_call) {
		run_head(stream);
		return;
	}
	start_worker();
	pthread_cond_wait(&standin_changed, &standin_mutex);
}

static bool still_there(CUstream stream, uint64_t sequence)
{
	return stream->first && stream->first->sequence <= sequence &&
	       !stream->context->error;
}

/* Whether the stream stands before something that only others can end. */
static bool is_stuck(CUstream stream)
{
	struct standin_op *head = stream->first;
	return head && (head->started || waits_for_legacy(head) ||
			hardware_refuses(head) || (head->ready && !head->ready(head)));
}

static void wait_if_synchronous(CUstream stream, uint64_t sequence)
{
	if (!standin_get(STANDIN_SYNCHRONOUS) || standin_in_callback)
		return;
	while (still_there(stream, sequence) && !is_stuck(stream))
		standin_await_change();
}

/* A stream takes only so much: between 1000 and 2000 copies, seen on an H200. */
static void wait_for_room(CUstream stream)
{
	while (stream->count >= (size_t)standin_get(STANDIN_QUEUED) &&
	       !stream->context->error && !standin_in_callback)
		standin_await_change();
}

void standin_submit_plain(CUstream stream, struct standin_op *op)
{
	wait_for_room(stream);
	stream->count++;
	op->stream = stream;
	op->sequence = ++last_sequence;
	op->next = NULL;
	if (stream->last)
		stream->last->next = op;
	else
		stream->first = op;
	stream->last = op;
	const uint64_t sequence = op->sequence;
	if (!op->is_synchronous)
		start_worker();
	wait_if_synchronous(stream, sequence);
}

CUresult standin_submit(CUstream stream, struct standin_op *op)
{
	if (stream->capture)
		return standin_capture_op(stream, op);
	CUresult result = standin_capture_implicit(stream);
	if (result)
		standin_op_free(op);
	else
		standin_submit_plain(stream, op);
	return result;
}

CUresult standin_wait_stream(CUstream stream)
{
	const uint64_t sequence = last_sequence;
	CUcontext context = stream->context;
	while (still_there(stream, sequence))
		standin_await_change();
	return context->error;
}

static bool any_left(CUcontext context, int device, uint64_t sequence)
{
	for (CUstream stream = standin_streams; stream; stream = stream->next)
		if ((context ? stream->context == context
			     : stream->context->device == device) &&
		    still_there(stream, sequence))
			return true;
	return false;
}

CUresult standin_wait_context(CUcontext context)
{
	const uint64_t sequence = last_sequence;
	while (any_left(context, 0, sequence))
		standin_await_change();
	return context->error;
}

void standin_wait_device(int device)
{
	const uint64_t sequence = last_sequence;
	while (any_left(NULL, device, sequence))
		standin_await_change();
}

static bool is_under_way(const struct standin_op *op)
{
	return op && (op->running || (op->started && !op->finished));
}

/* What is being worked on is not freed under the worker's hands. */
void standin_drop_work(CUstream stream)
{
	while (is_under_way(stream->first))
		pthread_cond_wait(&standin_changed, &standin_mutex);
	while (stream->first) {
		struct standin_op *op = stream->first;
		stream->first = op->next;
		standin_op_free(op);
	}
	stream->last = NULL;
	stream->count = 0;
}

/* ---- Reset and fork ---- */

static void drop_all_work(void)
{
	while (standin_streams) {
		CUstream stream = standin_streams;
		standin_drop_work(stream);
		standin_streams = stream->next;
	}
}

void standin_scheduler_reset(void)
{
	if (worker_runs) {
		worker_stops = true;
		pthread_cond_signal(&work_arrived);
		pthread_mutex_unlock(&standin_mutex);
		pthread_join(worker, NULL);
		pthread_mutex_lock(&standin_mutex);
	}
	worker_runs = false;
	worker_stops = false;
	drop_all_work();
}

void standin_scheduler_forked(void)
{
	worker_runs = false;
	worker_sleeps = false;
	operation_runs = false;
	pthread_cond_init(&work_arrived, NULL);
	pthread_cond_init(&standin_changed, NULL);
}
