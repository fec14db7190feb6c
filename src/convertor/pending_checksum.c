/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chooses who computes the checksum of packed bytes by the kind of their memory.
 */
#include "config.h"

#include "pending_checksum.h"

#include "base/base.h"
#include "base/context.h"
#include "base/log.h"
#include "copy_backends/checksum.h"
#include "device_move.h"
#include "kernels/launch/checksum.h"

void dtc_pending_checksum_finish(struct dtc_pending_checksum *pending)
{
	if (pending->bytes)
		dtc_checksum_add_remainder(
			&pending->sum, pending->position,
			dtc_gpu_checksum_of(pending->packed, pending->bytes,
					    (uint32_t)pending->event.answer),
			pending->bytes);
	pending->bytes = 0;
}

static int finish_range(struct dtc_pending_checksum *pending)
{
	int status = dtc_device_wait(&pending->event);

	if (!status)
		dtc_pending_checksum_finish(pending);
	return status;
}

/* Sum device memory on the host, through a bounce buffer, where no kernel can. */
static int sum_pieces(struct dtc_pending_checksum *pending, const struct dtc_move *move,
		      char *packed, uint64_t position, uint64_t bytes)
{
	size_t room, piece;
	char *buffer = dtc_device_bounce_buffer(move, bytes, &room);
	int status = 0;

	if (!buffer)
		return DTCONV_ERR_NOMEM;
	for (uint64_t done = 0; done < bytes && !status; done += piece) {
		piece = (size_t)DTC_MIN(bytes - done, (uint64_t)room);
		status = dtc_device_copy_contiguous(move, DTC_UNPACK, packed + done,
						    buffer, piece);
		if (!status)
			dtc_checksum_add(&pending->sum, position + done, buffer, piece);
	}
	dtc_free(move->context, buffer);
	return status;
}

static int sum_by_processor(struct dtc_pending_checksum *pending,
			    const struct dtc_move *move, const struct dtc_job *job,
			    uint64_t position, struct dtc_event *moving)
{
	int status = dtc_device_wait(moving);

	if (status)
		return status;
	if (job->packed_memory.kind != DTCONV_MEMORY_HOST)
		return sum_pieces(pending, move, job->packed, position, job->bytes);
	dtc_checksum_add(&pending->sum, position, job->packed, (size_t)job->bytes);
	return 0;
}

static int sum_range(struct dtc_pending_checksum *pending, const struct dtc_move *move,
		     const struct dtc_job *job, uint64_t position,
		     struct dtc_event *moving)
{
	int status = DTCONV_ERR_LIMIT;

	if (job->packed_memory.kind != DTCONV_MEMORY_HOST)
		status = dtc_checksum_submit(job, moving, &pending->event);
	/* The move's end leaves room for its checksum. */
	if (status == DTCONV_ERR_AGAIN && !job->no_wait) {
		status = dtc_device_wait(moving);
		if (!status)
			status = dtc_checksum_submit(job, moving, &pending->event);
	}
	if (status == DTCONV_ERR_LIMIT)
		return sum_by_processor(pending, move, job, position, moving);
	pending->position = position;
	pending->packed =
		(uint64_t)(uintptr_t)job->packed + (uint64_t)job->packed_memory.shift;
	pending->bytes = status ? 0 : job->bytes;
	return status;
}

static struct dtc_job describe(const struct dtc_move *move, char *packed, size_t bytes)
{
	struct dtc_job job = { .cursor = move->cursor,
			       .user = packed,
			       .packed = packed,
			       .row_bytes = bytes,
			       .direction = move->direction,
			       .context = move->context,
			       .on_stream = move->placement.on_stream,
			       .started = move->started,
			       .no_wait = move->no_wait,
			       .stream = move->placement.stream,
			       .caller = move->caller };

	job.bytes = dtc_device_find_packed(move, packed, bytes, &job.packed_memory);
	job.user_memory = job.packed_memory;
	return job;
}

int dtc_pending_checksum_start(struct dtc_pending_checksum *pending,
			       const struct dtc_move *move, char *packed,
			       uint64_t position, size_t bytes, struct dtc_event *moving)
{
	int status = 0;

	for (size_t done = 0; done < bytes && !status;) {
		const struct dtc_job job = describe(move, packed + done, bytes - done);

		status = finish_range(pending);
		if (!status)
			status = dtc_device_check(&job);
		if (!status)
			status = sum_range(pending, move, &job, position + done, moving);
		done += (size_t)job.bytes;
	}
	return status;
}
