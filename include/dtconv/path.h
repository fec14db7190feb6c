/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a network may do with a buffer before anything of it is staged.
 */
#ifndef DTCONV_PATH_H
#define DTCONV_PATH_H

#include <stddef.h>

#include <dtconv/memory.h>
#include <dtconv/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct dtconv_convertor;

/**
 * @defgroup path Paths
 * @brief Ask whether a buffer must be staged, or may go as it is.
 *
 * @snippet test_snippets.c path
 *
 * A network that reads and writes user memory itself saves the copies of the
 * @ref flow "flow", but not every buffer allows it. Ask before a protocol is chosen: a
 * network that touches memory that it cannot reach fails, or breaks the process.
 * @{
 */

/** What may be done with a buffer. */
enum dtconv_path {
	DTCONV_PATH_STAGE, /**< it must pass through packed memory: dtconv_send_start() */
	DTCONV_PATH_ROW,   /**< it is one run that the network reaches */
	DTCONV_PATH_IOV, /**< it is a few long runs that the network reaches: dtconv_convertor_iov() */
	DTCONV_PATH_PEER /**< a device that reaches the memory may read its layout: dtconv_copy() */
};

/** What a network reaches. Flags of struct dtconv_reach. */
enum dtconv_reach_flags {
	DTCONV_REACH_HOST = 1,   /**< ordinary and pinned host memory */
	DTCONV_REACH_DEVICE = 2, /**< device memory (GPUDirect RDMA, dma-buf) */
	DTCONV_REACH_PEER =
		4 /**< another device maps this device's memory (NVLink, CUDA IPC) */
};

/** What a network is capable of. Zero-initialise, set struct_size, then what holds. */
struct dtconv_reach {
	size_t struct_size; /**< sizeof(struct dtconv_reach) */
	unsigned flags;     /**< of enum dtconv_reach_flags */
	size_t max_iov;     /**< most runs of one message; 0 and 1: only one */
	size_t least_run; /**< least bytes of a run on average for which runs pay; 0: any */
};

/** The answer. */
struct dtconv_path_attr {
	size_t struct_size; /**< sizeof(struct dtconv_path_attr), set by the caller */
	enum dtconv_path path;        /**< what may be done */
	enum dtconv_memory_kind kind; /**< of the buffer; UNKNOWN if it has several */
	int device;                   /**< ordinal of the device that owns it, or -1 */
	void *address;                /**< ROW: its first byte; else NULL */
	size_t bytes;                 /**< of the packed stream */
	size_t runs;                  /**< ROW and IOV: number of runs; else 0 */
	const char *why; /**< STAGE: the reason, a constant string; else NULL */
};

/**
 * Find out what a network may do with a convertor's buffer.
 *
 * @param convertor a convertor of either direction, with no operation in flight. Its
 *                  position does not matter and does not change.
 * @param reach     [in] what the network is capable of.
 * @param attr      [in,out] struct_size set by the caller, the rest filled in.
 * @return 0; DTCONV_ERR_INVAL if a struct_size is 0 or a flag is unknown; DTCONV_ERR_STATE
 *         if an operation is in flight.
 *
 * A buffer must be staged if its stream has a representation, an operation or a checksum; if
 * its memory is of several kinds, managed, or not reached; if it is device memory in the
 * order of a stream, because a network is not; if it has more runs than max_iov, or they are
 * shorter than least_run. Does not block; does not allocate. Looks at no more than max_iov
 * runs.
 *
 * After an answer of STAGE dtconv_convertor_iov() returns DTCONV_ERR_UNSUPPORTED with the
 * reason, until another answer, dtconv_convertor_configure() or a rebind: a network must not
 * get addresses that it cannot use.
 */
DTCONV_API int dtconv_path(struct dtconv_convertor *convertor,
			   const struct dtconv_reach *reach,
			   struct dtconv_path_attr *attr);

/**
 * Name a path: stage, row, iov, peer.
 * @param path a path.
 * @return the name, a constant string; NULL if there is no such path.
 */
DTCONV_API const char *dtconv_path_name(enum dtconv_path path);

/** @} */

#ifdef __cplusplus
}
#endif
#endif
