/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is counted and told of device memory: jobs by backend, launches by the kernels' class, images, the
 * ways that are taken when there is no kernel, and why a type moves as it does.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/fixture.h"
#include "support/gpu.h"
#include "support/listener.h"

static struct dtconv_backend_counters backend(const char *name)
{
	struct dtconv_backend_counters now = { .struct_size = sizeof(now) };

	fixture_ok(dtconv_context_query_backend(fixture_context, name, &now));
	return now;
}

/* Packs so many instances between memory of those kinds; answers the packed bytes. */
static size_t pack(const char *text, size_t count, enum arena_kind user, enum arena_kind packed)
{
	struct dtconv_type *type = fixture_type(text);
	struct arena source, target;
	size_t moved;

	const struct dtconv_type_attr attr = fixture_attr(type);
	arena_open(&source, user, count * (size_t)attr.true_extent + count * (size_t)attr.extent);
	arena_open(&target, packed, count * attr.size);
	ck_assert_msg(!dtconv_pack(type, count, source.memory, target.memory, count * attr.size,
				   &moved),
		      "%s: %s", text, fixture_error());
	arena_close(&source);
	arena_close(&target);
	dtconv_type_unref(type);
	return moved;
}

/* Blocks of one to three ints at growing distances: so many that no short list of runs will do. */
static const char *table(const char *element)
{
	static char text[8192];
	size_t length = (size_t)snprintf(text, sizeof(text), "indexed([1");

	for (int i = 1; i < 400; i++)
		length += (size_t)snprintf(text + length, sizeof(text) - length, ",%d",
					   1 + i * i % 3);
	length += (size_t)snprintf(text + length, sizeof(text) - length, "],[0");
	for (int i = 1; i < 400; i++)
		length += (size_t)snprintf(text + length, sizeof(text) - length, ",%d",
					   5 * i + i * i % 2);
	snprintf(text + length, sizeof(text) - length, "],%s)", element);
	return text;
}

START_TEST(jobs_and_bytes_are_counted_by_backend)
{
	static const struct {
		const char *text;
		size_t count;
		enum arena_kind user, packed;
		const char *name;
	} cases[] = {
		{ "vector(1000, 1, 2, double)", 1, ARENA_HOST, ARENA_HOST, "host" },
		{ "vector(1000, 1, 2, double)", 10, ARENA_DEVICE, ARENA_DEVICE, "cuda_kernel" },
		{ "contiguous(10000000, byte)", 1, ARENA_DEVICE, ARENA_PINNED, "cuda_copy" },
		{ "vector(1000, 1, 2, double)", 100, ARENA_DEVICE, ARENA_HOST, "cuda_staged" },
	};
	size_t bytes = pack(cases[_i].text, cases[_i].count, cases[_i].user, cases[_i].packed);

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct dtconv_backend_counters now = backend(cases[i].name);

		ck_assert_msg(now.jobs == (i == (size_t)_i) && now.bytes == (now.jobs ? bytes : 0),
			      "%s has done %d jobs after one of %s", cases[i].name, (int)now.jobs,
			      cases[_i].name);
	}
}
END_TEST

/* Copies by rows are for memory of one allocation; of mapped memory each row is a copy. */
START_TEST(rows_of_mapped_memory_go_by_a_kernel)
{
	const char *text = "vector(1000, 512, 1024, double)";

	pack(text, 1, ARENA_DEVICE, ARENA_PINNED);
	ck_assert_uint_eq(backend("cuda_copy").jobs, 1);
	pack(text, 1, ARENA_VMM, ARENA_PINNED);
	ck_assert_uint_eq(backend("cuda_copy").jobs, 1);
}
END_TEST

#define MEMBER(name) offsetof(struct dtconv_counters, launches_##name)

/* So many launches, all of them of the class that is counted there, and no other way was taken. */
static void must_be_launched(const char *what, size_t member, uint64_t expected)
{
	static const size_t members[] = { MEMBER(strided), MEMBER(periodic),
					  MEMBER(indexed), MEMBER(transposing),
					  MEMBER(general), MEMBER(many),
					  MEMBER(typed),   MEMBER(mapped) };
	const struct dtconv_counters now = fixture_counters();
	uint64_t launches;

	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		memcpy(&launches, (const char *)&now + members[i], sizeof(launches));
		ck_assert_msg(launches == (members[i] == member ? expected : 0),
			      "%s: %d launches of class %zu", what, (int)launches, i);
	}
	ck_assert_uint_eq(
		now.fallbacks_loading + now.fallbacks_limits + now.fallbacks_blocks, 0);
}

START_TEST(launches_are_counted_by_class)
{
	const struct {
		const char *text;
		size_t count;
		size_t member;
	} cases[] = {
		{ "vector(1000, 1, 2, double)", 3, MEMBER(strided) },
		{ "resized(struct([1,1],[0,8],[short,int64]), 0, 24)", 1000,
		  MEMBER(periodic) },
		{ "resized(struct([1,1],[0,8],[int,int64]), 0, 24)", 1000,
		  MEMBER(mapped) },
		{ table("short"), 10, MEMBER(indexed) },
		{ "contiguous(200, resized(vector(200, 1, 200, double), 0, 8))", 1,
		  MEMBER(transposing) },
		{ "indexed([1,2,1,3,1,2,1,3,4,1], [0,2,7,9,13,15,19,23,29,40], vector(30, 1, 2, short))",
		  3, MEMBER(general) },
		{ "struct([1, 1], [0, 900000], [vector(3000, 2, 5, double), vector(2000, 1, 3, short)])",
		  1, MEMBER(many) },
		{ "indexed([1,2,1,3,1,2,1,3,4,1], [0,2,7,9,13,15,19,23,29,40], vector(30, 1, 2, int))",
		  3, MEMBER(mapped) },
	};

	pack(cases[_i].text, cases[_i].count, ARENA_DEVICE, ARENA_DEVICE);
	must_be_launched(cases[_i].text, cases[_i].member, 1);
}
END_TEST

#define CLASSES 7

/* Elements that change on their way have kernels of their own. */
START_TEST(launches_of_typed_kernels_are_counted_apart)
{
	struct dtconv_convertor_params params = { .struct_size = sizeof(params),
						  .op = _i ? DTCONV_OP_SUM
							   : DTCONV_OP_REPLACE };
	struct dtconv_type *type = fixture_type("vector(1000, 1, 2, double)");
	struct dtconv_representation external32;
	struct arena user, packed;

	fixture_ok(dtconv_representation_find("external32", &external32));
	params.representation = _i ? NULL : &external32;
	arena_open(&user, ARENA_DEVICE, 16000);
	arena_open(&packed, ARENA_DEVICE, 8000);
	fixture_ok(dtconv_unpack_with(type, 1, user.memory, packed.memory, 8000, &params,
				      NULL));
	must_be_launched(_i ? "sum" : "external32", MEMBER(typed), 1);
	arena_close(&user);
	arena_close(&packed);
	dtconv_type_unref(type);
}
END_TEST

START_TEST(a_batch_is_one_launch_and_a_job_for_each_entry)
{
	struct dtconv_type *type = fixture_type("vector(1000, 1, 2, double)");
	struct dtconv_batch_entry entries[3] = { 0 };
	struct arena user, packed;

	arena_open(&user, ARENA_DEVICE, 16000);
	arena_open(&packed, ARENA_DEVICE, 24000);
	for (int i = 0; i < 3; i++)
		entries[i] =
			(struct dtconv_batch_entry){ .type = type,
						     .count = 1,
						     .buffer = user.memory,
						     .packed = packed.memory + 8000 * i,
						     .bytes = 8000,
						     .direction = DTCONV_BATCH_PACK };
	fixture_ok(dtconv_batch_move(fixture_context, entries, 3, NULL, NULL, NULL));
	must_be_launched("three entries", MEMBER(many), 1);
	ck_assert_uint_eq(backend("cuda_kernel").jobs, 3);
	ck_assert_uint_eq(backend("cuda_kernel").bytes, 24000);
	arena_close(&user);
	arena_close(&packed);
	dtconv_type_unref(type);
}
END_TEST

START_TEST(images_are_made_once_and_found_again)
{
	struct dtconv_type *type = fixture_type(table("int"));
	struct arena user, packed;

	arena_open(&user, ARENA_DEVICE, 100000);
	arena_open(&packed, ARENA_DEVICE, 100000);
	for (int i = 0; i < 3; i++)
		fixture_ok(
			dtconv_pack(type, 5, user.memory, packed.memory, 100000, NULL));
	/* The table, and then the map. */
	ck_assert_uint_eq(fixture_counters().images_made, 2);
	ck_assert_uint_eq(fixture_counters().images_found, 1);
	arena_close(&user);
	arena_close(&packed);
	dtconv_type_unref(type);
}
END_TEST

START_TEST(copies_for_want_of_kernels_are_counted_with_the_reason)
{
	if (!gpu.standin)
		return;
	gpu.standin->inject("cuModuleLoadData", 1, CUDA_ERROR_INVALID_IMAGE);
	pack(table("int"), 4, ARENA_DEVICE, ARENA_DEVICE);
	gpu.standin->inject_clear();
	ck_assert_uint_eq(fixture_counters().fallbacks_loading, 1);
	ck_assert_uint_eq(fixture_counters().fallbacks_blocks, 1);
	ck_assert_uint_eq(fixture_counters().launches_indexed, 0);
}
END_TEST

/* A stream says on which device the work is to be done, also of memory that this one does not reach. */
START_TEST(copies_where_no_launch_will_do_are_counted)
{
	struct dtconv_type *type = fixture_type(table("int"));
	CUcontext here, there;
	struct arena user, packed;

	if (!gpu.standin) {
		dtconv_type_unref(type);
		return;
	}
	gpu.standin->set(STANDIN_PEERS, 0);
	MUST(CtxGetCurrent(&here));
	MUST(DevicePrimaryCtxRetain(&there, 1));
	CUstream stream = gpu_stream();
	arena_open(&packed, ARENA_PINNED, 10000);
	MUST(CtxSetCurrent(there));
	arena_open(&user, ARENA_DEVICE, 10000);
	MUST(CtxSetCurrent(here));
	struct dtconv_convertor_params params = fixture_in_stream(stream);
	fixture_ok(dtconv_pack_with(type, 1, user.memory, packed.memory, 10000, &params,
				    NULL));
	ck_assert_uint_eq(fixture_counters().fallbacks_limits, 1);
	ck_assert_uint_eq(fixture_counters().fallbacks_blocks, 1);
	ck_assert_uint_eq(fixture_counters().fallbacks_loading, 0);
	arena_close(&packed);
	MUST(StreamDestroy(stream));
	MUST(CtxSetCurrent(there));
	arena_close(&user);
	MUST(CtxSetCurrent(here));
	MUST(DevicePrimaryCtxRelease(1));
	gpu.standin->set(STANDIN_PEERS, 1);
	dtconv_type_unref(type);
}
END_TEST

/* Mapped memory and a pool's belong to no context, and none is current: the primary one serves. */
START_TEST(memory_of_nobody_is_moved_in_the_primary_context)
{
	CUcontext current;

	MUST(CtxGetCurrent(&current));
	struct dtconv_type *type = fixture_type("vector(200, 1, 2, double)");
	struct arena user, packed;
	arena_open(&user, ARENA_VMM, 10000);
	arena_open(&packed, ARENA_ASYNC, 10000);
	MUST(CtxSetCurrent(NULL));
	int status = dtconv_pack(type, 1, user.memory, packed.memory, 10000, NULL);
	MUST(CtxSetCurrent(current));
	ck_assert_msg(!status, "%s", fixture_error());
	ck_assert_uint_ge(backend("cuda_kernel").jobs, 1);
	arena_close(&user);
	arena_close(&packed);
	dtconv_type_unref(type);
}
END_TEST

/* A job that fails, as it is and with another representation, and one like it that does not. */
START_TEST(jobs_that_fail_are_not_counted)
{
	struct dtconv_convertor_params params = { .struct_size = sizeof(params) };
	struct dtconv_type *type = fixture_type("vector(1000, 1, 2, double)");
	struct dtconv_representation external32;
	struct arena user, packed;

	if (!gpu.standin) {
		dtconv_type_unref(type);
		return;
	}
	fixture_ok(dtconv_representation_find("external32", &external32));
	params.representation = _i ? &external32 : NULL;
	arena_open(&user, ARENA_DEVICE, 16000);
	arena_open(&packed, ARENA_DEVICE, 8000);
	for (int fails = 0; fails < 2; fails++) {
		if (fails)
			gpu.standin->inject("cuLaunchKernel", 1,
					    CUDA_ERROR_OUT_OF_MEMORY);
		ck_assert_int_eq(dtconv_pack_with(type, 1, user.memory, packed.memory,
						  8000, &params, NULL),
				 fails ? DTCONV_ERR_BACKEND : 0);
		ck_assert_uint_eq(backend("cuda_kernel").jobs, 1);
		ck_assert_uint_eq(backend("cuda_kernel").bytes, 8000);
	}
	gpu.standin->inject_clear();
	arena_close(&user);
	arena_close(&packed);
	dtconv_type_unref(type);
}
END_TEST

/* Rows whose distance not every device takes. */
START_TEST(rows_far_apart_are_copied_one_by_one)
{
	const struct dtconv_convertor_params params = fixture_by("cuda_copy");
	const size_t pitch = 0x40000000 + (_i ? 8 : 0);
	struct dtconv_type *type;
	struct arena user, packed;
	uint64_t row;

	if (!gpu.standin)
		return;
	fixture_ok(dtconv_type_create_hvector(
		3, 8, (ptrdiff_t)pitch,
		dtconv_type_predefined(fixture_context, DTCONV_BYTE), &type));
	fixture_ok(dtconv_type_commit(type));
	arena_open(&user, ARENA_DEVICE, 2 * pitch + 8);
	arena_open(&packed, ARENA_DEVICE, 24);
	for (row = 0; row < 3; row++)
		arena_write(&user, row * pitch, &row, sizeof(row));
	size_t before = gpu.standin->calls("cuMemcpy2DAsync");
	fixture_ok(
		dtconv_pack_with(type, 1, user.memory, packed.memory, 24, &params, NULL));
	ck_assert_uint_eq(gpu.standin->calls("cuMemcpy2DAsync") - before, _i ? 0 : 1);
	for (uint64_t i = 0; i < 3; i++) {
		arena_read(&packed, i * sizeof(row), &row, sizeof(row));
		ck_assert_uint_eq(row, i);
	}
	arena_close(&user);
	arena_close(&packed);
	dtconv_type_unref(type);
}
END_TEST

/* ---- calls of the driver ---------------------------------------------------------------- */

static void add_calls(const char *entry, size_t calls, void *sum)
{
	(void)entry;
	*(size_t *)sum += calls;
}

/* All calls so far, but for those that ask a stream whether it is done: the host was fast, or slow. */
static size_t driver_calls(void)
{
	size_t sum = 0;

	gpu.standin->each(add_calls, &sum);
	return sum - 4 * gpu.standin->calls("cuStreamQuery");
}

/*
 * Where both sides are, the capture mode there and back, the current context, its device and its id, and
 * the launch. Each costs some tens of nanoseconds of the ten thousand that a small job takes.
 */
#define CALLS_OF_A_JOB 8

START_TEST(a_small_job_makes_few_calls_of_the_driver)
{
	const struct dtconv_convertor_params told = { .struct_size = sizeof(told),
						      .user_memory = DTCONV_MEMORY_DEVICE,
						      .packed_memory =
							      DTCONV_MEMORY_DEVICE };
	struct dtconv_type *type = fixture_type("vector(200, 1, 2, double)");
	struct arena user, packed;

	if (!gpu.standin) {
		dtconv_type_unref(type);
		return;
	}
	arena_open(&user, ARENA_DEVICE, 10000);
	arena_open(&packed, ARENA_DEVICE, 10000);
	fixture_ok(dtconv_pack(type, 1, user.memory, packed.memory, 10000, NULL));
	size_t before = driver_calls();
	fixture_ok(dtconv_pack(type, 1, user.memory, packed.memory, 10000, NULL));
	ck_assert_uint_eq(driver_calls() - before, CALLS_OF_A_JOB);
	before = driver_calls();
	fixture_ok(dtconv_pack_with(type, 1, user.memory, packed.memory, 10000, &told,
				    NULL));
	ck_assert_uint_eq(driver_calls() - before, CALLS_OF_A_JOB - 2);
	arena_close(&user);
	arena_close(&packed);
	dtconv_type_unref(type);
}
END_TEST

/* How ends of jobs were marked, since the last call. */
struct marks {
	size_t words, events, created;
};

static struct marks count_marks(void)
{
	static struct marks before;
	const struct marks now = { gpu.standin->calls("cuStreamWriteValue64"),
				   gpu.standin->calls("cuEventRecord"),
				   gpu.standin->calls("cuEventCreate") };
	const struct marks since = { now.words - before.words, now.events - before.events,
				     now.created - before.created };

	before = now;
	return since;
}

/* A word keeps the stream from its next work; who does not wait at once has none. */
static const struct {
	bool converts;
	unsigned flags;
	size_t jobs; /* of the device's, one behind the other */
} marked[] = { { false, 0, 1 }, { true, 0, 1 }, { false, DTCONV_CONVERTOR_CRC32C, 2 } };

START_TEST(only_who_waits_at_once_has_the_stream_write_a_word)
{
	const size_t jobs = marked[_i].jobs;
	struct dtconv_representation external32;
	struct dtconv_convertor_params params = {
		.struct_size = sizeof(params),
		.representation = marked[_i].converts ? &external32 : NULL,
		.flags = marked[_i].flags | DTCONV_CONVERTOR_STREAM
	};
	struct dtconv_type *type = fixture_type("vector(20000, 1, 2, double)");
	struct arena user, packed;
	struct marks marks;
	size_t moved;

	if (!gpu.standin) {
		dtconv_type_unref(type);
		return;
	}
	arena_open(&user, ARENA_DEVICE, 320000);
	arena_open(&packed, ARENA_DEVICE, 160000);
	CUstream stream = gpu_stream();
	params.stream = stream;
	fixture_ok(dtconv_representation_find("external32", &external32));
	struct dtconv_convertor *convertor =
		fixture_packer(type, 1, user.memory, &params);
	fixture_ok(dtconv_convertor_pack(convertor, packed.memory, 160000, &moved));
	(void)count_marks();
	for (int round = 0; round < 3; round++) {
		fixture_ok(dtconv_convertor_seek(convertor, 0));
		fixture_ok(
			dtconv_convertor_pack(convertor, packed.memory, 160000, &moved));
		marks = count_marks();
		ck_assert(marks.words == jobs && !marks.events && !marks.created);
		fixture_ok(dtconv_convertor_seek(convertor, 0));
		fixture_ok(dtconv_convertor_start(convertor, packed.memory, 160000, NULL,
						  NULL));
		fixture_ok(dtconv_convertor_wait(convertor, NULL));
		marks = count_marks();
		ck_assert(!marks.words && marks.events == jobs &&
			  marks.created == (round ? 0 : jobs));
	}
	dtconv_convertor_destroy(convertor);
	MUST(StreamDestroy(stream));
	arena_close(&user);
	arena_close(&packed);
	dtconv_type_unref(type);
}
END_TEST

START_TEST(so_do_batches)
{
	struct dtconv_batch_params params = { .struct_size = sizeof(params),
					      .flags = DTCONV_BATCH_STREAM };
	struct dtconv_type *type = fixture_type("vector(20000, 1, 2, double)");
	struct arena user, packed;
	struct dtconv_batch *batch;

	if (!gpu.standin) {
		dtconv_type_unref(type);
		return;
	}
	arena_open(&user, ARENA_DEVICE, 320000);
	arena_open(&packed, ARENA_DEVICE, 320000);
	CUstream stream = gpu_stream();
	params.stream = stream;
	const struct dtconv_batch_entry entry = { .type = type,
						  .count = 1,
						  .buffer = user.memory,
						  .packed = packed.memory,
						  .bytes = 160000 };
	struct dtconv_batch_entry entries[2] = { entry, entry };
	entries[1].packed = packed.memory + 160000;
	fixture_ok(dtconv_batch_create(fixture_context, entries, 2, &params, &batch));
	fixture_ok(dtconv_batch_run(batch, NULL));
	(void)count_marks();
	fixture_ok(dtconv_batch_run(batch, NULL));
	struct marks marks = count_marks();
	ck_assert(marks.words == 1 && !marks.events);
	fixture_ok(dtconv_batch_start(batch, NULL, NULL));
	fixture_ok(dtconv_batch_wait(batch, NULL));
	marks = count_marks();
	ck_assert(!marks.words && marks.events == 1);
	dtconv_batch_destroy(batch);
	MUST(StreamDestroy(stream));
	arena_close(&user);
	arena_close(&packed);
	dtconv_type_unref(type);
}
END_TEST

/* ---- telling --------------------------------------------------------------------------- */

/* Packs device memory twice with those backends. */
static void pack_twice(struct listener *listener, const char *text, const char *backends)
{
	const struct dtconv_convertor_params params = fixture_by(backends);
	struct arena user, packed;

	arena_open(&user, ARENA_DEVICE, 100000);
	arena_open(&packed, ARENA_DEVICE, 100000);
	struct dtconv_type *type = fixture_type_in(listener->context, text);
	for (int i = 0; i < 2; i++)
		fixture_ok(dtconv_pack_with(type, 5, user.memory, packed.memory, 100000,
					    &params, NULL));
	dtconv_type_unref(type);
	arena_close(&user);
	arena_close(&packed);
	dtconv_context_destroy(listener->context);
}

START_TEST(a_type_that_is_copied_block_by_block_is_named_once)
{
	struct listener listener;

	listener_open(&listener, DTCONV_LOG_WARN, "slow path");
	pack_twice(&listener, table("int"), "cuda_copy");
	ck_assert_uint_eq(listener.lines, 1);
	ck_assert_ptr_nonnull(strstr(listener.text, "indexed([1,2,2,1"));
	ck_assert_ptr_nonnull(strstr(listener.text, "... between device and device"));
	ck_assert_ptr_nonnull(strstr(listener.text, "copies, one for each block"));
}
END_TEST

START_TEST(a_type_without_kernels_is_named_with_the_reason)
{
	struct listener listener;

	if (!gpu.standin)
		return;
	listener_open(&listener, DTCONV_LOG_WARN, "slow path");
	gpu.standin->inject("cuModuleLoadData", 1, CUDA_ERROR_INVALID_IMAGE);
	pack_twice(&listener, table("int"), NULL);
	gpu.standin->inject_clear();
	ck_assert_uint_eq(listener.lines, 1);
	ck_assert_ptr_nonnull(
		strstr(listener.text, "because the kernels are not loaded"));
}
END_TEST

START_TEST(what_moves_well_is_not_warned_of)
{
	struct listener listener;

	listener_open(&listener, DTCONV_LOG_WARN, "");
	pack_twice(&listener, "vector(200, 1, 2, double)", NULL);
	ck_assert_msg(!listener.lines, "%s", listener.text);
}
END_TEST

START_TEST(devices_are_named)
{
	static char met;
	struct dtconv_memory_attr attr = { .struct_size = sizeof(attr) };

	/* The context looks for a driver when it first meets memory. */
	fixture_ok(dtconv_memory_query(fixture_context, &met, &attr));
	const char *text = fixture_info(fixture_context);
	ck_assert_ptr_nonnull(strstr(text, "CUDA: driver "));
	ck_assert_ptr_nonnull(strstr(text, "device 0: "));
	ck_assert_ptr_nonnull(strstr(text, "compute capability "));
}
END_TEST

START_TEST(every_job_tells_its_candidates_to_those_who_debug)
{
	struct listener listener;

	listener_open(&listener, DTCONV_LOG_DEBUG, "device to device: ");
	pack_twice(&listener, "vector(200, 1, 2, double)", NULL);
	ck_assert_uint_eq(listener.lines, 2);
	ck_assert_ptr_nonnull(strstr(listener.text, "dtconv_pack_with: 8000 bytes"));
	ck_assert_ptr_nonnull(strstr(listener.text, "cuda_copy "));
	ck_assert_ptr_nonnull(
		strstr(listener.text, " ns (chosen; strided kernel, 8-byte words)"));
}
END_TEST

/* Each of the lines is told once, when the context ends. */
struct lines {
	size_t strided, kernel, made;
};

static void sort_lines(void *arg, enum dtconv_log_level level, const char *file, int line,
		       const char *text)
{
	struct lines *lines = arg;

	(void)level, (void)file, (void)line;
	if (strncmp(text, "stats: ", 7))
		return;
	lines->strided +=
		!strcmp(text, "stats: launches_strided 2 (launches of strided kernels)");
	lines->kernel += !strcmp(text, "stats: 2 jobs of 16000 bytes by cuda_kernel");
	lines->made += strstr(text, "images_made") != NULL;
}

START_TEST(what_a_device_has_done_is_told_at_the_end_when_the_environment_asks)
{
	struct lines lines = { 0 };
	const struct dtconv_context_params params = { .struct_size = sizeof(params),
						      .log = sort_lines,
						      .log_arg = &lines };
	struct listener listener = { 0 };

	setenv("DTCONV_STATS", "1", 1);
	fixture_ok(dtconv_context_create(&params, &listener.context));
	unsetenv("DTCONV_STATS");
	pack_twice(&listener, "vector(200, 1, 2, double)", "cuda_kernel");
	ck_assert_uint_eq(lines.strided, 1);
	ck_assert_uint_eq(lines.kernel, 1);
	/* What has not been is not told. */
	ck_assert_uint_eq(lines.made, 0);
}
END_TEST

int main(void)
{
	gpu_open_in_program();
	Suite *suite = suite_create("counters");
	TCase *counting = fixture_case(suite, "counters", 30);

	tcase_add_loop_test(counting, jobs_and_bytes_are_counted_by_backend, 0, 4);
	tcase_add_test(counting, rows_of_mapped_memory_go_by_a_kernel);
	tcase_add_loop_test(counting, launches_are_counted_by_class, 0, CLASSES);
	tcase_add_loop_test(counting, launches_of_typed_kernels_are_counted_apart, 0, 2);
	tcase_add_test(counting, a_batch_is_one_launch_and_a_job_for_each_entry);
	tcase_add_loop_test(counting, jobs_that_fail_are_not_counted, 0, 2);
	tcase_add_loop_test(counting, rows_far_apart_are_copied_one_by_one, 0, 2);
	tcase_add_test(counting, copies_where_no_launch_will_do_are_counted);
	tcase_add_test(counting, images_are_made_once_and_found_again);
	tcase_add_test(counting, memory_of_nobody_is_moved_in_the_primary_context);
	tcase_add_test(counting, copies_for_want_of_kernels_are_counted_with_the_reason);
	tcase_add_test(counting, a_small_job_makes_few_calls_of_the_driver);
	tcase_add_loop_test(counting, only_who_waits_at_once_has_the_stream_write_a_word,
			    0, (int)(sizeof(marked) / sizeof(marked[0])));
	tcase_add_test(counting, so_do_batches);
	TCase *telling = fixture_case(suite, "telling", 30);
	tcase_add_test(telling, a_type_that_is_copied_block_by_block_is_named_once);
	tcase_add_test(telling, a_type_without_kernels_is_named_with_the_reason);
	tcase_add_test(telling, devices_are_named);
	tcase_add_test(telling, what_moves_well_is_not_warned_of);
	tcase_add_test(telling, every_job_tells_its_candidates_to_those_who_debug);
	tcase_add_test(
		telling,
		what_a_device_has_done_is_told_at_the_end_when_the_environment_asks);
	return fixture_run(suite);
}
