/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checked arithmetic on numbers that users choose. Each function stores the result and returns
 * whether it overflowed. After an overflow the result is meaningless.
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

/* A count times a distance. The count may be any size_t; the product has to fit ptrdiff_t. */
static inline bool dtc_scale_disp(size_t count, ptrdiff_t distance, ptrdiff_t *product)
{
	return __builtin_mul_overflow(count, distance, product);
}

/*
 * Arithmetic on displacements while a program is under construction, modulo 2^64. Intermediate
 * displacements may wrap around, because a part may not have its final displacement yet. Final
 * displacements fit, so they are exact, and comparing two for equality is exact as well.
 */
static inline int64_t dtc_disp_plus(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static inline int64_t dtc_disp_minus(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a - (uint64_t)b);
}

static inline int64_t dtc_disp_steps(uint64_t count, int64_t step)
{
	return (int64_t)(count * (uint64_t)step);
}

/* Whether count * step is exactly @value, without wrapping around. */
static inline bool dtc_is_product(int64_t value, uint64_t count, int64_t step)
{
	int64_t product;

	return !__builtin_mul_overflow(count, step, &product) && product == value;
}

/* The absolute value of a stride. */
static inline uint64_t dtc_magnitude(int64_t stride)
{
	return stride < 0 ? 0 - (uint64_t)stride : (uint64_t)stride;
}

#endif
