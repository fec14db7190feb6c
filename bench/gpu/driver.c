/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Entry points by name and version, so that a newer driver keeps the ABI of the headers.
 */
#include "config.h"

#include "bench/gpu/driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "bench/gpu/start.h"

#define LIBRARY "libcuda.so.1"

/* Stores through memcpy: an object pointer becomes a function pointer. */
static bool find_entry(PFN_cuGetProcAddress_v12000 find, const char *name, int version,
		       void *entry, char *why, size_t room)
{
	CUdriverProcAddressQueryResult outcome;
	void *found = NULL;

	if (find(name, &found, version, CU_GET_PROC_ADDRESS_LEGACY_STREAM, &outcome) ||
	    !found) {
		snprintf(why, room, "the CUDA driver lacks %s (version %d)", name,
			 version);
		return false;
	}
	memcpy(entry, &found, sizeof(found));
	return true;
}

#define FIND(name, version) \
	&&find_entry(find, "cu" #name, version, &driver->name, why, room)

int gpu_driver_open(struct gpu_driver *driver, char *why, size_t room)
{
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	void *symbol = library ? dlsym(library, "cuGetProcAddress_v2") : NULL;
	PFN_cuGetProcAddress_v12000 find;
	CUresult result;

	memcpy(&find, &symbol, sizeof(symbol));
	if (!library)
		snprintf(why, room, "no CUDA driver was found (%s)", LIBRARY);
	else if (!find)
		snprintf(why, room, "the CUDA driver is older than 12.0");
	if (!find)
		return -1;
	if (!(true GPU_ENTRIES(FIND)))
		return -1;
	result = driver->Init(0);
	if (!result)
		return 0;
	if (result == CUDA_ERROR_NO_DEVICE)
		snprintf(why, room, "%s", GPU_NO_DEVICE);
	else
		snprintf(why, room, "the CUDA driver cannot be initialised: %s",
			 gpu_result_name(driver, result));
	return -1;
}

int gpu_start(char *why, size_t room)
{
	struct gpu_driver driver;
	int devices = 0;

	if (gpu_driver_open(&driver, why, room))
		return -1;
	if (!driver.DeviceGetCount(&devices) && devices)
		return 0;
	snprintf(why, room, "%s", GPU_NO_DEVICE);
	return -1;
}

const char *gpu_result_name(const struct gpu_driver *driver, CUresult result)
{
	const char *name = NULL;

	if (driver->GetErrorName(result, &name) || !name)
		return "an unknown CUresult";
	return name;
}
