/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads and logs the counters of the backends.
 */
#include "config.h"

#include "counters.h"

#include <inttypes.h>
#include <string.h>

#include "backend.h"
#include "base/base.h"
#include "base/log.h"

size_t dtc_backend_index_of(const struct dtc_backend_ops *backend)
{
	return (size_t)dtc_backend_index(backend->name);
}

void dtc_count_batch(const struct dtc_backend_ops *backend,
		     const struct dtc_batch_job *job)
{
	if (!job->context->counting)
		return;
	size_t index = dtc_backend_index_of(backend);
	for (size_t i = 0; i < job->count; i++)
		dtc_count_job(job->context, index, job->stretches[i]->bytes);
}

static uint64_t look(_Atomic uint64_t *value)
{
	return atomic_load_explicit(value, memory_order_relaxed);
}

int dtconv_context_query_backend(struct dtconv_context *context, const char *name,
				 struct dtconv_backend_counters *counters)
{
	if (!context || !name || !counters)
		return DTCONV_ERR_INVAL;
	int index = dtc_backend_index(name);

	if (counters->struct_size == 0)
		return DTC_FAIL_STRUCT_SIZE(context, __func__, "counters", "dtconv_backend_counters");
	if (index < 0)
		return DTC_FAIL(
			context, DTCONV_ERR_UNSUPPORTED,
			"%s: name (argument 2) is '%.40s', not a backend of this build; "
			"'dtconv info' lists them",
			__func__, name);
	const struct dtconv_backend_counters now = {
		.struct_size = counters->struct_size,
		.jobs = look(&context->backend_counters[index].jobs),
		.bytes = look(&context->backend_counters[index].bytes),
	};
	memcpy(counters, &now, DTC_MIN(counters->struct_size, sizeof(now)));
	return 0;
}

/* ---- telling --------------------------------------------------------------------------- */

#define DTC_COUNTER_ROW(name, member, what) { #member, what },

static const struct {
	const char *name, *what;
} rows[DTC_COUNTERS] = { DTC_COUNTERS_LIST(DTC_COUNTER_ROW) };

/* DTCONV_STATS asks for the table whatever the log level. */
#define TELL(context, ...) \
	dtc_log_write(context, __FILE__, __LINE__, DTCONV_LOG_INFO, __VA_ARGS__)

static void tell_backend(struct dtconv_context *context, size_t index)
{
	uint64_t jobs = look(&context->backend_counters[index].jobs);

	if (jobs)
		TELL(context, "stats: %" PRIu64 " jobs of %" PRIu64 " bytes by %s", jobs,
		     look(&context->backend_counters[index].bytes),
		     dtc_backends[index]->name);
}

void dtc_counters_log(struct dtconv_context *context)
{
	if (!context->log_counters)
		return;
	for (size_t i = 0; i < DTC_COUNTERS; i++) {
		uint64_t value = look(&context->counters[i]);

		if (value)
			TELL(context, "stats: %s %" PRIu64 " (%s)", rows[i].name, value,
			     rows[i].what);
	}
	for (size_t i = 0; dtc_backends[i]; i++)
		tell_backend(context, i);
}
