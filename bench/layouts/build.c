/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Creates types with one status check at the end. Consumes the types it is given, so that
 * nested calls leak nothing.
 */
#include "config.h"

#include "bench/layouts/layout.h"

#include <stdlib.h>
#include <string.h>

/* Whether a call may proceed; if not, release the types given to it. */
static bool ready(struct bench_build *b, struct dtconv_type *old)
{
	if (!b->status && old)
		return true;
	dtconv_type_unref(old);
	return false;
}

static struct dtconv_type *keep(struct bench_build *b, int status,
				struct dtconv_type *old, struct dtconv_type *made)
{
	dtconv_type_unref(old);
	if (status && !b->status)
		b->status = status;
	return status ? NULL : made;
}

struct dtconv_type *build_named(struct bench_build *b, enum dtconv_predefined which)
{
	return dtconv_type_predefined(b->context, which);
}

struct dtconv_type *build_contiguous(struct bench_build *b, size_t count,
				     struct dtconv_type *old)
{
	struct dtconv_type *made = NULL;
	int status;

	if (!ready(b, old))
		return NULL;
	status = dtconv_type_create_contiguous(count, old, &made);
	return keep(b, status, old, made);
}

struct dtconv_type *build_vector(struct bench_build *b, size_t count, size_t blocklength,
				 ptrdiff_t stride, struct dtconv_type *old)
{
	struct dtconv_type *made = NULL;
	int status;

	if (!ready(b, old))
		return NULL;
	status = dtconv_type_create_vector(count, blocklength, stride, old, &made);
	return keep(b, status, old, made);
}

struct dtconv_type *build_hvector(struct bench_build *b, size_t count, size_t blocklength,
				  ptrdiff_t stride, struct dtconv_type *old)
{
	struct dtconv_type *made = NULL;
	int status;

	if (!ready(b, old))
		return NULL;
	status = dtconv_type_create_hvector(count, blocklength, stride, old, &made);
	return keep(b, status, old, made);
}

struct dtconv_type *build_resized(struct bench_build *b, struct dtconv_type *old,
				  ptrdiff_t lb, size_t extent)
{
	struct dtconv_type *made = NULL;
	int status;

	if (!ready(b, old))
		return NULL;
	status = dtconv_type_create_resized(old, lb, (ptrdiff_t)extent, &made);
	return keep(b, status, old, made);
}

struct dtconv_type *build_indexed(struct bench_build *b, size_t count,
				  const size_t *lengths, const ptrdiff_t *displacements,
				  struct dtconv_type *old)
{
	struct dtconv_type *made = NULL;
	int status;

	if (!ready(b, old))
		return NULL;
	status = dtconv_type_create_indexed(count, lengths, displacements, old, &made);
	return keep(b, status, old, made);
}

struct dtconv_type *build_hindexed(struct bench_build *b, size_t count,
				   const size_t *lengths, const ptrdiff_t *displacements,
				   struct dtconv_type *old)
{
	struct dtconv_type *made = NULL;
	int status;

	if (!ready(b, old))
		return NULL;
	status = dtconv_type_create_hindexed(count, lengths, displacements, old, &made);
	return keep(b, status, old, made);
}

struct dtconv_type *build_subarray(struct bench_build *b, size_t ndims,
				   const size_t *sizes, const size_t *subsizes,
				   const size_t *starts, struct dtconv_type *old)
{
	struct dtconv_type *made = NULL;
	int status;

	if (!ready(b, old))
		return NULL;
	status = dtconv_type_create_subarray(ndims, sizes, subsizes, starts,
					     DTCONV_ORDER_C, old, &made);
	return keep(b, status, old, made);
}

struct dtconv_type *build_struct(struct bench_build *b, size_t count,
				 const ptrdiff_t *displacements,
				 struct dtconv_type *const *members)
{
	size_t *ones = build_alloc(b, count, sizeof(*ones));
	struct dtconv_type *made = NULL;

	for (size_t i = 0; ones && i < count; i++)
		ones[i] = 1;
	if (!b->status)
		b->status = dtconv_type_create_struct(b->context, count, ones,
						      displacements, members, &made);
	for (size_t i = 0; i < count; i++)
		dtconv_type_unref(members[i]);
	free(ones);
	return made;
}

struct dtconv_type *build_picked(struct bench_build *b, size_t count, size_t blocklength,
				 const uint32_t *list, struct dtconv_type *old)
{
	ptrdiff_t *displacements = build_alloc(b, count, sizeof(*displacements));
	struct dtconv_type *made = NULL;
	int status;

	if (!ready(b, old)) {
		free(displacements);
		return NULL;
	}
	for (size_t i = 0; i < count; i++)
		displacements[i] = (ptrdiff_t)(blocklength * list[i]);
	status = dtconv_type_create_indexed_block(count, blocklength, displacements, old,
						  &made);
	free(displacements);
	return keep(b, status, old, made);
}

void *build_alloc(struct bench_build *b, size_t count, size_t bytes)
{
	void *memory = b->status ? NULL : calloc(count ? count : 1, bytes);

	if (!memory && !b->status)
		b->status = DTCONV_ERR_NOMEM;
	return memory;
}

struct hand_loop build_loop(hand_pack_fn pack, hand_unpack_fn unpack, void *shape)
{
	return (struct hand_loop){
		.pack = pack, .unpack = unpack, .shape = shape, .instances = 1
	};
}

size_t build_times(size_t target, size_t packed)
{
	size_t times = target ? (target + packed / 2) / packed : 1;

	return times ? times : 1;
}

int build_repeat(struct bench_build *b, struct bench_case *c, struct dtconv_type *type,
		 size_t arrays_bytes, size_t packed, size_t target)
{
	c->count = build_times(target, packed);
	if (c->count > 1)
		type = build_resized(b, type, 0, arrays_bytes);
	c->type = type;
	c->arena_bytes = c->count * arrays_bytes;
	c->hand.instances = c->count;
	c->hand.instance_bytes = arrays_bytes;
	c->hand.packed_bytes = packed;
	return b->status;
}

int build_once(struct bench_build *b, struct bench_case *c, struct dtconv_type *type,
	       size_t count, size_t arena_bytes)
{
	c->type = type;
	c->count = count;
	c->arena_bytes = arena_bytes;
	return b->status;
}
