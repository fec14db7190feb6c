/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The stand-in driver's captures and graphs: what is recorded and replayed, which calls end a
 * capture, which threads they disturb.
 */
#include "standin/standin_fixture.h"

static CUdeviceptr memory;

static void begin(CUstreamCaptureMode mode)
{
	memory = standin_filled(64, 1);
	ck_works(cuStreamBeginCapture(standin_stream, mode));
}

static void end(CUresult expected)
{
	CUgraph graph;
	CUresult result = cuStreamEndCapture(standin_stream, &graph);
	ck_assert_msg(result == expected, "the capture ends with %d", (int)result);
	if (result == CUDA_SUCCESS)
		ck_works(cuGraphDestroy(graph));
	else
		ck_assert_ptr_null(graph);
	ck_works(cuMemFree(memory));
}

static CUstreamCaptureStatus status(void)
{
	CUstreamCaptureStatus found;
	ck_works(cuStreamIsCapturing(standin_stream, &found));
	return found;
}

START_TEST(graphs_are_replayed)
{
	CUgraph graph;
	CUgraphExec exec;
	CUdeviceptr target = standin_filled(64, 2);
	begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
	ck_assert_int_eq(status(), CU_STREAM_CAPTURE_STATUS_ACTIVE);
	struct standin_copy_params params = { target, memory, 32 };
	ck_works(standin_launch("standin_copy", &params, standin_stream));
	ck_works(cuMemcpyAsync(target + 32, memory + 32, 32, standin_stream));
	ck_works(cuStreamEndCapture(standin_stream, &graph));
	ck_assert_int_eq(status(), CU_STREAM_CAPTURE_STATUS_NONE);
	ck_assert(standin_holds(target, 64, 2)); /* nothing has run */
	ck_works(cuGraphInstantiate(&exec, graph, 0));
	ck_works(cuGraphDestroy(graph));
	for (unsigned seed = 3; seed < 5; seed++) {
		CUdeviceptr source = standin_filled(64, seed);
		ck_works(cuMemcpyDtoD(memory, source, 64));
		ck_works(cuCtxSynchronize());
		ck_works(cuGraphLaunch(exec, standin_stream));
		ck_works(cuStreamSynchronize(standin_stream));
		ck_assert(standin_holds(target, 64, seed));
		ck_works(cuMemFree(source));
	}
	ck_works(cuGraphExecDestroy(exec));
	ck_works(cuMemFree(target));
	ck_works(cuMemFree(memory));
}
END_TEST

START_TEST(wrong_states_are_refused)
{
	CUgraph graph;
	ck_answers(cuStreamEndCapture(standin_stream, &graph), CUDA_ERROR_ILLEGAL_STATE);
	ck_answers(cuStreamBeginCapture(NULL, CU_STREAM_CAPTURE_MODE_GLOBAL),
		   CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	begin(CU_STREAM_CAPTURE_MODE_RELAXED);
	ck_answers(cuStreamBeginCapture(standin_stream, CU_STREAM_CAPTURE_MODE_RELAXED),
		   CUDA_ERROR_ILLEGAL_STATE);
	end(CUDA_SUCCESS);
}
END_TEST

/* ---- Calls that end a capture ---- */

START_TEST(waiting_for_a_captured_stream_ends_it)
{
	begin(CU_STREAM_CAPTURE_MODE_RELAXED);
	ck_answers(_i ? cuStreamQuery(standin_stream)
		      : cuStreamSynchronize(standin_stream),
		   CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	ck_assert_int_eq(status(), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
	ck_answers(cuMemsetD8Async(memory, 0, 8, standin_stream),
		   CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	end(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}
END_TEST

START_TEST(the_legacy_stream_disturbs_blocking_streams)
{
	CUstream blocking;
	CUgraph graph;
	begin(CU_STREAM_CAPTURE_MODE_RELAXED);
	ck_works(cuMemsetD8Async(memory, 0, 8, NULL)); /* this one waits for no other */
	ck_works(cuStreamCreate(&blocking, 0));
	ck_works(cuStreamBeginCapture(blocking, CU_STREAM_CAPTURE_MODE_RELAXED));
	ck_answers(cuMemsetD8Async(memory, 0, 8, NULL),
		   CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
	ck_answers(cuStreamEndCapture(blocking, &graph),
		   CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	ck_works(cuStreamDestroy(blocking));
	end(CUDA_SUCCESS);
}
END_TEST

START_TEST(events_from_outside_end_a_capture)
{
	CUevent event;
	ck_works(cuEventCreate(&event, 0));
	ck_works(cuEventRecord(event, standin_stream));
	begin(CU_STREAM_CAPTURE_MODE_RELAXED);
	ck_answers(cuStreamWaitEvent(standin_stream, event, 0),
		   CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
	end(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	ck_works(cuEventDestroy(event));
}
END_TEST

START_TEST(captured_events_have_no_state)
{
	CUevent event;
	ck_works(cuEventCreate(&event, 0));
	begin(CU_STREAM_CAPTURE_MODE_RELAXED);
	ck_works(cuEventRecord(event, standin_stream));
	ck_answers(cuEventQuery(event), CUDA_ERROR_CAPTURED_EVENT);
	end(CUDA_SUCCESS);
	ck_works(cuEventDestroy(event));
}
END_TEST

/* ---- Streams that join ---- */

START_TEST(forked_streams_have_to_join)
{
	CUevent fork, join;
	CUstream other;
	CUstreamCaptureStatus found;
	ck_works(cuEventCreate(&fork, 0));
	ck_works(cuEventCreate(&join, 0));
	ck_works(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
	ck_works(cuEventRecord(fork, standin_stream));
	ck_works(cuStreamWaitEvent(other, fork, 0));
	ck_works(cuStreamIsCapturing(other, &found));
	ck_assert_int_eq(found, CU_STREAM_CAPTURE_STATUS_ACTIVE);
	ck_works(cuMemsetD8Async(memory, 1, 8, other));
	if (_i) {
		ck_works(cuEventRecord(join, other));
		ck_works(cuStreamWaitEvent(standin_stream, join, 0));
	}
	end(_i ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
	ck_works(cuStreamQuery(other));
	ck_works(cuStreamDestroy(other));
	ck_works(cuEventDestroy(fork));
	ck_works(cuEventDestroy(join));
}
END_TEST

START_TEST(captures_do_not_merge)
{
	CUevent event;
	CUstream other;
	CUgraph graph;
	ck_works(cuEventCreate(&event, 0));
	ck_works(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
	begin(CU_STREAM_CAPTURE_MODE_RELAXED);
	ck_works(cuStreamBeginCapture(other, CU_STREAM_CAPTURE_MODE_RELAXED));
	ck_works(cuEventRecord(event, other));
	ck_answers(cuStreamWaitEvent(standin_stream, event, 0),
		   CUDA_ERROR_STREAM_CAPTURE_MERGE);
	ck_answers(cuStreamEndCapture(other, &graph),
		   CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	end(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
	ck_works(cuStreamDestroy(other));
	ck_works(cuEventDestroy(event));
}
END_TEST

/* ---- Other threads ---- */

struct visit {
	CUevent event;
	CUstreamCaptureMode mode;
	CUresult result;
};

static void query_event(void *arg)
{
	struct visit *visit = arg;
	ck_works(cuThreadExchangeStreamCaptureMode(&visit->mode));
	visit->result = cuEventQuery(visit->event);
	ck_works(cuThreadExchangeStreamCaptureMode(&visit->mode));
}

/* What another thread's query of an unrelated event answers, and what becomes of the capture. */
static void check_visit(CUstreamCaptureMode capture, CUstreamCaptureMode thread,
			bool refused)
{
	struct visit visit = { .mode = thread };
	ck_works(cuEventCreate(&visit.event, 0));
	begin(capture);
	standin_in_thread(query_event, &visit);
	ck_assert_int_eq(visit.result,
			 refused ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : 0);
	end(refused ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS);
	ck_works(cuEventDestroy(visit.event));
}

START_TEST(other_threads_disturb_global_captures)
{
	const CUstreamCaptureMode global = CU_STREAM_CAPTURE_MODE_GLOBAL;
	const CUstreamCaptureMode local = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
	const CUstreamCaptureMode relaxed = CU_STREAM_CAPTURE_MODE_RELAXED;
	check_visit(global, global, true);
	check_visit(global, local, false);
	check_visit(global, relaxed, false);
	check_visit(local, global, false);
	check_visit(relaxed, global, false);
}
END_TEST

START_TEST(unsafe_calls_disturb_ones_own_capture)
{
	CUdeviceptr other;
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	begin(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
	ck_works(cuThreadExchangeStreamCaptureMode(&mode));
	ck_assert_int_eq(mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
	ck_works(cuMemAlloc(&other, 8));
	ck_works(cuMemFree(other));
	ck_works(cuThreadExchangeStreamCaptureMode(&mode));
	ck_assert_int_eq(mode, CU_STREAM_CAPTURE_MODE_RELAXED);
	ck_answers(cuMemAlloc(&other, 8), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	end(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}
END_TEST

static void end_elsewhere(void *arg)
{
	CUgraph graph;
	*(CUresult *)arg = cuStreamEndCapture(standin_stream, &graph);
}

START_TEST(captures_end_in_their_thread)
{
	CUresult result;
	begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
	standin_in_thread(end_elsewhere, &result);
	ck_assert_int_eq(result, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
	end(CUDA_SUCCESS);
}
END_TEST

START_TEST(captures_have_ids)
{
	CUstreamCaptureStatus found;
	cuuint64_t first, second;
	begin(CU_STREAM_CAPTURE_MODE_RELAXED);
	ck_works(cuStreamGetCaptureInfo(standin_stream, &found, &first, NULL, NULL, NULL,
					NULL));
	ck_assert_int_eq(found, CU_STREAM_CAPTURE_STATUS_ACTIVE);
	end(CUDA_SUCCESS);
	begin(CU_STREAM_CAPTURE_MODE_RELAXED);
	ck_works(cuStreamGetCaptureInfo(standin_stream, &found, &second, NULL, NULL, NULL,
					NULL));
	ck_assert_uint_ne(first, second);
	end(CUDA_SUCCESS);
}
END_TEST

/* A replay writes the value that was recorded. */
START_TEST(words_are_captured)
{
	volatile uint32_t *word = standin_word();
	CUgraph graph;
	CUgraphExec exec;
	begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
	ck_works(cuStreamWriteValue32(standin_stream, (CUdeviceptr)word, 9, 0));
	ck_works(cuStreamEndCapture(standin_stream, &graph));
	ck_assert_uint_eq(*word, 0);
	ck_works(cuGraphInstantiate(&exec, graph, 0));
	ck_works(cuGraphLaunch(exec, standin_stream));
	ck_works(cuStreamSynchronize(standin_stream));
	ck_assert_uint_eq(*word, 9);
	ck_works(cuGraphExecDestroy(exec));
	ck_works(cuGraphDestroy(graph));
	ck_works(cuMemFree(memory));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("standin_capture");
	TCase *tcase = standin_tcase(suite, "capture");
	tcase_add_test(tcase, graphs_are_replayed);
	tcase_add_test(tcase, wrong_states_are_refused);
	tcase_add_loop_test(tcase, waiting_for_a_captured_stream_ends_it, 0, 2);
	tcase_add_test(tcase, the_legacy_stream_disturbs_blocking_streams);
	tcase_add_test(tcase, events_from_outside_end_a_capture);
	tcase_add_test(tcase, captured_events_have_no_state);
	tcase_add_loop_test(tcase, forked_streams_have_to_join, 0, 2);
	tcase_add_test(tcase, captures_do_not_merge);
	tcase_add_test(tcase, other_threads_disturb_global_captures);
	tcase_add_test(tcase, unsafe_calls_disturb_ones_own_capture);
	tcase_add_test(tcase, captures_end_in_their_thread);
	tcase_add_test(tcase, captures_have_ids);
	tcase_add_test(tcase, words_are_captured);
	return standin_run(suite);
}
