/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pinned host memory. It is allocated with mmap and registered, because memory that the driver allocated would be
 * unmapped when the application destroys the CUDA context while the host still reads it.
 */
#include "config.h"

#include "pinned.h"

#include <sys/mman.h>
#include <unistd.h>

static size_t whole_pages(size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (bytes + page - 1) / page * page;
}

CUresult dtc_cuda_pinned_create(struct dtc_cuda_context *context, size_t bytes, void **memory,
				CUdeviceptr *device)
{
	const struct dtc_cuda_driver *driver = &context->cuda->driver;

	/* Made by an attempt that got no address. */
	if (*memory)
		return driver->MemHostGetDevicePointer(device, *memory, 0);
	bytes = whole_pages(bytes);
	void *made = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (made == MAP_FAILED)
		return CUDA_ERROR_OUT_OF_MEMORY;
	CUresult result = driver->MemHostRegister(
		made, bytes, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
	if (result) {
		munmap(made, bytes);
		return result;
	}
	*memory = made;
	return driver->MemHostGetDevicePointer(device, made, 0);
}

void dtc_cuda_pinned_destroy(struct dtc_cuda_context *context, void *memory, size_t bytes)
{
	/* Memory that could not be unregistered may still be the device's to write. */
	if (memory && !context->cuda->driver.MemHostUnregister(memory))
		munmap(memory, whole_pages(bytes));
}
