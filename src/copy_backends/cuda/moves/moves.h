/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every way of moving bytes with a device. A move may hand a job on to another one, so all of them are declared
 * here.
 */
#ifndef DTC_CUDA_MOVES_H
#define DTC_CUDA_MOVES_H

#include "copy_backends/backend.h"
#include "copy_backends/memory/vendor.h"

extern const struct dtc_backend_ops dtc_cuda_copy_backend;
extern const struct dtc_backend_ops dtc_cuda_kernel_backend;
extern const struct dtc_backend_ops dtc_cuda_staged_backend;
extern const struct dtc_backend_ops dtc_cuda_pipeline_backend;
extern const struct dtc_backend_ops dtc_cuda_bar_backend;
extern const struct dtc_vendor_ops dtc_cuda_vendor;

/* typed.c */
const struct dtc_backend_ops *dtc_cuda_typed_backend(const struct dtc_job *job);
int dtc_cuda_submit_typed(const struct dtc_typed_job *job, struct dtc_event *event);

/* checksum.c */
int dtc_cuda_submit_checksum(const struct dtc_job *job, struct dtc_event *moving,
			     struct dtc_event *event);

/* layout_copy.c */
int dtc_cuda_submit_copy(const struct dtc_copy_job *copy, struct dtc_event *event);
const char *dtc_cuda_foresee_copy(const struct dtc_stretch *copy, const char **reason);
bool dtc_cuda_is_captured(struct dtconv_context *context, void *stream);

/* pages.c */
int dtc_cuda_submit_pages(const struct dtc_pages_job *job, struct dtc_event *event);

/* prepare.c */
int dtc_cuda_prepare(const struct dtc_preparation *preparation);

#endif
