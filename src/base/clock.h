/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What loops need that wait for another thread or a device: the time, and a moment's rest.
 */
#ifndef DTC_CLOCK_H
#define DTC_CLOCK_H

#include <sched.h>
#include <stdint.h>
#include <time.h>

/* Nanoseconds since a moment that stays the same. */
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

/* Looks of a loop that waits before it yields at each: 20 to 60 us. */
#define DTC_LOOKS 512

/*
 * Rest between two looks, of which @looks counts those in vain. A loop that has waited for long gives the CPU
 * away, because what it waits for may need this very one.
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
