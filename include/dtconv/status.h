/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Status codes: what a call answers. Every function that can fail returns an int:
 * DTCONV_SUCCESS (0) or one of the negative values below. Amounts never travel in it.
 */
#ifndef DTCONV_STATUS_H
#define DTCONV_STATUS_H

#ifndef DTCONV_API
#if defined(__GNUC__) && defined(DTCONV_EMBEDDED)
/* Inside a host project: no caller outside its shared object, and no other libdtconv will do. */
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
 * One list for the whole library; each function documents the two or three it expects.
 * @{
 */

/** What a call answers. Negative values are failures. */
enum dtconv_status {
	DTCONV_SUCCESS = 0,          /**< the call did what it says */
	DTCONV_INPROGRESS = 1,       /**< only from `_test` functions: not finished yet */
	DTCONV_ERR_INVAL = -1,       /**< an argument has a value that is never allowed */
	DTCONV_ERR_NOMEM = -2,       /**< the allocator answered NULL */
	DTCONV_ERR_OVERFLOW = -3,    /**< a size, bound or displacement leaves its type */
	DTCONV_ERR_UNSUPPORTED = -4, /**< this build or this machine cannot do it */
	DTCONV_ERR_TRUNCATE = -5,    /**< the room given is smaller than the data */
	DTCONV_ERR_SIGNATURE = -6,   /**< two type signatures do not match */
	DTCONV_ERR_STATE = -7,       /**< the object is not in a state that allows the call */
	DTCONV_ERR_BACKEND = -8,     /**< a copy backend's device refused or was lost */
	DTCONV_ERR_CANCELED = -9,    /**< the operation was canceled */
	DTCONV_ERR_AGAIN = -10,      /**< no resource now; the same call may work later */
	DTCONV_ERR_TIMEOUT = -11,    /**< a time limit given by the caller ran out */
	DTCONV_ERR_PEER = -12,       /**< the other process failed or left */
	DTCONV_ERR_FORMAT = -13,     /**< a text or a byte stream could not be parsed */
	DTCONV_ERR_LIMIT = -14       /**< a documented limit of the library was passed */
};

/**
 * Name a status in words.
 *
 * @param status any int; need not be a status of this library.
 * @return a constant string, never NULL, valid for ever; "unknown status" for other ints.
 *
 * Never blocks; callable from any thread.
 */
DTCONV_API const char *dtconv_strerror(int status);

/** @} */

#ifdef __cplusplus
}
#endif
#endif
