/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An engine in a process of its own. It may die, hang or report an error at any time. That
 * fails the row, never the bench.
 */
#include "config.h"

#include "bench/harness/arena.h"
#include "bench/harness/engine.h"
#include "bench/layouts/layout.h"
#include "bench/peers/protocol.h"
#include "bench/peers/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* A peer that has died this often is not restarted. */
#define MOST_DEATHS 3

struct peer {
	char *program;
	pid_t pid; /* 0: not running */
	int socket;
	int types_fd;
	unsigned deaths;
	int timeout_ms;
};

/* How a process ended, in words. */
static void say_end(struct engine *e, int status)
{
	if (WIFSIGNALED(status))
		engine_problem(e, "the %s process was killed by signal %d (%s)", e->name,
			       WTERMSIG(status), strsignal(WTERMSIG(status)));
	else
		engine_problem(e, "the %s process ended with status %d", e->name,
			       WEXITSTATUS(status));
}

/* Wait a second for the process to exit, then kill it. Returns its wait status. */
static int reap(struct peer *p)
{
	int status = 0;

	for (int i = 0; i < 200; i++) {
		if (waitpid(p->pid, &status, WNOHANG) == p->pid)
			return status;
		usleep(5000);
	}
	kill(p->pid, SIGKILL);
	waitpid(p->pid, &status, 0);
	return status;
}

/* End a process that closed its socket or hangs. */
static void bury(struct engine *e, bool hung)
{
	struct peer *p = e->state;
	int status;

	close(p->socket);
	if (hung)
		kill(p->pid, SIGKILL);
	status = reap(p);
	p->pid = 0;
	if (hung)
		engine_problem(e, "the %s process did not answer within %d s", e->name,
			       p->timeout_ms / 1000);
	else
		say_end(e, status);
}

/* Wait for a message. Returns 0, or -1 after ending the peer. */
static int receive(struct engine *e, struct peer_reply *reply)
{
	struct peer *p = e->state;
	struct pollfd ready = { .fd = p->socket, .events = POLLIN };
	int n;

	do
		n = poll(&ready, 1, p->timeout_ms);
	while (n < 0 && errno == EINTR);
	if (n == 1 && recv(p->socket, reply, sizeof(*reply), 0) == sizeof(*reply)) {
		reply->text[sizeof(reply->text) - 1] = '\0';
		return 0;
	}
	p->deaths++;
	bury(e, n == 0);
	return -1;
}

/* One request and its answer. */
static int ask(struct engine *e, struct peer_request *request, struct peer_reply *reply)
{
	struct peer *p = e->state;

	if (!p->pid) {
		if (!e->problem[0])
			engine_problem(e, "the %s process has ended", e->name);
		return -1;
	}
	request->processor = bench_times_processor();
	/* ignore a failed send: receive notices that the peer is dead */
	if (send(p->socket, request, sizeof(*request), MSG_NOSIGNAL) < 0 &&
	    errno != EPIPE)
		engine_problem(e, "send to %s: %s", e->name, strerror(errno));
	if (receive(e, reply))
		return -1;
	if (reply->failed) {
		engine_problem(e, "%s: %s", e->name, reply->text);
		return -1;
	}
	return 0;
}

static int spawn(struct peer *p, const struct arena *arena, int theirs)
{
	char socket_text[16], memory_text[16], types_text[16], bytes_text[32];
	char *argv[] = { p->program, socket_text, memory_text,
			 types_text, bytes_text,  NULL };
	posix_spawn_file_actions_t actions;
	int error;

	snprintf(socket_text, sizeof(socket_text), "%d", theirs);
	snprintf(memory_text, sizeof(memory_text), "%d", arena->fd);
	snprintf(types_text, sizeof(types_text), "%d", p->types_fd);
	snprintf(bytes_text, sizeof(bytes_text), "%zu", arena->map_bytes);
	posix_spawn_file_actions_init(&actions);
	/* duplicating onto itself clears close-on-exec in the child */
	posix_spawn_file_actions_adddup2(&actions, theirs, theirs);
	posix_spawn_file_actions_adddup2(&actions, arena->fd, arena->fd);
	posix_spawn_file_actions_adddup2(&actions, p->types_fd, p->types_fd);
	posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
	error = posix_spawn(&p->pid, p->program, &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (error)
		p->pid = 0;
	return error;
}

static int start(struct engine *e, const struct arena *arena)
{
	struct peer *p = e->state;
	struct peer_reply hello;
	int sockets[2];
	int error;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets)) {
		engine_problem(e, "socketpair: %s", strerror(errno));
		return -1;
	}
	error = spawn(p, arena, sockets[1]);
	close(sockets[1]);
	p->socket = sockets[0];
	if (error) {
		close(sockets[0]);
		engine_problem(e, "%s: %s", p->program, strerror(error));
		return -1;
	}
	if (receive(e, &hello))
		return -1;
	if (hello.failed) {
		bury(e, false);
		engine_problem(e, "%s: %s", e->name, hello.text);
		p->deaths = MOST_DEATHS;
		return -1;
	}
	snprintf(e->version, sizeof(e->version), "%.*s", (int)sizeof(e->version) - 1,
		 hello.text);
	return 0;
}

/* Write the flattened type where the peer maps it. */
static int write_type(struct engine *e, const struct tree *tree)
{
	struct peer *p = e->state;
	const char *from = (const char *)tree->words;
	size_t bytes = tree->word_count * sizeof(*tree->words);
	size_t done = 0;

	while (done < bytes) {
		ssize_t wrote =
			pwrite(p->types_fd, from + done, bytes - done, (off_t)done);

		if (wrote <= 0) {
			engine_problem(e, "writing the type for %s: %s", e->name,
				       strerror(errno));
			return -1;
		}
		done += (size_t)wrote;
	}
	return 0;
}

static int peer_prepare(struct engine *e, const struct bench_case *c,
			const struct arena *arena)
{
	struct peer *p = e->state;
	struct peer_request request = { .command = PEER_PREPARE,
					.count = c->count,
					.user = arena->user,
					.packed = arena->packed,
					.packed_bytes = c->bytes,
					.capacity = c->bytes };
	struct peer_reply reply;
	struct tree tree;
	int status;

	if (!p->pid && p->deaths >= MOST_DEATHS) {
		engine_problem(e, "the %s process ended %d times; it is not restarted",
			       e->name, MOST_DEATHS);
		return -1;
	}
	if (!p->pid && start(e, arena))
		return -1;
	status = tree_make(c->type, &tree);
	if (status) {
		engine_problem(e, "flattening the type: %s", dtconv_strerror(status));
		return -1;
	}
	request.tree_words = tree.word_count;
	status = write_type(e, &tree);
	tree_free(&tree);
	if (!status)
		status = ask(e, &request, &reply);
	if (!status)
		e->prepare_ns = reply.ns;
	return status;
}

static int peer_run(struct engine *e, enum bench_op op, size_t warm, size_t calls,
		    double *ns)
{
	struct peer_request request = { .command = PEER_RUN,
					.unpack = op == BENCH_UNPACK,
					.warm = warm,
					.calls = calls };
	struct peer_reply reply;

	if (ask(e, &request, &reply))
		return -1;
	*ns = reply.ns;
	return 0;
}

static void peer_release(struct engine *e)
{
	struct peer_request request = { .command = PEER_RELEASE };
	struct peer_reply reply;
	struct peer *p = e->state;

	if (p->pid)
		ask(e, &request, &reply);
}

static void peer_destroy(struct engine *e)
{
	struct peer *p = e->state;

	/* closing the socket ends a peer */
	if (p->pid) {
		close(p->socket);
		reap(p);
	}
	close(p->types_fd);
	free(p->program);
	free(p);
	e->state = NULL;
}

void engine_peer(struct engine *e, const char *name, const char *program, int timeout_s)
{
	static const struct engine_ops ops = { .prepare = peer_prepare,
					       .run = peer_run,
					       .release = peer_release,
					       .destroy = peer_destroy };
	struct peer *p = calloc(1, sizeof(*p));

	memset(e, 0, sizeof(*e));
	snprintf(e->name, sizeof(e->name), "%s", name);
	e->absent = true;
	if (!p) {
		engine_problem(e, "no memory");
		return;
	}
	p->program = strdup(program);
	p->types_fd = memfd_create("dtconv-bench-types", MFD_CLOEXEC);
	p->timeout_ms = timeout_s * 1000;
	e->state = p;
	e->ops = &ops;
	if (!p->program || p->types_fd < 0)
		engine_problem(e, "no memory");
	else if (access(program, X_OK))
		engine_problem(e, "%s: %s", program, strerror(errno));
	else
		e->absent = false;
}
