/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The units of a typed stream as GPU kernels see them: a signature, what its elements are in the
 * stream, and an operation become nodes of units.
 */
#ifndef DTC_KERNELS_LAUNCH_UNITS_H
#define DTC_KERNELS_LAUNCH_UNITS_H

#include <dtconv/operation.h>

#include "datatype/signature.h"
#include "kernels/gpu/params.h"
#include "kernels/numbers/convert.h"

/* What a typed stream is, as the host has it. */
struct dtc_gpu_typing {
	const struct dtc_signature *signature;
	uint64_t count; /* of instances; neither is empty */
	const struct dtc_conversion
		*to_wire;  /* of every predefined type that is no pair */
	enum dtconv_op op; /* not NO_OP */
	bool couples;
	enum dtconv_predefined value, index; /* couples */
};

/* The same as a device is told. */
struct dtc_gpu_units {
	uint64_t count;
	uint32_t combination;
	uint32_t node_count;
	uint32_t wire_bytes_most; /* of a unit */
	bool couples;
	bool narrows[2]; /* by direction: some integer may not fit */
	struct dtc_gpu_node nodes[DTC_GPU_NODES];
};

/* Returns NULL, or the reason why no kernel moves such a stream. */
const char *dtc_gpu_units_make(const struct dtc_gpu_typing *typing,
			       struct dtc_gpu_units *units);

/* A unit's number and where it begins; a unit may be the one behind the last. */
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

/* Numbers alike from a unit on. */
struct dtc_gpu_number_run {
	struct dtc_gpu_unit_place place;
	const struct dtc_gpu_number *number;
	uint64_t count;
};

/* From the unit on that holds byte @native, which is before the end. */
void dtc_gpu_units_run_at(const struct dtc_gpu_units *units, uint64_t native,
			  struct dtc_gpu_number_run *run);

/*
 * After how many native bytes the units of [begin, end) are the same again: the trip of the innermost
 * loop, or run, that has them all; it goes round at @start, where @begin is or before. 0: they are in
 * no such one.
 */
uint64_t dtc_gpu_units_trip(const struct dtc_gpu_units *units, uint64_t begin,
			    uint64_t end, uint64_t *start);

#endif
