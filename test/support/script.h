/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random operations on convertors: pack, unpack, seek, clone, iov, start and wait, rebind, and
 * calls that must be refused, in an order that the choices decide. Every result is compared
 * with the stage at once. Shared by the fuzzers and the tests; decides no layouts.
 */
#ifndef TEST_SUPPORT_SCRIPT_H
#define TEST_SUPPORT_SCRIPT_H

#include <stddef.h>

struct choices;
struct dtconv_type;
struct stage;

/* Room for the sentence about what went wrong. */
#define SCRIPT_FAILURE 256

/*
 * Plays at most so many operations (fewer if the choices are bytes and run out). Returns 0, or
 * -1 with one sentence in failure.
 */
int script_play(struct stage *stage, struct choices *choices, size_t operations,
		char failure[SCRIPT_FAILURE]);

/*
 * The same for a committed type too large to stage: seek, clone and iov only, on addresses
 * that are never touched.
 */
int script_play_blind(struct dtconv_type *type, size_t count, struct choices *choices,
		      size_t operations, char failure[SCRIPT_FAILURE]);

#endif
