/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Planning the class mapped: layouts whose periods are listed in a map on the device.
 */
#include "config.h"

#include "classes.h"

#include "base/base.h"
#include "magic.h"
#include "nest.h"

/*
 * Up to so many units, types of which other kernels find the runs faster than a long map is read have one, too,
 * because the map's kernels start sooner (runs of 1 to 64 doubles on an H200, us by the map and without it: 64 KiB
 * and 1 MiB 1.4, 1.8 instead of 6; 16 MiB, 2^21 units, 12.7 instead of 11.5 to unpack).
 */
#define SHORT_MAP (UINT64_C(1) << 18)

/* Equal blocks of so many units are found fast in a table. */
#define LONG_BLOCK 16

/* A job of fewer periods does not wait for their map. */
#define FEW_PERIODS 4

/* Below so many bytes a launch is over before the order of its stores matters (1 MiB gains 0 to 20 %). */
#define SORTED_BYTES (UINT64_C(512) << 10)

/* In shorter streams one word a thread fills the device. */
#define LONG_BYTES (UINT64_C(4) << 20)

/*
 * Percents of sectors. Neighbours that come after each other share sectors if these are half full (gathers of
 * every second double 53, WRF_y 61), in any order if they are almost full (LAMMPS_full 90); single numbers and short
 * runs that are far apart do not (WRF_x 30, SPECFEM3D_oc 15).
 */
#define HALF_FULL   45
#define ALMOST_FULL 75

/* Positions that are divided as 32-bit numbers, with those of a tile ahead. */
#define POSITIONS_MOST ((UINT64_C(1) << 31) - 65536)

/* ---- whether ------------------------------------------------------------------------------------ */

/* Whether some operation has a table. */
static bool has_tables(const struct dtc_gpu_shape *shape)
{
	for (uint32_t i = 0; i < shape->op_count; i++)
		if (shape->ops[i].kind == DTC_OP_TABLE ||
		    shape->ops[i].kind == DTC_OP_TABLE_LOOP)
			return true;
	return false;
}

/* The most units of a map that is worth it. */
static uint64_t units_most(const struct dtc_gpu_job *job,
			   const struct dtc_gpu_shape *shape, uint32_t unit)
{
	if (shape->leaf == DTC_GPU_LEAF_TABLE) {
		uint64_t block =
			dtc_program_table(job->layout->program, shape->ops)->uniform;

		return block && block < (uint64_t)LONG_BLOCK * unit
			       ? DTC_GPU_MAP_UNITS_MOST
			       : SHORT_MAP;
	}
	if (shape->leaf == DTC_GPU_LEAF_BLOCK && shape->loop_count < DTC_GPU_DIMS)
		return SHORT_MAP;
	/* A struct of nests is as many parts. */
	return shape->loop_count == 0 && !has_tables(shape) ? SHORT_MAP
							    : DTC_GPU_MAP_UNITS_MOST;
}

uint32_t dtc_gpu_job_map_unit(const struct dtc_gpu_job *job)
{
	uint32_t aligned =
		dtc_gpu_alignment(job->user | job->packed | job->begin | job->end);

	return DTC_MIN(aligned, dtc_gpu_map_unit(job->layout));
}

/* Equal blocks, of which the table is on the device sooner. */
static bool has_equal_blocks(const struct dtc_gpu_job *job,
			     const struct dtc_gpu_shape *shape)
{
	return shape->leaf == DTC_GPU_LEAF_TABLE &&
	       dtc_program_table(job->layout->program, shape->ops)->uniform;
}

bool dtc_gpu_wants_map(const struct dtc_gpu_job *job, const struct dtc_gpu_shape *shape,
		       struct dtc_gpu_launch *launch, const char **reason)
{
	uint32_t unit = dtc_gpu_job_map_unit(job);
	uint64_t units = dtc_gpu_map_period(job->layout) / unit;

	if (job->map_state == DTC_GPU_MAP_OFF)
		return false;
	if (unit < 4) {
		*reason = "not aligned to 4 bytes";
		return false;
	}
	if (units > DTC_GPU_MAP_UNITS_MOST) {
		*reason = "too large for a map";
		launch->map_units = units;
		return false;
	}
	if (job->map_state == DTC_GPU_MAP_ANSWERED && !job->map.unit) {
		*reason = "too far apart for a map";
		return false;
	}
	return units <= units_most(job, shape, unit) &&
	       !(job->first && has_equal_blocks(job, shape));
}

/* The compact kernels take a block and two loops, but for streams that are cut inside words. */
#define COMPACT_DIMS 3

/* Whether it is a short stream by a long kernel: nests of more loops than the compact kernels take. */
static bool starts_late(const struct dtc_gpu_launch *launch, uint64_t tiles)
{
	return launch->class == DTC_GPU_CLASS_STRIDED &&
	       launch->kernel < DTC_GPU_rows_pack_16 &&
	       launch->params.strided.nest.dim_count > COMPACT_DIMS && tiles > 1 &&
	       launch->bytes < LONG_BYTES;
}

/*
 * Whether the layout's map lists a period of whole words, which the launch would list in every block, and is used
 * several times.
 */
static bool has_short_map(const struct dtc_gpu_job *job,
			  const struct dtc_gpu_launch *launch)
{
	uint64_t period = dtc_gpu_map_period(job->layout);

	return launch->class == DTC_GPU_CLASS_PERIODIC && launch->word > 1 &&
	       launch->params.periodic.period == period &&
	       launch->bytes / FEW_PERIODS >= period;
}

bool dtc_gpu_prefers_map(const struct dtc_gpu_job *job,
			 const struct dtc_gpu_launch *launch, uint64_t tiles)
{
	return starts_late(launch, tiles) || has_short_map(job, launch);
}

/* ---- which -------------------------------------------------------------------------------------- */

/* Periods that are touched, and the first of them. */
static uint64_t touched(const struct dtc_gpu_job *job, uint64_t *first)
{
	uint64_t bytes = dtc_gpu_map_period(job->layout);

	*first = job->begin / bytes;
	return (job->end - 1) / bytes - *first + 1;
}

enum dtc_gpu_map_order dtc_gpu_job_map_order(const struct dtc_gpu_job *job)
{
	uint64_t bytes = job->end - job->begin, first;
	uint64_t periods = touched(job, &first);

	/* All units of the periods that are touched are looked at. */
	if (job->direction == DTC_PACK || bytes < SORTED_BYTES ||
	    bytes < periods * dtc_gpu_map_period(job->layout) / 2)
		return DTC_GPU_MAP_PACKED;
	return periods > 1 ? DTC_GPU_MAP_SORTED_PERIODS : DTC_GPU_MAP_SORTED;
}

bool dtc_gpu_job_map_filled(const struct dtc_gpu_job *job)
{
	return job->end - job->begin >= LONG_BYTES;
}

/* ---- planning ----------------------------------------------------------------------------------- */

/* Words of a thread where they are more than one, and what is asked for. */
static uint32_t many_of(const struct dtc_gpu_job *job, bool *expects)
{
	const struct dtc_gpu_map *map = &job->map;
	uint32_t enough = map->form.ascends ? HALF_FULL : ALMOST_FULL;
	bool half = map->filled >= HALF_FULL, full = map->filled >= ALMOST_FULL;

	*expects = false;
	if (!dtc_gpu_job_map_filled(job))
		return 1;
	if (job->direction == DTC_PACK)
		return map->filled >= enough ? DTC_GPU_MAPPED_PACKED(map->unit) : 1;
	if (map->sorted) {
		/* Sectors that will be full soon are asked for where the caches do not hold them until then. */
		*expects = half && (full ? job->near : job->local);
		return full ? DTC_GPU_MAPPED_SORTED(map->unit) : 1;
	}
	*expects = map->form.ascends && half && job->local;
	return *expects ? DTC_GPU_MAPPED_UNPACKED(map->unit) : 1;
}

static void set_map(const struct dtc_gpu_job *job, struct dtc_gpu_mapped_params *params)
{
	const struct dtc_gpu_map *map = &job->map;
	uint32_t word = map->unit;
	uint64_t count = dtc_gpu_map_units(&map->form, word), first;
	uint64_t periods = touched(job, &first);
	uint8_t shift;

	params->user = job->user + first * (uint64_t)map->form.stride;
	params->packed = job->packed - job->begin + first * count * word;
	params->map = map->memory;
	params->stride = map->form.stride;
	params->begin = job->begin / word - first * count;
	params->end = job->end / word - first * count;
	params->positions = periods * count;
	params->by_count = dtc_gpu_divisor(count);
	params->count = (uint32_t)count;
	params->magic = dtc_gpu_magic(params->count, &shift);
	params->shift = shift;
	params->wide = params->positions > POSITIONS_MOST;
}

static enum dtc_gpu_kernel kernel_of(const struct dtc_gpu_map *map,
				     enum dtc_direction direction)
{
	static const uint8_t place[] = { [16] = 0, [8] = 1, [4] = 2 };
	int first = direction == DTC_PACK ? DTC_GPU_mapped_pack_16
		    : map->sorted         ? DTC_GPU_sorted_unpack_16
					  : DTC_GPU_mapped_unpack_16;

	return (enum dtc_gpu_kernel)(first + place[map->unit]);
}

uint64_t dtc_gpu_plan_mapped(const struct dtc_gpu_job *job, struct dtc_gpu_launch *launch)
{
	struct dtc_gpu_mapped_params *params = &launch->params.mapped;
	const struct dtc_gpu_map *map = &job->map;
	bool expects;

	set_map(job, params);
	params->words = many_of(job, &expects);
	params->expects = expects;
	launch->class = DTC_GPU_CLASS_MAPPED;
	launch->kernel = kernel_of(map, job->direction);
	launch->word = map->unit;
	launch->run_bytes = map->unit;
	uint64_t words = map->sorted ? params->positions : params->end - params->begin;
	return dtc_divide_up(words, (uint64_t)params->words * DTC_GPU_BLOCK);
}
