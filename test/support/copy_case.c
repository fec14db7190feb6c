/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes types of a given signature, and writes a typed case's stream to where such a type says.
 */
#include "config.h"

#include "support/copy_case.h"

#include <stdlib.h>
#include <string.h>

#include "support/fixture.h"
#include "support/ref_typemap.h"

#define GUARD 64 /* bytes of a typed case's memory beyond what it uses, three times */

/* ---- types ----------------------------------------------------------------------------- */

/* Places for so many elements: random order in memory, random gaps, nothing shared. */
static void scatter(const struct ref_typemap *typemap, struct choices *choices,
		    ptrdiff_t displacements[])
{
	size_t *order = calloc(typemap->count + 1, sizeof(order[0]));
	ptrdiff_t at = choose_between(choices, -64, 64);

	ck_assert_ptr_nonnull(order);
	for (size_t i = 0; i < typemap->count; i++) {
		size_t other = choose(choices, i + 1);

		order[i] = order[other];
		order[other] = i;
	}
	for (size_t i = 0; i < typemap->count; i++) {
		displacements[order[i]] = at;
		at += typemap->entries[order[i]].size + (ptrdiff_t)choose(choices, 9);
	}
	free(order);
}

static void line_up(const struct ref_typemap *typemap, ptrdiff_t displacements[])
{
	ptrdiff_t at = 0;

	for (size_t i = 0; i < typemap->count; i++) {
		displacements[i] = at;
		at += typemap->entries[i].size;
	}
}

/* Without choices the elements have no gaps. */
static struct dtconv_type *of_signature(const struct dtconv_type *type,
					struct choices *choices)
{
	struct ref_typemap typemap = { .count = 0 };
	struct dtconv_type **types, *made = NULL;
	ptrdiff_t *displacements;
	size_t *lengths;

	ck_assert(!ref_typemap_build(type, DTCONV_PADDING_STRUCT, 0, &typemap));
	types = calloc(typemap.count + 1, sizeof(types[0]));
	displacements = calloc(typemap.count + 1, sizeof(displacements[0]));
	lengths = calloc(typemap.count + 1, sizeof(lengths[0]));
	ck_assert(types && displacements && lengths);
	if (choices)
		scatter(&typemap, choices, displacements);
	else
		line_up(&typemap, displacements);
	for (size_t i = 0; i < typemap.count; i++) {
		lengths[i] = 1;
		types[i] = dtconv_type_predefined(
			fixture_context,
			(enum dtconv_predefined)typemap.entries[i].basic);
	}
	fixture_ok(dtconv_type_create_struct(fixture_context, typemap.count, lengths,
					     displacements, types, &made));
	free(types);
	free(displacements);
	free(lengths);
	ref_typemap_free(&typemap);
	return made;
}

struct dtconv_type *copy_scattered(const struct dtconv_type *type,
				   struct choices *choices)
{
	return of_signature(type, choices);
}

struct dtconv_type *copy_dense(const struct dtconv_type *type)
{
	struct dtconv_type *members = of_signature(type, NULL), *made;

	fixture_ok(dtconv_type_create_resized(
		members, 0, (ptrdiff_t)fixture_attr(members).size, &made));
	dtconv_type_unref(members);
	return made;
}

/* ---- cases ----------------------------------------------------------------------------- */

static struct dtconv_type *source_type(struct dtconv_type *type, enum copy_source source,
				       struct choices *choices)
{
	if (source == COPY_ALIKE)
		return dtconv_type_ref(type);
	return source == COPY_DENSE ? copy_dense(type) : copy_scattered(type, choices);
}

bool copy_case_open(struct copy_case *cc, struct dtconv_type *type, size_t count,
		    enum dtconv_op op, enum copy_source source, struct choices *choices)
{
	if (!typed_case_open(&cc->tc, type, count, NULL, op, choices))
		return false;
	struct dtconv_type *from = source_type(type, source, choices);

	if (stage_open(&cc->from, from, count, choose(choices, 64), 0, 1)) {
		dtconv_type_unref(from);
		typed_case_close(&cc->tc);
		return false;
	}
	ck_assert_uint_eq(cc->from.bytes, cc->tc.bytes);
	for (size_t i = 0; i < cc->tc.bytes; i++)
		cc->from.source[cc->from.map[i]] = cc->tc.wire[i];
	return true;
}

void copy_case_close(struct copy_case *cc)
{
	struct dtconv_type *from = cc->from.type;

	stage_close(&cc->from);
	dtconv_type_unref(from);
	typed_case_close(&cc->tc);
}

size_t copy_case_target_bytes(const struct copy_case *cc)
{
	return cc->tc.span + 3 * (size_t)GUARD;
}

void copy_case_restart(struct copy_case *cc, struct choices *choices)
{
	typed_case_restart(&cc->tc, choices);
}

void copy_case_must_be_right(struct copy_case *cc, size_t bytes)
{
	ptrdiff_t wrong = 0;

	typed_case_arrived(&cc->tc, 0, bytes);
	ck_assert_msg(typed_case_is_right(&cc->tc, &wrong),
		      "%s: the byte at displacement %td is wrong",
		      dtconv_op_name(cc->tc.op), wrong);
}

/* ---- ranges ---------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
	const size_t *left = a, *right = b;

	return (*left > *right) - (*left < *right);
}

size_t copy_ranges(struct copy_range ranges[COPY_RANGES], size_t bytes,
		   struct choices *choices)
{
	size_t cuts[COPY_RANGES + 1] = { 0 };
	size_t count = 1 + choose(choices, COPY_RANGES);

	for (size_t i = 1; i < count; i++)
		cuts[i] = choose(choices, bytes + 1);
	cuts[count] = bytes;
	qsort(cuts, count + 1, sizeof(cuts[0]), compare);
	for (size_t i = 0; i < count; i++) {
		size_t other = choose(choices, i + 1);

		ranges[i] = ranges[other];
		ranges[other] = (struct copy_range){ cuts[i], cuts[i + 1] - cuts[i] };
	}
	return count;
}
