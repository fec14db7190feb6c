/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies through a Unix socket of packets: a packet is a header, and the fragment's bytes behind it. Over TCP the same
 * is a stream. The peer has as many receive fragments as this process has to send from, so that what arrives always
 * finds one.
 */
#include "config.h"

#include "socket_transport.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/context.h"
#include "base/log.h"
#include "transport_glue/fragment.h"
#include "transport_glue/greeting.h"
#include "transport_glue/sock.h"
#include "transport_glue/transport.h"

/* Headers that wait for room in the socket: more than can be under way. */
#define QUEUE 4096

/* The address that is told to the peer, in more than one packet. */
#define ADDRESS_BYTES 100
#define ADDRESS_BYTE  0x5c

struct transport {
	struct dtconv_transport row;
	enum socket_fault fault;
};

enum state { GREETING, READY, ENDED };

/* A receive fragment. */
struct place {
	struct connection *connection;
	struct dtconv_fragment *fragment;
	uint32_t number; /* of the peer's fragment whose bytes it holds */
	bool is_used;
};

struct connection {
	struct dtconv_context *context;
	const struct dtc_transport_user *user;
	const struct transport *transport;
	struct dtconv_registrar registrar;
	enum state state;
	bool is_broken; /* found by post; poll reports it */
	bool is_stream;
	int socket, watch;
	size_t fragments, fragment_bytes;
	struct dtconv_fragment *out[DTC_WIRE_FRAGMENTS_MAX];
	struct place places[DTC_WIRE_FRAGMENTS_MAX];
	size_t place_count;
	struct dtc_greeting greeting;
	unsigned char queue[QUEUE][DTC_WIRE_HEADER_BYTES];
	size_t queued, unqueued;
};

static size_t live;

/* ---- sending --------------------------------------------------------------------------------- */

/* What a stream did not take at once. The peer reads, so this does not wait for long. */
static int send_rest(struct connection *connection, const char *bytes, size_t length)
{
	struct pollfd file = { .fd = connection->socket, .events = POLLOUT };

	while (length) {
		const ssize_t sent = send(connection->socket, bytes, length,
					  MSG_DONTWAIT | MSG_NOSIGNAL);

		if (sent < 0 && errno != EAGAIN && errno != EWOULDBLOCK)
			return DTCONV_ERR_PEER;
		if (sent < 0)
			(void)poll(&file, 1, -1);
		bytes += sent < 0 ? 0 : sent;
		length -= sent < 0 ? 0 : (size_t)sent;
	}
	return 0;
}

/* 0, AGAIN or PEER. */
static int send_bytes(struct connection *connection, const void *header,
		      const void *bytes, size_t length)
{
	struct iovec parts[] = { { (void *)(uintptr_t)header, DTC_WIRE_HEADER_BYTES },
				 { (void *)(uintptr_t)bytes, length } };
	const struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };

	const ssize_t sent =
		sendmsg(connection->socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (sent >= DTC_WIRE_HEADER_BYTES)
		return send_rest(connection,
				 (const char *)bytes + (sent - DTC_WIRE_HEADER_BYTES),
				 length - ((size_t)sent - DTC_WIRE_HEADER_BYTES));
	if (sent >= 0)
		return send_rest(connection, (const char *)header + sent,
				 DTC_WIRE_HEADER_BYTES - (size_t)sent) ||
				       send_rest(connection, bytes, length)
			       ? DTCONV_ERR_PEER
			       : 0;
	return errno == EAGAIN || errno == EWOULDBLOCK ? DTCONV_ERR_AGAIN
						       : DTCONV_ERR_PEER;
}

static bool flush_queue(struct connection *connection)
{
	while (connection->unqueued < connection->queued) {
		const void *header = connection->queue[connection->unqueued % QUEUE];

		if (send_bytes(connection, header, NULL, 0))
			return false;
		connection->unqueued++;
	}
	return true;
}

static int post_header(struct connection *connection, const void *header)
{
	int status = flush_queue(connection) ? send_bytes(connection, header, NULL, 0)
					     : DTCONV_ERR_AGAIN;

	if (status == DTCONV_ERR_AGAIN &&
	    connection->queued - connection->unqueued < QUEUE) {
		memcpy(connection->queue[connection->queued++ % QUEUE], header,
		       DTC_WIRE_HEADER_BYTES);
		return 0;
	}
	return status;
}

static int post(void *arg, const struct dtc_wire_header *header,
		struct dtconv_fragment *fragment)
{
	struct connection *connection = arg;
	struct dtc_wire_header posted = *header;
	unsigned char bytes[DTC_WIRE_HEADER_BYTES];
	int status;

	if (connection->state != READY || connection->is_broken)
		return DTCONV_ERR_PEER;
	if (fragment)
		posted.fragment = fragment->index;
	dtc_wire_write_header(&posted, bytes);
	if (!fragment)
		status = post_header(connection, bytes);
	else if (!flush_queue(connection))
		status = DTCONV_ERR_AGAIN;
	else
		status = send_bytes(connection, bytes, dtconv_fragment_address(fragment),
				    (size_t)header->length);
	if (!status && fragment)
		connection->out[fragment->index] = fragment;
	if (status == DTCONV_ERR_PEER)
		connection->is_broken = true;
	return status;
}

/* ---- ending ---------------------------------------------------------------------------------- */

static void hang_up(void *arg, int status)
{
	struct connection *connection = arg;

	(void)status;
	if (connection->state == ENDED)
		return;
	connection->state = ENDED;
	(void)epoll_ctl(connection->watch, EPOLL_CTL_DEL, connection->socket, NULL);
	(void)shutdown(connection->socket, SHUT_RDWR);
	for (size_t i = 0; i < DTC_WIRE_FRAGMENTS_MAX; i++)
		if (connection->out[i]) {
			dtconv_fragment_sent(connection->out[i], DTCONV_ERR_PEER);
			connection->out[i] = NULL;
		}
}

static void end(struct connection *connection, int status, const char *what)
{
	if (connection->state == ENDED)
		return;
	hang_up(connection, status);
	connection->user->lost(connection->user->user,
			       DTC_FAIL(connection->context, status, "channel: %s",
					what));
}

/* ---- receiving ------------------------------------------------------------------------------- */

/* A dtconv_release_fn. */
static void give_back(void *arg, int status)
{
	struct place *place = arg;
	const struct dtc_wire_header header = { .kind = DTC_WIRE_RETURN,
						.status = status,
						.fragment = place->number };

	place->is_used = false;
	(void)post(place->connection, &header, NULL);
}

static bool take_return(struct connection *connection,
			const struct dtc_wire_header *header)
{
	struct dtconv_fragment *fragment = header->fragment < DTC_WIRE_FRAGMENTS_MAX
						   ? connection->out[header->fragment]
						   : NULL;

	if (!fragment)
		return false;
	connection->out[header->fragment] = NULL;
	dtconv_fragment_sent(fragment, header->status);
	return true;
}

static bool take(struct connection *connection, const void *bytes, struct place *place,
		 size_t length)
{
	const struct dtc_transport_user *user = connection->user;
	struct dtc_wire_header header;

	if (dtc_wire_read_header(bytes, DTC_WIRE_HEADER_BYTES, &header))
		return false;
	if (header.kind == DTC_WIRE_RETURN)
		return take_return(connection, &header);
	if (header.kind != DTC_WIRE_DATA)
		return user->arrive(user->user, &header, NULL, NULL, NULL);
	if (header.length != length)
		return false;
	place->number = header.fragment;
	place->is_used = true;
	return user->arrive(user->user, &header, dtconv_fragment_address(place->fragment),
			    give_back, place);
}

static struct place *find_place(struct connection *connection)
{
	for (size_t i = 0; i < connection->place_count; i++)
		if (!connection->places[i].is_used)
			return &connection->places[i];
	return NULL;
}

/* Bytes of the next header and its fragment, when all of them have come over TCP; 0 before that. */
static size_t next_of_stream(const struct connection *connection)
{
	unsigned char bytes[DTC_WIRE_HEADER_BYTES];
	struct dtc_wire_header header;
	size_t length = sizeof(bytes);
	int there = 0;

	if (ioctl(connection->socket, FIONREAD, &there) ||
	    (size_t)there < sizeof(bytes) ||
	    recv(connection->socket, bytes, sizeof(bytes), MSG_PEEK | MSG_DONTWAIT) !=
		    sizeof(bytes))
		return 0;
	if (!dtc_wire_read_header(bytes, sizeof(bytes), &header) &&
	    header.kind == DTC_WIRE_DATA && header.length <= connection->fragment_bytes)
		length += (size_t)header.length;
	return (size_t)there < length ? 0 : length;
}

static bool has_left(const struct connection *connection)
{
	struct pollfd file = { .fd = connection->socket, .events = POLLRDHUP };

	return poll(&file, 1, 0) > 0;
}

/* One packet; false if there is none. */
static bool receive(struct connection *connection)
{
	struct place *place = find_place(connection);
	unsigned char header[DTC_WIRE_HEADER_BYTES];
	struct iovec parts[] = { { header, sizeof(header) }, { NULL, 0 } };

	if (place)
		parts[1] = (struct iovec){ dtconv_fragment_address(place->fragment),
					   connection->fragment_bytes };
	if (connection->is_stream) {
		const size_t length = next_of_stream(connection);

		if (!length && !has_left(connection))
			return false;
		parts[1].iov_len = length ? length - sizeof(header) : 0;
	}
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };
	const ssize_t got = recvmsg(connection->socket, &message, MSG_DONTWAIT);

	if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return false;
	if (got <= 0)
		end(connection, DTCONV_ERR_PEER, "the peer has left its socket");
	else if ((size_t)got < sizeof(header) || message.msg_flags & MSG_TRUNC ||
		 !take(connection, header, place, (size_t)got - sizeof(header)))
		end(connection, DTCONV_ERR_FORMAT, "the peer breaks the protocol");
	return true;
}

static bool is_address_right(const struct dtc_greeting *greeting)
{
	for (size_t i = 0; i < greeting->bytes; i++)
		if (greeting->address[i] != ADDRESS_BYTE)
			return false;
	return greeting->bytes == ADDRESS_BYTES &&
	       greeting->hello.transport == DTC_WIRE_OTHER;
}

static bool greet(struct connection *connection)
{
	unsigned char bytes[DTC_WIRE_PACKET_BYTES];
	struct dtc_wire_packet packet;
	struct dtc_sock_files files;
	const enum dtc_sock_news news =
		dtc_sock_receive(connection->socket, bytes, &files);

	if (news == DTC_SOCK_NOTHING)
		return false;
	dtc_sock_close_files(&files);
	int status = news == DTC_SOCK_END ? DTCONV_ERR_PEER : DTCONV_ERR_FORMAT;
	if (news == DTC_SOCK_PACKET)
		status = dtc_wire_read_packet(bytes, sizeof(bytes), &packet);
	if (!status)
		status = dtc_greeting_take(&connection->greeting, &packet);
	if (!status && !is_address_right(&connection->greeting))
		status = DTCONV_ERR_FORMAT;
	if (status < 0) {
		end(connection, status, "the peer has not introduced itself");
	} else if (!status) {
		const int least = 1;

		/* From now on what comes is no packet of 64 bytes. */
		(void)setsockopt(connection->socket, SOL_SOCKET, SO_RCVLOWAT, &least,
				 sizeof(least));
		connection->state = READY;
		connection->user->ready(connection->user->user);
	}
	return true;
}

/* ---- polling --------------------------------------------------------------------------------- */

static size_t poll_socket(void *arg, size_t budget)
{
	struct connection *connection = arg;
	size_t happened = 0;

	if (connection->is_broken)
		end(connection, DTCONV_ERR_PEER, "the peer takes nothing any more");
	while (connection->state == GREETING && happened < budget && greet(connection))
		happened++;
	(void)flush_queue(connection);
	while (connection->state == READY && happened < budget && receive(connection))
		happened++;
	return happened;
}

/* Nobody waits for room in the socket. */
static int arm(void *arg)
{
	const struct connection *connection = arg;

	return connection->state == READY && (connection->is_broken ||
					      connection->unqueued < connection->queued)
		       ? DTCONV_ERR_AGAIN
		       : 0;
}

static int file_of(const void *arg)
{
	return ((const struct connection *)arg)->watch;
}

static bool is_pinned(const void *arg)
{
	(void)arg;
	return false;
}

/* ---- opening and closing --------------------------------------------------------------------- */

static int register_slab(void *arg, const struct dtconv_slab *slab, void **handle)
{
	const struct connection *connection = arg;

	if (connection->transport->fault == SOCKET_FAULT_REGISTER)
		return DTC_FAIL(connection->context, DTCONV_ERR_LIMIT,
				"channel: the socket refuses %zu bytes", slab->bytes);
	live++;
	*handle = slab->base;
	return 0;
}

static void unregister_slab(void *arg, const struct dtconv_slab *slab, void *handle)
{
	(void)arg;
	live -= handle == slab->base;
}

static bool is_stream(int socket)
{
	int type = 0;
	socklen_t bytes = sizeof(type);

	return !getsockopt(socket, SOL_SOCKET, SO_TYPE, &type, &bytes) &&
	       type == SOCK_STREAM;
}

static int open_socket(const struct dtc_transport_params *params, void **made)
{
	const struct transport *transport = (const struct transport *)params->transport;

	if (transport->fault == SOCKET_FAULT_OPEN)
		return DTC_FAIL(params->context, DTCONV_ERR_UNSUPPORTED,
				"%s: there is no network", params->caller);
	struct connection *connection =
		dtc_alloc_zeroed(params->context, sizeof(*connection));
	if (!connection)
		return DTC_FAIL(params->context, DTCONV_ERR_NOMEM,
				"%s: cannot allocate a connection", params->caller);
	live++;
	connection->context = params->context;
	connection->user = params->user;
	connection->transport = transport;
	connection->socket = params->socket;
	connection->watch = -1;
	connection->is_stream = is_stream(params->socket);
	connection->fragments = params->fragments;
	connection->fragment_bytes = params->fragment_bytes;
	connection->registrar = (struct dtconv_registrar){ .name = "socket",
							   .reg = register_slab,
							   .dereg = unregister_slab,
							   .arg = connection };
	*made = connection;
	return 0;
}

static const struct dtconv_registrar *registrars(void *arg, size_t *count)
{
	struct connection *connection = arg;

	*count = 1;
	return &connection->registrar;
}

static int start(void *arg, struct dtconv_pool *pool, const char *caller)
{
	const struct dtc_wire_packet hello = { .transport = DTC_WIRE_OTHER,
					       .fragments = 1,
					       .fragment_bytes = 1 };
	struct epoll_event event = { .events = EPOLLIN };
	struct connection *connection = arg;
	unsigned char address[ADDRESS_BYTES];

	for (; connection->place_count < connection->fragments;
	     connection->place_count++) {
		struct place *place = &connection->places[connection->place_count];

		place->connection = connection;
		if (dtconv_pool_get(pool, &place->fragment))
			return DTC_FAIL(connection->context, DTCONV_ERR_STATE,
					"%s: the pool has too few fragments", caller);
	}
	connection->watch = epoll_create1(EPOLL_CLOEXEC);
	if (connection->watch < 0 ||
	    epoll_ctl(connection->watch, EPOLL_CTL_ADD, connection->socket, &event) ||
	    connection->transport->fault == SOCKET_FAULT_START)
		return DTC_FAIL(connection->context, DTCONV_ERR_AGAIN,
				"%s: cannot watch the socket", caller);
	memset(address, ADDRESS_BYTE, sizeof(address));
	connection->is_broken =
		!dtc_greeting_send(connection->socket, &hello, address, sizeof(address));
	return 0;
}

static void close_socket(void *arg)
{
	struct connection *connection = arg;

	while (connection->place_count)
		dtconv_fragment_put(
			connection->places[--connection->place_count].fragment);
	if (connection->watch >= 0)
		close(connection->watch);
	close(connection->socket);
}

static void free_socket(void *arg)
{
	struct connection *connection = arg;

	live--;
	dtc_free(connection->context, connection);
}

const struct dtconv_transport *socket_transport(enum socket_fault fault)
{
	static struct transport transport;

	transport = (struct transport){ .row = { .abi = DTC_TRANSPORT_ABI +
							(fault == SOCKET_FAULT_ABI),
						 .flags = DTC_TRANSPORT_RECEIVES,
						 .name = "socket",
						 .open = open_socket,
						 .registrars = registrars,
						 .start = start,
						 .post = post,
						 .poll = poll_socket,
						 .arm = arm,
						 .fd = file_of,
						 .hang_up = hang_up,
						 .is_pinned = is_pinned,
						 .close = close_socket,
						 .free = free_socket },
					.fault = fault };
	return &transport.row;
}

size_t socket_transport_live(void)
{
	return live;
}
