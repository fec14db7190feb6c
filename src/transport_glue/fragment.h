/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A fragment: an equal piece of a slab, and who owns it. Its descriptor lives as long as the pool, also while the
 * slab's memory is gone, so that a thread that takes a fragment may read a stale descriptor.
 */
#ifndef DTC_FRAGMENT_H
#define DTC_FRAGMENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "item_queue.h"

struct dtc_slab;
struct dtconv_fragment;

enum dtc_fragment_state {
	DTC_FRAGMENT_FREE,
	DTC_FRAGMENT_HELD, /* by the caller */
	DTC_FRAGMENT_KEPT, /* by an operation that fills it, or until the network takes it */
	DTC_FRAGMENT_OUT, /* with the network, which will call dtconv_fragment_sent */
	DTC_FRAGMENT_SENT, /* dtconv_fragment_sent was called; the engine has not handled it yet */
	DTC_FRAGMENT_ABANDONED /* a lost device may still write to it */
};

struct dtconv_fragment {
	_Atomic uint32_t
		next;   /* in the free list: index + 1 of the next one, 0 at the end */
	uint32_t index; /* in the pool */
	_Atomic uint32_t state;
	int status; /* with which it was sent */
	struct dtc_slab *slab;
	char *address;
	/* Of the operation that sends it. */
	struct dtc_item item;
	void *owner;
	struct dtconv_fragment
		*following; /* in the operation's list of fragments that are ready */
	uint64_t offset;    /* of its first byte in the stream */
	size_t bytes;
};

/* Change the state if it is @from. */
static inline bool dtc_fragment_turn(struct dtconv_fragment *fragment,
				     enum dtc_fragment_state from,
				     enum dtc_fragment_state to)
{
	uint32_t expected = from;

	return atomic_compare_exchange_strong(&fragment->state, &expected, to);
}

#endif
