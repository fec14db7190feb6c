/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bytes of a struct dtconv_ipc_handle. They come from another process, so nothing in them is trusted.
 */
#ifndef DTC_IPC_HANDLE_H
#define DTC_IPC_HANDLE_H

#include <stddef.h>

#include "base/base.h"
#include "base/process.h"
#include "copy_backends/memory/ipc_memory.h"

#define DTC_IPC_VERSION 1

/* A range of memory in one allocation of a process. */
struct dtc_ipc_handle {
	struct dtc_process owner;
	struct dtc_ipc_allocation allocation;
	uint64_t offset; /* of the range in the allocation */
	uint64_t bytes;  /* of the range */
};

void dtc_ipc_handle_write(const struct dtc_ipc_handle *handle, void *bytes);

/*
 * Read @length bytes. NULL: they are a handle of this version, whose range lies in the allocation, and whose numbers fit
 * this machine. Otherwise what is wrong, for a message.
 */
const char *dtc_ipc_handle_read(const void *bytes, size_t length,
				struct dtc_ipc_handle *handle);

#endif
