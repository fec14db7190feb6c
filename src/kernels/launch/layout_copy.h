/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Planning a copy from one layout to another as one launch.
 */
#ifndef DTC_KERNELS_LAUNCH_LAYOUT_COPY_H
#define DTC_KERNELS_LAUNCH_LAYOUT_COPY_H

#include "kernels/launch/launch.h"

/* One side: instances of a layout. */
struct dtc_gpu_copy_end {
	const struct dtc_layout *layout;
	uint64_t count;
	uint64_t user;  /* device's address of displacement 0 */
	uint64_t image; /* device's address of the program's image, if dtc_gpu_copy_takes_image; else 0 */
};

/* The first @bytes of both packed streams, which are equal. */
struct dtc_gpu_copy_job {
	struct dtc_gpu_copy_end source, target;
	uint64_t bytes; /* more than 0, and whole elements of both sides */
};

/* Whether a layout is a table of equal blocks, whose displacements the kernel reads on the device. */
bool dtc_gpu_copy_takes_image(const struct dtc_layout *layout);

/*
 * Plan a copy. The flag in the parameters is left 0. Fails with DTCONV_ERR_UNSUPPORTED, and the reason, if no
 * kernel copies between such layouts, or if packing and unpacking is faster.
 */
int dtc_gpu_plan_copy(const struct dtc_gpu_copy_job *job, struct dtc_gpu_launch *launch,
		      const char **reason);

#endif
