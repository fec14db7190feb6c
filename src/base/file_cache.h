/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An on-disk cache of files that are expensive to make, shared by the processes of one user.
 * The caller's key covers everything that the content depends on. The cache is optional: any
 * error is a miss.
 */
#ifndef DTC_FILE_CACHE_H
#define DTC_FILE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sha256.h"

struct dtconv_context;

#define DTC_FILE_CACHE_PATH_MAX 1024

/* The default limit of all files together. One file may take an eighth of it. */
#define DTC_FILE_CACHE_BYTES (UINT64_C(64) << 20)

struct dtc_file_cache {
	struct dtconv_context *context; /* provides the log and the allocator */
	int folder;          /* descriptor of the directory; -1: the cache is off */
	uint64_t most_bytes; /* the limit of all files together */
	char path[DTC_FILE_CACHE_PATH_MAX]; /* of the directory; may be empty */
};

/* The key of a file. */
struct dtc_file_key {
	unsigned char digest[DTC_SHA256_BYTES];
};

/*
 * The path of the directory that dtc_file_cache_open opens, empty if there is none. Returns
 * false if the path is too long.
 */
bool dtc_file_cache_path(char path[DTC_FILE_CACHE_PATH_MAX], const char *name);

/*
 * Open the cache directory, and create it if it is missing: @name in $DTCONV_CACHE, or else in
 * $XDG_CACHE_HOME/dtconv, or else in ~/.cache/dtconv. The cache stays off
 *
 * - if DTCONV_CACHE is `none`,
 * - in setuid programs,
 * - if other users can access the directory; then the log says so.
 */
void dtc_file_cache_open(struct dtc_file_cache *cache, struct dtconv_context *context,
			 const char *name);
void dtc_file_cache_close(struct dtc_file_cache *cache);

/*
 * The content stored under the key, from dtc_alloc. NULL if there is none, or if the file is
 * damaged.
 */
void *dtc_file_cache_get(const struct dtc_file_cache *cache,
			 const struct dtc_file_key *key, size_t *bytes);

/*
 * Store a content in place of an earlier one, and evict the least recently read files if the
 * cache exceeds its limit. Returns false if the content was not stored. Other processes see the
 * whole file or none.
 */
bool dtc_file_cache_put(const struct dtc_file_cache *cache,
			const struct dtc_file_key *key, const void *content,
			size_t bytes);

#endif
