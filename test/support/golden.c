/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Comparison with golden files, and their renewal.
 */
#include "config.h"

#include "support/golden.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/marks.h"

/* A whole file, or NULL; free it. */
static char *read_file(const char *path, size_t *length)
{
	FILE *in = fopen(path, "rb");
	char *text = NULL;
	long size;

	if (!in)
		return NULL;
	if (fseek(in, 0, SEEK_END) == 0 && (size = ftell(in)) >= 0) {
		rewind(in);
		text = malloc((size_t)size + 1);
		if (text)
			*length = fread(text, 1, (size_t)size, in);
	}
	fclose(in);
	if (text)
		text[*length] = '\0';
	return text;
}

static void write_file(const char *path, const char *text, size_t length)
{
	FILE *out = fopen(path, "wb");

	ck_assert_msg(out != NULL, "cannot write %s", path);
	ck_assert_uint_eq(fwrite(text, 1, length, out), length);
	ck_assert_int_eq(fclose(out), 0);
}

/* Fail with the first line that differs. */
static void show_difference(const char *path, const char *expected, const char *produced)
{
	size_t line = 1;
	size_t start = 0;

	for (size_t i = 0; expected[i] && expected[i] == produced[i]; i++) {
		if (expected[i] == '\n') {
			line++;
			start = i + 1;
		}
	}
	ck_abort_msg("%s:%zu:\n  expected: %.*s\n  produced: %.*s\n"
		     "(DTCONV_REGENERATE=1 accepts what is produced)",
		     path, line, (int)strcspn(expected + start, "\n"), expected + start,
		     (int)strcspn(produced + start, "\n"), produced + start);
}

void golden_compare(const char *name, const char *produced, size_t length)
{
	char path[4096];
	char *expected;
	size_t expected_length = 0;

	snprintf(path, sizeof(path), "%s/%s", GOLDEN_FOLDER, name);
	if (getenv("DTCONV_REGENERATE")) {
		write_file(path, produced, length);
		return;
	}
	expected = read_file(path, &expected_length);
	ck_assert_msg(expected != NULL, "cannot read %s", path);
	if (expected_length != length || memcmp(expected, produced, length) != 0)
		show_difference(path, expected, produced);
	free(expected);
}
