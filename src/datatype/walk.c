/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Walks signatures run by run. Frames keep the iterations of loops. Jumping to a byte costs the
 * nesting depth plus the nodes of the bodies on the path.
 */
#include "config.h"

#include "walk.h"

#include <string.h>

#include "base/base.h"
#include "base/context.h"
#include "representation.h"

/* ---- sizes in another representation ------------------------------------------------- */

/* Sum up the bodies of loops from back to front, because a body follows its loop. */
static bool loop_bytes(const struct dtc_signature_node *head, const uint64_t *bytes,
		       uint64_t *all)
{
	uint64_t trip = 0;

	for (size_t i = 1; i <= head->body; i += head[i].body + 1)
		if (__builtin_add_overflow(trip, bytes[i], &trip))
			return true;
	return __builtin_mul_overflow(trip, head->count, all);
}

static bool node_bytes(const struct dtc_signature_node *node,
		       const struct dtc_representation *representation, uint64_t *bytes)
{
	if (node->is_loop)
		return loop_bytes(node, bytes, bytes);
	struct dtc_element_format format = dtc_representation_format(
		representation, (enum dtconv_predefined)node->basic);
	return __builtin_mul_overflow(node->count, (uint64_t)dtc_element_bytes(&format),
				      bytes);
}

int dtc_walk_sizes_create(const struct dtc_signature *signature,
			  const struct dtc_representation *representation,
			  struct dtc_walk_sizes **sizes)
{
	const struct dtc_signature_node *nodes = signature->nodes;
	size_t n = signature->node_count;
	struct dtc_walk_sizes *made =
		dtc_alloc(signature->context, sizeof(*made) + n * sizeof(uint64_t));
	bool overflow = false;

	if (!made)
		return DTCONV_ERR_NOMEM;
	made->context = signature->context;
	made->byte_count = 0;
	for (size_t i = n; i-- > 0 && !overflow;)
		overflow = node_bytes(&nodes[i], representation, &made->node_bytes[i]);
	for (size_t i = 0; i < n && !overflow; i += nodes[i].body + 1)
		overflow = __builtin_add_overflow(made->byte_count, made->node_bytes[i],
						  &made->byte_count);
	if (overflow) {
		dtc_walk_sizes_destroy(made);
		return DTCONV_ERR_OVERFLOW;
	}
	*sizes = made;
	return 0;
}

void dtc_walk_sizes_destroy(struct dtc_walk_sizes *sizes)
{
	if (sizes)
		dtc_free(sizes->context, sizes);
}

/* ---- run by run ---------------------------------------------------------------------- */

/* From a loop descend to its first run. */
static void descend(struct dtc_walk *walk)
{
	const struct dtc_signature_node *nodes = walk->signature->nodes;

	while (nodes[walk->node].is_loop) {
		walk->frames[walk->depth++] =
			(struct dtc_walk_frame){ walk->node,
						 nodes[walk->node].count - 1 };
		walk->node++;
	}
	walk->left = nodes[walk->node].count;
}

static void to_end(struct dtc_walk *walk)
{
	walk->node = walk->signature->node_count;
	walk->depth = 0;
	walk->left = 0;
	walk->instances_left = 0;
}

void dtc_walk_init(struct dtc_walk *walk, const struct dtc_signature *signature,
		   const struct dtc_walk_sizes *sizes, uint64_t count)
{
	walk->signature = signature;
	walk->sizes = sizes;
	walk->count = count;
	walk->node = 0;
	walk->depth = 0;
	walk->native_position = 0;
	walk->wire_position = 0;
	if (signature->node_count == 0 || count == 0) {
		to_end(walk);
		return;
	}
	walk->instances_left = count - 1;
	descend(walk);
	/* Merge instances of a single run, so that a billion ints cost as much as one. */
	if (signature->node_count == 1) {
		walk->instances_left = 0;
		walk->left *= count;
	}
}

void dtc_walk_next_run(struct dtc_walk *walk)
{
	const struct dtc_signature_node *nodes = walk->signature->nodes;

	walk->node++;
	while (walk->depth) {
		struct dtc_walk_frame *top = &walk->frames[walk->depth - 1];

		if (walk->node <= top->node + nodes[top->node].body)
			break;
		if (top->trips_left) {
			top->trips_left--;
			walk->node = top->node + 1;
			break;
		}
		walk->depth--;
	}
	if (walk->node == walk->signature->node_count && walk->instances_left) {
		walk->instances_left--;
		walk->node = 0;
	}
	if (walk->node < walk->signature->node_count)
		descend(walk);
}

void dtc_walk_copy(struct dtc_walk *copy, const struct dtc_walk *walk)
{
	memcpy(copy, walk, offsetof(struct dtc_walk, frames));
	memcpy(copy->frames, walk->frames, walk->depth * sizeof(walk->frames[0]));
}

/* ---- jumping ------------------------------------------------------------------------- */

static uint64_t wire_bytes(const struct dtc_walk *walk, size_t node)
{
	return walk->sizes ? walk->sizes->node_bytes[node]
			   : walk->signature->nodes[node].byte_count;
}

/* Skip whole units of @wire_unit bytes; return their number. */
static uint64_t pass_units(struct dtc_walk *walk, uint64_t *rest, uint64_t wire_unit,
			   uint64_t native_unit)
{
	uint64_t units = *rest / wire_unit;

	*rest -= units * wire_unit;
	walk->wire_position += units * wire_unit;
	walk->native_position += units * native_unit;
	return units;
}

/* Enter the loop at the current node, at the iteration that holds the byte. */
static void enter_loop(struct dtc_walk *walk, uint64_t *rest)
{
	const struct dtc_signature_node *head = &walk->signature->nodes[walk->node];
	uint64_t trips = pass_units(walk, rest,
				    wire_bytes(walk, walk->node) / head->count,
				    head->byte_count / head->count);

	walk->frames[walk->depth++] =
		(struct dtc_walk_frame){ walk->node, head->count - 1 - trips };
	walk->node++;
}

/* Enter the run at the current node, at the element that holds the byte. */
static void enter_run(struct dtc_walk *walk, uint64_t *rest, uint64_t count)
{
	const struct dtc_signature_node *run = &walk->signature->nodes[walk->node];

	walk->left = count - pass_units(walk, rest,
					wire_bytes(walk, walk->node) / run->count,
					run->byte_count / run->count);
}

void dtc_walk_seek(struct dtc_walk *walk, uint64_t position)
{
	const struct dtc_signature *signature = walk->signature;
	const struct dtc_signature_node *nodes = signature->nodes;
	uint64_t instance = walk->sizes ? walk->sizes->byte_count : signature->byte_count;
	uint64_t rest = position;

	walk->node = 0;
	walk->depth = 0;
	walk->native_position = 0;
	walk->wire_position = 0;
	if (instance == 0)
		return;
	if (position == instance * walk->count) {
		walk->native_position = signature->byte_count * walk->count;
		walk->wire_position = position;
		to_end(walk);
		return;
	}
	if (signature->node_count == 1) {
		walk->instances_left = 0;
		enter_run(walk, &rest, nodes[0].count * walk->count);
		return;
	}
	walk->instances_left = walk->count - 1 -
			       pass_units(walk, &rest, instance, signature->byte_count);
	for (;;) {
		uint64_t bytes = wire_bytes(walk, walk->node);

		if (rest >= bytes) {
			rest -= bytes;
			walk->wire_position += bytes;
			walk->native_position += nodes[walk->node].byte_count;
			walk->node += nodes[walk->node].body + 1;
		} else if (nodes[walk->node].is_loop) {
			enter_loop(walk, &rest);
		} else {
			enter_run(walk, &rest, nodes[walk->node].count);
			return;
		}
	}
}
