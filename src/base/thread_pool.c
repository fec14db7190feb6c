/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The thread pool. A call publishes its tasks, then opens the gate. Each thread inside the gate
 * takes the next index until none is left. The calling thread takes tasks too, so a late worker
 * never delays it. Then the call closes the gate and waits until the last worker has left.
 */
#include "config.h"

#include "thread_pool.h"

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <unistd.h>

#include "base.h"
#include "clock.h"
#include "context.h"
#include "log.h"

/* How long a thread spins before it sleeps: about as long as it takes to wake it. */
#define SPIN_NS 50000
/* Polls between two readings of the clock. */
#define SPIN_LOOKS 64

/*
 * Exponential back-off: if no worker came in time, the next 1, then 3, then always 7 calls wake
 * none.
 */
#define MOST_DOUBLINGS 3

/* The gate in one word: the number of workers inside, two flags, and the number of the call. */
#define GATE_INSIDE UINT64_C(0xffff)
#define GATE_OPEN   (UINT64_C(1) << 16)
#define GATE_WAITED (UINT64_C(1) << 17) /* the call sleeps until all have left */
#define GATE_CALL   18                  /* lowest bit of the call's number */

struct dtc_thread_pool {
	pid_t process;
	atomic_bool taken; /* by a call */
	/* Owned by the call that has taken the pool. */
	unsigned doublings;
	unsigned unasked; /* number of calls that will wake no worker */
	_Atomic uint64_t gate;
	/* Written while the gate is closed and no worker is inside. */
	dtc_task_fn task;
	void *arg;
	size_t tasks;
	atomic_int processor; /* the CPU on which the call began */
	atomic_size_t next;
	atomic_size_t asleep;
	atomic_bool ending;
	pthread_mutex_t lock; /* for sleeping only */
	pthread_cond_t wake;
	pthread_cond_t finished;
	size_t count;
	pthread_t threads[];
};

/* ---- waiting ----------------------------------------------------------------------------- */

/* Spin until the condition holds; false after SPIN_NS. */
static bool spin_until(bool (*holds)(struct dtc_thread_pool *pool, uint64_t served),
		       struct dtc_thread_pool *pool, uint64_t served)
{
	uint64_t end = dtc_now_ns() + SPIN_NS;

	do {
		for (int i = 0; i < SPIN_LOOKS; i++) {
			if (holds(pool, served))
				return true;
			dtc_pause();
		}
	} while (dtc_now_ns() < end);
	return false;
}

/* ---- the workers --------------------------------------------------------------------------- */

/* Whether the gate is open for a call that this worker has not served. */
static bool is_new(uint64_t gate, uint64_t served)
{
	return gate & GATE_OPEN && gate >> GATE_CALL != served;
}

static bool is_called(struct dtc_thread_pool *pool, uint64_t served)
{
	return is_new(atomic_load(&pool->gate), served) || atomic_load(&pool->ending);
}

/* A worker on the CPU of the calling thread is no help: the two would take turns. */
static bool is_in_the_way(struct dtc_thread_pool *pool)
{
	return sched_getcpu() == atomic_load(&pool->processor);
}

/*
 * Move to another CPU of this thread's affinity mask. Otherwise a worker that once woke up on
 * its caller's CPU may stay there, because it never runs long enough for the scheduler to
 * migrate it.
 */
static bool leave_processor(int processor)
{
	cpu_set_t all, others;

	if (sched_getaffinity(0, sizeof(all), &all) || processor < 0)
		return false;
	others = all;
	CPU_CLR((size_t)processor, &others);
	if (!CPU_COUNT(&others) || sched_setaffinity(0, sizeof(others), &others))
		return false;
	return !sched_setaffinity(0, sizeof(all), &all);
}

static void wait_for_call(struct dtc_thread_pool *pool, uint64_t served)
{
	if (!is_in_the_way(pool) && spin_until(is_called, pool, served))
		return;
	pthread_mutex_lock(&pool->lock);
	/*
	 * Increment before reading the gate; the call writes the gate before it reads the
	 * count.
	 */
	atomic_fetch_add(&pool->asleep, 1);
	while (!is_called(pool, served))
		pthread_cond_wait(&pool->wake, &pool->lock);
	atomic_fetch_sub(&pool->asleep, 1);
	pthread_mutex_unlock(&pool->lock);
}

/* Enter the gate, unless it has been closed; set @served to the number of the call. */
static bool enter(struct dtc_thread_pool *pool, uint64_t *served)
{
	uint64_t gate = atomic_load(&pool->gate);

	while (is_new(gate, *served)) {
		if (atomic_compare_exchange_weak(&pool->gate, &gate, gate + 1)) {
			*served = gate >> GATE_CALL;
			return true;
		}
	}
	return false;
}

static void leave(struct dtc_thread_pool *pool)
{
	uint64_t gate = atomic_fetch_sub(&pool->gate, 1);

	if (!(gate & GATE_WAITED) || (gate & GATE_INSIDE) > 1)
		return;
	pthread_mutex_lock(&pool->lock);
	pthread_cond_signal(&pool->finished);
	pthread_mutex_unlock(&pool->lock);
}

/* Returns the number of tasks that this thread has run. */
static size_t run_tasks(struct dtc_thread_pool *pool)
{
	size_t index, count;

	for (count = 0; (index = atomic_fetch_add(&pool->next, 1)) < pool->tasks; count++)
		pool->task(pool->arg, index);
	return count;
}

static void *work(void *arg)
{
	struct dtc_thread_pool *pool = arg;
	uint64_t served = 0;

	while (!atomic_load(&pool->ending)) {
		wait_for_call(pool, served);
		if (is_in_the_way(pool) && !leave_processor(sched_getcpu()))
			served = atomic_load(&pool->gate) >> GATE_CALL;
		else if (enter(pool, &served)) {
			run_tasks(pool);
			leave(pool);
		}
	}
	return NULL;
}

/* ---- a call -------------------------------------------------------------------------------- */

static void wake(struct dtc_thread_pool *pool, size_t helpers)
{
	size_t asleep = atomic_load(&pool->asleep);
	size_t awake = pool->count - DTC_MIN(asleep, pool->count);

	/* If the lock is taken, a worker is about to sleep; do not wait for it. */
	if (!asleep || helpers <= awake || pthread_mutex_trylock(&pool->lock))
		return;
	for (size_t i = awake; i < DTC_MIN(helpers, pool->count); i++)
		pthread_cond_signal(&pool->wake);
	pthread_mutex_unlock(&pool->lock);
}

/*
 * If all CPUs are busy, woken workers come too late and the call only pays for waking them (15
 * us on a loaded AMD EPYC, Zen 4). So back off.
 */
static void learn(struct dtc_thread_pool *pool, bool asked, bool helped)
{
	if (helped) {
		pool->doublings = 0;
		pool->unasked = 0;
	} else if (asked) {
		pool->doublings = DTC_MIN(pool->doublings + 1, MOST_DOUBLINGS);
		pool->unasked = (1u << pool->doublings) - 1;
	} else {
		pool->unasked--;
	}
}

static void open_gate(struct dtc_thread_pool *pool)
{
	uint64_t call = (atomic_load(&pool->gate) >> GATE_CALL) + 1;

	atomic_store(&pool->gate, call << GATE_CALL | GATE_OPEN);
}

static bool is_empty(struct dtc_thread_pool *pool, uint64_t served)
{
	(void)served;
	return !(atomic_load(&pool->gate) & GATE_INSIDE);
}

static void close_gate(struct dtc_thread_pool *pool)
{
	atomic_fetch_and(&pool->gate, ~GATE_OPEN);
	if (is_empty(pool, 0) || spin_until(is_empty, pool, 0))
		return;
	atomic_fetch_or(&pool->gate, GATE_WAITED);
	pthread_mutex_lock(&pool->lock);
	while (!is_empty(pool, 0))
		pthread_cond_wait(&pool->finished, &pool->lock);
	pthread_mutex_unlock(&pool->lock);
}

/*
 * Detect a fork by the process ID. Handlers of pthread_atfork take no argument, so they would
 * need global state; and a call that is large enough for several threads can afford a system
 * call.
 */
static bool is_inherited(const struct dtc_thread_pool *pool)
{
	return getpid() != pool->process;
}

bool dtc_thread_pool_run(struct dtc_thread_pool *pool, size_t helpers, size_t tasks,
			 dtc_task_fn task, void *arg)
{
	if (is_inherited(pool) || atomic_exchange(&pool->taken, true))
		return false;
	pool->task = task;
	pool->arg = arg;
	pool->tasks = tasks;
	atomic_store(&pool->next, 0);
	atomic_store(&pool->processor, sched_getcpu());
	bool asks = !pool->unasked;
	open_gate(pool);
	if (asks)
		wake(pool, helpers);
	learn(pool, asks, run_tasks(pool) < tasks);
	close_gate(pool);
	atomic_store(&pool->taken, false);
	return true;
}

/*
 * ---- creating and destroying ---------------------------------------------------------------
 */

static int create_primitives(struct dtc_thread_pool *pool)
{
	if (pthread_mutex_init(&pool->lock, NULL))
		return DTCONV_ERR_NOMEM;
	if (pthread_cond_init(&pool->wake, NULL))
		goto no_wake;
	if (pthread_cond_init(&pool->finished, NULL))
		goto no_finished;
	return 0;
no_finished:
	pthread_cond_destroy(&pool->wake);
no_wake:
	pthread_mutex_destroy(&pool->lock);
	return DTCONV_ERR_NOMEM;
}

static void end_threads(struct dtc_thread_pool *pool)
{
	pthread_mutex_lock(&pool->lock);
	atomic_store(&pool->ending, true);
	pthread_cond_broadcast(&pool->wake);
	pthread_mutex_unlock(&pool->lock);
	for (size_t i = 0; i < pool->count; i++)
		pthread_join(pool->threads[i], NULL);
}

int dtc_thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int error = pthread_create(thread, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return error;
}

static int start_threads(struct dtc_thread_pool *pool, size_t workers)
{
	int error = 0;

	while (pool->count < workers && !error) {
		error = dtc_thread_start(&pool->threads[pool->count], work, pool);
		pool->count += !error;
	}
	return error;
}

/* A pool without threads, or NULL. */
static struct dtc_thread_pool *create_empty(struct dtconv_context *context, size_t workers)
{
	struct dtc_thread_pool *created = dtc_alloc_zeroed(
		context, sizeof(*created) + workers * sizeof(created->threads[0]));

	if (!created || create_primitives(created)) {
		dtc_free(context, created);
		return NULL;
	}
	created->process = getpid();
	atomic_init(&created->processor, -1);
	return created;
}

int dtc_thread_pool_create(struct dtconv_context *context, size_t workers,
			   struct dtc_thread_pool **pool)
{
	struct dtc_thread_pool *created = create_empty(context, workers);

	if (!created)
		return DTC_FAIL(
			context, DTCONV_ERR_NOMEM,
			"dtconv_context_create: cannot allocate the state of %zu threads",
			workers);
	int error = start_threads(created, workers);
	if (error) {
		size_t started = created->count;

		dtc_thread_pool_destroy(context, created);
		return DTC_FAIL(
			context, DTCONV_ERR_AGAIN,
			"dtconv_context_create: only %zu of the %zu additional threads that params.threads or "
			"DTCONV_THREADS asks for could be started (pthread_create: error %d)",
			started, workers, error);
	}
	*pool = created;
	return 0;
}

struct dtc_thread_pool *dtc_thread_pool_create_some(struct dtconv_context *context,
						    size_t workers)
{
	struct dtc_thread_pool *created = create_empty(context, workers);

	if (!created)
		return NULL;
	(void)start_threads(created, workers);
	if (created->count)
		return created;
	dtc_thread_pool_destroy(context, created);
	return NULL;
}

size_t dtc_thread_pool_workers(const struct dtc_thread_pool *pool)
{
	return pool->count;
}

void dtc_thread_pool_destroy(struct dtconv_context *context, struct dtc_thread_pool *pool)
{
	if (!pool)
		return;
	/*
	 * In a forked child the workers do not exist. Destroying a condition variable on which
	 * they slept would wait for them for ever.
	 */
	if (!is_inherited(pool)) {
		end_threads(pool);
		pthread_cond_destroy(&pool->finished);
		pthread_cond_destroy(&pool->wake);
		pthread_mutex_destroy(&pool->lock);
	}
	dtc_free(context, pool);
}
