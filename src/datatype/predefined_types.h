/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The predefined types of a context, in one block of memory: types, signatures, programs and
 * layouts. Types of the same size and extent share a layout.
 */
#ifndef DTC_PREDEFINED_TYPES_H
#define DTC_PREDEFINED_TYPES_H

#include <stdalign.h>

#include "base/context.h"
#include "datatype/layout.h"
#include "datatype/program.h"
#include "datatype/signature.h"
#include "datatype/type.h"

/* A pair has at most two runs, and as many nodes; appending asks for room for one more. */
#define DTC_PREDEFINED_OPS   2
#define DTC_PREDEFINED_NODES 3

/* Room for a signature with its nodes. */
struct dtc_predefined_signature {
	alignas(struct dtc_signature) char room
		[sizeof(struct dtc_signature) +
		 DTC_PREDEFINED_NODES * sizeof(struct dtc_signature_node)];
};

/* A layout, and room for its program with the operations. */
struct dtc_predefined_layout {
	struct dtc_layout layout;
	alignas(struct dtc_program) char program[sizeof(struct dtc_program) +
						 DTC_PREDEFINED_OPS *
							 sizeof(struct dtc_op)];
};

struct dtc_predefined_types {
	struct dtconv_type types[DTCONV_PREDEFINED_COUNT];
	struct dtc_predefined_signature signatures[DTCONV_PREDEFINED_COUNT];
	int type_count; /* made so far */
	size_t layout_count;
	struct dtc_predefined_layout layouts[DTCONV_PREDEFINED_COUNT];
};

/* A predefined type; @which has to be a valid one. */
static inline struct dtconv_type *dtc_predefined_type(struct dtconv_context *context,
						      enum dtconv_predefined which)
{
	return &context->predefined->types[which];
}

#endif
