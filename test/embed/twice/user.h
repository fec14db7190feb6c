/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One user of a libdtconv: what it sees of its own copy. Three of them live in one process.
 */
#ifndef TWICE_USER_H
#define TWICE_USER_H

#include <stddef.h>

struct user {
	const char *name;
	/* Makes a context that logs to this user alone; 0 or a status. */
	int (*open)(void);
	/* Fails in a way that only this user fails, with `mistake` in the sentence. */
	int (*fail)(const char *mistake);
	/* This thread's last error text, as this user's context tells it. */
	size_t (*error)(char *text, size_t capacity);
	/* Packs every other of `count` ints. */
	int (*pack)(size_t count, const int *from, int *to);
	/* Lines this user's log got, and whether one was none of its own. */
	size_t (*lines)(const char *mistake, int *strange);
	/* Packing calls that this user's context has counted. */
	size_t (*calls)(void);
	/* The version that answers, and where its code lies. */
	const char *(*version)(void);
	const void *(*code)(void);
	void (*close)(void);
};

extern const struct user left, right, installed;

#endif
