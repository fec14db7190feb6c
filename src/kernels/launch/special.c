/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The numbers of a launch that belong to its shape, and their source text as constants. The
 * specialised kernel consists of that text and the unchanged source of its class.
 */
#include "config.h"

#include "special.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"

/* ---- shapes ------------------------------------------------------------------------------------- */

/* The count of the outermost loop is not used; the block's always is. */
static bool is_open(const struct dtc_gpu_nest *nest, uint32_t level)
{
	return level > 0 && level + 1u == nest->dim_count;
}

static void clear_nest(struct dtc_gpu_nest *nest)
{
	uint32_t outermost = nest->dim_count - 1u;

	nest->user = nest->packed = nest->begin = nest->end = 0;
	if (!is_open(nest, outermost))
		return;
	nest->dims[outermost].count = nest->dims[outermost].magic = 0;
	if (outermost < DTC_GPU_DIMS - 1)
		nest->shift[outermost] = 0;
}

static bool is_table(const struct dtc_gpu_special *special)
{
	return special->bytes == sizeof(struct dtc_gpu_table_params);
}

static void clear_addresses(struct dtc_gpu_special *special)
{
	struct dtc_gpu_indexed_params *indexed = &special->params.indexed;

	if (is_table(special))
		special->params.table.disps = 0;
	else
		indexed->disps = indexed->prefixes = indexed->starts =
			indexed->first_tile = 0;
}

static uint32_t bytes_of(const struct dtc_gpu_launch *launch)
{
	const struct dtc_gpu_periodic_params *periodic = &launch->params.periodic;

	if (launch->class != DTC_GPU_CLASS_PERIODIC)
		return launch->params_bytes;
	return (uint32_t)(offsetof(struct dtc_gpu_periodic_params, runs) +
			  periodic->run_count * sizeof(periodic->runs[0]));
}

bool dtc_gpu_is_special_class(enum dtc_gpu_class class)
{
	return class == DTC_GPU_CLASS_STRIDED || class == DTC_GPU_CLASS_PERIODIC ||
	       class == DTC_GPU_CLASS_INDEXED || class == DTC_GPU_CLASS_TRANSPOSING;
}

/* In all of these, the nest is behind the flag. */
#define NEST_OF(special) ((special)->params.strided.nest)
#define SAME_NEST(params)                                                     \
	_Static_assert(offsetof(struct params, nest) ==                       \
			       offsetof(struct dtc_gpu_strided_params, nest), \
		       "moved")
SAME_NEST(dtc_gpu_rows_params);
SAME_NEST(dtc_gpu_periodic_params);
SAME_NEST(dtc_gpu_table_params);
SAME_NEST(dtc_gpu_indexed_params);
SAME_NEST(dtc_gpu_transpose_params);
_Static_assert(sizeof(struct dtc_gpu_table_params) !=
		       sizeof(struct dtc_gpu_indexed_params),
	       "told apart by their sizes");

bool dtc_gpu_special_of(const struct dtc_gpu_launch *launch,
			struct dtc_gpu_special *special)
{
	/*
	 * Staged bytes are found in a map, whatever the shape, and lists of pages are another shape each time: constants
	 * would save nothing.
	 */
	if (!launch->grid || !dtc_gpu_is_special_class(launch->class) ||
	    dtc_gpu_is_staged(launch->kernel) || dtc_gpu_is_of_pages(launch->kernel))
		return false;
	special->kernel = launch->kernel;
	special->class = launch->class;
	special->bytes = bytes_of(launch);
	memcpy(&special->params, &launch->params, special->bytes);
	special->params.done = (struct dtc_gpu_done){ .flag = 0 };
	clear_nest(&NEST_OF(special));
	if (special->class == DTC_GPU_CLASS_INDEXED)
		clear_addresses(special);
	if (special->class == DTC_GPU_CLASS_STRIDED &&
	    special->bytes == sizeof(special->params.rows))
		special->params.rows.words = 0;
	return true;
}

bool dtc_gpu_special_is(const struct dtc_gpu_special *special,
			const struct dtc_gpu_special *other)
{
	return special->kernel == other->kernel && special->bytes == other->bytes &&
	       !memcmp(&special->params, &other->params, special->bytes);
}

/*
 * ---- source text
 * --------------------------------------------------------------------------------
 */

#define DTC_GPU_ENTRY1(name, params, a) "DTC_GPU_ENTRY1(" #name ", " #params ", " #a ")",
#define DTC_GPU_ENTRY2(name, params, a, b) \
	"DTC_GPU_ENTRY2(" #name ", " #params ", " #a ", " #b ")",
#define DTC_GPU_ENTRY3(name, params, a, b, c) \
	"DTC_GPU_ENTRY3(" #name ", " #params ", " #a ", " #b ", " #c ")",
static const char *const entries[] = {
#include "kernels/gpu/list.h"
};
#undef DTC_GPU_ENTRY1
#undef DTC_GPU_ENTRY2
#undef DTC_GPU_ENTRY3

static void put(struct dtc_text *text, const char *member, uint64_t value)
{
	dtc_text_printf(text, " \\\n\tp.%s = %" PRIu64 "u;", member, value);
}

static void put_at(struct dtc_text *text, const char *member, uint32_t index,
		   uint64_t value)
{
	dtc_text_printf(text, " \\\n\tp.%s[%" PRIu32 "] = %" PRIu64 "u;", member, index,
			value);
}

static void put_dim(struct dtc_text *text, const struct dtc_gpu_nest *nest,
		    uint32_t level)
{
	char member[40];

	snprintf(member, sizeof(member), "nest.dims[%" PRIu32 "].stride", level);
	put(text, member, (uint64_t)nest->dims[level].stride);
	if (is_open(nest, level))
		return;
	snprintf(member, sizeof(member), "nest.dims[%" PRIu32 "].count", level);
	put(text, member, nest->dims[level].count);
	snprintf(member, sizeof(member), "nest.dims[%" PRIu32 "].magic", level);
	put(text, member, nest->dims[level].magic);
	put_at(text, "nest.shift", level, nest->shift[level]);
}

static void put_nest(struct dtc_text *text, const struct dtc_gpu_nest *nest)
{
	put(text, "nest.dim_count", nest->dim_count);
	put(text, "nest.word", nest->word);
	put(text, "nest.wide", nest->wide);
	put(text, "nest.expects", nest->expects);
	put(text, "nest.block", nest->block);
	for (uint32_t level = 0; level < nest->dim_count; level++)
		put_dim(text, nest, level);
}

static void put_periodic(struct dtc_text *text,
			 const struct dtc_gpu_periodic_params *params)
{
	put(text, "run_count", params->run_count);
	put(text, "period", params->period);
	put(text, "share_word", params->share_word);
	dtc_text_puts(text, "\n#define DTC_GPU_RUN_LIST {");
	for (uint32_t i = 0; i < params->run_count; i++) {
		const struct dtc_gpu_run *run = &params->runs[i];

		dtc_text_printf(text, " { %" PRId32 ", %" PRIu32 "u, %" PRIu32 "u },",
				run->disp, run->packed, run->share);
	}
	dtc_text_puts(text, " }");
}

static void put_table(struct dtc_text *text, const struct dtc_gpu_table_params *params)
{
	put(text, "wide", params->wide);
	put(text, "shift", params->shift);
}

static void put_indexed(struct dtc_text *text,
			const struct dtc_gpu_indexed_params *params)
{
	put(text, "count", params->count);
	put(text, "table_bytes", params->table_bytes);
	put(text, "disp_wide", params->disp_wide);
	put(text, "disp_shift", params->disp_shift);
	put(text, "prefix_wide", params->prefix_wide);
	put(text, "prefix_shift", params->prefix_shift);
	put(text, "tiles", params->tiles);
	put(text, "tile_bytes", params->tile_bytes);
	put(text, "whole", params->whole);
	put(text, "capacity", params->capacity);
	put(text, "by_run", params->by_run);
}

static void put_transpose(struct dtc_text *text,
			  const struct dtc_gpu_transpose_params *params)
{
	put(text, "outer_packed", params->outer_packed);
	put(text, "outer_stride", (uint64_t)params->outer_stride);
	put(text, "side_log", params->side_log);
	put(text, "words", params->words);
	put(text, "outer", params->outer);
	put(text, "pitch", params->pitch);
	for (uint32_t i = 1; i < params->nest.dim_count; i++) {
		put_at(text, "packed_strides", i, params->packed_strides[i]);
		put_at(text, "counts", i, params->counts[i]);
		put_at(text, "tiles", i, params->tiles[i]);
		put_at(text, "magics", i, params->magics[i]);
		put_at(text, "shifts", i, params->shifts[i]);
	}
}

void dtc_gpu_special_write(const struct dtc_gpu_special *special, struct dtc_text *text)
{
	const union dtc_gpu_params *params = &special->params;

	dtc_text_printf(text, "#define DTC_GPU_ONLY %s\n#define DTC_GPU_SHAPE",
			entries[special->kernel]);
	put_nest(text, &NEST_OF(special));
	if (special->class == DTC_GPU_CLASS_PERIODIC)
		put_periodic(text, &params->periodic);
	else if (special->class == DTC_GPU_CLASS_TRANSPOSING)
		put_transpose(text, &params->transpose);
	else if (special->class == DTC_GPU_CLASS_INDEXED && is_table(special))
		put_table(text, &params->table);
	else if (special->class == DTC_GPU_CLASS_INDEXED)
		put_indexed(text, &params->indexed);
	dtc_text_puts(text, "\n");
}
