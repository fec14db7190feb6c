/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Selects the engines: the built-in ones, the peers that were built, and the user's programs.
 */
#include "config.h"

#include <libgen.h>
#include <string.h>
#include <unistd.h>

#include "bench/harness/lines.h"
#include "bench/harness/session.h"

#define PATH_ROOM PEER_ROOM

/* Peers that this project can build, even if this build has not. */
static const char *const known_peers[] = { "openmpi", "mpich" };

struct engine *session_new_engine(struct session *s, const char *name)
{
	if (s->engine_count == MOST_ENGINES || !bench_matches(s->options->engines, name))
		return NULL;
	return &s->engines[s->engine_count++];
}

/* The directory of the running program; "." if it is unknown. */
static void program_folder(char *folder, size_t room)
{
	char path[PATH_ROOM];
	ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);

	path[length > 0 ? length : 0] = '\0';
	snprintf(folder, room, "%s", length > 0 ? dirname(path) : ".");
}

/*
 * Look for a peer in the build tree, beside the program (or above it, because libtool keeps the
 * real program in .libs), then in the installation directory.
 */
void session_find_peer(const char *name, char *path, size_t room)
{
	static const char *const near[] = { "", "/.." };
	char folder[PATH_ROOM];

	program_folder(folder, sizeof(folder));
	for (size_t i = 0; i < 2; i++) {
		snprintf(path, room, "%.900s%s/bench/peers/peer-%s", folder, near[i],
			 name);
		if (!access(path, X_OK))
			return;
	}
	snprintf(path, room, "%s/peer-%s", PEER_DIR, name);
}

static void add_known_peer(struct session *s, const char *name)
{
	struct engine *e = session_new_engine(s, name);
	char path[PATH_ROOM];

	if (!e)
		return;
	session_find_peer(name, path, sizeof(path));
	engine_peer(e, name, path, s->options->timeout_s);
	if (e->absent)
		engine_problem(e, "not built: configure found no compiler for it");
}

static void add_own_peer(struct session *s, const struct bench_peer_option *peer)
{
	char name[ENGINE_NAME_ROOM];
	struct engine *e;

	snprintf(name, sizeof(name), "%.*s", (int)peer->name_length, peer->name);
	e = session_new_engine(s, name);
	if (e)
		engine_peer(e, name, peer->program, s->options->timeout_s);
}

void session_add_peers(struct session *s)
{
	for (size_t i = 0; i < sizeof(known_peers) / sizeof(*known_peers); i++)
		add_known_peer(s, known_peers[i]);
	for (size_t i = 0; i < s->options->peer_count; i++)
		add_own_peer(s, &s->options->peers[i]);
}

static void add_lines(struct session *s)
{
	for (int way = 0; way < HAND_LINES_WAYS; way++) {
		struct engine *e = session_new_engine(
			s, engine_lines_name((enum hand_lines_way)way));

		if (e)
			engine_lines(e, (enum hand_lines_way)way);
	}
}

void session_add_engines(struct session *s)
{
	struct engine *e;

	if ((e = session_new_engine(s, "dtconv")))
		engine_dtconv(e, "dtconv");
	if ((e = session_new_engine(s, "memcpy")))
		engine_memcpy(e);
	if ((e = session_new_engine(s, "hand")))
		engine_hand(e);
	if (s->options->bound)
		add_lines(s);
	session_add_peers(s);
}

void session_print_engines(const struct session *s)
{
	const char *separator = "engines: ";

	for (size_t i = 0; i < s->engine_count; i++) {
		const struct engine *e = &s->engines[i];

		if (e->absent)
			continue;
		printf("%s%s", separator, e->name);
		if (e->version[0])
			printf(" (%s)", e->version);
		separator = ", ";
	}
	for (size_t i = 0; i < s->engine_count; i++)
		if (s->engines[i].absent)
			printf("\nabsent:  %s (%s)", s->engines[i].name,
			       s->engines[i].problem);
	printf("\n");
}
