/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every entry point of the driver fails once, at each of its first calls, some fail in pairs, some break the
 * context, and each is missing once: a status comes back, what was said to have moved has, nothing is left
 * behind, and the next job works or says that the context is lost. On the stand-in driver only: a real one does not fail on demand.
 */
#include "config.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "copy_backends/cuda/device/device_context.h"
#include "support/allocators.h"
#include "support/fixture.h"
#include "support/gpu.h"
#include "support/layouts.h"
#include "support/listener.h"

/* Jobs that go by kernels, with and without a copy of the program, by copies, and in stages. */
static const struct {
	const char *text;
	size_t count;
	enum arena_kind user, packed;
	const char *backends; /* NULL: whoever is best */
} jobs[] = {
	{ "vector(200, 3, 5, double)", 3, ARENA_DEVICE, ARENA_DEVICE, NULL },
	{ "indexed([1,2,1,3,1,2,1,2,1,5],[0,9,20,30,40,50,60,70,80,90],double)", 40,
	  ARENA_DEVICE, ARENA_PINNED, NULL },
	{ "contiguous(3000, double)", 1, ARENA_DEVICE, ARENA_DEVICE, NULL },
	{ "vector(20000, 3, 5, double)", 1, ARENA_DEVICE, ARENA_HOST, NULL },
	{ "vector(20000, 3, 5, double)", 1, ARENA_HOST, ARENA_DEVICE, NULL },
	{ "vector(60000, 3, 5, double)", 1, ARENA_DEVICE, ARENA_HOST,
	  NULL }, /* with helpers */
	{ "vector(30000, 3, 5, double)", 1, ARENA_DEVICE, ARENA_PINNED, "cuda_relay" },
	{ "vector(200, 3, 5, double)", 3, ARENA_VMM, ARENA_ASYNC,
	  NULL }, /* nobody's context */
	{ LAYOUT_MANY_PARTS, 1, ARENA_DEVICE, ARENA_DEVICE, NULL },
	{ "vector(2000, 3, 5, double)", 1, ARENA_DEVICE, ARENA_DEVICE,
	  NULL }, /* several blocks */
};

#define JOBS (int)(sizeof(jobs) / sizeof(jobs[0]))

struct scene {
	int job;
	CUcontext current;
	struct dtconv_context *context;
	struct dtconv_type *type;
	struct stage stage;
	struct arena user, packed;
	unsigned char *got;
};

static void scene_open(struct scene *scene, int job)
{
	const char *text = jobs[job].text;

	scene->job = job;
	MUST(CtxGetCurrent(&scene->current));

	fixture_ok(dtconv_context_create(NULL, &scene->context));
	fixture_ok(dtconv_type_parse(scene->context, text, strlen(text), &scene->type));
	ck_assert_int_eq(stage_open(&scene->stage, scene->type, jobs[job].count, 0, 0, 7), 0);
	arena_open(&scene->user, jobs[job].user, scene->stage.memory_bytes);
	arena_open(&scene->packed, jobs[job].packed, scene->stage.bytes);
	arena_write(&scene->user, 0, scene->stage.source_memory, scene->stage.memory_bytes);
	scene->got = malloc(scene->stage.bytes);
}

static int scene_pack(struct scene *scene)
{
	const struct stage *stage = &scene->stage;
	unsigned char *source = scene->user.memory + (stage->source - stage->source_memory);
	size_t moved = 12345;

	if (jobs[scene->job].user == ARENA_VMM)
		MUST(CtxSetCurrent(NULL));
	const struct dtconv_convertor_params params =
		fixture_by(jobs[scene->job].backends);
	int status = dtconv_pack_with(scene->type, stage->count, source, scene->packed.memory,
				      stage->bytes, &params, &moved);
	MUST(CtxSetCurrent(scene->current));
	ck_assert_uint_le(moved, stage->bytes);
	arena_read(&scene->packed, 0, scene->got, stage->bytes);
	ck_assert_msg(!memcmp(scene->got, stage->stream, moved),
		      "of %zu bytes that have moved, some are wrong", moved);
	if (!status)
		ck_assert_uint_eq(moved, stage->bytes);
	return status;
}

static void scene_close(struct scene *scene)
{
	free(scene->got);
	arena_close(&scene->user);
	arena_close(&scene->packed);
	stage_close(&scene->stage);
	dtconv_type_unref(scene->type);
	dtconv_context_destroy(scene->context);
}

/* A call that is refused: which entry point's, and the how manieth of it. */
struct fault {
	const char *entry;
	unsigned nth;
};

#define EXCHANGE "cuThreadExchangeStreamCaptureMode"

/* The thread's capture mode is as it was, unless the call that puts it back was refused. */
static void must_be_unrelaxed(const struct fault *fault, const char *name)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

	gpu_must(gpu.ThreadExchangeStreamCaptureMode(&mode), EXCHANGE);
	ck_assert_msg(mode == CU_STREAM_CAPTURE_MODE_GLOBAL ||
			      !strcmp(fault->entry, EXCHANGE),
		      "%s: the thread's capture mode is %d", name, (int)mode);
}

/* One job with so many faults; answers how many of them fired. */
static unsigned inject(int job, const struct fault *faults, size_t count)
{
	struct scene scene;
	char name[160] = "";

	gpu_open();
	scene_open(&scene, job);
	unsigned before = gpu.standin->fired();
	for (size_t i = 0; i < count; i++) {
		size_t length = strlen(name);

		snprintf(name + length, sizeof(name) - length, "%s%s, call %u", i ? " and " : "",
			 faults[i].entry, faults[i].nth);
		gpu.standin->inject(faults[i].entry, faults[i].nth, CUDA_ERROR_OUT_OF_MEMORY);
	}
	int status = scene_pack(&scene);
	unsigned fired = gpu.standin->fired() - before;
	gpu.standin->inject_clear();
	ck_assert_msg(status <= 0, "job %d, %s: status %d", job, name, status);
	gpu_must_be_idle(scene.context, name);
	if (scene_pack(&scene))
		ck_abort_msg("job %d, %s: the next job fails too", job, name);
	scene_close(&scene);
	gpu_must_be_clean(name);
	return fired;
}

#define CALLS 6

/* How many calls of an entry point are refused, one at a time: for one job many, unless all are asked for. */
static unsigned calls_of(int job, int entry)
{
	return fixture_everything() || entry % JOBS == job ? CALLS : 2;
}

START_TEST(a_refused_call_fails_its_job_and_nothing_else)
{
	for (int job = 0; job < JOBS; job++)
		for (unsigned nth = 1; nth <= calls_of(job, _i); nth++)
			if (!inject(job, &(struct fault){ gpu_entries[_i], nth }, 1))
				break;
}
END_TEST

START_TEST(a_lone_block_writes_its_flag_and_the_stream_that_of_several)
{
	const struct fault write = { "cuStreamWriteValue64", 1 };

	ck_assert_uint_eq(inject(0, &write, 1), 0);
	ck_assert_uint_eq(inject(JOBS - 1, &write, 1), 1);
}
END_TEST

/* Refused again and again, a job takes nothing anew: the next one goes on with what there is. */
START_TEST(what_is_refused_often_is_made_once)
{
	static const struct fault faults[] = { { "cuMemsetD8Async", 1 },
					       { "cuMemHostGetDevicePointer", 1 },
					       { "cuMemHostGetDevicePointer", 2 } };
	const struct fault *fault = &faults[_i];
	struct scene scene;

	gpu_open();
	scene_open(&scene, 3);
	for (int round = 0; round < 20; round++) {
		gpu.standin->inject(fault->entry, fault->nth, CUDA_ERROR_OUT_OF_MEMORY);
		ck_assert_int_ne(scene_pack(&scene), 0);
		gpu.standin->inject_clear();
		if (fault->nth > 1) /* the flags are there now */
			fault = &faults[1];
	}
	/* Flags, and pieces for staging. */
	ck_assert_uint_eq(gpu.standin->calls("cuMemHostRegister"), _i == 2 ? 2 : 1);
	ck_assert_int_eq(scene_pack(&scene), 0);
	ck_assert_uint_eq(gpu.standin->calls("cuStreamCreateWithPriority"),
			  DTC_CUDA_LANES);
	scene_close(&scene);
	gpu_must_be_clean(fault->entry);
}
END_TEST

/* ---- pairs ----------------------------------------------------------------------------- */

/* The second fault meets what cleans up after the first, or what goes on without it. */
#define PAIR_CALLS 2
#define SHARE      400 /* one pair in so many is tried, unless all are asked for */

/* What is not given back because the driver refuses to take it stays, and nobody is to blame. */
static bool gives_back(const char *entry)
{
	static const char *const verbs[] = { "Release", "Free", "Destroy", "Unregister", "Unload" };

	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (strstr(entry, verbs[i]))
			return true;
	return false;
}

static void pair_with_all(int job, const struct fault *first, struct choices *choices)
{
	for (int entry = 0; entry < gpu_entry_count; entry++)
		for (unsigned nth = 1; nth <= PAIR_CALLS; nth++) {
			const struct fault pair[] = { *first, { gpu_entries[entry], nth } };

			if (!gives_back(gpu_entries[entry]) &&
			    (fixture_everything() || chance(choices, SHARE)))
				inject(job, pair, 2);
		}
}

/* Faults that the job does not meet say nothing new; that is worth a look where all are tried. */
static bool is_worth(int job, const struct fault *first)
{
	if (gives_back(first->entry))
		return false;
	return !fixture_everything() || inject(job, first, 1);
}

START_TEST(two_refused_calls_fail_their_job_and_nothing_else)
{
	struct choices choices = fixture_choices(0x70616972 + (uint64_t)_i);

	for (int job = 0; job < JOBS; job++) {
		const struct fault first = { gpu_entries[_i], 1 };

		if (is_worth(job, &first))
			pair_with_all(job, &first, &choices);
	}
}
END_TEST

/* ---- other jobs ------------------------------------------------------------------------ */

/* Doubles, every second one of which a type is. */
#define NUMBERS      4000
#define PACKED_BYTES (NUMBERS * sizeof(double))
#define USER_BYTES   (2 * PACKED_BYTES)

struct place {
	struct dtconv_context *context;
	struct dtconv_type *type, *other;
	const char *backends;
	void *stream;
	char *user, *packed;
	uint32_t sum; /* set by deeds that make one */
};

static struct dtconv_convertor_params plain(const struct place *place)
{
	return (struct dtconv_convertor_params){
		.struct_size = sizeof(struct dtconv_convertor_params),
		.backends = place->backends,
	};
}

static int pack(struct place *place)
{
	const struct dtconv_convertor_params params = plain(place);

	return dtconv_pack_with(place->type, 1, place->user, place->packed, PACKED_BYTES,
				&params, NULL);
}

static int unpack(struct place *place)
{
	const struct dtconv_convertor_params params = plain(place);

	return dtconv_unpack_with(place->type, 1, place->user, place->packed,
				  PACKED_BYTES, &params, NULL);
}

static int add(struct place *place)
{
	struct dtconv_convertor_params params = plain(place);

	params.op = DTCONV_OP_SUM;
	return dtconv_unpack_with(place->type, 1, place->user, place->packed,
				  PACKED_BYTES, &params, NULL);
}

static int move_external32(struct place *place, bool packs)
{
	struct dtconv_convertor_params params = plain(place);
	struct dtconv_representation external32;

	fixture_ok(dtconv_representation_find("external32", &external32));
	params.representation = &external32;
	if (packs)
		return dtconv_pack_with(place->type, 1, place->user, place->packed,
					PACKED_BYTES, &params, NULL);
	return dtconv_unpack_with(place->type, 1, place->user, place->packed,
				  PACKED_BYTES, &params, NULL);
}

static int pack_external32(struct place *place)
{
	return move_external32(place, true);
}

static int unpack_external32(struct place *place)
{
	return move_external32(place, false);
}

static int pack_checksummed(struct place *place)
{
	struct dtconv_convertor_params params = plain(place);
	struct dtconv_convertor *convertor;

	params.flags = DTCONV_CONVERTOR_CRC32C;
	int status =
		dtconv_convertor_create_pack(place->type, 1, place->user, &convertor);
	ck_assert_int_eq(status, 0);
	fixture_ok(dtconv_convertor_configure(convertor, &params));
	status = dtconv_convertor_pack(convertor, place->packed, PACKED_BYTES,
				       &(size_t){ 0 });
	if (!status)
		status = dtconv_convertor_crc32c(convertor, &place->sum);
	dtconv_convertor_destroy(convertor);
	return status;
}

/* Two fragments; each ends before the next begins. */
static int pack_started(struct place *place)
{
	struct dtconv_convertor_params params = plain(place);
	struct dtconv_convertor *convertor;
	size_t moved = 0;

	params.flags = place->stream ? DTCONV_CONVERTOR_STREAM : 0;
	params.stream = place->stream;
	int status =
		dtconv_convertor_create_pack(place->type, 1, place->user, &convertor);
	ck_assert_int_eq(status, 0);
	fixture_ok(dtconv_convertor_configure(convertor, &params));
	for (size_t at = 0; !status && at < PACKED_BYTES; at += moved) {
		status = dtconv_convertor_start(convertor, place->packed + at,
						PACKED_BYTES / 2 + 3, NULL, NULL);
		if (!status)
			status = dtconv_convertor_wait(convertor, &moved);
	}
	dtconv_convertor_destroy(convertor);
	return status;
}

static int copy(struct place *place)
{
	return dtconv_copy(place->type, 1, place->user, place->other, 1, place->packed,
			   NULL);
}

/* Of all that can be prepared; what was made before a refused call is made once. */
static int prepare(struct place *place)
{
	struct dtconv_convertor_params params = plain(place);

	params.flags = DTCONV_CONVERTOR_CRC32C;
	if (place->stream) {
		params.flags |= DTCONV_CONVERTOR_STREAM;
		params.stream = place->stream;
	}
	return dtconv_prepare(place->context, -1, place->type, 1, &params);
}

static int pack_prepared(struct place *place)
{
	int status = prepare(place);

	return status ? status : pack(place);
}

static const struct {
	const char *name;
	int (*deed)(struct place *place);
	enum arena_kind packed;
	const char *backends; /* NULL: whoever is best */
	bool in_stream;       /* of the caller's */
} deeds[] = {
	{ "prepared", pack_prepared, ARENA_DEVICE, NULL, false },
	{ "prepared in a stream", pack_prepared, ARENA_DEVICE, NULL, true },
	{ "prepared for the host", pack_prepared, ARENA_HOST, "cuda_staged", false },
	{ "prepared for a relay", pack_prepared, ARENA_PINNED, "cuda_relay", false },
	{ "unpack", unpack, ARENA_DEVICE, NULL, false },
	{ "sum", add, ARENA_DEVICE, NULL, false },
	{ "external32", pack_external32, ARENA_DEVICE, NULL, false },
	{ "from external32", unpack_external32, ARENA_DEVICE, NULL, false },
	{ "checksum", pack_checksummed, ARENA_DEVICE, NULL, false },
	{ "started", pack_started, ARENA_DEVICE, NULL, false },
	{ "started in a stream", pack_started, ARENA_DEVICE, NULL, true },
	{ "started to the host", pack_started, ARENA_HOST, "cuda_staged", false },
	{ "staged pack", pack, ARENA_HOST, "cuda_staged", false },
	{ "staged unpack", unpack, ARENA_HOST, "cuda_staged", false },
	{ "relayed pack", pack, ARENA_PINNED, "cuda_relay", false },
	{ "relayed unpack", unpack, ARENA_PINNED, "cuda_relay", false },
	{ "copy", copy, ARENA_DEVICE, NULL, false },
	{ "copy to the host", copy, ARENA_HOST, NULL, false },
};

#define DEEDS (int)(sizeof(deeds) / sizeof(deeds[0]))

/* What both sides hold. */
struct bytes {
	double user[2 * NUMBERS], packed[2 * NUMBERS];
};

static void fill(struct bytes *bytes)
{
	for (int i = 0; i < 2 * NUMBERS; i++) {
		bytes->user[i] = i * 7 % 1001;
		bytes->packed[i] = i * 11 % 997;
	}
}

static void make_types(struct place *place)
{
	static const char type[] = "vector(4000, 1, 2, double)";
	static const char other[] = "vector(1600, 5, 6, double)";

	fixture_ok(dtconv_type_parse(place->context, type, strlen(type), &place->type));
	fixture_ok(
		dtconv_type_parse(place->context, other, strlen(other), &place->other));
	fixture_ok(dtconv_type_commit(place->type));
	fixture_ok(dtconv_type_commit(place->other));
}

static void drop(struct place *place)
{
	dtconv_type_unref(place->type);
	dtconv_type_unref(place->other);
	dtconv_context_destroy(place->context);
}

/* What the deed makes of memory of the host, for which no driver is asked. */
static uint32_t do_on_host(int deed, struct bytes *bytes)
{
	const struct dtconv_context_params params = {
		.struct_size = sizeof(params), .flags = DTCONV_CONTEXT_HOST_MEMORY
	};
	struct place place = { .user = (char *)bytes->user,
			       .packed = (char *)bytes->packed };

	fixture_ok(dtconv_context_create(&params, &place.context));
	make_types(&place);
	/* A device is all that is prepared. */
	ck_assert_int_eq(deeds[deed].deed == pack_prepared ? pack(&place)
							   : deeds[deed].deed(&place),
			 0);
	drop(&place);
	return place.sum;
}

static struct block_count blocks;

/* A deed with its memory on the device. */
struct act {
	int deed;
	struct place place;
	struct arena user, packed;
};

static void act_open(struct act *act, int deed)
{
	const struct dtconv_context_params params = {
		.struct_size = sizeof(params), .allocator = allocator_of_blocks(&blocks)
	};
	CUstream stream = NULL;

	gpu_open();
	*act = (struct act){ .deed = deed };
	fixture_ok(dtconv_context_create(&params, &act->place.context));
	make_types(&act->place);
	arena_open(&act->user, ARENA_DEVICE, sizeof(((struct bytes *)NULL)->user));
	arena_open(&act->packed, deeds[deed].packed,
		   sizeof(((struct bytes *)NULL)->packed));
	if (deeds[deed].in_stream)
		stream = gpu_stream();
	act->place.backends = deeds[deed].backends;
	act->place.stream = stream;
	act->place.user = (char *)act->user.memory;
	act->place.packed = (char *)act->packed.memory;
}

static void act_fill(const struct act *act)
{
	static struct bytes bytes;

	fill(&bytes);
	arena_write(&act->user, 0, bytes.user, sizeof(bytes.user));
	arena_write(&act->packed, 0, bytes.packed, sizeof(bytes.packed));
}

static int act_do(struct act *act)
{
	return deeds[act->deed].deed(&act->place);
}

static void act_must_be_right(const struct act *act, const char *name)
{
	static struct bytes expected, got;

	fill(&expected);
	uint32_t sum = do_on_host(act->deed, &expected);
	arena_read(&act->user, 0, got.user, sizeof(got.user));
	arena_read(&act->packed, 0, got.packed, sizeof(got.packed));
	ck_assert_msg(act->place.sum == sum, "%s: wrong checksum", name);
	ck_assert_mem_eq(got.user, expected.user, sizeof(got.user));
	ck_assert_mem_eq(got.packed, expected.packed, sizeof(got.packed));
}

/* What a broken context holds is lost with it. */
static void act_close(struct act *act, bool is_broken)
{
	drop(&act->place);
	ck_assert_uint_eq(atomic_load(&blocks.live), 0);
	if (is_broken) {
		if (act->packed.kind == ARENA_HOST)
			arena_close(&act->packed);
		return;
	}
	if (act->place.stream)
		MUST(StreamDestroy(act->place.stream));
	arena_close(&act->user);
	arena_close(&act->packed);
}

/* A refusal: the job after it works. */
static void refuse(int deed, const struct fault *fault)
{
	struct act act;
	char name[160];

	snprintf(name, sizeof(name), "%s, %s, call %u", deeds[deed].name, fault->entry,
		 fault->nth);
	act_open(&act, deed);
	act_fill(&act);
	gpu.standin->inject(fault->entry, fault->nth, CUDA_ERROR_OUT_OF_MEMORY);
	int status = act_do(&act);
	gpu.standin->inject_clear();
	ck_assert_msg(status <= 0, "%s: status %d", name, status);
	gpu_must_be_idle(act.place.context, name);
	must_be_unrelaxed(fault, name);
	if (!status)
		act_must_be_right(&act, name);
	/* What has been launched before the failure may still run. */
	MUST(CtxSynchronize());
	act_fill(&act);
	status = act_do(&act);
	ck_assert_msg(!status, "%s: the next job answers %d", name, status);
	act_must_be_right(&act, name);
	act_close(&act, false);
	gpu_must_be_clean(name);
}

/* No memory names the context of what is prepared; the current one does not say any more which device's it is. */
static bool finds_no_context(int deed, int status)
{
	return deeds[deed].deed == pack_prepared && status == DTCONV_ERR_STATE;
}

/* An error that breaks the context: at the latest the job after it says so, and none hangs. */
static void shatter(int deed, const struct fault *fault)
{
	struct act act;
	char name[160];

	snprintf(name, sizeof(name), "%s, %s, broken by call %u", deeds[deed].name,
		 fault->entry, fault->nth);
	act_open(&act, deed);
	act_fill(&act);
	gpu.standin->inject(fault->entry, fault->nth, CUDA_ERROR_ILLEGAL_ADDRESS);
	int first = act_do(&act);
	gpu.standin->inject_clear();
	int second = act_do(&act);
	bool is_broken = gpu.CtxSynchronize() != CUDA_SUCCESS;
	ck_assert_msg(first <= 0 && second <= 0, "%s: status %d, then %d", name, first,
		      second);
	ck_assert_msg(second == DTCONV_ERR_BACKEND || (!is_broken && !second) ||
			      (is_broken && finds_no_context(deed, second)),
		      "%s: status %d, then %d, in a context that %s", name, first, second,
		      is_broken ? "is broken" : "works");
	act_close(&act, is_broken);
	gpu_must_be_clean(name);
}

#define MOST_ENTRIES 100
#define DEED_SHARE   10 /* one call in so many is refused, unless all are asked for */

/* How often a deed calls each entry point, the first time that it is done. */
static void count_calls(int deed, size_t calls[])
{
	struct act act;

	act_open(&act, deed);
	act_fill(&act);
	for (int i = 0; i < gpu_entry_count; i++)
		calls[i] = gpu.standin->calls(gpu_entries[i]);
	ck_assert_int_eq(act_do(&act), 0);
	for (int i = 0; i < gpu_entry_count; i++)
		calls[i] = gpu.standin->calls(gpu_entries[i]) - calls[i];
	act_must_be_right(&act, deeds[deed].name);
	act_close(&act, false);
	gpu_must_be_clean(deeds[deed].name);
}

/* Each call that the deed makes fails once. */
static void fail_calls_of(int deed, void (*spoil)(int deed, const struct fault *fault),
			  struct choices *choices)
{
	size_t calls[MOST_ENTRIES];

	ck_assert_int_le(gpu_entry_count, MOST_ENTRIES);
	count_calls(deed, calls);
	for (int entry = 0; entry < gpu_entry_count; entry++)
		for (unsigned nth = 1; nth <= CALLS && nth <= calls[entry]; nth++)
			if (fixture_everything() || chance(choices, DEED_SHARE))
				spoil(deed, &(struct fault){ gpu_entries[entry], nth });
}

START_TEST(a_refused_call_fails_its_deed_and_nothing_else)
{
	struct choices choices = fixture_choices(0x64656564 + (uint64_t)_i);

	fail_calls_of(_i, refuse, &choices);
}
END_TEST

START_TEST(a_broken_context_fails_its_deeds_and_hangs_none)
{
	struct choices choices = fixture_choices(0x62726f6b + (uint64_t)_i);

	fail_calls_of(_i, shatter, &choices);
}
END_TEST

/* ---- what is in flight ------------------------------------------------------------------ */

/* Of two copies the second is refused; the first one still waits for its turn in the stream. */
START_TEST(a_job_that_fails_ends_behind_what_it_has_launched)
{
	static const char text[] = "struct([1,1],[0,1000],[double,int])";
	struct dtconv_convertor_params params = { .struct_size = sizeof(params),
						  .flags = DTCONV_CONVERTOR_STREAM,
						  .backends = "cuda_copy" };
	struct spin_releaser releaser;
	struct spin spin;
	struct dtconv_context *context;
	struct arena user, packed;

	gpu_open();
	CUstream stream = gpu_stream();
	params.stream = stream;
	fixture_ok(dtconv_context_create(NULL, &context));
	struct dtconv_type *type = fixture_type_in(context, text);
	arena_open(&user, ARENA_DEVICE, 2000);
	arena_open(&packed, ARENA_DEVICE, 2000);
	fixture_ok(dtconv_pack_with(type, 1, user.memory, packed.memory, 12, &params,
				    NULL)); /* loads the kernels */
	spin_begin(&spin, stream);
	releaser_begin(&releaser, &spin, "cuMemcpyAsync", 2);
	gpu.standin->inject("cuMemcpyAsync", 2, CUDA_ERROR_OUT_OF_MEMORY);
	fixture_status(dtconv_pack_with(type, 1, user.memory, packed.memory, 12, &params,
					NULL),
		       DTCONV_ERR_BACKEND);
	ck_assert(releaser_end(&releaser));
	gpu_must_be_idle(context, "a refused copy");
	spin_end(&spin);
	MUST(StreamDestroy(stream));
	dtconv_type_unref(type);
	arena_close(&user);
	arena_close(&packed);
	dtconv_context_destroy(context);
	gpu_must_be_clean("a refused copy");
}
END_TEST

/* A flag that may still be written is not for the next job: that one finds the context new. */
START_TEST(after_a_stream_that_does_not_answer_all_is_made_anew)
{
	struct act act;
	struct spin spin;
	size_t moved;

	act_open(&act, 0);
	act_fill(&act);
	ck_assert_int_eq(act_do(&act), 0);
	const struct dtconv_convertor_params params = {
		.struct_size = sizeof(params), .flags = DTCONV_CONVERTOR_STREAM
	};
	spin_begin(&spin, NULL);
	struct dtconv_convertor *convertor =
		fixture_packer(act.place.type, 1, act.place.user, &params);
	size_t registered = gpu.standin->calls("cuMemHostRegister");
	gpu.standin->inject("cuEventQuery", 1, CUDA_ERROR_INVALID_HANDLE);
	fixture_ok(dtconv_convertor_start(convertor, act.place.packed, PACKED_BYTES, NULL,
					  NULL));
	fixture_status(dtconv_convertor_wait(convertor, &moved), DTCONV_ERR_BACKEND);
	gpu.standin->inject_clear();
	spin_end(&spin);
	dtconv_convertor_destroy(convertor);
	act_fill(&act);
	ck_assert_int_eq(act_do(&act), 0);
	act_must_be_right(&act, "the next job");
	ck_assert_uint_eq(gpu.standin->calls("cuMemHostRegister"), registered + 1);
	drop(&act.place);
}
END_TEST

/* ---- checksums -------------------------------------------------------------------------- */

/* Without kernels the host sums up copies of the packed bytes, in several pieces. */
#define SUMMED_BYTES ((size_t)200000)

static unsigned char summed[SUMMED_BYTES];

static struct dtconv_convertor *open_summed(struct dtconv_context *context, char *user)
{
	const struct dtconv_convertor_params params = {
		.struct_size = sizeof(params), .flags = DTCONV_CONVERTOR_CRC32C
	};
	struct dtconv_convertor *convertor =
		fixture_packer(dtconv_type_predefined(context, DTCONV_BYTE), SUMMED_BYTES,
			       user, &params);
	return convertor;
}

static void check_sum(const struct dtconv_convertor *convertor, size_t bytes)
{
	uint32_t sum;

	fixture_ok(dtconv_convertor_crc32c(convertor, &sum));
	ck_assert_uint_eq(sum, dtconv_crc32c(0, summed, bytes));
}

/* The copy of the fragment, and of its first piece to the host, are granted. */
START_TEST(a_fragment_that_fails_is_not_in_the_checksum)
{
	const size_t half = SUMMED_BYTES / 2;
	struct dtconv_context *context;
	struct arena user, packed;
	size_t moved = 99;

	gpu_open();
	for (size_t i = 0; i < SUMMED_BYTES; i++)
		summed[i] = (unsigned char)(i * 7 % 251);
	fixture_ok(dtconv_context_create(NULL, &context));
	arena_open(&user, ARENA_DEVICE, SUMMED_BYTES);
	arena_open(&packed, ARENA_DEVICE, SUMMED_BYTES);
	arena_write(&user, 0, summed, SUMMED_BYTES);
	gpu.standin->inject("cuModuleLoadData", 1, CUDA_ERROR_INVALID_IMAGE);
	struct dtconv_convertor *convertor = open_summed(context, (char *)user.memory);
	fixture_ok(dtconv_convertor_pack(convertor, packed.memory, half, &moved));
	check_sum(convertor, half);
	gpu.standin->inject_clear();
	gpu.standin->inject("cuMemcpyAsync", 3, CUDA_ERROR_OUT_OF_MEMORY);
	fixture_status(dtconv_convertor_pack(convertor, packed.memory + half, half,
					     &moved),
		       DTCONV_ERR_BACKEND);
	gpu.standin->inject_clear();
	ck_assert_uint_eq(moved, 0);
	check_sum(convertor, half);
	fixture_ok(dtconv_convertor_pack(convertor, packed.memory + half, half, &moved));
	check_sum(convertor, SUMMED_BYTES);
	dtconv_convertor_destroy(convertor);
	arena_close(&user);
	arena_close(&packed);
	dtconv_context_destroy(context);
	gpu_must_be_clean("a refused copy");
}
END_TEST

/* ---- missing ones ----------------------------------------------------------------------- */

/* The host's memory is moved as ever. */
static void must_move_on_the_host(const struct scene *scene)
{
	const struct stage *stage = &scene->stage;
	size_t moved;

	fixture_ok(dtconv_pack(scene->type, stage->count, stage->source, scene->got,
			       stage->bytes, &moved));
	ck_assert_mem_eq(scene->got, stage->stream, stage->bytes);
}

/* A driver that lacks something will not do; the processor must keep off a device's memory all the same. */
START_TEST(a_driver_without_an_entry_point_is_refused_with_a_sentence)
{
	struct dtconv_memory_attr attr = { .struct_size = sizeof(attr) };
	char sentence[500] = "";
	struct scene scene;

	gpu_open();
	scene_open(&scene, _i % JOBS);
	gpu.standin->absent(gpu_entries[_i], true);
	if (jobs[scene.job].user != ARENA_HOST)
		fixture_status(dtconv_memory_query(scene.context, scene.user.memory,
						   &attr),
			       DTCONV_ERR_BACKEND);
	ck_assert_int_eq(scene_pack(&scene), DTCONV_ERR_BACKEND);
	dtconv_context_error(scene.context, sentence, sizeof(sentence));
	ck_assert_ptr_nonnull(strstr(sentence, "driver is not supported"));
	must_move_on_the_host(&scene);
	gpu.standin->absent(gpu_entries[_i], false);
	scene_close(&scene);
	gpu_must_be_clean(gpu_entries[_i]);
}
END_TEST

/* ---- versions -------------------------------------------------------------------------- */

START_TEST(drivers_from_12_0_on_are_driven)
{
	static const long versions[] = { 12000, 12020, 12080, 13000 };

	for (int deed = 0; deed < DEEDS; deed++) {
		struct act act;

		act_open(&act, deed);
		/* The context has met no memory yet, and so no driver. */
		gpu.standin->set(STANDIN_VERSION, versions[_i]);
		act_fill(&act);
		ck_assert_msg(!act_do(&act), "%s in version %ld", deeds[deed].name,
			      versions[_i]);
		act_must_be_right(&act, deeds[deed].name);
		act_close(&act, false);
		gpu_must_be_clean(deeds[deed].name);
	}
}
END_TEST

/* Memory of the host moves as ever, and a device's does not; nobody touches it. */
static void try_version(struct dtconv_context *context, const struct arena *from,
			const struct arena *to)
{
	struct dtconv_memory_attr attr = { .struct_size = sizeof(attr) };
	struct dtconv_type *type = dtconv_type_predefined(context, DTCONV_DOUBLE);
	int expected = from->kind == ARENA_HOST ? 0 : DTCONV_ERR_BACKEND;

	ck_assert_int_eq(dtconv_memory_query(context, from->memory, &attr), expected);
	ck_assert_int_eq(dtconv_pack(type, 100, from->memory, to->memory, 800, NULL),
			 expected);
}

START_TEST(older_drivers_are_named_and_left_alone)
{
	static const long versions[] = { 11080, 11070 };
	struct arena host, target, device;
	struct listener listener;

	gpu_open();
	gpu.standin->set(STANDIN_VERSION, versions[_i]);
	listener_open(&listener, DTCONV_LOG_WARN, "device memory is not supported");
	arena_open(&host, ARENA_HOST, 800);
	arena_open(&target, ARENA_HOST, 800);
	arena_open(&device, ARENA_DEVICE, 800);
	memset(host.memory, 1, 800);
	size_t launched = gpu.standin->calls("cuLaunchKernel");
	try_version(listener.context, &device, &host);
	ck_assert_uint_ge(listener.lines, 1);
	try_version(listener.context, &host, &target);
	ck_assert_uint_eq(gpu.standin->calls("cuLaunchKernel"), launched);
	dtconv_context_destroy(listener.context);
	arena_close(&host);
	arena_close(&target);
	arena_close(&device);
	gpu_must_be_clean("an old driver");
}
END_TEST

int main(void)
{
	setenv("CK_FORK", "yes", 1);
	gpu_find();
	if (gpu_is_real()) {
		puts("a real driver does not fail on demand");
		return 77;
	}
	Suite *suite = suite_create("faults");
	TCase *faults = tcase_create("faults");

	tcase_set_timeout(faults, 30);
	tcase_add_loop_test(faults, a_refused_call_fails_its_job_and_nothing_else, 0, gpu_entry_count);
	tcase_add_loop_test(faults,
			    a_driver_without_an_entry_point_is_refused_with_a_sentence, 0,
			    gpu_entry_count);
	tcase_add_test(faults,
		       a_lone_block_writes_its_flag_and_the_stream_that_of_several);
	tcase_add_loop_test(faults, what_is_refused_often_is_made_once, 0, 3);
	suite_add_tcase(suite, faults);
	TCase *pairs = tcase_create("pairs");
	tcase_set_timeout(pairs, fixture_everything() ? 600 : 30);
	tcase_add_loop_test(pairs, two_refused_calls_fail_their_job_and_nothing_else, 0, gpu_entry_count);
	suite_add_tcase(suite, pairs);
	TCase *deeds_case = tcase_create("deeds");
	tcase_set_timeout(deeds_case, fixture_everything() ? 300 : 30);
	tcase_add_loop_test(deeds_case, a_refused_call_fails_its_deed_and_nothing_else, 0,
			    DEEDS);
	tcase_add_loop_test(deeds_case, a_broken_context_fails_its_deeds_and_hangs_none,
			    0, DEEDS);
	tcase_add_test(deeds_case, a_fragment_that_fails_is_not_in_the_checksum);
	tcase_add_test(deeds_case, after_a_stream_that_does_not_answer_all_is_made_anew);
	tcase_add_test(deeds_case, a_job_that_fails_ends_behind_what_it_has_launched);
	suite_add_tcase(suite, deeds_case);
	TCase *versions = tcase_create("versions");
	tcase_set_timeout(versions, 30);
	tcase_add_loop_test(versions, drivers_from_12_0_on_are_driven, 0, 4);
	tcase_add_loop_test(versions, older_drivers_are_named_and_left_alone, 0, 2);
	suite_add_tcase(suite, versions);
	return fixture_run(suite);
}
