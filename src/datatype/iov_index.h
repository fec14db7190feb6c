/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The iovec entries of a layout, counted and found by number. An entry is a longest run of the
 * packed stream whose bytes are neighbours in memory too. Operations and iterations that touch
 * share one, so entries are counted as runs minus touching neighbours.
 */
#ifndef DTC_IOV_INDEX_H
#define DTC_IOV_INDEX_H

#include "datatype/layout.h"

/* The entries of an operation by itself, and where they begin and end in its iteration. */
struct dtc_iov_span {
	uint64_t entries;
	int64_t start;
	int64_t end;
	size_t samples; /* tables: the first of its samples */
};

struct dtc_iov_index {
	struct dtc_iov_span instance;
	const struct dtc_iov_span *spans; /* of each operation */
	const uint64_t
		*samples; /* entries that begin before every 64th entry of a table */
};

/* An index on the stack serves programs of so few operations without tables. */
#define DTC_IOV_INDEX_SMALL 16

struct dtc_iov_index_room {
	struct dtc_iov_index index;
	struct dtc_iov_span spans[DTC_IOV_INDEX_SMALL];
};

/*
 * The index of a layout whose size is not 0: made in @room if that is enough, otherwise kept
 * with the layout; several threads may ask. NULL if memory ran out.
 */
const struct dtc_iov_index *dtc_iov_index_of(struct dtc_layout *layout,
					     struct dtc_iov_index_room *room);

/* The number of entries of @count > 0 instances. */
uint64_t dtc_iov_index_entries(const struct dtc_iov_index *index,
			       const struct dtc_layout *layout, uint64_t count);

/* The byte of the packed stream at which entry @n of several instances begins. */
uint64_t dtc_iov_index_find(const struct dtc_iov_index *index,
			    const struct dtc_layout *layout, uint64_t n);

#endif
