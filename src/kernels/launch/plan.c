/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chooses the kernel, the grid and the parameters.
 */
#include "config.h"

#include "launch.h"

#include <string.h>

#include <dtconv/status.h>

#include "base/base.h"
#include "base/checked.h"
#include "classes.h"
#include "magic.h"
#include "nest.h"
#include "shape.h"

_Static_assert(sizeof(struct dtc_gpu_periodic_params) <= DTC_GPU_PARAMS_BYTES, "too long");
_Static_assert(sizeof(struct dtc_gpu_many_params) <= DTC_GPU_PARAMS_BYTES, "too long");

/* The words of a part, whichever kind it is. */
#define IS_WORD(member, word)                                                      \
	_Static_assert(offsetof(struct dtc_gpu_part, u.nest.member) == 8 * (word), \
		       "moved");                                                   \
	_Static_assert(offsetof(struct dtc_gpu_part, u.walk.member) == 8 * (word), \
		       "moved")
IS_WORD(user, DTC_GPU_WORD_USER);
IS_WORD(packed, DTC_GPU_WORD_PACKED);
IS_WORD(begin, DTC_GPU_WORD_BEGIN);
IS_WORD(end, DTC_GPU_WORD_END);

/* ---- names -------------------------------------------------------------------------------------- */

struct entry {
	const char *name;
	size_t params_bytes;
};

#define PREFIX "dtc_gpu_"

#define DTC_GPU_ENTRY1(name, params, a)       { PREFIX #name, sizeof(struct params) },
#define DTC_GPU_ENTRY2(name, params, a, b)    { PREFIX #name, sizeof(struct params) },
#define DTC_GPU_ENTRY3(name, params, a, b, c) { PREFIX #name, sizeof(struct params) },
static const struct entry entries[] = {
#include "kernels/gpu/list.h"
};
#undef DTC_GPU_ENTRY1
#undef DTC_GPU_ENTRY2
#undef DTC_GPU_ENTRY3

#define DTC_GPU_ENTRY1(name, params, a)       [DTC_GPU_##name] = DTC_GPU_SET_TYPED,
#define DTC_GPU_ENTRY2(name, params, a, b)    [DTC_GPU_##name] = DTC_GPU_SET_TYPED,
#define DTC_GPU_ENTRY3(name, params, a, b, c) [DTC_GPU_##name] = DTC_GPU_SET_TYPED,
static const enum dtc_gpu_set sets[DTC_GPU_KERNELS] = {
#include "kernels/gpu/typed_list.h"
};
#undef DTC_GPU_ENTRY1
#undef DTC_GPU_ENTRY2
#undef DTC_GPU_ENTRY3

enum dtc_gpu_set dtc_gpu_kernel_set(enum dtc_gpu_kernel kernel)
{
	return sets[kernel];
}

const char *dtc_gpu_kernel_name(enum dtc_gpu_kernel kernel)
{
	return entries[kernel].name;
}

const char *dtc_gpu_kernel_label(enum dtc_gpu_kernel kernel)
{
	return entries[kernel].name + sizeof(PREFIX) - 1;
}

size_t dtc_gpu_kernel_params_bytes(enum dtc_gpu_kernel kernel)
{
	return entries[kernel].params_bytes;
}

static const char *const class_names[] = { "strided",     "periodic", "indexed",
					   "transposing", "general",  "many",
					   "typed",       "mapped",   "copy" };

const char *dtc_gpu_class_name(enum dtc_gpu_class class)
{
	return class_names[class];
}

static enum dtc_gpu_kernel by_direction(enum dtc_direction direction, enum dtc_gpu_kernel pack,
					enum dtc_gpu_kernel unpack)
{
	return direction == DTC_PACK ? pack : unpack;
}

enum dtc_gpu_kernel dtc_gpu_kernel_of_word(enum dtc_gpu_kernel first, uint32_t word,
				   enum dtc_direction direction)
{
	static const uint8_t place[] = { [16] = 0, [8] = 1, [4] = 2, [1] = 3 };
	int kernel = (int)first + place[word] + (direction == DTC_UNPACK ? 4 : 0);

	return (enum dtc_gpu_kernel)kernel;
}

static int set_grid(struct dtc_gpu_launch *launch, uint64_t tiles)
{
	if (tiles > DTC_GPU_GRID_MOST)
		return DTCONV_ERR_UNSUPPORTED;
	launch->grid = (uint32_t)tiles;
	launch->params_bytes = (uint32_t)dtc_gpu_kernel_params_bytes(launch->kernel);
	return 0;
}

/* Copy only the used part of long lists, because a launch has 4 KiB of parameters. */
static void clear(struct dtc_gpu_launch *launch)
{
	memset(launch, 0,
	       offsetof(struct dtc_gpu_launch, params) + sizeof(launch->params.transpose));
}

/* ---- general ------------------------------------------------------------------------------------ */

/* Bytes [begin, end) of a job's stream, by walking the program. */
static int make_walk(const struct dtc_gpu_job *job, uint64_t begin, uint64_t end,
		     struct dtc_gpu_walk *walk)
{
	if (!job->image)
		return DTCONV_ERR_UNSUPPORTED;
	*walk = (struct dtc_gpu_walk){
		.user = job->user,
		.packed = job->packed - job->begin,
		.begin = begin,
		.end = end,
		.image = job->image,
		.size = job->layout->size,
		.extent = job->layout->extent,
		.by_size = dtc_gpu_divisor(job->layout->size),
	};
	return 0;
}

static int plan_general(const struct dtc_gpu_job *job, const char *reason,
			struct dtc_gpu_launch *launch)
{
	struct dtc_gpu_walk *walk = &launch->params.general.walk;
	int status = make_walk(job, job->begin, job->end, walk);

	launch->class = DTC_GPU_CLASS_GENERAL;
	launch->kernel =
		by_direction(job->direction, DTC_GPU_general_pack, DTC_GPU_general_unpack);
	launch->reason = reason;
	launch->word = 1;
	return status ? status
		      : set_grid(launch, dtc_gpu_piece_tiles(walk->packed, walk->begin, walk->end));
}

/* ---- strided ------------------------------------------------------------------------------------ */

/* In the order of list.h. */
static enum dtc_gpu_kernel rows_kernel(uint32_t word, enum dtc_direction direction)
{
	static const uint8_t place[] = { [16] = 0, [8] = 1, [4] = 2, [2] = 3, [1] = 4 };

	return (enum dtc_gpu_kernel)(place[word] + by_direction(direction,
								DTC_GPU_rows_pack_16,
								DTC_GPU_rows_unpack_16));
}

/*
 * The compact kernel for a strided launch, if there is one; it supports every such launch. A
 * single block writes its flag itself, which saves more time than a short kernel does, so do
 * not cut it in two.
 */
static uint64_t plan_rows(const struct dtc_gpu_job *job, const struct dtc_gpu_shape *shape,
			  uint64_t full_tiles, struct dtc_gpu_launch *launch)
{
	struct dtc_gpu_rows_params rows = { .words = 0 };
	uint64_t tiles = dtc_gpu_make_rows(shape, job->direction, &rows);

	if (!tiles || (tiles > 1 && full_tiles == 1))
		return 0;
	launch->params.rows = rows;
	launch->kernel = rows_kernel(rows.nest.word, job->direction);
	launch->word = rows.nest.word;
	return tiles;
}

uint64_t dtc_gpu_plan_strided(const struct dtc_gpu_job *job, const struct dtc_gpu_shape *shape,
			      struct dtc_gpu_launch *launch, const char **reason)
{
	struct dtc_gpu_nest *nest = &launch->params.strided.nest;

	if (!dtc_gpu_make_nest(shape, job->direction, nest, reason))
		return 0;
	launch->class = DTC_GPU_CLASS_STRIDED;
	launch->kernel =
		dtc_gpu_kernel_of_word(DTC_GPU_strided_pack_16, nest->word, job->direction);
	launch->word = nest->word;
	launch->run_bytes = shape->leaf_bytes;
	uint64_t tiles = dtc_gpu_nest_tiles(nest, job->direction);
	uint64_t compact = plan_rows(job, shape, tiles, launch);
	return compact ? compact : tiles;
}

/* ---- many --------------------------------------------------------------------------------------- */

/* Append parts; those beyond the capacity are only counted. */
struct listing {
	struct dtc_gpu_part *parts;
	uint32_t capacity;
	uint32_t count;
	uint64_t tiles;
};

static void list_part(struct listing *listing, const struct dtc_gpu_part *part, uint64_t tiles)
{
	if (listing->count < listing->capacity) {
		listing->parts[listing->count] = *part;
		listing->parts[listing->count].first_tile = (uint32_t)listing->tiles;
	}
	listing->count++;
	listing->tiles += tiles;
}

static int list_walk(struct listing *listing, const struct dtc_gpu_job *job, uint64_t begin,
		     uint64_t end)
{
	struct dtc_gpu_part part = { .kind = DTC_GPU_PART_WALK };
	int status = make_walk(job, begin, end, &part.u.walk);

	if (!status)
		list_part(listing, &part, dtc_gpu_piece_tiles(part.u.walk.packed, begin, end));
	return status;
}

/* Append what @shape moves, as a nest if possible, otherwise as bytes of the job's stream. */
static int list_shape(struct listing *listing, const struct dtc_gpu_job *job,
		      const struct dtc_gpu_shape *shape)
{
	struct dtc_gpu_part part = { .kind = DTC_GPU_PART_NEST };
	uint64_t first = shape->packed + shape->begin - (job->packed - job->begin);
	const char *reason;

	if (dtc_gpu_make_nest(shape, job->direction, &part.u.nest, &reason)) {
		list_part(listing, &part, dtc_gpu_nest_tiles(&part.u.nest, job->direction));
		return 0;
	}
	return list_walk(listing, job, first, first + (shape->end - shape->begin));
}

/* Append every operation of a leaf without outer loops. */
static int list_ops(struct listing *listing, const struct dtc_gpu_job *job,
		    const struct dtc_gpu_shape *leaf)
{
	struct dtc_gpu_shape shape;

	for (uint32_t i = 0; i < leaf->op_count; i += leaf->ops[i].body + 1) {
		if (!dtc_gpu_shape_of_op(leaf, &leaf->ops[i], &shape))
			continue;
		int status = list_shape(listing, job, &shape);
		if (status)
			return status;
	}
	return 0;
}

static bool is_sequence(const struct dtc_gpu_shape *shape)
{
	return shape->leaf == DTC_GPU_LEAF_OPS && shape->loop_count == 0 &&
	       shape->ops[0].body + 1 < shape->op_count;
}

static int list_job(struct listing *listing, const struct dtc_gpu_job *job)
{
	struct dtc_gpu_shape shape;

	if (job->begin == job->end)
		return 0;
	dtc_gpu_shape_of_job(job, &shape);
	return is_sequence(&shape) ? list_ops(listing, job, &shape)
				   : list_shape(listing, job, &shape);
}

int dtc_gpu_plan_many(const struct dtc_gpu_job jobs[], size_t job_count,
		      const struct dtc_gpu_parts *parts, struct dtc_gpu_launch *launch,
		      uint32_t *needed)
{
	struct dtc_gpu_many_params *params = &launch->params.many;
	struct listing listing = { params->u.inline_parts, DTC_GPU_INLINE_PARTS, 0, 0 };
	uint64_t bytes = 0;

	clear(launch);
	*needed = 0;
	for (int round = 0; round < 2; round++) {
		bytes = 0;
		for (size_t i = 0; i < job_count; i++) {
			int status = list_job(&listing, &jobs[i]);

			if (status)
				return status;
			bytes += jobs[i].end - jobs[i].begin;
		}
		if (listing.count <= listing.capacity)
			break;
		*needed = listing.count;
		if (!parts || parts->capacity < listing.count)
			return DTCONV_ERR_LIMIT;
		params->parts = parts->device;
		params->u.taken = (struct dtc_gpu_taken){ .end = UINT64_MAX };
		listing = (struct listing){ parts->host, parts->capacity, 0, 0 };
	}
	params->part_count = listing.count;
	launch->class = DTC_GPU_CLASS_MANY;
	launch->bytes = bytes;
	launch->word = 1;
	launch->run_bytes = listing.count ? bytes / listing.count : 0;
	launch->shared_bytes = DTC_GPU_MANY_SHARED_BYTES;
	launch->kernel = by_direction(jobs[0].direction, DTC_GPU_many_pack, DTC_GPU_many_unpack);
	return set_grid(launch, listing.tiles);
}

/* ---- kept sequences ----------------------------------------------------------------------------- */

/* Parts depend on addresses modulo this, because it determines their words. */
#define PLACES UINT64_C(16)

/* The packed address of byte 0 of the job's stream. */
static uint64_t packed_origin(const struct dtc_gpu_job *job)
{
	return job->packed - job->begin;
}

struct dtc_gpu_job dtc_gpu_sequence_job(const struct dtc_gpu_job *job)
{
	struct dtc_gpu_job model = *job;

	model.user = job->user % PLACES;
	model.packed = packed_origin(job) % PLACES;
	model.begin = 0;
	model.end = job->layout->size;
	model.near = false;
	return model;
}

/* Where a part of a sequence begins, in the parts' packed addresses. */
static uint64_t begin_of(const struct dtc_gpu_part *part)
{
	if (part->kind == DTC_GPU_PART_WALK)
		return part->u.walk.packed + part->u.walk.begin;
	return part->u.nest.packed + part->u.nest.begin;
}

/* The last part that begins at or before @position. */
static uint32_t find_part(const struct dtc_gpu_sequence *sequence, uint64_t position)
{
	uint32_t low = 0, n = sequence->count;

	while (n > 1) {
		uint32_t half = n / 2;

		low += begin_of(&sequence->parts[low + half]) <= position ? half : 0;
		n -= half;
	}
	return low;
}

void dtc_gpu_plan_sequence(const struct dtc_gpu_job *job,
			   const struct dtc_gpu_sequence *sequence,
			   struct dtc_gpu_launch *launch)
{
	struct dtc_gpu_many_params *params = &launch->params.many;
	uint64_t shift = packed_origin(job) % PLACES;
	uint32_t first = find_part(sequence, shift + job->begin);
	uint32_t last = find_part(sequence, shift + job->end - 1);
	uint32_t first_tile = sequence->parts[first].first_tile;
	uint32_t end_tile = last + 1 < sequence->count
				    ? sequence->parts[last + 1].first_tile
				    : sequence->tiles;

	clear(launch);
	launch->class = DTC_GPU_CLASS_MANY;
	launch->kernel =
		by_direction(job->direction, DTC_GPU_many_pack, DTC_GPU_many_unpack);
	launch->bytes = job->end - job->begin;
	launch->word = 1;
	launch->run_bytes = job->layout->size / sequence->count;
	launch->shared_bytes = DTC_GPU_MANY_SHARED_BYTES;
	params->parts = sequence->device;
	params->part_count = sequence->count;
	params->u.taken = (struct dtc_gpu_taken){
		.user = job->user - job->user % PLACES,
		.packed = packed_origin(job) - shift,
		.begin = shift + job->begin,
		.end = shift + job->end,
		.first_tile = first_tile,
	};
	(void)set_grid(launch, end_tile - first_tile);
}

/* ---- one job ------------------------------------------------------------------------------------ */

int dtc_gpu_plan_general(const struct dtc_gpu_job *job, const char *reason,
			 struct dtc_gpu_launch *launch)
{
	clear(launch);
	launch->bytes = job->end - job->begin;
	return plan_general(job, reason, launch);
}

typedef uint64_t (*plan_fn)(const struct dtc_gpu_job *job, const struct dtc_gpu_shape *shape,
			    struct dtc_gpu_launch *launch, const char **reason);

/* The classes, the most particular first; mapped is before the last one. */
static const plan_fn classes[] = {
	dtc_gpu_plan_transposing,
	dtc_gpu_plan_staged,
	dtc_gpu_plan_strided,
	dtc_gpu_plan_periodic,
};

/* A class that rejects the job may already have written parameters. */
static uint64_t plan_class(plan_fn plan, const struct dtc_gpu_job *job,
			   const struct dtc_gpu_shape *shape, struct dtc_gpu_launch *launch,
			   const char **reason)
{
	clear(launch);
	launch->bytes = job->end - job->begin;
	return plan(job, shape, launch, reason);
}

/* By a map; LIMIT if that is not the way, and the reason if there is one. */
static int plan_by_map(const struct dtc_gpu_job *job, const struct dtc_gpu_shape *shape,
		       struct dtc_gpu_launch *launch, const char **reason)
{
	clear(launch);
	launch->bytes = job->end - job->begin;
	if (!dtc_gpu_wants_map(job, shape, launch, reason))
		return DTCONV_ERR_LIMIT;
	if (job->map_state == DTC_GPU_MAP_OPEN)
		return DTCONV_ERR_AGAIN;
	return set_grid(launch, dtc_gpu_plan_mapped(job, launch));
}

/* What no class of loops moves: a table, a struct of unlike members, anything. */
static int plan_irregular(const struct dtc_gpu_job *job,
			  const struct dtc_gpu_shape *shape,
			  const struct dtc_gpu_parts *parts,
			  struct dtc_gpu_launch *launch, uint32_t *needed)
{
	const char *reason = NULL, *no_map = NULL;
	int status = plan_by_map(job, shape, launch, &no_map);
	uint64_t map_units = launch->map_units;

	if (status != DTCONV_ERR_LIMIT)
		return status;
	uint64_t tiles = plan_class(dtc_gpu_plan_indexed, job, shape, launch, &reason);
	if (tiles)
		return set_grid(launch, tiles);
	if (is_sequence(shape))
		return dtc_gpu_plan_many(job, 1, parts, launch, needed);
	status = dtc_gpu_plan_general(job, no_map ? no_map : reason, launch);
	launch->map_units = map_units;
	return status;
}

int dtc_gpu_plan(const struct dtc_gpu_job *job, const struct dtc_gpu_parts *parts,
		 struct dtc_gpu_launch *launch, uint32_t *needed)
{
	const char *reason = NULL;
	struct dtc_gpu_shape shape;

	clear(launch);
	*needed = 0;
	if (job->begin == job->end)
		return 0;
	dtc_gpu_shape_of_job(job, &shape);
	for (size_t i = 0; i < DTC_ARRAY_LENGTH(classes); i++) {
		uint64_t tiles = plan_class(classes[i], job, &shape, launch, &reason);

		if (tiles && dtc_gpu_prefers_map(job, launch, tiles)) {
			int status = plan_by_map(job, &shape, launch, &reason);

			if (status != DTCONV_ERR_LIMIT)
				return status;
			tiles = plan_class(classes[i], job, &shape, launch, &reason);
		}
		if (tiles)
			return set_grid(launch, tiles);
	}
	return plan_irregular(job, &shape, parts, launch, needed);
}
