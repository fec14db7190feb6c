/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The position of a convertor in its stream.
 */
#ifndef DTC_POSITION_H
#define DTC_POSITION_H

#include "convertor/convertor.h"

/* Move the position back by @bytes. */
void dtc_convertor_seek_back(struct dtconv_convertor *convertor, size_t bytes);

#endif
