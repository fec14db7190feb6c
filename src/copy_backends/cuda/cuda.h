/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the registry knows of this vendor: five ways to move bytes, and whose memory is whose.
 */
#ifndef DTC_CUDA_H
#define DTC_CUDA_H

#include "copy_backends/backend.h"
#include "copy_backends/memory/vendor.h"

extern const struct dtc_backend_ops dtc_cuda_copy_backend;
extern const struct dtc_backend_ops dtc_cuda_kernel_backend;
extern const struct dtc_backend_ops dtc_cuda_staged_backend;
extern const struct dtc_backend_ops dtc_cuda_pipeline_backend;
extern const struct dtc_backend_ops dtc_cuda_bar_backend;
extern const struct dtc_vendor_ops dtc_cuda_vendor;

/* describe.c */
int dtc_cuda_count_devices(struct dtconv_context *context, const char **why);
bool dtc_cuda_query_device(struct dtconv_context *context, int ordinal,
			   struct dtconv_device_attr *attr);
void dtc_cuda_describe(struct dtconv_context *context, struct dtc_text *text);

/* typed.c */
const struct dtc_backend_ops *dtc_cuda_typed_backend(const struct dtc_job *job);
int dtc_cuda_submit_typed(const struct dtc_typed_job *job, struct dtc_event *event);

/* checksum.c */
int dtc_cuda_submit_checksum(const struct dtc_job *job, struct dtc_event *moving,
			     struct dtc_event *event);

#endif
