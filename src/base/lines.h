/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A small text file, line by line, without allocation. It stops at a limit, so that reading
 * ends even if the file grows meanwhile.
 */
#ifndef DTC_LINES_H
#define DTC_LINES_H

#include <stdbool.h>
#include <stddef.h>

/* The longest line that is read whole, its NUL included. */
#define DTC_LINE_MAX 256

struct dtc_lines {
	int file;      /* a descriptor, the caller's */
	size_t left;   /* bytes that may still be read */
	int error;     /* errno of a read that failed, or 0 */
	size_t number; /* of the current line, from 1 on */
	bool cut;      /* the current line is longer than line[] */
	/* Without blanks at its ends; a NUL byte has become '?'. */
	char line[DTC_LINE_MAX];
	size_t next, end; /* bytes of the buffer that are not used yet */
	char buffer[512];
};

/* Begin before the first line; no more than @most bytes are read. */
void dtc_lines_init(struct dtc_lines *lines, int file, size_t most);

/* Read the next line; false at the end, or after an error. */
bool dtc_lines_next(struct dtc_lines *lines);

#endif
