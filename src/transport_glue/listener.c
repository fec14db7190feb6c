/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Listeners. A connection is checked for its user at once, over TCP for a proof of the secret, and is pending until its
 * first packet has arrived. Only then can it be accepted, and memory is allocated and mapped for it.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/base.h"
#include "base/context.h"
#include "base/log.h"
#include "channel.h"
#include "engine.h"
#include "gate.h"

/* Connections that are not accepted; one that is silent makes room. */
#define PENDING_MAX 16

struct pending {
	int fd;
	bool is_ready;        /* its first packet has arrived */
	struct dtc_gate gate; /* over TCP */
};

struct dtconv_listener {
	struct dtconv_context *context;
	struct dtconv_engine *engine;
	struct dtconv_channel_params params;
	char *address;
	int fd, watch; /* watch: an epoll descriptor of all of them */
	int spare; /* closed to refuse a connection when no other descriptor is left; -1: none */
	unsigned source;
	pthread_mutex_t lock;
	size_t count;
	bool is_tcp;
	struct dtc_secret secret;
	struct pending pending[PENDING_MAX]; /* the oldest first */
};

/* ---- pending connections ---------------------------------------------------------------- */

static void forget(struct dtconv_listener *listener, size_t i)
{
	listener->count--;
	memmove(&listener->pending[i], &listener->pending[i + 1],
		(listener->count - i) * sizeof(listener->pending[0]));
}

static void refuse(struct dtconv_listener *listener, size_t i)
{
	close(listener->pending[i].fd);
	forget(listener, i);
}

/* Tell the other process why. */
static void send_bye(int fd, int status)
{
	const struct dtc_wire_packet packet = { .kind = DTC_WIRE_BYE,
						.version = DTC_WIRE_VERSION,
						.status = status };
	unsigned char bytes[DTC_WIRE_PACKET_BYTES];

	dtc_wire_write_packet(&packet, bytes);
	(void)dtc_sock_send(fd, bytes, NULL);
}

/* Whether the other process has proved over TCP that it knows the secret. */
static enum dtc_sock_news look_at_proof(const struct dtconv_listener *listener,
					struct pending *pending)
{
	const int status = dtc_gate_step(&pending->gate, pending->fd, &listener->secret);

	if (status == DTCONV_INPROGRESS)
		return DTC_SOCK_NOTHING;
	if (!status)
		return DTC_SOCK_PACKET;
	DTC_LOG(listener->context, DTCONV_LOG_WARN,
		"channel: a process that connected has not shown that it knows the secret");
	send_bye(pending->fd, status);
	return DTC_SOCK_END;
}

/*
 * What lies in the socket of a pending connection. Anything but the first packet of a channel ends it; the packet
 * itself stays in the socket with its descriptors.
 */
static enum dtc_sock_news look_at(const struct dtconv_listener *listener,
				  struct pending *pending)
{
	const int fd = pending->fd;
	unsigned char bytes[DTC_WIRE_PACKET_BYTES];
	struct dtc_wire_packet packet;
	enum dtc_sock_news news = listener->is_tcp ? look_at_proof(listener, pending)
						   : DTC_SOCK_PACKET;

	if (news == DTC_SOCK_PACKET)
		news = dtc_sock_peek(fd, bytes);
	if (news != DTC_SOCK_PACKET)
		return news == DTC_SOCK_NOTHING ? news : DTC_SOCK_END;
	int status = dtc_wire_read_packet(bytes, sizeof(bytes), &packet);
	if (!status && packet.kind == DTC_WIRE_HELLO)
		return DTC_SOCK_PACKET;
	if (status == DTCONV_ERR_UNSUPPORTED)
		DTC_LOG(listener->context, DTCONV_LOG_WARN,
			"channel: a process that connected speaks version %u, this library "
			"version %d",
			packet.version, DTC_WIRE_VERSION);
	send_bye(fd, status ? status : DTCONV_ERR_FORMAT);
	return DTC_SOCK_END;
}

/* Refuse those that have ended or break the protocol. */
static void look_at_all(struct dtconv_listener *listener)
{
	for (size_t i = listener->count; i--;) {
		const enum dtc_sock_news news = look_at(listener, &listener->pending[i]);

		listener->pending[i].is_ready = news == DTC_SOCK_PACKET;
		if (news == DTC_SOCK_END)
			refuse(listener, i);
	}
}

/* The oldest that is silent, so that strangers displace none that only waits to be accepted; else the oldest. */
static void make_room(struct dtconv_listener *listener)
{
	size_t i = 0;

	while (i < PENDING_MAX && listener->pending[i].is_ready)
		i++;
	refuse(listener, i % PENDING_MAX);
}

/* By what is known before its first packet. */
static bool is_admissible(const struct dtconv_listener *listener, struct pending *pending)
{
	const bool any_user = listener->params.flags & DTCONV_CHANNEL_ANY_USER;
	struct dtc_sock_peer peer;

	if (!listener->is_tcp)
		return !dtc_sock_check(listener->context, pending->fd, any_user,
				       "dtconv_channel_listen", &peer);
	dtc_sock_tune(pending->fd);
	return dtc_gate_init(&pending->gate, pending->fd, true);
}

static void admit(struct dtconv_listener *listener, int fd)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };
	struct pending pending = { .fd = fd };

	if (!is_admissible(listener, &pending) ||
	    epoll_ctl(listener->watch, EPOLL_CTL_ADD, fd, &event)) {
		close(fd);
		return;
	}
	if (listener->count == PENDING_MAX)
		look_at_all(listener);
	if (listener->count == PENDING_MAX)
		make_room(listener);
	listener->pending[listener->count++] = pending;
}

static int take_spare(const struct dtconv_listener *listener)
{
	return fcntl(listener->watch, F_DUPFD_CLOEXEC, 0);
}

static int accept_one(const struct dtconv_listener *listener)
{
	return accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

/* Without a descriptor a connection cannot be accepted: it would wait for ever, and the listening socket stay readable. */
static bool refuse_unaccepted(struct dtconv_listener *listener)
{
	const int error = errno;

	if (listener->spare < 0)
		listener->spare = take_spare(listener);
	if ((error != EMFILE && error != ENFILE) || listener->spare < 0)
		return false;
	close(listener->spare);
	const int fd = accept_one(listener);
	if (fd >= 0) {
		DTC_LOG(listener->context, DTCONV_LOG_WARN,
			"channel: a process that connected is refused, because "
			"this process has no file descriptor left");
		send_bye(fd, DTCONV_ERR_LIMIT);
		close(fd);
	}
	listener->spare = take_spare(listener);
	return fd >= 0;
}

static size_t poll_pending(void *arg, size_t budget)
{
	struct dtconv_listener *listener = arg;
	size_t happened = 0;
	int fd;

	pthread_mutex_lock(&listener->lock);
	for (; happened < budget; happened++) {
		if ((fd = accept_one(listener)) >= 0)
			admit(listener, fd);
		else if (!refuse_unaccepted(listener))
			break;
	}
	look_at_all(listener);
	pthread_mutex_unlock(&listener->lock);
	return happened;
}

/* The oldest one whose first packet has arrived; negative: none. */
static int take_ready(struct dtconv_listener *listener)
{
	int fd = -1;

	pthread_mutex_lock(&listener->lock);
	for (size_t i = 0; fd < 0 && i < listener->count; i++) {
		if (look_at(listener, &listener->pending[i]) != DTC_SOCK_PACKET)
			continue;
		fd = listener->pending[i].fd;
		(void)epoll_ctl(listener->watch, EPOLL_CTL_DEL, fd, NULL);
		forget(listener, i);
	}
	pthread_mutex_unlock(&listener->lock);
	return fd;
}

int dtconv_channel_accept(struct dtconv_listener *listener,
			  struct dtconv_channel **channel)
{
	if (!listener || !channel)
		return DTCONV_ERR_INVAL;
	int fd = take_ready(listener);

	if (fd < 0)
		return DTCONV_ERR_AGAIN;
	const struct dtc_channel_link link = { .socket = fd,
					       .is_tcp = listener->is_tcp,
					       .is_proven = true };

	return dtc_channel_create(listener->engine, &link, &listener->params, __func__,
				  channel);
}

/* ---- creating and destroying ----------------------------------------------------------- */

static void free_listener(struct dtconv_listener *listener)
{
	while (listener->count)
		refuse(listener, listener->count - 1);
	if (listener->watch >= 0)
		close(listener->watch);
	if (listener->spare >= 0)
		close(listener->spare);
	if (listener->fd >= 0) {
		close(listener->fd);
		dtc_sock_remove(listener->address);
	}
	pthread_mutex_destroy(&listener->lock);
	explicit_bzero(&listener->secret, sizeof(listener->secret));
	dtc_free(listener->context, listener->address);
	dtc_free(listener->context, listener);
}

static int watch(struct dtconv_listener *listener, const char *caller)
{
	struct epoll_event event = { .events = EPOLLIN };
	const struct dtconv_source source = { .fd = listener->watch,
					      .poll = poll_pending,
					      .arg = listener };

	listener->spare = listener->watch < 0 ? -1 : take_spare(listener);
	if (listener->spare < 0 ||
	    epoll_ctl(listener->watch, EPOLL_CTL_ADD, listener->fd, &event))
		return DTC_FAIL(listener->context, DTCONV_ERR_AGAIN,
				"%s: cannot watch the listening socket: %s", caller,
				strerror(errno));
	return dtconv_engine_attach(listener->engine, &source, &listener->source);
}

int dtconv_channel_listen(struct dtconv_engine *engine, const char *address,
			  const struct dtconv_channel_params *given,
			  struct dtconv_listener **listener)
{
	struct dtconv_channel_params params;

	if (!engine || !address || !listener)
		return DTCONV_ERR_INVAL;
	struct dtconv_context *context = dtc_engine_context(engine);
	int status = dtc_channel_read_params(engine, given, __func__, &params);
	if (!status && dtc_sock_names_tcp(address))
		status = dtc_channel_check_tcp(context, &params, __func__);
	if (status)
		return status;
	struct dtconv_listener *made = dtc_alloc_zeroed(context, sizeof(*made));
	char *copy = made ? dtc_alloc(context, strlen(address) + 1) : NULL;
	if (!copy) {
		dtc_free(context, made);
		return DTC_FAIL(context, DTCONV_ERR_NOMEM,
				"%s: cannot allocate a listener", __func__);
	}
	made->context = context;
	made->engine = engine;
	made->params = params;
	/* The caller's is valid for this call only. */
	made->params.secret = made->secret.key;
	made->address = strcpy(copy, address);
	made->fd = made->spare = -1;
	made->is_tcp = dtc_sock_names_tcp(address);
	if (made->is_tcp)
		dtc_hmac_key(params.secret, params.secret_bytes, made->secret.key);
	made->watch = epoll_create1(EPOLL_CLOEXEC);
	pthread_mutex_init(&made->lock, NULL);
	int fd;
	status = dtc_sock_listen(context, address, __func__, &fd);
	if (!status) {
		made->fd = fd;
		status = watch(made, __func__);
	}
	if (status) {
		free_listener(made);
		return status;
	}
	*listener = made;
	return 0;
}

int dtconv_listener_destroy(struct dtconv_listener *listener)
{
	if (!listener)
		return 0;
	if (!dtc_engine_settle(listener->engine))
		return DTC_FAIL(listener->context, DTCONV_ERR_STATE,
				"%s: called from a callback of the engine", __func__);
	(void)dtconv_engine_detach(listener->engine, listener->source);
	(void)dtc_engine_settle(listener->engine);
	free_listener(listener);
	return 0;
}
