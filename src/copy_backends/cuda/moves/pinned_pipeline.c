/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cuda_relay: long jobs between a device and pinned memory as a pipeline. Kernels pack into pieces of device memory
 * while the copy engine, which is a little faster over the bus than kernels, moves other pieces. The whole job is
 * enqueued at once, so submit does not block.
 *
 * Jobs that are started and that no stream orders, such as the fragments of a message, follow each other in the same
 * pieces without waiting for one another: the copy of one overlaps with the kernel of the next. Also, copies of both
 * directions share the bus better than kernels do: 1 MiB each way takes 25 us by copies and 37 us by kernels on one H200.
 */
#include "config.h"

#include "pinned_pipeline.h"

#include "base/base.h"
#include "base/log.h"
#include "copy_backends/cuda/device/completion.h"
#include "copy_backends/cuda/launch/alarms.h"
#include "copy_backends/cuda/launch/event.h"
#include "copy_backends/cuda/launch/kernel_module.h"
#include "copy_backends/cuda/launch/launch.h"
#include "copy_backends/cuda/launch/submission.h"
#include "copy_backends/cuda/planning/cost_model.h"
#include "moves.h"

/* ---- planning -------------------------------------------------------------------------- */

static bool can(const struct dtc_question *question, const char **reason)
{
	if (question->user_kind == DTCONV_MEMORY_DEVICE &&
	    question->packed_kind == DTCONV_MEMORY_PINNED)
		return true;
	*reason =
		"it needs user memory on a device and packed memory in pinned host memory";
	return false;
}

/*
 * A first piece, packing, and a last one, unpacking, of so many bytes overlaps with nothing. The others are so
 * many times as long as all before them, or behind them: their kernels are faster than that crosses the bus.
 */
#define LEAST_BYTES (UINT64_C(1) << 20)
#define TIMES       7

static uint64_t choose_piece(uint64_t bytes, uint64_t done, enum dtc_direction direction,
			     bool is_loose)
{
	uint64_t left = bytes - done;

	/* What others overlap with need not be cut. */
	if (is_loose)
		return DTC_MIN(left, (uint64_t)DTC_CUDA_PIPELINE_PIECE_BYTES);
	uint64_t piece = direction == DTC_PACK ? done * TIMES : left / (TIMES + 1) * TIMES;

	piece = DTC_MAX(piece / 128 * 128, LEAST_BYTES);
	/* What would be left over is no piece of its own. */
	if (left < piece + LEAST_BYTES / 2)
		piece = left;
	return DTC_MIN(piece, (uint64_t)DTC_CUDA_PIPELINE_PIECE_BYTES);
}

/* Whether other jobs may overtake the job, and it them. */
static bool is_loose(const struct dtc_job *job)
{
	return job->started && !dtc_job_is_ordered(job);
}

static bool is_loose_question(const struct dtc_question *question)
{
	return question->started && !question->on_stream;
}

static uint64_t count_pieces(const struct dtc_question *question)
{
	uint64_t count = 0;

	for (uint64_t done = 0; done < question->bytes; count++)
		done += choose_piece(question->bytes, done, question->direction, false);
	return count;
}

/* What pieces cost besides the copy engine's time: mostly the half of one piece that overlaps with nothing. */
static double extra_ns(const struct dtc_question *question)
{
	if (is_loose_question(question))
		return DTC_CUDA_PIPELINE_LOOSE_NS *
		       (double)dtc_divide_up(question->bytes,
					     DTC_CUDA_PIPELINE_PIECE_BYTES);
	return dtc_cuda_pipeline_ns(question, count_pieces(question), LEAST_BYTES);
}

static double estimate(const struct dtc_question *question)
{
	return dtc_cuda_launch_ns(question) + extra_ns(question) +
	       (double)question->bytes / dtc_cuda_copy_rate(question);
}

/* ---- opening --------------------------------------------------------------------------- */

#define DIRECTIONS (DTC_UNPACK + 1)

static CUresult create_events(const struct dtc_cuda_driver *driver, CUevent events[], size_t count)
{
	CUresult result = CUDA_SUCCESS;

	for (size_t i = 0; !result && i < count; i++)
		result = driver->EventCreate(&events[i], CU_EVENT_DISABLE_TIMING);
	return result;
}

static CUresult create_all(struct dtc_cuda_context *context,
			   struct dtc_cuda_pipeline *pipeline)
{
	const struct dtc_cuda_driver *driver = &context->cuda->driver;
	int least = 0, greatest = 0;

	CUresult result = CUDA_SUCCESS;

	driver->CtxGetStreamPriorityRange(&least, &greatest);
	for (size_t i = 0; !result && i < DTC_CUDA_COPY_STREAMS; i++)
		result = driver->StreamCreateWithPriority(
			&pipeline->copies[i], CU_STREAM_NON_BLOCKING, greatest);
	if (!result)
		result = create_events(driver, pipeline->full, DTC_CUDA_PIPELINE_PIECES);
	if (!result)
		result = create_events(driver, pipeline->empty, DTC_CUDA_PIPELINE_PIECES);
	if (!result)
		result = create_events(driver, &pipeline->begun, 1);
	if (!result)
		result = driver->MemAlloc(&pipeline->memory,
					  DTC_CUDA_PIPELINE_PIECES *
						  DTC_CUDA_PIPELINE_PIECE_BYTES);
	return result;
}

/*
 * Kernels read whole words at both ends of a piece, and throw away what is beside it: that has been written,
 * too. Jobs wait for the places to be empty, so that nobody else has to wait for this.
 */
static CUresult clear(struct dtc_cuda_context *context,
		      struct dtc_cuda_pipeline *pipeline)
{
	const struct dtc_cuda_driver *driver = &context->cuda->driver;
	CUresult result = driver->MemsetD8Async(pipeline->memory, 0,
						DTC_CUDA_PIPELINE_PIECES *
							DTC_CUDA_PIPELINE_PIECE_BYTES,
						pipeline->copies[0]);

	for (size_t i = 0; !result && i < DTC_CUDA_PIPELINE_PIECES; i++)
		result = driver->EventRecord(pipeline->empty[i], pipeline->copies[0]);
	return result;
}

/* Made when a job first asks; what cannot be had is not asked for again. The lock is held. */
static bool is_open(struct dtc_cuda_context *context, struct dtc_cuda_pipeline *pipeline)
{
	const struct dtc_cuda_driver *driver = &context->cuda->driver;
	CUcontext popped;

	if (pipeline->opened)
		return pipeline->ready;
	pipeline->opened = true;
	CUresult result = driver->CtxPushCurrent(context->handle);
	if (!result) {
		result = create_all(context, pipeline);
		if (!result)
			result = clear(context, pipeline);
		driver->CtxPopCurrent(&popped);
	}
	if (result)
		DTC_LOG(context->cuda->context, DTCONV_LOG_WARN,
			"device %d: cannot set up the device-to-pinned pipeline (%s); "
			"long jobs use one kernel each",
			context->device,
			dtc_cuda_result_name(&context->cuda->driver, result));
	pipeline->ready = !result;
	return pipeline->ready;
}

static void prepare(struct dtc_cuda_context *context, struct dtc_cuda_pipeline *pipeline)
{
	pthread_mutex_lock(&pipeline->lock);
	(void)is_open(context, pipeline);
	pthread_mutex_unlock(&pipeline->lock);
}

void dtc_cuda_pipeline_prepare(struct dtc_cuda_context *context)
{
	prepare(context, dtc_cuda_pipeline_of(context, DTC_PACK));
	prepare(context, dtc_cuda_pipeline_of(context, DTC_UNPACK));
}

static void destroy_events(const struct dtc_cuda_driver *driver, CUevent events[], size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (events[i])
			driver->EventDestroy(events[i]);
}

static void init_pipelines(struct dtc_cuda_context *context)
{
	pthread_mutex_init(&dtc_cuda_pipeline_of(context, DTC_PACK)->lock, NULL);
	pthread_mutex_init(&dtc_cuda_pipeline_of(context, DTC_UNPACK)->lock, NULL);
}

static void close_pipeline(const struct dtc_cuda_driver *driver,
			   struct dtc_cuda_pipeline *pipeline)
{
	for (size_t i = 0; i < DTC_CUDA_COPY_STREAMS; i++)
		if (pipeline->copies[i])
			driver->StreamDestroy(pipeline->copies[i]);
	destroy_events(driver, pipeline->full, DTC_CUDA_PIPELINE_PIECES);
	destroy_events(driver, pipeline->empty, DTC_CUDA_PIPELINE_PIECES);
	destroy_events(driver, &pipeline->begun, 1);
	if (pipeline->memory)
		driver->MemFree(pipeline->memory);
}

static void close_pipelines(struct dtc_cuda_context *context)
{
	const struct dtc_cuda_driver *driver = &context->cuda->driver;

	close_pipeline(driver, dtc_cuda_pipeline_of(context, DTC_PACK));
	close_pipeline(driver, dtc_cuda_pipeline_of(context, DTC_UNPACK));
}

static void free_pipelines(struct dtc_cuda_context *context)
{
	pthread_mutex_destroy(&dtc_cuda_pipeline_of(context, DTC_PACK)->lock);
	pthread_mutex_destroy(&dtc_cuda_pipeline_of(context, DTC_UNPACK)->lock);
}

const struct dtc_cuda_feature dtc_cuda_pipeline_feature = {
	.name = "pipeline",
	.bytes = DIRECTIONS * sizeof(struct dtc_cuda_pipeline),
	.init = init_pipelines,
	.close = close_pipelines,
	.free = free_pipelines,
};

/* ---- pieces ---------------------------------------------------------------------------- */

/* A job whose pieces are handed out. */
struct piped {
	struct dtc_cuda_submission submission;
	struct dtc_cuda_pipeline *pipeline;
	uint64_t first; /* number of its first piece, counted over all jobs */
	bool is_loose;
	bool follows; /* others may not have left the pieces, or they are not cleared */
	const char *call; /* the last one of the driver's */
};

struct piece {
	uint64_t offset;
	uint64_t bytes;
	size_t place; /* in the ring */
	CUstream copies;
	bool waits; /* for its place, which others may not have left */
};

static struct piece piece_at(const struct piped *piped, uint64_t number, uint64_t offset)
{
	const struct dtc_job *job = piped->submission.job;

	return (struct piece){
		.offset = offset,
		.bytes = choose_piece(job->bytes, offset, job->direction,
				      piped->is_loose),
		.place = number % DTC_CUDA_PIPELINE_PIECES,
		.copies = piped->pipeline->copies[number % DTC_CUDA_COPY_STREAMS],
		.waits = number >= piped->first + DTC_CUDA_PIPELINE_PIECES ||
			 piped->follows
	};
}

static CUdeviceptr memory_of(const struct piped *piped, const struct piece *piece)
{
	return piped->pipeline->memory + piece->place * DTC_CUDA_PIPELINE_PIECE_BYTES;
}

/* In @stream, wait until @before, do the half, and note its end by @after. */
static CUresult wait_for(struct piped *piped, CUstream stream, CUevent before)
{
	piped->call = "cuStreamWaitEvent";
	return piped->submission.driver->StreamWaitEvent(stream, before, 0);
}

static CUresult note(struct piped *piped, CUstream stream, CUevent after)
{
	piped->call = "cuEventRecord";
	return piped->submission.driver->EventRecord(after, stream);
}

/* The kernels' half. */
static int launch_half(struct piped *piped, const struct piece *piece, CUresult *result)
{
	struct dtc_job hop = *piped->submission.job;
	struct dtc_cuda_submission part = piped->submission;
	struct dtc_gpu_launch launch;

	hop.packed = (char *)(uintptr_t)memory_of(piped, piece);
	hop.packed_memory = (struct dtc_memory){ .kind = DTCONV_MEMORY_DEVICE,
						 .device = part.context->device };
	hop.bytes = piece->bytes;
	part.job = &hop;
	int status = dtc_cuda_submission_plan(&part, &launch);
	if (status)
		return status;
	piped->call = "cuLaunchKernel";
	*result = dtc_cuda_launch(&part, &launch, false);
	dtc_cursor_seek(hop.cursor, hop.cursor->position + hop.bytes);
	return 0;
}

static CUresult copy_half(struct piped *piped, const struct piece *piece)
{
	const struct dtc_job *job = piped->submission.job;
	CUdeviceptr packed = (CUdeviceptr)(uintptr_t)job->packed + piece->offset;
	CUdeviceptr memory = memory_of(piped, piece);
	bool pack = job->direction == DTC_PACK;

	piped->call = "cuMemcpyAsync";
	return piped->submission.driver->MemcpyAsync(pack ? packed : memory,
						     pack ? memory : packed,
						     (size_t)piece->bytes, piece->copies);
}

static int pack_piece(struct piped *piped, const struct piece *piece, CUresult *result)
{
	struct dtc_cuda_pipeline *pipeline = piped->pipeline;
	CUstream kernels = piped->submission.stream;
	int status = 0;

	*result = CUDA_SUCCESS;
	if (piece->waits)
		*result = wait_for(piped, kernels, pipeline->empty[piece->place]);
	if (!*result)
		status = launch_half(piped, piece, result);
	if (!status && !*result)
		*result = note(piped, kernels, pipeline->full[piece->place]);
	if (!status && !*result)
		*result = wait_for(piped, piece->copies, pipeline->full[piece->place]);
	if (!status && !*result)
		*result = copy_half(piped, piece);
	if (!status && !*result)
		*result = note(piped, piece->copies, pipeline->empty[piece->place]);
	return status;
}

static int unpack_piece(struct piped *piped, const struct piece *piece, CUresult *result)
{
	struct dtc_cuda_pipeline *pipeline = piped->pipeline;
	CUstream kernels = piped->submission.stream;
	int status = 0;

	*result = CUDA_SUCCESS;
	if (piece->waits)
		*result = wait_for(piped, piece->copies, pipeline->empty[piece->place]);
	if (!*result)
		*result = copy_half(piped, piece);
	if (!*result)
		*result = note(piped, piece->copies, pipeline->full[piece->place]);
	if (!*result)
		*result = wait_for(piped, kernels, pipeline->full[piece->place]);
	if (!*result)
		status = launch_half(piped, piece, result);
	if (!status && !*result)
		*result = note(piped, kernels, pipeline->empty[piece->place]);
	return status;
}

/*
 * A job of the caller's stream comes behind all that is in it, the last job's pieces too. Packing kernels do, and
 * copies come behind them.
 */
static CUresult begin(struct piped *piped)
{
	const struct dtc_cuda_pipeline *pipeline = piped->pipeline;

	if (piped->is_loose || piped->submission.job->direction == DTC_PACK)
		return CUDA_SUCCESS;
	CUresult result = note(piped, piped->submission.stream, pipeline->begun);

	for (size_t i = 0; !result && i < DTC_CUDA_COPY_STREAMS; i++)
		result = wait_for(piped, pipeline->copies[i], pipeline->begun);
	return result;
}

/* By the end of its last work the next job learns that the pieces are free. */
static CUresult mark_end(struct piped *piped, struct dtc_event *event)
{
	if (piped->is_loose)
		return dtc_cuda_flag_record(event, &piped->call);
	piped->call = "cuStreamWriteValue64";
	return dtc_cuda_flag_write(event);
}

/* All copies are done when the last of each stream is: then the stream @last and the caller's go on. */
static CUresult join(struct piped *piped, uint64_t end, CUstream last)
{
	const struct dtc_cuda_pipeline *pipeline = piped->pipeline;
	uint64_t streams = DTC_MIN(end - piped->first, (uint64_t)DTC_CUDA_COPY_STREAMS);
	CUresult result = CUDA_SUCCESS;

	for (uint64_t i = end - streams; !result && i < end; i++) {
		CUevent empty = pipeline->empty[i % DTC_CUDA_PIPELINE_PIECES];

		if (!piped->is_loose)
			result = wait_for(piped, piped->submission.stream, empty);
		if (!result && i + 1 < end)
			result = wait_for(piped, last, empty);
	}
	return result;
}

/* The end is marked in the last copy's stream: the caller's would wait for the copies first. */
static CUresult end_packing(struct piped *piped, uint64_t end)
{
	struct dtc_event *event = piped->submission.event;
	CUstream last = piped->pipeline->copies[(end - 1) % DTC_CUDA_COPY_STREAMS];
	struct dtc_event flag = *event;

	CUresult result = join(piped, end, last);
	if (result)
		return result;
	flag.stream = last;
	if (piped->is_loose)
		event->stream = last;
	return mark_end(piped, piped->is_loose ? event : &flag);
}

static int move(struct piped *piped, CUresult *result)
{
	const struct dtc_job *job = piped->submission.job;
	uint64_t number = piped->first, done = 0;
	int status = 0;

	*result = begin(piped);
	for (; !status && !*result && done < job->bytes; number++) {
		const struct piece piece = piece_at(piped, number, done);

		status = job->direction == DTC_PACK ? pack_piece(piped, &piece, result)
						    : unpack_piece(piped, &piece, result);
		done += piece.bytes;
	}
	piped->pipeline->count = number;
	if (!status && !*result)
		*result = job->direction == DTC_PACK
				  ? end_packing(piped, number)
				  : mark_end(piped, piped->submission.event);
	return status;
}

/* ---- submitting ------------------------------------------------------------------------ */

/* Whether nothing of the last job is in flight. A later job of its slot is as good. */
static bool is_free(const struct dtc_cuda_context *context,
		    const struct dtc_cuda_pipeline *pipeline)
{
	const struct dtc_cuda_flags *flags = dtc_cuda_flags_of(context);

	if (atomic_load_explicit(&flags->words[pipeline->slot], memory_order_acquire) >=
	    pipeline->value)
		return true;
	return pipeline->recorded &&
	       !context->cuda->driver.EventQuery(flags->ends[pipeline->slot]);
}

/*
 * Whether a job of the stream comes behind the last one anyway. One that waited for a piece of another stream's
 * would wait for all that this stream waits for. A default stream of each thread's has one name for many.
 */
static bool is_behind(const struct dtc_cuda_pipeline *pipeline, CUstream stream)
{
	return pipeline->stream == stream && stream != CU_STREAM_PER_THREAD;
}

static bool may_go(struct dtc_cuda_submission *submission,
		   struct dtc_cuda_pipeline *pipeline)
{
	struct dtc_cuda_context *context = submission->context;

	return !submission->capturing && dtc_cuda_kernels_are_loaded(context) &&
	       !dtc_cuda_submission_is_far(submission, &submission->job->user_memory) &&
	       is_open(context, pipeline) &&
	       (is_behind(pipeline, submission->stream) || is_free(context, pipeline));
}

/* What of a job that has failed is in the copies' streams. Its end in the caller's, others wait for. */
static void drain_copies(const struct piped *piped)
{
	const struct dtc_cuda_driver *driver = piped->submission.driver;

	for (size_t i = 0; i < DTC_CUDA_COPY_STREAMS; i++)
		while (dtc_cuda_context_is_alive(piped->submission.context) &&
		       driver->StreamQuery(piped->pipeline->copies[i]) ==
			       CUDA_ERROR_NOT_READY)
			;
}

static int move_all(struct piped *piped)
{
	struct dtc_cuda_submission *submission = &piped->submission;
	struct dtc_cuda_pipeline *pipeline = piped->pipeline;
	CUresult result;

	piped->first = pipeline->count;
	piped->is_loose = is_loose(submission->job);
	/* The name of a stream may be that of one that is gone. */
	piped->follows = !pipeline->used || piped->is_loose ||
			 !is_free(submission->context, pipeline);
	pipeline->recorded = piped->is_loose;
	pipeline->stream = submission->stream;
	pipeline->slot = submission->event->slot;
	pipeline->value = submission->event->value;
	int status = move(piped, &result);
	if (status || result)
		drain_copies(piped);
	else
		pipeline->used = true;
	if (!status)
		return dtc_cuda_submission_end(submission, result, piped->call, false);
	dtc_cuda_submission_abandon(submission);
	return status;
}

static int submit(const struct dtc_job *job, struct dtc_event *event)
{
	struct piped piped;
	struct dtc_cuda_submission *submission = &piped.submission;

	int status = dtc_cuda_submission_begin(submission, &dtc_cuda_pipeline_backend,
					       job, event);
	if (status)
		return status;
	piped.pipeline = dtc_cuda_pipeline_of(submission->context, job->direction);
	pthread_mutex_lock(&piped.pipeline->lock);
	bool goes = may_go(submission, piped.pipeline);
	if (goes)
		status = move_all(&piped);
	pthread_mutex_unlock(&piped.pipeline->lock);
	if (goes)
		return status;
	dtc_cuda_submission_drop(submission);
	return dtc_cuda_kernel_backend.submit(job, event);
}

const struct dtc_backend_ops dtc_cuda_pipeline_backend = {
	.name = "cuda_relay",
	.what = "kernels and the copy engine, pipelined through device staging buffers",
	.vendor = &dtc_cuda_vendor,
	.can = can,
	.estimate = estimate,
	.submit = submit,
	.test = dtc_cuda_event_test,
	.set_alarm = dtc_cuda_event_set_alarm,
};
