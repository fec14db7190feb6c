/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The stand-in driver's virtual memory management: ranges of many handles and devices, holes,
 * access, exports.
 */
#include <unistd.h>

#include "standin/standin_fixture.h"

#define PAGE ((size_t)2 << 20)

static CUmemAllocationProp properties_of(int device)
{
	return (CUmemAllocationProp){
		.type = CU_MEM_ALLOCATION_TYPE_PINNED,
		.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
		.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device }
	};
}

static CUmemGenericAllocationHandle create(int device, size_t bytes)
{
	CUmemGenericAllocationHandle handle;
	const CUmemAllocationProp properties = properties_of(device);
	ck_works(cuMemCreate(&handle, bytes, &properties, 0));
	return handle;
}

static void map(CUdeviceptr address, size_t bytes, CUmemGenericAllocationHandle handle)
{
	ck_works(cuMemMap(address, bytes, 0, handle, 0));
	ck_works(cuMemRelease(handle));
}

static CUresult allow(CUdeviceptr address, size_t bytes, int device)
{
	const CUmemAccessDesc access = {
		.location = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device },
		.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE
	};
	return cuMemSetAccess(address, bytes, &access, 1);
}

static uint64_t ask(CUpointer_attribute attribute, CUdeviceptr address)
{
	uint64_t value = 0;
	void *data = &value;
	ck_works(cuPointerGetAttributes(1, &attribute, &data, address));
	return value;
}

START_TEST(ranges_span_handles_devices_and_holes)
{
	CUdeviceptr base;
	ck_works(cuMemAddressReserve(&base, 4 * PAGE, 0, 0, 0));
	map(base, PAGE, create(0, PAGE));
	map(base + PAGE, PAGE, create(1, PAGE));
	map(base + 3 * PAGE, PAGE, create(0, PAGE));
	ck_works(allow(base, 2 * PAGE, 0));
	ck_assert_uint_eq(ask(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, base + PAGE), base);
	ck_assert_uint_eq(ask(CU_POINTER_ATTRIBUTE_RANGE_SIZE, base + PAGE), 4 * PAGE);
	ck_assert_uint_eq(ask(CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR, base + PAGE + 5),
			  base + PAGE);
	ck_assert_uint_eq(ask(CU_POINTER_ATTRIBUTE_MAPPING_SIZE, base + PAGE), PAGE);
	ck_assert_uint_ne(ask(CU_POINTER_ATTRIBUTE_BUFFER_ID, base),
			  ask(CU_POINTER_ATTRIBUTE_BUFFER_ID, base + PAGE));
	ck_assert_uint_eq(ask(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, base + PAGE), 1);
	ck_assert_uint_eq(ask(CU_POINTER_ATTRIBUTE_CONTEXT, base), 0);
	ck_assert_uint_eq(ask(CU_POINTER_ATTRIBUTE_MAPPED, base), 1);
	ck_assert_uint_eq(ask(CU_POINTER_ATTRIBUTE_MAPPED, base + 2 * PAGE), 0);
	ck_works(cuMemcpyDtoD(base + PAGE - 8, base + 100, 16)); /* across both handles */
	ck_answers(cuMemcpyDtoD(base + 2 * PAGE - 8, base, 16), CUDA_ERROR_INVALID_VALUE);
	ck_answers(cuMemAddressFree(base, 4 * PAGE), CUDA_ERROR_INVALID_VALUE);
	ck_works(cuCtxSynchronize());
	ck_works(cuMemUnmap(base, 2 * PAGE));
	ck_works(cuMemUnmap(base + 3 * PAGE, PAGE));
	ck_works(cuMemAddressFree(base, 4 * PAGE));
}
END_TEST

START_TEST(access_is_per_device)
{
	CUdeviceptr base;
	unsigned long long flags;
	const CUmemLocation one = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 1 };
	char byte;
	ck_works(cuMemAddressReserve(&base, PAGE, 0, 0, 0));
	map(base, PAGE, create(0, PAGE));
	ck_answers(cuMemcpyDtoH(&byte, base, 1), CUDA_ERROR_INVALID_VALUE);
	ck_works(allow(base, PAGE, 0));
	ck_works(cuMemcpyDtoH(&byte, base, 1));
	ck_works(cuMemGetAccess(&flags, &one, base));
	ck_assert_uint_eq(flags, 0);
	standin->set(STANDIN_PEERS, 0);
	ck_answers(allow(base, PAGE, 1), CUDA_ERROR_NOT_SUPPORTED);
	standin->set(STANDIN_PEERS, 1);
	ck_works(allow(base, PAGE, 1));
	ck_works(cuMemGetAccess(&flags, &one, base));
	ck_assert_uint_eq(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
	ck_works(cuMemUnmap(base, PAGE));
	ck_works(cuMemAddressFree(base, PAGE));
}
END_TEST

/* A kernel that touches a mapping without access loses its context. */
START_TEST(kernels_need_access)
{
	CUdeviceptr base, memory;
	ck_works(cuMemAddressReserve(&base, PAGE, 0, 0, 0));
	map(base, PAGE, create(0, PAGE));
	ck_works(allow(base, PAGE, 1));
	ck_works(cuMemAlloc(&memory, 8));
	struct standin_copy_params params = { memory, base, 8 };
	ck_works(standin_launch("standin_copy", &params, standin_stream));
	ck_answers(cuStreamSynchronize(standin_stream), CUDA_ERROR_ILLEGAL_ADDRESS);
	standin->reset();
}
END_TEST

START_TEST(wrong_calls_are_refused)
{
	CUdeviceptr base;
	size_t granularity;
	const CUmemAllocationProp properties = properties_of(0);
	CUmemGenericAllocationHandle handle;
	ck_works(cuMemGetAllocationGranularity(&granularity, &properties, 0));
	ck_assert_uint_eq(granularity, PAGE);
	ck_answers(cuMemCreate(&handle, PAGE + 1, &properties, 0),
		   CUDA_ERROR_INVALID_VALUE);
	ck_answers(cuMemAddressReserve(&base, 100, 0, 0, 0), CUDA_ERROR_INVALID_VALUE);
	ck_works(cuMemAddressReserve(&base, 2 * PAGE, 0, 0, 0));
	handle = create(0, PAGE);
	ck_answers(cuMemMap(base, 2 * PAGE, 0, handle, 0), CUDA_ERROR_INVALID_VALUE);
	ck_answers(cuMemMap(base, PAGE, PAGE, handle, 0), CUDA_ERROR_INVALID_VALUE);
	map(base, PAGE, handle);
	ck_answers(allow(base, 2 * PAGE, 0), CUDA_ERROR_INVALID_VALUE);
	ck_answers(cuMemUnmap(base, 2 * PAGE), CUDA_ERROR_INVALID_VALUE);
	ck_answers(cuMemFree(base), CUDA_ERROR_INVALID_VALUE);
	ck_works(cuMemUnmap(base, PAGE));
	ck_works(cuMemAddressFree(base, 2 * PAGE));
}
END_TEST

START_TEST(handles_are_exported)
{
	CUmemGenericAllocationHandle handle = create(1, PAGE), import, retained;
	CUmemAllocationProp properties;
	CUdeviceptr base;
	int descriptor;
	char text[4] = "";
	ck_works(cuMemExportToShareableHandle(
		&descriptor, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
	ck_works(
		cuMemImportFromShareableHandle(&import, (void *)(intptr_t)descriptor,
					       CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
	ck_assert_uint_gt(standin->leaks(NULL, 0), 3);
	close(descriptor);
	ck_works(cuMemGetAllocationPropertiesFromHandle(&properties, import));
	ck_assert_int_eq(properties.location.id, 1);
	ck_works(cuMemAddressReserve(&base, 2 * PAGE, 0, 0, 0));
	map(base, PAGE, handle);
	map(base + PAGE, PAGE, import);
	ck_works(allow(base, 2 * PAGE, 0));
	ck_works(cuMemcpyHtoD(base, "abc", 4));
	ck_works(cuMemcpyDtoH(text, base + PAGE, 4));
	ck_assert_str_eq(text, "abc");
	ck_works(cuMemRetainAllocationHandle(&retained, (void *)base));
	ck_works(cuMemRelease(retained));
	ck_works(cuMemUnmap(base, 2 * PAGE));
	ck_works(cuMemAddressFree(base, 2 * PAGE));
}
END_TEST

START_TEST(host_memory_is_mapped)
{
	CUmemAllocationProp properties = properties_of(0);
	properties.location =
		(CUmemLocation){ .type = CU_MEM_LOCATION_TYPE_HOST_NUMA, .id = 0 };
	const CUmemAccessDesc access = { .location = properties.location,
					 .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
	CUmemGenericAllocationHandle handle;
	CUdeviceptr base;
	ck_works(cuMemCreate(&handle, PAGE, &properties, 0));
	ck_works(cuMemAddressReserve(&base, PAGE, 0, 0, 0));
	map(base, PAGE, handle);
	ck_assert_uint_eq(ask(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, base),
			  CU_MEMORYTYPE_HOST);
	ck_works(cuMemSetAccess(base, PAGE, &access, 1));
	*(volatile char *)base = 5;
	ck_assert_int_eq(*(volatile char *)base, 5);
	ck_works(cuMemUnmap(base, PAGE));
	ck_works(cuMemAddressFree(base, PAGE));
}
END_TEST

START_TEST(dma_bufs_are_given)
{
	CUdeviceptr base;
	int descriptor;
	ck_works(cuMemAddressReserve(&base, PAGE, 0, 0, 0));
	map(base, PAGE, create(0, PAGE));
	ck_works(cuMemGetHandleForAddressRange(&descriptor, base, 4096,
					       CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0));
	close(descriptor);
	ck_answers(cuMemGetHandleForAddressRange(&descriptor, base + 1, 4096,
						 CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0),
		   CUDA_ERROR_INVALID_VALUE);
	ck_works(cuMemUnmap(base, PAGE));
	ck_works(cuMemAddressFree(base, PAGE));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("standin_vmm");
	TCase *tcase = standin_tcase(suite, "vmm");
	tcase_add_test(tcase, ranges_span_handles_devices_and_holes);
	tcase_add_test(tcase, access_is_per_device);
	tcase_add_test(tcase, kernels_need_access);
	tcase_add_test(tcase, wrong_calls_are_refused);
	tcase_add_test(tcase, handles_are_exported);
	tcase_add_test(tcase, host_memory_is_mapped);
	tcase_add_test(tcase, dma_bufs_are_given);
	return standin_run(suite);
}
