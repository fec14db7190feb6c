/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A device as the bench uses it: its context, a stream, two events, and one block of memory for
 * each place of a buffer. The error text of the first failed call is kept; the rows after it
 * fail.
 */
#ifndef BENCH_GPU_GPU_H
#define BENCH_GPU_GPU_H

#include <stdbool.h>
#include <stdint.h>

#include "bench/gpu/driver.h"

/* The place of a buffer. */
enum gpu_place {
	PLACE_DEVICE,
	PLACE_PINNED,     /* the driver's */
	PLACE_REGISTERED, /* pageable memory, registered */
	PLACE_HOST,       /* pageable memory */
	PLACE_PEER,       /* another device's */
	PLACES
};

/* Its name in the JSON keys src and dst. */
const char *gpu_place_name(enum gpu_place place);

/*
 * The blocks at each place: a user's buffer, a packed one, and one for raw driver copies; both of another job at the
 * same time.
 */
enum gpu_role {
	ROLE_USER,
	ROLE_PACKED,
	ROLE_FLAT,
	ROLE_OTHER_USER,
	ROLE_OTHER_PACKED,
	ROLES
};

struct gpu_block {
	unsigned char *memory;
	size_t bytes;
};

struct gpu {
	struct gpu_driver driver;
	CUcontext context, peer_context; /* peer_context: NULL where there is no peer */
	CUdevice device, peer;
	CUstream stream;
	CUevent begin, end;
	CUmodule module;
	CUfunction store_flag, await_flag;
	uint64_t *flag; /* mapped host memory */
	struct gpu_block blocks[PLACES][ROLES];
	struct gpu *first, *other; /* first: itself, unless it is the other of one */
	char name[96];
	int version;           /* of the driver: 13000 is 13.0 */
	char peer_absent[160]; /* why there is no peer; empty: there is one */
	char problem[200];     /* the first failed call; empty: none */
};

/* Open device 0. Returns 0, or -1 with an error text in `gpu->problem`. */
int gpu_open(struct gpu *gpu);
/* Open any device, without events and kernels: its name, its context and its memory. */
int gpu_open_alone(struct gpu *gpu, int ordinal);
/*
 * The peer as a device of its own, with a context, a stream, events and a flag; closed with the first one, whose blocks of
 * memory serve both. NULL with an error text in `gpu->problem`.
 */
struct gpu *gpu_other(struct gpu *gpu);
/* The device that a place is of, or that reaches it; NULL as above. */
static inline struct gpu *gpu_at(struct gpu *gpu, enum gpu_place place)
{
	return place == PLACE_PEER ? gpu_other(gpu) : gpu;
}
/* Calls between the two use the device's context: loading, allocating, creating. All others use the first device's. */
bool gpu_enter(struct gpu *gpu);
void gpu_leave(struct gpu *gpu);
/* Call it even if opening failed. */
void gpu_close(struct gpu *gpu);

/* Whether the call succeeded. The first failure is recorded in gpu->problem. */
bool gpu_took(struct gpu *gpu, CUresult result, const char *call);

#define GPU_CALL(gpu, call) gpu_took(gpu, (gpu)->driver.call, #call)

/*
 * Memory of at least that many bytes at a place for a role, valid until gpu_close. NULL with an
 * error text in `gpu->problem`. A larger block replaces the previous one.
 */
unsigned char *gpu_memory(struct gpu *gpu, enum gpu_place place, enum gpu_role role,
			  size_t bytes);

/* Copy between any two places; complete on return. */
bool gpu_copy(struct gpu *gpu, void *to, const void *from, size_t bytes);

/* Queue a kernel that stores `value` in the flag; poll the flag, without the driver. */
bool gpu_store_flag(struct gpu *gpu, uint64_t value);
void gpu_wait_flag(const struct gpu *gpu, uint64_t value);

/*
 * Work that is queued between the two calls starts when the stream is released, or a
 * millisecond after the stream reaches it. So device times do not include the time of the calls
 * that queue it.
 */
bool gpu_hold(struct gpu *gpu);
void gpu_let_go(struct gpu *gpu);

static inline CUdeviceptr gpu_address(const void *memory)
{
	return (CUdeviceptr)(uintptr_t)memory;
}

#endif
