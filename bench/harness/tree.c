/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flattens a type by envelope and contents. Types that are used twice are written once.
 */
#include "config.h"

#include "bench/peers/tree.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <dtconv/dtconv.h>

#define HEADER_WORDS 8

/* The number of each type already written: an open-addressed hash table. */
struct seen {
	const struct dtconv_type **types;
	uint64_t *numbers;
	size_t room; /* a power of two */
	size_t used;
};

/* A type whose parts are being written. */
struct pending {
	const struct dtconv_type *type;
	bool parts_done;
};

struct flattener {
	struct tree *tree;
	size_t word_room;
	struct seen seen;
	struct pending *stack;
	size_t depth;
	size_t stack_room;
	int status;
};

static size_t slot_of(const struct seen *seen, const struct dtconv_type *type)
{
	size_t slot =
		(size_t)(((uintptr_t)type >> 4) * UINT64_C(0x9e3779b97f4a7c15) >> 20);

	for (slot &= seen->room - 1; seen->types[slot];
	     slot = (slot + 1) & (seen->room - 1))
		if (seen->types[slot] == type)
			break;
	return slot;
}

static int seen_grow(struct seen *seen)
{
	struct seen larger = { .room = seen->room ? 2 * seen->room : 64,
			       .used = seen->used };

	larger.types = calloc(larger.room, sizeof(*larger.types));
	larger.numbers = calloc(larger.room, sizeof(*larger.numbers));
	if (!larger.types || !larger.numbers) {
		free(larger.types);
		free(larger.numbers);
		return DTCONV_ERR_NOMEM;
	}
	for (size_t i = 0; i < seen->room; i++) {
		if (seen->types[i]) {
			size_t slot = slot_of(&larger, seen->types[i]);

			larger.types[slot] = seen->types[i];
			larger.numbers[slot] = seen->numbers[i];
		}
	}
	free(seen->types);
	free(seen->numbers);
	*seen = larger;
	return 0;
}

static int seen_add(struct seen *seen, const struct dtconv_type *type, uint64_t number)
{
	size_t slot;

	if (2 * seen->used >= seen->room && seen_grow(seen))
		return DTCONV_ERR_NOMEM;
	slot = slot_of(seen, type);
	seen->types[slot] = type;
	seen->numbers[slot] = number;
	seen->used++;
	return 0;
}

static bool seen_has(const struct seen *seen, const struct dtconv_type *type)
{
	return seen->room && seen->types[slot_of(seen, type)];
}

static void push(struct flattener *f, const struct dtconv_type *type)
{
	if (f->depth == f->stack_room) {
		size_t room = f->stack_room ? 2 * f->stack_room : 64;
		struct pending *larger = realloc(f->stack, room * sizeof(*larger));

		if (!larger) {
			f->status = DTCONV_ERR_NOMEM;
			return;
		}
		f->stack = larger;
		f->stack_room = room;
	}
	f->stack[f->depth++] = (struct pending){ .type = type };
}

/* Reserve words at the end of the tree; NULL without memory. */
static uint64_t *extend(struct flattener *f, size_t words)
{
	size_t needed = f->tree->word_count + words;

	if (needed > f->word_room) {
		size_t room = needed > 2 * f->word_room ? needed : 2 * f->word_room;
		uint64_t *larger = realloc(f->tree->words, room * sizeof(*larger));

		if (!larger) {
			f->status = DTCONV_ERR_NOMEM;
			return NULL;
		}
		f->tree->words = larger;
		f->word_room = room;
	}
	f->tree->word_count = needed;
	return f->tree->words + needed - words;
}

/* The constructor arguments of a type. */
struct parts {
	size_t *counts;
	ptrdiff_t *displacements;
	struct dtconv_type **types;
};

static void free_parts(struct parts *parts)
{
	free(parts->counts);
	free(parts->displacements);
	free(parts->types);
}

/* Has to be freed even if that failed. */
static struct parts parts_of(struct flattener *f, const struct dtconv_type *type,
			     const struct dtconv_envelope *e)
{
	struct parts parts = {
		.counts = calloc(e->count_count + 1, sizeof(size_t)),
		.displacements = calloc(e->displacement_count + 1, sizeof(ptrdiff_t)),
		.types = calloc(e->type_count + 1, sizeof(struct dtconv_type *)),
	};

	if (!parts.counts || !parts.displacements || !parts.types)
		f->status = DTCONV_ERR_NOMEM;
	else
		f->status = dtconv_type_query_contents(type, e->count_count, parts.counts,
						       e->displacement_count,
						       parts.displacements, e->type_count,
						       parts.types);
	return parts;
}

static void write_header(uint64_t w[HEADER_WORDS], const struct dtconv_type_attr *attr,
			 const struct dtconv_envelope *e)
{
	w[0] = e->combiner;
	w[1] = attr->predefined;
	w[2] = attr->size;
	w[3] = (uint64_t)attr->extent;
	w[4] = attr->alignment;
	w[5] = e->count_count;
	w[6] = e->displacement_count;
	w[7] = e->type_count;
}

static void write_parts(const struct flattener *f, uint64_t *w, const struct parts *parts,
			const struct dtconv_envelope *e)
{
	for (size_t i = 0; i < e->count_count; i++)
		*w++ = parts->counts[i];
	for (size_t i = 0; i < e->displacement_count; i++)
		*w++ = (uint64_t)parts->displacements[i];
	for (size_t i = 0; i < e->type_count; i++)
		*w++ = f->seen.numbers[slot_of(&f->seen, parts->types[i])];
}

static void write_node(struct flattener *f, const struct dtconv_type *type,
		       const struct dtconv_envelope *e)
{
	struct dtconv_type_attr attr = { .struct_size = sizeof(attr) };
	size_t words =
		HEADER_WORDS + e->count_count + e->displacement_count + e->type_count;
	uint64_t *w = extend(f, words);
	struct parts parts;

	if (!w)
		return;
	f->status = dtconv_type_query(type, &attr);
	if (f->status)
		return;
	write_header(w, &attr, e);
	parts = parts_of(f, type, e);
	if (!f->status)
		write_parts(f, w + HEADER_WORDS, &parts, e);
	free_parts(&parts);
	if (!f->status)
		f->status = seen_add(&f->seen, type, f->tree->node_count++);
}

/* Push the parts of a type that are not written yet. */
static void push_parts(struct flattener *f, const struct dtconv_type *type,
		       const struct dtconv_envelope *e)
{
	struct parts parts = parts_of(f, type, e);

	for (size_t i = 0; !f->status && i < e->type_count; i++)
		if (!seen_has(&f->seen, parts.types[i]))
			push(f, parts.types[i]);
	free_parts(&parts);
}

/* One step: write a type whose parts are written; otherwise push those first. */
static void step(struct flattener *f)
{
	struct pending *top = &f->stack[f->depth - 1];
	const struct dtconv_type *type = top->type;
	struct dtconv_envelope e;

	if (seen_has(&f->seen, type)) {
		f->depth--;
		return;
	}
	f->status = dtconv_type_query_envelope(type, &e);
	if (f->status)
		return;
	if (top->parts_done || !e.type_count) {
		f->depth--;
		write_node(f, type, &e);
	} else {
		top->parts_done = true;
		push_parts(f, type, &e);
	}
}

int tree_make(const struct dtconv_type *type, struct tree *tree)
{
	struct flattener f = { .tree = tree };

	memset(tree, 0, sizeof(*tree));
	push(&f, type);
	while (f.depth && !f.status)
		step(&f);
	free(f.stack);
	free(f.seen.types);
	free(f.seen.numbers);
	if (f.status)
		tree_free(tree);
	return f.status;
}

void tree_free(struct tree *tree)
{
	free(tree->words);
	memset(tree, 0, sizeof(*tree));
}
