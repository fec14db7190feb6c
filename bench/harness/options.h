/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The options of one run of the bench.
 */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "bench/harness/engine.h"
#include "bench/layouts/layout.h"

enum bench_mode {
	BENCH_MODE_LAYOUTS,
	BENCH_MODE_SMALL,
	BENCH_MODE_COMMIT,
	BENCH_MODE_FRAG,
	BENCH_MODE_SEEK,
	BENCH_MODE_TYPED,
	BENCH_MODE_THREADS
};

/* The questions of a run on a device, as bits. */
enum bench_gpu_question {
	BENCH_GPU_LAYOUTS = 1u << 0,
	BENCH_GPU_STAGING = 1u << 1,
	BENCH_GPU_CROSSOVER = 1u << 2,
	BENCH_GPU_HOST = 1u << 3,
	BENCH_GPU_SMALL = 1u << 4,
	BENCH_GPU_HALO = 1u << 5,
	BENCH_GPU_PEER = 1u << 6,
	BENCH_GPU_TYPED = 1u << 7,
	BENCH_GPU_SPECIAL = 1u << 8,
	BENCH_GPU_COPY = 1u << 10,
	BENCH_GPU_FRESH = 1u << 11,
	BENCH_GPU_DUPLEX = 1u << 12,
	BENCH_GPU_LINK = 1u << 13,
	BENCH_GPU_KV = 1u << 14,
	BENCH_GPU_ROOF = 1u << 9 /* with the layouts, which it asks for, too */
};
#define BENCH_GPU_ALL (0xffu | BENCH_GPU_COPY | BENCH_GPU_FRESH)

/* A program of the user's own, as NAME=PATH. */
struct bench_peer_option {
	const char *name; /* ends at '=' */
	size_t name_length;
	const char *program;
};

#define BENCH_MOST_PEERS 8
#define BENCH_MOST_EXPRS 64

struct bench_options {
	enum bench_mode mode;
	bool pipeline; /* measure the flow, on the host and on a device */
	const char
		*trace; /* with pipeline: a file for a trace of each message; or NULL */
	unsigned gpu;        /* enum bench_gpu_question bits; 0: measure the host */
	const char *layouts; /* comma-separated patterns, NULL: all */
	const char *engines; /* the same for engines */
	unsigned sizes;      /* enum bench_size bits; 0: the default */
	bool ops[2];         /* by enum bench_op */
	double seconds;
	uint64_t seed;
	const char *json;
	bool resume;
	const char *plot;
	const char *from; /* results to plot; NULL: measure some */
	const char *exprs[BENCH_MOST_EXPRS];
	size_t expr_count;
	size_t count; /* instances of the exprs */
	struct bench_peer_option peers[BENCH_MOST_PEERS];
	size_t peer_count;
	bool bound;          /* time what the layout's cache lines alone take, too */
	bool processor_time; /* measure CPU time, not wall time */
	size_t threads;      /* the most threads of a dtconv call */
	int timeout_s;       /* seconds for an answer of a peer */
	size_t behind;       /* see struct arena */
	const char *command; /* the command line, for the record */
	FILE *output;        /* the stream for `-` as a file; or NULL */
	size_t columns;      /* line length of tables and text; 0: unlimited */
};

/* Whether a comma-separated list of patterns has a match. NULL matches everything. */
bool bench_matches(const char *patterns, const char *name);

#endif
