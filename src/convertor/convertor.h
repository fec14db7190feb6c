/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The structure of a convertor: a type, a cursor over its layout, the user's buffer, and at most one
 * request or any number of flights.
 */
#ifndef DTC_CONVERTOR_H
#define DTC_CONVERTOR_H

#include <stdatomic.h>

#include <dtconv/convertor.h>

#include "convertor/checksum.h"
#include "convertor/flight_state.h"
#include "convertor/move.h"
#include "convertor/typed.h"
#include "copy_backends/backend.h"
#include "datatype/cursor.h"
#include "datatype/type.h"

/* A started operation, from start until the test or wait that reports its completion. */
struct dtc_request {
	bool in_flight;
	int status; /* what start has found; else that of the flight */
	dtconv_done_fn done;
	void *arg;
	struct dtc_flight flight;
};

/* Consecutive packed memory that the last fragments filled or read. */
struct dtc_row {
	uintptr_t end;
	size_t bytes;
};

struct dtconv_convertor {
	struct dtconv_type *type; /* a reference */
	size_t count;
	char *user;
	enum dtc_direction direction;
	bool in_place; /* in storage of the caller's */
	/*
	 * The layout's mover, if the stream is one instance, the convertor is idle, and its parameters
	 * ask for nothing but moving bytes. Then a call at position 0 needs no other check. NULL
	 * otherwise.
	 */
	const struct dtc_mover *mover;
	struct dtc_typed *typed; /* NULL: bytes are moved unchanged */
	struct dtc_checksum checksum; /* of all bytes but those in flight */
	struct dtc_placement placement;
	/* Why dtconv_path said last that the buffer must be staged, or NULL. */
	const char *must_stage;
	struct dtc_row row;
	/* Of the native stream; if typed, only its layout is used. */
	struct dtc_cursor cursor;
	size_t flights; /* in flight, the request's among them */
	struct dtc_flight *in_flight; /* those of a device */
	_Atomic unsigned holds;       /* of its owner, and of an operation of the flow */
	struct dtc_request request;
};

/* Length of the stream and position in it. */
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

/* Create a convertor at position 0. In error messages the type is argument 1 of @caller. */
int dtc_convertor_create(struct dtconv_type *type, size_t count, char *buffer,
			 enum dtc_direction direction, const char *caller,
			 struct dtconv_convertor **convertor);

/* The same in storage that need not be initialised. In error messages the type is @argument. */
int dtc_convertor_init(struct dtconv_convertor *place, struct dtconv_type *type,
		       size_t count, char *buffer, enum dtc_direction direction,
		       const char *caller, const char *argument);

/* Whether neither a request nor a flight is in flight, and no operation of the flow uses it. */
static inline bool dtc_convertor_is_idle(const struct dtconv_convertor *convertor)
{
	return !convertor->request.in_flight && !convertor->flights &&
	       atomic_load_explicit(&convertor->holds, memory_order_relaxed) == 1;
}

/*
 * An operation of the flow uses a convertor that is idle. Until it releases it the convertor is not idle, and its memory
 * stays even if the owner destroys it.
 */
static inline void dtc_convertor_hold(struct dtconv_convertor *convertor)
{
	convertor->mover = NULL;
	atomic_store_explicit(&convertor->holds, 2, memory_order_relaxed);
}

void dtc_convertor_release(struct dtconv_convertor *convertor);

/* Fail with STATE if it is not idle. */
int dtc_convertor_check_idle(const struct dtconv_convertor *convertor, const char *caller);

/*
 * The layout's mover, if the stream is one instance and the parameters ask for nothing but moving bytes by the host. NULL
 * otherwise.
 */
const struct dtc_mover *dtc_convertor_stream_mover(
	const struct dtconv_convertor *convertor);

/* What the member `mover` should be in the present state of the convertor. */
const struct dtc_mover *dtc_convertor_mover(const struct dtconv_convertor *convertor);

#endif
