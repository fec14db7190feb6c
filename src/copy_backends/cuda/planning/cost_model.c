/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rates by memory kinds, block length, shape and direction. All rates are payload: packed bytes per time.
 */
#include "config.h"

#include "cost_model.h"

#include "base/base.h"
#include "base/tuning.h"
#include "copy_backends/cuda/device/device_context.h"

/* Before the driver is initialised no device has a name; there may be one later. */
static const struct dtc_tuning *find_tuning(struct dtc_cuda *cuda, int ordinal)
{
	const struct dtc_tuning *tuning = &cuda->context->tuning;
	char name[DTC_DEVICE_NAME_MAX] = "";
	CUdevice device;

	if (cuda->driver.DeviceGet(&device, ordinal) ||
	    cuda->driver.DeviceGetName(name, sizeof(name), device))
		return tuning;
	tuning = dtc_tuning_of_device(cuda->context, name);
	atomic_store_explicit(&cuda->tunings->devices[ordinal], tuning,
			      memory_order_relaxed);
	return tuning;
}

const struct dtc_tuning *dtc_cuda_tuning(const struct dtc_question *question)
{
	struct dtconv_context *context = question->layout->program->context;
	struct dtc_cuda *cuda = dtc_cuda_of(context);
	int ordinal = DTC_MAX(question->device, 0);

	if (!context->tuning_file.device_count || !cuda || ordinal >= DTC_CUDA_DEVICES)
		return &context->tuning;
	const struct dtc_tuning *tuning = atomic_load_explicit(
		&cuda->tunings->devices[ordinal], memory_order_relaxed);
	return tuning ? tuning : find_tuning(cuda, ordinal);
}

bool dtc_cuda_is_run(const struct dtc_question *question)
{
	const struct dtc_program *program = question->layout->program;

	return question->is_run || question->layout->dense ||
	       (question->count == 1 && program->op_count == 1 &&
		program->ops[0].kind == DTC_OP_RUN);
}

double dtc_cuda_run_bytes(const struct dtc_question *question)
{
	if (dtc_cuda_is_run(question) || !question->layout->size)
		return (double)DTC_MAX(question->bytes, UINT64_C(1));
	return (double)question->layout->size / (double)dtc_layout_runs(question->layout);
}

/* Whether bytes leave the device, where they cross the bus. */
static bool is_from_device(const struct dtc_question *question)
{
	return (question->user_kind == DTCONV_MEMORY_DEVICE) ==
	       (question->direction == DTC_PACK);
}

/*
 * Into ordinary memory the driver copies through memory of its own, and waits for each call; out of it only
 * for the last.
 */
#define PAGEABLE_COPY_NS 2700.0
#define PAGEABLE_LAST_NS 2500.0

/*
 * A run, in launches of ours. Inside a device the driver copies by kernels of its own, and is a little slower; between
 * two the copy engine is faster than loads and stores.
 */
static double run_launches(const struct dtc_question *question)
{
	return question->is_between ? 0.8 : 1.1;
}

double dtc_cuda_copies_ns(const struct dtc_question *question, double calls)
{
	const struct dtc_tuning *tuning = dtc_cuda_tuning(question);
	double call_ns = (double)tuning->device_copy_ns;
	double once_ns = (double)tuning->device_wake_ns;

	if (!dtc_cuda_crosses(question))
		call_ns =
			DTC_MAX(call_ns,
				(dtc_cuda_is_run(question) ? run_launches(question) : 1) *
					(double)tuning->device_launch_ns);
	else if (dtc_question_has_ordinary(question) && is_from_device(question))
		call_ns += PAGEABLE_COPY_NS;
	else if (dtc_question_has_ordinary(question))
		once_ns += PAGEABLE_LAST_NS;
	return once_ns + call_ns * calls;
}

double dtc_cuda_launch_ns(const struct dtc_question *question)
{
	const struct dtc_tuning *tuning = dtc_cuda_tuning(question);

	return (double)(tuning->device_wake_ns + tuning->device_launch_ns);
}

/* ---- the driver's copies --------------------------------------------------------------- */

/* What the driver reaches into ordinary memory, of what it reaches out of it. */
#define PAGEABLE_FROM 0.78

double dtc_cuda_copy_rate(const struct dtc_question *question)
{
	const struct dtc_tuning *tuning = dtc_cuda_tuning(question);

	if (dtc_question_has_ordinary(question))
		return (double)tuning->device_pageable_rate *
		       (is_from_device(question) ? PAGEABLE_FROM : 1);
	if (question->is_between)
		return (double)tuning->device_peer_rate;
	return (double)(dtc_cuda_crosses(question) ? tuning->device_bus_rate
						   : tuning->device_rate);
}

/* From and to ordinary host memory the driver copies row by row, each of them so much longer, but not these. */
#define PAGEABLE_ROW_NS  350.0
#define PAGEABLE_WIDE_NS 6.0

/* Rows of few bytes, or of whole words of 16. */
static double pageable_row_ns(double row_bytes)
{
	return row_bytes <= 16 || (uint64_t)row_bytes % 16 == 0 ? PAGEABLE_WIDE_NS
								: PAGEABLE_ROW_NS;
}

/*
 * A row over the bus takes so much besides its bytes; out of a device the less, the longer it is. And it takes
 * so long at least.
 */
#define ROW_NS       1.0
#define ROW_OUT_LONG 256.0
#define ROW_OUT_NS   1.4
#define ROW_IN_NS    1.9
#define ROW_FEW_NS   15.0 /* over its bytes, where it is scattered in a device's memory */
#define ROW_NEAR_NS  0.65 /* inside a device */

static double row_across_ns(const struct dtc_question *question, double row_bytes)
{
	double ns = row_bytes / dtc_cuda_copy_rate(question);

	if (is_from_device(question)) {
		ns += DTC_MAX(ROW_NS * (1 - row_bytes / ROW_OUT_LONG), 0);
		return DTC_MAX(ns, ROW_OUT_NS);
	}
	ns = DTC_MAX(ns + ROW_NS, ROW_IN_NS);
	if (question->user_kind == DTCONV_MEMORY_DEVICE)
		ns = DTC_MAX(ns, ROW_FEW_NS / row_bytes);
	return ns;
}

/* GB/s for each byte of a row, from one device to another: 23 of 8 bytes, 188 of 64. */
#define PEER_ROW 2.9

double dtc_cuda_rows_rate(const struct dtc_question *question, double row_bytes)
{
	double most = dtc_cuda_copy_rate(question);

	if (question->is_between)
		return DTC_MIN(most, row_bytes * PEER_ROW);
	if (dtc_question_has_ordinary(question))
		return row_bytes / (pageable_row_ns(row_bytes) + row_bytes / most);
	if (dtc_cuda_crosses(question))
		return row_bytes / row_across_ns(question, row_bytes);
	return DTC_MIN(most * 0.4, row_bytes / ROW_NEAR_NS);
}

/* ---- kernels --------------------------------------------------------------------------- */

/* What part of a rate is reached in blocks up to that length; the last one is for all longer ones. */
struct step {
	double run_bytes;
	double pack, unpack;
};

static const struct step inside[] = {
	{ 63, 0.62, 0.38 }, { 127, 0.88, 0.75 }, { 511, 0.90, 0.85 }, { 0, 0.93, 0.92 }
};

/* Packed memory is written, or read, in whole lines over the bus: blocks do not matter. */
static const struct step packed_across[] = { { 0, 0.90, 0.75 } };

/* One device's memory is written, or read, by the other's kernels. */
static const struct step between[] = { { 0, 0.95, 0.90 } };

static double part_of(const struct step *steps, const struct dtc_question *question)
{
	double run_bytes = dtc_cuda_run_bytes(question);

	while (steps->run_bytes > 0 && run_bytes > steps->run_bytes)
		steps++;
	return question->direction == DTC_PACK ? steps->pack : steps->unpack;
}

/* What part of the bus's rate is reached in the user's blocks, were it not for their number. */
#define USER_ACROSS 0.84

/* Nanoseconds of a block besides: a read, a store, a store in bytes; of short ones for each byte. */
#define BLOCK_READ_NS  0.8
#define BLOCK_STORE_NS 2.4
#define BLOCK_CUT_NS   4.0
#define SHORT_READ_NS  0.08
#define SHORT_STORE_NS 0.6

/* Whether blocks begin and end where words do. */
static bool has_words(const struct dtc_question *question, double run_bytes)
{
	const struct dtc_op *op = &question->layout->program->ops[0];

	return (uint64_t)run_bytes % 8 == 0 &&
	       (op->kind != DTC_OP_STRIP || op->stride % 8 == 0);
}

/* The user's blocks are read over the bus, or written, each on its own. */
static double user_across_rate(const struct dtc_question *question)
{
	double bus = (double)dtc_cuda_tuning(question)->device_bus_rate * USER_ACROSS;
	double run_bytes = dtc_cuda_run_bytes(question), block_ns;

	if (dtc_cuda_is_run(question) || !question->layout->program->op_count)
		return bus;
	if (question->direction == DTC_PACK)
		block_ns = DTC_MIN(BLOCK_READ_NS, run_bytes * SHORT_READ_NS);
	else if (has_words(question, run_bytes))
		block_ns = DTC_MIN(BLOCK_STORE_NS, run_bytes * SHORT_STORE_NS);
	else
		block_ns = DTC_MIN(BLOCK_CUT_NS, run_bytes * SHORT_STORE_NS);
	return run_bytes / (run_bytes / bus + block_ns);
}

/* Finding a block costs more where there is no formula for it. */
static double part_of_shape(const struct dtc_question *question)
{
	if (question->is_run)
		return 1;
	switch (dtc_layout_shape(question->layout, question->count)) {
	case DTC_SHAPE_TRANSPOSING:
	case DTC_SHAPE_PERIODIC:
		return 0.8;
	case DTC_SHAPE_INDEXED:
	case DTC_SHAPE_GENERAL:
		return 0.55;
	default:
		return 1;
	}
}

/* The copy engine starts behind a kernel in another stream; then it rests between two pieces. */
#define PIPELINE_NS       20000.0
#define PIPELINE_PIECE_NS 3000.0

static double inside_rate(const struct dtc_question *question)
{
	return (double)dtc_cuda_tuning(question)->device_rate * part_of(inside, question) *
	       part_of_shape(question);
}

double dtc_cuda_pipeline_ns(const struct dtc_question *question, uint64_t pieces,
			    uint64_t alone_bytes)
{
	return PIPELINE_NS + (double)pieces * PIPELINE_PIECE_NS +
	       (double)alone_bytes / inside_rate(question);
}

double dtc_cuda_kernel_rate(const struct dtc_question *question)
{
	const struct dtc_tuning *tuning = dtc_cuda_tuning(question);

	if (question->is_between)
		return (double)tuning->device_peer_rate * part_of(between, question);
	if (question->user_kind != DTCONV_MEMORY_DEVICE)
		return user_across_rate(question);
	if (question->packed_kind != DTCONV_MEMORY_DEVICE)
		return (double)tuning->device_bus_rate * part_of(packed_across, question);
	return inside_rate(question);
}

double dtc_cuda_layout_copy_ns(const struct dtc_question *source,
			       const struct dtc_question *target)
{
	double rate = DTC_MIN(dtc_cuda_kernel_rate(source), dtc_cuda_kernel_rate(target));

	return dtc_cuda_launch_ns(source) + (double)source->bytes / rate;
}

/* 16 MiB in blocks of 8 to 20 bytes take 124 to 174 us by one launch, 84 to 95 in two hops (two H200). */
#define LINK_BLOCK       64
#define LINK_RELAY_BYTES (UINT64_C(4) << 20)

bool dtc_cuda_is_relay_faster(const struct dtc_copy_job *copy)
{
	const struct dtc_layout *target = copy->target.cursor->layout;

	return copy->may_relay && copy->bytes >= LINK_RELAY_BYTES &&
	       dtc_memory_is_between(&copy->source.memory, &copy->target.memory) &&
	       target->size / LINK_BLOCK < dtc_layout_runs(target);
}

/* ---- through pinned pieces --------------------------------------------------------------- */

/*
 * What one processor's hop adds, before its bytes, and several's: the first piece's way, and the last's; and what a
 * kernel does that reads over the bus.
 */
#define STAGED_ALONE_NS    1000.0
#define STAGED_TOGETHER_NS 9000.0
#define STAGED_READ_NS     2500.0

/* What one processor reaches of what several do; several are for jobs of as many bytes. */
#define STAGED_ALONE    0.34
#define STAGED_TOGETHER (UINT64_C(256) << 10)

/* The device's hop is a kernel where the user's blocks are its own, else one copy. */
double dtc_cuda_staged_ns(const struct dtc_question *question)
{
	const struct dtc_threads *threads = &question->layout->program->context->threads;
	const struct dtc_tuning *tuning = dtc_cuda_tuning(question);
	bool kernel = question->user_kind != DTCONV_MEMORY_HOST;
	bool alone = threads->refused || threads->hook || question->bytes < STAGED_TOGETHER;
	double rate = (double)tuning->device_staged_rate * (alone ? STAGED_ALONE : 1);
	uint64_t call_ns = kernel ? tuning->device_launch_ns : tuning->device_copy_ns;
	double ns = alone ? STAGED_ALONE_NS : STAGED_TOGETHER_NS;

	if (kernel && alone && !is_from_device(question))
		ns += STAGED_READ_NS;
	return (double)(tuning->device_wake_ns + call_ns) + ns + (double)question->bytes / rate;
}

double dtc_cuda_via_device_ns(const struct dtc_question *question)
{
	struct dtc_question near = *question;
	const double bytes = (double)question->bytes;

	near.is_between = false;
	return dtc_cuda_launch_ns(&near) + bytes / dtc_cuda_kernel_rate(&near) +
	       dtc_cuda_copies_ns(question, 1) + bytes / dtc_cuda_copy_rate(question);
}
