/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two processes: columns of a matrix go to another process, which stores them at irregular places and sends them back.
 * doc/two-processes.md explains it. With -DOVER_UCX they go over UCX: doc/channels-over-ucx.md.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dtconv/dtconv.h>
#ifdef OVER_UCX
#include <dtconv/ucx.h>
#endif

enum { ROWS = 2000, COLUMNS = 64, SENT_COLUMNS = 10, THERE = 1, BACK = 2 };

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

static void done(void *status, int result, size_t moved)
{
	(void)moved;
	*(int *)status = result;
}

static void wait_for(struct dtconv_engine *engine, const int *status)
{
	while (*status == DTCONV_INPROGRESS)
		check(dtconv_engine_progress(engine, 0, NULL));
	check(*status);
}

/* Both ways over one channel: send and then receive, or receive and then send. */
static void exchange(int socket, struct dtconv_type *type, void *out, void *in)
{
	int sent = DTCONV_INPROGRESS, received = DTCONV_INPROGRESS;
	const int is_child = out == in;
	struct dtconv_channel_params params = { .struct_size = sizeof(params),
						.device = -1 };
	struct dtconv_engine *engine;
	struct dtconv_channel *channel;

#ifdef OVER_UCX
	struct dtconv_ucx *ucx;
	check(dtconv_ucx_open(context, NULL, &ucx));
	params.transport = dtconv_ucx_transport(ucx);
#endif
	check(dtconv_engine_create(context, NULL, &engine));
	check(dtconv_channel_open(engine, socket, &params, &channel));
	check(dtconv_channel_recv(channel, is_child ? THERE : BACK, type, 1, in, done,
				  &received));
	if (is_child)
		wait_for(engine, &received);
	check(dtconv_channel_send(channel, is_child ? BACK : THERE, type, 1, out, done,
				  &sent));
	wait_for(engine, &sent);
	wait_for(engine, &received);
	check(dtconv_channel_destroy(channel));
	check(dtconv_engine_destroy(engine));
#ifdef OVER_UCX
	check(dtconv_ucx_close(ucx));
#endif
}

/* As many doubles, but one by one, the later the further apart. Each is compared with the one that was sent. */
static int run_child(int socket)
{
	enum { COUNT = ROWS * SENT_COLUMNS };
	static ptrdiff_t places[COUNT];
	static double buffer[3 * COUNT], right[3 * COUNT];
	struct dtconv_type *irregular;

	for (ptrdiff_t i = 0; i < COUNT; i++) {
		const ptrdiff_t sent = i / SENT_COLUMNS * COLUMNS + i % SENT_COLUMNS;

		places[i] = 2 * i + i / 100;
		right[places[i]] = (double)sent;
	}
	check(dtconv_type_create_indexed_block(
		COUNT, 1, places, dtconv_type_predefined(context, DTCONV_DOUBLE),
		&irregular));
	check(dtconv_type_commit(irregular));
	exchange(socket, irregular, buffer, buffer);
	dtconv_type_unref(irregular);
	for (int i = 0; i < 3 * COUNT; i++)
		if (buffer[i] != right[i])
			return EXIT_FAILURE;
	return EXIT_SUCCESS;
}

static double from[ROWS][COLUMNS], to[ROWS][COLUMNS];

int main(void)
{
	struct dtconv_type *columns;
	int sockets[2], status = 0;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets))
		return EXIT_FAILURE;
	/* Before anything uses CUDA. */
	pid_t child = fork();
	check(dtconv_context_create(NULL, &context));
	close(sockets[child != 0]);
	if (child == 0)
		return run_child(sockets[1]);
	for (int i = 0; i < ROWS * COLUMNS; i++)
		from[i / COLUMNS][i % COLUMNS] = i;
	check(dtconv_type_create_vector(ROWS, SENT_COLUMNS, COLUMNS,
					dtconv_type_predefined(context, DTCONV_DOUBLE),
					&columns));
	check(dtconv_type_commit(columns));
	exchange(sockets[0], columns, from, to);
	for (int i = 0; i < ROWS * COLUMNS; i++)
		if (to[i / COLUMNS][i % COLUMNS] != (i % COLUMNS < SENT_COLUMNS ? i : 0))
			return EXIT_FAILURE;
	if (waitpid(child, &status, 0) != child || status)
		return EXIT_FAILURE;
	puts("20000 numbers went there and back");
	dtconv_type_unref(columns);
	dtconv_context_destroy(context);
	return EXIT_SUCCESS;
}
