/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Passes lists of pages to the vendor whose memory they are in, if its backend is allowed, and counts them.
 */
#include "config.h"

#include "copy_backends/pages.h"

#include <inttypes.h>

#include "base/log.h"
#include "copy_backends/backend_set.h"
#include "copy_backends/counters.h"
#include "copy_backends/memory/vendor.h"

static int refuse(const struct dtc_job *job, const struct dtc_backend_ops *needed)
{
	char allowed[160];

	dtc_backend_set_format(job->context->forbidden, allowed, sizeof(allowed));
	return DTC_FAIL(job->context, DTCONV_ERR_UNSUPPORTED,
			"%s: lists of pages between %s and %s memory need backend %s, "
			"but DTCONV_BACKENDS allows only %s",
			job->caller, dtc_memory_kind_name(job->user_memory.kind),
			dtc_memory_kind_name(job->packed_memory.kind), needed->name,
			allowed);
}

static int submit(const struct dtc_vendor_ops *vendor, const struct dtc_pages_job *pages,
		  struct dtc_event *event)
{
	const struct dtc_job *job = &pages->job;
	const size_t index = dtc_backend_index_of(vendor->copy_backend);

	if (dtc_is_forbidden(job->context->forbidden, index))
		return refuse(job, vendor->copy_backend);
	DTC_LOG(job->context, DTCONV_LOG_DEBUG,
		"%s: %" PRIu64 " bytes, %s to %s, table in %s memory: %s, pages kernel",
		job->caller, job->bytes, dtc_memory_kind_name(job->user_memory.kind),
		dtc_memory_kind_name(job->packed_memory.kind),
		dtc_memory_kind_name(pages->list.table_memory.kind),
		vendor->copy_backend->name);
	int status = vendor->submit_pages(pages, event);
	if (!status)
		dtc_count_job(job->context, index, job->bytes);
	return status;
}

int dtc_pages_submit(const struct dtc_pages_job *job, struct dtc_event *event)
{
	for (size_t i = 0; dtc_vendors[i]; i++)
		if (dtc_vendors[i]->find_driver(job->job.context) > 0)
			return submit(dtc_vendors[i], job, event);
	return DTC_FAIL(job->job.context, DTCONV_ERR_UNSUPPORTED,
			"%s: lists of pages in device memory need a device's driver",
			job->job.caller);
}
