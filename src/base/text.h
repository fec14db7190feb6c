/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A text that grows inside memory its caller owns, and goes on counting when that is
 * full. It decides nothing about what is written and allocates nothing.
 */
#ifndef DTC_TEXT_H
#define DTC_TEXT_H

#include <stddef.h>
#include <stdint.h>

struct dtc_text {
	char *buffer;    /* the caller's; may be NULL if capacity is 0 */
	size_t capacity; /* bytes of room, the NUL included */
	size_t length; /* characters of the whole text, also of those that did not fit */
};

/* Begin an empty text. The buffer holds a terminated string from here on. */
void dtc_text_init(struct dtc_text *text, char *buffer, size_t capacity);

void dtc_text_printf(struct dtc_text *text, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Append bytes as they are. */
void dtc_text_append(struct dtc_text *text, const char *bytes, size_t length);

/* Append a string. */
void dtc_text_puts(struct dtc_text *text, const char *string);

/*
 * Append a number in decimal: an order of magnitude faster than printf for long arrays.
 */
void dtc_text_put_size(struct dtc_text *text, size_t value);
void dtc_text_put_disp(struct dtc_text *text, ptrdiff_t value);

/*
 * Return the whole length, also when it did not fit: 0, or DTCONV_ERR_TRUNCATE if the end
 * is missing. A measuring call is one with capacity 0: it is always truncated.
 */
int dtc_text_finish(const struct dtc_text *text, size_t *length);

#endif
