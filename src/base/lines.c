/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads a small text file line by line, without allocation.
 */
#include "config.h"

#include "lines.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base.h"

void dtc_lines_init(struct dtc_lines *lines, int file, size_t most)
{
	*lines = (struct dtc_lines){ .file = file, .left = most };
}

/* Read more into the empty buffer; false if there is no more. */
static bool fill(struct dtc_lines *lines)
{
	ssize_t got;

	do {
		got = read(lines->file, lines->buffer,
			   DTC_MIN(lines->left, sizeof(lines->buffer)));
	} while (got < 0 && errno == EINTR);
	if (got < 0)
		lines->error = errno;
	if (got <= 0)
		return false;
	lines->left -= (size_t)got;
	lines->next = 0;
	lines->end = (size_t)got;
	return true;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static void trim(struct dtc_lines *lines, size_t length)
{
	char *line = lines->line;
	size_t first = 0;

	while (length > 0 && is_blank(line[length - 1]))
		length--;
	while (first < length && is_blank(line[first]))
		first++;
	memmove(line, line + first, length - first);
	line[length - first] = '\0';
}

bool dtc_lines_next(struct dtc_lines *lines)
{
	size_t length = 0;
	bool any = false;

	lines->cut = false;
	while (lines->next < lines->end || fill(lines)) {
		char c = lines->buffer[lines->next++];

		any = true;
		if (c == '\n')
			break;
		if (length == sizeof(lines->line) - 1)
			lines->cut = true;
		else
			lines->line[length++] = c ? c : '?';
	}
	trim(lines, length);
	lines->number += any;
	return any && !lines->error;
}
