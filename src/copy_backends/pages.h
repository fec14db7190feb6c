/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lists of pages that a device moves, in one launch.
 */
#ifndef DTC_COPY_BACKENDS_PAGES_H
#define DTC_COPY_BACKENDS_PAGES_H

#include <dtconv/pages.h>

#include "copy_backends/backend.h"

/* A list without defaults, whose contiguous rows are one. */
struct dtc_pages_list {
	const struct dtconv_pages *pages;
	const char *page; /* an address of the pool that may be asked for */
	/* Entries [first_entry, end_entry) are used. Those in host memory travel along. */
	uint64_t first_entry, end_entry;
	struct dtc_memory table_memory;
	struct dtc_memory fault_memory; /* of pages->fault, if there is one */
};

struct dtc_pages_job {
	/* The user's side is displacement 0 of the list's pool, the packed side byte @position of the stream. */
	struct dtc_job job;
	struct dtc_pages_list list;
	/*
	 * A list to whose pages those of the other are copied: the packed side is displacement 0 of its pool, and its flags and
	 * its stream order the job. NULL: there is none.
	 */
	const struct dtc_pages_list *to;
	uint64_t position;
};

/* The answer of a completed job all of whose entries were in range. */
#define DTC_PAGES_FINE UINT64_MAX

/* Answers from here on are entries of the list that is copied to. */
#define DTC_PAGES_OF_TARGET (UINT64_C(1) << 62)

/*
 * Start a list, or a copy. Numbers in host memory are checked before anything is moved; INVAL if one is out of range. An
 * unattended job is left alone: its event has no backend, and the device lowers *pages->fault of each list. The answer of
 * others is the first entry out of range, or DTC_PAGES_FINE. Fails with UNSUPPORTED if no device can access all of the memory
 * or the backend is forbidden, with AGAIN or BACKEND if there are no kernels.
 */
int dtc_pages_submit(const struct dtc_pages_job *job, struct dtc_event *event);

#endif
