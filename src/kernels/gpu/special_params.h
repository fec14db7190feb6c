/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What all GPU kernels share with the host, and the parameters of those that are specialised for shapes at run time:
 * the library holds this text for their compiler. See params.h.
 */
#ifndef DTC_KERNELS_GPU_SPECIAL_PARAMS_H
#define DTC_KERNELS_GPU_SPECIAL_PARAMS_H

#ifdef __CUDACC__
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
#ifdef __CUDACC_RTC__
typedef long long int64_t;
typedef unsigned long long uint64_t;
#else
typedef long int64_t;
typedef unsigned long uint64_t;
#endif
#else
#include <stdint.h>
#endif

/* The most that a launch may pass by value: the oldest limit of all devices, less what is kept. */
#define DTC_GPU_PARAMS_BYTES 4000

/* Threads of a block, in all kernels. */
#define DTC_GPU_BLOCK 256

/*
 * Bytes that a thread moves at once between aligned sides; also the size of a piece of the
 * packed side.
 */
#define DTC_GPU_PIECE 16

/* Words in flight per thread; a tile is DTC_GPU_BLOCK times as many. */
#define DTC_GPU_WORDS(word) ((word) == 16 ? 4u : 8u)

/*
 * The same in the compact kernels, which use few enough registers for full occupancy: for
 * streams that fit in the L2 cache and, if the number differs, for longer and for short ones.
 */
#define DTC_GPU_ROWS_WORDS(word) ((word) < 4 ? 8u : 4u)
#define DTC_GPU_ROWS_FEW(word) \
	((word) == 16 ? 1u : (word) == 8 ? 2u : DTC_GPU_ROWS_WORDS(word))

/* Pieces in flight per thread, and a tile of them. */
#define DTC_GPU_PIECES      2u
#define DTC_GPU_TILE_PIECES (DTC_GPU_PIECES * DTC_GPU_BLOCK)

/*
 * The unit in which a device writes its memory. A partial store to a sector reads it first. If
 * the sector has been prefetched, the store does not wait.
 */
#define DTC_GPU_SECTOR 32u

/* Levels of a nest: five loops and the block inside. */
#define DTC_GPU_DIMS 6

/*
 * How the host learns of completion: the last block stores @value at @flag with system scope.
 * @counter is a 32-bit word of device memory, 0 between launches. No flag: 0.
 */
struct dtc_gpu_done {
	uint64_t flag;
	uint64_t value;
	uint64_t counter;
};

/* What is particular about some levels of a nest. */
#define DTC_GPU_PLAIN 0
#define DTC_GPU_MAPPED \
	1 /* level 0: displacements are in a map, not multiples of a stride */
#define DTC_GPU_LISTED 2 /* level 1: in a table */

/*
 * A level of a nest. An index below 2^31 is divided by @count as (index * @magic) >> shift. The
 * outermost level is never divided by, so its count may be any number and is not stored.
 */
struct dtc_gpu_dim {
	int64_t stride; /* user bytes from one index to the next */
	uint32_t count;
	uint32_t magic;
};

/*
 * Equal blocks in nested loops, and the stretch of their packed stream that is to be moved.
 * Level 0 is the block, in units:
 *
 * - words of @word bytes;
 * - bytes;
 * - to unpack words that are aligned only on the user's side: as many of these as a block may
 *   touch.
 */
struct dtc_gpu_nest {
	uint64_t user;   /* address of the first block */
	uint64_t packed; /* packed address of byte 0 of the nest's stream */
	uint64_t begin;  /* of the stretch, in bytes of the stream */
	uint64_t end;
	uint64_t block; /* bytes */
	struct dtc_gpu_dim dims[DTC_GPU_DIMS];
	uint8_t shift[DTC_GPU_DIMS - 1];
	uint8_t dim_count;
	uint8_t word;        /* bytes; 1: sides of unequal alignment */
	uint8_t wide : 1;    /* unit numbers may pass 2^31 */
	uint8_t expects : 1; /* prefetch sectors that are stored partially */
};

/* Division of any 64-bit number: the quotient is (t + ((x - t) >> 1)) >> shift, t = high(x * magic). */
struct dtc_gpu_divisor {
	uint64_t magic;
	uint32_t shift;
	uint32_t one; /* 1: dividing by 1 */
};

/* A byte program on the device, and the stretch of its packed stream that is to be moved. */
struct dtc_gpu_walk {
	uint64_t user; /* address of displacement 0 */
	uint64_t packed;
	uint64_t begin;
	uint64_t end;
	uint64_t image; /* address of what dtc_gpu_image_write wrote */
	uint64_t size;  /* packed, of one instance */
	int64_t extent;
	struct dtc_gpu_divisor by_size;
};

/*
 * The device's view of struct dtc_op and struct dtc_table; launch/program_image.c asserts that
 * they agree.
 */
#define DTC_GPU_OP_RUN        0
#define DTC_GPU_OP_STRIP      1
#define DTC_GPU_OP_TABLE      2
#define DTC_GPU_OP_LOOP       3
#define DTC_GPU_OP_TABLE_LOOP 4

struct dtc_gpu_op {
	uint32_t kind_flat; /* kind in the lower half */
	uint32_t body;
	int64_t disp;
	uint64_t bytes_before;
	uint64_t bytes;
	uint64_t count;
	uint64_t unit_bytes;
	int64_t stride;
	uint64_t table;
};

struct dtc_gpu_table {
	uint64_t count;
	uint64_t uniform;
	uint64_t prefix_offset;
	uint64_t table_bytes;
	uint64_t span;
	uint32_t
		forms; /* disp_wide, disp_shift, prefix_wide, prefix_shift, lowest byte first */
	uint32_t reserved;
};

/* The header of a program's image. Offsets are in bytes from the image's start. */
struct dtc_gpu_image_head {
	uint32_t op_count;
	uint32_t reserved;
	uint64_t ops;      /* struct dtc_op, then the tables, as in the program */
	uint64_t tables;   /* of these */
	uint64_t divisors; /* one struct dtc_gpu_divisor for each operation's unit */
	uint64_t starts;   /* see dtc_gpu_image_write */
	uint64_t bytes;    /* of the whole image */
};

struct dtc_gpu_strided_params {
	struct dtc_gpu_done done;
	struct dtc_gpu_nest nest;
};

/*
 * A nest whose stretch consists of whole aligned words, or of bytes, in at most two loops, with
 * unit numbers of 32 bits. Each thread moves @words of them, one of the two numbers above.
 */
struct dtc_gpu_rows_params {
	struct dtc_gpu_done done;
	struct dtc_gpu_nest nest;
	uint32_t words;
	uint32_t reserved;
};

/* A period: its runs, in packed order. Level 0 of the nest is the period's units. */
#define DTC_GPU_RUNS 128

/* The most units of a period. */
#define DTC_GPU_PERIOD_UNITS 2048

struct dtc_gpu_run {
	int32_t disp;
	uint32_t packed; /* offset in the packed period, in bytes */
	uint32_t share;  /* its first share, if shares are used */
};

/*
 * To unpack runs of odd lengths, level 0 of the nest counts shares: the part of a run in one
 * aligned word of @share_word bytes of the user's side. A thread has this many in flight.
 */
#define DTC_GPU_SHARES 4u

struct dtc_gpu_periodic_params {
	struct dtc_gpu_done done;
	struct dtc_gpu_nest nest;
	uint32_t run_count;
	uint32_t period;     /* packed bytes */
	uint32_t share_word; /* 8 or 4; 0: no shares */
	uint32_t reserved;
	struct dtc_gpu_run runs[DTC_GPU_RUNS];
};

/* Displacements of level 1, where a table has them: @disps + index << @shift. */
struct dtc_gpu_table_params {
	struct dtc_gpu_done done;
	struct dtc_gpu_nest nest;
	uint64_t disps;
	uint32_t wide; /* 1: 64-bit displacements */
	uint32_t shift;
};

#define DTC_GPU_START_BYTES 2048

/*
 * Runs of unlike lengths, in tiles of @tile_bytes of the table's packed bytes. A warp moves a
 * tile of words, a block any other tile. @starts lists the entry that holds every
 * DTC_GPU_START_BYTES-th byte. Level 0 of the nest is 1; the loops around the table follow. If
 * the table is kept whole in shared memory, tiles wrap around its end, and level 0 counts its
 * units.
 */
struct dtc_gpu_indexed_params {
	struct dtc_gpu_done done;
	struct dtc_gpu_nest nest;
	uint64_t disps;
	uint64_t prefixes;
	uint64_t starts;
	uint64_t count; /* entries */
	uint64_t table_bytes;
	uint64_t first_tile;
	uint32_t disp_wide, disp_shift;
	uint32_t prefix_wide, prefix_shift;
	uint32_t tiles; /* bytes of one repetition of the table */
	uint32_t tile_bytes;
	uint32_t whole;
	uint32_t capacity; /* capacity of shared memory for entries of a tile */
	uint32_t by_run;   /* 1: warps move the runs, and shared memory is not used */
	uint32_t reserved;
};

/*
 * Threads that move a tile together, and the bytes of their tile for a table that is moved run
 * by run.
 */
#define DTC_GPU_LANES     32u
#define DTC_GPU_RUN_SHARE 4096u
#define DTC_GPU_RUN_TILE  (DTC_GPU_BLOCK / DTC_GPU_LANES * DTC_GPU_RUN_SHARE)

/* The size of a warp's tile, if shared memory has room for its entries. */
#define DTC_GPU_INDEXED_WARP(word) ((word) == 4 ? 2048u : 4096u)

/*
 * A unit of a tile: a word, or a piece if the alignments are unequal; the threads of a tile,
 * and the units of each.
 */
#define DTC_GPU_INDEXED_UNIT(word)    ((word) > 1 ? (word) : (uint32_t)DTC_GPU_PIECE)
#define DTC_GPU_INDEXED_THREADS(word) ((word) > 1 ? DTC_GPU_LANES : DTC_GPU_BLOCK)
#define DTC_GPU_INDEXED_UNITS(word) \
	((word) > 1 ? DTC_GPU_INDEXED_WARP(word) / DTC_GPU_LANES / (word) : 1u)

/* Words in flight per thread. If each has to be located separately, registers allow fewer. */
#define DTC_GPU_INDEXED_AT_ONCE(word, whole) ((whole) ? 4u : DTC_GPU_WORDS(word))

/* Tiles of a block, and bytes of one. */
#define DTC_GPU_INDEXED_TILES(word) (DTC_GPU_BLOCK / DTC_GPU_INDEXED_THREADS(word))
#define DTC_GPU_INDEXED_TILE(word)                                     \
	(DTC_GPU_INDEXED_UNITS(word) * DTC_GPU_INDEXED_THREADS(word) * \
	 DTC_GPU_INDEXED_UNIT(word))

/* The fixed part at the start of shared memory. */
#define DTC_GPU_INDEXED_HEAD 16

/* A window for each of a warp's units, or a holder for each unit: see entries.cu.h. */
#define DTC_GPU_INDEXED_FINDERS(word) \
	((word) > 1 ? DTC_GPU_INDEXED_UNITS(word) * 8 : DTC_GPU_BLOCK * 2)

/*
 * Shared memory of a tile: the fixed part, windows or holders, the bases and begins of entries.
 */
#define DTC_GPU_INDEXED_SHARED(word, capacity)                                  \
	((DTC_GPU_INDEXED_HEAD + DTC_GPU_INDEXED_FINDERS(word) + (capacity)*8 + \
	  ((capacity) + 1) * 2 + 15) /                                          \
	 16 * 16)

/*
 * Transposing: level 0 of the nest is the block in words, level 1 is dense in the packed
 * stream, and level @outer is contiguous in the user's memory. Tiles are squares over the last
 * two.
 */
struct dtc_gpu_transpose_params {
	struct dtc_gpu_done done;
	struct dtc_gpu_nest nest;
	uint64_t packed_strides
		[DTC_GPU_DIMS]; /* stream bytes from one index to the next */
	uint64_t outer_packed;  /* the same along @outer */
	int64_t outer_stride;
	uint32_t counts[DTC_GPU_DIMS];
	uint32_t tiles[DTC_GPU_DIMS]; /* along each level, with its divisor */
	uint32_t magics[DTC_GPU_DIMS];
	uint8_t shifts[DTC_GPU_DIMS];
	uint8_t side_log; /* elements along a side of a tile */
	uint8_t words;    /* of an element */
	uint32_t outer;
	uint32_t pitch; /* words of shared memory from one row to the next */
};

#endif
