/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Many stretches in one submission; see struct dtc_backend_ops.
 */
#ifndef DTC_CUDA_MANY_H
#define DTC_CUDA_MANY_H

#include "copy_backends/backend.h"

int dtc_cuda_many_submit(struct dtc_batch_job *many, struct dtc_event *event);
void dtc_cuda_many_forget(void *kept);

#endif
