/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The matrix of dtconv explain: rows are memory kinds of the user's buffer, columns those of
 * packed memory. A cell names the backend and its cost. All cells have the same unit.
 */
#include "config.h"

#include "explain.h"

#include <stdio.h>
#include <string.h>

#define KINDS (DTCONV_MEMORY_DEVICE + 1)

/* By kind of the user's buffer, then of packed memory. */
struct matrix {
	enum dtconv_memory_kind last;
	struct explain_choice choices[KINDS][KINDS];
};

static const struct unit {
	const char *name;
	double ns;
} units[] = { { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 } };

#define UNITS (sizeof(units) / sizeof(units[0]))

static int fill(struct matrix *matrix, const struct explain *explain, bool unpack)
{
	matrix->last = explain_last_kind(explain);
	for (int user = DTCONV_MEMORY_HOST; user <= (int)matrix->last; user++) {
		for (int packed = DTCONV_MEMORY_HOST; packed <= (int)matrix->last;
		     packed++) {
			int status =
				explain_choose(explain, (enum dtconv_memory_kind)user,
					       (enum dtconv_memory_kind)packed, unpack,
					       &matrix->choices[user][packed]);

			if (status)
				return status;
		}
	}
	return 0;
}

static double most_ns(const struct matrix *matrix)
{
	double most = 0;

	for (int user = DTCONV_MEMORY_HOST; user <= (int)matrix->last; user++)
		for (int packed = DTCONV_MEMORY_HOST; packed <= (int)matrix->last;
		     packed++)
			if (matrix->choices[user][packed].ns > most)
				most = matrix->choices[user][packed].ns;
	return most;
}

/* The unit in which the largest cost has at most three digits before the point. */
static const struct unit *choose_unit(double ns)
{
	const struct unit *unit = units;

	while (unit < &units[UNITS - 1] && ns >= 999.5 * unit->ns)
		unit++;
	return unit;
}

/* A cell, three digits of its cost. */
struct cell {
	char text[40];
};

static struct cell format_cell(const struct explain_choice *choice,
			       const struct unit *unit)
{
	double value = choice->ns / unit->ns;
	int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
	struct cell cell = { "none" };

	if (choice->backend && value < 0.005)
		snprintf(cell.text, sizeof(cell.text), "%s <0.01", choice->backend);
	else if (choice->backend)
		snprintf(cell.text, sizeof(cell.text), "%s %.*f", choice->backend,
			 decimals, value);
	return cell;
}

static int width_of(const struct matrix *matrix, int packed, const struct unit *unit)
{
	size_t width = strlen(dtconv_memory_kind_name((enum dtconv_memory_kind)packed));

	for (int user = DTCONV_MEMORY_HOST; user <= (int)matrix->last; user++) {
		const struct cell cell =
			format_cell(&matrix->choices[user][packed], unit);

		if (strlen(cell.text) > width)
			width = strlen(cell.text);
	}
	return (int)width;
}

/* A row of cells; the header has DTCONV_MEMORY_UNKNOWN for its kind. Nothing follows the last cell. */
static void print_row(const struct matrix *matrix, int user, const struct unit *unit)
{
	printf("%-7s",
	       user ? dtconv_memory_kind_name((enum dtconv_memory_kind)user) : "");
	for (int packed = DTCONV_MEMORY_HOST; packed <= (int)matrix->last; packed++) {
		struct cell cell = format_cell(&matrix->choices[user][packed], unit);

		if (!user)
			snprintf(
				cell.text, sizeof(cell.text), "%s",
				dtconv_memory_kind_name((enum dtconv_memory_kind)packed));
		printf("  %-*s",
		       packed < (int)matrix->last ? width_of(matrix, packed, unit) : 0,
		       cell.text);
	}
	putchar('\n');
}

static void print_matrix(const struct matrix *matrix, const char *title,
			 const struct unit *unit)
{
	printf("%s, in %s:\n", title, unit->name);
	for (int user = DTCONV_MEMORY_UNKNOWN; user <= (int)matrix->last; user++)
		print_row(matrix, user, unit);
}

int explain_print_matrix(const struct explain *explain)
{
	struct matrix pack = { .last = DTCONV_MEMORY_UNKNOWN }, unpack = pack;
	int status = fill(&pack, explain, false);

	if (!status)
		status = fill(&unpack, explain, true);
	if (status)
		return status;
	double most = most_ns(&pack);
	const struct unit *unit =
		choose_unit(most_ns(&unpack) > most ? most_ns(&unpack) : most);

	printf("%zu x %zu bytes, %s\n", explain->count,
	       explain->count ? explain->bytes / explain->count : 0, explain->shape);
	puts("rows: user's buffer, columns: packed memory, cells: cheapest backend and cost");
	print_matrix(&pack, "to pack", unit);
	print_matrix(&unpack, "to unpack", unit);
	return 0;
}
