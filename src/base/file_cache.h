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

/* All files together, by default; a single one may have an eighth of it. */
#define DTC_FILE_CACHE_BYTES (UINT64_C(64) << 20)

struct dtc_file_cache {
	struct dtconv_context *context; /* whose log and allocator are used */
	int folder;                     /* a descriptor, or -1: the cache is off */
	uint64_t most_bytes;            /* of all files together */
	char path
		[DTC_FILE_CACHE_PATH_MAX]; /* of the folder; empty if no variable names one */
};

/* What a file is found by. */
struct dtc_file_key {
	unsigned char digest[DTC_SHA256_BYTES];
};

/* Where the folder of dtc_file_cache_open is; false if its path is too long. No path at all is an empty one. */
bool dtc_file_cache_path(char path[DTC_FILE_CACHE_PATH_MAX], const char *name);

/*
 * Open the folder DTCONV_CACHE (the word none: no cache), else dtconv in XDG_CACHE_HOME, else
 * dtconv in .cache at home, and in it @name; made if it is not there. Off in programs with more rights than
 * their user, and if the folder is not the user's alone; the log says why.
 */
void dtc_file_cache_open(struct dtc_file_cache *cache, struct dtconv_context *context,
			 const char *name);
void dtc_file_cache_close(struct dtc_file_cache *cache);

/*
 * The content kept under the key, from dtc_alloc, or NULL. Files that are not as they were written are
 * none.
 */
void *dtc_file_cache_get(const struct dtc_file_cache *cache,
			 const struct dtc_file_key *key, size_t *bytes);

/*
 * Keep a content, in place of an earlier one; the files that have not been read for the longest
 * time go if there are too many. False if it is not kept. Other processes see the whole file or
 * none.
 */
bool dtc_file_cache_put(const struct dtc_file_cache *cache,
			const struct dtc_file_key *key, const void *content,
			size_t bytes);

#endif
