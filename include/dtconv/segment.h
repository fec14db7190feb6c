/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Segments: device memory that grows without moving and that other processes map.
 */
#ifndef DTCONV_SEGMENT_H
#define DTCONV_SEGMENT_H

#include <stddef.h>

#include <dtconv/memory.h>
#include <dtconv/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct dtconv_context;
struct dtconv_segment;

/**
 * @defgroup segment Segments
 * @brief Device memory that grows without moving, and that other processes map.
 *
 * @snippet test_snippets.c segment
 *
 * A segment is a range of addresses of one device. The range is reserved when the segment is
 * created, and grow maps memory behind what is there, so addresses stay valid. Another process
 * receives the segment over a Unix socket and maps the same memory: its kernels pack into it and
 * unpack from it, and nothing is copied in between. Caches and symmetric heaps belong in segments.
 *
 * - Access is granted per segment and device. Nothing is opened for other devices that a call
 *   has not named, unlike with peer access, which opens all memory of a device.
 * - Memory exists as long as any process maps it. A process may destroy its segment, or end,
 *   while others use theirs.
 * - Segments order nothing between processes: what one has written, another may read once it has
 *   been told so, when the first one's work on the device is complete.
 * - Two segments of one process may map the same memory (dtconv_segment_alias()). A kernel may
 *   see what another kernel has written through the other addresses only if it runs after it.
 *
 * Functions that map or unmap take milliseconds and may block; none belongs in a message. All
 * may be called by any thread; those of one segment wait for each other. While a segment grows,
 * other threads may go on to use its memory.
 * @{
 */

/** The most mappings of a segment: its creation and each dtconv_segment_grow() make one. */
#define DTCONV_SEGMENT_MAPPINGS_MAX 1024

/** Flags of struct dtconv_segment_params. */
enum dtconv_segment_flags {
	/**
	 * Memory may be compressed by the device, which can save bandwidth. If the device or its
	 * driver does not do so, the memory is ordinary: dtconv_segment_attr.compressed says.
	 */
	DTCONV_SEGMENT_COMPRESSIBLE = 1,
	/** dtconv_segment_receive(): the sending process may be another user's. */
	DTCONV_SEGMENT_ANY_USER = 2
};

/** Options of a segment. Zero-initialise, set struct_size, then what differs from the default. */
struct dtconv_segment_params {
	size_t struct_size; /**< sizeof(struct dtconv_segment_params) */
	/** ordinal of the device; negative: that of the calling thread's current device context */
	int device;
	unsigned flags; /**< of enum dtconv_segment_flags */
	/** bytes to begin with, rounded up to the granularity; default: one granule */
	size_t start_bytes;
	/** bytes of addresses to reserve: the most that the segment can grow to; default: as many as
	 * the device has memory, or start_bytes if that is more */
	size_t reserve_bytes;
};

/**
 * Create a segment.
 *
 * @param context the context; must outlive the segment.
 * @param params  [in] options, copied; NULL for the defaults, with the current device.
 * @param segment [out] the new segment, owned by the caller.
 * @return 0; DTCONV_ERR_INVAL if struct_size is 0, a flag is undefined, or reserve_bytes is less
 *         than start_bytes; DTCONV_ERR_UNSUPPORTED if there is no context of the device, or the
 *         device has no virtual memory management; DTCONV_ERR_NOMEM if memory or addresses are
 *         exhausted; DTCONV_ERR_BACKEND if the driver refuses.
 *
 * The device has access, no other one. The memory is not cleared. Blocks (some 0.1 ms and more).
 */
DTCONV_API int dtconv_segment_create(struct dtconv_context *context,
				     const struct dtconv_segment_params *params,
				     struct dtconv_segment **segment);

/**
 * Map more memory behind the memory of a segment.
 *
 * @param segment a segment that was created here, not received or an alias.
 * @param bytes   number of bytes to add, more than 0; rounded up to the granularity.
 * @return 0; DTCONV_ERR_STATE if the segment is not one's own; DTCONV_ERR_LIMIT if the reserved
 *         addresses or #DTCONV_SEGMENT_MAPPINGS_MAX do not suffice; otherwise as
 *         dtconv_segment_create(). After a failure the segment is what it was.
 *
 * The base stays. Devices have the access that they have to the rest. Processes that have received
 * the segment see the new memory once it is sent to them again. Blocks, but not until the device
 * is idle.
 */
DTCONV_API int dtconv_segment_grow(struct dtconv_segment *segment, size_t bytes);

/**
 * Unmap memory at the end of a segment.
 *
 * @param segment a segment that was created here.
 * @param bytes   number of bytes to remove at most; whole mappings are removed, those of the last
 *                dtconv_segment_grow() first.
 * @return 0; DTCONV_ERR_STATE if the segment is not one's own, or if the device context is lost;
 *         DTCONV_ERR_BACKEND if the driver refuses.
 *
 * Blocks until the device is idle. Other processes keep what they have mapped until they receive
 * the segment again.
 */
DTCONV_API int dtconv_segment_shrink(struct dtconv_segment *segment, size_t bytes);

/** What a device may do with a segment. */
enum dtconv_segment_access {
	DTCONV_SEGMENT_NONE,      /**< nothing */
	DTCONV_SEGMENT_READ,      /**< read */
	DTCONV_SEGMENT_READ_WRITE /**< read and write */
};

/**
 * Set what a device of this process may do with a segment.
 *
 * @param segment the segment.
 * @param device  ordinal of the device.
 * @param access  what it may do from now on, also with memory that is added later.
 * @return 0; DTCONV_ERR_INVAL if @p access is undefined or there is no such device;
 *         DTCONV_ERR_UNSUPPORTED if the device cannot reach the memory, or not with such access;
 *         DTCONV_ERR_LIMIT for more than 64 devices; DTCONV_ERR_BACKEND if the driver refuses.
 *         After a failure access is what it was.
 *
 * Nothing of the device that loses access may be in flight on the segment.
 */
DTCONV_API int dtconv_segment_set_access(struct dtconv_segment *segment, int device,
					 enum dtconv_segment_access access);

/**
 * Map the memory of a segment a second time, at other addresses of this process.
 *
 * @param segment the segment.
 * @param alias   [out] a segment of the same memory, owned by the caller. It does not grow with
 *                @p segment and may outlive it.
 * @return as dtconv_segment_create().
 *
 * The device of @p segment has access to the alias, no other one. Work through one of them is
 * ordered with work through the other by a stream or an event.
 */
DTCONV_API int dtconv_segment_alias(struct dtconv_segment *segment,
				    struct dtconv_segment **alias);

/**
 * Send a segment to another process, or send it again after it has grown or shrunk.
 *
 * @param segment the segment.
 * @param fd      a connected Unix socket of type SOCK_SEQPACKET; stays the caller's.
 * @return 0; DTCONV_ERR_INVAL if @p fd is no such socket; DTCONV_ERR_PEER if the other end is
 *         closed; DTCONV_ERR_UNSUPPORTED if the device cannot share memory by descriptors;
 *         DTCONV_ERR_LIMIT if the system refuses to have so many descriptors in flight;
 *         DTCONV_ERR_AGAIN if this process has no file descriptor left; DTCONV_ERR_BACKEND if the
 *         driver refuses. After a failure in the middle the receiver's call fails too.
 *
 * The receiving process can read and write all of the segment, so it must be trusted. Blocks until the packets are in the socket, whatever the
 * socket's mode. Every descriptor is closed again.
 */
DTCONV_API int dtconv_segment_send(struct dtconv_segment *segment, int fd);

/**
 * Receive a segment, or what has become of one that was received before.
 *
 * @param context the context.
 * @param fd      a connected Unix socket of type SOCK_SEQPACKET; stays the caller's.
 * @param params  [in] options, copied; NULL for the defaults. device: which device of this
 *                process has access; flags: DTCONV_SEGMENT_ANY_USER; the sizes must be 0. Not read
 *                if *segment is a segment, except for the flag.
 * @param segment [in,out] NULL in *segment: the new segment, owned by the caller. Otherwise a
 *                segment that was received before: it becomes what the sender's is now, at the same
 *                base.
 * @return 0; DTCONV_ERR_PEER if the other process is another user's or has ended;
 *         DTCONV_ERR_FORMAT if what it sends is no segment; DTCONV_ERR_INVAL if it is another
 *         segment than *segment; DTCONV_ERR_LIMIT if this process can take no more descriptors;
 *         otherwise as dtconv_segment_create(). After a failure a new segment is not made, and an
 *         old one keeps a beginning of its memory.
 *
 * Blocks until the other process has sent it, whatever the socket's mode. Memory that the sender has
 * unmapped is unmapped here: then it blocks until the device is idle.
 */
DTCONV_API int dtconv_segment_receive(struct dtconv_context *context, int fd,
				      const struct dtconv_segment_params *params,
				      struct dtconv_segment **segment);

/**
 * Export memory of a segment as a DMA-BUF, to be registered with a network adapter.
 *
 * @param segment the segment.
 * @param offset  where the memory begins in the segment; a multiple of the host's pages.
 * @param bytes   its length; a multiple of the host's pages.
 * @param fd      [out] a descriptor, owned by the caller, close-on-exec.
 * @return 0; DTCONV_ERR_INVAL if the range is not in the segment or not whole pages;
 *         DTCONV_ERR_UNSUPPORTED if the device does not do so; DTCONV_ERR_BACKEND if the driver refuses.
 */
DTCONV_API int dtconv_segment_dma_buf(struct dtconv_segment *segment, size_t offset,
				      size_t bytes, int *fd);

/** What a segment is. */
struct dtconv_segment_attr {
	size_t struct_size; /**< sizeof(struct dtconv_segment_attr), set by the caller */
	void *base;         /**< its first byte */
	size_t bytes;       /**< of memory: the segment is [base, base + bytes) */
	size_t reserve_bytes; /**< of addresses: the most that bytes can become */
	size_t granularity;   /**< of mappings, in bytes */
	size_t mappings;      /**< number of pieces that the memory consists of */
	int device; /**< ordinal of the device that has the memory; -1 if this process cannot name it */
	int user_device; /**< ordinal of the device that has had access from the beginning */
	int received;    /**< 1 if another process has sent it, or it is an alias */
	int shareable;  /**< 1 if other processes can map it */
	int compressed; /**< 1 if all of the memory is compressible */
};

/**
 * Read where a segment is, and its size.
 *
 * @param segment the segment.
 * @param attr    [in,out] struct_size set by the caller, the rest filled in.
 * @return 0; DTCONV_ERR_INVAL if struct_size is 0.
 *
 * Blocks only while another call changes the segment.
 */
DTCONV_API int dtconv_segment_query(struct dtconv_segment *segment,
				    struct dtconv_segment_attr *attr);

/**
 * Unmap and release a segment.
 *
 * @param segment the segment, or NULL.
 * @return 0; DTCONV_ERR_STATE if the device context is lost or DTCONV_ERR_BACKEND if the driver
 *         refuses: then the addresses stay reserved, because the device may still use them. The
 *         segment is gone in any case.
 *
 * Blocks until the device is idle. No other call of the segment may run.
 */
DTCONV_API int dtconv_segment_destroy(struct dtconv_segment *segment);

/** @} */

#ifdef __cplusplus
}
#endif
#endif
