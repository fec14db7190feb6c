/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Channels over MPI between buffers on devices, in a job of two processes: every pairing of memory, and drivers that
 * refuse to register what is sent from or what arrives. Whatever is wrong aborts the process with a sentence.
 * Without mpiexec it starts the job.
 */
#include "config.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dtconv/dtconv.h>
#include <dtconv/mpi.h>

#include "launch.h"
#include "support/gpu.h"
#include "transport/exchange.h"

#define REQUIRE(holds) exchange_must(holds, #holds)

#define PATIENCE 10000000

/* Of 8 bytes each; the sender has 8 between two, the receiver 16. */
#define BLOCKS    3000
#define FRAGMENTS 3

static struct {
	int rank;
	struct dtconv_context *context;
	struct dtconv_engine *engine;
	struct dtconv_mpi *mpi;
} job;

static unsigned char memory[BLOCKS * 24], seen[BLOCKS * 24];

static unsigned char byte_of(int block, int i)
{
	return (unsigned char)(block * 7 + block / 31 + i * 3 + 1);
}

static void fill(size_t stride)
{
	memset(memory, 0xee, sizeof(memory));
	for (int block = 0; block < BLOCKS; block++)
		for (int i = 0; i < 8; i++)
			memory[(size_t)block * stride + (size_t)i] = byte_of(block, i);
}

static struct dtconv_type *make_type(ptrdiff_t stride)
{
	struct dtconv_type *type;

	REQUIRE(!dtconv_type_create_hvector(
		BLOCKS, 1, stride, dtconv_type_predefined(job.context, DTCONV_DOUBLE),
		&type));
	REQUIRE(!dtconv_type_commit(type));
	return type;
}

static void see(void *arg, int status, size_t moved)
{
	REQUIRE(!status && moved == (size_t)BLOCKS * 8);
	*(bool *)arg = true;
}

static void wait_for(const bool *is_done)
{
	for (long i = 0; !*is_done; i++) {
		size_t worked;

		exchange_must(i < PATIENCE, "the message ends");
		REQUIRE(!dtconv_engine_progress(job.engine, 0, &worked));
		if (!worked)
			(void)sched_yield();
	}
}

/* From process 0 to process 1. @refused: the registrations with these numbers of process 1, from 1. */
static void pass(bool is_from_device, bool is_to_device, int refused)
{
	const bool is_on_device = job.rank ? is_to_device : is_from_device;
	const size_t stride = job.rank ? 24 : 16;
	const struct dtconv_channel_params params = { .struct_size = sizeof(params),
						      .fragments = FRAGMENTS,
						      .fragment_bytes = 4096 };
	struct dtconv_channel_attr attr = { .struct_size = sizeof(attr) };
	struct dtconv_type *type = make_type((ptrdiff_t)stride);
	struct dtconv_channel *channel;
	struct arena arena;
	bool is_done = false;

	arena_open(&arena, is_on_device ? ARENA_DEVICE : ARENA_HOST, sizeof(memory));
	if (job.rank)
		memset(memory, 0xee, sizeof(memory));
	else
		fill(stride);
	arena_write(&arena, 0, memory, sizeof(memory));
	for (int i = 1; job.rank && i <= 2; i++)
		if (refused & 1 << i)
			gpu.standin->inject("cuMemHostRegister", (unsigned)i,
					    CUDA_ERROR_OUT_OF_MEMORY);
	REQUIRE(!dtconv_mpi_connect(job.mpi, 1 - job.rank, &params, &channel));
	REQUIRE(!(job.rank ? dtconv_channel_recv(channel, 1, type, 1, arena.memory, see,
						 &is_done)
			   : dtconv_channel_send(channel, 1, type, 1, arena.memory, see,
						 &is_done)));
	wait_for(&is_done);
	REQUIRE(!dtconv_channel_query(channel, &attr));
	REQUIRE(attr.peer_is_pinned == !(job.rank && refused & 4));
	arena_read(&arena, 0, seen, sizeof(seen));
	fill(stride);
	REQUIRE(!memcmp(seen, memory, sizeof(memory)));
	REQUIRE(!dtconv_channel_destroy(channel));
	arena_close(&arena);
	dtconv_type_unref(type);
}

int main(int argc, char **argv)
{
	if (!launch_is_job()) {
		gpu_find();
		return launch(argv[0], "2", NULL) ? EXIT_FAILURE : EXIT_SUCCESS;
	}
	REQUIRE(!MPI_Init(&argc, &argv));
	MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
	gpu_open_in_program();
	REQUIRE(!dtconv_context_create(NULL, &job.context));
	REQUIRE(!dtconv_engine_create(job.context, NULL, &job.engine));
	REQUIRE(!dtconv_mpi_create(job.engine, MPI_COMM_WORLD, &job.mpi));
	/* The first one opens the device context, whose own memory is registered too. */
	for (int pairing = 3; pairing >= 0; pairing--)
		pass(pairing & 1, pairing & 2, 0);
	for (int refused = 2; gpu.standin && refused < 8; refused += 2)
		pass(true, true, refused);
	REQUIRE(!dtconv_mpi_destroy(job.mpi));
	REQUIRE(!dtconv_engine_destroy(job.engine));
	dtconv_context_destroy(job.context);
	gpu_close();
	MPI_Finalize();
	if (!job.rank)
		puts("buffers on devices went from process to process");
	launch_passed();
	return EXIT_SUCCESS;
}
