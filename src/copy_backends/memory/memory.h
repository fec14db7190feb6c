/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory kinds: host memory, and memory that a device owns or can access. Vendors answer for their own
 * memory; memory that no vendor claims is host memory. Queries initialise no device.
 */
#ifndef DTC_MEMORY_H
#define DTC_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include <dtconv/memory.h>

#include "scratch_memory.h"

struct dtconv_context;

struct dtc_memory {
	enum dtconv_memory_kind kind;
	/* Ordinal of the device that owns it; that has access, if that one has not; or -1. */
	int device;
	void *owner;         /* the vendor's context that allocated it, or NULL */
	uintptr_t base, end; /* of the allocation or mapping; both 0 if unknown */
	intptr_t shift;      /* added to the process's address gives the device's */
	bool mapped; /* mapped by the application: in pieces, with access for devices that it names */
	bool denied;    /* mapped without access for its own device */
	bool read_only; /* mapped without write access for its own device */
	bool several;   /* the range spans adjacent allocations */
};

static inline struct dtc_memory dtc_memory_host(void)
{
	return (struct dtc_memory){ .kind = DTCONV_MEMORY_HOST, .device = -1 };
}

static inline bool dtc_memory_is_device_seen(const struct dtc_memory *memory)
{
	return memory->kind >= DTCONV_MEMORY_PINNED;
}

/* Whether they are known to be memory of two different devices. */
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

/* Whether [low, high) is known to be in that allocation. */
static inline bool dtc_memory_holds(const struct dtc_memory *memory, uintptr_t low,
				    uintptr_t high)
{
	return low >= memory->base && high <= memory->end && low <= high;
}

/*
 * Whether both addresses are certainly host memory: the caller has promised it, no device's driver is
 * in the process, or they are on the calling thread's stack. If false, query them. (A few nanoseconds.)
 */
bool dtc_memory_is_ordinary(struct dtconv_context *context, const void *a, const void *b);

/* Whether a device's driver is in the process. */
bool dtc_memory_has_driver(struct dtconv_context *context);

/*
 * Classify @address. The kind is unknown if the driver that owns it fails, if a driver has reserved the
 * address but mapped nothing there, or if a driver in the process cannot be used.
 */
void dtc_memory_query(struct dtconv_context *context, const void *address,
		      struct dtc_memory *memory);

/*
 * Why a kind is unknown: a status with its error text if a driver in the process cannot be used, else
 * 0.
 */
int dtc_memory_refused(struct dtconv_context *context, const char *caller);

/*
 * Whether the device that owns @user has access to @packed, memory of another device. Each is one
 * allocation. The application may revoke the access later.
 */
bool dtc_memory_reaches(struct dtconv_context *context, const struct dtc_memory *user,
			const struct dtc_memory *packed);

/*
 * Acquire scratch memory of the device that owns @near. Blocks while another thread holds it. False if
 * the device has none. Lock order: a thread that holds some for a copy between layouts may wait for another device's
 * for a copy via that device, never the other way round.
 */
bool dtc_scratch_acquire(struct dtconv_context *context, const struct dtc_memory *near,
			 enum dtc_scratch_purpose purpose, struct dtc_scratch *scratch);

const char *dtc_memory_kind_name(enum dtconv_memory_kind kind);

#endif
