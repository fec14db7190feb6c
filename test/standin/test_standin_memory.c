/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The stand-in driver's memory: what the host cannot touch, what copies refuse, kinds of memory
 * and what is said about them, pools and handles for others.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "standin/standin_fixture.h"

/* ---- What the host may touch ---- */

static sigjmp_buf fault;

static void on_fault(int number)
{
	(void)number;
	siglongjmp(fault, 1);
}

static bool touches(CUdeviceptr address)
{
	struct sigaction action = { .sa_handler = on_fault }, before;
	volatile bool survived = false;
	sigaction(SIGSEGV, &action, &before);
	if (!sigsetjmp(fault, 1)) {
		(void)*(volatile char *)address;
		survived = true;
	}
	sigaction(SIGSEGV, &before, NULL);
	return survived;
}

START_TEST(device_memory_is_out_of_reach)
{
	CUdeviceptr device, managed, pool;
	void *host;
	ck_works(cuMemAlloc(&device, 100));
	ck_works(cuMemAllocManaged(&managed, 100, CU_MEM_ATTACH_GLOBAL));
	ck_works(cuMemAllocHost(&host, 100));
	ck_works(cuMemAllocAsync(&pool, 100, standin_stream));
	ck_assert(!touches(device));
	ck_assert(!touches(pool));
	ck_assert(touches(managed));
	ck_assert(touches((CUdeviceptr)host));
	ck_works(cuMemFreeAsync(pool, standin_stream));
	ck_works(cuMemFreeHost(host));
	ck_works(cuMemFree(managed));
	ck_works(cuMemFree(device));
}
END_TEST

START_TEST(freed_addresses_come_again)
{
	CUdeviceptr first, second;
	unsigned long long before, after;
	ck_works(cuMemAlloc(&first, 1000));
	ck_works(cuPointerGetAttribute(&before, CU_POINTER_ATTRIBUTE_BUFFER_ID, first));
	ck_works(cuMemFree(first));
	ck_works(cuMemAlloc(&second, 1000));
	ck_works(cuPointerGetAttribute(&after, CU_POINTER_ATTRIBUTE_BUFFER_ID, second));
	ck_assert_uint_eq(first, second);
	ck_assert_uint_ne(before, after);
	ck_works(cuMemFree(second));
}
END_TEST

START_TEST(memory_is_limited)
{
	CUdeviceptr memory, more;
	size_t free_bytes, total;
	standin->set(STANDIN_MEMORY_MIB, 16);
	ck_works(cuMemAlloc(&memory, 9 << 20));
	ck_answers(cuMemAlloc(&more, 9 << 20), CUDA_ERROR_OUT_OF_MEMORY);
	ck_works(cuMemGetInfo(&free_bytes, &total));
	ck_assert_uint_eq(total, 16 << 20);
	ck_assert_uint_lt(free_bytes, 8 << 20);
	ck_works(cuMemFree(memory));
	ck_works(cuMemAlloc(&more, 9 << 20));
	ck_works(cuMemFree(more));
	standin->set(STANDIN_MEMORY_MIB, 8192);
}
END_TEST

START_TEST(wrong_frees_are_refused)
{
	CUdeviceptr memory;
	ck_works(cuMemFree(0));
	ck_works(cuMemAlloc(&memory, 4096));
	ck_answers(cuMemFree(memory + 512), CUDA_ERROR_INVALID_VALUE);
	ck_works(cuMemFree(memory));
	ck_answers(cuMemFree(memory), CUDA_ERROR_INVALID_VALUE);
}
END_TEST

START_TEST(large_memory_is_sparse)
{
	CUdeviceptr memory;
	const size_t bytes = (size_t)6 << 30;
	ck_works(cuMemAlloc(&memory, bytes));
	ck_works(cuMemcpyHtoD(memory + bytes - 4, "end", 4));
	char end[4];
	ck_works(cuMemcpyDtoH(end, memory + bytes - 4, 4));
	ck_assert_str_eq(end, "end");
	ck_works(cuMemFree(memory));
}
END_TEST

/* ---- Copies ---- */

START_TEST(copies_arrive)
{
	CUdeviceptr one = standin_filled(10000, 1);
	CUdeviceptr two = standin_filled(10000, 2);
	ck_works(cuMemcpyDtoD(two, one, 10000));
	ck_works(cuCtxSynchronize());
	ck_assert(standin_holds(two, 10000, 1));
	ck_works(cuMemsetD32(two, 0x01020304, 2500));
	static unsigned words[2500];
	ck_works(cuMemcpyDtoH(words, two, sizeof words));
	ck_assert_uint_eq(words[2499], 0x01020304);
	ck_works(cuMemFree(one));
	ck_works(cuMemFree(two));
}
END_TEST

START_TEST(copies_outside_are_refused)
{
	CUdeviceptr memory = standin_filled(1000, 1);
	char host[2000];
	ck_answers(cuMemcpyHtoD(memory, host, 1001), CUDA_ERROR_INVALID_VALUE);
	ck_answers(cuMemcpyDtoH(host, memory + 1, 1000), CUDA_ERROR_INVALID_VALUE);
	ck_answers(cuMemcpyHtoD((CUdeviceptr)host, host, 8), CUDA_ERROR_INVALID_VALUE);
	ck_answers(cuMemsetD8((CUdeviceptr)host, 0, 8), CUDA_ERROR_INVALID_VALUE);
	ck_works(cuMemFree(memory));
	ck_answers(cuMemcpyAsync((CUdeviceptr)host, memory, 8, standin_stream),
		   CUDA_ERROR_INVALID_VALUE);
}
END_TEST

START_TEST(boxes_arrive)
{
	CUdeviceptr memory;
	char rows[4][6] = { "abcde", "fghij", "klmno", "pqrst" }, back[2][2];
	ck_works(cuMemAlloc(&memory, 64));
	CUDA_MEMCPY2D in = { .srcMemoryType = CU_MEMORYTYPE_HOST,
			     .srcHost = rows,
			     .srcPitch = 6,
			     .dstMemoryType = CU_MEMORYTYPE_DEVICE,
			     .dstDevice = memory,
			     .dstPitch = 16,
			     .WidthInBytes = 6,
			     .Height = 4 };
	ck_works(cuMemcpy2DAsync(&in, standin_stream));
	CUDA_MEMCPY2D out = { .srcMemoryType = CU_MEMORYTYPE_DEVICE,
			      .srcDevice = memory,
			      .srcPitch = 16,
			      .srcXInBytes = 1,
			      .srcY = 2,
			      .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
			      .dstDevice = (CUdeviceptr)back,
			      .dstPitch = 2,
			      .WidthInBytes = 2,
			      .Height = 2 };
	ck_works(cuMemcpy2DAsync(&out, standin_stream)); /* pageable: it waits */
	ck_assert_mem_eq(back, "lmqr", 4);
	out.dstPitch = 1;
	ck_answers(cuMemcpy2D(&out), CUDA_ERROR_INVALID_VALUE);
	out.dstPitch = (size_t)1 << 31;
	ck_answers(cuMemcpy2D(&out), CUDA_ERROR_INVALID_VALUE);
	ck_works(cuMemFree(memory));
}
END_TEST

/* ---- Host memory ---- */

START_TEST(registrations_have_rules)
{
	static _Alignas(4096) char page[3 * 4096];
	CUdeviceptr device;
	ck_works(cuMemHostRegister(page, 4096, CU_MEMHOSTREGISTER_PORTABLE));
	ck_answers(cuMemHostRegister(page + 100, 8, 0),
		   CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
	ck_works(cuMemHostGetDevicePointer(&device, page + 7, 0));
	ck_assert_uint_eq(device, (CUdeviceptr)(page + 7));
	ck_answers(cuMemHostUnregister(page + 1), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
	ck_works(cuMemHostUnregister(page));
	ck_answers(cuMemHostUnregister(page), CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
	ck_answers(cuMemHostRegister((void *)4096, 4096, 0), CUDA_ERROR_INVALID_VALUE);
}
END_TEST

/* ---- What is said about addresses ---- */

struct facts {
	CUcontext context;
	unsigned type;
	int device;
	unsigned managed;
	CUdeviceptr start;
	size_t bytes;
	unsigned mapped;
	unsigned ipc;
	CUmemoryPool pool;
	CUdeviceptr host;
};

static struct facts facts_of(CUdeviceptr address)
{
	struct facts facts;
	memset(&facts, 0xff, sizeof facts);
	CUpointer_attribute attributes[] = {
		CU_POINTER_ATTRIBUTE_CONTEXT,
		CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
		CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
		CU_POINTER_ATTRIBUTE_IS_MANAGED,
		CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
		CU_POINTER_ATTRIBUTE_RANGE_SIZE,
		CU_POINTER_ATTRIBUTE_MAPPED,
		CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE,
		CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE,
		CU_POINTER_ATTRIBUTE_HOST_POINTER
	};
	void *data[] = { &facts.context, &facts.type,  &facts.device, &facts.managed,
			 &facts.start,   &facts.bytes, &facts.mapped, &facts.ipc,
			 &facts.pool,    &facts.host };
	ck_works(cuPointerGetAttributes(10, attributes, data, address));
	return facts;
}

START_TEST(unknown_memory_is_zeros)
{
	char host[8];
	const struct facts facts = facts_of((CUdeviceptr)host);
	unsigned type;
	ck_assert_ptr_null(facts.context);
	ck_assert_uint_eq(facts.type, 0);
	ck_assert_uint_eq(facts.start, 0);
	ck_assert_uint_eq(facts.bytes, 0);
	ck_assert_uint_eq(facts.mapped, 0);
	ck_answers(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
					 (CUdeviceptr)host),
		   CUDA_ERROR_INVALID_VALUE);
}
END_TEST

START_TEST(device_memory_describes_itself)
{
	CUdeviceptr memory;
	ck_works(cuMemAlloc(&memory, 1000));
	const struct facts facts = facts_of(memory + 999);
	ck_assert_ptr_eq(facts.context, standin_context);
	ck_assert_uint_eq(facts.type, CU_MEMORYTYPE_DEVICE);
	ck_assert_int_eq(facts.device, 0);
	ck_assert_uint_eq(facts.start, memory);
	ck_assert_uint_eq(facts.bytes, 1000);
	ck_assert_uint_eq(facts.ipc, 1);
	ck_assert_uint_eq(facts.host, 0);
	ck_assert_uint_eq(facts_of(memory + 1000).type, 0);
	ck_works(cuMemFree(memory));
	ck_assert_uint_eq(facts_of(memory).type, 0);
}
END_TEST

START_TEST(managed_and_pinned_memory_describe_themselves)
{
	CUdeviceptr managed;
	void *pinned;
	ck_works(cuMemAllocManaged(&managed, 100, CU_MEM_ATTACH_GLOBAL));
	ck_works(cuMemAllocHost(&pinned, 100));
	ck_assert_uint_eq(facts_of(managed).managed, 1);
	ck_assert_uint_eq(facts_of(managed).host, managed);
	ck_assert_uint_eq(facts_of((CUdeviceptr)pinned).type, CU_MEMORYTYPE_HOST);
	ck_assert_uint_eq(facts_of((CUdeviceptr)pinned).host, (CUdeviceptr)pinned);
	ck_works(cuMemFree(managed));
	ck_works(cuMemFreeHost(pinned));
}
END_TEST

START_TEST(pool_memory_is_of_no_context)
{
	CUdeviceptr memory;
	CUmemoryPool pool;
	ck_works(cuDeviceGetMemPool(&pool, 0));
	ck_works(cuMemAllocAsync(&memory, 64, standin_stream));
	ck_assert_ptr_null(facts_of(memory).context);
	ck_assert_ptr_eq(facts_of(memory).pool, pool);
	ck_assert_uint_eq(facts_of(memory).ipc, 0);
	ck_works(cuMemFreeAsync(memory, standin_stream));
	ck_assert_uint_eq(facts_of(memory).type, 0);
	ck_answers(cuMemsetD8Async(memory, 0, 64, standin_stream),
		   CUDA_ERROR_INVALID_VALUE);
	ck_works(cuStreamSynchronize(standin_stream));
}
END_TEST

/* ---- Handles for others ---- */

START_TEST(handles_are_opened)
{
	CUdeviceptr memory = standin_filled(1000, 3), other, again;
	CUipcMemHandle handle;
	ck_works(cuIpcGetMemHandle(&handle, memory));
	ck_works(cuIpcOpenMemHandle(&other, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
	ck_works(cuIpcOpenMemHandle(&again, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
	ck_assert_uint_eq(other, again);
	ck_assert_uint_ne(other, memory);
	ck_works(cuMemsetD8(memory, 7, 1));
	ck_works(cuCtxSynchronize());
	unsigned char byte;
	ck_works(cuMemcpyDtoH(&byte, other, 1));
	ck_assert_uint_eq(byte, 7);
	ck_works(cuIpcCloseMemHandle(other));
	ck_works(cuIpcCloseMemHandle(other));
	ck_answers(cuIpcCloseMemHandle(other), CUDA_ERROR_INVALID_VALUE);
	ck_works(cuMemFree(memory));
	ck_answers(cuIpcOpenMemHandle(&other, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS),
		   CUDA_ERROR_INVALID_VALUE);
}
END_TEST

/* What one process sends to the other. */
struct message {
	CUipcMemHandle handle;
	CUdeviceptr memory;
};

static void must(bool good)
{
	if (!good)
		_exit(1);
}

/* The owner: allocates, and frees when it is told. */
static _Noreturn void own_memory(int socket)
{
	struct message message = { .memory = 0 };
	CUcontext context;
	char word;

	must(!cuInit(0) && !cuDevicePrimaryCtxRetain(&context, 0) &&
	     !cuCtxSetCurrent(context) && !cuMemAlloc(&message.memory, 1000) &&
	     !cuMemsetD8(message.memory, 5, 1000) && !cuCtxSynchronize());
	must(!cuIpcGetMemHandle(&message.handle, message.memory));
	must(write(socket, &message, sizeof message) == sizeof message);
	must(read(socket, &word, 1) == 1);
	/* What the other one has written. */
	unsigned char byte;
	must(!cuMemcpyDtoH(&byte, message.memory + 999, 1) && byte == 6);
	must(!cuMemFree(message.memory) && write(socket, "f", 1) == 1);
	must(read(socket, &word, 1) == 0);
	_exit(0);
}

/* The owner is forked before either process has a driver. */
START_TEST(memory_handles_work_in_another_process)
{
	struct message message;
	CUdeviceptr other, again;
	unsigned char byte;
	int sockets[2], status;
	char word;

	ck_assert(!socketpair(AF_UNIX, SOCK_STREAM, 0, sockets));
	pid_t child = fork();
	if (!child) {
		close(sockets[1]);
		own_memory(sockets[0]);
	}
	close(sockets[0]);
	CUcontext context;
	ck_works(cuInit(0));
	ck_works(cuDevicePrimaryCtxRetain(&context, 0));
	ck_works(cuCtxSetCurrent(context));
	ck_assert_int_eq(read(sockets[1], &message, sizeof message), sizeof message);
	ck_works(cuIpcOpenMemHandle(&other, message.handle,
				    CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
	ck_works(cuIpcOpenMemHandle(&again, message.handle,
				    CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
	ck_assert_uint_eq(other, again);
	ck_works(cuMemcpyDtoH(&byte, other + 999, 1));
	ck_assert_uint_eq(byte, 5);
	ck_works(cuMemsetD8(other + 999, 6, 1));
	ck_works(cuCtxSynchronize());
	ck_assert_int_eq(write(sockets[1], "r", 1), 1);
	ck_assert_int_eq(read(sockets[1], &word, 1), 1);
	/* Freed there: still mapped here, but not to be opened again. */
	ck_answers(cuIpcOpenMemHandle(&again, message.handle,
				      CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS),
		   CUDA_ERROR_INVALID_VALUE);
	ck_works(cuMemcpyDtoH(&byte, other + 999, 1));
	ck_assert_uint_eq(byte, 6);
	ck_works(cuIpcCloseMemHandle(other));
	ck_works(cuIpcCloseMemHandle(other));
	ck_answers(cuIpcCloseMemHandle(other), CUDA_ERROR_INVALID_VALUE);
	close(sockets[1]);
	waitpid(child, &status, 0);
	ck_assert_int_eq(status, 0);
	ck_works(cuDevicePrimaryCtxRelease(0));
}
END_TEST

START_TEST(pools_are_exported)
{
	const CUmemPoolProps properties = {
		.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
		.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
		.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 }
	};
	CUmemoryPool pool, import;
	CUmemPoolPtrExportData data;
	CUdeviceptr memory, other;
	int descriptor;
	ck_works(cuMemPoolCreate(&pool, &properties));
	ck_works(cuMemPoolExportToShareableHandle(&descriptor, pool,
						  properties.handleTypes, 0));
	ck_works(cuMemPoolImportFromShareableHandle(&import, (void *)(intptr_t)descriptor,
						    properties.handleTypes, 0));
	close(descriptor);
	ck_works(cuMemAllocFromPoolAsync(&memory, 100, pool, standin_stream));
	ck_works(cuMemsetD8Async(memory, 9, 100, standin_stream));
	ck_works(cuMemPoolExportPointer(&data, memory));
	ck_works(cuMemPoolImportPointer(&other, import, &data));
	ck_works(cuStreamSynchronize(standin_stream));
	unsigned char byte;
	ck_works(cuMemcpyDtoH(&byte, other + 99, 1));
	ck_assert_uint_eq(byte, 9);
	ck_works(cuMemFree(other));
	ck_works(cuMemFree(memory));
	ck_works(cuMemPoolDestroy(import));
	ck_works(cuMemPoolDestroy(pool));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("standin_memory");
	TCase *tcase = standin_tcase(suite, "memory");
	tcase_add_test(tcase, device_memory_is_out_of_reach);
	tcase_add_test(tcase, freed_addresses_come_again);
	tcase_add_test(tcase, memory_is_limited);
	tcase_add_test(tcase, wrong_frees_are_refused);
	tcase_add_test(tcase, large_memory_is_sparse);
	tcase_add_test(tcase, copies_arrive);
	tcase_add_test(tcase, copies_outside_are_refused);
	tcase_add_test(tcase, boxes_arrive);
	tcase_add_test(tcase, registrations_have_rules);
	tcase_add_test(tcase, unknown_memory_is_zeros);
	tcase_add_test(tcase, device_memory_describes_itself);
	tcase_add_test(tcase, managed_and_pinned_memory_describe_themselves);
	tcase_add_test(tcase, pool_memory_is_of_no_context);
	tcase_add_test(tcase, handles_are_opened);
	tcase_add_test(tcase, pools_are_exported);
	TCase *processes = standin_bare_tcase(suite, "processes");
	tcase_add_test(processes, memory_handles_work_in_another_process);
	return standin_run(suite);
}
