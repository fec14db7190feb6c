/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The characters of a text form: white space, comments, words, numbers, and the position in
 * error messages. The parser defines the grammar.
 */
#ifndef DTC_DATATYPE_TEXT_SCAN_H
#define DTC_DATATYPE_TEXT_SCAN_H

#include <stddef.h>

struct dtconv_context;

struct dtc_scan {
	struct dtconv_context *context; /* hears of errors */
	const char *text;               /* not terminated */
	size_t length;
	size_t at; /* the next character */
};

/* A scanned number as sign and magnitude, so that signed and unsigned numbers both fit. */
struct dtc_scan_number {
	size_t magnitude;
	int negative;
	int too_large; /* the magnitude exceeds SIZE_MAX */
	size_t start;  /* offset in the text */
};

/* Skip white space and comments and return the next character without taking it, or -1 at the end. */
int dtc_scan_peek(struct dtc_scan *scan);

/* Take the next character if it is this one. */
int dtc_scan_accept(struct dtc_scan *scan, char wanted);

/*
 * Take a word of letters, digits and underscores; returns its length, 0 if there is none.
 */
size_t dtc_scan_word(struct dtc_scan *scan, const char **word);

/* Take a number (decimal or 0x, with or without a sign); returns 0 if there is none. */
int dtc_scan_number(struct dtc_scan *scan, struct dtc_scan_number *number);

/* Describe what is at an offset, for example `'doubel'` or `the end of the text`. */
struct dtc_scan_found {
	char text[40];
};
struct dtc_scan_found dtc_scan_describe(const struct dtc_scan *scan, size_t offset);

/* Fail with an error text that begins with the position of the offset in line and column. */
int dtc_scan_fail(const struct dtc_scan *scan, int status, size_t offset,
		  const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
