/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Many moves in one call: the faces of a halo, the messages of a step.
 */
#ifndef DTCONV_BATCH_H
#define DTCONV_BATCH_H

#include <stddef.h>

#include <dtconv/convertor.h>
#include <dtconv/memory.h>
#include <dtconv/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct dtconv_batch;
struct dtconv_context;
struct dtconv_type;

/**
 * @defgroup batch Batches
 * A batch is a list of entries, each a whole pack or unpack of its own. Starting it moves all of
 * them: what lies in device memory, by one launch for each device and direction, what lies in ordinary host
 * memory (without a stream of the caller's, mostly also in pinned and managed memory), by the processor.
 * 26 faces of a box so cost about what one of them costs.
 *
 * - It is made once and started as often as need be; entries can be bound to other buffers or
 *   types between. Types are referenced, buffers are borrowed from the start until the completion.
 *   Where they lie is found out by the first start after they were bound: memory that has been freed and
 *   allocated anew since has to be bound anew, also at the same address.
 * - Entries do not know of each other: their packed memory may lie anywhere, also one after the
 *   other. They are moved in no particular order, so what one entry writes, no other may
 *   read or write.
 * - An entry that fails hinders no other, but for those of the same launch. What became of each is told
 *   by dtconv_batch_query_entry.
 * - What convertors say of buffers, device memory, streams and captured graphs (@ref convertor) holds here.
 *   A batch that a graph has captured must be neither bound anew nor destroyed while the graph may
 *   run.
 * - A batch belongs to one thread at a time; different ones are independent.
 * @{
 */

/** Which way an entry moves. */
enum dtconv_batch_direction {
	DTCONV_BATCH_PACK,  /**< from the user's buffer to packed memory */
	DTCONV_BATCH_UNPACK /**< from packed memory to the user's buffer */
};

/** One move of a batch. This struct never changes. */
struct dtconv_batch_entry {
	struct dtconv_type *type; /**< committed, of the batch's context */
	size_t count;             /**< instances of it at @p buffer */
	void *buffer; /**< the user's data, at displacement 0; packing only reads it */
	void *packed; /**< packed memory; unpacking only reads it */
	/** packing: room at @p packed; unpacking: length of the stream there. What fits is moved. */
	size_t bytes;
	enum dtconv_batch_direction direction; /**< which way */
	/** where the buffer is, for callers who know; see struct dtconv_convertor_params */
	enum dtconv_memory_kind user_memory;
	enum dtconv_memory_kind packed_memory; /**< see user_memory */
};

/** What holds for a batch as a whole. Zero means: the default. */
struct dtconv_batch_params {
	size_t struct_size; /**< sizeof(struct dtconv_batch_params) */
	unsigned flags;     /**< of enum dtconv_batch_flags */
	/** with DTCONV_BATCH_STREAM: a CUstream or cudaStream_t, also a default stream's */
	void *stream;
	/** entries that there is room for without an allocation later; default: those given */
	size_t capacity;
};

/** Flags of struct dtconv_batch_params. */
enum dtconv_batch_flags {
	/** Jobs are done in the order of params.stream, as DTCONV_CONVERTOR_STREAM says. */
	DTCONV_BATCH_STREAM = 1
};

/**
 * Create a batch.
 *
 * @param context the context of all its types.
 * @param entries [in] the entries, copied; their types are referenced. May be NULL if @p count is 0.
 * @param count   how many.
 * @param params  copied; NULL for the defaults.
 * @param batch   [out] the batch, owned by the caller.
 * @return 0; DTCONV_ERR_INVAL if a type is NULL or of another context, a direction or a kind of memory has
 *         no meaning, params.struct_size is 0, or a flag is unknown; DTCONV_ERR_STATE if a type
 *         is not committed; DTCONV_ERR_OVERFLOW if count x size leaves size_t or count x extent
 *         ptrdiff_t; DTCONV_ERR_NOMEM. The error's sentence names the entry.
 *
 * Does not block. Callable from any thread.
 */
DTCONV_API int dtconv_batch_create(struct dtconv_context *context,
				   const struct dtconv_batch_entry entries[],
				   size_t count, const struct dtconv_batch_params *params,
				   struct dtconv_batch **batch);

/**
 * Replace all entries of a batch.
 *
 * @param batch   the batch, nothing in flight.
 * @param entries [in] the new entries, copied.
 * @param count   how many.
 * @return as dtconv_batch_create; DTCONV_ERR_STATE also if the batch is in flight. On failure the old
 *         entries stay.
 *
 * Does not block. Allocates only if there have never been as many entries and params.capacity was
 * smaller.
 */
DTCONV_API int dtconv_batch_rebind(struct dtconv_batch *batch,
				   const struct dtconv_batch_entry entries[],
				   size_t count);

/**
 * Replace one entry of a batch.
 *
 * @param batch the batch, nothing in flight.
 * @param index of the entry, from 0.
 * @param entry [in] what it is from now on, copied.
 * @return as dtconv_batch_rebind; DTCONV_ERR_INVAL also if there is no such entry.
 *
 * Does not block; allocates nothing.
 */
DTCONV_API int dtconv_batch_rebind_entry(struct dtconv_batch *batch, size_t index,
					 const struct dtconv_batch_entry *entry);

/**
 * Start to move all entries; a device is waited for only where it has to be.
 *
 * @param batch the batch, nothing in flight.
 * @param done  called at completion, from dtconv_batch_test or _wait, or NULL: with the batch's status and
 *              the bytes moved by all entries.
 * @param arg   handed to @p done.
 * @return 0 if the batch was started; DTCONV_ERR_STATE if it is in flight.
 *
 * What the processor moves has moved when it returns. Moves between a device and ordinary host memory, between
 * devices that do not reach each other, and of entries whose memory changes its kind from stretch to stretch
 * are waited for, too (pinned and managed memory are a device's in a stream); so are others where more than 64 entries
 * cannot go with others in a launch. Allocates only when it is the first one after entries were bound, and for
 * what a device is used for the first time.
 */
DTCONV_API int dtconv_batch_start(struct dtconv_batch *batch, dtconv_done_fn done,
				  void *arg);

/**
 * Ask whether a started batch is finished; runs its callback if so.
 *
 * @param batch the batch.
 * @param moved [out] bytes moved by all entries, once finished; may be NULL.
 * @return DTCONV_INPROGRESS; 0 when all entries are finished (exactly once); the status of the first of
 *         the entries, by index, that failed, DTCONV_ERR_TRUNCATE if one had more bytes to move than room;
 *         DTCONV_ERR_STATE if nothing was started.
 */
DTCONV_API int dtconv_batch_test(struct dtconv_batch *batch, size_t *moved);

/**
 * Wait until a started batch is finished; runs its callback.
 *
 * @param batch the batch.
 * @param moved [out] bytes moved by all entries; may be NULL.
 * @return as dtconv_batch_test, but for DTCONV_INPROGRESS.
 */
DTCONV_API int dtconv_batch_wait(struct dtconv_batch *batch, size_t *moved);

/**
 * Move all entries: start and wait in one.
 *
 * @param batch the batch, nothing in flight.
 * @param moved [out] bytes moved by all entries, exact also on failure; may be NULL.
 * @return as dtconv_batch_wait; DTCONV_ERR_STATE if the batch is in flight.
 *
 * Blocks until done.
 */
DTCONV_API int dtconv_batch_run(struct dtconv_batch *batch, size_t *moved);

/** What a batch is. */
struct dtconv_batch_attr {
	size_t struct_size; /**< sizeof(struct dtconv_batch_attr), set by the caller */
	size_t count;       /**< entries */
	size_t bytes;       /**< that all of them have to move */
	int in_flight;      /**< 1 between start and its completion */
	/** the first entry of the last run that failed, or count if none did */
	size_t failed;
};

/**
 * Read what a batch is.
 *
 * @param batch the batch.
 * @param attr  [in,out] struct_size set by the caller, the rest filled in.
 * @return 0; DTCONV_ERR_INVAL if struct_size is 0.
 *
 * Does not block; allocates nothing.
 */
DTCONV_API int dtconv_batch_query(const struct dtconv_batch *batch,
				  struct dtconv_batch_attr *attr);

/** What became of an entry. */
struct dtconv_batch_entry_attr {
	size_t struct_size; /**< sizeof(struct dtconv_batch_entry_attr), set by the caller */
	int status;   /**< 0 or a negative enum dtconv_status; 0 before the first run */
	size_t moved; /**< packed bytes moved, exact also on failure */
	size_t bytes; /**< length of its whole stream */
};

/**
 * Read what became of an entry when the batch was last moved.
 *
 * @param batch the batch, nothing in flight.
 * @param index of the entry, from 0.
 * @param attr  [in,out] struct_size set by the caller, the rest filled in.
 * @return 0; DTCONV_ERR_INVAL if struct_size is 0 or there is no such entry; DTCONV_ERR_STATE if
 *         the batch is in flight.
 *
 * Does not block; allocates nothing.
 */
DTCONV_API int dtconv_batch_query_entry(const struct dtconv_batch *batch, size_t index,
					struct dtconv_batch_entry_attr *attr);

/**
 * Destroy a batch. One in flight is waited for; its callback does not run.
 * @param batch the batch, or NULL.
 */
DTCONV_API void dtconv_batch_destroy(struct dtconv_batch *batch);

/**
 * Move many entries once: create, run and destroy in one.
 *
 * @param context the context of all types.
 * @param entries [in] what to move.
 * @param count   how many.
 * @param params  as for dtconv_batch_create; NULL for the defaults.
 * @param failed  [out] the first entry that failed, or @p count; may be NULL.
 * @param moved   [out] bytes moved by all entries, exact also on failure; may be NULL.
 * @return as dtconv_batch_create and dtconv_batch_wait.
 *
 * Blocks until done. Allocates; callers who move the same entries again keep a batch.
 */
DTCONV_API int dtconv_batch_move(struct dtconv_context *context,
				 const struct dtconv_batch_entry entries[], size_t count,
				 const struct dtconv_batch_params *params, size_t *failed,
				 size_t *moved);

/** @} */

#ifdef __cplusplus
}
#endif
#endif
