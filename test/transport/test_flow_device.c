/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The flow between buffers on a device: copies that are in flight for long, cancelled meanwhile, lost with their
 * context, or without a free event.
 */
#include "config.h"

#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include <dtconv/dtconv.h>

#include "base/clock.h"
#include "loopback.h"
#include "support/fixture.h"
#include "support/gpu.h"
#include "transport_glue/engine_state.h"

#define BLOCKS    5000
#define USER      ((size_t)BLOCKS * 16)
#define STREAM    ((size_t)BLOCKS * 8)
#define FRAGMENTS 6

struct message {
	struct dtconv_engine *engine;
	struct dtconv_pool *pool;
	struct dtconv_type *type;
	struct loopback link;
	unsigned source; /* number of the link in the engine */
	struct arena from, to;
	CUstream stream;
	struct dtconv_convertor *packs, *unpacks;
	struct dtconv_send *send;
	struct dtconv_recv *recv;
	int sent, received, send_status, recv_status;
};

static struct message it;
static unsigned char bytes[USER], blank[USER], seen[USER];

static void see_sent(void *arg, int status, size_t moved)
{
	(void)arg;
	(void)moved;
	it.sent++;
	it.send_status = status;
}

static void see_received(void *arg, int status, size_t moved)
{
	(void)arg;
	(void)moved;
	it.received++;
	it.recv_status = status;
}

static void attach_link(void)
{
	const struct dtconv_source source = { -1, loopback_poll, NULL, &it.link };

	fixture_ok(dtconv_engine_attach(it.engine, &source, &it.source));
}

static void open_message(enum dtconv_memory_kind pool_kind, bool in_stream)
{
	const struct dtconv_pool_params pool_params = { .struct_size =
								sizeof(pool_params),
							.kind = pool_kind,
							.fragment_bytes = 4096,
							.slab_bytes = FRAGMENTS * 4096 };
	const struct loopback_faults faults = { .delay = 3, .duplicate = 4, .split = 3 };
	memset(&it, 0, sizeof(it));
	for (size_t i = 0; i < USER; i++)
		bytes[i] = (unsigned char)(i * 7 + i / 251);
	memset(blank, 0xee, USER);
	fixture_ok(dtconv_engine_create(fixture_context, NULL, &it.engine));
	fixture_ok(dtconv_pool_create(fixture_context, &pool_params, &it.pool));
	it.type = fixture_type("vector(5000, 1, 2, double)");
	arena_open(&it.from, ARENA_DEVICE, USER);
	arena_open(&it.to, ARENA_DEVICE, USER);
	arena_write(&it.from, 0, bytes, USER);
	arena_write(&it.to, 0, blank, USER);
	it.stream = gpu_stream();
	struct dtconv_convertor_params params = { .struct_size = sizeof(params) };
	const struct dtconv_convertor_params streamed = fixture_in_stream(it.stream);
	it.packs = fixture_packer(it.type, 1, it.from.memory,
				  in_stream ? &streamed : &params);
	it.unpacks = fixture_unpacker(it.type, 1, it.to.memory, &params);
	loopback_open(&it.link, &faults, 1);
	it.link.bytes = STREAM;
	attach_link();
}

static void start(void)
{
	const struct dtconv_recv_params to = { .struct_size = sizeof(to),
					       .done = see_received };
	const struct dtconv_send_params from = { .struct_size = sizeof(from),
						 .pool = it.pool,
						 .emit = loopback_emit,
						 .arg = &it.link,
						 .done = see_sent,
						 .depth = FRAGMENTS };

	fixture_ok(dtconv_recv_start(it.engine, &to, it.unpacks, &it.recv));
	it.link.recv = it.recv;
	fixture_ok(dtconv_send_start(it.engine, &from, it.packs, &it.send));
}

static struct dtconv_pool_attr attr_of_pool(void)
{
	struct dtconv_pool_attr attr = { .struct_size = sizeof(attr) };

	fixture_ok(dtconv_pool_query(it.pool, &attr));
	ck_assert_uint_eq(attr.free + attr.out + attr.abandoned, attr.fragments);
	return attr;
}

static void progress(void)
{
	fixture_ok(dtconv_engine_progress(it.engine, 0, NULL));
}

/* Sleeps until the engine has something to do, or its timer looks at the device. */
static void sleep_a_while(void)
{
	struct pollfd file = { .fd = dtconv_engine_fd(it.engine), .events = POLLIN };

	if (!dtconv_engine_arm(it.engine))
		ck_assert_int_eq(poll(&file, 1, 20000), 1);
}

static void drive(void)
{
	int quiet = 0;

	while (!it.sent || !it.received || !loopback_is_idle(&it.link)) {
		progress();
		sleep_a_while();
		quiet = it.sent && loopback_is_idle(&it.link) ? quiet + 1 : 0;
		if (quiet > 3 && !it.received && it.send_status)
			(void)dtconv_recv_fail(it.recv, DTCONV_ERR_PEER);
	}
	ck_assert_int_eq(it.sent, 1);
	ck_assert_int_eq(it.received, 1);
	ck_assert_uint_eq(attr_of_pool().out, 0);
}

static void check_bytes(void)
{
	ck_assert_int_eq(it.send_status, 0);
	ck_assert_int_eq(it.recv_status, 0);
	arena_read(&it.to, 0, seen, USER);
	for (size_t i = 0; i < USER; i++)
		ck_assert_uint_eq(seen[i], i % 16 < 8 && i < USER - 8 ? bytes[i] : 0xee);
}

static void close_engine(void)
{
	fixture_ok(dtconv_send_destroy(it.send));
	fixture_ok(dtconv_recv_destroy(it.recv));
	ck_assert(loopback_close(&it.link));
	fixture_ok(dtconv_engine_destroy(it.engine));
}

static void close_buffers(void)
{
	fixture_ok(dtconv_pool_destroy(it.pool));
	dtconv_convertor_destroy(it.packs);
	dtconv_convertor_destroy(it.unpacks);
	dtconv_type_unref(it.type);
}

static void close_message(void)
{
	close_engine();
	close_buffers();
}

static void close_arenas(void)
{
	MUST(StreamDestroy(it.stream));
	arena_close(&it.from);
	arena_close(&it.to);
}

static const enum dtconv_memory_kind kinds[] = { DTCONV_MEMORY_PINNED,
						 DTCONV_MEMORY_DEVICE,
						 DTCONV_MEMORY_HOST };

START_TEST(device_buffers_go_through_every_kind_of_pool)
{
	open_message(kinds[_i], false);
	start();
	drive();
	check_bytes();
	close_message();
	close_arenas();
}
END_TEST

/* The caller's stream is busy: nothing is emitted before it, and the thread sleeps. */
START_TEST(a_send_in_a_stream_waits_for_the_stream)
{
	struct spin spin;

	open_message(kinds[_i], true);
	spin_begin(&spin, it.stream);
	start();
	for (int i = 0; i < 5; i++) {
		progress();
		sleep_a_while();
	}
	ck_assert_uint_eq(it.link.emitted, 0);
	ck_assert_uint_eq(attr_of_pool().out, FRAGMENTS);
	spin_release(&spin);
	drive();
	check_bytes();
	spin_end(&spin);
	close_message();
	close_arenas();
}
END_TEST

START_TEST(a_cancelled_send_waits_for_the_device)
{
	struct spin spin;

	open_message(DTCONV_MEMORY_PINNED, true);
	spin_begin(&spin, it.stream);
	start();
	progress();
	fixture_ok(dtconv_send_cancel(it.send));
	for (int i = 0; i < 5; i++) {
		progress();
		sleep_a_while();
	}
	/* The device may still write to them. */
	ck_assert_int_eq(it.sent, 0);
	ck_assert_uint_eq(attr_of_pool().out, FRAGMENTS);
	spin_release(&spin);
	drive();
	ck_assert_int_eq(it.send_status, DTCONV_ERR_CANCELED);
	ck_assert_uint_eq(it.link.emitted, 0);
	ck_assert_uint_eq(attr_of_pool().free, FRAGMENTS);
	spin_end(&spin);
	close_message();
	close_arenas();
}
END_TEST

/* The context breaks while copies are in flight: each operation ends once, and their fragments are not used again. */
START_TEST(a_lost_context_abandons_what_it_may_write)
{
	struct spin spin;
	CUcontext current;

	if (!gpu.standin)
		return;
	open_message(DTCONV_MEMORY_PINNED, true);
	MUST(CtxGetCurrent(&current));
	spin_begin(&spin, it.stream);
	start();
	progress();
	ck_assert_uint_eq(attr_of_pool().out, FRAGMENTS);
	gpu.standin->poison(current, CUDA_ERROR_LAUNCH_FAILED);
	spin_release(&spin);
	drive();
	ck_assert_int_eq(it.send_status, DTCONV_ERR_BACKEND);
	ck_assert_int_eq(it.recv_status, DTCONV_ERR_PEER);
	ck_assert_uint_eq(attr_of_pool().abandoned, FRAGMENTS);
	ck_assert_uint_eq(attr_of_pool().free, 0);
	close_message();
}
END_TEST

/* All 8192 events of the device context are in use: the send goes on when one is free. */
START_TEST(a_send_waits_for_a_free_event)
{
	enum { MOST = 8400 };
	struct dtconv_flight *flights = calloc(MOST, sizeof(*flights));
	struct spin spin;
	size_t count = 0;

	open_message(DTCONV_MEMORY_PINNED, false);
	struct dtconv_convertor_params params = fixture_in_stream(it.stream);
	struct arena packed;
	arena_open(&packed, ARENA_DEVICE, 4096);
	struct dtconv_convertor *other =
		fixture_packer(it.type, 1, it.from.memory, &params);
	spin_begin(&spin, it.stream);
	if (gpu.standin)
		gpu.standin->set(STANDIN_QUEUED, 100000);
	while (count < MOST &&
	       !dtconv_flight_start(other, &flights[count], 0, packed.memory, 64))
		count++;
	ck_assert_uint_lt(count, MOST);
	start();
	for (int i = 0; i < 5; i++) {
		progress();
		sleep_a_while();
	}
	ck_assert_uint_eq(it.link.emitted, 0);
	ck_assert_uint_eq(attr_of_pool().out, 0);
	ck_assert_int_eq(it.sent + it.received, 0);
	spin_release(&spin);
	for (size_t i = 0; i < count; i++)
		fixture_ok(dtconv_flight_wait(&flights[i], NULL));
	drive();
	check_bytes();
	spin_end(&spin);
	dtconv_convertor_destroy(other);
	arena_close(&packed);
	free(flights);
	close_message();
	close_arenas();
}
END_TEST

/* ---- convertors ------------------------------------------------------------------------- */

/* A convertor that is destroyed lives until the operation is done, and is nobody else's until then. */
START_TEST(a_convertor_in_use_is_neither_bound_nor_freed)
{
	struct spin spin;

	open_message(DTCONV_MEMORY_PINNED, true);
	spin_begin(&spin, it.stream);
	start();
	for (int i = 0; i < 2; i++) {
		fixture_status(dtconv_convertor_rebind_pack(it.packs, it.type, 1,
							    it.from.memory),
			       DTCONV_ERR_STATE);
		fixture_status(dtconv_convertor_seek(it.packs, 0), DTCONV_ERR_STATE);
		progress();
	}
	dtconv_convertor_destroy(it.packs);
	dtconv_convertor_destroy(it.unpacks);
	it.packs = it.unpacks = NULL;
	progress();
	spin_release(&spin);
	drive();
	check_bytes();
	spin_end(&spin);
	close_message();
	close_arenas();
}
END_TEST

/* ---- sleeping -------------------------------------------------------------------------- */

/*
 * A send whose kernels wait in a stream of the library's, because one of the caller's runs: the stand-in runs one at a
 * time. Without the link, which has no descriptor, nothing is polled but flights.
 */
static void open_blocked(struct spin *spin)
{
	const struct dtconv_convertor_params params = fixture_by("cuda_kernel");

	open_message(DTCONV_MEMORY_PINNED, false);
	fixture_ok(dtconv_engine_detach(it.engine, it.source));
	dtconv_convertor_destroy(it.packs);
	it.packs = fixture_packer(it.type, 1, it.from.memory, &params);
	fixture_ok(dtconv_prepare(fixture_context, 0, it.type, 1, &params));
	gpu.standin->set(STANDIN_SPIN_KERNELS, 1);
	spin_begin(spin, it.stream);
	start();
}

/* For cases that share the process. */
static void run_many_kernels(void)
{
	gpu.standin->set(STANDIN_SPIN_KERNELS, 128);
}

static void arm(void)
{
	progress();
	for (int i = 0; dtconv_engine_arm(it.engine); i++) {
		ck_assert_int_lt(i, 1000);
		progress();
	}
}

static bool is_readable(int fd, int timeout_ms)
{
	struct pollfd file = { .fd = fd, .events = POLLIN };

	return poll(&file, 1, timeout_ms);
}

/* While the copies run only the backstop wakes the thread, every 10 ms; then the alarm does. One is enough for all. */
START_TEST(a_sleeper_wakes_when_a_copy_ends)
{
	struct spin spin;

	if (!gpu.standin)
		return;
	open_blocked(&spin);
	const size_t before = gpu.standin->calls("cuLaunchHostFunc");
	const uint64_t begun = dtc_now_ns();
	for (int i = 0; i < 3; i++) {
		arm();
		ck_assert(is_readable(dtconv_engine_fd(it.engine), 20000));
	}
	ck_assert_uint_ge(dtc_now_ns() - begun, 30000000);
	ck_assert_uint_eq(gpu.standin->calls("cuLaunchHostFunc"), before + 1);
	arm();
	ck_assert(!is_readable(it.engine->event, 0));
	spin_release(&spin);
	ck_assert(is_readable(it.engine->event, 20000));
	attach_link();
	drive();
	check_bytes();
	spin_end(&spin);
	run_many_kernels();
	close_message();
	close_arenas();
}
END_TEST

START_TEST(the_backstop_wakes_after_a_device_error)
{
	struct spin spin;
	CUcontext current;

	if (!gpu.standin)
		return;
	open_blocked(&spin);
	arm();
	ck_assert_uint_eq(gpu.standin->calls("cuLaunchHostFunc"), 1);
	MUST(CtxGetCurrent(&current));
	gpu.standin->poison(current, CUDA_ERROR_LAUNCH_FAILED);
	ck_assert(is_readable(dtconv_engine_fd(it.engine), 20000));
	ck_assert(!is_readable(it.engine->event, 0));
	attach_link();
	drive();
	ck_assert_int_eq(it.send_status, DTCONV_ERR_BACKEND);
	ck_assert_uint_eq(attr_of_pool().abandoned, FRAGMENTS);
	close_message();
}
END_TEST

/* An alarm waits for all that the stream has been given, so it may outlive the operation, and with it the engine. */
START_TEST(an_engine_is_destroyed_before_its_alarm_rings)
{
	const struct dtconv_convertor_params params = fixture_by("cuda_kernel");
	const struct dtconv_convertor_params copies = fixture_by("cuda_copy");
	struct dtconv_flight behind;
	struct arena packed;
	struct spin spin;

	if (!gpu.standin)
		return;
	open_message(DTCONV_MEMORY_PINNED, false);
	fixture_ok(dtconv_engine_detach(it.engine, it.source));
	dtconv_convertor_destroy(it.packs);
	dtconv_convertor_destroy(it.unpacks);
	it.packs = fixture_packer(it.type, 1, it.from.memory, &copies);
	it.unpacks = fixture_unpacker(it.type, 1, it.to.memory, &copies);
	arena_open(&packed, ARENA_PINNED, STREAM);
	struct dtconv_convertor *other =
		fixture_packer(it.type, 1, it.from.memory, &params);
	fixture_ok(dtconv_prepare(fixture_context, 0, it.type, 1, &params));
	gpu.standin->set(STANDIN_SPIN_KERNELS, 1);
	spin_begin(&spin, it.stream);
	/* The send's copies are the driver's, which the kernel does not hold up; but they take their time. */
	gpu.standin->set(STANDIN_DELAY_US, 200000);
	start();
	progress();
	fixture_ok(dtconv_flight_start(other, &behind, 0, packed.memory, STREAM));
	(void)dtconv_engine_arm(it.engine);
	gpu.standin->set(STANDIN_DELAY_US, 20);
	/* What it has not launched yet would be behind the other flight. */
	fixture_ok(dtconv_send_cancel(it.send));
	attach_link();
	drive();
	close_engine();
	spin_release(&spin);
	fixture_ok(dtconv_flight_wait(&behind, NULL));
	while (gpu.standin->pending())
		sched_yield();
	spin_end(&spin);
	run_many_kernels();
	dtconv_convertor_destroy(other);
	close_buffers();
	arena_close(&packed);
	close_arenas();
}
END_TEST

/* ---- long messages ------------------------------------------------------------------------ */

#define LONG  ((size_t)8 << 20)
#define ROOM  ((size_t)2 << 20)
#define SHORT ((size_t)256 << 10) /* threshold fragment_bytes */

/* A fifth of a message, between cuts at multiples of 128: its square is about LONG x SHORT. */
#define EQUAL ((size_t)13108 * 128)

/* Fragments in the order in which they are emitted, and whether the message is done. */
struct cuts {
	size_t ends[64];
	size_t count, longest;
	bool done;
};

static int note_cut(void *arg, struct dtconv_fragment *fragment, uint64_t offset,
		    size_t length, unsigned flags)
{
	struct cuts *cuts = arg;

	(void)flags;
	ck_assert_uint_eq(offset, cuts->count ? cuts->ends[cuts->count - 1] : 0);
	ck_assert_uint_lt(cuts->count, 64);
	cuts->ends[cuts->count++] = offset + length;
	cuts->longest = length > cuts->longest ? length : cuts->longest;
	dtconv_fragment_sent(fragment, 0);
	return 0;
}

static void note_done(void *arg, int status, size_t moved)
{
	struct cuts *cuts = arg;

	ck_assert_int_eq(status, 0);
	ck_assert_uint_eq(moved, LONG);
	cuts->done = true;
}

/* With a stream, copies are in flight until the window is full. */
static void send_long(void *memory, const struct dtconv_pool_params *pool_params,
		      size_t fragment, const struct dtconv_convertor_params *streamed,
		      struct cuts *cuts)
{
	struct spin spin;
	struct dtconv_send_params params = { .struct_size = sizeof(params),
					     .emit = note_cut,
					     .done = note_done,
					     .arg = cuts,
					     .flags = DTCONV_SEND_ORDERED,
					     .fragment_bytes = fragment };
	struct dtconv_type *type =
		dtconv_type_predefined(fixture_context, DTCONV_DOUBLE);
	struct dtconv_engine *engine;
	struct dtconv_send *send = NULL;

	memset(cuts, 0, sizeof(*cuts));
	fixture_ok(dtconv_engine_create(fixture_context, NULL, &engine));
	fixture_ok(dtconv_pool_create(fixture_context, pool_params, &params.pool));
	struct dtconv_convertor *packs = fixture_packer(type, LONG / 8, memory, streamed);
	if (streamed)
		spin_begin(&spin, streamed->stream);
	fixture_ok(dtconv_send_start(engine, &params, packs, &send));
	for (int i = 0; i < 10; i++)
		fixture_ok(dtconv_engine_progress(engine, 0, NULL));
	if (streamed)
		spin_end(&spin);
	while (!cuts->done)
		fixture_ok(dtconv_engine_progress(engine, 0, NULL));
	ck_assert_uint_eq(cuts->ends[cuts->count - 1], LONG);
	fixture_ok(dtconv_send_destroy(send));
	dtconv_convertor_destroy(packs);
	fixture_ok(dtconv_pool_destroy(params.pool));
	fixture_ok(dtconv_engine_destroy(engine));
}

static struct dtconv_pool_params pool_of(enum dtconv_memory_kind kind, size_t room)
{
	return (struct dtconv_pool_params){ .struct_size =
						    sizeof(struct dtconv_pool_params),
					    .kind = kind,
					    .fragment_bytes = room,
					    .slab_bytes = 16 << 20 };
}

/* Where the memory kind is not declared, the first fragment is short. */
START_TEST(fragments_of_a_device_are_as_long_as_the_message_asks)
{
	static const struct {
		enum dtconv_memory_kind pool;
		size_t room, asked;
		bool declared;
		size_t first, longest, count;
	} cases[] = {
		{ DTCONV_MEMORY_PINNED, ROOM, 0, true, EQUAL, EQUAL, 5 },
		{ DTCONV_MEMORY_PINNED, ROOM, 0, false, SHORT, EQUAL, 6 },
		{ DTCONV_MEMORY_PINNED, ROOM / 2, 0, true, ROOM / 2, ROOM / 2, 8 },
		{ DTCONV_MEMORY_PINNED, SHORT / 2, 0, true, SHORT / 2, SHORT / 2, 64 },
		{ DTCONV_MEMORY_PINNED, ROOM, 2 * SHORT, true, 2 * SHORT, 2 * SHORT, 16 },
		/* A link moves eight times as much in the time that a copy takes besides its bytes. */
		{ DTCONV_MEMORY_DEVICE, LONG, 0, false, LONG / 2, LONG / 2, 2 },
		{ DTCONV_MEMORY_DEVICE, SHORT, 0, false, SHORT, SHORT, 32 },
	};
	const struct dtconv_pool_params pool = pool_of(cases[_i].pool, cases[_i].room);
	struct dtconv_convertor_params streamed;
	struct arena user;
	struct cuts cuts;

	arena_open(&user, ARENA_DEVICE, LONG);
	CUstream stream = gpu_stream();
	streamed = fixture_in_stream(stream);
	if (cases[_i].declared)
		streamed.user_memory = DTCONV_MEMORY_DEVICE;
	send_long(user.memory, &pool, cases[_i].asked, &streamed, &cuts);
	ck_assert_uint_eq(cuts.ends[0], cases[_i].first);
	ck_assert_uint_eq(cuts.longest, cases[_i].longest);
	ck_assert_uint_eq(cuts.count, cases[_i].count);
	MUST(StreamDestroy(stream));
	arena_close(&user);
}
END_TEST

START_TEST(fragments_of_the_host_stay_in_its_caches)
{
	const struct dtconv_pool_params pool = pool_of(DTCONV_MEMORY_HOST, ROOM);
	unsigned char *memory = calloc(1, LONG);
	struct cuts cuts;

	send_long(memory, &pool, 0, NULL, &cuts);
	ck_assert_uint_eq(cuts.longest, SHORT);
	free(memory);
}
END_TEST

/* A case that breaks the context needs a process of its own. */
int main(void)
{
	setenv("CK_FORK", "yes", 1);
	Suite *suite = suite_create("flow_device");
	TCase *tcase = gpu_case(suite, "flow", 60);

	gpu_find();
	tcase_add_loop_test(tcase, device_buffers_go_through_every_kind_of_pool, 0, 3);
	tcase_add_loop_test(tcase, a_send_in_a_stream_waits_for_the_stream, 0, 2);
	tcase_add_test(tcase, a_cancelled_send_waits_for_the_device);
	tcase_add_test(tcase, a_send_waits_for_a_free_event);
	tcase_add_test(tcase, a_convertor_in_use_is_neither_bound_nor_freed);
	tcase_add_test(tcase, a_sleeper_wakes_when_a_copy_ends);
	tcase_add_test(tcase, the_backstop_wakes_after_a_device_error);
	tcase_add_test(tcase, an_engine_is_destroyed_before_its_alarm_rings);
	tcase_add_test(tcase, a_lost_context_abandons_what_it_may_write);
	TCase *longs = gpu_case(suite, "long", 60);
	tcase_add_loop_test(longs, fragments_of_a_device_are_as_long_as_the_message_asks,
			    0, 7);
	tcase_add_test(longs, fragments_of_the_host_stay_in_its_caches);
	return fixture_run(suite);
}
