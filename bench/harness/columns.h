/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tables and sentences that fit a terminal: which columns to print, and where to break lines.
 */
#ifndef BENCH_COLUMNS_H
#define BENCH_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "bench/harness/result.h"

/* The first column, a layout's name, is never narrower. */
#define COLUMNS_NAME 16

/* Adjacent columns, printed or left out together, behind the name. */
struct column_group {
	int rank; /* the largest is left out first, in all groups; 0: never */
	int width;
	const char *head[2]; /* two lines; the upper one may reach into the next groups */
	const char *name; /* of a rank's first group, for the note on left-out columns */
};

struct columns {
	const struct column_group *groups;
	size_t count;
	size_t limit; /* characters of a line; 0: none */
	int name_width;
	unsigned shown;   /* bits of the groups */
	unsigned dropped; /* ranks that have figures but no room */
};

/*
 * Choose the groups of a table. `absent` has the bits of groups that do not apply, `empty` of
 * those without any figure, which are left out first. `names` determines the width of the first
 * column.
 */
struct columns columns_choose(const struct column_group *groups, size_t count,
			      size_t limit, unsigned empty, unsigned absent,
			      const struct results *names);
bool columns_show(const struct columns *columns, unsigned group);

/* The two lines of the head; `over` stands above the names' title. */
void columns_print_head(FILE *file, const struct columns *columns, const char *over,
			const char *title);
/* A layout's name and a mark behind it, padded or cut. */
void columns_print_name(FILE *file, const struct columns *columns, const char *name,
			const char *mark);
/* Say which columns were left out; nothing if none was. */
void columns_print_dropped(FILE *file, const struct columns *columns);

/* Print a text in lines of at most `limit` characters (0: one line), cut between words. */
void columns_print_text(FILE *file, const char *text, size_t limit);

#endif
