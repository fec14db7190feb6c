/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How every test program runs its cases, and how it ends: all of them pass, and there is at least one.
 */
#ifndef TEST_SUPPORT_SUITE_H
#define TEST_SUPPORT_SUITE_H

#include <stdbool.h>

#include "support/marks.h"

/* Run a suite and release it. Returns what main returns: a failure also if no test was chosen. */
int suite_run(Suite *suite);

/* Whether each case has a process of its own; CK_FORK=no runs all of them in one. */
bool suite_has_processes(void);

#endif
