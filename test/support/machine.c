/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What kind of machine the tests run on.
 */
#include "config.h"

#include "support/machine.h"

#include <stddef.h>
#include <stdio.h>

bool machine_is_wide(const char *test)
{
	bool wide = sizeof(size_t) >= 8;

	if (!wide)
		printf("left out: %s, because sizes have less than 64 bits here\n", test);
	return wide;
}

bool machine_aligns_doubles(const char *test)
{
	struct padded {
		char byte;
		double number;
	};
	bool aligns = offsetof(struct padded, number) == 8;

	if (!aligns)
		printf("left out: %s, because doubles are not aligned to 8 bytes here\n",
		       test);
	return aligns;
}
