/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lists of pages: packs and unpacks pages of a pool by their numbers, without a type.
 */
#ifndef DTCONV_PAGES_H
#define DTCONV_PAGES_H

#include <stddef.h>

#include <dtconv/memory.h>
#include <dtconv/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct dtconv_context;

/**
 * @defgroup pages Lists of pages
 * @brief Pack and unpack the pages that a table of page numbers lists, as paged caches
 * need it.
 *
 * @snippet test_snippets.c pages
 *
 * The packed stream is, for each layer and in it for each part, the pages in the order of
 * the table, one after another. It does not depend on the size of the pages: two ends that
 * divide the same bytes into pages of different sizes have the same stream. @ref page_lists
 * "Lists of pages" has the layouts of common pools.
 *
 * - Nothing is created or allocated. The structure and the table are read during the call
 *   only, and the table must not change meanwhile.
 * - Page numbers are checked before anything is moved.
 * - A table may list a page twice to pack. If it does so to unpack, the page's contents are
 *   undefined: bytes of any of its places in the stream.
 * - Packed memory must not overlap the pool.
 * - Calls block until done, and may come from any thread.
 * - Device memory and streams are not supported yet.
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
		table; /**< [in] page numbers, at any alignment; may be NULL if count is 0 */
	size_t count;                   /**< number of pages in the table */
	enum dtconv_page_number number; /**< their type */
	size_t pool_pages; /**< number of pages in the pool; numbers are below it */
	size_t page_bytes; /**< bytes of a page in one layer's part, more than 0 */
	size_t page_stride; /**< bytes from a page to the next number's; default: page_bytes */
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
};

/** Flags of struct dtconv_pages. */
enum dtconv_pages_flags {
	/** Work in the order of the stream. Not supported yet: DTCONV_ERR_UNSUPPORTED. */
	DTCONV_PAGES_STREAM = 1
};

/**
 * Compute the length of the packed stream of a list of pages.
 *
 * @param context the context, for the error text.
 * @param pages   [in] the list; its table is not read.
 * @param bytes   [out] length of the whole stream: layers x parts x pages.bytes.
 * @return 0; DTCONV_ERR_INVAL if pages.struct_size or page_bytes is 0, page_stride is less than
 *         page_bytes, pages.bytes exceeds count x page_bytes, the table is NULL, or a flag,
 *         a number's type or a memory kind is undefined, or a stream is given without its flag;
 *         DTCONV_ERR_OVERFLOW if the length exceeds size_t or a displacement ptrdiff_t;
 *         DTCONV_ERR_UNSUPPORTED as in dtconv_pages_pack().
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
 *         error text has its position, and nothing is written), or @p position is past the
 *         end; the errors of dtconv_pages_query_bytes(); DTCONV_ERR_UNSUPPORTED with
 *         DTCONV_PAGES_STREAM, if the table, the pool or @p packed is memory of a device, or
 *         if the host backend is forbidden; DTCONV_ERR_BACKEND if a device's driver refuses
 *         to say whose memory it is.
 *
 * Reads only the table's entries that this part of the stream needs. Splits large moves among
 * the context's threads.
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

/** @} */

#ifdef __cplusplus
}
#endif
#endif
