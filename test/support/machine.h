/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that hold on some machines only, because the numbers in them are those of other
 * machines. What is left out is said, by name.
 */
#ifndef TEST_SUPPORT_MACHINE_H
#define TEST_SUPPORT_MACHINE_H

#include <stdbool.h>

/* Whether sizes have 64 bits, and whether C aligns a double in a struct to 8 bytes. */
bool machine_is_wide(const char *test);
bool machine_aligns_doubles(const char *test);

#define machine_add_wide(tcase, test)                \
	do {                                         \
		if (machine_is_wide(#test))          \
			tcase_add_test(tcase, test); \
	} while (0)

#define machine_add_aligned(tcase, test)             \
	do {                                         \
		if (machine_aligns_doubles(#test))   \
			tcase_add_test(tcase, test); \
	} while (0)

#endif
