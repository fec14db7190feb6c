/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The face of a fuzz target: libFuzzer's, and a replayer's that links the same function.
 */
#ifndef TEST_FUZZ_FUZZ_H
#define TEST_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

struct dtconv_context;

/* Runs one input; aborts with a sentence on standard error if the library does wrong. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The process's context, made at the first call. */
struct dtconv_context *fuzz_context(void);

/* Aborts if types are still alive: every input must give back what it made. */
void fuzz_expect_no_types(void);

/* Says on standard error what is wrong, and aborts. */
_Noreturn void fuzz_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
