/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Kernels for one shape: which shapes get one and when, that they move the bytes that the class's kernel
 * moves, the cache between processes, and whatever goes wrong on the way: the class's kernel goes on
 * and nothing is left behind. Real devices take a real NVRTC, the stand-in its own.
 */
#include "config.h"

#include <dirent.h>
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/base.h"
#include "support/allocators.h"
#include "support/fixture.h"
#include "support/gpu.h"
#include "support/layouts.h"
#include "support/nvrtc_standin/nvrtc.h"
#include "support/standin_load.h"

/* Of the stand-in, or NULL: NVRTC is a real one. */
static const struct nvrtc_standin *nvrtc;

/* ---- a context and a cache for the case ---------------------------------------------------- */

static struct dtconv_context *context;
static char folder[128];
static size_t created; /* programs, before */

static struct block_count blocks;

static void open_context_in(const char *specialise, unsigned modes)
{
	const struct dtconv_context_params params = {
		.struct_size = sizeof(params),
		.flags = DTCONV_CONTEXT_COUNTERS | modes,
		.allocator = allocator_of_blocks(&blocks),
	};

	if (specialise)
		setenv("DTCONV_SPECIALISE", specialise, 1);
	else
		unsetenv("DTCONV_SPECIALISE");
	/* The planner would take copies for some. */
	setenv("DTCONV_BACKENDS", "host,cuda_kernel", 1);
	fixture_ok(dtconv_context_create(&params, &context));
}

static void open_context(const char *specialise)
{
	open_context_in(specialise, 0);
}

static void close_context(void)
{
	dtconv_context_destroy(context);
	ck_assert_uint_eq(atomic_load(&blocks.live), 0);
}

static void setup(void)
{
	const char *place = getenv("TMPDIR");

	snprintf(folder, sizeof(folder), "%.80s/test_special.XXXXXX",
		 place && *place ? place : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	setenv("DTCONV_CACHE", folder, 1);
	for (int call = 0; nvrtc && call < NVRTC_CALLS; call++)
		nvrtc->refuse((enum nvrtc_call)call, 0);
	if (nvrtc) {
		nvrtc->set_minor(0);
		nvrtc->spoil(0);
		created = nvrtc->calls(NVRTC_CREATE);
	}
}

static void teardown(void)
{
	char command[160];

	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	ck_assert_int_eq(system(command), 0);
}

static size_t count_files(void)
{
	char path[160];
	size_t count = 0;

	snprintf(path, sizeof(path), "%s/kernels", folder);
	DIR *list = opendir(path);
	while (list && readdir(list))
		count++;
	if (list)
		closedir(list);
	return list ? count - 2 : 0;
}

static struct dtconv_counters counters(void)
{
	struct dtconv_counters now = { .struct_size = sizeof(now) };

	fixture_ok(dtconv_context_query_counters(context, &now));
	return now;
}

static bool has_nvrtc(void)
{
	return strstr(fixture_info(context), "by NVRTC") != NULL;
}

/* Whoever compiles without being asked has begun by now; who does not is not disturbed by a busy machine. */
static void check_nothing_compiled(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 300000000 }, NULL);
	ck_assert_uint_eq(counters().launches_special, 0);
	ck_assert_uint_eq(counters().kernels_compiled, 0);
	ck_assert_uint_eq(count_files(), 0);
	ck_assert(!nvrtc || nvrtc->calls(NVRTC_CREATE) == created);
}

/* ---- moves --------------------------------------------------------------------------------- */

struct move {
	struct dtconv_type *type;
	size_t bytes, span;
	unsigned char *user, *packed; /* the host's, and what is expected */
	struct arena device_user, device_packed;
};

static void move_open(struct move *move, const char *text)
{
	size_t moved;

	move->type = fixture_type_in(context, text);
	const struct dtconv_type_attr attr = fixture_attr(move->type);
	move->bytes = attr.size;
	move->span = (size_t)attr.true_lb + (size_t)attr.true_extent;
	move->user = malloc(move->span);
	move->packed = malloc(move->bytes);
	for (size_t i = 0; i < move->span; i++)
		move->user[i] = (unsigned char)(i * 31 + i / 251);
	fixture_ok(dtconv_pack(move->type, 1, move->user, move->packed, move->bytes,
			       &moved));
	arena_open(&move->device_user, ARENA_DEVICE, move->span);
	arena_open(&move->device_packed, ARENA_DEVICE, move->bytes);
}

static void move_close(struct move *move)
{
	arena_close(&move->device_user);
	arena_close(&move->device_packed);
	free(move->user);
	free(move->packed);
	dtconv_type_unref(move->type);
}

/* Nothing but the type's bytes may arrive. */
static void check_unpack(const struct move *move)
{
	unsigned char *expected = malloc(move->span), *got = malloc(move->span);
	size_t moved;

	memset(expected, 0x5a, move->span);
	arena_write(&move->device_user, 0, expected, move->span);
	arena_write(&move->device_packed, 0, move->packed, move->bytes);
	fixture_ok(dtconv_unpack(move->type, 1, move->device_user.memory,
				 move->device_packed.memory, move->bytes, &moved));
	fixture_ok(dtconv_unpack(move->type, 1, expected, move->packed, move->bytes,
				 &moved));
	arena_read(&move->device_user, 0, got, move->span);
	ck_assert(!memcmp(got, expected, move->span));
	free(expected);
	free(got);
}

static void check_pack(const struct move *move)
{
	unsigned char *got = malloc(move->bytes);
	size_t moved;

	arena_write(&move->device_user, 0, move->user, move->span);
	memset(got, 0, move->bytes);
	arena_write(&move->device_packed, 0, got, move->bytes);
	fixture_ok(dtconv_pack(move->type, 1, move->device_user.memory,
			       move->device_packed.memory, move->bytes, &moved));
	arena_read(&move->device_packed, 0, got, move->bytes);
	ck_assert(!memcmp(got, move->packed, move->bytes));
	free(got);
}

static void move_both_ways(const char *text)
{
	struct move move;

	move_open(&move, text);
	check_pack(&move);
	check_unpack(&move);
	move_close(&move);
}

/* ---- cases --------------------------------------------------------------------------------- */

/* Of a class that gains, and large enough: a transposed matrix. */
static const char matrix[] = "contiguous(200, resized(vector(200, 1, 200, double), 0, 8))";

/* Of one that does not, and small: 12 and 8 bytes out of 48. */
static const char few_records[] =
	"contiguous(500, resized(hindexed([13, 8], [0, 21], byte), 0, 48))";

static const char *const texts[] = {
	few_records,
	"vector(500, 1, 2, double)",
	"hvector(90, 12, 24, byte)",
	"hvector(40, 128, 257, byte)",
	"contiguous(500, resized(struct([1, 1, 7], [0, 8, 16], [int, double, char]), 0, 24))",
	"indexed_block(1, [0, 3, 5, 11, 40, 41, 43, 50, 77, 90], double)",
	"contiguous(100, resized(indexed([1, 5, 2, 9, 30], [0, 3, 20, 40, 60], short), 0, 200))",
	"contiguous(40, resized(vector(40, 1, 40, double), 0, 8))",
};

static void check_waiting(const char *text)
{
	open_context("wait");
	move_both_ways(text);
	move_both_ways(text);
	struct dtconv_counters now = counters();
	if (has_nvrtc()) {
		ck_assert_uint_eq(now.launches_special, 4);
		ck_assert_uint_eq(now.kernels_compiled, 2);
		ck_assert_uint_eq(count_files(), 2);
	}
	close_context();
}

START_TEST(what_waits_for_its_kernel_moves_the_same_bytes)
{
	check_waiting(texts[_i]);
}
END_TEST

/* Tables of unlike runs, moved in tiles or run by run. */
START_TEST(so_do_unlike_runs)
{
	static char text[16384];

	layout_write_unlike(text, sizeof(text), _i ? 150 : 900, _i ? 64 : 3);
	/* Of longer words there would be a map. */
	strcpy(strstr(text, "double"), "short)");
	check_waiting(text);
}
END_TEST

START_TEST(the_next_context_finds_it_in_the_cache)
{
	open_context("wait");
	move_both_ways(few_records);
	bool there = has_nvrtc();
	close_context();
	open_context("wait");
	move_both_ways(few_records);
	ck_assert_uint_eq(counters().kernels_compiled, 0);
	ck_assert_uint_eq(counters().kernels_cached, there ? 2 : 0);
	close_context();
}
END_TEST

/* What a file of the cache was made for: the second context finds another device, or compiler. */
START_TEST(another_device_or_compiler_makes_its_own)
{
	long compute;

	if (!nvrtc)
		return;
	open_context("wait");
	move_both_ways(few_records);
	close_context();
	compute = gpu.standin->get(STANDIN_COMPUTE);
	if (_i)
		nvrtc->set_minor(1);
	else
		gpu.standin->set(STANDIN_COMPUTE, compute + 1);
	open_context("wait");
	move_both_ways(few_records);
	ck_assert_uint_eq(counters().kernels_compiled, 2);
	ck_assert_uint_eq(counters().kernels_cached, 0);
	close_context();
	gpu.standin->set(STANDIN_COMPUTE, compute);
}
END_TEST

/* Its images might be too new. */
START_TEST(a_compiler_newer_than_the_driver_is_not_taken)
{
	long version;

	if (!nvrtc)
		return;
	version = gpu.standin->get(STANDIN_VERSION);
	gpu.standin->set(STANDIN_VERSION, 12040);
	open_context("wait");
	move_both_ways(few_records);
	ck_assert_ptr_null(strstr(fixture_info(context), "by NVRTC 13"));
	close_context();
	gpu.standin->set(STANDIN_VERSION, version);
}
END_TEST

START_TEST(nothing_is_compiled_unless_it_is_asked_for)
{
	open_context(_i ? "0" : NULL);
	for (int i = 0; i < 20; i++)
		move_both_ways(matrix);
	check_nothing_compiled();
	close_context();
}
END_TEST

/* A second passes, whatever else the machine does. */
static bool comes_within(double seconds)
{
	struct timespec begin, now;
	struct move move;
	bool came = false;

	move_open(&move, matrix);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	do {
		check_pack(&move);
		came = counters().launches_special > 0;
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (!came && (double)(now.tv_sec - begin.tv_sec) < seconds);
	move_close(&move);
	return came;
}

START_TEST(a_shape_that_comes_often_gets_its_kernel)
{
	open_context("1");
	ck_assert(comes_within(has_nvrtc() ? 60 : 1) == has_nvrtc());
	ck_assert_uint_le(counters().kernels_compiled, 1);
	close_context();
}
END_TEST

/* Its kernel would be loaded meanwhile, which invalidates the capture. */
START_TEST(a_captured_job_orders_none)
{
	const CUstream stream = gpu_stream();
	const struct dtconv_convertor_params params = fixture_in_stream(stream);
	struct move move;
	CUgraph graph;

	open_context("wait");
	move_open(&move, matrix);
	struct dtconv_convertor *convertor =
		fixture_packer(move.type, 1, move.device_user.memory, &params);
	MUST(StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	fixture_ok(dtconv_convertor_pack(convertor, move.device_packed.memory, move.bytes,
					 &(size_t){ 0 }));
	check_nothing_compiled();
	MUST(StreamEndCapture(stream, &graph));
	MUST(GraphDestroy(graph));
	check_pack(&move);
	ck_assert_uint_eq(counters().launches_special, has_nvrtc());
	dtconv_convertor_destroy(convertor);
	move_close(&move);
	close_context();
	MUST(StreamDestroy(stream));
}
END_TEST

/* dtconv_prepare ends when nothing is left to be loaded for earlier jobs. */
START_TEST(a_prepared_context_has_its_kernels)
{
	struct dtconv_counters then;
	struct move move;
	int status;

	open_context("1");
	move_open(&move, matrix);
	for (int i = 0; i < 8; i++)
		check_pack(&move);
	do
		status = dtconv_prepare(context, -1, NULL, 0, NULL);
	while (status == DTCONV_ERR_AGAIN);
	fixture_ok(status);
	then = counters();
	check_pack(&move);
	ck_assert_uint_eq(counters().launches_special,
			  then.launches_special + has_nvrtc());
	move_close(&move);
	close_context();
}
END_TEST

START_TEST(small_and_rare_ones_get_none)
{
	open_context("1");
	for (int i = 0; i < 20; i++)
		move_both_ways(few_records);
	for (int i = 0; i < 3; i++)
		move_both_ways(matrix);
	check_nothing_compiled();
	close_context();
}
END_TEST

/* Equal blocks beyond the cache are not compiled for, periods of odd bytes are. */
START_TEST(it_is_said_who_gets_one)
{
	static const struct {
		const char *text, *answer;
	} expected[] = {
		{ "vector(500, 1, 2, double)", "(too few bytes)" },
		{ "vector(1000000, 1, 2, double)", "specialised" },
		{ "vector(3000000, 1, 2, double)", "(little gain expected)" },
		{ "contiguous(1000000, resized(struct([1, 1, 7], [0, 8, 16], [int, double, char]), 0, 24))",
		  "specialised" },
	};
	static char text[4096];
	size_t length;

	open_context("1");
	const char *shape = expected[_i].text;
	struct dtconv_type *type = fixture_type_in(context, shape);
	fixture_ok(dtconv_explain(type, 1, DTCONV_MEMORY_DEVICE, DTCONV_MEMORY_DEVICE,
				  text, sizeof(text), &length));
	ck_assert_msg(strstr(text, expected[_i].answer) != NULL, "%s: %s", shape, text);
	dtconv_type_unref(type);
	close_context();
}
END_TEST

START_TEST(a_context_may_go_while_its_kernel_is_compiled)
{
	struct move move;

	open_context("1");
	move_open(&move, matrix);
	for (int i = 0; i < 9; i++)
		check_pack(&move);
	move_close(&move);
	close_context();
}
END_TEST

START_TEST(more_shapes_than_are_kept_move_all_the_same)
{
	char text[80];

	if (nvrtc) /* which makes this fast */
		nvrtc->refuse(NVRTC_COMPILE, 6);
	open_context("wait");
	for (int i = 0; i < 40; i++) {
		snprintf(text, sizeof(text), "hvector(20, 4, %d, byte)", 8 + 4 * i);
		if (nvrtc)
			move_both_ways(text);
	}
	ck_assert_uint_eq(counters().launches_special, 0);
	ck_assert(!nvrtc || counters().launches_strided == 80);
	close_context();
}
END_TEST

/* Graphs and the resident kernel come with the first jobs, which are launched. */
START_TEST(modes_do_without)
{
	static const unsigned modes[] = { DTCONV_CONTEXT_GRAPHS,
					  DTCONV_CONTEXT_RESIDENT };
	struct dtconv_counters now;
	struct move move;
	uint64_t jobs = 0;

	open_context_in("wait", modes[_i]);
	move_open(&move, "vector(500, 1, 2, double)");
	do {
		check_pack(&move);
		jobs++;
		now = counters();
	} while (now.graph_launches + now.resident_jobs < 3);
	ck_assert_uint_le(now.launches_special + now.graph_launches + now.resident_jobs,
			  jobs);
	move_close(&move);
	close_context();
}
END_TEST

/* ---- what goes wrong, on the stand-ins ------------------------------------------------------ */

#define DRIVER_FAULTS 3

static void break_something(int what)
{
	static const char *const entries[DRIVER_FAULTS] = { "cuCtxSynchronize",
							    "cuModuleLoadData",
							    "cuModuleGetFunction" };

	if (what < NVRTC_CALLS)
		nvrtc->refuse((enum nvrtc_call)what, 6);
	else if (what == NVRTC_CALLS)
		nvrtc->spoil(1);
	else
		gpu.standin->inject(entries[what - NVRTC_CALLS - 1], 1,
				    CUDA_ERROR_OUT_OF_MEMORY);
}

START_TEST(whatever_fails_the_kernel_of_the_class_goes_on)
{
	if (!nvrtc)
		return;
	open_context("wait");
	/* The context of the device is open, and its kernels are loaded. */
	setenv("DTCONV_SPECIALISE", "wait", 1);
	struct move move;
	move_open(&move, "contiguous(300, byte)");
	move_close(&move);
	break_something(_i);
	move_both_ways(few_records);
	gpu.standin->inject_clear();
	ck_assert_uint_le(counters().launches_special, 1);
	close_context();
	ck_assert_uint_eq(nvrtc->programs_alive(), 0);
}
END_TEST

int main(void)
{
	gpu_open_in_program();
	if (!gpu_is_real())
		nvrtc = standin_load_nvrtc();
	Suite *suite = suite_create("kernels for one shape, on a device");
	TCase *works = fixture_case(suite, "works", 120);
	TCase *fails = fixture_case(suite, "fails", 120);

	tcase_add_checked_fixture(works, setup, teardown);
	tcase_add_loop_test(works, what_waits_for_its_kernel_moves_the_same_bytes, 0,
			    (int)DTC_ARRAY_LENGTH(texts));
	tcase_add_loop_test(works, so_do_unlike_runs, 0, 2);
	tcase_add_test(works, the_next_context_finds_it_in_the_cache);
	tcase_add_loop_test(works, another_device_or_compiler_makes_its_own, 0, 2);
	tcase_add_test(works, a_compiler_newer_than_the_driver_is_not_taken);
	tcase_add_loop_test(works, nothing_is_compiled_unless_it_is_asked_for, 0, 2);
	tcase_add_test(works, a_shape_that_comes_often_gets_its_kernel);
	tcase_add_test(works, a_captured_job_orders_none);
	tcase_add_test(works, a_prepared_context_has_its_kernels);
	tcase_add_test(works, small_and_rare_ones_get_none);
	tcase_add_loop_test(works, it_is_said_who_gets_one, 0, 4);
	tcase_add_test(works, a_context_may_go_while_its_kernel_is_compiled);
	tcase_add_test(works, more_shapes_than_are_kept_move_all_the_same);
	tcase_add_loop_test(works, modes_do_without, 0, 2);
	tcase_add_checked_fixture(fails, setup, teardown);
	tcase_add_loop_test(fails, whatever_fails_the_kernel_of_the_class_goes_on, 0,
			    NVRTC_CALLS + 1 + DRIVER_FAULTS);
	return fixture_run(suite);
}
