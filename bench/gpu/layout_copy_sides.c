/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The memory of a copy and its judge: the oracle packs the source on the host and unpacks into what the target
 * held before; the device's memory must then be the same, gaps and guards included.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/gpu/layout_copy.h"
#include "bench/harness/arena.h"
#include "bench/harness/oracle.h"

#define LINE 64u

/* ---- memory ---------------------------------------------------------------------------- */

static bool place_side(struct copy_side *side, struct gpu *gpu, enum gpu_role role,
		       uint64_t seed)
{
	const struct bench_case *c = &side->c;

	side->zero = ARENA_GUARD + (c->below + LINE - 1) / LINE * LINE;
	side->region_bytes =
		(side->zero + c->arena_bytes + ARENA_GUARD + LINE - 1) / LINE * LINE;
	side->host = malloc(side->region_bytes);
	side->device = gpu_memory(gpu, side->place, role, side->region_bytes);
	if (!side->host || !side->device)
		return false;
	pattern_fill(side->host, side->region_bytes, seed);
	return true;
}

static int expect(struct layout_copy *copy)
{
	unsigned char *packed = malloc(copy->bytes);
	struct oracle *source = NULL, *target = NULL;
	int status = packed ? 0 : DTCONV_ERR_NOMEM;

	if (!status)
		status =
			oracle_create(copy->source.c.type, copy->source.c.count, &source);
	if (!status)
		status =
			oracle_create(copy->target.c.type, copy->target.c.count, &target);
	if (!status) {
		memcpy(copy->expected, copy->target.host, copy->target.region_bytes);
		oracle_pack(source, copy->source.host + copy->source.zero, packed);
		oracle_unpack(target, copy->expected + copy->target.zero, packed);
	}
	oracle_destroy(source);
	oracle_destroy(target);
	free(packed);
	return status;
}

/* Between the two kernels of a pack and an unpack. */
static bool place_packed(struct layout_copy *copy)
{
	struct gpu *gpu = copy->gpu;

	copy->packed = gpu_memory(gpu, copy->source.place, ROLE_PACKED, copy->bytes);
	if (copy->by != copy->to)
		copy->delivered = gpu_memory(gpu, copy->target.place, ROLE_OTHER_PACKED,
					     copy->bytes);
	return copy->packed && (copy->by == copy->to || copy->delivered);
}

int layout_copy_open(struct layout_copy *copy, struct gpu *gpu, uint64_t seed, char *why,
		     size_t room)
{
	copy->gpu = gpu;
	copy->by = gpu_at(gpu, copy->source.place);
	copy->to = gpu_at(gpu, copy->target.place);
	copy->bytes = copy->source.c.bytes;
	snprintf(why, room, "no memory for both sides");
	if (!copy->by || !copy->to || !place_side(&copy->source, gpu, ROLE_USER, seed) ||
	    !place_side(&copy->target, gpu, ROLE_FLAT, ~seed))
		return -1;
	copy->expected = malloc(copy->target.region_bytes);
	if (!place_packed(copy) || !copy->expected || expect(copy))
		return -1;
	snprintf(why, room, "%s", gpu->problem);
	return gpu_copy(gpu, copy->source.device, copy->source.host,
			copy->source.region_bytes)
		       ? 0
		       : -1;
}

void layout_copy_share(struct copy_side *side, const struct copy_side *whole)
{
	side->place = whole->place;
	side->region_bytes = whole->region_bytes;
	side->zero = whole->zero;
	side->host = whole->host;
	side->device = whole->device;
}

int layout_copy_open_back(struct layout_copy *copy, struct layout_copy *back, char *why,
			  size_t room)
{
	back->gpu = copy->gpu;
	back->by = copy->to;
	back->to = copy->by;
	back->bytes = back->source.c.bytes;
	back->borrows = true;
	layout_copy_share(&back->source, &copy->target);
	layout_copy_share(&back->target, &copy->source);
	back->expected = malloc(back->target.region_bytes);
	snprintf(why, room, "no memory for the way back");
	if (!back->expected || expect(back))
		return -1;
	copy->back = back;
	back->back = copy;
	return 0;
}

void layout_copy_close(struct layout_copy *copy)
{
	if (!copy->borrows) {
		free(copy->source.host);
		free(copy->target.host);
	}
	free(copy->expected);
	bench_case_release(&copy->source.c);
	bench_case_release(&copy->target.c);
	memset(copy, 0, sizeof(*copy));
}

/* ---- judging --------------------------------------------------------------------------- */

static bool is_same(struct gpu *gpu, const unsigned char *device,
		    const unsigned char *expected, unsigned char *room, size_t bytes)
{
	return gpu_copy(gpu, room, device, bytes) && !memcmp(room, expected, bytes);
}

static int judge(struct layout_copy *copy, struct engine *e, unsigned char *room)
{
	const struct copy_side *source = &copy->source, *target = &copy->target;
	size_t bytes = e->raw ? copy->bytes : target->region_bytes;

	if (!is_same(copy->gpu, target->device, e->raw ? source->host : copy->expected,
		     room, bytes))
		engine_problem(e, "wrong bytes in the target or its gaps");
	else if (!copy->back && !is_same(copy->gpu, source->device, source->host, room,
					 source->region_bytes))
		engine_problem(e, "changed the source");
	else
		return 0;
	return -1;
}

/* The source of a copy with a way back is judged as the target of that. */
static int run_and_judge(struct layout_copy *copy, struct engine *e, unsigned char *room)
{
	double ns;

	if (engine_run(e, BENCH_PACK, 0, 1, &ns) || judge(copy, e, room))
		return -1;
	return copy->back ? judge(copy->back, e, room) : 0;
}

static bool renew_target(struct layout_copy *copy)
{
	return gpu_copy(copy->gpu, copy->target.device, copy->target.host,
			copy->target.region_bytes);
}

int layout_copy_verify(struct layout_copy *copy, struct engine *e)
{
	size_t bytes = copy->source.region_bytes > copy->target.region_bytes
			       ? copy->source.region_bytes
			       : copy->target.region_bytes;
	unsigned char *room = malloc(bytes);
	int failed = -1;

	if (!room)
		engine_problem(e, "no memory to compare in");
	else if (!renew_target(copy) || (copy->back && !renew_target(copy->back)))
		engine_problem(e, "%s", copy->gpu->problem);
	else
		failed = run_and_judge(copy, e, room);
	free(room);
	return failed;
}
