/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies between layouts that are started: create, start, test, wait, destroy.
 */
#include "config.h"

#include <dtconv/copier.h>

#include <string.h>

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

/* The caller's parameters; members that an older caller does not have get their defaults. */
static int read_params(struct dtconv_context *context,
		       const struct dtconv_copier_params *given, const char *caller,
		       struct dtconv_copier_params *params)
{
	*params = (struct dtconv_copier_params){ .struct_size = sizeof(*params) };
	if (!given)
		return 0;
	if (given->struct_size == 0)
		return DTC_FAIL(context, DTCONV_ERR_INVAL,
				"%s: params.struct_size is 0, not sizeof(struct "
				"dtconv_copier_params)",
				caller);
	memcpy(params, given, DTC_MIN(given->struct_size, sizeof(*params)));
	if (params->flags & ~(unsigned)DTCONV_COPIER_STREAM)
		return DTC_FAIL(context, DTCONV_ERR_INVAL,
				"%s: params.flags has unknown bits: 0x%x", caller,
				params->flags);
	if (params->stream && !params->flags)
		return DTC_FAIL(context, DTCONV_ERR_INVAL,
				"%s: params.stream is set, but params.flags lacks "
				"DTCONV_COPIER_STREAM",
				caller);
	return 0;
}

static int create(struct dtc_copy *copy, const size_t counts[2],
		  const struct dtconv_copier_params *given, struct dtconv_copier *copier)
{
	struct dtconv_copier_params params;
	int status = read_params(context_of(copier), given, copy->caller, &params);

	if (!status)
		status = dtc_copy_check(copy, counts[0], counts[1]);
	copy->placement.on_stream = params.flags & DTCONV_COPIER_STREAM;
	copy->placement.stream = params.stream;
	copy->started = true;
	copier->copy = *copy;
	return status;
}

int dtconv_copier_create(struct dtconv_type *source_type, size_t source_count,
			 const void *source, struct dtconv_type *target_type,
			 size_t target_count, void *target,
			 const struct dtconv_copier_params *params,
			 struct dtconv_copier **copier)
{
	if (!source_type || !target_type || !copier)
		return DTCONV_ERR_INVAL;
	struct dtc_copy copy = { .source = { .type = source_type,
					     .data = (char *)(uintptr_t)source },
				 .target = { .type = target_type, .data = target },
				 .caller = __func__ };
	const size_t counts[2] = { source_count, target_count };
	struct dtconv_copier *made =
		dtc_alloc_zeroed(source_type->context, sizeof(*made));

	if (!made)
		return DTC_FAIL(source_type->context, DTCONV_ERR_NOMEM,
				"%s: cannot allocate a copier", __func__);
	dtconv_type_ref(source_type);
	dtconv_type_ref(target_type);
	made->source_type = source_type;
	made->target_type = target_type;
	int status = create(&copy, counts, params, made);
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
	dtconv_type_unref(copier->source_type);
	dtconv_type_unref(copier->target_type);
	dtc_free(context, copier);
}

/* ---- copying --------------------------------------------------------------------------- */

int dtconv_copier_start(struct dtconv_copier *copier, dtconv_done_fn done, void *arg)
{
	if (!copier)
		return DTCONV_ERR_INVAL;
	struct dtc_copy *copy = &copier->copy;

	if (copier->in_flight)
		return DTC_FAIL(context_of(copier), DTCONV_ERR_STATE,
				"%s: a copy is in flight; test or wait for it first",
				__func__);
	copier->in_flight = true;
	copier->done = done;
	copier->arg = arg;
	copy->caller = __func__;
	dtc_cursor_seek(&copy->source.cursor, 0);
	dtc_cursor_seek(&copy->target.cursor, 0);
	copier->status = dtc_copy_start(copy, &copier->event, &copier->copied);
	return 0;
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
