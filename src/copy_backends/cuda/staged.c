/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moving between a device and host memory that the device does not see, in two hops: the device's, from or
 * to a pinned stage, and the processor's.
 */
#include "config.h"

#include "cuda.h"

#include <string.h>

#include "rates.h"
#include "stages.h"
#include "submit.h"

/* ---- planning -------------------------------------------------------------------------- */

static bool can(const struct dtc_question *question, const char **reason)
{
	bool user_host = question->user_kind == DTCONV_MEMORY_HOST;
	bool packed_host = question->packed_kind == DTCONV_MEMORY_HOST;

	if (user_host != packed_host)
		return true;
	*reason = user_host ? "no side is a device's" : "the device sees both sides";
	return false;
}

static double estimate(const struct dtc_question *question)
{
	return dtc_cuda_staged_ns(question);
}

/* ---- two hops -------------------------------------------------------------------------- */

struct staged {
	struct dtc_cuda_pieces pieces;
	const struct dtc_job *job;
	bool user_on_device;
	bool device_first;
	uint64_t piece_bytes;
};

/* A piece of the job's stream. */
struct piece {
	uint64_t offset;
	uint64_t bytes;
	char *stage;
};

static struct piece piece_at(const struct staged *staged, uint64_t number)
{
	uint64_t offset = number * staged->piece_bytes;

	return (struct piece){ .offset = offset,
			       .bytes = DTC_MIN(staged->job->bytes - offset,
						staged->piece_bytes),
			       .stage = dtc_cuda_stage_of(&staged->pieces, number) };
}

/* The device's hop: between the user's blocks and a stage, or a stage and packed memory. */
static int device_hop(const struct staged *staged, const struct piece *piece,
		      struct dtc_event *event)
{
	struct dtc_job hop = *staged->job;

	hop.bytes = piece->bytes;
	if (staged->user_on_device) {
		hop.packed = piece->stage;
		hop.packed_memory = dtc_cuda_stage_memory(&staged->pieces);
		return dtc_cuda_kernel_backend.submit(&hop, event);
	}
	hop.packed += piece->offset;
	return dtc_cuda_copy_row(&hop, piece->stage, event);
}

static void copy_packed(const struct staged *staged, const struct piece *piece)
{
	char *packed = staged->job->packed + piece->offset;

	if (staged->job->direction == DTC_PACK)
		memcpy(packed, piece->stage, (size_t)piece->bytes);
	else
		memcpy(piece->stage, packed, (size_t)piece->bytes);
}

/* The processor's hop: between a stage and packed memory, or the user's blocks and a stage. */
static int host_hop(const struct staged *staged, const struct piece *piece)
{
	struct dtc_job hop = *staged->job;
	struct dtc_event none;

	if (staged->user_on_device) {
		copy_packed(staged, piece);
		return 0;
	}
	hop.packed = piece->stage;
	hop.bytes = hop.move_bytes = piece->bytes;
	return dtc_host_backend.submit(&hop, &none);
}

static int begin(struct dtc_cuda_pieces *pieces, uint64_t number, struct dtc_event *event)
{
	const struct staged *staged = (const struct staged *)pieces;
	const struct piece piece = piece_at(staged, number);
	int status = staged->device_first ? 0 : host_hop(staged, &piece);

	return status ? status : device_hop(staged, &piece, event);
}

static int finish(struct dtc_cuda_pieces *pieces, uint64_t number)
{
	const struct staged *staged = (const struct staged *)pieces;
	const struct piece piece = piece_at(staged, number);

	return staged->device_first ? host_hop(staged, &piece) : 0;
}

/* ---- submitting ------------------------------------------------------------------------ */

/* Small enough that a few pieces overlap, large enough that the hops' fixed costs do not show. */
static uint64_t choose_piece(uint64_t bytes)
{
	uint64_t piece = bytes / DTC_CUDA_STAGES;

	piece = piece < 65536 ? 65536 : (piece + 127) / 128 * 128;
	return DTC_MIN(piece, DTC_CUDA_STAGE_BYTES);
}

static int submit(const struct dtc_job *job, struct dtc_event *event)
{
	bool user_on_device = dtc_memory_is_device_seen(&job->user_memory);
	uint64_t piece_bytes = choose_piece(job->bytes);
	struct staged staged = { .pieces = { .count = dtc_divide_up(job->bytes, piece_bytes),
					     .begin = begin,
					     .finish = finish },
				 .job = job,
				 .user_on_device = user_on_device,
				 .device_first = (job->direction == DTC_PACK) ==
						 user_on_device,
				 .piece_bytes = piece_bytes };

	event->backend = NULL;
	return dtc_cuda_stages_move(job, &staged.pieces);
}

const struct dtc_backend_ops dtc_cuda_staged_backend = {
	.name = "cuda_staged",
	.what = "kernels and the processor, through pinned pieces",
	.can = can,
	.estimate = estimate,
	.submit = submit,
	.test = dtc_cuda_event_test,
};
