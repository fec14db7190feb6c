/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which kernel moves a stretch of the units of a typed stream.
 */
#ifndef DTC_KERNELS_GPU_TYPED_H
#define DTC_KERNELS_GPU_TYPED_H

#include "kernels/launch/launch.h"
#include "kernels/launch/units.h"

/* Units [begin, end); where @job has packed, begin and end they are those of these units. */
struct dtc_gpu_typed_job {
	struct dtc_gpu_job job; /* its stretch is native, its packed memory the wire's */
	const struct dtc_gpu_units *units;
	struct dtc_gpu_unit_place begin, end; /* begin before end */
	uint64_t
		fault; /* device's address of a word that numbers too large set to done.value, or 0 */
};

/* Plan it; DTCONV_ERR_UNSUPPORTED if the type's image is needed. */
int dtc_gpu_plan_typed(const struct dtc_gpu_typed_job *job,
		       struct dtc_gpu_launch *launch);

/* The parameters of a period are there: set what follows from them; returns the number of tiles. */
uint64_t dtc_gpu_finish_period(const struct dtc_gpu_typed_job *job,
			       struct dtc_gpu_launch *launch);

/*
 * cells.c: plan it by cells, by records, or by words of unlike numbers that are only turned; returns the number
 * of tiles, or 0 if that cannot be. @launch may have something left behind then.
 */
uint64_t dtc_gpu_plan_cells(const struct dtc_gpu_typed_job *job,
			    struct dtc_gpu_launch *launch);

#endif
