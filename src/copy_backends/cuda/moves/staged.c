/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cuda_staged: jobs between a device and pageable host memory in two hops: the device copies to or from a pinned
 * slot of the staging ring, and CPU threads copy the other half.
 */
#include "config.h"

#include "moves.h"

#include "base/base.h"
#include "copy_backends/cuda/launch/copies.h"
#include "copy_backends/cuda/launch/submission.h"
#include "copy_backends/cuda/planning/cost_model.h"
#include "datatype/runs.h"
#include "datatype/type.h"
#include "staging.h"

/* ---- planning -------------------------------------------------------------------------- */

static bool can(const struct dtc_question *question, const char **reason)
{
	bool user_host = question->user_kind == DTCONV_MEMORY_HOST;
	bool packed_host = question->packed_kind == DTCONV_MEMORY_HOST;

	if (user_host != packed_host &&
	    (question->on_stream || question->user_kind == DTCONV_MEMORY_DEVICE ||
	     question->packed_kind == DTCONV_MEMORY_DEVICE))
		return true;
	if (user_host != packed_host) {
		*reason = "the CPU reaches both sides, and no stream orders them";
		return false;
	}
	*reason = user_host ? "neither side is device memory"
			    : "the device can access both sides";
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
	char *row; /* the host's side, if it is one run; else NULL */
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
			       .stage = dtc_cuda_staging_slot(&staged->pieces, number) };
}

/* Between the blocks of the hop's job and a stage. */
static int move_to_stage(const struct staged *staged, const struct piece *piece,
			 struct dtc_job *hop, struct dtc_event *event)
{
	hop->packed = piece->stage;
	hop->packed_memory = dtc_cuda_staging_memory(&staged->pieces);
	return dtc_cuda_kernel_backend.submit(hop, event);
}

/* Between a row of packed memory, which is one block to the stage's row, and a stage. */
static int move_row(const struct staged *staged, const struct piece *piece,
		    struct dtc_job *hop, struct dtc_event *event)
{
	struct dtconv_type *byte = dtconv_type_predefined(hop->context, DTCONV_BYTE);
	struct dtc_cursor cursor;

	dtc_cursor_init(&cursor, dtc_type_layout(byte), piece->bytes);
	hop->type = byte;
	hop->cursor = &cursor;
	hop->user = hop->packed;
	hop->user_memory = hop->packed_memory;
	hop->direction = hop->direction == DTC_PACK ? DTC_UNPACK : DTC_PACK;
	return move_to_stage(staged, piece, hop, event);
}

/*
 * The device's hop: between the user's blocks and a stage, or a stage and packed memory. The driver's copies from
 * host memory to host memory would wait for the stream.
 */
static int device_hop(const struct staged *staged, const struct piece *piece,
		      struct dtc_event *event)
{
	struct dtc_job hop = *staged->job;

	hop.bytes = piece->bytes;
	if (staged->user_on_device)
		return move_to_stage(staged, piece, &hop, event);
	hop.packed += piece->offset;
	if (hop.packed_memory.kind == DTCONV_MEMORY_PINNED)
		return move_row(staged, piece, &hop, event);
	return dtc_cuda_copy_row(&dtc_cuda_copy_backend, &hop, piece->stage, event);
}

static int device(struct dtc_cuda_pieces *pieces, uint64_t number, struct dtc_event *event)
{
	const struct staged *staged = (const struct staged *)pieces;
	const struct piece piece = piece_at(staged, number);

	return device_hop(staged, &piece, event);
}

static void copy_row(const struct staged *staged, const struct piece *piece, uint32_t part)
{
	char *row = staged->row + piece->offset;
	bool out = staged->pieces.device_first;

	dtc_cuda_staging_copy(&staged->pieces, out ? row : piece->stage,
			      out ? piece->stage : row, piece->bytes, part);
}

/* The user's blocks in a part of a piece. The job's cursor stays where the job begins. */
static void move_blocks(const struct staged *staged, const struct piece *piece, uint32_t part)
{
	uint64_t begin = dtc_cuda_staging_cut(piece->bytes, part);
	uint64_t end = dtc_cuda_staging_cut(piece->bytes, part + 1);
	struct dtc_job hop = *staged->job;
	struct dtc_cursor cursor;
	struct dtc_event none;

	if (begin == end)
		return;
	dtc_cursor_copy(&cursor, staged->job->cursor);
	dtc_cursor_seek(&cursor, cursor.position + piece->offset + begin);
	hop.cursor = &cursor;
	hop.packed = piece->stage + begin;
	hop.bytes = end - begin;
	int status = dtc_host_backend.submit(&hop, &none);
	assert(!status); /* between host memories nothing can fail */
	(void)status;
}

/* The processors' hop: between a stage and a row of the host's, or the user's blocks there. */
static void host(const struct dtc_cuda_pieces *pieces, uint64_t number, uint32_t part)
{
	const struct staged *staged = (const struct staged *)pieces;
	const struct piece piece = piece_at(staged, number);

	if (staged->row)
		copy_row(staged, &piece, part);
	else
		move_blocks(staged, &piece, part);
}

/* ---- submitting ------------------------------------------------------------------------ */

/*
 * Each piece costs the device 5 us and more besides its bytes, which is why shorter ones than that gain nothing by
 * overlapping; but what one processor copies out of stages, in two halves.
 */
#define LEAST_BYTES (UINT64_C(512) << 10)
#define HALVED      (UINT64_C(256) << 10)
#define LEAST_HALF  (UINT64_C(64) << 10)

static uint64_t choose_piece(uint64_t bytes, bool device_first)
{
	uint64_t piece = DTC_MAX(bytes / DTC_CUDA_STAGING_SLOTS, LEAST_BYTES);

	if (device_first && bytes < HALVED)
		piece = DTC_MAX(bytes / 2, LEAST_HALF);
	return DTC_MIN((piece + 127) / 128 * 128, DTC_CUDA_STAGING_SLOT_BYTES);
}

/* The job's user bytes, if they are one run. */
static char *find_run(const struct dtc_job *job)
{
	struct dtc_cursor cursor;
	struct dtc_runs runs;
	struct dtc_run run;

	dtc_cursor_copy(&cursor, job->cursor);
	dtc_runs_init(&runs, &cursor, job->bytes);
	return dtc_runs_next(&runs, &run) && run.bytes == job->bytes ? job->user + run.disp : NULL;
}

static struct staged describe(const struct dtc_job *job)
{
	bool user_on_device = dtc_memory_is_device_seen(&job->user_memory);
	bool device_first = (job->direction == DTC_PACK) == user_on_device;
	uint64_t piece_bytes = choose_piece(job->bytes, device_first);

	return (struct staged){ .pieces = { .count = dtc_divide_up(job->bytes, piece_bytes),
					    .bytes = job->bytes,
					    .device_first = device_first,
					    .device = device,
					    .host = host },
				.job = job,
				.user_on_device = user_on_device,
				.row = user_on_device ? job->packed : find_run(job),
				.piece_bytes = piece_bytes };
}

/* A started job, whose cursor moves on while the caller has its own again. */
struct kept {
	struct staged staged;
	struct dtc_job job;
	struct dtc_cursor cursor;
};

_Static_assert(sizeof(struct kept) <= DTC_CUDA_STAGING_ROOM, "too long");

static struct dtc_cuda_pieces *keep(void *room, const struct dtc_job *job)
{
	struct kept *kept = room;

	kept->job = *job;
	dtc_cursor_copy(&kept->cursor, job->cursor);
	kept->job.cursor = &kept->cursor;
	kept->staged = describe(&kept->job);
	return &kept->staged.pieces;
}

static int submit(const struct dtc_job *job, struct dtc_event *event)
{
	struct staged staged = describe(job);
	uint64_t start = job->cursor->position;

	event->backend = NULL;
	int status = job->started ? dtc_cuda_staging_start(&dtc_cuda_staged_backend, job,
							   event, &staged.pieces, keep)
				  : dtc_cuda_staging_move(job, &staged.pieces);
	if (!status)
		dtc_cursor_seek(job->cursor, start + job->bytes);
	return status;
}

const struct dtc_backend_ops dtc_cuda_staged_backend = {
	.name = "cuda_staged",
	.what = "kernels and CPU copies, through pinned staging buffers",
	.vendor = &dtc_cuda_vendor,
	.can = can,
	.estimate = estimate,
	.submit = submit,
	.test = dtc_cuda_staging_test,
};
