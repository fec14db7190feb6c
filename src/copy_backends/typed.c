/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Passes typed jobs to the vendor whose memory they are in, if its backend is allowed, and counts them.
 */
#include "config.h"

#include "copy_backends/typed.h"

#include <inttypes.h>

#include "base/log.h"
#include "copy_backends/backend_set.h"
#include "copy_backends/counters.h"
#include "copy_backends/memory/vendor.h"

int dtc_typed_refuse(const struct dtc_job *job, const struct dtc_backend_ops *needed)
{
	char allowed[160];

	dtc_backend_set_format(job->context->forbidden | job->forbidden, allowed,
			       sizeof(allowed));
	return DTC_FAIL(
		job->context, DTCONV_ERR_UNSUPPORTED,
		"%s: operations and representations between %s and %s memory need "
		"backend %s, but params.backends and DTCONV_BACKENDS allow only %s",
		job->caller, dtc_memory_kind_name(job->user_memory.kind),
		dtc_memory_kind_name(job->packed_memory.kind), needed->name, allowed);
}

static int submit(const struct dtc_vendor_ops *vendor, const struct dtc_typed_job *typed,
		  struct dtc_event *event)
{
	const struct dtc_job *job = &typed->job;
	const struct dtc_backend_ops *backend = vendor->typed_backend(job);
	size_t index = dtc_backend_index_of(backend);

	if (dtc_is_forbidden(job->context->forbidden | job->forbidden, index))
		return dtc_typed_refuse(job, backend);
	DTC_LOG(job->context, DTCONV_LOG_DEBUG,
		"%s: %" PRIu64 " bytes, %s to %s: %s, typed kernel", job->caller,
		job->bytes, dtc_memory_kind_name(job->user_memory.kind),
		dtc_memory_kind_name(job->packed_memory.kind), backend->name);
	int status = vendor->submit_typed(typed, event);
	if (!status)
		dtc_count_job(job->context, index, job->bytes);
	return status;
}

int dtc_typed_submit(const struct dtc_typed_job *job, struct dtc_event *event)
{
	for (size_t i = 0; dtc_vendors[i]; i++)
		if (dtc_vendors[i]->find_driver(job->job.context) > 0)
			return submit(dtc_vendors[i], job, event);
	return DTCONV_ERR_LIMIT;
}
