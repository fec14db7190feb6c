/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads flattened types; linked into the bench and into every peer.
 */
#include "bench/peers/tree.h"

#define HEADER_WORDS 8

size_t tree_read(const uint64_t *words, size_t word_count, size_t at,
		 struct tree_node *node)
{
	const uint64_t *w = words + at;
	size_t end = at + HEADER_WORDS;

	if (end > word_count)
		return 0;
	*node = (struct tree_node){ .combiner = (enum dtconv_combiner)w[0],
				    .predefined = (enum dtconv_predefined)w[1],
				    .size = (size_t)w[2],
				    .extent = (int64_t)w[3],
				    .alignment = (size_t)w[4],
				    .count_count = (size_t)w[5],
				    .displacement_count = (size_t)w[6],
				    .type_count = (size_t)w[7] };
	node->counts = words + end;
	end += node->count_count;
	node->displacements = (const int64_t *)(words + end);
	end += node->displacement_count;
	node->types = words + end;
	end += node->type_count;
	return end > word_count ? 0 : end;
}
