/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moving the next bytes of a convertor's stream, at once or started.
 */
#ifndef DTC_ADVANCE_H
#define DTC_ADVANCE_H

#include "convertor/convertor.h"

/* Move the next fragment. @moved is valid even if the call fails. */
int dtc_advance(struct dtconv_convertor *convertor, char *packed, size_t bytes,
		size_t *moved, const char *caller);

/* Start moving the next fragment as the convertor's request, which holds the number of bytes. */
int dtc_advance_start(struct dtconv_convertor *convertor, char *packed, size_t bytes,
		      const char *caller);

/* DTCONV_INPROGRESS while the convertor's request is in flight, then its status. */
int dtc_advance_test(struct dtconv_convertor *convertor);

/* Wait for @event and for the checksum of its bytes. */
int dtc_advance_wait(struct dtconv_convertor *convertor, struct dtc_event *event);

/* Take in the checksum that was in flight; if @status is a failure, restore the one from before. */
void dtc_advance_end(struct dtconv_convertor *convertor, int status);

/* Fail with TRUNCATE: the caller gave @bytes bytes, but only @moved were left of the stream. */
int dtc_advance_surplus(const struct dtconv_convertor *convertor, size_t bytes,
			size_t moved, const char *caller);

#endif
