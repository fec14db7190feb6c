/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The position of a convertor in its stream.
 */
#ifndef DTC_POSITION_H
#define DTC_POSITION_H

#include "convertor/convertor.h"

/* Set the position, which is not past the end. */
void dtc_convertor_go_to(struct dtconv_convertor *convertor, size_t position);

#endif
