/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The cache lines of a row's layout, and the engines that do nothing but touch them: the memory
 * traffic that no engine can avoid.
 */
#ifndef BENCH_LINES_H
#define BENCH_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench/hand/hand.h"
#include "bench/harness/arena.h"
#include "bench/harness/engine.h"

struct oracle;

/* A mask for each line of the user's part of the arena: bit i is set if its byte i is data. */
struct line_masks {
	uint64_t *masks;
	size_t count;
};

/* Returns 0 or a status. The caller frees the masks. */
int line_masks_create(struct oracle *oracle, const struct arena *arena,
		      struct line_masks *masks);
void line_masks_free(struct line_masks *masks);

/* The groups of lines with data, in the order of addresses; the caller frees them. */
int line_groups_create(const struct line_masks *masks, struct hand_line_group **groups,
		       size_t *count);

/* The engine for one way; its name begins with ENGINE_LINES. */
#define ENGINE_LINES "lines"
const char *engine_lines_name(enum hand_lines_way way);
void engine_lines(struct engine *engine, enum hand_lines_way way);
/* What the engine touches, to be changed by tests only. */
struct hand_lines *engine_lines_list(const struct engine *engine);
/* The sum that the last run has returned. */
uint64_t engine_lines_sum(const struct engine *engine);

#endif
