/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * PyTorch in a process of its own, which has memory of its own and times itself: copies of
 * strided tensors. bench/peers/torch_peer.py describes the protocol. The engine is absent
 * without PyTorch.
 */
#include "config.h"

#include "bench/gpu/fresh.h"
#include "bench/gpu/layout_copy.h"

#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/layouts/layout.h"

extern char **environ;

#define LINE_ROOM 200

/* Timeout of an answer. The first one comes after PyTorch has been imported. */
#define PATIENCE_S 60

struct torch {
	pid_t pid;
	FILE *to, *from;
};

/* ---- lines ----------------------------------------------------------------------------- */

/*
 * Read the next line without its end; false at the end of the stream. A process that hangs is
 * killed.
 */
static bool hear(struct torch *t, char *line)
{
	struct pollfd ready = { .fd = fileno(t->from), .events = POLLIN };

	if (poll(&ready, 1, PATIENCE_S * 1000) == 0)
		kill(t->pid, SIGKILL);
	if (!fgets(line, LINE_ROOM, t->from))
		return false;
	line[strcspn(line, "\n")] = '\0';
	return true;
}

/* The rest of an answer that begins with @wanted; NULL, and the reason, for any other. */
static const char *answer(struct engine *e, struct torch *t, const char *wanted,
			  char *line)
{
	size_t length = strlen(wanted);

	if (fflush(t->to) || !hear(t, line)) {
		engine_problem(e, "the PyTorch process has ended");
		e->absent = true;
		return NULL;
	}
	if (!strncmp(line, wanted, length))
		return line + length;
	engine_problem(e, "%s", strchr(line, ' ') ? strchr(line, ' ') + 1 : line);
	return NULL;
}

/* ---- the process ----------------------------------------------------------------------- */

static bool spawn(struct torch *t, const char *program, const int to[2],
		  const int from[2])
{
	char *const argv[] = { (char *)(uintptr_t)program, NULL };
	posix_spawn_file_actions_t actions;
	int error;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, to[0], STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&actions, from[1], STDOUT_FILENO);
	posix_spawn_file_actions_addclose(&actions, to[1]);
	posix_spawn_file_actions_addclose(&actions, from[0]);
	error = posix_spawn(&t->pid, program, &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return !error;
}

static bool start(struct engine *e, struct torch *t, const char *program)
{
	int to[2], from[2];
	bool spawned;

	if (pipe(to))
		return false;
	if (pipe(from)) {
		close(to[0]);
		close(to[1]);
		return false;
	}
	signal(SIGPIPE, SIG_IGN);
	spawned = spawn(t, program, to, from);
	close(to[0]);
	close(from[1]);
	t->to = fdopen(to[1], "w");
	t->from = fdopen(from[0], "r");
	if (!spawned)
		engine_problem(e, "cannot run %s", program);
	return spawned && t->to && t->from;
}

static void finish(struct torch *t)
{
	if (t->to)
		fclose(t->to);
	if (t->from)
		fclose(t->from);
	if (t->pid > 0)
		waitpid(t->pid, NULL, 0);
	free(t);
}

/* ---- the way --------------------------------------------------------------------------- */

static int prepare(struct engine *e, struct way *w)
{
	const struct bench_case *c = e->c;
	const struct fresh *fresh = w->fresh;
	char line[LINE_ROOM];

	if (fresh) {
		if (fresh->planes)
			fprintf(w->torch->to, "pages %zu %zu %zu %zu\n", fresh->block,
				fresh_pages(fresh), fresh->pool / fresh->planes,
				fresh->planes);
		else
			fprintf(w->torch->to, "fresh %zu %zu %zu %d\n", fresh->block,
				fresh->blocks, fresh->pool, fresh->sorted);
		return answer(e, w->torch, "ok", line) ? 0 : -1;
	}
	fprintf(w->torch->to, "prepare %zu %zu %zu", c->block, c->pitch,
		c->bytes / c->block);
	if (w->copying)
		fprintf(w->torch->to, " %zu", w->copying->pitches[1]);
	fprintf(w->torch->to, "\n");
	return answer(e, w->torch, "ok", line) ? 0 : -1;
}

static int timed(struct engine *e, struct way *w, enum bench_op op, size_t warm,
		 size_t calls, double *ns)
{
	char line[LINE_ROOM];
	const char *rest;

	fprintf(w->torch->to, "run %s %s %zu %zu\n", bench_op_name(op),
		w->device_clock ? "device" : "wall", warm, calls);
	rest = answer(e, w->torch, "ns ", line);
	*ns = rest ? atof(rest) : 0;
	return rest ? 0 : -1;
}

/* It has checked its own bytes in prepare. */
static int trust(struct engine *e, struct way *w, enum bench_op op)
{
	(void)e, (void)w, (void)op;
	return 0;
}

static void end(struct way *w)
{
	finish(w->torch);
}

void way_torch(struct engine *e, const char *name, struct gpu *gpu,
	       const struct route *route, const char *program)
{
	static const struct way_ops ops = { .prepare = prepare,
					    .timed = timed,
					    .end = end };
	struct way *w = way_new(e, name, gpu, &ops, route);
	char line[LINE_ROOM];
	const char *version;

	if (!w)
		return;
	w->judge = trust;
	w->torch = calloc(1, sizeof(*w->torch));
	if (!w->torch || !start(e, w->torch, program)) {
		e->absent = true;
		return;
	}
	version = answer(e, w->torch, "ready ", line);
	if (version)
		snprintf(e->version, sizeof(e->version), "%.*s",
			 (int)sizeof(e->version) - 1, version);
	e->absent = !version;
}
