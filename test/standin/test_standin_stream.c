/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The stand-in driver's order of work: streams, events, the default streams, words that a stream
 * writes and waits for, what blocks behind spinning work and what does not.
 */
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "standin/standin_fixture.h"

static CUstream new_stream(unsigned flags)
{
	CUstream stream;
	ck_works(cuStreamCreate(&stream, flags));
	return stream;
}

static CUevent new_event(unsigned flags)
{
	CUevent event;
	ck_works(cuEventCreate(&event, flags));
	return event;
}

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){ 0, ms * 1000000 }, NULL);
}

/* ---- Order ---- */

struct sequence {
	atomic_uint next;
	unsigned order[64];
};

static struct sequence sequence;

static void append(void *arg)
{
	sequence.order[atomic_fetch_add(&sequence.next, 1)] = (unsigned)(uintptr_t)arg;
}

static void start_sequence(void)
{
	memset(&sequence, 0, sizeof sequence);
}

START_TEST(a_stream_keeps_its_order)
{
	start_sequence();
	for (uintptr_t i = 0; i < 32; i++)
		ck_works(cuLaunchHostFunc(standin_stream, append, (void *)i));
	ck_works(cuStreamSynchronize(standin_stream));
	for (unsigned i = 0; i < 32; i++)
		ck_assert_uint_eq(sequence.order[i], i);
}
END_TEST

START_TEST(streams_overtake_each_other)
{
	CUstream streams[8];
	bool overtaken = false;
	start_sequence();
	for (int i = 0; i < 8; i++)
		streams[i] = new_stream(CU_STREAM_NON_BLOCKING);
	for (uintptr_t i = 0; i < 64; i++)
		ck_works(cuLaunchHostFunc(streams[i % 8], append, (void *)i));
	ck_works(cuCtxSynchronize());
	for (unsigned i = 1; i < 64; i++)
		overtaken |= sequence.order[i] < sequence.order[i - 1];
	ck_assert(overtaken);
	for (int i = 0; i < 8; i++)
		ck_works(cuStreamDestroy(streams[i]));
}
END_TEST

static void call_driver(void *arg)
{
	*(CUresult *)arg = cuStreamQuery(standin_stream);
}

START_TEST(host_functions_call_no_driver)
{
	static CUresult result;
	ck_works(cuLaunchHostFunc(standin_stream, call_driver, &result));
	ck_works(cuStreamSynchronize(standin_stream));
	ck_assert_int_eq(result, CUDA_ERROR_NOT_PERMITTED);
}
END_TEST

START_TEST(work_is_late_and_synchronous_on_demand)
{
	standin->set(STANDIN_DELAY_US, 20000);
	ck_works(cuMemsetD8Async(standin_filled(8, 1), 0, 8, standin_stream));
	const bool was_late = cuStreamQuery(standin_stream) == CUDA_ERROR_NOT_READY;
	ck_works(cuStreamSynchronize(standin_stream));
	standin->set(STANDIN_SYNCHRONOUS, 1);
	ck_works(cuMemsetD8Async(standin_filled(8, 1), 0, 8, standin_stream));
	ck_works(cuStreamQuery(standin_stream));
	ck_assert(was_late);
	standin->reset();
}
END_TEST

/* ---- Default streams ---- */

START_TEST(the_legacy_stream_waits_and_is_waited_for)
{
	volatile uint32_t *word = standin_word();
	CUstream blocking = new_stream(0),
		 free_stream = new_stream(CU_STREAM_NON_BLOCKING);
	start_sequence();
	standin_spin(word, blocking);
	ck_works(cuLaunchHostFunc(NULL, append, (void *)1));
	ck_works(cuLaunchHostFunc(free_stream, append, (void *)2));
	ck_works(cuStreamSynchronize(free_stream));
	ck_answers(cuStreamQuery(NULL), CUDA_ERROR_NOT_READY);
	standin_release(word);
	ck_works(cuLaunchHostFunc(blocking, append, (void *)3));
	ck_works(cuStreamSynchronize(blocking));
	ck_assert_uint_eq(sequence.order[0], 2);
	ck_assert_uint_eq(sequence.order[1], 1);
	ck_assert_uint_eq(sequence.order[2], 3);
	ck_works(cuStreamDestroy(blocking));
	ck_works(cuStreamDestroy(free_stream));
}
END_TEST

START_TEST(a_thread_has_a_stream_of_its_own)
{
	volatile uint32_t *word = standin_word();
	unsigned long long own, legacy;
	ck_works(cuStreamGetId(CU_STREAM_PER_THREAD, &own));
	ck_works(cuStreamGetId(NULL, &legacy));
	ck_assert_uint_ne(own, legacy);
	standin_spin(word, CU_STREAM_PER_THREAD);
	ck_answers(cuStreamQuery(CU_STREAM_PER_THREAD), CUDA_ERROR_NOT_READY);
	standin_release(word);
	ck_works(cuStreamSynchronize(CU_STREAM_PER_THREAD));
}
END_TEST

/* ---- Events ---- */

START_TEST(events_follow_their_stream)
{
	volatile uint32_t *word = standin_word();
	CUevent event = new_event(CU_EVENT_DISABLE_TIMING);
	CUstream other = new_stream(CU_STREAM_NON_BLOCKING);
	ck_works(cuEventQuery(event)); /* never recorded */
	standin_spin(word, standin_stream);
	ck_works(cuEventRecord(event, standin_stream));
	ck_works(cuStreamWaitEvent(other, event, 0));
	ck_answers(cuEventQuery(event), CUDA_ERROR_NOT_READY);
	pause_ms(1);
	ck_answers(cuStreamQuery(other), CUDA_ERROR_NOT_READY);
	standin_release(word);
	ck_works(cuStreamSynchronize(other));
	ck_works(cuEventQuery(event));
	ck_works(cuEventDestroy(event));
	ck_works(cuStreamDestroy(other));
}
END_TEST

START_TEST(a_wait_keeps_the_record_that_it_saw)
{
	volatile uint32_t *word = standin_word(), *first = standin_word();
	CUevent event = new_event(CU_EVENT_DISABLE_TIMING);
	CUstream other = new_stream(CU_STREAM_NON_BLOCKING);
	standin_spin(first,
		     other); /* the wait comes to its turn after the second record */
	ck_works(cuEventRecord(event, standin_stream));
	ck_works(cuStreamWaitEvent(other, event, 0));
	standin_spin(word, standin_stream);
	ck_works(cuEventRecord(event, standin_stream));
	standin_release(first);
	ck_works(cuStreamSynchronize(other));
	ck_answers(cuEventQuery(event), CUDA_ERROR_NOT_READY);
	standin_release(word);
	ck_works(cuEventSynchronize(event));
	ck_works(cuEventDestroy(event));
	ck_works(cuStreamDestroy(other));
}
END_TEST

START_TEST(events_measure_time)
{
	CUevent start = new_event(0), end = new_event(0),
		untimed = new_event(CU_EVENT_DISABLE_TIMING);
	float ms = -1;
	ck_answers(cuEventElapsedTime(&ms, start, end), CUDA_ERROR_INVALID_HANDLE);
	ck_works(cuEventRecord(start, standin_stream));
	ck_works(cuEventRecord(end, standin_stream));
	ck_works(cuEventRecord(untimed, standin_stream));
	ck_works(cuEventSynchronize(untimed));
	ck_works(cuEventElapsedTime(&ms, start, end));
	ck_assert(ms >= 0);
	ck_answers(cuEventElapsedTime(&ms, start, untimed), CUDA_ERROR_INVALID_HANDLE);
	ck_works(cuEventDestroy(start));
	ck_works(cuEventDestroy(end));
	ck_works(cuEventDestroy(untimed));
}
END_TEST

START_TEST(events_stay_in_their_context)
{
	CUcontext other;
	ck_works(cuDevicePrimaryCtxRetain(&other, 1));
	ck_works(cuCtxPushCurrent(other));
	CUevent event = new_event(0);
	ck_answers(cuEventRecord(event, standin_stream), CUDA_ERROR_INVALID_HANDLE);
	ck_works(cuStreamWaitEvent(standin_stream, event, 0));
	ck_works(cuEventDestroy(event));
	ck_works(cuCtxPopCurrent(NULL));
	ck_works(cuDevicePrimaryCtxRelease(1));
}
END_TEST

START_TEST(destroyed_streams_finish_their_work)
{
	volatile uint32_t *word = standin_word();
	CUstream stream = new_stream(CU_STREAM_NON_BLOCKING);
	CUevent event = new_event(0);
	standin_spin(word, stream);
	ck_works(cuEventRecord(event, stream));
	ck_works(cuStreamDestroy(stream));
	ck_answers(cuEventQuery(event), CUDA_ERROR_NOT_READY);
	standin_release(word);
	ck_works(cuEventSynchronize(event));
	ck_works(cuEventDestroy(event));
}
END_TEST

/* ---- Words ---- */

START_TEST(streams_write_and_wait_for_words)
{
	volatile uint32_t *word = standin_word();
	CUdeviceptr at = (CUdeviceptr)word;
	ck_works(cuStreamWriteValue32(standin_stream, at, 5, 0));
	ck_works(cuStreamWaitValue32(standin_stream, at, 5, CU_STREAM_WAIT_VALUE_GEQ));
	ck_works(cuStreamWaitValue32(standin_stream, at, 0xfffffff0,
				     CU_STREAM_WAIT_VALUE_GEQ));
	ck_works(cuStreamWaitValue32(standin_stream, at, 4, CU_STREAM_WAIT_VALUE_AND));
	ck_works(cuStreamWaitValue32(standin_stream, at, 5, CU_STREAM_WAIT_VALUE_EQ));
	ck_works(cuStreamWaitValue32(standin_stream, at, 0xfffffff0,
				     CU_STREAM_WAIT_VALUE_NOR));
	ck_works(cuStreamSynchronize(standin_stream));
	ck_works(cuStreamWaitValue32(standin_stream, at, 6, CU_STREAM_WAIT_VALUE_GEQ));
	pause_ms(1);
	ck_answers(cuStreamQuery(standin_stream), CUDA_ERROR_NOT_READY);
	__atomic_store_n(word, 7, __ATOMIC_RELEASE);
	ck_works(cuStreamSynchronize(standin_stream));
}
END_TEST

START_TEST(words_have_rules)
{
	volatile uint32_t *word = standin_word();
	CUdeviceptr at = (CUdeviceptr)word;
	uint32_t unknown = 0;
	ck_answers(cuStreamWriteValue32(standin_stream, (CUdeviceptr)&unknown, 1, 0),
		   CUDA_ERROR_INVALID_VALUE);
	ck_answers(cuStreamWriteValue32(standin_stream, at + 2, 1, 0),
		   CUDA_ERROR_INVALID_VALUE);
	ck_answers(cuStreamWaitValue32(standin_stream, at, 1, CU_STREAM_WAIT_VALUE_FLUSH),
		   CUDA_ERROR_NOT_SUPPORTED);
	standin->set(STANDIN_MEM_OPS, 0);
	ck_answers(cuStreamWriteValue64(standin_stream, at & ~(CUdeviceptr)7, 1, 0),
		   CUDA_ERROR_NOT_SUPPORTED);
	standin->set(STANDIN_MEM_OPS, 1);
}
END_TEST

START_TEST(word_operations_are_batched)
{
	volatile uint32_t *word = standin_word();
	CUstreamBatchMemOpParams ops[2] = {
		{ .writeValue = { CU_STREAM_MEM_OP_WRITE_VALUE_32,
				  (CUdeviceptr)word,
				  { .value = 3 },
				  0,
				  0 } },
		{ .waitValue = { CU_STREAM_MEM_OP_WAIT_VALUE_32,
				 (CUdeviceptr)word,
				 { .value = 3 },
				 0,
				 0 } }
	};
	ck_answers(cuStreamBatchMemOp(standin_stream, 2, ops, 1),
		   CUDA_ERROR_INVALID_VALUE);
	ck_works(cuStreamBatchMemOp(standin_stream, 2, ops, 0));
	ck_works(cuStreamSynchronize(standin_stream));
	ck_assert_uint_eq(*word, 3);
}
END_TEST

/* Enough streams that wait, and kernels of others never start; copies do. */
START_TEST(too_many_waits_stop_kernels)
{
	volatile uint32_t *word = standin_word();
	CUdeviceptr memory = standin_filled(64, 1);
	CUstream streams[8];
	struct standin_copy_params params = { memory, memory + 32, 8 };
	for (int i = 0; i < 8; i++) {
		streams[i] = new_stream(CU_STREAM_NON_BLOCKING);
		if (i < 7)
			ck_works(
				cuStreamWaitValue32(streams[i], (CUdeviceptr)word, 1, 0));
	}
	ck_works(standin_launch("standin_copy", &params, standin_stream));
	ck_works(cuStreamSynchronize(standin_stream));
	ck_works(cuStreamWaitValue32(streams[7], (CUdeviceptr)word, 1, 0));
	ck_works(standin_launch("standin_copy", &params, standin_stream));
	pause_ms(3);
	ck_answers(cuStreamQuery(standin_stream), CUDA_ERROR_NOT_READY);
	CUstream other = new_stream(CU_STREAM_NON_BLOCKING);
	ck_works(cuMemcpyAsync(memory, memory + 32, 8, other));
	ck_works(cuStreamSynchronize(other));
	standin_release(word);
	ck_works(cuCtxSynchronize());
	for (int i = 0; i < 8; i++)
		ck_works(cuStreamDestroy(streams[i]));
	ck_works(cuStreamDestroy(other));
	ck_works(cuMemFree(memory));
}
END_TEST

/* ---- What blocks ---- */

static CUdeviceptr to_free;
static char to_register[4096];
static CUmodule to_unload;

static void free_memory(void *unused)
{
	(void)unused;
	cuMemFree(to_free);
}

static void unregister_memory(void *unused)
{
	(void)unused;
	cuMemHostUnregister(to_register);
}

static void load_module(void *unused)
{
	(void)unused;
	cuModuleLoadData(&to_unload, "image");
}

static void unload_module(void *unused)
{
	(void)unused;
	cuModuleUnload(to_unload);
}

static void copy_in_host_memory(void *unused)
{
	(void)unused;
	cuMemcpyAsync((CUdeviceptr)to_register, (CUdeviceptr)to_register + 64, 64,
		      standin_stream);
}

static void fill_the_stream(void *unused)
{
	(void)unused;
	for (int i = 0; i < 1100; i++)
		cuMemsetD8Async(to_free, 0, 8, standin_stream);
}

static void (*const blocking[])(void *unused) = { free_memory,         unregister_memory,
						  load_module,         unload_module,
						  copy_in_host_memory, fill_the_stream };

static void prepare_blocking(int i)
{
	ck_works(cuMemAlloc(&to_free, 8));
	ck_works(cuMemHostRegister(to_register, sizeof to_register, 0));
	if (i != 2)
		ck_works(cuModuleLoadData(&to_unload, "image"));
}

static void undo_blocking(int i)
{
	if (i != 0)
		ck_works(cuMemFree(to_free));
	if (i != 1)
		ck_works(cuMemHostUnregister(to_register));
	if (i != 3)
		ck_works(cuModuleUnload(to_unload));
}

START_TEST(some_calls_wait_for_spinning_work)
{
	volatile uint32_t *word = standin_word();
	prepare_blocking(_i);
	standin_spin(word, standin_stream);
	ck_assert(standin_blocks(blocking[_i], NULL, word));
	undo_blocking(_i);
}
END_TEST

START_TEST(some_calls_wait_for_words)
{
	volatile uint32_t *word = standin_word();
	prepare_blocking(_i);
	ck_works(cuStreamWaitValue32(standin_stream, (CUdeviceptr)word, 1, 0));
	ck_assert(standin_blocks(blocking[_i], NULL, word));
	undo_blocking(_i);
}
END_TEST

START_TEST(other_calls_do_not_wait)
{
	volatile uint32_t *word = standin_word();
	const CUmemAllocationProp properties = {
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 }
	};
	CUmemGenericAllocationHandle handle;
	CUdeviceptr memory, pool, range;
	void *host;
	standin_spin(word, standin_stream);
	ck_works(cuMemAlloc(&memory, 64));
	ck_works(cuMemHostAlloc(&host, 64, 0));
	ck_works(cuMemHostRegister(to_register, sizeof to_register, 0));
	for (int i = 0; i < 1000; i++)
		ck_works(cuMemcpyAsync(memory, (CUdeviceptr)host, 64, standin_stream));
	CUstream other = new_stream(CU_STREAM_NON_BLOCKING);
	CUevent event = new_event(0);
	ck_works(cuMemAllocAsync(&pool, 64, other));
	ck_works(cuMemFreeAsync(pool, other));
	ck_works(cuMemcpyAsync(memory, (CUdeviceptr)host, 64, other));
	ck_works(cuStreamSynchronize(other));
	ck_works(cuMemAddressReserve(&range, 2 << 20, 0, 0, 0));
	ck_works(cuMemCreate(&handle, 2 << 20, &properties, 0));
	ck_works(cuMemMap(range, 2 << 20, 0, handle, 0));
	ck_works(cuMemUnmap(range, 2 << 20));
	ck_works(cuMemRelease(handle));
	ck_works(cuMemAddressFree(range, 2 << 20));
	ck_answers(cuStreamQuery(standin_stream), CUDA_ERROR_NOT_READY);
	standin_release(word);
	ck_works(cuEventDestroy(event));
	ck_works(cuStreamDestroy(other));
	ck_works(cuMemHostUnregister(to_register));
	ck_works(cuMemFreeHost(host));
	ck_works(cuMemFree(memory));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("standin_stream");
	TCase *tcase = standin_tcase(suite, "stream");
	const int calls = sizeof blocking / sizeof *blocking;
	tcase_add_test(tcase, a_stream_keeps_its_order);
	tcase_add_test(tcase, streams_overtake_each_other);
	tcase_add_test(tcase, host_functions_call_no_driver);
	tcase_add_test(tcase, work_is_late_and_synchronous_on_demand);
	tcase_add_test(tcase, the_legacy_stream_waits_and_is_waited_for);
	tcase_add_test(tcase, a_thread_has_a_stream_of_its_own);
	tcase_add_test(tcase, events_follow_their_stream);
	tcase_add_test(tcase, a_wait_keeps_the_record_that_it_saw);
	tcase_add_test(tcase, events_measure_time);
	tcase_add_test(tcase, events_stay_in_their_context);
	tcase_add_test(tcase, destroyed_streams_finish_their_work);
	tcase_add_test(tcase, streams_write_and_wait_for_words);
	tcase_add_test(tcase, words_have_rules);
	tcase_add_test(tcase, word_operations_are_batched);
	tcase_add_test(tcase, too_many_waits_stop_kernels);
	tcase_add_loop_test(tcase, some_calls_wait_for_spinning_work, 0, calls);
	tcase_add_loop_test(tcase, some_calls_wait_for_words, 0, calls);
	tcase_add_test(tcase, other_calls_do_not_wait);
	return standin_run(suite);
}
