/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What can be done with one device context: checking that it still exists, forgetting it, and failing a job
 * for a driver call in it.
 */
#include "config.h"

#include "device_context.h"

#include "base/context.h"
#include "base/log.h"

bool dtc_cuda_context_is_alive(struct dtc_cuda_context *context)
{
	unsigned long long id;

	if (atomic_load_explicit(&context->lost, memory_order_relaxed))
		return false;
	if (!context->cuda->driver.CtxGetId(context->handle, &id) && id == context->id)
		return true;
	dtc_cuda_context_lose(context);
	return false;
}

int dtc_cuda_context_capability(const struct dtc_cuda_context *context,
				CUdevice_attribute attribute)
{
	int value = 0;

	context->cuda->driver.DeviceGetAttribute(&value, attribute, context->device);
	return value;
}

uint32_t dtc_cuda_context_arch(const struct dtc_cuda_context *context)
{
	int major = dtc_cuda_context_capability(
		context, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
	int minor = dtc_cuda_context_capability(
		context, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);

	return (uint32_t)(major * 10 + minor);
}

void dtc_cuda_context_lose(struct dtc_cuda_context *context)
{
	if (!atomic_exchange(&context->lost, true))
		DTC_LOG(context->cuda->context, DTCONV_LOG_WARN,
			"device %d: a CUDA context was destroyed; its staging buffers are leaked",
			context->device);
}

bool dtc_cuda_result_is_fatal(CUresult result)
{
	switch (result) {
	case CUDA_ERROR_ILLEGAL_ADDRESS:
	case CUDA_ERROR_LAUNCH_FAILED:
	case CUDA_ERROR_LAUNCH_TIMEOUT:
	case CUDA_ERROR_ILLEGAL_INSTRUCTION:
	case CUDA_ERROR_MISALIGNED_ADDRESS:
	case CUDA_ERROR_INVALID_ADDRESS_SPACE:
	case CUDA_ERROR_INVALID_PC:
	case CUDA_ERROR_HARDWARE_STACK_ERROR:
	case CUDA_ERROR_ASSERT:
	case CUDA_ERROR_ECC_UNCORRECTABLE:
	case CUDA_ERROR_NVLINK_UNCORRECTABLE:
	case CUDA_ERROR_CONTEXT_IS_DESTROYED:
	case CUDA_ERROR_DEINITIALIZED:
	case CUDA_ERROR_UNKNOWN:
		return true;
	default:
		return false;
	}
}

int dtc_cuda_fail(struct dtc_cuda_context *context, CUresult result, const char *call,
		  const char *caller)
{
	if (dtc_cuda_result_is_fatal(result))
		dtc_cuda_context_lose(context);
	if (result == DTC_CUDA_NO_HOST_MEMORY)
		return DTC_FAIL(context->cuda->context, DTCONV_ERR_NOMEM,
				"%s: cannot allocate host memory for %s on device %d",
				caller, call, context->device);
	return DTC_FAIL(context->cuda->context, DTCONV_ERR_BACKEND,
			"%s: %s failed on device %d: %s", caller, call, context->device,
			dtc_cuda_result_name(&context->cuda->driver, result));
}

CUresult dtc_cuda_context_synchronise(struct dtc_cuda_context *context)
{
	CUresult result = context->captured ? CUDA_SUCCESS
					    : context->cuda->driver.CtxSynchronize();

	if (result == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED ||
	    result == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED)
		return CUDA_SUCCESS;
	return result;
}

static CUresult create_stream(struct dtc_cuda_context *context, unsigned flags,
			      CUstream *stream)
{
	const struct dtc_cuda_driver *driver = &context->cuda->driver;
	int least = 0, greatest = 0;

	driver->CtxGetStreamPriorityRange(&least, &greatest);
	return driver->StreamCreateWithPriority(stream, flags, greatest);
}

CUresult dtc_cuda_stream_create(struct dtc_cuda_context *context, CUstream *stream)
{
	return create_stream(context, CU_STREAM_NON_BLOCKING, stream);
}

/* ---- lanes ------------------------------------------------------------------------------- */

bool dtc_cuda_context_is_lane(const struct dtc_cuda_context *context, CUstream stream)
{
	for (size_t i = 0; i < DTC_CUDA_LANES; i++)
		if (context->lanes[i] == stream)
			return true;
	return false;
}

/* Work of a blocking stream and of the legacy default stream runs in the order in which it was submitted. */
static CUresult open_lane(struct dtc_cuda_context *context, size_t lane)
{
	bool ordered = context->cuda->context->devices.default_stream;

	if (context->lanes[lane])
		return CUDA_SUCCESS;
	if (!ordered)
		return dtc_cuda_stream_create(context, &context->lanes[lane]);
	if (lane == 0)
		return create_stream(context, CU_STREAM_DEFAULT, &context->lanes[0]);
	context->lanes[lane] = context->lanes[0];
	return CUDA_SUCCESS;
}

static int open_lanes(struct dtc_cuda_context *context, const char *caller)
{
	CUresult result = CUDA_SUCCESS;

	for (size_t i = 0; !result && i < DTC_CUDA_LANES; i++)
		result = open_lane(context, i);
	return result ? dtc_cuda_fail(context, result, "cuStreamCreateWithPriority",
				      caller)
		      : 0;
}

static void close_lanes(struct dtc_cuda_context *context)
{
	for (size_t i = 0; i < DTC_CUDA_LANES; i++)
		if (context->lanes[i] &&
		    (i == 0 || context->lanes[i] != context->lanes[0]))
			context->cuda->driver.StreamDestroy(context->lanes[i]);
}

const struct dtc_cuda_feature dtc_cuda_lanes_feature = {
	.name = "lanes",
	.open = open_lanes,
	.close = close_lanes,
};
