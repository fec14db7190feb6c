/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Device contexts: which one a job belongs in, what is set up in it before its first job, and how it is
 * forgotten. None is ever made here, and none is left current on the caller's thread.
 */
#include "config.h"

#include "device_context.h"

#include <stdio.h>
#include <time.h>

#include "clock.h"
#include "context.h"
#include "copy_backends/cuda/launch/special_kernels.h"
#include "copy_backends/cuda/moves/staging_ring.h"
#include "kernels/gpu_images.h"
#include "log.h"

/* ---- alive and lost -------------------------------------------------------------------- */

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

void dtc_cuda_context_lose(struct dtc_cuda_context *context)
{
	if (!atomic_exchange(&context->lost, true))
		DTC_LOG(context->cuda->context, DTCONV_LOG_WARN,
			"device %d: a context is gone, its staging memory is abandoned",
			context->device);
}

/* Results after which nothing in the context works any more. */
static bool is_fatal(CUresult result)
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
	if (is_fatal(result))
		dtc_cuda_context_lose(context);
	return DTC_FAIL(context->cuda->context, DTCONV_ERR_BACKEND, "%s: device %d answered %s to %s",
			caller, context->device,
			dtc_cuda_result_name(&context->cuda->driver, result), call);
}

/* ---- opening --------------------------------------------------------------------------- */

static int capability(const struct dtc_cuda_context *context, CUdevice_attribute attribute)
{
	int value = 0;

	context->cuda->driver.DeviceGetAttribute(&value, attribute, context->device);
	return value;
}

static uint32_t arch_of(const struct dtc_cuda_context *context)
{
	int major = capability(context, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
	int minor = capability(context, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);

	return (uint32_t)(major * 10 + minor);
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

/* Runs in the worker. */
static void load_kernels(struct dtc_cuda_context *context)
{
	const struct dtc_cuda_driver *driver = &context->cuda->driver;
	const struct dtc_gpu_image *image = dtc_gpu_image_for(context->arch);
	CUresult result = image ? dtc_cuda_context_synchronise(context)
				: CUDA_ERROR_NO_BINARY_FOR_GPU;

	if (!result)
		result = driver->ModuleLoadData(&context->module, image->data);
	for (unsigned i = 0; !result && i < DTC_GPU_KERNELS; i++)
		result = driver->ModuleGetFunction(&context->functions[i], context->module,
						   dtc_gpu_kernel_name(i));
	if (result) {
		DTC_LOG(context->cuda->context, DTCONV_LOG_WARN,
			"device %d: the kernels were not loaded (%s), blocks are copied one by one",
			context->device, dtc_cuda_result_name(driver, result));
		atomic_store_explicit(&context->unloadable, true, memory_order_release);
		return;
	}
	atomic_store_explicit(&context->loaded, true, memory_order_release);
}

/* The resident kernel first: a job that has waited for the others leaves nothing to load behind it. */
static void load_all(struct dtc_cuda_context *context, CUdeviceptr captured)
{
	context->captured = captured;
	if (context->cuda->context->devices.resident)
		dtc_cuda_resident_open(context, 0);
	load_kernels(context);
	context->captured = false;
}

CUresult dtc_cuda_stream_create(struct dtc_cuda_context *context, CUstream *stream)
{
	const struct dtc_cuda_driver *driver = &context->cuda->driver;
	int least = 0, greatest = 0;

	driver->CtxGetStreamPriorityRange(&least, &greatest);
	return driver->StreamCreateWithPriority(stream, CU_STREAM_NON_BLOCKING, greatest);
}

/* Whether the job is for a graph. Its own capture is all that can be known of. */
static bool is_captured(const struct dtc_cuda *cuda, const struct dtc_job *job)
{
	CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;

	return job->on_stream &&
	       !cuda->driver.StreamIsCapturing((CUstream)job->stream, &capture) &&
	       capture != CU_STREAM_CAPTURE_STATUS_NONE;
}

/* What must be there before the first job. The context is current. */
static int open_context(struct dtc_cuda_context *context, const struct dtc_job *job)
{
	/* Addresses could be a device's and the host's at once. */
	if (!capability(context, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING))
		return DTC_FAIL(context->cuda->context, DTCONV_ERR_UNSUPPORTED,
				"%s: device %d does not share the host's addresses",
				job->caller, context->device);
	context->arch = arch_of(context);
	CUresult result = context->stream
				  ? CUDA_SUCCESS
				  : dtc_cuda_stream_create(context, &context->stream);
	if (result)
		return dtc_cuda_fail(context, result, "cuStreamCreateWithPriority",
				     job->caller);
	result = dtc_cuda_flags_open(context);
	if (result)
		return dtc_cuda_fail(context, result,
				     "the allocation of completion flags", job->caller);
	if (!dtc_cuda_worker_defer(context, load_all, is_captured(context->cuda, job)))
		return DTC_FAIL(context->cuda->context, DTCONV_ERR_NOMEM,
				"%s: the allocator gave no memory for a device context",
				job->caller);
	return 0;
}

/* How long a first job waits for kernels; a busy device may keep them away for ever. */
#define LOADING_NS UINT64_C(400000000)

static void await_kernels(struct dtc_cuda_context *context)
{
	const struct timespec nap = { .tv_nsec = 50000 };
	uint64_t end = dtc_now_ns() + LOADING_NS;

	while (!atomic_load_explicit(&context->loaded, memory_order_acquire) &&
	       !atomic_load_explicit(&context->unloadable, memory_order_acquire) &&
	       dtc_now_ns() < end)
		nanosleep(&nap, NULL);
}

static int open_current(struct dtc_cuda_context *context, const struct dtc_job *job)
{
	const struct dtc_cuda_driver *driver = &context->cuda->driver;
	CUcontext popped;

	CUresult result = driver->CtxPushCurrent(context->handle);
	if (result)
		return dtc_cuda_fail(context, result, "cuCtxPushCurrent", job->caller);
	result = driver->CtxGetDevice(&context->device);
	int status =
		result ? dtc_cuda_fail(context, result, "cuCtxGetDevice", job->caller)
		       : open_context(context, job);
	driver->CtxPopCurrent(&popped);
	return status;
}

static struct dtc_cuda_context *create_context(struct dtc_cuda *cuda, CUcontext handle,
					       unsigned long long id)
{
	struct dtc_cuda_context *context = dtc_alloc_zeroed(cuda->context, sizeof(*context));

	if (!context)
		return NULL;
	context->cuda = cuda;
	context->handle = handle;
	context->id = id;
	pthread_mutex_init(&context->staging.lock, NULL);
	pthread_cond_init(&context->staging.changed, NULL);
	dtc_cuda_bar_mappings_init(&context->bar_mappings);
	dtc_cuda_scratch_init(context);
	dtc_cuda_pipeline_init(&context->pipeline);
	return context;
}

/* ---- finding --------------------------------------------------------------------------- */

static struct dtc_cuda_context *find_context(struct dtc_cuda *cuda, CUcontext handle,
					     unsigned long long id, bool failed)
{
	struct dtc_cuda_context *context = cuda->contexts;

	while (context &&
	       (context->handle != handle || context->id != id ||
		context->failed != failed ||
		(!failed && atomic_load_explicit(&context->lost, memory_order_relaxed))))
		context = context->next;
	return context;
}

/*
 * The lock is held: two first jobs do not open a context twice. One that failed stays in the list: the next
 * job goes on with what it has got so far.
 */
static int add_context(struct dtc_cuda *cuda, CUcontext handle, unsigned long long id,
		       const struct dtc_job *job, struct dtc_cuda_context **added)
{
	struct dtc_cuda_context *context = find_context(cuda, handle, id, true);
	int status = dtc_cuda_worker_start(cuda);

	if (status)
		return status;
	if (!context) {
		context = create_context(cuda, handle, id);
		if (!context)
			return DTC_FAIL(
				cuda->context, DTCONV_ERR_NOMEM,
				"%s: the allocator gave no memory for a device context",
				job->caller);
		context->next = cuda->contexts;
		cuda->contexts = context;
	}
	*added = context;
	atomic_store(&context->lost, false);
	status = open_current(context, job);
	context->failed = status;
	return status;
}

static int use_context(struct dtc_cuda *cuda, CUcontext handle, const struct dtc_job *job,
		       struct dtc_cuda_context **used)
{
	unsigned long long id;
	int status = 0;

	CUresult result = cuda->driver.CtxGetId(handle, &id);
	if (result)
		return DTC_FAIL(cuda->context, DTCONV_ERR_BACKEND,
				"%s: the device context of the job is gone (%s)",
				job->caller, dtc_cuda_result_name(&cuda->driver, result));
	pthread_mutex_lock(&cuda->lock);
	*used = find_context(cuda, handle, id, false);
	bool added = !*used;
	if (added)
		status = add_context(cuda, handle, id, job, used);
	pthread_mutex_unlock(&cuda->lock);
	if (!status && added)
		await_kernels(*used);
	return status;
}

/* ---- choosing -------------------------------------------------------------------------- */

/* The side whose device does the work. */
static const struct dtc_memory *leader_of(const struct dtc_job *job)
{
	const struct dtc_memory *user = &job->user_memory, *packed = &job->packed_memory;

	if (packed->device >= 0 && (job->at_packed || user->kind != DTCONV_MEMORY_DEVICE))
		return packed;
	return user;
}

static int device_of(const struct dtc_job *job)
{
	return leader_of(job)->device;
}

/* A context of that device, though it may have made the other side's memory. */
static void *owner_of(const struct dtc_job *job)
{
	const struct dtc_memory *user = &job->user_memory, *packed = &job->packed_memory;
	const struct dtc_memory *leader = leader_of(job);
	const struct dtc_memory *other = leader == user ? packed : user;

	if (leader->owner || other->device != leader->device)
		return leader->owner;
	return other->owner;
}

/* The default streams have no context of their own. */
static bool is_default_stream(const struct dtc_job *job)
{
	return !job->stream || (CUstream)job->stream == CU_STREAM_LEGACY ||
	       (CUstream)job->stream == CU_STREAM_PER_THREAD;
}

/* The calling thread's context, if it is one of the device's; else NULL. */
static CUcontext current_context(const struct dtc_cuda *cuda, int device)
{
	CUcontext current = NULL;
	CUdevice of = -1;

	if (cuda->driver.CtxGetCurrent(&current) || !current ||
	    cuda->driver.CtxGetDevice(&of) || (device >= 0 && of != device))
		return NULL;
	return current;
}

#define NAME_BYTES 32

/* Of memory that the caller has told the kind of, nobody has asked whose it is. */
static const char *name_device(int device, char name[NAME_BYTES])
{
	if (device < 0)
		return "a device";
	snprintf(name, NAME_BYTES, "device %d", device);
	return name;
}

/* The default stream of the leader's device; that of any, where all see both sides. */
static int choose_by_default(struct dtc_cuda *cuda, const struct dtc_job *job,
			     CUcontext *handle)
{
	const struct dtc_memory *leader = leader_of(job);
	char name[NAME_BYTES];

	*handle = current_context(
		cuda, leader->kind == DTCONV_MEMORY_DEVICE ? leader->device : -1);
	if (*handle)
		return 0;
	return DTC_FAIL(cuda->context, DTCONV_ERR_STATE,
			"%s: the default stream was given, but no context of %s is "
			"current on the calling thread",
			job->caller, name_device(leader->device, name));
}

static int choose_by_stream(struct dtc_cuda *cuda, const struct dtc_job *job, CUcontext *handle)
{
	if (is_default_stream(job))
		return choose_by_default(cuda, job, handle);
	CUresult result = cuda->driver.StreamGetCtx((CUstream)job->stream, handle);
	if (!result)
		return 0;
	return DTC_FAIL(cuda->context, DTCONV_ERR_BACKEND,
			"%s: asked for the stream's context, the driver answered %s", job->caller,
			dtc_cuda_result_name(&cuda->driver, result));
}

static bool retain_primary(struct dtc_cuda *cuda, int device, CUcontext *handle)
{
	unsigned flags;
	int active = 0;

	return device >= 0 &&
	       !cuda->driver.DevicePrimaryCtxGetState(device, &flags, &active) && active &&
	       !cuda->driver.DevicePrimaryCtxRetain(handle, device);
}

/* The primary context of the leader's device is held if it is taken: then @held is the device. */
static bool find_by_leader(struct dtc_cuda *cuda, const struct dtc_job *job,
			   CUcontext *handle, int *held)
{
	int device = device_of(job);

	*handle = current_context(cuda, device);
	if (!*handle)
		*handle = owner_of(job);
	if (!*handle && retain_primary(cuda, device, handle))
		*held = device;
	return *handle;
}

/* Memory of a device that the process does not use otherwise is opened to one that it does use. */
static int choose_by_memory(struct dtc_cuda *cuda, const struct dtc_job *job,
			    CUcontext *handle, int *held)
{
	struct dtc_job turned = *job;
	char name[NAME_BYTES];

	turned.at_packed = !job->at_packed;
	if (find_by_leader(cuda, job, handle, held) ||
	    find_by_leader(cuda, &turned, handle, held))
		return 0;
	*handle = current_context(cuda, -1);
	if (*handle)
		return 0;
	return DTC_FAIL(
		cuda->context, DTCONV_ERR_STATE,
		"%s: no context of %s is current, owns the memory, or is its primary "
		"one and active",
		job->caller, name_device(device_of(job), name));
}

/* One reference to a primary context is enough; @used is NULL if it could not be used at all. */
static void settle_primary(struct dtc_cuda *cuda, int device, struct dtc_cuda_context *used)
{
	pthread_mutex_lock(&cuda->lock);
	if (used && !used->retained)
		used->retained = true;
	else
		cuda->driver.DevicePrimaryCtxRelease(device);
	pthread_mutex_unlock(&cuda->lock);
}

int dtc_cuda_context_choose(struct dtc_cuda *cuda, const struct dtc_job *job,
			    struct dtc_cuda_context **chosen)
{
	CUcontext handle = NULL;
	int held = -1;

	int status = job->on_stream ? choose_by_stream(cuda, job, &handle)
				    : choose_by_memory(cuda, job, &handle, &held);
	if (!status)
		status = use_context(cuda, handle, job, chosen);
	if (held >= 0)
		settle_primary(cuda, held, status ? NULL : *chosen);
	if (!status && atomic_load_explicit(&(*chosen)->lost, memory_order_relaxed))
		status = DTC_FAIL(cuda->context, DTCONV_ERR_BACKEND,
				  "%s: the device context of the job is gone", job->caller);
	return status;
}

/* ---- closing --------------------------------------------------------------------------- */

/* Runs in the worker, last of all: nothing of the context is in flight. */
static void close_context(struct dtc_cuda_context *context, CUdeviceptr unused)
{
	const struct dtc_cuda_driver *driver = &context->cuda->driver;

	(void)unused;
	dtc_cuda_special_kernel_kernels_unload(context);
	dtc_cuda_pipeline_close(context);
	dtc_cuda_resident_close(context);
	dtc_cuda_graphs_close(context);
	if (context->module)
		driver->ModuleUnload(context->module);
	if (context->stream)
		driver->StreamDestroy(context->stream);
	dtc_cuda_flags_close(context);
	dtc_cuda_scratch_free(context);
	dtc_cuda_pinned_destroy(context, context->stages,
				DTC_CUDA_STAGING_SLOTS * DTC_CUDA_STAGING_SLOT_BYTES);
	context->closed = true;
}

void dtc_cuda_contexts_close(struct dtc_cuda *cuda)
{
	/* First, because it gives the worker work. */
	dtc_cuda_compiler_close(&cuda->compiler);
	for (struct dtc_cuda_context *context = cuda->contexts; context; context = context->next) {
		dtc_cuda_staging_end(context);
		if (!atomic_load(&context->lost))
			dtc_cuda_worker_defer(context, close_context, 0);
	}
	dtc_cuda_worker_end(cuda);
	while (cuda->contexts) {
		struct dtc_cuda_context *context = cuda->contexts;

		cuda->contexts = context->next;
		/* The allocator had no memory for the chore. */
		if (!context->closed && !atomic_load(&context->lost))
			dtc_cuda_worker_run_here(context, close_context, 0);
		/* By the device's number: also where the context's handle is no longer believed. */
		if (context->retained)
			cuda->driver.DevicePrimaryCtxRelease(context->device);
		pthread_cond_destroy(&context->staging.changed);
		pthread_mutex_destroy(&context->staging.lock);
		pthread_mutex_destroy(&context->pipeline.lock);
		dtc_cuda_bar_mappings_close(context);
		dtc_cuda_scratch_close(context);
		dtc_cuda_special_kernel_kernels_free(context);
		dtc_free(cuda->context, context);
	}
}
