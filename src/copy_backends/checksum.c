/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Passes checksums of packed bytes to the vendor whose memory they are in.
 */
#include "config.h"

#include "copy_backends/checksum.h"

#include "copy_backends/memory/vendor.h"

int dtc_checksum_submit(const struct dtc_job *job, struct dtc_event *moving,
			struct dtc_event *event)
{
	for (size_t i = 0; dtc_vendors[i]; i++)
		if (dtc_vendors[i]->find_driver(job->context) > 0)
			return dtc_vendors[i]->submit_checksum(job, moving, event);
	return DTCONV_ERR_LIMIT;
}
