/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * GPU kernels, seen from the host: which kernel moves a stretch of a packed stream, with which
 * grid and which parameters. Pure arithmetic: no driver calls, no allocation, no
 * machine-dependent decisions. The backends load and launch.
 */
#ifndef DTC_KERNELS_GPU_H
#define DTC_KERNELS_GPU_H

#include "datatype/layout.h"
#include "kernels/cpu/kernels.h"
#include "kernels/gpu/params.h"
#include "kernels/launch/map.h"

enum dtc_gpu_kernel {
#define DTC_GPU_ENTRY1(name, params, a)       DTC_GPU_##name,
#define DTC_GPU_ENTRY2(name, params, a, b)    DTC_GPU_##name,
#define DTC_GPU_ENTRY3(name, params, a, b, c) DTC_GPU_##name,
#include "kernels/gpu/list.h"
#undef DTC_GPU_ENTRY1
#undef DTC_GPU_ENTRY2
#undef DTC_GPU_ENTRY3
	DTC_GPU_KERNELS /* how many there are */
};

/* The kernels of one image: those that move bytes, and those of typed_list.h. */
enum dtc_gpu_set { DTC_GPU_SET_MOVING, DTC_GPU_SET_TYPED, DTC_GPU_SETS };

enum dtc_gpu_set dtc_gpu_kernel_set(enum dtc_gpu_kernel kernel);

/* The entry point's name in every image. */
const char *dtc_gpu_kernel_name(enum dtc_gpu_kernel kernel);

/* The same without the prefix of internal names, for messages. */
const char *dtc_gpu_kernel_label(enum dtc_gpu_kernel kernel);

/* Bytes of its parameter struct. */
size_t dtc_gpu_kernel_params_bytes(enum dtc_gpu_kernel kernel);

/* The largest grid of one dimension. */
#define DTC_GPU_GRID_MOST INT32_MAX

/* Whether it moves bytes that share no alignment through shared memory. */
static inline bool dtc_gpu_is_staged(enum dtc_gpu_kernel kernel)
{
	return kernel == DTC_GPU_staged_pack || kernel == DTC_GPU_staged_unpack;
}

/* Whether it moves lists of pages. */
static inline bool dtc_gpu_is_of_pages(enum dtc_gpu_kernel kernel)
{
	return kernel == DTC_GPU_pages || kernel == DTC_GPU_page_words;
}

enum dtc_gpu_class {
	DTC_GPU_CLASS_STRIDED,
	DTC_GPU_CLASS_PERIODIC,
	DTC_GPU_CLASS_INDEXED,
	DTC_GPU_CLASS_TRANSPOSING,
	DTC_GPU_CLASS_GENERAL,
	DTC_GPU_CLASS_MANY,
	DTC_GPU_CLASS_TYPED,
	DTC_GPU_CLASS_MAPPED,
	DTC_GPU_CLASS_COPY
};

const char *dtc_gpu_class_name(enum dtc_gpu_class class);

enum dtc_gpu_map_state {
	DTC_GPU_MAP_OFF,  /* there is none: other classes move the job */
	DTC_GPU_MAP_OPEN, /* it can be found, if the planner asks for it */
	DTC_GPU_MAP_ANSWERED
};

/* Bytes [begin, end) of the packed stream of @count instances. */
struct dtc_gpu_job {
	const struct dtc_layout *layout;
	uint64_t count;
	uint64_t user;   /* device's address of displacement 0 */
	uint64_t packed; /* device's address of stream byte @begin */
	uint64_t begin;
	uint64_t end;
	enum dtc_direction direction;
	uint64_t image; /* device's address of the program's image, or 0: only classes without tables */
	bool local;     /* user memory is the device's own */
	bool near;      /* the same, and the stream is longer than the device's caches */
	bool one_block; /* the resident kernel may move it, which is one thread block */
	bool first; /* nothing of the layout is on a device yet: it may be used once only */
	enum dtc_gpu_map_state map_state;
	struct dtc_gpu_map map; /* if it is answered */
};

/* What a kernel is told; all begin with how its end is noticed. */
union dtc_gpu_params {
	struct dtc_gpu_done done;
	struct dtc_gpu_strided_params strided;
	struct dtc_gpu_rows_params rows;
	struct dtc_gpu_copy_params copy;
	struct dtc_gpu_copies_params copies;
	struct dtc_gpu_periodic_params periodic;
	struct dtc_gpu_mapped_params mapped;
	struct dtc_gpu_staged_params staged;
	struct dtc_gpu_table_params table;
	struct dtc_gpu_pages_params pages;
	struct dtc_gpu_indexed_params indexed;
	struct dtc_gpu_transpose_params transpose;
	struct dtc_gpu_general_params general;
	struct dtc_gpu_many_params many;
	struct dtc_gpu_numbers_params numbers;
	struct dtc_gpu_period_params period;
	struct dtc_gpu_cells_params cells;
	struct dtc_gpu_crc_params crc;
	struct dtc_gpu_units_params units;
};

/* A launch: dimensions, parameters, and what the planner needs. */
struct dtc_gpu_launch {
	enum dtc_gpu_kernel kernel;
	enum dtc_gpu_class class;
	uint32_t grid; /* blocks of DTC_GPU_BLOCK threads; 0: nothing to move */
	uint32_t shared_bytes;
	uint32_t params_bytes;
	uint32_t word;      /* bytes that are moved at once on the user's side, as a rule */
	uint64_t bytes;     /* moved */
	uint64_t run_bytes; /* of an average run */
	const char *reason; /* of a general launch: why no other class would do */
	uint64_t map_units; /* of the map, if that is too large; else 0 */
	union dtc_gpu_params params;
};

/* Where parts are put that do not fit a launch's parameters. */
struct dtc_gpu_parts {
	struct dtc_gpu_part *host; /* to be copied to @device before the launch */
	uint32_t capacity;
	uint64_t device;
};

/*
 * Plan one job. The flag in the parameters is left 0: set launch->params.done afterwards. @needed
 * is the number of parts that @parts must have room for, 0 where all are in the launch; @parts may be
 * NULL where there is no room. Returns 0, DTCONV_ERR_LIMIT if @parts is too small,
 * DTCONV_ERR_UNSUPPORTED if the type's image is needed, or DTCONV_ERR_AGAIN if the map is open and needed.
 */
int dtc_gpu_plan(const struct dtc_gpu_job *job, const struct dtc_gpu_parts *parts,
		 struct dtc_gpu_launch *launch, uint32_t *needed);

/* Of the map that a job asks for: its unit, its order, and whether the share of sectors is to be known. */
uint32_t dtc_gpu_job_map_unit(const struct dtc_gpu_job *job);
enum dtc_gpu_map_order dtc_gpu_job_map_order(const struct dtc_gpu_job *job);
bool dtc_gpu_job_map_filled(const struct dtc_gpu_job *job);

/* Plan many jobs of one direction as one launch. */
int dtc_gpu_plan_many(const struct dtc_gpu_job jobs[], size_t job_count,
		      const struct dtc_gpu_parts *parts, struct dtc_gpu_launch *launch,
		      uint32_t *needed);

/* Plan one job by the general kernel, which takes the type's image. */
int dtc_gpu_plan_general(const struct dtc_gpu_job *job, const char *reason,
			 struct dtc_gpu_launch *launch);

/*
 * The parts of one instance of a type, in device memory, for any job whose places are the same modulo 16
 * bytes. They are planned as dtc_gpu_plan_many plans dtc_gpu_sequence_job of any such job.
 */
struct dtc_gpu_sequence {
	const struct dtc_gpu_part *parts; /* the host's copy */
	uint32_t count;
	uint32_t tiles; /* the grid that was planned */
	uint64_t device;
};

struct dtc_gpu_job dtc_gpu_sequence_job(const struct dtc_gpu_job *job);

/* Plan a job of one instance by such parts. */
void dtc_gpu_plan_sequence(const struct dtc_gpu_job *job,
			   const struct dtc_gpu_sequence *sequence,
			   struct dtc_gpu_launch *launch);

/* ---- the device's copy of a program ------------------------------------------------------------ */

/* The bytes of a program that a device needs: its operations, then its tables. */
const void *dtc_gpu_program_bytes(const struct dtc_program *program, size_t *bytes);

/* The size of a program's image: a head, those bytes, and what saves the device work. */
size_t dtc_gpu_image_bytes(const struct dtc_program *program);

/*
 * Write the image, which goes to a 16-byte aligned address of the device. After the head and the
 * program come a divisor for each operation, and for each table of unlike runs the entries that
 * hold every DTC_GPU_START_BYTES-th byte.
 */
void dtc_gpu_image_write(const struct dtc_program *program, void *image);

#endif
