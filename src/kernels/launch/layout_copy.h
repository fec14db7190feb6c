/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Planning a copy from one layout to another as one launch.
 */
#ifndef DTC_KERNELS_LAUNCH_LAYOUT_COPY_H
#define DTC_KERNELS_LAUNCH_LAYOUT_COPY_H

#include "kernels/launch/launch.h"
#include "kernels/launch/map.h"

/* Instances of a layout, and what the device has of it besides: an image or a map, if it is asked for. */
struct dtc_gpu_copy_end {
	const struct dtc_layout *layout;
	uint64_t count;
	uint64_t user;  /* device's address of displacement 0 */
	uint64_t image; /* of the program; 0: not there */
	bool has_map;   /* what follows is the answer to a question for it */
	struct dtc_gpu_map map;
};

/* Bytes [begin, end) of both packed streams, which are equal. */
struct dtc_gpu_copy_job {
	struct dtc_gpu_copy_end source, target;
	uint64_t begin, end; /* begin before end */
	bool is_part;        /* of a launch of many, which shifts no words */
	bool is_between;     /* the sides are memory of two devices */
};

/* What the device needs of a side. */
enum dtc_gpu_copy_need {
	DTC_GPU_COPY_NEEDS_NOTHING,
	DTC_GPU_COPY_NEEDS_IMAGE,
	DTC_GPU_COPY_NEEDS_MAP /* in packed order, in units of the launch's words */
};

struct dtc_gpu_copy_needs {
	enum dtc_gpu_copy_need source, target;
};

/*
 * Plan a copy. The flag in the parameters is left 0. Fails with DTCONV_ERR_AGAIN if @needs, in units of launch->word
 * bytes, must be found before, and with DTCONV_ERR_UNSUPPORTED, and the reason, if no kernel copies between such
 * layouts, or if packing and unpacking is faster.
 */
int dtc_gpu_plan_copy(const struct dtc_gpu_copy_job *job, struct dtc_gpu_launch *launch,
		      struct dtc_gpu_copy_needs *needs, const char **reason);

/*
 * The same as if the device had all that is needed, so AGAIN is not an answer: which kernel would copy, or why none
 * does. The launch is not complete.
 */
int dtc_gpu_foresee_copy(const struct dtc_gpu_copy_job *job,
			 struct dtc_gpu_launch *launch, const char **reason);

/* A planned copy as a part of a launch of many, which the last function sets the first tile of. */
struct dtc_gpu_copy_part dtc_gpu_copy_part_of(const struct dtc_gpu_launch *launch);

/*
 * Plan many copies as one launch. Up to DTC_GPU_INLINE_COPIES parts travel with it; of more, which must be copied to
 * the device before it, @device is the address. @parts get their first tiles. Fails with DTCONV_ERR_UNSUPPORTED if they
 * have more tiles than one launch can have.
 */
int dtc_gpu_plan_copies(struct dtc_gpu_copy_part parts[], size_t count, uint64_t device,
			struct dtc_gpu_launch *launch);

#endif
