/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranges of addresses for memory of one device: reserved once, backed by mappings one by one, which other processes can
 * map too. Made and undone by threads that may block, never in a message.
 */
#ifndef DTC_ADDRESS_RANGE_H
#define DTC_ADDRESS_RANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dtc_range_ops;
struct dtconv_context;

struct dtc_range {
	char *base;   /* filled in */
	size_t bytes; /* 0: as much as the device has memory; rounded up to granules */
	size_t granularity; /* of mappings, in bytes; filled in */
	/* Ordinal of the device that creates memory; negative: that of the calling thread's device context; filled in. */
	int device;
	bool compressible; /* memory that is created may be compressed, if the device can do so */
	const char *caller;
	const char *why; /* in the driver's words, if a call failed; a constant string */
	struct dtconv_context *context;
	bool is_shareable; /* memory that is created can be exported; filled in */
	const struct dtc_range_ops *ops; /* the vendor's */
	void *owner;                     /* from here on the vendor's own */
	int entered;
};

enum dtc_range_access { DTC_RANGE_NONE, DTC_RANGE_READ, DTC_RANGE_WRITE };

/* Memory at an offset of a range. It exists as long as a handle or a mapping of it does, in any process. */
struct dtc_mapping {
	size_t offset; /* granules, as bytes */
	size_t bytes;
	uint64_t handle;
	int device;         /* that has the memory; -1: unknown. Filled in */
	bool is_compressed; /* filled in */
};

/*
 * What a vendor provides. Functions that answer an int return 0; NOMEM or UNSUPPORTED; or BACKEND: the driver refused,
 * and range->why says why. There are no error texts.
 */
struct dtc_range_ops {
	/* UNSUPPORTED with why == NULL: no context of the device. */
	int (*reserve)(struct dtc_range *range);
	/* Round all other calls, by one thread at a time: so they do not disturb a capture of another thread. */
	void (*enter)(struct dtc_range *range);
	void (*leave)(struct dtc_range *range);
	/* Fails if mappings are left. */
	int (*unreserve)(struct dtc_range *range);
	int (*create)(struct dtc_range *range, struct dtc_mapping *mapping);
	/* @fd stays the caller's. */
	int (*import)(struct dtc_range *range, struct dtc_mapping *mapping, int fd);
	/* The descriptor is the caller's. */
	int (*export)(struct dtc_range *range, const struct dtc_mapping *mapping,
		      int *fd);
	void (*release)(struct dtc_range *range, const struct dtc_mapping *mapping);
	/* Nobody has access yet. */
	int (*map)(struct dtc_range *range, const struct dtc_mapping *mapping);
	int (*unmap)(struct dtc_range *range, const struct dtc_mapping *mapping);
	int (*set_access)(struct dtc_range *range, const struct dtc_mapping *mapping,
			  int device, enum dtc_range_access access);
	/* Fill memory that its own device has access to with zeros, and wait for that. */
	int (*clear)(struct dtc_range *range, const struct dtc_mapping *mapping);
	int (*export_dma_buf)(struct dtc_range *range, size_t offset, size_t bytes,
			      int *fd);
	/* Wait until the device is idle. False: its context is lost, and nothing is known of what it still accesses. */
	bool (*await)(struct dtc_range *range);
};

/* Memory of its own, or another process's, at addresses of its own. */
struct dtc_shared_memory {
	struct dtc_range range;
	struct dtc_mapping mapping;
};

/* Reserve addresses, of the vendor whose driver is in the process. UNSUPPORTED if there is none. */
int dtc_range_reserve(struct dtconv_context *context, struct dtc_range *range);

/*
 * Create @bytes bytes of device @device, which has access to them, and fill them with zeros; *@fd is a descriptor for other
 * processes, owned by the caller. Statuses as above; on failure range.why is the reason, or NULL.
 */
int dtc_shared_memory_create(struct dtconv_context *context,
			     struct dtc_shared_memory *memory, size_t bytes, int device,
			     const char *caller, int *fd);

/* Map another process's memory of @bytes bytes, which @device may read. @fd stays the caller's. */
int dtc_shared_memory_import(struct dtconv_context *context,
			     struct dtc_shared_memory *memory, size_t bytes, int device,
			     const char *caller, int fd);

/* Undo either, once the device is idle. False: it may still access the memory, which stays. */
bool dtc_shared_memory_undo(struct dtc_shared_memory *memory);

#endif
