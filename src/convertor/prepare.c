/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dtconv_prepare: checks what the caller says of jobs to come, and has the device made ready for them.
 */
#include "config.h"

#include "copy_backends/prepare.h"

#include <dtconv/convertor.h>

#include "base/context.h"
#include "base/log.h"
#include "datatype/type.h"
#include "packed_stream.h"
#include "params.h"

/* An unknown kind is the device's: that is what is to be prepared. */
static enum dtconv_memory_kind known(enum dtconv_memory_kind kind)
{
	return kind == DTCONV_MEMORY_UNKNOWN ? DTCONV_MEMORY_DEVICE : kind;
}

/* Of a type, whether its elements are converted or combined; the parameters must fit it, too. */
static int check_type(struct dtconv_type *type, size_t count,
		      const struct dtconv_convertor_params *params, const char *caller,
		      bool *is_typed)
{
	struct dtc_typed *typed;
	int status = dtc_packed_stream_check(type, count, caller, "type (argument 3)");

	if (!status)
		status = dtc_typed_create(type, count, params, caller, &typed);
	if (status)
		return status;
	*is_typed = typed;
	dtc_typed_destroy(typed);
	return 0;
}

static int describe(struct dtconv_context *context, struct dtconv_type *type,
		    size_t count, const struct dtconv_convertor_params *given,
		    struct dtc_preparation *preparation)
{
	struct dtconv_convertor_params params;
	int status =
		dtc_convertor_params_read(context, given, preparation->caller, &params);

	if (status)
		return status;
	const struct dtc_placement placement = dtc_convertor_params_placement(&params);
	preparation->count = count;
	preparation->user_kind = known(placement.user);
	preparation->packed_kind = known(placement.packed);
	preparation->summed_up = params.flags & DTCONV_CONVERTOR_CRC32C;
	preparation->on_stream = placement.on_stream;
	preparation->stream = placement.stream;
	preparation->forbidden = placement.forbidden;
	preparation->typed = params.representation || params.op != DTCONV_OP_REPLACE;
	if (!type)
		return 0;
	preparation->layout = dtc_type_layout(type);
	return check_type(type, count, &params, preparation->caller, &preparation->typed);
}

int dtconv_prepare(struct dtconv_context *context, int device, struct dtconv_type *type,
		   size_t count, const struct dtconv_convertor_params *params)
{
	struct dtc_preparation preparation = { .context = context,
					       .device = device,
					       .caller = __func__ };

	if (!context)
		return DTCONV_ERR_INVAL;
	if (type && type->context != context)
		return DTC_FAIL(context, DTCONV_ERR_INVAL,
				"%s: the type (argument 3) was made in another context",
				__func__);
	int status = describe(context, type, count, params, &preparation);
	if (status)
		return status;
	/* Jobs of the host need nothing but their type. */
	if (preparation.user_kind == DTCONV_MEMORY_HOST &&
	    preparation.packed_kind == DTCONV_MEMORY_HOST)
		return 0;
	return dtc_prepare(&preparation);
}
