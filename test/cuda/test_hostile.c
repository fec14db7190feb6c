/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The hostile application: what real programs do to a device while the library works there. Each case
 * ends with the right bytes or with the documented status, never with a hang or a crash. A case is a
 * process of its own: some of them break their device context for good. The same cases are a
 * program for every mode in which a context moves small jobs, and one for jobs of several thread blocks.
 */
#include "config.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support/fixture.h"
#include "support/gpu.h"

#ifndef HOSTILE_FLAGS
#define HOSTILE_FLAGS 0
#endif
#ifndef HOSTILE_BLOCKS
#define HOSTILE_BLOCKS 80
#endif

/* ---- a job ------------------------------------------------------------------------------- */

#define BLOCKS          HOSTILE_BLOCKS /* of 24 bytes, 40 apart */
#define STRING(text)    #text
#define TYPE_OF(blocks) "hvector(" STRING(blocks) ", 3, 40, double)"
#define TYPE            TYPE_OF(HOSTILE_BLOCKS)
#define SPAN (BLOCKS * 40)
#define PACKED (BLOCKS * 24)

struct job {
	struct dtconv_type *type;
	struct arena user, packed;
	unsigned char source[SPAN];
};

static void fill(unsigned char *bytes, size_t count, unsigned salt)
{
	for (size_t i = 0; i < count; i++)
		bytes[i] = (unsigned char)((i * 2654435761u >> 7) + salt);
}

static void job_open(struct job *job, enum arena_kind user, enum arena_kind packed)
{
	job->type = fixture_type(TYPE);
	arena_open(&job->user, user, SPAN);
	arena_open(&job->packed, packed, PACKED);
	fill(job->source, SPAN, 1);
	arena_write(&job->user, 0, job->source, SPAN);
}

static void job_close(struct job *job)
{
	arena_close(&job->user);
	arena_close(&job->packed);
	dtconv_type_unref(job->type);
}

static int job_pack(struct job *job)
{
	size_t moved;

	return dtconv_pack(job->type, 1, job->user.memory, job->packed.memory, PACKED, &moved);
}

/* What has been packed is @source's blocks. */
static void job_check(const struct job *job, const unsigned char *source)
{
	unsigned char *got = malloc(PACKED);

	ck_assert_ptr_nonnull(got);
	arena_read(&job->packed, 0, got, PACKED);
	for (size_t i = 0; i < PACKED; i++)
		ck_assert_msg(got[i] == source[i / 24 * 40 + i % 24], "packed byte %zu is wrong", i);
	free(got);
}

static void must_pack(struct job *job)
{
	fixture_ok(job_pack(job));
	job_check(job, job->source);
}

/* Whether a job has gone in the context's mode, if it has one. */
static bool has_settled(void)
{
	struct dtconv_counters now = { .struct_size = sizeof(now) };

	dtconv_context_query_counters(fixture_context, &now);
	return !(fixture_flags & (DTCONV_CONTEXT_GRAPHS | DTCONV_CONTEXT_RESIDENT)) ||
	       now.graph_launches || now.resident_jobs;
}

/* Packs until the context does it in its mode: what that takes is made in another thread. */
static void must_settle(struct job *job)
{
	must_pack(job);
	while (!has_settled()) {
		gpu_nap(2);
		must_pack(job);
	}
}

static struct dtconv_convertor *on_stream(const struct job *job, CUstream stream)
{
	const struct dtconv_convertor_params params = fixture_in_stream(stream);
	struct dtconv_convertor *convertor =
		fixture_packer(job->type, 1, job->user.memory, &params);
	return convertor;
}

/* ---- waiting and blocking ---------------------------------------------------------------- */

/* The kernel runs until it is told to stop: what has ended before has not waited for it. */
static void must_still_spin(const struct spin *spin)
{
	ck_assert_int_eq(gpu.StreamQuery(spin->stream), CUDA_ERROR_NOT_READY);
}

static void must_pack_beside(struct job *job, const struct spin *spin)
{
	fixture_ok(job_pack(job));
	must_still_spin(spin);
}

START_TEST(a_spinning_kernel_does_not_keep_jobs_from_their_end)
{
	static const enum arena_kind kinds[] = { ARENA_DEVICE, ARENA_PINNED, ARENA_HOST };
	struct spin spin;
	static struct job job;

	job_open(&job, ARENA_DEVICE, kinds[_i]);
	if (kinds[_i] == ARENA_HOST)
		must_pack(&job);
	else
		must_settle(&job);
	spin_begin(&spin, gpu_stream());
	must_pack_beside(&job, &spin);
	spin_end(&spin);
	job_check(&job, job.source);
	job_close(&job);
}
END_TEST

START_TEST(the_first_job_of_all_ends_under_a_spinning_kernel)
{
	struct spin spin;
	static struct job job;

	job_open(&job, ARENA_DEVICE, ARENA_DEVICE);
	spin_begin(&spin, gpu_stream());
	must_pack_beside(&job, &spin);
	spin_end(&spin);
	job_check(&job, job.source);
	job_close(&job);
}
END_TEST

START_TEST(types_are_released_under_a_spinning_kernel)
{
	struct dtconv_type *type = fixture_type("indexed([1,2,1,3,1,2,1,2,1,5],"
						"[0,9,20,30,40,50,60,70,80,90],int)");
	struct arena user, packed;
	struct spin spin;
	size_t moved;

	arena_open(&user, ARENA_DEVICE, 1000);
	arena_open(&packed, ARENA_DEVICE, 1000);
	fixture_ok(dtconv_pack(type, 1, user.memory, packed.memory, 1000, &moved));
	spin_begin(&spin, gpu_stream());
	dtconv_type_unref(type);
	must_still_spin(&spin);
	spin_end(&spin);
	arena_close(&user);
	arena_close(&packed);
}
END_TEST

static void *release_later(void *arg)
{
	gpu_nap(200);
	spin_release(arg);
	return NULL;
}

/* What it used on the device is given back when the device is idle. */
START_TEST(a_context_is_destroyed_when_the_spinning_kernel_ends)
{
	struct dtconv_context *context;
	struct arena user, packed;
	struct spin spin;
	pthread_t thread;
	size_t moved;

	fixture_ok(dtconv_context_create(NULL, &context));
	struct dtconv_type *type = fixture_type_in(context, TYPE);
	arena_open(&user, ARENA_DEVICE, SPAN);
	arena_open(&packed, ARENA_DEVICE, PACKED);
	fixture_ok(dtconv_pack(type, 1, user.memory, packed.memory, PACKED, &moved));
	spin_begin(&spin, gpu_stream());
	ck_assert_int_eq(pthread_create(&thread, NULL, release_later, &spin), 0);
	dtconv_type_unref(type);
	dtconv_context_destroy(context);
	pthread_join(thread, NULL);
	spin_end(&spin);
	arena_close(&user);
	arena_close(&packed);
}
END_TEST

#define WAITING 64

START_TEST(a_job_behind_many_waiting_streams_ends_when_they_do)
{
	CUstream streams[WAITING];
	struct arena word;
	static struct job job;
	size_t moved;
	uint64_t one = 1, zero = 0;

	job_open(&job, ARENA_DEVICE, ARENA_DEVICE);
	must_settle(&job);
	arena_open(&word, ARENA_PINNED, 8);
	memcpy(word.memory, &zero, 8);
	struct dtconv_convertor *convertor = on_stream(&job, gpu_stream());
	for (int i = 0; i < WAITING; i++)
		streams[i] = gpu_stream();
	for (int i = 0; i < WAITING; i++)
		MUST(StreamWaitValue64(streams[i], (CUdeviceptr)(uintptr_t)word.memory, 1,
				       CU_STREAM_WAIT_VALUE_EQ));
	fixture_ok(
		dtconv_convertor_start(convertor, job.packed.memory, PACKED, NULL, NULL));
	/* The hardware's queues are theirs: it may be done by now or not, but asking does not hang. */
	gpu_nap(50);
	int status = dtconv_convertor_test(convertor, &moved);
	__atomic_store_n((uint64_t *)(void *)word.memory, one, __ATOMIC_RELEASE);
	if (status == DTCONV_INPROGRESS)
		status = dtconv_convertor_wait(convertor, &moved);
	ck_assert_int_eq(status, 0);
	dtconv_convertor_destroy(convertor);
	for (int i = 0; i < WAITING; i++)
		MUST(StreamSynchronize(streams[i]));
	job_check(&job, job.source);
	arena_close(&word);
	job_close(&job);
}
END_TEST

/* Whoever first moves between pinned memory waits for the stream as long as no kernels are loaded. */
static void must_pack_on_stream(const struct job *job)
{
	struct dtconv_convertor *convertor = on_stream(job, gpu_stream());
	size_t moved;

	fixture_ok(dtconv_convertor_pack(convertor, job->packed.memory, PACKED, &moved));
	job_check(job, job->source);
	dtconv_convertor_destroy(convertor);
}

/* What a device writes, and what it is packed to. */
static const enum arena_kind produced[] = { ARENA_DEVICE,  ARENA_PINNED, ARENA_REGISTERED,
					    ARENA_MANAGED, ARENA_ASYNC,  ARENA_VMM };
static const enum arena_kind packed_to[] = { ARENA_DEVICE, ARENA_PINNED, ARENA_MANAGED,
					     ARENA_HOST };

#define PRODUCED  (int)(sizeof(produced) / sizeof(produced[0]))
#define PACKED_TO (int)(sizeof(packed_to) / sizeof(packed_to[0]))
/* A context's mode has to do with the first pair alone. */
#define PAIRS (HOSTILE_FLAGS ? 1 : PRODUCED * PACKED_TO)

/* One of these pairs; its job has gone in a stream before. */
static void open_produced(struct job *job, int pair)
{
	job_open(job, produced[pair / PACKED_TO], packed_to[pair % PACKED_TO]);
	if (pair)
		must_pack_on_stream(job);
	else
		must_settle(job);
}

/* A kernel that runs, and behind it in its stream the user's memory becomes what @staging gets. */
static void produce(const struct job *job, unsigned char *fresh, struct arena *staging,
		    struct spin *spin, CUstream stream)
{
	arena_open(staging, ARENA_DEVICE, SPAN);
	fill(fresh, SPAN, 99);
	arena_write(staging, 0, fresh, SPAN);
	spin_begin(spin, stream);
	MUST(MemcpyAsync((CUdeviceptr)(uintptr_t)job->user.memory,
			 (CUdeviceptr)(uintptr_t)staging->memory, SPAN, stream));
}

/* The producer still runs when the job is given to its stream. */
START_TEST(a_job_waits_for_what_its_stream_was_given_before)
{
	CUstream stream = gpu_stream();
	static unsigned char fresh[SPAN];
	struct arena staging;
	struct spin spin;
	static struct job job;
	size_t moved;

	open_produced(&job, _i);
	produce(&job, fresh, &staging, &spin, stream);
	struct dtconv_convertor *convertor = on_stream(&job, stream);
	fixture_ok(
		dtconv_convertor_start(convertor, job.packed.memory, PACKED, NULL, NULL));
	gpu_nap(50);
	fixture_status(dtconv_convertor_test(convertor, &moved), DTCONV_INPROGRESS);
	spin_release(&spin);
	fixture_ok(dtconv_convertor_wait(convertor, &moved));
	ck_assert_uint_eq(moved, PACKED);
	job_check(&job, fresh);
	spin_end(&spin);
	dtconv_convertor_destroy(convertor);
	arena_close(&staging);
	job_close(&job);
}
END_TEST

/* As the host converts it. */
static uint32_t converted(const struct job *job, const unsigned char *source,
			  const struct dtconv_convertor_params *params,
			  unsigned char *packed)
{
	uint32_t checksum;
	size_t moved;

	struct dtconv_convertor *convertor = fixture_packer(job->type, 1, source, params);
	fixture_ok(dtconv_convertor_pack(convertor, packed, PACKED, &moved));
	fixture_ok(dtconv_convertor_crc32c(convertor, &checksum));
	dtconv_convertor_destroy(convertor);
	return checksum;
}

/* Start may wait where the processor converts or sums up: the kernel ends by itself, a little later. */
START_TEST(so_does_one_that_converts_and_sums_up)
{
	CUstream stream = gpu_stream();
	struct dtconv_representation external32;
	struct dtconv_convertor_params params = { .struct_size = sizeof(params),
						  .representation = &external32,
						  .flags = DTCONV_CONVERTOR_CRC32C };
	static unsigned char fresh[SPAN], expected[PACKED], got[PACKED];
	struct arena staging;
	struct spin spin;
	static struct job job;
	pthread_t thread;
	uint32_t checksum;
	size_t moved;

	fixture_ok(dtconv_representation_find("external32", &external32));
	open_produced(&job, _i);
	produce(&job, fresh, &staging, &spin, stream);
	ck_assert_int_eq(pthread_create(&thread, NULL, release_later, &spin), 0);
	uint32_t right = converted(&job, fresh, &params, expected);
	params.flags |= DTCONV_CONVERTOR_STREAM;
	params.stream = stream;
	struct dtconv_convertor *convertor = on_stream(&job, stream);
	fixture_ok(dtconv_convertor_configure(convertor, &params));
	fixture_ok(
		dtconv_convertor_start(convertor, job.packed.memory, PACKED, NULL, NULL));
	fixture_ok(dtconv_convertor_wait(convertor, &moved));
	arena_read(&job.packed, 0, got, PACKED);
	ck_assert(!memcmp(got, expected, PACKED));
	fixture_ok(dtconv_convertor_crc32c(convertor, &checksum));
	ck_assert_uint_eq(checksum, right);
	pthread_join(thread, NULL);
	spin_end(&spin);
	dtconv_convertor_destroy(convertor);
	arena_close(&staging);
	job_close(&job);
}
END_TEST

/* Release the kernel in front of a started job, and check what the job has packed. */
static void finish_behind(struct spin *spin, struct dtconv_convertor *convertor,
			  struct job *job)
{
	size_t moved;

	spin_release(spin);
	fixture_ok(dtconv_convertor_wait(convertor, &moved));
	job_check(job, job->source);
	spin_end(spin);
	dtconv_convertor_destroy(convertor);
	job_close(job);
}

/* Packed memory may still be read by what the stream was given before. */
START_TEST(a_job_writes_pinned_memory_when_its_stream_comes_to_it)
{
	CUstream stream = gpu_stream();
	struct spin spin;
	static struct job job;

	job_open(&job, _i < PRODUCED ? produced[_i] : ARENA_HOST, ARENA_PINNED);
	must_pack_on_stream(&job);
	memset(job.packed.memory, 0xee, PACKED);
	spin_begin(&spin, stream);
	struct dtconv_convertor *convertor = on_stream(&job, stream);
	fixture_ok(
		dtconv_convertor_start(convertor, job.packed.memory, PACKED, NULL, NULL));
	ck_assert_int_eq(gpu.StreamQuery(stream), CUDA_ERROR_NOT_READY);
	gpu_nap(50);
	for (size_t i = 0; i < PACKED; i++)
		ck_assert_msg(job.packed.memory[i] == 0xee, "byte %zu was written", i);
	finish_behind(&spin, convertor, &job);
}
END_TEST

/* Ordinary memory is written when what is in pinned memory has been. */
START_TEST(a_job_reads_pinned_memory_when_its_stream_comes_to_it)
{
	CUstream stream = gpu_stream();
	const struct dtconv_convertor_params params = fixture_in_stream(stream);
	static unsigned char packed[PACKED];
	struct arena staging;
	struct spin spin;
	static struct job job;
	size_t moved;

	job_open(&job, ARENA_HOST, ARENA_PINNED);
	must_pack_on_stream(&job);
	memcpy(packed, job.packed.memory, PACKED);
	memset(job.packed.memory, 0xee, PACKED);
	memset(job.user.memory, 0, SPAN);
	arena_open(&staging, ARENA_DEVICE, PACKED);
	arena_write(&staging, 0, packed, PACKED);
	struct dtconv_convertor *convertor =
		fixture_unpacker(job.type, 1, job.user.memory, &params);
	spin_begin(&spin, stream);
	MUST(MemcpyAsync((CUdeviceptr)(uintptr_t)job.packed.memory,
			 (CUdeviceptr)(uintptr_t)staging.memory, PACKED, stream));
	fixture_ok(
		dtconv_convertor_start(convertor, job.packed.memory, PACKED, NULL, NULL));
	gpu_nap(50);
	fixture_status(dtconv_convertor_test(convertor, &moved), DTCONV_INPROGRESS);
	spin_release(&spin);
	fixture_ok(dtconv_convertor_wait(convertor, &moved));
	for (size_t i = 0; i < PACKED; i++)
		ck_assert_uint_eq(job.user.memory[i / 24 * 40 + i % 24], packed[i]);
	spin_end(&spin);
	dtconv_convertor_destroy(convertor);
	arena_close(&staging);
	job_close(&job);
}
END_TEST

/* Small jobs between a device and ordinary memory, which the driver's copies would do at once. */
static const char *const small_types[] = { "contiguous(2, double)",
					   "vector(10, 1, 2, double)" };
static const enum arena_kind far_kinds[] = { ARENA_DEVICE, ARENA_MANAGED };

#define SMALL_PAIRS 8 /* of them, each way */

struct small {
	struct dtconv_type *type;
	struct arena user, packed;
	struct dtconv_convertor *convertor;
	CUstream stream;
	bool packs;
};

/* In a stream, between ordinary memory and a device's. */
static void small_open(struct small *small, int pair, const char *backends)
{
	struct dtconv_convertor_params params = { .struct_size = sizeof(params),
						  .flags = DTCONV_CONVERTOR_STREAM,
						  .backends = backends };

	small->stream = params.stream = gpu_stream();
	small->packs = pair / 4;
	small->type = fixture_type(small_types[pair % 2]);
	arena_open(&small->user, far_kinds[pair / 2 % 2], 160);
	arena_open(&small->packed, ARENA_HOST, 80);
	int status = small->packs ? dtconv_convertor_create_pack(small->type, 1,
								 small->user.memory,
								 &small->convertor)
				  : dtconv_convertor_create_unpack(small->type, 1,
								   small->user.memory,
								   &small->convertor);
	ck_assert_int_eq(status, 0);
	fixture_ok(dtconv_convertor_configure(small->convertor, &params));
}

static size_t small_bytes(const struct small *small)
{
	struct dtconv_convertor_attr attr = { .struct_size = sizeof(attr) };

	dtconv_convertor_query(small->convertor, &attr);
	return attr.size;
}

static int small_start(struct small *small)
{
	fixture_ok(dtconv_convertor_seek(small->convertor, 0));
	return dtconv_convertor_start(small->convertor, small->packed.memory,
				      small_bytes(small), NULL, NULL);
}

static void small_close(struct small *small)
{
	dtconv_convertor_destroy(small->convertor);
	MUST(StreamDestroy(small->stream));
	arena_close(&small->user);
	arena_close(&small->packed);
	dtconv_type_unref(small->type);
}

/* What the driver would move before its call returns, the thread of the context's does. */
static void start_behind_a_kernel(int pair)
{
	struct small small;
	struct spin spin;
	size_t moved;

	small_open(&small, pair, NULL);
	/* The first one finds the kernels loaded, and makes the thread. */
	ck_assert_int_eq(small_start(&small), 0);
	fixture_ok(dtconv_convertor_wait(small.convertor, &moved));
	spin_begin(&spin, small.stream);
	ck_assert_int_eq(small_start(&small), 0);
	fixture_status(dtconv_convertor_test(small.convertor, &moved), DTCONV_INPROGRESS);
	spin_release(&spin);
	fixture_ok(dtconv_convertor_wait(small.convertor, &moved));
	ck_assert_uint_eq(moved, small_bytes(&small));
	spin_end(&spin);
	small_close(&small);
}

START_TEST(small_jobs_are_started_behind_a_kernel_too)
{
	start_behind_a_kernel(_i);
}
END_TEST

/* The library's threads inherit the CPU, as all threads of a process in a small container have it. */
START_TEST(so_are_they_by_a_process_of_one_cpu)
{
	cpu_set_t allowed, one;
	int cpu = 0;

	ck_assert_int_eq(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
	while (!CPU_ISSET((size_t)cpu, &allowed))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET((size_t)cpu, &one);
	ck_assert_int_eq(sched_setaffinity(0, sizeof(one), &one), 0);
	start_behind_a_kernel(_i);
	ck_assert_int_eq(sched_setaffinity(0, sizeof(allowed), &allowed), 0);
}
END_TEST

/* The processor waits for no stream, and the driver's copies between host memory do so in the call. */
START_TEST(who_may_not_follow_a_stream_says_so)
{
	const struct dtconv_convertor_params params = { .struct_size = sizeof(params),
							.flags = DTCONV_CONVERTOR_STREAM,
							.stream = gpu_stream(),
							.backends = "host,cuda_copy" };
	static struct job job;
	size_t moved;

	job_open(&job, ARENA_PINNED, ARENA_PINNED);
	fixture_status(dtconv_pack_with(job.type, 1, job.user.memory, job.packed.memory,
					PACKED, &params, &moved),
		       DTCONV_ERR_UNSUPPORTED);
	ck_assert_str_eq(
		fixture_error(),
		"dtconv_pack_with: params.backends and DTCONV_BACKENDS allow only host, "
		"cuda_copy, which cannot move data between pinned and pinned memory in "
		"stream order");
	job_close(&job);
}
END_TEST

/* Whoever waits for a started job does not wait for the consumer behind it. */
START_TEST(a_job_is_done_before_what_its_stream_is_given_later)
{
	CUstream stream = gpu_stream();
	struct spin spin;
	static struct job job;
	size_t moved;

	job_open(&job, ARENA_DEVICE, ARENA_DEVICE);
	must_settle(&job);
	struct dtconv_convertor *convertor = on_stream(&job, stream);
	for (int round = 0; round < 2; round++) {
		fixture_ok(dtconv_convertor_seek(convertor, 0));
		fixture_ok(dtconv_convertor_start(convertor, job.packed.memory, PACKED,
						  NULL, NULL));
		spin_begin(&spin, stream);
		fixture_ok(dtconv_convertor_wait(convertor, &moved));
		ck_assert_uint_eq(moved, PACKED);
		ck_assert_int_eq(gpu.StreamQuery(stream), CUDA_ERROR_NOT_READY);
		spin_end(&spin);
	}
	job_check(&job, job.source);
	dtconv_convertor_destroy(convertor);
	job_close(&job);
}
END_TEST

START_TEST(a_convertor_may_be_destroyed_with_its_job_in_flight)
{
	CUstream stream = gpu_stream();
	struct spin spin;
	static struct job job;

	job_open(&job, ARENA_DEVICE, ARENA_DEVICE);
	must_pack(&job);
	spin_begin(&spin, stream);
	struct dtconv_convertor *convertor = on_stream(&job, stream);
	fixture_ok(
		dtconv_convertor_start(convertor, job.packed.memory, PACKED, NULL, NULL));
	spin_release(&spin);
	dtconv_convertor_destroy(convertor);
	job_check(&job, job.source);
	spin_end(&spin);
	job_close(&job);
}
END_TEST

/* ---- an error of the device ---------------------------------------------------------------- */

START_TEST(an_illegal_address_of_the_applications_fails_jobs_and_nothing_else)
{
	struct dtconv_type *type = fixture_type(TYPE);
	static unsigned char host[SPAN], packed[PACKED];
	static struct job job;
	size_t moved;

	job_open(&job, ARENA_DEVICE, ARENA_DEVICE);
	must_settle(&job);
	CUstream stream = gpu_stream();
	struct dtconv_convertor *convertor = on_stream(&job, stream);
	gpu_fault(stream);
	int status =
		dtconv_convertor_start(convertor, job.packed.memory, PACKED, NULL, NULL);
	ck_assert_int_eq(status, 0);
	fixture_status(dtconv_convertor_wait(convertor, &moved), DTCONV_ERR_BACKEND);
	ck_assert_uint_eq(moved, 0);
	/* The device may have failed before the first driver call of start, or after any of them. */
	ck_assert_msg(strstr(fixture_error(), "CUDA_ERROR_") ||
			      strstr(fixture_error(), "no longer exists"),
		      "%s", fixture_error());
	ck_assert_int_eq(job_pack(&job), DTCONV_ERR_BACKEND);
	dtconv_convertor_destroy(convertor);
	/* Host memory is nobody else's business. */
	fill(host, SPAN, 3);
	fixture_ok(dtconv_pack(type, 1, host, packed, PACKED, &moved));
	ck_assert_mem_eq(packed + 24, host + 40, 24);
	dtconv_type_unref(type);
	dtconv_type_unref(job.type);
}
END_TEST

/* ---- contexts -------------------------------------------------------------------------------- */

START_TEST(a_destroyed_context_gives_an_error_and_the_next_one_works)
{
	CUcontext primary, mine;
	static struct job job, other;
	size_t moved;

	MUST(CtxGetCurrent(&primary));
	MUST(CtxCreate(&mine, 0, 0));
	job_open(&job, ARENA_DEVICE, ARENA_DEVICE);
	must_settle(&job);
	struct dtconv_convertor *convertor = on_stream(&job, gpu_stream());
	fixture_ok(
		dtconv_convertor_start(convertor, job.packed.memory, PACKED, NULL, NULL));
	MUST(CtxDestroy(mine));
	MUST(CtxSetCurrent(primary));
	/* The context may have gone before or after the job's end. */
	int status = dtconv_convertor_wait(convertor, &moved);
	ck_assert_msg(status == 0 || status == DTCONV_ERR_BACKEND, "%s", dtconv_strerror(status));
	dtconv_convertor_destroy(convertor);
	job_open(&other, ARENA_DEVICE, ARENA_DEVICE);
	must_pack(&other);
	job_close(&other);
	dtconv_type_unref(job.type);
}
END_TEST

START_TEST(after_a_reset_of_the_device_new_memory_works)
{
	CUcontext primary;
	static struct job job, other;

	job_open(&job, ARENA_DEVICE, ARENA_PINNED);
	must_settle(&job);
	MUST(DevicePrimaryCtxReset(0));
	dtconv_type_unref(job.type);
	MUST(DevicePrimaryCtxRetain(&primary, 0));
	MUST(CtxSetCurrent(primary));
	job_open(&other, ARENA_DEVICE, ARENA_DEVICE);
	must_pack(&other);
	job_close(&other);
}
END_TEST

static void *pack_without_context(void *arg)
{
	CUcontext current = NULL;
	struct job *job = arg;

	MUST(CtxGetCurrent(&current));
	ck_assert_ptr_null(current);
	int status = job_pack(job);
	if (status)
		fprintf(stderr, "%s\n", fixture_error());
	MUST(CtxGetCurrent(&current));
	ck_assert_msg(!current, "a context was left current");
	return (void *)(intptr_t)status;
}

START_TEST(a_thread_needs_no_current_context)
{
	static const enum arena_kind kinds[] = { ARENA_DEVICE, ARENA_ASYNC, ARENA_VMM,
						 ARENA_MANAGED };
	pthread_t thread;
	static struct job job;
	void *status;

	job_open(&job, kinds[_i], ARENA_DEVICE);
	ck_assert_int_eq(pthread_create(&thread, NULL, pack_without_context, &job), 0);
	pthread_join(thread, &status);
	ck_assert_msg(!status, "%s", dtconv_strerror((int)(intptr_t)status));
	job_check(&job, job.source);
	job_close(&job);
}
END_TEST

START_TEST(the_default_streams_need_a_current_context)
{
	static const CUstream streams[] = { NULL, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD };
	CUcontext primary;
	static struct job job;
	size_t moved;

	job_open(&job, ARENA_DEVICE, ARENA_DEVICE);
	struct dtconv_convertor *convertor = on_stream(&job, streams[_i]);
	fixture_ok(dtconv_convertor_pack(convertor, job.packed.memory, PACKED, &moved));
	job_check(&job, job.source);
	MUST(CtxGetCurrent(&primary));
	MUST(CtxSetCurrent(NULL));
	dtconv_convertor_seek(convertor, 0);
	fixture_status(dtconv_convertor_pack(convertor, job.packed.memory, PACKED,
					     &moved),
		       DTCONV_ERR_STATE);
	MUST(CtxSetCurrent(primary));
	dtconv_convertor_destroy(convertor);
	job_close(&job);
}
END_TEST

/* Whose device it is, nobody has asked. */
START_TEST(memory_that_is_only_called_a_devices_needs_a_current_context)
{
	const struct dtconv_convertor_params params = {
		.struct_size = sizeof(params),
		.flags = _i ? DTCONV_CONVERTOR_STREAM : 0,
		.user_memory = DTCONV_MEMORY_DEVICE,
		.packed_memory = DTCONV_MEMORY_DEVICE,
	};
	static struct job job;
	CUcontext current;
	size_t moved;

	job_open(&job, ARENA_DEVICE, ARENA_DEVICE);
	MUST(CtxGetCurrent(&current));
	MUST(CtxSetCurrent(NULL));
	fixture_status(dtconv_pack_with(job.type, 1, job.user.memory, job.packed.memory,
					PACKED, &params, &moved),
		       DTCONV_ERR_STATE);
	MUST(CtxSetCurrent(current));
	ck_assert_str_eq(
		fixture_error(),
		_i ? "dtconv_pack_with: params.stream is the default stream, but no "
		     "context of a device is current on the calling thread"
		   : "dtconv_pack_with: no CUDA context of a device can be used: none is "
		     "current, none owns the memory, and the primary context is not "
		     "active");
	job_close(&job);
}
END_TEST

/* Asks for a while; nobody has ended the job. */
static int ask_often(struct dtconv_convertor *convertor)
{
	int status = DTCONV_INPROGRESS;
	size_t moved;

	for (int i = 0; i < 5 && status == DTCONV_INPROGRESS; i++) {
		gpu_nap(2);
		status = dtconv_convertor_test(convertor, &moved);
	}
	return status;
}

struct asking {
	struct dtconv_convertor *convertor;
	CUcontext context;
	int status;
};

static void *ask_in_context(void *arg)
{
	struct asking *asking = arg;

	MUST(CtxSetCurrent(asking->context));
	asking->status = ask_often(asking->convertor);
	return NULL;
}

/* A context of the second device, or, where there is none, no context. */
static CUcontext another_context(void)
{
	CUcontext context = NULL;
	int devices;

	MUST(DeviceGetCount(&devices));
	if (devices > 1)
		MUST(DevicePrimaryCtxRetain(&context, 1));
	return context;
}

/* What is the default stream there, the job is not in. */
START_TEST(a_default_streams_job_is_asked_for_where_another_stream_is_the_default)
{
	CUstream stream = _i < 2 ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
	struct asking asking = { .context = NULL };
	static struct job job;
	struct spin spin;
	pthread_t thread;
	size_t moved;

	job_open(&job, ARENA_DEVICE, ARENA_DEVICE);
	must_settle(&job);
	if (_i == 0)
		MUST(CtxGetCurrent(&asking.context));
	if (_i == 3)
		asking.context = another_context();
	spin_begin(&spin, stream);
	asking.convertor = on_stream(&job, stream);
	fixture_ok(dtconv_convertor_start(asking.convertor, job.packed.memory, PACKED,
					  NULL, NULL));
	ck_assert_int_eq(pthread_create(&thread, NULL, ask_in_context, &asking), 0);
	pthread_join(thread, NULL);
	ck_assert_int_eq(asking.status, DTCONV_INPROGRESS);
	spin_release(&spin);
	fixture_ok(dtconv_convertor_wait(asking.convertor, &moved));
	job_check(&job, job.source);
	spin_end(&spin);
	dtconv_convertor_destroy(asking.convertor);
	must_pack(&job);
	job_close(&job);
}
END_TEST

/* ---- graphs ---------------------------------------------------------------------------------- */

START_TEST(a_capture_that_begins_behind_a_job_is_not_disturbed)
{
	CUstream stream = gpu_stream();
	static struct job job;
	struct spin spin;
	CUgraph graph;

	job_open(&job, ARENA_DEVICE, ARENA_DEVICE);
	must_settle(&job);
	spin_begin(&spin, stream);
	struct dtconv_convertor *convertor = on_stream(&job, stream);
	fixture_ok(
		dtconv_convertor_start(convertor, job.packed.memory, PACKED, NULL, NULL));
	MUST(StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	ck_assert_int_eq(ask_often(convertor), DTCONV_INPROGRESS);
	MUST(StreamEndCapture(stream, &graph));
	MUST(GraphDestroy(graph));
	finish_behind(&spin, convertor, &job);
}
END_TEST

START_TEST(a_capture_of_another_thread_is_not_disturbed)
{
	CUstream stream = gpu_stream();
	struct spin spin;
	CUgraph graph;
	static struct job job;
	size_t moved;

	job_open(&job, ARENA_DEVICE, ARENA_DEVICE);
	must_settle(&job);
	CUstream busy = gpu_stream();
	spin_begin(&spin, busy);
	struct dtconv_convertor *convertor = on_stream(&job, busy);
	MUST(StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	fixture_ok(
		dtconv_convertor_start(convertor, job.packed.memory, PACKED, NULL, NULL));
	gpu_nap(20);
	fixture_status(dtconv_convertor_test(convertor, &moved), DTCONV_INPROGRESS);
	spin_release(&spin);
	fixture_ok(dtconv_convertor_wait(convertor, &moved));
	MUST(StreamEndCapture(stream, &graph));
	MUST(GraphDestroy(graph));
	job_check(&job, job.source);
	spin_end(&spin);
	dtconv_convertor_destroy(convertor);
	job_close(&job);
}
END_TEST

static CUgraphExec instantiate(CUstream captured)
{
	CUgraphExec exec;
	CUgraph graph;

	MUST(StreamEndCapture(captured, &graph));
	MUST(GraphInstantiateWithFlags(&exec, graph, 0));
	MUST(GraphDestroy(graph));
	return exec;
}

START_TEST(the_first_job_of_all_may_be_captured)
{
	CUstream stream = gpu_stream();
	static struct job job;
	size_t moved;

	job_open(&job, ARENA_DEVICE, ARENA_DEVICE);
	struct dtconv_convertor *convertor = on_stream(&job, stream);
	MUST(StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	fixture_ok(dtconv_convertor_pack(convertor, job.packed.memory, PACKED, &moved));
	CUgraphExec exec = instantiate(stream);
	MUST(GraphLaunch(exec, stream));
	MUST(StreamSynchronize(stream));
	job_check(&job, job.source);
	MUST(GraphExecDestroy(exec));
	dtconv_convertor_destroy(convertor);
	must_settle(&job);
	job_close(&job);
}
END_TEST

/* What another stream captures may end by it, and nothing else does: kernels are loaded all the same. */
START_TEST(the_first_job_of_all_may_meet_a_capture)
{
	struct dtconv_counters before = { .struct_size = sizeof(before) }, after = before;
	CUstream stream = gpu_stream();
	static struct job job;
	CUgraph graph = NULL;

	job_open(&job, ARENA_DEVICE, ARENA_DEVICE);
	MUST(StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
	must_pack(&job);
	(void)gpu.StreamEndCapture(stream, &graph);
	if (graph)
		MUST(GraphDestroy(graph));
	gpu_nap(200);
	dtconv_context_query_counters(fixture_context, &before);
	must_pack(&job);
	dtconv_context_query_counters(fixture_context, &after);
	ck_assert_uint_eq(after.fallbacks_loading, before.fallbacks_loading);
	job_close(&job);
}
END_TEST

static void begin_capture(CUstream stream)
{
	MUST(StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
}

START_TEST(a_captured_job_is_replayed_on_new_contents)
{
	CUstream stream = gpu_stream();
	static unsigned char fresh[SPAN];
	static struct job job;
	size_t moved;

	open_produced(&job, _i);
	struct dtconv_convertor *convertor = on_stream(&job, stream);
	begin_capture(stream);
	fixture_ok(
		dtconv_convertor_start(convertor, job.packed.memory, PACKED, NULL, NULL));
	int status = dtconv_convertor_wait(convertor, &moved);
	ck_assert_int_eq(status,
			 job.packed.kind == ARENA_HOST ? DTCONV_ERR_UNSUPPORTED : 0);
	CUgraphExec exec = instantiate(stream);
	for (unsigned salt = 5; salt < 8 && !status; salt++) {
		fill(fresh, SPAN, salt);
		arena_write(&job.user, 0, fresh, SPAN);
		MUST(GraphLaunch(exec, stream));
		MUST(StreamSynchronize(stream));
		job_check(&job, fresh);
	}
	MUST(GraphExecDestroy(exec));
	dtconv_convertor_destroy(convertor);
	job_close(&job);
}
END_TEST

/* The graph would read and write it later, when it may be gone. */
START_TEST(a_capture_takes_no_ordinary_memory)
{
	static struct job job;
	struct small small;
	CUgraph graph = NULL;
	size_t moved;

	job_open(&job, ARENA_DEVICE, ARENA_DEVICE);
	must_settle(&job);
	small_open(&small, _i % SMALL_PAIRS, _i < SMALL_PAIRS ? NULL : "cuda_copy");
	begin_capture(small.stream);
	ck_assert_int_eq(small_start(&small), 0);
	fixture_status(dtconv_convertor_wait(small.convertor, &moved),
		       DTCONV_ERR_UNSUPPORTED);
	ck_assert_uint_eq(moved, 0);
	MUST(StreamEndCapture(small.stream, &graph));
	MUST(GraphDestroy(graph));
	small_close(&small);
	job_close(&job);
}
END_TEST

/* ---- memory ---------------------------------------------------------------------------------- */

START_TEST(recycled_addresses_are_looked_at_anew)
{
	static struct job job;

	for (int round = 0; round < 20; round++) {
		job_open(&job, round % 2 ? ARENA_DEVICE : ARENA_MANAGED,
			 round % 3 ? ARENA_DEVICE : ARENA_PINNED);
		must_pack(&job);
		job_close(&job);
	}
}
END_TEST

/* The library then asks no driver where the memory is, but it needs one all the same. */
START_TEST(the_first_job_may_be_told_where_its_memory_is)
{
	const struct dtconv_convertor_params params = {
		.struct_size = sizeof(params),
		.user_memory = DTCONV_MEMORY_DEVICE,
		.packed_memory = _i ? DTCONV_MEMORY_DEVICE : DTCONV_MEMORY_HOST,
	};
	static struct job job;
	size_t moved;

	job_open(&job, ARENA_DEVICE, _i ? ARENA_DEVICE : ARENA_HOST);
	fixture_ok(dtconv_pack_with(job.type, 1, job.user.memory, job.packed.memory,
				    PACKED, &params, &moved));
	job_check(&job, job.source);
	job_close(&job);
}
END_TEST

/* Absolute addresses: blocks of the host and of the device in one type. */
START_TEST(one_type_may_lie_in_memory_of_several_kinds)
{
	static const enum arena_kind kinds[] = { ARENA_HOST, ARENA_DEVICE, ARENA_PINNED,
						 ARENA_DEVICE, ARENA_HOST };
	enum { PARTS = sizeof(kinds) / sizeof(kinds[0]), EACH = 4096 };
	static unsigned char sent[PARTS * EACH], got[PARTS * EACH];
	struct arena arenas[PARTS], packed;
	ptrdiff_t disps[PARTS];
	size_t lengths[PARTS], moved;
	struct dtconv_type *type;

	fill(sent, sizeof(sent), 8);
	for (int i = 0; i < PARTS; i++) {
		arena_open(&arenas[i], kinds[i], EACH);
		arena_write(&arenas[i], 0, sent + i * EACH, EACH);
		disps[i] = (ptrdiff_t)arenas[i].memory;
		lengths[i] = EACH;
	}
	fixture_ok(dtconv_type_create_hindexed(
		PARTS, lengths, disps,
		dtconv_type_predefined(fixture_context, DTCONV_BYTE), &type));
	fixture_ok(dtconv_type_commit(type));
	arena_open(&packed, _i ? ARENA_DEVICE : ARENA_HOST, sizeof(sent));
	fixture_ok(dtconv_pack(type, 1, NULL, packed.memory, sizeof(sent), &moved));
	arena_read(&packed, 0, got, sizeof(got));
	ck_assert_mem_eq(got, sent, sizeof(sent));
	arena_close(&packed);
	for (int i = 0; i < PARTS; i++)
		arena_close(&arenas[i]);
	dtconv_type_unref(type);
}
END_TEST

/* A range of three granules, of which the middle one may be missing. */
struct range {
	CUdeviceptr base;
	size_t granule;
	bool hole;
};

static CUmemAllocationProp device_memory(void)
{
	return (CUmemAllocationProp){ .type = CU_MEM_ALLOCATION_TYPE_PINNED,
				      .location = { .type = CU_MEM_LOCATION_TYPE_DEVICE,
						    .id = 0 } };
}

static void map(const struct range *range, size_t number, bool access)
{
	const CUmemAllocationProp properties = device_memory();
	const CUmemAccessDesc all = { .location = properties.location,
				      .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
	CUdeviceptr at = range->base + number * range->granule;
	CUmemGenericAllocationHandle handle;

	MUST(MemCreate(&handle, range->granule, &properties, 0));
	MUST(MemMap(at, range->granule, 0, handle, 0));
	MUST(MemRelease(handle));
	if (access)
		MUST(MemSetAccess(at, range->granule, &all, 1));
}

static void range_open(struct range *range, bool hole, bool access)
{
	const CUmemAllocationProp properties = device_memory();

	range->hole = hole;
	MUST(MemGetAllocationGranularity(&range->granule, &properties,
					 CU_MEM_ALLOC_GRANULARITY_MINIMUM));
	MUST(MemAddressReserve(&range->base, 3 * range->granule, 0, 0, 0));
	for (size_t i = 0; i < 3; i++)
		if (i != 1 || !hole)
			map(range, i, access);
}

static void range_close(const struct range *range)
{
	for (size_t i = 0; i < 3; i++)
		if (i != 1 || !range->hole)
			MUST(MemUnmap(range->base + i * range->granule, range->granule));
	MUST(MemAddressFree(range->base, 3 * range->granule));
}

/* Two blocks of @bytes, the second one so many granules behind the first. */
static int pack_two(const struct range *range, ptrdiff_t first, size_t granules, size_t bytes,
		    unsigned char *packed)
{
	const ptrdiff_t disps[] = { 0, (ptrdiff_t)(granules * range->granule) };
	struct dtconv_type *type;
	size_t moved;

	fixture_ok(dtconv_type_create_hindexed_block(
		2, bytes, disps, dtconv_type_predefined(fixture_context, DTCONV_BYTE),
		&type));
	fixture_ok(dtconv_type_commit(type));
	int status = dtconv_pack(type, 1, (char *)(uintptr_t)range->base + first, packed,
				 2 * bytes, &moved);
	dtconv_type_unref(type);
	return status;
}

#define BLOCK 1501

START_TEST(a_range_with_a_hole_is_packed_round_it_and_refused_inside_it)
{
	unsigned char sent[2 * BLOCK], got[2 * BLOCK];
	struct arena packed;
	struct range range;

	arena_open(&packed, _i ? ARENA_DEVICE : ARENA_PINNED, 2 * BLOCK);
	range_open(&range, true, true);
	fill(sent, sizeof(sent), 4);
	/* Up to the last byte before the hole, and then the last bytes of the range. */
	CUdeviceptr first = range.base + range.granule - BLOCK;
	MUST(Memcpy(first, (CUdeviceptr)(uintptr_t)sent, BLOCK));
	MUST(Memcpy(first + 2 * range.granule, (CUdeviceptr)(uintptr_t)(sent + BLOCK),
		    BLOCK));
	MUST(StreamSynchronize(NULL));
	int status = pack_two(&range, (ptrdiff_t)(range.granule - BLOCK), 2, BLOCK, packed.memory);
	ck_assert_msg(!status, "%s", fixture_error());
	arena_read(&packed, 0, got, sizeof(got));
	ck_assert_mem_eq(got, sent, sizeof(sent));
	ck_assert_int_ne(pack_two(&range, 0, 1, BLOCK, packed.memory), 0);
	ck_assert_int_ne(pack_two(&range, (ptrdiff_t)range.granule - 5, 2, BLOCK, packed.memory), 0);
	status = pack_two(&range, 0, 2, BLOCK, packed.memory);
	ck_assert_msg(!status, "after the refusals: %s", fixture_error());
	range_close(&range);
	arena_close(&packed);
}
END_TEST

START_TEST(memory_without_access_is_refused_before_a_kernel_sees_it)
{
	struct arena packed;
	struct range range;

	arena_open(&packed, ARENA_DEVICE, 2 * BLOCK);
	range_open(&range, false, false);
	/* In one mapping, and over two. */
	ck_assert_int_eq(pack_two(&range, 0, 0, BLOCK, packed.memory), DTCONV_ERR_INVAL);
	ck_assert_int_eq(pack_two(&range, 0, 1, BLOCK, packed.memory), DTCONV_ERR_INVAL);
	range_close(&range);
	static struct job job;
	job_open(&job, ARENA_DEVICE, ARENA_DEVICE);
	must_pack(&job);
	job_close(&job);
	arena_close(&packed);
}
END_TEST

START_TEST(memory_that_may_only_be_read_is_packed_and_not_written_to)
{
	const CUmemAccessDesc reading = { .location = device_memory().location,
					  .flags = CU_MEM_ACCESS_FLAGS_PROT_READ };
	struct dtconv_type *type = fixture_type("vector(100, 1, 2, double)");
	struct arena packed;
	struct range range;
	size_t moved;

	arena_open(&packed, ARENA_DEVICE, 1600);
	range_open(&range, false, true);
	char *user = (char *)(uintptr_t)range.base;
	fixture_ok(dtconv_pack(type, 1, user, packed.memory, 800, &moved));
	/* Not every driver grants so little. */
	if (!gpu.MemSetAccess(range.base, range.granule, &reading, 1)) {
		fixture_ok(dtconv_pack(type, 1, user, packed.memory, 800, &moved));
		fixture_status(dtconv_unpack(type, 1, user, packed.memory, 800, &moved), DTCONV_ERR_INVAL);
		ck_assert_ptr_nonnull(strstr(fixture_error(), "no write access"));
		fixture_status(dtconv_pack(type, 1, packed.memory, user, 400, &moved), DTCONV_ERR_INVAL);
	}
	range_close(&range);
	arena_close(&packed);
	dtconv_type_unref(type);
}
END_TEST

/* A job over mappings of which the last may only be read. */
START_TEST(every_mapping_of_a_job_is_asked_for_its_access)
{
	const CUmemAccessDesc reading = { .location = device_memory().location,
					  .flags = CU_MEM_ACCESS_FLAGS_PROT_READ };
	struct dtconv_type *byte = dtconv_type_predefined(fixture_context, DTCONV_BYTE);
	static struct job job;
	struct arena packed;
	struct range range;

	arena_open(&packed, ARENA_DEVICE, 2 * BLOCK);
	range_open(&range, false, true);
	ck_assert_int_eq(pack_two(&range, 0, 2, BLOCK, packed.memory), 0);
	/* Not every driver grants so little. */
	if (!gpu.MemSetAccess(range.base + 2 * range.granule, range.granule, &reading,
			      1)) {
		char *end = (char *)(uintptr_t)(range.base + 2 * range.granule);
		const ptrdiff_t disps[] = { -BLOCK, 0 };
		struct dtconv_type *type;

		ck_assert_int_eq(pack_two(&range, 0, 2, BLOCK, packed.memory), 0);
		dtconv_type_create_hindexed_block(2, BLOCK / 2, disps, byte, &type);
		fixture_ok(dtconv_type_commit(type));
		/* In two blocks, and in one row. */
		fixture_status(dtconv_unpack(type, 1, end, packed.memory, BLOCK - 1, NULL), DTCONV_ERR_INVAL);
		ck_assert_ptr_nonnull(strstr(fixture_error(), "no write access"));
		fixture_status(dtconv_unpack(byte, BLOCK, end - 5, packed.memory, BLOCK, NULL), DTCONV_ERR_INVAL);
		dtconv_type_unref(type);
	}
	range_close(&range);
	job_open(&job, ARENA_DEVICE, ARENA_DEVICE);
	must_pack(&job);
	job_close(&job);
	arena_close(&packed);
}
END_TEST

/* ---- threads ----------------------------------------------------------------------------------- */

#define THREADS 8

static void *pack_often(void *arg)
{
	struct job *job = arg;

	for (int i = 0; i < 50; i++)
		if (job_pack(job))
			return job;
	return NULL;
}

START_TEST(threads_share_a_device)
{
	static struct job jobs[THREADS];
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++) {
		job_open(&jobs[i], ARENA_DEVICE, i % 3 ? ARENA_DEVICE : ARENA_HOST);
		fill(jobs[i].source, SPAN, (unsigned)i * 7);
		arena_write(&jobs[i].user, 0, jobs[i].source, SPAN);
	}
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, pack_often, &jobs[i]), 0);
	for (int i = 0; i < THREADS; i++) {
		void *failed;

		pthread_join(threads[i], &failed);
		ck_assert_ptr_null(failed);
		job_check(&jobs[i], jobs[i].source);
		job_close(&jobs[i]);
	}
}
END_TEST

/* ---- the end --------------------------------------------------------------------------------- */

/* Runs in a child: ends the process in one of several orders. */
static void leave(int order)
{
	const struct dtconv_context_params params = { .struct_size = sizeof(params),
						      .flags = fixture_flags };
	struct dtconv_context *context;
	static struct job job;
	size_t moved;

	fixture_ok(dtconv_context_create(&params, &context));
	arena_open(&job.user, ARENA_DEVICE, SPAN);
	arena_open(&job.packed, ARENA_DEVICE, PACKED);
	job.type = fixture_type_in(context, TYPE);
	struct dtconv_convertor *convertor = on_stream(&job, gpu_stream());
	for (int i = 0; i < 50 && fixture_flags; i++) {
		dtconv_pack(job.type, 1, job.user.memory, job.packed.memory, PACKED,
			    NULL);
		gpu_nap(1);
	}
	dtconv_convertor_start(convertor, job.packed.memory, PACKED, NULL, NULL);
	if (order == 0)
		exit(0); /* with a job in flight, everything alive */
	dtconv_convertor_wait(convertor, &moved);
	dtconv_convertor_destroy(convertor);
	dtconv_type_unref(job.type);
	if (order == 1)
		gpu.DevicePrimaryCtxReset(0);
	if (order != 2)
		dtconv_context_destroy(context);
	exit(0);
}

/* It has none of the threads, and no driver: only memory is given back. */
START_TEST(a_forked_child_may_destroy_its_context)
{
	static struct job job;
	int status;

	job_open(&job, ARENA_DEVICE, ARENA_DEVICE);
	must_settle(&job);
	pid_t child = fork();
	if (child == 0) {
		signal(SIGALRM, SIG_DFL);
		alarm(10);
		dtconv_type_unref(job.type);
		dtconv_context_destroy(fixture_context);
		_exit(0);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_msg(WIFEXITED(status) && !WEXITSTATUS(status),
		      "it ended with status 0x%x", (unsigned)status);
	must_pack(&job);
	job_close(&job);
}
END_TEST

START_TEST(a_process_may_end_in_any_order)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		gpu_open();
		leave(_i);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_msg(WIFEXITED(status) && !WEXITSTATUS(status), "it ended with status 0x%x",
		      (unsigned)status);
}
END_TEST

/* ------------------------------------------------------------------------------------------------ */

int main(void)
{
	setenv("CK_FORK", "yes", 1);
	gpu_find();
	fixture_flags = HOSTILE_FLAGS;
	/* Rows over the bus are the copy engine's, which needs no graph. */
	if (fixture_flags & DTCONV_CONTEXT_GRAPHS)
		setenv("DTCONV_BACKENDS", "^cuda_copy", 1);
	Suite *suite = suite_create("hostile");
	TCase *waiting = gpu_case(suite, "waiting", 20);
	TCase *contexts = gpu_case(suite, "contexts", 20);
	TCase *graphs = gpu_case(suite, "graphs", 20);
	TCase *memory = gpu_case(suite, "memory", 20);
	TCase *ends = tcase_create("ends");

	tcase_add_loop_test(waiting, a_spinning_kernel_does_not_keep_jobs_from_their_end, 0, 3);
	tcase_add_test(waiting, the_first_job_of_all_ends_under_a_spinning_kernel);
	tcase_add_test(waiting, types_are_released_under_a_spinning_kernel);
	tcase_add_test(waiting, a_context_is_destroyed_when_the_spinning_kernel_ends);
	tcase_add_test(waiting, a_job_behind_many_waiting_streams_ends_when_they_do);
	tcase_add_loop_test(waiting, a_job_waits_for_what_its_stream_was_given_before, 0,
			    PAIRS);
	tcase_add_loop_test(waiting, so_does_one_that_converts_and_sums_up, 0, PAIRS);
	tcase_add_loop_test(waiting,
			    a_job_writes_pinned_memory_when_its_stream_comes_to_it, 0,
			    PRODUCED + 1);
	tcase_add_test(waiting, a_job_reads_pinned_memory_when_its_stream_comes_to_it);
	tcase_add_loop_test(waiting, so_are_they_by_a_process_of_one_cpu, 0,
			    HOSTILE_FLAGS ? 1 : SMALL_PAIRS);
	tcase_add_loop_test(waiting, small_jobs_are_started_behind_a_kernel_too, 0,
			    HOSTILE_FLAGS ? 1 : SMALL_PAIRS);
	if (!HOSTILE_FLAGS)
		tcase_add_test(waiting, who_may_not_follow_a_stream_says_so);
	tcase_add_test(waiting, a_job_is_done_before_what_its_stream_is_given_later);
	tcase_add_test(waiting, a_convertor_may_be_destroyed_with_its_job_in_flight);
	tcase_add_test(contexts,
		       an_illegal_address_of_the_applications_fails_jobs_and_nothing_else);
	tcase_add_test(contexts, a_destroyed_context_gives_an_error_and_the_next_one_works);
	tcase_add_test(contexts, after_a_reset_of_the_device_new_memory_works);
	tcase_add_loop_test(contexts, a_thread_needs_no_current_context, 0, 4);
	tcase_add_loop_test(contexts, the_default_streams_need_a_current_context, 0, 3);
	tcase_add_loop_test(contexts,
			    memory_that_is_only_called_a_devices_needs_a_current_context,
			    0, 2);
	tcase_add_loop_test(
		contexts,
		a_default_streams_job_is_asked_for_where_another_stream_is_the_default, 0,
		4);
	tcase_add_test(contexts, a_forked_child_may_destroy_its_context);
	tcase_add_test(graphs, a_capture_that_begins_behind_a_job_is_not_disturbed);
	tcase_add_test(graphs, the_first_job_of_all_may_be_captured);
	tcase_add_test(graphs, the_first_job_of_all_may_meet_a_capture);
	tcase_add_test(graphs, a_capture_of_another_thread_is_not_disturbed);
	tcase_add_loop_test(graphs, a_captured_job_is_replayed_on_new_contents, 0, PAIRS);
	tcase_add_loop_test(graphs, a_capture_takes_no_ordinary_memory, 0,
			    HOSTILE_FLAGS ? 1 : 2 * SMALL_PAIRS);
	tcase_add_test(memory, recycled_addresses_are_looked_at_anew);
	tcase_add_loop_test(memory, the_first_job_may_be_told_where_its_memory_is, 0, 2);
	tcase_add_loop_test(memory, one_type_may_lie_in_memory_of_several_kinds, 0, 2);
	tcase_add_loop_test(memory, a_range_with_a_hole_is_packed_round_it_and_refused_inside_it, 0,
			    2);
	tcase_add_test(memory, memory_without_access_is_refused_before_a_kernel_sees_it);
	tcase_add_test(memory, memory_that_may_only_be_read_is_packed_and_not_written_to);
	tcase_add_test(memory, every_mapping_of_a_job_is_asked_for_its_access);
	tcase_add_test(memory, threads_share_a_device);
	tcase_set_timeout(ends, 20);
	tcase_add_loop_test(ends, a_process_may_end_in_any_order, 0, 4);
	suite_add_tcase(suite, ends);
	return fixture_run(suite);
}
