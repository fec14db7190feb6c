/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Features of a device context: what a file keeps for each device context, and when it is called for that. The
 * device layer opens and closes all of them by their table and knows none of them.
 */
#ifndef DTC_CUDA_FEATURE_H
#define DTC_CUDA_FEATURE_H

#include <stdbool.h>
#include <stddef.h>

struct dtc_cuda_context;

/*
 * All features, in the order in which they are opened, loaded and closed: what holds modules, streams and events
 * goes before the context's own streams, and those before the memory that its work uses. A new feature is a line here
 * and a `const struct dtc_cuda_feature dtc_cuda_NAME_feature` in its own file.
 */
#define DTC_CUDA_FEATURES(X) \
	X(special_kernels)   \
	X(pipeline)          \
	X(resident)          \
	X(graphs)            \
	X(kernel_module)     \
	X(upload)            \
	X(alarms)            \
	X(lanes)             \
	X(completion)        \
	X(arena)             \
	X(scratch)           \
	X(staging)           \
	X(bar_mappings)      \
	X(pages)

#define DTC_CUDA_PART(name) DTC_CUDA_PART_##name,

/* The place of a feature's memory in a device context. */
enum dtc_cuda_part { DTC_CUDA_FEATURES(DTC_CUDA_PART) DTC_CUDA_PARTS };

/* Functions that a feature does not need are NULL. */
struct dtc_cuda_feature {
	const char *name;
	size_t bytes; /* kept for each device context, zeroed */
	void (*init)(struct dtc_cuda_context *context);
	/*
	 * Before the first job, the context current. May be called again after a failure, of this feature or
	 * another one. 0, or a status with its sentence.
	 */
	int (*open)(struct dtc_cuda_context *context, const char *caller);
	/* In the worker, after all have been opened. */
	void (*load)(struct dtc_cuda_context *context);
	/* In the thread of the first job: wait a while for what is loaded. */
	void (*await)(struct dtc_cuda_context *context);
	/* No job is in flight: end what still makes driver calls. */
	void (*stop)(struct dtc_cuda_context *context);
	/* In the worker, the context current: give back what the driver has made. Not called for a lost context. */
	void (*close)(struct dtc_cuda_context *context);
	/* Last, also for a lost context: give back locks and memory of the host. */
	void (*free)(struct dtc_cuda_context *context);
	/* In a forked child, which has no thread and no driver: give back memory of the host only. */
	void (*forget)(struct dtc_cuda_context *context);
};

#endif
