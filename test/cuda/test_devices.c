/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two devices in one move, which reach each other or not: the bytes are right, no kernel touches the other
 * device's memory, and both go on working.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "support/fixture.h"
#include "support/gpu.h"

#define MUST(call) gpu_must(gpu.call, #call)

static CUcontext contexts[2];

/* Both devices' primary contexts; the first one is current. False if there is one device only. */
static bool open_devices(bool peers)
{
	int devices = 0;

	if (gpu.standin)
		gpu.standin->set(STANDIN_PEERS, peers);
	MUST(DeviceGetCount(&devices));
	if (devices < 2)
		return false;
	MUST(CtxGetCurrent(&contexts[0]));
	MUST(DevicePrimaryCtxRetain(&contexts[1], 1));
	return true;
}

static void close_devices(void)
{
	MUST(CtxSetCurrent(contexts[0]));
	MUST(DevicePrimaryCtxRelease(1));
}

static struct arena memory_on(int device, size_t bytes)
{
	struct arena arena;

	MUST(CtxSetCurrent(contexts[device]));
	arena_open(&arena, ARENA_DEVICE, bytes);
	MUST(CtxSetCurrent(contexts[0]));
	return arena;
}

static size_t launches(void)
{
	return gpu.standin ? gpu.standin->calls("cuLaunchKernel") : 0;
}

/* A stage with user memory on one device and packed memory on another. */
struct scene {
	struct stage stage;
	struct arena source, target, packed;
};

static void open_scene(struct scene *scene, const char *text, int user, int packed)
{
	fixture_open(&scene->stage, text, 2);
	scene->source = memory_on(user, scene->stage.memory_bytes);
	scene->target = memory_on(user, scene->stage.memory_bytes);
	scene->packed = memory_on(packed, scene->stage.bytes);
	stage_blank(&scene->stage);
	arena_write(&scene->source, 0, scene->stage.source_memory,
		    scene->stage.memory_bytes);
	arena_write(&scene->target, 0, scene->stage.target_memory,
		    scene->stage.memory_bytes);
}

static void *source_of(const struct scene *scene)
{
	return scene->source.memory + (scene->stage.source - scene->stage.source_memory);
}

static void *target_of(const struct scene *scene)
{
	return scene->target.memory + (scene->stage.target - scene->stage.target_memory);
}

static void check_packed(const struct scene *scene)
{
	unsigned char *got = malloc(scene->stage.bytes);

	arena_read(&scene->packed, 0, got, scene->stage.bytes);
	ck_assert(!memcmp(got, scene->stage.stream, scene->stage.bytes));
	free(got);
}

static void check_unpacked(struct scene *scene)
{
	arena_read(&scene->target, 0, scene->stage.target_memory,
		   scene->stage.memory_bytes);
	stage_deliver(&scene->stage, 0, scene->stage.bytes);
	fixture_arrived(&scene->stage);
}

static void close_scene(struct scene *scene)
{
	arena_close(&scene->source);
	arena_close(&scene->target);
	arena_close(&scene->packed);
	fixture_close(&scene->stage);
}

static const char *const texts[] = {
	"vector(20, 3, 5, double)",
	"contiguous(1000, int)",
	"indexed([1,2,1,3,1,2,1,2,1,5],[0,9,20,30,40,50,60,70,80,90],double)",
};

/* Case: type, which device has the user's memory, whether they are peers. */
START_TEST(user_and_packed_memory_on_two_devices)
{
	int user = _i / 3 % 2;
	struct scene scene;
	size_t moved;

	if (!open_devices(_i / 6))
		return;
	open_scene(&scene, texts[_i % 3], user, !user);
	size_t before = launches();
	ck_assert_msg(!dtconv_pack(scene.stage.type, 2, source_of(&scene),
				   scene.packed.memory, scene.stage.bytes, &moved),
		      "%s", fixture_error());
	check_packed(&scene);
	ck_assert_msg(!dtconv_unpack(scene.stage.type, 2, target_of(&scene),
				     scene.packed.memory, scene.stage.bytes, &moved),
		      "%s", fixture_error());
	check_unpacked(&scene);
	ck_assert_uint_eq(launches(), before);
	close_scene(&scene);
	close_devices();
}
END_TEST

/* Entries of each device, and between them both ways: one launch a device. */
START_TEST(a_batch_over_two_devices)
{
	struct dtconv_batch_entry entries[8];
	struct dtconv_batch *batch;
	struct scene scenes[8];

	if (!open_devices(_i))
		return;
	for (int i = 0; i < 8; i++) {
		struct scene *scene = &scenes[i];

		open_scene(scene, texts[i / 4], i % 4 / 2, i % 2);
		entries[i] = (struct dtconv_batch_entry){ .type = scene->stage.type,
							  .count = 2,
							  .buffer = source_of(scene),
							  .packed = scene->packed.memory,
							  .bytes = scene->stage.bytes };
	}
	ck_assert_int_eq(dtconv_batch_create(fixture_context, entries, 8, NULL, &batch),
			 0);
	for (int round = 0; round < 2; round++) {
		size_t before = launches();

		ck_assert_msg(!dtconv_batch_run(batch, NULL), "%s", fixture_error());
		ck_assert(!gpu.standin || launches() == before + 2);
	}
	dtconv_batch_destroy(batch);
	for (int i = 0; i < 8; i++) {
		check_packed(&scenes[i]);
		close_scene(&scenes[i]);
	}
	close_devices();
}
END_TEST

START_TEST(copies_from_one_device_to_another)
{
	struct scene from, to;
	size_t moved;

	if (!open_devices(_i))
		return;
	open_scene(&from, "vector(20, 3, 5, double)", 0, 0);
	open_scene(&to, "vector(30, 2, 7, double)", 1, 1);
	ck_assert_msg(!dtconv_copy(from.stage.type, 2, source_of(&from), to.stage.type, 2,
				   target_of(&to), &moved),
		      "%s", fixture_error());
	ck_assert_uint_eq(moved, from.stage.bytes);
	memcpy(to.stage.stream, from.stage.stream, moved);
	check_unpacked(&to);
	close_scene(&from);
	close_scene(&to);
	close_devices();
}
END_TEST

/* Blocks by absolute address: 1000 bytes on each device in turn. */
START_TEST(one_type_with_blocks_on_both_devices)
{
	const size_t lengths[2] = { 1000, 1000 };
	unsigned char bytes[2000], got[2000];
	struct dtconv_type *type;
	ptrdiff_t disps[2];
	size_t moved;

	if (!open_devices(_i))
		return;
	struct arena a = memory_on(0, 1000), b = memory_on(1, 1000),
		     packed = memory_on(0, 2000);
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)(i * 7 + i / 256);
	arena_write(&a, 0, bytes, 1000);
	arena_write(&b, 0, bytes + 1000, 1000);
	disps[0] = (ptrdiff_t)(uintptr_t)a.memory;
	disps[1] = (ptrdiff_t)(uintptr_t)b.memory;
	ck_assert_int_eq(dtconv_type_create_hindexed(
				 2, lengths, disps,
				 dtconv_type_predefined(fixture_context, DTCONV_BYTE),
				 &type),
			 0);
	ck_assert_int_eq(dtconv_type_commit(type), 0);
	ck_assert_msg(!dtconv_pack(type, 1, NULL, packed.memory, 2000, &moved), "%s",
		      fixture_error());
	arena_read(&packed, 0, got, 2000);
	ck_assert(!memcmp(got, bytes, 2000));
	dtconv_type_unref(type);
	arena_close(&a);
	arena_close(&b);
	arena_close(&packed);
	close_devices();
}
END_TEST

int main(void)
{
	setenv("CK_FORK", "yes", 1);
	gpu_find();
	Suite *suite = suite_create("devices");
	TCase *moves = fixture_case(suite, "moves", 30);

	tcase_add_checked_fixture(moves, gpu_open, NULL);
	tcase_add_loop_test(moves, user_and_packed_memory_on_two_devices, 0, 12);
	tcase_add_loop_test(moves, a_batch_over_two_devices, 0, 2);
	tcase_add_loop_test(moves, copies_from_one_device_to_another, 0, 2);
	tcase_add_loop_test(moves, one_type_with_blocks_on_both_devices, 0, 2);
	return fixture_run(suite);
}
