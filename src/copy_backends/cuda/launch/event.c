/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How the host learns that a job is done. After a device error no completion word is ever written, so now
 * and then the driver is asked, too.
 */
#include "config.h"

#include "event.h"

#include "base/clock.h"
#include "base/context.h"
#include "base/log.h"
#include "copy_backends/cuda/device/completion.h"
#include "resident.h"

/* How long fruitless looks at the word go on before the stream is asked. */
#define PATIENCE_NS UINT64_C(50000)

static int check_fault(const struct dtc_event *event)
{
	const struct dtc_cuda_context *context = event->owner;

	if (atomic_load_explicit(
		    &dtc_cuda_flags_of(context)->words[DTC_CUDA_FLAGS + event->slot],
		    memory_order_relaxed) != event->value)
		return 0;
	return DTC_FAIL(
		context->cuda->context, DTCONV_ERR_OVERFLOW,
		"%s: a value in device memory does not fit into the narrower type of the "
		"representation",
		event->caller);
}

static void read_answer(struct dtc_event *event)
{
	const struct dtc_cuda_context *context = event->owner;

	event->answer = atomic_load_explicit(
		&dtc_cuda_flags_of(context)->words[DTC_CUDA_ANSWERS + event->slot],
		memory_order_relaxed);
}

static int fail_destroyed(const struct dtc_event *event)
{
	const struct dtc_cuda_context *context = event->owner;

	return DTC_FAIL(context->cuda->context, DTCONV_ERR_BACKEND,
			"%s: the CUDA context was destroyed while a job was in flight",
			event->caller);
}

/* The resident kernel has exited without the event's job: relaunch it. */
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
	CUresult result = event->recorded
				  ? driver->EventQuery(
					    dtc_cuda_flags_of(context)->ends[event->slot])
				  : driver->StreamQuery(resident ? event->stream
								 : context->lanes[0]);

	dtc_cuda_unrelax(driver, mode);
	/* A kernel that has exited says so in `left`, if it was not stopped. */
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
