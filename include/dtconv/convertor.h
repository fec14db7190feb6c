/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moving data: one-shot pack and unpack, and the convertor, which does it in fragments.
 */
#ifndef DTCONV_CONVERTOR_H
#define DTCONV_CONVERTOR_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include <dtconv/memory.h>
#include <dtconv/operation.h>
#include <dtconv/representation.h>
#include <dtconv/status.h>

#ifdef __cplusplus
extern "C" {
#endif

struct dtconv_type;
struct dtconv_convertor;

/**
 * @defgroup convertor Convertors
 * The packed stream of (count, type, buffer) is the bytes of the typemap's elements in
 * typemap order, instance after instance, without gaps; its length is count x size. A
 * convertor is a position in that stream. It moves bytes between the buffer and packed
 * memory, in fragments that may begin and end at any byte, also inside a basic element.
 *
 * - The user's buffer is borrowed from bind until the last completion. It is addressed at
 *   buffer + displacement; NULL is allowed for types with absolute displacements.
 * - Unpack never stores to a byte that is not in the typemap, not even its old value. Pack
 *   reads no byte outside the typemap except inside an aligned 64-byte line that holds a
 *   byte of it.
 * - Unpacking a type whose elements overlap leaves one of their values in each shared byte,
 *   which one is not defined and may differ from call to call.
 * - Packed memory and the typemap's bytes must not overlap.
 * - Types must be committed. A convertor holds a reference to its type.
 * - A convertor belongs to one thread at a time; different ones are independent.
 *
 * All this is about the native stream, whose bytes are those of memory. With a representation
 * or an operation (struct dtconv_convertor_params) elements are the smallest things that can be
 * stored: of one that a fragment cuts, the bytes are held until all of them have arrived, in
 * whatever order. Unpacking such a fragment may allocate.
 *
 * **Device memory.** Both buffers may lie in memory of a CUDA device, managed, mapped and pinned
 * memory included, once the process has loaded and initialised the driver. Managed memory is a device's
 * in what follows, and so is pinned memory in a stream of the caller's; without one the processor may move
 * both, as it does the host's. Calls that move bytes may then also answer
 * - DTCONV_ERR_BACKEND if the device refuses a call, or its context is broken or was destroyed while the job
 *   was in flight (what of the job has arrived is not known, and none of it counts), if a stream is given whose
 *   context was destroyed, nothing is mapped where a buffer should be, or the driver lacks something. Memory of a context that the
 *   application has destroyed is as freed memory anywhere: to use it is the caller's error, and nothing notices it;
 * - DTCONV_ERR_INVAL if the device has no access to mapped memory, or may not write where it would have to;
 * - DTCONV_ERR_STATE if a default stream was given and no context of the device (of any, for managed and pinned
 *   memory) is current on the calling thread, or no context of the device can be found;
 * - DTCONV_ERR_NOMEM if the context's allocator refuses what is kept of a device, of a type for it, or of what a
 *   convertor computes there, or a buffer of at most 64 KiB for what the processor does with a device's memory;
 * - DTCONV_ERR_AGAIN if 8192 jobs are in flight in one device context;
 * - DTCONV_ERR_UNSUPPORTED if params.backends or DTCONV_BACKENDS leave no backend that could do it;
 * - DTCONV_ERR_UNSUPPORTED where the user's side is device or managed memory, for operations on long
 *   doubles, on reals of 16 bytes and by the caller's function, for long doubles in another
 *   format, and for types whose elements change kind too often (the error text says which); and in
 *   the capture of a graph for moves between ordinary host memory and a device, elements cut in two, integers
 *   made narrower, what the processor does for want of kernels, and checksums; parts of the job, or the move
 *   without its checksum, may have been captured;
 * - DTCONV_ERR_OVERFLOW if an integer that a device converts does not fit its narrower form: then none of
 *   the job's bytes count, though some have moved.
 *
 * Operations give the bits that they give on the host; but a NaN that is computed may be any NaN. The bytes
 * of an element that a fragment cuts are moved through host memory before the call returns. A checksum
 * is computed by the device, in the stream's order, and is there when the operation has ended, whatever
 * params.backends says; packed bytes in ordinary host memory the processor sums up before the call returns.
 *
 * Whoever has no device memory can say so once, with DTCONV_CONTEXT_HOST_MEMORY, and spares every call the look
 * for a driver.
 *
 * No context is made, and the calling thread's stays current. The first job in a device context
 * allocates there and waits, for at most 0.4 seconds while the device is busy, for kernels to be
 * loaded. Until they are, the processor converts, combines and sums up elements of device memory, and start waits for
 * the stream for that, as it does to move between pinned memory; other types are copied block by block, of which a
 * stream that waits takes a thousand or so.
 * Captures that other streams of the context are in may end by the loading (its own stream's does not), so make a job
 * before. Work of ours waits for its turn in the hardware's queues like everyone's: where all of them are taken by
 * streams that wait for a value (64 on an H200), blocking calls wait until one of those goes on.
 *
 * A started job between a device and ordinary host memory goes on in a thread of the context's, which the first one
 * makes; start waits only while another such job is under way, or the device is busy and more than 8 MiB are in the order of a
 * stream. With the default stream of each thread it is done when start
 * returns; so it is where it also converts, combines or sums up, and may be without a stream if it is shorter than
 * 256 KiB. Without a
 * stream of the caller's, small ones may be the processor's own stores into device memory: work that is launched
 * after the call sees them, a kernel that already runs may not.
 *
 * For other jobs start may wait, also for what their stream was given before, if only the processor can do them (long
 * doubles in pinned memory), or the device that does them does not reach the other device's memory. Where the memory of
 * either side changes its kind from stretch to stretch, it waits for all stretches but the last.
 *
 * While a stream is captured, a job becomes part of the graph, and is reported done at once. (What lies in ordinary
 * host memory on both sides does not: it is moved by the call, once.) Its buffers, its
 * type and the library's context must outlive the graph: what devices keep of a type is freed with the
 * type, and kernels are unloaded with the context, so that a replay after that would fault. The convertor need not
 * stay, but it is a reference to the type like any other.
 * @{
 */

/**
 * Pack a whole buffer (MPI_PACK without the position).
 *
 * @param type     a committed type.
 * @param count    instances of it at @p buffer.
 * @param buffer   [in] the user's data, at displacement 0.
 * @param packed   [out] receives the packed stream.
 * @param capacity bytes of room at @p packed.
 * @param moved    [out] bytes written, exact also on failure; may be NULL.
 * @return 0; DTCONV_ERR_TRUNCATE if the stream is longer than @p capacity (its beginning has
 *         been packed); DTCONV_ERR_STATE if the type is not committed;
 *         DTCONV_ERR_OVERFLOW if count x size leaves size_t or count x extent ptrdiff_t.
 *
 * Blocks until done. Allocates nothing. Callable from any thread.
 */
DTCONV_API int dtconv_pack(struct dtconv_type *type, size_t count, const void *buffer,
			   void *packed, size_t capacity, size_t *moved);

/**
 * Unpack a whole buffer (MPI_UNPACK without the position).
 *
 * @param type   a committed type.
 * @param count  instances of it that fit at @p buffer.
 * @param buffer [out] the user's data, at displacement 0.
 * @param packed [in] a packed stream.
 * @param bytes  length of the stream; may be shorter than count x size, and may end inside an
 *               element.
 * @param moved  [out] bytes read, exact also on failure; may be NULL.
 * @return 0; DTCONV_ERR_TRUNCATE if the stream is longer than count x size (what fits has been
 *         unpacked); DTCONV_ERR_STATE; DTCONV_ERR_OVERFLOW.
 *
 * Blocks until done. Allocates nothing. Callable from any thread.
 */
DTCONV_API int dtconv_unpack(struct dtconv_type *type, size_t count, void *buffer,
			     const void *packed, size_t bytes, size_t *moved);

/**
 * Copy from one layout to another: what a send to oneself does.
 *
 * @param source_type  a committed type.
 * @param source_count instances of it.
 * @param source       [in] the data to read.
 * @param target_type  a committed type of the same context.
 * @param target_count instances of it.
 * @param target       [out] the data to write; must not overlap @p source.
 * @param moved        [out] packed bytes copied, exact also on failure; may be NULL.
 * @return 0; DTCONV_ERR_SIGNATURE if the source's signature is not the target's or its
 *         beginning (nothing is copied); DTCONV_ERR_TRUNCATE if only it is longer (what fits
 *         has been copied); DTCONV_ERR_STATE; DTCONV_ERR_OVERFLOW.
 *
 * Blocks until done. Allocates nothing in host memory. Where a side is a device's and neither is one run, the
 * first copy allocates 8 MiB of that device's memory, which are kept until the library's context is destroyed; one copy at a
 * time has them. Callable from any thread.
 */
DTCONV_API int dtconv_copy(struct dtconv_type *source_type, size_t source_count,
			   const void *source, struct dtconv_type *target_type,
			   size_t target_count, void *target, size_t *moved);

/** What else a convertor does with the bytes. Zero means: nothing. */
struct dtconv_convertor_params {
	size_t struct_size; /**< sizeof(struct dtconv_convertor_params) */
	/** how the packed stream is written; NULL: native */
	const struct dtconv_representation *representation;
	enum dtconv_op op;  /**< what unpacking does; packing ignores it */
	dtconv_op_fn op_fn; /**< the function of DTCONV_OP_USER, else NULL */
	void *op_arg;       /**< handed to it */
	unsigned flags;     /**< of enum dtconv_convertor_flags */
	/**
	 * Where the user's buffer and packed memory are, for callers who know: it spares a question to
	 * the device's driver. Said wrongly, anything may happen; memory of a device is then one that
	 * works here: of the stream's, or the current context's, or open to it. Default: found out.
	 */
	enum dtconv_memory_kind user_memory;
	enum dtconv_memory_kind packed_memory; /**< see user_memory */
	/** with DTCONV_CONVERTOR_STREAM: a CUstream or cudaStream_t, also a default stream's */
	void *stream;
	/**
	 * Copy backends to choose among, by name, as dtconv_context_format_info lists them: "cuda_kernel"
	 * or "host,cuda_kernel" for these alone, "^cuda_copy" for all but these. NULL: all. What none
	 * of them can move is refused with DTCONV_ERR_UNSUPPORTED, the memory of the host included.
	 * Elements that a device converts or combines go by kernels of their own, which count as
	 * "cuda_kernel", or as "cuda_staged" where packed memory is ordinary host memory, and are
	 * forbidden with them; a checksum moves nothing, and asks none of them. Read during the call only.
	 */
	const char *backends;
};

/** Flags of struct dtconv_convertor_params. */
enum dtconv_convertor_flags {
	DTCONV_CONVERTOR_CRC32C = 1, /**< keep a checksum of the packed stream */
	/**
	 * Where a side is device, managed or pinned memory, the job is done in the order of params.stream:
	 * after what the stream has been given before, and before what it is given later. Without it the
	 * data must be ready when the call is made. Ordinary host memory is the processor's, which has no part
	 * in that order: it may be read from the call on and be written until the job is done, whatever
	 * functions the stream runs on the host meanwhile; between two such sides the job is done at once.
	 */
	DTCONV_CONVERTOR_STREAM = 2
};

/**
 * Pack a whole buffer in another representation (MPI_PACK_EXTERNAL).
 *
 * @param type     a committed type.
 * @param count    instances of it at @p buffer.
 * @param buffer   [in] the user's data, at displacement 0.
 * @param packed   [out] receives the packed stream.
 * @param capacity bytes of room at @p packed.
 * @param params   as for dtconv_convertor_configure; NULL: as dtconv_pack.
 * @param moved    [out] bytes written, exact also on failure; may be NULL.
 * @return as dtconv_pack and dtconv_convertor_configure; DTCONV_ERR_OVERFLOW if an integer does
 *         not fit (what is before it has been packed); DTCONV_ERR_NOMEM.
 *
 * Blocks until done. Callable from any thread.
 */
DTCONV_API int dtconv_pack_with(struct dtconv_type *type, size_t count,
				const void *buffer, void *packed, size_t capacity,
				const struct dtconv_convertor_params *params,
				size_t *moved);

/**
 * Unpack a whole buffer from another representation (MPI_UNPACK_EXTERNAL), or combine what
 * arrives with what is there.
 *
 * @param type   a committed type.
 * @param count  instances of it that fit at @p buffer.
 * @param buffer [in,out] the user's data, at displacement 0.
 * @param packed [in] a packed stream.
 * @param bytes  length of the stream; may be shorter than the whole. Bytes of an element that
 *               it ends in are not stored.
 * @param params as for dtconv_convertor_configure; NULL: as dtconv_unpack.
 * @param moved  [out] bytes read, exact also on failure; may be NULL.
 * @return as dtconv_unpack and dtconv_convertor_configure; DTCONV_ERR_OVERFLOW if an integer
 *         does not fit (what is before it has been stored); DTCONV_ERR_NOMEM.
 *
 * Blocks until done. Callable from any thread. A type whose elements overlap in memory has no
 * defined result unless the operation is replace or no_op.
 */
DTCONV_API int dtconv_unpack_with(struct dtconv_type *type, size_t count, void *buffer,
				  const void *packed, size_t bytes,
				  const struct dtconv_convertor_params *params,
				  size_t *moved);

/**
 * Create a convertor that packs.
 *
 * @param type      a committed type.
 * @param count     instances of it at @p buffer.
 * @param buffer    [in] the user's data, at displacement 0, borrowed.
 * @param convertor [out] the convertor at position 0, owned by the caller.
 * @return 0; DTCONV_ERR_STATE if the type is not committed; DTCONV_ERR_OVERFLOW if
 *         count x size leaves size_t or count x extent ptrdiff_t; DTCONV_ERR_NOMEM.
 */
DTCONV_API int dtconv_convertor_create_pack(struct dtconv_type *type, size_t count,
					    const void *buffer,
					    struct dtconv_convertor **convertor);

/**
 * Create a convertor that unpacks.
 *
 * @param type      a committed type.
 * @param count     instances of it that fit at @p buffer.
 * @param buffer    [out] the user's data, at displacement 0, borrowed.
 * @param convertor [out] the convertor at position 0, owned by the caller.
 * @return as dtconv_convertor_create_pack.
 */
DTCONV_API int dtconv_convertor_create_unpack(struct dtconv_type *type, size_t count,
					      void *buffer,
					      struct dtconv_convertor **convertor);

/**
 * Bind an existing convertor to other data, to pack it. Position 0. Allocates nothing, unless it
 * was given a representation.
 *
 * @param convertor the convertor, nothing in flight.
 * @param type      a committed type of the same context.
 * @param count     instances.
 * @param buffer    [in] the user's data, borrowed.
 * @return 0; DTCONV_ERR_STATE if the type is not committed or an operation is in flight;
 *         DTCONV_ERR_OVERFLOW; as dtconv_convertor_configure for what it was given. On failure the
 *         old binding stays.
 */
DTCONV_API int dtconv_convertor_rebind_pack(struct dtconv_convertor *convertor,
					    struct dtconv_type *type, size_t count,
					    const void *buffer);

/**
 * Bind an existing convertor to other data, to unpack it. Position 0. Allocates nothing, unless
 * it was given a representation.
 *
 * @param convertor the convertor, nothing in flight.
 * @param type      a committed type of the same context.
 * @param count     instances.
 * @param buffer    [out] the user's data, borrowed.
 * @return as dtconv_convertor_rebind_pack.
 */
DTCONV_API int dtconv_convertor_rebind_unpack(struct dtconv_convertor *convertor,
					      struct dtconv_type *type, size_t count,
					      void *buffer);

/**
 * Choose the representation of the packed stream, the operation and the checksum. They stay
 * when the convertor is bound anew. Goes to position 0 and forgets what was held.
 *
 * @param convertor the convertor, nothing in flight.
 * @param params    copied; NULL for the defaults.
 * @return 0; DTCONV_ERR_INVAL if struct_size is 0, a field has no meaning, params.backends names
 *         a backend that this build does not have, or MPI does not
 *         define the operation on the type; DTCONV_ERR_UNSUPPORTED as dtconv_op_check;
 *         DTCONV_ERR_OVERFLOW if the represented stream is longer than size_t;
 *         DTCONV_ERR_STATE if an operation is in flight; DTCONV_ERR_NOMEM. On failure
 *         everything stays as it was.
 *
 * Does not block. May allocate, and so may binding anew what was given a representation.
 */
DTCONV_API int dtconv_convertor_configure(struct dtconv_convertor *convertor,
					  const struct dtconv_convertor_params *params);

/**
 * The checksum of what has moved since the convertor was bound or configured.
 *
 * @param convertor a convertor with DTCONV_CONVERTOR_CRC32C, nothing in flight.
 * @param crc       [out] CRC-32C (Castagnoli) of the packed bytes, provided that they are the
 *                  stream's first ones and each moved once, in any order.
 * @return 0; DTCONV_ERR_STATE if the convertor keeps no checksum or an operation is in flight.
 *
 * Does not block; allocates nothing.
 */
DTCONV_API int dtconv_convertor_crc32c(const struct dtconv_convertor *convertor,
				       uint32_t *crc);

/**
 * CRC-32C (Castagnoli) of bytes in memory, in pieces: the first call is given 0, the next ones
 * what the one before answered.
 *
 * @param crc   of the bytes before, or 0.
 * @param data  [in] the bytes, where the processor reaches them: no device's memory.
 * @param bytes how many.
 * @return the checksum.
 *
 * Blocks until done; allocates nothing. Callable from any thread.
 */
DTCONV_API uint32_t dtconv_crc32c(uint32_t crc, const void *data, size_t bytes);

/**
 * Copy a convertor, wherever in the stream it stands, also inside an element. Both go on
 * independently.
 *
 * @param convertor the convertor, nothing in flight.
 * @param clone     [out] the copy, owned by the caller.
 * @return 0; DTCONV_ERR_STATE if an operation is in flight; DTCONV_ERR_NOMEM.
 */
DTCONV_API int dtconv_convertor_clone(const struct dtconv_convertor *convertor,
				      struct dtconv_convertor **clone);

/**
 * Destroy a convertor. An operation in flight is waited for; its callback does not run.
 * @param convertor the convertor, or NULL.
 */
DTCONV_API void dtconv_convertor_destroy(struct dtconv_convertor *convertor);

/** Where a convertor stands, in bytes of the packed stream. */
struct dtconv_convertor_attr {
	size_t struct_size; /**< sizeof(struct dtconv_convertor_attr), set by the caller */
	size_t size;        /**< length of the whole stream */
	size_t position;    /**< bytes before the next one to move */
	int in_flight;      /**< 1 between start and its completion */
	size_t held; /**< bytes that arrived for elements which are not whole yet */
};

/**
 * Read a convertor's position.
 *
 * @param convertor the convertor.
 * @param attr      [in,out] struct_size set by the caller, the rest filled in.
 * @return 0; DTCONV_ERR_INVAL if struct_size is 0.
 */
DTCONV_API int dtconv_convertor_query(const struct dtconv_convertor *convertor,
				      struct dtconv_convertor_attr *attr);

/**
 * Set the position to any byte of the packed stream, also inside an element.
 *
 * @param convertor the convertor, nothing in flight.
 * @param position  bytes from the stream's start, at most its length.
 * @return 0; DTCONV_ERR_INVAL past the end; DTCONV_ERR_STATE if an operation is in flight.
 *
 * Costs the nesting depth plus the logarithm of the longest block table; with a representation or
 * an operation, also the nodes of the type's signature that stand before.
 */
DTCONV_API int dtconv_convertor_seek(struct dtconv_convertor *convertor, size_t position);

/**
 * Pack the next fragment and advance.
 *
 * @param convertor a convertor that packs, nothing in flight.
 * @param packed    [out] receives the next bytes of the stream.
 * @param capacity  bytes of room; fewer are written only at the stream's end.
 * @param moved     [out] bytes written, 0 at the end.
 * @return 0; DTCONV_ERR_STATE if the convertor unpacks or an operation is in flight.
 *
 * Blocks until done.
 */
DTCONV_API int dtconv_convertor_pack(struct dtconv_convertor *convertor, void *packed,
				     size_t capacity, size_t *moved);

/**
 * Unpack the next fragment and advance.
 *
 * @param convertor a convertor that unpacks, nothing in flight.
 * @param packed    [in] the next bytes of the stream.
 * @param bytes     how many.
 * @param moved     [out] bytes read: all of them, unless the stream ends before.
 * @return 0; DTCONV_ERR_STATE if the convertor packs or an operation is in flight;
 *         DTCONV_ERR_TRUNCATE if the stream ends before @p bytes (what fits was unpacked).
 *
 * Blocks until done. Fragments may come in any order, with a seek before each; one that comes
 * twice stores the same bytes twice.
 */
DTCONV_API int dtconv_convertor_unpack(struct dtconv_convertor *convertor, const void *packed,
				       size_t bytes, size_t *moved);

/**
 * Export the next blocks of the user's buffer instead of copying them, and advance by their
 * bytes as a pack of them would. Neighbouring blocks are merged; the first block begins and
 * the last ends wherever the position and the limits say, also inside an element.
 *
 * @param convertor the convertor, of either direction, nothing in flight.
 * @param iov       [out] addresses and lengths, in packed order.
 * @param max_iov   room in @p iov, in entries.
 * @param max_bytes most packed bytes to cover.
 * @param iov_count [out] entries written; 0 at the stream's end.
 * @param moved     [out] bytes they cover.
 * @return 0; DTCONV_ERR_STATE if an operation is in flight; DTCONV_ERR_UNSUPPORTED if the
 *         convertor was given a representation, an operation or a checksum.
 */
DTCONV_API int dtconv_convertor_iov(struct dtconv_convertor *convertor, struct iovec iov[],
				    size_t max_iov, size_t max_bytes, size_t *iov_count,
				    size_t *moved);

/**
 * Called once when a started operation ends, from dtconv_convertor_test or _wait.
 *
 * @param arg    the pointer given to start.
 * @param status 0 or a negative enum dtconv_status.
 * @param moved  packed bytes moved, exact also on failure.
 *
 * Must not call the convertor it belongs to.
 */
typedef void (*dtconv_done_fn)(void *arg, int status, size_t moved);

/**
 * Start to pack or unpack (as the convertor is bound) the next fragment, without waiting.
 *
 * @param convertor the convertor; one operation may be in flight.
 * @param packed    packed memory: written by a packing convertor, read by an unpacking one;
 *                  borrowed until completion.
 * @param bytes     length of the fragment; at most what remains of the stream is moved.
 * @param done      called at completion, or NULL.
 * @param arg       handed to @p done.
 * @return 0 if the operation was started; DTCONV_ERR_STATE if one is in flight.
 *
 * Does not block for device work but where @ref convertor says so; host memory may be copied before it
 * returns. The position advances at completion. Allocates nothing but what is said there.
 */
DTCONV_API int dtconv_convertor_start(struct dtconv_convertor *convertor, void *packed,
				      size_t bytes, dtconv_done_fn done, void *arg);

/**
 * Ask whether the started operation is finished; runs its callback if so.
 *
 * @param convertor the convertor.
 * @param moved     [out] bytes moved, once finished; may be NULL.
 * @return DTCONV_INPROGRESS; 0 when finished (exactly once); the operation's failure;
 *         DTCONV_ERR_TRUNCATE if an unpack was given more than remained;
 *         DTCONV_ERR_STATE if nothing was started.
 */
DTCONV_API int dtconv_convertor_test(struct dtconv_convertor *convertor, size_t *moved);

/**
 * Wait until the started operation is finished; runs its callback.
 *
 * @param convertor the convertor.
 * @param moved     [out] bytes moved; may be NULL.
 * @return 0; the operation's failure; DTCONV_ERR_TRUNCATE as in dtconv_convertor_test;
 *         DTCONV_ERR_STATE if nothing was started.
 */
DTCONV_API int dtconv_convertor_wait(struct dtconv_convertor *convertor, size_t *moved);

/**
 * Explain which path would move data of a type without a stream of the caller's, and why, as text of a few
 * lines: the candidates, their estimated costs, the choice, and why others cannot run. Of one that needs a
 * device where the process has none (its driver is not loaded, or not initialised), it is told what
 * it would cost, and that it cannot run.
 *
 * @param type        a committed type.
 * @param count       instances.
 * @param user_kind   where the user's buffer would be.
 * @param packed_kind where packed memory would be.
 * @param text        [out] receives at most @p capacity - 1 characters and a NUL; may be NULL
 *                    if capacity is 0.
 * @param capacity    bytes of room at @p text.
 * @param length      [out] length of the whole text without the NUL, also when it did not fit.
 * @return 0; DTCONV_ERR_TRUNCATE; DTCONV_ERR_STATE if the type is not committed.
 */
DTCONV_API int dtconv_explain(const struct dtconv_type *type, size_t count,
			      enum dtconv_memory_kind user_kind,
			      enum dtconv_memory_kind packed_kind, char *text,
			      size_t capacity, size_t *length);

/** Room for each description in struct dtconv_explanation, its NUL included. */
#define DTCONV_EXPLANATION_TEXT 200

/**
 * How the planner rates one copy backend for one type and one pair of memory kinds. The library owns the
 * texts that are pointers; they are valid as long as the context. All texts are for people.
 */
struct dtconv_explanation {
	size_t struct_size;   /**< sizeof(struct dtconv_explanation), set by the caller */
	int chosen_to_pack;   /**< 1 if it is the cheapest candidate to pack */
	int chosen_to_unpack; /**< 1 if it is the cheapest candidate to unpack */
	double pack_ns;       /**< estimated nanoseconds to pack; 0 if refused */
	double unpack_ns;     /**< estimated nanoseconds to unpack; 0 if refused */
	const char *shape;    /**< shape of the layout: "strided" */
	const char *what;     /**< what the backend moves bytes with */
	int forbidden;        /**< 1 if DTCONV_BACKENDS leaves it out */
	const char *refused;  /**< why it is no candidate, or NULL if it is one */
	/**
	 * Why a candidate cannot run in this process as it is now, or NULL if it can: its device is missing,
	 * and the estimates are those of a device with the default thresholds.
	 */
	const char *missing;
	char pack_method[DTCONV_EXPLANATION_TEXT];   /**< how it would pack, or empty */
	char unpack_method[DTCONV_EXPLANATION_TEXT]; /**< how it would unpack, or empty */
};

/**
 * Ask how the planner rates one copy backend: the data behind @ref dtconv_explain.
 *
 * @param type        a committed type.
 * @param count       instances.
 * @param user_kind   where the user's buffer would be.
 * @param packed_kind where packed memory would be.
 * @param backend     a name that dtconv_backend_name() returns.
 * @param explanation [in,out] struct_size set by the caller, the rest filled in.
 * @return 0; DTCONV_ERR_INVAL if a kind is none or struct_size is 0; DTCONV_ERR_STATE if the type is not
 *         committed; DTCONV_ERR_UNSUPPORTED if this build has no backend of that name.
 *
 * DTCONV_MEMORY_UNKNOWN is taken for host memory. Does not block. Callable from any thread.
 */
DTCONV_API int dtconv_explain_backend(const struct dtconv_type *type, size_t count,
				      enum dtconv_memory_kind user_kind,
				      enum dtconv_memory_kind packed_kind,
				      const char *backend,
				      struct dtconv_explanation *explanation);

/** @} */

#ifdef __cplusplus
}
#endif
#endif
