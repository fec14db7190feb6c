/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * UCX with faults on purpose: the program's own ucp_* functions stand before those of UCX. They fail once, lie to the
 * peer, exchange messages, report receives late, and count.
 */
#ifndef TEST_TRANSPORT_UCX_FAULTS_H
#define TEST_TRANSPORT_UCX_FAULTS_H

#include <stdbool.h>
#include <stddef.h>

/* Calls that can fail. */
enum ucx_call {
	UCX_INIT,
	UCX_WORKER_CREATE,
	UCX_HANDLER,
	UCX_EFD,
	UCX_MAP,
	UCX_ADDRESS,
	UCX_EP_CREATE,
	UCX_SEND,
	UCX_RECEIVE,
	UCX_CALLS
};

/* What a message says instead. */
enum ucx_lie {
	UCX_HONEST,
	UCX_LIE_MAGIC,    /* bytes of no meaning */
	UCX_LIE_NUMBER,   /* the number of the message before */
	UCX_LIE_FAR,      /* a number that is far away */
	UCX_LIE_FRAGMENT, /* DATA: a fragment that does not exist */
	UCX_LIE_LENGTH,   /* DATA: one byte less than comes */
	UCX_LIE_MISSING,  /* DATA: of a message that is not announced */
	UCX_LIE_RETURN,   /* RETURN: a fragment that is not out */
	UCX_LIE_SLOT,     /* GO or REFUSE: of no message */
	UCX_LIES
};

struct ucx_faults {
	unsigned
		fail_at[UCX_CALLS]; /* the call with that number fails, from 1; 0: none */
	unsigned calls[UCX_CALLS];
	enum ucx_lie lie; /* once */
	bool has_lied;
	bool swaps; /* every second message is delivered after the next one, or when nothing else happens */
	size_t swapped;
	bool holds;  /* receives that end are reported by ucx_report_receives() */
	size_t held; /* of those that have ended */
	size_t released;        /* eager data */
	/* UCX seems to know memory of devices, which it is given where the host sees it. */
	void *(*device_memory)(unsigned long long address, size_t bytes);
	size_t on_devices;      /* maps, sends and receives of such memory */
	size_t mapped, workers; /* now */
};

extern struct ucx_faults ucx_faults;

/* Report the receives that have ended and are held. */
void ucx_report_receives(void);

#endif
