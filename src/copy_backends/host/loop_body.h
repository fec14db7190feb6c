/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tables for several iterations of a loop, and one iteration of a body without loops, but for loops over one table.
 */
#ifndef DTC_LOOP_BODY_H
#define DTC_LOOP_BODY_H

#include "address_pair.h"
#include "datatype/program.h"

/* Move a table of a loop's body, @op, for @count iterations. */
void dtc_move_tables(const struct address_pair *pair, const struct dtc_program *program,
		     const struct dtc_op *loop, const struct dtc_op *op, uint64_t count);

/*
 * Move one whole iteration of a body without loops, but for loops over one table. The pair is passed
 * by address: a copy would be loaded in words wider than those just stored, which waits until all
 * earlier stores have left the CPU (35 ns for each instance behind scattered stores, on an Intel Xeon).
 */
void dtc_move_body(const struct address_pair *pair, const struct dtc_program *program,
		   const struct dtc_op *body, uint32_t op_count);

#endif
