/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memory between adapters. A process that dies leaves its ports behind; they are cleared when a port is opened.
 */
#include "fabric.h"

#include <errno.h>
#include <infiniband/verbs.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PORTS    1024
#define MESSAGES 256

struct port {
	uint32_t number; /* 0: free. Its remainder is the port. */
	uint32_t lives;
	pid_t owner;
	uint32_t first, last;
};

struct fabric {
	pthread_mutex_t lock;
	_Atomic uint32_t rings;
	bool is_down;
	struct port ports[PORTS];
	struct message messages[MESSAGES];
};

static struct fabric *fabric;

__attribute__((constructor)) static void map_fabric(void)
{
	pthread_mutexattr_t attr;

	fabric = mmap(NULL, sizeof(*fabric), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (fabric == MAP_FAILED) {
		fputs("verbs stand-in: no memory for the fabric\n", stderr);
		abort();
	}
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&fabric->lock, &attr);
	pthread_mutexattr_destroy(&attr);
}

/* What a killed process was changing is at most a list of its own. */
void fabric_lock(void)
{
	if (pthread_mutex_lock(&fabric->lock) == EOWNERDEAD)
		pthread_mutex_consistent(&fabric->lock);
}

void fabric_unlock(void)
{
	pthread_mutex_unlock(&fabric->lock);
}

/* ---- messages -------------------------------------------------------------------------- */

struct message *fabric_message(uint32_t message)
{
	return &fabric->messages[message];
}

uint32_t fabric_take(void)
{
	for (uint32_t i = 0; i < MESSAGES; i++)
		if (fabric->messages[i].state == MESSAGE_FREE)
			return i;
	return FABRIC_NONE;
}

void fabric_free(uint32_t message)
{
	fabric->messages[message].state = MESSAGE_FREE;
}

static struct port *port_of(uint32_t number)
{
	struct port *port = &fabric->ports[number % PORTS];

	return number && port->number == number ? port : NULL;
}

void fabric_send(uint32_t index, uint32_t source, uint32_t target)
{
	struct message *message = &fabric->messages[index];
	struct port *port = port_of(target);

	message->source = source;
	message->next = FABRIC_NONE;
	message->state = port ? MESSAGE_SENT : MESSAGE_DROPPED;
	if (!port)
		return;
	if (port->first == FABRIC_NONE)
		port->first = index;
	else
		fabric->messages[port->last].next = index;
	port->last = index;
}

uint32_t fabric_first(uint32_t number)
{
	const struct port *port = port_of(number);

	return port ? port->first : FABRIC_NONE;
}

static struct message *take_first(struct port *port)
{
	struct message *message = &fabric->messages[port->first];

	port->first = message->next;
	return message;
}

void fabric_answer(uint32_t number, int status)
{
	struct message *message = take_first(port_of(number));

	message->status = status;
	message->state = message->state == MESSAGE_ORPHAN ? MESSAGE_FREE
							  : MESSAGE_ANSWERED;
}

void fabric_forget(uint32_t index)
{
	struct message *message = &fabric->messages[index];

	message->state = message->state == MESSAGE_SENT ? MESSAGE_ORPHAN : MESSAGE_FREE;
}

/* ---- ports ----------------------------------------------------------------------------- */

static void clear(struct port *port)
{
	while (port->first != FABRIC_NONE) {
		struct message *message = take_first(port);

		message->state = message->state == MESSAGE_ORPHAN ? MESSAGE_FREE
								  : MESSAGE_DROPPED;
	}
	port->number = 0;
}

/* A process that has died and is not waited for yet still counts as alive. */
static void bury(void)
{
	for (uint32_t i = 0; i < PORTS; i++) {
		struct port *port = &fabric->ports[i];
		const uint32_t number = port->number;

		if (!number || !kill(port->owner, 0) || errno != ESRCH)
			continue;
		clear(port);
		for (uint32_t j = 0; j < MESSAGES; j++)
			if (fabric->messages[j].state != MESSAGE_FREE &&
			    fabric->messages[j].source == number)
				fabric_forget(j);
	}
}

/* Numbers have 24 bits, and 0 and 1 are special. */
uint32_t fabric_open(void)
{
	bury();
	for (uint32_t i = 2; i < PORTS; i++) {
		struct port *port = &fabric->ports[i];

		if (port->number)
			continue;
		port->lives++;
		*port = (struct port){ .number = i + PORTS * (port->lives % 16384),
				       .lives = port->lives,
				       .owner = getpid(),
				       .first = FABRIC_NONE };
		return port->number;
	}
	return 0;
}

void fabric_close(uint32_t number)
{
	clear(port_of(number));
}

/* ---- the link and the bell ------------------------------------------------------------- */

bool fabric_is_up(void)
{
	return !fabric->is_down;
}

void fabric_set_link(bool is_up)
{
	fabric_lock();
	fabric->is_down = !is_up;
	fabric_unlock();
	fabric_ring();
}

void fabric_ring(void)
{
	atomic_fetch_add(&fabric->rings, 1);
	syscall(SYS_futex, &fabric->rings, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

uint32_t fabric_rings(void)
{
	return atomic_load(&fabric->rings);
}

void fabric_sleep(uint32_t rings)
{
	syscall(SYS_futex, &fabric->rings, FUTEX_WAIT, rings, NULL, NULL, 0);
}
