/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the system calls the processor: enough to tell one machine's measurements from
 * another's, and nothing to decide about instructions with.
 */
#ifndef DTC_MACHINE_H
#define DTC_MACHINE_H

#include <stddef.h>

/* Where Linux describes the processors. */
#define DTC_MACHINE_FILE "/proc/cpuinfo"

/*
 * Write the first processor's model into @model: at most @capacity - 1 characters, or "unknown
 * processor" if the file is not there or does not say it.
 */
void dtc_machine_model(const char *file, char *model, size_t capacity);

#endif
