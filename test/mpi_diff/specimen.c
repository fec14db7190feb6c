/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Making a type in both worlds.
 */
#include "config.h"

#include "mpi_diff/specimen.h"

#include <float.h>
#include <stdlib.h>

#include "support/choices.h"

enum making specimen_open(struct specimen *s, struct dtconv_context *context,
			  struct dtconv_type *type, size_t count, uint64_t seed)
{
	*s = (struct specimen){ .context = context,
				.type = type,
				.count = count,
				.seed = seed,
				.mpi = MPI_DATATYPE_NULL };
	s->built.text = s->refusal;
	s->built.room = sizeof(s->refusal);
	if (dtconv_type_commit(type) || tree_make(type, &s->tree) ||
	    ref_typemap_build(type, THEIR_PADDING, 0, &s->map))
		return MAKING_FAILED;
	if (mpi_types_build(&s->built, s->tree.words, s->tree.word_count))
		return s->built.mpi_refused ? MAKING_REFUSED : MAKING_ABSENT;
	s->mpi = s->built.types[s->built.count - 1];
	return MAKING_DONE;
}

/* ---- memory -------------------------------------------------------------------------- */

static bool is_large_kind(const struct tree_node *n)
{
	return (n->combiner == DTCONV_COMBINER_F90_REAL ||
		n->combiner == DTCONV_COMBINER_F90_COMPLEX) &&
	       n->size >= 16;
}

/* Fortran kinds past double: x87 numbers with some compilers, binary128 with others. */
static bool has_large_kinds(const struct tree *tree)
{
	struct tree_node n;
	bool found = false;

	for (size_t at = 0; at < tree->word_count;) {
		at = tree_read(tree->words, tree->word_count, at, &n);
		found = found || is_large_kind(&n);
	}
	return found;
}

static bool is_long_double(uint8_t basic, bool large_kinds)
{
	if (large_kinds && (basic == DTCONV_REAL16 || basic == DTCONV_COMPLEX32))
		return true;
	return basic == DTCONV_LONG_DOUBLE || basic == DTCONV_C_LONG_DOUBLE_COMPLEX ||
	       basic == DTCONV_CXX_LONG_DOUBLE_COMPLEX;
}

/* Which bytes of the stream carry no value: those past the digits of a long double. */
static int find_padding(struct specimen *s)
{
	size_t value = LDBL_MANT_DIG == 64 ? 10 : sizeof(long double), position = 0;
	bool large_kinds = has_large_kinds(&s->tree);

	s->padding = calloc(s->stage.bytes + 1, 1);
	if (!s->padding)
		return -1;
	for (size_t i = 0; i < s->count * s->map.count; i++) {
		const struct ref_entry *entry = &s->map.entries[i % s->map.count];

		for (size_t k = 0; k < entry->size; k++, position++)
			s->padding[position] =
				is_long_double(entry->basic, large_kinds) &&
				k % sizeof(long double) >= value;
	}
	return 0;
}

void specimen_settle_padding(struct specimen *s, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if (s->padding[i])
			s->stage.target[s->stage.map[i]] = s->stage.stream[i];
}

int specimen_stage(struct specimen *s)
{
	if (s->stage.type) {
		stage_blank(&s->stage);
		return 0;
	}
	/* 8 bytes keep pairs aligned on the MPI's side; any MPI may ask for that much. */
	if (stage_open_padded(&s->stage, s->type, s->count, THEIR_PADDING,
			      s->seed % 8 * 8, s->seed / 8 % 8 * 8, choices_mix(s->seed)))
		return -1;
	return find_padding(s);
}

void specimen_close(struct specimen *s)
{
	free(s->padding);
	stage_close(&s->stage);
	ref_typemap_free(&s->map);
	mpi_types_release(&s->built);
	tree_free(&s->tree);
}
