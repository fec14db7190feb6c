/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Maps: where each unit of an irregular layout is in the user's memory, in packed order, for kernels
 * that look it up. Host arithmetic; the backend copies maps to the device.
 *
 * A map lists one period. A layout whose program is one loop, with the extent of its iterations
 * together, has an iteration as its period; any other layout has the instance.
 */
#ifndef DTC_KERNELS_GPU_MAP_H
#define DTC_KERNELS_GPU_MAP_H

#include "datatype/layout.h"
#include "kernels/gpu/params.h"

/*
 * Units of a period at most. A map takes 4 bytes a unit on the device, and 8 more if it is sorted too: as
 * much as three times the packed period of 4-byte units. Writing and sorting this many takes the host 30 ms.
 */
#define DTC_GPU_MAP_UNITS_MOST (UINT64_C(1) << 21)

struct dtc_gpu_map_form {
	uint32_t
		unit; /* bytes: the largest power of two up to 16 that divides all that follows */
	uint64_t count;   /* packed units of a period */
	uint64_t periods; /* in an instance */
	int64_t stride; /* user bytes from one period to the next; the extent, if periods is 1 */
	int64_t lowest; /* displacement in a period, in bytes */
	int64_t highest;
	bool ascends; /* each unit lies behind the one before it, so none is listed twice */
	bool apart;   /* periods do not reach into each other */
};

/*
 * What a layout's map is like; false if it is too large for one, when the unit and the count hold all
 * the same. The layout is not empty. Takes time with the runs of a period.
 */
bool dtc_gpu_map_of_layout(const struct dtc_layout *layout,
			   struct dtc_gpu_map_form *form);

enum dtc_gpu_map_order {
	DTC_GPU_MAP_PACKED, /* int32_t displacements, in packed order */
	DTC_GPU_MAP_SORTED, /* struct dtc_gpu_sorted_unit, in the order of the user's addresses */
	DTC_GPU_MAP_SORTED_PERIODS /* the same, if that is their order over several periods, too */
};

/* A map on a device. */
struct dtc_gpu_map {
	struct dtc_gpu_map_form form;
	uint32_t
		unit; /* bytes, which may be less than the form's; 0: it is too large to be made */
	uint32_t
		filled; /* percent of the 32-byte sectors that units are in, or 0: unknown */
	bool sorted;
	uint64_t memory; /* the device's address */
};

/* Two of these, which take no time: the unit of a layout's map, and the packed bytes of a period. */
uint32_t dtc_gpu_map_unit(const struct dtc_layout *layout);
uint64_t dtc_gpu_map_period(const struct dtc_layout *layout);

/* Whether the map can be written in units of @unit bytes, a power of two up to the form's. */
bool dtc_gpu_map_fits(const struct dtc_gpu_map_form *form, uint32_t unit);

/* Units of @unit bytes that a map of this form lists. */
static inline uint64_t dtc_gpu_map_units(const struct dtc_gpu_map_form *form,
					 uint32_t unit)
{
	return form->count * (form->unit / unit);
}

/* Write the displacements of a period's units, counted in units of @unit bytes. The map fits. */
void dtc_gpu_map_write(const struct dtc_layout *layout, uint32_t unit, int32_t disps[]);

/*
 * Write the units in the order of their displacements; @scratch has room for as many. False if two
 * have the same displacement: then @sorted is not to be used.
 */
bool dtc_gpu_map_sort(const int32_t disps[], uint32_t count,
		      struct dtc_gpu_sorted_unit sorted[],
		      struct dtc_gpu_sorted_unit scratch[]);

/*
 * How many percent of the sectors that they are in units fill, whose displacements do not descend; they
 * are @step numbers apart in @disps. Displacement 0 is assumed to begin a sector.
 */
uint32_t dtc_gpu_map_filled(const int32_t disps[], size_t step, uint32_t count,
			    uint32_t unit);

#endif
