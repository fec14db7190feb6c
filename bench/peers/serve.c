/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Serves the bench's requests with any adapter.
 */
#include "bench/peers/serve.h"

#include "bench/peers/protocol.h"
#include "bench/peers/shared_map.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

struct server {
	const struct peer_adapter *adapter;
	int socket;
	int types_fd;
	unsigned char *memory;
	size_t memory_bytes;
	uint64_t *words; /* mapped during a row */
	size_t words_bytes;
	struct peer_row row;
};

static double now(const struct peer_request *q)
{
	struct timespec t;

	clock_gettime(q->processor ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void refuse(struct peer_reply *reply, const char *text)
{
	reply->failed = 1;
	snprintf(reply->text, sizeof(reply->text), "%s", text);
}

static void end_row(struct server *s)
{
	if (!s->words)
		return;
	s->adapter->release();
	munmap(s->words, s->words_bytes);
	s->words = NULL;
}

/* Whether the request's memory lies in the map. */
static int inside(const struct server *s, const struct peer_request *q)
{
	return q->user <= s->memory_bytes && q->packed <= s->memory_bytes &&
	       q->capacity <= s->memory_bytes - q->packed &&
	       q->packed_bytes <= q->capacity;
}

static void prepare(struct server *s, const struct peer_request *q,
		    struct peer_reply *reply)
{
	double start;
	void *map;

	end_row(s);
	if (!inside(s, q)) {
		refuse(reply, "request outside the shared memory");
		return;
	}
	s->words_bytes = q->tree_words * sizeof(uint64_t);
	map = mmap(NULL, s->words_bytes, PROT_READ, MAP_SHARED, s->types_fd, 0);
	if (map == MAP_FAILED) {
		refuse(reply, "cannot map the flattened type");
		return;
	}
	s->words = map;
	s->row = (struct peer_row){ .words = s->words,
				    .word_count = q->tree_words,
				    .count = q->count,
				    .user = s->memory + q->user,
				    .packed = s->memory + q->packed,
				    .packed_bytes = q->packed_bytes,
				    .capacity = q->capacity };
	start = now(q);
	if (s->adapter->build(&s->row, reply->text, sizeof(reply->text)))
		reply->failed = 1;
	reply->ns = now(q) - start;
	if (reply->failed)
		end_row(s);
}

static void run(struct server *s, const struct peer_request *q, struct peer_reply *reply)
{
	int (*call)(const struct peer_row *, char *, size_t) =
		q->unpack ? s->adapter->unpack : s->adapter->pack;
	double start = now(q);

	if (!s->words) {
		refuse(reply, "request to run without a type");
		return;
	}
	for (uint64_t i = 0; i < q->warm + q->calls; i++) {
		if (i == q->warm)
			start = now(q);
		if (call(&s->row, reply->text, sizeof(reply->text))) {
			reply->failed = 1;
			break;
		}
	}
	reply->ns = now(q) - start;
}

static int answer(struct server *s, const struct peer_request *q)
{
	struct peer_reply reply = { 0 };

	switch ((enum peer_command)q->command) {
	case PEER_PREPARE:
		prepare(s, q, &reply);
		break;
	case PEER_RUN:
		run(s, q, &reply);
		break;
	case PEER_RELEASE:
		end_row(s);
		break;
	default:
		refuse(&reply, "unknown request");
	}
	return send(s->socket, &reply, sizeof(reply), MSG_NOSIGNAL) == sizeof(reply) ? 0
										     : -1;
}

static void serve(struct server *s)
{
	struct peer_request request;

	for (;;) {
		ssize_t got = recv(s->socket, &request, sizeof(request), 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (got != sizeof(request) || answer(s, &request))
			break;
	}
	end_row(s);
}

int peer_serve(int argc, char **argv, const struct peer_adapter *adapter)
{
	struct server s = { .adapter = adapter };
	struct peer_reply hello = { 0 };

	if (argc != 5) {
		fprintf(stderr, "%s: this program is started by dtconv bench only\n",
			argv[0]);
		return 2;
	}
	/* a peer never outlives the bench */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	s.socket = atoi(argv[1]);
	s.types_fd = atoi(argv[3]);
	s.memory_bytes = strtoull(argv[4], NULL, 10);
	s.memory = shared_map(atoi(argv[2]), s.memory_bytes);
	if (s.memory == MAP_FAILED)
		refuse(&hello, "cannot map the shared memory");
	else if (adapter->start(hello.text, sizeof(hello.text)))
		hello.failed = 1;
	if (send(s.socket, &hello, sizeof(hello), MSG_NOSIGNAL) != sizeof(hello) ||
	    hello.failed)
		return 1;
	serve(&s);
	adapter->stop();
	return 0;
}
