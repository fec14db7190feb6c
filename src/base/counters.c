/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reading the counters of a context.
 */
#include "config.h"

#include <string.h>

#include "base.h"
#include "context.h"
#include "log.h"

static uint64_t counted(struct dtconv_context *context, enum dtc_counter counter)
{
	return atomic_load_explicit(&context->counters[counter], memory_order_relaxed);
}

#define DTC_COUNTER_VALUE(name, member, what) \
	.member = counted(context, DTC_COUNT_##name),

int dtconv_context_query_counters(struct dtconv_context *context,
				  struct dtconv_counters *counters)
{
	if (!context || !counters)
		return DTCONV_ERR_INVAL;
	const struct dtconv_counters now = { .struct_size = counters->struct_size,
					     DTC_COUNTERS_LIST(DTC_COUNTER_VALUE) };

	if (counters->struct_size == 0)
		return DTC_FAIL(context, DTCONV_ERR_INVAL,
				"dtconv_context_query_counters: counters.struct_size is 0, not "
				"sizeof(struct dtconv_counters)");
	memcpy(counters, &now, DTC_MIN(counters->struct_size, sizeof(now)));
	return 0;
}
