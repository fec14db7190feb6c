/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Assembles a program from operations of other programs. Only normalise.c uses it.
 */
#ifndef DTC_ASSEMBLE_H
#define DTC_ASSEMBLE_H

#include "datatype/program.h"

struct dtc_run {
	int64_t disp;
	uint64_t bytes;
};

/*
 * A program under construction. Runs are kept in a list of their own until another operation
 * follows, because normalise.c chooses their form by the whole list.
 */
struct dtc_assembly {
	struct dtconv_context *context;
	struct dtc_op *ops;
	size_t op_count, op_capacity;
	size_t last; /* the last top-level operation; meaningless if there is none */
	char *tables;
	size_t table_bytes, table_capacity;
	size_t last_table; /* offset of the last table */
	uint64_t bytes;
	uint32_t depth;
	struct dtc_run *runs;
	size_t run_count, run_capacity;
};

void dtc_assembly_init(struct dtc_assembly *assembly, struct dtconv_context *context);
void dtc_assembly_drop(struct dtc_assembly *assembly);

/*
 * Append a run to the pending list, and merge it with the previous one if they touch. False if
 * memory ran out, like the next function.
 */
bool dtc_assembly_add_run(struct dtc_assembly *assembly, int64_t disp, uint64_t bytes);

/*
 * Append the top-level operation @index of @program with its body and tables, displaced by
 * @disp.
 */
bool dtc_assembly_add_op(struct dtc_assembly *assembly, const struct dtc_program *program,
			 uint32_t index, int64_t disp);

/*
 * Return the program, or NULL. The assembly is empty afterwards. The pending list has to be
 * empty.
 */
struct dtc_program *dtc_assembly_finish(struct dtc_assembly *assembly);

#endif
