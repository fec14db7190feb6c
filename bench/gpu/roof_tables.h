/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tables of the plain kernels for records and lists, of one instance each: host arithmetic only.
 */
#ifndef BENCH_GPU_ROOF_TABLES_H
#define BENCH_GPU_ROOF_TABLES_H

#include <stddef.h>
#include <stdint.h>

struct pattern;

/* Numbers are int32_t, or int64_t if pattern->far. The caller frees @memory; NULL: there was none. */
struct roof_table {
	void *memory;
	size_t bytes;
};

/* The place of each packed word, in words from the first one's. */
struct roof_table roof_make_places(const struct pattern *pattern);

/*
 * The same in ascending order of places, each with the index of its packed word. The complement of that index
 * stands where the word is to be fetched first: at the first word of each 32-byte sector that the instance
 * fills in part, the first word being at address @first.
 */
struct roof_table roof_make_pairs(const struct pattern *pattern, uint64_t first);

/* The place of each run, the packed words before it, and its words. */
struct roof_table roof_make_runs(const struct pattern *pattern);

#endif
