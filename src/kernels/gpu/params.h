/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parameters of the GPU kernels: one plain struct for each kind of kernel, with the same layout
 * on the host and on the device. Addresses are integers, because neither side may dereference
 * the other's. Those of kernels that are specialised for shapes are in special_params.h.
 */
#ifndef DTC_KERNELS_GPU_PARAMS_H
#define DTC_KERNELS_GPU_PARAMS_H

#include "kernels/gpu/special_params.h"

/*
 * Words that a thread copies from one layout to another, and in long streams of short runs. More would not fit into the
 * registers: each has an address on either side.
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
	uint64_t
		first; /* number of the first word that is copied; of the first block, if words are shifted */
	uint32_t form; /* as above */
	uint16_t wide; /* of a table: see struct dtc_gpu_table_params */
	uint16_t shift;
};

struct dtc_gpu_copy_params {
	struct dtc_gpu_done done;
	uint64_t units; /* words that are copied */
	uint32_t words; /* of a thread: one of the two numbers above */
	uint32_t block; /* bytes, if words are shifted */
	struct dtc_gpu_copy_side source, target;
};

/* One of many copies in a launch; a thread copies DTC_GPU_COPY_WORDS words. */
struct dtc_gpu_copy_part {
	uint32_t first_tile; /* of the launch's tiles */
	uint32_t word;       /* bytes */
	uint64_t units;      /* words that are copied */
	struct dtc_gpu_copy_side source, target;
};

/* Parts passed in the launch's parameters; more are read from device memory. */
#define DTC_GPU_INLINE_COPIES 11

/* Shared by the threads of a block: a part and its number. */
#define DTC_GPU_COPIES_SHARED_BYTES (sizeof(struct dtc_gpu_copy_part) + 8)

struct dtc_gpu_copies_params {
	struct dtc_gpu_done done;
	uint64_t parts; /* address of the parts; 0: they are in the parameters */
	uint32_t part_count;
	uint32_t reserved;
	struct dtc_gpu_copy_part inline_parts[DTC_GPU_INLINE_COPIES];
};

/* ---- periods of bytes, through shared memory ---------------------------------------------- */

/* A run: where it begins in the packed period, and in the compressed one. */
struct dtc_gpu_staged_run {
	uint32_t packed;
	uint32_t disp;
};

/* Bytes [begin, end) of a compressed period, of which no aligned word of 16 is in a gap. */
struct dtc_gpu_staged_segment {
	uint32_t begin;
	uint32_t end;
	uint32_t
		skipped; /* bytes of the user's period that are left out before; a multiple of 16 */
};

#define DTC_GPU_STAGED_SEGMENTS 32

/* The most packed words of a super-period. */
#define DTC_GPU_STAGED_WORDS 1024u

/*
 * Level 0 of the nest is the bytes of a period, level 1 the loop next to it, whose iterations are
 * a row. The nest's user address is that of the first byte of the first period. @repeats periods are a
 * super-period, which is whole words on both sides: packing has a map of it.
 */
struct dtc_gpu_staged_params {
	struct dtc_gpu_done done;
	struct dtc_gpu_nest nest;
	uint64_t
		first_period; /* whole periods of the stretch: [first_period, end_period) */
	uint64_t end_period;
	uint64_t first_tile;
	uint32_t tiles; /* in a row; 0: there is one row only */
	uint32_t tile_periods;
	uint32_t extent; /* of a compressed period */
	uint32_t span;   /* of its bytes, from the first to the last */
	uint32_t extent_magic, extent_shift;
	uint32_t
		dense; /* 1: nothing is left out, and no aligned word of 16 is in a gap */
	uint32_t asks; /* 1: all sectors are asked for before they are stored to */
	uint32_t repeats;
	uint32_t map_words;     /* packed words of a super-period */
	uint32_t staged_offset; /* in shared memory, where the map is before it */
	uint32_t run_count;
	uint32_t segment_count;
	uint32_t reserved;
	struct dtc_gpu_staged_segment segments[DTC_GPU_STAGED_SEGMENTS];
	struct dtc_gpu_staged_run runs[DTC_GPU_RUNS]; /* in packed order */
};

/*
 * Shared memory: of a packed word the places of two staged words that have its bytes, 16 bits each, and the
 * selector of their permutation. If there are more words, each is permuted with the value so far.
 */
struct dtc_gpu_staged_word {
	uint32_t words;
	uint32_t selectors;
};

#define DTC_GPU_STAGED_MORE (1u << 20)

/* Whole periods of a row, the tile of one block, at the begin of shared memory; no periods: none. */
struct dtc_gpu_staged_tile {
	uint64_t user;   /* address of the first period */
	uint64_t packed; /* where it is packed */
	uint32_t periods;
	uint32_t reserved[3];
};

/*
 * A digit of a number: from 0 to @count - 1, which is below 2^30. Numbers of any size are divided by @by, those below 2^31
 * as an index by the count of a level above.
 */
struct dtc_gpu_digit {
	struct dtc_gpu_divisor by;
	uint32_t count;
	uint32_t magic;
	uint32_t shift;
	uint32_t reserved;
};

/* The most pieces of a thread of a list of pages, DTC_GPU_BLOCK apart. */
#define DTC_GPU_PAGE_PIECES 4u

/* The most page numbers in the parameters. */
#define DTC_GPU_PAGE_NUMBERS 512u

/* Where a side of a move of pages is. */
#define DTC_GPU_PAGES_PACKED 0u /* the packed stream, whose byte 0 is at @memory */
#define DTC_GPU_PAGES_32     1u /* pages, by a table of 32-bit numbers at @table */
#define DTC_GPU_PAGES_64     2u /* of 64-bit numbers */
#define DTC_GPU_PAGES_GIVEN  3u /* by numbers in the parameters */

/* One side of a move of pages. Pages are rows. */
struct dtc_gpu_page_side {
	uint64_t memory; /* address of page 0 in the first plane */
	uint64_t table;
	uint64_t
		fault; /* address of a word that is lowered to the entry of a number out of range plus @bias, or 0 */
	uint64_t bias;
	uint64_t limit;  /* numbers are below it */
	uint64_t stride; /* bytes from a number to the next */
	int64_t layer_stride;
	int64_t part_stride;
	uint64_t row_bytes;
	uint64_t row_stride;
	struct dtc_gpu_divisor by_row;
	struct dtc_gpu_digit words; /* of a row, if sides are aligned */
	struct dtc_gpu_digit rows;  /* of a page */
	uint32_t form;              /* DTC_GPU_PAGES_PACKED and so on */
	uint32_t
		given; /* added to an entry, modulo 2^32: the index of its number in the parameters */
};

/*
 * Pages of pools by their numbers, in planes: the parts of the layers. The stream is one plane after another. Units are
 * the words of all planes, of which the last one of a plane may be shorter.
 */
struct dtc_gpu_pages_params {
	struct dtc_gpu_done done;
	struct dtc_gpu_page_side sides[2]; /* from, to */
	uint64_t plane_bytes;
	uint64_t begin; /* of the stretch, in bytes of the stream */
	uint64_t end;
	uint64_t first; /* units that the stretch touches: [first, last) */
	uint64_t last;
	uint64_t plane_words;
	struct dtc_gpu_digit
		planes; /* plane_words, as a divisor; of those below 2^31, if it is at most 2^30 */
	struct dtc_gpu_digit parts; /* of a layer */
	uint32_t each;              /* units of a thread */
	uint32_t aligned;           /* 1: rows are whole aligned words on both sides */
	uint32_t ragged;  /* 1: but the stretch begins or ends inside such a word */
	uint32_t reserved;
	uint32_t numbers[DTC_GPU_PAGE_NUMBERS];
};

/* Parameters of the kernel that moves one word a thread. */
#define dtc_gpu_page_words_params dtc_gpu_pages_params

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
	uint64_t
		positions; /* in the order of addresses: of all the periods that are touched */
	struct dtc_gpu_divisor by_count;
	uint32_t
		count; /* words of a period; small numbers are divided by it with what follows */
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

struct dtc_gpu_general_params {
	struct dtc_gpu_done done;
	struct dtc_gpu_walk walk;
};

/* ---- typed streams ------------------------------------------------------------------------ */

/* The kind of a number in an operation. A complex number is two numbers, except in products. */
enum dtc_gpu_number_kind {
	DTC_GPU_BITS, /* for operations that do not depend on the number */
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

/* How an arrived number and the one in memory are combined. */
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
	uint8_t wire_bytes; /* if different, integers are extended or cut */
	uint8_t is_signed;
	uint8_t swap; /* groups of this many bytes are reversed in the stream; 0: none */
	uint8_t reserved;
};

/*
 * A typed stream is units in loops. A unit is a number, or a value and its index. Nodes are in
 * preorder; a loop is followed by its @body nodes. The units and bytes before a node, on either
 * side, count from the start of the enclosing iteration.
 */
struct dtc_gpu_node {
	uint64_t units_before;
	uint64_t native_before;
	uint64_t wire_before;
	uint64_t units;        /* in all iterations */
	uint64_t trip_units;   /* runs: 1 */
	uint64_t native_bytes; /* of an iteration, or of a unit */
	uint64_t wire_bytes;
	uint16_t body; /* runs: 0 */
	struct dtc_gpu_number number;
};

#define DTC_GPU_NODES 56

/* Units of a thread, DTC_GPU_BLOCK apart. */
#define DTC_GPU_UNITS 4u

/*
 * Any units, each located separately. Couples are a single run, whose second node is the index.
 * They are in the nest if it has levels; then level 0 counts them.
 */
struct dtc_gpu_units_params {
	struct dtc_gpu_done done;
	struct dtc_gpu_walk walk; /* its begin and end are not used */
	struct dtc_gpu_nest nest; /* nor do these */
	uint64_t packed;          /* packed address of unit 0 */
	uint64_t begin, end;      /* units */
	uint64_t fault;           /* word to set to done.value if a number does not fit */
	uint32_t combination;
	uint16_t node_count;
	uint8_t long_couples;    /* numbers above DTC_GPU_CELL_BYTES */
	uint8_t couple_words[2]; /* bytes of a load: user's side, packed side */
	uint8_t reserved[3];
	struct dtc_gpu_node nodes[DTC_GPU_NODES];
};

/* Words of a thread, DTC_GPU_BLOCK apart. */
#define DTC_GPU_NUMBER_WORDS 4u

/* One kind of number, of one size on both sides, in a nest whose words hold whole numbers. */
struct dtc_gpu_numbers_params {
	struct dtc_gpu_done done;
	struct dtc_gpu_nest nest; /* begins and ends at word boundaries */
	uint32_t combination;
	struct dtc_gpu_number number;
	uint16_t reserved;
};

/* Equal numbers, consecutive on both sides of a period. */
struct dtc_gpu_turned_run {
	int32_t disp;
	uint16_t packed; /* offset in the packed period, in bytes */
	uint16_t swap;   /* see struct dtc_gpu_number */
};

/*
 * The same in periods; level 0 of the nest counts words. Numbers that only change their byte
 * order may be of many kinds, and longer than a word, which then has at least 4 bytes.
 */
struct dtc_gpu_period_params {
	struct dtc_gpu_done done;
	struct dtc_gpu_numbers_params numbers; /* its flag is not used */
	uint32_t run_count;
	uint32_t turned;
	struct dtc_gpu_turned_run runs[DTC_GPU_RUNS];
};

/* In shared memory, if numbers change their byte order: a word of a period. */
struct dtc_gpu_turned_word {
	int32_t disp;
	uint32_t selector; /* see dtc_gpu_turn_word */
};

/* Cells of a thread; the longest cell; the most cells of a period. */
#define DTC_GPU_THREAD_CELLS 4u
#define DTC_GPU_CELL_BYTES   8u
#define DTC_GPU_PERIOD_CELLS 1024u

/* The most cells of a record. Shared memory holds the packed words of a block's records. */
#define DTC_GPU_RECORD_CELLS 16u

/*
 * A cell is one number, or several consecutive ones of one kind, with that many bytes on either
 * side.
 */
struct dtc_gpu_cell {
	int32_t disp;   /* offset in the user's period */
	uint16_t wire;  /* offset in the packed period */
	uint16_t first; /* of consecutive equal cells: the number of the first */
	struct dtc_gpu_number number; /* its sizes are the cell's */
	uint16_t word; /* records: 8 if the user's side is aligned to it, else 4 */
};

#define DTC_GPU_CELL_ROWS 200

/*
 * Numbers of any kind at any alignment, in identical periods; or, without rows, in a nest of
 * one kind of number, which the first row describes. The nest begins and ends at cell
 * boundaries, and its level 0 counts cells. Its packed address is that of byte 0 of cell 0.
 *
 * Records are short periods whose cells have 4 or 8 bytes on both sides, all aligned to 4.
 * Level 0 counts words of 4 bytes, and a row is a single cell.
 */
struct dtc_gpu_cells_params {
	struct dtc_gpu_done done;
	struct dtc_gpu_nest nest;
	uint64_t wire_bytes; /* of a period; without rows, of a cell */
	uint64_t fault;      /* see struct dtc_gpu_units_params */
	uint32_t combination;
	uint32_t row_count;
	uint32_t cells; /* of a record */
	uint32_t warps; /* that share a record; a power of two */
	struct dtc_gpu_cell rows[DTC_GPU_CELL_ROWS];
};

/* ---- checksums ---------------------------------------------------------------------------- */

/* Bytes of a thread in a tile; bytes of a tile; log2 of the most blocks. */
#define DTC_GPU_CRC_PIECE      64u
#define DTC_GPU_CRC_TILE       (DTC_GPU_CRC_PIECE * DTC_GPU_BLOCK)
#define DTC_GPU_CRC_BLOCKS_LOG 9u

/*
 * Shared memory:
 *
 * - the remainders in front of 4 zero bytes, by six groups of bits; one copy for each lane of a
 *   warp, so that no two lanes access the same bank;
 * - tables of 256 for the 4 bytes of a remainder that is shifted to the next tile;
 * - the remainders of the threads.
 */
#define DTC_GPU_CRC_ENTRIES 256u
#define DTC_GPU_CRC_ROWS    4u
#define DTC_GPU_CRC_SHARED_BYTES                                         \
	((DTC_GPU_CRC_ENTRIES * DTC_GPU_LANES + DTC_GPU_CRC_ROWS * 256 + \
	  DTC_GPU_BLOCK) *                                               \
	 4)

struct dtc_gpu_crc_constants {
	uint32_t bits[32];                  /* of a remainder in front of 4 zero bytes */
	uint32_t rows[DTC_GPU_CRC_ROWS][8]; /* entries 1, 2, 4, 8 ... of every table */
	uint32_t threads[16]; /* to the end of 16 threads' pieces, by thread */
	uint32_t groups[16];  /* from there to the tile's end, by 16 threads */
};

struct dtc_gpu_crc_params {
	struct dtc_gpu_done done;
	uint64_t begin;   /* address of the 16-byte word that holds the first byte */
	uint64_t skipped; /* bytes of the first blocks' tiles in front of that word */
	uint64_t counter; /* two words, 0 between launches: blocks, their sum */
	uint64_t result;  /* address of the 64-bit result */
	uint32_t tiles;  /* of a block */
	uint32_t head;   /* bytes of the first word before the first byte */
	uint32_t tail;   /* bytes of the last word to ignore, as zeros */
	uint32_t reserved;
	uint32_t blocks[DTC_GPU_CRC_BLOCKS_LOG]; /* factors of 1, 2, 4 ... blocks */
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

/* Parts passed in the launch's parameters; more are read from device memory. */
#define DTC_GPU_INLINE_PARTS 26

/* Shared by the threads of a block: a part and its number. */
#define DTC_GPU_MANY_SHARED_BYTES (sizeof(struct dtc_gpu_part) + 8)

/*
 * How to adjust parts in device memory, which contain neither the buffers' addresses nor the
 * stretch, so that they serve any buffer. Unadjusted: all zero but @end, which is the largest
 * number.
 */
struct dtc_gpu_taken {
	uint64_t user;   /* added to the parts' addresses */
	uint64_t packed; /* the same */
	uint64_t begin;  /* move only these packed addresses of the parts */
	uint64_t end;
	uint32_t first_tile; /* tile of the launch's first block */
	uint32_t reserved;
};

/* The words of a part that are adjusted. */
#define DTC_GPU_WORD_USER   1u
#define DTC_GPU_WORD_PACKED 2u
#define DTC_GPU_WORD_BEGIN  3u
#define DTC_GPU_WORD_END    4u

struct dtc_gpu_many_params {
	struct dtc_gpu_done done;
	uint64_t parts; /* address of the parts; 0: they are in the parameters */
	uint32_t part_count;
	uint32_t reserved;
	union {
		struct dtc_gpu_part inline_parts[DTC_GPU_INLINE_PARTS];
		struct dtc_gpu_taken taken;
	} u;
};

#endif
