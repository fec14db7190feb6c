/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which vendor's kernels do a typed job.
 */
#include "config.h"

#include "copy_backends/typed.h"

#include "copy_backends/memory/vendor.h"

int dtc_typed_submit(const struct dtc_typed_job *job, struct dtc_event *event)
{
	for (size_t i = 0; dtc_vendors[i]; i++)
		if (dtc_vendors[i]->find_driver(job->job.context))
			return dtc_vendors[i]->submit_typed(job, event);
	return DTCONV_ERR_LIMIT;
}
