/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which process this is, so that no other one, of this machine or another, now or later, is taken for it.
 */
#ifndef DTC_PROCESS_H
#define DTC_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#define DTC_BOOT_BYTES 16

/*
 * A process ID is used again after its process has exited, by a container next to it, and by other machines. The other
 * members tell these apart.
 */
struct dtc_process {
	uint64_t id;                        /* as getpid returns it */
	uint64_t start;                     /* clock ticks since boot */
	uint64_t space;                     /* number of its PID namespace; 0: unknown */
	unsigned char boot[DTC_BOOT_BYTES]; /* of the machine; zeros: unknown */
};

/* False if the system has no /proc. */
bool dtc_process_self(struct dtc_process *process);

/* Whether it is one process. */
bool dtc_process_equal(const struct dtc_process *a, const struct dtc_process *b);

/* Whether they are known to run on different machines, or before and after a boot. */
bool dtc_process_is_remote(const struct dtc_process *a, const struct dtc_process *b);

/* The start time in the text of /proc/PID/stat. False if it is none. */
bool dtc_process_parse_start(const char *stat, uint64_t *start);

#endif
