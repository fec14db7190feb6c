/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The structure of a batch: its entries, and the groups of entries that are submitted together. A plan
 * is made once after each binding and reused by every start.
 */
#ifndef DTC_BATCH_H
#define DTC_BATCH_H

#include <dtconv/batch.h>

#include "base/base.h"
#include "convertor/copy.h"
#include "copy_backends/backend.h"
#include "datatype/type.h"

enum dtc_batch_path {
	DTC_BATCH_ON_HOST,  /* by the host, before start returns */
	DTC_BATCH_IN_GROUP, /* with other entries, in one submission */
	DTC_BATCH_SINGLE    /* in a submission of its own */
};

struct dtc_batch_group;

struct dtc_batch_item {
	/*
	 * With a reference to its type. A copy with a contiguous side is the pack or unpack of the other side; of other
	 * copies only the bytes count, and the type is NULL.
	 */
	struct dtconv_batch_entry entry;
	struct dtc_copy *copy; /* of a copy, with references to its types; else NULL */
	size_t size;           /* of the whole stream */
	enum dtc_batch_path path;
	struct dtc_batch_group *group;
	struct dtc_stretch stretch; /* if the path is a group */
	int status;
	size_t moved;
	/* Of a single entry; without a backend it has completed. */
	struct dtc_event event;
};

/* Entries of one direction, or copies between layouts, in memory of one device. */
struct dtc_batch_group {
	struct dtc_batch_group *next;
	const struct dtc_backend_ops *backend;
	bool used;
	bool alone; /* this time its entries are submitted one by one */
	int device;
	void *owner; /* the vendor's context that allocated the memory */
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
	const struct dtc_stretch **stretches; /* of all groups, group by group */
	struct dtc_batch_group *groups;
	bool planned;
	bool in_flight;
	size_t singles; /* single entries in flight */
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

/* Whether it is a copy that is no pack or unpack. */
static inline bool dtc_batch_is_between(const struct dtc_batch_item *item)
{
	return !item->entry.type;
}

static inline size_t dtc_batch_bytes(const struct dtc_batch_item *item)
{
	return DTC_MIN(item->size, item->entry.bytes);
}

#endif
