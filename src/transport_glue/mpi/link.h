/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A channel's connection to one process of a communicator, and what all of them share.
 *
 * Headers and fragments are messages with different tags. A header is small and comes in order. A fragment has its
 * number as tag, and its receive is posted before the peer may send it, so MPI stores no data. The DATA header says
 * that a fragment is under way; it has arrived when both have.
 *
 * MPI does not give back the memory of a message whose receive is never posted, and cancels no sends. So each side says
 * BYE as its last message, and a link lives on until it has heard the peer's, also after its channel was destroyed.
 */
#ifndef DTC_MPI_LINK_H
#define DTC_MPI_LINK_H

#include <dtconv/mpi.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "transport_glue/transport.h"

/* Tags of a link: a fragment's is its number, the next one is that of headers. */
#define DTC_MPI_TAG_HEADERS DTC_WIRE_FRAGMENTS_MAX
#define DTC_MPI_TAGS        (DTC_WIRE_FRAGMENTS_MAX + 1)

struct dtc_mpi_link;

struct dtconv_mpi {
	struct dtconv_transport
		transport; /* first: it is the object that channels name */
	struct dtconv_context *context;
	struct dtconv_engine *engine;
	MPI_Comm comm; /* of this object alone */
	int rank, size, level;
	unsigned source;
	bool is_attached;
	pthread_t thread; /* that has created it */
	size_t links_max; /* to one process, in all */
	pthread_mutex_t lock;
	atomic_long
		unreceived; /* messages that this process has sent, less those that it has received */
	size_t channels; /* open ones */
	int *linked;     /* by rank: links so far; and then room for the peers' */
	struct dtc_mpi_link *leaving; /* of destroyed channels */
};

/* The functions of a transport; the rest of it is filled in. */
extern const struct dtconv_transport dtc_mpi_transport;

/* Of dtc_channel_open_with(). */
struct dtc_mpi_endpoint {
	int rank;
};

/* Whether the calling thread may call MPI. */
bool dtc_mpi_may_call(const struct dtconv_mpi *mpi);

/* Say what is due on links of destroyed channels, and free those that have heard the peer. How many. */
size_t dtc_mpi_poll_leaving(struct dtconv_mpi *mpi);

/* How many there are; with the lock held. */
size_t dtc_mpi_count_leaving(const struct dtconv_mpi *mpi);

/*
 * No longer wait for peers that have made fewer links to this process than this one to them (@theirs, by rank), nor on
 * links where MPI has failed. False if it has: then messages may still be under way.
 */
bool dtc_mpi_forget_absent(struct dtconv_mpi *mpi, const int *theirs);

/* Receive all messages of a peer's link, which has none at this side. */
void dtc_mpi_receive_unanswered(struct dtconv_mpi *mpi, int rank, int number);

#endif
