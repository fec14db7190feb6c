/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The device primitives of the GPU kernels, in CUDA C. test/support/gpu_shim_device.h has the
 * same in plain C, so no other kernel source may depend on CUDA.
 */
#ifndef DTC_KERNELS_GPU_DEVICE_H
#define DTC_KERNELS_GPU_DEVICE_H

#include "kernels/gpu/special_params.h"

#define DTC_GPU_FN static __device__ __forceinline__

/* Keep one copy of long code. */
#define DTC_GPU_CALLED static __device__ __noinline__

/* Constant data compiled into the image. */
#define DTC_GPU_CONSTANT static const __constant__

/* NVRTC has no offsetof. */
#define DTC_GPU_OFFSET(type, member) ((uint64_t) & ((type *)0)->member)

/* Unroll loops over the pieces that a thread has in flight. */
#define DTC_GPU_UNROLL    _Pragma("unroll")
#define DTC_GPU_NO_UNROLL _Pragma("unroll 1")
#define DTC_GPU_UNROLL_BY(n) DTC_GPU_PRAGMA(unroll n)
#define DTC_GPU_PRAGMA(text) _Pragma(#text)

/* Sixteen bytes in registers, the first byte lowest. */
struct __align__(16) dtc_gpu_bytes16 {
	uint32_t w[4];
};

#ifndef DTC_GPU_RESIDENT

/* No kernel writes the sources, so loads may use the read-only path. */
DTC_GPU_FN uint32_t dtc_gpu_load1(uint64_t address)
{
	return __ldg((const unsigned char *)address);
}

DTC_GPU_FN uint32_t dtc_gpu_load2(uint64_t address)
{
	return __ldg((const unsigned short *)address);
}

DTC_GPU_FN uint32_t dtc_gpu_load4(uint64_t address)
{
	return __ldg((const unsigned int *)address);
}

DTC_GPU_FN uint64_t dtc_gpu_load8(uint64_t address)
{
	return __ldg((const unsigned long long *)address);
}

DTC_GPU_FN void dtc_gpu_load16(uint64_t address, struct dtc_gpu_bytes16 *to)
{
	uint4 v = __ldg((const uint4 *)address);

	to->w[0] = v.x;
	to->w[1] = v.y;
	to->w[2] = v.z;
	to->w[3] = v.w;
}

DTC_GPU_FN void dtc_gpu_load8_into(uint64_t address, struct dtc_gpu_bytes16 *to)
{
	uint2 v = __ldg((const uint2 *)address);

	to->w[0] = v.x;
	to->w[1] = v.y;
}
#else

/*
 * Sources change while the resident kernel runs, so its loads must not return stale data from a
 * cache.
 */
DTC_GPU_FN uint32_t dtc_gpu_load1(uint64_t address)
{
	uint32_t v;

	asm volatile("ld.relaxed.sys.global.u8 %0, [%1];"
		     : "=r"(v)
		     : "l"(address)
		     : "memory");
	return v;
}

DTC_GPU_FN uint32_t dtc_gpu_load2(uint64_t address)
{
	unsigned short v;

	asm volatile("ld.relaxed.sys.global.u16 %0, [%1];"
		     : "=h"(v)
		     : "l"(address)
		     : "memory");
	return v;
}

DTC_GPU_FN uint32_t dtc_gpu_load4(uint64_t address)
{
	uint32_t v;

	asm volatile("ld.relaxed.sys.global.u32 %0, [%1];"
		     : "=r"(v)
		     : "l"(address)
		     : "memory");
	return v;
}

DTC_GPU_FN uint64_t dtc_gpu_load8(uint64_t address)
{
	uint64_t v;

	asm volatile("ld.relaxed.sys.global.u64 %0, [%1];"
		     : "=l"(v)
		     : "l"(address)
		     : "memory");
	return v;
}

DTC_GPU_FN void dtc_gpu_load16(uint64_t address, struct dtc_gpu_bytes16 *to)
{
	asm volatile("ld.relaxed.sys.global.v4.u32 {%0, %1, %2, %3}, [%4];"
		     : "=r"(to->w[0]), "=r"(to->w[1]), "=r"(to->w[2]), "=r"(to->w[3])
		     : "l"(address)
		     : "memory");
}

DTC_GPU_FN void dtc_gpu_load8_into(uint64_t address, struct dtc_gpu_bytes16 *to)
{
	asm volatile("ld.relaxed.sys.global.v2.u32 {%0, %1}, [%2];"
		     : "=r"(to->w[0]), "=r"(to->w[1])
		     : "l"(address)
		     : "memory");
}

/* Two words, each of which is one load. */
DTC_GPU_FN void dtc_gpu_peek16(uint64_t address, uint64_t *first, uint64_t *second)
{
	asm volatile("ld.relaxed.sys.global.v2.u64 {%0, %1}, [%2];"
		     : "=l"(*first), "=l"(*second)
		     : "l"(address)
		     : "memory");
}

/* Nanoseconds of a device-wide clock. */
DTC_GPU_FN uint64_t dtc_gpu_now(void)
{
	uint64_t ns;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
	return ns;
}

#endif

DTC_GPU_FN void dtc_gpu_store1(uint64_t address, uint32_t value)
{
	__stwb((unsigned char *)address, (unsigned char)value);
}

DTC_GPU_FN void dtc_gpu_store2(uint64_t address, uint32_t value)
{
	__stwb((unsigned short *)address, (unsigned short)value);
}

DTC_GPU_FN void dtc_gpu_store4(uint64_t address, uint32_t value)
{
	__stwb((unsigned int *)address, value);
}

DTC_GPU_FN void dtc_gpu_store8(uint64_t address, uint32_t low, uint32_t high)
{
	__stwb((uint2 *)address, make_uint2(low, high));
}

DTC_GPU_FN void dtc_gpu_store16(uint64_t address, const struct dtc_gpu_bytes16 *value)
{
	__stwb((uint4 *)address,
	       make_uint4(value->w[0], value->w[1], value->w[2], value->w[3]));
}

/*
 * Begin an asynchronous copy of a word of 4, 8 or 16 bytes into shared memory, without
 * registers in between. It is complete once this thread has waited.
 */
DTC_GPU_FN void dtc_gpu_copy_in(void *shared, uint64_t address, uint32_t word)
{
#if __CUDA_ARCH__ >= 800
	uint32_t to = (uint32_t)__cvta_generic_to_shared(shared);

	if (word == 16)
		asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to),
			     "l"(address)
			     : "memory");
	else if (word == 8)
		asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(to),
			     "l"(address)
			     : "memory");
	else
		asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to),
			     "l"(address)
			     : "memory");
#else
	if (word == 16)
		*(uint4 *)shared = __ldg((const uint4 *)address);
	else if (word == 8)
		*(uint2 *)shared = __ldg((const uint2 *)address);
	else
		*(uint32_t *)shared = dtc_gpu_load4(address);
#endif
}

DTC_GPU_FN void dtc_gpu_await_copies(void)
{
#if __CUDA_ARCH__ >= 800
	asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

/* Prefetch the line of a byte of device memory into the L2 cache. */
DTC_GPU_FN void dtc_gpu_ask_for(uint64_t address)
{
	asm volatile("prefetch.global.L2 [%0];" ::"l"(address));
}

/* Set bits of a word in shared memory atomically. */
DTC_GPU_FN void dtc_gpu_set_bits(uint32_t *shared, uint32_t bits)
{
	atomicOr(shared, bits);
}

DTC_GPU_FN uint32_t dtc_gpu_count_bits(uint32_t bits)
{
	return (uint32_t)__popc(bits);
}

/* The low half of high:low >> bits, bits < 32. */
DTC_GPU_FN uint32_t dtc_gpu_funnel(uint32_t low, uint32_t high, uint32_t bits)
{
	return __funnelshift_r(low, high, bits);
}

/* Four of the eight bytes of high:low, each named by a digit of @selector. */
DTC_GPU_FN uint32_t dtc_gpu_permute(uint32_t low, uint32_t high, uint32_t selector)
{
	return __byte_perm(low, high, selector);
}

DTC_GPU_FN uint64_t dtc_gpu_multiply_high(uint64_t a, uint64_t b)
{
	return __umul64hi(a, b);
}

/* ---- arithmetic by bits: rounded to nearest, never contracted ------------------------------- */

DTC_GPU_FN uint32_t dtc_gpu_add_f32(uint32_t a, uint32_t b)
{
	return __float_as_uint(__fadd_rn(__uint_as_float(a), __uint_as_float(b)));
}

DTC_GPU_FN uint32_t dtc_gpu_multiply_f32(uint32_t a, uint32_t b)
{
	return __float_as_uint(__fmul_rn(__uint_as_float(a), __uint_as_float(b)));
}

DTC_GPU_FN int dtc_gpu_less_f32(uint32_t a, uint32_t b)
{
	return __uint_as_float(a) < __uint_as_float(b);
}

DTC_GPU_FN uint64_t dtc_gpu_add_f64(uint64_t a, uint64_t b)
{
	return (uint64_t)__double_as_longlong(__dadd_rn(
		__longlong_as_double((long long)a), __longlong_as_double((long long)b)));
}

DTC_GPU_FN uint64_t dtc_gpu_multiply_f64(uint64_t a, uint64_t b)
{
	return (uint64_t)__double_as_longlong(__dmul_rn(
		__longlong_as_double((long long)a), __longlong_as_double((long long)b)));
}

DTC_GPU_FN int dtc_gpu_less_f64(uint64_t a, uint64_t b)
{
	return __longlong_as_double((long long)a) < __longlong_as_double((long long)b);
}

/* Floating point of 16 bits, alone and two at a time. */
DTC_GPU_FN uint32_t dtc_gpu_load_f16(uint32_t half)
{
	float value;

	asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"((unsigned short)half));
	return __float_as_uint(value);
}

DTC_GPU_FN uint32_t dtc_gpu_store_f16(uint32_t bits)
{
	unsigned short half;

	asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(__uint_as_float(bits)));
	return half;
}

DTC_GPU_FN uint32_t dtc_gpu_add_f16x2(uint32_t a, uint32_t b)
{
	uint32_t sum;

	asm("add.rn.f16x2 %0, %1, %2;" : "=r"(sum) : "r"(a), "r"(b));
	return sum;
}

DTC_GPU_FN uint32_t dtc_gpu_multiply_f16x2(uint32_t a, uint32_t b)
{
	uint32_t product;

	asm("mul.rn.f16x2 %0, %1, %2;" : "=r"(product) : "r"(a), "r"(b));
	return product;
}

/* bfloat16 addition as a fused multiply-add with the factor 1; adding -0 changes nothing. */
#if __CUDA_ARCH__ >= 800
#define DTC_GPU_HAS_BF16X2

DTC_GPU_FN uint32_t dtc_gpu_fuse_bf16x2(uint32_t a, uint32_t b, uint32_t c)
{
	uint32_t fused;

	asm("fma.rn.bf16x2 %0, %1, %2, %3;" : "=r"(fused) : "r"(a), "r"(b), "r"(c));
	return fused;
}

DTC_GPU_FN uint32_t dtc_gpu_add_bf16x2(uint32_t a, uint32_t b)
{
	return dtc_gpu_fuse_bf16x2(a, 0x3f803f80u, b);
}

DTC_GPU_FN uint32_t dtc_gpu_multiply_bf16x2(uint32_t a, uint32_t b)
{
	return dtc_gpu_fuse_bf16x2(a, b, 0x80008000u);
}
#endif

/* ---- completion --------------------------------------------------------------------------- */

/* __threadfence_system orders more than necessary. */
DTC_GPU_FN void dtc_gpu_fence_system(void)
{
	asm volatile("fence.acq_rel.sys;" ::: "memory");
}

/* Increment; wrap to 0 after @limit. Returns the previous value. */
DTC_GPU_FN uint32_t dtc_gpu_count_up(uint64_t counter, uint32_t limit)
{
	return atomicInc((unsigned int *)counter, limit);
}

/* Lower a 64-bit word that all blocks share to @value. */
DTC_GPU_FN void dtc_gpu_lower(uint64_t address, uint64_t value)
{
	atomicMin((unsigned long long *)address, (unsigned long long)value);
}

/* XOR @value into a word that all blocks share. */
DTC_GPU_FN void dtc_gpu_xor(uint64_t address, uint32_t value)
{
	atomicXor((unsigned int *)address, value);
}

/* Read such a word and reset it to 0. */
DTC_GPU_FN uint32_t dtc_gpu_take(uint64_t address)
{
	return atomicExch((unsigned int *)address, 0u);
}

DTC_GPU_FN void dtc_gpu_release(uint64_t flag, uint64_t value)
{
	asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(flag), "l"(value) : "memory");
}

/* The same, for use behind a fence. */
DTC_GPU_FN void dtc_gpu_store_flag(uint64_t flag, uint64_t value)
{
	asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(flag), "l"(value) : "memory");
}

#endif
