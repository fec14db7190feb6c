/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The upload ring. Pieces end in the order of their numbers, also where they are in two streams, and their room in the
 * ring is used again in that order.
 *
 * An event tells when a piece has ended. Recording and querying it costs a message of 4,096 blocks 1.4 us of 29 (H200),
 * so a piece in the stream of a brief job has none: the job's flag tells. Another reader, or a full ring, has the event
 * recorded later, behind the job.
 */
#include "config.h"

#include "upload.h"

#include <string.h>

#include "completion.h"
#include "pinned.h"

/* Pieces begin at such addresses. */
#define ALIGNED 256

/* Of an upload in several pieces: the host fills one while the device copies others. */
#define PIECE_BYTES (DTC_CUDA_UPLOAD_RING_BYTES / 8)

static struct dtc_cuda_uploads *uploads_of(const struct dtc_cuda_context *context)
{
	return context->parts[DTC_CUDA_PART_upload];
}

/* ---- the feature ----------------------------------------------------------------------- */

static void init_uploads(struct dtc_cuda_context *context)
{
	pthread_mutex_init(&uploads_of(context)->lock, NULL);
}

/* Nobody waits for an upload any more. */
static void close_uploads(struct dtc_cuda_context *context)
{
	const struct dtc_cuda_driver *driver = &context->cuda->driver;
	struct dtc_cuda_uploads *uploads = uploads_of(context);

	for (size_t i = 0; i < DTC_CUDA_UPLOADS; i++)
		if (uploads->ends[i])
			driver->EventDestroy(uploads->ends[i]);
	if (uploads->stream)
		driver->StreamDestroy(uploads->stream);
	dtc_cuda_pinned_destroy(context, uploads->ring, DTC_CUDA_UPLOAD_RING_BYTES);
}

static void free_uploads(struct dtc_cuda_context *context)
{
	pthread_mutex_destroy(&uploads_of(context)->lock);
}

const struct dtc_cuda_feature dtc_cuda_upload_feature = {
	.name = "upload",
	.bytes = sizeof(struct dtc_cuda_uploads),
	.init = init_uploads,
	.close = close_uploads,
	.free = free_uploads,
};

/* ---- what is made once ----------------------------------------------------------------- */

/* The context is current. What there is after a failure stays for the next try. */
static CUresult make_current(struct dtc_cuda_context *context)
{
	struct dtc_cuda_uploads *uploads = uploads_of(context);
	void *ring = uploads->ring;
	CUresult result = CUDA_SUCCESS;

	if (!uploads->stream)
		result = dtc_cuda_stream_create(context, &uploads->stream);
	if (!result && !uploads->device)
		result = dtc_cuda_pinned_create(context, DTC_CUDA_UPLOAD_RING_BYTES,
						&ring, &uploads->device);
	uploads->ring = ring;
	return result;
}

static CUresult make_end(struct dtc_cuda_context *context, CUevent *end)
{
	return *end ? CUDA_SUCCESS
		    : context->cuda->driver.EventCreate(end, CU_EVENT_DISABLE_TIMING);
}

static CUevent *end_of(struct dtc_cuda_uploads *uploads, uint64_t number)
{
	return &uploads->ends[number % DTC_CUDA_UPLOADS];
}

/* Whatever the next piece needs is there. */
static CUresult make(struct dtc_cuda_context *context)
{
	const struct dtc_cuda_driver *driver = &context->cuda->driver;
	struct dtc_cuda_uploads *uploads = uploads_of(context);
	CUevent *end = end_of(uploads, atomic_load(&uploads->begun) + 1);
	CUcontext popped;

	if (uploads->stream && uploads->device && *end)
		return CUDA_SUCCESS;
	CUresult result = driver->CtxPushCurrent(context->handle);
	if (result)
		return result;
	result = make_current(context);
	if (!result)
		result = make_end(context, end);
	driver->CtxPopCurrent(&popped);
	return result;
}

/* ---- the end of pieces ------------------------------------------------------------------ */

static struct dtc_event *job_of(struct dtc_cuda_uploads *uploads, uint64_t number)
{
	return &uploads->jobs[number % DTC_CUDA_UPLOADS];
}

/* The lock is held. Have the event tell of a piece's end, if its job was to tell. */
static CUresult mark(struct dtc_cuda_context *context, uint64_t number)
{
	struct dtc_cuda_uploads *uploads = uploads_of(context);
	struct dtc_event *job = job_of(uploads, number);

	if (!job->owner)
		return CUDA_SUCCESS;
	const CUresult result = context->cuda->driver.EventRecord(
		*end_of(uploads, number), uploads->streams[number % DTC_CUDA_UPLOADS]);

	if (!result)
		job->owner = NULL;
	return result;
}

/*
 * The lock is held. Whether a piece has ended, or CUDA_ERROR_NOT_READY. The slot's next job overwrites the flag; then the
 * piece has ended when its stream is idle.
 */
static CUresult ask_piece(struct dtc_cuda_context *context, uint64_t number)
{
	const struct dtc_cuda_driver *driver = &context->cuda->driver;
	struct dtc_cuda_uploads *uploads = uploads_of(context);
	const struct dtc_event *job = job_of(uploads, number);

	if (!job->owner)
		return driver->EventQuery(*end_of(uploads, number));
	return dtc_cuda_flag_is_written(job)
		       ? CUDA_SUCCESS
		       : driver->StreamQuery(uploads->streams[number % DTC_CUDA_UPLOADS]);
}

/* The lock is held. Note the pieces that have ended. */
static CUresult look(struct dtc_cuda_context *context)
{
	struct dtc_cuda_uploads *uploads = uploads_of(context);
	uint64_t ended = atomic_load(&uploads->ended);
	CUresult result = CUDA_SUCCESS;

	while (ended < atomic_load(&uploads->begun)) {
		result = ask_piece(context, ended + 1);
		if (result)
			break;
		ended++;
		uploads->emptied = uploads->filled_by[ended % DTC_CUDA_UPLOADS];
		atomic_store_explicit(&uploads->ended, ended, memory_order_release);
	}
	return result == CUDA_ERROR_NOT_READY ? CUDA_SUCCESS : result;
}

static bool has_ended(const struct dtc_cuda_uploads *uploads, uint64_t number)
{
	return number <= atomic_load_explicit(&uploads->ended, memory_order_acquire);
}

/* The lock is held. Copies wait for nothing, so this takes no longer than they and brief jobs do. */
static CUresult wait_for(struct dtc_cuda_context *context, uint64_t number)
{
	CUresult result = CUDA_SUCCESS;

	for (uint64_t i = atomic_load(&uploads_of(context)->ended) + 1;
	     !result && i <= number; i++)
		result = mark(context, i);
	while (!result && !has_ended(uploads_of(context), number)) {
		if (!dtc_cuda_context_is_alive(context))
			return CUDA_ERROR_CONTEXT_IS_DESTROYED;
		result = look(context);
	}
	return result;
}

/* ---- room in the ring ------------------------------------------------------------------- */

/* Bytes from a position to the end of the ring. */
static size_t left_in_round(uint64_t position)
{
	return DTC_CUDA_UPLOAD_RING_BYTES - position % DTC_CUDA_UPLOAD_RING_BYTES;
}

/* Where a piece of so many bytes begins: it is not cut by the ring's end. */
static uint64_t place_of(const struct dtc_cuda_uploads *uploads, size_t bytes)
{
	uint64_t left = left_in_round(uploads->filled);

	return uploads->filled + (left < bytes ? left : 0);
}

static bool has_room(const struct dtc_cuda_uploads *uploads, uint64_t end)
{
	return end - uploads->emptied <= DTC_CUDA_UPLOAD_RING_BYTES &&
	       atomic_load(&uploads->begun) - atomic_load(&uploads->ended) <
		       DTC_CUDA_UPLOADS;
}

static CUresult drain_stream(struct dtc_cuda_context *context, CUstream stream)
{
	const struct dtc_cuda_driver *driver = &context->cuda->driver;
	CUresult result;

	do
		result = driver->StreamQuery(stream);
	while (result == CUDA_ERROR_NOT_READY && dtc_cuda_context_is_alive(context));
	return result;
}

/* The room of pieces whose end could not be marked is free when their streams are idle. */
static CUresult drain(struct dtc_cuda_context *context)
{
	struct dtc_cuda_uploads *uploads = uploads_of(context);
	CUresult result = drain_stream(context, uploads->stream);

	for (int lane = 0; !result && lane < DTC_CUDA_LANES; lane++)
		result = drain_stream(context, context->lanes[lane]);
	if (!result)
		uploads->emptied = uploads->filled;
	return result;
}

/* Wait until the ring has room before a position. */
static CUresult await_room(struct dtc_cuda_context *context, uint64_t end)
{
	struct dtc_cuda_uploads *uploads = uploads_of(context);
	CUresult result = has_room(uploads, end) ? CUDA_SUCCESS : look(context);

	while (!result && !has_room(uploads, end)) {
		uint64_t ended = atomic_load(&uploads->ended);

		result = ended < atomic_load(&uploads->begun)
				 ? wait_for(context, ended + 1)
				 : drain(context);
	}
	return result;
}

/* ---- uploading -------------------------------------------------------------------------- */

static size_t whole_room(size_t bytes)
{
	return (bytes + ALIGNED - 1) / ALIGNED * ALIGNED;
}

/*
 * If nothing is in flight, begin at the start of the ring: the host's caches hold it since the last upload. (The ring is
 * larger than many second caches.)
 */
static void begin_anew(struct dtc_cuda_uploads *uploads)
{
	if (uploads->emptied != uploads->filled ||
	    uploads->filled % DTC_CUDA_UPLOAD_RING_BYTES == 0)
		return;
	uploads->filled += left_in_round(uploads->filled);
	uploads->emptied = uploads->filled;
}

/* The stream for a piece. In another stream than the piece before, it begins after that one has ended. */
static CUresult choose_stream(struct dtc_cuda_context *context,
			      const struct dtc_cuda_reader *reader, CUstream *stream)
{
	struct dtc_cuda_uploads *uploads = uploads_of(context);
	const uint64_t last = atomic_load(&uploads->begun);
	const bool ended = has_ended(uploads, last);
	CUstream before = uploads->streams[last % DTC_CUDA_UPLOADS];
	const bool idle = reader && reader->own && dtc_cuda_flag_is_only(reader->own);

	*stream = idle && (ended || before == reader->stream) ? reader->stream
							      : uploads->stream;
	if (ended || before == *stream)
		return CUDA_SUCCESS;
	const CUresult result = mark(context, last);
	return result ? result
		      : context->cuda->driver.StreamWaitEvent(*stream,
							      *end_of(uploads, last), 0);
}

/* The lock is held. Note a piece that is on its way in a stream. Fails if an event is needed and not recorded. */
static CUresult keep(struct dtc_cuda_context *context, CUstream stream,
		     const struct dtc_cuda_reader *reader)
{
	struct dtc_cuda_uploads *uploads = uploads_of(context);
	const uint64_t next = atomic_load(&uploads->begun) + 1;
	CUresult result = CUDA_SUCCESS;

	*job_of(uploads, next) = (struct dtc_event){ .owner = NULL };
	if (reader && reader->is_brief && stream == reader->stream)
		*job_of(uploads, next) = *reader->own;
	else
		result =
			context->cuda->driver.EventRecord(*end_of(uploads, next), stream);
	if (result)
		return result;
	uploads->filled_by[next % DTC_CUDA_UPLOADS] = uploads->filled;
	uploads->streams[next % DTC_CUDA_UPLOADS] = stream;
	atomic_store(&uploads->begun, next);
	return CUDA_SUCCESS;
}

/* The lock is held. */
static CUresult send(struct dtc_cuda_context *context, CUdeviceptr memory, uint64_t place,
		     size_t bytes, const struct dtc_cuda_reader *reader, uint64_t *number)
{
	const struct dtc_cuda_driver *driver = &context->cuda->driver;
	struct dtc_cuda_uploads *uploads = uploads_of(context);
	const char *from = uploads->ring + place % DTC_CUDA_UPLOAD_RING_BYTES;
	CUstream stream;

	CUresult result = choose_stream(context, reader, &stream);
	if (!result)
		result = driver->MemcpyAsync(memory, (CUdeviceptr)(uintptr_t)from, bytes,
					     stream);
	if (result)
		return result;
	uploads->filled = place + whole_room(bytes);
	result = keep(context, stream, reader);
	/* No later piece could be ordered behind the copy, which is under way. */
	if (result)
		drain_stream(context, stream);
	*number = atomic_load(&uploads->begun);
	return result;
}

/* The lock is held. */
static CUresult upload_piece(struct dtc_cuda_context *context, CUdeviceptr memory,
			     const struct dtc_cuda_table *piece,
			     const struct dtc_cuda_reader *reader, uint64_t *number)
{
	struct dtc_cuda_uploads *uploads = uploads_of(context);

	CUresult result = make(context);
	if (!result)
		result = look(context);
	if (result)
		return result;
	begin_anew(uploads);
	const uint64_t place = place_of(uploads, whole_room(piece->bytes));
	result = await_room(context, place + whole_room(piece->bytes));
	if (result)
		return result;
	char *to = uploads->ring + place % DTC_CUDA_UPLOAD_RING_BYTES;
	if (piece->write)
		piece->write(piece->source, to);
	else
		memcpy(to, piece->source, piece->bytes);
	return send(context, memory, place, piece->bytes, reader, number);
}

CUresult dtc_cuda_upload(struct dtc_cuda_context *context, CUdeviceptr memory,
			 const struct dtc_cuda_table *table,
			 const struct dtc_cuda_reader *reader, uint64_t *number)
{
	struct dtc_cuda_uploads *uploads = uploads_of(context);
	const size_t most = table->write ? DTC_CUDA_UPLOAD_WHOLE_BYTES : PIECE_BYTES;
	CUresult result = CUDA_SUCCESS;

	pthread_mutex_lock(&uploads->lock);
	for (size_t at = 0; !result && at < table->bytes; at += most) {
		const struct dtc_cuda_table piece = {
			.write = table->write,
			.source = (const char *)table->source + at,
			.bytes = DTC_MIN(table->bytes - at, most)
		};

		result = upload_piece(context, memory + at, &piece, reader, number);
	}
	pthread_mutex_unlock(&uploads->lock);
	return result;
}

/* ---- readers ---------------------------------------------------------------------------- */

CUresult dtc_cuda_upload_wait(struct dtc_cuda_context *context, uint64_t number)
{
	struct dtc_cuda_uploads *uploads = uploads_of(context);

	if (has_ended(uploads, number))
		return CUDA_SUCCESS;
	pthread_mutex_lock(&uploads->lock);
	CUresult result = wait_for(context, number);
	pthread_mutex_unlock(&uploads->lock);
	return result;
}

CUresult dtc_cuda_upload_order(struct dtc_cuda_context *context, uint64_t number,
			       const struct dtc_cuda_reader *reader)
{
	struct dtc_cuda_uploads *uploads = uploads_of(context);

	if (has_ended(uploads, number))
		return CUDA_SUCCESS;
	if (!reader || reader->captured)
		return dtc_cuda_upload_wait(context, number);
	pthread_mutex_lock(&uploads->lock);
	CUresult result = uploads->streams[number % DTC_CUDA_UPLOADS] == reader->stream
				  ? CUDA_SUCCESS
				  : look(context);
	/* The event is still this piece's: it is recorded anew only when the piece has ended. */
	if (!result && !has_ended(uploads, number) &&
	    uploads->streams[number % DTC_CUDA_UPLOADS] != reader->stream) {
		result = mark(context, number);
		if (!result)
			result = context->cuda->driver.StreamWaitEvent(
				reader->stream, *end_of(uploads, number), 0);
	}
	pthread_mutex_unlock(&uploads->lock);
	return result;
}

static bool is_of(const struct dtc_event *piece, const struct dtc_event *job)
{
	return piece->owner && piece->slot == job->slot && piece->value == job->value;
}

CUresult dtc_cuda_upload_abandon(struct dtc_cuda_context *context,
				 const struct dtc_event *job)
{
	struct dtc_cuda_uploads *uploads = uploads_of(context);

	pthread_mutex_lock(&uploads->lock);
	const uint64_t last = atomic_load(&uploads->begun);
	CUresult result = is_of(job_of(uploads, last), job) ? wait_for(context, last)
							    : CUDA_SUCCESS;
	pthread_mutex_unlock(&uploads->lock);
	return result;
}

uint64_t dtc_cuda_upload_last(const struct dtc_cuda_context *context)
{
	return atomic_load(&uploads_of(context)->begun);
}

bool dtc_cuda_upload_is_idle(struct dtc_cuda_context *context)
{
	struct dtc_cuda_uploads *uploads = uploads_of(context);

	if (has_ended(uploads, dtc_cuda_upload_last(context)))
		return true;
	pthread_mutex_lock(&uploads->lock);
	bool idle = !look(context) && has_ended(uploads, atomic_load(&uploads->begun));
	pthread_mutex_unlock(&uploads->lock);
	return idle;
}
