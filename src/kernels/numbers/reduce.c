/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reduction kernels: one loop for each operation and machine number, all made by a few macros,
 * and the tables that find them. Loops work on machine numbers; the tables at the end map basic
 * types to them and list the operations that MPI defines.
 */
#include "config.h"

#include "reduce.h"

#include <stdint.h>
#include <string.h>

#include "base/base.h"
#include "datatype/predefined.h"

/* ---- loops --------------------------------------------------------------------------- */

/* a arrived, b is in memory; memcpy because neither needs to be aligned. */
#define KERNEL(name, type, expression)                                            \
	static void name(unsigned char *restrict target,                          \
			 const unsigned char *restrict incoming, size_t count)    \
	{                                                                         \
		for (size_t i = 0; i < count; i++) {                              \
			type a, b, result;                                        \
			memcpy(&a, incoming + i * sizeof(type), sizeof(type));    \
			memcpy(&b, target + i * sizeof(type), sizeof(type));      \
			result = expression;                                      \
			memcpy(target + i * sizeof(type), &result, sizeof(type)); \
		}                                                                 \
	}

#define LOGICAL_KERNELS(suffix, type)               \
	KERNEL(land_##suffix, type, (type)(a && b)) \
	KERNEL(lor_##suffix, type, (type)(a || b))  \
	KERNEL(lxor_##suffix, type, (type)(!a != !b))

/* Sums and products wrap around, hence the unsigned type, which is not narrower than int. */
#define INTEGER_KERNELS(suffix, type, wide)                    \
	KERNEL(sum_##suffix, type, (type)((wide)a + (wide)b))  \
	KERNEL(prod_##suffix, type, (type)((wide)a * (wide)b)) \
	KERNEL(min_##suffix, type, a < b ? a : b)              \
	KERNEL(max_##suffix, type, a > b ? a : b)              \
	KERNEL(band_##suffix, type, (type)(a & b))             \
	KERNEL(bor_##suffix, type, (type)(a | b))              \
	KERNEL(bxor_##suffix, type, (type)(a ^ b))             \
	LOGICAL_KERNELS(suffix, type)

INTEGER_KERNELS(i8, int8_t, unsigned)
INTEGER_KERNELS(i16, int16_t, unsigned)
INTEGER_KERNELS(i32, int32_t, uint32_t)
INTEGER_KERNELS(i64, int64_t, uint64_t)
INTEGER_KERNELS(u8, uint8_t, unsigned)
INTEGER_KERNELS(u16, uint16_t, unsigned)
INTEGER_KERNELS(u32, uint32_t, uint32_t)
INTEGER_KERNELS(u64, uint64_t, uint64_t)
#ifdef __SIZEOF_INT128__
INTEGER_KERNELS(i128, __int128, unsigned __int128)
#endif

#define FLOATING_KERNELS(suffix, type)            \
	KERNEL(sum_##suffix, type, a + b)         \
	KERNEL(prod_##suffix, type, a *b)         \
	KERNEL(min_##suffix, type, a < b ? a : b) \
	KERNEL(max_##suffix, type, a > b ? a : b)

FLOATING_KERNELS(f32, float)
FLOATING_KERNELS(f64, double)
FLOATING_KERNELS(ld, long double)
#ifdef __SIZEOF_FLOAT128__
FLOATING_KERNELS(f128, __float128)
#endif

#define COMPLEX_KERNELS(suffix, type)                                                 \
	struct complex_##suffix {                                                     \
		type re, im;                                                          \
	};                                                                            \
	static inline struct complex_##suffix add_##suffix(struct complex_##suffix a, \
							   struct complex_##suffix b) \
	{                                                                             \
		return (struct complex_##suffix){ a.re + b.re, a.im + b.im };         \
	}                                                                             \
	static inline struct complex_##suffix multiply_##suffix(                      \
		struct complex_##suffix a, struct complex_##suffix b)                 \
	{                                                                             \
		return (struct complex_##suffix){ a.re * b.re - a.im * b.im,          \
						  a.re * b.im + a.im * b.re };        \
	}                                                                             \
	KERNEL(sum_##suffix, struct complex_##suffix, add_##suffix(a, b))             \
	KERNEL(prod_##suffix, struct complex_##suffix, multiply_##suffix(a, b))

COMPLEX_KERNELS(c32, float)
COMPLEX_KERNELS(c64, double)
COMPLEX_KERNELS(cld, long double)
#ifdef __SIZEOF_FLOAT128__
COMPLEX_KERNELS(c128, __float128)
#endif

/* ---- half precision ------------------------------------------------------------------ */

static float float_of_bits(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static uint32_t bits_of_float(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static float load_f16(uint16_t half)
{
	uint32_t sign = (uint32_t)(half & 0x8000) << 16;
	uint32_t exponent = half >> 10 & 0x1f;
	uint32_t fraction = half & 0x3ff;

	if (exponent == 0x1f)
		return float_of_bits(sign | 0x7f800000 | fraction << 13);
	if (exponent == 0)
		return float_of_bits(sign | bits_of_float((float)fraction * 0x1p-24f));
	return float_of_bits(sign | (exponent + 112) << 23 | fraction << 13);
}

/* Rounded to nearest even. Adding 0.5 brings a tiny number's last bit to where the unit is. */
static uint16_t store_f16(float value)
{
	uint32_t bits = bits_of_float(value);
	uint32_t sign = bits >> 16 & 0x8000;
	uint32_t magnitude = bits & 0x7fffffff;

	if (magnitude > 0x7f800000)
		return (uint16_t)(sign | 0x7e00 | (magnitude >> 13 & 0x3ff));
	if (magnitude >= bits_of_float(65520.0f))
		return (uint16_t)(sign | 0x7c00);
	if (magnitude < bits_of_float(0x1p-14f))
		return (uint16_t)(sign | (bits_of_float(float_of_bits(magnitude) + 0.5f) -
					  bits_of_float(0.5f)));
	magnitude += 0xfff + (magnitude >> 13 & 1);
	return (uint16_t)(sign | ((magnitude >> 13) - (112 << 10)));
}

static float load_bf16(uint16_t half)
{
	return float_of_bits((uint32_t)half << 16);
}

static uint16_t store_bf16(float value)
{
	uint32_t bits = bits_of_float(value);

	if ((bits & 0x7fffffff) > 0x7f800000)
		return (uint16_t)(bits >> 16 | 0x40);
	return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

#define HALF_KERNELS(suffix, load, store)                         \
	KERNEL(sum_##suffix, uint16_t, store(load(a) + load(b)))  \
	KERNEL(prod_##suffix, uint16_t, store(load(a) * load(b))) \
	KERNEL(min_##suffix, uint16_t, load(a) < load(b) ? a : b) \
	KERNEL(max_##suffix, uint16_t, load(a) > load(b) ? a : b)

HALF_KERNELS(f16, load_f16, store_f16)
HALF_KERNELS(bf16, load_bf16, store_bf16)

struct complex_f16 {
	uint16_t re, im;
};

static struct complex_f16 add_c16(struct complex_f16 a, struct complex_f16 b)
{
	return (struct complex_f16){ store_f16(load_f16(a.re) + load_f16(b.re)),
				     store_f16(load_f16(a.im) + load_f16(b.im)) };
}

static struct complex_f16 multiply_c16(struct complex_f16 a, struct complex_f16 b)
{
	struct complex_c32 wide =
		multiply_c32((struct complex_c32){ load_f16(a.re), load_f16(a.im) },
			     (struct complex_c32){ load_f16(b.re), load_f16(b.im) });

	return (struct complex_f16){ store_f16(wide.re), store_f16(wide.im) };
}

KERNEL(sum_c16, struct complex_f16, add_c16(a, b))
KERNEL(prod_c16, struct complex_f16, multiply_c16(a, b))

/* ---- couples ------------------------------------------------------------------------- */

/* Sign-extended; at most 8 bytes. */
static int64_t load_signed(const unsigned char *from, size_t bytes)
{
	int64_t value = 0;

	memcpy((unsigned char *)&value + (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
						  ? sizeof(value) - bytes
						  : 0),
	       from, bytes);
	return (int64_t)((uint64_t)value << (64 - 8 * bytes)) >> (64 - 8 * bytes);
}

#ifdef __SIZEOF_INT128__
static bool is_lower_i128(const unsigned char *a, const unsigned char *b)
{
	__int128 x, y;

	memcpy(&x, a, sizeof(x));
	memcpy(&y, b, sizeof(y));
	return x < y;
}
#endif

static bool is_lower_real(const unsigned char *a, const unsigned char *b, size_t bytes)
{
	float x, y;
	double wide_x, wide_y;

	if (bytes == sizeof(x)) {
		memcpy(&x, a, sizeof(x));
		memcpy(&y, b, sizeof(y));
		return x < y;
	}
	memcpy(&wide_x, a, sizeof(wide_x));
	memcpy(&wide_y, b, sizeof(wide_y));
	return wide_x < wide_y;
}

/* Indices are integers, or the reals of Fortran's pairs of reals. */
static bool is_lower_index(const unsigned char *a, const unsigned char *b,
			   enum dtconv_predefined index)
{
	const struct dtc_predefined *row = dtc_predefined_row(index);

	if (row->group == DTC_GROUP_FLOATING)
		return is_lower_real(a, b, row->size);
#ifdef __SIZEOF_INT128__
	if (row->size == 16)
		return is_lower_i128(a, b);
#endif
	if (row->is_unsigned)
		return ((uint64_t)load_signed(a, row->size) << (64 - 8 * row->size)) <
		       ((uint64_t)load_signed(b, row->size) << (64 - 8 * row->size));
	return load_signed(a, row->size) < load_signed(b, row->size);
}

/* @better says whether the value x wins over y. */
#define COUPLES_KERNEL(name, type, load, better)                                       \
	static void name(unsigned char *restrict target,                               \
			 const unsigned char *restrict incoming, size_t count,         \
			 size_t value_bytes, enum dtconv_predefined index)             \
	{                                                                              \
		size_t step = value_bytes + dtc_predefined_row(index)->size;           \
		for (size_t i = 0; i < count; i++, target += step, incoming += step) { \
			type a, b;                                                     \
			memcpy(&a, incoming, sizeof(a));                               \
			memcpy(&b, target, sizeof(b));                                 \
			if (load(a) better load(b) ||                                  \
			    (load(a) == load(b) &&                                     \
			     is_lower_index(incoming + value_bytes,                    \
					    target + value_bytes, index)))             \
				memcpy(target, incoming, step);                        \
		}                                                                      \
	}

#define COUPLES_KERNELS(suffix, type, load)            \
	COUPLES_KERNEL(minloc_##suffix, type, load, <) \
	COUPLES_KERNEL(maxloc_##suffix, type, load, >)

COUPLES_KERNELS(i8, int8_t, )
COUPLES_KERNELS(i16, int16_t, )
COUPLES_KERNELS(i32, int32_t, )
COUPLES_KERNELS(i64, int64_t, )
COUPLES_KERNELS(u8, uint8_t, )
COUPLES_KERNELS(u16, uint16_t, )
COUPLES_KERNELS(u32, uint32_t, )
COUPLES_KERNELS(u64, uint64_t, )
COUPLES_KERNELS(f16, uint16_t, load_f16)
COUPLES_KERNELS(bf16, uint16_t, load_bf16)
COUPLES_KERNELS(f32, float, )
COUPLES_KERNELS(f64, double, )
COUPLES_KERNELS(ld, long double, )
#ifdef __SIZEOF_INT128__
COUPLES_KERNELS(i128, __int128, )
#endif
#ifdef __SIZEOF_FLOAT128__
COUPLES_KERNELS(f128, __float128, )
#endif

/* ---- tables -------------------------------------------------------------------------- */

struct kernels {
	dtc_reduce_fn sum, prod, min, max, land, lor, lxor, band, bor, bxor;
	dtc_reduce_couples_fn minloc, maxloc;
};

#define INTEGER_ROW(suffix)                                                             \
	{                                                                               \
		sum_##suffix, prod_##suffix, min_##suffix, max_##suffix, land_##suffix, \
			lor_##suffix, lxor_##suffix, band_##suffix, bor_##suffix,       \
			bxor_##suffix, minloc_##suffix, maxloc_##suffix                 \
	}
#define FLOATING_ROW(suffix)                                                     \
	{                                                                        \
		.sum = sum_##suffix, .prod = prod_##suffix, .min = min_##suffix, \
		.max = max_##suffix, .minloc = minloc_##suffix,                  \
		.maxloc = maxloc_##suffix                                        \
	}
#define COMPLEX_ROW(suffix)                                \
	{                                                  \
		.sum = sum_##suffix, .prod = prod_##suffix \
	}

static const struct kernels none;
static const struct kernels signed_1 = INTEGER_ROW(i8);
static const struct kernels signed_2 = INTEGER_ROW(i16);
static const struct kernels signed_4 = INTEGER_ROW(i32);
static const struct kernels signed_8 = INTEGER_ROW(i64);
static const struct kernels unsigned_1 = INTEGER_ROW(u8);
static const struct kernels unsigned_2 = INTEGER_ROW(u16);
static const struct kernels unsigned_4 = INTEGER_ROW(u32);
static const struct kernels unsigned_8 = INTEGER_ROW(u64);
static const struct kernels binary16 = FLOATING_ROW(f16);
static const struct kernels bfloat16 = FLOATING_ROW(bf16);
static const struct kernels binary32 = FLOATING_ROW(f32);
static const struct kernels binary64 = FLOATING_ROW(f64);
static const struct kernels long_double = FLOATING_ROW(ld);
static const struct kernels complex16 = COMPLEX_ROW(c16);
static const struct kernels complex32 = COMPLEX_ROW(c32);
static const struct kernels complex64 = COMPLEX_ROW(c64);
static const struct kernels complex_long_double = COMPLEX_ROW(cld);
#ifdef __SIZEOF_INT128__
static const struct kernels signed_16 = INTEGER_ROW(i128);
#else
#define signed_16 none
#endif
#ifdef __SIZEOF_FLOAT128__
static const struct kernels binary128 = FLOATING_ROW(f128);
static const struct kernels complex128 = COMPLEX_ROW(c128);
#elif __LDBL_MANT_DIG__ == 113
#define binary128  long_double
#define complex128 complex_long_double
#else
#define binary128  none
#define complex128 none
#endif

static const struct kernels *integer_kernels(const struct dtc_predefined *row)
{
	switch (row->size) {
	case 1:
		return row->is_unsigned ? &unsigned_1 : &signed_1;
	case 2:
		return row->is_unsigned ? &unsigned_2 : &signed_2;
	case 4:
		return row->is_unsigned ? &unsigned_4 : &signed_4;
	case 8:
		return row->is_unsigned ? &unsigned_8 : &signed_8;
	default:
		return &signed_16;
	}
}

static const struct kernels *floating_kernels(const struct dtc_predefined *row,
					      enum dtconv_predefined basic)
{
	if (basic == DTCONV_LONG_DOUBLE)
		return &long_double;
	if (basic == DTCONV_BFLOAT16)
		return &bfloat16;
	switch (row->size) {
	case 2:
		return &binary16;
	case 4:
		return &binary32;
	case 8:
		return &binary64;
	default:
		return &binary128;
	}
}

static const struct kernels *complex_kernels(const struct dtc_predefined *row,
					     enum dtconv_predefined basic)
{
	if (basic == DTCONV_C_LONG_DOUBLE_COMPLEX ||
	    basic == DTCONV_CXX_LONG_DOUBLE_COMPLEX)
		return &complex_long_double;
	switch (row->size) {
	case 4:
		return &complex16;
	case 8:
		return &complex32;
	case 16:
		return &complex64;
	default:
		return &complex128;
	}
}

static const struct kernels *kernels_of(enum dtconv_predefined basic)
{
	const struct dtc_predefined *row = dtc_predefined_row(basic);

	switch (row->group) {
	case DTC_GROUP_BYTE:
		return &unsigned_1;
	case DTC_GROUP_C_INTEGER:
	case DTC_GROUP_FORTRAN_INTEGER:
	case DTC_GROUP_LANGUAGE:
	case DTC_GROUP_LOGICAL:
		return integer_kernels(row);
	case DTC_GROUP_FLOATING:
		return floating_kernels(row, basic);
	case DTC_GROUP_COMPLEX:
		return complex_kernels(row, basic);
	default:
		return &none;
	}
}

dtc_reduce_fn dtc_reduce_kernel(enum dtconv_op op, enum dtconv_predefined basic)
{
	const struct kernels *kernels = kernels_of(basic);
	const dtc_reduce_fn by_op[DTCONV_OP_COUNT] = {
		[DTCONV_OP_SUM] = kernels->sum,   [DTCONV_OP_PROD] = kernels->prod,
		[DTCONV_OP_MIN] = kernels->min,   [DTCONV_OP_MAX] = kernels->max,
		[DTCONV_OP_LAND] = kernels->land, [DTCONV_OP_LOR] = kernels->lor,
		[DTCONV_OP_LXOR] = kernels->lxor, [DTCONV_OP_BAND] = kernels->band,
		[DTCONV_OP_BOR] = kernels->bor,   [DTCONV_OP_BXOR] = kernels->bxor,
	};

	return by_op[op];
}

dtc_reduce_couples_fn dtc_reduce_couples_kernel(enum dtconv_op op,
						enum dtconv_predefined value)
{
	const struct kernels *kernels = kernels_of(value);

	return op == DTCONV_OP_MINLOC ? kernels->minloc : kernels->maxloc;
}

/* ---- what MPI defines ---------------------------------------------------------------- */

#define GROUP(name) (1u << DTC_GROUP_##name)
#define INTEGERS    (GROUP(C_INTEGER) | GROUP(FORTRAN_INTEGER) | GROUP(LANGUAGE))
#define ORDERED     (INTEGERS | GROUP(FLOATING))

/* MPI 4.1 section 6.9.2. */
static const unsigned defined[DTCONV_OP_COUNT] = {
	[DTCONV_OP_REPLACE] = ~0u,
	[DTCONV_OP_NO_OP] = ~0u,
	[DTCONV_OP_SUM] = ORDERED | GROUP(COMPLEX),
	[DTCONV_OP_PROD] = ORDERED | GROUP(COMPLEX),
	[DTCONV_OP_MIN] = ORDERED,
	[DTCONV_OP_MAX] = ORDERED,
	[DTCONV_OP_LAND] = GROUP(C_INTEGER) | GROUP(LOGICAL),
	[DTCONV_OP_LOR] = GROUP(C_INTEGER) | GROUP(LOGICAL),
	[DTCONV_OP_LXOR] = GROUP(C_INTEGER) | GROUP(LOGICAL),
	[DTCONV_OP_BAND] = INTEGERS | GROUP(BYTE),
	[DTCONV_OP_BOR] = INTEGERS | GROUP(BYTE),
	[DTCONV_OP_BXOR] = INTEGERS | GROUP(BYTE),
	/* Of a couple's value; the index is checked where the couple is found. */
	[DTCONV_OP_MINLOC] = ORDERED,
	[DTCONV_OP_MAXLOC] = ORDERED,
	[DTCONV_OP_USER] = ~0u,
};

bool dtc_reduce_is_defined(enum dtconv_op op, enum dtconv_predefined basic)
{
	return defined[op] >> dtc_predefined_row(basic)->group & 1;
}
