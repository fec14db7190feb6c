/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Everything the exhaustive test checks about one small type, against the oracle.
 */
#ifndef TEST_DATATYPE_EXHAUSTIVE_CHECK_H
#define TEST_DATATYPE_EXHAUSTIVE_CHECK_H

#include <stddef.h>

#include <dtconv/dtconv.h>

#include "support/ref_typemap.h"

/** A bench on which types are checked one after the other without allocating. */
struct checker;

/** Make one for types of a context with default padding; aborts when memory is short. */
struct checker *checker_create(struct dtconv_context *context);

/** Free it. */
void checker_destroy(struct checker *checker);

/**
 * Check one type.
 * @param turn varies the alignment of buffers.
 * @return NULL, or what is wrong, valid until the next call.
 */
const char *checker_run(struct checker *checker, struct dtconv_type *type,
			const struct ref_typemap *map, size_t turn);

/** Checks made so far: one for each comparison of a query, a pack or an unpack. */
size_t checker_count(const struct checker *checker);

#endif
