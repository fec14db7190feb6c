/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies from one layout to another in one submission, where a device can access both sides.
 */
#ifndef DTC_COPY_BACKENDS_LAYOUT_COPY_H
#define DTC_COPY_BACKENDS_LAYOUT_COPY_H

#include "copy_backends/backend.h"

/* One side, at the position of its cursor, in one kind of memory. */
struct dtc_copy_side {
	struct dtc_cursor *cursor;
	char *user; /* displacement 0 */
	struct dtc_memory memory;
};

/* Copy @bytes of the stream from both cursors' position on, which is the same, and advance them. */
struct dtc_copy_job {
	struct dtc_copy_side source, target;
	uint64_t bytes; /* more than 0, in one kind of memory on each side */
	struct dtconv_context *context;
	bool on_stream; /* ordered by @stream; NULL is the default stream */
	bool started;   /* the caller does not wait for it immediately */
	bool is_part;   /* of a launch of many */
	bool may_relay; /* refuse it where the caller is faster by packing and unpacking, which blocks */
	void *stream;
	const char *caller;
};

/*
 * Start a copy. Fails with LIMIT, without an error text, if there is no such way: no kernel for these layouts, none
 * loaded yet, a side that no device may access, a backend that is not allowed. Then the caller packs and unpacks.
 */
int dtc_layout_copy_submit(const struct dtc_copy_job *job, struct dtc_event *event);

/* Copies of so many bytes get a launch of their own in a batch. */
#define DTC_LAYOUT_COPY_ALONE (UINT64_C(256) << 10)

/* What is known of one launch in advance. */
struct dtc_copy_foresight {
	const char *kernel;  /* NULL: none copies so */
	const char *reason;  /* why not */
	double ns;           /* estimated */
	const char *missing; /* why it cannot run in this process, or NULL */
};

/* @source is the pack of one side, @target the unpack of the other, both inside a device. */
struct dtc_copy_foresight dtc_layout_copy_foresee(const struct dtc_question *source,
						  const struct dtc_question *target);

/*
 * The backend that copies such a stretch together with others in one submission. NULL if none does: no kernel for these
 * layouts, or a backend that is not allowed.
 */
const struct dtc_backend_ops *dtc_layout_copy_together(struct dtconv_context *context,
						       const struct dtc_stretch *copy);

/* Whether the stream of a device is being captured, so that nothing in it is done when a call returns. */
bool dtc_stream_is_captured(struct dtconv_context *context, void *stream);

#endif
