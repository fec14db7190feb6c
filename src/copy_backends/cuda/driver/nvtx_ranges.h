/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * NVTX ranges around the submission of each job, for profilers. Unless the environment names a tool, no NVTX
 * function is called.
 */
#ifndef DTC_CUDA_NVTX_RANGES_H
#define DTC_CUDA_NVTX_RANGES_H

#include "copy_backends/backend.h"

/* Who listens in this process, or NULL. A build without NVTX knows nobody. */
void *dtc_cuda_nvtx_open(void);
void dtc_cuda_nvtx_close(void *listener);

/* A range with the caller's name and the job's bytes; they nest, on one thread. */
void dtc_cuda_nvtx_push(void *listener, const struct dtc_job *job);
void dtc_cuda_nvtx_pop(void *listener);

/* A point in a range, with what is worth knowing of it. */
void dtc_cuda_nvtx_mark(void *listener, const char *text);

static inline void dtc_cuda_nvtx_note(void *listener, const char *text)
{
	if (listener)
		dtc_cuda_nvtx_mark(listener, text);
}

static inline void dtc_cuda_nvtx_begin(void *listener, const struct dtc_job *job)
{
	if (listener)
		dtc_cuda_nvtx_push(listener, job);
}

static inline void dtc_cuda_nvtx_end(void *listener)
{
	if (listener)
		dtc_cuda_nvtx_pop(listener);
}

#endif
