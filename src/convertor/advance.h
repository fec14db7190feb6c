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

/*
 * Start moving the next fragment; the flight's events, checksum and number of bytes are set. If it fails with AGAIN,
 * nothing has happened.
 */
int dtc_advance_start(struct dtconv_convertor *convertor, char *packed, size_t bytes,
		      struct dtc_flight *flight, const char *caller);

/* DTCONV_INPROGRESS while the flight's events are to come, then its status. */
int dtc_advance_test(struct dtc_flight *flight);

/* Wait for the flight's events. */
int dtc_advance_wait(struct dtc_flight *flight);

/* The flight's events have come: the convertor takes in its checksum, unless @status is a failure. */
void dtc_advance_end(struct dtconv_convertor *convertor, struct dtc_flight *flight,
		     int status);

/* Fail with TRUNCATE: the caller gave @bytes bytes, but only @moved were left of the stream. */
int dtc_advance_surplus(const struct dtconv_convertor *convertor, size_t bytes,
			size_t moved, const char *caller);

#endif
