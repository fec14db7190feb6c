/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Scratch memory on the device, allocated on first use. One thread borrows it at a time.
 */
#include "config.h"

#include "scratch.h"

#include "base/log.h"
#include "contexts.h"
#include "copy_backends/backend.h"

/*
 * On one device the memory is to stay in its cache. Across a link, parts take 10 us longer than their bytes do, so they
 * are long.
 */
static const size_t sizes[] = {
	[DTC_SCRATCH_COPIES] = (size_t)8 << 20,
	[DTC_SCRATCH_LINK] = (size_t)32 << 20,
	[DTC_SCRATCH_VIA_DEVICE] = (size_t)8 << 20,
};

/* One for each purpose. */
static struct dtc_cuda_scratch *scratch_of(const struct dtc_cuda_context *context)
{
	return context->parts[DTC_CUDA_PART_scratch];
}

static void init_scratch(struct dtc_cuda_context *context)
{
	for (int i = 0; i < DTC_SCRATCH_PURPOSES; i++)
		pthread_mutex_init(&scratch_of(context)[i].lock, NULL);
}

/* Nothing of it is borrowed. */
static void close_scratch(struct dtc_cuda_context *context)
{
	const struct dtc_cuda_scratch *scratch = scratch_of(context);

	for (int i = 0; i < DTC_SCRATCH_PURPOSES; i++)
		if (scratch[i].memory)
			context->cuda->driver.MemFree(scratch[i].memory);
}

static void free_scratch(struct dtc_cuda_context *context)
{
	for (int i = 0; i < DTC_SCRATCH_PURPOSES; i++)
		pthread_mutex_destroy(&scratch_of(context)[i].lock);
}

const struct dtc_cuda_feature dtc_cuda_scratch_feature = {
	.name = "scratch",
	.bytes = DTC_SCRATCH_PURPOSES * sizeof(struct dtc_cuda_scratch),
	.init = init_scratch,
	.close = close_scratch,
	.free = free_scratch,
};

/*
 * Kernels read whole words at both ends of the memory, so all of it is written once. The borrower waits for work in
 * that stream anyway.
 */
static CUresult clear(struct dtc_cuda_context *context, CUdeviceptr memory, size_t bytes)
{
	const struct dtc_cuda_driver *driver = &context->cuda->driver;
	CUstream stream = context->lanes[DTC_CUDA_LANE_COPY];
	CUresult result = driver->MemsetD8Async(memory, 0, bytes, stream);

	while (!result && dtc_cuda_context_is_alive(context) &&
	       driver->StreamQuery(stream) == CUDA_ERROR_NOT_READY)
		;
	return result;
}

static CUresult make(struct dtc_cuda_context *context, struct dtc_cuda_scratch *scratch,
		     size_t bytes)
{
	const struct dtc_cuda_driver *driver = &context->cuda->driver;
	CUcontext popped;

	if (scratch->memory)
		return 0;
	CUresult result = driver->CtxPushCurrent(context->handle);
	if (result)
		return result;
	result = driver->MemAlloc(&scratch->memory, bytes);
	if (!result)
		result = clear(context, scratch->memory, bytes);
	driver->CtxPopCurrent(&popped);
	return result;
}

static void end(struct dtc_scratch *borrowed)
{
	struct dtc_cuda_scratch *scratch = borrowed->owner;

	pthread_mutex_unlock(&scratch->lock);
}

static bool lend(struct dtc_cuda_context *context, enum dtc_scratch_purpose purpose,
		 struct dtc_scratch *borrowed)
{
	struct dtc_cuda_scratch *scratch = &scratch_of(context)[purpose];

	pthread_mutex_lock(&scratch->lock);
	CUresult result = make(context, scratch, sizes[purpose]);

	if (result) {
		pthread_mutex_unlock(&scratch->lock);
		DTC_LOG(context->cuda->context, DTCONV_LOG_WARN,
			"device %d: cannot allocate scratch memory (%s); copies "
			"go by one launch, or through host memory",
			context->device,
			dtc_cuda_result_name(&context->cuda->driver, result));
		return false;
	}
	*borrowed = (struct dtc_scratch){ .memory = (char *)(uintptr_t)scratch->memory,
					  .bytes = sizes[purpose],
					  .stream = context->lanes[DTC_CUDA_LANE_COPY],
					  .owner = scratch,
					  .end = end };
	return true;
}

bool dtc_cuda_scratch_borrow(struct dtconv_context *context,
			     const struct dtc_memory *near,
			     enum dtc_scratch_purpose purpose,
			     struct dtc_scratch *borrowed)
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
	bool scratch = !dtc_cuda_context_choose(cuda, &job, &chosen) &&
		       chosen->device == near->device && lend(chosen, purpose, borrowed);
	dtc_cuda_unrelax(&cuda->driver, mode);
	return scratch;
}
