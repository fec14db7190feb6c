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
#define DTC_GPU_PLAIN 0
#define DTC_GPU_MAPPED \
	1 /* level 0: displacements are in a map, not multiples of a stride */
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
	uint32_t form; /* as above */
	uint16_t wide; /* of a table: see struct dtc_gpu_table_params */
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
	uint32_t wide;    /* positions may pass 2^31 */
};

/*
 * Words of a thread where neighbours mostly share sectors, in long streams; else one is fastest (packing 16 MiB on an
 * H200, us by 1, 4 and 8 words: LAMMPS_full, of 8 bytes, 13.8, 11.8, 10.8; WRF_y, of 4, 15.5, 12.1, 12.6; WRF_x, of 4 and
 * sparse, 28.8, 29.8, 30.9).
 */
#define DTC_GPU_MAPPED_PACKED(word)   ((word) == 8 ? 8u : 4u)
#define DTC_GPU_MAPPED_UNPACKED(word) 2u
#define DTC_GPU_MAPPED_SORTED(word)   ((word) == 16 ? 2u : 4u)

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
