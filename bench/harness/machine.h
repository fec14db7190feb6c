/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Describes the machine and the build, and pins the process.
 */
#ifndef BENCH_MACHINE_H
#define BENCH_MACHINE_H

#include <stddef.h>
#include <stdio.h>

struct session;

void machine_text(char *text, size_t room);
void machine_write(FILE *json, const struct session *session);
/* Pin the process to its current CPU, so that all engines share its caches. */
void machine_pin(void);
size_t machine_memory(void);

#endif
