/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A batch's inside: its entries, and how they are moved together. Arranged once after each binding,
 * started as often as asked for.
 */
#ifndef DTC_BATCH_H
#define DTC_BATCH_H

#include <dtconv/batch.h>

#include "base.h"
#include "copy_backends/backend.h"
#include "datatype/type.h"

enum dtc_batch_path {
	DTC_BATCH_ON_HOST,  /* by the processor, at once */
	DTC_BATCH_IN_GROUP, /* with others, in one submission */
	DTC_BATCH_SINGLE    /* as a convertor would */
};

struct dtc_batch_group;

struct dtc_batch_item {
	struct dtconv_batch_entry entry; /* with a reference to its type */
	size_t size;                     /* of the whole stream */
	enum dtc_batch_path path;
	struct dtc_batch_group *group;
	struct dtc_stretch stretch; /* of an entry that moves with others */
	int status;
	size_t moved;
	struct dtc_event
		event; /* of an entry that moves alone; without a backend: it has ended */
};

/* Entries of one direction in memory of one device. */
struct dtc_batch_group {
	struct dtc_batch_group *next;
	const struct dtc_backend_ops *backend;
	bool used;
	int device;
	void *owner; /* the vendor's context that the memory was made in */
	struct dtc_batch_job job;
	struct dtc_event event;
	int status;
};

struct dtconv_batch {
	struct dtconv_context *context;
	bool on_stream;
	void *stream;
	size_t count;
	size_t capacity;
	struct dtc_batch_item *items;
	const struct dtc_stretch *
		*stretches; /* of all groups, one group's after another's */
	struct dtc_batch_group *groups;
	bool planned;
	bool in_flight;
	size_t singles; /* entries in flight that move alone */
	size_t failed;
	dtconv_done_fn done;
	void *arg;
};

_Static_assert((int)DTCONV_BATCH_PACK == (int)DTC_PACK, "directions differ");
_Static_assert((int)DTCONV_BATCH_UNPACK == (int)DTC_UNPACK, "directions differ");

static inline enum dtc_direction dtc_batch_direction(const struct dtc_batch_item *item)
{
	return (enum dtc_direction)item->entry.direction;
}

static inline size_t dtc_batch_bytes(const struct dtc_batch_item *item)
{
	return DTC_MIN(item->size, item->entry.bytes);
}

#endif
