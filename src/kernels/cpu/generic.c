/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kernels for every CPU.
 */
#include "config.h"

#include "grid.h"
#include "nest.h"
#include "page_list.h"
#include "sets.h"
#include "stream.h"
#include "table.h"
#include "transpose.h"

const struct dtc_cpu_kernels dtc_cpu_generic = {
	.name = "generic",
	.grid = dtc_copy_grid,
	.transpose = dtc_transpose,
	.table = dtc_move_table,
	.pages = dtc_move_pages,
	.run = dtc_copy_alone,
	.nest = dtc_nest_of,
	.block = { pack_block, unpack_block },
};
