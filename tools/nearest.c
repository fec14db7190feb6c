/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Suggestions for misspelt words: the most similar of the given names.
 */
#include "config.h"

#include "tools.h"

#include <string.h>

/* Longer names are compared in their first characters. */
#define MAX_COMPARED 31

/* A name that is further away than this is another word. */
#define MAX_DISTANCE 2

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Characters to insert, delete or replace to make the name of the word (Levenshtein). */
static size_t distance(const char *word, size_t length, const char *name)
{
	size_t row[MAX_COMPARED + 1];
	size_t width = strnlen(name, MAX_COMPARED);

	for (size_t j = 0; j <= width; j++)
		row[j] = j;
	for (size_t i = 0; i < length; i++) {
		size_t diagonal = row[0];

		row[0] = i + 1;
		for (size_t j = 1; j <= width; j++) {
			size_t replaced = diagonal + (word[i] != name[j - 1]);

			diagonal = row[j];
			row[j] = smaller(replaced, 1 + smaller(row[j], row[j - 1]));
		}
	}
	return row[width];
}

void tool_nearest_offer(struct tool_nearest *nearest, const char *name)
{
	size_t changes = distance(nearest->word, nearest->length, name);

	/* A word that is changed in every character is no misspelling. */
	if (changes > MAX_DISTANCE || changes >= nearest->length)
		return;
	if (nearest->name && changes >= nearest->changes)
		return;
	nearest->name = name;
	nearest->changes = changes;
}
