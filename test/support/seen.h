/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A completion callback that counts its calls.
 */
#ifndef TEST_SUPPORT_SEEN_H
#define TEST_SUPPORT_SEEN_H

#include <stddef.h>

/* What the callback saw; it must run once. */
struct seen {
	int calls;
	int status;
	size_t moved;
};

/* The callback; its argument is a struct seen. */
static inline void see(void *arg, int status, size_t moved)
{
	struct seen *seen = arg;

	*seen = (struct seen){ seen->calls + 1, status, moved };
}

#endif
