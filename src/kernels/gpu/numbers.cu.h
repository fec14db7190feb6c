/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Numbers in registers: byte swaps, combinations and comparisons. The results equal those of
 * kernels/numbers/reduce.c bit for bit, except for the payload of computed NaNs.
 */
#ifndef DTC_KERNELS_GPU_NUMBERS_CU_H
#define DTC_KERNELS_GPU_NUMBERS_CU_H

/* ---- byte order ------------------------------------------------------------------------------ */

DTC_GPU_FN uint32_t dtc_gpu_swap_pairs(uint32_t x)
{
	return (x & 0x00ff00ffu) << 8 | (x >> 8 & 0x00ff00ffu);
}

DTC_GPU_FN uint32_t dtc_gpu_swap_word(uint32_t x)
{
	x = dtc_gpu_swap_pairs(x);
	return x << 16 | x >> 16;
}

/* Reverse every group of @swap bytes in 16. */
DTC_GPU_FN void dtc_gpu_swap(struct dtc_gpu_bytes16 *value, uint32_t swap)
{
	struct dtc_gpu_bytes16 from = *value;

	if (swap < 2)
		return;
	DTC_GPU_UNROLL
	for (uint32_t i = 0; i < 4; i++) {
		uint32_t word = swap == 8    ? from.w[i ^ 1]
				: swap == 16 ? from.w[3 - i]
					     : from.w[i];

		value->w[i] = swap == 2 ? dtc_gpu_swap_pairs(word)
					: dtc_gpu_swap_word(word);
	}
}

/* The same of at most 8 bytes. */
DTC_GPU_FN void dtc_gpu_swap_short(struct dtc_gpu_bytes16 *value, uint32_t swap)
{
	uint32_t low = value->w[0], high = value->w[1];

	if (swap < 2)
		return;
	value->w[0] = dtc_gpu_swap_pairs(swap == 8 ? high : low);
	value->w[1] = dtc_gpu_swap_pairs(swap == 8 ? low : high);
	if (swap == 2)
		return;
	value->w[0] = value->w[0] << 16 | value->w[0] >> 16;
	value->w[1] = value->w[1] << 16 | value->w[1] >> 16;
}

/* ---- floating point of 16 bits ----------------------------------------------------------------- */

DTC_GPU_FN uint32_t dtc_gpu_store_bf16(uint32_t bits)
{
	if ((bits & 0x7fffffff) > 0x7f800000)
		return bits >> 16 | 0x40;
	return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

DTC_GPU_FN uint32_t dtc_gpu_load_half(uint32_t kind, uint32_t half)
{
	return kind == DTC_GPU_BF16 ? half << 16 : dtc_gpu_load_f16(half);
}

DTC_GPU_FN uint32_t dtc_gpu_store_half(uint32_t kind, uint32_t bits)
{
	return kind == DTC_GPU_BF16 ? dtc_gpu_store_bf16(bits) : dtc_gpu_store_f16(bits);
}

/* ---- 32 bits ----------------------------------------------------------------------------------- */

DTC_GPU_FN uint32_t dtc_gpu_logical(uint32_t combination, int a, int b)
{
	if (combination == DTC_GPU_LAND)
		return a && b;
	return combination == DTC_GPU_LOR ? a || b : a != b;
}

/*
 * Combine @count words (a constant) into those in @b. The operation is selected once for all of
 * them.
 */
DTC_GPU_FN void dtc_gpu_combine_i32(uint32_t combination, int is_signed, uint32_t count,
				    const uint32_t a[], uint32_t b[])
{
	if (combination == DTC_GPU_SUM) {
		DTC_GPU_UNROLL
		for (uint32_t i = 0; i < count; i++)
			b[i] += a[i];
	} else if (combination == DTC_GPU_PROD) {
		DTC_GPU_UNROLL
		for (uint32_t i = 0; i < count; i++)
			b[i] *= a[i];
	} else if (combination < DTC_GPU_LAND) {
		int least = combination == DTC_GPU_MIN;
		uint32_t sign = is_signed ? 0x80000000u : 0;

		DTC_GPU_UNROLL
		for (uint32_t i = 0; i < count; i++) {
			int less = (a[i] ^ sign) < (b[i] ^ sign);

			b[i] = less == least ? a[i] : b[i];
		}
	} else {
		DTC_GPU_UNROLL
		for (uint32_t i = 0; i < count; i++)
			b[i] = dtc_gpu_logical(combination, a[i] != 0, b[i] != 0);
	}
}

DTC_GPU_FN void dtc_gpu_combine_f32(uint32_t combination, uint32_t count,
				    const uint32_t a[], uint32_t b[])
{
	if (combination == DTC_GPU_SUM) {
		DTC_GPU_UNROLL
		for (uint32_t i = 0; i < count; i++)
			b[i] = dtc_gpu_add_f32(a[i], b[i]);
	} else if (combination == DTC_GPU_PROD) {
		DTC_GPU_UNROLL
		for (uint32_t i = 0; i < count; i++)
			b[i] = dtc_gpu_multiply_f32(a[i], b[i]);
	} else if (combination == DTC_GPU_MIN) {
		DTC_GPU_UNROLL
		for (uint32_t i = 0; i < count; i++)
			b[i] = dtc_gpu_less_f32(a[i], b[i]) ? a[i] : b[i];
	} else {
		DTC_GPU_UNROLL
		for (uint32_t i = 0; i < count; i++)
			b[i] = dtc_gpu_less_f32(b[i], a[i]) ? a[i] : b[i];
	}
}

DTC_GPU_FN uint32_t dtc_gpu_combine_half(uint32_t combination, uint32_t kind, uint32_t a,
					 uint32_t b)
{
	uint32_t x = dtc_gpu_load_half(kind, a), y = dtc_gpu_load_half(kind, b);

	switch (combination) {
	case DTC_GPU_SUM:
		return dtc_gpu_store_half(kind, dtc_gpu_add_f32(x, y));
	case DTC_GPU_PROD:
		return dtc_gpu_store_half(kind, dtc_gpu_multiply_f32(x, y));
	case DTC_GPU_MIN:
		return dtc_gpu_less_f32(x, y) ? a : b;
	default:
		return dtc_gpu_less_f32(y, x) ? a : b;
	}
}

/* Products of complex numbers; each product and each sum is rounded. */
DTC_GPU_FN void dtc_gpu_multiply_c32(const uint32_t a[2], const uint32_t b[2],
				     uint32_t product[2])
{
	product[0] = dtc_gpu_add_f32(dtc_gpu_multiply_f32(a[0], b[0]),
				     dtc_gpu_multiply_f32(a[1], b[1]) ^ 0x80000000u);
	product[1] = dtc_gpu_add_f32(dtc_gpu_multiply_f32(a[0], b[1]),
				     dtc_gpu_multiply_f32(a[1], b[0]));
}

DTC_GPU_CALLED uint32_t dtc_gpu_multiply_c16(uint32_t a, uint32_t b)
{
	const uint32_t x[2] = { dtc_gpu_load_f16(a & 0xffff), dtc_gpu_load_f16(a >> 16) };
	const uint32_t y[2] = { dtc_gpu_load_f16(b & 0xffff), dtc_gpu_load_f16(b >> 16) };
	uint32_t product[2];

	dtc_gpu_multiply_c32(x, y, product);
	return dtc_gpu_store_f16(product[0]) | dtc_gpu_store_f16(product[1]) << 16;
}

/* The lowest @bits of @x with its sign, if it has one. */
DTC_GPU_FN uint32_t dtc_gpu_extend(uint32_t x, uint32_t bits, int is_signed)
{
	uint32_t up = x << (32 - bits);

	return is_signed ? (uint32_t)((int32_t)up >> (32 - bits)) : up >> (32 - bits);
}

DTC_GPU_FN int dtc_gpu_is_signed(uint32_t kind)
{
	return kind <= DTC_GPU_I128;
}

/*
 * 16-bit floats: both of a word one after the other, for operations without packed arithmetic.
 */
DTC_GPU_FN void dtc_gpu_combine_single_halves(uint32_t combination, uint32_t kind,
					      uint32_t count, const uint32_t a[],
					      uint32_t b[])
{
	DTC_GPU_UNROLL
	for (uint32_t i = 0; i < count; i++)
		b[i] = dtc_gpu_combine_half(combination, kind, a[i] & 0xffff,
					    b[i] & 0xffff) |
		       dtc_gpu_combine_half(combination, kind, a[i] >> 16, b[i] >> 16)
			       << 16;
}

DTC_GPU_FN void dtc_gpu_combine_f16(uint32_t combination, uint32_t count,
				    const uint32_t a[], uint32_t b[])
{
	if (combination == DTC_GPU_SUM) {
		DTC_GPU_UNROLL
		for (uint32_t i = 0; i < count; i++)
			b[i] = dtc_gpu_add_f16x2(a[i], b[i]);
	} else if (combination == DTC_GPU_PROD) {
		DTC_GPU_UNROLL
		for (uint32_t i = 0; i < count; i++)
			b[i] = dtc_gpu_multiply_f16x2(a[i], b[i]);
	} else {
		dtc_gpu_combine_single_halves(combination, DTC_GPU_F16, count, a, b);
	}
}

DTC_GPU_FN void dtc_gpu_combine_bf16(uint32_t combination, uint32_t count,
				     const uint32_t a[], uint32_t b[])
{
#ifdef DTC_GPU_HAS_BF16X2
	if (combination == DTC_GPU_SUM) {
		DTC_GPU_UNROLL
		for (uint32_t i = 0; i < count; i++)
			b[i] = dtc_gpu_add_bf16x2(a[i], b[i]);
		return;
	}
	if (combination == DTC_GPU_PROD) {
		DTC_GPU_UNROLL
		for (uint32_t i = 0; i < count; i++)
			b[i] = dtc_gpu_multiply_bf16x2(a[i], b[i]);
		return;
	}
#endif
	dtc_gpu_combine_single_halves(combination, DTC_GPU_BF16, count, a, b);
}

/*
 * ---- short integers, packed in 32 bits
 * -------------------------------------------------------
 */

/* The highest bit of every lane of 8 or 16 bits. */
DTC_GPU_FN uint32_t dtc_gpu_lane_tops(uint32_t bits)
{
	return bits == 8 ? 0x80808080u : 0x80008000u;
}

/* Extend the highest bit of every lane to all its bits; all other bits have to be 0. */
DTC_GPU_FN uint32_t dtc_gpu_fill_lanes(uint32_t tops, uint32_t bits)
{
	return (tops << 1) - (tops >> (bits - 1));
}

/* Prevent carries between lanes: add the highest bit of each lane separately. */
DTC_GPU_FN uint32_t dtc_gpu_add_lanes(uint32_t tops, uint32_t a, uint32_t b)
{
	return ((a & ~tops) + (b & ~tops)) ^ ((a ^ b) & tops);
}

/* The highest bit of every lane in which a < b. */
DTC_GPU_FN uint32_t dtc_gpu_less_lanes(uint32_t tops, int is_signed, uint32_t a,
				       uint32_t b)
{
	uint32_t sign = is_signed ? tops : 0;
	uint32_t x = a ^ sign, y = b ^ sign;
	uint32_t rest = (x | tops) - (y & ~tops);

	return ((~x & y) | (~(x ^ y) & ~rest)) & tops;
}

/* The highest bit of every lane that is not 0. */
DTC_GPU_FN uint32_t dtc_gpu_any_lanes(uint32_t tops, uint32_t a)
{
	return (((a & ~tops) + ~tops) | a) & tops;
}

DTC_GPU_FN uint32_t dtc_gpu_logical_lanes(uint32_t combination, uint32_t tops,
					  uint32_t bits, uint32_t a, uint32_t b)
{
	uint32_t x = dtc_gpu_any_lanes(tops, a), y = dtc_gpu_any_lanes(tops, b);
	uint32_t both = combination == DTC_GPU_LAND  ? x & y
			: combination == DTC_GPU_LOR ? x | y
						     : x ^ y;

	return both >> (bits - 1);
}

DTC_GPU_CALLED uint32_t dtc_gpu_multiply_lanes(uint32_t bits, uint32_t a, uint32_t b)
{
	uint32_t result = 0;

	DTC_GPU_NO_UNROLL
	for (uint32_t at = 0; at < 32; at += bits)
		result |= dtc_gpu_extend((a >> at) * (b >> at), bits, 0) << at;
	return result;
}

DTC_GPU_FN void dtc_gpu_combine_lanes(uint32_t combination, int is_signed, uint32_t bits,
				      uint32_t count, const uint32_t a[], uint32_t b[])
{
	uint32_t tops = dtc_gpu_lane_tops(bits);

	if (combination == DTC_GPU_SUM) {
		DTC_GPU_UNROLL
		for (uint32_t i = 0; i < count; i++)
			b[i] = dtc_gpu_add_lanes(tops, a[i], b[i]);
	} else if (combination == DTC_GPU_PROD) {
		DTC_GPU_UNROLL
		for (uint32_t i = 0; i < count; i++)
			b[i] = dtc_gpu_multiply_lanes(bits, a[i], b[i]);
	} else if (combination >= DTC_GPU_LAND) {
		DTC_GPU_UNROLL
		for (uint32_t i = 0; i < count; i++)
			b[i] = dtc_gpu_logical_lanes(combination, tops, bits, a[i], b[i]);
	} else {
		uint32_t other = combination == DTC_GPU_MIN ? 0 : ~0u;

		DTC_GPU_UNROLL
		for (uint32_t i = 0; i < count; i++) {
			uint32_t taken =
				dtc_gpu_fill_lanes(dtc_gpu_less_lanes(tops, is_signed,
								      a[i], b[i]),
						   bits) ^
				other;

			b[i] = (a[i] & taken) | (b[i] & ~taken);
		}
	}
}

DTC_GPU_FN void dtc_gpu_combine_words(uint32_t combination, uint32_t kind, uint32_t count,
				      const uint32_t a[], uint32_t b[])
{
	switch (kind) {
	case DTC_GPU_I32:
	case DTC_GPU_U32:
		dtc_gpu_combine_i32(combination, kind == DTC_GPU_I32, count, a, b);
		break;
	case DTC_GPU_F32:
		dtc_gpu_combine_f32(combination, count, a, b);
		break;
	case DTC_GPU_C16:
		DTC_GPU_UNROLL
		for (uint32_t i = 0; i < count; i++)
			b[i] = dtc_gpu_multiply_c16(a[i], b[i]);
		break;
	case DTC_GPU_F16:
		dtc_gpu_combine_f16(combination, count, a, b);
		break;
	case DTC_GPU_BF16:
		dtc_gpu_combine_bf16(combination, count, a, b);
		break;
	case DTC_GPU_I8:
	case DTC_GPU_U8:
		dtc_gpu_combine_lanes(combination, kind == DTC_GPU_I8, 8, count, a, b);
		break;
	default:
		dtc_gpu_combine_lanes(combination, kind == DTC_GPU_I16, 16, count, a, b);
	}
}

/* ---- 64 bits ----------------------------------------------------------------------------------- */

DTC_GPU_FN uint64_t dtc_gpu_pair(const uint32_t w[2])
{
	return (uint64_t)w[1] << 32 | w[0];
}

DTC_GPU_FN void dtc_gpu_set_pair(uint32_t w[2], uint64_t value)
{
	w[0] = (uint32_t)value;
	w[1] = (uint32_t)(value >> 32);
}

DTC_GPU_FN uint64_t dtc_gpu_combine_i64(uint32_t combination, int is_signed, uint64_t a,
					uint64_t b)
{
	int less = is_signed ? (int64_t)a < (int64_t)b : a < b;

	switch (combination) {
	case DTC_GPU_SUM:
		return a + b;
	case DTC_GPU_PROD:
		return a * b;
	case DTC_GPU_MIN:
		return less ? a : b;
	case DTC_GPU_MAX:
		return less ? b : a;
	default:
		return dtc_gpu_logical(combination, a != 0, b != 0);
	}
}

DTC_GPU_FN uint64_t dtc_gpu_combine_f64(uint32_t combination, uint64_t a, uint64_t b)
{
	switch (combination) {
	case DTC_GPU_SUM:
		return dtc_gpu_add_f64(a, b);
	case DTC_GPU_PROD:
		return dtc_gpu_multiply_f64(a, b);
	case DTC_GPU_MIN:
		return dtc_gpu_less_f64(a, b) ? a : b;
	default:
		return dtc_gpu_less_f64(b, a) ? a : b;
	}
}

/* Store the result in @b. */
DTC_GPU_FN void dtc_gpu_combine_pair(uint32_t combination, uint32_t kind,
				     const uint32_t a[2], uint32_t b[2])
{
	uint32_t product[2];

	if (kind == DTC_GPU_C32) {
		dtc_gpu_multiply_c32(a, b, product);
		b[0] = product[0];
		b[1] = product[1];
	} else if (kind == DTC_GPU_F64) {
		dtc_gpu_set_pair(b, dtc_gpu_combine_f64(combination, dtc_gpu_pair(a),
							dtc_gpu_pair(b)));
	} else {
		dtc_gpu_set_pair(b,
				 dtc_gpu_combine_i64(combination, kind == DTC_GPU_I64,
						     dtc_gpu_pair(a), dtc_gpu_pair(b)));
	}
}

/* ---- 128 bits ---------------------------------------------------------------------------------- */

DTC_GPU_FN int dtc_gpu_less_i128(uint64_t a_low, uint64_t a_high, uint64_t b_low,
				 uint64_t b_high)
{
	return a_high == b_high ? a_low < b_low : (int64_t)a_high < (int64_t)b_high;
}

DTC_GPU_FN void dtc_gpu_combine_i128(uint32_t combination,
				     const struct dtc_gpu_bytes16 *a,
				     struct dtc_gpu_bytes16 *b)
{
	uint64_t a_low = dtc_gpu_pair(a->w), a_high = dtc_gpu_pair(a->w + 2);
	uint64_t b_low = dtc_gpu_pair(b->w), b_high = dtc_gpu_pair(b->w + 2);
	uint64_t low = a_low + b_low;
	uint64_t high = a_high + b_high + (low < a_low);
	int less = dtc_gpu_less_i128(a_low, a_high, b_low, b_high);

	if (combination == DTC_GPU_PROD) {
		low = a_low * b_low;
		high = dtc_gpu_multiply_high(a_low, b_low) + a_low * b_high +
		       a_high * b_low;
	} else if (combination != DTC_GPU_SUM) {
		int a_wins = combination == DTC_GPU_MIN ? less : !less;

		low = a_wins ? a_low : b_low;
		high = a_wins ? a_high : b_high;
	}
	dtc_gpu_set_pair(b->w, low);
	dtc_gpu_set_pair(b->w + 2, high);
}

DTC_GPU_FN void dtc_gpu_multiply_c64(const struct dtc_gpu_bytes16 *a,
				     struct dtc_gpu_bytes16 *b)
{
	uint64_t a_re = dtc_gpu_pair(a->w), a_im = dtc_gpu_pair(a->w + 2);
	uint64_t b_re = dtc_gpu_pair(b->w), b_im = dtc_gpu_pair(b->w + 2);

	dtc_gpu_set_pair(b->w, dtc_gpu_add_f64(dtc_gpu_multiply_f64(a_re, b_re),
					       dtc_gpu_multiply_f64(a_im, b_im) ^
						       (uint64_t)1 << 63));
	dtc_gpu_set_pair(b->w + 2, dtc_gpu_add_f64(dtc_gpu_multiply_f64(a_re, b_im),
						   dtc_gpu_multiply_f64(a_im, b_re)));
}

/* ---- any --------------------------------------------------------------------------------------- */

DTC_GPU_FN uint32_t dtc_gpu_combine_bits(uint32_t combination, uint32_t a, uint32_t b)
{
	if (combination == DTC_GPU_BAND)
		return a & b;
	return combination == DTC_GPU_BOR ? a | b : a ^ b;
}

/*
 * Combine all numbers in 16 bytes: @a has arrived, @b is in memory. The result is unspecified
 * for bytes that are not numbers.
 */
DTC_GPU_CALLED struct dtc_gpu_bytes16 dtc_gpu_combine(uint32_t combination, uint32_t kind,
						      struct dtc_gpu_bytes16 a,
						      struct dtc_gpu_bytes16 b)
{
	if (combination >= DTC_GPU_BAND) {
		DTC_GPU_UNROLL
		for (uint32_t i = 0; i < 4; i++)
			b.w[i] = dtc_gpu_combine_bits(combination, a.w[i], b.w[i]);
	} else if (kind == DTC_GPU_I128) {
		dtc_gpu_combine_i128(combination, &a, &b);
	} else if (kind == DTC_GPU_C64) {
		dtc_gpu_multiply_c64(&a, &b);
	} else if (kind == DTC_GPU_I64 || kind == DTC_GPU_U64 || kind == DTC_GPU_F64 ||
		   kind == DTC_GPU_C32) {
		dtc_gpu_combine_pair(combination, kind, a.w, b.w);
		dtc_gpu_combine_pair(combination, kind, a.w + 2, b.w + 2);
	} else {
		dtc_gpu_combine_words(combination, kind, 4, a.w, b.w);
	}
	return b;
}

/* The same in 8 bytes. */
DTC_GPU_CALLED uint64_t dtc_gpu_combine_short(uint32_t combination, uint32_t kind,
					      uint64_t a, uint64_t b)
{
	const uint32_t x[2] = { (uint32_t)a, (uint32_t)(a >> 32) };
	uint32_t y[2] = { (uint32_t)b, (uint32_t)(b >> 32) };

	if (combination >= DTC_GPU_BAND) {
		y[0] = dtc_gpu_combine_bits(combination, x[0], y[0]);
		y[1] = dtc_gpu_combine_bits(combination, x[1], y[1]);
	} else if (kind == DTC_GPU_I64 || kind == DTC_GPU_U64 || kind == DTC_GPU_F64 ||
		   kind == DTC_GPU_C32) {
		dtc_gpu_combine_pair(combination, kind, x, y);
	} else {
		dtc_gpu_combine_words(combination, kind, 2, x, y);
	}
	return dtc_gpu_pair(y);
}

/* ---- order ------------------------------------------------------------------------------------- */

DTC_GPU_FN int dtc_gpu_is_less_small(uint32_t kind, uint32_t bits, uint32_t a, uint32_t b)
{
	if (dtc_gpu_is_signed(kind))
		return (int32_t)dtc_gpu_extend(a, bits, 1) <
		       (int32_t)dtc_gpu_extend(b, bits, 1);
	return dtc_gpu_extend(a, bits, 0) < dtc_gpu_extend(b, bits, 0);
}

/* Whether the first number in @a is less than the one in @b. */
DTC_GPU_CALLED int dtc_gpu_is_less(uint32_t kind, struct dtc_gpu_bytes16 a,
				   struct dtc_gpu_bytes16 b)
{
	switch (kind) {
	case DTC_GPU_I8:
	case DTC_GPU_U8:
		return dtc_gpu_is_less_small(kind, 8, a.w[0], b.w[0]);
	case DTC_GPU_I16:
	case DTC_GPU_U16:
		return dtc_gpu_is_less_small(kind, 16, a.w[0], b.w[0]);
	case DTC_GPU_I32:
	case DTC_GPU_U32:
		return dtc_gpu_is_less_small(kind, 32, a.w[0], b.w[0]);
	case DTC_GPU_I64:
		return (int64_t)dtc_gpu_pair(a.w) < (int64_t)dtc_gpu_pair(b.w);
	case DTC_GPU_U64:
		return dtc_gpu_pair(a.w) < dtc_gpu_pair(b.w);
	case DTC_GPU_I128:
		return dtc_gpu_less_i128(dtc_gpu_pair(a.w), dtc_gpu_pair(a.w + 2),
					 dtc_gpu_pair(b.w), dtc_gpu_pair(b.w + 2));
	case DTC_GPU_F32:
		return dtc_gpu_less_f32(a.w[0], b.w[0]);
	case DTC_GPU_F64:
		return dtc_gpu_less_f64(dtc_gpu_pair(a.w), dtc_gpu_pair(b.w));
	default:
		return dtc_gpu_less_f32(dtc_gpu_load_half(kind, a.w[0] & 0xffff),
					dtc_gpu_load_half(kind, b.w[0] & 0xffff));
	}
}

/* A NaN is neither less than nor equal to anything. */
DTC_GPU_FN int dtc_gpu_is_number(uint32_t kind, const struct dtc_gpu_bytes16 *a)
{
	switch (kind) {
	case DTC_GPU_F16:
	case DTC_GPU_BF16:
		return (dtc_gpu_load_half(kind, a->w[0] & 0xffff) & 0x7fffffff) <=
		       0x7f800000;
	case DTC_GPU_F32:
		return (a->w[0] & 0x7fffffff) <= 0x7f800000;
	case DTC_GPU_F64:
		return (dtc_gpu_pair(a->w) & ~((uint64_t)1 << 63)) <= (uint64_t)0x7ff
									      << 52;
	default:
		return 1;
	}
}

#endif
