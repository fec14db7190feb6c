/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The byte program: a type's layout without its basic types. It is plain data without pointers,
 * so it can be copied to a device. The packed stream is the bytes of its operations, in order.
 *
 * Operations are in preorder: a loop is followed by its @body operations. Displacements are
 * relative to the enclosing iteration. The first operation of every body has displacement 0,
 * and the loop carries its displacement; so equal layouts have equal programs.
 */
#ifndef DTC_PROGRAM_H
#define DTC_PROGRAM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dtconv_context;

/*
 * Every loop has at least two iterations and moves at least a byte in each. As sizes fit in 64
 * bits, this bounds the nesting.
 */
#define DTC_PROGRAM_DEPTH 63

enum dtc_op_kind {
	DTC_OP_RUN,        /* one run of bytes */
	DTC_OP_STRIP,      /* equally spaced runs of one length */
	DTC_OP_TABLE,      /* runs listed in a table */
	DTC_OP_LOOP,       /* a body at equally spaced displacements */
	DTC_OP_TABLE_LOOP, /* a body at listed displacements, several times at each */
};

struct dtc_op {
	uint16_t kind;
	uint16_t flat;         /* loops: 1 if there is no loop in the body */
	uint32_t body;         /* loops: operations in the body */
	int64_t disp;          /* of the first byte; relative to the enclosing iteration */
	uint64_t bytes_before; /* packed, in the enclosing iteration */
	uint64_t bytes;        /* packed, of the whole operation */
	uint64_t count;        /* runs or iterations */
	uint64_t unit_bytes;   /* packed, of one run or iteration; tables of unlike runs: 0 */
	int64_t stride;        /* between runs or iterations; table loops: inside an entry */
	uint64_t table;        /* tables: offset from the start of the tables, in bytes */
};

/*
 * A table lists entries by their displacements relative to the operation's. Entry i covers
 * units [prefix(i), prefix(i + 1)): bytes for DTC_OP_TABLE, iterations for DTC_OP_TABLE_LOOP.
 * Without prefixes, all entries cover the same number of units. Both columns are divided by a
 * power of two and stored in the narrowest integers that hold the values.
 */
struct dtc_table {
	uint64_t count;         /* entries */
	uint64_t uniform;       /* units in every entry; 0: the prefixes say */
	uint64_t prefix_offset; /* offset from the start of the tables, in bytes */
	uint64_t table_bytes;   /* the table's whole size, a multiple of 8 */
	uint64_t span;          /* from the lowest to the highest displacement */
	uint8_t disp_wide;      /* 1: int64_t, 0: int32_t */
	uint8_t disp_shift;
	uint8_t prefix_wide; /* 1: uint64_t, 0: uint32_t */
	uint8_t prefix_shift;
	uint32_t reserved;
	/* displacements, then count + 1 prefixes, each column 8-byte aligned */
};

struct dtc_program {
	_Atomic size_t references;
	struct dtconv_context *context;
	uint64_t bytes;  /* packed */
	uint32_t depth;  /* deepest loop nest */
	uint32_t op_count;
	size_t table_bytes;
	struct dtc_op ops[]; /* op_count of them, then the tables */
};

static inline const char *dtc_program_tables(const struct dtc_program *program)
{
	return (const char *)&program->ops[program->op_count];
}

static inline const struct dtc_table *dtc_program_table(const struct dtc_program *program,
							const struct dtc_op *op)
{
	return (const struct dtc_table *)(dtc_program_tables(program) + op->table);
}

static inline bool dtc_op_is_loop(const struct dtc_op *op)
{
	return op->kind >= DTC_OP_LOOP;
}

static inline int64_t dtc_table_disp(const struct dtc_table *table, uint64_t entry)
{
	const void *column = table + 1;
	int64_t scaled = table->disp_wide ? ((const int64_t *)column)[entry]
					  : ((const int32_t *)column)[entry];

	return (int64_t)((uint64_t)scaled << table->disp_shift);
}

/* The number of units in the entries before @entry, which may be the number of entries. */
static inline uint64_t dtc_table_prefix(const struct dtc_table *table, uint64_t entry)
{
	const void *column = (const char *)table + table->prefix_offset;

	if (table->uniform)
		return table->uniform * entry;
	uint64_t scaled = table->prefix_wide ? ((const uint64_t *)column)[entry]
					     : ((const uint32_t *)column)[entry];
	return scaled << table->prefix_shift;
}

/*
 * The entry that covers @unit, which must be less than the total number of units. The search is
 * fast if that entry is close behind @from.
 */
uint64_t dtc_table_find(const struct dtc_table *table, uint64_t unit, uint64_t from);

struct dtc_program *dtc_program_ref(struct dtc_program *program);
void dtc_program_unref(struct dtc_program *program);

/*
 * ---- constructors: each returns a normalised program, or NULL if memory ran out ------------
 */

struct dtc_program *dtc_program_create_empty(struct dtconv_context *context);

struct dtc_program *dtc_program_create_run(struct dtconv_context *context, int64_t disp,
					   uint64_t bytes);

/* @count times @program, @stride bytes apart. */
struct dtc_program *dtc_program_create_repeat(struct dtc_program *program, uint64_t count,
					      int64_t stride);

/* Blocks of a type: @length(i) instances, @extent apart, from @disp(i) on. */
struct dtc_block_list {
	uint64_t count;
	int64_t unit;   /* bytes per unit of a displacement */
	int64_t extent; /* of the type */
	/* Fetch blocks [first, first + n), n <= DTC_BLOCK_BATCH. */
	void (*fetch)(const void *source, uint64_t first, uint64_t n, int64_t disps[],
		      uint64_t lengths[]);
	const void *source;
};

#define DTC_BLOCK_BATCH 128

struct dtc_program *dtc_program_create_blocks(struct dtc_program *program,
					      const struct dtc_block_list *list);

/* One member of a sequence: a program, displaced. */
struct dtc_program_part {
	struct dtc_program *program;
	int64_t disp;
};

struct dtc_program *dtc_program_create_sequence(struct dtconv_context *context, size_t n,
						const struct dtc_program_part parts[]);

/* A program with uninitialised operations and tables. */
struct dtc_program *dtc_program_allocate(struct dtconv_context *context,
					 uint32_t op_count, size_t table_bytes);

/* The same in memory of the caller's, who never drops the reference. */
void dtc_program_init(struct dtc_program *program, struct dtconv_context *context,
		      uint32_t op_count, size_t table_bytes);

struct dtc_op dtc_op_of_run(int64_t disp, uint64_t bytes);

/* A program of one operation without table. */
struct dtc_program *dtc_program_create_op(struct dtconv_context *context,
					  const struct dtc_op *op);

/*
 * A loop over a non-empty @body, described by @head (kind, disp, count, stride). Its own table,
 * if it has one, is uninitialised, in the last @table_bytes.
 */
struct dtc_program *dtc_program_create_loop(const struct dtc_program *body,
					    const struct dtc_op *head,
					    size_t table_bytes);

#endif
