/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moving elements rather than bytes: conversion to and from another representation, and
 * operations. Elements come from the type's signature, bytes from the same cursor and
 * backends that move native streams; between them is a buffer that stays in the first cache.
 */
#ifndef DTC_TYPED_H
#define DTC_TYPED_H

#include <dtconv/convertor.h>

#include "convertor/move.h"
#include "convertor/partial_elements.h"
#include "datatype/cursor.h"
#include "datatype/walk.h"
#include "kernels/convert.h"
#include "kernels/cpu.h"
#include "kernels/gpu_typed.h"

/*
 * What is moved as a whole: an element, or a couple of them for the operations that take a
 * value and its index.
 */
struct dtc_unit {
	enum dtconv_predefined basic; /* couples: of the value */
	size_t native_bytes;
	size_t wire_bytes;
	uint64_t native_position; /* of the current one */
	uint64_t wire_position;
	uint64_t left; /* alike, from the current one on */
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
	struct dtc_walk
		walk; /* at the element that holds the position; unused for couples */
	struct dtc_partial_elements partial;
	struct dtc_gpu_units
		*units; /* what a device is told; NULL until one moves the stream */
};

/* A move's two ends and its status's context. */
struct dtc_typed_move {
	struct dtc_cursor
		*cursor; /* of the native stream; its position is left anywhere */
	char *user;
	char *packed;
	size_t bytes;
	const char *caller;
	const struct dtc_move
		*device_move; /* how to reach the user's memory; NULL: as the host's */
};

/*
 * Prepare for @count instances of @type by checked parameters. @typed becomes NULL if they ask for
 * nothing that needs it. Fails as dtconv_convertor_configure does.
 */
int dtc_typed_create(struct dtconv_type *type, uint64_t count,
		     const struct dtconv_convertor_params *params, const char *caller,
		     struct dtc_typed **typed);
void dtc_typed_destroy(struct dtc_typed *typed);

/* The same parameters for other instances; on failure nothing has changed. */
int dtc_typed_rebind(struct dtc_typed *typed, struct dtconv_type *type, uint64_t count,
		     const char *caller);

/* Fails with NOMEM. */
int dtc_typed_clone(const struct dtc_typed *typed, struct dtc_typed **clone);

void dtc_typed_seek(struct dtc_typed *typed, uint64_t position);

/* Where the unit begins that holds the position; the position itself at the end. */
uint64_t dtc_typed_boundary(const struct dtc_typed *typed);

/* Bytes of that unit in the stream. */
size_t dtc_typed_unit_bytes(const struct dtc_typed *typed);

/* Move at most what is left of the stream; @moved is exact also on failure. */
int dtc_typed_pack(struct dtc_typed *typed, const struct dtc_typed_move *move,
		   size_t *moved);
int dtc_typed_unpack(struct dtc_typed *typed, const struct dtc_typed_move *move,
		     size_t *moved);

#endif
