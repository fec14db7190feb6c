/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One case of dtconv fuzz: from a seed to a layout, which goes through its serialised form, and
 * to a number of instances, alignments and a sequence of operations. It chooses the sizes;
 * support/script.h runs the operations.
 */
#include "config.h"

#include "fuzz.h"

#include <stdio.h>

#include <dtconv/dtconv.h>

#include "support/choices.h"
#include "support/random_type.h"
#include "support/serialised.h"
#include "support/stage.h"
#include "support/typed_script.h"

#define OPERATIONS 60

/* Most layouts are small, so that many are tried; some are deep, some long. */
static const struct random_limits sizes[] = {
	{ .max_entries = 60 },
	{ .max_entries = 200 },
	{ .max_entries = 200, .depth = 6 },
	{ .max_entries = 400, .max_blocks = 40 },
	{ .max_entries = 1000 },
	{ .max_entries = 200, .distinct = true },
	{ .max_entries = 60, .depth = 2 },
	{ .max_entries = 12000, .max_count = 400, .max_span = 1 << 18 },
};

#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

struct random_tree *fuzz_case_tree(uint64_t seed)
{
	return random_tree_create(seed, &sizes[choices_mix(seed) % SIZES]);
}

/* The layout as bytes and back. */
static int play_stream(struct dtconv_context *context, const struct dtconv_type *type,
		       struct fuzz_failure *failure)
{
	char reason[SERIALISED_FAILURE] = "";

	if (!serialised_check(context, type, reason))
		return 0;
	snprintf(failure->reason, sizeof(failure->reason), "serialised: %s", reason);
	return -1;
}

static int play_moves(struct dtconv_type *type, struct fuzz_failure *failure)
{
	struct choices choices;
	struct stage stage;
	size_t count, source_shift, target_shift;
	int failed;

	choices_from_seed(&choices, failure->seed);
	count = choose(&choices, 5);
	source_shift = choose(&choices, 64);
	target_shift = choose(&choices, 64);
	if (stage_open(&stage, type, count, source_shift, target_shift, failure->seed)) {
		snprintf(failure->reason, sizeof(failure->reason),
			 "%zu instances are too large to fuzz", count);
		return -1;
	}
	failed = script_play(&stage, &choices, OPERATIONS, failure->reason);
	stage_close(&stage);
	if (failed)
		return failed;
	return typed_script_play_type(type, count, &choices, failure->reason);
}

static int play(struct dtconv_context *context, struct dtconv_type *type,
		struct fuzz_failure *failure)
{
	int failed = play_stream(context, type, failure);

	return failed ? failed : play_moves(type, failure);
}

int fuzz_case_run(struct dtconv_context *context, struct dtconv_type *type,
		  struct fuzz_failure *failure)
{
	struct random_tree *tree;
	int failed;

	if (type)
		return play(context, type, failure);
	tree = fuzz_case_tree(failure->seed);
	failed = random_tree_build(tree, context, &type);
	if (failed)
		snprintf(failure->reason, sizeof(failure->reason),
			 "the library rejects the layout with status %d", failed);
	else
		failed = play(context, type, failure);
	dtconv_type_unref(type);
	random_tree_destroy(tree);
	return failed;
}
