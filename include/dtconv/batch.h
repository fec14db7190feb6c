/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Many packs, unpacks and copies in one call: the faces of a halo, the messages of a time step.
 */
#ifndef DTCONV_BATCH_H
#define DTCONV_BATCH_H

#include <stddef.h>

#include <dtconv/convertor.h>
#include <dtconv/memory.h>
#include <dtconv/operation.h>
#include <dtconv/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct dtconv_batch;
struct dtconv_context;
struct dtconv_type;

/**
 * @defgroup batch Batches
 * @brief Pack, unpack and copy many buffers in one call, with one GPU launch per device and
 * direction.
 *
 * @snippet test_snippets.c batch
 *
 * A batch is a list of entries. Each entry is a whole pack or unpack. Starting the batch
 * moves them all: device memory by one launch for each device and direction, ordinary
 * host memory by the CPU. (Without a stream, the CPU mostly moves pinned and managed
 * memory too.) 26 faces of a box so cost about as much as one.
 *
 * - Create a batch once and start it as often as needed. Entries can be rebound between
 *   starts.
 * - Types are referenced. Buffers are borrowed from start to completion.
 * - The first start after binding finds out where the buffers are. If memory was freed
 *   and allocated anew, rebind its entries, even if the address is the same.
 * - Packed memory of the entries may be anywhere, also back to back.
 * - Entries are moved in no particular order: no entry may read or write what another
 *   entry writes.
 * - Copies from one layout to another are entries, too: dtconv_batch_add_copy(). The copies
 *   of one device share one launch, except those of 256 KiB and more: they get launches of
 *   their own in the same submission.
 * - If an entry fails, the others still complete, except those in the same launch.
 *   dtconv_batch_query_entry() returns the status of each.
 * - Buffers, streams and errors follow the rules of @ref convertor "convertors" and @ref
 *   device_memory "device memory". Without DTCONV_BATCH_STREAM a batch is not ordered
 *   behind any CUDA stream, the default one included.
 * - Do not rebind or destroy a batch that a graph has captured while the graph may run.
 * - A batch belongs to one thread at a time; different batches are independent.
 * @{
 */

/** Direction of an entry. */
enum dtconv_batch_direction {
	DTCONV_BATCH_PACK,  /**< from the user's buffer to packed memory */
	DTCONV_BATCH_UNPACK /**< from packed memory to the user's buffer */
};

/** One pack or unpack of a batch. This struct never changes. */
struct dtconv_batch_entry {
	struct dtconv_type *type; /**< a committed type of the batch's context */
	size_t count;             /**< number of instances at @p buffer */
	void *buffer; /**< the user's data; displacement 0 is here; packing only reads it */
	void *packed; /**< packed memory; unpacking only reads it */
	/** to pack: size of @p packed in bytes; to unpack: length of the stream there; what fits is moved */
	size_t bytes;
	enum dtconv_batch_direction direction; /**< pack or unpack */
	/** hint: where the buffer is; see struct dtconv_convertor_params */
	enum dtconv_memory_kind user_memory;
	enum dtconv_memory_kind packed_memory; /**< hint: where packed memory is */
};

/** Options of a batch. Zero-initialise, set struct_size, then what differs from the default. */
struct dtconv_batch_params {
	size_t struct_size; /**< sizeof(struct dtconv_batch_params) */
	unsigned flags;     /**< of enum dtconv_batch_flags */
	/** with DTCONV_BATCH_STREAM: a CUstream or cudaStream_t; NULL is the legacy default stream */
	void *stream;
	/** number of entries to reserve memory for; default: those given */
	size_t capacity;
};

/** Flags of struct dtconv_batch_params. */
enum dtconv_batch_flags {
	/** Do the jobs in the order of params.stream, as DTCONV_CONVERTOR_STREAM does. */
	DTCONV_BATCH_STREAM = 1
};

/**
 * Create a batch from a list of entries.
 *
 * @param context the context of all types.
 * @param entries [in] the entries, copied; their types are referenced. May be NULL if @p
 *                count is 0.
 * @param count   number of entries.
 * @param params  [in] options, copied; NULL for the defaults.
 * @param batch   [out] the new batch, owned by the caller.
 * @return 0; DTCONV_ERR_INVAL if a type is NULL or of another context, a direction or
 *         memory kind is undefined, params.struct_size is 0, a flag is unknown, or a
 *         stream is given without its flag; DTCONV_ERR_STATE if a type is not committed;
 *         DTCONV_ERR_OVERFLOW if count x size exceeds size_t or count x extent exceeds
 *         ptrdiff_t; DTCONV_ERR_NOMEM. The error text names the entry.
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
 * @param batch   the batch, not in flight.
 * @param entries [in] the new entries, copied; their types are referenced.
 * @param count   number of entries.
 * @return as dtconv_batch_create(); DTCONV_ERR_STATE also if the batch is in flight. On
 *         failure the old entries stay.
 *
 * Does not block. Allocates only if @p count is larger than ever before and than
 * params.capacity.
 */
DTCONV_API int dtconv_batch_rebind(struct dtconv_batch *batch,
				   const struct dtconv_batch_entry entries[],
				   size_t count);

/**
 * Replace one entry of a batch.
 *
 * @param batch the batch, not in flight.
 * @param index of the entry, from 0.
 * @param entry [in] the new entry, copied; its type is referenced.
 * @return as dtconv_batch_rebind(); DTCONV_ERR_INVAL also if there is no such entry.
 *
 * Does not block; does not allocate.
 */
DTCONV_API int dtconv_batch_rebind_entry(struct dtconv_batch *batch, size_t index,
					 const struct dtconv_batch_entry *entry);

/**
 * A copy of a batch, from one layout to another. Zero-initialise, set struct_size, then the
 * rest.
 */
struct dtconv_batch_copy {
	size_t struct_size;              /**< sizeof(struct dtconv_batch_copy) */
	struct dtconv_type *source_type; /**< a committed type of the batch's context */
	size_t source_count;             /**< number of instances at @p source */
	const void *source;              /**< the data to read; displacement 0 is here */
	struct dtconv_type *target_type; /**< a committed type of the batch's context */
	size_t target_count;             /**< number of instances at @p target */
	void *target; /**< the data to write or to combine with; displacement 0 is here */
	/** what is done with each element of the target; DTCONV_OP_REPLACE, the default: store */
	enum dtconv_op op;
	dtconv_op_fn op_fn; /**< the function for DTCONV_OP_USER, else NULL */
	void *op_arg;       /**< passed to op_fn */
};

/**
 * Append a copy from one layout to another to a batch, behind its other entries.
 *
 * @param batch the batch, not in flight.
 * @param copy  [in] the copy, whose members are those of dtconv_copy_with(); its types are
 *              referenced.
 * @param index [out] index of the new entry; may be NULL.
 * @return 0; DTCONV_ERR_INVAL if struct_size is 0, a type is NULL or of another context, or
 *         as dtconv_copier_create() for the operation; DTCONV_ERR_STATE if a type is not
 *         committed or the batch is in flight; DTCONV_ERR_OVERFLOW;
 *         DTCONV_ERR_SIGNATURE if the signatures differ; DTCONV_ERR_UNSUPPORTED;
 *         DTCONV_ERR_NOMEM. On failure the batch is unchanged.
 *
 * The entry is moved in the batch's stream if it has one, and as dtconv_copy() moves it. A
 * copy shares a launch with others if one device can access both sides and one kernel can
 * copy between the layouts; a copy with a contiguous side shares one with packs or unpacks.
 * Between two devices that is the source's device, if it has access to the target.
 * Other copies are submitted one by one: to a device without that access, with an operation,
 * and those that dtconv_copy() does in two steps, for which dtconv_batch_start() waits.
 * dtconv_explain_copy() says which they are.
 *
 * In the results, a copy's stream is the source's. If it is longer than the target's, what
 * fits is copied, and the entry has the status DTCONV_ERR_TRUNCATE.
 *
 * Does not block; allocates.
 */
DTCONV_API int dtconv_batch_add_copy(struct dtconv_batch *batch,
				     const struct dtconv_batch_copy *copy, size_t *index);

/**
 * Replace one entry of a batch, of any kind, by a copy from one layout to another.
 * dtconv_batch_rebind_entry() replaces a copy by a pack or unpack.
 *
 * @param batch the batch, not in flight.
 * @param index of the entry, from 0.
 * @param copy  [in] as for dtconv_batch_add_copy().
 * @return as dtconv_batch_add_copy(); DTCONV_ERR_INVAL also if there is no such entry. On
 *         failure the old entry stays.
 *
 * Does not block; allocates.
 */
DTCONV_API int dtconv_batch_rebind_copy(struct dtconv_batch *batch, size_t index,
					const struct dtconv_batch_copy *copy);

/**
 * Start to move all entries, in the background where a device does the work.
 *
 * @param batch the batch, not in flight.
 * @param done  called at completion, from dtconv_batch_test() or _wait, with the batch's
 *              status and the number of bytes that all entries moved; or NULL.
 * @param arg   passed to @p done.
 * @return 0 if the batch was started: dtconv_batch_test() and _wait return the status of
 *         the entries. DTCONV_ERR_STATE if it is in flight.
 *
 * The CPU's share is done when the call returns. The call also waits for
 * - moves between a device and ordinary host memory (with a stream, pinned and managed
 *   memory count as a device's);
 * - moves between two devices without access to each other;
 * - copies that take two steps;
 * - entries whose memory changes kind from stretch to stretch;
 * - some of the entries, if more than 64 cannot share a launch with others;
 * - the first job in a device context: @ref device_blocking "Blocking calls".
 *
 * Allocates only on the first start after binding, and when a device is used for the
 * first time.
 */
DTCONV_API int dtconv_batch_start(struct dtconv_batch *batch, dtconv_done_fn done,
				  void *arg);

/**
 * Ask whether a started batch has completed. If so, its callback is called.
 *
 * @param batch the batch.
 * @param moved [out] number of bytes that all entries moved, once completed; may be NULL.
 * @return DTCONV_INPROGRESS; 0 when all entries have completed (once); the status of the
 *         first failed entry, by index: DTCONV_ERR_TRUNCATE if it had more bytes to move
 *         than room; DTCONV_ERR_STATE if nothing was started.
 *
 * Never blocks.
 */
DTCONV_API int dtconv_batch_test(struct dtconv_batch *batch, size_t *moved);

/**
 * Wait until a started batch has completed. Its callback is called.
 *
 * @param batch the batch.
 * @param moved [out] number of bytes that all entries moved; may be NULL.
 * @return as dtconv_batch_test(), except DTCONV_INPROGRESS.
 */
DTCONV_API int dtconv_batch_wait(struct dtconv_batch *batch, size_t *moved);

/**
 * Move all entries and wait: start and wait in one call.
 *
 * @param batch the batch, not in flight.
 * @param moved [out] number of bytes that all entries moved, valid even if the call
 *              fails; may be NULL.
 * @return as dtconv_batch_wait(); DTCONV_ERR_STATE if the batch is in flight.
 *
 * Blocks until done.
 */
DTCONV_API int dtconv_batch_run(struct dtconv_batch *batch, size_t *moved);

/** Size and state of a batch. */
struct dtconv_batch_attr {
	size_t struct_size; /**< sizeof(struct dtconv_batch_attr), set by the caller */
	size_t count;       /**< number of entries */
	size_t bytes;       /**< number of packed bytes that all entries have to move */
	int in_flight;      /**< 1 from start to completion */
	/** index of the first entry that failed in the last run; count if none did */
	size_t failed;
};

/**
 * Read the size and state of a batch.
 *
 * @param batch the batch.
 * @param attr  [in,out] struct_size set by the caller, the rest filled in.
 * @return 0; DTCONV_ERR_INVAL if struct_size is 0.
 *
 * Does not block; does not allocate.
 */
DTCONV_API int dtconv_batch_query(const struct dtconv_batch *batch,
				  struct dtconv_batch_attr *attr);

/** Result of one entry. */
struct dtconv_batch_entry_attr {
	size_t struct_size; /**< sizeof(struct dtconv_batch_entry_attr), set by the caller */
	int status;   /**< 0 or a negative enum dtconv_status; 0 before the first run */
	size_t moved; /**< number of packed bytes moved, valid even if the entry failed */
	size_t bytes; /**< length of its whole stream */
};

/**
 * Read the result of one entry in the last run of a batch.
 *
 * @param batch the batch, not in flight.
 * @param index of the entry, from 0.
 * @param attr  [in,out] struct_size set by the caller, the rest filled in.
 * @return 0; DTCONV_ERR_INVAL if struct_size is 0 or there is no such entry;
 *         DTCONV_ERR_STATE if the batch is in flight.
 *
 * Does not block; does not allocate.
 */
DTCONV_API int dtconv_batch_query_entry(const struct dtconv_batch *batch, size_t index,
					struct dtconv_batch_entry_attr *attr);

/**
 * Destroy a batch. Waits if it is in flight; its callback is not called.
 * @param batch the batch, or NULL.
 */
DTCONV_API void dtconv_batch_destroy(struct dtconv_batch *batch);

/**
 * Move many entries once: create, run and destroy in one call.
 *
 * @param context the context of all types.
 * @param entries [in] the entries.
 * @param count   number of entries.
 * @param params  [in] as for dtconv_batch_create(); NULL for the defaults.
 * @param failed  [out] index of the first entry that failed, or @p count; may be NULL.
 * @param moved   [out] number of bytes that all entries moved, valid even if the call
 *                fails; may be NULL.
 * @return as dtconv_batch_create() and dtconv_batch_wait().
 *
 * Blocks until done. Allocates; to move the same entries again, keep a batch. Callable
 * from any thread.
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
