/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Typed jobs: whole units of a typed stream that device kernels convert and combine.
 */
#ifndef DTC_COPY_BACKENDS_TYPED_H
#define DTC_COPY_BACKENDS_TYPED_H

#include "copy_backends/backend.h"
#include "kernels/launch/typed.h"

struct dtc_typed_job {
	/* Bytes of the stream; of the cursor only the layout is used. */
	struct dtc_job job;
	const struct dtc_gpu_units *units;
	struct dtc_gpu_unit_place begin, end; /* begin before end */
};

/*
 * Start a job whose user side a device can access; the packed side may be memory of any kind. Fails
 * with UNSUPPORTED if the backend for it is forbidden. Fails with LIMIT, without an error text, if no
 * loaded kernel can access both sides: then the caller moves the job otherwise.
 */
int dtc_typed_submit(const struct dtc_typed_job *job, struct dtc_event *event);

/* Fail with UNSUPPORTED because a typed job needs the backend @needed, which is forbidden. */
int dtc_typed_refuse(const struct dtc_job *job, const struct dtc_backend_ops *needed);

#endif
