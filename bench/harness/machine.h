/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where and what this is.
 */
#ifndef BENCH_MACHINE_H
#define BENCH_MACHINE_H

#include <stddef.h>
#include <stdio.h>

struct session;

void machine_text(char *text, size_t room);
void machine_write(FILE *json, const struct session *session);
/* Stay on the processor we are on, so that caches serve all engines alike. */
void machine_pin(void);
size_t machine_memory(void);

#endif
