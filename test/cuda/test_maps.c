/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Maps of irregular layouts on a device: made when a job first needs one, found by later jobs, sorted for
 * unpacking, given back with the type; made by several threads at once; and driver calls and allocations that
 * fail meanwhile.
 */
#include "config.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "copy_backends/cuda/device/map.h"
#include "datatype/type.h"
#include "support/fixture.h"
#include "support/gpu.h"

/* ---- scenes ------------------------------------------------------------------------------ */

/* A stage whose memory is a device's; bytes before the user's side make addresses odd. */
struct scene {
	struct stage stage;
	struct arena user, packed;
	unsigned char *got;
	size_t shift;
};

#define SHIFT_MOST 16

static void open_scene_of(struct scene *scene, struct dtconv_type *type, size_t count)
{
	ck_assert_int_eq(stage_open(&scene->stage, type, count, 0, 0, 11), 0);
	scene->shift = 0;
	arena_open(&scene->user, ARENA_DEVICE, scene->stage.memory_bytes + SHIFT_MOST);
	arena_open(&scene->packed, ARENA_DEVICE, scene->stage.bytes);
	scene->got = malloc(scene->stage.memory_bytes + scene->stage.bytes);
	ck_assert_ptr_nonnull(scene->got);
}

static void open_scene(struct scene *scene, const char *text, size_t count)
{
	open_scene_of(scene, fixture_type(text), count);
}

static void close_arenas(struct scene *scene)
{
	free(scene->got);
	arena_close(&scene->user);
	arena_close(&scene->packed);
}

static void close_scene(struct scene *scene)
{
	close_arenas(scene);
	fixture_close(&scene->stage);
}

static void pack(struct scene *scene)
{
	const struct stage *stage = &scene->stage;

	arena_write(&scene->user, scene->shift, stage->source_memory,
		    stage->memory_bytes);
	fixture_ok(dtconv_pack(stage->type, stage->count,
			       scene->user.memory + scene->shift +
				       (stage->source - stage->source_memory),
			       scene->packed.memory, stage->bytes, NULL));
	arena_read(&scene->packed, 0, scene->got, stage->bytes);
	ck_assert(!memcmp(scene->got, stage->stream, stage->bytes));
}

/* The status, and if that is good, the right bytes and no others. */
static int try_unpack(struct scene *scene, struct dtconv_type *type)
{
	struct stage *stage = &scene->stage;

	stage_blank(stage);
	arena_write(&scene->user, scene->shift, stage->target_memory,
		    stage->memory_bytes);
	arena_write(&scene->packed, 0, stage->stream, stage->bytes);
	int status = dtconv_unpack(type, stage->count,
				   scene->user.memory + scene->shift +
					   (stage->target - stage->target_memory),
				   scene->packed.memory, stage->bytes, NULL);
	if (status)
		return status;
	arena_read(&scene->user, scene->shift, stage->target_memory, stage->memory_bytes);
	stage_deliver(stage, 0, stage->bytes);
	fixture_arrived(stage);
	return 0;
}

static void unpack(struct scene *scene)
{
	fixture_ok(try_unpack(scene, scene->stage.type));
}

/* ---- types ----------------------------------------------------------------------------------- */

/* Single numbers of @element, @count of them in a shuffled order; two at one place with @twice. */
static char *gather_text(const char *element, uint32_t count, bool twice)
{
	size_t room = 64 + 12 * (size_t)count, length;
	char *text = malloc(room);

	ck_assert_ptr_nonnull(text);
	length = (size_t)snprintf(text, room, "indexed_block(1, [");
	for (uint32_t i = 0; i < count; i++) {
		/* 7919 is prime, and divides no count here. */
		uint32_t place = (uint32_t)((uint64_t)i * 7919 % count);

		if (twice && place == 1)
			place = 0;
		length += (size_t)snprintf(text + length, room - length, "%s%u",
					   i ? "," : "", 2 * place + place % 3 / 2);
	}
	snprintf(text + length, room - length, "], %s)", element);
	return text;
}

static void open_gather(struct scene *scene, uint32_t numbers, bool twice, size_t count)
{
	char *text = gather_text("double", numbers, twice);

	open_scene(scene, text, count);
	free(text);
}

#define UNLIKE                                                                                \
	"struct([1, 1, 1], [0, 40000, 120000], [vector(900, 2, 5, int), "                     \
	"indexed([1,2,1,3,1,2,1,3,4,1], [0,2,7,9,13,15,19,23,29,40], vector(9, 1, 2, int)), " \
	"vector(300, 1, 3, double)])"

/* ---- one map --------------------------------------------------------------------------------- */

START_TEST(a_map_is_made_once_and_found_again)
{
	struct scene scene;

	open_scene(&scene, UNLIKE, 3);
	for (int round = 0; round < 4; round++) {
		pack(&scene);
		unpack(&scene);
	}
	const struct dtconv_counters counters = fixture_counters();
	ck_assert_uint_eq(counters.images_made, 1);
	ck_assert_uint_eq(counters.images_found, 7);
	ck_assert_uint_eq(counters.launches_mapped, 8);
	close_scene(&scene);
}
END_TEST

/* A list of equal blocks may be used once only: its first job takes the table that it has. */
START_TEST(a_list_has_a_map_when_it_is_used_again)
{
	struct scene scene;

	open_gather(&scene, 500, false, 2);
	pack(&scene);
	ck_assert_uint_eq(fixture_counters().images_made, 1);
	ck_assert_uint_eq(fixture_counters().launches_indexed, 1);
	for (uint64_t round = 1; round <= 2; round++) {
		unpack(&scene);
		ck_assert_uint_eq(fixture_counters().images_made, 2);
		ck_assert_uint_eq(fixture_counters().launches_mapped, round);
	}
	close_scene(&scene);
}
END_TEST

/* A graph repeats it. */
START_TEST(a_captured_list_has_a_map_at_once)
{
	CUstream stream = gpu_stream();
	const struct dtconv_convertor_params streamed = fixture_in_stream(stream);
	struct scene scene;
	CUgraph graph;

	open_gather(&scene, 500, false, 2);
	struct dtconv_convertor *packs =
		fixture_packer(scene.stage.type, 2, scene.user.memory, &streamed);
	MUST(StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	fixture_ok(dtconv_convertor_start(packs, scene.packed.memory, scene.stage.bytes,
					  NULL, NULL));
	MUST(StreamEndCapture(stream, &graph));
	ck_assert_uint_eq(fixture_counters().launches_mapped, 1);
	dtconv_convertor_destroy(packs);
	MUST(GraphDestroy(graph));
	MUST(StreamDestroy(stream));
	close_scene(&scene);
}
END_TEST

/* At addresses that are less aligned units are shorter; at odd ones there is no map. */
START_TEST(addresses_decide_the_units)
{
	static const struct {
		size_t shift;
		uint64_t made, mapped;
	} steps[] = { { 0, 2, 1 },  { 4, 3, 2 }, { 8, 3, 3 },
		      { 12, 3, 4 }, { 2, 3, 4 }, { 1, 3, 4 } };
	struct scene scene;

	open_gather(&scene, 500, false, 2);
	/* The first is the program. */
	pack(&scene);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		scene.shift = steps[i].shift;
		pack(&scene);
		ck_assert_uint_eq(fixture_counters().images_made, steps[i].made);
		ck_assert_uint_eq(fixture_counters().launches_mapped, steps[i].mapped);
	}
	close_scene(&scene);
}
END_TEST

static uint32_t find_filled(const struct dtconv_type *type, uint32_t unit, bool filled)
{
	struct dtc_cuda_context *device = dtc_cuda_of(fixture_context)->contexts;
	const struct dtc_cuda_map_request request = { .layout = dtc_type_layout(type),
						      .unit = unit,
						      .order = DTC_GPU_MAP_PACKED,
						      .filled = filled,
						      .caller = "a test" };
	struct dtc_gpu_map map;

	ck_assert_int_eq(dtc_cuda_map_find(device, &request, &map), 0);
	ck_assert_uint_eq(map.unit, unit);
	return map.filled;
}

/* Every second double, in any order: half of each sector. The first job that asks counts, no shorter one. */
START_TEST(sectors_are_counted_when_a_job_asks)
{
	static const char *const texts[] = {
		"indexed_block(1, [0,2,4,6,9,11,13,15,16,18,20,22], double)",
		"indexed_block(1, [22,20,18,16,15,13,11,9,6,4,2,0], double)",
		"indexed_block(1, [0,22,2,20,4,18,6,16,9,15,11,13], double)",
	};
	struct scene scene;

	open_scene(&scene, texts[_i], 1);
	pack(&scene);
	ck_assert_uint_eq(find_filled(scene.stage.type, 8, false), 0);
	const size_t before = fixture_allocations();
	ck_assert_uint_eq(find_filled(scene.stage.type, 8, false), 0);
	ck_assert_uint_eq(fixture_allocations(), before);
	ck_assert_uint_eq(find_filled(scene.stage.type, 8, true), 50);
	const size_t counted = fixture_allocations();
	ck_assert_uint_gt(counted, before);
	ck_assert_uint_eq(find_filled(scene.stage.type, 8, true), 50);
	ck_assert_uint_eq(fixture_allocations(), counted);
	close_scene(&scene);
}
END_TEST

START_TEST(sectors_of_a_long_list_are_counted_when_it_is_used_again)
{
	struct scene scene;

	open_gather(&scene, 20000, false, 1);
	pack(&scene);
	for (int i = 0; i < 4; i++)
		ck_assert_uint_eq(find_filled(scene.stage.type, 8, true), i < 2 ? 0 : 50);
	close_scene(&scene);
}
END_TEST

/* What the driver is asked for by one pack of a new type. */
static size_t allocations_of_a_new_map(void)
{
	size_t before = gpu.standin->calls("cuMemAlloc");
	struct scene scene;

	open_gather(&scene, 70000, false, 1);
	pack(&scene);
	pack(&scene);
	ck_assert_uint_gt(fixture_counters().launches_mapped, 0);
	close_scene(&scene);
	return gpu.standin->calls("cuMemAlloc") - before;
}

/* A map goes with its type, and its memory serves the next one: all of them need many chunks. */
START_TEST(memory_of_maps_is_used_again)
{
	if (!gpu.standin)
		return;
	allocations_of_a_new_map();
	size_t usual = allocations_of_a_new_map();
	for (int round = 0; round < 40; round++)
		ck_assert_uint_eq(allocations_of_a_new_map(), usual);
}
END_TEST

/* ---- sorted maps ------------------------------------------------------------------------------- */

/* Behind the first job, which takes the program: short maps are sorted at once, long ones when asked for three times. */
START_TEST(long_streams_are_unpacked_in_the_order_of_addresses)
{
	static const struct {
		uint32_t numbers;
		bool twice;
		size_t count;
		uint64_t made[3]; /* maps and the program, after each unpacking */
	} cases[] = {
		{ 5000, false, 14, { 3, 3, 3 } },
		{ 70000, false, 1, { 2, 2, 3 } },
		{ 5000, false, 13, { 2, 2, 2 } }, /* too short a stream */
		{ 5000, true, 14, { 2, 2, 2 } },
	};
	struct scene scene;

	open_gather(&scene, cases[_i].numbers, cases[_i].twice, cases[_i].count);
	pack(&scene);
	for (int round = 0; round < 3; round++) {
		unpack(&scene);
		ck_assert_uint_eq(fixture_counters().images_made, cases[_i].made[round]);
		pack(&scene);
		ck_assert_uint_eq(fixture_counters().images_made, cases[_i].made[round]);
	}
	ck_assert_uint_eq(fixture_counters().launches_mapped, 6);
	close_scene(&scene);
}
END_TEST

/* Fragments: those that are most of a period are sorted, and those that are not, too, find their bytes. */
START_TEST(fragments_of_a_sorted_stream_find_their_bytes)
{
	static const size_t fragments[] = { 600008, 40000, 1000, 100004 };
	struct dtconv_convertor *convertor;
	struct scene scene;

	open_gather(&scene, 9001, false, 20);
	struct stage *stage = &scene.stage;
	stage_blank(stage);
	arena_write(&scene.user, 0, stage->target_memory, stage->memory_bytes);
	arena_write(&scene.packed, 0, stage->stream, stage->bytes);
	fixture_ok(dtconv_convertor_create_unpack(
		stage->type, stage->count,
		scene.user.memory + (stage->target - stage->target_memory), &convertor));
	for (size_t i = 0, at = 0, moved; at < stage->bytes; i++, at += moved) {
		size_t bytes = fragments[i % 4];

		if (bytes > stage->bytes - at)
			bytes = stage->bytes - at;
		fixture_ok(dtconv_convertor_unpack(convertor, scene.packed.memory + at,
						   bytes, &moved));
	}
	dtconv_convertor_destroy(convertor);
	arena_read(&scene.user, 0, stage->target_memory, stage->memory_bytes);
	stage_deliver(stage, 0, stage->bytes);
	fixture_arrived(stage);
	close_scene(&scene);
}
END_TEST

/* ---- batches ----------------------------------------------------------------------------------- */

/* Short entries go together, by the program; a long one has a launch of its own, by a map. */
START_TEST(long_entries_of_a_batch_have_maps)
{
	struct dtconv_batch_entry entries[2] = { 0 };
	struct scene scenes[2];
	size_t failed;

	open_gather(&scenes[0], 500, false, 2);
	open_gather(&scenes[1], 500, false, _i ? 80 : 2);
	for (int i = 0; i < 2; i++) {
		struct stage *stage = &scenes[i].stage;

		arena_write(&scenes[i].user, 0, stage->source_memory,
			    stage->memory_bytes);
		entries[i] = (struct dtconv_batch_entry){
			.type = stage->type,
			.count = stage->count,
			.buffer = scenes[i].user.memory +
				  (stage->source - stage->source_memory),
			.packed = scenes[i].packed.memory,
			.bytes = stage->bytes,
			.direction = DTCONV_BATCH_PACK
		};
	}
	fixture_ok(dtconv_batch_move(fixture_context, entries, 2, NULL, &failed, NULL));
	for (int i = 0; i < 2; i++) {
		struct stage *stage = &scenes[i].stage;

		arena_read(&scenes[i].packed, 0, scenes[i].got, stage->bytes);
		ck_assert(!memcmp(scenes[i].got, stage->stream, stage->bytes));
	}
	/* Two programs, or one and a map. */
	ck_assert_uint_eq(fixture_counters().images_made, 2);
	ck_assert_uint_eq(fixture_counters().launches_mapped, (uint64_t)_i);
	ck_assert_uint_eq(fixture_counters().launches_many, 1);
	close_scene(&scenes[0]);
	close_scene(&scenes[1]);
}
END_TEST

/* ---- threads ----------------------------------------------------------------------------------- */

#define THREADS 4

static void *unpack_in_thread(void *arg)
{
	struct scene *scene = arg;
	int status = 0;

	for (int round = 0; !status && round < 3; round++)
		status = dtconv_unpack(scene->stage.type, scene->stage.count,
				       scene->user.memory + (scene->stage.target -
							     scene->stage.target_memory),
				       scene->packed.memory, scene->stage.bytes, NULL);
	return (void *)(intptr_t)status;
}

START_TEST(several_threads_make_a_map_at_once)
{
	struct dtconv_type *type;
	static struct scene scenes[THREADS];
	pthread_t threads[THREADS];
	char *text = gather_text("double", 20000, false);
	struct scene warm;
	void *status;

	/* The kernels are loaded before. */
	open_scene(&warm, "vector(2000, 1, 3, double)", 1);
	pack(&warm);
	close_scene(&warm);
	type = fixture_type(text);
	free(text);
	for (int i = 0; i < THREADS; i++) {
		struct stage *stage = &scenes[i].stage;

		open_scene_of(&scenes[i], dtconv_type_ref(type), 4);
		stage_blank(stage);
		arena_write(&scenes[i].user, 0, stage->target_memory,
			    stage->memory_bytes);
		arena_write(&scenes[i].packed, 0, stage->stream, stage->bytes);
	}
	dtconv_type_unref(type);
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, unpack_in_thread,
						&scenes[i]),
				 0);
	for (int i = 0; i < THREADS; i++) {
		struct stage *stage = &scenes[i].stage;

		pthread_join(threads[i], &status);
		ck_assert_ptr_null(status);
		arena_read(&scenes[i].user, 0, stage->target_memory, stage->memory_bytes);
		stage_deliver(stage, 0, stage->bytes);
		fixture_arrived(stage);
	}
	ck_assert_uint_ge(fixture_counters().images_made, 2);
	for (int i = 0; i < THREADS; i++)
		close_scene(&scenes[i]);
}
END_TEST

/* ---- faults ------------------------------------------------------------------------------------ */

/* Every call of the driver that sending the table takes, and making both maps, fails once. */
#define NTH_MOST 4

/* A scene whose bytes a type of another context moves: that goes when the driver is looked at. */
struct guest {
	struct dtconv_context *context;
	struct dtconv_type *type;
	struct scene scene;
};

/* Its type has been used @uses times: the next job takes its table, or the maps. */
static void open_guest(struct guest *guest, const struct dtconv_context_params *params,
		       int uses)
{
	char *text = gather_text("double", 5000, false);

	gpu_open();
	open_scene(&guest->scene, text, 14);
	fixture_ok(dtconv_context_create(params, &guest->context));
	guest->type = fixture_type_in(guest->context, text);
	free(text);
	for (int i = 0; i < uses; i++)
		fixture_ok(try_unpack(&guest->scene, guest->type));
}

static void close_guest(struct guest *guest, const char *faults)
{
	dtconv_type_unref(guest->type);
	dtconv_context_destroy(guest->context);
	close_scene(&guest->scene);
	gpu_must_be_clean(faults);
}

/* Answers whether the call was made. */
static bool refuse_call(const char *entry, unsigned nth, int uses)
{
	char sentence[512] = "";
	struct guest guest;

	open_guest(&guest, NULL, uses);
	unsigned before = gpu.standin->fired();
	gpu.standin->inject(entry, nth, CUDA_ERROR_OUT_OF_MEMORY);
	int status = try_unpack(&guest.scene, guest.type);
	bool fired = gpu.standin->fired() > before;
	gpu.standin->inject_clear();
	ck_assert_msg(status <= 0, "%s, call %u: status %d", entry, nth, status);
	dtconv_context_error(guest.context, sentence, sizeof(sentence));
	ck_assert_msg(!status || sentence[0], "%s, call %u: no sentence", entry, nth);
	gpu_must_be_idle(guest.context, entry);
	ck_assert_msg(!try_unpack(&guest.scene, guest.type),
		      "%s, call %u: the next job fails too", entry, nth);
	close_guest(&guest, entry);
	return fired;
}

START_TEST(a_refused_call_fails_its_job_and_nothing_else)
{
	for (int uses = 0; uses < 2; uses++)
		for (unsigned nth = 1; nth <= NTH_MOST; nth++)
			if (!refuse_call(gpu_entries[_i], nth, uses))
				break;
}
END_TEST

/* An allocator that refuses one call. */
static struct {
	atomic_size_t granted, live;
} allocator;

static void *grant(void *arg, size_t bytes)
{
	(void)arg;
	if (atomic_fetch_sub(&allocator.granted, 1) == 0)
		return NULL;
	atomic_fetch_add(&allocator.live, 1);
	return malloc(bytes);
}

static void take_back(void *arg, void *memory)
{
	(void)arg;
	atomic_fetch_sub(&allocator.live, memory != NULL);
	free(memory);
}

/* Answers whether the allocation was asked for. */
static bool refuse_allocation(size_t granted, int uses)
{
	const struct dtconv_context_params params = {
		.struct_size = sizeof(params), .allocator = { grant, take_back, NULL }
	};
	struct guest guest;

	atomic_store(&allocator.granted, SIZE_MAX);
	open_guest(&guest, &params, uses);
	atomic_store(&allocator.granted, granted);
	int status = try_unpack(&guest.scene, guest.type);
	bool refused = atomic_exchange(&allocator.granted, SIZE_MAX) > granted;
	ck_assert_msg(!status || (refused && status == DTCONV_ERR_NOMEM),
		      "allocation %zu: status %d", granted, status);
	ck_assert_msg(!try_unpack(&guest.scene, guest.type),
		      "allocation %zu: the next job fails too", granted);
	close_guest(&guest, "an allocator that refuses");
	ck_assert_uint_eq(atomic_load(&allocator.live), 0);
	return refused;
}

START_TEST(a_refused_allocation_fails_its_job_and_nothing_else)
{
	const size_t least[] = { 2, 4 };
	size_t granted = 0;

	while (refuse_allocation(granted, _i))
		granted++;
	ck_assert_uint_gt(granted, least[_i]);
}
END_TEST

int main(void)
{
	setenv("CK_FORK", "yes", 1);
	gpu_find();
	Suite *suite = suite_create("maps");
	TCase *maps = gpu_case(suite, "maps", 60);

	tcase_add_test(maps, a_map_is_made_once_and_found_again);
	tcase_add_test(maps, a_list_has_a_map_when_it_is_used_again);
	tcase_add_test(maps, a_captured_list_has_a_map_at_once);
	tcase_add_test(maps, addresses_decide_the_units);
	tcase_add_loop_test(maps, sectors_are_counted_when_a_job_asks, 0, 3);
	tcase_add_test(maps, sectors_of_a_long_list_are_counted_when_it_is_used_again);
	tcase_add_test(maps, memory_of_maps_is_used_again);
	tcase_add_loop_test(maps, long_streams_are_unpacked_in_the_order_of_addresses, 0,
			    4);
	tcase_add_test(maps, fragments_of_a_sorted_stream_find_their_bytes);
	tcase_add_loop_test(maps, long_entries_of_a_batch_have_maps, 0, 2);
	tcase_add_test(maps, several_threads_make_a_map_at_once);
	if (!gpu_is_real()) {
		TCase *faults = fixture_case(suite, "faults", 120);

		tcase_add_loop_test(faults, a_refused_call_fails_its_job_and_nothing_else,
				    0, gpu_entry_count);
		tcase_add_loop_test(faults,
				    a_refused_allocation_fails_its_job_and_nothing_else,
				    0, 2);
	}
	return fixture_run(suite);
}
