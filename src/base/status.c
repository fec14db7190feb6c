/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Statuses in words.
 */
#include "config.h"

#include <dtconv/status.h>

const char *dtconv_strerror(int status)
{
	switch (status) {
	case DTCONV_SUCCESS:
		return "success";
	case DTCONV_INPROGRESS:
		return "in progress";
	case DTCONV_ERR_INVAL:
		return "invalid argument";
	case DTCONV_ERR_NOMEM:
		return "out of memory";
	case DTCONV_ERR_OVERFLOW:
		return "arithmetic overflow";
	case DTCONV_ERR_UNSUPPORTED:
		return "not supported";
	case DTCONV_ERR_TRUNCATE:
		return "truncated";
	case DTCONV_ERR_SIGNATURE:
		return "type signatures differ";
	case DTCONV_ERR_STATE:
		return "wrong state";
	case DTCONV_ERR_BACKEND:
		return "copy backend failed";
	case DTCONV_ERR_CANCELED:
		return "canceled";
	case DTCONV_ERR_AGAIN:
		return "try again";
	case DTCONV_ERR_TIMEOUT:
		return "timed out";
	case DTCONV_ERR_PEER:
		return "peer failed";
	case DTCONV_ERR_FORMAT:
		return "malformed input";
	case DTCONV_ERR_LIMIT:
		return "limit exceeded";
	default:
		return "unknown status";
	}
}
