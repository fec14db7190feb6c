/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plans the kernel that moves a stretch of the units of a typed stream.
 */
#ifndef DTC_KERNELS_GPU_TYPED_H
#define DTC_KERNELS_GPU_TYPED_H

#include "kernels/launch/launch.h"
#include "kernels/launch/units.h"

/* Units [begin, end). In @job, packed, begin and end are those of these units. */
struct dtc_gpu_typed_job {
	struct dtc_gpu_job job; /* native stretch, wire packed memory */
	const struct dtc_gpu_units *units;
	struct dtc_gpu_unit_place begin, end; /* begin before end */
	/* Device address of a word that is set to done.value if a number does not fit; or 0. */
	uint64_t fault;
};

/* Plan it; DTCONV_ERR_UNSUPPORTED if the type's image is needed. */
int dtc_gpu_plan_typed(const struct dtc_gpu_typed_job *job,
		       struct dtc_gpu_launch *launch);

/* Complete the parameters of a period; returns the number of tiles. */
uint64_t dtc_gpu_finish_period(const struct dtc_gpu_typed_job *job,
			       struct dtc_gpu_launch *launch);

/*
 * cells.c: plan it by cells, by records, or by words of unlike numbers that only change their
 * byte order. Returns the number of tiles, or 0 if that is impossible; then @launch is
 * unspecified.
 */
uint64_t dtc_gpu_plan_cells(const struct dtc_gpu_typed_job *job,
			    struct dtc_gpu_launch *launch);

#endif
