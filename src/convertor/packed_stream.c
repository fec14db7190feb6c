/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks a type and a count before their stream is moved.
 */
#include "config.h"

#include "packed_stream.h"

#include "base/base.h"
#include "base/checked.h"
#include "base/log.h"
#include "datatype/cursor.h"
#include "datatype/type.h"

int dtc_packed_stream_check(const struct dtconv_type *type, size_t count,
			    const char *caller, const char *argument)
{
	if (DTC_UNLIKELY(!dtc_type_layout(type)))
		return DTC_FAIL(type->context, DTCONV_ERR_STATE,
				"%s: %s is not committed", caller, argument);
	if (DTC_UNLIKELY(dtc_bounds_are_too_many(&type->bounds, count)))
		return DTC_FAIL(
			type->context, DTCONV_ERR_OVERFLOW,
			"%s: count x size or extent of %s = %zu x (%zu or %td) overflows",
			caller, argument, count, type->bounds.size,
			dtc_bounds_extent(&type->bounds));
	return 0;
}

int dtc_packed_stream_begin(struct dtc_cursor *cursor, const struct dtconv_type *type,
			    size_t count, const char *caller, const char *argument)
{
	int status = dtc_packed_stream_check(type, count, caller, argument);

	if (!status)
		dtc_cursor_init(cursor, dtc_type_layout(type), count);
	return status;
}
