/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies between layouts that are started and tested, in the order of a stream if wanted.
 */
#ifndef DTCONV_COPIER_H
#define DTCONV_COPIER_H

#include <stddef.h>

#include <dtconv/convertor.h>
#include <dtconv/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct dtconv_copier;
struct dtconv_type;

/**
 * @defgroup copier Copiers
 * @brief Copy data from one layout to another in the background, as often as needed.
 *
 * @snippet test_snippets.c copier
 *
 * A copier is a dtconv_copy() that is bound once and started any number of times. In
 * device memory the copy is one kernel launch. Nothing is packed, and the call returns
 * while the device works.
 *
 * - Create a copier once and start it as often as needed. Starting allocates nothing in
 *   the steady state.
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
 * @param target       [out] the data to write, borrowed; must not overlap @p source.
 * @param params       [in] options, copied; NULL for the defaults.
 * @param copier       [out] the new copier, owned by the caller.
 * @return 0; DTCONV_ERR_INVAL if the types are of different contexts, params.struct_size
 *         is 0, a flag is unknown, or a stream is given without its flag;
 *         DTCONV_ERR_SIGNATURE if neither signature is a prefix of the other;
 *         DTCONV_ERR_STATE if a type is not committed; DTCONV_ERR_OVERFLOW as in
 *         dtconv_pack(); DTCONV_ERR_NOMEM.
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

/** @} */

#ifdef __cplusplus
}
#endif
#endif
