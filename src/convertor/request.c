/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Started operations: a convertor with a flight of its own, at its position.
 */
#include "config.h"

#include "advance.h"

#include "base/base.h"
#include "base/log.h"
#include "flight.h"
#include "position.h"

int dtconv_convertor_start(struct dtconv_convertor *convertor, void *packed, size_t bytes,
			   dtconv_done_fn done, void *arg)
{
	if (!convertor)
		return DTCONV_ERR_INVAL;
	struct dtc_request *request = &convertor->request;
	struct dtc_flight *flight = &request->flight;

	int status = dtc_convertor_check_idle(convertor, __func__);
	if (status)
		return status;
	status = dtc_flight_launch(convertor, flight, dtc_convertor_position(convertor),
				   packed, bytes, __func__);
	if (status == DTCONV_ERR_AGAIN)
		return status;
	if (!status && convertor->direction == DTC_UNPACK && flight->moved < bytes)
		status = dtc_advance_surplus(convertor, bytes, flight->moved, __func__);
	request->in_flight = true;
	request->status = status;
	request->done = done;
	request->arg = arg;
	convertor->mover = NULL;
	return 0;
}

/* A failed flight counts no bytes; the position goes back to where it started. */
static int complete(struct dtconv_convertor *convertor, int status, size_t *moved)
{
	struct dtc_request *request = &convertor->request;
	const struct dtc_flight *flight = &request->flight;

	dtc_convertor_go_to(convertor, flight->position + flight->moved);
	/* A surplus is worth reporting only if the rest has arrived. */
	if (status)
		request->status = status;
	request->in_flight = false;
	convertor->mover = dtc_convertor_mover(convertor);
	if (request->done)
		request->done(request->arg, request->status, flight->moved);
	if (moved)
		*moved = flight->moved;
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
	status = dtc_flight_test(&convertor->request.flight);
	return status == DTCONV_INPROGRESS ? status : complete(convertor, status, moved);
}

int dtconv_convertor_wait(struct dtconv_convertor *convertor, size_t *moved)
{
	if (!convertor)
		return DTCONV_ERR_INVAL;
	int status = check_started(convertor, __func__);

	if (status)
		return status;
	return complete(convertor, dtc_flight_wait(&convertor->request.flight), moved);
}
