/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A peer for tests, and the smallest example of an adapter: it knows vectors of doubles, and
 * misbehaves as the environment variable BENCH_FAKE_PEER says, from its 4th call on. It writes its
 * process number to the file BENCH_FAKE_PEER_PID.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/peers/serve.h"

static struct {
	size_t blocks, length;
	int64_t stride;
	unsigned calls;
} vector;

static int is(const char *what)
{
	const char *fault = getenv("BENCH_FAKE_PEER");

	return fault && !strcmp(fault, what);
}

static void write_pid(void)
{
	const char *path = getenv("BENCH_FAKE_PEER_PID");
	FILE *file = path ? fopen(path, "w") : NULL;

	if (file) {
		fprintf(file, "%ld\n", (long)getpid());
		fclose(file);
	}
}

static int start(char *text, size_t room)
{
	write_pid();
	if (is("unwilling")) {
		snprintf(text, room, "does not feel like it");
		return -1;
	}
	if (is("stillborn"))
		exit(3);
	snprintf(text, room, "fake 1.0");
	return 0;
}

/* The root must be a vector of doubles; it comes last, its element before it. */
static int build(const struct peer_row *row, char *text, size_t room)
{
	struct tree_node node = { 0 };

	for (size_t at = 0; at < row->word_count;) {
		at = tree_read(row->words, row->word_count, at, &node);
		if (!at)
			return -1;
	}
	if (node.combiner != DTCONV_COMBINER_VECTOR || row->count != 1) {
		snprintf(text, room, "knows vectors only");
		return -1;
	}
	vector.blocks = node.counts[0];
	vector.length = node.counts[1];
	vector.stride = node.displacements[0];
	return 0;
}

static int misbehave(char *text, size_t room)
{
	if (++vector.calls < 4)
		return 0;
	if (is("die"))
		raise(SIGKILL);
	if (is("leave"))
		exit(7);
	while (is("hang"))
		sleep(1);
	if (!is("error"))
		return 0;
	snprintf(text, room, "no more");
	return -1;
}

static int pack(const struct peer_row *row, char *text, size_t room)
{
	const double *in = row->user;
	double *out = row->packed;

	for (size_t i = 0; i < vector.blocks;
	     i++, in += vector.stride, out += vector.length)
		memcpy(out, in, vector.length * sizeof(*out));
	if (is("wrong"))
		((unsigned char *)out)[-1] ^= 1;
	return misbehave(text, room);
}

static int unpack(const struct peer_row *row, char *text, size_t room)
{
	const double *in = row->packed;
	double *out = row->user;

	for (size_t i = 0; i < vector.blocks;
	     i++, out += vector.stride, in += vector.length)
		memcpy(out, in, vector.length * sizeof(*out));
	if (is("gap"))
		out[-1] = 0;
	return misbehave(text, room);
}

static void nothing(void)
{
}

int main(int argc, char **argv)
{
	static const struct peer_adapter adapter = {
		.start = start,
		.build = build,
		.pack = pack,
		.unpack = unpack,
		.release = nothing,
		.stop = nothing,
	};

	return peer_serve(argc, argv, &adapter);
}
