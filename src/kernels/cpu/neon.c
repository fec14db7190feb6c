/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kernels with NEON tiles. Every aarch64 CPU has NEON, and the words of the generic kernels
 * already are its registers, so this file only adds tiles.
 */
#include "config.h"

#define DTC_NEON_TILES

#include "grid.h"
#include "nest.h"
#include "page_list.h"
#include "sets.h"
#include "stream.h"
#include "table.h"
#include "transpose.h"

const struct dtc_cpu_kernels dtc_cpu_neon = {
	.name = "neon",
	.grid = dtc_copy_grid,
	.transpose = dtc_transpose,
	.table = dtc_move_table,
	.pages = dtc_move_pages,
	.run = dtc_copy_alone,
	.nest = dtc_nest_of,
	.block = { pack_block, unpack_block },
};
