/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Passes ranges of addresses to the vendor whose driver is in the process.
 */
#include "config.h"

#include "address_range.h"

#include <dtconv/status.h>

#include "vendor.h"

int dtc_range_reserve(struct dtconv_context *context, struct dtc_range *range)
{
	const struct dtc_vendor_ops *vendor = dtc_vendor_of(context);

	range->context = context;
	range->why = NULL;
	range->ops = vendor ? vendor->ranges : NULL;
	return range->ops ? range->ops->reserve(range) : DTCONV_ERR_UNSUPPORTED;
}
