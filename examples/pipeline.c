/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A runtime with a network of its own gives the flow what it needs in five hooks. The network here is a pair of rings
 * between two threads; with InfiniBand, the same hooks post to a queue pair and poll its completion queue.
 * doc/your-runtime-in-five-hooks.md explains them.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include <dtconv/dtconv.h>

enum { SLOTS = 4, ROWS = 4096, COLUMNS = 512, SENT_COLUMNS = 200 };

/* A packet on the way, or, on the way back, its acknowledgement. */
struct packet {
	struct dtconv_fragment *fragment;
	uint64_t offset;
	size_t bytes;
};

/* One thread pushes, the other pops. */
struct ring {
	struct packet packets[SLOTS];
	atomic_size_t pushed, popped;
};

static struct ring there, back;
static struct dtconv_context *context;

static void check(int status)
{
	char sentence[256] = "";

	if (status == 0)
		return;
	dtconv_context_error(context, sentence, sizeof(sentence));
	fprintf(stderr, "%s: %s\n", dtconv_strerror(status), sentence);
	exit(EXIT_FAILURE);
}

static int push(struct ring *ring, struct packet packet)
{
	size_t pushed = atomic_load(&ring->pushed);

	if (pushed - atomic_load(&ring->popped) == SLOTS)
		return DTCONV_ERR_AGAIN;
	ring->packets[pushed % SLOTS] = packet;
	atomic_store(&ring->pushed, pushed + 1);
	return 0;
}

static int pop(struct ring *ring, struct packet *packet)
{
	size_t popped = atomic_load(&ring->popped);

	if (popped == atomic_load(&ring->pushed))
		return 0;
	*packet = ring->packets[popped % SLOTS];
	atomic_store(&ring->popped, popped + 1);
	return 1;
}

/* ---- the five hooks -------------------------------------------------------------------- */

/* 1. Memory: the network registers each slab of staging memory, here by locking nothing at all. */
static int register_slab(void *network, const struct dtconv_slab *slab, void **handle)
{
	(void)network;
	*handle =
		slab->base; /* with verbs: ibv_reg_mr(pd, slab->base, slab->bytes, ...) */
	return 0;
}

static void deregister_slab(void *network, const struct dtconv_slab *slab, void *handle)
{
	(void)network, (void)slab, (void)handle;
}

/* 2. Emit: a fragment is packed. A full queue answers AGAIN, and the fragment is offered again. */
static int emit(void *done, struct dtconv_fragment *fragment, uint64_t offset,
		size_t bytes, unsigned flags)
{
	(void)done, (void)flags;
	return push(&there, (struct packet){ fragment, offset, bytes });
}

/* 3. The sender polls: acknowledged fragments may be used again. */
static size_t poll_sender(void *network, size_t budget)
{
	struct packet packet;
	size_t happened = 0;

	(void)network;
	while (happened < budget && pop(&back, &packet)) {
		dtconv_fragment_sent(packet.fragment, 0);
		happened++;
	}
	return happened;
}

/* 4. Release: the receiver has unpacked a packet. At most SLOTS are on the way, so there is room. */
static void release(void *fragment, int status)
{
	check(status);
	check(push(&back, (struct packet){ .fragment = fragment }));
}

/* 5. The receiver polls: packets that have arrived are delivered, in any order. */
static size_t poll_receiver(void *recv, size_t budget)
{
	struct packet packet;
	size_t happened = 0;

	while (happened < budget && pop(&there, &packet)) {
		check(dtconv_recv_deliver(*(struct dtconv_recv **)recv, packet.offset,
					  dtconv_fragment_address(packet.fragment),
					  packet.bytes, release, packet.fragment));
		happened++;
	}
	return happened;
}

/* ---- two threads ----------------------------------------------------------------------- */

static void done(void *status, int result, size_t moved)
{
	(void)moved;
	*(int *)status = result;
}

/* A runtime calls progress in its own progress function. */
static void drive(struct dtconv_engine *engine, const int *status)
{
	size_t worked;

	while (*status == DTCONV_INPROGRESS) {
		check(dtconv_engine_progress(engine, 0, &worked));
		if (!worked)
			sched_yield();
	}
	check(*status);
}

static struct dtconv_engine *make_engine(const struct dtconv_source *network)
{
	struct dtconv_engine *engine;
	unsigned number;

	check(dtconv_engine_create(context, NULL, &engine));
	check(dtconv_engine_attach(engine, network, &number));
	return engine;
}

static void *receive(void *convertor)
{
	int status = DTCONV_INPROGRESS;
	struct dtconv_recv *recv = NULL;
	const struct dtconv_source network = { .fd = -1,
					       .poll = poll_receiver,
					       .arg = &recv };
	struct dtconv_engine *engine = make_engine(&network);
	const struct dtconv_recv_params params = { .struct_size = sizeof(params),
						   .done = done,
						   .arg = &status };

	check(dtconv_recv_start(engine, &params, convertor, &recv));
	drive(engine, &status);
	check(dtconv_recv_destroy(recv));
	check(dtconv_engine_destroy(engine));
	return NULL;
}

static void send_to_receiver(struct dtconv_convertor *convertor)
{
	const struct dtconv_registrar registrar = { .name = "rings",
						    .reg = register_slab,
						    .dereg = deregister_slab };
	const struct dtconv_pool_params pool_params = { .struct_size =
								sizeof(pool_params),
							.fragment_bytes = 65536,
							.start_bytes = SLOTS * 65536,
							.registrars = &registrar,
							.registrar_count = 1 };
	const struct dtconv_source network = { .fd = -1, .poll = poll_sender };
	struct dtconv_engine *engine = make_engine(&network);
	int status = DTCONV_INPROGRESS;
	struct dtconv_send *send = NULL;
	struct dtconv_pool *pool;

	check(dtconv_pool_create(context, &pool_params, &pool));
	const struct dtconv_send_params params = { .struct_size = sizeof(params),
						   .pool = pool,
						   .emit = emit,
						   .done = done,
						   .arg = &status };
	check(dtconv_send_start(engine, &params, convertor, &send));
	drive(engine, &status);
	check(dtconv_send_destroy(send));
	check(dtconv_engine_destroy(engine));
	check(dtconv_pool_destroy(pool));
}

static double from[ROWS][COLUMNS], to[ROWS][COLUMNS];

int main(void)
{
	struct dtconv_convertor *packs, *unpacks;
	struct dtconv_type *columns;
	pthread_t receiver;

	for (int i = 0; i < ROWS * COLUMNS; i++)
		from[i / COLUMNS][i % COLUMNS] = i;
	check(dtconv_context_create(NULL, &context));
	/* The first columns of a matrix: 6.25 MiB in 4096 blocks. */
	check(dtconv_type_create_vector(ROWS, SENT_COLUMNS, COLUMNS,
					dtconv_type_predefined(context, DTCONV_DOUBLE),
					&columns));
	check(dtconv_type_commit(columns));
	check(dtconv_convertor_create_pack(columns, 1, from, &packs));
	check(dtconv_convertor_create_unpack(columns, 1, to, &unpacks));
	if (pthread_create(&receiver, NULL, receive, unpacks))
		return EXIT_FAILURE;
	send_to_receiver(packs);
	pthread_join(receiver, NULL);
	for (int i = 0; i < ROWS * COLUMNS; i++)
		if (to[i / COLUMNS][i % COLUMNS] != (i % COLUMNS < SENT_COLUMNS ? i : 0))
			return EXIT_FAILURE;
	puts("4096 blocks arrived");
	dtconv_convertor_destroy(packs);
	dtconv_convertor_destroy(unpacks);
	dtconv_type_unref(columns);
	dtconv_context_destroy(context);
	return EXIT_SUCCESS;
}
