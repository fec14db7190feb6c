/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state of a segment, and what its files call of each other.
 */
#ifndef DTC_SEGMENT_STATE_H
#define DTC_SEGMENT_STATE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <dtconv/segment.h>

#include "base/vec.h"
#include "copy_backends/memory/address_range.h"

/* Devices with access of their own. */
#define DTC_SEGMENT_DEVICES_MAX 64

#define DTC_SEGMENT_ID_BYTES 16

struct dtc_segment_mapping {
	struct dtc_mapping memory;
	uint64_t number; /* the sender's, never used again */
};

struct dtc_segment_grant {
	int device;
	enum dtc_range_access access;
};

struct dtconv_segment {
	struct dtconv_context *context;
	pthread_mutex_t lock;
	struct dtc_range range;
	bool any_user;
	bool is_received; /* or an alias: memory is not created here */
	unsigned char id[DTC_SEGMENT_ID_BYTES];
	uint64_t next_number;
	size_t bytes;            /* of memory, all at the beginning of the range */
	struct dtc_vec mappings; /* of struct dtc_segment_mapping, one behind another */
	struct dtc_segment_grant grants[DTC_SEGMENT_DEVICES_MAX];
	size_t grant_count;
};

/* segment.c */

/* One call at a time, which does not disturb captures of other threads. */
void dtc_segment_lock(struct dtconv_segment *segment, const char *caller);
void dtc_segment_unlock(struct dtconv_segment *segment);

/* An empty segment with addresses for @bytes bytes, to which @device has access. */
int dtc_segment_open(struct dtconv_context *context, int device, size_t bytes,
		     unsigned flags, const char *caller, struct dtconv_segment **opened);

/* Undo everything; see dtconv_segment_destroy(). */
int dtc_segment_close(struct dtconv_segment *segment, const char *caller);

/* segment_memory.c: all of them within lock and unlock. */

struct dtc_segment_mapping *dtc_segment_mapping_at(const struct dtconv_segment *segment,
						   size_t index);

/* The sentence of a call of the driver that failed: cannot @what. */
int dtc_segment_fail(struct dtconv_segment *segment, int status, const char *what);

/* Create @bytes bytes of memory, whole granules, and map them behind what is there. */
int dtc_segment_create_memory(struct dtconv_segment *segment, size_t bytes);

/* Map memory of another segment behind what is there; @fd stays the caller's. */
int dtc_segment_import_memory(struct dtconv_segment *segment, int fd, size_t bytes,
			      uint64_t number);

/* Unmap all but the first @count mappings, once the device is idle. */
int dtc_segment_cut(struct dtconv_segment *segment, size_t count);

/* Grant it for all mappings, or leave access as it was. */
int dtc_segment_grant(struct dtconv_segment *segment, int device,
		      enum dtc_range_access access);

#endif
