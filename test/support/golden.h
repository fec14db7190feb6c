/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Expected texts in files under test/golden. DTCONV_REGENERATE=1 in the environment
 * rewrites them with what was produced; the difference is then for the reviewer of the
 * commit.
 */
#ifndef TEST_SUPPORT_GOLDEN_H
#define TEST_SUPPORT_GOLDEN_H

#include <stddef.h>

/** Assert that a text is what test/golden/`name` holds; shows the first other line. */
void golden_compare(const char *name, const char *produced, size_t length);

#endif
