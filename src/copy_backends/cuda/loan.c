/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory of the device for what has to be put somewhere for a moment: made when first asked for, lent to
 * one at a time.
 */
#include "config.h"

#include "state.h"

#include "log.h"

void dtc_cuda_lent_init(struct dtc_cuda_context *context)
{
	for (int i = 0; i < DTC_CUDA_PURPOSES; i++)
		pthread_mutex_init(&context->lent[i].lock, NULL);
}

void dtc_cuda_lent_free(struct dtc_cuda_context *context)
{
	for (int i = 0; i < DTC_CUDA_PURPOSES; i++)
		if (context->lent[i].memory)
			context->cuda->driver.MemFree(context->lent[i].memory);
}

void dtc_cuda_lent_close(struct dtc_cuda_context *context)
{
	for (int i = 0; i < DTC_CUDA_PURPOSES; i++)
		pthread_mutex_destroy(&context->lent[i].lock);
}

/*
 * Kernels read whole words at both ends of what they are lent, so that has been written all over. Once: who
 * borrows it waits for work in that stream anyway.
 */
static CUresult clear(struct dtc_cuda_context *context, CUdeviceptr memory)
{
	const struct dtc_cuda_driver *driver = &context->cuda->driver;
	CUresult result =
		driver->MemsetD8Async(memory, 0, DTC_CUDA_LOAN_BYTES, context->stream);

	while (!result && dtc_cuda_context_is_alive(context) &&
	       driver->StreamQuery(context->stream) == CUDA_ERROR_NOT_READY)
		;
	return result;
}

static CUresult make(struct dtc_cuda_context *context, struct dtc_cuda_lent *lent)
{
	const struct dtc_cuda_driver *driver = &context->cuda->driver;
	CUcontext popped;

	if (lent->memory)
		return 0;
	CUresult result = driver->CtxPushCurrent(context->handle);
	if (result)
		return result;
	result = driver->MemAlloc(&lent->memory, DTC_CUDA_LOAN_BYTES);
	if (!result)
		result = clear(context, lent->memory);
	driver->CtxPopCurrent(&popped);
	return result;
}

static void end(struct dtc_scratch *loan)
{
	struct dtc_cuda_lent *lent = loan->owner;

	pthread_mutex_unlock(&lent->lock);
}

static bool lend(struct dtc_cuda_context *context, struct dtc_cuda_lent *lent,
		 struct dtc_scratch *loan)
{
	pthread_mutex_lock(&lent->lock);
	CUresult result = make(context, lent);

	if (result) {
		pthread_mutex_unlock(&lent->lock);
		DTC_LOG(context->cuda->context, DTCONV_LOG_WARN,
			"device %d gave no memory for copies in itself (%s), they go through the host's",
			context->device,
			dtc_cuda_result_name(&context->cuda->driver, result));
		return false;
	}
	*loan = (struct dtc_scratch){ .memory = (char *)(uintptr_t)lent->memory,
				      .bytes = DTC_CUDA_LOAN_BYTES,
				      .stream = context->stream,
				      .owner = lent,
				      .end = end };
	return true;
}

bool dtc_cuda_lend_for(struct dtconv_context *context, const struct dtc_memory *near,
		       enum dtc_cuda_purpose purpose, struct dtc_scratch *loan)
{
	const struct dtc_job job = { .user_memory = *near,
				     .packed_memory = *near,
				     .context = context,
				     .caller = "dtconv_copy" };
	struct dtc_cuda *cuda = dtc_cuda_of(context);
	struct dtc_cuda_context *chosen;

	if (!cuda)
		return false;
	CUstreamCaptureMode mode = dtc_cuda_relax(&cuda->driver);
	bool lent = !dtc_cuda_context_choose(cuda, &job, &chosen) &&
		    chosen->device == near->device &&
		    lend(chosen, &chosen->lent[purpose], loan);
	dtc_cuda_unrelax(&cuda->driver, mode);
	return lent;
}

bool dtc_cuda_lend(struct dtconv_context *context, const struct dtc_memory *near,
		   struct dtc_scratch *loan)
{
	return dtc_cuda_lend_for(context, near, DTC_CUDA_FOR_COPIES, loan);
}
