/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Groups the results of a device into rows.
 */
#include "config.h"

#include "bench/gpu/find.h"

#include <string.h>

static bool same_row(const struct result *a, const struct result *b)
{
	return a->bytes == b->bytes && a->fragment == b->fragment &&
	       !strcmp(a->layout, b->layout) && !strcmp(a->clock, b->clock);
}

/* The source of a pack is the target of an unpack. */
static bool same_places(const struct result *a, const struct result *b)
{
	if (!strcmp(a->op, b->op))
		return !strcmp(a->src, b->src) && !strcmp(a->dst, b->dst);
	return !strcmp(a->src, b->dst) && !strcmp(a->dst, b->src);
}

const struct result *find_result(const struct results *rs, const struct result *like,
				 const char *op, const char *engine)
{
	for (size_t i = 0; i < rs->count; i++) {
		const struct result *r = &rs->list[i];

		if (same_row(r, like) && same_places(r, like) && !strcmp(r->op, op) &&
		    !strcmp(r->engine, engine))
			return result_ok(r) ? r : NULL;
	}
	return NULL;
}

bool is_first_result(const struct results *rs, size_t from, size_t index)
{
	for (size_t i = from; i < index; i++)
		if (same_row(&rs->list[i], &rs->list[index]) &&
		    same_places(&rs->list[i], &rs->list[index]))
			return false;
	return true;
}

double result_speed(const struct result *r)
{
	return r && r->ns > 0 ? (double)r->bytes / r->ns : 0;
}
