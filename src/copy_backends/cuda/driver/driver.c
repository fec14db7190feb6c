/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finding the driver. Only a libcuda that the process has loaded already counts, because no device memory can
 * exist before. Each entry point is requested by the version of its interface that this library was written for,
 * so that newer drivers keep the old behaviour.
 */
#include "config.h"

#include "driver.h"

#include <dlfcn.h>
#include <string.h>

#include "base/context.h"
#include "base/log.h"

#define LIBRARY "libcuda.so.1"

/* The oldest driver: it brought cuGetProcAddress_v2 and ids of contexts. */
#define OLDEST 12000

struct search {
	struct dtconv_context *context;
	PFN_cuGetProcAddress_v12000 find;
};

/* Stores through memcpy: an object pointer becomes a function pointer. */
static bool find_entry(const struct search *search, const char *name, int version, void *entry)
{
	CUdriverProcAddressQueryResult outcome;
	void *found = NULL;

	if (search->find(name, &found, version, CU_GET_PROC_ADDRESS_LEGACY_STREAM, &outcome))
		found = NULL;
	memcpy(entry, &found, sizeof(found));
	return found;
}

static bool needed_entry(const struct search *search, const char *name, int version, void *entry)
{
	if (find_entry(search, name, version, entry))
		return true;
	DTC_LOG(search->context, DTCONV_LOG_WARN,
		"the CUDA driver lacks %s (version %d); device memory is not supported",
		name, version);
	return false;
}

#define NEEDED(name, version) \
	&&needed_entry(search, "cu" #name, version, &driver->name)

static bool find_entries(const struct search *search, struct dtc_cuda_driver *driver)
{
	return true DTC_CUDA_ENTRIES(NEEDED);
}

/* One that does not say has all the entry points, and so is no older. */
static bool is_recent(struct dtconv_context *context, struct dtc_cuda_driver *driver)
{
	if (driver->DriverGetVersion(&driver->version))
		driver->version = OLDEST;
	if (driver->version >= OLDEST)
		return true;
	DTC_LOG(context, DTCONV_LOG_WARN,
		"the CUDA driver is version %d.%d, older than 12.0; device memory is not "
		"supported",
		driver->version / 1000, driver->version % 1000 / 10);
	return false;
}

bool dtc_cuda_driver_is_loaded(void)
{
	void *library = dlopen(LIBRARY, RTLD_LAZY | RTLD_NOLOAD);

	/* The process has it for ever; our own count of it is given back. */
	if (library)
		dlclose(library);
	return library;
}

bool dtc_cuda_driver_find(struct dtconv_context *context, struct dtc_cuda_driver *driver)
{
	struct search search = { .context = context };
	void *library = dlopen(LIBRARY, RTLD_LAZY | RTLD_NOLOAD);

	if (!library)
		return false;
	void *find = dlsym(library, "cuGetProcAddress_v2");
	memcpy(&search.find, &find, sizeof(find));
	bool found = find && find_entries(&search, driver) && is_recent(context, driver);

	if (!find)
		DTC_LOG(context, DTCONV_LOG_WARN,
			"the CUDA driver is older than 12.0; device memory is not supported");
	dlclose(library);
	return found;
}

bool dtc_cuda_driver_claims(const void *address)
{
	void *library = dlopen(LIBRARY, RTLD_LAZY | RTLD_NOLOAD);
	PFN_cuPointerGetAttribute_v4000 ask;
	unsigned type = 0, managed = 0;
	const CUdeviceptr place = (CUdeviceptr)(uintptr_t)address;

	if (!library)
		return false;
	void *symbol = dlsym(library, "cuPointerGetAttribute");
	memcpy(&ask, &symbol, sizeof(ask));
	if (ask && !ask(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, place) &&
	    type == CU_MEMORYTYPE_DEVICE)
		ask(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, place);
	dlclose(library);
	return type == CU_MEMORYTYPE_DEVICE && !managed;
}

const char *dtc_cuda_result_name(const struct dtc_cuda_driver *driver, CUresult result)
{
	const char *name = NULL;

	if (driver->GetErrorName(result, &name) || !name)
		return "an unknown CUresult";
	return name;
}
