/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The CUDA program: every entry of list.h as a kernel.
 */
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The device primitives of the GPU kernels, in CUDA C. test/support/gpu_shim.h has the same in
 * plain C, so no other kernel source may depend on CUDA.
 */
#ifndef DTC_KERNELS_GPU_DEVICE_H
#define DTC_KERNELS_GPU_DEVICE_H

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parameters of the GPU kernels: one plain struct for each kind of kernel, with the same bytes
 * on the host and on the device. Addresses are integers, because neither side may dereference
 * the other's.
 */
#ifndef DTC_KERNELS_GPU_PARAMS_H
#define DTC_KERNELS_GPU_PARAMS_H

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

/* Bytes that a thread moves at once, where both sides are aligned; the packed side's pieces. */
#define DTC_GPU_PIECE 16

/* Words that a thread has under way: DTC_GPU_BLOCK times as many are a tile. */
#define DTC_GPU_WORDS(word) ((word) == 16 ? 4u : 8u)

/*
 * The same in the compact kernels, whose registers let a multiprocessor hold as many threads as it can: for
 * streams that the second cache holds, and, where that is another number, for longer ones.
 */
#define DTC_GPU_ROWS_WORDS(word) ((word) < 4 ? 8u : 4u)
#define DTC_GPU_ROWS_FEW(word)   ((word) == 16 ? 1u : (word) == 8 ? 2u : DTC_GPU_ROWS_WORDS(word))

/* Pieces that a thread has under way, and a tile of them. */
#define DTC_GPU_PIECES      2u
#define DTC_GPU_TILE_PIECES (DTC_GPU_PIECES * DTC_GPU_BLOCK)

/*
 * What a device's memory is written in: a sector that is stored in part is read and written. If it is asked
 * for before, it is there when it is stored to, and nothing waits.
 */
#define DTC_GPU_SECTOR 32u

/* Levels of a nest: five loops and the block inside. */
#define DTC_GPU_DIMS 6

/*
 * How the host learns that all is done: the last block stores @value at @flag, system scope.
 * @counter is a 32-bit word of device memory, 0 between launches. No flag: 0.
 */
struct dtc_gpu_done {
	uint64_t flag;
	uint64_t value;
	uint64_t counter;
};

/* What is particular about some levels of a nest. */
#define DTC_GPU_PLAIN  0
#define DTC_GPU_MAPPED 1 /* level 0: displacements are in a map, not multiples of a stride */
#define DTC_GPU_LISTED 2 /* level 1: in a table */

/*
 * A level. Indices below 2^31 are divided by @count as (index * @magic) >> shift; the outermost
 * level is never divided by, so that its count may be anything and is not here.
 */
struct dtc_gpu_dim {
	int64_t stride; /* user bytes from one index to the next */
	uint32_t count;
	uint32_t magic;
};

/*
 * Equal blocks in nested loops, and the stretch of their packed stream that is to be moved. Level 0
 * is the block, in units: words of @word bytes, or bytes, or, to unpack words that are aligned on
 * the user's side only, as many of these as a block may touch.
 */
struct dtc_gpu_nest {
	uint64_t user;   /* address of the first block */
	uint64_t packed; /* where byte 0 of the nest's stream would be */
	uint64_t begin;  /* of the stretch, in bytes of the stream */
	uint64_t end;
	uint64_t block; /* bytes */
	struct dtc_gpu_dim dims[DTC_GPU_DIMS];
	uint8_t shift[DTC_GPU_DIMS - 1];
	uint8_t dim_count;
	uint8_t word; /* bytes; 1: sides that are not aligned to each other */
	uint8_t wide : 1;    /* unit numbers may pass 2^31 */
	uint8_t expects : 1; /* sectors that are stored in part are asked for beforehand */
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

/* What struct dtc_op and struct dtc_table of the program are; launch/program_image.c asserts that they agree. */
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
	uint32_t forms; /* disp_wide, disp_shift, prefix_wide, prefix_shift, lowest byte first */
	uint32_t reserved;
};

/* What is before the program in its image. Offsets are from the image's start, in bytes. */
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
 * A nest whose stretch is whole aligned words, or bytes, in at most two loops, with unit numbers of 32 bits.
 * Each thread moves @words of them: one of the two numbers above.
 */
struct dtc_gpu_rows_params {
	struct dtc_gpu_done done;
	struct dtc_gpu_nest nest;
	uint32_t words;
	uint32_t reserved;
};

/*
 * Words that a thread copies from one layout to another, in streams that the second cache holds, and in longer
 * ones. More would not fit into the registers: each has an address on either side.
 */
#define DTC_GPU_COPY_WORDS     4u
#define DTC_GPU_COPY_FEW(word) ((word) == 16 ? 1u : DTC_GPU_COPY_WORDS)

/*
 * One side of a copy between layouts: a nest whose level 0 counts words. Of its other members only the
 * address counts. Mapped, level 0 is an instance, and each of its words has a 32-bit
 * displacement at @disps, in words. Listed, level 1 is a table of equal blocks.
 */
struct dtc_gpu_copy_side {
	struct dtc_gpu_nest nest;
	uint64_t disps;
	uint32_t form;  /* as above */
	uint16_t wide;  /* of a table: see struct dtc_gpu_table_params */
	uint16_t shift;
};

struct dtc_gpu_copy_params {
	struct dtc_gpu_done done;
	uint64_t units; /* words of the stream */
	uint32_t words; /* of a thread: one of the two numbers above */
	uint32_t reserved;
	struct dtc_gpu_copy_side source, target;
};

/* A period: its runs, in packed order. Level 0 of the nest is the period's units. */
#define DTC_GPU_RUNS 128

/* Units that a period may have. */
#define DTC_GPU_PERIOD_UNITS 2048

struct dtc_gpu_run {
	int32_t disp;
	uint32_t packed; /* where it begins in the packed period, in bytes */
	uint32_t share;  /* its first share, if the period is unpacked in shares */
};

/*
 * To unpack runs of odd lengths, level 0 of the nest counts shares: what of a run is in one aligned
 * word of @share_word bytes of the user's side. A thread has so many under way.
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

/* A unit of a map, where those are in the order of the user's addresses. */
struct dtc_gpu_sorted_unit {
	int32_t disp;   /* in units */
	uint32_t index; /* among the packed ones of a period */
};

/*
 * Periods whose units are listed in a map. Displacements and numbers are in words, of which a thread moves @words:
 * one, or as many as the macros below say. Positions count from the first period that is moved on.
 */
struct dtc_gpu_mapped_params {
	struct dtc_gpu_done done;
	uint64_t user;   /* address of displacement 0 of that period */
	uint64_t packed; /* where its first word is packed */
	uint64_t map;    /* int32_t, or struct dtc_gpu_sorted_unit */
	int64_t stride;  /* user bytes from one period to the next */
	uint64_t begin;  /* words of the stream that are moved */
	uint64_t end;
	uint64_t positions; /* in the order of addresses: of all the periods that are touched */
	struct dtc_gpu_divisor by_count;
	uint32_t count; /* words of a period; small numbers are divided by it with what follows */
	uint32_t magic;
	uint32_t shift;
	uint32_t words;
	uint32_t expects; /* sectors are asked for before words are stored to them */
	uint32_t reserved;
};

/*
 * Words of a thread where neighbours mostly share sectors, in long streams; else one is fastest (packing 16 MiB on an
 * H200, us by 1, 4 and 8 words: LAMMPS_full, of 8 bytes, 13.8, 11.8, 10.8; WRF_y, of 4, 15.5, 12.1, 12.6; WRF_x, of 4 and
 * sparse, 28.8, 29.8, 30.9).
 */
#define DTC_GPU_MAPPED_PACKED(word)   ((word) == 8 ? 8u : 4u)
#define DTC_GPU_MAPPED_UNPACKED(word) 2u
#define DTC_GPU_MAPPED_SORTED(word)   4u

#define DTC_GPU_START_BYTES 2048

/*
 * Runs of unlike lengths, in tiles of @tile_bytes of the table's packed bytes, a warp's each where words are
 * moved, else a block's; @starts lists the entry that holds every DTC_GPU_START_BYTES-th byte. Level 0 of the nest is 1, the loops round the table
 * follow. If the table is kept whole in shared memory, tiles go on over its end, and level 0 is its
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
	uint32_t tiles; /* in one repetition of the table */
	uint32_t tile_bytes;
	uint32_t whole;
	uint32_t capacity; /* entries of a tile that shared memory has room for */
	uint32_t by_run;   /* 1: warps move the runs, and shared memory is not used */
	uint32_t reserved;
};

/* Threads that go together; of a table that is moved run by run they have so many bytes. */
#define DTC_GPU_LANES     32u
#define DTC_GPU_RUN_SHARE 4096u
#define DTC_GPU_RUN_TILE  (DTC_GPU_BLOCK / DTC_GPU_LANES * DTC_GPU_RUN_SHARE)

/* A warp's tile: as long as there is shared memory for its entries. */
#define DTC_GPU_INDEXED_WARP(word) ((word) == 4 ? 2048u : 4096u)

/* A unit of a tile: a word, or a piece where sides are not aligned; the tile's threads, and each one's units. */
#define DTC_GPU_INDEXED_UNIT(word)    ((word) > 1 ? (word) : (uint32_t)DTC_GPU_PIECE)
#define DTC_GPU_INDEXED_THREADS(word) ((word) > 1 ? DTC_GPU_LANES : DTC_GPU_BLOCK)
#define DTC_GPU_INDEXED_UNITS(word) \
	((word) > 1 ? DTC_GPU_INDEXED_WARP(word) / DTC_GPU_LANES / (word) : 1u)

/* Words that a thread has under way: where each has to be located, registers are for fewer. */
#define DTC_GPU_INDEXED_AT_ONCE(word, whole) ((whole) ? 4u : DTC_GPU_WORDS(word))

/* Tiles of a block, and bytes of one. */
#define DTC_GPU_INDEXED_TILES(word) (DTC_GPU_BLOCK / DTC_GPU_INDEXED_THREADS(word))
#define DTC_GPU_INDEXED_TILE(word)                                     \
	(DTC_GPU_INDEXED_UNITS(word) * DTC_GPU_INDEXED_THREADS(word) * \
	 DTC_GPU_INDEXED_UNIT(word))

/* What is before the lists in shared memory. */
#define DTC_GPU_INDEXED_HEAD 16

/* A window for each of a warp's units, or a holder for each unit: see gpu_entries.cu.h. */
#define DTC_GPU_INDEXED_FINDERS(word) \
	((word) > 1 ? DTC_GPU_INDEXED_UNITS(word) * 8 : DTC_GPU_BLOCK * 2)

/* Shared memory of a tile: the head, what finds holders, the entries' bases and begins. */
#define DTC_GPU_INDEXED_SHARED(word, capacity)                                     \
	((DTC_GPU_INDEXED_HEAD + DTC_GPU_INDEXED_FINDERS(word) + (capacity) * 8 + \
	  ((capacity) + 1) * 2 + 15) / 16 * 16)

/*
 * Transposing: level 0 of the nest is the block in words, level 1 is dense in the packed stream, level
 * @outer goes along the user's memory. Tiles are squares over these two.
 */
struct dtc_gpu_transpose_params {
	struct dtc_gpu_done done;
	struct dtc_gpu_nest nest;
	uint64_t packed_strides[DTC_GPU_DIMS]; /* stream bytes from one index to the next */
	uint64_t outer_packed;                 /* the same along @outer */
	int64_t outer_stride;
	uint32_t counts[DTC_GPU_DIMS];
	uint32_t tiles[DTC_GPU_DIMS]; /* along each level, with what divides by them */
	uint32_t magics[DTC_GPU_DIMS];
	uint8_t shifts[DTC_GPU_DIMS];
	uint8_t side_log; /* elements of a tile's side */
	uint8_t words;    /* of an element */
	uint32_t outer;
	uint32_t pitch; /* words of shared memory from one row to the next */
};

struct dtc_gpu_general_params {
	struct dtc_gpu_done done;
	struct dtc_gpu_walk walk;
};

/* ---- typed streams ------------------------------------------------------------------------ */

/* What a number is to an operation; complex ones are two numbers but for products. */
enum dtc_gpu_number_kind {
	DTC_GPU_BITS, /* for operations that look at no number */
	DTC_GPU_I8,
	DTC_GPU_I16,
	DTC_GPU_I32,
	DTC_GPU_I64,
	DTC_GPU_I128,
	DTC_GPU_U8,
	DTC_GPU_U16,
	DTC_GPU_U32,
	DTC_GPU_U64,
	DTC_GPU_F16,
	DTC_GPU_BF16,
	DTC_GPU_F32,
	DTC_GPU_F64,
	DTC_GPU_C16,
	DTC_GPU_C32,
	DTC_GPU_C64
};

/* What becomes of a number that has arrived and the one in its place. */
enum dtc_gpu_combination {
	DTC_GPU_REPLACE,
	DTC_GPU_SUM,
	DTC_GPU_PROD,
	DTC_GPU_MIN,
	DTC_GPU_MAX,
	DTC_GPU_LAND,
	DTC_GPU_LOR,
	DTC_GPU_LXOR,
	DTC_GPU_BAND,
	DTC_GPU_BOR,
	DTC_GPU_BXOR,
	DTC_GPU_MINLOC,
	DTC_GPU_MAXLOC
};

/* A number in memory and in the packed stream, at most 16 bytes each. */
struct dtc_gpu_number {
	uint8_t kind;
	uint8_t native_bytes;
	uint8_t wire_bytes; /* other than native_bytes: an integer is extended or cut */
	uint8_t is_signed;
	uint8_t swap; /* in the stream so many bytes at a time are reversed; 0: none */
	uint8_t reserved;
};

/*
 * A typed stream is units in loops: a unit is a number, or a value and its index. Nodes are in
 * preorder; a loop is followed by its @body nodes. What is before a node, in units and in bytes on
 * either side, counts from the start of the enclosing trip.
 */
struct dtc_gpu_node {
	uint64_t units_before;
	uint64_t native_before;
	uint64_t wire_before;
	uint64_t units;        /* in all trips together */
	uint64_t trip_units;   /* runs: 1 */
	uint64_t native_bytes; /* of a trip, or of a unit */
	uint64_t wire_bytes;
	uint16_t body; /* runs: 0 */
	struct dtc_gpu_number number;
};

#define DTC_GPU_NODES 56

/* Units of a thread, DTC_GPU_BLOCK apart. */
#define DTC_GPU_UNITS 4u

/*
 * Couples: any with numbers up to DTC_GPU_CELL_BYTES; with longer ones; in a nest, with numbers of 4 and 8
 * bytes that are aligned to 4.
 */
#define DTC_GPU_COUPLES_LOOSE 0
#define DTC_GPU_COUPLES_LONG  1
#define DTC_GPU_COUPLES_WORDS 2

/*
 * Any units, each looked for by itself. Couples: one run, the second node is the index's; they are in the
 * nest, of which level 0 counts them, if that has levels.
 */
struct dtc_gpu_units_params {
	struct dtc_gpu_done done;
	struct dtc_gpu_walk walk; /* its begin and end do not count */
	struct dtc_gpu_nest nest; /* nor do these */
	uint64_t packed;          /* where unit 0 would be */
	uint64_t begin, end;      /* units */
	uint64_t
		fault; /* address of a word that is set to done.value by numbers too large */
	uint32_t combination;
	uint16_t node_count;
	uint8_t couple_form;
	uint8_t couple_words
		[2]; /* bytes of a load, on the user's side and on the packed */
	uint8_t reserved[3];
	struct dtc_gpu_node nodes[DTC_GPU_NODES];
};

/* Words of a thread, DTC_GPU_BLOCK apart. */
#define DTC_GPU_NUMBER_WORDS 4u

/* One kind of number, of one size on both sides, in a nest whose words hold whole numbers. */
struct dtc_gpu_numbers_params {
	struct dtc_gpu_done done;
	struct dtc_gpu_nest nest; /* begins and ends with words */
	uint32_t combination;
	struct dtc_gpu_number number;
	uint16_t reserved;
};

/* Numbers alike, behind each other on both sides of a period. */
struct dtc_gpu_turned_run {
	int32_t disp;
	uint16_t packed; /* where it begins in the packed period, in bytes */
	uint16_t swap;   /* see struct dtc_gpu_number */
};

/*
 * The same in periods, of which level 0 of the nest counts the words. Numbers that are turned, that is
 * replace what was there, may be of many kinds and longer than a word, which then has 4 bytes at least.
 */
struct dtc_gpu_period_params {
	struct dtc_gpu_done done;
	struct dtc_gpu_numbers_params numbers; /* whose flag does not count */
	uint32_t run_count;
	uint32_t turned;
	struct dtc_gpu_turned_run runs[DTC_GPU_RUNS];
};

/* Shared memory, where numbers are turned: a word of a period. */
struct dtc_gpu_turned_word {
	int32_t disp;
	uint32_t selector; /* see dtc_gpu_turn_word */
};

/* Cells of a thread; the longest cell; the most in a period. */
#define DTC_GPU_THREAD_CELLS 4u
#define DTC_GPU_CELL_BYTES   8u
#define DTC_GPU_PERIOD_CELLS 1024u

/* The most cells of a record, and its words; in shared memory are their displacements, then both tiles. */
#define DTC_GPU_RECORD_CELLS 16u
#define DTC_GPU_RECORD_WORDS (DTC_GPU_RECORD_CELLS * DTC_GPU_CELL_BYTES / 4)

/* A cell is a number, or some of one kind behind each other: that many bytes on either side. */
struct dtc_gpu_cell {
	int32_t disp;   /* in the user's period */
	uint16_t wire;  /* in the packed period */
	uint16_t first; /* of equal cells behind each other: the number of the first */
	struct dtc_gpu_number number; /* its lengths are the cell's */
	uint16_t word; /* records: 8 if the user's side is aligned to it, else 4 */
};

#define DTC_GPU_CELL_ROWS 200

/*
 * Numbers of any kinds at any alignment, in periods that are all alike or, without rows, in a nest of
 * one kind of number: then the first row is that. The nest begins and ends with cells, which its level
 * 0 counts; byte 0 of cell 0 would be at its packed address.
 *
 * Records are short periods whose cells are 4 or 8 bytes on both sides, all aligned to 4: level 0 counts
 * words of 4 bytes, and a row is a single cell.
 */
struct dtc_gpu_cells_params {
	struct dtc_gpu_done done;
	struct dtc_gpu_nest nest;
	uint64_t wire_bytes; /* of a period, or of a cell where there are no rows */
	uint64_t fault;      /* see struct dtc_gpu_units_params */
	uint32_t combination;
	uint32_t row_count;
	uint32_t cells; /* of a record */
	uint32_t warps; /* that share them; a power of two */
	struct dtc_gpu_cell rows[DTC_GPU_CELL_ROWS];
};

/* ---- checksums ---------------------------------------------------------------------------- */

/* Bytes of a thread in a tile; a tile; log2 of the most blocks. */
#define DTC_GPU_CRC_PIECE      64u
#define DTC_GPU_CRC_TILE       (DTC_GPU_CRC_PIECE * DTC_GPU_BLOCK)
#define DTC_GPU_CRC_BLOCKS_LOG 9u

/*
 * Shared memory: what becomes of a remainder in front of 4 bytes, by six groups of its bits, as many times as
 * a warp has lanes, so that no two of them meet in a bank; tables of 256 for the 4 bytes of a remainder on its
 * way to the next tile; and the threads' remainders.
 */
#define DTC_GPU_CRC_ENTRIES 256u
#define DTC_GPU_CRC_ROWS    4u
#define DTC_GPU_CRC_SHARED_BYTES                                         \
	((DTC_GPU_CRC_ENTRIES * DTC_GPU_LANES + DTC_GPU_CRC_ROWS * 256 + \
	  DTC_GPU_BLOCK) *                                               \
	 4)

struct dtc_gpu_crc_constants {
	uint32_t bits[32]; /* of a remainder, in front of 4 bytes */
	uint32_t rows[DTC_GPU_CRC_ROWS]
		     [8]; /* of every table the entries 1, 2, 4, 8 ... */
	uint32_t threads
		[16]; /* factors to the end of 16 threads' pieces, by the place among them */
	uint32_t groups[16]; /* and on to the tile's end, by 16 threads' place */
};

struct dtc_gpu_crc_params {
	struct dtc_gpu_done done;
	uint64_t begin;   /* address of the 16-byte word that holds the first byte */
	uint64_t skipped; /* bytes of the first blocks' tiles before that */
	uint64_t
		counter; /* address of two words of 32 bits, 0 between launches: blocks, and their sum */
	uint64_t result; /* address of a 64-bit word */
	uint32_t tiles;  /* of a block */
	uint32_t head;   /* bytes of the first word before the first byte */
	uint32_t
		tail; /* bytes of the last word behind the last byte; they count as zeros */
	uint32_t reserved;
	uint32_t blocks[DTC_GPU_CRC_BLOCKS_LOG]; /* factors over 1, 2, 4 ... blocks */
	struct dtc_gpu_crc_constants constants;
};

/* ---- many unlike parts in one launch ------------------------------------------------------ */

enum dtc_gpu_part_kind {
	DTC_GPU_PART_NEST,
	DTC_GPU_PART_WALK
};

struct dtc_gpu_part {
	uint32_t first_tile; /* of the launch's tiles */
	uint32_t kind;
	union {
		struct dtc_gpu_nest nest;
		struct dtc_gpu_walk walk;
	} u;
};

/* Parts that travel with the launch; more are read from device memory. */
#define DTC_GPU_INLINE_PARTS 26

/* What the threads of a block share: a part and its number. */
#define DTC_GPU_MANY_SHARED_BYTES (sizeof(struct dtc_gpu_part) + 8)

/*
 * How parts in device memory are to be taken: where they are and what of them is to be moved is not written
 * into them, so that they serve any buffer. All zero but @end, which is the highest number: as they are.
 */
struct dtc_gpu_taken {
	uint64_t user;   /* to be added to the parts' addresses */
	uint64_t packed; /* the same */
	uint64_t begin;  /* only [begin, end) is moved, in the parts' packed addresses */
	uint64_t end;
	uint32_t first_tile; /* that of the launch's first block */
	uint32_t reserved;
};

/* Of a part's words, those that are taken in another way. */
#define DTC_GPU_WORD_USER   1u
#define DTC_GPU_WORD_PACKED 2u
#define DTC_GPU_WORD_BEGIN  3u
#define DTC_GPU_WORD_END    4u

struct dtc_gpu_many_params {
	struct dtc_gpu_done done;
	uint64_t parts; /* address of the parts, or 0: they are here */
	uint32_t part_count;
	uint32_t reserved;
	union {
		struct dtc_gpu_part inline_parts[DTC_GPU_INLINE_PARTS];
		struct dtc_gpu_taken taken;
	} u;
};

#endif

#define DTC_GPU_FN static __device__ __forceinline__

/* Long code of which there is one copy. */
#define DTC_GPU_CALLED static __device__ __noinline__

/* Data that is compiled in. */
#define DTC_GPU_CONSTANT static const __constant__

/* NVRTC has no offsetof. */
#define DTC_GPU_OFFSET(type, member) ((uint64_t) & ((type *)0)->member)

/* Loops over the pieces that a thread has under way at once. */
#define DTC_GPU_UNROLL    _Pragma("unroll")
#define DTC_GPU_NO_UNROLL _Pragma("unroll 1")
#define DTC_GPU_UNROLL_BY(n) DTC_GPU_PRAGMA(unroll n)
#define DTC_GPU_PRAGMA(text) _Pragma(#text)

/* Sixteen bytes in registers, the first byte lowest. */
struct __align__(16) dtc_gpu_bytes16 {
	uint32_t w[4];
};

#ifndef DTC_GPU_RESIDENT

/* Sources are not written while they are read, so they may go through the read-only path. */
DTC_GPU_FN uint32_t dtc_gpu_load1(uint64_t address)
{
	return __ldg((const unsigned char *)address);
}

DTC_GPU_FN uint32_t dtc_gpu_load2(uint64_t address)
{
	return __ldg((const unsigned short *)address);
}

DTC_GPU_FN uint32_t dtc_gpu_load4(uint64_t address)
{
	return __ldg((const unsigned int *)address);
}

DTC_GPU_FN uint64_t dtc_gpu_load8(uint64_t address)
{
	return __ldg((const unsigned long long *)address);
}

DTC_GPU_FN void dtc_gpu_load16(uint64_t address, struct dtc_gpu_bytes16 *to)
{
	uint4 v = __ldg((const uint4 *)address);

	to->w[0] = v.x;
	to->w[1] = v.y;
	to->w[2] = v.z;
	to->w[3] = v.w;
}

DTC_GPU_FN void dtc_gpu_load8_into(uint64_t address, struct dtc_gpu_bytes16 *to)
{
	uint2 v = __ldg((const uint2 *)address);

	to->w[0] = v.x;
	to->w[1] = v.y;
}
#else

/* While the resident kernel runs, others write its sources: a load is as new as the memory. */
DTC_GPU_FN uint32_t dtc_gpu_load1(uint64_t address)
{
	uint32_t v;

	asm volatile("ld.relaxed.sys.global.u8 %0, [%1];"
		     : "=r"(v)
		     : "l"(address)
		     : "memory");
	return v;
}

DTC_GPU_FN uint32_t dtc_gpu_load2(uint64_t address)
{
	unsigned short v;

	asm volatile("ld.relaxed.sys.global.u16 %0, [%1];"
		     : "=h"(v)
		     : "l"(address)
		     : "memory");
	return v;
}

DTC_GPU_FN uint32_t dtc_gpu_load4(uint64_t address)
{
	uint32_t v;

	asm volatile("ld.relaxed.sys.global.u32 %0, [%1];"
		     : "=r"(v)
		     : "l"(address)
		     : "memory");
	return v;
}

DTC_GPU_FN uint64_t dtc_gpu_load8(uint64_t address)
{
	uint64_t v;

	asm volatile("ld.relaxed.sys.global.u64 %0, [%1];"
		     : "=l"(v)
		     : "l"(address)
		     : "memory");
	return v;
}

DTC_GPU_FN void dtc_gpu_load16(uint64_t address, struct dtc_gpu_bytes16 *to)
{
	asm volatile("ld.relaxed.sys.global.v4.u32 {%0, %1, %2, %3}, [%4];"
		     : "=r"(to->w[0]), "=r"(to->w[1]), "=r"(to->w[2]), "=r"(to->w[3])
		     : "l"(address)
		     : "memory");
}

DTC_GPU_FN void dtc_gpu_load8_into(uint64_t address, struct dtc_gpu_bytes16 *to)
{
	asm volatile("ld.relaxed.sys.global.v2.u32 {%0, %1}, [%2];"
		     : "=r"(to->w[0]), "=r"(to->w[1])
		     : "l"(address)
		     : "memory");
}

/* Two words, each of which is one load. */
DTC_GPU_FN void dtc_gpu_peek16(uint64_t address, uint64_t *first, uint64_t *second)
{
	asm volatile("ld.relaxed.sys.global.v2.u64 {%0, %1}, [%2];"
		     : "=l"(*first), "=l"(*second)
		     : "l"(address)
		     : "memory");
}

/* Nanoseconds from some moment on. */
DTC_GPU_FN uint64_t dtc_gpu_now(void)
{
	uint64_t ns;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
	return ns;
}

#endif

DTC_GPU_FN void dtc_gpu_store1(uint64_t address, uint32_t value)
{
	__stwb((unsigned char *)address, (unsigned char)value);
}

DTC_GPU_FN void dtc_gpu_store2(uint64_t address, uint32_t value)
{
	__stwb((unsigned short *)address, (unsigned short)value);
}

DTC_GPU_FN void dtc_gpu_store4(uint64_t address, uint32_t value)
{
	__stwb((unsigned int *)address, value);
}

DTC_GPU_FN void dtc_gpu_store8(uint64_t address, uint32_t low, uint32_t high)
{
	__stwb((uint2 *)address, make_uint2(low, high));
}

DTC_GPU_FN void dtc_gpu_store16(uint64_t address, const struct dtc_gpu_bytes16 *value)
{
	__stwb((uint4 *)address,
	       make_uint4(value->w[0], value->w[1], value->w[2], value->w[3]));
}

/*
 * Begin to copy a word of 4, 8 or 16 bytes into shared memory, without registers on the way; it is
 * there when this thread has waited.
 */
DTC_GPU_FN void dtc_gpu_copy_in(void *shared, uint64_t address, uint32_t word)
{
#if __CUDA_ARCH__ >= 800
	uint32_t to = (uint32_t)__cvta_generic_to_shared(shared);

	if (word == 16)
		asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to),
			     "l"(address)
			     : "memory");
	else if (word == 8)
		asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(to),
			     "l"(address)
			     : "memory");
	else
		asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to),
			     "l"(address)
			     : "memory");
#else
	if (word == 16)
		*(uint4 *)shared = __ldg((const uint4 *)address);
	else if (word == 8)
		*(uint2 *)shared = __ldg((const uint2 *)address);
	else
		*(uint32_t *)shared = dtc_gpu_load4(address);
#endif
}

DTC_GPU_FN void dtc_gpu_await_copies(void)
{
#if __CUDA_ARCH__ >= 800
	asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

/* Begin to bring the line that holds a byte of the device's memory into its cache. */
DTC_GPU_FN void dtc_gpu_ask_for(uint64_t address)
{
	asm volatile("prefetch.global.L2 [%0];" ::"l"(address));
}

/* Bits of a word of shared memory, which other threads set, too. */
DTC_GPU_FN void dtc_gpu_set_bits(uint32_t *shared, uint32_t bits)
{
	atomicOr(shared, bits);
}

DTC_GPU_FN uint32_t dtc_gpu_count_bits(uint32_t bits)
{
	return (uint32_t)__popc(bits);
}

/* The low half of high:low >> bits, bits < 32. */
DTC_GPU_FN uint32_t dtc_gpu_funnel(uint32_t low, uint32_t high, uint32_t bits)
{
	return __funnelshift_r(low, high, bits);
}

/* Four of the eight bytes of high:low, each named by a digit of @selector. */
DTC_GPU_FN uint32_t dtc_gpu_permute(uint32_t low, uint32_t high, uint32_t selector)
{
	return __byte_perm(low, high, selector);
}

DTC_GPU_FN uint64_t dtc_gpu_multiply_high(uint64_t a, uint64_t b)
{
	return __umul64hi(a, b);
}

/* ---- arithmetic by bits: rounded to nearest, never contracted ------------------------------- */

DTC_GPU_FN uint32_t dtc_gpu_add_f32(uint32_t a, uint32_t b)
{
	return __float_as_uint(__fadd_rn(__uint_as_float(a), __uint_as_float(b)));
}

DTC_GPU_FN uint32_t dtc_gpu_multiply_f32(uint32_t a, uint32_t b)
{
	return __float_as_uint(__fmul_rn(__uint_as_float(a), __uint_as_float(b)));
}

DTC_GPU_FN int dtc_gpu_less_f32(uint32_t a, uint32_t b)
{
	return __uint_as_float(a) < __uint_as_float(b);
}

DTC_GPU_FN uint64_t dtc_gpu_add_f64(uint64_t a, uint64_t b)
{
	return (uint64_t)__double_as_longlong(__dadd_rn(
		__longlong_as_double((long long)a), __longlong_as_double((long long)b)));
}

DTC_GPU_FN uint64_t dtc_gpu_multiply_f64(uint64_t a, uint64_t b)
{
	return (uint64_t)__double_as_longlong(__dmul_rn(
		__longlong_as_double((long long)a), __longlong_as_double((long long)b)));
}

DTC_GPU_FN int dtc_gpu_less_f64(uint64_t a, uint64_t b)
{
	return __longlong_as_double((long long)a) < __longlong_as_double((long long)b);
}

/* Floating point of 16 bits, alone and two at a time. */
DTC_GPU_FN uint32_t dtc_gpu_load_f16(uint32_t half)
{
	float value;

	asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"((unsigned short)half));
	return __float_as_uint(value);
}

DTC_GPU_FN uint32_t dtc_gpu_store_f16(uint32_t bits)
{
	unsigned short half;

	asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(__uint_as_float(bits)));
	return half;
}

DTC_GPU_FN uint32_t dtc_gpu_add_f16x2(uint32_t a, uint32_t b)
{
	uint32_t sum;

	asm("add.rn.f16x2 %0, %1, %2;" : "=r"(sum) : "r"(a), "r"(b));
	return sum;
}

DTC_GPU_FN uint32_t dtc_gpu_multiply_f16x2(uint32_t a, uint32_t b)
{
	uint32_t product;

	asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(product) : "r"(a), "r"(b));
	return product;
}

/* bfloat16: what is multiplied by one and added is rounded once, and -0 added changes nothing. */
#if __CUDA_ARCH__ >= 800
#define DTC_GPU_HAS_BF16X2

DTC_GPU_FN uint32_t dtc_gpu_fuse_bf16x2(uint32_t a, uint32_t b, uint32_t c)
{
	uint32_t fused;

	asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(fused) : "r"(a), "r"(b), "r"(c));
	return fused;
}

DTC_GPU_FN uint32_t dtc_gpu_add_bf16x2(uint32_t a, uint32_t b)
{
	return dtc_gpu_fuse_bf16x2(a, 0x3f803f80u, b);
}

DTC_GPU_FN uint32_t dtc_gpu_multiply_bf16x2(uint32_t a, uint32_t b)
{
	return dtc_gpu_fuse_bf16x2(a, b, 0x80008000u);
}
#endif

/* ---- completion --------------------------------------------------------------------------- */

/* __threadfence_system would order more than is asked for. */
DTC_GPU_FN void dtc_gpu_fence_system(void)
{
	asm volatile("fence.acq_rel.sys;" ::: "memory");
}

/* One more, or 0 after @limit; returns the value before. */
DTC_GPU_FN uint32_t dtc_gpu_count_up(uint64_t counter, uint32_t limit)
{
	return atomicInc((unsigned int *)counter, limit);
}

/* Fold @value into a word that other blocks fold theirs into. */
DTC_GPU_FN void dtc_gpu_xor(uint64_t address, uint32_t value)
{
	atomicXor((unsigned int *)address, value);
}

/* What such a word holds; it is 0 after. */
DTC_GPU_FN uint32_t dtc_gpu_take(uint64_t address)
{
	return atomicExch((unsigned int *)address, 0u);
}

DTC_GPU_FN void dtc_gpu_release(uint64_t flag, uint64_t value)
{
	asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(flag), "l"(value) : "memory");
}

/* The same behind a fence. */
DTC_GPU_FN void dtc_gpu_store_flag(uint64_t flag, uint64_t value)
{
	asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(flag), "l"(value) : "memory");
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All classes, in the order in which they build on each other; the includer defines the device
 * primitives first.
 */
#ifndef DTC_KERNELS_GPU_CLASSES_CU_H
#define DTC_KERNELS_GPU_CLASSES_CU_H


/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moving one word or one piece of up to 16 bytes, wherever it lies. Loads are of aligned words that
 * hold at least one byte that is asked for; stores are of exactly the bytes that are meant.
 */
#ifndef DTC_KERNELS_GPU_BYTES_CU_H
#define DTC_KERNELS_GPU_BYTES_CU_H

/* Directions, as enum dtc_direction has them. */
#define DTC_GPU_PACK   0
#define DTC_GPU_UNPACK 1

/* Where a thread is in a launch. */
struct dtc_gpu_at {
	uint32_t thread;
	uint32_t block;
	uint32_t blocks;
};

/* ---- aligned words; @word is a constant, but in typed kernels -------------------------------------- */

DTC_GPU_FN void dtc_gpu_load_word(uint64_t address, uint32_t word, struct dtc_gpu_bytes16 *to)
{
	if (word == 16)
		dtc_gpu_load16(address, to);
	else if (word == 8)
		dtc_gpu_load8_into(address, to);
	else if (word == 4)
		to->w[0] = dtc_gpu_load4(address);
	else if (word == 2)
		to->w[0] = dtc_gpu_load2(address);
	else
		to->w[0] = dtc_gpu_load1(address);
}

DTC_GPU_FN void dtc_gpu_store_word(uint64_t address, uint32_t word,
				   const struct dtc_gpu_bytes16 *value)
{
	if (word == 16)
		dtc_gpu_store16(address, value);
	else if (word == 8)
		dtc_gpu_store8(address, value->w[0], value->w[1]);
	else if (word == 4)
		dtc_gpu_store4(address, value->w[0]);
	else if (word == 2)
		dtc_gpu_store2(address, value->w[0]);
	else
		dtc_gpu_store1(address, value->w[0]);
}

/* ---- words of shared memory, which is as aligned as they are --------------------------------- */

DTC_GPU_FN void dtc_gpu_keep(void *shared, uint32_t index, uint32_t word,
			     const struct dtc_gpu_bytes16 *value)
{
	if (word == 16)
		((struct dtc_gpu_bytes16 *)shared)[index] = *value;
	else if (word == 8)
		((uint64_t *)shared)[index] = (uint64_t)value->w[1] << 32 | value->w[0];
	else if (word == 4)
		((uint32_t *)shared)[index] = value->w[0];
	else if (word == 2)
		((uint16_t *)shared)[index] = (uint16_t)value->w[0];
	else
		((uint8_t *)shared)[index] = (uint8_t)value->w[0];
}

DTC_GPU_FN void dtc_gpu_recall(const void *shared, uint32_t index, uint32_t word,
			       struct dtc_gpu_bytes16 *value)
{
	if (word == 16) {
		*value = ((const struct dtc_gpu_bytes16 *)shared)[index];
	} else if (word == 8) {
		uint64_t both = ((const uint64_t *)shared)[index];

		value->w[0] = (uint32_t)both;
		value->w[1] = (uint32_t)(both >> 32);
	} else if (word == 4) {
		value->w[0] = ((const uint32_t *)shared)[index];
	} else if (word == 2) {
		value->w[0] = ((const uint16_t *)shared)[index];
	} else {
		value->w[0] = ((const uint8_t *)shared)[index];
	}
}

/* ---- shifts of 16 bytes by bytes ------------------------------------------------------------ */

/* Bytes [by, by + 16) of high:low, by < 16. */
DTC_GPU_FN struct dtc_gpu_bytes16 dtc_gpu_shift_down(const struct dtc_gpu_bytes16 *low,
						     const struct dtc_gpu_bytes16 *high,
						     uint32_t by)
{
	uint32_t bits = (by & 3) * 8;
	uint32_t a0 = by & 8 ? low->w[2] : low->w[0];
	uint32_t a1 = by & 8 ? low->w[3] : low->w[1];
	uint32_t a2 = by & 8 ? high->w[0] : low->w[2];
	uint32_t a3 = by & 8 ? high->w[1] : low->w[3];
	uint32_t a4 = by & 8 ? high->w[2] : high->w[0];
	uint32_t a5 = by & 8 ? high->w[3] : high->w[1];
	uint32_t b0 = by & 4 ? a1 : a0;
	uint32_t b1 = by & 4 ? a2 : a1;
	uint32_t b2 = by & 4 ? a3 : a2;
	uint32_t b3 = by & 4 ? a4 : a3;
	uint32_t b4 = by & 4 ? a5 : a4;
	struct dtc_gpu_bytes16 shifted;

	shifted.w[0] = dtc_gpu_funnel(b0, b1, bits);
	shifted.w[1] = dtc_gpu_funnel(b1, b2, bits);
	shifted.w[2] = dtc_gpu_funnel(b2, b3, bits);
	shifted.w[3] = dtc_gpu_funnel(b3, b4, bits);
	return shifted;
}

/* The first 16 bytes of @value with @by bytes of zero before it, by < 16. */
DTC_GPU_FN struct dtc_gpu_bytes16 dtc_gpu_shift_up(const struct dtc_gpu_bytes16 *value,
						   uint32_t by)
{
	struct dtc_gpu_bytes16 zero = { { 0, 0, 0, 0 } };

	return by ? dtc_gpu_shift_down(&zero, value, 16 - by) : *value;
}

/* Zeros from byte @bytes on. */
DTC_GPU_FN void dtc_gpu_cut(struct dtc_gpu_bytes16 *value, uint32_t bytes)
{
	DTC_GPU_UNROLL
	for (uint32_t i = 0; i < 4; i++) {
		uint32_t kept = bytes > 4 * i ? bytes - 4 * i : 0;

		if (kept < 4)
			value->w[i] &= (1u << (8 * kept)) - 1;
	}
}

DTC_GPU_FN void dtc_gpu_merge(struct dtc_gpu_bytes16 *into, const struct dtc_gpu_bytes16 *more)
{
	DTC_GPU_UNROLL
	for (uint32_t i = 0; i < 4; i++)
		into->w[i] |= more->w[i];
}

/* ---- loads from anywhere ---------------------------------------------------------------------- */

/* The aligned words that hold some bytes. Fetched first, looked at later: loads overlap. */
struct dtc_gpu_fetched {
	struct dtc_gpu_bytes16 low, high;
	uint32_t offset; /* of the first byte */
	uint32_t bytes;
};

/* Begin to load @bytes <= 16; none are no load. */
DTC_GPU_FN void dtc_gpu_fetch(uint64_t address, uint32_t bytes, struct dtc_gpu_fetched *fetched)
{
	uint32_t offset = (uint32_t)address & 15;
	uint64_t line = address - offset;
	struct dtc_gpu_bytes16 zero = { { 0, 0, 0, 0 } };

	fetched->offset = offset;
	fetched->bytes = bytes;
	fetched->low = zero;
	fetched->high = zero;
	if (bytes)
		dtc_gpu_load16(line, &fetched->low);
	if (offset + bytes > 16)
		dtc_gpu_load16(line + 16, &fetched->high);
}

/* What was fetched, with zeros behind. */
DTC_GPU_FN struct dtc_gpu_bytes16 dtc_gpu_fetched_value(const struct dtc_gpu_fetched *fetched)
{
	struct dtc_gpu_bytes16 value =
		dtc_gpu_shift_down(&fetched->low, &fetched->high, fetched->offset);

	dtc_gpu_cut(&value, fetched->bytes);
	return value;
}

DTC_GPU_FN struct dtc_gpu_bytes16 dtc_gpu_gather(uint64_t address, uint32_t bytes)
{
	struct dtc_gpu_fetched fetched;

	dtc_gpu_fetch(address, bytes, &fetched);
	return dtc_gpu_fetched_value(&fetched);
}

/* ---- stores to anywhere ----------------------------------------------------------------------- */

/* What is still to be stored, and where. */
struct dtc_gpu_rest {
	uint64_t address;
	struct dtc_gpu_bytes16 value;
	uint32_t bytes;
};

/* Store one word, a constant, if it is @asked for, and go on behind it. */
DTC_GPU_FN void dtc_gpu_store_next(struct dtc_gpu_rest *rest, uint32_t word, int asked)
{
	struct dtc_gpu_bytes16 zero = { { 0, 0, 0, 0 } };

	if (!asked)
		return;
	dtc_gpu_store_word(rest->address, word, &rest->value);
	rest->value = dtc_gpu_shift_down(&rest->value, &zero, word);
	rest->address += word;
	rest->bytes -= word;
}

/*
 * Store the first @bytes <= @most of @value in as few aligned words as there are: ever longer ones up
 * to the first address that @most divides, then ever shorter ones. Threads of a warp that store
 * unlike parts go this way together.
 */
DTC_GPU_FN void dtc_gpu_scatter_most(uint64_t address, struct dtc_gpu_bytes16 value,
				     uint32_t bytes, uint32_t most)
{
	struct dtc_gpu_rest rest = { address, value, bytes };

	if (bytes == most && !((uint32_t)address & (most - 1))) {
		dtc_gpu_store_word(address, most, &value);
		return;
	}
	DTC_GPU_UNROLL
	for (uint32_t word = 1; word < 16; word *= 2)
		if (word < most)
			dtc_gpu_store_next(&rest, word,
					   ((uint32_t)rest.address & word) && rest.bytes >= word);
	DTC_GPU_UNROLL
	for (uint32_t word = 8; word > 0; word /= 2)
		if (word < most)
			dtc_gpu_store_next(&rest, word, (rest.bytes & word) != 0);
}

/* Store the first @bytes of @value. */
DTC_GPU_FN void dtc_gpu_scatter(uint64_t address, struct dtc_gpu_bytes16 value, uint32_t bytes)
{
	dtc_gpu_scatter_most(address, value, bytes, 16);
}

/* Ask for the sector that holds a byte of a run [low, high) if the run has but a part of it. */
DTC_GPU_FN void dtc_gpu_expect(uint64_t address, uint64_t low, uint64_t high)
{
	uint64_t sector = address & ~(uint64_t)(DTC_GPU_SECTOR - 1);

	if (sector < low || sector + DTC_GPU_SECTOR > high)
		dtc_gpu_ask_for(address);
}

/* ---- completion ------------------------------------------------------------------------------- */

/*
 * All threads of a block have stored and met. The fence before the flag is for both: it acquires what the
 * other blocks have counted, and releases everything with the flag.
 */
DTC_GPU_FN void dtc_gpu_finish(const struct dtc_gpu_done *done, struct dtc_gpu_at at)
{
	if (!done->flag || at.thread)
		return;
	if (at.blocks > 1) {
		dtc_gpu_fence_system();
		if (dtc_gpu_count_up(done->counter, at.blocks - 1) != at.blocks - 1)
			return;
	}
	dtc_gpu_fence_system();
	dtc_gpu_store_flag(done->flag, done->value);
}

#endif
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From a unit's number in a nest's packed stream to the place of its block in user memory. The
 * 64-bit part is done once for a tile; what is done for each unit takes 32 bits.
 */
#ifndef DTC_KERNELS_GPU_NEST_CU_H
#define DTC_KERNELS_GPU_NEST_CU_H

/*
 * A tile's first unit, as indices of the levels. If numbers are small, all of it is index 0, and
 * carries into the other levels when it is divided.
 */
struct dtc_gpu_start {
	uint64_t address; /* of the nest, with the outermost index of wide nests */
	uint64_t carried; /* units of level 1 that are not in index 0 */
	uint32_t index[DTC_GPU_DIMS];
};

/* One copy of the division, which is long code, and no array that is indexed by a variable. */
DTC_GPU_FN void dtc_gpu_split_wide(const struct dtc_gpu_nest *nest, uint64_t unit, int form,
				   struct dtc_gpu_start *start)
{
	uint32_t last = nest->dim_count - 1u;

	DTC_GPU_NO_UNROLL
	for (uint32_t d = 0; d < last; d++) {
		uint64_t outer = unit / nest->dims[d].count;
		uint32_t index = (uint32_t)(unit - outer * nest->dims[d].count);

		DTC_GPU_UNROLL
		for (uint32_t k = 0; k < DTC_GPU_DIMS; k++)
			start->index[k] = k == d ? index : start->index[k];
		unit = outer;
		if (d == 0)
			start->carried = unit;
	}
	if (form == DTC_GPU_LISTED && last == 1)
		start->index[1] = (uint32_t)unit;
	else
		start->address += unit * (uint64_t)nest->dims[last].stride;
}

/* A tile begins at @unit. */
DTC_GPU_FN void dtc_gpu_split(const struct dtc_gpu_nest *nest, uint64_t unit, int form,
			      struct dtc_gpu_start *start)
{
	start->address = nest->user;
	start->carried = 0;
	DTC_GPU_UNROLL
	for (uint32_t d = 0; d < DTC_GPU_DIMS; d++)
		start->index[d] = 0;
	if (nest->wide)
		dtc_gpu_split_wide(nest, unit, form, start);
	else
		start->index[0] = (uint32_t)unit;
}

/* Division of numbers that fit 32 bits as a rule; for once in a tile. */
DTC_GPU_FN uint64_t dtc_gpu_quotient(uint64_t a, uint64_t b)
{
	return (a | b) >> 32 ? a / b : (uint32_t)a / (uint32_t)b;
}

DTC_GPU_FN uint32_t dtc_gpu_divide(uint32_t x, uint32_t magic, uint32_t shift)
{
	return (uint32_t)(((uint64_t)x * magic) >> shift);
}

/* Where a unit is. */
struct dtc_gpu_place {
	uint64_t address; /* of its block; of the first one for levels that are mapped or listed */
	uint32_t index;   /* in level 0 */
	uint32_t carried; /* index of level 1 and all above, as one number, from start->carried on */
	uint32_t entry;   /* index in level 1, if it is listed */
};

/*
 * @count units, a constant, that are @ahead of the tile's first. They go up the levels together, so
 * that the way up is decided once.
 */
DTC_GPU_FN void dtc_gpu_locate_all(const struct dtc_gpu_nest *nest,
				   const struct dtc_gpu_start *start, int form, uint32_t count,
				   const uint32_t ahead[], struct dtc_gpu_place place[])
{
	uint32_t last = nest->dim_count - 1u;
	uint32_t index[8], outer[8];

	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < count; k++) {
		struct dtc_gpu_place first = { start->address, 0, 0, 0 };

		place[k] = first;
		index[k] = start->index[0] + ahead[k];
	}
	DTC_GPU_UNROLL
	for (uint32_t d = 0; d < DTC_GPU_DIMS; d++) {
		int64_t stride = nest->dims[d].stride;

		DTC_GPU_UNROLL
		for (uint32_t k = 0; k < count; k++)
			outer[k] = 0;
		if (d < last && d < DTC_GPU_DIMS - 1) {
			uint32_t magic = nest->dims[d].magic;
			uint32_t shift = nest->shift[d];

			DTC_GPU_UNROLL
			for (uint32_t k = 0; k < count; k++) {
				outer[k] = dtc_gpu_divide(index[k], magic, shift);
				index[k] -= outer[k] * nest->dims[d].count;
			}
		}
		DTC_GPU_UNROLL
		for (uint32_t k = 0; k < count; k++) {
			if (d == 0) {
				place[k].index = index[k];
				place[k].carried = outer[k];
			} else if (d == 1 && form == DTC_GPU_LISTED) {
				place[k].entry = index[k];
			} else {
				place[k].address += (uint64_t)((int64_t)index[k] * stride);
			}
		}
		if (d >= last)
			break;
		DTC_GPU_UNROLL
		for (uint32_t k = 0; k < count && d < DTC_GPU_DIMS - 1; k++)
			index[k] = start->index[d + 1] + outer[k];
	}
}

DTC_GPU_FN struct dtc_gpu_place dtc_gpu_locate(const struct dtc_gpu_nest *nest,
					       const struct dtc_gpu_start *start,
					       uint32_t ahead, int form)
{
	struct dtc_gpu_place place;

	dtc_gpu_locate_all(nest, start, form, 1, &ahead, &place);
	return place;
}

#endif
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Nests whose words are aligned on both sides: thread after thread owns word after word of the
 * packed stream. All loads of a thread are in flight before its first store.
 */
#ifndef DTC_KERNELS_GPU_WORDS_CU_H
#define DTC_KERNELS_GPU_WORDS_CU_H

/* What stands for multiples of a stride at some level; see the forms in nest.cu.h. */
struct dtc_gpu_levels {
	int form;
	const int32_t *map; /* DTC_GPU_MAPPED, in shared memory */
	uint64_t disps;     /* DTC_GPU_LISTED */
	uint32_t wide;
	uint32_t shift;
};

DTC_GPU_FN uint64_t dtc_gpu_listed_disp(uint64_t disps, uint32_t wide, uint32_t shift,
					uint64_t entry)
{
	int64_t scaled = wide ? (int64_t)dtc_gpu_load8(disps + 8 * entry)
			      : (int32_t)dtc_gpu_load4(disps + 4 * entry);

	return (uint64_t)scaled << shift;
}

/* The user address of a unit of @unit bytes. */
DTC_GPU_FN uint64_t dtc_gpu_unit_address(const struct dtc_gpu_levels *levels,
					 const struct dtc_gpu_place *place, uint32_t unit)
{
	if (levels->form == DTC_GPU_MAPPED)
		return place->address + (uint64_t)(int64_t)levels->map[place->index];
	uint64_t address = place->address + (uint64_t)place->index * unit;
	if (levels->form == DTC_GPU_LISTED)
		address += dtc_gpu_listed_disp(levels->disps, levels->wide, levels->shift,
					       place->entry);
	return address;
}

/* Displacements of @count entries, a constant, all under way at once: what width is asked first. */
DTC_GPU_FN void dtc_gpu_listed_disps(uint64_t disps, uint32_t wide, uint32_t shift, uint32_t count,
				     const uint64_t entry[], uint64_t disp[])
{
	if (wide) {
		DTC_GPU_UNROLL
		for (uint32_t k = 0; k < count; k++)
			disp[k] = dtc_gpu_load8(disps + 8 * entry[k]);
	} else {
		DTC_GPU_UNROLL
		for (uint32_t k = 0; k < count; k++)
			disp[k] = (uint64_t)(int64_t)(int32_t)dtc_gpu_load4(disps + 4 * entry[k]);
	}
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < count; k++)
		disp[k] <<= shift;
}

/* The user addresses of @count units, a constant, of @unit bytes. */
DTC_GPU_FN void dtc_gpu_unit_addresses(const struct dtc_gpu_levels *levels, uint32_t count,
				       const struct dtc_gpu_place place[], uint32_t unit,
				       uint64_t address[])
{
	uint64_t entry[8], disp[8];

	if (levels->form != DTC_GPU_LISTED) {
		DTC_GPU_UNROLL
		for (uint32_t k = 0; k < count; k++)
			address[k] = dtc_gpu_unit_address(levels, &place[k], unit);
		return;
	}
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < count; k++)
		entry[k] = place[k].entry;
	dtc_gpu_listed_disps(levels->disps, levels->wide, levels->shift, count, entry, disp);
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < count; k++)
		address[k] = place[k].address + (uint64_t)place[k].index * unit + disp[k];
}

/* A byte of the stretch that is in no whole word, at either end: threads below 32 have one each. */
DTC_GPU_FN uint64_t dtc_gpu_edge(const struct dtc_gpu_nest *nest, uint32_t word, uint32_t thread,
				 uint32_t *live)
{
	uint64_t mask = word - 1;
	uint64_t up = (nest->begin + mask) & ~mask;
	uint64_t down = nest->end & ~mask;
	uint64_t head_end = up < nest->end ? up : nest->end;
	uint64_t tail = down > head_end ? down : head_end;
	uint64_t position = thread < 16 ? nest->begin + thread : tail + thread - 16;

	*live = thread < 32 && position < (thread < 16 ? head_end : nest->end);
	return position;
}

DTC_GPU_FN void dtc_gpu_move_byte(uint64_t user, uint64_t packed, int direction)
{
	if (direction == DTC_GPU_PACK)
		dtc_gpu_store1(packed, dtc_gpu_load1(user));
	else
		dtc_gpu_store1(user, dtc_gpu_load1(packed));
}

DTC_GPU_FN void dtc_gpu_move_edges(const struct dtc_gpu_nest *nest,
				   const struct dtc_gpu_levels *levels, uint32_t word,
				   uint32_t thread, int direction)
{
	struct dtc_gpu_start start;
	uint32_t live;
	uint64_t position = dtc_gpu_edge(nest, word, thread, &live);

	if (!live)
		return;
	dtc_gpu_split(nest, position / word, levels->form, &start);
	struct dtc_gpu_place place = dtc_gpu_locate(nest, &start, 0, levels->form);
	dtc_gpu_move_byte(dtc_gpu_unit_address(levels, &place, word) +
				  (position & (word - 1)),
			  nest->packed + position, direction);
}

/*
 * @count words, a constant, of which the packed ones are DTC_GPU_BLOCK words apart; @left is how many
 * units there are from the first on. All are loaded before any is stored.
 */
DTC_GPU_FN void dtc_gpu_load_words(const uint64_t user[], uint64_t packed, uint32_t word,
				   uint32_t count, uint64_t left, int direction,
				   struct dtc_gpu_bytes16 value[])
{
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < count; k++)
		if (k * DTC_GPU_BLOCK < left)
			dtc_gpu_load_word(direction == DTC_GPU_PACK
						  ? user[k]
						  : packed + k * DTC_GPU_BLOCK * word,
					  word, &value[k]);
}

DTC_GPU_FN void dtc_gpu_transfer(const uint64_t user[], uint64_t packed, uint32_t word,
				 uint32_t count, uint64_t left, int direction)
{
	struct dtc_gpu_bytes16 value[8];

	dtc_gpu_load_words(user, packed, word, count, left, direction, value);
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < count; k++)
		if (k * DTC_GPU_BLOCK < left)
			dtc_gpu_store_word(direction == DTC_GPU_PACK
						   ? packed + k * DTC_GPU_BLOCK * word
						   : user[k],
					   word, &value[k]);
}

/* A word that will be stored, which is number @index of its block. */
DTC_GPU_FN void dtc_gpu_expect_word(const struct dtc_gpu_nest *nest, uint64_t address,
				    uint32_t index, uint32_t word)
{
	uint64_t low = address - (uint64_t)index * word;

	dtc_gpu_expect(address, low, low + nest->block);
}

/* The same for the unit that is @ahead of the tile's first, and those DTC_GPU_BLOCK units apart. */
DTC_GPU_FN void dtc_gpu_transfer_units(const struct dtc_gpu_nest *nest,
				       const struct dtc_gpu_levels *levels,
				       const struct dtc_gpu_start *start, uint32_t ahead,
				       uint64_t packed, uint32_t word, uint32_t count,
				       uint64_t left, int direction)
{
	struct dtc_gpu_place place[8];
	uint64_t user[8];
	uint32_t each[8];

	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < count; k++)
		each[k] = ahead + (k * DTC_GPU_BLOCK < left ? k * DTC_GPU_BLOCK : 0);
	dtc_gpu_locate_all(nest, start, levels->form, count, each, place);
	dtc_gpu_unit_addresses(levels, count, place, word, user);
	if (direction == DTC_GPU_UNPACK && levels->form != DTC_GPU_MAPPED && nest->expects) {
		DTC_GPU_UNROLL
		for (uint32_t k = 0; k < count; k++)
			if (k * DTC_GPU_BLOCK < left)
				dtc_gpu_expect_word(nest, user[k], place[k].index, word);
	}
	dtc_gpu_transfer(user, packed, word, count, left, direction);
}

/* User bytes to DTC_GPU_BLOCK units further on, where that is the same everywhere, else 0. */
DTC_GPU_FN uint64_t dtc_gpu_even_step(const struct dtc_gpu_nest *nest, uint32_t word)
{
	uint32_t count = nest->dims[0].count;

	if (nest->dim_count == 1)
		return (uint64_t)(DTC_GPU_BLOCK * word);
	if (nest->dim_count > 2 || count - 1 >= DTC_GPU_BLOCK || (count & (count - 1)))
		return 0;
	return dtc_gpu_divide(DTC_GPU_BLOCK, nest->dims[0].magic, nest->shift[0]) *
	       (uint64_t)nest->dims[1].stride;
}

/* Words of a plain nest at even steps: one place for all of a thread's words. */
DTC_GPU_FN void dtc_gpu_move_even(const struct dtc_gpu_nest *nest,
				  const struct dtc_gpu_levels *levels,
				  const struct dtc_gpu_start *start, uint32_t thread,
				  uint64_t packed, uint32_t word, uint64_t step, uint64_t left,
				  int direction)
{
	const uint32_t words = DTC_GPU_WORDS(word);
	struct dtc_gpu_place place = dtc_gpu_locate(nest, start, thread, DTC_GPU_PLAIN);
	uint64_t user[8];

	user[0] = dtc_gpu_unit_address(levels, &place, word);
	DTC_GPU_UNROLL
	for (uint32_t k = 1; k < words; k++)
		user[k] = user[k - 1] + step;
	if (direction == DTC_GPU_UNPACK && nest->expects) {
		DTC_GPU_UNROLL
		for (uint32_t k = 0; k < words; k++)
			if (k * DTC_GPU_BLOCK < left)
				dtc_gpu_expect_word(nest, user[k], place.index, word);
	}
	dtc_gpu_transfer(user, packed, word, words, left, direction);
}

/*
 * One tile; @word, @direction and the form are constants. On the packed side a thread's words are at
 * constant distances, which costs no registers.
 */
DTC_GPU_FN void dtc_gpu_move_words(const struct dtc_gpu_nest *nest,
				   const struct dtc_gpu_levels *levels, uint32_t word,
				   uint32_t tile, uint32_t thread, int direction)
{
	const uint32_t words = DTC_GPU_WORDS(word);
	uint64_t first = (nest->begin + word - 1) / word;
	uint64_t last = nest->end / word;
	uint64_t unit = first + (uint64_t)tile * (words * DTC_GPU_BLOCK);
	uint64_t left = last > unit + thread ? last - unit - thread : 0;
	uint64_t packed = nest->packed + (unit + thread) * word;
	struct dtc_gpu_start start;

	if (tile == 0)
		dtc_gpu_move_edges(nest, levels, word, thread, direction);
	if (!left)
		return;
	dtc_gpu_split(nest, unit, levels->form, &start);
	uint64_t step = levels->form == DTC_GPU_PLAIN ? dtc_gpu_even_step(nest, word) : 0;
	if (step)
		dtc_gpu_move_even(nest, levels, &start, thread, packed, word, step, left,
				  direction);
	else
		dtc_gpu_transfer_units(nest, levels, &start, thread, packed, word, words, left,
				       direction);
}

#endif
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From a position in the packed stream to the run that holds it, through the byte program itself:
 * the cursor's seek, for the device. It costs the depth of the program and the logarithms of its
 * tables, for every run.
 */
#ifndef DTC_KERNELS_GPU_WALK_CU_H
#define DTC_KERNELS_GPU_WALK_CU_H

/* A run, or what is left of it. */
struct dtc_gpu_span {
	uint64_t address;
	uint64_t bytes;
};

DTC_GPU_FN uint64_t dtc_gpu_divide64(uint64_t x, uint64_t magic, uint32_t shift, uint32_t one)
{
	uint64_t t = dtc_gpu_multiply_high(x, magic);

	return one ? x : (t + ((x - t) >> 1)) >> shift;
}

/* A member of a structure on the device. */
#define DTC_GPU_MEMBER8(address, type, member) \
	dtc_gpu_load8((address) + DTC_GPU_OFFSET(type, member))
#define DTC_GPU_MEMBER4(address, type, member) \
	dtc_gpu_load4((address) + DTC_GPU_OFFSET(type, member))

/* A table on the device. */
struct dtc_gpu_listing {
	uint64_t count;
	uint64_t uniform;
	uint64_t disps;
	uint64_t prefixes;
	uint32_t disp_wide, disp_shift;
	uint32_t prefix_wide, prefix_shift;
};

DTC_GPU_FN void dtc_gpu_read_table(uint64_t table, struct dtc_gpu_listing *listing)
{
	uint32_t forms = DTC_GPU_MEMBER4(table, struct dtc_gpu_table, forms);

	listing->count = DTC_GPU_MEMBER8(table, struct dtc_gpu_table, count);
	listing->uniform = DTC_GPU_MEMBER8(table, struct dtc_gpu_table, uniform);
	listing->disps = table + sizeof(struct dtc_gpu_table);
	listing->prefixes =
		table + DTC_GPU_MEMBER8(table, struct dtc_gpu_table, prefix_offset);
	listing->disp_wide = forms & 0xff;
	listing->disp_shift = forms >> 8 & 0xff;
	listing->prefix_wide = forms >> 16 & 0xff;
	listing->prefix_shift = forms >> 24;
}

DTC_GPU_FN uint64_t dtc_gpu_prefix(uint64_t prefixes, uint32_t wide, uint32_t shift,
				   uint64_t entry)
{
	uint64_t scaled = wide ? dtc_gpu_load8(prefixes + 8 * entry)
			       : dtc_gpu_load4(prefixes + 4 * entry);

	return scaled << shift;
}

DTC_GPU_FN uint64_t dtc_gpu_prefix_of(const struct dtc_gpu_listing *listing, uint64_t entry)
{
	return dtc_gpu_prefix(listing->prefixes, listing->prefix_wide, listing->prefix_shift,
			      entry);
}

DTC_GPU_FN uint64_t dtc_gpu_disp_of(const struct dtc_gpu_listing *listing, uint64_t entry)
{
	return dtc_gpu_listed_disp(listing->disps, listing->disp_wide, listing->disp_shift,
				   entry);
}

/* The entry that covers @unit, of a table with prefixes. */
DTC_GPU_FN uint64_t dtc_gpu_find_entry(const struct dtc_gpu_listing *listing, uint64_t unit)
{
	uint64_t low = 0;
	uint64_t n = listing->count;

	while (n > 1) {
		uint64_t half = n / 2;

		low += dtc_gpu_prefix_of(listing, low + half) <= unit ? half : 0;
		n -= half;
	}
	return low;
}

/* Where the walk stands. */
struct dtc_gpu_step {
	uint64_t op; /* address */
	uint64_t divisor;
	uint64_t address;
	uint64_t position; /* in the operation */
};

DTC_GPU_FN uint64_t dtc_gpu_divide_step(const struct dtc_gpu_step *step, uint64_t x)
{
	uint64_t shift = DTC_GPU_MEMBER8(step->divisor, struct dtc_gpu_divisor, shift);

	return dtc_gpu_divide64(x, DTC_GPU_MEMBER8(step->divisor, struct dtc_gpu_divisor, magic),
				(uint32_t)shift, (uint32_t)(shift >> 32));
}

/* The position is in a leaf: the run that holds it. */
DTC_GPU_FN struct dtc_gpu_span dtc_gpu_strip_at(const struct dtc_gpu_step *step)
{
	uint64_t unit = DTC_GPU_MEMBER8(step->op, struct dtc_gpu_op, unit_bytes);
	uint64_t run = dtc_gpu_divide_step(step, step->position);
	uint64_t inside = step->position - run * unit;
	struct dtc_gpu_span span;

	span.address = step->address +
		       run * DTC_GPU_MEMBER8(step->op, struct dtc_gpu_op, stride) + inside;
	span.bytes = unit - inside;
	return span;
}

DTC_GPU_FN struct dtc_gpu_span dtc_gpu_entry_at(const struct dtc_gpu_step *step, uint64_t tables)
{
	struct dtc_gpu_listing listing;
	struct dtc_gpu_span span;
	uint64_t entry, inside;

	dtc_gpu_read_table(tables + DTC_GPU_MEMBER8(step->op, struct dtc_gpu_op, table),
			   &listing);
	if (listing.uniform) {
		entry = dtc_gpu_divide_step(step, step->position);
		inside = step->position - entry * listing.uniform;
		span.bytes = listing.uniform - inside;
	} else {
		entry = dtc_gpu_find_entry(&listing, step->position);
		inside = step->position - dtc_gpu_prefix_of(&listing, entry);
		span.bytes = dtc_gpu_prefix_of(&listing, entry + 1) - step->position;
	}
	span.address = step->address + dtc_gpu_disp_of(&listing, entry) + inside;
	return span;
}

/* Go into the iteration that holds the position. */
DTC_GPU_FN void dtc_gpu_enter(struct dtc_gpu_step *step, uint32_t kind, uint64_t tables)
{
	uint64_t stride = DTC_GPU_MEMBER8(step->op, struct dtc_gpu_op, stride);
	uint64_t iteration = dtc_gpu_divide_step(step, step->position);

	step->position -= iteration * DTC_GPU_MEMBER8(step->op, struct dtc_gpu_op, unit_bytes);
	if (kind == DTC_GPU_OP_LOOP) {
		step->address += iteration * stride;
	} else {
		struct dtc_gpu_listing listing;
		uint64_t entry = iteration, inside = 0;

		dtc_gpu_read_table(tables + DTC_GPU_MEMBER8(step->op, struct dtc_gpu_op, table),
				   &listing);
		if (!listing.uniform) {
			entry = dtc_gpu_find_entry(&listing, iteration);
			inside = iteration - dtc_gpu_prefix_of(&listing, entry);
		}
		step->address += dtc_gpu_disp_of(&listing, entry) + inside * stride;
	}
	step->op += sizeof(struct dtc_gpu_op);
	step->divisor += sizeof(struct dtc_gpu_divisor);
}

/* Among operations after each other go to the one that holds the position. */
DTC_GPU_FN void dtc_gpu_find_sibling(struct dtc_gpu_step *step)
{
	uint64_t before = DTC_GPU_MEMBER8(step->op, struct dtc_gpu_op, bytes_before);

	while (step->position >= before + DTC_GPU_MEMBER8(step->op, struct dtc_gpu_op, bytes)) {
		uint64_t ops = DTC_GPU_MEMBER4(step->op, struct dtc_gpu_op, body) + 1;

		step->op += ops * sizeof(struct dtc_gpu_op);
		step->divisor += ops * sizeof(struct dtc_gpu_divisor);
		before = DTC_GPU_MEMBER8(step->op, struct dtc_gpu_op, bytes_before);
	}
	step->position -= before;
	step->address += DTC_GPU_MEMBER8(step->op, struct dtc_gpu_op, disp);
}

DTC_GPU_FN struct dtc_gpu_span dtc_gpu_walk_to(const struct dtc_gpu_walk *walk, uint64_t position)
{
	uint64_t instance = dtc_gpu_divide64(position, walk->by_size.magic, walk->by_size.shift,
					     walk->by_size.one);
	uint64_t tables =
		walk->image + DTC_GPU_MEMBER8(walk->image, struct dtc_gpu_image_head, tables);
	struct dtc_gpu_step step;

	step.op = walk->image + DTC_GPU_MEMBER8(walk->image, struct dtc_gpu_image_head, ops);
	step.divisor =
		walk->image + DTC_GPU_MEMBER8(walk->image, struct dtc_gpu_image_head, divisors);
	step.address = walk->user + instance * (uint64_t)walk->extent;
	step.position = position - instance * walk->size;
	for (;;) {
		dtc_gpu_find_sibling(&step);
		uint32_t kind = DTC_GPU_MEMBER4(step.op, struct dtc_gpu_op, kind_flat) & 0xffff;

		if (kind == DTC_GPU_OP_RUN) {
			struct dtc_gpu_span span = {
				step.address + step.position,
				DTC_GPU_MEMBER8(step.op, struct dtc_gpu_op, bytes) -
					step.position
			};
			return span;
		}
		if (kind == DTC_GPU_OP_STRIP)
			return dtc_gpu_strip_at(&step);
		if (kind == DTC_GPU_OP_TABLE)
			return dtc_gpu_entry_at(&step, tables);
		dtc_gpu_enter(&step, kind, tables);
	}
}

#endif
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Of a table of unlike runs the entries that a tile touches, and which of them holds each of
 * its units: both are computed once and kept in shared memory, so that no word needs a search.
 * Words have windows, in which entries mark where they begin: the holder is counted.
 */
#ifndef DTC_KERNELS_GPU_ENTRIES_CU_H
#define DTC_KERNELS_GPU_ENTRIES_CU_H

/* As many units as a word has bits. */
struct dtc_gpu_window {
	uint32_t begun; /* a bit for each unit that an entry begins with, but the first */
	uint32_t first; /* holds the first unit */
};

/* The lists of a tile. Numbers of bytes are from the tile's first, or from the whole table's. */
struct dtc_gpu_entries {
	uint32_t *count;
	struct dtc_gpu_window *windows; /* words: of every DTC_GPU_LANES units */
	uint16_t *holders; /* pieces: of every unit the entry that holds its first byte */
	uint64_t *bases;   /* of every entry: a byte is at this and its number */
	uint16_t *begins;  /* of every entry and the end of the last; the first is 0 */
};

DTC_GPU_FN struct dtc_gpu_entries dtc_gpu_entries_in(const struct dtc_gpu_indexed_params *p,
						     uint32_t word, void *shared,
						     uint32_t thread)
{
	uint32_t number = word > 1 ? thread / DTC_GPU_LANES : 0;
	unsigned char *tile = (unsigned char *)shared +
			      number * DTC_GPU_INDEXED_SHARED(word, p->capacity);
	unsigned char *finders = tile + DTC_GPU_INDEXED_HEAD;
	struct dtc_gpu_entries entries;

	entries.count = (uint32_t *)tile;
	entries.windows = (struct dtc_gpu_window *)finders;
	entries.holders = (uint16_t *)finders;
	entries.bases = (uint64_t *)(finders + DTC_GPU_INDEXED_FINDERS(word));
	entries.begins = (uint16_t *)(entries.bases + p->capacity);
	return entries;
}

/* ---- writing down -------------------------------------------------------------------------- */

/* Where a tile begins in the table, and the entries that it touches. */
struct dtc_gpu_touched {
	uint64_t offset;
	uint64_t first;
	uint32_t count;
};

DTC_GPU_FN struct dtc_gpu_touched dtc_gpu_touch(const struct dtc_gpu_indexed_params *p,
						uint64_t offset)
{
	struct dtc_gpu_touched touched = { offset, 0, 0 };
	uint64_t last = p->count - 1;

	if (!p->whole) {
		uint64_t start = p->starts + offset / DTC_GPU_START_BYTES * 4;

		touched.first = dtc_gpu_load4(start);
		if (offset + p->tile_bytes < p->table_bytes)
			last = dtc_gpu_load4(start + p->tile_bytes / DTC_GPU_START_BYTES * 4);
	}
	touched.count = (uint32_t)(last - touched.first) + 1;
	return touched;
}

/*
 * Where the entries lie from @address on, so many threads together. What begins behind all tiles is not told
 * apart. Both loads are under way before either is looked at.
 */
DTC_GPU_FN void dtc_gpu_list_entries(const struct dtc_gpu_indexed_params *p,
				     const struct dtc_gpu_touched *touched, uint64_t address,
				     const struct dtc_gpu_entries *entries, uint32_t thread,
				     uint32_t threads)
{
	if (thread == 0)
		*entries->count = touched->count;
	for (uint32_t i = thread; i <= touched->count; i += threads) {
		uint64_t entry = touched->first + i;
		uint64_t begin = dtc_gpu_prefix(p->prefixes, p->prefix_wide, p->prefix_shift, entry) -
				 touched->offset;
		uint64_t disp = dtc_gpu_listed_disp(p->disps, p->disp_wide, p->disp_shift,
						    i < touched->count ? entry : touched->first);

		/* The first entry may have begun before the tile. */
		if (i < touched->count)
			entries->bases[i] = address + disp - begin;
		begin = i ? begin : 0;
		entries->begins[i] = begin < 0xffff ? (uint16_t)begin : (uint16_t)0xffff;
	}
}

/* The sectors at both ends of what the tile has of its entries, which it will store to. */
DTC_GPU_FN void dtc_gpu_expect_entries(const struct dtc_gpu_entries *entries, uint32_t bytes,
				       uint32_t thread, uint32_t threads)
{
	for (uint32_t i = thread; i < *entries->count; i += threads) {
		uint32_t end = entries->begins[i + 1] < bytes ? entries->begins[i + 1] : bytes;
		uint64_t low = entries->bases[i] + entries->begins[i];
		uint64_t high = entries->bases[i] + end;

		if (low >= high)
			continue;
		dtc_gpu_expect(low, low, high);
		dtc_gpu_expect(high - 1, low, high);
	}
}

/* ---- words: windows ------------------------------------------------------------------------ */

/* A warp's windows, before entries mark them. */
DTC_GPU_FN void dtc_gpu_clear_windows(const struct dtc_gpu_entries *entries, uint32_t word,
				      uint32_t lane)
{
	struct dtc_gpu_window none = { 0, 0 };

	if (lane < DTC_GPU_INDEXED_UNITS(word))
		entries->windows[lane] = none;
}

/* Each entry marks the unit that it begins with, and is the first of the windows that begin in it. */
DTC_GPU_FN void dtc_gpu_mark_windows(const struct dtc_gpu_entries *entries, uint32_t word,
				     uint32_t lane)
{
	const uint32_t windows = DTC_GPU_INDEXED_UNITS(word);

	for (uint32_t i = lane; i < *entries->count; i += DTC_GPU_LANES) {
		uint32_t from = entries->begins[i] / word;
		uint32_t to = entries->begins[i + 1] / word;
		uint32_t window = from / DTC_GPU_LANES;

		if (from % DTC_GPU_LANES) {
			if (window < windows)
				dtc_gpu_set_bits(&entries->windows[window].begun,
						 1u << from % DTC_GPU_LANES);
			window++;
		}
		DTC_GPU_NO_UNROLL
		for (; window < windows && window * DTC_GPU_LANES < to; window++)
			entries->windows[window].first = i;
	}
}

DTC_GPU_FN uint32_t dtc_gpu_window_holder(const struct dtc_gpu_entries *entries, uint32_t unit)
{
	struct dtc_gpu_window window = entries->windows[unit / DTC_GPU_LANES];
	uint32_t so_far = (2u << unit % DTC_GPU_LANES) - 1;

	return window.first + dtc_gpu_count_bits(window.begun & so_far);
}

/* ---- pieces: holders ----------------------------------------------------------------------- */

/* The entry that holds byte @offset. */
DTC_GPU_FN uint32_t dtc_gpu_search_entries(const struct dtc_gpu_entries *entries, uint32_t offset)
{
	uint32_t n = *entries->count;
	uint32_t near = 0;

	DTC_GPU_NO_UNROLL
	while (n > 1) {
		uint32_t half = n / 2;

		near += entries->begins[near + half] <= offset ? half : 0;
		n -= half;
	}
	return near;
}

/* The first entry from @near on that holds byte @offset. */
DTC_GPU_FN uint32_t dtc_gpu_advance(const struct dtc_gpu_entries *entries, uint32_t near,
				    uint32_t offset)
{
	while (near + 1 < *entries->count && entries->begins[near + 1] <= offset)
		near++;
	return near;
}

/* The holder of a thread's unit. */
DTC_GPU_FN void dtc_gpu_list_holder(const struct dtc_gpu_entries *entries, uint32_t thread)
{
	uint32_t begin = thread * DTC_GPU_PIECE;

	entries->holders[thread] = (uint16_t)dtc_gpu_search_entries(entries, begin);
}

/* ---- tiles -------------------------------------------------------------------------------- */

/* Bytes [begin, end) of the stream, which are found from @origin on; none where there are no more tiles. */
struct dtc_gpu_indexed_tile {
	const struct dtc_gpu_indexed_params *p;
	struct dtc_gpu_entries entries;
	struct dtc_gpu_start start;
	uint64_t offset; /* in the table */
	uint64_t origin;
	uint64_t begin;
	uint64_t end;
	uint64_t address; /* of displacement 0, unless the table is kept whole */
};

DTC_GPU_FN void dtc_gpu_cut_tile(const struct dtc_gpu_nest *nest, uint64_t bytes,
				 struct dtc_gpu_indexed_tile *tile)
{
	uint64_t end = tile->origin + bytes;

	tile->begin = tile->origin > nest->begin ? tile->origin : nest->begin;
	tile->end = end < nest->end ? end : nest->end;
}

/* Which tile a thread is for. */
DTC_GPU_FN uint64_t dtc_gpu_tile_number(const struct dtc_gpu_indexed_params *p, uint32_t word,
					struct dtc_gpu_at at)
{
	if (word == 1 || p->by_run)
		return p->first_tile + at.block;
	return p->first_tile + (uint64_t)at.block * DTC_GPU_INDEXED_TILES(word) +
	       at.thread / DTC_GPU_LANES;
}

DTC_GPU_FN void dtc_gpu_open_tile(const struct dtc_gpu_indexed_params *p, uint32_t word,
				  void *shared, struct dtc_gpu_at at,
				  struct dtc_gpu_indexed_tile *tile)
{
	uint64_t number = dtc_gpu_tile_number(p, word, at);
	uint64_t bytes = p->tile_bytes;

	tile->p = p;
	if (!p->by_run)
		tile->entries = dtc_gpu_entries_in(p, word, shared, at.thread);
	tile->offset = 0;
	if (p->whole) {
		tile->origin = number * p->tile_bytes;
		dtc_gpu_split(&p->nest, tile->origin / p->nest.word, DTC_GPU_PLAIN,
			      &tile->start);
		tile->address = 0;
	} else if (p->nest.dim_count == 1) {
		tile->offset = number * p->tile_bytes;
		tile->origin = tile->offset;
		tile->address = p->nest.user;
		if (bytes > p->table_bytes - tile->offset)
			bytes = p->table_bytes - tile->offset;
	} else {
		uint64_t repetition = dtc_gpu_quotient(number, p->tiles);

		tile->offset = (number - repetition * p->tiles) * p->tile_bytes;
		tile->origin = repetition * p->table_bytes + tile->offset;
		dtc_gpu_split(&p->nest, repetition, DTC_GPU_PLAIN, &tile->start);
		tile->address = dtc_gpu_locate(&p->nest, &tile->start, 0, DTC_GPU_PLAIN).address;
		if (bytes > p->table_bytes - tile->offset)
			bytes = p->table_bytes - tile->offset;
	}
	dtc_gpu_cut_tile(&p->nest, bytes, tile);
}

/*
 * The rest of the runs that hold the @count bytes, a constant, that are @ahead of the tile's origin and
 * the first ones of words. If @whole, whether the table is kept whole, is a constant, too, registers are for one
 * way only.
 */
DTC_GPU_FN void dtc_gpu_indexed_spans(const struct dtc_gpu_indexed_tile *tile, uint32_t word,
				      int whole, uint32_t count, const uint32_t ahead[],
				      struct dtc_gpu_span span[])
{
	const struct dtc_gpu_indexed_params *p = tile->p;
	const struct dtc_gpu_entries *entries = &tile->entries;
	struct dtc_gpu_place place[8];
	uint32_t offset[8] = { 0 };

	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < count; k++) {
		place[k].address = 0;
		offset[k] = ahead[k];
	}
	if (whole) {
		DTC_GPU_UNROLL
		for (uint32_t k = 0; k < count; k++)
			offset[k] = ahead[k] / word;
		dtc_gpu_locate_all(&p->nest, &tile->start, DTC_GPU_PLAIN, count, offset, place);
		DTC_GPU_UNROLL
		for (uint32_t k = 0; k < count; k++)
			offset[k] = place[k].index * word;
	}
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < count; k++) {
		uint32_t near;

		/* A word is in one entry; a piece may begin in one and go on in others. */
		if (word > 1)
			near = dtc_gpu_window_holder(entries, offset[k] / word);
		else
			near = dtc_gpu_advance(entries,
					       entries->holders[offset[k] / DTC_GPU_PIECE],
					       offset[k]);
		span[k].address = place[k].address + entries->bases[near] + offset[k];
		span[k].bytes = entries->begins[near + 1] - offset[k];
	}
}

#endif
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sides that are not aligned to each other, and runs of any length. Packing, a thread owns aligned
 * 16-byte pieces of the packed side and collects them from the runs that they span. Unpacking, it
 * takes pieces apart; or, where blocks are equal, it owns aligned words of the user's side, so that
 * stores are whole words wherever a block has some.
 */
#ifndef DTC_KERNELS_GPU_PIECES_CU_H
#define DTC_KERNELS_GPU_PIECES_CU_H

/* Where the bytes of a stream are found. */
#define DTC_GPU_BY_NEST   0 /* in a nest of blocks */
#define DTC_GPU_BY_PERIOD 1 /* in a nest of periods */
#define DTC_GPU_BY_ENTRY  2 /* in a table of unlike runs */
#define DTC_GPU_BY_WALK   3

struct dtc_gpu_source {
	int by; /* a constant */
	const struct dtc_gpu_nest *nest;
	struct dtc_gpu_levels levels;
	struct dtc_gpu_start start;
	const uint16_t *ends; /* DTC_GPU_BY_PERIOD: where the run of each byte ends in the period */
	const struct dtc_gpu_indexed_tile *indexed; /* DTC_GPU_BY_ENTRY */
	const struct dtc_gpu_walk *walk;            /* DTC_GPU_BY_WALK */
	uint64_t origin; /* where the tile begins: in the stream for a walk, in @indexed */
};

/* A tile begins at @position. */
DTC_GPU_FN void dtc_gpu_begin_source(struct dtc_gpu_source *source, uint64_t position)
{
	source->origin = source->by == DTC_GPU_BY_WALK ? position : 0;
	if (source->by != DTC_GPU_BY_WALK)
		dtc_gpu_split(source->nest, position, source->levels.form, &source->start);
}

/* The rest of the run that holds the byte at @place of a nest. */
DTC_GPU_FN struct dtc_gpu_span dtc_gpu_span_at(const struct dtc_gpu_source *source,
					       const struct dtc_gpu_place *place)
{
	struct dtc_gpu_span span = { dtc_gpu_unit_address(&source->levels, place, 1), 0 };

	if (source->by == DTC_GPU_BY_PERIOD)
		span.bytes = source->ends[place->index] - place->index;
	else
		span.bytes = source->nest->block - place->index;
	return span;
}

/* The rest of the runs that hold the @count bytes, a constant, that are @ahead of the tile's first. */
DTC_GPU_FN void dtc_gpu_find_all(const struct dtc_gpu_source *source, uint32_t count,
				 const uint32_t ahead[], struct dtc_gpu_span span[])
{
	struct dtc_gpu_place place[DTC_GPU_PIECES];
	uint32_t offset[DTC_GPU_PIECES];

	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < count; k++)
		offset[k] = (uint32_t)source->origin + ahead[k];
	if (source->by == DTC_GPU_BY_ENTRY) {
		if (source->indexed->p->whole)
			dtc_gpu_indexed_spans(source->indexed, 1, 1, count, offset, span);
		else
			dtc_gpu_indexed_spans(source->indexed, 1, 0, count, offset, span);
		return;
	}
	if (source->by == DTC_GPU_BY_WALK) {
		DTC_GPU_UNROLL
		for (uint32_t k = 0; k < count; k++)
			span[k] = dtc_gpu_walk_to(source->walk, source->origin + ahead[k]);
		return;
	}
	dtc_gpu_locate_all(source->nest, &source->start, source->levels.form, count, ahead,
			   place);
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < count; k++)
		span[k] = dtc_gpu_span_at(source, &place[k]);
}

DTC_GPU_FN struct dtc_gpu_span dtc_gpu_find(const struct dtc_gpu_source *source, uint32_t ahead)
{
	struct dtc_gpu_span span;

	dtc_gpu_find_all(source, 1, &ahead, &span);
	return span;
}

/* A piece of the packed side, as far as it is to be moved. */
struct dtc_gpu_piece {
	uint64_t packed; /* address */
	uint32_t ahead;  /* of the tile's begin */
	uint32_t bytes;
};

/* The packed stream of a job: byte 0 would be at @packed, bytes [begin, end) are moved. */
struct dtc_gpu_stretch {
	uint64_t packed;
	uint64_t begin;
	uint64_t end;
};

/* A tile of pieces: where the first one is, and what of it is to be moved. */
struct dtc_gpu_tile {
	uint64_t address;
	uint64_t position; /* of the first byte to be moved */
	uint32_t skipped;  /* bytes of the first piece before that */
	uint32_t bytes;    /* to be moved, from the position on */
};

DTC_GPU_FN struct dtc_gpu_tile dtc_gpu_tile_at(const struct dtc_gpu_stretch *stretch,
					       uint32_t number)
{
	const uint32_t tile_bytes = DTC_GPU_TILE_PIECES * DTC_GPU_PIECE;
	uint64_t first = stretch->packed + stretch->begin;
	uint32_t skipped = (uint32_t)first & (DTC_GPU_PIECE - 1);
	struct dtc_gpu_tile tile;

	tile.address = first - skipped + (uint64_t)number * tile_bytes;
	tile.skipped = number ? 0 : skipped;
	tile.position = tile.address + tile.skipped - stretch->packed;
	uint64_t left = tile.position < stretch->end ? stretch->end - tile.position : 0;
	tile.bytes = left < tile_bytes - tile.skipped ? (uint32_t)left
						       : tile_bytes - tile.skipped;
	return tile;
}

DTC_GPU_FN struct dtc_gpu_piece dtc_gpu_piece_at(const struct dtc_gpu_tile *tile, uint32_t number)
{
	uint32_t from = number * DTC_GPU_PIECE;
	uint32_t low = from > tile->skipped ? from : tile->skipped;
	uint32_t high = tile->skipped + tile->bytes;
	struct dtc_gpu_piece piece;

	if (high > from + DTC_GPU_PIECE)
		high = from + DTC_GPU_PIECE;
	piece.packed = tile->address + low;
	piece.ahead = low - tile->skipped;
	piece.bytes = high > low ? high - low : 0;
	return piece;
}

DTC_GPU_FN uint32_t dtc_gpu_lesser(uint64_t a, uint32_t b)
{
	return a < b ? (uint32_t)a : b;
}

/*
 * Begin to load the run that comes after @done bytes of every piece; pieces that are complete have
 * none.
 */
DTC_GPU_FN void dtc_gpu_fetch_runs(const struct dtc_gpu_source *source,
				   const struct dtc_gpu_piece piece[], const uint32_t done[],
				   struct dtc_gpu_fetched fetched[])
{
	struct dtc_gpu_span span[DTC_GPU_PIECES];
	uint32_t ahead[DTC_GPU_PIECES];

	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_PIECES; k++)
		ahead[k] = done[k] < piece[k].bytes ? piece[k].ahead + done[k] : 0;
	dtc_gpu_find_all(source, DTC_GPU_PIECES, ahead, span);
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_PIECES; k++)
		dtc_gpu_fetch(span[k].address,
			      dtc_gpu_lesser(span[k].bytes, piece[k].bytes - done[k]),
			      &fetched[k]);
}

/* Collect what follows the first @done bytes of a piece, and store it. */
DTC_GPU_FN void dtc_gpu_pack_rest(const struct dtc_gpu_source *source,
				  const struct dtc_gpu_piece *piece,
				  struct dtc_gpu_bytes16 value, uint32_t done)
{
	while (done < piece->bytes) {
		struct dtc_gpu_span span = dtc_gpu_find(source, piece->ahead + done);
		uint32_t bytes = dtc_gpu_lesser(span.bytes, piece->bytes - done);
		struct dtc_gpu_bytes16 more = dtc_gpu_gather(span.address, bytes);

		more = dtc_gpu_shift_up(&more, done);
		dtc_gpu_merge(&value, &more);
		done += bytes;
	}
	dtc_gpu_scatter(piece->packed, value, piece->bytes);
}

DTC_GPU_FN void dtc_gpu_pack_runs(const struct dtc_gpu_source *source,
				  const struct dtc_gpu_piece *piece)
{
	struct dtc_gpu_bytes16 none = { { 0, 0, 0, 0 } };

	dtc_gpu_pack_rest(source, piece, none, 0);
}

/* Most pieces lie in two runs at most: these are loaded for all pieces before any is stored. */
DTC_GPU_FN void dtc_gpu_pack_pieces(const struct dtc_gpu_source *source,
				    const struct dtc_gpu_piece piece[])
{
	struct dtc_gpu_fetched first[DTC_GPU_PIECES], second[DTC_GPU_PIECES];
	uint32_t done[DTC_GPU_PIECES];

	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_PIECES; k++)
		done[k] = 0;
	dtc_gpu_fetch_runs(source, piece, done, first);
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_PIECES; k++)
		done[k] = first[k].bytes;
	dtc_gpu_fetch_runs(source, piece, done, second);
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_PIECES; k++) {
		struct dtc_gpu_bytes16 value = dtc_gpu_fetched_value(&first[k]);

		if (second[k].bytes) {
			struct dtc_gpu_bytes16 more = dtc_gpu_fetched_value(&second[k]);

			more = dtc_gpu_shift_up(&more, done[k]);
			dtc_gpu_merge(&value, &more);
		}
		dtc_gpu_pack_rest(source, &piece[k], value, done[k] + second[k].bytes);
	}
}

DTC_GPU_FN void dtc_gpu_unpack_piece(const struct dtc_gpu_source *source,
				     const struct dtc_gpu_piece *piece,
				     struct dtc_gpu_bytes16 value)
{
	struct dtc_gpu_bytes16 zero = { { 0, 0, 0, 0 } };

	for (uint32_t done = 0; done < piece->bytes;) {
		struct dtc_gpu_span span = dtc_gpu_find(source, piece->ahead + done);
		uint32_t bytes = dtc_gpu_lesser(span.bytes, piece->bytes - done);

		dtc_gpu_scatter(span.address, value, bytes);
		done += bytes;
		if (done < piece->bytes)
			value = dtc_gpu_shift_down(&value, &zero, bytes);
	}
}

DTC_GPU_FN void dtc_gpu_unpack_pieces(const struct dtc_gpu_source *source,
				      const struct dtc_gpu_piece piece[])
{
	struct dtc_gpu_fetched fetched[DTC_GPU_PIECES];

	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_PIECES; k++)
		dtc_gpu_fetch(piece[k].packed, piece[k].bytes, &fetched[k]);
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_PIECES; k++)
		dtc_gpu_unpack_piece(source, &piece[k], dtc_gpu_fetched_value(&fetched[k]));
}

/* One tile; the source is begun at its position. */
DTC_GPU_FN void dtc_gpu_move_pieces(const struct dtc_gpu_source *source,
				    const struct dtc_gpu_tile *tile, uint32_t thread,
				    int direction)
{
	struct dtc_gpu_piece piece[DTC_GPU_PIECES];

	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_PIECES; k++)
		piece[k] = dtc_gpu_piece_at(tile, thread + k * DTC_GPU_BLOCK);
	if (direction == DTC_GPU_PACK)
		dtc_gpu_pack_pieces(source, piece);
	else
		dtc_gpu_unpack_pieces(source, piece);
}

/* ---- words of the user's side, for unpacking -------------------------------------------------- */

/* A block's bytes that are to be moved, and where its first byte would be packed. */
struct dtc_gpu_extent {
	uint64_t low;
	uint64_t high;
	uint64_t packed; /* a byte is packed at this and its address */
};

/* Of the block at @address, which is number @block. */
DTC_GPU_FN struct dtc_gpu_extent dtc_gpu_extent_of(const struct dtc_gpu_nest *nest,
						   uint64_t address, uint64_t block)
{
	uint64_t position = block * nest->block;
	uint64_t cut = nest->begin > position ? nest->begin - position : 0;
	uint64_t end = nest->end - position < nest->block ? nest->end - position : nest->block;
	struct dtc_gpu_extent extent = { address + cut, address + end,
					 nest->packed + position - address };

	return extent;
}

/* A tile of words of the user's side; level 0 of the nest counts the words that a block may touch. */
struct dtc_gpu_owned {
	const struct dtc_gpu_nest *nest;
	struct dtc_gpu_start start;
	uint32_t words;   /* of a block */
	uint32_t skipped; /* of the first block, those in the tile before */
	uint32_t count;   /* in the tile */
};

DTC_GPU_FN void dtc_gpu_own_tile(const struct dtc_gpu_nest *nest, uint32_t tile,
				 struct dtc_gpu_owned *owned)
{
	uint64_t words = nest->dims[0].count;
	uint64_t unit = dtc_gpu_quotient(nest->begin, nest->block) * words +
			(uint64_t)tile * DTC_GPU_TILE_PIECES;
	uint64_t last = (dtc_gpu_quotient(nest->end - 1, nest->block) + 1) * words;
	uint64_t left = last > unit ? last - unit : 0;

	owned->nest = nest;
	owned->words = (uint32_t)words;
	owned->skipped = (uint32_t)(unit - dtc_gpu_quotient(unit, words) * words);
	owned->count = left < DTC_GPU_TILE_PIECES ? (uint32_t)left : DTC_GPU_TILE_PIECES;
	dtc_gpu_split(nest, unit, DTC_GPU_PLAIN, &owned->start);
}

/* The block of the word that is @ahead of the tile's first; @index is the word's. */
DTC_GPU_FN struct dtc_gpu_extent dtc_gpu_owned_block(const struct dtc_gpu_owned *owned,
						     uint32_t ahead, uint32_t *index,
						     uint64_t *address)
{
	struct dtc_gpu_place place =
		dtc_gpu_locate(owned->nest, &owned->start, ahead, DTC_GPU_PLAIN);

	*index = place.index;
	*address = place.address;
	return dtc_gpu_extent_of(owned->nest, place.address,
				 owned->start.carried + place.carried);
}

/* Shorter blocks have more rim than whole words, which is then stored word by word, too. */
#define DTC_GPU_RIM_BLOCK 64u

/* What of a word is the block's; long blocks: the whole word or nothing. */
DTC_GPU_FN uint32_t dtc_gpu_owned_bytes(const struct dtc_gpu_extent *extent,
					uint64_t block, uint64_t *word)
{
	uint64_t low = *word > extent->low ? *word : extent->low;
	uint64_t high = *word + 16 < extent->high ? *word + 16 : extent->high;
	uint32_t bytes = high > low ? (uint32_t)(high - low) : 0;

	*word = low;
	return bytes == 16 || block < DTC_GPU_RIM_BLOCK ? bytes : 0;
}

DTC_GPU_FN void dtc_gpu_unpack_words(const struct dtc_gpu_owned *owned, uint32_t thread)
{
	struct dtc_gpu_fetched fetched[DTC_GPU_PIECES];
	uint64_t word[DTC_GPU_PIECES];

	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_PIECES; k++) {
		uint32_t ahead = thread + k * DTC_GPU_BLOCK;

		fetched[k].bytes = 0;
		if (ahead < owned->count) {
			uint32_t index;
			uint64_t address;
			struct dtc_gpu_extent extent =
				dtc_gpu_owned_block(owned, ahead, &index, &address);

			word[k] = (address & ~(uint64_t)15) + (uint64_t)index * 16;
			if (owned->nest->expects && word[k] < extent.high &&
			    word[k] + 16 > extent.low)
				dtc_gpu_expect(word[k] > extent.low ? word[k] : extent.low,
					       extent.low, extent.high);
			uint32_t bytes = dtc_gpu_owned_bytes(&extent, owned->nest->block,
							     &word[k]);
			dtc_gpu_fetch(extent.packed + word[k], bytes, &fetched[k]);
		}
	}
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_PIECES; k++)
		if (fetched[k].bytes)
			dtc_gpu_scatter(word[k],
					dtc_gpu_shift_down(&fetched[k].low,
							   &fetched[k].high,
							   fetched[k].offset),
					fetched[k].bytes);
}

/* Byte @number of those before and behind a block's whole words: 16 and 16, of which not all are there. */
DTC_GPU_FN void dtc_gpu_unpack_rim(const struct dtc_gpu_extent *extent, uint32_t number)
{
	uint64_t up = (extent->low + 15) & ~(uint64_t)15;
	uint64_t down = extent->high & ~(uint64_t)15;
	uint64_t head_end = up < extent->high ? up : extent->high;
	uint64_t tail = down > head_end ? down : head_end;
	uint64_t byte = number < 16 ? extent->low + number : tail + number - 16;

	if (byte < (number < 16 ? head_end : extent->high))
		dtc_gpu_store1(byte, dtc_gpu_load1(extent->packed + byte));
}

/*
 * One tile of user words. A warp stores the bytes of a long block that fill no word, a thread each, so
 * that they reach the memory as one part of a word and not as up to four.
 */
DTC_GPU_FN void dtc_gpu_unpack_owned(const struct dtc_gpu_nest *nest, uint32_t tile,
				     uint32_t thread)
{
	struct dtc_gpu_owned owned;

	dtc_gpu_own_tile(nest, tile, &owned);
	dtc_gpu_unpack_words(&owned, thread);
	if (nest->block < DTC_GPU_RIM_BLOCK)
		return;
	uint32_t first = owned.skipped ? owned.words - owned.skipped : 0;
	DTC_GPU_NO_UNROLL
	for (uint32_t ahead = first + thread / DTC_GPU_LANES * owned.words;
	     ahead < owned.count; ahead += DTC_GPU_BLOCK / DTC_GPU_LANES * owned.words) {
		uint32_t index;
		uint64_t address;
		struct dtc_gpu_extent extent =
			dtc_gpu_owned_block(&owned, ahead, &index, &address);

		dtc_gpu_unpack_rim(&extent, thread % DTC_GPU_LANES);
	}
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Class strided: equal blocks in up to five loops, contiguous memory among them.
 */
#ifndef DTC_KERNELS_GPU_STRIDED_CU_H
#define DTC_KERNELS_GPU_STRIDED_CU_H

DTC_GPU_FN void dtc_gpu_plain_levels(struct dtc_gpu_levels *levels)
{
	levels->form = DTC_GPU_PLAIN;
	levels->map = 0;
	levels->disps = 0;
	levels->wide = 0;
	levels->shift = 0;
}

/* A tile of a nest whose sides are not aligned to each other. */
DTC_GPU_FN void dtc_gpu_move_nest_ragged(const struct dtc_gpu_nest *nest, uint32_t number,
					 uint32_t thread, int direction)
{
	struct dtc_gpu_source source;
	struct dtc_gpu_stretch stretch;

	if (direction == DTC_GPU_UNPACK) {
		dtc_gpu_unpack_owned(nest, number, thread);
		return;
	}
	stretch.packed = nest->packed;
	stretch.begin = nest->begin;
	stretch.end = nest->end;
	struct dtc_gpu_tile tile = dtc_gpu_tile_at(&stretch, number);
	source.by = DTC_GPU_BY_NEST;
	source.nest = nest;
	dtc_gpu_plain_levels(&source.levels);
	dtc_gpu_begin_source(&source, tile.position);
	dtc_gpu_move_pieces(&source, &tile, thread, direction);
}

DTC_GPU_FN void dtc_gpu_move_nest(const struct dtc_gpu_nest *nest, uint32_t word,
				  uint32_t number, uint32_t thread, int direction)
{
	struct dtc_gpu_levels levels;

	dtc_gpu_plain_levels(&levels);
	if (word > 1)
		dtc_gpu_move_words(nest, &levels, word, number, thread, direction);
	else
		dtc_gpu_move_nest_ragged(nest, number, thread, direction);
}

#define DTC_GPU_STRIDED(name, word, direction)                                         \
	DTC_GPU_FN void name(const struct dtc_gpu_strided_params *p, void *shared,     \
			     struct dtc_gpu_at at)                                     \
	{                                                                              \
		(void)shared;                                                          \
		dtc_gpu_move_nest(&p->nest, word, at.block, at.thread, direction);     \
	}

DTC_GPU_STRIDED(dtc_gpu_strided_pack_16_phase, 16, DTC_GPU_PACK)
DTC_GPU_STRIDED(dtc_gpu_strided_pack_8_phase, 8, DTC_GPU_PACK)
DTC_GPU_STRIDED(dtc_gpu_strided_pack_4_phase, 4, DTC_GPU_PACK)
DTC_GPU_STRIDED(dtc_gpu_strided_pack_1_phase, 1, DTC_GPU_PACK)
DTC_GPU_STRIDED(dtc_gpu_strided_unpack_16_phase, 16, DTC_GPU_UNPACK)
DTC_GPU_STRIDED(dtc_gpu_strided_unpack_8_phase, 8, DTC_GPU_UNPACK)
DTC_GPU_STRIDED(dtc_gpu_strided_unpack_4_phase, 4, DTC_GPU_UNPACK)
DTC_GPU_STRIDED(dtc_gpu_strided_unpack_1_phase, 1, DTC_GPU_UNPACK)

#endif
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The plain case of class strided, in as little code as possible: aligned blocks in at most two
 * loops, whole words at both ends, unit numbers of 32 bits. A launch fetches its code from the
 * L2 cache, so a long kernel adds fetch time to every job.
 */
#ifndef DTC_KERNELS_GPU_ROWS_CU_H
#define DTC_KERNELS_GPU_ROWS_CU_H

/* Where a unit's block begins, and its number in the block. */
struct dtc_gpu_row_unit {
	uint64_t block;
	uint32_t index;
};

/* The outermost level is not divided by: its count is not a part of the shape. */
DTC_GPU_FN struct dtc_gpu_row_unit dtc_gpu_find_row_unit(const struct dtc_gpu_nest *nest,
							 uint32_t unit)
{
	struct dtc_gpu_row_unit at_row = { nest->user, unit };

	if (nest->dim_count > 1) {
		uint32_t row = dtc_gpu_divide(unit, nest->dims[0].magic, nest->shift[0]);

		at_row.index -= row * nest->dims[0].count;
		if (nest->dim_count > 2) {
			uint32_t plane =
				dtc_gpu_divide(row, nest->dims[1].magic, nest->shift[1]);

			row -= plane * nest->dims[1].count;
			at_row.block += (uint64_t)((int64_t)plane * nest->dims[2].stride);
		}
		at_row.block += (uint64_t)((int64_t)row * nest->dims[1].stride);
	}
	return at_row;
}

/* So many units a thread, a constant: all are found and loaded before any is stored. */
DTC_GPU_FN void dtc_gpu_move_row_units(const struct dtc_gpu_nest *nest, uint32_t word,
				       uint32_t words, struct dtc_gpu_at at,
				       int direction)
{
	uint32_t end = (uint32_t)(nest->end / word);
	uint32_t unit = (uint32_t)(nest->begin / word) +
			at.block * (words * DTC_GPU_BLOCK) + at.thread;
	uint32_t left = end > unit ? end - unit : 0;
	struct dtc_gpu_row_unit at_row[8];
	uint64_t user[8];

	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < words; k++) {
		at_row[k] = dtc_gpu_find_row_unit(nest, unit + k * DTC_GPU_BLOCK);
		user[k] = at_row[k].block + (uint64_t)(at_row[k].index * word);
	}
	if (direction == DTC_GPU_UNPACK && word > 2 && nest->expects) {
		DTC_GPU_UNROLL
		for (uint32_t k = 0; k < words; k++)
			if (k * DTC_GPU_BLOCK < left)
				dtc_gpu_expect(user[k], at_row[k].block,
					       at_row[k].block + nest->block);
	}
	dtc_gpu_transfer(user, nest->packed + (uint64_t)unit * word, word, words, left,
			 direction);
}

DTC_GPU_FN void dtc_gpu_move_rows(const struct dtc_gpu_rows_params *p, uint32_t word,
				  struct dtc_gpu_at at, int direction)
{
	const uint32_t words = DTC_GPU_ROWS_WORDS(word), few = DTC_GPU_ROWS_FEW(word);

	if (few == words || p->words == words)
		dtc_gpu_move_row_units(&p->nest, word, words, at, direction);
	else
		dtc_gpu_move_row_units(&p->nest, word, few, at, direction);
}

#define DTC_GPU_ROWS(name, word, direction)                                     \
	DTC_GPU_FN void name(const struct dtc_gpu_rows_params *p, void *shared, \
			     struct dtc_gpu_at at)                              \
	{                                                                       \
		(void)shared;                                                   \
		dtc_gpu_move_rows(p, word, at, direction);                      \
	}

DTC_GPU_ROWS(dtc_gpu_rows_pack_16_phase, 16, DTC_GPU_PACK)
DTC_GPU_ROWS(dtc_gpu_rows_pack_8_phase, 8, DTC_GPU_PACK)
DTC_GPU_ROWS(dtc_gpu_rows_pack_4_phase, 4, DTC_GPU_PACK)
DTC_GPU_ROWS(dtc_gpu_rows_unpack_16_phase, 16, DTC_GPU_UNPACK)
DTC_GPU_ROWS(dtc_gpu_rows_unpack_8_phase, 8, DTC_GPU_UNPACK)
DTC_GPU_ROWS(dtc_gpu_rows_unpack_4_phase, 4, DTC_GPU_UNPACK)
DTC_GPU_ROWS(dtc_gpu_rows_unpack_2_phase, 2, DTC_GPU_UNPACK)
DTC_GPU_ROWS(dtc_gpu_rows_unpack_1_phase, 1, DTC_GPU_UNPACK)

#endif
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Class mapped: the place of each word of a period is read from a map, in packed order or, to unpack, in the
 * order of the user's addresses. Little code and few registers, as in rows.cu.h.
 */
#ifndef DTC_KERNELS_GPU_MAPPED_CU_H
#define DTC_KERNELS_GPU_MAPPED_CU_H

/* A thread's first word, by the period that its block begins in; what follows takes 32 bits. */
struct dtc_gpu_mapped_start {
	uint64_t first; /* position of that period's first word */
	uint64_t user;  /* address of its displacement 0 */
	uint32_t ahead; /* of @first */
};

DTC_GPU_FN struct dtc_gpu_mapped_start dtc_gpu_start_mapped(
	const struct dtc_gpu_mapped_params *p, uint64_t position, uint32_t thread)
{
	uint64_t period = dtc_gpu_divide64(position, p->by_count.magic, p->by_count.shift,
					   p->by_count.one);
	struct dtc_gpu_mapped_start start;

	start.first = period * p->count;
	start.user = p->user + period * (uint64_t)p->stride;
	start.ahead = (uint32_t)(position - start.first) + thread;
	return start;
}

/* How many words there are from @position on, as far as a block can go. */
DTC_GPU_FN uint32_t dtc_gpu_mapped_left(uint64_t position, uint64_t end)
{
	uint64_t left = end > position ? end - position : 0;

	return left > 0xffffffffu ? 0xffffffffu : (uint32_t)left;
}

/* Stores to the sectors of these words are about to follow. */
DTC_GPU_FN void dtc_gpu_expect_mapped(const uint64_t user[], uint32_t words, uint32_t left)
{
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < words; k++)
		if (k * DTC_GPU_BLOCK < left)
			dtc_gpu_ask_for(user[k]);
}

/* So many words a thread, a constant, in packed order. All are found and loaded before any is stored. */
DTC_GPU_FN void dtc_gpu_move_mapped_words(const struct dtc_gpu_mapped_params *p, uint32_t word,
					  uint32_t words, struct dtc_gpu_at at, int direction)
{
	uint64_t position = p->begin + (uint64_t)at.block * (words * DTC_GPU_BLOCK);
	struct dtc_gpu_mapped_start start = dtc_gpu_start_mapped(p, position, at.thread);
	uint32_t left = dtc_gpu_mapped_left(position + at.thread, p->end);
	uint32_t period[8], disp[8];
	uint64_t user[8];

	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < words; k++) {
		uint32_t ahead = start.ahead + k * DTC_GPU_BLOCK;

		period[k] = dtc_gpu_divide(ahead, p->magic, p->shift);
		disp[k] = dtc_gpu_load4(p->map + 4 * (uint64_t)(ahead - period[k] * p->count));
	}
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < words; k++)
		user[k] = start.user + (uint64_t)((int64_t)period[k] * p->stride +
						  (int64_t)(int32_t)disp[k] * (int32_t)word);
	if (direction == DTC_GPU_UNPACK && p->expects)
		dtc_gpu_expect_mapped(user, words, left);
	dtc_gpu_transfer(user, p->packed + (position + at.thread) * word, word, words, left,
			 direction);
}

/*
 * Unpacking in the order of addresses. Where the stretch begins or ends inside a period, the words of
 * that which are outside are passed over.
 */
DTC_GPU_FN void dtc_gpu_move_sorted_words(const struct dtc_gpu_mapped_params *p, uint32_t word,
					  uint32_t words, struct dtc_gpu_at at)
{
	uint64_t position = (uint64_t)at.block * (words * DTC_GPU_BLOCK);
	struct dtc_gpu_mapped_start start = dtc_gpu_start_mapped(p, position, at.thread);
	uint32_t left = dtc_gpu_mapped_left(position + at.thread, p->positions);
	struct dtc_gpu_bytes16 value[4];
	uint64_t user[4], packed[4];
	uint32_t live[4];

	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < words; k++) {
		uint32_t ahead = start.ahead + k * DTC_GPU_BLOCK;
		uint32_t period = dtc_gpu_divide(ahead, p->magic, p->shift);
		uint32_t before = period * p->count;
		uint64_t unit = dtc_gpu_load8(p->map + 8 * (uint64_t)(ahead - before));

		user[k] = start.user + (uint64_t)((int64_t)period * p->stride +
						  (int64_t)(int32_t)(uint32_t)unit *
							  (int32_t)word);
		packed[k] = start.first + (before + (uint32_t)(unit >> 32));
		live[k] = k * DTC_GPU_BLOCK < left && packed[k] >= p->begin &&
			  packed[k] < p->end;
	}
	if (p->expects) {
		DTC_GPU_UNROLL
		for (uint32_t k = 0; k < words; k++)
			if (live[k])
				dtc_gpu_ask_for(user[k]);
	}
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < words; k++)
		if (live[k])
			dtc_gpu_load_word(p->packed + packed[k] * word, word, &value[k]);
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < words; k++)
		if (live[k])
			dtc_gpu_store_word(user[k], word, &value[k]);
}

#define DTC_GPU_MAPPED_KERNEL(name, word, many, direction)                               \
	DTC_GPU_FN void name(const struct dtc_gpu_mapped_params *p, void *shared, \
			     struct dtc_gpu_at at)                                \
	{                                                                         \
		(void)shared;                                                     \
		if (p->words == 1)                                                \
			dtc_gpu_move_mapped_words(p, word, 1, at, direction);     \
		else                                                              \
			dtc_gpu_move_mapped_words(p, word, many, at, direction);  \
	}

DTC_GPU_MAPPED_KERNEL(dtc_gpu_mapped_pack_16_phase, 16, DTC_GPU_MAPPED_PACKED(16), DTC_GPU_PACK)
DTC_GPU_MAPPED_KERNEL(dtc_gpu_mapped_pack_8_phase, 8, DTC_GPU_MAPPED_PACKED(8), DTC_GPU_PACK)
DTC_GPU_MAPPED_KERNEL(dtc_gpu_mapped_pack_4_phase, 4, DTC_GPU_MAPPED_PACKED(4), DTC_GPU_PACK)
DTC_GPU_MAPPED_KERNEL(dtc_gpu_mapped_unpack_16_phase, 16, DTC_GPU_MAPPED_UNPACKED(16), DTC_GPU_UNPACK)
DTC_GPU_MAPPED_KERNEL(dtc_gpu_mapped_unpack_8_phase, 8, DTC_GPU_MAPPED_UNPACKED(8), DTC_GPU_UNPACK)
DTC_GPU_MAPPED_KERNEL(dtc_gpu_mapped_unpack_4_phase, 4, DTC_GPU_MAPPED_UNPACKED(4), DTC_GPU_UNPACK)

#define DTC_GPU_SORTED_KERNEL(name, word)                                                    \
	DTC_GPU_FN void name(const struct dtc_gpu_mapped_params *p, void *shared,     \
			     struct dtc_gpu_at at)                                    \
	{                                                                             \
		(void)shared;                                                         \
		if (p->words == 1)                                                    \
			dtc_gpu_move_sorted_words(p, word, 1, at);                    \
		else                                                                  \
			dtc_gpu_move_sorted_words(p, word, DTC_GPU_MAPPED_SORTED(word), at); \
	}

DTC_GPU_SORTED_KERNEL(dtc_gpu_sorted_unpack_16_phase, 16)
DTC_GPU_SORTED_KERNEL(dtc_gpu_sorted_unpack_8_phase, 8)
DTC_GPU_SORTED_KERNEL(dtc_gpu_sorted_unpack_4_phase, 4)

#endif
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Class copy: from one layout to another. Both sides have the same packed stream, and a thread owns
 * words of it: it finds where each word is read and where it is stored. Nothing is packed.
 */
#ifndef DTC_KERNELS_GPU_LAYOUT_COPY_CU_H
#define DTC_KERNELS_GPU_LAYOUT_COPY_CU_H

/* The words of a thread on one side. */
struct dtc_gpu_copy_words {
	uint64_t address[4];
	uint32_t index[4]; /* in level 0 */
};

/* A word's displacement in units of words, where level 0 is mapped. */
DTC_GPU_FN uint64_t dtc_gpu_mapped_word(const struct dtc_gpu_copy_side *side, uint32_t index,
					uint32_t word)
{
	int32_t units = (int32_t)dtc_gpu_load4(side->disps + 4 * (uint64_t)index);

	return (uint64_t)((int64_t)units * (int64_t)word);
}

/* From the addresses of blocks to those of words, of which @left exist. */
DTC_GPU_FN void dtc_gpu_enter_blocks(const struct dtc_gpu_copy_side *side, uint32_t word,
				     uint32_t words, uint64_t left,
				     struct dtc_gpu_copy_words *at)
{
	if (side->form == DTC_GPU_MAPPED) {
		DTC_GPU_UNROLL
		for (uint32_t k = 0; k < words; k++)
			if (k * DTC_GPU_BLOCK < left)
				at->address[k] += dtc_gpu_mapped_word(side, at->index[k], word);
	} else {
		DTC_GPU_UNROLL
		for (uint32_t k = 0; k < words; k++)
			at->address[k] += (uint64_t)at->index[k] * word;
	}
}

/* At most two loops, and unit numbers of 32 bits. */
DTC_GPU_FN void dtc_gpu_find_copy_rows(const struct dtc_gpu_copy_side *side, uint32_t word,
				       uint32_t words, uint32_t unit, uint32_t left,
				       struct dtc_gpu_copy_words *at)
{
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < words; k++) {
		struct dtc_gpu_row_unit row =
			dtc_gpu_find_row_unit(&side->nest, unit + k * DTC_GPU_BLOCK);

		at->address[k] = row.block;
		at->index[k] = row.index;
	}
	dtc_gpu_enter_blocks(side, word, words, left, at);
}

/* Any loops, and tables of equal blocks. */
DTC_GPU_FN void dtc_gpu_find_copy_units(const struct dtc_gpu_copy_side *side, uint32_t word,
					uint32_t words, uint64_t first, uint32_t thread,
					uint64_t left, struct dtc_gpu_copy_words *at)
{
	const int form = side->form == DTC_GPU_LISTED ? DTC_GPU_LISTED : DTC_GPU_PLAIN;
	struct dtc_gpu_start start;
	struct dtc_gpu_place place[4];
	uint32_t ahead[4];

	dtc_gpu_split(&side->nest, first, form, &start);
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < words; k++)
		ahead[k] = thread + (k * DTC_GPU_BLOCK < left ? k * DTC_GPU_BLOCK : 0);
	dtc_gpu_locate_all(&side->nest, &start, form, words, ahead, place);
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < words; k++) {
		at->address[k] = place[k].address;
		at->index[k] = place[k].index;
		if (form == DTC_GPU_LISTED)
			at->address[k] += dtc_gpu_listed_disp(side->disps, side->wide,
							      side->shift, place[k].entry);
	}
	dtc_gpu_enter_blocks(side, word, words, left, at);
}

/* All words are loaded before any is stored. */
DTC_GPU_FN void dtc_gpu_copy_all(const struct dtc_gpu_copy_words *source,
				 const struct dtc_gpu_copy_words *target, uint32_t word,
				 uint32_t words, uint64_t left)
{
	struct dtc_gpu_bytes16 value[4];

	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < words; k++)
		if (k * DTC_GPU_BLOCK < left)
			dtc_gpu_load_word(source->address[k], word, &value[k]);
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < words; k++)
		if (k * DTC_GPU_BLOCK < left)
			dtc_gpu_store_word(target->address[k], word, &value[k]);
}

/* So many words a thread, a constant. */
DTC_GPU_FN void dtc_gpu_copy_some_rows(const struct dtc_gpu_copy_params *p, uint32_t word,
				       uint32_t words, struct dtc_gpu_at at)
{
	uint32_t units = (uint32_t)p->units;
	uint32_t unit = at.block * (words * DTC_GPU_BLOCK) + at.thread;
	uint32_t left = units > unit ? units - unit : 0;
	struct dtc_gpu_copy_words source, target;

	dtc_gpu_find_copy_rows(&p->source, word, words, unit, left, &source);
	dtc_gpu_find_copy_rows(&p->target, word, words, unit, left, &target);
	dtc_gpu_copy_all(&source, &target, word, words, left);
}

DTC_GPU_FN void dtc_gpu_copy_some_units(const struct dtc_gpu_copy_params *p, uint32_t word,
					uint32_t words, struct dtc_gpu_at at)
{
	uint64_t first = (uint64_t)at.block * (words * DTC_GPU_BLOCK);
	uint64_t left = p->units > first + at.thread ? p->units - first - at.thread : 0;
	struct dtc_gpu_copy_words source, target;

	if (!left)
		return;
	dtc_gpu_find_copy_units(&p->source, word, words, first, at.thread, left, &source);
	dtc_gpu_find_copy_units(&p->target, word, words, first, at.thread, left, &target);
	dtc_gpu_copy_all(&source, &target, word, words, left);
}

#define DTC_GPU_COPY(name, move, word)                                                       	DTC_GPU_FN void name(const struct dtc_gpu_copy_params *p, void *shared,              			     struct dtc_gpu_at at)                                           	{                                                                                    		(void)shared;                                                                		if (DTC_GPU_COPY_FEW(word) == DTC_GPU_COPY_WORDS ||                          		    p->words == DTC_GPU_COPY_WORDS)                                          			move(p, word, DTC_GPU_COPY_WORDS, at);                               		else                                                                         			move(p, word, DTC_GPU_COPY_FEW(word), at);                           	}

DTC_GPU_COPY(dtc_gpu_copy_rows_16_phase, dtc_gpu_copy_some_rows, 16)
DTC_GPU_COPY(dtc_gpu_copy_rows_8_phase, dtc_gpu_copy_some_rows, 8)
DTC_GPU_COPY(dtc_gpu_copy_rows_4_phase, dtc_gpu_copy_some_rows, 4)
DTC_GPU_COPY(dtc_gpu_copy_rows_2_phase, dtc_gpu_copy_some_rows, 2)
DTC_GPU_COPY(dtc_gpu_copy_rows_1_phase, dtc_gpu_copy_some_rows, 1)
DTC_GPU_COPY(dtc_gpu_copy_units_16_phase, dtc_gpu_copy_some_units, 16)
DTC_GPU_COPY(dtc_gpu_copy_units_8_phase, dtc_gpu_copy_some_units, 8)
DTC_GPU_COPY(dtc_gpu_copy_units_4_phase, dtc_gpu_copy_some_units, 4)
DTC_GPU_COPY(dtc_gpu_copy_units_2_phase, dtc_gpu_copy_some_units, 2)
DTC_GPU_COPY(dtc_gpu_copy_units_1_phase, dtc_gpu_copy_some_units, 1)

#endif
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Class periodic: a short list of runs, again and again, in loops. A block's threads first
 * store the displacement of each unit of a period in shared memory; after that a period costs
 * no more than a block.
 */
#ifndef DTC_KERNELS_GPU_PERIODIC_CU_H
#define DTC_KERNELS_GPU_PERIODIC_CU_H

/* A kernel for one shape has its runs in constant memory of its own. */
#ifdef DTC_GPU_RUN_LIST
DTC_GPU_CONSTANT struct dtc_gpu_run dtc_gpu_runs[] = DTC_GPU_RUN_LIST;
#define DTC_GPU_RUNS_OF(p) dtc_gpu_runs
#else
#define DTC_GPU_RUNS_OF(p) (p)->runs
#endif

/* The run that holds byte @place of the packed period, or share @place. */
DTC_GPU_FN uint32_t dtc_gpu_run_of(const struct dtc_gpu_periodic_params *p, uint32_t place)
{
	uint32_t low = 0;
	uint32_t n = p->run_count;

	while (n > 1) {
		uint32_t half = n / 2;
		uint32_t first = p->share_word ? DTC_GPU_RUNS_OF(p)[low + half].share
					       : DTC_GPU_RUNS_OF(p)[low + half].packed;

		low += first <= place ? half : 0;
		n -= half;
	}
	return low;
}

DTC_GPU_FN uint32_t dtc_gpu_run_end(const struct dtc_gpu_periodic_params *p, uint32_t run)
{
	return run + 1 < p->run_count ? DTC_GPU_RUNS_OF(p)[run + 1].packed : p->period;
}

/* ---- shares: what of a run is in one aligned word of the user's side ------------------------------ */

struct dtc_gpu_share {
	int32_t disp;
	uint16_t packed;
	uint16_t bytes;
};

DTC_GPU_FN struct dtc_gpu_share dtc_gpu_share_at(const struct dtc_gpu_periodic_params *p,
						 uint32_t number)
{
	uint32_t run = dtc_gpu_run_of(p, number);
	uint32_t length = dtc_gpu_run_end(p, run) - DTC_GPU_RUNS_OF(p)[run].packed;
	uint32_t skipped =
		((uint32_t)p->nest.user + (uint32_t)DTC_GPU_RUNS_OF(p)[run].disp) &
		(p->share_word - 1);
	uint32_t end =
		(number - DTC_GPU_RUNS_OF(p)[run].share + 1) * p->share_word - skipped;
	uint32_t begin = end > p->share_word ? end - p->share_word : 0;
	struct dtc_gpu_share share;

	share.disp = DTC_GPU_RUNS_OF(p)[run].disp + (int32_t)begin;
	share.packed = (uint16_t)(DTC_GPU_RUNS_OF(p)[run].packed + begin);
	share.bytes = (uint16_t)((end < length ? end : length) - begin);
	return share;
}

/* The packed bytes of a share, loaded now and looked at later. */
struct dtc_gpu_shared_load {
	uint64_t user;
	uint64_t low, high; /* aligned words */
	uint32_t offset;    /* of the first byte */
	uint32_t bytes;
};

/* The share at @place, as far as it is in the stretch. */
DTC_GPU_FN void dtc_gpu_fetch_share(const struct dtc_gpu_periodic_params *p,
				    const struct dtc_gpu_share *share, uint64_t period,
				    uint64_t address, struct dtc_gpu_shared_load *load)
{
	uint64_t position = period * p->period + share->packed;
	uint64_t begin = position > p->nest.begin ? position : p->nest.begin;
	uint64_t end = position + share->bytes < p->nest.end ? position + share->bytes
							     : p->nest.end;
	uint64_t packed = p->nest.packed + begin;

	load->user = address + (uint64_t)(int64_t)share->disp + (begin - position);
	load->offset = (uint32_t)packed & 7;
	load->bytes = end > begin ? (uint32_t)(end - begin) : 0;
	load->low = 0;
	load->high = 0;
	if (load->bytes)
		load->low = dtc_gpu_load8(packed - load->offset);
	if (load->bytes && load->offset + load->bytes > 8)
		load->high = dtc_gpu_load8(packed - load->offset + 8);
}

DTC_GPU_FN void dtc_gpu_store_share(const struct dtc_gpu_shared_load *load)
{
	uint32_t bits = 8 * load->offset;
	uint64_t all = bits ? load->low >> bits | load->high << (64 - bits) : load->low;
	struct dtc_gpu_bytes16 value = { { (uint32_t)all, (uint32_t)(all >> 32), 0, 0 } };

	dtc_gpu_scatter_most(load->user, value, load->bytes, 8);
}

/* One tile of shares. */
DTC_GPU_FN void dtc_gpu_unpack_shares(const struct dtc_gpu_periodic_params *p,
				      const struct dtc_gpu_share *shares, uint32_t tile,
				      uint32_t thread)
{
	uint64_t each = p->nest.dims[0].count;
	uint64_t first = dtc_gpu_quotient(p->nest.begin, p->period) * each +
			 (uint64_t)tile * (DTC_GPU_SHARES * DTC_GPU_BLOCK);
	uint64_t last = (dtc_gpu_quotient(p->nest.end - 1, p->period) + 1) * each;
	uint64_t left = last - first;
	struct dtc_gpu_shared_load load[DTC_GPU_SHARES];
	struct dtc_gpu_place place[DTC_GPU_SHARES];
	uint32_t ahead[DTC_GPU_SHARES];
	struct dtc_gpu_start start;

	dtc_gpu_split(&p->nest, first, DTC_GPU_PLAIN, &start);
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_SHARES; k++) {
		ahead[k] = thread + k * DTC_GPU_BLOCK;
		ahead[k] = ahead[k] < left ? ahead[k] : 0;
	}
	dtc_gpu_locate_all(&p->nest, &start, DTC_GPU_PLAIN, DTC_GPU_SHARES, ahead, place);
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_SHARES; k++) {
		dtc_gpu_fetch_share(p, &shares[place[k].index],
				    start.carried + place[k].carried, place[k].address,
				    &load[k]);
		if (thread + k * DTC_GPU_BLOCK >= left)
			load[k].bytes = 0;
	}
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_SHARES; k++)
		dtc_gpu_store_share(&load[k]);
}

/* ---- units ---------------------------------------------------------------------------------------- */

/* Shared memory: a displacement for each unit; where units are bytes, the ends of their runs too. */
DTC_GPU_FN uint16_t *dtc_gpu_period_ends(const struct dtc_gpu_periodic_params *p, void *shared)
{
	return (uint16_t *)((int32_t *)shared + p->period);
}

DTC_GPU_FN void dtc_gpu_periodic_map(const struct dtc_gpu_periodic_params *p, void *shared,
				     struct dtc_gpu_at at)
{
	int32_t *map = (int32_t *)shared;
	uint32_t word = p->nest.word;
	uint32_t units = p->period / word;

	if (p->share_word) {
		for (uint32_t i = at.thread; i < p->nest.dims[0].count; i += DTC_GPU_BLOCK)
			((struct dtc_gpu_share *)shared)[i] = dtc_gpu_share_at(p, i);
		return;
	}
	for (uint32_t i = at.thread; i < units; i += DTC_GPU_BLOCK) {
		uint32_t run = dtc_gpu_run_of(p, i * word);
		uint32_t end = dtc_gpu_run_end(p, run);

		map[i] = DTC_GPU_RUNS_OF(p)[run].disp +
			 (int32_t)(i * word - DTC_GPU_RUNS_OF(p)[run].packed);
		if (word == 1)
			dtc_gpu_period_ends(p, shared)[i] = (uint16_t)end;
	}
}

DTC_GPU_FN void dtc_gpu_periodic_move(const struct dtc_gpu_periodic_params *p, void *shared,
				      uint32_t word, struct dtc_gpu_at at, int direction)
{
	struct dtc_gpu_source source;
	struct dtc_gpu_stretch stretch;

	dtc_gpu_plain_levels(&source.levels);
	source.levels.form = DTC_GPU_MAPPED;
	source.levels.map = (const int32_t *)shared;
	if (word > 1) {
		dtc_gpu_move_words(&p->nest, &source.levels, word, at.block, at.thread,
				   direction);
		return;
	}
	if (direction == DTC_GPU_UNPACK && p->share_word) {
		dtc_gpu_unpack_shares(p, (const struct dtc_gpu_share *)shared, at.block,
				      at.thread);
		return;
	}
	stretch.packed = p->nest.packed;
	stretch.begin = p->nest.begin;
	stretch.end = p->nest.end;
	struct dtc_gpu_tile tile = dtc_gpu_tile_at(&stretch, at.block);
	source.by = DTC_GPU_BY_PERIOD;
	source.nest = &p->nest;
	source.ends = dtc_gpu_period_ends(p, shared);
	dtc_gpu_begin_source(&source, tile.position);
	dtc_gpu_move_pieces(&source, &tile, at.thread, direction);
}

#define DTC_GPU_PERIODIC(name, word, direction)                                         \
	DTC_GPU_FN void name(const struct dtc_gpu_periodic_params *p, void *shared,     \
			     struct dtc_gpu_at at)                                      \
	{                                                                               \
		dtc_gpu_periodic_move(p, shared, word, at, direction);                  \
	}

DTC_GPU_PERIODIC(dtc_gpu_periodic_pack_16_phase, 16, DTC_GPU_PACK)
DTC_GPU_PERIODIC(dtc_gpu_periodic_pack_8_phase, 8, DTC_GPU_PACK)
DTC_GPU_PERIODIC(dtc_gpu_periodic_pack_4_phase, 4, DTC_GPU_PACK)
DTC_GPU_PERIODIC(dtc_gpu_periodic_pack_1_phase, 1, DTC_GPU_PACK)
DTC_GPU_PERIODIC(dtc_gpu_periodic_unpack_16_phase, 16, DTC_GPU_UNPACK)
DTC_GPU_PERIODIC(dtc_gpu_periodic_unpack_8_phase, 8, DTC_GPU_UNPACK)
DTC_GPU_PERIODIC(dtc_gpu_periodic_unpack_4_phase, 4, DTC_GPU_UNPACK)
DTC_GPU_PERIODIC(dtc_gpu_periodic_unpack_1_phase, 1, DTC_GPU_UNPACK)

#endif
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Class indexed, equal blocks: a nest whose second level is listed in a table of displacements.
 */
#ifndef DTC_KERNELS_GPU_TABLE_CU_H
#define DTC_KERNELS_GPU_TABLE_CU_H

DTC_GPU_FN void dtc_gpu_table_move(const struct dtc_gpu_table_params *p, uint32_t word,
				   struct dtc_gpu_at at, int direction)
{
	struct dtc_gpu_source source;
	struct dtc_gpu_stretch stretch;

	source.levels.form = DTC_GPU_LISTED;
	source.levels.map = 0;
	source.levels.disps = p->disps;
	source.levels.wide = p->wide;
	source.levels.shift = p->shift;
	if (word > 1) {
		dtc_gpu_move_words(&p->nest, &source.levels, word, at.block, at.thread,
				   direction);
		return;
	}
	stretch.packed = p->nest.packed;
	stretch.begin = p->nest.begin;
	stretch.end = p->nest.end;
	struct dtc_gpu_tile tile = dtc_gpu_tile_at(&stretch, at.block);
	source.by = DTC_GPU_BY_NEST;
	source.nest = &p->nest;
	dtc_gpu_begin_source(&source, tile.position);
	dtc_gpu_move_pieces(&source, &tile, at.thread, direction);
}

#define DTC_GPU_TABLE(name, word, direction)                                           \
	DTC_GPU_FN void name(const struct dtc_gpu_table_params *p, void *shared,       \
			     struct dtc_gpu_at at)                                     \
	{                                                                              \
		(void)shared;                                                          \
		dtc_gpu_table_move(p, word, at, direction);                            \
	}

DTC_GPU_TABLE(dtc_gpu_table_pack_16_phase, 16, DTC_GPU_PACK)
DTC_GPU_TABLE(dtc_gpu_table_pack_8_phase, 8, DTC_GPU_PACK)
DTC_GPU_TABLE(dtc_gpu_table_pack_4_phase, 4, DTC_GPU_PACK)
DTC_GPU_TABLE(dtc_gpu_table_pack_1_phase, 1, DTC_GPU_PACK)
DTC_GPU_TABLE(dtc_gpu_table_unpack_16_phase, 16, DTC_GPU_UNPACK)
DTC_GPU_TABLE(dtc_gpu_table_unpack_8_phase, 8, DTC_GPU_UNPACK)
DTC_GPU_TABLE(dtc_gpu_table_unpack_4_phase, 4, DTC_GPU_UNPACK)
DTC_GPU_TABLE(dtc_gpu_table_unpack_1_phase, 1, DTC_GPU_UNPACK)

#endif
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tables of unlike runs that are long enough for a warp each: a warp has as much of the table
 * as has a start of its own, reads the places of the next few runs and moves them together. It
 * needs no shared memory and no barrier.
 */
#ifndef DTC_KERNELS_GPU_RUNS_CU_H
#define DTC_KERNELS_GPU_RUNS_CU_H

/* Runs that a warp has under way, and the words that a thread has of each. */
#define DTC_GPU_RUNS_AT_ONCE    4u
#define DTC_GPU_RUN_WORDS(word) ((word) == 16 ? 1u : 2u)

/* What of a run a warp moves; both sides are aligned alike. */
struct dtc_gpu_portion {
	uint64_t user;
	uint64_t packed;
	uint32_t bytes;
};

DTC_GPU_FN uint64_t dtc_gpu_from(const struct dtc_gpu_portion *portion, int direction)
{
	return direction == DTC_GPU_PACK ? portion->user : portion->packed;
}

DTC_GPU_FN uint64_t dtc_gpu_to(const struct dtc_gpu_portion *portion, int direction)
{
	return direction == DTC_GPU_PACK ? portion->packed : portion->user;
}

/* Whole words, any number of them. */
DTC_GPU_FN void dtc_gpu_move_run_words(uint64_t from, uint64_t to, uint32_t bytes,
				       uint32_t word, uint32_t lane)
{
	const uint32_t words = DTC_GPU_WORDS(word);
	const uint32_t step = DTC_GPU_LANES * word;
	struct dtc_gpu_bytes16 value[8];

	DTC_GPU_NO_UNROLL
	for (uint32_t at = lane * word; at < bytes; at += words * step) {
		DTC_GPU_UNROLL
		for (uint32_t k = 0; k < words; k++)
			if (at + k * step < bytes)
				dtc_gpu_load_word(from + at + k * step, word, &value[k]);
		DTC_GPU_UNROLL
		for (uint32_t k = 0; k < words; k++)
			if (at + k * step < bytes)
				dtc_gpu_store_word(to + at + k * step, word, &value[k]);
	}
}

/* A portion whose ends may be inside words: those of the stretch. */
DTC_GPU_FN void dtc_gpu_move_portion(const struct dtc_gpu_portion *portion, uint32_t word,
				     uint32_t lane, int direction)
{
	uint32_t head = (uint32_t)(0 - portion->packed) & (word - 1);

	head = head < portion->bytes ? head : portion->bytes;
	uint32_t whole = (portion->bytes - head) & ~(word - 1);
	uint32_t tail = portion->bytes - head - whole;
	if (lane < head)
		dtc_gpu_move_byte(portion->user + lane, portion->packed + lane,
				  direction);
	dtc_gpu_move_run_words(dtc_gpu_from(portion, direction) + head,
			       dtc_gpu_to(portion, direction) + head, whole, word, lane);
	if (lane < tail)
		dtc_gpu_move_byte(portion->user + head + whole + lane,
				  portion->packed + head + whole + lane, direction);
}

/* Short portions of whole words: all are loaded before any is stored. */
DTC_GPU_FN void dtc_gpu_move_short(const struct dtc_gpu_portion portion[], uint32_t word,
				   uint32_t lane, int direction)
{
	const uint32_t words = DTC_GPU_RUN_WORDS(word);
	struct dtc_gpu_bytes16 value[8];

	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_RUNS_AT_ONCE * words; k++) {
		const struct dtc_gpu_portion *one = &portion[k / words];
		uint32_t at = (lane + k % words * DTC_GPU_LANES) * word;

		if (at < one->bytes)
			dtc_gpu_load_word(dtc_gpu_from(one, direction) + at, word,
					  &value[k]);
	}
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_RUNS_AT_ONCE * words; k++) {
		const struct dtc_gpu_portion *one = &portion[k / words];
		uint32_t at = (lane + k % words * DTC_GPU_LANES) * word;

		if (at < one->bytes)
			dtc_gpu_store_word(dtc_gpu_to(one, direction) + at, word,
					   &value[k]);
	}
}

/* A warp's share of a tile: bytes [from, to) of the table. */
struct dtc_gpu_share_of_tile {
	uint64_t from;
	uint64_t to;
	uint64_t entry;  /* holds the first byte, or comes before the one that does */
	uint64_t packed; /* where byte 0 of the table would be */
};

DTC_GPU_FN void dtc_gpu_find_share(const struct dtc_gpu_indexed_tile *tile,
				   uint32_t thread, struct dtc_gpu_share_of_tile *share)
{
	uint64_t ahead = tile->origin - tile->offset;
	uint64_t from = tile->offset + thread / DTC_GPU_LANES * DTC_GPU_RUN_SHARE;
	uint64_t to = from + DTC_GPU_RUN_SHARE;
	uint64_t starts = tile->p->starts + from / DTC_GPU_START_BYTES * 4;

	share->packed = tile->p->nest.packed + ahead;
	share->from = from + ahead > tile->begin ? from : tile->begin - ahead;
	share->to = to + ahead < tile->end ? to : tile->end - ahead;
	share->entry = share->from < share->to ? dtc_gpu_load4(starts) : 0;
}

/*
 * What the share has of the next entries, none where there are no more. Returns where the last one
 * ends.
 */
DTC_GPU_FN uint64_t dtc_gpu_find_portions(const struct dtc_gpu_indexed_tile *tile,
					  const struct dtc_gpu_share_of_tile *share,
					  struct dtc_gpu_portion portion[])
{
	const struct dtc_gpu_indexed_params *p = tile->p;
	uint64_t begin[DTC_GPU_RUNS_AT_ONCE + 1], disp[DTC_GPU_RUNS_AT_ONCE];
	uint64_t entry[DTC_GPU_RUNS_AT_ONCE + 1];

	DTC_GPU_UNROLL
	for (uint32_t k = 0; k <= DTC_GPU_RUNS_AT_ONCE; k++) {
		entry[k] = share->entry + k < p->count ? share->entry + k : p->count;
		begin[k] = dtc_gpu_prefix(p->prefixes, p->prefix_wide, p->prefix_shift,
					  entry[k]);
		entry[k] -= entry[k] == p->count ? 1 : 0;
	}
	dtc_gpu_listed_disps(p->disps, p->disp_wide, p->disp_shift, DTC_GPU_RUNS_AT_ONCE,
			     entry, disp);
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_RUNS_AT_ONCE; k++) {
		uint64_t low = begin[k] > share->from ? begin[k] : share->from;
		uint64_t high = begin[k + 1] < share->to ? begin[k + 1] : share->to;

		portion[k].user = tile->address + disp[k] + (low - begin[k]);
		portion[k].packed = share->packed + low;
		portion[k].bytes = high > low ? (uint32_t)(high - low) : 0;
	}
	return begin[DTC_GPU_RUNS_AT_ONCE];
}

/* Whether all portions are short, and of whole words. */
DTC_GPU_FN uint32_t dtc_gpu_are_short(const struct dtc_gpu_portion portion[],
				      uint32_t word)
{
	uint32_t most = 0, odd = 0;

	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_RUNS_AT_ONCE; k++) {
		most = portion[k].bytes > most ? portion[k].bytes : most;
		odd |= portion[k].bytes ? (uint32_t)portion[k].packed | portion[k].bytes
					: 0;
	}
	return most <= DTC_GPU_RUN_WORDS(word) * DTC_GPU_LANES * word &&
	       !(odd & (word - 1));
}

/* A warp's share of a tile; the table is not kept whole. */
DTC_GPU_FN void dtc_gpu_move_runs(const struct dtc_gpu_indexed_tile *tile, uint32_t word,
				  uint32_t thread, int direction)
{
	struct dtc_gpu_portion portion[DTC_GPU_RUNS_AT_ONCE];
	struct dtc_gpu_share_of_tile share;
	uint32_t lane = thread % DTC_GPU_LANES;
	uint64_t end;

	if (tile->begin >= tile->end)
		return;
	dtc_gpu_find_share(tile, thread, &share);
	if (share.from >= share.to)
		return;
	do {
		end = dtc_gpu_find_portions(tile, &share, portion);
		if (dtc_gpu_are_short(portion, word)) {
			dtc_gpu_move_short(portion, word, lane, direction);
		} else {
			DTC_GPU_UNROLL
			for (uint32_t k = 0; k < DTC_GPU_RUNS_AT_ONCE; k++)
				dtc_gpu_move_portion(&portion[k], word, lane, direction);
		}
		share.entry += DTC_GPU_RUNS_AT_ONCE;
	} while (end < share.to);
}

#endif
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Class indexed, unlike blocks. Tiles are equal stretches of the table's packed bytes, whose
 * first entries the image lists, so that no block searches the table. A short table that is
 * repeated is kept whole, and tiles go on over its end. Long runs of words are moved as in
 * runs.cu.h.
 */
#ifndef DTC_KERNELS_GPU_INDEXED_CU_H
#define DTC_KERNELS_GPU_INDEXED_CU_H

/* First the entries. */
DTC_GPU_FN void dtc_gpu_indexed_list(const struct dtc_gpu_indexed_params *p, uint32_t word,
				     void *shared, struct dtc_gpu_at at)
{
	const uint32_t threads = DTC_GPU_INDEXED_THREADS(word);
	const uint32_t thread = at.thread % threads;
	struct dtc_gpu_indexed_tile tile;

	if (p->by_run)
		return;
	dtc_gpu_open_tile(p, word, shared, at, &tile);
	if (tile.begin >= tile.end) {
		if (thread == 0)
			*tile.entries.count = 0;
		return;
	}
	if (word > 1)
		dtc_gpu_clear_windows(&tile.entries, word, thread);
	struct dtc_gpu_touched touched = dtc_gpu_touch(p, tile.offset);
	dtc_gpu_list_entries(p, &touched, tile.address, &tile.entries, thread, threads);
}

/* Then which of them holds each unit. */
DTC_GPU_FN void dtc_gpu_indexed_hold(const struct dtc_gpu_indexed_params *p, uint32_t word,
				     void *shared, struct dtc_gpu_at at)
{
	if (p->by_run)
		return;
	struct dtc_gpu_entries entries = dtc_gpu_entries_in(p, word, shared, at.thread);
	if (p->nest.expects && !p->whole)
		dtc_gpu_expect_entries(&entries, p->tile_bytes,
				       at.thread % DTC_GPU_INDEXED_THREADS(word),
				       DTC_GPU_INDEXED_THREADS(word));
	if (word > 1)
		dtc_gpu_mark_windows(&entries, word, at.thread % DTC_GPU_LANES);
	else
		dtc_gpu_list_holder(&entries, at.thread);
}

/* Bytes of the stretch's ends that are no whole words, in whichever tile they are. */
DTC_GPU_FN void dtc_gpu_indexed_edge(const struct dtc_gpu_indexed_tile *tile, uint32_t word,
				     uint32_t thread, int direction)
{
	const struct dtc_gpu_nest *nest = &tile->p->nest;
	struct dtc_gpu_span span;
	uint32_t live;
	uint64_t position = dtc_gpu_edge(nest, word, thread, &live);

	if (!live || position < tile->begin || position >= tile->end)
		return;
	uint32_t inside = (uint32_t)position & (word - 1);
	uint32_t ahead = (uint32_t)(position - inside - tile->origin);
	dtc_gpu_indexed_spans(tile, word, (int)tile->p->whole, 1, &ahead, &span);
	dtc_gpu_move_byte(span.address + inside, nest->packed + position, direction);
}

/* Words of a warp, from word @first of the tile on. */
DTC_GPU_FN void dtc_gpu_indexed_words(const struct dtc_gpu_indexed_tile *tile, uint32_t word,
				      int whole, uint32_t first, int direction)
{
	const uint32_t words = DTC_GPU_INDEXED_AT_ONCE(word, whole);
	const uint32_t step = DTC_GPU_LANES * word;
	uint64_t packed = tile->p->nest.packed + tile->origin + (uint64_t)(first * word);
	/* Whole words of the tile that are to be moved: from @low on, @count of them. */
	uint32_t low = (uint32_t)((tile->begin - tile->origin + word - 1) / word);
	uint32_t high = (uint32_t)((tile->end - tile->origin) / word);
	uint32_t count = high > low ? high - low : 0;
	struct dtc_gpu_bytes16 value[8];
	struct dtc_gpu_span span[8];
	uint32_t ahead[8];

	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < words; k++)
		ahead[k] = first * word + k * step;
	dtc_gpu_indexed_spans(tile, word, whole, words, ahead, span);
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < words; k++)
		if (first + k * DTC_GPU_LANES - low < count)
			dtc_gpu_load_word(direction == DTC_GPU_PACK ? span[k].address
								    : packed + k * step,
					  word, &value[k]);
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < words; k++)
		if (first + k * DTC_GPU_LANES - low < count)
			dtc_gpu_store_word(direction == DTC_GPU_PACK ? packed + k * step
								     : span[k].address,
					   word, &value[k]);
}

DTC_GPU_FN void dtc_gpu_indexed_rounds(const struct dtc_gpu_indexed_tile *tile, uint32_t word,
				       int whole, uint32_t lane, int direction)
{
	const uint32_t words = DTC_GPU_INDEXED_AT_ONCE(word, whole) * DTC_GPU_LANES;

	DTC_GPU_NO_UNROLL
	for (uint32_t first = lane; first < DTC_GPU_INDEXED_TILE(word) / word; first += words)
		dtc_gpu_indexed_words(tile, word, whole, first, direction);
}

DTC_GPU_FN void dtc_gpu_indexed_pieces(const struct dtc_gpu_indexed_tile *tile, uint32_t thread,
				       int direction)
{
	struct dtc_gpu_stretch stretch;
	struct dtc_gpu_source source;

	if (tile->begin >= tile->end)
		return;
	stretch.packed = tile->p->nest.packed;
	stretch.begin = tile->begin;
	stretch.end = tile->end;
	struct dtc_gpu_tile pieces = dtc_gpu_tile_at(&stretch, 0);
	source.by = DTC_GPU_BY_ENTRY;
	source.indexed = tile;
	source.origin = tile->begin - tile->origin;
	dtc_gpu_move_pieces(&source, &pieces, thread, direction);
}

DTC_GPU_FN void dtc_gpu_indexed_move(const struct dtc_gpu_indexed_params *p, void *shared,
				     uint32_t word, struct dtc_gpu_at at, int direction)
{
	struct dtc_gpu_indexed_tile tile;

	const uint32_t lane = at.thread % DTC_GPU_LANES;

	dtc_gpu_open_tile(p, word, shared, at, &tile);
	if (tile.begin >= tile.end)
		return;
	if (word == 1) {
		dtc_gpu_indexed_pieces(&tile, at.thread, direction);
		return;
	}
	if (p->by_run) {
		dtc_gpu_move_runs(&tile, word, at.thread, direction);
		return;
	}
	if ((tile.begin | tile.end) & (word - 1))
		dtc_gpu_indexed_edge(&tile, word, lane, direction);
	if (p->whole)
		dtc_gpu_indexed_rounds(&tile, word, 1, lane, direction);
	else
		dtc_gpu_indexed_rounds(&tile, word, 0, lane, direction);
}

#define DTC_GPU_INDEXED_LISTS(word)                                                        \
	DTC_GPU_FN void dtc_gpu_indexed_list_##word(const struct dtc_gpu_indexed_params *p, \
						    void *shared, struct dtc_gpu_at at)    \
	{                                                                                  \
		dtc_gpu_indexed_list(p, word, shared, at);                                 \
	}                                                                                  \
	DTC_GPU_FN void dtc_gpu_indexed_hold_##word(const struct dtc_gpu_indexed_params *p, \
						    void *shared, struct dtc_gpu_at at)    \
	{                                                                                  \
		dtc_gpu_indexed_hold(p, word, shared, at);                                 \
	}

DTC_GPU_INDEXED_LISTS(16)
DTC_GPU_INDEXED_LISTS(8)
DTC_GPU_INDEXED_LISTS(4)
DTC_GPU_INDEXED_LISTS(1)

#define DTC_GPU_INDEXED(name, word, direction)                                         \
	DTC_GPU_FN void name(const struct dtc_gpu_indexed_params *p, void *shared,     \
			     struct dtc_gpu_at at)                                     \
	{                                                                              \
		dtc_gpu_indexed_move(p, shared, word, at, direction);                  \
	}

DTC_GPU_INDEXED(dtc_gpu_indexed_pack_16_phase, 16, DTC_GPU_PACK)
DTC_GPU_INDEXED(dtc_gpu_indexed_pack_8_phase, 8, DTC_GPU_PACK)
DTC_GPU_INDEXED(dtc_gpu_indexed_pack_4_phase, 4, DTC_GPU_PACK)
DTC_GPU_INDEXED(dtc_gpu_indexed_pack_1_phase, 1, DTC_GPU_PACK)
DTC_GPU_INDEXED(dtc_gpu_indexed_unpack_16_phase, 16, DTC_GPU_UNPACK)
DTC_GPU_INDEXED(dtc_gpu_indexed_unpack_8_phase, 8, DTC_GPU_UNPACK)
DTC_GPU_INDEXED(dtc_gpu_indexed_unpack_4_phase, 4, DTC_GPU_UNPACK)
DTC_GPU_INDEXED(dtc_gpu_indexed_unpack_1_phase, 1, DTC_GPU_UNPACK)

#endif
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Class transposing: neighbours in the packed stream are far apart in the user's memory, and the
 * other way round. Square tiles go through shared memory, so that both sides are read and written
 * along their own neighbours.
 */
#ifndef DTC_KERNELS_GPU_TRANSPOSING_CU_H
#define DTC_KERNELS_GPU_TRANSPOSING_CU_H

/* A block's tile: its first element, and how many there are along each level. */
struct dtc_gpu_square {
	uint64_t user;
	uint64_t position; /* in the stream */
	uint32_t inner;
	uint32_t outer;
	uint32_t within; /* 1: no word of it is outside the stretch */
};

/* The stretch ends inside few tiles; only these look at every word. */
DTC_GPU_FN uint32_t dtc_gpu_is_within(const struct dtc_gpu_transpose_params *p,
				      const struct dtc_gpu_square *square, uint32_t word)
{
	uint64_t last = square->position + (square->outer - 1) * p->outer_packed +
			(uint64_t)(square->inner * p->words * word);

	return square->position >= p->nest.begin && last <= p->nest.end;
}

DTC_GPU_FN void dtc_gpu_find_square(const struct dtc_gpu_transpose_params *p, uint32_t word,
				    uint32_t block, struct dtc_gpu_square *square)
{
	const uint32_t side = 1u << p->side_log;

	square->user = p->nest.user;
	square->position = 0;
	square->inner = 0;
	square->outer = 0;
	DTC_GPU_UNROLL
	for (uint32_t d = 1; d < DTC_GPU_DIMS; d++) {
		if (d >= p->nest.dim_count)
			break;
		uint32_t next = dtc_gpu_divide(block, p->magics[d], p->shifts[d]);
		uint32_t index = block - next * p->tiles[d];

		block = next;
		if (d == 1 || d == p->outer) {
			index <<= p->side_log;
			uint32_t left = p->counts[d] - index;
			uint32_t elements = left < side ? left : side;

			if (d == 1)
				square->inner = elements;
			else
				square->outer = elements;
		}
		square->user += (uint64_t)((int64_t)index * p->nest.dims[d].stride);
		square->position += index * p->packed_strides[d];
	}
	square->within = dtc_gpu_is_within(p, square, word);
}

/* One element further along one of the tile's sides. */
struct dtc_gpu_axis {
	uint64_t user;
	uint64_t packed;
	uint32_t shared; /* words */
	uint32_t count;  /* elements */
};

/*
 * A tile as its threads go over it, along the user's side or along the packed one: thirty-two threads
 * go along a row, eight rows at once.
 */
struct dtc_gpu_grid {
	struct dtc_gpu_axis rows;
	struct dtc_gpu_axis columns;
};

DTC_GPU_FN struct dtc_gpu_grid dtc_gpu_grid_of(const struct dtc_gpu_transpose_params *p,
					       const struct dtc_gpu_square *square, uint32_t word,
					       int along_user)
{
	struct dtc_gpu_axis inner = { (uint64_t)p->nest.dims[1].stride,
				      (uint64_t)(p->words * word), p->words, square->inner };
	struct dtc_gpu_axis outer = { (uint64_t)p->outer_stride, p->outer_packed, p->pitch,
				      square->outer };
	struct dtc_gpu_grid grid;

	grid.rows = along_user ? inner : outer;
	grid.columns = along_user ? outer : inner;
	return grid;
}

/* Words in flight of one thread, eight rows apart. */
#define DTC_GPU_CELLS(word) ((word) == 16 ? 4u : 8u)

/* A column of a thread's words; those that are not in the tile or the stretch are not live. */
struct dtc_gpu_column {
	uint64_t user; /* of row 0 */
	uint64_t position;
	uint32_t shared;
	uint32_t rows; /* of the tile, 0 where the column is outside */
};

DTC_GPU_FN struct dtc_gpu_column dtc_gpu_column_at(const struct dtc_gpu_transpose_params *p,
						   const struct dtc_gpu_square *square,
						   const struct dtc_gpu_grid *grid, uint32_t word,
						   uint32_t number)
{
	uint32_t element = p->words > 1 ? number / p->words : number;
	uint32_t part = number - element * p->words;
	struct dtc_gpu_column column;

	column.user = square->user + element * grid->columns.user + part * word;
	column.position = square->position + element * grid->columns.packed + part * word;
	column.shared = element * grid->columns.shared + part;
	column.rows = element < grid->columns.count ? grid->rows.count : 0;
	return column;
}

/* The same column from row @row on. */
DTC_GPU_FN void dtc_gpu_go_down(const struct dtc_gpu_grid *grid, uint32_t row,
				struct dtc_gpu_column *column)
{
	column->user += row * grid->rows.user;
	column->position += row * grid->rows.packed;
	column->shared += row * grid->rows.shared;
	column->rows = column->rows > row ? column->rows - row : 0;
}

/* Which of the next rows, eight apart, a thread has words in: a bit for each. */
DTC_GPU_FN uint32_t dtc_gpu_live_cells(const struct dtc_gpu_transpose_params *p,
				       const struct dtc_gpu_square *square,
				       const struct dtc_gpu_grid *grid,
				       const struct dtc_gpu_column *column, uint32_t word)
{
	uint32_t live = 0;

	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_CELLS(word); k++)
		live |= (8 * k < column->rows ? 1u : 0u) << k;
	if (square->within)
		return live;
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_CELLS(word); k++) {
		uint64_t position = column->position + 8 * k * grid->rows.packed;

		if (position < p->nest.begin || position + word > p->nest.end)
			live &= ~(1u << k);
	}
	return live;
}

/*
 * A thread's words of a column, from the side that is read into shared memory: on their own where the
 * device copies such words, so that a whole tile is under way.
 */
DTC_GPU_FN void dtc_gpu_copy_cells(uint64_t from, uint64_t step, uint32_t live,
				   void *shared, uint32_t index, uint32_t index_step,
				   uint32_t word)
{
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_CELLS(word); k++)
		if (live >> k & 1)
			dtc_gpu_copy_in((unsigned char *)shared +
						(index + k * index_step) * word,
					from + k * step, word);
}

DTC_GPU_FN void dtc_gpu_load_cells(const struct dtc_gpu_transpose_params *p,
				   const struct dtc_gpu_grid *grid,
				   const struct dtc_gpu_column *column, uint32_t live,
				   void *shared, uint32_t word, int direction)
{
	uint64_t from = direction == DTC_GPU_PACK ? column->user
						  : p->nest.packed + column->position;
	uint64_t step = 8 * (direction == DTC_GPU_PACK ? grid->rows.user : grid->rows.packed);
	struct dtc_gpu_bytes16 value[8];

	if (word == 4 || word == 8) {
		dtc_gpu_copy_cells(from, step, live, shared, column->shared,
				   8 * grid->rows.shared, word);
		return;
	}
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_CELLS(word); k++)
		if (live >> k & 1)
			dtc_gpu_load_word(from + k * step, word, &value[k]);
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_CELLS(word); k++)
		if (live >> k & 1)
			dtc_gpu_keep(shared, column->shared + 8 * k * grid->rows.shared, word,
				     &value[k]);
}

/* From shared memory to the side that is written. */
DTC_GPU_FN void dtc_gpu_store_cells(const struct dtc_gpu_transpose_params *p,
				    const struct dtc_gpu_grid *grid,
				    const struct dtc_gpu_column *column, uint32_t live,
				    void *shared, uint32_t word, int direction)
{
	uint64_t to = direction == DTC_GPU_PACK ? p->nest.packed + column->position
						: column->user;
	uint64_t step = 8 * (direction == DTC_GPU_PACK ? grid->rows.packed : grid->rows.user);
	struct dtc_gpu_bytes16 value;

	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_CELLS(word); k++)
		if (live >> k & 1) {
			dtc_gpu_recall(shared, column->shared + 8 * k * grid->rows.shared, word,
				       &value);
			dtc_gpu_store_word(to + k * step, word, &value);
		}
}

/* Into shared memory, or out of it. */
#define DTC_GPU_IN  0
#define DTC_GPU_OUT 1

DTC_GPU_FN void dtc_gpu_move_square(const struct dtc_gpu_transpose_params *p, void *shared,
				    uint32_t word, struct dtc_gpu_at at, int direction, int way)
{
	const uint32_t side = 1u << p->side_log;
	struct dtc_gpu_square square;

	dtc_gpu_find_square(p, word, at.block, &square);
	struct dtc_gpu_grid grid =
		dtc_gpu_grid_of(p, &square, word, (direction == DTC_GPU_PACK) == (way == DTC_GPU_IN));

	DTC_GPU_NO_UNROLL
	for (uint32_t number = at.thread % 32; number < side * p->words; number += 32) {
		struct dtc_gpu_column column =
			dtc_gpu_column_at(p, &square, &grid, word, number);

		dtc_gpu_go_down(&grid, at.thread / 32, &column);
		DTC_GPU_NO_UNROLL
		for (uint32_t row = 0; row < side; row += 8 * DTC_GPU_CELLS(word)) {
			uint32_t live = dtc_gpu_live_cells(p, &square, &grid, &column, word);

			if (way == DTC_GPU_IN)
				dtc_gpu_load_cells(p, &grid, &column, live, shared, word,
						   direction);
			else
				dtc_gpu_store_cells(p, &grid, &column, live, shared, word,
						    direction);
			dtc_gpu_go_down(&grid, 8 * DTC_GPU_CELLS(word), &column);
		}
	}
}

DTC_GPU_FN void dtc_gpu_transpose_load(const struct dtc_gpu_transpose_params *p, void *shared,
				       uint32_t word, struct dtc_gpu_at at, int direction)
{
	dtc_gpu_move_square(p, shared, word, at, direction, DTC_GPU_IN);
	dtc_gpu_await_copies();
}

DTC_GPU_FN void dtc_gpu_transpose_store(const struct dtc_gpu_transpose_params *p, void *shared,
					uint32_t word, struct dtc_gpu_at at, int direction)
{
	struct dtc_gpu_levels levels;

	dtc_gpu_plain_levels(&levels);
	if (at.block == 0 && word > 1)
		dtc_gpu_move_edges(&p->nest, &levels, word, at.thread, direction);
	dtc_gpu_move_square(p, shared, word, at, direction, DTC_GPU_OUT);
}

#define DTC_GPU_TRANSPOSING(name, word, direction)                                          \
	DTC_GPU_FN void name##_load(const struct dtc_gpu_transpose_params *p, void *shared, \
				    struct dtc_gpu_at at)                                   \
	{                                                                                   \
		dtc_gpu_transpose_load(p, shared, word, at, direction);                     \
	}                                                                                   \
	DTC_GPU_FN void name##_store(const struct dtc_gpu_transpose_params *p,              \
				     void *shared, struct dtc_gpu_at at)                    \
	{                                                                                   \
		dtc_gpu_transpose_store(p, shared, word, at, direction);                    \
	}

DTC_GPU_TRANSPOSING(dtc_gpu_transposing_pack_16, 16, DTC_GPU_PACK)
DTC_GPU_TRANSPOSING(dtc_gpu_transposing_pack_8, 8, DTC_GPU_PACK)
DTC_GPU_TRANSPOSING(dtc_gpu_transposing_pack_4, 4, DTC_GPU_PACK)
DTC_GPU_TRANSPOSING(dtc_gpu_transposing_pack_2, 2, DTC_GPU_PACK)
DTC_GPU_TRANSPOSING(dtc_gpu_transposing_pack_1, 1, DTC_GPU_PACK)
DTC_GPU_TRANSPOSING(dtc_gpu_transposing_unpack_16, 16, DTC_GPU_UNPACK)
DTC_GPU_TRANSPOSING(dtc_gpu_transposing_unpack_8, 8, DTC_GPU_UNPACK)
DTC_GPU_TRANSPOSING(dtc_gpu_transposing_unpack_4, 4, DTC_GPU_UNPACK)
DTC_GPU_TRANSPOSING(dtc_gpu_transposing_unpack_2, 2, DTC_GPU_UNPACK)
DTC_GPU_TRANSPOSING(dtc_gpu_transposing_unpack_1, 1, DTC_GPU_UNPACK)

#endif
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Class general: any program, any stretch of its stream, at the cost of a walk for each run.
 */
#ifndef DTC_KERNELS_GPU_GENERAL_CU_H
#define DTC_KERNELS_GPU_GENERAL_CU_H

DTC_GPU_FN void dtc_gpu_move_walk(const struct dtc_gpu_walk *walk, uint32_t number,
				  uint32_t thread, int direction)
{
	struct dtc_gpu_stretch stretch;
	struct dtc_gpu_source source;

	stretch.packed = walk->packed;
	stretch.begin = walk->begin;
	stretch.end = walk->end;
	struct dtc_gpu_tile tile = dtc_gpu_tile_at(&stretch, number);
	source.by = DTC_GPU_BY_WALK;
	source.walk = walk;
	dtc_gpu_begin_source(&source, tile.position);
	/* A walk is long code: there is one of it, not one for each piece. */
	DTC_GPU_NO_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_PIECES; k++) {
		struct dtc_gpu_piece piece = dtc_gpu_piece_at(&tile, thread + k * DTC_GPU_BLOCK);

		if (direction == DTC_GPU_PACK)
			dtc_gpu_pack_runs(&source, &piece);
		else
			dtc_gpu_unpack_piece(&source, &piece,
					     dtc_gpu_gather(piece.packed, piece.bytes));
	}
}

DTC_GPU_FN void dtc_gpu_general_pack_phase(const struct dtc_gpu_general_params *p, void *shared,
				     struct dtc_gpu_at at)
{
	(void)shared;
	dtc_gpu_move_walk(&p->walk, at.block, at.thread, DTC_GPU_PACK);
}

DTC_GPU_FN void dtc_gpu_general_unpack_phase(const struct dtc_gpu_general_params *p, void *shared,
				       struct dtc_gpu_at at)
{
	(void)shared;
	dtc_gpu_move_walk(&p->walk, at.block, at.thread, DTC_GPU_UNPACK);
}

#endif
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Many unlike parts in one launch: a struct of unlike members, or a batch of many types and
 * buffers. Each tile belongs to one part; a block's threads look for it together.
 */
#ifndef DTC_KERNELS_GPU_MANY_CU_H
#define DTC_KERNELS_GPU_MANY_CU_H

struct dtc_gpu_many_shared {
	struct dtc_gpu_part part;
	uint32_t number;
	uint32_t reserved;
};

DTC_GPU_FN uint32_t dtc_gpu_first_tile(const struct dtc_gpu_many_params *p, uint32_t part)
{
	if (!p->parts)
		return p->u.inline_parts[part].first_tile;
	return dtc_gpu_load4(p->parts + (uint64_t)part * sizeof(struct dtc_gpu_part));
}

/* This block's tile among those of all parts. */
DTC_GPU_FN uint32_t dtc_gpu_many_tile(const struct dtc_gpu_many_params *p,
				      struct dtc_gpu_at at)
{
	return p->parts ? at.block + p->u.taken.first_tile : at.block;
}

/* Find the part of this block's tile. */
DTC_GPU_FN void dtc_gpu_many_find(const struct dtc_gpu_many_params *p, void *shared,
				  struct dtc_gpu_at at)
{
	struct dtc_gpu_many_shared *s = (struct dtc_gpu_many_shared *)shared;
	uint32_t tile = dtc_gpu_many_tile(p, at);

	for (uint32_t i = at.thread; i < p->part_count; i += DTC_GPU_BLOCK)
		if (dtc_gpu_first_tile(p, i) <= tile &&
		    (i + 1 == p->part_count || dtc_gpu_first_tile(p, i + 1) > tile))
			s->number = i;
}

/* A position of all parts in one whose packed bytes begin at @packed. */
DTC_GPU_FN uint64_t dtc_gpu_inside(uint64_t position, uint64_t packed)
{
	return position > packed ? position - packed : 0;
}

/* Word @word of the part at @part, in device memory, as it is to be taken. */
DTC_GPU_FN uint64_t dtc_gpu_take_word(const struct dtc_gpu_taken *taken, uint64_t part,
				      uint32_t word)
{
	uint64_t value = dtc_gpu_load8(part + 8 * word);
	uint64_t cut;

	if (word == DTC_GPU_WORD_USER)
		return value + taken->user;
	if (word == DTC_GPU_WORD_PACKED)
		return value + taken->packed;
	if (word == DTC_GPU_WORD_BEGIN) {
		cut = dtc_gpu_inside(taken->begin,
				     dtc_gpu_load8(part + 8 * DTC_GPU_WORD_PACKED));
		return value > cut ? value : cut;
	}
	if (word == DTC_GPU_WORD_END && taken->end + 1) {
		cut = dtc_gpu_inside(taken->end,
				     dtc_gpu_load8(part + 8 * DTC_GPU_WORD_PACKED));
		return value < cut ? value : cut;
	}
	return value;
}

DTC_GPU_FN void dtc_gpu_many_fetch(const struct dtc_gpu_many_params *p, void *shared,
				   struct dtc_gpu_at at)
{
	struct dtc_gpu_many_shared *s = (struct dtc_gpu_many_shared *)shared;
	const uint32_t words = sizeof(struct dtc_gpu_part) / 8;

	if (at.thread >= words)
		return;
	uint64_t *to = (uint64_t *)&s->part + at.thread;
	if (p->parts)
		*to = dtc_gpu_take_word(&p->u.taken,
					p->parts + (uint64_t)s->number *
							   sizeof(struct dtc_gpu_part),
					at.thread);
	else
		*to = ((const uint64_t *)&p->u.inline_parts[s->number])[at.thread];
}

DTC_GPU_FN void dtc_gpu_many_move(const struct dtc_gpu_many_params *p, const void *shared,
				  struct dtc_gpu_at at, int direction)
{
	const struct dtc_gpu_part *part =
		&((const struct dtc_gpu_many_shared *)shared)->part;
	uint32_t number = dtc_gpu_many_tile(p, at) - part->first_tile;

	if (part->kind == DTC_GPU_PART_WALK)
		dtc_gpu_move_walk(&part->u.walk, number, at.thread, direction);
	else if (part->u.nest.word == 16)
		dtc_gpu_move_nest(&part->u.nest, 16, number, at.thread, direction);
	else if (part->u.nest.word == 8)
		dtc_gpu_move_nest(&part->u.nest, 8, number, at.thread, direction);
	else if (part->u.nest.word == 4)
		dtc_gpu_move_nest(&part->u.nest, 4, number, at.thread, direction);
	else
		dtc_gpu_move_nest(&part->u.nest, 1, number, at.thread, direction);
}

DTC_GPU_FN void dtc_gpu_many_pack_phase(const struct dtc_gpu_many_params *p, void *shared,
				  struct dtc_gpu_at at)
{
	dtc_gpu_many_move(p, shared, at, DTC_GPU_PACK);
}

DTC_GPU_FN void dtc_gpu_many_unpack_phase(const struct dtc_gpu_many_params *p, void *shared,
				    struct dtc_gpu_at at)
{
	dtc_gpu_many_move(p, shared, at, DTC_GPU_UNPACK);
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Numbers in registers: their bytes reversed, two of them combined or compared. The twin of
 * reduce.c, bit for bit but for the bits of a NaN that was computed.
 */
#ifndef DTC_KERNELS_GPU_NUMBERS_CU_H
#define DTC_KERNELS_GPU_NUMBERS_CU_H

/* ---- byte order ------------------------------------------------------------------------------ */

DTC_GPU_FN uint32_t dtc_gpu_swap_pairs(uint32_t x)
{
	return (x & 0x00ff00ffu) << 8 | (x >> 8 & 0x00ff00ffu);
}

DTC_GPU_FN uint32_t dtc_gpu_swap_word(uint32_t x)
{
	x = dtc_gpu_swap_pairs(x);
	return x << 16 | x >> 16;
}

/* Reverse every @swap bytes, as many as there are in 16. */
DTC_GPU_FN void dtc_gpu_swap(struct dtc_gpu_bytes16 *value, uint32_t swap)
{
	struct dtc_gpu_bytes16 from = *value;

	if (swap < 2)
		return;
	DTC_GPU_UNROLL
	for (uint32_t i = 0; i < 4; i++) {
		uint32_t word = swap == 8    ? from.w[i ^ 1]
				: swap == 16 ? from.w[3 - i]
					     : from.w[i];

		value->w[i] = swap == 2 ? dtc_gpu_swap_pairs(word)
					: dtc_gpu_swap_word(word);
	}
}

/* The same of at most 8 bytes. */
DTC_GPU_FN void dtc_gpu_swap_short(struct dtc_gpu_bytes16 *value, uint32_t swap)
{
	uint32_t low = value->w[0], high = value->w[1];

	if (swap < 2)
		return;
	value->w[0] = dtc_gpu_swap_pairs(swap == 8 ? high : low);
	value->w[1] = dtc_gpu_swap_pairs(swap == 8 ? low : high);
	if (swap == 2)
		return;
	value->w[0] = value->w[0] << 16 | value->w[0] >> 16;
	value->w[1] = value->w[1] << 16 | value->w[1] >> 16;
}

/* ---- floating point of 16 bits ----------------------------------------------------------------- */

DTC_GPU_FN uint32_t dtc_gpu_store_bf16(uint32_t bits)
{
	if ((bits & 0x7fffffff) > 0x7f800000)
		return bits >> 16 | 0x40;
	return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

DTC_GPU_FN uint32_t dtc_gpu_load_half(uint32_t kind, uint32_t half)
{
	return kind == DTC_GPU_BF16 ? half << 16 : dtc_gpu_load_f16(half);
}

DTC_GPU_FN uint32_t dtc_gpu_store_half(uint32_t kind, uint32_t bits)
{
	return kind == DTC_GPU_BF16 ? dtc_gpu_store_bf16(bits) : dtc_gpu_store_f16(bits);
}

/* ---- 32 bits ----------------------------------------------------------------------------------- */

DTC_GPU_FN uint32_t dtc_gpu_logical(uint32_t combination, int a, int b)
{
	if (combination == DTC_GPU_LAND)
		return a && b;
	return combination == DTC_GPU_LOR ? a || b : a != b;
}

/*
 * @count words, a constant, of which those in @b become the result: what is to be done is asked once for
 * all of them.
 */
DTC_GPU_FN void dtc_gpu_combine_i32(uint32_t combination, int is_signed, uint32_t count,
				    const uint32_t a[], uint32_t b[])
{
	if (combination == DTC_GPU_SUM) {
		DTC_GPU_UNROLL
		for (uint32_t i = 0; i < count; i++)
			b[i] += a[i];
	} else if (combination == DTC_GPU_PROD) {
		DTC_GPU_UNROLL
		for (uint32_t i = 0; i < count; i++)
			b[i] *= a[i];
	} else if (combination < DTC_GPU_LAND) {
		int least = combination == DTC_GPU_MIN;
		uint32_t sign = is_signed ? 0x80000000u : 0;

		DTC_GPU_UNROLL
		for (uint32_t i = 0; i < count; i++) {
			int less = (a[i] ^ sign) < (b[i] ^ sign);

			b[i] = less == least ? a[i] : b[i];
		}
	} else {
		DTC_GPU_UNROLL
		for (uint32_t i = 0; i < count; i++)
			b[i] = dtc_gpu_logical(combination, a[i] != 0, b[i] != 0);
	}
}

DTC_GPU_FN void dtc_gpu_combine_f32(uint32_t combination, uint32_t count,
				    const uint32_t a[], uint32_t b[])
{
	if (combination == DTC_GPU_SUM) {
		DTC_GPU_UNROLL
		for (uint32_t i = 0; i < count; i++)
			b[i] = dtc_gpu_add_f32(a[i], b[i]);
	} else if (combination == DTC_GPU_PROD) {
		DTC_GPU_UNROLL
		for (uint32_t i = 0; i < count; i++)
			b[i] = dtc_gpu_multiply_f32(a[i], b[i]);
	} else if (combination == DTC_GPU_MIN) {
		DTC_GPU_UNROLL
		for (uint32_t i = 0; i < count; i++)
			b[i] = dtc_gpu_less_f32(a[i], b[i]) ? a[i] : b[i];
	} else {
		DTC_GPU_UNROLL
		for (uint32_t i = 0; i < count; i++)
			b[i] = dtc_gpu_less_f32(b[i], a[i]) ? a[i] : b[i];
	}
}

DTC_GPU_FN uint32_t dtc_gpu_combine_half(uint32_t combination, uint32_t kind, uint32_t a,
					 uint32_t b)
{
	uint32_t x = dtc_gpu_load_half(kind, a), y = dtc_gpu_load_half(kind, b);

	switch (combination) {
	case DTC_GPU_SUM:
		return dtc_gpu_store_half(kind, dtc_gpu_add_f32(x, y));
	case DTC_GPU_PROD:
		return dtc_gpu_store_half(kind, dtc_gpu_multiply_f32(x, y));
	case DTC_GPU_MIN:
		return dtc_gpu_less_f32(x, y) ? a : b;
	default:
		return dtc_gpu_less_f32(y, x) ? a : b;
	}
}

/* Products of complex numbers; each product and each sum is rounded. */
DTC_GPU_FN void dtc_gpu_multiply_c32(const uint32_t a[2], const uint32_t b[2],
				     uint32_t product[2])
{
	product[0] = dtc_gpu_add_f32(dtc_gpu_multiply_f32(a[0], b[0]),
				     dtc_gpu_multiply_f32(a[1], b[1]) ^ 0x80000000u);
	product[1] = dtc_gpu_add_f32(dtc_gpu_multiply_f32(a[0], b[1]),
				     dtc_gpu_multiply_f32(a[1], b[0]));
}

DTC_GPU_CALLED uint32_t dtc_gpu_multiply_c16(uint32_t a, uint32_t b)
{
	const uint32_t x[2] = { dtc_gpu_load_f16(a & 0xffff), dtc_gpu_load_f16(a >> 16) };
	const uint32_t y[2] = { dtc_gpu_load_f16(b & 0xffff), dtc_gpu_load_f16(b >> 16) };
	uint32_t product[2];

	dtc_gpu_multiply_c32(x, y, product);
	return dtc_gpu_store_f16(product[0]) | dtc_gpu_store_f16(product[1]) << 16;
}

/* The lowest @bits of @x with its sign, if it has one. */
DTC_GPU_FN uint32_t dtc_gpu_extend(uint32_t x, uint32_t bits, int is_signed)
{
	uint32_t up = x << (32 - bits);

	return is_signed ? (uint32_t)((int32_t)up >> (32 - bits)) : up >> (32 - bits);
}

DTC_GPU_FN int dtc_gpu_is_signed(uint32_t kind)
{
	return kind <= DTC_GPU_I128;
}

/* Halves: both of a word, where nothing adds or multiplies two at once. */
DTC_GPU_FN void dtc_gpu_combine_single_halves(uint32_t combination, uint32_t kind,
					      uint32_t count, const uint32_t a[],
					      uint32_t b[])
{
	DTC_GPU_UNROLL
	for (uint32_t i = 0; i < count; i++)
		b[i] = dtc_gpu_combine_half(combination, kind, a[i] & 0xffff,
					    b[i] & 0xffff) |
		       dtc_gpu_combine_half(combination, kind, a[i] >> 16, b[i] >> 16)
			       << 16;
}

DTC_GPU_FN void dtc_gpu_combine_f16(uint32_t combination, uint32_t count,
				    const uint32_t a[], uint32_t b[])
{
	if (combination == DTC_GPU_SUM) {
		DTC_GPU_UNROLL
		for (uint32_t i = 0; i < count; i++)
			b[i] = dtc_gpu_add_f16x2(a[i], b[i]);
	} else if (combination == DTC_GPU_PROD) {
		DTC_GPU_UNROLL
		for (uint32_t i = 0; i < count; i++)
			b[i] = dtc_gpu_multiply_f16x2(a[i], b[i]);
	} else {
		dtc_gpu_combine_single_halves(combination, DTC_GPU_F16, count, a, b);
	}
}

DTC_GPU_FN void dtc_gpu_combine_bf16(uint32_t combination, uint32_t count,
				     const uint32_t a[], uint32_t b[])
{
#ifdef DTC_GPU_HAS_BF16X2
	if (combination == DTC_GPU_SUM) {
		DTC_GPU_UNROLL
		for (uint32_t i = 0; i < count; i++)
			b[i] = dtc_gpu_add_bf16x2(a[i], b[i]);
		return;
	}
	if (combination == DTC_GPU_PROD) {
		DTC_GPU_UNROLL
		for (uint32_t i = 0; i < count; i++)
			b[i] = dtc_gpu_multiply_bf16x2(a[i], b[i]);
		return;
	}
#endif
	dtc_gpu_combine_single_halves(combination, DTC_GPU_BF16, count, a, b);
}

/* ---- short integers, as many as there are in 32 bits -------------------------------------------- */

/* The highest bit of every lane of 8 or 16 bits. */
DTC_GPU_FN uint32_t dtc_gpu_lane_tops(uint32_t bits)
{
	return bits == 8 ? 0x80808080u : 0x80008000u;
}

/* All bits of every lane whose highest bit is set; no other bit is. */
DTC_GPU_FN uint32_t dtc_gpu_fill_lanes(uint32_t tops, uint32_t bits)
{
	return (tops << 1) - (tops >> (bits - 1));
}

/* No carry leaves a lane: its highest bit is added by itself. */
DTC_GPU_FN uint32_t dtc_gpu_add_lanes(uint32_t tops, uint32_t a, uint32_t b)
{
	return ((a & ~tops) + (b & ~tops)) ^ ((a ^ b) & tops);
}

/* The highest bit of every lane in which a < b. */
DTC_GPU_FN uint32_t dtc_gpu_less_lanes(uint32_t tops, int is_signed, uint32_t a,
				       uint32_t b)
{
	uint32_t sign = is_signed ? tops : 0;
	uint32_t x = a ^ sign, y = b ^ sign;
	uint32_t rest = (x | tops) - (y & ~tops);

	return ((~x & y) | (~(x ^ y) & ~rest)) & tops;
}

/* The highest bit of every lane that is not 0. */
DTC_GPU_FN uint32_t dtc_gpu_any_lanes(uint32_t tops, uint32_t a)
{
	return (((a & ~tops) + ~tops) | a) & tops;
}

DTC_GPU_FN uint32_t dtc_gpu_logical_lanes(uint32_t combination, uint32_t tops,
					  uint32_t bits, uint32_t a, uint32_t b)
{
	uint32_t x = dtc_gpu_any_lanes(tops, a), y = dtc_gpu_any_lanes(tops, b);
	uint32_t both = combination == DTC_GPU_LAND  ? x & y
			: combination == DTC_GPU_LOR ? x | y
						     : x ^ y;

	return both >> (bits - 1);
}

DTC_GPU_CALLED uint32_t dtc_gpu_multiply_lanes(uint32_t bits, uint32_t a, uint32_t b)
{
	uint32_t result = 0;

	DTC_GPU_NO_UNROLL
	for (uint32_t at = 0; at < 32; at += bits)
		result |= dtc_gpu_extend((a >> at) * (b >> at), bits, 0) << at;
	return result;
}

DTC_GPU_FN void dtc_gpu_combine_lanes(uint32_t combination, int is_signed, uint32_t bits,
				      uint32_t count, const uint32_t a[], uint32_t b[])
{
	uint32_t tops = dtc_gpu_lane_tops(bits);

	if (combination == DTC_GPU_SUM) {
		DTC_GPU_UNROLL
		for (uint32_t i = 0; i < count; i++)
			b[i] = dtc_gpu_add_lanes(tops, a[i], b[i]);
	} else if (combination == DTC_GPU_PROD) {
		DTC_GPU_UNROLL
		for (uint32_t i = 0; i < count; i++)
			b[i] = dtc_gpu_multiply_lanes(bits, a[i], b[i]);
	} else if (combination >= DTC_GPU_LAND) {
		DTC_GPU_UNROLL
		for (uint32_t i = 0; i < count; i++)
			b[i] = dtc_gpu_logical_lanes(combination, tops, bits, a[i], b[i]);
	} else {
		uint32_t other = combination == DTC_GPU_MIN ? 0 : ~0u;

		DTC_GPU_UNROLL
		for (uint32_t i = 0; i < count; i++) {
			uint32_t taken =
				dtc_gpu_fill_lanes(dtc_gpu_less_lanes(tops, is_signed,
								      a[i], b[i]),
						   bits) ^
				other;

			b[i] = (a[i] & taken) | (b[i] & ~taken);
		}
	}
}

DTC_GPU_FN void dtc_gpu_combine_words(uint32_t combination, uint32_t kind, uint32_t count,
				      const uint32_t a[], uint32_t b[])
{
	switch (kind) {
	case DTC_GPU_I32:
	case DTC_GPU_U32:
		dtc_gpu_combine_i32(combination, kind == DTC_GPU_I32, count, a, b);
		break;
	case DTC_GPU_F32:
		dtc_gpu_combine_f32(combination, count, a, b);
		break;
	case DTC_GPU_C16:
		DTC_GPU_UNROLL
		for (uint32_t i = 0; i < count; i++)
			b[i] = dtc_gpu_multiply_c16(a[i], b[i]);
		break;
	case DTC_GPU_F16:
		dtc_gpu_combine_f16(combination, count, a, b);
		break;
	case DTC_GPU_BF16:
		dtc_gpu_combine_bf16(combination, count, a, b);
		break;
	case DTC_GPU_I8:
	case DTC_GPU_U8:
		dtc_gpu_combine_lanes(combination, kind == DTC_GPU_I8, 8, count, a, b);
		break;
	default:
		dtc_gpu_combine_lanes(combination, kind == DTC_GPU_I16, 16, count, a, b);
	}
}

/* ---- 64 bits ----------------------------------------------------------------------------------- */

DTC_GPU_FN uint64_t dtc_gpu_pair(const uint32_t w[2])
{
	return (uint64_t)w[1] << 32 | w[0];
}

DTC_GPU_FN void dtc_gpu_set_pair(uint32_t w[2], uint64_t value)
{
	w[0] = (uint32_t)value;
	w[1] = (uint32_t)(value >> 32);
}

DTC_GPU_FN uint64_t dtc_gpu_combine_i64(uint32_t combination, int is_signed, uint64_t a,
					uint64_t b)
{
	int less = is_signed ? (int64_t)a < (int64_t)b : a < b;

	switch (combination) {
	case DTC_GPU_SUM:
		return a + b;
	case DTC_GPU_PROD:
		return a * b;
	case DTC_GPU_MIN:
		return less ? a : b;
	case DTC_GPU_MAX:
		return less ? b : a;
	default:
		return dtc_gpu_logical(combination, a != 0, b != 0);
	}
}

DTC_GPU_FN uint64_t dtc_gpu_combine_f64(uint32_t combination, uint64_t a, uint64_t b)
{
	switch (combination) {
	case DTC_GPU_SUM:
		return dtc_gpu_add_f64(a, b);
	case DTC_GPU_PROD:
		return dtc_gpu_multiply_f64(a, b);
	case DTC_GPU_MIN:
		return dtc_gpu_less_f64(a, b) ? a : b;
	default:
		return dtc_gpu_less_f64(b, a) ? a : b;
	}
}

/* @b becomes the result. */
DTC_GPU_FN void dtc_gpu_combine_pair(uint32_t combination, uint32_t kind,
				     const uint32_t a[2], uint32_t b[2])
{
	uint32_t product[2];

	if (kind == DTC_GPU_C32) {
		dtc_gpu_multiply_c32(a, b, product);
		b[0] = product[0];
		b[1] = product[1];
	} else if (kind == DTC_GPU_F64) {
		dtc_gpu_set_pair(b, dtc_gpu_combine_f64(combination, dtc_gpu_pair(a),
							dtc_gpu_pair(b)));
	} else {
		dtc_gpu_set_pair(b,
				 dtc_gpu_combine_i64(combination, kind == DTC_GPU_I64,
						     dtc_gpu_pair(a), dtc_gpu_pair(b)));
	}
}

/* ---- 128 bits ---------------------------------------------------------------------------------- */

DTC_GPU_FN int dtc_gpu_less_i128(uint64_t a_low, uint64_t a_high, uint64_t b_low,
				 uint64_t b_high)
{
	return a_high == b_high ? a_low < b_low : (int64_t)a_high < (int64_t)b_high;
}

DTC_GPU_FN void dtc_gpu_combine_i128(uint32_t combination,
				     const struct dtc_gpu_bytes16 *a,
				     struct dtc_gpu_bytes16 *b)
{
	uint64_t a_low = dtc_gpu_pair(a->w), a_high = dtc_gpu_pair(a->w + 2);
	uint64_t b_low = dtc_gpu_pair(b->w), b_high = dtc_gpu_pair(b->w + 2);
	uint64_t low = a_low + b_low;
	uint64_t high = a_high + b_high + (low < a_low);
	int less = dtc_gpu_less_i128(a_low, a_high, b_low, b_high);

	if (combination == DTC_GPU_PROD) {
		low = a_low * b_low;
		high = dtc_gpu_multiply_high(a_low, b_low) + a_low * b_high +
		       a_high * b_low;
	} else if (combination != DTC_GPU_SUM) {
		int a_wins = combination == DTC_GPU_MIN ? less : !less;

		low = a_wins ? a_low : b_low;
		high = a_wins ? a_high : b_high;
	}
	dtc_gpu_set_pair(b->w, low);
	dtc_gpu_set_pair(b->w + 2, high);
}

DTC_GPU_FN void dtc_gpu_multiply_c64(const struct dtc_gpu_bytes16 *a,
				     struct dtc_gpu_bytes16 *b)
{
	uint64_t a_re = dtc_gpu_pair(a->w), a_im = dtc_gpu_pair(a->w + 2);
	uint64_t b_re = dtc_gpu_pair(b->w), b_im = dtc_gpu_pair(b->w + 2);

	dtc_gpu_set_pair(b->w, dtc_gpu_add_f64(dtc_gpu_multiply_f64(a_re, b_re),
					       dtc_gpu_multiply_f64(a_im, b_im) ^
						       (uint64_t)1 << 63));
	dtc_gpu_set_pair(b->w + 2, dtc_gpu_add_f64(dtc_gpu_multiply_f64(a_re, b_im),
						   dtc_gpu_multiply_f64(a_im, b_re)));
}

/* ---- any --------------------------------------------------------------------------------------- */

DTC_GPU_FN uint32_t dtc_gpu_combine_bits(uint32_t combination, uint32_t a, uint32_t b)
{
	if (combination == DTC_GPU_BAND)
		return a & b;
	return combination == DTC_GPU_BOR ? a | b : a ^ b;
}

/* All numbers in 16 bytes: @a has arrived, @b is in memory. What is no number combines to anything. */
DTC_GPU_CALLED struct dtc_gpu_bytes16 dtc_gpu_combine(uint32_t combination, uint32_t kind,
						      struct dtc_gpu_bytes16 a,
						      struct dtc_gpu_bytes16 b)
{
	if (combination >= DTC_GPU_BAND) {
		DTC_GPU_UNROLL
		for (uint32_t i = 0; i < 4; i++)
			b.w[i] = dtc_gpu_combine_bits(combination, a.w[i], b.w[i]);
	} else if (kind == DTC_GPU_I128) {
		dtc_gpu_combine_i128(combination, &a, &b);
	} else if (kind == DTC_GPU_C64) {
		dtc_gpu_multiply_c64(&a, &b);
	} else if (kind == DTC_GPU_I64 || kind == DTC_GPU_U64 || kind == DTC_GPU_F64 ||
		   kind == DTC_GPU_C32) {
		dtc_gpu_combine_pair(combination, kind, a.w, b.w);
		dtc_gpu_combine_pair(combination, kind, a.w + 2, b.w + 2);
	} else {
		dtc_gpu_combine_words(combination, kind, 4, a.w, b.w);
	}
	return b;
}

/* The same in 8 bytes. */
DTC_GPU_CALLED uint64_t dtc_gpu_combine_short(uint32_t combination, uint32_t kind,
					      uint64_t a, uint64_t b)
{
	const uint32_t x[2] = { (uint32_t)a, (uint32_t)(a >> 32) };
	uint32_t y[2] = { (uint32_t)b, (uint32_t)(b >> 32) };

	if (combination >= DTC_GPU_BAND) {
		y[0] = dtc_gpu_combine_bits(combination, x[0], y[0]);
		y[1] = dtc_gpu_combine_bits(combination, x[1], y[1]);
	} else if (kind == DTC_GPU_I64 || kind == DTC_GPU_U64 || kind == DTC_GPU_F64 ||
		   kind == DTC_GPU_C32) {
		dtc_gpu_combine_pair(combination, kind, x, y);
	} else {
		dtc_gpu_combine_words(combination, kind, 2, x, y);
	}
	return dtc_gpu_pair(y);
}

/* ---- order ------------------------------------------------------------------------------------- */

DTC_GPU_FN int dtc_gpu_is_less_small(uint32_t kind, uint32_t bits, uint32_t a, uint32_t b)
{
	if (dtc_gpu_is_signed(kind))
		return (int32_t)dtc_gpu_extend(a, bits, 1) <
		       (int32_t)dtc_gpu_extend(b, bits, 1);
	return dtc_gpu_extend(a, bits, 0) < dtc_gpu_extend(b, bits, 0);
}

/* Whether the first number in @a is less than the one in @b. */
DTC_GPU_CALLED int dtc_gpu_is_less(uint32_t kind, struct dtc_gpu_bytes16 a,
				   struct dtc_gpu_bytes16 b)
{
	switch (kind) {
	case DTC_GPU_I8:
	case DTC_GPU_U8:
		return dtc_gpu_is_less_small(kind, 8, a.w[0], b.w[0]);
	case DTC_GPU_I16:
	case DTC_GPU_U16:
		return dtc_gpu_is_less_small(kind, 16, a.w[0], b.w[0]);
	case DTC_GPU_I32:
	case DTC_GPU_U32:
		return dtc_gpu_is_less_small(kind, 32, a.w[0], b.w[0]);
	case DTC_GPU_I64:
		return (int64_t)dtc_gpu_pair(a.w) < (int64_t)dtc_gpu_pair(b.w);
	case DTC_GPU_U64:
		return dtc_gpu_pair(a.w) < dtc_gpu_pair(b.w);
	case DTC_GPU_I128:
		return dtc_gpu_less_i128(dtc_gpu_pair(a.w), dtc_gpu_pair(a.w + 2),
					 dtc_gpu_pair(b.w), dtc_gpu_pair(b.w + 2));
	case DTC_GPU_F32:
		return dtc_gpu_less_f32(a.w[0], b.w[0]);
	case DTC_GPU_F64:
		return dtc_gpu_less_f64(dtc_gpu_pair(a.w), dtc_gpu_pair(b.w));
	default:
		return dtc_gpu_less_f32(dtc_gpu_load_half(kind, a.w[0] & 0xffff),
					dtc_gpu_load_half(kind, b.w[0] & 0xffff));
	}
}

/* Two numbers of at most 8 bytes, compared. */
#define DTC_GPU_EQUAL     0
#define DTC_GPU_LESS      1
#define DTC_GPU_GREATER   2
#define DTC_GPU_UNORDERED 3

DTC_GPU_FN uint32_t dtc_gpu_ranks(int less, int greater)
{
	return less ? DTC_GPU_LESS : greater ? DTC_GPU_GREATER : DTC_GPU_EQUAL;
}

DTC_GPU_FN uint32_t dtc_gpu_order_f32(uint32_t a, uint32_t b)
{
	if ((a & 0x7fffffff) > 0x7f800000 || (b & 0x7fffffff) > 0x7f800000)
		return DTC_GPU_UNORDERED;
	return dtc_gpu_ranks(dtc_gpu_less_f32(a, b), dtc_gpu_less_f32(b, a));
}

DTC_GPU_FN uint32_t dtc_gpu_order_f64(uint64_t a, uint64_t b)
{
	const uint64_t infinity = (uint64_t)0x7ff << 52;

	if (a << 1 > infinity << 1 || b << 1 > infinity << 1)
		return DTC_GPU_UNORDERED;
	return dtc_gpu_ranks(dtc_gpu_less_f64(a, b), dtc_gpu_less_f64(b, a));
}

DTC_GPU_FN uint32_t dtc_gpu_order(uint32_t kind, uint64_t a, uint64_t b)
{
	uint32_t x = (uint32_t)a, y = (uint32_t)b;

	switch (kind) {
	case DTC_GPU_I32:
		return dtc_gpu_ranks((int32_t)x < (int32_t)y, (int32_t)y < (int32_t)x);
	case DTC_GPU_U32:
		return dtc_gpu_ranks(x < y, y < x);
	case DTC_GPU_I64:
		return dtc_gpu_ranks((int64_t)a < (int64_t)b, (int64_t)b < (int64_t)a);
	case DTC_GPU_U64:
		return dtc_gpu_ranks(a < b, b < a);
	case DTC_GPU_F32:
		return dtc_gpu_order_f32(x, y);
	default:
		return dtc_gpu_order_f64(a, b);
	}
}

/* A NaN is neither less nor equal. */
DTC_GPU_FN int dtc_gpu_is_number(uint32_t kind, const struct dtc_gpu_bytes16 *a)
{
	switch (kind) {
	case DTC_GPU_F16:
	case DTC_GPU_BF16:
		return (dtc_gpu_load_half(kind, a->w[0] & 0xffff) & 0x7fffffff) <=
		       0x7f800000;
	case DTC_GPU_F32:
		return (a->w[0] & 0x7fffffff) <= 0x7f800000;
	case DTC_GPU_F64:
		return (dtc_gpu_pair(a->w) & ~((uint64_t)1 << 63)) <= (uint64_t)0x7ff
									      << 52;
	default:
		return 1;
	}
}

#endif
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Class typed: numbers are converted and combined on their way. Numbers of one kind in a nest are
 * moved by words where both sides are aligned to them. Other kinds, lengths and alignments are moved by
 * cells, in a nest or in periods that are all alike. What is left goes number by number, each looked
 * for in the stream's nodes and by a walk through the program. No two threads store to one number.
 */
#ifndef DTC_KERNELS_GPU_TYPED_CU_H
#define DTC_KERNELS_GPU_TYPED_CU_H

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Numbers of one kind in a nest or in periods, moved by words where both sides are aligned to them.
 */
#ifndef DTC_KERNELS_GPU_NUMBER_WORDS_CU_H
#define DTC_KERNELS_GPU_NUMBER_WORDS_CU_H

/* ---- words of numbers ------------------------------------------------------------------------ */

/* The words have one size in a launch: which one, a branch decides that all threads take. */
DTC_GPU_FN void dtc_gpu_pack_numbers(const struct dtc_gpu_numbers_params *p,
				     const uint64_t user[], uint64_t packed,
				     uint64_t left)
{
	struct dtc_gpu_bytes16 value[DTC_GPU_NUMBER_WORDS] = { { { 0, 0, 0, 0 } } };
	uint32_t word = p->nest.word;

	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_NUMBER_WORDS; k++)
		if (k * DTC_GPU_BLOCK < left)
			dtc_gpu_load_word(user[k], word, &value[k]);
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_NUMBER_WORDS; k++)
		if (k * DTC_GPU_BLOCK < left) {
			dtc_gpu_swap(&value[k], p->number.swap);
			dtc_gpu_store_word(packed + k * DTC_GPU_BLOCK * word, word,
					   &value[k]);
		}
}

DTC_GPU_FN void dtc_gpu_unpack_numbers(const struct dtc_gpu_numbers_params *p,
				       const uint64_t user[], uint64_t packed,
				       uint64_t left)
{
	struct dtc_gpu_bytes16 incoming[DTC_GPU_NUMBER_WORDS] = { { { 0, 0, 0, 0 } } };
	struct dtc_gpu_bytes16 target[DTC_GPU_NUMBER_WORDS] = { { { 0, 0, 0, 0 } } };
	uint32_t combination = p->combination, word = p->nest.word;

	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_NUMBER_WORDS; k++)
		if (k * DTC_GPU_BLOCK < left) {
			dtc_gpu_load_word(packed + k * DTC_GPU_BLOCK * word, word,
					  &incoming[k]);
			if (combination != DTC_GPU_REPLACE)
				dtc_gpu_load_word(user[k], word, &target[k]);
		}
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_NUMBER_WORDS; k++)
		if (k * DTC_GPU_BLOCK < left) {
			dtc_gpu_swap(&incoming[k], p->number.swap);
			if (combination != DTC_GPU_REPLACE)
				incoming[k] = dtc_gpu_combine(combination, p->number.kind,
							      incoming[k], target[k]);
			dtc_gpu_store_word(user[k], word, &incoming[k]);
		}
}

/* A tile of words; @direction is a constant, and so is what is particular about the levels. */
DTC_GPU_FN void dtc_gpu_move_numbers(const struct dtc_gpu_numbers_params *p,
				     const struct dtc_gpu_levels *levels,
				     struct dtc_gpu_at at, int direction)
{
	const struct dtc_gpu_nest *nest = &p->nest;
	uint32_t word = nest->word;
	uint64_t unit = nest->begin / word +
			(uint64_t)at.block * (DTC_GPU_NUMBER_WORDS * DTC_GPU_BLOCK);
	uint64_t last = nest->end / word;
	uint64_t left = last > unit + at.thread ? last - unit - at.thread : 0;
	uint64_t packed = nest->packed + (unit + at.thread) * word;
	struct dtc_gpu_start start;
	struct dtc_gpu_place place[8];
	uint64_t user[8];
	uint32_t ahead[8];

	if (!left)
		return;
	dtc_gpu_split(nest, unit, DTC_GPU_PLAIN, &start);
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_NUMBER_WORDS; k++)
		ahead[k] = at.thread + (k * DTC_GPU_BLOCK < left ? k * DTC_GPU_BLOCK : 0);
	dtc_gpu_locate_all(nest, &start, DTC_GPU_PLAIN, DTC_GPU_NUMBER_WORDS, ahead,
			   place);
	dtc_gpu_unit_addresses(levels, DTC_GPU_NUMBER_WORDS, place, word, user);
	if (direction == DTC_GPU_PACK)
		dtc_gpu_pack_numbers(p, user, packed, left);
	else
		dtc_gpu_unpack_numbers(p, user, packed, left);
}

DTC_GPU_FN void dtc_gpu_move_plain_numbers(const struct dtc_gpu_numbers_params *p,
					   struct dtc_gpu_at at, int direction)
{
	struct dtc_gpu_levels levels;

	dtc_gpu_plain_levels(&levels);
	dtc_gpu_move_numbers(p, &levels, at, direction);
}

DTC_GPU_FN void dtc_gpu_numbers_pack_phase(const struct dtc_gpu_numbers_params *p,
					   void *shared, struct dtc_gpu_at at)
{
	(void)shared;
	dtc_gpu_move_plain_numbers(p, at, DTC_GPU_PACK);
}

DTC_GPU_FN void dtc_gpu_numbers_unpack_phase(const struct dtc_gpu_numbers_params *p,
					     void *shared, struct dtc_gpu_at at)
{
	(void)shared;
	dtc_gpu_move_plain_numbers(p, at, DTC_GPU_UNPACK);
}

/* ---- the same words in periods ------------------------------------------------------------------- */

/*
 * Bytes of a word in the other order, by digits that name them: the lower four for the first half of 8
 * bytes, the upper four for the second one. Words of 16 bytes are two such; bit 3 exchanges them.
 */
DTC_GPU_FN uint32_t dtc_gpu_turn_selector(uint32_t swap)
{
	if (swap < 2)
		return 0x76543210u;
	if (swap == 2)
		return 0x67452301u;
	if (swap == 4)
		return 0x45670123u;
	return swap == 8 ? 0x01234567u : 0x0123456fu;
}

DTC_GPU_FN void dtc_gpu_turn_pair(uint32_t w[2], uint32_t selector)
{
	uint32_t low = w[0], high = w[1];

	w[0] = dtc_gpu_permute(low, high, selector & 0x7777u);
	w[1] = dtc_gpu_permute(low, high, selector >> 16);
}

/* @word is a constant. */
DTC_GPU_FN void dtc_gpu_turn_word(struct dtc_gpu_bytes16 *value, uint32_t word,
				  uint32_t selector)
{
	struct dtc_gpu_bytes16 from = *value;
	uint32_t other = word == 16 && (selector & 8) ? 2 : 0;

	if (word == 4) {
		value->w[0] = dtc_gpu_permute(from.w[0], from.w[0], selector & 0x3333u);
		return;
	}
	value->w[0] = other ? from.w[2] : from.w[0];
	value->w[1] = other ? from.w[3] : from.w[1];
	dtc_gpu_turn_pair(value->w, selector);
	if (word == 8)
		return;
	value->w[2] = other ? from.w[0] : from.w[2];
	value->w[3] = other ? from.w[1] : from.w[3];
	dtc_gpu_turn_pair(value->w + 2, selector);
}

/* Word @place, a byte of the packed period, as the user has it: longer numbers' words change places. */
DTC_GPU_FN struct dtc_gpu_turned_word dtc_gpu_turned_word_of(
	const struct dtc_gpu_turned_run *run, uint32_t place, uint32_t word)
{
	uint32_t ahead = place - run->packed;
	struct dtc_gpu_turned_word turned;

	if (run->swap > word)
		ahead ^= run->swap - word;
	turned.disp = run->disp + (int32_t)ahead;
	turned.selector = dtc_gpu_turn_selector(run->swap > word ? word : run->swap);
	return turned;
}

/* Shared memory: where every word of a period is, and what becomes of it if it is turned. */
DTC_GPU_FN void dtc_gpu_period_map(const struct dtc_gpu_period_params *p, void *shared,
				   struct dtc_gpu_at at)
{
	uint32_t word = p->numbers.nest.word;

	for (uint32_t i = at.thread; i < p->numbers.nest.dims[0].count;
	     i += DTC_GPU_BLOCK) {
		uint32_t low = 0;
		uint32_t n = p->run_count;

		while (n > 1) {
			uint32_t half = n / 2;

			low += p->runs[low + half].packed <= i * word ? half : 0;
			n -= half;
		}
		if (p->turned)
			((struct dtc_gpu_turned_word *)shared)[i] =
				dtc_gpu_turned_word_of(&p->runs[low], i * word, word);
		else
			((int32_t *)shared)[i] =
				p->runs[low].disp +
				(int32_t)(i * word - p->runs[low].packed);
	}
}

/* As dtc_gpu_transfer. */
DTC_GPU_FN void dtc_gpu_transfer_turned(const uint64_t user[], const uint32_t selector[],
					uint64_t packed, uint32_t word, uint32_t count,
					uint64_t left, int direction)
{
	struct dtc_gpu_bytes16 value[8];

	dtc_gpu_load_words(user, packed, word, count, left, direction, value);
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < count; k++)
		if (k * DTC_GPU_BLOCK < left) {
			dtc_gpu_turn_word(&value[k], word, selector[k]);
			dtc_gpu_store_word(direction == DTC_GPU_PACK
						   ? packed + k * DTC_GPU_BLOCK * word
						   : user[k],
					   word, &value[k]);
		}
}

/* A tile of words that are turned; @word and @direction are constants. */
DTC_GPU_FN void dtc_gpu_move_turned(const struct dtc_gpu_nest *nest,
				    const struct dtc_gpu_turned_word *map, uint32_t word,
				    struct dtc_gpu_at at, int direction)
{
	const uint32_t words = DTC_GPU_WORDS(word);
	uint64_t unit = nest->begin / word + (uint64_t)at.block * (words * DTC_GPU_BLOCK);
	uint64_t last = nest->end / word;
	uint64_t left = last > unit + at.thread ? last - unit - at.thread : 0;
	uint64_t packed = nest->packed + (unit + at.thread) * word;
	uint32_t ahead[8], selector[8];
	struct dtc_gpu_place place[8];
	struct dtc_gpu_start start;
	uint64_t user[8];

	if (!left)
		return;
	dtc_gpu_split(nest, unit, DTC_GPU_PLAIN, &start);
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < words; k++)
		ahead[k] = at.thread + (k * DTC_GPU_BLOCK < left ? k * DTC_GPU_BLOCK : 0);
	dtc_gpu_locate_all(nest, &start, DTC_GPU_PLAIN, words, ahead, place);
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < words; k++) {
		struct dtc_gpu_turned_word turned = map[place[k].index];

		user[k] = place[k].address + (uint64_t)(int64_t)turned.disp;
		selector[k] = turned.selector;
	}
	dtc_gpu_transfer_turned(user, selector, packed, word, words, left, direction);
}

DTC_GPU_FN void dtc_gpu_move_period(const struct dtc_gpu_period_params *p,
				    const void *shared, struct dtc_gpu_at at,
				    int direction)
{
	const struct dtc_gpu_turned_word *turned =
		(const struct dtc_gpu_turned_word *)shared;
	const struct dtc_gpu_nest *nest = &p->numbers.nest;
	struct dtc_gpu_levels levels;

	if (p->turned && nest->word == 4) {
		dtc_gpu_move_turned(nest, turned, 4, at, direction);
	} else if (p->turned && nest->word == 8) {
		dtc_gpu_move_turned(nest, turned, 8, at, direction);
	} else if (p->turned) {
		dtc_gpu_move_turned(nest, turned, 16, at, direction);
	} else {
		dtc_gpu_plain_levels(&levels);
		levels.form = DTC_GPU_MAPPED;
		levels.map = (const int32_t *)shared;
		dtc_gpu_move_numbers(&p->numbers, &levels, at, direction);
	}
}

DTC_GPU_FN void dtc_gpu_period_pack_phase(const struct dtc_gpu_period_params *p,
					  void *shared, struct dtc_gpu_at at)
{
	dtc_gpu_move_period(p, shared, at, DTC_GPU_PACK);
}

DTC_GPU_FN void dtc_gpu_period_unpack_phase(const struct dtc_gpu_period_params *p,
					    void *shared, struct dtc_gpu_at at)
{
	dtc_gpu_move_period(p, shared, at, DTC_GPU_UNPACK);
}

#endif
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Single numbers at any alignment, and their conversion.
 */
#ifndef DTC_KERNELS_GPU_NUMBER_VALUE_CU_H
#define DTC_KERNELS_GPU_NUMBER_VALUE_CU_H

/* ---- single numbers, anywhere ------------------------------------------------------------------ */

/* @bytes is a power of two; numbers that are not aligned to it cost more. */
DTC_GPU_CALLED struct dtc_gpu_bytes16 dtc_gpu_load_number(uint64_t address,
							  uint32_t bytes)
{
	struct dtc_gpu_bytes16 value = { { 0, 0, 0, 0 } };

	if ((uint32_t)address & (bytes - 1))
		return dtc_gpu_gather(address, bytes);
	dtc_gpu_load_word(address, bytes, &value);
	return value;
}

DTC_GPU_CALLED void dtc_gpu_store_number(uint64_t address, uint32_t bytes,
					 struct dtc_gpu_bytes16 value)
{
	if ((uint32_t)address & (bytes - 1))
		dtc_gpu_scatter(address, value, bytes);
	else
		dtc_gpu_store_word(address, bytes, &value);
}

/* ---- conversion ---------------------------------------------------------------------------------- */

/* An integer of @from bytes, 8 at most, as one of @to; returns whether it fits. */
DTC_GPU_FN int dtc_gpu_resize(struct dtc_gpu_bytes16 *value, uint32_t from, uint32_t to,
			      int is_signed)
{
	uint32_t unused = 64 - 8 * from, lost = 64 - 8 * to;
	uint64_t up = dtc_gpu_pair(value->w) << unused;
	uint64_t number = is_signed ? (uint64_t)((int64_t)up >> unused) : up >> unused;
	uint64_t cut = number << lost;

	dtc_gpu_set_pair(value->w, number);
	return (is_signed ? (uint64_t)((int64_t)cut >> lost) : cut >> lost) == number;
}

/* From memory to the stream; @fits is cleared if it does not. */
DTC_GPU_FN void dtc_gpu_encode_number(const struct dtc_gpu_number *number,
				      struct dtc_gpu_bytes16 *value, int *fits)
{
	if (number->native_bytes != number->wire_bytes)
		*fits &= dtc_gpu_resize(value, number->native_bytes, number->wire_bytes,
					number->is_signed);
	dtc_gpu_swap(value, number->swap);
}

DTC_GPU_FN void dtc_gpu_decode_number(const struct dtc_gpu_number *number,
				      struct dtc_gpu_bytes16 *value, int *fits)
{
	dtc_gpu_swap(value, number->swap);
	if (number->native_bytes != number->wire_bytes)
		*fits &= dtc_gpu_resize(value, number->wire_bytes, number->native_bytes,
					number->is_signed);
}

#endif
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Numbers of other kinds, lengths and alignments, moved by cells: in a nest, or in periods that are all
 * alike.
 */
#ifndef DTC_KERNELS_GPU_CELLS_CU_H
#define DTC_KERNELS_GPU_CELLS_CU_H

/* ---- cells ------------------------------------------------------------------------------------------- */

/* As dtc_gpu_encode_number and dtc_gpu_decode_number, of at most 8 bytes. */
DTC_GPU_FN void dtc_gpu_encode_cell(const struct dtc_gpu_number *number,
				    struct dtc_gpu_bytes16 *value, int *fits)
{
	if (number->native_bytes != number->wire_bytes)
		*fits &= dtc_gpu_resize(value, number->native_bytes, number->wire_bytes,
					number->is_signed);
	dtc_gpu_swap_short(value, number->swap);
}

DTC_GPU_FN void dtc_gpu_decode_cell(const struct dtc_gpu_number *number,
				    struct dtc_gpu_bytes16 *value, int *fits)
{
	dtc_gpu_swap_short(value, number->swap);
	if (number->native_bytes != number->wire_bytes)
		*fits &= dtc_gpu_resize(value, number->wire_bytes, number->native_bytes,
					number->is_signed);
}

/* The aligned words that hold a cell. Fetched first, looked at later: loads overlap. */
struct dtc_gpu_loose {
	uint64_t low, high;
	uint32_t offset; /* of the first byte */
};

DTC_GPU_FN void dtc_gpu_fetch_loose(uint64_t address, uint32_t bytes,
				    struct dtc_gpu_loose *loose)
{
	loose->offset = (uint32_t)address & 7;
	loose->low = dtc_gpu_load8(address - loose->offset);
	loose->high = 0;
	if (loose->offset + bytes > 8)
		loose->high = dtc_gpu_load8(address - loose->offset + 8);
}

/* Behind the cell is anything. */
DTC_GPU_FN uint64_t dtc_gpu_loose_bits(const struct dtc_gpu_loose *loose)
{
	uint32_t bits = 8 * loose->offset;

	return bits ? loose->low >> bits | loose->high << (64 - bits) : loose->low;
}

DTC_GPU_FN struct dtc_gpu_bytes16 dtc_gpu_loose_value(const struct dtc_gpu_loose *loose)
{
	uint64_t all = dtc_gpu_loose_bits(loose);
	struct dtc_gpu_bytes16 value = { { (uint32_t)all, (uint32_t)(all >> 32), 0, 0 } };

	return value;
}

DTC_GPU_FN void dtc_gpu_store_cell(uint64_t address, uint32_t bytes, uint64_t value)
{
	if (bytes == 8)
		dtc_gpu_store8(address, (uint32_t)value, (uint32_t)(value >> 32));
	else if (bytes == 4)
		dtc_gpu_store4(address, (uint32_t)value);
	else if (bytes == 2)
		dtc_gpu_store2(address, (uint32_t)value);
	else
		dtc_gpu_store1(address, (uint32_t)value);
}

/* Aligned, or in two aligned halves, or as it comes. */
DTC_GPU_FN void dtc_gpu_store_loose(uint64_t address, uint32_t bytes,
				    const struct dtc_gpu_bytes16 *value)
{
	uint64_t bits = dtc_gpu_pair(value->w);
	uint32_t odd = (uint32_t)address & (bytes - 1);

	if (!odd) {
		dtc_gpu_store_cell(address, bytes, bits);
	} else if (2 * odd == bytes) {
		dtc_gpu_store_cell(address, odd, bits);
		dtc_gpu_store_cell(address + odd, odd, bits >> (8 * odd));
	} else {
		dtc_gpu_scatter_most(address, *value, bytes, DTC_GPU_CELL_BYTES);
	}
}

/* The row that holds cell @number of a period. */
DTC_GPU_FN uint32_t dtc_gpu_row_of(const struct dtc_gpu_cells_params *p, uint32_t number)
{
	uint32_t low = 0;
	uint32_t n = p->row_count;

	while (n > 1) {
		uint32_t half = n / 2;

		low += p->rows[low + half].first <= number ? half : 0;
		n -= half;
	}
	return low;
}

DTC_GPU_FN struct dtc_gpu_cell dtc_gpu_cell_of(const struct dtc_gpu_cells_params *p,
					       uint32_t number)
{
	struct dtc_gpu_cell cell = p->rows[dtc_gpu_row_of(p, number)];
	uint32_t ahead = number - cell.first;

	cell.disp += (int32_t)(ahead * cell.number.native_bytes);
	cell.wire = (uint16_t)(cell.wire + ahead * cell.number.wire_bytes);
	return cell;
}

/* Shared memory: every cell of a period. */
DTC_GPU_FN void dtc_gpu_cells_map(const struct dtc_gpu_cells_params *p, void *shared,
				  struct dtc_gpu_at at)
{
	struct dtc_gpu_cell *map = (struct dtc_gpu_cell *)shared;

	if (!p->row_count)
		return;
	for (uint32_t i = at.thread; i < p->nest.dims[0].count; i += DTC_GPU_BLOCK)
		map[i] = dtc_gpu_cell_of(p, i);
}

/* A cell and both its addresses. */
struct dtc_gpu_cell_at {
	uint64_t user;
	uint64_t packed;
	struct dtc_gpu_number number;
};

/* Cell @position, at a place of the nest; @periods are before the tile's. */
DTC_GPU_FN void dtc_gpu_find_cell(const struct dtc_gpu_cells_params *p,
				  const struct dtc_gpu_cell *map, uint64_t position,
				  uint64_t periods, const struct dtc_gpu_place *place,
				  struct dtc_gpu_cell_at *found)
{
	if (p->row_count) {
		struct dtc_gpu_cell cell = map[place->index];

		found->number = cell.number;
		found->user = place->address + (uint64_t)(int64_t)cell.disp;
		found->packed = p->nest.packed +
				(periods + place->carried) * p->wire_bytes + cell.wire;
	} else {
		found->number = p->rows[0].number;
		found->user = place->address +
			      (uint64_t)place->index * p->rows[0].number.native_bytes;
		found->packed = p->nest.packed + position * p->wire_bytes;
	}
}

DTC_GPU_FN void dtc_gpu_report_fault(uint64_t fault, uint64_t value, int fits)
{
	if (!fits && fault)
		dtc_gpu_release(fault, value);
}

DTC_GPU_FN void dtc_gpu_pack_cells(const struct dtc_gpu_cells_params *p,
				   const struct dtc_gpu_cell_at cell[], uint64_t left)
{
	struct dtc_gpu_loose user[DTC_GPU_THREAD_CELLS];

	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_THREAD_CELLS; k++)
		dtc_gpu_fetch_loose(cell[k].user, cell[k].number.native_bytes, &user[k]);
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_THREAD_CELLS; k++)
		if (k * DTC_GPU_BLOCK < left) {
			struct dtc_gpu_bytes16 value = dtc_gpu_loose_value(&user[k]);
			int fits = 1;

			dtc_gpu_encode_cell(&cell[k].number, &value, &fits);
			if (fits)
				dtc_gpu_store_loose(cell[k].packed,
						    cell[k].number.wire_bytes, &value);
			dtc_gpu_report_fault(p->fault, p->done.value, fits);
		}
}

DTC_GPU_FN void dtc_gpu_unpack_cells(const struct dtc_gpu_cells_params *p,
				     const struct dtc_gpu_cell_at cell[], uint64_t left)
{
	struct dtc_gpu_loose packed[DTC_GPU_THREAD_CELLS], user[DTC_GPU_THREAD_CELLS];
	uint32_t combination = p->combination;

	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_THREAD_CELLS; k++) {
		dtc_gpu_fetch_loose(cell[k].packed, cell[k].number.wire_bytes,
				    &packed[k]);
		if (combination != DTC_GPU_REPLACE)
			dtc_gpu_fetch_loose(cell[k].user, cell[k].number.native_bytes,
					    &user[k]);
	}
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_THREAD_CELLS; k++)
		if (k * DTC_GPU_BLOCK < left) {
			struct dtc_gpu_bytes16 value = dtc_gpu_loose_value(&packed[k]);
			int fits = 1;

			dtc_gpu_decode_cell(&cell[k].number, &value, &fits);
			if (combination != DTC_GPU_REPLACE)
				dtc_gpu_set_pair(value.w,
						 dtc_gpu_combine_short(
							 combination, cell[k].number.kind,
							 dtc_gpu_pair(value.w),
							 dtc_gpu_loose_bits(&user[k])));
			if (fits)
				dtc_gpu_store_loose(cell[k].user,
						    cell[k].number.native_bytes, &value);
			dtc_gpu_report_fault(p->fault, p->done.value, fits);
		}
}

/* A tile of cells; @direction is a constant. Behind the last cell a thread looks at its first again. */
DTC_GPU_FN void dtc_gpu_move_cells(const struct dtc_gpu_cells_params *p,
				   const struct dtc_gpu_cell *map, struct dtc_gpu_at at,
				   int direction)
{
	const struct dtc_gpu_nest *nest = &p->nest;
	uint64_t first =
		nest->begin + (uint64_t)at.block * (DTC_GPU_THREAD_CELLS * DTC_GPU_BLOCK);
	uint64_t left = nest->end > first + at.thread ? nest->end - first - at.thread : 0;
	struct dtc_gpu_cell_at cell[DTC_GPU_THREAD_CELLS];
	struct dtc_gpu_place place[8];
	struct dtc_gpu_start start;
	uint32_t ahead[8];

	if (!left)
		return;
	dtc_gpu_split(nest, first, DTC_GPU_PLAIN, &start);
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_THREAD_CELLS; k++) {
		ahead[k] = at.thread + (k * DTC_GPU_BLOCK < left ? k * DTC_GPU_BLOCK : 0);
	}
	dtc_gpu_locate_all(nest, &start, DTC_GPU_PLAIN, DTC_GPU_THREAD_CELLS, ahead,
			   place);
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_THREAD_CELLS; k++)
		dtc_gpu_find_cell(p, map, first + ahead[k], start.carried, &place[k],
				  &cell[k]);
	if (direction == DTC_GPU_PACK)
		dtc_gpu_pack_cells(p, cell, left);
	else
		dtc_gpu_unpack_cells(p, cell, left);
}

DTC_GPU_FN void dtc_gpu_cells_pack_phase(const struct dtc_gpu_cells_params *p,
					 void *shared, struct dtc_gpu_at at)
{
	dtc_gpu_move_cells(p, (const struct dtc_gpu_cell *)shared, at, DTC_GPU_PACK);
}

DTC_GPU_FN void dtc_gpu_cells_unpack_phase(const struct dtc_gpu_cells_params *p,
					   void *shared, struct dtc_gpu_at at)
{
	dtc_gpu_move_cells(p, (const struct dtc_gpu_cell *)shared, at, DTC_GPU_UNPACK);
}

#endif
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The unit at a position of a typed stream, looked for in the nodes of the stream.
 */
#ifndef DTC_KERNELS_GPU_UNITS_CU_H
#define DTC_KERNELS_GPU_UNITS_CU_H

struct dtc_gpu_unit {
	uint64_t native; /* positions */
	uint64_t wire;
	const struct dtc_gpu_number *number;
};

DTC_GPU_FN void dtc_gpu_find_unit(const struct dtc_gpu_units_params *p, uint64_t position,
				  struct dtc_gpu_unit *unit)
{
	const struct dtc_gpu_node *node = p->nodes;

	unit->native = 0;
	unit->wire = 0;
	for (;;) {
		while (position >= node->units_before + node->units)
			node += node->body + 1;
		position -= node->units_before;
		uint64_t trip = node->trip_units == 1
					? position
					: dtc_gpu_quotient(position, node->trip_units);

		unit->native += node->native_before + trip * node->native_bytes;
		unit->wire += node->wire_before + trip * node->wire_bytes;
		if (!node->body)
			break;
		position -= trip * node->trip_units;
		node++;
	}
	unit->number = &node->number;
}

DTC_GPU_FN void dtc_gpu_move_unit(const struct dtc_gpu_units_params *p, uint64_t position,
				  int direction)
{
	struct dtc_gpu_unit unit;
	struct dtc_gpu_bytes16 value;
	int fits = 1;

	dtc_gpu_find_unit(p, position, &unit);
	const struct dtc_gpu_number *number = unit.number;
	uint64_t user = dtc_gpu_walk_to(&p->walk, unit.native).address;
	uint64_t packed = p->packed + unit.wire;
	if (direction == DTC_GPU_PACK) {
		value = dtc_gpu_load_number(user, number->native_bytes);
		dtc_gpu_encode_number(number, &value, &fits);
		if (fits)
			dtc_gpu_store_number(packed, number->wire_bytes, value);
	} else {
		value = dtc_gpu_load_number(packed, number->wire_bytes);
		dtc_gpu_decode_number(number, &value, &fits);
		if (p->combination != DTC_GPU_REPLACE)
			value = dtc_gpu_combine(
				p->combination, number->kind, value,
				dtc_gpu_load_number(user, number->native_bytes));
		if (fits)
			dtc_gpu_store_number(user, number->native_bytes, value);
	}
	dtc_gpu_report_fault(p->fault, p->done.value, fits);
}

/* A thread's units of a tile. */
DTC_GPU_FN void dtc_gpu_move_units(const struct dtc_gpu_units_params *p,
				   struct dtc_gpu_at at, int direction)
{
	uint64_t unit = p->begin + (uint64_t)at.block * (DTC_GPU_UNITS * DTC_GPU_BLOCK) +
			at.thread;

	DTC_GPU_NO_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_UNITS && unit < p->end;
	     k++, unit += DTC_GPU_BLOCK)
		dtc_gpu_move_unit(p, unit, direction);
}

DTC_GPU_FN void dtc_gpu_units_pack_phase(const struct dtc_gpu_units_params *p,
					 void *shared, struct dtc_gpu_at at)
{
	(void)shared;
	dtc_gpu_move_units(p, at, DTC_GPU_PACK);
}

DTC_GPU_FN void dtc_gpu_units_unpack_phase(const struct dtc_gpu_units_params *p,
					   void *shared, struct dtc_gpu_at at)
{
	(void)shared;
	dtc_gpu_move_units(p, at, DTC_GPU_UNPACK);
}

#endif
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Couples of a value and an index, for MINLOC and MAXLOC.
 */
#ifndef DTC_KERNELS_GPU_COUPLES_CU_H
#define DTC_KERNELS_GPU_COUPLES_CU_H

/* ---- couples --------------------------------------------------------------------------------------- */

/* A value and the index behind it, as they are in memory. */
struct dtc_gpu_couple {
	struct dtc_gpu_bytes16 value, index;
};

/* Equal values: the lower index wins. */
DTC_GPU_FN int dtc_gpu_couple_wins(const struct dtc_gpu_units_params *p,
				   const struct dtc_gpu_couple *a,
				   const struct dtc_gpu_couple *b)
{
	uint32_t kind = p->nodes[0].number.kind;
	int less = dtc_gpu_is_less(kind, a->value, b->value);
	int greater = dtc_gpu_is_less(kind, b->value, a->value);

	if (less || greater)
		return p->combination == DTC_GPU_MINLOC ? less : greater;
	return dtc_gpu_is_number(kind, &a->value) && dtc_gpu_is_number(kind, &b->value) &&
	       dtc_gpu_is_less(p->nodes[1].number.kind, a->index, b->index);
}

/* Where a couple lies, on both sides and in both parts. */
struct dtc_gpu_couple_at {
	uint64_t user, user_index;
	uint64_t packed, packed_index;
};

/* Two at a time: as many loads as registers hold. */
#define DTC_GPU_COUPLES 2u

/* Behind each other in a nest. */
DTC_GPU_FN void dtc_gpu_locate_couples(const struct dtc_gpu_units_params *p,
				       uint64_t first, const uint32_t ahead[],
				       struct dtc_gpu_couple_at found[])
{
	struct dtc_gpu_place place[DTC_GPU_COUPLES];
	struct dtc_gpu_start start;

	dtc_gpu_split(&p->nest, first, DTC_GPU_PLAIN, &start);
	dtc_gpu_locate_all(&p->nest, &start, DTC_GPU_PLAIN, DTC_GPU_COUPLES, ahead,
			   place);
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_COUPLES; k++) {
		found[k].user =
			place[k].address +
			(uint64_t)place[k].index * (uint32_t)p->nodes[0].native_bytes;
		found[k].user_index = found[k].user + p->nodes[0].number.native_bytes;
	}
}

DTC_GPU_FN void dtc_gpu_walk_to_couple(const struct dtc_gpu_units_params *p,
				       uint64_t unit, struct dtc_gpu_couple_at *found)
{
	uint64_t native = unit * p->nodes[0].native_bytes;

	found->user = dtc_gpu_walk_to(&p->walk, native).address;
	found->user_index =
		dtc_gpu_walk_to(&p->walk, native + p->nodes[0].number.native_bytes)
			.address;
}

/* The couples that are @ahead of the @first. */
DTC_GPU_FN void dtc_gpu_find_couples(const struct dtc_gpu_units_params *p, uint64_t first,
				     const uint32_t ahead[],
				     struct dtc_gpu_couple_at found[])
{
	if (p->nest.dim_count) {
		dtc_gpu_locate_couples(p, first, ahead, found);
	} else {
		DTC_GPU_NO_UNROLL
		for (uint32_t k = 0; k < DTC_GPU_COUPLES; k++) {
			struct dtc_gpu_couple_at at;

			dtc_gpu_walk_to_couple(p, first + (k ? ahead[1] : ahead[0]), &at);
			found[0] = k ? found[0] : at;
			found[1] = k ? at : found[1];
		}
	}
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_COUPLES; k++) {
		found[k].packed = p->packed + (first + ahead[k]) * p->nodes[0].wire_bytes;
		found[k].packed_index = found[k].packed + p->nodes[0].number.wire_bytes;
	}
}

/* Both parts of a couple, fetched first and looked at later. */
struct dtc_gpu_loose_couple {
	struct dtc_gpu_loose value, index;
};

DTC_GPU_FN void dtc_gpu_fetch_couple(uint64_t value, uint32_t value_bytes, uint64_t index,
				     uint32_t index_bytes,
				     struct dtc_gpu_loose_couple *loose)
{
	dtc_gpu_fetch_loose(value, value_bytes, &loose->value);
	dtc_gpu_fetch_loose(index, index_bytes, &loose->index);
}

DTC_GPU_FN void dtc_gpu_couple_value(const struct dtc_gpu_loose_couple *loose,
				     struct dtc_gpu_couple *couple)
{
	couple->value = dtc_gpu_loose_value(&loose->value);
	couple->index = dtc_gpu_loose_value(&loose->index);
}

/* Whether what has arrived is to be stored; it becomes native. */
DTC_GPU_FN int dtc_gpu_decide_couple(const struct dtc_gpu_units_params *p,
				     struct dtc_gpu_couple *arrived,
				     const struct dtc_gpu_couple *there)
{
	int fits = 1;

	dtc_gpu_decode_number(&p->nodes[0].number, &arrived->value, &fits);
	dtc_gpu_decode_number(&p->nodes[1].number, &arrived->index, &fits);
	dtc_gpu_report_fault(p->fault, p->done.value, fits);
	return fits && dtc_gpu_couple_wins(p, arrived, there);
}

DTC_GPU_FN void dtc_gpu_unpack_couple(const struct dtc_gpu_units_params *p,
				      const struct dtc_gpu_couple_at *at,
				      const struct dtc_gpu_loose_couple *arrived,
				      const struct dtc_gpu_loose_couple *there)
{
	struct dtc_gpu_couple incoming, target;

	dtc_gpu_couple_value(arrived, &incoming);
	dtc_gpu_couple_value(there, &target);
	if (!dtc_gpu_decide_couple(p, &incoming, &target))
		return;
	dtc_gpu_store_loose(at->user, p->nodes[0].number.native_bytes, &incoming.value);
	dtc_gpu_store_loose(at->user_index, p->nodes[1].number.native_bytes,
			    &incoming.index);
}

/* Numbers of 16 bytes. */
DTC_GPU_FN void dtc_gpu_unpack_long_couple(const struct dtc_gpu_units_params *p,
					   const struct dtc_gpu_couple_at *at)
{
	const struct dtc_gpu_number *value = &p->nodes[0].number,
				    *index = &p->nodes[1].number;
	struct dtc_gpu_couple incoming, target;

	incoming.value = dtc_gpu_load_number(at->packed, value->wire_bytes);
	incoming.index = dtc_gpu_load_number(at->packed_index, index->wire_bytes);
	target.value = dtc_gpu_load_number(at->user, value->native_bytes);
	target.index = dtc_gpu_load_number(at->user_index, index->native_bytes);
	if (!dtc_gpu_decide_couple(p, &incoming, &target))
		return;
	dtc_gpu_store_number(at->user, value->native_bytes, incoming.value);
	dtc_gpu_store_number(at->user_index, index->native_bytes, incoming.index);
}

DTC_GPU_FN void dtc_gpu_unpack_short_couples(const struct dtc_gpu_units_params *p,
					     const struct dtc_gpu_couple_at at[],
					     uint64_t left)
{
	const struct dtc_gpu_number *value = &p->nodes[0].number,
				    *index = &p->nodes[1].number;
	struct dtc_gpu_loose_couple arrived[DTC_GPU_COUPLES], there[DTC_GPU_COUPLES];

	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_COUPLES; k++) {
		dtc_gpu_fetch_couple(at[k].packed, value->wire_bytes, at[k].packed_index,
				     index->wire_bytes, &arrived[k]);
		dtc_gpu_fetch_couple(at[k].user, value->native_bytes, at[k].user_index,
				     index->native_bytes, &there[k]);
	}
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_COUPLES; k++)
		if (k * DTC_GPU_BLOCK < left)
			dtc_gpu_unpack_couple(p, &at[k], &arrived[k], &there[k]);
}

/* A thread's next couples, from the tile's @first on. */
DTC_GPU_FN void dtc_gpu_unpack_couples(const struct dtc_gpu_units_params *p,
				       uint64_t first, uint32_t thread)
{
	uint64_t left = p->end > first + thread ? p->end - first - thread : 0;
	struct dtc_gpu_couple_at at[DTC_GPU_COUPLES];
	uint32_t ahead[DTC_GPU_COUPLES];

	if (!left)
		return;
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_COUPLES; k++)
		ahead[k] = thread + (k * DTC_GPU_BLOCK < left ? k * DTC_GPU_BLOCK : 0);
	dtc_gpu_find_couples(p, first, ahead, at);
	if (p->couple_form != DTC_GPU_COUPLES_LONG) {
		dtc_gpu_unpack_short_couples(p, at, left);
		return;
	}
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_COUPLES; k++)
		if (k * DTC_GPU_BLOCK < left)
			dtc_gpu_unpack_long_couple(p, &at[k]);
}

/* ---- couples of words ------------------------------------------------------------------------------- */

/* A couple's numbers, of 4 or 8 bytes each. */
struct dtc_gpu_word_couple {
	uint64_t value, index;
};

/* Whether one word of @word bytes is the couple. */
DTC_GPU_FN int dtc_gpu_is_one_word(const struct dtc_gpu_units_params *p, uint32_t word)
{
	return word == 8 && p->nodes[0].native_bytes == 8;
}

DTC_GPU_FN uint64_t dtc_gpu_load_part(uint64_t address, uint32_t bytes, uint32_t word)
{
	if (bytes == 4)
		return dtc_gpu_load4(address);
	if (word == 8)
		return dtc_gpu_load8(address);
	return (uint64_t)dtc_gpu_load4(address + 4) << 32 | dtc_gpu_load4(address);
}

DTC_GPU_FN void dtc_gpu_store_part(uint64_t address, uint32_t bytes, uint32_t word,
				   uint64_t part)
{
	if (bytes == 4) {
		dtc_gpu_store4(address, (uint32_t)part);
	} else if (word == 8) {
		dtc_gpu_store8(address, (uint32_t)part, (uint32_t)(part >> 32));
	} else {
		dtc_gpu_store4(address, (uint32_t)part);
		dtc_gpu_store4(address + 4, (uint32_t)(part >> 32));
	}
}

/* What is behind a value of 4 bytes is aligned to 4. */
DTC_GPU_FN uint32_t dtc_gpu_index_word(uint32_t value_bytes, uint32_t word)
{
	return value_bytes == 4 ? 4 : word;
}

DTC_GPU_FN void dtc_gpu_load_couple(const struct dtc_gpu_units_params *p,
				    uint64_t address, uint32_t word,
				    struct dtc_gpu_word_couple *couple)
{
	uint32_t bytes = p->nodes[0].number.native_bytes;

	if (dtc_gpu_is_one_word(p, word)) {
		uint64_t both = dtc_gpu_load8(address);

		couple->value = (uint32_t)both;
		couple->index = both >> 32;
		return;
	}
	couple->value = dtc_gpu_load_part(address, bytes, word);
	couple->index = dtc_gpu_load_part(address + bytes,
					  p->nodes[1].number.native_bytes,
					  dtc_gpu_index_word(bytes, word));
}

DTC_GPU_FN void dtc_gpu_store_couple(const struct dtc_gpu_units_params *p,
				     uint64_t address, uint32_t word,
				     const struct dtc_gpu_word_couple *couple)
{
	uint32_t bytes = p->nodes[0].number.native_bytes;

	if (dtc_gpu_is_one_word(p, word)) {
		dtc_gpu_store8(address, (uint32_t)couple->value, (uint32_t)couple->index);
		return;
	}
	dtc_gpu_store_part(address, bytes, word, couple->value);
	dtc_gpu_store_part(address + bytes, p->nodes[1].number.native_bytes,
			   dtc_gpu_index_word(bytes, word), couple->index);
}

DTC_GPU_FN uint64_t dtc_gpu_swapped(uint64_t part, uint32_t swap)
{
	struct dtc_gpu_bytes16 value = { { (uint32_t)part, (uint32_t)(part >> 32), 0,
					   0 } };

	dtc_gpu_swap_short(&value, swap);
	return dtc_gpu_pair(value.w);
}

/* Whether @arrived, which becomes native, is to be stored: of equal values the lower index is. */
DTC_GPU_FN int dtc_gpu_word_couple_wins(uint32_t combination,
					const struct dtc_gpu_number *value,
					const struct dtc_gpu_number *index,
					struct dtc_gpu_word_couple *arrived,
					const struct dtc_gpu_word_couple *there)
{
	arrived->value = dtc_gpu_swapped(arrived->value, value->swap);
	arrived->index = dtc_gpu_swapped(arrived->index, index->swap);
	uint32_t order = dtc_gpu_order(value->kind, arrived->value, there->value);
	if (order == DTC_GPU_EQUAL)
		return dtc_gpu_order(index->kind, arrived->index, there->index) ==
		       DTC_GPU_LESS;
	return order == (combination == DTC_GPU_MINLOC ? DTC_GPU_LESS : DTC_GPU_GREATER);
}

/* All of a thread's couples of a tile, under way at once. */
DTC_GPU_FN void dtc_gpu_unpack_word_couples(const struct dtc_gpu_units_params *p,
					    uint64_t first, uint32_t thread)
{
	uint64_t left = p->end > first + thread ? p->end - first - thread : 0;
	uint32_t bytes = (uint32_t)p->nodes[0].native_bytes;
	struct dtc_gpu_word_couple arrived[DTC_GPU_UNITS], there[DTC_GPU_UNITS];
	struct dtc_gpu_place place[DTC_GPU_UNITS];
	uint32_t ahead[DTC_GPU_UNITS];
	uint64_t user[DTC_GPU_UNITS];
	struct dtc_gpu_start start;

	if (!left)
		return;
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_UNITS; k++)
		ahead[k] = thread + (k * DTC_GPU_BLOCK < left ? k * DTC_GPU_BLOCK : 0);
	dtc_gpu_split(&p->nest, first, DTC_GPU_PLAIN, &start);
	dtc_gpu_locate_all(&p->nest, &start, DTC_GPU_PLAIN, DTC_GPU_UNITS, ahead, place);
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_UNITS; k++) {
		user[k] = place[k].address + (uint64_t)place[k].index * bytes;
		dtc_gpu_load_couple(p, p->packed + (first + ahead[k]) * bytes,
				    p->couple_words[1], &arrived[k]);
		dtc_gpu_load_couple(p, user[k], p->couple_words[0], &there[k]);
	}
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_UNITS; k++)
		if (k * DTC_GPU_BLOCK < left &&
		    dtc_gpu_word_couple_wins(p->combination, &p->nodes[0].number,
					     &p->nodes[1].number, &arrived[k], &there[k]))
			dtc_gpu_store_couple(p, user[k], p->couple_words[0], &arrived[k]);
}

/* Each of the two phases of couples has its own forms. */
DTC_GPU_FN void dtc_gpu_word_couples_phase(const struct dtc_gpu_units_params *p,
					   void *shared, struct dtc_gpu_at at)
{
	uint64_t first = p->begin + (uint64_t)at.block * (DTC_GPU_UNITS * DTC_GPU_BLOCK);

	(void)shared;
	if (p->couple_form == DTC_GPU_COUPLES_WORDS)
		dtc_gpu_unpack_word_couples(p, first, at.thread);
}

DTC_GPU_FN void dtc_gpu_couples_unpack_phase(const struct dtc_gpu_units_params *p,
					     void *shared, struct dtc_gpu_at at)
{
	const uint32_t step = DTC_GPU_COUPLES * DTC_GPU_BLOCK;
	uint64_t first = p->begin + (uint64_t)at.block * (DTC_GPU_UNITS * DTC_GPU_BLOCK);

	(void)shared;
	if (p->couple_form == DTC_GPU_COUPLES_WORDS)
		return;
	DTC_GPU_NO_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_UNITS; k += DTC_GPU_COUPLES, first += step)
		dtc_gpu_unpack_couples(p, first, at.thread);
}

#endif

#endif
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations on records, short periods of unlike numbers. The packed words of a tile wait in
 * shared memory; there a lane has one record's numbers, so that a warp goes one way whatever their kinds
 * are; and the results leave word by word, as those of any period.
 */
#ifndef DTC_KERNELS_GPU_RECORDS_CU_H
#define DTC_KERNELS_GPU_RECORDS_CU_H

/* Words of a thread that are under way together. */
#define DTC_GPU_RECORD_LOADS  8u
#define DTC_GPU_RECORD_STORES 2u

/* A block's records, in words of the nest. */
struct dtc_gpu_record_tile {
	int32_t *disps;     /* of a record's words */
	uint32_t *words;    /* packed, then combined */
	uint32_t *there;    /* the user's */
	uint64_t first;     /* word of all, the first of a record */
	uint32_t count;     /* words */
	uint32_t low, high; /* of these, the ones to be moved */
};

DTC_GPU_FN uint32_t dtc_gpu_bound(uint64_t x, uint64_t first, uint32_t most)
{
	return x <= first ? 0 : x - first < most ? (uint32_t)(x - first) : most;
}

DTC_GPU_FN void dtc_gpu_record_tile_at(const struct dtc_gpu_cells_params *p, void *shared,
				       uint32_t block, struct dtc_gpu_record_tile *tile)
{
	uint32_t each = p->nest.dims[0].count;
	uint32_t records = DTC_GPU_BLOCK / p->warps;
	uint64_t begin = p->nest.begin / 4, end = p->nest.end / 4;

	tile->disps = (int32_t *)shared;
	tile->words = (uint32_t *)shared + DTC_GPU_RECORD_WORDS;
	tile->there = tile->words + records * each;
	tile->first = (dtc_gpu_quotient(begin, each) + (uint64_t)block * records) * each;
	tile->count = records * each;
	tile->low = dtc_gpu_bound(begin, tile->first, tile->count);
	tile->high = dtc_gpu_bound(end, tile->first, tile->count);
}

/* A number of 4 or 8 bytes in shared memory. */
DTC_GPU_FN uint64_t dtc_gpu_recall_cell(const uint32_t *words, uint32_t bytes)
{
	return bytes == 8 ? (uint64_t)words[1] << 32 | words[0] : words[0];
}

DTC_GPU_FN void dtc_gpu_keep_cell(uint32_t *words, uint32_t bytes, uint64_t value)
{
	words[0] = (uint32_t)value;
	if (bytes == 8)
		words[1] = (uint32_t)(value >> 32);
}

/* A thread's cells of a record: from the first one on, as many as it has. */
struct dtc_gpu_record_part {
	uint32_t record; /* of the tile */
	uint32_t cell;
	uint32_t live; /* a bit for each cell of which there is something to be moved */
};

/* Threads of a warp have the same cells, of as many records. */
DTC_GPU_FN struct dtc_gpu_record_part dtc_gpu_record_part_of(
	const struct dtc_gpu_cells_params *p, const struct dtc_gpu_record_tile *tile,
	uint32_t thread)
{
	uint32_t warp = thread / DTC_GPU_LANES, each = p->nest.dims[0].count;
	struct dtc_gpu_record_part part;

	part.record = warp / p->warps * DTC_GPU_LANES + thread % DTC_GPU_LANES;
	part.cell = (warp & (p->warps - 1)) * DTC_GPU_THREAD_CELLS;
	part.live = 0;
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_THREAD_CELLS; k++) {
		const struct dtc_gpu_cell *cell = &p->rows[part.cell + k];
		uint32_t at = part.record * each + cell->wire / 4;

		if (part.cell + k < p->cells && at < tile->high &&
		    at + cell->number.wire_bytes / 4 > tile->low)
			part.live |= 1u << k;
	}
	return part;
}

/* ---- first, both sides are fetched ---------------------------------------------------------------- */

DTC_GPU_FN void dtc_gpu_record_map(const struct dtc_gpu_cells_params *p,
				   const struct dtc_gpu_record_tile *tile,
				   uint32_t thread)
{
	if (thread >= p->cells)
		return;
	for (uint32_t at = 0; at < p->rows[thread].number.wire_bytes; at += 4)
		tile->disps[(p->rows[thread].wire + at) / 4] =
			p->rows[thread].disp + (int32_t)at;
}

DTC_GPU_FN void dtc_gpu_fetch_record(const struct dtc_gpu_cells_params *p,
				     const struct dtc_gpu_record_tile *tile,
				     const struct dtc_gpu_record_part *part,
				     uint64_t there[])
{
	struct dtc_gpu_start start;

	dtc_gpu_split(&p->nest, tile->first, DTC_GPU_PLAIN, &start);
	uint64_t user = dtc_gpu_locate(&p->nest, &start,
				       part->record * p->nest.dims[0].count,
				       DTC_GPU_PLAIN)
				.address;
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_THREAD_CELLS; k++) {
		const struct dtc_gpu_cell *cell = &p->rows[part->cell + k];

		there[k] = 0;
		if (part->live >> k & 1)
			there[k] = dtc_gpu_load_part(user + (uint64_t)(int64_t)cell->disp,
						     cell->number.native_bytes,
						     cell->word);
	}
}

DTC_GPU_FN void dtc_gpu_records_fetch(const struct dtc_gpu_cells_params *p, void *shared,
				      struct dtc_gpu_at at)
{
	uint32_t word[DTC_GPU_RECORD_LOADS] = { 0 };
	uint64_t there[DTC_GPU_THREAD_CELLS];
	struct dtc_gpu_record_tile tile;

	dtc_gpu_record_tile_at(p, shared, at.block, &tile);
	const struct dtc_gpu_record_part part =
		dtc_gpu_record_part_of(p, &tile, at.thread);
	uint64_t packed = p->nest.packed + 4 * tile.first;
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_RECORD_LOADS; k++) {
		uint32_t i = at.thread + k * DTC_GPU_BLOCK;

		if (i >= tile.low && i < tile.high)
			word[k] = dtc_gpu_load4(packed + 4 * i);
	}
	dtc_gpu_fetch_record(p, &tile, &part, there);
	dtc_gpu_record_map(p, &tile, at.thread);
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_RECORD_LOADS; k++)
		if (at.thread + k * DTC_GPU_BLOCK < tile.count)
			tile.words[at.thread + k * DTC_GPU_BLOCK] = word[k];
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_THREAD_CELLS; k++) {
		const struct dtc_gpu_cell *cell = &p->rows[part.cell + k];

		if (part.live >> k & 1)
			dtc_gpu_keep_cell(tile.there +
						  part.record * p->nest.dims[0].count +
						  cell->wire / 4,
					  cell->number.native_bytes, there[k]);
	}
}

/* ---- then records are combined ------------------------------------------------------------------- */

DTC_GPU_FN void dtc_gpu_combine_record(const struct dtc_gpu_cells_params *p,
				       const struct dtc_gpu_record_tile *tile,
				       const struct dtc_gpu_record_part *part)
{
	DTC_GPU_NO_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_THREAD_CELLS; k++) {
		const struct dtc_gpu_cell *cell = &p->rows[part->cell + k];
		uint32_t bytes = cell->number.native_bytes;
		uint32_t at = part->record * p->nest.dims[0].count + cell->wire / 4;

		if (!(part->live >> k & 1))
			continue;
		uint64_t arrived = dtc_gpu_swapped(
			dtc_gpu_recall_cell(tile->words + at, bytes), cell->number.swap);
		dtc_gpu_keep_cell(tile->words + at, bytes,
				  dtc_gpu_combine_short(
					  p->combination, cell->number.kind, arrived,
					  dtc_gpu_recall_cell(tile->there + at, bytes)));
	}
}

DTC_GPU_FN void dtc_gpu_records_combine(const struct dtc_gpu_cells_params *p,
					void *shared, struct dtc_gpu_at at)
{
	struct dtc_gpu_record_tile tile;

	dtc_gpu_record_tile_at(p, shared, at.block, &tile);
	const struct dtc_gpu_record_part part =
		dtc_gpu_record_part_of(p, &tile, at.thread);
	dtc_gpu_combine_record(p, &tile, &part);
}

/* ---- and the results are stored ------------------------------------------------------------------- */

DTC_GPU_FN void dtc_gpu_records_store(const struct dtc_gpu_cells_params *p, void *shared,
				      struct dtc_gpu_at at)
{
	struct dtc_gpu_record_tile tile;
	struct dtc_gpu_start start;

	dtc_gpu_record_tile_at(p, shared, at.block, &tile);
	dtc_gpu_split(&p->nest, tile.first, DTC_GPU_PLAIN, &start);
	DTC_GPU_NO_UNROLL
	for (uint32_t i = at.thread; i < tile.high;
	     i += DTC_GPU_RECORD_STORES * DTC_GPU_BLOCK) {
		struct dtc_gpu_place place[8];
		uint32_t ahead[8];

		DTC_GPU_UNROLL
		for (uint32_t k = 0; k < DTC_GPU_RECORD_STORES; k++)
			ahead[k] = i + k * DTC_GPU_BLOCK;
		dtc_gpu_locate_all(&p->nest, &start, DTC_GPU_PLAIN, DTC_GPU_RECORD_STORES,
				   ahead, place);
		DTC_GPU_UNROLL
		for (uint32_t k = 0; k < DTC_GPU_RECORD_STORES; k++)
			if (ahead[k] >= tile.low && ahead[k] < tile.high)
				dtc_gpu_store4(place[k].address +
						       (uint64_t)(int64_t)
							       tile.disps[place[k].index],
					       tile.words[ahead[k]]);
	}
}

#endif
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The CRC-32C of packed bytes. A block has as many whole tiles as all others, of which the
 * first one's may begin before the bytes: zeros in front change no remainder. In a tile each
 * thread has a piece; its remainder moves on to the next tile by a multiplication, and so on
 * through threads and blocks.
 */
#ifndef DTC_KERNELS_GPU_CHECKSUM_CU_H
#define DTC_KERNELS_GPU_CHECKSUM_CU_H

/* What is in shared memory. */
DTC_GPU_FN uint32_t *dtc_gpu_crc_rows(void *shared)
{
	return (uint32_t *)shared + DTC_GPU_CRC_ENTRIES * DTC_GPU_LANES;
}

DTC_GPU_FN uint32_t *dtc_gpu_crc_sums(void *shared)
{
	return dtc_gpu_crc_rows(shared) + DTC_GPU_CRC_ROWS * 256;
}

/* The entries of bits 0, 6, 12, 17, 22 and 27 on, and which of them they are. */
DTC_GPU_FN uint32_t dtc_gpu_crc_bits_of_entry(uint32_t entry)
{
	if (entry < 64)
		return entry;
	if (entry < 128)
		return (entry - 64) << 6;
	return (entry & 31) << (12 + (entry - 128) / 32 * 5);
}

/* Entries are linear in their bits: what is known of single ones is enough. */
DTC_GPU_FN uint32_t dtc_gpu_crc_make_entry(const struct dtc_gpu_crc_params *p,
					   uint32_t entry)
{
	uint32_t bits = dtc_gpu_crc_bits_of_entry(entry), sum = 0;

	DTC_GPU_UNROLL
	for (uint32_t i = 0; i < 32; i++)
		sum ^= bits >> i & 1 ? p->constants.bits[i] : 0;
	return sum;
}

/* A thread makes one entry and gives it to all lanes; neighbours begin with other ones. */
DTC_GPU_FN void dtc_gpu_crc_tables(const struct dtc_gpu_crc_params *p, void *shared,
				   struct dtc_gpu_at at)
{
	const uint32_t groups = DTC_GPU_LANES / 4;
	struct dtc_gpu_bytes16 *lanes =
		(struct dtc_gpu_bytes16 *)shared + at.thread * groups;
	uint32_t entry = dtc_gpu_crc_make_entry(p, at.thread);
	struct dtc_gpu_bytes16 four = { { entry, entry, entry, entry } };

	DTC_GPU_UNROLL
	for (uint32_t i = 0; i < groups; i++)
		lanes[(at.thread + i) % groups] = four;
	for (uint32_t row = 0; row < DTC_GPU_CRC_ROWS; row++) {
		uint32_t sum = 0;

		DTC_GPU_UNROLL
		for (uint32_t bit = 0; bit < 8; bit++)
			sum ^= at.thread >> bit & 1 ? p->constants.rows[row][bit] : 0;
		dtc_gpu_crc_rows(shared)[row * 256 + at.thread] = sum;
	}
}

/* A lane's entries: where all are, and bytes from one lane's to this one's. */
struct dtc_gpu_crc_lane {
	const char *entries;
	uint32_t offset;
};

/* The entry of bits [first, first + some) of @x, of those from @entry on; all but @x are constants. */
DTC_GPU_FN uint32_t dtc_gpu_crc_entry(struct dtc_gpu_crc_lane lane, uint32_t entry,
				      uint32_t x, uint32_t first, uint32_t some)
{
	uint32_t index = first < 7 ? x << (7 - first) : x >> (first - 7);
	const void *from =
		lane.entries + ((index & ((1u << some) - 1) << 7) | lane.offset);

	return ((const uint32_t *)from)[DTC_GPU_LANES * entry];
}

/* The remainder @crc in front of 4 bytes that are 0. */
DTC_GPU_FN uint32_t dtc_gpu_crc_forward(struct dtc_gpu_crc_lane lane, uint32_t crc)
{
	return dtc_gpu_crc_entry(lane, 0, crc, 0, 6) ^
	       dtc_gpu_crc_entry(lane, 64, crc, 6, 6) ^
	       dtc_gpu_crc_entry(lane, 128, crc, 12, 5) ^
	       dtc_gpu_crc_entry(lane, 160, crc, 17, 5) ^
	       dtc_gpu_crc_entry(lane, 192, crc, 22, 5) ^
	       dtc_gpu_crc_entry(lane, 224, crc, 27, 5);
}

/*
 * The product of two polynomials as 64 bits. Every fourth bit of each factor: at most eight of their products
 * meet in one place, which is what four bits hold, so that the lowest one of them is their sum.
 */
DTC_GPU_FN uint64_t dtc_gpu_crc_product(uint32_t a, uint32_t b)
{
	const uint64_t fourth = 0x1111111111111111u;
	uint64_t product = 0;

	DTC_GPU_UNROLL
	for (uint32_t r = 0; r < 4; r++) {
		uint64_t sum = 0;

		DTC_GPU_UNROLL
		for (uint32_t i = 0; i < 4; i++)
			sum ^= (uint64_t)(a & (uint32_t)fourth << i) *
			       (b & (uint32_t)fourth << ((r - i) & 3));
		product |= sum & fourth << r;
	}
	return product;
}

/* The product, reduced. */
DTC_GPU_FN uint32_t dtc_gpu_crc_multiply(struct dtc_gpu_crc_lane lane, uint32_t a,
					 uint32_t b)
{
	uint64_t product = dtc_gpu_crc_product(a, b) << 1;

	return (uint32_t)(product >> 32) ^ dtc_gpu_crc_forward(lane, (uint32_t)product);
}

/* From the end of a thread's piece of one tile to the beginning of its piece of the next. */
DTC_GPU_FN uint32_t dtc_gpu_crc_skip(const uint32_t *rows, uint32_t crc)
{
	return rows[crc & 0xff] ^ rows[256 + (crc >> 8 & 0xff)] ^
	       rows[512 + (crc >> 16 & 0xff)] ^ rows[768 + (crc >> 24)];
}

/* Zeros in the first @bytes < 16. */
DTC_GPU_FN void dtc_gpu_crc_cut_head(struct dtc_gpu_bytes16 *value, uint32_t bytes)
{
	DTC_GPU_UNROLL
	for (uint32_t i = 0; i < 4; i++) {
		uint32_t cut = bytes > 4 * i ? bytes - 4 * i : 0;

		if (cut)
			value->w[i] &= cut < 4 ? ~0u << (8 * cut) : 0;
	}
}

/* The word at @place of all blocks' tiles, of which the first ones are not there. */
DTC_GPU_FN void dtc_gpu_crc_load(const struct dtc_gpu_crc_params *p, uint64_t place,
				 uint64_t end, struct dtc_gpu_bytes16 *value)
{
	struct dtc_gpu_bytes16 zero = { { 0, 0, 0, 0 } };

	*value = zero;
	if (place < p->skipped)
		return;
	dtc_gpu_load16(p->begin + (place - p->skipped), value);
	if (place == p->skipped)
		dtc_gpu_crc_cut_head(value, p->head);
	if (place + 16 == end)
		dtc_gpu_cut(value, 16 - p->tail);
}

/* A piece; those that are all of words of the bytes are told at once. */
DTC_GPU_FN void dtc_gpu_crc_load_piece(const struct dtc_gpu_crc_params *p, uint64_t place,
				       uint64_t end, struct dtc_gpu_bytes16 word[])
{
	uint64_t address = p->begin + (place - p->skipped);

	if (place > p->skipped && place + DTC_GPU_CRC_PIECE < end) {
		DTC_GPU_UNROLL
		for (uint32_t k = 0; k < DTC_GPU_CRC_PIECE / 16; k++)
			dtc_gpu_load16(address + 16 * k, &word[k]);
		return;
	}
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_CRC_PIECE / 16; k++)
		dtc_gpu_crc_load(p, place + 16 * k, end, &word[k]);
}

DTC_GPU_FN struct dtc_gpu_crc_lane dtc_gpu_crc_lane_of(const void *shared,
						       struct dtc_gpu_at at)
{
	struct dtc_gpu_crc_lane lane;

	lane.entries = (const char *)shared;
	lane.offset = at.thread % DTC_GPU_LANES * 4;
	return lane;
}

DTC_GPU_FN void dtc_gpu_crc_pieces(const struct dtc_gpu_crc_params *p, void *shared,
				   struct dtc_gpu_at at)
{
	const struct dtc_gpu_crc_lane lane = dtc_gpu_crc_lane_of(shared, at);
	uint64_t bytes = (uint64_t)p->tiles * DTC_GPU_CRC_TILE;
	uint64_t end = at.blocks * bytes;
	uint64_t place = at.block * bytes + at.thread * DTC_GPU_CRC_PIECE;
	uint32_t crc = 0;

	DTC_GPU_NO_UNROLL
	for (uint32_t tile = 0; tile < p->tiles; tile++, place += DTC_GPU_CRC_TILE) {
		struct dtc_gpu_bytes16 word[DTC_GPU_CRC_PIECE / 16];

		dtc_gpu_crc_load_piece(p, place, end, word);
		crc = dtc_gpu_crc_skip(dtc_gpu_crc_rows(shared), crc);
		DTC_GPU_UNROLL
		for (uint32_t k = 0; k < DTC_GPU_CRC_PIECE / 4; k++)
			crc = dtc_gpu_crc_forward(lane, crc ^ word[k / 4].w[k % 4]);
	}
	crc = dtc_gpu_crc_multiply(lane, crc, p->constants.threads[at.thread % 16]);
	dtc_gpu_crc_sums(shared)[at.thread] =
		dtc_gpu_crc_multiply(lane, crc, p->constants.groups[at.thread / 16]);
}

/* The block's remainder, with the blocks behind it as zeros. */
DTC_GPU_FN uint32_t dtc_gpu_crc_of_block(const struct dtc_gpu_crc_params *p, void *shared,
					 struct dtc_gpu_crc_lane lane, uint32_t behind)
{
	const struct dtc_gpu_bytes16 *sums =
		(const struct dtc_gpu_bytes16 *)dtc_gpu_crc_sums(shared);
	struct dtc_gpu_bytes16 all = sums[0];

	DTC_GPU_UNROLL_BY(9)
	for (uint32_t i = 1; i < DTC_GPU_BLOCK / 4; i++) {
		struct dtc_gpu_bytes16 more = sums[i];

		DTC_GPU_UNROLL
		for (uint32_t k = 0; k < 4; k++)
			all.w[k] ^= more.w[k];
	}
	uint32_t crc = all.w[0] ^ all.w[1] ^ all.w[2] ^ all.w[3];
	DTC_GPU_NO_UNROLL
	for (uint32_t i = 0; behind >> i; i++)
		if (behind >> i & 1)
			crc = dtc_gpu_crc_multiply(lane, crc, p->blocks[i]);
	return crc;
}

/* The last block to come finds all remainders in the sum, and leaves nothing there. */
DTC_GPU_FN void dtc_gpu_crc_join(const struct dtc_gpu_crc_params *p, void *shared,
				 struct dtc_gpu_at at)
{
	if (at.thread)
		return;
	dtc_gpu_xor(p->counter + 4,
		    dtc_gpu_crc_of_block(p, shared, dtc_gpu_crc_lane_of(shared, at),
					 at.blocks - 1 - at.block));
	dtc_gpu_fence_system();
	if (dtc_gpu_count_up(p->counter, at.blocks - 1) != at.blocks - 1)
		return;
	dtc_gpu_fence_system();
	dtc_gpu_store8(p->result, dtc_gpu_take(p->counter + 4), 0);
}

#endif

#endif

/* A kernel for one shape has the shape's numbers instead of those that it is given, which are the same. */
#ifdef DTC_GPU_SHAPE
#define DTC_GPU_PARAMS given
#define DTC_GPU_TAKE() \
	auto p = given; \
	DTC_GPU_SHAPE
#else
#define DTC_GPU_PARAMS p
#define DTC_GPU_TAKE()
#endif

#define DTC_GPU_AT()                                \
	DTC_GPU_TAKE()                              \
	struct dtc_gpu_at at;                       \
	extern __shared__ uint4 dtc_gpu_shared[];   \
	at.thread = threadIdx.x;                    \
	at.block = blockIdx.x;                      \
	at.blocks = gridDim.x

#define DTC_GPU_END()                               \
	if (p.done.flag) {                          \
		__syncthreads();                    \
		dtc_gpu_finish(&p.done, at);        \
	}

/* Enough blocks at once to keep the memory busy; @resident is what the registers must leave room for. */
#define DTC_GPU_KERNEL(name, params, resident)                               \
	extern "C" __global__ void __launch_bounds__(DTC_GPU_BLOCK, resident) \
		dtc_gpu_##name(const __grid_constant__ struct params DTC_GPU_PARAMS)

/* Blocks at once of kernels with one phase or three, by their parameters. */
#define DTC_GPU_RESIDENT_dtc_gpu_strided_params 4
#define DTC_GPU_RESIDENT_dtc_gpu_rows_params    8
#define DTC_GPU_RESIDENT_dtc_gpu_mapped_params  8
#define DTC_GPU_RESIDENT_dtc_gpu_copy_params    5
#define DTC_GPU_RESIDENT_dtc_gpu_table_params   4
#define DTC_GPU_RESIDENT_dtc_gpu_general_params 4
#define DTC_GPU_RESIDENT_dtc_gpu_numbers_params 4
#define DTC_GPU_RESIDENT_dtc_gpu_units_params   4
#define DTC_GPU_RESIDENT_dtc_gpu_indexed_params 4
#define DTC_GPU_RESIDENT_dtc_gpu_many_params    3
#define DTC_GPU_RESIDENT_dtc_gpu_crc_params     3
#define DTC_GPU_RESIDENT_dtc_gpu_cells_params   4

/* Where their threads meet between phases. Words of a table of unlike runs are each warp's own. */
#define DTC_GPU_MEET_dtc_gpu_many_params  __syncthreads()
#define DTC_GPU_MEET_dtc_gpu_crc_params   __syncthreads()
#define DTC_GPU_MEET_dtc_gpu_cells_params __syncthreads()
#define DTC_GPU_MEET_dtc_gpu_indexed_params \
	do {                                \
		if (p.nest.word > 1)        \
			__syncwarp();       \
		else                        \
			__syncthreads();    \
	} while (0)

#define DTC_GPU_ENTRY1(name, params, a)             \
	DTC_GPU_KERNEL(name, params, DTC_GPU_RESIDENT_##params) \
	{                                           \
		DTC_GPU_AT();                       \
		a(&p, dtc_gpu_shared, at);          \
		DTC_GPU_END();                      \
	}

#define DTC_GPU_ENTRY2(name, params, a, b)          \
	DTC_GPU_KERNEL(name, params, 3)             \
	{                                           \
		DTC_GPU_AT();                       \
		a(&p, dtc_gpu_shared, at);          \
		__syncthreads();                    \
		b(&p, dtc_gpu_shared, at);          \
		DTC_GPU_END();                      \
	}

#define DTC_GPU_ENTRY3(name, params, a, b, c)                   \
	DTC_GPU_KERNEL(name, params, DTC_GPU_RESIDENT_##params) \
	{                                                       \
		DTC_GPU_AT();                                   \
		a(&p, dtc_gpu_shared, at);                      \
		DTC_GPU_MEET_##params;                          \
		b(&p, dtc_gpu_shared, at);                      \
		DTC_GPU_MEET_##params;                          \
		c(&p, dtc_gpu_shared, at);                      \
		DTC_GPU_END();                                  \
	}

#ifdef DTC_GPU_ONLY
DTC_GPU_ONLY
#else
/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The list of all GPU kernels: identifier, parameters, and the phases between barriers. The
 * entry points, their names and the shim's table are generated from it.
 *
 * DTC_GPU_ENTRY1(NAME, parameters, phase)
 * DTC_GPU_ENTRY2(NAME, parameters, phase, phase)
 * DTC_GPU_ENTRY3(NAME, parameters, phase, phase, phase)
 */
DTC_GPU_ENTRY1(rows_unpack_16, dtc_gpu_rows_params, dtc_gpu_rows_unpack_16_phase)
DTC_GPU_ENTRY1(rows_unpack_8, dtc_gpu_rows_params, dtc_gpu_rows_unpack_8_phase)
DTC_GPU_ENTRY1(rows_unpack_4, dtc_gpu_rows_params, dtc_gpu_rows_unpack_4_phase)
DTC_GPU_ENTRY1(rows_unpack_2, dtc_gpu_rows_params, dtc_gpu_rows_unpack_2_phase)
DTC_GPU_ENTRY1(rows_unpack_1, dtc_gpu_rows_params, dtc_gpu_rows_unpack_1_phase)
DTC_GPU_ENTRY1(copy_rows_16, dtc_gpu_copy_params, dtc_gpu_copy_rows_16_phase)
DTC_GPU_ENTRY1(copy_rows_8, dtc_gpu_copy_params, dtc_gpu_copy_rows_8_phase)
DTC_GPU_ENTRY1(copy_rows_4, dtc_gpu_copy_params, dtc_gpu_copy_rows_4_phase)
DTC_GPU_ENTRY1(copy_rows_2, dtc_gpu_copy_params, dtc_gpu_copy_rows_2_phase)
DTC_GPU_ENTRY1(copy_rows_1, dtc_gpu_copy_params, dtc_gpu_copy_rows_1_phase)
DTC_GPU_ENTRY1(copy_units_16, dtc_gpu_copy_params, dtc_gpu_copy_units_16_phase)
DTC_GPU_ENTRY1(copy_units_8, dtc_gpu_copy_params, dtc_gpu_copy_units_8_phase)
DTC_GPU_ENTRY1(copy_units_4, dtc_gpu_copy_params, dtc_gpu_copy_units_4_phase)
DTC_GPU_ENTRY1(copy_units_2, dtc_gpu_copy_params, dtc_gpu_copy_units_2_phase)
DTC_GPU_ENTRY1(copy_units_1, dtc_gpu_copy_params, dtc_gpu_copy_units_1_phase)
#endif
