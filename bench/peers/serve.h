/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The common part of a peer program: it communicates with the bench, maps the memory and takes
 * the times. An adapter for another engine consists of the functions below and a main of one
 * line.
 */
#ifndef BENCH_SERVE_H
#define BENCH_SERVE_H

#include <stddef.h>
#include <stdint.h>

#include "bench/peers/tree.h"

/* The row in work. */
struct peer_row {
	const uint64_t *words; /* the flattened type */
	size_t word_count;
	size_t count;
	void *user; /* displacement 0 */
	void *packed;
	size_t packed_bytes;
	size_t capacity;
};

/* All but release and stop return 0, or -1 with a sentence of at most `room` bytes in `text`. */
struct peer_adapter {
	int (*start)(char *text, size_t room); /* on success: the engine's version */
	int (*build)(const struct peer_row *row, char *text, size_t room);
	int (*pack)(const struct peer_row *row, char *text, size_t room);
	int (*unpack)(const struct peer_row *row, char *text, size_t room);
	void (*release)(void);
	void (*stop)(void);
};

/* Serve until the bench closes the socket; returns the exit status. */
int peer_serve(int argc, char **argv, const struct peer_adapter *adapter);

#endif
