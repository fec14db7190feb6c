/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What it means when a work request fails.
 */
#ifndef DTC_VERBS_COMPLETION_H
#define DTC_VERBS_COMPLETION_H

#include <infiniband/verbs.h>

struct dtc_verbs_failure {
	int status; /* of the connection */
	const char *name, *sentence;
};

/* Also of numbers that no adapter of today reports. */
struct dtc_verbs_failure dtc_verbs_failure(enum ibv_wc_status status);

#endif
