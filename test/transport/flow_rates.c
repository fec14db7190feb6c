/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the flow costs: rates of sends, receives and both over a network that takes no time, against the copies that
 * they consist of, measured in the same run. On a device where there is one, and always on the host. It tests nothing.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dtconv/dtconv.h>

#include "base/clock.h"
#ifdef FLOW_DEVICE
#include "support/gpu.h"
#endif

#define REPEATS 11
#define MOST    ((size_t)64 << 20)

static struct dtconv_context *context;

static void must(int status)
{
	char text[400] = "";

	if (!status)
		return;
	dtconv_context_error(context, text, sizeof(text));
	printf("%s: %s\n", dtconv_strerror(status), text);
	exit(1);
}

/* ---- a network that takes no time -------------------------------------------------------- */

struct exchange {
	struct dtconv_engine *engine;
	struct dtconv_pool *pool;
	struct dtconv_convertor *packs, *unpacks;
	struct dtconv_send *send;
	struct dtconv_recv *recv;
	char *arrived; /* what is delivered if nothing is sent */
	size_t bytes;
	int open;
};

static void released(void *fragment, int status)
{
	dtconv_fragment_sent(fragment, status);
}

static int emit(void *arg, struct dtconv_fragment *fragment, uint64_t offset,
		size_t bytes, unsigned flags)
{
	struct exchange *it = arg;

	(void)flags;
	if (it->unpacks)
		return dtconv_recv_deliver(it->recv, offset,
					   dtconv_fragment_address(fragment), bytes,
					   released, fragment);
	dtconv_fragment_sent(fragment, 0);
	return 0;
}

static void done(void *arg, int status, size_t moved)
{
	(void)moved;
	must(status);
	((struct exchange *)arg)->open--;
}

static void start_send(struct exchange *it)
{
	const struct dtconv_send_params from = { .struct_size = sizeof(from),
						 .pool = it->pool,
						 .emit = emit,
						 .done = done,
						 .arg = it };

	must(dtconv_convertor_seek(it->packs, 0));
	must(dtconv_send_start(it->engine, &from, it->packs, &it->send));
	it->open++;
}

static void start_recv(struct exchange *it)
{
	const struct dtconv_recv_params to = { .struct_size = sizeof(to),
					       .done = done,
					       .arg = it };
	const size_t part = (size_t)256 << 10;

	must(dtconv_recv_start(it->engine, &to, it->unpacks, &it->recv));
	it->open++;
	for (size_t at = 0; it->arrived && at < it->bytes; at += part)
		must(dtconv_recv_deliver(it->recv, at, it->arrived + at,
					 it->bytes - at < part ? it->bytes - at : part,
					 NULL, NULL));
}

static void finish(struct exchange *it)
{
	while (it->open)
		must(dtconv_engine_progress(it->engine, 0, NULL));
}

static void flow(void *arg)
{
	struct exchange *it = arg;

	if (it->unpacks)
		start_recv(it);
	if (it->packs)
		start_send(it);
	finish(it);
}

static struct exchange make(struct dtconv_type *type, const void *from, void *to,
			    size_t bytes, size_t fragment_bytes)
{
	const struct dtconv_pool_params params = { .struct_size = sizeof(params),
						   .fragment_bytes = fragment_bytes,
						   .start_bytes = 16 * fragment_bytes };
	struct exchange it = { .bytes = bytes };

	must(dtconv_engine_create(context, NULL, &it.engine));
	must(dtconv_pool_create(context, &params, &it.pool));
	if (from)
		must(dtconv_convertor_create_pack(type, 1, from, &it.packs));
	if (to)
		must(dtconv_convertor_create_unpack(type, 1, to, &it.unpacks));
	return it;
}

static void destroy(struct exchange *it)
{
	must(dtconv_send_destroy(it->send));
	must(dtconv_recv_destroy(it->recv));
	must(dtconv_engine_destroy(it->engine));
	must(dtconv_pool_destroy(it->pool));
	dtconv_convertor_destroy(it->packs);
	dtconv_convertor_destroy(it->unpacks);
}

/* ---- timing ------------------------------------------------------------------------------ */

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Median nanoseconds of one call. */
static double time_of(void (*call)(void *arg), void *arg, size_t calls)
{
	double times[REPEATS];

	call(arg);
	for (int i = 0; i < REPEATS; i++) {
		uint64_t start = dtc_now_ns();
		for (size_t k = 0; k < calls; k++)
			call(arg);
		times[i] = (double)(dtc_now_ns() - start) / (double)calls;
	}
	qsort(times, REPEATS, sizeof(times[0]), compare);
	return times[REPEATS / 2];
}

static void print_rate(const char *what, size_t bytes, double ns, double against)
{
	printf("%-44s %9zu bytes %10.1f us %8.2f GB/s", what, bytes, ns / 1000,
	       (double)bytes / ns);
	if (against > 0)
		printf("  %.2f of the stage", against / ns);
	putchar('\n');
}

/* ---- rows -------------------------------------------------------------------------------- */

struct copies {
	struct dtconv_type *type;
	char *from, *packed, *to;
	size_t bytes, piece;
};

/* Through a ring of pieces, as the flow does. */
static void copy_twice(void *arg)
{
	const struct copies *it = arg;

	for (size_t at = 0; at < it->bytes; at += it->piece) {
		char *piece = it->packed + at % (4 * it->piece);

		memcpy(piece, it->from + at, it->piece);
		memcpy(it->to + at, piece, it->piece);
	}
}

static void pack(void *arg)
{
	const struct copies *it = arg;

	must(dtconv_pack(it->type, 1, it->from, it->packed, it->bytes, NULL));
}

static void unpack(void *arg)
{
	const struct copies *it = arg;

	must(dtconv_unpack(it->type, 1, it->to, it->packed, it->bytes, NULL));
}

static void pack_and_unpack(void *arg)
{
	pack(arg);
	unpack(arg);
}

static struct dtconv_type *make_type(size_t blocks, size_t block, ptrdiff_t stride)
{
	struct dtconv_type *type;

	must(dtconv_type_create_vector(blocks, block, stride,
				       dtconv_type_predefined(context, DTCONV_BYTE),
				       &type));
	must(dtconv_type_commit(type));
	return type;
}

static void measure_host(void)
{
	struct copies copies = { .bytes = MOST, .piece = 65536 };
	struct dtconv_type *run = make_type(1, MOST, (ptrdiff_t)MOST);
	struct dtconv_type *few = make_type(64, 16, 32);

	copies.from = calloc(1, MOST);
	copies.to = calloc(1, MOST);
	copies.packed = calloc(1, MOST);
	double two = time_of(copy_twice, &copies, 1);
	print_rate("host, memcpy twice", MOST, two, 0);
	struct exchange it = make(run, copies.from, copies.to, MOST, 65536);
	print_rate("host, send and receive", MOST, time_of(flow, &it, 1), two);
	destroy(&it);
	copies.type = few;
	copies.bytes = 1024;
	double both = time_of(pack_and_unpack, &copies, 1000);
	it = make(few, copies.from, copies.to, 1024, 65536);
	double message = time_of(flow, &it, 1000);
	printf("host, message of one fragment: %.0f ns over pack and unpack (%.0f ns)\n",
	       message - both, both);
	destroy(&it);
	free(copies.from);
	free(copies.to);
	free(copies.packed);
	dtconv_type_unref(run);
	dtconv_type_unref(few);
}

#ifdef FLOW_DEVICE
static void both_ways(void *arg)
{
	struct exchange *its = arg;

	start_recv(&its[1]);
	start_send(&its[0]);
	while (its[0].open || its[1].open) {
		must(dtconv_engine_progress(its[0].engine, 0, NULL));
		must(dtconv_engine_progress(its[1].engine, 0, NULL));
	}
}

static void measure_device(size_t bytes)
{
	struct arena from, to, packed;
	struct copies copies = { .type = make_type(bytes / 1024, 1024, 2048),
				 .bytes = bytes };

	arena_open(&from, ARENA_DEVICE, 2 * bytes);
	arena_open(&to, ARENA_DEVICE, 2 * bytes);
	arena_open(&packed, ARENA_PINNED, bytes);
	copies.from = (char *)from.memory;
	copies.to = (char *)to.memory;
	copies.packed = (char *)packed.memory;
	double out = time_of(pack, &copies, 1), in = time_of(unpack, &copies, 1);
	print_rate("device, pack to pinned memory", bytes, out, 0);
	print_rate("device, unpack from pinned memory", bytes, in, 0);
	struct exchange its[2] = {
		make(copies.type, copies.from, NULL, bytes, (size_t)256 << 10),
		make(copies.type, NULL, copies.to, bytes, (size_t)256 << 10)
	};
	its[1].arrived = copies.packed;
	double send = time_of(flow, &its[0], 1), recv = time_of(flow, &its[1], 1);
	print_rate("device, send", bytes, send, out);
	print_rate("device, receive", bytes, recv, in);
	double duplex = time_of(both_ways, its, 1);
	printf("device, send and receive at once %34.1f us, %.2f times as fast as one after the other\n",
	       duplex / 1000, (send + recv) / duplex);
	destroy(&its[0]);
	destroy(&its[1]);
	dtconv_type_unref(copies.type);
	arena_close(&from);
	arena_close(&to);
	arena_close(&packed);
}
#endif

int main(void)
{
#ifdef FLOW_DEVICE
	gpu_find();
	gpu_open();
#endif
	must(dtconv_context_create(NULL, &context));
	measure_host();
#ifdef FLOW_DEVICE
	measure_device((size_t)1 << 20);
	measure_device((size_t)16 << 20);
	measure_device(MOST);
	if (gpu.standin)
		puts("the device is a stand-in: its figures mean nothing");
#endif
	dtconv_context_destroy(context);
	return 0;
}
