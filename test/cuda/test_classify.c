/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What finding out whose memory an address is costs: one call of the driver for memory that belongs to a
 * context, and for the host's; none where the caller has said it.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "copy_backends/cuda/launch/launch.h"
#include "support/fixture.h"
#include "support/gpu.h"

#define BYTES 100000

static void add_calls(const char *entry, size_t calls, void *sum)
{
	(void)entry;
	*(size_t *)sum += calls;
}

/* Calls of all entry points so far; 0 on a real driver, which does not count. */
static size_t all_calls(void)
{
	size_t sum = 0;

	if (gpu.standin)
		gpu.standin->each(add_calls, &sum);
	return sum;
}

static struct dtconv_memory_attr query(const void *address)
{
	struct dtconv_memory_attr attr = { .struct_size = sizeof(attr) };

	fixture_ok(dtconv_memory_query(fixture_context, address, &attr));
	return attr;
}

static const struct {
	enum arena_kind arena;
	enum dtconv_memory_kind kind;
	size_t calls; /* the most; what belongs to no context costs a second one */
} kinds[] = {
	{ ARENA_HOST, DTCONV_MEMORY_HOST, 1 },
	{ ARENA_REGISTERED, DTCONV_MEMORY_PINNED, 1 },
	{ ARENA_PINNED, DTCONV_MEMORY_PINNED, 1 },
	{ ARENA_MANAGED, DTCONV_MEMORY_MANAGED, 1 },
	{ ARENA_DEVICE, DTCONV_MEMORY_DEVICE, 1 },
	{ ARENA_ASYNC, DTCONV_MEMORY_DEVICE, 2 },
	{ ARENA_VMM, DTCONV_MEMORY_DEVICE, 3 },       /* and who may touch it */
	{ ARENA_HOST_NUMA, DTCONV_MEMORY_DEVICE, 3 }, /* not the processor */
};

#define KINDS ((int)(sizeof(kinds) / sizeof(kinds[0])))

START_TEST(an_address_costs_one_call)
{
	struct arena arena;

	arena_open(&arena, kinds[_i].arena, BYTES);
	query(arena.memory); /* what is asked once for all */
	size_t before = all_calls();
	struct dtconv_memory_attr attr = query(arena.memory + 1000);
	size_t calls = all_calls() - before;
	ck_assert_int_eq(attr.kind, kinds[_i].kind);
	ck_assert_int_eq(attr.device, attr.kind == DTCONV_MEMORY_HOST ? -1 : 0);
	if (gpu.standin)
		ck_assert_msg(calls == kinds[_i].calls, "%s: %d calls, not %d",
			      arena_kind_names[kinds[_i].arena], (int)calls,
			      (int)kinds[_i].calls);
	arena_close(&arena);
}
END_TEST

/* All of an allocation, as far as it is one mapping. */
START_TEST(the_range_holds_the_address)
{
	struct arena arena;

	arena_open(&arena, kinds[_i].arena, BYTES);
	struct dtconv_memory_attr attr = query(arena.memory + BYTES - 1);
	uintptr_t base = (uintptr_t)attr.base, last = (uintptr_t)arena.memory + BYTES - 1;
	if (attr.kind == DTCONV_MEMORY_HOST) {
		ck_assert_uint_eq(attr.length, 0);
	} else {
		ck_assert_uint_le(base, last);
		ck_assert_uint_lt(last - base, attr.length);
		ck_assert(kinds[_i].arena >= ARENA_VMM ||
			  base <= (uintptr_t)arena.memory);
	}
	arena_close(&arena);
}
END_TEST

START_TEST(memory_of_the_host_is_pinned_once_the_processor_may_touch_it)
{
	CUmemAccessDesc access = { .location = { .type = CU_MEM_LOCATION_TYPE_HOST_NUMA },
				   .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE };
	struct arena arena;

	arena_open(&arena, ARENA_HOST_NUMA, BYTES);
	ck_assert_int_eq(query(arena.memory).kind, DTCONV_MEMORY_DEVICE);
	MUST(DeviceGetAttribute(&access.location.id, CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID,
				0));
	MUST(MemSetAccess((CUdeviceptr)arena_base(&arena), arena.reserved, &access, 1));
	ck_assert_int_eq(query(arena.memory).kind, DTCONV_MEMORY_PINNED);
	arena.memory[BYTES - 1] = 7;
	arena_close(&arena);
}
END_TEST

/* Kernels ask such memory beforehand for what they store parts of. */
START_TEST(long_streams_into_the_devices_own_memory_are_near)
{
	static const struct dtc_cuda_context context = { .device = 1 };
	const struct dtc_memory own = { .kind = DTCONV_MEMORY_DEVICE, .device = 1 },
				other = { .kind = DTCONV_MEMORY_DEVICE, .device = 0 },
				told = { .kind = DTCONV_MEMORY_DEVICE, .device = -1 },
				pinned = { .kind = DTCONV_MEMORY_PINNED, .device = 1 };

	ck_assert(dtc_cuda_is_near(&context, &own, 1 << 25));
	ck_assert(dtc_cuda_is_near(&context, &told, 1 << 25));
	ck_assert(!dtc_cuda_is_near(&context, &own, (1 << 25) - 1));
	ck_assert(!dtc_cuda_is_near(&context, &other, 1 << 25));
	ck_assert(!dtc_cuda_is_near(&context, &pinned, 1 << 25));
}
END_TEST

static size_t attribute_calls(void)
{
	return gpu.standin ? gpu.standin->calls("cuPointerGetAttributes") : 0;
}

/* Packs BYTES / 2 bytes; the kinds may be unknown. */
static void pack(const struct arena *user, const struct arena *packed,
		 enum dtconv_memory_kind user_kind, enum dtconv_memory_kind packed_kind)
{
	const struct dtconv_convertor_params params = { .struct_size = sizeof(params),
							.user_memory = user_kind,
							.packed_memory = packed_kind };
	struct dtconv_type *type = fixture_type("vector(3125, 2, 4, double)");

	fixture_ok(dtconv_pack_with(type, 1, user->memory, packed->memory, BYTES, &params,
				    NULL));
	dtconv_type_unref(type);
}

START_TEST(a_hint_costs_none)
{
	static const enum arena_kind arenas[] = { ARENA_DEVICE, ARENA_PINNED,
						  ARENA_HOST };
	static const enum dtconv_memory_kind told[] = { DTCONV_MEMORY_DEVICE,
							DTCONV_MEMORY_PINNED,
							DTCONV_MEMORY_HOST };
	struct arena user, packed;

	arena_open(&user, ARENA_DEVICE, 2 * BYTES);
	arena_open(&packed, arenas[_i], BYTES);
	pack(&user, &packed, DTCONV_MEMORY_UNKNOWN, DTCONV_MEMORY_UNKNOWN);
	size_t before = attribute_calls();
	pack(&user, &packed, DTCONV_MEMORY_DEVICE, told[_i]);
	ck_assert_uint_eq(attribute_calls(), before);
	pack(&user, &packed, DTCONV_MEMORY_UNKNOWN, DTCONV_MEMORY_UNKNOWN);
	if (gpu.standin)
		ck_assert_uint_eq(attribute_calls(), before + 2);
	arena_close(&user);
	arena_close(&packed);
}
END_TEST

/* Also where numbers are added, and where the processor has its share of that. */
START_TEST(a_hint_costs_none_of_typed_jobs_either)
{
	static const enum arena_kind arenas[] = { ARENA_DEVICE, ARENA_PINNED,
						  ARENA_HOST };
	static const enum dtconv_memory_kind told[] = { DTCONV_MEMORY_DEVICE,
							DTCONV_MEMORY_PINNED,
							DTCONV_MEMORY_HOST };
	struct dtconv_convertor_params params = { .struct_size = sizeof(params),
						  .op = DTCONV_OP_SUM };
	struct dtconv_type *type = fixture_type("vector(1000, 2, 4, int)");
	struct arena user, packed;

	arena_open(&user, ARENA_DEVICE, BYTES);
	arena_open(&packed, arenas[_i], BYTES);
	for (int hints = 0; hints < 2; hints++) {
		size_t before = attribute_calls();

		params.user_memory = hints ? DTCONV_MEMORY_DEVICE : DTCONV_MEMORY_UNKNOWN;
		params.packed_memory = hints ? told[_i] : DTCONV_MEMORY_UNKNOWN;
		fixture_ok(dtconv_unpack_with(type, 1, user.memory, packed.memory, 8000,
					      &params, NULL));
		if (gpu.standin)
			ck_assert_int_eq(attribute_calls() == before, hints);
	}
	arena_close(&user);
	arena_close(&packed);
	dtconv_type_unref(type);
}
END_TEST

/* A device that may address registered memory otherwise is asked how it does. */
START_TEST(devices_with_addresses_of_their_own_are_asked)
{
	struct arena arena;

	if (!gpu.standin)
		return;
	arena_open(&arena, ARENA_REGISTERED, BYTES);
	gpu.standin->inject("cuDeviceGetAttribute", 1, CUDA_ERROR_INVALID_VALUE);
	query(arena.memory);
	gpu.standin->inject_clear();
	size_t before = attribute_calls();
	ck_assert_int_eq(query(arena.memory).kind, DTCONV_MEMORY_PINNED);
	ck_assert_uint_eq(attribute_calls(), before + 2);
	arena_close(&arena);
}
END_TEST

/* What the driver refuses to tell is unknown, whichever question it refuses. */
START_TEST(refused_questions_leave_memory_unknown)
{
	struct dtconv_memory_attr attr = { .struct_size = sizeof(attr) };
	struct arena arena;

	if (!gpu.standin)
		return;
	arena_open(&arena, ARENA_ASYNC, BYTES);
	query(arena.memory);
	gpu.standin->inject("cuPointerGetAttributes", 1 + (unsigned)_i,
			    CUDA_ERROR_INVALID_VALUE);
	fixture_status(dtconv_memory_query(fixture_context, arena.memory, &attr),
		       DTCONV_ERR_BACKEND);
	ck_assert_uint_eq(gpu.standin->fired(), 1);
	gpu.standin->inject_clear();
	arena_close(&arena);
}
END_TEST

/* Before cuInit, and after the driver's end, all memory is the host's. */
START_TEST(a_driver_that_is_not_there_yet_owns_nothing)
{
	static const CUresult results[] = { CUDA_ERROR_NOT_INITIALIZED,
					    CUDA_ERROR_DEINITIALIZED };
	static char memory[64];

	if (!gpu.standin)
		return;
	query(memory);
	gpu.standin->inject("cuPointerGetAttributes", 1, (int)results[_i]);
	ck_assert_int_eq(query(memory).kind, DTCONV_MEMORY_HOST);
	ck_assert_uint_eq(gpu.standin->fired(), 1);
	gpu.standin->inject_clear();
}
END_TEST

int main(void)
{
	gpu_open_in_program();
	Suite *suite = suite_create("classify");
	TCase *tcase = fixture_case(suite, "calls", 30);

	tcase_add_loop_test(tcase, an_address_costs_one_call, 0, KINDS);
	tcase_add_loop_test(tcase, the_range_holds_the_address, 0, KINDS);
	tcase_add_test(tcase, long_streams_into_the_devices_own_memory_are_near);
	tcase_add_test(tcase,
		       memory_of_the_host_is_pinned_once_the_processor_may_touch_it);
	tcase_add_loop_test(tcase, a_hint_costs_none, 0, 3);
	tcase_add_loop_test(tcase, a_hint_costs_none_of_typed_jobs_either, 0, 3);
	tcase_add_test(tcase, devices_with_addresses_of_their_own_are_asked);
	tcase_add_loop_test(tcase, refused_questions_leave_memory_unknown, 0, 2);
	tcase_add_loop_test(tcase, a_driver_that_is_not_there_yet_owns_nothing, 0, 2);
	return fixture_run(suite);
}
