/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state of a channel, for those who open it and for its messages.
 *
 * A message of the sender takes a slot, of which both sides have a table, and announces itself there. The receiver
 * answers when a receive takes it. Then the sender's fragments come, a short message's single one already before. If
 * both processes have agreed to it, an announcement has an offer, and the receiver may copy the message out of the
 * sender's memory instead; its answer comes when it has. The
 * slot is free again when the message has ended at both sides. So what a peer can make this process store is
 * bounded: a slot each, and fragments that are in the peer's own memory.
 */
#ifndef DTC_CHANNEL_H
#define DTC_CHANNEL_H

#include <stdatomic.h>
#include <stdbool.h>

#include <dtconv/channel.h>

#include "convertor/convertor.h"
#include "gate.h"
#include "item_queue.h"
#include "sock.h"
#include "transport.h"

/* Finished operations of the flow that a channel keeps for later messages. */
#define DTC_CHANNEL_SPARES 16

/* A message that the application sends or receives. */
struct dtc_message {
	struct dtc_item item; /* first: it is the message */
	struct dtc_message *next;
	struct dtconv_channel *channel;
	struct dtconv_convertor convertor; /* in place; without a type: none yet */
	struct dtconv_send *send;
	struct dtconv_recv *recv;
	struct dtc_direct *direct; /* received: it copies the message itself */
	uint64_t tag;
	uint64_t hash; /* sent: of its signature */
	size_t bytes;  /* sent: its length; received: the room for it */
	size_t moved;
	int status; /* the first that was not 0 */
	dtconv_done_fn done;
	void *arg;
	/* Sent. */
	uint32_t slot;
	size_t posted;   /* bytes in fragments that the transport has taken */
	bool is_eager;   /* its fragment did not wait for the answer */
	bool is_started; /* the flow sends it */
	bool is_ended;   /* the flow has done so */
	bool is_answered, is_refused;
	bool is_offered; /* the receiver may copy it itself */
	bool is_taken;   /* and has done so, or failed to */
	/* Received, once it is matched and until all has arrived. */
	struct dtc_place *place;
};

struct dtc_messages {
	struct dtc_message *first, **last;
};

enum dtc_place_state {
	DTC_PLACE_FREE,
	DTC_PLACE_WAITING, /* no receive takes it yet */
	DTC_PLACE_MATCHED,
	DTC_PLACE_COPIED, /* its receive copies it from the sender's memory; nothing comes */
	DTC_PLACE_REFUSED
};

/* A message of the peer's. */
struct dtc_place {
	enum dtc_place_state state;
	struct dtc_place *next; /* of those that wait */
	uint64_t tag, hash, bytes, arrived;
	uint32_t offer;              /* its length; 0: none */
	struct dtc_message *message; /* MATCHED, COPIED; NULL: its receive has failed */
	int status;                  /* REFUSED, or of the receive that has failed */
	/* WAITING: its fragment, if it has come. */
	const void *held;
	size_t held_bytes;
	dtconv_release_fn release;
	void *release_arg;
};

struct dtconv_channel {
	struct dtconv_context *context;
	struct dtconv_engine *engine;
	struct dtconv_pool *pool;
	const struct dtconv_transport *transport;
	void *connection; /* NULL: not open yet */
	bool is_tcp;
	bool is_started; /* the transport */
	/* Until then, over TCP: the socket, which is the transport's, and a descriptor for both. */
	int socket, watch;
	struct dtc_gate gate;
	struct dtc_secret secret;
	struct dtc_transport_user user;
	struct dtc_sock_peer peer;
	unsigned source;
	_Atomic int state;  /* enum dtconv_channel_state */
	_Atomic int status; /* of the end */
	_Atomic size_t operations, waiting;
	_Atomic uint64_t sent, received;
	_Atomic uint64_t sent_direct, received_direct;
	struct dtc_item closing;
	_Atomic bool is_closing;
	/* All else is of the thread that makes progress. */
	size_t fragments; /* that it sends from; the transport has the others of the pool */
	size_t eager_bytes;
	unsigned eager, eager_max; /* fragments of messages that are not answered */
	/* Fragments of a send that are in use at a time; 0: the default. On a device each takes two launches to come back. */
	unsigned depth;
	unsigned
		unoffered; /* short messages that are not offered, because one was not taken */
	struct dtc_messages queued, posted, finished;
	struct dtc_message *sending[DTC_WIRE_SLOTS];
	uint16_t free_slots[DTC_WIRE_SLOTS];
	size_t free_count;
	struct dtc_place places[DTC_WIRE_SLOTS];
	struct dtc_place *first, **last; /* WAITING, in the order in which they came */
	struct dtc_direct_state *direct; /* NULL: no message is copied directly */
	struct dtconv_send *sends[DTC_CHANNEL_SPARES];
	struct dtconv_recv *recvs[DTC_CHANNEL_SPARES];
	size_t send_count, recv_count;
};

/* Its members, before the transport is opened. */
void dtc_channel_init(struct dtconv_channel *channel);

/* The upcalls of its transport; the user is filled in. */
extern const struct dtc_transport_user dtc_channel_user;

/* A dtconv_source's functions. */
size_t dtc_channel_poll(void *channel, size_t budget);
int dtc_channel_arm(void *channel);

/* End it, in the thread that makes progress or while none does. Messages are finished by the next poll. */
void dtc_channel_drop(struct dtconv_channel *channel);

/* The same with a status that the peer is told, and whose reason is the error text. */
void dtc_channel_end(struct dtconv_channel *channel, int status);

/* Where the peer is. */
struct dtc_channel_link {
	int socket;           /* connected, over TCP perhaps not yet; -1: none */
	bool is_tcp;          /* there is an address of it */
	bool is_proven;       /* over TCP: the peer has shown that it knows the secret */
	const void *endpoint; /* of a transport that has no socket */
};

/*
 * Create a channel. The socket is the channel's from then on, also if this fails. @params has been read by
 * dtc_channel_read_params.
 */
int dtc_channel_create(struct dtconv_engine *engine, const struct dtc_channel_link *link,
		       const struct dtconv_channel_params *params, const char *caller,
		       struct dtconv_channel **channel);

/* Whether a channel over TCP can be made: the transport needs no Unix socket, and there is a secret. */
int dtc_channel_check_tcp(struct dtconv_context *context,
			  const struct dtconv_channel_params *params, const char *caller);

/* Begin with the transport, when the peer is known. On failure the channel has not started. */
int dtc_channel_start(struct dtconv_channel *channel, const char *caller);

int dtc_channel_read_params(struct dtconv_engine *engine,
			    const struct dtconv_channel_params *given, const char *caller,
			    struct dtconv_channel_params *params);

/* ---- lists ----------------------------------------------------------------------------- */

static inline void dtc_messages_clear(struct dtc_messages *messages)
{
	messages->first = NULL;
	messages->last = &messages->first;
}

static inline void dtc_messages_append(struct dtc_messages *messages,
				       struct dtc_message *message)
{
	message->next = NULL;
	*messages->last = message;
	messages->last = &message->next;
}

static inline struct dtc_message *dtc_messages_take_at(struct dtc_messages *messages,
						       struct dtc_message **place)
{
	struct dtc_message *message = *place;

	*place = message->next;
	if (messages->last == &message->next)
		messages->last = place;
	return message;
}

static inline struct dtc_message *dtc_messages_take_first(struct dtc_messages *messages)
{
	return dtc_messages_take_at(messages, &messages->first);
}

/* ---- messages -------------------------------------------------------------------------- */

bool dtc_channel_is_over(const struct dtconv_channel *channel);

/* Its callback is called when this thread is where callbacks may be called. */
void dtc_message_finish(struct dtc_message *message, int status);
void dtc_message_free(struct dtc_message *message);

/* Call the callbacks of finished messages; their number. */
size_t dtc_channel_run_finished(struct dtconv_channel *channel);

/* Post a header without a fragment. */
void dtc_channel_post(struct dtconv_channel *channel, enum dtc_wire_kind kind,
		      uint32_t slot, int status);

/* ---- sending --------------------------------------------------------------------------- */

/* Functions of an item: the message joins those that wait for a slot, or a receive those that wait for a message. */
void dtc_channel_handle_send(struct dtc_item *item);
void dtc_channel_handle_recv(struct dtc_item *item);

/* Announce messages as long as there are slots. */
void dtc_channel_announce(struct dtconv_channel *channel);

/* Headers of the peer. False: it does not fit the state of its message. */
bool dtc_channel_take_answer(struct dtconv_channel *channel,
			     const struct dtc_wire_header *header);

/* The connection has ended. */
void dtc_message_lose_sent(struct dtc_message *message, int status);

/* Its receiver has copied it, or failed to: as above. */
bool dtc_channel_take_taken(struct dtconv_channel *channel,
			    const struct dtc_wire_header *header);

/* A device context that was lost has taken the last fragment: nothing can be sent any more. */
void dtc_channel_end_without_fragments(struct dtconv_channel *channel);

/* ---- receiving ------------------------------------------------------------------------- */

/* As above. */
bool dtc_channel_take_message(struct dtconv_channel *channel,
			      const struct dtc_wire_header *header);
bool dtc_channel_take_data(struct dtconv_channel *channel,
			   const struct dtc_wire_header *header, const void *bytes,
			   dtconv_release_fn release, void *arg);
bool dtc_channel_take_end(struct dtconv_channel *channel,
			  const struct dtc_wire_header *header);

void dtc_channel_lose_place(struct dtconv_channel *channel, struct dtc_place *place,
			    int status);

/* The copy of a receive has ended, or was not started: it goes through fragments then, if it has a place still. */
void dtc_channel_end_copy(struct dtc_message *message, int status, size_t moved);
void dtc_channel_stage(struct dtc_message *message);

#endif
