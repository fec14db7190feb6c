/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The CUDA backend as the registry sees it: the vendor table, the table of features, and what is kept for a
 * context of the library.
 */
#include "config.h"

#include "cuda.h"

#include <unistd.h>

#include "base/context.h"
#include "copy_backends/cuda/device/address_range.h"
#include "copy_backends/cuda/device/contexts.h"
#include "copy_backends/cuda/device/device_context.h"
#include "copy_backends/cuda/device/ipc_memory.h"
#include "copy_backends/cuda/device/memory_kinds.h"
#include "copy_backends/cuda/device/peer_access.h"
#include "copy_backends/cuda/device/scratch.h"
#include "copy_backends/cuda/device/slab_memory.h"
#include "copy_backends/cuda/device/worker.h"
#include "copy_backends/cuda/driver/compiler.h"
#include "copy_backends/cuda/driver/gdrcopy.h"
#include "copy_backends/cuda/driver/nvtx_ranges.h"
#include "copy_backends/cuda/launch/alarms.h"
#include "copy_backends/cuda/moves/copy_threads.h"
#include "copy_backends/cuda/planning/cost_model.h"

#define FEATURE(name) extern const struct dtc_cuda_feature dtc_cuda_##name##_feature;
DTC_CUDA_FEATURES(FEATURE)
#undef FEATURE

#define FEATURE(name) &dtc_cuda_##name##_feature,
static const struct dtc_cuda_feature *const features[] = { DTC_CUDA_FEATURES(FEATURE)
								   NULL };
#undef FEATURE

/* What is kept for a context of the library, in one piece of memory. */
struct whole {
	struct dtc_cuda cuda; /* first: it is what the context points to */
	struct dtc_cuda_worker worker;
	struct dtc_cuda_compiler compiler;
	struct dtc_gdr gdr;
	struct dtc_cuda_copy_threads copy_threads;
	struct dtc_cuda_tunings tunings;
};

static int create(struct dtconv_context *context, struct dtc_cuda **created)
{
	struct whole *whole = dtc_alloc_zeroed(context, sizeof(*whole));

	if (!whole)
		return DTCONV_ERR_NOMEM;
	struct dtc_cuda *cuda = &whole->cuda;
	if (!dtc_cuda_driver_find(context, &cuda->driver)) {
		dtc_free(context, whole);
		return DTCONV_ERR_UNSUPPORTED;
	}
	cuda->context = context;
	cuda->process = getpid();
	cuda->features = features;
	cuda->worker = &whole->worker;
	cuda->compiler = &whole->compiler;
	cuda->gdr = &whole->gdr;
	cuda->copy_threads = &whole->copy_threads;
	cuda->tunings = &whole->tunings;
	pthread_mutex_init(&cuda->lock, NULL);
	dtc_gdr_init(cuda->gdr);
	dtc_cuda_copy_threads_init(cuda->copy_threads);
	dtc_cuda_worker_init(cuda->worker);
	dtc_cuda_compiler_init(cuda->compiler, context, cuda->driver.version);
	cuda->listener = dtc_cuda_nvtx_open();
	*created = cuda;
	return 1;
}

/* A forked child has none of the threads, and its driver does not work: only memory is given back. */
static void forget(struct dtc_cuda *cuda)
{
	dtc_cuda_contexts_forget(cuda);
	dtc_cuda_worker_forget(cuda);
	dtc_cuda_copy_threads_end(cuda->copy_threads, cuda->context);
	dtc_free(cuda->context, cuda);
}

static void destroy(struct dtc_cuda *cuda)
{
	if (getpid() != cuda->process) {
		forget(cuda);
		return;
	}
	/* First, because it gives the worker work. */
	dtc_cuda_compiler_close(cuda->compiler);
	dtc_cuda_contexts_close(cuda);
	dtc_cuda_copy_threads_end(cuda->copy_threads, cuda->context);
	dtc_gdr_close(cuda->gdr);
	dtc_cuda_nvtx_close(cuda->listener);
	dtc_cuda_worker_destroy(cuda->worker);
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

const struct dtc_vendor_ops dtc_cuda_vendor = {
	.find_driver = find_driver,
	.query_memory = dtc_cuda_query_memory,
	.reaches = dtc_cuda_can_access_memory,
	.acquire_scratch = dtc_cuda_scratch_borrow,
	.pin_slab = dtc_cuda_slab_pin,
	.allocate_slab = dtc_cuda_slab_allocate,
	.export_slab = dtc_cuda_slab_export,
	.undo_slab = dtc_cuda_slab_undo,
	.hand_over = dtc_cuda_slab_hand_over,
	.is_slab_lost = dtc_cuda_slab_is_lost,
	.ranges = &dtc_cuda_ranges,
	.export_allocation = dtc_cuda_ipc_export,
	.map_allocation = dtc_cuda_ipc_map,
	.unmap_allocation = dtc_cuda_ipc_unmap,
	.is_mapping_lost = dtc_cuda_ipc_is_lost,
	.allocation_id = dtc_cuda_ipc_id,
	.current_device = dtc_cuda_ipc_current_device,
	.run_later = dtc_cuda_ipc_run_later,
	.typed_backend = dtc_cuda_typed_backend,
	.submit_typed = dtc_cuda_submit_typed,
	.submit_checksum = dtc_cuda_submit_checksum,
	.copy_backend = &dtc_cuda_kernel_backend,
	.submit_copy = dtc_cuda_submit_copy,
	.foresee_copy = dtc_cuda_foresee_copy,
	.estimate_copy = dtc_cuda_layout_copy_ns,
	.submit_pages = dtc_cuda_submit_pages,
	.is_captured = dtc_cuda_is_captured,
	.cancel_alarms = dtc_cuda_alarms_cancel,
	.prepare = dtc_cuda_prepare,
	.count_devices = dtc_cuda_count_devices,
	.query_device = dtc_cuda_query_device,
	.describe = dtc_cuda_describe,
	.close = close_vendor,
};
