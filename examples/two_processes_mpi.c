/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two processes of MPI: columns of a matrix go from the first process to the last one, which stores them at irregular
 * places and sends them back. With one process it is both. doc/channels-over-mpi.md explains it.
 *
 *	mpicc two_processes_mpi.c $(pkg-config --cflags --libs dtconv-mpi) && mpiexec -n 2 ./a.out
 */
#include <stdio.h>
#include <stdlib.h>

#include <dtconv/dtconv.h>
#include <dtconv/mpi.h>

enum {
	ROWS = 2000,
	COLUMNS = 64,
	SENT_COLUMNS = 10,
	COUNT = ROWS * SENT_COLUMNS,
	THERE = 1,
	BACK = 2
};

static struct dtconv_context *context;
static struct dtconv_engine *engine;
static double from[ROWS][COLUMNS], to[ROWS][COLUMNS], scattered[3 * COUNT];

static void check(int status)
{
	char sentence[256] = "";

	if (status == 0)
		return;
	dtconv_context_error(context, sentence, sizeof(sentence));
	fprintf(stderr, "%s: %s\n", dtconv_strerror(status), sentence);
	MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
}

static void done(void *status, int result, size_t moved)
{
	(void)moved;
	*(int *)status = result;
}

static void wait_for(const int *status)
{
	while (*status == DTCONV_INPROGRESS)
		check(dtconv_engine_progress(engine, 0, NULL));
	check(*status);
}

static struct dtconv_type *make_columns(void)
{
	struct dtconv_type *columns;

	check(dtconv_type_create_vector(ROWS, SENT_COLUMNS, COLUMNS,
					dtconv_type_predefined(context, DTCONV_DOUBLE),
					&columns));
	check(dtconv_type_commit(columns));
	return columns;
}

/* As many doubles, but one by one, the later the further apart. */
static struct dtconv_type *make_irregular(void)
{
	static ptrdiff_t places[COUNT];
	struct dtconv_type *irregular;

	for (ptrdiff_t i = 0; i < COUNT; i++)
		places[i] = 2 * i + i / 100;
	check(dtconv_type_create_indexed_block(
		COUNT, 1, places, dtconv_type_predefined(context, DTCONV_DOUBLE),
		&irregular));
	check(dtconv_type_commit(irregular));
	return irregular;
}

static void exchange(struct dtconv_channel *channel, int is_first, int is_last)
{
	struct dtconv_type *columns = make_columns(), *irregular = make_irregular();
	int sent[2] = { DTCONV_INPROGRESS, DTCONV_INPROGRESS };
	int received[2] = { DTCONV_INPROGRESS, DTCONV_INPROGRESS };

	if (is_last)
		check(dtconv_channel_recv(channel, THERE, irregular, 1, scattered, done,
					  &received[0]));
	if (is_first) {
		check(dtconv_channel_send(channel, THERE, columns, 1, from, done,
					  &sent[0]));
		check(dtconv_channel_recv(channel, BACK, columns, 1, to, done,
					  &received[1]));
	}
	if (is_last) {
		wait_for(&received[0]);
		check(dtconv_channel_send(channel, BACK, irregular, 1, scattered, done,
					  &sent[1]));
		wait_for(&sent[1]);
	}
	if (is_first) {
		wait_for(&sent[0]);
		wait_for(&received[1]);
	}
	dtconv_type_unref(irregular);
	dtconv_type_unref(columns);
}

static int is_right(void)
{
	for (int i = 0; i < ROWS * COLUMNS; i++)
		if (to[i / COLUMNS][i % COLUMNS] != (i % COLUMNS < SENT_COLUMNS ? i : 0))
			return 0;
	return 1;
}

int main(int argc, char **argv)
{
	struct dtconv_channel *channel;
	struct dtconv_mpi *mpi;
	int rank, size, is_wrong = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int i = 0; i < ROWS * COLUMNS; i++)
		from[i / COLUMNS][i % COLUMNS] = i;
	check(dtconv_context_create(NULL, &context));
	check(dtconv_engine_create(context, NULL, &engine));
	check(dtconv_mpi_create(engine, MPI_COMM_WORLD, &mpi));
	if (rank == 0 || rank == size - 1) {
		check(dtconv_mpi_connect(mpi, size - 1 - rank, NULL, &channel));
		exchange(channel, rank == 0, rank == size - 1);
		check(dtconv_channel_destroy(channel));
		is_wrong = rank == 0 && !is_right();
	}
	check(dtconv_mpi_destroy(mpi));
	check(dtconv_engine_destroy(engine));
	dtconv_context_destroy(context);
	if (rank == 0)
		puts(is_wrong ? "wrong numbers came back"
			      : "20000 numbers went there and back");
	MPI_Finalize();
	return is_wrong;
}
