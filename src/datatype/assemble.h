/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The assembly of a program from operations of others, used by normalise.c alone.
 */
#ifndef DTC_ASSEMBLE_H
#define DTC_ASSEMBLE_H

#include "datatype/program.h"

struct dtc_run {
	int64_t disp;
	uint64_t bytes;
};

/*
 * A program in the making. Runs wait in a list of their own until another operation follows,
 * because what they become is decided over the whole list.
 */
struct dtc_assembly {
	struct dtconv_context *context;
	struct dtc_op *ops;
	size_t op_count, op_capacity;
	size_t last; /* the last top-level operation, if there is any */
	char *tables;
	size_t table_bytes, table_capacity;
	uint64_t bytes;
	uint32_t depth;
	struct dtc_run *runs;
	size_t run_count, run_capacity;
};

void dtc_assembly_init(struct dtc_assembly *assembly, struct dtconv_context *context);
void dtc_assembly_drop(struct dtc_assembly *assembly);

/* Add a run to the waiting list; merges neighbours. False if memory ran out, as below. */
bool dtc_assembly_add_run(struct dtc_assembly *assembly, int64_t disp, uint64_t bytes);

/* Add the top-level operation @index of @program, its body and tables, moved by @disp. */
bool dtc_assembly_add_op(struct dtc_assembly *assembly, const struct dtc_program *program,
			 uint32_t index, int64_t disp);

/* The program, or NULL; the assembly is empty afterwards. The waiting list must be empty. */
struct dtc_program *dtc_assembly_finish(struct dtc_assembly *assembly);

#endif
