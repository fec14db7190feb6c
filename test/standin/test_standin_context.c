/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The stand-in driver's life cycle: initialisation, lookup, devices, contexts and handles of
 * dead ones.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "standin/standin_fixture.h"

/* ---- Before cuInit ---- */

START_TEST(nothing_works_before_init)
{
	int count, version;
	unsigned type;
	CUcontext context;
	CUpointer_attribute attribute = CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
	void *data = &type;
	ck_answers(cuDeviceGetCount(&count), CUDA_ERROR_NOT_INITIALIZED);
	ck_answers(cuCtxGetCurrent(&context), CUDA_ERROR_NOT_INITIALIZED);
	ck_answers(cuPointerGetAttributes(1, &attribute, &data, 4096),
		   CUDA_ERROR_NOT_INITIALIZED);
	ck_works(cuDriverGetVersion(&version));
	ck_assert_int_eq(version, 13000);
}
END_TEST

START_TEST(init_fails_as_told)
{
	standin->set(STANDIN_INIT_RESULT, CUDA_ERROR_NO_DEVICE);
	ck_answers(cuInit(0), CUDA_ERROR_NO_DEVICE);
	standin->set(STANDIN_INIT_RESULT, 0);
	standin->set(STANDIN_DEVICES, 0);
	ck_answers(cuInit(0), CUDA_ERROR_NO_DEVICE);
	standin->set(STANDIN_DEVICES, 1);
	ck_answers(cuInit(1), CUDA_ERROR_INVALID_VALUE);
	ck_works(cuInit(0));
}
END_TEST

/* ---- Lookup ---- */

static void *address_of(const char *name, int version, int expected)
{
	void *address = &address;
	CUdriverProcAddressQueryResult status;
	ck_works(cuGetProcAddress(name, &address, version, 0, &status));
	ck_assert_msg((int)status == expected, "%s: status %d", name, (int)status);
	return address;
}

START_TEST(lookup_is_by_version)
{
	const int found = CU_GET_PROC_ADDRESS_SUCCESS;
	void *old = address_of("cuCtxCreate", 11000, found);
	void *middle = address_of("cuCtxCreate", 11040, found);
	void *new = address_of("cuCtxCreate", 13000, found);
	ck_assert_ptr_ne(old, middle);
	ck_assert_ptr_ne(middle, new);
	ck_assert_ptr_null(address_of("cuCtxGetId", 11000,
				      CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT));
	ck_assert_ptr_null(
		address_of("cuNoSuchThing", 13000, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND));
	void *address;
	ck_answers(cuGetProcAddress("cuInit", &address, 13010, 0, NULL),
		   CUDA_ERROR_INVALID_VALUE);
}
END_TEST

START_TEST(older_drivers_lack_newer_entry_points)
{
	standin->set(STANDIN_VERSION, 12000);
	address_of("cuMemcpyBatchAsync", 12000, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
	address_of("cuMemAlloc", 12000, CU_GET_PROC_ADDRESS_SUCCESS);
}
END_TEST

START_TEST(entry_points_are_absent_as_told)
{
	standin->absent("cuMemAlloc", true);
	ck_assert_ptr_null(
		address_of("cuMemAlloc", 13000, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND));
	standin->absent("cuMemAlloc", false);
	ck_assert_ptr_nonnull(
		address_of("cuMemAlloc", 13000, CU_GET_PROC_ADDRESS_SUCCESS));
}
END_TEST

START_TEST(per_thread_entry_points_differ)
{
	void *legacy, *own;
	const int flag = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
	ck_works(cuGetProcAddress("cuMemcpyAsync", &legacy, 13000, 0, NULL));
	ck_works(cuGetProcAddress("cuMemcpyAsync", &own, 13000, flag, NULL));
	ck_assert_ptr_ne(legacy, own);
	ck_works(cuGetProcAddress("cuMemAlloc", &legacy, 13000, 0, NULL));
	ck_works(cuGetProcAddress("cuMemAlloc", &own, 13000, flag, NULL));
	ck_assert_ptr_eq(legacy, own);
}
END_TEST

START_TEST(dlopen_finds_it_by_name)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	ck_assert_ptr_nonnull(library);
	ck_assert_ptr_nonnull(dlsym(library, "standin_control"));
	ck_assert_ptr_nonnull(dlsym(library, "cuGetProcAddress_v2"));
}
END_TEST

/* ---- Faults and counts ---- */

START_TEST(calls_fail_as_told)
{
	CUdeviceptr memory;
	standin->inject("cuMemAlloc", 2, CUDA_ERROR_OUT_OF_MEMORY);
	standin->inject("cuMemFree", 1, CUDA_ERROR_UNKNOWN);
	ck_works(cuMemAlloc(&memory, 100));
	ck_answers(cuMemFree(memory), CUDA_ERROR_UNKNOWN);
	CUdeviceptr other;
	ck_answers(cuMemAlloc(&other, 100), CUDA_ERROR_OUT_OF_MEMORY);
	ck_assert_uint_eq(standin->fired(), 2);
	ck_works(cuMemFree(memory));
	ck_assert_uint_eq(standin->calls("cuMemAlloc"), 2);
}
END_TEST

START_TEST(any_call_fails_as_told)
{
	CUdevice device;
	standin->inject("*", 3, CUDA_ERROR_UNKNOWN);
	ck_works(cuCtxGetDevice(&device));
	ck_works(cuDeviceGet(&device, 0));
	ck_answers(cuCtxSynchronize(), CUDA_ERROR_UNKNOWN);
	ck_works(cuCtxSynchronize());
}
END_TEST

static bool is_reported(const char *what)
{
	static char text[4096];
	standin->leaks(text, sizeof text);
	return strstr(text, what);
}

START_TEST(leaks_are_reported)
{
	CUdeviceptr memory;
	CUevent event;
	ck_assert(is_reported("primary context of device 0, retained 1 times"));
	ck_assert(!is_reported("event"));
	ck_works(cuMemAlloc(&memory, 100));
	ck_works(cuEventCreate(&event, 0));
	ck_assert(is_reported("device memory"));
	ck_assert(is_reported("event"));
	ck_works(cuMemFree(memory));
	ck_works(cuEventDestroy(event));
	ck_assert(!is_reported("device memory"));
	ck_assert(!is_reported("event"));
}
END_TEST

static void set_environment(bool on)
{
	static const char *const pairs[][2] = {
		{ "CUDA_STANDIN_DEVICES", "1" },
		{ "CUDA_STANDIN_FAIL", "cuInit:2:3,cuDeviceGet:1:101" },
		{ "CUDA_STANDIN_ABSENT", "cuMemMap,cuMemUnmap" }
	};
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
		if (on)
			setenv(pairs[i][0], pairs[i][1], 1);
		else
			unsetenv(pairs[i][0]);
	}
	standin->reset();
}

START_TEST(the_environment_steers_too)
{
	CUdevice device;
	int count;
	set_environment(true);
	ck_works(cuInit(0));
	ck_answers(cuInit(0), CUDA_ERROR_NOT_INITIALIZED);
	ck_works(cuDeviceGetCount(&count));
	ck_assert_int_eq(count, 1);
	ck_answers(cuDeviceGet(&device, 0), CUDA_ERROR_INVALID_DEVICE);
	address_of("cuMemUnmap", 13000, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
	set_environment(false);
	ck_assert_int_eq((int)standin->get(STANDIN_DEVICES), 2);
}
END_TEST

static bool has_line(const char *path, const char *line)
{
	char found[256];
	bool seen = false;
	FILE *file = fopen(path, "r");
	ck_assert_ptr_nonnull(file);
	while (fgets(found, sizeof found, file))
		seen |= !strncmp(found, line, strlen(line));
	fclose(file);
	return seen;
}

/* A program that leaves a context behind, and says at exit what it has called. */
START_TEST(calls_and_leaks_are_written_at_exit)
{
	char calls[] = "/tmp/standin-calls-XXXXXX", leaks[] = "/tmp/standin-leaks-XXXXXX";
	int status;
	close(mkstemp(calls));
	close(mkstemp(leaks));
	fflush(NULL);
	const pid_t child = fork();
	if (!child) {
		CUcontext context;
		setenv("CUDA_STANDIN_CALLS", calls, 1);
		setenv("CUDA_STANDIN_LEAKS", leaks, 1);
		cuInit(0);
		cuDevicePrimaryCtxRetain(&context, 0);
		exit(0);
	}
	waitpid(child, &status, 0);
	ck_assert_int_eq(status, 0);
	ck_assert(has_line(calls, "cuDevicePrimaryCtxRetain 1"));
	ck_assert(has_line(leaks, "primary context of device 0"));
	unlink(calls);
	unlink(leaks);
}
END_TEST

/* ---- Devices ---- */

START_TEST(devices_describe_themselves)
{
	int value, count;
	char text[32];
	ck_works(cuDeviceGetCount(&count));
	ck_assert_int_eq(count, 2);
	ck_works(cuDeviceGetAttribute(&value,
				      CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 1));
	ck_assert_int_eq(value, 9);
	ck_works(cuDeviceGetPCIBusId(text, sizeof text, 1));
	ck_works(cuDeviceGetByPCIBusId(&value, text));
	ck_assert_int_eq(value, 1);
	ck_answers(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 2),
		   CUDA_ERROR_INVALID_DEVICE);
	standin->set(STANDIN_VMM, 0);
	ck_works(cuDeviceGetAttribute(
		&value, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0));
	ck_assert_int_eq(value, 0);
}
END_TEST

START_TEST(errors_have_names)
{
	const char *text;
	ck_works(cuGetErrorName(CUDA_ERROR_ILLEGAL_ADDRESS, &text));
	ck_assert_str_eq(text, "CUDA_ERROR_ILLEGAL_ADDRESS");
	ck_answers(cuGetErrorName((CUresult)12345, &text), CUDA_ERROR_INVALID_VALUE);
	ck_assert_ptr_null(text);
}
END_TEST

/* ---- Contexts ---- */

START_TEST(primary_contexts_are_counted)
{
	CUcontext again;
	unsigned flags;
	int active;
	unsigned long long before, after;
	ck_works(cuDevicePrimaryCtxGetState(1, &flags, &active));
	ck_assert_int_eq(active, 0);
	ck_works(cuDevicePrimaryCtxRetain(&again, 1));
	ck_works(cuCtxGetId(again, &before));
	ck_works(cuDevicePrimaryCtxRelease(1));
	ck_answers(cuCtxGetId(again, &after), CUDA_ERROR_CONTEXT_IS_DESTROYED);
	ck_answers(cuDevicePrimaryCtxRelease(1), CUDA_ERROR_INVALID_CONTEXT);
	ck_works(cuDevicePrimaryCtxRetain(&again, 1));
	ck_works(cuCtxGetId(again, &after));
	ck_assert_uint_ne(before, after);
	ck_works(cuDevicePrimaryCtxRelease(1));
}
END_TEST

START_TEST(contexts_are_stacked)
{
	CUcontext created, current;
	CUdevice device;
	ck_works(cuCtxCreate(&created, NULL, 0, 1));
	ck_works(cuCtxGetDevice(&device));
	ck_assert_int_eq(device, 1);
	ck_works(cuCtxPushCurrent(standin_context));
	ck_works(cuCtxPopCurrent(&current));
	ck_assert_ptr_eq(current, standin_context);
	ck_works(cuCtxDestroy(created));
	ck_works(cuCtxGetCurrent(&current));
	ck_assert_ptr_eq(current, standin_context);
	ck_answers(cuCtxDestroy(created), CUDA_ERROR_CONTEXT_IS_DESTROYED);
	ck_works(cuCtxPushCurrent(created)); /* the driver does not look */
	ck_answers(cuCtxSynchronize(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
	ck_works(cuCtxPopCurrent(NULL));
}
END_TEST

static void without_context(void *unused)
{
	(void)unused;
	CUstream stream;
	CUevent event;
	CUmodule other;
	CUdeviceptr memory;
	void *host;
	static char page[4096];
	CUcontext none;
	ck_answers(cuCtxPopCurrent(&none), CUDA_ERROR_INVALID_CONTEXT);
	ck_answers(cuMemAlloc(&memory, 8), CUDA_ERROR_INVALID_CONTEXT);
	ck_answers(cuMemHostAlloc(&host, 8, 0), CUDA_ERROR_INVALID_CONTEXT);
	ck_answers(cuMemHostRegister(page, 8, 0), CUDA_ERROR_INVALID_CONTEXT);
	ck_answers(cuModuleLoadData(&other, "image"), CUDA_ERROR_INVALID_CONTEXT);
	ck_answers(cuEventCreate(&event, 0), CUDA_ERROR_INVALID_CONTEXT);
	ck_answers(cuStreamCreate(&stream, 0), CUDA_ERROR_INVALID_CONTEXT);
	ck_answers(cuStreamQuery(NULL), CUDA_ERROR_INVALID_CONTEXT);
	ck_answers(cuStreamQuery(CU_STREAM_PER_THREAD), CUDA_ERROR_INVALID_CONTEXT);
	ck_works(cuStreamQuery(standin_stream));
}

START_TEST(most_calls_need_a_context)
{
	CUcontext mine;
	ck_works(cuCtxPopCurrent(&mine));
	without_context(NULL);
	ck_works(cuCtxPushCurrent(mine));
}
END_TEST

struct streamed {
	CUdeviceptr memory;
	CUevent event;
	CUfunction function;
	void *host;
	volatile uint32_t *word;
};

static void streamed_work(void *arg)
{
	struct streamed *work = arg;
	struct standin_copy_params params = { work->memory, work->memory + 64, 32 };
	void *list[] = { &params };
	CUlibrary library;
	CUdeviceptr word = (CUdeviceptr)work->word;
	ck_works(
		cuMemcpyAsync(work->memory, (CUdeviceptr)work->host, 16, standin_stream));
	ck_works(cuMemsetD8Async(work->memory, 1, 16, standin_stream));
	ck_works(cuLaunchKernel(work->function, 1, 1, 1, 32, 1, 1, 0, standin_stream,
				list, NULL));
	ck_works(cuEventRecord(work->event, standin_stream));
	ck_works(cuStreamWaitEvent(standin_stream, work->event, 0));
	ck_works(cuStreamWriteValue32(standin_stream, word, 7, 0));
	ck_works(cuStreamWaitValue32(standin_stream, word, 7, 0));
	ck_works(cuStreamSynchronize(standin_stream));
	ck_works(cuEventQuery(work->event));
	ck_works(cuLibraryLoadData(&library, "image", NULL, NULL, 0, NULL, NULL, 0));
	ck_works(cuLibraryUnload(library));
	ck_works(cuMemHostUnregister(work->host));
}

START_TEST(streamed_work_needs_no_context)
{
	static char page[4096];
	struct streamed work = { .word = standin_word(), .host = page };
	work.memory = standin_filled(4096, 1);
	work.function = standin_function("standin_copy");
	ck_works(cuMemHostRegister(page, sizeof page, 0));
	ck_works(cuEventCreate(&work.event, 0));
	standin_in_thread(streamed_work, &work);
	ck_works(cuEventDestroy(work.event));
	ck_works(cuMemFree(work.memory));
}
END_TEST

START_TEST(peers_are_enabled_once)
{
	CUcontext other;
	int can;
	ck_works(cuDeviceCanAccessPeer(&can, 0, 1));
	ck_assert_int_eq(can, 1);
	ck_works(cuDevicePrimaryCtxRetain(&other, 1));
	ck_works(cuCtxEnablePeerAccess(other, 0));
	ck_answers(cuCtxEnablePeerAccess(other, 0),
		   CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
	ck_works(cuCtxDisablePeerAccess(other));
	ck_answers(cuCtxDisablePeerAccess(other), CUDA_ERROR_PEER_ACCESS_NOT_ENABLED);
	standin->set(STANDIN_PEERS, 0);
	ck_answers(cuCtxEnablePeerAccess(other, 0), CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
	ck_works(cuDevicePrimaryCtxRelease(1));
}
END_TEST

/* ---- Handles of dead contexts ---- */

/* Whether a call ends the process, with a message. */
static bool crashes(void (*call)(void))
{
	fflush(NULL);
	const pid_t child = fork();
	if (!child) {
		signal(SIGABRT, SIG_DFL);
		standin->reset();
		(void)!freopen("/dev/null", "w", stderr);
		call();
		_exit(0);
	}
	int status;
	waitpid(child, &status, 0);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static CUstream doomed_stream(CUevent *event)
{
	CUstream stream;
	CUcontext context;
	ck_works(cuInit(0));
	ck_works(cuDevicePrimaryCtxRetain(&context, 0));
	ck_works(cuCtxSetCurrent(context));
	ck_works(cuStreamCreate(&stream, 0));
	ck_works(cuEventCreate(event, 0));
	ck_works(cuDevicePrimaryCtxReset(0));
	return stream;
}

static void query_dead_stream(void)
{
	CUevent event;
	cuStreamQuery(doomed_stream(&event));
}

static void destroy_dead_stream(void)
{
	CUevent event;
	cuStreamDestroy(doomed_stream(&event));
}

static void query_twice_destroyed(void)
{
	CUstream stream;
	CUcontext context;
	cuInit(0);
	cuCtxCreate(&context, NULL, 0, 0);
	cuStreamCreate(&stream, 0);
	cuStreamDestroy(stream);
	cuStreamQuery(stream);
}

START_TEST(stale_streams_end_the_process)
{
	ck_assert(crashes(query_dead_stream));
	ck_assert(crashes(destroy_dead_stream));
	ck_assert(crashes(query_twice_destroyed));
}
END_TEST

START_TEST(stale_events_answer)
{
	CUevent event;
	CUdeviceptr memory;
	unsigned type;
	doomed_stream(&event);
	ck_answers(cuEventQuery(event), CUDA_ERROR_CONTEXT_IS_DESTROYED);
	ck_answers(cuEventDestroy(event), CUDA_ERROR_CONTEXT_IS_DESTROYED);
	ck_answers(cuMemAlloc(&memory, 8), CUDA_ERROR_CONTEXT_IS_DESTROYED);
	CUcontext context;
	ck_works(cuDevicePrimaryCtxRetain(&context, 0));
	ck_works(cuMemAlloc(&memory, 8));
	ck_works(cuDevicePrimaryCtxReset(0));
	CUpointer_attribute attribute = CU_POINTER_ATTRIBUTE_MEMORY_TYPE;
	void *data = &type;
	ck_works(cuPointerGetAttributes(1, &attribute, &data, memory));
	ck_assert_uint_eq(type, 0);
}
END_TEST

START_TEST(forked_children_have_no_driver)
{
	fflush(NULL);
	const pid_t child = fork();
	if (!child) {
		int count;
		_exit(cuDeviceGetCount(&count) == CUDA_ERROR_NOT_INITIALIZED ? 0 : 1);
	}
	int status;
	waitpid(child, &status, 0);
	ck_assert_int_eq(status, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("standin_context");
	TCase *bare = standin_bare_tcase(suite, "bare");
	tcase_add_test(bare, nothing_works_before_init);
	tcase_add_test(bare, init_fails_as_told);
	tcase_add_test(bare, lookup_is_by_version);
	tcase_add_test(bare, older_drivers_lack_newer_entry_points);
	tcase_add_test(bare, entry_points_are_absent_as_told);
	tcase_add_test(bare, per_thread_entry_points_differ);
	tcase_add_test(bare, dlopen_finds_it_by_name);
	tcase_add_test(bare, stale_streams_end_the_process);
	tcase_add_test(bare, stale_events_answer);
	tcase_add_test(bare, the_environment_steers_too);
	tcase_add_test(bare, calls_and_leaks_are_written_at_exit);

	TCase *tcase = standin_tcase(suite, "context");
	tcase_add_test(tcase, calls_fail_as_told);
	tcase_add_test(tcase, any_call_fails_as_told);
	tcase_add_test(tcase, leaks_are_reported);
	tcase_add_test(tcase, devices_describe_themselves);
	tcase_add_test(tcase, errors_have_names);
	tcase_add_test(tcase, primary_contexts_are_counted);
	tcase_add_test(tcase, contexts_are_stacked);
	tcase_add_test(tcase, most_calls_need_a_context);
	tcase_add_test(tcase, streamed_work_needs_no_context);
	tcase_add_test(tcase, peers_are_enabled_once);
	tcase_add_test(tcase, forked_children_have_no_driver);
	return standin_run(suite);
}
