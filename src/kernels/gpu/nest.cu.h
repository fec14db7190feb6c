/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From a unit's number in a nest's packed stream to the place of its block in user memory. The
 * 64-bit part is done once for a tile; what is done for each unit takes 32 bits.
 */
#ifndef DTC_KERNELS_GPU_NEST_CU_H
#define DTC_KERNELS_GPU_NEST_CU_H

/*
 * A tile's first unit, as indices of the levels. If numbers are small, all of it is index 0, and
 * carries into the other levels when it is divided.
 */
struct dtc_gpu_start {
	uint64_t address; /* of the nest, with the outermost index of wide nests */
	uint64_t carried; /* units of level 1 that are not in index 0 */
	uint32_t index[DTC_GPU_DIMS];
};

/* One copy of the division, which is long code, and no array that is indexed by a variable. */
DTC_GPU_FN void dtc_gpu_split_wide(const struct dtc_gpu_nest *nest, uint64_t unit, int form,
				   struct dtc_gpu_start *start)
{
	uint32_t last = nest->dim_count - 1u;

	DTC_GPU_NO_UNROLL
	for (uint32_t d = 0; d < last; d++) {
		uint64_t outer = unit / nest->dims[d].count;
		uint32_t index = (uint32_t)(unit - outer * nest->dims[d].count);

		DTC_GPU_UNROLL
		for (uint32_t k = 0; k < DTC_GPU_DIMS; k++)
			start->index[k] = k == d ? index : start->index[k];
		unit = outer;
		if (d == 0)
			start->carried = unit;
	}
	if (form == DTC_GPU_LISTED && last == 1)
		start->index[1] = (uint32_t)unit;
	else
		start->address += unit * (uint64_t)nest->dims[last].stride;
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

/*
 * @count units, a constant, that are @ahead of the tile's first. They go up the levels together, so
 * that the way up is decided once.
 */
DTC_GPU_FN void dtc_gpu_locate_all(const struct dtc_gpu_nest *nest,
				   const struct dtc_gpu_start *start, int form, uint32_t count,
				   const uint32_t ahead[], struct dtc_gpu_place place[])
{
	uint32_t last = nest->dim_count - 1u;
	uint32_t index[8], outer[8];

	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < count; k++) {
		struct dtc_gpu_place first = { start->address, 0, 0, 0 };

		place[k] = first;
		index[k] = start->index[0] + ahead[k];
	}
	DTC_GPU_UNROLL
	for (uint32_t d = 0; d < DTC_GPU_DIMS; d++) {
		int64_t stride = nest->dims[d].stride;

		DTC_GPU_UNROLL
		for (uint32_t k = 0; k < count; k++)
			outer[k] = 0;
		if (d < last && d < DTC_GPU_DIMS - 1) {
			uint32_t magic = nest->dims[d].magic;
			uint32_t shift = nest->shift[d];

			DTC_GPU_UNROLL
			for (uint32_t k = 0; k < count; k++) {
				outer[k] = dtc_gpu_divide(index[k], magic, shift);
				index[k] -= outer[k] * nest->dims[d].count;
			}
		}
		DTC_GPU_UNROLL
		for (uint32_t k = 0; k < count; k++) {
			if (d == 0) {
				place[k].index = index[k];
				place[k].carried = outer[k];
			} else if (d == 1 && form == DTC_GPU_LISTED) {
				place[k].entry = index[k];
			} else {
				place[k].address += (uint64_t)((int64_t)index[k] * stride);
			}
		}
		if (d >= last)
			break;
		DTC_GPU_UNROLL
		for (uint32_t k = 0; k < count && d < DTC_GPU_DIMS - 1; k++)
			index[k] = start->index[d + 1] + outer[k];
	}
}

DTC_GPU_FN struct dtc_gpu_place dtc_gpu_locate(const struct dtc_gpu_nest *nest,
					       const struct dtc_gpu_start *start,
					       uint32_t ahead, int form)
{
	struct dtc_gpu_place place;

	dtc_gpu_locate_all(nest, start, form, 1, &ahead, &place);
	return place;
}

#endif
