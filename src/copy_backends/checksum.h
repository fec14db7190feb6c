/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checksums of packed bytes in memory that a device can access, computed by that device.
 */
#ifndef DTC_COPY_BACKENDS_CHECKSUM_H
#define DTC_COPY_BACKENDS_CHECKSUM_H

#include "copy_backends/backend.h"

/*
 * Start the checksum of the job's packed bytes, which are in one kind of device or pinned memory. It is
 * ordered behind @moving, which may be in flight. If the two are not in the same stream, this waits for
 * @moving, which then has no backend. When @event completes, pass event->answer to dtc_gpu_checksum_of.
 * Fails with LIMIT, without an error text, if no kernels are loaded: then the caller computes it
 * otherwise.
 */
int dtc_checksum_submit(const struct dtc_job *job, struct dtc_event *moving,
			struct dtc_event *event);

#endif
