/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The context's allocator refuses one call, each in turn, while memory of a device is moved for the first
 * time: the answer is NOMEM or the right bytes, nothing is left behind, and the same once more works. Giving
 * back takes no memory.
 */
#include "config.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "copy_backends/cuda/device/arena.h"
#include "support/fixture.h"
#include "support/gpu.h"

/* ---- an allocator that refuses ------------------------------------------------------------- */

/* So many calls are granted, the next is refused, once, or all; and what has not come back. */
static struct {
	atomic_size_t granted, live;
	atomic_bool closed;
} allocator;

static void *grant(void *arg, size_t bytes)
{
	(void)arg;
	if (atomic_load(&allocator.closed) ||
	    atomic_fetch_sub(&allocator.granted, 1) == 0)
		return NULL;
	atomic_fetch_add(&allocator.live, 1);
	return malloc(bytes);
}

static void take_back(void *arg, void *memory)
{
	(void)arg;
	atomic_fetch_sub(&allocator.live, 1);
	free(memory);
}

/* ---- deeds --------------------------------------------------------------------------------- */

/* Doubles, every second one of which a type is; and room for two of its streams. */
#define NUMBERS      6000
#define PACKED_BYTES (NUMBERS * sizeof(double))
#define USER_BYTES   (2 * PACKED_BYTES)
#define ROOM         (2 * PACKED_BYTES)

struct place {
	struct dtconv_context *context;
	struct dtconv_type *type;
	char *user, *packed;
};

static const struct dtconv_convertor_params plain = { .struct_size = sizeof(plain) };

static int pack_with(const struct place *place,
		     const struct dtconv_convertor_params *params)
{
	return dtconv_pack_with(place->type, 1, place->user, place->packed, PACKED_BYTES,
				params, NULL);
}

static int pack(const struct place *place)
{
	return pack_with(place, &plain);
}

static int unpack(const struct place *place)
{
	return dtconv_unpack_with(place->type, 1, place->user, place->packed,
				  PACKED_BYTES, &plain, NULL);
}

static int relay(const struct place *place)
{
	struct dtconv_convertor_params params = plain;

	params.backends = "cuda_relay,cuda_staged,host";
	return pack_with(place, &params);
}

static int pack_external32(const struct place *place)
{
	struct dtconv_convertor_params params = plain;
	struct dtconv_representation external32;

	fixture_ok(dtconv_representation_find("external32", &external32));
	params.representation = &external32;
	return pack_with(place, &params);
}

static int add(const struct place *place)
{
	struct dtconv_convertor_params params = plain;

	params.op = DTCONV_OP_SUM;
	return dtconv_unpack_with(place->type, 1, place->user, place->packed,
				  PACKED_BYTES, &params, NULL);
}

static int pack_checksummed(const struct place *place)
{
	struct dtconv_convertor_params params = plain;

	params.flags = DTCONV_CONVERTOR_CRC32C;
	return pack_with(place, &params);
}

/* Two fragments; the second one's size is odd. */
static int start_fragments(const struct place *place)
{
	struct dtconv_convertor *convertor;
	size_t moved = 0, half = PACKED_BYTES / 2 + 3;
	int status =
		dtconv_convertor_create_pack(place->type, 1, place->user, &convertor);

	if (status)
		return status;
	for (size_t at = 0; !status && at < PACKED_BYTES; at += moved) {
		status = dtconv_convertor_start(convertor, place->packed + at, half, NULL,
						NULL);
		if (!status)
			status = dtconv_convertor_wait(convertor, &moved);
	}
	dtconv_convertor_destroy(convertor);
	return status;
}

/* The same stream twice. */
static int move_batch(const struct place *place)
{
	struct dtconv_batch_entry entries[2] = { 0 };
	size_t failed;

	for (size_t i = 0; i < 2; i++)
		entries[i] =
			(struct dtconv_batch_entry){ .type = place->type,
						     .count = 1,
						     .buffer = place->user,
						     .packed = place->packed +
							       i * PACKED_BYTES,
						     .bytes = PACKED_BYTES,
						     .direction = DTCONV_BATCH_PACK };
	return dtconv_batch_move(place->context, entries, 2, NULL, &failed, NULL);
}

/* From every second double to blocks of 3 of 5. */
static int copy(const struct place *place)
{
	static const char text[] = "vector(2000, 3, 5, double)";
	struct dtconv_type *target;
	int status = dtconv_type_parse(place->context, text, strlen(text), &target);

	if (status)
		return status;
	status = dtconv_type_commit(target);
	if (!status)
		status = dtconv_copy(place->type, 1, place->user, target, 1,
				     place->packed, NULL);
	dtconv_type_unref(target);
	return status;
}

static int query(const struct place *place)
{
	struct dtconv_memory_attr attr = { .struct_size = sizeof(attr) };
	int status = dtconv_memory_query(place->context, place->user, &attr);

	ck_assert(status || attr.kind);
	return status;
}

/* For both kinds of packed memory, and all kernels. */
static int prepare(const struct place *place)
{
	struct dtconv_convertor_params params = plain;

	params.flags = DTCONV_CONVERTOR_CRC32C;
	int status = dtconv_prepare(place->context, -1, place->type, 1, &params);
	params.packed_memory = DTCONV_MEMORY_HOST;
	return status ? status
		      : dtconv_prepare(place->context, -1, place->type, 1, &params);
}

static const struct {
	const char *name;
	int (*deed)(const struct place *place);
	enum arena_kind packed;
	unsigned flags;
} deeds[] = {
	{ "query", query, ARENA_DEVICE, 0 },
	{ "prepare", prepare, ARENA_DEVICE, 0 },
	{ "prepare in graphs", prepare, ARENA_DEVICE, DTCONV_CONTEXT_GRAPHS },
	{ "pack", pack, ARENA_DEVICE, 0 },
	{ "pack, resident", pack, ARENA_DEVICE, DTCONV_CONTEXT_RESIDENT },
	{ "pack, in graphs", pack, ARENA_DEVICE, DTCONV_CONTEXT_GRAPHS },
	{ "pack to the host", pack, ARENA_HOST, 0 },
	{ "pack to pinned memory by a relay", relay, ARENA_PINNED, 0 },
	{ "unpack", unpack, ARENA_DEVICE, 0 },
	{ "unpack from the host", unpack, ARENA_HOST, 0 },
	{ "external32", pack_external32, ARENA_DEVICE, 0 },
	{ "external32 to the host", pack_external32, ARENA_HOST, 0 },
	{ "sum", add, ARENA_DEVICE, 0 },
	{ "checksum", pack_checksummed, ARENA_DEVICE, 0 },
	{ "checksum to the host", pack_checksummed, ARENA_HOST, 0 },
	{ "fragments", start_fragments, ARENA_DEVICE, 0 },
	{ "fragments to the host", start_fragments, ARENA_HOST, 0 },
	{ "batch", move_batch, ARENA_DEVICE, 0 },
	{ "copy", copy, ARENA_DEVICE, 0 },
};

#define DEEDS (sizeof(deeds) / sizeof(deeds[0]))

/* The types: a strip, and a list that kernels read from the device's memory. */
static struct dtconv_type *make_type(struct dtconv_context *context, bool list)
{
	struct dtconv_type *number = dtconv_type_predefined(context, DTCONV_DOUBLE),
			   *type;
	static ptrdiff_t at[NUMBERS];

	for (int i = 0; i < NUMBERS; i++)
		at[i] = 2 * i + i % 3 / 2;
	int status =
		list ? dtconv_type_create_indexed_block(NUMBERS, 1, at, number, &type)
		     : dtconv_type_create_vector(NUMBERS, 1, 2, number, &type);
	ck_assert_int_eq(status, 0);
	fixture_ok(dtconv_type_commit(type));
	return type;
}

/* ---- one deed ------------------------------------------------------------------------------ */

/* What both sides hold, before and after. */
struct bytes {
	unsigned char user[USER_BYTES], packed[ROOM];
};

static void fill(struct bytes *bytes)
{
	double value;

	for (size_t i = 0; i < sizeof(*bytes) / sizeof(value); i++) {
		value = (double)(i * 7 % 1001);
		memcpy((unsigned char *)bytes + i * sizeof(value), &value, sizeof(value));
	}
}

/* What the deed makes of memory of the host, in a process without a driver as far as the library is told. */
static void do_on_host(size_t deed, bool list, struct bytes *bytes)
{
	const struct dtconv_context_params params = {
		.struct_size = sizeof(params), .flags = DTCONV_CONTEXT_HOST_MEMORY
	};
	struct place place = { .user = (char *)bytes->user,
			       .packed = (char *)bytes->packed };

	fixture_ok(dtconv_context_create(&params, &place.context));
	place.type = make_type(place.context, list);
	/* A device is all that is prepared. */
	if (deeds[deed].deed != prepare)
		ck_assert_int_eq(deeds[deed].deed == relay ? pack(&place)
							   : deeds[deed].deed(&place),
				 0);
	dtconv_type_unref(place.type);
	dtconv_context_destroy(place.context);
}

struct scene {
	struct place place;
	struct arena user, packed;
	struct bytes before, after, expected;
};

static void open_scene(struct scene *scene, size_t deed, bool list)
{
	const struct dtconv_context_params params = { .struct_size = sizeof(params),
						      .allocator = { grant, take_back,
								     NULL },
						      .flags = deeds[deed].flags };

	fill(&scene->before);
	scene->expected = scene->before;
	do_on_host(deed, list, &scene->expected);
	arena_open(&scene->user, ARENA_DEVICE, USER_BYTES);
	arena_open(&scene->packed, deeds[deed].packed, ROOM);
	atomic_store(&allocator.granted, SIZE_MAX);
	fixture_ok(dtconv_context_create(&params, &scene->place.context));
	scene->place.type = make_type(scene->place.context, list);
	scene->place.user = (char *)scene->user.memory;
	scene->place.packed = (char *)scene->packed.memory;
}

static void close_scene(struct scene *scene)
{
	dtconv_type_unref(scene->place.type);
	dtconv_context_destroy(scene->place.context);
	ck_assert_uint_eq(atomic_load(&allocator.live), 0);
	arena_close(&scene->user);
	arena_close(&scene->packed);
}

static int attempt(struct scene *scene, size_t deed)
{
	arena_write(&scene->user, 0, scene->before.user, USER_BYTES);
	arena_write(&scene->packed, 0, scene->before.packed, ROOM);
	int status = deeds[deed].deed(&scene->place);
	arena_read(&scene->user, 0, scene->after.user, USER_BYTES);
	arena_read(&scene->packed, 0, scene->after.packed, ROOM);
	return status;
}

static void check_bytes(const struct scene *scene, const char *name)
{
	ck_assert_msg(!memcmp(&scene->after, &scene->expected, sizeof(scene->after)),
		      "%s: wrong bytes", name);
}

/* A deed for which the allocator refuses one call; answers whether it did. */
static bool starve(size_t deed, bool list, size_t granted)
{
	static struct scene scene;
	char name[120];

	snprintf(name, sizeof(name), "%s of a %s, allocation %zu refused",
		 deeds[deed].name, list ? "list" : "strip", granted + 1);
	gpu_open();
	open_scene(&scene, deed, list);
	atomic_store(&allocator.granted, granted);
	int status = attempt(&scene, deed);
	bool refused = atomic_exchange(&allocator.granted, SIZE_MAX) > granted;
	ck_assert_msg(!status || (refused && status == DTCONV_ERR_NOMEM), "%s: status %d",
		      name, status);
	if (!status)
		check_bytes(&scene, name);
	ck_assert_msg(!attempt(&scene, deed), "%s: the next one fails too", name);
	check_bytes(&scene, name);
	close_scene(&scene);
	gpu_must_be_clean(name);
	return refused;
}

START_TEST(a_refused_allocation_fails_its_job_and_nothing_else)
{
	size_t granted;

	for (int list = 0; list < 2; list++) {
		for (granted = 0; starve((size_t)_i, list, granted); granted++)
			;
		ck_assert_uint_gt(granted, 0);
	}
}
END_TEST

/* Types and context go where the allocator gives nothing more: that takes no memory. */
START_TEST(whatever_there_is_is_given_back_without_memory)
{
	static struct scene scene;
	char text[2000];

	for (int list = 0; list < 2; list++) {
		gpu_open();
		size_t before = gpu.standin->leaks(text, sizeof(text));
		open_scene(&scene, (size_t)_i, list);
		ck_assert_int_eq(attempt(&scene, (size_t)_i), 0);
		atomic_store(&allocator.closed, true);
		close_scene(&scene);
		atomic_store(&allocator.closed, false);
		/* The end of the device's context would take it all. */
		ck_assert_msg(gpu.standin->leaks(text, sizeof(text)) == before,
			      "%s: left behind: %s", deeds[_i].name, text);
		gpu_must_be_clean(deeds[_i].name);
	}
}
END_TEST

/* What is idle beyond the arena's limit is freed by the caller if the worker cannot be told. */
START_TEST(idle_memory_is_freed_without_memory)
{
	static struct scene scene;
	CUdeviceptr first, second;
	size_t deed = 0;

	while (deeds[deed].deed != pack)
		deed++;
	gpu_open();
	open_scene(&scene, deed, false);
	ck_assert_int_eq(attempt(&scene, deed), 0);
	struct dtc_cuda_context *device = dtc_cuda_of(scene.place.context)->contexts;
	ck_assert_int_eq(dtc_cuda_arena_take(device, DTC_CUDA_ARENA_IDLE_BYTES, &first),
			 0);
	ck_assert_int_eq(dtc_cuda_arena_take(device, DTC_CUDA_ARENA_IDLE_BYTES, &second),
			 0);
	atomic_store(&allocator.closed, true);
	dtc_cuda_arena_put(device, first);
	size_t before = gpu.standin->calls("cuMemFree");
	dtc_cuda_arena_put(device, second);
	ck_assert_uint_eq(gpu.standin->calls("cuMemFree"), before + 1);
	atomic_store(&allocator.closed, false);
	close_scene(&scene);
	gpu_must_be_clean("idle memory");
}
END_TEST

/* The worker makes it when it comes to that. */
#define TRIES 2000

/* Without a convertor, and so without memory for one. */
static int pack_at_once(const struct place *place)
{
	return dtconv_pack(place->type, 1, place->user, place->packed, PACKED_BYTES,
			   NULL);
}

/* The kernels are there, and another one than the next job's has been launched. */
START_TEST(a_graph_that_could_not_be_asked_for_comes_later)
{
	const struct timespec nap = { .tv_nsec = 5000000 };
	static struct scene scene;
	size_t deed = 0;
	int tries = 0;

	while (deeds[deed].flags != DTCONV_CONTEXT_GRAPHS)
		deed++;
	gpu_open();
	open_scene(&scene, deed, true);
	ck_assert_int_eq(attempt(&scene, deed), 0);
	dtconv_type_unref(scene.place.type);
	scene.place.type = make_type(scene.place.context, false);
	size_t launched = gpu.standin->calls("cuGraphLaunch");
	atomic_store(&allocator.closed, true);
	ck_assert_int_eq(pack_at_once(&scene.place), 0);
	atomic_store(&allocator.closed, false);
	while (gpu.standin->calls("cuGraphLaunch") == launched && tries++ < TRIES) {
		ck_assert_int_eq(pack_at_once(&scene.place), 0);
		nanosleep(&nap, NULL);
	}
	ck_assert_uint_gt(gpu.standin->calls("cuGraphLaunch"), launched);
	close_scene(&scene);
	gpu_must_be_clean("a graph");
}
END_TEST

int main(void)
{
	setenv("CK_FORK", "yes", 1);
	gpu_find();
	if (gpu_is_real()) {
		puts("whether all is given back, only the stand-in driver says");
		return 77;
	}
	Suite *suite = suite_create("starved");
	TCase *tcase = tcase_create("starved");

	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, a_refused_allocation_fails_its_job_and_nothing_else, 0,
			    DEEDS);
	tcase_add_loop_test(tcase, whatever_there_is_is_given_back_without_memory, 0,
			    DEEDS);
	tcase_add_test(tcase, idle_memory_is_freed_without_memory);
	tcase_add_test(tcase, a_graph_that_could_not_be_asked_for_comes_later);
	suite_add_tcase(suite, tcase);
	return fixture_run(suite);
}
