/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The convertor's inside: a type, a cursor over its layout, the user's buffer, and at most one
 * operation in flight.
 */
#ifndef DTC_CONVERTOR_H
#define DTC_CONVERTOR_H

#include <dtconv/convertor.h>

#include "convertor/checksum.h"
#include "convertor/move.h"
#include "convertor/pending_checksum.h"
#include "convertor/typed.h"
#include "copy_backends/backend.h"
#include "datatype/cursor.h"
#include "datatype/type.h"

/* A started operation, from start until the test or wait that reports its end. */
struct dtc_request {
	bool in_flight;
	int status;
	size_t moved;
	dtconv_done_fn done;
	void *arg;
	struct dtc_event event; /* without a backend: the bytes have moved */
};

/* Packed memory that the last fragments have been packed into, or unpacked from, one behind the other. */
struct dtc_row {
	uintptr_t end;
	size_t bytes;
};

struct dtconv_convertor {
	struct dtconv_type *type; /* a reference */
	size_t count;
	char *user;
	enum dtc_direction direction;
	struct dtc_request request;
	/*
	 * The layout's, if the stream is one instance and the convertor is idle and does nothing but
	 * move it: what is at position 0 then needs no other question. NULL otherwise.
	 */
	const struct dtc_mover *mover;
	struct dtc_typed *typed; /* NULL: the bytes of memory are moved as they are */
	struct dtc_checksum checksum;
	struct dtc_pending_checksum
		pending_checksum; /* of the operation or call, if that is not on the host */
	struct dtc_placement placement;
	struct dtc_row row;
	struct dtc_cursor
		cursor; /* of the native stream; only its layout counts if typed */
};

/* Length of the stream and the place in it. */
static inline size_t dtc_convertor_size(const struct dtconv_convertor *convertor)
{
	return (size_t)(convertor->typed ? convertor->typed->size
					 : convertor->cursor.size);
}

static inline size_t dtc_convertor_position(const struct dtconv_convertor *convertor)
{
	return (size_t)(convertor->typed ? convertor->typed->position
					 : convertor->cursor.position);
}

/* A new convertor at position 0. @caller's user gave the type as argument 1. */
int dtc_convertor_create(struct dtconv_type *type, size_t count, char *buffer,
			 enum dtc_direction direction, const char *caller,
			 struct dtconv_convertor **convertor);

/* Fail with STATE if an operation is in flight. */
int dtc_convertor_check_idle(const struct dtconv_convertor *convertor, const char *caller);

/* The mover of the stream as the convertor is now; see the member. */
const struct dtc_mover *dtc_convertor_mover(const struct dtconv_convertor *convertor);

#endif
