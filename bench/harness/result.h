/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Results: a growing list, read and written as JSON lines. The keys are a stable interface.
 */
#ifndef BENCH_RESULT_H
#define BENCH_RESULT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "bench/harness/engine.h"
#include "bench/layouts/layout.h"

/* One engine, one operation, one layout at one size. */
struct result {
	char layout[BENCH_NAME_ROOM];
	char op[8];
	char engine[ENGINE_NAME_ROOM];
	char check[ENGINE_PROBLEM_ROOM]; /* "ok", or what failed */
	char *expr;                      /* owned */
	size_t bytes;
	size_t count;
	double ns, ns_p10, ns_p90; /* 0 if the check failed */
	size_t rounds;
	size_t held;           /* bytes of memory held by a type, in mode commit */
	char src[12], dst[12]; /* memory of source and target; empty: host */
	char clock[8];         /* "wall" or "device", where a run has both; else empty */
	double aim;            /* target speed, relative to engine copy's; 0: none */
	/*
	 * Of dtconv on a device: the backend, the kernel, and the reason for the general
	 * kernel.
	 */
	char backend[16], kernel[120], reason[120];
	size_t fragment; /* fragment length, in modes that cut the stream */
	bool planned;    /* the library has chosen that length */
};

struct results {
	struct result *list;
	size_t count;
	size_t room;
};

/* Append a copy; the list owns result.expr from here on. Returns 0, or -1 without memory. */
int results_add(struct results *results, const struct result *result);
void results_free(struct results *results);

const struct result *results_find(const struct results *results, const char *layout,
				  size_t bytes, const char *op, const char *engine);

static inline bool result_ok(const struct result *r)
{
	return r && r->check[0] == 'o' && r->check[1] == 'k' && !r->check[2];
}

/* Write one line. JSON is always written in this form. */
void result_write(FILE *file, const struct result *result);
void json_string(FILE *file, const char *text);

/*
 * Read the lines of an earlier run. Lines that are no results are skipped. An incomplete last
 * line is dropped, and `length` is its offset. Returns 0, or -1 with errno.
 */
int results_read(struct results *results, const char *path, long *length);

/* The value of a key in the head of a run's file; empty if there is none. */
void results_read_head(const char *path, const char *key, char *value, size_t room);

#endif
