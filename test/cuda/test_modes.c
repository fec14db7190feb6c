/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The modes in which a context moves small jobs. The resident kernel: which jobs it does, that it leaves
 * and comes back, and that no job is lost and nobody waits for it when it does. Graphs: that they are
 * what is launched, and what becomes of jobs when they cannot be.
 */
#include "config.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/context.h"
#include "copy_backends/cuda/launch/resident.h"
#include "datatype/type.h"
#include "support/fixture.h"
#include "support/gpu.h"

static void nap_us(long microseconds)
{
	nanosleep(&(struct timespec){ .tv_nsec = microseconds * 1000 }, NULL);
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* ---- a job, judged by the host ------------------------------------------------------------- */

struct job {
	struct dtconv_type *type;
	size_t count, span, bytes;
	struct arena user, packed;
	unsigned char *source, *expected, *got;
};

static void job_open(struct job *job, const char *text, size_t count,
		     enum arena_kind user, enum arena_kind packed)
{

	job->type = fixture_type(text);
	const struct dtconv_type_attr attr = fixture_attr(job->type);
	job->count = count;
	job->span = count * (size_t)(attr.extent > attr.true_extent ? attr.extent
								    : attr.true_extent);
	job->bytes = count * attr.size;
	arena_open(&job->user, user, job->span);
	arena_open(&job->packed, packed, job->bytes);
	job->source = malloc(job->span);
	job->expected = malloc(job->span);
	job->got = malloc(job->span);
	ck_assert(job->source && job->expected && job->got);
}

static void job_close(struct job *job)
{
	arena_close(&job->user);
	arena_close(&job->packed);
	free(job->source);
	free(job->expected);
	free(job->got);
	dtconv_type_unref(job->type);
}

static void job_fill(struct job *job, unsigned salt)
{
	for (size_t i = 0; i < job->span; i++)
		job->source[i] = (unsigned char)((i * 2654435761u >> 7) + salt);
	arena_write(&job->user, 0, job->source, job->span);
	fixture_ok(dtconv_pack(job->type, job->count, job->source, job->expected,
			       job->bytes, NULL));
}

static void job_pack(struct job *job)
{
	fixture_ok(dtconv_pack(job->type, job->count, job->user.memory,
			       job->packed.memory, job->bytes, NULL));
}

static void job_check(struct job *job)
{
	arena_read(&job->packed, 0, job->got, job->bytes);
	ck_assert_mem_eq(job->got, job->expected, job->bytes);
}

/* Packs new contents, and unpacks them over zeros. */
static void job_both_ways(struct job *job, unsigned salt)
{
	job_fill(job, salt);
	job_pack(job);
	job_check(job);
	memset(job->got, 0, job->span);
	arena_write(&job->user, 0, job->got, job->span);
	fixture_ok(dtconv_unpack(job->type, job->count, job->user.memory,
				 job->packed.memory, job->bytes, NULL));
	memset(job->source, 0, job->span);
	fixture_ok(dtconv_unpack(job->type, job->count, job->source, job->expected,
				 job->bytes, NULL));
	arena_read(&job->user, 0, job->got, job->span);
	ck_assert_mem_eq(job->got, job->source, job->span);
}

/* Until the kernel is there, which another thread loads, jobs are launched. */
static void settle(struct job *job)
{
	job_fill(job, 77);
	while (!fixture_counters().resident_jobs) {
		job_pack(job);
		nap_us(500);
	}
}

#define VECTOR "vector(100, 3, 5, double)"

static void open_settled(struct job *job)
{
	job_open(job, VECTOR, 1, ARENA_DEVICE, ARENA_DEVICE);
	settle(job);
}

/* ---- what it does ---------------------------------------------------------------------------- */

static const struct {
	const char *text;
	size_t count;
	enum arena_kind user, packed;
	bool resident;
} jobs[] = {
	{ VECTOR, 1, ARENA_DEVICE, ARENA_DEVICE, true },
	{ VECTOR, 3, ARENA_DEVICE, ARENA_PINNED, true },
	{ VECTOR, 2, ARENA_PINNED, ARENA_DEVICE, true },
	{ VECTOR, 2, ARENA_VMM, ARENA_ASYNC, true },
	{ "contiguous(131072, byte)", 1, ARENA_DEVICE, ARENA_DEVICE, true },
	{ "vector(901, 3, 7, byte)", 2, ARENA_DEVICE, ARENA_DEVICE, true },
	{ "vector(801, 3, 7, short)", 2, ARENA_DEVICE, ARENA_DEVICE, true },
	{ "struct([1,1,1],[0,2000,4000],[vector(60,1,5,int),vector(70,2,6,int),int])", 1,
	  ARENA_DEVICE, ARENA_DEVICE, true },
	{ "struct([1,1,1,1,1,1],[0,2000,4000,6000,8000,10000],"
	  "[vector(60,1,5,int),vector(70,2,6,int),vector(80,1,6,int),vector(60,2,7,int),"
	  "vector(70,1,7,int),vector(60,2,8,int)])",
	  1, ARENA_DEVICE, ARENA_DEVICE, true },
	{ "resized(struct([1,1],[0,8],[int,int64]), 0, 24)", 100, ARENA_DEVICE,
	  ARENA_DEVICE, true },
	/* Too much, memory that wanders, a class that is always launched. */
	{ "contiguous(140000, byte)", 1, ARENA_DEVICE, ARENA_DEVICE, false },
	{ "contiguous(40000, byte)", 1, ARENA_DEVICE, ARENA_PINNED, false },
	{ VECTOR, 2, ARENA_MANAGED, ARENA_DEVICE, false },
	{ "resized(struct([1,1],[0,8],[short,int64]), 0, 24)", 100, ARENA_DEVICE,
	  ARENA_DEVICE, false },
};

START_TEST(small_jobs_go_without_a_launch)
{
	struct job warm, job;

	open_settled(&warm);
	job_open(&job, jobs[_i].text, jobs[_i].count, jobs[_i].user, jobs[_i].packed);
	/* The first job of a type is launched, behind the upload of its tables. */
	job_both_ways(&job, 8);
	uint64_t before = fixture_counters().resident_jobs;
	for (unsigned salt = 1; salt < 8; salt++)
		job_both_ways(&job, salt);
	ck_assert_uint_eq(fixture_counters().resident_jobs - before,
			  jobs[_i].resident ? 14 : 0);
	job_close(&job);
	job_close(&warm);
}
END_TEST

/* Else a kernel of the application's could begin before it is loaded, and keep all launches waiting. */
START_TEST(it_is_there_before_other_kernels)
{
	struct job job;

	open_settled(&job);
	ck_assert_uint_gt(fixture_counters().resident_jobs, 0);
	ck_assert_uint_eq(fixture_counters().launches_strided, 0);
	job_close(&job);
}
END_TEST

static void pack_in_callers_stream(struct job *job)
{
	CUstream stream = gpu_stream();
	struct dtconv_convertor_params params = fixture_in_stream(stream);

	job_fill(job, 3);
	fixture_ok(dtconv_pack_with(job->type, 1, job->user.memory, job->packed.memory,
				    job->bytes, &params, NULL));
	job_check(job);
	MUST(StreamDestroy(stream));
}

START_TEST(jobs_of_the_callers_stream_are_launched_in_it)
{
	struct job job;

	open_settled(&job);
	uint64_t before = fixture_counters().resident_jobs;
	pack_in_callers_stream(&job);
	ck_assert_uint_eq(fixture_counters().resident_jobs, before);
	job_close(&job);
}
END_TEST

/* A started job has the bell until it is asked for. */
START_TEST(jobs_beside_one_in_flight_are_launched)
{
	struct dtconv_convertor *convertor;
	struct job job, other;
	size_t moved;

	open_settled(&job);
	job_open(&other, VECTOR, 1, ARENA_DEVICE, ARENA_DEVICE);
	job_fill(&job, 4);
	fixture_ok(
		dtconv_convertor_create_pack(job.type, 1, job.user.memory, &convertor));
	uint64_t before = fixture_counters().resident_jobs;
	fixture_ok(dtconv_convertor_start(convertor, job.packed.memory, job.bytes, NULL,
					  NULL));
	job_fill(&other, 5);
	job_pack(&other);
	job_check(&other);
	ck_assert_uint_eq(fixture_counters().resident_jobs, before + 1);
	nap_us(5000);
	fixture_ok(dtconv_convertor_wait(convertor, &moved));
	job_check(&job);
	job_pack(&other);
	ck_assert_uint_eq(fixture_counters().resident_jobs, before + 2);
	dtconv_convertor_destroy(convertor);
	job_close(&other);
	job_close(&job);
}
END_TEST

/* ---- coming and going ------------------------------------------------------------------------ */

START_TEST(it_leaves_when_idle_and_comes_back)
{
	struct job job;

	open_settled(&job);
	uint64_t before = fixture_counters().resident_launches;
	for (unsigned i = 0; i < 5; i++) {
		nap_us(20000);
		ck_assert_msg(gpu.CtxSynchronize() == 0, "the device is not idle");
		job_both_ways(&job, i);
	}
	ck_assert_uint_ge(fixture_counters().resident_launches, before + 5);
	job_close(&job);
}
END_TEST

START_TEST(it_leaves_in_the_end_when_it_is_never_idle)
{
	struct job job;

	open_settled(&job);
	uint64_t before = fixture_counters().resident_launches;
	while (fixture_counters().resident_launches < before + 4)
		job_pack(&job);
	job_close(&job);
}
END_TEST

/* Gaps as long as its patience, a little more, a little less: it leaves while the bell rings. */
START_TEST(no_job_is_lost_when_it_leaves)
{
	struct job job;

	open_settled(&job);
	for (int i = 0; i < 400; i++) {
		double until = seconds() + 180e-6 + (i % 40) * 1e-6;

		job_fill(&job, (unsigned)i);
		while (seconds() < until)
			;
		job_pack(&job);
		job_check(&job);
	}
	job_close(&job);
}
END_TEST

START_TEST(numbers_begin_anew_when_they_have_run_out)
{
	struct job job;

	open_settled(&job);
	struct dtc_cuda_resident *resident =
		dtc_cuda_resident_of(dtc_cuda_of(fixture_context)->contexts);
	MUST(CtxSynchronize());
	resident->number = DTC_GPU_LAST_NUMBER - 3;
	resident->bell->left = DTC_GPU_LAST_NUMBER - 2;
	for (unsigned salt = 0; resident->number > 1000; salt++)
		job_both_ways(&job, salt);
	job_both_ways(&job, 1);
	job_close(&job);
}
END_TEST

/* ---- others ---------------------------------------------------------------------------------- */

#define THREADS 4

static void *pack_often(void *arg)
{
	struct job *job = arg;
	void *failed = NULL;

	for (int i = 0; i < 300 && !failed; i++)
		if (dtconv_pack(job->type, job->count, job->user.memory,
				job->packed.memory, job->bytes, NULL))
			failed = job;
	return failed;
}

/* Packs each job in a thread of its own, and closes the jobs. */
static void pack_in_threads(struct job own[THREADS])
{
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, pack_often, &own[i]),
				 0);
	for (int i = 0; i < THREADS; i++) {
		void *failed;

		pthread_join(threads[i], &failed);
		ck_assert_ptr_null(failed);
		job_check(&own[i]);
		job_close(&own[i]);
	}
}

START_TEST(threads_share_it)
{
	struct job warm, own[THREADS];

	open_settled(&warm);
	for (unsigned i = 0; i < THREADS; i++) {
		job_open(&own[i], i % 2 ? "vector(90, 1, 2, int)" : VECTOR, 1,
			 ARENA_DEVICE, ARENA_DEVICE);
		job_fill(&own[i], i);
	}
	pack_in_threads(own);
	job_close(&warm);
}
END_TEST

static void *free_often(void *stop)
{
	CUcontext primary;

	if (gpu.DevicePrimaryCtxRetain(&primary, 0) || gpu.CtxSetCurrent(primary))
		return stop;
	for (int i = 0; i < 20; i++) {
		CUdeviceptr memory;

		if (gpu.MemAlloc(&memory, 100000) || gpu.MemFree(memory))
			return stop;
	}
	atomic_store((atomic_bool *)stop, true);
	gpu.DevicePrimaryCtxRelease(0);
	return NULL;
}

/* Each free waits for the kernel, which is in use all the time. */
START_TEST(frees_end_while_jobs_go_on)
{
	atomic_bool stop = false;
	pthread_t thread;
	struct job job;
	void *failed;

	open_settled(&job);
	ck_assert_int_eq(pthread_create(&thread, NULL, free_often, &stop), 0);
	while (!atomic_load(&stop))
		job_pack(&job);
	pthread_join(thread, &failed);
	ck_assert_ptr_null(failed);
	job_check(&job);
	job_close(&job);
}
END_TEST

/* ---- refusals -------------------------------------------------------------------------------- */

START_TEST(a_kernel_that_cannot_be_called_is_done_without)
{
	struct job job;

	if (!gpu.standin)
		return;
	open_settled(&job);
	nap_us(20000);
	uint64_t before = fixture_counters().resident_jobs;
	gpu.standin->inject("cuLaunchKernel", 1, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
	job_both_ways(&job, 9);
	ck_assert_uint_eq(gpu.standin->fired(), 1);
	gpu.standin->inject_clear();
	ck_assert_uint_eq(fixture_counters().resident_jobs, before + 1);
	job_both_ways(&job, 10);
	job_close(&job);
}
END_TEST

/* It has gone between the ring and the first look, and cannot be called back. */
START_TEST(a_kernel_that_cannot_be_called_back_fails_its_job_alone)
{
	struct dtconv_convertor *convertor;
	struct job job;
	size_t moved;

	if (!gpu.standin)
		return;
	open_settled(&job);
	MUST(CtxSynchronize());
	struct dtc_cuda_resident *resident =
		dtc_cuda_resident_of(dtc_cuda_of(fixture_context)->contexts);
	fixture_ok(
		dtconv_convertor_create_pack(job.type, 1, job.user.memory, &convertor));
	resident->bell->left = 0; /* as if it were there */
	fixture_ok(dtconv_convertor_start(convertor, job.packed.memory, job.bytes, NULL,
					  NULL));
	resident->bell->left = resident->number;
	gpu.standin->inject("cuLaunchKernel", 1, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
	fixture_status(dtconv_convertor_wait(convertor, &moved), DTCONV_ERR_BACKEND);
	ck_assert_uint_eq(moved, 0);
	gpu.standin->inject_clear();
	dtconv_convertor_destroy(convertor);
	job_both_ways(&job, 11);
	job_close(&job);
}
END_TEST

START_TEST(a_kernel_that_has_gone_without_a_word_is_called_back)
{
	struct dtconv_convertor *convertor;
	struct job job;
	size_t moved;

	open_settled(&job);
	MUST(CtxSynchronize());
	struct dtc_cuda_resident *resident =
		dtc_cuda_resident_of(dtc_cuda_of(fixture_context)->contexts);
	job_fill(&job, 12);
	fixture_ok(
		dtconv_convertor_create_pack(job.type, 1, job.user.memory, &convertor));
	resident->bell->left = 0;
	fixture_ok(dtconv_convertor_start(convertor, job.packed.memory, job.bytes, NULL,
					  NULL));
	fixture_ok(dtconv_convertor_wait(convertor, &moved));
	job_check(&job);
	dtconv_convertor_destroy(convertor);
	job_close(&job);
}
END_TEST

START_TEST(without_it_jobs_are_launched)
{
	struct job job;

	if (!gpu.standin)
		return;
	/* The first module is the resident kernel's. */
	gpu.standin->inject("cuModuleLoadData", 1, CUDA_ERROR_INVALID_IMAGE);
	job_open(&job, VECTOR, 1, ARENA_DEVICE, ARENA_DEVICE);
	for (unsigned i = 0; i < 20; i++) {
		job_both_ways(&job, i);
		nap_us(1000);
	}
	gpu.standin->inject_clear();
	ck_assert_uint_eq(fixture_counters().resident_jobs, 0);
	ck_assert_uint_ge(fixture_counters().launches_strided, 40);
	job_close(&job);
}
END_TEST

/* ---- telling --------------------------------------------------------------------------------- */

static void explanation_says(const char *words)
{
	static char text[8192];
	struct dtconv_type *type = fixture_type(VECTOR);
	size_t length;

	fixture_ok(dtconv_explain(type, 1, DTCONV_MEMORY_DEVICE, DTCONV_MEMORY_DEVICE,
				  text, sizeof(text), &length));
	ck_assert_msg(strstr(text, words) != NULL, "%s", text);
	dtconv_type_unref(type);
}

START_TEST(explanations_name_it)
{
	explanation_says("strided kernel, 8-byte words, by the resident kernel");
}
END_TEST

/* ---- graphs ------------------------------------------------------------------------------------ */

/* Until the graph of its kernel is there, which another thread makes. */
static void settle_graph(struct job *job)
{
	uint64_t before = fixture_counters().graph_launches;

	job_fill(job, 77);
	while (fixture_counters().graph_launches == before) {
		job_pack(job);
		nap_us(500);
	}
}

static const struct {
	const char *text;
	size_t count;
	enum arena_kind packed;
} shapes[] = {
	{ VECTOR, 1, ARENA_DEVICE },
	{ VECTOR, 1000, ARENA_PINNED },
	{ "resized(struct([1,1],[0,8],[int,int64]), 0, 24)", 100, ARENA_DEVICE },
	{ "struct([1,1,1],[0,2000,4000],[vector(60,1,5,int),vector(70,2,6,int),int])", 1,
	  ARENA_DEVICE },
	{ "contiguous(200, resized(vector(200, 1, 200, double), 0, 8))", 1,
	  ARENA_DEVICE },
	{ "indexed([1,2,1,3,1,2,1,2,1,5],[0,9,20,30,40,50,60,70,80,90],int)", 40,
	  ARENA_DEVICE },
};

START_TEST(kernels_are_launched_in_graphs)
{
	struct job job;

	job_open(&job, shapes[_i].text, shapes[_i].count, ARENA_DEVICE,
		 shapes[_i].packed);
	settle_graph(&job);
	job_check(&job);
	uint64_t before = fixture_counters().graph_launches;
	for (unsigned salt = 1; salt < 5; salt++) {
		job_fill(&job, salt);
		job_pack(&job);
		job_check(&job);
	}
	ck_assert_uint_eq(fixture_counters().graph_launches - before, 4);
	job_both_ways(&job, 9);
	job_close(&job);
}
END_TEST

/* One graph of a kernel serves jobs of unlike parameters, also those that follow without a wait. */
START_TEST(a_graph_is_launched_again_before_it_is_done)
{
	struct dtconv_convertor *convertors[2];
	struct job first, second;
	size_t moved;

	job_open(&first, VECTOR, 200, ARENA_DEVICE, ARENA_DEVICE);
	job_open(&second, VECTOR, 1, ARENA_DEVICE, ARENA_DEVICE);
	settle_graph(&first);
	job_fill(&first, 1);
	job_fill(&second, 2);
	struct job *both[] = { &first, &second };
	for (int i = 0; i < 2; i++) {
		fixture_ok(dtconv_convertor_create_pack(both[i]->type, both[i]->count,
							both[i]->user.memory,
							&convertors[i]));
		fixture_ok(dtconv_convertor_start(convertors[i], both[i]->packed.memory,
						  both[i]->bytes, NULL, NULL));
	}
	for (int i = 1; i >= 0; i--) {
		fixture_ok(dtconv_convertor_wait(convertors[i], &moved));
		job_check(both[i]);
		dtconv_convertor_destroy(convertors[i]);
		job_close(both[i]);
	}
}
END_TEST

/* A graph runs once at a time, so what is behind the caller's work would hold up all others. */
START_TEST(jobs_of_the_callers_stream_go_without_a_graph)
{
	struct job job;

	job_open(&job, VECTOR, 1, ARENA_DEVICE, ARENA_DEVICE);
	settle_graph(&job);
	uint64_t before = fixture_counters().graph_launches;
	pack_in_callers_stream(&job);
	ck_assert_uint_eq(fixture_counters().graph_launches, before);
	job_close(&job);
}
END_TEST

START_TEST(threads_share_graphs)
{
	struct job own[THREADS];

	for (unsigned i = 0; i < THREADS; i++) {
		job_open(&own[i], VECTOR, 1 + i, ARENA_DEVICE, ARENA_DEVICE);
		job_fill(&own[i], i);
	}
	settle_graph(&own[0]);
	pack_in_threads(own);
}
END_TEST

START_TEST(what_a_graph_refuses_is_launched_without)
{
	static const char *const calls[] = { "cuGraphExecKernelNodeSetParams",
					     "cuGraphLaunch" };
	struct job job;

	if (!gpu.standin)
		return;
	job_open(&job, VECTOR, 1, ARENA_DEVICE, ARENA_DEVICE);
	settle_graph(&job);
	uint64_t before = fixture_counters().graph_launches;
	gpu.standin->inject(calls[_i], 1, CUDA_ERROR_OUT_OF_MEMORY);
	job_fill(&job, 3);
	job_pack(&job);
	job_check(&job);
	ck_assert_uint_eq(gpu.standin->fired(), 1);
	gpu.standin->inject_clear();
	ck_assert_uint_eq(fixture_counters().graph_launches, before);
	job_close(&job);
}
END_TEST

/* Lines of the log that tell of a missing graph, and of those, lines with an internal name. */
static _Atomic unsigned graphs_missed, names_leaked;

static void hear_of_graphs(void *arg, enum dtconv_log_level level, const char *file,
			   int line, const char *text)
{
	(void)arg;
	(void)level;
	(void)file;
	(void)line;
	graphs_missed += strstr(text, "cannot create a graph of kernel rows") != NULL;
	names_leaked += strstr(text, "dtc_") != NULL;
}

START_TEST(without_graphs_jobs_are_launched)
{
	static const char *const calls[] = { "cuGraphCreate", "cuGraphAddKernelNode",
					     "cuGraphInstantiateWithFlags" };
	struct job job;

	if (!gpu.standin)
		return;
	graphs_missed = names_leaked = 0;
	fixture_context->log = hear_of_graphs;
	fixture_context->log_level = DTCONV_LOG_WARN;
	gpu.standin->inject(calls[_i], 1, CUDA_ERROR_OUT_OF_MEMORY);
	job_open(&job, VECTOR, 1, ARENA_DEVICE, ARENA_DEVICE);
	for (unsigned i = 0; i < 20; i++) {
		job_fill(&job, i);
		job_pack(&job);
		job_check(&job);
		nap_us(1000);
	}
	ck_assert_uint_eq(gpu.standin->fired(), 1);
	gpu.standin->inject_clear();
	ck_assert_uint_eq(fixture_counters().graph_launches, 0);
	ck_assert_uint_eq(graphs_missed, 1);
	ck_assert_uint_eq(names_leaked, 0);
	job_close(&job);
}
END_TEST

START_TEST(explanations_name_graphs)
{
	explanation_says("strided kernel, 8-byte words, through a graph");
}
END_TEST

static void with_resident_kernel(void)
{
	fixture_flags = DTCONV_CONTEXT_RESIDENT;
}

static void with_graphs(void)
{
	fixture_flags = DTCONV_CONTEXT_GRAPHS;
}

static TCase *mode_case(Suite *suite, const char *name, void (*with)(void))
{
	TCase *tcase = fixture_case(suite, name, 60);

	tcase_add_unchecked_fixture(tcase, with, NULL);
	return tcase;
}

int main(void)
{
	gpu_open_in_program();
	Suite *suite = suite_create("modes");
	TCase *doing = mode_case(suite, "doing", with_resident_kernel);
	tcase_add_loop_test(doing, small_jobs_go_without_a_launch, 0,
			    sizeof(jobs) / sizeof(jobs[0]));
	tcase_add_test(doing, it_is_there_before_other_kernels);
	tcase_add_test(doing, jobs_of_the_callers_stream_are_launched_in_it);
	tcase_add_test(doing, jobs_beside_one_in_flight_are_launched);
	TCase *going = mode_case(suite, "going", with_resident_kernel);
	tcase_add_test(going, it_leaves_when_idle_and_comes_back);
	tcase_add_test(going, it_leaves_in_the_end_when_it_is_never_idle);
	tcase_add_test(going, no_job_is_lost_when_it_leaves);
	tcase_add_test(going, numbers_begin_anew_when_they_have_run_out);
	TCase *others = mode_case(suite, "others", with_resident_kernel);
	tcase_add_test(others, threads_share_it);
	tcase_add_test(others, frees_end_while_jobs_go_on);
	TCase *refusals = mode_case(suite, "refusals", with_resident_kernel);
	tcase_add_test(refusals, a_kernel_that_cannot_be_called_is_done_without);
	tcase_add_test(refusals, a_kernel_that_cannot_be_called_back_fails_its_job_alone);
	tcase_add_test(refusals, a_kernel_that_has_gone_without_a_word_is_called_back);
	tcase_add_test(refusals, without_it_jobs_are_launched);
	tcase_add_test(refusals, explanations_name_it);
	TCase *graphs = mode_case(suite, "graphs", with_graphs);
	tcase_add_loop_test(graphs, kernels_are_launched_in_graphs, 0,
			    sizeof(shapes) / sizeof(shapes[0]));
	tcase_add_test(graphs, a_graph_is_launched_again_before_it_is_done);
	tcase_add_test(graphs, jobs_of_the_callers_stream_go_without_a_graph);
	tcase_add_test(graphs, threads_share_graphs);
	tcase_add_loop_test(graphs, what_a_graph_refuses_is_launched_without, 0, 2);
	tcase_add_loop_test(graphs, without_graphs_jobs_are_launched, 0, 3);
	tcase_add_test(graphs, explanations_name_graphs);
	return fixture_run(suite);
}
