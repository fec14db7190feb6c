/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The largest and the lowest numbers as text forms have them.
 */
#ifndef TEST_SUPPORT_LIMITS_IN_WORDS_H
#define TEST_SUPPORT_LIMITS_IN_WORDS_H

#include <stdint.h>

#if SIZE_MAX > UINT32_MAX
#define COUNT_MOST      "18446744073709551615"
#define COUNT_MOST_HEX  "0xFFFFffffFFFFffff"
#define DISP_MOST       "9223372036854775807"
#define DISP_MOST_HEX   "0x7fffffffffffffff"
#define DISP_LOWEST     "-9223372036854775808"
#define DISP_LOWEST_HEX "-0x8000000000000000"
#else
#define COUNT_MOST      "4294967295"
#define COUNT_MOST_HEX  "0xFFFFffff"
#define DISP_MOST       "2147483647"
#define DISP_MOST_HEX   "0x7fffffff"
#define DISP_LOWEST     "-2147483648"
#define DISP_LOWEST_HEX "-0x80000000"
#endif

#endif
