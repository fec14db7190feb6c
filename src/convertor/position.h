/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A convertor's place in its stream.
 */
#ifndef DTC_POSITION_H
#define DTC_POSITION_H

#include "convertor/convertor.h"

/* Go back by @bytes, which the convertor has moved. */
void dtc_convertor_seek_back(struct dtconv_convertor *convertor, size_t bytes);

#endif
