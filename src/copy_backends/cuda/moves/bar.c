/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cuda_bar: small jobs by CPU loads and stores through BAR mappings of device memory. There is no launch and no
 * completion to wait for. Stores are fast; each load is a round trip over the bus. What is not mapped when the job
 * arrives goes to the cheapest of the other backends.
 *
 * CPU stores are not stream-ordered, so this backend takes no job in a stream of the caller's. A job without a
 * stream starts when its data is ready and is complete when submit returns.
 */
#include "config.h"

#include "moves.h"

#include <inttypes.h>
#include <string.h>

#include "bar_mappings.h"
#include "base/context.h"
#include "base/log.h"
#include "copy_backends/backend_set.h"
#include "copy_backends/cuda/device/contexts.h"
#include "copy_backends/cuda/device/device_context.h"
#include "copy_backends/cuda/device/memory_kinds.h"
#include "copy_backends/cuda/driver/gdrcopy.h"
#include "copy_backends/cuda/launch/alarms.h"
#include "copy_backends/cuda/launch/event.h"
#include "copy_backends/cuda/planning/cost_model.h"
#include "datatype/runs.h"

/* ---- planning -------------------------------------------------------------------------- */

static bool is_processors(enum dtconv_memory_kind kind)
{
	return kind == DTCONV_MEMORY_HOST || kind == DTCONV_MEMORY_PINNED;
}

static bool has_sides(const struct dtc_question *question, const char **reason)
{
	bool user_device = question->user_kind == DTCONV_MEMORY_DEVICE;
	bool packed_device = question->packed_kind == DTCONV_MEMORY_DEVICE;

	if ((user_device && is_processors(question->packed_kind)) ||
	    (packed_device && is_processors(question->user_kind)))
		return true;
	*reason =
		user_device && packed_device
			? "both sides are device memory"
			: "it needs device memory on one side and host memory on the other";
	return false;
}

static bool can(const struct dtc_question *question, const char **reason)
{
	if (!has_sides(question, reason))
		return false;
	if (question->on_stream) {
		*reason = "CPU loads and stores are not stream-ordered";
		return false;
	}
	struct dtc_cuda *cuda = question->context ? dtc_cuda_of(question->context) : NULL;
	if (!cuda) {
		*reason = "the CUDA driver is not loaded in this process";
		return false;
	}
	*reason = dtc_gdr_find(cuda->gdr, cuda->context);
	return !*reason;
}

/* Whether the device's memory is written. */
static bool is_store(bool packed_on_device, enum dtc_direction direction)
{
	return packed_on_device == (direction == DTC_PACK);
}

/* The runs of the bytes asked for, which may be a small part of the stream. */
static double runs_of(const struct dtc_question *question)
{
	const struct dtc_layout *layout = question->layout;
	double runs = layout->dense ? 1 : (double)dtc_layout_runs(layout);

	if (!layout->size || layout->dense)
		return 1;
	return 1 + runs * (double)question->bytes / (double)layout->size;
}

static double estimate(const struct dtc_question *question)
{
	double bytes = (double)question->bytes;

	if (is_store(question->packed_kind == DTCONV_MEMORY_DEVICE, question->direction))
		return DTC_CUDA_BAR_NS + DTC_CUDA_BAR_STORE_NS * runs_of(question) +
		       bytes / DTC_CUDA_BAR_STORE_RATE;
	return DTC_CUDA_BAR_NS + DTC_CUDA_BAR_LOAD_NS * runs_of(question) +
	       bytes / DTC_CUDA_BAR_LOAD_RATE;
}

/* ---- fences ---------------------------------------------------------------------------- */

/* Stores that are still being combined leave the processor. */
static inline void fence_stores(void)
{
#if defined(__SSE2__)
	__builtin_ia32_sfence();
#elif defined(__aarch64__)
	__asm__ volatile("dsb st" ::: "memory");
#else
	__sync_synchronize();
#endif
}

/* No load from the mapping is made before what the caller has waited for, nor after what follows. */
static inline void fence_loads(void)
{
#if defined(__SSE2__)
	__builtin_ia32_mfence();
#elif defined(__aarch64__)
	__asm__ volatile("dsb sy" ::: "memory");
#else
	__sync_synchronize();
#endif
}

/* ---- moving ---------------------------------------------------------------------------- */

struct bar_move {
	const struct dtc_job *job;
	struct dtc_cuda_context *context;
	bool user_on_device;
	struct dtc_memory memory; /* where the last run lay */
	uint64_t id;              /* of that memory; 0: not asked yet */
	uintptr_t first, end;     /* of the device's addresses in the window used last */
	char *mapping;            /* of the first */
};

/* The id of the memory at an address of the device; 0 if no window can be made there. */
static uint64_t id_at(struct bar_move *bar, uintptr_t address)
{
	struct dtc_memory *memory = &bar->memory;
	bool known = dtc_memory_holds(memory, address, address + 1) && !memory->several;

	if (known && bar->id)
		return bar->id;
	if (!known)
		dtc_memory_query(bar->job->context, (const void *)address, memory);
	bar->id = 0;
	if (memory->kind == DTCONV_MEMORY_DEVICE && !memory->denied &&
	    memory->device == bar->context->device &&
	    dtc_memory_holds(memory, address, address + 1))
		bar->id = dtc_cuda_memory_id(bar->context->cuda, address);
	return bar->id;
}

/* Where the processor reaches an address of the device, and how far on; NULL if it does not. */
static char *map_address(struct bar_move *bar, uintptr_t address, size_t *bytes)
{
	if (address < bar->first || address >= bar->end) {
		uint64_t id = id_at(bar, address);

		if (!id)
			return NULL;
		char *mapping = dtc_cuda_bar_mapping_find(
			dtc_cuda_bar_mappings_of(bar->context), id, address, bytes);
		if (!mapping) {
			dtc_cuda_bar_mapping_want(bar->context, &bar->memory, id,
						  address);
			return NULL;
		}
		bar->first = address;
		bar->end = address + *bytes;
		bar->mapping = mapping;
	}
	*bytes = bar->end - address;
	return bar->mapping + (address - bar->first);
}

/* As much of a run as lies in windows; the answer is how much. */
static size_t move_run(struct bar_move *bar, uintptr_t user, uintptr_t packed,
		       size_t bytes)
{
	bool pack = bar->job->direction == DTC_PACK;
	size_t moved = 0, part;

	while (moved < bytes) {
		uintptr_t device = (bar->user_on_device ? user : packed) + moved;
		char *host = (char *)(bar->user_on_device ? packed : user) + moved;
		char *mapped = map_address(bar, device, &part);

		if (!mapped)
			break;
		part = DTC_MIN(part, bytes - moved);
		if (pack == bar->user_on_device)
			memcpy(host, mapped, part);
		else
			memcpy(mapped, host, part);
		moved += part;
	}
	return moved;
}

/* From the job's start on, until all is moved or a run has no window. */
static uint64_t move_runs(struct bar_move *bar)
{
	const struct dtc_job *job = bar->job;
	uint64_t start = job->cursor->position, moved = 0;
	struct dtc_runs runs;
	struct dtc_run run;
	size_t part;

	dtc_runs_init(&runs, job->cursor, job->bytes);
	while (dtc_runs_next(&runs, &run)) {
		part = move_run(bar, (uintptr_t)job->user + (uintptr_t)run.disp,
				(uintptr_t)job->packed + (uintptr_t)moved,
				(size_t)run.bytes);
		moved += part;
		if (part < run.bytes)
			break;
	}
	dtc_cursor_seek(job->cursor, start + moved);
	return moved;
}

static uint64_t move(const struct dtc_job *job, struct dtc_cuda_context *context)
{
	bool user_on_device = job->user_memory.kind == DTCONV_MEMORY_DEVICE;
	struct bar_move bar = { .job = job,
				.context = context,
				.user_on_device = user_on_device,
				.memory = user_on_device ? job->user_memory
							 : job->packed_memory };
	bool store = is_store(!user_on_device, job->direction);

	if (!store)
		fence_loads();
	dtc_cuda_bar_mappings_enter(dtc_cuda_bar_mappings_of(context));
	uint64_t moved = move_runs(&bar);
	if (store)
		fence_stores();
	else
		fence_loads();
	dtc_cuda_bar_mappings_leave(dtc_cuda_bar_mappings_of(context));
	return moved;
}

/* ---- submitting ------------------------------------------------------------------------ */

static bool is_forbidden(const struct dtc_job *job, const struct dtc_backend_ops *backend)
{
	size_t place = 0;

	while (dtc_backends[place] != backend)
		place++;
	return dtc_is_forbidden(job->context->forbidden | job->forbidden, place);
}

/* More than any job takes: what the caller does not allow comes last. */
#define FORBIDDEN_NS 1e18

/* Who would move it if no memory could be mapped. One of them always can. */
static const struct dtc_backend_ops *next_best(const struct dtc_job *job)
{
	static const struct dtc_backend_ops *const others[] = {
		&dtc_cuda_copy_backend, &dtc_cuda_kernel_backend, &dtc_cuda_staged_backend
	};
	const struct dtc_question question = dtc_question_of(job);
	const struct dtc_backend_ops *best = NULL;
	double least = 0;
	const char *reason;

	for (size_t i = 0; i < DTC_ARRAY_LENGTH(others); i++) {
		if (!others[i]->can(&question, &reason))
			continue;
		double ns = others[i]->estimate(&question) +
			    (is_forbidden(job, others[i]) ? FORBIDDEN_NS : 0);
		if (!best || ns < least) {
			best = others[i];
			least = ns;
		}
	}
	return best;
}

static int submit_rest(const struct dtc_job *job, uint64_t moved, struct dtc_event *event)
{
	struct dtc_job rest = *job;

	rest.packed += moved;
	rest.bytes -= moved;
	const struct dtc_backend_ops *backend = next_best(&rest);
	DTC_LOG(job->context, DTCONV_LOG_DEBUG,
		"%s: after %" PRIu64 " bytes the BAR mapping ends; the rest goes to %s",
		job->caller, moved, backend->name);
	return backend->submit(&rest, event);
}

static int submit(const struct dtc_job *job, struct dtc_event *event)
{
	struct dtc_cuda *cuda = dtc_cuda_of(job->context);
	struct dtc_cuda_context *context;
	uint64_t moved = 0;

	event->backend = NULL;
	CUstreamCaptureMode mode = dtc_cuda_relax(&cuda->driver);
	int status = dtc_cuda_context_choose(cuda, job, &context);
	if (!status)
		moved = move(job, context);
	dtc_cuda_unrelax(&cuda->driver, mode);
	if (status || moved == job->bytes)
		return status;
	return submit_rest(job, moved, event);
}

const struct dtc_backend_ops dtc_cuda_bar_backend = {
	.name = "cuda_bar",
	.what = "CPU loads and stores through BAR mappings of device memory",
	.vendor = &dtc_cuda_vendor,
	.can = can,
	.estimate = estimate,
	.submit = submit,
	.test = dtc_cuda_event_test,
	.set_alarm = dtc_cuda_event_set_alarm,
};
