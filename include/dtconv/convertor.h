/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pack and unpack in one call, and convertors, which do it in fragments.
 *
 * Device memory: calls without a stream are NOT ordered behind your CUDA work, not even
 * behind the legacy default stream. cudaMemset() followed by dtconv_pack() packs wrong
 * bytes. Call dtconv_pack_on_stream(..., DTCONV_STREAM_LEGACY, ...), or create the context
 * with DTCONV_CONTEXT_DEFAULT_STREAM. doc/device-memory.md has the rules.
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
 * @brief Pack, unpack and copy buffers, in one call or in fragments.
 *
 * @snippet test_snippets.c convertor
 *
 * The packed stream of (count, type, buffer) (MPI 4.1 sections 5.2 and 5.3) is the bytes
 * of the typemap's elements in typemap order, instance after instance, without gaps. Its
 * length is count x size. A convertor is a position in that stream. It moves bytes
 * between the user's buffer and packed memory in fragments, which may begin and end at
 * any byte, also inside an element.
 *
 * **Device memory.** Either side may be device memory:
 * @ref device_memory "Device memory" explains streams, memory kinds, blocking, graph
 * capture and errors. Calls without a stream, dtconv_pack() among them, are *not* ordered
 * behind the application's CUDA work, not even behind the legacy default stream:
 * `cudaMemset` followed by dtconv_pack() packs wrong bytes. Name the stream
 * (dtconv_pack_on_stream(), #DTCONV_CONVERTOR_STREAM), create the context with
 * #DTCONV_CONTEXT_DEFAULT_STREAM, or synchronise first.
 *
 * **Buffers**
 * - The user's buffer is borrowed from bind until the last completion. Data is addressed
 *   at buffer + displacement. NULL is allowed for types with absolute displacements.
 * - Packed memory must not overlap the bytes of the typemap.
 * - Unpacking stores to no byte outside the typemap, not even its old value. Packing
 *   reads no byte outside the typemap, except inside an aligned 64-byte line that holds a
 *   byte of it.
 * - If elements of a type overlap, unpacking leaves the value of one of them in each
 *   shared byte. Which one is undefined, and may differ from call to call.
 *
 * **Types and threads**
 * - Types must be committed. A convertor holds a reference to its type.
 * - The one-shot calls may be made by any thread. A convertor belongs to one thread at a
 *   time; different convertors are independent.
 * - One operation of a convertor may be in flight. Until it completes, all other calls
 *   but test, wait, query and destroy return DTCONV_ERR_STATE. Several fragments at a time
 *   are @ref flight "flights".
 *
 * **Cut elements.** The native stream holds the bytes of memory, and fragments may cut
 * its elements. With a representation or an operation (struct dtconv_convertor_params) an
 * element is stored as a whole: the convertor keeps the bytes of an element that a
 * fragment cuts until all of them have arrived, in whatever order. Unpacking such a
 * fragment may allocate.
 * @{
 */

/**
 * Pack a whole buffer into a contiguous stream (MPI_PACK without the position).
 *
 * @param type     a committed type.
 * @param count    number of instances of @p type at @p buffer.
 * @param buffer   [in] the user's data; displacement 0 is here.
 * @param packed   [out] receives the packed stream.
 * @param capacity size of @p packed in bytes.
 * @param moved    [out] number of bytes written, valid even if the call fails; may be
 *                 NULL.
 * @return 0; DTCONV_ERR_TRUNCATE if the stream is longer than @p capacity (its first @p
 *         capacity bytes were packed); DTCONV_ERR_STATE if the type is not committed;
 *         DTCONV_ERR_OVERFLOW if count x size exceeds size_t or count x extent exceeds
 *         ptrdiff_t; see also @ref device_errors "device memory".
 *
 * Blocks until done. Does not allocate host memory; only the first use of device memory
 * does. Callable from any thread. **Not ordered behind any CUDA stream, the default one
 * included:** use dtconv_pack_on_stream() or DTCONV_CONTEXT_DEFAULT_STREAM for that.
 */
DTCONV_API int dtconv_pack(struct dtconv_type *type, size_t count, const void *buffer,
			   void *packed, size_t capacity, size_t *moved);

/**
 * Unpack a contiguous stream into a buffer (MPI_UNPACK without the position).
 *
 * @param type   a committed type.
 * @param count  number of instances of @p type that fit at @p buffer.
 * @param buffer [out] the user's data; displacement 0 is here.
 * @param packed [in] a packed stream.
 * @param bytes  length of the stream in bytes. It may be shorter than count x size, and
 *               may end inside an element.
 * @param moved  [out] number of bytes read, valid even if the call fails; may be NULL.
 * @return 0; DTCONV_ERR_TRUNCATE if the stream is longer than count x size (what fits was
 *         unpacked); DTCONV_ERR_STATE and DTCONV_ERR_OVERFLOW as in dtconv_pack(); see
 *         also @ref device_errors "device memory".
 *
 * Blocks until done. Does not allocate host memory; only the first use of device memory
 * does. Callable from any thread. **Not ordered behind any CUDA stream, the default one
 * included:** use dtconv_unpack_on_stream() or DTCONV_CONTEXT_DEFAULT_STREAM for that.
 */
DTCONV_API int dtconv_unpack(struct dtconv_type *type, size_t count, void *buffer,
			     const void *packed, size_t bytes, size_t *moved);

/**
 * Pack part of a stream: the bytes from a position on.
 *
 * @param type     a committed type.
 * @param count    number of instances of @p type at @p buffer.
 * @param buffer   [in] the user's data; displacement 0 is here.
 * @param position first byte of the packed stream to write, at most its length.
 * @param packed   [out] receives the bytes of the stream from @p position on.
 * @param capacity size of @p packed in bytes. Fewer bytes are written only at the end of
 *                 the stream.
 * @param moved    [out] number of bytes written, valid even if the call fails; may be
 *                 NULL.
 * @return 0; DTCONV_ERR_INVAL if @p position is past the end; DTCONV_ERR_STATE and
 *         DTCONV_ERR_OVERFLOW as in dtconv_pack(); see also @ref device_errors "device
 *         memory".
 *
 * A fragment without a convertor: for callers that keep the position themselves. Each call
 * searches for it, as dtconv_convertor_seek() does; a convertor continues without a search.
 * Blocks until done. Does not allocate host memory; only the first use of device memory
 * does. Callable from any thread, also by several for one stream at once. Not ordered behind
 * any CUDA stream, as dtconv_pack().
 */
DTCONV_API int dtconv_pack_at(struct dtconv_type *type, size_t count, const void *buffer,
			      size_t position, void *packed, size_t capacity,
			      size_t *moved);

/**
 * Unpack part of a stream: bytes that belong at a position of it.
 *
 * @param type     a committed type.
 * @param count    number of instances of @p type that fit at @p buffer.
 * @param buffer   [out] the user's data; displacement 0 is here.
 * @param position where the bytes begin in the packed stream, at most its length.
 * @param packed   [in] bytes of the stream.
 * @param bytes    their number.
 * @param moved    [out] number of bytes read, valid even if the call fails; may be NULL.
 * @return 0; DTCONV_ERR_TRUNCATE if the stream ends before @p position + @p bytes (what
 *         fits was unpacked); DTCONV_ERR_INVAL, DTCONV_ERR_STATE and DTCONV_ERR_OVERFLOW
 *         as in dtconv_pack_at(); see also @ref device_errors "device memory".
 *
 * As dtconv_pack_at(): no convertor, no allocation of host memory, and the cost of one
 * search for each call. Fragments may arrive in any order. Blocks until done. Callable from
 * any thread; several may unpack different parts of one stream at once, if no byte of the
 * buffer belongs to two parts.
 */
DTCONV_API int dtconv_unpack_at(struct dtconv_type *type, size_t count, void *buffer,
				size_t position, const void *packed, size_t bytes,
				size_t *moved);

/**
 * Pack a whole buffer into a contiguous stream that is cut over several buffers.
 *
 * @param type      a committed type.
 * @param count     number of instances of @p type at @p buffer.
 * @param buffer    [in] the user's data; displacement 0 is here.
 * @param iov       [in] the buffers that receive the stream, in order; entries may be
 *                  empty. Read during the call only; what they point to is written.
 * @param iov_count number of entries.
 * @param moved     [out] number of bytes written, valid even if the call fails; may be
 *                  NULL.
 * @return as dtconv_pack(): DTCONV_ERR_TRUNCATE if the stream is longer than all entries
 *         together (they were filled).
 *
 * Entries may cut elements. Each entry is one job: where the user's buffer is device
 * memory, few long entries are faster. Blocks until done. Does not allocate host memory.
 * Callable from any thread. Not ordered behind any CUDA stream, as dtconv_pack().
 */
DTCONV_API int dtconv_pack_iov(struct dtconv_type *type, size_t count, const void *buffer,
			       const struct iovec iov[], size_t iov_count, size_t *moved);

/**
 * Unpack a contiguous stream that is cut over several buffers.
 *
 * @param type      a committed type.
 * @param count     number of instances of @p type that fit at @p buffer.
 * @param buffer    [out] the user's data; displacement 0 is here.
 * @param iov       [in] the buffers that hold the stream, in order; entries may be empty.
 *                  Read during the call only.
 * @param iov_count number of entries.
 * @param moved     [out] number of bytes read, valid even if the call fails; may be NULL.
 * @return as dtconv_unpack(): DTCONV_ERR_TRUNCATE if the entries together are longer than
 *         count x size (what fits was unpacked).
 *
 * As dtconv_pack_iov().
 */
DTCONV_API int dtconv_unpack_iov(struct dtconv_type *type, size_t count, void *buffer,
				 const struct iovec iov[], size_t iov_count,
				 size_t *moved);

/**
 * Copy data from one layout to another, as a send to oneself does.
 *
 * @param source_type  a committed type.
 * @param source_count number of instances at @p source.
 * @param source       [in] the data to read.
 * @param target_type  a committed type of the same context.
 * @param target_count number of instances at @p target.
 * @param target       [out] the data to write; must not overlap @p source.
 * @param moved        [out] number of packed bytes copied, valid even if the call fails;
 *                     may be NULL.
 * @return 0; DTCONV_ERR_INVAL if the types are of different contexts;
 *         DTCONV_ERR_SIGNATURE if the source's signature is neither the target's nor a
 *         prefix of it (nothing was copied), except: DTCONV_ERR_TRUNCATE if the target's
 *         signature is a prefix of the source's (what fits was copied); DTCONV_ERR_STATE
 *         and DTCONV_ERR_OVERFLOW as in dtconv_pack(); see also @ref device_errors
 *         "device memory".
 *
 * Blocks until done. Callable from any thread. Takes no stream and no operation:
 * dtconv_copy_with() and dtconv_copier_create() do.
 * Does not allocate host memory; only the first use of device memory does. Between layouts
 * in memory that one device can access, the copy is one kernel launch. If that is not
 * possible, a side is device memory and neither side is contiguous, the data passes through
 * 8 MiB of that device's memory, which the first such copy allocates and the context keeps
 * until it is destroyed; one copy at a time uses them. From one device to another it passes
 * through 32 MiB of the target's, also where one launch is possible but slower: 4 MiB and
 * more into blocks of less than 64 bytes on average.
 */
DTCONV_API int dtconv_copy(struct dtconv_type *source_type, size_t source_count,
			   const void *source, struct dtconv_type *target_type,
			   size_t target_count, void *target, size_t *moved);

/**
 * The legacy default stream of the current device context (CU_STREAM_LEGACY): where
 * cudaMemset(), cudaMemcpy() and kernels without a stream go, unless the code was
 * compiled with `--default-stream per-thread`. A stream NULL is the same.
 */
#define DTCONV_STREAM_LEGACY ((void *)0x1)

/** The calling thread's default stream (CU_STREAM_PER_THREAD), for code compiled with `--default-stream per-thread`. */
#define DTCONV_STREAM_PER_THREAD ((void *)0x2)

/**
 * Pack a whole buffer in the order of a CUDA stream.
 *
 * @param type     a committed type.
 * @param count    number of instances of @p type at @p buffer.
 * @param buffer   [in] the user's data; displacement 0 is here.
 * @param packed   [out] receives the packed stream.
 * @param capacity size of @p packed in bytes.
 * @param stream   a CUstream or cudaStream_t, DTCONV_STREAM_LEGACY or
 *                 DTCONV_STREAM_PER_THREAD; NULL is the legacy default stream.
 * @param moved    [out] number of bytes written, valid even if the call fails; may be
 *                 NULL.
 * @return as dtconv_pack(); see also @ref device_errors "device memory".
 *
 * As dtconv_pack_with() with DTCONV_CONVERTOR_STREAM, but it creates no convertor. Blocks
 * until done: behind all work that the stream was given before. Does not allocate host
 * memory; only the first use of device memory does. Callable from any thread.
 */
DTCONV_API int dtconv_pack_on_stream(struct dtconv_type *type, size_t count,
				     const void *buffer, void *packed, size_t capacity,
				     void *stream, size_t *moved);

/**
 * Unpack a whole buffer in the order of a CUDA stream.
 *
 * @param type   a committed type.
 * @param count  number of instances of @p type that fit at @p buffer.
 * @param buffer [out] the user's data; displacement 0 is here.
 * @param packed [in] a packed stream.
 * @param bytes  length of the packed stream in bytes; see dtconv_unpack().
 * @param stream as in dtconv_pack_on_stream().
 * @param moved  [out] number of bytes read, valid even if the call fails; may be NULL.
 * @return as dtconv_unpack(); see also @ref device_errors "device memory".
 *
 * As dtconv_unpack_with() with DTCONV_CONVERTOR_STREAM, but it creates no convertor.
 * Blocks until done: behind all work that the stream was given before. Does not allocate
 * host memory; only the first use of device memory does. Callable from any thread.
 */
DTCONV_API int dtconv_unpack_on_stream(struct dtconv_type *type, size_t count,
				       void *buffer, const void *packed, size_t bytes,
				       void *stream, size_t *moved);

/** Options of a convertor. Zero-initialise, set struct_size, then what differs from the default. */
struct dtconv_convertor_params {
	size_t struct_size; /**< sizeof(struct dtconv_convertor_params) */
	/** representation of the packed stream; NULL: native */
	const struct dtconv_representation *representation;
	enum dtconv_op op;  /**< what unpacking does with each element; packing ignores it */
	dtconv_op_fn op_fn; /**< the function for DTCONV_OP_USER, else NULL */
	void *op_arg;       /**< passed to op_fn */
	unsigned flags;     /**< of enum dtconv_convertor_flags */
	/**
	 * Hint: where the user's buffer is. Default: the library asks the device driver.
	 * A wrong hint is undefined behaviour; see @ref device_kinds "Memory kinds".
	 */
	enum dtconv_memory_kind user_memory;
	enum dtconv_memory_kind packed_memory; /**< hint: where packed memory is; see user_memory */
	/** with DTCONV_CONVERTOR_STREAM: as in dtconv_pack_on_stream() */
	void *stream;
	/**
	 * Copy backends that the planner may choose, by name as in dtconv_backend_name():
	 * "cuda_kernel" or "host,cuda_kernel" allows only these, "^cuda_copy" all but
	 * these. NULL: all. Read during the call only.
	 *
	 * If none of the allowed backends supports a job, the call that moves it returns
	 * DTCONV_ERR_UNSUPPORTED; that holds for host memory too. Kernels that convert or
	 * combine elements in device memory count as "cuda_kernel", or as "cuda_staged"
	 * where packed memory is ordinary host memory, and are excluded with it.
	 * Checksums need no backend.
	 */
	const char *backends;
};

/** Flags of struct dtconv_convertor_params. */
enum dtconv_convertor_flags {
	DTCONV_CONVERTOR_CRC32C = 1, /**< compute a checksum of the packed stream: dtconv_convertor_crc32c() */
	/**
	 * Do the job in the order of params.stream: after the work that the stream was
	 * given before, and before the work that it is given later. Without this flag the
	 * data must be ready when the call is made. Ordinary host memory is not part of a
	 * stream's order: see @ref device_streams "Streams and ordering".
	 */
	DTCONV_CONVERTOR_STREAM = 2
};

/**
 * Pack a whole buffer in a stream, or in another representation (MPI_PACK_EXTERNAL).
 *
 * @param type     a committed type.
 * @param count    number of instances of @p type at @p buffer.
 * @param buffer   [in] the user's data; displacement 0 is here.
 * @param packed   [out] receives the packed stream.
 * @param capacity size of @p packed in bytes.
 * @param params   [in] options, read during the call only; NULL: none, as dtconv_pack().
 * @param moved    [out] number of bytes written, valid even if the call fails; may be
 *                 NULL.
 * @return as dtconv_pack() and dtconv_convertor_configure(); DTCONV_ERR_OVERFLOW also if
 *         an integer does not fit its narrower form (what is before it was packed);
 *         DTCONV_ERR_NOMEM.
 *
 * Blocks until done, also in a stream. Callable from any thread.
 */
DTCONV_API int dtconv_pack_with(struct dtconv_type *type, size_t count,
				const void *buffer, void *packed, size_t capacity,
				const struct dtconv_convertor_params *params,
				size_t *moved);

/**
 * Unpack in a stream, from a representation (MPI_UNPACK_EXTERNAL), or with an operation.
 *
 * @param type   a committed type.
 * @param count  number of instances of @p type that fit at @p buffer.
 * @param buffer [in,out] the user's data; displacement 0 is here.
 * @param packed [in] a packed stream.
 * @param bytes  length of the stream in bytes; may be shorter than the whole. The bytes
 *               of an element that the end cuts are not stored.
 * @param params [in] options, read during the call only; NULL: none, as dtconv_unpack().
 * @param moved  [out] number of bytes read, valid even if the call fails; may be NULL.
 * @return as dtconv_unpack() and dtconv_convertor_configure(); DTCONV_ERR_OVERFLOW also
 *         if an integer does not fit its narrower form (what is before it was stored);
 *         DTCONV_ERR_NOMEM.
 *
 * Blocks until done, also in a stream. Callable from any thread. If elements of the type
 * overlap in memory, the result is undefined unless the operation is replace or no_op.
 */
DTCONV_API int dtconv_unpack_with(struct dtconv_type *type, size_t count, void *buffer,
				  const void *packed, size_t bytes,
				  const struct dtconv_convertor_params *params,
				  size_t *moved);

/**
 * Make ready in advance what the first call with a device would make.
 *
 * @param context the context.
 * @param device  ordinal of the device that will do the jobs; negative: the device of the
 *                calling thread's current device context. Ignored if @p params has a
 *                stream: then it is the stream's.
 * @param type    a committed type that will be packed and unpacked; NULL: prepare only
 *                what jobs of all types share.
 * @param count   number of instances in one job; ignored if @p type is NULL.
 * @param params  [in] the options of the jobs, read during the call only: memory kinds
 *                (unknown is taken for device memory), stream, representation,
 *                operation, checksum, backends; NULL: none, both sides in device memory.
 * @return 0, also if it was prepared before; as dtconv_convertor_configure() for @p
 *         params; DTCONV_ERR_INVAL if there is no such device or the type was made in
 *         another context; DTCONV_ERR_STATE if the type is not committed or no context of
 *         the device can be found; DTCONV_ERR_OVERFLOW as in dtconv_pack();
 *         DTCONV_ERR_UNSUPPORTED if the process has loaded no device driver, the build
 *         has no device backend, or the context has DTCONV_CONTEXT_HOST_MEMORY;
 *         DTCONV_ERR_AGAIN if the device is busy: kernels are loaded when it is idle; the
 *         same while a kernel is compiled (DTCONV_CONTEXT_SPECIALISE);
 *         DTCONV_ERR_BACKEND if it has no kernels or the driver refuses a call;
 *         DTCONV_ERR_NOMEM. After a failure, what was made stays and calls work.
 *
 * The first job in a device context allocates memory there, starts a thread and loads
 * kernels, and the first job of a type may copy tables to the device. This call does all
 * of it before, for both directions and started jobs too (1 MiB on an H200: the first job
 * takes 4 ms without it, 30 us after it, later ones 12 us). What it makes lives as long as
 * the context, and what belongs to the type as long as that.
 *
 * - Kernels that convert, combine or sum up are loaded only if @p params asks for that.
 * - Part lists of types with many unlike members are made for buffers that are aligned to
 *   16 bytes.
 * - Not prepared: scratch memory of dtconv_copy(), tables of batches, BAR mappings, what a
 *   convertor keeps for its representation or operation.
 * - With both memory kinds DTCONV_MEMORY_HOST there is nothing to do: it returns 0, also
 *   without a driver.
 *
 * **Captures.** Loading invalidates the captures that streams of the device context are in.
 * Only what a captured job, or this call with a captured params.stream, asks for itself is
 * loaded without that. So call this before a capture begins, until it returns 0: then nothing
 * is left that earlier jobs of @p context have asked to load. During the capture, do no jobs
 * outside it that are the first of their kind, and none at all with
 * DTCONV_CONTEXT_SPECIALISE.
 *
 * Blocks: while the device is busy or a kernel is compiled, up to 0.4 s for each of kernels that
 * move, kernels that compute, and what earlier jobs have asked for; and as long as driver calls
 * take. Callable from any thread.
 */
DTCONV_API int dtconv_prepare(struct dtconv_context *context, int device,
			      struct dtconv_type *type, size_t count,
			      const struct dtconv_convertor_params *params);

/**
 * Create a convertor that packs a buffer.
 *
 * @param type      a committed type.
 * @param count     number of instances of @p type at @p buffer.
 * @param buffer    [in] the user's data, borrowed; displacement 0 is here.
 * @param convertor [out] the new convertor, at position 0, owned by the caller.
 * @return 0; DTCONV_ERR_STATE if the type is not committed; DTCONV_ERR_OVERFLOW if count
 *         x size exceeds size_t or count x extent exceeds ptrdiff_t; DTCONV_ERR_NOMEM.
 *
 * Does not block. Callable from any thread.
 */
DTCONV_API int dtconv_convertor_create_pack(struct dtconv_type *type, size_t count,
					    const void *buffer,
					    struct dtconv_convertor **convertor);

/**
 * Create a convertor that unpacks into a buffer.
 *
 * @param type      a committed type.
 * @param count     number of instances of @p type that fit at @p buffer.
 * @param buffer    [out] the user's data, borrowed; displacement 0 is here.
 * @param convertor [out] the new convertor, at position 0, owned by the caller.
 * @return as dtconv_convertor_create_pack().
 *
 * Does not block. Callable from any thread.
 */
DTCONV_API int dtconv_convertor_create_unpack(struct dtconv_type *type, size_t count,
					      void *buffer,
					      struct dtconv_convertor **convertor);

/**
 * Create a convertor that packs, with options, in one call.
 *
 * @param type      a committed type.
 * @param count     number of instances of @p type at @p buffer.
 * @param buffer    [in] the user's data, borrowed; displacement 0 is here.
 * @param params    [in] options, copied; NULL for the defaults.
 * @param convertor [out] the new convertor, at position 0, owned by the caller.
 * @return as dtconv_convertor_create_pack() and dtconv_convertor_configure(). On failure
 *         there is no convertor.
 *
 * Does not block. Callable from any thread.
 */
DTCONV_API int dtconv_convertor_create_pack_with(
	struct dtconv_type *type, size_t count, const void *buffer,
	const struct dtconv_convertor_params *params,
	struct dtconv_convertor **convertor);

/**
 * Create a convertor that unpacks, with options, in one call.
 *
 * @param type      a committed type.
 * @param count     number of instances of @p type that fit at @p buffer.
 * @param buffer    [out] the user's data, borrowed; displacement 0 is here.
 * @param params    [in] options, copied; NULL for the defaults.
 * @param convertor [out] the new convertor, at position 0, owned by the caller.
 * @return as dtconv_convertor_create_pack_with().
 *
 * Does not block. Callable from any thread.
 */
DTCONV_API int dtconv_convertor_create_unpack_with(
	struct dtconv_type *type, size_t count, void *buffer,
	const struct dtconv_convertor_params *params,
	struct dtconv_convertor **convertor);

/**
 * Bytes of storage that are enough for a convertor of any version of this interface with
 * the same soname.
 */
#define DTCONV_CONVERTOR_STORAGE 4096

/** Alignment in bytes of a convertor's storage; what malloc() returns has it. */
#define DTCONV_CONVERTOR_ALIGNMENT 8

/**
 * Return how many bytes of storage a convertor of the loaded library needs.
 *
 * @return the number, at most DTCONV_CONVERTOR_STORAGE.
 *
 * Does not block. Callable from any thread.
 */
DTCONV_API size_t dtconv_convertor_storage_bytes(void);

/**
 * Make a convertor that packs in storage of the caller's.
 *
 * @param storage       memory for the convertor, for example in a request of the runtime's;
 *                      aligned to DTCONV_CONVERTOR_ALIGNMENT. It is borrowed until
 *                      dtconv_convertor_destroy(), which must be called before the storage is
 *                      used again, and must not be moved or copied meanwhile. Its contents
 *                      need not be initialised.
 * @param storage_bytes its size: at least dtconv_convertor_storage_bytes().
 * @param type          a committed type.
 * @param count         number of instances of @p type at @p buffer.
 * @param buffer        [in] the user's data, borrowed; displacement 0 is here.
 * @param params        [in] options, copied; NULL for the defaults.
 * @param convertor     [out] the convertor, at position 0; it is in @p storage.
 * @return as dtconv_convertor_create_pack_with(); DTCONV_ERR_INVAL also if @p storage is
 *         too short or not aligned. On failure the storage holds no convertor.
 *
 * As dtconv_convertor_create_pack_with(), but allocates nothing, unless @p params has a
 * representation or an operation. Clones are allocated. Does not block. Callable from any
 * thread.
 */
DTCONV_API int dtconv_convertor_init_pack(void *storage, size_t storage_bytes,
					  struct dtconv_type *type, size_t count,
					  const void *buffer,
					  const struct dtconv_convertor_params *params,
					  struct dtconv_convertor **convertor);

/**
 * Make a convertor that unpacks in storage of the caller's.
 *
 * @param storage       as in dtconv_convertor_init_pack().
 * @param storage_bytes as in dtconv_convertor_init_pack().
 * @param type          a committed type.
 * @param count         number of instances of @p type that fit at @p buffer.
 * @param buffer        [out] the user's data, borrowed; displacement 0 is here.
 * @param params        [in] options, copied; NULL for the defaults.
 * @param convertor     [out] the convertor, at position 0; it is in @p storage.
 * @return as dtconv_convertor_init_pack().
 *
 * Does not block. Callable from any thread.
 */
DTCONV_API int dtconv_convertor_init_unpack(void *storage, size_t storage_bytes,
					    struct dtconv_type *type, size_t count,
					    void *buffer,
					    const struct dtconv_convertor_params *params,
					    struct dtconv_convertor **convertor);

/**
 * Bind a convertor to another buffer, to pack it from position 0.
 *
 * @param convertor the convertor.
 * @param type      a committed type of the same context.
 * @param count     number of instances of @p type at @p buffer.
 * @param buffer    [in] the user's data, borrowed.
 * @return 0; DTCONV_ERR_STATE if the type is not committed or an operation is in flight;
 *         DTCONV_ERR_OVERFLOW as in dtconv_convertor_create_pack(); as
 *         dtconv_convertor_configure() for the options, which stay. On failure the old
 *         binding stays.
 *
 * Does not block. Allocates only if the convertor has a representation.
 */
DTCONV_API int dtconv_convertor_rebind_pack(struct dtconv_convertor *convertor,
					    struct dtconv_type *type, size_t count,
					    const void *buffer);

/**
 * Bind a convertor to another buffer, to unpack into it from position 0.
 *
 * @param convertor the convertor.
 * @param type      a committed type of the same context.
 * @param count     number of instances of @p type that fit at @p buffer.
 * @param buffer    [out] the user's data, borrowed.
 * @return as dtconv_convertor_rebind_pack().
 *
 * Does not block. Allocates only if the convertor has a representation.
 */
DTCONV_API int dtconv_convertor_rebind_unpack(struct dtconv_convertor *convertor,
					      struct dtconv_type *type, size_t count,
					      void *buffer);

/**
 * Set a convertor's options: representation, operation, checksum, stream, backends.
 *
 * @param convertor the convertor.
 * @param params    [in] options, copied; NULL for the defaults.
 * @return 0; DTCONV_ERR_INVAL if struct_size is 0, a field has an undefined value,
 *         params.backends names a backend that this build does not have, or MPI does not
 *         define the operation on the type; DTCONV_ERR_UNSUPPORTED as in
 *         dtconv_op_check(); DTCONV_ERR_OVERFLOW if the represented stream is longer than
 *         size_t; DTCONV_ERR_STATE if an operation is in flight; DTCONV_ERR_NOMEM. On
 *         failure nothing changes.
 *
 * Sets position 0 and drops the bytes of cut elements. Options stay when the convertor is
 * rebound. Does not block. May allocate, and so may rebinding a convertor that has a
 * representation.
 */
DTCONV_API int dtconv_convertor_configure(struct dtconv_convertor *convertor,
					  const struct dtconv_convertor_params *params);

/**
 * Read the checksum of the bytes moved since the convertor was bound or configured.
 *
 * @param convertor a convertor with DTCONV_CONVERTOR_CRC32C.
 * @param crc       [out] CRC-32C (Castagnoli) of the packed bytes. It is meaningful if
 *                  they are the first bytes of the stream and each was moved once, in any
 *                  order.
 * @return 0; DTCONV_ERR_STATE if the convertor computes no checksum or an operation is in
 *         flight.
 *
 * Does not block; does not allocate.
 */
DTCONV_API int dtconv_convertor_crc32c(const struct dtconv_convertor *convertor,
				       uint32_t *crc);

/**
 * Compute the CRC-32C (Castagnoli) of bytes in host memory, piece by piece.
 *
 * @param crc   the result for the bytes before, or 0 for the first piece.
 * @param data  [in] the bytes; not device memory.
 * @param bytes number of bytes.
 * @return the checksum of all bytes up to here.
 *
 * Blocks until done; does not allocate. Callable from any thread.
 */
DTCONV_API uint32_t dtconv_crc32c(uint32_t crc, const void *data, size_t bytes);

/**
 * Copy a convertor with its position, also inside an element.
 *
 * @param convertor the convertor.
 * @param clone     [out] the copy, owned by the caller and independent.
 * @return 0; DTCONV_ERR_STATE if an operation is in flight; DTCONV_ERR_NOMEM.
 *
 * Does not block.
 */
DTCONV_API int dtconv_convertor_clone(const struct dtconv_convertor *convertor,
				      struct dtconv_convertor **clone);

/**
 * Destroy a convertor. Waits for an operation and for flights in flight; no callback is
 * called.
 *
 * @param convertor the convertor, or NULL. Storage of the caller's may be used again.
 *
 * While a send or a receive that is not done uses the convertor, this does not wait: the
 * convertor lives until the operation is done. Storage of the caller's must stay until then,
 * and the log says so.
 */
DTCONV_API void dtconv_convertor_destroy(struct dtconv_convertor *convertor);

/** Position and state of a convertor, in bytes of the packed stream. */
struct dtconv_convertor_attr {
	size_t struct_size; /**< sizeof(struct dtconv_convertor_attr), set by the caller */
	size_t size;        /**< length of the whole stream */
	size_t position;    /**< offset of the next byte to move */
	int in_flight; /**< 1 from start to completion, and while flights are in flight */
	size_t held; /**< bytes received of elements that are not complete yet */
};

/**
 * Read a convertor's position and state.
 *
 * @param convertor the convertor.
 * @param attr      [in,out] struct_size set by the caller, the rest filled in.
 * @return 0; DTCONV_ERR_INVAL if struct_size is 0.
 *
 * Does not block; does not allocate.
 */
DTCONV_API int dtconv_convertor_query(const struct dtconv_convertor *convertor,
				      struct dtconv_convertor_attr *attr);

/**
 * Set the position to any byte of the packed stream, also inside an element.
 *
 * @param convertor the convertor.
 * @param position  offset in bytes from the start of the stream, at most its length.
 * @return 0; DTCONV_ERR_INVAL past the end; DTCONV_ERR_STATE if an operation is in
 *         flight.
 *
 * Does not block; does not allocate. The cost is O(nesting depth + log(longest block
 * table)); with a representation or an operation, plus the number of nodes of the type's
 * signature before the position.
 */
DTCONV_API int dtconv_convertor_seek(struct dtconv_convertor *convertor, size_t position);

/**
 * Pack the next fragment and advance.
 *
 * @param convertor a convertor that packs.
 * @param packed    [out] receives the next bytes of the stream.
 * @param capacity  size of @p packed in bytes. Fewer bytes are written only at the end of
 *                  the stream.
 * @param moved     [out] number of bytes written, valid even if the call fails; 0 at the
 *                  end of the stream.
 * @return 0; DTCONV_ERR_STATE if the convertor unpacks or an operation is in flight; see
 *         also @ref device_errors "device memory".
 *
 * Blocks until done.
 */
DTCONV_API int dtconv_convertor_pack(struct dtconv_convertor *convertor, void *packed,
				     size_t capacity, size_t *moved);

/**
 * Unpack the next fragment and advance.
 *
 * @param convertor a convertor that unpacks.
 * @param packed    [in] the next bytes of the stream.
 * @param bytes     number of bytes at @p packed.
 * @param moved     [out] number of bytes read, valid even if the call fails: all of them,
 *                  unless the stream ends before.
 * @return 0; DTCONV_ERR_TRUNCATE if the stream ends before @p bytes (what fits was
 *         unpacked); DTCONV_ERR_STATE if the convertor packs or an operation is in
 *         flight; see also @ref device_errors "device memory".
 *
 * Blocks until done. Fragments may arrive in any order, with dtconv_convertor_seek()
 * before each. One that arrives twice is stored twice.
 */
DTCONV_API int dtconv_convertor_unpack(struct dtconv_convertor *convertor, const void *packed,
				       size_t bytes, size_t *moved);

/**
 * Pack the next bytes of the stream into several buffers, and advance.
 *
 * @param convertor a convertor that packs.
 * @param iov       [in] the buffers that receive the next bytes of the stream, in order;
 *                  entries may be empty. Read during the call only; what they point to is
 *                  written.
 * @param iov_count number of entries.
 * @param moved     [out] number of bytes written, valid even if the call fails; fewer than
 *                  there is room for only at the end of the stream.
 * @return as dtconv_convertor_pack().
 *
 * The same as one dtconv_convertor_pack() for each entry. Blocks until done.
 */
DTCONV_API int dtconv_convertor_pack_iov(struct dtconv_convertor *convertor,
					 const struct iovec iov[], size_t iov_count,
					 size_t *moved);

/**
 * Unpack the next bytes of the stream from several buffers, and advance.
 *
 * @param convertor a convertor that unpacks.
 * @param iov       [in] the buffers that hold the next bytes of the stream, in order;
 *                  entries may be empty. Read during the call only.
 * @param iov_count number of entries.
 * @param moved     [out] number of bytes read, valid even if the call fails: all of them,
 *                  unless the stream ends before.
 * @return as dtconv_convertor_unpack().
 *
 * The same as one dtconv_convertor_unpack() for each entry. Blocks until done.
 */
DTCONV_API int dtconv_convertor_unpack_iov(struct dtconv_convertor *convertor,
					   const struct iovec iov[], size_t iov_count,
					   size_t *moved);

/**
 * List the next blocks of the user's buffer as an iovec, and advance.
 *
 * @param convertor a convertor of either direction.
 * @param iov       [out] addresses and lengths, in packed order.
 * @param max_iov   room in @p iov, in entries.
 * @param max_bytes maximum number of packed bytes to cover.
 * @param iov_count [out] number of entries written; 0 at the end of the stream.
 * @param moved     [out] number of bytes that they cover.
 * @return 0; DTCONV_ERR_STATE if an operation is in flight; DTCONV_ERR_UNSUPPORTED if the
 *         convertor has a representation, an operation or a checksum, or if dtconv_path()
 *         has answered that the buffer must be staged.
 *
 * Nothing is copied. Neighbouring blocks are merged. The first block begins and the last
 * one ends wherever the position and the limits say, also inside an element. Does not
 * block; does not allocate. The library does not access the buffer.
 */
DTCONV_API int dtconv_convertor_iov(struct dtconv_convertor *convertor, struct iovec iov[],
				    size_t max_iov, size_t max_bytes, size_t *iov_count,
				    size_t *moved);

/**
 * Count the iovec entries of (count, type) without listing them.
 *
 * @param type      a committed type.
 * @param count     number of instances.
 * @param iov_count [out] the number of entries that dtconv_iov() lists from entry 0 on.
 * @return 0; DTCONV_ERR_STATE and DTCONV_ERR_OVERFLOW as in dtconv_pack();
 *         DTCONV_ERR_NOMEM.
 *
 * The cost does not depend on @p count. The first call for a type with listed blocks or
 * many members makes an index: it costs about 15 ns and an eighth of a byte for each
 * listed block, and 32 bytes for each member, and stays with the type.
 * Types without lists and with few members need none, and then nothing is allocated. Does
 * not block. Callable from any thread.
 */
DTCONV_API int dtconv_iov_count(const struct dtconv_type *type, size_t count,
				size_t *iov_count);

/**
 * List the iovec entries of (count, type, buffer), from any entry on.
 *
 * @param type      a committed type.
 * @param count     number of instances of @p type at @p buffer.
 * @param buffer    the user's buffer; not accessed.
 * @param first     number of the first entry to list; 0 is the first of the stream.
 * @param iov       [out] addresses and lengths, in packed order.
 * @param max_iov   room in @p iov, in entries.
 * @param iov_count [out] number of entries written: fewer than @p max_iov only at the end
 *                  of the stream, 0 if @p first is behind it.
 * @return as dtconv_iov_count().
 *
 * Entries are the longest runs of the stream: neighbouring blocks are merged, and none is
 * cut. Finding entry @p first costs the nesting depth, the members before it on each level
 * and the logarithm of listed blocks, with the index of dtconv_iov_count(); from entry 0 no
 * index is needed. Does not block. Callable from any thread. dtconv_convertor_iov() limits
 * the bytes too, and may begin inside an entry.
 */
DTCONV_API int dtconv_iov(const struct dtconv_type *type, size_t count,
			  const void *buffer, size_t first, struct iovec iov[],
			  size_t max_iov, size_t *iov_count);

/**
 * Completion callback of a started operation. It is called once, from test or wait.
 *
 * @param arg    the pointer that was passed to start.
 * @param status 0 or a negative enum dtconv_status.
 * @param moved  number of packed bytes moved, valid even if the operation failed.
 *
 * Must not call the convertor (or batch) that it belongs to.
 */
typedef void (*dtconv_done_fn)(void *arg, int status, size_t moved);

/**
 * Start to pack or unpack the next fragment; device work runs in the background.
 *
 * @snippet test_snippets.c start
 *
 * @param convertor the convertor, of either direction.
 * @param packed    packed memory: written by a convertor that packs, read by one that
 *                  unpacks; borrowed until completion.
 * @param bytes     length of the fragment in bytes; at most what remains of the stream is
 *                  moved.
 * @param done      called at completion, or NULL.
 * @param arg       passed to @p done.
 * @return 0 if the operation was started, even if it has failed already:
 *         dtconv_convertor_test() and _wait return its status. DTCONV_ERR_AGAIN if a
 *         resource is missing: nothing has happened, and the same call succeeds when other
 *         jobs have ended. DTCONV_ERR_STATE if an operation is in flight.
 *
 * Host memory is copied before the call returns. Device work does not block the call,
 * except in the cases that @ref device_blocking "Blocking calls" lists. The position
 * advances at completion. Does not allocate in the steady state.
 */
DTCONV_API int dtconv_convertor_start(struct dtconv_convertor *convertor, void *packed,
				      size_t bytes, dtconv_done_fn done, void *arg);

/**
 * Ask whether the started operation has completed. If so, its callback is called.
 *
 * @param convertor the convertor.
 * @param moved     [out] number of bytes moved, once completed; may be NULL.
 * @return DTCONV_INPROGRESS; 0 on completion (once); the error of the operation;
 *         DTCONV_ERR_TRUNCATE if an unpack was given more bytes than remained;
 *         DTCONV_ERR_STATE if nothing was started.
 *
 * Never blocks.
 */
DTCONV_API int dtconv_convertor_test(struct dtconv_convertor *convertor, size_t *moved);

/**
 * Wait until the started operation has completed. Its callback is called.
 *
 * @param convertor the convertor.
 * @param moved     [out] number of bytes moved; may be NULL.
 * @return 0; the error of the operation; DTCONV_ERR_TRUNCATE as in
 *         dtconv_convertor_test(); DTCONV_ERR_STATE if nothing was started.
 */
DTCONV_API int dtconv_convertor_wait(struct dtconv_convertor *convertor, size_t *moved);

/**
 * Test started convertors until one has completed (MPI_TESTANY).
 *
 * @param convertors the convertors. Those that are NULL, were not started, or have reported
 *                   their completion take no part.
 * @param count      their number.
 * @param index      [out] which one has completed; DTCONV_UNDEFINED if none has.
 * @param moved      [out] number of bytes that it moved; may be NULL.
 * @return the status of the one that has completed, as dtconv_convertor_test();
 *         DTCONV_INPROGRESS if some are in flight and none has completed; 0 if none takes
 *         part.
 *
 * Tests from the first on and completes at most one. All convertors belong to the calling
 * thread. Never blocks; does not allocate.
 */
DTCONV_API int dtconv_convertor_test_any(struct dtconv_convertor *const convertors[],
					 size_t count, size_t *index, size_t *moved);

/**
 * Test all started convertors of an array once (MPI_TESTSOME).
 *
 * @param convertors the convertors; as in dtconv_convertor_test_any().
 * @param count      their number, and the length of the arrays.
 * @param indices    [out] the first @p completed elements say which have completed.
 * @param statuses   [out] at the index of each convertor that takes part: what
 *                   dtconv_convertor_test() returned; may be NULL.
 * @param moved      [out] at the index of each that has completed: number of bytes moved;
 *                   may be NULL.
 * @param completed  [out] how many have completed in this call, also if one failed.
 * @return 0 if at least one has completed or none takes part; DTCONV_INPROGRESS if none has
 *         completed yet; the first error if one has failed.
 *
 * Never blocks; does not allocate.
 */
DTCONV_API int dtconv_convertor_test_some(struct dtconv_convertor *const convertors[],
					  size_t count, size_t indices[], int statuses[],
					  size_t moved[], size_t *completed);

/**
 * Test all started convertors of an array, and ask whether none is left (MPI_TESTALL).
 *
 * @param convertors the convertors; as in dtconv_convertor_test_any().
 * @param count      their number, and the length of the arrays.
 * @param statuses   [out] as in dtconv_convertor_test_some(); may be NULL.
 * @param moved      [out] as in dtconv_convertor_test_some(); may be NULL.
 * @return 0 if none is left in flight; DTCONV_INPROGRESS otherwise; the first error if one
 *         has failed in this call, whether or not others are left.
 *
 * Unlike MPI_TESTALL, a convertor that has completed is reported in the call that finds it,
 * and takes no part in later ones. Pass the same arrays until the call returns 0: they then
 * hold the results of all. Never blocks; does not allocate.
 */
DTCONV_API int dtconv_convertor_test_all(struct dtconv_convertor *const convertors[],
					 size_t count, int statuses[], size_t moved[]);

/**
 * Explain, as text, which copy backend the planner would choose and why.
 *
 * @param type        a committed type.
 * @param count       number of instances.
 * @param user_kind   where the user's buffer would be.
 * @param packed_kind where packed memory would be.
 * @param text        [out] receives at most @p capacity - 1 characters and a NUL; may be
 *                    NULL if capacity is 0.
 * @param capacity    size of @p text in bytes.
 * @param length      [out] length of the whole text without the NUL, also if it did not
 *                    fit.
 * @return 0; DTCONV_ERR_TRUNCATE; DTCONV_ERR_STATE if the type is not committed.
 *
 * The text has a few lines: the candidates, their estimated costs, the choice, and why
 * the others do not apply. It is about a job without a stream. If the process has no
 * device (its driver is not loaded or not initialised), backends that need one are listed
 * with their cost, and with the reason why they cannot run. Does not block.
 */
DTCONV_API int dtconv_explain(const struct dtconv_type *type, size_t count,
			      enum dtconv_memory_kind user_kind,
			      enum dtconv_memory_kind packed_kind, char *text,
			      size_t capacity, size_t *length);

/** Size of each description in struct dtconv_explanation, with its NUL. */
#define DTCONV_EXPLANATION_TEXT 200

/**
 * The planner's rating of one copy backend for a type and a pair of memory kinds.
 *
 * Texts that are pointers belong to the library and are valid as long as the context. All
 * texts are for people.
 */
struct dtconv_explanation {
	size_t struct_size;   /**< sizeof(struct dtconv_explanation), set by the caller */
	int chosen_to_pack;   /**< 1 if it is the cheapest candidate to pack */
	int chosen_to_unpack; /**< 1 if it is the cheapest candidate to unpack */
	double pack_ns;       /**< estimated nanoseconds to pack; 0 if it is no candidate */
	double unpack_ns;     /**< estimated nanoseconds to unpack; 0 if it is no candidate */
	const char *shape;    /**< shape of the layout, for example "strided" */
	const char *what;     /**< how the backend moves bytes */
	int forbidden;        /**< 1 if DTCONV_BACKENDS excludes it */
	const char *refused;  /**< why it is no candidate; NULL if it is one */
	/**
	 * Why a candidate cannot run in this process now; NULL if it can. Its device is
	 * missing, and the estimates are those of a device with the default thresholds.
	 */
	const char *missing;
	char pack_method[DTCONV_EXPLANATION_TEXT];   /**< how it would pack, or empty */
	char unpack_method[DTCONV_EXPLANATION_TEXT]; /**< how it would unpack, or empty */
};

/**
 * Read the planner's rating of one copy backend: the data behind dtconv_explain().
 *
 * @param type        a committed type.
 * @param count       number of instances.
 * @param user_kind   where the user's buffer would be; DTCONV_MEMORY_UNKNOWN counts as
 *                    host memory.
 * @param packed_kind where packed memory would be; DTCONV_MEMORY_UNKNOWN counts as host
 *                    memory.
 * @param backend     a name that dtconv_backend_name() returns.
 * @param explanation [in,out] struct_size set by the caller, the rest filled in.
 * @return 0; DTCONV_ERR_INVAL if a memory kind is undefined or struct_size is 0;
 *         DTCONV_ERR_STATE if the type is not committed; DTCONV_ERR_UNSUPPORTED if this
 *         build has no backend of that name.
 *
 * Does not block. Callable from any thread.
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
