/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lists of pages on a device: plans the launch that moves a stretch of their stream, between pages and packed memory or
 * from pages to pages.
 */
#ifndef DTC_KERNELS_GPU_PAGES_H
#define DTC_KERNELS_GPU_PAGES_H

#include "kernels/launch/launch.h"

/* A list. Addresses are the device's. */
struct dtc_gpu_page_list {
	uint64_t pool; /* of page 0 in the first layer's first part */
	uint64_t table;
	/*
	 * Or the numbers of @given_count entries from @given_first on, in the host's memory: the launch takes them along. Those
	 * of both lists are at most DTC_GPU_PAGE_NUMBERS, and each is below 2^32. NULL: there is a table.
	 */
	const void *given;
	uint64_t given_first, given_count;
	uint64_t
		fault; /* of a 64-bit word that is lowered to the position of a number out of range; 0: none */
	uint64_t fault_bias; /* what is added to the position */
	uint64_t pool_pages;
	uint64_t page_bytes; /* of the stream */
	uint64_t page_stride;
	uint64_t row_bytes; /* of the stream, in each row of a page */
	uint64_t row_stride;
	int64_t layer_stride, part_stride;
	bool wide; /* numbers have 64 bits, at @table or @given */
};

/* Bytes [begin, end) of the stream, begin < end. */
struct dtc_gpu_pages_job {
	struct dtc_gpu_page_list list;
	const struct dtc_gpu_page_list *
		to; /* the list is copied to these pages; NULL: it is packed or unpacked */
	uint64_t packed; /* address of stream byte @begin */
	enum dtc_direction direction;
	uint64_t layer_count, part_count;
	uint64_t plane_bytes; /* of the stream, in each part of a layer */
	uint64_t begin, end;
};

/*
 * Plan the launch; DTCONV_ERR_UNSUPPORTED if a page has more than about 16 GiB, there are more than 2^30 layers, parts or
 * entries, or a grid is too small. The caller sets the flag afterwards.
 */
int dtc_gpu_plan_pages(const struct dtc_gpu_pages_job *job,
		       struct dtc_gpu_launch *launch);

#endif
