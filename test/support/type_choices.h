/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Types from choices: every constructor, nested, with small arguments or, if asked, with
 * arguments that must be refused and sizes that no memory holds. Made for fuzzers: a few bytes
 * decide a type, and no input leads to much work.
 */
#ifndef TEST_SUPPORT_TYPE_CHOICES_H
#define TEST_SUPPORT_TYPE_CHOICES_H

#include <stdbool.h>
#include <stddef.h>

struct choices;
struct dtconv_context;
struct dtconv_type;

/* How large types may get. */
struct type_bounds {
	size_t bytes; /* most data in one instance */
	size_t span;  /* farthest that data or bounds may lie from displacement 0 */
	bool wild;    /* now and then any number at all, and no other limit */
};

extern const struct type_bounds type_bounds_tiny;  /* 512 bytes in 2 KiB */
extern const struct type_bounds type_bounds_small; /* 4 KiB in 64 KiB */
extern const struct type_bounds type_bounds_wild;

/* A type, committed or not, one reference owned by the caller. Never NULL. */
struct dtconv_type *type_choose(struct dtconv_context *context, struct choices *choices,
				const struct type_bounds *bounds);

#endif
