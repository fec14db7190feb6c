/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * On one device packing and unpacking follow each other in one stream, so the host does not wait in between. Between two
 * devices each does its own side's hop, so that whole lines cross the link, and the host waits for one to start the other.
 */
#include "config.h"

#include "copy_relay.h"

#include "base/base.h"
#include "datatype/type.h"
#include "device_move.h"
#include "typed_device.h"

/* Hops of one stream in flight. It orders them, so only their number is limited. */
#define HOPS 16

struct hop {
	struct dtc_event event;
	size_t arrives; /* bytes copied once it has completed */
};

struct relay {
	struct dtc_scratch scratch;
	bool over_link; /* each side's device does its hop; the scratch memory is the target's device's */
	struct hop hops[HOPS];
	unsigned next;
	size_t part_bytes; /* across a link */
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

/* A hop by any device: the driver is asked whether that may access the scratch memory. */
static struct dtc_move hop_of(const struct dtc_copy *copy, struct dtc_copy_end *end,
			      char *memory, size_t bytes, enum dtc_direction direction)
{
	struct dtc_move move =
		dtc_copy_move(copy, end, memory, DTCONV_MEMORY_UNKNOWN, bytes, direction);

	move.started = false;
	return move;
}

/* By the device of the scratch memory, in its stream. */
static void put_in_stream(struct dtc_move *move, const struct relay *relay)
{
	move->placement.packed = DTCONV_MEMORY_DEVICE;
	move->placement.on_stream = true;
	move->placement.stream = relay->scratch.stream;
}

/* ---- in one stream --------------------------------------------------------------------------- */

/* In the caller's stream, which may be another device's, else in that of the scratch memory. */
static int start_hop(const struct dtc_copy *copy, struct relay *relay,
		     struct dtc_copy_end *end, size_t bytes, enum dtc_direction direction)
{
	struct hop *hop = &relay->hops[relay->next++ % HOPS];
	struct dtc_move move = hop_of(copy, end, relay->scratch.memory, bytes, direction);
	size_t moved;

	if (!copy->placement.on_stream)
		put_in_stream(&move, relay);
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

/* ---- between two devices ------------------------------------------------------------------- */

/* Parts of the scratch memory: while one is unpacked, the next one crosses. */
#define PARTS 2

/* Parts of short copies end at such bytes. */
#define PART_UNIT 4096

struct part {
	struct hop pack, unpack;
	char *memory;
	size_t bytes;
};

/* A short copy is in as many parts, too. */
static size_t part_bytes(const struct dtc_copy *copy, const struct relay *relay)
{
	const uint64_t part = dtc_divide_up(dtc_copy_left(copy), PARTS * PART_UNIT);

	return (size_t)DTC_MIN(part * PART_UNIT, relay->scratch.bytes / PARTS);
}

/* In a lane of the source's device. */
static int send_part(struct dtc_copy *copy, struct relay *relay, struct part *part)
{
	const uint64_t left = copy->end - copy->source.cursor.position;
	const size_t bytes = (size_t)DTC_MIN(left, relay->part_bytes);
	const struct dtc_move move =
		hop_of(copy, &copy->source, part->memory, bytes, DTC_PACK);
	int status = end_hop(relay, &part->unpack, 0);

	return status ? status : dtc_device_start(&move, &part->pack.event, &part->bytes);
}

static int land_part(struct dtc_copy *copy, struct relay *relay, struct part *part)
{
	struct dtc_move move =
		hop_of(copy, &copy->target, part->memory, part->bytes, DTC_UNPACK);
	int status = end_hop(relay, &part->pack, 0);

	put_in_stream(&move, relay);
	if (!status)
		status = dtc_device_start(&move, &part->unpack.event,
					  &part->unpack.arrives);
	return status;
}

static int copy_over_link(struct dtc_copy *copy, struct relay *relay)
{
	struct part parts[PARTS] = { { .bytes = 0 } };
	unsigned sent = 0, landed = 0;
	int status = 0;

	relay->part_bytes = part_bytes(copy, relay);
	for (size_t i = 0; i < PARTS; i++)
		parts[i].memory = relay->scratch.memory + i * relay->part_bytes;
	while (!status && dtc_copy_left(copy))
		if (copy->source.cursor.position < copy->end && sent - landed < PARTS)
			status = send_part(copy, relay, &parts[sent++ % PARTS]);
		else
			status = land_part(copy, relay, &parts[landed++ % PARTS]);
	for (unsigned i = 0; i < PARTS; i++) {
		struct part *part = &parts[(sent + i) % PARTS];

		status = end_hop(relay, &part->unpack, status);
		status = end_hop(relay, &part->pack, status);
	}
	return status;
}

/* ---- both ------------------------------------------------------------------------------------ */

/* Memory that no context owns may be accessible to its own device only. A stream orders all hops behind its work. */
static bool is_over_link(const struct dtc_copy *copy, const struct dtc_memory *source,
			 const struct dtc_memory *target)
{
	return dtc_memory_is_between(source, target) && source->owner && target->owner &&
	       !copy->placement.on_stream && !copy->typed;
}

/* Borrow scratch memory of the device that owns a side. False if no device does, or it has none free. */
static bool borrow(const struct dtc_copy *copy, const struct dtc_memory *source,
		   const struct dtc_memory *target, struct relay *relay)
{
	const struct dtc_memory *near = source, *far = target;
	bool between = dtc_memory_is_between(near, far);

	/* Memory of another device that no context owns may be accessible to its own device only. */
	if (between && !near->owner && !far->owner)
		return false;
	relay->over_link = is_over_link(copy, source, target);
	if (near->kind != DTCONV_MEMORY_DEVICE || (between && !far->owner) ||
	    relay->over_link)
		near = far;
	return near->kind == DTCONV_MEMORY_DEVICE && !near->denied &&
	       dtc_scratch_acquire(copy->source.type->context, near,
				   relay->over_link ? DTC_SCRATCH_LINK
						    : DTC_SCRATCH_COPIES,
				   &relay->scratch);
}

bool dtc_copy_relay(struct dtc_copy *copy, const struct dtc_memory *source,
		    const struct dtc_memory *target, int *status, size_t *copied)
{
	struct relay relay = { .next = 0 };

	if (!borrow(copy, source, target, &relay))
		return false;
	*status = relay.over_link ? copy_over_link(copy, &relay)
				  : copy_in_stream(copy, &relay);
	dtc_scratch_release(&relay.scratch);
	*copied = relay.copied;
	return true;
}
