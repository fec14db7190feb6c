/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moving by the processor through mappings of device memory: right bytes for every layout, and what
 * becomes of jobs when there is no mapping, no more of them, or one whose memory has gone. With stand-ins
 * for the driver and for libgdrapi.
 */
#include "config.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/context.h"
#include "copy_backends/backend_set.h"
#include "copy_backends/cuda/cuda.h"
#include "copy_backends/cuda/moves/bar_mappings.h"
#include "copy_backends/plan.h"
#include "datatype/type.h"
#include "support/fixture.h"
#include "support/gdrapi_standin/gdrapi.h"
#include "support/gpu.h"
#include "support/layouts.h"
#include "support/standin_load.h"
#include "support/type_choices.h"

static const struct gdrapi_standin *gdr;

static void load_gdr(int (*load)(void))
{
	const struct gdrapi_standin *(*control)(void);

	ck_assert(load());
	void *library = dlopen("libgdrapi.so.2", RTLD_NOW | RTLD_NOLOAD);
	ck_assert_ptr_nonnull(library);
	*(void **)&control = dlsym(library, "gdrapi_standin_control");
	dlclose(library);
	gdr = control();
}

static void open_both(void)
{
	gpu_open();
	load_gdr(standin_load_gdrapi);
}

/* A context that ends before its case does, so that what it leaves can be seen. */
static struct dtconv_context *cases_context;

static void enter_context(void)
{
	cases_context = fixture_context;
	fixture_ok(dtconv_context_create(NULL, &fixture_context));
}

static void leave_context(void)
{
	dtconv_context_destroy(fixture_context);
	fixture_context = cases_context;
	ck_assert_uint_eq(gdr->pins(), 0);
	ck_assert_uint_eq(gdr->connections(), 0);
}

/* ---- one move ------------------------------------------------------------------------------ */

/* Calls by which the driver moves bytes. */
static size_t driver_moves(void)
{
	return gpu.standin->calls("cuLaunchKernel") +
	       gpu.standin->calls("cuMemcpyAsync") +
	       gpu.standin->calls("cuMemcpy2DAsync");
}

struct scene {
	struct stage *stage;
	struct arena user, packed;
	unsigned char *got;
};

static void scene_open(struct scene *scene, struct stage *stage, enum arena_kind user,
		       enum arena_kind packed)
{
	scene->stage = stage;
	arena_open(&scene->user, user, stage->memory_bytes);
	arena_open(&scene->packed, packed, stage->bytes + 1);
	scene->got = malloc(stage->bytes + 1);
	ck_assert_ptr_nonnull(scene->got);
}

static void scene_close(struct scene *scene)
{
	free(scene->got);
	arena_close(&scene->user);
	arena_close(&scene->packed);
}

/* By this backend, whatever the planner thinks. */
static void submit(struct scene *scene, unsigned char *user, enum dtc_direction direction)
{
	const struct stage *stage = scene->stage;
	struct dtc_cursor cursor;
	struct dtc_event event;
	struct dtc_job job = { .cursor = &cursor,
			       .user = (char *)user,
			       .packed = (char *)scene->packed.memory,
			       .bytes = stage->bytes,
			       .row_bytes = stage->bytes,
			       .direction = direction,
			       .context = fixture_context,
			       .caller = "test_bar" };

	dtc_cursor_init(&cursor, dtc_type_layout(stage->type), stage->count);
	dtc_memory_query(fixture_context, scene->user.memory, &job.user_memory);
	dtc_memory_query(fixture_context, scene->packed.memory, &job.packed_memory);
	const struct dtc_question question = dtc_question_of(&job);
	const char *reason = "";
	ck_assert_msg(dtc_cuda_bar_backend.can(&question, &reason), "%s", reason);
	ck_assert_int_eq(dtc_cuda_bar_backend.submit(&job, &event), 0);
	while (event.backend) {
		int status = event.backend->test(&event);

		ck_assert_int_ge(status, 0);
		if (!status)
			event.backend = NULL;
	}
	ck_assert_uint_eq(cursor.position, stage->bytes);
}

static void pack(struct scene *scene)
{
	const struct stage *stage = scene->stage;

	memset(scene->got, 0x5a, stage->bytes);
	arena_write(&scene->packed, 0, scene->got, stage->bytes);
	arena_write(&scene->user, 0, stage->source_memory, stage->memory_bytes);
	submit(scene, scene->user.memory + (stage->source - stage->source_memory),
	       DTC_PACK);
	arena_read(&scene->packed, 0, scene->got, stage->bytes);
	ck_assert_mem_eq(scene->got, stage->stream, stage->bytes);
}

static void unpack(struct scene *scene)
{
	struct stage *stage = scene->stage;

	stage_blank(stage);
	arena_write(&scene->user, 0, stage->target_memory, stage->memory_bytes);
	arena_write(&scene->packed, 0, stage->stream, stage->bytes);
	submit(scene, scene->user.memory + (stage->target - stage->target_memory),
	       DTC_UNPACK);
	arena_read(&scene->user, 0, stage->target_memory, stage->memory_bytes);
	stage_deliver(stage, 0, stage->bytes);
	size_t wrong = stage_first_wrong(stage);
	ck_assert_msg(wrong == STAGE_RIGHT, "byte at displacement %td is wrong",
		      wrong == STAGE_RIGHT ? 0 : stage_displacement(stage, wrong));
}

/* Whether a move calls the driver for no byte. It is right in any case. */
static bool is_mapped(struct scene *scene, void (*move)(struct scene *scene))
{
	size_t before = driver_moves();

	move(scene);
	return driver_moves() == before;
}

/* The worker takes its time. */
#define TRIES 400

static bool gets_mapped(struct scene *scene, void (*move)(struct scene *scene))
{
	const struct timespec nap = { .tv_nsec = 1000000 };

	for (int i = 0; i < TRIES; i++) {
		if (is_mapped(scene, move))
			return true;
		nanosleep(&nap, NULL);
	}
	return false;
}

/* ---- right bytes --------------------------------------------------------------------------- */

static const struct {
	enum arena_kind user, packed;
} pairs[] = {
	{ ARENA_DEVICE, ARENA_HOST },   { ARENA_HOST, ARENA_DEVICE },
	{ ARENA_DEVICE, ARENA_PINNED }, { ARENA_VMM, ARENA_HOST },
	{ ARENA_HOST, ARENA_VMM },
};

#define PAIRS (int)(sizeof(pairs) / sizeof(pairs[0]))

static void check_stage(struct stage *stage, int pair, bool unpacks)
{
	struct scene scene;

	scene_open(&scene, stage, pairs[pair].user, pairs[pair].packed);
	ck_assert(gets_mapped(&scene, pack));
	if (unpacks)
		ck_assert(gets_mapped(&scene, unpack));
	scene_close(&scene);
}

START_TEST(every_layout_moves_through_mappings)
{
	open_both();
	for (int i = 0; i < layout_count; i++) {
		struct stage stage;

		fixture_open(&stage, layouts[i].text, 3);
		if (stage.bytes)
			check_stage(&stage, _i, !layouts[i].overlaps);
		fixture_close(&stage);
	}
}
END_TEST

#define RANDOM_TYPES 100

START_TEST(random_types_move_through_mappings)
{
	struct choices choices = fixture_choices(0x62617221);

	open_both();
	for (int round = 0; round < RANDOM_TYPES; round++) {
		struct dtconv_type *type =
			type_choose(fixture_context, &choices, &type_bounds_small);
		struct stage stage;

		if (!stage_open(&stage, type, 1 + choose(&choices, 9),
				choose(&choices, 64), choose(&choices, 64),
				(uint64_t)round)) {
			if (stage.bytes)
				check_stage(&stage, (int)choose(&choices, PAIRS), true);
			stage_close(&stage);
		}
		dtconv_type_unref(type);
	}
}
END_TEST

/* The planner itself comes to it, and a fragment may begin and end anywhere. */
START_TEST(fragments_of_small_messages_are_stored_by_the_processor)
{
	struct stage stage;
	struct scene scene;
	size_t moved;

	open_both();
	fixture_open(&stage, "hvector(90, 3, 7, byte)", 1);
	scene_open(&scene, &stage, ARENA_DEVICE, ARENA_HOST);
	ck_assert(gets_mapped(&scene, unpack));
	for (size_t fragment = 1; fragment < 90; fragment += 8) {
		struct dtconv_convertor *convertor;

		stage_blank(&stage);
		arena_write(&scene.user, 0, stage.target_memory, stage.memory_bytes);
		size_t before = driver_moves();
		fixture_ok(dtconv_convertor_create_unpack(
			stage.type, 1,
			scene.user.memory + (stage.target - stage.target_memory),
			&convertor));
		for (size_t at = 0; at < stage.bytes; at += moved)
			fixture_ok(dtconv_convertor_unpack(
				convertor, stage.stream + at,
				fragment < stage.bytes - at ? fragment : stage.bytes - at,
				&moved));
		dtconv_convertor_destroy(convertor);
		ck_assert_uint_eq(driver_moves(), before);
		arena_read(&scene.user, 0, stage.target_memory, stage.memory_bytes);
		stage_deliver(&stage, 0, stage.bytes);
		ck_assert_uint_eq(stage_first_wrong(&stage), STAGE_RIGHT);
	}
	scene_close(&scene);
	fixture_close(&stage);
}
END_TEST

/* By the public way: its memory is looked at as a row, which goes on where a mapping ends. */
static void pack_row(struct scene *scene)
{
	const struct stage *stage = scene->stage;
	size_t moved;

	memset(scene->got, 0x5a, stage->bytes);
	arena_write(&scene->packed, 0, scene->got, stage->bytes);
	fixture_ok(dtconv_pack(stage->type, stage->count, stage->source,
			       scene->packed.memory, stage->bytes, &moved));
	arena_read(&scene->packed, 0, scene->got, stage->bytes);
	ck_assert_mem_eq(scene->got, stage->stream, stage->bytes);
}

START_TEST(a_row_over_two_mappings_has_a_window_in_each)
{
	struct stage stage;
	struct scene scene;

	open_both();
	fixture_open(&stage, "hvector(90, 3, 7, byte)", 1);
	scene_open(&scene, &stage, ARENA_HOST, ARENA_VMM);
	ck_assert(gets_mapped(&scene, pack_row));
	ck_assert_uint_eq(gdr->pins(), 2);
	scene_close(&scene);
	fixture_close(&stage);
}
END_TEST

/* Nothing of the job waits for the device: a kernel that never ends does not hold it up. */
START_TEST(a_busy_device_is_not_waited_for)
{
	struct stage stage;
	struct scene scene;
	struct spin spin;

	open_both();
	CUstream stream = gpu_stream();
	fixture_open(&stage, "hvector(9, 3, 7, byte)", 1);
	scene_open(&scene, &stage, ARENA_DEVICE, ARENA_HOST);
	ck_assert(gets_mapped(&scene, unpack));
	spin_begin(&spin, stream);
	ck_assert(is_mapped(&scene, unpack));
	ck_assert_int_eq(gpu.StreamQuery(stream), CUDA_ERROR_NOT_READY);
	spin_end(&spin);
	scene_close(&scene);
	fixture_close(&stage);
	MUST(StreamDestroy(stream));
}
END_TEST

/* ---- windows ------------------------------------------------------------------------------- */

#define BUFFERS (DTC_CUDA_BAR_MAPPINGS + 1)

START_TEST(windows_in_use_stay_and_rested_ones_go)
{
	struct scene scenes[BUFFERS];
	struct stage stage;

	open_both();
	enter_context();
	fixture_open(&stage, "hvector(9, 3, 7, byte)", 1);
	for (size_t i = 0; i < BUFFERS; i++)
		scene_open(&scenes[i], &stage, ARENA_DEVICE, ARENA_HOST);
	for (size_t i = 0; i < DTC_CUDA_BAR_MAPPINGS; i++)
		ck_assert(gets_mapped(&scenes[i], unpack));
	size_t pins = gdr->calls(GDRAPI_PIN);
	for (int round = 0; round < 3; round++)
		for (size_t i = 0; i < DTC_CUDA_BAR_MAPPINGS; i++)
			ck_assert(is_mapped(&scenes[i], unpack));
	/* One too many: it has to wait until another has not been used for long. */
	struct scene *last = &scenes[DTC_CUDA_BAR_MAPPINGS];
	for (int round = 0; round < 5; round++)
		ck_assert(!is_mapped(last, unpack));
	ck_assert_uint_eq(gdr->calls(GDRAPI_PIN), pins);
	ck_assert(gets_mapped(last, unpack));
	ck_assert_uint_le(gdr->pins(), DTC_CUDA_BAR_MAPPINGS);
	for (size_t i = 0; i < BUFFERS; i++) {
		unpack(&scenes[i]);
		scene_close(&scenes[i]);
	}
	fixture_close(&stage);
	leave_context();
}
END_TEST

static bool is_asked_again(struct scene *scene, size_t pins)
{
	for (int i = 0;
	     i < 2 * DTC_CUDA_BAR_MAPPING_RETRY && gdr->calls(GDRAPI_PIN) == pins; i++)
		unpack(scene);
	return gdr->calls(GDRAPI_PIN) > pins;
}

/* More memory round the user's, and so a larger window. */
static void grow_user(struct scene *scene, size_t bytes)
{
	enum arena_kind kind = scene->user.kind;

	arena_close(&scene->user);
	arena_open(&scene->user, kind, bytes);
}

START_TEST(where_no_more_can_be_pinned_rested_windows_make_room)
{
	struct scene a, b;
	struct stage stage;

	open_both();
	enter_context();
	fixture_open(&stage, "hvector(9, 3, 7, byte)", 1);
	scene_open(&a, &stage, ARENA_DEVICE, ARENA_HOST);
	scene_open(&b, &stage, ARENA_DEVICE, ARENA_HOST);
	grow_user(&a, 600000);
	grow_user(&b, 600000);
	gpu.standin->set(STANDIN_GDR_PIN_MIB, 1);
	ck_assert(gets_mapped(&a, unpack));
	/* The other one is in use: no room, now. */
	size_t pins = gdr->calls(GDRAPI_PIN);
	ck_assert(is_asked_again(&b, pins));
	ck_assert(is_mapped(&a, unpack));
	ck_assert(!is_mapped(&b, unpack));
	/* After very many jobs it is asked for again, and the other one has rested. */
	pins = gdr->calls(GDRAPI_PIN);
	ck_assert(is_asked_again(&b, pins));
	ck_assert(gets_mapped(&b, unpack));
	ck_assert_uint_eq(gdr->pins(), 1);
	unpack(&a);
	scene_close(&a);
	scene_close(&b);
	fixture_close(&stage);
	leave_context();
}
END_TEST

START_TEST(a_window_goes_with_its_memory)
{
	struct stage stage;
	struct scene scene;

	open_both();
	enter_context();
	fixture_open(&stage, "hvector(9, 3, 7, byte)", 1);
	scene_open(&scene, &stage, ARENA_DEVICE, ARENA_HOST);
	ck_assert(gets_mapped(&scene, unpack));
	const unsigned char *address = scene.user.memory;
	for (int round = 0; round < 3; round++) {
		arena_close(&scene.user);
		arena_open(&scene.user, ARENA_DEVICE, stage.memory_bytes);
		ck_assert_ptr_eq(scene.user.memory, address);
		ck_assert(!is_mapped(&scene, unpack));
		ck_assert(gets_mapped(&scene, unpack));
		ck_assert_uint_eq(gdr->pins(), 1);
	}
	scene_close(&scene);
	fixture_close(&stage);
	leave_context();
}
END_TEST

/* Blocks in two windows, one of which can no longer be made. */
START_TEST(a_job_goes_on_by_the_driver_where_its_windows_end)
{
	struct stage near, both;
	struct scene scene;
	const size_t bytes = 2 * (size_t)DTC_CUDA_BAR_MAPPING_BYTES;

	open_both();
	enter_context();
	fixture_open(&near, "hvector(5, 3, 7, byte)", 1);
	fixture_open(&both, "hvector(31, 100, 100000, byte)", 1);
	ck_assert_uint_le(both.memory_bytes, bytes);
	scene_open(&scene, &both, ARENA_DEVICE, ARENA_HOST);
	scene.stage = &near;
	ck_assert(gets_mapped(&scene, unpack));
	gdr->refuse(GDRAPI_PIN, ENOMEM);
	scene.stage = &both;
	for (int round = 0; round < 5; round++) {
		ck_assert(!is_mapped(&scene, unpack));
		ck_assert(!is_mapped(&scene, pack));
	}
	/* By whom the caller allows, if one of them can. */
	const char *wrong;
	ck_assert(
		dtc_backend_set_parse("^cuda_copy", &fixture_context->forbidden, &wrong));
	size_t launched = gpu.standin->calls("cuLaunchKernel");
	pack(&scene);
	ck_assert_uint_gt(gpu.standin->calls("cuLaunchKernel"), launched);
	ck_assert(dtc_backend_set_parse("^cuda_staged", &fixture_context->forbidden,
					&wrong));
	launched = gpu.standin->calls("cuLaunchKernel");
	pack(&scene);
	ck_assert_uint_eq(gpu.standin->calls("cuLaunchKernel"), launched);
	fixture_context->forbidden = 0;
	gdr->refuse(GDRAPI_PIN, 0);
	scene_close(&scene);
	fixture_close(&near);
	fixture_close(&both);
	leave_context();
}
END_TEST

/* Two threads, each with memory of its own, and a third that keeps asking for windows. */
#define THREADS 3

static void *unpack_often(void *arg)
{
	struct scene *scene = arg;
	const struct stage *stage = scene->stage;
	unsigned char *target = scene->user.memory + (stage->target - stage->target_memory);
	const void *failed = NULL;
	size_t moved;

	for (int i = 0; i < 300; i++)
		if (dtconv_unpack(stage->type, stage->count, target, stage->stream, stage->bytes,
				  &moved))
			failed = scene;
	return (void *)(uintptr_t)failed;
}

START_TEST(threads_share_the_windows)
{
	struct stage stages[THREADS];
	struct scene scenes[THREADS];
	pthread_t threads[THREADS];
	void *failed;

	open_both();
	for (int i = 0; i < THREADS; i++) {
		fixture_open(&stages[i], i < 2 ? "hvector(9, 3, 7, byte)" :
						 "hvector(9, 3, 700000, byte)", 1);
		scene_open(&scenes[i], &stages[i], ARENA_DEVICE, ARENA_HOST);
		stage_blank(&stages[i]);
		arena_write(&scenes[i].user, 0, stages[i].target_memory, stages[i].memory_bytes);
		ck_assert_int_eq(pthread_create(&threads[i], NULL, unpack_often, &scenes[i]), 0);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], &failed);
		ck_assert_ptr_null(failed);
		arena_read(&scenes[i].user, 0, stages[i].target_memory, stages[i].memory_bytes);
		stage_deliver(&stages[i], 0, stages[i].bytes);
		ck_assert_uint_eq(stage_first_wrong(&stages[i]), STAGE_RIGHT);
		scene_close(&scenes[i]);
		fixture_close(&stages[i]);
	}
}
END_TEST

/* ---- refusals ------------------------------------------------------------------------------ */

/* Many jobs, none through a mapping, all right; and nothing stays pinned. */
static void check_unmapped(void)
{
	struct stage stage;
	struct scene scene;

	fixture_open(&stage, "hvector(9, 3, 7, byte)", 1);
	scene_open(&scene, &stage, ARENA_DEVICE, ARENA_HOST);
	for (int i = 0; i < 50; i++)
		ck_assert(!is_mapped(&scene, unpack));
	ck_assert_uint_eq(gdr->pins(), 0);
	scene_close(&scene);
	fixture_close(&stage);
}

START_TEST(refused_calls_leave_the_job_to_others)
{
	open_both();
	enter_context();
	gdr->refuse((enum gdrapi_call)_i, EINVAL);
	check_unmapped();
	ck_assert_uint_ge(gdr->calls((enum gdrapi_call)_i), 1);
	leave_context();
}
END_TEST

/* On such a mapping unaligned stores are faults. Old libraries say no more than that stores are combined. */
static const int unfit[] = { DTC_GDR_MAPPING_DEVICE, -1 };

START_TEST(mappings_for_aligned_words_only_are_not_used)
{
	open_both();
	enter_context();
	gdr->set_mapping_type(unfit[_i]);
	check_unmapped();
	ck_assert_uint_ge(gdr->calls(GDRAPI_MAP), 1);
	leave_context();
}
END_TEST

START_TEST(old_libraries_do_not_name_the_type_of_a_mapping)
{
	struct stage stage;
	struct scene scene;

	open_both();
	gdr->set_mapping_type(DTC_GDR_MAPPING_UNKNOWN);
	fixture_open(&stage, "hvector(9, 3, 7, byte)", 1);
	scene_open(&scene, &stage, ARENA_DEVICE, ARENA_HOST);
	ck_assert(gets_mapped(&scene, unpack));
	scene_close(&scene);
	fixture_close(&stage);
}
END_TEST

START_TEST(memory_whose_copies_are_not_synchronised_is_not_mapped)
{
	open_both();
	enter_context();
	gpu.standin->inject("cuPointerSetAttribute", 1, CUDA_ERROR_NOT_SUPPORTED);
	check_unmapped();
	ck_assert_uint_eq(gdr->calls(GDRAPI_PIN), 0);
	leave_context();
}
END_TEST

/* Their pins are undone though the device context is no longer there. */
START_TEST(windows_of_a_destroyed_context_are_given_back)
{
	struct stage stage;
	struct scene scene;
	CUcontext primary, own;

	open_both();
	enter_context();
	MUST(CtxGetCurrent(&primary));
	MUST(CtxCreate(&own, 0, 0));
	fixture_open(&stage, "hvector(9, 3, 7, byte)", 1);
	scene_open(&scene, &stage, ARENA_DEVICE, ARENA_HOST);
	ck_assert(gets_mapped(&scene, unpack));
	ck_assert_uint_eq(gdr->pins(), 1);
	MUST(CtxDestroy(own));
	MUST(CtxSetCurrent(primary));
	free(scene.got);
	arena_close(&scene.packed);
	fixture_close(&stage);
	leave_context();
}
END_TEST

/* ---- planning ------------------------------------------------------------------------------ */

/* What explain says of an unpack's backend, or of a pack's, of 64 bytes to the device. */
static const char *explain(void)
{
	static char text[4096];
	struct dtconv_type *type = fixture_type("vector(8, 1, 2, double)");
	size_t length;

	fixture_ok(dtconv_explain(type, 1, DTCONV_MEMORY_HOST, DTCONV_MEMORY_DEVICE, text,
				  sizeof(text), &length));
	dtconv_type_unref(type);
	return strstr(text, "candidate cuda_bar");
}

static const char *info(void)
{
	return strstr(fixture_info(fixture_context), "BAR mappings");
}

static void look_for_driver(void)
{
	struct dtconv_memory_attr attr = { .struct_size = sizeof(attr) };
	struct arena arena;

	arena_open(&arena, ARENA_DEVICE, 1);
	fixture_ok(dtconv_memory_query(fixture_context, arena.memory, &attr));
	arena_close(&arena);
}

static void check_reason(const char *reason)
{
	ck_assert_msg(strstr(explain(), reason) != NULL, "%s", explain());
	ck_assert_msg(strstr(info(), reason) != NULL, "%s", info());
}

START_TEST(without_the_library_there_is_a_reason)
{
	void *installed = dlopen("libgdrapi.so.2", RTLD_NOW);

	gpu_open();
	look_for_driver();
	if (!installed)
		check_reason("libgdrapi.so.2 was not found");
}
END_TEST

START_TEST(without_a_function_there_is_a_reason)
{
	gpu_open();
	load_gdr(standin_load_gdrapi_without_map);
	enter_context();
	look_for_driver();
	check_reason("libgdrapi.so.2 lacks a required function");
	leave_context();
}
END_TEST

START_TEST(without_its_driver_there_is_a_reason)
{
	open_both();
	gpu.standin->set(STANDIN_GDR, 0);
	enter_context();
	look_for_driver();
	check_reason("cannot open its kernel driver");
	leave_context();
}
END_TEST

START_TEST(without_a_cuda_driver_there_is_a_reason)
{
	ck_assert_ptr_nonnull(
		strstr(explain(), "the CUDA driver is not loaded in this process"));
	ck_assert_ptr_nonnull(info());
}
END_TEST

START_TEST(with_the_library_its_version_is_told)
{
	open_both();
	look_for_driver();
	ck_assert_ptr_nonnull(strstr(info(), "BAR mappings: libgdrapi 2.5"));
	ck_assert_ptr_nonnull(strstr(explain(), "chosen"));
}
END_TEST

START_TEST(only_small_jobs_are_the_processors)
{
	static const struct {
		size_t bytes;
		enum dtc_direction direction;
		bool on_stream, chosen;
	} cases[] = {
		{ 8, DTC_UNPACK, false, true }, { 2048, DTC_UNPACK, false, true },
		{ 8, DTC_UNPACK, true, false }, { 16 << 20, DTC_UNPACK, false, false },
		{ 8, DTC_PACK, false, true },   { 4096, DTC_PACK, false, false },
	};
	struct dtconv_type *type = fixture_type("byte");

	open_both();
	look_for_driver();
	const struct dtc_question question = {
		.layout = dtc_type_layout(type),
		.count = cases[_i].bytes,
		.bytes = cases[_i].bytes,
		.user_kind = DTCONV_MEMORY_DEVICE,
		.packed_kind = DTCONV_MEMORY_HOST,
		.direction = cases[_i].direction,
		.context = fixture_context,
		.on_stream = cases[_i].on_stream,
	};
	ck_assert_int_eq(dtc_plan_choose(&question) == &dtc_cuda_bar_backend,
			 cases[_i].chosen);
	dtconv_type_unref(type);
}
END_TEST

int main(void)
{
	/* Each case has a driver and a library of its own. */
	setenv("CK_FORK", "yes", 1);
	gpu_find();
	if (gpu_is_real()) {
		puts("beside a real driver there is no stand-in for libgdrapi");
		return 77;
	}
	Suite *suite = suite_create("bar");
	TCase *moves = fixture_case(suite, "moves", 60);
	tcase_add_loop_test(moves, every_layout_moves_through_mappings, 0, PAIRS);
	tcase_add_test(moves, random_types_move_through_mappings);
	tcase_add_test(moves, fragments_of_small_messages_are_stored_by_the_processor);
	tcase_add_test(moves, a_row_over_two_mappings_has_a_window_in_each);
	tcase_add_test(moves, a_busy_device_is_not_waited_for);

	TCase *windows = fixture_case(suite, "windows", 60);
	tcase_add_test(windows, windows_in_use_stay_and_rested_ones_go);
	tcase_add_test(windows, where_no_more_can_be_pinned_rested_windows_make_room);
	tcase_add_test(windows, a_window_goes_with_its_memory);
	tcase_add_test(windows, threads_share_the_windows);
	tcase_add_test(windows, a_job_goes_on_by_the_driver_where_its_windows_end);

	TCase *refusals = fixture_case(suite, "refusals", 30);
	tcase_add_loop_test(refusals, refused_calls_leave_the_job_to_others, GDRAPI_PIN,
			    GDRAPI_INFO + 1);
	tcase_add_loop_test(refusals, mappings_for_aligned_words_only_are_not_used, 0, 2);
	tcase_add_test(refusals, old_libraries_do_not_name_the_type_of_a_mapping);
	tcase_add_test(refusals, memory_whose_copies_are_not_synchronised_is_not_mapped);
	tcase_add_test(refusals, windows_of_a_destroyed_context_are_given_back);

	TCase *planning = fixture_case(suite, "planning", 10);
	tcase_add_test(planning, without_the_library_there_is_a_reason);
	tcase_add_test(planning, without_a_function_there_is_a_reason);
	tcase_add_test(planning, without_its_driver_there_is_a_reason);
	tcase_add_test(planning, without_a_cuda_driver_there_is_a_reason);
	tcase_add_test(planning, with_the_library_its_version_is_told);
	tcase_add_loop_test(planning, only_small_jobs_are_the_processors, 0, 6);
	return fixture_run(suite);
}
