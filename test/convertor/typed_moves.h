/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moving typed cases through convertors in every way that must not matter: whole, in
 * fragments in order, in fragments in any order and twice.
 */
#ifndef TEST_CONVERTOR_TYPED_MOVES_H
#define TEST_CONVERTOR_TYPED_MOVES_H

#include "support/fixture.h"
#include "support/typed_case.h"

/* Packs and unpacks the case whole and in random fragments, and compares each time. */
void typed_moves_all(struct typed_case *tc, struct choices *choices);

/* The same for a text form, if the case is fit. */
void typed_moves_text(const char *text, size_t count,
		      const struct dtconv_representation *representation,
		      enum dtconv_op op, struct choices *choices);

/* The same for a type of random shape. */
void typed_moves_type(struct dtconv_type *type, size_t count,
		      const struct dtconv_representation *representation,
		      enum dtconv_op op, struct choices *choices);

/* A configured convertor of the case. */
struct dtconv_convertor *typed_moves_convertor(const struct typed_case *tc, bool packs);

#endif
