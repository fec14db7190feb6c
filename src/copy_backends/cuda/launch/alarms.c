/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Alarms: a stream of their own waits for an event behind the job, and then calls a host function. The function makes
 * no driver call, and no stream with work in it ever waits for it.
 *
 * The event is the job's own, or one that is recorded in a lane now. A stream of the caller's is left alone, so a job
 * there that has no event of its own gets no alarm. After an error in the device context the driver calls no host
 * function, but one may be running when the error is noticed. So the records of alarms are in memory that is abandoned
 * with a lost context, if one of them is set.
 */
#include "config.h"

#include "alarms.h"

#include <sys/mman.h>

#include "base/clock.h"
#include "copy_backends/cuda/device/completion.h"
#include "resident.h"

/* The most that are set at a time. More streams would share the device's queues with those of the application. */
#define ALARMS 4

enum state {
	FREE,
	CLAIMED,  /* being set */
	SET,      /* the driver will call it, if there is no error */
	RINGING,  /* inside the sleeper's function */
	CANCELLED /* as SET, but it will ring nothing */
};

struct alarm {
	_Atomic int state;
	struct dtc_alarm what;
	CUstream behind; /* whose work it waits for */
	CUstream stream; /* that waits; made at its first use, as the event */
	CUevent event;
};

struct alarms {
	pthread_mutex_t lock; /* for claiming; never held round a driver call */
	struct alarm *
		records; /* ALARMS of them, in pages of their own; NULL before the first use */
};

static struct alarms *alarms_of(const struct dtc_cuda_context *context)
{
	return context->parts[DTC_CUDA_PART_alarms];
}

/* ---- ringing --------------------------------------------------------------------------- */

/* That it is free is the last that is done with its memory. */
static void CUDA_CB ring(void *memory)
{
	struct alarm *alarm = memory;
	int set = SET;

	if (atomic_compare_exchange_strong(&alarm->state, &set, RINGING))
		alarm->what.ring(alarm->what.arg);
	atomic_store(&alarm->state, FREE);
}

/* ---- setting --------------------------------------------------------------------------- */

static struct alarm *map_records(struct alarms *alarms)
{
	void *made = mmap(NULL, ALARMS * sizeof(struct alarm), PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	alarms->records = made == MAP_FAILED ? NULL : made;
	return alarms->records;
}

static bool is_same(const struct alarm *alarm, CUstream behind,
		    const struct dtc_alarm *what)
{
	return alarm->behind == behind && alarm->what.arg == what->arg &&
	       alarm->what.ring == what->ring;
}

/* One that is free; or the same one, which is set already. NULL: all are in use. */
static struct alarm *find(struct alarms *alarms, CUstream behind,
			  const struct dtc_alarm *what)
{
	struct alarm *found = NULL;

	if (!alarms->records && !map_records(alarms))
		return NULL;
	for (size_t i = 0; i < ALARMS; i++) {
		struct alarm *alarm = &alarms->records[i];
		const int state = atomic_load(&alarm->state);

		/* One that is ringing may have looked for a sleeper too early. */
		if (state == SET && is_same(alarm, behind, what))
			return alarm;
		if (state == FREE)
			found = alarm;
	}
	return found;
}

/* Whether the alarm is to be set now; @found is NULL if it cannot be. */
static bool claim(struct alarms *alarms, CUstream behind, const struct dtc_alarm *what,
		  struct alarm **found)
{
	int unused = FREE;

	pthread_mutex_lock(&alarms->lock);
	*found = find(alarms, behind, what);
	bool is_claimed = *found && atomic_compare_exchange_strong(&(*found)->state,
								   &unused, CLAIMED);
	if (is_claimed) {
		(*found)->what = *what;
		(*found)->behind = behind;
	}
	pthread_mutex_unlock(&alarms->lock);
	return is_claimed;
}

static CUresult make_stream(struct dtc_cuda_context *context, struct alarm *alarm)
{
	CUresult result = CUDA_SUCCESS;

	if (!alarm->event)
		result = context->cuda->driver.EventCreate(&alarm->event,
							   CU_EVENT_DISABLE_TIMING);
	if (!result && !alarm->stream)
		result = dtc_cuda_stream_create(context, &alarm->stream);
	return result;
}

/* Have the alarm's stream wait for the job, or for all that its lane has been given. */
static CUresult wait_for_job(struct dtc_cuda_context *context, struct alarm *alarm,
			     const struct dtc_event *event)
{
	const struct dtc_cuda_driver *driver = &context->cuda->driver;
	CUevent end = alarm->event;
	CUresult result = CUDA_SUCCESS;

	if (event->recorded)
		end = dtc_cuda_flags_of(context)->ends[event->slot];
	else
		result = driver->EventRecord(end, event->stream);
	return result ? result : driver->StreamWaitEvent(alarm->stream, end, 0);
}

/* It may ring before this returns. */
static CUresult set(struct dtc_cuda_context *context, struct alarm *alarm,
		    const struct dtc_event *event)
{
	const struct dtc_cuda_driver *driver = &context->cuda->driver;
	CUcontext popped;
	CUresult result = driver->CtxPushCurrent(context->handle);

	if (result)
		return result;
	result = make_stream(context, alarm);
	if (!result)
		result = wait_for_job(context, alarm, event);
	if (!result) {
		atomic_store(&alarm->state, SET);
		result = driver->LaunchHostFunc(alarm->stream, ring, alarm);
	}
	driver->CtxPopCurrent(&popped);
	return result;
}

bool dtc_cuda_event_set_alarm(const struct dtc_event *event, const struct dtc_alarm *what)
{
	struct dtc_cuda_context *context = event->owner;
	const struct dtc_cuda_driver *driver = &context->cuda->driver;
	struct alarm *alarm;

	if (dtc_cuda_resident_has(event) || !dtc_cuda_context_is_alive(context) ||
	    (!event->recorded && !dtc_cuda_context_is_lane(context, event->stream)))
		return false;
	if (!claim(alarms_of(context), event->stream, what, &alarm))
		return alarm;
	CUstreamCaptureMode mode = dtc_cuda_relax(driver);
	CUresult result = set(context, alarm, event);

	dtc_cuda_unrelax(driver, mode);
	if (result)
		atomic_store(&alarm->state, FREE);
	return !result;
}

/* ---- cancelling ------------------------------------------------------------------------ */

static void cancel(struct alarm *alarm)
{
	int set = SET;
	uint32_t looks = 0;

	atomic_compare_exchange_strong(&alarm->state, &set, CANCELLED);
	while (atomic_load(&alarm->state) == RINGING)
		dtc_rest(&looks);
}

static void cancel_in(struct alarms *alarms, const void *arg)
{
	pthread_mutex_lock(&alarms->lock);
	for (size_t i = 0; alarms->records && i < ALARMS; i++)
		if (alarms->records[i].what.arg == arg)
			cancel(&alarms->records[i]);
	pthread_mutex_unlock(&alarms->lock);
}

void dtc_cuda_alarms_cancel(struct dtconv_context *context, const void *arg)
{
	struct dtc_cuda *cuda = dtc_cuda_of(context);

	if (!cuda)
		return;
	pthread_mutex_lock(&cuda->lock);
	for (struct dtc_cuda_context *device = cuda->contexts; device;
	     device = device->next)
		cancel_in(alarms_of(device), arg);
	pthread_mutex_unlock(&cuda->lock);
}

/* ---- the feature ----------------------------------------------------------------------- */

static void init_alarms(struct dtc_cuda_context *context)
{
	pthread_mutex_init(&alarms_of(context)->lock, NULL);
}

static void unmap(struct alarms *alarms)
{
	if (alarms->records)
		munmap(alarms->records, ALARMS * sizeof(struct alarm));
	alarms->records = NULL;
}

/* No job is in flight, so what is still set rings at once. */
static void close_alarm(const struct dtc_cuda_context *context, struct alarm *alarm)
{
	const struct dtc_cuda_driver *driver = &context->cuda->driver;
	uint32_t looks = 0;

	if (alarm->stream) {
		while (driver->StreamQuery(alarm->stream) == CUDA_ERROR_NOT_READY)
			dtc_rest(&looks);
		driver->StreamDestroy(alarm->stream);
	}
	if (alarm->event)
		driver->EventDestroy(alarm->event);
}

static void close_alarms(struct dtc_cuda_context *context)
{
	struct alarms *alarms = alarms_of(context);

	for (size_t i = 0; alarms->records && i < ALARMS; i++)
		close_alarm(context, &alarms->records[i]);
}

static bool is_any_set(const struct alarms *alarms)
{
	for (size_t i = 0; alarms->records && i < ALARMS; i++)
		if (atomic_load(&alarms->records[i].state) != FREE)
			return true;
	return false;
}

static void free_alarms(struct dtc_cuda_context *context)
{
	struct alarms *alarms = alarms_of(context);

	pthread_mutex_destroy(&alarms->lock);
	if (!is_any_set(alarms))
		unmap(alarms);
}

static void forget_alarms(struct dtc_cuda_context *context)
{
	unmap(alarms_of(context));
}

const struct dtc_cuda_feature dtc_cuda_alarms_feature = {
	.name = "alarms",
	.bytes = sizeof(struct alarms),
	.init = init_alarms,
	.close = close_alarms,
	.free = free_alarms,
	.forget = forget_alarms,
};
