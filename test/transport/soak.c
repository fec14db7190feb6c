/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random messages through random pools over a network that misbehaves, with faults of every stage, for as many
 * operations as wanted. After each operation: done once, the right bytes or none but the right ones, every fragment
 * back. After each epoch: no memory, file descriptor, registration or device object is left over.
 *
 * usage: soak [--operations N] [--faults M] [--seed S] [--device]
 *
 * An epoch is a few hundred operations with one context. In some epochs, user memory and pools are memory of the
 * stand-in device, and its driver fails too. A failure prints what replays it.
 */
#include "config.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <dtconv/dtconv.h>

#include "loopback.h"
#include "process.h"
#include "support/choices.h"
#include "support/random_type.h"
#include "support/stage.h"
#ifdef SOAK_DEVICE
#include "support/gpu.h"
#endif

#define LANES      8
#define STAGES     16
#define POOLS      5
#define EPOCH      400
#define PATIENCE   400000
#define MEMORY_MAX ((size_t)1 << 17)

/* An operation that has had so many turns waits for another thread, which needs the processor. */
#define QUICK_TURNS 4000

struct counts {
	uint64_t operations, faults, failed, fragments, parts;
};

static struct {
	uint64_t seed, epoch;
	size_t faults; /* of the epoch */
	bool on_device;
	struct counts counts;
} soak = { .seed = 1 };

__attribute__((format(printf, 2, 3))) static void must(bool holds, const char *format,
						       ...)
{
	va_list args;

	if (holds)
		return;
	printf("soak: epoch %" PRIu64 ": ", soak.epoch);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\nreplay: soak --seed %" PRIu64 " --operations %d --faults %zu%s\n",
	       soak.seed + soak.epoch, EPOCH, soak.faults,
	       soak.on_device ? " --device" : "");
	fflush(stdout);
	_Exit(1);
}

/* ---- an allocator that counts, and refuses when told to --------------------------------- */

static atomic_size_t live_blocks;
static atomic_long granted = -1; /* calls until one is refused; negative: none */

static void *grant(void *arg, size_t bytes)
{
	(void)arg;
	if (atomic_load(&granted) >= 0 && atomic_fetch_sub(&granted, 1) == 0)
		return NULL;
	atomic_fetch_add(&live_blocks, 1);
	return malloc(bytes);
}

static void take_back(void *arg, void *memory)
{
	(void)arg;
	if (memory)
		atomic_fetch_sub(&live_blocks, 1);
	free(memory);
}

/* ---- what messages are made of ----------------------------------------------------------- */

/* A type with its source, and how the target looks before and after. */
struct message {
	struct dtconv_type *type;
	struct stage stage;
	unsigned char *blank, *expected;
	ptrdiff_t origin; /* of displacement 0 in the memory */
};

enum fault {
	FAULT_NONE,
	FAULT_FAIL_EMIT,
	FAULT_FAIL_SENT,
	FAULT_LOSE,
	FAULT_LENGTHEN,
	FAULT_CANCEL_SEND,
	FAULT_CANCEL_RECV,
	FAULT_FAIL_RECV,
	FAULT_MEMORY,
	FAULT_REGISTRATION,
	FAULT_DRIVER, /* only with a device */
	FAULTS
};

struct pool {
	struct dtconv_pool *pool;
	bool is_device;
	size_t users;
};

struct lane {
	const struct message *message;
	struct pool *pool;
	struct loopback link;
	struct dtconv_convertor *packs, *unpacks;
	struct dtconv_send *send;
	struct dtconv_recv *recv;
	unsigned char *source,
		*target;     /* of MEMORY_MAX bytes; on the device in some epochs */
	unsigned char *seen; /* the target, on the host */
#ifdef SOAK_DEVICE
	struct arena arenas[2];
#endif
	bool is_busy;
	enum fault fault;
	size_t ticks, fault_at, quiet;
	int sent, received, send_status, recv_status;
	size_t send_moved, recv_moved;
};

struct world {
	struct dtconv_context *context;
	struct dtconv_engine *engine;
	struct choices choices;
	struct message messages[STAGES];
	struct pool pools[POOLS];
	struct lane lanes[LANES];
	size_t started, wanted, faults;
	bool is_struck; /* by a fault that may hit any operation */
	unsigned refused_registrations;
	size_t registrations;
};

/* ---- registrar --------------------------------------------------------------------------- */

static int reg(void *arg, const struct dtconv_slab *slab, void **handle)
{
	struct world *world = arg;

	if (world->refused_registrations) {
		world->refused_registrations--;
		return DTCONV_ERR_LIMIT;
	}
	world->registrations++;
	*handle = slab->base;
	return 0;
}

static void dereg(void *arg, const struct dtconv_slab *slab, void *handle)
{
	struct world *world = arg;

	must(handle == slab->base,
	     "a registration was undone with the handle of another");
	world->registrations--;
}

/* ---- opening and closing an epoch -------------------------------------------------------- */

static bool open_message(struct world *world, struct message *message)
{
	const struct random_limits limits = { .depth = 4,
					      .max_blocks = 8,
					      .max_count = 8,
					      .max_entries = 3000,
					      .max_span = 40000,
					      .distinct = true,
					      .instances = 3 };
	const size_t count = 1 + choose(&world->choices, 3);
	const uint64_t seed = world->choices.state + choose(&world->choices, 1000);

	if (random_type(world->context, seed, &limits, &message->type))
		return false;
	if (stage_open(&message->stage, message->type, count, choose(&world->choices, 64),
		       choose(&world->choices, 64), seed) ||
	    message->stage.memory_bytes + 64 > MEMORY_MAX) {
		dtconv_type_unref(message->type);
		return false;
	}
	struct stage *stage = &message->stage;
	stage_blank(stage);
	message->blank = malloc(stage->memory_bytes);
	message->expected = malloc(stage->memory_bytes);
	memcpy(message->blank, stage->target_memory, stage->memory_bytes);
	memcpy(message->expected, message->blank, stage->memory_bytes);
	message->origin = stage->target - stage->target_memory;
	for (size_t i = 0; i < stage->bytes; i++)
		message->expected[message->origin + stage->map[i]] = stage->stream[i];
	return true;
}

static void close_message(struct message *message)
{
	free(message->blank);
	free(message->expected);
	stage_close(&message->stage);
	dtconv_type_unref(message->type);
}

static void open_pool(struct world *world, size_t number)
{
	static const size_t fragments[POOLS] = { 1, 2, 5, 40, 3 };
	static const size_t bytes[POOLS] = { 4096, 1000, 300, 777, 512 };
	const struct dtconv_registrar registrar = { "soak", reg, dereg, world };
	struct pool *pool = &world->pools[number];
	struct dtconv_pool_params params = {
		.struct_size = sizeof(params),
		.fragment_bytes = bytes[number],
		.slab_bytes = fragments[number] * ((bytes[number] + 255) / 256 * 256),
		.limit_bytes = (size_t)1 << 20,
		.registrars = &registrar,
		.registrar_count = 1
	};

	params.kind = soak.on_device ? DTCONV_MEMORY_PINNED : DTCONV_MEMORY_HOST;
	pool->is_device = soak.on_device && number == 3;
	if (pool->is_device)
		params.kind = DTCONV_MEMORY_DEVICE;
	else if (chance(&world->choices, 3))
		params.flags = DTCONV_POOL_SHARED;
	pool->users = 0;
	must(!dtconv_pool_create(world->context, &params, &pool->pool), "pool %zu",
	     number);
}

static void open_memory(struct lane *lane)
{
	lane->seen = malloc(MEMORY_MAX);
#ifdef SOAK_DEVICE
	if (soak.on_device) {
		arena_open(&lane->arenas[0], ARENA_DEVICE, MEMORY_MAX);
		arena_open(&lane->arenas[1], ARENA_DEVICE, MEMORY_MAX);
		lane->source = lane->arenas[0].memory;
		lane->target = lane->arenas[1].memory;
		return;
	}
#endif
	lane->source = malloc(MEMORY_MAX);
	lane->target = malloc(MEMORY_MAX);
}

static void close_memory(struct lane *lane)
{
	free(lane->seen);
#ifdef SOAK_DEVICE
	if (soak.on_device) {
		arena_close(&lane->arenas[0]);
		arena_close(&lane->arenas[1]);
		return;
	}
#endif
	free(lane->source);
	free(lane->target);
}

/*
 * Make the lane's memory ready for its next operation. To the library a device is lost whose driver fails when it is asked for
 * a job's end. The stand-in goes on, and may yet write to the target of the lane's last operation, if that has failed.
 */
static void settle(const struct lane *lane)
{
#ifdef SOAK_DEVICE
	if (!soak.on_device)
		return;
	/* Faults are for the library's calls. */
	gpu.standin->inject_clear();
	if (lane->send_status || lane->recv_status)
		MUST(CtxSynchronize());
#else
	(void)lane;
#endif
}

static void copy_in(struct lane *lane, unsigned side, const void *bytes, size_t length)
{
#ifdef SOAK_DEVICE
	if (soak.on_device) {
		arena_write(&lane->arenas[side], 0, bytes, length);
		return;
	}
#endif
	memcpy(side ? lane->target : lane->source, bytes, length);
}

static void copy_out(struct lane *lane, size_t length)
{
#ifdef SOAK_DEVICE
	if (soak.on_device) {
		gpu.standin->inject_clear();
		arena_read(&lane->arenas[1], 0, lane->seen, length);
		return;
	}
#endif
	memcpy(lane->seen, lane->target, length);
}

static void open_world(struct world *world, uint64_t seed)
{
	const struct dtconv_context_params params = {
		.struct_size = sizeof(params), .allocator = { grant, take_back, NULL }
	};

	memset(world, 0, sizeof(*world));
	choices_from_seed(&world->choices, seed);
	must(!dtconv_context_create(&params, &world->context), "context");
	must(!dtconv_engine_create(world->context, NULL, &world->engine), "engine");
	for (size_t i = 0; i < STAGES;)
		i += open_message(world, &world->messages[i]);
	for (size_t i = 0; i < POOLS; i++)
		open_pool(world, i);
	for (size_t i = 0; i < LANES; i++) {
		struct lane *lane = &world->lanes[i];
		struct message *message = &world->messages[i];

		open_memory(lane);
		must(!dtconv_convertor_create_pack(message->type, 1, lane->source,
						   &lane->packs) &&
			     !dtconv_convertor_create_unpack(
				     message->type, 1, lane->target, &lane->unpacks),
		     "convertors");
	}
}

static void close_world(struct world *world)
{
	for (size_t i = 0; i < LANES; i++) {
		struct lane *lane = &world->lanes[i];

		must(!dtconv_send_destroy(lane->send) && !dtconv_recv_destroy(lane->recv),
		     "operations live");
		dtconv_convertor_destroy(lane->packs);
		dtconv_convertor_destroy(lane->unpacks);
		close_memory(lane);
	}
	must(!dtconv_engine_destroy(world->engine), "the engine has operations");
	for (size_t i = 0; i < POOLS; i++)
		must(!dtconv_pool_destroy(world->pools[i].pool),
		     "pool %zu has fragments out", i);
	must(!world->registrations, "%zu registrations are left", world->registrations);
	for (size_t i = 0; i < STAGES; i++)
		close_message(&world->messages[i]);
	dtconv_context_destroy(world->context);
	must(!atomic_load(&live_blocks), "%zu blocks are left",
	     atomic_load(&live_blocks));
}

/* ---- one operation ----------------------------------------------------------------------- */

static void see_sent(void *arg, int status, size_t moved)
{
	struct lane *lane = arg;

	lane->sent++;
	lane->send_status = status;
	lane->send_moved = moved;
}

static void see_received(void *arg, int status, size_t moved)
{
	struct lane *lane = arg;

	lane->received++;
	lane->recv_status = status;
	lane->recv_moved = moved;
}

static int emit(void *arg, struct dtconv_fragment *fragment, uint64_t offset,
		size_t bytes, unsigned flags)
{
	return loopback_emit(&((struct lane *)arg)->link, fragment, offset, bytes, flags);
}

static void choose_faults(struct world *world, struct lane *lane,
			  struct loopback_faults *faults)
{
	struct choices *choices = &world->choices;

	*faults = (struct loopback_faults){ .delay = (unsigned)choose(choices, 6) };
	if (chance(choices, 3))
		faults->capacity = 1 + (unsigned)choose(choices, 5);
	if (chance(choices, 3))
		faults->refuse = 2 + (unsigned)choose(choices, 8);
	if (chance(choices, 3))
		faults->duplicate = 1 + (unsigned)choose(choices, 8);
	if (chance(choices, 3))
		faults->split = 1 + (unsigned)choose(choices, 8);
	faults->copies = !lane->pool->is_device && chance(choices, 2);
	faults->early = chance(choices, 2);
	const unsigned often = 1 + (unsigned)choose(choices, 3);
	switch (lane->fault) {
	case FAULT_FAIL_EMIT:
		faults->fail_emit = often;
		break;
	case FAULT_FAIL_SENT:
		faults->fail_sent = often;
		break;
	case FAULT_LOSE:
		faults->lose = often;
		break;
	case FAULT_LENGTHEN:
		faults->lengthen = often;
		break;
	default:
		break;
	}
}

static void choose_fault(struct world *world, struct lane *lane)
{
	const size_t left = world->wanted - world->started;

	lane->fault = FAULT_NONE;
	lane->fault_at = choose(&world->choices, 4);
	if (!world->faults || choose(&world->choices, left) >= world->faults)
		return;
	world->faults--;
	lane->fault =
		(enum fault)(1 + choose(&world->choices, FAULTS - 1u - !soak.on_device));
	soak.counts.faults++;
}

static void start(struct world *world, struct lane *lane)
{
	struct loopback_faults faults;
	const struct message *message = &world->messages[choose(&world->choices, STAGES)];
	const struct stage *stage = &message->stage;

	choose_fault(world, lane);
	world->started++;
	lane->message = message;
	lane->pool = &world->pools[choose(&world->choices, POOLS)];
	lane->pool->users++;
	lane->ticks = lane->quiet = 0;
	lane->sent = lane->received = 0;
	lane->is_busy = true;
	choose_faults(world, lane, &faults);
	loopback_open(&lane->link, &faults, world->choices.state);
	if (!lane->pool->is_device)
		lane->link.expected = stage->stream;
	lane->link.bytes = stage->bytes;
	settle(lane);
	copy_in(lane, 0, stage->source_memory, stage->memory_bytes);
	copy_in(lane, 1, message->blank, stage->memory_bytes);
	must(!dtconv_convertor_rebind_pack(
		     lane->packs, message->type, stage->count,
		     lane->source + (stage->source - stage->source_memory)) &&
		     !dtconv_convertor_rebind_unpack(lane->unpacks, message->type,
						     stage->count,
						     lane->target + message->origin),
	     "rebind");
	const struct dtconv_recv_params to = { .struct_size = sizeof(to),
					       .done = see_received,
					       .arg = lane };
	const struct dtconv_send_params from = {
		.struct_size = sizeof(from),
		.pool = lane->pool->pool,
		.emit = emit,
		.done = see_sent,
		.arg = lane,
		.flags = (unsigned)choose(&world->choices, 2),
		.depth = (unsigned)choose(&world->choices, 17)
	};
	must(!dtconv_recv_start(world->engine, &to, lane->unpacks, &lane->recv),
	     "receive");
	lane->link.recv = lane->recv;
	must(!dtconv_send_start(world->engine, &from, lane->packs, &lane->send), "send");
}

/* Faults that come from elsewhere than the network. */
static void strike(struct world *world, struct lane *lane)
{
	switch (lane->fault) {
	case FAULT_CANCEL_SEND:
		(void)dtconv_send_cancel(lane->send);
		break;
	case FAULT_CANCEL_RECV:
		(void)dtconv_recv_cancel(lane->recv);
		break;
	case FAULT_FAIL_RECV:
		(void)dtconv_recv_fail(lane->recv, DTCONV_ERR_PEER);
		break;
	case FAULT_MEMORY:
		world->is_struck = true;
		atomic_store(&granted, (long)choose(&world->choices, 3));
		break;
	case FAULT_REGISTRATION:
		world->refused_registrations = 1;
		break;
	case FAULT_DRIVER:
		world->is_struck = true;
#ifdef SOAK_DEVICE
		gpu.standin->inject("*", 1 + (unsigned)choose(&world->choices, 12),
				    chance(&world->choices, 2)
					    ? CUDA_ERROR_OUT_OF_MEMORY
					    : CUDA_ERROR_INVALID_VALUE);
#endif
		break;
	default:
		break;
	}
}

static void relent(struct world *world)
{
	atomic_store(&granted, -1L);
	world->refused_registrations = 0;
#ifdef SOAK_DEVICE
	if (soak.on_device)
		gpu.standin->inject_clear();
#endif
}

static void must_be_expected(const struct world *world, const struct lane *lane)
{
	const struct message *message = lane->message;
	size_t wrong = 0, untouched = 0, first = 0;

	for (size_t i = message->stage.memory_bytes; i-- > 0;)
		if (lane->seen[i] != message->expected[i]) {
			wrong++;
			untouched += lane->seen[i] == message->blank[i];
			first = i;
		}
	must(!wrong,
	     "%zu wrong bytes, of which %zu are as before, from byte %zu of %zu on: send %d, "
	     "%zu fragments in %zu parts, fault %d, pool of a device %d, struck %d",
	     wrong, untouched, first, message->stage.memory_bytes, lane->send_status,
	     lane->link.emitted, lane->link.parts, (int)lane->fault,
	     lane->pool->is_device, world->is_struck);
}

/* Every byte is as before or as expected. */
static void check_bytes(const struct world *world, struct lane *lane)
{
	const struct message *message = lane->message;
	const size_t bytes = message->stage.memory_bytes;

	copy_out(lane, bytes);
	if (!lane->recv_status) {
		must_be_expected(world, lane);
		return;
	}
	for (size_t i = 0; i < bytes; i++)
		must(lane->seen[i] == message->blank[i] ||
			     lane->seen[i] == message->expected[i],
		     "byte %zu is neither as before nor as sent", i);
}

static void check_pool(struct pool *pool)
{
	struct dtconv_pool_attr attr = { .struct_size = sizeof(attr) };

	must(!dtconv_pool_query(pool->pool, &attr), "query");
	must(attr.free + attr.out + attr.abandoned == attr.fragments,
	     "%zu free, %zu out, %zu abandoned of %zu fragments", attr.free, attr.out,
	     attr.abandoned, attr.fragments);
	must(pool->users || !attr.out, "%zu fragments are out, and no operation runs",
	     attr.out);
}

static void finish(const struct world *world, struct lane *lane)
{
	const struct loopback *link = &lane->link;

	lane->is_busy = false;
	lane->pool->users--;
	must(lane->sent == 1 && lane->received == 1, "done %d and %d times", lane->sent,
	     lane->received);
	must(!link->wrong, "%zu fragments were not the stream", link->wrong);
	must(link->emitted == link->sent && link->parts == link->released,
	     "%zu emitted and %zu sent, %zu parts and %zu released", link->emitted,
	     link->sent, link->parts, link->released);
	must(lane->send_status || lane->send_moved == lane->message->stage.bytes,
	     "sent too little");
	must(lane->recv_status || lane->recv_moved == lane->message->stage.bytes,
	     "received too little");
	must(lane->fault || (!lane->send_status && !lane->recv_status) ||
		     world->is_struck,
	     "failed with %d and %d without a fault", lane->send_status,
	     lane->recv_status);
	check_bytes(world, lane);
	check_pool(lane->pool);
	soak.counts.operations++;
	soak.counts.failed += lane->send_status || lane->recv_status;
	soak.counts.fragments += link->emitted;
	soak.counts.parts += link->parts;
	must(loopback_close(&lane->link), "packets are on the way");
}

/* ---- an epoch ---------------------------------------------------------------------------- */

static void give_way(void)
{
	const struct timespec nap = { .tv_nsec = 50000 };

	nanosleep(&nap, NULL);
}

static void tick_lane(struct world *world, struct lane *lane, size_t worked)
{
	if (!lane->is_busy) {
		if (world->started < world->wanted)
			start(world, lane);
		return;
	}
	if (lane->ticks++ == lane->fault_at)
		strike(world, lane);
	if (lane->ticks > QUICK_TURNS)
		give_way();
	must(lane->ticks < PATIENCE, "an operation does not end: sent %d, received %d",
	     lane->sent, lane->received);
	(void)loopback_poll(&lane->link, 1 + choose(&world->choices, 4));
	const bool is_idle = loopback_is_idle(&lane->link);
	if (lane->sent && lane->received && is_idle) {
		finish(world, lane);
		if (lane->fault)
			relent(world);
		return;
	}
	lane->quiet = worked || !is_idle || !lane->sent ? 0 : lane->quiet + 1;
	if (lane->quiet > 3 && !lane->received)
		(void)dtconv_recv_fail(lane->recv, DTCONV_ERR_PEER);
}

/* Pools grow and shrink under traffic. */
static void change_pool(struct world *world)
{
	struct dtconv_pool *pool = world->pools[choose(&world->choices, POOLS)].pool;

	if (chance(&world->choices, 2))
		(void)dtconv_pool_grow(pool, 1 + choose(&world->choices, 20000));
	else
		(void)dtconv_pool_shrink(pool, 4096 * choose(&world->choices, 8));
	/* One slab stays at least, or nothing would go on. */
	struct dtconv_pool_attr attr = { .struct_size = sizeof(attr) };
	must(!dtconv_pool_query(pool, &attr), "query");
	while (!attr.slabs && dtconv_pool_grow(pool, 1))
		relent(world);
}

static bool is_any_busy(const struct world *world)
{
	for (size_t i = 0; i < LANES; i++)
		if (world->lanes[i].is_busy)
			return true;
	return false;
}

static void run_epoch(uint64_t epoch, size_t operations, size_t faults)
{
	static struct world world;
	const size_t files = process_files();
	size_t worked;

	soak.epoch = epoch;
	soak.faults = faults;
#ifdef SOAK_DEVICE
	if (soak.on_device)
		gpu_open();
#endif
	open_world(&world, soak.seed + epoch);
	world.wanted = operations;
	world.faults = faults;
	do {
		must(!dtconv_engine_progress(world.engine, choose(&world.choices, 20),
					     &worked),
		     "progress");
		for (size_t i = 0; i < LANES; i++)
			tick_lane(&world, &world.lanes[i], worked);
		if (chance(&world.choices, 200))
			change_pool(&world);
	} while (world.started < world.wanted || is_any_busy(&world));
	relent(&world);
	close_world(&world);
#ifdef SOAK_DEVICE
	if (soak.on_device) {
		char text[2000];

		gpu_close();
		size_t leaks = gpu.standin->leaks(text, sizeof(text));
		must(!leaks, "the device's objects are left: %s", text);
		gpu.standin->reset();
	}
#endif
	must(process_files() <= files + 8 * soak.on_device,
	     "file descriptors are left: %zu before, %zu after", files, process_files());
}

#ifdef SOAK_DEVICE
/* Seeds that have found something: a fragment with more parts than the whole type. */
static const uint64_t found[] = { 101903 };

static void replay_found(void)
{
	for (size_t i = 0; i < sizeof(found) / sizeof(found[0]); i++) {
		soak.seed = found[i];
		soak.on_device = true;
		run_epoch(0, EPOCH, EPOCH / 100);
	}
}
#endif

static uint64_t number_of(int argc, char **argv, const char *name, uint64_t normal)
{
	for (int i = 1; i + 1 < argc; i++)
		if (!strcmp(argv[i], name))
			return strtoull(argv[i + 1], NULL, 0);
	return normal;
}

static bool is_given(int argc, char **argv, const char *name)
{
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], name))
			return true;
	return false;
}

int main(int argc, char **argv)
{
	const uint64_t operations = number_of(argc, argv, "--operations", 2400);
	const uint64_t faults = number_of(argc, argv, "--faults", operations / 100 + 1);
	const bool always = is_given(argc, argv, "--device");
	uint64_t left = operations, left_faults = faults;

	soak.seed = number_of(argc, argv, "--seed", 1);
#ifdef SOAK_DEVICE
	setenv("CUDA_STANDIN_DELAY_US", "0", 0);
	gpu_find();
#endif
	for (uint64_t epoch = 0; left; epoch++) {
		const uint64_t some = left < EPOCH ? left : EPOCH;
		const uint64_t some_faults = left_faults * some / left;

#ifdef SOAK_DEVICE
		soak.on_device = (always || epoch % 4 == 3) && !gpu_is_real();
#else
		must(!always, "this build has no device");
#endif
		run_epoch(epoch, (size_t)some, (size_t)some_faults);
		left -= some;
		left_faults -= some_faults;
	}
#ifdef SOAK_DEVICE
	if (argc == 1 && !gpu_is_real())
		replay_found();
#endif
	printf("soak: %" PRIu64 " operations, %" PRIu64 " faults, %" PRIu64
	       " failed, %" PRIu64 " fragments, %" PRIu64 " parts\n",
	       soak.counts.operations, soak.counts.faults, soak.counts.failed,
	       soak.counts.fragments, soak.counts.parts);
	return 0;
}
