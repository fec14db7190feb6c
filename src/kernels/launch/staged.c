/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Planning periods of bytes that go through shared memory: what of the user's period is staged, and
 * how many periods a thread block takes.
 */
#include "config.h"

#include "staged.h"

#include "base/base.h"
#include "classes.h"
#include "magic.h"
#include "nest.h"

_Static_assert(sizeof(struct dtc_gpu_staged_params) <= DTC_GPU_PARAMS_BYTES, "too long");

/* Periods are at most so long, packed and compressed. */
#define PERIOD_MOST 4096

/* Rows of fewer bytes leave tiles short. */
#define ROW_LEAST 4096

/* A period's runs in the order of the packed stream, and in that of the memory. */
struct runs {
	struct dtc_gpu_periodic_params listed;
	uint8_t order[DTC_GPU_RUNS];
	uint64_t bytes; /* packed */
	int64_t first;  /* displacement of the first byte in memory */
};

static uint32_t run_bytes(const struct runs *runs, uint32_t run)
{
	const struct dtc_gpu_run *listed = &runs->listed.runs[run];
	uint32_t end = run + 1 < runs->listed.run_count ? listed[1].packed
							: (uint32_t)runs->bytes;

	return end - listed->packed;
}

static int32_t run_disp(const struct runs *runs, uint32_t place)
{
	return runs->listed.runs[runs->order[place]].disp;
}

/* By insertion, because most are in order. */
static void sort_runs(struct runs *runs)
{
	for (uint32_t i = 0; i < runs->listed.run_count; i++) {
		uint32_t place = i;

		for (; place && run_disp(runs, place - 1) > runs->listed.runs[i].disp;
		     place--)
			runs->order[place] = runs->order[place - 1];
		runs->order[place] = (uint8_t)i;
	}
	runs->first = run_disp(runs, 0);
}

static bool list_runs(const struct dtc_gpu_job *job, const struct dtc_gpu_shape *shape,
		      struct runs *runs)
{
	runs->bytes = shape->leaf_bytes;
	runs->listed.run_count = 0;
	if (shape->leaf == DTC_GPU_LEAF_BLOCK) {
		runs->listed.run_count = 1;
		runs->listed.runs[0] = (struct dtc_gpu_run){ 0 };
	} else if (!dtc_gpu_list_runs(&runs->listed, job->layout->program, shape)) {
		return false;
	}
	sort_runs(runs);
	return true;
}

/* Whether sides share an alignment of 4 bytes or more, and other kernels move words. */
static bool has_words(const struct runs *runs, const struct dtc_gpu_shape *shape)
{
	uint64_t bits = dtc_gpu_shape_bits(shape) | shape->leaf_bytes;

	for (uint32_t i = 0; i < runs->listed.run_count; i++)
		bits |= (uint64_t)(int64_t)runs->listed.runs[i].disp |
			runs->listed.runs[i].packed;
	return dtc_gpu_alignment(bits) >= 4;
}

/* ---- compressing --------------------------------------------------------------------------------- */

/* The user's period as far as it has been compressed. */
struct compressed {
	struct dtc_gpu_staged_params *params;
	const struct runs *runs;
	uint64_t end; /* of the bytes so far, from the first */
	uint64_t skipped;
};

/* A gap that may hold an aligned word of 16 ends a segment; what is left of it is less than two. */
static uint64_t left_out_of(uint64_t gap)
{
	return gap < DTC_GPU_PIECE
		       ? 0
		       : (gap - DTC_GPU_PIECE) & ~(uint64_t)(DTC_GPU_PIECE - 1);
}

static void begin_segment(struct compressed *compressed, uint64_t disp)
{
	struct dtc_gpu_staged_segment *segment =
		&compressed->params->segments[compressed->params->segment_count++];

	segment->begin = (uint32_t)(disp - compressed->skipped);
	segment->skipped = (uint32_t)compressed->skipped;
}

static bool compress_run(struct compressed *compressed, uint32_t place)
{
	struct dtc_gpu_staged_params *params = compressed->params;
	const struct runs *runs = compressed->runs;
	uint64_t disp = (uint64_t)(run_disp(runs, place) - runs->first);
	uint64_t end = disp + run_bytes(runs, runs->order[place]);
	uint64_t gap = disp > compressed->end ? disp - compressed->end : 0;

	if (place == 0 || gap >= DTC_GPU_PIECE) {
		if (params->segment_count == DTC_GPU_STAGED_SEGMENTS)
			return false;
		compressed->skipped += left_out_of(gap);
		begin_segment(compressed, disp);
	}
	compressed->end = DTC_MAX(compressed->end, end);
	params->span = (uint32_t)(compressed->end - compressed->skipped);
	params->segments[params->segment_count - 1].end = params->span;
	uint32_t run = runs->order[place];
	params->runs[run] =
		(struct dtc_gpu_staged_run){ runs->listed.runs[run].packed,
					     (uint32_t)(disp - compressed->skipped) };
	return compressed->skipped < INT32_MAX && params->span <= PERIOD_MOST;
}

/* Whether a period is such that periods follow each other, and that it is not too long. */
static bool compress(struct dtc_gpu_staged_params *params, const struct runs *runs,
		     uint64_t stride)
{
	struct compressed compressed = { params, runs, 0, 0 };

	params->run_count = runs->listed.run_count;
	params->segment_count = 0;
	for (uint32_t i = 0; i < params->run_count; i++)
		if (!compress_run(&compressed, i))
			return false;
	if (stride < compressed.end)
		return false;
	uint64_t gap = stride - compressed.end;
	uint64_t extent = stride - compressed.skipped - left_out_of(gap);
	if (extent > PERIOD_MOST)
		return false;
	params->extent = (uint32_t)extent;
	params->dense = params->segment_count == 1 && gap < DTC_GPU_PIECE;
	return true;
}

/* ---- tiles --------------------------------------------------------------------------------------- */

/*
 * Bytes of a tile's longer side. Each block makes a map, so tiles are long (packing 19 of 24 bytes on an H200, in tiles
 * of 8, 16 and 24 KiB: 16 MiB 1035, 1228 and 1151 GB/s). Those of short streams are shorter, so that there are enough of
 * them (unpacking 1 MiB in tiles of 4 and 8 KiB: 192 and 181 GB/s).
 */
#define TILE_BYTES       UINT64_C(16384)
#define SHORT_TILE_BYTES UINT64_C(4096)

#define SHORT_STREAM (UINT64_C(8) << 20)

/* Longer streams are not in the second cache when they are stored to. */
#define LONG_STREAM (UINT64_C(32) << 20)

/* Periods that are whole words of 4 on both sides, together; unpacking has a word for each byte. */
static bool set_map(struct dtc_gpu_staged_params *params, enum dtc_direction direction)
{
	uint32_t packed = (uint32_t)params->nest.block;
	uint32_t map_bytes = 4 * packed;

	params->repeats = 4 / DTC_MIN(dtc_gpu_alignment(packed | params->extent), 4u);
	params->map_words = params->repeats * packed / 4;
	if (direction == DTC_PACK)
		map_bytes = params->map_words *
			    (2 * (uint32_t)sizeof(struct dtc_gpu_staged_word) +
			     4 * (uint32_t)sizeof(uint16_t));
	params->staged_offset =
		(uint32_t)sizeof(struct dtc_gpu_staged_tile) + (map_bytes + 15) / 16 * 16;
	return direction == DTC_UNPACK || params->map_words <= DTC_GPU_STAGED_WORDS;
}

/* Returns how many tiles there are. */
static uint64_t set_tiles(struct dtc_gpu_staged_params *params,
			  const struct dtc_gpu_shape *shape)
{
	uint64_t period = params->nest.block;
	uint64_t row = shape->loop_count > 1 ? shape->loops[0].count : 0;
	uint64_t longer = DTC_MAX(period, params->extent);
	uint64_t tile = shape->end - shape->begin < SHORT_STREAM ? SHORT_TILE_BYTES
								 : TILE_BYTES;

	params->first_period = dtc_divide_up(shape->begin, period);
	params->end_period = shape->end / period;
	if (params->first_period >= params->end_period)
		return 0;
	uint64_t most = DTC_MIN(row ? row : UINT64_MAX,
				params->end_period - params->first_period);
	params->tile_periods =
		(uint32_t)DTC_MAX(DTC_MIN(tile / longer, most), UINT64_C(1));
	params->tiles = (uint32_t)dtc_divide_up(row, params->tile_periods);
	uint64_t ends[2] = { params->first_period, params->end_period - 1 };
	for (int i = 0; i < 2; i++)
		ends[i] = row ? ends[i] / row * params->tiles +
					  ends[i] % row / params->tile_periods
			      : ends[i] / params->tile_periods;
	params->first_tile = ends[0];
	return ends[1] - ends[0] + 1;
}

/* What a block stages at most. */
static uint32_t staged_bytes(const struct dtc_gpu_staged_params *params,
			     enum dtc_direction direction)
{
	uint64_t bytes = direction == DTC_UNPACK
				 ? params->tile_periods * params->nest.block
				 : (params->tile_periods - 1) * (uint64_t)params->extent +
					   params->span;

	return (uint32_t)(15 + bytes + 15) / 16 * 16;
}

/*
 * Sectors of short runs are stored in part. In long streams they are not in the cache (unpacking 256 MiB, 19 of 24
 * bytes, 720 without and 823 GB/s with; 16 MiB 656 and 630).
 */
static bool asks(const struct dtc_gpu_staged_params *params,
		 const struct dtc_gpu_shape *shape)
{
	return params->nest.expects && params->dense &&
	       shape->end - shape->begin > LONG_STREAM;
}

/* ---- a job -------------------------------------------------------------------------------------- */

static bool set_nest(struct dtc_gpu_staged_params *params,
		     const struct dtc_gpu_shape *shape, const struct runs *runs,
		     const char **reason)
{
	struct dtc_gpu_nest *nest = &params->nest;

	nest->word = 1;
	dtc_gpu_set_level(nest, 0, shape->leaf_bytes, 0);
	if (!dtc_gpu_set_loops(shape, 1, nest, reason) ||
	    !dtc_gpu_set_width(nest, shape->end, reason))
		return false;
	nest->user += (uint64_t)runs->first;
	return true;
}

uint64_t dtc_gpu_make_staged(const struct dtc_gpu_job *job,
			     const struct dtc_gpu_shape *shape,
			     struct dtc_gpu_launch *launch)
{
	struct dtc_gpu_staged_params *params = &launch->params.staged;
	enum dtc_direction direction = job->direction;
	const char *reason;
	struct runs runs;

	if (!shape->loop_count || shape->loops[0].stride <= 0 ||
	    shape->loops[0].stride > INT32_MAX / 4 || shape->leaf_bytes > PERIOD_MOST ||
	    !list_runs(job, shape, &runs) || has_words(&runs, shape))
		return 0;
	if (shape->loop_count > 1 &&
	    shape->loops[0].count * shape->leaf_bytes < ROW_LEAST)
		return 0;
	if (!set_nest(params, shape, &runs, &reason) ||
	    !compress(params, &runs, (uint64_t)shape->loops[0].stride) ||
	    !set_map(params, direction))
		return 0;
	uint8_t shift;
	params->extent_magic = dtc_gpu_magic(params->extent, &shift);
	params->extent_shift = shift;
	params->asks = asks(params, shape);
	uint64_t tiles = set_tiles(params, shape);
	launch->kernel = direction == DTC_PACK ? DTC_GPU_staged_pack
					       : DTC_GPU_staged_unpack;
	launch->class = shape->leaf == DTC_GPU_LEAF_BLOCK ? DTC_GPU_CLASS_STRIDED
							  : DTC_GPU_CLASS_PERIODIC;
	launch->word = 1;
	launch->run_bytes = shape->leaf_bytes / params->run_count;
	launch->shared_bytes = params->staged_offset + staged_bytes(params, direction);
	return tiles;
}

/* Shorter streams are packed faster in pieces (1 MiB of 19 of 24 bytes: 190 and 197 GB/s, unpacked with 192 and 161). */
#define UNPACKED_LEAST (UINT64_C(512) << 10)

/*
 * Longer runs and sparse ones are packed faster in pieces (16 MiB on an H200, by pieces and staged: 7 of 8 bytes 635,
 * 1247 GB/s; 19 of 24 750, 1228; 24 of 33 590, 1012; 8 of 17 1003, 928; 128 of 257 1251, 1027).
 */
#define SHORT_RUN                 32
#define IS_SPARSE(packed, extent) (5 * (uint64_t)(packed) < 3 * (uint64_t)(extent))

/*
 * Unpacked are periods of several runs up to this length; single blocks have kernels of their own (16 MiB on an H200,
 * otherwise and staged: 19 of 24 bytes 615, 880 GB/s; 24 of 33 203, 872; 7 of 8 842, 907; 8 of 17 773, 734).
 */
#define BYTEWISE_RUN 256

static bool gains(const struct dtc_gpu_shape *shape, const struct dtc_gpu_launch *launch,
		  enum dtc_direction direction)
{
	if (direction == DTC_UNPACK)
		return shape->leaf != DTC_GPU_LEAF_BLOCK &&
		       launch->run_bytes <= BYTEWISE_RUN;
	return launch->run_bytes <= SHORT_RUN &&
	       !IS_SPARSE(shape->leaf_bytes, launch->params.staged.extent);
}

uint64_t dtc_gpu_plan_staged(const struct dtc_gpu_job *job,
			     const struct dtc_gpu_shape *shape,
			     struct dtc_gpu_launch *launch, const char **reason)
{
	const uint64_t least = job->direction == DTC_PACK ? SHORT_STREAM : UNPACKED_LEAST;
	uint64_t tiles = shape->end - shape->begin < least
				 ? 0
				 : dtc_gpu_make_staged(job, shape, launch);

	(void)reason;
	return tiles && gains(shape, launch, job->direction) ? tiles : 0;
}
