/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A typed case through convertors in every way that must not matter: whole, in fragments in
 * order, in fragments in any order, in part. Shared by the fuzzers and the tests.
 */
#ifndef TEST_SUPPORT_TYPED_SCRIPT_H
#define TEST_SUPPORT_TYPED_SCRIPT_H

#include "support/script.h"
#include "support/typed_case.h"

/* Packs and unpacks the case each way. 0, or -1 with one sentence in failure. */
int typed_script_play(struct typed_case *tc, struct choices *choices,
		      char failure[SCRIPT_FAILURE]);

/*
 * The same for a committed type with a representation and an operation that the choices
 * decide. A type that is not fit passes.
 */
int typed_script_play_type(struct dtconv_type *type, size_t count,
			   struct choices *choices, char failure[SCRIPT_FAILURE]);

#endif
