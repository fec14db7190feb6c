/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Queries of a convertor.
 */
#include "config.h"

#include "convertor.h"

#include <string.h>

#include "base/base.h"
#include "base/log.h"

int dtconv_convertor_query(const struct dtconv_convertor *convertor,
			   struct dtconv_convertor_attr *attr)
{
	if (!convertor || !attr)
		return DTCONV_ERR_INVAL;
	const struct dtc_request *request = &convertor->request;
	/* Start copies host memory at once, but the position advances at completion. */
	size_t ahead = request->in_flight ? request->flight.moved : 0;
	struct dtconv_convertor_attr all = {
		.struct_size = attr->struct_size,
		.size = dtc_convertor_size(convertor),
		.position = dtc_convertor_position(convertor) - ahead,
		.in_flight = !dtc_convertor_is_idle(convertor),
		.held = convertor->typed
				? dtc_partial_elements_bytes(&convertor->typed->partial)
				: 0,
	};

	if (attr->struct_size == 0)
		return DTC_FAIL_STRUCT_SIZE(convertor->type->context, __func__, "attr", "dtconv_convertor_attr");
	memcpy(attr, &all, DTC_MIN(attr->struct_size, sizeof(all)));
	return 0;
}

int dtconv_convertor_crc32c(const struct dtconv_convertor *convertor, uint32_t *crc)
{
	if (!convertor || !crc)
		return DTCONV_ERR_INVAL;
	int status = dtc_convertor_check_idle(convertor, __func__);

	if (status)
		return status;
	if (!convertor->checksum.on)
		return DTC_FAIL(convertor->type->context, DTCONV_ERR_STATE,
				"%s: the convertor was not configured to keep a checksum",
				__func__);
	*crc = dtc_checksum_value(&convertor->checksum);
	return 0;
}
