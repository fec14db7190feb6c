/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A copy from one layout to another, or a range of it: how it is checked, started and ended.
 */
#ifndef DTC_COPY_H
#define DTC_COPY_H

#include <dtconv/copier.h>
#include <dtconv/type.h>

#include "copy_sides.h"

/* The names of the types in calls that take them as their first and fourth argument. */
#define DTC_COPY_SOURCE_TYPE "source_type (argument 1)"
#define DTC_COPY_TARGET_TYPE "target_type (argument 4)"

/* Members are set one by one: clearing both cursors, of 2 KiB each, would take longer than many copies. */
static inline void dtc_copy_set_end(struct dtc_copy_end *end,
				    const struct dtconv_type *type, const char *type_name,
				    const void *data)
{
	end->type = type;
	end->type_name = type_name;
	end->data = (char *)(uintptr_t)data;
}

/* The rest, but the cursors and the range, which dtc_copy_check sets. */
static inline void dtc_copy_init(struct dtc_copy *copy, bool started, const char *caller)
{
	copy->typed = NULL;
	copy->placement = (struct dtc_placement){ .on_stream = false };
	copy->started = started;
	copy->in_one_step = false;
	copy->caller = caller;
}

/*
 * Put both cursors at position 0, compare the signatures and select the whole stream, before anything is copied. Fails
 * with INVAL, STATE, OVERFLOW or SIGNATURE.
 */
int dtc_copy_check(struct dtc_copy *copy, size_t source_count, size_t target_count);

/*
 * The same, and apply the caller's options, of which NULL are the defaults. Makes copy->typed if there is an operation.
 * Fails also with UNSUPPORTED and NOMEM.
 */
int dtc_copy_configure(struct dtc_copy *copy, size_t source_count, size_t target_count,
		       const struct dtconv_copier_params *params);

/* Select a range of a checked copy. Fails with INVAL if it begins behind the source's end. */
int dtc_copy_select(struct dtc_copy *copy, size_t position, size_t bytes);

/*
 * Start a checked copy by the most direct way that is possible. If its last job is still in flight, @event has a
 * backend. @copied is the number of packed bytes started, valid even if the call fails.
 */
int dtc_copy_start(struct dtc_copy *copy, struct dtc_event *event, size_t *copied);

/* Start a checked copy and wait for it. */
int dtc_copy_run(struct dtc_copy *copy, size_t *copied);

/* Count a copy that has ended with @status. Fails with TRUNCATE if the target had room for less. */
int dtc_copy_end(const struct dtc_copy *copy, int status, size_t copied);

/*
 * Describe a checked copy whose sides are both not contiguous as one stretch. False if a device cannot copy it, or not
 * in one piece: it has an operation, memory of several kinds, or memory that is closed to devices.
 */
bool dtc_copy_describe(struct dtc_copy *copy, struct dtc_stretch *stretch);

/* Whether no device may see either side. */
bool dtc_copy_is_ordinary(const struct dtc_copy *copy);

/* Whether a side is contiguous: then it is the other side's packed stream. */
bool dtc_copy_is_row(const struct dtc_copy_end *end);

/* Where the packed stream of a contiguous side begins. */
char *dtc_copy_row(const struct dtc_copy_end *end);

#endif
