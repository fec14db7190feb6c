/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rows of the bench: turns a table entry, a parameter set and a size into a committed type
 * with the memory it needs.
 */
#include "config.h"

#include "bench/layouts/layout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

size_t bench_size_bytes(enum bench_size size)
{
	switch (size) {
	case BENCH_SIZE_APP:
		return 0;
	case BENCH_SIZE_16K:
		return (size_t)16 << 10;
	case BENCH_SIZE_256K:
		return (size_t)256 << 10;
	case BENCH_SIZE_4M:
		return (size_t)4 << 20;
	case BENCH_SIZE_64M:
		return (size_t)64 << 20;
	case BENCH_SIZE_1G:
		return (size_t)1 << 30;
	case BENCH_SIZE_64K:
		return (size_t)64 << 10;
	case BENCH_SIZE_1M:
		return (size_t)1 << 20;
	case BENCH_SIZE_16M:
		return (size_t)16 << 20;
	case BENCH_SIZE_256M:
		return (size_t)256 << 20;
	}
	return 0;
}

void bench_row_name(const struct bench_layout *layout, int variant, enum bench_size size,
		    char *name, size_t capacity)
{
	if (size == BENCH_SIZE_APP)
		snprintf(name, capacity, "%s.%d", layout->name, variant);
	else
		snprintf(name, capacity, "%s", layout->name);
}

/* The error text of the library's last failure, or the name of the status. */
static void explain(struct dtconv_context *context, int status, char *why,
		    size_t capacity)
{
	if (!dtconv_context_error(context, why, capacity))
		snprintf(why, capacity, "%s", dtconv_strerror(status));
}

/*
 * How far the data of all instances extends below and above displacement 0. Instances are
 * evenly spaced, so the first and the last one determine it.
 */
static int measure(struct bench_case *c)
{
	struct dtconv_type_attr attr = { .struct_size = sizeof(attr) };
	ptrdiff_t low, high, last;
	int status = dtconv_type_query(c->type, &attr);

	if (status)
		return status;
	if (__builtin_mul_overflow(attr.size, c->count, &c->bytes))
		return DTCONV_ERR_OVERFLOW;
	if (!c->bytes)
		return 0;
	if (__builtin_mul_overflow(attr.extent, c->count - 1, &last) ||
	    __builtin_add_overflow(attr.true_lb, last < 0 ? last : 0, &low) ||
	    __builtin_add_overflow(attr.true_lb, attr.true_extent, &high) ||
	    __builtin_add_overflow(high, last > 0 ? last : 0, &high) ||
	    low == PTRDIFF_MIN)
		return DTCONV_ERR_OVERFLOW;
	c->below = low < 0 ? (size_t)-low : 0;
	if (high > 0 && (size_t)high > c->arena_bytes)
		c->arena_bytes = (size_t)high;
	return 0;
}

int bench_case_finish(struct bench_case *c)
{
	int status = dtconv_type_commit(c->type);

	return status ? status : measure(c);
}

static int finish(struct dtconv_context *context, struct bench_case *c, int status,
		  char *why, size_t capacity)
{
	if (!status)
		status = bench_case_finish(c);
	if (status)
		explain(context, status, why, capacity);
	return status;
}

int bench_case_make(struct dtconv_context *context, uint64_t seed,
		    const struct bench_layout *layout, int variant, enum bench_size size,
		    struct bench_case *c, char *why, size_t capacity)
{
	struct bench_build build = { .context = context, .seed = seed };
	int status;

	memset(c, 0, sizeof(*c));
	bench_row_name(layout, variant, size, c->name, sizeof(c->name));
	if (size != BENCH_SIZE_APP)
		variant = layout->scaled_from;
	status = layout->make(&build, layout, variant, bench_size_bytes(size), c);
	return finish(context, c, status, why, capacity);
}

int bench_case_make_bytes(struct dtconv_context *context, uint64_t seed,
			  const struct bench_layout *layout, size_t bytes,
			  struct bench_case *c, char *why, size_t capacity)
{
	struct bench_build build = { .context = context, .seed = seed };
	int status;

	memset(c, 0, sizeof(*c));
	snprintf(c->name, sizeof(c->name), "%s", layout->name);
	c->disjoint = true;
	status = layout->make(&build, layout, layout->scaled_from, bytes, c);
	return finish(context, c, status, why, capacity);
}

int bench_case_parse(struct dtconv_context *context, const char *text, size_t count,
		     struct bench_case *c, char *why, size_t capacity)
{
	int status;

	memset(c, 0, sizeof(*c));
	snprintf(c->name, sizeof(c->name), "expr");
	c->count = count;
	status = dtconv_type_parse(context, text, strlen(text), &c->type);
	return finish(context, c, status, why, capacity);
}

void bench_case_release(struct bench_case *c)
{
	dtconv_type_unref(c->type);
	free(c->hand.shape);
	memset(c, 0, sizeof(*c));
}
