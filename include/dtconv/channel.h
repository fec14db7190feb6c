/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Channels: messages between two processes of a machine, for programs that have no network of their own.
 */
#ifndef DTCONV_CHANNEL_H
#define DTCONV_CHANNEL_H

#include <stddef.h>
#include <stdint.h>

#include <dtconv/flow.h>
#include <dtconv/memory.h>
#include <dtconv/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct dtconv_channel;
struct dtconv_engine;
struct dtconv_listener;
struct dtconv_transport;
struct dtconv_type;

/**
 * @defgroup channel Channels
 * @brief Send a buffer of any type to another process, which receives it with any matching type.
 *
 * @snippet test_snippets.c channel
 *
 * A channel connects two processes of one machine through shared memory. Each packs into
 * staging fragments of its own, and the other one unpacks from there: between the two
 * nothing is copied. Buffers may be in any memory, also on a device.
 *
 * **Messages** have a tag. A receive takes the oldest message with its tag, and a message
 * the oldest receive. Its basic types must be those with which the receive's type begins
 * (MPI 4.1 section 3.3.1): a receive may have room for more. A message that is longer fails
 * with DTCONV_ERR_TRUNCATE, one of other basic types with DTCONV_ERR_SIGNATURE, at both
 * ends, and moves nothing. The channel goes on.
 *
 * **Completion.** A send completes when the receiver has unpacked the message, so a process
 * that waits for a send before it posts the receive that its peer waits for waits for ever.
 * Operations complete in any order. Messages that no receive takes yet occupy no memory of
 * the receiver. At most #DTCONV_CHANNEL_MESSAGES of one direction are under way; further
 * sends begin when earlier ones complete.
 *
 * **The end.** If the peer closes its channel, its process ends, or it breaks the protocol,
 * the channel ends: operations end with DTCONV_ERR_PEER (DTCONV_ERR_FORMAT for the
 * protocol) when devices no longer use their memory. Messages that no receive has taken are
 * dropped. If a device context is lost while its device writes to all staging fragments, the
 * channel ends with DTCONV_ERR_BACKEND. A process that cannot map the peer's staging memory, because
 * that is a device's, ends the channel with DTCONV_ERR_UNSUPPORTED or DTCONV_ERR_BACKEND. The end is noticed by the socket, not by a timeout; a child of the peer that holds
 * the socket open keeps it alive.
 *
 * **Direct messages.** If both ends set #DTCONV_CHANNEL_DIRECT, the sender offers each message
 * that is not empty and lies in memory of cudaMalloc: a handle of the allocation
 * (@ref ipc "dtconv_ipc_export()"), and its type. If the receive's buffer is device memory, the
 * receiver maps the allocation and copies the message with one kernel. Otherwise, and where
 * memory cannot be mapped or one kernel cannot copy, the message is staged as without the flag,
 * and the log says why (level debug). So it is until the receiver's kernels are loaded: call
 * dtconv_prepare() before. dtconv_channel_query() counts direct messages. The channel has 4 MiB
 * of host memory for offers.
 *
 * - A send of a direct message completes when the copy has. Then the sender may write to its
 *   buffer. The receiver's mapping stays in a cache, and CUDA wants it closed before the
 *   sender frees the memory: the receiver calls dtconv_ipc_trim().
 * - Mapping an allocation for the first time blocks progress (tens of microseconds; if an idle
 *   mapping of freed memory is in the way, until the device is idle).
 * - If the channel ends while a copy is in flight, the send ends at once with
 *   DTCONV_ERR_PEER or DTCONV_ERR_CANCELED, but the peer's device may read the buffer until
 *   its copy has ended. The receive ends when the copy has.
 * - Inside one process messages are staged.
 *
 * **Security.** A peer sees the bytes of the messages that are sent to it, and nothing else:
 * the staging memory of a channel belongs to it alone. #DTCONV_CHANNEL_DIRECT gives that up,
 * because CUDA IPC maps whole allocations: a peer can read and write every allocation of which
 * a message was offered, so set the flag only for a peer that may. Nothing that a peer writes
 * makes this process access memory outside of what it has mapped for that peer. `doc/two-processes.md`
 * says more.
 *
 * **Progress and threads** are those of the engine (@ref flow "Flow"): callbacks are called
 * by dtconv_engine_progress(), without a lock. Functions may be called by any thread, also
 * from callbacks, except where the description restricts them.
 * @{
 */

/** The most messages of one direction that are under way. */
#define DTCONV_CHANNEL_MESSAGES 256

/** The most fragments of a channel. */
#define DTCONV_CHANNEL_FRAGMENTS_MAX 1024

/** The least number of bytes of a secret. */
#define DTCONV_CHANNEL_SECRET_MIN 16

/** Flags of struct dtconv_channel_params. */
enum dtconv_channel_flags {
	DTCONV_CHANNEL_ANY_USER = 1, /**< the peer's process may be another user's */
	/**
	 * Messages between device buffers may be copied by one kernel of the receiver's, from the
	 * sender's layout to the receiver's, without staging memory. Both ends have to set it. The
	 * peer's process then maps whole allocations of this process, which it can read and write:
	 * see "Direct messages". Shared memory only; other transports refuse it with
	 * DTCONV_ERR_UNSUPPORTED.
	 */
	DTCONV_CHANNEL_DIRECT = 2
};

/** Options of a channel. Zero-initialise, set struct_size, then what differs from the default. */
struct dtconv_channel_params {
	size_t struct_size; /**< sizeof(struct dtconv_channel_params) */
	unsigned flags;     /**< of enum dtconv_channel_flags */
	/** of staging memory: PINNED (default); HOST: never registered with a device; or DEVICE: memory
	 * of the device, which over shared memory the peer's device reads, through the link if it is
	 * another one, which a UCX that was built with CUDA carries, and which an adapter of verbs
	 * reaches as a DMA-BUF or through a peer module of the device driver; MPI refuses it */
	enum dtconv_memory_kind kind;
	/** ordinal of the device that staging memory is registered with, the peer's too; negative:
	 * the device of the calling thread's current device context */
	int device;
	size_t fragment_bytes; /**< capacity of a staging fragment; default: 262144 */
	size_t fragments; /**< number of staging fragments, at most DTCONV_CHANNEL_FRAGMENTS_MAX; default: 16 */
	/** what carries the messages, from a library of its own, for example libdtconv-verbs; must
	 * outlive the channels; default: shared memory */
	const struct dtconv_transport *transport;
	/** over TCP: bytes that only the two processes know, copied; at least
	 * DTCONV_CHANNEL_SECRET_MIN */
	const void *secret;
	size_t secret_bytes; /**< their number */
};

/** How far a channel is. */
enum dtconv_channel_state {
	DTCONV_CHANNEL_CONNECTING, /**< the peer has not introduced itself; sends wait */
	DTCONV_CHANNEL_OPEN,       /**< messages flow */
	DTCONV_CHANNEL_ENDED       /**< operations have failed or will */
};

/**
 * Create a channel over a connected socket.
 *
 * @param engine  the engine that makes progress with it; must outlive the channel.
 * @param fd      a connected Unix socket of type SOCK_SEQPACKET, for example one of
 *                `socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds)`; closed with
 *                the channel. If this fails it stays the caller's.
 * @param params  [in] options, copied; NULL for the defaults.
 * @param channel [out] the new channel, owned by the caller.
 * @return 0; DTCONV_ERR_INVAL if an option has an undefined value or @p fd is no such socket;
 *         DTCONV_ERR_PEER if the peer is another user's process; DTCONV_ERR_NOMEM;
 *         DTCONV_ERR_AGAIN if the system has no file descriptor; DTCONV_ERR_LIMIT if the
 *         engine has DTCONV_ENGINE_SOURCES_MAX sources.
 *
 * The other end must do the same. Does not wait for it, but blocks while staging memory is
 * allocated and registered. When the peer has introduced itself, progress maps its staging
 * memory and registers it with the device, once (milliseconds).
 */
DTCONV_API int dtconv_channel_open(struct dtconv_engine *engine, int fd,
				   const struct dtconv_channel_params *params,
				   struct dtconv_channel **channel);

/**
 * Create a channel to a process that listens.
 *
 * @param engine  the engine that makes progress with it; must outlive the channel.
 * @param address [in] as in dtconv_channel_listen().
 * @param params  [in] options, copied; NULL for the defaults.
 * @param channel [out] the new channel, owned by the caller.
 * @return as dtconv_channel_open(); DTCONV_ERR_PEER also if no process listens there,
 *         DTCONV_ERR_AGAIN also if too many wait to be accepted.
 *
 * The user of the process that listens is checked as well. Blocks as dtconv_channel_open().
 */
DTCONV_API int dtconv_channel_connect(struct dtconv_engine *engine, const char *address,
				      const struct dtconv_channel_params *params,
				      struct dtconv_channel **channel);

/**
 * Listen for processes that connect.
 *
 * @param engine   the engine that makes progress with it; must outlive the listener.
 * @param address  [in] a path, or `@` and a name that is in no file system; 2 to 107
 *                 characters. A path is created, and removed with the listener. For a
 *                 transport between machines also `tcp:ADDRESS:PORT` with an IPv4 address or an
 *                 IPv6 address in brackets, as numbers.
 * @param params   [in] options of the channels, copied; NULL for the defaults.
 * @param listener [out] the new listener, owned by the caller.
 * @return 0; DTCONV_ERR_INVAL if an option has an undefined value or the system refuses the
 *         address; DTCONV_ERR_STATE if the address is in use; DTCONV_ERR_NOMEM;
 *         DTCONV_ERR_AGAIN and DTCONV_ERR_LIMIT as in dtconv_channel_open().
 *
 * Over TCP the listener is bound to that address only, and params.secret is needed: each
 * process shows the other that it knows the secret, which is not sent, before anything else is
 * told. What follows is not encrypted.
 *
 * Connections of other users are refused at once. Nothing is mapped or registered for a process
 * that has not sent its first packet, and it does not block other connections: of those, only
 * the latest stay connected. Does not block.
 */
DTCONV_API int dtconv_channel_listen(struct dtconv_engine *engine, const char *address,
				     const struct dtconv_channel_params *params,
				     struct dtconv_listener **listener);

/**
 * Create a channel with a process that has connected.
 *
 * @param listener the listener.
 * @param channel  [out] the new channel, owned by the caller.
 * @return 0; DTCONV_ERR_AGAIN if no process has connected (no error text): make progress and try
 *         again; otherwise as dtconv_channel_open(), and the connection is refused.
 *
 * Blocks as dtconv_channel_open().
 */
DTCONV_API int dtconv_channel_accept(struct dtconv_listener *listener,
				     struct dtconv_channel **channel);

/**
 * Stop listening.
 *
 * @param listener the listener, or NULL.
 * @return 0; DTCONV_ERR_STATE if called from a callback of the engine (nothing happened).
 *
 * Channels that were accepted stay. Waits until no thread makes progress.
 */
DTCONV_API int dtconv_listener_destroy(struct dtconv_listener *listener);

/**
 * Send a message.
 *
 * @param channel the channel.
 * @param tag     of the message.
 * @param type    a committed type; the message holds a reference.
 * @param count   number of instances of @p type at @p buffer.
 * @param buffer  [in] the data, borrowed until @p done. Work of CUDA streams on it must be
 *                complete.
 * @param done    called once, with the number of bytes sent; may be NULL. 0: the receiver has
 *                unpacked them. DTCONV_ERR_TRUNCATE, DTCONV_ERR_SIGNATURE: they did not fit
 *                the receive. DTCONV_ERR_PEER: the channel has ended. DTCONV_ERR_CANCELED: this
 *                process has closed it.
 * @param arg     passed to @p done.
 * @return 0; DTCONV_ERR_INVAL if the type belongs to another context; DTCONV_ERR_STATE and
 *         DTCONV_ERR_OVERFLOW as in dtconv_pack(); DTCONV_ERR_NOMEM; if the channel has ended,
 *         with what status. Then @p done is not called.
 *
 * Messages with one tag are received in the order of the calls. Does not block.
 */
DTCONV_API int dtconv_channel_send(struct dtconv_channel *channel, uint64_t tag,
				   struct dtconv_type *type, size_t count,
				   const void *buffer, dtconv_done_fn done, void *arg);

/**
 * Receive a message.
 *
 * @param channel the channel.
 * @param tag     which messages to take.
 * @param type    a committed type; the receive holds a reference.
 * @param count   number of instances of @p type that fit at @p buffer.
 * @param buffer  [out] the data, borrowed until @p done.
 * @param done    called once, with the number of bytes received; may be NULL. Statuses as in
 *                dtconv_channel_send(). If the sender's process fails in the middle, part of
 *                the message may have been unpacked.
 * @param arg     passed to @p done.
 * @return as dtconv_channel_send().
 *
 * Does not block.
 */
DTCONV_API int dtconv_channel_recv(struct dtconv_channel *channel, uint64_t tag,
				   struct dtconv_type *type, size_t count, void *buffer,
				   dtconv_done_fn done, void *arg);

/** Numbers of a channel. */
struct dtconv_channel_attr {
	size_t struct_size; /**< sizeof(struct dtconv_channel_attr), set by the caller */
	enum dtconv_channel_state state; /**< how far it is */
	int status; /**< why it has ended; 0 before that */
	long peer_process; /**< ID of the process that connected or listened, or that made the socket pair; -1 over TCP */
	long peer_user;    /**< its user ID; -1 over TCP */
	size_t fragments; /**< of this process */
	size_t free;      /**< of those, not in use */
	size_t operations; /**< sends and receives that are not complete, and a close that is not */
	size_t waiting;     /**< messages of the peer that no receive has taken */
	uint64_t sent;      /**< messages that the peer has received */
	uint64_t received;  /**< messages received */
	int peer_is_pinned; /**< whether devices read the peer's staging memory directly */
	uint64_t
		sent_direct; /**< of those sent: copied by the peer from this process's memory */
	uint64_t received_direct; /**< of those received: copied from the peer's memory */
};

/**
 * Read the numbers of a channel.
 *
 * @param channel the channel.
 * @param attr    [in,out] struct_size set by the caller, the rest filled in.
 * @return 0; DTCONV_ERR_INVAL if struct_size is 0.
 *
 * Does not block. Numbers are exact when nothing is under way.
 */
DTCONV_API int dtconv_channel_query(struct dtconv_channel *channel,
				    struct dtconv_channel_attr *attr);

/**
 * End a channel: operations end with DTCONV_ERR_CANCELED, the peer's with DTCONV_ERR_PEER.
 *
 * @param channel the channel.
 * @return 0, also if it has ended.
 *
 * Messages that are complete at one end are so at the other. Progress does it. Does not
 * block.
 */
DTCONV_API int dtconv_channel_close(struct dtconv_channel *channel);

/**
 * Destroy a channel.
 *
 * @param channel the channel, or NULL.
 * @return 0; DTCONV_ERR_STATE if operations are not complete (dtconv_channel_close() ends
 *         them) or it is called from a callback of the engine (nothing happened).
 *
 * Waits until no thread makes progress, and until devices no longer use staging memory; over
 * verbs and UCX also for the last headers to reach the peer, for at most a second. An open
 * channel is closed. No other call of the channel may run.
 */
DTCONV_API int dtconv_channel_destroy(struct dtconv_channel *channel);

/** @} */

#ifdef __cplusplus
}
#endif
#endif
