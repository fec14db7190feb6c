/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads a small text file line by line, without allocation, up to a limit: reading ends even if
 * the file keeps growing.
 */
#ifndef DTC_LINES_H
#define DTC_LINES_H

#include <stdbool.h>
#include <stddef.h>

/* Longer lines are cut; with the NUL. */
#define DTC_LINE_MAX 256

struct dtc_lines {
	int file;      /* a descriptor; the caller closes it */
	size_t left;   /* the number of bytes that may still be read */
	int error;     /* errno of a read that failed, or 0 */
	size_t number; /* of the current line, counted from 1 */
	bool cut;      /* the current line is longer than line[] */
	/* The line without surrounding blanks; NUL bytes are replaced by '?'. */
	char line[DTC_LINE_MAX];
	size_t next, end; /* [next, end) of the buffer is unread */
	char buffer[512];
};

/* Start before the first line; read at most @most bytes. */
void dtc_lines_init(struct dtc_lines *lines, int file, size_t most);

/* Read the next line; false at the end, or after an error. */
bool dtc_lines_next(struct dtc_lines *lines);

#endif
