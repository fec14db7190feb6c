/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lists of pages: packs, unpacks and copies pages of a pool by their numbers, without a type.
 */
#ifndef DTCONV_PAGES_H
#define DTCONV_PAGES_H

#include <stddef.h>
#include <stdint.h>

#include <dtconv/memory.h>
#include <dtconv/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct dtconv_context;

/**
 * @defgroup pages Lists of pages
 * @brief Pack, unpack and copy the pages that a table of page numbers lists, as paged caches
 * need it.
 *
 * @snippet test_snippets.c pages
 *
 * The packed stream is, for each layer and in it for each part, the pages in the order of
 * the table, one after another. It does not depend on the size of the pages: two ends that
 * divide the same bytes into pages of different sizes have the same stream. @ref page_lists
 * "Lists of pages" has the layouts of common pools.
 *
 * A page may consist of rows with a distance from each other, such as some of the heads of each
 * token. The stream has their bytes in the order of the rows.
 *
 * - Nothing is created, and in the steady state nothing is allocated. The structure is read
 *   during the call only. A table must not change while it is read: during the call if it is
 *   host memory; until the list has been moved if a device reads it.
 * - A table may list a page twice to pack or to copy from. If it does so to unpack or to copy
 *   to, the page's contents are undefined: bytes of any of its places in the stream.
 * - Packed memory must not overlap the pool, nor the pages that are copied to those that are
 *   copied from; both may be pages of one pool.
 * - Calls block until done, except with DTCONV_PAGES_STREAM and without DTCONV_PAGES_WAIT, and may
 *   come from any thread.
 *
 * A device moves, in one launch for all layers and parts, if a table, a pool or packed memory is
 * a device's, or if the call is ordered by a stream (or, in a context with
 * DTCONV_CONTEXT_DEFAULT_STREAM, by the default stream) and some of the memory is pinned or
 * managed:
 *
 * - Pools and packed memory must then be memory that this device can access: its own,
 *   pinned, managed, or that of a peer with access. The table may also be ordinary host memory,
 *   at any alignment: the call takes the entries that it needs along, and the table
 *   may change as soon as it returns.
 * - The whole pool must be accessible to the device. The library asks for one page of it.
 * - A table that the device reads is aligned to its numbers, and is not copied to the host.
 *
 * Numbers out of range are never used as addresses:
 *
 * - Those of a table in ordinary host memory, and all that the host moves by, are checked
 *   before anything is moved.
 * - A device checks the numbers that it reads while it moves. It leaves out pages whose number
 *   is out of range and moves the others, so the target is undefined if the call fails so.
 * @{
 */

/** Type of the numbers in a table. */
enum dtconv_page_number {
	DTCONV_PAGE_NUMBER_32, /**< int32_t; or uint32_t below 2^31 */
	DTCONV_PAGE_NUMBER_64  /**< int64_t; or uint64_t below 2^63 */
};

/** A list of pages. Zero-initialise, set struct_size, then what differs from the default. */
struct dtconv_pages {
	size_t struct_size; /**< sizeof(struct dtconv_pages) */
	const void *
		table; /**< [in] page numbers, in host memory at any alignment; may be NULL if count is 0 */
	size_t count;                   /**< number of pages in the table */
	enum dtconv_page_number number; /**< their type */
	size_t pool_pages; /**< number of pages in the pool; numbers are below it */
	size_t page_bytes; /**< bytes of the stream in a page of one layer's part, more than 0 */
	/**
	 * bytes from a page to the next number's, at least what the page's rows reach over; default:
	 * rows x row_stride, which is page_bytes if the page is one row
	 */
	size_t page_stride;
	ptrdiff_t
		offset; /**< displacement of page 0 in the first layer's first part, in bytes */
	size_t layer_count;     /**< number of layers; default: 1 */
	ptrdiff_t layer_stride; /**< bytes from a layer to the next one */
	size_t part_count; /**< number of parts of a layer, 2 for keys and values; default: 1 */
	ptrdiff_t part_stride; /**< bytes from a part to the next one */
	/**
	 * bytes of the stream in each layer's part: the last page may be used in part, and pages
	 * behind it not at all; default: count x page_bytes
	 */
	size_t bytes;
	unsigned flags; /**< of enum dtconv_pages_flags */
	/** with DTCONV_PAGES_STREAM: a CUstream or cudaStream_t; NULL is the legacy default stream */
	void *stream;
	/** hint: where the table is; see struct dtconv_convertor_params */
	enum dtconv_memory_kind table_memory;
	enum dtconv_memory_kind pool_memory;   /**< hint: where the pool is */
	enum dtconv_memory_kind packed_memory; /**< hint: where packed memory is */
	/**
	 * [in,out] with DTCONV_PAGES_STREAM alone, or NULL: a word in pinned, managed or device memory, set
	 * to -1 by the caller. If the device finds numbers out of range, it stores the position of the
	 * first one in the table. If NULL, their pages are skipped without notice
	 */
	int64_t *fault;
	/**
	 * bytes of the stream in each row of a page, of which page_bytes is a multiple: a page has
	 * page_bytes / row_bytes rows; default: page_bytes, the page is one row
	 */
	size_t row_bytes;
	size_t row_stride; /**< bytes from one row of a page to the next; default: row_bytes */
};

/** Flags of struct dtconv_pages. */
enum dtconv_pages_flags {
	/**
	 * Move in the order of pages.stream. The call queues the work and returns; the stream says
	 * when it is done. Numbers that the device finds out of range are reported in pages.fault.
	 * The stream may be captured, unless the table is ordinary host memory: each launch of the
	 * graph reads the table. A list in ordinary host memory alone is moved before the call
	 * returns.
	 */
	DTCONV_PAGES_STREAM = 1,
	/**
	 * With DTCONV_PAGES_STREAM: return when the work is done, and fail if the device finds a number
	 * out of range, as calls without a stream do. pages.fault is NULL, and the stream is not
	 * captured.
	 */
	DTCONV_PAGES_WAIT = 2
};

/**
 * Compute the length of the packed stream of a list of pages.
 *
 * @param context the context, for the error text.
 * @param pages   [in] the list; its table is not read.
 * @param bytes   [out] length of the whole stream: layers x parts x pages.bytes.
 * @return 0; DTCONV_ERR_INVAL if pages.struct_size or page_bytes is 0, page_bytes is no multiple
 *         of row_bytes, row_stride is less than row_bytes, page_stride is less than the rows of a
 *         page reach over, pages.bytes exceeds count x page_bytes, the table is NULL, or a flag,
 *         a number's type or a memory kind is undefined, a stream or a fault word is given
 *         without their flag, or pages.fault is not aligned to 8 bytes; DTCONV_ERR_OVERFLOW if
 *         the length exceeds size_t or a displacement ptrdiff_t.
 *
 * Does not block. Callable from any thread.
 */
DTCONV_API int dtconv_pages_query_bytes(struct dtconv_context *context,
					const struct dtconv_pages *pages, size_t *bytes);

/**
 * Pack pages, or part of their stream.
 *
 * @param context  the context.
 * @param pages    [in] the list.
 * @param pool     [in] the pool; displacement 0 is here.
 * @param position first byte of the packed stream to write, at most its length.
 * @param packed   [out] receives the bytes of the stream from @p position on.
 * @param capacity size of @p packed in bytes. Fewer bytes are written only at the end of
 *                 the stream.
 * @param moved    [out] number of bytes written, valid even if the call fails; may be NULL.
 * @return 0; DTCONV_ERR_INVAL if a number that is needed is not below pages.pool_pages (the
 *         error text has its position), if @p position is past the end, if a table that a
 *         device reads is not aligned, or if a device lacks access to mapped memory; the errors
 *         of dtconv_pages_query_bytes(); DTCONV_ERR_UNSUPPORTED if a device is to move the list
 *         and cannot access the pool, @p packed or pages.fault, if the list is too long for one
 *         launch, if the stream is captured and the table is ordinary host memory, or if the
 *         backend that is needed is forbidden (host or cuda_kernel); DTCONV_ERR_AGAIN if too
 *         many jobs are in flight, or if the device is busy and has not loaded its kernels;
 *         DTCONV_ERR_STATE if no context of the device is current and none can be found;
 *         DTCONV_ERR_NOMEM if the allocator has no memory for what the first list on a device
 *         needs; DTCONV_ERR_BACKEND if a device's driver fails.
 *
 * Reads only the table's entries that this part of the stream needs. The host splits large
 * moves among the context's threads.
 */
DTCONV_API int dtconv_pages_pack(struct dtconv_context *context,
				 const struct dtconv_pages *pages, const void *pool,
				 size_t position, void *packed, size_t capacity,
				 size_t *moved);

/**
 * Unpack pages, or part of their stream.
 *
 * @param context  the context.
 * @param pages    [in] the list.
 * @param pool     [out] the pool; displacement 0 is here. Other pages are not touched.
 * @param position where the bytes begin in the packed stream, at most its length.
 * @param packed   [in] bytes of the stream.
 * @param bytes    their number.
 * @param moved    [out] number of bytes read, valid even if the call fails; may be NULL.
 * @return as dtconv_pages_pack(); DTCONV_ERR_TRUNCATE if the stream ends before @p position +
 *         @p bytes (nothing was unpacked).
 *
 * As dtconv_pages_pack().
 */
DTCONV_API int dtconv_pages_unpack(struct dtconv_context *context,
				   const struct dtconv_pages *pages, void *pool,
				   size_t position, const void *packed, size_t bytes,
				   size_t *moved);

/**
 * Copy pages of one list, or part of their stream, to the pages of another.
 *
 * @snippet test_snippets.c page copy
 *
 * Nothing is staged: what dtconv_pages_pack() packs from one list and dtconv_pages_unpack()
 * unpacks to the other is moved at once, by one launch for all layers and parts if a device
 * moves. Sizes of pages and rows, strides, types of numbers and memory kinds of the lists may
 * differ. layer_count, part_count and pages.bytes may not; so set pages.bytes where the last
 * pages differ.
 *
 * @param context   the context.
 * @param from      [in] the list to copy.
 * @param from_pool [in] its pool; displacement 0 is here.
 * @param to        [in] the list to copy to. Its flags and its stream order the call; those of
 *                  @p from are the same, or 0 and NULL.
 * @param to_pool   [out] its pool; may be @p from_pool. Other pages are not touched.
 * @param position  first byte of the stream to copy, at most its length.
 * @param bytes     number of bytes to copy; SIZE_MAX: all that follow the position.
 * @param moved     [out] number of bytes copied, valid even if the call fails; may be NULL.
 * @return as dtconv_pages_unpack(); DTCONV_ERR_INVAL also if the streams of the lists differ, or
 *         if the order of @p from is another one. The error text says which list is meant.
 *
 * The device that owns @p from_pool moves if it has access to all memory, else the one that owns
 * @p to_pool; with DTCONV_PAGES_STREAM, the stream's. A page of either list whose number a device
 * finds out of range is left out, on both sides, and others are moved. With DTCONV_PAGES_STREAM
 * each list's fault word reports its own numbers; a fault word of @p from needs the flag there.
 *
 * pages.packed_memory has no meaning here. Blocking and threads: as dtconv_pages_pack().
 */
DTCONV_API int dtconv_pages_copy(struct dtconv_context *context,
				 const struct dtconv_pages *from, const void *from_pool,
				 const struct dtconv_pages *to, void *to_pool,
				 size_t position, size_t bytes, size_t *moved);

/** @} */

#ifdef __cplusplus
}
#endif
#endif
