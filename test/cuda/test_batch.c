/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Batches in all kinds of memory: every entry as the oracle says, one launch for what one device moves,
 * nothing made anew from one start to the next, graphs that replay, and driver calls that fail.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/fixture.h"
#include "support/gpu.h"
#include "support/type_choices.h"

#define ENTRIES_MOST 1000

/* ---- scenes ------------------------------------------------------------------------------ */

/* An entry whose user memory and packed memory lie in arenas; packed memory may be shared. */
struct piece {
	struct stage stage;
	struct arena user;
	bool pack;
	size_t offset; /* of its packed bytes */
};

struct scene {
	size_t count;
	struct piece *pieces;
	struct dtconv_batch_entry *entries;
	struct arena packed;
	size_t packed_bytes;
	enum arena_kind packed_kind;
	unsigned char *scratch; /* what packed memory was, then what it should be */
	struct dtconv_batch *batch;
};

#define GUARD 64

static void open_piece(struct scene *scene, struct dtconv_type *type, size_t count,
		       bool pack, enum arena_kind user)
{
	struct piece *piece = &scene->pieces[scene->count];

	if (stage_open(&piece->stage, type, count, scene->count % 64,
		       scene->count * 5 % 64, scene->count)) {
		dtconv_type_unref(type);
		return;
	}
	piece->pack = pack;
	piece->offset = scene->packed_bytes + GUARD;
	scene->packed_bytes = piece->offset + piece->stage.bytes;
	arena_open(&piece->user, user, piece->stage.memory_bytes);
	scene->count++;
}

static void *user_of(const struct piece *piece)
{
	const struct stage *stage = &piece->stage;

	return piece->user.memory + (piece->pack ? stage->source - stage->source_memory
						 : stage->target - stage->target_memory);
}

/* Fill all memory with what is there before the move. */
static void fill(struct scene *scene)
{
	stage_guard(scene->scratch, scene->packed_bytes + GUARD);
	for (size_t i = 0; i < scene->count; i++) {
		struct piece *piece = &scene->pieces[i];
		struct stage *stage = &piece->stage;

		stage_blank(stage);
		arena_write(&piece->user, 0,
			    piece->pack ? stage->source_memory : stage->target_memory,
			    stage->memory_bytes);
		if (!piece->pack)
			memcpy(scene->scratch + piece->offset, stage->stream,
			       stage->bytes);
	}
	arena_write(&scene->packed, 0, scene->scratch, scene->packed_bytes + GUARD);
}

static void prepare(struct scene *scene, enum arena_kind packed)
{
	scene->packed_kind = packed;
	scene->scratch = malloc(scene->packed_bytes + GUARD);
	scene->entries = calloc(scene->count + 1, sizeof(scene->entries[0]));
	ck_assert(scene->scratch && scene->entries);
	arena_open(&scene->packed, packed, scene->packed_bytes + GUARD);
	for (size_t i = 0; i < scene->count; i++) {
		const struct piece *piece = &scene->pieces[i];

		scene->entries[i] = (struct dtconv_batch_entry){
			.type = piece->stage.type,
			.count = piece->stage.count,
			.buffer = user_of(piece),
			.packed = scene->packed.memory + piece->offset,
			.bytes = piece->stage.bytes,
			.direction = piece->pack ? DTCONV_BATCH_PACK
						 : DTCONV_BATCH_UNPACK,
		};
	}
	fill(scene);
}

static void make_batch(struct scene *scene, struct dtconv_context *context,
		       const struct dtconv_batch_params *params)
{
	fixture_ok(dtconv_batch_create(context, scene->entries, scene->count, params,
				       &scene->batch));
}

static void new_scene(struct scene *scene, size_t most)
{
	*scene = (struct scene){ .pieces = calloc(most, sizeof(struct piece)) };
	ck_assert_ptr_nonnull(scene->pieces);
}

/* All but the memory that moves, which a broken context takes with it. */
static void drop_scene(struct scene *scene)
{
	dtconv_batch_destroy(scene->batch);
	for (size_t i = 0; i < scene->count; i++) {
		struct dtconv_type *type = scene->pieces[i].stage.type;

		stage_close(&scene->pieces[i].stage);
		dtconv_type_unref(type);
	}
	free(scene->pieces);
	free(scene->entries);
	free(scene->scratch);
}

static void close_scene(struct scene *scene)
{
	dtconv_batch_destroy(scene->batch);
	scene->batch = NULL;
	for (size_t i = 0; i < scene->count; i++)
		arena_close(&scene->pieces[i].user);
	arena_close(&scene->packed);
	drop_scene(scene);
}

static void check_target(struct piece *piece)
{
	struct stage *stage = &piece->stage;

	arena_read(&piece->user, 0, stage->target_memory, stage->memory_bytes);
	stage_deliver(stage, 0, stage->bytes);
	fixture_arrived(stage);
}

/* Everything has moved, and nothing else was touched. */
static void check(struct scene *scene)
{
	unsigned char *got = malloc(scene->packed_bytes + GUARD);

	for (size_t i = 0; i < scene->count; i++) {
		struct piece *piece = &scene->pieces[i];

		if (piece->pack)
			memcpy(scene->scratch + piece->offset, piece->stage.stream,
			       piece->stage.bytes);
		else
			check_target(piece);
	}
	arena_read(&scene->packed, 0, got, scene->packed_bytes + GUARD);
	for (size_t i = 0; i < scene->packed_bytes + GUARD; i++)
		if (got[i] != scene->scratch[i])
			ck_abort_msg("packed byte %zu is %d, not %d", i, got[i],
				     scene->scratch[i]);
	free(got);
}

static void run(struct scene *scene)
{
	size_t moved, bytes = 0;

	for (size_t i = 0; i < scene->count; i++)
		bytes += scene->pieces[i].stage.bytes;
	fixture_ok(dtconv_batch_run(scene->batch, &moved));
	ck_assert_uint_eq(moved, bytes);
	check(scene);
}

/* ---- any memory ---------------------------------------------------------------------------- */

START_TEST(random_batches_move_as_the_oracle_says)
{
	struct choices choices = fixture_choices(0x67707562 + (uint64_t)_i);
	struct scene scene;

	new_scene(&scene, 60);
	for (size_t tries = 1 + choose(&choices, 60); tries > 0; tries--) {
		struct dtconv_type *type =
			type_choose(fixture_context, &choices, &type_bounds_small);
		/* Mostly the device's, so that groups are large. */
		enum arena_kind user =
			chance(&choices, 3)
				? (enum arena_kind)choose(&choices, ARENA_KINDS)
				: ARENA_DEVICE;

		open_piece(&scene, type, 1 + choose(&choices, 6), chance(&choices, 2),
			   user);
	}
	prepare(&scene, (enum arena_kind)(_i % ARENA_KINDS));
	make_batch(&scene, fixture_context, NULL);
	run(&scene);
	fill(&scene);
	run(&scene);
	/* Other entries in the same batch. */
	fixture_ok(dtconv_batch_rebind(scene.batch, scene.entries, scene.count / 2));
	fixture_ok(dtconv_batch_run(scene.batch, NULL));
	fixture_ok(dtconv_batch_rebind(scene.batch, scene.entries, scene.count));
	fill(&scene);
	run(&scene);
	close_scene(&scene);
}
END_TEST

/* ---- halos --------------------------------------------------------------------------------- */

/* The 26 faces, edges and corners of a box, one deep. */
static void add_faces(struct scene *scene, struct dtconv_context *context, bool pack)
{
	static const int sub[3] = { 1, 10, 1 }, start[3] = { 1, 1, 10 };
	char text[200];

	for (int face = 0; face < 27; face++) {
		int x = face % 3, y = face / 3 % 3, z = face / 9;
		struct dtconv_type *type;

		if (face == 13)
			continue;
		snprintf(text, sizeof(text),
			 "subarray([12,12,12], [%d,%d,%d], [%d,%d,%d], c, double)",
			 sub[z], sub[y], sub[x], start[z], start[y], start[x]);
		fixture_ok(dtconv_type_parse(context, text, strlen(text), &type));
		open_piece(scene, type, 1, pack, ARENA_DEVICE);
	}
	ck_assert_uint_eq(scene->count, 26);
}

/* Entry points that make something. */
static const char *const makers[] = { "cuMemAlloc",          "cuMemFree",
				      "cuMemHostRegister",   "cuMemHostUnregister",
				      "cuEventCreate",       "cuStreamCreateWithPriority",
				      "cuModuleLoadData",    "cuPointerGetAttributes",
				      "cuStreamSynchronize", "cuCtxSynchronize" };

#define MAKERS (sizeof(makers) / sizeof(makers[0]))

static void check_steady(struct scene *scene, size_t launches)
{
	size_t before[MAKERS], allocations = fixture_allocations();

	if (!gpu.standin)
		return;
	size_t launched = gpu.standin->calls("cuLaunchKernel");
	size_t copied = gpu.standin->calls("cuMemcpyAsync");
	for (size_t i = 0; i < MAKERS; i++)
		before[i] = gpu.standin->calls(makers[i]);
	for (int round = 0; round < 5; round++)
		fixture_ok(dtconv_batch_run(scene->batch, NULL));
	ck_assert_uint_eq(gpu.standin->calls("cuLaunchKernel"), launched + 5 * launches);
	ck_assert_uint_eq(gpu.standin->calls("cuMemcpyAsync"), copied);
	for (size_t i = 0; i < MAKERS; i++)
		ck_assert_msg(gpu.standin->calls(makers[i]) == before[i], "%s was called",
			      makers[i]);
	ck_assert_uint_eq(fixture_allocations(), allocations);
}

START_TEST(a_halo_is_one_launch_and_makes_nothing_anew)
{
	struct scene scene;

	new_scene(&scene, 26);
	add_faces(&scene, fixture_context, _i == 0);
	prepare(&scene, ARENA_DEVICE);
	make_batch(&scene, fixture_context, NULL);
	run(&scene);
	check_steady(&scene, 1);
	fill(&scene);
	run(&scene);
	close_scene(&scene);
}
END_TEST

static void add_many(struct scene *scene, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		char text[100];

		snprintf(text, sizeof(text), "hvector(%zu, %zu, %zu, byte)", 2 + i % 7,
			 1 + i % 19, 40 + i % 11);
		open_piece(scene, fixture_type(text), 1, true, ARENA_DEVICE);
	}
}

START_TEST(a_thousand_entries_are_one_launch)
{
	struct scene scene;

	new_scene(&scene, ENTRIES_MOST);
	add_many(&scene, ENTRIES_MOST);
	prepare(&scene, ARENA_PINNED);
	make_batch(&scene, fixture_context, NULL);
	run(&scene);
	check_steady(&scene, 1);
	close_scene(&scene);
}
END_TEST

/* A large entry whose shape has a kernel of its own does not slow the others down, nor they it. */
START_TEST(unlike_shapes_go_together)
{
	static const char *const texts[] = {
		"contiguous(20000, resized(struct([1,1,7], [0,8,16], [int,double,byte]), 0, 24))",
		"indexed([1,2,1,3,1,2,1,2,1,5],[0,9,20,30,40,50,60,70,80,90],double)",
		"contiguous(200, resized(vector(200, 1, 200, double), 0, 8))",
		"contiguous(100000, byte)",
	};
	struct scene scene;

	new_scene(&scene, 8);
	for (size_t i = 0; i < 8; i++)
		open_piece(&scene, fixture_type(texts[i % 4]), 1 + i / 4, true,
			   ARENA_DEVICE);
	prepare(&scene, ARENA_DEVICE);
	make_batch(&scene, fixture_context, NULL);
	run(&scene);
	check_steady(&scene, 5);
	close_scene(&scene);
}
END_TEST

#define MEMBERS 200

static struct dtconv_type *long_struct(void)
{
	struct dtconv_type *members[MEMBERS], *type;
	size_t lengths[MEMBERS];
	ptrdiff_t disps[MEMBERS];

	for (int i = 0; i < MEMBERS; i++) {
		char text[100];

		snprintf(text, sizeof(text), "vector(%d, %d, %d, int)", 9 + i % 5,
			 1 + i % 3, 5 + i % 4);
		members[i] = fixture_type(text);
		lengths[i] = 1;
		disps[i] = 600 * i;
	}
	fixture_ok(dtconv_type_create_struct(fixture_context, MEMBERS, lengths, disps,
					     members, &type));
	for (int i = 0; i < MEMBERS; i++)
		dtconv_type_unref(members[i]);
	return type;
}

/* Its parts are kept with the type: alone, and each of three in a batch. */
START_TEST(a_struct_of_many_members_is_one_launch)
{
	struct scene scene;
	size_t moved;

	new_scene(&scene, 3);
	for (int i = 0; i < 3; i++)
		open_piece(&scene, long_struct(), 1, i > 0, ARENA_DEVICE);
	prepare(&scene, ARENA_DEVICE);
	make_batch(&scene, fixture_context, NULL);
	run(&scene);
	check_steady(&scene, 2);
	fill(&scene);
	for (int round = 0; round < 2; round++) {
		size_t launched = gpu.standin ? gpu.standin->calls("cuLaunchKernel") : 0;
		size_t copied = gpu.standin ? gpu.standin->calls("cuMemcpyAsync") : 0;

		for (size_t i = 1; i < scene.count; i++)
			fixture_ok(dtconv_pack(
				scene.entries[i].type, 1, scene.entries[i].buffer,
				scene.entries[i].packed, scene.entries[i].bytes, &moved));
		fixture_ok(dtconv_unpack(scene.entries[0].type, 1,
					 scene.entries[0].buffer, scene.entries[0].packed,
					 scene.entries[0].bytes, &moved));
		if (!gpu.standin)
			continue;
		ck_assert_uint_eq(gpu.standin->calls("cuLaunchKernel"), launched + 3);
		ck_assert(!round || gpu.standin->calls("cuMemcpyAsync") == copied);
	}
	check(&scene);
	close_scene(&scene);
}
END_TEST

/*
 * Parts are kept for each alignment of both sides, up to 16 of them; others are found by the program. Packed
 * memory is not aligned to 4 bytes, where a map would be used.
 */
START_TEST(parts_are_kept_for_some_alignments)
{
	struct dtconv_type *type = long_struct();
	struct arena user, packed;
	struct stage stage;
	size_t uploaded = 0;

	ck_assert_int_eq(stage_open(&stage, type, 1, 0, 0, 5), 0);
	unsigned char *got = malloc(stage.bytes);
	arena_open(&user, ARENA_DEVICE, stage.memory_bytes + 16);
	arena_open(&packed, ARENA_DEVICE, stage.bytes + 16);
	for (size_t i = 0; i < 32; i++) {
		size_t there = i / 2, here = 1 + i % 2;
		unsigned char *source =
			user.memory + there + (stage.source - stage.source_memory);

		arena_write(&user, there, stage.source_memory, stage.memory_bytes);
		size_t before = gpu.standin ? gpu.standin->calls("cuMemcpyAsync") : 0;
		fixture_ok(dtconv_pack(type, 1, source, packed.memory + here, stage.bytes,
				       NULL));
		if (gpu.standin && i)
			uploaded += gpu.standin->calls("cuMemcpyAsync") - before;
		arena_read(&packed, here, got, stage.bytes);
		ck_assert(!memcmp(got, stage.stream, stage.bytes));
		/* The first uploads the program, too. */
		if (gpu.standin && i < 16)
			ck_assert_uint_eq(uploaded, i);
	}
	/* And the program. */
	ck_assert_uint_le(uploaded, 16);
	free(got);
	stage_close(&stage);
	dtconv_type_unref(type);
	arena_close(&user);
	arena_close(&packed);
}
END_TEST

/* ---- streams and graphs -------------------------------------------------------------------- */

/* What work of a stream may write. */
static const enum arena_kind ordered[] = { ARENA_DEVICE, ARENA_PINNED, ARENA_MANAGED };

#define ORDERED (int)(sizeof(ordered) / sizeof(ordered[0]))

START_TEST(a_batch_goes_in_the_order_of_its_stream)
{
	struct dtconv_batch_params params = { .struct_size = sizeof(params),
					      .flags = DTCONV_BATCH_STREAM };
	struct scene scene;
	struct spin spin;

	CUstream stream = gpu_stream();
	params.stream = stream;
	new_scene(&scene, 40);
	add_many(&scene, _i % 2 ? 40 : 20);
	prepare(&scene, ordered[_i / 2]);
	make_batch(&scene, fixture_context, &params);
	run(&scene); /* loads what has to be loaded */
	fill(&scene);
	spin_begin(&spin, stream);
	fixture_ok(dtconv_batch_rebind(scene.batch, scene.entries, scene.count));
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

static void reverse(struct scene *scene)
{
	for (size_t i = 0, j = scene->count; i + 1 < j--; i++) {
		struct dtconv_batch_entry entry = scene->entries[i];

		scene->entries[i] = scene->entries[j];
		scene->entries[j] = entry;
	}
}

START_TEST(a_captured_batch_replays)
{
	struct dtconv_batch_params params = { .struct_size = sizeof(params),
					      .flags = DTCONV_BATCH_STREAM };
	struct scene scene;
	CUgraph graph;
	CUgraphExec exec;

	CUstream stream = gpu_stream();
	params.stream = stream;
	new_scene(&scene, 100);
	add_many(&scene, _i % 2 ? 100 : 20);
	prepare(&scene, ordered[_i / 2]);
	make_batch(&scene, fixture_context, &params);
	/* In another order first, so that nothing is on the device already. */
	reverse(&scene);
	fixture_ok(dtconv_batch_rebind(scene.batch, scene.entries, scene.count));
	run(&scene);
	reverse(&scene);
	fixture_ok(dtconv_batch_rebind(scene.batch, scene.entries, scene.count));
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

/* What a graph would have done is done where it never runs. */
START_TEST(a_batch_moves_after_its_capture_too)
{
	struct dtconv_batch_params params = { .struct_size = sizeof(params),
					      .flags = DTCONV_BATCH_STREAM };
	struct scene scene;
	CUgraph graph;

	CUstream stream = gpu_stream();
	params.stream = stream;
	new_scene(&scene, 100);
	add_many(&scene, 100);
	prepare(&scene, ARENA_DEVICE);
	make_batch(&scene, fixture_context, &params);
	/* Loads the kernels; the others' parts are not on the device. */
	fixture_ok(dtconv_batch_rebind(scene.batch, scene.entries, 60));
	fixture_ok(dtconv_batch_run(scene.batch, NULL));
	fixture_ok(dtconv_batch_rebind(scene.batch, scene.entries, scene.count));
	fill(&scene);
	MUST(StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	fixture_ok(dtconv_batch_run(scene.batch, NULL));
	MUST(StreamEndCapture(stream, &graph));
	run(&scene);
	MUST(GraphDestroy(graph));
	close_scene(&scene);
	MUST(StreamDestroy(stream));
}
END_TEST

START_TEST(a_batch_is_destroyed_when_its_work_has_ended)
{
	struct dtconv_batch_params params = { .struct_size = sizeof(params),
					      .flags = DTCONV_BATCH_STREAM };
	struct spin_releaser releaser;
	struct scene scene;
	struct spin spin;

	CUstream stream = gpu_stream();
	params.stream = stream;
	new_scene(&scene, 20);
	add_many(&scene, 20);
	prepare(&scene, ARENA_DEVICE);
	make_batch(&scene, fixture_context, &params);
	run(&scene);
	fill(&scene);
	spin_begin(&spin, stream);
	fixture_ok(dtconv_batch_start(scene.batch, NULL, NULL));
	releaser_begin(&releaser, &spin, "cuEventQuery", 1);
	dtconv_batch_destroy(scene.batch);
	scene.batch = NULL;
	ck_assert(releaser_end(&releaser));
	check(&scene);
	spin_end(&spin);
	close_scene(&scene);
	MUST(StreamDestroy(stream));
}
END_TEST

/* ---- binding anew --------------------------------------------------------------------------- */

START_TEST(entries_are_bound_anew_one_by_one)
{
	struct scene scene;

	new_scene(&scene, 8);
	add_many(&scene, 8);
	prepare(&scene, ARENA_DEVICE);
	make_batch(&scene, fixture_context, NULL);
	run(&scene);
	fill(&scene);
	reverse(&scene);
	for (size_t i = 0; i < scene.count; i++)
		fixture_ok(dtconv_batch_rebind_entry(scene.batch, i, &scene.entries[i]));
	run(&scene);
	close_scene(&scene);
}
END_TEST

/* All but the first entry, after all: the submission that fails is the first one with these. */
START_TEST(a_refused_start_leaves_nothing_of_the_last_binding)
{
	struct scene scene;
	unsigned char got[4096];

	new_scene(&scene, 40);
	add_many(&scene, 40);
	prepare(&scene, ARENA_DEVICE);
	make_batch(&scene, fixture_context, NULL);
	run(&scene);
	fill(&scene);
	fixture_ok(dtconv_batch_rebind(scene.batch, scene.entries + 1, scene.count - 1));
	gpu.standin->inject("cuCtxGetId", 1, CUDA_ERROR_INVALID_CONTEXT);
	fixture_status(dtconv_batch_run(scene.batch, NULL), DTCONV_ERR_BACKEND);
	gpu.standin->inject_clear();
	fixture_ok(dtconv_batch_run(scene.batch, NULL));
	ck_assert_uint_le(scene.pieces[0].stage.bytes, sizeof(got));
	arena_read(&scene.packed, scene.pieces[0].offset, got,
		   scene.pieces[0].stage.bytes);
	ck_assert(!memcmp(got, scene.scratch + scene.pieces[0].offset,
			  scene.pieces[0].stage.bytes));
	close_scene(&scene);
}
END_TEST

/* ---- access --------------------------------------------------------------------------------- */

/* The second entry's memory may only be read: both directions go, and it is not written to. */
START_TEST(the_access_to_every_entry_is_checked)
{
	const CUmemAccessDesc reading = {
		.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE },
		.flags = CU_MEM_ACCESS_FLAGS_PROT_READ
	};
	struct scene scene;
	bool pack = _i;

	new_scene(&scene, 2);
	for (int i = 0; i < 2; i++)
		open_piece(&scene, fixture_type("vector(100, 1, 2, double)"), 1, pack,
			   i ? ARENA_VMM : ARENA_DEVICE);
	prepare(&scene, ARENA_DEVICE);
	scene.entries[1].buffer = (void *)arena_base(&scene.pieces[1].user);
	/* Not every driver grants so little. */
	if (!gpu.MemSetAccess(arena_base(&scene.pieces[1].user),
			      scene.pieces[1].user.reserved, &reading, 1)) {
		make_batch(&scene, fixture_context, NULL);
		ck_assert_int_eq(dtconv_batch_run(scene.batch, NULL),
				 pack ? 0 : DTCONV_ERR_INVAL);
		ck_assert(pack || strstr(fixture_error(), "no write access"));
	}
	close_scene(&scene);
}
END_TEST

/* ---- faults -------------------------------------------------------------------------------- */

/* So many first calls of each entry point fail. */
#define CALLS 6

/* Entries of a few kinds, of which some go in parts that are copied to the device. */
static void open_faulty(struct scene *scene, struct dtconv_context *context)
{
	static const char text[] = "vector(20, 3, 5, double)";
	static const char table[] =
		"indexed([1,2,1,3,1,2,1,2,1,5],[0,9,20,30,40,50,60,70,80,90],double)";

	new_scene(scene, 40);
	for (int i = 0; i < 34; i++) {
		struct dtconv_type *type;

		const char *it = i == 33 ? table : text;
		fixture_ok(dtconv_type_parse(context, it, strlen(it), &type));
		open_piece(scene, type, 1, i % 8 > 0,
			   i % 16 == 3 ? ARENA_HOST : ARENA_DEVICE);
	}
	prepare(scene, ARENA_DEVICE);
}

/* What the batch says of each entry is so. */
static void check_told(struct scene *scene, int status)
{
	struct dtconv_batch_attr attr = { .struct_size = sizeof(attr) };

	fixture_ok(dtconv_batch_query(scene->batch, &attr));
	if (status)
		ck_assert_uint_lt(attr.failed, scene->count);
	for (size_t i = 0; i < scene->count; i++) {
		const struct piece *piece = &scene->pieces[i];
		struct dtconv_batch_entry_attr entry = { .struct_size = sizeof(entry) };
		unsigned char got[4096];

		fixture_ok(dtconv_batch_query_entry(scene->batch, i, &entry));
		ck_assert(entry.status <= 0 &&
			  (i != attr.failed || entry.status == status));
		ck_assert_uint_le(entry.moved, piece->stage.bytes);
		if (!entry.status)
			ck_assert_uint_eq(entry.moved, piece->stage.bytes);
		if (!piece->pack)
			continue;
		arena_read(&scene->packed, piece->offset, got, entry.moved);
		ck_assert(!memcmp(got, piece->stage.stream, entry.moved));
	}
}

static bool inject(const char *entry, unsigned nth)
{
	struct dtconv_context *context;
	struct scene scene;
	char fault[80];

	gpu_open();
	fixture_ok(dtconv_context_create(NULL, &context));
	open_faulty(&scene, context);
	make_batch(&scene, context, NULL);
	unsigned before = gpu.standin->fired();
	gpu.standin->inject(entry, nth, CUDA_ERROR_OUT_OF_MEMORY);
	int status = dtconv_batch_run(scene.batch, NULL);
	bool fired = gpu.standin->fired() != before;
	gpu.standin->inject_clear();
	check_told(&scene, status);
	fixture_ok(dtconv_batch_rebind(scene.batch, scene.entries, scene.count));
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

START_TEST(a_refused_call_fails_its_entries_and_no_later_run)
{
	for (unsigned nth = 1; nth <= CALLS; nth++)
		if (!inject(gpu_entries[_i], nth))
			break;
}
END_TEST

static int end_batch(struct dtconv_batch *batch, bool polls, size_t *moved)
{
	int status;

	do
		status = polls ? dtconv_batch_test(batch, moved)
			       : dtconv_batch_wait(batch, moved);
	while (status == DTCONV_INPROGRESS);
	return status;
}

static struct dtconv_context *open_copying_context(void)
{
	struct dtconv_context *context;

	setenv("DTCONV_BACKENDS", "cuda_copy", 1);
	fixture_ok(dtconv_context_create(NULL, &context));
	unsetenv("DTCONV_BACKENDS");
	return context;
}

/* Entries that no kernel may move go alone. Nothing ends behind the spin before the device breaks. */
START_TEST(a_lone_entry_that_fails_in_flight_has_moved_nothing)
{
	struct dtconv_batch_entry_attr entry = { .struct_size = sizeof(entry) };
	struct dtconv_context *context = open_copying_context();
	struct dtconv_batch_params params = { .struct_size = sizeof(params),
					      .flags = DTCONV_BATCH_STREAM };
	CUcontext current;
	struct scene scene;
	struct spin spin;
	size_t moved = 99;

	CUstream stream = gpu_stream();
	params.stream = stream;
	new_scene(&scene, 1);
	open_piece(&scene, dtconv_type_ref(dtconv_type_predefined(context, DTCONV_INT)),
		   1000, true, ARENA_DEVICE);
	prepare(&scene, ARENA_DEVICE);
	make_batch(&scene, context, &params);
	run(&scene);
	spin_begin(&spin, stream);
	size_t launched = gpu.standin->calls("cuLaunchKernel");
	fixture_ok(dtconv_batch_start(scene.batch, NULL, NULL));
	fixture_status(dtconv_batch_test(scene.batch, NULL), DTCONV_INPROGRESS);
	ck_assert_uint_eq(gpu.standin->calls("cuLaunchKernel"), launched);
	MUST(CtxGetCurrent(&current));
	gpu.standin->poison(current, CUDA_ERROR_ILLEGAL_ADDRESS);
	ck_assert_int_eq(end_batch(scene.batch, _i, &moved), DTCONV_ERR_BACKEND);
	ck_assert_uint_eq(moved, 0);
	fixture_ok(dtconv_batch_query_entry(scene.batch, 0, &entry));
	ck_assert_int_eq(entry.status, DTCONV_ERR_BACKEND);
	ck_assert_uint_eq(entry.moved, 0);
	drop_scene(&scene);
	dtconv_context_destroy(context);
}
END_TEST

/* ------------------------------------------------------------------------------------------- */

int main(void)
{
	setenv("CK_FORK", "yes", 1);
	gpu_find();
	Suite *suite = suite_create("batch");
	TCase *moves = gpu_case(suite, "moves", 60);
	tcase_add_loop_test(moves, random_batches_move_as_the_oracle_says, 29,
			    6 * ARENA_KINDS);
	tcase_add_loop_test(moves, a_halo_is_one_launch_and_makes_nothing_anew, 0, 2);
	tcase_add_test(moves, a_thousand_entries_are_one_launch);
	tcase_add_test(moves, a_struct_of_many_members_is_one_launch);
	tcase_add_test(moves, unlike_shapes_go_together);
	tcase_add_test(moves, parts_are_kept_for_some_alignments);
	tcase_add_loop_test(moves, a_batch_goes_in_the_order_of_its_stream, 0,
			    2 * ORDERED);
	tcase_add_loop_test(moves, a_captured_batch_replays, 0, 2 * ORDERED);
	tcase_add_test(moves, a_batch_moves_after_its_capture_too);
	tcase_add_test(moves, entries_are_bound_anew_one_by_one);
	tcase_add_loop_test(moves, the_access_to_every_entry_is_checked, 0, 2);
	if (!gpu_is_real()) {
		TCase *faults = tcase_create("faults");

		tcase_set_timeout(faults, 60);
		tcase_add_loop_test(faults,
				    a_refused_call_fails_its_entries_and_no_later_run, 0,
				    gpu_entry_count);
		suite_add_tcase(suite, faults);
		tcase_add_test(moves, a_batch_is_destroyed_when_its_work_has_ended);
		tcase_add_test(moves, a_refused_start_leaves_nothing_of_the_last_binding);
		tcase_add_loop_test(
			moves, a_lone_entry_that_fails_in_flight_has_moved_nothing, 0, 2);
	}
	return fixture_run(suite);
}
