/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whose memory an address is: the kind, the device, and the allocation or mapping around it, asked of the
 * driver.
 */
#include "config.h"

#include "memory_kinds.h"

#include "base/base.h"
#include "base/context.h"
#include "base/log.h"

/*
 * What the driver is asked first, in one call, whose cost grows with each question: enough for all memory
 * that belongs to a context, and for the host's.
 */
struct answers {
	CUmemorytype type;
	int device;
	int managed;
	CUcontext context;
	CUdeviceptr range;
	size_t range_bytes;
};

/* What is asked besides where an address belongs to no context: it may be a pool's, or mapped. */
struct mapping {
	int mapped;
	CUdeviceptr base;
	size_t bytes;
	CUmemoryPool pool;
	void *host; /* NULL: the processor has no access */
};

static CUresult ask(const struct dtc_cuda *cuda, const void *address, unsigned count,
		    CUpointer_attribute *questions, void **places)
{
	return cuda->driver.PointerGetAttributes(count, questions, places,
						 (CUdeviceptr)(uintptr_t)address);
}

static CUresult ask_memory(const struct dtc_cuda *cuda, const void *address,
			   struct answers *answers)
{
	CUpointer_attribute questions[] = {
		CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
		CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
		CU_POINTER_ATTRIBUTE_IS_MANAGED,
		CU_POINTER_ATTRIBUTE_CONTEXT,
		CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
		CU_POINTER_ATTRIBUTE_RANGE_SIZE,
	};
	void *places[] = { &answers->type,    &answers->device, &answers->managed,
			   &answers->context, &answers->range,  &answers->range_bytes };

	*answers = (struct answers){ .device = -1 };
	return ask(cuda, address, DTC_ARRAY_LENGTH(questions), questions, places);
}

static CUresult ask_mapping(const struct dtc_cuda *cuda, const void *address,
			    struct mapping *mapping)
{
	CUpointer_attribute questions[] = {
		CU_POINTER_ATTRIBUTE_MAPPED,       CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR,
		CU_POINTER_ATTRIBUTE_MAPPING_SIZE, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE,
		CU_POINTER_ATTRIBUTE_HOST_POINTER,
	};
	void *places[] = { &mapping->mapped, &mapping->base, &mapping->bytes,
			   &mapping->pool, &mapping->host };

	*mapping = (struct mapping){ .mapped = 0 };
	return ask(cuda, address, DTC_ARRAY_LENGTH(questions), questions, places);
}

uint64_t dtc_cuda_memory_id(const struct dtc_cuda *cuda, uintptr_t address)
{
	CUpointer_attribute question = CU_POINTER_ATTRIBUTE_BUFFER_ID;
	unsigned long long id = 0;
	void *place = &id;

	return ask(cuda, (const void *)address, 1, &question, &place) ? 0 : id;
}

/* Where a device addresses registered memory otherwise than the process does. Only some small ones do. */
static intptr_t ask_shift(const struct dtc_cuda *cuda, const void *address)
{
	CUpointer_attribute question = CU_POINTER_ATTRIBUTE_DEVICE_POINTER;
	CUdeviceptr seen = 0;
	void *place = &seen;

	if (ask(cuda, address, 1, &question, &place) || !seen)
		return 0;
	return (intptr_t)(seen - (uintptr_t)address);
}

/* Asked of the devices once: whether all of them address registered memory as the process does. */
static bool shares_addresses(struct dtc_cuda *cuda)
{
	enum dtc_cuda_answer answer =
		atomic_load_explicit(&cuda->shares_addresses, memory_order_relaxed);
	int devices = 0, same = 1;

	if (DTC_LIKELY(answer != DTC_CUDA_UNASKED))
		return answer == DTC_CUDA_YES;
	cuda->driver.DeviceGetCount(&devices);
	for (int i = 0; i < devices && same; i++)
		if (cuda->driver.DeviceGetAttribute(
			    &same,
			    CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM,
			    i))
			same = 0;
	atomic_store_explicit(&cuda->shares_addresses, same ? DTC_CUDA_YES : DTC_CUDA_NO,
			      memory_order_relaxed);
	return same;
}

static void set_shift(struct dtc_cuda *cuda, const void *address,
		      struct dtc_memory *memory)
{
	if (memory->kind == DTCONV_MEMORY_PINNED && !shares_addresses(cuda))
		memory->shift = ask_shift(cuda, address);
}

static enum dtconv_memory_kind kind_of(const struct answers *answers)
{
	if (answers->managed)
		return DTCONV_MEMORY_MANAGED;
	return answers->type == CU_MEMORYTYPE_HOST ? DTCONV_MEMORY_PINNED
						   : DTCONV_MEMORY_DEVICE;
}

static bool holds(CUdeviceptr base, size_t bytes, uintptr_t address)
{
	return bytes && address >= (uintptr_t)base && address - (uintptr_t)base < bytes;
}

/*
 * Member by member into what says that memory is the host's: a whole that was put together first would be
 * copied before its stores are done.
 */
static void take_answers(struct dtc_memory *memory, const struct answers *answers,
			 uintptr_t address)
{
	memory->kind = kind_of(answers);
	memory->device = answers->device;
	memory->owner = answers->context;
	if (!holds(answers->range, answers->range_bytes, address))
		return;
	memory->base = (uintptr_t)answers->range;
	memory->end = memory->base + answers->range_bytes;
}

/*
 * Of a reserved range, as much as is one mapping: it may be made of several. The mapping alone may be larger
 * than what was allocated.
 */
static void cut_range(struct dtc_memory *memory, const struct mapping *mapping,
		      uintptr_t address)
{
	if (memory->base == memory->end || !holds(mapping->base, mapping->bytes, address))
		return;
	memory->base = DTC_MAX(memory->base, (uintptr_t)mapping->base);
	memory->end = DTC_MIN(memory->end, (uintptr_t)mapping->base + mapping->bytes);
}

/* Reserved addresses have a range, also where nothing is mapped. */
static bool is_not_ours(CUresult result, const struct answers *answers)
{
	if (result)
		return result == CUDA_ERROR_NOT_INITIALIZED ||
		       result == CUDA_ERROR_DEINITIALIZED;
	return !answers->type && !answers->range_bytes;
}

/* The flags of a device's access; all of them where the driver does not say. */
static unsigned long long access_of(const struct dtc_cuda *cuda, int ordinal,
				    CUdeviceptr address)
{
	const CUmemLocation device = { .type = CU_MEM_LOCATION_TYPE_DEVICE,
				       .id = ordinal };
	unsigned long long access = 0;

	return cuda->driver.MemGetAccess(&access, &device, address)
		       ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
		       : access;
}

/* A device that may touch the mapping, that of the current context if it may; -1: none may. */
static int find_accessor(const struct dtc_cuda *cuda, CUdeviceptr mapping)
{
	CUdevice current;
	int devices = 0;

	if (!cuda->driver.CtxGetDevice(&current) && access_of(cuda, current, mapping))
		return current;
	if (cuda->driver.DeviceGetCount(&devices))
		return 0;
	while (devices > 0 && !access_of(cuda, devices - 1, mapping))
		devices--;
	return devices - 1;
}

/*
 * Each mapping has its own access; memory without any must not meet a kernel. Mostly its own device has
 * it. What another process has exported may be opened to another device only, which then counts as its own: contexts of
 * the one that has the memory cannot touch it.
 */
static void set_access(const struct dtc_cuda *cuda, const void *address,
		       struct dtc_memory *memory)
{
	const CUdeviceptr mapping = (CUdeviceptr)(uintptr_t)address;

	if (!memory->mapped)
		return;
	unsigned long long access = access_of(cuda, memory->device, mapping);
	if (!access) {
		const int accessor = find_accessor(cuda, mapping);

		memory->denied = accessor < 0;
		if (memory->denied)
			return;
		memory->device = accessor;
		access = access_of(cuda, accessor, mapping);
	}
	memory->read_only = access == CU_MEM_ACCESS_FLAGS_PROT_READ;
}

/*
 * Memory of no context, or addresses that are reserved and may have nothing behind them. False if it is the
 * host's after all.
 */
static bool look_closer(struct dtc_cuda *cuda, const void *address,
			const struct answers *answers, struct dtc_memory *memory)
{
	struct mapping mapping;
	CUresult result = ask_mapping(cuda, address, &mapping);
	bool is_hole = answers->range_bytes && !mapping.mapped;

	if (!result && !answers->type && !is_hole)
		return false;
	if (result || is_hole) {
		memory->kind = DTCONV_MEMORY_UNKNOWN;
		return true;
	}
	take_answers(memory, answers, (uintptr_t)address);
	/* Memory of the host that was opened to devices only: the processor would meet no page. */
	if (memory->kind == DTCONV_MEMORY_PINNED && !mapping.host)
		memory->kind = DTCONV_MEMORY_DEVICE;
	memory->mapped = !mapping.pool;
	set_access(cuda, address, memory);
	cut_range(memory, &mapping, (uintptr_t)address);
	set_shift(cuda, address, memory);
	return true;
}

bool dtc_cuda_query_memory(struct dtconv_context *context, const void *address,
			   struct dtc_memory *memory)
{
	struct dtc_cuda *cuda = dtc_cuda_of(context);
	struct answers answers;

	if (!cuda && !dtc_cuda_driver_claims(address))
		return false;
	if (!cuda) {
		memory->kind = DTCONV_MEMORY_UNKNOWN;
		return true;
	}
	CUresult result = ask_memory(cuda, address, &answers);
	if (is_not_ours(result, &answers))
		return false;
	if (result) {
		memory->kind = DTCONV_MEMORY_UNKNOWN;
		return true;
	}
	if (!answers.context && !answers.managed)
		return look_closer(cuda, address, &answers, memory);
	take_answers(memory, &answers, (uintptr_t)address);
	set_shift(cuda, address, memory);
	return true;
}
