/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kernels for one shape: what differs from job to job is no part of a shape; the source with the
 * shape's numbers moves the right bytes, whatever else it is told of the shape.
 */
#include "config.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "kernels/gpu_moves.h"
#include "kernels/images/images.h"
#include "kernels/launch/special.h"
#include "support/gpu_shim.h"
#include "support/layouts.h"
#include "support/special_object.h"
#include "support/type_choices.h"

#define TEXT_BYTES 20000

/* ---- running them on the host -------------------------------------------------------------- */

/* Those that the case has compiled so far. */
static struct compiled {
	struct dtc_gpu_special special;
	special_run_fn run;
} compiled[200];
static size_t compiled_count, compiled_before;

static special_run_fn compile(const struct dtc_gpu_special *special)
{
	static char text[TEXT_BYTES];
	char object[64];
	struct dtc_text written;
	special_run_fn run;

	dtc_text_init(&written, text, sizeof(text));
	dtc_gpu_special_write(special, &written);
	ck_assert_uint_lt(written.length, sizeof(text));
	snprintf(object, sizeof(object), "/tmp/dtconv-special-%ld-%zu.so", (long)getpid(),
		 compiled_count);
	ck_assert_msg(!special_object_compile(text, written.length, object),
		      "the compiler refuses\n%s", text);
	void *library = dlopen(object, RTLD_NOW | RTLD_LOCAL);
	ck_assert_ptr_nonnull(library);
	unlink(object);
	void *symbol = dlsym(library, "shim_special_run");
	memcpy(&run, &symbol, sizeof(run));
	return run;
}

static special_run_fn compiled_for(const struct dtc_gpu_special *special)
{
	for (size_t i = compiled_before; i < compiled_count; i++)
		if (dtc_gpu_special_is(&compiled[i].special, special))
			return compiled[i].run;
	ck_assert_uint_lt(compiled_count, DTC_ARRAY_LENGTH(compiled));
	struct compiled *made = &compiled[compiled_count++];
	made->special = *special;
	made->run = compile(special);
	return made->run;
}

/* Of the parameters all but what a shape leaves open is nonsense: flags are set, or not. */
static void spoil(const struct dtc_gpu_launch *launch, union dtc_gpu_params *params,
		  int nonsense)
{
	const struct dtc_gpu_nest *from = &launch->params.strided.nest;
	struct dtc_gpu_nest *nest = &params->strided.nest;

	memset(params, nonsense, sizeof(*params));
	params->done = launch->params.done;
	nest->user = from->user;
	nest->packed = from->packed;
	nest->begin = from->begin;
	nest->end = from->end;
	if (launch->params_bytes == sizeof(params->rows))
		params->rows.words = launch->params.rows.words;
	if (launch->params_bytes == sizeof(params->table))
		params->table.disps = launch->params.table.disps;
	if (launch->params_bytes != sizeof(params->indexed))
		return;
	params->indexed.disps = launch->params.indexed.disps;
	params->indexed.prefixes = launch->params.indexed.prefixes;
	params->indexed.starts = launch->params.indexed.starts;
	params->indexed.first_tile = launch->params.indexed.first_tile;
}

static size_t special_launches;

static int run_special(const struct dtc_gpu_launch *launch)
{
	struct dtc_gpu_special special;
	union dtc_gpu_params params;

	if (!dtc_gpu_special_of(launch, &special))
		return shim_run(dtc_gpu_kernel_name(launch->kernel), launch->grid,
				DTC_GPU_BLOCK, launch->shared_bytes, &launch->params);
	spoil(launch, &params, special_launches++ % 2 ? 0 : 0xee);
	return compiled_for(&special)(&params, launch->grid, DTC_GPU_BLOCK,
				      launch->shared_bytes);
}

/* Of every class, words and pieces, one way each where that differs. */
static const char *const texts[] = {
	"vector(700, 1, 2, double)",
	"hvector(90, 12, 24, byte)",
	"hvector(100, 7, 16, byte)",
	"hvector(40, 128, 257, byte)",
	"subarray([9, 8, 12], [5, 6, 7], [1, 2, 3], c, double)",
	"contiguous(60, resized(hindexed([12, 8], [0, 20], byte), 0, 48))",
	"contiguous(60, resized(struct([1, 1, 7], [0, 8, 16], [int, double, char]), 0, 24))",
	"indexed_block(1, [0, 3, 5, 11, 40, 41, 43, 50, 77, 90], double)",
	"hindexed_block(5, [0, 9, 20, 31, 60], byte)",
	"indexed([1, 5, 2, 9, 30], [0, 3, 20, 40, 60], double)",
	"contiguous(9, resized(hindexed([3, 5, 2], [0, 7, 30], byte), 0, 37))",
	"contiguous(40, resized(vector(40, 1, 40, double), 0, 8))",
};

static void move_by_shape(const char *text, size_t shift, uint64_t number)
{
	struct choices choices = fixture_choices(number);
	struct gpu_type gpu;
	struct stage stage;

	gpu_run = run_special;
	compiled_before = compiled_count; /* cases may share a process */
	fixture_open(&stage, text, 2);
	gpu_type_open(&gpu, stage.type);
	gpu_move_whole(&stage, &gpu, shift);
	ck_assert_uint_gt(special_launches, 0);
	for (int round = 0; fixture_everything() && round < 5; round++)
		gpu_move_cut(&stage, &gpu, &choices);
	gpu_type_close(&gpu);
	fixture_close(&stage);
}

START_TEST(the_source_with_a_shapes_numbers_moves_its_bytes)
{
	move_by_shape(texts[_i], _i % 3 ? 0 : 5, (uint64_t)_i);
}
END_TEST

/* Tables of unlike runs: kept whole in shared memory, in tiles, and run by run; at odd addresses too. */
static const struct {
	size_t count, least, shift;
} tables[] = { { 150, 3, 0 }, { 900, 3, 0 }, { 900, 3, 5 }, { 150, 64, 0 } };

START_TEST(so_does_that_of_unlike_runs)
{
	static char text[16384];

	layout_write_unlike(text, sizeof(text), tables[_i].count, tables[_i].least);
	move_by_shape(text, tables[_i].shift, 100 + (uint64_t)_i);
	ck_assert_uint_eq(compiled[compiled_before].special.class, DTC_GPU_CLASS_INDEXED);
	ck_assert_uint_eq(compiled[compiled_before].special.params.indexed.by_run,
			  tables[_i].least > 60);
}
END_TEST

/* ---- what a shape is ----------------------------------------------------------------------- */

static void plan(const char *text, size_t count, uint64_t at,
		 struct dtc_gpu_launch *launch)
{
	struct dtconv_type *type = fixture_type(text);
	struct gpu_type gpu;

	gpu_type_open(&gpu, type);
	struct dtc_gpu_job job = gpu_job(&gpu, count, (unsigned char *)(uintptr_t)at,
					 (unsigned char *)(uintptr_t)(at + 4096), 0,
					 count * gpu.layout->size, DTC_PACK);
	uint32_t needed;
	ck_assert_int_eq(dtc_gpu_plan(&job, NULL, launch, &needed), 0);
	launch->params.done = (struct dtc_gpu_done){ at, at, at };
	gpu_type_close(&gpu);
	dtconv_type_unref(type);
}

static bool are_alike(const struct dtc_gpu_launch *a, const struct dtc_gpu_launch *b)
{
	static struct dtc_gpu_special one, other;

	ck_assert(dtc_gpu_special_of(a, &one));
	ck_assert(dtc_gpu_special_of(b, &other));
	return dtc_gpu_special_is(&one, &other);
}

START_TEST(addresses_and_counts_are_no_part_of_a_shape)
{
	const char *text = "resized(hindexed([12, 8], [0, 20], byte), 0, 48)";
	static struct dtc_gpu_launch one, other;

	plan(text, 10, 1 << 20, &one);
	plan(text, 70, 3 << 20, &other);
	ck_assert(are_alike(&one, &other));
	plan(text, 70, (3 << 20) + 2, &other);
	ck_assert(!are_alike(&one, &other));
	plan("resized(hindexed([12, 8], [0, 24], byte), 0, 48)", 10, 1 << 20, &other);
	ck_assert(!are_alike(&one, &other));
	plan("resized(hindexed([12, 8], [0, 20], byte), 0, 52)", 10, 1 << 20, &other);
	ck_assert(!are_alike(&one, &other));
}
END_TEST

START_TEST(walks_and_parts_have_no_shape)
{
	struct dtc_gpu_special special;
	struct dtc_gpu_launch launch;

	plan("struct([1, 1], [0, 8000], [vector(500, 1, 2, int), vector(900, 1, 3, double)])",
	     1, 1 << 20, &launch);
	ck_assert_int_eq(launch.class, DTC_GPU_CLASS_MANY);
	ck_assert(!dtc_gpu_special_of(&launch, &special));
	launch.class = DTC_GPU_CLASS_GENERAL;
	ck_assert(!dtc_gpu_special_of(&launch, &special));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("kernels for one shape");
	TCase *shapes = fixture_case(suite, "shapes", 30);
	TCase *host = fixture_case(suite, "host", 120);

	tcase_add_test(shapes, addresses_and_counts_are_no_part_of_a_shape);
	tcase_add_test(shapes, walks_and_parts_have_no_shape);
	tcase_add_loop_test(host, the_source_with_a_shapes_numbers_moves_its_bytes, 0,
			    (int)DTC_ARRAY_LENGTH(texts));
	tcase_add_loop_test(host, so_does_that_of_unlike_runs, 0,
			    (int)DTC_ARRAY_LENGTH(tables));
	return fixture_run(suite);
}
