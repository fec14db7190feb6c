/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a first job would make, made before it: the device context with its kernels, the type's program on the device,
 * the staging ring, the pipeline. Each is made by the function that a job calls for it, so that nothing is made twice.
 */
#include "config.h"

#include "copy_backends/prepare.h"

#include <time.h>

#include "base/base.h"
#include "base/clock.h"
#include "base/context.h"
#include "base/log.h"
#include "copy_backends/backend_set.h"
#include "copy_backends/cuda/device/completion.h"
#include "copy_backends/cuda/device/contexts.h"
#include "copy_backends/cuda/device/image.h"
#include "copy_backends/cuda/launch/graphs.h"
#include "copy_backends/cuda/launch/kernel_module.h"
#include "copy_backends/cuda/launch/launch.h"
#include "copy_backends/cuda/launch/part_list.h"
#include "copy_backends/plan.h"
#include "copy_threads.h"
#include "moves.h"
#include "pinned_pipeline.h"
#include "staging.h"

/* ---- which device ---------------------------------------------------------------------- */

static int check_device(const struct dtc_cuda *cuda,
			const struct dtc_preparation *preparation)
{
	int devices = 0;
	CUresult result = cuda->driver.DeviceGetCount(&devices);

	if (result)
		return DTC_FAIL(cuda->context, DTCONV_ERR_BACKEND,
				"%s: cuDeviceGetCount failed: %s", preparation->caller,
				dtc_cuda_result_name(&cuda->driver, result));
	if (preparation->device >= devices)
		return DTC_FAIL(cuda->context, DTCONV_ERR_INVAL,
				"%s: device (argument 2) is %d, there are %d devices",
				preparation->caller, preparation->device, devices);
	if (preparation->device < 0 || dtc_cuda_context_exists(cuda, preparation->device))
		return 0;
	return DTC_FAIL(
		cuda->context, DTCONV_ERR_STATE,
		"%s: no CUDA context of device %d can be used: none is current, and "
		"the primary context is not active",
		preparation->caller, preparation->device);
}

static struct dtc_memory memory_of(const struct dtc_preparation *preparation,
				   enum dtconv_memory_kind kind)
{
	return (struct dtc_memory){ .kind = kind,
				    .device = kind == DTCONV_MEMORY_HOST
						      ? -1
						      : preparation->device };
}

/* A job like those to come, for what chooses by a job. */
static struct dtc_job job_of(const struct dtc_preparation *preparation)
{
	return (struct dtc_job){
		.context = preparation->context,
		.user_memory = memory_of(preparation, preparation->user_kind),
		.packed_memory = memory_of(preparation, preparation->packed_kind),
		.on_stream = preparation->on_stream,
		.stream = preparation->stream,
		.forbidden = preparation->forbidden,
		.caller = preparation->caller
	};
}

static bool is_captured(const struct dtc_cuda *cuda,
			const struct dtc_preparation *preparation)
{
	CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;

	return preparation->on_stream &&
	       !cuda->driver.StreamIsCapturing((CUstream)preparation->stream, &capture) &&
	       capture != CU_STREAM_CAPTURE_STATUS_NONE;
}

/* ---- kernels --------------------------------------------------------------------------- */

static int report_kernels(struct dtc_cuda_context *context, enum dtc_gpu_set set,
			  const char *caller)
{
	int state = atomic_load(&dtc_cuda_kernel_module_of(context)->sets[set].state);

	if (state == DTC_CUDA_KERNELS_UNLOADABLE)
		return DTC_FAIL(
			context->cuda->context, DTCONV_ERR_BACKEND,
			"%s: cannot load the kernels on device %d; jobs take slower "
			"paths (set DTCONV_LOG=warn for the reason)",
			caller, context->device);
	if (state == DTC_CUDA_KERNELS_UNWANTED)
		return DTC_FAIL(context->cuda->context, DTCONV_ERR_NOMEM,
				"%s: cannot allocate a request to load kernels", caller);
	return DTC_FAIL(
		context->cuda->context, DTCONV_ERR_AGAIN,
		"%s: device %d is busy, and kernels are loaded when it is idle; jobs "
		"take slower paths until then",
		caller, context->device);
}

static int prepare_set(struct dtc_cuda_context *context, enum dtc_gpu_set set,
		       const struct dtc_preparation *preparation)
{
	if (dtc_cuda_kernel_set_prepare(context, set,
					is_captured(context->cuda, preparation)))
		return 0;
	return report_kernels(context, set, preparation->caller);
}

static int prepare_kernels(struct dtc_cuda_context *context,
			   const struct dtc_preparation *preparation)
{
	int status = prepare_set(context, DTC_GPU_SET_MOVING, preparation);

	if (status || (!preparation->typed && !preparation->summed_up))
		return status;
	return prepare_set(context, DTC_GPU_SET_TYPED, preparation);
}

/* ---- what a type needs on the device --------------------------------------------------- */

/*
 * Buffers as well aligned as allocations are, and such that are not: which may take another kernel, and that one the
 * program.
 */
#define ALIGNED UINT64_C(0x10000000000)

static const uint64_t addresses[] = { ALIGNED, ALIGNED + 1 };

/* What the plan finds missing, it makes. One launch may not be enough for the type; then there is nothing to make. */
static int prepare_launch(struct dtc_cuda_context *context,
			  const struct dtc_preparation *preparation, uint64_t user,
			  enum dtc_direction direction)
{
	struct dtc_gpu_job job = { .layout = preparation->layout,
				   .count = preparation->count,
				   .user = user,
				   .packed = ALIGNED,
				   .end = preparation->layout->size * preparation->count,
				   .direction = direction,
				   .map_state = DTC_GPU_MAP_OPEN };
	struct dtc_gpu_launch launch;

	int status = dtc_cuda_plan(&job, context, NULL, preparation->caller, &launch);
	if (status == DTCONV_ERR_LIMIT)
		status = dtc_cuda_part_list_plan(&job, context, NULL, preparation->caller,
						 &launch);
	if (status == DTCONV_ERR_UNSUPPORTED)
		return 0;
	if (!status && !preparation->on_stream)
		dtc_cuda_graphs_want(context, launch.kernel);
	return status;
}

static int prepare_launches(struct dtc_cuda_context *context,
			    const struct dtc_preparation *preparation)
{
	int status = 0;

	for (size_t i = 0; !status && i < DTC_ARRAY_LENGTH(addresses); i++) {
		status = prepare_launch(context, preparation, addresses[i], DTC_PACK);
		if (!status)
			status = prepare_launch(context, preparation, addresses[i],
						DTC_UNPACK);
	}
	return status;
}

/* Typed kernels find elements by the program unless all of them are of one kind. */
static int prepare_program(struct dtc_cuda_context *context,
			   const struct dtc_preparation *preparation)
{
	CUdeviceptr unused;

	if (!preparation->typed)
		return 0;
	return dtc_cuda_image_find(preparation->layout, context, NULL,
				   preparation->caller, &unused);
}

/* ---- ways through the bus -------------------------------------------------------------- */

static bool has_ordinary(const struct dtc_preparation *preparation)
{
	return preparation->user_kind == DTCONV_MEMORY_HOST ||
	       preparation->packed_kind == DTCONV_MEMORY_HOST;
}

static struct dtc_question question_of(const struct dtc_cuda_context *context,
				       const struct dtc_preparation *preparation,
				       enum dtc_direction direction)
{
	struct dtconv_context *owner = preparation->context;

	return (struct dtc_question){
		.layout = preparation->layout,
		.count = preparation->count,
		.bytes = preparation->layout->size * preparation->count,
		.user_kind = preparation->user_kind,
		.packed_kind = preparation->packed_kind,
		.direction = direction,
		.context = owner,
		.forbidden = owner->forbidden | preparation->forbidden,
		.on_stream = preparation->on_stream || owner->devices.default_stream,
		.device = context->device,
	};
}

/*
 * The pipeline's pieces are device memory, which only a type that goes this way takes, packed or unpacked, waited for or
 * started.
 */
static bool is_piped(const struct dtc_cuda_context *context,
		     const struct dtc_preparation *preparation)
{
	for (int started = 0; started < 2; started++)
		for (int direction = DTC_PACK; direction <= DTC_UNPACK; direction++) {
			struct dtc_question question = question_of(
				context, preparation, (enum dtc_direction)direction);

			question.started = started;
			if (dtc_plan_choose(&question) == &dtc_cuda_pipeline_backend)
				return true;
		}
	return false;
}

/* Threads that copy come with jobs that are long enough for them. */
static int prepare_staging(struct dtc_cuda_context *context,
			   const struct dtc_preparation *preparation)
{
	const struct dtc_layout *layout = preparation->layout;
	int status = dtc_cuda_staging_prepare(context, preparation->caller);

	if (!status && layout)
		(void)dtc_cuda_copy_threads_helpers(context->cuda->copy_threads,
						    preparation->context,
						    layout->size * preparation->count);
	return status;
}

/* Pieces of a started job end by an event each, and so does the job. */
static int prepare_events(struct dtc_cuda_context *context,
			  const struct dtc_preparation *preparation)
{
	const struct dtc_layout *layout = preparation->layout;
	uint64_t bytes = layout ? layout->size * preparation->count : UINT64_MAX;

	if (!dtc_cuda_ends_by_event(preparation->on_stream, bytes))
		return 0;
	return dtc_cuda_flag_prepare(
		context, has_ordinary(preparation) ? DTC_CUDA_STAGING_SLOTS + 1 : 1,
		preparation->caller);
}

/* ---- what is loaded in the background ---------------------------------------------------- */

/* Loads that synchronise the context after the call would invalidate a capture that begins after it. */
static int await_loads(const struct dtc_cuda_context *context, const char *caller)
{
	const struct timespec nap = { .tv_nsec = 50000 };
	const uint64_t end = dtc_now_ns() + DTC_CUDA_LOADING_NS;

	while (atomic_load(&context->loads)) {
		if (dtc_now_ns() >= end)
			return DTC_FAIL(
				context->cuda->context, DTCONV_ERR_AGAIN,
				"%s: kernels or graphs of device %d are still being compiled, "
				"or wait for it to be idle; captures that begin before they are "
				"loaded may be invalidated",
				caller, context->device);
		nanosleep(&nap, NULL);
	}
	return 0;
}

/* ---- all of it ------------------------------------------------------------------------- */

static int prepare_type(struct dtc_cuda_context *context,
			const struct dtc_preparation *preparation)
{
	int status = preparation->user_kind == DTCONV_MEMORY_HOST
			     ? 0
			     : prepare_launches(context, preparation);

	if (!status)
		status = prepare_program(context, preparation);
	if (!status && is_piped(context, preparation))
		dtc_cuda_pipeline_prepare(context);
	return status;
}

static int prepare_in(struct dtc_cuda_context *context,
		      const struct dtc_preparation *preparation)
{
	const struct dtc_layout *layout = preparation->layout;
	int status = prepare_kernels(context, preparation);

	if (!status)
		status = prepare_events(context, preparation);
	if (!status && has_ordinary(preparation))
		status = prepare_staging(context, preparation);
	if (!status && layout && layout->size && preparation->count)
		status = prepare_type(context, preparation);
	if (!status)
		status = await_loads(context, preparation->caller);
	return status;
}

int dtc_cuda_prepare(const struct dtc_preparation *preparation)
{
	struct dtc_cuda *cuda = dtc_cuda_of(preparation->context);
	const struct dtc_job job = job_of(preparation);
	struct dtc_cuda_context *chosen;
	CUstreamCaptureMode mode = dtc_cuda_relax(&cuda->driver);
	int status = preparation->on_stream ? 0 : check_device(cuda, preparation);

	if (!status)
		status = dtc_cuda_context_choose(cuda, &job, &chosen);
	if (!status)
		status = prepare_in(chosen, preparation);
	dtc_cuda_unrelax(&cuda->driver, mode);
	return status;
}
