/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lanes: jobs without a stream of the caller's pack, unpack and copy at the same time, in whatever memory and whichever
 * way; what is ordered stays so. On the stand-in driver only, which holds up one lane.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "copy_backends/cuda/device/device_context.h"
#include "support/choices.h"
#include "support/fixture.h"
#include "support/gpu.h"

/* A job of one direction, with memory of its own. */
struct side {
	struct stage stage;
	struct arena user, packed;
	struct dtconv_convertor *convertor;
	struct dtconv_flight flight;
	bool packs;
};

/* Two pieces of cuda_relay, and what is one launch. */
static const char *const backends[] = { "cuda_kernel", "cuda_relay" };

static const char *const texts[] = { "vector(2000, 3, 5, double)",
				     "vector(100000, 3, 5, double)" };

static void side_open(struct side *side, bool packs, const char *text,
		      const char *backend, unsigned flags)
{
	struct dtconv_convertor_params params = { .struct_size = sizeof(params),
						  .flags = flags,
						  .backends = backend };

	fixture_open(&side->stage, text, 1);
	side->packs = packs;
	arena_open(&side->user, ARENA_DEVICE, side->stage.span);
	arena_open(&side->packed, ARENA_PINNED, side->stage.bytes);
	unsigned char *user = side->user.memory - side->stage.low;
	side->convertor = packs ? fixture_packer(side->stage.type, 1, user, &params)
				: fixture_unpacker(side->stage.type, 1, user, &params);
}

static void side_close(struct side *side)
{
	dtconv_convertor_destroy(side->convertor);
	arena_close(&side->user);
	arena_close(&side->packed);
	fixture_close(&side->stage);
}

static void side_start(struct side *side)
{
	const unsigned char *source = side->stage.source + side->stage.low;

	if (side->packs) {
		arena_write(&side->user, 0, source, side->stage.span);
		memset(side->packed.memory, 0, side->stage.bytes);
	} else {
		stage_blank(&side->stage);
		arena_write(&side->user, 0, side->stage.target + side->stage.low,
			    side->stage.span);
		memcpy(side->packed.memory, side->stage.stream, side->stage.bytes);
	}
	fixture_ok(dtconv_flight_start(side->convertor, &side->flight, 0,
				       side->packed.memory, side->stage.bytes));
}

static void side_end(struct side *side)
{
	size_t moved;

	fixture_ok(dtconv_flight_wait(&side->flight, &moved));
	ck_assert_uint_eq(moved, side->stage.bytes);
	if (side->packs) {
		ck_assert(!memcmp(side->packed.memory, side->stage.stream,
				  side->stage.bytes));
		return;
	}
	arena_read(&side->user, 0, side->stage.target + side->stage.low,
		   side->stage.span);
	stage_deliver(&side->stage, 0, side->stage.bytes);
	fixture_arrived(&side->stage);
}

/* It does not wait for the lane that is held up. */
static void side_end_meanwhile(struct side *side)
{
	for (int naps = 0; dtconv_flight_test(&side->flight, NULL) == DTCONV_INPROGRESS;
	     naps++) {
		ck_assert_int_lt(naps, 20000);
		gpu_nap(1);
	}
	side_end(side);
}

/* The first job makes what is made once. */
static void side_warm_up(struct side *side)
{
	side_start(side);
	side_end(side);
}

static void must_be_in_flight(struct side *side)
{
	for (int i = 0; i < 20; i++)
		ck_assert_int_eq(dtconv_flight_test(&side->flight, NULL),
				 DTCONV_INPROGRESS);
}

static CUstream lane_of(struct dtconv_context *context, enum dtc_cuda_lane lane)
{
	return dtc_cuda_of(context)->contexts->lanes[lane];
}

static CUstream lane(enum dtc_cuda_lane lane)
{
	return lane_of(fixture_context, lane);
}

/* ---- at the same time --------------------------------------------------------------------- */

/* Each direction with the other one's lane held up; by a kernel, and by kernels and the copy engine. */
START_TEST(packs_and_unpacks_overlap)
{
	bool packs = _i & 1;
	const char *text = texts[_i / 2], *backend = backends[_i / 2];
	struct side held, free;
	struct spin spin;

	side_open(&held, packs, text, backend, 0);
	side_open(&free, !packs, text, backend, 0);
	side_warm_up(&held);
	side_warm_up(&free);
	spin_begin(&spin, lane(packs ? DTC_CUDA_LANE_PACK : DTC_CUDA_LANE_UNPACK));
	side_start(&held);
	size_t copies = gpu.standin->calls("cuMemcpyAsync");
	for (int i = 0; i < 3; i++) {
		side_start(&free);
		side_end_meanwhile(&free);
	}
	/* The other direction's ring is not this one's. */
	ck_assert(_i < 2 || gpu.standin->calls("cuMemcpyAsync") > copies);
	must_be_in_flight(&held);
	spin_end(&spin);
	side_end(&held);
	side_close(&held);
	side_close(&free);
}
END_TEST

/* Between layouts of device memory, by one launch. */
START_TEST(copies_wait_for_neither)
{
	struct dtconv_type *from = fixture_type("vector(100, 1, 3, double)");
	struct dtconv_type *to = fixture_type("vector(100, 1, 2, double)");
	double source[300], target[200] = { 0 };
	struct arena memory, words;
	struct side packs, unpacks;
	size_t moved;

	for (int i = 0; i < 300; i++)
		source[i] = i;
	arena_open(&memory, ARENA_DEVICE, sizeof(source) + sizeof(target));
	arena_write(&memory, 0, source, sizeof(source));
	side_open(&packs, true, texts[0], NULL, 0);
	side_open(&unpacks, false, texts[0], NULL, 0);
	side_warm_up(&packs);
	side_warm_up(&unpacks);
	arena_open(&words, ARENA_PINNED, 2 * sizeof(uint64_t));
	memset(words.memory, 0, words.bytes);
	uint64_t *word = (uint64_t *)(void *)words.memory;
	CUfunction kernel = spin_load();
	spin_launch(kernel, &word[0], lane(DTC_CUDA_LANE_PACK));
	spin_launch(kernel, &word[1], lane(DTC_CUDA_LANE_UNPACK));
	side_start(&packs);
	side_start(&unpacks);
	fixture_ok(dtconv_copy(from, 1, memory.memory, to, 1,
			       memory.memory + sizeof(source), &moved));
	arena_read(&memory, sizeof(source), target, sizeof(target));
	for (int i = 0; i < 100; i++)
		ck_assert(target[2 * i] == 3 * i);
	must_be_in_flight(&packs);
	must_be_in_flight(&unpacks);
	__atomic_store_n(&word[0], 1, __ATOMIC_RELEASE);
	__atomic_store_n(&word[1], 1, __ATOMIC_RELEASE);
	side_end(&packs);
	side_end(&unpacks);
	side_close(&packs);
	side_close(&unpacks);
	arena_close(&memory);
	arena_close(&words);
	dtconv_type_unref(from);
	dtconv_type_unref(to);
}
END_TEST

#define MESSAGES 70
#define BLOCKS   2500
#define WORDS    (6 * BLOCKS)

static size_t calls_of_makers(void)
{
	static const char *const makers[] = { "cuMemAlloc", "cuMemFree",
					      "cuMemHostRegister", "cuCtxSynchronize" };
	size_t calls = 0;

	for (size_t i = 0; i < sizeof(makers) / sizeof(makers[0]); i++)
		calls += gpu.standin->calls(makers[i]);
	return calls;
}

/* Unpack a message's numbers to new places. */
static void unpack_list(const struct arena *user, const struct arena *packed,
			struct choices *choices)
{
	static ptrdiff_t places[BLOCKS];
	static double numbers[BLOCKS], got[WORDS];
	struct dtconv_type *type;

	for (ptrdiff_t i = 0, at = 0; i < BLOCKS; i++) {
		places[i] = at;
		numbers[i] = (double)choose(choices, 1000000);
		at += 1 + (ptrdiff_t)choose(choices, 5);
	}
	memcpy(packed->memory, numbers, sizeof(numbers));
	fixture_ok(dtconv_type_create_indexed_block(
		BLOCKS, 1, places, dtconv_type_predefined(fixture_context, DTCONV_DOUBLE),
		&type));
	fixture_ok(dtconv_type_commit(type));
	fixture_ok(dtconv_unpack(type, 1, user->memory, packed->memory, sizeof(numbers),
				 NULL));
	arena_read(user, 0, got, sizeof(got));
	for (size_t i = 0; i < BLOCKS; i++)
		ck_assert(got[places[i]] == numbers[i]);
	dtconv_type_unref(type);
}

/* A new list with every message, more of them than uploads may be in flight, beside a flight that does not move on. */
START_TEST(new_lists_wait_for_no_flight)
{
	struct choices choices = fixture_choices(51);
	struct arena user, packed;
	struct side held;
	struct spin spin;

	arena_open(&user, ARENA_DEVICE, WORDS * sizeof(double));
	arena_open(&packed, ARENA_PINNED, BLOCKS * sizeof(double));
	side_open(&held, true, texts[0], NULL, 0);
	side_warm_up(&held);
	unpack_list(&user, &packed, &choices); /* makes the upload ring and a chunk */
	spin_begin(&spin, lane(DTC_CUDA_LANE_PACK));
	side_start(&held);
	size_t made = calls_of_makers();
	for (int message = 0; message < MESSAGES; message++)
		unpack_list(&user, &packed, &choices);
	ck_assert_uint_eq(calls_of_makers(), made);
	must_be_in_flight(&held);
	spin_end(&spin);
	side_end(&held);
	side_close(&held);
	arena_close(&user);
	arena_close(&packed);
}
END_TEST

/* ---- order -------------------------------------------------------------------------------- */

/* The checksum of a move that waits in its lane is not computed before it. */
START_TEST(checksums_are_behind_their_moves)
{
	struct side side;
	struct spin spin;
	uint32_t crc;

	side_open(&side, _i, texts[0], NULL, DTCONV_CONVERTOR_CRC32C);
	side_warm_up(&side);
	fixture_ok(dtconv_convertor_rebind_pack(side.convertor, side.stage.type, 1,
						side.user.memory - side.stage.low));
	if (!_i)
		fixture_ok(dtconv_convertor_rebind_unpack(
			side.convertor, side.stage.type, 1,
			side.user.memory - side.stage.low));
	spin_begin(&spin, lane(_i ? DTC_CUDA_LANE_PACK : DTC_CUDA_LANE_UNPACK));
	side_start(&side);
	must_be_in_flight(&side);
	spin_end(&spin);
	side_end(&side);
	fixture_ok(dtconv_convertor_crc32c(side.convertor, &crc));
	ck_assert_uint_eq(crc, dtconv_crc32c(0, side.stage.stream, side.stage.bytes));
	side_close(&side);
}
END_TEST

/* In the order of the default stream, an unpack reads what the pack before it has written. */
START_TEST(one_stream_in_order_has_one_lane)
{
	const struct dtconv_context_params params = {
		.struct_size = sizeof(params), .flags = DTCONV_CONTEXT_DEFAULT_STREAM
	};
	struct dtconv_context *context;
	struct dtconv_convertor *packs, *unpacks;
	struct arena memory;
	double numbers[300], back[300];
	struct spin spin;

	fixture_ok(dtconv_context_create(&params, &context));
	struct dtconv_type *type = fixture_type_in(context, "vector(100, 1, 3, double)");
	for (int i = 0; i < 300; i++)
		numbers[i] = i;
	arena_open(&memory, ARENA_DEVICE, 3 * sizeof(numbers));
	arena_write(&memory, 0, numbers, sizeof(numbers));
	unsigned char *packed = memory.memory + sizeof(numbers);
	unsigned char *target = memory.memory + 2 * sizeof(numbers);
	fixture_ok(dtconv_pack(type, 1, memory.memory, packed, 800, NULL));
	gpu_clear(packed, 2 * sizeof(numbers));
	for (size_t i = 1; i < DTC_CUDA_LANES; i++)
		ck_assert_ptr_eq(lane_of(context, (enum dtc_cuda_lane)i), lane_of(context, 0));
	fixture_ok(dtconv_convertor_create_pack(type, 1, memory.memory, &packs));
	fixture_ok(dtconv_convertor_create_unpack(type, 1, target, &unpacks));
	spin_begin(&spin, lane_of(context, DTC_CUDA_LANE_PACK));
	fixture_ok(dtconv_convertor_start(packs, packed, 800, NULL, NULL));
	fixture_ok(dtconv_convertor_start(unpacks, packed, 800, NULL, NULL));
	spin_end(&spin);
	fixture_ok(dtconv_convertor_wait(unpacks, NULL));
	fixture_ok(dtconv_convertor_wait(packs, NULL));
	arena_read(&memory, 2 * sizeof(numbers), back, sizeof(back));
	for (int i = 0; i < 300; i += 3)
		ck_assert(back[i] == numbers[i]);
	dtconv_convertor_destroy(packs);
	dtconv_convertor_destroy(unpacks);
	arena_close(&memory);
	dtconv_type_unref(type);
	dtconv_context_destroy(context);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("lanes");

	gpu_find();
	if (gpu_is_real()) {
		puts("a real driver's streams cannot be held up");
		return 77;
	}
	TCase *together = gpu_case(suite, "together", 120);
	tcase_add_loop_test(together, packs_and_unpacks_overlap, 0, 4);
	tcase_add_test(together, copies_wait_for_neither);
	tcase_add_test(together, new_lists_wait_for_no_flight);
	TCase *order = gpu_case(suite, "order", 60);
	tcase_add_loop_test(order, checksums_are_behind_their_moves, 0, 2);
	tcase_add_test(order, one_stream_in_order_has_one_lane);
	return fixture_run(suite);
}
