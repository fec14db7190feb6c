/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checksums of packed bytes that a vendor's device sees, computed where the bytes are.
 */
#ifndef DTC_COPY_BACKENDS_CHECKSUM_H
#define DTC_COPY_BACKENDS_CHECKSUM_H

#include "copy_backends/backend.h"

/*
 * Start the checksum of the job's packed bytes, which lie in one kind of memory that is a device's or
 * pinned. It comes behind @moving, which may be in flight: what is not in the same order is waited
 * for, and then @moving has no backend any more. When @event ends, event->answer is what
 * dtc_gpu_checksum_of takes. Fails with LIMIT, without a sentence, where no kernels are to be had: then
 * the job is to be done otherwise.
 */
int dtc_checksum_submit(const struct dtc_job *job, struct dtc_event *moving,
			struct dtc_event *event);

#endif
