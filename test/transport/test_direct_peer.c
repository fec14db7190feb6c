/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Direct messages with a peer that a test makes by hand, while copies are held in flight: each way in which a channel can
 * end meanwhile, headers that fit no state of an offered message, devices that fail, and memory of the receiver's own
 * process. The memory that is offered is a third process's.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <dtconv/ipc.h>

#include "cuda/memory_owner.h"
#include "datatype/signature.h"
#include "datatype/type.h"
#include "liar.h"
#include "process.h"
#include "support/allocators.h"
#include "support/fixture.h"
#include "support/gpu.h"
#include "transport_glue/ipc_handle.h"
#include "transport_glue/offer.h"
#include "transport_glue/words.h"

#define BLOCKS  1000
#define FROM    ((size_t)BLOCKS * 16) /* bytes that the sender's layout spans, about */
#define TO      ((size_t)BLOCKS * 24)
#define STREAM  ((size_t)BLOCKS * 8)
#define MANY    40
#define LAYOUTS 12

static struct owner owner;
static struct ration ration;
/* So many allocations are granted when an offer comes; negative: all. */
static long granted = -1;
static struct spin spin;
static struct outcome {
	int calls, status;
	size_t moved;
} outcomes[MANY];
static unsigned char bytes_from[FROM], bytes_to[TO];

static void see(void *arg, int status, size_t moved)
{
	struct outcome *outcome = arg;

	outcome->calls++;
	outcome->status = status;
	outcome->moved = moved;
}

/* ---- the scene ------------------------------------------------------------------------------- */

static void load_kernels(void);

static void open_scene(void)
{
	owner_start(&owner, 0);
	gpu_open();
	owner_allocate(&owner, 0, FROM);
	for (size_t i = 0; i < FROM; i++)
		bytes_from[i] = (unsigned char)(i * 7 + i / 253);
	owner_write(&owner, 0, bytes_from, FROM);
	memset(outcomes, 0, sizeof(outcomes));
	exchange_flags = DTCONV_CHANNEL_DIRECT;
	liar_open();
	const struct dtc_wire_packet hello = liar_hello();
	liar_greet(&hello, 2);
	liar_progress(2);
	load_kernels();
}

static void close_scene(void)
{
	struct dtconv_ipc_attr attr = { .struct_size = sizeof(attr) };

	liar_close();
	fixture_ok(dtconv_ipc_query(fixture_context, &attr));
	ck_assert_uint_eq(attr.open, 0);
	fixture_ok(dtconv_ipc_trim(fixture_context, 0));
	owner_free(&owner, 0);
	owner_end(&owner);
}

/* From now on no kernel runs, until the spin is released. Kernels have to be loaded before. */
static void hold_copies(void)
{
	gpu.standin->set(STANDIN_SPIN_KERNELS, 1);
	spin_begin(&spin, gpu_stream());
}

static void let_copies_go(void)
{
	CUstream stream = spin.stream;

	spin_end(&spin);
	MUST(StreamDestroy(stream));
}

/* The copy's kernel is there from the first message on. */
static void load_kernels(void)
{
	struct dtconv_type *from = fixture_type("vector(1000, 1, 2, double)");
	struct dtconv_type *to = fixture_type("vector(1000, 1, 3, double)");
	struct arena a, b;

	arena_open(&a, ARENA_DEVICE, FROM);
	arena_open(&b, ARENA_DEVICE, TO);
	fixture_ok(dtconv_prepare(fixture_context, 0, from, 1, NULL));
	fixture_ok(dtconv_copy(from, 1, a.memory, to, 1, b.memory, NULL));
	arena_close(&a);
	arena_close(&b);
	dtconv_type_unref(from);
	dtconv_type_unref(to);
}

static void push_offer(uint32_t slot, uint64_t tag, const struct dtconv_type *type,
		       const struct dtconv_ipc_handle *handle)
{
	unsigned char *room = dtc_shm_offer(liar.ring.base, LIAR_ENTRIES, slot);
	struct dtc_wire_header header = {
		.kind = DTC_WIRE_MESSAGE, .slot = slot, .tag = tag, .length = STREAM
	};
	size_t length;

	dtc_word_put(room, 0, 0);
	dtc_word_put(room, 1, 1);
	memcpy(room + 16, handle->bytes, sizeof(handle->bytes));
	fixture_ok(dtconv_type_serialise(type, room + 16 + sizeof(handle->bytes), 12000,
					 &length));
	header.offer = (uint32_t)(16 + sizeof(handle->bytes) + length);
	ck_assert(dtc_signature_hash_start(type->signature, 1, STREAM, &header.hash));
	atomic_store(&ration.left, granted);
	liar_push(header);
}

/* A receive, and an offer of the owner's memory that it takes. */
static void begin_copy(uint32_t slot, const char *words, struct arena *to)
{
	const struct dtconv_ipc_handle handle = owner_export(&owner, 0, 0, FROM).handle;
	struct dtconv_type *type = fixture_type(words);
	struct dtconv_type *target = fixture_type("vector(1000, 1, 3, double)");

	arena_open(to, ARENA_DEVICE, TO);
	memset(bytes_to, 0xee, TO);
	arena_write(to, 0, bytes_to, TO);
	fixture_ok(dtconv_channel_recv(party.channel, slot, target, 1, to->memory, see,
				       &outcomes[slot]));
	liar_progress(1);
	push_offer(slot, slot, type, &handle);
	dtconv_type_unref(type);
	dtconv_type_unref(target);
}

/* Blocks of 8 bytes, @stride bytes apart, were copied to every third. */
static void check_copy(const struct arena *to, size_t stride)
{
	arena_read(to, 0, bytes_to, TO);
	for (size_t i = 0; i < TO; i++)
		ck_assert_uint_eq(bytes_to[i],
				  i % 24 < 8 && i / 24 < BLOCKS
					  ? bytes_from[i / 24 * stride + i % 24]
					  : 0xee);
}

static void wait_for(size_t count)
{
	for (size_t i = 0; i < count; i++)
		while (!outcomes[i].calls)
			party_sleep(&party);
}

/* How many headers the honest end has posted, and the last one. */
static uint64_t read_answer(struct dtc_wire_header *header)
{
	struct dtc_shm_mapping mapping = { 0 };
	uint64_t words[DTC_WIRE_HEADER_WORDS];

	fixture_ok(dtc_shm_map(fixture_context, liar.files.fds[0],
			       dtc_shm_ring_bytes(liar.hello.entries, true), false,
			       &mapping));
	const struct dtc_shm_ring *ring = mapping.base;
	const uint64_t pushed = atomic_load(&ring->pushed);
	for (size_t i = 0; pushed && i < DTC_WIRE_HEADER_WORDS; i++)
		words[i] = atomic_load(&ring->entries[pushed - 1].words[i]);
	dtc_shm_unmap(&mapping);
	if (pushed)
		fixture_ok(dtc_wire_read_header(words, sizeof(words), header));
	return pushed;
}

static void expect_answer(enum dtc_wire_kind kind, int status)
{
	struct dtc_wire_header header;

	ck_assert_uint_gt(read_answer(&header), 0);
	ck_assert_int_eq(header.kind, kind);
	ck_assert_int_eq(header.status, status);
}

/* ---- copies ------------------------------------------------------------------------------------ */

/* The sender hears of it when the copy has ended, and not before. A thread that sleeps is woken by the device. */
START_TEST(the_sender_is_told_when_the_copy_has_ended)
{
	struct dtc_wire_header header;
	struct arena to;

	open_scene();
	hold_copies();
	begin_copy(0, "vector(1000, 1, 2, double)", &to);
	liar_progress(20);
	ck_assert_int_eq(outcomes[0].calls, 0);
	ck_assert_uint_eq(read_answer(&header), 0);
	while (dtconv_engine_arm(party.engine))
		liar_progress(1);
	ck_assert_uint_gt(gpu.standin->calls("cuLaunchHostFunc"), 0);
	let_copies_go();
	wait_for(1);
	ck_assert_int_eq(outcomes[0].status, 0);
	ck_assert_uint_eq(outcomes[0].moved, STREAM);
	expect_answer(DTC_WIRE_TAKEN, 0);
	check_copy(&to, 16);
	ck_assert_uint_eq(party_query(&party).received_direct, 1);
	arena_close(&to);
	close_scene();
}
END_TEST

/* The device gets some at a time; all of them end. */
START_TEST(many_copies_are_under_way)
{
	static struct arena to[MANY];

	open_scene();
	hold_copies();
	for (uint32_t i = 0; i < MANY; i++)
		begin_copy(i, "vector(1000, 1, 2, double)", &to[i]);
	liar_progress(20);
	ck_assert_uint_gt(gpu.standin->pending(), 8);
	ck_assert_uint_lt(gpu.standin->pending(), MANY);
	let_copies_go();
	wait_for(MANY);
	for (int i = 0; i < MANY; i++) {
		ck_assert_int_eq(outcomes[i].status, 0);
		check_copy(&to[i], 16);
		arena_close(&to[i]);
	}
	ck_assert_uint_eq(party_query(&party).received_direct, MANY);
	close_scene();
}
END_TEST

/* More layouts than are kept, each of them twice, in another order the second time. */
START_TEST(layouts_come_again)
{
	static struct arena to[2 * LAYOUTS];
	char words[100];

	open_scene();
	for (uint32_t i = 0; i < 2 * LAYOUTS; i++) {
		const size_t stride = 1 + (i < LAYOUTS ? i : i * 5) % LAYOUTS;

		(void)snprintf(words, sizeof(words), "hvector(1000, 1, %zu, double)",
			       stride);
		begin_copy(i, words, &to[i]);
		wait_for(i + 1);
		ck_assert_int_eq(outcomes[i].status, 0);
		arena_read(&to[i], 0, bytes_to, TO);
		for (size_t b = 0; b < BLOCKS; b++)
			ck_assert(!memcmp(bytes_to + b * 24, bytes_from + b * stride, 8));
		arena_close(&to[i]);
	}
	ck_assert_uint_eq(party_query(&party).received_direct, 2 * LAYOUTS);
	close_scene();
}
END_TEST

/* ---- memory that runs out -------------------------------------------------------------------------- */

/* A context whose allocator may refuse; the fixture's own comes back at the end. */
static struct dtconv_context *swap_context(void)
{
	const struct dtconv_context_params params = {
		.struct_size = sizeof(params), .allocator = allocator_of_rations(&ration)
	};
	struct dtconv_context *kept = fixture_context;

	ration.left = -1;
	fixture_ok(dtconv_context_create(&params, &fixture_context));
	return kept;
}

/* One offer, with so many allocations granted. Whether one was refused. */
static bool starve(long grant)
{
	struct dtconv_context *kept = swap_context();
	struct dtc_wire_header header;
	struct arena to;

	open_scene();
	granted = grant;
	begin_copy(0, "vector(1000, 1, 2, double)", &to);
	for (int i = 0; i < 100000 && !read_answer(&header); i++)
		liar_progress(1);
	const bool was_refused = atomic_load(&ration.refused);
	granted = -1;
	atomic_store(&ration.left, -1);
	if (header.kind == DTC_WIRE_GO)
		liar_push((struct dtc_wire_header){ .kind = DTC_WIRE_END,
						    .status = DTCONV_ERR_CANCELED });
	wait_for(1);
	if (!outcomes[0].status)
		check_copy(&to, 16);
	else
		ck_assert(header.kind != DTC_WIRE_TAKEN || was_refused);
	arena_close(&to);
	close_scene();
	dtconv_context_destroy(fixture_context);
	ck_assert_uint_eq(atomic_load(&ration.live), 0);
	fixture_context = kept;
	return was_refused;
}

START_TEST(memory_runs_out_at_any_allocation)
{
	long grant = 0;

	while (starve(grant)) {
		atomic_store(&ration.refused, 0);
		gpu_must_be_clean("an offer without memory");
		grant++;
	}
	ck_assert_int_gt(grant, 4);
	ck_assert_int_eq(outcomes[0].status, 0);
}
END_TEST

/* ---- ends while a copy is in flight -------------------------------------------------------------- */

static int end_somehow(int which)
{
	struct dtc_wire_header header = { .slot = 0 };

	switch (which) {
	case 0:
		fixture_ok(dtconv_channel_close(party.channel));
		return DTCONV_ERR_CANCELED;
	case 1:
		close(liar.socket);
		liar.socket = -1;
		return DTCONV_ERR_PEER;
	case 2:
		header.kind = DTC_WIRE_DATA;
		header.length = LIAR_BYTES;
		break;
	case 3:
		header.kind = DTC_WIRE_END;
		header.status = DTCONV_ERR_NOMEM;
		break;
	default:
		header.kind = DTC_WIRE_MESSAGE;
		header.length = 8;
	}
	liar_push(header);
	return DTCONV_ERR_FORMAT;
}

/* The channel ends at once, the receive only when the device does not read and write any more; one waits for the device. */
START_TEST(a_copy_in_flight_is_never_abandoned)
{
	static struct arena to[MANY];
	const uint32_t count = _i / 5 ? MANY : 1;
	struct dtconv_ipc_attr attr = { .struct_size = sizeof(attr) };
	struct dtc_wire_header header;

	open_scene();
	hold_copies();
	for (uint32_t i = 0; i < count; i++)
		begin_copy(i, "vector(1000, 1, 2, double)", &to[i]);
	liar_progress(20);
	const int status = end_somehow(_i % 5);
	/* Now and then the socket is read. */
	liar_progress(200);
	ck_assert_int_eq(party_query(&party).state, DTCONV_CHANNEL_ENDED);
	ck_assert_int_eq(party_query(&party).status, status);
	ck_assert_int_eq(outcomes[0].calls, 0);
	ck_assert_int_eq(outcomes[count - 1].calls, count > 1);
	fixture_ok(dtconv_ipc_query(fixture_context, &attr));
	ck_assert_uint_eq(attr.open, 1);
	fixture_status(dtconv_channel_destroy(party.channel), DTCONV_ERR_STATE);
	let_copies_go();
	wait_for(count);
	for (uint32_t i = 0; i < count; i++) {
		ck_assert_int_eq(outcomes[i].calls, 1);
		ck_assert_int_eq(outcomes[i].status, status);
		arena_close(&to[i]);
	}
	ck_assert_uint_eq(read_answer(&header), 0);
	close_scene();
}
END_TEST

START_TEST(a_device_that_fails_ends_the_message_at_both_ends)
{
	CUcontext context;
	struct arena to;

	open_scene();
	hold_copies();
	begin_copy(0, "vector(1000, 1, 2, double)", &to);
	liar_progress(20);
	MUST(CtxGetCurrent(&context));
	gpu.standin->poison(context, CUDA_ERROR_ECC_UNCORRECTABLE);
	/* A thread that is about to sleep sees it first. */
	for (int i = 0; i < 2000; i++)
		(void)dtconv_engine_arm(party.engine);
	wait_for(1);
	ck_assert_int_eq(outcomes[0].status, DTCONV_ERR_BACKEND);
	expect_answer(DTC_WIRE_TAKEN, DTCONV_ERR_BACKEND);
	ck_assert_int_eq(party_query(&party).state, DTCONV_CHANNEL_OPEN);
	liar_close();
	owner_kill(&owner);
}
END_TEST

/* Before anything is in flight, a message can still be staged. */
START_TEST(a_call_that_is_refused_leads_to_staging)
{
	static const char *const entries[] = { "cuIpcOpenMemHandle", "cuLaunchKernel" };
	struct arena to;

	open_scene();
	gpu.standin->inject(entries[_i], 1, CUDA_ERROR_INVALID_VALUE);
	begin_copy(0, "vector(1000, 1, 2, double)", &to);
	liar_progress(5);
	ck_assert_uint_eq(gpu.standin->fired(), 1);
	expect_answer(DTC_WIRE_GO, 0);
	ck_assert_int_eq(outcomes[0].calls, 0);
	liar_push((struct dtc_wire_header){ .kind = DTC_WIRE_END,
					    .status = DTCONV_ERR_NOMEM });
	wait_for(1);
	ck_assert_int_eq(outcomes[0].status, DTCONV_ERR_NOMEM);
	arena_close(&to);
	close_scene();
}
END_TEST

/* Irregular, and the target is at an odd address, so that one launch cannot copy; two steps would wait for the device. */
START_TEST(a_copy_in_two_steps_is_staged)
{
	static char words[BLOCKS * 8 + 100];
	size_t at = (size_t)sprintf(words, "indexed_block(1, [");
	struct dtconv_type *type;
	struct arena to;

	for (size_t i = 0; i < BLOCKS; i++)
		at += (size_t)sprintf(words + at, "%s%zu", i ? ", " : "",
				      2 * i - (i * i % 7 > 3));
	(void)sprintf(words + at, "], double)");
	open_scene();
	const struct dtconv_ipc_handle handle = owner_export(&owner, 0, 0, FROM).handle;
	type = fixture_type(words);
	arena_open(&to, ARENA_DEVICE, FROM + 1);
	fixture_ok(dtconv_channel_recv(party.channel, 0, type, 1, to.memory + 1, see,
				       &outcomes[0]));
	liar_progress(1);
	push_offer(0, 0, type, &handle);
	liar_progress(5);
	expect_answer(DTC_WIRE_GO, 0);
	liar_push((struct dtc_wire_header){ .kind = DTC_WIRE_END,
					    .status = DTCONV_ERR_NOMEM });
	wait_for(1);
	dtconv_type_unref(type);
	arena_close(&to);
	close_scene();
}
END_TEST

/* A handle of the receiver's own memory, which the peer may have guessed, opens nothing. */
START_TEST(memory_of_the_receiver_is_not_read)
{
	struct dtconv_type *type = fixture_type("contiguous(1000, double)");
	struct dtconv_ipc_handle handle;
	struct arena own, to;

	open_scene();
	arena_open(&own, ARENA_DEVICE, STREAM);
	arena_open(&to, ARENA_DEVICE, STREAM);
	fixture_ok(dtconv_ipc_export(fixture_context, own.memory, STREAM, &handle));
	fixture_ok(dtconv_channel_recv(party.channel, 0, type, 1, to.memory, see,
				       &outcomes[0]));
	liar_progress(1);
	push_offer(0, 0, type, &handle);
	liar_progress(5);
	expect_answer(DTC_WIRE_GO, 0);
	arena_close(&own);
	dtconv_type_unref(type);
	liar_close();
	arena_close(&to);
	owner_free(&owner, 0);
	owner_end(&owner);
}
END_TEST

/* ---- a receiver that lies ---------------------------------------------------------------------------- */

static void answer(enum dtc_wire_kind kind, int status)
{
	liar_push((struct dtc_wire_header){ .kind = kind, .status = status });
}

/* An offer of this process's memory. */
static void begin_send(struct arena *from)
{
	struct dtconv_type *type = fixture_type("vector(1000, 1, 2, double)");
	struct dtc_wire_header header;

	arena_open(from, ARENA_DEVICE, FROM);
	fixture_ok(dtconv_channel_send(party.channel, 3, type, 1, from->memory, see,
				       &outcomes[0]));
	liar_progress(5);
	ck_assert_uint_eq(read_answer(&header), 1);
	ck_assert_int_eq(header.kind, DTC_WIRE_MESSAGE);
	ck_assert_uint_gt(header.offer, 0);
	dtconv_type_unref(type);
}

START_TEST(the_receiver_says_how_its_copy_has_ended)
{
	const int status = _i ? DTCONV_ERR_BACKEND : 0;
	struct arena from;

	open_scene();
	begin_send(&from);
	answer(DTC_WIRE_TAKEN, status);
	ck_assert_int_eq(outcomes[0].calls, 1);
	ck_assert_int_eq(outcomes[0].status, status);
	ck_assert_uint_eq(outcomes[0].moved, status ? 0 : STREAM);
	ck_assert_uint_eq(party_query(&party).sent_direct, !status);
	ck_assert_int_eq(party_query(&party).state, DTCONV_CHANNEL_OPEN);
	/* No END follows, and the slot is free. */
	expect_answer(DTC_WIRE_MESSAGE, 0);
	arena_close(&from);
	close_scene();
}
END_TEST

START_TEST(an_answer_that_does_not_fit_ends_the_channel)
{
	static const enum dtc_wire_kind answers[][2] = {
		{ DTC_WIRE_TAKEN, DTC_WIRE_TAKEN },
		{ DTC_WIRE_TAKEN, DTC_WIRE_GO },
		{ DTC_WIRE_GO, DTC_WIRE_TAKEN },
	};
	struct arena from;

	open_scene();
	begin_send(&from);
	answer(answers[_i][0], 0);
	ck_assert_int_eq(party_query(&party).state, DTCONV_CHANNEL_OPEN);
	answer(answers[_i][1], 0);
	liar_expect_end(DTCONV_ERR_FORMAT);
	/* After GO the device may be packing. */
	wait_for(1);
	arena_close(&from);
	close_scene();
}
END_TEST

/* A send of offered memory ends at once with its channel. */
START_TEST(a_send_ends_with_its_channel)
{
	struct arena from;

	open_scene();
	begin_send(&from);
	const int status = end_somehow(_i);
	liar_progress(200);
	ck_assert_int_eq(outcomes[0].calls, 1);
	ck_assert_int_eq(outcomes[0].status, status);
	arena_close(&from);
	close_scene();
}
END_TEST

/* The first header that the honest end posts after @before others and that is an offer or a fragment. */
static struct dtc_wire_header await_offer_or_data(uint64_t before)
{
	struct dtc_wire_header header = { 0 };

	while (read_answer(&header) == before ||
	       (header.kind != DTC_WIRE_DATA && !header.offer))
		liar_progress(1);
	return header;
}

/* A message of one fragment, which the liar stages. Returns whether it was offered. */
static bool send_one(struct dtconv_type *type, const struct arena *from)
{
	struct dtc_wire_header header;
	const uint64_t before = read_answer(&header);

	outcomes[0] = (struct outcome){ 0 };
	fixture_ok(dtconv_channel_send(party.channel, 3, type, 1, from->memory, see,
				       &outcomes[0]));
	header = await_offer_or_data(before);
	const bool offered = header.offer;
	if (offered) {
		/* Nothing is sent before the answer. */
		liar_progress(20);
		MUST(CtxSynchronize());
		liar_progress(20);
		ck_assert_uint_eq(read_answer(&header), before + 1);
	}
	answer(DTC_WIRE_GO, 0);
	while (header.kind != DTC_WIRE_DATA)
		header = await_offer_or_data(before + 1);
	liar_push((struct dtc_wire_header){ .kind = DTC_WIRE_RETURN,
					    .fragment = header.fragment });
	while (!outcomes[0].calls)
		liar_progress(1);
	ck_assert_int_eq(outcomes[0].status, 0);
	return offered;
}

/* A peer that stages short messages is not asked each time. Long ones lose little by an offer. */
START_TEST(short_messages_are_offered_now_and_then)
{
	struct dtconv_type *type, *longer;
	struct arena from;

	open_scene();
	type = fixture_type("vector(2, 1, 2, double)");
	longer = fixture_type("vector(30, 1, 2, double)");
	arena_open(&from, ARENA_DEVICE, FROM);
	for (int round = 0; round < 2; round++) {
		ck_assert(send_one(type, &from));
		for (int i = 0; i < 32; i++)
			ck_assert(!send_one(type, &from));
	}
	ck_assert(send_one(type, &from));
	ck_assert(send_one(longer, &from));
	arena_close(&from);
	dtconv_type_unref(type);
	dtconv_type_unref(longer);
	close_scene();
}
END_TEST

int main(void)
{
	setenv("CK_FORK", "yes", 1);
	Suite *suite = suite_create("direct peer");
	TCase *copies = fixture_case(suite, "copies", 60);
	TCase *ends = fixture_case(suite, "ends", 60);
	TCase *answers = fixture_case(suite, "answers", 60);

	gpu_find();
	/* Copies are held, and calls are refused, on the stand-in only. */
	if (gpu_is_real())
		return 77;
	tcase_add_test(copies, the_sender_is_told_when_the_copy_has_ended);
	tcase_add_test(copies, many_copies_are_under_way);
	tcase_add_test(copies, layouts_come_again);
	tcase_add_test(ends, memory_runs_out_at_any_allocation);
	tcase_add_loop_test(ends, a_copy_in_flight_is_never_abandoned, 0, 10);
	tcase_add_test(ends, a_device_that_fails_ends_the_message_at_both_ends);
	tcase_add_loop_test(ends, a_call_that_is_refused_leads_to_staging, 0, 2);
	tcase_add_test(ends, a_copy_in_two_steps_is_staged);
	tcase_add_test(ends, memory_of_the_receiver_is_not_read);
	tcase_add_loop_test(answers, the_receiver_says_how_its_copy_has_ended, 0, 2);
	tcase_add_loop_test(answers, an_answer_that_does_not_fit_ends_the_channel, 0, 3);
	tcase_add_loop_test(answers, a_send_ends_with_its_channel, 0, 2);
	tcase_add_test(answers, short_messages_are_offered_now_and_then);
	return fixture_run(suite);
}
