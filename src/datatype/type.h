/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The type object: its constructor's arguments, bounds, signature and, once committed, its
 * layout. Constructors use the functions below.
 */
#ifndef DTC_TYPE_H
#define DTC_TYPE_H

#include <stdatomic.h>
#include <stdbool.h>

#include <dtconv/type.h>

#include "datatype/bounds.h"
#include "datatype/ints.h"

struct dtc_layout;
struct dtc_program;
struct dtc_signature;
struct dtc_type_name;

struct dtconv_type {
	_Atomic size_t references;
	struct dtconv_context *context;
	enum dtconv_combiner combiner;
	enum dtconv_predefined predefined; /* see struct dtconv_type_attr */
	bool immortal;                     /* the context's own; not counted */
	struct dtc_bounds bounds;
	struct dtc_signature *signature;
	_Atomic(struct dtc_layout *) layout; /* NULL until committed */
	struct dtc_program
		*program; /* if the constructor made it; the arguments may be in it */
	struct dtconv_type *next_dead;       /* only while its release is under way */
	void *_Atomic user;                  /* the user's; not looked at */
	struct dtc_type_name *_Atomic name;  /* the current one; it leads to older ones */
	/*
	 * The constructor's arguments, as in struct dtconv_envelope. The leading count of
	 * constructors with arrays is not stored: it is the number of displacements.
	 */
	struct dtc_ints counts;
	struct dtc_ints displacements;
	size_t type_count;
	struct dtconv_type **types; /* holds a reference to each */
};

/* What a constructor computes before it allocates the type. */
struct dtc_type_plan {
	struct dtconv_context *context;
	const char *caller; /* for error texts */
	enum dtconv_combiner combiner;
	struct dtc_bounds bounds;
	size_t count_count;
	unsigned count_width;
	size_t displacement_count;
	unsigned displacement_width;
	size_t type_count;
};

/* Fail with NOMEM for memory of a type's arguments. */
int dtc_type_no_memory(struct dtconv_context *context, const char *caller, size_t bytes);

/*
 * Allocate a type as planned, in one block of memory, without a signature and with empty
 * arrays. Release it with dtconv_type_unref. Fails with NOMEM.
 */
int dtc_type_allocate(const struct dtc_type_plan *plan, struct dtconv_type **type);

/* Append a child and take a reference to it. */
void dtc_type_add_child(struct dtconv_type *type, struct dtconv_type *child);

/*
 * The last step of every constructor: return the type if its signature could be allocated,
 * otherwise release it and fail with NOMEM.
 */
int dtc_type_finish(struct dtconv_type *type, const char *caller, struct dtconv_type **newtype);

/* Pad @bounds if this context pads extents of @combiner; true on overflow. */
bool dtc_type_pad(const struct dtconv_context *context, enum dtconv_combiner combiner,
		  struct dtc_bounds *bounds);

struct dtconv_context *dtc_type_context(const struct dtconv_type *type);

/* Whether the combiner has arrays whose length is its first count. */
bool dtc_combiner_has_arrays(enum dtconv_combiner combiner);

/* The layout of a type; NULL unless committed. */
static inline struct dtc_layout *dtc_type_layout(const struct dtconv_type *type)
{
	return atomic_load_explicit(&((struct dtconv_type *)type)->layout,
				    memory_order_acquire);
}

/* Free all names of a type that is released. */
void dtc_type_drop_names(struct dtconv_type *type);

/* The predefined types of a context: created and destroyed with it. */
int dtc_predefined_create(struct dtconv_context *context);
void dtc_predefined_destroy(struct dtconv_context *context);

#endif
