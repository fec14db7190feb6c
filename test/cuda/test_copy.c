/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dtconv_copy where device memory is involved: between every pair of kinds as the oracle says, without a
 * visit of the host's memory inside a device, in pieces, and with driver calls that fail.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/fixture.h"
#include "support/gpu.h"
#include "support/type_choices.h"

/* Layouts of one signature each: 3000 doubles. */
static const char *const layouts[] = {
	"contiguous(3000, double)",
	"vector(1000, 3, 5, double)",
	"vector(3000, 1, 2, double)",
	"contiguous(60, resized(vector(50, 1, 60, double), 0, 8))",
	"contiguous(1000, resized(struct([1,2], [0,16], [double,double]), 0, 40))",
	"subarray([40,40,40], [10,15,20], [3,2,1], c, double)",
};

#define LAYOUTS (int)(sizeof(layouts) / sizeof(layouts[0]))

/* Two stages in arenas. */
struct scene {
	struct stage from, to;
	struct arena source, target;
};

static void open_scene(struct scene *scene, enum arena_kind source,
		       enum arena_kind target)
{
	arena_open(&scene->source, source, scene->from.memory_bytes);
	arena_open(&scene->target, target, scene->to.memory_bytes);
	stage_blank(&scene->to);
	arena_write(&scene->source, 0, scene->from.source_memory,
		    scene->from.memory_bytes);
	arena_write(&scene->target, 0, scene->to.target_memory, scene->to.memory_bytes);
}

static void close_scene(struct scene *scene)
{
	arena_close(&scene->source);
	arena_close(&scene->target);
}

static int copy(struct scene *scene, size_t *moved)
{
	struct stage *from = &scene->from, *to = &scene->to;

	return dtconv_copy(from->type, from->count,
			   scene->source.memory + (from->source - from->source_memory),
			   to->type, to->count,
			   scene->target.memory + (to->target - to->target_memory),
			   moved);
}

/* The first @bytes have arrived, and nothing else was touched. */
static void check(struct scene *scene, size_t bytes)
{
	memcpy(scene->to.stream, scene->from.stream, bytes);
	arena_read(&scene->target, 0, scene->to.target_memory, scene->to.memory_bytes);
	stage_deliver(&scene->to, 0, bytes);
	fixture_arrived(&scene->to);
}

static void copy_and_check(struct scene *scene, enum arena_kind source,
			   enum arena_kind target)
{
	size_t bytes = scene->from.bytes < scene->to.bytes ? scene->from.bytes
							   : scene->to.bytes;
	size_t moved;

	open_scene(scene, source, target);
	ck_assert_msg(copy(scene, &moved) == (scene->to.bytes < scene->from.bytes
						      ? DTCONV_ERR_TRUNCATE
						      : 0),
		      "%s", fixture_error());
	ck_assert_uint_eq(moved, bytes);
	check(scene, bytes);
	close_scene(scene);
}

START_TEST(every_layout_is_copied_to_every_other_between_all_kinds)
{
	enum arena_kind source = (enum arena_kind)(_i / ARENA_KINDS),
			target = (enum arena_kind)(_i % ARENA_KINDS);
	struct scene scene;

	for (int i = 0; i < LAYOUTS * LAYOUTS; i++) {
		fixture_open(&scene.from, layouts[i / LAYOUTS], 1);
		fixture_open(&scene.to, layouts[i % LAYOUTS], 1);
		copy_and_check(&scene, source, target);
		fixture_close(&scene.from);
		fixture_close(&scene.to);
	}
}
END_TEST

START_TEST(random_types_are_copied)
{
	struct choices choices = fixture_choices(0x636f7079 + (uint64_t)_i);

	for (int round = 0; round < 20; round++) {
		struct dtconv_type *type =
			type_choose(fixture_context, &choices, &type_bounds_small);
		size_t count = 1 + choose(&choices, 5), other = 1 + choose(&choices, 5);
		struct scene scene;

		if (stage_open(&scene.from, type, count, choose(&choices, 64), 0, 1)) {
			dtconv_type_unref(type);
			continue;
		}
		ck_assert(
			!stage_open(&scene.to, type, other, 0, choose(&choices, 64), 2));
		copy_and_check(&scene, (enum arena_kind)choose(&choices, ARENA_KINDS),
			       ARENA_DEVICE);
		stage_close(&scene.from);
		stage_close(&scene.to);
		dtconv_type_unref(type);
	}
}
END_TEST

/* Pairs by number, and the launches that a copy takes. */
static const struct {
	int from, to;
	size_t launches;
} pairs[] = {
	{ 1, 5, 1 },
	{ 0, 2, 1 }, /* one side is a run */
	{ 3, 5, 2 }, /* packed and unpacked, because one side is transposed */
};

#define PAIRS (int)(sizeof(pairs) / sizeof(pairs[0]))

START_TEST(inside_a_device_the_host_sees_no_byte)
{
	struct scene scene;
	size_t moved;

	if (!gpu.standin)
		return;
	fixture_open(&scene.from, layouts[pairs[_i].from], 1);
	fixture_open(&scene.to, layouts[pairs[_i].to], 1);
	open_scene(&scene, ARENA_DEVICE, ARENA_DEVICE);
	ck_assert_int_eq(copy(&scene, &moved), 0);
	size_t launched = gpu.standin->calls("cuLaunchKernel");
	size_t copied = gpu.standin->calls("cuMemcpyAsync");
	size_t allocated = gpu.standin->calls("cuMemAlloc");
	ck_assert_int_eq(copy(&scene, &moved), 0);
	ck_assert_uint_eq(gpu.standin->calls("cuLaunchKernel"),
			  launched + pairs[_i].launches);
	ck_assert_uint_eq(gpu.standin->calls("cuMemcpyAsync"), copied);
	ck_assert_uint_eq(gpu.standin->calls("cuMemAlloc"), allocated);
	check(&scene, scene.from.bytes);
	close_scene(&scene);
	fixture_close(&scene.from);
	fixture_close(&scene.to);
}
END_TEST

#define LONG (size_t)2621440 /* doubles: 20 MiB */

static size_t triple_place(size_t i)
{
	return i / 2 * 3 + i % 2;
}

static size_t column_place(size_t i)
{
	return i % 5120 * 512 + i / 5120;
}

/* The first in one launch, the second in pieces through scratch memory. */
static const struct {
	const char *text;
	size_t doubles;
	size_t (*place)(size_t i);
} long_sources[] = {
	{ "vector(1310720, 2, 3, double)", LONG / 2 * 3, triple_place },
	{ "contiguous(512, resized(vector(5120, 1, 512, double), 0, 8))", LONG,
	  column_place },
};

#define LONG_SOURCES (int)(sizeof(long_sources) / sizeof(long_sources[0]))

START_TEST(long_streams_are_copied)
{
	struct dtconv_type *from = fixture_type(long_sources[_i].text);
	struct dtconv_type *to = fixture_type("vector(2621440, 1, 2, double)");
	size_t from_bytes = long_sources[_i].doubles * 8, to_bytes = LONG * 2 * 8, moved;
	double *source = malloc(from_bytes), *target = calloc(1, to_bytes);
	struct arena a, b;

	ck_assert(source && target);
	for (size_t i = 0; i < from_bytes / 8; i++)
		source[i] = (double)i + 1;
	arena_open(&a, ARENA_DEVICE, from_bytes);
	arena_open(&b, ARENA_DEVICE, to_bytes);
	arena_write(&a, 0, source, from_bytes);
	arena_write(&b, 0, target, to_bytes);
	fixture_ok(dtconv_copy(from, 1, a.memory, to, 1, b.memory, &moved));
	ck_assert_uint_eq(moved, LONG * 8);
	arena_read(&b, 0, target, to_bytes);
	for (size_t i = 0; i < LONG; i++)
		if ((size_t)target[2 * i] != long_sources[_i].place(i) + 1 ||
		    (size_t)target[2 * i + 1])
			ck_abort_msg("element %zu is %g", i, target[2 * i]);
	arena_close(&a);
	arena_close(&b);
	free(source);
	free(target);
	dtconv_type_unref(from);
	dtconv_type_unref(to);
}
END_TEST

/* ---- ways ---------------------------------------------------------------------------------- */

#define MIXED 40 /* doubles in each memory */

/* Every second double of two memories, at absolute displacements. */
static struct dtconv_type *type_across(const struct arena *first,
				       const struct arena *second)
{
	const size_t lengths[2] = { 1, 1 };
	const ptrdiff_t places[2] = { (ptrdiff_t)first->memory,
				      (ptrdiff_t)second->memory };
	struct dtconv_type *rows = fixture_type("vector(40, 1, 2, double)");
	struct dtconv_type *type;

	fixture_ok(dtconv_type_create_hindexed(2, lengths, places, rows, &type));
	fixture_ok(dtconv_type_commit(type));
	dtconv_type_unref(rows);
	return type;
}

/* A layout whose memory is a device's in one half only, on either side. */
START_TEST(memory_of_two_kinds_is_copied_in_parts)
{
	static const enum arena_kind seconds[] = { ARENA_HOST, ARENA_PINNED };
	double before[2 * MIXED], after[3 * MIXED] = { 0 };
	struct arena first, second, other;
	size_t moved;

	for (int i = 0; i < 2 * MIXED; i++)
		before[i] = i + 1;
	arena_open(&first, ARENA_DEVICE, sizeof(before));
	arena_open(&second, seconds[_i / 2], sizeof(before));
	arena_open(&other, ARENA_DEVICE, sizeof(after));
	arena_write(&first, 0, before, sizeof(before));
	arena_write(&second, 0, before, sizeof(before));
	arena_write(&other, 0, after, sizeof(after));
	struct dtconv_type *across = _i % 2 ? type_across(&first, &second)
					    : type_across(&second, &first);
	struct dtconv_type *triples = fixture_type("vector(40, 2, 3, double)");
	fixture_ok(dtconv_copy(across, 1, NULL, triples, 1, other.memory, &moved));
	ck_assert_uint_eq(moved, sizeof(before));
	arena_read(&other, 0, after, sizeof(after));
	for (int i = 0; i < 2 * MIXED; i++)
		ck_assert(after[i / 2 * 3 + i % 2] == before[i % MIXED * 2]);
	/* And back: the other way round, nothing changes. */
	fixture_ok(dtconv_copy(triples, 1, other.memory, across, 1, NULL, &moved));
	arena_read(&second, 0, after, sizeof(before));
	ck_assert_mem_eq(after, before, sizeof(before));
	arena_close(&first);
	arena_close(&second);
	arena_close(&other);
	dtconv_type_unref(across);
	dtconv_type_unref(triples);
}
END_TEST

/* Without the kernels' backend the driver copies, block by block. */
START_TEST(a_forbidden_backend_does_not_copy)
{
	const struct dtconv_context_params params = { .struct_size = sizeof(params),
						      .flags = DTCONV_CONTEXT_COUNTERS };
	struct dtconv_backend_counters counters = { .struct_size = sizeof(counters) };
	struct dtconv_context *context;
	struct scene scene;
	size_t moved;

	setenv("DTCONV_BACKENDS", "^cuda_kernel", 1);
	fixture_ok(dtconv_context_create(&params, &context));
	unsetenv("DTCONV_BACKENDS");
	struct dtconv_type *from = fixture_type_in(context, layouts[1]),
			   *to = fixture_type_in(context, layouts[5]);
	ck_assert(!stage_open(&scene.from, from, 1, 0, 0, 1));
	ck_assert(!stage_open(&scene.to, to, 1, 0, 0, 2));
	open_scene(&scene, ARENA_DEVICE, ARENA_DEVICE);
	fixture_ok(copy(&scene, &moved));
	check(&scene, scene.from.bytes);
	fixture_ok(dtconv_context_query_backend(context, "cuda_kernel", &counters));
	ck_assert_uint_eq(counters.jobs, 0);
	close_scene(&scene);
	stage_close(&scene.from);
	stage_close(&scene.to);
	dtconv_type_unref(from);
	dtconv_type_unref(to);
	dtconv_context_destroy(context);
}
END_TEST

/* One launch counts as a job of the kernels' backend, and in a counter of its own. */
START_TEST(a_copy_is_counted)
{
	struct dtconv_backend_counters counters = { .struct_size = sizeof(counters) };
	struct scene scene;

	fixture_open(&scene.from, layouts[1], 1);
	fixture_open(&scene.to, layouts[5], 1);
	copy_and_check(&scene, ARENA_DEVICE, ARENA_DEVICE);
	fixture_ok(
		dtconv_context_query_backend(fixture_context, "cuda_kernel", &counters));
	ck_assert_uint_eq(counters.jobs, 1);
	ck_assert_uint_eq(counters.bytes, scene.from.bytes);
	ck_assert_uint_eq(fixture_counters().launches_copy, 1);
	/* No kernel may access ordinary memory. */
	copy_and_check(&scene, ARENA_DEVICE, ARENA_HOST);
	copy_and_check(&scene, ARENA_HOST, ARENA_DEVICE);
	ck_assert_uint_eq(fixture_counters().launches_copy, 1);
	fixture_close(&scene.from);
	fixture_close(&scene.to);
}
END_TEST

/* ---- in advance ---------------------------------------------------------------------------- */

/* One arena of each kind that a question knows. */
static const struct {
	enum dtconv_memory_kind kind;
	enum arena_kind arena;
} kinds[] = {
	{ DTCONV_MEMORY_HOST, ARENA_HOST },
	{ DTCONV_MEMORY_PINNED, ARENA_PINNED },
	{ DTCONV_MEMORY_MANAGED, ARENA_MANAGED },
	{ DTCONV_MEMORY_DEVICE, ARENA_DEVICE },
};

#define KINDS (int)(sizeof(kinds) / sizeof(kinds[0]))

/* Jobs of a backend since the last call of reset. */
static uint64_t jobs_of(const char *backend)
{
	struct dtconv_backend_counters counters = { .struct_size = sizeof(counters) };

	if (!backend)
		return 0;
	fixture_ok(dtconv_context_query_backend(fixture_context, backend, &counters));
	return counters.jobs;
}

/* What is explained is what is done: launches of the copy kernel, and jobs of both steps' backends. */
static void must_do_as_explained(struct scene *scene, int source, int target)
{
	struct dtconv_copy_explanation e = { .struct_size = sizeof(e) };
	const struct stage *from = &scene->from, *to = &scene->to;
	const uint64_t launches = fixture_counters().launches_copy;

	fixture_ok(dtconv_explain_copy_way(from->type, 1, kinds[source].kind, to->type, 1,
					   kinds[target].kind, &e));
	const uint64_t packs = jobs_of(e.pack_backend),
		       unpacks = jobs_of(e.unpack_backend);
	copy_and_check(scene, kinds[source].arena, kinds[target].arena);
	ck_assert_uint_eq(fixture_counters().launches_copy - launches,
			  e.way == DTCONV_COPY_LAUNCH);
	ck_assert(!e.pack_backend || jobs_of(e.pack_backend) > packs);
	ck_assert(!e.unpack_backend || jobs_of(e.unpack_backend) > unpacks);
	ck_assert_ptr_null(e.missing);
	ck_assert(e.ns > 0);
	ck_assert_uint_eq(e.bytes, scene->to.bytes);
	ck_assert(e.way != DTCONV_COPY_LAUNCH || (e.kernel && !e.reason));
	ck_assert(e.way < DTCONV_COPY_SCRATCH ||
		  (e.reason && e.pack_backend && e.unpack_backend && !e.kernel));
}

START_TEST(a_copy_is_done_as_it_is_explained)
{
	struct scene scene;

	fixture_open(&scene.from, layouts[_i / LAYOUTS], 1);
	fixture_open(&scene.to, layouts[_i % LAYOUTS], 1);
	for (int i = 0; i < KINDS * KINDS; i++)
		must_do_as_explained(&scene, i / KINDS, i % KINDS);
	fixture_close(&scene.from);
	fixture_close(&scene.to);
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
	fixture_ok(dtconv_context_create(NULL, &context));
	struct dtconv_type *from = fixture_type_in(context, layouts[pairs[pair].from]),
			   *to = fixture_type_in(context, layouts[pairs[pair].to]);
	ck_assert(!stage_open(&scene.from, from, 1, 0, 0, 1));
	ck_assert(!stage_open(&scene.to, to, 1, 0, 0, 2));
	open_scene(&scene, ARENA_DEVICE, ARENA_DEVICE);
	gpu_refuse(entry, nth);
	int status = copy(&scene, &moved);
	bool fired = gpu_was_refused();
	ck_assert(status <= 0);
	ck_assert_uint_le(moved, scene.from.bytes);
	ck_assert(status || moved == scene.from.bytes);
	if (copy(&scene, &moved))
		ck_abort_msg("%s, call %u: the next copy fails too", entry, nth);
	check(&scene, scene.from.bytes);
	close_scene(&scene);
	stage_close(&scene.from);
	stage_close(&scene.to);
	dtconv_type_unref(from);
	dtconv_type_unref(to);
	dtconv_context_destroy(context);
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
	Suite *suite = suite_create("copy");
	TCase *copies = gpu_case(suite, "copies", 60);
	tcase_add_loop_test(copies,
			    every_layout_is_copied_to_every_other_between_all_kinds, 0,
			    ARENA_KINDS * ARENA_KINDS);
	tcase_add_loop_test(copies, random_types_are_copied, 0, 10);
	tcase_add_loop_test(copies, inside_a_device_the_host_sees_no_byte, 0, PAIRS);
	tcase_add_loop_test(copies, memory_of_two_kinds_is_copied_in_parts, 0, 4);
	tcase_add_test(copies, a_forbidden_backend_does_not_copy);
	tcase_add_test(copies, a_copy_is_counted);
	tcase_add_loop_test(copies, a_copy_is_done_as_it_is_explained, 0,
			    LAYOUTS * LAYOUTS);
	tcase_add_loop_test(copies, long_streams_are_copied, 0, LONG_SOURCES);
	tcase_add_loop_test(gpu_faults(suite), a_refused_call_fails_its_copy_and_no_later_one,
			    0, gpu_refusals());
	return fixture_run(suite);
}
