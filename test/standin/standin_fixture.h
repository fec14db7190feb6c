/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the suites of the stand-in driver share: a fresh driver a case with a context and a
 * stream, and checks that name what was called. A case fails if it leaves anything behind.
 */
#ifndef TEST_STANDIN_FIXTURE_H
#define TEST_STANDIN_FIXTURE_H

#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/cuda_standin/standin.h"
#include "support/marks.h"

/* How the stand-in is steered. */
extern const struct standin *standin;

/* Device 0's primary context, current, and a stream of it that waits for no other. */
extern CUcontext standin_context;
extern CUstream standin_stream;

/* The call answers exactly this. */
#define ck_answers(call, result) \
	ck_assert_msg((call) == (result), "%s is not %s", #call, #result)
#define ck_works(call) ck_answers(call, CUDA_SUCCESS)

/* A case with that fixture; a bare one gets a driver that nobody has initialised. */
TCase *standin_tcase(Suite *suite, const char *name);
TCase *standin_bare_tcase(Suite *suite, const char *name);

/* Runs a suite as CK_* variables ask for; answers what main returns. */
int standin_run(Suite *suite);

/* A function of the kernels' table. */
CUfunction standin_function(const char *name);

/* Launches a kernel of one block. */
CUresult standin_launch(const char *name, void *params, CUstream stream);

/* A kernel that runs until *word is not 0. The word lies in pinned memory. */
void standin_spin(volatile uint32_t *word, CUstream stream);
volatile uint32_t *standin_word(void); /* a pinned word, 0; the fixture frees it */
void standin_release(volatile uint32_t *word);

/* Runs call(arg) in a thread: whether it comes back by itself within 50 ms; if not, the word is
 * released and it has to come back then. */
bool standin_blocks(void (*call)(void *arg), void *arg, volatile uint32_t *word);

/* Calls `call` in another thread and waits for it. */
void standin_in_thread(void (*call)(void *arg), void *arg);

/* Memory of device 0 with bytes of a pattern, and whether memory holds that pattern. */
CUdeviceptr standin_filled(size_t bytes, unsigned seed);
bool standin_holds(CUdeviceptr address, size_t bytes, unsigned seed);

#endif
