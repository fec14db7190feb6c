/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two processes over InfiniBand or RoCE: columns of a matrix go to another process, which stores them one behind the
 * other. Alone, the program plays both parts on one machine. On two machines, one is started with `listen` and the
 * other with `connect`, an address such as tcp:192.0.2.1:18500, and the same secret.
 * usage: two_processes_verbs [listen | connect ADDRESS SECRET]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <dtconv/dtconv.h>
#include <dtconv/verbs.h>

enum { ROWS = 2000, COLUMNS = 64, SENT_COLUMNS = 10, TAG = 1 };

static struct dtconv_context *context;
static struct dtconv_engine *engine;
static struct dtconv_verbs *verbs;
static struct dtconv_channel_params params = { .struct_size = sizeof(params) };

static void check(int status)
{
	char sentence[384] = "";

	if (status == 0)
		return;
	dtconv_context_error(context, sentence, sizeof(sentence));
	fprintf(stderr, "%s: %s\n", dtconv_strerror(status), sentence);
	exit(status == DTCONV_ERR_UNSUPPORTED ? 77 : EXIT_FAILURE);
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

static void open_adapter(void)
{
	check(dtconv_context_create(NULL, &context));
	check(dtconv_engine_create(context, NULL, &engine));
	check(dtconv_verbs_open(context, NULL, &verbs));
	params.transport = dtconv_verbs_transport(verbs);
}

static void close_adapter(struct dtconv_channel *channel)
{
	check(dtconv_channel_destroy(channel));
	check(dtconv_verbs_close(verbs));
	check(dtconv_engine_destroy(engine));
	dtconv_context_destroy(context);
}

static struct dtconv_type *commit(struct dtconv_type *type)
{
	check(dtconv_type_commit(type));
	return type;
}

/* The first columns of a matrix. A send is complete when the other process has unpacked it. */
static void send_columns(struct dtconv_channel *channel)
{
	static double matrix[ROWS][COLUMNS];
	int status = DTCONV_INPROGRESS;
	struct dtconv_type *columns;

	for (int i = 0; i < ROWS * COLUMNS; i++)
		matrix[i / COLUMNS][i % COLUMNS] = i;
	check(dtconv_type_create_vector(ROWS, SENT_COLUMNS, COLUMNS,
					dtconv_type_predefined(context, DTCONV_DOUBLE),
					&columns));
	check(dtconv_channel_send(channel, TAG, commit(columns), 1, matrix, done,
				  &status));
	wait_for(&status);
	dtconv_type_unref(columns);
}

/* As many doubles in a row. Each is compared with the one that was sent. */
static void receive_row(struct dtconv_channel *channel)
{
	static double row[ROWS * SENT_COLUMNS];
	int status = DTCONV_INPROGRESS;

	check(dtconv_channel_recv(channel, TAG,
				  dtconv_type_predefined(context, DTCONV_DOUBLE),
				  ROWS * SENT_COLUMNS, row, done, &status));
	wait_for(&status);
	for (int i = 0; i < ROWS * SENT_COLUMNS; i++) {
		const int sent = i / SENT_COLUMNS * COLUMNS + i % SENT_COLUMNS;

		if (row[i] != sent)
			exit(EXIT_FAILURE);
	}
	printf("%d numbers have arrived\n", ROWS * SENT_COLUMNS);
}

static struct dtconv_channel *accept_one(const char *address)
{
	struct dtconv_listener *listener;
	struct dtconv_channel *channel;
	int status;

	check(dtconv_channel_listen(engine, address, &params, &listener));
	do {
		check(dtconv_engine_progress(engine, 0, NULL));
		status = dtconv_channel_accept(listener, &channel);
	} while (status == DTCONV_ERR_AGAIN);
	check(status);
	check(dtconv_listener_destroy(listener));
	return channel;
}

static struct dtconv_channel *connect_to(const char *address)
{
	struct dtconv_channel *channel;

	check(dtconv_channel_connect(engine, address, &params, &channel));
	return channel;
}

/* Both parts; adapters are opened after the fork. */
static int run_both(void)
{
	struct dtconv_channel *channel;
	int sockets[2], status;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets))
		return EXIT_FAILURE;
	const pid_t child = fork();
	close(sockets[child != 0]);
	open_adapter();
	check(dtconv_channel_open(engine, sockets[child == 0], &params, &channel));
	if (child == 0)
		receive_row(channel);
	else
		send_columns(channel);
	close_adapter(channel);
	if (child == 0)
		return EXIT_SUCCESS;
	return waitpid(child, &status, 0) == child && status == 0 ? EXIT_SUCCESS
								  : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	struct dtconv_channel *channel;

	if (argc == 1)
		return run_both();
	const int listens = strcmp(argv[1], "listen") == 0;
	if (argc != 4 || (!listens && strcmp(argv[1], "connect") != 0)) {
		fputs("usage: two_processes_verbs [listen | connect ADDRESS SECRET]\n",
		      stderr);
		return 2;
	}
	params.secret = argv[3];
	params.secret_bytes = strlen(argv[3]);
	open_adapter();
	channel = listens ? accept_one(argv[2]) : connect_to(argv[2]);
	if (listens)
		receive_row(channel);
	else
		send_columns(channel);
	close_adapter(channel);
	return EXIT_SUCCESS;
}
