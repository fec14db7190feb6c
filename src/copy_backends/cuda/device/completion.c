/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How the host learns that a job is done: the device writes a word of pinned memory behind the
 * job's last store. After an error of the device no such word ever comes, so now and then the
 * stream itself is asked. Behind started jobs in a stream of the caller's there is an event instead.
 */
#include "config.h"

#include "device_context.h"

#include "clock.h"
#include "context.h"
#include "log.h"

/* How long fruitless looks at the word go on before the stream is asked. */
#define PATIENCE_NS UINT64_C(50000)

CUresult dtc_cuda_flags_open(struct dtc_cuda_context *context)
{
	const struct dtc_cuda_driver *driver = &context->cuda->driver;
	struct dtc_cuda_flags *flags = &context->flags;
	const size_t bytes = 2 * DTC_CUDA_FLAGS * sizeof(uint64_t);
	void *words = (void *)(uintptr_t)flags->words;

	CUresult result = dtc_cuda_pinned_create(context, DTC_CUDA_FLAG_BYTES, &words,
						 &flags->device);
	flags->words = words;
	if (!result && !flags->counters)
		result = driver->MemAlloc(&flags->counters, bytes);
	if (!result)
		result = driver->MemsetD8Async(flags->counters, 0, bytes, context->stream);
	return result;
}

void dtc_cuda_flags_close(struct dtc_cuda_context *context)
{
	const struct dtc_cuda_driver *driver = &context->cuda->driver;
	struct dtc_cuda_flags *flags = &context->flags;

	for (size_t i = 0; i < DTC_ARRAY_LENGTH(flags->ends); i++)
		if (flags->ends[i])
			driver->EventDestroy(flags->ends[i]);
	if (flags->counters)
		driver->MemFree(flags->counters);
	dtc_cuda_pinned_destroy(context, (void *)(uintptr_t)flags->words,
				DTC_CUDA_FLAG_BYTES);
}

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
	uint32_t slot;

	if (!take_slot(&context->flags, &slot))
		return false;
	event->owner = context;
	event->stream = stream;
	event->value = ++context->flags.generations[slot];
	event->looked_ns = 0;
	event->slot = slot;
	event->recorded = false;
	return true;
}

void dtc_cuda_flag_put(struct dtc_event *event)
{
	struct dtc_cuda_context *context = event->owner;

	atomic_fetch_and(&context->flags.taken[event->slot / 64],
			 ~(UINT64_C(1) << event->slot % 64));
}

CUresult dtc_cuda_flag_write(const struct dtc_event *event)
{
	const struct dtc_cuda_context *context = event->owner;

	return context->cuda->driver.StreamWriteValue64(
		event->stream, context->flags.device + event->slot * sizeof(uint64_t), event->value,
		CU_STREAM_WRITE_VALUE_DEFAULT);
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
	CUevent *end = &context->flags.ends[event->slot];
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

bool dtc_cuda_flag_is_written(const struct dtc_event *event)
{
	const struct dtc_cuda_context *context = event->owner;

	return atomic_load_explicit(&context->flags.words[event->slot],
				    memory_order_acquire) == event->value;
}

static int check_fault(const struct dtc_event *event)
{
	const struct dtc_cuda_context *context = event->owner;

	if (atomic_load_explicit(&context->flags.words[DTC_CUDA_FLAGS + event->slot],
				 memory_order_relaxed) != event->value)
		return 0;
	return DTC_FAIL(
		context->cuda->context, DTCONV_ERR_OVERFLOW,
		"%s: a number in device memory is too large for its narrower form",
		event->caller);
}

static void read_answer(struct dtc_event *event)
{
	const struct dtc_cuda_context *context = event->owner;

	event->answer = (uint32_t)atomic_load_explicit(
		&context->flags.words[2 * DTC_CUDA_FLAGS + event->slot],
		memory_order_relaxed);
}

static int fail_destroyed(const struct dtc_event *event)
{
	const struct dtc_cuda_context *context = event->owner;

	return DTC_FAIL(context->cuda->context, DTCONV_ERR_BACKEND,
			"%s: the device context of a job in flight was destroyed",
			event->caller);
}

/* The resident kernel has gone without the event's job. */
static int call_back(struct dtc_event *event)
{
	struct dtc_cuda_context *context = event->owner;
	const struct dtc_cuda_driver *driver = &context->cuda->driver;

	if (!dtc_cuda_context_is_alive(context))
		return fail_destroyed(event);
	CUstreamCaptureMode mode = dtc_cuda_relax(driver);
	CUresult result = dtc_cuda_resident_call_back(event);

	dtc_cuda_unrelax(driver, mode);
	return result ? dtc_cuda_fail(context, result, "cuLaunchKernel", event->caller)
		      : DTCONV_INPROGRESS;
}

/* The driver's word for it: for flags that do not come, and where there is none. */
static int ask_driver(struct dtc_event *event)
{
	struct dtc_cuda_context *context = event->owner;
	const struct dtc_cuda_driver *driver = &context->cuda->driver;

	if (!dtc_cuda_context_is_alive(context))
		return fail_destroyed(event);
	CUstreamCaptureMode mode = dtc_cuda_relax(driver);
	/*
	 * Errors are the context's. The caller's stream is not asked: it may be captured, or another thread's default
	 * one, or gone; and that a stream is idle says nothing that the flag does not.
	 */
	bool resident = dtc_cuda_resident_has(event);
	CUresult result =
		event->recorded
			? driver->EventQuery(context->flags.ends[event->slot])
			: driver->StreamQuery(resident ? event->stream : context->stream);

	dtc_cuda_unrelax(driver, mode);
	/* A kernel that has gone says so, if it has not been stopped. */
	if (!result && event->recorded)
		return 0;
	if (!result)
		return resident && !dtc_cuda_flag_is_written(event) ? call_back(event)
								    : DTCONV_INPROGRESS;
	if (result == CUDA_ERROR_NOT_READY)
		return DTCONV_INPROGRESS;
	dtc_cuda_context_lose(context);
	return dtc_cuda_fail(context, result,
			     event->recorded ? "cuEventQuery" : "cuStreamQuery",
			     event->caller);
}

/* The time counts from the first fruitless look on. */
static bool is_late(struct dtc_event *event)
{
	uint64_t now = dtc_now_ns();

	if (!event->looked_ns)
		event->looked_ns = now;
	return now - event->looked_ns > PATIENCE_NS;
}

int dtc_cuda_event_test(struct dtc_event *event)
{
	int status = DTCONV_INPROGRESS;

	if (event->recorded) {
		status = ask_driver(event);
	} else if (dtc_cuda_flag_is_written(event)) {
		status = 0;
	} else if (dtc_cuda_resident_has_left(event)) {
		status = call_back(event);
	} else if (is_late(event)) {
		status = ask_driver(event);
		event->looked_ns = dtc_now_ns();
	}
	if (!status) {
		status = check_fault(event);
		read_answer(event);
	}
	if (status != DTCONV_INPROGRESS) {
		dtc_cuda_resident_put(event);
		dtc_cuda_flag_put(event);
	}
	return status;
}

int dtc_cuda_event_wait(struct dtc_event *event)
{
	uint32_t looks = 0;
	int status;

	do {
		dtc_rest(&looks);
		status = dtc_cuda_event_test(event);
	} while (status == DTCONV_INPROGRESS);
	return status;
}
