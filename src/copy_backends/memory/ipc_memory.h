/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a vendor says of an allocation so that another process can map it, and where that process has mapped it.
 */
#ifndef DTC_IPC_MEMORY_H
#define DTC_IPC_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#define DTC_IPC_DRIVER_BYTES 64
#define DTC_IPC_DEVICE_BYTES 16

/* One allocation of the driver, as its owner describes it. */
struct dtc_ipc_allocation {
	unsigned char driver[DTC_IPC_DRIVER_BYTES]; /* the driver's handle of its base */
	unsigned char device[DTC_IPC_DEVICE_BYTES]; /* UUID */
	uint64_t base;                              /* address in the owner's process */
	uint64_t bytes;
	uint64_t id; /* buffer ID: never used again in the owner's process */
};

/* The same in a process that has mapped it. */
struct dtc_ipc_mapping {
	uintptr_t base;
	int device; /* ordinal, in this process, of the device whose context has it */
	bool is_refused; /* by the driver, perhaps because other mappings are in the way */
	void *owner;     /* the vendor's own */
};

/* What became of a mapping that was to be given back. */
enum dtc_ipc_end {
	DTC_IPC_UNMAPPED,
	DTC_IPC_LOST,   /* the device context is gone; no driver call was made */
	DTC_IPC_REFUSED /* the driver has refused; the mapping stays */
};

#endif
