/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * BAR mappings: pieces of device memory that the CPU can access. Each device context has a few; the worker makes
 * them for memory that small jobs use repeatedly.
 */
#ifndef DTC_CUDA_BAR_MAPPINGS_H
#define DTC_CUDA_BAR_MAPPINGS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "copy_backends/cuda/device/device_context.h"
#include "copy_backends/cuda/driver/gdrcopy.h"

struct dtc_memory;

/* Windows of one device context, and the most bytes of one: 32 MiB of a BAR of 256 at worst. */
#define DTC_CUDA_BAR_MAPPINGS      16
#define DTC_CUDA_BAR_MAPPING_BYTES ((uintptr_t)2 << 20)

/* Making one costs some ten small jobs' gain, so memory that is used once gets none. */
#define DTC_CUDA_BAR_MAPPING_USES 2

/* One that so many jobs have not used may go; a refused one is asked for again after many more. */
#define DTC_CUDA_BAR_MAPPING_REST  64
#define DTC_CUDA_BAR_MAPPING_RETRY 1024

enum dtc_cuda_bar_mapping_state {
	DTC_CUDA_BAR_MAPPING_FREE,
	DTC_CUDA_BAR_MAPPING_SEEN,  /* jobs would have used it */
	DTC_CUDA_BAR_MAPPING_ASKED, /* the worker's */
	DTC_CUDA_BAR_MAPPING_MAPPED,
	DTC_CUDA_BAR_MAPPING_REFUSED
};

struct dtc_cuda_bar_mapping {
	enum dtc_cuda_bar_mapping_state state;
	uintptr_t first; /* address of the device */
	size_t bytes;
	uint64_t id;   /* of the memory that it was asked for */
	uint64_t used; /* the clock's time then */
	unsigned uses;
	char *host; /* of the byte at first; NULL unless mapped */
	/* What follows is the worker's, and may be of an earlier window in this place. */
	bool pinned;
	struct dtc_gdr_pin pin;
	void *mapped; /* by the library, or NULL */
	size_t mapped_bytes;
};

struct dtc_cuda_bar_mappings {
	pthread_mutex_t lock; /* held by a job as long as it uses windows */
	uint64_t clock;       /* jobs so far */
	struct dtc_cuda_bar_mapping places[DTC_CUDA_BAR_MAPPINGS];
};

static inline struct dtc_cuda_bar_mappings *dtc_cuda_bar_mappings_of(
	const struct dtc_cuda_context *context)
{
	return context->parts[DTC_CUDA_PART_bar_mappings];
}

/* Between these two a job may use what find answers. */
void dtc_cuda_bar_mappings_enter(struct dtc_cuda_bar_mappings *mappings);
void dtc_cuda_bar_mappings_leave(struct dtc_cuda_bar_mappings *mappings);

/*
 * Where the processor reaches @address of the memory @id, and how many bytes from there on; NULL if there
 * is no window.
 */
char *dtc_cuda_bar_mapping_find(struct dtc_cuda_bar_mappings *mappings, uint64_t id,
				uintptr_t address, size_t *bytes);

/* Say that a window at @address, in @memory of that id, would have been used; in time there may be one. */
void dtc_cuda_bar_mapping_want(struct dtc_cuda_context *context,
			       const struct dtc_memory *memory, uint64_t id,
			       uintptr_t address);

#endif
