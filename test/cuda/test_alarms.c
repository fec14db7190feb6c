/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Alarms behind flights: they ring once the flight has ended and not before, one of a kind is set at a time, none rings
 * after it was cancelled, driver calls that fail leave none behind, and a broken context keeps none from being closed.
 */
#include "config.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "convertor/flight.h"
#include "support/fixture.h"
#include "support/gpu.h"
#include "support/suite.h"

#define BYTES ((size_t)100000 * 8)

static struct {
	struct dtconv_type *type;
	struct arena user, packed;
	CUstream stream;
	struct dtconv_convertor *convertor;
	struct dtc_flight flight, small;
	struct spin spin;
} it;

static void ring(void *arg)
{
	atomic_fetch_add((atomic_int *)arg, 1);
}

static struct dtc_alarm alarm_of(atomic_int *rung)
{
	return (struct dtc_alarm){ .ring = ring, .arg = rung };
}

static bool set(atomic_int *rung)
{
	const struct dtc_alarm alarm = alarm_of(rung);

	return dtc_flight_set_alarm(&it.flight, &alarm);
}

static void launch(struct dtc_flight *flight, size_t bytes)
{
	ck_assert_int_eq(dtc_flight_launch(it.convertor, flight, 0, it.packed.memory,
					   bytes, "test"),
			 0);
	ck_assert_int_eq(dtc_flight_test(flight), DTCONV_INPROGRESS);
}

/* A flight of many thread blocks behind a kernel that runs until it is released. */
static void open_flight(void)
{
	it.type = fixture_type("vector(100000, 1, 2, double)");
	arena_open(&it.user, ARENA_DEVICE, 2 * BYTES);
	arena_open(&it.packed, ARENA_PINNED, BYTES);
	it.stream = gpu_stream();
	struct dtconv_convertor_params params = fixture_in_stream(it.stream);
	params.backends = "cuda_kernel";
	it.convertor = fixture_packer(it.type, 1, it.user.memory, &params);
	/* The kernels are loaded while none runs. */
	fixture_ok(dtconv_prepare(fixture_context, 0, it.type, 1, &params));
	spin_begin(&it.spin, it.stream);
	launch(&it.flight, BYTES);
}

static void end_flight(void)
{
	spin_release(&it.spin);
	ck_assert_int_eq(dtc_flight_wait(&it.flight), 0);
}

static void close_flight(void)
{
	spin_end(&it.spin);
	dtconv_convertor_destroy(it.convertor);
	dtconv_type_unref(it.type);
	MUST(StreamDestroy(it.stream));
	arena_close(&it.packed);
	arena_close(&it.user);
}

/* Ends with the case's time limit if it does not ring. */
static void await_ring(atomic_int *rung, int times)
{
	while (atomic_load(rung) < times)
		sched_yield();
	ck_assert_int_eq(atomic_load(rung), times);
}

/* The one before is closed. */
static void renew_context(void)
{
	dtconv_context_destroy(fixture_context);
	fixture_ok(dtconv_context_create(NULL, &fixture_context));
}

static size_t host_functions(void)
{
	return gpu.standin ? gpu.standin->calls("cuLaunchHostFunc") : 0;
}

START_TEST(an_alarm_rings_when_the_flight_has_ended)
{
	atomic_int rung = 0;

	open_flight();
	ck_assert(set(&rung));
	ck_assert_int_eq(atomic_load(&rung), 0);
	spin_release(&it.spin);
	await_ring(&rung, 1);
	/* What it waits for has ended, so the flight has. */
	ck_assert_int_eq(dtc_flight_wait(&it.flight), 0);
	close_flight();
}
END_TEST

/* An event is recorded there. What has rung is free for the next. */
START_TEST(flights_of_the_librarys_streams_ring)
{
	atomic_int rung = 0;

	open_flight();
	end_flight();
	const struct dtconv_convertor_params params = { .struct_size = sizeof(params) };
	struct dtconv_convertor *of_stream = it.convertor;
	it.convertor = fixture_packer(it.type, 1, it.user.memory, &params);
	for (int i = 0; i < 20; i++) {
		ck_assert_int_eq(dtc_flight_launch(it.convertor, &it.flight, 0,
						   it.packed.memory, BYTES, "test"),
				 0);
		ck_assert(set(&rung));
		ck_assert_int_eq(dtc_flight_wait(&it.flight), 0);
		await_ring(&rung, i + 1);
	}
	dtconv_convertor_destroy(it.convertor);
	it.convertor = of_stream;
	close_flight();
}
END_TEST

START_TEST(one_alarm_of_a_kind_is_set_at_a_time)
{
	atomic_int rung[5] = { 0 };

	open_flight();
	const size_t before = host_functions();
	for (int i = 0; i < 4; i++) {
		ck_assert(set(&rung[i]));
		ck_assert(set(&rung[i]));
	}
	/* There are so many. */
	ck_assert(!set(&rung[4]));
	if (gpu.standin)
		ck_assert_uint_eq(host_functions() - before, 4);
	end_flight();
	for (int i = 0; i < 4; i++)
		await_ring(&rung[i], 1);
	ck_assert_int_eq(atomic_load(&rung[4]), 0);
	close_flight();
}
END_TEST

/* The alarm of somebody else, set behind it in the same stream, says when the cancelled one would have rung. */
START_TEST(a_cancelled_alarm_rings_never)
{
	atomic_int cancelled = 0, other = 0;

	open_flight();
	ck_assert(set(&cancelled));
	dtc_alarms_cancel(fixture_context, &cancelled);
	ck_assert(set(&other));
	end_flight();
	await_ring(&other, 1);
	while (gpu.standin && gpu.standin->pending())
		sched_yield();
	close_flight();
	renew_context();
	ck_assert_int_eq(atomic_load(&cancelled), 0);
}
END_TEST

/* Each call that setting it makes, refused: nothing is set, and the next attempt succeeds. */
START_TEST(a_refused_call_sets_nothing)
{
	static const char *const entries[] = { "cuCtxPushCurrent", "cuEventCreate",
					       "cuStreamCreateWithPriority",
					       "cuStreamWaitEvent", "cuLaunchHostFunc" };
	atomic_int rung = 0;

	if (!gpu.standin)
		return;
	open_flight();
	/* More often than there are alarms. */
	for (int i = 0; i < 5; i++) {
		gpu_refuse(entries[_i], 1);
		ck_assert(!set(&rung));
		ck_assert(gpu_was_refused());
	}
	ck_assert(set(&rung));
	end_flight();
	await_ring(&rung, 1);
	close_flight();
	renew_context();
	/* Cases that share the process have left modules behind. */
	if (suite_has_processes())
		gpu_must_be_clean("an alarm");
}
END_TEST

/* One thread block marks its end itself, and the library records nothing in a stream of the caller's. */
START_TEST(a_flight_that_marks_its_end_itself_has_no_alarm)
{
	atomic_int rung = 0;
	open_flight();
	launch(&it.small, 64);
	ck_assert(!it.small.event.recorded);
	const size_t records = gpu.standin ? gpu.standin->calls("cuEventRecord") : 0;
	const struct dtc_alarm alarm = alarm_of(&rung);
	ck_assert(!dtc_flight_set_alarm(&it.small, &alarm));
	if (gpu.standin)
		ck_assert_uint_eq(gpu.standin->calls("cuEventRecord"), records);
	end_flight();
	ck_assert_int_eq(dtc_flight_wait(&it.small), 0);
	close_flight();
}
END_TEST

/* Nothing rings any more, and closing does not wait for it. */
START_TEST(a_broken_context_keeps_its_alarms)
{
	atomic_int rung = 0;
	CUcontext current;

	if (!gpu.standin)
		return;
	open_flight();
	ck_assert(set(&rung));
	MUST(CtxGetCurrent(&current));
	gpu.standin->poison(current, CUDA_ERROR_LAUNCH_FAILED);
	ck_assert_int_eq(dtc_flight_wait(&it.flight), DTCONV_ERR_BACKEND);
	ck_assert(!set(&rung));
	dtc_alarms_cancel(fixture_context, &rung);
	dtconv_convertor_destroy(it.convertor);
	dtconv_type_unref(it.type);
	renew_context();
	ck_assert_int_eq(atomic_load(&rung), 0);
}
END_TEST

/* A case that breaks the context needs a process of its own. */
int main(void)
{
	setenv("CK_FORK", "yes", 1);
	Suite *suite = suite_create("alarms");
	TCase *tcase = gpu_case(suite, "alarms", 60);

	gpu_find();
	tcase_add_test(tcase, an_alarm_rings_when_the_flight_has_ended);
	tcase_add_test(tcase, flights_of_the_librarys_streams_ring);
	tcase_add_test(tcase, one_alarm_of_a_kind_is_set_at_a_time);
	tcase_add_test(tcase, a_cancelled_alarm_rings_never);
	tcase_add_loop_test(tcase, a_refused_call_sets_nothing, 0, 5);
	tcase_add_test(tcase, a_flight_that_marks_its_end_itself_has_no_alarm);
	tcase_add_test(tcase, a_broken_context_keeps_its_alarms);
	return fixture_run(suite);
}
