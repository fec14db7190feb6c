/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tables of the pipeline bench.
 */
#ifndef BENCH_PIPELINE_REPORT_H
#define BENCH_PIPELINE_REPORT_H

#include "bench/harness/result.h"
#include "bench/pipeline/rows.h"

/*
 * Print a row, which is the results from @from on; @before: the row printed last, or NULL. A row of another table than
 * that one has a head.
 */
void report_row(const struct pipeline_row *row, const struct pipeline_row *before,
		const struct results *results, size_t from);
/* End the table of a row; NULL: there is none. */
void report_end(const struct pipeline_row *row);

/* message, duplex or list: the JSON key op. */
const char *report_op(enum contest_kind kind);

#endif
