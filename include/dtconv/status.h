/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Status codes. Every function that can fail returns an int: DTCONV_SUCCESS (0) or one of
 * the negative values below. Amounts are returned by output arguments.
 */
#ifndef DTCONV_STATUS_H
#define DTCONV_STATUS_H

#ifndef DTCONV_API
#if defined(__GNUC__) && defined(DTCONV_EMBEDDED)
/* Inside a host project: hidden, so that the host exports no symbol of ours and binds to no other libdtconv. */
#define DTCONV_API __attribute__((visibility("hidden")))
#elif defined(__GNUC__)
#define DTCONV_API __attribute__((visibility("default")))
#else
#define DTCONV_API
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

/**
 * @defgroup status Status codes
 * @brief What calls return, and how to get the reason in words.
 *
 * @snippet test_snippets.c status
 *
 * There is one list of codes for the whole library. Each function documents the two or
 * three that it is expected to return. dtconv_context_error() has the sentence that
 * explains a failure.
 * @{
 */

/** Return value of a call. Negative values are failures. */
enum dtconv_status {
	DTCONV_SUCCESS = 0,          /**< the call succeeded */
	DTCONV_INPROGRESS = 1,       /**< only from `_test` functions: not completed yet */
	DTCONV_ERR_INVAL = -1,       /**< an argument has an invalid value */
	DTCONV_ERR_NOMEM = -2,       /**< the allocator returned NULL */
	DTCONV_ERR_OVERFLOW = -3,    /**< a size, bound or displacement exceeds its type */
	DTCONV_ERR_UNSUPPORTED = -4, /**< not supported by this build, machine or device */
	DTCONV_ERR_TRUNCATE = -5,    /**< the data is longer than the room given */
	DTCONV_ERR_SIGNATURE = -6,   /**< two type signatures do not match */
	DTCONV_ERR_STATE = -7,       /**< the object is not in a state that allows the call */
	DTCONV_ERR_BACKEND = -8,     /**< a device or its driver refused a call, or its context was lost */
	DTCONV_ERR_CANCELED = -9,    /**< the operation was canceled */
	DTCONV_ERR_AGAIN = -10,      /**< no resource now; the same call may succeed later */
	DTCONV_ERR_TIMEOUT = -11,    /**< a time limit set by the caller expired */
	DTCONV_ERR_PEER = -12,       /**< the other process failed or left */
	DTCONV_ERR_FORMAT = -13,     /**< a text or a byte stream could not be parsed */
	DTCONV_ERR_LIMIT = -14       /**< a documented limit of the library was exceeded */
};

/**
 * Describe a status code in words.
 *
 * @param status any int, also one that is no status of this library.
 * @return a constant string, never NULL; "unknown status" for other ints.
 *
 * Does not block. Callable from any thread.
 */
DTCONV_API const char *dtconv_strerror(int status);

/** @} */

#ifdef __cplusplus
}
#endif
#endif
