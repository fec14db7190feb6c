/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Couples of a value and an index, for MINLOC and MAXLOC: of any sizes, at any alignment.
 */
#ifndef DTC_KERNELS_GPU_COUPLES_CU_H
#define DTC_KERNELS_GPU_COUPLES_CU_H

/* ---- couples --------------------------------------------------------------------------------------- */

/* A value and the index behind it, in native representation. */
struct dtc_gpu_couple {
	struct dtc_gpu_bytes16 value, index;
};

/* If the values are equal, the lower index wins. */
DTC_GPU_FN int dtc_gpu_couple_wins(const struct dtc_gpu_units_params *p,
				   const struct dtc_gpu_couple *a,
				   const struct dtc_gpu_couple *b)
{
	uint32_t kind = p->nodes[0].number.kind;
	int less = dtc_gpu_is_less(kind, a->value, b->value);
	int greater = dtc_gpu_is_less(kind, b->value, a->value);

	if (less || greater)
		return p->combination == DTC_GPU_MINLOC ? less : greater;
	return dtc_gpu_is_number(kind, &a->value) && dtc_gpu_is_number(kind, &b->value) &&
	       dtc_gpu_is_less(p->nodes[1].number.kind, a->index, b->index);
}

/* The addresses of both parts of a couple, on both sides. */
struct dtc_gpu_couple_at {
	uint64_t user, user_index;
	uint64_t packed, packed_index;
};

/* Couples in flight: as many loads as registers can hold. */
#define DTC_GPU_COUPLES 2u

/* Consecutive couples in a nest. */
DTC_GPU_FN void dtc_gpu_locate_couples(const struct dtc_gpu_units_params *p,
				       uint64_t first, const uint32_t ahead[],
				       struct dtc_gpu_couple_at found[])
{
	struct dtc_gpu_place place[DTC_GPU_COUPLES];
	struct dtc_gpu_start start;

	dtc_gpu_split(&p->nest, first, DTC_GPU_PLAIN, &start);
	dtc_gpu_locate_all(&p->nest, &start, DTC_GPU_PLAIN, DTC_GPU_COUPLES, ahead,
			   place);
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_COUPLES; k++) {
		found[k].user =
			place[k].address +
			(uint64_t)place[k].index * (uint32_t)p->nodes[0].native_bytes;
		found[k].user_index = found[k].user + p->nodes[0].number.native_bytes;
	}
}

DTC_GPU_FN void dtc_gpu_walk_to_couple(const struct dtc_gpu_units_params *p,
				       uint64_t unit, struct dtc_gpu_couple_at *found)
{
	uint64_t native = unit * p->nodes[0].native_bytes;

	found->user = dtc_gpu_walk_to(&p->walk, native).address;
	found->user_index =
		dtc_gpu_walk_to(&p->walk, native + p->nodes[0].number.native_bytes)
			.address;
}

/* Locate couples that are @ahead of @first. */
DTC_GPU_FN void dtc_gpu_find_couples(const struct dtc_gpu_units_params *p, uint64_t first,
				     const uint32_t ahead[],
				     struct dtc_gpu_couple_at found[])
{
	if (p->nest.dim_count) {
		dtc_gpu_locate_couples(p, first, ahead, found);
	} else {
		DTC_GPU_NO_UNROLL
		for (uint32_t k = 0; k < DTC_GPU_COUPLES; k++) {
			struct dtc_gpu_couple_at at;

			dtc_gpu_walk_to_couple(p, first + (k ? ahead[1] : ahead[0]), &at);
			found[0] = k ? found[0] : at;
			found[1] = k ? at : found[1];
		}
	}
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_COUPLES; k++) {
		found[k].packed = p->packed + (first + ahead[k]) * p->nodes[0].wire_bytes;
		found[k].packed_index = found[k].packed + p->nodes[0].number.wire_bytes;
	}
}

/* Both parts of a couple. Fetching and use are separate. */
struct dtc_gpu_loose_couple {
	struct dtc_gpu_loose value, index;
};

DTC_GPU_FN void dtc_gpu_fetch_couple(uint64_t value, uint32_t value_bytes, uint64_t index,
				     uint32_t index_bytes,
				     struct dtc_gpu_loose_couple *loose)
{
	dtc_gpu_fetch_loose(value, value_bytes, &loose->value);
	dtc_gpu_fetch_loose(index, index_bytes, &loose->index);
}

DTC_GPU_FN void dtc_gpu_couple_value(const struct dtc_gpu_loose_couple *loose,
				     struct dtc_gpu_couple *couple)
{
	couple->value = dtc_gpu_loose_value(&loose->value);
	couple->index = dtc_gpu_loose_value(&loose->index);
}

/* Whether the arrived couple is to be stored; converts it to native representation. */
DTC_GPU_FN int dtc_gpu_decide_couple(const struct dtc_gpu_units_params *p,
				     struct dtc_gpu_couple *arrived,
				     const struct dtc_gpu_couple *there)
{
	int fits = 1;

	dtc_gpu_decode_number(&p->nodes[0].number, &arrived->value, &fits);
	dtc_gpu_decode_number(&p->nodes[1].number, &arrived->index, &fits);
	dtc_gpu_report_fault(p->fault, p->done.value, fits);
	return fits && dtc_gpu_couple_wins(p, arrived, there);
}

DTC_GPU_FN void dtc_gpu_unpack_couple(const struct dtc_gpu_units_params *p,
				      const struct dtc_gpu_couple_at *at,
				      const struct dtc_gpu_loose_couple *arrived,
				      const struct dtc_gpu_loose_couple *there)
{
	struct dtc_gpu_couple incoming, target;

	dtc_gpu_couple_value(arrived, &incoming);
	dtc_gpu_couple_value(there, &target);
	if (!dtc_gpu_decide_couple(p, &incoming, &target))
		return;
	dtc_gpu_store_loose(at->user, p->nodes[0].number.native_bytes, &incoming.value);
	dtc_gpu_store_loose(at->user_index, p->nodes[1].number.native_bytes,
			    &incoming.index);
}

/* Numbers of 16 bytes. */
DTC_GPU_FN void dtc_gpu_unpack_long_couple(const struct dtc_gpu_units_params *p,
					   const struct dtc_gpu_couple_at *at)
{
	const struct dtc_gpu_number *value = &p->nodes[0].number,
				    *index = &p->nodes[1].number;
	struct dtc_gpu_couple incoming, target;

	incoming.value = dtc_gpu_load_number(at->packed, value->wire_bytes);
	incoming.index = dtc_gpu_load_number(at->packed_index, index->wire_bytes);
	target.value = dtc_gpu_load_number(at->user, value->native_bytes);
	target.index = dtc_gpu_load_number(at->user_index, index->native_bytes);
	if (!dtc_gpu_decide_couple(p, &incoming, &target))
		return;
	dtc_gpu_store_number(at->user, value->native_bytes, incoming.value);
	dtc_gpu_store_number(at->user_index, index->native_bytes, incoming.index);
}

DTC_GPU_FN void dtc_gpu_unpack_short_couples(const struct dtc_gpu_units_params *p,
					     const struct dtc_gpu_couple_at at[],
					     uint64_t left)
{
	const struct dtc_gpu_number *value = &p->nodes[0].number,
				    *index = &p->nodes[1].number;
	struct dtc_gpu_loose_couple arrived[DTC_GPU_COUPLES], there[DTC_GPU_COUPLES];

	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_COUPLES; k++) {
		dtc_gpu_fetch_couple(at[k].packed, value->wire_bytes, at[k].packed_index,
				     index->wire_bytes, &arrived[k]);
		dtc_gpu_fetch_couple(at[k].user, value->native_bytes, at[k].user_index,
				     index->native_bytes, &there[k]);
	}
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_COUPLES; k++)
		if (k * DTC_GPU_BLOCK < left)
			dtc_gpu_unpack_couple(p, &at[k], &arrived[k], &there[k]);
}

/* Move the thread's next couples of the tile, from @first on. */
DTC_GPU_FN void dtc_gpu_unpack_couples(const struct dtc_gpu_units_params *p,
				       uint64_t first, uint32_t thread)
{
	uint64_t left = p->end > first + thread ? p->end - first - thread : 0;
	struct dtc_gpu_couple_at at[DTC_GPU_COUPLES];
	uint32_t ahead[DTC_GPU_COUPLES];

	if (!left)
		return;
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_COUPLES; k++)
		ahead[k] = thread + (k * DTC_GPU_BLOCK < left ? k * DTC_GPU_BLOCK : 0);
	dtc_gpu_find_couples(p, first, ahead, at);
	if (!p->long_couples) {
		dtc_gpu_unpack_short_couples(p, at, left);
		return;
	}
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_COUPLES; k++)
		if (k * DTC_GPU_BLOCK < left)
			dtc_gpu_unpack_long_couple(p, &at[k]);
}

DTC_GPU_FN void dtc_gpu_couples_unpack_phase(const struct dtc_gpu_units_params *p,
					     void *shared, struct dtc_gpu_at at)
{
	const uint32_t step = DTC_GPU_COUPLES * DTC_GPU_BLOCK;
	uint64_t first = p->begin + (uint64_t)at.block * (DTC_GPU_UNITS * DTC_GPU_BLOCK);

	(void)shared;
	DTC_GPU_NO_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_UNITS; k += DTC_GPU_COUPLES, first += step)
		dtc_gpu_unpack_couples(p, first, at.thread);
}

#endif
