/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which lines hold a layout's data comes from the oracle. They are touched in the order of
 * addresses and once each, whatever the order of the stream.
 */
#include "config.h"

#include "bench/harness/lines.h"

#include <stdlib.h>
#include <string.h>

#include <dtconv/dtconv.h>

#include "bench/harness/oracle.h"
#include "bench/layouts/layout.h"

#define LINE ((size_t)HAND_LINE)

/* ---- the lines of a layout ------------------------------------------------------------ */

static void mark(struct line_masks *m, size_t at, size_t bytes)
{
	while (bytes) {
		size_t in = at % LINE;
		size_t part = bytes < LINE - in ? bytes : LINE - in;

		m->masks[at / LINE] |= (UINT64_MAX >> (LINE - part)) << in;
		at += part;
		bytes -= part;
	}
}

int line_masks_create(struct oracle *oracle, const struct arena *arena,
		      struct line_masks *m)
{
	ptrdiff_t user = (ptrdiff_t)(arena->user - arena->region);
	ptrdiff_t disp;
	size_t bytes;

	*m = (struct line_masks){ .count = arena->region_bytes / LINE };
	m->masks = calloc(m->count + 1, sizeof(*m->masks));
	if (!m->masks)
		return DTCONV_ERR_NOMEM;
	oracle_rewind(oracle);
	while (oracle_next(oracle, &disp, &bytes))
		mark(m, (size_t)(user + disp), bytes);
	return 0;
}

void line_masks_free(struct line_masks *m)
{
	free(m->masks);
	*m = (struct line_masks){ 0 };
}

struct groups {
	struct hand_line_group *list;
	size_t count, room;
};

static int push(struct groups *g, struct hand_line_group group)
{
	struct hand_line_group *last = g->count ? &g->list[g->count - 1] : NULL;

	if (last && last->skip == group.skip && last->count == group.count &&
	    last->whole == group.whole && last->repeats < HAND_LINE_REPEATS) {
		last->repeats++;
		return 0;
	}
	if (g->count == g->room) {
		size_t room = g->room ? 2 * g->room : 64;
		struct hand_line_group *larger = realloc(g->list, room * sizeof(*larger));

		if (!larger)
			return DTCONV_ERR_NOMEM;
		g->list = larger;
		g->room = room;
	}
	g->list[g->count++] = group;
	return 0;
}

/* Lines of one kind, so many behind the last ones. */
static int add(struct groups *g, size_t skip, size_t count, bool whole)
{
	int status = 0;

	for (; !status && skip > HAND_LINE_SKIP; skip -= HAND_LINE_SKIP)
		status = push(g, (struct hand_line_group){ .skip = HAND_LINE_SKIP,
							   .repeats = 1 });
	if (status)
		return status;
	return push(g, (struct hand_line_group){ .skip = skip & HAND_LINE_SKIP,
						 .count = count & 0xff,
						 .repeats = 1,
						 .whole = whole });
}

/* The number of lines from `first` on that hold data, and all or none of them data only. */
static size_t alike(const struct line_masks *m, size_t first)
{
	bool whole = m->masks[first] == UINT64_MAX;
	size_t count = 1;

	while (count < HAND_LINE_COUNT && first + count < m->count &&
	       m->masks[first + count] &&
	       (m->masks[first + count] == UINT64_MAX) == whole)
		count++;
	return count;
}

int line_groups_create(const struct line_masks *m, struct hand_line_group **groups,
		       size_t *count)
{
	struct groups g = { 0 };
	size_t end = 0, i = 0;
	int status = 0;

	while (!status && i < m->count) {
		size_t lines;

		if (!m->masks[i]) {
			i++;
			continue;
		}
		lines = alike(m, i);
		status = add(&g, i - end, lines, m->masks[i] == UINT64_MAX);
		i += lines;
		end = i;
	}
	if (status) {
		free(g.list);
		return status;
	}
	*groups = g.list;
	*count = g.count;
	return 0;
}

/* ---- the engines ---------------------------------------------------------------------- */

struct lines_state {
	struct hand_line_group *groups;
	struct hand_lines lines;
	uint64_t sum;
};

static size_t count_lines(const struct line_masks *m)
{
	size_t lines = 0;

	for (size_t i = 0; i < m->count; i++)
		lines += m->masks[i] != 0;
	return lines;
}

static int find_lines(struct lines_state *state, const struct bench_case *c,
		      const struct arena *arena)
{
	struct oracle *oracle = NULL;
	struct line_masks masks = { 0 };
	int status = oracle_create(c->type, c->count, &oracle);

	if (!status)
		status = line_masks_create(oracle, arena, &masks);
	if (!status)
		status = line_groups_create(&masks, &state->groups,
					    &state->lines.group_count);
	state->lines.groups = state->groups;
	state->lines.line_count = status ? 0 : count_lines(&masks);
	state->lines.packed_bytes = c->bytes;
	line_masks_free(&masks);
	oracle_destroy(oracle);
	return status;
}

static int lines_prepare(struct engine *e, const struct bench_case *c,
			 const struct arena *arena)
{
	int status = find_lines(e->state, c, arena);

	if (status)
		engine_problem(e, "listing the layout's cache lines failed: %s",
			       dtconv_strerror(status));
	return status ? -1 : 0;
}

static int lines_run(struct engine *e, enum bench_op op, size_t warm, size_t calls,
		     double *ns)
{
	struct lines_state *state = e->state;
	unsigned char *user = e->arena->map + e->arena->region;
	unsigned char *packed = arena_packed(e->arena);
	double start = bench_clock();

	for (size_t i = 0; i < warm + calls; i++) {
		if (i == warm)
			start = bench_clock();
		state->sum = op == BENCH_PACK
				     ? hand_pack_lines(&state->lines, user, packed)
				     : hand_unpack_lines(&state->lines, user, packed);
	}
	*ns = bench_clock() - start;
	return 0;
}

static void lines_release(struct engine *e)
{
	struct lines_state *state = e->state;

	free(state->groups);
	state->groups = NULL;
}

static void lines_destroy(struct engine *e)
{
	free(e->state);
	e->state = NULL;
}

uint64_t engine_lines_sum(const struct engine *e)
{
	const struct lines_state *state = e->state;

	return state->sum;
}

struct hand_lines *engine_lines_list(const struct engine *e)
{
	struct lines_state *state = e->state;

	return &state->lines;
}

const char *engine_lines_name(enum hand_lines_way way)
{
	static const char *const names[HAND_LINES_WAYS] = {
		[HAND_LINES_PLAIN] = ENGINE_LINES,
		[HAND_LINES_FETCHED] = ENGINE_LINES "-fetched",
		[HAND_LINES_PAST] = ENGINE_LINES "-past",
		[HAND_LINES_FETCHED_PAST] = ENGINE_LINES "-fetched-past",
	};

	return names[way];
}

void engine_lines(struct engine *e, enum hand_lines_way way)
{
	static const struct engine_ops ops = { .prepare = lines_prepare,
					       .run = lines_run,
					       .release = lines_release,
					       .destroy = lines_destroy };
	struct lines_state *state = calloc(1, sizeof(*state));

	engine_set_up(e, engine_lines_name(way), &ops);
	e->bound = true;
	e->state = state;
	if (!state) {
		e->absent = true;
		engine_problem(e, "no memory");
		return;
	}
	state->lines.way = way;
	engine_needs_hand(e);
}
