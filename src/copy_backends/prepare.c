/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Passes preparations to the vendor whose driver is in the process.
 */
#include "config.h"

#include "prepare.h"

#include "base/base.h"
#include "base/context.h"
#include "base/log.h"
#include "memory/vendor.h"

static const char *why_not(const struct dtconv_context *context)
{
	if (!dtc_vendors[0])
		return "this build has no device backend";
	return context->devices.none ? "the context has DTCONV_CONTEXT_HOST_MEMORY"
				     : "the process has loaded no device driver";
}

int dtc_prepare(const struct dtc_preparation *preparation)
{
	struct dtconv_context *context = preparation->context;

	/* As classifying memory finds it: then jobs do, too. */
	bool found = !context->devices.none && dtc_memory_has_driver(context);
	for (size_t i = 0; found && dtc_vendors[i]; i++)
		if (dtc_vendors[i]->find_driver(context) > 0)
			return dtc_vendors[i]->prepare(preparation);
	int status = context->devices.none
			     ? 0
			     : dtc_memory_refused(context, preparation->caller);
	if (status)
		return status;
	return DTC_FAIL(context, DTCONV_ERR_UNSUPPORTED,
			"%s: there is no device to prepare: %s", preparation->caller,
			why_not(context));
}
