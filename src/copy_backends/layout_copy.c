/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Passes copies between layouts to the vendor whose memory they are in, if its backend is allowed, and counts them.
 */
#include "config.h"

#include "copy_backends/layout_copy.h"

#include "copy_backends/backend_set.h"
#include "copy_backends/counters.h"
#include "copy_backends/memory/vendor.h"
#include "copy_backends/plan.h"

static int submit(const struct dtc_vendor_ops *vendor, const struct dtc_copy_job *job,
		  struct dtc_event *event)
{
	size_t index = dtc_backend_index_of(vendor->copy_backend);

	if (dtc_is_forbidden(job->context->forbidden, index))
		return DTCONV_ERR_LIMIT;
	int status = vendor->submit_copy(job, event);
	if (!status)
		dtc_count_job(job->context, index, job->bytes);
	return status;
}

int dtc_layout_copy_submit(const struct dtc_copy_job *job, struct dtc_event *event)
{
	for (size_t i = 0; dtc_vendors[i]; i++)
		if (dtc_vendors[i]->find_driver(job->context) > 0)
			return submit(dtc_vendors[i], job, event);
	return DTCONV_ERR_LIMIT;
}

struct dtc_copy_foresight dtc_layout_copy_foresee(const struct dtc_question *source,
						  const struct dtc_question *target)
{
	const struct dtc_vendor_ops *vendor = dtc_vendors[0];
	struct dtc_copy_foresight foresight = { .reason = "this build uses no devices" };
	const struct dtc_stretch copy = { .layout = source->layout,
					  .count = source->count,
					  .target = target->layout,
					  .target_count = target->count,
					  .bytes = source->bytes };

	if (!vendor)
		return foresight;
	foresight.reason = "DTCONV_BACKENDS does not allow the kernels";
	if (dtc_is_forbidden(source->forbidden,
			     dtc_backend_index_of(vendor->copy_backend)))
		return foresight;
	foresight.kernel = vendor->foresee_copy(&copy, &foresight.reason);
	if (foresight.kernel)
		foresight.reason = NULL;
	foresight.ns = vendor->estimate_copy(source, target);
	foresight.missing = dtc_plan_why_missing(source, vendor->copy_backend);
	return foresight;
}

const struct dtc_backend_ops *dtc_layout_copy_together(struct dtconv_context *context,
						       const struct dtc_stretch *copy)
{
	const char *reason;

	for (size_t i = 0; dtc_vendors[i]; i++) {
		const struct dtc_backend_ops *backend = dtc_vendors[i]->copy_backend;

		if (dtc_vendors[i]->find_driver(context) <= 0)
			continue;
		if (dtc_is_forbidden(context->forbidden, dtc_backend_index_of(backend)) ||
		    !dtc_vendors[i]->foresee_copy(copy, &reason))
			return NULL;
		return backend;
	}
	return NULL;
}

bool dtc_stream_is_captured(struct dtconv_context *context, void *stream)
{
	for (size_t i = 0; dtc_vendors[i]; i++)
		if (dtc_vendors[i]->find_driver(context) > 0)
			return dtc_vendors[i]->is_captured(context, stream);
	return false;
}
