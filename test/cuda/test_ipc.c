/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory of cuMemAlloc between two processes: its bytes on either side of all moves, what the cache of mappings hands
 * out, keeps and closes, and handles that lie.
 */
#include "config.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "memory_owner.h"
#include "support/fixture.h"
#include "support/gpu.h"
#include "transport_glue/ipc_handle.h"

#define BYTES ((size_t)4 << 20)

/* ---- help -------------------------------------------------------------------------------- */

static struct dtconv_ipc_attr numbers(void)
{
	struct dtconv_ipc_attr attr = { .struct_size = sizeof(attr) };

	fixture_ok(dtconv_ipc_query(fixture_context, &attr));
	return attr;
}

static void *open_handle(const struct dtconv_ipc_handle *handle)
{
	void *address = NULL;

	fixture_ok(dtconv_ipc_open(fixture_context, handle, -1, &address));
	return address;
}

static void close_address(void *address)
{
	fixture_ok(dtconv_ipc_close(fixture_context, address));
}

/* A failure with a sentence in which these words are. */
static void must_say(int status, enum dtconv_status expected, const char *words)
{
	fixture_status(status, expected);
	ck_assert_msg(strstr(fixture_error(), words), "'%s' is not in: %s", words,
		      fixture_error());
}

static void must_refuse(const struct dtconv_ipc_handle *handle,
			enum dtconv_status expected, const char *words)
{
	void *address = &address;

	must_say(dtconv_ipc_open(fixture_context, handle, -1, &address), expected, words);
	ck_assert_ptr_eq(address, (void *)&address);
}

static unsigned char first_byte(const void *address)
{
	unsigned char byte = 0;

	MUST(Memcpy((CUdeviceptr)(uintptr_t)&byte, (CUdeviceptr)(uintptr_t)address, 1));
	return byte;
}

/* Calls of an entry point of the driver; 0 with a real one, which does not count. */
static size_t calls(const char *entry)
{
	return gpu.standin ? gpu.standin->calls(entry) : 0;
}

/* What is mapped is open, idle or closed; while it is being closed it is none of them. */
static bool is_settled(void)
{
	const struct dtconv_ipc_attr now = numbers();

	return now.idle <= DTCONV_IPC_IDLE_MAX &&
	       now.driver_opens == now.open + now.idle + now.evicted + now.replaced;
}

/* The vendor's thread has closed what was too many. */
static void await_eviction(void)
{
	for (int i = 0; !is_settled(); i++) {
		ck_assert_msg(i < 5000, "%zu mappings stay idle", numbers().idle);
		gpu_nap(1);
	}
}

/* An owner with one allocation, and its handle. */
static struct dtconv_ipc_handle open_owner(struct owner *owner, size_t bytes)
{
	owner_start(owner, 0);
	gpu_open();
	owner_allocate(owner, 0, bytes);
	return owner_export(owner, 0, 0, bytes).handle;
}

static void close_all(struct owner *owner)
{
	char text[2000] = "";

	owner_end(owner);
	fixture_ok(dtconv_ipc_trim(fixture_context, 0));
	ck_assert_uint_eq(numbers().idle, 0);
	if (gpu.standin)
		gpu.standin->leaks(text, sizeof(text));
	ck_assert_msg(!strstr(text, "imported memory"), "left behind: %s", text);
}

/* ---- bytes ------------------------------------------------------------------------------- */

static const char *const texts[] = {
	"vector(20000, 3, 5, double)",
	"indexed([1,2,1,3,1,2,1,2,1,5],[0,9,20,30,40,50,60,70,80,90],int)",
	"hindexed([3,1,7],[1,11,20],char)",
	"contiguous(30000, double)",
};

#define TEXTS (int)(sizeof(texts) / sizeof(texts[0]))

/* Their memory is packed memory. */
static void check_packed(const struct owner *owner, unsigned char *theirs,
			 const char *text)
{
	static unsigned char seen[BYTES];
	struct stage stage;
	struct arena own;
	size_t moved;

	fixture_open(&stage, text, 3);
	arena_open(&own, ARENA_DEVICE, stage.memory_bytes);
	arena_write(&own, 0, stage.source_memory, stage.memory_bytes);
	fixture_ok(dtconv_pack(stage.type, 3,
			       own.memory + (stage.source - stage.source_memory), theirs,
			       stage.bytes, &moved));
	ck_assert_uint_eq(moved, stage.bytes);
	owner_read(owner, 0, seen, stage.bytes);
	ck_assert(!memcmp(seen, stage.stream, stage.bytes));
	stage_blank(&stage);
	arena_write(&own, 0, stage.target_memory, stage.memory_bytes);
	fixture_ok(dtconv_unpack(stage.type, 3,
				 own.memory + (stage.target - stage.target_memory),
				 theirs, stage.bytes, &moved));
	arena_read(&own, 0, stage.target_memory, stage.memory_bytes);
	stage_deliver(&stage, 0, stage.bytes);
	fixture_arrived(&stage);
	arena_close(&own);
	fixture_close(&stage);
}

/* Their memory is the user's; copies go there, too. */
static void check_user(const struct owner *owner, unsigned char *theirs, const char *text)
{
	struct stage stage;
	struct arena own;
	size_t moved;

	fixture_open(&stage, text, 3);
	ck_assert_uint_le(stage.memory_bytes, BYTES);
	unsigned char *target = theirs + (stage.target - stage.target_memory);
	arena_open(&own, ARENA_DEVICE, stage.bytes);
	arena_write(&own, 0, stage.stream, stage.bytes);
	owner_write(owner, 0, stage.target_memory, stage.memory_bytes);
	fixture_ok(dtconv_unpack(stage.type, 3, target, own.memory, stage.bytes, &moved));
	owner_read(owner, 0, stage.target_memory, stage.memory_bytes);
	stage_deliver(&stage, 0, stage.bytes);
	fixture_arrived(&stage);
	unsigned char *got = calloc(1, stage.bytes);
	arena_write(&own, 0, got, stage.bytes);
	fixture_ok(dtconv_pack(stage.type, 3, target, own.memory, stage.bytes, &moved));
	arena_read(&own, 0, got, stage.bytes);
	ck_assert(!memcmp(got, stage.stream, stage.bytes));
	free(got);
	arena_close(&own);
	fixture_close(&stage);
}

static void check_copy(const struct owner *owner, unsigned char *theirs, const char *text)
{
	struct stage stage;
	struct arena own;
	size_t moved;

	fixture_open(&stage, text, 3);
	arena_open(&own, ARENA_DEVICE, stage.memory_bytes);
	arena_write(&own, 0, stage.source_memory, stage.memory_bytes);
	owner_write(owner, 0, stage.target_memory, stage.memory_bytes);
	fixture_ok(dtconv_copy(
		stage.type, 3, own.memory + (stage.source - stage.source_memory),
		stage.type, 3, theirs + (stage.target - stage.target_memory), &moved));
	owner_read(owner, 0, stage.target_memory, stage.memory_bytes);
	stage_deliver(&stage, 0, stage.bytes);
	fixture_arrived(&stage);
	arena_close(&own);
	fixture_close(&stage);
}

/* Their memory is a pool of pages. */
static void check_pages(const struct owner *owner, unsigned char *theirs)
{
	enum { PAGE = 96, PAGES = 40 };
	static const int32_t table[] = { 7, 0, 39, 12 };
	const struct dtconv_pages pages = { .struct_size = sizeof(pages),
					    .table = table,
					    .count = 4,
					    .pool_pages = PAGES,
					    .page_bytes = PAGE };
	unsigned char pool[PAGE * PAGES], got[4 * PAGE];
	struct arena own;
	size_t moved;

	for (size_t i = 0; i < sizeof(pool); i++)
		pool[i] = (unsigned char)(i * 7 + i / PAGE);
	owner_write(owner, 0, pool, sizeof(pool));
	arena_open(&own, ARENA_DEVICE, sizeof(got));
	fixture_ok(dtconv_pages_pack(fixture_context, &pages, theirs, 0, own.memory,
				     sizeof(got), &moved));
	arena_read(&own, 0, got, sizeof(got));
	for (size_t i = 0; i < 4; i++)
		ck_assert(!memcmp(got + i * PAGE, pool + table[i] * PAGE, PAGE));
	memset(got, 0x5a, sizeof(got));
	arena_write(&own, 0, got, sizeof(got));
	fixture_ok(dtconv_pages_unpack(fixture_context, &pages, theirs, 0, own.memory,
				       sizeof(got), &moved));
	owner_read(owner, 0, pool, sizeof(pool));
	for (size_t i = 0; i < 4; i++)
		ck_assert(!memcmp(got + i * PAGE, pool + table[i] * PAGE, PAGE));
	arena_close(&own);
}

/* Case: the layout, and the device of the owner; this process uses device 0. */
START_TEST(opened_memory_works_on_either_side)
{
	int devices = 0, reaches = 1;
	struct owner owner;

	owner_start(&owner, _i % 2);
	gpu_open();
	MUST(DeviceGetCount(&devices));
	if (_i % 2 < devices && _i % 2)
		MUST(DeviceCanAccessPeer(&reaches, 0, 1));
	if (_i % 2 >= devices || !reaches) {
		owner_kill(&owner);
		return;
	}
	owner_allocate(&owner, 0, BYTES);
	const struct dtconv_ipc_handle handle = owner_export(&owner, 0, 0, BYTES).handle;
	unsigned char *theirs = open_handle(&handle);
	check_packed(&owner, theirs, texts[_i / 2]);
	check_user(&owner, theirs, texts[_i / 2]);
	check_copy(&owner, theirs, texts[_i / 2]);
	check_pages(&owner, theirs);
	close_address(theirs);
	close_all(&owner);
}
END_TEST

/* ---- hits -------------------------------------------------------------------------------- */

START_TEST(one_allocation_is_mapped_once)
{
	struct owner owner;
	const struct dtconv_ipc_handle all = open_owner(&owner, 100000);
	const struct dtconv_ipc_handle part = owner_export(&owner, 0, 777, 1000).handle;
	const struct dtconv_ipc_handle again = owner_export(&owner, 0, 0, 100000).handle;

	ck_assert(!memcmp(&all, &again, sizeof(all)));
	char *whole = open_handle(&all);
	char *inside = open_handle(&part);
	ck_assert_ptr_eq(inside, whole + 777);
	ck_assert_uint_eq(numbers().open, 1);
	ck_assert_uint_eq(numbers().driver_opens, 1);
	ck_assert_uint_eq(numbers().hits, 1);
	close_address(whole);
	ck_assert_uint_eq(numbers().open, 1);
	close_address(inside);
	ck_assert_uint_eq(numbers().open, 0);
	ck_assert_uint_eq(numbers().idle, 1);
	must_say(dtconv_ipc_close(fixture_context, inside), DTCONV_ERR_INVAL,
		 "no range that is open");
	ck_assert_ptr_eq(open_handle(&part), inside);
	ck_assert_uint_eq(numbers().hits, 2);
	ck_assert_uint_eq(numbers().idle, 0);
	close_address(inside);
	if (gpu.standin)
		ck_assert_uint_eq(calls("cuIpcOpenMemHandle"), 1);
	close_all(&owner);
	ck_assert_uint_eq(numbers().evicted, 1);
}
END_TEST

/* Both devices map it; @here is the first one's. */
static void open_on_second(const struct dtconv_ipc_handle *handle, void *here)
{
	CUcontext first, second;
	void *there;

	must_say(dtconv_ipc_open(fixture_context, handle, 1, &there), DTCONV_ERR_STATE,
		 "no CUDA context of device 1");
	MUST(CtxGetCurrent(&first));
	MUST(DevicePrimaryCtxRetain(&second, 1));
	fixture_ok(dtconv_ipc_open(fixture_context, handle, 1, &there));
	ck_assert_ptr_ne(there, here);
	ck_assert_uint_eq(numbers().open, 2);
	MUST(CtxSetCurrent(second));
	ck_assert_ptr_eq(open_handle(handle), there);
	MUST(CtxSetCurrent(first));
	ck_assert_ptr_eq(open_handle(handle), here);
	close_address(here);
	close_address(there);
	close_address(there);
	fixture_ok(dtconv_ipc_trim(fixture_context, 0));
	MUST(DevicePrimaryCtxRelease(1));
}

START_TEST(each_device_has_a_mapping_of_its_own)
{
	struct owner owner;
	void *there;
	const struct dtconv_ipc_handle handle = open_owner(&owner, 4096);
	void *here = open_handle(&handle);

	must_say(dtconv_ipc_open(fixture_context, &handle, 99, &there), DTCONV_ERR_STATE,
		 "no CUDA context of device 99");
	if (gpu.standin)
		open_on_second(&handle, here);
	close_address(here);
	close_all(&owner);
}
END_TEST

START_TEST(a_device_is_named_or_current)
{
	struct owner owner;
	CUcontext current;
	void *address;
	const struct dtconv_ipc_handle handle = open_owner(&owner, 4096);

	MUST(CtxGetCurrent(&current));
	MUST(CtxSetCurrent(NULL));
	must_say(dtconv_ipc_open(fixture_context, &handle, -1, &address),
		 DTCONV_ERR_STATE, "no CUDA context is current");
	fixture_ok(dtconv_ipc_open(fixture_context, &handle, 0, &address));
	close_address(address);
	MUST(CtxSetCurrent(current));
	ck_assert_ptr_eq(open_handle(&handle), address);
	close_address(address);
	close_all(&owner);
}
END_TEST

/* ---- freed memory ------------------------------------------------------------------------ */

START_TEST(memory_that_was_allocated_anew_is_mapped_anew)
{
	struct owner owner;
	const struct dtconv_ipc_handle before = open_owner(&owner, 300000);

	owner_fill(&owner, 0, 1);
	void *old = open_handle(&before);
	ck_assert_uint_eq(first_byte(old), 1);
	close_address(old);
	owner_free(&owner, 0);
	owner_allocate(&owner, 0, 300000);
	owner_fill(&owner, 0, 2);
	const struct dtconv_ipc_handle after = owner_export(&owner, 0, 0, 300000).handle;
	ck_assert(memcmp(&before, &after, sizeof(before)));
	void *new = open_handle(&after);
	ck_assert_uint_eq(first_byte(new), 2);
	ck_assert_uint_eq(numbers().driver_opens, 2);
	if (gpu.standin) /* the address is the same there */
		ck_assert_uint_eq(numbers().replaced, 1);
	close_address(new);
	if (gpu.standin) {
		must_refuse(&before, DTCONV_ERR_STATE,
			    "has freed: there is newer memory");
		new = open_handle(&after);
		ck_assert_uint_eq(numbers().driver_opens, 2);
		must_refuse(&before, DTCONV_ERR_STATE,
			    "has freed: there is newer memory");
		close_address(new);
		fixture_ok(dtconv_ipc_trim(fixture_context, 0));
		must_refuse(&before, DTCONV_ERR_BACKEND, "may have freed the memory");
		new = open_handle(&after);
		ck_assert_uint_eq(first_byte(new), 2);
		close_address(new);
	}
	close_all(&owner);
}
END_TEST

/* Larger memory takes the place of several allocations. */
START_TEST(memory_replaces_all_that_it_overlaps)
{
	struct owner owner;
	struct dtconv_ipc_handle handle = open_owner(&owner, 100000);

	for (int slot = 0; slot < 3; slot++) {
		if (slot)
			owner_allocate(&owner, slot, 100000);
		handle = owner_export(&owner, slot, 0, 100000).handle;
		close_address(open_handle(&handle));
	}
	for (int slot = 0; slot < 3; slot++)
		owner_free(&owner, slot);
	owner_allocate(&owner, 0, 1000000);
	owner_fill(&owner, 0, 9);
	handle = owner_export(&owner, 0, 0, 1000000).handle;
	void *theirs = open_handle(&handle);
	ck_assert_uint_eq(first_byte(theirs), 9);
	/* Where the addresses are the same. */
	if (gpu.standin)
		ck_assert_uint_ge(numbers().replaced, 2);
	ck_assert_uint_eq(numbers().idle, 3 - numbers().replaced);
	close_address(theirs);
	close_all(&owner);
}
END_TEST

START_TEST(freed_memory_in_use_is_no_longer_handed_out)
{
	struct owner owner;
	const struct dtconv_ipc_handle before = open_owner(&owner, 300000);

	owner_fill(&owner, 0, 1);
	void *old = open_handle(&before);
	owner_free(&owner, 0);
	owner_allocate(&owner, 0, 300000);
	owner_fill(&owner, 0, 2);
	const struct owner_export after = owner_export(&owner, 0, 0, 300000);
	if (gpu.standin) {
		must_refuse(&after.handle, DTCONV_ERR_STATE,
			    "still has the freed memory open");
		ck_assert_uint_eq(numbers().open, 1);
		ck_assert_uint_eq(first_byte(old), 1);
	}
	close_address(old);
	void *new = open_handle(&after.handle);
	ck_assert_uint_eq(first_byte(new), 2);
	close_address(new);
	close_all(&owner);
}
END_TEST

START_TEST(an_owner_that_has_exited_is_noticed)
{
	struct owner owner;
	const struct dtconv_ipc_handle handle = open_owner(&owner, 4096);

	owner_fill(&owner, 0, 3);
	void *theirs = open_handle(&handle);
	owner_kill(&owner);
	if (gpu.standin)
		ck_assert_uint_eq(first_byte(theirs), 3);
	close_address(theirs);
	fixture_ok(dtconv_ipc_trim(fixture_context, 0));
	must_refuse(&handle, DTCONV_ERR_BACKEND, "cuIpcOpenMemHandle");
	ck_assert_uint_eq(numbers().open, 0);
}
END_TEST

/* ---- eviction ---------------------------------------------------------------------------- */

#define MANY (DTCONV_IPC_IDLE_MAX + 16)

static void export_many(const struct owner *owner, struct dtconv_ipc_handle *handles,
			int first)
{
	for (int slot = first; slot < MANY; slot++) {
		owner_allocate(owner, slot, 4096);
		owner_fill(owner, slot, (unsigned char)slot);
		handles[slot] = owner_export(owner, slot, 0, 4096).handle;
	}
}

START_TEST(eviction_spares_what_is_open)
{
	static struct dtconv_ipc_handle handles[MANY];
	struct owner owner;
	void *held[8];

	handles[0] = open_owner(&owner, 4096);
	owner_fill(&owner, 0, 0);
	export_many(&owner, handles, 1);
	for (int i = 0; i < 8; i++)
		held[i] = open_handle(&handles[i]);
	for (int i = 8; i < MANY; i++)
		close_address(open_handle(&handles[i]));
	await_eviction();
	ck_assert_uint_eq(numbers().idle, DTCONV_IPC_IDLE_MAX);
	ck_assert_uint_eq(numbers().evicted, MANY - 8 - DTCONV_IPC_IDLE_MAX);
	ck_assert_uint_eq(numbers().open, 8);
	for (int i = 0; i < 8; i++) {
		ck_assert_uint_eq(first_byte(held[i]), (unsigned)i);
		close_address(held[i]);
	}
	await_eviction();
	/* The last used ones are there, and the first ones are not. */
	const uint64_t opens = numbers().driver_opens;
	close_address(open_handle(&handles[MANY - 1]));
	close_address(open_handle(&handles[0]));
	ck_assert_uint_eq(numbers().driver_opens, opens);
	close_address(open_handle(&handles[8]));
	ck_assert_uint_eq(numbers().driver_opens, opens + 1);
	await_eviction();
	fixture_ok(dtconv_ipc_trim(fixture_context, 10));
	ck_assert_uint_eq(numbers().idle, 10);
	close_address(open_handle(&handles[8]));
	ck_assert_uint_eq(numbers().driver_opens, opens + 1);
	close_all(&owner);
	if (gpu.standin)
		ck_assert_uint_eq(calls("cuIpcCloseMemHandle"), numbers().driver_opens);
}
END_TEST

/* ---- threads ----------------------------------------------------------------------------- */

#define THREADS 8
#define ROUNDS  400

struct worker {
	pthread_t thread;
	const struct dtconv_ipc_handle *handles;
	CUcontext context;
	unsigned seed;
	int wrong;
};

static void *run_worker(void *arg)
{
	struct worker *worker = arg;
	unsigned state = worker->seed;

	gpu.CtxSetCurrent(worker->context);
	for (int round = 0; round < ROUNDS; round++) {
		state = state * 1103515245 + 12345;
		const int slot = (int)(state >> 16) % MANY;
		unsigned char byte = 0xff;
		void *address;

		if (dtconv_ipc_open(fixture_context, &worker->handles[slot], 0,
				    &address)) {
			worker->wrong++;
			continue;
		}
		worker->wrong += gpu.Memcpy((CUdeviceptr)(uintptr_t)&byte,
					    (CUdeviceptr)(uintptr_t)address, 1) ||
				 byte != slot;
		worker->wrong += dtconv_ipc_close(fixture_context, address) != 0;
	}
	return NULL;
}

START_TEST(threads_open_and_close)
{
	static struct dtconv_ipc_handle handles[MANY];
	struct worker workers[THREADS];
	struct owner owner;

	handles[0] = open_owner(&owner, 4096);
	owner_fill(&owner, 0, 0);
	export_many(&owner, handles, 1);
	for (unsigned i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){ .handles = handles, .seed = i + 1 };
		MUST(CtxGetCurrent(&workers[i].context));
		pthread_create(&workers[i].thread, NULL, run_worker, &workers[i]);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(workers[i].thread, NULL);
		ck_assert_int_eq(workers[i].wrong, 0);
	}
	await_eviction();
	const struct dtconv_ipc_attr after = numbers();
	ck_assert_uint_eq(after.open, 0);
	ck_assert_uint_eq(after.hits + after.driver_opens, THREADS * ROUNDS);
	ck_assert_uint_eq(after.driver_opens, after.evicted + after.idle);
	ck_assert_uint_gt(after.hits, after.driver_opens);
	close_all(&owner);
	if (gpu.standin) {
		ck_assert_uint_eq(calls("cuIpcOpenMemHandle"), after.driver_opens);
		ck_assert_uint_eq(calls("cuIpcCloseMemHandle"), after.driver_opens);
	}
}
END_TEST

/* ---- this process ------------------------------------------------------------------------ */

START_TEST(own_memory_is_its_own_address)
{
	struct dtconv_ipc_handle handle;
	CUdeviceptr memory;

	gpu_open();
	MUST(MemAlloc(&memory, 5000));
	void *place = (void *)(uintptr_t)(memory + 100);
	fixture_ok(dtconv_ipc_export(fixture_context, place, 4900, &handle));
	ck_assert_ptr_eq(open_handle(&handle), place);
	ck_assert_ptr_eq(open_handle(&handle), place);
	ck_assert_uint_eq(numbers().open, 1);
	ck_assert_uint_eq(numbers().hits, 2);
	ck_assert_uint_eq(numbers().driver_opens, 0);
	ck_assert_uint_eq(calls("cuIpcOpenMemHandle"), 0);
	close_address(place);
	close_address(place);
	must_say(dtconv_ipc_close(fixture_context, place), DTCONV_ERR_INVAL, "no range");
	ck_assert_uint_eq(numbers().open, 0);
	ck_assert_uint_eq(numbers().idle, 0);
	MUST(MemFree(memory));
	must_refuse(&handle, DTCONV_ERR_STATE, "freed");
	MUST(MemAlloc(&memory, 5000));
	must_refuse(&handle, DTCONV_ERR_STATE, "freed");
	MUST(MemFree(memory));
}
END_TEST

START_TEST(a_range_is_in_its_allocation)
{
	struct dtconv_ipc_handle handle;
	CUdeviceptr memory;

	gpu_open();
	MUST(MemAlloc(&memory, 5000));
	unsigned char *base = (unsigned char *)(uintptr_t)memory;
	fixture_ok(dtconv_ipc_export(fixture_context, base, 5000, &handle));
	fixture_ok(dtconv_ipc_export(fixture_context, base + 4999, 0, &handle));
	must_say(dtconv_ipc_export(fixture_context, base, 5001, &handle),
		 DTCONV_ERR_INVAL, "ends after 5000");
	must_say(dtconv_ipc_export(fixture_context, base + 1, 5000, &handle),
		 DTCONV_ERR_INVAL, "ends after 4999");
	must_say(dtconv_ipc_export(fixture_context, base + 1, SIZE_MAX, &handle),
		 DTCONV_ERR_INVAL, "ends after 4999");
	MUST(MemFree(memory));
}
END_TEST

static const struct {
	enum arena_kind kind;
	const char *words;
} others[] = {
	{ ARENA_HOST, "of kind host" },     { ARENA_REGISTERED, "of kind pinned" },
	{ ARENA_PINNED, "of kind pinned" }, { ARENA_MANAGED, "of kind managed" },
	{ ARENA_ASYNC, "cuMemAllocAsync" }, { ARENA_VMM, "mapping of cuMemMap" },
};

START_TEST(other_memory_is_refused)
{
	struct dtconv_ipc_handle handle;
	struct arena arena;

	gpu_open();
	arena_open(&arena, others[_i].kind, 100);
	must_say(dtconv_ipc_export(fixture_context, arena.memory, 100, &handle),
		 DTCONV_ERR_UNSUPPORTED, others[_i].words);
	ck_assert_msg(strstr(fixture_error(), "segment"), "%s", fixture_error());
	arena_close(&arena);
}
END_TEST

START_TEST(without_a_driver_nothing_is_shared)
{
	struct dtconv_ipc_handle handle, none = { .bytes = "" };
	struct dtconv_ipc_attr old = { .struct_size = 0 };
	char byte = 0;

	must_say(dtconv_ipc_export(fixture_context, &byte, 1, &handle),
		 DTCONV_ERR_UNSUPPORTED, "no device driver");
	must_refuse(&none, DTCONV_ERR_FORMAT, "of another version");
	must_say(dtconv_ipc_close(fixture_context, &byte), DTCONV_ERR_INVAL, "no range");
	fixture_ok(dtconv_ipc_trim(fixture_context, 0));
	ck_assert_uint_eq(numbers().driver_opens, 0);
	must_say(dtconv_ipc_query(fixture_context, &old), DTCONV_ERR_INVAL,
		 "struct_size");
}
END_TEST

START_TEST(a_forked_child_is_refused)
{
	struct dtconv_ipc_handle handle;
	CUdeviceptr memory;
	int status;

	gpu_open();
	MUST(MemAlloc(&memory, 5000));
	void *place = (void *)(uintptr_t)memory;
	fixture_ok(dtconv_ipc_export(fixture_context, place, 1, &handle));
	pid_t child = fork();
	if (!child) {
		int got = dtconv_ipc_open(fixture_context, &handle, 0, &place);

		dtconv_context_destroy(fixture_context);
		_exit(got == DTCONV_ERR_STATE ? 0 : 1);
	}
	waitpid(child, &status, 0);
	ck_assert_int_eq(status, 0);
	MUST(MemFree(memory));
}
END_TEST

START_TEST(only_the_owner_exports)
{
	struct dtconv_ipc_handle onward;
	struct owner owner;
	const struct dtconv_ipc_handle handle = open_owner(&owner, 4096);
	void *theirs = open_handle(&handle);

	must_say(dtconv_ipc_export(fixture_context, theirs, 1, &onward),
		 DTCONV_ERR_UNSUPPORTED, "only the process that has allocated");
	close_address(theirs);
	close_all(&owner);
}
END_TEST

/* ---- handles that lie -------------------------------------------------------------------- */

static struct dtc_ipc_handle read_handle(const struct dtconv_ipc_handle *handle)
{
	struct dtc_ipc_handle read;

	ck_assert_ptr_null(
		dtc_ipc_handle_read(handle->bytes, sizeof(handle->bytes), &read));
	return read;
}

/* As the library writes it, whatever it says: with the right checksum. */
static struct dtconv_ipc_handle forged(const struct dtc_ipc_handle *handle)
{
	struct dtconv_ipc_handle bytes;

	dtc_ipc_handle_write(handle, bytes.bytes);
	return bytes;
}

START_TEST(every_changed_byte_is_noticed)
{
	struct owner owner;
	const struct dtconv_ipc_handle good = open_owner(&owner, 4096);
	struct dtc_ipc_handle read;

	for (size_t i = 0; i < sizeof(good.bytes); i++)
		for (unsigned bit = 0; bit < 8; bit++) {
			struct dtconv_ipc_handle bad = good;

			bad.bytes[i] ^= (unsigned char)(1 << bit);
			must_refuse(&bad, DTCONV_ERR_FORMAT, "the handle (argument 2)");
		}
	for (size_t length = 0; length < sizeof(good.bytes); length++)
		ck_assert_ptr_nonnull(dtc_ipc_handle_read(good.bytes, length, &read));
	ck_assert_uint_eq(calls("cuIpcOpenMemHandle"), 0);
	close_all(&owner);
}
END_TEST

static const struct {
	uint64_t base, bytes, offset, range, id, process;
} lies[] = {
	{ 0x10000, 4096, 4096, 0, 7, 1 },
	{ 0x10000, 4096, 4000, 97, 7, 1 },
	{ 0x10000, 4096, 1, UINT64_MAX, 7, 1 },
	{ 0x10000, 4096, UINT64_MAX, 1, 7, 1 },
	{ 0x10000, UINT64_MAX, 0, 1, 7, 1 },
	{ UINT64_MAX - 100, 4096, 0, 1, 7, 1 },
	{ 0x10000, 0, 0, 0, 7, 1 },
	{ 0, 4096, 0, 1, 7, 1 },
	{ 0x10000, 4096, 0, 1, 0, 1 },
	{ 0x10000, 4096, 0, 1, 7, 0 },
};

START_TEST(impossible_numbers_are_refused)
{
	struct dtc_ipc_handle lie = { .owner.id = lies[_i].process,
				      .allocation = { .base = lies[_i].base,
						      .bytes = lies[_i].bytes,
						      .id = lies[_i].id },
				      .offset = lies[_i].offset,
				      .bytes = lies[_i].range };
	const struct dtconv_ipc_handle bytes = forged(&lie);

	must_refuse(&bytes, DTCONV_ERR_FORMAT, "names");
}
END_TEST

/* The numbers fit each other, but not the memory. */
START_TEST(lies_about_memory_are_refused)
{
	struct owner owner;
	const struct dtconv_ipc_handle good = open_owner(&owner, 4096);
	struct dtc_ipc_handle lie = read_handle(&good);
	struct dtconv_ipc_handle bad;

	lie.allocation.bytes = 4097;
	bad = forged(&lie);
	must_refuse(&bad, DTCONV_ERR_FORMAT, "has 4097 bytes, but the driver has mapped");
	lie = read_handle(&good);
	memset(lie.allocation.driver, 0x55, sizeof(lie.allocation.driver));
	bad = forged(&lie);
	must_refuse(&bad, DTCONV_ERR_BACKEND, "cuIpcOpenMemHandle");
	memset(lie.allocation.device, 0x55, sizeof(lie.allocation.device));
	bad = forged(&lie);
	must_refuse(
		&bad, DTCONV_ERR_BACKEND,
		"GPU-55555555-5555-5555-5555-555555555555, which this process does not");
	lie = read_handle(&good);
	lie.owner.boot[3] ^= 1;
	bad = forged(&lie);
	must_refuse(&bad, DTCONV_ERR_UNSUPPORTED, "another machine");
	/* A later process with the same number is another owner. */
	lie = read_handle(&good);
	void *theirs = open_handle(&good);
	lie.owner.start++;
	bad = forged(&lie);
	ck_assert_ptr_nonnull(open_handle(&bad));
	ck_assert_uint_eq(numbers().driver_opens, 2);
	close_address(theirs);
	close_address(theirs);
	/* As if it were this process's. */
	ck_assert(dtc_process_self(&lie.owner));
	bad = forged(&lie);
	must_refuse(&bad, DTCONV_ERR_STATE, "memory of this process");
	close_all(&owner);
}
END_TEST

#define RANDOM_HANDLES 100000

/* Random bytes, in half of them behind a right beginning and before a right checksum. */
START_TEST(random_handles_harm_nobody)
{
	struct choices choices = fixture_choices(20);
	struct dtc_ipc_handle read;
	size_t good = 0;

	for (int i = 0; i < RANDOM_HANDLES; i++) {
		struct dtc_ipc_handle lie;
		struct dtconv_ipc_handle bytes;
		unsigned char *at = (unsigned char *)&lie;

		for (size_t k = 0; k < sizeof(lie); k++)
			at[k] = (unsigned char)choose(&choices, 256);
		/* So that some of them are possible. */
		lie.allocation.base >>= choose(&choices, 40);
		lie.allocation.bytes >>= choose(&choices, 64);
		lie.offset >>= choose(&choices, 64);
		lie.bytes >>= choose(&choices, 64);
		bytes = forged(&lie);
		if (i % 2)
			bytes.bytes[choose(&choices, sizeof(bytes.bytes))] ^= 1;
		const bool taken =
			!dtc_ipc_handle_read(bytes.bytes, sizeof(bytes.bytes), &read);
		good += taken;
		ck_assert(!taken || (!(i % 2) && read.offset < read.allocation.bytes &&
				     read.bytes <= read.allocation.bytes - read.offset &&
				     read.allocation.base + read.allocation.bytes >
					     read.allocation.base));
	}
	ck_assert_uint_gt(good, 100);
}
END_TEST

int main(void)
{
	setenv("CK_FORK", "yes", 1);
	gpu_find();
	Suite *suite = suite_create("ipc");
	TCase *processes = fixture_case(suite, "processes", 60);
	TCase *cache = fixture_case(suite, "cache", 60);
	TCase *own = fixture_case(suite, "own", 60);
	TCase *hostile = fixture_case(suite, "hostile", 60);

	tcase_add_loop_test(processes, opened_memory_works_on_either_side, 0, 2 * TEXTS);
	tcase_add_test(processes, an_owner_that_has_exited_is_noticed);
	tcase_add_test(cache, one_allocation_is_mapped_once);
	tcase_add_test(cache, each_device_has_a_mapping_of_its_own);
	tcase_add_test(cache, a_device_is_named_or_current);
	tcase_add_test(cache, memory_that_was_allocated_anew_is_mapped_anew);
	tcase_add_test(cache, memory_replaces_all_that_it_overlaps);
	tcase_add_test(cache, freed_memory_in_use_is_no_longer_handed_out);
	tcase_add_test(cache, eviction_spares_what_is_open);
	tcase_add_test(cache, threads_open_and_close);
	tcase_add_test(own, own_memory_is_its_own_address);
	tcase_add_test(own, a_range_is_in_its_allocation);
	tcase_add_loop_test(own, other_memory_is_refused, 0,
			    (int)(sizeof(others) / sizeof(others[0])));
	tcase_add_test(own, only_the_owner_exports);
	tcase_add_test(own, without_a_driver_nothing_is_shared);
	tcase_add_test(own, a_forked_child_is_refused);
	tcase_add_test(hostile, every_changed_byte_is_noticed);
	tcase_add_loop_test(hostile, impossible_numbers_are_refused, 0,
			    (int)(sizeof(lies) / sizeof(lies[0])));
	tcase_add_test(hostile, lies_about_memory_are_refused);
	tcase_add_test(hostile, random_handles_harm_nobody);
	return fixture_run(suite);
}
