/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Batches: many stretches in one submission. One launch moves all of them, except that large ones whose shape has a
 * faster kernel, and large copies between layouts, get their own. A batch is planned when its stretches change and
 * launched unchanged after that.
 */
#include "config.h"

#include "batch.h"

#include <string.h>

#include "base/context.h"
#include "base/log.h"
#include "copies.h"
#include "copy_backends/cuda/device/image.h"
#include "copy_backends/cuda/device/peer_access.h"
#include "copy_plan.h"
#include "kernel_module.h"
#include "kernels/launch/layout_copy.h"
#include "launch.h"
#include "part_table.h"
#include "submission.h"

/* Stretches from so many bytes on are worth a launch of their own, if that is what their shape asks for. */
#define LAUNCH_BYTES DTC_LAYOUT_COPY_ALONE

/* What is kept from one submission to the next. */
struct kept {
	struct dtc_cuda_context *context; /* what follows is made for; NULL: nothing is */
	struct dtconv_context *owner;
	bool planned;
	bool copied;     /* the parts are on the device */
	size_t capacity; /* of both arrays */
	void *listed; /* what goes together: struct dtc_gpu_job, or struct dtc_gpu_copy_part */
	struct dtc_gpu_launch **launches;
	size_t launch_count;
	size_t launch_made; /* launches that have memory */
	struct dtc_cuda_part_table *room;
	size_t room_bytes;
	size_t part_bytes; /* in the room */
	uint64_t upload;   /* the last one of what the launches read */
};

/* ---- memory ---------------------------------------------------------------------------- */

static int fail_memory(const struct dtc_batch_job *many)
{
	return DTC_FAIL(many->context, DTCONV_ERR_NOMEM,
			"%s: cannot allocate a launch of %zu entries", many->caller,
			many->count);
}

static int make_arrays(struct kept *kept, const struct dtc_batch_job *many)
{
	if (kept->capacity >= many->count)
		return 0;
	const size_t each =
		DTC_MAX(sizeof(struct dtc_gpu_job), sizeof(struct dtc_gpu_copy_part));
	void *listed = dtc_alloc(many->context, many->count * each);
	struct dtc_gpu_launch **launches = dtc_alloc_zeroed(
		many->context, many->count * sizeof(struct dtc_gpu_launch *));

	if (!listed || !launches) {
		dtc_free(many->context, listed);
		dtc_free(many->context, (void *)launches);
		return fail_memory(many);
	}
	if (kept->launch_made)
		memcpy((void *)launches, (void *)kept->launches,
		       kept->launch_made * sizeof(struct dtc_gpu_launch *));
	dtc_free(many->context, kept->listed);
	dtc_free(many->context, (void *)kept->launches);
	kept->listed = listed;
	kept->launches = launches;
	kept->capacity = many->count;
	return 0;
}

/* Memory for one launch more, which is not counted yet. */
static int make_launch(struct kept *kept, const struct dtc_batch_job *many,
		       struct dtc_gpu_launch **launch)
{
	if (kept->launch_made == kept->launch_count) {
		struct dtc_gpu_launch *made = dtc_alloc(many->context, sizeof(*made));

		if (!made)
			return fail_memory(many);
		kept->launches[kept->launch_made++] = made;
	}
	*launch = kept->launches[kept->launch_count];
	return 0;
}

static void drop_room(struct kept *kept)
{
	if (kept->room)
		dtc_cuda_part_table_drop(kept->context, kept->room);
	kept->room = NULL;
	kept->room_bytes = 0;
	kept->part_bytes = 0;
}

static int make_room(struct kept *kept, const struct dtc_batch_job *many, size_t needed)
{
	if (kept->room_bytes >= needed)
		return 0;
	drop_room(kept);
	CUresult result = dtc_cuda_part_table_create(kept->context, needed, &kept->room);
	if (result)
		return dtc_cuda_fail(kept->context, result, "allocating a part table",
				     many->caller);
	kept->room_bytes = needed;
	return 0;
}

void dtc_cuda_batch_forget(void *memory)
{
	struct kept *kept = memory;
	struct dtconv_context *owner = kept->owner;

	drop_room(kept);
	for (size_t i = 0; i < kept->launch_made; i++)
		dtc_free(owner, kept->launches[i]);
	dtc_free(owner, (void *)kept->launches);
	dtc_free(owner, kept->listed);
	dtc_free(owner, kept);
}

/* ---- planning -------------------------------------------------------------------------- */

/* Whether a stretch may get a launch of its own; parts of one launch have no maps. */
static bool has_launch_bytes(const struct dtc_batch_job *many, uint64_t bytes)
{
	return many->count == 1 || bytes >= LAUNCH_BYTES;
}

static struct dtc_gpu_job describe(const struct kept *kept,
				   const struct dtc_batch_job *many,
				   const struct dtc_stretch *stretch)
{
	return (struct dtc_gpu_job){
		.layout = stretch->layout,
		.count = stretch->count,
		.user = (uint64_t)(uintptr_t)stretch->user +
			(uint64_t)stretch->user_memory.shift,
		.packed = (uint64_t)(uintptr_t)stretch->packed +
			  (uint64_t)stretch->packed_memory.shift,
		.end = stretch->bytes,
		.direction = many->direction,
		.local = dtc_cuda_is_local(kept->context, &stretch->user_memory),
		.near = dtc_cuda_is_near(kept->context, &stretch->user_memory,
					 stretch->bytes),
		.map_state = has_launch_bytes(many, stretch->bytes) ? DTC_GPU_MAP_OPEN
								    : DTC_GPU_MAP_OFF,
	};
}

/* What is slow among unlike parts. */
static bool is_worth_launch(const struct dtc_gpu_launch *launch)
{
	return launch->class != DTC_GPU_CLASS_STRIDED &&
	       launch->class != DTC_GPU_CLASS_MANY &&
	       launch->class != DTC_GPU_CLASS_GENERAL && launch->bytes >= LAUNCH_BYTES;
}

/* Among parts, a shape that is no nest is moved by the program. */
static int find_program(const struct dtc_cuda_submission *submission,
			const struct dtc_gpu_launch *launch, struct dtc_gpu_job *job)
{
	const struct dtc_cuda_reader reader = dtc_cuda_submission_reader(submission);
	CUdeviceptr image;

	if (job->image || launch->class == DTC_GPU_CLASS_STRIDED ||
	    launch->class == DTC_GPU_CLASS_MANY)
		return 0;
	int status = dtc_cuda_image_find(job->layout, submission->context, &reader,
					 submission->job->caller, &image);
	if (!status)
		job->image = image;
	return status;
}

/* Launches of their own for those that deserve it; the others stay listed. */
static int sort_jobs(const struct dtc_cuda_submission *submission, struct kept *kept,
		     const struct dtc_batch_job *many, size_t *together)
{
	const struct dtc_cuda_reader reader = dtc_cuda_submission_reader(submission);
	struct dtc_gpu_job *jobs = kept->listed;
	struct dtc_gpu_launch *launch = NULL;
	int status = 0;

	*together = 0;
	for (size_t i = 0; !status && i < many->count; i++) {
		struct dtc_gpu_job *job = &jobs[*together];

		*job = describe(kept, many, many->stretches[i]);
		status = make_launch(kept, many, &launch);
		if (!status)
			status = dtc_cuda_plan(job, submission->context, &reader,
					       submission->job->caller, launch);
		if (status && status != DTCONV_ERR_LIMIT)
			return status;
		if (!status && (many->count == 1 || is_worth_launch(launch))) {
			kept->launch_count++;
			continue;
		}
		status = find_program(submission, launch, job);
		++*together;
	}
	return status;
}

static int plan_together(struct kept *kept, const struct dtc_batch_job *many,
			 size_t count)
{
	struct dtc_gpu_launch *launch = NULL;
	uint32_t needed;

	int status = make_launch(kept, many, &launch);
	if (status)
		return status;
	status = dtc_gpu_plan_many(kept->listed, count, NULL, launch, &needed);
	if (status == DTCONV_ERR_LIMIT) {
		status = make_room(kept, many, needed * sizeof(struct dtc_gpu_part));
		if (status)
			return status;
		const struct dtc_gpu_parts parts = dtc_cuda_part_table_of(kept->room);
		status = dtc_gpu_plan_many(kept->listed, count, &parts, launch, &needed);
		kept->part_bytes = needed * sizeof(struct dtc_gpu_part);
	}
	if (!status)
		kept->launch_count++;
	return status;
}

static int plan_moves(const struct dtc_cuda_submission *submission, struct kept *kept,
		      const struct dtc_batch_job *many)
{
	size_t together = 0;
	int status = sort_jobs(submission, kept, many, &together);

	return status || !together ? status : plan_together(kept, many, together);
}

/* ---- planning copies between layouts ----------------------------------------------------- */

/* A stretch as a copy, whose cursors are put at its beginning. */
static struct dtc_copy_job copy_of_stretch(const struct dtc_batch_job *many,
					   const struct dtc_stretch *stretch,
					   struct dtc_cursor *source,
					   struct dtc_cursor *target)
{
	dtc_cursor_init(source, stretch->layout, stretch->count);
	dtc_cursor_init(target, stretch->target, stretch->target_count);
	return (struct dtc_copy_job){
		.source = { source, stretch->user, stretch->user_memory },
		.target = { target, stretch->packed, stretch->packed_memory },
		.bytes = stretch->bytes,
		.context = many->context,
		.on_stream = many->on_stream,
		.started = many->started,
		.is_part = !has_launch_bytes(many, stretch->bytes),
		.stream = many->stream,
		.caller = many->caller,
	};
}

/* Large ones get launches of their own; the others stay listed. */
static int sort_copies(const struct dtc_cuda_submission *submission, struct kept *kept,
		       const struct dtc_batch_job *many, size_t *together)
{
	struct dtc_gpu_copy_part *parts = kept->listed;
	struct dtc_gpu_launch *launch = NULL;
	struct dtc_cursor source, target;
	const char *reason;

	*together = 0;
	for (size_t i = 0; i < many->count; i++) {
		const struct dtc_copy_job copy =
			copy_of_stretch(many, many->stretches[i], &source, &target);
		int status = make_launch(kept, many, &launch);

		if (!status)
			status = dtc_cuda_copy_plan(submission, &copy, launch, &reason);
		if (status)
			return status;
		if (copy.is_part)
			parts[(*together)++] = dtc_gpu_copy_part_of(launch);
		else
			kept->launch_count++;
	}
	return 0;
}

static int plan_copies_together(struct kept *kept, const struct dtc_batch_job *many,
				size_t count)
{
	struct dtc_gpu_copy_part *parts = kept->listed;
	const size_t bytes = count > DTC_GPU_INLINE_COPIES ? count * sizeof(parts[0]) : 0;
	struct dtc_gpu_launch *launch = NULL;
	CUdeviceptr device = 0;
	int status = make_launch(kept, many, &launch);

	if (!status && bytes)
		status = make_room(kept, many, bytes);
	if (status)
		return status;
	if (bytes)
		device = dtc_cuda_part_table_device(kept->room);
	if (dtc_gpu_plan_copies(parts, count, (uint64_t)device, launch))
		return DTCONV_ERR_LIMIT;
	if (bytes)
		memcpy(dtc_cuda_part_table_memory(kept->room), parts, bytes);
	kept->part_bytes = bytes;
	kept->launch_count++;
	return 0;
}

static int plan_copies(const struct dtc_cuda_submission *submission, struct kept *kept,
		       const struct dtc_batch_job *many)
{
	size_t together = 0;
	int status = sort_copies(submission, kept, many, &together);

	return status || !together ? status : plan_copies_together(kept, many, together);
}

/* ---- planning a batch -------------------------------------------------------------------- */

static int check_access(const struct dtc_cuda_submission *submission,
			const struct dtc_batch_job *many)
{
	int status = 0;

	for (size_t i = 0; !status && i < many->count; i++) {
		const struct dtc_stretch *stretch = many->stretches[i];

		status = dtc_cuda_submission_check_access(
			submission, &stretch->user_memory, &stretch->packed_memory);
	}
	return status;
}

static int plan(const struct dtc_cuda_submission *submission, struct kept *kept,
		const struct dtc_batch_job *many)
{
	if (kept->context != submission->context)
		drop_room(kept);
	kept->context = submission->context;
	kept->planned = kept->copied = false;
	kept->launch_count = 0;
	kept->part_bytes = 0;
	int status = check_access(submission, many);
	if (!status)
		status = make_arrays(kept, many);
	if (!status)
		status = many->between_layouts ? plan_copies(submission, kept, many)
					       : plan_moves(submission, kept, many);
	kept->planned = !status;
	kept->upload = dtc_cuda_upload_last(kept->context);
	return status;
}

/* ---- submitting ------------------------------------------------------------------------ */

/* The parts, where they are not on the device yet. */
static CUresult copy_parts(struct kept *kept, const struct dtc_cuda_reader *reader)
{
	CUresult result = 0;

	if (kept->copied || !kept->part_bytes)
		return 0;
	result = dtc_cuda_part_table_copy(kept->context, kept->room, kept->part_bytes,
					  reader, &kept->upload);
	kept->copied = !result;
	return result;
}

/* Another submission may have planned the launches, in another stream. */
static CUresult upload_tables(const struct dtc_cuda_submission *submission,
			      struct kept *kept)
{
	const struct dtc_cuda_reader reader = dtc_cuda_submission_reader(submission);
	CUresult result = copy_parts(kept, &reader);

	return result ? result
		      : dtc_cuda_upload_order(kept->context, kept->upload, &reader);
}

/* The last launch, or the stream behind it, writes the flag for all: a stream has an order. */
static int launch_all(struct dtc_cuda_submission *submission, struct kept *kept)
{
	const char *call = "copying a part table to the device";
	CUresult result = upload_tables(submission, kept);
	bool flag = false;

	for (size_t i = 0; !result && i < kept->launch_count; i++) {
		call = "cuLaunchKernel";
		flag = i + 1 == kept->launch_count &&
		       dtc_cuda_kernel_writes_flag(kept->launches[i]);
		result = dtc_cuda_launch(submission, kept->launches[i], flag);
	}
	if (result)
		kept->copied = false;
	return dtc_cuda_submission_end(submission, result, call, !flag);
}

/* A stretch as a job of its own; @cursor is put at its beginning. */
static struct dtc_job job_of_stretch(const struct dtc_job *all,
				     const struct dtc_stretch *stretch,
				     struct dtc_cursor *cursor)
{
	struct dtc_job job = *all;

	dtc_cursor_init(cursor, stretch->layout, stretch->count);
	job.cursor = cursor;
	job.user = stretch->user;
	job.packed = stretch->packed;
	job.bytes = stretch->bytes;
	job.user_memory = stretch->user_memory;
	job.packed_memory = stretch->packed_memory;
	return job;
}

static bool reaches(const struct dtc_cuda_submission *submission,
		    const struct dtc_stretch *stretch)
{
	struct dtc_cursor cursor;
	const struct dtc_job job = job_of_stretch(submission->job, stretch, &cursor);

	return dtc_cuda_can_access(submission->context, &job, &cursor, job.bytes);
}

static bool reaches_copy(const struct dtc_cuda_submission *submission,
			 const struct dtc_batch_job *many,
			 const struct dtc_stretch *stretch)
{
	struct dtc_cursor source, target;
	const struct dtc_copy_job copy = copy_of_stretch(many, stretch, &source, &target);

	return dtc_cuda_copy_can_access(submission, &copy);
}

/* Whether kernels may touch all that is moved. */
static bool reaches_all(const struct dtc_cuda_submission *submission,
			const struct dtc_batch_job *many)
{
	bool reached = true;

	for (size_t i = 0; reached && i < many->count; i++)
		reached = many->between_layouts
				  ? reaches_copy(submission, many, many->stretches[i])
				  : reaches(submission, many->stretches[i]);
	return reached;
}

/* Without kernels: every stretch by the driver's copies; the caller packs and unpacks copies between layouts. */
static int copy_all(struct dtc_cuda_submission *submission,
		    const struct dtc_batch_job *many, enum dtc_counter counter,
		    const char *reason)
{
	const struct dtc_job *first = submission->job;
	CUresult result = 0;

	if (many->between_layouts) {
		dtc_cuda_submission_drop(submission);
		return DTCONV_ERR_LIMIT;
	}
	dtc_context_count(many->context, counter, many->count);
	for (size_t i = 0; !result && i < many->count; i++) {
		struct dtc_cursor cursor;
		const struct dtc_job job =
			job_of_stretch(first, many->stretches[i], &cursor);

		submission->job = &job;
		result = dtc_cuda_copy_blocks(submission, reason);
		submission->job = first;
	}
	return dtc_cuda_submission_end(submission, result, "a driver copy", true);
}

static int move(struct dtc_cuda_submission *submission, struct kept *kept,
		const struct dtc_batch_job *many)
{
	int status = 0;

	if (!dtc_cuda_kernels_are_loaded(submission->context))
		return copy_all(submission, many, DTC_COUNT_FALLBACKS_LOADING,
				"the kernels are not loaded");
	if (!reaches_all(submission, many))
		return copy_all(submission, many, DTC_COUNT_FALLBACKS_LIMITS,
				"the device has no peer access to the other device's memory");
	if (many->changed || !kept->planned || kept->context != submission->context)
		status = plan(submission, kept, many);
	if (status == DTCONV_ERR_UNSUPPORTED)
		return copy_all(submission, many, DTC_COUNT_FALLBACKS_LIMITS,
				"it has more tiles than one launch can have");
	if (status) {
		dtc_cuda_submission_drop(submission);
		return status;
	}
	return launch_all(submission, kept);
}

static uint64_t bytes_of(const struct dtc_batch_job *many)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < many->count; i++)
		bytes += many->stretches[i]->bytes;
	return bytes;
}

/* What the submission is asked for as a whole: the first stretch speaks for all. */
static struct dtc_job job_of(const struct dtc_batch_job *many)
{
	const struct dtc_stretch *first = many->stretches[0];

	return (struct dtc_job){ .direction = many->direction,
				 .bytes = bytes_of(many),
				 .context = many->context,
				 .user_memory = first->user_memory,
				 .packed_memory = first->packed_memory,
				 .on_stream = many->on_stream,
				 .stream = many->stream,
				 .started = many->started,
				 .between_layouts = many->between_layouts,
				 .caller = many->caller };
}

int dtc_cuda_batch_submit(const struct dtc_backend_ops *backend,
			  struct dtc_batch_job *many, struct dtc_event *event)
{
	const struct dtc_job job = job_of(many);
	struct dtc_cuda_submission submission;
	struct kept *kept = many->kept;

	if (!kept) {
		kept = dtc_alloc_zeroed(many->context, sizeof(*kept));
		if (!kept)
			return fail_memory(many);
		kept->owner = many->context;
		many->kept = kept;
	}
	int status = dtc_cuda_submission_begin(&submission, backend, &job, event);

	return status ? status : move(&submission, kept, many);
}
