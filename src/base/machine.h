/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the operating system reports about the CPU: a model name, which identifies measurements
 * of a machine, and the size of the last-level cache. Instruction sets are detected elsewhere.
 */
#ifndef DTC_MACHINE_H
#define DTC_MACHINE_H

#include <stddef.h>
#include <stdint.h>

/* Where Linux describes the CPUs. */
#define DTC_MACHINE_FILE "/proc/cpuinfo"

/*
 * Write the model of the first CPU into @model, at most @capacity - 1 characters; "unknown
 * processor" if the file is missing or does not name it.
 */
void dtc_machine_model(const char *file, char *model, size_t capacity);

/* Bytes of the last cache, which others may share, or 0 if the system does not report it. */
uint64_t dtc_machine_last_cache(void);

#endif
