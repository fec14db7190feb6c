/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory of other processes by CUDA IPC, as struct dtc_vendor_ops wants it of a vendor.
 */
#ifndef DTC_CUDA_IPC_MEMORY_H
#define DTC_CUDA_IPC_MEMORY_H

#include "copy_backends/memory/ipc_memory.h"

struct dtconv_context;

int dtc_cuda_ipc_export(struct dtconv_context *context, const void *address,
			const char *caller, struct dtc_ipc_allocation *allocation);
int dtc_cuda_ipc_map(struct dtconv_context *context,
		     const struct dtc_ipc_allocation *allocation, const char *caller,
		     bool is_last, struct dtc_ipc_mapping *mapping);
enum dtc_ipc_end dtc_cuda_ipc_unmap(const struct dtc_ipc_mapping *mapping);
bool dtc_cuda_ipc_is_lost(const struct dtc_ipc_mapping *mapping);
uint64_t dtc_cuda_ipc_id(struct dtconv_context *context, uintptr_t address);
int dtc_cuda_ipc_current_device(struct dtconv_context *context);
bool dtc_cuda_ipc_run_later(struct dtconv_context *context, void (*run)(void *owned),
			    void *owned);

#endif
