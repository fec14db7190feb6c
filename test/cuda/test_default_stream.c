/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The legacy default stream: cudaMemset, then pack. Behind a kernel that still runs, the application sets both sides'
 * memory in the default stream and moves at once. Without a word about streams the move overtakes that; with
 * DTCONV_CONTEXT_DEFAULT_STREAM, or on the stream by name, it does not, however it is asked for.
 */
#include "config.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/fixture.h"
#include "support/gpu.h"

#define TEXT   "vector(200, 3, 5, double)"
#define BLOCKS 200 /* of 24 bytes, 40 apart */
#define SPAN   ((size_t)BLOCKS * 40)
#define PACKED ((size_t)BLOCKS * 24)

enum { OLD = 0x11, OVERWRITTEN = 0x22, NEW = 0x33 };

/* ---- ways to move ------------------------------------------------------------------------ */

enum way {
	ONE_SHOT,
	FRAGMENTS,
	STARTED,
	CONVERTED,
	SUMMED_UP,
	COPIED,
	COPIED_BETWEEN_LAYOUTS,
	BATCH,
	WAYS
};

static const char *const ways[WAYS] = { "one shot",    "fragments", "started",
					"converted",   "summed up", "copied",
					"two layouts", "batch" };

struct scene {
	enum way way;
	bool packs;
	bool is_run; /* the user's memory, too */
	struct dtconv_type *type, *row;
	struct arena user, packed;
};

static void move_one_shot(const struct scene *scene)
{
	if (scene->packs)
		fixture_ok(dtconv_pack(scene->type, 1, scene->user.memory,
				       scene->packed.memory, PACKED, NULL));
	else
		fixture_ok(dtconv_unpack(scene->type, 1, scene->user.memory,
					 scene->packed.memory, PACKED, NULL));
}

static struct dtconv_convertor *convertor_of(const struct scene *scene,
					     const struct dtconv_convertor_params *params)
{
	return scene->packs
		       ? fixture_packer(scene->type, 1, scene->user.memory, params)
		       : fixture_unpacker(scene->type, 1, scene->user.memory, params);
}

static void move_fragment(const struct scene *scene, struct dtconv_convertor *convertor,
			  size_t begin, size_t end)
{
	unsigned char *packed = scene->packed.memory + begin;
	size_t moved;

	if (scene->packs)
		fixture_ok(dtconv_convertor_pack(convertor, packed, end - begin, &moved));
	else
		fixture_ok(
			dtconv_convertor_unpack(convertor, packed, end - begin, &moved));
	ck_assert_uint_eq(moved, end - begin);
}

static void move_with(const struct scene *scene,
		      const struct dtconv_convertor_params *params)
{
	struct dtconv_convertor *convertor = convertor_of(scene, params);
	uint32_t crc;

	move_fragment(scene, convertor, 0, PACKED / 3);
	move_fragment(scene, convertor, PACKED / 3, PACKED);
	if (params->flags & DTCONV_CONVERTOR_CRC32C) {
		unsigned char expected[PACKED];

		memset(expected, NEW, sizeof(expected));
		fixture_ok(dtconv_convertor_crc32c(convertor, &crc));
		ck_assert_uint_eq(crc, dtconv_crc32c(0, expected, sizeof(expected)));
	}
	dtconv_convertor_destroy(convertor);
}

static void move_started(const struct scene *scene)
{
	const struct dtconv_convertor_params params = { .struct_size = sizeof(params) };
	struct dtconv_convertor *convertor = convertor_of(scene, &params);
	size_t moved;

	fixture_ok(dtconv_convertor_start(convertor, scene->packed.memory, PACKED, NULL,
					  NULL));
	fixture_ok(dtconv_convertor_wait(convertor, &moved));
	ck_assert_uint_eq(moved, PACKED);
	dtconv_convertor_destroy(convertor);
}

static void move_copied(const struct scene *scene, struct dtconv_type *row)
{
	if (scene->packs)
		fixture_ok(dtconv_copy(scene->type, 1, scene->user.memory, row, 1,
				       scene->packed.memory, NULL));
	else
		fixture_ok(dtconv_copy(row, 1, scene->packed.memory, scene->type, 1,
				       scene->user.memory, NULL));
}

static void move_batch(const struct scene *scene)
{
	const struct dtconv_batch_entry entry = {
		.type = scene->type,
		.count = 1,
		.buffer = scene->user.memory,
		.packed = scene->packed.memory,
		.bytes = PACKED,
		.direction = scene->packs ? DTCONV_BATCH_PACK : DTCONV_BATCH_UNPACK
	};
	struct dtconv_batch *batch;

	fixture_ok(dtconv_batch_create(fixture_context, &entry, 1, NULL, &batch));
	fixture_ok(dtconv_batch_run(batch, NULL));
	dtconv_batch_destroy(batch);
}

static void move(const struct scene *scene)
{
	struct dtconv_convertor_params params = { .struct_size = sizeof(params) };
	struct dtconv_representation external32;

	switch (scene->way) {
	case ONE_SHOT:
		move_one_shot(scene);
		break;
	case STARTED:
		move_started(scene);
		break;
	case COPIED:
	case COPIED_BETWEEN_LAYOUTS:
		move_copied(scene, scene->row);
		break;
	case BATCH:
		move_batch(scene);
		break;
	case CONVERTED:
		fixture_ok(dtconv_representation_find("external32", &external32));
		params.representation = &external32;
		move_with(scene, &params);
		break;
	default:
		params.flags = scene->way == SUMMED_UP ? DTCONV_CONVERTOR_CRC32C : 0;
		move_with(scene, &params);
	}
}

/* ---- the application --------------------------------------------------------------------- */

/* As cudaMemset does; what only the host accesses is set at once. */
static void set(const struct arena *arena, int value)
{
	if (arena->kind == ARENA_HOST)
		memset(arena->memory, value, arena->bytes);
	else
		MUST(MemsetD8Async((CUdeviceptr)(uintptr_t)arena->memory,
				   (unsigned char)value, arena->bytes, NULL));
}

static void scene_open(struct scene *scene, enum arena_kind user, enum arena_kind packed)
{
	scene->type = fixture_type(scene->is_run ? "contiguous(600, double)" : TEXT);
	scene->row = fixture_type(scene->way == COPIED_BETWEEN_LAYOUTS
					  ? "vector(100, 6, 7, double)"
					  : "contiguous(600, double)");
	arena_open(&scene->user, user, SPAN);
	arena_open(&scene->packed, packed, SPAN);
	/* The first job loads kernels, which waits for an idle device. */
	set(&scene->user, OLD);
	set(&scene->packed, OLD);
	MUST(CtxSynchronize());
	move(&(struct scene){ .way = ONE_SHOT,
			      .packs = scene->packs,
			      .type = scene->type,
			      .user = scene->user,
			      .packed = scene->packed });
	MUST(CtxSynchronize());
}

static void scene_close(struct scene *scene)
{
	arena_close(&scene->user);
	arena_close(&scene->packed);
	dtconv_type_unref(scene->type);
	dtconv_type_unref(scene->row);
}

/* Byte @i of the packed stream in memory of the side that was written. */
static size_t place_of(const struct scene *scene, size_t i)
{
	if (scene->is_run)
		return i;
	if (!scene->packs)
		return i / 24 * 40 + i % 24;
	return scene->way == COPIED_BETWEEN_LAYOUTS ? i / 48 * 56 + i % 48 : i;
}

static void check(const struct scene *scene, int value, const char *what)
{
	const struct arena *written = scene->packs ? &scene->packed : &scene->user;
	unsigned char got[SPAN];

	arena_read(written, 0, got, SPAN);
	for (size_t i = 0; i < PACKED; i++)
		ck_assert_msg(got[place_of(scene, i)] == value,
			      "%s, %s to %s, %s: byte %zu is 0x%x", ways[scene->way],
			      arena_kind_names[scene->user.kind],
			      arena_kind_names[scene->packed.kind], what, i,
			      got[place_of(scene, i)]);
}

static void *release_soon(void *spin)
{
	gpu_nap(10);
	spin_release(spin);
	return NULL;
}

/* What the move reads gets NEW, what it writes is overwritten before, both behind the kernel. */
static void produce(const struct scene *scene, struct spin *spin)
{
	spin_begin(spin, NULL);
	set(scene->packs ? &scene->packed : &scene->user, OVERWRITTEN);
	set(scene->packs ? &scene->user : &scene->packed, NEW);
}

static void check_order(struct scene *scene, enum arena_kind user, enum arena_kind packed)
{
	pthread_t thread;
	struct spin spin;

	scene_open(scene, user, packed);
	produce(scene, &spin);
	ck_assert_int_eq(pthread_create(&thread, NULL, release_soon, &spin), 0);
	move(scene);
	pthread_join(thread, NULL);
	spin_end(&spin);
	check(scene, NEW, scene->packs ? "pack" : "unpack");
	scene_close(scene);
}

/* ---- cases ------------------------------------------------------------------------------- */

static const enum arena_kind kinds[] = { ARENA_HOST, ARENA_PINNED, ARENA_MANAGED,
					 ARENA_DEVICE };

#define KINDS (int)(sizeof(kinds) / sizeof(kinds[0]))

START_TEST(with_the_flag_every_move_is_behind_the_default_stream)
{
	/* Of ordinary memory on both sides nothing is in a stream's order. */
	for (int pair = 1; pair < KINDS * KINDS; pair++)
		for (int packs = 0; packs < 2; packs++) {
			struct scene scene = { .way = (enum way)_i, .packs = packs };

			check_order(&scene, kinds[pair / KINDS], kinds[pair % KINDS]);
		}
}
END_TEST

/* The default stream goes on behind the move: what overwrites its source is later. */
START_TEST(with_the_flag_later_work_of_the_default_stream_waits)
{
	const struct dtconv_convertor_params params = { .struct_size = sizeof(params) };
	struct scene scene = { .way = STARTED, .packs = true };
	struct spin spin;
	size_t moved;

	scene_open(&scene, ARENA_DEVICE, kinds[_i]);
	spin_begin(&spin, NULL);
	set(&scene.user, NEW);
	struct dtconv_convertor *convertor = convertor_of(&scene, &params);
	fixture_ok(dtconv_convertor_start(convertor, scene.packed.memory, PACKED, NULL,
					  NULL));
	set(&scene.user, OLD);
	gpu_nap(20);
	fixture_status(dtconv_convertor_test(convertor, &moved), DTCONV_INPROGRESS);
	spin_release(&spin);
	fixture_ok(dtconv_convertor_wait(convertor, &moved));
	spin_end(&spin);
	check(&scene, NEW, "later work");
	dtconv_convertor_destroy(convertor);
	scene_close(&scene);
}
END_TEST

/* Programs for a device are uploaded in a stream that is ordered behind no other. */
START_TEST(with_the_flag_a_job_of_another_stream_does_not_wait)
{
	static const char text[] =
		"indexed([1,2,1,3,1,2,1,2,1,5],[0,9,20,30,40,50,60,70,80,90],double)";
	CUstream stream = gpu_stream();
	const struct dtconv_convertor_params params = fixture_in_stream(stream);
	struct scene scene = { .way = ONE_SHOT, .packs = true };
	struct spin spin;
	struct arena user, packed;
	size_t moved;

	scene_open(&scene, ARENA_DEVICE, ARENA_DEVICE);
	struct dtconv_type *table = fixture_type(text);
	arena_open(&user, ARENA_DEVICE, 800 * 40);
	arena_open(&packed, ARENA_DEVICE, 800 * 40);
	MUST(CtxSynchronize());
	spin_begin(&spin, NULL);
	fixture_ok(dtconv_pack_with(table, 40, user.memory, packed.memory, 800 * 40,
				    &params, &moved));
	ck_assert_uint_gt(moved, 0);
	ck_assert_int_eq((int)gpu.StreamQuery(NULL), CUDA_ERROR_NOT_READY);
	spin_end(&spin);
	dtconv_type_unref(table);
	arena_close(&user);
	arena_close(&packed);
	scene_close(&scene);
	MUST(StreamDestroy(stream));
}
END_TEST

/* That is why it is said so often. */
START_TEST(without_the_flag_a_pack_overtakes_the_default_stream)
{
	struct scene scene = { .way = ONE_SHOT, .packs = true };
	struct spin spin;

	scene_open(&scene, ARENA_DEVICE, ARENA_DEVICE);
	spin_begin(&spin, NULL);
	set(&scene.user, NEW);
	move(&scene);
	ck_assert_int_eq((int)gpu.StreamQuery(NULL), CUDA_ERROR_NOT_READY);
	spin_end(&spin);
	check(&scene, OLD, "unordered");
	scene_close(&scene);
}
END_TEST

static void move_on(const struct scene *scene, void *stream, size_t *moved)
{
	if (scene->packs)
		fixture_ok(dtconv_pack_on_stream(scene->type, 1, scene->user.memory,
						 scene->packed.memory, PACKED, stream,
						 moved));
	else
		fixture_ok(dtconv_unpack_on_stream(scene->type, 1, scene->user.memory,
						   scene->packed.memory, PACKED, stream,
						   moved));
}

/* The thread's own default stream waits for the legacy one, and that is what NULL is. */
START_TEST(a_call_on_a_default_stream_is_behind_it)
{
	static void *const streams[] = { NULL, DTCONV_STREAM_LEGACY,
					 DTCONV_STREAM_PER_THREAD };

	for (int pair = 1; pair < KINDS * KINDS; pair++)
		for (int packs = 0; packs < 2; packs++) {
			struct scene scene = { .way = ONE_SHOT, .packs = packs };
			pthread_t thread;
			struct spin spin;
			size_t moved;

			scene_open(&scene, kinds[pair / KINDS], kinds[pair % KINDS]);
			produce(&scene, &spin);
			ck_assert_int_eq(
				pthread_create(&thread, NULL, release_soon, &spin), 0);
			move_on(&scene, streams[_i], &moved);
			ck_assert_uint_eq(moved, PACKED);
			pthread_join(thread, NULL);
			spin_end(&spin);
			check(&scene, NEW, "on a stream");
			scene_close(&scene);
		}
}
END_TEST

START_TEST(the_names_of_default_streams_are_the_drivers)
{
	ck_assert_ptr_eq(DTCONV_STREAM_LEGACY, CU_STREAM_LEGACY);
	ck_assert_ptr_eq(DTCONV_STREAM_PER_THREAD, CU_STREAM_PER_THREAD);
}
END_TEST

/* The amounts and failures of one-shot calls. */
START_TEST(calls_on_a_stream_fail_as_others_do)
{
	struct scene scene = { .way = ONE_SHOT, .packs = true };
	size_t moved = 12345;

	scene_open(&scene, ARENA_DEVICE, ARENA_DEVICE);
	fixture_status(dtconv_pack_on_stream(scene.type, 1, scene.user.memory,
					     scene.packed.memory, PACKED - 8, NULL,
					     &moved),
		       DTCONV_ERR_TRUNCATE);
	ck_assert_uint_eq(moved, PACKED - 8);
	ck_assert_ptr_nonnull(strstr(fixture_error(), "dtconv_pack_on_stream"));
	fixture_status(dtconv_unpack_on_stream(scene.type, 1, scene.user.memory,
					       scene.packed.memory, PACKED + 8, NULL,
					       &moved),
		       DTCONV_ERR_TRUNCATE);
	ck_assert_uint_eq(moved, PACKED);
	ck_assert_ptr_nonnull(strstr(fixture_error(), "dtconv_unpack_on_stream"));
	scene_close(&scene);
}
END_TEST

/* ---- two devices ------------------------------------------------------------------------- */

enum access { NONE, CLOSED, FROM_THE_SECOND, GIVEN, ACCESSES };

/* False if there are no such devices. */
static bool open_devices(enum access access, CUcontext *first, CUcontext *second)
{
	int devices, can = 1;

	if (gpu.standin)
		gpu.standin->set(STANDIN_PEERS, access != NONE);
	MUST(DeviceGetCount(&devices));
	if (devices < 2)
		return false;
	MUST(DeviceCanAccessPeer(&can, 1, 0));
	if (!can && access > CLOSED)
		return false;
	MUST(CtxGetCurrent(first));
	MUST(DevicePrimaryCtxRetain(second, 1));
	if (access == GIVEN)
		MUST(CtxEnablePeerAccess(*second, 0));
	MUST(CtxSetCurrent(*second));
	if (access > CLOSED)
		MUST(CtxEnablePeerAccess(*first, 0));
	MUST(CtxSetCurrent(*first));
	return true;
}

/* The order is that of the device which owns the user's memory; it waits there before another one goes on. */
START_TEST(between_devices_a_move_is_behind_the_default_stream)
{
	struct scene scene = { .way = ONE_SHOT, .packs = _i % 2, .is_run = _i / 2 % 2 };
	CUcontext first, second;
	pthread_t thread;
	struct spin spin;

	if (!open_devices((enum access)(_i / 4), &first, &second))
		return;
	scene_open(&scene, ARENA_DEVICE, ARENA_DEVICE);
	arena_close(&scene.packed);
	MUST(CtxSetCurrent(second));
	arena_open(&scene.packed, ARENA_DEVICE, SPAN);
	set(&scene.packed, scene.packs ? OLD : NEW);
	MUST(CtxSynchronize());
	MUST(CtxSetCurrent(first));
	move_one_shot(&scene);
	spin_begin(&spin, NULL);
	set(&scene.user, scene.packs ? NEW : OVERWRITTEN);
	ck_assert_int_eq(pthread_create(&thread, NULL, release_soon, &spin), 0);
	move_one_shot(&scene);
	pthread_join(thread, NULL);
	spin_end(&spin);
	check(&scene, NEW, "two devices");
	scene_close(&scene);
	MUST(DevicePrimaryCtxRelease(1));
}
END_TEST

static Suite *ordered_suite(void)
{
	Suite *suite = suite_create("default stream, by the flag");
	TCase *flag = gpu_case(suite, "flag", 60);

	tcase_add_loop_test(flag, with_the_flag_every_move_is_behind_the_default_stream,
			    0, WAYS);
	tcase_add_loop_test(flag, with_the_flag_later_work_of_the_default_stream_waits, 0,
			    KINDS);
	tcase_add_test(flag, with_the_flag_a_job_of_another_stream_does_not_wait);
	tcase_add_loop_test(flag, between_devices_a_move_is_behind_the_default_stream, 0,
			    4 * ACCESSES);
	return suite;
}

static Suite *named_suite(void)
{
	Suite *suite = suite_create("default stream, by name");
	TCase *name = gpu_case(suite, "name", 60);

	tcase_add_test(name, without_the_flag_a_pack_overtakes_the_default_stream);
	tcase_add_loop_test(name, a_call_on_a_default_stream_is_behind_it, 0, 3);
	tcase_add_test(name, the_names_of_default_streams_are_the_drivers);
	tcase_add_test(name, calls_on_a_stream_fail_as_others_do);
	return suite;
}

int main(void)
{
	setenv("CK_FORK", "yes", 1);
	gpu_find();
	int failed = fixture_run(named_suite());
	fixture_flags = DTCONV_CONTEXT_DEFAULT_STREAM;
	return fixture_run(ordered_suite()) || failed;
}
