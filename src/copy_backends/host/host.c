/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The host backend: memcpy and the CPU kernels. The cursor cuts the stream into pieces; this file
 * chooses a kernel for each piece.
 */
#include "config.h"

#include "copy_backends/backend.h"

#include "base/base.h"
#include "base/checked.h"
#include "base/context.h"
#include "blocks.h"
#include "copy_backends/mover.h"
#include "loop_body.h"

/* ---- loops over short runs ------------------------------------------------------------- */

/* Move whole iterations of a loop over runs and strips. False if they are no pattern. */
static bool move_as_pattern(struct address_pair pair, const struct dtc_op *loop,
			    const struct dtc_op body[], uint64_t count)
{
	uint64_t n = dtc_runs_of_body(body, loop->body);
	struct dtc_short_run runs[PATTERN_RUNS];

	return may_be_pattern(pair, count, n, loop->unit_bytes, loop->stride) &&
	       dtc_list_runs(runs, body, loop->body) &&
	       move_pattern(pair, runs, (size_t)n, loop->stride, loop->unit_bytes, count);
}

/* ---- stretches that may begin and end inside a run --------------------------------------- */

/* Bytes [offset, offset + bytes) of a strip. */
static void move_strip_piece(struct address_pair pair, const struct dtc_op *op,
			     uint64_t offset, uint64_t bytes)
{
	uint64_t run = offset / op->unit_bytes;
	uint64_t inside = offset % op->unit_bytes;

	if (inside) {
		uint64_t rest = op->unit_bytes - inside;
		uint64_t head = DTC_MIN(rest, bytes);
		int64_t next = head == rest ? op->stride - (int64_t)inside
					    : (int64_t)head;

		move_run_before(pair_at(&pair,
					(int64_t)run * op->stride + (int64_t)inside, 0),
				head, next);
		pair.packed += head;
		bytes -= head;
		run++;
	}
	uint64_t whole = bytes / op->unit_bytes;
	if (whole)
		move_strip(pair, op, run, whole);
	pair.packed += whole * op->unit_bytes;
	bytes -= whole * op->unit_bytes;
	if (bytes)
		move_run(pair_at(&pair, (int64_t)(run + whole) * op->stride, 0), bytes);
}

/* The displacement of byte @offset of the table, which is in @entry or right behind it. */
static int64_t table_byte_disp(const struct dtc_table *table, uint64_t entry,
			       uint64_t offset)
{
	if (offset == dtc_table_prefix(table, entry + 1) && entry + 1 < table->count)
		return dtc_table_disp(table, entry + 1);
	return dtc_table_disp(table, entry) +
	       (int64_t)(offset - dtc_table_prefix(table, entry));
}

static void move_table_piece(struct address_pair pair, const struct dtc_table *table,
			     const struct dtc_piece *piece)
{
	uint64_t offset = piece->offset;
	uint64_t end = offset + piece->bytes;
	uint64_t entry = piece->entry;
	uint64_t start = dtc_table_prefix(table, entry);

	if (start < offset) {
		uint64_t head_end = DTC_MIN(dtc_table_prefix(table, entry + 1), end);
		int64_t disp = table_byte_disp(table, entry, offset);

		move_run_before(pair_at(&pair, disp, 0), head_end - offset,
				table_byte_disp(table, entry, head_end) - disp);
		pair.packed += head_end - offset;
		offset = head_end;
		entry++;
	}
	if (offset == end)
		return;
	uint64_t last = end == piece->op->bytes ? table->count
						: dtc_table_find(table, end, entry);
	if (last > entry)
		move_table(pair, table, entry, last - entry);
	uint64_t tail = last < table->count ? end - dtc_table_prefix(table, last) : 0;
	pair.packed += end - offset - tail;
	if (tail)
		move_run(pair_at(&pair, dtc_table_disp(table, last), 0), tail);
}

/* ---- whole iterations of loops without loops inside ------------------------------------- */

/* Packed bytes that one pass over a body of several operations covers. */
#define PASS_BYTES 16384

/* Exchange the axes of a grid. */
static void turn(struct dtc_grid *grid)
{
	const struct dtc_grid old = *grid;

	grid->to_strides = side(old.to_strides.inner, old.to_strides.outer);
	grid->from_strides = side(old.from_strides.inner, old.from_strides.outer);
	grid->outer = old.inner;
	grid->inner = old.outer;
}

/* Move the same run or strip of @count iterations; @pair is that of the first one. */
static void move_across(struct address_pair pair, const struct dtc_op *loop,
			const struct dtc_op *op, uint64_t count)
{
	struct address_pair start = pair_at(&pair, op->disp, op->bytes_before);
	int64_t packed_step = (int64_t)loop->unit_bytes;

	if (op->kind == DTC_OP_RUN) {
		move_grid(start, side(0, loop->stride), side(0, packed_step), 1, count,
			  op->bytes);
		return;
	}
	int64_t run_bytes = (int64_t)op->unit_bytes;
	if (dtc_magnitude(loop->stride) >= dtc_magnitude(op->stride)) {
		move_grid(start, side(loop->stride, op->stride),
			  side(packed_step, run_bytes), count, op->count, op->unit_bytes);
		return;
	}
	/*
	 * Transposing: neighbours in memory are in different iterations. The outer axis is the one
	 * along which the written side is dense.
	 */
	struct dtc_grid_side user = side(op->stride, loop->stride);
	struct dtc_grid_side packed = side(run_bytes, packed_step);
	struct dtc_grid grid = grid_of(start, user, packed, op->count, count, op->unit_bytes);
	if (pair.direction == DTC_UNPACK)
		turn(&grid);
	pair.cpu->transpose(&grid);
}

/* Move whole instances by the pattern of the layout's mover. False if it has none. */
static bool move_as_known_pattern(struct address_pair pair,
				  const struct dtc_cursor *cursor,
				  const struct dtc_op *loop, uint64_t count)
{
	const struct dtc_mover *mover = cursor->layout->mover;

	if (!mover || loop != &cursor->root || mover->pattern.repeats != 1 ||
	    count * loop->unit_bytes < PATTERN_BYTES)
		return false;
	dtc_mover_move_periods(mover, (size_t)count, pair.user, pair.packed,
			       pair.direction, pair.stream);
	return true;
}

/*
 * In the caches, short passes over several iterations save calls. Beyond them one iteration after the other is faster,
 * unless it is short (doc/performance.md).
 */
static uint64_t iterations_of_a_pass(const struct address_pair *pair,
				     const struct dtc_op *loop, uint64_t count)
{
	if (loop->body == 1)
		return count;
	if (dtc_passes_caches(pair->stream) && loop->unit_bytes >= PASS_BYTES)
		return 1;
	return DTC_MAX(PASS_BYTES / loop->unit_bytes, UINT64_C(4));
}

/* Move whole iterations, each operation of all of them at once. */
static void move_pass(const struct address_pair *pair, const struct dtc_program *program,
		      const struct dtc_op *loop, const struct dtc_op *body,
		      uint64_t count)
{
	if (count == 1) {
		dtc_move_body(pair, program, body, loop->body);
		return;
	}
	for (uint32_t i = 0; i < loop->body; i++) {
		if (body[i].kind == DTC_OP_TABLE)
			dtc_move_tables(pair, program, loop, &body[i], count);
		else
			move_across(*pair, loop, &body[i], count);
	}
}

static void move_iterations(struct address_pair pair, const struct dtc_cursor *cursor,
			    const struct dtc_piece *piece)
{
	const struct dtc_op *loop = piece->op;
	const uint64_t count = piece->bytes / loop->unit_bytes;

	pair = pair_at(&pair, (int64_t)piece->iteration * loop->stride, 0);
	if (count > 1 && (move_as_known_pattern(pair, cursor, loop, count) ||
			  move_as_pattern(pair, loop, piece->body, count)))
		return;
	const uint64_t pass = iterations_of_a_pass(&pair, loop, count);

	for (uint64_t done = 0; done < count; done += pass) {
		const struct address_pair start = pair_at(
			&pair, (int64_t)done * loop->stride, done * loop->unit_bytes);

		move_pass(&start, cursor->program, loop, piece->body,
			  DTC_MIN(count - done, pass));
	}
}

/* ---- the backend --------------------------------------------------------------------------- */

/* Smaller jobs stay in the caches and are read soon. */
#define STREAM_JOB_BYTES 32768

/* The size of a core's own caches. */
#define FETCH_TARGET_BYTES (1 << 20)

/* Rings of fragments that should stay in a core's caches are shorter. */
#define STREAM_ROW_BYTES (UINT64_C(2) << 20)

/*
 * Stores bypass the caches if the target is large. Unpacking writes the user's whole buffer, in fragments
 * or not. Packed bytes are read soon, unless they are many consecutive ones.
 */
static enum dtc_stream stream_of(const struct dtc_job *job)
{
	bool pack = job->direction == DTC_PACK;
	uint64_t target = job->cursor->size;
	uint64_t least = job->cursor->layout->program->context->tuning.stream_bytes;
	bool is_ring = pack && job->row_bytes < DTC_MIN(least, STREAM_ROW_BYTES);

	if (target < least || is_ring || (job->bytes < STREAM_JOB_BYTES && least))
		return !pack && target >= FETCH_TARGET_BYTES ? DTC_STREAM_FETCHED
							     : DTC_STREAM_NONE;
	return pack ? DTC_STREAM_PACKED : DTC_STREAM_USER;
}

static void move_piece(const struct dtc_job *job, enum dtc_stream stream,
		       const struct dtc_piece *piece, char *packed)
{
	const struct dtc_program *program = job->cursor->program;
	const struct address_pair pair = { program->context->cpu, stream,
					   displaced(job->user,
						     piece->base + piece->op->disp),
					   packed, job->direction };

	switch (piece->op->kind) {
	case DTC_OP_RUN:
		move_run(pair_at(&pair, (int64_t)piece->offset, 0), piece->bytes);
		break;
	case DTC_OP_STRIP:
		move_strip_piece(pair, piece->op, piece->offset, piece->bytes);
		break;
	case DTC_OP_TABLE:
		move_table_piece(pair, dtc_program_table(program, piece->op), piece);
		break;
	default:
		move_iterations(pair, job->cursor, piece);
	}
}

static int submit(const struct dtc_job *job, struct dtc_event *event)
{
	const enum dtc_stream stream = stream_of(job);
	uint64_t left = job->bytes;
	char *packed = job->packed;
	struct dtc_piece piece;

	event->backend = NULL;
	while (left && dtc_cursor_next(job->cursor, left, true, &piece)) {
		move_piece(job, stream, &piece, packed);
		packed += piece.bytes;
		left -= piece.bytes;
	}
	dtc_end_stream(stream);
	return 0;
}

static bool reaches(enum dtconv_memory_kind kind)
{
	return kind != DTCONV_MEMORY_DEVICE && kind != DTCONV_MEMORY_UNKNOWN;
}

static bool can(const struct dtc_question *question, const char **reason)
{
	if (!reaches(question->user_kind) || !reaches(question->packed_kind))
		*reason = "cannot access device memory";
	else if (question->on_stream && !dtc_question_is_ordinary(question))
		*reason = "is not stream-ordered";
	else
		return true;
	return false;
}

/* A call, and a strided copy out of the last-level cache. */
static double estimate(const struct dtc_question *question)
{
	return 20.0 + (double)question->bytes / 10.0;
}

/* Jobs of this backend complete in submit. */
static int test(struct dtc_event *event)
{
	(void)event;
	return 0;
}

const struct dtc_backend_ops dtc_host_backend = {
	.name = "host",
	.what = "memcpy and CPU kernels",
	.can = can,
	.estimate = estimate,
	.submit = submit,
	.test = test,
};
