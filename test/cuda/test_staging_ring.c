/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ring of pinned staging buffers: neither the host nor the device fills a buffer that the other side
 * has not emptied, and a job that fails leaves none in use. On the stand-in driver only, which holds up one
 * stream, or runs at once whatever may run.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "copy_backends/cuda/moves/staging_ring.h"
#include "support/fixture.h"
#include "support/gpu.h"

/* Ten pieces of a stage each, two more than there are stages. */
#define TYPE "vector(436906, 3, 5, double)"

struct job {
	struct dtconv_context *context;
	struct dtconv_type *type;
	struct arena user;
	size_t span, bytes;
	unsigned char *memory, *stream, *packed; /* of the user, and packed */
};

/* One thread copies, or as many as there are. */
static void open_job(struct job *job, size_t threads)
{
	const struct dtconv_context_params params = { .struct_size = sizeof(params),
						      .threads = threads };
	uint32_t seed = 1;

	fixture_ok(dtconv_context_create(&params, &job->context));
	job->type = fixture_type_in(job->context, TYPE);
	const struct dtconv_type_attr attr = fixture_attr(job->type);
	job->bytes = attr.size;
	job->span = (size_t)attr.true_extent;
	job->memory = malloc(job->span);
	job->stream = malloc(job->bytes);
	job->packed = malloc(job->bytes);
	ck_assert(job->memory && job->stream && job->packed);
	for (size_t i = 0; i < job->span; i++) {
		seed = seed * 1664525 + 1013904223;
		job->memory[i] = (unsigned char)(seed >> 24);
	}
	fixture_ok(dtconv_pack(job->type, 1, job->memory, job->stream, job->bytes, NULL));
	arena_open(&job->user, ARENA_DEVICE, job->span);
	arena_write(&job->user, 0, job->memory, job->span);
}

static void close_job(struct job *job)
{
	arena_close(&job->user);
	dtconv_type_unref(job->type);
	dtconv_context_destroy(job->context);
	free(job->memory);
	free(job->stream);
	free(job->packed);
}

static int pack(struct job *job)
{
	const struct dtconv_convertor_params params = { .struct_size = sizeof(params),
							.backends = "cuda_staged,host" };

	memset(job->packed, 0, job->bytes);
	return dtconv_pack_with(job->type, 1, job->user.memory, job->packed, job->bytes,
				&params, NULL);
}

static void must_pack(struct job *job)
{
	fixture_ok(pack(job));
	for (size_t i = 0; i < job->bytes; i++)
		if (job->packed[i] != job->stream[i])
			ck_abort_msg("packed byte %zu of %zu is wrong", i, job->bytes);
}

/* The stream of jobs without one of the caller's, once there was such a job. */
static CUstream stream_of(const struct job *job, enum dtc_cuda_lane lane)
{
	return dtc_cuda_of(job->context)->contexts->lanes[lane];
}

/* Kernels write each piece as soon as they are launched. */
START_TEST(the_device_fills_no_stage_that_the_host_still_reads)
{
	struct job job;

	open_job(&job, 1);
	gpu.standin->set(STANDIN_SYNCHRONOUS, 1);
	must_pack(&job);
	gpu.standin->set(STANDIN_SYNCHRONOUS, 0);
	close_job(&job);
}
END_TEST

/* Kernels read none of the pieces before all stages are full; then they must still be there. */
START_TEST(the_host_fills_no_stage_that_the_device_still_reads)
{
	const struct dtconv_convertor_params params = { .struct_size = sizeof(params),
							.backends = "cuda_staged,host" };
	struct spin_releaser releaser;
	struct spin spin;
	struct job job;

	open_job(&job, (size_t)_i);
	must_pack(&job); /* makes what is made once */
	gpu_clear(job.user.memory, job.span);
	spin_begin(&spin, stream_of(&job, DTC_CUDA_LANE_UNPACK));
	releaser_begin(&releaser, &spin, "cuLaunchKernel", DTC_CUDA_STAGING_SLOTS);
	fixture_ok(dtconv_unpack_with(job.type, 1, job.user.memory, job.stream, job.bytes,
				      &params, NULL));
	ck_assert(releaser_end(&releaser));
	must_pack(&job);
	spin_end(&spin);
	close_job(&job);
}
END_TEST

/* The third piece's kernel is refused while the others wait for their turn. */
START_TEST(a_job_that_fails_ends_behind_its_pieces)
{
	struct spin_releaser releaser;
	struct spin spin;
	struct job job;

	open_job(&job, (size_t)_i);
	must_pack(&job);
	spin_begin(&spin, stream_of(&job, DTC_CUDA_LANE_PACK));
	releaser_begin(&releaser, &spin, "cuLaunchKernel", 3);
	gpu.standin->inject("cuLaunchKernel", 3, CUDA_ERROR_OUT_OF_MEMORY);
	ck_assert_int_eq(pack(&job), DTCONV_ERR_BACKEND);
	ck_assert(releaser_end(&releaser));
	gpu.standin->inject_clear();
	gpu_must_be_idle(job.context, "a refused launch");
	must_pack(&job);
	spin_end(&spin);
	close_job(&job);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("staging_ring");

	gpu_find();
	if (gpu_is_real()) {
		puts("a real driver's streams cannot be held up");
		return 77;
	}
	TCase *stages = gpu_case(suite, "stages", 120);
	tcase_add_test(stages, the_device_fills_no_stage_that_the_host_still_reads);
	/* With as many threads as there are, and with one. */
	tcase_add_loop_test(stages, the_host_fills_no_stage_that_the_device_still_reads,
			    0, 2);
	tcase_add_loop_test(stages, a_job_that_fails_ends_behind_its_pieces, 0, 2);
	return fixture_run(suite);
}
