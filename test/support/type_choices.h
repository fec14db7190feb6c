/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Types from choices: every constructor, nested, with small arguments or, if asked, with
 * arguments that must be refused and sizes that no memory holds. Made for fuzzers: a few bytes
 * decide a type, and no input leads to much work.
 */
#ifndef TEST_SUPPORT_TYPE_CHOICES_H
#define TEST_SUPPORT_TYPE_CHOICES_H

struct choices;
struct dtconv_context;
struct dtconv_type;

enum type_choices {
	TYPE_CHOICES_SMALL, /* at most 4 KiB of data in 64 KiB of memory */
	TYPE_CHOICES_WILD   /* now and then any number at all */
};

/* A type, uncommitted or not, one reference owned by the caller. Never NULL. */
struct dtconv_type *type_choose(struct dtconv_context *context, struct choices *choices,
				enum type_choices wildness);

#endif
