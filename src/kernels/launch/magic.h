/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Division by an invariant divisor by multiplication and shift, and other helpers for planning
 * GPU kernels and their images.
 */
#ifndef DTC_KERNELS_GPU_MAGIC_H
#define DTC_KERNELS_GPU_MAGIC_H

#include "datatype/program.h"
#include "kernels/gpu/params.h"

/* The largest power of two up to 16 that divides every bit pattern in @all. */
static inline uint32_t dtc_gpu_alignment(uint64_t all)
{
	uint32_t word = 16;

	while (all & (word - 1))
		word /= 2;
	return word;
}

/* The least n with 2^n >= @x > 0. */
static inline uint32_t dtc_gpu_log2_up(uint64_t x)
{
	uint32_t n = 0;

	while (n < 64 && (UINT64_C(1) << n) < x)
		n++;
	return n;
}

/*
 * For x < 2^31 and 0 < @divisor < 2^31: x / divisor = x * magic >> shift. With 2^n >= divisor the
 * magic number is off by less than 1 / divisor of 2^(31 + n), and x by itself below 2^31.
 */
static inline uint32_t dtc_gpu_magic(uint32_t divisor, uint8_t *shift)
{
	uint32_t n = dtc_gpu_log2_up(divisor);

	*shift = (uint8_t)(31 + n);
	return (uint32_t)((UINT64_C(1) << (31 + n)) / divisor + 1);
}

/* 2^64 * @high / @divisor, for @high < @divisor. */
static inline uint64_t dtc_gpu_long_divide(uint64_t high, uint64_t divisor)
{
	uint64_t quotient = 0;

	for (int bit = 0; bit < 64; bit++) {
		uint64_t carry = high >> 63;

		high <<= 1;
		quotient <<= 1;
		if (carry || high >= divisor) {
			high -= divisor;
			quotient |= 1;
		}
	}
	return quotient;
}

/* The divisor for any x. 0 counts as 1. */
static inline struct dtc_gpu_divisor dtc_gpu_divisor(uint64_t divisor)
{
	struct dtc_gpu_divisor result = { 0, 0, 1 };

	if (divisor <= 1)
		return result;
	uint32_t n = dtc_gpu_log2_up(divisor);
	/* 2^n - divisor; 2^64 is 0 modulo 2^64. */
	uint64_t rest = (n == 64 ? 0 : UINT64_C(1) << n) - divisor;
	result.magic = dtc_gpu_long_divide(rest, divisor) + 1;
	result.shift = n - 1;
	result.one = 0;
	return result;
}

/*
 * If all loops of a program enclose a single table of unlike runs, that operation; else NULL.
 */
static inline const struct dtc_op *dtc_gpu_listed_table(const struct dtc_program *program)
{
	if (program->op_count == 0)
		return NULL;
	const struct dtc_op *last = &program->ops[program->op_count - 1];
	for (const struct dtc_op *op = program->ops; op < last; op++)
		if (op->kind != DTC_OP_LOOP)
			return NULL;
	if (last->kind != DTC_OP_TABLE ||
	    dtc_program_table(program, last)->uniform)
		return NULL;
	return last;
}

static inline bool dtc_gpu_has_starts(const struct dtc_program *program)
{
	return dtc_gpu_listed_table(program) != NULL;
}

/* The offsets of tables and starts in a program's image. */
uint64_t dtc_gpu_image_tables(const struct dtc_program *program);
uint64_t dtc_gpu_image_starts(const struct dtc_program *program);

#endif
