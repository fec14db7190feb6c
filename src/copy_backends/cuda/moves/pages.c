/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lists of pages by one launch, on a device that can access the pool, the packed memory or the other list's pool, and the
 * tables. Tables in host memory are copied to the device first, by the upload ring, into one allocation.
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

/* The copied tables of a job, and the event that marks its end. */
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
	return pages->job.unattended;
}

static bool is_copied(const struct dtc_pages_list *list)
{
	return list->table_memory.kind == DTCONV_MEMORY_HOST;
}

static bool has_copies(const struct dtc_pages_job *pages)
{
	return is_copied(&pages->list) || (pages->to && is_copied(pages->to));
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

/* ---- the tables ------------------------------------------------------------------------ */

static size_t number_bytes(const struct dtc_pages_list *list)
{
	return list->pages->number == DTCONV_PAGE_NUMBER_64 ? 8 : 4;
}

static const char *entries_of(const struct dtc_pages_list *list)
{
	return (const char *)list->pages->table + list->first_entry * number_bytes(list);
}

static size_t entries_bytes(const struct dtc_pages_list *list)
{
	return (size_t)(list->end_entry - list->first_entry) * number_bytes(list);
}

/* Bytes of its copy, so that another's numbers are aligned behind it. */
static size_t copied_bytes(const struct dtc_pages_list *list)
{
	return is_copied(list) ? (entries_bytes(list) + 7) / 8 * 8 : 0;
}

static int upload_table(const struct dtc_cuda_submission *submission,
			const struct dtc_pages_list *list, CUdeviceptr memory)
{
	const struct dtc_cuda_reader reader = dtc_cuda_submission_reader(submission);
	const struct dtc_cuda_table table = { .source = entries_of(list),
					      .bytes = entries_bytes(list) };
	uint64_t number;

	if (!is_copied(list))
		return 0;
	CUresult result =
		dtc_cuda_upload(submission->context, memory, &table, &reader, &number);
	if (!result)
		result = dtc_cuda_upload_order(submission->context, number, &reader);
	return result ? dtc_cuda_fail(submission->context, result,
				      "copying a table of pages", submission->job->caller)
		      : 0;
}

/* Copies of the entries that are used, one behind the other, or 0 if the device reads the caller's tables. */
static int copy_tables(const struct dtc_cuda_submission *submission,
		       const struct dtc_pages_job *pages, CUdeviceptr *memory)
{
	const size_t first = copied_bytes(&pages->list);

	*memory = 0;
	if (!has_copies(pages))
		return 0;
	CUresult result = dtc_cuda_arena_take(
		submission->context, first + (pages->to ? copied_bytes(pages->to) : 0),
		memory);
	if (result)
		return dtc_cuda_fail(submission->context, result,
				     "the allocation of a table of pages",
				     pages->job.caller);
	int status = upload_table(submission, &pages->list, *memory);
	if (!status && pages->to)
		status = upload_table(submission, pages->to, *memory + first);
	return status;
}

/* ---- planning -------------------------------------------------------------------------- */

static uint64_t device_address(const void *address, const struct dtc_memory *memory)
{
	return (uint64_t)(uintptr_t)address + (uint64_t)memory->shift;
}

static uint64_t table_of(const struct dtc_pages_list *list, CUdeviceptr copy)
{
	return is_copied(list) ? copy - list->first_entry * number_bytes(list)
			       : device_address(list->pages->table, &list->table_memory);
}

/* The word that is lowered to the first entry out of range. */
static uint64_t fault_of(const struct dtc_cuda_submission *submission,
			 const struct dtc_pages_list *list)
{
	struct dtc_cuda_flags *flags = dtc_cuda_flags_of(submission->context);
	const size_t word = DTC_CUDA_ANSWERS + submission->event->slot;

	if (submission->job->unattended)
		return list->pages->fault
			       ? device_address(list->pages->fault, &list->fault_memory)
			       : 0;
	atomic_store(&flags->words[word], DTC_PAGES_FINE);
	return flags->device + word * sizeof(uint64_t);
}

/* Its pool is @memory, and @copy of its table, if that is in host memory. */
static struct dtc_gpu_page_list plan_list(const struct dtc_cuda_submission *submission,
					  const struct dtc_pages_list *list,
					  uint64_t memory, CUdeviceptr copy)
{
	const struct dtconv_pages *pages = list->pages;

	return (struct dtc_gpu_page_list){
		.pool = memory + (uint64_t)pages->offset,
		.table = table_of(list, copy),
		.fault = fault_of(submission, list),
		.pool_pages = pages->pool_pages,
		.page_bytes = pages->page_bytes,
		.page_stride = pages->page_stride,
		.row_bytes = pages->row_bytes,
		.row_stride = pages->row_stride,
		.layer_stride = pages->layer_stride,
		.part_stride = pages->part_stride,
		.wide = pages->number == DTCONV_PAGE_NUMBER_64,
	};
}

static int refuse_long(const struct dtc_job *job, const struct dtconv_pages *list)
{
	return DTC_FAIL(job->context, DTCONV_ERR_UNSUPPORTED,
			"%s: pages of %zu bytes, %zu of them in %zu x %zu layers and "
			"parts, are too many or too long for one launch",
			job->caller, list->page_bytes, list->count, list->layer_count,
			list->part_count);
}

static int plan(const struct dtc_cuda_submission *submission,
		const struct dtc_pages_job *pages, CUdeviceptr copies,
		struct dtc_gpu_launch *launch)
{
	const struct dtc_job *job = &pages->job;
	const struct dtconv_pages *list = pages->list.pages;
	const uint64_t user = device_address(job->user, &job->user_memory);
	const uint64_t packed = device_address(job->packed, &job->packed_memory);
	struct dtc_gpu_page_list to;
	struct dtc_gpu_pages_job gpu = {
		.list = plan_list(submission, &pages->list, user, copies),
		.packed = packed,
		.direction = job->direction,
		.layer_count = list->layer_count,
		.part_count = list->part_count,
		.plane_bytes = list->bytes,
		.begin = pages->position,
		.end = pages->position + job->bytes,
	};

	if (pages->to) {
		to = plan_list(submission, pages->to, packed,
			       copies + copied_bytes(&pages->list));
		to.fault_bias = is_left(pages) ? 0 : DTC_PAGES_OF_TARGET;
		gpu.to = &to;
	}
	return dtc_gpu_plan_pages(&gpu, launch) ? refuse_long(job, list) : 0;
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

/* Whether the device can access what a list consists of, but its pool. */
static bool reaches_list(struct dtc_cuda_context *context,
			 const struct dtc_pages_list *list)
{
	return dtc_cuda_can_access_range(context, &list->table_memory, entries_of(list),
					 entries_bytes(list)) &&
	       (!list->pages->fault ||
		dtc_cuda_can_access_range(context, &list->fault_memory,
					  list->pages->fault, sizeof(int64_t)));
}

static bool reaches(const struct dtc_cuda_submission *submission,
		    const struct dtc_pages_job *pages)
{
	struct dtc_cuda_context *context = submission->context;
	const struct dtc_job *job = &pages->job;

	return dtc_cuda_can_access_range(context, &job->user_memory, pages->list.page,
					 1) &&
	       dtc_cuda_can_access_range(context, &job->packed_memory,
					 pages->to ? pages->to->page : job->packed,
					 pages->to ? 1 : job->bytes) &&
	       reaches_list(context, &pages->list) &&
	       (!pages->to || reaches_list(context, pages->to));
}

/* LIMIT, without a sentence: another device may be able to. */
static int check(const struct dtc_cuda_submission *submission,
		 const struct dtc_pages_job *pages)
{
	const struct dtc_job *job = &pages->job;

	if (!reaches(submission, pages))
		return DTCONV_ERR_LIMIT;
	if (submission->capturing && has_copies(pages))
		return DTC_FAIL(job->context, DTCONV_ERR_UNSUPPORTED,
				"%s: the stream is being captured, but a table of pages "
				"is host memory, which a graph launch does not read; use "
				"memory that the device can access",
				job->caller);
	if (submission->capturing && !is_left(pages))
		return DTC_FAIL(job->context, DTCONV_ERR_UNSUPPORTED,
				"%s: the stream is being captured, so nothing can be "
				"waited for",
				job->caller);
	return require_kernels(submission);
}

/* Nothing has been enqueued but the copying of tables. */
static int drop(struct dtc_cuda_submission *submission, int status)
{
	dtc_cuda_submission_drop(submission);
	return status;
}

/* The caller gives @memory back, the copies of tables; or, if the job is unattended, @left does when it has ended. */
static int launch_list(struct dtc_cuda_submission *submission,
		       const struct dtc_pages_job *pages, CUdeviceptr *memory,
		       struct table_copy *left)
{
	struct dtc_gpu_launch launch;

	int status = copy_tables(submission, pages, memory);
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
	return is_left(pages) && has_copies(pages) ? launch_left(&submission, pages)
						   : launch_awaited(&submission, pages);
}

static int refuse_all(const struct dtc_pages_job *job)
{
	const char *all = job->to ? "both pools and their tables"
				  : "the pool, the packed memory and the table";

	return DTC_FAIL(job->job.context, DTCONV_ERR_UNSUPPORTED,
			"%s: no device that could work on the list has access to %s",
			job->job.caller, all);
}

/*
 * The pool's device comes first: its pages are short, and packed memory is crossed to in whole lines. In a copy, stores
 * that cross to another device are posted, while loads wait for their answers.
 */
int dtc_cuda_submit_pages(const struct dtc_pages_job *job, struct dtc_event *event)
{
	struct dtc_pages_job pages = *job;
	int status = submit_in(&pages, event);
	if (status == DTCONV_ERR_LIMIT && !pages.job.on_stream &&
	    dtc_memory_is_between(&job->job.user_memory, &job->job.packed_memory)) {
		pages.job.at_packed = true;
		status = submit_in(&pages, event);
	}
	return status == DTCONV_ERR_LIMIT ? refuse_all(job) : status;
}
