/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hash is the polynomial d[0] x^(n-1) + ... + d[n-1] at a fixed x, where d[i] is the
 * displacement of byte i, plus a constant. It is computed from the program: concatenation takes
 * two multiplications, displacing all bytes one, and repetition doubles.
 */
#include "config.h"

#include "layout_hash.h"

#include "base/base.h"
#include "base/residue.h"

/* Arbitrary but fixed, so that all processes compute equal hashes. */
#define HASH_BASE   UINT64_C(0x0f3a91c25be8764d)
#define HASH_OF_NIL UINT64_C(0x13c6ef372fe94f82)

/* The hash of a sequence of displacements, and what is needed to extend and displace it. */
struct sequence {
	uint64_t hash;
	uint64_t power; /* x to the power of the length */
	uint64_t sum;   /* of all lower powers of x */
};

static const struct sequence empty = { .power = 1 };
static const struct sequence one_byte = { .hash = HASH_OF_NIL,
					  .power = HASH_BASE,
					  .sum = 1 };

static struct sequence concatenated(struct sequence a, struct sequence b)
{
	return (struct sequence){
		.hash = dtc_residue_plus(dtc_residue_times(a.hash, b.power), b.hash),
		.power = dtc_residue_times(a.power, b.power),
		.sum = dtc_residue_plus(dtc_residue_times(a.sum, b.power), b.sum)
	};
}

/* All displacements plus a residue. */
static struct sequence displaced(struct sequence all, uint64_t disp)
{
	all.hash = dtc_residue_plus(all.hash, dtc_residue_times(all.sum, disp));
	return all;
}

static struct sequence repeated(struct sequence once, uint64_t count, int64_t stride)
{
	struct sequence all = empty;
	/* Of @all to its next repetition, and of @once. */
	uint64_t next = 0, step = dtc_residue_of(stride);

	for (; count; count >>= 1) {
		if (count & 1) {
			all = concatenated(all, displaced(once, next));
			next = dtc_residue_plus(next, step);
		}
		once = concatenated(once, displaced(once, step));
		step = dtc_residue_plus(step, step);
	}
	return all;
}

static struct sequence sequence_of_run(uint64_t bytes)
{
	return repeated(one_byte, bytes, 1);
}

/* The entries of a table: runs, or iterations of @body. */
static struct sequence sequence_of_table(const struct dtc_op *op,
					 const struct dtc_table *table,
					 const struct sequence *body)
{
	struct sequence all = empty, entry = empty;
	uint64_t last = 0;

	for (uint64_t i = 0; i < table->count; i++) {
		uint64_t units =
			dtc_table_prefix(table, i + 1) - dtc_table_prefix(table, i);

		if (units != last)
			entry = body ? repeated(*body, units, op->stride)
				     : sequence_of_run(units);
		last = units;
		all = concatenated(
			all, displaced(entry, dtc_residue_of(dtc_table_disp(table, i))));
	}
	return all;
}

/* An operation at its displacement; @body is that of a loop, else NULL. */
static struct sequence sequence_of_op(const struct dtc_program *program,
				      const struct dtc_op *op,
				      const struct sequence *body)
{
	struct sequence all;

	if (op->kind == DTC_OP_TABLE || op->kind == DTC_OP_TABLE_LOOP)
		all = sequence_of_table(op, dtc_program_table(program, op), body);
	else
		all = repeated(body ? *body : sequence_of_run(op->unit_bytes), op->count,
			       op->stride);
	return displaced(all, dtc_residue_of(op->disp));
}

/* A body that is being read. */
struct level {
	const struct dtc_op *loop;
	uint32_t end;
	struct sequence body;
};

static struct sequence sequence_of_program(const struct dtc_program *program)
{
	struct level levels[DTC_PROGRAM_DEPTH + 1] = { { NULL, program->op_count,
							 empty } };
	struct level *level = levels;

	for (uint32_t i = 0; i < program->op_count;) {
		const struct dtc_op *op = &program->ops[i++];

		if (dtc_op_is_loop(op)) {
			*++level = (struct level){ op, i + op->body, empty };
			continue;
		}
		level->body =
			concatenated(level->body, sequence_of_op(program, op, NULL));
		for (; i == level->end && level->loop; level--)
			level[-1].body = concatenated(level[-1].body,
						      sequence_of_op(program, level->loop,
								     &level->body));
	}
	return levels->body;
}

uint64_t dtc_layout_hash(const struct dtc_layout *layout, uint64_t count)
{
	return repeated(sequence_of_program(layout->program), count, layout->extent).hash;
}
