/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Items that any thread posts to the thread that makes progress, in a lock-free queue with many producers and one
 * consumer. An item is part of the object that it is about, so posting allocates nothing.
 */
#ifndef DTC_ITEM_QUEUE_H
#define DTC_ITEM_QUEUE_H

#include <stdatomic.h>
#include <stddef.h>

struct dtc_item {
	struct dtc_item *next;
	void (*handle)(struct dtc_item
			       *item); /* in progress; runs no callback of the caller's */
};

struct dtc_item_queue {
	struct dtc_item *_Atomic newest;
};

/* Sequentially consistent: a thread that goes to sleep sees the item, or the producer sees that the thread sleeps. */
static inline void dtc_item_queue_push(struct dtc_item_queue *queue,
				       struct dtc_item *item)
{
	struct dtc_item *newest =
		atomic_load_explicit(&queue->newest, memory_order_relaxed);

	do
		item->next = newest;
	while (!atomic_compare_exchange_weak(&queue->newest, &newest, item));
}

static inline int dtc_item_queue_is_empty(struct dtc_item_queue *queue)
{
	return !atomic_load(&queue->newest);
}

/* Take all of it, the oldest first. */
static inline struct dtc_item *dtc_item_queue_take(struct dtc_item_queue *queue)
{
	struct dtc_item *oldest = NULL, *item = atomic_exchange(&queue->newest, NULL);

	while (item) {
		struct dtc_item *next = item->next;

		item->next = oldest;
		oldest = item;
		item = next;
	}
	return oldest;
}

#endif
