/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The network in the process.
 */
#include "config.h"

#include "loopback.h"

#include <stdlib.h>
#include <string.h>

#define PARTS_MAX 4

struct part {
	struct packet *packet;
	uint64_t offset;
	size_t length;
	size_t at; /* in the packet's bytes */
};

struct packet {
	struct packet *next;
	struct loopback *link;
	struct dtconv_fragment *fragment; /* NULL: reported as sent */
	const unsigned char *bytes;
	unsigned char *copy;
	uint64_t offset;
	size_t length;
	size_t due;
	int status; /* to report */
	bool is_delivered;
	unsigned
		open; /* parts that are not released, and one while it is being delivered */
	unsigned part_count;
	struct part parts[PARTS_MAX];
};

void loopback_open(struct loopback *link, const struct loopback_faults *faults,
		   uint64_t seed)
{
	memset(link, 0, sizeof(*link));
	if (faults)
		link->faults = *faults;
	choices_from_seed(&link->choices, seed);
	pthread_mutex_init(&link->lock, NULL);
}

bool loopback_close(struct loopback *link)
{
	bool is_idle = !link->packets;

	pthread_mutex_destroy(&link->lock);
	return is_idle;
}

bool loopback_is_idle(struct loopback *link)
{
	pthread_mutex_lock(&link->lock);
	bool is_idle = !link->packets;
	pthread_mutex_unlock(&link->lock);
	return is_idle;
}

static bool happens(struct loopback *link, unsigned once_in)
{
	return once_in && chance(&link->choices, once_in);
}

/* ---- emitting -------------------------------------------------------------------------- */

static void compare(struct loopback *link, const unsigned char *bytes, uint64_t offset,
		    size_t length)
{
	link->out_of_order += offset != link->next_offset;
	link->next_offset = offset + length;
	link->emitted_bytes += length;
	if (link->expected && (offset + length > link->bytes ||
			       memcmp(bytes, link->expected + offset, length) != 0))
		link->wrong++;
}

/* Part boundaries, and overlaps of neighbours. */
static void cut(struct loopback *link, struct packet *packet)
{
	const unsigned cuts = happens(link, link->faults.split) ? PARTS_MAX - 1 : 1;
	const bool overlaps = chance(&link->choices, 2);
	size_t at = 0;

	for (unsigned i = 0; i < cuts && at < packet->length; i++) {
		size_t left = packet->length - at;
		size_t length = i + 1 == cuts ? left : choose(&link->choices, left) + 1;
		size_t back = overlaps ? choose(&link->choices, at + 1) : 0;
		packet->parts[packet->part_count++] =
			(struct part){ packet, packet->offset + at - back, length + back,
				       at - back };
		at += length;
	}
	if (happens(link, link->faults.duplicate))
		packet->parts[packet->part_count++] =
			(struct part){ packet, packet->offset, packet->length, 0 };
	if (happens(link, link->faults.lengthen))
		packet->parts[0].offset = link->bytes;
}

static struct packet *make_packet(struct loopback *link, struct dtconv_fragment *fragment,
				  uint64_t offset, size_t bytes)
{
	struct packet *packet = calloc(1, sizeof(*packet));

	packet->link = link;
	packet->fragment = fragment;
	packet->bytes = dtconv_fragment_address(fragment);
	packet->offset = offset;
	packet->length = bytes;
	packet->due = link->ticks + choose(&link->choices, link->faults.delay + 1u);
	packet->open = 1;
	cut(link, packet);
	if (link->faults.copies) {
		packet->copy = malloc(bytes);
		memcpy(packet->copy, packet->bytes, bytes);
		packet->bytes = packet->copy;
	}
	if (happens(link, link->faults.fail_sent))
		packet->status = DTCONV_ERR_PEER;
	return packet;
}

static int accept_packet(struct loopback *link, struct dtconv_fragment *fragment,
			 uint64_t offset, size_t bytes)
{
	if ((link->faults.capacity && link->waiting >= link->faults.capacity) ||
	    happens(link, link->faults.refuse)) {
		link->refused++;
		return DTCONV_ERR_AGAIN;
	}
	if (happens(link, link->faults.fail_emit)) {
		link->failed++;
		return DTCONV_ERR_PEER;
	}
	compare(link, dtconv_fragment_address(fragment), offset, bytes);
	struct packet *packet = make_packet(link, fragment, offset, bytes);
	packet->next = link->packets;
	link->packets = packet;
	link->waiting++;
	link->emitted++;
	return 0;
}

int loopback_emit(void *arg, struct dtconv_fragment *fragment, uint64_t offset,
		  size_t bytes, unsigned flags)
{
	struct loopback *link = arg;
	int status = 0;

	pthread_mutex_lock(&link->lock);
	if (!(flags & DTCONV_EMIT_FIRST) != !!offset ||
	    (link->expected &&
	     !(flags & DTCONV_EMIT_LAST) != (offset + bytes < link->bytes)))
		link->wrong++;
	int answer = accept_packet(link, fragment, offset, bytes);
	bool is_early = !answer && link->faults.early && link->faults.copies;
	if (is_early) {
		status = link->packets->status;
		link->packets->fragment = NULL;
		link->sent++;
	}
	pthread_mutex_unlock(&link->lock);
	if (is_early)
		dtconv_fragment_sent(fragment, status);
	return answer;
}

/* ---- delivering ------------------------------------------------------------------------ */

/* Under the lock. */
static void drop(struct packet *packet)
{
	struct packet **place = &packet->link->packets;

	while (*place != packet)
		place = &(*place)->next;
	*place = packet->next;
	free(packet->copy);
	free(packet);
}

/* One part less; the last one reports the fragment. Under the lock, which dtconv_fragment_sent does not mind. */
static void close_part(struct packet *packet)
{
	struct loopback *link = packet->link;
	struct dtconv_fragment *fragment = packet->fragment;
	const int status = packet->status;

	if (--packet->open)
		return;
	drop(packet);
	if (!fragment)
		return;
	link->sent++;
	dtconv_fragment_sent(fragment, status);
}

static void release(void *arg, int status)
{
	struct part *part = arg;
	struct loopback *link = part->packet->link;

	(void)status;
	pthread_mutex_lock(&link->lock);
	link->released++;
	close_part(part->packet);
	pthread_mutex_unlock(&link->lock);
}

static void deliver(struct loopback *link, struct packet *packet)
{
	packet->is_delivered = true;
	link->waiting--;
	if (happens(link, link->faults.lose)) {
		link->lost++;
		close_part(packet);
		return;
	}
	for (unsigned i = 0; i < packet->part_count; i++) {
		struct part *part = &packet->parts[i];

		link->parts++;
		packet->open++;
		if (dtconv_recv_deliver(link->recv, part->offset,
					packet->bytes + part->at, part->length, release,
					part)) {
			link->parts--;
			packet->open--;
		}
	}
	if (packet->copy && packet->fragment) {
		link->sent++;
		dtconv_fragment_sent(packet->fragment, packet->status);
		packet->fragment = NULL;
	}
	close_part(packet);
}

static struct packet *find_due(struct loopback *link)
{
	struct packet *packet = link->packets, *due = NULL;

	for (; packet; packet = packet->next)
		if (!packet->is_delivered && packet->due <= link->ticks)
			due = packet;
	return due;
}

size_t loopback_poll(void *arg, size_t budget)
{
	struct loopback *link = arg;
	struct packet *packet;
	size_t happened = 0;

	pthread_mutex_lock(&link->lock);
	link->ticks++;
	while (link->recv && happened < budget && (packet = find_due(link))) {
		deliver(link, packet);
		happened++;
	}
	pthread_mutex_unlock(&link->lock);
	return happened;
}

void loopback_flush(struct loopback *link, int status)
{
	struct packet *next;

	pthread_mutex_lock(&link->lock);
	for (struct packet *packet = link->packets; packet; packet = next) {
		next = packet->next;
		if (packet->is_delivered)
			continue;
		packet->is_delivered = true;
		packet->status = status;
		link->waiting--;
		link->lost++;
		close_part(packet);
	}
	pthread_mutex_unlock(&link->lock);
}
