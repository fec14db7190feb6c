/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Golden files are found through the source directory that the build names, so that a test
 * may be run by its path from anywhere.
 */
#include "config.h"

#include "support/golden.h"

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

void golden_begin(struct golden *golden)
{
	golden->stream = open_memstream(&golden->text, &golden->length);
	ck_assert_ptr_nonnull(golden->stream);
}

static char *read_all(const char *path)
{
	FILE *file = fopen(path, "r"), *copy;
	char *text = NULL, part[2048];
	size_t length = 0, got;

	ck_assert_msg(file != NULL, "%s: %s; make it with DTCONV_TEST_REGENERATE=1", path,
		      strerror(errno));
	copy = open_memstream(&text, &length);
	ck_assert_ptr_nonnull(copy);
	while ((got = fread(part, 1, sizeof(part), file)) > 0)
		fwrite(part, 1, got, copy);
	fclose(copy);
	fclose(file);
	return text;
}

static void regenerate(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	ck_assert_msg(file != NULL, "%s: %s", path, strerror(errno));
	fputs(text, file);
	ck_assert_int_eq(fclose(file), 0);
}

/* The line on which two texts part, counted from 1, and where it begins in both. */
static size_t first_difference(const char **a, const char **b)
{
	const char *line_a = *a, *line_b = *b;
	size_t line = 1, i = 0;

	for (; (*a)[i] && (*a)[i] == (*b)[i]; i++)
		if ((*a)[i] == '\n') {
			line++;
			line_a = *a + i + 1;
			line_b = *b + i + 1;
		}
	*a = line_a;
	*b = line_b;
	return line;
}

void golden_check(struct golden *golden, const char *file)
{
	char path[1024];

	ck_assert_int_eq(fclose(golden->stream), 0);
	snprintf(path, sizeof(path), "%s/%s", TEST_GOLDEN_DIR, file);
	if (getenv("DTCONV_TEST_REGENERATE")) {
		regenerate(path, golden->text);
	} else {
		char *want = read_all(path);
		const char *got_line = golden->text, *want_line = want;
		size_t line = first_difference(&got_line, &want_line);

		ck_assert_msg(strcmp(golden->text, want) == 0,
			      "%s:%zu: got '%.*s', the file has '%.*s'", file, line,
			      (int)strcspn(got_line, "\n"), got_line,
			      (int)strcspn(want_line, "\n"), want_line);
		free(want);
	}
	free(golden->text);
	*golden = (struct golden){0};
}
