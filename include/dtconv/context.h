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
	DTCONV_LOG_DEBUG = 4, /**< per committed type and per plan */
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
	DTCONV_CONTEXT_COUNTERS = 1u << 0 /**< keep the counters of dtconv_context_query_counters */
};

/** Parameters of dtconv_context_create. Zero-initialise, then set what differs. */
struct dtconv_context_params {
	size_t struct_size;                /**< sizeof(struct dtconv_context_params) */
	struct dtconv_allocator allocator; /**< default: malloc and free */
	dtconv_log_fn log;                 /**< default: standard error */
	void *log_arg;                     /**< handed to log */
	enum dtconv_log_level log_level;   /**< default: environment DTCONV_LOG, else none */
	enum dtconv_padding padding;       /**< default: struct only */
	unsigned flags;                    /**< of enum dtconv_context_flags; unknown bits are refused */
};

/** What a context has done so far; all zero unless DTCONV_CONTEXT_COUNTERS was set. */
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
};

/**
 * Create a context.
 *
 * @param params  [in] options, or NULL for all defaults. Read during the call only.
 * @param context [out] the new context, owned by the caller; untouched on failure.
 *
 * Reads the environment variable DTCONV_LOG (none, error, warn, info, debug, trace) once.
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
 * Does not block, does not initialise any device. Callable from any thread.
 *
 * @return 0; DTCONV_ERR_INVAL for unknown flags, levels or half an allocator;
 *         DTCONV_ERR_NOMEM.
 */
DTCONV_API int dtconv_context_create(const struct dtconv_context_params *params,
				     struct dtconv_context **context);

/**
 * Destroy a context. Every type and convertor made in it must be gone.
 *
 * @param context the context, or NULL (nothing happens).
 *
 * A context that still has live types is reported through the log at level error and not
 * freed: the memory is lost, but nothing dangles. Not to be called by two threads at once.
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
 * Describe the build, the processor, the thresholds in force and where they come from, and the
 * copy backends, found and not found and why, as text of several lines.
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
