/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Opens a device and allocates its memory.
 */
#include "config.h"

#include "bench/gpu/gpu.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE 4096u

const char *gpu_place_name(enum gpu_place place)
{
	static const char *const names[PLACES] = { "device", "pinned", "registered",
						   "host", "peer" };

	return names[place];
}

bool gpu_took(struct gpu *gpu, CUresult result, const char *call)
{
	if (!result)
		return true;
	if (!gpu->problem[0])
		snprintf(gpu->problem, sizeof(gpu->problem), "cu%.*s failed: %s",
			 (int)strcspn(call, "("), call,
			 gpu_result_name(&gpu->driver, result));
	return false;
}

/* ---- the smallest kernels -------------------------------------------------------------- */

/*
 * The first kernel stores a word that the host polls, ordered behind earlier writes. The second
 * ends when the host has stored a word, or after a millisecond.
 */
static const char flag_kernels[] =
	".version 6.4\n.target sm_70\n.address_size 64\n"
	".visible .entry store_flag(.param .align 8 .b8 params[16]) {\n"
	" .reg .u64 %word, %value;\n"
	" ld.param.u64 %word, [params];\n"
	" ld.param.u64 %value, [params+8];\n"
	" st.release.sys.global.u64 [%word], %value;\n"
	" ret;\n}\n"
	".visible .entry await_flag(.param .align 8 .b8 params[16]) {\n"
	" .reg .u64 %word, %value, %seen, %now, %end;\n"
	" .reg .pred %come, %early;\n"
	" ld.param.u64 %word, [params];\n"
	" ld.param.u64 %value, [params+8];\n"
	" mov.u64 %end, %globaltimer;\n"
	" add.u64 %end, %end, 1000000;\n"
	"again:\n"
	" ld.acquire.sys.global.u64 %seen, [%word];\n"
	" setp.ge.u64 %come, %seen, %value;\n"
	" @%come bra done;\n"
	" mov.u64 %now, %globaltimer;\n"
	" setp.lt.u64 %early, %now, %end;\n"
	" @%early bra again;\n"
	"done:\n"
	" ret;\n}\n";

/* Words in two cache lines, one for each direction of signals. */
#define HELD_WORD  16
#define FLAG_WORDS 32

static bool open_flag(struct gpu *gpu)
{
	void *flag;

	if (!GPU_CALL(gpu,
		      MemHostAlloc(&flag, FLAG_WORDS * sizeof(*gpu->flag),
				   CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP)))
		return false;
	gpu->flag = flag;
	memset(flag, 0, FLAG_WORDS * sizeof(*gpu->flag));
	return GPU_CALL(gpu, ModuleLoadData(&gpu->module, flag_kernels)) &&
	       GPU_CALL(gpu,
			ModuleGetFunction(&gpu->store_flag, gpu->module, "store_flag")) &&
	       GPU_CALL(gpu,
			ModuleGetFunction(&gpu->await_flag, gpu->module, "await_flag"));
}

static bool queue_flag_kernel(struct gpu *gpu, CUfunction kernel, const uint64_t *word,
			      uint64_t value)
{
	struct {
		uint64_t word, value;
	} argument = { (uint64_t)(uintptr_t)word, value };
	void *arguments[] = { &argument };

	return GPU_CALL(gpu, LaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, gpu->stream,
					  arguments, NULL));
}

bool gpu_store_flag(struct gpu *gpu, uint64_t value)
{
	return queue_flag_kernel(gpu, gpu->store_flag, gpu->flag, value);
}

/*
 * Polls before yielding the CPU after each: some 20 us, longer than the timed operations take.
 */
#define LOOKS 16384

void gpu_wait_flag(const struct gpu *gpu, uint64_t value)
{
	for (uint32_t looks = 0; __atomic_load_n(gpu->flag, __ATOMIC_ACQUIRE) != value;)
		if (looks < LOOKS)
			looks++;
		else
			sched_yield();
}

bool gpu_hold(struct gpu *gpu)
{
	const uint64_t *word = gpu->flag + HELD_WORD;

	return queue_flag_kernel(gpu, gpu->await_flag, word, *word + 1);
}

void gpu_let_go(struct gpu *gpu)
{
	uint64_t *word = gpu->flag + HELD_WORD;

	__atomic_store_n(word, *word + 1, __ATOMIC_RELEASE);
}

/* ---- the device ------------------------------------------------------------------------ */

static bool reach(struct gpu *gpu, CUcontext from, CUcontext to)
{
	return GPU_CALL(gpu, CtxSetCurrent(from)) &&
	       GPU_CALL(gpu, CtxEnablePeerAccess(to, 0));
}

/* A second device with mutual peer access. It is optional. */
static bool open_peer(struct gpu *gpu, int devices)
{
	int there = 0, back = 0;

	if (devices < 2) {
		snprintf(gpu->peer_absent, sizeof(gpu->peer_absent),
			 "there is only one device");
		return true;
	}
	if (!GPU_CALL(gpu, DeviceGet(&gpu->peer, 1)) ||
	    !GPU_CALL(gpu, DeviceCanAccessPeer(&there, gpu->device, gpu->peer)) ||
	    !GPU_CALL(gpu, DeviceCanAccessPeer(&back, gpu->peer, gpu->device)))
		return false;
	if (!there || !back) {
		snprintf(gpu->peer_absent, sizeof(gpu->peer_absent),
			 "devices 0 and 1 have no peer access");
		return true;
	}
	return GPU_CALL(gpu, DevicePrimaryCtxRetain(&gpu->peer_context, gpu->peer)) &&
	       reach(gpu, gpu->peer_context, gpu->context) &&
	       reach(gpu, gpu->context, gpu->peer_context);
}

/* What work is queued and timed with, in the current context. */
static bool open_work(struct gpu *gpu)
{
	return GPU_CALL(gpu, StreamCreate(&gpu->stream, CU_STREAM_NON_BLOCKING)) &&
	       GPU_CALL(gpu, EventCreate(&gpu->begin, CU_EVENT_DEFAULT)) &&
	       GPU_CALL(gpu, EventCreate(&gpu->end, CU_EVENT_DEFAULT)) && open_flag(gpu);
}

static void close_work(struct gpu *gpu)
{
	if (gpu->module)
		GPU_CALL(gpu, ModuleUnload(gpu->module));
	if (gpu->flag)
		GPU_CALL(gpu, MemFreeHost(gpu->flag));
	if (gpu->begin)
		GPU_CALL(gpu, EventDestroy(gpu->begin));
	if (gpu->end)
		GPU_CALL(gpu, EventDestroy(gpu->end));
	if (gpu->stream)
		GPU_CALL(gpu, StreamDestroy(gpu->stream));
}

static bool open_device(struct gpu *gpu)
{
	int devices = 0;

	if (!GPU_CALL(gpu, DeviceGetCount(&devices)))
		return false;
	if (!devices) {
		snprintf(gpu->problem, sizeof(gpu->problem), "%s", GPU_NO_DEVICE);
		return false;
	}
	return GPU_CALL(gpu, DeviceGet(&gpu->device, 0)) &&
	       GPU_CALL(gpu, DeviceGetName(gpu->name, sizeof(gpu->name), gpu->device)) &&
	       GPU_CALL(gpu, DriverGetVersion(&gpu->version)) &&
	       GPU_CALL(gpu, DevicePrimaryCtxRetain(&gpu->context, gpu->device)) &&
	       open_peer(gpu, devices) && GPU_CALL(gpu, CtxSetCurrent(gpu->context)) &&
	       open_work(gpu);
}

int gpu_open(struct gpu *gpu)
{
	memset(gpu, 0, sizeof(*gpu));
	gpu->first = gpu;
	if (gpu_driver_open(&gpu->driver, gpu->problem, sizeof(gpu->problem)))
		return -1;
	return open_device(gpu) ? 0 : -1;
}

int gpu_open_alone(struct gpu *gpu, int ordinal)
{
	memset(gpu, 0, sizeof(*gpu));
	gpu->first = gpu;
	if (gpu_driver_open(&gpu->driver, gpu->problem, sizeof(gpu->problem)))
		return -1;
	if (GPU_CALL(gpu, DeviceGet(&gpu->device, ordinal)) &&
	    GPU_CALL(gpu, DeviceGetName(gpu->name, sizeof(gpu->name), gpu->device)) &&
	    GPU_CALL(gpu, DevicePrimaryCtxRetain(&gpu->context, gpu->device)) &&
	    GPU_CALL(gpu, CtxSetCurrent(gpu->context)))
		return 0;
	return -1;
}

/* ---- the other device ------------------------------------------------------------------ */

bool gpu_enter(struct gpu *gpu)
{
	return GPU_CALL(gpu, CtxSetCurrent(gpu->context));
}

void gpu_leave(struct gpu *gpu)
{
	GPU_CALL(gpu, CtxSetCurrent(gpu->first->context));
}

static void close_other(struct gpu *gpu)
{
	if (!gpu->other)
		return;
	gpu_enter(gpu->other);
	close_work(gpu->other);
	gpu_leave(gpu->other);
	free(gpu->other);
	gpu->other = NULL;
}

struct gpu *gpu_other(struct gpu *gpu)
{
	struct gpu *other = gpu->other;

	if (other)
		return other;
	other = gpu->other = calloc(1, sizeof(*other));
	if (!other) {
		snprintf(gpu->problem, sizeof(gpu->problem), "no memory");
		return NULL;
	}
	other->driver = gpu->driver;
	other->device = gpu->peer;
	other->context = gpu->peer_context;
	other->first = gpu;
	bool opened = gpu_enter(other) && open_work(other);
	gpu_leave(other);
	if (opened)
		return other;
	memcpy(gpu->problem, other->problem, sizeof(gpu->problem));
	close_other(gpu);
	return NULL;
}

/* ---- memory ---------------------------------------------------------------------------- */

static void give_back(struct gpu *gpu, enum gpu_place place, struct gpu_block *block)
{
	if (!block->memory)
		return;
	if (place == PLACE_REGISTERED)
		GPU_CALL(gpu, MemHostUnregister(block->memory));
	if (place == PLACE_PINNED)
		GPU_CALL(gpu, MemFreeHost(block->memory));
	else if (place == PLACE_REGISTERED || place == PLACE_HOST)
		free(block->memory);
	else
		GPU_CALL(gpu, MemFree(gpu_address(block->memory)));
	*block = (struct gpu_block){ 0 };
}

static unsigned char *of_device(struct gpu *gpu, CUcontext context, size_t bytes)
{
	CUdeviceptr memory = 0;

	if (!GPU_CALL(gpu, CtxSetCurrent(context)))
		return NULL;
	if (!GPU_CALL(gpu, MemAlloc(&memory, bytes)))
		memory = 0;
	GPU_CALL(gpu, CtxSetCurrent(gpu->context));
	return (unsigned char *)(uintptr_t)memory;
}

/* Write to it before it is registered or used, so that its pages exist. */
static unsigned char *of_host(struct gpu *gpu, enum gpu_place place, size_t bytes)
{
	void *memory = aligned_alloc(PAGE, (bytes + PAGE - 1) / PAGE * PAGE);

	if (!memory) {
		snprintf(gpu->problem, sizeof(gpu->problem), "no memory for %zu bytes",
			 bytes);
		return NULL;
	}
	memset(memory, 0x5a, bytes);
	if (place == PLACE_REGISTERED &&
	    !GPU_CALL(gpu, MemHostRegister(memory, bytes, CU_MEMHOSTREGISTER_PORTABLE))) {
		free(memory);
		return NULL;
	}
	return memory;
}

static unsigned char *allocate(struct gpu *gpu, enum gpu_place place, size_t bytes)
{
	void *memory = NULL;

	switch (place) {
	case PLACE_PINNED:
		if (!GPU_CALL(gpu, MemHostAlloc(&memory, bytes,
						CU_MEMHOSTALLOC_PORTABLE |
							CU_MEMHOSTALLOC_DEVICEMAP)))
			return NULL;
		return memory;
	case PLACE_REGISTERED:
	case PLACE_HOST:
		return of_host(gpu, place, bytes);
	case PLACE_PEER:
		return of_device(gpu, gpu->peer_context, bytes);
	default:
		return of_device(gpu, gpu->context, bytes);
	}
}

unsigned char *gpu_memory(struct gpu *gpu, enum gpu_place place, enum gpu_role role,
			  size_t bytes)
{
	struct gpu_block *block = &gpu->blocks[place][role];

	if (block->bytes >= bytes)
		return block->memory;
	give_back(gpu, place, block);
	block->memory = allocate(gpu, place, bytes);
	block->bytes = block->memory ? bytes : 0;
	return block->memory;
}

bool gpu_copy(struct gpu *gpu, void *to, const void *from, size_t bytes)
{
	/* Not cuMemcpy: from pageable memory it may return before the bytes are on the device. */
	return GPU_CALL(gpu, MemcpyAsync(gpu_address(to), gpu_address(from), bytes, gpu->stream)) &&
	       GPU_CALL(gpu, StreamSynchronize(gpu->stream));
}

void gpu_close(struct gpu *gpu)
{
	for (int place = 0; place < PLACES; place++)
		for (int role = 0; role < ROLES; role++)
			give_back(gpu, (enum gpu_place)place, &gpu->blocks[place][role]);
	close_other(gpu);
	close_work(gpu);
	if (gpu->peer_context)
		GPU_CALL(gpu, DevicePrimaryCtxRelease(gpu->peer));
	if (gpu->context)
		GPU_CALL(gpu, DevicePrimaryCtxRelease(gpu->device));
}
