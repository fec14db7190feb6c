/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The vendor: whether its driver is in the process, whose memory an address is, and what is kept for a
 * context of the library.
 */
#include "config.h"

#include "cuda.h"

#include "context.h"
#include "log.h"
#include "ranges.h"
#include "special.h"
#include "state.h"
#include "text.h"

static struct dtc_cuda *create(struct dtconv_context *context)
{
	struct dtc_cuda *cuda = dtc_alloc_zeroed(context, sizeof(*cuda));

	if (!cuda)
		return NULL;
	if (!dtc_cuda_driver_find(context, &cuda->driver)) {
		dtc_free(context, cuda);
		return NULL;
	}
	cuda->context = context;
	pthread_mutex_init(&cuda->lock, NULL);
	dtc_gdr_init(&cuda->gdr);
	pthread_mutex_init(&cuda->worker.lock, NULL);
	pthread_cond_init(&cuda->worker.work, NULL);
	dtc_cuda_compiler_init(&cuda->compiler, context, cuda->driver.version);
	cuda->listener = dtc_cuda_ranges_open();
	return cuda;
}

static void destroy(struct dtc_cuda *cuda)
{
	dtc_cuda_contexts_close(cuda);
	dtc_gdr_close(&cuda->gdr);
	dtc_cuda_ranges_close(cuda->listener);
	pthread_cond_destroy(&cuda->worker.work);
	pthread_mutex_destroy(&cuda->worker.lock);
	pthread_mutex_destroy(&cuda->lock);
	dtc_free(cuda->context, cuda);
}

/* Several threads may look at once; one of them is heard. */
static bool find_driver(struct dtconv_context *context)
{
	void *none = NULL;

	if (dtc_cuda_of(context))
		return true;
	if (!dtc_cuda_driver_is_loaded())
		return false;
	struct dtc_cuda *cuda = create(context);
	if (cuda && !atomic_compare_exchange_strong(&context->devices.cuda, &none, cuda))
		destroy(cuda);
	return cuda;
}

static void close_vendor(struct dtconv_context *context)
{
	struct dtc_cuda *cuda = dtc_cuda_of(context);

	if (cuda)
		destroy(cuda);
}

/* ---- memory ---------------------------------------------------------------------------- */

/* What the driver is asked, in one call. */
struct answers {
	CUmemorytype type;
	int device;
	CUcontext context;
	CUdeviceptr device_address;
	int managed;
	CUdeviceptr mapping;
	size_t mapping_bytes;
	CUdeviceptr range;
	size_t range_bytes;
	int mapped;
	CUmemoryPool pool;
	unsigned long long id;
};

static CUresult ask(const struct dtc_cuda *cuda, const void *address, struct answers *answers)
{
	CUpointer_attribute questions[] = {
		CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
		CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
		CU_POINTER_ATTRIBUTE_CONTEXT,
		CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
		CU_POINTER_ATTRIBUTE_IS_MANAGED,
		CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR,
		CU_POINTER_ATTRIBUTE_MAPPING_SIZE,
		CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
		CU_POINTER_ATTRIBUTE_RANGE_SIZE,
		CU_POINTER_ATTRIBUTE_MAPPED,
		CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE,
		CU_POINTER_ATTRIBUTE_BUFFER_ID,
	};
	void *places[] = { &answers->type,          &answers->device,
			   &answers->context,       &answers->device_address,
			   &answers->managed,       &answers->mapping,
			   &answers->mapping_bytes, &answers->range,
			   &answers->range_bytes,   &answers->mapped,
			   &answers->pool,          &answers->id };

	*answers = (struct answers){ .device = -1 };
	return cuda->driver.PointerGetAttributes(DTC_ARRAY_LENGTH(questions), questions, places,
						 (CUdeviceptr)(uintptr_t)address);
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
 * The allocation, or as much of it as is one mapping: a reserved range may be made of several. The
 * mapping alone may be larger than the allocation.
 */
static void set_range(struct dtc_memory *memory, const struct answers *answers, uintptr_t address)
{
	if (!holds(answers->range, answers->range_bytes, address))
		return;
	memory->base = (uintptr_t)answers->range;
	memory->end = memory->base + answers->range_bytes;
	if (!holds(answers->mapping, answers->mapping_bytes, address))
		return;
	uintptr_t end = (uintptr_t)answers->mapping + answers->mapping_bytes;
	memory->base = DTC_MAX(memory->base, (uintptr_t)answers->mapping);
	memory->end = DTC_MIN(memory->end, end);
}

/* Reserved for mappings, and without one. */
static bool is_hole(const struct answers *answers)
{
	return answers->range_bytes && !answers->mapped;
}

static bool is_not_ours(CUresult result, const struct answers *answers)
{
	if (result)
		return result == CUDA_ERROR_NOT_INITIALIZED ||
		       result == CUDA_ERROR_DEINITIALIZED;
	return !answers->type && !is_hole(answers);
}

/* Each mapping has its own access; memory without any must not meet a kernel. */
static bool is_denied(const struct dtc_cuda *cuda, const struct dtc_memory *memory,
		      const void *address)
{
	const CUmemLocation device = { .type = CU_MEM_LOCATION_TYPE_DEVICE, .id = memory->device };
	unsigned long long access = 0;

	return memory->mapped &&
	       !cuda->driver.MemGetAccess(&access, &device, (CUdeviceptr)(uintptr_t)address) &&
	       !access;
}

static bool query_memory(struct dtconv_context *context, const void *address,
			 struct dtc_memory *memory)
{
	const struct dtc_cuda *cuda = dtc_cuda_of(context);
	struct answers answers;

	if (!cuda)
		return false;
	CUresult result = ask(cuda, address, &answers);
	if (is_not_ours(result, &answers))
		return false;
	if (result || is_hole(&answers)) {
		memory->kind = DTCONV_MEMORY_UNKNOWN;
		return true;
	}
	*memory = (struct dtc_memory){
		.kind = kind_of(&answers),
		.device = answers.device,
		.owner = answers.context,
		.shift = answers.device_address ?
				 (intptr_t)(answers.device_address - (uintptr_t)address) :
				 0,
		.mapped = !answers.context && !answers.pool && !answers.managed,
		.id = answers.id,
	};
	memory->denied = is_denied(cuda, memory, address);
	set_range(memory, &answers, (uintptr_t)address);
	return true;
}

/* ---- telling --------------------------------------------------------------------------- */

static void describe_device(const struct dtc_cuda *cuda, int ordinal, struct dtc_text *text)
{
	const struct dtc_cuda_driver *driver = &cuda->driver;
	char name[128] = "";
	CUdevice device;
	int major = 0, minor = 0;

	if (driver->DeviceGet(&device, ordinal) ||
	    driver->DeviceGetName(name, sizeof(name), device))
		return;
	driver->DeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
	driver->DeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
	dtc_text_printf(text, "  device %d: %s, compute capability %d.%d\n", ordinal, name, major,
			minor);
}

/* Also where no driver is loaded: what is installed can be told. */
static void describe_without_driver(struct dtconv_context *context, struct dtc_text *text)
{
	struct dtc_gdr gdr = { .connection = NULL };

	dtc_text_printf(text, "CUDA: built in; this process has loaded no driver\n");
	dtc_gdr_init(&gdr);
	dtc_gdr_describe(&gdr, context, text);
	dtc_gdr_close(&gdr);
	dtc_cuda_special_describe(NULL, context, text);
}

static void describe(struct dtconv_context *context, struct dtc_text *text)
{
	struct dtc_cuda *cuda = dtc_cuda_of(context);
	int devices = 0;

	if (!cuda) {
		describe_without_driver(context, text);
		return;
	}
	dtc_text_printf(text, "CUDA: driver %d.%d\n", cuda->driver.version / 1000,
			cuda->driver.version % 1000 / 10);
	if (cuda->driver.DeviceGetCount(&devices))
		dtc_text_printf(text, "  the process has not initialised it\n");
	for (int i = 0; i < devices; i++)
		describe_device(cuda, i, text);
	dtc_gdr_describe(&cuda->gdr, context, text);
	dtc_cuda_special_describe(cuda, context, text);
}

const struct dtc_vendor_ops dtc_cuda_vendor = {
	.find_driver = find_driver,
	.query_memory = query_memory,
	.lend = dtc_cuda_lend,
	.submit_typed = dtc_cuda_submit_typed,
	.describe = describe,
	.close = close_vendor,
};
