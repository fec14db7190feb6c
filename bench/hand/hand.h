/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hand-written loops that dtconv is compared with: one pack and one unpack for each layout,
 * as a good C programmer would write them knowing the layout. They use shapes, not types.
 */
#ifndef BENCH_HAND_H
#define BENCH_HAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The size of a core's private caches, and of the first level. The author of a loop knows
 * whether the messages fit.
 */
#define HAND_CACHED_BYTES      ((size_t)1 << 20)
#define HAND_FIRST_CACHE_BYTES ((size_t)1 << 15)

/*
 * gcc would turn some loops into gather and scatter instructions, which are up to twice as
 * slow.
 */
#if defined(__GNUC__) && !defined(__clang__)
#define HAND_SCALAR __attribute__((optimize("no-tree-vectorize")))
#else
#define HAND_SCALAR
#endif

/*
 * The form of every loop. The arena is the user's memory at displacement 0; the shape is one of
 * the structs below. Arena and packed memory never overlap.
 */
typedef void (*hand_pack_fn)(const void *shape, const void *restrict arena,
			     void *restrict packed);
typedef void (*hand_unpack_fn)(const void *shape, void *restrict arena,
			       const void *restrict packed);

#define HAND_DECLARE(name)                                                   \
	void hand_pack_##name(const void *shape, const void *restrict arena, \
			      void *restrict packed);                        \
	void hand_unpack_##name(const void *shape, void *restrict arena,     \
				const void *restrict packed)

/*
 * The instruction sets that the loops were compiled for (-march=native), as bits. The loops
 * must not run on a CPU that lacks one.
 */
#define HAND_NEEDS_AVX2   1u
#define HAND_NEEDS_AVX512 2u
unsigned hand_needs(void);

/* ---- strided.c: equally spaced blocks ------------------------------------------------ */

/*
 * `count` blocks, `pitch` bytes apart. Each function has a constant block length. `beyond_l1`:
 * the whole message, of which this may be one instance, exceeds the first-level cache.
 */
struct hand_blocks {
	size_t count;
	size_t pitch;
	bool beyond_l1;
};

/*
 * calls.c: a call of memcpy for each block. Where blocks are this far apart and many, that is
 * faster than inline words, because fewer loads are in flight.
 */
#define HAND_PAGED 2048
void hand_gather_by_calls(const struct hand_blocks *blocks, size_t length,
			  const void *restrict arena, void *restrict packed);

HAND_DECLARE(blocks4);
HAND_DECLARE(blocks8);
HAND_DECLARE(blocks12);
HAND_DECLARE(blocks16);
HAND_DECLARE(blocks40);
HAND_DECLARE(blocks64);
HAND_DECLARE(blocks256);
HAND_DECLARE(blocks4096);

/*
 * Two nested loops around one block of 8, 16 or `run_bytes` bytes. `far`: the whole message, of
 * which this may be one instance, exceeds the caches.
 */
struct hand_nest {
	size_t outer_count;
	size_t outer_pitch;
	size_t inner_count;
	size_t inner_pitch;
	size_t run_bytes;
	bool far;
};
HAND_DECLARE(nest8);
HAND_DECLARE(nest16);
HAND_DECLARE(runs);

/* Small instances: 4 doubles, every second one, a new instance every 64 bytes. */
struct hand_instances {
	size_t count;
};
HAND_DECLARE(vec8_count);

/* ---- wrf.c: halo of a weather code --------------------------------------------------- */

/*
 * Four 2-D (d1 x d3), three 3-D (d1 x d2 x d3) and two 4-D (d1 x d2 x d3 x 2) arrays of
 * floats one after another; of each the box s1 x d2 x s3 at (i0, 0, j0), of the 4-D ones
 * only in the second scalar.
 */
struct hand_wrf {
	size_t d1, d2, d3;
	size_t s1, s3;
	size_t i0, j0;
	bool far; /* as a nest's */
};
HAND_DECLARE(wrf);

/* ---- matrix.c: columns of row-major matrices ----------------------------------------- */

/* `columns` columns of `rows` elements, rows `pitch` elements apart, packed column by column. */
struct hand_columns {
	size_t rows;
	size_t columns;
	size_t pitch;
};
HAND_DECLARE(columns8);
HAND_DECLARE(columns16);

/* Rows of a lower triangle: i + 1 doubles at i * n. */
struct hand_triangle {
	size_t n;
};
HAND_DECLARE(lower_tri);

/*
 * Blocks of 8 x 8 doubles of an n x n array, distributed block-cyclically to 2 x 2 processes;
 * the share of the first one.
 */
HAND_DECLARE(cyclic8);

/* ---- gather.c: elements picked by a list of indices ---------------------------------- */

/* `count` elements, the i-th at list[i] elements. */
struct hand_gather {
	size_t count;
	const uint32_t *list;
};
HAND_DECLARE(gather4);
HAND_DECLARE(gather8);

/* Two arrays of points of 3 floats, each with its list; the second starts at `second`. */
struct hand_gather_two {
	struct hand_gather first;
	struct hand_gather other;
	size_t second; /* bytes */
};
HAND_DECLARE(points12_two);

/*
 * Atoms: an array of 3 doubles an atom, then `scalars` arrays of one double, all of `atoms`
 * entries, one list for all.
 */
struct hand_atoms {
	struct hand_gather pick;
	size_t atoms;
	size_t scalars;
};
HAND_DECLARE(atoms);

/* Blocks of doubles of varying length: lengths and displacements in bytes. */
struct hand_indexed {
	size_t count;
	uint32_t *lengths;
	size_t *displacements;
};
HAND_DECLARE(indexed);

/* ---- records.c: arrays of structs ---------------------------------------------------- */

HAND_DECLARE(struct_mixed);
HAND_DECLARE(aos4of32);
HAND_DECLARE(aos12of48);
HAND_DECLARE(struct_of_vec);

/* ---- lines.c: a layout's memory traffic and nothing else -------------------------------- */

#define HAND_LINE      64
#define HAND_LINE_BYTE 0x5a /* what is stored */

/*
 * `repeats` times: skip so many lines, then touch `count` lines. The list takes four bytes for a
 * group, which is no more than an engine's own list of blocks.
 */
struct hand_line_group {
	uint32_t skip : 16;
	uint32_t count : 8;
	uint32_t repeats : 7;
	uint32_t whole : 1; /* all bytes of these lines are data */
};
#define HAND_LINE_SKIP    0xffffu
#define HAND_LINE_COUNT   64u
#define HAND_LINE_REPEATS 127u

/* FETCHED: lines of the user's side are prefetched. PAST: whole lines are written past the caches. */
enum hand_lines_way {
	HAND_LINES_PLAIN,
	HAND_LINES_FETCHED,
	HAND_LINES_PAST,
	HAND_LINES_FETCHED_PAST
};
#define HAND_LINES_WAYS 4

struct hand_lines {
	const struct hand_line_group *groups;
	size_t group_count;
	size_t line_count; /* in all groups */
	size_t packed_bytes;
	enum hand_lines_way way;
};

/* `user` is the line before the first group's skip. They return the sum of the words loaded. */
uint64_t hand_pack_lines(const struct hand_lines *lines, const void *user, void *packed);
uint64_t hand_unpack_lines(const struct hand_lines *lines, void *user,
			   const void *packed);

#endif
