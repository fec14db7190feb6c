/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parameters of a convertor.
 */
#ifndef DTC_PARAMS_H
#define DTC_PARAMS_H

#include "convertor/convertor.h"

/* Read and check @given into @params; NULL are the defaults. */
int dtc_convertor_params_read(struct dtconv_context *context,
			      const struct dtconv_convertor_params *given,
			      const char *caller, struct dtconv_convertor_params *params);

/* Check that there is a function if, and only if, the operation calls one. */
int dtc_params_check_op_fn(struct dtconv_context *context, enum dtconv_op op,
			   dtconv_op_fn op_fn, const char *caller);

/* What they say of memory, stream and backends. */
struct dtc_placement dtc_convertor_params_placement(
	const struct dtconv_convertor_params *params);

/* Check @params and apply them to an idle convertor; see dtconv_convertor_configure. */
int dtc_convertor_configure(struct dtconv_convertor *convertor,
			    const struct dtconv_convertor_params *params,
			    const char *caller);

#endif
