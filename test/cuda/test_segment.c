/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Segments: memory that grows at its addresses under moves, access of devices one by one, aliases, and processes that
 * receive a segment, again after it has changed, from peers that lie or end. Every driver call is refused in turn.
 */
#include "config.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/fixture.h"
#include "support/gpu.h"
#include "transport/process.h"

#define GRANULE ((size_t)2 << 20)
#define TEXT    "vector(20000, 3, 5, double)"

static struct dtconv_segment *create(size_t start, size_t reserve)
{
	const struct dtconv_segment_params params = {
		.struct_size = sizeof(params),
		.start_bytes = start,
		.reserve_bytes = reserve,
	};
	struct dtconv_segment *segment = NULL;

	fixture_ok(dtconv_segment_create(fixture_context, &params, &segment));
	return segment;
}

static struct dtconv_segment_attr attr_of(struct dtconv_segment *segment)
{
	struct dtconv_segment_attr attr = { .struct_size = sizeof(attr) };

	fixture_ok(dtconv_segment_query(segment, &attr));
	return attr;
}

static unsigned char *base_of(struct dtconv_segment *segment)
{
	return attr_of(segment).base;
}

static void fill(void *to, unsigned char value, size_t bytes)
{
	MUST(MemsetD8((CUdeviceptr)(uintptr_t)to, value, bytes));
	MUST(CtxSynchronize());
}

static unsigned char byte_at(const void *from)
{
	unsigned char byte;

	MUST(Memcpy((CUdeviceptr)(uintptr_t)&byte, (CUdeviceptr)(uintptr_t)from, 1));
	return byte;
}

/* A stage goes into memory of the segment and comes back, both by kernels of the device. */
static void move_through(unsigned char *packed)
{
	struct stage stage;
	struct arena own;
	size_t moved;

	fixture_open(&stage, TEXT, 1);
	arena_open(&own, ARENA_DEVICE, stage.memory_bytes);
	arena_write(&own, 0, stage.source_memory, stage.memory_bytes);
	fixture_ok(dtconv_pack(stage.type, 1,
			       own.memory + (stage.source - stage.source_memory), packed,
			       stage.bytes, &moved));
	stage_blank(&stage);
	arena_write(&own, 0, stage.target_memory, stage.memory_bytes);
	fixture_ok(dtconv_unpack(stage.type, 1,
				 own.memory + (stage.target - stage.target_memory),
				 packed, stage.bytes, &moved));
	arena_read(&own, 0, stage.target_memory, stage.memory_bytes);
	stage_deliver(&stage, 0, stage.bytes);
	fixture_arrived(&stage);
	arena_close(&own);
	fixture_close(&stage);
}

/* ---- memory of one process ------------------------------------------------------------- */

START_TEST(a_segment_is_device_memory_that_grows_in_place)
{
	struct dtconv_segment *segment = create(1, 5 * GRANULE - 1);
	struct dtconv_segment_attr attr = attr_of(segment);
	struct dtconv_memory_attr memory = { .struct_size = sizeof(memory) };
	unsigned char *const base = attr.base;

	ck_assert_uint_eq(attr.bytes, attr.granularity);
	ck_assert_uint_ge(attr.reserve_bytes, 5 * GRANULE);
	ck_assert_int_eq(attr.device, 0);
	ck_assert_int_eq(attr.user_device, 0);
	ck_assert(!attr.received && attr.shareable && !attr.compressed);
	fixture_ok(dtconv_memory_query(fixture_context, base, &memory));
	ck_assert_int_eq(memory.kind, DTCONV_MEMORY_DEVICE);
	fill(base, 1, attr.bytes);
	fixture_ok(dtconv_segment_grow(segment, attr.granularity + 1));
	attr = attr_of(segment);
	ck_assert_ptr_eq(attr.base, base);
	ck_assert_uint_eq(attr.bytes, 3 * attr.granularity);
	ck_assert_uint_eq(attr.mappings, 2);
	fill(base + attr.granularity, 2, 2 * attr.granularity);
	ck_assert_int_eq(byte_at(base), 1);
	ck_assert_int_eq(byte_at(base + attr.bytes - 1), 2);
	/* Across the border of two mappings. */
	move_through(base + attr.granularity - 1000);
	fixture_ok(dtconv_segment_destroy(segment));
}
END_TEST

START_TEST(a_segment_shrinks_by_whole_mappings)
{
	struct dtconv_segment *segment = create(GRANULE, 8 * GRANULE);
	unsigned char *const base = base_of(segment);

	fixture_ok(dtconv_segment_grow(segment, 2 * GRANULE));
	fixture_ok(dtconv_segment_grow(segment, GRANULE));
	fixture_ok(dtconv_segment_shrink(segment, GRANULE - 1));
	ck_assert_uint_eq(attr_of(segment).bytes, 4 * GRANULE);
	fixture_ok(dtconv_segment_shrink(segment, 3 * GRANULE - 1));
	ck_assert_uint_eq(attr_of(segment).bytes, 3 * GRANULE);
	fixture_ok(dtconv_segment_grow(segment, GRANULE));
	ck_assert_uint_eq(attr_of(segment).mappings, 3);
	move_through(base + 3 * GRANULE - 1000);
	fixture_ok(dtconv_segment_shrink(segment, SIZE_MAX));
	ck_assert_uint_eq(attr_of(segment).bytes, 0);
	ck_assert_int_eq(attr_of(segment).device, -1);
	fixture_ok(dtconv_segment_grow(segment, 1));
	ck_assert_ptr_eq(base_of(segment), base);
	fixture_ok(dtconv_segment_destroy(segment));
}
END_TEST

START_TEST(limits_and_wrong_arguments_are_refused)
{
	struct dtconv_segment *segment = NULL, *alias;
	struct dtconv_segment_params params = { .struct_size = 0 };
	struct dtconv_segment_attr attr = { .struct_size = 0 };
	int fd;

	fixture_status(dtconv_segment_create(fixture_context, &params, &segment),
		       DTCONV_ERR_INVAL);
	params = (struct dtconv_segment_params){ .struct_size = sizeof(params),
						 .flags = 1u << 9 };
	fixture_status(dtconv_segment_create(fixture_context, &params, &segment),
		       DTCONV_ERR_INVAL);
	params.flags = 0;
	params.start_bytes = 2;
	params.reserve_bytes = 1;
	fixture_status(dtconv_segment_create(fixture_context, &params, &segment),
		       DTCONV_ERR_INVAL);
	params.reserve_bytes = SIZE_MAX;
	fixture_status(dtconv_segment_create(fixture_context, &params, &segment),
		       DTCONV_ERR_NOMEM);
	params.reserve_bytes = 0;
	params.start_bytes = SIZE_MAX;
	fixture_status(dtconv_segment_create(fixture_context, &params, &segment),
		       DTCONV_ERR_LIMIT);
	params.start_bytes = 0;
	params.device = 77;
	fixture_status(dtconv_segment_create(fixture_context, &params, &segment),
		       DTCONV_ERR_UNSUPPORTED);
	ck_assert_ptr_null(segment);

	segment = create(GRANULE, 2 * GRANULE);
	fixture_status(dtconv_segment_grow(segment, 0), DTCONV_ERR_INVAL);
	fixture_status(dtconv_segment_grow(segment, GRANULE + 1), DTCONV_ERR_LIMIT);
	fixture_status(dtconv_segment_grow(segment, SIZE_MAX), DTCONV_ERR_LIMIT);
	ck_assert_uint_eq(attr_of(segment).bytes, GRANULE);
	fixture_status(dtconv_segment_query(segment, &attr), DTCONV_ERR_INVAL);
	fixture_status(dtconv_segment_set_access(segment, 0,
						 (enum dtconv_segment_access)3),
		       DTCONV_ERR_INVAL);
	fixture_status(dtconv_segment_set_access(segment, -1, DTCONV_SEGMENT_READ),
		       DTCONV_ERR_INVAL);
	ck_assert_int_ne(
		dtconv_segment_set_access(segment, 77, DTCONV_SEGMENT_READ_WRITE), 0);
	fixture_status(dtconv_segment_dma_buf(segment, 0, 0, &fd), DTCONV_ERR_INVAL);
	fixture_status(dtconv_segment_dma_buf(segment, 1, 4096, &fd), DTCONV_ERR_INVAL);
	fixture_status(dtconv_segment_dma_buf(segment, 4096, GRANULE, &fd),
		       DTCONV_ERR_INVAL);
	fixture_status(dtconv_segment_send(segment, STDIN_FILENO), DTCONV_ERR_INVAL);
	fixture_ok(dtconv_segment_alias(segment, &alias));
	fixture_status(dtconv_segment_grow(alias, 1), DTCONV_ERR_STATE);
	fixture_status(dtconv_segment_shrink(alias, 1), DTCONV_ERR_STATE);
	fixture_ok(dtconv_segment_destroy(alias));
	fixture_ok(dtconv_segment_destroy(segment));
	fixture_ok(dtconv_segment_destroy(NULL));
}
END_TEST

/* On the stand-in, whose mappings cost little. */
START_TEST(the_number_of_mappings_is_limited)
{
	struct dtconv_segment *segment;

	if (!gpu.standin)
		return;
	segment = create(1, (DTCONV_SEGMENT_MAPPINGS_MAX + 1) * GRANULE);
	for (int i = 1; i < DTCONV_SEGMENT_MAPPINGS_MAX; i++)
		fixture_ok(dtconv_segment_grow(segment, 1));
	fixture_status(dtconv_segment_grow(segment, 1), DTCONV_ERR_LIMIT);
	fixture_ok(dtconv_segment_destroy(segment));
}
END_TEST

static _Atomic bool grown;

static void *grow_slowly(void *arg)
{
	for (int i = 0; i < 20; i++)
		if (dtconv_segment_grow(arg, 1))
			break;
	atomic_store(&grown, true);
	return NULL;
}

START_TEST(moves_go_on_while_a_segment_grows)
{
	struct dtconv_segment *segment = create(1, 32 * GRANULE);
	unsigned char *const base = base_of(segment);
	pthread_t thread;

	atomic_store(&grown, false);
	ck_assert(!pthread_create(&thread, NULL, grow_slowly, segment));
	do
		move_through(base + 1000);
	while (!atomic_load(&grown));
	pthread_join(thread, NULL);
	ck_assert_uint_eq(attr_of(segment).mappings, 21);
	move_through(base + 20 * GRANULE);
	fixture_ok(dtconv_segment_destroy(segment));
}
END_TEST

static unsigned long long access_of(const void *address, int device)
{
	const CUmemLocation location = { .type = CU_MEM_LOCATION_TYPE_DEVICE,
					 .id = device };
	unsigned long long flags = 77;

	MUST(MemGetAccess(&flags, &location, (CUdeviceptr)(uintptr_t)address));
	return flags;
}

/* Devices that nobody has named stay out, whatever else they may access. */
START_TEST(access_is_granted_to_one_device_at_a_time)
{
	struct dtconv_segment *segment = create(1, 8 * GRANULE);
	unsigned char *const base = base_of(segment);
	int devices = 0, reaches = 0;

	MUST(DeviceGetCount(&devices));
	if (devices > 1)
		MUST(DeviceCanAccessPeer(&reaches, 1, 0));
	ck_assert_uint_eq(access_of(base, 0), CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
	if (reaches) {
		ck_assert_uint_eq(access_of(base, 1), CU_MEM_ACCESS_FLAGS_PROT_NONE);
		fixture_ok(
			dtconv_segment_set_access(segment, 1, DTCONV_SEGMENT_READ_WRITE));
		fixture_ok(dtconv_segment_grow(segment, 1));
		ck_assert_uint_eq(access_of(base, 1), CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
		ck_assert_uint_eq(access_of(base + GRANULE, 1),
				  CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
		fixture_ok(dtconv_segment_set_access(segment, 1, DTCONV_SEGMENT_READ));
		fixture_ok(dtconv_segment_grow(segment, 1));
		ck_assert_uint_eq(access_of(base + 2 * GRANULE, 1),
				  CU_MEM_ACCESS_FLAGS_PROT_READ);
		fixture_ok(dtconv_segment_set_access(segment, 1, DTCONV_SEGMENT_NONE));
		fixture_ok(dtconv_segment_grow(segment, 1));
		for (size_t i = 0; i < 4; i++)
			ck_assert_uint_eq(access_of(base + i * GRANULE, 1),
					  CU_MEM_ACCESS_FLAGS_PROT_NONE);
	}
	fixture_ok(dtconv_segment_destroy(segment));
	if (!gpu.standin)
		return;
	/* A device that cannot reach the memory gets nothing, and others keep what they have. */
	segment = create(1, 8 * GRANULE);
	fixture_ok(dtconv_segment_grow(segment, 1));
	gpu.standin->set(STANDIN_PEERS, 0);
	fixture_status(dtconv_segment_set_access(segment, 1, DTCONV_SEGMENT_READ),
		       DTCONV_ERR_UNSUPPORTED);
	gpu.standin->set(STANDIN_PEERS, 1);
	gpu.standin->inject("cuMemSetAccess", 2, CUDA_ERROR_UNKNOWN);
	fixture_status(dtconv_segment_set_access(segment, 1, DTCONV_SEGMENT_READ),
		       DTCONV_ERR_BACKEND);
	ck_assert_uint_eq(access_of(base_of(segment), 1), CU_MEM_ACCESS_FLAGS_PROT_NONE);
	fixture_ok(dtconv_segment_destroy(segment));
}
END_TEST

/* What one set of addresses writes, the other reads behind an event. */
START_TEST(an_alias_is_the_same_memory)
{
	struct dtconv_segment *segment = create(GRANULE, 4 * GRANULE), *alias;
	CUstream first = gpu_stream(), second = gpu_stream();
	CUevent done;

	fixture_ok(dtconv_segment_grow(segment, GRANULE));
	fixture_ok(dtconv_segment_alias(segment, &alias));
	const struct dtconv_segment_attr attr = attr_of(alias);
	unsigned char *const here = base_of(segment), *const there = attr.base;
	ck_assert_ptr_ne(here, there);
	ck_assert_uint_eq(attr.bytes, 2 * GRANULE);
	ck_assert_int_eq(attr.received, 1);
	MUST(EventCreate(&done, CU_EVENT_DISABLE_TIMING));
	MUST(MemsetD8Async((CUdeviceptr)(uintptr_t)here, 3, 2 * GRANULE, first));
	MUST(EventRecord(done, first));
	MUST(StreamWaitEvent(second, done, 0));
	MUST(MemcpyAsync((CUdeviceptr)(uintptr_t)there,
			 (CUdeviceptr)(uintptr_t)(there + GRANULE), 1, second));
	MUST(StreamSynchronize(second));
	ck_assert_int_eq(byte_at(there), 3);
	/* Pack through one, unpack through the other. */
	struct dtconv_type *type = fixture_type("vector(1000, 3, 5, double)");
	struct arena own;
	size_t moved;
	arena_open(&own, ARENA_DEVICE, 40000);
	fill(own.memory, 9, 40000);
	fixture_ok(dtconv_pack(type, 1, own.memory, here, 24000, &moved));
	fill(own.memory, 0, 40000);
	fixture_ok(dtconv_unpack(type, 1, own.memory, there, 24000, &moved));
	ck_assert_int_eq(byte_at(own.memory + 40), 9);
	ck_assert_int_eq(byte_at(own.memory + 24), 0);
	arena_close(&own);
	dtconv_type_unref(type);
	fixture_ok(dtconv_segment_destroy(segment));
	ck_assert_int_eq(byte_at(there + 2 * GRANULE - 1), 3);
	fixture_ok(dtconv_segment_destroy(alias));
	MUST(EventDestroy(done));
	MUST(StreamDestroy(first));
	MUST(StreamDestroy(second));
}
END_TEST

START_TEST(memory_is_exported_for_adapters_where_the_device_can)
{
	struct dtconv_segment *segment = create(1, 0);
	int fd = -1;
	const int status = dtconv_segment_dma_buf(segment, 4096, 8192, &fd);

	if (gpu.standin)
		fixture_ok(status);
	if (!status)
		close(fd);
	else
		fixture_status(status, DTCONV_ERR_UNSUPPORTED);
	if (gpu.standin) {
		gpu.standin->set(STANDIN_DMA_BUF, 0);
		fixture_status(dtconv_segment_dma_buf(segment, 0, 4096, &fd),
			       DTCONV_ERR_UNSUPPORTED);
		gpu.standin->set(STANDIN_DMA_BUF, 1);
	}
	fixture_ok(dtconv_segment_destroy(segment));
}
END_TEST

/* Compression is asked for, and what has become of it is told. */
START_TEST(compression_is_verified)
{
	const struct dtconv_segment_params params = {
		.struct_size = sizeof(params),
		.flags = DTCONV_SEGMENT_COMPRESSIBLE,
	};
	struct dtconv_segment *segment;
	int capable = 0;

	MUST(DeviceGetAttribute(&capable,
				CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED, 0));
	fixture_ok(dtconv_segment_create(fixture_context, &params, &segment));
	ck_assert(capable || !attr_of(segment).compressed);
	printf("compressible: asked for, device %s, memory %s\n",
	       capable ? "can" : "cannot", attr_of(segment).compressed ? "is" : "is not");
	move_through(base_of(segment));
	fixture_ok(dtconv_segment_destroy(segment));
}
END_TEST

/* A capture of another thread in global mode is neither refused nor broken. */
START_TEST(captures_are_left_alone)
{
	CUstream stream = gpu_stream();
	struct dtconv_segment *segment, *alias;
	CUgraph graph;

	move_through(base_of(segment = create(1, 4 * GRANULE)));
	MUST(StreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	fixture_ok(dtconv_segment_grow(segment, 1));
	fixture_ok(dtconv_segment_alias(segment, &alias));
	fixture_ok(dtconv_segment_set_access(alias, 0, DTCONV_SEGMENT_READ));
	MUST(StreamEndCapture(stream, &graph));
	MUST(GraphDestroy(graph));
	fixture_ok(dtconv_segment_destroy(alias));
	fixture_ok(dtconv_segment_destroy(segment));
	MUST(StreamDestroy(stream));
}
END_TEST

/* Nobody knows what the device still does. */
START_TEST(memory_of_a_lost_context_stays)
{
	struct dtconv_segment *segment;

	if (!gpu.standin)
		return;
	segment = create(1, 0);
	MUST(DevicePrimaryCtxReset(0));
	fixture_status(dtconv_segment_shrink(segment, SIZE_MAX), DTCONV_ERR_STATE);
	fixture_status(dtconv_segment_destroy(segment), DTCONV_ERR_STATE);
}
END_TEST

START_TEST(devices_without_the_means_are_refused)
{
	struct dtconv_segment *segment = NULL;

	if (!gpu.standin)
		return;
	gpu.standin->set(STANDIN_VMM, 0);
	fixture_status(dtconv_segment_create(fixture_context, NULL, &segment),
		       DTCONV_ERR_UNSUPPORTED);
	gpu.standin->set(STANDIN_VMM, 1);
	ck_assert_ptr_null(segment);
}
END_TEST

/* ---- two processes ---------------------------------------------------------------------- */

/* What the owner is told to do; it answers with one byte. */
enum order {
	ORDER_SEND = 1,
	ORDER_GROW,
	ORDER_SHRINK,
	ORDER_FILL,
	ORDER_LOOK,
	ORDER_DESTROY,
	ORDER_REPLACE,
	ORDER_LAST
};

static void must(bool good, const char *what)
{
	if (good)
		return;
	perror(what);
	_exit(1);
}

static unsigned char obey(enum order order, struct dtconv_segment **segment, int socket)
{
	switch (order) {
	case ORDER_SEND:
		must(!dtconv_segment_send(*segment, socket), "send");
		break;
	case ORDER_GROW:
		must(!dtconv_segment_grow(*segment, 2 * GRANULE), "grow");
		break;
	case ORDER_SHRINK:
		must(!dtconv_segment_shrink(*segment, 2 * GRANULE), "shrink");
		break;
	case ORDER_FILL:
		fill(base_of(*segment), 5, attr_of(*segment).bytes);
		break;
	case ORDER_LOOK:
		return byte_at(base_of(*segment) + attr_of(*segment).bytes - 1);
	case ORDER_DESTROY:
		must(!dtconv_segment_destroy(*segment), "destroy");
		*segment = NULL;
		break;
	case ORDER_REPLACE:
		must(!dtconv_segment_destroy(*segment), "destroy");
		*segment = create(GRANULE, 8 * GRANULE);
		break;
	default:
		must(!dtconv_segment_destroy(*segment), "destroy");
		gpu_close();
		_exit(0);
	}
	return 0;
}

static void use_device(int device)
{
	CUcontext context;

	MUST(DevicePrimaryCtxRetain(&context, device));
	MUST(CtxSetCurrent(context));
}

/* A process that owns a segment of @device. */
static void run_owner(int socket, int orders, int device)
{
	struct dtconv_segment *segment = NULL;
	struct dtconv_segment_params params = { .struct_size = sizeof(params),
						.start_bytes = GRANULE,
						.reserve_bytes = 300 * GRANULE };
	unsigned char order;

	gpu_open();
	gpu.running = false;
	if (device)
		use_device(device);
	params.device = device;
	must(!dtconv_segment_create(fixture_context, &params, &segment), "create");
	while (read(orders, &order, 1) == 1) {
		order = obey((enum order)order, &segment, socket);
		must(write(orders, &order, 1) == 1, "answer");
	}
	_exit(0);
}

static struct {
	int socket, orders;
	pid_t owner;
} there;

/* Before there is a driver: a forked one does not work. */
static void begin_owner(int device)
{
	int sockets[2], orders[2];

	ck_assert(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets));
	ck_assert(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, orders));
	there.owner = fork();
	if (!there.owner) {
		close(sockets[1]);
		close(orders[1]);
		run_owner(sockets[0], orders[0], device);
	}
	close(sockets[0]);
	close(orders[0]);
	there.socket = sockets[1];
	there.orders = orders[1];
}

static void begin_order(enum order order)
{
	const unsigned char byte = (unsigned char)order;

	ck_assert_int_eq(write(there.orders, &byte, 1), 1);
}

static unsigned char end_order(void)
{
	unsigned char byte = 0;

	ck_assert_int_eq(read(there.orders, &byte, 1), 1);
	return byte;
}

static unsigned char order(enum order which)
{
	begin_order(which);
	return end_order();
}

static void end_owner(void)
{
	int status;

	close(there.orders);
	close(there.socket);
	ck_assert_int_eq(waitpid(there.owner, &status, 0), there.owner);
	ck_assert_msg(WIFEXITED(status) && !WEXITSTATUS(status), "the owner failed");
}

static int receive(struct dtconv_segment **segment)
{
	const struct dtconv_segment_params params = { .struct_size = sizeof(params) };

	begin_order(ORDER_SEND);
	int status =
		dtconv_segment_receive(fixture_context, there.socket, &params, segment);
	end_order();
	return status;
}

static bool reaches(int device)
{
	int devices = 0, answer = 1;

	MUST(DeviceGetCount(&devices));
	if (device && device < devices)
		MUST(DeviceCanAccessPeer(&answer, 0, device));
	return device < devices && answer;
}

/* Case: the owner's device; this process uses device 0. */
START_TEST(another_process_moves_into_a_segment)
{
	struct dtconv_segment *segment = NULL;

	begin_owner(_i);
	gpu_open();
	if (!reaches(_i))
		return;
	order(ORDER_FILL);
	fixture_ok(receive(&segment));
	const struct dtconv_segment_attr attr = attr_of(segment);
	unsigned char *const base = attr.base;
	ck_assert_uint_eq(attr.bytes, GRANULE);
	ck_assert_uint_ge(attr.reserve_bytes, 300 * GRANULE);
	ck_assert_int_eq(attr.received, 1);
	ck_assert_int_eq(attr.device, _i);
	ck_assert_int_eq(byte_at(base), 5);
	move_through(base + 64);
	fill(base, 6, GRANULE);
	ck_assert_int_eq(order(ORDER_LOOK), 6);
	/* It grows at both ends, in place, and shrinks. */
	order(ORDER_GROW);
	fixture_ok(receive(&segment));
	ck_assert_ptr_eq(base_of(segment), base);
	ck_assert_uint_eq(attr_of(segment).bytes, 3 * GRANULE);
	ck_assert_int_eq(byte_at(base), 6);
	fill(base + GRANULE, 7, 2 * GRANULE);
	ck_assert_int_eq(order(ORDER_LOOK), 7);
	order(ORDER_SHRINK);
	fixture_ok(receive(&segment));
	ck_assert_uint_eq(attr_of(segment).bytes, GRANULE);
	/* Other memory of the same size is other memory. */
	order(ORDER_GROW);
	fixture_ok(receive(&segment));
	order(ORDER_SHRINK);
	order(ORDER_GROW);
	order(ORDER_FILL);
	fixture_ok(receive(&segment));
	ck_assert_int_eq(byte_at(base + 3 * GRANULE - 1), 5);
	/* Memory outlives the owner's segment, and the owner. */
	order(ORDER_DESTROY);
	ck_assert_int_eq(byte_at(base + 3 * GRANULE - 1), 5);
	end_owner();
	ck_assert_int_eq(byte_at(base + 1), 5);
	move_through(base);
	fixture_status(dtconv_segment_grow(segment, 1), DTCONV_ERR_STATE);
	fixture_ok(dtconv_segment_destroy(segment));
	/* Its worker knows the driver's objects. */
	dtconv_context_destroy(fixture_context);
	gpu_must_be_clean("a received segment");
	gpu_open();
	fixture_ok(dtconv_context_create(NULL, &fixture_context));
}
END_TEST

/* More than one packet, to and fro: no descriptor is left at either end. */
START_TEST(long_lists_of_mappings_arrive)
{
	struct dtconv_segment *segment = NULL;

	begin_owner(0);
	gpu_open();
	if (!gpu.standin)
		return;
	for (int i = 0; i < 70; i++)
		order(ORDER_GROW);
	fixture_ok(receive(&segment));
	const size_t files = process_files();
	ck_assert_uint_eq(attr_of(segment).mappings, 71);
	ck_assert_uint_eq(attr_of(segment).bytes, 141 * GRANULE);
	order(ORDER_FILL);
	ck_assert_int_eq(byte_at(base_of(segment) + 141 * GRANULE - 1), 5);
	fixture_ok(receive(&segment));
	ck_assert_uint_eq(process_files(), files);
	for (int i = 0; i < 70; i++)
		order(ORDER_SHRINK);
	fixture_ok(receive(&segment));
	ck_assert_uint_eq(attr_of(segment).mappings, 1);
	fixture_ok(dtconv_segment_destroy(segment));
	end_owner();
}
END_TEST

START_TEST(another_segment_is_not_taken_for_it)
{
	struct dtconv_segment *segment = NULL, *own;

	begin_owner(0);
	gpu_open();
	fixture_ok(receive(&segment));
	order(ORDER_REPLACE);
	fixture_status(receive(&segment), DTCONV_ERR_INVAL);
	ck_assert_uint_eq(attr_of(segment).bytes, GRANULE);
	own = create(1, 0);
	fixture_status(dtconv_segment_receive(fixture_context, there.socket, NULL, &own),
		       DTCONV_ERR_STATE);
	fixture_ok(dtconv_segment_destroy(own));
	fixture_ok(dtconv_segment_destroy(segment));
	end_owner();
}
END_TEST

START_TEST(an_owner_that_ends_ends_the_call)
{
	struct dtconv_segment *segment = NULL;

	begin_owner(0);
	gpu_open();
	begin_order(ORDER_LAST);
	fixture_status(dtconv_segment_receive(fixture_context, there.socket, NULL,
					      &segment),
		       DTCONV_ERR_PEER);
	ck_assert_ptr_null(segment);
	end_owner();
	/* Nobody listens: no signal, a status. */
	segment = create(1, 0);
	int sockets[2];
	ck_assert(!socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets));
	close(sockets[1]);
	fixture_status(dtconv_segment_send(segment, sockets[0]), DTCONV_ERR_PEER);
	close(sockets[0]);
	fixture_ok(dtconv_segment_destroy(segment));
}
END_TEST

/* ---- peers that lie --------------------------------------------------------------------- */

#define WORDS 70

static void send_words(int fd, const uint64_t *words, size_t bytes, const int *files,
		       size_t count)
{
	_Alignas(struct cmsghdr) char room[CMSG_SPACE(sizeof(int) * 40)] = "";
	struct iovec content = { (void *)(uintptr_t)words, bytes };
	struct msghdr message = { .msg_iov = &content, .msg_iovlen = 1 };

	if (count) {
		message.msg_control = room;
		message.msg_controllen = CMSG_SPACE(sizeof(int) * count);
		struct cmsghdr *header = CMSG_FIRSTHDR(&message);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(sizeof(int) * count);
		memcpy(CMSG_DATA(header), files, sizeof(int) * count);
	}
	ck_assert_int_eq(sendmsg(fd, &message, 0), (ssize_t)bytes);
}

/* Of a real segment with one mapping: what it sends. */
static void take_words(struct dtconv_segment *segment, uint64_t *words, int *file)
{
	_Alignas(struct cmsghdr) char room[CMSG_SPACE(sizeof(int))];
	struct iovec content = { words, sizeof(uint64_t) * WORDS };
	struct msghdr message = { .msg_iov = &content,
				  .msg_iovlen = 1,
				  .msg_control = room,
				  .msg_controllen = sizeof(room) };
	int sockets[2];

	ck_assert(!socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets));
	fixture_ok(dtconv_segment_send(segment, sockets[0]));
	ck_assert_int_eq(recvmsg(sockets[1], &message, 0), sizeof(uint64_t) * WORDS);
	memcpy(file, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(*file));
	close(sockets[0]);
	close(sockets[1]);
}

static int receive_from(int fd)
{
	struct dtconv_segment *segment = NULL;
	int status = dtconv_segment_receive(fixture_context, fd, NULL, &segment);

	if (!status)
		fixture_ok(dtconv_segment_destroy(segment));
	return status;
}

START_TEST(lies_are_refused_with_a_sentence)
{
	static const struct {
		size_t word;
		uint64_t value;
		int status;
	} lies[] = {
		{ 0, 0, DTCONV_ERR_FORMAT },
		{ 0, UINT64_C(0x267737464), DTCONV_ERR_FORMAT },
		{ 1, 1, DTCONV_ERR_FORMAT },
		{ 1, (uint64_t)(DTCONV_SEGMENT_MAPPINGS_MAX + 1) << 32,
		  DTCONV_ERR_FORMAT },
		{ 1, (uint64_t)1 << 32 | 1, DTCONV_ERR_FORMAT },
		{ 2, 0, DTCONV_ERR_FORMAT },
		{ 2, 2, DTCONV_ERR_FORMAT },
		{ 2, UINT64_MAX, DTCONV_ERR_FORMAT },
		{ 3, 0, DTCONV_ERR_FORMAT },
		{ 3, UINT64_MAX, DTCONV_ERR_FORMAT },
		{ 3, (uint64_t)PTRDIFF_MAX, DTCONV_ERR_NOMEM },
		{ 3, 1, DTCONV_SUCCESS }, /* a granule */
		{ 6, 0, DTCONV_ERR_FORMAT },
		{ 6, UINT64_MAX, DTCONV_ERR_FORMAT },
		{ 6, 4096, DTCONV_ERR_FORMAT },
		{ 6, 2 * GRANULE, DTCONV_ERR_LIMIT },
	};
	struct dtconv_segment *segment = create(GRANULE, GRANULE);
	uint64_t words[WORDS], lie[WORDS + 1] = { 0 };
	int sockets[2], file;

	take_words(segment, words, &file);
	ck_assert(!socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets));
	const size_t files = process_files();
	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
		memcpy(lie, words, sizeof(words));
		lie[lies[i].word] = lies[i].value;
		send_words(sockets[0], lie, sizeof(words), &file, 1);
		fixture_status(receive_from(sockets[1]), lies[i].status);
		ck_assert_uint_eq(process_files(), files);
	}
	memcpy(lie, words, sizeof(words));
	send_words(sockets[0], lie, 8, &file, 1);
	fixture_status(receive_from(sockets[1]), DTCONV_ERR_FORMAT);
	send_words(sockets[0], lie, sizeof(words) + 8, &file, 1);
	fixture_status(receive_from(sockets[1]), DTCONV_ERR_FORMAT);
	send_words(sockets[0], lie, sizeof(words), NULL, 0);
	fixture_status(receive_from(sockets[1]), DTCONV_ERR_FORMAT);
	const int two[] = { file, file };
	send_words(sockets[0], lie, sizeof(words), two, 2);
	fixture_status(receive_from(sockets[1]), DTCONV_ERR_FORMAT);
	int many[40];
	for (int i = 0; i < 40; i++)
		many[i] = file;
	send_words(sockets[0], lie, sizeof(words), many, 40);
	fixture_status(receive_from(sockets[1]), DTCONV_ERR_LIMIT);
	/* A descriptor that is no memory of a device. */
	const int other = memfd_create("other", MFD_CLOEXEC);
	ck_assert(!ftruncate(other, GRANULE));
	send_words(sockets[0], lie, sizeof(words), &other, 1);
	ck_assert_int_lt(receive_from(sockets[1]), 0);
	close(other);
	ck_assert_uint_eq(process_files(), files);
	/* The truth is still welcome. */
	send_words(sockets[0], lie, sizeof(words), &file, 1);
	fixture_ok(receive_from(sockets[1]));
	close(file);
	close(sockets[0]);
	close(sockets[1]);
	fixture_ok(dtconv_segment_destroy(segment));
}
END_TEST

/* Numbers of any kind: a status, and no descriptor is kept. */
START_TEST(random_packets_do_no_harm)
{
	struct dtconv_segment *segment = create(GRANULE, GRANULE);
	struct choices choices = fixture_choices(3);
	uint64_t words[WORDS], lie[WORDS];
	int sockets[2], file;

	take_words(segment, words, &file);
	const size_t files = process_files();
	for (int i = 0; i < 5000; i++) {
		memcpy(lie, words, sizeof(words));
		for (size_t flips = choose(&choices, 4); flips--;)
			((unsigned char *)lie)[choose(&choices, 80)] ^=
				(unsigned char)(1u << choose(&choices, 8));
		ck_assert(!socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets));
		send_words(sockets[0], lie, sizeof(words), &file,
			   choose(&choices, 8) != 0);
		/* Some lists claim to go on. */
		close(sockets[0]);
		(void)receive_from(sockets[1]);
		close(sockets[1]);
	}
	ck_assert_uint_eq(process_files(), files);
	close(file);
	fixture_ok(dtconv_segment_destroy(segment));
}
END_TEST

/* ---- refused calls ---------------------------------------------------------------------- */

/* The life of a segment; the first status that is not 0. */
static int live(struct dtconv_context *context)
{
	const struct dtconv_segment_params params = { .struct_size = sizeof(params),
						      .start_bytes = GRANULE,
						      .reserve_bytes = 8 * GRANULE };
	struct dtconv_segment *segment, *alias = NULL;
	int status = dtconv_segment_create(context, &params, &segment), last;

	if (status)
		return status;
	status = dtconv_segment_grow(segment, GRANULE);
	if (!status)
		status = dtconv_segment_set_access(segment, 1, DTCONV_SEGMENT_READ);
	if (!status)
		status = dtconv_segment_alias(segment, &alias);
	if (!status)
		status = dtconv_segment_shrink(segment, GRANULE);
	last = dtconv_segment_destroy(alias);
	status = status ? status : last;
	last = dtconv_segment_destroy(segment);
	return status ? status : last;
}

/* Whether memory stays on purpose: nothing may be unmapped that a device may use, or the driver keeps it. */
static bool keeps_memory(const char *entry)
{
	return !strcmp(entry, "cuMemUnmap") || !strcmp(entry, "cuMemAddressFree") ||
	       !strcmp(entry, "cuMemRelease") || !strcmp(entry, "cuCtxSynchronize") ||
	       !strcmp(entry, "cuCtxPushCurrent") || !strcmp(entry, "cuCtxGetId");
}

static bool refuse_one(const char *entry, unsigned nth, int unused)
{
	struct dtconv_context *context;
	char fault[100], text[500] = "";

	(void)unused;
	gpu_open();
	ck_assert(!dtconv_context_create(NULL, &context));
	gpu_refuse(entry, nth);
	const int status = live(context);
	const bool fired = gpu_was_refused();
	ck_assert(!status || dtconv_context_error(context, text, sizeof(text)));
	const int next = live(context);
	if (next)
		dtconv_context_error(context, text, sizeof(text));
	ck_assert_msg(!next, "%s, call %u: the next segment fails too: %s", entry, nth,
		      text);
	dtconv_context_destroy(context);
	snprintf(fault, sizeof(fault), "%s, call %u", entry, nth);
	if (keeps_memory(entry))
		gpu_close(), gpu.standin->reset();
	else
		gpu_must_be_clean(fault);
	return fired;
}

START_TEST(a_refused_call_ends_one_segment)
{
	gpu_refuse_calls(gpu_entries[_i], refuse_one, 0);
}
END_TEST

int main(void)
{
	setenv("CK_FORK", "yes", 1);
	gpu_find();
	Suite *suite = suite_create("segment");
	TCase *tcase = gpu_case(suite, "memory", 60);

	tcase_add_test(tcase, a_segment_is_device_memory_that_grows_in_place);
	tcase_add_test(tcase, a_segment_shrinks_by_whole_mappings);
	tcase_add_test(tcase, limits_and_wrong_arguments_are_refused);
	tcase_add_test(tcase, the_number_of_mappings_is_limited);
	tcase_add_test(tcase, moves_go_on_while_a_segment_grows);
	tcase_add_test(tcase, access_is_granted_to_one_device_at_a_time);
	tcase_add_test(tcase, an_alias_is_the_same_memory);
	tcase_add_test(tcase, memory_is_exported_for_adapters_where_the_device_can);
	tcase_add_test(tcase, compression_is_verified);
	tcase_add_test(tcase, captures_are_left_alone);
	tcase_add_test(tcase, memory_of_a_lost_context_stays);
	tcase_add_test(tcase, devices_without_the_means_are_refused);
	tcase = gpu_case(suite, "lies", 120);
	tcase_add_test(tcase, lies_are_refused_with_a_sentence);
	tcase_add_test(tcase, random_packets_do_no_harm);
	tcase = fixture_case(suite, "processes", 60);
	tcase_add_loop_test(tcase, another_process_moves_into_a_segment, 0, 2);
	tcase_add_test(tcase, long_lists_of_mappings_arrive);
	tcase_add_test(tcase, another_segment_is_not_taken_for_it);
	tcase_add_test(tcase, an_owner_that_ends_ends_the_call);
	tcase_add_loop_test(gpu_faults(suite), a_refused_call_ends_one_segment, 0,
			    gpu_refusals());
	return fixture_run(suite);
}
