/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Half precision: sums, products and comparisons of any two numbers, rounded as the formats
 * define it. The expected result is found by looking for the nearest number.
 */
#include "config.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/numbers/reduce.h"
#include "support/fixture.h"

/* A format with 16 bits by its formula. */
struct half {
	enum dtconv_predefined basic;
	int fraction_bits, bias;
	uint16_t infinity;
};

static const struct half halves[] = {
	{ DTCONV_FLOAT16, 10, 15, 0x7c00 },
	{ DTCONV_REAL2, 10, 15, 0x7c00 },
	{ DTCONV_BFLOAT16, 7, 127, 0x7f80 },
};

static double value_of(const struct half *half, uint16_t bits)
{
	int unit = 1 << half->fraction_bits;
	int exponent = (bits & 0x7fff) >> half->fraction_bits;
	int fraction = bits & (unit - 1);
	double value = exponent ? ldexp(unit + fraction,
					exponent - half->bias - half->fraction_bits)
				: ldexp(fraction, 1 - half->bias - half->fraction_bits);

	if ((bits & 0x7fff) >= half->infinity)
		value = (bits & 0x7fff) == half->infinity ? (double)INFINITY
							  : (double)NAN;
	return bits & 0x8000 ? -value : value;
}

/*
 * The nearest one, of two the even one. What would follow the largest number counts as
 * infinity, halfway included.
 */
static uint16_t nearest(const struct half *half, double value)
{
	uint16_t sign = signbit(value) ? 0x8000 : 0, low = 0, high = half->infinity;
	double magnitude = fabs(value), above;

	while (high - low > 1) {
		uint16_t middle = (uint16_t)((low + high) / 2);

		*(value_of(half, middle) <= magnitude ? &low : &high) = middle;
	}
	above = high == half->infinity
			? 2 * value_of(half, low) - value_of(half, (uint16_t)(low - 1))
			: value_of(half, high);
	if (isinf(magnitude))
		return sign | half->infinity;
	if (magnitude - value_of(half, low) < above - magnitude)
		return sign | low;
	if (magnitude - value_of(half, low) > above - magnitude)
		return sign | high;
	return sign | (low & 1 ? high : low);
}

static uint16_t reduce(enum dtconv_op op, const struct half *half, uint16_t a, uint16_t b)
{
	dtc_reduce_kernel(op, half->basic)((unsigned char *)&b, (unsigned char *)&a, 1);
	return b;
}

static void expect(enum dtconv_op op, const struct half *half, uint16_t a, uint16_t b,
		   float exact)
{
	uint16_t result = reduce(op, half, a, b);

	if (isnan(exact))
		ck_assert_msg((result & 0x7fff) > half->infinity,
			      "%s of %04x and %04x is %04x", dtconv_op_name(op), a, b,
			      result);
	else
		ck_assert_msg(result == nearest(half, exact),
			      "%s of %04x and %04x is %04x, not %04x", dtconv_op_name(op),
			      a, b, result, nearest(half, exact));
}

START_TEST(zero_added_and_one_multiplied_change_nothing)
{
	const struct half *half = &halves[_i];
	uint16_t one = nearest(half, 1);

	for (unsigned bits = 0; bits < 65536; bits++) {
		if ((bits & 0x7fff) > half->infinity)
			continue;
		ck_assert_uint_eq(reduce(DTCONV_OP_SUM, half, 0, (uint16_t)bits),
				  bits == 0x8000 ? 0 : bits);
		ck_assert_uint_eq(reduce(DTCONV_OP_PROD, half, one, (uint16_t)bits),
				  bits);
	}
}
END_TEST

START_TEST(any_two_numbers)
{
	const struct half *half = &halves[_i];
	struct choices choices = fixture_choices(31);

	for (int i = 0; i < 200000; i++) {
		uint16_t a = (uint16_t)choose(&choices, 65536);
		uint16_t b = chance(&choices, 2) ? (uint16_t)choose(&choices, 65536)
						 : a ^ (uint16_t)choose(&choices, 64);
		float x = (float)value_of(half, a), y = (float)value_of(half, b);

		expect(DTCONV_OP_SUM, half, a, b, x + y);
		expect(DTCONV_OP_PROD, half, a, b, x * y);
		if (isnan(x) || isnan(y))
			continue;
		expect(DTCONV_OP_MIN, half, a, b, x < y ? x : y);
		expect(DTCONV_OP_MAX, half, a, b, x > y ? x : y);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("half");
	TCase *numbers = fixture_case(suite, "numbers", 60);
	int count = (int)(sizeof(halves) / sizeof(halves[0]));

	tcase_add_loop_test(numbers, zero_added_and_one_multiplied_change_nothing, 0,
			    count);
	tcase_add_loop_test(numbers, any_two_numbers, 0, count);
	return fixture_run(suite);
}
