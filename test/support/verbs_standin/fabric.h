/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What joins the adapters: a port for every queue pair, and messages on their way. All of it is in memory that
 * children inherit, under one lock, which survives the death of a process that holds it.
 */
#ifndef TEST_VERBS_FABRIC_H
#define TEST_VERBS_FABRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "standin.h"

#define FABRIC_NONE UINT32_MAX

enum message_state {
	MESSAGE_FREE,
	MESSAGE_SENT,    /* in the inbox of its target */
	MESSAGE_ORPHAN,  /* the same, but its sender is gone */
	MESSAGE_DROPPED, /* there is no target; the sender retries */
	MESSAGE_ANSWERED /* with a status; its sender frees it */
};

struct message {
	uint32_t next;
	uint32_t source;
	enum message_state state;
	int status; /* of enum ibv_wc_status */
	size_t bytes;
	char payload[VERBS_STANDIN_MESSAGE_MAX];
};

void fabric_lock(void);
void fabric_unlock(void);

/* A number for a new queue pair; 0: there is none left. */
uint32_t fabric_open(void);
/* Messages in its inbox are dropped. */
void fabric_close(uint32_t number);

/* A message's place; FABRIC_NONE: none is free. */
uint32_t fabric_take(void);
void fabric_free(uint32_t message);
struct message *fabric_message(uint32_t message);

/* Into the inbox of the target, or nowhere. */
void fabric_send(uint32_t message, uint32_t source, uint32_t target);
/* The first of an inbox; FABRIC_NONE: it is empty. */
uint32_t fabric_first(uint32_t number);
/* Take the first of an inbox out and tell its sender. */
void fabric_answer(uint32_t number, int status);
/* The sender no longer waits. */
void fabric_forget(uint32_t message);

bool fabric_is_up(void);
void fabric_set_link(bool is_up);

/* Wake all adapters. */
void fabric_ring(void);
/* A number for fabric_sleep(), to be read before looking for work. */
uint32_t fabric_rings(void);
/* Sleep until somebody rings who has not done so before. */
void fabric_sleep(uint32_t rings);

#endif
