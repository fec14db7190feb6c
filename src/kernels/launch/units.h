/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The units of a typed stream as GPU kernels see them: converts a signature, a representation
 * and an operation to nodes of units.
 */
#ifndef DTC_KERNELS_LAUNCH_UNITS_H
#define DTC_KERNELS_LAUNCH_UNITS_H

#include <dtconv/operation.h>

#include "datatype/signature.h"
#include "kernels/gpu/params.h"
#include "kernels/numbers/convert.h"

/* A typed stream, as the host describes it. */
struct dtc_gpu_typing {
	const struct dtc_signature *signature;
	uint64_t count; /* number of instances; neither it nor an instance is empty */
	const struct dtc_conversion
		*to_wire;  /* indexed by predefined type, pairs excluded */
	enum dtconv_op op; /* not NO_OP */
	bool couples;
	enum dtconv_predefined value, index; /* couples */
};

/* The same, as a device sees it. */
struct dtc_gpu_units {
	uint64_t count;
	uint32_t combination;
	uint32_t node_count;
	uint32_t wire_bytes_most; /* of a unit */
	bool couples;
	bool narrows[2]; /* indexed by direction: an integer may not fit */
	struct dtc_gpu_node nodes[DTC_GPU_NODES];
};

/* Returns NULL, or the reason why no kernel supports the stream. */
const char *dtc_gpu_units_make(const struct dtc_gpu_typing *typing,
			       struct dtc_gpu_units *units);

/* The number of a unit and its position in both streams; it may be the one behind the last. */
struct dtc_gpu_unit_place {
	uint64_t unit;
	uint64_t native;
	uint64_t wire;
};

/* The unit that holds byte @wire of the stream. */
struct dtc_gpu_unit_place dtc_gpu_units_at_wire(const struct dtc_gpu_units *units,
						uint64_t wire);
/* The unit that holds byte @native of the native stream. */
struct dtc_gpu_unit_place dtc_gpu_units_at_native(const struct dtc_gpu_units *units,
						  uint64_t native);
struct dtc_gpu_unit_place dtc_gpu_units_at(const struct dtc_gpu_units *units,
					   uint64_t unit);

/* Equal numbers from a unit on. */
struct dtc_gpu_number_run {
	struct dtc_gpu_unit_place place;
	const struct dtc_gpu_number *number;
	uint64_t count;
};

/* The equal numbers from byte @native on, which must be before the end. */
void dtc_gpu_units_run_at(const struct dtc_gpu_units *units, uint64_t native,
			  struct dtc_gpu_number_run *run);

/*
 * The native period of the units [begin, end): the length of an iteration of the innermost
 * loop, or run, that contains them all. That loop begins at @start, at or before @begin. 0:
 * there is none.
 */
uint64_t dtc_gpu_units_trip(const struct dtc_gpu_units *units, uint64_t begin,
			    uint64_t end, uint64_t *start);

#endif
