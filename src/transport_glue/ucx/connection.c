/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A channel's connection over UCX: a worker and an endpoint of its own. The socket carries the workers' addresses, the
 * first and the last packets, and shows when the peer is gone; headers and fragments are active messages.
 *
 * UCX delivers active messages in any order, so each has a number, and they are taken in the order of numbers. A
 * fragment that comes by rendezvous is received into its landing at once. One that comes eagerly stays in UCX's memory
 * until it has been unpacked.
 */
#include "config.h"

#include "ucx.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/base.h"
#include "base/clock.h"
#include "base/context.h"
#include "base/log.h"
#include "transport_glue/fragment_table.h"
#include "transport_glue/greeting.h"
#include "transport_glue/slab.h"
#include "transport_glue/sock.h"

/* ID of our active messages. */
#define MESSAGE_ID 1

/* The number of a message, and its header. */
#define MESSAGE_BYTES (8 + DTC_WIRE_HEADER_BYTES)

/* Not taken at most: of each slot a MESSAGE and an END, and an answer; and the fragments of both sides. */
#define MESSAGES (3 * DTC_WIRE_SLOTS)

/* Before the worker's address: what this process wants of the peer. */
#define WANTS_RENDEZVOUS 1

/* In so many polls of a quiet worker the socket is read once: a system call. */
#define QUIET_POLLS 64

/* So often UCX is asked for what a peer has sent that is gone. */
#define LAST_POLLS 2000

/* A peer that does not take what was sent before the connection ended, or does not answer, is stuck. */
#define LINGER_NS 1000000000

enum state {
	GREETING, /* the peer has not introduced itself, or has no memory for what this process sends */
	READY,
	GONE, /* the connection is over, which the channel has not been told yet */
	ENDED
};

struct connection;

/* A message that is sent, until UCX no longer needs it. */
struct envelope {
	struct envelope *next; /* free ones */
	struct connection *connection;
	bool has_fragment;
	uint32_t number; /* of the fragment */
	unsigned char bytes[MESSAGE_BYTES];
};

/* A message that has arrived and is not taken. */
struct arrival {
	struct connection *connection;
	bool is_here;
	bool is_whole; /* its fragment, too */
	struct dtc_wire_header header;
	struct dtc_landing *landing; /* of DATA */
};

struct connection {
	struct dtconv_context *context;
	struct dtconv_ucx *ucx;
	const struct dtc_transport_user *user;
	enum state state;
	int status;        /* GONE: why; ENDED: what the peer is told */
	char reason[192];  /* GONE */
	int socket, watch; /* watch: an epoll descriptor of the socket and the worker */
	bool is_cut;       /* the socket has ended */
	bool is_armed;
	unsigned quiet, last_polls;
	uint64_t ended_ns; /* ENDED: since then */
	ucp_worker_h worker;
	ucp_ep_h ep;
	bool is_greeted, is_accepted; /* by the peer */
	bool wants_rendezvous;        /* the peer */
	struct dtconv_registrar registrar;
	struct dtc_greeting greeting;
	struct dtc_fragment_table table;
	void **held; /* by number of the landing: UCX's memory that is unpacked instead; NULL: none */
	size_t sending, receiving; /* operations of UCX */
	struct envelope *envelopes, *free;
	struct arrival *arrivals; /* by number of the message */
	size_t arrivals_max;
	uint64_t posted, taken;
	uint64_t last; /* the peer posted so many before its last word */
	bool has_heard_bye;
	int bye; /* its status */
};

/* ---- ending ---------------------------------------------------------------------------- */

/* The next poll tells the channel. */
static void go(struct connection *connection, int status, const char *reason)
{
	if (connection->state >= GONE)
		return;
	connection->state = GONE;
	connection->status = status;
	snprintf(connection->reason, sizeof(connection->reason), "%s", reason);
}

static void break_protocol(struct connection *connection, const char *what)
{
	go(connection, DTCONV_ERR_FORMAT, what);
}

static void fail(struct connection *connection, const char *call, ucs_status_t status)
{
	char reason[sizeof(connection->reason)];

	snprintf(reason, sizeof(reason), "%s: %s", call, ucs_status_string(status));
	go(connection, DTCONV_ERR_PEER, reason);
}

/* A ucp_err_handler_cb_t. */
static void see_failure(void *arg, ucp_ep_h ep, ucs_status_t status)
{
	(void)ep;
	fail(arg, "the endpoint has failed", status);
}

/* ---- what is sent ---------------------------------------------------------------------- */

static void put_number(unsigned char *bytes, uint64_t number)
{
	for (int i = 0; i < 8; i++)
		bytes[i] = (unsigned char)(number >> 8 * i);
}

static uint64_t get_number(const unsigned char *bytes)
{
	uint64_t number = 0;

	for (int i = 8; i--;)
		number = number << 8 | bytes[i];
	return number;
}

static void free_envelope(struct envelope *envelope)
{
	struct connection *connection = envelope->connection;

	envelope->next = connection->free;
	connection->free = envelope;
	if (envelope->has_fragment)
		dtc_departure_was_read(&connection->table, envelope->number);
}

/* A ucp_send_nbx_callback_t. */
static void see_sent(void *request, ucs_status_t status, void *arg)
{
	struct envelope *envelope = arg;

	ucp_request_free(request);
	envelope->connection->sending--;
	if (status != UCS_OK)
		fail(envelope->connection, "a message could not be sent", status);
	free_envelope(envelope);
}

/* UCX is told what memory is, so it never asks a device driver. */
static ucs_memory_type_t memory_type_of(const struct dtconv_slab *slab)
{
	return slab->kind == DTCONV_MEMORY_DEVICE ? UCS_MEMORY_TYPE_CUDA
						  : UCS_MEMORY_TYPE_HOST;
}

static bool send_envelope(struct connection *connection, struct envelope *envelope,
			  const struct dtconv_fragment *fragment, size_t bytes)
{
	ucp_request_param_t param = { .op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK |
						      UCP_OP_ATTR_FIELD_USER_DATA |
						      UCP_OP_ATTR_FIELD_MEMORY_TYPE |
						      UCP_OP_ATTR_FIELD_FLAGS,
				      .cb.send = see_sent,
				      .user_data = envelope,
				      .memory_type = UCS_MEMORY_TYPE_HOST };

	if (fragment) {
		param.memory_type = memory_type_of(&fragment->slab->what);
		param.op_attr_mask |= UCP_OP_ATTR_FIELD_MEMH;
		param.memh = fragment->slab->handles[0];
		param.flags = connection->wants_rendezvous ? UCP_AM_SEND_FLAG_RNDV : 0;
	}
	ucs_status_ptr_t request = ucp_am_send_nbx(connection->ep, MESSAGE_ID,
						   envelope->bytes, MESSAGE_BYTES,
						   fragment ? fragment->address : NULL,
						   bytes, &param);
	if (UCS_PTR_IS_ERR(request)) {
		fail(connection, "ucp_am_send_nbx", UCS_PTR_STATUS(request));
		return false;
	}
	connection->posted++;
	if (request)
		connection->sending++;
	else
		free_envelope(envelope);
	return true;
}

static int post(void *arg, const struct dtc_wire_header *header,
		struct dtconv_fragment *fragment)
{
	struct connection *connection = arg;
	struct envelope *envelope = connection->free;
	struct dtc_wire_header posted = *header;

	if (connection->state != READY)
		return DTCONV_ERR_PEER;
	if (!envelope) {
		break_protocol(connection, "the peer takes no messages");
		return DTCONV_ERR_PEER;
	}
	connection->free = envelope->next;
	envelope->has_fragment = fragment != NULL;
	if (fragment) {
		posted.fragment = dtc_departure_post(&connection->table, fragment);
		envelope->number = posted.fragment;
	}
	put_number(envelope->bytes, connection->posted);
	dtc_wire_write_header(&posted, envelope->bytes + 8);
	if (send_envelope(connection, envelope, fragment,
			  fragment ? (size_t)header->length : 0))
		return 0;
	if (fragment)
		dtc_departure_undo(&connection->table, posted.fragment);
	envelope->has_fragment = false;
	free_envelope(envelope);
	return DTCONV_ERR_PEER;
}

/* ---- what arrives ---------------------------------------------------------------------- */

/* Its bytes are no longer needed, wherever they are. Its number. */
static uint32_t clear_landing(struct connection *connection, struct dtc_landing *landing)
{
	const uint32_t number = dtc_landing_clear(&connection->table, landing);
	void *held = connection->held[number];

	connection->held[number] = NULL;
	if (held)
		ucp_am_data_release(connection->worker, held);
	return number;
}

/* A dtconv_release_fn: return a fragment. */
static void return_fragment(void *arg, int status)
{
	struct dtc_landing *landing = arg;
	struct connection *connection = landing->connection;
	const struct dtc_wire_header header = { .kind = DTC_WIRE_RETURN,
						.status = status,
						.fragment = clear_landing(connection,
									  landing) };

	(void)post(connection, &header, NULL);
}

static void drop_arrivals(struct connection *connection);

/* A ucp_am_recv_data_nbx_callback_t. */
static void see_received(void *request, ucs_status_t status, size_t length, void *arg)
{
	struct arrival *arrival = arg;
	struct connection *connection = arrival->connection;

	(void)length;
	ucp_request_free(request);
	connection->receiving--;
	if (status != UCS_OK)
		fail(connection, "a fragment could not be received", status);
	/* After a failure it is not matched. */
	arrival->is_whole = true;
	if (connection->state == ENDED)
		drop_arrivals(connection);
}

static void receive(struct connection *connection, struct arrival *arrival, void *data)
{
	const struct dtc_landing *landing = arrival->landing;
	const ucp_request_param_t param = {
		.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA |
				UCP_OP_ATTR_FIELD_MEMORY_TYPE | UCP_OP_ATTR_FIELD_MEMH,
		.cb.recv_am = see_received,
		.user_data = arrival,
		.memory_type = memory_type_of(&landing->fragment->slab->what),
		.memh = landing->fragment->slab->handles[0]
	};
	ucs_status_ptr_t request =
		ucp_am_recv_data_nbx(connection->worker, data, landing->address,
				     (size_t)arrival->header.length, &param);

	if (UCS_PTR_IS_ERR(request))
		fail(connection, "ucp_am_recv_data_nbx", UCS_PTR_STATUS(request));
	arrival->is_whole = !UCS_PTR_IS_PTR(request);
	connection->receiving += UCS_PTR_IS_PTR(request);
}

/* The fragment of a DATA header. Whether UCX has to keep it. */
static bool keep_fragment(struct connection *connection, struct arrival *arrival,
			  void *data, size_t bytes, bool is_rendezvous)
{
	const struct dtc_wire_header *header = &arrival->header;

	if (bytes != header->length ||
	    !dtc_landing_is_free(&connection->table, header->fragment, bytes)) {
		break_protocol(connection,
			       "a fragment is too long, has not the length that "
			       "its header says, or comes twice before it is "
			       "returned");
		return false;
	}
	arrival->landing = dtc_landing_fill(&connection->table, header->fragment);
	arrival->is_here = arrival->is_whole = true;
	if (is_rendezvous)
		receive(connection, arrival, data);
	else
		connection->held[header->fragment] = data;
	return true;
}

/* A ucp_am_recv_callback_t. Upcalls wait for the poll that asked UCX for progress. */
static ucs_status_t see_message(void *arg, const void *bytes, size_t length, void *data,
				size_t data_bytes, const ucp_am_recv_param_t *param)
{
	struct connection *connection = arg;

	if (connection->state >= GONE)
		return UCS_OK;
	if (!connection->arrivals || length != MESSAGE_BYTES) {
		break_protocol(connection,
			       "a message comes before the first packet, or has "
			       "the wrong length");
		return UCS_OK;
	}
	const uint64_t number = get_number(bytes);
	struct arrival *arrival =
		&connection->arrivals[number % connection->arrivals_max];
	if (number - connection->taken >= connection->arrivals_max || arrival->is_here ||
	    dtc_wire_read_header((const unsigned char *)bytes + 8, DTC_WIRE_HEADER_BYTES,
				 &arrival->header)) {
		break_protocol(connection,
			       "a header has no meaning, or the wrong number");
		return UCS_OK;
	}
	arrival->landing = NULL;
	if (arrival->header.kind == DTC_WIRE_DATA)
		return keep_fragment(connection, arrival, data, data_bytes,
				     param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV)
			       ? UCS_INPROGRESS
			       : UCS_OK;
	arrival->is_here = arrival->is_whole = true;
	return UCS_OK;
}

static void take_data(struct connection *connection, const struct arrival *arrival)
{
	const void *held = connection->held[arrival->header.fragment];

	if (connection->user->arrive(connection->user->user, &arrival->header,
				     held ? held : arrival->landing->address,
				     return_fragment, arrival->landing))
		return;
	(void)clear_landing(connection, arrival->landing);
	break_protocol(connection, "a fragment belongs to no message");
}

static void take_return(struct connection *connection,
			const struct dtc_wire_header *header)
{
	if (!dtc_departure_return(&connection->table, header->fragment, header->status)) {
		break_protocol(connection, "it returns a fragment that it does not have");
		return;
	}
	if (header->status)
		(void)DTC_FAIL(connection->context, header->status,
			       "channel: the receiver could not unpack a fragment: %s",
			       dtconv_strerror(header->status));
}

/* Take the next message. False if it has not arrived. */
static bool take_next(struct connection *connection)
{
	struct arrival *next = connection->arrivals
				       ? &connection->arrivals[connection->taken %
							       connection->arrivals_max]
				       : NULL;

	if (!next || !next->is_here || !next->is_whole)
		return false;
	const struct arrival arrival = *next;
	next->is_here = false;
	connection->taken++;
	if (arrival.header.kind == DTC_WIRE_DATA)
		take_data(connection, &arrival);
	else if (arrival.header.kind == DTC_WIRE_RETURN)
		take_return(connection, &arrival.header);
	else if (!connection->user->arrive(connection->user->user, &arrival.header, NULL,
					   NULL, NULL))
		break_protocol(connection, "a header does not fit the state of its "
					   "message");
	return true;
}

/* Arrivals that are no longer matched. Fragments that UCX still receives are cleared when it has. */
static void drop_arrivals(struct connection *connection)
{
	for (size_t i = 0; connection->arrivals && i < connection->arrivals_max; i++) {
		struct arrival *arrival = &connection->arrivals[i];

		if (arrival->is_here && arrival->is_whole && arrival->landing)
			(void)clear_landing(connection, arrival->landing);
		arrival->is_here = arrival->is_here && !arrival->is_whole;
	}
}

/* The endpoint is closed. */
static void forget_arrivals(struct connection *connection)
{
	for (size_t i = 0; connection->arrivals && i < connection->arrivals_max; i++)
		connection->arrivals[i].is_whole = true;
	drop_arrivals(connection);
}

/* ---- the socket ------------------------------------------------------------------------ */

static void send_packet(const struct connection *connection,
			enum dtc_wire_packet_kind kind, int status)
{
	const struct dtc_wire_packet packet = { .kind = kind,
						.version = DTC_WIRE_VERSION,
						.status = status,
						.posted = connection->posted };
	unsigned char bytes[DTC_WIRE_PACKET_BYTES];

	dtc_wire_write_packet(&packet, bytes);
	(void)dtc_sock_send(connection->socket, bytes, NULL);
}

static bool connect_peer(struct connection *connection)
{
	const struct dtc_greeting *greeting = &connection->greeting;
	const ucp_ep_params_t params = {
		.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS |
			      UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
			      UCP_EP_PARAM_FIELD_ERR_HANDLER,
		.address = (const ucp_address_t *)(greeting->address + 1),
		.err_mode = UCP_ERR_HANDLING_MODE_PEER,
		.err_handler = { .cb = see_failure, .arg = connection }
	};
	ucs_status_t status = ucp_ep_create(connection->worker, &params, &connection->ep);

	if (status != UCS_OK)
		fail(connection, "the peer cannot be reached", status);
	return status == UCS_OK;
}

/* Memory for what the peer sends. */
static int make_room(struct connection *connection)
{
	const struct dtc_wire_packet *hello = &connection->greeting.hello;
	const size_t count =
		MESSAGES + connection->table.departure_count + hello->fragments;

	connection->held = dtc_alloc_zeroed(
		connection->context, hello->fragments * sizeof(connection->held[0]));
	connection->arrivals = dtc_alloc_zeroed(connection->context,
						count * sizeof(connection->arrivals[0]));
	connection->envelopes = dtc_alloc_zeroed(
		connection->context, count * sizeof(connection->envelopes[0]));
	if (!connection->held || !connection->arrivals || !connection->envelopes)
		return DTC_FAIL(connection->context, DTCONV_ERR_NOMEM,
				"channel: cannot allocate what a connection over UCX "
				"needs");
	connection->arrivals_max = count;
	for (size_t i = 0; i < count; i++) {
		struct envelope *envelope = &connection->envelopes[i];

		connection->arrivals[i].connection = envelope->connection = connection;
		envelope->next = connection->free;
		connection->free = envelope;
	}
	return dtc_fragment_table_land(&connection->table, hello->fragments,
				       (size_t)hello->fragment_bytes,
				       &connection->registrar, connection);
}

/* The peer has introduced itself. */
static void take_greeting(struct connection *connection)
{
	const struct dtc_greeting *greeting = &connection->greeting;

	if (connection->state != GREETING || greeting->bytes < 2 ||
	    greeting->hello.transport != DTC_WIRE_UCX)
		break_protocol(connection, "its first packet comes twice, or is another "
					   "transport's");
	connection->is_greeted = true;
}

static void take_accept(struct connection *connection)
{
	if (connection->state != GREETING || !connection->is_greeted ||
	    connection->is_accepted)
		break_protocol(connection,
			       "it accepts twice, or before its first packet");
	connection->is_accepted = true;
}

/* A peer that is gone already is not connected: UCX 1.13 does not stand it over TCP. */
static void meet_peer(struct connection *connection)
{
	if (connection->state != GREETING || !connection->is_greeted ||
	    connection->is_cut || connection->has_heard_bye)
		return;
	if (!connection->ep) {
		connection->wants_rendezvous = connection->greeting.address[0] &
					       WANTS_RENDEZVOUS;
		int status = make_room(connection);
		if (status)
			go(connection, status, dtc_fragment_table_reason(status));
		else if (connect_peer(connection))
			send_packet(connection, DTC_WIRE_ACCEPT, 0);
	}
	if (connection->state != GREETING || !connection->is_accepted)
		return;
	connection->state = READY;
	connection->user->ready(connection->user->user);
}

static void take_packet(struct connection *connection, const unsigned char *bytes)
{
	struct dtc_wire_packet packet;
	int status = dtc_wire_read_packet(bytes, DTC_WIRE_PACKET_BYTES, &packet);

	if (status == DTCONV_ERR_UNSUPPORTED) {
		go(connection, status, "it speaks another version of the protocol");
	} else if (status) {
		break_protocol(connection, "a packet has no meaning");
	} else if (packet.kind == DTC_WIRE_BYE) {
		connection->has_heard_bye = true;
		connection->bye = packet.status;
		connection->last = packet.posted;
	} else if (packet.kind == DTC_WIRE_ACCEPT) {
		take_accept(connection);
	} else {
		status = dtc_greeting_take(&connection->greeting, &packet);
		if (status == DTCONV_ERR_FORMAT)
			break_protocol(connection, "a packet comes twice, or is another "
						   "transport's");
		else if (!status)
			take_greeting(connection);
	}
}

/* A socket at its end is always readable, so no thread may sleep on it any more. */
static void cut(struct connection *connection)
{
	connection->is_cut = true;
	(void)epoll_ctl(connection->watch, EPOLL_CTL_DEL, connection->socket, NULL);
}

static void read_packets(struct connection *connection)
{
	unsigned char bytes[DTC_WIRE_PACKET_BYTES];
	struct dtc_sock_files files;

	for (int i = 0; i < DTC_SOCK_BATCH && !connection->is_cut; i++) {
		switch (dtc_sock_receive(connection->socket, bytes, &files)) {
		case DTC_SOCK_NOTHING:
			return;
		case DTC_SOCK_PACKET:
			dtc_sock_close_files(&files);
			take_packet(connection, bytes);
			break;
		case DTC_SOCK_BAD:
		case DTC_SOCK_NO_FILES: /* a packet without them would do */
			break_protocol(connection, "a packet has the wrong length");
			break;
		case DTC_SOCK_END:
			cut(connection);
			break;
		}
	}
}

static void read_socket(struct connection *connection)
{
	read_packets(connection);
	meet_peer(connection);
}

/* ---- polling --------------------------------------------------------------------------- */

static void hang_up(void *arg, int status)
{
	struct connection *connection = arg;

	if (connection->state == ENDED)
		return;
	connection->state = ENDED;
	connection->status = status;
	connection->ended_ns = dtc_now_ns();
	if (!connection->is_cut)
		send_packet(connection, DTC_WIRE_BYE, status);
	drop_arrivals(connection);
	dtc_departures_end(&connection->table);
}

static void end(struct connection *connection)
{
	const int status = connection->status;

	hang_up(connection, status);
	connection->user->lost(connection->user->user,
			       DTC_FAIL(connection->context, status,
					"channel: the connection over UCX has ended: %s",
					connection->reason));
}

/* The peer has said its last word, or it is gone; what it sent before comes first. */
static void look_for_the_end(struct connection *connection, bool is_quiet)
{
	const int bye = connection->bye;

	if (connection->has_heard_bye &&
	    (connection->state == GREETING || connection->taken == connection->last)) {
		if (bye == DTCONV_ERR_FORMAT || bye == DTCONV_ERR_UNSUPPORTED)
			go(connection, bye,
			   bye == DTCONV_ERR_FORMAT ? "one side broke the protocol"
						    : dtconv_strerror(bye));
		else
			go(connection, DTCONV_ERR_PEER,
			   bye == DTCONV_ERR_CANCELED ? "it closed the channel"
						      : dtconv_strerror(bye));
	}
	if (!connection->is_cut)
		return;
	connection->last_polls = is_quiet ? connection->last_polls + 1 : 0;
	if (connection->state == GREETING || connection->last_polls >= LAST_POLLS)
		go(connection, DTCONV_ERR_PEER,
		   "its process has ended or dropped the socket");
}

static bool progress(struct connection *connection)
{
	bool has_worked = false;

	for (int i = 0; i < 16 && ucp_worker_progress(connection->worker); i++)
		has_worked = true;
	return has_worked;
}

static void force_close(struct connection *connection);

/* Whether UCX still sends fragments of a connection that has ended, to a peer that is gone or stuck. */
static bool is_waiting_in_vain(const struct connection *connection)
{
	return connection->state == ENDED && connection->table.out &&
	       (connection->is_cut || dtc_now_ns() - connection->ended_ns > LINGER_NS);
}

static size_t poll(void *arg, size_t budget)
{
	struct connection *connection = arg;
	size_t happened = 0;

	if (connection->is_armed || connection->state == GREETING ||
	    ++connection->quiet >= QUIET_POLLS) {
		connection->is_armed = false;
		connection->quiet = 0;
		read_socket(connection);
	}
	const bool has_worked = progress(connection);
	while (connection->state == READY && happened < budget && take_next(connection))
		happened++;
	if (happened < budget)
		look_for_the_end(connection, !has_worked && !happened);
	if (connection->state == GONE) {
		end(connection);
		happened++;
	}
	if (connection->ep && is_waiting_in_vain(connection)) {
		force_close(connection);
		/* A stuck peer that goes on waits no longer for what was not sent. */
		(void)shutdown(connection->socket, SHUT_RDWR);
	}
	return happened;
}

static int arm(void *arg)
{
	struct connection *connection = arg;
	const struct arrival *next =
		connection->arrivals ? &connection->arrivals[connection->taken %
							     connection->arrivals_max]
				     : NULL;

	connection->is_armed = true;
	if (connection->state == GONE ||
	    (connection->state == ENDED && connection->table.out) ||
	    (connection->state != ENDED &&
	     (connection->is_cut || connection->has_heard_bye)) ||
	    (connection->state == READY && next && next->is_here && next->is_whole))
		return DTCONV_ERR_AGAIN;
	return ucp_worker_arm(connection->worker) == UCS_ERR_BUSY ? DTCONV_ERR_AGAIN : 0;
}

static int file_of(const void *arg)
{
	return ((const struct connection *)arg)->watch;
}

static bool is_pinned(const void *arg)
{
	return dtc_landings_are_pinned(&((const struct connection *)arg)->table);
}

/* ---- registration ---------------------------------------------------------------------- */

static int register_slab(void *arg, const struct dtconv_slab *slab, void **handle)
{
	struct connection *connection = arg;
	const ucp_mem_map_params_t params = { .field_mask =
						      UCP_MEM_MAP_PARAM_FIELD_ADDRESS |
						      UCP_MEM_MAP_PARAM_FIELD_LENGTH |
						      UCP_MEM_MAP_PARAM_FIELD_MEMORY_TYPE,
					      .address = slab->base,
					      .length = slab->bytes,
					      .memory_type = memory_type_of(slab) };
	ucp_mem_h memory;
	ucs_status_t status = ucp_mem_map(connection->ucx->ucp, &params, &memory);
	if (status != UCS_OK)
		return dtc_ucx_fail(connection->context, status, "channel",
				    "ucp_mem_map");
	*handle = memory;
	return 0;
}

static void unregister_slab(void *arg, const struct dtconv_slab *slab, void *handle)
{
	struct connection *connection = arg;

	(void)slab;
	(void)ucp_mem_unmap(connection->ucx->ucp, handle);
}

static const struct dtconv_registrar *registrars(void *arg, size_t *count)
{
	*count = 1;
	return &((struct connection *)arg)->registrar;
}

/* ---- opening --------------------------------------------------------------------------- */

static void free_connection(void *arg)
{
	struct connection *connection = arg;

	atomic_fetch_sub(&connection->ucx->connections, 1);
	dtc_free(connection->context, connection);
}

static int make_worker(struct connection *connection, int *fd, const char *caller)
{
	const ucp_worker_params_t params = { .field_mask =
						     UCP_WORKER_PARAM_FIELD_THREAD_MODE,
					     .thread_mode = UCS_THREAD_MODE_SERIALIZED };
	const ucp_am_handler_param_t handler = {
		.field_mask =
			UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
			UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG,
		.id = MESSAGE_ID,
		.flags = UCP_AM_FLAG_WHOLE_MSG | UCP_AM_FLAG_PERSISTENT_DATA,
		.cb = see_message,
		.arg = connection
	};
	const char *call = "ucp_worker_create";
	ucs_status_t status =
		ucp_worker_create(connection->ucx->ucp, &params, &connection->worker);

	if (status != UCS_OK) {
		connection->worker = NULL;
	} else {
		call = "ucp_worker_set_am_recv_handler";
		status = ucp_worker_set_am_recv_handler(connection->worker, &handler);
	}
	if (status == UCS_OK) {
		call = "ucp_worker_get_efd";
		status = ucp_worker_get_efd(connection->worker, fd);
	}
	return status == UCS_OK ? 0
				: dtc_ucx_fail(connection->context, status, caller, call);
}

static int watch(struct connection *connection, int fd, const char *caller)
{
	struct epoll_event event = { .events = EPOLLIN };

	connection->watch = epoll_create1(EPOLL_CLOEXEC);
	if (connection->watch >= 0 &&
	    !epoll_ctl(connection->watch, EPOLL_CTL_ADD, connection->socket, &event) &&
	    !epoll_ctl(connection->watch, EPOLL_CTL_ADD, fd, &event))
		return 0;
	return DTC_FAIL(connection->context, DTCONV_ERR_AGAIN,
			"%s: cannot watch the socket of a channel: %s", caller,
			strerror(errno));
}

static void close_connection(void *arg);

static int open_connection(const struct dtc_transport_params *params, void **opened)
{
	struct connection *connection =
		dtc_alloc_zeroed(params->context, sizeof(*connection));
	int fd = -1;

	if (!connection)
		return DTC_FAIL(params->context, DTCONV_ERR_NOMEM,
				"%s: cannot allocate a connection", params->caller);
	connection->context = params->context;
	connection->ucx = (struct dtconv_ucx *)(uintptr_t)params->transport;
	connection->user = params->user;
	connection->registrar = (struct dtconv_registrar){ .name = "UCX",
							   .reg = register_slab,
							   .dereg = unregister_slab,
							   .arg = connection };
	connection->watch = -1;
	connection->socket = params->socket;
	atomic_fetch_add(&connection->ucx->connections, 1);
	int status = make_worker(connection, &fd, params->caller);
	if (!status)
		status = watch(connection, fd, params->caller);
	if (status) {
		/* The socket stays the caller's. */
		connection->socket = -1;
		close_connection(connection);
		free_connection(connection);
		return status;
	}
	*opened = connection;
	return 0;
}

/* The first packets: what this process wants, and where its worker is. */
static int greet(struct connection *connection, const char *caller)
{
	const struct dtc_wire_packet hello =
		dtc_fragment_table_hello(&connection->table, DTC_WIRE_UCX);
	unsigned char bytes[DTC_WIRE_ADDRESS_MAX];
	ucp_address_t *address;
	size_t length;
	ucs_status_t status =
		ucp_worker_get_address(connection->worker, &address, &length);

	if (status != UCS_OK)
		return dtc_ucx_fail(connection->context, status, caller,
				    "ucp_worker_get_address");
	const bool fits = length < sizeof(bytes);
	if (fits) {
		bytes[0] = dtc_fragments_are_pinned(&connection->table) ? WANTS_RENDEZVOUS
									: 0;
		memcpy(bytes + 1, address, length);
	}
	ucp_worker_release_address(connection->worker, address);
	if (!fits)
		return DTC_FAIL(
			connection->context, DTCONV_ERR_LIMIT,
			"%s: the address of a UCX worker has %zu bytes, the most "
			"are %d; fewer networks (UCX_TLS, UCX_NET_DEVICES) make it "
			"shorter",
			caller, length, DTC_WIRE_ADDRESS_MAX - 1);
	/* A peer that is gone already is found by the first poll. */
	(void)dtc_greeting_send(connection->socket, &hello, bytes, length + 1);
	return 0;
}

static int start(void *arg, struct dtconv_pool *pool, const char *caller)
{
	struct connection *connection = arg;
	int status = dtc_fragment_table_open(&connection->table, connection->context,
					     pool, caller);

	return status ? status : greet(connection, caller);
}

/* ---- closing --------------------------------------------------------------------------- */

/* Operations that the endpoint has end with an error. */
static void force_close(struct connection *connection)
{
	const ucp_request_param_t param = { .op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS,
					    .flags = UCP_EP_CLOSE_FLAG_FORCE };

	if (!connection->ep)
		return;
	ucs_status_ptr_t request = ucp_ep_close_nbx(connection->ep, &param);

	connection->ep = NULL;
	while (UCS_PTR_IS_PTR(request) &&
	       ucp_request_check_status(request) == UCS_INPROGRESS)
		(void)ucp_worker_progress(connection->worker);
	if (UCS_PTR_IS_PTR(request))
		ucp_request_free(request);
}

static bool is_parting(const struct connection *connection, ucs_status_ptr_t flush)
{
	return !connection->has_heard_bye ||
	       (UCS_PTR_IS_PTR(flush) &&
		ucp_request_check_status(flush) == UCS_INPROGRESS);
}

/* What was posted goes to the peer, which answers with its last word; bounded, because it may be stuck. */
static void part(struct connection *connection)
{
	static const ucp_request_param_t param;
	ucs_status_ptr_t request = ucp_ep_flush_nbx(connection->ep, &param);

	while (!connection->is_cut && is_parting(connection, request) &&
	       dtc_now_ns() - connection->ended_ns < LINGER_NS) {
		if (!progress(connection))
			(void)sched_yield();
		read_socket(connection);
	}
	if (UCS_PTR_IS_PTR(request))
		ucp_request_free(request);
}

static void close_connection(void *arg)
{
	struct connection *connection = arg;

	if (connection->socket >= 0)
		hang_up(connection, DTCONV_ERR_CANCELED);
	if (connection->ep)
		part(connection);
	force_close(connection);
	for (int i = 0; i < LAST_POLLS && (connection->sending || connection->receiving);
	     i++)
		(void)ucp_worker_progress(connection->worker);
	forget_arrivals(connection);
	if (connection->watch >= 0)
		close(connection->watch);
	if (connection->worker)
		ucp_worker_destroy(connection->worker);
	connection->worker = NULL;
	dtc_fragment_table_close(&connection->table);
	dtc_free(connection->context, connection->held);
	dtc_free(connection->context, connection->arrivals);
	dtc_free(connection->context, connection->envelopes);
	if (connection->socket >= 0)
		close(connection->socket);
}

const struct dtconv_transport dtc_ucx_transport = { .abi = DTC_TRANSPORT_ABI,
						    .name = "ucx",
						    .open = open_connection,
						    .registrars = registrars,
						    .start = start,
						    .post = post,
						    .poll = poll,
						    .arm = arm,
						    .fd = file_of,
						    .hang_up = hang_up,
						    .is_pinned = is_pinned,
						    .close = close_connection,
						    .free = free_connection };
