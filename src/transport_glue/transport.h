/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a channel needs of a network: a row of functions. A transport carries headers in order, and fragments with
 * some of them; a channel knows messages.
 *
 * All functions but open and close, and all upcalls, run in the thread that makes progress, without a lock.
 */
#ifndef DTC_TRANSPORT_H
#define DTC_TRANSPORT_H

#include <dtconv/flow.h>

#include "wire.h"

/* Upcalls, from poll only. */
struct dtc_transport_user {
	/* The peer has introduced itself; headers may be posted from now on. */
	void (*ready)(void *user);
	/*
	 * A header, and its bytes if it is DATA. The channel calls @release with @arg exactly once when it no longer
	 * needs them; it may do so at once. Returns false if the peer breaks the protocol.
	 */
	bool (*arrive)(void *user, const struct dtc_wire_header *header,
		       const void *bytes, dtconv_release_fn release, void *arg);
	/*
	 * The connection has ended with that status, whose reason is the thread's error text. Everything that the peer
	 * had posted before has arrived. Once.
	 */
	void (*lost)(void *user, int status);
	void *user;
};

struct dtc_transport_params {
	struct dtconv_context *context;
	struct dtconv_pool
		*pool; /* of this channel alone; fragments are posted from it */
	const struct dtc_transport_user *user;
	int socket; /* connected; the transport's from a successful open on */
	const char *caller;
};

struct dtc_transport_ops {
	const char *name;
	/* May block. */
	int (*open)(const struct dtc_transport_params *params, void **transport);
	/*
	 * Post a header; with a fragment, dtconv_fragment_sent() is called for it exactly once if this returns 0.
	 * Within the bounds of the protocol headers without a fragment are always taken: a slot has at most a MESSAGE
	 * and an END under way, and each answer a place. DTCONV_ERR_PEER after the end.
	 */
	int (*post)(void *transport, const struct dtc_wire_header *header,
		    struct dtconv_fragment *fragment);
	size_t (*poll)(void *transport, size_t budget);
	/* As dtconv_source.arm. */
	int (*arm)(void *transport);
	/* As dtconv_source.fd. */
	int (*fd)(const void *transport);
	/* End the connection and tell the peer why. Fragments that were posted are reported as sent, with PEER. */
	void (*hang_up)(void *transport, int status);
	/* Whether the peer's memory can be read by devices directly. */
	bool (*is_pinned)(const void *transport);
	/* All fragments are back and all bytes released. May block. */
	void (*close)(void *transport);
};

extern const struct dtc_transport_ops dtc_transport_shm;

#endif
