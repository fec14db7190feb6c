/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The position of a convertor: set by the caller or for a flight, or restored after a failure.
 */
#include "config.h"

#include "position.h"

#include "base/base.h"
#include "base/log.h"

void dtc_convertor_go_to(struct dtconv_convertor *convertor, size_t position)
{
	if (position == dtc_convertor_position(convertor))
		return;
	if (convertor->typed)
		dtc_typed_seek(convertor->typed, position);
	else
		dtc_cursor_seek(&convertor->cursor, position);
}

int dtconv_convertor_seek(struct dtconv_convertor *convertor, size_t position)
{
	if (!convertor)
		return DTCONV_ERR_INVAL;
	int status = dtc_convertor_check_idle(convertor, __func__);

	if (status)
		return status;
	if (position > dtc_convertor_size(convertor))
		return DTC_FAIL(
			convertor->type->context, DTCONV_ERR_INVAL,
			"%s: position (argument 2) is %zu, past the stream's end at %zu",
			__func__, position, dtc_convertor_size(convertor));
	dtc_convertor_go_to(convertor, position);
	return 0;
}
