/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Arithmetic on numbers that users choose. Each function stores the result and answers
 * whether it overflowed; the result is meaningless then.
 */
#ifndef DTC_CHECKED_H
#define DTC_CHECKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool dtc_add_size(size_t a, size_t b, size_t *sum)
{
	return __builtin_add_overflow(a, b, sum);
}

static inline bool dtc_mul_size(size_t a, size_t b, size_t *product)
{
	return __builtin_mul_overflow(a, b, product);
}

static inline bool dtc_add_disp(ptrdiff_t a, ptrdiff_t b, ptrdiff_t *sum)
{
	return __builtin_add_overflow(a, b, sum);
}

static inline bool dtc_sub_disp(ptrdiff_t a, ptrdiff_t b, ptrdiff_t *difference)
{
	return __builtin_sub_overflow(a, b, difference);
}

static inline bool dtc_mul_disp(ptrdiff_t a, ptrdiff_t b, ptrdiff_t *product)
{
	return __builtin_mul_overflow(a, b, product);
}

/* A count times a distance: the count may be any size_t, the product must fit. */
static inline bool dtc_scale_disp(size_t count, ptrdiff_t distance, ptrdiff_t *product)
{
	return __builtin_mul_overflow(count, distance, product);
}

/* Whether the sum is exactly @value. */
static inline bool dtc_is_sum(int64_t value, int64_t a, int64_t b)
{
	int64_t sum;

	return !__builtin_add_overflow(a, b, &sum) && sum == value;
}

/* Whether count steps lead exactly to @value. */
static inline bool dtc_is_product(int64_t value, uint64_t count, int64_t step)
{
	int64_t product;

	return !__builtin_mul_overflow(count, step, &product) && product == value;
}

#endif
