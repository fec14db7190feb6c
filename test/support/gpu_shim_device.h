/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The device primitives of kernels in C: the counterpart of src/kernels/gpu/device.h. Accesses
 * that a device would fault on end the process.
 */
#ifndef TEST_SUPPORT_GPU_SHIM_DEVICE_H
#define TEST_SUPPORT_GPU_SHIM_DEVICE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/gpu/params.h"

#define DTC_GPU_FN static inline
#define DTC_GPU_CALLED               static
#define DTC_GPU_CONSTANT             static const
#define DTC_GPU_OFFSET(type, member) offsetof(type, member)
#define DTC_GPU_UNROLL
#define DTC_GPU_NO_UNROLL
#define DTC_GPU_UNROLL_BY(n)

struct dtc_gpu_bytes16 {
	_Alignas(16) uint32_t w[4];
};

static inline void *shim_memory(uint64_t address, size_t word)
{
	if (address % word) {
		fprintf(stderr, "GPU shim: a word of %zu bytes at %#llx is not aligned\n", word,
			(unsigned long long)address);
		abort();
	}
	return (void *)(uintptr_t)address;
}

static inline uint32_t dtc_gpu_load1(uint64_t address)
{
	return *(const uint8_t *)shim_memory(address, 1);
}

static inline uint32_t dtc_gpu_load2(uint64_t address)
{
	uint16_t value;

	memcpy(&value, shim_memory(address, 2), 2);
	return value;
}

static inline uint32_t dtc_gpu_load4(uint64_t address)
{
	uint32_t value;

	memcpy(&value, shim_memory(address, 4), 4);
	return value;
}

static inline uint64_t dtc_gpu_load8(uint64_t address)
{
	uint64_t value;

	memcpy(&value, shim_memory(address, 8), 8);
	return value;
}

static inline void dtc_gpu_load16(uint64_t address, struct dtc_gpu_bytes16 *to)
{
	memcpy(to->w, shim_memory(address, 16), 16);
}

static inline void dtc_gpu_load8_into(uint64_t address, struct dtc_gpu_bytes16 *to)
{
	memcpy(to->w, shim_memory(address, 8), 8);
}

static inline void dtc_gpu_store1(uint64_t address, uint32_t value)
{
	*(uint8_t *)shim_memory(address, 1) = (uint8_t)value;
}

static inline void dtc_gpu_store2(uint64_t address, uint32_t value)
{
	memcpy(shim_memory(address, 2), &(uint16_t){ (uint16_t)value }, 2);
}

static inline void dtc_gpu_store4(uint64_t address, uint32_t value)
{
	memcpy(shim_memory(address, 4), &value, 4);
}

static inline void dtc_gpu_store8(uint64_t address, uint32_t low, uint32_t high)
{
	const uint32_t value[2] = { low, high };

	memcpy(shim_memory(address, 8), value, 8);
}

static inline void dtc_gpu_store16(uint64_t address, const struct dtc_gpu_bytes16 *value)
{
	memcpy(shim_memory(address, 16), value->w, 16);
}

static inline void dtc_gpu_copy_in(void *shared, uint64_t address, uint32_t word)
{
	memcpy(shim_memory((uintptr_t)shared, word), shim_memory(address, word), word);
}

static inline void dtc_gpu_await_copies(void)
{
}

/* Only lines of which a byte may be touched. */
static inline void dtc_gpu_ask_for(uint64_t address)
{
	(void)*(const volatile uint8_t *)shim_memory(address, 1);
}

static inline void dtc_gpu_set_bits(uint32_t *shared, uint32_t bits)
{
	*shared |= bits;
}

static inline uint32_t dtc_gpu_count_bits(uint32_t bits)
{
	return (uint32_t)__builtin_popcount(bits);
}

static inline uint32_t dtc_gpu_funnel(uint32_t low, uint32_t high, uint32_t bits)
{
	return (uint32_t)(((uint64_t)high << 32 | low) >> (bits & 31));
}

static inline uint32_t dtc_gpu_permute(uint32_t low, uint32_t high, uint32_t selector)
{
	uint64_t both = (uint64_t)high << 32 | low;
	uint32_t bytes = 0;

	for (uint32_t i = 0; i < 4; i++)
		bytes |= (uint32_t)(both >> 8 * (selector >> 4 * i & 7) & 0xff) << 8 * i;
	return bytes;
}

static inline uint64_t dtc_gpu_multiply_high(uint64_t a, uint64_t b)
{
	uint64_t a0 = (uint32_t)a, a1 = a >> 32;
	uint64_t b0 = (uint32_t)b, b1 = b >> 32;
	uint64_t middle = a1 * b0 + (a0 * b0 >> 32);

	return a1 * b1 + (middle >> 32) + (((uint32_t)middle + a0 * b1) >> 32);
}

static inline float shim_float(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static inline uint32_t shim_float_bits(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static inline double shim_double(uint64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static inline uint64_t shim_double_bits(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static inline uint32_t dtc_gpu_add_f32(uint32_t a, uint32_t b)
{
	return shim_float_bits(shim_float(a) + shim_float(b));
}

static inline uint32_t dtc_gpu_multiply_f32(uint32_t a, uint32_t b)
{
	return shim_float_bits(shim_float(a) * shim_float(b));
}

static inline int dtc_gpu_less_f32(uint32_t a, uint32_t b)
{
	return shim_float(a) < shim_float(b);
}

static inline uint64_t dtc_gpu_add_f64(uint64_t a, uint64_t b)
{
	return shim_double_bits(shim_double(a) + shim_double(b));
}

static inline uint64_t dtc_gpu_multiply_f64(uint64_t a, uint64_t b)
{
	return shim_double_bits(shim_double(a) * shim_double(b));
}

static inline int dtc_gpu_less_f64(uint64_t a, uint64_t b)
{
	return shim_double(a) < shim_double(b);
}

/* ---- floating point of 16 bits -------------------------------------------------------------- */

#define SHIM_HALF 0x3f000000u /* 0.5f */

/* 0.5f has its last bit where the smallest half has its only one. */
static inline uint32_t dtc_gpu_load_f16(uint32_t half)
{
	uint32_t sign = (half & 0x8000) << 16;
	uint32_t exponent = half >> 10 & 0x1f;
	uint32_t fraction = half & 0x3ff;

	if (exponent == 0x1f)
		return sign | 0x7f800000 | fraction << 13;
	if (exponent == 0)
		return sign |
		       dtc_gpu_add_f32(SHIM_HALF + fraction, SHIM_HALF | 0x80000000u);
	return sign | (exponent + 112) << 23 | fraction << 13;
}

static inline uint32_t dtc_gpu_store_f16(uint32_t bits)
{
	uint32_t sign = bits >> 16 & 0x8000;
	uint32_t magnitude = bits & 0x7fffffff;

	if (magnitude > 0x7f800000)
		return sign | 0x7e00 | (magnitude >> 13 & 0x3ff);
	if (magnitude >= 0x477ff000) /* 65520 */
		return sign | 0x7c00;
	if (magnitude < 0x38800000) /* 2^-14 */
		return sign | (dtc_gpu_add_f32(magnitude, SHIM_HALF) - SHIM_HALF);
	magnitude += 0xfff + (magnitude >> 13 & 1);
	return sign | ((magnitude >> 13) - (112 << 10));
}

/* Two at a time: what binary32 makes of halves is exact or rounds as halves would. */
static inline uint32_t dtc_gpu_add_f16x2(uint32_t a, uint32_t b)
{
	uint32_t low = dtc_gpu_add_f32(dtc_gpu_load_f16(a & 0xffff),
				       dtc_gpu_load_f16(b & 0xffff));
	uint32_t high =
		dtc_gpu_add_f32(dtc_gpu_load_f16(a >> 16), dtc_gpu_load_f16(b >> 16));

	return dtc_gpu_store_f16(low) | dtc_gpu_store_f16(high) << 16;
}

static inline uint32_t dtc_gpu_multiply_f16x2(uint32_t a, uint32_t b)
{
	uint32_t low = dtc_gpu_multiply_f32(dtc_gpu_load_f16(a & 0xffff),
					    dtc_gpu_load_f16(b & 0xffff));
	uint32_t high = dtc_gpu_multiply_f32(dtc_gpu_load_f16(a >> 16),
					     dtc_gpu_load_f16(b >> 16));

	return dtc_gpu_store_f16(low) | dtc_gpu_store_f16(high) << 16;
}

/* ---- what the resident kernel asks -------------------------------------------------------------- */

static inline void dtc_gpu_peek16(uint64_t address, uint64_t *first, uint64_t *second)
{
	const uint64_t *words = shim_memory(address, 16);

	*first = __atomic_load_n(words, __ATOMIC_ACQUIRE);
	*second = __atomic_load_n(words + 1, __ATOMIC_ACQUIRE);
}

static inline uint64_t dtc_gpu_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline void dtc_gpu_fence_system(void)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static inline uint32_t dtc_gpu_count_up(uint64_t counter, uint32_t limit)
{
	uint32_t before = dtc_gpu_load4(counter);

	dtc_gpu_store4(counter, before >= limit ? 0 : before + 1);
	return before;
}

static inline void dtc_gpu_lower(uint64_t address, uint64_t value)
{
	uint64_t *word = shim_memory(address, 8);

	if (*word > value)
		*word = value;
}

static inline void dtc_gpu_xor(uint64_t address, uint32_t value)
{
	dtc_gpu_store4(address, dtc_gpu_load4(address) ^ value);
}

static inline uint32_t dtc_gpu_take(uint64_t address)
{
	uint32_t value = dtc_gpu_load4(address);

	dtc_gpu_store4(address, 0);
	return value;
}

static inline void dtc_gpu_release(uint64_t flag, uint64_t value)
{
	__atomic_store_n((uint64_t *)shim_memory(flag, 8), value, __ATOMIC_RELEASE);
}

static inline void dtc_gpu_store_flag(uint64_t flag, uint64_t value)
{
	__atomic_store_n((uint64_t *)shim_memory(flag, 8), value, __ATOMIC_RELEASE);
}

#endif
