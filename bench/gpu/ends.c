/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which memory of a device the ends of messages are.
 */
#include "config.h"

#include "bench/gpu/ends.h"

#include <stdio.h>
#include <stdlib.h>

#include "bench/gpu/gpu.h"

static unsigned char *get_memory(void *gpu, enum end_role role, size_t bytes)
{
	static const struct {
		enum gpu_place place;
		enum gpu_role role;
	} blocks[END_ROLES] = {
		[END_FROM] = { PLACE_DEVICE, ROLE_USER },
		[END_TO] = { PLACE_DEVICE, ROLE_OTHER_USER },
		[END_PACKED] = { PLACE_PINNED, ROLE_PACKED },
		[END_OTHER_PACKED] = { PLACE_PINNED, ROLE_OTHER_PACKED },
	};

	return gpu_memory(gpu, blocks[role].place, blocks[role].role, bytes);
}

static bool copy_memory(void *gpu, void *to, const void *from, size_t bytes)
{
	return gpu_copy(gpu, to, from, bytes);
}

struct end_memory gpu_end_memory(struct gpu *gpu)
{
	return (struct end_memory){
		.place = "device", .get = get_memory, .copy = copy_memory, .arg = gpu
	};
}

struct gpu *gpu_ends_open(struct end_memory *memory, char *why, size_t room)
{
	struct gpu *gpu = malloc(sizeof(*gpu));

	if (!gpu) {
		snprintf(why, room, "no memory");
		return NULL;
	}
	if (!gpu_open(gpu)) {
		*memory = gpu_end_memory(gpu);
		return gpu;
	}
	snprintf(why, room, "%s", gpu->problem);
	gpu_ends_close(gpu);
	return NULL;
}

void gpu_ends_close(struct gpu *gpu)
{
	if (!gpu)
		return;
	gpu_close(gpu);
	free(gpu);
}
