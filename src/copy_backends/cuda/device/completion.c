/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Completion words: taking one for a job, and having a stream write it behind the job's work. Started jobs in a
 * stream of the caller's record a CUDA event instead, because a written word delays the stream.
 */
#include "config.h"

#include "completion.h"

#include "base/clock.h"
#include "base/context.h"
#include "base/log.h"
#include "pinned.h"

/* The other lanes begin behind what the first one has been given. */
static CUresult order_lanes(struct dtc_cuda_context *context)
{
	const struct dtc_cuda_driver *driver = &context->cuda->driver;
	CUevent given;
	CUresult result = driver->EventCreate(&given, CU_EVENT_DISABLE_TIMING);

	if (result)
		return result;
	result = driver->EventRecord(given, context->lanes[0]);
	for (size_t i = 1; !result && i < DTC_CUDA_LANES; i++)
		result = driver->StreamWaitEvent(context->lanes[i], given, 0);
	driver->EventDestroy(given);
	return result;
}

static CUresult create_words(struct dtc_cuda_context *context)
{
	const struct dtc_cuda_driver *driver = &context->cuda->driver;
	struct dtc_cuda_flags *flags = dtc_cuda_flags_of(context);
	const size_t bytes = 2 * DTC_CUDA_FLAGS * sizeof(uint64_t);
	void *words = (void *)(uintptr_t)flags->words;

	CUresult result = dtc_cuda_pinned_create(context, DTC_CUDA_FLAG_BYTES, &words,
						 &flags->device);
	flags->words = words;
	if (!result && !flags->counters)
		result = driver->MemAlloc(&flags->counters, bytes);
	if (!result)
		result = driver->MemsetD8Async(flags->counters, 0, bytes,
					       context->lanes[0]);
	return result ? result : order_lanes(context);
}

static void close_words(struct dtc_cuda_context *context)
{
	const struct dtc_cuda_driver *driver = &context->cuda->driver;
	struct dtc_cuda_flags *flags = dtc_cuda_flags_of(context);

	for (size_t i = 0; i < DTC_ARRAY_LENGTH(flags->ends); i++)
		if (flags->ends[i])
			driver->EventDestroy(flags->ends[i]);
	if (flags->counters)
		driver->MemFree(flags->counters);
	dtc_cuda_pinned_destroy(context, (void *)(uintptr_t)flags->words,
				DTC_CUDA_FLAG_BYTES);
}

static int open_words(struct dtc_cuda_context *context, const char *caller)
{
	CUresult result = create_words(context);

	return result ? dtc_cuda_fail(context, result,
				      "the allocation of completion flags", caller)
		      : 0;
}

const struct dtc_cuda_feature dtc_cuda_completion_feature = {
	.name = "completion",
	.bytes = sizeof(struct dtc_cuda_flags),
	.open = open_words,
	.close = close_words,
};

static bool take_slot(struct dtc_cuda_flags *flags, uint32_t *slot)
{
	for (uint32_t group = 0; group < DTC_ARRAY_LENGTH(flags->taken); group++) {
		uint64_t taken = atomic_load(&flags->taken[group]);

		while (~taken) {
			uint32_t bit = (uint32_t)__builtin_ctzll(~taken);

			*slot = group * 64 + bit;
			if (atomic_compare_exchange_weak(&flags->taken[group], &taken,
							 taken | UINT64_C(1) << bit))
				return true;
		}
	}
	return false;
}

bool dtc_cuda_flag_take(struct dtc_cuda_context *context, CUstream stream,
			struct dtc_event *event)
{
	struct dtc_cuda_flags *flags = dtc_cuda_flags_of(context);
	uint32_t slot;

	if (!take_slot(flags, &slot))
		return false;
	/* Until it has the new number the slot seems to be an older job's, which is no harm. */
	atomic_store(&flags->numbers[slot], atomic_fetch_add(&flags->started, 1) + 1);
	event->owner = context;
	event->stream = stream;
	event->value = ++flags->generations[slot];
	event->looked_ns = 0;
	event->slot = slot;
	event->recorded = false;
	return true;
}

void dtc_cuda_flag_put(struct dtc_event *event)
{
	struct dtc_cuda_context *context = event->owner;

	atomic_fetch_and(&dtc_cuda_flags_of(context)->taken[event->slot / 64],
			 ~(UINT64_C(1) << event->slot % 64));
}

uint64_t dtc_cuda_flags_started_jobs(const struct dtc_cuda_context *context)
{
	return atomic_load(&dtc_cuda_flags_of(context)->started);
}

uint64_t dtc_cuda_flags_oldest_job(const struct dtc_cuda_context *context)
{
	const struct dtc_cuda_flags *flags = dtc_cuda_flags_of(context);
	const uint32_t groups = DTC_ARRAY_LENGTH(flags->taken);
	uint64_t oldest = UINT64_MAX;

	for (uint32_t group = 0; group < groups; group++) {
		uint64_t taken = atomic_load(&flags->taken[group]);

		for (; taken; taken &= taken - 1) {
			uint32_t slot = group * 64 + (uint32_t)__builtin_ctzll(taken);
			uint64_t number = atomic_load(&flags->numbers[slot]);

			oldest = DTC_MIN(oldest, number);
		}
	}
	return oldest;
}

bool dtc_cuda_flag_is_only(const struct dtc_event *event)
{
	const struct dtc_cuda_context *context = event->owner;
	const uint64_t number =
		atomic_load(&dtc_cuda_flags_of(context)->numbers[event->slot]);

	return dtc_cuda_flags_started_jobs(context) == number &&
	       dtc_cuda_flags_oldest_job(context) == number;
}

CUresult dtc_cuda_flag_write(const struct dtc_event *event)
{
	const struct dtc_cuda_context *context = event->owner;

	return context->cuda->driver.StreamWriteValue64(
		event->stream,
		dtc_cuda_flags_of(context)->device + event->slot * sizeof(uint64_t),
		event->value, CU_STREAM_WRITE_VALUE_DEFAULT);
}

/* Slots are taken from the lowest on, so that few ever need one. */
static CUresult create_end(struct dtc_cuda_context *context, CUevent *end)
{
	const struct dtc_cuda_driver *driver = &context->cuda->driver;
	CUcontext popped;

	CUresult result = driver->CtxPushCurrent(context->handle);
	if (result)
		return result;
	result = driver->EventCreate(end, CU_EVENT_DISABLE_TIMING);
	driver->CtxPopCurrent(&popped);
	return result;
}

CUresult dtc_cuda_flag_record(struct dtc_event *event, const char **call)
{
	struct dtc_cuda_context *context = event->owner;
	CUevent *end = &dtc_cuda_flags_of(context)->ends[event->slot];
	CUresult result = 0;

	*call = "cuEventCreate";
	if (!*end)
		result = create_end(context, end);
	if (result)
		return result;
	*call = "cuEventRecord";
	result = context->cuda->driver.EventRecord(*end, event->stream);
	event->recorded = !result;
	return result;
}

int dtc_cuda_flag_prepare(struct dtc_cuda_context *context, unsigned count,
			  const char *caller)
{
	struct dtc_cuda_flags *flags = dtc_cuda_flags_of(context);
	struct dtc_event events[DTC_CUDA_FLAGS_PREPARED];
	CUresult result = CUDA_SUCCESS;
	unsigned taken = 0;

	/* Slots that jobs have taken have their events, or get them. */
	while (taken < DTC_MIN(count, (unsigned)DTC_CUDA_FLAGS_PREPARED) &&
	       dtc_cuda_flag_take(context, context->lanes[0], &events[taken]))
		taken++;
	for (unsigned i = 0; i < taken; i++) {
		CUevent *end = &flags->ends[events[i].slot];

		if (!result && !*end)
			result = create_end(context, end);
		dtc_cuda_flag_put(&events[i]);
	}
	return result ? dtc_cuda_fail(context, result, "cuEventCreate", caller) : 0;
}

bool dtc_cuda_flag_is_written(const struct dtc_event *event)
{
	const struct dtc_cuda_context *context = event->owner;

	return atomic_load_explicit(&dtc_cuda_flags_of(context)->words[event->slot],
				    memory_order_acquire) == event->value;
}

struct dtc_gpu_done dtc_cuda_flag_done(const struct dtc_event *event)
{
	const struct dtc_cuda_flags *flags = dtc_cuda_flags_of(event->owner);
	uint64_t word = event->slot * sizeof(uint64_t);

	return (struct dtc_gpu_done){ .flag = flags->device + word,
				      .value = event->value,
				      .counter = flags->counters + word };
}
