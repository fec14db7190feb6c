/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds the unit at a position of a typed stream in the stream's nodes.
 */
#ifndef DTC_KERNELS_GPU_UNITS_CU_H
#define DTC_KERNELS_GPU_UNITS_CU_H

struct dtc_gpu_unit {
	uint64_t native; /* positions */
	uint64_t wire;
	const struct dtc_gpu_number *number;
};

DTC_GPU_FN void dtc_gpu_find_unit(const struct dtc_gpu_units_params *p, uint64_t position,
				  struct dtc_gpu_unit *unit)
{
	const struct dtc_gpu_node *node = p->nodes;

	unit->native = 0;
	unit->wire = 0;
	for (;;) {
		while (position >= node->units_before + node->units)
			node += node->body + 1;
		position -= node->units_before;
		uint64_t trip = node->trip_units == 1
					? position
					: dtc_gpu_quotient(position, node->trip_units);

		unit->native += node->native_before + trip * node->native_bytes;
		unit->wire += node->wire_before + trip * node->wire_bytes;
		if (!node->body)
			break;
		position -= trip * node->trip_units;
		node++;
	}
	unit->number = &node->number;
}

DTC_GPU_FN void dtc_gpu_move_unit(const struct dtc_gpu_units_params *p, uint64_t position,
				  int direction)
{
	struct dtc_gpu_unit unit;
	struct dtc_gpu_bytes16 value;
	int fits = 1;

	dtc_gpu_find_unit(p, position, &unit);
	const struct dtc_gpu_number *number = unit.number;
	uint64_t user = dtc_gpu_walk_to(&p->walk, unit.native).address;
	uint64_t packed = p->packed + unit.wire;
	if (direction == DTC_GPU_PACK) {
		value = dtc_gpu_load_number(user, number->native_bytes);
		dtc_gpu_encode_number(number, &value, &fits);
		if (fits)
			dtc_gpu_store_number(packed, number->wire_bytes, value);
	} else {
		value = dtc_gpu_load_number(packed, number->wire_bytes);
		dtc_gpu_decode_number(number, &value, &fits);
		if (p->combination != DTC_GPU_REPLACE)
			value = dtc_gpu_combine(
				p->combination, number->kind, value,
				dtc_gpu_load_number(user, number->native_bytes));
		if (fits)
			dtc_gpu_store_number(user, number->native_bytes, value);
	}
	dtc_gpu_report_fault(p->fault, p->done.value, fits);
}

/* A thread's units of a tile. */
DTC_GPU_FN void dtc_gpu_move_units(const struct dtc_gpu_units_params *p,
				   struct dtc_gpu_at at, int direction)
{
	uint64_t unit = p->begin + (uint64_t)at.block * (DTC_GPU_UNITS * DTC_GPU_BLOCK) +
			at.thread;

	DTC_GPU_NO_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_UNITS && unit < p->end;
	     k++, unit += DTC_GPU_BLOCK)
		dtc_gpu_move_unit(p, unit, direction);
}

DTC_GPU_FN void dtc_gpu_units_pack_phase(const struct dtc_gpu_units_params *p,
					 void *shared, struct dtc_gpu_at at)
{
	(void)shared;
	dtc_gpu_move_units(p, at, DTC_GPU_PACK);
}

DTC_GPU_FN void dtc_gpu_units_unpack_phase(const struct dtc_gpu_units_params *p,
					   void *shared, struct dtc_gpu_at at)
{
	(void)shared;
	dtc_gpu_move_units(p, at, DTC_GPU_UNPACK);
}

#endif
