/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moving the next bytes of a convertor's stream, at once or started.
 */
#ifndef DTC_ADVANCE_H
#define DTC_ADVANCE_H

#include "convertor/convertor.h"

/* Move the next fragment, whatever the convertor does with it; @moved is exact also on failure. */
int dtc_advance(struct dtconv_convertor *convertor, char *packed, size_t bytes,
		size_t *moved, const char *caller);

/* Start it, as the convertor's operation, which says how much that is. */
int dtc_advance_start(struct dtconv_convertor *convertor, char *packed, size_t bytes,
		      const char *caller);

/* Whether the convertor's operation is still in flight; else its status. */
int dtc_advance_test(struct dtconv_convertor *convertor);

/* Wait for @event and the checksum of what it moves. Nothing is in flight after. */
int dtc_advance_wait(struct dtconv_convertor *convertor, struct dtc_event *event);

/* What of a checksum was in flight counts, or nothing of the whole call does. */
void dtc_advance_end(struct dtconv_convertor *convertor, int status);

/* Fail with TRUNCATE: of @bytes bytes to unpack only @moved had room. */
int dtc_advance_surplus(const struct dtconv_convertor *convertor, size_t bytes,
			size_t moved, const char *caller);

#endif
