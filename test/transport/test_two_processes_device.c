/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Channels between two processes with buffers on a device at one end or at both. Each process opens the driver after
 * the fork, and registers its own slab and its peer's. Drivers that refuse one or the other, and devices that fail
 * while messages are under way, at the sender and at the receiver.
 */
#include "config.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exchange.h"
#include "process.h"
#include "support/fixture.h"
#include "support/gpu.h"

#define MESSAGES  4
#define BLOCKS    3000
#define USER      ((size_t)BLOCKS * 16)
#define STREAM    ((size_t)BLOCKS * 8)
#define LAST      99 /* the tag of the last message */

/* What goes wrong in a process. */
enum fault {
	NO_FAULT,
	OWN_SLAB,  /* the driver refuses to register it */
	PEER_SLAB, /* that of the peer */
	BOTH_SLABS,
	IMPORT, /* the driver refuses to map the peer's slab, which is a device's */
	DEVICE  /* the device context fails */
};

/* One process's part. */
struct part {
	bool is_on_device; /* its buffers */
	bool stages_on_device;
	int device;
	enum fault fault;
	size_t steps; /* DEVICE: so many things happen before it fails */
	size_t fragments;
};

struct outcome {
	int calls, status;
	size_t moved;
};

struct process {
	const struct part *part;
	unsigned side;
	struct party party;
	struct dtconv_type *blocks, *bytes;
	struct arena from[MESSAGES], to[MESSAGES];
	struct outcome sent[MESSAGES], received[MESSAGES];
	size_t registered; /* before the channel was opened */
};

static struct process it;
static unsigned char memory[USER];

static void see(void *arg, int status, size_t moved)
{
	struct outcome *outcome = arg;

	outcome->calls++;
	outcome->status = status;
	outcome->moved = moved;
}

static unsigned char pattern(unsigned side, int m, size_t i)
{
	return (unsigned char)(i * 7 + i / 251 + side * 31 + (unsigned)m * 57);
}

/* ---- a process ----------------------------------------------------------------------------- */

static size_t registrations(void)
{
	return gpu.standin ? gpu.standin->calls("cuMemHostRegister") -
				     gpu.standin->calls("cuMemHostUnregister")
			   : 0;
}

/* Over a network there is no slab of the peer's to register. */
static enum fault fault_of(const struct part *part)
{
	if (bed_maps_peer())
		return part->fault;
	return part->fault == PEER_SLAB    ? NO_FAULT
	       : part->fault == BOTH_SLABS ? OWN_SLAB
					   : part->fault;
}

static void refuse_registrations(enum fault fault)
{
	if (fault == OWN_SLAB || fault == BOTH_SLABS)
		gpu.standin->inject("cuMemHostRegister", 1, CUDA_ERROR_OUT_OF_MEMORY);
	if (fault == PEER_SLAB || fault == BOTH_SLABS)
		gpu.standin->inject("cuMemHostRegister", 2, CUDA_ERROR_OUT_OF_MEMORY);
	if (fault == IMPORT)
		gpu.standin->inject("cuMemImportFromShareableHandle", 1,
				    CUDA_ERROR_UNKNOWN);
}

/* The first pool opens the device context, whose own memory is registered too. */
static void open_context(void)
{
	const struct dtconv_pool_params small = { .struct_size = sizeof(small),
						  .fragment_bytes = 4096,
						  .slab_bytes = 4096 };
	struct dtconv_pool *pool;

	exchange_must(!dtconv_context_create(NULL, &it.party.context), "context");
	exchange_must(!dtconv_engine_create(it.party.context, NULL, &it.party.engine),
		      "engine");
	exchange_must(!dtconv_pool_create(it.party.context, &small, &pool), "pool");
	it.registered = registrations() - 1;
	exchange_must(!dtconv_pool_destroy(pool), "pool's end");
	/* The worker unregisters it. */
	while (gpu.standin && registrations() != it.registered)
		sched_yield();
}

static void open_channel(int socket)
{
	struct dtconv_channel_params params = { .struct_size = sizeof(params),
						.fragments = it.part->fragments,
						.fragment_bytes = 4096,
						.device = it.part->device,
						.kind = it.part->stages_on_device
								? DTCONV_MEMORY_DEVICE
								: DTCONV_MEMORY_PINNED };

	it.party.bed = bed_open(it.party.context);
	params.transport = bed_transport(it.party.bed);
	refuse_registrations(fault_of(it.part));
	exchange_must(!dtconv_channel_open(it.party.engine, socket, &params,
					   &it.party.channel),
		      "open");
}

static void open_buffers(void)
{
	const enum arena_kind kind = it.part->is_on_device ? ARENA_DEVICE : ARENA_HOST;

	it.blocks = fixture_type_in(it.party.context, "vector(3000, 1, 2, double)");
	it.bytes = fixture_type_in(it.party.context, "contiguous(3000, double)");
	for (int m = 0; m < MESSAGES; m++) {
		arena_open(&it.from[m], kind, USER);
		arena_open(&it.to[m], kind, USER);
		for (size_t i = 0; i < USER; i++)
			memory[i] = pattern(it.side, m, i);
		arena_write(&it.from[m], 0, memory, USER);
		memset(memory, 0xee, USER);
		arena_write(&it.to[m], 0, memory, USER);
	}
}

/* Even messages are contiguous at the receiver, odd ones at the sender. */
static void start(void)
{
	for (int m = 0; m < MESSAGES; m++) {
		const uint64_t tag = (uint64_t)m;

		exchange_must(!dtconv_channel_recv(it.party.channel, tag,
						   m % 2 ? it.blocks : it.bytes, 1,
						   it.to[m].memory, see, &it.received[m]),
			      "receive");
		exchange_must(!dtconv_channel_send(it.party.channel, tag,
						   m % 2 ? it.bytes : it.blocks, 1,
						   it.from[m].memory, see, &it.sent[m]),
			      "send");
	}
}

static bool is_done(void)
{
	for (int m = 0; m < MESSAGES; m++)
		if (!it.sent[m].calls || !it.received[m].calls)
			return false;
	return true;
}

static void fail_device(void)
{
	CUcontext context;

	MUST(CtxGetCurrent(&context));
	gpu.standin->poison(context, CUDA_ERROR_ECC_UNCORRECTABLE);
}

/* Progress, and whether the part's device is to fail now. */
static bool step(size_t *happened)
{
	const size_t worked = party_progress(&it.party);

	if (!worked)
		sched_yield();
	*happened += worked;
	return it.part->fault == DEVICE && *happened >= it.part->steps;
}

static void drive(void)
{
	size_t happened = 0;

	while (!is_done() && it.part->fault != DEVICE)
		party_sleep(&it.party);
	while (!is_done() && !step(&happened))
		;
	if (it.part->fault == DEVICE)
		fail_device();
	while (!is_done())
		(void)step(&happened);
}

/*
 * A message each way between host buffers, when all others have ended here: so they end at both ends while the channel is
 * open. Where a device has taken all fragments, the channel has ended.
 */
static void finish(void)
{
	static char out[8], in[8];
	struct dtconv_type *byte = dtconv_type_predefined(it.party.context, DTCONV_BYTE);
	struct outcome sent = { .calls = 0 }, received = { .calls = 0 };
	size_t happened = 0;

	if (!dtconv_channel_recv(it.party.channel, LAST, byte, 8, in, see, &received) &&
	    !dtconv_channel_send(it.party.channel, LAST, byte, 8, out, see, &sent))
		while (!sent.calls || !received.calls)
			(void)step(&happened);
}

static void check_bytes(int m)
{
	arena_read(&it.to[m], 0, memory, USER);
	for (size_t i = 0; i < USER; i++) {
		const size_t at = i / 16 * 8 + i % 16; /* in the stream */
		const bool is_data = m % 2 ? i % 16 < 8 && i < USER - 8 : i < STREAM;
		const size_t in_source = m % 2 ? at : i / 8 * 16 + i % 8;
		const unsigned char right = is_data ? pattern(!it.side, m, in_source)
						    : 0xee;

		exchange_must(memory[i] == right, "the right byte");
	}
}

/* With a fault of the device somewhere, those that have succeeded are right nevertheless. */
static void check(bool device_fails)
{
	for (int m = 0; m < MESSAGES; m++) {
		const struct outcome *ends[2] = { &it.sent[m], &it.received[m] };

		for (int i = 0; i < 2; i++) {
			const int status = ends[i]->status;

			exchange_must(ends[i]->calls == 1, "one call");
			exchange_must(!status ? ends[i]->moved == STREAM : device_fails,
				      "all of it");
			/* Without a device, the peer's staging memory cannot be mapped. */
			exchange_must(!status || status == DTCONV_ERR_BACKEND ||
					      status == DTCONV_ERR_PEER ||
					      (it.part->stages_on_device &&
					       status == DTCONV_ERR_UNSUPPORTED),
				      "a status");
		}
		if (!it.received[m].status && it.part->fault != DEVICE)
			check_bytes(m);
	}
}

static void check_registrations(bool stages_on_device)
{
	const enum fault fault = fault_of(it.part);
	const bool peers = fault != PEER_SLAB && fault != BOTH_SLABS;
	const bool own = fault != OWN_SLAB && fault != BOTH_SLABS;

	if (fault == DEVICE || fault == IMPORT)
		return;
	/* Over a network, what arrives lies in the own slab. */
	exchange_must(party_query(&it.party).peer_is_pinned ==
			      (bed_maps_peer() ? peers : own),
		      "the slab of what arrives");
	if (stages_on_device)
		return;
	/* Where one is refused, the library registers buffers of its own. */
	exchange_must(!gpu.standin || fault != NO_FAULT ||
			      registrations() ==
				      it.registered + 1 + (size_t)bed_maps_peer(),
		      "all slabs");
	exchange_must(!gpu.standin || gpu.standin->fired() == !peers + (unsigned)!own,
		      "the refusals");
}

static void close_process(void)
{
	struct dtconv_channel *channel = it.party.channel;

	exchange_must(!dtconv_channel_close(channel), "close");
	while (party_query(&it.party).operations)
		(void)party_progress(&it.party);
	exchange_must(it.part->fault == DEVICE ||
			      party_query(&it.party).free == it.part->fragments,
		      "all fragments");
	exchange_must(!dtconv_channel_destroy(channel), "destroy");
	exchange_must(!dtconv_engine_destroy(it.party.engine), "engine's end");
	bed_close(it.party.bed);
	for (int m = 0; it.part->fault != DEVICE && m < MESSAGES; m++) {
		arena_close(&it.from[m]);
		arena_close(&it.to[m]);
	}
	dtconv_type_unref(it.blocks);
	dtconv_type_unref(it.bytes);
	dtconv_context_destroy(it.party.context);
	if (it.part->fault == DEVICE)
		return;
	exchange_must(process_mappings() == 0, "no mapping");
	if (it.part->device)
		MUST(DevicePrimaryCtxRelease(it.part->device));
	gpu_must_be_clean("a channel");
}

static void use_device(int device)
{
	CUcontext context;

	if (!device)
		return;
	MUST(DevicePrimaryCtxRetain(&context, device));
	MUST(CtxSetCurrent(context));
}

static void run(int socket, unsigned side, const struct part parts[2])
{
	memset(&it, 0, sizeof(it));
	if (side)
		bed_swap();
	it.side = side;
	it.part = &parts[side];
	gpu_open();
	use_device(it.part->device);
	open_context();
	open_buffers();
	open_channel(socket);
	start();
	drive();
	finish();
	check(parts[0].fault >= IMPORT || parts[1].fault >= IMPORT);
	check_registrations(parts[0].stages_on_device || parts[1].stages_on_device);
	close_process();
}

static void run_both(struct part parts[2], size_t fragments)
{
	int sockets[2], status;

	parts[0].fragments = parts[1].fragments = fragments;
	party_sockets(sockets);
	pid_t child = fork();
	ck_assert_int_ge(child, 0);
	if (!child) {
		close(sockets[0]);
		run(sockets[1], 1, parts);
		_exit(0);
	}
	close(sockets[1]);
	run(sockets[0], 0, parts);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
}

/* ---- the tests ------------------------------------------------------------------------------- */

/* Asked in a process of its own: one that is forked from one with a driver has none. */
static bool has_device(int device)
{
	int status, devices = 0;
	pid_t child = fork();

	if (!child) {
		gpu_open();
		MUST(DeviceGetCount(&devices));
		_exit(device < devices);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	return WEXITSTATUS(status);
}

START_TEST(buffers_are_on_a_device_at_either_end_or_both)
{
	struct part parts[2] = { { .is_on_device = _i & 1 },
				 { .is_on_device = _i >> 1 } };

	run_both(parts, 3);
}
END_TEST

/* Then devices read through staging buffers, and everything arrives. */
START_TEST(drivers_may_refuse_either_slab_at_either_end)
{
	struct part parts[2] = { { .is_on_device = true, .fault = (enum fault)(_i % 4) },
				 { .is_on_device = _i / 4 % 2,
				   .fault = (enum fault)(_i / 8) } };

	if (gpu_is_real())
		return;
	run_both(parts, 3);
}
END_TEST

/* Every message ends at both ends, and nothing wrong is taken for right. */
START_TEST(a_device_fails_at_any_stage)
{
	struct part parts[2] = { { .is_on_device = true }, { .is_on_device = true } };

	parts[_i % 2].fault = DEVICE;
	parts[_i % 2].steps = (size_t)_i * 3;
	if (gpu_is_real())
		return;
	run_both(parts, _i % 4 < 2 ? 3 : 40);
}
END_TEST

/* Case: which buffers, and which staging memory, are on a device; and the second process's device. */
START_TEST(staging_memory_may_be_a_device_s)
{
	struct part parts[2] = {
		{ .is_on_device = _i & 1, .stages_on_device = _i & 4 },
		{ .is_on_device = _i & 2,
		  .stages_on_device = !(_i & 4) || _i & 8,
		  .device = _i >> 4 },
	};

	if (bed_maps_peer() && has_device(parts[1].device))
		run_both(parts, 3);
}
END_TEST

/* Both ends end, with a status and everything given back; the process that cannot map says why. */
START_TEST(a_refused_mapping_of_a_device_s_slab_ends_the_channel)
{
	struct part parts[2] = { { .is_on_device = true, .stages_on_device = true },
				 { .is_on_device = true, .stages_on_device = true } };

	parts[_i].fault = IMPORT;
	if (bed_maps_peer() && !gpu_is_real())
		run_both(parts, 3);
}
END_TEST

START_TEST(a_device_with_staging_memory_fails_at_any_stage)
{
	struct part parts[2] = { { .is_on_device = true, .stages_on_device = true },
				 { .is_on_device = true, .stages_on_device = true } };

	parts[_i % 2].fault = DEVICE;
	parts[_i % 2].steps = (size_t)_i * 3;
	if (bed_maps_peer() && !gpu_is_real())
		run_both(parts, 3);
}
END_TEST

int main(void)
{
	setenv("CK_FORK", "yes", 1);
	Suite *suite = suite_create("two processes with a device");
	TCase *whole = fixture_case(suite, "whole", 120);
	TCase *faults = fixture_case(suite, "faults", 120);

	gpu_find();
	tcase_add_loop_test(whole, buffers_are_on_a_device_at_either_end_or_both, 0, 4);
	tcase_add_loop_test(faults, drivers_may_refuse_either_slab_at_either_end, 0, 32);
	tcase_add_loop_test(faults, a_device_fails_at_any_stage, 0, 24);
	tcase_add_loop_test(whole, staging_memory_may_be_a_device_s, 0, 32);
	tcase_add_loop_test(faults, a_refused_mapping_of_a_device_s_slab_ends_the_channel,
			    0, 2);
	tcase_add_loop_test(faults, a_device_with_staging_memory_fails_at_any_stage, 0,
			    16);
	return fixture_run(suite);
}
