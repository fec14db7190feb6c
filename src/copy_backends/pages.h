/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lists of pages that a device moves, in one launch.
 */
#ifndef DTC_COPY_BACKENDS_PAGES_H
#define DTC_COPY_BACKENDS_PAGES_H

#include <dtconv/pages.h>

#include "copy_backends/backend.h"

struct dtc_pages_job {
	/* Displacement 0 and byte @position of the stream; it has neither cursor nor type. */
	struct dtc_job job;
	const struct dtconv_pages *pages; /* without defaults */
	uint64_t position;
	const char *
		page; /* an address of the pool that may be asked for: its memory is the user's */
	/* Entries [first_entry, end_entry) are used. Those in host memory have been checked, and travel along. */
	uint64_t first_entry, end_entry;
	struct dtc_memory table_memory;
	struct dtc_memory fault_memory; /* of pages->fault, if there is one */
};

/* The answer of a completed job all of whose entries were in range. */
#define DTC_PAGES_FINE UINT64_MAX

/*
 * Start a list. A job with pages->flags & DTCONV_PAGES_STREAM is left alone: its event has no backend, and the device
 * lowers *pages->fault. The answer of others is the first entry out of range, or DTC_PAGES_FINE. Fails with UNSUPPORTED
 * if no device can access all of the memory or the backend is forbidden, with AGAIN or BACKEND if there are no kernels.
 */
int dtc_pages_submit(const struct dtc_pages_job *job, struct dtc_event *event);

#endif
