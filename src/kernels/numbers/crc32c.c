/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CRC-32C, by the CPU's instruction in three interleaved lanes if it has one, otherwise by
 * eight tables, one word at a time.
 */
#include "config.h"

#include "crc32c.h"

#include <stdbool.h>
#include <string.h>

/* ---- portable ------------------------------------------------------------------------ */

/*
 * Row k, byte n: the remainder of n followed by k zero bytes. The remainder is linear in n, so
 * each row follows from the eight powers of two.
 */
#define ENTRY(n, a, b, c, d, e, f, g, h)                                         \
	(((n)&1 ? a : 0) ^ ((n)&2 ? b : 0) ^ ((n)&4 ? c : 0) ^ ((n)&8 ? d : 0) ^ \
	 ((n)&16 ? e : 0) ^ ((n)&32 ? f : 0) ^ ((n)&64 ? g : 0) ^ ((n)&128 ? h : 0))
#define ENTRIES_4(n, ...)                                                            \
	ENTRY(n, __VA_ARGS__), ENTRY(n + 1, __VA_ARGS__), ENTRY(n + 2, __VA_ARGS__), \
		ENTRY(n + 3, __VA_ARGS__)
#define ENTRIES_16(n, ...)                                        \
	ENTRIES_4(n, __VA_ARGS__), ENTRIES_4(n + 4, __VA_ARGS__), \
		ENTRIES_4(n + 8, __VA_ARGS__), ENTRIES_4(n + 12, __VA_ARGS__)
#define ENTRIES_64(n, ...)                                           \
	ENTRIES_16(n, __VA_ARGS__), ENTRIES_16(n + 16, __VA_ARGS__), \
		ENTRIES_16(n + 32, __VA_ARGS__), ENTRIES_16(n + 48, __VA_ARGS__)
#define ROW(...)                                                                   \
	{                                                                          \
		ENTRIES_64(0, __VA_ARGS__), ENTRIES_64(64, __VA_ARGS__),           \
			ENTRIES_64(128, __VA_ARGS__), ENTRIES_64(192, __VA_ARGS__) \
	}

static const uint32_t rows[8][256] = {
	ROW(0xf26b8303, 0xe13b70f7, 0xc79a971f, 0x8ad958cf, 0x105ec76f, 0x20bd8ede,
	    0x417b1dbc, 0x82f63b78),
	ROW(0x13a29877, 0x274530ee, 0x4e8a61dc, 0x9d14c3b8, 0x3fc5f181, 0x7f8be302,
	    0xff17c604, 0xfbc3faf9),
	ROW(0xa541927e, 0x4f6f520d, 0x9edea41a, 0x38513ec5, 0x70a27d8a, 0xe144fb14,
	    0xc76580d9, 0x8b277743),
	ROW(0xdd45aab8, 0xbf672381, 0x7b2231f3, 0xf64463e6, 0xe964b13d, 0xd725148b,
	    0xaba65fe7, 0x52a0c93f),
	ROW(0x38116fac, 0x7022df58, 0xe045beb0, 0xc5670b91, 0x8f2261d3, 0x1ba8b557,
	    0x37516aae, 0x6ea2d55c),
	ROW(0xef306b19, 0xdb8ca0c3, 0xb2f53777, 0x6006181f, 0xc00c303e, 0x85f4168d,
	    0x0e045beb, 0x1c08b7d6),
	ROW(0x68032cc8, 0xd0065990, 0xa5e0c5d1, 0x4e2dfd53, 0x9c5bfaa6, 0x3d5b83bd,
	    0x7ab7077a, 0xf56e0ef4),
	ROW(0x493c7d27, 0x9278fa4e, 0x211d826d, 0x423b04da, 0x847609b4, 0x0d006599,
	    0x1a00cb32, 0x34019664),
};

static uint32_t step_byte(uint32_t crc, unsigned char byte)
{
	return crc >> 8 ^ rows[0][(crc ^ byte) & 0xff];
}

static uint32_t step_word(uint32_t crc, const unsigned char *data)
{
	crc ^= (uint32_t)data[0] | (uint32_t)data[1] << 8 | (uint32_t)data[2] << 16 |
	       (uint32_t)data[3] << 24;
	return rows[7][crc & 0xff] ^ rows[6][crc >> 8 & 0xff] ^
	       rows[5][crc >> 16 & 0xff] ^ rows[4][crc >> 24] ^ rows[3][data[4]] ^
	       rows[2][data[5]] ^ rows[1][data[6]] ^ rows[0][data[7]];
}

uint32_t dtc_crc32c_portable(uint32_t crc, const unsigned char *data, size_t bytes)
{
	for (; bytes >= 8; bytes -= 8, data += 8)
		crc = step_word(crc, data);
	for (; bytes; bytes--)
		crc = step_byte(crc, *data++);
	return crc;
}

/* ---- by CPU instruction -------------------------------------------------------------- */

#if defined(__x86_64__)
#include <immintrin.h>
#define INSTRUCTION      __attribute__((target("sse4.2,pclmul")))
#define HAVE_INSTRUCTION 1

static bool has_instruction(void)
{
	return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul");
}

INSTRUCTION static inline uint64_t by_instruction(uint64_t crc, uint64_t word)
{
	return _mm_crc32_u64(crc, word);
}

INSTRUCTION static inline uint32_t multiply_lane(uint64_t crc, uint32_t power)
{
	__m128i product = _mm_clmulepi64_si128(_mm_cvtsi64_si128((int64_t)crc),
					       _mm_cvtsi32_si128((int)power), 0);

	return (uint32_t)_mm_crc32_u64(0, (uint64_t)_mm_cvtsi128_si64(product));
}

#elif defined(__aarch64__)
#include <arm_acle.h>
#include <arm_neon.h>
#include <sys/auxv.h>
#define INSTRUCTION      __attribute__((target("+crc+crypto")))
#define HAVE_INSTRUCTION 1

static bool has_instruction(void)
{
	unsigned long needed = 1ul << 7 | 1ul << 4; /* HWCAP_CRC32, HWCAP_PMULL */

	return (getauxval(AT_HWCAP) & needed) == needed;
}

INSTRUCTION static inline uint64_t by_instruction(uint64_t crc, uint64_t word)
{
	return __crc32cd((uint32_t)crc, word);
}

INSTRUCTION static inline uint32_t multiply_lane(uint64_t crc, uint32_t power)
{
	return __crc32cd(0, (uint64_t)vmull_p64(crc, power));
}
#else
#define HAVE_INSTRUCTION 0
#endif

#if HAVE_INSTRUCTION
/*
 * The instruction has a latency of three cycles and a throughput of one, hence three lanes. A
 * carry-less multiplication joins lanes, and the instruction itself reduces the product. That
 * multiplies by an extra factor x^33, which the constants compensate.
 */
struct lanes {
	size_t bytes;    /* of each lane */
	uint32_t by_one; /* x to the power of 8 x bytes - 33 */
	uint32_t by_two; /* x to the power of 16 x bytes - 33 */
};

static const struct lanes long_lanes = { 2048, 0xa51b6135, 0x82f89c77 };
static const struct lanes short_lanes = { 256, 0xb9e02b86, 0xdd7e3b0c };

INSTRUCTION static inline uint64_t load_word(const unsigned char *data)
{
	uint64_t word;

	memcpy(&word, data, sizeof(word));
	return word;
}

INSTRUCTION static uint64_t three_lanes(uint64_t crc, const unsigned char *data,
					const struct lanes *lanes)
{
	uint64_t second = 0, third = 0;

	for (size_t i = 0; i < lanes->bytes; i += 8) {
		crc = by_instruction(crc, load_word(data + i));
		second = by_instruction(second, load_word(data + lanes->bytes + i));
		third = by_instruction(third, load_word(data + 2 * lanes->bytes + i));
	}
	return multiply_lane(crc, lanes->by_two) ^ multiply_lane(second, lanes->by_one) ^
	       third;
}

INSTRUCTION static uint32_t crc32c_instruction(uint32_t crc, const unsigned char *data,
					       size_t bytes)
{
	uint64_t wide = crc;

	for (; bytes >= 3 * long_lanes.bytes;
	     bytes -= 3 * long_lanes.bytes, data += 3 * long_lanes.bytes)
		wide = three_lanes(wide, data, &long_lanes);
	for (; bytes >= 3 * short_lanes.bytes;
	     bytes -= 3 * short_lanes.bytes, data += 3 * short_lanes.bytes)
		wide = three_lanes(wide, data, &short_lanes);
	for (; bytes >= 8; bytes -= 8, data += 8)
		wide = by_instruction(wide, load_word(data));
	return dtc_crc32c_portable((uint32_t)wide, data, bytes);
}
#endif

uint32_t dtc_crc32c(uint32_t crc, const unsigned char *data, size_t bytes)
{
#if HAVE_INSTRUCTION
	if (has_instruction())
		return crc32c_instruction(crc, data, bytes);
#endif
	return dtc_crc32c_portable(crc, data, bytes);
}

/* ---- along the stream ---------------------------------------------------------------- */

/* x to the powers 1, 2, 4, 8 ... */
static const uint32_t powers[31] = {
	0x40000000, 0x20000000, 0x08000000, 0x00800000, 0x00008000, 0x82f63b78,
	0x6ea2d55c, 0x18b8ea18, 0x510ac59a, 0xb82be955, 0xb8fdb1e7, 0x88e56f72,
	0x74c360a4, 0xe4172b16, 0x0d65762a, 0x35d73a62, 0x28461564, 0xbf455269,
	0xe2ea32dc, 0xfe7740e6, 0xf946610b, 0x3c204f8f, 0x538586e3, 0x59726915,
	0x734d5309, 0xbc1ac763, 0x7d0722cc, 0xd289cabe, 0xe94ca9bc, 0x05b74f3f,
	0xa51e1f42,
};

/* x to this power is 1. */
#define ORDER      ((UINT64_C(1) << 31) - 1)
#define POLYNOMIAL 0x82f63b78

static uint32_t multiply(uint32_t a, uint32_t b)
{
	uint32_t product = 0;

	for (; a; a <<= 1) {
		product ^= a >> 31 ? b : 0;
		b = b >> 1 ^ (b & 1 ? POLYNOMIAL : 0);
	}
	return product;
}

/* @crc times x to the power of @exponent < 2^31. */
static uint32_t multiply_power(uint32_t crc, uint64_t exponent)
{
	for (unsigned i = 0; exponent; i++, exponent >>= 1)
		if (exponent & 1)
			crc = multiply(crc, powers[i]);
	return crc;
}

uint32_t dtc_crc32c_power(uint32_t log)
{
	return powers[log % 31];
}

uint32_t dtc_crc32c_forward(uint32_t crc, uint64_t bytes)
{
	return multiply_power(crc, bytes % ORDER * 8 % ORDER);
}

uint32_t dtc_crc32c_back(uint32_t crc, uint64_t bytes)
{
	return multiply_power(crc, ORDER - bytes % ORDER * 8 % ORDER);
}
