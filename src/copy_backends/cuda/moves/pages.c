/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lists of pages by one launch, on a device that can access the pool, the packed memory and the table. A table in host
 * memory is copied to the device first, by the upload ring.
 *
 * A job in the caller's stream is unattended: it has no completion word. If its table was copied, an event behind it says
 * when the memory of the copy may be used again; later jobs query it.
 */
#include "config.h"

#include "copy_backends/pages.h"

#include "base/context.h"
#include "base/log.h"
#include "copy_backends/cuda/device/arena.h"
#include "copy_backends/cuda/device/completion.h"
#include "copy_backends/cuda/device/peer_access.h"
#include "copy_backends/cuda/launch/kernel_module.h"
#include "copy_backends/cuda/launch/launch.h"
#include "copy_backends/cuda/launch/submission.h"
#include "kernels/launch/pages.h"
#include "moves.h"

/* The most copied tables of jobs in the caller's streams. */
#define COPIES_MOST 64

enum copy_state { COPY_NONE, COPY_TAKEN, COPY_LEFT };

/* A copied table, and the event that marks the end of the job that reads it. */
struct table_copy {
	enum copy_state state;
	CUdeviceptr memory;
	CUevent end; /* NULL until first used */
};

struct dtc_cuda_pages {
	pthread_mutex_t lock; /* of the states */
	struct table_copy copies[COPIES_MOST];
};

static struct dtc_cuda_pages *pages_of(const struct dtc_cuda_context *context)
{
	return context->parts[DTC_CUDA_PART_pages];
}

static void init_pages(struct dtc_cuda_context *context)
{
	pthread_mutex_init(&pages_of(context)->lock, NULL);
}

static void close_pages(struct dtc_cuda_context *context)
{
	struct dtc_cuda_pages *all = pages_of(context);

	for (size_t i = 0; i < COPIES_MOST; i++)
		if (all->copies[i].end)
			context->cuda->driver.EventDestroy(all->copies[i].end);
}

static void free_pages(struct dtc_cuda_context *context)
{
	pthread_mutex_destroy(&pages_of(context)->lock);
}

const struct dtc_cuda_feature dtc_cuda_pages_feature = {
	.name = "pages",
	.bytes = sizeof(struct dtc_cuda_pages),
	.init = init_pages,
	.close = close_pages,
	.free = free_pages,
};

/* ---- copies of tables of unattended jobs ----------------------------------------------- */

static bool is_left(const struct dtc_pages_job *pages)
{
	return pages->job.on_stream;
}

static bool is_copied(const struct dtc_pages_job *pages)
{
	return pages->table_memory.kind == DTCONV_MEMORY_HOST;
}

/* The lock is held. */
static void put_ended(struct dtc_cuda_context *context)
{
	struct dtc_cuda_pages *all = pages_of(context);

	for (size_t i = 0; i < COPIES_MOST; i++) {
		struct table_copy *copy = &all->copies[i];

		if (copy->state != COPY_LEFT ||
		    context->cuda->driver.EventQuery(copy->end))
			continue;
		dtc_cuda_arena_put(context, copy->memory);
		copy->state = COPY_NONE;
	}
}

static struct table_copy *take_copy(struct dtc_cuda_context *context)
{
	struct dtc_cuda_pages *all = pages_of(context);
	struct table_copy *taken = NULL;

	pthread_mutex_lock(&all->lock);
	put_ended(context);
	for (size_t i = 0; !taken && i < COPIES_MOST; i++)
		if (all->copies[i].state == COPY_NONE)
			taken = &all->copies[i];
	if (taken)
		taken->state = COPY_TAKEN;
	pthread_mutex_unlock(&all->lock);
	return taken;
}

static void set_state(struct dtc_cuda_context *context, struct table_copy *copy,
		      enum copy_state state)
{
	pthread_mutex_lock(&pages_of(context)->lock);
	copy->state = state;
	pthread_mutex_unlock(&pages_of(context)->lock);
}

static CUresult create_end(struct dtc_cuda_context *context, struct table_copy *copy)
{
	const struct dtc_cuda_driver *driver = &context->cuda->driver;
	CUcontext popped;

	if (copy->end)
		return CUDA_SUCCESS;
	CUresult result = driver->CtxPushCurrent(context->handle);
	if (result)
		return result;
	result = driver->EventCreate(&copy->end, CU_EVENT_DISABLE_TIMING);
	driver->CtxPopCurrent(&popped);
	return result;
}

/* If the end cannot be marked, it is unknown when the memory is free. */
static void leave_copy(const struct dtc_cuda_submission *submission,
		       struct table_copy *copy)
{
	struct dtc_cuda_context *context = submission->context;

	if (!submission->driver->EventRecord(copy->end, submission->stream)) {
		set_state(context, copy, COPY_LEFT);
		return;
	}
	dtc_cuda_arena_retire(context);
	dtc_cuda_arena_put(context, copy->memory);
	set_state(context, copy, COPY_NONE);
}

/* ---- the table ------------------------------------------------------------------------- */

static size_t number_bytes(const struct dtc_pages_job *pages)
{
	return pages->pages->number == DTCONV_PAGE_NUMBER_64 ? 8 : 4;
}

static int upload_table(const struct dtc_cuda_submission *submission,
			const struct dtc_pages_job *pages, CUdeviceptr memory)
{
	const struct dtc_cuda_reader reader = dtc_cuda_submission_reader(submission);
	const struct dtc_cuda_table table = {
		.source = (const char *)pages->pages->table +
			  pages->first_entry * number_bytes(pages),
		.bytes = (size_t)(pages->end_entry - pages->first_entry) *
			 number_bytes(pages),
	};
	uint64_t number;

	CUresult result =
		dtc_cuda_upload(submission->context, memory, &table, &reader, &number);
	if (!result)
		result = dtc_cuda_upload_order(submission->context, number, &reader);
	return result ? dtc_cuda_fail(submission->context, result,
				      "copying a table of pages", pages->job.caller)
		      : 0;
}

/* A copy of the entries that are used, or 0 if the device reads the caller's table. */
static int copy_table(const struct dtc_cuda_submission *submission,
		      const struct dtc_pages_job *pages, CUdeviceptr *memory)
{
	const uint64_t entries = pages->end_entry - pages->first_entry;

	*memory = 0;
	if (!is_copied(pages))
		return 0;
	CUresult result = dtc_cuda_arena_take(
		submission->context, (size_t)entries * number_bytes(pages), memory);
	return result ? dtc_cuda_fail(submission->context, result,
				      "the allocation of a table of pages",
				      pages->job.caller)
		      : upload_table(submission, pages, *memory);
}

/* ---- planning -------------------------------------------------------------------------- */

static uint64_t device_address(const void *address, const struct dtc_memory *memory)
{
	return (uint64_t)(uintptr_t)address + (uint64_t)memory->shift;
}

static uint64_t table_of(const struct dtc_pages_job *pages, CUdeviceptr copy)
{
	return copy ? copy - pages->first_entry * number_bytes(pages)
		    : device_address(pages->pages->table, &pages->table_memory);
}

/* The word that is lowered to the first entry out of range. */
static uint64_t fault_of(const struct dtc_cuda_submission *submission,
			 const struct dtc_pages_job *pages)
{
	struct dtc_cuda_flags *flags = dtc_cuda_flags_of(submission->context);
	const size_t word = DTC_CUDA_ANSWERS + submission->event->slot;

	if (is_left(pages))
		return pages->pages->fault
			       ? device_address(pages->pages->fault, &pages->fault_memory)
			       : 0;
	atomic_store(&flags->words[word], DTC_PAGES_FINE);
	return flags->device + word * sizeof(uint64_t);
}

static int plan(const struct dtc_cuda_submission *submission,
		const struct dtc_pages_job *pages, CUdeviceptr copy,
		struct dtc_gpu_launch *launch)
{
	const struct dtc_job *job = &pages->job;
	const struct dtconv_pages *list = pages->pages;
	const struct dtc_gpu_pages_job gpu = {
		.pool = device_address(job->user, &job->user_memory) +
			(uint64_t)list->offset,
		.packed = device_address(job->packed, &job->packed_memory),
		.table = table_of(pages, copy),
		.fault = fault_of(submission, pages),
		.pool_pages = list->pool_pages,
		.page_bytes = list->page_bytes,
		.page_stride = list->page_stride,
		.layer_count = list->layer_count,
		.part_count = list->part_count,
		.layer_stride = list->layer_stride,
		.part_stride = list->part_stride,
		.plane_bytes = list->bytes,
		.begin = pages->position,
		.end = pages->position + job->bytes,
		.wide = list->number == DTCONV_PAGE_NUMBER_64,
		.direction = job->direction,
	};

	if (!dtc_gpu_plan_pages(&gpu, launch))
		return 0;
	return DTC_FAIL(job->context, DTCONV_ERR_UNSUPPORTED,
			"%s: pages of %zu bytes, %zu of them in %zu x %zu layers and "
			"parts, are too many or too long for one launch",
			job->caller, list->page_bytes, list->count, list->layer_count,
			list->part_count);
}

/* ---- submitting ------------------------------------------------------------------------ */

static int require_kernels(const struct dtc_cuda_submission *submission)
{
	struct dtc_cuda_context *context = submission->context;
	const char *caller = submission->job->caller;

	if (DTC_LIKELY(dtc_cuda_kernels_are_loaded(context)) ||
	    dtc_cuda_kernel_set_prepare(context, DTC_GPU_SET_MOVING,
					submission->capturing))
		return 0;
	if (atomic_load(&dtc_cuda_kernel_module_of(context)
				 ->sets[DTC_GPU_SET_MOVING]
				 .state) == DTC_CUDA_KERNELS_UNLOADABLE)
		return DTC_FAIL(context->cuda->context, DTCONV_ERR_BACKEND,
				"%s: cannot load the kernels on device %d (set "
				"DTCONV_LOG=warn for the reason)",
				caller, context->device);
	return DTC_RETRY(context->cuda->context,
			 "%s: device %d is busy, and kernels are loaded when it is idle; "
			 "call dtconv_prepare before",
			 caller, context->device);
}

static bool reaches(const struct dtc_cuda_submission *submission,
		    const struct dtc_pages_job *pages)
{
	struct dtc_cuda_context *context = submission->context;
	const struct dtc_job *job = &pages->job;
	const char *table = (const char *)pages->pages->table +
			    pages->first_entry * number_bytes(pages);

	return dtc_cuda_can_access_range(context, &job->user_memory, pages->page, 1) &&
	       dtc_cuda_can_access_range(context, &job->packed_memory, job->packed,
					 job->bytes) &&
	       dtc_cuda_can_access_range(context, &pages->table_memory, table,
					 (pages->end_entry - pages->first_entry) *
						 number_bytes(pages)) &&
	       (!pages->pages->fault ||
		dtc_cuda_can_access_range(context, &pages->fault_memory,
					  pages->pages->fault, sizeof(int64_t)));
}

/* LIMIT, without a sentence: another device may be able to. */
static int check(const struct dtc_cuda_submission *submission,
		 const struct dtc_pages_job *pages)
{
	const struct dtc_job *job = &pages->job;

	if (!reaches(submission, pages))
		return DTCONV_ERR_LIMIT;
	if (submission->capturing && is_copied(pages))
		return DTC_FAIL(job->context, DTCONV_ERR_UNSUPPORTED,
				"%s: the stream is being captured, but pages.table is "
				"host memory, which a graph launch does not read; use "
				"memory that the device can access",
				job->caller);
	return require_kernels(submission);
}

/* Nothing has been enqueued but the copying of the table. */
static int drop(struct dtc_cuda_submission *submission, int status)
{
	dtc_cuda_submission_drop(submission);
	return status;
}

/* The caller gives @memory back, the table's copy; or, if the job is unattended, @left does when it has ended. */
static int launch_list(struct dtc_cuda_submission *submission,
		       const struct dtc_pages_job *pages, CUdeviceptr *memory,
		       struct table_copy *left)
{
	struct dtc_gpu_launch launch;

	int status = copy_table(submission, pages, memory);
	if (!status)
		status = plan(submission, pages, *memory, &launch);
	if (status)
		return drop(submission, status);
	const bool flag = dtc_cuda_kernel_writes_flag(&launch);
	const CUresult result = dtc_cuda_launch(submission, &launch, flag);
	if (!result && left)
		leave_copy(submission, left);
	return dtc_cuda_submission_end(submission, result, "cuLaunchKernel", !flag);
}

/* Somebody waits for the job, or its table is not copied: the arena knows when jobs have ended. */
static int launch_awaited(struct dtc_cuda_submission *submission,
			  const struct dtc_pages_job *pages)
{
	CUdeviceptr memory;
	int status = launch_list(submission, pages, &memory, NULL);

	dtc_cuda_arena_put(submission->context, memory);
	return status;
}

static int launch_left(struct dtc_cuda_submission *submission,
		       const struct dtc_pages_job *pages)
{
	struct dtc_cuda_context *context = submission->context;
	const char *caller = pages->job.caller;
	struct table_copy *copy = take_copy(context);

	if (!copy)
		return drop(submission,
			    DTC_RETRY(pages->job.context,
				      "%s: %d lists with tables in host memory are in "
				      "flight, which is the limit",
				      caller, COPIES_MOST));
	copy->memory = 0;
	CUresult result = create_end(context, copy);
	int status = result ? drop(submission, dtc_cuda_fail(context, result,
							     "cuEventCreate", caller))
			    : launch_list(submission, pages, &copy->memory, copy);
	if (!status)
		return 0;
	dtc_cuda_arena_put(context, copy->memory);
	set_state(context, copy, COPY_NONE);
	return status;
}

static int submit_in(const struct dtc_pages_job *pages, struct dtc_event *event)
{
	struct dtc_cuda_submission submission;

	int status = dtc_cuda_submission_begin(&submission, &dtc_cuda_kernel_backend,
					       &pages->job, event);
	if (status)
		return status;
	status = check(&submission, pages);
	if (status)
		return drop(&submission, status);
	return is_left(pages) && is_copied(pages) ? launch_left(&submission, pages)
						  : launch_awaited(&submission, pages);
}

/* The pool's device comes first: its pages are short, and packed memory is crossed to in whole lines. */
int dtc_cuda_submit_pages(const struct dtc_pages_job *job, struct dtc_event *event)
{
	struct dtc_pages_job pages = *job;

	pages.job.unattended = is_left(job);
	int status = submit_in(&pages, event);
	if (status == DTCONV_ERR_LIMIT && !pages.job.on_stream &&
	    dtc_memory_is_between(&job->job.user_memory, &job->job.packed_memory)) {
		pages.job.at_packed = true;
		status = submit_in(&pages, event);
	}
	if (status != DTCONV_ERR_LIMIT)
		return status;
	return DTC_FAIL(job->job.context, DTCONV_ERR_UNSUPPORTED,
			"%s: no device that could work on the list has access to the "
			"pool, the packed memory and the table",
			job->job.caller);
}
