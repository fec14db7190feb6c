/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From a unit's number in a nest's packed stream to the place of its block in user memory. The
 * 64-bit part is done once for a tile; what is done for each unit takes 32 bits.
 */
#ifndef DTC_KERNELS_GPU_NEST_CU_H
#define DTC_KERNELS_GPU_NEST_CU_H

/* What is particular about some levels. */
#define DTC_GPU_PLAIN 0
#define DTC_GPU_MAPPED 1 /* level 0: displacements are in a map, not multiples of a stride */
#define DTC_GPU_LISTED 2 /* level 1: in a table */

/*
 * A tile's first unit, as indices of the levels. If numbers are small, all of it is index 0, and
 * carries into the other levels when it is divided.
 */
struct dtc_gpu_start {
	uint64_t address; /* of the nest, with the outermost index of wide nests */
	uint64_t carried; /* units of level 1 that are not in index 0 */
	uint32_t index[DTC_GPU_DIMS];
};

DTC_GPU_FN void dtc_gpu_split_wide(const struct dtc_gpu_nest *nest, uint64_t unit, int form,
				   struct dtc_gpu_start *start)
{
	uint32_t last = nest->dim_count - 1u;

	DTC_GPU_UNROLL
	for (uint32_t d = 0; d < DTC_GPU_DIMS; d++) {
		if (d > last)
			break;
		if (d == last) {
			if ((form == DTC_GPU_MAPPED && d == 0) ||
			    (form == DTC_GPU_LISTED && d == 1))
				start->index[d] = (uint32_t)unit;
			else
				start->address += unit * (uint64_t)nest->dims[d].stride;
			break;
		}
		uint64_t outer = unit / nest->dims[d].count;

		start->index[d] = (uint32_t)(unit - outer * nest->dims[d].count);
		unit = outer;
		if (d == 0)
			start->carried = unit;
	}
}

/* A tile begins at @unit. */
DTC_GPU_FN void dtc_gpu_split(const struct dtc_gpu_nest *nest, uint64_t unit, int form,
			      struct dtc_gpu_start *start)
{
	start->address = nest->user;
	start->carried = 0;
	DTC_GPU_UNROLL
	for (uint32_t d = 0; d < DTC_GPU_DIMS; d++)
		start->index[d] = 0;
	if (nest->wide)
		dtc_gpu_split_wide(nest, unit, form, start);
	else
		start->index[0] = (uint32_t)unit;
}

/* Division of numbers that fit 32 bits as a rule; for once in a tile. */
DTC_GPU_FN uint64_t dtc_gpu_quotient(uint64_t a, uint64_t b)
{
	return (a | b) >> 32 ? a / b : (uint32_t)a / (uint32_t)b;
}

DTC_GPU_FN uint32_t dtc_gpu_divide(uint32_t x, uint32_t magic, uint32_t shift)
{
	return (uint32_t)(((uint64_t)x * magic) >> shift);
}

/* Where a unit is. */
struct dtc_gpu_place {
	uint64_t address; /* of its block; of the first one for levels that are mapped or listed */
	uint32_t index;   /* in level 0 */
	uint32_t carried; /* index of level 1 and all above, as one number, from start->carried on */
	uint32_t entry;   /* index in level 1, if it is listed */
};

/* The unit that is @ahead of the tile's first. */
DTC_GPU_FN struct dtc_gpu_place dtc_gpu_locate(const struct dtc_gpu_nest *nest,
					       const struct dtc_gpu_start *start,
					       uint32_t ahead, int form)
{
	struct dtc_gpu_place place = { start->address, 0, 0, 0 };
	uint32_t last = nest->dim_count - 1u;
	uint32_t index = start->index[0] + ahead;

	DTC_GPU_UNROLL
	for (uint32_t d = 0; d < DTC_GPU_DIMS; d++) {
		uint32_t outer = 0;

		if (d < last && d < DTC_GPU_DIMS - 1) {
			outer = dtc_gpu_divide(index, nest->dims[d].magic, nest->shift[d]);
			index -= outer * nest->dims[d].count;
		}
		if (d == 0) {
			place.index = index;
			place.carried = outer;
		} else if (d == 1 && form == DTC_GPU_LISTED) {
			place.entry = index;
		} else {
			place.address += (uint64_t)((int64_t)index * nest->dims[d].stride);
		}
		if (d >= last)
			break;
		if (d < DTC_GPU_DIMS - 1)
			index = start->index[d + 1] + outer;
	}
	return place;
}

#endif
