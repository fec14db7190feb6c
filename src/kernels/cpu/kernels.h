/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CPU kernels: leaf loops that move bytes between a packed side and a user side. They take
 * block sizes and strides, not types. They allocate nothing and cannot fail.
 *
 * They store exactly the given bytes, never a gap. Pattern kernels may load short gaps between
 * runs and ignore them. No kernel loads from a page that holds none of the bytes.
 */
#ifndef DTC_KERNELS_CPU_H
#define DTC_KERNELS_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dtc_table;

/* A cache line; all tile sizes follow from it. */
#define DTC_CACHE_LINE 64

/* Elements of @block bytes in a row of a tile, which is one line. */
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

/* How the target is written and the source is fetched. */
enum dtc_stream {
	DTC_STREAM_NONE,
	DTC_STREAM_FETCHED, /* the user's side, which the nearer caches do not keep, is fetched ahead */
	/*
	 * Write one side with non-temporal stores, because it is larger than the caches. Other
	 * threads may not see it before dtc_end_stream.
	 */
	DTC_STREAM_PACKED,
	DTC_STREAM_USER
};

static inline bool dtc_passes_caches(enum dtc_stream stream)
{
	return stream >= DTC_STREAM_PACKED;
}

/* Call once after all kernels of a job: makes their non-temporal stores visible. */
static inline void dtc_end_stream(enum dtc_stream stream)
{
#if defined(__x86_64__)
	if (dtc_passes_caches(stream))
		__builtin_ia32_sfence();
#else
	(void)stream;
#endif
}

/* @outer x @inner blocks of @block bytes. The sides must not overlap. */
struct dtc_grid {
	char *to;
	const char *from;
	struct dtc_grid_side to_strides, from_strides;
	size_t outer, inner;
	size_t block;
	enum dtc_stream stream;
	/* What is read after a single block, or NULL, if that is right behind it. */
	const char *next;
};

/*
 * Whole entries [first, first + count) of a table of runs. @packed is the packed address of the
 * first one's bytes; @user is the address of displacement 0.
 */
struct dtc_entries {
	const struct dtc_table *table;
	uint64_t first, count;
	char *packed;
	char *user;
	enum dtc_direction direction;
	enum dtc_stream stream;
};

/* Whole blocks of a pool, selected by their numbers; consecutive on the packed side. */
struct dtc_page_list {
	const void *numbers; /* of 64 bits if @wide, else 32; at any alignment */
	bool wide;
	bool prefetch; /* the blocks are not in the nearer caches */
	uint64_t count;
	size_t stride; /* bytes from a number's block to the next number's */
	size_t block;
	char *packed;
	char *user; /* the block of number 0 */
	enum dtc_direction direction;
	enum dtc_stream stream;
};

/*
 * @outer x @inner blocks of @block bytes. On the user's side the first is at @disp, with these
 * strides; on the packed side they are consecutive.
 */
struct dtc_nest {
	ptrdiff_t disp;
	size_t outer, inner, block;
	ptrdiff_t outer_stride, inner_stride;
};

/* Copy the blocks of a nest. The sides must not overlap. */
typedef void (*dtc_nest_fn)(const struct dtc_nest *nest, char *user, char *packed);

struct dtc_short_run {
	int32_t disp;
	uint32_t bytes;
};

/*
 * A few short runs, @periods times. Each period advances the user's side by @user_step and the
 * packed side by @packed_step, the sum of the runs' bytes.
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
	const void *steps; /* the result of lay_out for this direction, or NULL */
};

/* A buffer for the result of lay_out, aligned for any type. */
#define DTC_STEPS_MAX 1536

/* A set of kernels, compiled for one instruction set. */
struct dtc_cpu_kernels {
	const char *name; /* its name in DTCONV_CPU */
	/* Copy the blocks row by row. */
	void (*grid)(const struct dtc_grid *grid);
	/*
	 * The same in tiles, for sides that are dense along different axes: @to along the outer
	 * one, @from along the inner one.
	 */
	void (*transpose)(const struct dtc_grid *grid);
	void (*table)(const struct dtc_entries *entries);
	void (*pages)(const struct dtc_page_list *list);
	/* Copy one run. */
	void (*run)(char *to, const char *from, size_t bytes);
	/* Return the function for nests of that block. */
	dtc_nest_fn (*nest)(size_t block, enum dtc_direction direction);
	/* Functions for nests of one block, indexed by direction. */
	dtc_nest_fn block[2];
	/*
	 * Copy the runs of a pattern. Returns false, with nothing done, if copying run by run
	 * is as good. May be NULL.
	 */
	bool (*pattern)(const struct dtc_pattern *pattern);
	/*
	 * Precompute the steps of a pattern with @pattern->periods or more periods. Returns the
	 * bytes written, at most DTC_STEPS_MAX, or 0 if copying run by run is as good. NULL if
	 * pattern is NULL.
	 */
	size_t (*lay_out)(const struct dtc_pattern *pattern, void *steps);
};

/* All sets of this build, from the most portable to the widest; ends with NULL. */
extern const struct dtc_cpu_kernels *const dtc_cpu_sets[];

/* Whether this CPU can run a set. */
bool dtc_cpu_runs(const struct dtc_cpu_kernels *kernels);

/* The set of that name, if this build has it and the CPU supports it, else NULL. */
const struct dtc_cpu_kernels *dtc_cpu_find(const char *name);

/* The best set for this CPU. */
const struct dtc_cpu_kernels *dtc_cpu_best(void);

/* Copy a list of runs, which are consecutive in @packed. */
void dtc_cpu_pack_runs(const struct dtc_short_run runs[], size_t count, const char *user,
		       char *packed);
void dtc_cpu_unpack_runs(const struct dtc_short_run runs[], size_t count, char *user,
			 const char *packed);

/* Copy one run: inline if it is short, otherwise by the set. */
void dtc_cpu_run(const struct dtc_cpu_kernels *kernels, char *to, const char *from, size_t bytes);

#endif
