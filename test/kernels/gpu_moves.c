/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Jobs for GPU kernels that tests make up.
 */
#include "config.h"

#include "kernels/gpu_moves.h"

#include <stdlib.h>
#include <string.h>

#include "datatype/type.h"
#include "kernels/launch/classes.h"
#include "support/gpu_shim.h"

/* Allocations of a device are aligned so, and programs go to such addresses. */
#define DEVICE_ALIGNMENT 256

void gpu_type_open(struct gpu_type *gpu, struct dtconv_type *type)
{
	ck_assert_int_eq(dtconv_type_commit(type), 0);
	gpu->layout = dtc_type_layout(type);
	size_t bytes = dtc_gpu_image_bytes(gpu->layout->program);
	gpu->image = aligned_alloc(DEVICE_ALIGNMENT,
				   (bytes + DEVICE_ALIGNMENT) / DEVICE_ALIGNMENT *
					   DEVICE_ALIGNMENT);
	ck_assert_ptr_nonnull(gpu->image);
	dtc_gpu_image_write(gpu->layout->program, gpu->image);
}

/* The map of the job that was planned last. */
static void *map_memory;

void gpu_type_close(struct gpu_type *gpu)
{
	free(gpu->image);
	free(map_memory);
	map_memory = NULL;
}

struct dtc_gpu_job gpu_job(const struct gpu_type *gpu, size_t count, unsigned char *user,
			   unsigned char *packed, size_t begin, size_t end,
			   enum dtc_direction direction)
{
	return (struct dtc_gpu_job){ .layout = gpu->layout,
				     .count = count,
				     .user = (uintptr_t)user,
				     .packed = (uintptr_t)packed,
				     .begin = begin,
				     .end = end,
				     .direction = direction,
				     .image = (uintptr_t)gpu->image,
				     .local = true,
				     .near = true,
				     .map_state = gpu_maps ? DTC_GPU_MAP_OPEN
							   : DTC_GPU_MAP_OFF };
}

/* ---- maps -------------------------------------------------------------------------------------- */

enum gpu_maps gpu_maps;

static bool is_sorted(const struct dtc_gpu_job *job, const struct dtc_gpu_map_form *form)
{
	return gpu_maps >= GPU_MAPS_SORTED && job->direction == DTC_UNPACK && form->apart;
}

/* A map, sorted if that is asked for and can be. */
static void write_map(const struct dtc_layout *layout, struct dtc_gpu_map *map)
{
	size_t count = (size_t)dtc_gpu_map_units(&map->form, map->unit);
	struct dtc_gpu_sorted_unit *sorted = calloc(3 * count, sizeof(*sorted));
	int32_t *disps = (int32_t *)(void *)(sorted + 2 * count);

	ck_assert_ptr_nonnull(sorted);
	dtc_gpu_map_write(layout, map->unit, disps);
	map->sorted = map->sorted &&
		      dtc_gpu_map_sort(disps, (uint32_t)count, sorted, sorted + count);
	map->memory = map->sorted ? (uintptr_t)sorted : (uintptr_t)disps;
	free(map_memory);
	map_memory = sorted;
}

static void answer_map(struct dtc_gpu_job *job)
{
	uint32_t unit = dtc_gpu_job_map_unit(job);
	struct dtc_gpu_map *map = &job->map;

	job->map_state = DTC_GPU_MAP_ANSWERED;
	if (!dtc_gpu_map_of_layout(job->layout, &map->form) ||
	    !dtc_gpu_map_fits(&map->form, unit))
		return;
	map->unit = unit;
	map->sorted = is_sorted(job, &map->form);
	write_map(job->layout, map);
}

/* Whatever the planner thinks of streams of this length. */
static void use_many_words(struct dtc_gpu_launch *launch)
{
	struct dtc_gpu_mapped_params *params = &launch->params.mapped;
	uint64_t words = params->end - params->begin;

	if (gpu_maps != GPU_MAPS_MANY && gpu_maps != GPU_MAPS_SORTED_MANY)
		return;
	params->words = DTC_GPU_MAPPED_PACKED(launch->word);
	params->expects = 1;
	params->wide = 1;
	if (launch->kernel >= DTC_GPU_sorted_unpack_16) {
		params->words = DTC_GPU_MAPPED_SORTED(launch->word);
		words = params->positions;
	} else if (launch->kernel >= DTC_GPU_mapped_unpack_16) {
		params->words = DTC_GPU_MAPPED_UNPACKED(launch->word);
	}
	uint64_t tile = (uint64_t)params->words * DTC_GPU_BLOCK;
	launch->grid = (uint32_t)((words + tile - 1) / tile);
}

/* ---- launches ---------------------------------------------------------------------------------- */

static int run_of_class(const struct dtc_gpu_launch *launch)
{
	return shim_run(dtc_gpu_kernel_name(launch->kernel), launch->grid, DTC_GPU_BLOCK,
			launch->shared_bytes, &launch->params);
}

int (*gpu_run)(const struct dtc_gpu_launch *launch) = run_of_class;

void gpu_launch(struct dtc_gpu_launch *launch)
{
	uint64_t flag = 0;
	uint32_t counter = 0;

	launch->params.done = (struct dtc_gpu_done){ (uintptr_t)&flag, 7, (uintptr_t)&counter };
	if (!launch->grid)
		return;
	ck_assert_int_eq(gpu_run(launch), 0);
	ck_assert_uint_eq(flag, 7);
	ck_assert_uint_eq(counter, 0);
}

/* Memory for the parts that a plan asked for. */
static struct dtc_gpu_parts parts_for(uint32_t needed)
{
	struct dtc_gpu_parts parts = { calloc(needed, sizeof(parts.host[0])), needed, 0 };

	ck_assert_ptr_nonnull(parts.host);
	parts.device = (uintptr_t)parts.host;
	return parts;
}

void gpu_plan(const struct dtc_gpu_job *job, struct dtc_gpu_launch *launch,
	      struct dtc_gpu_part **parts)
{
	struct dtc_gpu_parts room = { NULL, 0, 0 };
	uint32_t needed;
	struct dtc_gpu_job answered = *job;
	int status = dtc_gpu_plan(job, NULL, launch, &needed);

	if (status == DTCONV_ERR_AGAIN) {
		answer_map(&answered);
		status = dtc_gpu_plan(&answered, NULL, launch, &needed);
	}
	if (status == DTCONV_ERR_LIMIT) {
		room = parts_for(needed);
		status = dtc_gpu_plan(&answered, &room, launch, &needed);
	}
	ck_assert_int_eq(status, 0);
	if (launch->class == DTC_GPU_CLASS_MAPPED && launch->grid)
		use_many_words(launch);
	*parts = room.host;
}

bool gpu_plan_by_map(const struct dtc_gpu_job *job, struct dtc_gpu_launch *launch)
{
	struct dtc_gpu_job answered = *job;

	if (gpu_maps == GPU_MAPS_OFF || job->begin == job->end ||
	    dtc_gpu_job_map_unit(job) < 4)
		return false;
	answer_map(&answered);
	if (!answered.map.unit)
		return false;
	memset(launch, 0, sizeof(*launch));
	launch->bytes = job->end - job->begin;
	launch->grid = (uint32_t)dtc_gpu_plan_mapped(&answered, launch);
	use_many_words(launch);
	return true;
}

static bool plan_no_other(const struct dtc_gpu_job *job, struct dtc_gpu_launch *launch)
{
	(void)job, (void)launch;
	return false;
}

bool (*gpu_plan_first)(const struct dtc_gpu_job *job,
		       struct dtc_gpu_launch *launch) = plan_no_other;

void gpu_move(const struct dtc_gpu_job *job)
{
	struct dtc_gpu_launch launch;
	struct dtc_gpu_part *parts = NULL;

	if (!gpu_plan_first(job, &launch))
		gpu_plan(job, &launch, &parts);
	gpu_launch(&launch);
	free(parts);
}

void gpu_move_many(const struct dtc_gpu_job jobs[], size_t count)
{
	struct dtc_gpu_parts room = { NULL, 0, 0 };
	struct dtc_gpu_launch launch;
	uint32_t needed;
	int status = dtc_gpu_plan_many(jobs, count, NULL, &launch, &needed);

	if (status == DTCONV_ERR_LIMIT) {
		room = parts_for(needed);
		status = dtc_gpu_plan_many(jobs, count, &room, &launch, &needed);
	}
	ck_assert_int_eq(status, 0);
	gpu_launch(&launch);
	free(room.host);
}

/* ---- stretches of a stage ---------------------------------------------------------------------- */

/* Packed memory at any alignment, between guards. */
struct packed {
	unsigned char *memory;
	unsigned char *bytes;
	size_t memory_bytes;
};

static void packed_open(struct packed *packed, size_t bytes, size_t shift)
{
	packed->memory_bytes = bytes + 2 * STAGE_GUARD + 16;
	packed->memory = aligned_alloc(64, (packed->memory_bytes + 63) / 64 * 64);
	ck_assert_ptr_nonnull(packed->memory);
	packed->bytes = packed->memory + STAGE_GUARD + shift;
	stage_guard(packed->memory, packed->memory_bytes);
}

/* Exactly @bytes were stored; they are put back to guards. */
static void packed_check(struct packed *packed, const struct stage *stage, size_t begin,
			 size_t bytes)
{
	size_t offset = (size_t)(packed->bytes - packed->memory);

	ck_assert_msg(!memcmp(packed->bytes, stage->stream + begin, bytes),
		      "bytes %zu to %zu of the stream are packed wrongly", begin, begin + bytes);
	for (size_t i = 0; i < bytes; i++)
		packed->bytes[i] = stage_guard_byte(offset + i);
	ck_assert_uint_eq(stage_guard_first_wrong(packed->memory, packed->memory_bytes),
			  STAGE_RIGHT);
}

/* Bytes [begin, end), each way. */
void gpu_move_stretch(struct stage *stage, const struct gpu_type *gpu, size_t begin,
			 size_t end, size_t shift)
{
	struct packed packed;

	packed_open(&packed, end - begin, shift);
	struct dtc_gpu_job job = gpu_job(gpu, stage->count, stage->source, packed.bytes, begin,
					 end, DTC_PACK);
	gpu_move(&job);
	packed_check(&packed, stage, begin, end - begin);
	memcpy(packed.bytes, stage->stream + begin, end - begin);
	job.direction = DTC_UNPACK;
	job.user = (uintptr_t)stage->target;
	gpu_move(&job);
	stage_deliver(stage, begin, end - begin);
	free(packed.memory);
}

void gpu_move_whole(struct stage *stage, const struct gpu_type *gpu, size_t shift)
{
	stage_blank(stage);
	gpu_move_stretch(stage, gpu, 0, stage->bytes, shift);
	fixture_arrived(stage);
}

/* In fragments that follow each other. */
void gpu_move_cut(struct stage *stage, const struct gpu_type *gpu, struct choices *choices)
{
	size_t longest = 1 + choose(choices, stage->bytes + 1);

	stage_blank(stage);
	for (size_t at = 0; at < stage->bytes;) {
		size_t bytes = 1 + choose(choices, longest);

		bytes = bytes < stage->bytes - at ? bytes : stage->bytes - at;
		gpu_move_stretch(stage, gpu, at, at + bytes, choose(choices, 16));
		at += bytes;
	}
	fixture_arrived(stage);
}
