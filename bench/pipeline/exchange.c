/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sends, receives, and the network between them.
 */
#include "config.h"

#include "bench/pipeline/exchange.h"

#include <math.h>
#include <string.h>

#include "bench/harness/engine.h"
#include "bench/pipeline/trace.h"

/* As many as a send can have in use at a time. */
#define POOL_FRAGMENTS 16

/* Where the library plans the fragments: room for those of long messages of a device. */
#define POOL_ROOM ((size_t)4 << 20)

/* Bytes that arrive at once, as fragments of 16 MiB are planned. */
#define ARRIVAL_BYTES ((size_t)2 << 20)

/* Fragments are cut between so many bytes: dtconv_send_params.fragment_bytes. */
#define CUT_UNIT 128

/* ---- the network ------------------------------------------------------------------------- */

static void fail(struct exchange *x, int status)
{
	if (!x->status)
		x->status = status;
}

/* The receive has unpacked a fragment: now it is sent. */
static void release_fragment(void *fragment, int status)
{
	dtconv_fragment_sent(fragment, status);
}

static void release_traced(void *arg, int status)
{
	struct trace_packet *packet = arg;

	trace_note(packet->trace, TRACE_RELEASED, packet->offset);
	dtconv_fragment_sent(packet->fragment, status);
}

static int deliver(struct exchange *x, struct dtconv_fragment *fragment, uint64_t offset,
		   size_t bytes)
{
	const void *address = dtconv_fragment_address(fragment);

	if (!x->trace)
		return dtconv_recv_deliver(x->recv, offset, address, bytes,
					   release_fragment, fragment);
	trace_note(x->trace, TRACE_ARRIVED, (size_t)offset);
	return dtconv_recv_deliver(x->recv, offset, address, bytes, release_traced,
				   trace_packet(x->trace, (size_t)offset));
}

static void trace_emitted(struct trace *trace, struct dtconv_fragment *fragment,
			  uint64_t offset)
{
	trace_note(trace, TRACE_COPIED, (size_t)offset);
	trace_note_fragment(trace, fragment, (size_t)offset);
	trace_note(trace, TRACE_SENT, (size_t)offset);
}

static int emit(void *arg, struct dtconv_fragment *fragment, uint64_t offset,
		size_t bytes, unsigned flags)
{
	struct exchange *x = arg;

	if (x->notes_first && flags & DTCONV_EMIT_FIRST)
		x->first_ns = bench_clock();
	if (x->expected &&
	    memcmp(dtconv_fragment_address(fragment), x->expected + offset, bytes) != 0)
		x->wrong++;
	if (x->trace)
		trace_emitted(x->trace, fragment, offset);
	if (x->unpacks && !x->arrived)
		return deliver(x, fragment, offset, bytes);
	dtconv_fragment_sent(fragment, 0);
	return 0;
}

/* Deliver a whole message in fragments, which are no pool's. */
static void deliver_all(struct exchange *x)
{
	const size_t most = x->fragment ? exchange_planned(x->context, x->fragment)
					: ARRIVAL_BYTES;

	for (size_t at = 0; at < x->bytes && !x->status; at += most) {
		size_t left = x->bytes - at;
		int status = dtconv_recv_deliver(x->recv, at, x->arrived + at,
						 left < most ? left : most, NULL, NULL);

		if (status)
			fail(x, status);
	}
}

/* ---- operations -------------------------------------------------------------------------- */

static void done(void *arg, int status, size_t moved)
{
	struct exchange *x = arg;

	x->open--;
	if (status || moved != x->bytes)
		fail(x, status ? status : DTCONV_ERR_TRUNCATE);
}

void exchange_start_send(struct exchange *x)
{
	const struct dtconv_send_params params = { .struct_size = sizeof(params),
						   .pool = x->pool,
						   .emit = emit,
						   .done = done,
						   .arg = x,
						   .fragment_bytes = x->fragment,
						   .depth = x->depth };
	int status = dtconv_send_start(x->engine, &params, x->packs, &x->send);

	if (status)
		fail(x, status);
	else
		x->open++;
}

void exchange_start_recv(struct exchange *x)
{
	const struct dtconv_recv_params params = { .struct_size = sizeof(params),
						   .done = done,
						   .arg = x };
	int status = dtconv_recv_start(x->engine, &params, x->unpacks, &x->recv);

	if (status) {
		fail(x, status);
		return;
	}
	x->open++;
	if (x->arrived)
		deliver_all(x);
}

/* What failed to start or to be delivered would keep the other half waiting. */
int exchange_finish(struct exchange *x)
{
	int status;

	while (x->open) {
		if (x->status && x->send)
			(void)dtconv_send_cancel(x->send);
		if (x->status && x->recv)
			(void)dtconv_recv_cancel(x->recv);
		(void)dtconv_engine_progress(x->engine, 0, NULL);
	}
	status = x->status;
	x->status = 0;
	return status;
}

int exchange_run(struct exchange *x)
{
	if (x->unpacks)
		exchange_start_recv(x);
	if (x->packs && !x->status)
		exchange_start_send(x);
	return exchange_finish(x);
}

/* ---- lifetime ---------------------------------------------------------------------------- */

size_t exchange_planned(struct dtconv_context *context, size_t fragment)
{
	struct dtconv_threshold threshold = { .struct_size = sizeof(threshold) };

	for (size_t i = 0;
	     !fragment && !dtconv_context_query_threshold(context, i, NULL, &threshold);
	     i++)
		if (!strcmp(threshold.name, "fragment_bytes"))
			fragment = (size_t)threshold.value;
	return fragment > CUT_UNIT ? fragment / CUT_UNIT * CUT_UNIT : fragment;
}

size_t exchange_planned_for_device(size_t fragment, size_t bytes)
{
	if (bytes <= fragment)
		return fragment;
	const size_t count = (size_t)sqrt((double)(bytes / fragment));
	const size_t each = (bytes + count - 1) / count;
	return (each + CUT_UNIT - 1) / CUT_UNIT * CUT_UNIT;
}

int exchange_open(struct exchange *x, const struct exchange_params *params)
{
	const size_t fragment =
		params->fragment ? exchange_planned(params->context, params->fragment)
				 : POOL_ROOM;
	const struct dtconv_pool_params pool = { .struct_size = sizeof(pool),
						 .kind = params->pool_kind,
						 .fragment_bytes = fragment,
						 .start_bytes =
							 POOL_FRAGMENTS * fragment };

	*x = (struct exchange){ .context = params->context,
				.packs = params->packs,
				.unpacks = params->unpacks,
				.bytes = params->bytes,
				.fragment = params->fragment,
				.depth = params->depth,
				.arrived = params->arrived };
	int status = dtconv_engine_create(x->context, NULL, &x->engine);
	return status ? status : dtconv_pool_create(x->context, &pool, &x->pool);
}

int exchange_close(struct exchange *x)
{
	int status = dtconv_send_destroy(x->send);

	if (!status)
		status = dtconv_recv_destroy(x->recv);
	if (!status)
		status = dtconv_engine_destroy(x->engine);
	return status ? status : dtconv_pool_destroy(x->pool);
}
