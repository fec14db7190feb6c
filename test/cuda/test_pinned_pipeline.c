/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pinned pipeline orders its copy streams behind the caller's stream, and the caller's stream behind
 * them. Each case holds up one stream at a time. On the stand-in driver only, which runs at once whatever
 * may run.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "copy_backends/cuda/device/device_context.h"
#include "copy_backends/cuda/moves/pinned_pipeline.h"
#include "support/fixture.h"
#include "support/gpu.h"

/* Packed streams of two pieces each way, and of more than there are places for. */
static const char two_pieces[] = "vector(400001, 3, 5, double)";
static const char many_pieces[] = "vector(1300001, 4, 7, double)";

struct job {
	struct dtconv_type *type;
	struct arena user, packed;
	size_t span, bytes;
	unsigned char *memory, *stream; /* of the user, and packed */
	struct dtconv_convertor *convertor;
	CUstream order;
};

static void fill(unsigned char *bytes, size_t count)
{
	uint32_t seed = 1;

	for (size_t i = 0; i < count; i++) {
		seed = seed * 1664525 + 1013904223;
		bytes[i] = (unsigned char)(seed >> 24);
	}
}

static int pack(const struct job *job, const char *backends)
{
	const struct dtconv_convertor_params params = fixture_by(backends);

	return dtconv_pack_with(job->type, 1, job->user.memory, job->packed.memory,
				job->bytes, &params, NULL);
}

/* Packs once, which makes all that is made once; then packed memory is zeroed. */
static void open_job(struct job *job, const char *text, bool packs)
{
	struct dtconv_convertor_params params = { .struct_size = sizeof(params),
						  .flags = DTCONV_CONVERTOR_STREAM,
						  .backends = "cuda_relay" };

	*job = (struct job){ .type = fixture_type(text) };
	const struct dtconv_type_attr attr = fixture_attr(job->type);
	job->bytes = attr.size;
	job->span = (size_t)attr.true_extent;
	job->memory = malloc(job->span);
	job->stream = malloc(job->bytes);
	ck_assert(job->memory && job->stream);
	fill(job->memory, job->span);
	fixture_ok(dtconv_pack(job->type, 1, job->memory, job->stream, job->bytes, NULL));
	arena_open(&job->user, ARENA_DEVICE, job->span);
	arena_open(&job->packed, ARENA_PINNED, job->bytes);
	arena_write(&job->user, 0, job->memory, job->span);
	ck_assert_int_eq(pack(job, "cuda_relay"), 0);
	memset(job->packed.memory, 0, job->bytes);
	job->order = gpu_stream();
	params.stream = job->order;
	int status = packs ? dtconv_convertor_create_pack(job->type, 1, job->user.memory,
							  &job->convertor)
			   : dtconv_convertor_create_unpack(
				     job->type, 1, job->user.memory, &job->convertor);
	ck_assert_int_eq(status, 0);
	fixture_ok(dtconv_convertor_configure(job->convertor, &params));
	gpu.standin->set(STANDIN_SYNCHRONOUS, 1);
}

static void close_job(struct job *job)
{
	gpu.standin->set(STANDIN_SYNCHRONOUS, 0);
	dtconv_convertor_destroy(job->convertor);
	MUST(StreamDestroy(job->order));
	arena_close(&job->user);
	arena_close(&job->packed);
	dtconv_type_unref(job->type);
	free(job->memory);
	free(job->stream);
}

static void start(const struct job *job)
{
	fixture_ok(dtconv_convertor_start(job->convertor, job->packed.memory, job->bytes,
					  NULL, NULL));
}

static void finish(const struct job *job)
{
	size_t moved;

	fixture_ok(dtconv_convertor_wait(job->convertor, &moved));
	ck_assert_uint_eq(moved, job->bytes);
}

static void check_packed(const struct job *job)
{
	for (size_t i = 0; i < job->bytes; i++)
		if (job->packed.memory[i] != job->stream[i])
			ck_abort_msg("packed byte %zu of %zu is wrong", i, job->bytes);
}

/* A copy stream of the packing pipeline; a job has to have used it before. */
static CUstream copies_of_relay(int which)
{
	return dtc_cuda_pipeline_of(dtc_cuda_of(fixture_context)->contexts, DTC_PACK)
		->copies[which];
}

/* ---- order --------------------------------------------------------------------------------- */

/* Packed memory gets its contents in the stream, behind a kernel that runs. */
START_TEST(an_unpack_reads_what_its_stream_has_written)
{
	struct arena staging;
	struct spin spin;
	struct job job;

	open_job(&job, two_pieces, false);
	arena_open(&staging, ARENA_DEVICE, job.bytes);
	arena_write(&staging, 0, job.stream, job.bytes);
	gpu_clear(job.user.memory, job.span);
	spin_begin(&spin, job.order);
	MUST(MemcpyAsync((CUdeviceptr)(uintptr_t)job.packed.memory,
			 (CUdeviceptr)(uintptr_t)staging.memory, job.bytes, job.order));
	start(&job);
	spin_release(&spin);
	finish(&job);
	memset(job.packed.memory, 0, job.bytes);
	ck_assert_int_eq(pack(&job, NULL), 0);
	check_packed(&job);
	spin_end(&spin);
	arena_close(&staging);
	close_job(&job);
}
END_TEST

/* Kernels that did not wait for the copies would pack over pieces that are still there. */
START_TEST(a_place_is_used_again_when_it_has_been_left)
{
	struct spin spin;
	struct job job;

	open_job(&job, many_pieces, true);
	spin_begin(&spin, copies_of_relay(_i));
	start(&job);
	spin_release(&spin);
	finish(&job);
	check_packed(&job);
	spin_end(&spin);
	close_job(&job);
}
END_TEST

START_TEST(a_pack_is_done_when_all_its_copies_are)
{
	struct spin spin;
	struct job job;
	size_t moved;

	open_job(&job, two_pieces, true);
	spin_begin(&spin, copies_of_relay(_i));
	start(&job);
	for (int i = 0; i < 100; i++) {
		fixture_status(dtconv_convertor_test(job.convertor, &moved),
			       DTCONV_INPROGRESS);
		/* What the caller gives it next comes behind the copies. */
		ck_assert_int_eq(gpu.StreamQuery(job.order), CUDA_ERROR_NOT_READY);
	}
	spin_release(&spin);
	finish(&job);
	check_packed(&job);
	spin_end(&spin);
	close_job(&job);
}
END_TEST

/* ---- failures ------------------------------------------------------------------------------ */

/* The second piece's copy is refused while the first one's waits for its turn. */
START_TEST(a_pack_that_fails_ends_behind_its_copies)
{
	struct spin_releaser releaser;
	struct spin spin;
	struct job job;

	open_job(&job, two_pieces, true);
	spin_begin(&spin, copies_of_relay(0));
	releaser_begin(&releaser, &spin, "cuMemcpyAsync", 2);
	gpu.standin->inject("cuMemcpyAsync", 2, CUDA_ERROR_OUT_OF_MEMORY);
	ck_assert_int_eq(pack(&job, "cuda_relay"), DTCONV_ERR_BACKEND);
	ck_assert(releaser_end(&releaser));
	gpu.standin->inject_clear();
	gpu_must_be_idle(fixture_context, "a refused copy");
	ck_assert_int_eq(pack(&job, "cuda_relay"), 0);
	check_packed(&job);
	spin_end(&spin);
	close_job(&job);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("pinned_pipeline");

	gpu_find();
	if (gpu_is_real()) {
		puts("a real driver's streams cannot be held up one at a time");
		return 77;
	}
	TCase *order = gpu_case(suite, "order", 120);
	tcase_add_test(order, an_unpack_reads_what_its_stream_has_written);
	tcase_add_loop_test(order, a_place_is_used_again_when_it_has_been_left, 0,
			    DTC_CUDA_COPY_STREAMS);
	tcase_add_loop_test(order, a_pack_is_done_when_all_its_copies_are, 0,
			    DTC_CUDA_COPY_STREAMS);
	tcase_add_test(order, a_pack_that_fails_ends_behind_its_copies);
	return fixture_run(suite);
}
