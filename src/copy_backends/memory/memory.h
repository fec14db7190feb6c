/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where an address lives: host memory, or memory that a device owns or sees. Vendors answer for what is
 * theirs; memory that nobody claims is the host's. Asking initialises no device.
 */
#ifndef DTC_MEMORY_H
#define DTC_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include <dtconv/memory.h>

struct dtconv_context;

struct dtc_memory {
	enum dtconv_memory_kind kind;
	int device;          /* ordinal of the device that owns it, or -1 */
	void *owner;         /* the vendor's context that it was made in, or NULL */
	uintptr_t base, end; /* of the allocation or mapping; both 0 if nobody knows */
	intptr_t shift;      /* from an address of the process to the device's */
	bool mapped;         /* the application maps it: in pieces, and for devices that it names */
	bool denied;         /* mapped, and not even for its own device */
	bool read_only;      /* mapped, and its own device may not write to it */
	bool several;        /* the range is of allocations that follow each other */
};

static inline struct dtc_memory dtc_memory_host(void)
{
	return (struct dtc_memory){ .kind = DTCONV_MEMORY_HOST, .device = -1 };
}

static inline bool dtc_memory_is_device_seen(const struct dtc_memory *memory)
{
	return memory->kind >= DTCONV_MEMORY_PINNED;
}

/* Whether the two are known to be memory of two devices. */
static inline bool dtc_memory_is_between(const struct dtc_memory *a,
					 const struct dtc_memory *b)
{
	return a->kind == DTCONV_MEMORY_DEVICE && b->kind == DTCONV_MEMORY_DEVICE &&
	       a->device >= 0 && b->device >= 0 && a->device != b->device;
}

/* The device that moves between memory of two kinds, or -1. */
static inline int dtc_memory_device_of(const struct dtc_memory *user,
				       const struct dtc_memory *packed)
{
	if (user->kind == DTCONV_MEMORY_DEVICE || packed->device < 0)
		return user->device;
	return packed->device;
}

/* Whether [low, high) is known to lie in the one allocation. */
static inline bool dtc_memory_holds(const struct dtc_memory *memory, uintptr_t low,
				    uintptr_t high)
{
	return low >= memory->base && high <= memory->end && low <= high;
}

/*
 * Whether both addresses are surely the host's, because the caller has promised it, no
 * device's driver is in the process, or they are on the calling thread's stack. A few nanoseconds; false means: ask.
 */
bool dtc_memory_is_ordinary(struct dtconv_context *context, const void *a, const void *b);

/* Whether a device's driver is in the process, which it need not be for a caller's word of memory. */
bool dtc_memory_has_driver(struct dtconv_context *context);

/*
 * Find out where @address lives. The kind is unknown if a driver that should know fails, if nothing is
 * mapped at an address that a driver has reserved, or if a driver that is there could not be taken.
 */
void dtc_memory_query(struct dtconv_context *context, const void *address,
		      struct dtc_memory *memory);

/* Why a kind is unknown: 0, or, if a driver that is there was not taken, a status with its sentence. */
int dtc_memory_refused(struct dtconv_context *context, const char *caller);

/*
 * Whether the device that owns @user may touch @packed, memory of another one; each is one allocation.
 * It may be taken back later.
 */
bool dtc_memory_reaches(struct dtconv_context *context, const struct dtc_memory *user,
			const struct dtc_memory *packed);

/* Memory of a device that is lent for a while, and the stream that what is done there goes by. */
struct dtc_scratch {
	char *memory;
	size_t bytes;
	void *stream;
	void *owner; /* what follows is the vendor's */
	void (*end)(struct dtc_scratch *scratch);
};

/*
 * Borrow memory of the device that owns @near; waits while somebody else has it. False if there is none to
 * be had.
 */
bool dtc_scratch_acquire(struct dtconv_context *context, const struct dtc_memory *near,
			 struct dtc_scratch *scratch);

/* Give it back; nothing that uses it is in flight. */
static inline void dtc_scratch_release(struct dtc_scratch *scratch)
{
	scratch->end(scratch);
}

const char *dtc_memory_kind_name(enum dtconv_memory_kind kind);

#endif
