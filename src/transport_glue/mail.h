/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mail: what any thread tells the thread that makes progress. A mail is part of the object that it is about, so
 * posting allocates nothing. An inbox is a lock-free list with many writers and one reader.
 */
#ifndef DTC_MAIL_H
#define DTC_MAIL_H

#include <stdatomic.h>
#include <stddef.h>

struct dtc_mail {
	struct dtc_mail *next;
	void (*open)(struct dtc_mail
			     *mail); /* in progress; runs no callback of the caller's */
};

struct dtc_inbox {
	struct dtc_mail *_Atomic newest;
};

/* Sequentially consistent: whoever posts and then finds nobody asleep is seen by whoever goes to sleep. */
static inline void dtc_inbox_push(struct dtc_inbox *inbox, struct dtc_mail *mail)
{
	struct dtc_mail *newest =
		atomic_load_explicit(&inbox->newest, memory_order_relaxed);

	do
		mail->next = newest;
	while (!atomic_compare_exchange_weak(&inbox->newest, &newest, mail));
}

static inline int dtc_inbox_is_empty(struct dtc_inbox *inbox)
{
	return !atomic_load(&inbox->newest);
}

/* Take all of it, the oldest first. */
static inline struct dtc_mail *dtc_inbox_take(struct dtc_inbox *inbox)
{
	struct dtc_mail *oldest = NULL, *mail = atomic_exchange(&inbox->newest, NULL);

	while (mail) {
		struct dtc_mail *next = mail->next;

		mail->next = oldest;
		oldest = mail;
		mail = next;
	}
	return oldest;
}

#endif
