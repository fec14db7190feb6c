/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Macros and one-line helpers for every layer.
 */
#ifndef DTC_BASE_H
#define DTC_BASE_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include <dtconv/status.h>

/* Exported only for the transports that are shared objects of their own: transport.h. */
#define DTC_PRIVATE_API DTCONV_API

#define DTC_LIKELY(condition) __builtin_expect(!!(condition), 1)
#define DTC_UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#define DTC_NOINLINE __attribute__((noinline))
#define DTC_ARRAY_LENGTH(array) (sizeof(array) / sizeof((array)[0]))

#define DTC_MIN(a, b) ((a) < (b) ? (a) : (b))
#define DTC_MAX(a, b) ((a) > (b) ? (a) : (b))

/* a / b, rounded up. */
static inline uint64_t dtc_divide_up(uint64_t a, uint64_t b)
{
	return a / b + (a % b != 0);
}

#endif
