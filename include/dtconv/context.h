/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The context: allocator, log, error texts, counters and the predefined types. Everything
 * else hangs off one; the library keeps no state outside contexts.
 */
#ifndef DTCONV_CONTEXT_H
#define DTCONV_CONTEXT_H

#include <stddef.h>
#include <stdint.h>

#include <dtconv/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @defgroup context Contexts
 * A context may be used by all threads at once. Several contexts may live in one process
 * and share nothing. Types, convertors and everything made from them belong to the context
 * they were made in and must be released before it is destroyed.
 * @{
 */

struct dtconv_context;

/** How often and how loudly the library speaks; a level includes those before it. */
enum dtconv_log_level {
	DTCONV_LOG_NONE = 0,  /**< silence */
	DTCONV_LOG_ERROR = 1, /**< a call fails; the text is also the error text */
	DTCONV_LOG_WARN = 2,  /**< a slow path is forced, or a setting makes no sense */
	DTCONV_LOG_INFO = 3,  /**< once per context: what was found */
	DTCONV_LOG_DEBUG = 4, /**< per committed derived type and per plan */
	DTCONV_LOG_TRACE = 5  /**< per fragment; compiled out unless --enable-debug */
};

/**
 * Receives one log line.
 *
 * @param arg   the pointer given with the function.
 * @param level the line's level.
 * @param file  source file that speaks, relative to the source tree.
 * @param line  line in that file.
 * @param text  one sentence, lower case, no newline; valid during the call only.
 *
 * May be called by any thread that is inside the library; must not call the library.
 */
typedef void (*dtconv_log_fn)(void *arg, enum dtconv_log_level level, const char *file,
			      int line, const char *text);

/**
 * Where the library's memory comes from. Both members are given, or neither.
 * Called by any thread that is inside the library, never on the data path of a committed type.
 */
struct dtconv_allocator {
	/** Return `bytes` bytes aligned for any C type, or NULL. @p arg is the member below. */
	void *(*alloc)(void *arg, size_t bytes);
	/** Take back memory that alloc returned; never called with NULL. */
	void (*free)(void *arg, void *memory);
	/** Handed to both functions. */
	void *arg;
};

/**
 * Which constructors round a type's extent up to the strictest alignment among its basic
 * types (MPI 4.1 section 5.1.7, the epsilon of the upper bound). C compilers pad structs only.
 */
enum dtconv_padding {
	DTCONV_PADDING_STRUCT = 0, /**< struct only: what C compilers, MPICH and yaksa do (default) */
	DTCONV_PADDING_ALWAYS = 1, /**< every constructor, as Open MPI does */
	DTCONV_PADDING_NONE = 2    /**< never: extents are exactly what the typemap spans */
};

/** Flags of struct dtconv_context_params. */
enum dtconv_context_flags {
	DTCONV_CONTEXT_COUNTERS =
		1u << 0, /**< keep the counters of dtconv_context_query_counters */
	/**
	 * No address that is given to the library leads into a device's memory: it looks for no
	 * device's driver, which spares every call without hints about 12 ns. Said wrongly, the
	 * processor follows the address.
	 */
	DTCONV_CONTEXT_HOST_MEMORY = 1u << 1,
	/**
	 * Small jobs, up to 128 KiB inside a device, 32 KiB between it and pinned memory, and without a stream of
	 * the caller's, are done by a kernel
	 * that waits there for them, one block of 256 threads, instead of a launch for each. It is there only
	 * while it is used: it leaves after 200 us without a job, and after 1 ms in any case, to
	 * come back with the next job. While it is there calls that wait for the device (cuMemFree,
	 * cuCtxSynchronize, loading of modules) wait for it too. Nothing orders a job behind what other streams
	 * were given, and it begins 2 us after the call: data must be there, also data of a cuMemcpy from
	 * ordinary memory, which may return before. Where it cannot be had, or is busy with
	 * another thread's job, jobs are launched as without the flag.
	 */
	DTCONV_CONTEXT_RESIDENT = 1u << 2,
	/**
	 * Kernels without a stream of the caller's are launched in graphs of one node, which begin about
	 * 1.5 us sooner than plain launches. The graphs are made beside the first jobs, one for
	 * each kernel, in some milliseconds and without blocking a job.
	 */
	DTCONV_CONTEXT_GRAPHS = 1u << 3,
	/**
	 * The library may give a device access to another device's ordinary memory
	 * (cuCtxEnablePeerAccess, once for two device contexts) when a job would gain by it. That
	 * changes the application's device contexts: a later request of its own answers that
	 * access is enabled already, and its allocations are mapped for both devices. Without the
	 * flag, access that the application has enabled is used, and where there is none bytes are
	 * moved by copies.
	 */
	DTCONV_CONTEXT_PEER_ACCESS = 1u << 4,
	/**
	 * Shapes that are launched again and again on a device get kernels of their own, compiled in
	 * the background by NVRTC (libnvrtc), where that is there; what is launched in graphs or done by
	 * the resident kernel gets none. See dtconv_context_create.
	 */
	DTCONV_CONTEXT_SPECIALISE = 1u << 5
};

/**
 * Runs tasks in threads of the application's own.
 *
 * @param arg      the pointer given with the function.
 * @param tasks    how many tasks, 2 to 64.
 * @param task     to be called once with each index from 0 to @p tasks - 1, in any threads, also
 *                 the calling one, in any order, at the same time or one after the other.
 * @param task_arg handed to @p task.
 *
 * Returns when every call of @p task that it made has returned, and makes none after; what
 * tasks have written must then be visible to the calling thread, as it is after a join or a
 * lock. Called by any thread that packs or unpacks, by several at once if the application
 * does so; it must not call the library.
 *
 * @return 0, or anything else if it could not run them all: the thread that packs then runs the
 *         rest itself, and the log gets a line at level warn. The move succeeds either way.
 */
typedef int (*dtconv_parallel_fn)(void *arg, size_t tasks,
				  void (*task)(void *task_arg, size_t index), void *task_arg);

/** Parameters of dtconv_context_create. Zero-initialise, then set what differs. */
struct dtconv_context_params {
	size_t struct_size;                /**< sizeof(struct dtconv_context_params) */
	struct dtconv_allocator allocator; /**< default: malloc and free */
	dtconv_log_fn log;                 /**< default: standard error */
	void *log_arg;                     /**< handed to log */
	enum dtconv_log_level log_level;   /**< default: environment DTCONV_LOG, else none */
	enum dtconv_padding padding;       /**< default: struct only */
	unsigned flags;                    /**< of enum dtconv_context_flags; unknown bits are refused */
	/**
	 * Most threads that one pack or unpack uses, the calling one included, at most 64; 0:
	 * environment DTCONV_THREADS, else 1. 1: no others. See dtconv_context_create.
	 */
	size_t threads;
	dtconv_parallel_fn parallel; /**< default: threads made by the context */
	void *parallel_arg;          /**< handed to parallel */
};

/**
 * What a context has done so far; all zero unless DTCONV_CONTEXT_COUNTERS was set, or DTCONV_STATS in
 * the environment. Launches and fallbacks tell why device memory moves as fast as it does; what each
 * copy backend has done, dtconv_context_query_backend answers.
 */
struct dtconv_counters {
	size_t struct_size;       /**< sizeof(struct dtconv_counters), set by the caller */
	uint64_t types_created;   /**< derived types constructed */
	uint64_t types_committed; /**< of those, committed */
	uint64_t types_live;      /**< derived types not yet released */
	uint64_t pack_calls;      /**< calls that packed, blocking or started */
	uint64_t pack_bytes;      /**< packed bytes they moved */
	uint64_t unpack_calls;    /**< calls that unpacked */
	uint64_t unpack_bytes;    /**< packed bytes they moved */
	uint64_t errors;          /**< calls that failed */
	uint64_t parallel_moves;  /**< of the calls, those that were shared among threads */
	/* Launches of GPU kernels, by class. */
	uint64_t launches_strided;     /**< equal blocks in loops */
	uint64_t launches_periodic;    /**< a short list of runs, again and again */
	uint64_t launches_indexed;     /**< tables of runs */
	uint64_t launches_transposing; /**< elements that change their order */
	uint64_t launches_general;     /**< walks of the program: no other class would do */
	uint64_t launches_many;        /**< structs of unlike members, in parts, and batches */
	uint64_t launches_typed;       /**< operations, other representations, checksums */
	uint64_t graph_launches;       /**< of all these, those in graphs */
	/* Jobs without a launch of their own; see DTCONV_CONTEXT_RESIDENT. */
	uint64_t resident_jobs;     /**< done by the resident kernel */
	uint64_t resident_launches; /**< how often it was called */
	/* Jobs for kernels that went by the driver's copies. */
	uint64_t fallbacks_loading; /**< no kernels were loaded (yet) */
	uint64_t fallbacks_limits;  /**< no launch takes them: another device's memory, too many tiles */
	uint64_t fallbacks_blocks;  /**< any job, moved by a copy for each block */
	/* Types' programs on devices. */
	uint64_t images_made;  /**< copied there */
	uint64_t images_found; /**< found there by a later job */
	/* Kernels for one shape, see DTCONV_CONTEXT_SPECIALISE. */
	uint64_t launches_special; /**< of all launches, those of such kernels */
	uint64_t kernels_compiled; /**< compiled in this process: the cache had none or is off */
	uint64_t kernels_cached;   /**< found in the cache */
};

/** What one copy backend has done in a context. */
struct dtconv_backend_counters {
	size_t struct_size; /**< sizeof(struct dtconv_backend_counters), set by the caller */
	uint64_t jobs;      /**< jobs that it was given and did not refuse */
	uint64_t bytes;     /**< packed bytes of them */
};

/**
 * Create a context.
 *
 * @param params  [in] options, or NULL for all defaults. Read during the call only.
 * @param context [out] the new context, owned by the caller; untouched on failure.
 *
 * Reads the environment variables DTCONV_LOG (none, error, warn, info, debug, trace) and
 * DTCONV_THREADS (0 to 64) once; a value that makes no sense is ignored with a line in the
 * log. So is DTCONV_CPU, which names the set of CPU kernels to use, one of those that
 * dtconv_context_format_info lists; unset, it is the best that the processor runs; any other
 * name is logged at level warn and the best set is used.
 *
 * Reads the thresholds of this machine, once, from a small file that `dtconv tune` writes: the one
 * that the environment variable DTCONV_TUNING names (the word none: no file), or else
 * dtconv/host.tuning in the folder XDG_CACHE_HOME, or else in ~/.cache. It is believed if it is a
 * regular file below 64 KiB, of the effective user or root, which nobody but its owner can write,
 * and if it is for this processor; wrong lines are skipped. Programs that run with more rights
 * than the user who started them (set-user-ID, set-group-ID) read no file. Nothing fails because of
 * the file; the log says what was ignored, at level warn, or info for another machine's file. The
 * thresholds decide how bytes are moved, never which.
 *
 * DTCONV_BACKENDS names the copy backends that may be used: "host,cuda_kernel" (also with a '='
 * before) these alone, "^cuda_copy" all but these. What none of them can move is refused with
 * DTCONV_ERR_UNSUPPORTED by the call that should move it. A list with a name that this build does
 * not have is ignored with a line in the log.
 *
 * With DTCONV_STATS=1 the context counts, whatever params.flags says, and tells the counters that
 * are not 0 when it is destroyed, a line each: to params.log at level info, also where the log level is
 * lower, or to standard error.
 *
 * DTCONV_SPECIALISE=1 does what DTCONV_CONTEXT_SPECIALISE does, 0 the opposite; by default nothing is
 * compiled. A shape, which is what a type's jobs of one direction have in common, gets a kernel of its own
 * when it has been launched eight times with 256 KiB or more, above 16 MiB only where that was measured to
 * gain: a thread of the context's compiles it with
 * NVRTC, in about half a second, and it is loaded when the device has come to rest; meanwhile, and
 * without NVRTC, the kernel for all shapes serves. **While a kernel is loaded no other launch of the process
 * begins, and loading waits for what runs on the device by then**: programs with kernels that wait for a
 * later launch must not ask for this. With DTCONV_SPECIALISE=wait every shape is compiled for at once,
 * and its job waits for it, which is for tests. What was compiled is kept in files, for the user alone, in
 * the folder kernels in the one that DTCONV_CACHE names (the word none: nowhere), or else in dtconv in
 * the folder XDG_CACHE_HOME, or else in ~/.cache/dtconv: at most 64 MiB, those that were not read
 * for the longest time go first. A folder or file that others own, or may read or write, is not used, and
 * programs with more rights than the user who started them use none.
 *
 * Does not block, does not initialise any device. Callable from any thread.
 *
 * **Threads.** With params.threads above 1, a pack or unpack of 512 KiB or more is cut into
 * slices that several threads move at once, about a thread for every 256 KiB (those that look
 * for work anyway may help too). That holds for one-shot calls, fragments and started operations
 * on host memory; conversions, operations, checksums and dtconv_copy stay in the calling thread. The bytes, the position after the call
 * and the errors are those of one thread. Without params.parallel the context
 * starts threads - 1 threads of its own here and joins them when it is destroyed. They block
 * all signals, may set their own processor affinity anew (to the same processors), look for work for 50 us after each call and then sleep, and serve one call at a
 * time: a call that finds them busy moves everything itself and does not wait for them. After
 * fork() the child has none of them: there every call moves everything itself.
 *
 * Moves of 512 KiB or more between a device and ordinary host memory need several threads to keep the bus busy. They
 * take these, if there are any; with params.threads and DTCONV_THREADS unset, the first such move starts
 * up to three of the same kind (threshold staging_threads). With params.threads = 1, or params.parallel, there
 * are none.
 *
 * @return 0; DTCONV_ERR_INVAL for unknown flags, levels, half an allocator or more than 64
 *         threads; DTCONV_ERR_NOMEM; DTCONV_ERR_AGAIN if the system gives no more threads.
 */
DTCONV_API int dtconv_context_create(const struct dtconv_context_params *params,
				     struct dtconv_context **context);

/**
 * Destroy a context. Every type and convertor made in it must be gone.
 *
 * @param context the context, or NULL (nothing happens).
 *
 * A context that still has live types is reported through the log at level error and not
 * freed: its memory is lost, and its threads wait for ever, so that the library must stay
 * loaded; but nothing dangles. Not to be called by two threads at once.
 * Blocks until the threads that the context started have ended, one of which may be compiling a kernel
 * for half a second (DTCONV_CONTEXT_SPECIALISE); in a child of the process that
 * created it there are none, and only the memory is given back.
 * Where it has used devices it blocks until they are idle, too: their memory is freed and kernels are unloaded
 * there, for which the driver waits. A kernel of the application's that runs until it is told to stop must be told before.
 */
DTCONV_API void dtconv_context_destroy(struct dtconv_context *context);

/**
 * Fetch the sentence that explains the calling thread's last failed call in this context.
 *
 * @param context the context.
 * @param text    [out] receives at most @p capacity - 1 characters and a NUL.
 * @param capacity bytes of room at @p text; 0 is allowed and writes nothing.
 * @return the sentence's length in characters, 0 if no call of this thread has failed (or
 *         more than 64 other threads have failed since).
 *
 * The text names the function, the argument, its value and the limit. A call that succeeds
 * leaves it alone. Callable from any thread; each sees its own.
 */
DTCONV_API size_t dtconv_context_error(struct dtconv_context *context, char *text,
				       size_t capacity);

/**
 * Read the counters.
 *
 * @param context  the context.
 * @param counters [in,out] struct_size set by the caller, the rest filled in.
 * @return 0; DTCONV_ERR_INVAL if struct_size is 0.
 *
 * Other threads may count on meanwhile; each value is exact at some moment of the call.
 */
DTCONV_API int dtconv_context_query_counters(struct dtconv_context *context,
					     struct dtconv_counters *counters);

/**
 * Read what one copy backend has done. As the other counters, all of it is zero unless counting was
 * asked for.
 *
 * @param context  the context.
 * @param name     a backend's name, as dtconv_context_format_info lists them: host, cuda_copy,
 *                 cuda_kernel, cuda_staged, cuda_relay, cuda_bar.
 * @param counters [in,out] struct_size set by the caller, the rest filled in.
 * @return 0; DTCONV_ERR_INVAL if struct_size is 0; DTCONV_ERR_UNSUPPORTED if this build has no
 *         backend of that name.
 *
 * A move is one job, or more where its memory changes from stretch to stretch; what a backend does in
 * pieces, or by means of another backend, is still one job of its own. But where the processor sums up, copies
 * between layouts, or does with elements of a device's memory what the device does not, each piece of some kilobytes
 * that is moved for that is a job. One that was started and fails later stays counted, as do its bytes. Does
 * not block; allocates nothing. Callable from any thread.
 */
DTCONV_API int dtconv_context_query_backend(struct dtconv_context *context, const char *name,
					    struct dtconv_backend_counters *counters);

/**
 * List the copy backends of this build, in the order in which the planner prefers them.
 *
 * @param index 0 for the first one.
 * @return the name, which the library owns; NULL behind the last one.
 */
DTCONV_API const char *dtconv_backend_name(size_t index);

/**
 * What a context found when it was created, and which devices it finds now. The library owns the texts that
 * are pointers; they are valid as long as the context.
 */
struct dtconv_context_attr {
	size_t struct_size;       /**< sizeof(struct dtconv_context_attr), set by the caller */
	const char *compiler;     /**< that built the library: "gcc 12.2.0" */
	const char *processor;    /**< family of processors it was built for: "x86-64" */
	const char *kernels;      /**< set of CPU kernels in use: "avx2" */
	char kernel_sets[64];     /**< all sets that run here, separated by spaces */
	char machine[256];        /**< what a tuning file calls this machine */
	const char *tuning_path;  /**< of the tuning file, or NULL for none */
	const char *tuning_state; /**< what became of that file, for people */
	int tuning_read;          /**< 1 if thresholds come from that file */
	size_t threads;           /**< most threads of one pack or unpack */
	size_t thresholds;        /**< how many dtconv_context_query_threshold() has */
	size_t devices;           /**< how many dtconv_context_query_device() has */
	const char *no_devices;   /**< why devices is 0, for people, or NULL */
};

/**
 * Ask what a context found. Devices are there if the process has loaded their driver and initialised it.
 *
 * @param context the context.
 * @param attr    [in,out] struct_size set by the caller, the rest filled in.
 * @return 0; DTCONV_ERR_INVAL if struct_size is 0.
 *
 * Does not block. Callable from any thread.
 */
DTCONV_API int dtconv_context_query(struct dtconv_context *context,
				    struct dtconv_context_attr *attr);

/** One threshold; see dtconv_context_create() for where thresholds come from. */
struct dtconv_threshold {
	size_t struct_size;     /**< sizeof(struct dtconv_threshold), set by the caller */
	const char *name;       /**< as in a tuning file; the library owns it */
	const char *what;       /**< meaning and unit, for people; the library owns it */
	int is_device;          /**< 1 if it may differ from device to device */
	uint64_t value;         /**< in force */
	uint64_t default_value; /**< without a tuning file */
	uint64_t least;         /**< that a tuning file may set */
	uint64_t most;          /**< that a tuning file may set */
};

/**
 * Read one threshold.
 *
 * @param context   the context.
 * @param index     0 to dtconv_context_attr.thresholds - 1.
 * @param device    name of a device whose value is asked for, or NULL: that of devices which the tuning file
 *                  does not name.
 * @param threshold [in,out] struct_size set by the caller, the rest filled in.
 * @return 0; DTCONV_ERR_INVAL if struct_size is 0 or there is no such threshold.
 *
 * Does not block; allocates nothing. Callable from any thread.
 */
DTCONV_API int dtconv_context_query_threshold(struct dtconv_context *context,
					      size_t index, const char *device,
					      struct dtconv_threshold *threshold);

/** One device. Capabilities are 1, 0 or, where the driver does not say, -1. */
struct dtconv_device_attr {
	size_t struct_size; /**< sizeof(struct dtconv_device_attr), set by the caller */
	char name[128];     /**< as the driver tells it */
	int driver_version; /**< of CUDA: 1000 x major + 10 x minor */
	int compute_major;  /**< compute capability */
	int compute_minor;  /**< compute capability */
	size_t bytes;       /**< of its memory */
	int unified_addressing; /**< it shares the host's addresses */
	int vmm;                /**< virtual memory management */
	int vmm_host_numa;      /**< the same on NUMA nodes of the host */
	int posix_fd_handles;   /**< memory is shared as file descriptors */
	int fabric_handles;     /**< memory is shared over a fabric */
	int multicast;          /**< multicast objects */
	int gpudirect_rdma;     /**< other devices on the bus read and write its memory */
	int gpudirect_rdma_vmm; /**< the same for VMM's memory */
	int dma_buf;            /**< memory is exported as DMA-BUF */
};

/**
 * Describe one device.
 *
 * @param context the context.
 * @param ordinal 0 to dtconv_context_attr.devices - 1.
 * @param attr    [in,out] struct_size set by the caller, the rest filled in.
 * @return 0; DTCONV_ERR_INVAL if struct_size is 0 or there is no such device; DTCONV_ERR_BACKEND if the
 *         driver does not describe it.
 *
 * Does not block. Callable from any thread.
 */
DTCONV_API int dtconv_context_query_device(struct dtconv_context *context, size_t ordinal,
					   struct dtconv_device_attr *attr);

/**
 * Describe the build, the processor, the thresholds in force and where they come from, the copy
 * backends, and the devices with what they support, or why there are none, as text of several lines.
 * Devices are there if the process has loaded their driver and initialised it.
 *
 * @param context  the context.
 * @param text     [out] receives at most @p capacity - 1 characters and a NUL; may be NULL
 *                 if capacity is 0.
 * @param capacity bytes of room at @p text.
 * @param length   [out] length of the whole text without the NUL, also when it did not fit.
 * @return 0; DTCONV_ERR_TRUNCATE if the text did not fit (its beginning is there).
 */
DTCONV_API int dtconv_context_format_info(struct dtconv_context *context, char *text,
					  size_t capacity, size_t *length);

/** @} */

#ifdef __cplusplus
}
#endif
#endif
