/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which shapes get a specialised kernel, and how it is loaded into a device context. Shapes are looked up by their
 * numbers and not by type, so a type that is created again finds its kernel.
 */
#include "config.h"

#include "special_kernels.h"

#include <inttypes.h>
#include <time.h>

#include "base/clock.h"
#include "base/context.h"
#include "base/log.h"
#include "copy_backends/cuda/device/worker.h"
#include "copy_backends/cuda/driver/compiler.h"
#include "kernels/launch/special.h"

/* Shapes of a device context that are looked at; later ones keep the kernels of their classes. */
#define SHAPES_MOST 64

/* A shape is compiled for at this launch; launches below so many bytes do not count. */
#define LAUNCHES_LEAST 8
#define BYTES_LEAST    (UINT64_C(256) << 10)

enum state {
	COUNTED, /* launched, not often enough */
	ORDERED,
	READY,
	REFUSED /* for good: nothing was made, or it does not load */
};

struct dtc_cuda_special_kernel {
	struct dtc_cuda_order order; /* first: an order is its shape's */
	struct dtc_cuda_special_kernel *next;
	struct dtc_cuda_context *context;
	_Atomic uint32_t launches;
	_Atomic int state;
	void *image; /* between compiling and loading */
	CUmodule module;
	CUfunction function;
	struct dtc_gpu_special shape;
};

/* What a device context has of them. */
struct dtc_cuda_special_kernels {
	struct dtc_cuda_special_kernel *_Atomic first; /* added, never taken away */
	_Atomic uint32_t count;
};

static inline struct dtc_cuda_special_kernels *kernels_of(
	const struct dtc_cuda_context *context)
{
	return context->parts[DTC_CUDA_PART_special_kernels];
}

/* ---- whether ----------------------------------------------------------------------------------- */

/*
 * Up to so many bytes, which the L2 of a device may hold, every class gains by knowing its shape: 1 and 16
 * MiB on an H200 3 to 20 %.
 */
#define CACHED_BYTES (UINT64_C(16) << 20)

/*
 * Beyond, tables of unlike runs and packing periods of odd bytes; at 256 MiB equal blocks, periods of words
 * and transposing lose up to 7 %, because fewer registers bring more blocks at once.
 */
static bool gains(const struct dtc_gpu_launch *launch)
{
	if (launch->bytes <= CACHED_BYTES)
		return true;
	switch (launch->class) {
	case DTC_GPU_CLASS_INDEXED:
		return launch->params_bytes == sizeof(struct dtc_gpu_indexed_params);
	case DTC_GPU_CLASS_PERIODIC:
		return launch->kernel == DTC_GPU_periodic_pack_1;
	default:
		return false;
	}
}

/* Why such launches get no kernel of their own where that is asked for, or NULL. */
static const char *refusal(const struct dtconv_context *context,
			   const struct dtc_gpu_launch *launch)
{
	if (!dtc_gpu_is_special_class(launch->class))
		return "not for kernels of this class";
	if (dtc_gpu_is_staged(launch->kernel))
		return "staged bytes gain nothing";
	if (context->specialise == DTC_SPECIALISE_AT_ONCE)
		return NULL;
	if (!gains(launch))
		return "little gain expected";
	return launch->bytes < BYTES_LEAST ? "too few bytes" : NULL;
}

/* ---- finding ----------------------------------------------------------------------------------- */

static struct dtc_cuda_special_kernel *find(const struct dtc_cuda_context *context,
					    const struct dtc_gpu_special *shape)
{
	struct dtc_cuda_special_kernel *special =
		atomic_load_explicit(&kernels_of(context)->first, memory_order_acquire);

	while (special && !dtc_gpu_special_is(&special->shape, shape))
		special = special->next;
	return special;
}

/* Two threads may add the same shape: the second is never found, and does no harm. */
static struct dtc_cuda_special_kernel *add(struct dtc_cuda_context *context,
					   const struct dtc_gpu_special *shape)
{
	struct dtc_cuda_special_kernel *special;

	if (atomic_load_explicit(&kernels_of(context)->count, memory_order_relaxed) >=
		    SHAPES_MOST ||
	    atomic_fetch_add(&kernels_of(context)->count, 1) >= SHAPES_MOST)
		return NULL;
	special = dtc_alloc_zeroed(context->cuda->context, sizeof(*special));
	if (!special)
		return NULL;
	special->context = context;
	special->shape = *shape;
	special->next =
		atomic_load_explicit(&kernels_of(context)->first, memory_order_relaxed);
	while (!atomic_compare_exchange_weak(&kernels_of(context)->first, &special->next,
					     special))
		continue;
	return special;
}

/* ---- making ------------------------------------------------------------------------------------ */

static void set_state(struct dtc_cuda_special_kernel *special, enum state state)
{
	atomic_store_explicit(&special->state, state, memory_order_release);
}

static enum state state_of(const struct dtc_cuda_special_kernel *special)
{
	return (enum state)atomic_load_explicit(&special->state, memory_order_acquire);
}

static void drop_image(struct dtc_cuda_special_kernel *special)
{
	dtc_free(special->context->cuda->context, special->image);
	special->image = NULL;
}

/* Runs in the worker. */
static void load(struct dtc_cuda_context *context, CUdeviceptr argument)
{
	const struct dtc_cuda_driver *driver = &context->cuda->driver;
	struct dtc_cuda_special_kernel *special =
		(struct dtc_cuda_special_kernel *)(uintptr_t)argument;
	CUresult result = dtc_cuda_context_synchronise(context);

	if (!result)
		result = driver->ModuleLoadData(&special->module, special->image);
	if (!result)
		result = driver->ModuleGetFunction(
			&special->function, special->module,
			dtc_gpu_kernel_name(special->shape.kernel));
	drop_image(special);
	if (result)
		DTC_LOG(context->cuda->context, DTCONV_LOG_INFO,
			"device %d: cannot load a specialised kernel (%s)",
			context->device, dtc_cuda_result_name(driver, result));
	set_state(special, result ? REFUSED : READY);
}

/* Runs in the compiler's thread. */
static void take_image(struct dtc_cuda_order *order, void *image)
{
	struct dtc_cuda_special_kernel *special = (struct dtc_cuda_special_kernel *)order;

	special->image = image;
	if (!image || !dtc_cuda_worker_load(special->context, load, (uintptr_t)special)) {
		drop_image(special);
		set_state(special, REFUSED);
	}
	atomic_fetch_sub(&special->context->loads, 1);
}

static void write_shape(const struct dtc_cuda_order *order, struct dtc_text *text)
{
	const struct dtc_cuda_special_kernel *special =
		(const struct dtc_cuda_special_kernel *)order;

	dtc_gpu_special_write(&special->shape, text);
}

static void give_order(struct dtc_cuda_special_kernel *special)
{
	struct dtc_cuda_context *context = special->context;

	special->order = (struct dtc_cuda_order){ .arch = context->arch,
						  .write = write_shape,
						  .done = take_image };
	/* Counted until its image is queued, which is counted for itself. */
	atomic_fetch_add(&context->loads, 1);
	set_state(special, ORDERED);
	if (dtc_cuda_compiler_order(context->cuda->compiler, &special->order))
		return;
	set_state(special, REFUSED);
	atomic_fetch_sub(&context->loads, 1);
}

/* A device that never gets idle, or a slow compiler, must not block a job for ever. */
#define AWAITED_NS UINT64_C(20000000000)

static void await(const struct dtc_cuda_special_kernel *special)
{
	const struct timespec nap = { .tv_nsec = 100000 };
	uint64_t end = dtc_now_ns() + AWAITED_NS;

	while (state_of(special) == ORDERED && dtc_now_ns() < end)
		nanosleep(&nap, NULL);
}

/* One thread counts to the launch that orders. */
static void count_launch(struct dtc_cuda_special_kernel *special, bool at_once)
{
	uint32_t before =
		atomic_fetch_add_explicit(&special->launches, 1, memory_order_relaxed);

	if (before + 1 == (at_once ? 1 : LAUNCHES_LEAST))
		give_order(special);
}

CUfunction dtc_cuda_special_kernel_find(const struct dtc_cuda_submission *submission,
					const struct dtc_gpu_launch *launch)
{
	struct dtconv_context *owner = submission->job->context;
	bool at_once = owner->specialise == DTC_SPECIALISE_AT_ONCE;
	struct dtc_gpu_special shape;

	if (DTC_LIKELY(owner->specialise == DTC_SPECIALISE_OFF) ||
	    refusal(owner, launch) || !dtc_gpu_special_of(launch, &shape))
		return NULL;
	struct dtc_cuda_special_kernel *special = find(submission->context, &shape);
	if (!special)
		special = add(submission->context, &shape);
	if (!special)
		return NULL;
	/* Loading what a captured job ordered would invalidate its capture. */
	if (state_of(special) == COUNTED && !submission->capturing)
		count_launch(special, at_once);
	if (at_once && !submission->capturing)
		await(special);
	return state_of(special) == READY ? special->function : NULL;
}

/* ---- giving back ------------------------------------------------------------------------------- */

static void unload_kernels(struct dtc_cuda_context *context)
{
	for (struct dtc_cuda_special_kernel *special =
		     atomic_load(&kernels_of(context)->first);
	     special; special = special->next)
		if (special->module)
			context->cuda->driver.ModuleUnload(special->module);
}

static void free_kernels(struct dtc_cuda_context *context)
{
	struct dtc_cuda_special_kernel *special =
		atomic_load(&kernels_of(context)->first);

	while (special) {
		struct dtc_cuda_special_kernel *next = special->next;

		drop_image(special);
		dtc_free(context->cuda->context, special);
		special = next;
	}
}

const struct dtc_cuda_feature dtc_cuda_special_kernels_feature = {
	.name = "special_kernels",
	.bytes = sizeof(struct dtc_cuda_special_kernels),
	.close = unload_kernels,
	.free = free_kernels,
	.forget = free_kernels,
};

/* ---- telling ----------------------------------------------------------------------------------- */

void dtc_cuda_special_kernel_explain(struct dtconv_context *context,
				     const struct dtc_gpu_launch *launch,
				     struct dtc_text *text)
{
	const char *reason = refusal(context, launch);

	if (context->specialise == DTC_SPECIALISE_OFF)
		return;
	if (reason)
		dtc_text_printf(text, ", not specialised (%s)", reason);
	else if (context->specialise == DTC_SPECIALISE_AT_ONCE)
		dtc_text_puts(text, ", specialised");
	else
		dtc_text_printf(text, ", specialised from the %dth launch on",
				LAUNCHES_LEAST + 1);
}

static void describe_compiler(struct dtc_nvrtc *nvrtc, struct dtconv_context *context,
			      int driver_version, struct dtc_text *text)
{
	const char *reason = dtc_nvrtc_find(nvrtc, context, driver_version);
	char path[DTC_FILE_CACHE_PATH_MAX];

	if (reason) {
		dtc_text_printf(text, "  specialised kernels: none, %s\n", reason);
		return;
	}
	dtc_file_cache_path(path, "kernels");
	dtc_text_printf(text,
			"  specialised kernels: %s, compiled by NVRTC %d.%d, cache: %s\n",
			context->specialise == DTC_SPECIALISE_OFF
				? "off (DTCONV_SPECIALISE)"
				: "on",
			nvrtc->major, nvrtc->minor, *path ? path : "none");
}

void dtc_cuda_special_kernel_describe(struct dtc_cuda *cuda,
				      struct dtconv_context *context,
				      struct dtc_text *text)
{
	struct dtc_nvrtc nvrtc;

	if (cuda) {
		describe_compiler(&cuda->compiler->nvrtc, context, cuda->driver.version,
				  text);
		return;
	}
	dtc_nvrtc_init(&nvrtc);
	describe_compiler(&nvrtc, context, 0, text);
	dtc_nvrtc_close(&nvrtc);
}
