/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Statuses as cases assert them: a failure names the call, both statuses and the error text.
 */
#ifndef TEST_SUPPORT_STATUS_H
#define TEST_SUPPORT_STATUS_H

#include <dtconv/dtconv.h>

#include "support/marks.h"

/** Assert that a call answers a status. @error is evaluated only if it does not. */
#define status_must_be(call, expected, error)                      \
	do {                                                       \
		int status_got_ = (call);                          \
		ck_assert_msg(status_got_ == (int)(expected),      \
			      "%s: %s (%s), expected %s", #call,   \
			      dtconv_strerror(status_got_), error, \
			      dtconv_strerror(expected));          \
	} while (0)

#endif
