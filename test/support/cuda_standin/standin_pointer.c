/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Attributes of addresses. For unknown addresses the plural call returns zeros, and the
 * singular one fails. In reserved addresses each mapping has its own attributes.
 */
#include <string.h>

#include "support/cuda_standin/standin_internal.h"

/* The value of an attribute, and how many bytes of it the caller has room for. */
struct answer {
	uint64_t value;
	size_t bytes;
};

static bool is_host_kind(const struct standin_region *region)
{
	if (region->kind == REGION_MAPPED)
		return region->physical->properties.location.type !=
		       CU_MEM_LOCATION_TYPE_DEVICE;
	return region->kind == REGION_HOST || region->kind == REGION_REGISTERED;
}

static uint64_t memory_type(const struct standin_region *region)
{
	return is_host_kind(region) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
}

static uint64_t context_of(const struct standin_region *region)
{
	const bool none = region->kind == REGION_MAPPED || region->kind == REGION_ASYNC;
	return none ? 0 : (uint64_t)region->context;
}

/* Where the current context's kernels find it; 0: they may not touch it. */
static uint64_t device_address(const struct standin_region *region, CUdeviceptr address)
{
	CUcontext context = standin_current();
	const bool closed = context && !is_host_kind(region) &&
			    region->kind != REGION_MANAGED &&
			    !standin_may_touch(context, region);
	return closed ? 0 : address;
}

/* Only what the host can touch has an address there. */
static uint64_t host_address(const struct standin_region *region, CUdeviceptr address)
{
	const bool there = region->kind == REGION_HOST ||
			   region->kind == REGION_REGISTERED ||
			   region->kind == REGION_MANAGED || region->host_access;
	return there ? address : 0;
}

/* The driver names a device for mapped memory of the host, too. */
static uint32_t ordinal_of(const struct standin_region *region)
{
	return region->kind == REGION_MAPPED && region->device < 0
		       ? 0
		       : (uint32_t)region->device;
}

static bool is_ipc_capable(const struct standin_region *region)
{
	return region->kind == REGION_DEVICE;
}

static bool is_rdma_capable(const struct standin_region *region)
{
	if (!standin_get(STANDIN_GPU_DIRECT))
		return false;
	if (region->kind == REGION_MAPPED)
		return region->physical->properties.allocFlags.gpuDirectRDMACapable;
	return region->kind == REGION_DEVICE;
}

static unsigned handle_types(const struct standin_region *region)
{
	return region->kind == REGION_MAPPED
		       ? region->physical->properties.requestedHandleTypes
		       : 0;
}

static uint64_t access_flags(const struct standin_region *region)
{
	CUcontext context = standin_current();
	if (region->kind != REGION_MAPPED)
		return CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE;
	return context ? region->access[context->device] : 0;
}

/* The addresses that belong together: a reservation, or an allocation. */
static struct standin_reservation range_of(const struct standin_region *region)
{
	const struct standin_reservation *reserved = standin_reservation_at(region->base);
	if (region->kind == REGION_MAPPED && reserved)
		return *reserved;
	return (struct standin_reservation){ region->base, region->bytes };
}

/* Where the memory begins and ends. False: the attribute is not about that. */
static bool ask_range(struct answer *answer, CUpointer_attribute attribute,
		      const struct standin_region *region)
{
	switch (attribute) {
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
		*answer = (struct answer){ range_of(region).base, 8 };
		return true;
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
		*answer = (struct answer){ range_of(region).bytes, 8 };
		return true;
	case CU_POINTER_ATTRIBUTE_MAPPED:
		*answer = (struct answer){ 1, 4 };
		return true;
	case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
		*answer = (struct answer){ region->bytes, 8 };
		return true;
	case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
		*answer = (struct answer){ region->base, 8 };
		return true;
	default:
		return false;
	}
}

/* False: there is no such attribute. */
static bool ask(struct answer *answer, CUpointer_attribute attribute,
		const struct standin_region *region, CUdeviceptr address)
{
	switch (attribute) {
	case CU_POINTER_ATTRIBUTE_CONTEXT:
		*answer = (struct answer){ context_of(region), 8 };
		break;
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		*answer = (struct answer){ memory_type(region), 4 };
		break;
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
		*answer = (struct answer){ device_address(region, address), 8 };
		break;
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
		*answer = (struct answer){ host_address(region, address), 8 };
		break;
	case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
		*answer = (struct answer){ region->sync_memops, 4 };
		break;
	case CU_POINTER_ATTRIBUTE_BUFFER_ID:
		*answer = (struct answer){ region->buffer_id, 8 };
		break;
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
		*answer = (struct answer){ region->kind == REGION_MANAGED, 4 };
		break;
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		*answer = (struct answer){ ordinal_of(region), 4 };
		break;
	case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
		*answer = (struct answer){ is_ipc_capable(region), 4 };
		break;
	case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
		*answer = (struct answer){ handle_types(region), 8 };
		break;
	case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
		*answer = (struct answer){ is_rdma_capable(region), 4 };
		break;
	case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
		*answer = (struct answer){ access_flags(region), 4 };
		break;
	case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
		*answer = (struct answer){ (uint64_t)region->pool, 8 };
		break;
	case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
		*answer = (struct answer){ region->physical ? region->physical->block_id
							    : 0,
					   8 };
		break;
	case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
		*answer = (struct answer){ 0, 4 };
		break;
	default:
		return ask_range(answer, attribute, region);
	}
	return true;
}

/* A hole in reserved addresses knows its range and that nothing is mapped; the rest is zero. */
static bool ask_nothing(struct answer *answer, CUpointer_attribute attribute,
			CUdeviceptr address)
{
	static const struct standin_region nothing = { .kind = REGION_DEVICE };
	const struct standin_reservation *reserved = standin_reservation_at(address);
	if (!ask(answer, attribute, &nothing, address))
		return false;
	answer->value = 0;
	if (attribute == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL)
		answer->value = (uint32_t)-2; /* cudaInvalidDeviceId */
	if (reserved && attribute == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR)
		answer->value = reserved->base;
	if (reserved && attribute == CU_POINTER_ATTRIBUTE_RANGE_SIZE)
		answer->value = reserved->bytes;
	return true;
}

static const struct standin_region *known_region(CUdeviceptr address)
{
	const struct standin_region *region = standin_region_at(address);
	return region && !region->freed ? region : NULL;
}

ENTRY(cuPointerGetAttributes, 0,
      (unsigned count, CUpointer_attribute *attributes, void **data, CUdeviceptr address),
      (count, attributes, data, address))
{
	if (!count || !attributes || !data)
		return CUDA_ERROR_INVALID_VALUE;
	const struct standin_region *region = known_region(address);
	for (unsigned i = 0; i < count; i++) {
		struct answer answer;
		const bool known = region ? ask(&answer, attributes[i], region, address)
					  : ask_nothing(&answer, attributes[i], address);
		if (!known || !data[i])
			return CUDA_ERROR_INVALID_VALUE;
		memcpy(data[i], &answer.value, answer.bytes);
	}
	return CUDA_SUCCESS;
}

/* Attributes whose absence the singular call reports as an error. */
static bool has_answer(const struct answer *answer, CUpointer_attribute attribute)
{
	return answer->value || (attribute != CU_POINTER_ATTRIBUTE_HOST_POINTER &&
				 attribute != CU_POINTER_ATTRIBUTE_DEVICE_POINTER &&
				 attribute != CU_POINTER_ATTRIBUTE_CONTEXT);
}

ENTRY(cuPointerGetAttribute, 0,
      (void *data, CUpointer_attribute attribute, CUdeviceptr address),
      (data, attribute, address))
{
	struct answer answer;
	const struct standin_region *region = known_region(address);
	const bool hole = !region && standin_reservation_at(address) &&
			  (attribute == CU_POINTER_ATTRIBUTE_MAPPED ||
			   attribute == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR ||
			   attribute == CU_POINTER_ATTRIBUTE_RANGE_SIZE);
	if (!data || (!region && !hole))
		return CUDA_ERROR_INVALID_VALUE;
	if (hole)
		ask_nothing(&answer, attribute, address);
	else if (!ask(&answer, attribute, region, address) ||
		 !has_answer(&answer, attribute))
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(data, &answer.value, answer.bytes);
	return CUDA_SUCCESS;
}

ENTRY(cuPointerSetAttribute, 0,
      (const void *value, CUpointer_attribute attribute, CUdeviceptr address),
      (value, attribute, address))
{
	struct standin_region *region = standin_region_at(address);
	if (!value || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS || !region ||
	    region->freed)
		return CUDA_ERROR_INVALID_VALUE;
	region->sync_memops = *(const unsigned *)value;
	return CUDA_SUCCESS;
}
