/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The planner: which backend moves a job, and why.
 */
#ifndef DTC_PLAN_H
#define DTC_PLAN_H

#include "copy_backends/backend.h"

/* The cheapest backend that reaches both kinds of memory, or NULL. */
const struct dtc_backend_ops *dtc_plan_choose(const struct dtc_layout *layout, uint64_t count,
					      enum dtconv_memory_kind user_kind,
					      enum dtconv_memory_kind packed_kind);

const char *dtc_memory_kind_name(enum dtconv_memory_kind kind);

#endif
