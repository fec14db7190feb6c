/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A driver for tests, and memory that it makes.
 */
#include "config.h"

#include "support/gpu.h"

#include <dlfcn.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "copy_backends/cuda/device/completion.h"
#include "support/fixture.h"
#include "support/marks.h"
#include "support/standin_load.h"

struct gpu_driver gpu;

const char *const arena_kind_names[ARENA_KINDS] = { "host",    "registered", "pinned",
						    "managed", "device",     "async",
						    "vmm",     "host-numa" };

void gpu_must(CUresult result, const char *what)
{
	if (!result)
		return;
	fprintf(stderr, "%s answered %d\n", what, (int)result);
	if (gpu.running)
		ck_abort_msg("%s answered %d", what, (int)result);
	exit(1);
}

TCase *gpu_case(Suite *suite, const char *name, double seconds)
{
	TCase *tcase = fixture_case(suite, name, seconds);

	tcase_add_checked_fixture(tcase, gpu_open, NULL);
	return tcase;
}

CUstream gpu_stream(void)
{
	CUstream stream;

	MUST(StreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	return stream;
}

void gpu_nap(long milliseconds)
{
	nanosleep(&(struct timespec){ .tv_nsec = milliseconds * 1000000 }, NULL);
}

#define ENTRY_NAME(name, version) "cu" #name,

const char *const gpu_entries[] = { DTC_CUDA_ENTRIES(ENTRY_NAME) };
const int gpu_entry_count = sizeof(gpu_entries) / sizeof(gpu_entries[0]);

void gpu_must_be_idle(struct dtconv_context *context, const char *when)
{
	struct dtc_cuda *cuda = dtc_cuda_of(context);

	for (struct dtc_cuda_context *device = cuda ? cuda->contexts : NULL; device;
	     device = device->next)
		for (size_t i = 0; i < DTC_CUDA_FLAGS / 64; i++)
			ck_assert_msg(!atomic_load(&dtc_cuda_flags_of(device)->taken[i]),
				      "%s: a job that has ended keeps its flag", when);
}

void gpu_must_be_clean(const char *faults)
{
	char text[2000];

	gpu_close();
	if (!gpu.standin)
		return;
	size_t leaks = gpu.standin->leaks(text, sizeof(text));
	ck_assert_msg(!leaks, "%s: left behind: %s", faults, text);
	gpu.standin->reset();
}

/* ---- refused calls of the stand-in ------------------------------------------------------- */

/* So many first calls of each entry point. */
#define REFUSED_CALLS 6

/* Before gpu_refuse. */
static unsigned fired;

void gpu_refuse(const char *entry, unsigned nth)
{
	fired = gpu.standin->fired();
	gpu.standin->inject(entry, nth, CUDA_ERROR_OUT_OF_MEMORY);
}

bool gpu_was_refused(void)
{
	bool refused = gpu.standin->fired() != fired;

	gpu.standin->inject_clear();
	return refused;
}

void gpu_refuse_calls(const char *entry, gpu_attempt_fn *attempt, int arg)
{
	for (unsigned nth = 1; nth <= REFUSED_CALLS; nth++)
		if (!attempt(entry, nth, arg))
			break;
}

TCase *gpu_faults(Suite *suite)
{
	TCase *faults = tcase_create("faults");

	tcase_set_timeout(faults, 60);
	suite_add_tcase(suite, faults);
	return faults;
}

int gpu_refusals(void)
{
	return gpu_is_real() ? 0 : gpu_entry_count;
}

/* ---- the driver ------------------------------------------------------------------------ */

static void find_entry(PFN_cuGetProcAddress_v12000 find, const char *name, int version,
		       void *entry)
{
	CUdriverProcAddressQueryResult outcome;
	void *found = NULL;

	if (find(name, &found, version, CU_GET_PROC_ADDRESS_LEGACY_STREAM, &outcome) || !found) {
		fprintf(stderr, "the driver has no %s of version %d\n", name, version);
		exit(1);
	}
	memcpy(entry, &found, sizeof(found));
}

#define FIND(name, version) find_entry(find, "cu" #name, version, &gpu.name);

static void find_entries(void *library)
{
	PFN_cuGetProcAddress_v12000 find;
	void *symbol = dlsym(library, "cuGetProcAddress_v2");

	memcpy(&find, &symbol, sizeof(symbol));
	GPU_ENTRIES(FIND)
}

/* Reads no library, so that a process may ask before it is forked. */
bool gpu_is_real(void)
{
	return access("/dev/nvidiactl", F_OK) == 0;
}

/* A child looks, so that this process has no driver yet when it is forked for its cases. */
static int find_in_child(void)
{
	pid_t child = fork();
	int status = 0, devices = 0;

	if (child == 0) {
		void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);

		if (!library)
			_exit(standin_load() ? 0 : 1);
		find_entries(library);
		_exit(!gpu.Init(0) && !gpu.DeviceGetCount(&devices) && devices ? 0 : 2);
	}
	waitpid(child, &status, 0);
	return WEXITSTATUS(status);
}

void gpu_find(void)
{
	static const char *const reasons[] = {
		NULL, "there is neither a CUDA driver nor cuda.h for a stand-in",
		"there is a CUDA driver, but no device"
	};
	int outcome = find_in_child();

	if (!outcome)
		return;
	puts(reasons[outcome]);
	exit(77);
}

/* The first device's. */
static CUcontext primary;

void gpu_open(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	CUdevice device;

	if (!library) {
		gpu.standin = standin_load();
		library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	}
	find_entries(library);
	MUST(Init(0));
	MUST(DeviceGet(&device, 0));
	MUST(DevicePrimaryCtxRetain(&primary, device));
	MUST(CtxSetCurrent(primary));
	gpu.running = true;
}

void gpu_open_in_program(void)
{
	setenv("CK_FORK", "no", 1);
	gpu_find();
	gpu_open();
}

void gpu_close(void)
{
	MUST(CtxSetCurrent(NULL));
	MUST(DevicePrimaryCtxRelease(0));
}

/* ---- memory ---------------------------------------------------------------------------- */

static CUmemAllocationProp vmm_properties(enum arena_kind kind)
{
	CUmemAllocationProp properties = {
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 }
	};

	if (kind == ARENA_HOST_NUMA) {
		properties.location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
		MUST(DeviceGetAttribute(&properties.location.id,
					CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID, 0));
	}
	return properties;
}

static size_t vmm_granule(const CUmemAllocationProp *properties)
{
	size_t granule;

	MUST(MemGetAllocationGranularity(&granule, properties,
					 CU_MEM_ALLOC_GRANULARITY_MINIMUM));
	return granule;
}

/* At least two handles, so that no range lies in one mapping for certain. */
static void open_vmm(struct arena *arena)
{
	const CUmemAllocationProp properties = vmm_properties(arena->kind);
	const CUmemAccessDesc access = {
		.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0 },
		.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE
	};
	size_t granule = vmm_granule(&properties);
	CUdeviceptr base;

	arena->reserved = (arena->bytes + granule - 1) / granule * granule + granule;
	MUST(MemAddressReserve(&base, arena->reserved, 0, 0, 0));
	for (size_t at = 0; at < arena->reserved; at += granule) {
		CUmemGenericAllocationHandle handle;

		MUST(MemCreate(&handle, granule, &properties, 0));
		MUST(MemMap(base + at, granule, 0, handle, 0));
		MUST(MemRelease(handle));
	}
	MUST(MemSetAccess(base, arena->reserved, &access, 1));
	/* The data lies across the border of the first two handles. */
	size_t before = arena->bytes / 2 < granule / 2 ? arena->bytes / 2 : granule / 2;
	arena->memory = (unsigned char *)(uintptr_t)(base + granule - before / 64 * 64);
}

uintptr_t arena_base(const struct arena *arena)
{
	const CUmemAllocationProp properties = vmm_properties(arena->kind);
	size_t granule = vmm_granule(&properties);

	return ((uintptr_t)arena->memory - 1) / granule * granule;
}

/*
 * The addresses can be kept until the process ends: compute-sanitizer's initcheck writes to some that were given back, by
 * which a kernel fails that has done nothing wrong.
 */
static void close_vmm(struct arena *arena)
{
	CUdeviceptr start = (CUdeviceptr)arena_base(arena);

	MUST(MemUnmap(start, arena->reserved));
	if (!getenv("DTCONV_TEST_KEEP_ADDRESSES"))
		MUST(MemAddressFree(start, arena->reserved));
}

/*
 * Kernels may load all of an aligned 16-byte word that holds a byte of the layout. compute-sanitizer knows how long an
 * allocation is, and reports such a load beyond its end.
 */
#define WIDEST_LOAD 16u

static size_t allocated_bytes(const struct arena *arena)
{
	return (arena->bytes + WIDEST_LOAD - 1) / WIDEST_LOAD * WIDEST_LOAD;
}

static CUdeviceptr open_device(struct arena *arena)
{
	const size_t bytes = allocated_bytes(arena);
	CUdeviceptr memory = 0;

	if (arena->kind == ARENA_MANAGED)
		MUST(MemAllocManaged(&memory, bytes, CU_MEM_ATTACH_GLOBAL));
	else if (arena->kind == ARENA_ASYNC) {
		MUST(MemAllocAsync(&memory, bytes, NULL));
		MUST(StreamSynchronize(NULL));
	} else
		MUST(MemAlloc(&memory, bytes));
	return memory;
}

static void open_host(struct arena *arena)
{
	void *memory;

	if (arena->kind == ARENA_PINNED) {
		MUST(MemHostAlloc(&memory, allocated_bytes(arena),
				  CU_MEMHOSTALLOC_PORTABLE));
	} else {
		memory = aligned_alloc(4096, (arena->bytes + 4095) / 4096 * 4096);
		if (!memory)
			gpu_must(CUDA_ERROR_OUT_OF_MEMORY, "aligned_alloc");
	}
	if (arena->kind == ARENA_REGISTERED)
		MUST(MemHostRegister(memory, allocated_bytes(arena),
				     CU_MEMHOSTREGISTER_PORTABLE));
	arena->memory = memory;
}

/*
 * The context of another device, or of the application. Arenas of the first device's make no call that tests refuse.
 */
static void find_owner(struct arena *arena)
{
	CUcontext current;

	MUST(CtxGetCurrent(&current));
	if (current != primary)
		arena->owner = current;
}

void arena_open(struct arena *arena, enum arena_kind kind, size_t bytes)
{
	*arena = (struct arena){ .kind = kind, .bytes = bytes ? bytes : 1 };
	if (kind > ARENA_PINNED)
		find_owner(arena);
	if (kind == ARENA_VMM || kind == ARENA_HOST_NUMA)
		open_vmm(arena);
	else if (kind <= ARENA_PINNED)
		open_host(arena);
	else
		arena->memory = (unsigned char *)(uintptr_t)open_device(arena);
}

void arena_close(struct arena *arena)
{
	CUdeviceptr memory = (CUdeviceptr)(uintptr_t)arena->memory;

	if (arena->kind == ARENA_REGISTERED)
		MUST(MemHostUnregister(arena->memory));
	if (arena->kind <= ARENA_REGISTERED)
		free(arena->memory);
	else if (arena->kind == ARENA_PINNED)
		MUST(MemFreeHost(arena->memory));
	else if (arena->kind == ARENA_ASYNC)
		MUST(MemFreeAsync(memory, NULL));
	else if (arena->kind == ARENA_VMM || arena->kind == ARENA_HOST_NUMA)
		close_vmm(arena);
	else
		MUST(MemFree(memory));
}

/* From ordinary memory cuMemcpy may return before the bytes are on the device. */
static void copy(void *to, const void *from, size_t bytes)
{
	if (!bytes)
		return;
	MUST(Memcpy((CUdeviceptr)(uintptr_t)to, (CUdeviceptr)(uintptr_t)from, bytes));
	MUST(StreamSynchronize(NULL));
}

/* The driver may write another device's memory in a stream of that device. */
static void await_owner(const struct arena *arena)
{
	CUcontext current;

	if (!arena->owner)
		return;
	MUST(CtxGetCurrent(&current));
	if (arena->owner == current)
		return;
	MUST(CtxSetCurrent(arena->owner));
	MUST(StreamSynchronize(NULL));
	MUST(CtxSetCurrent(current));
}

void arena_write(const struct arena *arena, size_t offset, const void *from, size_t bytes)
{
	copy(arena->memory + offset, from, bytes);
	if (arena->kind > ARENA_PINNED)
		await_owner(arena);
}

void arena_read(const struct arena *arena, size_t offset, void *to, size_t bytes)
{
	copy(to, arena->memory + offset, bytes);
}

void gpu_clear(void *memory, size_t bytes)
{
	MUST(MemsetD8((CUdeviceptr)(uintptr_t)memory, 0, bytes));
	MUST(StreamSynchronize(NULL));
}

/* ---- kernels --------------------------------------------------------------------------- */

/*
 * Text for the driver's compiler; the stand-in has kernels of the same names. Those that run until they are
 * told to stop give up after 2^33 ticks of the clock, so that no test hangs a device.
 */
static const char kernels[] =
	".version 6.4\n.target sm_60\n.address_size 64\n"
	".visible .entry standin_spin(.param .u64 word) {\n"
	" .reg .u64 %address, %value, %start, %now; .reg .pred %again;\n"
	" ld.param.u64 %address, [word];\n"
	" mov.u64 %start, %clock64;\n"
	"look:\n"
	" ld.volatile.global.u64 %value, [%address];\n"
	" setp.ne.u64 %again, %value, 0;\n"
	" @%again bra done;\n"
	" mov.u64 %now, %clock64;\n"
	" sub.u64 %now, %now, %start;\n"
	" setp.lt.u64 %again, %now, 8589934592;\n"
	" @%again bra look;\n"
	"done:\n"
	" ret;\n}\n"
	".visible .entry standin_count(.param .align 8 .b8 race[32]) {\n"
	" .reg .u64 %stop, %places, %counts, %place, %at, %start, %now;\n"
	" .reg .u32 %many, %me, %width, %group, %value, %count, %left; .reg .pred %is;\n"
	" ld.param.u64 %stop, [race];\n"
	" ld.param.u64 %places, [race+8];\n"
	" ld.param.u64 %counts, [race+16];\n"
	" ld.param.u32 %many, [race+24];\n"
	" mov.u32 %me, %tid.x;\n"
	" mov.u32 %width, %ntid.x;\n"
	" mov.u32 %group, %ctaid.x;\n"
	" mad.lo.u32 %me, %group, %width, %me;\n"
	" setp.ge.u32 %is, %me, %many;\n"
	" @%is bra done;\n"
	" mul.wide.u32 %at, %me, 8;\n"
	" add.u64 %at, %at, %places;\n"
	" ld.global.u64 %place, [%at];\n"
	" mov.u32 %count, 0;\n"
	" mov.u64 %start, %clock64;\n"
	"look:\n"
	" mov.u32 %left, 64;\n"
	"up:\n"
	" ld.volatile.global.u8 %value, [%place];\n"
	" add.u32 %value, %value, 1;\n"
	" st.volatile.global.u8 [%place], %value;\n"
	" add.u32 %count, %count, 1;\n"
	" sub.u32 %left, %left, 1;\n"
	" setp.ne.u32 %is, %left, 0;\n"
	" @%is bra up;\n"
	" ld.volatile.global.u64 %at, [%stop];\n"
	" setp.ne.u64 %is, %at, 0;\n"
	" @%is bra tell;\n"
	" mov.u64 %now, %clock64;\n"
	" sub.u64 %now, %now, %start;\n"
	" setp.lt.u64 %is, %now, 8589934592;\n"
	" @%is bra look;\n"
	"tell:\n"
	" mul.wide.u32 %at, %me, 4;\n"
	" add.u64 %at, %at, %counts;\n"
	" st.global.u32 [%at], %count;\n"
	"done:\n"
	" ret;\n}\n"
	".visible .entry standin_fault(.param .u64 unused) {\n"
	" .reg .u64 %address;\n"
	" mov.u64 %address, 64;\n"
	" st.global.u64 [%address], %address;\n"
	" ret;\n}\n";

/* Never unloaded: unloading waits for the very kernel. */
static CUfunction load(const char *name)
{
	CUmodule module;
	CUfunction function;

	MUST(ModuleLoadData(&module, kernels));
	MUST(ModuleGetFunction(&function, module, name));
	return function;
}

static void launch(CUfunction function, CUstream stream, unsigned groups,
		   unsigned threads, const void *argument)
{
	void *params[] = { (void *)(uintptr_t)argument };

	MUST(LaunchKernel(function, groups, 1, 1, threads, 1, 1, 0, stream, params,
			  NULL));
}

/* 0, and a kernel looks at it. */
static uint64_t *mapped_word(void)
{
	void *word;

	MUST(MemHostAlloc(&word, sizeof(uint64_t),
			  CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP));
	memset(word, 0, sizeof(uint64_t));
	return word;
}

CUfunction spin_load(void)
{
	return load("standin_spin");
}

void spin_launch(CUfunction kernel, uint64_t *word, CUstream stream)
{
	launch(kernel, stream, 1, 1,
	       &(struct standin_spin_params){ (uint64_t)(uintptr_t)word });
}

#define SPINS 64

/* Spins that run, by their words. */
static uint64_t *spinning[SPINS];
static pthread_mutex_t spinning_lock = PTHREAD_MUTEX_INITIALIZER;

/* The first place of @old becomes that of @new; of NULL, a free one. */
static void exchange_spin(uint64_t *old, uint64_t *new)
{
	size_t i = 0;

	pthread_mutex_lock(&spinning_lock);
	while (i < SPINS && spinning[i] != old)
		i++;
	if (i < SPINS)
		spinning[i] = new;
	pthread_mutex_unlock(&spinning_lock);
}

/* Those of a case that has failed: whoever cleans up behind it, and the next case, would wait for ever. */
static void release_spins(void)
{
	pthread_mutex_lock(&spinning_lock);
	for (size_t i = 0; i < SPINS; i++) {
		if (spinning[i])
			__atomic_store_n(spinning[i], 1, __ATOMIC_RELEASE);
		spinning[i] = NULL;
	}
	pthread_mutex_unlock(&spinning_lock);
}

void spin_begin(struct spin *spin, CUstream stream)
{
	spin->word = mapped_word();
	spin->stream = stream;
	fixture_behind = release_spins;
	exchange_spin(NULL, spin->word);
	spin_launch(spin_load(), spin->word, stream);
}

void spin_release(struct spin *spin)
{
	__atomic_store_n(spin->word, 1, __ATOMIC_RELEASE);
}

void spin_end(struct spin *spin)
{
	spin_release(spin);
	exchange_spin(spin->word, NULL);
	MUST(StreamSynchronize(spin->stream));
	MUST(MemFreeHost(spin->word));
}

static void *release_after_the_call(void *arg)
{
	const struct timespec nap = { .tv_nsec = 20000000 };
	struct spin_releaser *releaser = arg;

	while (gpu.standin->calls(releaser->entry) < releaser->calls &&
	       !__atomic_load_n(&releaser->ending, __ATOMIC_ACQUIRE))
		sched_yield();
	nanosleep(&nap, NULL);
	__atomic_store_n(&releaser->released, true, __ATOMIC_RELEASE);
	spin_release(releaser->spin);
	return NULL;
}

void releaser_begin(struct spin_releaser *releaser, struct spin *spin, const char *entry,
		    size_t nth)
{
	*releaser = (struct spin_releaser){ .spin = spin,
					    .entry = entry,
					    .calls = gpu.standin->calls(entry) + nth };
	ck_assert_int_eq(pthread_create(&releaser->thread, NULL, release_after_the_call,
					releaser),
			 0);
}

bool releaser_end(struct spin_releaser *releaser)
{
	bool released = __atomic_load_n(&releaser->released, __ATOMIC_ACQUIRE);

	__atomic_store_n(&releaser->ending, true, __ATOMIC_RELEASE);
	pthread_join(releaser->thread, NULL);
	return released;
}

#define GROUP 256

void race_begin(struct race *race, CUstream stream, unsigned char *const places[],
		size_t count)
{
	race->stream = stream;
	race->stop = mapped_word();
	race->count = count;
	arena_open(&race->places, ARENA_DEVICE, count * sizeof(places[0]));
	arena_open(&race->counts, ARENA_DEVICE, count * sizeof(uint32_t));
	arena_write(&race->places, 0, places, count * sizeof(places[0]));
	launch(load("standin_count"), stream, (unsigned)((count + GROUP - 1) / GROUP),
	       GROUP,
	       &(struct standin_count_params){ (uint64_t)(uintptr_t)race->stop,
					       (uint64_t)(uintptr_t)race->places.memory,
					       (uint64_t)(uintptr_t)race->counts.memory,
					       count });
}

void race_end(struct race *race, uint32_t counts[])
{
	__atomic_store_n(race->stop, 1, __ATOMIC_RELEASE);
	MUST(StreamSynchronize(race->stream));
	arena_read(&race->counts, 0, counts, race->count * sizeof(counts[0]));
	arena_close(&race->places);
	arena_close(&race->counts);
	MUST(MemFreeHost(race->stop));
}

void gpu_fault(CUstream stream)
{
	launch(load("standin_fault"), stream, 1, 1, &(struct standin_fault_params){ 0 });
}
