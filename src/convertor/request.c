/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Started operations: start, test and wait.
 */
#include "config.h"

#include "advance.h"

#include "base/base.h"
#include "base/log.h"
#include "position.h"

int dtconv_convertor_start(struct dtconv_convertor *convertor, void *packed, size_t bytes,
			   dtconv_done_fn done, void *arg)
{
	if (!convertor)
		return DTCONV_ERR_INVAL;
	struct dtc_request *request = &convertor->request;

	int status = dtc_convertor_check_idle(convertor, __func__);
	if (status)
		return status;
	*request = (struct dtc_request){ .in_flight = true, .done = done, .arg = arg };
	convertor->mover = NULL;
	request->status = dtc_advance_start(convertor, packed, bytes, __func__);
	if (!request->status && convertor->direction == DTC_UNPACK &&
	    request->moved < bytes)
		request->status =
			dtc_advance_surplus(convertor, bytes, request->moved, __func__);
	return 0;
}

/* A failed request counts no bytes; the position goes back to where it started. */
static void undo(struct dtconv_convertor *convertor)
{
	dtc_convertor_seek_back(convertor, convertor->request.moved);
	convertor->request.moved = 0;
}

static int complete(struct dtconv_convertor *convertor, int status, size_t *moved)
{
	struct dtc_request *request = &convertor->request;

	request->event.backend = NULL;
	dtc_advance_end(convertor, status);
	if (status) {
		request->status = status;
		undo(convertor);
	}
	request->in_flight = false;
	if (request->done)
		request->done(request->arg, request->status, request->moved);
	if (moved)
		*moved = request->moved;
	return request->status;
}

static int check_started(const struct dtconv_convertor *convertor, const char *caller)
{
	if (convertor->request.in_flight)
		return 0;
	return DTC_FAIL(convertor->type->context, DTCONV_ERR_STATE,
			"%s: no operation was started", caller);
}

/* Host memory is copied when start returns, so the first test completes the request. */
int dtconv_convertor_test(struct dtconv_convertor *convertor, size_t *moved)
{
	if (!convertor)
		return DTCONV_ERR_INVAL;
	int status = check_started(convertor, __func__);

	if (status)
		return status;
	status = dtc_advance_test(convertor);
	return status == DTCONV_INPROGRESS ? status : complete(convertor, status, moved);
}

int dtconv_convertor_wait(struct dtconv_convertor *convertor, size_t *moved)
{
	if (!convertor)
		return DTCONV_ERR_INVAL;
	int status = check_started(convertor, __func__);

	if (status)
		return status;
	return complete(convertor, dtc_advance_wait(convertor, &convertor->request.event),
			moved);
}
