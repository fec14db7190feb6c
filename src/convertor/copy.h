/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A copy from one layout to another: its sides, and how it is started.
 */
#ifndef DTC_COPY_H
#define DTC_COPY_H

#include <dtconv/type.h>

#include "convertor/move.h"
#include "datatype/cursor.h"

struct dtc_copy_end {
	const struct dtconv_type *type;
	struct dtc_cursor cursor;
	char *data; /* displacement 0 */
};

struct dtc_copy {
	struct dtc_copy_end source, target;
	enum dtconv_signature_relation relation;
	struct dtc_placement placement; /* of both sides: only its stream counts */
	bool started;                   /* the caller does not wait for it immediately */
	const char *caller;
};

/*
 * Put both cursors at position 0 and compare the signatures, before anything is copied. Fails with INVAL, STATE,
 * OVERFLOW or SIGNATURE. The types are arguments 1 and 4 of the caller.
 */
int dtc_copy_check(struct dtc_copy *copy, size_t source_count, size_t target_count);

/*
 * Start a checked copy by the most direct way that is possible. If its last job is still in flight, @event has a
 * backend. @copied is the number of packed bytes started, valid even if the call fails.
 */
int dtc_copy_start(struct dtc_copy *copy, struct dtc_event *event, size_t *copied);

/* Count a copy that has ended with @status. Fails with TRUNCATE if the target had room for less. */
int dtc_copy_end(const struct dtc_copy *copy, int status, size_t copied);

#endif
