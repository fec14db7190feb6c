/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copiers where device memory is involved: in the order of a stream, in graphs, through staging buffers, and with
 * driver calls that fail.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/fixture.h"
#include "support/gpu.h"
#include "support/listener.h"

/* Pairs of one signature each, and whether one launch copies between them. */
static const struct {
	const char *from, *to;
	bool at_once;
} pairs[] = {
	{ "vector(1000, 3, 5, double)",
	  "subarray([40,40,40], [10,15,20], [3,2,1], c, double)", true },
	{ "indexed_block(4, [0,9,20,30,41,50,60,70,81,90,100], double)",
	  "vector(22, 2, 3, double)", true },
	{ "contiguous(3000, double)", "vector(3000, 1, 2, double)", true },
	{ "vector(3000, 1, 2, double)", "contiguous(3000, double)", true },
	{ "contiguous(60, resized(vector(50, 1, 60, double), 0, 8))",
	  "vector(3000, 1, 2, double)", false },
};

#define PAIRS (int)(sizeof(pairs) / sizeof(pairs[0]))

struct scene {
	struct stage from, to;
	struct arena source, target;
	struct dtconv_copier *copier;
};

static void fill(struct scene *scene)
{
	stage_blank(&scene->to);
	arena_write(&scene->source, 0, scene->from.source_memory,
		    scene->from.memory_bytes);
	arena_write(&scene->target, 0, scene->to.target_memory, scene->to.memory_bytes);
}

static struct dtconv_copier_params in_stream(CUstream stream)
{
	return (struct dtconv_copier_params){ .struct_size =
						      sizeof(struct dtconv_copier_params),
					      .flags = DTCONV_COPIER_STREAM,
					      .stream = stream };
}

static void open_memory(struct scene *scene, enum arena_kind source,
			enum arena_kind target)
{
	arena_open(&scene->source, source, scene->from.memory_bytes);
	arena_open(&scene->target, target, scene->to.memory_bytes);
	fill(scene);
}

static void make_copier(struct scene *scene, const struct dtconv_copier_params *params)
{
	const struct stage *from = &scene->from, *to = &scene->to;

	fixture_ok(dtconv_copier_create(
		from->type, from->count,
		scene->source.memory + (from->source - from->source_memory), to->type,
		to->count, scene->target.memory + (to->target - to->target_memory),
		params, &scene->copier));
}

static void open_scene(struct scene *scene, int pair, enum arena_kind source,
		       enum arena_kind target, const struct dtconv_copier_params *params)
{
	fixture_open(&scene->from, pairs[pair].from, 1);
	fixture_open(&scene->to, pairs[pair].to, 1);
	open_memory(scene, source, target);
	make_copier(scene, params);
}

static void close_scene(struct scene *scene)
{
	dtconv_copier_destroy(scene->copier);
	arena_close(&scene->source);
	arena_close(&scene->target);
	fixture_close(&scene->from);
	fixture_close(&scene->to);
}

static void check(struct scene *scene)
{
	memcpy(scene->to.stream, scene->from.stream, scene->to.bytes);
	arena_read(&scene->target, 0, scene->to.target_memory, scene->to.memory_bytes);
	stage_deliver(&scene->to, 0, scene->to.bytes);
	fixture_arrived(&scene->to);
}

static int run(struct scene *scene, size_t *moved)
{
	fixture_ok(dtconv_copier_start(scene->copier, NULL, NULL));
	return dtconv_copier_wait(scene->copier, moved);
}

START_TEST(a_copier_copies_between_all_kinds_of_memory)
{
	enum arena_kind source = (enum arena_kind)(_i / ARENA_KINDS),
			target = (enum arena_kind)(_i % ARENA_KINDS);
	CUstream stream = gpu_stream();
	const struct dtconv_copier_params params = in_stream(stream);
	struct scene scene;
	size_t moved;

	for (int i = 0; i < 2 * PAIRS; i++) {
		open_scene(&scene, i / 2, source, target, i % 2 ? &params : NULL);
		for (int start = 0; start < 2; start++) {
			fill(&scene);
			ck_assert_msg(!run(&scene, &moved), "%s", fixture_error());
			ck_assert_uint_eq(moved, scene.to.bytes);
			check(&scene);
		}
		close_scene(&scene);
	}
	MUST(StreamDestroy(stream));
}
END_TEST

/* Where one launch copies, start does not wait for the work that the stream has been given before. */
START_TEST(a_copier_goes_in_the_order_of_its_stream)
{
	CUstream stream = gpu_stream();
	const struct dtconv_copier_params params = in_stream(stream);
	struct scene scene;
	struct spin spin;

	if (!pairs[_i].at_once)
		return;
	open_scene(&scene, _i, ARENA_DEVICE, ARENA_DEVICE, &params);
	fixture_ok(run(&scene, NULL)); /* loads what has to be loaded */
	fill(&scene);
	spin_begin(&spin, stream);
	fixture_ok(dtconv_copier_start(scene.copier, NULL, NULL));
	for (int i = 0; i < 1000; i++)
		fixture_status(dtconv_copier_test(scene.copier, NULL), DTCONV_INPROGRESS);
	fixture_status(dtconv_copier_start(scene.copier, NULL, NULL), DTCONV_ERR_STATE);
	spin_release(&spin);
	fixture_ok(dtconv_copier_wait(scene.copier, NULL));
	check(&scene);
	spin_end(&spin);
	close_scene(&scene);
	MUST(StreamDestroy(stream));
}
END_TEST

/* What goes through scratch memory waits for the stream's earlier work, here in start. */
START_TEST(scratch_memory_is_used_in_the_order_of_the_stream)
{
	CUstream stream = gpu_stream();
	const struct dtconv_copier_params params = in_stream(stream);
	struct spin_releaser releaser;
	struct scene scene;
	struct arena kept;
	struct spin spin;

	if (!gpu.standin)
		return;
	open_scene(&scene, PAIRS - 1, ARENA_DEVICE, ARENA_DEVICE, &params);
	const size_t bytes = scene.from.memory_bytes;
	fixture_ok(run(&scene, NULL));
	fill(&scene);
	arena_open(&kept, ARENA_DEVICE, bytes);
	arena_write(&kept, 0, scene.from.source_memory, bytes);
	gpu_clear(scene.source.memory, bytes);
	spin_begin(&spin, stream);
	MUST(MemcpyAsync((CUdeviceptr)(uintptr_t)scene.source.memory,
			 (CUdeviceptr)(uintptr_t)kept.memory, bytes, stream));
	releaser_begin(&releaser, &spin, "cuLaunchKernel", 2);
	fixture_ok(run(&scene, NULL));
	ck_assert(releaser_end(&releaser));
	check(&scene);
	spin_end(&spin);
	arena_close(&kept);
	close_scene(&scene);
	MUST(StreamDestroy(stream));
}
END_TEST

START_TEST(a_copier_is_destroyed_when_its_work_has_ended)
{
	CUstream stream = gpu_stream();
	const struct dtconv_copier_params params = in_stream(stream);
	struct scene scene;
	struct spin spin;

	open_scene(&scene, 0, ARENA_DEVICE, ARENA_DEVICE, &params);
	fixture_ok(run(&scene, NULL));
	fill(&scene);
	spin_begin(&spin, stream);
	fixture_ok(dtconv_copier_start(scene.copier, NULL, NULL));
	spin_release(&spin);
	dtconv_copier_destroy(scene.copier);
	scene.copier = NULL;
	check(&scene);
	spin_end(&spin);
	close_scene(&scene);
	MUST(StreamDestroy(stream));
}
END_TEST

/* ---- graphs -------------------------------------------------------------------------------- */

static void replay(struct scene *scene, CUstream stream, CUgraph graph)
{
	CUgraphExec exec;

	MUST(GraphInstantiateWithFlags(&exec, graph, 0));
	for (int round = 0; round < 3; round++) {
		fill(scene);
		MUST(GraphLaunch(exec, stream));
		MUST(StreamSynchronize(stream));
		check(scene);
	}
	MUST(GraphExecDestroy(exec));
}

/* What goes through a buffer of the library's is refused, and the capture goes on. */
START_TEST(a_captured_copier_replays)
{
	CUstream stream = gpu_stream();
	const struct dtconv_copier_params params = in_stream(stream);
	struct scene scene;
	size_t moved = 1;
	CUgraph graph;

	open_scene(&scene, _i, ARENA_DEVICE, ARENA_DEVICE, &params);
	fixture_ok(run(&scene, NULL));
	MUST(StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	int status = run(&scene, &moved);
	MUST(StreamEndCapture(stream, &graph));
	if (pairs[_i].at_once) {
		ck_assert_msg(!status, "%s", fixture_error());
		replay(&scene, stream, graph);
	} else {
		ck_assert_int_eq(status, DTCONV_ERR_UNSUPPORTED);
		ck_assert_uint_eq(moved, 0);
		ck_assert_ptr_nonnull(strstr(fixture_error(), "being captured"));
	}
	MUST(GraphDestroy(graph));
	fill(&scene);
	fixture_ok(run(&scene, NULL));
	check(&scene);
	close_scene(&scene);
	MUST(StreamDestroy(stream));
}
END_TEST

/* ---- the way ------------------------------------------------------------------------------- */

static const struct {
	const char *from, *to, *words;
} ways[] = {
	{ "vector(100, 3, 5, double)", "vector(150, 2, 3, double)",
	  "2400 bytes, device to device memory: one launch (copy_rows_8)" },
	{ "vector(100, 4, 8, double)",
	  "indexed_block(40, [0,50,100,150,200,262,304,352,"
	  "400,442], double)",
	  "one launch (copy_rows_16)" },
	{ "contiguous(10, resized(vector(50, 1, 10, double), 0, 8))",
	  "vector(500, 1, 2, double)",
	  "packed and unpacked (a layout is transposed against the stream)" },
};

#define WAYS (int)(sizeof(ways) / sizeof(ways[0]))

START_TEST(the_log_says_which_way_a_copy_takes)
{
	struct listener listener;
	struct arena source, target;

	listener_open(&listener, DTCONV_LOG_DEBUG, " memory: ");
	struct dtconv_type *from = fixture_type_in(listener.context, ways[_i].from),
			   *to = fixture_type_in(listener.context, ways[_i].to);
	arena_open(&source, ARENA_DEVICE, 10000);
	arena_open(&target, ARENA_DEVICE, 10000);
	fixture_ok(dtconv_copy(from, 1, source.memory, to, 1, target.memory, NULL));
	ck_assert_uint_eq(listener.lines, 1);
	ck_assert_msg(strstr(listener.text, ways[_i].words) != NULL, "%s", listener.text);
	arena_close(&source);
	arena_close(&target);
	dtconv_type_unref(from);
	dtconv_type_unref(to);
	dtconv_context_destroy(listener.context);
}
END_TEST

/* ---- faults -------------------------------------------------------------------------------- */

static bool inject(const char *entry, unsigned nth, int pair)
{
	struct dtconv_context *context;
	struct scene scene;
	size_t moved = 12345;
	char fault[80];

	gpu_open();
	CUstream stream = gpu_stream();
	const struct dtconv_copier_params params = in_stream(stream);
	fixture_ok(dtconv_context_create(NULL, &context));
	struct dtconv_type *from = fixture_type_in(context, pairs[pair].from),
			   *to = fixture_type_in(context, pairs[pair].to);
	ck_assert(!stage_open(&scene.from, from, 1, 0, 0, 1));
	ck_assert(!stage_open(&scene.to, to, 1, 0, 0, 2));
	open_memory(&scene, ARENA_DEVICE, ARENA_DEVICE);
	make_copier(&scene, &params);
	gpu_refuse(entry, nth);
	int status = run(&scene, &moved);
	bool fired = gpu_was_refused();
	ck_assert(status <= 0);
	ck_assert_uint_eq(moved, status ? 0 : scene.from.bytes);
	if (run(&scene, &moved))
		ck_abort_msg("%s, call %u: the next copy fails too", entry, nth);
	check(&scene);
	dtconv_copier_destroy(scene.copier);
	arena_close(&scene.source);
	arena_close(&scene.target);
	stage_close(&scene.from);
	stage_close(&scene.to);
	dtconv_type_unref(from);
	dtconv_type_unref(to);
	dtconv_context_destroy(context);
	MUST(StreamDestroy(stream));
	snprintf(fault, sizeof(fault), "%s, call %u", entry, nth);
	gpu_must_be_clean(fault);
	return fired;
}

START_TEST(a_refused_call_fails_its_copy_and_no_later_one)
{
	for (int pair = 0; pair < PAIRS; pair++)
		gpu_refuse_calls(gpu_entries[_i], inject, pair);
}
END_TEST

int main(void)
{
	setenv("CK_FORK", "yes", 1);
	gpu_find();
	Suite *suite = suite_create("copier");
	TCase *copies = gpu_case(suite, "copies", 60);

	tcase_add_loop_test(copies, a_copier_copies_between_all_kinds_of_memory, 0,
			    ARENA_KINDS * ARENA_KINDS);
	tcase_add_loop_test(copies, a_copier_goes_in_the_order_of_its_stream, 0, PAIRS);
	tcase_add_test(copies, scratch_memory_is_used_in_the_order_of_the_stream);
	tcase_add_test(copies, a_copier_is_destroyed_when_its_work_has_ended);
	tcase_add_loop_test(copies, a_captured_copier_replays, 0, PAIRS);
	tcase_add_loop_test(copies, the_log_says_which_way_a_copy_takes, 0, WAYS);
	tcase_add_loop_test(gpu_faults(suite), a_refused_call_fails_its_copy_and_no_later_one,
			    0, gpu_refusals());
	return fixture_run(suite);
}
