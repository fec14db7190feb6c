/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Signatures: the sequence of basic types without displacements. They are stored as runs and
 * loops, so their size depends on the type's description, not on the amount of data. Immutable
 * and reference-counted.
 */
#ifndef DTC_SIGNATURE_H
#define DTC_SIGNATURE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <dtconv/type.h>

struct dtconv_context;

/* Loops have at least two iterations, so the bits of a count bound the nesting. */
#define DTC_SIGNATURE_DEPTH 64

/* A run of one basic type, or a loop over the @body nodes that follow it. */
struct dtc_signature_node {
	uint16_t basic; /* runs: the predefined type, never a pair */
	uint16_t is_loop;
	uint32_t body;    /* loops: nodes in the body */
	uint64_t count;   /* runs: elements; loops: iterations */
	uint64_t element_count; /* in all iterations */
	uint64_t byte_count;    /* packed, in all iterations */
};

/*
 * The hash of a sequence follows from the hashes of its pieces, and does not depend on where it
 * is cut.
 */
struct dtc_signature_hash {
	uint64_t value;
	uint64_t weight; /* base to the power of the length */
};

struct dtc_signature {
	_Atomic size_t references;
	struct dtconv_context *context;
	struct dtc_signature_hash hash;
	uint64_t element_count;
	uint64_t byte_count;
	size_t node_count;
	struct dtc_signature_node nodes[];
};

/* In memory of the caller's with room for 1 node, or 3: the signature of a predefined type. */
void dtc_signature_init_basic(struct dtc_signature *signature,
			      struct dtconv_context *context,
			      enum dtconv_predefined basic);
void dtc_signature_init_pair(struct dtc_signature *signature,
			     const struct dtc_signature *value,
			     const struct dtc_signature *index);

/* All constructors return a new reference, or NULL if memory ran out. */
struct dtc_signature *dtc_signature_create_repeat(struct dtc_signature *body, uint64_t count);

/* A sequence of signatures under construction. */
struct dtc_signature_builder {
	struct dtc_signature *signature;
	size_t capacity;
	size_t last; /* the top-level node that may still be extended; node_count: none */
};

bool dtc_signature_builder_init(struct dtc_signature_builder *builder,
				struct dtconv_context *context);
/* False if memory ran out. The builder has to be finished or dropped in any case. */
bool dtc_signature_builder_append(struct dtc_signature_builder *builder,
				  const struct dtc_signature *piece, uint64_t count);
struct dtc_signature *dtc_signature_builder_finish(struct dtc_signature_builder *builder);
void dtc_signature_builder_drop(struct dtc_signature_builder *builder);

struct dtc_signature *dtc_signature_ref(struct dtc_signature *signature);
void dtc_signature_unref(struct dtc_signature *signature);

/* How @count_a times @a relates to @count_b times @b. The element counts must not overflow. */
enum dtconv_signature_relation dtc_signature_compare(const struct dtc_signature *a,
						     uint64_t count_a,
						     const struct dtc_signature *b,
						     uint64_t count_b);

/*
 * The number of elements in the first @bytes bytes of one packed signature. @bytes is at most
 * its size. @cut is set to whether the last element is incomplete.
 */
uint64_t dtc_signature_elements(const struct dtc_signature *signature, uint64_t bytes,
				bool *cut);

/*
 * The hash of the elements in the first @bytes bytes of @count packed signatures, which is at most their size. False
 * if the last element is incomplete.
 */
bool dtc_signature_hash_start(const struct dtc_signature *signature, uint64_t count,
			      uint64_t bytes, uint64_t *hash);

/*
 * Whether the signature consists of couples of one value type and one index type, and of which.
 */
bool dtc_signature_couples(const struct dtc_signature *signature,
			   enum dtconv_predefined *value, enum dtconv_predefined *index);

static inline bool dtc_signature_same_unit(const struct dtc_signature_node *a,
					   const struct dtc_signature_node *b)
{
	if (a->is_loop != b->is_loop || a->basic != b->basic || a->body != b->body)
		return false;
	return memcmp(a + 1, b + 1, a->body * sizeof(*a)) == 0;
}

#endif
