/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A convertor's parameters, checked and taken over.
 */
#ifndef DTC_PARAMS_H
#define DTC_PARAMS_H

#include "convertor/convertor.h"

/* Choose what else an idle convertor does; see dtconv_convertor_configure. */
int dtc_convertor_configure(struct dtconv_convertor *convertor,
			    const struct dtconv_convertor_params *params,
			    const char *caller);

#endif
