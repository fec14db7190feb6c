/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Telling a user what is there: the driver, each device and what it can do, and why there is none.
 */
#include "config.h"

#include "cuda.h"

#include "base.h"
#include "context.h"
#include "kernels/gpu_images.h"
#include "special.h"
#include "state.h"
#include "text.h"

/*
 * The driver's numbers for what the headers of CUDA 12 do not all name. A driver that does not know
 * one says so.
 */
enum {
	FABRIC_HANDLES = 128,
	MULTICAST = 132,
	HOST_NUMA_VMM = 141,
};

#if CUDA_VERSION >= 13000
_Static_assert(
	(int)CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED == FABRIC_HANDLES &&
		(int)CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED == MULTICAST &&
		(int)CU_DEVICE_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED ==
			HOST_NUMA_VMM,
	"numbers of attributes never change");
#endif

static const struct capability {
	int attribute;
	const char *name;
} capabilities[] = {
	{ CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, "UNIFIED_ADDRESSING" },
	{ CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, "VMM" },
	{ HOST_NUMA_VMM, "VMM on NUMA nodes of the host" },
	{ CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED,
	  "POSIX_FD handles" },
	{ FABRIC_HANDLES, "FABRIC handles" },
	{ MULTICAST, "MULTICAST" },
	{ CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED, "GPUDirect RDMA" },
	{ CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED,
	  "GPUDirect RDMA of VMM" },
	{ CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED, "DMA-BUF" },
};

enum answer { YES, NO, UNKNOWN, ANSWERS };

static enum answer ask(const struct dtc_cuda_driver *driver, int attribute,
		       CUdevice device)
{
	int value = 0;

	if (driver->DeviceGetAttribute(&value, (CUdevice_attribute)attribute, device))
		return UNKNOWN;
	return value ? YES : NO;
}

static void describe_capabilities(const struct dtc_cuda_driver *driver, CUdevice device,
				  struct dtc_text *text)
{
	static const char *const words[ANSWERS] = { "supports", "does not support",
						    "the driver does not say" };
	enum answer answers[DTC_ARRAY_LENGTH(capabilities)];

	for (size_t i = 0; i < DTC_ARRAY_LENGTH(capabilities); i++)
		answers[i] = ask(driver, capabilities[i].attribute, device);
	for (int answer = 0; answer < ANSWERS; answer++) {
		size_t count = 0;

		for (size_t i = 0; i < DTC_ARRAY_LENGTH(capabilities); i++) {
			if ((int)answers[i] != answer)
				continue;
			if (!count++)
				dtc_text_printf(text, "    %s: ", words[answer]);
			dtc_text_printf(text, "%s%s", count > 1 ? ", " : "",
					capabilities[i].name);
		}
		if (count)
			dtc_text_puts(text, "\n");
	}
}

static void describe_device(const struct dtc_cuda_driver *driver, int ordinal,
			    struct dtc_text *text)
{
	char name[128] = "";
	CUdevice device;
	int major = 0, minor = 0;
	size_t bytes = 0;

	if (driver->DeviceGet(&device, ordinal) ||
	    driver->DeviceGetName(name, sizeof(name), device))
		return;
	driver->DeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
				   device);
	driver->DeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
				   device);
	driver->DeviceTotalMem(&bytes, device);
	dtc_text_printf(text, "  device %d: %s, compute capability %d.%d, %zu MiB\n",
			ordinal, name, major, minor, bytes >> 20);
	describe_capabilities(driver, device, text);
}

/* NULL: there is one that will do. */
static const char *missing_driver(struct dtconv_context *context)
{
	if (dtc_cuda_of(context))
		return NULL;
	return dtc_cuda_driver_is_loaded()
		       ? "the driver that this process has loaded is not used (DTCONV_LOG=warn tells why)"
		       : "this process has loaded no driver";
}

/* Answers how many there are, or why there are none. */
static int count_devices(const struct dtc_cuda *cuda, const char **why)
{
	int devices = 0;
	CUresult result = cuda->driver.DeviceGetCount(&devices);

	if (!result && devices)
		return devices;
	*why = result == CUDA_ERROR_NOT_INITIALIZED ? "the driver is not initialised"
						    : "the driver has no device";
	return 0;
}

const char *dtc_cuda_missing(struct dtconv_context *context)
{
	const char *why = missing_driver(context);

	if (!why)
		count_devices(dtc_cuda_of(context), &why);
	return why;
}

/* As --with-gpu-archs names architectures: sm_90 is a binary, compute_75 is PTX. */
static void describe_kernels(struct dtc_text *text)
{
	dtc_text_puts(text, "  GPU kernels built in:");
	for (size_t i = 0; i < dtc_gpu_image_count; i++)
		dtc_text_printf(text, " %s_%u",
				dtc_gpu_images[i].is_ptx ? "compute" : "sm",
				dtc_gpu_images[i].arch);
	dtc_text_puts(text, dtc_gpu_image_count
				    ? "\n"
				    : " none, so blocks are copied one by one\n");
}

/* Also where no driver is loaded: what is installed can be told. */
static void describe_without_driver(struct dtconv_context *context, struct dtc_text *text)
{
	struct dtc_gdr gdr = { .connection = NULL };

	dtc_text_printf(text, "CUDA: built in; %s\n", missing_driver(context));
	describe_kernels(text);
	dtc_gdr_init(&gdr);
	dtc_gdr_describe(&gdr, context, text);
	dtc_gdr_close(&gdr);
	dtc_cuda_special_describe(NULL, context, text);
}

void dtc_cuda_describe(struct dtconv_context *context, struct dtc_text *text)
{
	struct dtc_cuda *cuda = dtc_cuda_of(context);
	const char *why = NULL;

	if (!cuda) {
		describe_without_driver(context, text);
		return;
	}
	int devices = count_devices(cuda, &why);
	dtc_text_printf(text, "CUDA: driver %d.%d\n", cuda->driver.version / 1000,
			cuda->driver.version % 1000 / 10);
	describe_kernels(text);
	if (why)
		dtc_text_printf(text, "  %s\n", why);
	for (int i = 0; i < devices; i++)
		describe_device(&cuda->driver, i, text);
	dtc_gdr_describe(&cuda->gdr, context, text);
	dtc_cuda_special_describe(cuda, context, text);
}
