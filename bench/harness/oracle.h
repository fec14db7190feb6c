/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The bench's oracle: walks a type's typemap from its envelope and contents, block by block,
 * without the library's data path. Slow and simple.
 */
#ifndef BENCH_ORACLE_H
#define BENCH_ORACLE_H

#include <stdbool.h>
#include <stddef.h>

struct dtconv_type;
struct oracle;

/* Create the oracle for `count` instances of a type. Returns 0 or a status. */
int oracle_create(const struct dtconv_type *type, size_t count, struct oracle **oracle);
void oracle_destroy(struct oracle *oracle);

/* The runs of bytes in typemap order, from the first one; false at the end. */
void oracle_rewind(struct oracle *oracle);
bool oracle_next(struct oracle *oracle, ptrdiff_t *disp, size_t *bytes);

/* `base` is the user's memory at displacement 0; `packed` holds the whole stream. */
void oracle_pack(struct oracle *oracle, const void *base, void *packed);
void oracle_unpack(struct oracle *oracle, void *base, const void *packed);

/* The first byte of the stream that differs from the user's memory; -1 if none does. */
ptrdiff_t oracle_compare(struct oracle *oracle, const void *base, const void *packed);

#endif
