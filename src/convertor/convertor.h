/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The convertor's inside: a type, a cursor over its layout, the user's buffer, and at most one
 * operation in flight.
 */
#ifndef DTC_CONVERTOR_H
#define DTC_CONVERTOR_H

#include <dtconv/convertor.h>

#include "convertor/checksum.h"
#include "convertor/device.h"
#include "convertor/summing.h"
#include "convertor/typed.h"
#include "copy_backends/backend.h"
#include "datatype/cursor.h"
#include "datatype/type.h"

/* A started operation, from start until the test or wait that reports its end. */
struct dtc_operation {
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
	struct dtc_operation operation;
	/*
	 * The layout's, if the stream is one instance and the convertor is idle and does nothing but
	 * move it: what is at position 0 then needs no other question. NULL otherwise.
	 */
	const struct dtc_mover *mover;
	struct dtc_typed *typed; /* NULL: the bytes of memory are moved as they are */
	struct dtc_checksum checksum;
	struct dtc_summing
		summing; /* of the operation or call, if that is not on the host */
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

/* Whether the stream's length leaves size_t, or a place in the last instance ptrdiff_t. */
bool dtc_convertor_is_too_long(const struct dtc_bounds *bounds, size_t count);

/*
 * Put @cursor at the start of @count instances of @type. Fails with STATE if the type is not
 * committed, with OVERFLOW if the stream's length leaves size_t or a displacement ptrdiff_t.
 * @argument names the type to the caller's user.
 */
int dtc_convertor_aim(struct dtc_cursor *cursor, const struct dtconv_type *type, size_t count,
		      const char *caller, const char *argument);

/* Move at most @bytes from the cursor's position on; @moved is exact also on failure. */
int dtc_convertor_move(struct dtc_cursor *cursor, char *user, char *packed, size_t bytes,
		       enum dtc_direction direction, size_t *moved);

/*
 * The same for bytes as they are, from host memory to host memory, by several threads if that is
 * faster.
 */
int dtc_convertor_move_on_host(const struct dtc_move *move, size_t *moved);

/* Count a call that has moved @bytes. */
void dtc_convertor_count_call(struct dtconv_context *context,
			      enum dtc_direction direction, size_t bytes);

/* A new convertor at position 0. @caller's user gave the type as argument 1. */
int dtc_convertor_create(struct dtconv_type *type, size_t count, char *buffer,
			 enum dtc_direction direction, const char *caller,
			 struct dtconv_convertor **convertor);

/* Choose what else an idle convertor does; see dtconv_convertor_configure. */
int dtc_convertor_configure(struct dtconv_convertor *convertor,
			    const struct dtconv_convertor_params *params,
			    const char *caller);

/* Fail with STATE if an operation is in flight. */
int dtc_convertor_check_idle(const struct dtconv_convertor *convertor, const char *caller);

#endif
