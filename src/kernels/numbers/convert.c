/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Conversion kernels. Byte swaps are plain loops over words, which compilers turn into
 * shuffles. Floating point is converted through the bits of an IEEE binary128, which can
 * represent every value of the other formats.
 */
#include "config.h"

#include "convert.h"

#include <assert.h>
#include <string.h>

#define NATIVE_BIG (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)

struct dtc_conversion dtc_conversion_make(const struct dtc_element_format *from,
					  const struct dtc_element_format *to)
{
	const struct dtc_format *a = &from->number, *b = &to->number;
	struct dtc_conversion conversion = { DTC_CONVERSION_COPY, from->numbers, *a, *b };

	assert(from->numbers == to->numbers);
	if (a->bytes != b->bytes || a->kind != b->kind)
		conversion.kind = a->kind == DTC_NUMBER_SIGNED ||
						  a->kind == DTC_NUMBER_UNSIGNED
					  ? DTC_CONVERSION_RESIZE
					  : DTC_CONVERSION_FLOAT;
	else if (a->big_endian != b->big_endian && a->bytes > 1)
		conversion.kind = DTC_CONVERSION_SWAP;
	return conversion;
}

/* ---- swap ---------------------------------------------------------------------------- */

#define SWAP_WORDS(bits)                                                          \
	static void swap_##bits(unsigned char *restrict to,                       \
				const unsigned char *restrict from, size_t count) \
	{                                                                         \
		for (size_t i = 0; i < count; i++) {                              \
			uint##bits##_t word;                                      \
			memcpy(&word, from + i * sizeof(word), sizeof(word));     \
			word = __builtin_bswap##bits(word);                       \
			memcpy(to + i * sizeof(word), &word, sizeof(word));       \
		}                                                                 \
	}

SWAP_WORDS(16)
SWAP_WORDS(32)
SWAP_WORDS(64)

static void swap_bytes(unsigned char *restrict to, const unsigned char *restrict from,
		       size_t bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < bytes; j++)
			to[i * bytes + j] = from[(i + 1) * bytes - 1 - j];
}

static void swap(unsigned char *restrict to, const unsigned char *restrict from,
		 size_t bytes, size_t count)
{
	switch (bytes) {
	case 2:
		swap_16(to, from, count);
		break;
	case 4:
		swap_32(to, from, count);
		break;
	case 8:
		swap_64(to, from, count);
		break;
	default:
		swap_bytes(to, from, bytes, count);
	}
}

/* ---- integers of another size -------------------------------------------------------- */

/* The bytes of a word of 2, 4 or 8 as a number. */
static inline uint64_t load_word(const unsigned char *from, unsigned bytes, bool big_endian)
{
	uint64_t word = 0;

	if (!NATIVE_BIG)
		memcpy(&word, from, bytes);
	else
		memcpy((unsigned char *)&word + sizeof(word) - bytes, from, bytes);
	if (big_endian != NATIVE_BIG)
		word = __builtin_bswap64(word) >> (64 - 8 * bytes);
	return word;
}

static inline void store_word(unsigned char *to, unsigned bytes, bool big_endian, uint64_t word)
{
	if (big_endian != NATIVE_BIG)
		word = __builtin_bswap64(word) >> (64 - 8 * bytes);
	if (!NATIVE_BIG)
		memcpy(to, &word, bytes);
	else
		memcpy(to, (unsigned char *)&word + sizeof(word) - bytes, bytes);
}

/* A signed number is extended to 64 bits. */
static inline uint64_t load_integer(const unsigned char *from,
				    const struct dtc_format *format)
{
	uint64_t value = load_word(from, format->bytes, format->big_endian);
	unsigned unused = 64u - 8u * format->bytes;

	if (format->kind == DTC_NUMBER_SIGNED)
		value = (uint64_t)((int64_t)(value << unused) >> unused);
	return value;
}

static inline bool fits(uint64_t value, const struct dtc_format *format)
{
	unsigned unused = 64u - 8u * format->bytes;

	if (format->kind == DTC_NUMBER_SIGNED)
		return (int64_t)(value << unused) >> unused == (int64_t)value;
	return value << unused >> unused == value;
}

/*
 * Convert blocks of numbers without branches, with one check for all of them. Inlined with
 * constant sizes; returns the number of blocks that fit.
 */
#define BLOCK 16

static inline __attribute__((always_inline)) size_t
resize_blocks(struct dtc_format to_format, unsigned char *restrict to,
	      struct dtc_format from_format, const unsigned char *restrict from, size_t count)
{
	size_t done = 0;

	for (; done + BLOCK <= count; done += BLOCK) {
		bool all_fit = true;

		for (size_t i = done; i < done + BLOCK; i++) {
			uint64_t value =
				load_integer(from + i * from_format.bytes, &from_format);

			all_fit &= fits(value, &to_format);
			store_word(to + i * to_format.bytes, to_format.bytes,
				   to_format.big_endian, value);
		}
		if (!all_fit)
			break;
	}
	return done;
}

/* The sizes and orders that occur, as constants. */
static inline __attribute__((always_inline)) size_t
resize_sizes(struct dtc_format to_format, unsigned char *restrict to,
	     struct dtc_format from_format, const unsigned char *restrict from, size_t count,
	     uint8_t to_bytes, uint8_t from_bytes)
{
	if (to_format.bytes != to_bytes || from_format.bytes != from_bytes)
		return 0;
	to_format.bytes = to_bytes;
	from_format.bytes = from_bytes;
	if (to_format.big_endian && !from_format.big_endian) {
		to_format.big_endian = true;
		from_format.big_endian = false;
		return resize_blocks(to_format, to, from_format, from, count);
	}
	if (!to_format.big_endian && from_format.big_endian) {
		to_format.big_endian = false;
		from_format.big_endian = true;
		return resize_blocks(to_format, to, from_format, from, count);
	}
	return resize_blocks(to_format, to, from_format, from, count);
}

static size_t resize(const struct dtc_format *to_format, unsigned char *restrict to,
		     const struct dtc_format *from_format, const unsigned char *restrict from,
		     size_t count)
{
	size_t i = resize_sizes(*to_format, to, *from_format, from, count, 4, 8) +
		   resize_sizes(*to_format, to, *from_format, from, count, 8, 4) +
		   resize_sizes(*to_format, to, *from_format, from, count, 2, 4) +
		   resize_sizes(*to_format, to, *from_format, from, count, 4, 2);

	/* The remainder, or the block in which a number does not fit. */
	for (; i < count; i++) {
		uint64_t value = load_integer(from + i * from_format->bytes, from_format);

		if (!fits(value, to_format))
			break;
		store_word(to + i * to_format->bytes, to_format->bytes, to_format->big_endian,
			   value);
	}
	return i;
}

/* ---- floating point of another format ------------------------------------------------ */

/*
 * An unpacked number: (-1)^negative x significand x 2^(exponent - 127), with the significand's
 * highest bit set; or a zero, an infinity or a NaN.
 */
struct real {
	enum { REAL_ZERO, REAL_FINITE, REAL_INFINITE, REAL_NAN } class;
	bool negative;
	int32_t exponent;   /* of the highest bit */
	uint64_t high, low; /* the significand; a NaN's payload below the top bit */
};

#define TOP_BIT (UINT64_C(1) << 63)

static void shift_left(struct real *real, unsigned n)
{
	if (n == 0)
		return;
	if (n >= 64) {
		real->high = n == 128 ? 0 : real->low << (n - 64);
		real->low = 0;
		return;
	}
	real->high = real->high << n | real->low >> (64 - n);
	real->low <<= n;
}

/* Shift a finite number's significand until its highest bit is set. */
static void normalise(struct real *real)
{
	unsigned n;

	if (!real->high && !real->low) {
		real->class = REAL_ZERO;
		return;
	}
	n = real->high ? (unsigned)__builtin_clzll(real->high)
		       : 64 + (unsigned)__builtin_clzll(real->low);
	shift_left(real, n);
	real->exponent -= (int32_t)n;
}

/* A format of the IEEE family: the fraction is below the exponent. */
struct ieee {
	unsigned exponent_bits;
	unsigned fraction_bits;
};

static const struct ieee binary64 = { 11, 52 };
static const struct ieee binary128 = { 15, 112 };
/* x87 stores the leading bit explicitly, so 63 other bits remain. */
static const struct ieee x87 = { 15, 63 };

static int32_t bias(const struct ieee *format)
{
	return (1 << (format->exponent_bits - 1)) - 1;
}

/* Classify a number by its biased exponent and the significand below its leading bit. */
static void classify(struct real *real, const struct ieee *format, uint32_t exponent,
		     bool leading)
{
	uint32_t all_ones = (1u << format->exponent_bits) - 1;

	real->class = REAL_FINITE;
	if (exponent == all_ones) {
		real->high &= ~TOP_BIT;
		real->class = real->high || real->low ? REAL_NAN : REAL_INFINITE;
		return;
	}
	if (leading)
		real->high |= TOP_BIT;
	real->exponent = (int32_t)(exponent ? exponent : 1) - bias(format);
	normalise(real);
}

/* @high and @low are the number's bits, sign first in @high. */
static struct real unpack_ieee(const struct ieee *format, uint64_t high, uint64_t low)
{
	struct real real = { .negative = high >> 63, .high = high, .low = low };
	uint32_t exponent = (uint32_t)(high << 1 >> (64 - format->exponent_bits));

	/* The fraction goes right below the position of the leading bit. */
	shift_left(&real, format->exponent_bits);
	real.high &= ~TOP_BIT;
	classify(&real, format, exponent, exponent != 0);
	return real;
}

static struct real unpack_x87(uint16_t sign_exponent, uint64_t significand)
{
	struct real real = { .negative = sign_exponent >> 15, .high = significand };

	classify(&real, &x87, sign_exponent & 0x7fff, false);
	return real;
}

/*
 * Keep the upper @bits of the significand, rounded to nearest even, and move them to the low
 * end of (high, low). A tiny number keeps @denormal bits fewer.
 */
static void round_to(struct real *real, unsigned bits, unsigned denormal)
{
	unsigned drop = 128 - bits + denormal;
	bool half, sticky;

	if (drop > 128) {
		real->high = real->low = 0;
		return;
	}
	if (drop > 64) {
		half = real->high >> (drop - 65) & 1;
		sticky = real->low || (real->high & ((UINT64_C(1) << (drop - 65)) - 1));
		real->low = drop == 128 ? 0 : real->high >> (drop - 64);
		real->high = 0;
	} else {
		half = real->low >> (drop - 1) & 1;
		sticky = real->low & ((UINT64_C(1) << (drop - 1)) - 1);
		real->low = drop == 64 ? real->high
				       : real->high << (64 - drop) | real->low >> drop;
		real->high = drop == 64 ? 0 : real->high >> drop;
	}
	if (half && (sticky || (real->low & 1)))
		real->high += ++real->low == 0;
}

static bool bit(const struct real *real, unsigned n)
{
	return n >= 64 ? real->high >> (n - 64) & 1 : real->low >> n & 1;
}

static void set_only(struct real *real, unsigned n)
{
	real->high = n >= 64 ? UINT64_C(1) << (n - 64) : 0;
	real->low = n >= 64 ? 0 : UINT64_C(1) << n;
}

static uint32_t encode_infinity(struct real *real, const struct ieee *format)
{
	real->high = real->low = 0;
	return (1u << format->exponent_bits) - 1;
}

/*
 * Returns the biased exponent; moves the significand with its leading bit to the low end of
 * (high, low).
 */
static uint32_t encode_finite(struct real *real, const struct ieee *format)
{
	unsigned bits = format->fraction_bits + 1;
	int32_t infinity = (1 << format->exponent_bits) - 1;
	int32_t exponent = real->exponent + bias(format);
	unsigned denormal = exponent < 1 ? (unsigned)(1 - exponent) : 0;

	if (exponent >= infinity)
		return encode_infinity(real, format);
	round_to(real, bits, denormal);
	/* Rounding up may give the smallest normal number, or the next power of two. */
	if (denormal)
		return bit(real, bits - 1);
	if (bit(real, bits)) {
		set_only(real, bits - 1);
		exponent++;
	}
	return exponent < infinity ? (uint32_t)exponent : encode_infinity(real, format);
}

/* A NaN's payload loses its low bits; make it quiet, so that it does not become an infinity. */
static uint32_t encode_nan(struct real *real, const struct ieee *format)
{
	unsigned drop = 128 - (format->fraction_bits + 1);

	real->high |= TOP_BIT >> 1;
	if (drop >= 64) {
		real->low = real->high >> (drop - 64);
		real->high = 0;
	} else {
		real->low = real->low >> drop | real->high << (64 - drop);
		real->high >>= drop;
	}
	return (1u << format->exponent_bits) - 1;
}

static uint32_t encode(struct real *real, const struct ieee *format)
{
	switch (real->class) {
	case REAL_FINITE:
		return encode_finite(real, format);
	case REAL_NAN:
		return encode_nan(real, format);
	case REAL_INFINITE:
		return encode_infinity(real, format);
	default:
		return 0;
	}
}

/* The position of @bytes bytes that are @offset from the low end of a number of @format. */
static size_t place(const struct dtc_format *format, unsigned offset, unsigned bytes)
{
	return format->big_endian ? (size_t)(format->bytes - offset - bytes) : offset;
}

static struct real load_real(const unsigned char *from, const struct dtc_format *format)
{
	bool big = format->big_endian;

	if (format->kind == DTC_NUMBER_X87)
		return unpack_x87((uint16_t)load_word(from + place(format, 8, 2), 2, big),
				  load_word(from + place(format, 0, 8), 8, big));
	if (format->bytes == 8)
		return unpack_ieee(&binary64, load_word(from, 8, big), 0);
	return unpack_ieee(&binary128, load_word(from + place(format, 8, 8), 8, big),
			   load_word(from + place(format, 0, 8), 8, big));
}

static void store_x87(unsigned char *to, const struct dtc_format *format,
		      struct real *real)
{
	uint32_t exponent = encode(real, &x87);
	uint64_t leading = exponent == 0x7fff ? TOP_BIT : 0;
	bool big = format->big_endian;

	memset(to, 0, format->bytes);
	store_word(to + place(format, 0, 8), 8, big, real->low | leading);
	store_word(to + place(format, 8, 2), 2, big,
		   exponent | (uint64_t)real->negative << 15);
}

static void store_ieee(unsigned char *to, const struct dtc_format *format,
		       struct real *real)
{
	const struct ieee *ieee = format->bytes == 8 ? &binary64 : &binary128;
	uint64_t exponent = encode(real, ieee);
	unsigned top_fraction = ieee->fraction_bits % 64;
	uint64_t *top = format->bytes == 8 ? &real->low : &real->high;

	*top &= (UINT64_C(1) << top_fraction) - 1;
	*top |= exponent << top_fraction | (uint64_t)real->negative << 63;
	if (format->bytes == 16)
		store_word(to + place(format, 8, 8), 8, format->big_endian, real->high);
	store_word(to + place(format, 0, 8), 8, format->big_endian, real->low);
}

static void convert_floats(const struct dtc_format *to_format, unsigned char *restrict to,
			   const struct dtc_format *from_format,
			   const unsigned char *restrict from, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct real real = load_real(from + i * from_format->bytes, from_format);

		if (to_format->kind == DTC_NUMBER_X87)
			store_x87(to + i * to_format->bytes, to_format, &real);
		else
			store_ieee(to + i * to_format->bytes, to_format, &real);
	}
}

/* ---- any ----------------------------------------------------------------------------- */

size_t dtc_convert(const struct dtc_conversion *conversion, unsigned char *restrict to,
		   const unsigned char *restrict from, size_t count)
{
	size_t numbers = count * conversion->numbers;

	switch (conversion->kind) {
	case DTC_CONVERSION_COPY:
		memcpy(to, from, numbers * conversion->from.bytes);
		return count;
	case DTC_CONVERSION_SWAP:
		swap(to, from, conversion->from.bytes, numbers);
		return count;
	case DTC_CONVERSION_RESIZE:
		return resize(&conversion->to, to, &conversion->from, from, numbers) /
		       conversion->numbers;
	default:
		convert_floats(&conversion->to, to, &conversion->from, from, numbers);
		return count;
	}
}
