/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Signatures: construction and hashing. The normal form:
 *
 * - neighbouring runs of one basic type are merged, and a loop over a single run is a run;
 * - a loop has at least two iterations, and adjacent equal loops are merged;
 * - a list that repeats a shorter list is a loop.
 */
#include "config.h"

#include "signature.h"

#include <string.h>

#include "base/base.h"
#include "base/context.h"
#include "base/residue.h"
#include "predefined.h"

/*
 * The hash is a polynomial over the Mersenne prime 2^61 - 1. Concatenation takes one
 * multiplication, and repetition squares, so the cost does not grow with the length. The base
 * is arbitrary but fixed, so that peers compute equal hashes.
 */
#define HASH_BASE UINT64_C(0x1a2b7c3d9e5f4061)

static struct dtc_signature_hash concatenate(struct dtc_signature_hash a,
					     struct dtc_signature_hash b)
{
	return (struct dtc_signature_hash){
		.value = dtc_residue_plus(dtc_residue_times(a.value, b.weight), b.value),
		.weight = dtc_residue_times(a.weight, b.weight)
	};
}

static const struct dtc_signature_hash hash_of_nothing = {.value = 0, .weight = 1};

static struct dtc_signature_hash hash_repeat(struct dtc_signature_hash once, uint64_t count)
{
	struct dtc_signature_hash all = hash_of_nothing;

	for (; count; count >>= 1) {
		if (count & 1)
			all = concatenate(all, once);
		once = concatenate(once, once);
	}
	return all;
}

static void init(struct dtc_signature *signature, struct dtconv_context *context)
{
	memset(signature, 0, sizeof(*signature));
	atomic_init(&signature->references, 1);
	signature->context = context;
	signature->hash = hash_of_nothing;
}

static struct dtc_signature *allocate(struct dtconv_context *context, size_t node_capacity)
{
	struct dtc_signature *signature =
		dtc_alloc(context, sizeof(*signature) +
					   node_capacity * sizeof(signature->nodes[0]));

	if (signature)
		init(signature, context);
	return signature;
}

struct dtc_signature *dtc_signature_ref(struct dtc_signature *signature)
{
	atomic_fetch_add_explicit(&signature->references, 1, memory_order_relaxed);
	return signature;
}

void dtc_signature_unref(struct dtc_signature *signature)
{
	if (signature && atomic_fetch_sub_explicit(&signature->references, 1,
						   memory_order_acq_rel) == 1)
		dtc_free(signature->context, signature);
}

void dtc_signature_init_basic(struct dtc_signature *signature,
			      struct dtconv_context *context,
			      enum dtconv_predefined basic)
{
	init(signature, context);
	signature->hash = (struct dtc_signature_hash){.value = (uint64_t)basic + 1,
						      .weight = HASH_BASE};
	signature->element_count = 1;
	signature->byte_count = dtc_predefined_row(basic)->size;
	signature->node_count = 1;
	signature->nodes[0] =
		(struct dtc_signature_node){.basic = (uint16_t)basic,
					    .count = 1,
					    .element_count = 1,
					    .byte_count = signature->byte_count};
}

/* Whether the whole signature is one node with its body. */
static bool is_one_node(const struct dtc_signature *signature)
{
	return signature->node_count == (size_t)signature->nodes[0].body + 1;
}

struct dtc_signature *dtc_signature_create_repeat(struct dtc_signature *body, uint64_t count)
{
	size_t head = 1;

	if (count == 1 || body->node_count == 0)
		return dtc_signature_ref(body);
	if (count == 0)
		return allocate(body->context, 0);
	if (is_one_node(body))
		head = 0;
	struct dtc_signature *all = allocate(body->context, body->node_count + head);
	if (!all)
		return NULL;
	memcpy(all->nodes + head, body->nodes, body->node_count * sizeof(body->nodes[0]));
	all->node_count = body->node_count + head;
	all->element_count = body->element_count * count;
	all->byte_count = body->byte_count * count;
	all->hash = hash_repeat(body->hash, count);
	if (head)
		all->nodes[0] =
			(struct dtc_signature_node){.is_loop = 1,
						    .body = (uint32_t)body->node_count,
						    .count = 1};
	all->nodes[0].count *= count;
	all->nodes[0].element_count = all->element_count;
	all->nodes[0].byte_count = all->byte_count;
	return all;
}

bool dtc_signature_builder_init(struct dtc_signature_builder *builder,
				struct dtconv_context *context)
{
	builder->capacity = 8;
	builder->last = 0;
	builder->signature = allocate(context, builder->capacity);
	return builder->signature != NULL;
}

void dtc_signature_builder_drop(struct dtc_signature_builder *builder)
{
	dtc_signature_unref(builder->signature);
	builder->signature = NULL;
}

static bool reserve(struct dtc_signature_builder *builder, size_t more)
{
	struct dtc_signature *old = builder->signature;
	size_t needed = old->node_count + more;

	if (needed <= builder->capacity)
		return true;
	size_t capacity = DTC_MAX(needed, 2 * builder->capacity);
	struct dtc_signature *grown = allocate(old->context, capacity);
	if (!grown)
		return false;
	grown->hash = old->hash;
	grown->element_count = old->element_count;
	grown->byte_count = old->byte_count;
	grown->node_count = old->node_count;
	memcpy(grown->nodes, old->nodes, old->node_count * sizeof(old->nodes[0]));
	dtc_signature_unref(old);
	builder->signature = grown;
	builder->capacity = capacity;
	return true;
}

/* Append a top-level node with its body, or merge it into the last one. */
static void push(struct dtc_signature_builder *builder, const struct dtc_signature_node *node)
{
	struct dtc_signature *signature = builder->signature;
	struct dtc_signature_node *last = &signature->nodes[builder->last];

	if (builder->last < signature->node_count &&
	    dtc_signature_same_unit(last, node)) {
		last->count += node->count;
		last->element_count += node->element_count;
		last->byte_count += node->byte_count;
		return;
	}
	builder->last = signature->node_count;
	memcpy(&signature->nodes[builder->last], node, (node->body + 1) * sizeof(*node));
	signature->node_count += node->body + 1;
}

bool dtc_signature_builder_append(struct dtc_signature_builder *builder,
				  const struct dtc_signature *piece, uint64_t count)
{
	struct dtc_signature *all;

	if (count == 0 || piece->node_count == 0)
		return true;
	if (!reserve(builder, piece->node_count + 1))
		return false;
	all = builder->signature;
	all->hash = concatenate(all->hash, hash_repeat(piece->hash, count));
	all->element_count += piece->element_count * count;
	all->byte_count += piece->byte_count * count;
	if (count == 1) {
		for (size_t i = 0; i < piece->node_count; i += piece->nodes[i].body + 1)
			push(builder, &piece->nodes[i]);
		return true;
	}
	struct dtc_signature *loop =
		dtc_signature_create_repeat((struct dtc_signature *)piece, count);
	if (!loop)
		return false;
	push(builder, &loop->nodes[0]);
	dtc_signature_unref(loop);
	return true;
}

void dtc_signature_init_pair(struct dtc_signature *signature,
			     const struct dtc_signature *value,
			     const struct dtc_signature *index)
{
	struct dtc_signature_builder builder = { .signature = signature, .capacity = 3 };

	init(signature, value->context);
	/* Within the capacity, so nothing is allocated and nothing fails. */
	(void)dtc_signature_builder_append(&builder, value, 1);
	(void)dtc_signature_builder_append(&builder, index, 1);
}

/* Whether the node list consists of repetitions of its first @period nodes. */
static bool repeats(const struct dtc_signature *signature, size_t period)
{
	size_t rest = signature->node_count - period;
	size_t boundary = 0;

	while (boundary < period)
		boundary += signature->nodes[boundary].body + 1;
	return boundary == period && memcmp(signature->nodes, signature->nodes + period,
					    rest * sizeof(signature->nodes[0])) == 0;
}

/* Do not search longer lists: finding their period would cost more than it saves. */
#define PERIOD_SEARCH_NODES 512

static void fold_period(struct dtc_signature *signature)
{
	size_t n = signature->node_count;

	if (n < 4 || n > PERIOD_SEARCH_NODES)
		return;
	for (size_t period = 2; period <= n / 2; period++) {
		if (n % period || !repeats(signature, period))
			continue;
		memmove(signature->nodes + 1, signature->nodes,
			period * sizeof(signature->nodes[0]));
		signature->nodes[0] =
			(struct dtc_signature_node){.is_loop = 1,
						    .body = (uint32_t)period,
						    .count = n / period,
						    .element_count = signature->element_count,
						    .byte_count = signature->byte_count};
		signature->node_count = period + 1;
		return;
	}
}

struct dtc_signature *dtc_signature_builder_finish(struct dtc_signature_builder *builder)
{
	struct dtc_signature *signature = builder->signature;

	builder->signature = NULL;
	fold_period(signature);
	return signature;
}

/* ---- counting ------------------------------------------------------------------------ */

uint64_t dtc_signature_elements(const struct dtc_signature *signature, uint64_t bytes,
				bool *cut)
{
	const struct dtc_signature_node *node = signature->nodes;
	uint64_t elements = 0;

	*cut = false;
	while (bytes) {
		if (bytes >= node->byte_count) {
			bytes -= node->byte_count;
			elements += node->element_count;
			node += node->body + 1;
			continue;
		}
		uint64_t unit_bytes = node->byte_count / node->count;
		uint64_t units = bytes / unit_bytes;
		elements += units * (node->element_count / node->count);
		bytes -= units * unit_bytes;
		if (!node->is_loop) {
			*cut = bytes != 0;
			break;
		}
		node++;
	}
	return elements;
}

/* ---- hashes of beginnings -------------------------------------------------------------- */

static struct dtc_signature_hash hash_run(const struct dtc_signature_node *run,
					  uint64_t elements)
{
	const struct dtc_signature_hash one = { .value = (uint64_t)run->basic + 1,
						.weight = HASH_BASE };

	return hash_repeat(one, elements);
}

/* A loop whose body is being hashed. */
struct open_loop {
	const struct dtc_signature_node *end;
	uint64_t count;
	struct dtc_signature_hash before;
};

/* Nodes, each with all of its iterations. */
static struct dtc_signature_hash hash_nodes(const struct dtc_signature_node *node,
					    const struct dtc_signature_node *end)
{
	struct open_loop loops[DTC_SIGNATURE_DEPTH];
	struct dtc_signature_hash hash = hash_of_nothing;
	size_t depth = 0;

	while (node < end || depth) {
		if (depth && node == loops[depth - 1].end) {
			const struct open_loop *loop = &loops[--depth];

			hash = concatenate(loop->before, hash_repeat(hash, loop->count));
		} else if (node->is_loop) {
			loops[depth++] = (struct open_loop){ .end = node + 1 + node->body,
							     .count = node->count,
							     .before = hash };
			hash = hash_of_nothing;
			node++;
		} else {
			hash = concatenate(hash, hash_run(node, node->count));
			node++;
		}
	}
	return hash;
}

/* The first @elements of one signature, which has at least so many. */
static struct dtc_signature_hash hash_elements(const struct dtc_signature *signature,
					       uint64_t elements)
{
	const struct dtc_signature_node *node = signature->nodes;
	struct dtc_signature_hash hash = hash_of_nothing;

	while (elements) {
		const uint64_t trip = node->element_count / node->count;
		const uint64_t trips = DTC_MIN(node->count, elements / trip);
		const struct dtc_signature_hash once =
			node->is_loop ? hash_nodes(node + 1, node + 1 + node->body)
				      : hash_run(node, 1);

		hash = concatenate(hash, hash_repeat(once, trips));
		elements -= trips * trip;
		node += trips == node->count ? node->body + 1 : 1;
	}
	return hash;
}

bool dtc_signature_hash_start(const struct dtc_signature *signature, uint64_t count,
			      uint64_t bytes, uint64_t *hash)
{
	const uint64_t whole = signature->byte_count ? bytes / signature->byte_count
						     : count;
	const uint64_t rest = bytes - whole * signature->byte_count;
	struct dtc_signature_hash all = hash_repeat(signature->hash, whole);
	bool cut = false;

	if (rest)
		all = concatenate(all, hash_elements(signature,
						     dtc_signature_elements(signature,
									    rest, &cut)));
	*hash = all.value;
	return !cut;
}

/* ---- couples ------------------------------------------------------------------------- */

/*
 * The state of the check for couples: which member is expected next, and whether all nodes fit
 * so far.
 */
struct couples {
	uint16_t members[2]; /* basic types */
	bool second;
	bool fits;
};

static void see_run(struct couples *couples, const struct dtc_signature_node *run)
{
	bool alike = couples->members[0] == couples->members[1];

	couples->fits &= run->basic == couples->members[couples->second];
	couples->fits &= alike || run->count == 1;
	couples->second ^= run->count & 1;
}

/* Whether each iteration leaves the expected member unchanged. */
static bool is_even_loop(const struct dtc_signature_node *head)
{
	return head->element_count / head->count % 2 == 0;
}

bool dtc_signature_couples(const struct dtc_signature *signature,
			   enum dtconv_predefined *value, enum dtconv_predefined *index)
{
	const struct dtc_signature_node *nodes = signature->nodes;
	struct couples couples = { .second = false, .fits = true };
	size_t first = 0;

	if (signature->node_count == 0 || signature->element_count % 2)
		return false;
	while (nodes[first].is_loop)
		first++;
	couples.members[0] = nodes[first].basic;
	couples.members[1] = nodes[first].count == 1 && first + 1 < signature->node_count
				     ? nodes[first + 1].basic
				     : nodes[first].basic;
	for (size_t i = 0; i < signature->node_count && couples.fits; i++) {
		if (!nodes[i].is_loop)
			see_run(&couples, &nodes[i]);
		else if (!couples.second)
			couples.fits = is_even_loop(&nodes[i]);
		else
			couples.fits = couples.members[0] == couples.members[1];
	}
	*value = (enum dtconv_predefined)couples.members[0];
	*index = (enum dtconv_predefined)couples.members[1];
	return couples.fits;
}
