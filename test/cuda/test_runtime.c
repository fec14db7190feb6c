/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An application that knows the CUDA runtime only, as most do, while the library speaks to the driver:
 * its memory, its streams, its notion of a current device, its graphs and its reset.
 */
#include "config.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda_runtime_api.h>

#include "support/fixture.h"
#include "support/gpu.h"

#define BLOCKS 5000 /* of 24 bytes, 40 apart */
#define TYPE   "hvector(5000, 3, 40, double)"
#define SPAN   ((size_t)BLOCKS * 40)
#define PACKED ((size_t)BLOCKS * 24)

#define MUST_CUDART(call) must(call, #call)

static void must(cudaError_t error, const char *call)
{
	ck_assert_msg(!error, "%s: %s", call, cudaGetErrorString(error));
}

/* ---- memory of every kind ---------------------------------------------------------------- */

enum kind { DEVICE, MANAGED, ASYNC, PINNED, MAPPED, REGISTERED, KINDS };

static unsigned char *allocate(enum kind kind, size_t bytes, cudaStream_t stream)
{
	void *memory = NULL;

	switch (kind) {
	case DEVICE:
		MUST_CUDART(cudaMalloc(&memory, bytes));
		break;
	case MANAGED:
		MUST_CUDART(cudaMallocManaged(&memory, bytes, cudaMemAttachGlobal));
		break;
	case ASYNC:
		MUST_CUDART(cudaMallocAsync(&memory, bytes, stream));
		break;
	case PINNED:
		MUST_CUDART(cudaMallocHost(&memory, bytes));
		break;
	case MAPPED:
		MUST_CUDART(cudaHostAlloc(&memory, bytes,
					  cudaHostAllocMapped | cudaHostAllocPortable));
		break;
	default:
		memory = malloc(bytes);
		MUST_CUDART(cudaHostRegister(memory, bytes, cudaHostRegisterDefault));
	}
	return memory;
}

static void release(enum kind kind, void *memory, cudaStream_t stream)
{
	if (kind == ASYNC) {
		MUST_CUDART(cudaFreeAsync(memory, stream));
	} else if (kind == PINNED || kind == MAPPED) {
		MUST_CUDART(cudaFreeHost(memory));
	} else if (kind == REGISTERED) {
		MUST_CUDART(cudaHostUnregister(memory));
		free(memory);
	} else {
		MUST_CUDART(cudaFree(memory));
	}
}

/* ---- one job ------------------------------------------------------------------------------ */

/* User's and packed memory, and pinned memory that the application fills them from and reads them into. */
struct job {
	struct dtconv_type *type;
	enum kind kind;
	cudaStream_t stream;
	unsigned char *user, *packed, *before, *after;
};

static void fill(unsigned char *bytes, size_t count, unsigned salt)
{
	for (size_t i = 0; i < count; i++)
		bytes[i] = (unsigned char)((i * 2654435761u >> 7) + salt);
}

static void job_open(struct job *job, enum kind kind, cudaStream_t stream)
{
	job->type = fixture_type(TYPE);
	job->kind = kind;
	job->stream = stream;
	job->user = allocate(kind, SPAN, stream);
	job->packed = allocate(DEVICE, PACKED, stream);
	job->before = allocate(PINNED, SPAN, stream);
	job->after = allocate(PINNED, SPAN, stream);
	fill(job->before, SPAN, 1);
}

static void job_close(struct job *job)
{
	release(job->kind, job->user, job->stream);
	MUST_CUDART(cudaStreamSynchronize(job->stream));
	release(DEVICE, job->packed, job->stream);
	release(PINNED, job->before, job->stream);
	release(PINNED, job->after, job->stream);
	dtconv_type_unref(job->type);
}

static struct dtconv_convertor *on_stream(const struct job *job, bool packs)
{
	const struct dtconv_convertor_params params = fixture_in_stream(job->stream);
	struct dtconv_convertor *convertor;
	int status =
		packs ? dtconv_convertor_create_pack(job->type, 1, job->user, &convertor)
		      : dtconv_convertor_create_unpack(job->type, 1, job->user,
						       &convertor);

	ck_assert_msg(!status && !dtconv_convertor_configure(convertor, &params), "%s",
		      fixture_error());
	return convertor;
}

/* Puts a whole move on the job's stream; nobody waits for what is there already. */
static struct dtconv_convertor *start(const struct job *job, bool packs)
{
	struct dtconv_convertor *convertor = on_stream(job, packs);

	fixture_ok(dtconv_convertor_start(convertor, job->packed, PACKED, NULL, NULL));
	return convertor;
}

static void end(struct dtconv_convertor *convertor)
{
	size_t moved;

	fixture_ok(dtconv_convertor_wait(convertor, &moved));
	ck_assert_uint_eq(moved, PACKED);
	dtconv_convertor_destroy(convertor);
}

static void copy(const struct job *job, void *to, const void *from, size_t bytes)
{
	MUST_CUDART(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, job->stream));
}

/* What has been brought back is the packed stream of what was there before. */
static void is_packed(const struct job *job)
{
	for (size_t i = 0; i < PACKED; i++)
		ck_assert_msg(job->after[i] == job->before[i / 24 * 40 + i % 24],
			      "packed byte %zu is wrong", i);
}

/* ... is the user's memory that held zeros, with the blocks in their places. */
static void is_unpacked(const struct job *job)
{
	for (size_t i = 0; i < SPAN; i++)
		ck_assert_msg(job->after[i] == (i % 40 < 24 ? job->before[i] : 0),
			      "unpacked byte %zu is wrong", i);
}

/* The producer, the pack and the consumer are queued one behind the other, and so for the unpack. */
static void there_and_back(const struct job *job)
{
	copy(job, job->user, job->before, SPAN);
	struct dtconv_convertor *convertor = start(job, true);
	copy(job, job->after, job->packed, PACKED);
	MUST_CUDART(cudaStreamSynchronize(job->stream));
	is_packed(job);
	end(convertor);

	memset(job->after, 0, SPAN);
	copy(job, job->user, job->after, SPAN);
	convertor = start(job, false);
	copy(job, job->after, job->user, SPAN);
	MUST_CUDART(cudaStreamSynchronize(job->stream));
	is_unpacked(job);
	end(convertor);
}

/* ---- cases -------------------------------------------------------------------------------- */

START_TEST(memory_of_every_kind_is_packed_and_unpacked)
{
	cudaStream_t stream;
	struct job job;

	MUST_CUDART(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	job_open(&job, (enum kind)_i, stream);
	there_and_back(&job);
	job_close(&job);
	MUST_CUDART(cudaStreamDestroy(stream));
}
END_TEST

START_TEST(streams_of_every_kind_order_what_they_are_given)
{
	cudaStream_t streams[] = { NULL, cudaStreamLegacy, cudaStreamPerThread, NULL };
	struct job job;

	if (_i == 3)
		MUST_CUDART(cudaStreamCreate(&streams[3]));
	else
		MUST_CUDART(cudaFree(
			NULL)); /* the default streams are the current context's */
	job_open(&job, DEVICE, streams[_i]);
	there_and_back(&job);
	job_close(&job);
	if (_i == 3)
		MUST_CUDART(cudaStreamDestroy(streams[3]));
}
END_TEST

/* ---- the default stream, as most programs use it ------------------------------------------ */

#define LONG_BYTES ((size_t)1 << 30)

/* cudaMemset of much, then of the user's memory: the latter is far behind when the call is made. */
static void set_late(const struct job *job, void *much, int value)
{
	MUST_CUDART(cudaMemsetAsync(much, value, LONG_BYTES, cudaStreamLegacy));
	MUST_CUDART(cudaMemset(much, value, LONG_BYTES));
	MUST_CUDART(cudaMemset(job->user, value, SPAN));
}

static void is_packed_of(const struct job *job, int value)
{
	MUST_CUDART(cudaMemcpy(job->after, job->packed, PACKED, cudaMemcpyDefault));
	for (size_t i = 0; i < PACKED; i++)
		ck_assert_msg(job->after[i] == value, "packed byte %zu is 0x%x, not 0x%x",
			      i, job->after[i], value);
}

START_TEST(a_memset_comes_before_a_pack_on_the_default_stream)
{
	struct job job;
	void *much;

	MUST_CUDART(cudaMalloc(&much, LONG_BYTES));
	job_open(&job, DEVICE, NULL);
	for (int value = 1; value < 20; value++) {
		set_late(&job, much, value);
		fixture_ok(dtconv_pack_on_stream(job.type, 1, job.user, job.packed,
						 PACKED, DTCONV_STREAM_LEGACY, NULL));
		is_packed_of(&job, value);
	}
	job_close(&job);
	MUST_CUDART(cudaFree(much));
}
END_TEST

START_TEST(with_the_flag_a_memset_comes_before_a_pack)
{
	struct job job;
	void *much;

	MUST_CUDART(cudaMalloc(&much, LONG_BYTES));
	job_open(&job, (enum kind)_i, NULL);
	for (int value = 1; value < 20; value++) {
		set_late(&job, much, value);
		fixture_ok(dtconv_pack(job.type, 1, job.user, job.packed, PACKED, NULL));
		is_packed_of(&job, value);
		/* What follows in the default stream does not come before the pack, either. */
		MUST_CUDART(cudaMemset(job.packed, 0, PACKED));
		is_packed_of(&job, 0);
	}
	job_close(&job);
	MUST_CUDART(cudaFree(much));
}
END_TEST

struct neighbour {
	const struct job *job; /* of device 0 */
	int device;
};

/* The thread's device is another where there is one; it moves memory there, and that of device 0. */
static void *work_on_device(void *argument)
{
	const struct neighbour *neighbour = argument;
	struct job own;
	int device;

	MUST_CUDART(cudaSetDevice(neighbour->device));
	job_open(&own, DEVICE, cudaStreamPerThread);
	there_and_back(&own);
	there_and_back(neighbour->job);
	job_close(&own);
	MUST_CUDART(cudaGetDevice(&device));
	ck_assert_int_eq(device, neighbour->device);
	return NULL;
}

START_TEST(a_thread_with_another_device_leaves_this_one_alone)
{
	cudaStream_t stream;
	pthread_t thread;
	struct job job;
	int devices, device;

	MUST_CUDART(cudaGetDeviceCount(&devices));
	MUST_CUDART(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	job_open(&job, DEVICE, stream);
	struct neighbour neighbour = { &job, devices - 1 };
	ck_assert_int_eq(pthread_create(&thread, NULL, work_on_device, &neighbour), 0);
	pthread_join(thread, NULL);
	MUST_CUDART(cudaGetDevice(&device));
	ck_assert_int_eq(device, 0);
	there_and_back(&job);
	job_close(&job);
	MUST_CUDART(cudaStreamDestroy(stream));
}
END_TEST

START_TEST(a_captured_pack_is_replayed_on_new_contents)
{
	cudaGraphExec_t exec;
	cudaGraph_t graph;
	cudaStream_t stream;
	struct job job;

	MUST_CUDART(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	job_open(&job, DEVICE, stream);
	there_and_back(&job);
	MUST_CUDART(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	copy(&job, job.user, job.before, SPAN);
	struct dtconv_convertor *convertor = start(&job, true);
	copy(&job, job.after, job.packed, PACKED);
	MUST_CUDART(cudaStreamEndCapture(stream, &graph));
	end(convertor);
	MUST_CUDART(cudaGraphInstantiate(&exec, graph, 0));
	for (unsigned salt = 5; salt < 8; salt++) {
		fill(job.before, SPAN, salt);
		MUST_CUDART(cudaGraphLaunch(exec, stream));
		MUST_CUDART(cudaStreamSynchronize(stream));
		is_packed(&job);
	}
	MUST_CUDART(cudaGraphExecDestroy(exec));
	MUST_CUDART(cudaGraphDestroy(graph));
	job_close(&job);
	MUST_CUDART(cudaStreamDestroy(stream));
}
END_TEST

START_TEST(after_a_reset_new_memory_works)
{
	struct job job;

	for (int round = 0; round < 3; round++) {
		MUST_CUDART(cudaFree(NULL));
		job_open(&job, DEVICE, cudaStreamPerThread);
		there_and_back(&job);
		dtconv_type_unref(job.type);
		MUST_CUDART(cudaDeviceReset()); /* frees the memory */
	}
}
END_TEST

static Suite *runtime_suite(void)
{
	Suite *suite = suite_create("runtime");
	TCase *moves = fixture_case(suite, "moves", 60);
	TCase *life = fixture_case(suite, "life", 60);

	tcase_add_loop_test(moves, memory_of_every_kind_is_packed_and_unpacked, 0, KINDS);
	tcase_add_loop_test(moves, streams_of_every_kind_order_what_they_are_given, 0, 4);
	tcase_add_test(moves, a_memset_comes_before_a_pack_on_the_default_stream);
	tcase_add_test(moves, a_captured_pack_is_replayed_on_new_contents);
	tcase_add_test(life, a_thread_with_another_device_leaves_this_one_alone);
	tcase_add_test(life, after_a_reset_new_memory_works);
	return suite;
}

static Suite *default_stream_suite(void)
{
	Suite *suite = suite_create("runtime, in the default stream's order");
	TCase *flag = fixture_case(suite, "flag", 60);

	tcase_add_loop_test(flag, with_the_flag_a_memset_comes_before_a_pack, 0, KINDS);
	return suite;
}

int main(void)
{
	if (!gpu_is_real()) {
		puts("the CUDA runtime works on real devices only");
		return 77;
	}
	int failed = fixture_run(runtime_suite());
	fixture_flags = DTCONV_CONTEXT_DEFAULT_STREAM;
	return fixture_run(default_stream_suite()) || failed;
}
