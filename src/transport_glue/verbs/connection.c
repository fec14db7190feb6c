/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A channel's connection over verbs. A fragment is sent from the slab in which it was packed into a fragment of the
 * peer's, from which the peer unpacks; then a RETURN comes back, and the peer has posted the receive again. Both ends
 * have the same number of fragments, so a fragment that is not out is the right to send: there are no other credits.
 *
 * Two queue pairs: see lane.h. The socket carries addresses, says when the queue pairs of both sides are connected, and
 * shows when the other process is gone, which an adapter finds out much later.
 *
 * The other process may be malicious. Its adapter can place messages only where receives were posted; a message is
 * checked for its length and read when only this process can still change it.
 */
#include "config.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "base/context.h"
#include "base/log.h"
#include "completion.h"
#include "lane.h"
#include "transport_glue/fragment.h"
#include "transport_glue/greeting.h"
#include "transport_glue/sock.h"

/*
 * Under way at most without a fragment: of each slot a MESSAGE and an END, an answer to each of the peer's, and a
 * RETURN of each of the peer's fragments. The rest is for completions that come late.
 */
#define CONTROL_DEPTH (3 * DTC_WIRE_SLOTS + 16)

#define FRAGMENT_BYTES_MAX ((size_t)1 << 30)

/* Completions that are read at a time. */
#define BATCH 16

/* In so many polls without an arrival the socket is read once: a system call. */
#define QUIET_POLLS 64

/* How long closing waits for the peer's adapter to have the last headers. */
#define LINGER_NS 1000000000

enum state {
	GREETING, /* queue pairs are not connected, or the peer's are not */
	READY,
	GONE,    /* no more will come; what has come is taken first */
	CLOSING, /* this side has hung up; the peer's adapter lacks the last headers */
	ENDED
};

/* A fragment that this process sends. */
struct departure {
	struct dtconv_fragment *fragment; /* NULL: not out */
	bool is_sent;                     /* the adapter no longer reads it */
	bool is_returned;
	int status; /* with which it was returned */
};

/* A fragment that a receive was posted for, or whose bytes the channel uses. */
struct receive {
	struct connection *connection;
	struct dtconv_fragment *fragment;
	char *address;
	bool is_here;       /* between arrival and release */
	uint32_t departure; /* the peer's name for the fragment that it has sent */
};

struct connection {
	struct dtconv_context *context;
	struct dtconv_verbs *verbs;
	const struct dtc_transport_user *user;
	struct dtconv_registrar registrar;
	enum state state;
	int socket,
		watch; /* watch: an epoll descriptor of the socket and the completion channel */
	/* What is out, and what has come. */
	size_t fragments, fragment_bytes;
	struct ibv_mr *slab;          /* that holds all fragments */
	struct departure *departures; /* by number of the fragment in the pool */
	struct receive *receives;
	size_t here;
	bool is_pinned;
	/* The queue pairs. */
	struct ibv_comp_channel *bell;
	struct ibv_cq *queue;
	struct ibv_mr *block_region;
	unsigned char *blocks;
	struct dtc_verbs_lane lanes[DTC_VERBS_LANES];
	uint64_t posted, taken; /* messages of both lanes */
	uint32_t control_posted, control_sent;
	/* The peer. */
	struct dtc_greeting greeting;
	bool is_connected, is_peer_connected;
	/* Polling. */
	bool is_armed, was_asleep;
	unsigned quiet;
	/* The end. */
	int status, farewell;
	char why[256];
};

/* ---- ending ---------------------------------------------------------------------------- */

static void send_packet(const struct connection *c, enum dtc_wire_packet_kind kind,
			int status)
{
	const struct dtc_wire_packet packet = { .kind = kind,
						.version = DTC_WIRE_VERSION,
						.status = status };
	unsigned char bytes[DTC_WIRE_PACKET_BYTES];

	dtc_wire_write_packet(&packet, bytes);
	(void)dtc_sock_send(c->socket, bytes, NULL);
}

static void report_sent(struct departure *departure, int status)
{
	struct dtconv_fragment *fragment = departure->fragment;

	*departure = (struct departure){ 0 };
	dtconv_fragment_sent(fragment, status);
}

/* The adapter no longer reads them, and the peer no longer returns them. */
static void flush(struct connection *c)
{
	dtc_verbs_close_lane(&c->lanes[DTC_VERBS_DATA]);
	for (size_t i = 0; i < 2 * c->fragments; i++)
		if (c->departures[i].fragment)
			report_sent(&c->departures[i], DTCONV_ERR_PEER);
}

static void finish(struct connection *c)
{
	dtc_verbs_close_lane(&c->lanes[DTC_VERBS_CONTROL]);
	send_packet(c, DTC_WIRE_BYE, c->farewell);
	/* Descriptors that stay readable would keep everyone from sleeping. */
	(void)epoll_ctl(c->watch, EPOLL_CTL_DEL, c->socket, NULL);
	(void)epoll_ctl(c->watch, EPOLL_CTL_DEL, c->bell->fd, NULL);
	c->state = ENDED;
}

static bool are_headers_sent(const struct connection *c)
{
	return c->control_sent == c->control_posted;
}

static size_t reap(struct connection *c);

/*
 * Answers and returns that were posted make messages complete at the other end, as they are here. So the queue pair
 * that carries them lives until the peer's adapter has them all.
 */
static void hang_up(void *connection, int status)
{
	struct connection *c = connection;

	if (c->state == CLOSING || c->state == ENDED)
		return;
	const bool was_ready = c->state == READY;
	c->farewell = status;
	c->state = CLOSING;
	flush(c);
	if (was_ready)
		(void)reap(c);
	if (!was_ready || status != DTCONV_ERR_CANCELED || are_headers_sent(c))
		finish(c);
}

/* The reason is the error text. */
static void end(struct connection *c, int status)
{
	hang_up(c, status);
	c->user->lost(c->user->user, status);
}

static void break_protocol(struct connection *c, const char *what)
{
	if (c->state < CLOSING)
		end(c, DTC_FAIL(c->context, DTCONV_ERR_FORMAT,
				"channel: the peer breaks the protocol: %s", what));
}

/* What has arrived is taken before the end. The first reason counts. */
static void depart(struct connection *c, int status)
{
	if (c->state > READY)
		return;
	c->state = GONE;
	c->status = status;
}

/* ---- completions ----------------------------------------------------------------------- */

static void settle(struct connection *c, struct departure *departure)
{
	if (!departure->is_sent || !departure->is_returned)
		return;
	if (departure->status)
		(void)DTC_FAIL(c->context, departure->status,
			       "channel: the receiver could not unpack a fragment: %s",
			       dtconv_strerror(departure->status));
	report_sent(departure, departure->status);
}

static void take_failure(struct connection *c, const struct ibv_wc *completion)
{
	const struct dtc_verbs_failure failure = dtc_verbs_failure(completion->status);
	const bool is_data = completion->wr_id & DTC_VERBS_ON_DATA;
	const bool is_send = completion->wr_id & DTC_VERBS_SEND;

	if (c->state == CLOSING)
		c->control_sent = c->control_posted;
	if (c->state > READY)
		return;
	snprintf(c->why, sizeof(c->why),
		 "a %s of the %s queue pair failed: %s (IBV_WC_%s, vendor error 0x%x)",
		 is_send ? "send" : "receive", is_data ? "data" : "control",
		 failure.sentence, failure.name, completion->vendor_err);
	depart(c, failure.status);
}

static void take_arrival(struct dtc_verbs_lane *lane, const struct ibv_wc *completion)
{
	assert(lane->count < lane->depth);
	lane->arrivals[(lane->first + lane->count++) % lane->depth] =
		(struct dtc_verbs_arrival){ .index = (uint32_t)completion->wr_id &
						     (DTC_VERBS_SEND - 1),
					    .bytes = completion->byte_len };
}

static void take_completion(struct connection *c, const struct ibv_wc *completion)
{
	const uint32_t index = (uint32_t)completion->wr_id & (DTC_VERBS_SEND - 1);
	struct dtc_verbs_lane *lane =
		&c->lanes[completion->wr_id & DTC_VERBS_ON_DATA ? DTC_VERBS_DATA
								: DTC_VERBS_CONTROL];

	/* Left over from a queue pair that was destroyed. */
	if (!lane->pair)
		return;
	if (completion->status) {
		take_failure(c, completion);
	} else if (!(completion->wr_id & DTC_VERBS_SEND)) {
		take_arrival(lane, completion);
	} else if (lane->name == DTC_VERBS_CONTROL) {
		c->control_sent++;
	} else {
		c->departures[index].is_sent = true;
		settle(c, &c->departures[index]);
	}
}

/* Read completions; calls no upcall. How many there were. */
static size_t reap(struct connection *c)
{
	struct ibv_wc completions[BATCH];
	int count = ibv_poll_cq(c->queue, BATCH, completions);

	if (count < 0 && c->state < GONE) {
		snprintf(c->why, sizeof(c->why), "its completion queue cannot be read");
		depart(c, DTCONV_ERR_BACKEND);
	}
	for (int i = 0; i < count; i++)
		take_completion(c, &completions[i]);
	return count > 0 ? (size_t)count : 0;
}

/* ---- posting --------------------------------------------------------------------------- */

static void write_block(struct connection *c, const struct dtc_wire_header *header,
			unsigned char *block)
{
	const uint64_t number = htole64(c->posted);

	dtc_wire_write_header(header, block);
	memcpy(block + DTC_WIRE_HEADER_BYTES, &number, sizeof(number));
}

/* The adapter's driver takes no request: that is the end, which the next poll tells. */
static int refuse_post(struct connection *c, int error)
{
	snprintf(c->why, sizeof(c->why), "%s takes no more requests: %s",
		 c->verbs->params.device, strerror(error));
	depart(c, DTCONV_ERR_BACKEND);
	return DTCONV_ERR_PEER;
}

static int post_data(struct connection *c, const struct dtc_wire_header *header,
		     struct dtconv_fragment *fragment)
{
	const struct dtc_verbs_lane *lane = &c->lanes[DTC_VERBS_DATA];
	struct departure *departure = &c->departures[fragment->index];
	struct dtc_wire_header posted = *header;

	assert(!departure->fragment);
	posted.fragment = fragment->index;
	write_block(c, &posted, dtc_verbs_send_block(lane, fragment->index));
	*departure = (struct departure){ .fragment = fragment };
	int error = dtc_verbs_post_send(
		lane, fragment->index,
		(struct ibv_sge){ .addr = (uintptr_t)fragment->address,
				  .length = (uint32_t)header->length,
				  .lkey = c->slab->lkey });
	if (error) {
		departure->fragment = NULL;
		return refuse_post(c, error);
	}
	c->posted++;
	return 0;
}

static int post_header(struct connection *c, const struct dtc_wire_header *header)
{
	const struct dtc_verbs_lane *lane = &c->lanes[DTC_VERBS_CONTROL];
	const uint32_t index = c->control_posted % lane->depth;

	/* Completions of what the peer has long taken may be unread. */
	while (c->control_posted - c->control_sent == lane->depth)
		if (!reap(c))
			return refuse_post(c, ENOBUFS);
	if (c->state != READY)
		return DTCONV_ERR_PEER;
	write_block(c, header, dtc_verbs_send_block(lane, index));
	int error = dtc_verbs_post_send(lane, index, (struct ibv_sge){ 0 });
	if (error)
		return refuse_post(c, error);
	c->control_posted++;
	c->posted++;
	return 0;
}

static int post(void *connection, const struct dtc_wire_header *header,
		struct dtconv_fragment *fragment)
{
	struct connection *c = connection;

	if (c->state != READY)
		return DTCONV_ERR_PEER;
	return fragment ? post_data(c, header, fragment) : post_header(c, header);
}

static int post_receive(struct connection *c, uint32_t index)
{
	const struct receive *receive = &c->receives[index];

	return dtc_verbs_post_receive(
		&c->lanes[DTC_VERBS_DATA], index,
		(struct ibv_sge){ .addr = (uintptr_t)receive->address,
				  .length = (uint32_t)c->fragment_bytes,
				  .lkey = c->slab->lkey });
}

/* ---- arrivals -------------------------------------------------------------------------- */

/* A dtconv_release_fn. The receive is posted before the peer learns that it may send. */
static void return_fragment(void *arg, int status)
{
	struct receive *receive = arg;
	struct connection *c = receive->connection;
	const struct dtc_wire_header header = { .kind = DTC_WIRE_RETURN,
						.status = status,
						.fragment = receive->departure };

	receive->is_here = false;
	c->here--;
	if (c->state != READY)
		return;
	int error = post_receive(c, (uint32_t)(receive - c->receives));
	if (error)
		(void)refuse_post(c, error);
	else
		(void)post(c, &header, NULL);
}

static void take_data(struct connection *c, const struct dtc_wire_header *header,
		      uint32_t index)
{
	struct receive *receive = &c->receives[index];

	receive->is_here = true;
	receive->departure = header->fragment;
	c->here++;
	if (c->user->arrive(c->user->user, header, receive->address, return_fragment,
			    receive))
		return;
	receive->is_here = false;
	c->here--;
	break_protocol(c, "a fragment belongs to no message");
}

static void take_return(struct connection *c, const struct dtc_wire_header *header)
{
	struct departure *departure = header->fragment < 2 * c->fragments
					      ? &c->departures[header->fragment]
					      : NULL;

	if (!departure || !departure->fragment || departure->is_returned) {
		break_protocol(c, "it returns a fragment that it does not have");
		return;
	}
	departure->is_returned = true;
	departure->status = header->status;
	settle(c, departure);
}

static void take_header(struct connection *c, const struct dtc_wire_header *header,
			uint32_t index)
{
	int error = 0;

	if (c->state == READY)
		error = dtc_verbs_post_receive(&c->lanes[DTC_VERBS_CONTROL], index,
					       (struct ibv_sge){ 0 });
	if (error)
		(void)refuse_post(c, error);
	if (header->kind == DTC_WIRE_RETURN)
		take_return(c, header);
	else if (!c->user->arrive(c->user->user, header, NULL, NULL, NULL))
		break_protocol(c, "a header does not fit the state of its message");
}

/* Whether the oldest message of a lane is the next one of both lanes. */
static bool is_next(const struct connection *c, const struct dtc_verbs_lane *lane)
{
	uint64_t number;

	if (!lane->count)
		return false;
	const unsigned char *block =
		dtc_verbs_receive_block(lane, lane->arrivals[lane->first].index);
	memcpy(&number, block + DTC_WIRE_HEADER_BYTES, sizeof(number));
	return lane->arrivals[lane->first].bytes < DTC_VERBS_BLOCK_BYTES ||
	       le64toh(number) == c->taken;
}

static void take_message(struct connection *c, struct dtc_verbs_lane *lane)
{
	const struct dtc_verbs_arrival arrival = lane->arrivals[lane->first];
	const unsigned char *block = dtc_verbs_receive_block(lane, arrival.index);
	const bool is_data = lane->name == DTC_VERBS_DATA;
	struct dtc_wire_header header;

	lane->first = (lane->first + 1) % lane->depth;
	lane->count--;
	c->taken++;
	if (arrival.bytes < DTC_VERBS_BLOCK_BYTES ||
	    dtc_wire_read_header(block, DTC_WIRE_HEADER_BYTES, &header))
		break_protocol(c, "a header has no meaning");
	else if (is_data != (header.kind == DTC_WIRE_DATA) ||
		 arrival.bytes - DTC_VERBS_BLOCK_BYTES != (is_data ? header.length : 0))
		break_protocol(c, "a message does not have the length of its header");
	else if (is_data)
		take_data(c, &header, arrival.index);
	else
		take_header(c, &header, arrival.index);
}

static bool is_one_next(const struct connection *c)
{
	return is_next(c, &c->lanes[DTC_VERBS_CONTROL]) ||
	       is_next(c, &c->lanes[DTC_VERBS_DATA]);
}

/* Take one message. False if there is none. */
static bool take_next(struct connection *c)
{
	struct dtc_verbs_lane *lanes = c->lanes;

	for (size_t i = 0; i < DTC_VERBS_LANES; i++)
		if (is_next(c, &lanes[i])) {
			take_message(c, &lanes[i]);
			return true;
		}
	if (c->state == READY && lanes[0].count && lanes[1].count)
		break_protocol(c, "its messages are not numbered in order");
	return false;
}

/* ---- the socket ------------------------------------------------------------------------ */

static void become_ready(struct connection *c)
{
	if (c->state != GREETING || !c->is_connected || !c->is_peer_connected)
		return;
	c->state = READY;
	c->user->ready(c->user->user);
}

static int check_peer(const struct connection *c, const struct dtc_verbs_address *peer)
{
	const struct dtc_wire_packet *hello = &c->greeting.hello;

	if (peer->is_infiniband != dtc_verbs_is_infiniband(c->verbs))
		return DTC_FAIL(c->context, DTCONV_ERR_UNSUPPORTED,
				"channel: one end has an InfiniBand port, the other an "
				"Ethernet port");
	if (hello->fragments == c->fragments &&
	    hello->fragment_bytes == c->fragment_bytes)
		return 0;
	return DTC_FAIL(
		c->context, DTCONV_ERR_UNSUPPORTED,
		"channel: the peer has %u fragments of %zu bytes, this end %zu of "
		"%zu; over verbs both ends must have the same",
		hello->fragments, (size_t)hello->fragment_bytes, c->fragments,
		c->fragment_bytes);
}

static int read_peer(const struct connection *c, struct dtc_verbs_address *peer)
{
	const struct dtc_greeting *greeting = &c->greeting;

	if (greeting->hello.transport != DTC_WIRE_VERBS)
		return DTC_FAIL(c->context, DTCONV_ERR_UNSUPPORTED,
				"channel: the peer uses another transport than verbs");
	if (!dtc_verbs_read_address(greeting->address, greeting->bytes, peer))
		return DTC_FAIL(
			c->context, DTCONV_ERR_FORMAT,
			"channel: the peer breaks the protocol: its address has no "
			"meaning");
	return check_peer(c, peer);
}

static int connect_lanes(struct connection *c)
{
	struct dtc_verbs_address peer;
	int status = read_peer(c, &peer);

	for (size_t i = 0; !status && i < DTC_VERBS_LANES; i++)
		status = dtc_verbs_connect_lane(c->verbs, &peer, &c->lanes[i]);
	return status;
}

/* The peer sends only when it knows that the queue pairs of this side are connected. */
static void take_greeting(struct connection *c, const struct dtc_wire_packet *packet)
{
	int status = dtc_greeting_take(&c->greeting, packet);

	if (status == DTCONV_INPROGRESS)
		return;
	if (status) {
		break_protocol(c, "its first packets come twice or in the wrong order");
		return;
	}
	status = connect_lanes(c);
	if (status) {
		end(c, status);
		return;
	}
	c->is_connected = true;
	send_packet(c, DTC_WIRE_BELL, 0);
	become_ready(c);
}

static void take_packet(struct connection *c, const unsigned char *bytes)
{
	struct dtc_wire_packet packet;
	int status = dtc_wire_read_packet(bytes, DTC_WIRE_PACKET_BYTES, &packet);

	if (status == DTCONV_ERR_UNSUPPORTED) {
		end(c,
		    DTC_FAIL(c->context, status,
			     "channel: the peer speaks version %u, this library version "
			     "%d",
			     packet.version, DTC_WIRE_VERSION));
	} else if (status) {
		break_protocol(c, "a packet has no meaning");
	} else if (packet.kind == DTC_WIRE_BYE) {
		depart(c, packet.status);
	} else if (packet.kind != DTC_WIRE_BELL) {
		take_greeting(c, &packet);
	} else {
		c->is_peer_connected = true;
		become_ready(c);
	}
}

static void read_socket(struct connection *c)
{
	unsigned char bytes[DTC_WIRE_PACKET_BYTES];
	struct dtc_sock_files files;

	for (int i = 0; i < DTC_SOCK_BATCH && (c->state == GREETING || c->state == READY);
	     i++) {
		switch (dtc_sock_receive(c->socket, bytes, &files)) {
		case DTC_SOCK_NOTHING:
			return;
		case DTC_SOCK_PACKET:
			dtc_sock_close_files(&files);
			take_packet(c, bytes);
			break;
		case DTC_SOCK_BAD:
		case DTC_SOCK_NO_FILES:
			break_protocol(c, "a packet has the wrong length or descriptors");
			break;
		case DTC_SOCK_END:
			depart(c, DTCONV_ERR_PEER);
			break;
		}
	}
}

/* ---- polling and sleeping -------------------------------------------------------------- */

/* If the peer has said why, or has ended, then its adapter's silence is the consequence. */
static void read_last_packet(struct connection *c)
{
	unsigned char bytes[DTC_WIRE_PACKET_BYTES];
	struct dtc_sock_files files;
	struct dtc_wire_packet packet = { .status = DTCONV_ERR_PEER };
	const enum dtc_sock_news news = dtc_sock_receive(c->socket, bytes, &files);

	dtc_sock_close_files(&files);
	if (news == DTC_SOCK_PACKET &&
	    (dtc_wire_read_packet(bytes, sizeof(bytes), &packet) ||
	     packet.kind != DTC_WIRE_BYE || packet.status == DTCONV_ERR_PEER))
		return;
	if (news != DTC_SOCK_PACKET && news != DTC_SOCK_END)
		return;
	c->status = packet.status;
	c->why[0] = 0;
}

/* The reason of an end that no sentence has told yet. */
static void end_gone(struct connection *c)
{
	if (c->why[0] && c->status == DTCONV_ERR_PEER)
		read_last_packet(c);
	const bool is_own = c->why[0];
	const char *what = is_own ? c->why
			   : c->status == DTCONV_ERR_FORMAT
				   ? "one side broke the protocol"
			   : c->status == DTCONV_ERR_CANCELED ? "it closed the channel"
			   : c->status == DTCONV_ERR_PEER
				   ? "its process has ended or lost the connection"
				   : dtconv_strerror(c->status);
	int status = is_own || c->status == DTCONV_ERR_FORMAT ||
				     c->status == DTCONV_ERR_UNSUPPORTED
			     ? c->status
			     : DTCONV_ERR_PEER;

	end(c, DTC_FAIL(c->context, status,
			"channel: the connection to the peer has ended: %s", what));
}

/* An unread event keeps the descriptor readable. */
static void take_event(struct connection *c)
{
	struct ibv_cq *queue;
	void *nothing;

	if (!c->is_armed || ibv_get_cq_event(c->bell, &queue, &nothing))
		return;
	ibv_ack_cq_events(queue, 1);
	c->is_armed = false;
}

/* What costs a system call. */
static void look_around(struct connection *c)
{
	if (!c->was_asleep && c->state != GREETING && ++c->quiet < QUIET_POLLS)
		return;
	c->was_asleep = false;
	c->quiet = 0;
	take_event(c);
	read_socket(c);
}

static size_t linger(struct connection *c)
{
	size_t happened = reap(c);
	unsigned char bytes[DTC_WIRE_PACKET_BYTES];
	struct dtc_sock_files files;

	take_event(c);
	const enum dtc_sock_news news = dtc_sock_receive(c->socket, bytes, &files);
	dtc_sock_close_files(&files);
	/* A peer that has hung up as well takes nothing any more. */
	if (are_headers_sent(c) || news != DTC_SOCK_NOTHING)
		finish(c);
	return happened;
}

static size_t poll(void *connection, size_t budget)
{
	struct connection *c = connection;
	size_t happened = 0;

	if (c->state == ENDED)
		return 0;
	if (c->state == CLOSING)
		return linger(c);
	look_around(c);
	size_t reaped = c->state == GREETING || c->state > GONE ? 0 : reap(c);
	while ((c->state == READY || c->state == GONE) && happened < budget &&
	       take_next(c))
		happened++;
	if (happened)
		c->quiet = 0;
	if (c->state == GONE && !reaped && happened < budget) {
		end_gone(c);
		happened++;
	}
	return happened + reaped;
}

static int arm(void *connection)
{
	struct connection *c = connection;

	if (c->state == GREETING || c->state == ENDED)
		return 0;
	if (c->state == GONE || (c->state == READY && is_one_next(c)))
		return DTCONV_ERR_AGAIN;
	c->was_asleep = true;
	if (!c->is_armed && ibv_req_notify_cq(c->queue, 0)) {
		snprintf(c->why, sizeof(c->why),
			 "its completion queue notifies of nothing");
		depart(c, DTCONV_ERR_BACKEND);
		return DTCONV_ERR_AGAIN;
	}
	c->is_armed = true;
	return reap(c) ? DTCONV_ERR_AGAIN : 0;
}

static int file_of(const void *connection)
{
	return ((const struct connection *)connection)->watch;
}

static bool is_pinned(const void *connection)
{
	return ((const struct connection *)connection)->is_pinned;
}

/* ---- the slab -------------------------------------------------------------------------- */

/* Where the adapter or the kernel takes no DMA-BUFs, the device driver's peer module may have made addresses known. */
static struct ibv_mr *register_device(const struct connection *c,
				      const struct dtconv_slab *slab)
{
	struct ibv_mr *region = NULL;
	int fd;

	if (!dtconv_slab_dma_buf(c->context, slab, &fd)) {
		region = ibv_reg_dmabuf_mr(c->verbs->domain, 0, slab->bytes,
					   (uintptr_t)slab->base, fd,
					   IBV_ACCESS_LOCAL_WRITE);
		close(fd);
	}
	return region ? region
		      : ibv_reg_mr(c->verbs->domain, slab->base, slab->bytes,
				   IBV_ACCESS_LOCAL_WRITE);
}

static int fail_device(const struct connection *c, const struct dtconv_slab *slab)
{
	return DTC_FAIL(
		c->context, DTCONV_ERR_UNSUPPORTED,
		"channel: %s cannot register %zu bytes of device %d, neither as a "
		"DMA-BUF nor through a peer module of the device driver: %s; "
		"staging memory of kind PINNED needs neither",
		c->verbs->params.device, slab->bytes, slab->device, strerror(errno));
}

static int fail_host(const struct connection *c, const struct dtconv_slab *slab)
{
	return DTC_FAIL(c->context, dtc_verbs_status(errno),
			"channel: %s cannot register %zu bytes: %s; the limit of "
			"locked memory (ulimit -l) may be too low",
			c->verbs->params.device, slab->bytes, strerror(errno));
}

static int reg(void *arg, const struct dtconv_slab *slab, void **handle)
{
	struct connection *c = arg;
	const bool is_device = slab->kind == DTCONV_MEMORY_DEVICE;

	errno = 0;
	c->slab = is_device ? register_device(c, slab)
			    : ibv_reg_mr(c->verbs->domain, slab->base, slab->bytes,
					 IBV_ACCESS_LOCAL_WRITE);
	if (!c->slab)
		return is_device ? fail_device(c, slab) : fail_host(c, slab);
	*handle = c->slab;
	return 0;
}

static void dereg(void *arg, const struct dtconv_slab *slab, void *handle)
{
	struct connection *c = arg;

	(void)slab;
	ibv_dereg_mr(handle);
	c->slab = NULL;
}

static const struct dtconv_registrar *registrars(void *connection, size_t *count)
{
	struct connection *c = connection;

	*count = 1;
	return &c->registrar;
}

/* ---- opening --------------------------------------------------------------------------- */

static int open_connection(const struct dtc_transport_params *params, void **connection)
{
	struct dtconv_verbs *verbs = (struct dtconv_verbs *)(uintptr_t)params->transport;

	if (verbs->context != params->context)
		return DTC_FAIL(params->context, DTCONV_ERR_INVAL,
				"%s: the engine and params.transport belong to different "
				"contexts",
				params->caller);
	if (params->fragment_bytes > FRAGMENT_BYTES_MAX)
		return DTC_FAIL(
			params->context, DTCONV_ERR_LIMIT,
			"%s: params.fragment_bytes is %zu; a message of verbs has at "
			"most %zu",
			params->caller, params->fragment_bytes, FRAGMENT_BYTES_MAX);
	struct connection *c = dtc_alloc_zeroed(params->context, sizeof(*c));
	if (!c)
		return DTC_FAIL(params->context, DTCONV_ERR_NOMEM,
				"%s: cannot allocate a connection", params->caller);
	c->context = params->context;
	c->verbs = verbs;
	c->user = params->user;
	c->socket = params->socket;
	c->watch = -1;
	c->fragments = params->fragments;
	c->fragment_bytes = params->fragment_bytes;
	c->registrar = (struct dtconv_registrar){
		.name = "verbs", .reg = reg, .dereg = dereg, .arg = c
	};
	atomic_fetch_add(&verbs->channels, 1);
	*connection = c;
	return 0;
}

static int fail_alloc(const struct connection *c, const char *caller)
{
	return DTC_FAIL(c->context, DTCONV_ERR_NOMEM,
			"%s: cannot allocate the lists of a connection", caller);
}

static int fail_driver(const struct connection *c, const char *caller, const char *what)
{
	return DTC_FAIL(c->context, dtc_verbs_status(errno), "%s: %s cannot %s: %s",
			caller, c->verbs->params.device, what, strerror(errno));
}

/* The control lane's queues, and the data lane's: blocks of sends have the numbers of fragments in the pool. */
static int open_lists(struct connection *c, const char *caller)
{
	const uint32_t depths[] = { [DTC_VERBS_CONTROL] =
					    CONTROL_DEPTH + (uint32_t)c->fragments,
				    [DTC_VERBS_DATA] = 2 * (uint32_t)c->fragments };
	size_t bytes = 0;

	c->departures =
		dtc_alloc_zeroed(c->context, 2 * c->fragments * sizeof(c->departures[0]));
	c->receives = dtc_alloc_zeroed(c->context, c->fragments * sizeof(c->receives[0]));
	if (!c->departures || !c->receives)
		return fail_alloc(c, caller);
	for (size_t i = 0; i < DTC_VERBS_LANES; i++) {
		struct dtc_verbs_lane *lane = &c->lanes[i];

		lane->name = (enum dtc_verbs_lane_name)i;
		lane->depth = depths[i];
		lane->arrivals = dtc_alloc_zeroed(c->context,
						  depths[i] * sizeof(lane->arrivals[0]));
		if (!lane->arrivals)
			return fail_alloc(c, caller);
		bytes += dtc_verbs_block_bytes(depths[i]);
	}
	c->blocks = dtc_alloc_zeroed(c->context, bytes);
	if (!c->blocks)
		return fail_alloc(c, caller);
	errno = 0;
	c->block_region =
		ibv_reg_mr(c->verbs->domain, c->blocks, bytes, IBV_ACCESS_LOCAL_WRITE);
	if (!c->block_region)
		return fail_driver(c, caller, "register the headers of a channel");
	bytes = 0;
	for (size_t i = 0; i < DTC_VERBS_LANES; i++) {
		c->lanes[i].blocks = c->blocks + bytes;
		c->lanes[i].key = c->block_region->lkey;
		bytes += dtc_verbs_block_bytes(depths[i]);
	}
	return 0;
}

/* Reading an event must not block. */
static int open_queue(struct connection *c, const char *caller)
{
	const uint32_t entries = 2 * (c->lanes[0].depth + c->lanes[1].depth);

	errno = 0;
	c->bell = ibv_create_comp_channel(c->verbs->device);
	if (!c->bell)
		return fail_driver(c, caller, "create a completion channel");
	const int flags = fcntl(c->bell->fd, F_GETFL);
	if (flags < 0 || fcntl(c->bell->fd, F_SETFL, flags | O_NONBLOCK) ||
	    fcntl(c->bell->fd, F_SETFD, FD_CLOEXEC))
		return fail_driver(c, caller, "set up a completion channel");
	c->queue = ibv_create_cq(c->verbs->device, (int)entries, NULL, c->bell, 0);
	if (!c->queue)
		return fail_driver(c, caller, "create a completion queue");
	return 0;
}

static int open_watch(struct connection *c, const char *caller)
{
	struct epoll_event event = { .events = EPOLLIN };

	c->watch = epoll_create1(EPOLL_CLOEXEC);
	if (c->watch >= 0 && !epoll_ctl(c->watch, EPOLL_CTL_ADD, c->socket, &event) &&
	    !epoll_ctl(c->watch, EPOLL_CTL_ADD, c->bell->fd, &event))
		return 0;
	return DTC_FAIL(c->context, DTCONV_ERR_AGAIN,
			"%s: cannot watch the socket of a channel: %s", caller,
			strerror(errno));
}

/* Half of the pool is for what arrives. */
static int take_fragments(struct connection *c, struct dtconv_pool *pool,
			  const char *caller)
{
	struct dtconv_pool_attr attr = { .struct_size = sizeof(attr) };
	int status = dtconv_pool_query(pool, &attr);

	c->is_pinned = !status &&
		       (attr.pinned_slabs || attr.kind == DTCONV_MEMORY_DEVICE);
	for (size_t i = 0; !status && i < c->fragments; i++) {
		struct receive *receive = &c->receives[i];

		receive->connection = c;
		status = dtconv_pool_get(pool, &receive->fragment);
		if (status)
			return DTC_FAIL(c->context, status,
					"%s: the pool of a channel has no fragments for "
					"what arrives",
					caller);
		receive->address = receive->fragment->address;
	}
	return status;
}

static int post_receives(struct connection *c, const char *caller)
{
	int error = 0;

	for (uint32_t i = 0; !error && i < c->fragments; i++)
		error = post_receive(c, i);
	for (uint32_t i = 0; !error && i < c->lanes[DTC_VERBS_CONTROL].depth; i++)
		error = dtc_verbs_post_receive(&c->lanes[DTC_VERBS_CONTROL], i,
					       (struct ibv_sge){ 0 });
	if (error)
		return DTC_FAIL(c->context, dtc_verbs_status(error),
				"%s: %s takes no receives: %s", caller,
				c->verbs->params.device, strerror(error));
	return 0;
}

static void greet(struct connection *c, const char *caller)
{
	const struct dtc_wire_packet hello = { .transport = DTC_WIRE_VERBS,
					       .fragments = (uint32_t)c->fragments,
					       .fragment_bytes = c->fragment_bytes };
	struct dtc_verbs_address address = { .is_infiniband =
						     dtc_verbs_is_infiniband(c->verbs),
					     .mtu = c->verbs->port.active_mtu,
					     .lid = c->verbs->port.lid };
	unsigned char bytes[DTC_VERBS_ADDRESS_BYTES];

	memcpy(address.gid, c->verbs->gid.raw, sizeof(address.gid));
	for (size_t i = 0; i < DTC_VERBS_LANES; i++) {
		address.pairs[i].number = c->lanes[i].pair->qp_num;
		address.pairs[i].first_packet = c->lanes[i].first_packet;
	}
	dtc_verbs_write_address(&address, bytes);
	/* A peer that is gone already is found by the first poll. */
	if (!dtc_greeting_send(c->socket, &hello, bytes, sizeof(bytes)))
		DTC_LOG(c->context, DTCONV_LOG_DEBUG,
			"%s: the peer has left before it was greeted", caller);
}

/* Receives are posted before the peer learns where to send. */
static int start(void *connection, struct dtconv_pool *pool, const char *caller)
{
	struct connection *c = connection;
	int status = open_lists(c, caller);

	if (!status)
		status = open_queue(c, caller);
	if (!status)
		status = open_watch(c, caller);
	for (size_t i = 0; !status && i < DTC_VERBS_LANES; i++)
		status = dtc_verbs_open_lane(c->verbs, c->queue, caller, &c->lanes[i]);
	if (!status)
		status = take_fragments(c, pool, caller);
	if (!status)
		status = post_receives(c, caller);
	if (!status)
		greet(c, caller);
	return status;
}

/* ---- closing --------------------------------------------------------------------------- */

static uint64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* The peer's adapter acknowledges without the peer's help. */
static void wait_for_headers(struct connection *c)
{
	const uint64_t until = now() + LINGER_NS;

	while (c->state == CLOSING && now() < until)
		if (!linger(c))
			sched_yield();
	if (c->state == CLOSING)
		finish(c);
}

static void close_connection(void *connection)
{
	struct connection *c = connection;

	assert(!c->here);
	wait_for_headers(c);
	for (size_t i = 0; i < DTC_VERBS_LANES; i++) {
		dtc_verbs_close_lane(&c->lanes[i]);
		dtc_free(c->context, c->lanes[i].arrivals);
	}
	for (size_t i = 0; c->receives && i < c->fragments; i++)
		if (c->receives[i].fragment)
			dtconv_fragment_put(c->receives[i].fragment);
	if (c->queue)
		ibv_destroy_cq(c->queue);
	if (c->block_region)
		ibv_dereg_mr(c->block_region);
	if (c->watch >= 0)
		close(c->watch);
	if (c->bell)
		ibv_destroy_comp_channel(c->bell);
	close(c->socket);
	dtc_free(c->context, c->blocks);
	dtc_free(c->context, c->receives);
	dtc_free(c->context, c->departures);
}

static void free_connection(void *connection)
{
	struct connection *c = connection;

	atomic_fetch_sub(&c->verbs->channels, 1);
	dtc_free(c->context, c);
}

const struct dtconv_transport dtc_verbs_transport = { .abi = DTC_TRANSPORT_ABI,
						      .flags = DTC_TRANSPORT_RECEIVES |
							       DTC_TRANSPORT_DEVICES |
							       DTC_TRANSPORT_DMA_BUFS,
						      .name = "verbs",
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
