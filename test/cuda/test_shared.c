/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory of another process: one process makes it and shares it by handle or descriptor, another one
 * packs into it and out of it, on the same device and on another.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/fixture.h"
#include "support/gpu.h"

/* A whole mapping. */
#define BYTES ((size_t)2 << 20)

enum way { WAY_HANDLE, WAY_MAPPING, WAY_POOL, WAYS };

/* What the importer is told, beside a descriptor. */
struct ticket {
	CUipcMemHandle handle;
	CUmemPoolPtrExportData pointer;
};

/* ---- between the processes --------------------------------------------------------------------- */

static void must(bool good, const char *what)
{
	if (good)
		return;
	perror(what);
	_exit(1);
}

static void send_ticket(int socket, int descriptor, struct ticket *ticket)
{
	_Alignas(struct cmsghdr) char room[CMSG_SPACE(sizeof(int))] = "";
	struct iovec bytes = { ticket, sizeof(*ticket) };
	struct msghdr message = { .msg_iov = &bytes, .msg_iovlen = 1 };

	if (descriptor >= 0) {
		message.msg_control = room;
		message.msg_controllen = sizeof(room);
		struct cmsghdr *header = CMSG_FIRSTHDR(&message);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(header), &descriptor, sizeof(descriptor));
	}
	must(sendmsg(socket, &message, 0) == sizeof(*ticket), "sendmsg");
}

static int take_ticket(int socket, struct ticket *ticket)
{
	_Alignas(struct cmsghdr) char room[CMSG_SPACE(sizeof(int))] = "";
	struct iovec bytes = { ticket, sizeof(*ticket) };
	struct msghdr message = { .msg_iov = &bytes,
				  .msg_iovlen = 1,
				  .msg_control = room,
				  .msg_controllen = sizeof(room) };
	int descriptor = -1;

	ck_assert_int_eq(recvmsg(socket, &message, MSG_WAITALL), sizeof(*ticket));
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	if (header)
		memcpy(&descriptor, CMSG_DATA(header), sizeof(descriptor));
	return descriptor;
}

/* ---- the process that shares --------------------------------------------------------------------- */

static void use_device(int device)
{
	CUcontext context;

	if (!device)
		return;
	MUST(DevicePrimaryCtxRetain(&context, device));
	MUST(CtxSetCurrent(context));
}

static CUmemAllocationProp properties_on(int device)
{
	return (CUmemAllocationProp){
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device },
		.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
	};
}

static CUdeviceptr map(CUmemGenericAllocationHandle handle, int device)
{
	const CUmemAccessDesc access = {
		.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device },
		.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE
	};
	CUdeviceptr base;

	MUST(MemAddressReserve(&base, BYTES, 0, 0, 0));
	MUST(MemMap(base, BYTES, 0, handle, 0));
	MUST(MemSetAccess(base, BYTES, &access, 1));
	return base;
}

static CUdeviceptr share_mapping(int device, int *descriptor)
{
	const CUmemAllocationProp properties = properties_on(device);
	CUmemGenericAllocationHandle handle;

	MUST(MemCreate(&handle, BYTES, &properties, 0));
	MUST(MemExportToShareableHandle(descriptor, handle,
					CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
	return map(handle, device);
}

static CUdeviceptr share_pool(int device, struct ticket *ticket, int *descriptor)
{
	const CUmemPoolProps properties = {
		.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
		.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
		.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device }
	};
	CUmemoryPool pool;
	CUdeviceptr memory;

	MUST(MemPoolCreate(&pool, &properties));
	MUST(MemAllocFromPoolAsync(&memory, BYTES, pool, NULL));
	MUST(StreamSynchronize(NULL));
	MUST(MemPoolExportToShareableHandle(descriptor, pool,
					    CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
	MUST(MemPoolExportPointer(&ticket->pointer, memory));
	return memory;
}

static CUdeviceptr share(enum way way, int device, int socket)
{
	struct ticket ticket;
	CUdeviceptr memory = 0;
	int descriptor = -1;

	memset(&ticket, 0, sizeof(ticket));
	if (way == WAY_MAPPING) {
		memory = share_mapping(device, &descriptor);
	} else if (way == WAY_POOL) {
		memory = share_pool(device, &ticket, &descriptor);
	} else {
		MUST(MemAlloc(&memory, BYTES));
		MUST(IpcGetMemHandle(&ticket.handle, memory));
	}
	send_ticket(socket, descriptor, &ticket);
	return memory;
}

/* Shows what is in the memory as often as it is asked. */
static void run_exporter(enum way way, int device, int socket)
{
	static unsigned char bytes[BYTES];
	char asked;

	gpu_open();
	gpu.running = false;
	use_device(device);
	CUdeviceptr memory = share(way, device, socket);
	while (read(socket, &asked, 1) == 1) {
		MUST(Memcpy((CUdeviceptr)(uintptr_t)bytes, memory, BYTES));
		must(write(socket, bytes, BYTES) == (ssize_t)BYTES, "write");
	}
	_exit(0);
}

/* ---- the process that uses it ---------------------------------------------------------------------- */

static CUdeviceptr take_pool(const struct ticket *ticket, int descriptor)
{
	const CUmemAccessDesc access = {
		.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE },
		.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE
	};
	CUmemPoolPtrExportData pointer = ticket->pointer;
	CUmemoryPool pool;
	CUdeviceptr memory;

	MUST(MemPoolImportFromShareableHandle(&pool, (void *)(intptr_t)descriptor,
					      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
					      0));
	MUST(MemPoolSetAccess(pool, &access, 1));
	MUST(MemPoolImportPointer(&memory, pool, &pointer));
	return memory;
}

static CUdeviceptr take(enum way way, int socket)
{
	struct ticket ticket;
	int descriptor = take_ticket(socket, &ticket);
	CUmemGenericAllocationHandle handle;
	CUdeviceptr memory;

	if (way == WAY_POOL)
		return take_pool(&ticket, descriptor);
	if (way == WAY_HANDLE) {
		MUST(IpcOpenMemHandle(&memory, ticket.handle,
				      CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
		return memory;
	}
	MUST(MemImportFromShareableHandle(&handle, (void *)(intptr_t)descriptor,
					  CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
	memory = map(handle, 0);
	MUST(MemRelease(handle));
	return memory;
}

/* The memory as the other process sees it. */
static void look(int socket, unsigned char *bytes)
{
	size_t there = 0;

	ck_assert_int_eq(write(socket, "?", 1), 1);
	while (there < BYTES) {
		ssize_t got = read(socket, bytes + there, BYTES - there);

		ck_assert_int_gt(got, 0);
		there += (size_t)got;
	}
}

static uint64_t launches(void)
{
	return fixture_counters().launches_strided;
}

#define TEXT "vector(20000, 3, 5, double)"

/* Their memory is packed memory. */
static void check_packed(int socket, void *theirs, unsigned char *bytes)
{
	struct stage stage;
	struct arena own;
	size_t moved;

	fixture_open(&stage, TEXT, 1);
	arena_open(&own, ARENA_DEVICE, stage.memory_bytes);
	arena_write(&own, 0, stage.source_memory, stage.memory_bytes);
	fixture_ok(dtconv_pack(stage.type, 1,
			       own.memory + (stage.source - stage.source_memory), theirs,
			       stage.bytes, &moved));
	look(socket, bytes);
	ck_assert(!memcmp(bytes, stage.stream, stage.bytes));
	stage_blank(&stage);
	arena_write(&own, 0, stage.target_memory, stage.memory_bytes);
	fixture_ok(dtconv_unpack(stage.type, 1,
				 own.memory + (stage.target - stage.target_memory),
				 theirs, stage.bytes, &moved));
	arena_read(&own, 0, stage.target_memory, stage.memory_bytes);
	stage_deliver(&stage, 0, stage.bytes);
	fixture_arrived(&stage);
	arena_close(&own);
	fixture_close(&stage);
}

/* Their memory is the user's. */
static void check_user(int socket, unsigned char *theirs, unsigned char *bytes)
{
	const struct arena seen = { .memory = theirs };
	struct stage stage;
	struct arena own;
	size_t moved;

	fixture_open(&stage, TEXT, 1);
	ck_assert_uint_le(stage.memory_bytes, BYTES);
	arena_open(&own, ARENA_DEVICE, stage.bytes);
	arena_write(&own, 0, stage.stream, stage.bytes);
	arena_write(&seen, 0, stage.target_memory, stage.memory_bytes);
	fixture_ok(dtconv_unpack(stage.type, 1,
				 theirs + (stage.target - stage.target_memory),
				 own.memory, stage.bytes, &moved));
	look(socket, bytes);
	memcpy(stage.target_memory, bytes, stage.memory_bytes);
	stage_deliver(&stage, 0, stage.bytes);
	fixture_arrived(&stage);
	memset(bytes, 0, stage.bytes);
	arena_write(&own, 0, bytes, stage.bytes);
	fixture_ok(dtconv_pack(stage.type, 1,
			       theirs + (stage.target - stage.target_memory), own.memory,
			       stage.bytes, &moved));
	arena_read(&own, 0, bytes, stage.bytes);
	ck_assert(!memcmp(bytes, stage.stream, stage.bytes));
	arena_close(&own);
	fixture_close(&stage);
}

/* Their memory is the pool of pages that others are copied to. */
static void check_pages(int socket, unsigned char *theirs, unsigned char *bytes)
{
	enum { PAGE = 4096, PAGES = 8 };
	static const int32_t some[] = { 3, 6, 1, 0 }, others[] = { 5, 2 };
	static unsigned char source[PAGES * PAGE];
	const struct dtconv_pages from = { .struct_size = sizeof(from),
					   .table = some,
					   .count = 4,
					   .pool_pages = PAGES,
					   .page_bytes = PAGE };
	const struct dtconv_pages to = { .struct_size = sizeof(to),
					 .table = others,
					 .count = 2,
					 .pool_pages = BYTES / (size_t)(2 * PAGE),
					 .page_bytes = (size_t)2 * PAGE };
	struct arena own;

	for (size_t i = 0; i < sizeof(source); i++)
		source[i] = (unsigned char)(i * 7 + i / PAGE);
	arena_open(&own, ARENA_DEVICE, sizeof(source));
	arena_write(&own, 0, source, sizeof(source));
	fixture_ok(dtconv_pages_copy(fixture_context, &from, own.memory, &to, theirs, 0,
				     SIZE_MAX, NULL));
	look(socket, bytes);
	for (size_t i = 0; i < 4; i++)
		ck_assert_mem_eq(bytes + ((size_t)others[i / 2] * 2 + i % 2) * PAGE,
				 source + (size_t)some[i] * PAGE, PAGE);
	arena_close(&own);
}

/* The stand-in shares no pools between processes; devices need not reach each other. */
static bool is_possible(enum way way, int device)
{
	int devices = 0, reaches = 1;

	if (gpu.standin && way == WAY_POOL)
		return false;
	MUST(DeviceGetCount(&devices));
	if (device < devices && device)
		MUST(DeviceCanAccessPeer(&reaches, 0, device));
	return device < devices && reaches;
}

static void run_importer(enum way way, int device, int socket)
{
	static unsigned char bytes[BYTES];
	CUdeviceptr memory;

	gpu_open();
	if (!is_possible(way, device))
		return;
	memory = take(way, socket);
	uint64_t before = launches();
	check_packed(socket, (void *)(uintptr_t)memory, bytes);
	check_user(socket, (void *)(uintptr_t)memory, bytes);
	/* By kernels, all four. */
	ck_assert_uint_eq(launches(), before + 4);
	check_pages(socket, (unsigned char *)(uintptr_t)memory, bytes);
}

/* Case: the way, and the device of the process that shares; the other one uses device 0. */
START_TEST(memory_of_another_process)
{
	enum way way = (enum way)(_i / 2);
	int sockets[2], status;

	ck_assert(!socketpair(AF_UNIX, SOCK_STREAM, 0, sockets));
	/* Before there is a driver: a forked one does not work. */
	pid_t child = fork();
	if (!child) {
		close(sockets[1]);
		run_exporter(way, _i % 2, sockets[0]);
	}
	close(sockets[0]);
	run_importer(way, _i % 2, sockets[1]);
	close(sockets[1]);
	waitpid(child, &status, 0);
}
END_TEST

int main(void)
{
	setenv("CK_FORK", "yes", 1);
	gpu_find();
	Suite *suite = suite_create("shared");
	TCase *processes = fixture_case(suite, "processes", 60);

	tcase_add_loop_test(processes, memory_of_another_process, 0, 2 * WAYS);
	return fixture_run(suite);
}
