/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parameters of a convertor.
 */
#ifndef DTC_PARAMS_H
#define DTC_PARAMS_H

#include "convertor/convertor.h"

/* Check @params and apply them to an idle convertor; see dtconv_convertor_configure. */
int dtc_convertor_configure(struct dtconv_convertor *convertor,
			    const struct dtconv_convertor_params *params,
			    const char *caller);

#endif
