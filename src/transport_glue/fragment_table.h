/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fragments by number, for transports whose network copies them: own ones that are out, and where the peer's land. The
 * fragment with number n of one process always lands in landing n of the other, so a landing is free whenever the peer
 * may send to it, and fragments are the credits.
 *
 * It is compiled into each such transport.
 */
#ifndef DTC_FRAGMENT_TABLE_H
#define DTC_FRAGMENT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dtconv/pool.h>

#include "wire.h"

struct dtc_slab_plan;
struct dtconv_context;
struct dtconv_fragment;

/* An own fragment. It is out until the network no longer reads it and the peer has returned it. */
struct dtc_departure {
	struct dtconv_fragment *fragment; /* NULL: not out */
	bool is_read;                     /* by the network */
	bool is_returned;                 /* by the peer, or the connection has ended */
	int status;                       /* with which it is reported as sent */
};

/* Where a fragment of the peer's lands. */
struct dtc_landing {
	struct dtconv_fragment *fragment;
	void *address;
	void *connection; /* for release functions */
	bool is_full;     /* its bytes have arrived and are not released */
};

struct dtc_fragment_table {
	struct dtconv_context *context;
	/* Own fragments. */
	const struct dtc_slab_plan *plan; /* of their pool */
	size_t departure_count;
	struct dtc_departure *departures;
	size_t out;       /* of those */
	size_t lingering; /* returned, but the network still reads them */
	/* The peer's. */
	struct dtconv_pool *pool;
	size_t landing_count;
	struct dtc_landing *landings;
	size_t landing_bytes; /* capacity of one */
	size_t full;
};

/* A table for the fragments of a pool of which none has been taken. */
int dtc_fragment_table_open(struct dtc_fragment_table *table,
			    struct dtconv_context *context, struct dtconv_pool *pool,
			    const char *caller);

/* The first packet of a transport with such a table. */
struct dtc_wire_packet dtc_fragment_table_hello(const struct dtc_fragment_table *table,
						enum dtc_wire_transport transport);

/*
 * Allocate so many landings of @bytes each, in memory like that of the own fragments, with a registrar or NULL.
 * @connection is what landings name. DTCONV_ERR_LIMIT if a peer may not have so much. After a failure the table has
 * none.
 */
int dtc_fragment_table_land(struct dtc_fragment_table *table, size_t count, size_t bytes,
			    const struct dtconv_registrar *registrar, void *connection);

/* Nothing is out or full. Also of a table that is all zero. */
void dtc_fragment_table_close(struct dtc_fragment_table *table);

/* Why it failed, of a peer. */
const char *dtc_fragment_table_reason(int status);

/* The peer has this fragment from now on, and the network reads it. Its number. */
uint32_t dtc_departure_post(struct dtc_fragment_table *table,
			    struct dtconv_fragment *fragment);

/* Undo it: the network has not taken the fragment. */
void dtc_departure_undo(struct dtc_fragment_table *table, uint32_t number);

/* The network no longer reads it. */
void dtc_departure_was_read(struct dtc_fragment_table *table, uint32_t number);

/* The peer returns it with that status. False if it does not have it. */
bool dtc_departure_return(struct dtc_fragment_table *table, uint32_t number, int status);

/* The peer returns nothing any more: all that are out end with PEER. */
void dtc_departures_end(struct dtc_fragment_table *table);

/* Whether the peer may send a fragment with that number and length now. */
bool dtc_landing_is_free(const struct dtc_fragment_table *table, uint32_t number,
			 uint64_t bytes);

/* Its bytes have arrived. */
struct dtc_landing *dtc_landing_fill(struct dtc_fragment_table *table, uint32_t number);

/* Its bytes are no longer needed. Its number. */
uint32_t dtc_landing_clear(struct dtc_fragment_table *table, struct dtc_landing *landing);

/* Whether devices read own fragments directly, and landings. */
bool dtc_fragments_are_pinned(const struct dtc_fragment_table *table);
bool dtc_landings_are_pinned(const struct dtc_fragment_table *table);

#endif
