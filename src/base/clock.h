/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * For loops that wait for another thread or a device: the time, and a back-off.
 */
#ifndef DTC_CLOCK_H
#define DTC_CLOCK_H

#include <sched.h>
#include <stdint.h>
#include <time.h>

/* Nanoseconds of the monotonic clock. */
static inline uint64_t dtc_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Spin-wait hint to the CPU (pause, yield). */
static inline void dtc_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* A waiting loop spins for this many polls (20 to 60 us); then it yields after each. */
#define DTC_LOOKS 512

/*
 * Back off between two polls; @looks counts the failed ones. After DTC_LOOKS polls this yields
 * the CPU, because the thread that the loop waits for may need the same one.
 */
static inline void dtc_rest(uint32_t *looks)
{
	if (*looks < DTC_LOOKS) {
		++*looks;
		dtc_pause();
	} else {
		sched_yield();
	}
}

#endif
