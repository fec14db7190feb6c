/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which rows a run has.
 */
#include "config.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "bench/harness/session.h"

bool bench_matches(const char *patterns, const char *name)
{
	char pattern[128];

	if (!patterns)
		return true;
	while (*patterns) {
		size_t length = strcspn(patterns, ",");

		snprintf(pattern, sizeof(pattern), "%.*s", (int)length, patterns);
		if (!fnmatch(pattern, name, 0))
			return true;
		patterns += length + (patterns[length] == ',');
	}
	return false;
}

static struct row_key *add_row(struct session *s)
{
	struct row_key *larger = realloc(s->rows, (s->row_count + 1) * sizeof(*larger));

	if (!larger)
		return NULL;
	s->rows = larger;
	s->rows[s->row_count] = (struct row_key){ 0 };
	return &s->rows[s->row_count++];
}

static int add_layout_row(struct session *s, const struct bench_layout *layout,
			  int variant, enum bench_size size)
{
	char name[BENCH_NAME_ROOM];
	struct row_key *row;

	bench_row_name(layout, variant, size, name, sizeof(name));
	/* WRF_x_vec selects the layout's numbered rows, too */
	if (!bench_matches(s->layouts, name) && !bench_matches(s->layouts, layout->name))
		return 0;
	row = add_row(s);
	if (!row)
		return -1;
	*row = (struct row_key){ .layout = layout, .variant = variant, .size = size };
	memcpy(row->name, name, sizeof(name));
	return 0;
}

/* The default: an application's own sizes; 256 KiB for layouts without sizes. */
static unsigned sizes_for(const struct bench_layout *layout, unsigned wanted)
{
	if (!wanted)
		wanted = layout->sizes & BENCH_SIZE_APP ? BENCH_SIZE_APP
							: BENCH_SIZE_256K;
	return wanted & layout->sizes;
}

static int add_layout(struct session *s, const struct bench_layout *layout,
		      unsigned wanted)
{
	unsigned sizes = sizes_for(layout, wanted);
	int failed = 0;

	if (sizes & BENCH_SIZE_APP)
		for (int variant = 0; variant < layout->variants; variant++)
			failed |= add_layout_row(s, layout, variant, BENCH_SIZE_APP);
	for (unsigned bit = BENCH_SIZE_16K; bit <= BENCH_SIZE_1G; bit <<= 1)
		if (sizes & bit)
			failed |= add_layout_row(s, layout, 0, (enum bench_size)bit);
	return failed;
}

/* The longest name that fits in the table and the plot. */
#define EXPR_NAME 24

/* The text form without its blanks, cut to so many characters. */
static void shorten(const char *expr, char *name, size_t most)
{
	size_t length = 0;

	for (; *expr && length <= most; expr++)
		if (*expr != ' ')
			name[length++] = *expr;
	name[length] = '\0';
	if (length > most)
		strcpy(name + most - 2, "..");
}

void session_name_expr(const struct session *s, size_t index, char name[BENCH_NAME_ROOM])
{
	const char *const *exprs = s->options->exprs;
	char other[BENCH_NAME_ROOM], number[16];
	size_t same = 1;

	shorten(exprs[index], name, EXPR_NAME);
	for (size_t i = 0; i < index; i++) {
		shorten(exprs[i], other, EXPR_NAME);
		same += !strcmp(name, other);
	}
	if (same == 1)
		return;
	snprintf(number, sizeof(number), "~%zu", same);
	shorten(exprs[index], name, EXPR_NAME - strlen(number));
	strcat(name, number);
}

static int add_exprs(struct session *s)
{
	for (size_t i = 0; i < s->options->expr_count; i++) {
		struct row_key *row = add_row(s);

		if (!row)
			return -1;
		row->expr = s->options->exprs[i];
		row->expr_count = s->options->count;
		session_name_expr(s, i, row->name);
	}
	return 0;
}

int session_add_table(struct session *s, const struct bench_layout *table, unsigned sizes)
{
	int failed = 0;

	for (const struct bench_layout *l = table; l->name; l++)
		failed |= add_layout(s, l, sizes);
	return failed;
}

int session_add_rows(struct session *s)
{
	unsigned sizes = s->options->sizes;

	if (add_exprs(s))
		return -1;
	/* expressions alone, unless layouts were asked for, too */
	if (s->options->expr_count && !s->options->layouts)
		return 0;
	return session_add_table(s, bench_layouts_applications, sizes) |
	       session_add_table(s, bench_layouts_classic, sizes);
}
