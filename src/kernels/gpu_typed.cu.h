/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Class typed: numbers are converted and combined on their way. Numbers of one kind in a nest are
 * moved by words; any other stream number by number, each looked for in the stream's nodes and by
 * a walk through the program. No two threads store to one number.
 */
#ifndef DTC_KERNELS_GPU_TYPED_CU_H
#define DTC_KERNELS_GPU_TYPED_CU_H

/* ---- words of numbers ------------------------------------------------------------------------ */

/* The words have one size in a launch: which one, a branch decides that all threads take. */
DTC_GPU_FN void dtc_gpu_pack_numbers(const struct dtc_gpu_numbers_params *p,
				     const uint64_t user[], uint64_t packed,
				     uint64_t left)
{
	struct dtc_gpu_bytes16 value[DTC_GPU_NUMBER_WORDS] = { { { 0, 0, 0, 0 } } };
	uint32_t word = p->nest.word;

	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_NUMBER_WORDS; k++)
		if (k * DTC_GPU_BLOCK < left)
			dtc_gpu_load_word(user[k], word, &value[k]);
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_NUMBER_WORDS; k++)
		if (k * DTC_GPU_BLOCK < left) {
			dtc_gpu_swap(&value[k], p->number.swap);
			dtc_gpu_store_word(packed + k * DTC_GPU_BLOCK * word, word,
					   &value[k]);
		}
}

DTC_GPU_FN void dtc_gpu_unpack_numbers(const struct dtc_gpu_numbers_params *p,
				       const uint64_t user[], uint64_t packed,
				       uint64_t left)
{
	struct dtc_gpu_bytes16 incoming[DTC_GPU_NUMBER_WORDS] = { { { 0, 0, 0, 0 } } };
	struct dtc_gpu_bytes16 target[DTC_GPU_NUMBER_WORDS] = { { { 0, 0, 0, 0 } } };
	uint32_t combination = p->combination, word = p->nest.word;

	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_NUMBER_WORDS; k++)
		if (k * DTC_GPU_BLOCK < left) {
			dtc_gpu_load_word(packed + k * DTC_GPU_BLOCK * word, word,
					  &incoming[k]);
			if (combination != DTC_GPU_REPLACE)
				dtc_gpu_load_word(user[k], word, &target[k]);
		}
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_NUMBER_WORDS; k++)
		if (k * DTC_GPU_BLOCK < left) {
			dtc_gpu_swap(&incoming[k], p->number.swap);
			if (combination != DTC_GPU_REPLACE)
				incoming[k] = dtc_gpu_combine(combination, p->number.kind,
							      incoming[k], target[k]);
			dtc_gpu_store_word(user[k], word, &incoming[k]);
		}
}

/* A tile of words; @direction is a constant. */
DTC_GPU_FN void dtc_gpu_move_numbers(const struct dtc_gpu_numbers_params *p,
				     struct dtc_gpu_at at, int direction)
{
	const struct dtc_gpu_nest *nest = &p->nest;
	uint32_t word = nest->word;
	uint64_t unit = nest->begin / word +
			(uint64_t)at.block * (DTC_GPU_NUMBER_WORDS * DTC_GPU_BLOCK);
	uint64_t last = nest->end / word;
	uint64_t left = last > unit + at.thread ? last - unit - at.thread : 0;
	uint64_t packed = nest->packed + (unit + at.thread) * word;
	struct dtc_gpu_start start;
	struct dtc_gpu_levels levels;
	struct dtc_gpu_place place[8];
	uint64_t user[8];
	uint32_t ahead[8];

	if (!left)
		return;
	dtc_gpu_plain_levels(&levels);
	dtc_gpu_split(nest, unit, DTC_GPU_PLAIN, &start);
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_NUMBER_WORDS; k++)
		ahead[k] = at.thread + (k * DTC_GPU_BLOCK < left ? k * DTC_GPU_BLOCK : 0);
	dtc_gpu_locate_all(nest, &start, DTC_GPU_PLAIN, DTC_GPU_NUMBER_WORDS, ahead,
			   place);
	dtc_gpu_unit_addresses(&levels, DTC_GPU_NUMBER_WORDS, place, word, user);
	if (direction == DTC_GPU_PACK)
		dtc_gpu_pack_numbers(p, user, packed, left);
	else
		dtc_gpu_unpack_numbers(p, user, packed, left);
}

DTC_GPU_FN void dtc_gpu_numbers_pack_phase(const struct dtc_gpu_numbers_params *p,
					   void *shared, struct dtc_gpu_at at)
{
	(void)shared;
	dtc_gpu_move_numbers(p, at, DTC_GPU_PACK);
}

DTC_GPU_FN void dtc_gpu_numbers_unpack_phase(const struct dtc_gpu_numbers_params *p,
					     void *shared, struct dtc_gpu_at at)
{
	(void)shared;
	dtc_gpu_move_numbers(p, at, DTC_GPU_UNPACK);
}

/* ---- single numbers, anywhere ------------------------------------------------------------------ */

/* @bytes is a power of two; numbers that are not aligned to it cost more. */
DTC_GPU_CALLED struct dtc_gpu_bytes16 dtc_gpu_load_number(uint64_t address,
							  uint32_t bytes)
{
	struct dtc_gpu_bytes16 value = { { 0, 0, 0, 0 } };

	if ((uint32_t)address & (bytes - 1))
		return dtc_gpu_gather(address, bytes);
	dtc_gpu_load_word(address, bytes, &value);
	return value;
}

DTC_GPU_CALLED void dtc_gpu_store_number(uint64_t address, uint32_t bytes,
					 struct dtc_gpu_bytes16 value)
{
	if ((uint32_t)address & (bytes - 1))
		dtc_gpu_scatter(address, value, bytes);
	else
		dtc_gpu_store_word(address, bytes, &value);
}

/* ---- conversion ---------------------------------------------------------------------------------- */

/* An integer of @from bytes, 8 at most, as one of @to; answers whether it fits. */
DTC_GPU_FN int dtc_gpu_resize(struct dtc_gpu_bytes16 *value, uint32_t from, uint32_t to,
			      int is_signed)
{
	uint32_t unused = 64 - 8 * from, lost = 64 - 8 * to;
	uint64_t up = dtc_gpu_pair(value->w) << unused;
	uint64_t number = is_signed ? (uint64_t)((int64_t)up >> unused) : up >> unused;
	uint64_t cut = number << lost;

	dtc_gpu_set_pair(value->w, number);
	return (is_signed ? (uint64_t)((int64_t)cut >> lost) : cut >> lost) == number;
}

/* From memory to the stream; @fits is cleared if it does not. */
DTC_GPU_FN void dtc_gpu_encode_number(const struct dtc_gpu_number *number,
				      struct dtc_gpu_bytes16 *value, int *fits)
{
	if (number->native_bytes != number->wire_bytes)
		*fits &= dtc_gpu_resize(value, number->native_bytes, number->wire_bytes,
					number->is_signed);
	dtc_gpu_swap(value, number->swap);
}

DTC_GPU_FN void dtc_gpu_decode_number(const struct dtc_gpu_number *number,
				      struct dtc_gpu_bytes16 *value, int *fits)
{
	dtc_gpu_swap(value, number->swap);
	if (number->native_bytes != number->wire_bytes)
		*fits &= dtc_gpu_resize(value, number->wire_bytes, number->native_bytes,
					number->is_signed);
}

/* ---- looking for units ----------------------------------------------------------------------------- */

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

DTC_GPU_FN void dtc_gpu_report_fault(const struct dtc_gpu_units_params *p, int fits)
{
	if (!fits && p->fault)
		dtc_gpu_release(p->fault, p->done.value);
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
	dtc_gpu_report_fault(p, fits);
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

/* ---- couples --------------------------------------------------------------------------------------- */

/* A value and the index behind it, as they are in memory. */
struct dtc_gpu_couple {
	struct dtc_gpu_bytes16 value, index;
};

/* Equal values: the lower index wins. */
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

DTC_GPU_FN void dtc_gpu_unpack_couple(const struct dtc_gpu_units_params *p, uint64_t unit)
{
	const struct dtc_gpu_number *value = &p->nodes[0].number,
				    *index = &p->nodes[1].number;
	uint64_t native = unit * p->nodes[0].native_bytes;
	uint64_t packed = p->packed + unit * p->nodes[0].wire_bytes;
	uint64_t user = dtc_gpu_walk_to(&p->walk, native).address;
	uint64_t user_index =
		dtc_gpu_walk_to(&p->walk, native + value->native_bytes).address;
	struct dtc_gpu_couple incoming, target;
	int fits = 1;

	incoming.value = dtc_gpu_load_number(packed, value->wire_bytes);
	incoming.index =
		dtc_gpu_load_number(packed + value->wire_bytes, index->wire_bytes);
	dtc_gpu_decode_number(value, &incoming.value, &fits);
	dtc_gpu_decode_number(index, &incoming.index, &fits);
	target.value = dtc_gpu_load_number(user, value->native_bytes);
	target.index = dtc_gpu_load_number(user_index, index->native_bytes);
	if (fits && dtc_gpu_couple_wins(p, &incoming, &target)) {
		dtc_gpu_store_number(user, value->native_bytes, incoming.value);
		dtc_gpu_store_number(user_index, index->native_bytes, incoming.index);
	}
	dtc_gpu_report_fault(p, fits);
}

DTC_GPU_FN void dtc_gpu_couples_unpack_phase(const struct dtc_gpu_units_params *p,
					     void *shared, struct dtc_gpu_at at)
{
	uint64_t unit = p->begin + (uint64_t)at.block * (DTC_GPU_UNITS * DTC_GPU_BLOCK) +
			at.thread;

	(void)shared;
	DTC_GPU_NO_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_UNITS && unit < p->end;
	     k++, unit += DTC_GPU_BLOCK)
		dtc_gpu_unpack_couple(p, unit);
}

#endif
