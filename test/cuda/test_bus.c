/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Long jobs over the bus: in pinned pieces, which several threads copy, and in pieces of device memory,
 * which the copy engine moves. All bytes arrive, nobody waits for who need not be waited for, and threads
 * are started when they are said to be.
 */
#include "config.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "support/fixture.h"
#include "support/gpu.h"

/* ---- jobs ------------------------------------------------------------------------------ */

/* One instance of a type in an arena, its packed stream in another, and what both must hold. */
struct job {
	struct dtconv_type *type;
	CUcontext device; /* current where it was opened */
	struct arena user, packed;
	size_t span, bytes;
	unsigned char *memory; /* of the user's side */
	unsigned char *stream; /* that memory packed */
	unsigned char *got;
};

static void fill(unsigned char *bytes, size_t count, uint64_t seed)
{
	for (size_t i = 0; i < count; i++) {
		seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
		bytes[i] = (unsigned char)(seed >> 56);
	}
}

static void open_in(struct dtconv_context *context, struct job *job, const char *text,
		    enum arena_kind user, enum arena_kind packed)
{
	size_t moved;

	MUST(CtxGetCurrent(&job->device));
	job->type = fixture_type_in(context, text);
	const struct dtconv_type_attr attr = fixture_attr(job->type);
	job->bytes = attr.size;
	job->span = (size_t)attr.true_extent;
	job->memory = malloc(job->span);
	job->stream = malloc(job->bytes);
	job->got = malloc(job->span);
	fill(job->memory, job->span, 1);
	fixture_ok(
		dtconv_pack(job->type, 1, job->memory, job->stream, job->bytes, &moved));
	arena_open(&job->user, user, job->span);
	arena_open(&job->packed, packed, job->bytes);
	arena_write(&job->user, 0, job->memory, job->span);
}

static void open_job(struct job *job, const char *text, enum arena_kind user,
		     enum arena_kind packed)
{
	open_in(fixture_context, job, text, user, packed);
}

static void close_job(struct job *job)
{
	arena_close(&job->user);
	arena_close(&job->packed);
	dtconv_type_unref(job->type);
	free(job->memory);
	free(job->stream);
	free(job->got);
}

static void check_packed(struct job *job)
{
	arena_read(&job->packed, 0, job->got, job->bytes);
	for (size_t i = 0; i < job->bytes; i++)
		if (job->got[i] != job->stream[i])
			ck_abort_msg("packed byte %zu of %zu is wrong", i, job->bytes);
}

static void pack(struct job *job, const char *backends)
{
	struct dtconv_convertor_params params = fixture_by(backends);
	size_t moved;

	fixture_ok(dtconv_pack_with(job->type, 1, job->user.memory, job->packed.memory,
				    job->bytes, &params, &moved));
	ck_assert_uint_eq(moved, job->bytes);
	check_packed(job);
}

/* What is unpacked is in its place, and nothing else was touched. */
static void unpack(struct job *job, const char *backends)
{
	struct dtconv_convertor_params params = fixture_by(backends);
	unsigned char *expected = malloc(job->span);
	size_t moved;

	memset(expected, 0x5a, job->span);
	arena_write(&job->user, 0, expected, job->span);
	arena_write(&job->packed, 0, job->stream, job->bytes);
	fixture_ok(dtconv_unpack_with(job->type, 1, job->user.memory, job->packed.memory,
				      job->bytes, &params, &moved));
	ck_assert_uint_eq(moved, job->bytes);
	fixture_ok(
		dtconv_unpack(job->type, 1, expected, job->stream, job->bytes, &moved));
	arena_read(&job->user, 0, job->got, job->span);
	for (size_t i = 0; i < job->span; i++)
		if (job->got[i] != expected[i])
			ck_abort_msg("byte %zu of %zu of the user's memory is wrong", i,
				     job->span);
	arena_write(&job->user, 0, job->memory, job->span);
	free(expected);
}

/* In the order of a stream. */
static struct dtconv_convertor *ordered(struct dtconv_convertor *convertor, const char *backends,
					CUstream stream)
{
	struct dtconv_convertor_params params = fixture_by(backends);

	params.flags = DTCONV_CONVERTOR_STREAM;
	params.stream = stream;
	fixture_ok(dtconv_convertor_configure(convertor, &params));
	return convertor;
}

static struct dtconv_convertor *packer(struct job *job, const char *backends, CUstream stream)
{
	struct dtconv_convertor *convertor;

	fixture_ok(
		dtconv_convertor_create_pack(job->type, 1, job->user.memory, &convertor));
	return ordered(convertor, backends, stream);
}

/* ---- all bytes arrive ------------------------------------------------------------------ */

static const char *const texts[] = {
	"vector(100001, 3, 5, double)",
	"contiguous(2200011, byte)",
	"contiguous(70001, resized(struct([5,3,9], [0,21,30], [int,short,byte]), 0, 48))",
	"hvector(301, 7001, 7013, byte)",
};

#define TEXTS (int)(sizeof(texts) / sizeof(texts[0]))

static const struct {
	const char *backend;
	enum arena_kind user, packed;
} ways[] = {
	{ "cuda_staged", ARENA_DEVICE, ARENA_HOST },
	{ "cuda_staged", ARENA_HOST, ARENA_DEVICE },
	{ "cuda_relay", ARENA_DEVICE, ARENA_PINNED },
	{ "cuda_relay", ARENA_DEVICE, ARENA_REGISTERED },
};

#define WAYS (int)(sizeof(ways) / sizeof(ways[0]))

START_TEST(all_bytes_arrive)
{
	int way = _i % WAYS;
	struct job job;

	open_job(&job, texts[_i / WAYS], ways[way].user, ways[way].packed);
	for (int round = 0; round < 2; round++) {
		pack(&job, ways[way].backend);
		unpack(&job, ways[way].backend);
	}
	close_job(&job);
}
END_TEST

START_TEST(a_fragment_in_the_middle_of_a_stream_arrives)
{
	int way = _i;
	struct dtconv_convertor_params params = fixture_by(ways[way].backend);
	struct job job;
	size_t moved, begin = 654321, bytes = 1234567;

	open_job(&job, texts[0], ways[way].user, ways[way].packed);
	struct dtconv_convertor *convertor =
		fixture_packer(job.type, 1, job.user.memory, &params);
	fixture_ok(dtconv_convertor_seek(convertor, begin));
	fixture_ok(dtconv_convertor_pack(convertor, job.packed.memory, bytes, &moved));
	ck_assert_uint_eq(moved, bytes);
	ck_assert_uint_eq(fixture_position(convertor), begin + bytes);
	arena_read(&job.packed, 0, job.got, bytes);
	ck_assert_int_eq(memcmp(job.got, job.stream + begin, bytes), 0);
	dtconv_convertor_destroy(convertor);
	close_job(&job);
}
END_TEST

static uint64_t launches(void)
{
	return fixture_counters().launches_strided;
}

/* 40 MiB: 1 and 7, then 8 as long as there are so many, and the rest; back 8, at the end 7 and 1. */
#define LAUNCHES_OUT  6
#define LAUNCHES_BACK 6

START_TEST(pieces_of_device_memory_grow_and_shrink_and_are_used_again)
{
	struct job job;

	open_job(&job, "vector(1300001, 4, 7, double)", ARENA_DEVICE, ARENA_PINNED);
	for (int round = 0; round < 2; round++) {
		uint64_t before = launches();

		pack(&job, "cuda_relay");
		ck_assert_uint_eq(launches() - before, LAUNCHES_OUT);
		unpack(&job, "cuda_relay");
		ck_assert_uint_eq(launches() - before, LAUNCHES_OUT + LAUNCHES_BACK);
	}
	close_job(&job);
}
END_TEST

/* A launch for each pinned piece: 512 KiB, or two halves of what one processor copies out of them. */
START_TEST(ordinary_memory_goes_in_few_pieces)
{
	static const struct {
		const char *text;
		uint64_t out, back;
	} cases[] = {
		{ "vector(2000, 10, 13, double)", 2, 1 },   /* 160 kB */
		{ "vector(6000, 10, 13, double)", 1, 1 },   /* 480 kB */
		{ "vector(16000, 10, 13, double)", 3, 3 },  /* 1.28 MB */
		{ "vector(100000, 10, 13, double)", 8, 8 }, /* 8 MB: pieces of an eighth */
	};
	struct job job;

	open_job(&job, cases[_i].text, ARENA_DEVICE, ARENA_HOST);
	uint64_t before = launches();
	pack(&job, "cuda_staged");
	ck_assert_uint_eq(launches() - before, cases[_i].out);
	before = launches();
	unpack(&job, "cuda_staged");
	ck_assert_uint_eq(launches() - before, cases[_i].back);
	close_job(&job);
}
END_TEST

/* ---- several at once ------------------------------------------------------------------- */

static void *pack_again_and_again(void *arg)
{
	struct job *job = arg;

	MUST(CtxSetCurrent(job->device));
	for (int round = 0; round < 5; round++)
		pack(job, NULL);
	return NULL;
}

START_TEST(two_threads_move_long_jobs_at_once)
{
	const int way = _i;
	struct job jobs[2];
	pthread_t other;

	for (int i = 0; i < 2; i++)
		open_job(&jobs[i], texts[i], ways[way].user, ways[way].packed);
	ck_assert_int_eq(pthread_create(&other, NULL, pack_again_and_again, &jobs[1]), 0);
	pack_again_and_again(&jobs[0]);
	pthread_join(other, NULL);
	for (int i = 0; i < 2; i++)
		close_job(&jobs[i]);
}
END_TEST

/* Default streams of each thread's have one name, and are not one. */
static void *pack_by_default_stream(void *arg)
{
	struct job *job = arg;
	size_t moved;

	MUST(CtxSetCurrent(job->device));
	for (int round = 0; round < 10; round++) {
		struct dtconv_convertor *convertor =
			packer(job, "cuda_relay", CU_STREAM_PER_THREAD);

		arena_write(&job->packed, 0, job->memory, job->bytes);
		fixture_ok(dtconv_convertor_pack(convertor, job->packed.memory,
						 job->bytes, &moved));
		dtconv_convertor_destroy(convertor);
		check_packed(job);
	}
	return NULL;
}

START_TEST(default_streams_of_two_threads_do_not_share_the_pieces)
{
	struct job jobs[2];
	pthread_t other;

	for (int i = 0; i < 2; i++)
		open_job(&jobs[i], texts[i], ARENA_DEVICE, ARENA_PINNED);
	pack(&jobs[0], "cuda_relay");
	ck_assert_int_eq(pthread_create(&other, NULL, pack_by_default_stream, &jobs[1]),
			 0);
	pack_by_default_stream(&jobs[0]);
	pthread_join(other, NULL);
	for (int i = 0; i < 2; i++)
		close_job(&jobs[i]);
}
END_TEST

/* A job that another thread starts in its own default stream. */
struct started {
	struct job *job;
	struct dtconv_convertor *convertor;
	uint64_t launches;
};

static void *start_by_default_stream(void *arg)
{
	struct started *started = arg;
	struct job *job = started->job;
	uint64_t before = launches();

	MUST(CtxSetCurrent(job->device));
	started->convertor = packer(job, "cuda_relay", CU_STREAM_PER_THREAD);
	fixture_ok(dtconv_convertor_start(started->convertor, job->packed.memory,
					  job->bytes, NULL, NULL));
	started->launches = launches() - before;
	return NULL;
}

/* The pieces are taken until the spin ends; behind another thread's job in them this one would wait. */
START_TEST(a_default_stream_does_not_follow_another_threads_through_the_pieces)
{
	struct job jobs[2];
	struct started first = { .job = &jobs[0] }, second = { .job = &jobs[1] };
	struct spin spin;
	pthread_t other;
	size_t moved;

	for (int i = 0; i < 2; i++)
		open_job(&jobs[i], texts[0], ARENA_DEVICE, ARENA_PINNED);
	pack(&jobs[0], "cuda_relay");
	spin_begin(&spin, CU_STREAM_PER_THREAD);
	start_by_default_stream(&first);
	ck_assert_uint_gt(first.launches, 1);
	ck_assert_int_eq(pthread_create(&other, NULL, start_by_default_stream, &second),
			 0);
	pthread_join(other, NULL);
	ck_assert_uint_eq(second.launches, 1);
	fixture_ok(dtconv_convertor_wait(second.convertor, &moved));
	spin_end(&spin);
	fixture_ok(dtconv_convertor_wait(first.convertor, &moved));
	dtconv_convertor_destroy(first.convertor);
	dtconv_convertor_destroy(second.convertor);
	for (int i = 0; i < 2; i++) {
		check_packed(&jobs[i]);
		close_job(&jobs[i]);
	}
}
END_TEST

START_TEST(jobs_of_one_stream_follow_each_other_through_the_pieces)
{
	CUstream stream = gpu_stream();
	struct dtconv_convertor *convertors[2];
	struct job jobs[2];
	size_t moved;

	for (int i = 0; i < 2; i++) {
		open_job(&jobs[i], texts[i], ARENA_DEVICE, ARENA_PINNED);
		convertors[i] = packer(&jobs[i], "cuda_relay", stream);
	}
	for (int i = 0; i < 2; i++)
		fixture_ok(dtconv_convertor_start(convertors[i], jobs[i].packed.memory,
						  jobs[i].bytes, NULL, NULL));
	for (int i = 1; i >= 0; i--) {
		fixture_ok(dtconv_convertor_wait(convertors[i], &moved));
		check_packed(&jobs[i]);
		dtconv_convertor_destroy(convertors[i]);
		close_job(&jobs[i]);
	}
}
END_TEST

START_TEST(a_job_does_not_wait_for_another_stream_to_leave_the_pieces)
{
	struct dtconv_convertor *blocked, *other;
	struct job first, second;
	struct spin spin;
	size_t moved;

	open_job(&first, texts[0], ARENA_DEVICE, ARENA_PINNED);
	open_job(&second, texts[0], ARENA_DEVICE, ARENA_PINNED);
	pack(&first, "cuda_relay");
	spin_begin(&spin, gpu_stream());
	blocked = packer(&first, "cuda_relay", spin.stream);
	other = packer(&second, "cuda_relay", gpu_stream());
	fixture_ok(dtconv_convertor_start(blocked, first.packed.memory, first.bytes, NULL,
					  NULL));
	/* Ends only if it does not wait for the first, which cannot end yet. */
	fixture_ok(
		dtconv_convertor_pack(other, second.packed.memory, second.bytes, &moved));
	fixture_status(dtconv_convertor_test(blocked, &moved), DTCONV_INPROGRESS);
	check_packed(&second);
	spin_release(&spin);
	fixture_ok(dtconv_convertor_wait(blocked, &moved));
	check_packed(&first);
	spin_end(&spin);
	dtconv_convertor_destroy(blocked);
	dtconv_convertor_destroy(other);
	close_job(&first);
	close_job(&second);
}
END_TEST

/* ---- started jobs ---------------------------------------------------------------------- */

static struct dtconv_convertor *unpacker(struct job *job, CUstream stream)
{
	struct dtconv_convertor *convertor;

	fixture_ok(dtconv_convertor_create_unpack(job->type, 1, job->user.memory,
						  &convertor));
	return ordered(convertor, "cuda_staged", stream);
}

/* Another job may have the staging buffers; it ends by itself. */
static void start(struct dtconv_convertor *convertor, struct job *job)
{
	int status;

	while ((status = dtconv_convertor_start(convertor, job->packed.memory, job->bytes,
						NULL, NULL)) == DTCONV_ERR_AGAIN)
		sched_yield();
	fixture_ok(status);
}

static void finish(struct dtconv_convertor *convertor, const struct job *job)
{
	size_t moved;

	fixture_ok(dtconv_convertor_wait(convertor, &moved));
	ck_assert_uint_eq(moved, job->bytes);
	dtconv_convertor_destroy(convertor);
}

/* All that the pinned pieces hold at once, and so little that the caller would rather do it itself. */
static const char *const startable[] = { "vector(100001, 3, 5, double)",
					 "vector(1000, 3, 5, double)" };

START_TEST(a_pack_is_started_though_its_stream_is_busy)
{
	struct spin spin;
	struct job job;
	size_t moved;

	open_job(&job, startable[_i], ARENA_DEVICE, ARENA_HOST);
	pack(&job, "cuda_staged");
	memset(job.packed.memory, 0, job.bytes);
	spin_begin(&spin, gpu_stream());
	struct dtconv_convertor *convertor = packer(&job, "cuda_staged", spin.stream);
	start(convertor, &job);
	fixture_status(dtconv_convertor_test(convertor, &moved), DTCONV_INPROGRESS);
	/* What comes behind the job in its stream comes behind its reads. */
	MUST(MemsetD8Async((CUdeviceptr)(uintptr_t)job.user.memory, 0, job.span,
			   spin.stream));
	spin_release(&spin);
	finish(convertor, &job);
	check_packed(&job);
	spin_end(&spin);
	close_job(&job);
}
END_TEST

START_TEST(an_unpack_is_started_though_its_stream_is_busy)
{
	struct spin spin;
	struct job job;
	size_t moved;

	open_job(&job, startable[_i], ARENA_DEVICE, ARENA_HOST);
	memset(job.got, 0x5a, job.span);
	arena_write(&job.user, 0, job.got, job.span);
	memcpy(job.packed.memory, job.stream, job.bytes);
	spin_begin(&spin, gpu_stream());
	struct dtconv_convertor *convertor = unpacker(&job, spin.stream);
	start(convertor, &job);
	fixture_status(dtconv_convertor_test(convertor, &moved), DTCONV_INPROGRESS);
	spin_release(&spin);
	finish(convertor, &job);
	memset(job.packed.memory, 0, job.bytes);
	pack(&job, "cuda_staged");
	spin_end(&spin);
	close_job(&job);
}
END_TEST

START_TEST(jobs_without_a_stream_are_started_one_after_the_other)
{
	const int way = _i;
	struct dtconv_convertor_params params = fixture_by(ways[way].backend);
	struct dtconv_convertor *convertors[2];
	struct job jobs[2];

	for (int i = 0; i < 2; i++) {
		open_job(&jobs[i], texts[i], ways[way].user, ways[way].packed);
		convertors[i] =
			fixture_packer(jobs[i].type, 1, jobs[i].user.memory, &params);
	}
	for (int i = 0; i < 2; i++)
		start(convertors[i], &jobs[i]);
	for (int i = 1; i >= 0; i--) {
		finish(convertors[i], &jobs[i]);
		check_packed(&jobs[i]);
		close_job(&jobs[i]);
	}
}
END_TEST

START_TEST(a_started_job_is_ended_with_its_convertor)
{
	struct dtconv_convertor *convertor;
	struct job job;

	open_job(&job, texts[1], ARENA_DEVICE, ARENA_HOST);
	fixture_ok(
		dtconv_convertor_create_pack(job.type, 1, job.user.memory, &convertor));
	start(convertor, &job);
	dtconv_convertor_destroy(convertor);
	check_packed(&job);
	close_job(&job);
}
END_TEST

START_TEST(a_started_job_that_fails_says_so_to_who_waits)
{
	struct dtconv_convertor_params params = fixture_by("cuda_staged");
	struct job job;
	size_t moved;

	if (!gpu.standin)
		return;
	open_job(&job, texts[0], ARENA_DEVICE, ARENA_HOST);
	pack(&job, "cuda_staged");
	struct dtconv_convertor *convertor =
		fixture_packer(job.type, 1, job.user.memory, &params);
	gpu.standin->inject("cuLaunchKernel", 3, CUDA_ERROR_OUT_OF_MEMORY);
	start(convertor, &job);
	fixture_status(dtconv_convertor_wait(convertor, &moved), DTCONV_ERR_BACKEND);
	ck_assert_ptr_nonnull(strstr(fixture_error(), "dtconv_convertor_start: "
						      "cuLaunchKernel failed on device "
						      "0: CUDA_ERROR_OUT_OF_MEMORY"));
	ck_assert_uint_eq(moved, 0);
	ck_assert_uint_eq(fixture_position(convertor), 0);
	gpu.standin->inject_clear();
	start(convertor, &job);
	finish(convertor, &job);
	check_packed(&job);
	close_job(&job);
}
END_TEST

/* ---- capture --------------------------------------------------------------------------- */

START_TEST(in_a_graph_a_long_job_is_one_kernel)
{
	CUstream stream = gpu_stream();
	CUgraphExec exec;
	CUgraph graph;
	struct job job;

	open_job(&job, texts[0], ARENA_DEVICE, ARENA_PINNED);
	pack(&job, "cuda_relay");
	memset(job.packed.memory, 0, job.bytes);
	struct dtconv_convertor *convertor = packer(&job, "cuda_relay", stream);
	MUST(StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
	fixture_ok(dtconv_convertor_start(convertor, job.packed.memory, job.bytes, NULL,
					  NULL));
	fixture_ok(dtconv_convertor_wait(convertor, NULL));
	MUST(StreamEndCapture(stream, &graph));
	MUST(GraphInstantiateWithFlags(&exec, graph, 0));
	MUST(GraphLaunch(exec, stream));
	MUST(StreamSynchronize(stream));
	check_packed(&job);
	MUST(GraphExecDestroy(exec));
	MUST(GraphDestroy(graph));
	dtconv_convertor_destroy(convertor);
	close_job(&job);
}
END_TEST

/* ---- threads --------------------------------------------------------------------------- */

static int count_threads(void)
{
	DIR *folder = opendir("/proc/self/task");
	int count = 0;

	ck_assert_ptr_nonnull(folder);
	while (readdir(folder))
		count++;
	closedir(folder);
	return count;
}

static int refuse(void *arg, size_t tasks, void (*task)(void *task_arg, size_t index),
		  void *task_arg)
{
	(void)arg, (void)tasks, (void)task, (void)task_arg;
	return -1;
}

/* How many threads a context has started when it has moved that type between device and host memory. */
static int threads_for(size_t threads, dtconv_parallel_fn hook, const char *text)
{
	struct dtconv_context_params params = { .struct_size = sizeof(params),
						.threads = threads,
						.parallel = hook };
	struct dtconv_context *context;
	struct job job;

	fixture_ok(dtconv_context_create(&params, &context));
	open_in(context, &job, "vector(1000, 3, 5, double)", ARENA_DEVICE, ARENA_HOST);
	pack(&job, NULL);
	close_job(&job);
	int before = count_threads();
	open_in(context, &job, text, ARENA_DEVICE, ARENA_HOST);
	pack(&job, NULL);
	unpack(&job, NULL);
	close_job(&job);
	int after = count_threads();
	dtconv_context_destroy(context);
	return after - before;
}

static int expected_helpers(void)
{
	cpu_set_t allowed;

	ck_assert_int_eq(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
	int processors = CPU_COUNT(&allowed);
	return (processors < 4 ? processors : 4) - 1;
}

START_TEST(a_long_job_starts_a_few_threads_unless_one_was_asked_for)
{
	const char *longer = texts[0], *shorter = "vector(10000, 3, 5, double)";

	ck_assert_int_eq(threads_for(0, NULL, longer), expected_helpers());
	ck_assert_int_eq(threads_for(0, NULL, shorter), 0);
	ck_assert_int_eq(threads_for(1, NULL, longer), 0);
	ck_assert_int_eq(threads_for(3, NULL, longer), 0); /* it has its own */
	ck_assert_int_eq(threads_for(0, refuse, longer), 0);
}
END_TEST

static double processor_seconds(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void *release_later(void *arg)
{
	gpu_nap(400);
	spin_release(arg);
	return NULL;
}

/* One thread may look all the time, the others must not. */
START_TEST(threads_that_help_rest_while_the_device_is_busy)
{
	struct spin spin;
	pthread_t later;
	struct job job;
	size_t moved;

	if (gpu.standin)
		return; /* its threads are the process's, too */
	open_job(&job, texts[0], ARENA_DEVICE, ARENA_HOST);
	pack(&job, NULL);
	spin_begin(&spin, gpu_stream());
	struct dtconv_convertor *convertor = packer(&job, NULL, spin.stream);
	ck_assert_int_eq(pthread_create(&later, NULL, release_later, &spin), 0);
	double before = processor_seconds();
	fixture_ok(
		dtconv_convertor_pack(convertor, job.packed.memory, job.bytes, &moved));
	ck_assert_msg(processor_seconds() - before < 0.6, "%.2f s of processors in 0.4 s",
		      processor_seconds() - before);
	pthread_join(later, NULL);
	check_packed(&job);
	spin_end(&spin);
	dtconv_convertor_destroy(convertor);
	close_job(&job);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("bus");

	gpu_find();
	TCase *moves = gpu_case(suite, "moves", 120);
	tcase_add_loop_test(moves, all_bytes_arrive, 0, TEXTS * WAYS);
	tcase_add_loop_test(moves, ordinary_memory_goes_in_few_pieces, 0, 4);
	tcase_add_test(moves, pieces_of_device_memory_grow_and_shrink_and_are_used_again);
	tcase_add_loop_test(moves, a_fragment_in_the_middle_of_a_stream_arrives, 0, WAYS);
	tcase_add_loop_test(moves, two_threads_move_long_jobs_at_once, 0, WAYS);
	tcase_add_test(moves, default_streams_of_two_threads_do_not_share_the_pieces);
	tcase_add_test(
		moves,
		a_default_stream_does_not_follow_another_threads_through_the_pieces);
	tcase_add_test(moves, jobs_of_one_stream_follow_each_other_through_the_pieces);
	tcase_add_test(moves, a_job_does_not_wait_for_another_stream_to_leave_the_pieces);
	tcase_add_test(moves, in_a_graph_a_long_job_is_one_kernel);
	TCase *started = gpu_case(suite, "started", 120);
	tcase_add_loop_test(started, a_pack_is_started_though_its_stream_is_busy, 0, 2);
	tcase_add_loop_test(started, an_unpack_is_started_though_its_stream_is_busy, 0, 2);
	tcase_add_loop_test(started, jobs_without_a_stream_are_started_one_after_the_other, 0,
			    WAYS);
	tcase_add_test(started, a_started_job_is_ended_with_its_convertor);
	tcase_add_test(started, a_started_job_that_fails_says_so_to_who_waits);
	TCase *threads = gpu_case(suite, "threads", 120);
	tcase_add_test(threads, a_long_job_starts_a_few_threads_unless_one_was_asked_for);
	tcase_add_test(threads, threads_that_help_rest_while_the_device_is_busy);
	return fixture_run(suite);
}
