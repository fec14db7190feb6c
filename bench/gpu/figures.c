/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The planner's cost model solved for its parameters: the times of one launch, one copy and
 * many copies give the fixed costs; those of long runs give the rates.
 */
#include "config.h"

#include "bench/gpu/figures.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dtconv/dtconv.h>

#include "bench/gpu/gpu.h"
#include "bench/harness/engine.h"

/*
 * Sizes: of a job whose bytes cost next to nothing, within a device, over the bus, of pageable
 * memory.
 */
#define FEW_BYTES      4096
#define MANY_BYTES     ((size_t)128 << 20)
#define BUS_BYTES      ((size_t)32 << 20)
#define PAGEABLE_BYTES ((size_t)1 << 20)

/* Blocks that the driver copies one by one, because no two have the same distance. */
#define BLOCKS      32
#define BLOCK_BYTES (FEW_BYTES / BLOCKS)

#define MOST_ROUNDS 101

struct probe {
	struct gpu gpu;
	struct dtconv_context *library;
	struct gpu_figures *figures;
	gpu_progress_fn show;
	double steps; /* done so far */
};

/* The steps of a measurement, STEPS in all. */
#define STEPS 10.0

static bool fail(struct probe *probe, const char *problem)
{
	snprintf(probe->figures->problem, sizeof(probe->figures->problem), "%s", problem);
	return false;
}

static bool fail_by_library(struct probe *probe)
{
	char text[200] = "";

	dtconv_context_error(probe->library, text, sizeof(text));
	return fail(probe, text[0] ? text : "the library rejected a job");
}

/* ---- one job ----------------------------------------------------------------------------- */

/* A whole stream, moved by one backend. */
struct job {
	const char *layout;
	size_t bytes;
	enum gpu_place user, packed;
	const char *backend;
	bool unpack;
	int rounds;
};

static int move(const struct job *job, struct dtconv_type *type, void *user, void *packed)
{
	const struct dtconv_convertor_params params = { .struct_size = sizeof(params),
							.backends = job->backend };

	if (job->unpack)
		return dtconv_unpack_with(type, 1, user, packed, job->bytes, &params,
					  NULL);
	return dtconv_pack_with(type, 1, user, packed, job->bytes, &params, NULL);
}

static int compare(const void *a, const void *b)
{
	double one = *(const double *)a, other = *(const double *)b;

	return (one > other) - (one < other);
}

/*
 * The median time until the host sees completion, in nanoseconds. The first two jobs, which
 * load and map, do not count.
 */
static bool time_type(struct probe *probe, const struct job *job,
		      struct dtconv_type *type, void *user, void *packed, double *ns)
{
	double times[MOST_ROUNDS];

	for (int round = -2; round < job->rounds; round++) {
		double start = bench_now();

		if (move(job, type, user, packed))
			return fail_by_library(probe);
		if (round >= 0)
			times[round] = bench_now() - start;
	}
	qsort(times, (size_t)job->rounds, sizeof(times[0]), compare);
	*ns = times[job->rounds / 2];
	return true;
}

static bool time_job(struct probe *probe, const struct job *job, double *ns)
{
	struct dtconv_type_attr attr = { .struct_size = sizeof(attr) };
	struct dtconv_type *type;
	bool done = false;

	if (dtconv_type_parse(probe->library, job->layout, strlen(job->layout), &type))
		return fail_by_library(probe);
	if (dtconv_type_commit(type) || dtconv_type_query(type, &attr)) {
		fail_by_library(probe);
	} else {
		void *user = gpu_memory(&probe->gpu, job->user, ROLE_USER,
					(size_t)attr.true_extent);
		void *packed =
			gpu_memory(&probe->gpu, job->packed, ROLE_PACKED, job->bytes);

		done = user && packed ? time_type(probe, job, type, user, packed, ns)
				      : fail(probe, probe->gpu.problem);
	}
	dtconv_type_unref(type);
	if (probe->show)
		probe->show(probe->figures->name, ++probe->steps / STEPS);
	return done;
}

/* ---- fixed costs ------------------------------------------------------------------------- */

static void write_blocks(char *text, size_t capacity)
{
	size_t length =
		(size_t)snprintf(text, capacity, "hindexed_block(%d, [0", BLOCK_BYTES);

	for (int i = 1; i < BLOCKS; i++)
		length += (size_t)snprintf(text + length, capacity - length, ",%d",
					   i * 2 * BLOCK_BYTES + i * i * 8);
	snprintf(text + length, capacity - length, "], byte)");
}

/*
 * The time of a small copy becomes @copy_ns; the additional time of larger ones is due to their
 * bytes.
 */
static bool measure_calls(struct probe *probe, double *copy_ns)
{
	struct gpu_figures *figures = probe->figures;
	char blocks[800];
	struct job job = { .layout = "contiguous(4096, byte)",
			   .bytes = FEW_BYTES,
			   .user = PLACE_DEVICE,
			   .packed = PLACE_PINNED,
			   .backend = "cuda_copy",
			   .rounds = MOST_ROUNDS };
	double many_ns = 0, launch_ns = 0;

	if (!time_job(probe, &job, copy_ns))
		return false;
	write_blocks(blocks, sizeof(blocks));
	job.layout = blocks;
	if (!time_job(probe, &job, &many_ns))
		return false;
	job.layout = "vector(64, 64, 128, byte)";
	job.packed = PLACE_DEVICE;
	job.backend = "cuda_kernel";
	if (!time_job(probe, &job, &launch_ns))
		return false;
	figures->copy_ns = fmax((many_ns - *copy_ns) / (BLOCKS - 1), 0);
	figures->wake_ns = fmax(*copy_ns - figures->copy_ns, 0);
	figures->launch_ns = fmax(launch_ns - figures->wake_ns, 0);
	return true;
}

/* ---- rates ------------------------------------------------------------------------------- */

/* The time of one run, without the fixed cost of a job. */
static bool time_run(struct probe *probe, struct job job, bool unpack, double fixed_ns,
		     double *ns)
{
	char layout[60];

	snprintf(layout, sizeof(layout), "contiguous(%zu, byte)", job.bytes);
	job.layout = layout;
	job.unpack = unpack;
	job.rounds = 15;
	if (!time_job(probe, &job, ns))
		return false;
	*ns = fmax(*ns - fixed_ns, 1);
	return true;
}

/* From the device and to it. */
static bool measure_rate(struct probe *probe, enum gpu_place packed, size_t bytes,
			 const char *backend, double fixed_ns, double *rate)
{
	const struct job job = {
		.bytes = bytes, .user = PLACE_DEVICE, .packed = packed, .backend = backend
	};
	double out_ns, in_ns;

	if (!time_run(probe, job, false, fixed_ns, &out_ns) ||
	    !time_run(probe, job, true, fixed_ns, &in_ns))
		return false;
	*rate = 2 * (double)bytes / (out_ns + in_ns);
	return true;
}

/* Driver copies into pageable memory are slower; the planner accounts for it. */
static bool measure_pageable(struct probe *probe, double fixed_ns)
{
	const struct job job = { .bytes = PAGEABLE_BYTES,
				 .user = PLACE_DEVICE,
				 .packed = PLACE_HOST,
				 .backend = "cuda_copy" };
	double ns;

	if (!time_run(probe, job, true, fixed_ns, &ns))
		return false;
	probe->figures->pageable_rate = (double)PAGEABLE_BYTES / ns;
	return true;
}

/* Long runs within a device, limited by its memory. */
static size_t choose_bytes(struct probe *probe)
{
	size_t bytes = MANY_BYTES;

	while (bytes > FEW_BYTES &&
	       !(gpu_memory(&probe->gpu, PLACE_DEVICE, ROLE_USER, bytes) &&
		 gpu_memory(&probe->gpu, PLACE_DEVICE, ROLE_PACKED, bytes)))
		bytes /= 2;
	probe->gpu.problem[0] = '\0';
	return bytes;
}

static bool measure_rates(struct probe *probe, double copy_ns)
{
	struct gpu_figures *figures = probe->figures;
	double staged_ns = 2 * figures->wake_ns + figures->launch_ns;

	return measure_rate(probe, PLACE_DEVICE, choose_bytes(probe), "cuda_copy",
			    copy_ns, &figures->rate) &&
	       measure_rate(probe, PLACE_PINNED, BUS_BYTES, "cuda_copy", copy_ns,
			    &figures->bus_rate) &&
	       measure_pageable(probe, copy_ns) &&
	       measure_rate(probe, PLACE_HOST, PAGEABLE_BYTES, "cuda_staged", staged_ns,
			    &figures->staged_rate);
}

/* ---- devices ----------------------------------------------------------------------------- */

static void measure_device(struct probe *probe)
{
	double copy_ns = 0;

	if (dtconv_context_create(NULL, &probe->library)) {
		fail(probe, "the library cannot create a context");
		return;
	}
	if (measure_calls(probe, &copy_ns))
		measure_rates(probe, copy_ns);
	dtconv_context_destroy(probe->library);
}

static bool is_known(const struct gpu_figures *list, int count, const char *name)
{
	for (int i = 0; i < count; i++)
		if (!strcmp(list[i].name, name))
			return true;
	return false;
}

/* Returns the number of devices in the list. */
static int add_device(struct gpu_figures *list, int count, int ordinal,
		      gpu_progress_fn show)
{
	struct probe probe = { .figures = &list[count], .show = show };
	bool open = !gpu_open_alone(&probe.gpu, ordinal);

	if (!is_known(list, count, probe.gpu.name)) {
		*probe.figures = (struct gpu_figures){ .problem = "" };
		snprintf(probe.figures->name, sizeof(probe.figures->name), "%s",
			 probe.gpu.name);
		if (open)
			measure_device(&probe);
		else
			fail(&probe, probe.gpu.problem);
		count++;
	}
	gpu_close(&probe.gpu);
	return count;
}

int gpu_figures_measure(struct gpu_figures *list, size_t room, gpu_progress_fn show,
			char *why, size_t why_room)
{
	struct gpu_driver driver;
	int devices = 0, count = 0;

	if (gpu_driver_open(&driver, why, why_room))
		return -1;
	if (driver.DeviceGetCount(&devices) || !devices) {
		snprintf(why, why_room, "the CUDA driver reports no device");
		return -1;
	}
	for (int i = 0; i < devices && (size_t)count < room; i++)
		count = add_device(list, count, i, show);
	return count;
}
