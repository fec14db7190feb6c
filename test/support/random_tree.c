/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Trees of constructor calls: memory, building and text.
 */
#include "config.h"

#include "support/random_tree.h"

#include <stdlib.h>
#include <string.h>

#include "support/rebuild.h"

static void *zeroed(size_t count, size_t bytes)
{
	void *memory = calloc(count + 1, bytes);

	if (!memory)
		abort();
	return memory;
}

struct random_tree *random_tree_new(enum dtconv_combiner combiner, size_t count_count,
				    size_t displacement_count, size_t child_count)
{
	struct random_tree *tree = zeroed(1, sizeof(*tree));

	tree->combiner = combiner;
	tree->count_count = count_count;
	tree->displacement_count = displacement_count;
	tree->child_count = child_count;
	tree->counts = zeroed(count_count, sizeof(*tree->counts));
	tree->displacements = zeroed(displacement_count, sizeof(*tree->displacements));
	tree->children = zeroed(child_count, sizeof(struct random_tree *));
	return tree;
}

struct random_tree *random_tree_clone(const struct random_tree *tree)
{
	struct random_tree *copy = random_tree_new(tree->combiner, tree->count_count,
						   tree->displacement_count,
						   tree->child_count);

	copy->predefined = tree->predefined;
	memcpy(copy->counts, tree->counts, tree->count_count * sizeof(*tree->counts));
	memcpy(copy->displacements, tree->displacements,
	       tree->displacement_count * sizeof(*tree->displacements));
	for (size_t i = 0; i < tree->child_count; i++)
		copy->children[i] = random_tree_clone(tree->children[i]);
	return copy;
}

/* Read what a derived type was made of; its children are still missing. */
static struct random_tree *node_of_type(const struct dtconv_type *type,
					struct dtconv_type ***old)
{
	struct dtconv_envelope e;
	struct random_tree *tree;

	if (dtconv_type_query_envelope(type, &e))
		abort();
	tree = random_tree_new(e.combiner, e.count_count, e.displacement_count,
			       e.type_count);
	*old = zeroed(e.type_count, sizeof(struct dtconv_type *));
	if (dtconv_type_query_contents(type, e.count_count, tree->counts,
				       e.displacement_count, tree->displacements,
				       e.type_count, *old))
		abort();
	return tree;
}

struct random_tree *random_tree_of_type(const struct dtconv_type *type)
{
	struct dtconv_type_attr attr = { .struct_size = sizeof(attr) };
	struct dtconv_type **old;
	struct random_tree *tree;

	if (dtconv_type_query(type, &attr))
		abort();
	if (attr.combiner == DTCONV_COMBINER_NAMED) {
		tree = random_tree_new(DTCONV_COMBINER_NAMED, 0, 0, 0);
		tree->predefined = attr.predefined;
		return tree;
	}
	tree = node_of_type(type, &old);
	for (size_t i = 0; i < tree->child_count; i++)
		tree->children[i] = random_tree_of_type(old[i]);
	free(old);
	return tree;
}

void random_tree_destroy(struct random_tree *tree)
{
	if (!tree)
		return;
	for (size_t i = 0; i < tree->child_count; i++)
		random_tree_destroy(tree->children[i]);
	free(tree->counts);
	free(tree->displacements);
	free(tree->children);
	free(tree);
}

int random_tree_build(const struct random_tree *tree, struct dtconv_context *context,
		      struct dtconv_type **type)
{
	if (tree->combiner == DTCONV_COMBINER_NAMED) {
		*type = dtconv_type_predefined(context, tree->predefined);
		return *type ? 0 : DTCONV_ERR_INVAL;
	}
	struct dtconv_type **old =
		zeroed(tree->child_count, sizeof(struct dtconv_type *));
	int status = 0;

	for (size_t i = 0; i < tree->child_count && status == 0; i++)
		status = random_tree_build(tree->children[i], context, &old[i]);
	struct rebuild_parts parts = { .combiner = tree->combiner,
				       .counts = tree->counts,
				       .displacements = tree->displacements,
				       .types = old };
	if (status == 0)
		status = rebuild_from_parts(context, &parts, type);
	for (size_t i = 0; i < tree->child_count; i++)
		dtconv_type_unref(old[i]);
	free(old);
	return status;
}

char *random_type_text(const struct dtconv_type *type)
{
	size_t length = 0;

	dtconv_type_format(type, NULL, 0, &length);
	char *text = zeroed(length + 1, 1);
	dtconv_type_format(type, text, length + 1, &length);
	return text;
}

char *random_tree_text(const struct random_tree *tree, struct dtconv_context *context)
{
	struct dtconv_type *type = NULL;
	int status = random_tree_build(tree, context, &type);

	if (status) {
		char *reason = strdup(dtconv_strerror(status));
		if (!reason)
			abort();
		return reason;
	}
	char *text = random_type_text(type);
	dtconv_type_unref(type);
	return text;
}
