/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A device's copies of a layout's maps.
 */
#ifndef DTC_CUDA_MAP_H
#define DTC_CUDA_MAP_H

#include "device_context.h"
#include "kernels/launch/map.h"

enum dtc_cuda_map_order {
	DTC_CUDA_MAP_PACKED, /* displacements in packed order */
	DTC_CUDA_MAP_SORTED  /* units in the order of the user's addresses */
};

/*
 * The map of a layout that is not empty, in the form's units or in units of @unit bytes (16, 8, 4, 2 or 1),
 * whichever are shorter. It is made if it is not there yet, which waits for its copy to the device, and lives
 * as long as the layout. @map->unit is 0 if there is none, because it would be too large; the form holds then,
 * too. A sorted map is in packed order after all if that is the order of the addresses, or if two of
 * its units have the same. Fails with NOMEM, or as driver calls do.
 */
int dtc_cuda_map_find(const struct dtc_layout *layout, struct dtc_cuda_context *context,
		      uint32_t unit, enum dtc_cuda_map_order order, const char *caller,
		      struct dtc_gpu_map *map);

#endif
