/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flights of device memory: many at once, ended in any order, native and typed, with checksums; one that fails leaves
 * the others and their part of the checksum alone; one that finds no room changes nothing.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "copy_backends/cuda/device/completion.h"
#include "copy_backends/cuda/moves/pinned_pipeline.h"
#include "copy_backends/cuda/moves/staging_ring.h"
#include "support/choices.h"
#include "support/fixture.h"
#include "support/gpu.h"

#define FLIGHTS 24

/* A typed case with the user's memory on the device, and packed memory of some kind. */
struct scene {
	struct typed_case tc;
	struct arena user, packed;
	struct dtconv_convertor *packs, *unpacks;
	struct dtconv_representation external;
	const char *backends; /* NULL: any */
	size_t unit;
};

/* Where the memory of the user begins in its arena. */
static unsigned char *user_in(const struct scene *scene)
{
	return scene->user.memory - scene->tc.low;
}

static struct dtconv_convertor *convertor_of(const struct scene *scene, bool packs,
					     CUstream stream)
{
	struct dtconv_convertor_params params = typed_case_params(&scene->tc);

	params.backends = scene->backends;
	params.flags = DTCONV_CONVERTOR_CRC32C;
	if (stream)
		params.flags |= DTCONV_CONVERTOR_STREAM;
	params.stream = stream;
	return packs ? fixture_packer(scene->tc.type, scene->tc.count, user_in(scene),
				      &params)
		     : fixture_unpacker(scene->tc.type, scene->tc.count, user_in(scene),
					&params);
}

struct kind {
	const char *text;
	size_t count;
	bool external;
	enum dtconv_op op;
	const char *backends;
};

static const struct kind kinds[] = {
	{ "vector(70, 3, 5, double)", 20, false, DTCONV_OP_REPLACE, NULL },
	{ "vector(70, 3, 5, double)", 20, true, DTCONV_OP_REPLACE, NULL },
	{ "vector(70, 3, 5, int)", 20, false, DTCONV_OP_SUM, NULL },
	{ "struct([1, 1], [0, 8], [int, double])", 900, true, DTCONV_OP_REPLACE, NULL },
};

#define KINDS (int)(sizeof(kinds) / sizeof(kinds[0]))

static void scene_open(struct scene *scene, const struct kind *kind,
		       enum arena_kind packed, CUstream stream, struct choices *choices)
{
	struct dtconv_type *type = fixture_type(kind->text);

	*scene = (struct scene){ .unit = 1, .backends = kind->backends };
	fixture_ok(dtconv_representation_find("external32", &scene->external));
	ck_assert(typed_case_open(&scene->tc, type, kind->count,
				  kind->external ? &scene->external : NULL, kind->op,
				  choices));
	dtconv_type_unref(type);
	arena_open(&scene->user, ARENA_DEVICE, scene->tc.span);
	arena_open(&scene->packed, packed, scene->tc.bytes);
	scene->packs = convertor_of(scene, true, stream);
	scene->unpacks = convertor_of(scene, false, stream);
	fixture_ok(dtconv_flight_granularity(scene->unpacks, &scene->unit));
}

static void scene_close(struct scene *scene)
{
	dtconv_convertor_destroy(scene->packs);
	dtconv_convertor_destroy(scene->unpacks);
	arena_close(&scene->user);
	arena_close(&scene->packed);
	typed_case_close(&scene->tc);
}

static void put_user(const struct scene *scene, const unsigned char *memory)
{
	arena_write(&scene->user, 0, memory + scene->tc.low, scene->tc.span);
}

static void put_packed(const struct scene *scene)
{
	arena_write(&scene->packed, 0, scene->tc.wire, scene->tc.bytes);
}

static void must_be_packed(const struct scene *scene)
{
	unsigned char *got = malloc(scene->tc.bytes);

	arena_read(&scene->packed, 0, got, scene->tc.bytes);
	for (size_t i = 0; i < scene->tc.bytes; i++)
		ck_assert_msg(got[i] == scene->tc.wire[i], "packed byte %zu is wrong", i);
	free(got);
}

static void must_be_unpacked(struct scene *scene)
{
	ptrdiff_t wrong;

	typed_case_arrived(&scene->tc, 0, scene->tc.bytes);
	arena_read(&scene->user, 0, scene->tc.target + scene->tc.low, scene->tc.span);
	ck_assert_msg(typed_case_is_right(&scene->tc, &wrong),
		      "displacement %td is wrong", wrong);
}

static void must_sum_to(const struct dtconv_convertor *convertor, uint32_t right)
{
	uint32_t crc;

	fixture_ok(dtconv_convertor_crc32c(convertor, &crc));
	ck_assert_uint_eq(crc, right);
}

/* ---- many flights ------------------------------------------------------------------------- */

static void shuffle(size_t numbers[], size_t count, struct choices *choices)
{
	for (size_t i = 0; i < count; i++)
		numbers[i] = i;
	for (size_t i = count; i > 1; i--) {
		size_t other = choose(choices, i), number = numbers[i - 1];

		numbers[i - 1] = numbers[other];
		numbers[other] = number;
	}
}

/* The stream in FLIGHTS pieces, cut at multiples of @unit, all started before the first is asked. */
struct flights {
	struct dtconv_flight memory[FLIGHTS];
	size_t ends[FLIGHTS + 1];
	size_t order[FLIGHTS];
};

static void launch(struct flights *flights, const struct scene *scene, size_t unit,
		   struct dtconv_convertor *convertor, struct choices *choices)
{
	size_t bytes = scene->tc.bytes;

	for (size_t i = 0; i < FLIGHTS; i++)
		flights->ends[i] = bytes * i / FLIGHTS / unit * unit;
	flights->ends[FLIGHTS] = bytes;
	shuffle(flights->order, FLIGHTS, choices);
	for (size_t i = 0; i < FLIGHTS; i++) {
		size_t it = flights->order[i], from = flights->ends[it];

		fixture_ok(dtconv_flight_start(convertor, &flights->memory[it], from,
					       scene->packed.memory + from,
					       flights->ends[it + 1] - from));
	}
}

static void land(struct flights *flights, struct choices *choices)
{
	shuffle(flights->order, FLIGHTS, choices);
	for (size_t i = 0; i < FLIGHTS; i++) {
		size_t it = flights->order[i], moved;

		fixture_ok(dtconv_flight_wait(&flights->memory[it], &moved));
		ck_assert_uint_eq(moved, flights->ends[it + 1] - flights->ends[it]);
	}
}

/* With cuts that divide no unit, and with cuts anywhere. */
START_TEST(many_flights_end_in_any_order)
{
	struct choices choices = fixture_choices(41 + (uint64_t)_i);
	CUstream stream = _i & 1 ? gpu_stream() : NULL;
	enum arena_kind packed = _i & 2 ? ARENA_DEVICE : ARENA_PINNED;
	static struct flights flights;
	struct scene scene;

	scene_open(&scene, &kinds[_i / 8], packed, stream, &choices);
	uint32_t crc = dtconv_crc32c(0, scene.tc.wire, scene.tc.bytes);
	size_t unit = _i & 4 ? 1 : scene.unit;
	put_user(&scene, scene.tc.source);
	launch(&flights, &scene, unit, scene.packs, &choices);
	land(&flights, &choices);
	must_be_packed(&scene);
	must_sum_to(scene.packs, crc);
	put_user(&scene, scene.tc.target);
	launch(&flights, &scene, unit, scene.unpacks, &choices);
	land(&flights, &choices);
	must_be_unpacked(&scene);
	must_sum_to(scene.unpacks, crc);
	scene_close(&scene);
	if (stream)
		MUST(StreamDestroy(stream));
}
END_TEST

static size_t calls_of(const char *entry)
{
	return gpu.standin ? gpu.standin->calls(entry) : 0;
}

/*
 * Kernels and copies of both directions follow each other in the pieces of two pipelines, more flights than there are
 * pieces. Each is one piece, and no written word delays the next.
 */
START_TEST(flights_follow_each_other_through_pipelines)
{
	static const struct kind kind = { "vector(800, 3, 5, double)", 7, false,
					  DTCONV_OP_REPLACE, "cuda_relay" };
	struct choices choices = fixture_choices(80 + (uint64_t)_i);
	static struct flights flights[2];
	struct scene out, in;

	scene_open(&out, &kind, ARENA_PINNED, NULL, &choices);
	scene_open(&in, &kind, ARENA_PINNED, NULL, &choices);
	for (int pass = 0; pass < 3; pass++) {
		put_user(&out, out.tc.source);
		memset(out.packed.memory, 0, out.tc.bytes);
		put_user(&in, in.tc.target);
		put_packed(&in);
		const size_t copies = calls_of("cuMemcpyAsync");
		const size_t words = calls_of("cuStreamWriteValue64");
		launch(&flights[0], &out, 1, out.packs, &choices);
		launch(&flights[1], &in, 1, in.unpacks, &choices);
		land(&flights[_i & 1], &choices);
		land(&flights[!(_i & 1)], &choices);
		/* Until the kernels are loaded nothing is relayed. */
		if (gpu.standin && pass > 0) {
			ck_assert_uint_eq(calls_of("cuMemcpyAsync") - copies,
					  2 * FLIGHTS);
			ck_assert_uint_eq(calls_of("cuStreamWriteValue64"), words);
		}
		must_be_packed(&out);
		must_be_unpacked(&in);
		must_sum_to(out.packs, dtconv_crc32c(0, out.tc.wire, out.tc.bytes));
		must_sum_to(in.unpacks, dtconv_crc32c(0, in.tc.wire, in.tc.bytes));
		dtconv_convertor_destroy(out.packs);
		dtconv_convertor_destroy(in.unpacks);
		out.packs = convertor_of(&out, true, NULL);
		in.unpacks = convertor_of(&in, false, NULL);
	}
	scene_close(&out);
	scene_close(&in);
}
END_TEST

/* A flight that is done, once the kernels are loaded, by the pipeline. */
static const struct dtc_cuda_pipeline *warm_pipeline(const struct scene *scene)
{
	const struct dtc_cuda_pipeline *pipeline = NULL;
	struct dtconv_flight flight;

	for (int i = 0; i < 1000 && !(pipeline && pipeline->used); i++) {
		fixture_ok(dtconv_flight_start(scene->packs, &flight, 0,
					       scene->packed.memory, 4096));
		fixture_ok(dtconv_flight_wait(&flight, NULL));
		pipeline = dtc_cuda_pipeline_of(dtc_cuda_of(fixture_context)->contexts,
						DTC_PACK);
	}
	ck_assert(pipeline->used);
	return pipeline;
}

/* The copy of one is held up; the next has a piece and a stream of its own. */
START_TEST(a_packed_flight_overtakes_one_whose_copy_waits)
{
	static const struct kind kind = { "vector(800, 3, 5, double)", 7, false,
					  DTCONV_OP_REPLACE, "cuda_relay" };
	struct choices choices = fixture_choices(90);
	struct dtconv_flight flights[2];
	struct scene scene;
	struct spin spin;

	if (!gpu.standin)
		return;
	scene_open(&scene, &kind, ARENA_PINNED, NULL, &choices);
	put_user(&scene, scene.tc.source);
	const size_t half = scene.tc.bytes / 2;
	const struct dtc_cuda_pipeline *pipeline = warm_pipeline(&scene);
	spin_begin(&spin, pipeline->copies[pipeline->count % DTC_CUDA_COPY_STREAMS]);
	for (size_t i = 0; i < 2; i++)
		fixture_ok(dtconv_flight_start(scene.packs, &flights[i], i * half,
					       scene.packed.memory + i * half, half));
	int status = DTCONV_INPROGRESS;
	for (int i = 0; i < 20000 && status == DTCONV_INPROGRESS; i++) {
		status = dtconv_flight_test(&flights[1], NULL);
		gpu_nap(1);
	}
	const int held = dtconv_flight_test(&flights[0], NULL);
	spin_end(&spin);
	ck_assert_int_eq(status, 0);
	ck_assert_int_eq(held, DTCONV_INPROGRESS);
	fixture_ok(dtconv_flight_wait(&flights[0], NULL));
	scene_close(&scene);
}
END_TEST

/* Fragments of whole units are all in flight at once: the starts wait for none of them. */
START_TEST(starts_wait_for_no_flight)
{
	struct choices choices = fixture_choices(60);
	CUstream stream = gpu_stream();
	struct dtconv_flight *all[FLIGHTS];
	int status[FLIGHTS];
	static struct flights flights;
	struct scene scene;
	struct spin spin;
	size_t ended;

	scene_open(&scene, &kinds[_i], ARENA_DEVICE, stream, &choices);
	put_user(&scene, scene.tc.target);
	put_packed(&scene);
	launch(&flights, &scene, scene.unit, scene.unpacks, &choices);
	land(&flights, &choices);
	put_user(&scene, scene.tc.target);
	spin_begin(&spin, stream);
	launch(&flights, &scene, scene.unit, scene.unpacks, &choices);
	for (size_t i = 0; i < FLIGHTS; i++)
		all[i] = &flights.memory[i];
	fixture_ok(dtconv_flight_test_many(all, FLIGHTS, status, &ended));
	ck_assert_uint_eq(ended, 0);
	fixture_status(dtconv_convertor_seek(scene.unpacks, 0), DTCONV_ERR_STATE);
	fixture_status(dtconv_convertor_start(scene.unpacks, scene.packed.memory, 1, NULL,
					      NULL),
		       DTCONV_ERR_STATE);
	spin_end(&spin);
	land(&flights, &choices);
	must_be_unpacked(&scene);
	scene_close(&scene);
	MUST(StreamDestroy(stream));
}
END_TEST

/* ---- failures ----------------------------------------------------------------------------- */

/* A number of one flight does not fit; the others and their checksums are as if it had not been. */
START_TEST(a_flight_that_fails_takes_back_its_own_bytes)
{
	const size_t count = 1024, quarter = count / 4;
	struct dtconv_type *type = dtconv_type_predefined(fixture_context, DTCONV_LONG);
	struct dtconv_representation external;
	struct dtconv_convertor_params params = { .struct_size = sizeof(params),
						  .flags = DTCONV_CONVERTOR_CRC32C,
						  .representation = &external };
	unsigned char *got = calloc(count, 4);
	long *numbers = calloc(count, sizeof(long));
	struct dtconv_flight flights[4];
	struct arena user, packed;

	fixture_ok(dtconv_representation_find("external32", &external));
	for (size_t i = 0; i < count; i++)
		numbers[i] = (long)i;
	numbers[quarter + 5] = (long)1 << 40;
	arena_open(&user, ARENA_DEVICE, count * sizeof(long));
	arena_open(&packed, ARENA_DEVICE, count * 4);
	arena_write(&user, 0, numbers, count * sizeof(long));
	struct dtconv_convertor *packs =
		fixture_packer(type, count, user.memory, &params);
	for (size_t i = 4; i-- > 0;)
		fixture_ok(dtconv_flight_start(packs, &flights[i], i * quarter * 4,
					       packed.memory + i * quarter * 4,
					       quarter * 4));
	for (size_t i = 0; i < 4; i++) {
		size_t it = (i + (size_t)_i) % 4, moved = 99;
		int status = dtconv_flight_wait(&flights[it], &moved);

		ck_assert_int_eq(status, it == 1 ? DTCONV_ERR_OVERFLOW : 0);
		ck_assert_uint_eq(moved, it == 1 ? 0 : quarter * 4);
	}
	ck_assert_int_eq(dtconv_flight_test(&flights[1], NULL), DTCONV_ERR_OVERFLOW);
	numbers[quarter + 5] = 0;
	arena_write(&user, 0, numbers, count * sizeof(long));
	fixture_ok(dtconv_flight_start(packs, &flights[1], quarter * 4,
				       packed.memory + quarter * 4, quarter * 4));
	fixture_ok(dtconv_flight_wait(&flights[1], NULL));
	arena_read(&packed, 0, got, count * 4);
	for (size_t i = 0; i < count; i++)
		ck_assert_int_eq(got[4 * i + 2] << 8 | got[4 * i + 3], (int)numbers[i]);
	must_sum_to(packs, dtconv_crc32c(0, got, count * 4));
	dtconv_convertor_destroy(packs);
	arena_close(&user);
	arena_close(&packed);
	free(numbers);
	free(got);
}
END_TEST

/* Destroying the convertor waits for its flights, which keep their status. Some have ended before. */
START_TEST(a_convertor_is_destroyed_when_its_flights_have_ended)
{
	enum { MANY = 6, BYTES = 8192 };
	struct dtconv_flight flights[MANY];
	struct spin_releaser releaser;
	struct arena user, packed;
	struct spin spin;

	if (!gpu.standin)
		return;
	struct dtconv_type *type = fixture_type("vector(6144, 1, 2, double)");
	CUstream stream = gpu_stream();
	const struct dtconv_convertor_params params = fixture_in_stream(stream);
	unsigned char *bytes = calloc(2, MANY * BYTES), *got = calloc(1, MANY * BYTES);
	for (size_t i = 0; i < 2 * MANY * BYTES; i++)
		bytes[i] = (unsigned char)(i * 5 + i / 253);
	arena_open(&user, ARENA_DEVICE, 2 * MANY * BYTES);
	arena_open(&packed, ARENA_PINNED, MANY * BYTES);
	arena_write(&user, 0, bytes, 2 * MANY * BYTES);
	struct dtconv_convertor *packs = fixture_packer(type, 1, user.memory, &params);
	for (size_t i = 0; i < MANY; i++) {
		fixture_ok(dtconv_flight_start(packs, &flights[i], i * BYTES,
					       packed.memory + i * BYTES, BYTES));
		if (i == 2) {
			/* In the middle, at the end and at the beginning of those in flight. */
			fixture_ok(dtconv_flight_wait(&flights[1], NULL));
			fixture_ok(dtconv_flight_wait(&flights[0], NULL));
			fixture_ok(dtconv_flight_wait(&flights[2], NULL));
			spin_begin(&spin, stream);
		}
	}
	releaser_begin(&releaser, &spin, "cuEventQuery", 1);
	dtconv_convertor_destroy(packs);
	ck_assert(releaser_end(&releaser));
	for (size_t i = 0; i < MANY; i++) {
		size_t moved = 0;

		ck_assert_int_eq(dtconv_flight_test(&flights[i], &moved), 0);
		ck_assert_uint_eq(moved, BYTES);
	}
	arena_read(&packed, 0, got, MANY * BYTES);
	for (size_t i = 0; i < MANY * BYTES; i++)
		ck_assert_uint_eq(got[i], bytes[i / 8 * 16 + i % 8]);
	spin_end(&spin);
	MUST(StreamDestroy(stream));
	dtconv_type_unref(type);
	arena_close(&user);
	arena_close(&packed);
	free(bytes);
	free(got);
}
END_TEST

/* ---- no room ------------------------------------------------------------------------------ */

/* Long enough for the thread that continues started jobs. */
#define LONG "vector(40000, 3, 5, double)"

/* A move between device memory and ordinary memory, through the staging buffers. */
struct staged {
	struct stage stage;
	struct arena user;
	unsigned char *packed;
	struct dtconv_convertor *convertor;
};

static void staged_open(struct staged *staged, bool packs,
			const struct dtconv_convertor_params *params)
{
	fixture_open(&staged->stage, LONG, 1);
	size_t bytes = staged->stage.bytes, span = staged->stage.span;
	arena_open(&staged->user, ARENA_DEVICE, span);
	staged->packed = malloc(bytes);
	unsigned char *user = staged->user.memory - staged->stage.low;
	const unsigned char *source = staged->stage.source;
	arena_write(&staged->user, 0, source + staged->stage.low, span);
	memset(staged->packed, 0xee, bytes);
	if (!packs)
		memcpy(staged->packed, staged->stage.stream, bytes);
	staged->convertor = packs ? fixture_packer(staged->stage.type, 1, user, params)
				  : fixture_unpacker(staged->stage.type, 1, user, params);
}

static void staged_close(struct staged *staged)
{
	dtconv_convertor_destroy(staged->convertor);
	arena_close(&staged->user);
	free(staged->packed);
	fixture_close(&staged->stage);
}

static void must_be_in(const struct staged *staged)
{
	ck_assert(!memcmp(staged->packed, staged->stage.stream, staged->stage.bytes));
}

/* A job that has the staging buffers, and ends when the spin is released. */
struct occupied {
	struct staged staged;
	struct dtconv_flight flight;
	struct spin spin;
};

static void occupy(struct occupied *occupied)
{
	const struct dtconv_convertor_params params = fixture_by("cuda_staged,host");
	struct staged *staged = &occupied->staged;
	size_t bytes;

	staged_open(staged, true, &params);
	bytes = staged->stage.bytes;
	fixture_ok(dtconv_flight_start(staged->convertor, &occupied->flight, 0,
				       staged->packed, bytes));
	fixture_ok(dtconv_flight_wait(&occupied->flight, NULL));
	memset(staged->packed, 0, bytes);
	spin_begin(&occupied->spin,
		   dtc_cuda_of(fixture_context)->contexts->lanes[DTC_CUDA_LANE_PACK]);
	fixture_ok(dtconv_flight_start(staged->convertor, &occupied->flight, 0,
				       staged->packed, bytes));
}

static void leave(struct occupied *occupied)
{
	spin_end(&occupied->spin);
	fixture_ok(dtconv_flight_wait(&occupied->flight, NULL));
	must_be_in(&occupied->staged);
	staged_close(&occupied->staged);
}

static struct dtconv_convertor_attr state_of(const struct dtconv_convertor *convertor)
{
	struct dtconv_convertor_attr attr = { .struct_size = sizeof(attr) };

	fixture_ok(dtconv_convertor_query(convertor, &attr));
	return attr;
}

START_TEST(a_start_without_staging_buffers_changes_nothing)
{
	struct dtconv_convertor_params params = fixture_by("cuda_staged,host");
	struct occupied occupied;
	struct dtconv_flight flight;
	struct staged staged;
	uint32_t crc;

	if (!gpu.standin)
		return;
	params.flags = DTCONV_CONVERTOR_CRC32C;
	occupy(&occupied);
	staged_open(&staged, true, &params);
	fixture_seek(staged.convertor, 17);
	const struct dtconv_counters before = fixture_counters();
	const struct dtconv_convertor_attr state = state_of(staged.convertor);
	for (int i = 0; i < 5; i++) {
		fixture_status(dtconv_flight_start(staged.convertor, &flight, 96,
						   staged.packed + 96,
						   staged.stage.bytes - 96),
			       DTCONV_ERR_AGAIN);
		ck_assert_str_eq(
			fixture_error(),
			"dtconv_flight_start: another job uses the staging buffers "
			"of device 0; call again when one has ended");
		fixture_status(dtconv_convertor_start(staged.convertor, staged.packed,
						      8000, NULL, NULL),
			       DTCONV_ERR_AGAIN);
		fixture_status(dtconv_convertor_test(staged.convertor, NULL),
			       DTCONV_ERR_STATE);
	}
	const struct dtconv_counters after = fixture_counters();
	const struct dtconv_convertor_attr state_after = state_of(staged.convertor);
	ck_assert_uint_eq(state_after.position, state.position);
	ck_assert_int_eq(state_after.in_flight, state.in_flight);
	ck_assert_uint_eq(state_after.held, state.held);
	ck_assert_uint_eq(after.pack_calls, before.pack_calls);
	ck_assert_uint_eq(after.pack_bytes, before.pack_bytes);
	/* The refused tests are errors, refused starts are none. */
	ck_assert_uint_eq(after.errors, before.errors + 5);
	for (size_t i = 0; i < staged.stage.bytes; i++)
		ck_assert_int_eq(staged.packed[i], 0xee);
	ck_assert_int_eq(dtconv_flight_test(&occupied.flight, NULL), DTCONV_INPROGRESS);
	leave(&occupied);
	fixture_ok(dtconv_flight_start(staged.convertor, &flight, 96, staged.packed + 96,
				       staged.stage.bytes - 96));
	fixture_ok(dtconv_flight_wait(&flight, NULL));
	fixture_seek(staged.convertor, 0);
	fixture_ok(
		dtconv_convertor_start(staged.convertor, staged.packed, 96, NULL, NULL));
	fixture_ok(dtconv_convertor_wait(staged.convertor, NULL));
	must_be_in(&staged);
	fixture_ok(dtconv_convertor_crc32c(staged.convertor, &crc));
	ck_assert_uint_eq(crc, dtconv_crc32c(0, staged.packed, staged.stage.bytes));
	staged_close(&staged);
}
END_TEST

/* Elements are combined once, by the start that finds room; with a cut that divides one, in the call. */
START_TEST(elements_without_staging_buffers_are_combined_once)
{
	const struct dtconv_convertor_params params = { .struct_size = sizeof(params),
							.op = DTCONV_OP_BXOR };
	struct dtconv_type *type;
	const size_t bytes = 400000;
	unsigned char *packed, *got;
	struct spin_releaser releaser;
	struct occupied occupied;
	struct dtconv_flight flight;
	struct arena user;
	size_t cut = _i ? 6 : 0;

	if (!gpu.standin)
		return;
	type = fixture_type("contiguous(100000, int)");
	packed = malloc(bytes);
	got = malloc(bytes);
	occupy(&occupied);
	arena_open(&user, ARENA_DEVICE, bytes);
	memset(packed, 0x5a, bytes);
	arena_write(&user, 0, packed, bytes);
	for (size_t i = 0; i < bytes; i++)
		packed[i] = (unsigned char)(i * 7);
	struct dtconv_convertor *unpacks =
		fixture_unpacker(type, 1, user.memory, &params);
	if (_i)
		releaser_begin(&releaser, &occupied.spin, "cuCtxGetCurrent", 1);
	else
		fixture_status(dtconv_flight_start(unpacks, &flight, 0, packed, bytes),
			       DTCONV_ERR_AGAIN);
	ck_assert_uint_eq(state_of(unpacks).held, 0);
	if (!_i)
		leave(&occupied);
	fixture_ok(dtconv_flight_start(unpacks, &flight, 0, packed, cut));
	fixture_ok(dtconv_flight_wait(&flight, NULL));
	fixture_ok(dtconv_flight_start(unpacks, &flight, cut, packed + cut, bytes - cut));
	fixture_ok(dtconv_flight_wait(&flight, NULL));
	if (_i) {
		ck_assert(releaser_end(&releaser));
		leave(&occupied);
	}
	arena_read(&user, 0, got, bytes);
	for (size_t i = 0; i < bytes; i++)
		ck_assert_int_eq(got[i], (unsigned char)(i * 7) ^ 0x5a);
	dtconv_convertor_destroy(unpacks);
	arena_close(&user);
	dtconv_type_unref(type);
	free(packed);
	free(got);
}
END_TEST

/* A call that blocks waits for the staging buffers. */
START_TEST(blocking_calls_wait_for_staging_buffers)
{
	const struct dtconv_convertor_params params = fixture_by("cuda_staged,host");
	struct spin_releaser releaser;
	struct occupied occupied;
	struct staged staged;
	size_t moved;

	if (!gpu.standin)
		return;
	occupy(&occupied);
	staged_open(&staged, true, &params);
	releaser_begin(&releaser, &occupied.spin, "cuCtxGetCurrent", 1);
	fixture_ok(dtconv_convertor_pack(staged.convertor, staged.packed,
					 staged.stage.bytes, &moved));
	ck_assert(releaser_end(&releaser));
	must_be_in(&staged);
	leave(&occupied);
	staged_close(&staged);
}
END_TEST

/* The launch of one flight is refused; it says so once, and the others end. */
START_TEST(a_refused_launch_is_one_flights_error)
{
	struct choices choices = fixture_choices(61);
	struct dtconv_flight flights[4];
	struct scene scene;
	int failed = -1;

	if (!gpu.standin)
		return;
	scene_open(&scene, &kinds[0], ARENA_DEVICE, NULL, &choices);
	put_user(&scene, scene.tc.source);
	size_t quarter = scene.tc.bytes / 4;
	fixture_ok(
		dtconv_flight_start(scene.packs, &flights[0], 0, scene.packed.memory, 8));
	fixture_ok(dtconv_flight_wait(&flights[0], NULL));
	struct dtconv_convertor *packs = convertor_of(&scene, true, NULL);
	gpu.standin->inject("cuLaunchKernel", 3, CUDA_ERROR_OUT_OF_MEMORY);
	for (int i = 0; i < 4; i++) {
		size_t from = (size_t)i * quarter;
		int status = dtconv_flight_start(packs, &flights[i], from,
						 scene.packed.memory + from, quarter);

		ck_assert(!status || (status == DTCONV_ERR_BACKEND && failed < 0));
		if (status)
			failed = i;
	}
	gpu.standin->inject_clear();
	ck_assert_int_ge(failed, 0);
	for (int i = 0; i < 4; i++) {
		size_t moved = 99;
		int status = dtconv_flight_wait(&flights[i], &moved);

		ck_assert_int_eq(status, i == failed ? DTCONV_ERR_BACKEND : 0);
		ck_assert_uint_eq(moved, i == failed ? 0 : quarter);
	}
	size_t from = (size_t)failed * quarter;
	fixture_ok(dtconv_flight_start(packs, &flights[failed], from,
				       scene.packed.memory + from, quarter));
	fixture_ok(dtconv_flight_wait(&flights[failed], NULL));
	fixture_ok(dtconv_flight_start(packs, &flights[0], 4 * quarter,
				       scene.packed.memory + 4 * quarter,
				       scene.tc.bytes - 4 * quarter));
	fixture_ok(dtconv_flight_wait(&flights[0], NULL));
	must_be_packed(&scene);
	must_sum_to(packs, dtconv_crc32c(0, scene.tc.wire, scene.tc.bytes));
	dtconv_convertor_destroy(packs);
	scene_close(&scene);
}
END_TEST

/* Nobody asks, and the bytes arrive. */
START_TEST(flights_go_on_though_nobody_asks)
{
	struct choices choices = fixture_choices(62);
	static struct flights flights;
	struct scene scene;

	scene_open(&scene, &kinds[0], ARENA_PINNED, NULL, &choices);
	put_user(&scene, scene.tc.source);
	memset(scene.packed.memory, 0, scene.tc.bytes);
	launch(&flights, &scene, 1, scene.packs, &choices);
	CUstream lane = dtc_cuda_of(fixture_context)->contexts->lanes[DTC_CUDA_LANE_PACK];
	for (int i = 0; i < 20000 && gpu.StreamQuery(lane) == CUDA_ERROR_NOT_READY; i++)
		gpu_nap(1);
	MUST(StreamQuery(lane));
	must_be_packed(&scene);
	land(&flights, &choices);
	scene_close(&scene);
}
END_TEST

int main(void)
{
	gpu_open_in_program();
	Suite *suite = suite_create("device flights");
	TCase *many = fixture_case(suite, "many", 120);

	tcase_add_loop_test(many, many_flights_end_in_any_order, 0, 8 * KINDS);
	tcase_add_loop_test(many, flights_follow_each_other_through_pipelines, 0, 4);
	tcase_add_test(many, a_packed_flight_overtakes_one_whose_copy_waits);
	tcase_add_loop_test(many, starts_wait_for_no_flight, 0, KINDS);
	tcase_add_test(many, flights_go_on_though_nobody_asks);
	TCase *failures = fixture_case(suite, "failures", 60);
	tcase_add_test(failures, a_convertor_is_destroyed_when_its_flights_have_ended);
	tcase_add_loop_test(failures, a_flight_that_fails_takes_back_its_own_bytes, 0, 4);
	tcase_add_test(failures, a_refused_launch_is_one_flights_error);
	TCase *room = fixture_case(suite, "no room", 60);
	tcase_add_test(room, a_start_without_staging_buffers_changes_nothing);
	tcase_add_loop_test(room, elements_without_staging_buffers_are_combined_once, 0,
			    2);
	tcase_add_test(room, blocking_calls_wait_for_staging_buffers);
	return fixture_run(suite);
}
