/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The vendor: whether its driver is in the process, whose memory an address is, and what is kept for a
 * context of the library.
 */
#include "config.h"

#include "cuda.h"

#include <unistd.h>

#include "context.h"
#include "log.h"
#include "ranges.h"
#include "reach.h"
#include "special.h"
#include "state.h"

static int create(struct dtconv_context *context, struct dtc_cuda **created)
{
	struct dtc_cuda *cuda = dtc_alloc_zeroed(context, sizeof(*cuda));

	if (!cuda)
		return DTCONV_ERR_NOMEM;
	if (!dtc_cuda_driver_find(context, &cuda->driver)) {
		dtc_free(context, cuda);
		return DTCONV_ERR_UNSUPPORTED;
	}
	cuda->context = context;
	cuda->process = getpid();
	pthread_mutex_init(&cuda->lock, NULL);
	dtc_gdr_init(&cuda->gdr);
	dtc_cuda_crew_init(&cuda->crew);
	pthread_mutex_init(&cuda->worker.lock, NULL);
	pthread_cond_init(&cuda->worker.work, NULL);
	dtc_cuda_compiler_init(&cuda->compiler, context, cuda->driver.version);
	cuda->listener = dtc_cuda_ranges_open();
	*created = cuda;
	return 1;
}

/* A forked child has none of the threads, and its driver does not work: only memory is given back. */
static void forget(struct dtc_cuda *cuda)
{
	while (cuda->contexts) {
		struct dtc_cuda_context *context = cuda->contexts;

		cuda->contexts = context->next;
		dtc_cuda_specials_free(context);
		dtc_free(cuda->context, context->staging.started);
		dtc_free(cuda->context, context);
	}
	while (cuda->worker.first) {
		struct dtc_cuda_chore *chore = cuda->worker.first;

		cuda->worker.first = chore->next;
		dtc_free(cuda->context, chore);
	}
	dtc_cuda_crew_end(&cuda->crew, cuda->context);
	dtc_free(cuda->context, cuda);
}

static void destroy(struct dtc_cuda *cuda)
{
	if (getpid() != cuda->process) {
		forget(cuda);
		return;
	}
	dtc_cuda_contexts_close(cuda);
	dtc_cuda_crew_end(&cuda->crew, cuda->context);
	dtc_gdr_close(&cuda->gdr);
	dtc_cuda_ranges_close(cuda->listener);
	pthread_cond_destroy(&cuda->worker.work);
	pthread_mutex_destroy(&cuda->worker.lock);
	pthread_mutex_destroy(&cuda->lock);
	dtc_free(cuda->context, cuda);
}

/* Several threads may look at once; one of them is heard. */
static int find_driver(struct dtconv_context *context)
{
	struct dtc_cuda *cuda;
	void *none = NULL;

	if (dtc_cuda_of(context))
		return 1;
	if (!dtc_cuda_driver_is_loaded())
		return 0;
	int answer = create(context, &cuda);
	if (answer > 0 &&
	    !atomic_compare_exchange_strong(&context->devices.cuda, &none, cuda))
		destroy(cuda);
	return answer;
}

static void close_vendor(struct dtconv_context *context)
{
	struct dtc_cuda *cuda = dtc_cuda_of(context);

	if (cuda)
		destroy(cuda);
}

/* ---- memory ---------------------------------------------------------------------------- */

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
	return answers->type == CU_MEMORYTYPE_HOST ? DTCONV_MEMORY_PINNED : DTCONV_MEMORY_DEVICE;
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

/* Whether no device may touch the mapping. */
static bool is_denied(const struct dtc_cuda *cuda, CUdeviceptr mapping)
{
	int devices = 0;

	if (cuda->driver.DeviceGetCount(&devices))
		return false;
	while (devices > 0 && !access_of(cuda, devices - 1, mapping))
		devices--;
	return devices == 0;
}

/*
 * Each mapping has its own access; memory without any must not meet a kernel. Mostly its own device has
 * it; what another process has exported may be opened to another one only.
 */
static void set_access(const struct dtc_cuda *cuda, const void *address,
		       struct dtc_memory *memory)
{
	const CUdeviceptr mapping = (CUdeviceptr)(uintptr_t)address;

	if (!memory->mapped)
		return;
	unsigned long long access = access_of(cuda, memory->device, mapping);
	memory->read_only = access == CU_MEM_ACCESS_FLAGS_PROT_READ;
	memory->denied = !access && is_denied(cuda, mapping);
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

static bool query_memory(struct dtconv_context *context, const void *address,
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

const struct dtc_vendor_ops dtc_cuda_vendor = {
	.find_driver = find_driver,
	.query_memory = query_memory,
	.reaches = dtc_cuda_reaches_memory,
	.acquire_scratch = dtc_cuda_lend,
	.typed_backend = dtc_cuda_typed_backend,
	.submit_typed = dtc_cuda_submit_typed,
	.submit_checksum = dtc_cuda_submit_checksum,
	.count_devices = dtc_cuda_count_devices,
	.query_device = dtc_cuda_query_device,
	.describe = dtc_cuda_describe,
	.close = close_vendor,
};
