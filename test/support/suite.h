/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How every test program ends: all its tests pass, and there is at least one.
 */
#ifndef TEST_SUPPORT_SUITE_H
#define TEST_SUPPORT_SUITE_H

#include "support/marks.h"

/* Run a suite and release it. Returns what main returns: a failure also if no test was chosen. */
int suite_run(Suite *suite);

#endif
