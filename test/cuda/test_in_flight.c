/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Thousands of jobs started before the first of them is waited for: each ends, in whatever order they are
 * asked, with its own bytes; one too many fails, and goes when another has ended.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "copy_backends/cuda/device/completion.h"
#include "support/choices.h"
#include "support/fixture.h"
#include "support/gpu.h"

#define JOBS    2000
#define STREAMS 5

/* Each job packs these ints, from a place of its own. */
#define TYPE    "vector(8, 1, 3, int)"
#define PACKED  (8 * sizeof(int))
#define EXTENT  (22 * sizeof(int))
#define INSTEAD 0xa5

struct crowd {
	size_t jobs, bytes;
	struct dtconv_type *type;
	struct arena user, packed;
	CUstream streams[STREAMS];
	struct dtconv_convertor **convertors;
};

static void fill(struct crowd *crowd)
{
	int *numbers = malloc(crowd->bytes);

	ck_assert_ptr_nonnull(numbers);
	for (size_t i = 0; i < crowd->bytes / sizeof(*numbers); i++)
		numbers[i] = (int)i * 7;
	arena_write(&crowd->user, 0, numbers, crowd->bytes);
	memset(numbers, INSTEAD, crowd->jobs * PACKED);
	arena_write(&crowd->packed, 0, numbers, crowd->jobs * PACKED);
	free(numbers);
}

static void crowd_open(struct crowd *crowd, size_t jobs)
{
	*crowd = (struct crowd){ .jobs = jobs,
				 .bytes = jobs * PACKED + EXTENT,
				 .type = fixture_type(TYPE),
				 .convertors = calloc(jobs, sizeof(*crowd->convertors)) };
	ck_assert_ptr_nonnull(crowd->convertors);
	arena_open(&crowd->user, ARENA_DEVICE, crowd->bytes);
	arena_open(&crowd->packed, ARENA_DEVICE, jobs * PACKED);
	for (size_t i = 0; i < STREAMS; i++)
		crowd->streams[i] = gpu_stream();
	fill(crowd);
}

static void crowd_close(struct crowd *crowd)
{
	for (size_t i = 0; i < crowd->jobs; i++)
		dtconv_convertor_destroy(crowd->convertors[i]);
	for (size_t i = 0; i < STREAMS; i++)
		MUST(StreamDestroy(crowd->streams[i]));
	arena_close(&crowd->user);
	arena_close(&crowd->packed);
	dtconv_type_unref(crowd->type);
	free(crowd->convertors);
}

static int start(struct crowd *crowd, size_t job)
{
	const struct dtconv_convertor_params params = {
		.struct_size = sizeof(params),
		.flags = DTCONV_CONVERTOR_STREAM,
		.stream = crowd->streams[job % STREAMS],
		.user_memory = DTCONV_MEMORY_DEVICE,
		.packed_memory = DTCONV_MEMORY_DEVICE,
	};
	struct dtconv_convertor **convertor = &crowd->convertors[job];

	if (!*convertor) {
		fixture_ok(dtconv_convertor_create_pack(
			crowd->type, 1, crowd->user.memory + job * PACKED, convertor));
		fixture_ok(dtconv_convertor_configure(*convertor, &params));
	}
	return dtconv_convertor_start(*convertor, crowd->packed.memory + job * PACKED,
				      PACKED, NULL, NULL);
}

static void must_start(struct crowd *crowd, size_t job)
{
	int status = start(crowd, job);

	ck_assert_msg(!status, "job %d: %s", (int)job, fixture_error());
}

static void must_end(struct crowd *crowd, size_t job)
{
	size_t moved = 0;
	int status = dtconv_convertor_wait(crowd->convertors[job], &moved);

	ck_assert_msg(!status, "job %d: %s", (int)job, fixture_error());
	ck_assert_uint_eq(moved, PACKED);
}

static void check_bytes(const struct crowd *crowd)
{
	int *got = malloc(crowd->jobs * PACKED);

	ck_assert_ptr_nonnull(got);
	arena_read(&crowd->packed, 0, got, crowd->jobs * PACKED);
	for (size_t i = 0; i < crowd->jobs * 8; i++)
		ck_assert_msg(got[i] == (int)(i / 8 * 8 + i % 8 * 3) * 7,
			      "job %d, number %d is wrong", (int)(i / 8), (int)(i % 8));
	free(got);
}

enum order { FORWARDS, BACKWARDS, ANYHOW, ORDERS };

static void put_in_order(size_t *jobs, size_t count, enum order order)
{
	struct choices choices;

	choices_from_seed(&choices, 42);
	for (size_t i = 0; i < count; i++)
		jobs[i] = order == BACKWARDS ? count - 1 - i : i;
	for (size_t i = count - 1; order == ANYHOW && i; i--) {
		size_t other = choose(&choices, i + 1), job = jobs[i];

		jobs[i] = jobs[other];
		jobs[other] = job;
	}
}

/* On the stand-in nothing of the first stream's jobs is done before all are started. */
START_TEST(thousands_of_jobs_end_in_any_order)
{
	static size_t jobs[JOBS];
	struct crowd crowd;
	struct spin spin;

	crowd_open(&crowd, JOBS);
	must_start(&crowd, 0); /* loads the kernels, which waits for what runs */
	must_end(&crowd, 0);
	if (gpu.standin)
		spin_begin(&spin, crowd.streams[0]);
	for (size_t i = 1; i < JOBS; i++)
		must_start(&crowd, i);
	if (gpu.standin)
		spin_end(&spin);
	put_in_order(jobs, JOBS, (enum order)_i);
	for (size_t i = 0; i < JOBS; i++)
		if (jobs[i])
			must_end(&crowd, jobs[i]);
	check_bytes(&crowd);
	crowd_close(&crowd);
}
END_TEST

/* Looked at in turn until the last has ended: nobody waits for anybody. */
START_TEST(thousands_of_jobs_are_tested_in_turn)
{
	struct crowd crowd;
	size_t ended = 0;

	crowd_open(&crowd, JOBS);
	for (size_t i = 0; i < JOBS; i++)
		must_start(&crowd, i);
	while (ended < JOBS)
		for (size_t i = 0; i < JOBS; i++) {
			size_t moved;

			if (!crowd.convertors[i])
				continue;
			int status = dtconv_convertor_test(crowd.convertors[i], &moved);
			if (status == DTCONV_INPROGRESS)
				continue;
			ck_assert_int_eq(status, 0);
			dtconv_convertor_destroy(crowd.convertors[i]);
			crowd.convertors[i] = NULL;
			ended++;
		}
	check_bytes(&crowd);
	crowd_close(&crowd);
}
END_TEST

START_TEST(one_too_many_fails_until_another_has_ended)
{
	struct crowd crowd;

	crowd_open(&crowd, DTC_CUDA_FLAGS + 1);
	for (size_t i = 0; i < DTC_CUDA_FLAGS; i++)
		must_start(&crowd, i);
	fixture_status(start(&crowd, DTC_CUDA_FLAGS), DTCONV_ERR_AGAIN);
	ck_assert_str_eq(
		fixture_error(),
		"dtconv_convertor_start: 8192 jobs are in flight in one device context, "
		"which is the limit; wait for one first");
	fixture_status(dtconv_convertor_wait(crowd.convertors[DTC_CUDA_FLAGS], NULL),
		       DTCONV_ERR_STATE);
	must_end(&crowd, 4711);
	must_start(&crowd, DTC_CUDA_FLAGS);
	for (size_t i = 0; i <= DTC_CUDA_FLAGS; i++)
		if (i != 4711)
			must_end(&crowd, i);
	check_bytes(&crowd);
	crowd_close(&crowd);
}
END_TEST

/* ---- what a context has for them ----------------------------------------------------------- */

static struct dtc_cuda_context *context_of_a_job(void)
{
	struct crowd crowd;

	crowd_open(&crowd, 1);
	must_start(&crowd, 0);
	must_end(&crowd, 0);
	crowd_close(&crowd);
	return dtc_cuda_of(fixture_context)->contexts;
}

/* A counter for the blocks of a move, and one for those of a checksum. */
START_TEST(each_job_in_flight_has_its_counters)
{
	const struct dtc_cuda_context *context = context_of_a_job();
	struct dtconv_memory_attr attr = { .struct_size = sizeof(attr) };

	fixture_ok(dtconv_memory_query(
		fixture_context, (void *)(uintptr_t)dtc_cuda_flags_of(context)->counters, &attr));
	ck_assert_uint_ge(attr.length, 2 * DTC_CUDA_FLAGS * sizeof(uint64_t));
}
END_TEST

START_TEST(jobs_without_a_stream_come_before_the_applications)
{
	const struct dtc_cuda_context *context = context_of_a_job();
	int least, greatest, priority;

	MUST(CtxGetStreamPriorityRange(&least, &greatest));
	for (size_t i = 0; i < DTC_CUDA_LANES; i++) {
		MUST(StreamGetPriority(context->lanes[i], &priority));
		ck_assert_int_eq(priority, greatest);
	}
	ck_assert(least != greatest);
}
END_TEST

int main(void)
{
	gpu_open_in_program();
	Suite *suite = suite_create("in flight");
	TCase *tcase = fixture_case(suite, "in flight", 60);

	tcase_add_loop_test(tcase, thousands_of_jobs_end_in_any_order, 0, ORDERS);
	tcase_add_test(tcase, thousands_of_jobs_are_tested_in_turn);
	tcase_add_test(tcase, one_too_many_fails_until_another_has_ended);
	tcase_add_test(tcase, each_job_in_flight_has_its_counters);
	tcase_add_test(tcase, jobs_without_a_stream_come_before_the_applications);
	return fixture_run(suite);
}
