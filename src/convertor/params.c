/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads and checks a convertor's parameters, and applies all of them or none.
 */
#include "config.h"

#include "params.h"

#include <string.h>

#include "base/base.h"
#include "base/context.h"
#include "base/log.h"
#include "copy_backends/backend_set.h"

/* The caller's parameters; members that an older caller does not have get their defaults. */
static int read_params(struct dtconv_context *context,
		       const struct dtconv_convertor_params *given, const char *caller,
		       struct dtconv_convertor_params *params)
{
	*params = (struct dtconv_convertor_params){ .struct_size = sizeof(*params) };
	if (!given)
		return 0;
	if (given->struct_size == 0)
		return DTC_FAIL_STRUCT_SIZE(context, caller, "params", "dtconv_convertor_params");
	memcpy(params, given, DTC_MIN(given->struct_size, sizeof(*params)));
	return 0;
}

int dtc_params_check_op_fn(struct dtconv_context *context, enum dtconv_op op,
			   dtconv_op_fn op_fn, const char *caller)
{
	if (op == DTCONV_OP_USER && !op_fn)
		return DTC_FAIL(context, DTCONV_ERR_INVAL,
				"%s: params.op is user, but params.op_fn is NULL",
				caller);
	if (op != DTCONV_OP_USER && op_fn)
		return DTC_FAIL(context, DTCONV_ERR_INVAL,
				"%s: params.op_fn is set, but params.op is not user",
				caller);
	return 0;
}

static int check_kind(struct dtconv_context *context, enum dtconv_memory_kind kind,
		      const char *member, const char *caller)
{
	if ((unsigned)kind <= DTCONV_MEMORY_DEVICE)
		return 0;
	return DTC_FAIL(context, DTCONV_ERR_INVAL,
			"%s: params.%s is %d, not a value of enum "
			"dtconv_memory_kind",
			caller, member, (int)kind);
}

static int check_backends(struct dtconv_context *context,
			  const struct dtconv_convertor_params *params,
			  const char *caller)
{
	dtc_backend_set forbidden;
	const char *wrong;

	if (!params->backends ||
	    dtc_backend_set_parse(params->backends, &forbidden, &wrong))
		return 0;
	return DTC_FAIL(context, DTCONV_ERR_INVAL,
			"%s: params.backends is '%.60s', with an unknown backend at "
			"'%.40s'; 'dtconv info' lists those of this build",
			caller, params->backends, wrong);
}

static int check_params(struct dtconv_context *context,
			const struct dtconv_convertor_params *params, const char *caller)
{
	const unsigned known = DTCONV_CONVERTOR_CRC32C | DTCONV_CONVERTOR_STREAM;
	int status = 0;

	if (params->flags & ~known)
		return DTC_FAIL(context, DTCONV_ERR_INVAL,
				"%s: params.flags has unknown bits: 0x%x", caller,
				params->flags);
	if (params->stream && !(params->flags & DTCONV_CONVERTOR_STREAM))
		status = DTC_FAIL(context, DTCONV_ERR_INVAL,
				  "%s: params.stream is set, but params.flags lacks "
				  "DTCONV_CONVERTOR_STREAM",
				  caller);
	if (!status)
		status = check_kind(context, params->user_memory, "user_memory", caller);
	if (!status)
		status = check_kind(context, params->packed_memory, "packed_memory",
				    caller);
	if (!status)
		status = check_backends(context, params, caller);
	return status ? status
		      : dtc_params_check_op_fn(context, params->op, params->op_fn,
					       caller);
}

/* The set of a list that has been checked. */
static dtc_backend_set forbidden_of(const struct dtconv_convertor_params *params)
{
	dtc_backend_set forbidden = 0;
	const char *wrong;

	if (params->backends)
		(void)dtc_backend_set_parse(params->backends, &forbidden, &wrong);
	return forbidden;
}

struct dtc_placement dtc_convertor_params_placement(
	const struct dtconv_convertor_params *params)
{
	return (struct dtc_placement){ .user = params->user_memory,
				       .packed = params->packed_memory,
				       .on_stream = params->flags &
						    DTCONV_CONVERTOR_STREAM,
				       .stream = params->stream,
				       .forbidden = forbidden_of(params) };
}

int dtc_convertor_params_read(struct dtconv_context *context,
			      const struct dtconv_convertor_params *given,
			      const char *caller, struct dtconv_convertor_params *params)
{
	int status = read_params(context, given, caller, params);

	return status ? status : check_params(context, params, caller);
}

int dtc_convertor_configure(struct dtconv_convertor *convertor,
			    const struct dtconv_convertor_params *params,
			    const char *caller)
{
	struct dtconv_context *context = convertor->type->context;
	struct dtconv_convertor_params all;
	struct dtc_typed *typed;

	int status = dtc_convertor_params_read(context, params, caller, &all);
	if (!status)
		status = dtc_typed_create(convertor->type, convertor->count, &all, caller,
					  &typed);
	if (status)
		return status;
	dtc_typed_destroy(convertor->typed);
	convertor->typed = typed;
	convertor->checksum.on = all.flags & DTCONV_CONVERTOR_CRC32C;
	convertor->placement = dtc_convertor_params_placement(&all);
	convertor->must_stage = NULL;
	dtc_checksum_reset(&convertor->checksum);
	dtc_cursor_seek(&convertor->cursor, 0);
	convertor->mover = dtc_convertor_mover(convertor);
	return 0;
}

int dtconv_convertor_configure(struct dtconv_convertor *convertor,
			       const struct dtconv_convertor_params *params)
{
	if (!convertor)
		return DTCONV_ERR_INVAL;
	int status = dtc_convertor_check_idle(convertor, __func__);

	return status ? status : dtc_convertor_configure(convertor, params, __func__);
}
