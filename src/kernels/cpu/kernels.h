/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CPU kernels: leaf loops that move bytes between a packed side and a user side. They take
 * block sizes and strides, not types; they allocate nothing and cannot fail.
 *
 * They store to exactly the given bytes, never to a gap. Patterns also load short gaps between
 * runs, without using them; nothing is loaded from a page without a byte to move.
 */
#ifndef DTC_KERNELS_CPU_H
#define DTC_KERNELS_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dtc_table;

/* Bytes that caches keep together; all sizes of tiles follow from it. */
#define DTC_CACHE_LINE 64

/* Elements of @block bytes in a tile's row: a line's worth. */
static inline size_t dtc_tile_width(size_t block)
{
	return block < DTC_CACHE_LINE / 2 ? DTC_CACHE_LINE / block : 2;
}

enum dtc_direction {
	DTC_PACK,  /* from user to packed */
	DTC_UNPACK /* from packed to user */
};

/* Strides of one side of a grid, in bytes. */
struct dtc_grid_side {
	ptrdiff_t outer;
	ptrdiff_t inner;
};

/* How what is written meets the caches. */
enum dtc_stream {
	DTC_STREAM_NONE,
	DTC_STREAM_FETCHED, /* the user's side, which the nearer caches do not keep, is fetched ahead */
	/*
	 * Write one side, larger than the caches, with non-temporal stores; other threads may
	 * not see it before dtc_end_stream.
	 */
	DTC_STREAM_PACKED,
	DTC_STREAM_USER
};

static inline bool dtc_passes_caches(enum dtc_stream stream)
{
	return stream >= DTC_STREAM_PACKED;
}

/* Once behind all kernels of a job: it waits for their last lines. */
static inline void dtc_end_stream(enum dtc_stream stream)
{
#if defined(__x86_64__)
	if (dtc_passes_caches(stream))
		__builtin_ia32_sfence();
#else
	(void)stream;
#endif
}

/* @outer x @inner blocks of @block bytes; the sides do not overlap. */
struct dtc_grid {
	char *to;
	const char *from;
	struct dtc_grid_side to_strides, from_strides;
	size_t outer, inner;
	size_t block;
	enum dtc_stream stream;
};

/*
 * Whole entries [first, first + count) of a table of runs; @packed is where the first one's bytes
 * are packed, @user where displacement 0 is.
 */
struct dtc_entries {
	const struct dtc_table *table;
	uint64_t first, count;
	char *packed;
	char *user;
	enum dtc_direction direction;
	enum dtc_stream stream;
};

/*
 * @outer x @inner blocks of @block bytes, the first at @disp of the user's side, where rows and blocks
 * have these strides; on the packed side they follow each other.
 */
struct dtc_nest {
	ptrdiff_t disp;
	size_t outer, inner, block;
	ptrdiff_t outer_stride, inner_stride;
};

/* Copy a nest's blocks; the sides do not overlap. */
typedef void (*dtc_nest_fn)(const struct dtc_nest *nest, char *user, char *packed);

struct dtc_short_run {
	int32_t disp;
	uint32_t bytes;
};

/*
 * @periods times a few short runs: the user's side moves on by @user_step, the packed side by
 * @packed_step, which is the sum of the runs' bytes.
 */
struct dtc_pattern {
	const struct dtc_short_run *runs;
	size_t run_count;
	size_t periods;
	ptrdiff_t user_step;
	size_t packed_step;
	char *user;
	char *packed;
	enum dtc_direction direction;
	enum dtc_stream stream;
	const void *steps; /* what lay_out wrote down for this direction, or NULL */
};

/* Room for what lay_out writes, aligned for any type. */
#define DTC_STEPS_MAX 2048

/* One set of kernels, compiled for one instruction set. */
struct dtc_cpu_kernels {
	const char *name; /* what DTCONV_CPU calls it */
	/* Copy the blocks, the inner ones of a row after each other. */
	void (*grid)(const struct dtc_grid *grid);
	/*
	 * The same in tiles, for sides that are dense along different axes: @to along the outer
	 * one, @from along the inner one.
	 */
	void (*transpose)(const struct dtc_grid *grid);
	void (*table)(const struct dtc_entries *entries);
	/* Copy one run. */
	void (*run)(char *to, const char *from, size_t bytes);
	/* The function for nests of that block. */
	dtc_nest_fn (*nest)(size_t block, enum dtc_direction direction);
	/* The functions, by direction, for nests of one block. */
	dtc_nest_fn block[2];
	/* Copy a pattern's runs; false if runs one by one are as good, and nothing was done. May be NULL. */
	bool (*pattern)(const struct dtc_pattern *pattern);
	/*
	 * Write down how a pattern of any number of periods from @pattern->periods on is copied; returns the bytes written, at most DTC_STEPS_MAX, or 0 if runs one by one are as good. NULL with pattern.
	 */
	size_t (*lay_out)(const struct dtc_pattern *pattern, void *steps);
};

/* All sets of this build, the plainest first; ends with NULL. */
extern const struct dtc_cpu_kernels *const dtc_cpu_sets[];

/* Whether this CPU can run a set. */
bool dtc_cpu_runs(const struct dtc_cpu_kernels *kernels);

/* The set of that name, if this build has it and the CPU supports it, else NULL. */
const struct dtc_cpu_kernels *dtc_cpu_find(const char *name);

/* The best set for this CPU. */
const struct dtc_cpu_kernels *dtc_cpu_best(void);

/* Copy a list of runs, which are @packed one behind the other. */
void dtc_cpu_pack_runs(const struct dtc_short_run runs[], size_t count, const char *user,
		       char *packed);
void dtc_cpu_unpack_runs(const struct dtc_short_run runs[], size_t count, char *user,
			 const char *packed);

/* Copy one run: by that set, or here and now if it is short. */
void dtc_cpu_run(const struct dtc_cpu_kernels *kernels, char *to, const char *from, size_t bytes);

#endif
