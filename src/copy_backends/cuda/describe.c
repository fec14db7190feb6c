/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What dtconv info prints about CUDA: the driver, each device and its capabilities, and why there is none.
 */
#include "config.h"

#include "cuda.h"

#include "base/base.h"
#include "base/context.h"
#include "base/text.h"
#include "copy_backends/cuda/device/device_context.h"
#include "copy_backends/cuda/driver/gdrcopy.h"
#include "copy_backends/cuda/launch/special_kernels.h"
#include "kernels/images/images.h"

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
	size_t offset; /* of an int in struct dtconv_device_attr */
	const char *name;
} capabilities[] = {
#define CAPABILITY(attribute, member, name)                                  \
	{                                                                    \
		attribute, offsetof(struct dtconv_device_attr, member), name \
	}
	CAPABILITY(CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, unified_addressing,
		   "UNIFIED_ADDRESSING"),
	CAPABILITY(CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, vmm, "VMM"),
	CAPABILITY(HOST_NUMA_VMM, vmm_host_numa, "VMM on NUMA nodes of the host"),
	CAPABILITY(CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED,
		   posix_fd_handles, "POSIX_FD handles"),
	CAPABILITY(FABRIC_HANDLES, fabric_handles, "FABRIC handles"),
	CAPABILITY(MULTICAST, multicast, "MULTICAST"),
	CAPABILITY(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED, gpudirect_rdma,
		   "GPUDirect RDMA"),
	CAPABILITY(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED,
		   gpudirect_rdma_vmm, "GPUDirect RDMA of VMM"),
	CAPABILITY(CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED, dma_buf, "DMA-BUF"),
};

/* 1, 0, or -1 where the driver does not say. */
static int ask(const struct dtc_cuda_driver *driver, int attribute, CUdevice device)
{
	int value = 0;

	if (driver->DeviceGetAttribute(&value, (CUdevice_attribute)attribute, device))
		return -1;
	return value != 0;
}

static int *answer_of(struct dtconv_device_attr *attr,
		      const struct capability *capability)
{
	return (int *)((char *)attr + capability->offset);
}

bool dtc_cuda_query_device(struct dtconv_context *context, int ordinal,
			   struct dtconv_device_attr *attr)
{
	struct dtc_cuda *cuda = dtc_cuda_of(context);
	const struct dtc_cuda_driver *driver = &cuda->driver;
	CUdevice device;

	if (driver->DeviceGet(&device, ordinal) ||
	    driver->DeviceGetName(attr->name, sizeof(attr->name), device))
		return false;
	driver->DeviceGetAttribute(&attr->compute_major,
				   CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
	driver->DeviceGetAttribute(&attr->compute_minor,
				   CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
	driver->DeviceTotalMem(&attr->bytes, device);
	attr->driver_version = driver->version;
	for (size_t i = 0; i < DTC_ARRAY_LENGTH(capabilities); i++)
		*answer_of(attr, &capabilities[i]) =
			ask(driver, capabilities[i].attribute, device);
	return true;
}

/* One line of what has the same answer. */
static void describe_capabilities(struct dtconv_device_attr *attr, int answer,
				  const char *words, struct dtc_text *text)
{
	size_t count = 0;

	for (size_t i = 0; i < DTC_ARRAY_LENGTH(capabilities); i++) {
		if (*answer_of(attr, &capabilities[i]) != answer)
			continue;
		if (!count++)
			dtc_text_printf(text, "    %s: ", words);
		dtc_text_printf(text, "%s%s", count > 1 ? ", " : "",
				capabilities[i].name);
	}
	if (count)
		dtc_text_puts(text, "\n");
}

static void describe_device(struct dtconv_context *context, int ordinal,
			    struct dtc_text *text)
{
	struct dtconv_device_attr attr = { .name = "" };

	if (!dtc_cuda_query_device(context, ordinal, &attr))
		return;
	dtc_text_printf(text, "  device %d: %s, compute capability %d.%d, %zu MiB\n",
			ordinal, attr.name, attr.compute_major, attr.compute_minor,
			attr.bytes >> 20);
	describe_capabilities(&attr, 1, "supports", text);
	describe_capabilities(&attr, 0, "does not support", text);
	describe_capabilities(&attr, -1, "not reported by the driver", text);
}

/* NULL: there is one that will do. */
static const char *missing_driver(struct dtconv_context *context)
{
	if (dtc_cuda_of(context))
		return NULL;
	return dtc_cuda_driver_is_loaded()
		       ? "the loaded CUDA driver cannot be used; set DTCONV_LOG=warn for "
			 "the reason"
		       : "the CUDA driver is not loaded in this process";
}

int dtc_cuda_count_devices(struct dtconv_context *context, const char **why)
{
	struct dtc_cuda *cuda = dtc_cuda_of(context);
	int devices = 0;

	*why = missing_driver(context);
	if (!cuda)
		return 0;
	CUresult result = cuda->driver.DeviceGetCount(&devices);
	if (!result && devices)
		return devices;
	*why = result == CUDA_ERROR_NOT_INITIALIZED ? "the CUDA driver is not initialised"
						    : "the CUDA driver has no device";
	return 0;
}

/* As --with-gpu-archs names architectures: sm_90 is a binary, compute_75 is PTX. */
static void describe_kernels(struct dtc_text *text)
{
	dtc_text_puts(text, "  GPU kernels built in:");
	for (size_t i = 0; i < dtc_gpu_image_count; i++)
		dtc_text_printf(text, " %s_%u",
				dtc_gpu_images[i].is_ptx ? "compute" : "sm",
				dtc_gpu_images[i].arch);
	dtc_text_puts(text,
		      dtc_gpu_image_count
			      ? "\n"
			      : " none; each block takes a driver copy of its own\n");
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
	dtc_cuda_special_kernel_describe(NULL, context, text);
}

void dtc_cuda_describe(struct dtconv_context *context, struct dtc_text *text)
{
	struct dtc_cuda *cuda = dtc_cuda_of(context);
	const char *why = NULL;

	if (!cuda) {
		describe_without_driver(context, text);
		return;
	}
	int devices = dtc_cuda_count_devices(context, &why);
	dtc_text_printf(text, "CUDA: driver %d.%d\n", cuda->driver.version / 1000,
			cuda->driver.version % 1000 / 10);
	describe_kernels(text);
	if (why)
		dtc_text_printf(text, "  %s\n", why);
	for (int i = 0; i < devices; i++)
		describe_device(context, i, text);
	dtc_gdr_describe(cuda->gdr, context, text);
	dtc_cuda_special_kernel_describe(cuda, context, text);
}
