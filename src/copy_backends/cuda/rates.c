/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rates by kinds of memory, length of blocks, shape and direction. All figures are payload: packed bytes
 * in the time.
 */
#include "config.h"

#include "rates.h"

#include "base.h"

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
		return (double)question->bytes;
	return (double)question->layout->size / (double)dtc_layout_runs(question->layout);
}

double dtc_cuda_copies_ns(const struct dtc_question *question, double calls)
{
	const struct dtc_tuning *tuning = dtc_cuda_tuning(question);
	uint64_t call_ns = tuning->device_copy_ns;

	/* Rows inside a device the driver copies by a kernel of its own. */
	if (!dtc_cuda_crosses(question) && !dtc_cuda_is_run(question))
		call_ns = DTC_MAX(call_ns, tuning->device_launch_ns);
	return (double)tuning->device_wake_ns + (double)call_ns * calls;
}

double dtc_cuda_launch_ns(const struct dtc_question *question)
{
	const struct dtc_tuning *tuning = dtc_cuda_tuning(question);

	return (double)(tuning->device_wake_ns + tuning->device_launch_ns);
}

/* ---- the driver's copies --------------------------------------------------------------- */

double dtc_cuda_copy_rate(const struct dtc_question *question)
{
	const struct dtc_tuning *tuning = dtc_cuda_tuning(question);

	if (question->user_kind == DTCONV_MEMORY_HOST ||
	    question->packed_kind == DTCONV_MEMORY_HOST)
		return (double)tuning->device_pageable_rate;
	if (question->is_between)
		return (double)tuning->device_peer_rate;
	return (double)(dtc_cuda_crosses(question) ? tuning->device_bus_rate
						   : tuning->device_rate);
}

/* From and to ordinary host memory the driver copies row by row, each of them so long. */
#define PAGEABLE_ROW_NS 450.0

/* GB/s for each byte of a row, from one device to another: 23 of 8 bytes, 188 of 64. */
#define PEER_ROW 2.9

/* Rows over the bus: 3 GB/s of 4 bytes, 45 of 64, 55 of 256; inside a device 33, 540, 800. */
double dtc_cuda_rows_rate(const struct dtc_question *question, double row_bytes)
{
	double most = dtc_cuda_copy_rate(question);

	if (question->user_kind == DTCONV_MEMORY_HOST ||
	    question->packed_kind == DTCONV_MEMORY_HOST)
		return DTC_MIN(most, row_bytes / PAGEABLE_ROW_NS);
	if (question->is_between)
		return DTC_MIN(most, row_bytes * PEER_ROW);
	if (dtc_cuda_crosses(question))
		return DTC_MIN(most, row_bytes * 0.7);
	return DTC_MIN(most * 0.4, row_bytes * 8);
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
static const struct step packed_across[] = { { 0, 0.95, 0.92 } };

/* The user's blocks are read over the bus, or written. */
static const struct step user_across[] = { { 31, 0.46, 0.46 },
					   { 127, 0.78, 0.78 },
					   { 0, 0.92, 0.92 } };

/* One device's memory is written, or read, by the other's kernels. */
static const struct step between[] = { { 0, 0.95, 0.90 } };

static double part_of(const struct step *steps, const struct dtc_question *question)
{
	double run_bytes = dtc_cuda_run_bytes(question);

	while (steps->run_bytes > 0 && run_bytes > steps->run_bytes)
		steps++;
	return question->direction == DTC_PACK ? steps->pack : steps->unpack;
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

double dtc_cuda_kernel_rate(const struct dtc_question *question)
{
	const struct dtc_tuning *tuning = dtc_cuda_tuning(question);

	if (question->is_between)
		return (double)tuning->device_peer_rate * part_of(between, question);
	if (question->user_kind != DTCONV_MEMORY_DEVICE)
		return (double)tuning->device_bus_rate * part_of(user_across, question);
	if (question->packed_kind != DTCONV_MEMORY_DEVICE)
		return (double)tuning->device_bus_rate * part_of(packed_across, question);
	return (double)tuning->device_rate * part_of(inside, question) *
	       part_of_shape(question);
}

double dtc_cuda_relay_ns(const struct dtc_question *question)
{
	struct dtc_question near = *question;
	const double bytes = (double)question->bytes;

	near.is_between = false;
	return dtc_cuda_launch_ns(&near) + bytes / dtc_cuda_kernel_rate(&near) +
	       dtc_cuda_copies_ns(question, 1) + bytes / dtc_cuda_copy_rate(question);
}
