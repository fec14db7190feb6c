/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the operating system reports about the CPU: the model name, which identifies the machine
 * of a measurement, and the size of the last-level cache. kernels/cpu/select.c detects
 * instruction sets.
 */
#ifndef DTC_MACHINE_H
#define DTC_MACHINE_H

#include <stddef.h>
#include <stdint.h>

/* The file in which Linux describes the CPUs. */
#define DTC_MACHINE_FILE "/proc/cpuinfo"

/*
 * Write the model of the first CPU into @model, at most @capacity - 1 characters; "unknown
 * processor" if the file is missing or does not name it.
 */
void dtc_machine_model(const char *file, char *model, size_t capacity);

/*
 * The size of the last-level cache in bytes, which other cores may share; 0 if it is unknown.
 */
uint64_t dtc_machine_last_cache(void);

#endif
