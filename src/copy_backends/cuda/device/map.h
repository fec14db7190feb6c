/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A device's copies of a layout's maps.
 */
#ifndef DTC_CUDA_MAP_H
#define DTC_CUDA_MAP_H

#include "device_context.h"
#include "kernels/launch/map.h"
#include "upload.h"

struct dtc_cuda_map_request {
	const struct dtc_layout *layout; /* not empty */
	uint32_t unit;                   /* bytes: 16, 8, 4, 2 or 1 */
	enum dtc_gpu_map_order order;
	bool filled; /* the map's @filled is asked for, which takes time */
	const struct dtc_cuda_reader *reader;
	const char *caller;
};

/*
 * The map of a layout, in the form's units or in those of the request, whichever are shorter. It is made if it is not
 * there yet, and lives as long as the layout. The reader's work comes behind its upload; without a reader the call waits
 * for that. @map->unit is 0 if the map would be too large; the form is valid all the same. The map is in packed order,
 * whatever the request says, if that is the order of the addresses, if two units have one address, or for the
 * first few requests of a large map, because sorting takes time. Callable from several threads at once. Fails with
 * NOMEM, or as driver calls do.
 */
int dtc_cuda_map_find(struct dtc_cuda_context *context,
		      const struct dtc_cuda_map_request *request,
		      struct dtc_gpu_map *map);

#endif
