/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Couples of a value and an index of 4 or 8 bytes each, aligned to 4, for MINLOC and MAXLOC. Numbers are compared as
 * unsigned keys of 64 bits: short code for all kinds, without branches.
 */
#ifndef DTC_KERNELS_GPU_WORD_COUPLES_CU_H
#define DTC_KERNELS_GPU_WORD_COUPLES_CU_H

/* ---- keys ---------------------------------------------------------------------------------------- */

/* How a kind of number becomes a key. Keys are in the order of the numbers; both zeros have the same. */
struct dtc_gpu_key_form {
	uint32_t up;     /* 32: numbers of 4 bytes move to the upper half */
	uint64_t sign;   /* the sign bit, if the kind has one */
	uint64_t floats; /* all bits for floating point, else 0 */
	uint64_t
		infinity; /* what a NaN's magnitude exceeds; nothing exceeds it for integers */
};

DTC_GPU_FN struct dtc_gpu_key_form dtc_gpu_key_form_of(uint32_t kind)
{
	const uint64_t sign = (uint64_t)1 << 63;
	int single = kind == DTC_GPU_F32, floats = single || kind == DTC_GPU_F64;
	struct dtc_gpu_key_form form;

	form.up = single || kind == DTC_GPU_I32 || kind == DTC_GPU_U32 ? 32 : 0;
	form.sign = floats || dtc_gpu_is_signed(kind) ? sign : 0;
	form.floats = floats ? ~(uint64_t)0 : 0;
	form.infinity = single   ? (uint64_t)0x7f8 << 52
			: floats ? (uint64_t)0x7ff << 52
				 : ~sign;
	return form;
}

DTC_GPU_FN uint64_t dtc_gpu_raise(const struct dtc_gpu_key_form *form, uint64_t number)
{
	uint64_t raised = number << form->up;

	return form->floats && !(raised << 1) ? 0 : raised;
}

DTC_GPU_FN uint64_t dtc_gpu_key(const struct dtc_gpu_key_form *form, uint64_t raised)
{
	uint64_t negative = (uint64_t)((int64_t)raised >> 63) & form->floats;

	return raised ^ (form->sign | negative);
}

DTC_GPU_FN int dtc_gpu_is_nan(const struct dtc_gpu_key_form *form, uint64_t raised)
{
	return raised << 1 > form->infinity << 1;
}

/* ---- couples -------------------------------------------------------------------------------------- */

struct dtc_gpu_word_couple {
	uint64_t value, index;
};

/* What decides between two couples. */
struct dtc_gpu_contest {
	struct dtc_gpu_key_form value, index;
	uint32_t value_swap, index_swap; /* of what has arrived */
	int least;                       /* MINLOC */
};

DTC_GPU_FN struct dtc_gpu_contest dtc_gpu_contest_of(const struct dtc_gpu_units_params *p)
{
	struct dtc_gpu_contest contest;

	contest.value = dtc_gpu_key_form_of(p->nodes[0].number.kind);
	contest.index = dtc_gpu_key_form_of(p->nodes[1].number.kind);
	contest.value_swap = p->nodes[0].number.swap;
	contest.index_swap = p->nodes[1].number.swap;
	contest.least = p->combination == DTC_GPU_MINLOC;
	return contest;
}

/* Whether @arrived, which becomes native, replaces @there. Of equal values, the lower index wins; a NaN never wins. */
DTC_GPU_FN int dtc_gpu_word_couple_wins(const struct dtc_gpu_contest *contest,
					struct dtc_gpu_word_couple *arrived,
					const struct dtc_gpu_word_couple *there)
{
	const struct dtc_gpu_key_form *value = &contest->value, *index = &contest->index;

	arrived->value = dtc_gpu_swapped(arrived->value, contest->value_swap);
	arrived->index = dtc_gpu_swapped(arrived->index, contest->index_swap);
	uint64_t a = dtc_gpu_raise(value, arrived->value);
	uint64_t b = dtc_gpu_raise(value, there->value);
	uint64_t a_key = dtc_gpu_key(value, a), b_key = dtc_gpu_key(value, b);
	uint64_t a_index = dtc_gpu_key(index, dtc_gpu_raise(index, arrived->index));
	uint64_t b_index = dtc_gpu_key(index, dtc_gpu_raise(index, there->index));
	int wins = contest->least ? a_key < b_key : a_key > b_key;

	if (a_key == b_key)
		wins = a_index < b_index;
	return wins && !dtc_gpu_is_nan(value, a) && !dtc_gpu_is_nan(value, b);
}

/* ---- loads and stores ----------------------------------------------------------------------------- */

/* Parts of all of a thread's couples: the sizes are examined once, so that no load waits for another. */
DTC_GPU_FN void dtc_gpu_load_parts(const uint64_t couple[], uint32_t at, uint32_t bytes,
				   uint32_t word, uint64_t part[])
{
	if (bytes == 4) {
		DTC_GPU_UNROLL
		for (uint32_t k = 0; k < DTC_GPU_UNITS; k++)
			part[k] = dtc_gpu_load4(couple[k] + at);
	} else if (word == 8) {
		DTC_GPU_UNROLL
		for (uint32_t k = 0; k < DTC_GPU_UNITS; k++)
			part[k] = dtc_gpu_load8(couple[k] + at);
	} else {
		DTC_GPU_UNROLL
		for (uint32_t k = 0; k < DTC_GPU_UNITS; k++)
			part[k] = dtc_gpu_load_part(couple[k] + at, 8, 4);
	}
}

/* An index behind a value of 4 bytes is aligned to 4. */
DTC_GPU_FN uint32_t dtc_gpu_index_word(uint32_t value_bytes, uint32_t word)
{
	return value_bytes == 4 ? 4 : word;
}

/* Whether a couple is one word of @word bytes. */
DTC_GPU_FN int dtc_gpu_is_one_word(const struct dtc_gpu_units_params *p, uint32_t word)
{
	return word == 8 && p->nodes[0].native_bytes == 8;
}

/* Couples that are one word each are loaded as values. */
DTC_GPU_FN void dtc_gpu_load_couples(const struct dtc_gpu_units_params *p,
				     const uint64_t address[], uint32_t word,
				     struct dtc_gpu_word_couple couple[])
{
	uint32_t bytes = p->nodes[0].number.native_bytes;
	uint64_t value[DTC_GPU_UNITS], index[DTC_GPU_UNITS] = { 0 };

	if (dtc_gpu_is_one_word(p, word)) {
		dtc_gpu_load_parts(address, 0, 8, 8, value);
	} else {
		dtc_gpu_load_parts(address, 0, bytes, word, value);
		dtc_gpu_load_parts(address, bytes, p->nodes[1].number.native_bytes,
				   dtc_gpu_index_word(bytes, word), index);
	}
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_UNITS; k++) {
		couple[k].value = value[k];
		couple[k].index = index[k];
	}
}

/* Such words into value and index; only after all loads of both sides, because it waits for them. */
DTC_GPU_FN void dtc_gpu_split_couples(const struct dtc_gpu_units_params *p, uint32_t word,
				      struct dtc_gpu_word_couple couple[])
{
	if (!dtc_gpu_is_one_word(p, word))
		return;
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_UNITS; k++) {
		couple[k].index = couple[k].value >> 32;
		couple[k].value = (uint32_t)couple[k].value;
	}
}

DTC_GPU_FN void dtc_gpu_store_couple(const struct dtc_gpu_units_params *p,
				     uint64_t address,
				     const struct dtc_gpu_word_couple *couple)
{
	uint32_t bytes = p->nodes[0].number.native_bytes, word = p->couple_words[0];

	if (dtc_gpu_is_one_word(p, word)) {
		dtc_gpu_store8(address, (uint32_t)couple->value, (uint32_t)couple->index);
		return;
	}
	dtc_gpu_store_part(address, bytes, word, couple->value);
	dtc_gpu_store_part(address + bytes, p->nodes[1].number.native_bytes,
			   dtc_gpu_index_word(bytes, word), couple->index);
}

/* ---- a thread's couples --------------------------------------------------------------------------- */

/* Where they lie, from @first and the thread on; those behind the end are the first one again. Returns how many are left. */
DTC_GPU_FN uint64_t dtc_gpu_find_word_couples(const struct dtc_gpu_units_params *p,
					      uint64_t first, uint32_t thread,
					      uint64_t user[], uint64_t packed[])
{
	uint64_t left = p->end > first + thread ? p->end - first - thread : 0;
	uint32_t bytes = (uint32_t)p->nodes[0].native_bytes;
	struct dtc_gpu_place place[DTC_GPU_UNITS];
	uint32_t ahead[DTC_GPU_UNITS];
	struct dtc_gpu_start start;

	if (!left)
		return 0;
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_UNITS; k++)
		ahead[k] = thread + (k * DTC_GPU_BLOCK < left ? k * DTC_GPU_BLOCK : 0);
	dtc_gpu_split(&p->nest, first, DTC_GPU_PLAIN, &start);
	dtc_gpu_locate_all(&p->nest, &start, DTC_GPU_PLAIN, DTC_GPU_UNITS, ahead, place);
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_UNITS; k++) {
		user[k] = place[k].address + (uint64_t)place[k].index * bytes;
		packed[k] = p->packed + (first + ahead[k]) * bytes;
	}
	return left;
}

DTC_GPU_FN void dtc_gpu_word_couples_phase(const struct dtc_gpu_units_params *p,
					   void *shared, struct dtc_gpu_at at)
{
	uint64_t first = p->begin + (uint64_t)at.block * (DTC_GPU_UNITS * DTC_GPU_BLOCK);
	struct dtc_gpu_word_couple arrived[DTC_GPU_UNITS], there[DTC_GPU_UNITS];
	uint64_t user[DTC_GPU_UNITS], packed[DTC_GPU_UNITS];
	const struct dtc_gpu_contest contest = dtc_gpu_contest_of(p);
	uint64_t left = dtc_gpu_find_word_couples(p, first, at.thread, user, packed);

	(void)shared;
	if (!left)
		return;
	dtc_gpu_load_couples(p, packed, p->couple_words[1], arrived);
	dtc_gpu_load_couples(p, user, p->couple_words[0], there);
	dtc_gpu_split_couples(p, p->couple_words[1], arrived);
	dtc_gpu_split_couples(p, p->couple_words[0], there);
	DTC_GPU_UNROLL
	for (uint32_t k = 0; k < DTC_GPU_UNITS; k++)
		if (k * DTC_GPU_BLOCK < left &&
		    dtc_gpu_word_couple_wins(&contest, &arrived[k], &there[k]))
			dtc_gpu_store_couple(p, user[k], &arrived[k]);
}

#endif
