/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory of the device for what has to be put somewhere for a moment: made when first asked for, lent to
 * one at a time.
 */
#include "config.h"

#include "state.h"

#include "log.h"

static CUresult make(struct dtc_cuda_context *context)
{
	const struct dtc_cuda_driver *driver = &context->cuda->driver;
	CUcontext popped;

	if (context->loan)
		return 0;
	CUresult result = driver->CtxPushCurrent(context->handle);
	if (result)
		return result;
	result = driver->MemAlloc(&context->loan, DTC_CUDA_LOAN_BYTES);
	driver->CtxPopCurrent(&popped);
	return result;
}

static void end(struct dtc_loan *loan)
{
	struct dtc_cuda_context *context = loan->lender;

	pthread_mutex_unlock(&context->lending);
}

static bool lend(struct dtc_cuda_context *context, struct dtc_loan *loan)
{
	pthread_mutex_lock(&context->lending);
	CUresult result = make(context);

	if (result) {
		pthread_mutex_unlock(&context->lending);
		DTC_LOG(context->cuda->context, DTCONV_LOG_WARN,
			"device %d gave no memory for copies in itself (%s), they go through the host's",
			context->device,
			dtc_cuda_result_name(&context->cuda->driver, result));
		return false;
	}
	*loan = (struct dtc_loan){ .memory = (char *)(uintptr_t)context->loan,
				   .bytes = DTC_CUDA_LOAN_BYTES,
				   .stream = context->stream,
				   .lender = context,
				   .end = end };
	return true;
}

bool dtc_cuda_lend(struct dtconv_context *context, const struct dtc_memory *near,
		   struct dtc_loan *loan)
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
	bool lent = !dtc_cuda_context_choose(cuda, &job, &chosen) && lend(chosen, loan);
	dtc_cuda_unrelax(&cuda->driver, mode);
	return lent;
}
