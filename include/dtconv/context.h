/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The context: allocator, log, error texts, counters and predefined types. All other
 * objects belong to one; the library keeps no state outside contexts.
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
 * @brief Create the object that all others belong to: options, log, error texts,
 * counters.
 *
 * @snippet test_snippets.c context
 *
 * - A context may be used by all threads at once.
 * - A process may have several contexts. They share nothing.
 * - Types, convertors and batches belong to the context that they were made in. Release
 *   them before you destroy it.
 * - Environment variables and the tuning file are read once, when the context is created;
 *   see dtconv_context_create().
 * @{
 */

struct dtconv_context;

/** Log levels. Each includes those before it. */
enum dtconv_log_level {
	DTCONV_LOG_NONE = 0, /**< no log */
	DTCONV_LOG_ERROR =
		1, /**< a call failed; the same text as dtconv_context_error() */
	DTCONV_LOG_WARN = 2,  /**< a slow path is taken, or a setting is invalid */
	DTCONV_LOG_INFO = 3,  /**< once per context: what was found */
	DTCONV_LOG_DEBUG = 4, /**< per commit of a derived type, and per plan */
	DTCONV_LOG_TRACE = 5  /**< per fragment of the flow: each copy that starts */
};

/**
 * Log callback: receives one line.
 *
 * @param arg   the pointer given with the function.
 * @param level level of the line.
 * @param file  source file of the message, relative to the source tree.
 * @param line  line in that file.
 * @param text  one sentence, lower case, without a newline; valid during the call only.
 *
 * May be called by any thread that is inside the library. Must not call the library.
 */
typedef void (*dtconv_log_fn)(void *arg, enum dtconv_log_level level, const char *file,
			      int line, const char *text);

/**
 * Allocator of all memory that the library takes.
 *
 * Give both functions, or neither. They are called by any thread that is inside the
 * library, but not when the bytes of a committed type are moved.
 */
struct dtconv_allocator {
	/** Return `bytes` bytes aligned for any C type, or NULL. @p arg is the member below. */
	void *(*alloc)(void *arg, size_t bytes);
	/** Free memory that alloc returned; never called with NULL. */
	void (*free)(void *arg, void *memory);
	/** Passed to both functions. */
	void *arg;
};

/**
 * Which constructors pad a type's extent to its alignment.
 *
 * They round it up to the strictest alignment among the basic types inside: the epsilon
 * of the upper bound, MPI 4.1 section 5.1.7. C compilers pad structs only.
 */
enum dtconv_padding {
	DTCONV_PADDING_STRUCT = 0, /**< struct only, as C compilers, MPICH and yaksa do (default) */
	DTCONV_PADDING_ALWAYS = 1, /**< every constructor, as Open MPI does */
	DTCONV_PADDING_NONE = 2    /**< never: the extent is exactly the span of the typemap */
};

/** Flags of struct dtconv_context_params. See @ref device_options "Context options" for those about devices. */
enum dtconv_context_flags {
	DTCONV_CONTEXT_COUNTERS = 1u
				  << 0, /**< count for dtconv_context_query_counters() */
	/**
	 * Promise that no address passed to the library is device memory. No call then
	 * looks for a device driver, which saves about 12 ns per call without hints.
	 * Passing device memory anyway is undefined behaviour: the CPU dereferences the
	 * address.
	 */
	DTCONV_CONTEXT_HOST_MEMORY = 1u << 1,
	/**
	 * Do small device jobs without a stream in a resident kernel instead of one
	 * launch each. While it runs (at most 1 ms at a time), calls that wait for the
	 * device also wait for it.
	 */
	DTCONV_CONTEXT_RESIDENT = 1u << 2,
	/** Launch kernels without a stream as CUDA graphs of one node, which begin about 1.5 us sooner. */
	DTCONV_CONTEXT_GRAPHS = 1u << 3,
	/**
	 * Allow the library to enable peer access between the application's device
	 * contexts. Without the flag, the library uses the access that the application
	 * has enabled, and copies otherwise.
	 */
	DTCONV_CONTEXT_PEER_ACCESS = 1u << 4,
	/**
	 * Compile kernels for frequent shapes in the background, with NVRTC (libnvrtc)
	 * where it is available. Loading one holds up all launches of the process: read
	 * @ref device_options "Context options" first.
	 */
	DTCONV_CONTEXT_SPECIALISE = 1u << 5,
	/**
	 * Order every job without a stream with the legacy default stream: after the work
	 * that it was given before, and before the work that it is given later. So
	 * cudaMemset() and dtconv_pack() need no synchronisation between them. Not
	 * together with DTCONV_CONTEXT_RESIDENT.
	 */
	DTCONV_CONTEXT_DEFAULT_STREAM = 1u << 6
};

/**
 * Thread hook: runs tasks in the application's own threads.
 *
 * @param arg      the pointer given with the function.
 * @param tasks    number of tasks, 2 to 64.
 * @param task     to be called once with each index from 0 to @p tasks - 1: in any
 *                 threads, the calling one included, in any order, concurrently or one
 *                 after the other.
 * @param task_arg passed to @p task.
 *
 * Must return only after every call of @p task has returned, and must make no call later.
 * What the tasks have written must then be visible to the calling thread, as after a join
 * or a lock. May be called by every thread that packs or unpacks, by several at once.
 * Must not call the library.
 *
 * @return 0, or another value if it could not run all tasks. The calling thread then runs
 *         the rest itself, and the log gets a line at level warn. The move succeeds
 *         either way.
 */
typedef int (*dtconv_parallel_fn)(void *arg, size_t tasks,
				  void (*task)(void *task_arg, size_t index), void *task_arg);

/** Options of dtconv_context_create(). Zero-initialise, set struct_size, then what differs from the default. */
struct dtconv_context_params {
	size_t struct_size;                /**< sizeof(struct dtconv_context_params) */
	struct dtconv_allocator allocator; /**< default: malloc and free */
	dtconv_log_fn log;                 /**< default: standard error */
	void *log_arg;                     /**< passed to log */
	enum dtconv_log_level log_level;   /**< default: DTCONV_LOG, else none */
	enum dtconv_padding padding;       /**< default: struct only */
	unsigned flags;                    /**< of enum dtconv_context_flags; unknown bits are an error */
	/**
	 * Maximum number of threads of one pack or unpack, the calling one included: 1
	 * (only that one) to 64. Default: DTCONV_THREADS, else 1.
	 */
	size_t threads;
	dtconv_parallel_fn parallel; /**< default: the context starts its own threads */
	void *parallel_arg;          /**< passed to parallel */
};

/**
 * Counters of a context.
 *
 * All are 0 unless DTCONV_CONTEXT_COUNTERS or the environment variable DTCONV_STATS is
 * set. Launches and fallbacks show why device memory moves as fast as it does. For the
 * counters of each copy backend see dtconv_context_query_backend().
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
	uint64_t parallel_moves;  /**< of the calls, those shared among threads */
	/* Launches of GPU kernels, by class. */
	uint64_t launches_strided;     /**< equal blocks in loops */
	uint64_t launches_periodic;    /**< a short list of runs that repeats */
	uint64_t launches_indexed;     /**< tables of runs */
	uint64_t launches_transposing; /**< element order changes, as in a transposition */
	uint64_t launches_general;     /**< interpreter of the program, where no other class applies */
	uint64_t launches_many;        /**< structs of unlike members, and batches */
	uint64_t launches_typed;       /**< operations, conversions, checksums */
	uint64_t
		launches_copy; /**< from one layout to another, without a packed stream */
	uint64_t graph_launches;       /**< of all these, those as graphs */
	/* Jobs without a launch of their own; see DTCONV_CONTEXT_RESIDENT. */
	uint64_t resident_jobs;     /**< done by the resident kernel */
	uint64_t resident_launches; /**< launches of the resident kernel */
	/* Jobs for kernels that fell back to driver copies. */
	uint64_t fallbacks_loading; /**< the kernels were not loaded (yet) */
	uint64_t fallbacks_limits;  /**< no launch supports them: memory of another device, too many tiles */
	uint64_t fallbacks_blocks;  /**< any job that was moved by one copy per block */
	/* Images of types' programs, and maps of types, in device memory. */
	uint64_t images_made;  /**< copied there */
	uint64_t images_found; /**< reused by a later job */
	/* Kernels for one shape, see DTCONV_CONTEXT_SPECIALISE. */
	uint64_t launches_special; /**< of all launches, those of such kernels */
	uint64_t kernels_compiled; /**< compiled in this process: not in the cache, or the cache is off */
	uint64_t kernels_cached;   /**< found in the cache */
	uint64_t
		launches_mapped; /**< irregular layouts, by a map of where each unit is */
};

/** Counters of one copy backend in a context. */
struct dtconv_backend_counters {
	size_t struct_size; /**< sizeof(struct dtconv_backend_counters), set by the caller */
	uint64_t jobs;      /**< jobs accepted */
	uint64_t bytes;     /**< packed bytes of those jobs */
};

/**
 * Create a context.
 *
 * @param params  [in] options, read during the call only; NULL for all defaults.
 * @param context [out] the new context, owned by the caller; untouched on failure.
 * @return 0; DTCONV_ERR_INVAL if struct_size is 0, for unknown flags or levels, half an
 *         allocator, or more than 64 threads; DTCONV_ERR_NOMEM; DTCONV_ERR_AGAIN if the
 *         system has no more threads.
 *
 * Does not block, and initialises no device. Callable from any thread.
 *
 * **Environment.** These variables are read once, here. An invalid value is ignored with
 * a line in the log.
 *
 * | variable | value |
 * |---|---|
 * | DTCONV_LOG | log level: none, error, warn, info, debug, trace |
 * | DTCONV_THREADS | default of params.threads, 0 to 64 |
 * | DTCONV_CPU | set of CPU kernels, one that dtconv_context_format_info() lists; default, and for any other name (logged at level warn): the best one that the CPU supports |
 * | DTCONV_BACKENDS | copy backends that may be used: "host,cuda_kernel" (also after a '=') only these, "^cuda_copy" all but these. If they do not support a job, the call that moves it returns DTCONV_ERR_UNSUPPORTED |
 * | DTCONV_STATS | 1: count, whatever params.flags says. When the context is destroyed, print every counter that is not 0, one per line: to params.log at level info, even if the log level is lower, or to standard error |
 * | DTCONV_TUNING | path of the tuning file; none: no file |
 * | DTCONV_SPECIALISE | 1: as DTCONV_CONTEXT_SPECIALISE; 0: not, even with the flag; wait (for tests): compile for every shape at once, and let its job wait |
 * | DTCONV_CACHE | folder for compiled kernels, in its subfolder kernels; none: no cache. Read when the cache is first opened |
 *
 * **Tuning file.** It holds the thresholds of this machine, and is written by `dtconv
 * tune`. Default path: dtconv/host.tuning in XDG_CACHE_HOME, else in ~/.cache. Thresholds
 * decide how bytes are moved, never which.
 * - It is used if it is a regular file of less than 64 KiB, owned by the effective user
 *   or root, writable by nobody but its owner, and written for this CPU. Invalid lines
 *   are skipped.
 * - set-user-ID and set-group-ID programs read no file.
 * - No call fails because of the file. The log says what was ignored, at level warn; for
 *   another machine's file at level info.
 *
 * **Kernel cache** (DTCONV_CONTEXT_SPECIALISE). Default folder: dtconv in XDG_CACHE_HOME,
 * else in ~/.cache. It holds at most 64 MiB; the least recently read files are removed
 * first. Files are for the user alone: a folder or file that others own, or may read or
 * write, is not used. set-user-ID and set-group-ID programs use no cache.
 *
 * **Threads.** With params.threads above 1, the library splits a pack or unpack of 512
 * KiB or more in host memory into slices, about one thread per 256 KiB (threads that are
 * polling for work anyway may join).
 * - This applies to one-shot calls, fragments and started operations. Conversions,
 *   operations, checksums and dtconv_copy() stay in the calling thread.
 * - Bytes, final position and errors are the same as with one thread.
 * - Without params.parallel, the context starts threads - 1 threads here and joins them
 *   when it is destroyed. They block all signals, may set their own CPU affinity (to the
 *   same CPUs), poll for 50 us after each call, then sleep.
 * - They serve one call at a time. A call that finds them busy moves everything itself
 *   and does not wait.
 * - In a child after fork() there are none; calls there move everything themselves.
 *
 * Moves of 512 KiB or more between a device and ordinary host memory need several threads
 * to saturate the bus. They use these threads, if there are any. If neither
 * params.threads nor DTCONV_THREADS is set, the first such move starts up to three
 * threads of the same kind (threshold staging_threads). With params.threads = 1, or with
 * params.parallel, it starts none.
 */
DTCONV_API int dtconv_context_create(const struct dtconv_context_params *params,
				     struct dtconv_context **context);

/**
 * Destroy a context. All its types, convertors and batches must have been released.
 *
 * @param context the context, or NULL (no effect).
 *
 * Blocks until
 * - the threads that the context started have ended; one of them may be compiling a
 *   kernel for about half a second (DTCONV_CONTEXT_SPECIALISE);
 * - the devices that it has used are idle, because the driver frees memory and unloads
 *   kernels only then. Stop kernels of your own that run until they are told to before
 *   this call.
 *
 * In a child after fork() it only frees memory.
 *
 * If types are still alive, the context is not freed and the log gets a line at level
 * error. Its memory is lost and its threads sleep for ever, so do not unload the library;
 * but no pointer dangles. Must not be called by two threads at once.
 */
DTCONV_API void dtconv_context_destroy(struct dtconv_context *context);

/**
 * Read the sentence that explains the calling thread's last failed call in this context.
 *
 * @param context  the context.
 * @param text     [out] receives at most @p capacity - 1 characters and a NUL.
 * @param capacity size of @p text in bytes; 0 is allowed and writes nothing.
 * @return length of the sentence in characters; 0 if no call of this thread has failed
 *         (or more than 64 other threads have failed since).
 *
 * The sentence names the function, the argument, its value and the limit. A call that
 * succeeds does not change it. Callable from any thread; each thread has its own
 * sentence.
 */
DTCONV_API size_t dtconv_context_error(struct dtconv_context *context, char *text,
				       size_t capacity);

/**
 * Read the counters of a context.
 *
 * @param context  the context.
 * @param counters [in,out] struct_size set by the caller, the rest filled in.
 * @return 0; DTCONV_ERR_INVAL if struct_size is 0.
 *
 * Does not block. Callable from any thread. Other threads may count meanwhile; each value
 * is exact at some moment during the call.
 */
DTCONV_API int dtconv_context_query_counters(struct dtconv_context *context,
					     struct dtconv_counters *counters);

/**
 * Read the counters of one copy backend in a context.
 *
 * @param context  the context.
 * @param name     name of a backend, as dtconv_backend_name() lists them: host,
 *                 cuda_copy, cuda_kernel, cuda_staged, cuda_relay, cuda_bar.
 * @param counters [in,out] struct_size set by the caller, the rest filled in.
 * @return 0; DTCONV_ERR_INVAL if struct_size is 0; DTCONV_ERR_UNSUPPORTED if this build
 *         has no backend of that name.
 *
 * They are 0 unless the context counts (struct dtconv_counters). A move is one job, or
 * several where its memory changes kind from stretch to stretch. A backend that works in
 * pieces, or through another backend, still counts one job. Except: where the CPU
 * computes checksums, copies between layouts, or converts or combines elements of device
 * memory, each piece of a few kilobytes that is moved for that counts as a job. A job
 * that was started and fails later stays counted, with its bytes.
 *
 * Does not block; does not allocate. Callable from any thread.
 */
DTCONV_API int dtconv_context_query_backend(struct dtconv_context *context, const char *name,
					    struct dtconv_backend_counters *counters);

/**
 * List the copy backends of this build, in the planner's order of preference.
 *
 * @param index 0 for the first one.
 * @return the name, a constant string; NULL past the last one.
 *
 * Does not block. Callable from any thread.
 */
DTCONV_API const char *dtconv_backend_name(size_t index);

/**
 * What a context found when it was created, and how many devices it finds now.
 *
 * Texts that are pointers belong to the library and are valid as long as the context.
 */
struct dtconv_context_attr {
	size_t struct_size;       /**< sizeof(struct dtconv_context_attr), set by the caller */
	const char *compiler;     /**< that built the library: "gcc 12.2.0" */
	const char *processor;    /**< CPU family that it was built for: "x86-64" */
	const char *kernels;      /**< set of CPU kernels in use: "avx2" */
	char kernel_sets[64];     /**< all sets that this CPU supports, separated by spaces */
	char machine[256];        /**< name of this machine in tuning files */
	const char *tuning_path;  /**< path of the tuning file; NULL for none */
	const char *tuning_state; /**< whether that file is used, and why not, for people */
	int tuning_read;          /**< 1 if thresholds come from that file */
	size_t threads;           /**< maximum number of threads of one pack or unpack */
	size_t thresholds;        /**< number of thresholds: dtconv_context_query_threshold() */
	size_t devices;           /**< number of devices: dtconv_context_query_device() */
	const char *no_devices;   /**< why devices is 0, for people; else NULL */
};

/**
 * Read what a context found: build, CPU kernels, tuning file, devices.
 *
 * @param context the context.
 * @param attr    [in,out] struct_size set by the caller, the rest filled in.
 * @return 0; DTCONV_ERR_INVAL if struct_size is 0.
 *
 * Devices are found once the process has loaded and initialised their driver. Does not
 * block. Callable from any thread.
 */
DTCONV_API int dtconv_context_query(struct dtconv_context *context,
				    struct dtconv_context_attr *attr);

/** One threshold; dtconv_context_create() says where thresholds come from. */
struct dtconv_threshold {
	size_t struct_size;     /**< sizeof(struct dtconv_threshold), set by the caller */
	const char *name;       /**< its name in a tuning file; the library owns it */
	const char *what;       /**< meaning and unit, for people; the library owns it */
	int is_device;          /**< 1 if it may differ between devices */
	uint64_t value;         /**< value in force */
	uint64_t default_value; /**< value without a tuning file */
	uint64_t least;         /**< minimum that a tuning file may set */
	uint64_t most;          /**< maximum that a tuning file may set */
};

/**
 * Read one threshold.
 *
 * @param context   the context.
 * @param index     0 to dtconv_context_attr.thresholds - 1.
 * @param device    name of a device (struct dtconv_device_attr), to read its own value;
 *                  NULL: the value of devices that the tuning file does not name.
 * @param threshold [in,out] struct_size set by the caller, the rest filled in.
 * @return 0; DTCONV_ERR_INVAL if struct_size is 0 or there is no such threshold.
 *
 * Does not block; does not allocate. Callable from any thread.
 */
DTCONV_API int dtconv_context_query_threshold(struct dtconv_context *context,
					      size_t index, const char *device,
					      struct dtconv_threshold *threshold);

/** Properties of one device. Capabilities are 1, 0, or -1 if the driver does not say. */
struct dtconv_device_attr {
	size_t struct_size; /**< sizeof(struct dtconv_device_attr), set by the caller */
	char name[128];     /**< the driver's name for it */
	int driver_version; /**< CUDA version of the driver: 1000 x major + 10 x minor */
	int compute_major;  /**< compute capability, major */
	int compute_minor;  /**< compute capability, minor */
	size_t bytes;       /**< size of its memory */
	int unified_addressing; /**< one address space with the host */
	int vmm;                /**< virtual memory management */
	int vmm_host_numa;      /**< the same on NUMA nodes of the host */
	int posix_fd_handles;   /**< memory can be shared as file descriptors */
	int fabric_handles;     /**< memory can be shared over a fabric */
	int multicast;          /**< multicast objects */
	int gpudirect_rdma;     /**< other devices on the bus can access its memory (GPUDirect RDMA) */
	int gpudirect_rdma_vmm; /**< the same for memory of the virtual memory management */
	int dma_buf;            /**< memory can be exported as DMA-BUF */
};

/**
 * Read the properties of one device.
 *
 * @param context the context.
 * @param ordinal 0 to dtconv_context_attr.devices - 1.
 * @param attr    [in,out] struct_size set by the caller, the rest filled in.
 * @return 0; DTCONV_ERR_INVAL if struct_size is 0 or there is no such device;
 *         DTCONV_ERR_BACKEND if the driver refuses.
 *
 * Does not block. Callable from any thread.
 */
DTCONV_API int dtconv_context_query_device(struct dtconv_context *context, size_t ordinal,
					   struct dtconv_device_attr *attr);

/**
 * Describe build, CPU, thresholds, backends and devices as text (`dtconv info`).
 *
 * @param context  the context.
 * @param text     [out] receives at most @p capacity - 1 characters and a NUL; may be
 *                 NULL if capacity is 0.
 * @param capacity size of @p text in bytes.
 * @param length   [out] length of the whole text without the NUL, also if it did not fit.
 * @return 0; DTCONV_ERR_TRUNCATE if the text did not fit (its beginning was written).
 *
 * The text has several lines. It says where the thresholds come from, and what each
 * device supports or why there is none. Devices are found once the process has loaded and
 * initialised their driver.
 */
DTCONV_API int dtconv_context_format_info(struct dtconv_context *context, char *text,
					  size_t capacity, size_t *length);

/** @} */

#ifdef __cplusplus
}
#endif
#endif
