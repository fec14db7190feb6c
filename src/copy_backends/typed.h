/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Typed jobs: whole units of a typed stream, that a vendor's kernels convert and combine on their way.
 */
#ifndef DTC_COPY_BACKENDS_TYPED_H
#define DTC_COPY_BACKENDS_TYPED_H

#include "copy_backends/backend.h"
#include "kernels/launch/typed.h"

struct dtc_typed_job {
	struct dtc_job
		job; /* bytes of the stream; only its layout counts of the cursor */
	const struct dtc_gpu_units *units;
	struct dtc_gpu_unit_place begin, end; /* begin before end */
};

/*
 * Start a job of which a device sees the user's side; the packed side may be anyone's. Fails with
 * UNSUPPORTED where the backend that would do it is forbidden; with LIMIT, without a sentence, where no
 * kernels are to be had that reach both sides: then the job is to be done otherwise.
 */
int dtc_typed_submit(const struct dtc_typed_job *job, struct dtc_event *event);

/* Fail with UNSUPPORTED because a typed job is @needed's work, which is forbidden. */
int dtc_typed_refuse(const struct dtc_job *job, const struct dtc_backend_ops *needed);

#endif
