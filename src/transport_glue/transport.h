/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a channel needs of a network: a row of functions. A transport carries headers in order, and fragments with
 * some of them; a channel knows messages. `shm` is part of the library. Each other transport is a shared object of its
 * own, which links its network and libdtconv: it includes this header and what the last section here names, and uses
 * the exported functions of libdtconv only, public ones and those of the stanza DTCONV_PRIVATE of libdtconv.map.
 *
 * One connection lives like this:
 *
 *	open	before the pool exists: the network's device, the registrars of the pool
 *	start	with the pool: introduce this process to the peer
 *	...	poll, arm and post, until hang_up, or until it says that the connection is lost
 *	close	all fragments are back and all bytes released
 *	free	after the pool was destroyed, which unregisters its slab
 *
 * open may run in any thread. All other functions, and all upcalls, run in the thread that makes progress, or while no
 * thread does, without a lock. Upcalls come from poll only.
 */
#ifndef DTC_TRANSPORT_H
#define DTC_TRANSPORT_H

#include <dtconv/channel.h>
#include <dtconv/flow.h>
#include <dtconv/pool.h>

#include "base/base.h"
#include "wire.h"

/* Changes with this header and with what DTCONV_PRIVATE exports; also a number in the stanza's name. */
#define DTC_TRANSPORT_ABI 3

struct dtc_transport_user {
	/* The peer has introduced itself; headers may be posted from now on. Once. */
	void (*ready)(void *user);
	/*
	 * A header, and its bytes if it is DATA; in the order in which the peer posted them. The channel calls @release
	 * with @arg exactly once when it no longer needs the bytes; it may do so at once. The transport then returns
	 * the fragment to the peer with that status. Returns false if the peer breaks the protocol.
	 */
	bool (*arrive)(void *user, const struct dtc_wire_header *header,
		       const void *bytes, dtconv_release_fn release, void *arg);
	/*
	 * The connection has ended with that status, whose reason is the thread's error text: DTCONV_ERR_PEER if the
	 * peer is gone or the network lost it, DTCONV_ERR_FORMAT if it broke the protocol. Everything that the peer had
	 * posted before and that can be saved has arrived. Once.
	 */
	void (*lost)(void *user, int status);
	void *user;
};

struct dtc_transport_params {
	struct dtconv_context *context;
	const struct dtconv_transport *transport; /* a member of its options */
	const struct dtc_transport_user *user;
	/*
	 * Does not block; the transport's from a successful open on. -1: there is an endpoint. Nothing may be read or
	 * written before start; over TCP it is not connected before that. A TCP socket is readable when 64 bytes have come
	 * (SO_RCVLOWAT): a transport that exchanges other things on it than packets of wire.h changes that.
	 */
	int socket;
	/* Of dtc_channel_open_with(); valid during the call. */
	const void *endpoint;
	size_t fragment_bytes; /* capacity of a fragment */
	size_t fragments;      /* that the channel sends from */
	bool takes_offers; /* the channel copies messages of the peer itself; with DTC_TRANSPORT_OFFERS only */
	const char *caller;
};

enum dtc_transport_flags {
	/* The socket has to carry descriptors, so it is a Unix socket. For others it may be one of TCP. */
	DTC_TRANSPORT_FILES = 1,
	/*
	 * The pool has as many fragments again, for what arrives. The transport takes them by dtconv_pool_get() in start
	 * and gives them back by dtconv_fragment_put() in close.
	 */
	DTC_TRANSPORT_RECEIVES = 2,
	/* The slab has a descriptor: a memfd, or memory of a device. */
	DTC_TRANSPORT_SHARED = 4,
	/* Both processes are on one machine, and messages may have offers. */
	DTC_TRANSPORT_OFFERS = 8,
	/* Fragments may be memory of a device. */
	DTC_TRANSPORT_DEVICES = 16,
	/* Such memory is registered as a DMA-BUF, so the slab has to be whole pages. */
	DTC_TRANSPORT_DMA_BUFS = 32
};

/* An object with options of its own has this as its first member. It must outlive its channels. */
struct dtconv_transport {
	unsigned abi; /* DTC_TRANSPORT_ABI */
	unsigned flags;
	const char *name; /* in messages; must outlive the process's channels */
	/* May block. */
	int (*open)(const struct dtc_transport_params *params, void **connection);
	/* Optional. What the pool has to register its slab with; valid until free. */
	const struct dtconv_registrar *(*registrars)(void *connection, size_t *count);
	/*
	 * The pool is this connection's alone and has one slab, which neither grows nor shrinks. May block. After a
	 * failure close follows. Called by the function that opens the channel, or by progress when the peer has shown over
	 * TCP that it knows the secret.
	 */
	int (*start)(void *connection, struct dtconv_pool *pool, const char *caller);
	/*
	 * Post a header; with a fragment, dtconv_fragment_sent() is called for it exactly once if this returns 0: with the
	 * status with which the receiver released the bytes, which is when the receiver no longer needs the fragment, or
	 * with DTCONV_ERR_PEER when the connection has ended and the network no longer reads it.
	 * DTCONV_ERR_AGAIN is possible with a fragment only: the channel offers it again. Within the bounds of the protocol
	 * headers without a fragment are always taken: a slot has at most a MESSAGE and an END under way, and an answer
	 * (GO, REFUSE or TAKEN).
	 * DTCONV_ERR_PEER before ready and after the end. Calls no upcall.
	 */
	int (*post)(void *connection, const struct dtc_wire_header *header,
		    struct dtconv_fragment *fragment);
	/* Returns how many things happened, about @budget at most. */
	size_t (*poll)(void *connection, size_t budget);
	/* As dtconv_source.arm. */
	int (*arm)(void *connection);
	/* As dtconv_source.fd. Asked once, after start. */
	int (*fd)(const void *connection);
	/*
	 * End the connection and tell the peer why. Fragments that were posted are reported as sent, with PEER, here or by
	 * later polls. No upcall follows. Bytes that have arrived stay where they are until they are released.
	 */
	void (*hang_up)(void *connection, int status);
	/* Whether devices read what arrives directly. */
	bool (*is_pinned)(const void *connection);
	/*
	 * With DTC_TRANSPORT_OFFERS. Room of DTC_WIRE_OFFER_BYTES for the offer of the message in a slot, to be written
	 * before its header is posted. NULL: one of the two processes takes none.
	 */
	void *(*offer_room)(void *connection, uint32_t slot);
	/* The same of the peer, who may change it at any time: to be copied once, and then read. */
	const void *(*offer_of)(const void *connection, uint32_t slot);
	/* May block. Also without a start, or after one that failed. */
	void (*close)(void *connection);
	void (*free)(void *connection);
};

/* ---- for transports in shared objects of their own ------------------------------------- */

/*
 * Also: base/context.h dtc_alloc, dtc_alloc_zeroed and dtc_free; base/log.h DTC_FAIL, DTC_RETRY and DTC_LOG; wire.h;
 * sock.h dtc_sock_send, dtc_sock_receive and dtc_sock_close_files; greeting.h. Members of structures in fragment.h
 * may be read (index, address, slab).
 */

/*
 * Create a channel over a transport that needs no socket, for the opening function of such a transport. @params must
 * name the transport. DTCONV_ERR_INVAL and so on as dtconv_channel_open().
 */
DTC_PRIVATE_API int dtc_channel_open_with(struct dtconv_engine *engine,
					  const struct dtconv_channel_params *params,
					  const void *endpoint, const char *caller,
					  struct dtconv_channel **channel);

extern const struct dtconv_transport dtc_transport_shm;

#endif
