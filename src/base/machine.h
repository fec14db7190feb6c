/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the system says of the processor: enough to tell one machine's measurements from another's and
 * to know its last cache, and nothing to decide about instructions with.
 */
#ifndef DTC_MACHINE_H
#define DTC_MACHINE_H

#include <stddef.h>
#include <stdint.h>

/* Where Linux describes the processors. */
#define DTC_MACHINE_FILE "/proc/cpuinfo"

/*
 * Write the first processor's model into @model: at most @capacity - 1 characters, or "unknown
 * processor" if the file is not there or does not say it.
 */
void dtc_machine_model(const char *file, char *model, size_t capacity);

/* Bytes of the last cache, which others may share, or 0 if the system does not say. */
uint64_t dtc_machine_last_cache(void);

#endif
