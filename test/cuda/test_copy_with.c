/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies with an operation and of ranges where device memory is involved: between all kinds of memory as the oracle
 * says, in the order of a stream, in graphs, one launch a range, and with driver calls that fail.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/copy_case.h"
#include "support/fixture.h"
#include "support/gpu.h"
#include "support/listener.h"
#include "support/type_choices.h"

/* ---- a case in arenas --------------------------------------------------------------------- */

struct scene {
	struct copy_case cc;
	struct arena source, target;
	struct dtconv_copier *copier;
};

static unsigned char *source_of(const struct scene *scene)
{
	const struct stage *from = &scene->cc.from;

	return scene->source.memory + (from->source - from->source_memory);
}

static unsigned char *target_of(const struct scene *scene)
{
	const struct typed_case *tc = &scene->cc.tc;

	return scene->target.memory + (tc->target - tc->target_memory);
}

/* Both memories as the case has them. */
static void fill(struct scene *scene)
{
	const struct copy_case *cc = &scene->cc;

	arena_write(&scene->source, 0, cc->from.source_memory, cc->from.memory_bytes);
	arena_write(&scene->target, 0, cc->tc.target_memory, copy_case_target_bytes(cc));
}

/* The case is open. */
static void open_scene(struct scene *scene, enum arena_kind source,
		       enum arena_kind target, const struct dtconv_copier_params *params)
{
	const struct copy_case *cc = &scene->cc;

	arena_open(&scene->source, source, cc->from.memory_bytes);
	arena_open(&scene->target, target, copy_case_target_bytes(cc));
	fill(scene);
	fixture_ok(dtconv_copier_create(cc->from.type, cc->from.count, source_of(scene),
					cc->tc.type, cc->tc.count, target_of(scene),
					params, &scene->copier));
}

static void open_text(struct scene *scene, const char *text, enum dtconv_op op,
		      enum copy_source source, enum arena_kind source_kind,
		      enum arena_kind target_kind,
		      const struct dtconv_copier_params *params)
{
	struct choices choices = fixture_choices(0x7465);
	struct dtconv_type *type = fixture_type(text);

	ck_assert(copy_case_open(&scene->cc, type, 1, op, source, &choices));
	dtconv_type_unref(type);
	open_scene(scene, source_kind, target_kind, params);
}

static void close_scene(struct scene *scene)
{
	dtconv_copier_destroy(scene->copier);
	arena_close(&scene->source);
	arena_close(&scene->target);
	copy_case_close(&scene->cc);
}

static void read_target(struct scene *scene)
{
	arena_read(&scene->target, 0, scene->cc.tc.target_memory,
		   copy_case_target_bytes(&scene->cc));
}

/* The first @bytes have been combined; afterwards the case has new values. */
static void check(struct scene *scene, size_t bytes)
{
	struct choices choices = fixture_choices(0x6368);

	read_target(scene);
	copy_case_must_be_right(&scene->cc, bytes);
	copy_case_restart(&scene->cc, &choices);
	fill(scene);
}

static struct dtconv_copier_params with(enum dtconv_op op)
{
	return (struct dtconv_copier_params){
		.struct_size = sizeof(struct dtconv_copier_params), .op = op
	};
}

static struct dtconv_copier_params in_stream(enum dtconv_op op, CUstream stream)
{
	struct dtconv_copier_params params = with(op);

	params.flags = DTCONV_COPIER_STREAM;
	params.stream = stream;
	return params;
}

static int run_range(struct scene *scene, size_t position, size_t bytes, size_t *moved)
{
	fixture_ok(dtconv_copier_start_at(scene->copier, position, bytes, NULL, NULL));
	return dtconv_copier_wait(scene->copier, moved);
}

static int run(struct scene *scene, size_t *moved)
{
	fixture_ok(dtconv_copier_start(scene->copier, NULL, NULL));
	return dtconv_copier_wait(scene->copier, moved);
}

/* ---- against the oracle ------------------------------------------------------------------- */

static void copy_whole(struct scene *scene, const struct dtconv_copier_params *params)
{
	const struct copy_case *cc = &scene->cc;
	size_t moved;

	ck_assert_msg(!dtconv_copy_with(cc->from.type, cc->from.count, source_of(scene),
					cc->tc.type, cc->tc.count, target_of(scene),
					params, &moved),
		      "%s", fixture_error());
	ck_assert_uint_eq(moved, cc->tc.bytes);
	check(scene, cc->tc.bytes);
	ck_assert_msg(!run(scene, &moved), "%s", fixture_error());
	ck_assert_uint_eq(moved, cc->tc.bytes);
	check(scene, cc->tc.bytes);
}

static void copy_in_ranges(struct scene *scene, struct choices *choices)
{
	struct copy_range ranges[COPY_RANGES];
	size_t count = copy_ranges(ranges, scene->cc.tc.bytes, choices), moved;

	for (size_t i = 0; i < count; i++) {
		ck_assert_msg(!run_range(scene, ranges[i].position, ranges[i].bytes,
					 &moved),
			      "%s", fixture_error());
		ck_assert_uint_eq(moved, ranges[i].bytes);
	}
	check(scene, scene->cc.tc.bytes);
}

static const struct {
	const char *text;
	enum dtconv_op ops[3];
} combined[] = {
	{ "vector(700, 1, 2, double)",
	  { DTCONV_OP_SUM, DTCONV_OP_MAX, DTCONV_OP_REPLACE } },
	{ "contiguous(900, int)", { DTCONV_OP_BXOR, DTCONV_OP_PROD, DTCONV_OP_LAND } },
	{ "vector(300, 2, 3, struct([1,1], [0,8], [double,int]))",
	  { DTCONV_OP_MINLOC, DTCONV_OP_MAXLOC, DTCONV_OP_NO_OP } },
	{ "contiguous(100, struct([1,2,1], [0,8,20], [double,int,short]))",
	  { DTCONV_OP_SUM, DTCONV_OP_MIN, DTCONV_OP_PROD } },
};

#define COMBINED (int)(sizeof(combined) / sizeof(combined[0]))

START_TEST(all_kinds_of_memory_are_combined)
{
	enum arena_kind source = (enum arena_kind)(_i / ARENA_KINDS),
			target = (enum arena_kind)(_i % ARENA_KINDS);
	struct choices choices = fixture_choices(0x6b696e + (uint64_t)_i);
	CUstream stream = gpu_stream();

	for (int i = 0; i < COMBINED * COPY_SOURCES; i++) {
		enum dtconv_op op = combined[i / COPY_SOURCES].ops[choose(&choices, 3)];
		struct dtconv_copier_params params =
			choose(&choices, 2) ? with(op) : in_stream(op, stream);
		struct scene scene;

		open_text(&scene, combined[i / COPY_SOURCES].text, op,
			  (enum copy_source)(i % COPY_SOURCES), source, target, &params);
		copy_whole(&scene, &params);
		copy_in_ranges(&scene, &choices);
		close_scene(&scene);
	}
	MUST(StreamDestroy(stream));
}
END_TEST

/* Numbers that devices have no arithmetic for. So many unlike elements may be more than a kernel is told. */
static bool is_soft(const struct dtconv_type *type)
{
	struct ref_typemap map;
	bool soft = true;

	ck_assert(!ref_typemap_build(type, DTCONV_PADDING_STRUCT, 0, &map));
	for (size_t i = 0; i < map.count; i++) {
		enum dtconv_predefined basic =
			(enum dtconv_predefined)map.entries[i].basic;

		soft &= basic != DTCONV_LONG_DOUBLE &&
			basic != DTCONV_C_LONG_DOUBLE_COMPLEX &&
			basic != DTCONV_CXX_LONG_DOUBLE_COMPLEX &&
			basic != DTCONV_REAL16 && basic != DTCONV_COMPLEX32;
	}
	soft &= map.count <= 50;
	ref_typemap_free(&map);
	return soft;
}

static void combine_random(struct dtconv_type *type, enum dtconv_op op,
			   struct choices *choices)
{
	const struct dtconv_copier_params params = with(op);
	enum copy_source source = (enum copy_source)choose(choices, COPY_SOURCES);
	struct scene scene;

	if (!copy_case_open(&scene.cc, type, 1 + choose(choices, 4), op, source, choices))
		return;
	open_scene(&scene, (enum arena_kind)choose(choices, ARENA_KINDS), ARENA_DEVICE,
		   &params);
	copy_whole(&scene, &params);
	copy_in_ranges(&scene, choices);
	close_scene(&scene);
}

START_TEST(random_types_are_combined)
{
	struct choices choices = fixture_choices(0x72616e + (uint64_t)_i);

	for (int round = 0; round < 10; round++) {
		struct dtconv_type *type =
			type_choose(fixture_context, &choices, &type_bounds_small);

		fixture_ok(dtconv_type_commit(type));
		for (enum dtconv_op op = 0; is_soft(type) && op < DTCONV_OP_USER; op++)
			if (!dtconv_op_check(op, type))
				combine_random(type, op, &choices);
		dtconv_type_unref(type);
	}
}
END_TEST

/* More than the scratch memory holds, cut between its elements, which its size is no multiple of. */
START_TEST(long_streams_are_combined)
{
	const struct dtconv_copier_params sum = with(DTCONV_OP_SUM);
	struct dtconv_type *from =
		fixture_type("vector(900000, 1, 2, struct([1,1], [0,8], [double,int]))");
	struct dtconv_type *to =
		fixture_type("vector(900000, 1, 3, struct([1,1], [0,8], [double,int]))");
	const size_t count = 900000, from_bytes = count * 32, to_bytes = count * 48;
	unsigned char *source = calloc(1, from_bytes), *target = calloc(1, to_bytes);
	struct arena a, b;
	size_t moved;

	ck_assert(source && target);
	for (size_t i = 0; i < count; i++) {
		*(double *)(source + 32 * i) = (double)i;
		*(int *)(source + 32 * i + 8) = (int)(3 * i);
		*(double *)(target + 48 * i) = 1;
		*(int *)(target + 48 * i + 8) = 7;
	}
	arena_open(&a, ARENA_DEVICE, from_bytes);
	arena_open(&b, ARENA_DEVICE, to_bytes);
	arena_write(&a, 0, source, from_bytes);
	arena_write(&b, 0, target, to_bytes);
	fixture_ok(dtconv_copy_with(from, 1, a.memory, to, 1, b.memory, &sum, &moved));
	ck_assert_uint_eq(moved, count * 12);
	arena_read(&b, 0, target, to_bytes);
	for (size_t i = 0; i < count; i++)
		if (*(double *)(target + 48 * i) != (double)i + 1 ||
		    *(int *)(target + 48 * i + 8) != (int)(3 * i) + 7)
			ck_abort_msg("element %zu is wrong", i);
	arena_close(&a);
	arena_close(&b);
	free(source);
	free(target);
	dtconv_type_unref(from);
	dtconv_type_unref(to);
}
END_TEST

/* ---- ranges ------------------------------------------------------------------------------- */

/* Cuts, and whether one launch copies the range. */
static const struct {
	size_t position, bytes;
	bool at_once;
} ranges[] = {
	{ 800, 4000, true }, /* doubles */
	{ 804, 4000, true }, /* halves of them */
	{ 0, 24, true },     { 8, SIZE_MAX, true },
	{ 1, 7, true }, /* bytes, of short blocks */
};

#define RANGES (int)(sizeof(ranges) / sizeof(ranges[0]))

START_TEST(a_range_is_one_launch)
{
	const struct dtconv_copier_params params = with(DTCONV_OP_REPLACE);
	size_t moved, bytes;
	struct scene scene;

	open_text(&scene, "vector(700, 2, 3, double)", DTCONV_OP_REPLACE, COPY_ALIKE,
		  ARENA_DEVICE, ARENA_DEVICE, &params);
	fixture_ok(run(&scene, NULL));
	check(&scene, scene.cc.tc.bytes);
	uint64_t before = fixture_counters().launches_copy;
	fixture_ok(run_range(&scene, ranges[_i].position, ranges[_i].bytes, &moved));
	ck_assert_uint_eq(fixture_counters().launches_copy - before, ranges[_i].at_once);
	bytes = scene.cc.tc.bytes - ranges[_i].position;
	bytes = bytes < ranges[_i].bytes ? bytes : ranges[_i].bytes;
	ck_assert_uint_eq(moved, bytes);
	/* The rest, so that the oracle sees whole elements. */
	fixture_ok(run_range(&scene, 0, ranges[_i].position, NULL));
	fixture_ok(run_range(&scene, ranges[_i].position + bytes, SIZE_MAX, NULL));
	check(&scene, scene.cc.tc.bytes);
	close_scene(&scene);
}
END_TEST

/* The bytes outside a range stay. */
START_TEST(a_range_touches_no_other_byte)
{
	static const char *const texts[] = { "vector(500, 3, 5, double)",
					     "vector(30, 2000, 2500, byte)",
					     "contiguous(1500, double)" };
	struct dtconv_type *from = fixture_type("vector(750, 2, 3, double)");
	struct choices choices = fixture_choices(0x746f + (uint64_t)_i);
	struct arena a, b;
	struct stage to;

	fixture_open(&to, texts[_i % 3], 1);
	if (_i % 3 == 1) {
		dtconv_type_unref(from);
		from = fixture_type("vector(20, 3000, 3001, byte)");
	}
	struct stage stage;
	ck_assert(!stage_open(&stage, from, 1, 0, 0, 3));
	ck_assert_uint_ge(stage.bytes, to.bytes);
	arena_open(&a, ARENA_DEVICE, stage.memory_bytes);
	arena_open(&b, _i % 2 ? ARENA_HOST : ARENA_DEVICE, to.memory_bytes);
	arena_write(&a, 0, stage.source_memory, stage.memory_bytes);
	for (int round = 0; round < 12; round++) {
		size_t position = choose(&choices, to.bytes);
		size_t bytes = 1 + choose(&choices, to.bytes - position), moved;

		stage_blank(&to);
		memcpy(to.stream, stage.stream, to.bytes);
		arena_write(&b, 0, to.target_memory, to.memory_bytes);
		fixture_ok(dtconv_copy_at(
			from, 1, a.memory + (stage.source - stage.source_memory), to.type,
			1, b.memory + (to.target - to.target_memory), position, bytes,
			NULL, &moved));
		ck_assert_uint_eq(moved, bytes);
		arena_read(&b, 0, to.target_memory, to.memory_bytes);
		stage_deliver(&to, position, bytes);
		fixture_arrived(&to);
	}
	arena_close(&a);
	arena_close(&b);
	stage_close(&stage);
	dtconv_type_unref(from);
	fixture_close(&to);
}
END_TEST

/* ---- in a stream -------------------------------------------------------------------------- */

#define TARGET "vector(900, 1, 2, double)"

/* A contiguous source is combined by one launch: start does not wait for the stream's earlier work. */
START_TEST(a_contiguous_source_is_combined_in_the_order_of_its_stream)
{
	CUstream stream = gpu_stream();
	const struct dtconv_copier_params params = in_stream(DTCONV_OP_SUM, stream);
	struct scene scene;
	struct spin spin;
	size_t moved;

	open_text(&scene, TARGET, DTCONV_OP_SUM, COPY_DENSE, ARENA_DEVICE, ARENA_DEVICE,
		  &params);
	fixture_ok(run(&scene, NULL)); /* loads what has to be loaded */
	check(&scene, scene.cc.tc.bytes);
	spin_begin(&spin, stream);
	/* Cuts divide elements: both ranges are whole elements to the device. */
	fixture_ok(dtconv_copier_start_at(scene.copier, 0, 1001, NULL, NULL));
	for (int i = 0; i < 1000; i++)
		fixture_status(dtconv_copier_test(scene.copier, NULL), DTCONV_INPROGRESS);
	spin_release(&spin);
	fixture_ok(dtconv_copier_wait(scene.copier, &moved));
	ck_assert_uint_eq(moved, 1001);
	fixture_ok(run_range(&scene, 1001, SIZE_MAX, &moved));
	check(&scene, scene.cc.tc.bytes);
	spin_end(&spin);
	close_scene(&scene);
	MUST(StreamDestroy(stream));
}
END_TEST

/* Other sources pass through scratch memory, behind the stream's earlier work. */
START_TEST(a_source_with_gaps_is_combined_in_the_order_of_its_stream)
{
	CUstream stream = gpu_stream();
	const struct dtconv_copier_params params = in_stream(DTCONV_OP_SUM, stream);
	struct spin_releaser releaser;
	struct scene scene;
	struct arena kept;
	struct spin spin;

	if (!gpu.standin)
		return;
	open_text(&scene, TARGET, DTCONV_OP_SUM, COPY_SCATTERED, ARENA_DEVICE,
		  ARENA_DEVICE, &params);
	const size_t bytes = scene.cc.from.memory_bytes;
	fixture_ok(run(&scene, NULL));
	check(&scene, scene.cc.tc.bytes);
	arena_open(&kept, ARENA_DEVICE, bytes);
	arena_write(&kept, 0, scene.cc.from.source_memory, bytes);
	gpu_clear(scene.source.memory, bytes);
	spin_begin(&spin, stream);
	MUST(MemcpyAsync((CUdeviceptr)(uintptr_t)scene.source.memory,
			 (CUdeviceptr)(uintptr_t)kept.memory, bytes, stream));
	releaser_begin(&releaser, &spin, "cuLaunchKernel", 2);
	fixture_ok(run(&scene, NULL));
	ck_assert(releaser_end(&releaser));
	check(&scene, scene.cc.tc.bytes);
	spin_end(&spin);
	arena_close(&kept);
	close_scene(&scene);
	MUST(StreamDestroy(stream));
}
END_TEST

/* The host reads no byte: two launches, and neither copies nor allocations in the steady state. */
START_TEST(inside_a_device_the_host_sees_no_byte)
{
	const struct dtconv_copier_params params = with(DTCONV_OP_SUM);
	static const size_t launches[COPY_SOURCES] = {
		[COPY_SCATTERED] = 2, [COPY_DENSE] = 1, [COPY_ALIKE] = 2
	};
	struct scene scene;

	if (!gpu.standin)
		return;
	open_text(&scene, TARGET, DTCONV_OP_SUM, (enum copy_source)_i, ARENA_DEVICE,
		  ARENA_DEVICE, &params);
	fixture_ok(run(&scene, NULL));
	check(&scene, scene.cc.tc.bytes);
	size_t launched = gpu.standin->calls("cuLaunchKernel");
	size_t copied = gpu.standin->calls("cuMemcpyAsync");
	size_t allocated = gpu.standin->calls("cuMemAlloc");
	/* Cut inside elements at both ends. */
	fixture_ok(run_range(&scene, 3, scene.cc.tc.bytes - 5, NULL));
	ck_assert_uint_eq(gpu.standin->calls("cuLaunchKernel"), launched + launches[_i]);
	ck_assert_uint_eq(gpu.standin->calls("cuMemcpyAsync"), copied);
	ck_assert_uint_eq(gpu.standin->calls("cuMemAlloc"), allocated);
	close_scene(&scene);
}
END_TEST

/* ---- graphs ------------------------------------------------------------------------------- */

START_TEST(a_captured_copy_combines_when_it_is_replayed)
{
	CUstream stream = gpu_stream();
	const struct dtconv_copier_params params = in_stream(DTCONV_OP_SUM, stream);
	struct scene scene;
	CUgraphExec exec;
	CUgraph graph;

	open_text(&scene, TARGET, DTCONV_OP_SUM, (enum copy_source)_i, ARENA_DEVICE,
		  ARENA_DEVICE, &params);
	fixture_ok(run(&scene, NULL));
	check(&scene, scene.cc.tc.bytes);
	MUST(StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	int status = run(&scene, NULL);
	MUST(StreamEndCapture(stream, &graph));
	if (_i == COPY_DENSE) {
		ck_assert_msg(!status, "%s", fixture_error());
		MUST(GraphInstantiateWithFlags(&exec, graph, 0));
		for (int round = 0; round < 3; round++) {
			MUST(GraphLaunch(exec, stream));
			MUST(StreamSynchronize(stream));
			check(&scene, scene.cc.tc.bytes);
		}
		MUST(GraphExecDestroy(exec));
	} else {
		ck_assert_int_eq(status, DTCONV_ERR_UNSUPPORTED);
		ck_assert_ptr_nonnull(strstr(fixture_error(), "being captured"));
	}
	MUST(GraphDestroy(graph));
	close_scene(&scene);
	MUST(StreamDestroy(stream));
}
END_TEST

/* ---- what devices cannot do --------------------------------------------------------------- */

static void subtract(void *arg, const void *incoming, void *target, size_t count,
		     enum dtconv_predefined element)
{
	const double *in = incoming;
	double *inout = target;

	(void)arg;
	ck_assert_int_eq(element, DTCONV_DOUBLE);
	for (size_t i = 0; i < count; i++)
		inout[i] = in[i] - inout[i];
}

START_TEST(the_callers_function_combines_what_the_host_may_access)
{
	static const enum arena_kind targets[] = { ARENA_DEVICE, ARENA_PINNED };
	struct dtconv_copier_params params = with(DTCONV_OP_USER);
	struct dtconv_type *from = fixture_type("vector(100, 1, 2, double)");
	struct dtconv_type *to = fixture_type("vector(100, 1, 3, double)");
	double source[200], target[300];
	struct arena a, b;
	size_t moved = 77;

	params.op_fn = subtract;
	for (int i = 0; i < 300; i++) {
		target[i] = i;
		source[i % 200] = 5 * (i % 200);
	}
	arena_open(&a, ARENA_DEVICE, sizeof(source));
	arena_open(&b, targets[_i], sizeof(target));
	arena_write(&a, 0, source, sizeof(source));
	arena_write(&b, 0, target, sizeof(target));
	int status =
		dtconv_copy_with(from, 1, a.memory, to, 1, b.memory, &params, &moved);
	arena_read(&b, 0, target, sizeof(target));
	if (targets[_i] == ARENA_DEVICE) {
		ck_assert_int_eq(status, DTCONV_ERR_UNSUPPORTED);
		ck_assert_uint_eq(moved, 0);
	} else {
		ck_assert_msg(!status, "%s", fixture_error());
	}
	for (int i = 0; i < 100; i++) {
		double old = 3 * i;

		ck_assert(target[3 * i] == (status ? old : 10 * i - old));
		ck_assert(target[3 * i + 1] == 3 * i + 1);
	}
	arena_close(&a);
	arena_close(&b);
	dtconv_type_unref(from);
	dtconv_type_unref(to);
}
END_TEST

/* ---- the way ------------------------------------------------------------------------------ */

START_TEST(the_log_says_that_a_copy_is_unpacked)
{
	const struct dtconv_copier_params params = with(DTCONV_OP_MAX);
	struct listener listener;
	struct arena source, target;

	listener_open(&listener, DTCONV_LOG_DEBUG, "packed, and unpacked");
	struct dtconv_type *type =
		fixture_type_in(listener.context, "vector(100, 3, 5, double)");
	arena_open(&source, ARENA_DEVICE, 5000);
	arena_open(&target, ARENA_DEVICE, 5000);
	fixture_ok(dtconv_copy_with(type, 1, source.memory, type, 1, target.memory,
				    &params, NULL));
	ck_assert_str_eq(listener.text,
			 "dtconv_copy_with: 2400 bytes: packed, and unpacked with max");
	arena_close(&source);
	arena_close(&target);
	dtconv_type_unref(type);
	dtconv_context_destroy(listener.context);
}
END_TEST

/* ---- faults ------------------------------------------------------------------------------- */

/* So many first calls of each entry point fail. */
#define CALLS 6

#define ELEMENTS 400

/* Two memories of doubles: every element of the source, every second of the target. */
struct doubles {
	struct dtconv_context *context;
	struct dtconv_type *from, *to;
	struct arena source, target;
};

static void fill_doubles(struct doubles *doubles)
{
	double values[2 * ELEMENTS];

	for (int i = 0; i < 2 * ELEMENTS; i++)
		values[i] = 1000 * i;
	arena_write(&doubles->source, 0, values, sizeof(values));
	for (int i = 0; i < 2 * ELEMENTS; i++)
		values[i] = i;
	arena_write(&doubles->target, 0, values, sizeof(values));
}

static void open_doubles(struct doubles *doubles, bool gaps)
{
	const size_t bytes = 2 * ELEMENTS * sizeof(double);

	fixture_ok(dtconv_context_create(NULL, &doubles->context));
	doubles->from =
		fixture_type_in(doubles->context, gaps ? "vector(400, 1, 2, double)"
						       : "contiguous(400, double)");
	doubles->to = fixture_type_in(doubles->context, "vector(400, 1, 2, double)");
	arena_open(&doubles->source, ARENA_DEVICE, bytes);
	arena_open(&doubles->target, ARENA_DEVICE, bytes);
	fill_doubles(doubles);
}

static void close_doubles(struct doubles *doubles)
{
	arena_close(&doubles->source);
	arena_close(&doubles->target);
	dtconv_type_unref(doubles->from);
	dtconv_type_unref(doubles->to);
	dtconv_context_destroy(doubles->context);
}

/* Those that are said to be combined are, once; others at most once. */
static void check_doubles(const struct doubles *doubles, bool gaps, size_t moved,
			  const char *fault)
{
	double target[2 * ELEMENTS];

	arena_read(&doubles->target, 0, target, sizeof(target));
	for (size_t i = 0; i < ELEMENTS; i++) {
		double old = 2 * (double)i;
		double sum = old + 1000 * (double)(gaps ? 2 * i : i);

		if (target[2 * i] != sum && (i < moved / 8 || target[2 * i] != old))
			ck_abort_msg("%s: element %zu is %g", fault, i, target[2 * i]);
		ck_assert(target[2 * i + 1] == old + 1);
	}
}

static bool inject(const char *entry, unsigned nth, bool gaps)
{
	const struct dtconv_copier_params sum = with(DTCONV_OP_SUM);
	struct doubles doubles;
	size_t moved = 12345;
	char fault[80];

	snprintf(fault, sizeof(fault), "%s, call %u", entry, nth);
	gpu_open();
	open_doubles(&doubles, gaps);
	unsigned before = gpu.standin->fired();
	gpu.standin->inject(entry, nth, CUDA_ERROR_OUT_OF_MEMORY);
	int status = dtconv_copy_with(doubles.from, 1, doubles.source.memory, doubles.to,
				      1, doubles.target.memory, &sum, &moved);
	bool fired = gpu.standin->fired() != before;
	gpu.standin->inject_clear();
	ck_assert(status <= 0);
	ck_assert_uint_le(moved, (size_t)ELEMENTS * 8);
	ck_assert(status || moved == (size_t)ELEMENTS * 8);
	check_doubles(&doubles, gaps, moved, fault);
	/* Where the driver refuses to say that the work is done, it may still be under way. */
	MUST(CtxSynchronize());
	fill_doubles(&doubles);
	if (dtconv_copy_with(doubles.from, 1, doubles.source.memory, doubles.to, 1,
			     doubles.target.memory, &sum, &moved))
		ck_abort_msg("%s: the next copy fails too", fault);
	check_doubles(&doubles, gaps, (size_t)ELEMENTS * 8, fault);
	close_doubles(&doubles);
	gpu_must_be_clean(fault);
	return fired;
}

START_TEST(a_refused_call_fails_its_copy_and_no_later_one)
{
	for (int gaps = 0; gaps < 2; gaps++)
		for (unsigned nth = 1; nth <= CALLS; nth++)
			if (!inject(gpu_entries[_i], nth, gaps))
				break;
}
END_TEST

int main(void)
{
	setenv("CK_FORK", "yes", 1);
	gpu_find();
	Suite *suite = suite_create("copies with options");
	TCase *copies = gpu_case(suite, "copies", 60);

	tcase_add_loop_test(copies, all_kinds_of_memory_are_combined, 0,
			    ARENA_KINDS * ARENA_KINDS);
	tcase_add_loop_test(copies, random_types_are_combined, 0, 10);
	tcase_add_test(copies, long_streams_are_combined);
	tcase_add_loop_test(copies, a_range_is_one_launch, 0, RANGES);
	tcase_add_loop_test(copies, a_range_touches_no_other_byte, 0, 6);
	tcase_add_test(copies,
		       a_contiguous_source_is_combined_in_the_order_of_its_stream);
	tcase_add_test(copies, a_source_with_gaps_is_combined_in_the_order_of_its_stream);
	tcase_add_loop_test(copies, inside_a_device_the_host_sees_no_byte, 0,
			    COPY_SOURCES);
	tcase_add_loop_test(copies, a_captured_copy_combines_when_it_is_replayed, 0,
			    COPY_SOURCES);
	tcase_add_loop_test(copies,
			    the_callers_function_combines_what_the_host_may_access, 0, 2);
	tcase_add_test(copies, the_log_says_that_a_copy_is_unpacked);
	if (!gpu_is_real()) {
		TCase *faults = tcase_create("faults");

		tcase_set_timeout(faults, 60);
		tcase_add_loop_test(faults,
				    a_refused_call_fails_its_copy_and_no_later_one, 0,
				    gpu_entry_count);
		suite_add_tcase(suite, faults);
	}
	return fixture_run(suite);
}
