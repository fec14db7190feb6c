/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Helpers of Check cases: a context for each case that must end without live types, types from
 * text, and a whole type against the oracle. Everything here asserts.
 */
#ifndef TEST_SUPPORT_T_H
#define TEST_SUPPORT_T_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dtconv/dtconv.h>

#include "support/marks.h"
#include "support/ref_typemap.h"
#include "support/status.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/** The context of the running case; made by t_setup, silent, with counters. */
extern struct dtconv_context *t_context;

/** Checked fixture: make t_context. */
void t_setup(void);

/** Checked fixture: no derived type may live any more; destroy t_context. */
void t_teardown(void);

/** A test case with the fixtures above, in a suite. */
TCase *t_case(Suite *suite, const char *name);

/** Run a suite; what main returns. */
int t_run(Suite *suite);

/** The error text of the last failed call on this thread; valid until the next call. */
const char *t_error(void);

/** Assert that a call answers a status, and say the error text if not. */
#define t_status(call, expected) status_must_be(call, expected, t_error())

/** Assert that a call succeeds. */
#define t_ok(call) t_status(call, DTCONV_SUCCESS)

/** A predefined type. */
struct dtconv_type *t_predefined(enum dtconv_predefined which);

/** A committed type from its text form, in t_context. */
struct dtconv_type *t_parse(const char *text);

/** Its numbers. */
struct dtconv_type_attr t_attr(const struct dtconv_type *type);

/** Text form, signature and program; free them. */
char *t_text(const struct dtconv_type *type);
char *t_signature(const struct dtconv_type *type);
char *t_program(const struct dtconv_type *type);

/** Assert lb, extent, true_lb and true_extent. */
void t_bounds(const struct dtconv_type *type, ptrdiff_t lb, ptrdiff_t extent,
	      ptrdiff_t true_lb, ptrdiff_t true_extent);

/** The same for a text form. */
void t_text_bounds(const char *text, ptrdiff_t lb, ptrdiff_t extent, ptrdiff_t true_lb,
		   ptrdiff_t true_extent);

/** Assert that the typemap, by the oracle, is these displacements in this order. */
void t_typemap(const struct dtconv_type *type, size_t count, const ptrdiff_t disps[]);

/**
 * Assert everything about a committed type against the oracle: all numbers, get_elements,
 * whole pack and unpack of 1 to 3 instances between guard bytes, and every two-fragment cut
 * of one instance if it is short. A text form instead of a type: t_verify_text.
 */
void t_verify(struct dtconv_type *type);
void t_verify_text(const char *text);

/** The same in a context with another padding rule. */
void t_verify_padded(struct dtconv_type *type, enum dtconv_padding padding);

#endif
