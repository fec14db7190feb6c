/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The flow: messages through staging fragments, over a network that the application owns.
 */
#ifndef DTCONV_FLOW_H
#define DTCONV_FLOW_H

#include <stddef.h>
#include <stdint.h>

#include <dtconv/convertor.h>
#include <dtconv/memory.h>
#include <dtconv/pool.h>
#include <dtconv/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct dtconv_context;
struct dtconv_convertor;
struct dtconv_engine;
struct dtconv_recv;
struct dtconv_send;

/**
 * @defgroup flow Flow
 * @brief Pipeline a message between a user's buffer and the fragments of a network.
 *
 * @snippet test_snippets.c flow
 *
 * A *send* packs a buffer into fragments of a pool and hands each to the network as soon as
 * it is packed (`emit`). A *receive* unpacks fragments as the network delivers them, and
 * gives each back as soon as it is unpacked (`release`). Copies and transfers overlap:
 * several fragments are in flight at a time, on the device and in the network. The two
 * halves of a fragment's way complete apart:
 *
 * | who | call | meaning |
 * |---|---|---|
 * | library | `emit` | a fragment is packed: send it |
 * | network | dtconv_fragment_sent() | it has left, its memory may be used again |
 * | network | dtconv_recv_deliver() | a part of the message has arrived here |
 * | library | `release` | it has been unpacked, its memory may be used again |
 * | library | `done` | the operation is complete, nothing of it is in use any more |
 *
 * **Engine.** An *engine* makes progress: it calls the callbacks above, in the thread that
 * calls dtconv_engine_progress(), or in one of its own. Several engines in a context are
 * independent.
 *
 * **Callbacks** run without a lock of the library. Every function of this header and of
 * pool.h may be called from every callback; dtconv_engine_progress() then returns at once.
 * No callback runs inside start, deliver, sent or cancel.
 *
 * **Failures.** An operation ends once, with the first status that was not 0. It starts
 * nothing new from then on, and its `done` is called when all of its fragments are back:
 * a device may still write to a fragment and a network may still read it. So a network that
 * has lost its peer must call dtconv_fragment_sent() for every fragment that it has taken.
 * Cancelling and timeouts do not change that. Only a device whose context is lost may still
 * write to the user's memory afterwards, as it may to its fragments (see pool.h).
 *
 * **Threads.** All functions may be called by any thread, except those that the description
 * restricts. The convertor of an operation belongs to the operation until `done`.
 * @{
 */

/* ---- engine ------------------------------------------------------------------------------ */

/** Flags of struct dtconv_engine_params. */
enum dtconv_engine_flags {
	DTCONV_ENGINE_THREAD = 1 /**< make progress in a thread of the engine */
};

/** Options of an engine. Zero-initialise, set struct_size, then what differs from the default. */
struct dtconv_engine_params {
	size_t struct_size; /**< sizeof(struct dtconv_engine_params) */
	unsigned flags;     /**< of enum dtconv_engine_flags */
	unsigned
		spin_us; /**< how long the engine's thread polls before it sleeps; default: 50 */
	unsigned timeout_ms; /**< of operations that set none; default: no timeout */
};

/** Callbacks that dtconv_engine_progress() makes if its budget is 0. */
#define DTCONV_ENGINE_BUDGET 64

/**
 * Create an engine.
 *
 * @param context the context; must outlive the engine.
 * @param params  [in] options, copied; NULL for the defaults.
 * @param engine  [out] the new engine, owned by the caller.
 * @return 0; DTCONV_ERR_INVAL if struct_size is 0 or a flag is unknown; DTCONV_ERR_AGAIN if
 *         the system has no file descriptor or thread; DTCONV_ERR_NOMEM.
 *
 * Does not block.
 */
DTCONV_API int dtconv_engine_create(struct dtconv_context *context,
				    const struct dtconv_engine_params *params,
				    struct dtconv_engine **engine);

/**
 * Make progress: poll sources and devices, and call callbacks that are due.
 *
 * @param engine the engine.
 * @param budget the most callbacks to call; 0: DTCONV_ENGINE_BUDGET.
 * @param worked [out] number of callbacks called and copies found complete; may be NULL.
 * @return 0; never fails with an engine.
 *
 * Does not block, but host memory is copied in this call. One thread at a time makes
 * progress: for others, and for calls from a callback, @p worked is 0.
 */
DTCONV_API int dtconv_engine_progress(struct dtconv_engine *engine, size_t budget,
				      size_t *worked);

/**
 * The file descriptor to sleep on, after dtconv_engine_arm() has returned 0.
 *
 * @param engine the engine.
 * @return a descriptor for poll() and epoll, readable when dtconv_engine_progress() has
 *         something to do; owned by the engine. Negative enum dtconv_status if it is NULL.
 */
DTCONV_API int dtconv_engine_fd(const struct dtconv_engine *engine);

/**
 * Announce that the caller is going to sleep on dtconv_engine_fd().
 *
 * @param engine the engine.
 * @return 0: whatever happens from now on makes the descriptor readable. DTCONV_ERR_AGAIN
 *         (no error text): there is something to do; call dtconv_engine_progress() and then
 *         this again.
 *
 * The descriptor may also become readable for no reason. With device copies in flight it
 * becomes readable every 10 ms, because a failed device does not signal it; with copies
 * whose end the driver cannot signal, every 0.2 ms. Blocks only while the driver's queue
 * is full.
 */
DTCONV_API int dtconv_engine_arm(struct dtconv_engine *engine);

/**
 * Wake the thread that sleeps on the engine's descriptor, if any. It then offers fragments
 * again that `emit` has refused.
 *
 * @param engine the engine.
 * Does not block. Callable from any thread and from signal handlers.
 */
DTCONV_API void dtconv_engine_wake(struct dtconv_engine *engine);

/** Something that the engine polls, usually a network. */
struct dtconv_source {
	/** Becomes readable when poll has something to do, after arm has returned 0; -1: none. */
	int fd;
	/**
	 * Poll it: call dtconv_fragment_sent() and dtconv_recv_deliver() for what has happened.
	 * @return how many things have happened.
	 */
	size_t (*poll)(void *arg, size_t budget);
	/** Called before the engine sleeps; 0, or DTCONV_ERR_AGAIN: poll first. NULL: always 0. */
	int (*arm)(void *arg);
	void *arg; /**< passed to both */
};

/** The most sources of an engine. */
#define DTCONV_ENGINE_SOURCES_MAX 16

/**
 * Have the engine poll a source.
 *
 * @param engine the engine.
 * @param source [in] copied.
 * @param number [out] for dtconv_engine_detach().
 * @return 0; DTCONV_ERR_INVAL if it has no poll function or epoll refuses its descriptor;
 *         DTCONV_ERR_LIMIT if the engine has DTCONV_ENGINE_SOURCES_MAX.
 *
 * A source without a descriptor keeps the engine's thread from sleeping for longer than
 * 0.2 ms. Does not block.
 */
DTCONV_API int dtconv_engine_attach(struct dtconv_engine *engine,
				    const struct dtconv_source *source, unsigned *number);

/**
 * Stop polling a source. While another thread makes progress, it may be polled once more.
 *
 * @param engine the engine.
 * @param number from dtconv_engine_attach().
 * @return 0; DTCONV_ERR_INVAL if there is no such source.
 */
DTCONV_API int dtconv_engine_detach(struct dtconv_engine *engine, unsigned number);

/**
 * Destroy an engine.
 *
 * @param engine the engine, or NULL.
 * @return 0; DTCONV_ERR_STATE if operations are not done or progress is being made, as in
 *         every callback (nothing happened).
 *
 * Waits for the engine's thread. No other call of the engine may run.
 */
DTCONV_API int dtconv_engine_destroy(struct dtconv_engine *engine);

/* ---- send -------------------------------------------------------------------------------- */

/** Flags of a fragment that is emitted. */
enum dtconv_emit_flags {
	DTCONV_EMIT_FIRST = 1, /**< it begins at offset 0 */
	DTCONV_EMIT_LAST = 2   /**< it ends at the end of the message */
};

/**
 * Send a packed fragment.
 *
 * @param arg      the pointer given to dtconv_send_start().
 * @param fragment the fragment; dtconv_fragment_query() says where it is and what the
 *                 registrars returned.
 * @param offset   of its first byte in the packed stream.
 * @param bytes    number of bytes in it.
 * @param flags    of enum dtconv_emit_flags.
 * @return 0: taken; dtconv_fragment_sent() will be called for it exactly once, possibly
 *         before this returns. DTCONV_ERR_AGAIN: not taken; it is offered again, and those
 *         behind it wait. Any other value: not taken, and the operation fails with it.
 */
typedef int (*dtconv_emit_fn)(void *arg, struct dtconv_fragment *fragment,
			      uint64_t offset, size_t bytes, unsigned flags);

/** Flags of struct dtconv_send_params. */
enum dtconv_send_flags {
	DTCONV_SEND_ORDERED = 1 /**< emit fragments in the order of their offsets */
};

/** What to send, and how. Zero-initialise, set struct_size, then what differs from the default. */
struct dtconv_send_params {
	size_t struct_size; /**< sizeof(struct dtconv_send_params) */
	struct dtconv_pool
		*pool;       /**< where fragments come from; must outlive the operation */
	dtconv_emit_fn emit; /**< required */
	dtconv_done_fn
		done;   /**< called once, with the number of bytes sent; may be NULL */
	void *arg;      /**< passed to both */
	unsigned flags; /**< of enum dtconv_send_flags */
	/**
	 * most bytes of a fragment; default: threshold fragment_bytes, and for messages of a device
	 * that are longer, the root of the product of both; in any case at most the pool's. Rounded
	 * so that cuts are aligned, unless one fragment holds the message.
	 */
	size_t fragment_bytes;
	unsigned
		depth; /**< most fragments in use at a time, 1 to 16; default: threshold fragment_depth */
	unsigned
		timeout_ms; /**< fails with DTCONV_ERR_TIMEOUT after that; default: the engine's */
};

/**
 * Start to send the whole stream of a convertor.
 *
 * @param engine    the engine that makes progress with it.
 * @param params    [in] options, copied.
 * @param convertor a convertor that packs; belongs to the operation until `done`. If it has
 *                  a stream, all copies are done in the order of that stream.
 * @param send      [in,out] in: a send that is done, to be used again, or NULL; out: the
 *                  operation, owned by the caller.
 * @return 0; DTCONV_ERR_INVAL if an option is missing or has an undefined value, or the
 *         objects belong to different contexts; DTCONV_ERR_STATE if the convertor unpacks or
 *         is in use, or @p send is not done; DTCONV_ERR_NOMEM.
 *
 * Packs nothing yet, calls nothing back, does not block. Allocates only if @p send is NULL.
 * An empty stream emits nothing. If the pool has no fragment, the operation waits for its
 * turn: operations get fragments in the order in which they asked.
 */
DTCONV_API int dtconv_send_start(struct dtconv_engine *engine,
				 const struct dtconv_send_params *params,
				 struct dtconv_convertor *convertor,
				 struct dtconv_send **send);

/**
 * Report that an emitted fragment has been sent, or never will be.
 *
 * @param fragment a fragment that `emit` has taken.
 * @param status   0, or why the network failed: the operation then fails with it.
 *
 * Must be called exactly once. The network no longer accesses the fragment. Does not block,
 * allocates nothing. A fragment that is not with the network is left alone, and the log gets
 * a line at level error.
 */
DTCONV_API void dtconv_fragment_sent(struct dtconv_fragment *fragment, int status);

/**
 * Ask a send to end with DTCONV_ERR_CANCELED. `done` is called when all fragments are back.
 *
 * @param send the operation.
 * @return 0; DTCONV_ERR_STATE if it is done already.
 *
 * Does not block. If it completes first, its status is that of the completion.
 */
DTCONV_API int dtconv_send_cancel(struct dtconv_send *send);

/**
 * Free a send.
 *
 * @param send the operation, or NULL.
 * @return 0; DTCONV_ERR_STATE if it is not done (nothing happened). Allowed from its `done`.
 */
DTCONV_API int dtconv_send_destroy(struct dtconv_send *send);

/* ---- receive ----------------------------------------------------------------------------- */

/** What to receive. Zero-initialise, set struct_size, then what differs from the default. */
struct dtconv_recv_params {
	size_t struct_size; /**< sizeof(struct dtconv_recv_params) */
	dtconv_done_fn
		done; /**< called once, with the number of bytes unpacked; may be NULL */
	void *arg;    /**< passed to done */
	unsigned flags; /**< 0, or DTCONV_RECV_BYTES */
	size_t bytes;   /**< with DTCONV_RECV_BYTES: length of the message */
	unsigned
		timeout_ms; /**< fails with DTCONV_ERR_TIMEOUT after that; default: the engine's */
};

/** Flags of struct dtconv_recv_params. */
enum dtconv_recv_flags {
	DTCONV_RECV_BYTES =
		1 /**< the message has params.bytes, not all that the convertor takes */
};

/**
 * Start to receive into a convertor's buffer.
 *
 * @param engine    the engine that makes progress with it.
 * @param params    [in] options, copied; NULL for the defaults.
 * @param convertor a convertor that unpacks; belongs to the operation until `done`.
 * @param recv      [in,out] in: a receive that is done, to be used again, or NULL; out: the
 *                  operation, owned by the caller.
 * @return as dtconv_send_start(); DTCONV_ERR_TRUNCATE if params.bytes exceeds what the
 *         convertor takes.
 *
 * It is done when every byte of the message has been unpacked. An empty message is done at
 * the next progress. Does not block. Allocates only if @p recv is NULL.
 */
DTCONV_API int dtconv_recv_start(struct dtconv_engine *engine,
				 const struct dtconv_recv_params *params,
				 struct dtconv_convertor *convertor,
				 struct dtconv_recv **recv);

/**
 * Called when delivered bytes are no longer needed.
 *
 * @param arg    the pointer given to dtconv_recv_deliver().
 * @param status 0: they have been unpacked, or had arrived before. DTCONV_ERR_TRUNCATE: they
 *               reach beyond the end of the message. Otherwise the operation has failed.
 */
typedef void (*dtconv_release_fn)(void *arg, int status);

/**
 * Deliver bytes of the message that have arrived.
 *
 * @param recv    the operation.
 * @param offset  of the first byte in the packed stream.
 * @param bytes   [in] the bytes, borrowed until @p release; of any memory kind.
 * @param length  number of bytes.
 * @param release called exactly once, from progress, if this returns 0; may be NULL.
 * @param arg     passed to @p release.
 * @return 0; DTCONV_ERR_STATE if the operation is done; DTCONV_ERR_NOMEM.
 *
 * Parts may come in any order, of any length, twice, and overlap: each byte of the stream is
 * unpacked once. Overlapping parts must hold the same bytes. A part beyond the end fails the
 * operation with DTCONV_ERR_TRUNCATE. Unpacks nothing yet, does not block; allocates only if
 * more parts are waiting than ever before.
 */
DTCONV_API int dtconv_recv_deliver(struct dtconv_recv *recv, uint64_t offset,
				   const void *bytes, size_t length,
				   dtconv_release_fn release, void *arg);

/**
 * Make a receive fail, for example because its peer is gone.
 *
 * @param recv   the operation.
 * @param status a negative enum dtconv_status.
 * @return 0; DTCONV_ERR_STATE if it is done already; DTCONV_ERR_INVAL if @p status is not
 *         negative.
 *
 * `done` is called when devices no longer read delivered bytes. Does not block.
 */
DTCONV_API int dtconv_recv_fail(struct dtconv_recv *recv, int status);

/**
 * As dtconv_recv_fail() with DTCONV_ERR_CANCELED.
 * @param recv the operation.
 * @return as dtconv_recv_fail().
 */
DTCONV_API int dtconv_recv_cancel(struct dtconv_recv *recv);

/**
 * Free a receive.
 *
 * @param recv the operation, or NULL.
 * @return 0; DTCONV_ERR_STATE if it is not done (nothing happened). Allowed from its `done`.
 */
DTCONV_API int dtconv_recv_destroy(struct dtconv_recv *recv);

/** @} */

#ifdef __cplusplus
}
#endif
#endif
