/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Running GPU kernels on the host.
 */
#include "config.h"

#include "support/gpu_shim.h"

#include "support/gpu_shim_device.h"

#include <sched.h>
#include <stdbool.h>

#include "kernels/gpu/classes.cu.h"

#include "kernels/gpu/command.cu.h"

#include "support/gpu_shim_run.h"

/* Phases take parameters of their own kind; here they are all alike. */
#define DTC_GPU_PHASE(name, params, phase, number)                                           \
	static void shim_##name##_##number(const void *p, void *shared, struct dtc_gpu_at at) \
	{                                                                                    \
		phase((const struct params *)p, shared, at);                                 \
	}
#define DTC_GPU_ENTRY1(name, params, a) DTC_GPU_PHASE(name, params, a, 0)
#define DTC_GPU_ENTRY2(name, params, a, b) \
	DTC_GPU_ENTRY1(name, params, a)    \
	DTC_GPU_PHASE(name, params, b, 1)
#define DTC_GPU_ENTRY3(name, params, a, b, c) \
	DTC_GPU_ENTRY2(name, params, a, b)    \
	DTC_GPU_PHASE(name, params, c, 2)
#include "kernels/gpu/list.h"
#undef DTC_GPU_ENTRY1
#undef DTC_GPU_ENTRY2
#undef DTC_GPU_ENTRY3

#define DTC_GPU_ENTRY1(name, params, a) \
	{ "dtc_gpu_" #name, sizeof(struct params), { shim_##name##_0, NULL, NULL } },
#define DTC_GPU_ENTRY2(name, params, a, b) \
	{ "dtc_gpu_" #name, sizeof(struct params), { shim_##name##_0, shim_##name##_1, NULL } },
#define DTC_GPU_ENTRY3(name, params, a, b, c) \
	{ "dtc_gpu_" #name,                   \
	  sizeof(struct params),              \
	  { shim_##name##_0, shim_##name##_1, shim_##name##_2 } },

static const struct shim_kernel kernels[] = {
#include "kernels/gpu/list.h"
};

static const struct shim_kernel *find(const char *name)
{
	for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++)
		if (!strcmp(kernels[i].name, name))
			return &kernels[i];
	return NULL;
}

#define RESIDENT "dtc_gpu_resident"

int shim_waits(const char *kernel)
{
	return !strcmp(kernel, RESIDENT);
}

int shim_knows(const char *kernel, size_t *params_bytes)
{
	const struct shim_kernel *found = find(kernel);

	if (shim_waits(kernel)) {
		*params_bytes = sizeof(struct dtc_gpu_resident_params);
		return 1;
	}
	if (found)
		*params_bytes = found->params_bytes;
	return found != NULL;
}

/* ---- the resident kernel ------------------------------------------------------------------- */

/* One look of a warp; answers the words of the command if its first ones are there, else 0. */
static uint32_t look(const struct dtc_gpu_resident_params *p, uint32_t number,
		     uint32_t *words, bool *leave)
{
	struct dtc_gpu_look looks[32];
	uint32_t even = 0, odd = 0;

	for (uint32_t lane = 0; lane < 32; lane++) {
		looks[lane] = dtc_gpu_look_at(p->bell, lane);
		even |= (uint32_t)dtc_gpu_is_of(looks[lane].second, number) << lane;
		odd |= (uint32_t)dtc_gpu_is_of(looks[lane].first, number) << lane;
	}
	uint32_t count = DTC_GPU_COMMAND_LENGTH((uint32_t)looks[0].second);
	*leave = !(even & 1) && looks[0].first;
	if (!(even & 1) || !dtc_gpu_has_first(even, odd, count))
		return 0;
	for (uint32_t lane = 0; lane < 32; lane++)
		dtc_gpu_keep_look(&looks[lane], lane, words);
	return count;
}

static uint32_t await(const struct dtc_gpu_resident_params *p, uint32_t number,
		      uint64_t born, uint32_t *words)
{
	uint64_t since = dtc_gpu_now();
	uint32_t count;
	bool leave;

	while (!(count = look(p, number, words, &leave))) {
		if (leave || dtc_gpu_is_over(p, born, since, dtc_gpu_now()))
			return 0;
		sched_yield();
	}
	return count;
}

/* The kernels' names are in the order of their numbers. */
static void run_command(const uint32_t *words)
{
	const struct shim_kernel *kernel = &kernels[DTC_GPU_COMMAND_KERNEL(words[0])];
	const void *params = words + DTC_GPU_COMMAND_HEAD;
	const struct dtc_gpu_at lone = { 0, 0, 1 };

	run_blocks(kernel, params, DTC_GPU_RESIDENT_SHARED, words[1], false);
	dtc_gpu_finish(params, lone);
}

static void run_resident(const struct dtc_gpu_resident_params *p)
{
	_Alignas(16) uint32_t words[DTC_GPU_COMMAND_WORDS];
	uint64_t born = dtc_gpu_now();
	uint32_t number = p->number, count;

	for (; (count = await(p, number, born, words)); number++) {
		for (uint32_t thread = 0; thread < DTC_GPU_BLOCK; thread++)
			dtc_gpu_take_rest(p->bell, number, count, thread, words);
		run_command(words);
	}
	dtc_gpu_leave(p->bell, number);
}

int shim_run(const char *kernel, uint32_t grid, uint32_t block, size_t shared_bytes,
	     const void *params)
{
	const struct shim_kernel *found = find(kernel);

	if (shim_waits(kernel)) {
		run_resident(params);
		return 0;
	}
	return found ? shim_run_kernel(found, grid, block, shared_bytes, params) : -1;
}
