/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies between layouts that are started, whole or in ranges: create, start, test, wait, destroy.
 */
#include "config.h"

#include "copier.h"

#include "base/base.h"
#include "base/context.h"
#include "base/log.h"
#include "copy.h"
#include "datatype/type.h"
#include "device_move.h"

struct dtconv_copier {
	struct dtconv_type *source_type, *target_type; /* references */
	struct dtc_copy copy;
	bool in_flight;
	int status; /* of what was started */
	size_t copied;
	struct dtc_event event; /* without a backend it has completed */
	dtconv_done_fn done;
	void *arg;
};

static struct dtconv_context *context_of(const struct dtconv_copier *copier)
{
	return copier->source_type->context;
}

/* ---- creating -------------------------------------------------------------------------- */

int dtconv_copier_create(struct dtconv_type *source_type, size_t source_count,
			 const void *source, struct dtconv_type *target_type,
			 size_t target_count, void *target,
			 const struct dtconv_copier_params *params,
			 struct dtconv_copier **copier)
{
	if (!source_type || !target_type || !copier)
		return DTCONV_ERR_INVAL;
	struct dtconv_copier *made =
		dtc_alloc_zeroed(source_type->context, sizeof(*made));

	if (!made)
		return DTC_FAIL(source_type->context, DTCONV_ERR_NOMEM,
				"%s: cannot allocate a copier", __func__);
	dtconv_type_ref(source_type);
	dtconv_type_ref(target_type);
	made->source_type = source_type;
	made->target_type = target_type;
	dtc_copy_set_end(&made->copy.source, source_type, DTC_COPY_SOURCE_TYPE, source);
	dtc_copy_set_end(&made->copy.target, target_type, DTC_COPY_TARGET_TYPE, target);
	dtc_copy_init(&made->copy, true, __func__);
	int status = dtc_copy_configure(&made->copy, source_count, target_count, params);
	if (status) {
		dtconv_copier_destroy(made);
		return status;
	}
	*copier = made;
	return 0;
}

void dtconv_copier_destroy(struct dtconv_copier *copier)
{
	if (!copier)
		return;
	struct dtconv_context *context = context_of(copier);

	(void)dtc_device_wait(&copier->event);
	dtc_typed_destroy(copier->copy.typed);
	dtconv_type_unref(copier->source_type);
	dtconv_type_unref(copier->target_type);
	dtc_free(context, copier);
}

/* ---- copying --------------------------------------------------------------------------- */

static int start(struct dtconv_copier *copier, size_t position, size_t bytes,
		 dtconv_done_fn done, void *arg, const char *caller)
{
	if (copier->in_flight)
		return DTC_FAIL(context_of(copier), DTCONV_ERR_STATE,
				"%s: a copy is in flight; test or wait for it first",
				caller);
	copier->copy.caller = caller;
	int status = dtc_copy_select(&copier->copy, position, bytes);
	if (status)
		return status;
	copier->in_flight = true;
	copier->done = done;
	copier->arg = arg;
	copier->status = dtc_copy_start(&copier->copy, &copier->event, &copier->copied);
	return 0;
}

int dtconv_copier_start(struct dtconv_copier *copier, dtconv_done_fn done, void *arg)
{
	if (!copier)
		return DTCONV_ERR_INVAL;
	return start(copier, 0, SIZE_MAX, done, arg, __func__);
}

int dtconv_copier_start_at(struct dtconv_copier *copier, size_t position, size_t bytes,
			   dtconv_done_fn done, void *arg)
{
	if (!copier)
		return DTCONV_ERR_INVAL;
	return start(copier, position, bytes, done, arg, __func__);
}

static int complete(struct dtconv_copier *copier, int status, size_t *moved,
		    const char *caller)
{
	copier->event.backend = NULL;
	/* A failed job counts no bytes: which of them it moved is unknown. */
	if (status && !copier->status)
		copier->copied = 0;
	copier->in_flight = false;
	copier->copy.caller = caller;
	copier->status = dtc_copy_end(&copier->copy, status, copier->copied);
	if (copier->done)
		copier->done(copier->arg, copier->status, copier->copied);
	if (moved)
		*moved = copier->copied;
	return copier->status;
}

static int check_started(const struct dtconv_copier *copier, const char *caller)
{
	if (copier->in_flight)
		return 0;
	return DTC_FAIL(context_of(copier), DTCONV_ERR_STATE, "%s: no copy was started",
			caller);
}

int dtconv_copier_test(struct dtconv_copier *copier, size_t *moved)
{
	if (!copier)
		return DTCONV_ERR_INVAL;
	struct dtc_event *event = &copier->event;
	int status = check_started(copier, __func__);

	if (status)
		return status;
	status = copier->status;
	if (event->backend)
		status = event->backend->test(event);
	return status == DTCONV_INPROGRESS ? status
					   : complete(copier, status, moved, __func__);
}

int dtconv_copier_wait(struct dtconv_copier *copier, size_t *moved)
{
	if (!copier)
		return DTCONV_ERR_INVAL;
	int status = check_started(copier, __func__);

	if (status)
		return status;
	status = copier->status ? copier->status : dtc_device_wait(&copier->event);
	return complete(copier, status, moved, __func__);
}

/* ---- for the flow ---------------------------------------------------------------------- */

void dtc_copier_set_one_step(struct dtconv_copier *copier)
{
	copier->copy.in_one_step = true;
}

int dtc_copier_start_status(const struct dtconv_copier *copier)
{
	return copier->status;
}

/* The event may be tested no more; what it said is kept for the test that reports it. */
bool dtc_copier_has_landed(struct dtconv_copier *copier)
{
	struct dtc_event *event = &copier->event;

	if (!event->backend)
		return true;
	const int status = event->backend->test(event);
	if (status == DTCONV_INPROGRESS)
		return false;
	event->backend = NULL;
	/* A failed job counts no bytes: which of them it moved is unknown. */
	if (status)
		copier->copied = 0;
	copier->status = status;
	return true;
}

bool dtc_copier_set_alarm(const struct dtconv_copier *copier,
			  const struct dtc_alarm *alarm)
{
	return copier->event.backend && dtc_event_set_alarm(&copier->event, alarm);
}
