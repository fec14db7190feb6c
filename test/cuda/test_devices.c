/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two devices in one move, which reach each other or not: the bytes are right, no kernel touches memory
 * that its device has no access to, and both go on working.
 */
#include "config.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "copy_backends/cuda/device/device_context.h"
#include "support/fixture.h"
#include "support/gpu.h"
#include "support/listener.h"
#include "support/type_choices.h"

/* How two devices stand to each other. */
enum access {
	ACCESS_NONE,   /* neither can reach the other; only on the stand-in */
	ACCESS_CLOSED, /* they can, and nobody has said so */
	ACCESS_GIVEN,  /* by the application */
	ACCESS_TAKEN,  /* by the library, which may */
	ACCESSES
};

#define DEVICES 3 /* the third one takes part where there is one */

static CUcontext contexts[DEVICES];
static int device_count;

static bool can_reach(void)
{
	int there = 0, back = 0;

	MUST(DeviceCanAccessPeer(&there, 0, 1));
	MUST(DeviceCanAccessPeer(&back, 1, 0));
	return there && back;
}

static void give_access(void)
{
	for (int device = 0; device < 2; device++) {
		MUST(CtxSetCurrent(contexts[device]));
		MUST(CtxEnablePeerAccess(contexts[!device], 0));
	}
	MUST(CtxSetCurrent(contexts[0]));
}

/*
 * Of a device, or of the current context (-1). The first job there waits 0.4 s for its kernels, then goes by copies: on a
 * device that other processes keep busy, launches could not be counted.
 */
static void load_kernels(int device)
{
	int status;

	do
		status = dtconv_prepare(fixture_context, device, NULL, 0, NULL);
	while (status == DTCONV_ERR_AGAIN);
	fixture_ok(status);
}

/* Both devices' primary contexts; the first one is current. False if there are no two such devices. */
static bool open_devices(enum access access)
{
	if (gpu.standin) {
		gpu.standin->set(STANDIN_DEVICES, DEVICES);
		gpu.standin->set(STANDIN_PEERS, access != ACCESS_NONE);
	} else if (access == ACCESS_NONE) {
		return false;
	}
	MUST(DeviceGetCount(&device_count));
	if (device_count < 2 || (access > ACCESS_CLOSED && !can_reach()))
		return false;
	MUST(CtxGetCurrent(&contexts[0]));
	for (int device = 1; device < DEVICES && device < device_count; device++)
		MUST(DevicePrimaryCtxRetain(&contexts[device], device));
	if (access == ACCESS_GIVEN)
		give_access();
	fixture_context->devices.opens_peers = access == ACCESS_TAKEN;
	for (int device = 0; device < 2; device++)
		load_kernels(device);
	return true;
}

static void close_devices(void)
{
	MUST(CtxSetCurrent(contexts[0]));
	for (int device = 1; device < DEVICES && device < device_count; device++)
		MUST(DevicePrimaryCtxRelease(device));
}

static struct arena made_by(int device, enum arena_kind kind, size_t bytes)
{
	struct arena arena;

	MUST(CtxSetCurrent(contexts[device]));
	arena_open(&arena, kind, bytes);
	MUST(CtxSetCurrent(contexts[0]));
	return arena;
}

static struct arena memory_on(int device, size_t bytes)
{
	return made_by(device, ARENA_DEVICE, bytes);
}

/* Launches so far; a job by the driver's copies has none. */
static uint64_t launches(void)
{
	const struct dtconv_counters c = fixture_counters();

	return c.launches_strided + c.launches_periodic + c.launches_indexed +
	       c.launches_transposing + c.launches_general + c.launches_many +
	       c.launches_typed + c.launches_mapped + c.launches_copy;
}

/* Nothing is broken: a copy in each device context, waited for. */
static void check_alive(void)
{
	uint64_t word = 0;

	for (int device = 0; device < 2; device++) {
		struct arena memory = memory_on(device, sizeof(word));

		MUST(CtxSetCurrent(contexts[device]));
		MUST(CtxSynchronize());
		arena_write(&memory, 0, &word, sizeof(word));
		arena_close(&memory);
	}
	MUST(CtxSetCurrent(contexts[0]));
}

/* ---- scenes -------------------------------------------------------------------------------- */

/* A stage with user memory on one device and packed memory on another. */
struct scene {
	struct stage stage;
	struct arena source, target, packed;
};

static void fill_arenas(struct scene *scene)
{
	stage_blank(&scene->stage);
	arena_write(&scene->source, 0, scene->stage.source_memory,
		    scene->stage.memory_bytes);
	arena_write(&scene->target, 0, scene->stage.target_memory,
		    scene->stage.memory_bytes);
}

static void open_arenas(struct scene *scene, int user, int packed)
{
	scene->source = memory_on(user, scene->stage.memory_bytes);
	scene->target = memory_on(user, scene->stage.memory_bytes);
	scene->packed = memory_on(packed, scene->stage.bytes);
	fill_arenas(scene);
}

static void open_scene(struct scene *scene, const char *text, int user, int packed)
{
	fixture_open(&scene->stage, text, 2);
	open_arenas(scene, user, packed);
}

static void close_arenas(struct scene *scene)
{
	arena_close(&scene->source);
	arena_close(&scene->target);
	arena_close(&scene->packed);
}

static void close_scene(struct scene *scene)
{
	close_arenas(scene);
	fixture_close(&scene->stage);
}

static void *source_of(const struct scene *scene)
{
	return scene->source.memory + (scene->stage.source - scene->stage.source_memory);
}

static void *target_of(const struct scene *scene)
{
	return scene->target.memory + (scene->stage.target - scene->stage.target_memory);
}

static void check_packed_by(const struct scene *scene, int device)
{
	unsigned char *got = malloc(scene->stage.bytes + 1);

	MUST(CtxSetCurrent(contexts[device]));
	arena_read(&scene->packed, 0, got, scene->stage.bytes);
	MUST(CtxSetCurrent(contexts[0]));
	ck_assert(!memcmp(got, scene->stage.stream, scene->stage.bytes));
	free(got);
}

static void check_packed(const struct scene *scene)
{
	check_packed_by(scene, 0);
}

static void check_unpacked(struct scene *scene)
{
	arena_read(&scene->target, 0, scene->stage.target_memory,
		   scene->stage.memory_bytes);
	stage_deliver(&scene->stage, 0, scene->stage.bytes);
	fixture_arrived(&scene->stage);
}

/* In fragments; @params may be NULL. */
static void move(struct scene *scene, bool packs, size_t fragment,
		 const struct dtconv_convertor_params *params)
{
	const struct stage *stage = &scene->stage;
	struct dtconv_convertor *convertor;
	int status = packs ? dtconv_convertor_create_pack(stage->type, stage->count,
							  source_of(scene), &convertor)
			   : dtconv_convertor_create_unpack(stage->type, stage->count,
							    target_of(scene), &convertor);

	ck_assert_int_eq(status, 0);
	if (params)
		fixture_ok(dtconv_convertor_configure(convertor, params));
	for (size_t at = 0; at < stage->bytes && !status; at += fragment) {
		size_t left = stage->bytes - at;

		status = dtconv_convertor_start(convertor, scene->packed.memory + at,
						left < fragment ? left : fragment, NULL,
						NULL);
		if (!status)
			status = dtconv_convertor_wait(convertor, NULL);
	}
	ck_assert_msg(!status, "%s", fixture_error());
	dtconv_convertor_destroy(convertor);
}

static void move_both(struct scene *scene, size_t fragment,
		      const struct dtconv_convertor_params *params)
{
	move(scene, true, fragment, params);
	check_packed(scene);
	move(scene, false, fragment, params);
	check_unpacked(scene);
}

/* ---- moves between two devices --------------------------------------------------------------- */

static const struct {
	const char *text;
	uint64_t launches; /* there and back, where the devices reach each other */
} layouts[] = {
	{ "vector(20, 3, 5, double)", 2 },
	{ "contiguous(1000, int)", 0 },
	{ "indexed([1,2,1,3,1,2,1,2,1,5],[0,9,20,30,40,50,60,70,80,90],double)", 2 },
	{ "struct([3,1],[0,40],[double,vector(30, 1, 3, short)])", 2 },
};

#define LAYOUTS (sizeof(layouts) / sizeof(layouts[0]))

START_TEST(user_and_packed_memory_on_two_devices)
{
	struct scene scene;

	if (!open_devices((enum access)_i))
		return;
	for (size_t i = 0; i < 2 * LAYOUTS; i++) {
		uint64_t before = launches();
		int user = (int)(i / LAYOUTS);

		open_scene(&scene, layouts[i % LAYOUTS].text, user, !user);
		move_both(&scene, scene.stage.bytes, NULL);
		if (_i >= ACCESS_GIVEN)
			ck_assert_uint_eq(launches() - before,
					  layouts[i % LAYOUTS].launches);
		close_scene(&scene);
	}
	check_alive();
	close_devices();
}
END_TEST

/* Without access, streams of many small blocks are packed on one device and copied as a whole. */
START_TEST(many_blocks_are_packed_before_they_are_copied)
{
	struct dtconv_counters counters = { .struct_size = sizeof(counters) };
	struct scene scene;

	if (!open_devices((enum access)_i))
		return;
	for (int user = 0; user < 2; user++) {
		/* More than the memory in between takes at once. */
		open_scene(&scene, "vector(220000, 1, 2, double)", user, !user);
		uint64_t before = launches();
		move_both(&scene, scene.stage.bytes, NULL);
		ck_assert_uint_eq(launches(), before + 2);
		move_both(&scene, 1000001, NULL);
		close_scene(&scene);
	}
	fixture_ok(dtconv_context_query_counters(fixture_context, &counters));
	ck_assert_uint_eq(counters.fallbacks_blocks, 0);
	check_alive();
	close_devices();
}
END_TEST

#define RANDOM_TYPES 60

START_TEST(random_types_between_devices)
{
	struct choices choices = fixture_choices(0x70656572 + (uint64_t)_i);

	if (!open_devices((enum access)_i))
		return;
	for (int round = 0; round < RANDOM_TYPES; round++) {
		struct dtconv_type *type =
			type_choose(fixture_context, &choices, &type_bounds_small);
		int user = (int)choose(&choices, 2);
		struct scene scene;

		if (!stage_open(&scene.stage, type, 1 + choose(&choices, 9),
				choose(&choices, 64), choose(&choices, 64),
				(uint64_t)round)) {
			open_arenas(&scene, user, !user);
			move_both(&scene,
				  chance(&choices, 2) ? scene.stage.bytes + 1
						      : scene.stage.bytes / 3 + 1 +
								choose(&choices, 99),
				  NULL);
			close_arenas(&scene);
			stage_close(&scene.stage);
		}
		dtconv_type_unref(type);
	}
	check_alive();
	close_devices();
}
END_TEST

/* ---- long streams ---------------------------------------------------------------------------- */

#define LONG_STREAM ((size_t)40 << 20)

/* Blocks that fill no sector. */
static const struct {
	size_t block, stride;
} combs[] = { { 8, 24 }, { 20, 48 }, { 4, 20 } };

#define COMBS (sizeof(combs) / sizeof(combs[0]))

static unsigned char *long_pattern(size_t bytes, unsigned char salt)
{
	unsigned char *pattern = malloc(bytes);

	ck_assert_ptr_nonnull(pattern);
	for (size_t i = 0; i < bytes; i++)
		pattern[i] = (unsigned char)(i * 7 + (i >> 8) * 3 + (i >> 16) + salt);
	return pattern;
}

static void unpack_as(const struct dtconv_convertor_params *params, const char *text,
		      const struct arena *target, const struct arena *packed,
		      size_t bytes)
{
	struct dtconv_type *type = fixture_type(text);
	struct dtconv_convertor *convertor =
		fixture_unpacker(type, 1, target->memory, params);
	fixture_ok(dtconv_convertor_start(convertor, packed->memory, bytes, NULL, NULL));
	fixture_ok(dtconv_convertor_wait(convertor, NULL));
	dtconv_convertor_destroy(convertor);
	dtconv_type_unref(type);
}

/*
 * The caller says that memory is a device's, not which one's: sectors of long streams are asked for
 * beforehand as if it were the kernel's own, and nothing but the speed may depend on that.
 */
START_TEST(long_streams_into_memory_called_a_devices)
{
	const struct dtconv_convertor_params params = {
		.struct_size = sizeof(params),
		.user_memory = DTCONV_MEMORY_DEVICE,
		.packed_memory = DTCONV_MEMORY_DEVICE,
	};
	const size_t block = combs[_i].block, stride = combs[_i].stride;
	const size_t blocks = LONG_STREAM / block, bytes = blocks * block;
	char text[64];

	if (!open_devices(ACCESS_GIVEN) || !can_reach())
		return;
	unsigned char *stream = long_pattern(bytes, 1);
	unsigned char *expected = long_pattern(blocks * stride, 2);
	struct arena packed = memory_on(0, bytes), target = memory_on(1, blocks * stride);
	arena_write(&packed, 0, stream, bytes);
	arena_write(&target, 0, expected, blocks * stride);
	snprintf(text, sizeof(text), "hvector(%zu, %zu, %zu, byte)", blocks, block,
		 stride);
	uint64_t before = launches();
	unpack_as(&params, text, &target, &packed, bytes);
	ck_assert_uint_eq(launches(), before + 1);
	for (size_t i = 0; i < blocks; i++)
		memcpy(expected + i * stride, stream + i * block, block);
	unsigned char *got = malloc(blocks * stride);
	arena_read(&target, 0, got, blocks * stride);
	ck_assert(!memcmp(got, expected, blocks * stride));
	free(got);
	free(expected);
	free(stream);
	arena_close(&target);
	arena_close(&packed);
	check_alive();
	close_devices();
}
END_TEST

/* ---- streams ------------------------------------------------------------------------------- */

/* A stream of one of the devices, or of a third; what it was given before is seen. */
static void move_in_stream(int of, int user)
{
	struct dtconv_convertor_params params = { .struct_size = sizeof(params),
						  .flags = DTCONV_CONVERTOR_STREAM };
	struct scene scene;

	open_scene(&scene, "vector(3000, 3, 5, double)", user, !user);
	MUST(CtxSetCurrent(contexts[of]));
	CUstream stream = gpu_stream();
	params.stream = stream;
	for (int round = 0; round < 3; round++) {
		const struct stage *stage = &scene.stage;

		stage_blank(&scene.stage);
		arena_write(&scene.target, 0, stage->target_memory, stage->memory_bytes);
		MUST(MemcpyAsync((CUdeviceptr)(uintptr_t)scene.source.memory,
				 (CUdeviceptr)(uintptr_t)stage->source_memory,
				 stage->memory_bytes, stream));
		move(&scene, true, stage->bytes, &params);
		move(&scene, false, stage->bytes, &params);
		MUST(StreamSynchronize(stream));
		check_packed(&scene);
		check_unpacked(&scene);
	}
	MUST(StreamDestroy(stream));
	MUST(CtxSetCurrent(contexts[0]));
	close_scene(&scene);
}

/* Memory of the stream's device gets its contents there; the other device packs it behind that. */
START_TEST(a_stream_is_waited_for_where_another_device_works)
{
	struct dtconv_convertor_params params = { .struct_size = sizeof(params),
						  .flags = DTCONV_CONVERTOR_STREAM };
	struct spin_releaser releaser;
	struct scene scene;
	struct spin spin;

	if (!open_devices(ACCESS_CLOSED))
		return;
	open_scene(&scene, "vector(20000, 1, 3, double)", 0, 1);
	struct arena staging = memory_on(0, scene.stage.memory_bytes);
	arena_write(&staging, 0, scene.stage.source_memory, scene.stage.memory_bytes);
	gpu_clear(scene.source.memory, scene.stage.memory_bytes);
	CUstream stream = gpu_stream();
	params.stream = stream;
	spin_begin(&spin, stream);
	MUST(MemcpyAsync((CUdeviceptr)(uintptr_t)scene.source.memory,
			 (CUdeviceptr)(uintptr_t)staging.memory, scene.stage.memory_bytes,
			 stream));
	releaser_begin(&releaser, &spin, "cuStreamWriteValue64", 1);
	fixture_ok(dtconv_pack_with(scene.stage.type, 2, source_of(&scene),
				    scene.packed.memory, scene.stage.bytes, &params,
				    NULL));
	ck_assert(releaser_end(&releaser));
	check_packed(&scene);
	spin_end(&spin);
	MUST(StreamDestroy(stream));
	arena_close(&staging);
	close_scene(&scene);
	close_devices();
}
END_TEST

START_TEST(streams_of_any_device)
{
	if (!open_devices((enum access)_i))
		return;
	for (int of = 0; of < DEVICES && of < device_count; of++) {
		move_in_stream(of, 0);
		move_in_stream(of, 1);
	}
	check_alive();
	close_devices();
}
END_TEST

/* Pinned memory is made in one device's context, and every device sees it. */
START_TEST(pinned_memory_in_the_default_stream_of_either_device)
{
	static const char text[] = "vector(300, 3, 5, double)";
	const struct dtconv_convertor_params params = {
		.struct_size = sizeof(params), .flags = DTCONV_CONVERTOR_STREAM
	};
	struct scene scene;

	if (!open_devices((enum access)_i))
		return;
	fixture_open(&scene.stage, text, 2);
	scene.source = made_by(0, ARENA_PINNED, scene.stage.memory_bytes);
	scene.packed = made_by(1, ARENA_PINNED, scene.stage.bytes);
	scene.target = made_by(1, ARENA_PINNED, scene.stage.memory_bytes);
	for (int of = 0; of < 2; of++) {
		fill_arenas(&scene);
		MUST(CtxSetCurrent(contexts[of]));
		move(&scene, true, scene.stage.bytes, &params);
		move(&scene, false, scene.stage.bytes, &params);
		check_packed(&scene);
		check_unpacked(&scene);
	}
	MUST(CtxSetCurrent(contexts[0]));
	close_scene(&scene);
	check_alive();
	close_devices();
}
END_TEST

/* A captured stream: kernels where they reach, copies elsewhere, and nothing that blocks. */
START_TEST(graphs_between_devices)
{
	struct dtconv_convertor_params params = { .struct_size = sizeof(params),
						  .flags = DTCONV_CONVERTOR_STREAM };
	struct scene scene;
	CUgraph graph;
	CUgraphExec exec;

	if (!open_devices((enum access)_i))
		return;
	open_scene(&scene, "vector(300, 3, 5, double)", 0, 1);
	move_both(&scene, scene.stage.bytes, NULL);
	stage_blank(&scene.stage);
	arena_write(&scene.target, 0, scene.stage.target_memory,
		    scene.stage.memory_bytes);
	arena_write(&scene.packed, 0, scene.stage.target_memory, scene.stage.bytes);
	CUstream stream = gpu_stream();
	params.stream = stream;
	MUST(StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	move(&scene, true, scene.stage.bytes, &params);
	move(&scene, false, scene.stage.bytes, &params);
	MUST(StreamEndCapture(stream, &graph));
	MUST(GraphInstantiateWithFlags(&exec, graph, 0));
	MUST(GraphLaunch(exec, stream));
	MUST(StreamSynchronize(stream));
	check_packed(&scene);
	check_unpacked(&scene);
	MUST(GraphExecDestroy(exec));
	MUST(GraphDestroy(graph));
	MUST(StreamDestroy(stream));
	close_scene(&scene);
	close_devices();
}
END_TEST

/* ---- access that changes ------------------------------------------------------------------- */

/* What the application has opened it may close again. */
START_TEST(access_is_asked_for_each_job)
{
	struct scene scene;

	if (!open_devices(ACCESS_GIVEN))
		return;
	for (int user = 0; user < 2; user++) {
		open_scene(&scene, "vector(2000, 1, 3, double)", user, !user);
		for (int round = 0; round < 4; round++) {
			for (int device = 0; device < 2; device++) {
				MUST(CtxSetCurrent(contexts[device]));
				if (round % 2)
					MUST(CtxDisablePeerAccess(contexts[!device]));
				else if (round || user)
					gpu.CtxEnablePeerAccess(contexts[!device], 0);
			}
			MUST(CtxSetCurrent(contexts[0]));
			stage_blank(&scene.stage);
			arena_write(&scene.target, 0, scene.stage.target_memory,
				    scene.stage.memory_bytes);
			move_both(&scene, scene.stage.bytes, NULL);
		}
		close_scene(&scene);
	}
	check_alive();
	close_devices();
}
END_TEST

/* One way only: the device that reaches does the work. */
START_TEST(one_device_reaches_the_other)
{
	int reaching = _i % 2, user = _i / 2;
	struct scene scene;

	if (!open_devices(ACCESS_CLOSED) || !can_reach())
		return;
	MUST(CtxSetCurrent(contexts[reaching]));
	MUST(CtxEnablePeerAccess(contexts[!reaching], 0));
	MUST(CtxSetCurrent(contexts[0]));
	open_scene(&scene, "vector(2000, 1, 3, double)", user, !user);
	uint64_t before = launches();
	move_both(&scene, scene.stage.bytes, NULL);
	ck_assert_uint_eq(launches(), before + 2);
	close_scene(&scene);
	check_alive();
	close_devices();
}
END_TEST

/* The context's flag, as an application gives it. */
START_TEST(the_library_opens_what_it_may)
{
	const struct dtconv_context_params params = {
		.struct_size = sizeof(params), .flags = DTCONV_CONTEXT_PEER_ACCESS
	};
	struct dtconv_context *context;

	if (!open_devices(ACCESS_CLOSED) || !can_reach())
		return;
	fixture_ok(dtconv_context_create(&params, &context));
	ck_assert(context->devices.opens_peers);
	dtconv_context_destroy(context);
	struct scene scene;
	open_scene(&scene, "vector(2000, 1, 3, double)", 0, 1);
	move_both(&scene, scene.stage.bytes, NULL);
	/* Without the flag the application's contexts are as they were. */
	MUST(CtxEnablePeerAccess(contexts[1], 0));
	MUST(CtxDisablePeerAccess(contexts[1]));
	fixture_context->devices.opens_peers = true;
	move_both(&scene, scene.stage.bytes, NULL);
	ck_assert_int_eq(gpu.CtxEnablePeerAccess(contexts[1], 0),
			 CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
	close_scene(&scene);
	close_devices();
}
END_TEST

static CUresult enabled_by_another_thread(CUcontext peer, unsigned flags)
{
	CUresult result = gpu.CtxEnablePeerAccess(peer, flags);

	return result ? result : CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
}

/* Between the question and the call another thread enables access. */
START_TEST(access_that_another_thread_enables_first_is_used)
{
	struct scene scene;

	if (!open_devices(ACCESS_TAKEN))
		return;
	dtc_cuda_of(fixture_context)->driver.CtxEnablePeerAccess =
		enabled_by_another_thread;
	open_scene(&scene, "vector(2000, 1, 3, double)", 0, 1);
	uint64_t before = launches(), copied = fixture_counters().fallbacks_limits;
	move_both(&scene, scene.stage.bytes, NULL);
	ck_assert_uint_eq(launches(), before + 2);
	ck_assert_uint_eq(fixture_counters().fallbacks_limits, copied);
	close_scene(&scene);
	check_alive();
	close_devices();
}
END_TEST

/* Memory of one device, with a context of the other current: its own device moves it, by kernels. */
START_TEST(the_current_context_may_be_another_devices)
{
	struct scene scene;

	if (!open_devices(ACCESS_CLOSED))
		return;
	open_scene(&scene, "vector(2000, 1, 3, double)", _i, _i);
	uint64_t before = launches();
	MUST(CtxSetCurrent(contexts[!_i]));
	move(&scene, true, scene.stage.bytes, NULL);
	check_packed_by(&scene, _i);
	MUST(CtxSetCurrent(contexts[!_i]));
	move(&scene, false, scene.stage.bytes, NULL);
	MUST(CtxSetCurrent(contexts[_i]));
	check_unpacked(&scene);
	ck_assert_uint_eq(launches(), before + 2);
	close_scene(&scene);
	check_alive();
	close_devices();
}
END_TEST

/* ---- through memory of the user's device ----------------------------------------------------- */

/* More than twice what is lent. */
#define LONG_BLOCKS 700001
#define LONG_SPAN   ((size_t)LONG_BLOCKS * 40)
#define LONG_BYTES  ((size_t)LONG_BLOCKS * 24)

static void fill_long(unsigned char *bytes, size_t count)
{
	uint32_t seed = 1;

	for (size_t i = 0; i < count; i++) {
		seed = seed * 1664525 + 1013904223;
		bytes[i] = (unsigned char)(seed >> 24);
	}
}

START_TEST(long_streams_between_closed_devices)
{
	size_t moved;

	if (!open_devices(ACCESS_CLOSED))
		return;
	unsigned char *from = malloc(LONG_SPAN), *stream = malloc(LONG_BYTES),
		      *got = malloc(LONG_BYTES);
	ck_assert(from && stream && got);
	struct dtconv_type *type = fixture_type("vector(700001, 3, 5, double)");
	struct arena user = memory_on(0, LONG_SPAN), packed = memory_on(1, LONG_BYTES);
	fill_long(from, LONG_SPAN);
	fixture_ok(dtconv_pack(type, 1, from, stream, LONG_BYTES, NULL));
	arena_write(&user, 0, from, LONG_SPAN);
	fixture_ok(dtconv_pack(type, 1, user.memory, packed.memory, LONG_BYTES, &moved));
	ck_assert_uint_eq(moved, LONG_BYTES);
	gpu_clear(user.memory, LONG_SPAN);
	fixture_ok(
		dtconv_unpack(type, 1, user.memory, packed.memory, LONG_BYTES, &moved));
	fixture_ok(dtconv_pack(type, 1, user.memory, got, LONG_BYTES, NULL));
	ck_assert(!memcmp(got, stream, LONG_BYTES));
	gpu_must_be_idle(fixture_context, "long streams");
	dtconv_type_unref(type);
	arena_close(&user);
	arena_close(&packed);
	free(from);
	free(stream);
	free(got);
	close_devices();
}
END_TEST

static CUstream lane_of_library(int device, enum dtc_cuda_lane lane)
{
	struct dtc_cuda_context *context = dtc_cuda_of(fixture_context)->contexts;

	while (context->device != device)
		context = context->next;
	return context->lanes[lane];
}

/* A device that breaks once the driver's entry has been called so often. */
struct breaking {
	const char *entry;
	size_t calls;
	int device;
};

static void *break_device(void *arg)
{
	const struct breaking *breaking = arg;

	while (gpu.standin->calls(breaking->entry) < breaking->calls)
		sched_yield();
	gpu.standin->poison(contexts[breaking->device], CUDA_ERROR_ILLEGAL_ADDRESS);
	return NULL;
}

/* The pieces wait behind a kernel in the lane of scratch memory, and never end. What the broken context has is lost. */
START_TEST(a_device_that_breaks_under_the_last_piece_fails_the_job)
{
	struct scene scene;
	struct spin spin;
	pthread_t thread;
	size_t moved = 1;

	if (!open_devices(ACCESS_CLOSED))
		return;
	open_scene(&scene, "vector(20000, 1, 3, double)", 0, 1);
	move(&scene, true, scene.stage.bytes, NULL);
	struct breaking breaking = { "cuMemcpyAsync",
				     gpu.standin->calls("cuMemcpyAsync") + 1, 0 };
	spin_begin(&spin, lane_of_library(0, DTC_CUDA_LANE_COPY));
	ck_assert_int_eq(pthread_create(&thread, NULL, break_device, &breaking), 0);
	fixture_status(dtconv_pack(scene.stage.type, 2, source_of(&scene),
				   scene.packed.memory, scene.stage.bytes, &moved),
		       DTCONV_ERR_BACKEND);
	ck_assert_uint_eq(moved, 0);
	pthread_join(thread, NULL);
	fixture_close(&scene.stage);
}
END_TEST

/* ---- what is kept for a context ---------------------------------------------------------------- */

enum kept { KEPT_PROGRAM, KEPT_PARTS, KEPT_MAP, KEPT };

/* A type whose program kernels read, one of more parts than travel with a launch, and one that is mapped. */
static struct dtconv_type *kept_type(enum kept kept)
{
	static char text[40000];
	size_t length = 0;

	if (kept != KEPT_PARTS) {
		snprintf(text, sizeof(text),
			 "indexed([1,2,1,3,1,2,1,3,4,1], "
			 "[0,2,7,9,13,15,19,23,29,40], vector(30, 1, 2, %s))",
			 kept == KEPT_MAP ? "int" : "short");
		return fixture_type(text);
	}
	for (int i = 0; i < 200; i++)
		length += (size_t)snprintf(text + length, sizeof(text) - length, "%s1",
					   i ? "," : "struct([");
	for (int i = 0; i < 200; i++)
		length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%d",
					   i ? "," : "],[", 600 * i);
	for (int i = 0; i < 200; i++)
		length += (size_t)snprintf(text + length, sizeof(text) - length,
					   "%svector(%d,%d,%d,short)", i ? "," : "],[",
					   9 + i % 5, 1 + i % 3, 5 + i % 4);
	snprintf(text + length, sizeof(text) - length, "])");
	return fixture_type(text);
}

START_TEST(each_device_has_its_own_copy_of_a_type)
{
	struct scene scene;

	if (!open_devices(ACCESS_CLOSED))
		return;
	ck_assert_int_eq(stage_open(&scene.stage, kept_type((enum kept)_i), 1, 0, 0, 3),
			 0);
	uint64_t before = launches();
	for (int device = 0; device < 2; device++) {
		open_arenas(&scene, device, device);
		MUST(CtxSetCurrent(contexts[device]));
		move(&scene, true, scene.stage.bytes, NULL);
		check_packed_by(&scene, device);
		close_arenas(&scene);
	}
	ck_assert_uint_eq(launches() - before, 2);
	fixture_close(&scene.stage);
	check_alive();
	close_devices();
}
END_TEST

/* What the caller's stream reads comes to the device though the library's own stream is blocked. */
START_TEST(the_copy_of_a_type_waits_for_no_job)
{
	struct dtconv_convertor_params params = { .struct_size = sizeof(params),
						  .flags = DTCONV_CONVERTOR_STREAM };
	struct scene scene;
	struct spin spin;

	if (!open_devices(ACCESS_CLOSED))
		return;
	ck_assert_int_eq(stage_open(&scene.stage, kept_type((enum kept)_i), 1, 0, 0, 3),
			 0);
	open_arenas(&scene, 0, 0);
	CUstream stream = gpu_stream();
	params.stream = stream;
	spin_begin(&spin, lane_of_library(0, DTC_CUDA_LANE_PACK));
	fixture_ok(dtconv_pack_with(scene.stage.type, 1, source_of(&scene),
				    scene.packed.memory, scene.stage.bytes, &params,
				    NULL));
	check_packed(&scene);
	spin_end(&spin);
	MUST(StreamDestroy(stream));
	close_scene(&scene);
	close_devices();
}
END_TEST

#define LAYERS 60

/* Pinned memory is moved in the default stream of whichever device is current, with parts of its own. */
START_TEST(a_batch_in_the_default_stream_of_either_device)
{
	const struct dtconv_batch_params params = { .struct_size = sizeof(params),
						    .flags = DTCONV_BATCH_STREAM };
	struct dtconv_type *type = fixture_type("vector(20, 3, 5, double)");
	struct dtconv_batch_entry entries[LAYERS];
	const size_t span = 784, bytes = 480;
	unsigned char expected[480];
	struct dtconv_batch *batch;

	if (!open_devices(ACCESS_CLOSED)) {
		dtconv_type_unref(type);
		return;
	}
	struct arena user = made_by(0, ARENA_PINNED, LAYERS * span);
	struct arena packed = made_by(0, ARENA_PINNED, LAYERS * bytes);
	fill_long(user.memory, LAYERS * span);
	for (size_t i = 0; i < LAYERS; i++)
		entries[i] = (struct dtconv_batch_entry){
			.type = type,
			.count = 1,
			.buffer = user.memory + i * span,
			.packed = packed.memory + i * bytes,
			.bytes = bytes,
		};
	fixture_ok(
		dtconv_batch_create(fixture_context, entries, LAYERS, &params, &batch));
	for (int round = 0; round < 4; round++) {
		memset(packed.memory, 0, LAYERS * bytes);
		MUST(CtxSetCurrent(contexts[round % 2]));
		fixture_ok(dtconv_batch_run(batch, NULL));
		for (size_t i = 0; i < LAYERS; i++) {
			dtconv_pack(type, 1, user.memory + i * span, expected, bytes,
				    NULL);
			ck_assert(!memcmp(packed.memory + i * bytes, expected, bytes));
		}
	}
	MUST(CtxSetCurrent(contexts[0]));
	dtconv_batch_destroy(batch);
	dtconv_type_unref(type);
	arena_close(&user);
	arena_close(&packed);
	check_alive();
	close_devices();
}
END_TEST

/* ---- memory that is opened piece by piece ------------------------------------------------------ */

/* One mapping on a device; access for the devices in the mask. */
static CUdeviceptr map_on(int owner, size_t bytes, unsigned mask)
{
	const CUmemAllocationProp properties = {
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = owner }
	};
	CUmemGenericAllocationHandle handle;
	CUdeviceptr base;

	MUST(MemAddressReserve(&base, bytes, 0, 0, 0));
	MUST(MemCreate(&handle, bytes, &properties, 0));
	MUST(MemMap(base, bytes, 0, handle, 0));
	MUST(MemRelease(handle));
	for (int device = 0; device < 2; device++) {
		const CUmemAccessDesc access = {
			.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device },
			.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE
		};

		if (mask >> device & 1)
			MUST(MemSetAccess(base, bytes, &access, 1));
	}
	return base;
}

static CUdeviceptr map_on_1(size_t bytes, unsigned mask)
{
	return map_on(1, bytes, mask);
}

#define MAPPED ((size_t)2 << 20)

static void unmap(CUdeviceptr base)
{
	MUST(MemUnmap(base, MAPPED));
	MUST(MemAddressFree(base, MAPPED));
}

static int device_of(const void *memory)
{
	struct dtconv_memory_attr attr = { .struct_size = sizeof(attr) };

	fixture_ok(dtconv_memory_query(fixture_context, memory, &attr));
	return attr.device;
}

/* Case: which devices have access to the mapping that is packed memory. Its own device's comes first. */
START_TEST(mapped_memory_of_another_device)
{
	const unsigned mask = (unsigned)_i + 1;
	struct scene scene;

	if (!open_devices(ACCESS_CLOSED) || (mask & 1 && !can_reach()))
		return;
	open_scene(&scene, "vector(2000, 1, 3, double)", 0, 0);
	CUdeviceptr base = map_on_1(MAPPED, mask);
	struct arena own = scene.packed;
	scene.packed.memory = (unsigned char *)(uintptr_t)base;
	ck_assert_int_eq(device_of(scene.packed.memory), mask & 2 ? 1 : 0);
	uint64_t before = launches();
	move(&scene, true, scene.stage.bytes, NULL);
	check_packed_by(&scene, !(mask & 1));
	move(&scene, false, scene.stage.bytes, NULL);
	if (mask & 1)
		ck_assert_uint_eq(launches(), before + 2);
	check_unpacked(&scene);
	scene.packed = own;
	unmap(base);
	close_scene(&scene);
	check_alive();
	close_devices();
}
END_TEST

/* Packed memory lies in two mappings of device 1, of which the second is closed to device 0. */
START_TEST(each_mapping_of_a_row_has_its_own_access)
{
	const CUmemAllocationProp properties = {
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 1 }
	};
	CUmemGenericAllocationHandle handle;
	struct scene scene;
	CUdeviceptr base;

	if (!open_devices(ACCESS_CLOSED) || !can_reach())
		return;
	open_scene(&scene, "vector(2000, 1, 3, double)", 0, 0);
	MUST(MemAddressReserve(&base, 2 * MAPPED, 0, 0, 0));
	for (int i = 0; i < 2; i++) {
		MUST(MemCreate(&handle, MAPPED, &properties, 0));
		MUST(MemMap(base + (size_t)i * MAPPED, MAPPED, 0, handle, 0));
		MUST(MemRelease(handle));
		for (int device = i; device < 2; device++) {
			const CUmemAccessDesc access = {
				.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE,
					      .id = device },
				.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE
			};

			MUST(MemSetAccess(base + (size_t)i * MAPPED, MAPPED, &access, 1));
		}
	}
	struct arena own = scene.packed;
	scene.packed.memory =
		(unsigned char *)(uintptr_t)(base + MAPPED - scene.stage.bytes / 2);
	move(&scene, true, scene.stage.bytes, NULL);
	check_packed_by(&scene, 1);
	move(&scene, false, scene.stage.bytes, NULL);
	check_unpacked(&scene);
	scene.packed = own;
	for (int i = 0; i < 2; i++)
		MUST(MemUnmap(base + (size_t)i * MAPPED, MAPPED));
	MUST(MemAddressFree(base, 2 * MAPPED));
	close_scene(&scene);
	check_alive();
	close_devices();
}
END_TEST

/* The driver was seen to refuse rows into another device's mapping: each is a copy. */
START_TEST(rows_are_not_left_to_the_driver_where_it_refuses_them)
{
	const struct dtconv_convertor_params params = fixture_by("cuda_copy");
	struct scene scene;

	if (!open_devices(ACCESS_CLOSED))
		return;
	open_scene(&scene, "vector(200, 1, 3, double)", 0, 0);
	CUdeviceptr base = map_on_1(MAPPED, 3);
	struct arena own = scene.packed;
	scene.packed.memory = (unsigned char *)(uintptr_t)base;
	size_t rows = gpu.standin->calls("cuMemcpy2DAsync");
	move(&scene, true, scene.stage.bytes, &params);
	check_packed(&scene);
	ck_assert_uint_eq(gpu.standin->calls("cuMemcpy2DAsync"), rows);
	scene.packed = own;
	move(&scene, true, scene.stage.bytes, &params);
	check_packed(&scene);
	ck_assert_uint_gt(gpu.standin->calls("cuMemcpy2DAsync"), rows);
	unmap(base);
	close_scene(&scene);
	close_devices();
}
END_TEST

/* ---- what batches put together --------------------------------------------------------------- */

static uint64_t copied_for_want_of_access(void)
{
	return fixture_counters().fallbacks_limits;
}

#define GATHERED       "vector(2000, 1, 3, double)"
#define GATHERED_BYTES 16000

static struct dtconv_batch_entry entry_of(struct dtconv_type *type, uintptr_t user,
					  uintptr_t packed)
{
	return (struct dtconv_batch_entry){ .type = type,
					    .count = 1,
					    .buffer = (void *)user,
					    .packed = (void *)packed,
					    .bytes = GATHERED_BYTES };
}

/* So many launches, and no copies instead. */
static void must_launch(const struct dtconv_batch_entry entries[], size_t count,
			uint64_t expected)
{
	uint64_t before = launches(), copied = copied_for_want_of_access();

	fixture_ok(dtconv_batch_move(fixture_context, entries, count, NULL, NULL, NULL));
	ck_assert_uint_eq(launches() - before, expected);
	ck_assert_uint_eq(copied_for_want_of_access(), copied);
}

/* Mappings belong to no context, so that nothing but the device tells them apart. */
START_TEST(entries_of_two_devices_are_two_launches)
{
	struct dtconv_batch_entry entries[2];
	CUdeviceptr base[2];

	if (!open_devices(ACCESS_CLOSED))
		return;
	struct dtconv_type *type = fixture_type(GATHERED);
	for (int device = 0; device < 2; device++) {
		base[device] = map_on(device, MAPPED, 1u << device);
		entries[device] = entry_of(type, base[device], base[device] + MAPPED / 2);
	}
	must_launch(entries, 2, 2);
	for (int device = 0; device < 2; device++)
		unmap(base[device]);
	dtconv_type_unref(type);
	check_alive();
	close_devices();
}
END_TEST

/* A kernel of one context has no business with what another one of the same device has made. */
START_TEST(entries_of_two_contexts_are_two_launches)
{
	struct dtconv_batch_entry entries[2];
	struct arena memory[2];
	CUcontext own[2];

	if (!open_devices(ACCESS_CLOSED))
		return;
	struct dtconv_type *type = fixture_type(GATHERED);
	own[0] = contexts[0];
	MUST(CtxCreate(&own[1], 0, 0));
	for (int i = 0; i < 2; i++) {
		MUST(CtxSetCurrent(own[i]));
		load_kernels(-1);
		arena_open(&memory[i], ARENA_DEVICE, 100000);
		entries[i] = entry_of(type, (uintptr_t)memory[i].memory,
				      (uintptr_t)memory[i].memory + 80000);
	}
	MUST(CtxSetCurrent(NULL));
	must_launch(entries, 2, 2);
	for (int i = 0; i < 2; i++) {
		MUST(CtxSetCurrent(own[i]));
		arena_close(&memory[i]);
	}
	MUST(CtxSetCurrent(contexts[0]));
	MUST(CtxDestroy(own[1]));
	dtconv_type_unref(type);
	close_devices();
}
END_TEST

/* It goes alone, so that it is packed before it is copied. */
START_TEST(an_entry_into_a_closed_device_goes_by_a_kernel)
{
	if (!open_devices(ACCESS_CLOSED))
		return;
	struct dtconv_type *type = fixture_type("vector(220000, 1, 2, double)");
	struct arena user = memory_on(0, 3520000), packed = memory_on(1, 1760000);
	struct dtconv_batch_entry entry =
		entry_of(type, (uintptr_t)user.memory, (uintptr_t)packed.memory);

	entry.bytes = 1760000;
	must_launch(&entry, 1, 1);
	dtconv_type_unref(type);
	arena_close(&user);
	arena_close(&packed);
	close_devices();
}
END_TEST

/* Only device 1 has access to the user's memory, and nobody uses that device. */
START_TEST(memory_of_a_device_that_is_not_used)
{
	struct scene scene;
	size_t moved = 1;

	if (gpu.standin)
		gpu.standin->set(STANDIN_DEVICES, 2);
	MUST(DeviceGetCount(&device_count));
	if (device_count < 2)
		return;
	MUST(CtxGetCurrent(&contexts[0]));
	open_scene(&scene, "vector(2000, 1, 3, double)", 0, 0);
	CUdeviceptr base = map_on_1(MAPPED, 2);
	if (_i)
		MUST(CtxSetCurrent(NULL));
	int status = dtconv_pack(scene.stage.type, 2, (void *)(uintptr_t)base,
				 scene.packed.memory, scene.stage.bytes, &moved);
	MUST(CtxSetCurrent(contexts[0]));
	ck_assert_int_eq(status, DTCONV_ERR_BACKEND);
	ck_assert_uint_eq(moved, 0);
	ck_assert_ptr_nonnull(strstr(fixture_error(), "no peer access"));
	unmap(base);
	close_scene(&scene);
}
END_TEST

/* A copy between layouts, into a mapping that is closed to the source's device, and back. */
START_TEST(copies_to_memory_that_is_closed)
{
	struct scene scene;
	size_t moved;

	if (!open_devices(ACCESS_CLOSED))
		return;
	open_scene(&scene, "vector(2000, 1, 3, double)", 0, 0);
	CUdeviceptr base = map_on_1(MAPPED, 2);
	struct dtconv_type *rows = fixture_type("vector(1000, 2, 5, double)");
	fixture_ok(dtconv_copy(scene.stage.type, 2, source_of(&scene), rows, 2,
			       (void *)(uintptr_t)base, &moved));
	ck_assert_uint_eq(moved, scene.stage.bytes);
	fixture_ok(dtconv_copy(rows, 2, (void *)(uintptr_t)base, scene.stage.type, 2,
			       target_of(&scene), &moved));
	check_unpacked(&scene);
	dtconv_type_unref(rows);
	unmap(base);
	close_scene(&scene);
	check_alive();
	close_devices();
}
END_TEST

/* Packed memory is of a pool of device 1, which lets device 0 in, keeps it out, and so on. */
START_TEST(pools_of_another_device)
{
	const CUmemPoolProps properties = {
		.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 1 }
	};
	CUmemAccessDesc access = { .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE } };
	CUmemoryPool pool;
	CUdeviceptr memory;
	struct scene scene;

	if (!open_devices(ACCESS_CLOSED) || !can_reach())
		return;
	open_scene(&scene, "vector(2000, 1, 3, double)", 0, 0);
	MUST(MemPoolCreate(&pool, &properties));
	MUST(CtxSetCurrent(contexts[1]));
	MUST(MemAllocFromPoolAsync(&memory, scene.stage.bytes, pool, NULL));
	MUST(StreamSynchronize(NULL));
	MUST(CtxSetCurrent(contexts[0]));
	struct arena own = scene.packed;
	scene.packed.memory = (unsigned char *)(uintptr_t)memory;
	for (int round = 0; round < 4; round++) {
		uint64_t before = launches();

		access.flags = round % 2 ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
					 : CU_MEM_ACCESS_FLAGS_PROT_NONE;
		MUST(MemPoolSetAccess(pool, &access, 1));
		move(&scene, true, scene.stage.bytes, NULL);
		check_packed_by(&scene, 1);
		move(&scene, false, scene.stage.bytes, NULL);
		ck_assert_uint_eq(launches() - before, round % 2 ? 2 : 0);
	}
	check_unpacked(&scene);
	scene.packed = own;
	MUST(CtxSetCurrent(contexts[1]));
	MUST(MemFreeAsync(memory, NULL));
	MUST(StreamSynchronize(NULL));
	MUST(MemPoolDestroy(pool));
	MUST(CtxSetCurrent(contexts[0]));
	close_scene(&scene);
	check_alive();
	close_devices();
}
END_TEST

/* ---- blocks on both devices ------------------------------------------------------------------ */

#define BLOCKS 40

/* 1000 bytes on each device in turn, by absolute address. */
static struct dtconv_type *scattered_type(const struct arena *a, const struct arena *b)
{
	size_t lengths[BLOCKS];
	ptrdiff_t disps[BLOCKS];
	struct dtconv_type *type;

	for (size_t i = 0; i < BLOCKS; i++) {
		const struct arena *arena = i / 10 % 2 ? b : a;

		lengths[i] = 100;
		disps[i] = (ptrdiff_t)(uintptr_t)(arena->memory + i * 128);
	}
	fixture_ok(dtconv_type_create_hindexed(
		BLOCKS, lengths, disps,
		dtconv_type_predefined(fixture_context, DTCONV_BYTE), &type));
	fixture_ok(dtconv_type_commit(type));
	return type;
}

static void fill(const struct arena *a, const struct arena *b, unsigned char *stream)
{
	unsigned char bytes[BLOCKS * 128];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)(i * 7 + i / 256);
	for (size_t i = 0; i < BLOCKS; i++)
		memcpy(stream + i * 100, bytes + i * 128, 100);
	/* What is closed to device 0 is closed to its copies. */
	MUST(CtxSetCurrent(contexts[1]));
	arena_write(a, 0, bytes, sizeof(bytes));
	arena_write(b, 0, bytes, sizeof(bytes));
	MUST(CtxSetCurrent(contexts[0]));
}

static void move_blocks(struct dtconv_type *type, const struct arena *packed,
			unsigned char *stream)
{
	static unsigned char got[BLOCKS * 100];
	size_t moved;

	fixture_ok(dtconv_pack(type, 1, NULL, packed->memory, sizeof(got), &moved));
	arena_read(packed, 0, got, sizeof(got));
	ck_assert(!memcmp(got, stream, sizeof(got)));
	for (size_t i = 0; i < sizeof(got); i++)
		stream[i] ^= 0xff;
	arena_write(packed, 0, stream, sizeof(got));
	fixture_ok(dtconv_unpack(type, 1, NULL, packed->memory, sizeof(got), &moved));
	memset(got, 0, sizeof(got));
	fixture_ok(dtconv_pack(type, 1, NULL, got, sizeof(got), &moved));
	ck_assert(!memcmp(got, stream, sizeof(got)));
}

START_TEST(one_type_with_blocks_on_both_devices)
{
	static unsigned char stream[BLOCKS * 100];

	if (!open_devices((enum access)_i))
		return;
	struct arena a = memory_on(0, BLOCKS * 128), b = memory_on(1, BLOCKS * 128);
	fill(&a, &b, stream);
	struct dtconv_type *type = scattered_type(&a, &b);
	for (int device = 0; device < 2; device++) {
		struct arena packed = memory_on(device, sizeof(stream));

		move_blocks(type, &packed, stream);
		arena_close(&packed);
	}
	dtconv_type_unref(type);
	arena_close(&a);
	arena_close(&b);
	check_alive();
	close_devices();
}
END_TEST

/* Blocks in several allocations of the other device, of which one is closed. */
START_TEST(each_block_has_its_own_access)
{
	static unsigned char stream[BLOCKS * 100], got[BLOCKS * 100];
	size_t moved;

	if (!open_devices(ACCESS_CLOSED) || !can_reach())
		return;
	struct arena open = { .memory = (unsigned char *)(uintptr_t)map_on_1(MAPPED, 3) };
	struct arena closed = { .memory =
					(unsigned char *)(uintptr_t)map_on_1(MAPPED, 2) };
	struct arena packed = memory_on(0, sizeof(stream));

	fill(&open, &closed, stream);
	struct dtconv_type *type = scattered_type(&open, &closed);
	/* In a stream of the device that is kept out. */
	CUstream stream_0 = gpu_stream();
	struct dtconv_convertor_params params = fixture_in_stream(stream_0);
	struct dtconv_convertor *convertor = fixture_packer(type, 1, NULL, &params);
	fixture_ok(
		dtconv_convertor_pack(convertor, packed.memory, sizeof(stream), &moved));
	arena_read(&packed, 0, got, sizeof(got));
	ck_assert(!memcmp(got, stream, sizeof(got)));
	dtconv_convertor_destroy(convertor);
	MUST(StreamDestroy(stream_0));
	dtconv_type_unref(type);
	for (int i = 0; i < 2; i++) {
		CUdeviceptr base = (CUdeviceptr)(uintptr_t)(i ? open : closed).memory;

		MUST(MemUnmap(base, MAPPED));
		MUST(MemAddressFree(base, MAPPED));
	}
	arena_close(&packed);
	check_alive();
	close_devices();
}
END_TEST

/* ---- batches, copies, numbers ------------------------------------------------------------------ */

/* Entries of each device, and between them both ways: one launch a device, if they reach each other. */
START_TEST(a_batch_over_two_devices)
{
	struct dtconv_batch_entry entries[8];
	struct dtconv_batch *batch;
	struct scene scenes[8];

	if (!open_devices((enum access)_i))
		return;
	for (int i = 0; i < 8; i++) {
		struct scene *scene = &scenes[i];

		open_scene(scene, layouts[i / 4].text, i % 4 / 2, i % 2);
		entries[i] = (struct dtconv_batch_entry){ .type = scene->stage.type,
							  .count = 2,
							  .buffer = source_of(scene),
							  .packed = scene->packed.memory,
							  .bytes = scene->stage.bytes };
	}
	fixture_ok(dtconv_batch_create(fixture_context, entries, 8, NULL, &batch));
	for (int round = 0; round < 2; round++) {
		uint64_t before = launches();

		fixture_ok(dtconv_batch_run(batch, NULL));
		ck_assert(_i < ACCESS_GIVEN || launches() == before + 2);
		for (int i = 0; i < 8; i++)
			check_packed(&scenes[i]);
	}
	/* What was opened is closed again: the batch notices. */
	if (_i == ACCESS_GIVEN) {
		MUST(CtxDisablePeerAccess(contexts[1]));
		fixture_ok(dtconv_batch_run(batch, NULL));
	}
	dtconv_batch_destroy(batch);
	for (int i = 0; i < 8; i++)
		close_scene(&scenes[i]);
	check_alive();
	close_devices();
}
END_TEST

/* How many launches of the copy kernel a copy from @source to the other device takes. */
static uint64_t copy_across(int source)
{
	uint64_t before = fixture_counters().launches_copy;
	struct scene from, to;
	size_t moved;

	open_scene(&from, "vector(20, 3, 5, double)", source, source);
	open_scene(&to, "vector(30, 2, 7, double)", !source, !source);
	fixture_ok(dtconv_copy(from.stage.type, 2, source_of(&from), to.stage.type, 2,
			       target_of(&to), &moved));
	ck_assert_uint_eq(moved, from.stage.bytes);
	memcpy(to.stage.stream, from.stage.stream, moved);
	check_unpacked(&to);
	close_scene(&from);
	close_scene(&to);
	return fixture_counters().launches_copy - before;
}

START_TEST(copies_from_one_device_to_another)
{
	if (!open_devices((enum access)_i))
		return;
	for (int source = 0; source < 2; source++)
		ck_assert_uint_eq(copy_across(source), _i >= ACCESS_GIVEN);
	check_alive();
	close_devices();
}
END_TEST

/* ---- short blocks across the link -------------------------------------------------------------- */

static const struct crossing {
	const char *from, *to;
	uint64_t
		copies; /* launches of the copy kernel, where the source's device reaches the target's */
	uint64_t hops; /* other launches */
} crossings[] = {
	/* 5.8 MB in two parts, and 34.6 MB in three */
	{ "vector(720000, 1, 2, double)", "vector(360000, 2, 5, double)", 0, 4 },
	{ "vector(720000, 12, 20, int)", "vector(8640000, 1, 2, int)", 0, 6 },
	/* blocks of 64 bytes, and less than 4 MiB */
	{ "vector(720000, 1, 2, double)", "vector(90000, 8, 9, double)", 1, 0 },
	{ "vector(520000, 1, 2, double)", "vector(260000, 2, 5, double)", 1, 0 },
};

#define CROSSINGS (sizeof(crossings) / sizeof(crossings[0]))

/* A source on one device and a target on the other, too long for a stage: the host has packed and unpacked before. */
struct long_copy {
	struct dtconv_type *from, *to;
	struct arena source, target;
	unsigned char *expected, *got;
	size_t bytes, source_bytes, target_bytes;
};

static size_t span_of(const struct dtconv_type *type)
{
	struct dtconv_type_attr attr = { .struct_size = sizeof(attr) };

	fixture_ok(dtconv_type_query(type, &attr));
	return (size_t)attr.true_extent;
}

static void blank_target(const struct long_copy *copy)
{
	memset(copy->got, 0x5a, copy->target_bytes);
	arena_write(&copy->target, 0, copy->got, copy->target_bytes);
}

static void open_long_copy(struct long_copy *copy, const struct crossing *crossing,
			   int source)
{
	*copy = (struct long_copy){ .from = fixture_type(crossing->from),
				    .to = fixture_type(crossing->to) };
	copy->source_bytes = span_of(copy->from);
	copy->target_bytes = span_of(copy->to);
	copy->expected = malloc(copy->target_bytes);
	copy->got = malloc(copy->target_bytes);
	unsigned char *from = malloc(copy->source_bytes);
	ck_assert(copy->expected && copy->got && from);
	fill_long(from, copy->source_bytes);
	memset(copy->expected, 0x5a, copy->target_bytes);
	fixture_ok(dtconv_copy(copy->from, 1, from, copy->to, 1, copy->expected,
			       &copy->bytes));
	copy->source = memory_on(source, copy->source_bytes);
	copy->target = memory_on(!source, copy->target_bytes);
	arena_write(&copy->source, 0, from, copy->source_bytes);
	blank_target(copy);
	free(from);
}

static void close_long_copy(const struct long_copy *copy)
{
	dtconv_type_unref(copy->from);
	dtconv_type_unref(copy->to);
	free(copy->expected);
	free(copy->got);
}

static void close_long_memory(struct long_copy *copy)
{
	arena_close(&copy->source);
	arena_close(&copy->target);
}

static int copy_long(const struct long_copy *copy, size_t *moved)
{
	return dtconv_copy(copy->from, 1, copy->source.memory, copy->to, 1,
			   copy->target.memory, moved);
}

/* And the target is blank again. */
static void check_long_copy(const struct long_copy *copy, size_t moved)
{
	ck_assert_uint_eq(moved, copy->bytes);
	arena_read(&copy->target, 0, copy->got, copy->target_bytes);
	ck_assert(!memcmp(copy->got, copy->expected, copy->target_bytes));
	blank_target(copy);
}

/* A started copy does not block, so it is one launch. */
static void start_long_copy(const struct long_copy *copy, size_t *moved)
{
	struct dtconv_copier *copier;

	fixture_ok(dtconv_copier_create(copy->from, 1, copy->source.memory, copy->to, 1,
					copy->target.memory, NULL, &copier));
	fixture_ok(dtconv_copier_start(copier, NULL, NULL));
	fixture_ok(dtconv_copier_wait(copier, moved));
	dtconv_copier_destroy(copier);
}

/* Case: the access. Odd crossings go back. */
START_TEST(short_blocks_are_packed_across_the_link)
{
	struct long_copy copy;
	size_t moved;

	if (!open_devices((enum access)_i))
		return;
	for (size_t i = 0; i < CROSSINGS; i++) {
		const uint64_t before = launches(),
			       copies = fixture_counters().launches_copy;

		open_long_copy(&copy, &crossings[i], (int)i % 2);
		fixture_ok(copy_long(&copy, &moved));
		check_long_copy(&copy, moved);
		const uint64_t copied = fixture_counters().launches_copy - copies;
		if (_i >= ACCESS_GIVEN) {
			ck_assert_uint_eq(copied, crossings[i].copies);
			ck_assert_uint_eq(launches() - before - copied,
					  crossings[i].hops);
		}
		start_long_copy(&copy, &moved);
		check_long_copy(&copy, moved);
		ck_assert_uint_eq(fixture_counters().launches_copy - copies - copied,
				  _i >= ACCESS_GIVEN);
		close_long_memory(&copy);
		close_long_copy(&copy);
	}
	gpu_must_be_idle(fixture_context, "short blocks");
	check_alive();
	close_devices();
}
END_TEST

/* The words that end a block would cross the link by themselves. */
START_TEST(short_odd_blocks_are_not_shifted_across_the_link)
{
	const size_t bytes = 300 * 257;
	struct listener listener;

	if (!open_devices(ACCESS_GIVEN))
		return;
	listener_open(&listener, DTCONV_LOG_DEBUG, " memory: ");
	struct dtconv_type *from = fixture_type_in(listener.context,
						   "hvector(300, 128, 256, byte)"),
			   *to = fixture_type_in(listener.context,
						 "hvector(300, 128, 257, byte)");
	struct arena source = memory_on(0, bytes);
	for (int device = 0; device < 2; device++) {
		struct arena target = memory_on(device, bytes);

		fixture_ok(
			dtconv_copy(from, 1, source.memory, to, 1, target.memory, NULL));
		ck_assert_msg(strstr(listener.text,
				     device ? "one launch (copy_rows_1)"
					    : "one launch (copy_shifted_4)"),
			      "%s", listener.text);
		arena_close(&target);
	}
	arena_close(&source);
	dtconv_type_unref(from);
	dtconv_type_unref(to);
	dtconv_context_destroy(listener.context);
	close_devices();
}
END_TEST

/* Without scratch memory one launch copies. */
START_TEST(short_blocks_without_scratch_memory)
{
	struct long_copy copy;
	size_t moved;

	if (!open_devices(ACCESS_GIVEN))
		return;
	open_long_copy(&copy, &crossings[0], 0);
	gpu.standin->inject("cuMemAlloc", 1, CUDA_ERROR_OUT_OF_MEMORY);
	fixture_ok(copy_long(&copy, &moved));
	gpu.standin->inject_clear();
	check_long_copy(&copy, moved);
	ck_assert_uint_eq(fixture_counters().launches_copy, 1);
	close_long_memory(&copy);
	close_long_copy(&copy);
	close_devices();
}
END_TEST

/* Parts are not unpacked, because a kernel spins in the lane of scratch memory, and then they never are. */
START_TEST(a_target_that_breaks_fails_the_copy)
{
	struct long_copy copy;
	struct spin spin;
	pthread_t thread;
	size_t moved = 1;

	if (!open_devices(ACCESS_GIVEN))
		return;
	open_long_copy(&copy, &crossings[1], 0);
	fixture_ok(copy_long(&copy, NULL));
	MUST(CtxSetCurrent(contexts[1]));
	spin_begin(&spin, lane_of_library(1, DTC_CUDA_LANE_COPY));
	MUST(CtxSetCurrent(contexts[0]));
	struct breaking breaking = { "cuLaunchKernel",
				     gpu.standin->calls("cuLaunchKernel") + 3, 1 };
	ck_assert_int_eq(pthread_create(&thread, NULL, break_device, &breaking), 0);
	fixture_status(copy_long(&copy, &moved), DTCONV_ERR_BACKEND);
	ck_assert_uint_eq(moved, 0);
	pthread_join(thread, NULL);
	close_long_copy(&copy);
}
END_TEST

/* The copies from each device share a launch. Those to a device that it does not reach go alone. */
START_TEST(copies_of_a_batch_over_two_devices)
{
	struct scene from[8], to[8];
	struct dtconv_batch *batch;

	if (!open_devices((enum access)_i))
		return;
	fixture_ok(dtconv_batch_create(fixture_context, NULL, 0, NULL, &batch));
	for (int i = 0; i < 8; i++) {
		open_scene(&from[i], "vector(20, 3, 5, double)", i % 2, i % 2);
		open_scene(&to[i], "vector(30, 2, 7, double)", i / 2 % 2, i / 2 % 2);
		const struct dtconv_batch_copy copy = {
			.struct_size = sizeof(copy),
			.source_type = from[i].stage.type,
			.source_count = 2,
			.source = source_of(&from[i]),
			.target_type = to[i].stage.type,
			.target_count = 2,
			.target = target_of(&to[i]),
		};
		fixture_ok(dtconv_batch_add_copy(batch, &copy, NULL));
	}
	for (int round = 0; round < 3; round++) {
		uint64_t before = launches(), copies = fixture_counters().launches_copy;

		fixture_ok(dtconv_batch_run(batch, NULL));
		ck_assert(_i == ACCESS_GIVEN && round == 2
				  ? fixture_counters().launches_copy > copies
				  : fixture_counters().launches_copy == copies + 2);
		ck_assert(_i < ACCESS_GIVEN || round == 2 || launches() == before + 2);
		for (int i = 0; i < 8; i++) {
			memcpy(to[i].stage.stream, from[i].stage.stream,
			       from[i].stage.bytes);
			check_unpacked(&to[i]);
			fill_arenas(&to[i]);
		}
		/* What was opened is closed again: the batch notices. */
		if (_i == ACCESS_GIVEN && round == 1)
			MUST(CtxDisablePeerAccess(contexts[1]));
	}
	dtconv_batch_destroy(batch);
	for (int i = 0; i < 8; i++) {
		close_scene(&from[i]);
		close_scene(&to[i]);
	}
	check_alive();
	close_devices();
}
END_TEST

/* One way only: the device that reaches copies, be it the source's or the target's. */
START_TEST(the_device_that_reaches_the_other_copies)
{
	int reaching = _i % 2;

	if (!open_devices(ACCESS_CLOSED) || !can_reach())
		return;
	MUST(CtxSetCurrent(contexts[reaching]));
	MUST(CtxEnablePeerAccess(contexts[!reaching], 0));
	MUST(CtxSetCurrent(contexts[0]));
	ck_assert_uint_eq(copy_across(_i / 2), 1);
	check_alive();
	close_devices();
}
END_TEST

static CUstream stream_of(int device)
{
	MUST(CtxSetCurrent(contexts[device]));
	CUstream stream = gpu_stream();
	MUST(CtxSetCurrent(contexts[0]));
	return stream;
}

/* Started in a stream of any device, from either to the other, whatever their access. */
static void start_across(int source, int device, const char *text)
{
	CUstream stream = stream_of(device);
	const struct dtconv_copier_params params = { .struct_size = sizeof(params),
						     .flags = DTCONV_COPIER_STREAM,
						     .stream = stream };
	struct dtconv_copier *copier;
	struct scene from, to;
	size_t moved;

	open_scene(&from, text, source, source);
	open_scene(&to, "vector(30, 2, 7, double)", !source, !source);
	fixture_ok(dtconv_copier_create(from.stage.type, 2, source_of(&from),
					to.stage.type, 2, target_of(&to), &params,
					&copier));
	fixture_ok(dtconv_copier_start(copier, NULL, NULL));
	fixture_ok(dtconv_copier_wait(copier, &moved));
	ck_assert_uint_eq(moved, from.stage.bytes);
	memcpy(to.stage.stream, from.stage.stream, moved);
	check_unpacked(&to);
	dtconv_copier_destroy(copier);
	close_scene(&from);
	close_scene(&to);
	MUST(CtxSetCurrent(contexts[device]));
	MUST(StreamDestroy(stream));
	MUST(CtxSetCurrent(contexts[0]));
}

START_TEST(copiers_in_streams_of_any_device)
{
	if (!open_devices((enum access)_i))
		return;
	for (int device = 0; device < DEVICES && device < device_count; device++)
		for (int source = 0; source < 2; source++) {
			start_across(source, device, "vector(20, 3, 5, double)");
			start_across(source, device,
				     "contiguous(6, resized(vector(10, 1, 6, double), "
				     "0, 8))");
			start_across(source, device,
				     "contiguous(15, resized(vector(4, 1, 15, double), "
				     "0, 8))");
		}
	check_alive();
	close_devices();
}
END_TEST

/* Sums into one device's numbers of what lies on the other. */
static void add_numbers(int device)
{
	enum { NUMBERS = 3000 };
	static double there[NUMBERS], here[2 * NUMBERS], got[2 * NUMBERS];
	struct dtconv_convertor_params params = { .struct_size = sizeof(params),
						  .op = DTCONV_OP_SUM };
	struct arena user = memory_on(device, sizeof(here)),
		     packed = memory_on(!device, sizeof(there));
	struct dtconv_type *type = fixture_type("vector(3000, 1, 2, double)");
	size_t moved;

	for (int i = 0; i < NUMBERS; i++) {
		there[i] = i;
		here[2 * i] = 1000 * i;
		here[2 * i + 1] = -1;
	}
	arena_write(&user, 0, here, sizeof(here));
	arena_write(&packed, 0, there, sizeof(there));
	struct dtconv_convertor *convertor =
		fixture_unpacker(type, 1, user.memory, &params);
	fixture_ok(
		dtconv_convertor_unpack(convertor, packed.memory, sizeof(there), &moved));
	dtconv_convertor_destroy(convertor);
	arena_read(&user, 0, got, sizeof(got));
	for (int i = 0; i < NUMBERS; i++)
		ck_assert(got[2 * i] == 1001 * i &&
			  (i == NUMBERS - 1 || got[2 * i + 1] == -1));
	dtconv_type_unref(type);
	arena_close(&user);
	arena_close(&packed);
}

START_TEST(numbers_from_another_device)
{
	if (!open_devices((enum access)_i))
		return;
	add_numbers(0);
	add_numbers(1);
	check_alive();
	close_devices();
}
END_TEST

/* ---- threads ------------------------------------------------------------------------------- */

#define THREADS 8

struct worker {
	struct scene scene;
	CUcontext current; /* of the thread, or NULL */
	int status;
};

static void *move_often(void *arg)
{
	struct worker *worker = arg;
	const struct scene *scene = &worker->scene;
	const struct stage *stage = &scene->stage;

	if (gpu.CtxSetCurrent(worker->current))
		worker->status = -1;
	for (int i = 0; i < 20 && !worker->status; i++) {
		worker->status = dtconv_pack(stage->type, stage->count, source_of(scene),
					     scene->packed.memory, stage->bytes, NULL);
		if (!worker->status)
			worker->status =
				dtconv_unpack(stage->type, stage->count, target_of(scene),
					      scene->packed.memory, stage->bytes, NULL);
	}
	return NULL;
}

static void run_workers(struct worker *workers, int count)
{
	pthread_t threads[THREADS];

	for (int i = 0; i < count; i++)
		ck_assert_int_eq(
			pthread_create(&threads[i], NULL, move_often, &workers[i]), 0);
	for (int i = 0; i < count; i++) {
		pthread_join(threads[i], NULL);
		ck_assert_int_eq(workers[i].status, 0);
		check_packed(&workers[i].scene);
		check_unpacked(&workers[i].scene);
		close_scene(&workers[i].scene);
	}
}

/* Two threads between two devices, one each way; with the other's context, their own, or none. */
START_TEST(two_threads_on_two_devices)
{
	if (!open_devices((enum access)_i))
		return;
	for (int current = 0; current < 3; current++) {
		struct worker workers[2] = { { .status = 0 } };

		for (int i = 0; i < 2; i++) {
			open_scene(&workers[i].scene, "vector(500, 3, 5, double)", i, !i);
			workers[i].current = current == 2 ? NULL
							  : contexts[current ? i : !i];
		}
		run_workers(workers, 2);
	}
	check_alive();
	close_devices();
}
END_TEST

/* Eight threads on one device, whose packed memory is its own, or the other's. */
START_TEST(eight_threads_on_one_device)
{
	struct worker workers[THREADS] = { { .status = 0 } };

	if (!open_devices((enum access)_i))
		return;
	for (int i = 0; i < THREADS; i++) {
		open_scene(&workers[i].scene, layouts[(size_t)i % LAYOUTS].text, 0,
			   i % 2);
		workers[i].current = i % 3 ? contexts[i % 3 - 1] : NULL;
	}
	run_workers(workers, THREADS);
	check_alive();
	close_devices();
}
END_TEST

/* ---------------------------------------------------------------------------------------------- */

/* A copy from one device to the other, often; the devices' memory in between is both threads'. */
struct copier {
	struct long_copy copy;
	size_t moved;
	int status;
};

static void *copy_often(void *arg)
{
	struct copier *copier = arg;

	for (int i = 0; i < 8 && !copier->status; i++)
		copier->status = copy_long(&copier->copy, &copier->moved);
	return NULL;
}

/* Neither waits for what the other one has. */
START_TEST(copies_both_ways_at_once)
{
	struct copier copiers[2] = { { .status = 0 } };
	pthread_t threads[2];

	if (!open_devices((enum access)_i))
		return;
	for (int i = 0; i < 2; i++) {
		open_long_copy(&copiers[i].copy, &crossings[0], i);
		ck_assert_int_eq(
			pthread_create(&threads[i], NULL, copy_often, &copiers[i]), 0);
	}
	for (int i = 0; i < 2; i++) {
		struct copier *copier = &copiers[i];

		pthread_join(threads[i], NULL);
		ck_assert_int_eq(copier->status, 0);
		check_long_copy(&copier->copy, copier->moved);
		close_long_memory(&copier->copy);
		close_long_copy(&copier->copy);
	}
	check_alive();
	close_devices();
}
END_TEST

/* ---- refused calls ---------------------------------------------------------------------------- */

static const char *const refusable[] = { "cuCtxEnablePeerAccess", "cuCtxPushCurrent",
					 "cuPointerGetAttributes", "cuMemAlloc",
					 "cuMemcpyAsync",         "cuMemcpy2DAsync",
					 "cuLaunchKernel",        "cuStreamWriteValue64",
					 "cuStreamGetCtx",        "cuCtxGetId" };

#define REFUSABLE (int)(sizeof(refusable) / sizeof(refusable[0]))

/* Whatever the driver refuses, the job fails with a sentence or its bytes are right. */
static void refuse_and_pack(struct scene *scene, const char *entry, unsigned nth)
{
	const struct stage *stage = &scene->stage;
	size_t moved = 1;

	gpu.standin->inject(entry, nth, CUDA_ERROR_NOT_SUPPORTED);
	int status = dtconv_pack(stage->type, stage->count, source_of(scene),
				 scene->packed.memory, stage->bytes, &moved);
	gpu.standin->inject_clear();
	if (!status)
		check_packed(scene);
	else
		ck_assert_msg(!moved && fixture_error()[0], "%s, call %u: %zu bytes moved",
			      entry, nth, moved);
}

/* Case: the entry point, and whether the devices reach each other. */
START_TEST(refused_calls_between_devices)
{
	struct scene scene;

	if (!open_devices(_i % 2 ? ACCESS_TAKEN : ACCESS_CLOSED))
		return;
	/* What the first job makes is there. */
	open_scene(&scene, "vector(200000, 1, 2, double)", 0, 1);
	move_both(&scene, scene.stage.bytes, NULL);
	for (unsigned nth = 1; nth < 8; nth++) {
		refuse_and_pack(&scene, refusable[_i / 2], nth);
		move(&scene, true, scene.stage.bytes, NULL);
		check_packed(&scene);
	}
	close_scene(&scene);
	close_devices();
}
END_TEST

/* Whatever the driver refuses between the hops: a sentence or right bytes, and the next copy is right. */
START_TEST(refused_calls_across_the_link)
{
	struct long_copy copy;
	size_t moved;

	if (!open_devices(ACCESS_GIVEN))
		return;
	open_long_copy(&copy, &crossings[0], 0);
	fixture_ok(copy_long(&copy, NULL));
	for (unsigned nth = 1; nth < 8; nth++) {
		gpu.standin->inject(refusable[_i], nth, CUDA_ERROR_NOT_SUPPORTED);
		int status = copy_long(&copy, &moved);
		gpu.standin->inject_clear();
		if (!status)
			check_long_copy(&copy, moved);
		else
			ck_assert_msg(moved < copy.bytes && fixture_error()[0],
				      "%s, call %u: %zu bytes moved", refusable[_i], nth,
				      moved);
		blank_target(&copy);
		fixture_ok(copy_long(&copy, &moved));
		check_long_copy(&copy, moved);
	}
	gpu_must_be_idle(fixture_context, "refused calls");
	close_long_memory(&copy);
	close_long_copy(&copy);
	close_devices();
}
END_TEST

static TCase *devices_case(Suite *suite, const char *name)
{
	TCase *tcase = gpu_case(suite, name, 60);

	return tcase;
}

/* They break devices, refuse calls and delay work. */
static void add_stand_in_tests(TCase *streams, TCase *many, TCase *access, TCase *refused)
{
	tcase_add_test(streams, a_stream_is_waited_for_where_another_device_works);
	tcase_add_test(many, a_device_that_breaks_under_the_last_piece_fails_the_job);
	tcase_add_loop_test(many, the_copy_of_a_type_waits_for_no_job, 0, KEPT);
	tcase_add_test(access, rows_are_not_left_to_the_driver_where_it_refuses_them);
	tcase_add_test(many, short_odd_blocks_are_not_shifted_across_the_link);
	tcase_add_test(many, short_blocks_without_scratch_memory);
	tcase_add_test(many, a_target_that_breaks_fails_the_copy);
	tcase_add_loop_test(refused, refused_calls_between_devices, 0, 2 * REFUSABLE);
	tcase_add_loop_test(refused, refused_calls_across_the_link, 0, REFUSABLE);
}

int main(void)
{
	setenv("CK_FORK", "yes", 1);
	gpu_find();
	/* A process with two real devices takes more than a second to begin: none for what only the stand-in can do. */
	const bool real = gpu_is_real();
	const int first = real ? ACCESS_CLOSED : ACCESS_NONE;
	Suite *suite = suite_create("devices");
	TCase *moves = devices_case(suite, "moves");
	TCase *streams = devices_case(suite, "streams");
	TCase *many = devices_case(suite, "many");
	TCase *access = devices_case(suite, "access");
	TCase *threads = devices_case(suite, "threads");
	TCase *refused = devices_case(suite, "refused");

	tcase_add_loop_test(moves, user_and_packed_memory_on_two_devices, first,
			    ACCESSES);
	tcase_add_loop_test(moves, many_blocks_are_packed_before_they_are_copied, first,
			    ACCESS_GIVEN);
	tcase_add_loop_test(moves, long_streams_into_memory_called_a_devices, 0, COMBS);
	tcase_add_loop_test(moves, random_types_between_devices, first, ACCESSES);
	tcase_add_loop_test(streams, streams_of_any_device, first, ACCESSES);
	tcase_add_loop_test(streams, pinned_memory_in_the_default_stream_of_either_device,
			    first, ACCESSES);
	tcase_add_loop_test(streams, graphs_between_devices, first, ACCESSES);
	tcase_add_test(many, long_streams_between_closed_devices);
	tcase_add_loop_test(many, each_device_has_its_own_copy_of_a_type, 0, KEPT);
	tcase_add_test(many, a_batch_in_the_default_stream_of_either_device);
	tcase_add_loop_test(many, one_type_with_blocks_on_both_devices, first, ACCESSES);
	tcase_add_loop_test(many, a_batch_over_two_devices, first, ACCESSES);
	tcase_add_loop_test(many, copies_from_one_device_to_another, first, ACCESSES);
	tcase_add_loop_test(many, short_blocks_are_packed_across_the_link, first,
			    ACCESSES);
	tcase_add_loop_test(many, copies_of_a_batch_over_two_devices, first, ACCESSES);
	tcase_add_loop_test(many, the_device_that_reaches_the_other_copies, 0, 4);
	tcase_add_loop_test(many, copiers_in_streams_of_any_device, first, ACCESSES);
	tcase_add_loop_test(many, numbers_from_another_device, first, ACCESSES);
	tcase_add_test(access, access_is_asked_for_each_job);
	tcase_add_loop_test(access, one_device_reaches_the_other, 0, 4);
	tcase_add_test(access, the_library_opens_what_it_may);
	tcase_add_test(access, access_that_another_thread_enables_first_is_used);
	tcase_add_loop_test(access, the_current_context_may_be_another_devices, 0, 2);
	tcase_add_loop_test(access, mapped_memory_of_another_device, 0, 3);
	tcase_add_test(access, each_mapping_of_a_row_has_its_own_access);
	tcase_add_test(access, entries_of_two_devices_are_two_launches);
	tcase_add_test(access, entries_of_two_contexts_are_two_launches);
	tcase_add_test(access, an_entry_into_a_closed_device_goes_by_a_kernel);
	tcase_add_loop_test(access, memory_of_a_device_that_is_not_used, 0, 2);
	tcase_add_test(access, copies_to_memory_that_is_closed);
	tcase_add_test(access, pools_of_another_device);
	tcase_add_test(access, each_block_has_its_own_access);
	tcase_add_loop_test(threads, two_threads_on_two_devices, first, ACCESSES);
	tcase_add_loop_test(threads, eight_threads_on_one_device, first, ACCESSES);
	tcase_add_loop_test(threads, copies_both_ways_at_once, first, ACCESSES);
	if (!real)
		add_stand_in_tests(streams, many, access, refused);
	return fixture_run(suite);
}
