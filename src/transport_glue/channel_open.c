/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Opening, querying and destroying channels. A channel has a pool of its own, so that what one peer can see was
 * packed for that peer.
 */
#include "config.h"

#include "channel.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/base.h"
#include "base/context.h"
#include "base/log.h"
#include "direct.h"
#include "engine.h"
#include "pool.h"
#include "window.h"

#define FRAGMENT_BYTES ((size_t)256 << 10)
#define FRAGMENTS      16

/* ---- parameters ------------------------------------------------------------------------ */

int dtc_channel_read_params(struct dtconv_engine *engine,
			    const struct dtconv_channel_params *given, const char *caller,
			    struct dtconv_channel_params *params)
{
	struct dtconv_context *context = dtc_engine_context(engine);

	*params = (struct dtconv_channel_params){ .struct_size = sizeof(*params),
						  .device = given ? 0 : -1 };
	if (given && given->struct_size == 0)
		return DTC_FAIL_STRUCT_SIZE(context, caller, "params",
					    "dtconv_channel_params");
	if (given)
		memcpy(params, given, DTC_MIN(given->struct_size, sizeof(*params)));
	if (!params->transport)
		params->transport = &dtc_transport_shm;
	if (!params->kind)
		params->kind = DTCONV_MEMORY_PINNED;
	if (!params->fragment_bytes)
		params->fragment_bytes = FRAGMENT_BYTES;
	if (!params->fragments)
		params->fragments = FRAGMENTS;
	if (params->flags & ~(unsigned)(DTCONV_CHANNEL_ANY_USER | DTCONV_CHANNEL_DIRECT))
		return DTC_FAIL(context, DTCONV_ERR_INVAL,
				"%s: params.flags has unknown bits: 0x%x", caller,
				params->flags);
	if (params->kind != DTCONV_MEMORY_PINNED && params->kind != DTCONV_MEMORY_HOST &&
	    params->kind != DTCONV_MEMORY_DEVICE)
		return DTC_FAIL(context, DTCONV_ERR_INVAL,
				"%s: params.kind is not PINNED, HOST or DEVICE", caller);
	if (params->kind == DTCONV_MEMORY_DEVICE &&
	    !(params->transport->flags & DTC_TRANSPORT_DEVICES))
		return DTC_FAIL(context, DTCONV_ERR_UNSUPPORTED,
				"%s: params.kind is DEVICE, but %s cannot carry staging "
				"memory of devices",
				caller, params->transport->name);
	if (params->flags & DTCONV_CHANNEL_DIRECT &&
	    !(params->transport->flags & DTC_TRANSPORT_OFFERS))
		return DTC_FAIL(
			context, DTCONV_ERR_UNSUPPORTED,
			"%s: params.flags has DTCONV_CHANNEL_DIRECT, but over %s a "
			"process cannot map the memory of its peer",
			caller, params->transport->name);
	if (params->fragments > DTCONV_CHANNEL_FRAGMENTS_MAX)
		return DTC_FAIL(context, DTCONV_ERR_LIMIT,
				"%s: params.fragments is %zu, the most is %d", caller,
				params->fragments, DTCONV_CHANNEL_FRAGMENTS_MAX);
	return 0;
}

int dtc_channel_check_tcp(struct dtconv_context *context,
			  const struct dtconv_channel_params *params, const char *caller)
{
	if (params->transport->flags & DTC_TRANSPORT_FILES)
		return DTC_FAIL(context, DTCONV_ERR_UNSUPPORTED,
				"%s: address (argument 2) is of TCP, but %s needs a Unix "
				"socket",
				caller, params->transport->name);
	if (!params->secret || params->secret_bytes < DTCONV_CHANNEL_SECRET_MIN)
		return DTC_FAIL(context, DTCONV_ERR_INVAL,
				"%s: a channel over TCP needs params.secret of at least "
				"%d bytes, the same at both ends",
				caller, DTCONV_CHANNEL_SECRET_MIN);
	return 0;
}

/* One slab, which never grows or shrinks. */
static int create_pool(struct dtconv_channel *channel,
		       const struct dtconv_channel_params *params, const char *caller)
{
	const struct dtconv_transport *transport = channel->transport;
	struct dtconv_pool_params pool = { .struct_size = sizeof(pool),
					   .kind = params->kind,
					   .device = params->device,
					   .fragment_bytes = params->fragment_bytes };
	const size_t fragments =
		params->fragments * (transport->flags & DTC_TRANSPORT_RECEIVES ? 2 : 1);
	/* Fragments begin at multiples of 256. */
	const uint64_t most =
		DTC_MIN((uint64_t)DTC_WIRE_SLAB_MAX, SIZE_MAX) / 2 / fragments - 256;

	if (params->fragment_bytes > most)
		return DTC_FAIL(channel->context, DTCONV_ERR_LIMIT,
				"%s: params.fragment_bytes %zu x params.fragments %zu "
				"exceeds the limit of staging memory",
				caller, params->fragment_bytes, params->fragments);
	if (transport->flags & DTC_TRANSPORT_SHARED ||
	    (params->kind == DTCONV_MEMORY_DEVICE &&
	     transport->flags & DTC_TRANSPORT_DMA_BUFS))
		pool.flags = DTCONV_POOL_SHARED;
	if (transport->registrars)
		pool.registrars =
			transport->registrars(channel->connection, &pool.registrar_count);
	pool.slab_bytes = (params->fragment_bytes + 255) / 256 * 256 * fragments;
	pool.limit_bytes = 1;
	return dtconv_pool_create(channel->context, &pool, &channel->pool);
}

/* ---- opening --------------------------------------------------------------------------- */

static void free_channel(struct dtconv_channel *channel)
{
	while (channel->send_count)
		(void)dtconv_send_destroy(channel->sends[--channel->send_count]);
	while (channel->recv_count)
		(void)dtconv_recv_destroy(channel->recvs[--channel->recv_count]);
	if (channel->connection)
		channel->transport->close(channel->connection);
	(void)dtconv_pool_destroy(channel->pool);
	if (channel->connection)
		channel->transport->free(channel->connection);
	dtc_direct_destroy(channel->context, channel->direct);
	if (channel->watch >= 0)
		close(channel->watch);
	explicit_bzero(&channel->secret, sizeof(channel->secret));
	dtc_free(channel->context, channel);
}

static int watch(const struct dtconv_channel *channel, int fd)
{
	struct epoll_event event = { .events = EPOLLIN };

	return epoll_ctl(channel->watch, EPOLL_CTL_ADD, fd, &event);
}

static int attach(struct dtconv_channel *channel)
{
	const struct dtconv_source source = {
		.fd = channel->watch >= 0 ? channel->watch
					  : channel->transport->fd(channel->connection),
		.poll = dtc_channel_poll,
		.arm = dtc_channel_arm,
		.arg = channel
	};

	return dtconv_engine_attach(channel->engine, &source, &channel->source);
}

/* Over TCP: ask the process that listens for a proof first. What is attached is a descriptor that stays. */
static int open_gate(struct dtconv_channel *channel,
		     const struct dtconv_channel_params *params, const char *caller)
{
	dtc_hmac_key(params->secret, params->secret_bytes, channel->secret.key);
	channel->watch = epoll_create1(EPOLL_CLOEXEC);
	if (channel->watch >= 0 && !watch(channel, channel->socket) &&
	    dtc_gate_init(&channel->gate, channel->socket, false))
		return 0;
	return DTC_FAIL(channel->context, DTCONV_ERR_AGAIN,
			"%s: cannot watch the socket of a channel: %s", caller,
			strerror(errno));
}

int dtc_channel_start(struct dtconv_channel *channel, const char *caller)
{
	int status =
		channel->transport->start(channel->connection, channel->pool, caller);

	if (status)
		return status;
	channel->is_started = true;
	if (channel->watch < 0)
		return 0;
	(void)epoll_ctl(channel->watch, EPOLL_CTL_DEL, channel->socket, NULL);
	const int fd = channel->transport->fd(channel->connection);
	if (fd < 0 || !watch(channel, fd))
		return 0;
	return DTC_FAIL(channel->context, DTCONV_ERR_AGAIN,
			"%s: cannot watch the connection of a channel: %s", caller,
			strerror(errno));
}

/* Whether the transport can use the link. */
static int check_link(struct dtconv_channel *channel, const struct dtc_channel_link *link,
		      const struct dtconv_channel_params *params, const char *caller)
{
	const struct dtconv_transport *transport = channel->transport;

	if (transport->abi != DTC_TRANSPORT_ABI)
		return DTC_FAIL(channel->context, DTCONV_ERR_UNSUPPORTED,
				"%s: the library of params.transport was built for "
				"another version of libdtconv (interface %u, not %d)",
				caller, transport->abi, DTC_TRANSPORT_ABI);
	channel->peer = (struct dtc_sock_peer){ .pid = -1, .uid = (uid_t)-1 };
	if (link->socket < 0)
		return 0;
	/* Only who has an address connects or listens over TCP: then it is clear who proves himself first. */
	if (channel->is_tcp)
		return dtc_channel_check_tcp(channel->context, params, caller);
	return dtc_sock_check(channel->context, link->socket,
			      params->flags & DTCONV_CHANNEL_ANY_USER, caller,
			      &channel->peer);
}

static int open_connection(struct dtconv_channel *channel,
			   const struct dtc_channel_link *link,
			   const struct dtconv_channel_params *params, const char *caller)
{
	channel->user = dtc_channel_user;
	channel->user.user = channel;
	const struct dtc_transport_params open = { .context = channel->context,
						   .transport = channel->transport,
						   .user = &channel->user,
						   .socket = link->socket,
						   .endpoint = link->endpoint,
						   .fragment_bytes =
							   params->fragment_bytes,
						   .fragments = params->fragments,
						   .takes_offers = channel->direct,
						   .caller = caller };

	return channel->transport->open(&open, &channel->connection);
}

int dtc_channel_create(struct dtconv_engine *engine, const struct dtc_channel_link *link,
		       const struct dtconv_channel_params *params, const char *caller,
		       struct dtconv_channel **channel)
{
	struct dtconv_context *context = dtc_engine_context(engine);
	struct dtconv_channel *made = dtc_alloc_zeroed(context, sizeof(*made));
	int status = made ? 0
			  : DTC_FAIL(context, DTCONV_ERR_NOMEM,
				     "%s: cannot allocate a channel", caller);

	if (!status) {
		made->context = context;
		made->engine = engine;
		made->transport = params->transport;
		made->fragments = params->fragments;
		made->eager_bytes = params->fragment_bytes / 2;
		made->eager_max = (unsigned)params->fragments / 2;
		made->depth = params->kind == DTCONV_MEMORY_DEVICE ? DTC_WINDOW_MAX : 0;
		made->watch = -1;
		made->socket = link->socket;
		made->is_tcp = link->is_tcp;
		dtc_channel_init(made);
		status = check_link(made, link, params, caller);
	}
	if (!status && params->flags & DTCONV_CHANNEL_DIRECT)
		status = dtc_direct_create(context, caller, &made->direct);
	if (!status)
		status = open_connection(made, link, params, caller);
	if (status && link->socket >= 0)
		close(link->socket);
	if (!status)
		status = create_pool(made, params, caller);
	if (!status)
		status = link->is_tcp && !link->is_proven
				 ? open_gate(made, params, caller)
				 : dtc_channel_start(made, caller);
	if (!status)
		status = attach(made);
	if (!status)
		*channel = made;
	else if (made)
		free_channel(made);
	return status;
}

int dtc_channel_open_with(struct dtconv_engine *engine,
			  const struct dtconv_channel_params *given, const void *endpoint,
			  const char *caller, struct dtconv_channel **channel)
{
	const struct dtc_channel_link link = { .socket = -1, .endpoint = endpoint };
	struct dtconv_channel_params params;
	int status = dtc_channel_read_params(engine, given, caller, &params);

	return status ? status
		      : dtc_channel_create(engine, &link, &params, caller, channel);
}

/* The caller's descriptor stays as it is if this fails, so the channel gets another one. */
int dtconv_channel_open(struct dtconv_engine *engine, int fd,
			const struct dtconv_channel_params *given,
			struct dtconv_channel **channel)
{
	struct dtconv_channel_params params;

	if (!engine || !channel)
		return DTCONV_ERR_INVAL;
	int status = dtc_channel_read_params(engine, given, __func__, &params);
	if (status)
		return status;
	int own = dtc_sock_duplicate(dtc_engine_context(engine), fd, __func__);
	if (own < 0)
		return own;
	const struct dtc_channel_link link = { .socket = own };
	status = dtc_channel_create(engine, &link, &params, __func__, channel);
	if (!status)
		close(fd);
	return status;
}

int dtconv_channel_connect(struct dtconv_engine *engine, const char *address,
			   const struct dtconv_channel_params *given,
			   struct dtconv_channel **channel)
{
	struct dtconv_channel_params params;
	int fd;

	if (!engine || !address || !channel)
		return DTCONV_ERR_INVAL;
	int status = dtc_channel_read_params(engine, given, __func__, &params);
	if (!status && dtc_sock_names_tcp(address))
		status = dtc_channel_check_tcp(dtc_engine_context(engine), &params,
					       __func__);
	if (!status)
		status = dtc_sock_connect(dtc_engine_context(engine), address, __func__,
					  &fd);
	if (status)
		return status;
	const struct dtc_channel_link link = { .socket = fd,
					       .is_tcp = dtc_sock_names_tcp(address) };
	return dtc_channel_create(engine, &link, &params, __func__, channel);
}

/* ---- queries and the end --------------------------------------------------------------- */

int dtconv_channel_query(struct dtconv_channel *channel, struct dtconv_channel_attr *attr)
{
	struct dtconv_pool_attr pool = { .struct_size = sizeof(pool) };

	if (!channel || !attr)
		return DTCONV_ERR_INVAL;
	if (attr->struct_size == 0)
		return DTC_FAIL_STRUCT_SIZE(channel->context, __func__, "attr",
					    "dtconv_channel_attr");
	int status = dtconv_pool_query(channel->pool, &pool);
	if (status)
		return status;
	const int state = atomic_load(&channel->state);
	const struct dtconv_channel_attr now = {
		.struct_size = attr->struct_size,
		.state = (enum dtconv_channel_state)state,
		.status = atomic_load(&channel->status),
		.peer_process = channel->peer.pid,
		.peer_user = channel->peer.pid < 0 ? -1 : (long)channel->peer.uid,
		.fragments = channel->fragments,
		/* Before the start the transport's are in the pool as well. */
		.free = DTC_MIN(pool.free, channel->fragments),
		.operations = atomic_load(&channel->operations),
		.waiting = atomic_load(&channel->waiting),
		.sent = atomic_load(&channel->sent),
		.received = atomic_load(&channel->received),
		.sent_direct = atomic_load(&channel->sent_direct),
		.received_direct = atomic_load(&channel->received_direct),
		.peer_is_pinned = state != DTCONV_CHANNEL_CONNECTING &&
				  channel->is_started &&
				  channel->transport->is_pinned(channel->connection)
	};
	memcpy(attr, &now, DTC_MIN(attr->struct_size, sizeof(now)));
	return 0;
}

int dtconv_channel_destroy(struct dtconv_channel *channel)
{
	if (!channel)
		return 0;
	const size_t operations = atomic_load(&channel->operations);

	if (operations)
		return DTC_FAIL(channel->context, DTCONV_ERR_STATE,
				"%s: %zu operations are not complete", __func__,
				operations);
	if (!dtc_engine_settle(channel->engine))
		return DTC_FAIL(channel->context, DTCONV_ERR_STATE,
				"%s: called from a callback of the engine", __func__);
	(void)dtconv_engine_detach(channel->engine, channel->source);
	/* Whoever had begun to poll it has ended. */
	(void)dtc_engine_settle(channel->engine);
	dtc_channel_drop(channel);
	free_channel(channel);
	return 0;
}
