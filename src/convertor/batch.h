/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A batch's inside: its entries, and how they are moved together. Arranged once after each binding,
 * started as often as asked for.
 */
#ifndef DTC_BATCH_H
#define DTC_BATCH_H

#include <dtconv/batch.h>

#include "copy_backends/backend.h"
#include "datatype/type.h"

enum dtc_way {
	DTC_WAY_HOST,  /* by the processor, at once */
	DTC_WAY_GROUP, /* with others, in one submission */
	DTC_WAY_ALONE  /* as a convertor would */
};

struct dtc_batch_group;

struct dtc_batch_item {
	struct dtconv_batch_entry entry; /* with a reference to its type */
	size_t size;                     /* of the whole stream */
	enum dtc_way way;
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
	struct dtc_many many;
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
	bool arranged;
	bool in_flight;
	size_t alone; /* entries in flight that move alone */
	size_t failed;
	dtconv_done_fn done;
	void *arg;
};

/* Fail if the batch is in flight. */
int dtc_batch_check_idle(const struct dtconv_batch *batch, const char *caller);

/* Find out how each entry is moved. What cannot be arranged is moved alone. */
void dtc_batch_arrange(struct dtconv_batch *batch);

/* The groups are no longer what is to be moved; what backends keep for them stays for the next. */
void dtc_batch_disband(struct dtconv_batch *batch);

/* Give groups back with all that backends keep for them. */
void dtc_batch_drop_groups(struct dtconv_batch *batch);

/* Wait for all that is in flight. */
void dtc_batch_await(struct dtconv_batch *batch);

#endif
