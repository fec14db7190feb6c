/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Log lines and error texts. The first function that detects an error reports it with DTC_FAIL;
 * its callers only forward the status.
 */
#ifndef DTC_LOG_H
#define DTC_LOG_H

#include <stdbool.h>

#include <dtconv/context.h>

#include "base.h"

/* Record the sentence as the calling thread's error text, log it, and return @status. */
#ifndef __clang_analyzer__
#define DTC_FAIL(context, status, ...) \
	dtc_log_fail(context, __FILE__, __LINE__, status, __VA_ARGS__)
#else /* it does not see the definition, and assumes that the call may return 0 */
#define DTC_FAIL(context, status, ...) \
	((void)dtc_log_fail(context, __FILE__, __LINE__, status, __VA_ARGS__), (status))
#endif

/*
 * The same for DTCONV_ERR_AGAIN where the caller is to call again, which may happen a thousand times: it is no error
 * that counts, and is logged at level debug.
 */
#define DTC_RETRY(context, ...) dtc_log_retry(context, __FILE__, __LINE__, __VA_ARGS__)

/* Fail with INVAL: the caller has not set struct_size of its structure @name, a struct @type; both are strings. */
#define DTC_FAIL_STRUCT_SIZE(context, caller, name, type) \
	DTC_FAIL(context, DTCONV_ERR_INVAL,               \
		 "%s: %s.struct_size is 0, not sizeof(struct %s)", caller, name, type)

#define DTC_LOG(context, level, ...)                                                   \
	do {                                                                           \
		if (dtc_log_enabled(context, level))                                   \
			dtc_log_write(context, __FILE__, __LINE__, level, __VA_ARGS__); \
	} while (0)

DTC_PRIVATE_API bool dtc_log_enabled(const struct dtconv_context *context,
				     enum dtconv_log_level level);

__attribute__((format(printf, 5, 6))) DTC_PRIVATE_API int dtc_log_fail(
	struct dtconv_context *context, const char *file, int line, int status,
	const char *format, ...);

__attribute__((format(printf, 4, 5))) DTC_PRIVATE_API int dtc_log_retry(
	struct dtconv_context *context, const char *file, int line, const char *format,
	...);

__attribute__((format(printf, 5, 6))) DTC_PRIVATE_API void dtc_log_write(
	const struct dtconv_context *context, const char *file, int line,
	enum dtconv_log_level level, const char *format, ...);

/* Parse the name of a level, as in DTCONV_LOG; false if it is none. */
bool dtc_log_parse_level(const char *name, enum dtconv_log_level *level);

#endif
