/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Check's header with cheap marks. Check writes a mark to a file after each assertion that holds, to say where a
 * test was when it crashed; that is most of the time of a test with many. One mark per tick of the coarse clock
 * says it well enough.
 */
#ifndef TEST_SUPPORT_MARKS_H
#define TEST_SUPPORT_MARKS_H

#include <check.h>

#ifdef mark_point /* not in test/support/plain */
void marks_pass(const char *file, int line);
#define _mark_point marks_pass
#endif

#endif
