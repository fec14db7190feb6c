/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moves elements instead of bytes: conversion between representations, and operations. The signature
 * gives the elements; cursor and backends are those of native moves. Between them is a window in the
 * first-level cache.
 */
#ifndef DTC_TYPED_H
#define DTC_TYPED_H

#include <dtconv/convertor.h>

#include "convertor/move.h"
#include "convertor/partial_elements.h"
#include "datatype/cursor.h"
#include "datatype/walk.h"
#include "kernels/cpu/kernels.h"
#include "kernels/launch/typed.h"
#include "kernels/numbers/convert.h"

/*
 * The smallest thing that is moved as a whole: an element, or for MINLOC and MAXLOC a couple of a value
 * and its index.
 */
struct dtc_unit {
	enum dtconv_predefined basic; /* couples: of the value */
	size_t native_bytes;
	size_t wire_bytes;
	uint64_t native_position; /* of the current one */
	uint64_t wire_position;
	uint64_t left; /* equal ones, from the current one on */
};

struct dtc_typed {
	struct dtconv_type *type; /* the convertor's */
	uint64_t count;
	struct dtc_representation representation;
	bool native;
	struct dtc_conversion to_wire[DTCONV_PREDEFINED_COUNT];
	enum dtconv_op op;
	dtconv_op_fn op_fn;
	void *op_arg;
	bool couples;
	enum dtconv_predefined index; /* couples: of the second member */
	struct dtc_unit couple;
	uint64_t size;         /* of the wire stream */
	uint64_t position;     /* in it */
	struct dtc_walk_sizes *sizes; /* NULL if native */
	struct dtc_walk walk; /* at the element of the position; unused for couples */
	struct dtc_partial_elements partial;
	/* The parameters of device kernels; NULL until a device moves the stream. */
	struct dtc_gpu_units *units;
};

/* Both ends of a typed move. */
struct dtc_typed_move {
	/* Of the native stream; its position afterwards is unspecified. */
	struct dtc_cursor *cursor;
	char *user;
	char *packed;
	size_t bytes;
	const char *caller;
	/* How to access the user's device memory; NULL: it is host memory. */
	const struct dtc_move *device_move;
};

/*
 * Create the typed state of @count instances of @type from checked parameters. @typed becomes NULL if the
 * parameters need none. Fails as dtconv_convertor_configure does.
 */
int dtc_typed_create(struct dtconv_type *type, uint64_t count,
		     const struct dtconv_convertor_params *params, const char *caller,
		     struct dtc_typed **typed);
void dtc_typed_destroy(struct dtc_typed *typed);

/* Keep the parameters, bind other instances. A failure changes nothing. */
int dtc_typed_rebind(struct dtc_typed *typed, struct dtconv_type *type, uint64_t count,
		     const char *caller);

/* Fails with NOMEM. */
int dtc_typed_clone(const struct dtc_typed *typed, struct dtc_typed **clone);

void dtc_typed_seek(struct dtc_typed *typed, uint64_t position);

/* The start of the unit at the position; at the end of the stream, the position. */
uint64_t dtc_typed_boundary(const struct dtc_typed *typed);

/* The same for @position, which becomes the position. */
uint64_t dtc_typed_boundary_at(struct dtc_typed *typed, uint64_t position);

/* The bytes of that unit in the stream. */
size_t dtc_typed_unit_bytes(const struct dtc_typed *typed);

/* Cuts at multiples of this divide no unit that a move in @direction has to move as a whole. */
size_t dtc_typed_granularity(const struct dtc_typed *typed, enum dtc_direction direction);

/* Move at most what is left of the stream. @moved is valid even if the call fails. */
int dtc_typed_pack(struct dtc_typed *typed, const struct dtc_typed_move *move,
		   size_t *moved);
int dtc_typed_unpack(struct dtc_typed *typed, const struct dtc_typed_move *move,
		     size_t *moved);

#endif
