/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Planning a job as one launch, and launching it: by a specialised kernel or in a graph where there is one,
 * else by the prebuilt kernel.
 */
#include "config.h"

#include "launch.h"

#include "base/context.h"
#include "base/log.h"
#include "copy_backends/cuda/device/completion.h"
#include "copy_backends/cuda/device/image.h"
#include "copy_backends/cuda/device/map.h"
#include "graphs.h"
#include "kernel_module.h"
#include "part_list.h"
#include "resident.h"
#include "special_kernels.h"

/* Sectors of shorter streams are mostly in the last cache, and asking for them costs 5 to 15 %. */
#define LONG_BYTES (UINT64_C(32) << 20)

bool dtc_cuda_is_local(const struct dtc_cuda_context *context,
		       const struct dtc_memory *memory)
{
	return memory->kind == DTCONV_MEMORY_DEVICE &&
	       (memory->device == context->device || memory->device < 0);
}

bool dtc_cuda_is_near(const struct dtc_cuda_context *context,
		      const struct dtc_memory *memory, uint64_t bytes)
{
	return bytes >= LONG_BYTES && dtc_cuda_is_local(context, memory);
}

static bool is_for_one_block(const struct dtc_job *job)
{
	if (!job->context->devices.resident)
		return false;
	const struct dtc_question question = dtc_question_of(job);

	return dtc_cuda_resident_may(&question);
}

/* A graph will repeat what is captured. */
static bool is_first_use(const struct dtc_cuda_submission *submission)
{
	const struct dtc_layout *layout = submission->job->cursor->layout;

	return !submission->capturing &&
	       !atomic_load_explicit(&layout->images, memory_order_relaxed);
}

static struct dtc_gpu_job describe_job(const struct dtc_cuda_submission *submission)
{
	const struct dtc_job *job = submission->job;
	const struct dtc_cursor *cursor = job->cursor;

	return (struct dtc_gpu_job){
		.layout = cursor->layout,
		.count = cursor->count,
		.user = (uint64_t)(uintptr_t)job->user + (uint64_t)job->user_memory.shift,
		.packed = (uint64_t)(uintptr_t)job->packed +
			  (uint64_t)job->packed_memory.shift,
		.begin = cursor->position,
		.end = cursor->position + job->bytes,
		.direction = job->direction,
		.local = dtc_cuda_is_local(submission->context, &job->user_memory),
		.near = dtc_cuda_is_near(submission->context, &job->user_memory,
					 job->bytes),
		.one_block = is_for_one_block(job),
		.first = is_first_use(submission),
		.map_state = DTC_GPU_MAP_OPEN,
	};
}

static int find_map(struct dtc_gpu_job *job, struct dtc_cuda_context *context,
		    const struct dtc_cuda_reader *reader, const char *caller)
{
	const struct dtc_cuda_map_request request = { .layout = job->layout,
						      .unit = dtc_gpu_job_map_unit(job),
						      .order = dtc_gpu_job_map_order(job),
						      .filled =
							      dtc_gpu_job_map_filled(job),
						      .reader = reader,
						      .caller = caller };
	int status = dtc_cuda_map_find(context, &request, &job->map);

	if (!status)
		job->map_state = DTC_GPU_MAP_ANSWERED;
	return status;
}

int dtc_cuda_plan(struct dtc_gpu_job *job, struct dtc_cuda_context *context,
		  const struct dtc_cuda_reader *reader, const char *caller,
		  struct dtc_gpu_launch *launch)
{
	uint32_t parts;
	CUdeviceptr image;
	int status = dtc_gpu_plan(job, NULL, launch, &parts);

	if (status == DTCONV_ERR_AGAIN) {
		status = find_map(job, context, reader, caller);
		if (!status)
			status = dtc_gpu_plan(job, NULL, launch, &parts);
	}
	/* Most types have no tables, and need nothing on the device. */
	if (status != DTCONV_ERR_UNSUPPORTED)
		return status;
	status = dtc_cuda_image_find(job->layout, context, reader, caller, &image);
	if (status)
		return status;
	job->image = image;
	return dtc_gpu_plan(job, NULL, launch, &parts);
}

int dtc_cuda_submission_plan(const struct dtc_cuda_submission *submission,
			     struct dtc_gpu_launch *launch)
{
	const struct dtc_cuda_reader reader = dtc_cuda_submission_reader(submission);
	struct dtc_gpu_job gpu = describe_job(submission);
	const char *caller = submission->job->caller;
	int status = dtc_cuda_plan(&gpu, submission->context, &reader, caller, launch);

	if (status == DTCONV_ERR_LIMIT)
		status = dtc_cuda_part_list_plan(&gpu, submission->context, &reader,
						 caller, launch);
	return status;
}

static enum dtc_counter counter_of(enum dtc_gpu_class class)
{
	static const enum dtc_counter counters[] = {
		[DTC_GPU_CLASS_STRIDED] = DTC_COUNT_LAUNCHES_STRIDED,
		[DTC_GPU_CLASS_PERIODIC] = DTC_COUNT_LAUNCHES_PERIODIC,
		[DTC_GPU_CLASS_INDEXED] = DTC_COUNT_LAUNCHES_INDEXED,
		[DTC_GPU_CLASS_TRANSPOSING] = DTC_COUNT_LAUNCHES_TRANSPOSING,
		[DTC_GPU_CLASS_GENERAL] = DTC_COUNT_LAUNCHES_GENERAL,
		[DTC_GPU_CLASS_MANY] = DTC_COUNT_LAUNCHES_MANY,
		[DTC_GPU_CLASS_TYPED] = DTC_COUNT_LAUNCHES_TYPED,
		[DTC_GPU_CLASS_MAPPED] = DTC_COUNT_LAUNCHES_MAPPED,
		[DTC_GPU_CLASS_COPY] = DTC_COUNT_LAUNCHES_COPY,
	};

	return counters[class];
}

bool dtc_cuda_kernel_writes_flag(const struct dtc_gpu_launch *launch)
{
	return launch->grid == 1;
}

/* By the shape's own kernel, if there is one by now. */
static CUresult launch_plain(const struct dtc_cuda_submission *submission,
			     struct dtc_gpu_launch *launch)
{
	CUfunction special = dtc_cuda_special_kernel_find(submission, launch);
	void *params[] = { &launch->params };

	CUresult result = submission->driver->LaunchKernel(
		special ? special
			: dtc_cuda_kernel_module_of(submission->context)
				  ->functions[launch->kernel],
		launch->grid, 1, 1, DTC_GPU_BLOCK, 1, 1, launch->shared_bytes,
		submission->stream, params, NULL);
	if (!result && special)
		dtc_context_count(submission->job->context, DTC_COUNT_LAUNCHES_SPECIAL,
				  1);
	return result;
}

CUresult dtc_cuda_launch(const struct dtc_cuda_submission *submission,
			 struct dtc_gpu_launch *launch, bool flag)
{
	launch->params.done = (struct dtc_gpu_done){ .flag = 0 };
	if (flag && !submission->unmarked)
		launch->params.done = dtc_cuda_flag_done(submission->event);
	CUresult result = CUDA_SUCCESS;
	if (!dtc_cuda_graphs_launch(submission, launch))
		result = launch_plain(submission, launch);
	if (!result)
		dtc_context_count(submission->job->context, counter_of(launch->class), 1);
	return result;
}
