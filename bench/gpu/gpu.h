/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A device as the bench uses it: its context, a stream, two events, and one block of memory in
 * each place that a buffer can be in. The first failed call is kept as a message; the rows
 * after it fail.
 */
#ifndef BENCH_GPU_GPU_H
#define BENCH_GPU_GPU_H

#include <stdbool.h>
#include <stdint.h>

#include "bench/gpu/driver.h"

/* Where a buffer lies. */
enum gpu_place {
	PLACE_DEVICE,
	PLACE_PINNED,     /* the driver's */
	PLACE_REGISTERED, /* pageable memory, registered */
	PLACE_HOST,       /* pageable memory */
	PLACE_PEER,       /* another device's */
	PLACES
};

/* The word of the JSON keys src and dst. */
const char *gpu_place_name(enum gpu_place place);

/* What each place holds: a user's buffer, a packed one, and one for the driver's own copies. */
enum gpu_role { ROLE_USER, ROLE_PACKED, ROLE_FLAT, ROLES };

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
	char name[96];
	int version;           /* of the driver: 13000 is 13.0 */
	char peer_absent[160]; /* why there is no peer; empty: there is one */
	char problem[200];     /* the first failed call; empty: none */
};

/* Device 0. Returns 0, or -1 with the sentence in `gpu->problem`. */
int gpu_open(struct gpu *gpu);
/* Any device, and no more of it than its name, its context and its memory. */
int gpu_open_alone(struct gpu *gpu, int ordinal);
/* Also after one of these that failed. */
void gpu_close(struct gpu *gpu);

/* Whether the call succeeded; the first failure is kept in gpu->problem. */
bool gpu_took(struct gpu *gpu, CUresult result, const char *call);

#define GPU_CALL(gpu, call) gpu_took(gpu, (gpu)->driver.call, #call)

/*
 * Memory of a place for a role, at least so many bytes, kept until gpu_close; NULL with the sentence in
 * `gpu->problem`. A larger one takes the place of the one before.
 */
unsigned char *gpu_memory(struct gpu *gpu, enum gpu_place place, enum gpu_role role,
			  size_t bytes);

/* Between any two places; done when it returns. */
bool gpu_copy(struct gpu *gpu, void *to, const void *from, size_t bytes);

/* Queue a kernel that stores `value` in the flag; wait, without the driver, until it is there. */
bool gpu_store_flag(struct gpu *gpu, uint64_t value);
void gpu_wait_flag(const struct gpu *gpu, uint64_t value);

/*
 * What is queued between the two on the stream begins when it is let go, or a millisecond after the stream has come
 * to it: so that what the device needs for it does not contain the calls that put it there.
 */
bool gpu_hold(struct gpu *gpu);
void gpu_let_go(struct gpu *gpu);

static inline CUdeviceptr gpu_address(const void *memory)
{
	return (CUdeviceptr)(uintptr_t)memory;
}

#endif
