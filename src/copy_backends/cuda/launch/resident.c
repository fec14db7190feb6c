/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The host side of the resident kernel.
 */
#include "config.h"

#include "resident.h"

#include <string.h>

#include "base/context.h"
#include "base/log.h"
#include "copy_backends/cuda/device/completion.h"
#include "copy_backends/cuda/device/pinned.h"
#include "copy_backends/cuda/device/upload.h"
#include "copy_backends/cuda/driver/nvtx_ranges.h"
#include "copy_backends/cuda/planning/cost_model.h"
#include "kernels/images/images.h"

/* How long the kernel stays. */
#define IDLE_NS UINT64_C(200000)
#define LIFE_NS UINT64_C(1000000)

/*
 * What one multiprocessor moves sooner than a launch does with all of them: 7.3 us for 128 KiB inside an H200
 * where a launch takes 9.7, 10.8 for 256 KiB. Over the bus, where it waits longer, a guess.
 */
#define BYTES_MOST      UINT64_C(131072)
#define BYTES_MOST_FAR  UINT64_C(32768)
#define TILES_MOST      8
#define TILES_MOST_SLOW 4 /* of the general class, which looks for each block */

/* What it takes less than a launch, and bytes that it moves in a nanosecond inside the device; as measured there. */
#define GAIN_NS 7000.0
#define RATE    30.0

/* ---- planning -------------------------------------------------------------------------- */

static bool is_seen(enum dtconv_memory_kind kind)
{
	return kind == DTCONV_MEMORY_DEVICE || kind == DTCONV_MEMORY_PINNED;
}

static bool is_small(uint64_t bytes, enum dtconv_memory_kind user,
		     enum dtconv_memory_kind packed)
{
	bool inside = user == DTCONV_MEMORY_DEVICE && packed == DTCONV_MEMORY_DEVICE;

	return is_seen(user) && is_seen(packed) &&
	       bytes <= (inside ? BYTES_MOST : BYTES_MOST_FAR);
}

bool dtc_cuda_resident_may(const struct dtc_question *question)
{
	return question->layout->program->context->devices.resident && !question->on_stream &&
	       is_small(question->bytes, question->user_kind, question->packed_kind);
}

double dtc_cuda_resident_ns(const struct dtc_question *question)
{
	return DTC_MAX(dtc_cuda_launch_ns(question) - GAIN_NS, 0.0) +
	       (double)question->bytes / RATE;
}

/* ---- opening and closing --------------------------------------------------------------- */

static CUresult load(struct dtc_cuda_context *context, struct dtc_cuda_resident *resident)
{
	const struct dtc_cuda_driver *driver = &context->cuda->driver;
	const struct dtc_gpu_image *image = dtc_gpu_resident_for(context->arch);

	if (!image)
		return CUDA_ERROR_NO_BINARY_FOR_GPU;
	CUresult result = dtc_cuda_context_synchronise(context);
	if (!result)
		result = driver->ModuleLoadData(&resident->module, image->data);
	if (!result)
		result = driver->ModuleGetFunction(&resident->function, resident->module,
						   "dtc_gpu_resident");
	return result;
}

static CUresult open_bell(struct dtc_cuda_context *context,
			  struct dtc_cuda_resident *resident)
{
	void *bell = NULL;

	CUresult result = dtc_cuda_pinned_create(context, sizeof(*resident->bell), &bell,
						 &resident->device);
	resident->bell = bell;
	if (!result)
		resident->bell->left = 1;
	return result;
}

static void open_resident(struct dtc_cuda_context *context)
{
	struct dtc_cuda_resident *resident = dtc_cuda_resident_of(context);

	if (!context->cuda->context->devices.resident)
		return;
	CUresult result = dtc_cuda_stream_create(context, &resident->stream);
	if (!result)
		result = open_bell(context, resident);
	if (!result)
		result = load(context, resident);
	if (result)
		DTC_LOG(context->cuda->context, DTCONV_LOG_WARN,
			"device %d: cannot set up the resident kernel (%s); small jobs "
			"use ordinary launches",
			context->device,
			dtc_cuda_result_name(&context->cuda->driver, result));
	else
		atomic_store_explicit(&resident->ready, true, memory_order_release);
}

static void close_resident(struct dtc_cuda_context *context)
{
	const struct dtc_cuda_driver *driver = &context->cuda->driver;
	struct dtc_cuda_resident *resident = dtc_cuda_resident_of(context);

	if (resident->bell)
		__atomic_store_n(&resident->bell->cancel, 1, __ATOMIC_RELEASE);
	if (resident->module)
		driver->ModuleUnload(resident->module);
	if (resident->stream)
		driver->StreamDestroy(resident->stream);
	dtc_cuda_pinned_destroy(context, resident->bell, sizeof(*resident->bell));
}

/* Before the kernels: a job that has waited for those leaves nothing to load behind it. */
const struct dtc_cuda_feature dtc_cuda_resident_feature = {
	.name = "resident",
	.bytes = sizeof(struct dtc_cuda_resident),
	.load = open_resident,
	.close = close_resident,
};

/* ---- commands -------------------------------------------------------------------------- */

bool dtc_cuda_resident_does(const struct dtc_gpu_launch *launch)
{
#define DTC_GPU_ENTRY1(name, params, a)       [DTC_GPU_##name] = true,
#define DTC_GPU_ENTRY3(name, params, a, b, c) [DTC_GPU_##name] = true,
	static const bool done[DTC_GPU_KERNELS] = {
#include "kernels/gpu/resident_list.h"
	};
#undef DTC_GPU_ENTRY1
#undef DTC_GPU_ENTRY3

	return done[launch->kernel] && launch->shared_bytes <= DTC_GPU_RESIDENT_SHARED &&
	       launch->grid <= (launch->class == DTC_GPU_CLASS_GENERAL ? TILES_MOST_SLOW
								       : TILES_MOST);
}

/* Of the parameters, those that say something. */
static size_t params_bytes(const struct dtc_gpu_launch *launch)
{
	const struct dtc_gpu_many_params *many = &launch->params.many;

	if (launch->class != DTC_GPU_CLASS_MANY)
		return launch->params_bytes;
	if (many->parts)
		return offsetof(struct dtc_gpu_many_params, u) + sizeof(many->u.taken);
	return offsetof(struct dtc_gpu_many_params, u) +
	       many->part_count * sizeof(many->u.inline_parts[0]);
}

/* What the job reads has been written before. */
static void write_word(struct dtc_gpu_bell *bell, uint32_t number, size_t place,
		       uint32_t word)
{
	__atomic_store_n(&bell->cells[place], DTC_GPU_CELL(number, word),
			 __ATOMIC_RELEASE);
}

static void write_command(const struct dtc_cuda_resident *resident,
			  const struct dtc_gpu_launch *launch)
{
	struct dtc_gpu_bell *bell = resident->bell;
	size_t words = params_bytes(launch) / sizeof(uint32_t);
	const char *params = (const char *)&launch->params;

	for (size_t i = 0; i < words; i++) {
		uint32_t word;

		memcpy(&word, params + i * sizeof(word), sizeof(word));
		write_word(bell, resident->number, DTC_GPU_COMMAND_HEAD + i, word);
	}
	write_word(bell, resident->number, 1, launch->grid);
	write_word(bell, resident->number, 0,
		   DTC_GPU_COMMAND(launch->kernel, DTC_GPU_COMMAND_HEAD + words));
}

static bool has_left(const struct dtc_cuda_resident *resident)
{
	return __atomic_load_n(&resident->bell->left, __ATOMIC_ACQUIRE) ==
	       resident->number;
}

static CUresult launch_kernel(struct dtc_cuda_context *context)
{
	struct dtc_cuda_resident *resident = dtc_cuda_resident_of(context);
	struct dtc_gpu_resident_params p = { .bell = resident->device,
					     .idle_ns = IDLE_NS,
					     .life_ns = LIFE_NS,
					     .number = resident->number };
	void *params[] = { &p };

	__atomic_store_n(&resident->bell->left, 0, __ATOMIC_RELAXED);
	CUresult result = context->cuda->driver.LaunchKernel(
		resident->function, 1, 1, 1, DTC_GPU_BLOCK, 1, 1, DTC_GPU_RESIDENT_SHARED,
		resident->stream, params, NULL);
	/* There is still no kernel, and this command is nobody's any more. */
	if (result)
		__atomic_store_n(&resident->bell->left, resident->number + 1,
				 __ATOMIC_RELAXED);
	else
		dtc_context_count(context->cuda->context, DTC_COUNT_RESIDENT_LAUNCHES, 1);
	return result;
}

/* A number for the next command. When they have run out they begin anew, as soon as no kernel is there. */
static bool next_number(struct dtc_cuda_resident *resident)
{
	struct dtc_gpu_bell *bell = resident->bell;

	if (resident->number == DTC_GPU_LAST_NUMBER) {
		if (__atomic_load_n(&bell->left, __ATOMIC_ACQUIRE) !=
		    DTC_GPU_LAST_NUMBER + 1)
			return false;
		memset(bell->cells, 0, sizeof(bell->cells));
		bell->left = 1;
		resident->number = 0;
	}
	resident->number++;
	return true;
}

/* ---- jobs ------------------------------------------------------------------------------ */

static bool is_for_it(const struct dtc_job *job, const struct dtc_gpu_launch *launch)
{
	return !job->on_stream && dtc_cuda_resident_does(launch) &&
	       is_small(job->bytes, job->user_memory.kind, job->packed_memory.kind);
}

static bool take(struct dtc_cuda_resident *resident)
{
	if (atomic_exchange_explicit(&resident->taken, true, memory_order_acquire))
		return false;
	if (next_number(resident))
		return true;
	atomic_store_explicit(&resident->taken, false, memory_order_release);
	return false;
}

bool dtc_cuda_resident_ring(struct dtc_cuda_context *context, const struct dtc_job *job,
			    struct dtc_gpu_launch *launch, struct dtc_event *event)
{
	struct dtc_cuda_resident *resident = dtc_cuda_resident_of(context);
	struct dtconv_context *owner = context->cuda->context;

	/* It is in no stream's order. Asking for uploads may call the driver, so cheaper questions come first. */
	if (!atomic_load_explicit(&resident->ready, memory_order_acquire) ||
	    !is_for_it(job, launch) || !dtc_cuda_upload_is_idle(context) ||
	    !take(resident))
		return false;
	launch->params.done = dtc_cuda_flag_done(event);
	write_command(resident, launch);
	if (has_left(resident) && launch_kernel(context)) {
		atomic_store_explicit(&resident->taken, false, memory_order_release);
		return false;
	}
	event->stream = resident->stream;
	dtc_context_count(owner, DTC_COUNT_RESIDENT_JOBS, 1);
	dtc_cuda_nvtx_note(context->cuda->listener, "resident kernel");
	return true;
}

bool dtc_cuda_resident_has(const struct dtc_event *event)
{
	const struct dtc_cuda_context *context = event->owner;
	const struct dtc_cuda_resident *resident = dtc_cuda_resident_of(context);

	return atomic_load_explicit(&resident->ready, memory_order_acquire) &&
	       event->stream == resident->stream;
}

bool dtc_cuda_resident_has_left(const struct dtc_event *event)
{
	const struct dtc_cuda_context *context = event->owner;

	return dtc_cuda_resident_has(event) && has_left(dtc_cuda_resident_of(context));
}

CUresult dtc_cuda_resident_call_back(const struct dtc_event *event)
{
	return launch_kernel(event->owner);
}

void dtc_cuda_resident_put(const struct dtc_event *event)
{
	struct dtc_cuda_context *context = event->owner;

	if (dtc_cuda_resident_has(event))
		atomic_store_explicit(&dtc_cuda_resident_of(context)->taken, false,
				      memory_order_release);
}
