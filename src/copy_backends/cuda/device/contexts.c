/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Device contexts: which one a job belongs to, what is opened in it before its first job, and how it is closed.
 * No CUDA context is ever created here, and none is left current on the calling thread.
 */
#include "config.h"

#include "contexts.h"

#include <stddef.h>
#include <stdio.h>

#include "base/context.h"
#include "base/log.h"
#include "worker.h"

/* ---- opening --------------------------------------------------------------------------- */

static void load_all(struct dtc_cuda_context *context, CUdeviceptr captured)
{
	const struct dtc_cuda_feature *const *feature = context->cuda->features;

	context->captured = captured;
	for (; *feature; feature++)
		if ((*feature)->load)
			(*feature)->load(context);
	context->captured = false;
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
	const struct dtc_cuda_feature *const *feature = context->cuda->features;
	int status = 0;

	/* Addresses could be a device's and the host's at once. */
	if (!dtc_cuda_context_capability(context, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING))
		return DTC_FAIL(context->cuda->context, DTCONV_ERR_UNSUPPORTED,
				"%s: device %d does not support unified addressing",
				job->caller, context->device);
	context->arch = dtc_cuda_context_arch(context);
	for (; !status && *feature; feature++)
		if ((*feature)->open)
			status = (*feature)->open(context, job->caller);
	if (status)
		return status;
	if (!dtc_cuda_worker_load(context, load_all, is_captured(context->cuda, job)))
		return DTC_FAIL(context->cuda->context, DTCONV_ERR_NOMEM,
				"%s: cannot allocate the state of a device context",
				job->caller);
	return 0;
}

static void await_all(struct dtc_cuda_context *context)
{
	const struct dtc_cuda_feature *const *feature = context->cuda->features;

	for (; *feature; feature++)
		if ((*feature)->await)
			(*feature)->await(context);
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

/* Bytes of a feature, so that the next one's are aligned as allocations are. */
static size_t room_of(const struct dtc_cuda_feature *feature)
{
	const size_t unit = _Alignof(max_align_t);

	return (feature->bytes + unit - 1) / unit * unit;
}

/* The device context, and behind it what its features keep. */
struct opened_context {
	struct dtc_cuda_context context;
	_Alignas(max_align_t) char parts[];
};

static struct dtc_cuda_context *allocate_context(const struct dtc_cuda *cuda)
{
	size_t bytes = sizeof(struct opened_context);

	for (size_t i = 0; cuda->features[i]; i++)
		bytes += room_of(cuda->features[i]);
	struct opened_context *whole = dtc_alloc_zeroed(cuda->context, bytes);
	if (!whole)
		return NULL;
	char *part = whole->parts;
	for (size_t i = 0; cuda->features[i]; i++) {
		whole->context.parts[i] = part;
		part += room_of(cuda->features[i]);
	}
	return &whole->context;
}

static struct dtc_cuda_context *create_context(struct dtc_cuda *cuda, CUcontext handle,
					       unsigned long long id)
{
	struct dtc_cuda_context *context = allocate_context(cuda);

	if (!context)
		return NULL;
	context->cuda = cuda;
	context->handle = handle;
	context->id = id;
	for (size_t i = 0; cuda->features[i]; i++)
		if (cuda->features[i]->init)
			cuda->features[i]->init(context);
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
				"%s: cannot allocate the state of a device context",
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
				"%s: the CUDA context of the job no longer exists (%s)",
				job->caller, dtc_cuda_result_name(&cuda->driver, result));
	pthread_mutex_lock(&cuda->lock);
	*used = find_context(cuda, handle, id, false);
	bool added = !*used;
	if (added)
		status = add_context(cuda, handle, id, job, used);
	pthread_mutex_unlock(&cuda->lock);
	if (!status && added)
		await_all(*used);
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
			"%s: params.stream is the default stream, but no context of %s "
			"is current on the calling thread",
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
			"%s: cannot query the CUDA context of params.stream: %s",
			job->caller, dtc_cuda_result_name(&cuda->driver, result));
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
		"%s: no CUDA context of %s can be used: none is current, none owns the "
		"memory, and the primary context is not active",
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
				  "%s: the CUDA context of the job no longer exists",
				  job->caller);
	return status;
}

bool dtc_cuda_context_exists(const struct dtc_cuda *cuda, int device)
{
	CUdevice current = -1;
	unsigned flags;
	int active = 0;

	if (!cuda->driver.CtxGetDevice(&current) && current == device)
		return true;
	return !cuda->driver.DevicePrimaryCtxGetState(device, &flags, &active) && active;
}

int dtc_cuda_current_device(const struct dtc_cuda *cuda)
{
	CUcontext current = NULL;
	CUdevice device = -1;

	if (cuda->driver.CtxGetCurrent(&current) || !current ||
	    cuda->driver.CtxGetDevice(&device))
		return -1;
	return device;
}

int dtc_cuda_context_of_device(struct dtc_cuda *cuda, int device, const char *caller,
			       struct dtc_cuda_context **chosen)
{
	const struct dtc_memory there = {
		.kind = DTCONV_MEMORY_DEVICE,
		.device = device < 0 ? dtc_cuda_current_device(cuda) : device
	};
	const struct dtc_job job = { .user_memory = there,
				     .packed_memory = there,
				     .context = cuda->context,
				     .caller = caller };

	if (there.device < 0 || !dtc_cuda_context_exists(cuda, there.device))
		return DTCONV_ERR_UNSUPPORTED;
	const int status = dtc_cuda_context_choose(cuda, &job, chosen);
	return status == DTCONV_ERR_STATE ? DTCONV_ERR_UNSUPPORTED : status;
}

/* ---- closing --------------------------------------------------------------------------- */

/* Runs in the worker, last of all: nothing of the context is in flight. */
static void close_context(struct dtc_cuda_context *context, CUdeviceptr unused)
{
	const struct dtc_cuda_feature *const *feature = context->cuda->features;

	(void)unused;
	for (; *feature; feature++)
		if ((*feature)->close)
			(*feature)->close(context);
	context->closed = true;
}

static void stop_context(struct dtc_cuda_context *context)
{
	const struct dtc_cuda_feature *const *feature = context->cuda->features;

	for (; *feature; feature++)
		if ((*feature)->stop)
			(*feature)->stop(context);
}

static void free_context(struct dtc_cuda_context *context)
{
	const struct dtc_cuda_feature *const *feature = context->cuda->features;

	for (; *feature; feature++)
		if ((*feature)->free)
			(*feature)->free(context);
	dtc_free(context->cuda->context, context);
}

void dtc_cuda_contexts_close(struct dtc_cuda *cuda)
{
	for (struct dtc_cuda_context *context = cuda->contexts; context; context = context->next) {
		stop_context(context);
		if (!atomic_load(&context->lost))
			dtc_cuda_worker_defer(context, close_context, 0);
	}
	dtc_cuda_worker_end(cuda);
	while (cuda->contexts) {
		struct dtc_cuda_context *context = cuda->contexts;

		cuda->contexts = context->next;
		/* The allocator had no memory for the deferred call. */
		if (!context->closed && !atomic_load(&context->lost))
			dtc_cuda_worker_run_here(context, close_context, 0);
		/* By the device's number: also where the context's handle is no longer valid. */
		if (context->retained)
			cuda->driver.DevicePrimaryCtxRelease(context->device);
		free_context(context);
	}
}

void dtc_cuda_contexts_forget(struct dtc_cuda *cuda)
{
	while (cuda->contexts) {
		struct dtc_cuda_context *context = cuda->contexts;

		cuda->contexts = context->next;
		for (size_t i = 0; cuda->features[i]; i++)
			if (cuda->features[i]->forget)
				cuda->features[i]->forget(context);
		dtc_free(cuda->context, context);
	}
}
