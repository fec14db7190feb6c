/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies between layouts as entries of a batch where device memory is involved: as the oracle says in every kind of
 * memory and at any alignment, one launch for the small ones of a device, in the order of a stream, in graphs, and with
 * driver calls that fail.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/copy_case.h"
#include "support/fixture.h"
#include "support/gpu.h"
#include "support/type_choices.h"

#define PIECES_MOST 60

/* ---- scenes ------------------------------------------------------------------------------ */

/* A copy between two arenas; the memory of a side begins anywhere. */
struct piece {
	struct stage from, to;
	struct arena source, target;
	size_t bytes; /* that have room */
};

struct scene {
	size_t count;
	size_t align; /* addresses are odd multiples of it */
	struct piece *pieces;
	struct dtconv_batch *batch;
};

static const unsigned char *source_of(const struct piece *piece)
{
	return piece->source.memory + (piece->from.source - piece->from.source_memory);
}

static unsigned char *target_of(const struct piece *piece)
{
	return piece->target.memory + (piece->to.target - piece->to.target_memory);
}

static void new_scene(struct scene *scene)
{
	*scene = (struct scene){ .align = 1,
				 .pieces = calloc(PIECES_MOST, sizeof(struct piece)) };
	ck_assert_ptr_nonnull(scene->pieces);
}

/* Takes over the references to both types. */
static void open_piece(struct scene *scene, struct dtconv_type *from, size_t from_count,
		       enum arena_kind source, struct dtconv_type *to, size_t to_count,
		       enum arena_kind target)
{
	struct piece *piece = &scene->pieces[scene->count];
	const size_t number = scene->count, align = scene->align;

	if (stage_open(&piece->from, from, from_count, number * 7 * align % 64, 0,
		       number))
		goto no_source;
	if (stage_open(&piece->to, to, to_count, 0, number * 5 * align % 64, number + 1))
		goto no_target;
	piece->bytes = piece->from.bytes < piece->to.bytes ? piece->from.bytes
							   : piece->to.bytes;
	arena_open(&piece->source, source, piece->from.memory_bytes);
	arena_open(&piece->target, target, piece->to.memory_bytes);
	scene->count++;
	return;
no_target:
	stage_close(&piece->from);
no_source:
	dtconv_type_unref(from);
	dtconv_type_unref(to);
}

/* All memory is as it was before the copies. */
static void fill(struct scene *scene)
{
	for (size_t i = 0; i < scene->count; i++) {
		struct piece *piece = &scene->pieces[i];

		stage_blank(&piece->to);
		arena_write(&piece->source, 0, piece->from.source_memory,
			    piece->from.memory_bytes);
		arena_write(&piece->target, 0, piece->to.target_memory,
			    piece->to.memory_bytes);
	}
}

static struct dtconv_batch_copy copy_of(const struct piece *piece)
{
	return (struct dtconv_batch_copy){ .struct_size =
						   sizeof(struct dtconv_batch_copy),
					   .source_type = piece->from.type,
					   .source_count = piece->from.count,
					   .source = source_of(piece),
					   .target_type = piece->to.type,
					   .target_count = piece->to.count,
					   .target = target_of(piece) };
}

static void make_batch(struct scene *scene, struct dtconv_context *context,
		       const struct dtconv_batch_params *params)
{
	fill(scene);
	fixture_ok(dtconv_batch_create(context, NULL, 0, params, &scene->batch));
	for (size_t i = 0; i < scene->count; i++) {
		const struct dtconv_batch_copy copy = copy_of(&scene->pieces[i]);

		fixture_ok(dtconv_batch_add_copy(scene->batch, &copy, NULL));
	}
}

static void close_scene(struct scene *scene)
{
	dtconv_batch_destroy(scene->batch);
	for (size_t i = 0; i < scene->count; i++) {
		struct piece *piece = &scene->pieces[i];
		struct dtconv_type *from = piece->from.type, *to = piece->to.type;

		arena_close(&piece->source);
		arena_close(&piece->target);
		stage_close(&piece->from);
		stage_close(&piece->to);
		dtconv_type_unref(from);
		dtconv_type_unref(to);
	}
	free(scene->pieces);
}

/* The first @bytes have been copied, and nothing else was touched. */
static void check_piece(struct piece *piece, size_t bytes)
{
	memcpy(piece->to.stream, piece->from.stream, bytes);
	arena_read(&piece->target, 0, piece->to.target_memory, piece->to.memory_bytes);
	stage_deliver(&piece->to, 0, bytes);
	fixture_arrived(&piece->to);
}

static void check(struct scene *scene)
{
	for (size_t i = 0; i < scene->count; i++)
		check_piece(&scene->pieces[i], scene->pieces[i].bytes);
}

static void run(struct scene *scene)
{
	size_t moved, bytes = 0;
	bool longer = false;

	for (size_t i = 0; i < scene->count; i++) {
		bytes += scene->pieces[i].bytes;
		longer |= scene->pieces[i].bytes < scene->pieces[i].from.bytes;
	}
	ck_assert_msg(dtconv_batch_run(scene->batch, &moved) ==
			      (longer ? DTCONV_ERR_TRUNCATE : 0),
		      "%s", fixture_error());
	ck_assert_uint_eq(moved, bytes);
	check(scene);
}

/* ---- any memory ---------------------------------------------------------------------------- */

static struct dtconv_type *other_type(struct dtconv_type *type, struct choices *choices)
{
	switch (choose(choices, 3)) {
	case 0:
		return copy_dense(type);
	case 1:
		return copy_scattered(type, choices);
	default:
		return dtconv_type_ref(type);
	}
}

/* Mostly the device's, so that groups are large. */
static enum arena_kind choose_kind(struct choices *choices)
{
	return chance(choices, 3) ? (enum arena_kind)choose(choices, ARENA_KINDS)
				  : ARENA_DEVICE;
}

START_TEST(random_copies_are_as_the_oracle_says)
{
	struct choices choices = fixture_choices(0x62637079 + (uint64_t)_i);
	struct scene scene;

	new_scene(&scene);
	for (size_t tries = 1 + choose(&choices, PIECES_MOST); tries > 0; tries--) {
		struct dtconv_type *type =
			type_choose(fixture_context, &choices, &type_bounds_small);
		struct dtconv_type *other = other_type(type, &choices);
		bool swap = chance(&choices, 2);
		size_t count = 1 + choose(&choices, 6);

		open_piece(&scene, swap ? other : type, count, choose_kind(&choices),
			   swap ? type : other,
			   chance(&choices, 4) ? 1 + choose(&choices, 6) : count,
			   choose_kind(&choices));
	}
	make_batch(&scene, fixture_context, NULL);
	run(&scene);
	fill(&scene);
	run(&scene);
	/* Bound anew in the other order, one by one. */
	fill(&scene);
	for (size_t i = 0; i < scene.count; i++) {
		const struct dtconv_batch_copy copy =
			copy_of(&scene.pieces[scene.count - 1 - i]);

		fixture_ok(dtconv_batch_rebind_copy(scene.batch, i, &copy));
	}
	run(&scene);
	close_scene(&scene);
}
END_TEST

/* ---- launches ------------------------------------------------------------------------------ */

/* Pairs of one signature each, which one launch copies; maps take addresses that 4 divides. */
static const struct {
	const char *from, *to;
	size_t align;
} pairs[] = {
	{ "vector(60, 3, 5, double)", "subarray([9,9,9], [4,5,9], [3,2,0], c, double)",
	  1 },
	{ "indexed_block(4, [0,9,20,30,41,50,60,70,81,90,100], double)",
	  "vector(22, 2, 3, double)", 4 },
	{ "hvector(30, 5, 7, byte)", "hvector(50, 3, 7, byte)", 1 },
	{ "vector(50, 1, 2, float)", "vector(10, 5, 7, float)", 2 },
	{ "hvector(40, 6, 14, byte)", "hvector(60, 4, 10, byte)", 1 },
};

#define PAIRS (sizeof(pairs) / sizeof(pairs[0]))

static void add_pair(struct scene *scene, struct dtconv_context *context,
		     const char *from, const char *to, size_t count)
{
	open_piece(scene, fixture_type_in(context, from), count, ARENA_DEVICE,
		   fixture_type_in(context, to), count, ARENA_DEVICE);
}

static void add_pairs(struct scene *scene, struct dtconv_context *context, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		scene->align = pairs[i % PAIRS].align;
		add_pair(scene, context, pairs[i % PAIRS].from, pairs[i % PAIRS].to,
			 1 + i % 3);
	}
	scene->align = 8;
	ck_assert_uint_eq(scene->count, count);
}

/* So many launches, and nothing made or copied, however often it is started. */
static void check_steady(struct scene *scene, size_t launches)
{
	if (!gpu.standin)
		return;
	size_t launched = gpu.standin->calls("cuLaunchKernel");
	size_t copied = gpu.standin->calls("cuMemcpyAsync");
	size_t allocated = gpu.standin->calls("cuMemAlloc");
	size_t allocations = fixture_allocations();
	for (int round = 0; round < 5; round++)
		fixture_ok(dtconv_batch_run(scene->batch, NULL));
	ck_assert_uint_eq(gpu.standin->calls("cuLaunchKernel"), launched + 5 * launches);
	ck_assert_uint_eq(gpu.standin->calls("cuMemcpyAsync"), copied);
	ck_assert_uint_eq(gpu.standin->calls("cuMemAlloc"), allocated);
	ck_assert_uint_eq(fixture_allocations(), allocations);
}

/* As many as travel with a launch, one more, and the faces of a box. */
static const size_t counts[] = { 1, 2, 11, 12, 26, PIECES_MOST };

#define COUNTS (int)(sizeof(counts) / sizeof(counts[0]))

START_TEST(copies_of_a_device_are_one_launch)
{
	struct dtconv_backend_counters kernel = { .struct_size = sizeof(kernel) };
	struct scene scene;
	size_t bytes = 0;

	new_scene(&scene);
	add_pairs(&scene, fixture_context, counts[_i]);
	make_batch(&scene, fixture_context, NULL);
	run(&scene);
	ck_assert_uint_eq(fixture_counters().launches_copy, 1);
	ck_assert_uint_eq(fixture_counters().launches_many, 0);
	for (size_t i = 0; i < scene.count; i++)
		bytes += scene.pieces[i].bytes;
	fixture_ok(dtconv_context_query_backend(fixture_context, "cuda_kernel", &kernel));
	ck_assert_uint_eq(kernel.jobs, counts[_i]);
	ck_assert_uint_eq(kernel.bytes, bytes);
	check_steady(&scene, 1);
	fill(&scene);
	run(&scene);
	close_scene(&scene);
}
END_TEST

/* Those that are long have launches of their own. What two kernels do goes alone, and the others go together. */
START_TEST(unlike_copies_have_their_launches)
{
	struct scene scene;

	new_scene(&scene);
	add_pairs(&scene, fixture_context, 4);
	add_pair(&scene, fixture_context, "vector(8192, 4, 8, double)",
		 "vector(16384, 2, 3, double)", 1);
	make_batch(&scene, fixture_context, NULL);
	run(&scene);
	check_steady(&scene, 2);
	dtconv_batch_destroy(scene.batch);
	/* Turned through shared memory: packed and unpacked. */
	add_pair(&scene, fixture_context,
		 "contiguous(60, resized(vector(50, 1, 60, double), 0, 8))",
		 "vector(3000, 1, 2, double)", 1);
	make_batch(&scene, fixture_context, NULL);
	run(&scene);
	check_steady(&scene, 4);
	close_scene(&scene);
}
END_TEST

/* A contiguous side makes it a pack or an unpack, which share the launches of those. */
START_TEST(a_row_is_packed_or_unpacked_with_others)
{
	double before[50], packed[30];
	const struct dtconv_batch_entry entry = {
		.type = fixture_type("vector(10, 3, 5, double)"),
		.count = 1,
		.bytes = sizeof(packed),
		.direction = DTCONV_BATCH_PACK,
	};
	struct dtconv_batch_entry pack = entry;
	struct arena user, row;
	struct scene scene;

	for (int i = 0; i < 50; i++)
		before[i] = i;
	arena_open(&user, ARENA_DEVICE, sizeof(before));
	arena_open(&row, ARENA_DEVICE, sizeof(packed));
	arena_write(&user, 0, before, sizeof(before));
	pack.buffer = user.memory;
	pack.packed = row.memory;
	new_scene(&scene);
	for (int i = 0; i < 6; i++)
		add_pair(&scene, fixture_context,
			 i % 2 ? "contiguous(30, double)" : "vector(30, 1, 2, double)",
			 i % 2 ? "vector(30, 1, 2, double)" : "contiguous(30, double)",
			 1);
	make_batch(&scene, fixture_context, NULL);
	/* The pack takes the place of a copy, which is appended anew. */
	const struct dtconv_batch_copy copy = copy_of(&scene.pieces[0]);
	fixture_ok(dtconv_batch_rebind_entry(scene.batch, 0, &pack));
	fixture_ok(dtconv_batch_add_copy(scene.batch, &copy, NULL));
	fixture_ok(dtconv_batch_run(scene.batch, NULL));
	check(&scene);
	ck_assert_uint_eq(fixture_counters().launches_many, 2);
	ck_assert_uint_eq(fixture_counters().launches_copy, 0);
	arena_read(&row, 0, packed, sizeof(packed));
	for (int i = 0; i < 30; i++) {
		const int sent = i / 3 * 5 + i % 3;

		ck_assert(packed[i] == sent);
	}
	check_steady(&scene, 2);
	close_scene(&scene);
	arena_close(&user);
	arena_close(&row);
	dtconv_type_unref(entry.type);
}
END_TEST

/* ---- copies that go alone ------------------------------------------------------------------ */

/* Without the kernels' backend the driver copies; without the kernels, until they are loaded. */
START_TEST(copies_go_alone_without_kernels)
{
	struct dtconv_context *context;
	struct scene scene;

	if (!gpu.standin)
		return;
	if (!_i)
		setenv("DTCONV_BACKENDS", "^cuda_kernel", 1);
	fixture_ok(dtconv_context_create(NULL, &context));
	unsetenv("DTCONV_BACKENDS");
	new_scene(&scene);
	add_pairs(&scene, context, 5);
	make_batch(&scene, context, NULL);
	if (_i)
		gpu.standin->inject("cuModuleLoadData", 1, CUDA_ERROR_INVALID_IMAGE);
	size_t launched = gpu.standin->calls("cuLaunchKernel");
	run(&scene);
	ck_assert_uint_eq(gpu.standin->calls("cuLaunchKernel"), launched);
	gpu.standin->inject_clear();
	fill(&scene);
	run(&scene);
	ck_assert_uint_eq(gpu.standin->calls("cuLaunchKernel"), launched);
	close_scene(&scene);
	dtconv_context_destroy(context);
}
END_TEST

/* The sum of one copy does not keep the others from going together. */
START_TEST(a_copy_with_an_operation_goes_alone)
{
	double source[30], target[60], got[60];
	struct dtconv_type *rows = fixture_type("vector(30, 1, 2, double)");
	struct arena a, b;
	struct scene scene;

	for (int i = 0; i < 60; i++)
		target[i] = 1000 + i;
	for (int i = 0; i < 30; i++)
		source[i] = i;
	arena_open(&a, ARENA_DEVICE, sizeof(source));
	arena_open(&b, ARENA_DEVICE, sizeof(target));
	arena_write(&a, 0, source, sizeof(source));
	arena_write(&b, 0, target, sizeof(target));
	const struct dtconv_batch_copy sum = {
		.struct_size = sizeof(sum),
		.source_type = dtconv_type_predefined(fixture_context, DTCONV_DOUBLE),
		.source_count = 30,
		.source = a.memory,
		.target_type = rows,
		.target_count = 1,
		.target = b.memory,
		.op = DTCONV_OP_SUM,
	};
	new_scene(&scene);
	add_pairs(&scene, fixture_context, 8);
	make_batch(&scene, fixture_context, NULL);
	fixture_ok(dtconv_batch_add_copy(scene.batch, &sum, NULL));
	fixture_ok(dtconv_batch_run(scene.batch, NULL));
	check(&scene);
	arena_read(&b, 0, got, sizeof(got));
	for (int i = 0; i < 60; i++)
		ck_assert(got[i] == target[i] + (i % 2 ? 0 : source[i / 2]));
	ck_assert_uint_eq(fixture_counters().launches_copy, 1);
	ck_assert_uint_eq(fixture_counters().launches_typed, 1);
	close_scene(&scene);
	arena_close(&a);
	arena_close(&b);
	dtconv_type_unref(rows);
}
END_TEST

/* ---- streams and graphs -------------------------------------------------------------------- */

static struct dtconv_batch_params in_stream(CUstream stream)
{
	return (struct dtconv_batch_params){ .struct_size =
						     sizeof(struct dtconv_batch_params),
					     .flags = DTCONV_BATCH_STREAM,
					     .stream = stream };
}

START_TEST(copies_go_in_the_order_of_the_stream)
{
	CUstream stream = gpu_stream();
	const struct dtconv_batch_params params = in_stream(stream);
	struct scene scene;
	struct spin spin;

	new_scene(&scene);
	add_pairs(&scene, fixture_context, counts[_i]);
	make_batch(&scene, fixture_context, &params);
	run(&scene); /* loads what has to be loaded */
	fill(&scene);
	spin_begin(&spin, stream);
	fixture_ok(dtconv_batch_start(scene.batch, NULL, NULL));
	for (int i = 0; i < 1000; i++)
		fixture_status(dtconv_batch_test(scene.batch, NULL), DTCONV_INPROGRESS);
	spin_release(&spin);
	fixture_ok(dtconv_batch_wait(scene.batch, NULL));
	check(&scene);
	spin_end(&spin);
	close_scene(&scene);
	MUST(StreamDestroy(stream));
}
END_TEST

START_TEST(captured_copies_replay)
{
	CUstream stream = gpu_stream();
	const struct dtconv_batch_params params = in_stream(stream);
	struct scene scene;
	CUgraph graph;
	CUgraphExec exec;

	new_scene(&scene);
	add_pairs(&scene, fixture_context, counts[_i]);
	make_batch(&scene, fixture_context, &params);
	run(&scene);
	/* The table of parts is uploaded again, by the graph's time. */
	const struct dtconv_batch_copy copy = copy_of(&scene.pieces[0]);
	fixture_ok(dtconv_batch_rebind_copy(scene.batch, 0, &copy));
	MUST(StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	fixture_ok(dtconv_batch_start(scene.batch, NULL, NULL));
	fixture_ok(dtconv_batch_test(scene.batch, NULL));
	MUST(StreamEndCapture(stream, &graph));
	MUST(GraphInstantiateWithFlags(&exec, graph, 0));
	for (int replay = 0; replay < 3; replay++) {
		fill(&scene);
		MUST(GraphLaunch(exec, stream));
		MUST(StreamSynchronize(stream));
		check(&scene);
	}
	MUST(GraphExecDestroy(exec));
	MUST(GraphDestroy(graph));
	close_scene(&scene);
	MUST(StreamDestroy(stream));
}
END_TEST

/* Two steps go through scratch memory, which a graph cannot keep; the others are captured. */
START_TEST(a_copy_in_two_steps_is_not_captured)
{
	CUstream stream = gpu_stream();
	const struct dtconv_batch_params params = in_stream(stream);
	struct dtconv_batch_entry_attr entry = { .struct_size = sizeof(entry) };
	struct scene scene;
	CUgraph graph;

	new_scene(&scene);
	add_pairs(&scene, fixture_context, 2);
	add_pair(&scene, fixture_context,
		 "contiguous(60, resized(vector(50, 1, 60, double), 0, 8))",
		 "vector(3000, 1, 2, double)", 1);
	make_batch(&scene, fixture_context, &params);
	run(&scene);
	fill(&scene);
	MUST(StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	ck_assert_int_eq(dtconv_batch_run(scene.batch, NULL), DTCONV_ERR_UNSUPPORTED);
	ck_assert_ptr_nonnull(strstr(fixture_error(), "being captured"));
	MUST(StreamEndCapture(stream, &graph));
	for (size_t i = 0; i < scene.count; i++) {
		fixture_ok(dtconv_batch_query_entry(scene.batch, i, &entry));
		ck_assert_int_eq(entry.status, i == 2 ? DTCONV_ERR_UNSUPPORTED : 0);
		ck_assert_uint_eq(entry.moved, i == 2 ? 0 : scene.pieces[i].bytes);
	}
	MUST(GraphDestroy(graph));
	run(&scene);
	close_scene(&scene);
	MUST(StreamDestroy(stream));
}
END_TEST

/* ---- access -------------------------------------------------------------------------------- */

/* The last entry's target may only be read; as a source that is enough. */
START_TEST(the_access_to_every_side_is_checked)
{
	const CUmemAccessDesc reading = {
		.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE },
		.flags = CU_MEM_ACCESS_FLAGS_PROT_READ
	};
	struct scene scene;
	struct piece *last;

	new_scene(&scene);
	add_pairs(&scene, fixture_context, 3);
	open_piece(&scene, fixture_type(pairs[0].from), 1, _i ? ARENA_DEVICE : ARENA_VMM,
		   fixture_type(pairs[0].to), 1, _i ? ARENA_VMM : ARENA_DEVICE);
	last = &scene.pieces[3];
	const struct arena *closed = _i ? &last->target : &last->source;
	make_batch(&scene, fixture_context, NULL);
	/* Not every driver grants so little. */
	if (!gpu.MemSetAccess(arena_base(closed), closed->reserved, &reading, 1)) {
		ck_assert_int_eq(dtconv_batch_run(scene.batch, NULL),
				 _i ? DTCONV_ERR_INVAL : 0);
		ck_assert_msg(!_i || strstr(fixture_error(),
					    "no write access to the target memory"),
			      "%s", fixture_error());
	}
	close_scene(&scene);
}
END_TEST

/* ---- faults -------------------------------------------------------------------------------- */

/* What the batch says of each entry is so. */
static void check_told(struct scene *scene, int status)
{
	struct dtconv_batch_attr attr = { .struct_size = sizeof(attr) };

	fixture_ok(dtconv_batch_query(scene->batch, &attr));
	ck_assert_uint_eq(attr.failed < scene->count, status != 0);
	for (size_t i = 0; i < scene->count; i++) {
		struct dtconv_batch_entry_attr entry = { .struct_size = sizeof(entry) };
		struct piece *piece = &scene->pieces[i];

		fixture_ok(dtconv_batch_query_entry(scene->batch, i, &entry));
		ck_assert(entry.status <= 0 &&
			  (i != attr.failed || entry.status == status));
		ck_assert_uint_le(entry.moved, piece->bytes);
		if (entry.status)
			continue;
		ck_assert_uint_eq(entry.moved, piece->bytes);
		check_piece(piece, piece->bytes);
	}
}

/* Small ones, more than travel with a launch or not, one between two kinds of memory, and one in two steps. */
static void add_faulty(struct scene *scene, struct dtconv_context *context, bool many)
{
	add_pairs(scene, context, many ? 16 : 4);
	open_piece(scene, fixture_type_in(context, pairs[0].from), 1, ARENA_HOST,
		   fixture_type_in(context, pairs[0].to), 1, ARENA_DEVICE);
	add_pair(scene, context, "contiguous(30, double)", "vector(30, 1, 2, double)", 1);
	add_pair(scene, context,
		 "contiguous(60, resized(vector(50, 1, 60, double), 0, 8))",
		 "vector(3000, 1, 2, double)", 1);
}

static bool inject(const char *entry, unsigned nth, int many)
{
	struct dtconv_context *context;
	struct scene scene;
	char fault[80];

	gpu_open();
	fixture_ok(dtconv_context_create(NULL, &context));
	new_scene(&scene);
	add_faulty(&scene, context, many);
	make_batch(&scene, context, NULL);
	gpu_refuse(entry, nth);
	int status = dtconv_batch_run(scene.batch, NULL);
	bool fired = gpu_was_refused();
	check_told(&scene, status);
	fill(&scene);
	if (dtconv_batch_run(scene.batch, NULL))
		ck_abort_msg("%s, call %u: the next run fails too", entry, nth);
	check(&scene);
	close_scene(&scene);
	dtconv_context_destroy(context);
	snprintf(fault, sizeof(fault), "%s, call %u", entry, nth);
	gpu_must_be_clean(fault);
	return fired;
}

START_TEST(a_refused_call_fails_its_copies_and_no_later_run)
{
	for (int many = 0; many < 2; many++)
		gpu_refuse_calls(gpu_entries[_i], inject, many);
}
END_TEST

int main(void)
{
	setenv("CK_FORK", "yes", 1);
	gpu_find();
	Suite *suite = suite_create("copies of a batch");
	TCase *copies = gpu_case(suite, "copies", 60);
	tcase_add_loop_test(copies, random_copies_are_as_the_oracle_says, 0, 40);
	tcase_add_loop_test(copies, copies_of_a_device_are_one_launch, 0, COUNTS);
	tcase_add_test(copies, unlike_copies_have_their_launches);
	tcase_add_test(copies, a_row_is_packed_or_unpacked_with_others);
	tcase_add_loop_test(copies, copies_go_alone_without_kernels, 0, 2);
	tcase_add_test(copies, a_copy_with_an_operation_goes_alone);
	tcase_add_loop_test(copies, copies_go_in_the_order_of_the_stream, 0, COUNTS);
	tcase_add_loop_test(copies, captured_copies_replay, 0, COUNTS);
	tcase_add_test(copies, a_copy_in_two_steps_is_not_captured);
	tcase_add_loop_test(copies, the_access_to_every_side_is_checked, 0, 2);
	tcase_add_loop_test(gpu_faults(suite),
			    a_refused_call_fails_its_copies_and_no_later_run, 0,
			    gpu_refusals());
	return fixture_run(suite);
}
