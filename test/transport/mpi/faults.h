/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MPI with faults on purpose: the program's own MPI_Isend, MPI_Irecv, MPI_Test and so on stand before the library's
 * (the profiling interface). They fail once, answer late, or lie to the peer, and they count requests.
 */
#ifndef TEST_TRANSPORT_MPI_FAULTS_H
#define TEST_TRANSPORT_MPI_FAULTS_H

#include <stdbool.h>
#include <stdint.h>

enum fault_call { FAULT_ISEND, FAULT_IRECV, FAULT_TEST, FAULT_CALLS };

/* What a header or packet says instead. */
enum fault_lie {
	LIE_NONE,
	LIE_MAGIC,        /* bytes of no meaning */
	LIE_FRAGMENT,     /* DATA: a fragment that does not exist */
	LIE_LENGTH,       /* DATA: one byte less than comes */
	LIE_LONG,         /* DATA: more than a fragment holds */
	LIE_RETURN,       /* RETURN: a fragment that is not out */
	LIE_SLOT,         /* GO or REFUSE: of no message */
	LIE_HELLO_TWICE,  /* ACCEPT becomes HELLO */
	LIE_TRANSPORT,    /* HELLO: of shm */
	LIE_ACCEPT_FIRST, /* HELLO becomes ACCEPT */
	LIE_BELL,         /* ACCEPT becomes a packet of shm */
	LIE_EARLY,        /* ACCEPT becomes a header */
	LIE_SHORT,        /* a header loses bytes */
	LIE_MISSING,      /* DATA: of a message that is not announced */
	LIE_VERSION,      /* HELLO: of another version */
	LIES
};

struct faults {
	int fail_at[FAULT_CALLS]; /* the call with that number fails, from 1; 0: none */
	int calls[FAULT_CALLS];
	unsigned late; /* of 100 tests so many answer "not yet" */
	uint64_t random;
	enum fault_lie lie; /* once */
	bool has_lied;
	int tag_bound; /* MPI_TAG_UB; 0: MPI's own */
	long requests; /* begun and not ended */
	long received; /* by calls that block */
};

extern struct faults faults;

/* None of them any more. */
void faults_clear(void);

#endif
