/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lists of pages on a device: plans the launch that moves a stretch of their stream.
 */
#ifndef DTC_KERNELS_GPU_PAGES_H
#define DTC_KERNELS_GPU_PAGES_H

#include "kernels/launch/launch.h"

/* Bytes [begin, end) of the stream, begin < end. Addresses are the device's. */
struct dtc_gpu_pages_job {
	uint64_t pool;   /* of page 0 in the first layer's first part */
	uint64_t packed; /* of stream byte @begin */
	uint64_t table;
	uint64_t
		fault; /* of a 64-bit word that is lowered to the position of a number out of range; 0: none */
	uint64_t pool_pages;
	uint64_t page_bytes;
	uint64_t page_stride;
	uint64_t layer_count, part_count;
	int64_t layer_stride, part_stride;
	uint64_t plane_bytes; /* of the stream, in each part of a layer */
	uint64_t begin, end;
	bool wide; /* numbers have 64 bits */
	enum dtc_direction direction;
};

/*
 * Plan the launch; DTCONV_ERR_UNSUPPORTED if a page has more than about 16 GiB, there are more than 2^30 layers, parts or
 * entries, or a grid is too small. The caller sets the flag afterwards.
 */
int dtc_gpu_plan_pages(const struct dtc_gpu_pages_job *job,
		       struct dtc_gpu_launch *launch);

#endif
