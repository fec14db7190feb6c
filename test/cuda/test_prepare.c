/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dtconv_prepare: after it the first job of a type and of memory kinds makes nothing, neither in the driver nor by the
 * allocator; what is not asked for is not made; and what goes wrong has a status, a sentence, and works the next time.
 * On the stand-in driver only: a real one does not count its calls.
 */
#include "config.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/fixture.h"
#include "support/gpu.h"
#include "support/layouts.h"

/* ---- what is counted --------------------------------------------------------------------- */

/* Entry points that make something, or wait for everything. */
static bool is_maker(const char *entry)
{
	static const char *const verbs[] = { "Alloc",    "Create",      "HostRegister",
					     "Load",     "GetFunction", "Instantiate",
					     "GraphAdd", "Retain",      "Synchronize" };

	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
		if (strstr(entry, verbs[i]))
			return true;
	return false;
}

struct made {
	size_t calls;
	char names[512];
};

static void add_made(const char *entry, size_t calls, void *arg)
{
	struct made *made = arg;
	size_t length = strlen(made->names);

	if (!calls || !is_maker(entry))
		return;
	made->calls += calls;
	snprintf(made->names + length, sizeof(made->names) - length, " %zu %s", calls,
		 entry);
}

/* Calls of makers since the last reset of nothing: only differences count. */
static struct made made_so_far(void)
{
	struct made made = { 0, "" };

	gpu.standin->each(add_made, &made);
	return made;
}

/* The allocator of a case's contexts. */
static atomic_size_t allocations;

static void *count_alloc(void *arg, size_t bytes)
{
	(void)arg;
	atomic_fetch_add(&allocations, 1);
	return malloc(bytes);
}

static void count_free(void *arg, void *memory)
{
	(void)arg;
	free(memory);
}

static struct dtconv_context *make_context(unsigned flags)
{
	const struct dtconv_context_params params = {
		.struct_size = sizeof(params),
		.allocator = { count_alloc, count_free, NULL },
		.flags = DTCONV_CONTEXT_COUNTERS | flags
	};
	struct dtconv_context *context;

	ck_assert_int_eq(dtconv_context_create(&params, &context), 0);
	return context;
}

static const char *error_of(struct dtconv_context *context)
{
	static char text[400];

	text[0] = 0;
	dtconv_context_error(context, text, sizeof(text));
	return text;
}

/* ---- jobs -------------------------------------------------------------------------------- */

static const char *const texts[] = {
	"vector(200, 3, 5, double)",
	"indexed([1,2,1,3,1,2,1,2,1,5],[0,9,20,30,40,50,60,70,80,90],double)",
	"vector(60000, 3, 5, double)", /* long enough for copy threads and the relay */
	LAYOUT_MANY_PARTS,
};

#define TEXTS (int)(sizeof(texts) / sizeof(texts[0]))

enum way {
	PLAIN,
	STARTED,
	IN_STREAM,
	STARTED_IN_STREAM,
	CONVERTED,
	SUMMED,
	CHECKED,
	WAYS
};

static const char *const ways[] = { "plain",       "started",
				    "in a stream", "started in a stream",
				    "converted",   "sum",
				    "checksum" };

struct job {
	enum way way;
	bool packs;
	struct dtconv_context *context;
	struct dtconv_type *type;
	struct arena user, packed;
	size_t bytes;
	struct dtconv_convertor_params params;
	struct dtconv_representation external32;
};

static void set_params(struct job *job, CUstream stream)
{
	job->params =
		(struct dtconv_convertor_params){ .struct_size = sizeof(job->params) };
	if (job->way == IN_STREAM || job->way == STARTED_IN_STREAM) {
		job->params.flags = DTCONV_CONVERTOR_STREAM;
		job->params.stream = stream;
	}
	if (job->way == CONVERTED) {
		fixture_ok(dtconv_representation_find("external32", &job->external32));
		job->params.representation = &job->external32;
	}
	if (job->way == SUMMED)
		job->params.op = DTCONV_OP_SUM;
	if (job->way == CHECKED)
		job->params.flags = DTCONV_CONVERTOR_CRC32C;
}

static void job_open(struct job *job, int text, enum arena_kind user,
		     enum arena_kind packed, unsigned flags, CUstream stream)
{
	job->context = make_context(flags);
	job->type = fixture_type_in(job->context, texts[text]);
	const struct dtconv_type_attr attr = fixture_attr(job->type);
	job->bytes = attr.size;
	arena_open(&job->user, user, (size_t)attr.true_extent);
	arena_open(&job->packed, packed, job->bytes);
	set_params(job, stream);
}

static void job_close(struct job *job)
{
	dtconv_type_unref(job->type);
	dtconv_context_destroy(job->context);
	arena_close(&job->user);
	arena_close(&job->packed);
}

static enum dtconv_memory_kind kind_of(const struct arena *arena)
{
	switch (arena->kind) {
	case ARENA_HOST:
		return DTCONV_MEMORY_HOST;
	case ARENA_PINNED:
		return DTCONV_MEMORY_PINNED;
	case ARENA_MANAGED:
		return DTCONV_MEMORY_MANAGED;
	default:
		return DTCONV_MEMORY_UNKNOWN; /* is taken for a device's */
	}
}

static int job_prepare(const struct job *job)
{
	struct dtconv_convertor_params params = job->params;

	params.user_memory = kind_of(&job->user);
	params.packed_memory = kind_of(&job->packed);
	return dtconv_prepare(job->context, 0, job->type, 1, &params);
}

/* The library's worker may get no processor for longer than the call waits for it. */
static void must_prepare(const struct job *job)
{
	int status;

	do
		status = job_prepare(job);
	while (status == DTCONV_ERR_AGAIN);
	ck_assert_msg(!status, "%s: %s", ways[job->way], error_of(job->context));
}

/* The same without a type. */
static void must_prepare_context(struct dtconv_context *context)
{
	int status;

	do
		status = dtconv_prepare(context, -1, NULL, 0, NULL);
	while (status == DTCONV_ERR_AGAIN);
	ck_assert_msg(!status, "%s", error_of(context));
}

/* A convertor is made before what is counted. */
static struct dtconv_convertor *job_bind(const struct job *job)
{
	struct dtconv_convertor *convertor;

	ck_assert_int_eq(job->packs ? dtconv_convertor_create_pack(
					      job->type, 1, job->user.memory, &convertor)
				    : dtconv_convertor_create_unpack(
					      job->type, 1, job->user.memory, &convertor),
			 0);
	ck_assert_msg(!dtconv_convertor_configure(convertor, &job->params), "%s",
		      error_of(job->context));
	return convertor;
}

static int job_do(const struct job *job, struct dtconv_convertor *convertor)
{
	size_t moved = 0;
	int status;

	if (job->way == PLAIN)
		return job->packs ? dtconv_pack(job->type, 1, job->user.memory,
						job->packed.memory, job->bytes, NULL)
				  : dtconv_unpack(job->type, 1, job->user.memory,
						  job->packed.memory, job->bytes, NULL);
	if (job->way == STARTED || job->way == STARTED_IN_STREAM) {
		status = dtconv_convertor_start(convertor, job->packed.memory, job->bytes,
						NULL, NULL);
		return status ? status : dtconv_convertor_wait(convertor, &moved);
	}
	return job->packs ? dtconv_convertor_pack(convertor, job->packed.memory,
						  job->bytes, &moved)
			  : dtconv_convertor_unpack(convertor, job->packed.memory,
						    job->bytes, &moved);
}

static struct dtconv_counters counters_of(struct dtconv_context *context)
{
	struct dtconv_counters now = { .struct_size = sizeof(now) };

	fixture_ok(dtconv_context_query_counters(context, &now));
	return now;
}

/* What a convertor computes by is its own, and made by its first job. */
static bool keeps_units(const struct job *job)
{
	return job->way == CONVERTED || job->way == SUMMED;
}

/* The job makes nothing that was not prepared. */
static void must_make_nothing(const struct job *job, const char *name)
{
	struct dtconv_convertor *convertor = job_bind(job);
	const struct made before = made_so_far();
	size_t allocated = atomic_load(&allocations);
	int status = job_do(job, convertor);
	const struct made after = made_so_far();
	const struct dtconv_counters now = counters_of(job->context);

	ck_assert_msg(!status, "%s: %s", name, error_of(job->context));
	ck_assert_msg(after.calls == before.calls, "%s: before it%s; after it%s", name,
		      before.names, after.names);
	ck_assert_msg(atomic_load(&allocations) == allocated || keeps_units(job),
		      "%s: %zu calls of the allocator", name,
		      atomic_load(&allocations) - allocated);
	ck_assert_msg(!now.fallbacks_loading && !now.fallbacks_blocks,
		      "%s: it takes a slower path", name);
	dtconv_convertor_destroy(convertor);
}

static void check_first(struct job *job, int text, enum arena_kind user,
			enum arena_kind packed, unsigned flags, CUstream stream)
{
	char name[200];

	snprintf(name, sizeof(name), "%s %s, %s to %s, %.40s", ways[job->way],
		 job->packs ? "pack" : "unpack", arena_kind_names[user],
		 arena_kind_names[packed], texts[text]);
	job_open(job, text, user, packed, flags, stream);
	must_prepare(job);
	must_make_nothing(job, name);
	job_close(job);
}

/* ---- cases ------------------------------------------------------------------------------- */

static const enum arena_kind kinds[] = { ARENA_HOST, ARENA_PINNED, ARENA_MANAGED,
					 ARENA_DEVICE };

#define KINDS (int)(sizeof(kinds) / sizeof(kinds[0]))

START_TEST(the_first_job_after_it_makes_nothing)
{
	CUstream stream = gpu_stream();
	enum way way = (enum way)(_i / 2);

	for (int pair = 1; pair < KINDS * KINDS; pair++)
		for (int text = 0; text < TEXTS; text++) {
			struct job job = { .way = way, .packs = _i % 2 };

			check_first(&job, text, kinds[pair / KINDS], kinds[pair % KINDS],
				    0, stream);
		}
	MUST(StreamDestroy(stream));
}
END_TEST

/* The pipeline's memory is made for types that go through it only. */
START_TEST(the_pipeline_is_prepared_for_jobs_that_take_it)
{
	struct job job = { .way = STARTED, .packs = _i };

	job_open(&job, 2, ARENA_DEVICE, ARENA_PINNED, 0, NULL);
	job.params.backends = "cuda_relay";
	must_prepare(&job);
	must_make_nothing(&job, "a relay");
	job_close(&job);
}
END_TEST

START_TEST(so_it_is_in_the_context_s_modes)
{
	static const unsigned flags[] = { DTCONV_CONTEXT_GRAPHS, DTCONV_CONTEXT_RESIDENT,
					  DTCONV_CONTEXT_DEFAULT_STREAM };

	for (int text = 0; text < TEXTS; text++)
		for (int packs = 0; packs < 2; packs++) {
			struct job job = { .way = PLAIN, .packs = packs };

			check_first(&job, text, ARENA_DEVICE, ARENA_DEVICE, flags[_i],
				    NULL);
		}
}
END_TEST

START_TEST(the_first_launch_after_it_is_a_graph)
{
	struct job job = { .way = PLAIN, .packs = true };

	job_open(&job, 0, ARENA_DEVICE, ARENA_DEVICE, DTCONV_CONTEXT_GRAPHS, NULL);
	must_prepare(&job);
	ck_assert_int_eq(job_do(&job, NULL), 0);
	ck_assert_uint_eq(counters_of(job.context).graph_launches, 1);
	job_close(&job);
}
END_TEST

/* A graph is made while the device is idle, and a capture that had begun by then would be invalidated. */
START_TEST(a_capture_behind_it_is_not_disturbed)
{
	CUstream busy = gpu_stream(), captured = gpu_stream();
	struct job job = { .way = PLAIN, .packs = true };
	struct spin spin;
	CUgraph graph;

	job_open(&job, 0, ARENA_DEVICE, ARENA_DEVICE, DTCONV_CONTEXT_GRAPHS, NULL);
	must_prepare_context(job.context);
	spin_begin(&spin, busy);
	ck_assert_int_eq(job_do(&job, NULL), 0);
	ck_assert_int_eq(dtconv_prepare(job.context, -1, NULL, 0, NULL),
			 DTCONV_ERR_AGAIN);
	ck_assert_ptr_nonnull(strstr(error_of(job.context), "captures"));
	spin_end(&spin);
	must_prepare_context(job.context);
	MUST(StreamBeginCapture(captured, CU_STREAM_CAPTURE_MODE_RELAXED));
	ck_assert_int_eq(job_do(&job, NULL), 0);
	ck_assert_uint_eq(counters_of(job.context).graph_launches, 1);
	MUST(StreamEndCapture(captured, &graph));
	MUST(GraphDestroy(graph));
	job_close(&job);
	MUST(StreamDestroy(busy));
	MUST(StreamDestroy(captured));
}
END_TEST

/* Each call finds what the last one made. */
START_TEST(a_second_call_makes_nothing)
{
	struct job job = { .way = CHECKED, .packs = true };

	job_open(&job, _i % TEXTS, ARENA_DEVICE, kinds[_i / TEXTS], 0, NULL);
	must_prepare(&job);
	const struct made before = made_so_far();
	for (int i = 0; i < 3; i++)
		must_prepare(&job);
	const struct made after = made_so_far();
	ck_assert_msg(after.calls == before.calls, "before%s; after%s", before.names,
		      after.names);
	job_close(&job);
}
END_TEST

/* Without a type, a type's own part is all that its first job makes. */
START_TEST(without_a_type_the_context_is_prepared)
{
	struct job job = { .way = PLAIN, .packs = true };

	job_open(&job, 0, ARENA_DEVICE, ARENA_DEVICE, 0, NULL);
	ck_assert_int_eq(dtconv_prepare(job.context, -1, NULL, 7, NULL), 0);
	must_make_nothing(&job, "a strided type");
	job_close(&job);
}
END_TEST

/* Kernels that compute are loaded when they are asked for, and not before. */
START_TEST(kernels_that_compute_are_loaded_when_they_are_needed)
{
	static const enum way needs[] = { CONVERTED, SUMMED, CHECKED };
	struct job job = { .way = PLAIN, .packs = false };
	size_t loads = gpu.standin->calls("cuModuleLoadData");

	job_open(&job, 0, ARENA_DEVICE, ARENA_DEVICE, 0, NULL);
	must_prepare(&job);
	ck_assert_int_eq(job_do(&job, NULL), 0);
	ck_assert_uint_eq(gpu.standin->calls("cuModuleLoadData"), loads + 1);
	job.way = needs[_i % 3];
	set_params(&job, NULL);
	if (_i / 3)
		must_prepare(&job);
	struct dtconv_convertor *convertor = job_bind(&job);
	ck_assert_int_eq(job_do(&job, convertor), 0);
	ck_assert_uint_eq(gpu.standin->calls("cuModuleLoadData"), loads + 2);
	ck_assert_uint_ge(counters_of(job.context).launches_typed, 1);
	dtconv_convertor_destroy(convertor);
	job_close(&job);
}
END_TEST

/* Where they cannot be loaded, the host computes, as it would without a device's kernels. */
START_TEST(kernels_that_compute_may_be_missing)
{
	struct job job = { .way = CONVERTED, .packs = true };

	job_open(&job, 0, ARENA_DEVICE, ARENA_DEVICE, 0, NULL);
	must_prepare_context(job.context);
	gpu.standin->inject("cuModuleLoadData", 1, CUDA_ERROR_OUT_OF_MEMORY);
	ck_assert_int_eq(job_prepare(&job), DTCONV_ERR_BACKEND);
	ck_assert_ptr_nonnull(strstr(error_of(job.context), "cannot load the kernels"));
	gpu.standin->inject_clear();
	struct dtconv_convertor *convertor = job_bind(&job);
	ck_assert_int_eq(job_do(&job, convertor), 0);
	ck_assert_uint_eq(counters_of(job.context).launches_typed, 0);
	dtconv_convertor_destroy(convertor);
	/* Jobs do not try again; that is what the call is for. */
	must_prepare(&job);
	must_make_nothing(&job, "after a failure");
	ck_assert_uint_eq(counters_of(job.context).launches_typed, 1);
	job_close(&job);
}
END_TEST

/* A function is missing: the module that was loaded will do. */
START_TEST(a_module_is_loaded_once)
{
	struct job job = { .way = CHECKED, .packs = true };
	size_t loads = gpu.standin->calls("cuModuleLoadData");

	job_open(&job, 0, ARENA_DEVICE, ARENA_DEVICE, 0, NULL);
	gpu.standin->inject("cuModuleGetFunction", 3, CUDA_ERROR_OUT_OF_MEMORY);
	/* The worker has failed when the context was opened; the call asks it once more. */
	must_prepare(&job);
	gpu.standin->inject_clear();
	ck_assert_uint_eq(gpu.standin->calls("cuModuleLoadData"), loads + 2);
	must_make_nothing(&job, "after a missing function");
	job_close(&job);
}
END_TEST

/* Also the worker, which cannot answer anybody. */
START_TEST(a_refused_context_is_asked_for_again)
{
	for (unsigned nth = 1; nth < 8; nth++) {
		struct job job = { .way = CHECKED, .packs = true };

		job_open(&job, 0, ARENA_DEVICE, ARENA_HOST, 0, NULL);
		gpu.standin->inject("cuCtxPushCurrent", nth, CUDA_ERROR_OUT_OF_MEMORY);
		int status = job_prepare(&job);
		gpu.standin->inject_clear();
		ck_assert_msg(status <= 0, "call %u: %d", nth, status);
		status = job_prepare(&job);
		ck_assert_msg(!status, "call %u, then: %s", nth, error_of(job.context));
		must_make_nothing(&job, "after a refused context");
		job_close(&job);
	}
}
END_TEST

/* Loading waits for an idle device; the call does so for a while. */
START_TEST(a_busy_device_is_to_be_asked_again)
{
	CUstream stream = gpu_stream();
	struct job job = { .way = CHECKED, .packs = true };
	struct spin spin;

	job_open(&job, 0, ARENA_DEVICE, ARENA_DEVICE, 0, NULL);
	if (_i)
		must_prepare_context(job.context);
	spin_begin(&spin, stream);
	ck_assert_int_eq(job_prepare(&job), DTCONV_ERR_AGAIN);
	ck_assert_ptr_nonnull(strstr(error_of(job.context), "is busy"));
	spin_end(&spin);
	must_prepare(&job);
	must_make_nothing(&job, "after a busy device");
	job_close(&job);
	MUST(StreamDestroy(stream));
}
END_TEST

START_TEST(another_device_is_prepared_by_its_number)
{
	struct job job = { .way = PLAIN, .packs = true };
	CUcontext first, second;

	job_open(&job, 1, ARENA_DEVICE, ARENA_DEVICE, 0, NULL);
	arena_close(&job.user);
	arena_close(&job.packed);
	MUST(CtxGetCurrent(&first));
	ck_assert_int_eq(dtconv_prepare(job.context, 1, job.type, 1, NULL),
			 DTCONV_ERR_STATE);
	ck_assert_ptr_nonnull(strstr(error_of(job.context), "device 1"));
	MUST(DevicePrimaryCtxRetain(&second, 1));
	ck_assert_int_eq(dtconv_prepare(job.context, 1, job.type, 1, NULL), 0);
	MUST(CtxSetCurrent(second));
	arena_open(&job.user, ARENA_DEVICE, 40000);
	arena_open(&job.packed, ARENA_DEVICE, 40000);
	MUST(CtxSetCurrent(first));
	must_make_nothing(&job, "device 1");
	job_close(&job);
	MUST(DevicePrimaryCtxRelease(1));
}
END_TEST

/* ---- what is refused --------------------------------------------------------------------- */

START_TEST(wrong_arguments_are_refused_with_a_sentence)
{
	struct job job = { .way = PLAIN, .packs = true };
	struct dtconv_context *other = make_context(0);
	struct dtconv_type *foreign = fixture_type_in(other, texts[0]);
	struct dtconv_type *raw;
	struct dtconv_convertor_params params = { .struct_size = sizeof(params) };

	job_open(&job, 0, ARENA_DEVICE, ARENA_DEVICE, 0, NULL);
	ck_assert_int_eq(dtconv_prepare(job.context, 99, job.type, 1, NULL),
			 DTCONV_ERR_INVAL);
	ck_assert_str_eq(
		error_of(job.context),
		"dtconv_prepare: device (argument 2) is 99, there are 2 devices");
	ck_assert_int_eq(dtconv_prepare(job.context, 0, foreign, 1, NULL),
			 DTCONV_ERR_INVAL);
	ck_assert_ptr_nonnull(strstr(error_of(job.context), "another context"));
	ck_assert_int_eq(dtconv_type_create_dup(job.type, &raw), 0);
	struct dtconv_type *uncommitted;
	ck_assert_int_eq(dtconv_type_create_contiguous(2, job.type, &uncommitted), 0);
	ck_assert_int_eq(dtconv_prepare(job.context, 0, uncommitted, 1, NULL),
			 DTCONV_ERR_STATE);
	ck_assert_int_eq(dtconv_prepare(job.context, 0, job.type, SIZE_MAX, NULL),
			 DTCONV_ERR_OVERFLOW);
	params.backends = "none such";
	ck_assert_int_eq(dtconv_prepare(job.context, 0, job.type, 1, &params),
			 DTCONV_ERR_INVAL);
	params = (struct dtconv_convertor_params){ .struct_size = 0 };
	ck_assert_int_eq(dtconv_prepare(job.context, 0, job.type, 1, &params),
			 DTCONV_ERR_INVAL);
	dtconv_type_unref(uncommitted);
	dtconv_type_unref(raw);
	dtconv_type_unref(foreign);
	dtconv_context_destroy(other);
	job_close(&job);
}
END_TEST

START_TEST(a_context_of_host_memory_has_nothing_to_prepare)
{
	struct dtconv_context *context = make_context(DTCONV_CONTEXT_HOST_MEMORY);

	ck_assert_int_eq(dtconv_prepare(context, -1, NULL, 0, NULL),
			 DTCONV_ERR_UNSUPPORTED);
	ck_assert_ptr_nonnull(strstr(error_of(context), "DTCONV_CONTEXT_HOST_MEMORY"));
	dtconv_context_destroy(context);
}
END_TEST

/* ---- threads ----------------------------------------------------------------------------- */

static void *prepare_in_thread(void *arg)
{
	const struct job *job = arg;

	for (int i = 0; i < 20; i++)
		must_prepare(job);
	return NULL;
}

START_TEST(threads_prepare_the_same)
{
	struct job job = { .way = CHECKED, .packs = true };
	pthread_t threads[4];

	job_open(&job, _i, ARENA_DEVICE, ARENA_HOST, 0, NULL);
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(
			pthread_create(&threads[i], NULL, prepare_in_thread, &job), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	must_make_nothing(&job, "threads");
	job_close(&job);
}
END_TEST

static Suite *prepare_suite(void)
{
	Suite *suite = suite_create("prepare");
	TCase *ready = gpu_case(suite, "ready", 60);
	TCase *refused = gpu_case(suite, "refused", 60);

	tcase_add_loop_test(ready, the_first_job_after_it_makes_nothing, 0, 2 * WAYS);
	tcase_add_loop_test(ready, the_pipeline_is_prepared_for_jobs_that_take_it, 0, 2);
	tcase_add_loop_test(ready, so_it_is_in_the_context_s_modes, 0, 3);
	tcase_add_test(ready, the_first_launch_after_it_is_a_graph);
	tcase_add_test(ready, a_capture_behind_it_is_not_disturbed);
	tcase_add_loop_test(ready, a_second_call_makes_nothing, 0, KINDS * TEXTS);
	tcase_add_test(ready, without_a_type_the_context_is_prepared);
	tcase_add_loop_test(ready, kernels_that_compute_are_loaded_when_they_are_needed,
			    0, 6);
	tcase_add_test(ready, kernels_that_compute_may_be_missing);
	tcase_add_test(ready, a_module_is_loaded_once);
	tcase_add_test(ready, a_refused_context_is_asked_for_again);
	tcase_add_loop_test(ready, a_busy_device_is_to_be_asked_again, 0, 2);
	tcase_add_test(ready, another_device_is_prepared_by_its_number);
	tcase_add_loop_test(ready, threads_prepare_the_same, 0, TEXTS);
	tcase_add_test(refused, wrong_arguments_are_refused_with_a_sentence);
	tcase_add_test(refused, a_context_of_host_memory_has_nothing_to_prepare);
	return suite;
}

int main(void)
{
	setenv("CK_FORK", "yes", 1);
	gpu_find();
	if (gpu_is_real()) {
		puts("a real driver does not count its calls");
		return 77;
	}
	return fixture_run(prepare_suite());
}
