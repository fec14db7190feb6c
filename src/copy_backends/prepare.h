/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Making ready, before the first job, what that job would else make.
 */
#ifndef DTC_PREPARE_H
#define DTC_PREPARE_H

#include "copy_backends/backend.h"

/* Jobs to come. */
struct dtc_preparation {
	struct dtconv_context *context;
	const struct dtc_layout *layout; /* NULL: of any type */
	uint64_t count;                  /* of instances */
	enum dtconv_memory_kind user_kind;
	enum dtconv_memory_kind packed_kind;
	int device; /* the ordinal of the device; negative: that of the current device context */
	bool typed; /* elements are converted or combined */
	bool summed_up;
	bool on_stream;
	void *stream;
	uint32_t forbidden; /* a set of backends, see backend_set.h */
	const char *caller;
};

/* Blocks until all is there. Fails with UNSUPPORTED if no device's driver is in the process. */
int dtc_prepare(const struct dtc_preparation *preparation);

#endif
