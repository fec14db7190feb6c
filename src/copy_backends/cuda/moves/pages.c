/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lists of pages by one launch, on a device that can access the pool, the packed memory or the other list's pool, and the
 * tables. Numbers in host memory are parameters of the launch, if they are few. Others are copied to the device first, by
 * the upload ring, into one allocation, with 32 bits each if the pool has so few pages.
 *
 * A job in the caller's stream is unattended: it has no completion word. If its table was copied, an event behind it says
 * when the memory of the copy may be used again; later jobs query it.
 */
#include "config.h"

#include "copy_backends/pages.h"

#include <string.h>

#include "base/base.h"
#include "base/context.h"
#include "base/log.h"
#include "copy_backends/cuda/device/arena.h"
#include "copy_backends/cuda/device/completion.h"
#include "copy_backends/cuda/device/peer_access.h"
#include "copy_backends/cuda/launch/kernel_module.h"
#include "copy_backends/cuda/launch/launch.h"
#include "copy_backends/cuda/launch/submission.h"
#include "kernels/cpu/page_numbers.h"
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

/* ---- numbers in the host's memory ------------------------------------------------------ */

static bool is_from_host(const struct dtc_pages_list *list)
{
	return list && list->table_memory.kind == DTCONV_MEMORY_HOST;
}

/* How many numbers of host memory the job needs. */
static uint64_t count_from_host(const struct dtc_pages_job *pages)
{
	const struct dtc_pages_list *list = &pages->list, *to = pages->to;

	return (is_from_host(list) ? list->end_entry - list->first_entry : 0) +
	       (is_from_host(to) ? to->end_entry - to->first_entry : 0);
}

/* Whether they have at most 32 bits: they are below the number of pages. */
static bool is_narrow(const struct dtc_pages_list *list)
{
	return list->pages->pool_pages <= (size_t)INT32_MAX + 1;
}

/* Whether those of both lists are parameters of the launch. */
static bool are_given(const struct dtc_pages_job *pages)
{
	return count_from_host(pages) <= DTC_GPU_PAGE_NUMBERS &&
	       is_narrow(&pages->list) && (!pages->to || is_narrow(pages->to));
}

static bool has_copies(const struct dtc_pages_job *pages)
{
	return count_from_host(pages) && !are_given(pages);
}

/* ---- copies of tables of unattended jobs ----------------------------------------------- */

static bool is_left(const struct dtc_pages_job *pages)
{
	return pages->job.unattended;
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

/* So many bytes of a copy are written at a time; the device copies others meanwhile. */
#define PART_BYTES ((size_t)256 << 10)

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

/* Bytes of a number in a copy. */
static size_t copied_number_bytes(const struct dtc_pages_list *list)
{
	return is_narrow(list) ? 4 : number_bytes(list);
}

/* Bytes of its copy, so that another's numbers are aligned behind it. */
static size_t copied_bytes(const struct dtc_pages_list *list)
{
	const size_t bytes = is_from_host(list)
				     ? (size_t)(list->end_entry - list->first_entry) *
					       copied_number_bytes(list)
				     : 0;

	return (bytes + 7) / 8 * 8;
}

/* Bytes [begin, end) of the copies of a job's tables, one behind the other; multiples of 8. */
struct copy_part {
	const struct dtc_pages_job *pages;
	size_t begin, end;
	bool *in_range; /* cleared if a number is not */
};

/* Copy @count numbers; false if one is out of range. */
static bool write_numbers(const struct dtc_pages_list *list, const char *from,
			  uint64_t count, char *to)
{
	const size_t pages = list->pages->pool_pages;
	const bool wide = number_bytes(list) == 8;

	if (copied_number_bytes(list) == 4)
		return dtc_page_numbers_narrow(from, wide, count, pages, to);
	memcpy(to, from, count * 8);
	return dtc_page_numbers_find_bad(to, true, 0, count, pages) == count;
}

/* What a list, whose copy begins at byte @at of all, has of a part. */
static void write_list(const struct copy_part *part, const struct dtc_pages_list *list,
		       size_t at, char *to)
{
	const size_t bytes = copied_number_bytes(list);
	const size_t low = DTC_MAX(part->begin, at);
	const size_t high = DTC_MIN(part->end, at + copied_bytes(list));
	const uint64_t entries = list->end_entry - list->first_entry;

	if (low >= high)
		return;
	const uint64_t first = (low - at) / bytes;
	const uint64_t count = DTC_MIN((high - low) / bytes, entries - first);
	const char *from = entries_of(list) + first * number_bytes(list);

	if (!write_numbers(list, from, count, to + (low - part->begin)))
		*part->in_range = false;
}

static void write_part(const void *source, void *to)
{
	const struct copy_part *part = source;
	const struct dtc_pages_list *list = &part->pages->list;

	write_list(part, list, 0, to);
	if (part->pages->to)
		write_list(part, part->pages->to, copied_bytes(list), to);
}

static CUresult upload_parts(const struct dtc_cuda_submission *submission,
			     const struct dtc_pages_job *pages, size_t bytes,
			     CUdeviceptr memory, bool *in_range)
{
	const struct dtc_cuda_reader reader = dtc_cuda_submission_reader(submission);
	CUresult result = CUDA_SUCCESS;
	uint64_t number = 0;

	for (size_t at = 0; !result && at < bytes; at += PART_BYTES) {
		const struct copy_part part = {
			.pages = pages,
			.begin = at,
			.end = DTC_MIN(bytes, at + PART_BYTES),
			.in_range = in_range,
		};
		const struct dtc_cuda_table table = { .write = write_part,
						      .source = &part,
						      .bytes = part.end - part.begin };

		result = dtc_cuda_upload(submission->context, memory + at, &table,
					 &reader, &number);
	}
	return result ? result
		      : dtc_cuda_upload_order(submission->context, number, &reader);
}

static bool is_in_range(const struct dtc_pages_list *list)
{
	const uint64_t count = list->end_entry - list->first_entry;

	return !is_from_host(list) ||
	       dtc_page_numbers_find_bad(entries_of(list), number_bytes(list) == 8, 0,
					 count, list->pages->pool_pages) == count;
}

/* The caller, which can read the tables, replaces this by a sentence with the number. */
static int refuse_numbers(const struct dtc_job *job)
{
	return DTC_FAIL(job->context, DTCONV_ERR_INVAL,
			"%s: a table of pages has a number that is out of range",
			job->caller);
}

/* Check the numbers of host memory, and copy them, one table behind the other; 0 if the launch takes them along. */
static int copy_tables(const struct dtc_cuda_submission *submission,
		       const struct dtc_pages_job *pages, CUdeviceptr *memory)
{
	const size_t bytes =
		copied_bytes(&pages->list) + (pages->to ? copied_bytes(pages->to) : 0);
	const char *caller = pages->job.caller;
	bool in_range = true;

	*memory = 0;
	if (!has_copies(pages))
		return is_in_range(&pages->list) && (!pages->to || is_in_range(pages->to))
			       ? 0
			       : refuse_numbers(&pages->job);
	CUresult result = dtc_cuda_arena_take(submission->context, bytes, memory);
	if (result)
		return dtc_cuda_fail(submission->context, result,
				     "the allocation of a table of pages", caller);
	result = upload_parts(submission, pages, bytes, *memory, &in_range);
	if (result)
		return dtc_cuda_fail(submission->context, result,
				     "copying a table of pages", caller);
	return in_range ? 0 : refuse_numbers(&pages->job);
}

/* ---- planning -------------------------------------------------------------------------- */

static uint64_t device_address(const void *address, const struct dtc_memory *memory)
{
	return (uint64_t)(uintptr_t)address + (uint64_t)memory->shift;
}

/* Where its numbers are: with the launch, or in the copy, if they are in host memory. */
static void plan_numbers(const struct dtc_pages_list *list, bool given, CUdeviceptr copy,
			 struct dtc_gpu_page_list *planned)
{
	planned->wide = number_bytes(list) == 8;
	if (!is_from_host(list)) {
		planned->table = device_address(list->pages->table, &list->table_memory);
	} else if (given) {
		planned->given = entries_of(list);
		planned->given_first = list->first_entry;
		planned->given_count = list->end_entry - list->first_entry;
	} else {
		planned->table = copy - list->first_entry * copied_number_bytes(list);
		planned->wide = copied_number_bytes(list) == 8;
	}
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

/* Its pool is @memory. */
static struct dtc_gpu_page_list plan_list(const struct dtc_cuda_submission *submission,
					  const struct dtc_pages_list *list,
					  uint64_t memory)
{
	const struct dtconv_pages *pages = list->pages;

	return (struct dtc_gpu_page_list){
		.pool = memory + (uint64_t)pages->offset,
		.fault = fault_of(submission, list),
		.pool_pages = pages->pool_pages,
		.page_bytes = pages->page_bytes,
		.page_stride = pages->page_stride,
		.row_bytes = pages->row_bytes,
		.row_stride = pages->row_stride,
		.layer_stride = pages->layer_stride,
		.part_stride = pages->part_stride,
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
	const bool given = are_given(pages);
	struct dtc_gpu_page_list to;
	struct dtc_gpu_pages_job gpu = {
		.list = plan_list(submission, &pages->list, user),
		.packed = packed,
		.direction = job->direction,
		.layer_count = list->layer_count,
		.part_count = list->part_count,
		.plane_bytes = list->bytes,
		.begin = pages->position,
		.end = pages->position + job->bytes,
	};

	plan_numbers(&pages->list, given, copies, &gpu.list);
	if (pages->to) {
		to = plan_list(submission, pages->to, packed);
		plan_numbers(pages->to, given, copies + copied_bytes(&pages->list), &to);
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
	if (submission->capturing && count_from_host(pages))
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
