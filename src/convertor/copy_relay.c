/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packing and unpacking follow each other in one stream, so the host does not wait in between.
 */
#include "config.h"

#include "copy_relay.h"

#include "datatype/type.h"
#include "device_move.h"
#include "typed_device.h"

/* Hops in flight. They are ordered by one stream, so only their number is limited. */
#define HOPS 16

struct hop {
	struct dtc_event event;
	size_t arrives; /* bytes copied once it has completed */
};

struct relay {
	struct dtc_scratch scratch;
	struct hop hops[HOPS];
	unsigned next;
	size_t copied;
};

static int end_hop(struct relay *relay, struct hop *hop, int failed)
{
	int status = dtc_device_wait(&hop->event);

	/* Hops behind a failed one in the stream have copied wrong bytes. */
	if (!status && !failed)
		relay->copied += hop->arrives;
	hop->arrives = 0;
	return failed ? failed : status;
}

/*
 * In the caller's stream, else in that of the scratch memory. The caller's may be another device's: then the
 * driver is asked whether it may access the scratch memory.
 */
static struct dtc_move hop_of(const struct dtc_copy *copy, const struct relay *relay,
			      struct dtc_copy_end *end, size_t bytes,
			      enum dtc_direction direction)
{
	struct dtc_move move = dtc_copy_move(copy, end, relay->scratch.memory,
					     DTCONV_MEMORY_UNKNOWN, bytes, direction);

	move.started = false;
	if (!copy->placement.on_stream) {
		move.placement.packed = DTCONV_MEMORY_DEVICE;
		move.placement.on_stream = true;
		move.placement.stream = relay->scratch.stream;
	}
	return move;
}

static int start_hop(const struct dtc_copy *copy, struct relay *relay,
		     struct dtc_copy_end *end, size_t bytes, enum dtc_direction direction)
{
	struct hop *hop = &relay->hops[relay->next++ % HOPS];
	const struct dtc_move move = hop_of(copy, relay, end, bytes, direction);
	size_t moved;

	int status = end_hop(relay, hop, 0);
	if (!status && copy->typed && direction == DTC_UNPACK)
		status = dtc_typed_device_start(copy->typed, &move, &hop->event, &moved);
	else if (!status)
		status = dtc_device_start(&move, &hop->event, &moved);
	if (!status && direction == DTC_UNPACK)
		hop->arrives = bytes;
	return status;
}

static int copy_in_stream(struct dtc_copy *copy, struct relay *relay)
{
	int status = 0;

	while (!status && dtc_copy_left(copy)) {
		size_t bytes = dtc_copy_next_bytes(copy, relay->scratch.bytes);

		status = start_hop(copy, relay, &copy->source, bytes, DTC_PACK);
		if (!status)
			status = start_hop(copy, relay, &copy->target, bytes, DTC_UNPACK);
	}
	for (unsigned i = 0; i < HOPS; i++)
		status = end_hop(relay, &relay->hops[(relay->next + i) % HOPS], status);
	return status;
}

bool dtc_copy_borrow(const struct dtc_copy *copy, const struct dtc_memory *source,
		     const struct dtc_memory *target, struct dtc_scratch *scratch)
{
	const struct dtc_memory *near = source, *far = target;
	bool between = dtc_memory_is_between(near, far);

	/* Memory of another device that no context owns may be accessible to its own device only. */
	if (between && !near->owner && !far->owner)
		return false;
	if (near->kind != DTCONV_MEMORY_DEVICE || (between && !far->owner))
		near = far;
	return near->kind == DTCONV_MEMORY_DEVICE && !near->denied &&
	       dtc_scratch_acquire(copy->source.type->context, near, scratch);
}

int dtc_copy_relay(struct dtc_copy *copy, struct dtc_scratch *scratch, size_t *copied)
{
	struct relay relay = { .scratch = *scratch };
	int status = copy_in_stream(copy, &relay);

	dtc_scratch_release(scratch);
	*copied = relay.copied;
	return status;
}
