/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies between layouts with an operation, in ranges and in the order of a stream: in one call, or started and
 * tested.
 */
#ifndef DTCONV_COPIER_H
#define DTCONV_COPIER_H

#include <stddef.h>

#include <dtconv/convertor.h>
#include <dtconv/memory.h>
#include <dtconv/operation.h>
#include <dtconv/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct dtconv_copier;
struct dtconv_type;

/**
 * @defgroup copier Copiers
 * @brief Copy data from one layout to another in the background, with an operation or in
 * ranges, as often as needed.
 *
 * @snippet test_snippets.c copier
 *
 * A copier is a dtconv_copy() that is bound once and started any number of times. In
 * device memory the copy is one kernel launch. Nothing is packed, and the call returns
 * while the device works. dtconv_copy_with() and dtconv_copy_at() take the same options in
 * one call.
 *
 * @snippet test_snippets.c copier_operation
 *
 * **Operations.** With an operation, each element of the target becomes target op source,
 * as MPI_ACCUMULATE defines it. The operations, and the types they are defined on, are
 * those of @ref operation "unpacking". They must be defined on all elements of the target's
 * type.
 *
 * - Source and target must not overlap, as in MPI. If they overlap, the result is
 *   undefined. Where the library can tell cheaply, it refuses the copy with
 *   DTCONV_ERR_INVAL: both sides contiguous, or the same type at the same address. Layouts
 *   that interleave without a common byte do not overlap.
 * - If elements of the target overlap each other, the result is undefined unless the
 *   operation is replace or no_op.
 * - Copies do not lock the target. Two at the same time must not combine the same elements.
 * - If the copy fails, elements from byte @p moved of the range on may or may not have been
 *   combined. Do not repeat it.
 * - DTCONV_OP_USER calls the function in the thread that starts the copy. It returns
 *   DTCONV_ERR_UNSUPPORTED if the target is device memory.
 *
 * **Ranges.** A copy may be done in parts. Each part is a range of the packed stream, which
 * both sides have in common. Ranges may be copied in any order and cut at any byte. With an
 * operation, an element is combined as a whole, by the range that contains its last byte.
 * That range reads the whole element from the source, so all of it must be there. For
 * minloc and maxloc, and for pairs and a function of the caller's, the same holds for the
 * value with its index.
 *
 * - Create a copier once and start it as often as needed. Starting allocates nothing in
 *   the steady state. Exception: an operation on ordinary host memory with a source in
 *   device memory takes a buffer of up to 64 KiB during the call.
 * - Types are referenced. Buffers are borrowed from start to completion.
 * - One copy of a copier may be in flight. Until it completes, start returns
 *   DTCONV_ERR_STATE.
 * - Buffers, streams and errors follow the rules of @ref convertor "convertors" and @ref
 *   device_memory "device memory". Without DTCONV_COPIER_STREAM, and without
 *   DTCONV_CONTEXT_DEFAULT_STREAM, a copy is not ordered behind any CUDA stream, the
 *   default one included.
 * - A copier belongs to one thread at a time; different copiers are independent.
 * @{
 */

/** Options of a copier. Zero-initialise, set struct_size, then what differs from the default. */
struct dtconv_copier_params {
	size_t struct_size; /**< sizeof(struct dtconv_copier_params) */
	unsigned flags;     /**< of enum dtconv_copier_flags */
	/** with DTCONV_COPIER_STREAM: a CUstream or cudaStream_t; NULL is the legacy default stream */
	void *stream;
	/** what is done with each element of the target; DTCONV_OP_REPLACE, the default: store */
	enum dtconv_op op;
	dtconv_op_fn op_fn; /**< the function for DTCONV_OP_USER, else NULL */
	void *op_arg;       /**< passed to op_fn */
};

/** Flags of struct dtconv_copier_params. */
enum dtconv_copier_flags {
	/** Copy in the order of params.stream, as DTCONV_CONVERTOR_STREAM does. */
	DTCONV_COPIER_STREAM = 1
};

/**
 * Create a copier between two buffers.
 *
 * @param source_type  a committed type.
 * @param source_count number of instances at @p source.
 * @param source       [in] the data to read, borrowed; displacement 0 is here.
 * @param target_type  a committed type of the same context.
 * @param target_count number of instances at @p target.
 * @param target       [in,out] the data to write, borrowed; must not overlap @p source.
 * @param params       [in] options, copied; NULL for the defaults.
 * @param copier       [out] the new copier, owned by the caller.
 * @return 0; DTCONV_ERR_INVAL if the types are of different contexts, params.struct_size
 *         is 0, a flag is unknown, a stream is given without its flag, MPI does not define
 *         the operation on the target's type, or source and target of an operation overlap;
 *         DTCONV_ERR_UNSUPPORTED as in dtconv_op_check(); DTCONV_ERR_SIGNATURE if neither
 *         signature is a prefix of the other; DTCONV_ERR_STATE if a type is not committed;
 *         DTCONV_ERR_OVERFLOW as in dtconv_pack(); DTCONV_ERR_NOMEM.
 *
 * Does not block. Callable from any thread.
 */
DTCONV_API int dtconv_copier_create(struct dtconv_type *source_type, size_t source_count,
				    const void *source, struct dtconv_type *target_type,
				    size_t target_count, void *target,
				    const struct dtconv_copier_params *params,
				    struct dtconv_copier **copier);

/**
 * Start to copy; device work runs in the background.
 *
 * @param copier the copier, not in flight.
 * @param done   called at completion, from dtconv_copier_test() or _wait, with the
 *               number of packed bytes copied; or NULL.
 * @param arg    passed to @p done.
 * @return 0 if the copy was started, even if it has failed already: dtconv_copier_test()
 *         and _wait return its status. DTCONV_ERR_STATE if it is in flight.
 *
 * Host memory is copied before the call returns. The call also waits for copies that one
 * launch cannot do: @ref device_blocking "Blocking calls" lists them.
 */
DTCONV_API int dtconv_copier_start(struct dtconv_copier *copier, dtconv_done_fn done,
				   void *arg);

/**
 * Start to copy a range of the packed stream.
 *
 * @param copier   the copier, not in flight.
 * @param position first byte of the range, at most the length of the source's stream.
 * @param bytes    length of the range in bytes; it ends at the latest with the source's
 *                 stream.
 * @param done     as for dtconv_copier_start().
 * @param arg      passed to @p done.
 * @return as dtconv_copier_start(); DTCONV_ERR_INVAL if @p position is past the end:
 *         nothing was started.
 *
 * As dtconv_copier_start(), which starts the whole stream. The number of bytes copied is
 * that of the range, also where an element that it cuts is combined by another range. If
 * the range ends behind the end of the target's stream, the copy completes with
 * DTCONV_ERR_TRUNCATE. Where the cuts divide no element, a device copies a range in one
 * launch if it copies the whole in one. Costs one search for the position on either side,
 * as dtconv_convertor_seek().
 */
DTCONV_API int dtconv_copier_start_at(struct dtconv_copier *copier, size_t position,
				      size_t bytes, dtconv_done_fn done, void *arg);

/**
 * Ask whether the started copy has completed. If so, its callback is called.
 *
 * @param copier the copier.
 * @param moved  [out] number of packed bytes copied, once completed; may be NULL. If the
 *               copy failed, bytes whose arrival is unknown do not count.
 * @return DTCONV_INPROGRESS; 0 on completion (once); the error of the copy;
 *         DTCONV_ERR_TRUNCATE if the target has room for less than the source (what fits
 *         was copied); DTCONV_ERR_STATE if nothing was started.
 *
 * Never blocks.
 */
DTCONV_API int dtconv_copier_test(struct dtconv_copier *copier, size_t *moved);

/**
 * Wait until the started copy has completed. Its callback is called.
 *
 * @param copier the copier.
 * @param moved  [out] as for dtconv_copier_test(); may be NULL.
 * @return as dtconv_copier_test(), except DTCONV_INPROGRESS.
 */
DTCONV_API int dtconv_copier_wait(struct dtconv_copier *copier, size_t *moved);

/**
 * Destroy a copier. Waits for a copy in flight; its callback is not called.
 * @param copier the copier, or NULL.
 */
DTCONV_API void dtconv_copier_destroy(struct dtconv_copier *copier);

/**
 * Copy data from one layout to another with an operation (MPI_ACCUMULATE), or in a stream.
 *
 * @param source_type  a committed type.
 * @param source_count number of instances at @p source.
 * @param source       [in] the data to read; displacement 0 is here.
 * @param target_type  a committed type of the same context.
 * @param target_count number of instances at @p target.
 * @param target       [in,out] the data to combine with; displacement 0 is here. Must not
 *                     overlap @p source.
 * @param params       [in] options, read during the call only; NULL: none, as
 *                     dtconv_copy().
 * @param moved        [out] number of packed bytes copied, valid even if the call fails;
 *                     may be NULL.
 * @return as dtconv_copier_create(), which says more of the options, and as dtconv_copy();
 *         see also @ref device_errors "device memory".
 *
 * Blocks until done, also in a stream. An operation allocates host memory, which the call
 * frees. Callable from any thread. In device memory, a contiguous source is combined with
 * the target by one launch. Other sources are packed into device memory of the library's
 * first, as dtconv_copy() does where one launch cannot copy.
 */
DTCONV_API int dtconv_copy_with(struct dtconv_type *source_type, size_t source_count,
				const void *source, struct dtconv_type *target_type,
				size_t target_count, void *target,
				const struct dtconv_copier_params *params, size_t *moved);

/**
 * Copy a range of the packed stream from one layout to another.
 *
 * @param source_type  a committed type.
 * @param source_count number of instances at @p source.
 * @param source       [in] the data to read; displacement 0 is here.
 * @param target_type  a committed type of the same context.
 * @param target_count number of instances at @p target.
 * @param target       [in,out] the data to write or to combine with; displacement 0 is
 *                     here. Must not overlap @p source.
 * @param position     first byte of the range, at most the length of the source's stream.
 * @param bytes        length of the range in bytes; it ends at the latest with the source's
 *                     stream.
 * @param params       [in] options, read during the call only; NULL: none.
 * @param moved        [out] number of packed bytes copied, valid even if the call fails;
 *                     may be NULL.
 * @return as dtconv_copy_with(); DTCONV_ERR_INVAL also if @p position is past the end;
 *         DTCONV_ERR_TRUNCATE if the range ends behind the end of the target's stream (what
 *         fits was copied).
 *
 * As dtconv_copy_with(), and as dtconv_copier_start_at() for elements that the range cuts.
 * Nothing is kept between calls, so threads may copy different ranges at once if no element
 * of the target belongs to two.
 */
DTCONV_API int dtconv_copy_at(struct dtconv_type *source_type, size_t source_count,
			      const void *source, struct dtconv_type *target_type,
			      size_t target_count, void *target, size_t position,
			      size_t bytes, const struct dtconv_copier_params *params,
			      size_t *moved);

/** How a copy from one layout to another would be done. */
enum dtconv_copy_way {
	DTCONV_COPY_NOTHING, /**< there is nothing to copy */
	DTCONV_COPY_PACK,    /**< one step: packed into the target, which is contiguous */
	DTCONV_COPY_UNPACK, /**< one step: unpacked from the source, which is contiguous */
	DTCONV_COPY_LAUNCH, /**< one step: one kernel reads and stores each word in its place */
	DTCONV_COPY_SCRATCH, /**< two steps, through scratch memory of a device */
	DTCONV_COPY_BUFFER   /**< two steps, through a small buffer of the host */
};

/**
 * What would be done for a copy between two layouts in two kinds of memory.
 *
 * Texts belong to the library and are valid as long as the context. All are for people,
 * except the names of backends.
 */
struct dtconv_copy_explanation {
	size_t struct_size; /**< sizeof(struct dtconv_copy_explanation), set by the caller */
	enum dtconv_copy_way way; /**< how it would be copied */
	size_t bytes;             /**< number of packed bytes that would be copied */
	double ns;          /**< estimated nanoseconds in all; 0 if no backend can copy */
	const char *kernel; /**< of DTCONV_COPY_LAUNCH: the kernel; else NULL */
	/**
	 * of DTCONV_COPY_LAUNCH: 1 if it shares its launch with other copies of a batch, 0 if it
	 * has one of its own there; see dtconv_batch_add_copy()
	 */
	int shares_launch;
	/** why one launch cannot copy, or should not; NULL if it does or is not needed */
	const char *reason;
	/** backend that packs; NULL if nothing is packed or no backend can */
	const char *pack_backend;
	const char *unpack_backend; /**< the same for unpacking */
	double pack_ns;             /**< estimated nanoseconds to pack; else 0 */
	double unpack_ns;           /**< the same for unpacking */
	/**
	 * Why it cannot be done in this process now; NULL if it can. A device is missing, and the
	 * estimates are those of a device with the default thresholds.
	 */
	const char *missing;
};

/**
 * Read how dtconv_copy() would copy: the data behind dtconv_explain_copy().
 *
 * @param source_type  a committed type.
 * @param source_count number of instances of the source.
 * @param source_kind  where the source would be; DTCONV_MEMORY_UNKNOWN counts as host
 *                     memory.
 * @param target_type  a committed type of the same context.
 * @param target_count number of instances of the target.
 * @param target_kind  where the target would be; DTCONV_MEMORY_UNKNOWN counts as host
 *                     memory.
 * @param explanation  [in,out] struct_size set by the caller, the rest filled in.
 * @return 0; DTCONV_ERR_INVAL if a memory kind is undefined or struct_size is 0; otherwise
 *         as dtconv_copy() for its types.
 *
 * It is about a copy without a stream and without an operation, between buffers that are
 * aligned as allocations are, in memory of one device. Does not block. Callable from any
 * thread.
 */
DTCONV_API int dtconv_explain_copy_way(const struct dtconv_type *source_type,
				       size_t source_count,
				       enum dtconv_memory_kind source_kind,
				       const struct dtconv_type *target_type,
				       size_t target_count,
				       enum dtconv_memory_kind target_kind,
				       struct dtconv_copy_explanation *explanation);

/**
 * Explain, as text, how dtconv_copy() would copy and why: by one kernel, or in which two
 * steps, and at what estimated cost.
 *
 * @param source_type  a committed type.
 * @param source_count number of instances of the source.
 * @param source_kind  where the source would be.
 * @param target_type  a committed type of the same context.
 * @param target_count number of instances of the target.
 * @param target_kind  where the target would be.
 * @param text         [out] receives at most @p capacity - 1 characters and a NUL; may be
 *                     NULL if capacity is 0.
 * @param capacity     size of @p text in bytes.
 * @param length       [out] length of the whole text without the NUL, also if it did not
 *                     fit.
 * @return as dtconv_explain_copy_way(); DTCONV_ERR_TRUNCATE.
 *
 * About the same copy as dtconv_explain_copy_way(). Does not block.
 */
DTCONV_API int dtconv_explain_copy(const struct dtconv_type *source_type,
				   size_t source_count,
				   enum dtconv_memory_kind source_kind,
				   const struct dtconv_type *target_type,
				   size_t target_count,
				   enum dtconv_memory_kind target_kind, char *text,
				   size_t capacity, size_t *length);

/** @} */

#ifdef __cplusplus
}
#endif
#endif
