/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For programs that measure: the time, and the median of some.
 */
#ifndef TEST_TIMES_H
#define TEST_TIMES_H

#include <stddef.h>
#include <stdlib.h>
#include <time.h>

/* Microseconds, from any moment on. */
static inline double times_now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static inline int times_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Sorts them; the upper one of two. */
static inline double times_median(double times[], size_t count)
{
	qsort(times, count, sizeof(times[0]), times_compare);
	return times[count / 2];
}

#endif
